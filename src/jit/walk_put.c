/* Instructions and numbers, as those who choose them write them (jit/walk.h). */
#include "jit/walk.h"

#include <string.h>

bool tn_i_w_grow(tn_i_walk *w, void *p, size_t *capacity, size_t want, size_t size) {
    void *q;
    if (w->m.failed) return false;
    memcpy(&q, p, sizeof q);
    w->m.failed = !tn_i_grow(w->ctx, &q, capacity, want, size);
    memcpy(p, &q, sizeof q);
    return !w->m.failed;
}

/* ---- instructions -------------------------------------------------------------------------------- */

static bool commutes(unsigned op) {
    switch (op) {
    case TN_X_vaddps:
    case TN_X_vaddpd:
    case TN_X_vmulps:
    case TN_X_vmulpd:
    case TN_X_vaddss:
    case TN_X_vaddsd:
    case TN_X_vmulss:
    case TN_X_vmulsd:
    case TN_X_vandps:
    case TN_X_vandpd:
    case TN_X_vorps:
    case TN_X_vorpd:
    case TN_X_vxorps:
    case TN_X_vxorpd:
    case TN_X_vpaddd:
    case TN_X_vpaddq:
    case TN_X_vpmulld:
    case TN_X_vpmullq:
    case TN_X_vpmuludq:
    case TN_X_vpandd:
    case TN_X_vpandq:
    case TN_X_vpord:
    case TN_X_vporq:
    case TN_X_vpxord:
    case TN_X_vpxorq:
    case TN_X_vpminsd:
    case TN_X_vpmaxsd:
    case TN_X_vpminsq:
    case TN_X_vpmaxsq:
    case TN_X_vpcmpeqd:
    case TN_X_vpcmpeqq: return true;
    default: return false;
    }
}

static tn_i_reg add_vector(tn_i_walk *w, tn_i_mi in, int class, unsigned bytes) {
    in.r = tn_i_m_new(&w->m, class, bytes);
    in.flags |= TN_MI_R | TN_MI_PURE;
    if (commutes(in.op) && !(in.flags & TN_MI_MEM)) in.flags |= TN_MI_SWAP;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

tn_i_reg tn_i_w_put_of(tn_i_walk *w, unsigned op, unsigned size, unsigned bytes, tn_i_reg v, tn_i_reg m, int imm) {
    tn_i_mi in = tn_i_m_blank(op, size);
    in.v = v;
    in.m = m;
    in.imm = imm;
    return add_vector(w, in, TN_CLASS_V, bytes);
}

tn_i_reg tn_i_w_put(tn_i_walk *w, unsigned op, unsigned bytes, tn_i_reg v, tn_i_reg m, int imm) {
    return tn_i_w_put_of(w, op, tn_i_w_size(bytes), bytes, v, m, imm);
}

tn_i_reg tn_i_w_narrow(tn_i_walk *w, unsigned op, unsigned size, unsigned bytes, tn_i_reg x, int imm) {
    tn_i_mi in = tn_i_m_blank(op, size);
    in.m = tn_i_m_new(&w->m, TN_CLASS_V, bytes);
    in.r = x;
    in.imm = imm;
    in.flags = TN_MI_M | TN_MI_PURE;
    tn_i_m_add(&w->m, &in);
    return in.m;
}

tn_i_reg tn_i_w_put_k(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg v, tn_i_reg m, int imm) {
    tn_i_mi in = tn_i_m_blank(op, size);
    in.v = v;
    in.m = m;
    in.imm = imm;
    return add_vector(w, in, TN_CLASS_K, 8);
}

static void add_general(tn_i_walk *w, tn_i_mi in, tn_i_reg r) {
    in.r = r;
    in.flags |= TN_MI_R;
    tn_i_m_add(&w->m, &in);
}

void tn_i_w_general(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg r, tn_i_reg m, int32_t imm) {
    tn_i_mi in = tn_i_m_blank(op, size);
    in.m = m;
    in.imm = imm;
    add_general(w, in, r);
}

void tn_i_w_two(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg r, tn_i_reg m) {
    tn_i_mi in = tn_i_m_blank(op, size);
    in.m = m;
    add_general(w, in, r);
}

void tn_i_w_imm(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg m, int32_t imm) {
    tn_i_mi in = tn_i_m_blank(op, size);
    in.m = m;
    in.imm = imm;
    tn_i_m_add(&w->m, &in);
}

void tn_i_w_cmp(tn_i_walk *w, tn_i_reg r, tn_i_reg m) {
    tn_i_mi in = tn_i_m_blank(TN_X_cmp, 8);
    in.r = r;
    in.m = m;
    tn_i_m_add(&w->m, &in);
}

void tn_i_w_cmp_number(tn_i_walk *w, tn_i_reg r, int64_t x) {
    if (x >= INT32_MIN && x <= INT32_MAX)
        tn_i_w_imm(w, TN_X_cmp_i, 8, r, (int32_t)x);
    else
        tn_i_w_cmp(w, r, tn_i_m_number(&w->m, TN_CLASS_G, x));
}

void tn_i_w_cmov(tn_i_walk *w, unsigned cc, tn_i_reg r, tn_i_reg m) {
    tn_i_mi in = tn_i_m_blank(TN_X_cmov, 8);
    in.cc = (uint8_t)cc;
    in.m = m;
    add_general(w, in, r);
}

void tn_i_w_set(tn_i_walk *w, tn_i_reg r, int64_t x) {
    tn_i_mi in = tn_i_m_blank(TN_M_SET, 8);
    if (x >= INT32_MIN && x <= INT32_MAX)
        in.imm = (int32_t)x;
    else
        in.m = tn_i_m_number(&w->m, TN_CLASS_G, x);
    add_general(w, in, r);
}

void tn_i_w_add(tn_i_walk *w, unsigned op, unsigned cc, int32_t imm) {
    tn_i_mi in = tn_i_m_blank(op, 0);
    in.cc = (uint8_t)cc;
    in.imm = imm;
    tn_i_m_add(&w->m, &in);
}

static tn_i_mi with_memory(unsigned op, unsigned size, const tn_i_w_mem *at) {
    tn_i_mi in = tn_i_m_blank(op, size);
    in.flags = TN_MI_MEM;
    in.base = at->base;
    in.index = at->index;
    in.scale = at->scale;
    in.disp = at->disp;
    return in;
}

tn_i_reg tn_i_w_load_op(tn_i_walk *w, unsigned op, unsigned size, unsigned bytes, tn_i_reg v, const tn_i_w_mem *at) {
    tn_i_mi in = with_memory(op, size, at);
    in.v = v;
    return add_vector(w, in, TN_CLASS_V, bytes);
}

void tn_i_w_store_op(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg r, const tn_i_w_mem *at, bool array) {
    tn_i_mi in = with_memory(op, size, at);
    in.r = r;
    if (array) in.flags |= TN_MI_WRITES;
    tn_i_m_add(&w->m, &in);
}

void tn_i_w_fixed_load(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg r, const tn_i_w_mem *at) {
    add_general(w, with_memory(op, size, at), r);
}

void tn_i_w_mask_last(tn_i_walk *w, tn_i_reg mask, bool zero) {
    if (w->m.failed) return;
    w->m.in[w->m.nin - 1].k = mask;
    if (zero) w->m.in[w->m.nin - 1].flags |= TN_MI_ZERO;
    tn_i_m_use(&w->m, mask);
}

void tn_i_w_last_v(tn_i_walk *w, tn_i_reg v) {
    if (w->m.failed) return;
    w->m.in[w->m.nin - 1].v = v;
    tn_i_m_use(&w->m, v);
}

void tn_i_w_from_vector(tn_i_walk *w, unsigned op, tn_i_reg to, tn_i_reg x) {
    tn_i_mi in = tn_i_m_blank(op, 16);
    in.r = x;
    in.m = to;
    in.flags = TN_MI_M;
    tn_i_m_add(&w->m, &in);
}

void tn_i_w_bit(tn_i_walk *w, tn_i_reg p) {
    if (w->m.wide)
        tn_i_w_general(w, TN_X_kmovd_r, 0, TN_RAX_, p, 0);
    else
        tn_i_w_from_vector(w, TN_X_vmovd_r, TN_RAX_, p);
    tn_i_w_imm(w, TN_X_and_i, 4, TN_RAX_, 1);
}

int32_t tn_i_w_area(tn_i_walk *w, int32_t bytes) {
    const int32_t at = w->m.area;
    w->m.area += (bytes + 63) / 64 * 64;
    if (w->m.area > 1 << 18) tn_i_w_refuse(w, "it needs too much of the stack");
    return at;
}

void tn_i_w_fixed_copy(tn_i_walk *w, unsigned to, tn_i_reg from) {
    tn_i_mi in = tn_i_m_blank(TN_M_COPY, 8);
    in.r = tn_i_fixed(to);
    in.m = from;
    in.flags = TN_MI_R;
    tn_i_m_add(&w->m, &in);
}

void tn_i_w_call_c(tn_i_walk *w, int64_t address) {
    tn_i_mi in = tn_i_m_blank(TN_M_CALL, 0);
    in.m = tn_i_m_number(&w->m, TN_CLASS_G, address);
    tn_i_m_add(&w->m, &in);
}

int32_t tn_i_w_scratch(tn_i_walk *w, int place) {
    if (w->scratch < 0) w->scratch = tn_i_w_area(w, TN_W_SCRATCH);
    return w->scratch + place;
}

/* ---- constants -------------------------------------------------------------------------------------- */

tn_i_reg tn_i_w_all(tn_i_walk *w, int dtype, uint64_t bits, unsigned bytes) {
    uint8_t all[64];
    const size_t size = tn_i_dtype_size(dtype);
    if (dtype == TN_BOOL) return tn_i_w_bool(w, bits != 0, bytes > 8 ? 2 : 1);
    for (size_t i = 0; i < bytes; i += size) memcpy(all + i, &bits, size);
    return tn_i_m_constant(&w->m, all, bytes);
}

tn_i_reg tn_i_w_bool(tn_i_walk *w, bool x, unsigned lanes) {
    uint8_t all[64];
    if (w->m.wide) return tn_i_m_number(&w->m, TN_CLASS_K, x ? -1 : 0);
    memset(all, x ? 0xFF : 0, sizeof all);
    return tn_i_m_constant(&w->m, all, lanes > 1 ? w->machine : TN_W_MASK_BYTES);
}

tn_i_reg tn_i_w_lanes(tn_i_walk *w, uint64_t lanes) {
    const uint64_t all = w->lanes < 64 ? ((uint64_t)1 << w->lanes) - 1 : UINT64_MAX;
    uint8_t bytes[64] = {0};
    if (lanes == 0 || lanes == all) return tn_i_w_bool(w, lanes != 0, 2);
    if (w->m.wide) return tn_i_m_number(&w->m, TN_CLASS_K, (int64_t)lanes);
    for (unsigned i = 0; i < w->lanes * w->mask; i++) bytes[i] = lanes >> i / w->mask & 1 ? 0xFF : 0;
    return tn_i_m_constant(&w->m, bytes, tn_i_w_size(w->lanes * w->mask));
}

static bool is_known(const tn_i_walk *w, tn_i_reg r, int64_t as_mask, int64_t as_vector) {
    if (r == TN_REG_NONE || w->m.failed || !w->m.value[r].constant) return false;
    return w->m.value[r].number == (w->m.value[r].class == TN_CLASS_K ? as_mask : as_vector);
}

bool tn_i_w_never(const tn_i_walk *w, tn_i_reg p) { return is_known(w, p, 0, 1); }
bool tn_i_w_always(const tn_i_walk *w, tn_i_reg p) { return is_known(w, p, -1, 2); }

/* ---- numbers ------------------------------------------------------------------------------------------ */

tn_i_reg tn_i_w_spread(tn_i_walk *w, int dtype, tn_i_reg one) {
    const bool wide = w->m.wide;
    if (dtype != TN_BOOL || !wide) {
        const unsigned op = dtype == TN_F32                      ? TN_X_vbroadcastss
                            : dtype == TN_I32 || dtype == TN_U32 ? TN_X_vpbroadcastd
                            : dtype == TN_F64                    ? TN_X_vbroadcastsd
                                                                 : TN_X_vpbroadcastq;
        return tn_i_w_put_of(w, op, w->machine, w->machine, TN_REG_NONE, one, 0);
    }
    tn_i_w_general(w, TN_X_kmovd_r, 0, TN_RAX_, one, 0);
    tn_i_w_imm(w, TN_X_and_i, 4, TN_RAX_, 1);
    tn_i_w_imm(w, TN_X_neg, 4, TN_RAX_, 0);
    return tn_i_w_put_k(w, TN_X_kmovd_k, 0, TN_REG_NONE, TN_RAX_, 0);
}

void tn_i_w_is(tn_i_walk *w, uint32_t k, tn_i_reg one) {
    tn_i_w_note *n = &w->note[k];
    n->at = n->many = one;
    if (n->spread) n->many = tn_i_w_spread(w, w->p->op[k].dtype, one);
}

void tn_i_w_pieces(tn_i_walk *w, uint32_t k) { w->note[k].at = (tn_i_reg)w->npiece; }

void tn_i_w_add_piece(tn_i_walk *w, tn_i_reg r) {
    if (tn_i_w_grow(w, &w->piece, &w->cpiece, w->npiece + 1, sizeof *w->piece)) w->piece[w->npiece++] = r;
}
