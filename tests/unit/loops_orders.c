/* Gradients of gradients of loops with schedules: steps that run and bytes that are held, against tn_schedule_cost. */
#include "amount.h"
#include "unit/counted_loop.h"

#include <stdio.h>

enum { ORDERS = 3 };

typedef struct inside {
    const tn_fn *f;
    size_t nin;
} inside;

/* A gradient's product with a further input. */
static tn_val against(const tn_val *in, void *user) {
    const inside *k = user;
    tn_val out[2];
    tn_apply_many(k->f, k->nin, in, tn_fn_outputs(k->f), out);
    return tn_sum(tn_mul(tn_fn_outputs(k->f) > 1 ? tn_add(out[0], out[1]) : out[0], in[k->nin]));
}

static int64_t calls;
static const double data[6][WIDE] = {{0.7, -0.4}, {0.3, 0.9}, {1, 0.5}, {-0.5, 1}, {0.25, -1}, {2, 0.125}};

/* The gradient of a gradient's product with a direction, and so on. */
static tn_fn *derivative(model *m, int order) {
    tn_type t[ORDERS + 1];
    const tn_wrt_list *const wrt = m->consts ? tn_wrt(0, 1) : tn_wrt(1);
    for (int i = 0; i < ORDERS + 1; i++) t[i] = tn_f64(m->width);
    const tn_external_spec spec = {
        .size = sizeof spec, .name = "tick", .nin = 1, .nout = 1, .in = t, .out = t, .fn = tick, .user = &calls};
    if (m->ticks) assert_int_equal(tn_external_register(m->c, &spec), TN_OK);
    tn_fn *f = tn_trace(m->c, loss, m, 2, t);
    for (int k = 1; f && k <= order; k++) {
        tn_fn *g = tn_grad(f, wrt, NULL);
        inside in = {.f = g, .nin = (size_t)k + 1};
        f = k == order || !g ? g : tn_trace(m->c, against, &in, (size_t)k + 2, t);
    }
    if (!f) fail_msg("%s", tn_error(m->c));
    return f;
}

static int64_t steps_of(const tn_fn *f, double *out) {
    const void *in[8];
    void *to[8];
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

static const struct {
    const char *schedule;
    bool known, unknown;
} row[] = {{"all_save", true, true},          {"revolve:1", true, false}, {"revolve:2", true, false},
           {"revolve:5", true, false},        {"online:1", true, true},   {"online:3", true, true},
           {"mixed:1", true, false},          {"mixed:4", true, false},   {"periodic:4", true, true},
           {"disk_revolve:1,2", true, false}, {"nothing", true, true}};

static const char *kind_of(bool by_condition) { return by_condition ? "while" : "fori"; }

static tn_schedule_counts told(const model *m, int order, size_t state, size_t record) {
    tn_schedule_counts k = {.size = sizeof k};
    const tn_schedule_options o = {
        .size = sizeof o, .unknown = m->by_condition, .order = order, .state_bytes = state, .record_bytes = record};
    assert_int_equal(tn_schedule_cost(m->c, m->schedule, m->steps, &o, &k), TN_OK);
    return k;
}

/* Steps run as often as told, whatever inputs the gradients are of; the bits are those of all_save. */
static void test_steps(void **state) {
    (void)state;
    for (int consts = 0; consts < 2; consts++)
        for (int kind = 0; kind < 2; kind++)
            for (int64_t n = 0; n <= 12; n = n < 4 ? n + 1 : n * 3) {
                double all[ORDERS + 1][2 * WIDE] = {{0}};
                for (size_t r = 0; r < COUNT(row); r++)
                    for (int order = 1; order <= ORDERS; order++) {
                        if (kind ? !row[r].unknown : !row[r].known) continue;
                        model m = {.c = checked(),
                                   .schedule = row[r].schedule,
                                   .steps = n,
                                   .width = WIDE,
                                   .by_condition = kind,
                                   .consts = consts,
                                   .ticks = true};
                        double out[2 * WIDE] = {0};
                        const int64_t got = steps_of(derivative(&m, order), out);
                        const tn_schedule_counts k = told(&m, order, 0, 0);
                        if (got != k.advances + k.recorded)
                            fail_msg("%s, %s, order %d, %d steps: %d run, %d + %d told", m.schedule, kind_of(kind),
                                     order, (int)n, (int)got, (int)k.advances, (int)k.recorded);
                        if (r == 0) memcpy(all[order], out, sizeof out);
                        assert_memory_equal(out, all[order], sizeof out);
                        tn_ctx_free(m.c);
                    }
            }
}

/* ---- memory ------------------------------------------------------------------------------------- */

enum { WIDTH = 1024, STATE = WIDTH * sizeof(double), PADDING = 128 };

typedef struct held {
    size_t bytes, per_step;
} held;

static held held_by(const char *schedule, int64_t steps, bool by_condition, int order, bool consts) {
    model m = {.c = tn_ctx_new(NULL),
               .schedule = schedule,
               .steps = steps,
               .width = WIDTH,
               .by_condition = by_condition,
               .consts = consts};
    const tn_compile_options o = {.size = sizeof o, .spill_dir = "/tmp"};
    tn_exec *e = tn_compile(derivative(&m, order), &o);
    if (!e) fail_msg("%s", tn_error(m.c));
    const held h = {tn_exec_bytes(e), tn_exec_bytes_per_step(e)};
    tn_exec_free(e);
    tn_ctx_free(m.c);
    return h;
}

/* Not a byte more for more steps, in whatever order, where the number of slots is fixed.  (Fewer steps may make for
 * other residuals of a step.) */
static void test_bounded(void **state) {
    (void)state;
    static const char *const fixed[] = {"revolve:3", "online:3", "mixed:3", "disk_revolve:2,2", "nothing"};
    for (size_t r = 0; r < COUNT(fixed); r++)
        for (int kind = 0; kind < 2; kind++)
            for (int order = 1; order <= ORDERS; order++)
                for (int consts = 0; consts < 2; consts++) {
                    if (kind && (r == 0 || r == 2 || r == 3)) continue;
                    if (!in_share(r + (size_t)(kind + order + consts), 2)) continue;
                    const held few = held_by(fixed[r], 10000, kind, order, consts);
                    const held many = held_by(fixed[r], 20000, kind, order, consts);
                    if (few.bytes != many.bytes || few.per_step || many.per_step)
                        fail_msg("%s, %s, order %d: %zu bytes for 10000 steps, %zu for 20000", fixed[r], kind_of(kind),
                                 order, few.bytes, many.bytes);
                }
}

/* Slots take what is told, and PADDING: of each state an address besides, and what decides about slots. */
static void test_slots(void **state) {
    (void)state;
    static const struct {
        const char *few, *many;
        bool known, unknown;
        int64_t slots;
    } pair[] = {{"revolve:3", "revolve:23", true, false, 20},
                {"online:3", "online:23", true, true, 20},
                {"disk_revolve:3,5", "disk_revolve:23,5", true, false, 20}};
    for (size_t r = 0; r < COUNT(pair); r++)
        for (int kind = 0; kind < 2; kind++)
            for (int order = 1; order <= ORDERS; order++)
                for (int consts = 0; consts < 2; consts++) {
                    if (kind ? !pair[r].unknown : !pair[r].known) continue;
                    if (!in_share(r + (size_t)(kind + order + consts), 2)) continue;
                    const size_t few = held_by(pair[r].few, 500, kind, order, consts).bytes,
                                 many = held_by(pair[r].many, 500, kind, order, consts).bytes;
                    model a = {.c = tn_ctx_new(NULL), .schedule = pair[r].few, .steps = 500, .by_condition = kind};
                    model b = a;
                    b.schedule = pair[r].many;
                    const size_t want = told(&b, order, STATE, 0).bytes - told(&a, order, STATE, 0).bytes;
                    assert_int_equal(want, (size_t)pair[r].slots * ((size_t)STATE << (order - 1)));
                    if (many - few < want || many - few > want + (size_t)20 * PADDING * ((size_t)1 << order))
                        fail_msg("%s, %s, order %d: %zu bytes for 20 slots, %zu told", pair[r].many, kind_of(kind),
                                 order, many - few, want);
                    tn_ctx_free(a.c);
                }
}

/* What stacks and slots take where there may be any number, for each step. */
static void test_per_step(void **state) {
    (void)state;
    static const int64_t period[] = {1, 2, 4, 32, 100};
    for (int order = 1; order <= ORDERS; order++)
        for (size_t r = 0; r < COUNT(period); r++) {
            char name[32];
            (void)snprintf(name, sizeof name, "periodic:%d", (int)period[r]);
            const size_t k = (size_t)period[r], slot = (size_t)STATE << (order - 1);
            const size_t got = held_by(name, 400, true, order, true).per_step;
            if (got != (slot + k - 1) / k) fail_msg("%s, order %d: %zu bytes a step", name, order, got);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_bounded),
                                       cmocka_unit_test(test_slots), cmocka_unit_test(test_per_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
