/* Elementwise operators: plain numbers, broadcasting, one equation. */
#include "prims/ids.h"
#include "prims/rules.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* ---- on variables --------------------------------------------------------------- */

tn_i_var tn_i_do1(tn_i_site *s, int id, tn_i_var x) { return s->b->failed ? TN_NOVAR : tn_i_op1(s->b, id, x); }

/* Merges t's shape into the common one; false where they do not fit. */
static bool merge_shape(tn_type *common, const tn_type *t) {
    tn_type m = *common;
    if (t->rank > m.rank) {
        int more = t->rank - m.rank;
        memmove(m.dim + more, common->dim, (size_t)common->rank * sizeof *m.dim);
        for (int i = 0; i < more; i++) m.dim[i] = 1;
        m.rank = t->rank;
    }
    for (int i = 0; i < t->rank; i++) {
        int64_t *d = &m.dim[m.rank - t->rank + i];
        if (*d == 1)
            *d = t->dim[i];
        else if (t->dim[i] != 1 && t->dim[i] != *d)
            return false;
    }
    *common = m;
    return true;
}

bool tn_i_do_broadcast(tn_i_site *s, size_t n, tn_i_var *v) {
    if (s->b->failed) return false;
    char text[TN_I_TYPE_TEXT], other[TN_I_TYPE_TEXT];
    tn_type common = *tn_i_site_type(s, v[0]);
    for (size_t i = 1; i < n; i++) {
        const tn_type *t = tn_i_site_type(s, v[i]);
        if (!merge_shape(&common, t)) {
            (void)tn_i_site_fail(s, TN_ETYPE, (int)i, "%s does not broadcast with %s", tn_i_type_text(text, t),
                                 tn_i_type_text(other, &common));
            return false;
        }
    }
    for (size_t i = 0; i < n; i++) v[i] = tn_i_do_broadcast_to(s, v[i], common.rank, common.dim);
    return !s->b->failed;
}

tn_i_var tn_i_do2(tn_i_site *s, int id, tn_i_var x, tn_i_var y) {
    tn_i_var v[2] = {x, y};
    return tn_i_do_broadcast(s, 2, v) ? tn_i_op2(s->b, id, v[0], v[1]) : TN_NOVAR;
}

tn_i_var tn_i_do_number(tn_i_site *s, tn_i_var like, double x) {
    return s->b->failed ? TN_NOVAR : tn_i_literal_f64(s->b, tn_i_site_type(s, like)->dtype, x);
}

tn_i_var tn_i_do2n(tn_i_site *s, int id, tn_i_var x, double y) { return tn_i_do2(s, id, x, tn_i_do_number(s, x, y)); }
tn_i_var tn_i_don2(tn_i_site *s, int id, double x, tn_i_var y) { return tn_i_do2(s, id, tn_i_do_number(s, y, x), y); }

tn_i_var tn_i_do_where(tn_i_site *s, tn_i_var cond, tn_i_var x, tn_i_var y) {
    if (s->b->failed) return TN_NOVAR;
    tn_i_var v[3] = {x, y, cond};
    bool scalar = tn_i_site_type(s, cond)->rank == 0; /* select takes a scalar as it is */
    if (!tn_i_do_broadcast(s, scalar ? 2 : 3, v)) return TN_NOVAR;
    return tn_i_op3(s->b, TN_P_select, scalar ? cond : v[2], v[0], v[1]);
}

bool tn_i_need_float(tn_i_site *s, size_t n) {
    for (size_t i = 0; i < n && !s->b->failed; i++) {
        const tn_type *t = tn_i_site_type(s, s->v[i]);
        if (!tn_i_is_float(t->dtype))
            (void)tn_i_site_fail(s, TN_ETYPE, (int)i, "needs f32 or f64, not %s; use tn_convert",
                                 tn_i_dtype_name(t->dtype));
    }
    return !s->b->failed;
}

/* Operands first.. have one dtype once plain numbers took it from the first array among them. */
static bool one_dtype(tn_i_site *s, size_t first) {
    if (s->b->failed) return false;
    size_t at = first;
    while (at < s->n && s->v[at] == TN_NOVAR) at++;
    if (at == s->n) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1,
                             "needs an array among its operands: plain numbers have no dtype; use tn_full");
        return false;
    }
    int dtype = tn_i_site_type(s, s->v[at])->dtype;
    for (size_t i = first; i < s->n; i++) {
        tn_i_site_number(s, i, dtype);
        if (s->b->failed) return false;
        int other = tn_i_site_type(s, s->v[i])->dtype;
        if (other != dtype) {
            (void)tn_i_site_fail(s, TN_ETYPE, (int)i, "dtype %s differs from %s; use tn_convert",
                                 tn_i_dtype_name(other), tn_i_dtype_name(dtype));
            return false;
        }
    }
    return true;
}

bool tn_i_do_numbers(tn_i_site *s) { return one_dtype(s, 0); }

/* ---- one operand ------------------------------------------------------------------ */

static tn_val unary(int id, const char *name, tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, name, NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, tn_i_do1(&s, id, v));
}

tn_val tn_neg_at(tn_val x, const char *file, int line) { return unary(TN_P_neg, "neg", x, file, line); }
tn_val tn_abs_at(tn_val x, const char *file, int line) { return unary(TN_P_abs, "abs", x, file, line); }
tn_val tn_sign_at(tn_val x, const char *file, int line) { return unary(TN_P_sign, "sign", x, file, line); }
tn_val tn_square_at(tn_val x, const char *file, int line) { return unary(TN_P_square, "square", x, file, line); }
tn_val tn_sqrt_at(tn_val x, const char *file, int line) { return unary(TN_P_sqrt, "sqrt", x, file, line); }
tn_val tn_rsqrt_at(tn_val x, const char *file, int line) { return unary(TN_P_rsqrt, "rsqrt", x, file, line); }
tn_val tn_cbrt_at(tn_val x, const char *file, int line) { return unary(TN_P_cbrt, "cbrt", x, file, line); }
tn_val tn_exp_at(tn_val x, const char *file, int line) { return unary(TN_P_exp, "exp", x, file, line); }
tn_val tn_exp2_at(tn_val x, const char *file, int line) { return unary(TN_P_exp2, "exp2", x, file, line); }
tn_val tn_expm1_at(tn_val x, const char *file, int line) { return unary(TN_P_expm1, "expm1", x, file, line); }
tn_val tn_log_at(tn_val x, const char *file, int line) { return unary(TN_P_log, "log", x, file, line); }
tn_val tn_log1p_at(tn_val x, const char *file, int line) { return unary(TN_P_log1p, "log1p", x, file, line); }
tn_val tn_sin_at(tn_val x, const char *file, int line) { return unary(TN_P_sin, "sin", x, file, line); }
tn_val tn_cos_at(tn_val x, const char *file, int line) { return unary(TN_P_cos, "cos", x, file, line); }
tn_val tn_tan_at(tn_val x, const char *file, int line) { return unary(TN_P_tan, "tan", x, file, line); }
tn_val tn_asin_at(tn_val x, const char *file, int line) { return unary(TN_P_asin, "asin", x, file, line); }
tn_val tn_acos_at(tn_val x, const char *file, int line) { return unary(TN_P_acos, "acos", x, file, line); }
tn_val tn_atan_at(tn_val x, const char *file, int line) { return unary(TN_P_atan, "atan", x, file, line); }
tn_val tn_sinh_at(tn_val x, const char *file, int line) { return unary(TN_P_sinh, "sinh", x, file, line); }
tn_val tn_cosh_at(tn_val x, const char *file, int line) { return unary(TN_P_cosh, "cosh", x, file, line); }
tn_val tn_tanh_at(tn_val x, const char *file, int line) { return unary(TN_P_tanh, "tanh", x, file, line); }
tn_val tn_asinh_at(tn_val x, const char *file, int line) { return unary(TN_P_asinh, "asinh", x, file, line); }
tn_val tn_acosh_at(tn_val x, const char *file, int line) { return unary(TN_P_acosh, "acosh", x, file, line); }
tn_val tn_atanh_at(tn_val x, const char *file, int line) { return unary(TN_P_atanh, "atanh", x, file, line); }
tn_val tn_erf_at(tn_val x, const char *file, int line) { return unary(TN_P_erf, "erf", x, file, line); }
tn_val tn_erfc_at(tn_val x, const char *file, int line) { return unary(TN_P_erfc, "erfc", x, file, line); }
tn_val tn_erf_inv_at(tn_val x, const char *file, int line) { return unary(TN_P_erf_inv, "erf_inv", x, file, line); }
tn_val tn_lgamma_at(tn_val x, const char *file, int line) { return unary(TN_P_lgamma, "lgamma", x, file, line); }
tn_val tn_digamma_at(tn_val x, const char *file, int line) { return unary(TN_P_digamma, "digamma", x, file, line); }
tn_val tn_bessel_i0e_at(tn_val x, const char *file, int line) {
    return unary(TN_P_bessel_i0e, "bessel_i0e", x, file, line);
}
tn_val tn_bessel_i1e_at(tn_val x, const char *file, int line) {
    return unary(TN_P_bessel_i1e, "bessel_i1e", x, file, line);
}
tn_val tn_floor_at(tn_val x, const char *file, int line) { return unary(TN_P_floor, "floor", x, file, line); }
tn_val tn_ceil_at(tn_val x, const char *file, int line) { return unary(TN_P_ceil, "ceil", x, file, line); }
tn_val tn_is_finite_at(tn_val x, const char *file, int line) {
    return unary(TN_P_is_finite, "is_finite", x, file, line);
}
tn_val tn_not_at(tn_val x, const char *file, int line) { return unary(TN_P_not, "not", x, file, line); }
tn_val tn_population_count_at(tn_val x, const char *file, int line) {
    return unary(TN_P_population_count, "population_count", x, file, line);
}
tn_val tn_clz_at(tn_val x, const char *file, int line) { return unary(TN_P_clz, "clz", x, file, line); }
tn_val tn_stop_gradient_at(tn_val x, const char *file, int line) {
    return unary(TN_P_stop_gradient, "stop_gradient", x, file, line);
}

tn_val tn_round_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_args a;
    tn_i_site_open(&s, "round", NULL, 1, &x, &v, 0, file, line);
    tn_i_args_init(&a, &s, TN_P_round);
    tn_i_args_sym(&a, "rounding_method", "TO_NEAREST_EVEN");
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 1, &v));
}

tn_val tn_convert_at(tn_val x, tn_dtype dtype, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "convert", NULL, 1, &x, &v, 0, file, line);
    if ((int)dtype < 0 || dtype >= TN_NDTYPES) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "%d is no dtype", (int)dtype);
    return tn_i_site_close(&s, tn_i_convert(s.b, v, (int)dtype));
}

tn_val tn_bitcast_at(tn_val x, tn_dtype dtype, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_args a;
    tn_i_site_open(&s, "bitcast", NULL, 1, &x, &v, 0, file, line);
    if ((int)dtype < 0 || dtype >= TN_NDTYPES) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "%d is no dtype", (int)dtype);
    tn_i_args_init(&a, &s, TN_P_bitcast_convert_type);
    tn_i_args_int(&a, "new_dtype", (int)dtype);
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 1, &v));
}

tn_val tn_checkpoint_name_at(tn_val x, const char *name, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_args a;
    tn_i_site_open(&s, "checkpoint_name", NULL, 1, &x, &v, 0, file, line);
    tn_i_args_init(&a, &s, TN_P_name);
    if (!s.b->failed && !name) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the name is NULL");
    if (!s.b->failed) {
        const char *interned = tn_i_string(s.b->ctx, name, strlen(name));
        if (interned)
            tn_i_args_str(&a, "name", interned);
        else
            s.b->failed = true;
    }
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 1, &v));
}

tn_val tn_reciprocal_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "reciprocal", NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, tn_i_need_float(&s, 1) ? tn_i_don2(&s, TN_P_div, 1.0, v) : TN_NOVAR);
}

static tn_val log_of_base(const char *name, double per_e, tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, name, NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, tn_i_do2n(&s, TN_P_div, tn_i_do1(&s, TN_P_log, v), per_e));
}

tn_val tn_log2_at(tn_val x, const char *file, int line) {
    return log_of_base("log2", 0.693147180559945309417232121458176568, x, file, line);
}
tn_val tn_log10_at(tn_val x, const char *file, int line) {
    return log_of_base("log10", 2.30258509299404568401799145468436421, x, file, line);
}

tn_val tn_is_nan_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "is_nan", NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, tn_i_need_float(&s, 1) ? tn_i_do2(&s, TN_P_ne, v, v) : TN_NOVAR);
}

tn_val tn_is_inf_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "is_inf", NULL, 1, &x, &v, 0, file, line);
    if (!tn_i_need_float(&s, 1)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do2n(&s, TN_P_eq, tn_i_do1(&s, TN_P_abs, v), HUGE_VAL));
}

/* ---- two operands ------------------------------------------------------------------- */

static tn_val binary_with(int id, const tn_i_param *p, const char *name, tn_val x, tn_val y, const char *file,
                          int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, name, NULL, 2, in, v, 3, file, line);
    if (!one_dtype(&s, 0) || !tn_i_do_broadcast(&s, 2, v)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_emit(s.b, tn_i_prim(s.b, id), p, 2, v));
}

static tn_val binary(int id, const char *name, tn_val x, tn_val y, const char *file, int line) {
    return binary_with(id, NULL, name, x, y, file, line);
}

tn_val tn_add_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_add, "add", x, y, file, line); }
tn_val tn_sub_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_sub, "sub", x, y, file, line); }
tn_val tn_mul_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_mul, "mul", x, y, file, line); }
tn_val tn_div_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_div, "div", x, y, file, line); }
tn_val tn_rem_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_rem, "rem", x, y, file, line); }
tn_val tn_maximum_at(tn_val x, tn_val y, const char *file, int line) {
    return binary(TN_P_max, "maximum", x, y, file, line);
}
tn_val tn_minimum_at(tn_val x, tn_val y, const char *file, int line) {
    return binary(TN_P_min, "minimum", x, y, file, line);
}
tn_val tn_atan2_at(tn_val y, tn_val x, const char *file, int line) {
    return binary(TN_P_atan2, "atan2", y, x, file, line);
}
tn_val tn_polygamma_at(tn_val m, tn_val x, const char *file, int line) {
    return binary(TN_P_polygamma, "polygamma", m, x, file, line);
}
tn_val tn_zeta_at(tn_val s, tn_val q, const char *file, int line) {
    return binary(TN_P_zeta, "zeta", s, q, file, line);
}
tn_val tn_igamma_at(tn_val a, tn_val x, const char *file, int line) {
    return binary(TN_P_igamma, "igamma", a, x, file, line);
}
tn_val tn_igammac_at(tn_val a, tn_val x, const char *file, int line) {
    return binary(TN_P_igammac, "igammac", a, x, file, line);
}
/* The first derivative, of those that the primitive has. */
static tn_val first_derivative(int id, const char *name, tn_val a, tn_val x, const char *file, int line) {
    const tn_i_param order = {.kind = TN_K_INT, .u.i = 1};
    return binary_with(id, &order, name, a, x, file, line);
}

tn_val tn_igamma_grad_a_at(tn_val a, tn_val x, const char *file, int line) {
    return first_derivative(TN_P_igamma_grad_a, "igamma_grad_a", a, x, file, line);
}
tn_val tn_random_gamma_grad_at(tn_val a, tn_val x, const char *file, int line) {
    return first_derivative(TN_P_random_gamma_grad, "random_gamma_grad", a, x, file, line);
}
tn_val tn_eq_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_eq, "eq", x, y, file, line); }
tn_val tn_ne_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_ne, "ne", x, y, file, line); }
tn_val tn_lt_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_lt, "lt", x, y, file, line); }
tn_val tn_le_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_le, "le", x, y, file, line); }
tn_val tn_gt_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_gt, "gt", x, y, file, line); }
tn_val tn_ge_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_ge, "ge", x, y, file, line); }
tn_val tn_and_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_and, "and", x, y, file, line); }
tn_val tn_or_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_or, "or", x, y, file, line); }
tn_val tn_xor_at(tn_val x, tn_val y, const char *file, int line) { return binary(TN_P_xor, "xor", x, y, file, line); }
tn_val tn_shift_left_at(tn_val x, tn_val y, const char *file, int line) {
    return binary(TN_P_shift_left, "shift_left", x, y, file, line);
}
tn_val tn_shift_right_logical_at(tn_val x, tn_val y, const char *file, int line) {
    return binary(TN_P_shift_right_logical, "shift_right_logical", x, y, file, line);
}
tn_val tn_shift_right_arithmetic_at(tn_val x, tn_val y, const char *file, int line) {
    return binary(TN_P_shift_right_arithmetic, "shift_right_arithmetic", x, y, file, line);
}

static tn_i_var integer_pow(tn_i_site *s, tn_i_var x, int64_t y) {
    tn_i_args a;
    tn_i_args_init(&a, s, TN_P_integer_pow);
    tn_i_args_int(&a, "y", y);
    return tn_i_args_emit(s, &a, 1, &x);
}

tn_val tn_integer_pow_at(tn_val x, int y, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "integer_pow", NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, integer_pow(&s, v, y));
}

tn_val tn_pow_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, "pow", NULL, 2, in, v, 3, file, line);
    bool small = y.num.i >= INT32_MIN && y.num.i <= INT32_MAX && y.trace != 4;
    if (!s.b->failed && v[0] != TN_NOVAR && tn_i_is_number(&y) && y.trace != 1 && small)
        return tn_i_site_close(&s, integer_pow(&s, v[0], y.num.i));
    /* the primitive takes integer arrays as exponents of floats */
    bool mixed = !s.b->failed && v[0] != TN_NOVAR && v[1] != TN_NOVAR;
    if (!mixed && !one_dtype(&s, 0)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do2(&s, TN_P_pow, v[0], v[1]));
}

tn_val tn_fma_at(tn_val x, tn_val y, tn_val z, const char *file, int line) {
    const tn_val in[3] = {x, y, z};
    tn_i_site s;
    tn_i_var v[3];
    tn_i_site_open(&s, "fma", NULL, 3, in, v, 7, file, line);
    if (!one_dtype(&s, 0) || !tn_i_need_float(&s, 3) || !tn_i_do_broadcast(&s, 3, v))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_fma(s.b, TN_FMA_ADD, v[0], v[1], v[2]));
}

tn_val tn_betainc_at(tn_val a, tn_val b, tn_val x, const char *file, int line) {
    const tn_val in[3] = {a, b, x};
    tn_i_site s;
    tn_i_var v[3];
    tn_i_site_open(&s, "betainc", NULL, 3, in, v, 7, file, line);
    if (!one_dtype(&s, 0) || !tn_i_need_float(&s, 3) || !tn_i_do_broadcast(&s, 3, v))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_op3(s.b, TN_P_regularized_incomplete_beta, v[0], v[1], v[2]));
}

/* ---- choosing ------------------------------------------------------------------------- */

tn_val tn_where_at(tn_val cond, tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[3] = {cond, x, y};
    tn_i_site s;
    tn_i_var v[3];
    tn_i_site_open(&s, "where", NULL, 3, in, v, 6, file, line);
    if (!one_dtype(&s, 1)) return tn_i_site_close(&s, TN_NOVAR);
    int dtype = tn_i_site_type(&s, v[0])->dtype;
    if (dtype != TN_BOOL)
        (void)tn_i_site_fail(&s, TN_ETYPE, 0, "must be bool, not %s; compare it with 0", tn_i_dtype_name(dtype));
    return tn_i_site_close(&s, tn_i_do_where(&s, v[0], v[1], v[2]));
}

tn_val tn_clip_at(tn_val x, tn_val lo, tn_val hi, const char *file, int line) {
    const tn_val in[3] = {x, lo, hi};
    tn_i_site s;
    tn_i_var v[3];
    tn_i_site_open(&s, "clip", NULL, 3, in, v, 7, file, line);
    if (!one_dtype(&s, 0)) return tn_i_site_close(&s, TN_NOVAR);
    bool scalars =
        tn_i_site_type(&s, v[1])->rank == 0 && tn_i_site_type(&s, v[2])->rank == 0; /* clamp takes them as they are */
    if (!scalars && !tn_i_do_broadcast(&s, 3, v)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_op3(s.b, TN_P_clamp, v[1], v[0], v[2]));
}
