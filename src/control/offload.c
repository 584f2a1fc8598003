/* offload: the identity whose result need not stay in memory until it is read.  The executor keeps it
 * in a spill file; to everything else it is the linear function x -> x. */
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

TN_STRIP1(offload, pred, uint8_t, uint8_t, x)
TN_LOOP1(offload, u16, uint16_t, uint16_t, x)
TN_STRIP1(offload, i32, int32_t, int32_t, x)
TN_STRIP1(offload, i64, int64_t, int64_t, x)
TN_STRIP1(offload, u32, uint32_t, uint32_t, x)
TN_STRIP1(offload, f32, float, float, x)
TN_STRIP1(offload, f64, double, double, x)

/* A number that the program holds anyway is no better off in a file. */
static tn_i_var simplify_offload(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                 const tn_type *out) {
    uint64_t bits;
    (void)p, (void)nin, (void)out;
    return tn_i_known_scalar(b, in[0], &bits) ? in[0] : TN_NOVAR;
}

/* A tangent waits for its reader as long as the value does, and is offloaded with it.  A cotangent does its
 * waiting before it gets here: what made the value reads it next. */
static void transpose_offload(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    (void)r;
    ct_in[0] = ct[0];
}

static bool sample_offload(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_i_case_shape(g, c, 0, dtype, 0, 4);
    return true;
}

const tn_prim tn_prim_offload = {
    .id = TN_P_offload,
    .name = "offload",
    .doc = "the identity; the result is kept in a spill file until it is read",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_NOFOLD | TN_F_OFFLOAD | TN_F_STORED,
    .dtypes = TN_ANY,
    .type = tn_i_type_elementwise,
    .simplify = simplify_offload,
    .linear = {TN_OPERAND(0)},
    .transpose = transpose_offload,
    .strip = {[TN_BOOL] = offload_pred,
              [TN_I32] = offload_i32,
              [TN_I64] = offload_i64,
              [TN_F32] = offload_f32,
              [TN_F64] = offload_f64,
              [TN_U32] = offload_u32,
              [TN_I8] = offload_pred,
              [TN_U8] = offload_pred,
              [TN_I16] = offload_u16,
              [TN_U16] = offload_u16,
              [TN_F16] = offload_u16,
              [TN_BF16] = offload_u16,
              [TN_U64] = offload_i64},
    .c_body = {[TN_BOOL] = offload_pred_body,
               [TN_I32] = offload_i32_body,
               [TN_I64] = offload_i64_body,
               [TN_F32] = offload_f32_body,
               [TN_F64] = offload_f64_body,
               [TN_U32] = offload_u32_body},
    .weight = 0,
    .jvp_bound = 3,
    .transpose_bound = 2,
    .sample = sample_offload,
};
