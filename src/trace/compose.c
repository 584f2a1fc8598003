/* Elementwise compositions, written so that neither values nor derivatives
 * overflow or become NaN where the function itself is fine. */
#include "prims/ids.h"
#include "trace/trace.h"

#include <math.h>

/* Opens a site with float operands that may be numbers; false when it is dead. */
static bool open_floats(tn_i_site *s, const char *name, size_t n, const tn_val *x, tn_i_var *v, const char *file,
                        int line) {
    tn_i_site_open(s, name, NULL, n, x, v, n > 1 ? 3 : 0, file, line);
    return tn_i_do_numbers(s) && tn_i_need_float(s, n) && tn_i_do_broadcast(s, n, v);
}

static tn_i_var above(tn_i_site *s, tn_i_var x, double k) { return tn_i_do2n(s, TN_P_gt, x, k); }
static tn_i_var number(tn_i_site *s, tn_i_var like, double x) { return tn_i_do_number(s, like, x); }

/* -|x| whose derivative at 0 continues that of x < 0: with the other choices
 * below made by the same x > 0, sums of both are smooth there. */
static tn_i_var minus_abs(tn_i_site *s, tn_i_var x) {
    const tn_i_var positive = above(s, x, 0), minus = tn_i_do1(s, TN_P_neg, x);
    return tn_i_do_where(s, positive, minus, x);
}

/* ---- activations ------------------------------------------------------------------- */

tn_val tn_relu_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "relu", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    /* the test is x <= 0 so that a NaN passes */
    const tn_i_var off = tn_i_do2n(&s, TN_P_le, v, 0), zero = number(&s, v, 0);
    return tn_i_site_close(&s, tn_i_do_where(&s, off, zero, v));
}

tn_val tn_leaky_relu_at(tn_val x, double slope, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "leaky_relu", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    const tn_i_var on = tn_i_do2n(&s, TN_P_ge, v, 0), leak = tn_i_do2n(&s, TN_P_mul, v, slope);
    return tn_i_site_close(&s, tn_i_do_where(&s, on, v, leak));
}

tn_val tn_elu_at(tn_val x, double alpha, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "elu", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var positive = above(&s, v, 0);
    tn_i_var below = tn_i_do_where(&s, positive, number(&s, v, 0), v); /* e^x may not overflow unseen */
    return tn_i_site_close(
        &s, tn_i_do_where(&s, positive, v, tn_i_do2n(&s, TN_P_mul, tn_i_do1(&s, TN_P_expm1, below), alpha)));
}

tn_val tn_gelu_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "gelu", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var tail = tn_i_do1(&s, TN_P_erfc, tn_i_do2n(&s, TN_P_mul, v, -0.707106781186547524400844362104849039));
    return tn_i_site_close(&s, tn_i_do2(&s, TN_P_mul, tn_i_do2n(&s, TN_P_mul, v, 0.5), tail));
}

tn_val tn_gelu_tanh_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "gelu_tanh", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var cube = tn_i_do2(&s, TN_P_mul, tn_i_do1(&s, TN_P_square, v), v);
    tn_i_var inner = tn_i_do2(&s, TN_P_add, v, tn_i_do2n(&s, TN_P_mul, cube, 0.044715));
    tn_i_var t = tn_i_do1(&s, TN_P_tanh, tn_i_do2n(&s, TN_P_mul, inner, 0.797884560802865355879892119868763737));
    const tn_i_var weight = tn_i_do2n(&s, TN_P_add, t, 1), half = tn_i_do2n(&s, TN_P_mul, v, 0.5);
    return tn_i_site_close(&s, tn_i_do2(&s, TN_P_mul, half, weight));
}

tn_val tn_sigmoid_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "sigmoid", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do1(&s, TN_P_logistic, v));
}

tn_val tn_silu_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "silu", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do2(&s, TN_P_mul, v, tn_i_do1(&s, TN_P_logistic, v)));
}

/* max(x, 0) + ln(1 + e^-|x|), both chosen by x > 0 */
static tn_i_var softplus(tn_i_site *s, tn_i_var x) {
    const tn_i_var positive = above(s, x, 0), zero = number(s, x, 0);
    const tn_i_var larger = tn_i_do_where(s, positive, x, zero);
    return tn_i_do2(s, TN_P_add, larger, tn_i_do1(s, TN_P_log1p, tn_i_do1(s, TN_P_exp, minus_abs(s, x))));
}

tn_val tn_softplus_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "softplus", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, softplus(&s, v));
}

tn_val tn_log_sigmoid_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "log_sigmoid", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do1(&s, TN_P_neg, softplus(&s, tn_i_do1(&s, TN_P_neg, v))));
}

/* ln(-expm1(-x)) where e^-x > 1/2, else log1p(-e^-x); each is given 1 where it is not chosen. */
tn_val tn_log1mexp_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_floats(&s, "log1mexp", 1, &x, &v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var small = tn_i_do2n(&s, TN_P_lt, v, 0.693147180559945309417232121458176568);
    tn_i_var near = tn_i_do1(&s, TN_P_neg, tn_i_do_where(&s, small, v, number(&s, v, 1)));
    tn_i_var far = tn_i_do1(&s, TN_P_neg, tn_i_do_where(&s, small, number(&s, v, 1), v));
    near = tn_i_do1(&s, TN_P_log, tn_i_do1(&s, TN_P_neg, tn_i_do1(&s, TN_P_expm1, near)));
    far = tn_i_do1(&s, TN_P_log1p, tn_i_do1(&s, TN_P_neg, tn_i_do1(&s, TN_P_exp, far)));
    return tn_i_site_close(&s, tn_i_do_where(&s, small, near, far));
}

/* ---- two operands --------------------------------------------------------------------- */

/* larger * sqrt(1 + (smaller/larger)^2); the quotient is 0 where it would be 0/0 or inf/inf. */
tn_val tn_hypot_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    if (!open_floats(&s, "hypot", 2, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var a = tn_i_do1(&s, TN_P_abs, v[0]), b = tn_i_do1(&s, TN_P_abs, v[1]);
    tn_i_var first = tn_i_do2(&s, TN_P_gt, a, b);
    tn_i_var larger = tn_i_do_where(&s, first, a, b), smaller = tn_i_do_where(&s, first, b, a);
    tn_i_var finite = tn_i_do1(&s, TN_P_is_finite, larger);
    tn_i_var plain = tn_i_do2(&s, TN_P_and, finite, above(&s, larger, 0));
    tn_i_var by = tn_i_do_where(&s, plain, larger, number(&s, larger, 1));
    tn_i_var of = tn_i_do_where(&s, plain, smaller, number(&s, smaller, 0));
    tn_i_var square = tn_i_do1(&s, TN_P_square, tn_i_do2(&s, TN_P_div, of, by));
    tn_i_var root = tn_i_do1(&s, TN_P_sqrt, tn_i_do2n(&s, TN_P_add, square, 1));
    /* infinite beside a NaN too, as C99 has it; else that is a factor, so that derivatives are NaN too */
    tn_i_var infinite = tn_i_do2n(&s, TN_P_eq, a, INFINITY), other = tn_i_do2n(&s, TN_P_eq, b, INFINITY);
    tn_i_var sum = tn_i_do2(&s, TN_P_add, a, b), undefined = tn_i_do2(&s, TN_P_ne, sum, sum);
    tn_i_var defined = tn_i_do1(&s, TN_P_not, undefined);
    defined = tn_i_do2(&s, TN_P_or, defined, tn_i_do2(&s, TN_P_or, infinite, other));
    const tn_i_var nan = number(&s, sum, NAN), plus = number(&s, sum, 1);
    sum = tn_i_do2(&s, TN_P_mul, sum, tn_i_do_where(&s, defined, plus, nan));
    tn_i_var all = tn_i_do_where(&s, defined, tn_i_do2(&s, TN_P_mul, larger, root), sum);
    all = tn_i_do_where(&s, other, b, all);
    return tn_i_site_close(&s, tn_i_do_where(&s, infinite, a, all));
}

/* larger + ln(1 + e^-|x-y|), both chosen by x > y; x + y where the difference is NaN: equal infinities, or a NaN, which
 * is a factor then, so that derivatives are NaN too. */
tn_val tn_logaddexp_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    if (!open_floats(&s, "logaddexp", 2, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var d = tn_i_do2(&s, TN_P_sub, v[0], v[1]), odd = tn_i_do2(&s, TN_P_ne, d, d);
    d = tn_i_do_where(&s, odd, number(&s, d, 0), d);
    tn_i_var larger = tn_i_do_where(&s, above(&s, d, 0), v[0], v[1]);
    tn_i_var more = tn_i_do1(&s, TN_P_log1p, tn_i_do1(&s, TN_P_exp, minus_abs(&s, d)));
    tn_i_var sum = tn_i_do2(&s, TN_P_add, v[0], v[1]);
    tn_i_var undefined = tn_i_do2(&s, TN_P_and, odd, tn_i_do2(&s, TN_P_ne, sum, sum));
    const tn_i_var plus = number(&s, sum, 1), nan = number(&s, sum, NAN);
    sum = tn_i_do2(&s, TN_P_mul, sum, tn_i_do_where(&s, undefined, nan, plus));
    return tn_i_site_close(&s, tn_i_do_where(&s, odd, sum, tn_i_do2(&s, TN_P_add, larger, more)));
}

/* x log(y), the logarithm taken of `plain` where x = 0 and y is not in (low, inf). */
static tn_i_var times_log(tn_i_site *s, int log, tn_i_var x, tn_i_var y, double low, double plain) {
    const tn_i_var higher = above(s, y, low);
    const tn_i_var inside = tn_i_do2(s, TN_P_and, higher, tn_i_do1(s, TN_P_is_finite, y));
    tn_i_var zero = tn_i_do2n(s, TN_P_eq, x, 0);
    tn_i_var safe = tn_i_do2(s, TN_P_or, inside, tn_i_do1(s, TN_P_not, zero));
    return tn_i_do2(s, TN_P_mul, x, tn_i_do1(s, log, tn_i_do_where(s, safe, y, number(s, y, plain))));
}

tn_val tn_xlogy_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    if (!open_floats(&s, "xlogy", 2, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, times_log(&s, TN_P_log, v[0], v[1], 0, 1));
}

tn_val tn_xlog1py_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    if (!open_floats(&s, "xlog1py", 2, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, times_log(&s, TN_P_log1p, v[0], v[1], -1, 0));
}
