/* Gathers of single elements run inside of nests, and short rows in memory are read and written together: the bits of
 * the reference, for all dtypes, any index, and sizes that fill no vector. */
#include "opt/columns.h"
#include "opt/fuse.h"
#include "prims/ids.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_ROWS = 600, MOST_WIDTH = 20, MOST_BYTES = MOST_ROWS * MOST_WIDTH * 8, TABLE = 23 };

typedef unsigned char numbers[MOST_BYTES];
static numbers table, indices, got[2], want[2], again[2];

static const struct {
    const char *name;
    int size;
} dtypes[] = {{"f64", 8}, {"f32", 4}, {"i64", 8}, {"i32", 4}, {"bool", 1}};

/* Small numbers of dtype d, different ones. */
static void fill(unsigned char *x, size_t d, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double r = (double)((i * 7919 + 13) % 1009) / 8 - 50;
        if (d == 0) memcpy(x + i * 8, &r, 8);
        if (d == 1) memcpy(x + i * 4, &(float){(float)r}, 4);
        if (d == 2) memcpy(x + i * 8, &(int64_t){(int64_t)(r * 8)}, 8);
        if (d == 3) memcpy(x + i * 4, &(int32_t){(int32_t)(r * 8)}, 4);
        if (d == 4) x[i] = (i * 7919 / 13) % 3 == 0;
    }
}

static void fill_indices(bool wide, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const int64_t far = i % 17 == 3 ? INT32_MAX : i % 19 == 4 ? INT32_MIN : (int64_t)(i * 31 % (TABLE + 6)) - 3;
        if (wide)
            memcpy(indices + i * 8, &(int64_t){i % 23 == 5 ? far * 4099 : far}, 8);
        else
            memcpy(indices + i * 4, &(int32_t){(int32_t)far}, 4);
    }
}

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s\n%s", tn_error(c), text);
    return f;
}

static uint32_t steps_of(const tn_fn *f, int id) {
    uint32_t n = 0;
    tn_fn *g = tn_i_fuse(f);
    assert_non_null(g);
    for (uint32_t i = 0; i < g->neqn; i++) n += g->eqn[i].prim->id == id;
    tn_i_fn_unref(g);
    return n;
}

static void call(tn_fn *f, int backend, const void *const *in, numbers *out, int threads) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .threads = threads};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    memset(out, 0x5a, 2 * sizeof *out);
    assert_int_equal(tn_call(e, in, (void *[]){out[0], out[1]}), TN_OK);
    tn_exec_free(e);
}

/* All backends, in the same bits; also what lies behind the outputs. */
static void agree(tn_fn *f, const void *const *in, const char *text, bool native) {
    call(f, TN_BACKEND_REFERENCE, in, want, 1);
    call(f, TN_BACKEND_DEFAULT, in, got, 1);
    if (memcmp(got, want, sizeof got)) fail_msg("default: %s", text);
    if (!native) return;
    call(f, TN_BACKEND_NATIVE, in, again, 1);
    if (memcmp(again, want, sizeof got)) fail_msg("native: %s", text);
}

#define DIMS(window)                                                                                        \
    "gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(" window "), collapsed_slice_dims=(0,), " \
    "start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=()) "

static const char *const modes[] = {"clip", "fill", "fill fill_value=1"};
static const int sizes[] = {2, 5, 16, 37, 513};

/* A column of a table, chosen by indices from memory, and by others that are computed. */
static void test_lookups(void **state) {
    (void)state;
    char text[2048];
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t k = 0; k < 2 * COUNT(modes) * COUNT(sizes); k++) {
            const bool wide = k % 2;
            const char *mode = modes[k / 2 % COUNT(modes)], *t = dtypes[d].name, *i = wide ? "i64" : "i32";
            const int n = sizes[k / 2 / COUNT(modes)];
            tn_ctx *c = checked();
            (void)snprintf(
                text, sizeof text,
                "{ lambda x:%s[%d,3] i:%s[%d] . "
                "let s:%s[%d,1] = slice[start_indices=(0, 1) limit_indices=(%d, 2)] x "
                "v:%s[%d] = reshape[new_sizes=(%d,)] s "
                "j:%s[%d,1] = broadcast_in_dim[shape=(%d, 1) broadcast_dimensions=(0,)] i "
                "a:%s[%d] = " DIMS("") "slice_sizes=(1,) mode=%s] v j "
                                       "two:%s[%d] = broadcast_in_dim[shape=(%d,) broadcast_dimensions=()] 2:%s[] "
                                       "l:%s[%d] = add i two "
                                       "m:%s[%d,1] = broadcast_in_dim[shape=(%d, 1) broadcast_dimensions=(0,)] l "
                                       "b:%s[%d] = " DIMS("") "slice_sizes=(1,) mode=%s] v m "
                                                              "e:bool[%d] = eq a b f:%s[%d] = select e a b in (f, e) }",
                t, TABLE, i, n, t, TABLE, TABLE, t, TABLE, TABLE, i, n, n, t, n, mode, i, n, n, i, i, n, i, n, n, t, n,
                mode, n, t, n);
            tn_fn *f = parse(c, text);
            fill(table, d, (size_t)TABLE * 3);
            fill_indices(wide, (size_t)n);
            assert_int_equal(steps_of(f, TN_P_gather), 0);
            assert_int_equal(steps_of(f, TN_P_fused), 1);
            agree(f, (const void *[]){table, indices}, text, k % 3 == 0);
            tn_fn_free(f);
            tn_ctx_free(c);
        }
}

/* Rows of arrays with one index, with many dimensions, and of a table that a step before has made. */
static void test_shapes(void **state) {
    static const char *const programs[] = {
        "{ lambda x:f64[23] i:i32[4,5,1] . let a:f64[4,5] = " DIMS(
            "") "slice_sizes=(1,) mode=clip] x i "
                "b:f64[4,5] = mul a a c:f64[4] = reduce_sum[axes=(1,)] b in (c, b) }",
        "{ lambda x:f64[23] i:i32[600,1] . let y:f64[23] = neg x z:f64[23] = cumsum[axis=0 reverse=False] y "
        "a:f64[600] = " DIMS("") "slice_sizes=(1,) mode=clip] z i b:f64[600] = sub a a in (b, a) }",
        "{ lambda x:f64[23] i:i32[600,1] . let y:f64[23] = neg x a:f64[600] = " DIMS(
            "") "slice_sizes=(1,) mode=clip] y i in (a, y) }",
        "{ lambda x:f64[23] i:i32[1,1] . let a:f64[1] = " DIMS("") "slice_sizes=(1,) mode=clip] x i "
                                                                   "b:f64[1] = neg a in (b, a) }",
        "{ lambda x:f64[] i:i32[600,1] . let y:f64[600] = broadcast_in_dim[shape=(600,) broadcast_dimensions=()] x "
        "z:f64[600] = iota[dimension=0 dtype=f64 shape=(600,)] w:f64[600] = mul y z a:f64[600] = " DIMS(
            "") "slice_sizes=(1,) mode=clip] w i b:f64[600] = add a w in (b, a) }",
        "{ lambda x:f64[23] i:i32[600,1] . let a:f64[23] = iota[dimension=0 dtype=f64 shape=(23,)] b:f64[600] = " DIMS(
            "") "slice_sizes=(1,) mode=clip] a i c:f64[600] = neg b in (c, b) }",
        "{ lambda x:f64[23] i:i32[600,1] . let l:i32[600,1] = broadcast_in_dim[shape=(600, 1) "
        "broadcast_dimensions=()] 7:i32[] a:f64[600] = " DIMS(
            "") "slice_sizes=(1,) mode=clip] x l "
                "b:f64[600] = " DIMS("") "slice_sizes=(1,) mode=clip] x i c:f64[600] = add a b in (c, b) }"};
    (void)state;
    fill(table, 0, TABLE);
    fill_indices(false, MOST_ROWS);
    for (size_t i = 0; i < COUNT(programs); i++) {
        tn_ctx *c = checked();
        tn_fn *f = parse(c, programs[i]);
        agree(f, (const void *[]){table, indices}, programs[i], true);
        tn_fn_free(f);
        tn_ctx_free(c);
    }
}

/* Rows become columns, looked up where they are read: one step, nothing else in memory. */
static void test_rows(void **state) {
    enum { N = 37, WIDTH = 11 };
    (void)state;
    for (size_t k = 0; k < COUNT(modes); k++) {
        char text[2048];
        (void)snprintf(text, sizeof text,
                       "{ lambda x:f64[%d,11] i:i32[37,1] . let a:f64[37,11] = " DIMS(
                           "1,") "slice_sizes=(1, 11) mode=%s] x i "
                                 "b:f64[37,4] = slice[start_indices=(0, 0) limit_indices=(37, 4)] a "
                                 "c:f64[37,7] = slice[start_indices=(0, 4) limit_indices=(37, 11)] a "
                                 "d:f64[37,11] = concatenate[dimension=1] c b e:f64[37,11] = mul d a "
                                 "f:f64[37,22] = concatenate[dimension=1] e a g:f64[37,26] = concatenate[dimension=1] "
                                 "f b in (g, a) }",
                       TABLE, modes[k]);
        tn_ctx *c = checked();
        tn_fn *f = parse(c, text);
        fill(table, 0, TABLE * WIDTH);
        fill_indices(false, N);
        assert_int_equal(steps_of(f, TN_P_gather), 0);
        assert_int_equal(steps_of(f, TN_P_fused), 1);
        agree(f, (const void *[]){table, indices}, text, true);
        tn_fn_free(f);
        tn_ctx_free(c);
    }
}

/* Columns of x [n, width] from `from` on, every one or every second, with the sums of neighbours woven into rows. */
static char *columns_text(const char *t, int n, int width, int from, int step) {
    char *text = NULL;
    size_t bytes;
    FILE *s = open_memstream(&text, &bytes);
    int last = from;
    (void)fprintf(s, "{ lambda x:%s[%d,%d] . let ", t, n, width);
    for (int k = from; k < width; k += step, last = k - step)
        (void)fprintf(s,
                      "s%d:%s[%d,1] = slice[start_indices=(0, %d) limit_indices=(%d, %d)] x "
                      "c%d:%s[%d] = reshape[new_sizes=(%d,)] s%d ",
                      k, t, n, k, n, k + 1, k, t, n, n, k);
    for (int k = from; k <= last; k += step)
        (void)fprintf(s,
                      "y%d:%s[%d] = max c%d c%d z%d:%s[%d,1] = broadcast_in_dim[shape=(%d, 1) "
                      "broadcast_dimensions=(0,)] y%d ",
                      k, t, n, k, k + step <= last ? k + step : from, k, t, n, n, k);
    (void)fprintf(s, "w:%s[%d,%d] = concatenate[dimension=1]", t, n, (last - from) / step + 1);
    for (int k = from; k <= last; k += step) (void)fprintf(s, " z%d", k);
    (void)fprintf(s, " in (w, y%d) }", last);
    (void)fclose(s);
    assert_non_null(text);
    return text;
}

static void test_neighbours(void **state) {
    static const int width[] = {3, 8, 13, 20}, rows[] = {16, 37, 600};
    (void)state;
    for (size_t d = 0; d < 4; d++)
        for (size_t k = 0; k < COUNT(width) * COUNT(rows); k++) {
            const int w = width[k % COUNT(width)], n = rows[k / COUNT(width)];
            char *text = columns_text(dtypes[d].name, n, w, (int)(k % 2), w > 8 && k % 3 == 0 ? 2 : 1);
            tn_ctx *c = checked();
            tn_fn *f = parse(c, text);
            fill(table, d, (size_t)(n * w));
            agree(f, (const void *[]){table}, text, true);
            tn_fn_free(f);
            tn_ctx_free(c);
            free(text);
        }
}

/* An output that nobody wants, threads, and an output in the memory of what is looked up in. */
static void test_calls(void **state) {
    enum { N = 40000 };
    static int32_t at[N];
    static double x[N], y[N], one[N], two[N];
    (void)state;
    const char *const text = "{ lambda x:f64[40000] i:i32[40000,1] . let a:f64[40000] = " DIMS(
        "") "slice_sizes=(1,) mode=clip] x i "
            "b:f64[40000] = add a x c:f64[40000] = mul b a in (b, c) }";
    tn_ctx *c = checked();
    tn_fn *f = parse(c, text);
    for (int i = 0; i < N; i++) at[i] = (int32_t)((long)i * 7919 % N), x[i] = y[i] = i;
    for (int k = 0; k < 4; k++) {
        const int alias[2] = {k < 2 ? -1 : 0, -1};
        const tn_compile_options o = {
            .size = sizeof o, .backend = k % 2 ? TN_BACKEND_NATIVE : TN_BACKEND_DEFAULT, .threads = 2, .alias = alias};
        tn_exec *e = tn_compile(f, &o);
        assert_non_null(e);
        memcpy(y, x, sizeof y);
        double *const b = k < 2 ? one : y;
        assert_int_equal(tn_call(e, (const void *[]){k < 2 ? x : y, at}, (void *[]){b, k % 2 ? NULL : two}), TN_OK);
        for (int i = 0; i < N; i++) assert_true(b[i] == x[at[i]] + x[i]);
        for (int i = 0; i < N && k % 2 == 0; i++) assert_true(two[i] == (x[at[i]] + x[i]) * x[at[i]]);
        tn_exec_free(e);
    }
    tn_fn_free(f);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lookups), cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_rows), cmocka_unit_test(test_neighbours),
                                       cmocka_unit_test(test_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
