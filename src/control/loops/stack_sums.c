/* Sums of stacks in the programs of loops: there a stack is an entry of the outer loop's, of which the rules that add
 * cotangents do not know that a loop made it, and which one. */
#include "control/loops/loop.h"
#include "control/loops/ways.h"
#include "prims/ids.h"

#include <string.h>

enum { SCANNED = 1, ELSEWHERE = 2 }; /* how a value is read */

typedef struct walk {
    const tn_fn *f;
    const tn_i_ways *in;
    tn_i_builder b;
    tn_i_var *map;
    tn_i_way *way;
    const char **schedule;
    uint8_t *read;
    bool changed;
} walk;

static bool same_types(const tn_fn *f, const tn_i_eqn *e) {
    const tn_type *t = f->val[e->out].type;
    return t->rank > 0 && f->val[tn_i_in(f, e)[0]].type == t && f->val[tn_i_in(f, e)[1]].type == t;
}

/* An addition whose result is read as entries, and nothing else. */
static bool adds_stacks(const walk *w, const tn_i_eqn *e) {
    return e->prim->id == TN_P_add && w->read[e->out] == SCANNED && same_types(w->f, e);
}

/* Where the entries that e scans over begin. */
static uint32_t entries_of(const tn_i_eqn *e) {
    tn_i_loop_eqn l;
    if (!tn_i_has_way(e)) return e->nin;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    return tn_i_loop_x0(&l);
}

static void find_read(walk *w, uint32_t first) {
    const tn_fn *f = w->f;
    for (uint32_t j = 0; j < f->nout; j++) w->read[f->out[j]] |= j < first ? ELSEWHERE : SCANNED;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool adds = adds_stacks(w, e);
        for (uint32_t k = 0; k < e->nin; k++)
            w->read[tn_i_in(f, e)[k]] |= adds || k >= entries_of(e) ? SCANNED : ELSEWHERE;
    }
}

/* What is added, if e is a sum of stacks. */
static bool is_sum(const walk *w, const tn_i_eqn *e, tn_i_var *x, tn_i_var *y) {
    const tn_i_var *in = tn_i_in(w->f, e);
    if (tn_i_has_way(e)) {
        tn_i_loop_eqn l;
        tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
        if (!tn_i_adds_entries(e, l.body)) return false;
        const tn_i_var *entry = tn_i_in(l.body, &l.body->eqn[0]);
        *x = in[tn_i_loop_operand(&l, entry[0])];
        *y = in[tn_i_loop_operand(&l, entry[1])];
        return true;
    }
    if (!w->in || !adds_stacks(w, e) || !(w->way[in[0]].ways | w->way[in[1]].ways)) return false;
    *x = in[0];
    *y = in[1];
    return true;
}

static void say(walk *w, const tn_i_eqn *e) {
    tn_i_loop_eqn l;
    if (!tn_i_has_way(e)) return;
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    tn_i_find_ways(w->f, e, w->way);
    for (uint32_t j = tn_i_loop_y0(&l); j < e->nout; j++) w->schedule[e->out + j] = l.schedule;
}

static void emit_sum(walk *w, const tn_i_eqn *e, tn_i_var x, tn_i_var y) {
    const char *s = w->schedule[e->out];
    if (!s) s = w->schedule[x] ? w->schedule[x] : w->schedule[y];
    const tn_i_var a = tn_i_mapped(&w->b, w->f, w->map, x), c = tn_i_mapped(&w->b, w->f, w->map, y);
    const tn_i_var sum = w->b.failed ? TN_NOVAR : tn_i_add_entries(&w->b, a, c, s);
    if (sum == TN_NOVAR) return;
    const tn_i_eqn *made = tn_i_def(&w->b, sum);
    const bool counted = e->nin > 2 && made && made->nin > 2;
    w->changed |=
        !tn_i_has_way(e) || s != w->schedule[e->out] || (counted && w->b.pool[made->in] != w->map[tn_i_in(w->f, e)[0]]);
    w->map[e->out] = sum;
    w->schedule[e->out] = s;
    w->way[e->out].ways = w->way[x].ways | w->way[y].ways;
    w->way[e->out].bad = w->way[x].bad | w->way[y].bad;
}

static void step(walk *w, const tn_i_eqn *e) {
    tn_i_var x, y;
    w->b.loc = e->loc;
    w->b.region = e->region;
    w->b.linear = e->linear;
    say(w, e);
    if (is_sum(w, e, &x, &y))
        emit_sum(w, e, x, y);
    else
        tn_i_copy_eqn(&w->b, w->f, e, w->map);
}

static tn_fn *rebuilt(walk *w) {
    const tn_fn *f = w->f;
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&w->b, f->ctx);
    w->b.named_after = f;
    w->b.regions = f->regions;
    w->b.mixed = f->mixed;
    if (!out) w->b.failed = true;
    for (uint32_t i = 0; i < f->nin && !w->b.failed; i++) {
        w->map[i] = tn_i_input(&w->b, f->val[i].type, f->val[i].linear);
        if (!w->in) continue;
        w->way[i] = w->in[i].at[0];
        w->schedule[i] = w->in[i].schedule[0];
    }
    for (uint32_t i = 0; i < f->neqn && !w->b.failed; i++) step(w, &f->eqn[i]);
    w->b.region = 0;
    for (uint32_t j = 0; j < f->nout && !w->b.failed; j++) out[j] = tn_i_mapped(&w->b, f, w->map, f->out[j]);
    tn_fn *g = tn_i_finish(&w->b, f->nout, out);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static bool may_be_sum(const walk *w, const tn_i_eqn *e) {
    tn_i_loop_eqn l;
    if (!tn_i_has_way(e)) return w->in && adds_stacks(w, e);
    tn_i_loop_of(e->prim, tn_i_p(e), e->nin, &l);
    return tn_i_adds_entries(e, l.body);
}

tn_fn *tn_i_sums_of_stacks(tn_fn *f, const tn_i_ways *in, uint32_t first) {
    tn_ctx *c = f->ctx;
    walk w = {.f = f, .in = in, .read = tn_i_alloc(c, f->nval)};
    bool any = false, ok = w.read != NULL;
    if (ok) find_read(&w, first);
    for (uint32_t i = 0; ok && i < f->neqn && !any; i++) any = may_be_sum(&w, &f->eqn[i]);
    tn_fn *g = ok ? f : NULL;
    if (any) {
        w.map = tn_i_map_new(f);
        w.way = tn_i_alloc_array(c, f->nval, sizeof *w.way);
        w.schedule = tn_i_alloc_array(c, f->nval, sizeof *w.schedule);
        g = w.map && w.way && w.schedule ? rebuilt(&w) : NULL;
        if (g && !w.changed) {
            tn_i_fn_unref(g);
            g = f;
        }
        if (w.map) tn_i_map_free(f, w.map);
        tn_i_free(c, w.way, f->nval * sizeof *w.way);
        tn_i_free(c, (void *)w.schedule, f->nval * sizeof *w.schedule);
    }
    tn_i_free(c, w.read, f->nval);
    if (g != f) tn_i_fn_unref(f);
    return g;
}
