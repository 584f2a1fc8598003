/* Loops with schedules in native code: the bits of the default, of all_save, and no more steps than told. */
#include "unit/tracing.h"

#include "tansy/loops.h"
#include "tansy/ops.h"

#include <stdio.h>

enum { WIDE = 37, STEPS = 29 };

typedef struct model {
    tn_ctx *c;
    const char *schedule;
    tn_val w, end;
} model;

static int tick(void *user, const void *const *in, void *const *out) {
    int64_t *calls = user;
    ++*calls;
    memcpy(out[0], in[0], WIDE * sizeof(double));
    return 0;
}

/* Two states of which one is rolled, a buffer that is written in place, a sum, and a count of steps. */
static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    model *m = user;
    const tn_val z = tn_external(m->c, "tick", 1, (const tn_val[]){tn_stop_gradient(carry[0])});
    const tn_val near = tn_sub(tn_roll(carry[1], 1, 0), carry[0]);
    next[0] = tn_add(tn_sin(tn_mul(m->w, carry[0])), tn_mul(0.1, tn_add(z, near)));
    next[1] = tn_mul(tn_add(carry[1], tn_mul(carry[0], near)), 0.5);
    next[2] = tn_dynamic_update_slice(carry[2], next[0], tn_vals(i));
    next[3] = tn_add(carry[3], tn_sum(tn_mul(next[0], next[1])));
}

static tn_val loss(const tn_val *in, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    const tn_val init[4] = {in[1], in[2], tn_zeros(m->c, tn_f64(2 * WIDE)), TN_VAL(0.0)};
    tn_val out[4];
    m->w = in[0];
    tn_fori(m->c, 0, STEPS, step, m, 4, init, out, &o);
    return tn_add(tn_sum(tn_mul(out[2], out[2])), tn_mul(out[3], tn_sum(tn_cos(out[1]))));
}

/* Entries that are scanned over and made, a step that reads both states, and a loop with a schedule of its own. */
static void inner_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    next[0] = tn_tanh(tn_mul(*(const tn_val *)user, carry[0]));
}

static void outer_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    tn_val u = tn_add(carry[0], tn_mul(x[0], 0.1)), out;
    tn_fori(m->c, 0, 7, inner_step, &m->w, 1, &u, &out, &o);
    next[0] = out;
    y[0] = tn_sum(tn_mul(out, carry[0]));
}

static tn_val nested(const tn_val *in, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    const tn_val xs = tn_mul(tn_broadcast_to(in[1], 11, WIDE), 0.5);
    tn_val out, ys;
    m->w = in[0];
    tn_scan(m->c, outer_step, m, .ncarry = 1, .init = &in[2], .nx = 1, .xs = &xs, .carry = &out, .ny = 1, .ys = &ys,
            .schedule = o.schedule);
    return tn_add(tn_sum(tn_mul(out, out)), tn_sum(tn_mul(ys, ys)));
}

/* Loops that find their length, LONG steps so that stacks and slots have several pages: one, and one in each step of
 * another, both with schedules. */
enum { LONG = 700, TURNS = 9 };

static tn_val below(const tn_val *carry, void *user) { return tn_lt(carry[0], ((const model *)user)->end); }

static void while_step(const tn_val *carry, tn_val *next, void *user) {
    model *m = user;
    const tn_val z = tn_external(m->c, "tick", 1, (const tn_val[]){tn_stop_gradient(carry[1])});
    next[0] = tn_add(carry[0], 1.0);
    next[1] = tn_add(tn_sin(tn_mul(m->w, carry[1])), tn_mul(0.1, z));
    next[2] = tn_mul(tn_add(carry[2], tn_mul(carry[1], tn_roll(carry[1], 1, 0))), 0.5);
}

static tn_val found(const tn_val *in, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    const tn_val init[3] = {TN_VAL(0.0), in[1], in[2]};
    tn_val out[3];
    m->w = in[0];
    m->end = tn_add(tn_mul(tn_stop_gradient(tn_sum(in[0])), 0.0), (double)LONG);
    tn_while_loop(m->c, below, while_step, m, 3, init, out, &o);
    return tn_add(tn_sum(tn_mul(out[1], out[1])), tn_sum(tn_cos(out[2])));
}

static void turn_step(const tn_val *carry, tn_val *next, void *user) {
    model inner = *(const model *)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = inner.schedule};
    const tn_val init[3] = {TN_VAL(0.0), carry[1], carry[2]};
    tn_val out[3];
    inner.end = tn_rem(carry[0], 4.0);
    tn_while_loop(inner.c, below, while_step, &inner, 3, init, out, &o);
    next[0] = tn_add(carry[0], 1.0);
    next[1] = tn_add(out[1], tn_mul(carry[1], 0.25));
    next[2] = out[2];
}

static tn_val found_nested(const tn_val *in, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    const tn_val init[3] = {TN_VAL(0.0), in[1], in[2]};
    tn_val out[3];
    m->w = in[0];
    m->end = tn_add(tn_mul(tn_stop_gradient(tn_sum(in[0])), 0.0), (double)TURNS);
    tn_while_loop(m->c, below, turn_step, m, 3, init, out, &o);
    return tn_add(tn_sum(tn_mul(out[1], out[1])), tn_sum(tn_cos(out[2])));
}

/* More than a script tells (checkpoint/script.h). */
enum { ENDLESS = 40000 };

static void short_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    next[0] = tn_add(carry[0], tn_mul(1e-4, tn_sin(tn_mul(((const model *)user)->w, carry[0]))));
}

static tn_val endless(const tn_val *in, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    tn_val out;
    m->w = in[0];
    tn_fori(m->c, 0, ENDLESS, short_step, m, 1, &in[1], &out, &o);
    return tn_sum(tn_mul(out, in[2]));
}

typedef tn_val program(const tn_val *in, void *user);

typedef struct inside {
    const tn_fn *f;
} inside;

static tn_val against(const tn_val *in, void *user) {
    const inside *k = user;
    return tn_sum(tn_mul(tn_apply(k->f, 3, in), in[1]));
}

enum { FIRST, FORWARD, REVERSE, ORDERS };

static int64_t calls;

static tn_fn *derived(tn_ctx *c, program *of, const char *schedule, int order) {
    const tn_type t[3] = {tn_f64(WIDE), tn_f64(WIDE), tn_f64(WIDE)};
    const tn_external_spec spec = {
        .size = sizeof spec, .name = "tick", .nin = 1, .nout = 1, .in = t, .out = t, .fn = tick, .user = &calls};
    model m = {.c = c, .schedule = schedule};
    assert_int_equal(tn_external_register(c, &spec), TN_OK);
    tn_fn *f = tn_trace(c, of, &m, 3, t), *g = f ? tn_grad(f, tn_wrt(1), NULL) : NULL;
    inside k = {.f = g};
    if (order == FORWARD) g = tn_jvp(g, tn_wrt(0, 1));
    if (order == REVERSE && g) g = tn_grad(tn_trace(c, against, &k, 3, t), tn_wrt(0, 2), NULL);
    if (!g) fail_msg("%s", tn_error(c));
    return g;
}

/* The number of steps that ran; every call of an executable gives the same. */
static int64_t steps_of(const tn_fn *f, int backend, double *out) {
    static double data[5][WIDE];
    const void *in[5];
    void *to[4];
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .spill_dir = "/tmp"};
    double again[4 * WIDE];
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < WIDE; j++) data[i][j] = ((i * 31 + j * 7) % 23) / 17.0 - 0.6;
    for (size_t i = 0; i < tn_fn_inputs(f); i++) in[i] = data[i];
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    for (int k = 0; k < 2; k++) {
        for (size_t j = 0; j < tn_fn_outputs(f); j++) to[j] = (k ? again : out) + j * WIDE;
        calls = 0;
        if (tn_call(e, in, to) != TN_OK) fail_msg("%s", tn_exec_error(e));
    }
    assert_memory_equal(out, again, tn_fn_outputs(f) * WIDE * sizeof(double));
    tn_exec_free(e);
    return calls;
}

/* All give the bits that the first gives, and native code those after as many steps. */
static void same_bits(program *of, int order, const char *const *schedule, size_t n) {
    double all[4 * WIDE], one[4 * WIDE], two[4 * WIDE];
    for (size_t k = 0; k < n; k++) {
        tn_ctx *c = checked();
        tn_fn *f = derived(c, of, schedule[k], order);
        const size_t bytes = tn_fn_outputs(f) * WIDE * sizeof(double);
        const int64_t steps = steps_of(f, TN_BACKEND_DEFAULT, k ? one : all);
        assert_int_equal(steps_of(f, TN_BACKEND_NATIVE, two), steps);
        if (k && memcmp(one, all, bytes) != 0) fail_msg("%s, order %d: other bits", schedule[k], order);
        if (memcmp(two, all, bytes) != 0) fail_msg("%s, order %d: native: other bits", schedule[k], order);
        tn_ctx_free(c);
    }
}

/* Compilers take their time: derivatives of higher order have the first few schedules. */
static const char *const schedules[] = {"all_save", "mixed:3",   "disk_revolve:2,3", "revolve:4",
                                        "online:3", "revolve:1", "periodic:6",       "nothing"};
static const size_t many[ORDERS] = {COUNT(schedules), 3, 3};

static void test_states(void **state) {
    (void)state;
    for (int order = FIRST; order < ORDERS; order++) same_bits(loss, order, schedules, many[order]);
}

static void test_nested(void **state) {
    (void)state;
    for (int order = FIRST; order < ORDERS; order++) same_bits(nested, order, schedules, many[order]);
}

static const char *const online[] = {"online:7", "all_save", "periodic:16", "online:1"};
static const size_t many_online[ORDERS] = {COUNT(online), 2, 2};

static void test_found(void **state) {
    (void)state;
    for (int order = FIRST; order < ORDERS; order++) same_bits(found, order, online, many_online[order]);
}

static void test_found_nested(void **state) {
    (void)state;
    for (int order = FIRST; order < ORDERS; order++) same_bits(found_nested, order, online, many_online[order]);
}

static void test_too_long_to_write_down(void **state) {
    static const char *const schedule[] = {"revolve:5", "disk_revolve:3,4", "mixed:300", "online:20"};
    (void)state;
    same_bits(endless, FIRST, schedule, COUNT(schedule));
}

/* Memory for entries, and for slots, ends as it does by default; and the same executable goes on. */
static void test_no_memory(void **state) {
    static double data[3][WIDE];
    double out[WIDE];
    (void)state;
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        tn_fn *f = derived(c, found, k ? "all_save" : NULL, FIRST);
        for (int native = 0; native < 2; native++) {
            const tn_compile_options o = {
                .size = sizeof o, .backend = native ? TN_BACKEND_NATIVE : TN_BACKEND_DEFAULT, .stack_limit = 300 << 10};
            tn_exec *e = tn_compile(f, &o);
            assert_non_null(e);
            for (int again = 0; again < 2; again++)
                assert_int_equal(tn_call(e, TN_INPUTS(data[0], data[1], data[2]), TN_OUTPUTS(out)), TN_ENOMEM);
            assert_non_null(strstr(tn_exec_error(e), "while"));
            tn_exec_free(e);
        }
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_states),
                                       cmocka_unit_test(test_nested),
                                       cmocka_unit_test(test_found),
                                       cmocka_unit_test(test_found_nested),
                                       cmocka_unit_test(test_too_long_to_write_down),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
