/* Comparisons, choices and bounds that ranges of integers decide (opt/ranges.c): random programs of integers, and of
 * floats that become integers, compute the reference's bits, for what is at the ends of dtypes, NaN and infinite too;
 * and indices that are inside are not put right. */
#include "prims/prim.h"
#include "amount.h"
#include "tracing.h"

#include <math.h>
#include <stdio.h>

enum { N = 40, EQUATIONS = 60, INPUTS = 6 };

/* ---- random programs ------------------------------------------------------------------------------------ */

typedef struct text {
    char at[16384];
    size_t n;
    int values, dtype[EQUATIONS + INPUTS]; /* of v0, v1 .. */
} text;

static const char *const names[] = {[TN_BOOL] = "bool", [TN_I32] = "i32", [TN_I64] = "i64", [TN_F32] = "f32",
                                    [TN_F64] = "f64",   [TN_U32] = "u32", [TN_I8] = "i8",   [TN_U8] = "u8"};
static const int integers[] = {TN_I32, TN_I64, TN_U32, TN_I8, TN_U8};

/* Mostly one of those that were made last. */
static int value(const text *t, tn_i_rng *r, int dtype) {
    int found = -1;
    for (int v = 0; v < t->values; v++)
        if (t->dtype[v] == dtype && (found < 0 || tn_i_pick(r, 0, 3) == 0)) found = v;
    return found;
}

static void put(text *t, int dtype, const char *what) {
    t->n +=
        (size_t)snprintf(t->at + t->n, sizeof t->at - t->n, "  v%d:%s[%d] = %s\n", t->values, names[dtype], N, what);
    t->dtype[t->values++] = dtype;
}

static void put_number(text *t, tn_i_rng *r, int dtype) {
    static const char *const some[] = {"0", "1", "2", "3", "4", "7", "127", "-1", "-2", "-128"};
    char what[120];
    const bool sign = dtype != TN_U32 && dtype != TN_U8;
    (void)snprintf(what, sizeof what, "broadcast_in_dim[shape=(%d,) broadcast_dimensions=()] %s%s:%s[]", N,
                   some[tn_i_pick(r, 0, sign ? 9 : 6)], dtype == TN_F32 || dtype == TN_F64 ? ".0" : "", names[dtype]);
    put(t, dtype, what);
}

static void put_two(text *t, int dtype, const char *op, int x, int y) {
    char what[120];
    (void)snprintf(what, sizeof what, "%s v%d v%d", op, x, y);
    put(t, dtype, what);
}

static void put_some(text *t, tn_i_rng *r) {
    static const char *const two[] = {"add", "sub", "mul", "div", "rem", "and", "max", "min"}, *const compare[] = {
                                                                                                   "lt", "le", "gt",
                                                                                                   "ge", "eq", "ne"};
    const int dtype = integers[tn_i_pick(r, 0, 4)], x = value(t, r, dtype), y = value(t, r, dtype),
              z = value(t, r, dtype), p = value(t, r, TN_BOOL), q = value(t, r, TN_BOOL), d = value(t, r, TN_F64);
    char what[160];
    switch (tn_i_pick(r, 0, 11)) {
    case 0: put_number(t, r, dtype); return;
    case 1:
    case 2: put_two(t, dtype, two[tn_i_pick(r, 0, dtype == TN_U32 || dtype == TN_U8 ? 2 : 7)], x, y); return;
    case 3:
    case 4: put_two(t, TN_BOOL, compare[tn_i_pick(r, 0, 5)], x, y); return;
    case 5:
    case 6: (void)snprintf(what, sizeof what, "select v%d v%d v%d", p, x, y); break;
    case 7: (void)snprintf(what, sizeof what, "clamp v%d v%d v%d", x, y, z); break;
    case 8: put_two(t, TN_BOOL, tn_i_pick(r, 0, 1) ? "and" : "or", p, q); return;
    case 9:
        (void)snprintf(what, sizeof what, "convert_element_type[new_dtype=%s] v%d", names[dtype],
                       tn_i_pick(r, 0, 1) ? d : value(t, r, integers[tn_i_pick(r, 0, 4)]));
        break;
    case 10:
        (void)snprintf(what, sizeof what, "clamp v%d v%d v%d", value(t, r, TN_F64), d, value(t, r, TN_F64));
        put(t, TN_F64, what);
        return;
    default:
        (void)snprintf(what, sizeof what, "%s v%d", tn_i_pick(r, 0, 1) ? "floor" : "ceil", d);
        put(t, TN_F64, what);
        return;
    }
    put(t, dtype, what);
}

static void make(text *t, uint64_t seed) {
    tn_i_rng r = {seed};
    char what[80];
    *t = (text){.n = 0};
    t->n = (size_t)snprintf(t->at, sizeof t->at,
                            "{ lambda v0:i32[%d] v1:i64[%d] v2:u32[%d] v3:i8[%d] v4:u8[%d] "
                            "v5:f64[%d] . let\n",
                            N, N, N, N, N, N);
    for (size_t i = 0; i < COUNT(integers); i++) t->dtype[t->values++] = integers[i];
    t->dtype[t->values++] = TN_F64;
    (void)snprintf(what, sizeof what, "iota[dtype=i32 shape=(%d,) dimension=0]", N);
    put(t, TN_I32, what);
    put_two(t, TN_BOOL, "lt", 0, 6);
    for (int input = 0; input < INPUTS; input++) { /* few numbers, which meet their bounds */
        put_number(t, &r, t->dtype[input]);
        put_number(t, &r, t->dtype[input]);
        (void)snprintf(what, sizeof what, "clamp v%d v%d v%d", t->values - 2, input, t->values - 1);
        put(t, t->dtype[input], what);
    }
    while (t->values < EQUATIONS + INPUTS) put_some(t, &r);
    t->n += (size_t)snprintf(t->at + t->n, sizeof t->at - t->n, "in (");
    for (int v = INPUTS; v < t->values; v++) t->n += (size_t)snprintf(t->at + t->n, sizeof t->at - t->n, "v%d,", v);
    (void)snprintf(t->at + t->n, sizeof t->at - t->n, ") }");
}

static void fill(void *const *x) {
    static const int64_t ends[] = {INT8_MIN, INT8_MAX, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, UINT32_MAX, 0, -1};
    static const double floats[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, -0.5, 0.5, 127.9, -3e9, 3e9};
    for (size_t i = 0; i < COUNT(integers); i++)
        for (int k = 0; k < N; k++) {
            const int64_t v = k < (int)COUNT(ends) ? ends[k] : k * (k % 3 - 1);
            memcpy((char *)x[i] + (size_t)k * tn_i_dtype_size(integers[i]), &v, tn_i_dtype_size(integers[i]));
        }
    for (int k = 0; k < N; k++) ((double *)x[5])[k] = k < (int)COUNT(floats) ? floats[k] : k * 0.7 - 9;
}

static void run_by(tn_ctx *c, const text *t, int backend, void *const *in, char *out) {
    void *to[EQUATIONS];
    tn_fn *f = tn_fn_parse(c, t->at, strlen(t->at), "test.tn");
    if (!f) fail_msg("%s\n%s", t->at, tn_error(c));
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s\n%s", t->at, tn_error(c));
    for (int j = 0; j < t->values - INPUTS; j++) to[j] = out + j * 8 * N;
    assert_int_equal(tn_call(e, (const void *const *)in, to), TN_OK);
    tn_exec_free(e);
    tn_fn_free(f);
}

static void test_random(void **state) {
    static char out[2][EQUATIONS * 8 * N];
    static int64_t x[INPUTS][N];
    void *in[INPUTS];
    (void)state;
    for (int i = 0; i < INPUTS; i++) in[i] = x[i];
    fill(in);
    tn_ctx *c = checked();
    for (uint64_t seed = 1; seed <= (uint64_t)amount(6000, 400) / (SANITIZED ? 10 : 1); seed++) {
        text t;
        make(&t, seed);
        memset(out, 0, sizeof out);
        run_by(c, &t, TN_BACKEND_REFERENCE, in, out[0]);
        run_by(c, &t, TN_BACKEND_DEFAULT, in, out[1]);
        for (int v = INPUTS; v < t.values; v++)
            if (memcmp(out[0] + (v - INPUTS) * 8 * N, out[1] + (v - INPUTS) * 8 * N, 8 * N) != 0)
                fail_msg("seed %d, v%d of\n%s", (int)seed, v, t.at);
    }
    tn_ctx_free(c);
}

/* ---- what is left out -------------------------------------------------------------------------------------- */

static void count(void *user, const tn_step *step) { *(size_t *)user += (size_t)step->operations; }

static size_t operations(const char *equations) {
    char all[1500];
    size_t n = 0;
    tn_ctx *c = checked();
    (void)snprintf(all, sizeof all,
                   "{ lambda x:f64[50] k:i32[50] a:f64[99] . let\n"
                   "  zero:i32[50] = broadcast_in_dim[shape=(50,) broadcast_dimensions=()] 0:i32[]\n"
                   "  all:i32[50] = broadcast_in_dim[shape=(50,) broadcast_dimensions=()] 99:i32[]\n"
                   "  %s\n  m:i32[50,1] = reshape[new_sizes=(50, 1)] j\n"
                   "  y:f64[50] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(), "
                   "collapsed_slice_dims=(0,), start_index_map=(0,), operand_batching_dims=(), "
                   "start_indices_batching_dims=()) slice_sizes=(1,) mode=clip] a m\n in (y,) }",
                   equations);
    tn_fn *f = tn_fn_parse(c, all, strlen(all), "test.tn");
    if (!f) fail_msg("%s\n%s", all, tn_error(c));
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    assert_int_equal(tn_exec_steps(e, count, &n), TN_OK);
    tn_exec_free(e);
    tn_ctx_free(c);
    return n;
}

static void test_left_out(void **state) {
    (void)state;
#define OF_X                                                                          \
    "b:f64[50] = clamp 0.0:f64[] x 97.0:f64[]\n  c:f64[50] = floor b\n  i:i32[50] = " \
    "convert_element_type[new_dtype=i32] c\n  "
#define PUT_RIGHT(of) "  p:bool[50] = lt " of " zero\n  q:i32[50] = add " of " all\n  j:i32[50] = select p q " of
    assert_int_equal(operations(OF_X PUT_RIGHT("i")), operations(OF_X "j:i32[50] = copy i"));
    assert_int_equal(operations("i:i32[50] = clamp 0:i32[] k 98:i32[]\n" PUT_RIGHT("i")),
                     operations("i:i32[50] = clamp 0:i32[] k 98:i32[]\n j:i32[50] = copy i"));
    assert_int_equal(operations("i:i32[50] = rem k all\n l:i32[50] = add i all\n" PUT_RIGHT("l")),
                     operations("i:i32[50] = rem k all\n j:i32[50] = add i all"));
    assert_true(operations(PUT_RIGHT("k")) > operations("j:i32[50] = copy k"));
    assert_true(operations("i:i32[50] = rem k all\n" PUT_RIGHT("i")) > operations("j:i32[50] = rem k all"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
