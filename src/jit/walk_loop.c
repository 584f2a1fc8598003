/* Loops: counters and what moves with them, carries, vectors with what is left over. */
#include "base/machine.h"
#include "jit/walk.h"

static tn_i_w_loop *loop_of(const tn_i_walk *w, uint32_t k) { return &w->loop[w->note[k].loop]; }

static tn_i_reg copy(tn_i_walk *w, tn_i_reg from, int class, unsigned bytes) {
    tn_i_mi in = tn_i_m_blank(TN_M_COPY, 8);
    in.r = tn_i_m_new(&w->m, class, bytes);
    in.m = from;
    in.flags = TN_MI_R;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

static tn_i_reg copy_of(tn_i_walk *w, tn_i_reg from) {
    if (w->m.failed) return 0;
    return copy(w, from, w->m.value[from].class, w->m.value[from].bytes);
}

/* ---- counts ---------------------------------------------------------------------------------------- */

/* An integer of one lane, in a fixed register, as 64 bits. */
void tn_i_w_integer(tn_i_walk *w, tn_i_reg to, uint32_t k) {
    const bool narrow = w->p->op[k].dtype == TN_I32;
    tn_i_w_from_vector(w, narrow ? TN_X_vmovd_r : TN_X_vmovq_r, to, tn_i_w_one(w, k));
    if (narrow) tn_i_w_general(w, TN_X_movsxd, 8, to, to, 0);
}

/* How often the loop runs, at most hi; less than 1 is not at all. */
static tn_i_reg count_of(tn_i_walk *w, const tn_i_l_op *o) {
    const tn_i_reg most = tn_i_m_number(&w->m, TN_CLASS_G, o->hi);
    if (o->in[0] != TN_L_NONE) {
        const int32_t fits = tn_i_m_label(&w->m);
        tn_i_w_affine(w, TN_RAX_, &o->at);
        tn_i_w_integer(w, TN_RCX_, o->in[0]);
        tn_i_w_two(w, TN_X_add, 8, TN_RAX_, TN_RCX_);
        tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_NO, fits);
        tn_i_w_set(w, TN_RAX_, INT64_MAX); /* beyond all numbers, to the side of the operand */
        tn_i_w_imm(w, TN_X_cmp_i, 8, TN_RCX_, 0);
        tn_i_w_add(w, TN_M_JUMP_IF, TN_CC_GE, fits);
        tn_i_w_set(w, TN_RAX_, 0);
        tn_i_w_add(w, TN_M_LABEL, 0, fits);
    } else
        tn_i_w_affine(w, TN_RAX_, &o->at);
    tn_i_w_cmp(w, TN_RAX_, most);
    tn_i_w_cmov(w, TN_CC_G, TN_RAX_, most);
    return copy(w, TN_RAX_, TN_CLASS_G, 8);
}

/* ---- what moves ------------------------------------------------------------------------------------- */

static tn_i_reg zero(tn_i_walk *w) {
    const tn_i_reg r = tn_i_m_new(&w->m, TN_CLASS_G, 8);
    tn_i_w_set(w, r, 0);
    if (!w->m.failed) w->m.value[r].carried = true;
    return r;
}

static void begin_moving(tn_i_walk *w, const tn_i_w_loop *l) {
    for (uint32_t i = l->strides; i != TN_L_NONE; i = w->stride[i].next) w->stride[i].at = zero(w);
}

static void bump(tn_i_walk *w, tn_i_reg r, int64_t by) {
    tn_i_mi in = tn_i_m_blank(TN_M_BUMP, 8);
    if (by >= INT32_MIN && by <= INT32_MAX)
        in.imm = (int32_t)by;
    else {
        in.op = TN_X_add;
        in.m = tn_i_m_number(&w->m, TN_CLASS_G, by);
    }
    in.r = in.tie = r;
    in.flags = TN_MI_R;
    tn_i_m_add(&w->m, &in);
}

static void move(tn_i_walk *w, const tn_i_w_loop *l, int64_t step) {
    int64_t by;
    for (uint32_t i = l->strides; i != TN_L_NONE; i = w->stride[i].next) {
        if (!tn_i_mul_i64(w->stride[i].by, step, &by)) tn_i_w_refuse(w, "an address is too large");
        bump(w, w->stride[i].at, by);
    }
    if (l->counter != TN_REG_NONE) bump(w, l->counter, step);
}

/* ---- carries ---------------------------------------------------------------------------------------- */

static uint32_t behind_carries(const tn_i_loops *p, uint32_t k) {
    for (k++; p->op[k].kind == TN_L_CARRY; k++) {
    }
    return k;
}
static uint32_t first_next(const tn_i_loops *p, uint32_t end) {
    while (p->op[end - 1].kind == TN_L_NEXT) end--;
    return end;
}

static unsigned pieces_of(const tn_i_walk *w, uint32_t k) { return w->note[k].varies ? w->pieces : 1; }
static tn_i_reg part_of(const tn_i_walk *w, uint32_t k, bool many, unsigned i) {
    return many ? tn_i_w_piece(w, k, i) : tn_i_w_one(w, k);
}

/* k is what `from` is. */
void tn_i_w_same(tn_i_walk *w, uint32_t k, uint32_t from) {
    tn_i_w_note *n = &w->note[k];
    if (!n->varies) {
        n->at = n->many = w->note[from].at;
        if (n->spread)
            n->many = w->note[from].spread && w->note[from].many != TN_REG_NONE
                          ? w->note[from].many
                          : tn_i_w_spread(w, w->p->op[from].dtype, n->at);
        return;
    }
    const size_t at = w->npiece;
    for (unsigned i = 0; i < w->pieces; i++) tn_i_w_add_piece(w, tn_i_w_piece(w, from, i));
    n->at = (tn_i_reg)at;
}

static void enter_carries(tn_i_walk *w, uint32_t k) {
    for (uint32_t c = k + 1; w->p->op[c].kind == TN_L_CARRY && !w->m.failed; c++) {
        const uint32_t first = w->p->op[c].in[0];
        const bool many = w->note[c].varies;
        const size_t at = w->npiece;
        for (unsigned i = 0; i < pieces_of(w, c) && !w->m.failed; i++) {
            const tn_i_reg from = part_of(w, first, many, i);
            const bool bool_ = w->p->op[c].dtype == TN_BOOL && w->m.wide;
            const unsigned bytes = bool_ ? 8 : tn_i_w_bytes(w, w->p->op[c].dtype, many ? w->lanes : 1);
            const tn_i_reg r = copy(w, from, w->m.failed ? 0 : w->m.value[from].class, bytes);
            if (many)
                tn_i_w_add_piece(w, r);
            else
                w->note[c].at = r;
        }
        if (many) w->note[c].at = (tn_i_reg)at;
    }
}

static void mark_carries(tn_i_walk *w, uint32_t k, uint32_t loop) {
    const tn_i_loops *p = w->p;
    for (uint32_t c = k + 1; p->op[c].kind == TN_L_CARRY && !w->m.failed; c++)
        for (unsigned i = 0; i < pieces_of(w, c); i++) {
            tn_i_m_value *v = &w->m.value[part_of(w, c, w->note[c].varies, i)];
            v->carried = true;
            v->loop = loop;
        }
    bool leaves = false;
    for (uint32_t j = k + 1; j < p->op[k].to; j++) {
        leaves = leaves || p->op[j].kind == TN_L_WHILE;
        if (p->op[j].kind == TN_L_FOR) j = p->op[j].to;
    }
    for (uint32_t j = p->op[k].to + 1; leaves && j < p->nop; j++) {
        if (p->op[j].kind != TN_L_LAST && p->op[j].kind != TN_L_HALVES) break;
        const uint32_t c = p->op[j].in[0];
        for (unsigned i = 0; p->op[j].kind == TN_L_LAST && i < pieces_of(w, c); i++)
            tn_i_m_keep(&w->m, loop, part_of(w, c, w->note[c].varies, i));
    }
}

static void spread_carries(tn_i_walk *w, uint32_t k) {
    for (uint32_t c = k + 1; w->p->op[c].kind == TN_L_CARRY && !w->m.failed; c++)
        if (!w->note[c].varies) tn_i_w_is(w, c, w->note[c].at);
}

static void next_carries(tn_i_walk *w, uint32_t end, uint32_t loop) {
    for (uint32_t j = first_next(w->p, end); j < end && !w->m.failed; j++) {
        const uint32_t c = w->p->op[j].in[0], x = w->p->op[j].in[1];
        for (unsigned i = 0; i < pieces_of(w, c) && !w->m.failed; i++) {
            tn_i_reg v = part_of(w, x, w->note[c].varies, i);
            if (!w->m.failed && w->m.value[v].loop == loop) v = copy_of(w, v);
            tn_i_m_carry(&w->m, loop, part_of(w, c, w->note[c].varies, i), v);
        }
    }
}

/* ---- one iteration after the other --------------------------------------------------------------------- */

static void body(tn_i_walk *w, uint32_t k) {
    const uint32_t end = w->p->op[k].to;
    tn_i_w_ops(w, behind_carries(w->p, k), first_next(w->p, end));
    tn_i_w_keep_halves(w, k);
}

static void written_out(tn_i_walk *w, uint32_t k, int64_t n) {
    const tn_i_loops *p = w->p;
    const uint32_t end = p->op[k].to;
    tn_i_w_loop *l = loop_of(w, k);
    for (uint32_t c = k + 1; p->op[c].kind == TN_L_CARRY; c++) tn_i_w_same(w, c, p->op[c].in[0]);
    for (int64_t i = 0; i < n && !w->m.failed; i++) {
        l->fixed = true;
        l->number = i;
        body(w, k);
        /* all at once: what a carry is told to be may be another carry */
        for (uint32_t j = first_next(p, end); j < end; j++) {
            w->note[j].varies = w->note[p->op[j].in[0]].varies;
            w->note[j].spread = w->note[p->op[j].in[0]].spread;
            tn_i_w_same(w, j, p->op[j].in[1]);
        }
        for (uint32_t j = first_next(p, end); j < end; j++) {
            w->note[p->op[j].in[0]].at = w->note[j].at;
            w->note[p->op[j].in[0]].many = w->note[j].many;
        }
    }
}

static void run_loop(tn_i_walk *w, uint32_t k, bool known, int64_t n) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    tn_i_w_loop *l = loop_of(w, k);
    const bool ever = o->hi == INT64_MAX;
    const uint32_t inner = w->inner;
    *l = (tn_i_w_loop){.counter = TN_REG_NONE, .strides = TN_L_NONE, .bytes = l->bytes};
    l->counts = tn_i_w_has_halves(w, k);
    tn_i_w_prepare(w, k);
    const tn_i_reg count = known || ever ? TN_REG_NONE : count_of(w, o);
    begin_moving(w, l);
    int64_t end = n;
    const bool by_stride =
        known && !l->counts && l->strides != TN_L_NONE && tn_i_mul_i64(n, w->stride[l->strides].by, &end);
    if (!by_stride) end = n;
    if (l->counts || (!by_stride && !ever)) l->counter = zero(w);
    enter_carries(w, k);
    if (count != TN_REG_NONE) tn_i_w_cmp_number(w, count, 0);
    const uint32_t loop = tn_i_m_loop_new(&w->m);
    mark_carries(w, k, loop);
    tn_i_w_add(w, TN_M_LOOP, count != TN_REG_NONE ? TN_CC_LE : TN_CC_NONE, (int32_t)loop);
    w->inner = k;
    const uint32_t outer = w->running;
    w->running = loop;
    const size_t addresses = w->naddress;
    spread_carries(w, k);
    body(w, k);
    next_carries(w, o->to, loop);
    move(w, l, 1);
    if (count != TN_REG_NONE)
        tn_i_w_cmp(w, l->counter, count);
    else if (!ever)
        tn_i_w_cmp_number(w, by_stride ? w->stride[l->strides].at : l->counter, end);
    tn_i_w_add(w, TN_M_AGAIN, ever ? TN_CC_NONE : count != TN_REG_NONE ? TN_CC_L : TN_CC_NE, (int32_t)loop);
    tn_i_w_forget(w, addresses);
    w->running = outer;
    w->inner = inner;
    for (uint32_t c = k + 1; w->p->op[c].kind == TN_L_CARRY; c++) w->note[c].many = TN_REG_NONE; /* spread anew */
}

/* ---- vectors ------------------------------------------------------------------------------------------ */

/* Which elements of a vector are below `n`, 1 to lanes - 1. */
static tn_i_reg known_tail(tn_i_walk *w, int64_t n) {
    uint8_t bits[64] = {0};
    if (w->m.wide) return tn_i_m_number(&w->m, TN_CLASS_K, ((int64_t)1 << n) - 1);
    for (unsigned i = 0; i < (unsigned)n * w->mask; i++) bits[i] = 0xFF;
    return tn_i_m_constant(&w->m, bits, w->lanes * w->mask);
}

/* Likewise of count - counter. */
static tn_i_reg found_tail(tn_i_walk *w, tn_i_reg counter, tn_i_reg count) {
    uint8_t bits[64] = {0};
    const unsigned size = w->lanes * w->mask;
    tn_i_w_general(w, TN_X_mov, 8, TN_RAX_, count, 0);
    tn_i_w_two(w, TN_X_sub, 8, TN_RAX_, counter);
    if (w->m.wide) {
        tn_i_mi bzhi = tn_i_m_blank(TN_X_bzhi, 0);
        tn_i_w_set(w, TN_RCX_, -1);
        bzhi.r = TN_RCX_;
        bzhi.v = TN_RAX_;
        bzhi.m = TN_RCX_;
        bzhi.flags = TN_MI_R;
        tn_i_m_add(&w->m, &bzhi);
        return tn_i_w_put_k(w, TN_X_kmovd_k, 0, TN_REG_NONE, TN_RCX_, 0);
    }
    for (unsigned i = 0; i < size; i++) bits[i] = 0xFF; /* ones, then zeros: read so many elements before the zeros */
    tn_i_mi table = tn_i_m_blank(TN_M_TABLE, 0);
    table.r = TN_RCX_;
    table.imm = (int32_t)tn_i_code_constant_of(w->m.code, bits, 2 * size);
    table.flags = TN_MI_R;
    tn_i_m_add(&w->m, &table);
    tn_i_w_imm(w, TN_X_neg, 8, TN_RAX_, 0);
    const tn_i_w_mem at = {TN_RCX_, TN_RAX_, (uint8_t)w->mask, (int32_t)size};
    return tn_i_w_load_op(w, TN_X_vmovups, size, size, TN_REG_NONE, &at);
}

/* tail: of the last piece, which has `left` elements, or 0, where that is not known. */
static void vector_body(tn_i_walk *w, uint32_t k, unsigned pieces, tn_i_reg tail, unsigned left) {
    const size_t addresses = w->naddress;
    w->pieces = pieces;
    w->tail = tail;
    w->left = left;
    body(w, k);
    w->tail = TN_REG_NONE;
    tn_i_w_forget(w, addresses);
}

/* Full vectors while `step` iterations are left of `count`. */
static void vector_run(tn_i_walk *w, uint32_t k, unsigned pieces, tn_i_reg count, int64_t n) {
    tn_i_w_loop *l = loop_of(w, k);
    const int32_t step = (int32_t)(pieces * w->lanes);
    const tn_i_w_mem end = tn_i_w_at(l->counter, step);
    if (count != TN_REG_NONE) {
        tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RAX_, &end);
        tn_i_w_cmp(w, TN_RAX_, count);
    }
    const uint32_t loop = tn_i_m_loop_new(&w->m);
    tn_i_w_add(w, TN_M_LOOP, count != TN_REG_NONE ? TN_CC_G : TN_CC_NONE, (int32_t)loop);
    vector_body(w, k, pieces, TN_REG_NONE, 0);
    move(w, l, step);
    if (count != TN_REG_NONE) {
        tn_i_w_fixed_load(w, TN_X_lea, 8, TN_RAX_, &end);
        tn_i_w_cmp(w, TN_RAX_, count);
        tn_i_w_add(w, TN_M_AGAIN, TN_CC_LE, (int32_t)loop);
        return;
    }
    tn_i_w_cmp_number(w, l->counter, n);
    tn_i_w_add(w, TN_M_AGAIN, TN_CC_NE, (int32_t)loop);
}

static void vector_known(tn_i_walk *w, uint32_t k, int64_t n) {
    tn_i_w_loop *l = loop_of(w, k);
    const int64_t step = (int64_t)(w->pieces * w->lanes), full = n / step, left = n % step, over = left % w->lanes;
    const unsigned pieces = w->pieces;
    const uint32_t inner = w->inner;
    if (full > 1) {
        tn_i_w_prepare(w, k);
        begin_moving(w, l);
        l->counter = zero(w);
        w->inner = k;
        vector_run(w, k, pieces, TN_REG_NONE, full * step);
        w->inner = inner;
    }
    l->fixed = true;
    if (full == 1) {
        l->number = 0;
        vector_body(w, k, pieces, TN_REG_NONE, 0);
    }
    if (left == 0) return;
    l->number = full * step;
    vector_body(w, k, (unsigned)((left + w->lanes - 1) / w->lanes), over ? known_tail(w, over) : TN_REG_NONE,
                (unsigned)over);
}

static void vector_counted(tn_i_walk *w, uint32_t k) {
    tn_i_w_loop *l = loop_of(w, k);
    const unsigned pieces = w->pieces;
    const uint32_t inner = w->inner;
    tn_i_w_prepare(w, k);
    const tn_i_reg count = count_of(w, tn_i_w_o(w, k));
    begin_moving(w, l);
    l->counter = zero(w);
    w->inner = k;
    vector_run(w, k, pieces, count, 0);
    if (pieces > 1) vector_run(w, k, 1, count, 0);
    tn_i_w_cmp(w, l->counter, count);
    tn_i_w_add(w, TN_M_IF, TN_CC_GE, 0);
    vector_body(w, k, 1, found_tail(w, l->counter, count), 0);
    tn_i_w_add(w, TN_M_END, 0, 0);
    w->inner = inner;
}

static void vector_loop(tn_i_walk *w, uint32_t k, bool known, int64_t n) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    if (!tn_i_l_no_sums(w->p, k)) {
        tn_i_w_refuse(w, "a reduction in a vector loop");
        return;
    }
    tn_i_w_loop *l = loop_of(w, k);
    const bool halves = tn_i_w_has_halves(w, k);
    unsigned bytes = w->machine;
    *l = (tn_i_w_loop){.counter = TN_REG_NONE, .strides = TN_L_NONE, .bytes = l->bytes, .counts = true};
    w->mask = l->bytes;
    w->lanes = bytes / w->mask;
    while (bytes > 16 && (w->lanes > o->vector || (known && w->lanes / 2 >= n))) {
        bytes /= 2;
        w->lanes /= 2;
    }
    const int64_t wide = halves ? n : o->vector;
    w->pieces = wide > w->lanes ? (unsigned)(wide / w->lanes) : 1;
    w->vector = k;
    if (known)
        vector_known(w, k, n);
    else
        vector_counted(w, k);
    l->lanes = (uint8_t)w->lanes;
    l->pieces = (uint8_t)w->pieces;
    w->vector = TN_L_NONE;
}

/* ---- parts ---------------------------------------------------------------------------------------------- */

static tn_status share(const tn_i_l_run *run, char *const *base, int64_t n, tn_i_l_part *part) {
    if (run->share) return run->share(run, base, n, part);
    for (int64_t i = 0; i < n; i++) {
        const tn_status s = part(run, base, i);
        if (s != TN_OK) return s;
    }
    return TN_OK;
}

static void share_loop(tn_i_walk *w, uint32_t k, int64_t n) {
    const int64_t address = (int64_t)(intptr_t)(void (*)(void))share;
    if (!tn_i_w_grow(w, &w->parallel, &w->cparallel, w->nparallel + 1, sizeof *w->parallel)) return;
    if (!tn_i_w_grow(w, &w->parts, &w->cparts, w->nparallel + 1, sizeof *w->parts)) return;
    w->parallel[w->nparallel] = k;
    const tn_i_jit_label part = w->parts[w->nparallel++] = tn_i_code_label(w->m.code);
    tn_i_w_add(w, TN_M_RELEASE, 0, 0);
    tn_i_w_fixed_copy(w, TN_RDI, w->run);
    tn_i_w_fixed_copy(w, TN_RSI, w->base);
    tn_i_w_set(w, TN_RDX_, n);
    tn_i_mi in = tn_i_m_blank(TN_M_ADDRESS, 8);
    in.r = TN_RCX_;
    in.imm = (int32_t)part;
    tn_i_m_add(&w->m, &in);
    tn_i_w_call_c(w, address);
    tn_i_w_add(w, TN_M_RETURN_IF, 0, 0);
}

/* The body of a parallel loop: rdx is its number. */
void tn_i_w_part(tn_i_walk *w, uint32_t k) {
    tn_i_w_loop *l = loop_of(w, k);
    *l = (tn_i_w_loop){.counter = copy(w, TN_RDX_, TN_CLASS_G, 8), .strides = TN_L_NONE, .bytes = l->bytes};
    tn_i_w_prepare(w, k);
    for (uint32_t i = l->strides; i != TN_L_NONE && !w->m.failed; i = w->stride[i].next) {
        w->stride[i].at = tn_i_m_new(&w->m, TN_CLASS_G, 8);
        if (w->stride[i].by >= INT32_MIN && w->stride[i].by <= INT32_MAX)
            tn_i_w_general(w, TN_X_imul_i, 8, w->stride[i].at, l->counter, (int32_t)w->stride[i].by);
        else {
            tn_i_w_set(w, w->stride[i].at, w->stride[i].by);
            tn_i_w_refuse(w, "a parallel loop's steps are too large");
        }
    }
    w->inner = k;
    tn_i_w_ops(w, k + 1, w->p->op[k].to);
}

/* ---- which --------------------------------------------------------------------------------------------- */

static bool leaves(const tn_i_loops *p, uint32_t k) {
    for (uint32_t j = k + 1; j < p->op[k].to; j++) {
        if (p->op[j].kind == TN_L_WHILE) return true;
        if (p->op[j].kind == TN_L_FOR) j = p->op[j].to;
    }
    return false;
}

void tn_i_w_for(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    int64_t n = 0;
    const bool known = tn_i_l_known_count(w->p, k, &n);
    if (known && n == 0) {
        loop_of(w, k)->lanes = 0;
        for (uint32_t c = k + 1; w->p->op[c].kind == TN_L_CARRY; c++) tn_i_w_same(w, c, w->p->op[c].in[0]);
    } else if (o->parallel)
        share_loop(w, k, n);
    else if (o->vector)
        vector_loop(w, k, known, n);
    else if (known && (n == 1 || (o->unroll >= n && n <= TN_M_CODE_UNROLL)) && !leaves(w->p, k))
        written_out(w, k, n);
    else
        run_loop(w, k, known, n);
}
