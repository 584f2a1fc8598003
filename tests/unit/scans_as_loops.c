/* Cumulative operations and recurrences as loops of a program (lower/scans.c): the bits of the kernels, over the first
 * axis and the last, from either end, of one lane and many, alone and in steps of loops, by machine code and strips. */
#include "amount.h"
#include "prims/prim.h"
#include "tracing.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 40000 };

static const char *const ops[] = {"cumsum", "cumprod", "cummax", "cummin", "linear_recurrence"};
static const struct {
    int dtype;
    const char *name;
} dtypes[] = {{TN_F64, "f64"}, {TN_F32, "f32"}, {TN_I32, "i32"}, {TN_I64, "i64"}};
static const int64_t sizes[][2] = {{1, 1},  {2, 1},  {65, 1},  {1000, 1}, {20000, 1}, {3, 5},
                                   {17, 8}, {8, 17}, {65, 33}, {2, 400},  {400, 2}};

static void fill(int dtype, void *x, int64_t n) {
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e-310, 1e300};
    for (int64_t i = 0; i < n; i++) {
        const double v = n > 30 && i % 97 == 96 ? odd[i / 97 % (int64_t)COUNT(odd)] : 1 + 0.37 * sin((double)i * 1.7);
        if (dtype == TN_F64) ((double *)x)[i] = v;
        if (dtype == TN_F32) ((float *)x)[i] = (float)v;
        if (dtype == TN_I32) ((int32_t *)x)[i] = (int32_t)(i * 7919 % 31 - 15);
        if (dtype == TN_I64) ((int64_t *)x)[i] = i * 7919 % 31 - 15;
    }
}

/* Of x, or of factors and x; in a loop, so often that what is carried changes. */
static void write(char *text, size_t room, const char *op, const char *d, const int64_t *size, int axis, bool reverse,
                  bool looped) {
    char t[48], scan[160];
    (void)snprintf(t, sizeof t, "%s[%d,%d]", d, (int)size[0], (int)size[1]);
    (void)snprintf(scan, sizeof scan, "z:%s = %s[axis=%d reverse=%s] %sx", t, op, axis, reverse ? "True" : "False",
                   strcmp(op, "linear_recurrence") ? "" : "a ");
    if (!looped)
        (void)snprintf(text, room, "{ lambda a:%s x:%s . let\n  %s\n  y:%s = max z a\n in (y, z) }", t, t, scan, t);
    else
        (void)snprintf(
            text, room,
            "{ lambda a:%s x:%s . let\n  y:%s = scan[program={ lambda a:%s x:%s . let\n  %s\n"
            "  y:%s = min z a\n in (y,) } length=3 num_consts=1 num_carry=1 reverse=False] a x\n in (y, y) }",
            t, t, t, t, t, scan, t);
}

/* The bits are, or both are no number: whose sign and payload are the processor's. */
static bool same(int dtype, const void *x, const void *y, int64_t n) {
    const size_t size = tn_i_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        const void *a = (const char *)x + (size_t)i * size, *b = (const char *)y + (size_t)i * size;
        const bool nans = tn_i_is_float(dtype) && isnan(tn_i_element(dtype, a)) && isnan(tn_i_element(dtype, b));
        if (!nans && memcmp(a, b, size) != 0) return false;
    }
    return true;
}

static void compare(const char *op, size_t which, const int64_t *size, int axis, bool reverse, bool looped) {
    static const int backend[] = {TN_BACKEND_REFERENCE, TN_BACKEND_DEFAULT, TN_BACKEND_STRIPS};
    static double a[MOST], x[MOST], out[3][2][MOST];
    char text[1000];
    const int dtype = dtypes[which].dtype;
    tn_ctx *c = checked();
    write(text, sizeof text, op, dtypes[which].name, size, axis, reverse, looped);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s\n%s", text, tn_error(c));
    fill(dtype, a, size[0] * size[1]);
    fill(dtype, x, size[0] * size[1]);
    for (size_t b = 0; b < COUNT(backend); b++) {
        const tn_compile_options o = {.size = sizeof o, .backend = backend[b]};
        tn_exec *e = tn_compile(f, &o);
        if (!e) fail_msg("%s\n%s", text, tn_error(c));
        assert_int_equal(tn_call(e, (const void *[]){a, x}, (void *[]){out[b][0], out[b][1]}), TN_OK);
        tn_exec_free(e);
        if (!same(dtype, out[b][0], out[0][0], size[0] * size[1]) ||
            !same(dtype, out[b][1], out[0][1], size[0] * size[1]))
            fail_msg("backend %d, of\n%s", backend[b], text);
    }
    tn_ctx_free(c);
}

static void test_all(void **state) {
    (void)state;
    for (size_t op = 0; op < COUNT(ops); op++)
        for (size_t d = 0; d < COUNT(dtypes); d++)
            for (size_t s = 0; s < COUNT(sizes); s++)
                for (int k = 0; k < 8; k++) {
                    if (op == 4 && d > 1) continue; /* floats alone */
                    if (!in_share(op + d + s + (size_t)k, 3)) continue;
                    compare(ops[op], d, sizes[s], k & 1, k >> 1 & 1, k >> 2 & 1);
                }
}

/* A program that has nothing else is no call of a kernel. */
static void count(void *user, const tn_step *s) {
    *(int *)user += !strcmp(s->kind, "steps") && !strcmp(s->runner, "library");
}
static void test_programs(void **state) {
    static const char text[] =
        "{ lambda a:f64[50] x:f64[50] . let y:f64[50] = scan[program={ lambda a:f64[50] x:f64[50] . let\n"
        "  z:f64[50] = cumsum[axis=0 reverse=False] x\n  y:f64[50] = mul z a\n in (y,) } length=9 num_consts=1\n"
        "  num_carry=1 reverse=False] a x in (y,) }";
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "test.tn");
    tn_exec *e = f ? tn_compile(f, NULL) : NULL;
    if (!e) fail_msg("%s", tn_error(c));
    int calls = 0, backend = tn_exec_backend(e, NULL);
    assert_int_equal(tn_exec_steps(e, count, &calls), TN_OK);
    if (backend == TN_BACKEND_ASSEMBLER && calls) fail_msg("%d steps are the library's", calls);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
