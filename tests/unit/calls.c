/* Native code of elements that are given to functions: two vectors at a time, and lines of what is far away asked for
 * ahead (emit/nest_prefetch.c).  The interpreter's bits, wherever a row ends and however many threads there are; and
 * only where it pays. */
#include "native_text.h"

#include "cache_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 300000 };

typedef struct kind {
    int dtype;
    int64_t rows, n; /* x has [rows, n] elements, y [n] */
    int threads;
    bool far; /* x is asked for ahead; y never is */
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
    bool calls;
} programs[] = {{stored, 2, true}, {summed, 3, true}, {passes, 1, true}, {strips, 1, false}, {cheap, 1, false}};
enum { STORED, SUMMED };

/* ---- running ------------------------------------------------------------------------------------ */

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) n++;
    return n;
}

static void check_text(const struct program *p, const kind *k, const tn_exec *e) {
    tn_i_text text = native_code(e);
    const size_t prefetches = count(text.at, "__builtin_prefetch((const "),
                 seconds = count(text.at, "const int64_t j1 = i + ");
    const bool ahead = prefetches > 0, two = seconds > 0;
    tn_i_text_free(&text);
    if (ahead != (p->calls && k->far))
        fail_msg("program %d of %d x %d: %zu prefetches", (int)(p - programs), (int)k->rows, (int)k->n, prefetches);
    if (p->calls && k->n >= 32 && !two) fail_msg("%d x %d: one vector at a time", (int)k->rows, (int)k->n);
}

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
        fail_msg("program %d of %d x %d, dtype %d, %d threads: other bits than the interpreter's", (int)(p - programs),
                 (int)k->rows, (int)k->n, k->dtype, k->threads);
    check_text(p, k, e);
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
                check_program(&programs[which], &(kind){dtype, 3, n[i], 1, false});
}

static void test_kinds(void **state) {
    static const kind kinds[] = {
        {TN_F32, 262, 1000, 1, false}, {TN_F32, 263, 1000, 1, true}, {TN_F64, 131, 1001, 1, true},
        {TN_F64, 131, 1000, 1, false}, {TN_F64, 1, 200000, 1, true}, {TN_F32, 50, 6000, 4, true},
    };
    (void)state;
    for (size_t which = 0; which < COUNT(programs); which++)
        for (size_t i = 0; i < COUNT(kinds); i++) check_program(&programs[which], &kinds[i]);
    cache_dir_remove(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
