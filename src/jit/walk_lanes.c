/* What depends on the number of the lane: indices, affine predicates, folds of lanes. */
#include "jit/walk.h"

#include <string.h>

/* ---- numbers of iterations --------------------------------------------------------------------------------- */

/* first, first + by .. */
static tn_i_reg row(tn_i_walk *w, int dtype, int64_t first, int64_t by) {
    uint8_t all[64] = {0};
    const size_t size = tn_i_dtype_size(dtype);
    const unsigned bytes = tn_i_w_size(tn_i_w_bytes(w, dtype, w->lanes));
    for (unsigned l = 0; l < w->lanes; l++) {
        const uint64_t x = (uint64_t)first + (uint64_t)by * l;
        memcpy(all + l * size, &x, size);
    }
    return tn_i_m_constant(&w->m, all, bytes);
}

static tn_i_reg from_rax(tn_i_walk *w, int dtype) {
    switch (dtype) {
    case TN_I32:
    case TN_U32: return tn_i_w_put_of(w, TN_X_vmovd_x, 16, 4, TN_REG_NONE, TN_RAX_, 0);
    case TN_I64: return tn_i_w_put_of(w, TN_X_vmovq_x, 16, 8, TN_REG_NONE, TN_RAX_, 0);
    case TN_F32: return tn_i_w_put_of(w, TN_X_vcvtsi2ss_q, 16, 4, tn_i_w_all(w, TN_F32, 0, 16), TN_RAX_, 0);
    default: return tn_i_w_put_of(w, TN_X_vcvtsi2sd_q, 16, 8, tn_i_w_all(w, TN_F64, 0, 16), TN_RAX_, 0);
    }
}

/* Whether all values of e are known to fit in 31 bits. */
static bool small(const tn_i_walk *w, const tn_i_l_affine *e) {
    const tn_i_l_term *t = tn_i_l_terms(w->p, e);
    int64_t most = e->at < 0 ? -(e->at + 1) : e->at;
    for (uint32_t i = 0; i < e->n; i++) {
        const int64_t by = t[i].by < 0 ? -(t[i].by + 1) + 1 : t[i].by, hi = w->p->op[t[i].loop].hi;
        int64_t more;
        if (by < 0 || hi > INT32_MAX || !tn_i_mul_i64(by, hi + 64, &more) || !tn_i_add_i64(most, more, &most))
            return false;
    }
    return most < INT32_MAX / 2;
}

static tn_i_reg index_by_lanes(tn_i_walk *w, int dtype, tn_i_reg first, int64_t at, int64_t by) {
    const int32_t stack = tn_i_w_scratch(w, TN_W_X);
    const int32_t size = (int32_t)tn_i_dtype_size(dtype);
    for (unsigned l = 0; l < w->lanes; l++) {
        tn_i_w_set(w, TN_RAX_, (int64_t)((uint64_t)at + (uint64_t)by * l));
        tn_i_w_two(w, TN_X_add, 8, TN_RAX_, first);
        const tn_i_w_mem to = tn_i_w_stack(stack + (int32_t)l * size);
        tn_i_w_put_away(w, dtype, 1, &to, from_rax(w, dtype), TN_REG_NONE, false);
    }
    const tn_i_w_mem all = tn_i_w_stack(stack);
    return tn_i_w_get(w, dtype, w->lanes, &all, TN_REG_NONE);
}

static void index_of_lanes(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const int64_t by = tn_i_l_by(w->p, &o->at, w->vector);
    const bool floats = tn_i_is_float(o->dtype), few = floats && small(w, &o->at);
    const int dtype = few ? TN_I32 : floats ? TN_I64 : o->dtype;
    const bool lanes = floats && !few;
    const size_t at = w->npiece;
    tn_i_reg first;
    tn_i_w_affine(w, TN_RAX_, &o->at);
    if (lanes) {
        tn_i_mi in = tn_i_m_blank(TN_M_COPY, 8);
        in.r = first = tn_i_m_new(&w->m, TN_CLASS_G, 8);
        in.m = TN_RAX_;
        in.flags = TN_MI_R;
        tn_i_m_add(&w->m, &in);
    } else
        first = tn_i_w_spread(w, dtype, from_rax(w, dtype));
    for (unsigned i = 0; i < w->pieces && !w->m.failed; i++) {
        const int64_t more = (int64_t)((uint64_t)by * i * w->lanes);
        tn_i_reg r;
        if (lanes)
            r = index_by_lanes(w, o->dtype, first, more, by);
        else {
            r = tn_i_w_put(w, tn_i_dtype_size(dtype) == 4 ? TN_X_vpaddd : TN_X_vpaddq, tn_i_w_bytes(w, dtype, w->lanes),
                           first, row(w, dtype, more, by), 0);
            r = tn_i_w_convert(w, dtype, o->dtype, w->lanes, r);
        }
        tn_i_w_add_piece(w, r);
    }
    w->note[k].at = (tn_i_reg)at;
}

void tn_i_w_index(tn_i_walk *w, uint32_t k) {
    if (w->note[k].varies) {
        index_of_lanes(w, k);
        return;
    }
    tn_i_w_affine(w, TN_RAX_, &tn_i_w_o(w, k)->at);
    tn_i_w_is(w, k, from_rax(w, tn_i_w_o(w, k)->dtype));
}

/* ---- predicates --------------------------------------------------------------------------------------------- */

static void within_one(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    tn_i_w_affine(w, TN_RAX_, &o->at);
    tn_i_w_set(w, TN_RCX_, 1);
    tn_i_w_set(w, TN_RDX_, 0);
    if (o->lo != INT64_MIN) {
        tn_i_w_cmp_number(w, TN_RAX_, o->lo);
        tn_i_w_cmov(w, TN_CC_L, TN_RCX_, TN_RDX_);
    }
    if (o->hi != INT64_MAX) {
        tn_i_w_cmp_number(w, TN_RAX_, o->hi);
        tn_i_w_cmov(w, TN_CC_GE, TN_RCX_, TN_RDX_);
    }
    if (w->m.wide) {
        tn_i_w_is(w, k, tn_i_w_put_k(w, TN_X_kmovd_k, 0, TN_REG_NONE, TN_RCX_, 0));
        return;
    }
    tn_i_w_imm(w, TN_X_neg, 8, TN_RCX_, 0);
    tn_i_w_is(w, k, tn_i_w_put_of(w, TN_X_vmovq_x, 16, 8, TN_REG_NONE, TN_RCX_, 0));
}

/* bound - first, which is in rcx, as far as 31 bits go: all lanes are that near. */
static tn_i_reg near_bound(tn_i_walk *w, int64_t bound) {
    tn_i_w_set(w, TN_RAX_, bound);
    tn_i_w_two(w, TN_X_sub, 8, TN_RAX_, TN_RCX_);
    const tn_i_reg most = tn_i_m_number(&w->m, TN_CLASS_G, INT32_MAX),
                   least = tn_i_m_number(&w->m, TN_CLASS_G, INT32_MIN);
    tn_i_w_cmp(w, TN_RAX_, most);
    tn_i_w_cmov(w, TN_CC_G, TN_RAX_, most);
    tn_i_w_cmp(w, TN_RAX_, least);
    tn_i_w_cmov(w, TN_CC_L, TN_RAX_, least);
    return tn_i_w_spread(w, TN_I32, from_rax(w, TN_I32));
}

static bool far(int64_t bound, bool none) { return !none && (bound > INT64_MAX / 4 || bound < INT64_MIN / 4); }

/* The numbers of all iterations around are known: so is the predicate, of each lane. */
static bool within_known(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const int64_t by = tn_i_l_by(w->p, &o->at, w->vector);
    const size_t at = w->npiece;
    int64_t e, last;
    if (!tn_i_w_affine_known(w, &o->at, &e)) return false;
    if (!tn_i_mul_i64(by, w->pieces * w->lanes, &last) || !tn_i_add_i64(e, last, &last)) return false;
    for (unsigned i = 0; i < w->pieces && !w->m.failed; i++) {
        uint64_t lanes = 0;
        for (unsigned l = 0; l < w->lanes; l++, e += by) lanes |= (uint64_t)(o->lo <= e && e < o->hi) << l;
        tn_i_w_add_piece(w, tn_i_w_lanes(w, lanes));
    }
    w->note[k].at = (tn_i_reg)at;
    return true;
}

/* Bounds of 8 bytes are compared with the numbers themselves, bounds of 4 with how far lanes are from the first. */
static void within_lanes(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const int64_t by = tn_i_l_by(w->p, &o->at, w->vector);
    const bool wide = w->mask == 8, below = o->lo != INT64_MIN, above = o->hi != INT64_MAX;
    const int dtype = wide ? TN_I64 : TN_I32;
    const unsigned lanes = w->lanes, size = tn_i_w_bytes(w, dtype, lanes);
    const size_t at = w->npiece;
    tn_i_reg first = TN_REG_NONE, lo = TN_REG_NONE, hi = TN_REG_NONE;
    if (!wide && (by > INT32_MAX / 128 || by < INT32_MIN / 128 || far(o->lo, !below) || far(o->hi, !above)))
        tn_i_w_refuse(w, "a predicate of large numbers in a vector loop of 4 bytes");
    tn_i_w_affine(w, wide ? TN_RAX_ : TN_RCX_, &o->at);
    if (wide) first = tn_i_w_spread(w, dtype, from_rax(w, dtype));
    if (below) lo = wide ? tn_i_w_all(w, dtype, (uint64_t)o->lo, size) : near_bound(w, o->lo);
    if (above) hi = wide ? tn_i_w_all(w, dtype, (uint64_t)o->hi, size) : near_bound(w, o->hi);
    for (unsigned i = 0; i < w->pieces && !w->m.failed; i++) {
        tn_i_reg e = row(w, dtype, (int64_t)((uint64_t)by * i * lanes), by), p = TN_REG_NONE, q = TN_REG_NONE;
        if (wide) e = tn_i_w_put(w, TN_X_vpaddq, size, first, e, 0);
        if (below) p = tn_i_w_compare(w, TN_L_le, dtype, lanes, lo, e);
        if (above) q = tn_i_w_compare(w, TN_L_lt, dtype, lanes, e, hi);
        p = tn_i_w_and(w, lanes, p, q);
        tn_i_w_add_piece(w, p == TN_REG_NONE ? tn_i_w_bool(w, true, 2) : p);
    }
    w->note[k].at = (tn_i_reg)at;
}

void tn_i_w_within(tn_i_walk *w, uint32_t k) {
    if (!w->note[k].varies)
        within_one(w, k);
    else if (!within_known(w, k))
        within_lanes(w, k);
}

/* ---- halves ---------------------------------------------------------------------------------------------------- */

bool tn_i_w_has_halves(const tn_i_walk *w, uint32_t loop) {
    for (uint32_t j = w->p->op[loop].to + 1; j < w->p->nop; j++) {
        if (w->p->op[j].kind == TN_L_HALVES) return true;
        if (w->p->op[j].kind != TN_L_LAST) break;
    }
    return false;
}

/* Of a loop that is no vector loop: what each iteration has, on the stack. */
void tn_i_w_keep_halves(tn_i_walk *w, uint32_t loop) {
    const tn_i_w_loop *l = &w->loop[w->note[loop].loop];
    if (w->p->op[loop].vector) return;
    for (uint32_t j = w->p->op[loop].to + 1; j < w->p->nop; j++) {
        const tn_i_l_op *o = tn_i_w_o(w, j);
        if (o->kind != TN_L_HALVES && o->kind != TN_L_LAST) break;
        if (o->kind == TN_L_LAST) continue;
        const bool many = w->note[o->in[0]].varies;
        const unsigned size = many ? 64 : (unsigned)tn_i_dtype_size(o->dtype);
        if (many) {
            tn_i_w_refuse(w, "halves of vectors");
            return;
        }
        if (w->note[j].loop == TN_L_NONE) w->note[j].loop = (uint32_t)tn_i_w_area(w, TN_L_HALVED * (int32_t)size);
        tn_i_w_mem at = tn_i_w_stack((int32_t)w->note[j].loop + (int32_t)(l->number * size));
        if (!l->fixed) {
            at.index = l->counter;
            at.scale = (uint8_t)size;
        }
        tn_i_w_put_away(w, o->dtype, 1, &at, tn_i_w_one(w, o->in[0]), TN_REG_NONE, false);
    }
}

static tn_i_reg fold(tn_i_walk *w, const tn_i_l_op *o, unsigned lanes, tn_i_reg x, tn_i_reg y) {
    return tn_i_w_map(w, (int)tn_i_l_fold_code(o->code, o->dtype), o->dtype, o->dtype, lanes, x, y, TN_REG_NONE);
}

tn_i_reg tn_i_w_upper(tn_i_walk *w, int dtype, unsigned h, tn_i_reg x) {
    if (dtype == TN_BOOL && w->m.wide) return tn_i_w_put_k(w, TN_X_kshiftrw, 0, TN_REG_NONE, x, (int)h);
    const unsigned bytes = h * (dtype == TN_BOOL ? w->mask : (unsigned)tn_i_dtype_size(dtype));
    if (bytes == 32) return tn_i_w_narrow(w, TN_X_vextractf64x4, 64, 32, x, 1);
    if (bytes == 16) return tn_i_w_narrow(w, TN_X_vextractf128, 32, 16, x, 1);
    return tn_i_w_put_of(w, TN_X_vpshufd, 16, 16, TN_REG_NONE, x, bytes == 8 ? 0xEE : 0x55);
}

static void halves_of_vectors(tn_i_walk *w, uint32_t k, uint32_t loop, int64_t n) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const tn_i_w_loop *l = &w->loop[w->note[loop].loop];
    tn_i_reg x[TN_L_HALVED];
    w->mask = l->bytes;
    for (unsigned i = 0; i < l->pieces; i++) x[i] = tn_i_w_piece(w, o->in[0], i);
    for (unsigned h = l->pieces / 2; h > 0; h /= 2)
        for (unsigned i = 0; i < h; i++) x[i] = fold(w, o, l->lanes, x[i], x[i + h]);
    const unsigned lanes = n < l->lanes ? (unsigned)n : l->lanes;
    for (unsigned h = lanes / 2; h > 0; h /= 2) x[0] = fold(w, o, h, x[0], tn_i_w_upper(w, o->dtype, h, x[0]));
    if (o->dtype == TN_BOOL && !w->m.wide) x[0] = tn_i_w_mask_from(w, w->mask, 1, x[0]);
    w->mask = TN_W_MASK_BYTES;
    tn_i_w_is(w, k, x[0]);
}

static void halves_of_numbers(tn_i_walk *w, uint32_t k, int64_t n) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const int32_t size = (int32_t)tn_i_dtype_size(o->dtype);
    tn_i_reg x[TN_L_HALVED];
    for (int32_t i = 0; i < n; i++) {
        const tn_i_w_mem at = tn_i_w_stack((int32_t)w->note[k].loop + i * size);
        x[i] = tn_i_w_get(w, o->dtype, 1, &at, TN_REG_NONE);
    }
    for (int64_t h = n / 2; h > 0; h /= 2)
        for (int64_t i = 0; i < h; i++) x[i] = fold(w, o, 1, x[i], x[i + h]);
    tn_i_w_is(w, k, x[0]);
}

void tn_i_w_halves(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    uint32_t end = k;
    int64_t n;
    while (w->p->op[end].kind != TN_L_END) end--;
    const uint32_t loop = w->p->op[end].to;
    if (!tn_i_l_known_count(w->p, loop, &n)) {
        tn_i_w_refuse(w, "halves of a loop whose count is not known");
        return;
    }
    if (!w->p->op[loop].vector)
        halves_of_numbers(w, k, n);
    else if (w->note[o->in[0]].varies)
        halves_of_vectors(w, k, loop, n);
    else { /* the same in all lanes */
        tn_i_reg x = tn_i_w_one(w, o->in[0]);
        for (int64_t h = n / 2; h > 0; h /= 2) x = fold(w, o, 1, x, x);
        tn_i_w_is(w, k, x);
    }
}
