/* The exponential of matrices, real or complex: a is scaled by a power of two until a Pade approximant is exact but for
 * rounding, and what that gives is squared as often.  Degrees, and the norms up to which they do, are those of Higham,
 * "The scaling and squaring method for the matrix exponential revisited", SIAM J. Matrix Anal. Appl. 26 (2005).
 *
 * All is made of operators, and derived as such: Frechet derivatives of the approximant, then of the squarings, are
 * the method of Al-Mohy and Higham, SIAM J. Matrix Anal. Appl. 30 (2009).  The number of squarings is a constant to
 * them. */
#include "tansy/complex.h"
#include "tansy/loops.h"
#include "trace/trace.h"

#include <math.h>

enum { REAL = 1, COMPLEX = 2 };

/* Of real matrices `im` is not looked at. */
typedef tn_complex matrices;

typedef struct work {
    const char *file;
    int line, parts; /* REAL or COMPLEX */
    tn_ctx *c;
    tn_type type; /* of a part */
    tn_val times; /* how often each matrix is squared, i64 [..] */
} work;

#define AT(w) (w)->file, (w)->line

static int64_t size_of(const work *w) { return w->type.dim[w->type.rank - 1]; }

/* ---- the operand ------------------------------------------------------------------------------------- */

static bool fits(tn_i_site *s, tn_i_var v) {
    const tn_type *t = tn_i_site_type(s, v);
    if (t->dtype != TN_F32 && t->dtype != TN_F64)
        return tn_i_site_fail(s, TN_ETYPE, 0, "needs f32 or f64, not %s; use tn_convert", tn_i_dtype_name(t->dtype)) !=
               TN_NOVAR;
    if (t->rank < 2 || t->dim[t->rank - 1] != t->dim[t->rank - 2])
        return tn_i_site_fail(s, TN_ETYPE, 0, "needs square matrices in the last two dimensions") != TN_NOVAR;
    return true;
}

/* Parts of one type in *a; false after a failure, when they are poison. */
static bool take(work *w, const char *name, matrices *a) {
    const tn_val in[COMPLEX] = {a->re, a->im};
    const size_t n = (size_t)w->parts;
    tn_i_site s;
    tn_i_var v[COMPLEX];
    tn_i_site_open(&s, name, NULL, n, in, v, w->parts == COMPLEX ? 3 : 0, AT(w));
    const bool ok = tn_i_do_numbers(&s) && tn_i_do_broadcast(&s, n, v) && fits(&s, v[0]);
    if (ok) w->type = *tn_i_site_type(&s, v[0]);
    a->re = a->im = tn_i_site_close(&s, ok ? v[0] : TN_NOVAR);
    if (!ok) return false;
    w->c = s.b->ctx;
    if (w->parts == COMPLEX) a->im = tn_i_value(w->c, s.t->serial, v[1]);
    return true;
}

/* ---- arithmetic --------------------------------------------------------------------------------------- */

static matrices product(const work *w, matrices x, matrices y) {
    if (w->parts == COMPLEX) return tn_cmatmul_at(x, y, AT(w));
    return (matrices){.re = tn_matmul_at(x.re, y.re, AT(w))};
}

static matrices quotient(const work *w, matrices x, matrices y) { /* x^-1 y */
    if (w->parts == COMPLEX) return tn_csolve_at(x, y, AT(w));
    return (matrices){.re = tn_solve_at(x.re, y.re, AT(w))};
}

static matrices sum(const work *w, matrices x, matrices y) {
    if (w->parts == COMPLEX) return tn_cadd_at(x, y, AT(w));
    return (matrices){.re = tn_add_at(x.re, y.re, AT(w))};
}

static matrices difference(const work *w, matrices x, matrices y) {
    if (w->parts == COMPLEX) return tn_csub_at(x, y, AT(w));
    return (matrices){.re = tn_sub_at(x.re, y.re, AT(w))};
}

/* x times a real number, or one a matrix. */
static matrices scaled(const work *w, matrices x, tn_val by) {
    x.re = tn_mul_at(x.re, by, AT(w));
    if (w->parts == COMPLEX) x.im = tn_mul_at(x.im, by, AT(w));
    return x;
}

/* ---- the approximant ------------------------------------------------------------------------------------ */

/* Numerators of it; the denominator has every other sign.  theta: the 1-norm up to which it will do. */
typedef struct pade {
    double theta, b[14];
} pade;

static const pade of_f32 = {3.925724783138660, {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}};
static const pade of_f64 = {5.371920351148152,
                            {64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
                             10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}};

static const pade *approximant(const work *w) { return w->type.dtype == TN_F32 ? &of_f32 : &of_f64; }

/* b[k] p[0] + b[k+2] p[1] + b[k+4] p[2].  By b[0], so that of a = 0 the value is 1 and the derivative da, exactly. */
static matrices terms(const work *w, const matrices *p, int k) {
    const double *b = approximant(w)->b;
    matrices y = scaled(w, p[2], tn_number_f64(b[k + 4] / b[0]));
    y = sum(w, scaled(w, p[1], tn_number_f64(b[k + 2] / b[0])), y);
    return sum(w, scaled(w, p[0], tn_number_f64(b[k] / b[0])), y);
}

/* Every other term, from the one of degree k = 0 or 1, without a factor a of all odd ones. */
static matrices half(const work *w, const matrices *p, int k) {
    const double *b = approximant(w)->b;
    const int64_t n = size_of(w);
    matrices y = terms(w, p, k + 2);
    if (approximant(w) == &of_f64) y = sum(w, product(w, p[2], terms(w, p, k + 8)), y);
    const tn_val one = tn_eye_at(w->c, (tn_dtype)w->type.dtype, n, n, AT(w));
    y.re = tn_add_at(y.re, tn_mul_at(one, tn_number_f64(b[k] / b[0]), AT(w)), AT(w));
    return y;
}

static matrices approximated(const work *w, matrices a) {
    matrices p[3]; /* a^2, a^4, a^6 */
    p[0] = product(w, a, a);
    p[1] = product(w, p[0], p[0]);
    p[2] = product(w, p[1], p[0]);
    const matrices odd = product(w, a, half(w, p, 1)), even = half(w, p, 0);
    return quotient(w, difference(w, even, odd), sum(w, even, odd));
}

/* ---- scaling and squaring --------------------------------------------------------------------------------- */

/* [..] as [.., 1, 1]. */
static tn_val as_matrices(const work *w, tn_val x) {
    return tn_expand_dims_at(tn_expand_dims_at(x, -1, AT(w)), -1, AT(w));
}

/* The largest sum of a column, [..]. */
static tn_val norm_of(const work *w, matrices a) {
    a.re = tn_stop_gradient_at(a.re, AT(w));
    if (w->parts == COMPLEX) a.im = tn_stop_gradient_at(a.im, AT(w));
    const tn_val sizes = w->parts == COMPLEX ? tn_cabs_at(a, AT(w)) : tn_abs_at(a.re, AT(w));
    return tn_max_axis_at(tn_sum_axis_at(sizes, -2, 0, AT(w)), -1, 0, AT(w));
}

/* The least s with norm <= 2^s theta, as a float; of what is not finite, 0.  2^-s is no subnormal number. */
static tn_val exponent_of(const work *w, tn_val norm, tn_val finite) {
    const double most = w->type.dtype == TN_F32 ? 126 : 1022;
    const tn_val over = tn_div_at(norm, tn_number_f64(approximant(w)->theta), AT(w));
    const tn_val large = tn_and_at(finite, tn_gt_at(over, tn_number_f64(1), AT(w)), AT(w));
    const tn_val s = tn_ceil_at(tn_log2_at(tn_where_at(large, over, tn_number_f64(1), AT(w)), AT(w)), AT(w));
    return tn_minimum_at(s, tn_number_f64(most), AT(w));
}

/* a with a norm that the approximant will do for, or NaN; and w->times. */
static matrices scaled_down(work *w, matrices a) {
    const tn_val norm = norm_of(w, a), finite = tn_is_finite_at(norm, AT(w));
    const tn_val s = exponent_of(w, norm, finite);
    const tn_val by = tn_exp2_at(tn_neg_at(s, AT(w)), AT(w));
    w->times = tn_convert_at(s, TN_I64, AT(w));
    return scaled(w, a, as_matrices(w, tn_where_at(finite, by, tn_number_f64((double)NAN), AT(w))));
}

/* Of several matrices those that have been squared often enough stay. */
static void square(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const work *w = user;
    const matrices x = {carry[0], carry[w->parts - 1]}, y = product(w, x, x);
    next[0] = y.re;
    if (w->parts == COMPLEX) next[1] = y.im;
    if (w->type.rank == 2) return;
    const tn_val on = as_matrices(w, tn_gt_at(w->times, i, AT(w)));
    for (int j = 0; j < w->parts; j++) next[j] = tn_where_at(on, next[j], carry[j], AT(w));
}

static matrices squared(work *w, matrices x) {
    const tn_val init[COMPLEX] = {x.re, x.im};
    tn_val out[COMPLEX];
    const tn_val most = tn_max_at(w->times, AT(w));
    tn_fori_at(w->c, tn_number_i64(0), most, square, w, (size_t)w->parts, init, out, NULL, AT(w));
    return (matrices){out[0], out[w->parts - 1]};
}

static matrices exponential(work *w, matrices a) {
    for (int d = 0; d < w->type.rank; d++)
        if (w->type.dim[d] == 0) return a;
    if (size_of(w) == 1 && w->parts == COMPLEX) return tn_cexp_at(a, AT(w));
    if (size_of(w) == 1) return (matrices){.re = tn_exp_at(a.re, AT(w))};
    a = scaled_down(w, a);
    return squared(w, approximated(w, a));
}

tn_val tn_expm_at(tn_val a, const char *file, int line) {
    work w = {.file = file, .line = line, .parts = REAL};
    matrices x = {.re = a};
    return take(&w, "expm", &x) ? exponential(&w, x).re : x.re;
}

tn_complex tn_cexpm_at(tn_complex a, const char *file, int line) {
    work w = {.file = file, .line = line, .parts = COMPLEX};
    return take(&w, "cexpm", &a) ? exponential(&w, a) : a;
}
