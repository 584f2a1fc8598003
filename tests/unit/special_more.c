/* Special functions of several arguments, and Bessel's, against values in several hundred digits (record_special.py);
 * what they are at the ends of their domains. */
#include "prims/scalar/special.h"
#include "vec/vec.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "special_table.h"

#include "tansy.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static void expect(const char *name, double y, long double exact, double bound) {
    const long double off = fabsl((long double)y - exact) / fabsl(exact);
    if (!(off <= (long double)bound)) fail_msg("%s: %.17g is off by %Lg of %.21Lg", name, y, off, exact);
}

/* The f32 function is the f64 one, rounded. */
#define EACH(name, bound, f64, f32)                                                                           \
    for (size_t i = 0; i < COUNT(name##_rows); i++) {                                                         \
        const double *x = name##_rows[i].x;                                                                   \
        expect(#name, (f64), name##_rows[i].value, bound);                                                    \
        const double narrow[3] = {(double)(float)x[0], COUNT(name##_rows[i].x) > 1 ? (double)(float)x[1] : 0, \
                                  COUNT(name##_rows[i].x) > 2 ? (double)(float)x[2] : 0};                     \
        x = narrow;                                                                                           \
        const float wide = (float)(f64), y = (f32);                                                           \
        assert_true(y == wide || (isnan(y) && isnan(wide)));                                                  \
    }

static void values(void **state) {
    (void)state;
    EACH(igamma, 3e-16, tn_i_igamma(x[0], x[1]), tn_i_igamma_f32((float)x[0], (float)x[1]))
    EACH(igammac, 2e-14, tn_i_igammac(x[0], x[1]), tn_i_igammac_f32((float)x[0], (float)x[1]))
    EACH(igamma_grad_a, 1e-14, tn_i_igamma_grad_a(1, x[0], x[1]), tn_i_igamma_grad_a_f32(1, (float)x[0], (float)x[1]))
    EACH(random_gamma_grad, 1e-14, tn_i_random_gamma_grad(1, x[0], x[1]),
         tn_i_random_gamma_grad_f32(1, (float)x[0], (float)x[1]))
    EACH(betainc, 3e-15, tn_i_betainc(x[0], x[1], x[2]), tn_i_betainc_f32((float)x[0], (float)x[1], (float)x[2]))
    EACH(bessel_i0e, 3e-16, tn_i_bessel_i0e(x[0]), tn_i_bessel_i0e_f32((float)x[0]))
    EACH(bessel_i1e, 3e-16, tn_i_bessel_i1e(x[0]), tn_i_bessel_i1e_f32((float)x[0]))
    EACH(zeta, 1e-15, tn_i_zeta(x[0], x[1]), tn_i_zeta_f32((float)x[0], (float)x[1]))
}

/* The same of vectors, where there are functions of them. */
#define EACH_OF_VECTORS(name, function, bound)                  \
    for (size_t i = 0; i < COUNT(name##_rows); i++) {           \
        const double *x = name##_rows[i].x;                     \
        const size_t n = COUNT(name##_rows[i].x);               \
        const tn_i_vec v = tn_i_vec_math(function, isa, false); \
        double y;                                               \
        if (!v.one) break;                                      \
        v.one(x, x + (n > 1), x + (n > 2 ? 2 : 0), &y);         \
        expect(function, y, name##_rows[i].value, bound);       \
    }

static void values_of_vectors(void **state) {
    (void)state;
    for (int k = TN_ISA_PLAIN; k <= (int)tn_i_isa_best(); k++) {
        const tn_i_isa isa = (tn_i_isa)k;
        EACH_OF_VECTORS(igamma, "igamma", 3e-16)
        EACH_OF_VECTORS(igammac, "igammac", 2e-14)
        EACH_OF_VECTORS(betainc, "regularized_incomplete_beta", 3e-15)
        EACH_OF_VECTORS(bessel_i0e, "bessel_i0e", 6e-16)
        EACH_OF_VECTORS(bessel_i1e, "bessel_i1e", 6e-16)
        EACH_OF_VECTORS(zeta, "zeta", 1e-15)
    }
}

/* It has a zero near the mean: the unit is the square of the first over the density, or the density. */
static void second_derivative(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(igamma_grad_aa_rows); i++) {
        const double a = igamma_grad_aa_rows[i].x[0], x = igamma_grad_aa_rows[i].x[1];
        const double slope = tn_i_igamma_grad_a(1, a, x), sample = tn_i_random_gamma_grad(1, a, x);
        const double size = fabs(slope) * (1 + fabs(log(x) - tn_i_digamma(a)) + fabs(sample / x));
        const long double off = fabsl((long double)tn_i_igamma_grad_a(2, a, x) - igamma_grad_aa_rows[i].value);
        if (!(off <= 1e-13L * (long double)size))
            fail_msg("igamma_grad_a[order=2] at %.17g %.17g is off by %Lg of %g", a, x, off, size);
    }
}

/* By the difference of the order below. */
static void further_derivatives(void **state) {
    (void)state;
    const double h = 1e-4;
    for (double a = 0.75; a < 20; a *= 1.7)
        for (double x = 0.3; x < 30; x *= 1.9)
            for (int n = 3; n <= 5; n++) {
                const double by = (tn_i_igamma_grad_a(n - 1, a + h, x) - tn_i_igamma_grad_a(n - 1, a - h, x)) / (2 * h);
                const double y = tn_i_igamma_grad_a(n, a, x), slope = fabs(tn_i_igamma_grad_a(1, a, x));
                assert_true(fabs(y - by) < 1e-5 * (fabs(y) + slope) + 1e-9);
            }
}

static void ends(void **state) {
    (void)state;
    const double inf = INFINITY;
    assert_true(tn_i_igamma(2, 0) == 0 && tn_i_igammac(2, 0) == 1 && tn_i_igamma(2, inf) == 1 &&
                tn_i_igammac(2, inf) == 0);
    assert_true(tn_i_igamma(0, 3) == 1 && tn_i_igammac(0, 3) == 0 && tn_i_igamma(inf, 3) == 0 &&
                tn_i_igammac(inf, 3) == 1);
    assert_true(isnan(tn_i_igamma(0, 0)) && isnan(tn_i_igamma(-1, 2)) && isnan(tn_i_igamma(1, -2)));
    assert_true(isnan(tn_i_igamma(inf, inf)) && isnan(tn_i_igamma(NAN, 1)) && isnan(tn_i_igammac(1, NAN)));
    assert_true(tn_i_igamma(1e300, 1) == 0 && tn_i_igamma(1, 1e300) == 1 && tn_i_igamma(5e-324, 1e-300) == 1);
    assert_true(tn_i_igammac(1e-3, 1e300) == 0 && tn_i_igammac(DBL_MAX, 1) == 1);
    expect("igamma", tn_i_igamma(1e300, 1e300), 0.5L, 1e-15);
    assert_true(tn_i_igamma_grad_a(1, 2, 0) == 0 && tn_i_igamma_grad_a(1, 2, inf) == 0);
    assert_true(isnan(tn_i_igamma_grad_a(1, 0, 1)) && isnan(tn_i_igamma_grad_a(1, 1, -1)));
    assert_true(tn_i_random_gamma_grad(1, 2, 0) == 0 && isnan(tn_i_random_gamma_grad(1, 0, 1)));
    assert_true(tn_i_random_gamma_grad(1, 2, 1e-300) > 0 && isfinite(tn_i_random_gamma_grad(1, 2, 1e300)));
    assert_true(tn_i_betainc(2, 3, 0) == 0 && tn_i_betainc(2, 3, 1) == 1 && tn_i_betainc(0, 1, 0.5) == 1);
    assert_true(tn_i_betainc(0, 1, 0) == 0 && tn_i_betainc(1, 0, 0.5) == 0 && tn_i_betainc(1, 0, 1) == 1);
    assert_true(isnan(tn_i_betainc(0, 0, 0.5)) && isnan(tn_i_betainc(-1, 1, 0.5)) && isnan(tn_i_betainc(1, 1, 1.5)));
    assert_true(isnan(tn_i_betainc(1, 1, NAN)) && tn_i_betainc(1, 1, 0.25) == 0.25);
    assert_true(tn_i_bessel_i0e(0) == 1 && tn_i_bessel_i1e(0) == 0 && signbit(tn_i_bessel_i1e(-0.0)));
    assert_true(tn_i_bessel_i0e(inf) == 0 && tn_i_bessel_i1e(-inf) == 0 && isnan(tn_i_bessel_i0e(NAN)));
    assert_true(tn_i_zeta(1, 2) == inf && isnan(tn_i_zeta(0.5, 2)) && isnan(tn_i_zeta(2, NAN)) &&
                isnan(tn_i_zeta(2.5, -0.5)));
    assert_true(tn_i_zeta(2, 0) == inf && isnan(tn_i_zeta(3, -1)) && isnan(tn_i_zeta(2, -inf)) &&
                tn_i_zeta(2, inf) == 0);
    assert_true(tn_i_zeta(inf, 2) == 0 && tn_i_zeta(inf, 1) == 1 && tn_i_zeta(1e300, 2) == 0);
    expect("zeta", tn_i_zeta(2, -1.5), 9.37924664498912375386816899L, 1e-15);
    expect("zeta", tn_i_zeta(3, -2.25), -61.9484748870300827905936602L, 1e-15);
    expect("zeta", tn_i_zeta(2, -1e15 - 0.5), 9.8696044010893586188344909998761511L, 2e-15); /* pi^2 */
}

/* Operators of numbers and arrays, which are broadcast. */
static void all(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_igamma(in[0], in[1]);
    out[1] = tn_igammac(in[0], in[1]);
    out[2] = tn_igamma_grad_a(in[0], in[1]);
    out[3] = tn_random_gamma_grad(2.5, in[1]);
    out[4] = tn_betainc(in[0], 2.0, tn_div(in[1], 8.0));
    out[5] = tn_bessel_i0e(in[1]);
    out[6] = tn_bessel_i1e(in[1]);
    out[7] = tn_zeta(in[0], in[1]);
}

static void operators(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const double a = 2.5, x[3] = {0.5, 2, 6};
    double y[8][3];
    const tn_fn *f = tn_trace_many(c, all, NULL, 2, TN_TYPES(tn_f64(), tn_f64(3)), 8);
    if (!f) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    assert_int_equal(tn_call(e, TN_INPUTS(&a, x), TN_OUTPUTS(y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7])), TN_OK);
    for (int i = 0; i < 3; i++) {
        const double want[8] = {tn_i_igamma(a, x[i]),           tn_i_igammac(a, x[i]),
                                tn_i_igamma_grad_a(1, a, x[i]), tn_i_random_gamma_grad(1, a, x[i]),
                                tn_i_betainc(a, 2, x[i] / 8),   tn_i_bessel_i0e(x[i]),
                                tn_i_bessel_i1e(x[i]),          tn_i_zeta(a, x[i])};
        for (int k = 0; k < 8; k++) assert_true(fabs(y[k][i] - want[k]) <= 4 * DBL_EPSILON * fabs(want[k]));
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values),
                                       cmocka_unit_test(values_of_vectors),
                                       cmocka_unit_test(second_derivative),
                                       cmocka_unit_test(further_derivatives),
                                       cmocka_unit_test(ends),
                                       cmocka_unit_test(operators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
