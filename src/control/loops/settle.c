/* What stands in two forms until a program is planned, so that derivatives are the same programs under every schedule
 * (docs/loops.md): values that can be had in two ways, and sums of stacks, which are loops although arrays can be
 * added. Both forms have the same bits. */
#include "control/either.h"
#include "control/loops/loop.h"
#include "ir/seen.h"
#include "linearize/prune.h"
#include "prims/ids.h"

#include <string.h>

/* ---- is there any? -------------------------------------------------------------------------- */

/* A loop that adds the entries of two arrays, and has no schedule. */
static bool adds_arrays(const tn_i_eqn *e, const tn_fn *body) {
    tn_i_scan s;
    if (!tn_i_adds_entries(e, body) || !tn_i_scan_read(tn_i_p(e), e->nin, &s)) return false;
    return !s.counted && (!s.schedule || strcmp(s.schedule, "all_save") == 0);
}

static bool to_settle(const tn_i_eqn *e) {
    return (e->prim->flags & TN_F_EITHER) || (e->prim->id == TN_P_scan && adds_arrays(e, tn_i_p(e)[0].u.fn));
}

/* ---- settling ---------------------------------------------------------------------------------- */

typedef enum ways { BY_SCHEDULE, MADE, KEPT } ways;

typedef struct walk {
    tn_i_memo memo;
    ways which;
} walk;

typedef struct copy {
    walk *w;
    const tn_fn *f;
    tn_i_builder b;
    tn_i_var *map;
} copy;

static const char kind;

/* Of the memo. */
static const tn_fn *settled(walk *w, const tn_fn *f);

/* e's parameters with each program settled; programs: room for them.  false after an error. */
static bool settled_params(walk *w, const tn_i_eqn *e, tn_i_param *p, const tn_fn **programs, bool *changed) {
    for (uint32_t i = 0; i < e->params->n; i++) {
        const tn_fn *const *g;
        const uint32_t n = tn_i_programs(&e->params->v[i], &g);
        const tn_fn **first = programs;
        p[i] = e->params->v[i];
        for (uint32_t j = 0; j < n; j++, programs++) {
            if ((*programs = settled(w, g[j])) == NULL) return false;
            *changed |= *programs != g[j];
        }
        if (p[i].kind == TN_K_FN && n) p[i].u.fn = *first;
        if (p[i].kind == TN_K_FNS) p[i].u.fns = first;
    }
    return true;
}

static void add_arrays(copy *k, const tn_i_eqn *e, const tn_fn *body) {
    const tn_i_var *in = tn_i_in(k->f, e), *entry = tn_i_in(body, &body->eqn[0]);
    const tn_i_var x = tn_i_mapped(&k->b, k->f, k->map, in[entry[0]]);
    const tn_i_var y = tn_i_mapped(&k->b, k->f, k->map, in[entry[1]]);
    k->map[e->out] = tn_i_op2(&k->b, TN_P_add, x, y);
}

static void copy_programs(copy *k, const tn_i_eqn *e, uint32_t n) {
    tn_ctx *c = k->f->ctx;
    tn_i_param p[TN_MAX_PARAMS];
    bool changed = false;
    const tn_fn **programs = tn_i_alloc_array(c, n, sizeof *programs);
    tn_i_var *in = tn_i_alloc_array(c, e->nin, sizeof *in), v = TN_NOVAR;
    if (!programs || !in || !settled_params(k->w, e, p, programs, &changed))
        k->b.failed = true;
    else if (e->prim->id == TN_P_scan && adds_arrays(e, programs[0]))
        add_arrays(k, e, programs[0]);
    else if (!changed)
        tn_i_copy_eqn(&k->b, k->f, e, k->map);
    else {
        for (uint32_t i = 0; i < e->nin && !k->b.failed; i++)
            in[i] = tn_i_mapped(&k->b, k->f, k->map, tn_i_in(k->f, e)[i]);
        if (!k->b.failed) v = tn_i_emit(&k->b, e->prim, p, e->nin, in);
        for (uint32_t j = 0; j < e->nout && v != TN_NOVAR; j++) k->map[e->out + j] = v + j;
    }
    tn_i_free(c, (void *)programs, n * sizeof *programs);
    tn_i_free(c, in, e->nin * sizeof *in);
}

static void step(copy *k, const tn_i_eqn *e) {
    const tn_fn *const *g;
    uint32_t n = 0;
    k->b.loc = e->loc;
    k->b.region = e->region;
    k->b.linear = e->linear;
    for (uint32_t i = 0; e->params && i < e->params->n; i++) n += tn_i_programs(&e->params->v[i], &g);
    if (e->prim->flags & TN_F_EITHER) {
        const bool kept = k->w->which == BY_SCHEDULE ? tn_i_p(e)[0].u.i != 0 : k->w->which == KEPT;
        k->map[e->out] = tn_i_mapped(&k->b, k->f, k->map, tn_i_in(k->f, e)[kept]);
    } else if (n)
        copy_programs(k, e, n);
    else
        tn_i_copy_eqn(&k->b, k->f, e, k->map);
}

static tn_fn *rebuilt(walk *w, const tn_fn *f) {
    copy k = {.w = w, .f = f, .map = tn_i_map_new(f)};
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&k.b, f->ctx);
    k.b.named_after = f;
    k.b.regions = f->regions;
    k.b.mixed = f->mixed;
    if (!k.map || !out) k.b.failed = true;
    for (uint32_t i = 0; i < f->nin && !k.b.failed; i++) k.map[i] = tn_i_input(&k.b, f->val[i].type, f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !k.b.failed; i++) step(&k, &f->eqn[i]);
    k.b.region = 0;
    for (uint32_t j = 0; j < f->nout && !k.b.failed; j++) out[j] = tn_i_mapped(&k.b, f, k.map, f->out[j]);
    tn_fn *g = tn_i_finish(&k.b, f->nout, out);
    if (k.map) tn_i_map_free(f, k.map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static tn_fn *reference(const tn_fn *f) { return (tn_fn *)(uintptr_t)tn_i_fn_ref(f); }

static const tn_fn *settled(walk *w, const tn_fn *f) {
    bool found;
    const tn_i_memo_entry *e = tn_i_memo_find(&w->memo, &kind, f, NULL, 0);
    if (e) return e->result[0];
    if (!tn_i_any_equation(f, to_settle, &found)) return NULL;
    tn_fn *g = found ? rebuilt(w, f) : reference(f);
    e = g ? tn_i_memo_add(&w->memo, &kind, f, NULL, 0, g, NULL, NULL, 0) : NULL;
    return e ? e->result[0] : NULL;
}

static tn_fn *settle(const tn_fn *f, ways which) {
    walk w = {.which = which};
    bool found;
    if (!tn_i_any_equation(f, to_settle, &found)) return NULL;
    if (!found) return reference(f);
    tn_i_memo_init(&w.memo, f->ctx);
    const tn_fn *g = settled(&w, f);
    tn_fn *own = g ? reference(g) : NULL;
    tn_i_memo_free(&w.memo);
    return tn_i_prune(own);
}

tn_fn *tn_i_settle(const tn_fn *f) { return settle(f, BY_SCHEDULE); }

tn_fn *tn_i_settle_kept(const tn_fn *f) { return settle(f, KEPT); }

/* ---- two halves ------------------------------------------------------------------------------------- */

static bool reads(const tn_fn *f, uint32_t input) {
    for (uint32_t k = 0; k < f->npool; k++)
        if (f->pool[k] == input) return true;
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->out[j] == input) return true;
    return false;
}

/* f without the inputs in[..) and the outputs out[..) that are not told (NULL: all are). */
static tn_fn *part_of(const tn_fn *f, const bool *in, const bool *out) {
    tn_i_var *map = tn_i_map_new(f), *outs = tn_i_alloc_array(f->ctx, f->nout, sizeof *outs);
    tn_i_builder b;
    uint32_t n = 0;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    if (!map || !outs) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++)
        if (!in || in[i]) map[i] = tn_i_input(&b, f->val[i].type, f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        b.region = f->eqn[i].region;
        tn_i_copy_eqn(&b, f, &f->eqn[i], map);
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++)
        if (!out || out[j]) outs[n++] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, n, outs);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, outs, f->nout * sizeof *outs);
    return g;
}

static bool replace(tn_fn **f, tn_fn *g) {
    tn_i_fn_unref(*f);
    *f = g;
    return g != NULL;
}

/* Residuals that the linear half does not read go. */
static bool drop_unread(tn_i_parts *p) {
    const uint32_t nin = p->linear->nin, nout = p->known->nout, first = nout - p->nres;
    bool *in = tn_i_alloc_array(p->ctx, nin, sizeof *in), *out = tn_i_alloc_array(p->ctx, nout, sizeof *out);
    uint32_t n = 0;
    bool ok = in && out;
    for (uint32_t i = 0; ok && i < nin; i++) in[i] = i >= p->nres || reads(p->linear, i);
    for (uint32_t j = 0; ok && j < nout; j++) out[j] = j < first || in[j - first];
    for (uint32_t k = 0; ok && k < p->nres; k++) n += in[k];
    uint32_t *kept = ok ? tn_i_alloc_array(p->ctx, n, sizeof *kept) : NULL;
    ok = kept && replace(&p->linear, part_of(p->linear, in, NULL)) && replace(&p->known, part_of(p->known, NULL, out));
    for (uint32_t k = 0, to = 0; ok && k < p->nres; k++)
        if (in[k]) kept[to++] = p->from_input[k];
    tn_i_free(p->ctx, in, nin * sizeof *in);
    tn_i_free(p->ctx, out, nout * sizeof *out);
    if (!ok) {
        tn_i_free(p->ctx, kept, n * sizeof *kept);
        return false;
    }
    tn_i_free(p->ctx, p->from_input, p->nres * sizeof *p->from_input);
    p->from_input = kept;
    p->nres = n;
    return true;
}

bool tn_i_settle_parts(tn_i_parts *p) {
    bool known, linear;
    bool ok = tn_i_any_equation(p->known, to_settle, &known) && tn_i_any_equation(p->linear, to_settle, &linear);
    if (ok && (known || linear))
        ok = replace(&p->linear, settle(p->linear, MADE)) && drop_unread(p) &&
             replace(&p->known, settle(p->known, MADE));
    ok = ok && replace(&p->known, tn_i_prune(reference(p->known))) &&
         replace(&p->linear, tn_i_prune(reference(p->linear)));
    if (!ok) tn_i_parts_free(p);
    return ok;
}
