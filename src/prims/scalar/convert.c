/* Changes of dtype, and of what is differentiated: convert_element_type bitcast_convert_type stop_gradient. */
#include "prims/c_text.h"
#include "prims/scalar/complex.h"
#include "prims/held.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <string.h>

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

/* ---- of dtypes that are computed with as another one: to and from that (held.h) ---- */
/* By masks, so that compilers vectorize them. */
TN_C_TEXT(
    number_of_f16_text, static inline float number_of_f16(uint16_t x) {
        const uint32_t sign = (uint32_t)(x & 0x8000u) << 16, size = (uint32_t)(x & 0x7fffu) << 13;
        const float small = (float)(int32_t)(x & 0x3ffu) * 0x1p-24f;
        uint32_t bits;
        float y;
        memcpy(&bits, &small, sizeof bits);
        const uint32_t is_small = 0u - (size < 0x00800000u), is_last = 0u - (size >= 0x0f800000u);
        const uint32_t quiet = (0u - (size > 0x0f800000u)) & 0x00400000u;
        bits = sign | (is_small & bits) | (is_last & (size | 0x7f800000u | quiet)) |
               (~(is_small | is_last) & (size + 0x38000000u));
        memcpy(&y, &bits, sizeof y);
        return y;
    })
/* Below 2^-14 they are multiples of 2^-24, as floats from 0.5 to 1 are. */
TN_C_TEXT(
    f16_bits_text, static inline uint16_t f16_bits(float x) {
        uint32_t bits, units;
        float y;
        memcpy(&bits, &x, sizeof bits);
        const uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
        memcpy(&y, &size, sizeof y);
        y += 0.5f;
        memcpy(&units, &y, sizeof units);
        const uint32_t is_small = 0u - (size < 0x38800000u), is_last = 0u - (size >= 0x47800000u);
        const uint32_t nan = (0u - (size > 0x7f800000u)) & (0x200u | (size >> 13 & 0x1ffu));
        const uint32_t normal = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
        return (uint16_t)(sign | (is_small & (units - 0x3f000000u)) | (is_last & (0x7c00u | nan)) |
                          (~(is_small | is_last) & normal));
    })
TN_C_TEXT(
    number_of_bf16_text, static inline float number_of_bf16(uint16_t x) {
        const uint32_t bits = (uint32_t)x << 16;
        float y;
        memcpy(&y, &bits, sizeof y);
        return y;
    })
TN_C_TEXT(
    bf16_bits_text, static inline uint16_t bf16_bits(float x) {
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        const uint32_t near = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
        const uint32_t nan = 0u - ((bits & 0x7fffffffu) > 0x7f800000u);
        return (uint16_t)((nan & (bits >> 16 | 0x40u)) | (~nan & near));
    })
const tn_i_c_helper tn_i_half_helpers[] = {{"number_of_f16", number_of_f16_text},
                                           {"f16_bits", f16_bits_text},
                                           {"number_of_bf16", number_of_bf16_text},
                                           {"bf16_bits", bf16_bits_text},
                                           {NULL, NULL}};

TN_STRIP1(i8_to, i32, int8_t, int32_t, x)
TN_STRIP1(i16_to, i32, int16_t, int32_t, x)
TN_STRIP1(u8_to, u32, uint8_t, uint32_t, x)
TN_STRIP1(u16_to, u32, uint16_t, uint32_t, x)
TN_STRIP1(f16_to, f32, uint16_t, float, number_of_f16(x))
TN_STRIP1(bf16_to, f32, uint16_t, float, number_of_bf16(x))
TN_STRIP1(i32_to, i8, int32_t, int8_t, x)
TN_STRIP1(i32_to, i16, int32_t, int16_t, x)
TN_STRIP1(u32_to, u8, uint32_t, uint8_t, x)
TN_STRIP1(u32_to, u16, uint32_t, uint16_t, x)
TN_STRIP1(f32_to, f16, float, uint16_t, f16_bits(x))
TN_STRIP1(f32_to, bf16, float, uint16_t, bf16_bits(x))
TN_STRIP1(as, i8, int32_t, int32_t, (int8_t)x)
TN_STRIP1(as, i16, int32_t, int32_t, (int16_t)x)
TN_STRIP1(as, u8, uint32_t, uint32_t, x & 0xffu)
TN_STRIP1(as, u16, uint32_t, uint32_t, x & 0xffffu)
TN_STRIP1(as, f16, float, float, number_of_f16(f16_bits(x)))
TN_STRIP1(as, bf16, float, float, number_of_bf16(bf16_bits(x)))

#define MEMORY(name, holder)                                                                                \
    {                                                                                                       \
        {name##_to_##holder, name##_to_##holder##_body}, {holder##_to_##name, holder##_to_##name##_body}, { \
            as_##name, as_##name##_body                                                                     \
        }                                                                                                   \
    }
const tn_i_held_bodies *tn_i_held_bodies_of(int dtype) {
    static const tn_i_held_bodies of[TN_NDTYPES] = {
        [TN_I8] = MEMORY(i8, i32),   [TN_I16] = MEMORY(i16, i32), [TN_U8] = MEMORY(u8, u32),
        [TN_U16] = MEMORY(u16, u32), [TN_F16] = MEMORY(f16, f32), [TN_BF16] = MEMORY(bf16, f32)};
    return of[dtype].load.strip ? &of[dtype] : NULL;
}

#define FROM(source, what, ...)                                                                                  \
    {                                                                                                            \
        [TN_BOOL] = source##_b8##what, [TN_I32] = source##_i32##what, [TN_I64] = source##_i64##what,             \
        [TN_F32] = source##_f32##what, [TN_F64] = source##_f64##what, [TN_U32] = source##_u32##what, __VA_ARGS__ \
    }
#define ALSO(source, DTYPE, dtype, what) [DTYPE] = source##_##dtype##what
#define FROM_ALL(what)                                                                                       \
    {                                                                                                        \
        [TN_BOOL] = FROM(bool_to, what, ), [TN_I64] = FROM(i64_to, what, ), [TN_F64] = FROM(f64_to, what, ), \
        [TN_I32] = FROM(i32_to, what, ALSO(i32_to, TN_I8, i8, what), ALSO(i32_to, TN_I16, i16, what)),       \
        [TN_U32] = FROM(u32_to, what, ALSO(u32_to, TN_U8, u8, what), ALSO(u32_to, TN_U16, u16, what)),       \
        [TN_F32] = FROM(f32_to, what, ALSO(f32_to, TN_F16, f16, what), ALSO(f32_to, TN_BF16, bf16, what)),   \
        [TN_I8] = {ALSO(i8_to, TN_I32, i32, what)}, [TN_I16] = {ALSO(i16_to, TN_I32, i32, what)},            \
        [TN_U8] = {ALSO(u8_to, TN_U32, u32, what)}, [TN_U16] = {ALSO(u16_to, TN_U32, u32, what)},            \
        [TN_F16] = {ALSO(f16_to, TN_F32, f32, what)}, [TN_BF16] = {                                          \
            ALSO(bf16_to, TN_F32, f32, what)                                                                 \
        }                                                                                                    \
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
    if (b->val[in[0]].type->dtype == out->dtype) return in[0];
    const tn_i_eqn *e = tn_i_def(b, in[0]); /* what was made its holder's */
    const bool back = e && tn_i_is_held(out->dtype) && e->prim->id == TN_P_convert_element_type &&
                      b->val[b->pool[e->in]].type->dtype == out->dtype &&
                      b->val[in[0]].type->dtype == tn_i_holder(out->dtype);
    return back ? b->pool[e->in] : TN_NOVAR;
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
    .c_kernel = tn_i_c_chosen_kernel,
    .weight = 1,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .sample = sample_convert,
    .complex = tn_i_complex_of_convert,
    .held = tn_i_held_convert,
    .c_helpers = tn_i_half_helpers,
};

/* ---- bitcast_convert_type: the same bits as another dtype of as many ---- */
#define SAME_BITS(name, IN, OUT)                    \
    TN_C_TEXT(                                      \
        name##_text, static inline OUT name(IN x) { \
            OUT y;                                  \
            memcpy(&y, &x, sizeof y);               \
            return y;                               \
        })
SAME_BITS(bits_f32_i32, float, int32_t)
SAME_BITS(bits_f32_u32, float, uint32_t)
SAME_BITS(bits_f64_i64, double, int64_t)
SAME_BITS(bits_i32_f32, int32_t, float)
SAME_BITS(bits_i32_u32, int32_t, uint32_t)
SAME_BITS(bits_i64_f64, int64_t, double)
SAME_BITS(bits_u32_f32, uint32_t, float)
SAME_BITS(bits_u32_i32, uint32_t, int32_t)
static const tn_i_c_helper bits_helpers[] = {
    {"bits_f32_i32", bits_f32_i32_text}, {"bits_f32_u32", bits_f32_u32_text}, {"bits_f64_i64", bits_f64_i64_text},
    {"bits_i32_f32", bits_i32_f32_text}, {"bits_i32_u32", bits_i32_u32_text}, {"bits_i64_f64", bits_i64_f64_text},
    {"bits_u32_f32", bits_u32_f32_text}, {"bits_u32_i32", bits_u32_i32_text}, {NULL, NULL}};

TN_STRIP1(f32_as, f32, float, float, x)
TN_STRIP1(f32_as, i32, float, int32_t, bits_f32_i32(x))
TN_STRIP1(f32_as, u32, float, uint32_t, bits_f32_u32(x))
TN_STRIP1(f64_as, f64, double, double, x)
TN_STRIP1(f64_as, i64, double, int64_t, bits_f64_i64(x))
TN_STRIP1(i32_as, f32, int32_t, float, bits_i32_f32(x))
TN_STRIP1(i32_as, i32, int32_t, int32_t, x)
TN_STRIP1(i32_as, u32, int32_t, uint32_t, bits_i32_u32(x))
TN_STRIP1(i64_as, f64, int64_t, double, bits_i64_f64(x))
TN_STRIP1(i64_as, i64, int64_t, int64_t, x)
TN_STRIP1(u32_as, f32, uint32_t, float, bits_u32_f32(x))
TN_STRIP1(u32_as, i32, uint32_t, int32_t, bits_u32_i32(x))
TN_STRIP1(u32_as, u32, uint32_t, uint32_t, x)
TN_STRIP1(u64_as, i64, uint64_t, int64_t, x)
TN_STRIP1(i64_as, u64, int64_t, uint64_t, x)

#define AS_32(source, what) \
    { [TN_F32] = source##_f32##what, [TN_I32] = source##_i32##what, [TN_U32] = source##_u32##what }
#define AS_64(source, what, ...) \
    { [TN_F64] = source##_f64##what, [TN_I64] = source##_i64##what, __VA_ARGS__ }
#define AS_ALL(what)                                                                                       \
    {                                                                                                      \
        [TN_F32] = AS_32(f32_as, what), [TN_I32] = AS_32(i32_as, what), [TN_U32] = AS_32(u32_as, what),    \
        [TN_F64] = AS_64(f64_as, what, ), [TN_I64] = AS_64(i64_as, what, ALSO(i64_as, TN_U64, u64, what)), \
        [TN_U64] = {                                                                                       \
            ALSO(u64_as, TN_I64, i64, what)                                                                \
        }                                                                                                  \
    }

static tn_i_strip *choose_bitcast(const tn_i_query *q, const char **body) {
    static tn_i_strip *const strip[TN_NDTYPES][TN_NDTYPES] = AS_ALL();
    static const char *const text[TN_NDTYPES][TN_NDTYPES] = AS_ALL(_body);
    *body = text[q->in[0]->dtype][q->out[0].dtype];
    return strip[q->in[0]->dtype][q->out[0].dtype];
}

static bool type_bitcast(tn_i_query *q) {
    const int64_t dtype = q->p[0].u.i;
    const int from = q->in[0]->dtype;
    if (dtype < 0 || dtype >= TN_NDTYPES) return tn_i_type_fail(q, -1, "unknown new_dtype");
    if (from == TN_BOOL) return tn_i_type_fail(q, 0, "bitcast_convert_type is not defined for bool");
    if (dtype == TN_BOOL || tn_i_dtype_size((int)dtype) != tn_i_dtype_size(from))
        return tn_i_type_fail(q, -1, "new_dtype must have as many bits as %s, which %s has not", tn_i_dtype_name(from),
                              tn_i_dtype_name((int)dtype));
    return tn_i_output(q, (int)dtype, q->in[0]->rank, q->in[0]->dim);
}

/* Of floats as themselves the derivative is 0, too. */
static tn_i_var simplify_bitcast(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                 const tn_type *out) {
    (void)p, (void)nin;
    return !tn_i_is_float(out->dtype) && b->val[in[0]].type->dtype == out->dtype ? in[0] : TN_NOVAR;
}

static bool sample_bitcast(tn_i_rng *r, int dtype, tn_i_case *c) {
    const size_t size = tn_i_dtype_size(dtype);
    int to = TN_BOOL;
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    while (to == TN_BOOL || tn_i_dtype_size(to) != size || (tn_i_is_float(dtype) && tn_i_is_float(to)))
        to = (int)tn_i_pick(r, 0, TN_NDTYPES - 1);
    c->p[0] = (tn_i_param){.kind = TN_K_DTYPE, .u.i = to};
    /* bits of small integers are floats near 0; those of negative ones would be NaN */
    if (!tn_i_is_float(dtype)) c->domain[0] = (tn_i_domain){.lo = 0, .hi = size > 1 ? 1000 : 100};
    return true;
}

const tn_prim tn_prim_bitcast_convert_type = {
    .id = TN_P_bitcast_convert_type,
    .name = "bitcast_convert_type",
    .doc = "the bits of x as new_dtype, of the same width; derivative 0",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_NODIFF,
    .dtypes = TN_NUMBERS,
    .params = convert_params,
    .type = type_bitcast,
    .simplify = simplify_bitcast,
    .choose = choose_bitcast,
    .kernel = tn_i_chosen_kernel,
    .c_kernel = tn_i_c_chosen_kernel,
    .c_helpers = bits_helpers,
    .weight = 1,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .sample = sample_bitcast,
    .held = tn_i_held_bitcast,
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
    .complex = tn_i_complex_of_parts,
};
