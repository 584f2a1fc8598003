/* Integers on a piece; and what is done element by element, through the stack. */
#include "jit/walk.h"

static tn_i_reg put(tn_i_walk *w, unsigned op, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y, int imm) {
    return tn_i_w_put(w, op, tn_i_w_bytes(w, dtype, lanes), x, y, imm);
}

static tn_i_reg all(tn_i_walk *w, int dtype, unsigned lanes, int64_t x) {
    const uint64_t bits = dtype == TN_I32 ? (uint32_t)x : (uint64_t)x;
    return tn_i_w_all(w, dtype, bits, tn_i_w_size(tn_i_w_bytes(w, dtype, lanes)));
}

/* ---- one number in general registers ------------------------------------------------------------------------ */

static unsigned to_general(int dtype) { return tn_i_dtype_size(dtype) == 8 ? TN_X_vmovq_r : TN_X_vmovd_r; }

static tn_i_reg from_general(tn_i_walk *w, int dtype, tn_i_reg r) {
    const bool wide = tn_i_dtype_size(dtype) == 8;
    return tn_i_w_put_of(w, wide ? TN_X_vmovq_x : TN_X_vmovd_x, 16, wide ? 8 : 4, TN_REG_NONE, r, 0);
}

/* x in rax, y in rcx; div: rax / rcx, or the rest, as the primitives have it. */
static void divide(tn_i_walk *w, bool rest, unsigned size) {
    const int32_t usual = tn_i_m_label(&w->m), minus = tn_i_m_label(&w->m), end = tn_i_m_label(&w->m);
    tn_i_w_imm(w, TN_X_cmp_i, size, TN_RCX_, 0);
    tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_NE, minus);
    if (!rest) tn_i_w_set(w, TN_RAX_, -1);
    tn_i_w_add(w, TN_M_JUMP, 0, end);
    tn_i_w_add(w, TN_M_LABEL, 0, minus);
    tn_i_w_imm(w, TN_X_cmp_i, size, TN_RCX_, -1);
    tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_NE, usual);
    if (rest)
        tn_i_w_set(w, TN_RAX_, 0);
    else
        tn_i_w_imm(w, TN_X_neg, size, TN_RAX_, 0);
    tn_i_w_add(w, TN_M_JUMP, 0, end);
    tn_i_w_add(w, TN_M_LABEL, 0, usual);
    tn_i_w_imm(w, size == 8 ? TN_X_cqo : TN_X_cdq, size, TN_RAX_, 0);
    tn_i_w_imm(w, TN_X_idiv, size, TN_RCX_, 0);
    if (rest) tn_i_w_general(w, TN_X_mov, size, TN_RAX_, TN_RDX_, 0);
    tn_i_w_add(w, TN_M_LABEL, 0, end);
}

/* Zeros below the lowest 1 of rax: of 32 bits with another 1 above them, of 64 without any, 64. */
static void trailing(tn_i_walk *w, bool wide) {
    const int32_t some = tn_i_m_label(&w->m);
    if (!wide) {
        tn_i_w_set(w, TN_RCX_, (int64_t)1 << 32);
        tn_i_w_two(w, TN_X_or, 8, TN_RAX_, TN_RCX_);
    }
    tn_i_w_general(w, TN_X_bsf, 8, TN_RAX_, TN_RAX_, 0);
    tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_NE, some);
    tn_i_w_set(w, TN_RAX_, 64);
    tn_i_w_add(w, TN_M_LABEL, 0, some);
}

/* x, and y, in rax and rcx: what comes out is in rax. */
static void in_general(tn_i_walk *w, int code, int dtype) {
    const bool wide = dtype == TN_I64;
    if (code == TN_L_mul)
        tn_i_w_two(w, TN_X_imul, 8, TN_RAX_, TN_RCX_);
    else if (code == TN_L_ctz)
        trailing(w, wide);
    else
        divide(w, code == TN_L_rem, wide ? 8 : 4);
}

static tn_i_reg one_general(tn_i_walk *w, int code, int dtype, tn_i_reg x, tn_i_reg y) {
    tn_i_w_from_vector(w, to_general(dtype), TN_RAX_, x);
    if (y != TN_REG_NONE) tn_i_w_from_vector(w, to_general(dtype), TN_RCX_, y);
    in_general(w, code, dtype);
    return from_general(w, dtype, TN_RAX_);
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

tn_i_reg tn_i_w_each(tn_i_walk *w, int code, int from, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    const int32_t in = tn_i_w_scratch(w, TN_W_X), other = tn_i_w_scratch(w, TN_W_Y), out = tn_i_w_scratch(w, TN_W_Z);
    const int32_t size = (int32_t)tn_i_dtype_size(from), result = (int32_t)tn_i_dtype_size(dtype);
    tn_i_w_mem at = tn_i_w_stack(in);
    tn_i_w_put_away(w, from, lanes, &at, x, TN_REG_NONE, false);
    at.disp = other;
    if (y != TN_REG_NONE) tn_i_w_put_away(w, from, lanes, &at, y, TN_REG_NONE, false);
    for (int32_t l = 0; l < (int32_t)lanes; l++) {
        const tn_i_w_mem a = tn_i_w_stack(in + l * size), b = tn_i_w_stack(other + l * size),
                         to = tn_i_w_stack(out + l * result);
        if (code == TN_L_convert) {
            const tn_i_reg e = tn_i_w_get(w, from, 1, &a, TN_REG_NONE);
            tn_i_w_put_away(w, dtype, 1, &to, tn_i_w_convert(w, from, dtype, 1, e), TN_REG_NONE, false);
            continue;
        }
        tn_i_w_fixed_load(w, TN_X_mov, (unsigned)size, TN_RAX_, &a);
        if (y != TN_REG_NONE) tn_i_w_fixed_load(w, TN_X_mov, (unsigned)size, TN_RCX_, &b);
        in_general(w, code, from);
        tn_i_w_store_op(w, TN_X_mov_to, (unsigned)size, TN_RAX_, &to, false);
    }
    at.disp = out;
    return tn_i_w_get(w, dtype, lanes, &at, TN_REG_NONE);
}

/* ---- vectors --------------------------------------------------------------------------------------------------------
 */

/* Products of halves of 32 bits: low low + (low high + high low) 2^32. */
static tn_i_reg multiply(tn_i_walk *w, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    const int d = TN_I64;
    if (w->m.wide) return put(w, TN_X_vpmullq, d, lanes, x, y, 0);
    if (lanes == 1) return one_general(w, TN_L_mul, d, x, y);
    const tn_i_reg low = put(w, TN_X_vpmuludq, d, lanes, x, y, 0),
                   high_x = tn_i_w_shift(w, TN_X_vpsrlq_i, d, lanes, x, 32),
                   high_y = tn_i_w_shift(w, TN_X_vpsrlq_i, d, lanes, y, 32),
                   a = put(w, TN_X_vpmuludq, d, lanes, high_x, y, 0), b = put(w, TN_X_vpmuludq, d, lanes, high_y, x, 0),
                   high = tn_i_w_shift(w, TN_X_vpsllq_i, d, lanes, put(w, TN_X_vpaddq, d, lanes, a, b, 0), 32);
    return put(w, TN_X_vpaddq, d, lanes, low, high, 0);
}

/* Quotients of 32 bits by way of f64, which has their numbers and so far between them that no quotient is rounded to
 * the next whole one.  What does not fit, of the least number by -1, is the least number; x / 0 is -1. */
static tn_i_reg quotients(tn_i_walk *w, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    if (8 * lanes > (w->m.wide ? 64 : 32)) {
        const unsigned h = lanes / 2, bytes = tn_i_w_bytes(w, TN_I32, lanes);
        const tn_i_reg low = quotients(w, h, x, y),
                       high = quotients(w, h, tn_i_w_upper(w, TN_I32, h, x), tn_i_w_upper(w, TN_I32, h, y));
        return tn_i_w_put_of(w, bytes == 64 ? TN_X_vinsertf64x4 : TN_X_vinsertf128, bytes, bytes, low, high, 1);
    }
    const unsigned bytes = tn_i_w_bytes(w, TN_F64, lanes);
    const tn_i_reg q = tn_i_w_put(w, TN_X_vdivpd, bytes, tn_i_w_convert(w, TN_I32, TN_F64, lanes, x),
                                  tn_i_w_convert(w, TN_I32, TN_F64, lanes, y), 0);
    return tn_i_w_put_of(w, TN_X_vcvttpd2dq, tn_i_w_size(bytes), tn_i_w_bytes(w, TN_I32, lanes), TN_REG_NONE, q, 0);
}

static tn_i_reg divided(tn_i_walk *w, bool rest, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    const int d = TN_I32;
    const tn_i_reg none = tn_i_w_compare(w, TN_L_eq, d, lanes, y, all(w, d, lanes, 0));
    const tn_i_reg q = tn_i_w_select(w, d, lanes, none, all(w, d, lanes, -1), quotients(w, lanes, x, y));
    if (!rest) return q;
    return put(w, TN_X_vpsubd, d, lanes, x, put(w, TN_X_vpmulld, d, lanes, q, y, 0), 0);
}

/* Shifts by a number: the destination stands in v's place. */
tn_i_reg tn_i_w_shift(tn_i_walk *w, unsigned op, int dtype, unsigned lanes, tn_i_reg x, int by) {
    const unsigned bytes = tn_i_w_bytes(w, dtype, lanes);
    tn_i_mi in = tn_i_m_blank(op, tn_i_w_size(bytes));
    in.r = tn_i_m_new(&w->m, TN_CLASS_V, bytes);
    in.m = x;
    in.imm = by;
    in.flags = TN_MI_R | TN_MI_PURE | TN_MI_IN_V;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

static tn_i_reg shift(tn_i_walk *w, bool left, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    const bool wide = dtype == TN_I64;
    const tn_i_reg by = put(w, TN_X_vpandd, dtype, lanes, y, all(w, dtype, lanes, wide ? 63 : 31), 0);
    return put(w,
               left   ? wide ? TN_X_vpsllvq : TN_X_vpsllvd
               : wide ? TN_X_vpsrlvq
                      : TN_X_vpsrlvd,
               dtype, lanes, x, by, 0);
}

static tn_i_reg extreme(tn_i_walk *w, bool greater, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    if (dtype == TN_U32) return put(w, greater ? TN_X_vpmaxud : TN_X_vpminud, dtype, lanes, x, y, 0);
    if (dtype == TN_I32) return put(w, greater ? TN_X_vpmaxsd : TN_X_vpminsd, dtype, lanes, x, y, 0);
    if (w->m.wide) return put(w, greater ? TN_X_vpmaxsq : TN_X_vpminsq, dtype, lanes, x, y, 0);
    const tn_i_reg first = tn_i_w_compare(w, greater ? TN_L_gt : TN_L_lt, dtype, lanes, x, y);
    return tn_i_w_select(w, dtype, lanes, first, x, y);
}

static tn_i_reg absolute(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg x) {
    if (dtype == TN_I32) return put(w, TN_X_vpabsd, dtype, lanes, TN_REG_NONE, x, 0);
    if (w->m.wide) return put(w, TN_X_vpabsq, dtype, lanes, TN_REG_NONE, x, 0);
    const tn_i_reg sign = put(w, TN_X_vpcmpgtq, dtype, lanes, all(w, dtype, lanes, 0), x, 0);
    return put(w, TN_X_vpsubq, dtype, lanes, put(w, TN_X_vpxord, dtype, lanes, x, sign, 0), sign, 0);
}

tn_i_reg tn_i_w_integers(tn_i_walk *w, int code, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    const bool wide = dtype == TN_I64;
    switch (code) {
    case TN_L_add: return put(w, wide ? TN_X_vpaddq : TN_X_vpaddd, dtype, lanes, x, y, 0);
    case TN_L_sub: return put(w, wide ? TN_X_vpsubq : TN_X_vpsubd, dtype, lanes, x, y, 0);
    case TN_L_neg: return put(w, wide ? TN_X_vpsubq : TN_X_vpsubd, dtype, lanes, all(w, dtype, lanes, 0), x, 0);
    case TN_L_mul: return wide ? multiply(w, lanes, x, y) : put(w, TN_X_vpmulld, dtype, lanes, x, y, 0);
    case TN_L_abs: return absolute(w, dtype, lanes, x);
    case TN_L_max:
    case TN_L_min: return extreme(w, code == TN_L_max, dtype, lanes, x, y);
    case TN_L_and: return put(w, TN_X_vpandd, dtype, lanes, x, y, 0);
    case TN_L_or: return put(w, TN_X_vpord, dtype, lanes, x, y, 0);
    case TN_L_xor: return put(w, TN_X_vpxord, dtype, lanes, x, y, 0);
    case TN_L_not: return put(w, TN_X_vpxord, dtype, lanes, x, all(w, dtype, lanes, -1), 0);
    case TN_L_shl:
    case TN_L_shr: return shift(w, code == TN_L_shl, dtype, lanes, x, y);
    case TN_L_div:
    case TN_L_rem:
    case TN_L_ctz:
        if (code != TN_L_ctz && dtype == TN_I32 && lanes > 1) return divided(w, code == TN_L_rem, lanes, x, y);
        return lanes == 1 ? one_general(w, code, dtype, x, y) : tn_i_w_each(w, code, dtype, dtype, lanes, x, y);
    default: break;
    }
    tn_i_w_refuse(w, "an operation of integers that is not known here");
    return x;
}
