/* Elementwise primitives as operations.
 *
 * What ops.def has a row for is that; a few are several operations, in the order of their scalar bodies and with their
 * bits; all others are `fn`, which runs the scalar body, or the vector library's function, itself. */
#include "loop/inside.h"
#include "prims/ids.h"
#include "prims/strips.h"

#include <math.h>

static uint32_t one(tn_i_l_builder *b, tn_i_l_code code, uint32_t x) {
    return tn_i_l_map(b, code, x, TN_L_NONE, TN_L_NONE);
}
static uint32_t two(tn_i_l_builder *b, tn_i_l_code code, uint32_t x, uint32_t y) {
    return tn_i_l_map(b, code, x, y, TN_L_NONE);
}
static uint32_t choose(tn_i_l_builder *b, uint32_t p, uint32_t x, uint32_t y) {
    return tn_i_l_map(b, TN_L_select, p, x, y);
}

/* A number beside it, where it is NaN. */
static uint32_t unless_nan(tn_i_l_builder *b, uint32_t x, uint32_t otherwise) {
    return choose(b, two(b, TN_L_ne, x, x), x, otherwise);
}

static uint32_t clamp(tn_i_l_builder *b, int dtype, const uint32_t *in) {
    const uint32_t x = in[0], y = in[1], z = in[2];
    const uint32_t low = choose(b, two(b, TN_L_gt, x, z), z, x), high = choose(b, two(b, TN_L_gt, y, z), z, y);
    const uint32_t v = choose(b, two(b, TN_L_lt, y, x), low, high);
    if (!tn_i_is_float(dtype)) return v;
    return unless_nan(b, x, unless_nan(b, z, v)); /* of a y that is NaN, v is y */
}

static uint32_t sign(tn_i_l_builder *b, int dtype, uint32_t x) {
    const uint32_t zero = tn_i_l_number_f64(b, dtype, 0), above = two(b, TN_L_gt, x, zero),
                   below = two(b, TN_L_lt, x, zero);
    const uint32_t minus = tn_i_l_number_f64(b, dtype, -1), plus = tn_i_l_number_f64(b, dtype, 1);
    return choose(b, above, plus, choose(b, below, minus, x));
}

/* By repeated products, as integer_pow has them; the first factor stands for 1 times it. */
static uint32_t power(tn_i_l_builder *b, int dtype, uint32_t x, int64_t y) {
    uint32_t product = TN_L_NONE;
    for (uint64_t n = y < 0 ? 0u - (uint64_t)y : (uint64_t)y; n; n >>= 1) {
        if (n & 1) product = product == TN_L_NONE ? x : two(b, TN_L_mul, product, x);
        if (n > 1) x = two(b, TN_L_mul, x, x);
    }
    if (product == TN_L_NONE) return tn_i_l_number_f64(b, dtype, 1);
    return y < 0 ? two(b, TN_L_div, tn_i_l_number_f64(b, dtype, 1), product) : product;
}

/* v where a 0 that meets an infinity or a NaN is not its reason, else `zero`: strict.c. */
static uint32_t strict(tn_i_l_builder *b, uint32_t nonzero, uint32_t product, uint32_t v, uint32_t zero) {
    return choose(b, two(b, TN_L_or, nonzero, two(b, TN_L_eq, product, product)), v, zero);
}

static uint32_t both_nonzero(tn_i_l_builder *b, int dtype, const uint32_t *in) {
    const uint32_t zero = tn_i_l_number_f64(b, dtype, 0);
    const uint32_t first = two(b, TN_L_ne, in[0], zero), second = two(b, TN_L_ne, in[1], zero);
    return two(b, TN_L_and, first, second);
}

static uint32_t strict_fma(tn_i_l_builder *b, int dtype, int64_t form, const uint32_t *in) {
    static const tn_i_l_code code[] = {TN_L_fma, TN_L_fms, TN_L_fnma};
    const uint32_t zero = tn_i_l_number_f64(b, dtype, 0), v = tn_i_l_map(b, code[form], in[0], in[1], in[2]);
    const uint32_t rest = form == 0   ? two(b, TN_L_add, zero, in[2])
                          : form == 1 ? two(b, TN_L_sub, zero, in[2])
                                      : two(b, TN_L_sub, in[2], zero);
    const uint32_t nonzero = both_nonzero(b, dtype, in), product = two(b, TN_L_mul, in[0], in[1]);
    return strict(b, nonzero, product, v, rest);
}

/* ---- bits ---- */

static uint32_t bits_of(tn_i_l_builder *b, int dtype, uint64_t bits) { return tn_i_l_number(b, dtype, bits); }
static int64_t width_of(int dtype) { return (int64_t)tn_i_dtype_size(dtype) * 8; }
static uint32_t shift_by(tn_i_l_builder *b, tn_i_l_code code, int dtype, uint32_t x, int by) {
    return two(b, code, x, bits_of(b, dtype, (uint64_t)by));
}

/* x moved by y, 0 where y is the width or more: shl and shr count modulo the width. */
static uint32_t shift(tn_i_l_builder *b, tn_i_l_code code, int dtype, uint32_t x, uint32_t y) {
    const uint64_t beyond = ~(uint64_t)(width_of(dtype) - 1);
    const uint32_t moved = two(b, code, x, y), zero = bits_of(b, dtype, 0);
    if (b->failed) return TN_L_NONE;
    const tn_i_l_op *by = &b->p->op[y];
    if (by->kind == TN_L_NUMBER && by->bits < (uint64_t)width_of(dtype)) return moved;
    const uint32_t over = two(b, TN_L_and, y, bits_of(b, dtype, beyond));
    return choose(b, two(b, TN_L_eq, over, zero), moved, zero);
}

/* Of what is negative, its complement, moved with zeros, is. */
static uint32_t shift_signed(tn_i_l_builder *b, int dtype, uint32_t x, uint32_t y) {
    const uint32_t zero = bits_of(b, dtype, 0),
                   below =
                       dtype == TN_U32 ? two(b, TN_L_gt, x, bits_of(b, dtype, INT32_MAX)) : two(b, TN_L_lt, x, zero),
                   sign = choose(b, below, bits_of(b, dtype, UINT64_MAX), zero);
    return two(b, TN_L_xor, shift(b, TN_L_shr, dtype, two(b, TN_L_xor, x, sign), y), sign);
}

/* Sums of pairs, of fours, of bytes, and of all. */
static uint32_t ones(tn_i_l_builder *b, int dtype, uint32_t x) {
    const uint32_t m1 = bits_of(b, dtype, 0x5555555555555555u), m2 = bits_of(b, dtype, 0x3333333333333333u),
                   m4 = bits_of(b, dtype, 0x0f0f0f0f0f0f0f0fu), all = bits_of(b, dtype, 0x0101010101010101u);
    x = two(b, TN_L_sub, x, two(b, TN_L_and, shift_by(b, TN_L_shr, dtype, x, 1), m1));
    const uint32_t high = two(b, TN_L_and, shift_by(b, TN_L_shr, dtype, x, 2), m2);
    x = two(b, TN_L_add, two(b, TN_L_and, x, m2), high);
    x = two(b, TN_L_and, two(b, TN_L_add, x, shift_by(b, TN_L_shr, dtype, x, 4)), m4);
    return shift_by(b, TN_L_shr, dtype, two(b, TN_L_mul, x, all), (int)width_of(dtype) - 8);
}

/* Ones down from the highest. */
static uint32_t leading(tn_i_l_builder *b, int dtype, uint32_t x) {
    for (int h = 1; h < width_of(dtype); h *= 2) x = two(b, TN_L_or, x, shift_by(b, TN_L_shr, dtype, x, h));
    return ones(b, dtype, one(b, TN_L_not, x));
}

/* ---- unsigned numbers ---- */

/* A number of 8 or 16 bits. */
static bool is_short(const tn_i_loops *p, uint32_t x) {
    const tn_i_l_op *o = &p->op[x];
    const bool loaded = o->kind == TN_L_LOAD && o->in[1] == TN_L_NONE;
    const int memory = loaded ? p->array[o->which].dtype : o->kind == TN_L_MAP ? tn_i_l_fits(o->code) : -1;
    return tn_i_is_short(memory);
}

/* What has as few bits, as the number it is. */
static bool is_few(const tn_i_loops *p, uint32_t x) {
    return is_short(p, x) || (p->op[x].kind == TN_L_NUMBER && p->op[x].bits <= UINT16_MAX);
}

/* Of u32 as integers that have all of them; x / 0, which is -1, becomes all ones. */
static uint32_t divided(tn_i_l_builder *b, tn_i_l_code code, uint32_t x, uint32_t y) {
    const int as = is_few(b->p, x) && is_few(b->p, y) ? TN_I32 : TN_I64;
    const uint32_t left = tn_i_l_convert(b, as, x), right = tn_i_l_convert(b, as, y);
    return tn_i_l_convert(b, TN_U32, two(b, code, left, right));
}

/* A u32 as a float, by way of i32, which processors convert: of as much less as makes its first bit a sign. */
static uint32_t from_u32(tn_i_l_builder *b, int dtype, uint32_t x) {
    if (is_short(b->p, x)) return tn_i_l_convert(b, dtype, tn_i_l_convert(b, TN_I32, x));
    const uint32_t less = tn_i_l_convert(b, TN_I32, two(b, TN_L_xor, x, bits_of(b, TN_U32, 0x80000000u)));
    const uint32_t all = two(b, TN_L_add, tn_i_l_convert(b, TN_F64, less), tn_i_l_number_f64(b, TN_F64, 0x1p31));
    return dtype == TN_F64 ? all : tn_i_l_convert(b, dtype, all);
}

/* And back: towards 0, no less than 0 and no more than there is, NaN is 0. */
static uint32_t to_u32(tn_i_l_builder *b, uint32_t x) {
    if (b->p->op[x].dtype != TN_F64) x = tn_i_l_convert(b, TN_F64, x);
    const uint32_t zero = tn_i_l_number_f64(b, TN_F64, 0), most = tn_i_l_number_f64(b, TN_F64, UINT32_MAX);
    x = choose(b, two(b, TN_L_ge, x, zero), x, zero);
    x = one(b, TN_L_floor, choose(b, two(b, TN_L_le, x, most), x, most));
    x = tn_i_l_convert(b, TN_I32, two(b, TN_L_sub, x, tn_i_l_number_f64(b, TN_F64, 0x1p31)));
    return two(b, TN_L_xor, tn_i_l_convert(b, TN_U32, x), bits_of(b, TN_U32, 0x80000000u));
}

static uint32_t convert(tn_i_l_builder *b, int dtype, uint32_t x) {
    if (b->failed) return TN_L_NONE;
    const int from = b->p->op[x].dtype;
    if (from == dtype) return x;
    if (tn_i_is_held(dtype)) return tn_i_l_in_memory(b, dtype, convert(b, tn_i_holder(dtype), x));
    if (from == TN_U32 && tn_i_is_float(dtype)) return from_u32(b, dtype, x);
    return dtype == TN_U32 && tn_i_is_float(from) ? to_u32(b, x) : tn_i_l_convert(b, dtype, x);
}

/* Of two integers a conversion keeps the bits. */
static uint32_t same_bits(tn_i_l_builder *b, int dtype, uint32_t x) {
    if (b->failed || b->p->op[x].dtype == dtype) return x;
    const bool integers = tn_i_is_int(b->p->op[x].dtype) && tn_i_is_int(dtype);
    return integers ? tn_i_l_convert(b, dtype, x) : tn_i_l_bits(b, dtype, x);
}

static uint32_t row_of(tn_i_l_builder *b, int prim, int64_t param, const uint32_t *in, uint32_t nin) {
    for (int code = 0; code < TN_L_fn; code++) {
        const tn_i_l_row *r = &tn_i_l_rows[code];
        if (r->prim != prim || r->nin != nin) continue;
        if (code == TN_L_convert) return convert(b, (int)param, in[0]);
        if (r->param == param)
            return tn_i_l_map(b, (tn_i_l_code)code, in[0], nin > 1 ? in[1] : TN_L_NONE, nin > 2 ? in[2] : TN_L_NONE);
    }
    return TN_L_NONE;
}

/* An integer divided by a power of two that is known, or what is left of it; TN_L_NONE: y is another. */
static uint32_t by_power(tn_i_l_builder *b, bool left, int dtype, uint32_t x, uint32_t y) {
    const tn_i_l_op *o = &b->p->op[y];
    const uint64_t n = o->bits, most = dtype == TN_I64 ? (uint64_t)INT64_MAX : INT32_MAX;
    if (!tn_i_is_int(dtype) || o->kind != TN_L_NUMBER || n == 0 || (n & (n - 1)) || n > most) return TN_L_NONE;
    const bool without_sign = dtype == TN_U32;
    const uint32_t zero = tn_i_l_number(b, dtype, 0), below = without_sign ? TN_L_NONE : two(b, TN_L_lt, x, zero);
    if (!without_sign) x = choose(b, below, one(b, TN_L_neg, x), x); /* of the least, what it is without a sign */
    const uint32_t with = tn_i_l_number(b, dtype, left ? n - 1 : (uint64_t)__builtin_ctzll(n));
    const uint32_t z = two(b, left ? TN_L_and : TN_L_shr, x, with);
    return without_sign ? z : choose(b, below, one(b, TN_L_neg, z), z);
}

uint32_t tn_i_l_elementwise(tn_i_l_builder *b, const tn_prim *prim, const tn_i_param *p, int dtype, uint32_t nin,
                            const uint32_t *in) {
    const int64_t param = prim->params ? p[0].u.i : 0;
    if (b->failed) return TN_L_NONE;
    if (dtype == TN_BOOL && prim->id == TN_P_max) return two(b, TN_L_or, in[0], in[1]);
    if (dtype == TN_BOOL && prim->id == TN_P_min) return two(b, TN_L_and, in[0], in[1]);
    if (dtype == TN_U32 && prim->id == TN_P_abs) return in[0];
    if (prim->id == TN_P_div || prim->id == TN_P_rem) {
        const uint32_t z = by_power(b, prim->id == TN_P_rem, dtype, in[0], in[1]);
        if (z != TN_L_NONE) return z;
    }
    if (dtype == TN_U32 && prim->id == TN_P_div) return divided(b, TN_L_div, in[0], in[1]);
    if (dtype == TN_U32 && prim->id == TN_P_rem) return divided(b, TN_L_rem, in[0], in[1]);
    switch (prim->id) {
    case TN_P_stop_gradient: return in[0];
    case TN_P_square: return two(b, TN_L_mul, in[0], in[0]);
    case TN_P_rsqrt: {
        const uint32_t plus = tn_i_l_number_f64(b, dtype, 1);
        return two(b, TN_L_div, plus, one(b, TN_L_sqrt, in[0]));
    }
    case TN_P_sign: return sign(b, dtype, in[0]);
    case TN_P_clamp: return clamp(b, dtype, in);
    case TN_P_integer_pow: return power(b, dtype, in[0], param);
    case TN_P_is_finite: {
        const uint32_t infinite = tn_i_l_number_f64(b, b->p->op[in[0]].dtype, INFINITY);
        return two(b, TN_L_lt, one(b, TN_L_abs, in[0]), infinite);
    }
    case TN_P_strict_mul: {
        const uint32_t product = two(b, TN_L_mul, in[0], in[1]), zero = tn_i_l_number_f64(b, dtype, 0);
        return strict(b, both_nonzero(b, dtype, in), product, product, zero);
    }
    case TN_P_strict_div: {
        const uint32_t zero = tn_i_l_number_f64(b, dtype, 0), ratio = two(b, TN_L_div, in[0], in[1]);
        return strict(b, two(b, TN_L_ne, in[0], zero), ratio, ratio, zero);
    }
    case TN_P_strict_fma: return strict_fma(b, dtype, param, in);
    case TN_P_bitcast_convert_type: return same_bits(b, dtype, in[0]);
    case TN_P_shift_left: return shift(b, TN_L_shl, dtype, in[0], in[1]);
    case TN_P_shift_right_logical: return shift(b, TN_L_shr, dtype, in[0], in[1]);
    case TN_P_shift_right_arithmetic: return shift_signed(b, dtype, in[0], in[1]);
    case TN_P_population_count: return ones(b, dtype, in[0]);
    case TN_P_clz: return leading(b, dtype, in[0]);
    default: break;
    }
    const uint32_t v = row_of(b, prim->id, param, in, nin);
    return v != TN_L_NONE || b->failed ? v : tn_i_l_fn(b, dtype, prim->id, param, nin, in);
}
