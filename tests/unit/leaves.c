/* Sums whose rows end in any leaf: the bits of the reference kernels from all back ends, whatever is folded and however
 * many threads there are. */
#include "amount.h"
#include "compiled.h"

#include "cache_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 300000 };

typedef struct kind {
    int dtype;
    int64_t rows, n; /* rows 0: a vector */
    int threads;
} kind;

static char cache[] = "/tmp/tansy-leaves-XXXXXX"; /* of native code */

/* ---- programs of x and y [rows, n] ------------------------------------------------------------- */

static int row(const kind *k) { return k->rows > 0; }

static tn_val terms(const tn_val *in) {
    const tn_val t = tn_sub(tn_mul(tn_add(tn_mul(in[0], in[1]), in[0]), in[1]), in[0]);
    return tn_sub(tn_mul(tn_add(tn_mul(t, in[0]), in[1]), in[1]), tn_square(in[0]));
}

static void a_sum(const tn_val *in, tn_val *out, void *user) { out[0] = tn_sum_axis(terms(in), row(user)); }

static void several(const tn_val *in, tn_val *out, void *user) {
    const tn_val t = terms(in);
    out[0] = tn_sum_axis(t, row(user));
    out[1] = tn_max_axis(tn_mul(t, in[0]), row(user));
    out[2] = tn_prod_axis(tn_add(1, tn_div(t, tn_add(1000, tn_square(in[1])))), row(user), TN_KEEPDIMS);
}

static void stored(const tn_val *in, tn_val *out, void *user) {
    const tn_val t = terms(in);
    out[0] = tn_mul(t, in[1]);
    out[1] = tn_sum_axis(t, row(user));
}

static void found(const tn_val *in, tn_val *out, void *user) {
    const tn_val t = terms(in);
    out[0] = tn_sum_axis(t, row(user));
    out[1] = tn_argmax(t, row(user));
}

static void little(const tn_val *in, tn_val *out, void *user) { out[0] = tn_sum_axis(tn_mul(in[0], in[1]), row(user)); }

static const struct {
    tn_trace_many_fn trace;
    size_t nout;
} programs[] = {{a_sum, 1}, {several, 3}, {stored, 2}, {found, 2}, {little, 1}};

/* ---- running ------------------------------------------------------------------------------------ */

/* Outputs one after another. */
static void call(const tn_fn *f, int backend, const kind *k, const void *x, const void *y, char *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .cache_dir = cache, .threads = k->threads};
    tn_exec_free(call_compiled(f, &o, (const void *[]){x, y}, out));
}

static void check_program(size_t which, const kind *k) {
    static double x[MOST], y[MOST];
    static char want[MOST * 9], out[MOST * 9];
    static const int backend[] = {TN_BACKEND_DEFAULT, TN_BACKEND_NATIVE};
    const int64_t dim[2] = {row(k) ? k->rows : k->n, k->n};
    const tn_type t = tn_type_of((tn_dtype)k->dtype, row(k) ? 2 : 1, dim);
    tn_ctx *c = checked();
    kind given = *k;
    const tn_fn *f = tn_trace_many(c, programs[which].trace, &given, 2, (const tn_type[]){t, t}, programs[which].nout);
    if (!f) fail_msg("%s", tn_error(c));
    fill_sines(k->dtype, x, MOST, 0.7);
    fill_sines(k->dtype, y, MOST, 1.3);
    memset(want, 0x55, sizeof want);
    call(f, TN_BACKEND_REFERENCE, k, x, y, want);
    for (size_t b = 0; b < COUNT(backend); b++) {
        memset(out, 0x55, sizeof out);
        call(f, backend[b], k, x, y, out);
        if (memcmp(want, out, sizeof want) != 0)
            fail_msg("program %zu of %dx%d, dtype %d, %d threads: backend %d has other bits", which, (int)k->rows,
                     (int)k->n, k->dtype, k->threads, backend[b]);
    }
    tn_ctx_free(c);
}

/* Rows that end in the first leaf of two, between them, in the second, by whole vectors or not. */
static void test_rows(void **state) {
    static const int64_t n[] = {544, 560, 1000, 1024, 1025, 1056, 1536, 1551, 2048, 5000};
    (void)state;
    assert_non_null(mkdtemp(cache));
    for (size_t which = 1; which < 3; which++)
        for (size_t i = 0; i < COUNT(n); i++)
            for (int dtype = TN_F32; dtype <= TN_F64; dtype++)
                if (in_share(which + i + (size_t)dtype, 2)) check_program(which, &(kind){dtype, 0, n[i], 1});
}

static void test_kinds(void **state) {
    static const kind kinds[] = {
        {TN_F32, 0, 512, 1},    {TN_F64, 0, 520, 1},    {TN_F32, 3, 1500, 1},
        {TN_F64, 7, 900, 1},    {TN_F64, 0, 60000, 1},  {TN_F64, 0, 70000, 1},
        {TN_F32, 0, 120000, 4}, {TN_F64, 0, 250000, 4}, {TN_F32, 100, 1100, 3},
    };
    (void)state;
    for (size_t which = 0; which < COUNT(programs); which++)
        for (size_t i = 0; i < COUNT(kinds); i++)
            if (in_share(which + i, 2)) check_program(which, &kinds[i]);
    cache_dir_remove(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
