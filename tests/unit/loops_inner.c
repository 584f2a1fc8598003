/* Loops without a schedule in the steps of a loop with one: the records that bring its steps back hold stacks. */
#include "tansy/loops.h"
#include "tracing.h"

typedef struct model {
    const char *schedule;
    bool counted;
    tn_val w, limit; /* of the step being traced */
} model;

static tn_val below(const tn_val *carry, void *user) { return tn_lt(carry[0], ((const model *)user)->limit); }

static void inner_step(const tn_val *carry, tn_val *next, void *user) {
    const model *m = user;
    next[0] = tn_add(carry[0], 1);
    next[1] = tn_sin(tn_mul(carry[1], m->w));
}

/* As many inner steps as the number of the outer one says, up to five. */
static void outer_step(const tn_val *carry, tn_val *next, void *user) {
    model m = *(const model *)user;
    const tn_val in[2] = {TN_VAL(0), carry[1]};
    tn_val out[2];
    m.limit = tn_rem(carry[0], 5);
    tn_while_loop(NULL, below, inner_step, &m, 2, in, out, NULL);
    next[0] = tn_add(carry[0], 1);
    next[1] = tn_add(tn_cos(carry[1]), out[1]);
}

static void counted_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    outer_step(carry, next, user);
}

enum { SHORT = 23, LONG = 4000, WIDTH = 16 };

/* in: w [], y [WIDTH], n i64[] -> sum of y after n steps */
static tn_val loss(const tn_val *in, void *user) {
    model m = *(const model *)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m.schedule};
    tn_val init[2] = {tn_full_like(in[2], 0), in[1]}, out[2];
    m.w = in[0];
    m.limit = in[2];
    if (m.counted)
        tn_fori(NULL, 0, SHORT, counted_step, &m, 2, init, out, &o);
    else
        tn_while_loop(NULL, below, outer_step, &m, 2, init, out, &o);
    return tn_sum(out[1]);
}

static tn_fn *traced(tn_ctx *c, const model *m) {
    model copy = *m;
    tn_fn *f = tn_trace(c, loss, &copy, 3, TN_TYPES(tn_f64(), tn_f64(WIDTH), tn_i64()));
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

typedef struct derivatives {
    double w, y[WIDTH], second;
} derivatives;

/* Each program is called twice: the second time the workspace has pages of the first. */
static derivatives differentiate(const model *m, int64_t n) {
    tn_ctx *c = checked();
    const double w = 0.7, one = 1;
    double y[WIDTH];
    derivatives d = {0};
    for (int i = 0; i < WIDTH; i++) y[i] = 0.1 * (i + 1);
    tn_fn *g = tn_grad(traced(c, m), tn_wrt(0, 1), NULL);
    tn_fn *h = tn_jvp(tn_grad(traced(c, m), tn_wrt(0), NULL), tn_wrt(0));
    tn_exec *first = tn_compile(g, NULL), *second = tn_compile(h, NULL);
    if (!first || !second) fail_msg("%s", tn_error(c));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(tn_call(first, TN_INPUTS(&w, y, &n), TN_OUTPUTS(&d.w, d.y)), TN_OK);
        assert_int_equal(tn_call(second, TN_INPUTS(&w, y, &n, &one), TN_OUTPUTS(NULL, &d.second)), TN_OK);
    }
    tn_ctx_free(c);
    return d;
}

static void every_schedule_gives_the_same_bits(void **state) {
    (void)state;
    static const char *const schedule[] = {"all_save",  "online:1", "online:3",   "periodic:4", "nothing",
                                           "revolve:2", "mixed:3",  "mixed:1000", NULL};
    const derivatives want = differentiate(&(model){NULL, false, {0}, {0}}, SHORT);
    assert_true(want.w != 0 && want.second != 0);
    for (int counted = 0; counted < 2; counted++)
        for (int i = 0; schedule[i] && (counted || i < 5); i++) {
            const derivatives got = differentiate(&(model){schedule[i], counted, {0}, {0}}, SHORT);
            if (memcmp(&got, &want, sizeof got)) fail_msg("%s differs", schedule[i]);
        }
}

static tn_status within(const char *schedule, size_t limit) {
    tn_ctx *c = checked();
    const model m = {.schedule = schedule};
    const double w = 0.7;
    const int64_t n = LONG;
    double y[WIDTH] = {0.5}, dw;
    const tn_compile_options o = {.size = sizeof o, .stack_limit = limit};
    tn_exec *e = tn_compile(tn_grad(traced(c, &m), tn_wrt(0), NULL), &o);
    if (!e) fail_msg("%s", tn_error(c));
    const tn_status s = tn_call(e, TN_INPUTS(&w, y, &n), TN_OUTPUTS(&dw));
    tn_ctx_free(c);
    return s;
}

/* The stacks of one step make room for the next one's. */
static void memory_does_not_grow(void **state) {
    (void)state;
    assert_int_equal(within("all_save", (size_t)1 << 20), TN_ENOMEM);
    assert_int_equal(within("all_save", (size_t)16 << 20), TN_OK);
    assert_int_equal(within("online:50", (size_t)1 << 20), TN_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_gives_the_same_bits),
        cmocka_unit_test(memory_does_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
