/* Numbers of dtypes that memory alone has (prims/held.h): into registers of their holder, of 4 bytes each, and back. */
#include "jit/walk.h"
#include "prims/held.h"

static tn_i_reg shifted(tn_i_walk *w, unsigned op, unsigned lanes, tn_i_reg x, int by) {
    return tn_i_w_shift(w, op, TN_I32, lanes, x, by);
}

static tn_i_reg with(tn_i_walk *w, unsigned op, unsigned lanes, tn_i_reg x, uint32_t bits) {
    const unsigned bytes = tn_i_w_bytes(w, TN_U32, lanes);
    return tn_i_w_put(w, op, bytes, x, tn_i_w_all(w, TN_U32, bits, tn_i_w_size(bytes)), 0);
}

/* What of a mask, or of all, there is. */
static tn_i_reg of_lanes(tn_i_walk *w, unsigned lanes, tn_i_reg mask) {
    if (lanes >= 4) return mask;
    return tn_i_w_and(w, lanes, mask, tn_i_m_number(&w->m, TN_CLASS_K, ((int64_t)1 << lanes) - 1));
}

/* ---- from memory ---------------------------------------------------------------------------------------- */

static unsigned widening(int dtype) {
    switch (dtype) {
    case TN_I8: return TN_X_vpmovsxbd;
    case TN_U8: return TN_X_vpmovzxbd;
    case TN_I16: return TN_X_vpmovsxwd;
    case TN_F16: return TN_X_vcvtph2ps;
    default: return TN_X_vpmovzxwd;
    }
}

/* Fewer bytes than vectors are read by: 1, 2 or 4. */
static tn_i_reg get_few(tn_i_walk *w, unsigned bytes, const tn_i_w_mem *at) {
    if (bytes == 4) return tn_i_w_load_op(w, TN_X_vmovss, 16, 16, TN_REG_NONE, at);
    return tn_i_w_load_op(w, bytes == 1 ? TN_X_vpinsrb : TN_X_vpinsrw, 16, 16, tn_i_w_all(w, TN_I32, 0, 16), at);
}

tn_i_reg tn_i_w_get_held(tn_i_walk *w, int dtype, unsigned lanes, const tn_i_w_mem *at, tn_i_reg mask) {
    const unsigned op = widening(dtype), bytes = tn_i_w_bytes(w, TN_I32, lanes), size = tn_i_w_size(bytes);
    tn_i_reg x;
    if (lanes < 4 && mask == TN_REG_NONE)
        x = tn_i_w_put_of(w, op, size, bytes, TN_REG_NONE, get_few(w, lanes * (unsigned)tn_i_dtype_size(dtype), at), 0);
    else {
        if (mask != TN_REG_NONE) mask = of_lanes(w, lanes, mask);
        x = tn_i_w_load_op(w, op, size, bytes, TN_REG_NONE, at);
        if (mask != TN_REG_NONE) tn_i_w_mask_last(w, mask, true);
    }
    return dtype == TN_BF16 ? shifted(w, TN_X_vpslld_i, lanes, x, 16) : x;
}

/* ---- what memory has ------------------------------------------------------------------------------------- */

/* The upper half of the bits, to nearest, ties to even; NaNs stay so. */
static tn_i_reg upper_half(tn_i_walk *w, unsigned lanes, tn_i_reg x) {
    const tn_i_reg half = shifted(w, TN_X_vpsrld_i, lanes, x, 16), odd = with(w, TN_X_vpandd, lanes, half, 1);
    const tn_i_reg up = with(w, TN_X_vpaddd, lanes, x, 0x7fff);
    const tn_i_reg near =
        shifted(w, TN_X_vpsrld_i, lanes, tn_i_w_put(w, TN_X_vpaddd, tn_i_w_bytes(w, TN_I32, lanes), up, odd, 0), 16);
    const tn_i_reg nan = tn_i_w_compare(w, TN_L_ne, TN_F32, lanes, x, x);
    return tn_i_w_select(w, TN_F32, lanes, nan, with(w, TN_X_vpord, lanes, half, 0x40), near);
}

static tn_i_reg to_f16(tn_i_walk *w, unsigned lanes, tn_i_reg x) {
    const unsigned size = tn_i_w_size(tn_i_w_bytes(w, TN_F32, lanes));
    return tn_i_w_narrow(w, TN_X_vcvtps2ph, size, size == 64 ? 32 : 16, x, 0);
}

tn_i_reg tn_i_w_as(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg x) {
    const unsigned bytes = tn_i_w_bytes(w, TN_I32, lanes);
    const int above = 32 - 8 * (int)tn_i_dtype_size(dtype);
    if (dtype == TN_F16)
        return tn_i_w_put_of(w, TN_X_vcvtph2ps, tn_i_w_size(bytes), bytes, TN_REG_NONE, to_f16(w, lanes, x), 0);
    if (dtype == TN_BF16) return shifted(w, TN_X_vpslld_i, lanes, upper_half(w, lanes, x), 16);
    if (tn_i_is_unsigned(dtype)) return with(w, TN_X_vpandd, lanes, x, UINT32_MAX >> above);
    return shifted(w, TN_X_vpsrad_i, lanes, shifted(w, TN_X_vpslld_i, lanes, x, above), above);
}

/* ---- to memory ------------------------------------------------------------------------------------------- */

/* The low 1 or 2 bytes of each lane, side by side (AVX2). */
static tn_i_reg packed(tn_i_walk *w, unsigned size, unsigned lanes, tn_i_reg x) {
    const tn_i_reg low = with(w, TN_X_vpandd, lanes, x, size == 1 ? 0xff : 0xffff);
    const tn_i_reg high = lanes == 8 ? tn_i_w_narrow(w, TN_X_vextractf128, 32, 16, low, 1) : low;
    const tn_i_reg words = tn_i_w_put(w, TN_X_vpackusdw, 16, low, high, 0);
    return size == 1 ? tn_i_w_put(w, TN_X_vpackuswb, 16, words, words, 0) : words;
}

static void put_few(tn_i_walk *w, unsigned bytes, const tn_i_w_mem *at, tn_i_reg x, bool array) {
    const unsigned op = bytes == 1   ? TN_X_vpextrb_to
                        : bytes == 2 ? TN_X_vpextrw_to
                        : bytes == 4 ? TN_X_vmovss_to
                        : bytes == 8 ? TN_X_vmovsd_to
                                     : TN_X_vmovups_to;
    tn_i_w_store_op(w, op, 16, x, at, array);
}

void tn_i_w_put_held(tn_i_walk *w, int dtype, unsigned lanes, const tn_i_w_mem *at, tn_i_reg x, tn_i_reg mask,
                     bool array) {
    const unsigned size = (unsigned)tn_i_dtype_size(dtype), bytes = tn_i_w_size(tn_i_w_bytes(w, TN_I32, lanes));
    const bool half = dtype == TN_F16, direct = lanes > 1 && (w->m.wide || (half && lanes >= 4));
    if (dtype == TN_BF16) x = upper_half(w, lanes, x);
    if (!direct) {
        if (half) x = to_f16(w, lanes, x);
        put_few(w, lanes * size, at, lanes > 1 && !half ? packed(w, size, lanes, x) : x, array);
        return;
    }
    if (w->m.wide) mask = of_lanes(w, lanes, mask);
    tn_i_w_store_op(w, half ? TN_X_vcvtps2ph : size == 1 ? TN_X_vpmovdb_to : TN_X_vpmovdw_to, bytes, x, at, array);
    if (mask != TN_REG_NONE) tn_i_w_mask_last(w, mask, false);
}
