/* Low peaks: blocks packed once their lives are known, and equations in an order in which few values wait. */
#include "unit/tracing.h"

#include "plan/plan.h"
#include "plan/pool.h"
#include "tansy/ops.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- blocks -------------------------------------------------------------------------------------------------- */

enum { MOST = 1000 };

/* Blocks taken and given at random, as a pool that never has holes would log them. */
static tn_i_pool_log random_log(tn_ctx *c, tn_i_rng *r, size_t n) {
    tn_i_pool_log log = {.entry = tn_i_alloc_array(c, n, sizeof *log.entry), .n = n, .capacity = n};
    size_t taken = 0, alive[MOST], nalive = 0;
    assert_non_null(log.entry);
    while (taken < n || nalive) {
        if (taken < n && (!nalive || tn_i_pick(r, 0, 2))) {
            const uint64_t size = (uint64_t)(tn_i_pick(r, 0, 3) ? tn_i_pick(r, 1, 20) : tn_i_pick(r, 1, 1000));
            log.entry[taken] = (tn_i_pool_entry){.size = size, .from = log.now++, .to = UINT32_MAX};
            alive[nalive++] = taken++;
        } else {
            const size_t k = (size_t)tn_i_pick(r, 0, (int64_t)nalive - 1);
            if (taken == n && !tn_i_pick(r, 0, 3)) { /* some live to the end */
                alive[k] = alive[--nalive];
                continue;
            }
            log.entry[alive[k]].to = log.now++;
            alive[k] = alive[--nalive];
        }
    }
    return log;
}

static bool together(const tn_i_pool_entry *a, const tn_i_pool_entry *b) { return a->from < b->to && b->from < a->to; }

static uint64_t check_places(const tn_i_pool_log *log) {
    uint64_t end = 0;
    for (size_t i = 0; i < log->n; i++) {
        const tn_i_pool_entry *a = &log->entry[i];
        if (a->at + a->size > end) end = a->at + a->size;
        for (size_t k = 0; k < i; k++) {
            const tn_i_pool_entry *b = &log->entry[k];
            if (together(a, b) && a->at < b->at + b->size && b->at < a->at + a->size)
                fail_msg("blocks %zu and %zu overlap", k, i);
        }
    }
    return end;
}

static uint64_t alive_at_once(const tn_i_pool_log *log) {
    uint64_t most = 0;
    for (size_t i = 0; i < log->n; i++) {
        uint64_t now = 0;
        for (size_t k = 0; k < log->n; k++)
            if (log->entry[k].from <= log->entry[i].from && log->entry[k].to > log->entry[i].from)
                now += log->entry[k].size;
        if (now > most) most = now;
    }
    return most;
}

static void blocks_do_not_overlap(void **state) {
    (void)state;
    double worst = 1, sum = 0;
    int n = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        tn_ctx *c = checked();
        tn_i_rng r = {seed};
        tn_i_pool_log log = random_log(c, &r, (size_t)tn_i_pick(&r, 1, seed % 10 ? 60 : MOST));
        const uint64_t least = alive_at_once(&log), top = 4 * least + 64;
        assert_true(tn_i_pool_pack(&log, top));
        const uint64_t end = check_places(&log);
        assert_true(end >= least);
        const double ratio = (double)end / (double)least;
        worst = ratio > worst ? ratio : worst;
        sum += ratio;
        n++;
        assert_false(tn_i_pool_pack(&log, least)); /* nothing is better than the most that is alive */
        tn_i_pool_log_drop(c, &log);
        tn_ctx_free(c);
    }
    (void)fprintf(stderr, "packed: %.3f times the most alive on average, %.3f at worst\n", sum / n, worst);
    assert_true(sum / n < 1.1 && worst < 1.5);
}

/* ---- programs ------------------------------------------------------------------------------------------------ */

enum { SIDE = 64, PARTS = 12, BYTES = SIDE * SIDE * 8 };

/* All products are made before the first is read. */
static tn_val early(const tn_val *in, void *user) {
    tn_val y[PARTS], sum;
    (void)user;
    for (int i = 0; i < PARTS; i++) y[i] = tn_matmul(tn_mul(in[0], 1.0 + i), in[1]);
    sum = tn_matmul(y[0], in[1]);
    for (int i = 1; i < PARTS; i++) sum = tn_matmul(tn_add(sum, tn_sin(y[i])), in[1]);
    return sum;
}

/* The same, in an order in which few values wait. */
static tn_val late(const tn_val *in, void *user) {
    (void)user;
    tn_val sum = tn_matmul(tn_matmul(tn_mul(in[0], 1.0), in[1]), in[1]);
    for (int i = 1; i < PARTS; i++)
        sum = tn_matmul(tn_add(sum, tn_sin(tn_matmul(tn_mul(in[0], 1.0 + i), in[1]))), in[1]);
    return sum;
}

static size_t arena(const tn_fn *f, int backend) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    const size_t bytes = tn_exec_bytes(e);
    tn_exec_free(e);
    return bytes;
}

static void few_values_wait(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_type t[2] = {tn_f64(SIDE, SIDE), tn_f64(SIDE, SIDE)};
    tn_fn *f = tn_trace(c, early, NULL, 2, t), *g = tn_trace(c, late, NULL, 2, t);
    assert_true(f && g);
    const size_t as_written = arena(f, TN_BACKEND_REFERENCE), ordered = arena(f, 0), best = arena(g, 0);
    if (as_written < (PARTS - 1) * BYTES) fail_msg("%zu bytes as written", as_written);
    if (ordered > best) fail_msg("%zu bytes, and %zu when written in order", ordered, best);
    double *x[2], *y[2];
    for (int k = 0; k < 2; k++) {
        x[k] = malloc(BYTES);
        y[k] = malloc(BYTES);
        assert_true(x[k] && y[k]);
        for (int i = 0; i < SIDE * SIDE; i++) x[k][i] = 0.01 * ((i * 37 + k) % 101 - 50) / SIDE;
    }
    run(f, (const void *const[]){x[0], x[1]}, (void *const[]){y[0]});
    run(g, (const void *const[]){x[0], x[1]}, (void *const[]){y[1]});
    assert_memory_equal(y[0], y[1], BYTES);
    for (int k = 0; k < 2; k++) free(x[k]), free(y[k]);
    tn_ctx_free(c);
}

/* Effects are told in the order of the program. */
static tn_val told(const tn_val *in, void *user) {
    tn_val y[PARTS], sum;
    for (int i = 0; i < PARTS; i++) y[i] = tn_matmul(tn_mul(in[0], 1.0 + i), in[1]);
    for (int i = PARTS; i-- > 0;) {
        const tn_val total = tn_sum(y[i]);
        tn_print(user, "part", 1, &total);
    }
    sum = tn_matmul(y[0], in[1]);
    for (int i = 1; i < PARTS; i++) sum = tn_matmul(tn_add(sum, tn_sin(y[i])), in[1]);
    return sum;
}

typedef struct heard {
    double value[PARTS];
    int n;
} heard;

static int hear(void *user, const tn_effect *e) {
    heard *h = user;
    if (h->n < PARTS) memcpy(&h->value[h->n], e->array[0].data, sizeof(double));
    h->n++;
    return 0;
}

static void effects_stay_in_order(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_type t[2] = {tn_f64(SIDE, SIDE), tn_f64(SIDE, SIDE)};
    tn_fn *f = tn_trace(c, told, c, 2, t);
    if (!f) fail_msg("%s", tn_error(c));
    heard h = {.n = 0};
    const tn_compile_options o = {.size = sizeof o, .observer = hear, .observer_user = &h};
    tn_exec *e = tn_compile(f, &o);
    assert_non_null(e);
    double *x = malloc(BYTES), *y = malloc(BYTES);
    assert_true(x && y);
    for (int i = 0; i < SIDE * SIDE; i++) x[i] = 0.01 + 0.001 * (i % 7);
    assert_int_equal(tn_call(e, (const void *const[]){x, x}, (void *const[]){y}), TN_OK);
    assert_int_equal(h.n, PARTS);
    for (int i = 1; i < PARTS; i++) assert_true(h.value[i] < h.value[i - 1]);
    free(x);
    free(y);
    tn_exec_free(e);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_do_not_overlap), cmocka_unit_test(few_values_wait),
                                       cmocka_unit_test(effects_stay_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
