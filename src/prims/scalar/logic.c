/* Bits and choices: and or xor not select. */
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <math.h>

/* ---- and, or, xor ---- */
TN_STRIP2(and, b8, uint8_t, uint8_t, x &y)
TN_STRIP2(and, i32, int32_t, int32_t, x &y)
TN_STRIP2(and, i64, int64_t, int64_t, x &y)
TN_STRIP2(and, u32, uint32_t, uint32_t, x &y)
TN_STRIP2(or, b8, uint8_t, uint8_t, x | y)
TN_STRIP2(or, i32, int32_t, int32_t, x | y)
TN_STRIP2(or, i64, int64_t, int64_t, x | y)
TN_STRIP2(or, u32, uint32_t, uint32_t, x | y)
TN_STRIP2(xor, b8, uint8_t, uint8_t, x ^ y)
TN_STRIP2(xor, i32, int32_t, int32_t, x ^ y)
TN_STRIP2(xor, i64, int64_t, int64_t, x ^ y)
TN_STRIP2(xor, u32, uint32_t, uint32_t, x ^ y)

static bool no_bits(const tn_i_builder *b, tn_i_var v) {
    uint64_t bits;
    return tn_i_known_scalar(b, v, &bits) && bits == 0;
}

static bool all_bits(const tn_i_builder *b, tn_i_var v) {
    const int dtype = b->val[v].type->dtype;
    double k;
    return tn_i_known_f64(b, v, &k) && k == (dtype == TN_BOOL ? 1.0 : dtype == TN_U32 ? (double)UINT32_MAX : -1.0);
}

static tn_i_var simplify_and(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin;
    if (in[0] == in[1] || all_bits(b, in[1])) return in[0];
    if (all_bits(b, in[0])) return in[1];
    return no_bits(b, in[0]) || no_bits(b, in[1]) ? tn_i_zeros(b, out) : TN_NOVAR;
}

static tn_i_var simplify_or(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                            const tn_type *out) {
    (void)p, (void)nin, (void)out;
    if (in[0] == in[1] || no_bits(b, in[1]) || all_bits(b, in[0])) return in[0];
    return no_bits(b, in[0]) || all_bits(b, in[1]) ? in[1] : TN_NOVAR;
}

static tn_i_var simplify_xor(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin;
    if (in[0] == in[1]) return tn_i_zeros(b, out);
    if (no_bits(b, in[1])) return in[0];
    return no_bits(b, in[0]) ? in[1] : TN_NOVAR;
}

const tn_prim tn_prim_and = {
    .id = TN_P_and,
    .name = "and",
    .doc = "logical for bool, bitwise for integers",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF | TN_F_COMMUTES,
    .dtypes = TN_BITS,
    .type = tn_i_type_elementwise,
    .simplify = simplify_and,
    TN_BIT_STRIPS(and),
    .weight = 1,
    .jvp_bound = 1,
};

const tn_prim tn_prim_or = {
    .id = TN_P_or,
    .name = "or",
    .doc = "logical for bool, bitwise for integers",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF | TN_F_COMMUTES,
    .dtypes = TN_BITS,
    .type = tn_i_type_elementwise,
    .simplify = simplify_or,
    TN_BIT_STRIPS(or),
    .weight = 1,
    .jvp_bound = 1,
};

const tn_prim tn_prim_xor = {
    .id = TN_P_xor,
    .name = "xor",
    .doc = "logical for bool, bitwise for integers",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF | TN_F_COMMUTES,
    .dtypes = TN_BITS,
    .type = tn_i_type_elementwise,
    .simplify = simplify_xor,
    TN_BIT_STRIPS(xor),
    .weight = 1,
    .jvp_bound = 1,
};

/* ---- not ---- */
TN_STRIP1(not, b8, uint8_t, uint8_t, !x)
TN_STRIP1(not, i32, int32_t, int32_t, ~x)
TN_STRIP1(not, i64, int64_t, int64_t, ~x)
TN_STRIP1(not, u32, uint32_t, uint32_t, ~x)

static tn_i_var simplify_not(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)p, (void)nin, (void)out;
    const tn_i_eqn *e = tn_i_made_by(b, in[0], TN_P_not);
    return e ? b->pool[e->in] : TN_NOVAR;
}

const tn_prim tn_prim_not = {
    .id = TN_P_not,
    .name = "not",
    .doc = "logical for bool, bitwise for integers",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_BITS,
    .type = tn_i_type_elementwise,
    .simplify = simplify_not,
    TN_BIT_STRIPS(not ),
    .weight = 1,
    .jvp_bound = 1,
};

/* ---- select ---- */
TN_STRIP3(select, b8, uint8_t, uint8_t, uint8_t, uint8_t, x ? y : z)
TN_STRIP3(select, i32, uint8_t, int32_t, int32_t, int32_t, x ? y : z)
TN_STRIP3(select, i64, uint8_t, int64_t, int64_t, int64_t, x ? y : z)
TN_STRIP3(select, u32, uint8_t, uint32_t, uint32_t, uint32_t, x ? y : z)
TN_STRIP3(select, f32, uint8_t, float, float, float, x ? y : z)
TN_STRIP3(select, f64, uint8_t, double, double, double, x ? y : z)

static bool type_select(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    const tn_type *which = q->in[0], *t = q->in[1];
    tn_type mask = *t;
    mask.dtype = TN_BOOL;
    if (which->dtype != TN_BOOL) return tn_i_type_fail(q, 0, "must be bool, not %s", tn_i_dtype_name(which->dtype));
    if (which->rank != 0 && !tn_type_equal(which, &mask))
        return tn_i_type_fail(q, 0, "must be a scalar or have the shape of %s", tn_i_type_text(text, t));
    if (!tn_type_equal(q->in[2], t)) return tn_i_type_fail(q, 2, "type differs from %s", tn_i_type_text(text, t));
    return tn_i_output_type(q, t);
}

static tn_i_var simplify_select(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                const tn_type *out) {
    (void)p, (void)nin;
    uint64_t which;
    if (in[1] == in[2]) return in[1];
    if (tn_i_known_scalar(b, in[0], &which)) return in[which ? 1 : 2];
    const bool linear = b->val[in[1]].linear || b->val[in[2]].linear;
    return linear && tn_i_is_zero(b, in[1]) && tn_i_is_zero(b, in[2]) ? tn_i_zeros(b, out) : TN_NOVAR;
}

static void transpose_select(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_var zeros = tn_i_number_like(r->b, ct[0], 0.0);
    if (r->in[1] == TN_NOVAR) ct_in[1] = tn_i_op3(r->b, TN_P_select, r->in[0], ct[0], zeros);
    if (r->in[2] == TN_NOVAR) ct_in[2] = tn_i_op3(r->b, TN_P_select, r->in[0], zeros, ct[0]);
}

static void batch_select(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_batch_scalars(r, TN_OPERAND(0), batched, out, out_batched);
}

static bool sample_select(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 1, dtype, 0, 4);
    tn_i_case_alike(c, 2, 1, dtype);
    tn_i_case_alike(c, 0, 1, TN_BOOL);
    if (tn_i_pick(r, 0, 2) == 0) c->in[0] = tn_type_of(TN_BOOL, 0, NULL);
    return true;
}

static void range_select(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    *out = (tn_i_range){fmin(in[1].lo, in[2].lo), fmax(in[1].hi, in[2].hi)};
}

const tn_prim tn_prim_select = {
    .id = TN_P_select,
    .name = "select",
    .doc = "select(pred, on_true, on_false), element by element; pred may be a scalar",
    .nin = 3,
    .flags = TN_F_ELEMENTWISE | TN_F_CHOOSES,
    .dtypes = TN_ANY,
    .type = type_select,
    .linear = {TN_OPERAND(1) | TN_OPERAND(2)},
    .simplify = simplify_select,
    .transpose = transpose_select,
    .batch = batch_select,
    TN_ANY_STRIPS(select),
    .strip_operand = 1,
    .weight = 1,
    .jvp_bound = 3,
    .transpose_bound = 3,
    .sample = sample_select,
    .range = range_select,
};

/* ---- batching beside scalars ---- */

/* A batch of scalars beside an array of `rank`: each one repeated over its lane. */
static tn_i_var repeat_lanes(tn_i_rule *r, tn_i_var x, const tn_type *t) {
    int64_t shape[TN_MAX_RANK + 1] = {r->batch};
    const int64_t first[1] = {0};
    for (int d = 0; d < t->rank; d++) shape[d + 1] = t->dim[d];
    return tn_i_broadcast(r->b, x, t->rank + 1, shape, first);
}

void tn_i_batch_scalars(tn_i_rule *r, unsigned scalars, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_type *t = r->out_type[0];
    tn_i_var in[4] = {TN_NOVAR, TN_NOVAR, TN_NOVAR, TN_NOVAR};
    for (uint32_t i = 0; i < r->nin && i < 4; i++) {
        const bool scalar = (scalars >> i & 1) && r->in_type[i]->rank == 0;
        in[i] = r->in[i];
        if (!batched[i] && !scalar)
            in[i] = tn_i_batched(r->b, in[i], r->batch);
        else if (batched[i] && r->in_type[i]->rank < t->rank)
            in[i] = repeat_lanes(r, in[i], t);
    }
    *out = tn_i_emit_like(r->b, r->e, in);
    *out_batched = true;
}
