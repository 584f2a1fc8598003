/* Fission of a program and of the programs of its loops.  A loop in another one's step reads entries that come as
 * entries of the outer loop: once they are brought to where they are read (control/loops/replay.c), the loops that made
 * them run there.  So what counts in a program is also in which directions these ran. */
#include "control/loops/fission.h"
#include "control/loops/loop.h"
#include "control/loops/replay.h"
#include "control/loops/ways.h"
#include "ir/memo.h"
#include "ir/seen.h"
#include "prims/ids.h"

#include <string.h>

static const char kind;

/* ---- directions -------------------------------------------------------------------------- */

bool tn_i_has_way(const tn_i_eqn *e) { return e->prim->id == TN_P_scan || e->prim->id == TN_P_while; }

void tn_i_find_ways(const tn_fn *f, const tn_i_eqn *e, tn_i_way *way) {
    tn_i_loop_eqn l;
    tn_i_way w = {0, 0};
    if (!tn_i_has_way(e)) return;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    for (uint32_t k = tn_i_loop_x0(&l); k < e->nin; k++) {
        w.ways |= way[tn_i_in(f, e)[k]].ways;
        w.bad |= way[tn_i_in(f, e)[k]].bad;
    }
    if (l.ncarry || l.is_while) { /* what carries nothing runs in either direction */
        const uint8_t own = l.reverse ? TN_BACKWARD : TN_FORWARD;
        w.ways |= own;
        w.bad = w.ways & (uint8_t)~own;
    }
    for (uint32_t j = tn_i_loop_y0(&l); j < e->nout; j++) way[e->out + j] = w;
}

/* ---- one program, and those within ------------------------------------------------------- */

typedef struct walk {
    tn_i_memo *memo;
    const tn_fn *f;
    tn_i_builder b;
    tn_i_var *map;
    tn_i_ways *of; /* of each value of f */
    tn_i_way *way; /* the first of each */
    bool changed;
} walk;

static const tn_i_memo_entry *taken_apart(tn_i_memo *m, const tn_fn *f, const tn_i_ways *in, uint32_t first);

/* Of the entries of v. */
static void within(const tn_i_ways *v, tn_i_ways *entry) {
    memcpy(entry->at, v->at + 1, sizeof v->at - sizeof *v->at);
    memcpy(entry->schedule, v->schedule + 1, sizeof v->schedule - sizeof *v->schedule);
}

static void around(const tn_i_ways *entry, tn_i_ways *v) {
    memcpy(v->at + 1, entry->at, sizeof v->at - sizeof *v->at);
    memcpy(v->schedule + 1, entry->schedule, sizeof v->schedule - sizeof *v->schedule);
}

/* The step of loop e, and what is said of its outputs. */
static const tn_i_memo_entry *step_of(walk *w, const tn_i_eqn *e, const tn_i_loop_eqn *l) {
    tn_ctx *c = w->f->ctx;
    tn_i_ways *in = tn_i_alloc_array(c, l->body->nin, sizeof *in);
    const tn_i_memo_entry *s = NULL;
    for (uint32_t k = tn_i_loop_x0(l); in && k < e->nin; k++)
        within(&w->of[tn_i_in(w->f, e)[k]], &in[tn_i_loop_inner(l, k)]);
    if (in) s = taken_apart(w->memo, l->body, in, l->ncarry);
    tn_i_free(c, in, l->body->nin * sizeof *in);
    return s;
}

static void say_of_outputs(walk *w, const tn_i_eqn *e, const tn_i_loop_eqn *l, const tn_i_ways *step) {
    tn_i_find_ways(w->f, e, w->way);
    for (uint32_t y = 0; y < l->ny; y++) {
        tn_i_ways *v = &w->of[e->out + tn_i_loop_y0(l) + y];
        v->at[0] = w->way[e->out + tn_i_loop_y0(l) + y];
        v->schedule[0] = l->schedule;
        around(&step[l->ncarry + y], v);
    }
}

static void emit_with(walk *w, const tn_i_eqn *e, const tn_fn *body) {
    tn_i_param p[TN_MAX_PARAMS];
    tn_ctx *c = w->f->ctx;
    tn_i_var *in = tn_i_alloc_array(c, e->nin, sizeof *in), v = TN_NOVAR;
    if (!in) w->b.failed = true;
    for (uint32_t i = 0; i < e->nin && !w->b.failed; i++) in[i] = tn_i_mapped(&w->b, w->f, w->map, tn_i_in(w->f, e)[i]);
    memcpy(p, e->params->v, e->params->n * sizeof *p);
    p[e->prim->id == TN_P_scan ? (int)TN_SCAN_PROGRAM : (int)TN_WHILE_BODY].u.fn = body;
    if (!w->b.failed) v = tn_i_emit(&w->b, e->prim, p, e->nin, in);
    for (uint32_t j = 0; j < e->nout && v != TN_NOVAR; j++) w->map[e->out + j] = v + j;
    tn_i_free(c, in, e->nin * sizeof *in);
    w->changed = true;
}

static void step(walk *w, const tn_i_eqn *e) {
    tn_i_loop_eqn l;
    w->b.loc = e->loc;
    w->b.region = e->region;
    w->b.linear = e->linear;
    if (!tn_i_has_way(e)) {
        tn_i_copy_eqn(&w->b, w->f, e, w->map);
        return;
    }
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    const tn_i_memo_entry *s = step_of(w, e, &l);
    if (!s) {
        w->b.failed = true;
        return;
    }
    say_of_outputs(w, e, &l, (const tn_i_ways *)s->flags);
    if (s->result[0] == l.body)
        tn_i_copy_eqn(&w->b, w->f, e, w->map);
    else
        emit_with(w, e, s->result[0]);
}

/* f with the steps of its loops taken apart; out: of its outputs.  Takes f over. */
static tn_fn *steps_apart(tn_i_memo *m, tn_fn *f, const tn_i_ways *in, tn_i_ways *out) {
    walk w = {.memo = m, .f = f, .map = tn_i_map_new(f)};
    w.of = tn_i_alloc_array(f->ctx, f->nval, sizeof *w.of);
    w.way = tn_i_alloc_array(f->ctx, f->nval, sizeof *w.way);
    tn_i_var *outs = tn_i_alloc_array(f->ctx, f->nout, sizeof *outs);
    tn_i_builder_init(&w.b, f->ctx);
    w.b.named_after = f;
    w.b.regions = f->regions;
    w.b.mixed = f->mixed;
    if (!w.map || !w.of || !w.way || !outs) w.b.failed = true;
    for (uint32_t i = 0; i < f->nin && !w.b.failed; i++) {
        w.map[i] = tn_i_input(&w.b, f->val[i].type, f->val[i].linear);
        w.of[i] = in[i];
        w.way[i] = in[i].at[0];
    }
    for (uint32_t i = 0; i < f->neqn && !w.b.failed; i++) step(&w, &f->eqn[i]);
    for (uint32_t j = 0; j < f->nout && !w.b.failed; j++) {
        outs[j] = tn_i_mapped(&w.b, f, w.map, f->out[j]);
        out[j] = w.of[f->out[j]];
    }
    tn_fn *g = tn_i_finish(&w.b, f->nout, outs);
    if (g && !w.changed) {
        tn_i_fn_unref(g);
        g = (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    }
    if (w.map) tn_i_map_free(f, w.map);
    tn_i_free(f->ctx, outs, f->nout * sizeof *outs);
    tn_i_free(f->ctx, w.of, f->nval * sizeof *w.of);
    tn_i_free(f->ctx, w.way, f->nval * sizeof *w.way);
    tn_i_fn_unref(f);
    return g;
}

/* f taken apart, and of each output its ways, for inputs with these; outputs from `first` on are entries. */
static const tn_i_memo_entry *taken_apart(tn_i_memo *m, const tn_fn *f, const tn_i_ways *in, uint32_t first) {
    tn_ctx *c = f->ctx;
    const size_t nkey = sizeof first + f->nin * sizeof *in;
    unsigned char *key = tn_i_alloc(c, nkey);
    tn_i_ways *out = tn_i_alloc_array(c, f->nout, sizeof *out);
    const tn_i_memo_entry *e = NULL;
    bool ok = key && out, loops;
    if (ok) {
        memcpy(key, &first, sizeof first);
        if (f->nin) memcpy(key + sizeof first, in, f->nin * sizeof *in);
        e = tn_i_memo_find(m, &kind, f, key, nkey);
    }
    if (ok && !e && tn_i_any_equation(f, tn_i_has_way, &loops)) {
        tn_fn *g = (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
        for (uint32_t j = 0; j < f->nout; j++)
            if (f->out[j] < f->nin) out[j] = in[f->out[j]];
        if (loops) g = tn_i_loops_in_place(g);
        if (g) g = tn_i_sums_of_stacks(g, in, first);
        if (g && loops && (g = tn_i_fission_in(g, in)) != NULL) g = steps_apart(m, g, in, out);
        if (g) e = tn_i_memo_add(m, &kind, f, key, nkey, g, NULL, out, f->nout * sizeof *out);
    }
    tn_i_free(c, key, nkey);
    tn_i_free(c, out, f->nout * sizeof *out);
    return e;
}

tn_fn *tn_i_fission(tn_fn *f) {
    bool loops;
    tn_fn *g = NULL;
    if (!f) return NULL;
    if (tn_i_any_equation(f, tn_i_has_way, &loops)) {
        if (!loops) return f;
        tn_i_memo memo;
        tn_i_ways *in = tn_i_alloc_array(f->ctx, f->nin, sizeof *in);
        tn_i_memo_init(&memo, f->ctx);
        const tn_i_memo_entry *e = in ? taken_apart(&memo, f, in, f->nout) : NULL;
        if (e) g = (tn_fn *)(uintptr_t)tn_i_fn_ref(e->result[0]);
        tn_i_memo_free(&memo);
        tn_i_free(f->ctx, in, f->nin * sizeof *in);
    }
    tn_i_fn_unref(f);
    return g;
}
