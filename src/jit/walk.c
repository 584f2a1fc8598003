/* A loop program as code: what varies in vector loops, block by block, function by function (jit/walk.h). */
#include "jit/walk.h"

#include <stdio.h>
#include <string.h>

/* ---- what varies ------------------------------------------------------------------------------------- */

typedef struct looker {
    tn_i_walk *w;
    uint32_t vector, open[TN_L_DEPTH], depth;
} looker;

static unsigned largest(unsigned a, int dtype) {
    const unsigned b = dtype == TN_BOOL ? 0 : (unsigned)tn_i_dtype_size(dtype);
    return a > b ? a : b;
}

/* Operands that are one number and meet vectors are wanted as vectors. */
static void spread_operands(tn_i_walk *w, const tn_i_l_op *o, bool index_too) {
    for (int i = index_too ? 0 : 1; i < 3; i++)
        if (o->in[i] != TN_L_NONE && !w->note[o->in[i]].varies) w->note[o->in[i]].spread = true;
}

static bool any_varies(const tn_i_walk *w, const tn_i_l_op *o) {
    for (int i = 0; i < 3; i++)
        if (o->in[i] != TN_L_NONE && w->note[o->in[i]].varies) return true;
    return false;
}

static void look(looker *z, uint32_t k) {
    tn_i_walk *w = z->w;
    const tn_i_l_op *o = tn_i_w_o(w, k);
    if (z->vector == TN_L_NONE) return;
    tn_i_w_loop *l = &w->loop[w->note[z->vector].loop];
    const bool moves = o->at.n && tn_i_l_by(w->p, &o->at, z->vector) != 0;
    if (tn_i_l_has_value(o)) {
        w->note[k].varies = o->kind == TN_L_CARRY || moves || any_varies(w, o);
        if (!w->note[k].varies) return;
        l->bytes = (uint8_t)largest(l->bytes, o->dtype);
        if (o->kind != TN_L_LAST) spread_operands(w, o, o->kind != TN_L_LOAD);
    } else if (o->kind == TN_L_STORE) {
        l->bytes = (uint8_t)largest(l->bytes, o->dtype);
        spread_operands(w, o, false);
    } else if (o->kind == TN_L_NEXT && w->note[o->in[0]].varies)
        spread_operands(w, o, true);
}

static bool look_at_all(tn_i_walk *w) {
    looker z = {.w = w, .vector = TN_L_NONE};
    const tn_i_loops *p = w->p;
    for (uint32_t k = 0; k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        w->note[k] = (tn_i_w_note){.at = TN_REG_NONE, .many = TN_REG_NONE, .loop = TN_L_NONE};
        look(&z, k);
        if (o->kind == TN_L_FOR) {
            if (!tn_i_w_grow(w, &w->loop, &w->cloop, w->nloop + 1, sizeof *w->loop)) return false;
            w->loop[w->nloop] = (tn_i_w_loop){.bytes = 4, .counter = TN_REG_NONE, .strides = TN_L_NONE};
            w->note[k].loop = (uint32_t)w->nloop++;
            if (o->vector) z.vector = k;
        } else if (o->kind == TN_L_END && o->to == z.vector)
            z.vector = TN_L_NONE;
    }
    return true;
}

/* ---- operations ------------------------------------------------------------------------------------------ */

static void number(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    tn_i_w_note *n = &w->note[k];
    if (o->dtype == TN_BOOL) {
        n->at = tn_i_w_bool(w, o->bits != 0, 1);
        n->many = tn_i_w_bool(w, o->bits != 0, 2);
        return;
    }
    n->at = n->many = tn_i_w_all(w, o->dtype, o->bits, (unsigned)tn_i_dtype_size(o->dtype));
    if (n->spread) n->many = tn_i_w_all(w, o->dtype, o->bits, w->machine);
}

/* The dtype that a MAP computes with. */
static int from_of(const tn_i_walk *w, const tn_i_l_op *o) { return w->p->op[o->in[o->code == TN_L_select]].dtype; }

static bool is_call(const tn_i_walk *w, const tn_i_l_op *o) {
    return o->kind == TN_L_MAP && (o->code == TN_L_fn || (o->code == TN_L_rem && tn_i_is_float(from_of(w, o))));
}

static void map(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const int from = from_of(w, o);
    if (is_call(w, o)) {
        tn_i_w_fn(w, k);
        return;
    }
    tn_i_reg in[3] = {TN_REG_NONE, TN_REG_NONE, TN_REG_NONE};
    for (int j = 0; j < o->nin; j++) in[j] = tn_i_w_one(w, o->in[j]);
    tn_i_reg r;
    if (!tn_i_w_limit(w, o, 1, in, &r)) r = tn_i_w_map(w, o->code, from, o->dtype, 1, in[0], in[1], in[2]);
    tn_i_w_is(w, k, r);
}

static tn_i_reg map_piece(tn_i_walk *w, uint32_t k, unsigned i) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    tn_i_reg in[3] = {TN_REG_NONE, TN_REG_NONE, TN_REG_NONE};
    for (int j = 0; j < o->nin; j++) in[j] = tn_i_w_piece(w, o->in[j], i);
    tn_i_reg r;
    if (tn_i_w_limit(w, o, w->lanes, in, &r)) return r;
    return tn_i_w_map(w, o->code, from_of(w, o), o->dtype, w->lanes, in[0], in[1], in[2]);
}

static void leave(tn_i_walk *w, uint32_t k) {
    tn_i_w_test(w, tn_i_w_one(w, tn_i_w_o(w, k)->in[0]));
    tn_i_w_add(w, TN_M_LEAVE, TN_CC_E, (int32_t)w->running);
}

/* ---- branches ---------------------------------------------------------------------------------------------- */

static tn_i_reg copied(tn_i_walk *w, tn_i_reg to, tn_i_reg from, int dtype, unsigned lanes) {
    tn_i_mi in = tn_i_m_blank(TN_M_COPY, 8);
    if (w->m.failed) return 0;
    const int class = w->m.value[from].class;
    in.r = to != TN_REG_NONE ? to : tn_i_m_new(&w->m, class, class == TN_CLASS_K ? 8 : tn_i_w_bytes(w, dtype, lanes));
    in.m = from;
    in.flags = TN_MI_R;
    tn_i_m_add(&w->m, &in);
    return in.r;
}

/* At the end of one branch: its part of the joins behind END `end`. */
static void join(tn_i_walk *w, uint32_t end, int branch) {
    for (uint32_t j = end + 1; j < w->p->nop && w->p->op[j].kind == TN_L_JOIN && !w->m.failed; j++) {
        const tn_i_l_op *o = tn_i_w_o(w, j);
        const bool many = w->note[j].varies;
        const size_t at = w->npiece;
        for (unsigned i = 0; i < (many ? w->pieces : 1); i++) {
            const tn_i_reg from = many ? tn_i_w_piece(w, o->in[branch], i) : tn_i_w_one(w, o->in[branch]);
            const tn_i_reg to = branch == 0 ? TN_REG_NONE : many ? tn_i_w_piece(w, j, i) : w->note[j].at;
            const tn_i_reg r = copied(w, to, from, o->dtype, many ? w->lanes : 1);
            if (branch == 0 && many) tn_i_w_add_piece(w, r);
            if (branch == 0 && !many) w->note[j].at = r;
        }
        if (branch == 0 && many) w->note[j].at = (tn_i_reg)at;
    }
}

static uint32_t branches(tn_i_walk *w, uint32_t k) {
    const tn_i_loops *p = w->p;
    const uint32_t middle = p->op[k].to, end = p->op[middle].kind == TN_L_ELSE ? p->op[middle].to : middle;
    const bool joins = end + 1 < p->nop && p->op[end + 1].kind == TN_L_JOIN;
    tn_i_w_test(w, tn_i_w_one(w, p->op[k].in[0]));
    tn_i_w_add(w, TN_M_IF, TN_CC_E, 0);
    size_t addresses = w->naddress;
    tn_i_w_ops(w, k + 1, middle);
    join(w, end, 0);
    tn_i_w_forget(w, addresses);
    if (middle != end || joins) {
        tn_i_w_add(w, TN_M_ELSE, 0, 0);
        if (middle != end) tn_i_w_ops(w, middle + 1, end);
        join(w, end, 1);
        tn_i_w_forget(w, addresses);
    }
    tn_i_w_add(w, TN_M_END, 0, 0);
    uint32_t j = end + 1;
    for (; j < p->nop && p->op[j].kind == TN_L_JOIN && !w->m.failed; j++)
        if (!w->note[j].varies) tn_i_w_is(w, j, w->note[j].at);
    return j;
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

static uint32_t one(tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    switch (o->kind) {
    case TN_L_NUMBER: number(w, k); break;
    case TN_L_INDEX: tn_i_w_index(w, k); break;
    case TN_L_WITHIN: tn_i_w_within(w, k); break;
    case TN_L_MAP: map(w, k); break;
    case TN_L_LOAD: tn_i_w_load(w, k); break;
    case TN_L_STORE: tn_i_w_store(w, k); break;
    case TN_L_LAST: tn_i_w_same(w, k, o->in[0]); break;
    case TN_L_HALVES: tn_i_w_halves(w, k); break;
    case TN_L_WHILE: leave(w, k); break;
    case TN_L_CALL: tn_i_w_call(w, k); break;
    case TN_L_FOR: tn_i_w_for(w, k); return o->to + 1;
    case TN_L_IF: return branches(w, k);
    case TN_L_REDUCE: tn_i_w_reduce(w, k); break;
    case TN_L_INTO: tn_i_w_into(w, k); break;
    case TN_L_TOTAL: tn_i_w_total(w, k); break;
    default: tn_i_w_refuse(w, "an operation where none can be"); break;
    }
    return k + 1;
}

/* ---- vector loops, piece by piece --------------------------------------------------------------------------- */

/* What is computed of one piece without the others: not functions, before which all registers are given up anyway. */
static bool by_piece(const tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    if (o->kind == TN_L_STORE) return true;
    return w->note[k].varies && (o->kind == TN_L_LOAD || (o->kind == TN_L_MAP && !is_call(w, o)));
}

/* What depends on nothing that is computed piece by piece: it goes first. */
static bool ahead(const tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    if (o->kind == TN_L_NUMBER || o->kind == TN_L_INDEX || o->kind == TN_L_WITHIN) return true;
    return !w->note[k].varies && (o->kind == TN_L_LOAD || (o->kind == TN_L_MAP && !is_call(w, o)));
}

static uint32_t run_from(const tn_i_walk *w, uint32_t k, uint32_t last) {
    while (k < last && (by_piece(w, k) || ahead(w, k))) k++;
    return k;
}

static void set_piece(tn_i_walk *w, uint32_t k, unsigned i, tn_i_reg r) {
    if (i == 0) {
        tn_i_w_pieces(w, k);
        for (unsigned j = 0; j < w->pieces; j++) tn_i_w_add_piece(w, r);
    }
    if (!w->m.failed) w->piece[w->note[k].at + i] = r;
}

static void unit_piece(tn_i_walk *w, const tn_i_w_rows *u, bool store, unsigned i) {
    tn_i_reg x[4] = {0};
    if (store) {
        tn_i_w_store_rows(w, u, i);
        return;
    }
    tn_i_w_load_rows(w, u, i, x);
    for (unsigned j = 0; j < u->n; j++) set_piece(w, u->op[j], i, x[j]);
}

static void one_piece(tn_i_walk *w, uint32_t k, unsigned i) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const uint32_t rows = w->note[k].rows;
    if (rows == TN_W_WITH_OTHERS) return;
    if (rows)
        unit_piece(w, &w->rows[rows - 1], o->kind == TN_L_STORE, i);
    else if (o->kind == TN_L_STORE)
        tn_i_w_store_piece(w, k, i);
    else
        set_piece(w, k, i, o->kind == TN_L_LOAD ? tn_i_w_load_piece(w, o, i) : map_piece(w, k, i));
}

/* Operations first .. last - 1 of one piece, then of the next: a value is in a register from where it is made to where
 * it is last read, however many pieces there are. */
static void run(tn_i_walk *w, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last && !w->m.failed; k++)
        if (ahead(w, k)) (void)one(w, k);
    tn_i_w_find_rows(w, first, last);
    w->nindex = 0; /* what other blocks computed need not have run */
    for (unsigned i = 0; i < w->pieces; i++)
        for (uint32_t k = first; k < last && !w->m.failed; k++)
            if (by_piece(w, k)) one_piece(w, k, i);
}

void tn_i_w_ops(tn_i_walk *w, uint32_t first, uint32_t last) {
    for (uint32_t k = first; k < last && !w->m.failed;) {
        const bool alone = w->vector == TN_L_NONE;
        const uint32_t end = alone ? tn_i_w_fns(w, k, last) : run_from(w, k, last);
        if (end > k && !alone) run(w, k, end);
        k = end > k ? end : one(w, k);
    }
}

static void function(tn_i_walk *w, tn_i_jit_label at, uint32_t part) {
    tn_i_m_clear(&w->m);
    w->npiece = w->naddress = w->nstride = 0;
    memset(w->bucket, 0, sizeof w->bucket);
    w->inner = w->vector = TN_L_NONE;
    w->lanes = w->pieces = 1;
    w->mask = TN_W_MASK_BYTES;
    w->tail = TN_REG_NONE;
    w->scratch = w->arguments = -1;
    tn_i_mi in = tn_i_m_blank(TN_M_BEGIN, 0);
    in.r = w->run = tn_i_m_new(&w->m, TN_CLASS_G, 8);
    in.v = w->base = tn_i_m_new(&w->m, TN_CLASS_G, 8);
    in.flags = TN_MI_R;
    tn_i_m_add(&w->m, &in);
    if (part == TN_L_NONE)
        tn_i_w_ops(w, 0, w->p->nop);
    else
        tn_i_w_part(w, part);
    tn_i_w_set(w, TN_RAX_, TN_OK);
    (void)tn_i_m_finish(&w->m, at);
}

static void drop(tn_i_walk *w) {
    tn_ctx *c = w->ctx;
    tn_i_m_drop(&w->m);
    if (w->note) tn_i_free(c, w->note, (w->p->nop + 1) * sizeof *w->note);
    tn_i_free(c, w->piece, w->cpiece * sizeof *w->piece);
    tn_i_free(c, w->loop, w->cloop * sizeof *w->loop);
    tn_i_free(c, w->stride, w->cstride * sizeof *w->stride);
    tn_i_free(c, w->address, w->caddress * sizeof *w->address);
    tn_i_free(c, w->rows, w->crows * sizeof *w->rows);
    tn_i_free(c, w->parts, w->cparts * sizeof *w->parts);
    tn_i_free(c, w->parallel, w->cparallel * sizeof *w->parallel);
    tn_i_free(c, w, sizeof *w);
}

/* After a refusal labels of functions that were not written have a place, so that the buffer can be finished. */
static void place(tn_i_code *c, tn_i_jit_label from) {
    if (c->failed) return;
    for (size_t l = from; l < c->nlabel; l++)
        if (c->label[l] == UINT32_MAX) c->label[l] = (uint32_t)c->length;
}

tn_i_jit_result tn_i_jit_compile(tn_i_code *code, const tn_i_loops *p, const tn_i_jit_options *o, tn_i_jit_label *at,
                                 char why[TN_JIT_WHY]) {
    static const tn_i_jit_options none = {0};
    why[0] = 0;
    *at = 0;
    if (code->isa != TN_ISA_AVX2 && code->isa != TN_ISA_AVX512) {
        (void)snprintf(why, TN_JIT_WHY, "the processor has no AVX2");
        return TN_JIT_NONE;
    }
    tn_i_walk *w = tn_i_alloc(code->ctx, sizeof *w);
    if (!w || code->failed) return TN_JIT_ERROR;
    *w = (tn_i_walk){.ctx = code->ctx, .p = p, .o = o ? o : &none};
    tn_i_m_begin(&w->m, code, why);
    w->machine = w->m.wide ? 64 : 32;
    const tn_i_jit_label first = *at = tn_i_code_label(code);
    w->note = tn_i_alloc_array(code->ctx, p->nop + 1, sizeof *w->note);
    if (!w->note) w->m.failed = true;
    if (w->note && look_at_all(w)) {
        function(w, first, TN_L_NONE);
        for (size_t i = 0; i < w->nparallel && !w->m.failed; i++) function(w, w->parts[i], w->parallel[i]);
    }
    const bool failed = w->m.failed || code->failed;
    drop(w);
    if (failed && !code->failed) place(code, first);
    return !failed ? TN_JIT_OK : why[0] && !code->failed ? TN_JIT_NONE : TN_JIT_ERROR;
}
