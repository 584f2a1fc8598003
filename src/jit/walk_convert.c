/* Conversions on a piece (prims/scalar/convert.c): floats to integers go towards 0 and saturate, NaN becomes 0. */
#include "jit/walk.h"

static tn_i_reg put(tn_i_walk *w, unsigned op, int from, int to, unsigned lanes, tn_i_reg v, tn_i_reg x) {
    const unsigned bytes = tn_i_w_bytes(w, to, lanes), given = tn_i_w_bytes(w, from, lanes);
    return tn_i_w_put_of(w, op, tn_i_w_size(bytes > given ? bytes : given), bytes, v, x, 0);
}

static tn_i_reg all(tn_i_walk *w, int dtype, unsigned lanes, uint64_t bits) {
    return tn_i_w_all(w, dtype, bits, tn_i_w_size(tn_i_w_bytes(w, dtype, lanes)));
}

static tn_i_reg logic(tn_i_walk *w, unsigned op, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    return tn_i_w_put(w, op, tn_i_w_bytes(w, dtype, lanes), x, y, 0);
}

/* ---- to floats --------------------------------------------------------------------------------------------- */

static tn_i_reg one_of_i64(tn_i_walk *w, int to, tn_i_reg x) {
    const bool wide = to == TN_F64;
    tn_i_w_from_vector(w, TN_X_vmovq_r, TN_RAX_, x);
    return tn_i_w_put_of(w, wide ? TN_X_vcvtsi2sd_q : TN_X_vcvtsi2ss_q, 16, wide ? 8 : 4, all(w, TN_I64, 1, 0), TN_RAX_,
                         0);
}

/* The upper halves, with the exponent of 2^84 and their sign turned, and the lower ones with that of 2^52: less what
 * that is too much the upper ones are numbers, and their sum with the lower ones is rounded once. */
static tn_i_reg many_of_i64(tn_i_walk *w, unsigned lanes, tn_i_reg x) {
    const tn_i_reg high = logic(w, TN_X_vpxord, TN_I64, lanes, tn_i_w_shift(w, TN_X_vpsrlq_i, TN_I64, lanes, x, 32),
                                all(w, TN_I64, lanes, 0x4530000080000000u)),
                   low = logic(w, TN_X_vpord, TN_I64, lanes,
                               logic(w, TN_X_vpandd, TN_I64, lanes, x, all(w, TN_I64, lanes, UINT32_MAX)),
                               all(w, TN_I64, lanes, 0x4330000000000000u));
    const tn_i_reg less = logic(w, TN_X_vsubpd, TN_F64, lanes, high, all(w, TN_F64, lanes, 0x4530000080100000u));
    return logic(w, TN_X_vaddpd, TN_F64, lanes, less, low);
}

static tn_i_reg to_float(tn_i_walk *w, int from, int to, unsigned lanes, tn_i_reg x) {
    const bool wide = to == TN_F64;
    switch (from) {
    case TN_F32:
        return put(w, lanes == 1 ? TN_X_vcvtss2sd : TN_X_vcvtps2pd, from, to, lanes, lanes == 1 ? x : TN_REG_NONE, x);
    case TN_F64:
        return put(w, lanes == 1 ? TN_X_vcvtsd2ss : TN_X_vcvtpd2ps, from, to, lanes, lanes == 1 ? x : TN_REG_NONE, x);
    case TN_I32: return put(w, wide ? TN_X_vcvtdq2pd : TN_X_vcvtdq2ps, from, to, lanes, TN_REG_NONE, x);
    case TN_I64:
        if (lanes == 1) return one_of_i64(w, to, x);
        if (wide && !w->m.wide) return many_of_i64(w, lanes, x);
        if (w->m.wide) return put(w, wide ? TN_X_vcvtqq2pd : TN_X_vcvtqq2ps, from, to, lanes, TN_REG_NONE, x);
        return tn_i_w_each(w, TN_L_convert, from, to, lanes, x, TN_REG_NONE);
    default:
        return tn_i_w_select(w, to, lanes, x, all(w, to, lanes, wide ? 0x3FF0000000000000u : 0x3F800000u),
                             all(w, to, lanes, 0));
    }
}

/* ---- floats to integers --------------------------------------------------------------------------------------- */

/* The processor gives the least number for all that is none; r, which is that: the greatest where x >= limit, 0 where
 * x is NaN. */
static tn_i_reg saturated(tn_i_walk *w, int from, int to, unsigned lanes, tn_i_reg x, tn_i_reg r, uint64_t limit) {
    const tn_i_reg beyond = tn_i_w_compare(w, TN_L_ge, from, lanes, x, all(w, from, lanes, limit)),
                   number = tn_i_w_compare(w, TN_L_eq, from, lanes, x, x);
    const tn_i_reg greatest = all(w, to, lanes, to == TN_I64 ? (uint64_t)INT64_MAX : (uint64_t)INT32_MAX);
    r = tn_i_w_select(w, to, lanes, beyond, greatest, r);
    return tn_i_w_select(w, to, lanes, number, r, all(w, to, lanes, 0));
}

static tn_i_reg one_to_i64(tn_i_walk *w, int from, tn_i_reg x) {
    tn_i_w_general(w, from == TN_F64 ? TN_X_vcvttsd2si_q : TN_X_vcvttss2si_q, 16, TN_RAX_, x, 0);
    return tn_i_w_put(w, TN_X_vmovq_x, 8, TN_REG_NONE, TN_RAX_, 0);
}

static tn_i_reg to_integer(tn_i_walk *w, int from, int to, unsigned lanes, tn_i_reg x) {
    static const uint64_t limit[2][2] = {{0x4F000000u, 0x41E0000000000000u}, {0x5F000000u, 0x43E0000000000000u}};
    const bool wide = from == TN_F64, long_ = to == TN_I64;
    tn_i_reg r;
    if (!long_)
        r = put(w, wide ? TN_X_vcvttpd2dq : TN_X_vcvttps2dq, from, to, lanes, TN_REG_NONE, x);
    else if (lanes == 1)
        r = one_to_i64(w, from, x);
    else if (w->m.wide)
        r = put(w, wide ? TN_X_vcvttpd2qq : TN_X_vcvttps2qq, from, to, lanes, TN_REG_NONE, x);
    else
        return tn_i_w_each(w, TN_L_convert, from, to, lanes, x, TN_REG_NONE);
    return saturated(w, from, to, lanes, x, r, limit[long_][wide]);
}

/* ---- integers and bools ------------------------------------------------------------------------------------------ */

/* The lower half of each. */
static tn_i_reg narrowed(tn_i_walk *w, unsigned lanes, tn_i_reg x) {
    if (lanes == 1) return tn_i_w_put_of(w, TN_X_vpshufd, 16, 4, TN_REG_NONE, x, 0);
    if (lanes == 2) return tn_i_w_put_of(w, TN_X_vpshufd, 16, 16, TN_REG_NONE, x, 0x08);
    if (w->m.wide) return tn_i_w_narrow(w, TN_X_vpmovqd_to, lanes * 8, tn_i_w_bytes(w, TN_I32, lanes), x, 0);
    const tn_i_reg high = tn_i_w_narrow(w, TN_X_vextractf128, 32, 16, x, 1);
    return tn_i_w_put_of(w, TN_X_vshufps, 16, 16, x, high, 0x88);
}

static tn_i_reg from_bool(tn_i_walk *w, int to, unsigned lanes, tn_i_reg x) {
    if (w->m.wide) return tn_i_w_select(w, to, lanes, x, all(w, to, lanes, 1), all(w, to, lanes, 0));
    const tn_i_reg mask = tn_i_w_mask_as(w, (unsigned)tn_i_dtype_size(to), lanes, x);
    return logic(w, TN_X_vpandd, to, lanes, mask, all(w, to, lanes, 1));
}

tn_i_reg tn_i_w_convert(tn_i_walk *w, int from, int to, unsigned lanes, tn_i_reg x) {
    if (from == to || w->m.failed) return x;
    if (to == TN_BOOL) return tn_i_w_compare(w, TN_L_ne, from, lanes, x, all(w, from, lanes, 0));
    if (from == TN_U32 ? tn_i_is_float(to) : to == TN_U32 && tn_i_is_float(from)) {
        tn_i_w_refuse(w, "a conversion between u32 and floats");
        return x;
    }
    if (tn_i_is_float(to)) return to_float(w, from, to, lanes, x);
    if (tn_i_is_float(from)) return to_integer(w, from, to, lanes, x);
    if (from == TN_BOOL) return from_bool(w, to, lanes, x);
    if (from == TN_I64) return narrowed(w, lanes, x);
    if (to != TN_I64) return x; /* of as many bits */
    if (from == TN_U32) return put(w, TN_X_vpmovzxdq, from, to, lanes, TN_REG_NONE, x);
    return put(w, TN_X_vpmovsxdq, from, to, lanes, TN_REG_NONE, x);
}
