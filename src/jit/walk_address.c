/* Addresses: base + index * scale + displacement.
 *
 * What an address counts of the innermost loop is the index: its counter, where a scale will do, or a multiple of it
 * that moves with it.  The rest does not change in that loop; it is computed in front of it, once for all accesses that
 * differ by a number alone (an address).  So a loop has one register that moves for all arrays that it walks in step.
 */
#include "jit/walk.h"

#include <string.h>

static bool scales(int64_t by) { return by == 1 || by == 2 || by == 4 || by == 8; }

/* ---- addresses -------------------------------------------------------------------------------------- */

static uint32_t bucket_of(uint32_t origin, tn_i_reg index, uint32_t n, const tn_i_l_term *t) {
    uint64_t h = tn_i_hash_u64(tn_i_hash_u64(origin, n), index);
    for (uint32_t i = 0; i < n; i++) h = tn_i_hash_u64(tn_i_hash_u64(h, t[i].loop), (uint64_t)t[i].by);
    return (uint32_t)(h % TN_W_BUCKETS);
}

static bool same(const tn_i_w_origin *s, const tn_i_w_origin *k, const tn_i_l_term *t) {
    if (s->origin != k->origin || s->n != k->n || s->index != k->index || s->by != k->by || s->hi != k->hi)
        return false;
    for (uint32_t i = 0; i < k->n; i++)
        if (s->term[i].loop != t[i].loop || s->term[i].by != t[i].by) return false;
    return true;
}

/* What is known of k, or TN_REG_NONE: its bucket is looked up. */
static tn_i_reg found(const tn_i_walk *w, tn_i_w_origin *k, const tn_i_l_term *t) {
    k->bucket = bucket_of(k->origin, k->index, k->n, t);
    for (uint32_t i = w->bucket[k->bucket]; i; i = w->address[i - 1].next)
        if (same(&w->address[i - 1], k, t)) return w->address[i - 1].at;
    return TN_REG_NONE;
}

static tn_i_reg keep(tn_i_walk *w, const tn_i_w_origin *k, const tn_i_l_term *t, tn_i_reg r) {
    if (!tn_i_w_grow(w, &w->address, &w->caddress, w->naddress + 1, sizeof *w->address)) return r;
    tn_i_w_origin *s = &w->address[w->naddress++];
    *s = *k;
    s->at = r;
    s->next = w->bucket[k->bucket];
    if (k->n) memcpy(s->term, t, k->n * sizeof *t);
    w->bucket[k->bucket] = (uint32_t)w->naddress;
    return r;
}

static tn_i_reg lea(tn_i_walk *w, const tn_i_w_mem *at) {
    const tn_i_reg r = tn_i_m_new(&w->m, TN_CLASS_G, 8);
    tn_i_w_fixed_load(w, TN_X_lea, 8, r, at);
    return r;
}

static tn_i_reg origin_of(tn_i_walk *w, uint32_t origin) {
    const tn_i_loops *p = w->p;
    if (origin >= p->nbase)
        return tn_i_m_number(&w->m, TN_CLASS_G, (int64_t)(intptr_t)p->array[origin - p->nbase].data);
    const tn_i_reg r = tn_i_m_new(&w->m, TN_CLASS_G, 8);
    const tn_i_w_mem at = tn_i_w_at(w->base, (int32_t)origin * 8);
    tn_i_w_fixed_load(w, TN_X_mov, 8, r, &at);
    return r;
}

static void move_by(tn_i_walk *w, const tn_i_l_term *t, tn_i_w_mem *at) {
    const tn_i_w_loop *l = &w->loop[w->note[t->loop].loop];
    const bool scale = scales(t->by);
    at->index = scale ? l->counter : tn_i_w_multiple(w, t->loop, t->by);
    at->scale = (uint8_t)(scale ? t->by : 1);
}

static tn_i_reg address_at(tn_i_walk *w, uint32_t origin, uint32_t n, const tn_i_l_term *t) {
    tn_i_w_origin k = {.origin = origin, .index = TN_REG_NONE, .n = n};
    tn_i_reg r = found(w, &k, t);
    if (r != TN_REG_NONE) return r;
    if (n == 0)
        r = origin_of(w, origin);
    else {
        tn_i_w_mem at = tn_i_w_at(address_at(w, origin, n - 1, t), 0);
        move_by(w, &t[n - 1], &at);
        r = lea(w, &at);
    }
    return keep(w, &k, t, r);
}

/* Bytes from one index to the next. */
static int64_t index_step(tn_i_walk *w, const tn_i_l_op *o) {
    int64_t by = 0;
    if (!tn_i_mul_i64(o->lo, (int64_t)tn_i_dtype_size(w->p->array[o->which].dtype), &by))
        tn_i_w_refuse(w, "an address is too large");
    return by;
}

/* rdx at least 0 and at most `most`.  That it is so already is what a processor guesses, and then nothing waits. */
static void clamp(tn_i_walk *w, int64_t most) {
    const int32_t below = tn_i_m_label(&w->m), fine = tn_i_m_label(&w->m);
    tn_i_w_cmp_number(w, TN_RDX_, most);
    tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_BE, fine);
    tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_L, below);
    tn_i_w_set(w, TN_RDX_, most);
    tn_i_w_add(w, TN_M_JUMP, 0, fine);
    tn_i_w_add(w, TN_M_LABEL, 0, below);
    tn_i_w_set(w, TN_RDX_, 0);
    tn_i_w_add(w, TN_M_LABEL, 0, fine);
}

unsigned tn_i_w_index_scaled(tn_i_walk *w, const tn_i_l_op *o) {
    const int64_t by = index_step(w, o);
    clamp(w, o->hi);
    if (scales(by)) return (unsigned)by;
    if (by >= INT32_MIN && by <= INT32_MAX)
        tn_i_w_general(w, TN_X_imul_i, 8, TN_RDX_, TN_RDX_, (int32_t)by);
    else
        tn_i_w_two(w, TN_X_imul, 8, TN_RDX_, tn_i_m_number(&w->m, TN_CLASS_G, by));
    return 1;
}

/* That, and as far as the index of o says, once for all accesses at one index. */
static tn_i_reg indexed_at(tn_i_walk *w, const tn_i_l_op *o, uint32_t origin, uint32_t n, const tn_i_l_term *t) {
    tn_i_w_origin k = {.origin = origin, .index = tn_i_w_one(w, o->in[0]), .by = index_step(w, o), .hi = o->hi, .n = n};
    const tn_i_reg known = found(w, &k, t);
    if (known != TN_REG_NONE) return known;
    tn_i_w_mem at = {address_at(w, origin, n, t), TN_RDX_, 1, 0};
    tn_i_w_integer(w, TN_RDX_, o->in[0]);
    at.scale = (uint8_t)tn_i_w_index_scaled(w, o);
    return keep(w, &k, t, lea(w, &at));
}

void tn_i_w_forget(tn_i_walk *w, size_t addresses) {
    while (w->naddress > addresses) {
        const tn_i_w_origin *s = &w->address[--w->naddress];
        w->bucket[s->bucket] = s->next;
    }
}

/* ---- accesses ------------------------------------------------------------------------------------- */

typedef struct placed {
    uint32_t origin, n;
    int64_t at;
    tn_i_l_term term[TN_L_TERMS];
} placed;

/* The address of element e in bytes, as far as loops before `end` count; what is known of their numbers is in `at`. */
static bool in_bytes(const tn_i_walk *w, uint32_t array, const tn_i_l_affine *e, uint32_t end, placed *b) {
    const tn_i_l_array *a = &w->p->array[array];
    const int64_t size = (int64_t)tn_i_dtype_size(a->dtype);
    const tn_i_l_term *t = tn_i_l_terms(w->p, e);
    int64_t more;
    b->n = 0;
    b->origin = a->role == TN_L_CONST ? w->p->nbase + array : a->base;
    b->at = a->role == TN_L_CONST ? 0 : a->at;
    if (!tn_i_mul_i64(e->at, size, &more) || !tn_i_add_i64(b->at, more, &b->at)) return false;
    for (uint32_t i = 0; i < e->n && t[i].loop < end; i++) {
        const tn_i_w_loop *l = &w->loop[w->note[t[i].loop].loop];
        int64_t by;
        if (!tn_i_mul_i64(t[i].by, size, &by) || !tn_i_mul_i64(by, l->number, &more) ||
            !tn_i_add_i64(b->at, more, &b->at))
            return false;
        if (!l->fixed) b->term[b->n++] = (tn_i_l_term){t[i].loop, by};
    }
    return true;
}

/* o: whose index there is, or NULL. */
static void find(tn_i_walk *w, uint32_t array, const tn_i_l_affine *e, const tn_i_l_op *o, int64_t more,
                 tn_i_w_mem *at) {
    placed b;
    if (!in_bytes(w, array, e, UINT32_MAX, &b) || !tn_i_add_i64(b.at, more, &b.at)) {
        tn_i_w_refuse(w, "an address is too large");
        b.n = 0;
    }
    const bool moves = b.n && b.term[b.n - 1].loop == w->inner;
    const tn_i_reg first =
        o ? indexed_at(w, o, b.origin, b.n - moves, b.term) : address_at(w, b.origin, b.n - moves, b.term);
    *at = tn_i_w_at(first, 0);
    if (moves) move_by(w, &b.term[b.n - 1], at);
    if (b.at > INT32_MIN / 2 && b.at < INT32_MAX / 2) {
        at->disp = (int32_t)b.at;
        return;
    }
    tn_i_mi copy = tn_i_m_blank(TN_M_COPY, 8);
    tn_i_w_set(w, TN_RAX_, b.at);
    tn_i_w_two(w, TN_X_add, 8, TN_RAX_, at->base);
    copy.r = at->base = tn_i_m_new(&w->m, TN_CLASS_G, 8);
    copy.m = TN_RAX_;
    copy.flags = TN_MI_R;
    tn_i_m_add(&w->m, &copy);
}

void tn_i_w_address(tn_i_walk *w, uint32_t array, const tn_i_l_affine *e, int64_t more, tn_i_w_mem *at) {
    find(w, array, e, NULL, more, at);
}

void tn_i_w_address_of(tn_i_walk *w, const tn_i_l_op *o, int64_t more, tn_i_w_mem *at) {
    find(w, o->which, &o->at, o->in[0] == TN_L_NONE ? NULL : o, more, at);
}

/* ---- bounds ---------------------------------------------------------------------------------------- */

static tn_i_reg origin_register(tn_i_walk *w, uint32_t array) {
    const tn_i_l_array *a = &w->p->array[array];
    return address_at(w, a->role == TN_L_CONST ? w->p->nbase + array : a->base, 0, NULL);
}

/* rax is how far from the origin: it is compared, without a sign. */
static void trap_beyond(tn_i_walk *w, uint32_t array, int64_t bytes) {
    const tn_i_l_array *a = &w->p->array[array];
    const int64_t first = a->role == TN_L_CONST ? 0 : a->at, all = a->count * (int64_t)tn_i_dtype_size(a->dtype);
    const int32_t fine = tn_i_m_label(&w->m);
    tn_i_w_two(w, TN_X_sub, 8, TN_RAX_, tn_i_m_number(&w->m, TN_CLASS_G, first));
    tn_i_w_cmp_number(w, TN_RAX_, all - bytes);
    /* of an array with less than that there is no such access: the limit is negative, and nothing is below it */
    if (all >= bytes) tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_BE, fine);
    tn_i_w_add(w, TN_X_ud2, 0, 0);
    tn_i_w_add(w, TN_M_LABEL, 0, fine);
}

void tn_i_w_bound(tn_i_walk *w, uint32_t array, const tn_i_w_mem *at, int64_t bytes) {
    if (!w->o->bounds || bytes == 0) return;
    const tn_i_reg origin = origin_register(w, array);
    tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RAX_, at);
    tn_i_w_two(w, TN_X_sub, 8, TN_RAX_, origin);
    trap_beyond(w, array, bytes);
}

void tn_i_w_keep_origin(tn_i_walk *w, uint32_t array) {
    if (!w->o->bounds) return;
    const tn_i_w_mem kept = tn_i_w_stack(tn_i_w_scratch(w, TN_W_CALL));
    tn_i_w_store_op(w, TN_X_mov_to, 8, origin_register(w, array), &kept, false);
}

void tn_i_w_bound_kept(tn_i_walk *w, uint32_t array, const tn_i_w_mem *at, int64_t bytes) {
    if (!w->o->bounds) return;
    const tn_i_w_mem kept = tn_i_w_stack(tn_i_w_scratch(w, TN_W_CALL));
    tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RAX_, at);
    tn_i_w_fixed_load(w, TN_X_sub, 8, TN_RAX_, &kept);
    trap_beyond(w, array, bytes);
}

/* ---- loops ---------------------------------------------------------------------------------------- */

tn_i_reg tn_i_w_multiple(tn_i_walk *w, uint32_t loop, int64_t by) {
    const tn_i_w_loop *l = &w->loop[w->note[loop].loop];
    for (uint32_t i = l->strides; i != TN_L_NONE; i = w->stride[i].next)
        if (w->stride[i].by == by) return w->stride[i].at;
    tn_i_w_refuse(w, "a loop has no such multiple");
    return l->counter;
}

static void want(tn_i_walk *w, uint32_t k, int64_t by) {
    tn_i_w_loop *l = &w->loop[w->note[k].loop];
    if (scales(by)) {
        l->counts = true;
        return;
    }
    for (uint32_t i = l->strides; i != TN_L_NONE; i = w->stride[i].next)
        if (w->stride[i].by == by) return;
    if (!tn_i_w_grow(w, &w->stride, &w->cstride, w->nstride + 1, sizeof *w->stride)) return;
    w->stride[w->nstride] = (tn_i_w_stride){by, TN_REG_NONE, l->strides};
    l->strides = (uint32_t)w->nstride++;
}

/* o: whose index is known in front of the loop, or NULL. */
static void prepare_access(tn_i_walk *w, uint32_t k, uint32_t array, const tn_i_l_affine *e, const tn_i_l_op *o) {
    placed b;
    const int64_t by = tn_i_l_by(w->p, e, k);
    int64_t step;
    if (!in_bytes(w, array, e, k, &b) || !tn_i_mul_i64(by, (int64_t)tn_i_dtype_size(w->p->array[array].dtype), &step)) {
        tn_i_w_refuse(w, "an address is too large");
        return;
    }
    (void)(o ? indexed_at(w, o, b.origin, b.n, b.term) : address_at(w, b.origin, b.n, b.term));
    if (by) want(w, k, step);
}

/* An index of one number, in front of loop k. */
static bool is_known(const tn_i_walk *w, uint32_t k, const tn_i_l_op *o) {
    return o->in[0] != TN_L_NONE && o->in[0] < k && !w->note[o->in[0]].varies;
}

void tn_i_w_prepare(tn_i_walk *w, uint32_t k) {
    const tn_i_loops *p = w->p;
    for (uint32_t j = k + 1; j < p->op[k].to && !w->m.failed; j++) {
        const tn_i_l_op *o = &p->op[j];
        if (o->kind == TN_L_LOAD || o->kind == TN_L_STORE)
            prepare_access(w, k, o->which, &o->at, is_known(w, k, o) ? o : NULL);
        else if (o->kind == TN_L_CALL)
            for (uint32_t i = 0; i < o->narg; i++) {
                const tn_i_l_arg *a = &p->arg[o->arg + i];
                if (a->access != TN_L_INTEGER)
                    prepare_access(w, k, a->array, &a->at, NULL);
                else if (tn_i_l_by(p, &a->at, k))
                    w->loop[w->note[k].loop].counts = true;
            }
        else if (o->at.n && tn_i_l_by(p, &o->at, k))
            w->loop[w->note[k].loop].counts = true;
    }
}

/* ---- numbers --------------------------------------------------------------------------------------- */

void tn_i_w_affine(tn_i_walk *w, tn_i_reg to, const tn_i_l_affine *e) {
    const tn_i_l_term *t = tn_i_l_terms(w->p, e);
    uint64_t at = (uint64_t)e->at;
    for (uint32_t i = 0; i < e->n; i++) at += (uint64_t)t[i].by * (uint64_t)w->loop[w->note[t[i].loop].loop].number;
    tn_i_w_set(w, to, (int64_t)at);
    for (uint32_t i = 0; i < e->n; i++) {
        const tn_i_w_loop *l = &w->loop[w->note[t[i].loop].loop];
        if (l->fixed) continue;
        if (t[i].by == 1) {
            tn_i_w_two(w, TN_X_add, 8, to, l->counter);
            continue;
        }
        if (t[i].by >= INT32_MIN && t[i].by <= INT32_MAX)
            tn_i_w_general(w, TN_X_imul_i, 8, TN_RDX_, l->counter, (int32_t)t[i].by);
        else {
            tn_i_w_set(w, TN_RDX_, t[i].by);
            tn_i_w_two(w, TN_X_imul, 8, TN_RDX_, l->counter);
        }
        tn_i_w_two(w, TN_X_add, 8, to, TN_RDX_);
    }
}

bool tn_i_w_affine_known(const tn_i_walk *w, const tn_i_l_affine *e, int64_t *x) {
    const tn_i_l_term *t = tn_i_l_terms(w->p, e);
    *x = e->at;
    for (uint32_t i = 0; i < e->n; i++) {
        const tn_i_w_loop *l = &w->loop[w->note[t[i].loop].loop];
        int64_t more;
        if (!l->fixed || !tn_i_mul_i64(t[i].by, l->number, &more) || !tn_i_add_i64(*x, more, x)) return false;
    }
    return true;
}
