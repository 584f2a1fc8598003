/* Vectors whose elements are not in a row: backwards, with a stride, at indices.
 *
 * Backwards is a row that is turned.  With a stride, and in vectors of AVX2 at indices, elements are put in one by one,
 * which is as quick as the processor's gather, or quicker; where a mask says that some are not to be touched, it is a
 * gather. */
#include "jit/walk.h"

#include <string.h>

enum { LANES = 16 };

static unsigned size_of(const tn_i_walk *w, const tn_i_l_op *o) {
    return (unsigned)tn_i_dtype_size(w->p->array[o->which].dtype);
}

/* ---- backwards ------------------------------------------------------------------------------------------- */

static tn_i_reg turned(tn_i_walk *w, unsigned size, tn_i_reg x) {
    uint32_t order[LANES];
    const unsigned lanes = w->lanes, bytes = lanes * size;
    if (bytes == 16) return tn_i_w_put_of(w, TN_X_vpshufd, 16, 16, TN_REG_NONE, x, size == 8 ? 0x4E : 0x1B);
    if (bytes == 32 && size == 8) return tn_i_w_put_of(w, TN_X_vpermq_i, 32, 32, TN_REG_NONE, x, 0x1B);
    for (unsigned l = 0, n = bytes / 4; l < n; l++) /* pairs of 4 bytes stay together where they are 8 */
        order[l] = size == 4 ? n - 1 - l : n - 2 - (l & ~1u) + (l & 1u);
    return tn_i_w_put(w, TN_X_vpermd, bytes, tn_i_m_constant(&w->m, order, bytes), x, 0);
}

/* ---- strides ------------------------------------------------------------------------------------------------ */

/* x with element l from `at`, of those of 16 bytes; the first one makes x. */
static tn_i_reg with_element(tn_i_walk *w, unsigned size, unsigned l, tn_i_reg x, const tn_i_w_mem *at) {
    if (l == 0) return tn_i_w_load_op(w, size == 8 ? TN_X_vmovsd : TN_X_vmovss, 16, 16, TN_REG_NONE, at);
    x = tn_i_w_load_op(w, size == 8 ? TN_X_vmovhpd : TN_X_vinsertps, 16, 16, x, at);
    if (size == 4 && !w->m.failed) w->m.in[w->m.nin - 1].imm = (int32_t)(l << 4);
    return x;
}

/* Four of 4 bytes, or two of 8, from `at` on. */
static tn_i_reg sixteen_bytes(tn_i_walk *w, unsigned size, tn_i_w_mem at, int32_t by) {
    tn_i_reg x = TN_REG_NONE;
    for (unsigned l = 0; l < 16 / size; l++, at.disp += by) x = with_element(w, size, l, x, &at);
    return x;
}

static tn_i_reg one_by_one(tn_i_walk *w, unsigned size, tn_i_w_mem at, int32_t by, unsigned bytes) {
    if (bytes == 16) return sixteen_bytes(w, size, at, by);
    const tn_i_reg low = one_by_one(w, size, at, by, bytes / 2);
    at.disp += by * (int32_t)(bytes / 2 / size);
    const tn_i_reg high = one_by_one(w, size, at, by, bytes / 2);
    return tn_i_w_put_of(w, bytes == 64 ? TN_X_vinsertf64x4 : TN_X_vinsertf128, bytes, bytes, low, high, 1);
}

/* ---- indices ---------------------------------------------------------------------------------------------------- */

/* How far lane l is from lane 0, in elements, and whether all of that fits in 31 bits. */
static bool offsets(const tn_i_l_op *o, int64_t by, unsigned lanes, bool indexed, uint8_t all[64], unsigned bytes) {
    int64_t most = by < 0 ? -by * lanes : by * lanes, more = 0;
    for (unsigned l = 0; l < lanes; l++) {
        const int64_t x = by * l;
        memcpy(all + l * bytes, &x, bytes);
    }
    if (indexed && (!tn_i_mul_i64(o->lo < 0 ? -o->lo : o->lo, o->hi, &more) || !tn_i_add_i64(most, more, &most)))
        return false;
    return most < INT32_MAX;
}

/* lo x clamp(index, 0, hi). */
static tn_i_reg clamped(tn_i_walk *w, const tn_i_l_op *o, int dtype, unsigned i) {
    const unsigned lanes = w->lanes, bytes = tn_i_w_bytes(w, dtype, lanes);
    const int64_t most = dtype == TN_I32 && o->hi > INT32_MAX ? INT32_MAX : o->hi;
#define ALL(x) tn_i_w_all(w, dtype, dtype == TN_I32 ? (uint32_t)(x) : (uint64_t)(x), bytes)
    tn_i_reg at = tn_i_w_piece(w, o->in[0], i);
    at = tn_i_w_integers(w, TN_L_max, dtype, lanes, at, ALL(0));
    at = tn_i_w_integers(w, TN_L_min, dtype, lanes, at, ALL(most));
    return o->lo != 1 ? tn_i_w_integers(w, TN_L_mul, dtype, lanes, at, ALL(o->lo)) : at;
#undef ALL
}

/* That, once for all accesses of a piece that are at one index; and the lane's offset. */
static tn_i_reg positions(tn_i_walk *w, const tn_i_l_op *o, int dtype, unsigned i, tn_i_reg offset, bool moves) {
    const tn_i_w_clamped key = {tn_i_w_piece(w, o->in[0], i), 0, o->lo, o->hi};
    tn_i_w_clamped *known = NULL;
    for (unsigned k = 0; k < w->nindex; k++) {
        tn_i_w_clamped *x = &w->index[k];
        if (x->of == key.of && x->lo == key.lo && x->hi == key.hi) known = x;
    }
    if (!known) {
        known = &w->index[w->nindex < TN_W_INDICES ? w->nindex++ : 0];
        *known = key;
        known->at = clamped(w, o, dtype, i);
    }
    return moves ? tn_i_w_integers(w, TN_L_add, dtype, w->lanes, known->at, offset) : known->at;
}

static tn_i_reg copied(tn_i_walk *w, tn_i_reg x, int class, unsigned bytes) {
    tn_i_mi in = tn_i_m_blank(TN_M_COPY, 8);
    in.r = tn_i_m_new(&w->m, class, bytes);
    in.m = x;
    in.flags = TN_MI_R;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

/* The processor's gather, which uses up its mask: elements of `size` bytes at rcx + size x at. */
static tn_i_reg gather(tn_i_walk *w, unsigned size, bool narrow, tn_i_reg at, tn_i_reg mask, tn_i_reg otherwise) {
    static const uint16_t ops[2][2][2] = {
        {{TN_X_vgatherqps, TN_X_vgatherqpd}, {TN_X_vgatherdps, TN_X_vgatherdpd}},
        {{TN_X_vgatherqps_k, TN_X_vgatherqpd_k}, {TN_X_vgatherdps_k, TN_X_vgatherdpd_k}}};
    const unsigned bytes = w->lanes * size, indices = w->lanes * (narrow ? 4 : 8);
    const bool all = mask == TN_REG_NONE;
    tn_i_mi in = tn_i_m_blank(ops[w->m.wide][narrow][size == 8], bytes > indices ? bytes : indices);
    if (w->m.wide)
        in.k = copied(w, all ? tn_i_w_bool(w, true, 2) : mask, TN_CLASS_K, 8);
    else
        in.v = copied(w, all ? tn_i_w_all(w, TN_I32, UINT32_MAX, bytes) : tn_i_w_mask_as(w, size, w->lanes, mask),
                      TN_CLASS_V, bytes);
    in.base = TN_RCX_;
    in.index = at;
    in.scale = (uint8_t)size;
    in.tie = otherwise;
    in.r = tn_i_m_new(&w->m, TN_CLASS_V, bytes);
    in.flags = TN_MI_R | TN_MI_MEM | TN_MI_EARLY | TN_MI_PURE;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

void tn_i_w_lane_part(tn_i_walk *w, tn_i_w_places *a, unsigned lane) {
    const unsigned each = a->narrow ? 4 : 8;
    if (lane % (16 / each)) return;
    a->part = a->x;
    for (unsigned n = a->lanes; n * each > 16; lane %= n) {
        n /= 2;
        if (lane >= n) a->part = tn_i_w_upper(w, a->narrow ? TN_I32 : TN_I64, n, a->part);
    }
}

void tn_i_w_lane_index(tn_i_walk *w, const tn_i_w_places *a, unsigned lane) {
    static const uint16_t ops[2][2] = {{TN_X_vpextrq_r, TN_X_vmovq_r}, {TN_X_vpextrd_r, TN_X_vmovd_r}};
    const unsigned l = lane % (a->narrow ? 4 : 2);
    tn_i_w_from_vector(w, ops[a->narrow][l == 0], TN_RDX_, a->part);
    if (l && !w->m.failed) w->m.in[w->m.nin - 1].imm = (int32_t)l;
    if (a->narrow && !a->above) tn_i_w_two(w, TN_X_movsxd, 8, TN_RDX_, TN_RDX_);
}

/* Each element at its own index, of elements at rcx + size x index.  `above`: none is below 0. */
static tn_i_reg by_loads(tn_i_walk *w, unsigned size, bool narrow, bool above, tn_i_reg at) {
    tn_i_reg x = TN_REG_NONE, low = TN_REG_NONE;
    const tn_i_w_mem there = {TN_RCX_, TN_RDX_, (uint8_t)size, 0};
    tn_i_w_places a = {.x = at, .lanes = w->lanes, .narrow = narrow, .above = above};
    for (unsigned l = 0; l < w->lanes; l++) {
        tn_i_w_lane_part(w, &a, l);
        tn_i_w_lane_index(w, &a, l);
        if (l == 16 / size) low = x;
        x = with_element(w, size, l % (16 / size), x, &there);
    }
    return low == TN_REG_NONE ? x : tn_i_w_put_of(w, TN_X_vinsertf128, 32, 32, low, x, 1);
}

/* rcx: the address of lane 0 of the piece, without an index that varies. */
static bool first_address(tn_i_walk *w, const tn_i_l_op *o, unsigned i, int64_t by) {
    tn_i_w_mem at;
    int64_t more;
    if (o->in[0] != TN_L_NONE && !w->note[o->in[0]].varies) return false;
    if (!tn_i_mul_i64(by * i, (int64_t)(w->lanes * size_of(w, o)), &more)) return false;
    tn_i_w_address(w, o->which, &o->at, more, &at);
    tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RCX_, &at);
    return true;
}

static tn_i_reg at_indices(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg mask, int64_t by) {
    uint8_t all[64];
    const unsigned size = size_of(w, o), lanes = w->lanes;
    const bool indexed = o->in[0] != TN_L_NONE, narrow = !indexed || w->p->op[o->in[0]].dtype == TN_I32;
    const unsigned bytes = lanes * (narrow ? 4u : 8u);
    memset(all, 0, sizeof all);
    if (!offsets(o, by, lanes, indexed, all, narrow ? 4 : 8)) return TN_REG_NONE;
    const tn_i_reg offset = tn_i_m_constant(&w->m, all, tn_i_w_size(bytes));
    const tn_i_reg otherwise =
        o->in[1] == TN_L_NONE ? tn_i_w_all(w, TN_I32, 0, lanes * size) : tn_i_w_piece(w, o->in[2], i);
    const tn_i_reg at = indexed ? positions(w, o, narrow ? TN_I32 : TN_I64, i, offset, by != 0) : offset;
    if (!first_address(w, o, i, by)) return TN_REG_NONE;
    if (mask == TN_REG_NONE && !w->m.wide) return by_loads(w, size, narrow, by >= 0 && (!indexed || o->lo >= 0), at);
    return gather(w, size, narrow, at, mask, otherwise);
}

/* ---- which ----------------------------------------------------------------------------------------------------------
 */

tn_i_reg tn_i_w_gather(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg mask) {
    const unsigned size = size_of(w, o), bytes = w->lanes * size;
    const int64_t by = tn_i_l_by(w->p, &o->at, w->vector), first = by * (int64_t)(i * w->lanes) * (int64_t)size;
    const bool uniform = o->in[0] != TN_L_NONE && !w->note[o->in[0]].varies;
    tn_i_w_mem at;
    if (w->o->bounds) return TN_REG_NONE;
    if (size < 4 || bytes < 16 || by > INT32_MAX / 64 || by < INT32_MIN / 64 || uniform || w->m.failed)
        return TN_REG_NONE;
    if (o->in[0] != TN_L_NONE || mask != TN_REG_NONE) return at_indices(w, o, i, mask, by);
    const int32_t step = (int32_t)(by * size);
    if (by == -1) {
        tn_i_w_address(w, o->which, &o->at, first + step * (int32_t)(w->lanes - 1), &at);
        return turned(w, size, tn_i_w_load_op(w, TN_X_vmovups, bytes, bytes, TN_REG_NONE, &at));
    }
    tn_i_w_address(w, o->which, &o->at, first, &at);
    return one_by_one(w, size, at, step, bytes);
}

bool tn_i_w_indices(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg *at) {
    const bool narrow = w->p->op[o->in[0]].dtype == TN_I32;
    uint8_t none[64];
    if (!offsets(o, 0, 1, true, none, 4) || w->m.failed) return false;
    *at = positions(w, o, narrow ? TN_I32 : TN_I64, i, TN_REG_NONE, false);
    return true;
}

bool tn_i_w_scatter(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg x, tn_i_reg mask) {
    const unsigned size = size_of(w, o), bytes = w->lanes * size;
    tn_i_w_mem at;
    if (size < 4 || bytes < 16 || mask != TN_REG_NONE || w->o->bounds || o->in[0] != TN_L_NONE ||
        tn_i_l_by(w->p, &o->at, w->vector) != -1)
        return false;
    tn_i_w_address(w, o->which, &o->at, -(int64_t)(((i + 1) * w->lanes - 1) * size), &at);
    tn_i_w_store_op(w, TN_X_vmovups_to, bytes, turned(w, size, x), &at, true);
    return true;
}
