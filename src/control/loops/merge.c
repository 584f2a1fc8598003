/* Loops that go through the same states are one.  A step into which stacks were brought from several loops
 * (control/loops/replay.c) runs the loops that make them again, each as often as it came: the same steps of the same
 * states, with other entries.  As one loop they have one state in a slot and run once. */
#include "control/loops/loop.h"
#include "control/loops/replay.h"
#include "control/loops/ways.h"
#include "linearize/prune.h"

#include <string.h>

/* Two loops of f; the second becomes part of the first. */
typedef struct pair {
    const tn_fn *f;
    const tn_i_eqn *a, *e;
    tn_i_loop_eqn la, le;
    uint32_t *twin;     /* per carry of e: the carry of a that is the same in every step, or TN_NOVAR */
    uint8_t *disproved; /* per carry of e and of a */
    bool failed;
} pair;

static tn_i_var operand(const pair *p, const tn_i_eqn *e, uint32_t k) { return tn_i_in(p->f, e)[k]; }

static bool effective(const tn_i_loop_eqn *l) { return l->body->effect || (l->cond && l->cond->effect); }

/* ---- which -------------------------------------------------------------------------------- */

static bool all_replayed(const tn_i_eqn *e, const tn_i_loop_eqn *l) {
    return l->ny > 0 && e->prim->replayed(e, tn_i_loop_y0(l));
}

static bool alike(const pair *p) {
    const tn_i_loop_eqn *a = &p->la, *e = &p->le;
    return a->is_while == e->is_while && a->reverse == e->reverse && a->counted == e->counted &&
           a->length == e->length && (!a->counted || operand(p, p->a, 0) == operand(p, p->e, 0)) &&
           a->schedule == e->schedule && p->a->region == p->e->region && !effective(a) && !effective(e);
}

/* All that e reads is there where a stands: it is a's, or made before. */
static bool at_hand(const pair *p) {
    const uint32_t before = (uint32_t)(p->a - p->f->eqn);
    for (uint32_t k = 0; k < p->e->nin; k++) {
        const uint32_t def = p->f->val[operand(p, p->e, k)].def;
        if (def < TN_DEF_LITERAL && def >= before) return false;
    }
    return true;
}

static bool same_ways(const pair *p, const tn_i_way *way) {
    const tn_i_way *a = &way[p->a->out + tn_i_loop_y0(&p->la)], *e = &way[p->e->out + tn_i_loop_y0(&p->le)];
    return a->ways == e->ways && a->bad == e->bad;
}

/* ---- the same states? ------------------------------------------------------------------------ */

/* One program of both, in which equal values of their steps are one value: the builder finds them. */
typedef struct both {
    tn_i_builder b;
    tn_i_var number; /* of the step */
    tn_i_var *given; /* per value of f: the input that is this one, a constant or an entry; TN_NOVAR: none yet */
    tn_i_var *entry;
    tn_i_var *carry; /* of a */
} both;

static tn_i_var as_input(both *w, tn_i_var *known, tn_i_var v, const tn_type *t) {
    if (known[v] == TN_NOVAR) known[v] = tn_i_input(&w->b, t, false);
    return known[v];
}

/* The body's values; regions tell apart what belongs to linear programs, whose products may be strict. */
static void copy_body(both *w, const tn_fn *f, tn_i_var *map) {
    for (uint32_t i = 0; i < f->neqn && !w->b.failed; i++) {
        w->b.region = 1 + tn_i_of_linear(f, &f->eqn[i]);
        tn_i_copy_eqn(&w->b, f, &f->eqn[i], map);
    }
}

static void body_inputs(both *w, const pair *p, const tn_i_eqn *e, const tn_i_loop_eqn *l, tn_i_var *map) {
    if (l->index) {
        if (w->number == TN_NOVAR) w->number = tn_i_input(&w->b, l->body->val[0].type, false);
        map[0] = w->number;
    }
    for (uint32_t k = tn_i_loop_const0(l); k < e->nin; k++) {
        const uint32_t i = tn_i_loop_inner(l, k), j = k - tn_i_loop_carry0(l);
        const tn_type *t = l->body->val[i].type;
        if (k < tn_i_loop_carry0(l))
            map[i] = as_input(w, w->given, operand(p, e, k), t);
        else if (k >= tn_i_loop_x0(l))
            map[i] = as_input(w, w->entry, operand(p, e, k), t);
        else if (e == p->a)
            map[i] = w->carry[j] = tn_i_input(&w->b, t, false);
        else
            map[i] = p->twin[j] != TN_NOVAR ? w->carry[p->twin[j]] : tn_i_input(&w->b, t, false);
    }
}

/* Conditions are the same of the same carries. */
static bool same_conditions(both *w, const pair *p) {
    tn_i_var goes[2] = {TN_NOVAR, TN_NOVAR};
    for (int n = 0; n < 2; n++) {
        const tn_i_eqn *e = n ? p->e : p->a;
        const tn_i_loop_eqn *l = n ? &p->le : &p->la;
        tn_i_var *map = tn_i_map_new(l->cond);
        if (!map) {
            w->b.failed = true;
            return false;
        }
        for (uint32_t k = 0; k < l->ncond; k++) map[k] = as_input(w, w->given, operand(p, e, k), l->cond->val[k].type);
        for (uint32_t j = 0; j < l->ncarry; j++) map[l->ncond + j] = w->carry[n ? p->twin[j] : j];
        copy_body(w, l->cond, map);
        if (!w->b.failed) goes[n] = tn_i_mapped(&w->b, l->cond, map, l->cond->out[0]);
        tn_i_map_free(l->cond, map);
    }
    return !w->b.failed && goes[0] == goes[1];
}

/* Disproves twins that leave a step as different values; whether there were none, and no new entry of a loop that
 * carries nothing. */
static bool proven(pair *p, both *w, const tn_i_var *ma, const tn_i_var *me) {
    const tn_fn *fa = p->la.body, *fe = p->le.body;
    bool same = true;
    for (uint32_t j = 0; j < p->le.ncarry; j++) {
        if (tn_i_mapped(&w->b, fa, (tn_i_var *)(uintptr_t)ma, fa->out[p->twin[j]]) ==
            tn_i_mapped(&w->b, fe, (tn_i_var *)(uintptr_t)me, fe->out[j]))
            continue;
        p->disproved[j * p->la.ncarry + p->twin[j]] = 1;
        same = false;
    }
    for (uint32_t y = 0; !p->le.ncarry && same && y < p->le.ny; y++) {
        bool found = false;
        for (uint32_t k = 0; k < p->la.ny && !found; k++)
            found = tn_i_mapped(&w->b, fa, (tn_i_var *)(uintptr_t)ma, fa->out[p->la.ncarry + k]) ==
                    tn_i_mapped(&w->b, fe, (tn_i_var *)(uintptr_t)me, fe->out[y]);
        same = found;
    }
    return same;
}

static bool try_twins(pair *p) {
    tn_ctx *c = p->f->ctx;
    both w = {.number = TN_NOVAR, .given = tn_i_map_new(p->f), .entry = tn_i_map_new(p->f)};
    tn_i_var *ma = tn_i_map_new(p->la.body), *me = tn_i_map_new(p->le.body);
    w.carry = tn_i_alloc_array(c, p->la.ncarry, sizeof *w.carry);
    tn_i_builder_init(&w.b, c);
    w.b.regions = 3;
    bool same = false;
    if (w.given && w.entry && ma && me && w.carry) {
        body_inputs(&w, p, p->a, &p->la, ma);
        body_inputs(&w, p, p->e, &p->le, me);
        if (p->la.is_while) same = same_conditions(&w, p);
        copy_body(&w, p->la.body, ma);
        copy_body(&w, p->le.body, me);
        if (!w.b.failed && (same || !p->la.is_while)) same = proven(p, &w, ma, me);
    } else
        w.b.failed = true;
    p->failed |= w.b.failed;
    tn_i_builder_drop(&w.b);
    if (w.given) tn_i_map_free(p->f, w.given);
    if (w.entry) tn_i_map_free(p->f, w.entry);
    if (ma) tn_i_map_free(p->la.body, ma);
    if (me) tn_i_map_free(p->le.body, me);
    tn_i_free(c, w.carry, p->la.ncarry * sizeof *w.carry);
    return same && !p->failed;
}

/* Gives every carry of e one of a that begins as the same value and was not disproved. */
static bool choose_twins(pair *p) {
    const uint32_t na = p->la.ncarry;
    for (uint32_t j = 0; j < p->le.ncarry; j++) {
        const tn_i_var v = operand(p, p->e, tn_i_loop_carry0(&p->le) + j);
        uint32_t i = 0;
        while (i < na && (operand(p, p->a, tn_i_loop_carry0(&p->la) + i) != v || p->disproved[j * na + i])) i++;
        if (i == na) return false;
        p->twin[j] = i;
    }
    return true;
}

static bool find_twins(pair *p) {
    for (uint32_t round = 0; round <= p->la.ncarry * p->le.ncarry && !p->failed; round++) {
        if (!choose_twins(p)) return false;
        if (try_twins(p)) return true;
        if (p->la.is_while || !p->le.ncarry) return false; /* of whiles the first choice is the only one */
    }
    return false;
}

/* ---- one loop of both --------------------------------------------------------------------------- */

/* The new loop's operands, and where each of e's is among the body's inputs. */
typedef struct merged {
    tn_i_loop_eqn to;
    tn_i_builder b;
    tn_i_var *in, *of_a, *of_e; /* operands, as values of f; inputs of the new body */
    uint32_t nin;
} merged;

static tn_i_var find_operand(const pair *p, uint32_t first, uint32_t end, tn_i_var v, const tn_i_var *of_a) {
    for (uint32_t k = first; k < end; k++)
        if (operand(p, p->a, k) == v) return of_a[tn_i_loop_inner(&p->la, k)];
    return TN_NOVAR;
}

static void more_inputs(const pair *p, merged *m, uint32_t first, uint32_t end, uint32_t a_first, uint32_t a_end) {
    for (uint32_t k = first; k < end; k++) {
        const uint32_t i = tn_i_loop_inner(&p->le, k);
        const tn_i_var v = operand(p, p->e, k);
        if ((m->of_e[i] = find_operand(p, a_first, a_end, v, m->of_a)) != TN_NOVAR) continue;
        m->of_e[i] = tn_i_input(&m->b, p->le.body->val[i].type, false);
        m->in[m->nin++] = v;
    }
}

static void inputs_of_a(const pair *p, merged *m, uint32_t first, uint32_t end) {
    for (uint32_t k = first; k < end; k++) {
        const uint32_t i = tn_i_loop_inner(&p->la, k);
        m->of_a[i] = tn_i_input(&m->b, p->la.body->val[i].type, false);
        m->in[m->nin++] = operand(p, p->a, k);
    }
}

static void merged_inputs(const pair *p, merged *m) {
    const tn_i_loop_eqn *a = &p->la, *e = &p->le;
    for (uint32_t k = 0; k < tn_i_loop_const0(a); k++) m->in[m->nin++] = operand(p, p->a, k);
    if ((m->to.index = a->index || e->index)) {
        const tn_i_var i = tn_i_input(&m->b, (a->index ? a : e)->body->val[0].type, false);
        if (a->index) m->of_a[0] = i;
        if (e->index) m->of_e[0] = i;
    }
    inputs_of_a(p, m, tn_i_loop_const0(a), tn_i_loop_carry0(a));
    more_inputs(p, m, tn_i_loop_const0(e), tn_i_loop_carry0(e), tn_i_loop_const0(a), tn_i_loop_carry0(a));
    m->to.nconst = m->nin - tn_i_loop_const0(a);
    inputs_of_a(p, m, tn_i_loop_carry0(a), tn_i_loop_x0(a));
    for (uint32_t j = 0; j < e->ncarry; j++)
        m->of_e[tn_i_loop_inner(e, tn_i_loop_carry0(e) + j)] =
            m->of_a[tn_i_loop_inner(a, tn_i_loop_carry0(a) + p->twin[j])];
    const uint32_t x0 = m->nin;
    inputs_of_a(p, m, tn_i_loop_x0(a), p->a->nin);
    more_inputs(p, m, tn_i_loop_x0(e), p->e->nin, tn_i_loop_x0(a), p->a->nin);
    m->to.nx = m->nin - x0;
}

static tn_fn *merged_body(const pair *p, merged *m) {
    const tn_fn *fa = p->la.body, *fe = p->le.body;
    tn_ctx *c = fa->ctx;
    const uint32_t nout = fa->nout + fe->nout;
    tn_i_var *out = tn_i_alloc_array(c, nout, sizeof *out), *more = tn_i_alloc_array(c, fe->nout, sizeof *more);
    tn_i_builder_init(&m->b, c);
    m->b.named_after = fa;
    if (!out || !more) m->b.failed = true;
    merged_inputs(p, m);
    if (!m->b.failed) tn_i_inline(&m->b, fa, m->of_a, out);
    if (!m->b.failed) tn_i_inline(&m->b, fe, m->of_e, more);
    m->to.ny = p->la.ny + p->le.ny;
    if (!m->b.failed && p->le.ny) memcpy(out + fa->nout, more + p->le.ncarry, p->le.ny * sizeof *out);
    tn_fn *g = tn_i_finish(&m->b, p->la.ncarry + m->to.ny, out);
    tn_i_free(c, out, nout * sizeof *out);
    tn_i_free(c, more, fe->nout * sizeof *more);
    return g;
}

static void map_outputs(const pair *p, const merged *m, tn_i_var *map, tn_i_var first) {
    const uint32_t n = p->la.ncarry, y0 = tn_i_loop_y0(&m->to);
    for (uint32_t j = 0; j < n; j++) map[p->a->out + j] = first + j;
    for (uint32_t j = 0; j < p->le.ncarry; j++) map[p->e->out + j] = first + p->twin[j];
    if (p->la.count) map[p->a->out + n] = first + n;
    if (p->le.count) map[p->e->out + p->le.ncarry] = first + n;
    for (uint32_t y = 0; y < p->la.ny; y++) map[p->a->out + tn_i_loop_y0(&p->la) + y] = first + y0 + y;
    for (uint32_t y = 0; y < p->le.ny; y++) map[p->e->out + tn_i_loop_y0(&p->le) + y] = first + y0 + p->la.ny + y;
}

static void emit_merged(const pair *p, tn_i_rule *r, tn_i_var *map) {
    tn_ctx *c = p->f->ctx;
    const size_t room = (size_t)p->a->nin + p->e->nin;
    merged m = {.to = p->la, .in = tn_i_alloc_array(c, room, sizeof *m.in)};
    m.of_a = tn_i_map_new(p->la.body);
    m.of_e = tn_i_map_new(p->le.body);
    m.to.count |= p->le.count;
    if (m.in && m.of_a && m.of_e) m.to.body = merged_body(p, &m);
    if (m.in && m.of_a && m.of_e && m.to.body) {
        for (uint32_t k = 0; k < m.nin; k++) m.in[k] = tn_i_mapped(r->b, p->f, map, m.in[k]);
        const tn_i_var first = tn_i_loop_emit(r, &m.to, m.in);
        if (first != TN_NOVAR) map_outputs(p, &m, map, first);
        tn_i_fn_unref((tn_fn *)(uintptr_t)m.to.body);
    } else
        r->b->failed = true;
    tn_i_free(c, m.in, room * sizeof *m.in);
    if (m.of_a) tn_i_map_free(p->la.body, m.of_a);
    if (m.of_e) tn_i_map_free(p->le.body, m.of_e);
}

static tn_fn *rebuilt(const pair *p) {
    const tn_fn *f = p->f;
    tn_i_builder b;
    tn_i_rule r = {.b = &b, .f = f};
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        b.loc = e->loc;
        b.region = e->region;
        if (e == p->a)
            emit_merged(p, &r, map);
        else if (e != p->e)
            tn_i_copy_eqn(&b, f, e, map);
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

/* ---- the same entries ------------------------------------------------------------------------------ */

/* same[y]: the first entry of a step that is what entry y is, although a policy had each computed for itself. */
static bool find_same_entries(const tn_i_loop_eqn *l, uint32_t *same, bool *any) {
    const tn_fn *f = l->body;
    both w = {0};
    tn_i_var *map = tn_i_map_new(f);
    tn_i_builder_init(&w.b, f->ctx);
    w.b.regions = 3;
    if (!map) w.b.failed = true;
    for (uint32_t i = 0; i < f->nin && !w.b.failed; i++) map[i] = tn_i_input(&w.b, f->val[i].type, false);
    copy_body(&w, f, map);
    *any = false;
    for (uint32_t y = 0; y < l->ny && !w.b.failed; y++) {
        const tn_i_var v = tn_i_mapped(&w.b, f, map, f->out[l->ncarry + y]);
        same[y] = 0;
        while (same[y] < y && tn_i_mapped(&w.b, f, map, f->out[l->ncarry + same[y]]) != v) same[y]++;
        *any |= same[y] != y;
    }
    const bool ok = !w.b.failed;
    tn_i_builder_drop(&w.b);
    if (map) tn_i_map_free(f, map);
    return ok;
}

/* f reading one of entries that are the same. */
static tn_fn *with_entries(const tn_fn *f, const tn_i_eqn *of, const tn_i_loop_eqn *l, const uint32_t *same) {
    tn_i_builder b;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        b.region = e->region;
        tn_i_copy_eqn(&b, f, e, map);
        for (uint32_t y = 0; e == of && y < l->ny && !b.failed; y++)
            map[e->out + tn_i_loop_y0(l) + y] = map[e->out + tn_i_loop_y0(l) + same[y]];
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static bool try_entries(tn_fn **f, uint32_t number) {
    tn_ctx *c = (*f)->ctx;
    const tn_i_eqn *e = &(*f)->eqn[number];
    tn_i_loop_eqn l;
    bool any = false;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    if (l.ny < 2 || effective(&l)) return false;
    uint32_t *same = tn_i_alloc_array(c, l.ny, sizeof *same);
    const bool ok = same && find_same_entries(&l, same, &any);
    tn_fn *g = ok && any ? tn_i_prune(with_entries(*f, e, &l, same)) : NULL;
    tn_i_free(c, same, l.ny * sizeof *same);
    if (ok && !any) return false;
    tn_i_fn_unref(*f);
    *f = g;
    return true;
}

/* ---- the program ---------------------------------------------------------------------------------- */

/* Merges the two, if that can be; *f is the result, NULL after an error. */
static bool try_pair(tn_fn **f, uint32_t a, uint32_t e, const tn_i_way *way) {
    tn_ctx *c = (*f)->ctx;
    pair p = {.f = *f, .a = &(*f)->eqn[a], .e = &(*f)->eqn[e]};
    tn_i_loop_of(p.a->prim, tn_i_p(p.a), p.a->nin, &p.la);
    tn_i_loop_of(p.e->prim, tn_i_p(p.e), p.e->nin, &p.le);
    if (!alike(&p) || !same_ways(&p, way) || !at_hand(&p)) return false;
    const size_t cells = (size_t)p.la.ncarry * p.le.ncarry;
    p.twin = tn_i_alloc_array(c, p.le.ncarry, sizeof *p.twin);
    p.disproved = tn_i_alloc(c, cells);
    p.failed = !p.twin || !p.disproved;
    const bool same = !p.failed && find_twins(&p);
    tn_fn *g = same && !p.failed ? tn_i_prune(rebuilt(&p)) : NULL;
    tn_i_free(c, p.twin, p.le.ncarry * sizeof *p.twin);
    tn_i_free(c, p.disproved, cells);
    if (!same && !p.failed) return false;
    tn_i_fn_unref(*f);
    *f = g;
    return true;
}

/* Loops whose stacks are brought back, in number[]; how many. */
static uint32_t find_replayed(const tn_fn *f, uint32_t *number) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        tn_i_loop_eqn l;
        if (!tn_i_has_way(e)) continue;
        tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
        if (all_replayed(e, &l)) number[n++] = i;
    }
    return n;
}

static bool merged_once(tn_fn **f) {
    tn_fn *g = *f;
    tn_ctx *c = g->ctx;
    const uint32_t nval = g->nval, neqn = g->neqn;
    tn_i_way *way = tn_i_alloc_array(c, nval, sizeof *way);
    uint32_t *number = tn_i_alloc_array(c, neqn, sizeof *number);
    bool any = false;
    if (way && number) {
        const uint32_t n = find_replayed(g, number);
        for (uint32_t i = 0; n && i < neqn; i++) tn_i_find_ways(g, &g->eqn[i], way);
        for (uint32_t e = 0; e < n && !any; e++)
            for (uint32_t a = 0; a <= e && !any; a++)
                any = a < e ? try_pair(f, number[a], number[e], way) : try_entries(f, number[e]);
    } else {
        tn_i_fn_unref(g);
        *f = NULL;
    }
    tn_i_free(c, way, nval * sizeof *way);
    tn_i_free(c, number, neqn * sizeof *number);
    return any;
}

tn_fn *tn_i_merge_replays(tn_fn *f) {
    while (f && merged_once(&f)) continue;
    return f;
}
