/* Arithmetic and functions of complex numbers by their parts.
 *
 * Formulas are those that neither overflow nor cancel where the function itself does not (Kahan, "Branch cuts for
 * complex elementary functions", 1987; Smith's quotient): |z| by the larger part, log near |z| = 1 by log1p, tanh and
 * tan by their tangents.  Where a branch is not taken its operands are held where its derivative is finite, so that
 * derivatives of select are.  Branch cuts are C's (Annex G): signs of zeros choose the side. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

typedef tn_i_builder B;
typedef tn_i_complex Z;
typedef tn_i_var V;

static V add(B *b, V x, V y) { return tn_i_op2(b, TN_P_add, x, y); }
static V sub(B *b, V x, V y) { return tn_i_op2(b, TN_P_sub, x, y); }
static V mul(B *b, V x, V y) { return tn_i_op2(b, TN_P_mul, x, y); }
static V quotient(B *b, V x, V y) { return tn_i_op2(b, TN_P_div, x, y); }
static V neg(B *b, V x) { return tn_i_op1(b, TN_P_neg, x); }
static V mag(B *b, V x) { return tn_i_op1(b, TN_P_abs, x); }
static V choose(B *b, V p, V x, V y) { return tn_i_op3(b, TN_P_select, p, x, y); }
static V like(B *b, V x, double k) { return tn_i_number_like(b, x, k); }
static V fma_of(B *b, tn_i_fma_form form, V x, V y, V z) { return tn_i_fma(b, form, x, y, z); }

/* x where p, else k */
static V held(B *b, V p, V x, double k) {
    const V other = like(b, x, k);
    return choose(b, p, x, other);
}

/* x, at least 0, with the sign of y, of a zero too. */
static V signed_as(B *b, V x, V y) {
    if (b->failed) return TN_NOVAR;
    const tn_i_param whole = {.kind = TN_K_DTYPE, .u.i = tn_i_vtype(b, y)->dtype == TN_F32 ? TN_I32 : TN_I64};
    const V bits = tn_i_emit(b, tn_i_prim(b, TN_P_bitcast_convert_type), &whole, 1, &y);
    const V negative = tn_i_op2(b, TN_P_lt, bits, like(b, bits, 0)), minus = neg(b, x);
    return choose(b, negative, minus, x);
}

/* ---- arithmetic ---------------------------------------------------------------------------------- */

Z tn_i_complex_number(B *b, const tn_type *t, double re, double im) {
    Z z;
    z.re = tn_i_number(b, t, re);
    z.im = tn_i_number(b, t, im);
    return z;
}

static Z number(B *b, Z z, double re, double im) {
    Z y;
    y.re = like(b, z.re, re);
    y.im = like(b, z.re, im);
    return y;
}

Z tn_i_complex_conj(B *b, Z z) {
    z.im = neg(b, z.im);
    return z;
}

Z tn_i_complex_add(B *b, Z z, Z w) {
    z.re = add(b, z.re, w.re);
    if (tn_i_is_complex(z)) z.im = add(b, z.im, w.im);
    return z;
}

Z tn_i_complex_sub(B *b, Z z, Z w) {
    z.re = sub(b, z.re, w.re);
    if (tn_i_is_complex(z)) z.im = sub(b, z.im, w.im);
    return z;
}

Z tn_i_complex_mul(B *b, Z z, Z w) {
    Z y;
    const V last = mul(b, z.im, w.im), cross = mul(b, z.im, w.re);
    y.re = fma_of(b, TN_FMA_SUB, z.re, w.re, last);
    y.im = fma_of(b, TN_FMA_ADD, z.re, w.im, cross);
    return y;
}

Z tn_i_complex_times(B *b, Z z, V x) {
    z.re = mul(b, z.re, x);
    if (tn_i_is_complex(z)) z.im = mul(b, z.im, x);
    return z;
}

Z tn_i_complex_scale(B *b, Z z, double k) { return tn_i_complex_times(b, z, like(b, z.re, k)); }

Z tn_i_complex_by_i(B *b, Z z, int sign) {
    Z y;
    y.re = sign > 0 ? neg(b, z.im) : z.im;
    y.im = sign > 0 ? z.re : neg(b, z.re);
    return y;
}

static Z plus(B *b, Z z, double k) {
    z.re = tn_i_plus(b, z.re, k);
    return z;
}

static Z from(B *b, double k, Z z) {
    z.re = tn_i_minus_from(b, k, z.re);
    z.im = neg(b, z.im);
    return z;
}

static Z square(B *b, Z z) {
    Z y;
    const V sum = add(b, z.re, z.im), difference = sub(b, z.re, z.im), twice = add(b, z.re, z.re);
    y.re = mul(b, sum, difference);
    y.im = mul(b, twice, z.im);
    return y;
}

/* The larger of |w.re| and |w.im| divides first. */
Z tn_i_complex_div(B *b, Z z, Z w) {
    const V wide = tn_i_op2(b, TN_P_ge, mag(b, w.re), mag(b, w.im));
    const V large = choose(b, wide, w.re, w.im), small = choose(b, wide, w.im, w.re);
    const V zero = like(b, w.re, 0), none = tn_i_op2(b, TN_P_eq, large, zero);
    const V one = like(b, large, 1), by = choose(b, none, one, large);
    const V ratio = quotient(b, small, by), norm = fma_of(b, TN_FMA_ADD, small, ratio, large);
    const V x = choose(b, wide, z.re, z.im), y = choose(b, wide, z.im, z.re);
    const V re = fma_of(b, TN_FMA_ADD, y, ratio, x), up = fma_of(b, TN_FMA_RSUB, x, ratio, y);
    const V im = choose(b, wide, up, neg(b, up));
    Z q;
    q.re = quotient(b, re, norm);
    q.im = quotient(b, im, norm);
    return q;
}

static Z reciprocal(B *b, Z z) { return tn_i_complex_div(b, number(b, z, 1, 0), z); }

/* ---- size, angle ----------------------------------------------------------------------------------- */

typedef struct sizes {
    V large, small, ratio, none; /* of |re| and |im|; small / large, 0 where both are; whether both are */
} sizes;

static sizes sizes_of(B *b, Z z) {
    sizes s;
    const V x = mag(b, z.re), y = mag(b, z.im);
    s.large = tn_i_op2(b, TN_P_max, x, y);
    s.small = tn_i_op2(b, TN_P_min, x, y);
    const V one = like(b, x, 1), zero = like(b, x, 0), infinity = like(b, x, 1.0 / 0.0);
    s.none = tn_i_op2(b, TN_P_eq, s.large, zero);
    const V far = tn_i_op2(b, TN_P_eq, s.large, infinity);
    const V ratio = quotient(b, s.small, choose(b, s.none, one, s.large));
    s.ratio = choose(b, far, zero, ratio);
    return s;
}

/* At 0 without a derivative. */
static V size_of(B *b, Z z) {
    const sizes s = sizes_of(b, z);
    const V norm = tn_i_op1(b, TN_P_sqrt, tn_i_one_plus_square(b, s.ratio)), zero = like(b, norm, 0);
    return choose(b, s.none, zero, mul(b, s.large, norm));
}

/* log |z|: log large + log1p(ratio^2) / 2, and near |z| = 1, where these cancel, log1p(|z|^2 - 1) / 2. */
static V log_size(B *b, Z z) {
    const sizes s = sizes_of(b, z);
    const V far = tn_i_op1(b, TN_P_log1p, mul(b, s.ratio, s.ratio)), half = like(b, far, 0.5);
    const V general = fma_of(b, TN_FMA_ADD, far, half, tn_i_op1(b, TN_P_log, s.large));
    const V low = like(b, s.large, 0.5), high = like(b, s.large, 1.5);
    const V above = tn_i_op2(b, TN_P_gt, s.large, low), below = tn_i_op2(b, TN_P_lt, s.large, high);
    const V near = tn_i_op2(b, TN_P_and, above, below);
    const V large = held(b, near, s.large, 1), small = held(b, near, s.small, 0);
    const V product = mul(b, tn_i_plus(b, large, -1), tn_i_plus(b, large, 1));
    const V excess = fma_of(b, TN_FMA_ADD, small, small, product);
    const V close = mul(b, tn_i_op1(b, TN_P_log1p, excess), half);
    return choose(b, near, close, general);
}

static Z logarithm(B *b, Z z) {
    Z y;
    y.re = log_size(b, z);
    y.im = tn_i_op2(b, TN_P_atan2, z.im, z.re);
    return y;
}

/* t = sqrt((|re| + |z|) / 2) and |im| / (2 t), of which re chooses; 0 of 0. */
static Z root(B *b, Z z) {
    const V zero = like(b, z.re, 0), x = mag(b, z.re), y = mag(b, z.im);
    const sizes s = sizes_of(b, z);
    const V some = tn_i_op2(b, TN_P_gt, s.large, zero);
    const V share = quotient(b, x, held(b, some, s.large, 1)); /* scaled by the larger part, that nothing overflows */
    const V norm = tn_i_op1(b, TN_P_sqrt, tn_i_one_plus_square(b, s.ratio));
    const V inner = mul(b, add(b, share, norm), like(b, norm, 0.5));
    const V by = tn_i_op1(b, TN_P_sqrt, held(b, some, s.large, 1));
    const V t = mul(b, by, tn_i_op1(b, TN_P_sqrt, inner)), other = quotient(b, y, add(b, t, t));
    const V right = tn_i_op2(b, TN_P_ge, z.re, zero);
    const V re = choose(b, right, t, other), im = choose(b, right, other, t);
    Z w;
    w.re = choose(b, some, re, zero);
    w.im = signed_as(b, choose(b, some, im, zero), z.im);
    return w;
}

/* ---- exponentials --------------------------------------------------------------------------------- */

static Z exponential(B *b, Z z) {
    const V size = tn_i_op1(b, TN_P_exp, z.re);
    Z y;
    y.re = mul(b, size, tn_i_op1(b, TN_P_cos, z.im));
    y.im = mul(b, size, tn_i_op1(b, TN_P_sin, z.im));
    return y;
}

/* sinh and cosh of z, by those of re and the sine and cosine of im. */
static Z hyperbolic(B *b, Z z, bool sine) {
    const V s = tn_i_op1(b, TN_P_sinh, z.re), c = tn_i_op1(b, TN_P_cosh, z.re);
    const V x = tn_i_op1(b, TN_P_cos, z.im), y = tn_i_op1(b, TN_P_sin, z.im);
    Z w;
    w.re = mul(b, sine ? s : c, x);
    w.im = mul(b, sine ? c : s, y);
    return w;
}

/* Kahan's: with t = tan im, s = sinh re, beta = 1 + t^2, rho = sqrt(1 + s^2): (beta rho s + i t) / (1 + beta s^2).  In
 * terms of sine and cosine, and with the square of s held where it would overflow: there the real part is 1 to the
 * last bit, and the imaginary one 4 sin im cos im exp(-2 |re|). */
static Z tangent(B *b, Z z) {
    const V limit = like(b, z.re, 20), size = mag(b, z.re);
    const V far = tn_i_op2(b, TN_P_gt, size, limit), near = choose(b, far, like(b, z.re, 0), z.re);
    const V s = tn_i_op1(b, TN_P_sinh, near), c = tn_i_op1(b, TN_P_cosh, near);
    const V x = tn_i_op1(b, TN_P_cos, z.im), y = tn_i_op1(b, TN_P_sin, z.im);
    const V norm = fma_of(b, TN_FMA_ADD, s, s, mul(b, x, x)), xy = mul(b, x, y);
    const V re = quotient(b, mul(b, s, c), norm), im = quotient(b, xy, norm);
    const V tail = tn_i_op1(b, TN_P_exp, mul(b, size, like(b, size, -2)));
    const V end = tn_i_op1(b, TN_P_tanh, z.re), rest = mul(b, mul(b, xy, like(b, xy, 4)), tail);
    Z w;
    w.re = choose(b, far, end, re);
    w.im = choose(b, far, rest, im);
    return w;
}

/* ---- inverse functions (Kahan) ------------------------------------------------------------------------ */

/* The real parts of sqrt(1 - z) conj etc. meet in products that do not cancel: asinh and atan2 of real numbers. */
static Z arcsine(B *b, Z z) {
    const Z low = root(b, from(b, 1, z)), high = root(b, plus(b, z, 1)); /* sqrt(1 - z), sqrt(1 + z) */
    const V across = fma_of(b, TN_FMA_SUB, low.re, high.re, mul(b, low.im, high.im));
    const V im = fma_of(b, TN_FMA_SUB, low.re, high.im, mul(b, low.im, high.re));
    Z w;
    w.re = tn_i_op2(b, TN_P_atan2, z.re, across);
    w.im = tn_i_op1(b, TN_P_asinh, im);
    return w;
}

static Z arccosine(B *b, Z z) {
    const Z low = root(b, from(b, 1, z)), high = root(b, plus(b, z, 1));
    const V angle = tn_i_op2(b, TN_P_atan2, low.re, high.re);
    const V im = fma_of(b, TN_FMA_SUB, high.re, low.im, mul(b, high.im, low.re));
    Z w;
    w.re = add(b, angle, angle);
    w.im = tn_i_op1(b, TN_P_asinh, im);
    return w;
}

static Z area_cosine(B *b, Z z) {
    const Z low = root(b, plus(b, z, -1)), high = root(b, plus(b, z, 1));
    const V re = fma_of(b, TN_FMA_ADD, low.re, high.re, mul(b, low.im, high.im));
    const V angle = tn_i_op2(b, TN_P_atan2, low.im, high.re);
    Z w;
    w.re = tn_i_op1(b, TN_P_asinh, re);
    w.im = add(b, angle, angle);
    return w;
}

/* (log1p(4 re / ((1 - re)^2 + im^2)) / 4, (arg(1 + z) - arg(1 - z)) / 2), of |re|, so that the quotient is not near
 * -1; with |z| so large that squares would overflow, 1/z has the real part, and the angle is half a turn. */
static Z area_tangent(B *b, Z z) {
    if (b->failed) return z;
    const sizes s = sizes_of(b, z);
    const V limit = like(b, z.re, tn_i_vtype(b, z.re)->dtype == TN_F32 ? 0x1p50 : 0x1p400);
    const V near = tn_i_op2(b, TN_P_lt, s.large, limit);
    const V x = held(b, near, mag(b, z.re), 0.5), y = held(b, near, z.im, 0.5);
    const V less = tn_i_minus_from(b, 1, x), more = tn_i_plus(b, x, 1);
    const V norm = fma_of(b, TN_FMA_ADD, less, less, mul(b, y, y));
    const V four = mul(b, x, like(b, x, 4)), re = tn_i_op1(b, TN_P_log1p, quotient(b, four, norm));
    const V right = tn_i_op2(b, TN_P_atan2, y, more), left = tn_i_op2(b, TN_P_atan2, y, less);
    const Z inverse = reciprocal(b, z);
    const V quarter = like(b, z.re, 1.57079632679489661923132169163975144);
    const V close = mul(b, re, like(b, re, 0.25)), angle = add(b, right, left);
    const V half = mul(b, angle, like(b, angle, 0.5));
    Z w;
    w.re = choose(b, near, signed_as(b, close, z.re), inverse.re);
    w.im = choose(b, near, half, signed_as(b, quarter, z.im));
    return w;
}

/* f(z) as -i g(i z), i g(-i z) etc.: asinh z = -i asin(i z), atan z = -i atanh(i z), tan z = -i tanh(i z). */
static Z rotated(B *b, Z z, Z (*g)(B *, Z)) { return tn_i_complex_by_i(b, g(b, tn_i_complex_by_i(b, z, 1)), -1); }

/* ---- powers ------------------------------------------------------------------------------------------- */

static Z select_z(B *b, V p, Z z, Z w) {
    Z y;
    y.re = choose(b, p, z.re, w.re);
    y.im = choose(b, p, z.im, w.im);
    return y;
}

static V is_number(B *b, Z z, double re) {
    const V same = tn_i_op2(b, TN_P_eq, z.re, like(b, z.re, re)), none = tn_i_op2(b, TN_P_eq, z.im, like(b, z.im, 0));
    return tn_i_op2(b, TN_P_and, same, none);
}

/* exp(w log z); 0 where z is, but 1 where w is 0. */
static Z power(B *b, Z z, Z w) {
    const V zero = is_number(b, z, 0), constant = is_number(b, w, 0);
    const Z one = number(b, z, 1, 0), none = number(b, z, 0, 0), base = select_z(b, zero, one, z);
    const Z y = exponential(b, tn_i_complex_mul(b, w, logarithm(b, base)));
    return select_z(b, constant, one, select_z(b, zero, none, y));
}

static Z integer_power(B *b, Z z, int64_t n) {
    Z product = {TN_NOVAR, TN_NOVAR};
    for (uint64_t k = n < 0 ? 0u - (uint64_t)n : (uint64_t)n; k; k >>= 1) {
        if (k & 1) product = product.re == TN_NOVAR ? z : tn_i_complex_mul(b, product, z);
        if (k > 1) z = square(b, z);
    }
    if (product.re == TN_NOVAR) return number(b, z, 1, 0);
    return n < 0 ? reciprocal(b, product) : product;
}

/* ---- what primitives say ----------------------------------------------------------------------------- */

#define RULE(NAME) \
    Z tn_i_complex_of_##NAME(B *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin, const tn_i_complex *in)
#define UNUSED (void)prim, (void)p, (void)nin
#define ONE(NAME, EXPRESSION) \
    RULE(NAME) {              \
        UNUSED;               \
        const Z z = in[0];    \
        return EXPRESSION;    \
    }

ONE(square, square(b, z))
ONE(abs, tn_i_not_complex(size_of(b, z)))
ONE(sqrt, root(b, z))
ONE(rsqrt, reciprocal(b, root(b, z)))
ONE(exp, exponential(b, z))
ONE(exp2, exponential(b, tn_i_complex_scale(b, z, 0.693147180559945309417232121458176568)))
ONE(log, logarithm(b, z))
ONE(sinh, hyperbolic(b, z, true))
ONE(cosh, hyperbolic(b, z, false))
ONE(tanh, tangent(b, z))
ONE(tan, rotated(b, z, tangent))
ONE(asin, arcsine(b, z))
ONE(acos, arccosine(b, z))
ONE(atan, rotated(b, z, area_tangent))
ONE(asinh, rotated(b, z, arcsine))
ONE(acosh, area_cosine(b, z))
ONE(atanh, area_tangent(b, z))
ONE(logistic, plus(b, tn_i_complex_scale(b, tangent(b, tn_i_complex_scale(b, z, 0.5)), 0.5), 0.5))
ONE(integer_pow, integer_power(b, z, p[0].u.i))

RULE(mul) {
    UNUSED;
    return tn_i_complex_mul(b, in[0], in[1]);
}
RULE(div) {
    UNUSED;
    return tn_i_complex_div(b, in[0], in[1]);
}
RULE(pow) {
    UNUSED;
    return power(b, in[0], in[1]);
}

/* z / |z|, 0 of 0 */
RULE(sign) {
    UNUSED;
    const Z z = in[0];
    const V zero = is_number(b, z, 0), size = size_of(b, z), by = choose(b, zero, like(b, size, 1), size);
    Z y;
    y.re = quotient(b, z.re, by);
    y.im = quotient(b, z.im, by);
    return y;
}

/* sin re cosh im + i cos re sinh im; cos re cosh im - i sin re sinh im */
RULE(sin) {
    UNUSED;
    return tn_i_complex_by_i(b, hyperbolic(b, tn_i_complex_by_i(b, in[0], 1), true), -1);
}
RULE(cos) {
    UNUSED;
    return hyperbolic(b, tn_i_complex_by_i(b, in[0], 1), false);
}

/* expm1(re) cos im - 2 sin^2(im / 2), e^re sin im */
RULE(expm1) {
    UNUSED;
    const Z z = in[0];
    const V half = tn_i_op1(b, TN_P_sin, mul(b, z.im, like(b, z.im, 0.5))), twice = add(b, half, half);
    const V product = mul(b, tn_i_op1(b, TN_P_expm1, z.re), tn_i_op1(b, TN_P_cos, z.im));
    Z y;
    y.re = fma_of(b, TN_FMA_RSUB, twice, half, product);
    y.im = mul(b, tn_i_op1(b, TN_P_exp, z.re), tn_i_op1(b, TN_P_sin, z.im));
    return y;
}

/* log1p(re (re + 2) + im^2) / 2 where |z| is small, else log(1 + z). */
RULE(log1p) {
    UNUSED;
    const Z z = in[0];
    const V near = tn_i_op2(b, TN_P_lt, size_of(b, z), like(b, z.re, 0.5));
    const V x = held(b, near, z.re, 0), y = held(b, near, z.im, 0);
    const V excess = fma_of(b, TN_FMA_ADD, y, y, mul(b, x, tn_i_plus(b, x, 2)));
    const V close = mul(b, tn_i_op1(b, TN_P_log1p, excess), like(b, excess, 0.5));
    Z w = logarithm(b, plus(b, z, 1));
    w.re = choose(b, near, close, w.re);
    return w;
}

/* ---- comparisons, conversions ---- */

static V both(B *b, int each, int together, const tn_i_complex *in) {
    const V re = tn_i_op2(b, each, in[0].re, in[1].re), im = tn_i_op2(b, each, in[0].im, in[1].im);
    return tn_i_op2(b, together, re, im);
}
RULE(eq) {
    UNUSED;
    return tn_i_not_complex(both(b, TN_P_eq, TN_P_and, in));
}
RULE(ne) {
    UNUSED;
    return tn_i_not_complex(both(b, TN_P_ne, TN_P_or, in));
}
RULE(is_finite) {
    UNUSED;
    const V re = tn_i_op1(b, TN_P_is_finite, in[0].re), im = tn_i_op1(b, TN_P_is_finite, in[0].im);
    return tn_i_not_complex(tn_i_op2(b, TN_P_and, re, im));
}
