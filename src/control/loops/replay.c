/* A loop inside another loop's step makes a stack that the outer loop stacks in turn.  With a schedule the inner stack
 * is not to be kept: the outer loop stacks what the inner one starts from, and the reader's step runs the inner loop
 * again. */
#include "control/loops/replay.h"

#include "control/loops/loop.h"
#include "control/loops/ways.h"
#include "linearize/prune.h"
#include "prims/ids.h"

#include <string.h>

/* ---- one stack's way ---------------------------------------------------------------- */

enum { EXTRA = 1, INPUT };

/* The outer loop, the inner loop in its step, and what moves. */
typedef struct move {
    const tn_fn *f;
    const tn_i_eqn *outer, *inner;
    tn_i_loop_eqn l; /* outer */
    uint8_t *goes;   /* per y of outer: it is inner's, and moves */
    uint8_t *reader; /* per equation of f */
    uint32_t nextra; /* values of the step that inner starts from, stacked instead */
    tn_i_var *extra; /* in outer's body */
    tn_i_var first;  /* the new outer's first output, and of its extra stacks */
    tn_i_var stack;
    tn_i_arena a;
    bool failed;
} move;

static void *room(move *m, size_t n, size_t size) {
    void *p = tn_i_arena_alloc(&m->a, (n + 1) * size);
    if (!p) m->failed = true;
    return p;
}

static bool is_output(const tn_fn *f, tn_i_var v) {
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->out[j] == v) return true;
    return false;
}

static bool is_scan(const tn_i_eqn *e) { return e->prim->id == TN_P_scan; }

/* Where the entries that e scans over begin. */
static uint32_t entries_of(const tn_i_eqn *e) {
    tn_i_loop_eqn l;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    return tn_i_loop_x0(&l);
}

/* v is read as entries by scans and by nothing else; they are marked.  Inside their steps, the same. */
static bool only_scanned(const tn_fn *f, tn_i_var v, bool inside, uint8_t *reader) {
    if (is_output(f, v)) return false;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t k = 0; k < e->nin; k++) {
            if (tn_i_in(f, e)[k] != v || e->prim->id == TN_P_steps) continue; /* which its loop tells, there */
            if (!is_scan(e) || k < entries_of(e)) return false;
            if (!reader) continue;
            tn_i_loop_eqn l;
            tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
            if (inside && !only_scanned(l.body, tn_i_loop_inner(&l, k), false, NULL)) return false;
            reader[i] = 1;
        }
    }
    return true;
}

static const tn_i_eqn *maker(const tn_i_loop_eqn *l, uint32_t y) {
    const tn_i_var v = l->body->out[l->ncarry + y];
    const uint32_t def = l->body->val[v].def;
    if (def >= TN_DEF_LITERAL) return NULL;
    const tn_i_eqn *e = &l->body->eqn[def];
    return e->prim->replayed && !(e->prim->effect && e->prim->effect(tn_i_p(e))) && e->prim->replayed(e, v - e->out)
               ? e
               : NULL;
}

static tn_i_var stack_of(const move *m, uint32_t y) { return m->outer->out + tn_i_loop_y0(&m->l) + y; }

/* The ys of m->outer that one inner loop makes and that can move. */
static bool find_inner(move *m) {
    m->inner = NULL;
    m->goes = room(m, m->l.ny, 1);
    m->reader = room(m, m->f->neqn, 1);
    for (uint32_t y = 0; y < m->l.ny && !m->failed; y++) {
        const tn_i_eqn *e = maker(&m->l, y);
        uint8_t *reader = room(m, m->f->neqn, 1);
        bool any = false;
        if (!e || (m->inner && e != m->inner) || m->failed) continue;
        if (!only_scanned(m->f, stack_of(m, y), true, reader)) continue;
        for (uint32_t i = 0; i < m->f->neqn; i++) any |= reader[i] != 0;
        if (!any) continue;
        m->inner = e;
        m->goes[y] = 1;
        for (uint32_t i = 0; i < m->f->neqn; i++) m->reader[i] |= reader[i];
    }
    return m->inner && !m->failed;
}

static bool find(move *m) {
    for (uint32_t i = 0; i < m->f->neqn && !m->failed; i++) {
        m->outer = &m->f->eqn[i];
        if (!is_scan(m->outer) && m->outer->prim->id != TN_P_while) continue;
        tn_i_loop_of(m->outer->prim, tn_i_p(m->outer), m->outer->nin, &m->l);
        if (find_inner(m)) return true;
    }
    return false;
}

/* ---- the outer loop without the stack ------------------------------------------------- */

static uint32_t carry_in(const move *m) { return tn_i_loop_inner(&m->l, tn_i_loop_carry0(&m->l)); }
static uint32_t x_in(const move *m) { return carry_in(m) + m->l.ncarry; }

/* Is v of the outer body the same value wherever the reader can have it from: the number, a const, an entry? */
static bool at_hand(const move *m, tn_i_var v) {
    if (tn_i_is_literal(m->l.body, v)) return true;
    return v < m->l.body->nin && (v < carry_in(m) || v >= x_in(m));
}

static void find_extra(move *m) {
    m->extra = room(m, m->inner->nin, sizeof *m->extra);
    m->nextra = 0;
    for (uint32_t k = 0; k < m->inner->nin && !m->failed; k++) {
        const tn_i_var v = tn_i_in(m->l.body, m->inner)[k];
        uint32_t seen = 0;
        while (seen < m->nextra && m->extra[seen] != v) seen++;
        if (!at_hand(m, v) && seen == m->nextra) m->extra[m->nextra++] = v;
    }
}

/* The body, with other ys. */
static tn_fn *outer_body(move *m) {
    const tn_fn *f = m->l.body;
    tn_i_var *out = room(m, (size_t)f->nout + m->nextra, sizeof *out), *map = tn_i_map_new(f);
    tn_fn *g = NULL;
    uint32_t n = 0;
    if (map && out) {
        tn_i_builder b;
        tn_i_builder_init(&b, f->ctx);
        b.named_after = f;
        b.regions = f->regions;
        for (uint32_t i = 0; i < f->nin; i++) map[i] = tn_i_input(&b, f->val[i].type, false);
        for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
            b.region = f->eqn[i].region;
            tn_i_copy_eqn(&b, f, &f->eqn[i], map);
        }
        b.region = 0;
        for (uint32_t j = 0; j < f->nout && !b.failed; j++)
            if (j < m->l.ncarry || !m->goes[j - m->l.ncarry]) out[n++] = tn_i_mapped(&b, f, map, f->out[j]);
        for (uint32_t k = 0; k < m->nextra && !b.failed; k++) out[n++] = map[m->extra[k]];
        g = tn_i_finish(&b, n, out);
    }
    if (map) tn_i_map_free(f, map);
    return g;
}

static void emit_outer(move *m, tn_i_rule *r, tn_i_var *map) {
    tn_i_loop_eqn to = m->l;
    tn_i_var *in = room(m, m->outer->nin, sizeof *in);
    tn_fn *body = m->failed ? NULL : outer_body(m);
    uint32_t kept = 0;
    if (!body) {
        m->failed = true;
        return;
    }
    for (uint32_t i = 0; i < m->outer->nin; i++) in[i] = tn_i_mapped(r->b, m->f, map, tn_i_in(m->f, m->outer)[i]);
    to.body = body;
    to.ny = body->nout - to.ncarry;
    const tn_i_var first = tn_i_loop_emit(r, &to, in);
    tn_i_fn_unref(body);
    if (first == TN_NOVAR) return;
    for (uint32_t j = 0; j < tn_i_loop_y0(&m->l); j++) map[m->outer->out + j] = first + j;
    for (uint32_t y = 0; y < m->l.ny; y++)
        if (!m->goes[y]) map[stack_of(m, y)] = first + tn_i_loop_y0(&m->l) + kept++;
    m->stack = first + tn_i_loop_y0(&m->l) + kept;
}

/* ---- a reader that runs the inner loop ------------------------------------------------- */

/* The reader's new step: inputs are [number] consts.., outer's consts.. | carry | entries.., outer's entries.., extra..
 * . */
typedef struct reading {
    const tn_i_eqn *e;
    tn_i_loop_eqn l, to;
    tn_i_builder b;
    tn_i_var *map, *of_outer; /* values of the reader's and of the outer body */
    tn_i_var *in;             /* operands of the new equation, in their order */
    uint32_t nin;
} reading;

/* Which y of outer the reader's operand k is, or TN_NOVAR. */
static uint32_t moved(const move *m, const reading *d, uint32_t k) {
    const tn_i_var v = tn_i_in(m->f, d->e)[k];
    if (k < tn_i_loop_x0(&d->l) || v < stack_of(m, 0) || v >= stack_of(m, 0) + m->l.ny) return TN_NOVAR;
    return m->goes[v - stack_of(m, 0)] ? v - stack_of(m, 0) : TN_NOVAR;
}

static bool inner_reads(const move *m, tn_i_var v) {
    for (uint32_t k = 0; k < m->inner->nin; k++)
        if (tn_i_in(m->l.body, m->inner)[k] == v) return true;
    return false;
}

static tn_i_var input(reading *d, const tn_type *t, tn_i_var operand) {
    d->in[d->nin++] = operand;
    return tn_i_input(&d->b, t, false);
}

static void own_inputs(const move *m, reading *d, tn_i_rule *r, tn_i_var *map, uint32_t first, uint32_t end) {
    for (uint32_t k = first; k < end; k++) {
        if (moved(m, d, k) != TN_NOVAR) continue;
        const uint32_t i = tn_i_loop_inner(&d->l, k);
        d->map[i] = input(d, d->l.body->val[i].type, tn_i_mapped(r->b, m->f, map, tn_i_in(m->f, d->e)[k]));
    }
}

static uint32_t outer_inputs(const move *m, reading *d, tn_i_rule *r, tn_i_var *map, uint32_t first, uint32_t end) {
    uint32_t n = 0;
    for (uint32_t i = first; i < end; i++) {
        if (!inner_reads(m, i)) continue;
        const tn_i_var v = tn_i_in(m->f, m->outer)[tn_i_loop_operand(&m->l, i)];
        d->of_outer[i] = input(d, m->l.body->val[i].type, tn_i_mapped(r->b, m->f, map, v));
        n++;
    }
    return n;
}

static void reading_inputs(const move *m, reading *d, tn_i_rule *r, tn_i_var *map) {
    const tn_i_loop_eqn *l = &d->l;
    const bool number = m->l.index && inner_reads(m, 0);
    const tn_type i64 = tn_type_of(TN_I64, 0, NULL);
    d->to.index = l->index || number;
    if (l->counted) d->in[d->nin++] = tn_i_mapped(r->b, m->f, map, tn_i_in(m->f, d->e)[0]);
    if (d->to.index) {
        const tn_i_var i = tn_i_input(&d->b, &i64, false);
        if (l->index) d->map[0] = i;
        if (number) d->of_outer[0] = i;
    }
    own_inputs(m, d, r, map, tn_i_loop_const0(l), tn_i_loop_carry0(l));
    d->to.nconst += outer_inputs(m, d, r, map, m->l.index, carry_in(m));
    const uint32_t before = d->nin;
    own_inputs(m, d, r, map, tn_i_loop_carry0(l), tn_i_loop_x0(l));
    own_inputs(m, d, r, map, tn_i_loop_x0(l), d->e->nin);
    (void)outer_inputs(m, d, r, map, x_in(m), m->l.body->nin);
    for (uint32_t k = 0; k < m->nextra; k++)
        d->of_outer[m->extra[k]] = input(d, m->l.body->val[m->extra[k]].type, m->stack + k);
    d->to.nx = d->nin - before - l->ncarry;
}

static tn_fn *reading_body(const move *m, reading *d) {
    const tn_fn *f = d->l.body;
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!out) d->b.failed = true;
    tn_i_copy_eqn(&d->b, m->l.body, m->inner, d->of_outer);
    for (uint32_t k = 0; k < d->e->nin && !d->b.failed; k++) {
        const uint32_t y = moved(m, d, k);
        if (y == TN_NOVAR) continue;
        d->map[tn_i_loop_inner(&d->l, k)] = d->of_outer[m->l.body->out[m->l.ncarry + y]];
    }
    for (uint32_t i = 0; i < f->neqn && !d->b.failed; i++) {
        d->b.region = f->eqn[i].region;
        tn_i_copy_eqn(&d->b, f, &f->eqn[i], d->map);
    }
    d->b.region = 0;
    for (uint32_t j = 0; j < f->nout && !d->b.failed; j++) out[j] = tn_i_mapped(&d->b, f, d->map, f->out[j]);
    tn_fn *g = tn_i_finish(&d->b, f->nout, out);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static void emit_reader(move *m, tn_i_rule *r, const tn_i_eqn *e, tn_i_var *map) {
    reading d = {.e = e};
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &d.l);
    d.to = d.l;
    d.map = tn_i_map_new(d.l.body);
    d.of_outer = tn_i_map_new(m->l.body);
    d.in = room(m, (size_t)e->nin + m->outer->nin + m->nextra, sizeof *d.in);
    tn_fn *body = NULL;
    tn_i_var first = TN_NOVAR;
    if (d.map && d.of_outer && d.in) {
        tn_i_builder_init(&d.b, m->f->ctx);
        d.b.named_after = d.l.body;
        d.b.regions = d.l.body->regions > m->l.body->regions ? d.l.body->regions : m->l.body->regions;
        reading_inputs(m, &d, r, map);
        body = reading_body(m, &d);
    }
    d.to.body = body;
    if (body) first = tn_i_loop_emit(r, &d.to, d.in);
    if (first == TN_NOVAR) m->failed = true;
    for (uint32_t j = 0; j < e->nout && first != TN_NOVAR; j++) map[e->out + j] = first + j;
    tn_i_fn_unref(body);
    if (d.map) tn_i_map_free(d.l.body, d.map);
    if (d.of_outer) tn_i_map_free(m->l.body, d.of_outer);
}

/* ---- one program ------------------------------------------------------------------------ */

static const char kind;

/* f localized, which the memo holds. */
static const tn_fn *localized(tn_i_memo *m, const tn_fn *f);

/* f with the stacks of m moved. */
static tn_fn *moved_program(move *m) {
    const tn_fn *f = m->f;
    tn_i_copying k;
    bool ok = tn_i_copying_begin(&k, f);
    find_extra(m);
    for (uint32_t i = 0; ok && i < f->neqn && !k.b.failed && !m->failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        tn_i_copying_enter(&k, e);
        if (e == m->outer)
            emit_outer(m, &k.r, k.map);
        else if (m->reader[i])
            emit_reader(m, &k.r, e, k.map);
        else
            tn_i_copy_eqn(&k.b, f, e, k.map);
    }
    return tn_i_copying_end(&k, f, ok && !m->failed);
}

/* Moves what can be moved in f itself, one inner loop after another.  Takes f over. */
static tn_fn *move_all(tn_fn *f) {
    for (bool more = true; more && f;) {
        move m = {.f = f};
        tn_i_arena_init(&m.a, f->ctx);
        more = find(&m);
        tn_fn *g = more ? tn_i_prune(moved_program(&m)) : m.failed ? NULL : f;
        tn_i_arena_free(&m.a);
        if (g != f) tn_i_fn_unref(f);
        f = g;
    }
    return f;
}

static uint32_t count_programs(const tn_i_eqn *e) {
    const tn_fn *const *g;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->params->n; i++) n += tn_i_programs(&e->params->v[i], &g);
    return n;
}

/* p: e's parameters with each program localized; programs: room for them. */
static bool localized_params(tn_i_memo *m, const tn_i_eqn *e, tn_i_param *p, const tn_fn **programs) {
    for (uint32_t i = 0; i < e->params->n; i++) {
        const tn_fn *const *g;
        const tn_fn **first = programs;
        const uint32_t count = tn_i_programs(&e->params->v[i], &g);
        p[i] = e->params->v[i];
        for (uint32_t j = 0; j < count; j++)
            if ((*programs++ = localized(m, g[j])) == NULL) return false;
        if (p[i].kind == TN_K_FN) p[i].u.fn = *first;
        if (p[i].kind == TN_K_FNS) p[i].u.fns = first;
    }
    return true;
}

/* e with each of its programs localized. */
static void copy_localized(tn_i_memo *m, tn_i_copying *k, const tn_fn *f, const tn_i_eqn *e) {
    tn_i_param p[TN_MAX_PARAMS];
    tn_ctx *c = f->ctx;
    const uint32_t n = count_programs(e);
    const tn_fn **programs = tn_i_alloc_array(c, n, sizeof *programs);
    tn_i_var *in = tn_i_alloc_array(c, e->nin, sizeof *in);
    if (!in || !programs || !localized_params(m, e, p, programs)) k->b.failed = true;
    for (uint32_t i = 0; i < e->nin && !k->b.failed; i++) in[i] = tn_i_mapped(&k->b, f, k->map, tn_i_in(f, e)[i]);
    tn_i_var v = k->b.failed ? TN_NOVAR : tn_i_emit(&k->b, e->prim, p, e->nin, in);
    for (uint32_t j = 0; j < e->nout && v != TN_NOVAR; j++) k->map[e->out + j] = v + j;
    tn_i_free(c, (void *)programs, n * sizeof *programs);
    tn_i_free(c, in, e->nin * sizeof *in);
}

static tn_fn *within(tn_i_memo *m, const tn_fn *f) {
    tn_i_copying k;
    bool ok = tn_i_copying_begin(&k, f), found;
    for (uint32_t i = 0; ok && i < f->neqn && !k.b.failed; i++) {
        tn_i_copying_enter(&k, &f->eqn[i]);
        ok = tn_i_runs_loops(&f->eqn[i], &found);
        if (ok && found)
            copy_localized(m, &k, f, &f->eqn[i]);
        else if (ok)
            tn_i_copy_eqn(&k.b, f, &f->eqn[i], k.map);
    }
    return tn_i_copying_end(&k, f, ok);
}

static const tn_fn *localized(tn_i_memo *m, const tn_fn *f) {
    const tn_i_memo_entry *e = tn_i_memo_find(m, &kind, f, NULL, 0);
    if (e) return e->result[0];
    tn_fn *g = tn_i_counts_once(tn_i_calls_in_place(f, true));
    if (g) g = tn_i_sums_of_stacks(g, NULL, g->nout);
    if (g) g = tn_i_merge_replays(move_all(g));
    tn_fn *h = g ? within(m, g) : NULL;
    tn_i_fn_unref(g);
    e = h ? tn_i_memo_add(m, &kind, f, NULL, 0, h, NULL, NULL, 0) : NULL;
    return e ? e->result[0] : NULL;
}

tn_fn *tn_i_localize(const tn_fn *f) {
    bool found;
    if (!tn_i_holds_loops(f, &found)) return NULL;
    if (!found) return (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_memo memo;
    tn_i_memo_init(&memo, f->ctx);
    const tn_fn *g = localized(&memo, f);
    tn_fn *own = g ? (tn_fn *)(uintptr_t)tn_i_fn_ref(g) : NULL;
    tn_i_memo_free(&memo);
    return own;
}
