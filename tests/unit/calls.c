/* Native code of elements that are given to functions: the bits of the default back end, wherever a row ends and
 * however many threads there are. */
#include "amount.h"
#include "compiled.h"

#include "cache_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 300000 };

typedef struct kind {
    int dtype;
    int64_t rows, n; /* x has [rows, n] elements, y [n] */
    int threads;
} kind;

static char cache[] = "/tmp/tansy-calls-XXXXXX"; /* of native code */

/* ---- programs of x and y ------------------------------------------------------------------------ */

static tn_val chain(const tn_val *in) {
    return tn_tanh(tn_add(tn_mul(tn_sin(in[0]), tn_exp(tn_neg(tn_square(in[1])))), in[0]));
}

static void stored(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = chain(in);
    out[1] = tn_lt(out[0], in[1]);
}

static void summed(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val t = chain(in);
    out[0] = tn_sum_axis(t, 1);
    out[1] = tn_max_axis(tn_pow(tn_square(in[0]), t), 1);
    out[2] = tn_sum_axis(t, 0);
}

/* In several passes of a row, what the first one computes kept for the next. */
static void passes(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val e = tn_exp(tn_sub(in[0], tn_max_axis(in[0], 1, TN_KEEPDIMS)));
    out[0] = tn_mul(tn_div(e, tn_sum_axis(e, 1, TN_KEEPDIMS)), in[1]);
}

static void strips(const tn_val *in, tn_val *out, void *user) { /* for each lane by itself */
    (void)user;
    out[0] = tn_mul(tn_digamma(tn_add(in[0], 3)), in[1]);
}

static void cheap(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_add(tn_mul(tn_sub(in[0], in[1]), in[0]), in[1]);
}

static const struct program {
    tn_trace_many_fn trace;
    size_t nout;
} programs[] = {{stored, 2}, {summed, 3}, {passes, 1}, {strips, 1}, {cheap, 1}};
enum { STORED, SUMMED };

/* ---- running ------------------------------------------------------------------------------------ */

static void check_program(const struct program *p, const kind *k) {
    static double x[MOST], y[MOST];
    static char want[MOST * 10], out[MOST * 10];
    tn_ctx *c = checked();
    const tn_type in[2] = {tn_type_of((tn_dtype)k->dtype, 2, (const int64_t[]){k->rows, k->n}),
                           tn_type_of((tn_dtype)k->dtype, 1, (const int64_t[]){k->n})};
    const tn_fn *f = tn_trace_many(c, p->trace, NULL, 2, in, p->nout);
    if (!f) fail_msg("%s", tn_error(c));
    tn_compile_options o = {.size = sizeof o, .cache_dir = cache, .threads = k->threads};
    fill_sines(k->dtype, x, MOST, 0.7);
    fill_sines(k->dtype, y, MOST, 1.3);
    memset(want, 0x55, sizeof want);
    memset(out, 0x55, sizeof out);
    tn_exec_free(call_compiled(f, &o, (const void *[]){x, y}, want));
    o.backend = TN_BACKEND_NATIVE;
    tn_exec *e = call_compiled(f, &o, (const void *[]){x, y}, out);
    if (memcmp(want, out, sizeof want) != 0)
        fail_msg("program %d of %d x %d, dtype %d, %d threads: other bits in native code", (int)(p - programs),
                 (int)k->rows, (int)k->n, k->dtype, k->threads);
    tn_exec_free(e);
    tn_ctx_free(c);
}

/* Rows that end within the first vector or the second, by whole vectors or not. */
static void test_rows(void **state) {
    static const int64_t n[] = {1, 7, 8, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 511, 513, 1040};
    (void)state;
    assert_non_null(mkdtemp(cache));
    for (size_t i = 0; i < COUNT(n); i++)
        for (int dtype = TN_F32; dtype <= TN_F64; dtype++)
            for (int which = STORED; which <= SUMMED; which++)
                if (in_share(i + (size_t)dtype + (size_t)which, 2))
                    check_program(&programs[which], &(kind){dtype, 3, n[i], 1});
}

static void test_kinds(void **state) {
    static const kind kinds[] = {
        {TN_F32, 262, 1000, 1}, {TN_F32, 263, 1000, 1}, {TN_F64, 131, 1001, 1},
        {TN_F64, 131, 1000, 1}, {TN_F64, 1, 200000, 1}, {TN_F32, 50, 6000, 4},
    };
    (void)state;
    for (size_t which = 0; which < COUNT(programs); which++)
        for (size_t i = 0; i < COUNT(kinds); i++)
            if (in_share(which + i, 2)) check_program(&programs[which], &kinds[i]);
    cache_dir_remove(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
