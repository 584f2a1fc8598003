/* Powers: pow, integer_pow. */
#include "prims/c_text.h"
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <math.h>

/* ---- pow ---- */

/* C's pow takes exponents as double, which has no odd numbers beyond 2^53. */
TN_C_TEXT(
    pow_whole_text, static double pow_whole(double x, int64_t y) {
        const double size = pow(fabs(x), (double)y);
        return signbit(x) && (y & 1) ? -size : size;
    })

static const tn_i_c_helper pow_helpers[] = {{"pow_whole", pow_whole_text}, {NULL, NULL}};

TN_STRIP2(pow, f32, float, float, powf(x, y))
TN_STRIP2(pow, f64, double, double, pow(x, y))
static const char pow_f32_whole[] = "(float)pow_whole((double)x, (int64_t)y)";
static const char pow_f64_whole[] = "pow_whole(x, (int64_t)y)";
TN_LOOP2_OF(pow_i32, f32, float, int32_t, float, pow_whole((double)x, (int64_t)y))
TN_LOOP2_OF(pow_i32, f64, double, int32_t, double, pow_whole(x, (int64_t)y))
TN_LOOP2_OF(pow_i64, f32, float, int64_t, float, pow_whole((double)x, y))
TN_LOOP2_OF(pow_i64, f64, double, int64_t, double, pow_whole(x, y))

/* C's function where the exponent has the base's dtype; a whole one calls a helper. */
static tn_i_strip *choose_pow(const tn_i_query *q, const char **body) {
    const bool wide = q->in[0]->dtype == TN_F64;
    *body = NULL;
    switch (q->in[1]->dtype) {
    case TN_I32: *body = wide ? pow_f64_whole : pow_f32_whole; return wide ? pow_i32_f64 : pow_i32_f32;
    case TN_I64: *body = wide ? pow_f64_whole : pow_f32_whole; return wide ? pow_i64_f64 : pow_i64_f32;
    default: *body = wide ? pow_f64_body : pow_f32_body; return wide ? pow_f64 : pow_f32;
    }
}

static bool type_pow(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    const tn_type *x = q->in[0], *y = q->in[1];
    if (!tn_i_is_float(x->dtype)) return tn_i_type_fail(q, 0, "pow is not defined for %s", tn_i_dtype_name(x->dtype));
    if (y->dtype != x->dtype && !tn_i_is_index(y->dtype))
        return tn_i_type_fail(q, 1, "dtype %s is neither %s nor i32 or i64; use convert_element_type (tn_convert)",
                              tn_i_dtype_name(y->dtype), tn_i_dtype_name(x->dtype));
    tn_type same = *y;
    same.dtype = x->dtype;
    if (!tn_type_equal(&same, x))
        return tn_i_type_fail(q, 1, "shape differs from %s; broadcasting is explicit (broadcast_in_dim)",
                              tn_i_type_text(text, x));
    return tn_i_output_type(q, x);
}

static tn_i_var simplify_pow(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin;
    double y;
    if (!tn_i_known_f64(b, in[1], &y)) return TN_NOVAR;
    if (y == 1.0) return in[0];
    return y == 0.0 ? tn_i_number(b, out, 1.0) : TN_NOVAR; /* pow(x, 0) is 1 for every x, NaN too */
}

static tn_i_var replace_zero(tn_i_builder *b, tn_i_var x) {
    tn_i_var is_zero = tn_i_op2(b, TN_P_eq, x, tn_i_number_like(b, x, 0.0));
    return tn_i_op3(b, TN_P_select, is_zero, tn_i_number_like(b, x, 1.0), x);
}

/* Whether y - 1 is a number of the exponent's dtype, for an exponent that is known. */
static bool exact_below(const tn_i_rule *r) {
    double y;
    if (tn_i_is_int(r->in_type[1]->dtype)) return true;
    if (!tn_i_known_f64(r->b, r->in[1], &y)) return false;
    unsigned char at[8];
    tn_i_element_set(r->in_type[1]->dtype, at, y - 1);
    const double below = tn_i_element(r->in_type[1]->dtype, at);
    return y >= 0.5 || below + 1 == y;
}

/* x^(y-1).  Where y - 1 may be rounded, which a large or small x would show, that is x^y / x, which neither overflows
 * nor vanishes there unless the power does; but for 0/0 and inf/inf. */
static tn_i_var power_below(tn_i_rule *r) {
    tn_i_builder *b = r->b;
    const tn_i_var y = r->in[1], below = tn_i_op2(b, TN_P_sub, y, tn_i_number_like(b, y, 1.0));
    const tn_i_var power = tn_i_op2(b, TN_P_pow, r->in[0], below);
    if (b->failed || exact_below(r)) return power;
    const tn_i_var ratio = tn_i_op2(b, TN_P_div, r->out[0], r->in[0]);
    const tn_i_var small = tn_i_op2(b, TN_P_lt, y, tn_i_number_like(b, y, 0.5));
    const tn_i_var number = tn_i_op2(b, TN_P_eq, ratio, ratio);
    return tn_i_op3(b, TN_P_select, tn_i_op2(b, TN_P_and, small, number), ratio, power);
}

/* y x^(y-1); an exponent 0 that is an integer has derivative 0 even where x^-1 is infinite (JAX). */
static tn_i_var partial_base(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const tn_i_var y = r->in[1], power = power_below(r);
    tn_i_var slope = tn_i_op2(b, TN_P_mul, tn_i_convert(b, y, r->in_type[0]->dtype), power);
    if (tn_i_is_int(r->in_type[1]->dtype)) {
        tn_i_var constant = tn_i_op2(b, TN_P_eq, y, tn_i_number_like(b, y, 0.0));
        slope = tn_i_op3(b, TN_P_select, constant, tn_i_number_like(b, slope, 0.0), slope);
    }
    return tn_i_mul_by(r, dx, slope);
}

static tn_i_var partial_exponent(tn_i_rule *r, tn_i_var dy) {
    tn_i_var log_x = tn_i_op1(r->b, TN_P_log, replace_zero(r->b, r->in[0]));
    return tn_i_mul_by(r, dy, tn_i_op2(r->b, TN_P_mul, log_x, r->out[0]));
}

static bool sample_pow(tn_i_rng *r, int dtype, tn_i_case *c) {
    static const int exponents[] = {TN_I32, TN_I64};
    const int64_t kind = tn_i_pick(r, 0, 3);
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, kind < 2 ? exponents[kind] : dtype);
    c->domain[0] = (tn_i_domain){.lo = 0.5, .hi = 2.5};
    if (kind < 2) {
        c->domain[0] = (tn_i_domain){.lo = -2, .hi = 2, .apart = 0.6, .at = TN_AT_ZERO};
        c->domain[1] = (tn_i_domain){.lo = -3, .hi = 4};
    }
    return true;
}

/* Whole exponents from 0 on; others leave a pole at 0, or below it. */
static bool no_pole_pow(const tn_i_param *p, const tn_i_range *in) {
    (void)p;
    return in[1].lo == in[1].hi && in[1].lo >= 0 && in[1].lo == floor(in[1].lo);
}

const tn_prim tn_prim_pow = {
    .id = TN_P_pow,
    .name = "pow",
    .doc = "x^y, y float or integer; d pow(0, y)/dy = 0; for integer y = 0 also d/dx = 0",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_FLOATS,
    .type = type_pow,
    .simplify = simplify_pow,
    .partial = {partial_base, partial_exponent},
    .choose = choose_pow,
    .kernel = tn_i_chosen_kernel,
    .c_helpers = pow_helpers,
    TN_VECTOR(pow),
    .weight = 16,
    .jvp_bound = 5.65,
    .sample = sample_pow,
    .pole = TN_POLE_OUTSIDE(0, 0, INFINITY),
    .no_pole = no_pole_pow,
    .complex = tn_i_complex_of_pow,
};

/* ---- integer_pow ---- */

/* Products in the order of JAX's, so that bits agree. */
TN_C_TEXT(
    power_f64_text, static double power_f64(double x, int64_t y) {
        double product = 1;
        for (uint64_t n = y < 0 ? 0u - (uint64_t)y : (uint64_t)y; n; n >>= 1) {
            if (n & 1) product *= x;
            x *= x;
        }
        return y < 0 ? 1 / product : product;
    })

TN_C_TEXT(
    power_f32_text, static float power_f32(float x, int64_t y) {
        float product = 1;
        for (uint64_t n = y < 0 ? 0u - (uint64_t)y : (uint64_t)y; n; n >>= 1) {
            if (n & 1) product *= x;
            x *= x;
        }
        return y < 0 ? 1 / product : product;
    })

TN_C_TEXT(
    power_u64_text, static uint64_t power_u64(uint64_t x, int64_t y) {
        uint64_t product = 1;
        for (int64_t n = y; n > 0; n >>= 1) {
            if (n & 1) product *= x;
            x *= x;
        }
        return product;
    })

static const tn_i_c_helper integer_pow_helpers[] = {
    {"power_f64", power_f64_text}, {"power_f32", power_f32_text}, {"power_u64", power_u64_text}, {NULL, NULL}};

TN_LOOP2_OF(integer_pow, f32, float, int64_t, float, power_f32(x, y))
TN_LOOP2_OF(integer_pow, f64, double, int64_t, double, power_f64(x, y))
TN_LOOP2_OF(integer_pow, i32, int32_t, int64_t, int32_t, power_u64((uint64_t)x, y))
TN_LOOP2_OF(integer_pow, i64, int64_t, int64_t, int64_t, power_u64((uint64_t)x, y))
TN_LOOP2_OF(integer_pow, u32, uint32_t, int64_t, uint32_t, power_u64(x, y))

/* The usual exponents, by the same products. */
#define X2 (x * x)
#define X4 (X2 * X2)
#define X8 (X4 * X4)
#define X3 (x * X2)
#define X7 (X3 * X4)
#define POWER(name, body)                            \
    TN_STRIP1(power_##name, f32, float, float, body) \
    TN_STRIP1(power_##name, f64, double, double, body)
POWER(m16, 1 / (X8 * X8))
POWER(m15, 1 / (X7 * X8))
POWER(m14, 1 / ((X2 * X4) * X8))
POWER(m13, 1 / ((x * X4) * X8))
POWER(m12, 1 / (X4 * X8))
POWER(m11, 1 / (X3 * X8))
POWER(m10, 1 / (X2 * X8))
POWER(m9, 1 / (x * X8))
POWER(m8, 1 / (X8))
POWER(m7, 1 / (X7))
POWER(m6, 1 / (X2 * X4))
POWER(m5, 1 / (x * X4))
POWER(m4, 1 / X4)
POWER(m3, 1 / X3)
POWER(m2, 1 / X2)
POWER(m1, 1 / x)
POWER(3, X3)
POWER(4, X4)
POWER(5, x *X4)
POWER(6, X2 *X4)
POWER(7, X7)
POWER(8, X8)
POWER(9, x *X8)
POWER(10, X2 *X8)
POWER(11, X3 *X8)
POWER(12, X4 *X8)
POWER(13, (x * X4) * X8)
POWER(14, (X2 * X4) * X8)
POWER(15, X7 *X8)
POWER(16, X8 *X8)

typedef struct power_row {
    int64_t y;
    tn_i_strip *strip[2];
    const char *body[2];
} power_row;
#define ROW(y, name)                                                                                      \
    {                                                                                                     \
        y, {power_##name##_f32, power_##name##_f64}, { power_##name##_f32_body, power_##name##_f64_body } \
    }

static tn_i_strip *choose_integer_pow(const tn_i_query *q, const char **body) {
    static const power_row table[] = {ROW(-16, m16), ROW(-15, m15), ROW(-14, m14), ROW(-13, m13), ROW(-12, m12),
                                      ROW(-11, m11), ROW(-10, m10), ROW(-9, m9),   ROW(-8, m8),   ROW(-7, m7),
                                      ROW(-6, m6),   ROW(-5, m5),   ROW(-4, m4),   ROW(-3, m3),   ROW(-2, m2),
                                      ROW(-1, m1),   ROW(3, 3),     ROW(4, 4),     ROW(5, 5),     ROW(6, 6),
                                      ROW(7, 7),     ROW(8, 8),     ROW(9, 9),     ROW(10, 10),   ROW(11, 11),
                                      ROW(12, 12),   ROW(13, 13),   ROW(14, 14),   ROW(15, 15),   ROW(16, 16)};
    const int wide = q->in[0]->dtype == TN_F64;
    *body = NULL;
    for (size_t i = 0; tn_i_is_float(q->in[0]->dtype) && i < sizeof table / sizeof *table; i++)
        if (table[i].y == q->p[0].u.i) {
            *body = table[i].body[wide];
            return table[i].strip[wide];
        }
    return NULL;
}

/* The exponent goes to the strip as a repeated second operand. */
static tn_status kernel_integer_pow(const tn_i_kernel *k) {
    static tn_i_strip *const strip[TN_NDTYPES] = {[TN_F32] = integer_pow_f32,
                                                  [TN_F64] = integer_pow_f64,
                                                  [TN_I32] = integer_pow_i32,
                                                  [TN_I64] = integer_pow_i64,
                                                  [TN_U32] = integer_pow_u32};
    const tn_type scalar = tn_type_of(TN_I64, 0, NULL);
    int64_t y = k->p[0].u.i;
    const tn_i_arr in[2] = {k->in[0], {.type = &scalar, .data = &y}};
    tn_i_kernel both = *k;
    both.nin = 2;
    both.in = in;
    return tn_i_run_strip(&both, strip[k->in[0].type->dtype]);
}

static bool type_integer_pow(tn_i_query *q) {
    if (q->p[0].u.i < 0 && tn_i_is_int(q->in[0]->dtype))
        return tn_i_type_fail(q, 0, "an integer cannot be raised to the negative power %lld", (long long)q->p[0].u.i);
    return tn_i_type_elementwise(q);
}

static tn_i_var simplify_integer_pow(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                     const tn_type *out) {
    (void)nin;
    switch (p[0].u.i) {
    case 0: return tn_i_number(b, out, 1.0);
    case 1: return in[0];
    case 2: return tn_i_op1(b, TN_P_square, in[0]);
    default: return TN_NOVAR;
    }
}

static tn_i_var partial_integer_pow(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const int64_t y = r->p[0].u.i;
    if (y == 0) return TN_NOVAR;
    if (y == 1) return dx;
    tn_i_param below = {.kind = TN_K_INT, .u.i = y - (y > INT64_MIN)};
    tn_i_var power = tn_i_emit(b, tn_i_prim(b, TN_P_integer_pow), &below, 1, r->in);
    if (y == INT64_MIN) power = tn_i_op2(b, TN_P_div, power, r->in[0]); /* y - 1 does not exist */
    return tn_i_mul_by(r, dx, tn_i_times(b, power, (double)y));
}

static void cost_integer_pow(const tn_i_query *q, tn_i_cost *cost) {
    const int64_t y = q->p[0].u.i;
    double products = 0;
    for (uint64_t n = y < 0 ? 0u - (uint64_t)y : (uint64_t)y; n > 1; n >>= 1) products += n & 1 ? 2 : 1;
    if (products < 1) products = 1;
    const double n = (double)tn_i_count(q->in[0]);
    cost->flops = n * (products + (y < 0 ? 4 : 0));
    cost->bytes = 2 * n * (double)tn_i_dtype_size(q->in[0]->dtype);
}

static bool sample_integer_pow(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    c->p[0] = (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, tn_i_is_float(dtype) ? -3 : 0, 6)};
    c->domain[0] = (tn_i_domain){.lo = -1.5, .hi = 1.5, .apart = 0.6, .at = TN_AT_ZERO};
    if (!tn_i_is_float(dtype)) c->domain[0] = (tn_i_domain){.lo = -5, .hi = 5};
    return true;
}

static const tn_i_spec integer_pow_params[] = {{.name = "y", .kind = TN_K_INT}, {.name = NULL}};

static bool no_pole_integer_pow(const tn_i_param *p, const tn_i_range *in) {
    (void)in;
    return p[0].u.i >= 0;
}

static void range_integer_pow(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)nin, (void)same;
    if (p[0].u.i % 2 == 0 || in[0].lo >= 0) out->lo = 0;
}

static void c_integer_pow(const tn_i_c_kernel *k) {
    const tn_type *t = k->out[0].type;
    const bool floats = tn_i_is_float(t->dtype);
    tn_i_c_open_arr(k->t, "i", t);
    tn_i_text_put(k->t, "out0[");
    tn_i_c_at_arr(k->t, "i", &k->out[0]);
    if (floats)
        tn_i_text_put(k->t, "] = power_%s(in0[", tn_i_c_suffix(t->dtype));
    else
        tn_i_text_put(k->t, "] = (%s)power_u64((uint64_t)in0[", tn_i_c_name(t->dtype));
    tn_i_c_at_arr(k->t, "i", &k->in[0]);
    const int64_t y = k->p[0].u.i;
    tn_i_text_put(k->t, "], ");
    tn_i_c_number(k->t, TN_I64, &y);
    tn_i_text_put(k->t, ");\n");
    tn_i_c_close(k->t, t->rank, t->dim);
}

const tn_prim tn_prim_integer_pow = {
    .id = TN_P_integer_pow,
    .name = "integer_pow",
    .doc = "x^y by repeated products, y a parameter; x^0 = 1; integers wrap, y >= 0",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .params = integer_pow_params,
    .type = type_integer_pow,
    .simplify = simplify_integer_pow,
    .partial = {partial_integer_pow},
    .choose = choose_integer_pow,
    .kernel = kernel_integer_pow,
    .c_kernel = c_integer_pow,
    .c_helpers = integer_pow_helpers,
    .weight = 1,
    .cost = cost_integer_pow,
    .jvp_bound = 6,
    .sample = sample_integer_pow,
    .pole = TN_POLE_AT(0, 0),
    .range = range_integer_pow,
    .no_pole = no_pole_integer_pow,
    .complex = tn_i_complex_of_integer_pow,
};
