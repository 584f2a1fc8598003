/* Arithmetic: neg add sub mul div rem square. */
#include "prims/scalar/complex.h"
#include "prims/held.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <float.h>
#include <math.h>

/* ---- neg ---- */
TN_STRIP1(neg, f32, float, float, -x)
TN_STRIP1(neg, f64, double, double, -x)
TN_STRIP1(neg, i32, int32_t, int32_t, 0u - (uint32_t)x)
TN_STRIP1(neg, i64, int64_t, int64_t, 0u - (uint64_t)x)
TN_STRIP1(neg, u32, uint32_t, uint32_t, 0u - x)

static tn_i_var simplify_neg(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin, (void)out;
    const tn_i_eqn *e = tn_i_made_by(b, in[0], TN_P_neg); /* - -x is x, bit for bit */
    return e ? b->pool[e->in] : TN_NOVAR;
}

static void transpose_neg(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_op1(r->b, TN_P_neg, ct[0]);
}

static void range_neg(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    *out = (tn_i_range){-in[0].hi, -in[0].lo};
}

const tn_prim tn_prim_neg = {
    .id = TN_P_neg,
    .name = "neg",
    .doc = "-x; integers wrap",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_neg,
    .transpose = transpose_neg,
    TN_NUMBER_STRIPS(neg),
    .weight = 1,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .range = range_neg,
};

/* ---- add, sub ---- */
TN_STRIP2(add, f32, float, float, x + y)
TN_STRIP2(add, f64, double, double, x + y)
TN_STRIP2(add, i32, int32_t, int32_t, (uint32_t)x + (uint32_t)y)
TN_STRIP2(add, i64, int64_t, int64_t, (uint64_t)x + (uint64_t)y)
TN_STRIP2(add, u32, uint32_t, uint32_t, x + y)
TN_STRIP2(sub, f32, float, float, x - y)
TN_STRIP2(sub, f64, double, double, x - y)
TN_STRIP2(sub, i32, int32_t, int32_t, (uint32_t)x - (uint32_t)y)
TN_STRIP2(sub, i64, int64_t, int64_t, (uint64_t)x - (uint64_t)y)
TN_STRIP2(sub, u32, uint32_t, uint32_t, x - y)

static bool known_zero(const tn_i_builder *b, tn_i_var v, bool negative) {
    double k;
    return tn_i_known_f64(b, v, &k) && k == 0.0 && (signbit(k) != 0) == negative;
}

/* x + 0 is x where the sign of a zero does not count: for integers and linear values.  Among
 * integers an image of zeros need not be zero: 0 / 0 is -1. */
static bool adds_nothing(const tn_i_builder *b, tn_i_var x, tn_i_var zero) {
    if (b->val[x].linear) return tn_i_is_zero(b, zero);
    return tn_i_is_int(b->val[x].type->dtype) && known_zero(b, zero, false);
}

/* Half of v where it is x + x. */
static tn_i_var half(const tn_i_builder *b, tn_i_var v) {
    const tn_i_eqn *e = tn_i_made_by(b, v, TN_P_add);
    return e && b->pool[e->in] == b->pool[e->in + 1] ? b->pool[e->in] : TN_NOVAR;
}

/* -x + -x is -(x + x), the sign of zero included. */
static tn_i_var add_itself(tn_i_builder *b, tn_i_var v) {
    const tn_i_eqn *e = tn_i_made_by(b, v, TN_P_neg);
    if (!e) return TN_NOVAR;
    const tn_i_var x = b->pool[e->in];
    return tn_i_op1(b, TN_P_neg, tn_i_op2(b, TN_P_add, x, x));
}

static tn_i_var simplify_add(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin, (void)out;
    const tn_i_var twice = in[0] == in[1] ? add_itself(b, in[0]) : TN_NOVAR;
    if (twice != TN_NOVAR) return twice;
    for (int i = 0; i < 2; i++) {
        const tn_i_var x = in[1 - i], y = in[i];
        if (known_zero(b, y, true) || adds_nothing(b, x, y)) return x;
        const tn_i_eqn *e = tn_i_made_by(b, y, TN_P_neg);
        if (e) return tn_i_op2(b, TN_P_sub, x, b->pool[e->in]);
    }
    return TN_NOVAR;
}

static tn_i_var simplify_sub(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin, (void)out;
    if (known_zero(b, in[1], false) || adds_nothing(b, in[0], in[1])) return in[0];
    if (adds_nothing(b, in[1], in[0])) return tn_i_op1(b, TN_P_neg, in[1]);
    const tn_i_eqn *e = tn_i_made_by(b, in[1], TN_P_neg);
    return e ? tn_i_op2(b, TN_P_add, in[0], b->pool[e->in]) : TN_NOVAR;
}

/* Partials beside `linear` spare an addition of zeros where one operand is inactive. */
static tn_i_var partial_same(tn_i_rule *r, tn_i_var dx) {
    (void)r;
    return dx;
}

static tn_i_var partial_negated(tn_i_rule *r, tn_i_var dx) { return tn_i_op1(r->b, TN_P_neg, dx); }

static void transpose_add(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    for (int i = 0; i < 2; i++)
        if (r->in[i] == TN_NOVAR) ct_in[i] = ct[0];
}

static void transpose_sub(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    if (r->in[0] == TN_NOVAR) ct_in[0] = ct[0];
    if (r->in[1] == TN_NOVAR) ct_in[1] = tn_i_op1(r->b, TN_P_neg, ct[0]);
}

static void range_add(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    *out = (tn_i_range){in[0].lo + in[1].lo, in[0].hi + in[1].hi};
}

static void range_sub(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    *out = (tn_i_range){in[0].lo - in[1].hi, in[0].hi - in[1].lo};
}

/* The factors of v where it is a product of floats. */
static bool factors(const tn_i_builder *b, tn_i_var v, tn_i_var f[2]) {
    const tn_i_eqn *e = tn_i_is_wide_float(b->val[v].type->dtype) ? tn_i_def(b, v) : NULL;
    if (!e || e->region != b->region || (e->prim->id != TN_P_mul && e->prim->id != TN_P_square)) return false;
    f[0] = b->pool[e->in];
    f[1] = b->pool[e->in + e->nin - 1];
    return true;
}

/* The first operand that is a product, or the second; a value and itself stay, whose sum and difference are exact. */
static tn_i_var contract(tn_i_builder *b, const tn_i_var *in, bool later, tn_i_fma_form first, tn_i_fma_form second) {
    tn_i_var f[2];
    if (in[0] == in[1]) return TN_NOVAR;
    if (later && factors(b, in[1], f)) return tn_i_fma(b, second, f[0], f[1], in[0]);
    if (factors(b, in[0], f)) return tn_i_fma(b, first, f[0], f[1], in[1]);
    return factors(b, in[1], f) ? tn_i_fma(b, second, f[0], f[1], in[0]) : TN_NOVAR;
}

static tn_i_var contract_add(tn_i_builder *b, const tn_i_var *in, bool later) {
    return contract(b, in, later, TN_FMA_ADD, TN_FMA_ADD);
}
static tn_i_var contract_sub(tn_i_builder *b, const tn_i_var *in, bool later) {
    return contract(b, in, later, TN_FMA_SUB, TN_FMA_RSUB);
}

static tn_i_remains add_without(const tn_i_param *p, unsigned zeros, bool linear) {
    (void)p, (void)linear;
    return (tn_i_remains){.kind = TN_REMAINS_OPERAND, .operand = zeros & TN_OPERAND(0)};
}

static tn_i_remains sub_without(const tn_i_param *p, unsigned zeros, bool linear) {
    (void)p, (void)linear;
    const uint32_t other = zeros & TN_OPERAND(0);
    return (tn_i_remains){.kind = TN_REMAINS_OPERAND, .operand = other, .negative = other == 1};
}

const tn_prim tn_prim_add = {
    .id = TN_P_add,
    .name = "add",
    .doc = "x + y; integers wrap",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_COMMUTES,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    .linear = {TN_OPERAND(0) | TN_OPERAND(1)},
    .simplify = simplify_add,
    .partial = {partial_same, partial_same},
    .transpose = transpose_add,
    .contract = contract_add,
    .without = add_without,
    TN_NUMBER_STRIPS(add),
    .weight = 1,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .range = range_add,
};

const tn_prim tn_prim_sub = {
    .id = TN_P_sub,
    .name = "sub",
    .doc = "x - y; integers wrap",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    .linear = {TN_OPERAND(0) | TN_OPERAND(1)},
    .simplify = simplify_sub,
    .partial = {partial_same, partial_negated},
    .transpose = transpose_sub,
    .contract = contract_sub,
    .without = sub_without,
    TN_NUMBER_STRIPS(sub),
    .weight = 1,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .range = range_sub,
};

/* ---- mul ---- */
TN_STRIP2(mul, f32, float, float, x *y)
TN_STRIP2(mul, f64, double, double, x *y)
TN_STRIP2(mul, i32, int32_t, int32_t, (uint32_t)x *(uint32_t)y)
TN_STRIP2(mul, i64, int64_t, int64_t, (uint64_t)x *(uint64_t)y)
TN_STRIP2(mul, u32, uint32_t, uint32_t, x *y)

/* k*(x + x) is 2k*x bit for bit: doubling rounds nothing, and where |k| is 1 or more it overflows only where the
 * product does. */
static tn_i_var by_twice(tn_i_builder *b, tn_i_var number, double k, tn_i_var v, int dtype) {
    if (!tn_i_is_float(dtype) || !(fabs(k) >= 1 && fabs(k) <= tn_i_greatest(dtype) / 2)) return TN_NOVAR;
    const tn_i_var x = half(b, v);
    return x == TN_NOVAR ? x : tn_i_op2(b, TN_P_mul, tn_i_number_like(b, number, 2 * k), x);
}

/* x*1 is x; x*0 is 0 only where x is linear or an integer: elsewhere it would hide a NaN. */
static tn_i_var simplify_mul(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin;
    double k;
    for (int i = 0; i < 2; i++) {
        if (!tn_i_known_f64(b, in[i], &k)) continue;
        if (k == 1.0) return in[1 - i];
        if (k == 0.0 && (b->val[in[1 - i]].linear || tn_i_is_int(out->dtype))) return tn_i_zeros(b, out);
        if (k == -1.0) return tn_i_op1(b, TN_P_neg, in[1 - i]);
        const tn_i_var product = by_twice(b, in[i], k, in[1 - i], out->dtype);
        if (product != TN_NOVAR) return product;
    }
    return TN_NOVAR;
}

static void transpose_mul(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    for (int i = 0; i < 2; i++)
        if (r->in[i] == TN_NOVAR) ct_in[i] = tn_i_op2(r->b, TN_P_mul, ct[0], r->in[1 - i]);
}

static void range_mul(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin;
    if (in[0].lo >= 0 && in[1].lo >= 0)
        *out = (tn_i_range){in[0].lo * in[1].lo, in[0].hi * in[1].hi};
    else if (same)
        out->lo = 0;
}

const tn_prim tn_prim_mul = {
    .id = TN_P_mul,
    .name = "mul",
    .doc = "x * y; integers wrap",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_COMMUTES,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    .linear = {TN_OPERAND(0), TN_OPERAND(1)},
    .simplify = simplify_mul,
    .transpose = transpose_mul,
    TN_NUMBER_STRIPS(mul),
    .weight = 1,
    .jvp_bound = 4,
    .transpose_bound = 1,
    .strict = 1 + TN_P_strict_mul,
    .range = range_mul,
    .complex = tn_i_complex_of_mul,
};

/* ---- square ---- */
TN_STRIP1(square, f32, float, float, x *x)
TN_STRIP1(square, f64, double, double, x *x)
TN_STRIP1(square, i32, int32_t, int32_t, (uint32_t)x *(uint32_t)x)
TN_STRIP1(square, i64, int64_t, int64_t, (uint64_t)x *(uint64_t)x)
TN_STRIP1(square, u32, uint32_t, uint32_t, x *x)

static tn_i_var partial_square(tn_i_rule *r, tn_i_var dx) {
    return tn_i_mul_by(r, dx, tn_i_op2(r->b, TN_P_add, r->in[0], r->in[0])); /* x + x is 2x, exactly */
}

const tn_prim tn_prim_square = {
    .id = TN_P_square,
    .name = "square",
    .doc = "x * x; integers wrap",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    .partial = {partial_square},
    TN_NUMBER_STRIPS(square),
    .weight = 1,
    .jvp_bound = 4,
    .image = {0, INFINITY},
    .complex = tn_i_complex_of_square,
};

/* ---- div ---- */
TN_STRIP2(div, f32, float, float, x / y)
TN_STRIP2(div, f64, double, double, x / y)
TN_STRIP2(div, i32, int32_t, int32_t, y == 0 ? -1 : y == -1 ? (int32_t)(0u - (uint32_t)x) : x / y)
TN_STRIP2(div, i64, int64_t, int64_t, y == 0 ? -1 : y == -1 ? (int64_t)(0u - (uint64_t)x) : x / y)
TN_STRIP2(div, u32, uint32_t, uint32_t, y == 0 ? UINT32_MAX : x / y)

static tn_i_var simplify_div(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin, (void)out;
    double k;
    if (!tn_i_known_f64(b, in[1], &k)) return TN_NOVAR;
    if (k == 1.0) return in[0];
    return k == -1.0 ? tn_i_op1(b, TN_P_neg, in[0]) : TN_NOVAR;
}

/* 1 / y, of the elements that a broadcast repeats. */
static tn_i_var reciprocal(tn_i_builder *b, tn_i_var y) {
    const tn_i_eqn *e = tn_i_made_by(b, y, TN_P_broadcast_in_dim);
    if (!e) return tn_i_op2(b, TN_P_div, tn_i_number_like(b, y, 1.0), y);
    const tn_type to = *tn_i_vtype(b, y);
    const tn_i_param *dims = tn_i_p(e) + 1;
    int64_t dim[TN_MAX_RANK] = {0};
    for (uint32_t i = 0; i < dims->n; i++) dim[i] = dims->u.ints[i];
    const tn_i_var one_over = reciprocal(b, b->pool[e->in]);
    return tn_i_broadcast(b, one_over, to.rank, to.dim, dim);
}

/* (dx - dy (x/y)) (1/y): the linear program divides nothing, however many tangents it is applied to, and of full size
 * it reads the quotient alone, which others may want as well; y*y would leave the range of numbers earlier.  By a
 * constant it stays the quotient, which is rounded once. */
static void jvp_div(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    if (din[1] == TN_NOVAR) {
        dout[0] = tn_i_op2(b, TN_P_div, din[0], r->in[1]);
        return;
    }
    const tn_i_var one_over = reciprocal(b, r->in[1]);
    if (din[0] == TN_NOVAR)
        dout[0] = tn_i_mul_by(r, din[1], tn_i_op1(b, TN_P_neg, tn_i_op2(b, TN_P_mul, r->out[0], one_over)));
    else
        dout[0] = tn_i_mul_by(r, tn_i_op2(b, TN_P_sub, din[0], tn_i_mul_by(r, din[1], r->out[0])), one_over);
}

static void transpose_div(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_op2(r->b, TN_P_div, ct[0], r->in[1]);
}

static void range_div(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    if (in[0].lo >= 0 && in[1].lo >= 0) *out = (tn_i_range){in[0].lo / in[1].hi, in[0].hi / in[1].lo};
}

const tn_prim tn_prim_div = {
    .id = TN_P_div,
    .name = "div",
    .doc = "x / y; integers: towards zero, x/0 = -1 (all bits 1), MIN/-1 = MIN",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_div,
    .jvp = jvp_div,
    .transpose = transpose_div,
    TN_NUMBER_STRIPS(div),
    .weight = 4,
    .jvp_bound = 6,
    .transpose_bound = 1,
    .domain = {{-2, 2, 0, 0}, {-2, 2, 0.7, TN_AT_ZERO}},
    .strict = 1 + TN_P_strict_div,
    .pole = TN_POLE_AT(1, 0),
    .range = range_div,
    .complex = tn_i_complex_of_div,
    .held = tn_i_held_div,
};

/* ---- rem ---- */
TN_STRIP2(rem, f32, float, float, fmodf(x, y))
TN_STRIP2(rem, f64, double, double, fmod(x, y))
TN_STRIP2(rem, i32, int32_t, int32_t, y == 0 ? x : y == -1 ? 0 : x % y)
TN_STRIP2(rem, i64, int64_t, int64_t, y == 0 ? x : y == -1 ? 0 : x % y)
TN_STRIP2(rem, u32, uint32_t, uint32_t, y == 0 ? x : x % y)

/* -trunc(x / y), from the exact remainder: x / y itself may round up to the next integer. */
static tn_i_var partial_modulus(tn_i_rule *r, tn_i_var dy) {
    const tn_i_param even = {.kind = TN_K_SYM, .u.i = 1};
    tn_i_var multiple = tn_i_op2(r->b, TN_P_sub, r->in[0], r->out[0]);
    tn_i_var ratio = tn_i_op2(r->b, TN_P_div, multiple, r->in[1]);
    tn_i_var whole = tn_i_emit(r->b, tn_i_prim(r->b, TN_P_round), &even, 1, &ratio);
    return tn_i_mul_by(r, dy, tn_i_op1(r->b, TN_P_neg, whole));
}

/* x is between two multiples of any y that may be drawn: |x / y| in (2, 3), or 0 < |x / y| < 1. */
static void fill_rem(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int dtype = c->in[i].dtype;
    const int64_t n = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < n; k++) {
        const double sign = tn_i_pick(r, 0, 1) ? 1 : -1;
        double x = tn_i_uniform(r, 0.9, 1.1);
        if (i == 0) x = tn_i_pick(r, 0, 3) ? tn_i_uniform(r, 2.3, 2.6) : tn_i_uniform(r, 0.1, 0.7);
        if (!tn_i_is_float(dtype)) x = (double)tn_i_pick(r, 0, 20);
        tn_i_put(dtype, data, k, sign * x);
    }
}

static bool sample_rem(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    c->fill = fill_rem;
    return true;
}

const tn_prim tn_prim_rem = {
    .id = TN_P_rem,
    .name = "rem",
    .doc = "remainder with the sign of x; integers: x rem 0 = x; at multiples of y its derivative is that from above",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    .partial = {partial_same, partial_modulus},
    TN_NUMBER_STRIPS(rem),
    TN_VECTOR(fmod),
    .weight = 4,
    .jvp_bound = 5.25,
    .sample = sample_rem,
    .pole = TN_POLE_AT(1, 0),
    .held = tn_i_held_rem,
};
