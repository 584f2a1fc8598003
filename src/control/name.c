/* name: the identity that gives a value a name policies can speak of. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <string.h>

static const tn_i_spec specs[] = {{.name = "name", .kind = TN_K_STR}, {0}};

TN_STRIP1(name, pred, uint8_t, uint8_t, x)
TN_STRIP1(name, i32, int32_t, int32_t, x)
TN_STRIP1(name, i64, int64_t, int64_t, x)
TN_STRIP1(name, u32, uint32_t, uint32_t, x)
TN_STRIP1(name, f32, float, float, x)
TN_STRIP1(name, f64, double, double, x)

static void transpose_name(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    (void)r;
    ct_in[0] = ct[0];
}

static bool view_name(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    (void)q;
    memcpy(out->stride, in->stride, sizeof out->stride);
    *offset = 0;
    return true;
}

static void cost_name(const tn_i_query *q, tn_i_cost *cost) {
    (void)q;
    *cost = (tn_i_cost){.equations = 1};
}

static bool sample_name(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_i_case_shape(g, c, 0, dtype, 0, 4);
    static const char *const names[] = {"a", "b", "c"};
    c->p[0] = (tn_i_param){.kind = TN_K_STR, .u.str = tn_i_string(c->ctx, names[tn_i_pick(g, 0, 2)], 1)};
    return true;
}

const tn_prim tn_prim_name = {
    .id = TN_P_name,
    .name = "name",
    .doc = "the identity, named for policies",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_VIEW | TN_F_NOFOLD | TN_F_STEPS,
    .dtypes = TN_ANY,
    .params = specs,
    .type = tn_i_type_elementwise,
    .linear = {TN_OPERAND(0)},
    .transpose = transpose_name,
    .view = view_name,
    .strip = {[TN_BOOL] = name_pred,
              [TN_I32] = name_i32,
              [TN_I64] = name_i64,
              [TN_F32] = name_f32,
              [TN_F64] = name_f64,
              [TN_U32] = name_u32},
    .c_body = {[TN_BOOL] = name_pred_body,
               [TN_I32] = name_i32_body,
               [TN_I64] = name_i64_body,
               [TN_F32] = name_f32_body,
               [TN_F64] = name_f64_body,
               [TN_U32] = name_u32_body},
    .weight = 0,
    .cost = cost_name,
    .jvp_bound = 3,
    .transpose_bound = 2,
    .sample = sample_name,
    .complex = tn_i_complex_of_parts,
};
