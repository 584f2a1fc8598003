/* Transposition of scans: the loop in the other direction.  A while's linear half is one (loop_split.c).
 *
 * Cotangents of the carry are its carry; those of linear consts are carries that each step adds to, in place, because
 * the step's transpose starts from what has been added so far; cotangents of ys are its xs, those of linear xs its ys.
 */
#include "control/loops/loop.h"

#include <string.h>

typedef struct work {
    tn_i_rule *r;
    tn_i_loop_eqn l, to;
    tn_i_arena a;
    bool *linear; /* per input of the body */
    uint32_t nlconst, nlx;
} work;

static void *room(work *w, size_t n, size_t size) {
    void *p = tn_i_arena_alloc(&w->a, (n + 1) * size);
    if (!p) w->r->b->failed = true;
    return p;
}

static uint32_t carry_in(const work *w) { return tn_i_loop_inner(&w->l, tn_i_loop_carry0(&w->l)); }
static uint32_t x_in(const work *w) { return carry_in(w) + w->l.ncarry; }

static bool find_linear(work *w) {
    const tn_fn *f = w->l.body;
    w->linear = room(w, f->nin, sizeof *w->linear);
    if (!w->linear) return false;
    for (uint32_t i = w->l.index; i < f->nin; i++) {
        w->linear[i] = w->r->in[tn_i_loop_operand(&w->l, i)] == TN_NOVAR;
        if (i < carry_in(w)) w->nlconst += w->linear[i];
        if (i >= x_in(w)) w->nlx += w->linear[i];
        if (i >= carry_in(w) && i < x_in(w)) w->linear[i] = true; /* zeros that a step makes linear */
    }
    return true;
}

/* The step with its linear consts as outputs too: their cotangents are then where the sums begin. */
static tn_fn *with_consts(work *w) {
    const tn_fn *f = w->l.body;
    const tn_type **type = room(w, f->nin, sizeof *type);
    uint32_t *from = room(w, f->nin, sizeof *from), *out = room(w, (size_t)f->nout + f->nin, sizeof *out);
    if (w->r->b->failed) return NULL;
    tn_i_wiring k = {.nin = f->nin, .in = type, .from = from, .out = out};
    for (uint32_t i = 0; i < f->nin; i++) {
        from[i] = i;
        type[i] = f->val[i].type;
    }
    for (uint32_t j = 0; j < f->nout; j++) out[k.nout++] = j;
    for (uint32_t i = 0; i < carry_in(w); i++)
        if (w->linear[i]) out[k.nout++] = TN_WIRE_INPUT | i;
    return tn_i_rewire(f, &k);
}

/* t: (other inputs.. , ct of outputs.., ct of consts so far..) -> ct of linear inputs, in the body's order.
 * The scan wants [i] consts.. | ct carry.., sums.. | xs.., ct ys..  ->  ct carry.., sums.., ct xs.. . */
static tn_fn *reorder(work *w, const tn_fn *t) {
    const tn_fn *f = w->l.body;
    const tn_type **type = room(w, t->nin, sizeof *type);
    uint32_t *from = room(w, t->nin, sizeof *from), *out = room(w, t->nout, sizeof *out);
    uint32_t *other = room(w, f->nin, sizeof *other), *ct = room(w, f->nin, sizeof *ct);
    if (w->r->b->failed) return NULL;
    tn_i_wiring k = {.in = type, .from = from, .out = out};
    uint32_t nother = 0, nct = 0;
    for (uint32_t i = 0; i < f->nin; i++) *(w->linear[i] ? &ct[i] : &other[i]) = w->linear[i] ? nct++ : nother++;
    uint32_t cts = nother; /* where the cotangents begin among t's inputs */
    for (uint32_t i = 0; i < carry_in(w); i++)
        if (!w->linear[i]) from[other[i]] = k.nin++;
    for (uint32_t j = 0; j < w->l.ncarry; j++) from[cts + j] = k.nin++;
    for (uint32_t j = 0; j < w->nlconst; j++) from[cts + f->nout + j] = k.nin++;
    for (uint32_t i = x_in(w); i < f->nin; i++)
        if (!w->linear[i]) from[other[i]] = k.nin++;
    for (uint32_t j = w->l.ncarry; j < f->nout; j++) from[cts + j] = k.nin++;
    for (uint32_t i = 0; i < t->nin; i++) type[from[i]] = t->val[i].type;
    for (uint32_t i = carry_in(w); i < x_in(w); i++) out[k.nout++] = ct[i];
    for (uint32_t i = 0; i < carry_in(w); i++)
        if (w->linear[i]) out[k.nout++] = ct[i];
    for (uint32_t i = x_in(w); i < f->nin; i++)
        if (w->linear[i]) out[k.nout++] = ct[i];
    return tn_i_rewire(t, &k);
}

static tn_i_var cotangent(const work *w, const tn_i_var *ct, uint32_t j) {
    return ct[j] != TN_NOVAR ? ct[j] : tn_i_zeros(w->r->b, w->r->out_type[j]);
}

/* No other operand is the same value, whose sum so far could then be counted twice. */
static bool alone(const tn_i_rule *r, uint32_t operand) {
    const tn_i_var *in = tn_i_in(r->f, r->e);
    for (uint32_t i = 0; i < r->nin; i++)
        if (i != operand && in[i] == in[operand]) return false;
    return true;
}

static bool begun(const tn_i_rule *r, uint32_t operand) {
    return r->acc && r->merged && r->acc[operand] != TN_NOVAR && alone(r, operand);
}

static void operands(work *w, const tn_i_var *ct, tn_i_var *in) {
    const tn_i_loop_eqn *l = &w->l;
    const tn_i_rule *r = w->r;
    uint32_t n = 0;
    if (l->counted) in[n++] = r->in[0];
    for (uint32_t i = l->index; i < carry_in(w); i++)
        if (!w->linear[i]) in[n++] = r->in[tn_i_loop_operand(l, i)];
    for (uint32_t j = 0; j < l->ncarry; j++) in[n++] = cotangent(w, ct, j);
    for (uint32_t i = l->index; i < carry_in(w); i++) {
        if (!w->linear[i]) continue;
        const uint32_t operand = tn_i_loop_operand(l, i);
        in[n++] = begun(r, operand) ? r->acc[operand] : tn_i_zeros(r->b, r->in_type[operand]);
    }
    for (uint32_t i = x_in(w); i < l->body->nin; i++)
        if (!w->linear[i]) in[n++] = r->in[tn_i_loop_operand(l, i)];
    for (uint32_t j = 0; j < l->ny; j++) in[n++] = cotangent(w, ct, l->ncarry + j);
}

static void results(work *w, tn_i_var v, tn_i_var *ct_in) {
    const tn_i_loop_eqn *l = &w->l;
    const tn_i_rule *r = w->r;
    for (uint32_t j = 0; j < l->ncarry; j++, v++)
        if (r->in[tn_i_loop_carry0(l) + j] == TN_NOVAR) ct_in[tn_i_loop_carry0(l) + j] = v;
    for (uint32_t i = l->index; i < carry_in(w); i++) {
        if (!w->linear[i]) continue;
        const uint32_t operand = tn_i_loop_operand(l, i);
        ct_in[operand] = v++;
        if (begun(r, operand)) r->merged[operand] = true;
    }
    for (uint32_t i = x_in(w); i < l->body->nin; i++)
        if (w->linear[i]) ct_in[tn_i_loop_operand(l, i)] = v++;
}

static tn_fn *transposed_body(work *w) {
    tn_fn *f = with_consts(w);
    tn_i_var *given = room(w, w->l.body->nin, sizeof *given);
    for (uint32_t i = 0; given && i < w->l.body->nin; i++)
        given[i] = i < w->l.index ? TN_NOVAR : w->r->in[tn_i_loop_operand(&w->l, i)];
    const tn_i_memo_entry *e = f && given ? tn_i_nested_transpose(w->r, f, w->linear, given) : NULL;
    tn_fn *g = e ? reorder(w, e->result[0]) : NULL;
    tn_i_fn_unref(f);
    return g;
}

static void transpose(work *w, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_loop_eqn *l = &w->l;
    tn_i_var *in = room(w, (size_t)l->body->nin + l->body->nout, sizeof *in);
    tn_fn *body = in && find_linear(w) ? transposed_body(w) : NULL;
    tn_i_var first = TN_NOVAR;
    if (body) {
        w->to = (tn_i_loop_eqn){.counted = l->counted,
                                .length = l->length,
                                .index = l->index,
                                .reverse = !l->reverse,
                                .body = body,
                                .nconst = l->nconst - w->nlconst,
                                .ncarry = l->ncarry + w->nlconst,
                                .nx = l->nx - w->nlx + l->ny,
                                .schedule = l->schedule};
        operands(w, ct, in);
        first = tn_i_loop_emit(w->r, &w->to, in);
    }
    if (first == TN_NOVAR)
        w->r->b->failed = true;
    else
        results(w, first, ct_in);
    tn_i_fn_unref(body);
}

void tn_i_scan_transpose(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    work w = {.r = r};
    tn_i_loop_of(r->e->prim, r->p, r->nin, &w.l);
    tn_i_arena_init(&w.a, r->b->ctx);
    transpose(&w, ct, ct_in);
    tn_i_arena_free(&w.a);
}
