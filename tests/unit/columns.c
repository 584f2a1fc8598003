/* Programs over many short rows run as columns: the same values on every backend, few passes over memory, and nothing
 * multiplied by the zeros of a basis. */
#include "exec/columns.h"
#include "exec/fuse.h"
#include "prims/prim.h"
#include "tracing.h"

#include <stdlib.h>

enum { N = 37, IN = 7, OUT = 2 };

static tn_val cross(tn_val a, tn_val b) {
    return tn_sub(tn_mul(tn_roll(a, -1, 0), tn_roll(b, -2, 0)), tn_mul(tn_roll(a, -2, 0), tn_roll(b, -1, 0)));
}

/* x: [7] -> [2] */
static tn_val few(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_slice_axis(in[0], 0, 3, 1, 0), b = tn_slice_axis(in[0], 3, 6, 1, 0), s = tn_at(in[0], 6);
    const tn_val norm = tn_sqrt(tn_sum_squares(a)), c = tn_div(cross(tn_div(a, norm), tn_sin(b)), tn_add(2, s));
    const tn_val two = tn_slice_axis(c, 0, 2, 1, 0);
    return tn_add(tn_mul(two, tn_exp(tn_neg(tn_square(s)))), tn_div(tn_sum(tn_mul(a, b)), norm));
}

static uint32_t count(const tn_fn *f, int id) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) n += f->eqn[i].prim->id == id;
    return n;
}

static void call(tn_fn *f, int backend, const void *in, void *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, (const void *[]){in}, (void *[]){out}), TN_OK);
    tn_exec_free(e);
}

static tn_fn *derivative(tn_ctx *c, int kind, tn_fn **one) {
    tn_fn *f = tn_trace(c, few, NULL, 1, TN_TYPES(tn_f64(IN)));
    *one = kind == 0 ? f : kind == 1 ? tn_jacfwd(f, NULL, 0) : tn_jacrev(f, NULL, NULL, 0);
    return tn_vmap(*one, N, NULL, NULL);
}

static void test_values(void **state) {
    (void)state;
    double x[N * IN], got[N * OUT * IN], native[N * OUT * IN], want[N * OUT * IN], row[OUT * IN];
    for (int i = 0; i < N * IN; i++) x[i] = sin(i + 1.0);
    for (int kind = 0; kind < 3; kind++) {
        tn_ctx *c = checked();
        tn_fn *one, *f = derivative(c, kind, &one);
        const size_t width = kind ? OUT * IN : OUT;
        assert_non_null(f);
        call(f, TN_BACKEND_INTERPRETER, x, got);
        call(f, TN_BACKEND_NATIVE, x, native);
        call(f, TN_BACKEND_REFERENCE, x, want);
        close_to(got, want, N * width, 1e-14);
        assert_memory_equal(got, native, N * width * sizeof *got);
        for (int i = 0; i < N; i++) { /* alone, where there are no columns */
            call(one, TN_BACKEND_REFERENCE, x + i * IN, row);
            close_to(got + (size_t)i * width, row, width, 1e-14);
        }
        tn_ctx_free(c);
    }
}

static void test_form(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        tn_ctx *c = checked();
        tn_fn *one, *f = derivative(c, kind, &one), *g = tn_i_columns(f), *h = tn_i_fuse(f);
        assert_non_null(g);
        assert_non_null(h);
        assert_true(count(f, TN_P_concatenate) >= 4);
        assert_int_equal(count(g, TN_P_concatenate), 1); /* the output */
        assert_int_equal(count(g, TN_P_reduce_sum), 0);
        assert_int_equal(count(g, TN_P_scatter_add), 0);
        assert_in_range(count(h, TN_P_fused), 1, 2);
        tn_i_fn_unref(g);
        tn_i_fn_unref(h);
        tn_ctx_free(c);
    }
}

/* Others stay as they are: rows too long, too few concatenations, sums over the batch. */
static void test_others(void **state) {
    static const char *const programs[] = {
        "{ lambda x:f64[40,3] . let y:f64[40,3] = sin x z:f64[40] = reduce_sum[axes=(1,)] y in (z,) }",
        "{ lambda x:f64[40,3] . let y:f64[3] = reduce_sum[axes=(0,)] x a:f64[6] = concatenate[dimension=0] y y "
        "b:f64[12] = concatenate[dimension=0] a a c:f64[24] = concatenate[dimension=0] b b in (c,) }",
        "{ lambda x:f64[40,50] . let a:f64[40,100] = concatenate[dimension=1] x x "
        "b:f64[40,200] = concatenate[dimension=1] a a c:f64[40,400] = concatenate[dimension=1] b b in (c,) }"};
    (void)state;
    for (size_t i = 0; i < COUNT(programs); i++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_fn_parse(c, programs[i], strlen(programs[i]), "test.tn");
        if (!f) fail_msg("%s", tn_error(c));
        tn_fn *g = tn_i_columns(f);
        assert_ptr_equal(f, g);
        tn_i_fn_unref(g);
        tn_ctx_free(c);
    }
}

/* Sums of rows keep their order, whatever the width, and that of zeros is +0. */
static void test_sums(void **state) {
    enum { WIDE = 40 };
    (void)state;
    tn_ctx *c = checked();
    const char *const text =
        "{ lambda x:f64[37,40] . let a:f64[37,20] = slice[start_indices=(0, 0) limit_indices=(37, 20)] x "
        "b:f64[37,20] = slice[start_indices=(0, 20) limit_indices=(37, 40)] x "
        "y:f64[37,40] = concatenate[dimension=1] b a p:f64[37,40] = concatenate[dimension=1] a b "
        "q:f64[37,40] = concatenate[dimension=1] b b z:f64[37,40] = mul y p w:f64[37,40] = mul z q "
        "s:f64[37] = reduce_sum[axes=(1,)] w in (s,) }";
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    double x[N * WIDE], got[N], want[N];
    for (int i = 0; i < N * WIDE; i++) x[i] = i < WIDE ? -0.0 : 1 / (1 + fabs(sin(i)));
    tn_fn *g = tn_i_columns(f);
    assert_int_equal(count(g, TN_P_reduce_sum), 0);
    tn_i_fn_unref(g);
    call(f, TN_BACKEND_INTERPRETER, x, got);
    call(f, TN_BACKEND_REFERENCE, x, want);
    assert_memory_equal(got, want, sizeof got);
    assert_false(signbit(got[0]));
    tn_ctx_free(c);
}

static tn_val linear(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_sin(in[0]), tn_matmul(in[0], in[1]));
}

/* The Jacobian of a product is the matrix, and no product. */
static void test_basis(void **state) {
    enum { M = 9 };
    (void)state;
    for (int reverse = 0; reverse < 2; reverse++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, linear, NULL, 2, TN_TYPES(tn_f64(M), tn_f64(M, M)));
        tn_fn *j = reverse ? tn_jacrev(f, tn_wrt(0), NULL, 0) : tn_jacfwd(f, tn_wrt(0), 0);
        assert_non_null(j);
        assert_int_equal(count(j, TN_P_dot_general), 1);
        double x[M], w[M * M], got[M * M], y[M] = {0};
        for (int i = 0; i < M; i++) x[i] = cos(i);
        for (int i = 0; i < M * M; i++) w[i] = sin(i);
        tn_exec *e = tn_compile(j, NULL);
        assert_non_null(e);
        assert_int_equal(tn_call(e, (const void *[]){x, w}, (void *[]){got}), TN_OK);
        for (int i = 0; i < M; i++)
            for (int k = 0; k < M; k++) y[i] += x[k] * w[k * M + i];
        for (int i = 0; i < M; i++)
            for (int k = 0; k < M; k++) {
                const double want = sin(x[i]) * w[k * M + i] + (i == k ? cos(x[i]) * y[i] : 0);
                close_to(&got[i * M + k], &want, 1, 1e-13);
            }
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_form),
                                       cmocka_unit_test(test_others), cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_basis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
