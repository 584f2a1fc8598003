/* Bools, comparisons and choices on a piece: masks of AVX-512, elements of ones or zeros of AVX2 (jit/walk.h). */
#include "jit/walk.h"

/* ---- as elements of other sizes (AVX2) -------------------------------------------------------------------- */

static unsigned own(const tn_i_walk *w, unsigned lanes) { return lanes == 1 ? TN_W_MASK_BYTES : w->mask; }

/* The mask of 4 bytes a lane that p was made of not long ago, as a comparison of such elements is. */
static tn_i_reg narrow_of(const tn_i_walk *w, tn_i_reg p) {
    enum { FAR = 128 };
    for (size_t n = w->m.nin, k = n; k-- > 0 && n - k < FAR;) {
        const tn_i_mi *in = &w->m.in[k];
        if (in->op == TN_X_vpmovsxdq && in->r == p) return in->flags & TN_MI_MEM ? TN_REG_NONE : in->m;
    }
    return TN_REG_NONE;
}

tn_i_reg tn_i_w_mask_as(tn_i_walk *w, unsigned bytes, unsigned lanes, tn_i_reg p) {
    if (bytes == own(w, lanes) || lanes == 1 || w->m.failed) return p; /* one of 8 is one of 4, too */
    const tn_i_reg before = narrow_of(w, p);
    if (before != TN_REG_NONE) return before;
    if (lanes == 2) return tn_i_w_put_of(w, TN_X_vpshufd, 16, 16, TN_REG_NONE, p, 0x08);
    const tn_i_reg high = tn_i_w_narrow(w, TN_X_vextractf128, 32, 16, p, 1);
    return tn_i_w_put_of(w, TN_X_vshufps, 16, 16, p, high, 0x88);
}

tn_i_reg tn_i_w_mask_from(tn_i_walk *w, unsigned bytes, unsigned lanes, tn_i_reg p) {
    if (bytes == own(w, lanes) || w->m.failed) return p;
    if (lanes == 1) return tn_i_w_put_of(w, TN_X_vpshufd, 16, 8, TN_REG_NONE, p, 0);
    return tn_i_w_put_of(w, TN_X_vpmovsxdq, lanes * 8, lanes * 8, TN_REG_NONE, p, 0);
}

/* ---- logic ---------------------------------------------------------------------------------------------------- */

static tn_i_reg logic(tn_i_walk *w, unsigned mask, unsigned vector, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    if (w->m.wide) return tn_i_w_put_k(w, mask, 0, x, y, 0);
    const unsigned bytes = tn_i_w_bytes(w, TN_BOOL, lanes);
    return tn_i_w_put_of(w, vector, tn_i_w_size(bytes), bytes, x, y, 0);
}

static tn_i_reg not(tn_i_walk * w, unsigned lanes, tn_i_reg x) {
    if (w->m.wide) return tn_i_w_put_k(w, TN_X_knotw, 0, TN_REG_NONE, x, 0);
    return logic(w, 0, TN_X_vxorps, lanes, x, tn_i_w_ones(w, lanes));
}

tn_i_reg tn_i_w_ones(tn_i_walk *w, unsigned lanes) {
    return tn_i_w_all(w, TN_I32, UINT32_MAX, tn_i_w_size(tn_i_w_bytes(w, TN_BOOL, lanes)));
}

tn_i_reg tn_i_w_and(tn_i_walk *w, unsigned lanes, tn_i_reg p, tn_i_reg q) {
    if (p == TN_REG_NONE || tn_i_w_always(w, p)) return q;
    return q == TN_REG_NONE ? p : logic(w, TN_X_kandw, TN_X_vandps, lanes, p, q);
}

tn_i_reg tn_i_w_bools(tn_i_walk *w, int code, unsigned lanes, tn_i_reg x, tn_i_reg y, tn_i_reg z) {
#define AND(x, y)  logic(w, TN_X_kandw, TN_X_vandps, lanes, x, y)
#define OR(x, y)   logic(w, TN_X_korw, TN_X_vorps, lanes, x, y)
#define XOR(x, y)  logic(w, TN_X_kxorw, TN_X_vxorps, lanes, x, y)
#define ANDN(x, y) logic(w, TN_X_kandnw, TN_X_vandnps, lanes, x, y) /* y and not x */
    switch (code) {
    case TN_L_and: return AND(x, y);
    case TN_L_or: return OR(x, y);
    case TN_L_xor:
    case TN_L_ne: return XOR(x, y);
    case TN_L_eq: return not(w, lanes, XOR(x, y));
    case TN_L_not: return not(w, lanes, x);
    case TN_L_lt: return ANDN(x, y);
    case TN_L_ge: return not(w, lanes, ANDN(x, y));
    case TN_L_gt: return ANDN(y, x);
    case TN_L_le: return not(w, lanes, ANDN(y, x));
    case TN_L_select: return OR(AND(x, y), ANDN(x, z));
    default: break;
    }
#undef AND
#undef OR
#undef XOR
#undef ANDN
    tn_i_w_refuse(w, "an operation of bools that is not known here");
    return x;
}

void tn_i_w_test(tn_i_walk *w, tn_i_reg p) {
    if (w->m.wide) {
        tn_i_w_general(w, TN_X_kmovd_r, 0, TN_RAX_, p, 0);
        tn_i_w_imm(w, TN_X_test_i, 4, TN_RAX_, 1);
        return;
    }
    tn_i_mi test = tn_i_m_blank(TN_X_test, 4);
    tn_i_w_from_vector(w, TN_X_vmovd_r, TN_RAX_, p);
    test.r = test.m = TN_RAX_;
    tn_i_m_add(&w->m, &test);
}

void tn_i_w_test_all(tn_i_walk *w, unsigned lanes, tn_i_reg p) {
    const int32_t all = (int32_t)((UINT32_C(1) << lanes) - 1);
    const unsigned bytes = tn_i_w_size(lanes * w->mask);
    if (w->m.wide)
        tn_i_w_general(w, TN_X_kmovd_r, 0, TN_RAX_, p, 0);
    else
        tn_i_w_general(w, w->mask == 8 ? TN_X_vmovmskpd : TN_X_vmovmskps, bytes, TN_RAX_, p, 0);
    tn_i_w_imm(w, TN_X_and_i, 4, TN_RAX_, all);
    tn_i_w_imm(w, TN_X_cmp_i, 4, TN_RAX_, all);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static tn_i_reg compare_floats(tn_i_walk *w, int code, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    static const uint8_t how[] = {TN_X_EQ, TN_X_NE, TN_X_LT, TN_X_LE, TN_X_GT, TN_X_GE};
    const bool wide = dtype == TN_F64;
    const unsigned bytes = tn_i_w_bytes(w, dtype, lanes);
    const int predicate = how[code - TN_L_eq];
    if (w->m.wide) {
        const unsigned op = lanes == 1 ? wide ? TN_X_vcmpsd_k : TN_X_vcmpss_k : wide ? TN_X_vcmppd_k : TN_X_vcmpps_k;
        return tn_i_w_put_k(w, op, tn_i_w_size(bytes), x, y, predicate);
    }
    const unsigned op = lanes == 1 ? wide ? TN_X_vcmpsd : TN_X_vcmpss : wide ? TN_X_vcmppd : TN_X_vcmpps;
    return tn_i_w_mask_from(w, wide ? 8 : 4, lanes, tn_i_w_put(w, op, bytes, x, y, predicate));
}

static tn_i_reg compare_integers(tn_i_walk *w, int code, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    static const uint8_t how[] = {TN_X_IEQ, TN_X_INE, TN_X_ILT, TN_X_ILE, TN_X_IGT, TN_X_IGE};
    const bool wide = dtype == TN_I64, equal = code == TN_L_eq || code == TN_L_ne;
    const unsigned bytes = tn_i_w_bytes(w, dtype, lanes);
    if (w->m.wide)
        return tn_i_w_put_k(w,
                            wide              ? TN_X_vpcmpq
                            : dtype == TN_U32 ? TN_X_vpcmpud
                                              : TN_X_vpcmpd,
                            tn_i_w_size(bytes), x, y, how[code - TN_L_eq]);
    if (dtype == TN_U32 && !equal) { /* in the order of signed numbers, from the least of them */
        const tn_i_reg least = tn_i_w_all(w, dtype, UINT64_C(1) << 31, tn_i_w_size(bytes));
        x = tn_i_w_put(w, TN_X_vpxord, bytes, x, least, 0);
        y = tn_i_w_put(w, TN_X_vpxord, bytes, y, least, 0);
    }
    const bool turned = code == TN_L_lt || code == TN_L_ge,
               negated = code == TN_L_ne || code == TN_L_le || code == TN_L_ge;
    const unsigned op = equal ? wide ? TN_X_vpcmpeqq : TN_X_vpcmpeqd : wide ? TN_X_vpcmpgtq : TN_X_vpcmpgtd;
    const tn_i_reg r =
        tn_i_w_mask_from(w, wide ? 8 : 4, lanes, tn_i_w_put(w, op, bytes, turned ? y : x, turned ? x : y, 0));
    return negated ? not(w, lanes, r) : r;
}

tn_i_reg tn_i_w_compare(tn_i_walk *w, int code, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    return tn_i_is_float(dtype) ? compare_floats(w, code, dtype, lanes, x, y)
                                : compare_integers(w, code, dtype, lanes, x, y);
}

/* ---- choosing ------------------------------------------------------------------------------------------------------
 */

tn_i_reg tn_i_w_select(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg p, tn_i_reg x, tn_i_reg y) {
    if (lanes > 1 && (tn_i_w_never(w, p) || tn_i_w_always(w, p))) return tn_i_w_never(w, p) ? y : x;
    if (dtype == TN_BOOL) return tn_i_w_bools(w, TN_L_select, lanes, p, x, y);
    const bool wide = tn_i_dtype_size(dtype) == 8;
    const unsigned bytes = tn_i_w_bytes(w, dtype, lanes);
    if (w->m.wide) {
        const tn_i_reg r = tn_i_w_put(w, wide ? TN_X_vblendmpd : TN_X_vblendmps, bytes, y, x, 0);
        tn_i_w_mask_last(w, p, false);
        return r;
    }
    tn_i_mi in = tn_i_m_blank(wide ? TN_X_vblendvpd : TN_X_vblendvps, tn_i_w_size(bytes));
    in.s = tn_i_w_mask_as(w, wide ? 8 : 4, lanes, p);
    in.v = y;
    in.m = x;
    in.r = tn_i_m_new(&w->m, TN_CLASS_V, bytes);
    in.flags = TN_MI_R | TN_MI_PURE;
    tn_i_m_add(&w->m, &in);
    return in.r;
}
