/* Jacobians, Hessians, and tn_check_grads. */
#include "prims/ids.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static tn_ctx *checked(void) {
    tn_ctx_options o = {.size = sizeof o, .check = 1};
    return tn_ctx_new(&o);
}

static void assert_made(tn_ctx *c, const void *p) {
    if (!p) fail_msg("%s", tn_error(c));
}

static void call(tn_ctx *c, const tn_fn *f, const void *const *in, void *const *out) {
    tn_exec *e = tn_compile(f, NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

/* (A[3,4], x[4], i) -> (tanh(A x)[3], i+1, sum(x*x)) */
static void vector_valued(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_tanh(tn_matmul(in[0], in[1]));
    out[1] = tn_add(in[2], 1);
    out[2] = tn_sum(tn_mul(in[1], in[1]));
}

static void forward_is_reverse_at_any_block(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, vector_valued, NULL, 3, (tn_type[]){tn_f64(3, 4), tn_f64(4), tn_i32()}, 3);
    assert_made(c, f);
    double a[12], x[4], want[4][48], got[4][48];
    int32_t i = 5;
    for (int k = 0; k < 12; k++) a[k] = 0.1 * k - 0.5;
    for (int k = 0; k < 4; k++) x[k] = 0.3 * k - 0.4;
    const void *in[3] = {a, x, &i};
    tn_fn *rev = tn_jacrev(f, NULL, NULL, 0);
    assert_made(c, rev);
    assert_int_equal(tn_fn_outputs(rev), 4); /* two float outputs by two float inputs */
    tn_type t = tn_fn_output_type(rev, 0), u = tn_fn_output_type(rev, 3);
    assert_true(tn_type_equal(&t, &(tn_type){.dtype = TN_F64, .rank = 3, .dim = {3, 3, 4}}));
    assert_true(tn_type_equal(&u, &(tn_type){.dtype = TN_F64, .rank = 1, .dim = {4}}));
    call(c, rev, in, (void *[]){want[0], want[1], want[2], want[3]});
    for (int k = 0; k < 3; k++) { /* d tanh(Ax)_r / dx = (1 - y^2) A_r */
        double z = 0;
        for (int m = 0; m < 4; m++) z += a[4 * k + m] * x[m];
        for (int m = 0; m < 4; m++)
            assert_true(fabs(want[1][4 * k + m] - (1 - tanh(z) * tanh(z)) * a[4 * k + m]) < 1e-14);
    }
    static const size_t block[] = {0, 1, 2, 3, 5, 100};
    for (size_t k = 0; k < 6; k++)
        for (int way = 0; way < 2; way++) {
            tn_fn *j = way ? tn_jacfwd(f, NULL, block[k]) : tn_jacrev(f, NULL, NULL, block[k]);
            assert_made(c, j);
            call(c, j, in, (void *[]){got[0], got[1], got[2], got[3]});
            static const size_t n[4] = {36, 12, 12, 4};
            for (int p = 0; p < 4; p++)
                for (size_t m = 0; m < n[p]; m++) assert_true(fabs(got[p][m] - want[p][m]) < 1e-14);
        }
    tn_ctx_free(c);
}

static tn_val matvec(const tn_val *in, void *user) {
    (void)user;
    return tn_matmul(in[0], tn_sin(in[1]));
}

static tn_val two_matvecs(const tn_val *in, void *user) {
    (void)user;
    return tn_matmul(in[0], tn_sin(tn_matmul(in[2], in[1])));
}

/* Products of two matrices in the Jacobian of g in its input 1. */
static int matrix_products(tn_ctx *c, tn_trace_fn g, size_t nin, const tn_type *in) {
    tn_fn *f = tn_trace(c, g, NULL, nin, in), *j = tn_jacfwd(f, tn_wrt(1), 0);
    assert_made(c, j);
    int products = 0;
    for (uint32_t i = 0; i < j->neqn; i++) {
        const tn_i_eqn *e = &j->eqn[i];
        if (e->prim->id != TN_P_dot_general) continue;
        products += j->val[tn_i_in(j, e)[0]].type->rank == 2 && j->val[tn_i_in(j, e)[1]].type->rank == 2;
    }
    return products;
}

/* K tangents make one matrix product, not K matrix-vector products; those of a basis, or of its multiples, none: they
 * are the matrix. */
static void tangents_become_a_matrix(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_type in[3] = {tn_f64(5, 7), tn_f64(7), tn_f64(7, 7)};
    assert_int_equal(matrix_products(c, matvec, 2, in), 0);
    assert_int_equal(matrix_products(c, two_matvecs, 3, in), 1);
    tn_ctx_free(c);
}

static tn_val cubic(const tn_val *in, void *user) {
    (void)user;
    tn_val p = tn_mul(in[0], tn_mul(in[0], in[0]));
    return tn_add(tn_sum(p), tn_mul(tn_sum(in[0]), in[1]));
}

static void hessian_blocks(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, cubic, NULL, 2, (tn_type[]){tn_f64(3), tn_f64()});
    double x[3] = {1, 2, 3}, y = 0.5, xx[9], xy[3], yx[3], yy;
    for (size_t block = 0; block < 3; block++) {
        tn_fn *h = tn_hessian(f, NULL, NULL, block);
        assert_made(c, h);
        call(c, h, (const void *[]){x, &y}, (void *[]){xx, xy, yx, &yy});
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) assert_true(fabs(xx[3 * i + j] - (i == j ? 6 * x[i] : 0)) < 1e-14);
            assert_true(xy[i] == 1 && yx[i] == 1);
        }
        assert_true(yy == 0);
    }
    tn_ctx_free(c);
}

static tn_val sine(const tn_val *in, void *user) {
    (void)user;
    return tn_sin(in[0]);
}

static void edges(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *empty = tn_trace(c, sine, NULL, 1, (tn_type[]){tn_f64(0, 3)});
    tn_fn *j = tn_jacfwd(empty, NULL, 0), *k = tn_jacrev(empty, NULL, NULL, 2);
    assert_made(c, j);
    assert_made(c, k);
    tn_type t = tn_fn_output_type(j, 0);
    assert_int_equal(t.rank, 4);
    call(c, j, (const void *[]){NULL}, (void *[]){NULL});
    tn_fn *high = tn_trace(c, sine, NULL, 1, (tn_type[]){tn_f64(1, 1, 1, 1, 1)});
    assert_null(tn_jacfwd(high, NULL, 0));
    assert_int_equal(tn_last_status(c), TN_ELIMIT);
    assert_non_null(strstr(tn_error(c), "rank 10"));
    tn_ctx_free(c);
}

/* ---- check_grads -------------------------------------------------------------------------- */

static tn_val smooth(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(tn_exp(tn_sin(in[0])), tn_convert(in[1], (tn_dtype)tn_val_type(in[0]).dtype)));
}

static void check_grads_accepts_the_right(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x[4] = {0.3, -1.2, 2, 0.01};
    float xf[4] = {0.3f, -1.2f, 2, 0.01f};
    int32_t w[4] = {1, -2, 3, 4};
    tn_fn *f = tn_trace(c, smooth, NULL, 2, (tn_type[]){tn_f64(4), tn_i32(4)});
    tn_fn *g = tn_trace(c, smooth, NULL, 2, (tn_type[]){tn_f32(4), tn_i32(4)});
    assert_made(c, f);
    assert_made(c, g);
    if (tn_check_grads(f, (const void *[]){x, w}, NULL, NULL) != TN_OK) fail_msg("%s", tn_error(c));
    if (tn_check_grads(g, (const void *[]){xf, w}, NULL, NULL) != TN_OK) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_check_grads(f, (const void *[]){NULL, w}, NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_check_grads(NULL, NULL, NULL, NULL), TN_EINVAL);
    tn_ctx_free(c);
}

static tn_val wrong_rule(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_mul(tn_cos(in[0]), 1.0001), in[1]);
}
static tn_val second(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], tn_custom_jvp(sine, wrong_rule, NULL, 1, &in[1]));
}

static void check_grads_names_the_wrong(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x = 0.7, y = 0.4;
    tn_fn *f = tn_trace(c, second, NULL, 2, (tn_type[]){tn_f64(), tn_f64()});
    assert_made(c, f);
    assert_int_equal(tn_check_grads(f, (const void *[]){&x, &y}, tn_wrt(0),
                                    &(tn_check_options){.size = sizeof(tn_check_options), .order = 1}),
                     TN_OK);
    assert_int_equal(tn_check_grads(f, (const void *[]){&x, &y}, NULL, NULL), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "input 1"));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_reverse_at_any_block),
        cmocka_unit_test(tangents_become_a_matrix),
        cmocka_unit_test(hessian_blocks),
        cmocka_unit_test(edges),
        cmocka_unit_test(check_grads_accepts_the_right),
        cmocka_unit_test(check_grads_names_the_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
