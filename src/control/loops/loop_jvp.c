/* jvp of loops: a fixpoint over which carries have tangents, then one loop of primals and tangents. */
#include "control/loops/loop.h"
#include "jvp/jvp.h"

#include <string.h>

typedef struct work {
    tn_i_rule *r;
    tn_i_loop_eqn l, to;
    tn_i_arena a;
    tn_i_var *din;      /* per input of the body: TN_NOVAR, or anything */
    const tn_fn *g;     /* the body's jvp */
    const bool *active; /* which of the body's outputs have tangents in g */
    uint32_t nactive;
} work;

/* The jvp of the body in its active inputs, until no further carry becomes active. */
static bool find_active(work *w, const tn_i_var *din) {
    const tn_i_loop_eqn *l = &w->l;
    const uint32_t carry = tn_i_loop_inner(l, tn_i_loop_carry0(l));
    for (uint32_t i = 0; i < l->body->nin; i++) w->din[i] = i < l->index ? TN_NOVAR : din[tn_i_loop_operand(l, i)];
    for (bool changed = true; changed;) {
        const tn_i_memo_entry *e = tn_i_nested_jvp(w->r, l->body, w->din);
        if (!e) return false;
        w->g = e->result[0];
        w->active = (const bool *)e->flags;
        changed = false;
        for (uint32_t j = 0; j < l->ncarry; j++) {
            if (!w->active[j] || w->din[carry + j] != TN_NOVAR) continue;
            w->din[carry + j] = 0;
            changed = true;
        }
    }
    return true;
}

/* New inputs of the body: each group's primals, then its tangents. */
static void order_inputs(work *w, tn_i_wiring *k, const tn_type **type, bool *linear, uint32_t *from) {
    const tn_i_loop_eqn *l = &w->l;
    const uint32_t n = l->body->nin, end[4] = {l->index, l->index + l->nconst, l->index + l->nconst + l->ncarry, n};
    uint32_t tangent = n, first = 0;
    uint32_t *place = from + n; /* of the active inputs' tangents, in order */
    for (int g = 0; g < 4; first = end[g++]) {
        for (uint32_t i = first; i < end[g]; i++) {
            from[i] = k->nin;
            type[k->nin++] = l->body->val[i].type;
        }
        for (uint32_t i = first; i < end[g]; i++) {
            if (w->din[i] == TN_NOVAR) continue;
            place[tangent++ - n] = k->nin;
            linear[k->nin] = true;
            type[k->nin++] = l->body->val[i].type;
        }
    }
}

/* New outputs: carries, their tangents (zeros where a step makes none), ys, theirs. */
static void order_outputs(work *w, tn_i_wiring *k, const uint32_t *from, uint32_t *out) {
    const tn_i_loop_eqn *l = &w->l;
    const uint32_t carry = tn_i_loop_inner(l, tn_i_loop_carry0(l));
    uint32_t *tangent_of = out + 2 * (size_t)l->body->nout, n = l->body->nout;
    for (uint32_t j = 0; j < l->body->nout; j++) tangent_of[j] = w->active[j] ? n++ : TN_NOVAR;
    for (uint32_t j = 0; j < l->ncarry; j++) out[k->nout++] = j;
    for (uint32_t j = 0; j < l->ncarry; j++) {
        if (w->din[carry + j] == TN_NOVAR) continue;
        out[k->nout++] = w->active[j] ? tangent_of[j] : TN_WIRE_ZERO | from[carry + j];
        w->to.ncarry++;
    }
    for (uint32_t j = l->ncarry; j < l->body->nout; j++) out[k->nout++] = j;
    for (uint32_t j = l->ncarry; j < l->body->nout; j++) {
        if (!w->active[j]) continue;
        out[k->nout++] = tangent_of[j];
        w->to.ny++;
    }
}

static tn_fn *body_of(work *w) {
    const tn_i_loop_eqn *l = &w->l;
    const size_t nin = 2 * (size_t)l->body->nin + 1, nout = 3 * (size_t)l->body->nout + 1;
    const tn_type **type = tn_i_arena_alloc(&w->a, nin * sizeof *type);
    bool *linear = tn_i_arena_alloc(&w->a, nin * sizeof *linear);
    uint32_t *from = tn_i_arena_alloc(&w->a, nin * sizeof *from), *out = tn_i_arena_alloc(&w->a, nout * sizeof *out);
    if (!type || !linear || !from || !out) return NULL;
    tn_i_wiring k = {.in = type, .linear = linear, .from = from, .out = out};
    order_inputs(w, &k, type, linear, from);
    /* g has the active tangents behind all primals */
    order_outputs(w, &k, from, out);
    return tn_i_rewire(w->g, &k);
}

/* The condition reads primals: tangents are inputs that it ignores. */
static tn_fn *cond_of(work *w) {
    const tn_i_loop_eqn *l = &w->l;
    const uint32_t carry = tn_i_loop_inner(l, tn_i_loop_carry0(l));
    const size_t nin = (size_t)l->ncond + 2 * (size_t)l->ncarry + 1;
    const tn_type **type = tn_i_arena_alloc(&w->a, nin * sizeof *type);
    uint32_t *from = tn_i_arena_alloc(&w->a, nin * sizeof *from);
    bool *linear = tn_i_arena_alloc(&w->a, nin * sizeof *linear);
    static const uint32_t out[1] = {0};
    if (!type || !from || !linear) return NULL;
    tn_i_wiring k = {.in = type, .from = from, .linear = linear, .out = out, .nout = 1};
    for (uint32_t i = 0; i < l->cond->nin; i++) {
        from[i] = k.nin;
        type[k.nin++] = l->cond->val[i].type;
    }
    for (uint32_t j = 0; j < l->ncarry; j++) {
        if (w->din[carry + j] == TN_NOVAR) continue;
        linear[k.nin] = true;
        type[k.nin++] = l->body->val[carry + j].type;
    }
    return tn_i_rewire(l->cond, &k);
}

static void operands(work *w, const tn_i_var *din, tn_i_var *in) {
    const tn_i_loop_eqn *l = &w->l;
    const uint32_t end[3] = {tn_i_loop_carry0(l), tn_i_loop_x0(l), w->r->nin};
    uint32_t n = 0, first = tn_i_loop_const0(l);
    for (uint32_t i = 0; i < first; i++) in[n++] = w->r->in[i];
    for (int g = 0; g < 3; first = end[g++]) {
        for (uint32_t i = first; i < end[g]; i++) in[n++] = w->r->in[i];
        for (uint32_t i = first; i < end[g]; i++) {
            if (w->din[tn_i_loop_inner(l, i)] == TN_NOVAR) continue;
            in[n++] = din[i] != TN_NOVAR ? din[i] : tn_i_zeros(w->r->b, w->r->in_type[i]);
            if (g == 0) w->to.nconst++;
            if (g == 2) w->to.nx++;
        }
    }
}

static void results(work *w, tn_i_var first, tn_i_var *dout) {
    const tn_i_loop_eqn *l = &w->l;
    const uint32_t carry = tn_i_loop_inner(l, tn_i_loop_carry0(l));
    tn_i_var v = first;
    for (uint32_t j = 0; j < l->ncarry; j++) w->r->out[j] = v++;
    for (uint32_t j = 0; j < l->ncarry; j++) dout[j] = w->din[carry + j] == TN_NOVAR ? TN_NOVAR : v++;
    if (l->count) w->r->out[l->ncarry] = v++;
    for (uint32_t j = 0; j < l->ny; j++) w->r->out[tn_i_loop_y0(l) + j] = v++;
    for (uint32_t j = 0; j < l->ny; j++) dout[tn_i_loop_y0(l) + j] = w->active[l->ncarry + j] ? v++ : TN_NOVAR;
}

static void derive(work *w, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = w->r->b;
    tn_i_var *in = tn_i_arena_alloc(&w->a, 2 * ((size_t)w->r->nin + 1) * sizeof *in);
    w->din = tn_i_arena_alloc(&w->a, ((size_t)w->l.body->nin + 1) * sizeof *w->din);
    tn_fn *body = NULL, *cond = NULL;
    tn_i_var first = TN_NOVAR;
    if (in && w->din && find_active(w, din)) {
        w->to = w->l;
        body = body_of(w);
        cond = w->l.is_while && body ? cond_of(w) : NULL;
        w->to.body = body;
        w->to.cond = cond;
        if (body && (cond || !w->l.is_while)) {
            operands(w, din, in);
            first = tn_i_loop_emit(w->r, &w->to, in);
        }
    }
    if (first == TN_NOVAR)
        b->failed = true;
    else
        results(w, first, dout);
    tn_i_fn_unref(body);
    tn_i_fn_unref(cond);
}

void tn_i_loop_jvp(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    work w = {.r = r};
    tn_i_loop_of(r->e->prim, r->p, r->nin, &w.l);
    tn_i_arena_init(&w.a, r->b->ctx);
    derive(&w, din, dout);
    tn_i_arena_free(&w.a);
}
