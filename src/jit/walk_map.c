/* Operations on a piece (loop/ops.def): floats, and which file has the others. */
#include "jit/walk.h"

/* Four of an instruction on floats: vectors of 4 and 8 bytes, one number of each. */
typedef struct four {
    uint16_t of[4];
} four;
#define FOUR(name)                                                             \
    {                                                                          \
        { TN_X_##name##ps, TN_X_##name##pd, TN_X_##name##ss, TN_X_##name##sd } \
    }

static unsigned of(four f, int dtype, unsigned lanes) { return f.of[(lanes == 1) * 2 + (dtype == TN_F64)]; }

static tn_i_reg two(tn_i_walk *w, four f, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    return tn_i_w_put(w, of(f, dtype, lanes), tn_i_w_bytes(w, dtype, lanes), x, y, 0);
}

/* Of vectors, whatever there is in lanes that do not count. */
static tn_i_reg bits(tn_i_walk *w, unsigned op, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    const unsigned bytes = tn_i_w_bytes(w, dtype, lanes);
    return tn_i_w_put_of(w, op, tn_i_w_size(bytes), bytes, x, y, 0);
}

static tn_i_reg same_bits(tn_i_walk *w, int dtype, unsigned lanes, uint64_t f32, uint64_t f64) {
    return tn_i_w_all(w, dtype, dtype == TN_F64 ? f64 : f32, tn_i_w_size(tn_i_w_bytes(w, dtype, lanes)));
}

static tn_i_reg sign_bit(tn_i_walk *w, int dtype, unsigned lanes) {
    return same_bits(w, dtype, lanes, 0x80000000u, (uint64_t)1 << 63);
}

/* ---- which of two -------------------------------------------------------------------------------------- */

/* All ones, a NaN, where x or y is one; as a vector of floats. */
static tn_i_reg with_nan(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg r, tn_i_reg x, tn_i_reg y) {
    static const four compare = FOUR(vcmp);
    if (w->m.wide) {
        const unsigned op = dtype == TN_F64 ? TN_X_vcmppd_k : TN_X_vcmpps_k;
        const tn_i_reg k = tn_i_w_put_k(w, op, tn_i_w_size(tn_i_w_bytes(w, dtype, lanes)), x, y, TN_X_UNORDERED);
        return tn_i_w_select(w, dtype, lanes, k, same_bits(w, dtype, lanes, 0x7FC00000u, 0x7FF8000000000000u), r);
    }
    const tn_i_reg nan = tn_i_w_put(w, of(compare, dtype, lanes), tn_i_w_bytes(w, dtype, lanes), x, y, TN_X_UNORDERED);
    return bits(w, TN_X_vorps, dtype, lanes, r, nan);
}

/* The processor's max is x > y ? x : y: in both orders, so that zeros of both signs and what is equal meet.  With a
 * NaN one of the orders gives it, and the other the number: all bits of both are a NaN. */
static tn_i_reg extreme(tn_i_walk *w, bool greater, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    static const four max = FOUR(vmax), min = FOUR(vmin);
    const tn_i_reg a = two(w, greater ? max : min, dtype, lanes, x, y),
                   b = two(w, greater ? max : min, dtype, lanes, y, x);
    const tn_i_reg r = bits(w, greater ? TN_X_vandps : TN_X_vorps, dtype, lanes, a, b);
    return greater ? with_nan(w, dtype, lanes, r, x, y) : r;
}

/* Max and min with a number, that is no NaN, in the first place: of a NaN and of what is equal the other one stays.
 * That is -0 for max with +0, and +0 for min with -0, where the sign of all that the result may be is known. */
static tn_i_reg limited(tn_i_walk *w, bool greater, int dtype, unsigned lanes, uint64_t number, tn_i_reg x,
                        tn_i_reg y) {
    static const four max = FOUR(vmax), min = FOUR(vmin);
    const tn_i_reg r = two(w, greater ? max : min, dtype, lanes, x, y);
    const uint64_t sign = dtype == TN_F64 ? (uint64_t)1 << 63 : 0x80000000u;
    if (number != (greater ? 0 : sign)) return r;
    return greater ? bits(w, TN_X_vandps, dtype, lanes, r, same_bits(w, dtype, lanes, 0x7FFFFFFFu, INT64_MAX))
                   : bits(w, TN_X_vorps, dtype, lanes, r, sign_bit(w, dtype, lanes));
}

static bool is_nan(int dtype, uint64_t bits) {
    return dtype == TN_F64 ? (bits & INT64_MAX) > 0x7FF0000000000000u : (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

bool tn_i_w_limit(tn_i_walk *w, const tn_i_l_op *o, unsigned lanes, const tn_i_reg in[2], tn_i_reg *r) {
    if (o->kind != TN_L_MAP || (o->code != TN_L_max && o->code != TN_L_min) || !tn_i_is_float(o->dtype)) return false;
    for (int k = 0; k < 2; k++) {
        const tn_i_l_op *limit = &w->p->op[o->in[k]];
        if (limit->kind != TN_L_NUMBER || is_nan(o->dtype, limit->bits)) continue;
        *r = limited(w, o->code == TN_L_max, o->dtype, lanes, limit->bits, in[k], in[1 - k]);
        return true;
    }
    return false;
}

/* AVX-512: r, and a NaN where y is one: of what a number is there are eight kinds, told by what is to become of r for
 * each, in 4 bits; that of the first two, NaNs, is the NaN. */
static tn_i_reg fixed_up(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg r, tn_i_reg y) {
    enum { NANS = 0x22 };
    const unsigned bytes = tn_i_w_bytes(w, dtype, lanes);
    const tn_i_reg table = same_bits(w, dtype, lanes, NANS, NANS);
    tn_i_mi in = tn_i_m_blank(dtype == TN_F64 ? TN_X_vfixupimmpd : TN_X_vfixupimmps, tn_i_w_size(bytes));
    in.r = tn_i_m_new(&w->m, TN_CLASS_V, bytes);
    in.tie = r;
    in.v = y;
    in.m = table;
    in.flags = TN_MI_R | TN_MI_PURE;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

/* y > x or y is NaN ? y : x */
static tn_i_reg fold_extreme(tn_i_walk *w, bool greater, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    static const four max = FOUR(vmax), min = FOUR(vmin);
    const tn_i_reg r = two(w, greater ? max : min, dtype, lanes, y, x);
    return w->m.wide ? fixed_up(w, dtype, lanes, r, y) : with_nan(w, dtype, lanes, r, y, y);
}

/* ---- rounding ---------------------------------------------------------------------------------------------- */

static tn_i_reg round_to(tn_i_walk *w, int how, int dtype, unsigned lanes, tn_i_reg x) {
    static const four round = FOUR(vround);
    const bool one = lanes == 1;
    return tn_i_w_put(w, of(round, dtype, lanes), tn_i_w_bytes(w, dtype, lanes), one ? x : TN_REG_NONE, x, how);
}

/* Towards 0, of x and the largest number below 1/2, with x's sign: 1/2 itself would carry what is just below it. */
static tn_i_reg round_away(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg x) {
    static const four add = FOUR(vadd);
    const tn_i_reg sign = bits(w, TN_X_vandps, dtype, lanes, x, sign_bit(w, dtype, lanes)),
                   half = bits(w, TN_X_vorps, dtype, lanes, sign,
                               same_bits(w, dtype, lanes, 0x3EFFFFFFu, 0x3FDFFFFFFFFFFFFFu));
    return round_to(w, TN_X_TRUNC, dtype, lanes, two(w, add, dtype, lanes, x, half));
}

/* ---- all of them --------------------------------------------------------------------------------------------- */

static tn_i_reg square_root(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg x) {
    static const four root = FOUR(vsqrt);
    return tn_i_w_put(w, of(root, dtype, lanes), tn_i_w_bytes(w, dtype, lanes), lanes == 1 ? x : TN_REG_NONE, x, 0);
}

static tn_i_reg fma_of(tn_i_walk *w, int form, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y, tn_i_reg z) {
    tn_i_mi in = tn_i_m_blank(TN_M_FMA, tn_i_w_bytes(w, dtype, lanes));
    in.r = tn_i_m_new(&w->m, TN_CLASS_V, in.size);
    in.v = x;
    in.m = y;
    in.s = z;
    in.imm = form;
    in.cc = dtype == TN_F64;
    in.flags = TN_MI_R | TN_MI_PURE;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

static tn_i_reg sign_of(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg x) {
    const bool wide = dtype == TN_F64;
    const unsigned size = tn_i_w_size(tn_i_w_bytes(w, dtype, lanes));
    if (w->m.wide) return tn_i_w_put_k(w, wide ? TN_X_vpmovq2m : TN_X_vpmovd2m, size, TN_REG_NONE, x, 0);
    const tn_i_reg below = tn_i_w_put_of(w, wide ? TN_X_vpcmpgtq : TN_X_vpcmpgtd, size, tn_i_w_bytes(w, dtype, lanes),
                                         tn_i_w_all(w, TN_I32, 0, size), x, 0);
    return tn_i_w_mask_from(w, wide ? 8 : 4, lanes, below);
}

static tn_i_reg floats(tn_i_walk *w, int code, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y, tn_i_reg z) {
    static const four add = FOUR(vadd), sub = FOUR(vsub), mul = FOUR(vmul), div = FOUR(vdiv);
    switch (code) {
    case TN_L_neg: return bits(w, TN_X_vxorps, dtype, lanes, x, sign_bit(w, dtype, lanes));
    case TN_L_abs: return bits(w, TN_X_vandps, dtype, lanes, x, same_bits(w, dtype, lanes, 0x7FFFFFFFu, INT64_MAX));
    case TN_L_add: return two(w, add, dtype, lanes, x, y);
    case TN_L_sub: return two(w, sub, dtype, lanes, x, y);
    case TN_L_mul: return two(w, mul, dtype, lanes, x, y);
    case TN_L_div: return two(w, div, dtype, lanes, x, y);
    case TN_L_sqrt: return square_root(w, dtype, lanes, x);
    case TN_L_fma: return fma_of(w, 0, dtype, lanes, x, y, z);
    case TN_L_fms: return fma_of(w, 1, dtype, lanes, x, y, z);
    case TN_L_fnma: return fma_of(w, 2, dtype, lanes, x, y, z);
    case TN_L_floor: return round_to(w, TN_X_FLOOR, dtype, lanes, x);
    case TN_L_ceil: return round_to(w, TN_X_CEIL, dtype, lanes, x);
    case TN_L_round_even: return round_to(w, TN_X_EVEN, dtype, lanes, x);
    case TN_L_round_away: return round_away(w, dtype, lanes, x);
    case TN_L_max:
    case TN_L_min: return extreme(w, code == TN_L_max, dtype, lanes, x, y);
    case TN_L_fold_max:
    case TN_L_fold_min: return fold_extreme(w, code == TN_L_fold_max, dtype, lanes, x, y);
    case TN_L_signbit: return sign_of(w, dtype, lanes, x);
    default: break;
    }
    tn_i_w_refuse(w, "an operation of floats that is not known here");
    return x;
}

tn_i_reg tn_i_w_map(tn_i_walk *w, int code, int from, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y, tn_i_reg z) {
    if (w->m.failed) return 0;
    if (code == TN_L_convert) return tn_i_w_convert(w, from, dtype, lanes, x);
    if (code == TN_L_bits) return x;
    if (tn_i_l_fits(code) >= 0) return tn_i_w_as(w, tn_i_l_fits(code), lanes, x);
    if (code == TN_L_select && dtype != TN_BOOL) return tn_i_w_select(w, dtype, lanes, x, y, z);
    if (from == TN_BOOL) return tn_i_w_bools(w, code, lanes, x, y, z);
    if (code >= TN_L_eq && code <= TN_L_ge) return tn_i_w_compare(w, code, from, lanes, x, y);
    if (tn_i_is_float(from)) return floats(w, code, from, lanes, x, y, z);
    return tn_i_w_integers(w, code, from, lanes, x, y);
}
