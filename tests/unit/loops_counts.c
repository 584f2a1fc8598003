/* How often the steps of differentiated loops run, counted by a function that the step calls, against tn_schedule_cost.
 */
#include "unit/counted_loop.h"

#include <stdio.h>

static const double data[6][WIDE] = {{0.7, -0.4}, {0.3, 0.9}, {1, 0.5}, {-0.5, 1}, {0.25, -1}, {2, 0.125}};

static int64_t calls;

static tn_fn *traced(model *m) {
    const tn_type t[2] = {tn_f64(WIDE), tn_f64(WIDE)};
    const tn_external_spec spec = {
        .size = sizeof spec, .name = "tick", .nin = 1, .nout = 1, .in = t, .out = t, .fn = tick, .user = &calls};
    assert_int_equal(tn_external_register(m->c, &spec), TN_OK);
    tn_fn *f = tn_trace(m->c, loss, m, 2, t);
    if (!f) fail_msg("%s", tn_error(m->c));
    return f;
}

/* Runs f and says how many steps it took; out gets its first outputs. */
static int64_t steps_of(const tn_fn *f, double *out) {
    const void *in[8];
    void *to[8];
    assert_non_null(f);
    for (size_t i = 0; i < tn_fn_inputs(f); i++) in[i] = data[i];
    for (size_t j = 0; j < tn_fn_outputs(f); j++) to[j] = out + j * WIDE;
    const tn_compile_options o = {.size = sizeof o, .spill_dir = "/tmp"};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    calls = 0;
    if (tn_call(e, in, to) != TN_OK) fail_msg("%s", tn_exec_error(e));
    tn_exec_free(e);
    return calls;
}

static tn_schedule_counts told(tn_ctx *c, const model *m) {
    tn_schedule_counts k = {.size = sizeof k};
    const tn_schedule_options o = {.size = sizeof o, .unknown = m->by_condition};
    assert_int_equal(tn_schedule_cost(c, m->schedule, m->steps, &o, &k), TN_OK);
    return k;
}

typedef struct inside {
    const tn_fn *f;
} inside;

/* The gradient's product with further inputs: what reverse-over-reverse differentiates. */
static tn_val against(const tn_val *in, void *user) {
    const inside *k = user;
    return tn_sum(tn_mul(tn_apply(k->f, 2, in), in[2]));
}

static const struct {
    const char *schedule;
    bool known, unknown;
} row[] = {{"all_save", true, true},          {"revolve:1", true, false}, {"revolve:2", true, false},
           {"revolve:5", true, false},        {"online:1", true, true},   {"online:3", true, true},
           {"mixed:1", true, false},          {"mixed:4", true, false},   {"periodic:4", true, true},
           {"disk_revolve:1,2", true, false}, {"nothing", true, true}};

/* One gradient runs exactly the steps told, a jvp of it no more; the bits are those of all_save. */
static void test_first_order(void **state) {
    (void)state;
    for (size_t r = 0; r < COUNT(row); r++)
        for (int kind = 0; kind < 2; kind++)
            for (int64_t n = 0; n <= 40; n = n < 6 ? n + 1 : n * 2 - 1) {
                if (kind ? !row[r].unknown : !row[r].known) continue;
                tn_ctx *c = checked();
                model m = {.c = c, .schedule = row[r].schedule, .steps = n, .by_condition = kind, .ticks = true};
                double out[16], all[16];
                tn_fn *f = traced(&m), *g = tn_grad(f, tn_wrt(0, 1), NULL);
                const tn_schedule_counts k = told(c, &m);
                const int64_t got = steps_of(g, out);
                if (got != k.advances + k.recorded)
                    fail_msg("%s, %s, %d steps: %d run, %d + %d told", m.schedule, kind ? "while" : "fori", (int)n,
                             (int)got, (int)k.advances, (int)k.recorded);
                assert_int_equal(steps_of(tn_jvp(g, tn_wrt(0, 1)), out), got);
                model plain = m;
                plain.schedule = NULL;
                plain.c = checked();
                (void)steps_of(tn_jvp(tn_grad(traced(&plain), tn_wrt(0, 1), NULL), tn_wrt(0, 1)), all);
                assert_memory_equal(out, all, 4 * WIDE * sizeof(double));
                tn_ctx_free(plain.c);
                tn_ctx_free(c);
            }
}

/* Two nested reverse modes take no more than three times the steps of one; each that runs the primal's step does so in
 * lockstep with another sweep, so the primal's own steps at most double. */
static void test_second_order(void **state) {
    (void)state;
    static const int64_t slots[] = {1, 2, 5, 10};
    for (size_t s = 0; s < COUNT(slots); s++)
        for (int64_t n = 1; n <= 100; n = n < 10 ? n + 3 : n * 10) {
            char name[32];
            tn_ctx *c = checked();
            (void)snprintf(name, sizeof name, "revolve:%d", (int)slots[s]);
            model m = {.c = c, .schedule = name, .steps = n, .ticks = true};
            double out[16], with[16], all[16];
            tn_fn *f = traced(&m), *g = tn_grad(f, tn_wrt(1), NULL);
            inside k = {.f = g};
            const tn_type t[3] = {tn_f64(WIDE), tn_f64(WIDE), tn_f64(WIDE)};
            tn_fn *p = tn_trace(c, against, &k, 3, t), *h = tn_grad(p, tn_wrt(1), NULL);
            const tn_schedule_counts one = told(c, &m);
            const int64_t once = one.advances + one.recorded, got = steps_of(h, out);
            const int64_t both = steps_of(tn_value_and_grad(p, tn_wrt(1), NULL), with);
            if (both != 2 * once || got != once + n) /* without the value, its backward sweep is dead */
                fail_msg("%s, %d steps: %d run, %d with the value; one reverse mode %d", m.schedule, (int)n, (int)got,
                         (int)both, (int)once);
            model plain = {.c = checked(), .steps = n, .ticks = true};
            k.f = tn_grad(traced(&plain), tn_wrt(1), NULL);
            (void)steps_of(tn_grad(tn_trace(plain.c, against, &k, 3, t), tn_wrt(1), NULL), all);
            assert_memory_equal(out, all, WIDE * sizeof(double));
            tn_ctx_free(plain.c);
            tn_ctx_free(c);
        }
}

/* ---- bytes of a slot ------------------------------------------------------------------------------ */

/* in: weights, y, a buffer.  A step writes its state into the buffer and reads a part of the weights. */
static void recorded_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    model *m = user;
    const tn_val part = tn_dynamic_slice(m->w, tn_vals(i), tn_ints(WIDE));
    next[0] = tn_sin(tn_mul(part, carry[0]));
    next[1] = tn_dynamic_update_slice(carry[1], next[0], tn_vals(i));
    next[2] = tn_add(carry[2], tn_sum(next[0]));
}

static tn_val recorded(const tn_val *in, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    const tn_val init[3] = {in[1], in[2], TN_VAL(0.0)};
    tn_val out[3];
    m->w = in[0];
    tn_fori(m->c, 0, m->steps, recorded_step, m, 3, init, out, &o);
    return tn_add(tn_sum(tn_mul(out[1], out[1])), tn_mul(out[2], tn_sum(out[0])));
}

static tn_val third(const tn_val *in, void *user) {
    const inside *k = user;
    return tn_sum(tn_mul(tn_apply(k->f, 3, in), in[3]));
}

typedef enum order { FIRST, FORWARD, REVERSE, ORDERS } order;

/* Bytes that 16 further slots take. */
static size_t sixteen_slots(order what, int64_t nweight, int64_t nbuffer) {
    size_t bytes[2];
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = tn_ctx_new(NULL);
        model m = {.c = c, .schedule = k ? "revolve:20" : "revolve:4", .steps = 60, .ticks = true};
        const tn_type t[4] = {tn_f64(nweight), tn_f64(WIDE), tn_f64(nbuffer), tn_f64(WIDE)};
        tn_fn *f = tn_trace(c, recorded, &m, 3, t), *g = tn_grad(f, tn_wrt(0, 1), NULL);
        if (what == FORWARD) g = tn_jvp(g, tn_wrt(0, 1));
        if (what == REVERSE) {
            inside y = {.f = tn_grad(f, tn_wrt(1), NULL)};
            g = tn_grad(tn_trace(c, third, &y, 4, t), tn_wrt(0, 1), NULL);
        }
        tn_exec *e = g ? tn_compile(g, NULL) : NULL;
        if (!e) fail_msg("%s", tn_error(c));
        bytes[k] = tn_exec_bytes(e);
        tn_ctx_free(c);
    }
    return bytes[1] - bytes[0];
}

static void test_bytes_of_slots(void **state) {
    (void)state;
    const size_t states[ORDERS] = {1, 2, 2}; /* of y, its tangent, or the forward sweeps of two reverse modes */
    for (order k = FIRST; k < ORDERS; k++) {
        const size_t few = sixteen_slots(k, 100, 100);
        assert_int_equal(sixteen_slots(k, 1000000, 10000 * WIDE), few);
        if (few > 16 * 64 * (states[k] + 1))
            fail_msg("order %d: %zu bytes", (int)k, few); /* padded to 64 bytes each, and what says which step it is */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_order), cmocka_unit_test(test_second_order),
                                       cmocka_unit_test(test_bytes_of_slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
