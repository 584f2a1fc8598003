/* top_k of rows and columns, short and long, for k from 1 to all of them (prims/arrays/largest.c lists, sifts or
 * sorts): values and places are those of a sort by comparison, NaN first and of equals the first. */
#include "prims/prim.h"
#include "amount.h"
#include "tracing.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const dtypes[] = {"f64",  "f32", "i64", "i32", "u32", "bool", "f16",
                                     "bf16", "i8",  "u8",  "i16", "u16", "u64"};
static const int numbers[] = {TN_F64,  TN_F32, TN_I64, TN_I32, TN_U32, TN_BOOL, TN_F16,
                              TN_BF16, TN_I8,  TN_U8,  TN_I16, TN_U16, TN_U64};

enum { FEW, MANY, ENDS, RISING, FALLING, EQUAL, KINDS };

static double end(int dtype, uint32_t mixed) {
    static const double ends[] = {0, -0.0, INFINITY, -INFINITY, NAN, DBL_MIN, -DBL_MIN, 5e-324, 1, -1, 65504, -3e38};
    static const double whole[] = {0, 127, -128, 255, 32767, -32768, 2147483647.0, -2147483648.0, 1, -1};
    if (tn_i_is_float(dtype)) return ends[(mixed >> 5) % COUNT(ends)];
    const double x = whole[(mixed >> 5) % COUNT(whole)];
    return dtype == TN_U64 ? fabs(x) : x;
}

static double value(int kind, int dtype, int i) {
    const uint32_t mixed = (uint32_t)i * 2654435761u;
    if (dtype == TN_BOOL) return kind == RISING ? i > 700 : kind == EQUAL ? 1 : (double)(mixed >> 9 & 1);
    switch (kind) {
    case FEW: return mixed >> 8 & 3;
    case MANY: return tn_i_is_float(dtype) ? ((double)mixed - 2147483648.0) * 1e-7 : (double)(mixed % 200);
    case ENDS: return end(dtype, mixed);
    case RISING: return i / 3;
    case FALLING: return 5000 - i / 3;
    default: return 7;
    }
}

/* ---- the naive way ---- */

static bool before(double x, double y) {
    if (isnan(x) || isnan(y)) return isnan(x) && !isnan(y);
    return x > y;
}

static void merge(const double *x, const int32_t *from, int32_t *to, int lo, int mid, int hi) {
    for (int i = lo, j = mid, k = lo; k < hi; k++)
        to[k] = i < mid && (j == hi || !before(x[from[j]], x[from[i]])) ? from[i++] : from[j++];
}

/* The order of all n, in `place`. */
static void sort(const double *x, int32_t *place, int32_t *room, int lo, int hi) {
    if (hi - lo < 2) return;
    const int mid = lo + (hi - lo) / 2;
    sort(x, place, room, lo, mid);
    sort(x, place, room, mid, hi);
    merge(x, place, room, lo, mid, hi);
    memcpy(place + lo, room + lo, (size_t)(hi - lo) * sizeof *place);
}

/* ---- what is compared ---- */

/* ROWS rows of n, or columns. */
enum { ROWS = 2 };
typedef struct sheet {
    int which, n, axis;
    char *x;
    int32_t *order[ROWS];
} sheet;

static int64_t at(const sheet *s, int row, int64_t i, int64_t n) { return s->axis ? row * n + i : i * ROWS + row; }

static void sheet_fill(sheet *s, int kind) {
    const int dtype = numbers[s->which];
    const size_t n = (size_t)s->n, size = tn_i_dtype_size(dtype);
    double *x = malloc(n * sizeof *x);
    int32_t *room = malloc(n * sizeof *room);
    s->x = malloc(n * ROWS * size);
    assert_true(x && room && s->x);
    for (int row = 0; row < ROWS; row++) {
        s->order[row] = malloc(n * sizeof **s->order);
        assert_non_null(s->order[row]);
        for (int i = 0; i < s->n; i++) {
            char *to = s->x + (size_t)at(s, row, i, s->n) * size;
            tn_i_element_set(dtype, to, value(kind, dtype, i + row * 17));
            x[i] = tn_i_element(dtype, to);
            s->order[row][i] = i;
        }
        sort(x, s->order[row], room, 0, s->n);
    }
    free(x), free(room);
}

static void sheet_free(sheet *s) {
    free(s->x);
    for (int row = 0; row < ROWS; row++) free(s->order[row]);
}

static tn_exec *compiled(tn_ctx *c, const sheet *s, int k) {
    char text[300];
    const char *t = dtypes[s->which];
    const int a = s->axis ? ROWS : s->n, b = s->axis ? s->n : ROWS, p = s->axis ? ROWS : k, q = s->axis ? k : ROWS;
    const int length = snprintf(
        text, sizeof text, "{ lambda x:%s[%d,%d] . let y:%s[%d,%d] z:i32[%d,%d] = top_k[k=%d axis=%d] x in (y, z) }", t,
        a, b, t, p, q, p, q, k, s->axis);
    tn_fn *f = tn_fn_parse(c, text, (size_t)length, "test.tn");
    if (!f) fail_msg("%s\n%s", text, tn_error(c));
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s\n%s", text, tn_error(c));
    tn_fn_free(f);
    return e;
}

static void check(tn_ctx *c, const sheet *s, int k) {
    const size_t size = tn_i_dtype_size(numbers[s->which]);
    char *y = malloc((size_t)k * ROWS * size);
    int32_t *z = malloc((size_t)k * ROWS * sizeof *z);
    assert_true(y && z);
    tn_exec *e = compiled(c, s, k);
    assert_int_equal(tn_call(e, (const void *[]){s->x}, (void *[]){y, z}), TN_OK);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < k; i++) {
            const int64_t to = at(s, row, i, k), from = at(s, row, s->order[row][i], s->n);
            if (z[to] != s->order[row][i] || memcmp(y + (size_t)to * size, s->x + (size_t)from * size, size) != 0)
                fail_msg("%s, %d of %d along %d: number %d is %d, not %d", dtypes[s->which], k, s->n, s->axis, i,
                         (int)z[to], (int)s->order[row][i]);
        }
    tn_exec_free(e);
    free(y), free(z);
}

static void check_all(tn_ctx *c, sheet *s, int kind) {
    const int n = s->n, k[] = {1, 5, 16, 17, 40, n / 3, n / 2, n / 2 + 1, n};
    sheet_fill(s, kind);
    for (size_t i = 0; i < COUNT(k); i++)
        if (k[i] > 0 && k[i] <= n && in_share(i + (size_t)kind + (size_t)n, 2)) check(c, s, k[i]);
    sheet_free(s);
}

static void test_all(void **state) {
    static const int n[] = {1, 2, 17, 33, 100, 1000, 1500, 5003};
    (void)state;
    tn_ctx *c = checked();
    for (int which = 0; which < (int)COUNT(dtypes); which++)
        for (size_t i = 0; i < COUNT(n); i++)
            for (int kind = 0; kind < KINDS; kind++) {
                if (!in_share(i + (size_t)kind + (size_t)which, which < 2 ? 1 : 3)) continue;
                sheet s = {.which = which, .n = n[i], .axis = (int)(i ^ (size_t)kind) & 1};
                check_all(c, &s, kind);
            }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
