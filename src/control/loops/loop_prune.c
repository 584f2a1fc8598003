/* Dead outputs, carries and operands of loops. */
#include "control/loops/loop.h"
#include "linearize/prune.h"

#include <string.h>

typedef struct work {
    tn_i_rule *r;
    tn_i_loop_eqn l, to;
    tn_i_arena a;
    bool *used;                  /* per output of the body */
    const tn_i_memo_entry *body; /* pruned to those */
    const tn_i_memo_entry *cond; /* of a while */
} work;

static void *room(work *w, size_t n, size_t size) {
    void *p = tn_i_arena_alloc(&w->a, (n + 1) * size);
    if (!p) w->r->b->failed = true;
    return p;
}

static void init(work *w, tn_i_rule *r) {
    *w = (work){.r = r};
    tn_i_loop_of(r->e->prim, r->p, r->nin, &w->l);
    tn_i_arena_init(&w->a, r->b->ctx);
}

static uint32_t carry_in(const work *w) { return tn_i_loop_inner(&w->l, tn_i_loop_carry0(&w->l)); }

/* The body's input i is read by what is used of it. */
static bool reads(const work *w, uint32_t i) { return tn_i_pruned_inputs(w->body, w->l.body->nout)[i] != TN_NOVAR; }
static bool cond_reads(const work *w, uint32_t i) { return w->cond && tn_i_pruned_inputs(w->cond, 1)[i] != TN_NOVAR; }

/* Carries that the condition reads, that are used, or that a used output reads in a later step. */
static bool find_used(work *w, const bool *used) {
    const tn_i_loop_eqn *l = &w->l;
    static const bool one[1] = {true};
    w->used = room(w, l->body->nout, sizeof *w->used);
    if (!w->used) return false;
    if (l->is_while && !(w->cond = tn_i_nested_prune(w->r, l->cond, one))) return false;
    for (uint32_t j = 0; j < l->body->nout; j++)
        w->used[j] = used[j < l->ncarry ? j : j + l->count] || (j < l->ncarry && cond_reads(w, l->ncond + j));
    for (bool changed = true; changed;) {
        changed = false;
        if (!(w->body = tn_i_nested_prune(w->r, l->body, w->used))) return false;
        for (uint32_t j = 0; j < l->ncarry; j++) {
            if (w->used[j] || !reads(w, carry_in(w) + j)) continue;
            w->used[j] = changed = true;
        }
    }
    return true;
}

bool tn_i_loop_needs(tn_i_rule *r, const bool *used, bool *operand) {
    work w;
    init(&w, r);
    const tn_i_loop_eqn *l = &w.l;
    const bool ok = find_used(&w, used);
    for (uint32_t i = 0; i < r->nin && ok; i++) {
        const uint32_t const0 = tn_i_loop_const0(l), carry0 = tn_i_loop_carry0(l);
        if (i < const0)
            operand[i] = l->counted || cond_reads(&w, i);
        else if (i >= carry0 && i < tn_i_loop_x0(l))
            operand[i] = w.used[i - carry0];
        else
            operand[i] = reads(&w, tn_i_loop_inner(l, i));
    }
    tn_i_arena_free(&w.a);
    return ok;
}

/* ---- the smaller loop ------------------------------------------------------------ */

/* A carry that no step changes is a const. */
static bool constant_carry(const work *w, uint32_t j) { return w->l.body->out[j] == carry_in(w) + j; }

/* How an operand stands in the smaller loop. */
typedef enum role { GONE, CONST, CARRY, ENTRY } role;

static role role_of(const work *w, uint32_t i) {
    const tn_i_loop_eqn *l = &w->l;
    const uint32_t inner = tn_i_loop_inner(l, i), carry0 = tn_i_loop_carry0(l);
    if (i < carry0) return reads(w, inner) ? CONST : GONE;
    if (i >= tn_i_loop_x0(l)) return reads(w, inner) ? ENTRY : GONE;
    if (!w->used[i - carry0]) return GONE;
    if (!constant_carry(w, i - carry0) || cond_reads(w, l->ncond + i - carry0)) return CARRY;
    return reads(w, inner) ? CONST : GONE;
}

/* An operand before i that is the same const, or the same entries, in every step; or i. */
static uint32_t same_as(const work *w, uint32_t i) {
    const role what = role_of(w, i);
    for (uint32_t k = tn_i_loop_const0(&w->l); k < i && what != CARRY; k++)
        if (w->r->in[k] == w->r->in[i] && role_of(w, k) == what) return k;
    return i;
}

/* Inputs of the smaller body: those of one role after another, each value once; `place` of each operand. */
static void wire_inputs(work *w, tn_i_wiring *k, const tn_type **type, uint32_t *place, tn_i_var *in, uint32_t *n) {
    const tn_i_loop_eqn *l = &w->l;
    uint32_t count[4] = {0};
    w->to.index = l->index && reads(w, 0);
    if (w->to.index) type[k->nin++] = l->body->val[0].type;
    for (int want = CONST; want <= ENTRY; want++)
        for (uint32_t i = tn_i_loop_const0(l); i < w->r->nin; i++) {
            if (role_of(w, i) != (role)want) continue;
            const uint32_t same = same_as(w, i);
            place[i] = same < i ? place[same] : k->nin;
            if (same < i) continue;
            type[k->nin++] = l->body->val[tn_i_loop_inner(l, i)].type;
            in[(*n)++] = w->r->in[i];
            count[want]++;
        }
    w->to.nconst = count[CONST];
    w->to.ncarry = count[CARRY];
    w->to.nx = count[ENTRY];
}

static void wire_outputs(work *w, tn_i_wiring *k, const uint32_t *place, uint32_t *out, uint32_t *y_of) {
    const tn_i_loop_eqn *l = &w->l;
    const uint32_t *to = tn_i_pruned_outputs(w->body);
    (void)place;
    for (uint32_t j = 0; j < l->ncarry; j++)
        if (role_of(w, tn_i_loop_carry0(l) + j) == CARRY) out[k->nout++] = to[j];
    const uint32_t first = k->nout;
    for (uint32_t j = l->ncarry; j < l->body->nout; j++) {
        if (!w->used[j]) continue;
        uint32_t s = first; /* each entry once */
        while (s < k->nout && out[s] != to[j]) s++;
        if (s == k->nout) out[k->nout++] = to[j];
        y_of[j] = s - first;
    }
    w->to.ny = k->nout - first;
}

static tn_fn *smaller_cond(work *w, tn_i_var *in, uint32_t *n) {
    const tn_i_loop_eqn *l = &w->l;
    const tn_fn *f = l->cond;
    const uint32_t *from = tn_i_pruned_inputs(w->cond, 1);
    const tn_type **type = room(w, f->nin, sizeof *type);
    uint32_t *wire = room(w, f->nin, sizeof *wire);
    static const uint32_t out[1] = {0};
    if (w->r->b->failed) return NULL;
    tn_i_wiring k = {.nout = 1, .in = type, .from = wire, .out = out};
    w->to.ncond = 0;
    for (uint32_t i = 0; i < f->nin; i++) {
        const bool is_const = i < l->ncond;
        if (is_const ? from[i] == TN_NOVAR : role_of(w, tn_i_loop_carry0(l) + i - l->ncond) != CARRY) continue;
        if (from[i] != TN_NOVAR) wire[from[i]] = k.nin;
        type[k.nin++] = f->val[i].type;
        if (is_const) in[(*n)++] = w->r->in[i];
        w->to.ncond += is_const;
    }
    return tn_i_rewire(w->cond->result[0], &k);
}

static tn_fn *smaller_body(work *w, tn_i_var *in, uint32_t *n, uint32_t *y_of) {
    const tn_i_loop_eqn *l = &w->l;
    const tn_fn *f = l->body, *g = w->body->result[0];
    const size_t width = (size_t)f->nin + w->r->nin;
    const tn_type **type = room(w, width, sizeof *type);
    uint32_t *place = room(w, w->r->nin, sizeof *place), *from = room(w, f->nin, sizeof *from),
             *out = room(w, f->nout, sizeof *out);
    if (w->r->b->failed) return NULL;
    tn_i_wiring k = {.in = type, .from = from, .out = out};
    wire_inputs(w, &k, type, place, in, n);
    wire_outputs(w, &k, place, out, y_of);
    const uint32_t *pruned = tn_i_pruned_inputs(w->body, f->nout);
    for (uint32_t i = 0; i < f->nin; i++)
        if (pruned[i] != TN_NOVAR) from[pruned[i]] = i < l->index ? 0 : place[tn_i_loop_operand(l, i)];
    return tn_i_rewire(g, &k);
}

static void results(work *w, tn_i_var v, const bool *used, const uint32_t *y_of, tn_i_var *out) {
    const tn_i_loop_eqn *l = &w->l;
    for (uint32_t j = 0; j < l->ncarry; j++) {
        const uint32_t operand = tn_i_loop_carry0(l) + j;
        const bool carried = role_of(w, operand) == CARRY;
        if (used[j]) out[j] = carried ? v : w->r->in[operand];
        v += carried;
    }
    if (w->to.count) out[l->ncarry] = v++;
    for (uint32_t j = l->ncarry; j < l->body->nout; j++)
        if (w->used[j]) out[j + l->count] = v + y_of[j];
}

static bool prune(work *w, const bool *used, tn_i_var *out) {
    const tn_i_loop_eqn *l = &w->l;
    if (!find_used(w, used)) return false;
    w->to = *l;
    w->to.count = l->count && used[l->ncarry];
    tn_i_var *in = room(w, (size_t)w->r->nin + 1, sizeof *in);
    uint32_t *y_of = room(w, l->body->nout, sizeof *y_of), n = 0;
    if (!in || !y_of) return false;
    if (l->counted) in[n++] = w->r->in[0];
    tn_fn *cond = l->is_while ? smaller_cond(w, in, &n) : NULL;
    tn_fn *body = cond || !l->is_while ? smaller_body(w, in, &n, y_of) : NULL;
    w->to.body = body;
    w->to.cond = cond;
    const tn_i_var first = body ? tn_i_loop_emit(w->r, &w->to, in) : TN_NOVAR;
    if (first != TN_NOVAR) results(w, first, used, y_of, out);
    tn_i_fn_unref(body);
    tn_i_fn_unref(cond);
    return first != TN_NOVAR;
}

void tn_i_loop_prune(tn_i_rule *r, const bool *used, tn_i_var *out) {
    work w;
    init(&w, r);
    if (!prune(&w, used, out)) r->b->failed = true;
    tn_i_arena_free(&w.a);
}
