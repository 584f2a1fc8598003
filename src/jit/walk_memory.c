/* Loads and stores: elements in a row, with masks; and one by one, wherever they are. */
#include "jit/walk.h"
#include "prims/held.h"

static unsigned whole(unsigned bytes, bool store) {
    if (bytes == 4) return store ? TN_X_vmovss_to : TN_X_vmovss;
    if (bytes == 8) return store ? TN_X_vmovsd_to : TN_X_vmovsd;
    return store ? TN_X_vmovups_to : TN_X_vmovups;
}

/* Whether a row can be touched by one instruction, and nothing beside it. */
static bool in_a_row(const tn_i_walk *w, int dtype, unsigned lanes, bool masked) {
    if (masked && w->o->bounds) return false; /* lane by lane, where each is looked at */
    return !masked || w->m.wide || (tn_i_dtype_size(dtype) >= 4 && tn_i_dtype_size(dtype) * lanes >= 16);
}

/* ---- bools: bytes in memory ----------------------------------------------------------------------------- */

static tn_i_reg get_bool(tn_i_walk *w, const tn_i_w_mem *at) {
    tn_i_w_fixed_load(w, TN_X_movzxb, 4, TN_RAX_, at);
    if (w->m.wide) return tn_i_w_put_k(w, TN_X_kmovd_k, 0, TN_REG_NONE, TN_RAX_, 0);
    tn_i_w_imm(w, TN_X_neg, 8, TN_RAX_, 0);
    return tn_i_w_put(w, TN_X_vmovq_x, 8, TN_REG_NONE, TN_RAX_, 0);
}

static tn_i_reg get_bools(tn_i_walk *w, unsigned lanes, const tn_i_w_mem *at, tn_i_reg mask) {
    const bool wide = w->mask == 8;
    const unsigned size = lanes * w->mask;
    const tn_i_reg x = tn_i_w_load_op(w, wide ? TN_X_vpmovzxbq : TN_X_vpmovzxbd, size, size, TN_REG_NONE, at);
    if (mask != TN_REG_NONE && !w->m.failed) tn_i_w_mask_last(w, mask, true);
    if (w->m.wide) return tn_i_w_put_k(w, wide ? TN_X_vptestmq : TN_X_vptestmd, size, x, x, 0);
    return tn_i_w_put(w, wide ? TN_X_vpcmpgtq : TN_X_vpcmpgtd, size, x, tn_i_w_all(w, TN_I32, 0, size), 0);
}

static void put_bool(tn_i_walk *w, const tn_i_w_mem *at, tn_i_reg x, bool array) {
    tn_i_w_bit(w, x);
    tn_i_w_store_op(w, TN_X_movb_to, 4, TN_RAX_, at, array);
}

/* Masks of AVX2 as bytes of 0 and 1, the lowest of a vector. */
static tn_i_reg pack(tn_i_walk *w, unsigned lanes, tn_i_reg p) {
    const tn_i_reg narrow = tn_i_w_mask_as(w, 4, lanes, p); /* 4 bytes each */
    tn_i_reg x;
    if (lanes == 8)
        x = tn_i_w_put(w, TN_X_vpackssdw, 16, narrow, tn_i_w_narrow(w, TN_X_vextractf128, 32, 16, narrow, 1), 0);
    else
        x = tn_i_w_put(w, TN_X_vpackssdw, 16, narrow, narrow, 0);
    x = tn_i_w_put(w, TN_X_vpacksswb, 16, x, x, 0);
    return tn_i_w_put(w, TN_X_vpandd, 16, x, tn_i_w_all(w, TN_I32, 0x01010101, 16), 0);
}

static void put_bools(tn_i_walk *w, unsigned lanes, const tn_i_w_mem *at, tn_i_reg x, tn_i_reg mask, bool array) {
    if (w->m.wide) {
        const int dtype = w->mask == 8 ? TN_I64 : TN_I32;
        const unsigned size = lanes * w->mask;
        const tn_i_reg bytes =
            tn_i_w_select(w, dtype, lanes, x, tn_i_w_all(w, dtype, 1, size), tn_i_w_all(w, dtype, 0, size));
        tn_i_w_store_op(w, w->mask == 8 ? TN_X_vpmovqb_to : TN_X_vpmovdb_to, size, bytes, at, array);
        if (mask != TN_REG_NONE) tn_i_w_mask_last(w, mask, false);
        return;
    }
    const tn_i_reg bytes = pack(w, lanes, x);
    if (lanes > 2) {
        tn_i_w_store_op(w, lanes == 4 ? TN_X_vmovss_to : TN_X_vmovsd_to, 16, bytes, at, array);
        return;
    }
    tn_i_w_mem next = *at;
    next.disp++;
    tn_i_w_from_vector(w, TN_X_vmovd_r, TN_RAX_, bytes);
    tn_i_w_store_op(w, TN_X_movb_to, 4, TN_RAX_, at, array);
    tn_i_w_imm(w, TN_X_shr_i, 4, TN_RAX_, 8);
    tn_i_w_store_op(w, TN_X_movb_to, 4, TN_RAX_, &next, array);
}

/* ---- elements in a row -------------------------------------------------------------------------------------- */

/* How many lanes a mask of AVX2 has that is known to be of the first ones; 0: it is another. */
static unsigned first_lanes(const tn_i_walk *w, tn_i_reg mask) {
    const tn_i_m_value *v = &w->m.value[mask];
    return !w->m.failed && v->constant && v->number < 0 ? (unsigned)-v->number / w->mask : 0;
}

/* `left` bytes of 16, and zeros behind them. */
static tn_i_reg get_quarter(tn_i_walk *w, unsigned bytes, unsigned left, const tn_i_w_mem *at) {
    if (left != 12) return tn_i_w_load_op(w, whole(left, false), 16, bytes, TN_REG_NONE, at);
    tn_i_w_mem behind = *at;
    behind.disp += 8;
    const tn_i_reg x = tn_i_w_load_op(w, TN_X_vmovsd, 16, 16, TN_REG_NONE, at),
                   y = tn_i_w_load_op(w, TN_X_vmovss, 16, 16, TN_REG_NONE, &behind);
    return tn_i_w_put_of(w, TN_X_vunpcklpd, 16, bytes, x, y, 0);
}

static tn_i_reg get_first(tn_i_walk *w, unsigned bytes, unsigned left, const tn_i_w_mem *at) {
    if (left <= 16) return get_quarter(w, bytes, left, at);
    tn_i_w_mem behind = *at;
    behind.disp += 16;
    const tn_i_reg x = get_quarter(w, bytes, 16, at), y = get_quarter(w, 16, left - 16, &behind);
    return tn_i_w_put_of(w, TN_X_vinsertf128, bytes, bytes, x, y, 1);
}

tn_i_reg tn_i_w_get(tn_i_walk *w, int dtype, unsigned lanes, const tn_i_w_mem *at, tn_i_reg mask) {
    const unsigned size = (unsigned)tn_i_dtype_size(dtype), bytes = tn_i_w_bytes(w, dtype, lanes);
    if (dtype == TN_BOOL) return lanes == 1 ? get_bool(w, at) : get_bools(w, lanes, at, mask);
    if (tn_i_held_bodies_of(dtype)) return tn_i_w_get_held(w, dtype, lanes, at, mask);
    if (mask == TN_REG_NONE)
        return tn_i_w_load_op(w, whole(size * lanes, false), tn_i_w_size(bytes), bytes, TN_REG_NONE, at);
    if (!w->m.wide && first_lanes(w, mask)) return get_first(w, bytes, first_lanes(w, mask) * size, at);
    if (!w->m.wide) {
        const tn_i_reg m = tn_i_w_mask_as(w, size, lanes, mask);
        return tn_i_w_load_op(w, size == 8 ? TN_X_vmaskmovpd : TN_X_vmaskmovps, bytes, bytes, m, at);
    }
    if (size * lanes < 16)
        mask = tn_i_w_and(w, lanes, mask, tn_i_m_number(&w->m, TN_CLASS_K, ((int64_t)1 << lanes) - 1));
    const tn_i_reg r = tn_i_w_load_op(w, size == 8 ? TN_X_vmovupd : TN_X_vmovups, bytes, bytes, TN_REG_NONE, at);
    tn_i_w_mask_last(w, mask, true);
    return r;
}

/* The first elements of x, in parts: processors take their time for masked stores, and load what was stored before it
 * is in memory where loads are no wider. */
static void put_first(tn_i_walk *w, unsigned bytes, unsigned left, const tn_i_w_mem *from, tn_i_reg x, bool array) {
    tn_i_w_mem at = *from;
    if (left >= 16) {
        tn_i_w_store_op(w, TN_X_vmovups_to, 16, x, &at, array);
        at.disp += 16;
        left -= 16;
        if (left) x = tn_i_w_narrow(w, TN_X_vextractf128, bytes, 16, x, 1);
    }
    if (left >= 8) {
        tn_i_w_store_op(w, TN_X_vmovsd_to, 16, x, &at, array);
        at.disp += 8;
        left -= 8;
        if (left) x = tn_i_w_put_of(w, TN_X_vpshufd, 16, 16, TN_REG_NONE, x, 2);
    }
    if (left) tn_i_w_store_op(w, TN_X_vmovss_to, 16, x, &at, array);
}

void tn_i_w_put_away(tn_i_walk *w, int dtype, unsigned lanes, const tn_i_w_mem *at, tn_i_reg x, tn_i_reg mask,
                     bool array) {
    const unsigned size = (unsigned)tn_i_dtype_size(dtype), bytes = tn_i_w_bytes(w, dtype, lanes);
    if (dtype == TN_BOOL && lanes == 1)
        put_bool(w, at, x, array);
    else if (dtype == TN_BOOL)
        put_bools(w, lanes, at, x, mask, array);
    else if (tn_i_held_bodies_of(dtype))
        tn_i_w_put_held(w, dtype, lanes, at, x, mask, array);
    else if (mask == TN_REG_NONE)
        tn_i_w_store_op(w, whole(size * lanes, true), tn_i_w_size(bytes), x, at, array);
    else if (!w->m.wide && first_lanes(w, mask))
        put_first(w, bytes, first_lanes(w, mask) * size, at, x, array);
    else if (!w->m.wide) {
        const tn_i_reg m = tn_i_w_mask_as(w, size, lanes, mask);
        tn_i_w_store_op(w, size == 8 ? TN_X_vmaskmovpd_to : TN_X_vmaskmovps_to, bytes, x, at, array);
        tn_i_w_last_v(w, m);
    } else {
        if (size * lanes < 16)
            mask = tn_i_w_and(w, lanes, mask, tn_i_m_number(&w->m, TN_CLASS_K, ((int64_t)1 << lanes) - 1));
        tn_i_w_store_op(w, size == 8 ? TN_X_vmovupd_to : TN_X_vmovups_to, bytes, x, at, array);
        tn_i_w_mask_last(w, mask, false);
    }
}

/* ---- one by one ---------------------------------------------------------------------------------------------- */

typedef struct lane_access {
    const tn_i_l_op *o;
    bool masked;  /* by what is on the stack */
    bool indexed; /* by `index` */
    bool clamped; /* the index is that of an element that there is, times o->lo */
    tn_i_w_places index;
    int64_t by, first; /* bytes from lane to lane; and to lane 0 */
    unsigned size;
    bool store;
} lane_access;

/* Two bytes are moved one by one. */
static void move_element(tn_i_walk *w, const lane_access *a, const tn_i_w_mem *array, int32_t stack) {
    const unsigned size = a->size == 8 ? 8 : 4, times = a->size == 2 ? 2 : 1;
    tn_i_w_mem own = tn_i_w_stack(stack), there = *array;
    for (unsigned i = 0; i < times; i++, own.disp++, there.disp++) {
        tn_i_w_fixed_load(w, a->size <= 2 ? TN_X_movzxb : TN_X_mov, size, TN_RAX_, a->store ? &own : &there);
        tn_i_w_store_op(w, a->size <= 2 ? TN_X_movb_to : TN_X_mov_to, size, TN_RAX_, a->store ? &there : &own,
                        a->store);
    }
}

/* What an update makes of what is there and x. */
static tn_i_reg updated(tn_i_walk *w, const tn_i_l_op *o, unsigned lanes, const tn_i_w_mem *at, tn_i_reg x,
                        tn_i_reg mask) {
    const int dtype = w->p->array[o->which].dtype;
    const tn_i_reg there = tn_i_w_get(w, dtype, lanes, at, mask);
    return tn_i_w_map(w, o->code, dtype, dtype, lanes, there, x, TN_REG_NONE);
}

/* rcx: the address of lane 0, without an index that varies. */
static void first_lane(tn_i_walk *w, const lane_access *a) {
    const tn_i_l_op *o = a->o;
    tn_i_w_mem at;
    if (a->indexed)
        tn_i_w_address(w, o->which, &o->at, a->first, &at);
    else
        tn_i_w_address_of(w, o, a->first, &at);
    tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RCX_, &at);
}

static void lane_address(tn_i_walk *w, const lane_access *a, unsigned lane, tn_i_w_mem *at) {
    *at = tn_i_w_at(TN_RCX_, (int32_t)(a->by * lane));
    if (!a->indexed) return;
    tn_i_w_lane_index(w, &a->index, lane);
    at->scale = (uint8_t)(a->clamped ? a->size : tn_i_w_index_scaled(w, a->o));
    at->index = TN_RDX_;
}

static void update_lane(tn_i_walk *w, const lane_access *a, unsigned lane) {
    const int dtype = w->p->array[a->o->which].dtype;
    const tn_i_w_mem own = tn_i_w_stack(tn_i_w_scratch(w, TN_W_X) + (int32_t)(lane * a->size));
    const size_t addresses = w->naddress;
    tn_i_w_mem at;
    if (a->masked) {
        const tn_i_w_mem mask = tn_i_w_stack(tn_i_w_scratch(w, TN_W_MASK) + (int32_t)lane);
        tn_i_w_store_op(w, TN_X_cmpb_i, 4, TN_REG_NONE, &mask, false);
        tn_i_w_add(w, TN_M_IF, TN_CC_E, 0);
    }
    const tn_i_reg x = tn_i_w_get(w, dtype, 1, &own, TN_REG_NONE);
    lane_address(w, a, lane, &at);
    tn_i_w_bound_kept(w, a->o->which, &at, a->size);
    const tn_i_reg y = updated(w, a->o, 1, &at, x, TN_REG_NONE);
    if (a->o->code != TN_L_add) { /* others may use rcx and rdx */
        first_lane(w, a);
        lane_address(w, a, lane, &at);
    }
    tn_i_w_put_away(w, dtype, 1, &at, y, TN_REG_NONE, true);
    if (!a->masked) return;
    tn_i_w_forget(w, addresses);
    tn_i_w_add(w, TN_M_END, 0, 0);
}

static void one_lane(tn_i_walk *w, const lane_access *a, unsigned lane) {
    const int32_t skip = a->masked ? tn_i_m_label(&w->m) : 0;
    tn_i_w_mem at;
    if (a->masked) {
        const tn_i_w_mem mask = tn_i_w_stack(tn_i_w_scratch(w, TN_W_MASK) + (int32_t)lane);
        tn_i_w_store_op(w, TN_X_cmpb_i, 4, TN_REG_NONE, &mask, false);
        tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_E, skip);
    }
    lane_address(w, a, lane, &at);
    tn_i_w_bound_kept(w, a->o->which, &at, a->size);
    move_element(w, a, &at, tn_i_w_scratch(w, TN_W_X) + (int32_t)(lane * a->size));
    if (a->masked) tn_i_w_add(w, TN_M_LABEL, 0, skip);
}

/* The elements of a piece: between the array and the stack. */
static bool prepare_lanes(tn_i_walk *w, lane_access *a, unsigned piece) {
    const tn_i_l_op *o = a->o;
    const unsigned lanes = w->lanes;
    a->size = (unsigned)tn_i_dtype_size(w->p->array[o->which].dtype);
    if (!tn_i_mul_i64(tn_i_l_by(w->p, &o->at, w->vector), (int64_t)a->size, &a->by) || a->by > INT32_MAX / 64 ||
        a->by < INT32_MIN / 64) {
        tn_i_w_refuse(w, "a stride is too large");
        return false;
    }
    if (o->in[0] != TN_L_NONE && w->note[o->in[0]].varies) {
        a->index = (tn_i_w_places){.lanes = lanes, .narrow = w->p->op[o->in[0]].dtype == TN_I32};
        a->clamped = tn_i_w_indices(w, o, piece, &a->index.x);
        if (!a->clamped) a->index.x = tn_i_w_piece(w, o->in[0], piece);
        a->index.above = a->clamped && o->lo >= 0;
        a->indexed = true;
    }
    a->first = a->by * piece * lanes;
    tn_i_w_keep_origin(w, o->which);
    return true;
}

static void run_lanes(tn_i_walk *w, lane_access *a, tn_i_reg mask) {
    a->masked = mask != TN_REG_NONE;
    if (a->masked) {
        const tn_i_w_mem bytes = tn_i_w_stack(tn_i_w_scratch(w, TN_W_MASK));
        tn_i_w_put_away(w, TN_BOOL, w->lanes, &bytes, mask, TN_REG_NONE, false);
    }
    first_lane(w, a);
    for (unsigned l = 0; l < w->lanes; l++) {
        if (a->indexed) tn_i_w_lane_part(w, &a->index, l);
        (a->o->update ? update_lane : one_lane)(w, a, l);
    }
}

static void each_lane(tn_i_walk *w, const tn_i_l_op *o, unsigned piece, tn_i_reg mask, bool store) {
    lane_access a = {.o = o, .store = store};
    if (prepare_lanes(w, &a, piece)) run_lanes(w, &a, mask);
}

/* Updates, of which mostly all are to be done, or all but those behind the last element. */
static void update_lanes(tn_i_walk *w, const tn_i_l_op *o, unsigned piece, tn_i_reg mask) {
    lane_access a = {.o = o, .store = true};
    const size_t addresses = w->naddress;
    if (!prepare_lanes(w, &a, piece)) return;
    if (mask == TN_REG_NONE) {
        run_lanes(w, &a, mask);
        return;
    }
    tn_i_w_test_all(w, w->lanes, mask);
    tn_i_w_add(w, TN_M_IF, TN_CC_NE, 0);
    run_lanes(w, &a, TN_REG_NONE);
    tn_i_w_forget(w, addresses);
    tn_i_w_add(w, TN_M_ELSE, 0, 0);
    run_lanes(w, &a, mask);
    tn_i_w_forget(w, addresses);
    tn_i_w_add(w, TN_M_END, 0, 0);
}

/* ---- one number ------------------------------------------------------------------------------------------------ */

static void address_of(tn_i_walk *w, const tn_i_l_op *o, tn_i_w_mem *at) {
    tn_i_w_address_of(w, o, 0, at);
    tn_i_w_bound(w, o->which, at, (int64_t)tn_i_dtype_size(w->p->array[o->which].dtype));
}

/* It is read into all lanes of a vector at once. */
static bool spreads(const tn_i_walk *w, uint32_t k) {
    return w->note[k].spread && tn_i_dtype_size(w->p->array[tn_i_w_o(w, k)->which].dtype) >= 4;
}

static tn_i_reg load_one(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    tn_i_w_mem at;
    address_of(w, o, &at);
    if (!spreads(w, k) || o->in[1] != TN_L_NONE) return tn_i_w_get(w, w->p->array[o->which].dtype, 1, &at, TN_REG_NONE);
    const bool wide = tn_i_dtype_size(o->dtype) == 8;
    return tn_i_w_load_op(w, wide ? TN_X_vbroadcastsd : TN_X_vbroadcastss, w->machine, w->machine, TN_REG_NONE, &at);
}

static void load_where(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const size_t addresses = w->naddress;
    tn_i_mi in = tn_i_m_blank(TN_M_COPY, 8);
    tn_i_w_test(w, tn_i_w_one(w, o->in[1]));
    tn_i_w_add(w, TN_M_IF, TN_CC_E, 0);
    in.m = load_one(w, k);
    if (w->m.failed) return;
    in.r = tn_i_m_new(&w->m, w->m.value[in.m].class, w->m.value[in.m].bytes);
    in.flags = TN_MI_R;
    tn_i_m_add(&w->m, &in);
    tn_i_w_forget(w, addresses);
    tn_i_w_add(w, TN_M_ELSE, 0, 0);
    in.m = tn_i_w_one(w, o->in[2]);
    tn_i_m_add(&w->m, &in);
    tn_i_w_add(w, TN_M_END, 0, 0);
    tn_i_w_is(w, k, in.r);
}

/* ---- vectors ---------------------------------------------------------------------------------------------------- */

/* Elements in a row: of an index that is one number or none. */
static bool contiguous(const tn_i_walk *w, const tn_i_l_op *o, bool masked) {
    const int dtype = w->p->array[o->which].dtype;
    if (o->in[0] != TN_L_NONE && (w->note[o->in[0]].varies || dtype == TN_BOOL || tn_i_is_held(dtype))) return false;
    return tn_i_l_by(w->p, &o->at, w->vector) == 1 && in_a_row(w, dtype, w->lanes, masked);
}

static void row_address(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_w_mem *at) {
    const int64_t size = (int64_t)tn_i_dtype_size(w->p->array[o->which].dtype);
    tn_i_w_address_of(w, o, (int64_t)(i * w->lanes) * size, at);
    tn_i_w_bound(w, o->which, at, (int64_t)w->lanes * size);
}

static tn_i_reg mask_of(tn_i_walk *w, const tn_i_l_op *o, unsigned piece) {
    const tn_i_reg own = o->in[1] == TN_L_NONE ? TN_REG_NONE : tn_i_w_piece(w, o->in[1], piece);
    return tn_i_w_and(w, w->lanes, own, piece + 1 == w->pieces ? w->tail : TN_REG_NONE);
}

/* Of a load in a row by its own mask, which leaves zeros: what it is elsewhere. */
static tn_i_reg or_else(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg x) {
    const tn_i_reg other = tn_i_w_piece(w, o->in[2], i);
    if (o->dtype != TN_BOOL && tn_i_w_never(w, other)) return x;
    return tn_i_w_select(w, o->dtype, w->lanes, tn_i_w_piece(w, o->in[1], i), x, other);
}

static bool never(const tn_i_walk *w, const tn_i_l_op *o, unsigned i) {
    return o->in[1] != TN_L_NONE && tn_i_w_never(w, tn_i_w_piece(w, o->in[1], i));
}

tn_i_reg tn_i_w_load_piece(tn_i_walk *w, const tn_i_l_op *o, unsigned i) {
    if (never(w, o, i)) return tn_i_w_piece(w, o->in[2], i);
    const tn_i_reg mask = mask_of(w, o, i);
    const unsigned lanes = w->lanes;
    const int dtype = w->p->array[o->which].dtype;
    const bool held = tn_i_held_bodies_of(dtype) != NULL;
    if (contiguous(w, o, mask != TN_REG_NONE)) {
        tn_i_w_mem at;
        row_address(w, o, i, &at);
        const tn_i_reg x = tn_i_w_get(w, dtype, lanes, &at, mask);
        return o->in[1] == TN_L_NONE ? x : or_else(w, o, i, x);
    }
    const tn_i_reg r = tn_i_w_gather(w, o, i, mask);
    if (r != TN_REG_NONE) return r;
    const tn_i_w_mem stack = tn_i_w_stack(tn_i_w_scratch(w, TN_W_X));
    if (mask != TN_REG_NONE && !held) {
        const tn_i_reg other =
            o->in[1] == TN_L_NONE
                ? tn_i_w_all(w, dtype, 0, dtype == TN_BOOL ? w->machine : tn_i_w_bytes(w, dtype, lanes))
                : tn_i_w_piece(w, o->in[2], i);
        tn_i_w_put_away(w, dtype, lanes, &stack, other, TN_REG_NONE, false);
    }
    each_lane(w, o, i, mask, false);
    const tn_i_reg x = tn_i_w_get(w, dtype, lanes, &stack, TN_REG_NONE);
    if (!held || o->in[1] == TN_L_NONE) return x;
    return tn_i_w_select(w, o->dtype, lanes, tn_i_w_piece(w, o->in[1], i), x, tn_i_w_piece(w, o->in[2], i));
}

void tn_i_w_load(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    if (o->in[1] != TN_L_NONE)
        load_where(w, k);
    else if (spreads(w, k))
        w->note[k].at = w->note[k].many = load_one(w, k);
    else
        tn_i_w_is(w, k, load_one(w, k));
}

static void store_one(tn_i_walk *w, const tn_i_l_op *o) {
    const bool where = o->in[1] != TN_L_NONE;
    const size_t addresses = w->naddress;
    tn_i_w_mem at;
    if (where) {
        tn_i_w_test(w, tn_i_w_one(w, o->in[1]));
        tn_i_w_add(w, TN_M_IF, TN_CC_E, 0);
    }
    tn_i_reg x = tn_i_w_one(w, o->in[2]);
    address_of(w, o, &at);
    if (o->update) {
        x = updated(w, o, 1, &at, x, TN_REG_NONE);
        address_of(w, o, &at);
    }
    tn_i_w_put_away(w, w->p->array[o->which].dtype, 1, &at, x, TN_REG_NONE, true);
    if (!where) return;
    tn_i_w_forget(w, addresses);
    tn_i_w_add(w, TN_M_END, 0, 0);
}

static void update_piece(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg x, tn_i_reg mask) {
    const int dtype = w->p->array[o->which].dtype;
    tn_i_w_mem at;
    if (!contiguous(w, o, mask != TN_REG_NONE)) {
        const tn_i_w_mem stack = tn_i_w_stack(tn_i_w_scratch(w, TN_W_X));
        tn_i_w_put_away(w, dtype, w->lanes, &stack, x, TN_REG_NONE, false);
        update_lanes(w, o, i, mask);
        return;
    }
    row_address(w, o, i, &at);
    const tn_i_reg y = updated(w, o, w->lanes, &at, x, mask);
    row_address(w, o, i, &at);
    tn_i_w_put_away(w, dtype, w->lanes, &at, y, mask, true);
}

void tn_i_w_store_piece(tn_i_walk *w, uint32_t k, unsigned i) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const int dtype = w->p->array[o->which].dtype;
    if (never(w, o, i)) return;
    const tn_i_reg mask = mask_of(w, o, i), x = tn_i_w_piece(w, o->in[2], i);
    if (o->update) {
        update_piece(w, o, i, x, mask);
        return;
    }
    if (contiguous(w, o, mask != TN_REG_NONE)) {
        tn_i_w_mem at;
        row_address(w, o, i, &at);
        tn_i_w_put_away(w, dtype, w->lanes, &at, x, mask, true);
        return;
    }
    if (tn_i_w_scatter(w, o, i, x, mask) || tn_i_w_store_column(w, k, i)) return;
    const tn_i_w_mem stack = tn_i_w_stack(tn_i_w_scratch(w, TN_W_X));
    tn_i_w_put_away(w, dtype, w->lanes, &stack, x, TN_REG_NONE, false);
    each_lane(w, o, i, mask, true);
}

void tn_i_w_store(tn_i_walk *w, uint32_t k) { store_one(w, tn_i_w_o(w, k)); }
