/* A pendulum of 1000 steps, and how its end depends on how it was let go, under three schedules. */
#include <stdio.h>
#include <tansy.h>

/* carry: angle, speed */
static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    next[1] = tn_sub(carry[1], tn_mul(0.01, tn_sin(carry[0])));
    next[0] = tn_add(carry[0], tn_mul(0.01, next[1]));
}

static tn_val end(const tn_val *in, void *user) {
    const tn_loop_options how = {.size = sizeof how, .schedule = user};
    tn_val out[2];
    tn_fori(tn_val_ctx(in[0]), 0, 1000, step, NULL, 2, in, out, &how);
    return out[0];
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    char schedules[3][12] = {"all_save", "revolve:8", "nothing"};
    for (int i = 0; i < 3; i++) {
        tn_fn *f = tn_trace(c, end, schedules[i], TN_ARGS(tn_f64(), tn_f64()));
        tn_exec *e = tn_compile(tn_value_and_grad(f, NULL, NULL), NULL);
        double angle = 1, speed = 0, y, dangle, dspeed;
        tn_schedule_counts n = {.size = sizeof n};
        if (!e || tn_call(e, TN_INPUTS(&angle, &speed), TN_OUTPUTS(&y, &dangle, &dspeed)) ||
            tn_schedule_cost(c, schedules[i], 1000, NULL, &n)) {
            fprintf(stderr, "%s\n", e && *tn_exec_error(e) ? tn_exec_error(e) : tn_error(c));
            return 1;
        }
        printf("%-10s angle %.6f, gradient %.6f %.6f: %lld steps more, %lld states kept\n", schedules[i], y, dangle,
               dspeed, (long long)n.advances, (long long)n.snapshots);
    }
    tn_ctx_free(c);
    return 0;
}
