/* Loops three deep, each with a schedule of its own, under derivatives of derivatives: the bits of all_save, and what
 * each holds does not grow with its steps. */
#include "tansy/loops.h"
#include "tracing.h"

enum { DEPTH = 3, WIDTH = 4, WIDE = 2048, STEPS = 3, MANY = 400 };

typedef struct model {
    const char *schedule[DEPTH];
    int64_t steps[DEPTH];
    bool is_while[DEPTH]; /* else a scan of as many steps */
    int level;
    tn_val w;
} model;

static tn_val nest(const model *m, tn_val y);

static tn_val going(const tn_val *carry, void *user) {
    const model *m = user;
    return tn_lt(carry[0], m->steps[m->level]);
}

static void while_step(const tn_val *carry, tn_val *next, void *user) {
    model inner = *(const model *)user;
    inner.level++;
    next[0] = tn_add(carry[0], 1);
    next[1] = nest(&inner, carry[1]);
}

static void for_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    model inner = *(const model *)user;
    (void)i;
    inner.level++;
    next[0] = nest(&inner, carry[0]);
}

/* y after the loop of this level, whose step is that of the next one. */
static tn_val nest(const model *m, tn_val y) {
    model own = *m;
    if (m->level == DEPTH) return tn_add(y, tn_mul(0.1, tn_sin(tn_mul(m->w, y))));
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule[m->level]};
    const tn_val init[2] = {TN_VAL(0), tn_mul(1.01, y)};
    tn_val out[2];
    if (m->is_while[m->level]) {
        tn_while_loop(NULL, going, while_step, &own, 2, init, out, &o);
        return out[1];
    }
    tn_fori(NULL, 0, m->steps[m->level], for_step, &own, 1, init + 1, out, &o);
    return out[0];
}

static tn_val loss(const tn_val *in, void *user) {
    model m = *(const model *)user;
    m.w = in[0];
    return tn_sum(tn_cos(nest(&m, in[1])));
}

static tn_val against(const tn_val *in, void *user) {
    const tn_val g = tn_apply(user, 2, in);
    return tn_sum(tn_mul(g, in[2]));
}

/* Of w [width], y [width], v [width]: the Hessian's product with v, by a gradient of a gradient. */
static tn_fn *second(tn_ctx *c, const model *m, int64_t width) {
    model copy = *m;
    tn_fn *f = tn_trace(c, loss, &copy, 2, TN_TYPES(tn_f64(width), tn_f64(width)));
    tn_fn *g = f ? tn_grad(f, tn_wrt(0), NULL) : NULL;
    tn_fn *h = g ? tn_trace(c, against, g, 3, TN_TYPES(tn_f64(width), tn_f64(width), tn_f64(width))) : NULL;
    tn_fn *d = h ? tn_grad(h, tn_wrt(0, 1), NULL) : NULL;
    if (!d) fail_msg("%s", tn_error(c));
    return d;
}

static model all_of(const char *schedule, int kinds) {
    model m = {.level = 0};
    for (int k = 0; k < DEPTH; k++) {
        m.schedule[k] = schedule;
        m.steps[k] = STEPS + k;
        m.is_while[k] = kinds >> k & 1;
    }
    return m;
}

static void value(const model *m, double out[2][WIDTH]) {
    tn_ctx *c = checked();
    double w[WIDTH], y[WIDTH], v[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
        w[i] = 0.7 + 0.1 * i;
        y[i] = 0.3 * i - 0.4;
        v[i] = 1 - 0.2 * i;
    }
    tn_exec *e = tn_compile(second(c, m, WIDTH), NULL);
    if (!e) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_call(e, TN_INPUTS(w, y, v), TN_OUTPUTS(out[0], out[1])), TN_OK);
    tn_ctx_free(c);
}

static void every_nest_has_the_same_bits(void **state) {
    (void)state;
    for (int kinds = 0; kinds < 1 << DEPTH; kinds++) {
        static const char *const schedule[] = {"nothing", "online:2", "periodic:2"};
        double want[2][WIDTH], got[2][WIDTH];
        model m = all_of("all_save", kinds);
        value(&m, want);
        assert_true(want[0][0] != 0 && want[1][0] != 0);
        for (int i = 0; i < 3; i++) {
            m = all_of(schedule[i], kinds);
            value(&m, got);
            if (memcmp(got, want, sizeof got)) fail_msg("kinds %d, %s: not the bits of all_save", kinds, schedule[i]);
        }
    }
}

/* States that MANY steps more of one level's loop take. */
static double held(const model *m, int level) {
    double bytes[2];
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        model own = *m;
        if (k) own.steps[level] += MANY;
        tn_exec *e = tn_compile(second(c, &own, WIDE), NULL);
        if (!e) fail_msg("%s", tn_error(c));
        bytes[k] = (double)tn_exec_bytes(e) + MANY * (double)tn_exec_bytes_per_step(e) * k;
        tn_ctx_free(c);
    }
    return (bytes[1] - bytes[0]) / (WIDE * sizeof(double));
}

static void no_level_holds_its_steps(void **state) {
    (void)state;
    for (int kinds = 0; kinds < 1 << DEPTH; kinds++)
        for (int level = 0; level < DEPTH; level++) {
            const model m = all_of("nothing", kinds);
            const double states = held(&m, level);
            if (states > 1) fail_msg("kinds %d: %d steps of level %d take %g states", kinds, MANY, level, states);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nest_has_the_same_bits),
        cmocka_unit_test(no_level_holds_its_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
