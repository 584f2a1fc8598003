/* A nest (plan/nest.h) as a loop program: each of its loops is a FOR, each phase a set of FORs over the row's elements,
 * and each operation what it says, where the loops of its level are open.
 *
 * A REDUCE begins in front of the first loop that it is over, and is complete behind that loop: then it is a value of
 * the row, or its results, one for each index of the loops within that are kept, are stored.  Values of elements that
 * a later phase reads wait in a row of scratch memory. */
#include "lower/nest_i.h"

#include <string.h>

static uint32_t inner_loops(const tn_i_nest *n) { return ((1u << n->nloop) - 1) & ~((1u << n->nouter) - 1); }

/* A value that needs no loop; where there are no outer ones, those of the row may be told as of level ONCE, too. */
static bool once(const tn_i_lowering *w, const tn_i_nest_op *o) {
    bool is = o->level == TN_NEST_ONCE && o->kind != TN_NEST_REDUCE && o->kind != TN_NEST_STORE;
    for (uint32_t k = 0; k < o->nin; k++) is &= w->value[o->in[k]] != TN_L_NONE;
    return is;
}

static void open_loop(tn_i_lowering *w, uint32_t l) {
    const tn_i_nest *n = w->n;
    if (n->upper && l == 1) { /* from the diagonal on */
        const tn_i_affine count = tn_i_affine_add(w->b, tn_i_affine_number(n->size[1]), -1, w->index[0]);
        const uint32_t loop = tn_i_l_for_up_to(w->b, n->size[1], count, TN_L_NONE);
        w->index[1] = tn_i_affine_term(w->b, w->index[0], loop, 1);
        return;
    }
    w->index[l] = tn_i_affine_loop(tn_i_l_for_n(w->b, n->size[l]), 1, 0);
}

/* ---- reductions ------------------------------------------------------------------------------------- */

static bool reduces(const tn_i_nest_op *o) { return o->kind == TN_NEST_REDUCE && o->over; }

static uint32_t first_loop(const tn_i_nest_op *o) {
    uint32_t l = 0;
    while (!(o->over >> l & 1)) l++;
    return l;
}

/* Its operand is an element, so that it is fed where elements are. */
static bool fed_by_elements(const tn_i_nest *n, const tn_i_nest_op *o) {
    return o->level == TN_NEST_ELEMENT || o->over & inner_loops(n);
}

/* The loops within its first one that its results walk. */
static uint32_t kept_loops(const tn_i_nest *n, const tn_i_nest_op *o) {
    const uint32_t loops = fed_by_elements(n, o) ? n->nloop : n->nouter;
    return ((1u << loops) - 1) & ~((1u << first_loop(o)) - 1) & ~o->over;
}

static tn_i_affine result_index(tn_i_lowering *w, uint32_t kept) {
    tn_i_affine e = tn_i_affine_number(0);
    int64_t by = 1;
    for (uint32_t l = w->n->nloop; l-- > 0;) {
        if (!(kept >> l & 1)) continue;
        e = tn_i_affine_add(w->b, e, by, w->index[l]);
        if (!tn_i_mul_i64(by, w->n->size[l], &by)) return e;
    }
    return e;
}

static void begin_reduction(tn_i_lowering *w, uint32_t i) {
    const tn_i_nest_op *o = &w->n->op[i];
    const uint32_t kept = kept_loops(w->n, o);
    int64_t count = 1;
    for (uint32_t l = 0; l < w->n->nloop; l++)
        if (kept >> l & 1) count *= w->n->size[l];
    w->reduction[i] = tn_i_l_reduce(w->b, o->fold, w->n->op[o->in[0]].dtype, count);
}

static void feed(tn_i_lowering *w, uint32_t i) {
    const tn_i_nest_op *o = &w->n->op[i];
    tn_i_l_into(w->b, w->reduction[i], result_index(w, kept_loops(w->n, o)), w->value[o->in[0]]);
}

/* What is complete: of the row it is a value, else the one STORE that reads it has its loops to itself. */
static void finish(tn_i_lowering *w, uint32_t i) {
    const tn_i_nest *n = w->n;
    const tn_i_nest_op *o = &n->op[i];
    if (o->over == inner_loops(n)) {
        w->value[i] = tn_i_l_total(w->b, w->reduction[i], tn_i_affine_number(0), o->dtype);
        return;
    }
    const uint32_t kept = kept_loops(n, o);
    uint32_t depth = 0;
    for (uint32_t l = 0; l < n->nloop; l++)
        if (kept >> l & 1) open_loop(w, l), depth++;
    const uint32_t v = tn_i_l_total(w->b, w->reduction[i], result_index(w, kept), o->dtype);
    const uint32_t walked = kept | ((1u << first_loop(o)) - 1);
    for (uint32_t k = i + 1; k < n->nop; k++) {
        const tn_i_nest_op *s = &n->op[k];
        if (s->kind != TN_NEST_STORE || s->in[0] != i) continue;
        tn_i_l_store_at(w->b, w->array[s->array], tn_i_lower_address(w, &n->array[s->array], s->array, walked), v);
    }
    while (depth-- > 0) tn_i_l_close(w->b);
}

/* Those whose first loop is l, in a phase, or in all of them. */
static void at_loop(tn_i_lowering *w, uint32_t l, int phase, void (*what)(tn_i_lowering *, uint32_t)) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (reduces(o) && first_loop(o) == l && (phase < 0 || o->phase == phase)) what(w, i);
    }
}

/* ---- operations --------------------------------------------------------------------------------------- */

/* A REDUCE over loops of size 1: of one element. */
static uint32_t reduce_one(tn_i_lowering *w, const tn_i_nest_op *o) {
    const tn_i_affine none = tn_i_affine_number(0);
    const uint32_t r = tn_i_l_reduce(w->b, o->fold, w->n->op[o->in[0]].dtype, 1);
    tn_i_l_into(w->b, r, none, w->value[o->in[0]]);
    return tn_i_l_total(w->b, r, none, o->dtype);
}

/* An element's place in its row. */
static tn_i_affine row_index(tn_i_lowering *w) { return result_index(w, inner_loops(w->n)); }

/* Operands that an earlier phase made of the element. */
static void fetch(tn_i_lowering *w, const tn_i_nest_op *o) {
    for (uint32_t k = 0; k < o->nin; k++) {
        const uint32_t i = o->in[k];
        const tn_i_nest_op *x = &w->n->op[i];
        if (x->level != TN_NEST_ELEMENT || x->phase == o->phase || w->value[i] != TN_L_NONE) continue;
        w->value[i] = tn_i_l_load_at(w->b, w->buffer[i], row_index(w));
    }
}

static void keep(tn_i_lowering *w, uint32_t i) { tn_i_l_store_at(w->b, w->buffer[i], row_index(w), w->value[i]); }

static uint32_t map(tn_i_lowering *w, const tn_i_nest_op *o) {
    uint32_t in[4] = {0};
    for (uint32_t k = 0; k < o->nin; k++) in[k] = w->value[o->in[k]];
    return tn_i_l_elementwise(w->b, o->eqn->prim, tn_i_p(o->eqn), o->dtype, o->nin, in);
}

static void store(tn_i_lowering *w, const tn_i_nest_op *o) {
    const uint32_t all = (1u << w->n->nloop) - 1, rows = (1u << w->n->nouter) - 1;
    if (reduces(&w->n->op[o->in[0]]) && w->n->op[o->in[0]].over != inner_loops(w->n)) return; /* finish */
    const uint32_t mask = o->level == TN_NEST_ELEMENT ? all : rows;
    tn_i_l_store_at(w->b, w->array[o->array], tn_i_lower_address(w, &w->n->array[o->array], o->array, mask),
                    w->value[o->in[0]]);
}

static void operation(tn_i_lowering *w, uint32_t i) {
    const tn_i_nest_op *o = &w->n->op[i];
    switch ((tn_i_nest_kind)o->kind) {
    case TN_NEST_LOAD: w->value[i] = tn_i_lower_load(w, o); break;
    case TN_NEST_NUMBER: w->value[i] = tn_i_l_number(w->b, o->dtype, o->bits); break;
    case TN_NEST_IOTA: {
        const tn_i_affine first = tn_i_affine_number(o->first);
        w->value[i] = tn_i_l_index(w->b, o->dtype, tn_i_affine_add(w->b, first, o->by, w->index[o->loop]));
        break;
    }
    case TN_NEST_MAP: w->value[i] = map(w, o); break;
    case TN_NEST_LOOKUP: w->value[i] = tn_i_lower_lookup(w, o); break;
    case TN_NEST_REDUCE:
        if (!o->over)
            w->value[i] = reduce_one(w, o);
        else
            feed(w, i);
        break;
    case TN_NEST_STORE: store(w, o); break;
    }
}

/* ---- loops --------------------------------------------------------------------------------------------- */

static bool among_elements(const tn_i_nest *n, const tn_i_nest_op *o) {
    return reduces(o) ? fed_by_elements(n, o) : o->level == TN_NEST_ELEMENT;
}

static void elements(tn_i_lowering *w, uint8_t phase) {
    const tn_i_nest *n = w->n;
    for (uint32_t i = 0; i < n->nop; i++)
        if (n->op[i].level == TN_NEST_ELEMENT && n->op[i].phase != phase) w->value[i] = TN_L_NONE;
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->phase != phase || !among_elements(n, o)) continue;
        fetch(w, o);
        operation(w, i);
        if (o->crosses) keep(w, i);
    }
}

static bool any_elements(const tn_i_nest *n, uint8_t phase) {
    for (uint32_t i = 0; i < n->nop; i++)
        if (n->op[i].phase == phase && among_elements(n, &n->op[i])) return true;
    return false;
}

static void phase_loops(tn_i_lowering *w, uint8_t phase) {
    const tn_i_nest *n = w->n;
    if (!any_elements(n, phase)) return;
    for (uint32_t l = n->nouter; l < n->nloop; l++) {
        at_loop(w, l, phase, begin_reduction);
        open_loop(w, l);
    }
    elements(w, phase);
    for (uint32_t l = n->nloop; l-- > n->nouter;) {
        tn_i_l_close(w->b);
        at_loop(w, l, phase, finish);
    }
}

static void rows(tn_i_lowering *w, uint8_t phase, bool before) {
    const tn_i_nest *n = w->n;
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->level == TN_NEST_ELEMENT || o->phase != phase || o->before != before || among_elements(n, o)) continue;
        if (o->level == TN_NEST_ROW || w->value[i] == TN_L_NONE) operation(w, i);
    }
}

static void row(tn_i_lowering *w) {
    rows(w, 0, true);
    for (uint32_t p = 0; p < w->n->nphase; p++) {
        phase_loops(w, (uint8_t)p);
        rows(w, (uint8_t)p, false);
    }
}

static void all_loops(tn_i_lowering *w) {
    const tn_i_nest *n = w->n;
    for (uint32_t i = 0; i < n->nop; i++)
        if (once(w, &n->op[i])) operation(w, i);
    for (uint32_t l = 0; l < n->nouter; l++) {
        at_loop(w, l, -1, begin_reduction);
        open_loop(w, l);
    }
    row(w);
    for (uint32_t l = n->nouter; l-- > 0;) {
        tn_i_l_close(w->b);
        at_loop(w, l, -1, finish);
    }
    tn_i_lower_one_hot(w);
}

static bool buffers(tn_i_lowering *w) {
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->n->op[i].crosses) w->buffer[i] = tn_i_l_scratch(w->b, "row", w->n->op[i].dtype, w->n->row, 0);
    return !w->b->failed;
}

bool tn_i_lower_into(tn_i_l_builder *b, const tn_i_nest *n, const tn_i_lower_place *frame) {
    tn_i_lowering w = {.n = n, .b = b, .frame = frame};
    const size_t ops = 3 * (size_t)n->nop;
    w.value = tn_i_alloc_array(b->ctx, ops + 1, sizeof *w.value);
    w.array = tn_i_alloc_array(b->ctx, n->narray + 1u, sizeof *w.array);
    w.extent = tn_i_alloc_array(b->ctx, n->narray + 1u, sizeof *w.extent);
    if (!w.value || !w.array || !w.extent) b->failed = true;
    if (!b->failed) {
        memset(w.value, 0xff, ops * sizeof *w.value);
        w.reduction = w.value + n->nop;
        w.buffer = w.reduction + n->nop;
        if (tn_i_lower_arrays(&w) && buffers(&w)) all_loops(&w);
    }
    if (w.extent) tn_i_free(b->ctx, w.extent, (n->narray + 1u) * sizeof *w.extent);
    if (w.value) tn_i_free(b->ctx, w.value, (ops + 1) * sizeof *w.value);
    if (w.array) tn_i_free(b->ctx, w.array, (n->narray + 1u) * sizeof *w.array);
    return !b->failed;
}

tn_i_loops *tn_i_lower_nest(tn_ctx *c, const tn_i_nest *n) {
    tn_i_l_builder b;
    tn_i_l_begin(&b, c);
    tn_i_l_arena(&b, TN_LOWER_SCRATCH, 0);
    (void)tn_i_lower_into(&b, n, NULL);
    return tn_i_l_end(&b);
}
