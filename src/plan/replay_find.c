/* Which stacks are made again, by which loops, and what each of these computes. */
#include "plan/planner.h"

#include "checkpoint/cost_model.h"
#include "control/loops/loop.h"
#include "linearize/prune.h"

#include <string.h>

typedef struct finder {
    tn_i_planner *z;
    uint8_t *mark; /* of each equation: in the group that is looked at */
    bool demoted;
} finder;

static bool again(const tn_i_planner *z, tn_i_var v) { return z->again && z->again[v]; }

static bool against(const tn_i_loop_shape *a, const tn_i_loop_shape *b) { return a->reverse != b->reverse; }

static bool has_schedule(const tn_i_loop_shape *s) { return s->schedule && strcmp(s->schedule, "all_save") != 0; }

/* ---- stacks ------------------------------------------------------------------------- */

/* Whether equations or outputs of f read its input i. */
static bool reads(const tn_fn *f, uint32_t i) {
    for (uint32_t k = 0; k < f->neqn; k++)
        for (uint32_t j = 0; j < f->eqn[k].nin; j++)
            if (tn_i_in(f, &f->eqn[k])[j] == i) return true;
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->out[j] == i) return true;
    return false;
}

/* A step that makes entry y and the carries of which leaf[] says so: quiet, where that can be. */
static tn_fn *quiet_entry(const tn_i_loop_shape *s, uint32_t y, const bool *leaf, tn_ctx *c) {
    const tn_fn *f = s->body;
    const tn_type **type = tn_i_alloc_array(c, f->nin, sizeof *type);
    uint32_t *from = tn_i_alloc_array(c, f->nin, sizeof *from), *out = tn_i_alloc_array(c, f->nout, sizeof *out);
    tn_fn *g = NULL, *quiet = NULL;
    if (type && from && out) {
        tn_i_wiring w = {.nin = f->nin, .in = type, .from = from, .out = out};
        for (uint32_t i = 0; i < f->nin; i++) {
            from[i] = i;
            type[i] = f->val[i].type;
        }
        for (uint32_t j = 0; j < s->ncarry; j++)
            if (leaf[j]) out[w.nout++] = j;
        out[w.nout++] = s->ncarry + y;
        g = tn_i_rewire(f, &w);
        quiet = g ? tn_i_quiet(g) : NULL;
    }
    tn_i_fn_unref(g);
    tn_i_free(c, (void *)type, f->nin * sizeof *type);
    tn_i_free(c, from, f->nin * sizeof *from);
    tn_i_free(c, out, f->nout * sizeof *out);
    return quiet;
}

/* Whether entries of stack y are made by an effect, in this step or in one before it: those are kept, because an effect
 * happens once.  What ranks say to each other may be said again, by all of them. */
static bool takes_effect(const tn_i_loop_shape *s, uint32_t y, tn_ctx *c, bool *effect) {
    bool *leaf = tn_i_alloc_array(c, s->ncarry, sizeof *leaf), ok = leaf != NULL;
    *effect = false;
    for (bool changed = s->body->once; ok && changed;) {
        tn_fn *g = quiet_entry(s, y, leaf, c);
        changed = false;
        ok = g != NULL;
        for (uint32_t j = 0; ok && j < s->ncarry; j++) {
            if (leaf[j] || !reads(g, s->index + s->nconst + j)) continue;
            leaf[j] = changed = true;
        }
        if (ok) *effect = g->once;
        tn_i_fn_unref(g);
    }
    tn_i_free(c, leaf, s->ncarry * sizeof *leaf);
    return ok;
}

/* Stacks of loops with schedules that only loops read, entry by entry. */
static bool mark_stacks(tn_i_planner *z) {
    const tn_fn *f = z->f;
    tn_i_loop_shape s;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool loop = tn_i_loop_read(e, &s);
        for (uint32_t k = 0; k < e->nin; k++)
            if (!loop || k < s.x0) z->again[tn_i_in(f, e)[k]] = 0;
        for (uint32_t k = 0; loop && has_schedule(&s) && k < s.ny; k++) {
            bool effect;
            if (!takes_effect(&s, k, z->ctx, &effect)) return false;
            z->again[e->out + s.y0 + k] = !effect && tn_i_count(f->val[e->out + s.y0 + k].type) > 0;
        }
    }
    for (uint32_t j = 0; j < f->nout; j++) z->again[f->out[j]] = 0;
    return true;
}

enum { BESIDE = 1, BACK = 2 };

/* The loops whose entries that of `eqn` wants, itself too: those that run beside it and those that are brought back.
 * Loops that carry nothing have no direction: they are brought back with what reads them. */
static void mark_group(finder *d, uint32_t eqn) {
    const tn_fn *f = d->z->f;
    tn_i_loop_shape own, s, from;
    memset(d->mark, 0, f->neqn);
    if (!tn_i_loop_read(&f->eqn[eqn], &own)) return;
    d->mark[eqn] = BESIDE;
    for (uint32_t i = eqn + 1; i-- > 0;) {
        if (!d->mark[i] || !tn_i_loop_read(&f->eqn[i], &s)) continue;
        for (uint32_t k = s.x0; k < s.x0 + s.nx; k++) {
            const tn_i_var v = tn_i_in(f, &f->eqn[i])[k];
            if (!again(d->z, v)) continue;
            const uint32_t maker = f->val[v].def;
            (void)tn_i_loop_read(&f->eqn[maker], &from);
            const uint8_t role = from.ncarry ? (against(&from, &own) ? BACK : BESIDE) : d->mark[i];
            if (role > d->mark[maker]) d->mark[maker] = role;
        }
    }
}

/* Loops that are brought back may read only each other: else the stack is kept. */
static void demote(finder *d, uint32_t eqn) {
    const tn_fn *f = d->z->f;
    tn_i_loop_shape s;
    mark_group(d, eqn);
    for (uint32_t i = 0; i < eqn; i++) {
        if (d->mark[i] != BACK || !tn_i_loop_read(&f->eqn[i], &s)) continue;
        for (uint32_t k = s.x0; k < s.x0 + s.nx; k++) {
            const tn_i_var v = tn_i_in(f, &f->eqn[i])[k];
            if (!again(d->z, v) || d->mark[f->val[v].def] == BACK) continue;
            d->z->again[v] = 0;
            d->demoted = true;
        }
    }
}

/* ---- groups --------------------------------------------------------------------------- */

static void actor_drop(tn_ctx *c, tn_i_actor *a) {
    for (int k = 0; k < TN_STEPS_OF; k++) tn_fn_free((tn_fn *)(uintptr_t)a->fn[k]);
    tn_i_free(c, a->leaf, a->shape.ncarry * sizeof *a->leaf);
    tn_i_free(c, a->entry, a->shape.ny * sizeof *a->entry);
    tn_i_free(c, a->source, a->shape.nx * sizeof *a->source);
    tn_i_free(c, a->reads, a->nin);
}

void tn_i_group_drop(tn_ctx *c, tn_i_group *g) {
    for (uint32_t k = 0; k < g->nactor; k++) actor_drop(c, &g->actor[k]);
    tn_i_free(c, g->actor, g->nactor * sizeof *g->actor);
    tn_i_free(c, g->stand_in, g->nstand_in * sizeof *g->stand_in);
    tn_i_script_free(g->script);
    tn_i_schedule_free(g->schedule);
}

static uint32_t actor_of(const tn_i_group *g, uint32_t eqn) {
    for (uint32_t k = 0; k < g->nactor; k++)
        if (g->actor[k].eqn == eqn) return k;
    return TN_NOVAR;
}

static bool fill_actor(finder *d, tn_i_group *g, tn_i_actor *a) {
    const tn_i_planner *z = d->z;
    const tn_i_eqn *e = &z->f->eqn[a->eqn];
    a->leaf = tn_i_alloc_array(z->ctx, a->shape.ncarry, sizeof *a->leaf);
    a->entry = tn_i_alloc_array(z->ctx, a->shape.ny, sizeof *a->entry);
    a->source = tn_i_alloc_array(z->ctx, a->shape.nx, sizeof *a->source);
    if (!a->leaf || !a->entry || !a->source) return false;
    a->nentry = a->shape.ny;
    for (uint32_t k = 0; k < a->nentry; k++) {
        const tn_i_var v = e->out + a->shape.y0 + k;
        a->entry[k] = (tn_i_entry){.y = k, .again = again(z, v)};
        if (a->self && !a->entry[k].again) a->entry[k].made[TN_PLAIN] = a->entry[k].made[TN_RECORDED] = true;
    }
    for (uint32_t k = 0; k < a->shape.nx; k++) {
        const tn_i_var v = tn_i_in(z->f, e)[a->shape.x0 + k];
        a->source[k].actor = TN_NOVAR;
        if (!again(z, v)) continue;
        const uint32_t maker = z->f->val[v].def;
        a->source[k].actor = actor_of(g, maker);
        a->source[k].y = v - z->f->eqn[maker].out - g->actor[a->source[k].actor].shape.y0;
    }
    return true;
}

static bool new_group(finder *d, uint32_t eqn) {
    tn_i_planner *z = d->z;
    tn_i_plan *p = z->p;
    tn_i_loop_shape s;
    uint32_t n = 0;
    mark_group(d, eqn);
    (void)tn_i_loop_read(&z->f->eqn[eqn], &s);
    for (uint32_t i = 0; i <= eqn; i++) n += d->mark[i] != 0;
    bool own = n > 1;
    for (uint32_t k = 0; k < s.ny; k++) own |= again(z, z->f->eqn[eqn].out + s.y0 + k);
    if (!own) return true;
    if (!tn_i_grow(z->ctx, (void **)&p->group, &p->cgroup, p->ngroup + 1, sizeof *p->group)) return false;
    tn_i_group *g = &p->group[p->ngroup++];
    *g = (tn_i_group){.eqn = eqn, .leader = TN_NOVAR, .leads = TN_NOVAR, .block = TN_NOBLOCK};
    if (!(g->actor = tn_i_alloc_array(z->ctx, n, sizeof *g->actor))) return false;
    g->nactor = n;
    z->group_of[eqn] = (uint32_t)(p->ngroup - 1);
    n = 0;
    for (uint32_t i = 0; i <= eqn; i++) {
        if (!d->mark[i]) continue;
        tn_i_actor *a = &g->actor[n++];
        a->eqn = i;
        (void)tn_i_loop_read(&z->f->eqn[i], &a->shape);
        a->self = i == eqn;
        a->against = d->mark[i] == BACK;
    }
    for (uint32_t k = 0; k < n; k++)
        if (!fill_actor(d, g, &g->actor[k])) return false;
    return true;
}

static bool happens_once(const tn_i_eqn *e) {
    const tn_fn *const *g;
    bool once = false;
    for (uint32_t k = 0; e->params && k < e->params->n; k++)
        for (uint32_t i = tn_i_programs(&e->params->v[k], &g); i-- > 0;) once |= g[i]->once;
    return once;
}

/* Whether anybody wants what the loops themselves yield: else they run only beside others, or to take snapshots. */
static void find_runs(tn_i_planner *z) {
    const tn_fn *f = z->f;
    tn_i_plan *p = z->p;
    for (uint32_t k = 0; k < p->ngroup; k++) p->group[k].runs = happens_once(&f->eqn[p->group[k].eqn]);
    for (uint32_t k = 0; k < f->npool + f->nout; k++) {
        const tn_i_var v = k < f->npool ? f->pool[k] : f->out[k - f->npool];
        const uint32_t def = f->val[v].def;
        if (def < f->neqn && z->group_of[def] != TN_NOVAR && !again(z, v)) p->group[z->group_of[def]].runs = true;
    }
}

/* Which loops of group `by` are those that g brings back; false where some are not there to take snapshots of. */
static bool stand_ins(const tn_i_group *by, const tn_i_group *g, uint32_t *stand_in) {
    for (uint32_t k = 0; k < g->nactor; k++) {
        stand_in[k] = g->actor[k].against ? actor_of(by, g->actor[k].eqn) : TN_NOVAR;
        if (g->actor[k].against && (stand_in[k] == TN_NOVAR || by->actor[stand_in[k]].against)) return false;
    }
    return true;
}

/* Whether other snapshots are alive between two groups. */
static bool brought_back_between(const tn_i_planner *z, uint32_t first, uint32_t last) {
    bool any = false;
    for (uint32_t k = first + 1; k < last; k++)
        for (uint32_t j = 0; z->p->group[k].runs && j < z->p->group[k].nactor; j++)
            any |= z->p->group[k].actor[j].against;
    return any;
}

/* The last loop that is brought back takes the snapshots, if the others run beside it anyway: for the first of those
 * that run at all.  One that would run for nothing else does not, where others' snapshots would have to be kept beside
 * its own meanwhile.  From the last group to the first. */
static bool find_leader(tn_i_planner *z, uint32_t number) {
    tn_i_group *g = &z->p->group[number];
    uint32_t last = TN_NOVAR;
    for (uint32_t k = 0; k < g->nactor; k++)
        if (g->actor[k].against && g->actor[k].shape.ncarry) last = k;
    if (last == TN_NOVAR) return true;
    g->leader = last;
    if (!g->runs) return true;
    tn_i_group *by = &z->p->group[z->group_of[g->actor[last].eqn]];
    if (!by->runs && brought_back_between(z, (uint32_t)(by - z->p->group), number)) return true;
    uint32_t *stand_in = tn_i_alloc_array(z->ctx, g->nactor, sizeof *stand_in);
    if (!stand_in) return false;
    if (!stand_ins(by, g, stand_in)) {
        tn_i_free(z->ctx, stand_in, g->nactor * sizeof *stand_in);
        return true;
    }
    if (by->leads != TN_NOVAR) z->p->group[by->leads].taken = false;
    tn_i_free(z->ctx, by->stand_in, by->nstand_in * sizeof *by->stand_in);
    by->stand_in = stand_in;
    by->nstand_in = g->nactor;
    by->leads = number;
    by->runs = g->taken = true;
    return true;
}

/* ---- what a step computes ------------------------------------------------------------------ */

/* Which entries of its loops a group wants, and what the group that it takes snapshots for does. */
static void want_entries(tn_i_planner *z, tn_i_group *g) {
    for (uint32_t k = 0; k < g->nactor; k++)
        for (uint32_t x = 0; x < g->actor[k].shape.nx; x++) {
            const tn_i_source *s = &g->actor[k].source[x];
            if (s->actor == TN_NOVAR) continue;
            tn_i_actor *a = &g->actor[s->actor];
            a->entry[s->y].made[TN_RECORDED] = true;
            a->entry[s->y].recorded |= a->against;
            if (!a->against || g->actor[k].against) a->entry[s->y].made[TN_PLAIN] = true;
        }
    if (g->leads == TN_NOVAR) return;
    const tn_i_group *led = &z->p->group[g->leads];
    for (uint32_t k = 0; k < led->nactor; k++) {
        if (!led->actor[k].against) continue;
        tn_i_actor *a = &g->actor[g->stand_in[k]];
        for (uint32_t y = 0; y < a->nentry; y++)
            a->entry[y].made[TN_RECORDED] |= led->actor[k].entry[y].made[TN_RECORDED];
    }
}

/* The body with some carries and entries as outputs; its inputs as they are, or without the other carries. */
static tn_fn *select_outputs(const tn_i_actor *a, int step, const tn_fn *f, bool all_inputs, tn_ctx *c) {
    const uint32_t first = a->shape.index + a->shape.nconst, ncarry = a->shape.ncarry;
    const tn_type **type = tn_i_alloc_array(c, f->nin, sizeof *type);
    uint32_t *from = tn_i_alloc_array(c, f->nin, sizeof *from), *out = tn_i_alloc_array(c, f->nout, sizeof *out);
    uint32_t nin = 0, nout = 0;
    tn_fn *g = NULL;
    if (type && from && out) {
        for (uint32_t i = 0; i < f->nin; i++) {
            bool in = all_inputs || i < first || i >= first + ncarry;
            for (uint32_t k = 0; k < a->nleaf; k++) in |= i == first + a->leaf[k].leaf;
            from[i] = in ? nin : 0;
            if (in) type[nin++] = f->val[i].type;
        }
        if (all_inputs) {
            for (uint32_t k = 0; k < a->nleaf; k++) out[nout++] = a->leaf[k].leaf;
            for (uint32_t k = 0; k < a->nentry; k++)
                if (a->entry[k].made[step]) out[nout++] = ncarry + k;
        } else
            for (; nout < f->nout; nout++) out[nout] = nout;
        g = tn_i_rewire(f, &(tn_i_wiring){.nin = nin, .nout = nout, .in = type, .from = from, .out = out});
    }
    tn_i_free(c, (void *)type, f->nin * sizeof *type);
    tn_i_free(c, from, f->nin * sizeof *from);
    tn_i_free(c, out, f->nout * sizeof *out);
    return g;
}

static void add_leaf(tn_i_actor *a, uint32_t leaf) {
    uint32_t k = 0;
    while (k < a->nleaf && a->leaf[k].leaf < leaf) k++;
    if (k < a->nleaf && a->leaf[k].leaf == leaf) return;
    memmove(a->leaf + k + 1, a->leaf + k, (a->nleaf - k) * sizeof *a->leaf);
    a->leaf[k] = (tn_i_leaf){.leaf = leaf};
    a->nleaf++;
}

/* What is run again has no effects, and computes nothing that is not wanted, at any depth. */
static tn_fn *quiet_outputs(const tn_i_actor *a, int step, tn_ctx *c) {
    tn_fn *f = select_outputs(a, step, a->shape.body, true, c), *g = f ? tn_i_quiet(f) : NULL;
    tn_fn_free(f);
    return tn_i_prune(g);
}

/* The carries that wanted entries depend on, at once or in later steps: accumulators are not among them. */
static bool close_leaves(tn_i_actor *a, tn_ctx *c) {
    const uint32_t first = a->shape.index + a->shape.nconst;
    for (uint32_t before = UINT32_MAX; before != a->nleaf;) {
        before = a->nleaf;
        tn_fn *g = quiet_outputs(a, TN_RECORDED, c);
        if (!g) return false;
        for (uint32_t j = 0; j < a->shape.ncarry; j++)
            if (reads(g, first + j)) add_leaf(a, j);
        tn_fn_free(g);
    }
    return true;
}

static bool same_entries(const tn_i_actor *a) {
    for (uint32_t k = 0; k < a->nentry; k++)
        if (a->entry[k].made[TN_PLAIN] != a->entry[k].made[TN_RECORDED]) return false;
    return true;
}

static bool make_program(tn_i_actor *a, int step, tn_ctx *c) {
    bool whole = a->self;
    for (uint32_t k = 0; k < a->nentry; k++) whole &= a->entry[k].made[step];
    if (whole) {
        a->fn[step] = tn_i_fn_ref(a->shape.body);
        return true;
    }
    tn_fn *f = a->self ? select_outputs(a, step, a->shape.body, true, c) : quiet_outputs(a, step, c);
    if (!f) return false;
    a->fn[step] = select_outputs(a, step, f, false, c);
    tn_fn_free(f);
    return a->fn[step] != NULL;
}

/* Operands that are read when the loop is run beside another one. */
static bool note_reads(tn_i_planner *z, const tn_i_group *g, tn_i_actor *a) {
    const tn_i_loop_shape *s = &a->shape;
    a->nin = z->f->eqn[a->eqn].nin;
    if (!(a->reads = tn_i_alloc(z->ctx, a->nin))) return false;
    for (int step = 0; step < TN_STEPS_OF && !a->self; step++) {
        const tn_fn *f = a->fn[step];
        if (!f) continue;
        for (uint32_t k = 0; k < s->nconst; k++) a->reads[s->const0 + k] |= reads(f, s->index + k);
        for (uint32_t k = 0; k < s->nx; k++)
            if (a->source[k].actor == TN_NOVAR) a->reads[s->x0 + k] |= reads(f, s->index + s->nconst + a->nleaf + k);
    }
    for (uint32_t k = 0; k < a->nleaf && !a->self && !(a->against && g->taken); k++)
        a->reads[s->carry0 + a->leaf[k].leaf] = 1;
    return true;
}

static bool finish_actor(tn_i_planner *z, tn_i_group *g, uint32_t number) {
    tn_i_actor *a = &g->actor[number];
    for (uint32_t j = 0; a->self && j < a->shape.ncarry; j++) add_leaf(a, j);
    if (g->leads != TN_NOVAR) {
        const tn_i_group *led = &z->p->group[g->leads];
        for (uint32_t k = 0; k < led->nactor; k++)
            for (uint32_t j = 0; g->stand_in[k] == number && j < led->actor[k].nleaf; j++)
                add_leaf(a, led->actor[k].leaf[j].leaf);
    }
    if (!a->self && !close_leaves(a, z->ctx)) return false;
    if (!make_program(a, TN_PLAIN, z->ctx)) return false;
    if (!same_entries(a) && (a->against || g->leads != TN_NOVAR) && !make_program(a, TN_RECORDED, z->ctx)) return false;
    for (uint32_t k = 0; k < a->nleaf; k++) {
        a->leaf[k].state = a->against;
        a->leaf[k].bytes = tn_type_bytes(z->f->val[z->f->eqn[a->eqn].out + a->leaf[k].leaf].type);
        g->nstate += a->against;
        if (a->against) g->state_bytes += (a->leaf[k].bytes + 7) & ~(size_t)7;
    }
    for (uint32_t k = 0; k < a->nentry; k++) {
        tn_type entry;
        (void)tn_i_entry_type(z->f->val[z->f->eqn[a->eqn].out + a->shape.y0 + k].type, &entry);
        a->entry[k].bytes = tn_i_memory_bytes(&entry);
        if (a->entry[k].again && tn_i_handles(&entry) && !(a->entry[k].inner = tn_i_type(z->ctx, &entry))) return false;
        if (a->entry[k].recorded) g->record_bytes += (a->entry[k].bytes + 7) & ~(size_t)7;
    }
    return note_reads(z, g, a);
}

static bool finish_group(tn_i_planner *z, tn_i_group *g) {
    want_entries(z, g);
    for (uint32_t k = 0; k < g->nactor; k++)
        if (!finish_actor(z, g, k)) return false;
    if (g->leader == TN_NOVAR) return true;
    const tn_i_loop_shape *s = &g->actor[g->leader].shape;
    tn_schedule_options sizes = {.size = sizeof sizes,
                                 .state_bytes = g->state_bytes,
                                 .record_bytes = g->record_bytes,
                                 .unknown = s->length == TN_I_STEPS};
    for (uint32_t k = 0; k < g->nactor; k++) {
        double ns;
        if (!g->actor[k].against) continue;
        for (uint32_t y = 0; y < g->actor[k].nentry; y++) /* the stack in an entry takes a page */
            if (g->actor[k].entry[y].recorded && g->actor[k].entry[y].inner) sizes.record_bytes += TN_I_PAGE_LEAST;
        if (!tn_i_modelled_ns(&tn_i_shipped_costs, g->actor[k].fn[TN_PLAIN], &ns)) return false;
        sizes.step_ns += ns;
    }
    g->schedule = tn_i_schedule_new(z->ctx, s->schedule, sizes.unknown ? TN_I_UNKNOWN : s->length, &sizes);
    if (!g->schedule) return false;
    if (!sizes.unknown && !tn_i_script_new(g->schedule, s->length, TN_I_MOST_LINES, &g->script)) return false;
    const tn_i_schedule_slots n = tn_i_schedule_slots_of(g->schedule);
    g->nslot = n.memory;
    g->ndisk = n.disk;
    g->growing_every = n.every;
    g->slot_bytes = n.states ? g->state_bytes : 0;
    if (n.records && g->record_bytes > g->slot_bytes) g->slot_bytes = g->record_bytes;
    g->slot_bytes = (g->slot_bytes + (TN_ARENA_ALIGN - 1)) & ~(size_t)(TN_ARENA_ALIGN - 1);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool find(finder *d) {
    tn_i_planner *z = d->z;
    if (!mark_stacks(z)) return false;
    do {
        d->demoted = false;
        for (uint32_t i = 0; i < z->f->neqn; i++)
            if (z->f->eqn[i].prim->flags & TN_F_LOOP) demote(d, i);
    } while (d->demoted);
    for (uint32_t i = 0; i < z->f->neqn; i++) {
        tn_i_loop_shape s;
        if (tn_i_loop_read(&z->f->eqn[i], &s) && !new_group(d, i)) return false;
    }
    find_runs(z);
    for (uint32_t k = (uint32_t)z->p->ngroup; k-- > 0;)
        if (!find_leader(z, k)) return false;
    for (size_t k = z->p->ngroup; k-- > 0;)
        if (!finish_group(z, &z->p->group[k])) return false;
    return true;
}

bool tn_i_replay_init(tn_i_planner *z) {
    const tn_fn *f = z->f;
    bool any = false;
    for (uint32_t i = 0; i < f->neqn && !any; i++) {
        tn_i_loop_shape s;
        any = tn_i_loop_read(&f->eqn[i], &s) && has_schedule(&s) && s.ny;
    }
    if (!any) return true;
    finder d = {.z = z, .mark = tn_i_alloc(z->ctx, f->neqn)};
    z->again = tn_i_alloc(z->ctx, f->nval);
    z->group_of = tn_i_alloc_array(z->ctx, f->neqn, sizeof *z->group_of);
    bool ok = d.mark && z->again && z->group_of;
    if (ok) memset(z->group_of, 0xFF, f->neqn * sizeof *z->group_of);
    ok = ok && find(&d);
    tn_i_free(z->ctx, d.mark, f->neqn);
    return ok;
}

void tn_i_replay_drop(tn_i_planner *z) {
    tn_i_free(z->ctx, z->again, z->f->nval);
    tn_i_free(z->ctx, z->group_of, z->f->neqn * sizeof *z->group_of);
}

tn_i_group *tn_i_group_of(const tn_i_planner *z, uint32_t eqn) {
    return z->group_of && z->group_of[eqn] != TN_NOVAR ? &z->p->group[z->group_of[eqn]] : NULL;
}
