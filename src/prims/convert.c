/* Changes of dtype, and of what is differentiated: convert_element_type stop_gradient. */
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/strips.h"

/* ---- convert_element_type: one strip for each pair of dtypes ---- */
TN_STRIP1(bool_to, b8, uint8_t, uint8_t, x)
TN_STRIP1(bool_to, i32, uint8_t, int32_t, x)
TN_STRIP1(bool_to, i64, uint8_t, int64_t, x)
TN_STRIP1(bool_to, u32, uint8_t, uint32_t, x)
TN_STRIP1(bool_to, f32, uint8_t, float, x)
TN_STRIP1(bool_to, f64, uint8_t, double, x)
TN_STRIP1(i32_to, b8, int32_t, uint8_t, x != 0)
TN_STRIP1(i32_to, i32, int32_t, int32_t, x)
TN_STRIP1(i32_to, i64, int32_t, int64_t, x)
TN_STRIP1(i32_to, u32, int32_t, uint32_t, x)
TN_STRIP1(i32_to, f32, int32_t, float, x)
TN_STRIP1(i32_to, f64, int32_t, double, x)
TN_STRIP1(i64_to, b8, int64_t, uint8_t, x != 0)
TN_STRIP1(i64_to, i32, int64_t, int32_t, (uint32_t)(uint64_t)x)
TN_STRIP1(i64_to, i64, int64_t, int64_t, x)
TN_STRIP1(i64_to, u32, int64_t, uint32_t, x)
TN_STRIP1(i64_to, f32, int64_t, float, x)
TN_STRIP1(i64_to, f64, int64_t, double, x)
TN_STRIP1(f32_to, b8, float, uint8_t, x != 0)
TN_STRIP1(f32_to, i32, float, int32_t, x != x ? 0 : x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : (int32_t)x)
TN_STRIP1(f32_to, i64, float, int64_t, x != x ? 0 : x >= 0x1p63f ? INT64_MAX : x < -0x1p63f ? INT64_MIN : (int64_t)x)
TN_STRIP1(f32_to, u32, float, uint32_t, x != x ? 0 : x >= 0x1p32f ? UINT32_MAX : x <= 0 ? 0 : (uint32_t)x)
TN_STRIP1(f32_to, f32, float, float, x)
TN_STRIP1(f32_to, f64, float, double, x)
TN_STRIP1(f64_to, b8, double, uint8_t, x != 0)
TN_STRIP1(f64_to, i32, double, int32_t, x != x ? 0 : x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? INT32_MIN : (int32_t)x)
TN_STRIP1(f64_to, i64, double, int64_t, x != x ? 0 : x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x)
TN_STRIP1(f64_to, u32, double, uint32_t, x != x ? 0 : x >= 0x1p32 ? UINT32_MAX : x <= 0 ? 0 : (uint32_t)x)
TN_STRIP1(f64_to, f32, double, float, x)
TN_STRIP1(f64_to, f64, double, double, x)
TN_STRIP1(u32_to, b8, uint32_t, uint8_t, x != 0)
TN_STRIP1(u32_to, i32, uint32_t, int32_t, x)
TN_STRIP1(u32_to, i64, uint32_t, int64_t, x)
TN_STRIP1(u32_to, u32, uint32_t, uint32_t, x)
TN_STRIP1(u32_to, f32, uint32_t, float, x)
TN_STRIP1(u32_to, f64, uint32_t, double, x)

#define FROM(source, what)                                                                           \
    {                                                                                                \
        [TN_BOOL] = source##_b8##what, [TN_I32] = source##_i32##what, [TN_I64] = source##_i64##what, \
        [TN_F32] = source##_f32##what, [TN_F64] = source##_f64##what, [TN_U32] = source##_u32##what  \
    }
#define FROM_ALL(what)                                                                                 \
    {                                                                                                  \
        [TN_BOOL] = FROM(bool_to, what), [TN_I32] = FROM(i32_to, what), [TN_I64] = FROM(i64_to, what), \
        [TN_F32] = FROM(f32_to, what), [TN_F64] = FROM(f64_to, what), [TN_U32] = FROM(u32_to, what)    \
    }

static tn_i_strip *choose_convert(const tn_i_query *q, const char **body) {
    static tn_i_strip *const strip[TN_NDTYPES][TN_NDTYPES] = FROM_ALL();
    static const char *const text[TN_NDTYPES][TN_NDTYPES] = FROM_ALL(_body);
    *body = text[q->in[0]->dtype][q->out[0].dtype];
    return strip[q->in[0]->dtype][q->out[0].dtype];
}

static bool type_convert(tn_i_query *q) {
    const int64_t dtype = q->p[0].u.i;
    if (dtype < 0 || dtype >= TN_NDTYPES) return tn_i_type_fail(q, -1, "unknown new_dtype");
    return tn_i_output(q, (int)dtype, q->in[0]->rank, q->in[0]->dim);
}

static tn_i_var simplify_convert(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                 const tn_type *out) {
    (void)p, (void)nin;
    return b->val[in[0]].type->dtype == out->dtype ? in[0] : TN_NOVAR;
}

/* Only between float dtypes is a conversion linear (up to its rounding); zero remains zero. */
static bool linearity_convert(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    const bool floats = tn_i_is_float((int)tn_i_p(e)[0].u.i);
    out[0] = floats || in[0] == TN_ZERO ? in[0] : TN_NONLINEAR;
    if (floats || in[0] != TN_LINEAR) return true;
    (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc,
                    "convert_element_type: operand 0 is linear, but a conversion to %s is not",
                    tn_i_dtype_name((int)tn_i_p(e)[0].u.i));
    return false;
}

static void transpose_convert(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = tn_i_convert(r->b, ct[0], r->in_type[0]->dtype);
}

static bool sample_convert(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    c->p[0] = (tn_i_param){.kind = TN_K_DTYPE, .u.i = tn_i_pick(r, 0, TN_NDTYPES - 1)};
    c->domain[0] = (tn_i_domain){.lo = -3, .hi = 3, .apart = 0.1, .at = TN_AT_INTEGERS};
    return true;
}

static const tn_i_spec convert_params[] = {{.name = "new_dtype", .kind = TN_K_DTYPE}, {.name = NULL}};

const tn_prim tn_prim_convert_element_type = {
    .id = TN_P_convert_element_type,
    .name = "convert_element_type",
    .doc = "x as new_dtype: float to integer truncates and saturates, NaN to 0; integers wrap; to bool: x != 0",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE,
    .dtypes = TN_ANY,
    .params = convert_params,
    .type = type_convert,
    .linear = {TN_OPERAND(0)},
    .linearity = linearity_convert,
    .simplify = simplify_convert,
    .transpose = transpose_convert,
    .choose = choose_convert,
    .kernel = tn_i_chosen_kernel,
    .weight = 1,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .sample = sample_convert,
};

/* ---- stop_gradient ---- */
TN_STRIP1(stop_gradient, b8, uint8_t, uint8_t, x)
TN_STRIP1(stop_gradient, i32, int32_t, int32_t, x)
TN_STRIP1(stop_gradient, i64, int64_t, int64_t, x)
TN_STRIP1(stop_gradient, u32, uint32_t, uint32_t, x)
TN_STRIP1(stop_gradient, f32, float, float, x)
TN_STRIP1(stop_gradient, f64, double, double, x)

const tn_prim tn_prim_stop_gradient = {
    .id = TN_P_stop_gradient,
    .name = "stop_gradient",
    .doc = "x, a constant to every derivative",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_ANY,
    .type = tn_i_type_elementwise,
    TN_ANY_STRIPS(stop_gradient),
    .weight = 1,
    .jvp_bound = 2,
};
