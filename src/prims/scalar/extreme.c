/* Choices by size: max min abs sign clamp. */
#include "prims/scalar/complex.h"
#include "prims/held.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <math.h>

/* ---- max, min: NaN wins, +0 is above -0 whatever the order of the operands ---- */
TN_STRIP2(max, f32, float, float, x > y || x != x ? x : x < y || y != y ? y : signbit(x) ? y : x)
TN_STRIP2(max, f64, double, double, x > y || x != x ? x : x < y || y != y ? y : signbit(x) ? y : x)
TN_STRIP2(max, i32, int32_t, int32_t, x > y ? x : y)
TN_STRIP2(max, i64, int64_t, int64_t, x > y ? x : y)
TN_STRIP2(max, u32, uint32_t, uint32_t, x > y ? x : y)
TN_STRIP2(max, b8, uint8_t, uint8_t, x | y)
TN_STRIP2(min, f32, float, float, x<y || x != x ? x : x> y || y != y ? y : signbit(x) ? x : y)
TN_STRIP2(min, f64, double, double, x<y || x != x ? x : x> y || y != y ? y : signbit(x) ? x : y)
TN_STRIP2(min, i32, int32_t, int32_t, x < y ? x : y)
TN_STRIP2(min, i64, int64_t, int64_t, x < y ? x : y)
TN_STRIP2(min, u32, uint32_t, uint32_t, x < y ? x : y)
TN_STRIP2(min, b8, uint8_t, uint8_t, x &y)

/* Of bools the larger is whether either is true, the smaller whether both are. */
static tn_i_var simplify_max(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin;
    if (in[0] == in[1]) return in[0];
    return out->dtype == TN_BOOL ? tn_i_op2(b, TN_P_or, in[0], in[1]) : TN_NOVAR;
}

static tn_i_var simplify_min(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin;
    if (in[0] == in[1]) return in[0];
    return out->dtype == TN_BOOL ? tn_i_op2(b, TN_P_and, in[0], in[1]) : TN_NOVAR;
}

/* All of dx where operand i wins by the comparison `wins`, half at a tie, else nothing.  By choice and
 * not by product: what a linear program keeps is two masks. */
static tn_i_var share(tn_i_rule *r, int wins, tn_i_var dx) {
    tn_i_builder *b = r->b;
    const tn_i_var tie = tn_i_op2(b, TN_P_eq, r->in[0], r->in[1]), half = tn_i_times(b, dx, 0.5),
                   winner = tn_i_op2(b, wins, r->in[0], r->in[1]), zero = tn_i_zeros(b, r->in_type[0]);
    return tn_i_op3(b, TN_P_select, tie, half, tn_i_op3(b, TN_P_select, winner, dx, zero));
}

static tn_i_var partial_where_greater(tn_i_rule *r, tn_i_var dx) { return share(r, TN_P_gt, dx); }
static tn_i_var partial_where_less(tn_i_rule *r, tn_i_var dx) { return share(r, TN_P_lt, dx); }

static void range_max(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    *out = (tn_i_range){fmax(in[0].lo, in[1].lo), fmax(in[0].hi, in[1].hi)};
}

const tn_prim tn_prim_max = {
    .id = TN_P_max,
    .name = "max",
    .doc = "the larger, NaN if either is; of bools or; a tie gives each operand half the derivative",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_COMMUTES | TN_F_ORDER,
    .dtypes = TN_ANY,
    .type = tn_i_type_elementwise,
    .simplify = simplify_max,
    .partial = {partial_where_greater, partial_where_less},
    TN_ANY_STRIPS(max),
    .weight = 1,
    .jvp_bound = 12,
    .domain = {{.at = TN_AT_TIES, .apart = 0.1}, {.at = TN_AT_TIES, .apart = 0.1}},
    .range = range_max,
};

static void range_min(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    *out = (tn_i_range){fmin(in[0].lo, in[1].lo), fmin(in[0].hi, in[1].hi)};
}

const tn_prim tn_prim_min = {
    .id = TN_P_min,
    .name = "min",
    .doc = "the smaller, NaN if either is; of bools and; a tie gives each operand half the derivative",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_COMMUTES | TN_F_ORDER,
    .dtypes = TN_ANY,
    .type = tn_i_type_elementwise,
    .simplify = simplify_min,
    .partial = {partial_where_less, partial_where_greater},
    TN_ANY_STRIPS(min),
    .weight = 1,
    .jvp_bound = 12,
    .domain = {{.at = TN_AT_TIES, .apart = 0.1}, {.at = TN_AT_TIES, .apart = 0.1}},
    .range = range_min,
};

/* ---- abs ---- */
TN_STRIP1(abs, f32, float, float, fabsf(x))
TN_STRIP1(abs, f64, double, double, fabs(x))
TN_STRIP1(abs, i32, int32_t, int32_t, x < 0 ? 0u - (uint32_t)x : (uint32_t)x)
TN_STRIP1(abs, i64, int64_t, int64_t, x < 0 ? 0u - (uint64_t)x : (uint64_t)x)
TN_STRIP1(abs, u32, uint32_t, uint32_t, x)

static tn_i_var partial_abs(tn_i_rule *r, tn_i_var dx) {
    tn_i_builder *b = r->b;
    tn_i_var positive = tn_i_op2(b, TN_P_ge, r->in[0], tn_i_number_like(b, r->in[0], 0.0));
    return tn_i_op3(b, TN_P_select, positive, dx, tn_i_op1(b, TN_P_neg, dx));
}

const tn_prim tn_prim_abs = {
    .id = TN_P_abs,
    .name = "abs",
    .doc = "|x|, abs'(0) = 1; integers: |MIN| = MIN",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    .partial = {partial_abs},
    TN_NUMBER_STRIPS(abs),
    .weight = 1,
    .jvp_bound = 6.5,
    .domain = {{-2, 2, 0.1, TN_AT_ZERO}},
    .image = {0, INFINITY},
    .complex = tn_i_complex_of_abs,
    .held = tn_i_held_abs,
};

/* ---- sign ---- */
TN_STRIP1(sign, f32, float, float, x > 0 ? 1.0f : x < 0 ? -1.0f : x)
TN_STRIP1(sign, f64, double, double, x > 0 ? 1.0 : x < 0 ? -1.0 : x)
TN_STRIP1(sign, i32, int32_t, int32_t, (x > 0) - (x < 0))
TN_STRIP1(sign, i64, int64_t, int64_t, (x > 0) - (x < 0))
TN_STRIP1(sign, u32, uint32_t, uint32_t, x != 0)

const tn_prim tn_prim_sign = {
    .id = TN_P_sign,
    .name = "sign",
    .doc = "-1, 0 or 1; zeros keep their sign, NaN stays; derivative 0 everywhere",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_NUMBERS,
    .type = tn_i_type_elementwise,
    TN_NUMBER_STRIPS(sign),
    .weight = 1,
    .jvp_bound = 2,
    .domain = {{-2, 2, 0.1, TN_AT_ZERO}},
    .complex = tn_i_complex_of_sign,
    .held = tn_i_held_sign,
};

/* ---- clamp(min, x, max) = the smaller of max and (the larger of min and x) ---- */
TN_STRIP3(clamp, f32, float, float, float, float,
          x != x   ? x
          : y != y ? y
          : z != z ? z
          : y < x  ? (x > z ? z : x)
          : y > z  ? z
                   : y)
TN_STRIP3(clamp, f64, double, double, double, double,
          x != x   ? x
          : y != y ? y
          : z != z ? z
          : y < x  ? (x > z ? z : x)
          : y > z  ? z
                   : y)
TN_STRIP3(clamp, i32, int32_t, int32_t, int32_t, int32_t, y<x ? (x > z ? z : x) : y> z ? z : y)
TN_STRIP3(clamp, i64, int64_t, int64_t, int64_t, int64_t, y<x ? (x > z ? z : x) : y> z ? z : y)
TN_STRIP3(clamp, u32, uint32_t, uint32_t, uint32_t, uint32_t, y<x ? (x > z ? z : x) : y> z ? z : y)

static bool type_clamp(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    const tn_type *x = q->in[1];
    if (!(q->prim->dtypes >> x->dtype & 1))
        return tn_i_type_fail(q, 1, "clamp is not defined for %s", tn_i_dtype_name(x->dtype));
    for (int i = 0; i < 3; i += 2) {
        tn_type scalar = tn_type_of((tn_dtype)x->dtype, 0, NULL);
        if (!tn_type_equal(q->in[i], x) && !tn_type_equal(q->in[i], &scalar))
            return tn_i_type_fail(q, i, "must be a scalar or an array of type %s", tn_i_type_text(text, x));
    }
    return tn_i_output_type(q, x);
}

/* A bound, or its tangent, in the shape of the result. */
static tn_i_var spread(tn_i_rule *r, tn_i_var bound) {
    const tn_type *t = r->out_type[0];
    if (r->b->failed || bound == TN_NOVAR || tn_i_vtype(r->b, bound)->rank == t->rank) return bound;
    return tn_i_broadcast(r->b, bound, t->rank, t->dim, NULL);
}

/* dx where lo < mid and mid < hi, else 0: at a bound nothing moves (JAX). */
static tn_i_var where_between(tn_i_rule *r, tn_i_var dx, tn_i_var lo, tn_i_var mid, tn_i_var hi) {
    tn_i_builder *b = r->b;
    tn_i_var inside = tn_i_op2(b, TN_P_lt, mid, hi);
    if (lo != TN_NOVAR) inside = tn_i_op2(b, TN_P_and, tn_i_op2(b, TN_P_lt, lo, mid), inside);
    return tn_i_op3(b, TN_P_select, inside, dx, tn_i_zeros(b, r->out_type[0]));
}

static tn_i_var partial_clamp_min(tn_i_rule *r, tn_i_var dmin) {
    const tn_i_var d = spread(r, dmin), lo = spread(r, r->in[0]), hi = spread(r, r->in[2]);
    return where_between(r, d, r->in[1], lo, hi);
}
static tn_i_var partial_clamp_x(tn_i_rule *r, tn_i_var dx) {
    const tn_i_var lo = spread(r, r->in[0]), hi = spread(r, r->in[2]);
    return where_between(r, dx, lo, r->in[1], hi);
}
static tn_i_var partial_clamp_max(tn_i_rule *r, tn_i_var dmax) {
    const tn_i_var d = spread(r, dmax), hi = spread(r, r->in[2]);
    return where_between(r, d, TN_NOVAR, hi, r->in[1]);
}

static void batch_clamp(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_batch_scalars(r, TN_OPERAND(0) | TN_OPERAND(2), batched, out, out_batched);
}

/* Away from ties whatever the shapes: the bounds are near -1 and 1, x is in between or beyond. */
static void fill_clamp(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    static const double lo[3] = {-3, -0.6, 1.4}, hi[3] = {-1.4, 0.6, 3};
    const int dtype = c->in[i].dtype;
    const int64_t n = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < n; k++) {
        const int64_t part = tn_i_pick(r, 0, 2);
        double x = i == 1 ? tn_i_uniform(r, lo[part], hi[part]) : (i == 0 ? -1 : 1) * tn_i_uniform(r, 0.8, 1.2);
        if (!tn_i_is_float(dtype)) x = (double)tn_i_pick(r, -5, 5);
        tn_i_put(dtype, data, k, x);
    }
}

static bool sample_clamp(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 1, dtype, 0, 4);
    for (uint32_t i = 0; i < 3; i += 2) {
        tn_i_case_alike(c, i, 1, dtype);
        if (tn_i_pick(r, 0, 1)) c->in[i] = tn_type_of((tn_dtype)dtype, 0, NULL);
    }
    c->fill = fill_clamp;
    return true;
}

/* What is above both bounds is the upper one. */
static void range_clamp(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    *out = (tn_i_range){fmin(fmax(in[0].lo, in[1].lo), in[2].lo), fmin(fmax(in[0].hi, in[1].hi), in[2].hi)};
}

const tn_prim tn_prim_clamp = {
    .id = TN_P_clamp,
    .name = "clamp",
    .doc =
        "clamp(min, x, max), bounds may be scalars; NaN if any is; at a bound x has derivative 0, and so has the bound",
    .nin = 3,
    .flags = TN_F_ELEMENTWISE | TN_F_ORDER,
    .dtypes = TN_NUMBERS,
    .type = type_clamp,
    .partial = {partial_clamp_min, partial_clamp_x, partial_clamp_max},
    .batch = batch_clamp,
    TN_NUMBER_STRIPS(clamp),
    .strip_operand = 1,
    .weight = 2,
    .jvp_bound = 23,
    .sample = sample_clamp,
    .range = range_clamp,
};
