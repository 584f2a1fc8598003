#include "plan/draft.h"

#include "opt/lookup.h"
#include "prims/ids.h"

#include <string.h>

static bool loads(const tn_i_draft *d, const tn_i_eqn *e) { return tn_i_space_loads(d->f, e) && !d->far[e->out]; }

static bool lazy(const tn_i_draft *d, const tn_i_eqn *e) {
    if (tn_i_space_joins(d->f, e) || loads(d, e)) return true;
    return e->prim->id == TN_P_iota || e->prim->id == TN_P_pad || (e->prim->walks && e->nin == 1)
               ? tn_i_space_admits(d->f, e)
               : false;
}

/* An operand in memory. */
static bool outside(const tn_fn *f, tn_i_var v) { return v < f->nin || tn_i_is_literal(f, v); }

static bool lazy_fits(tn_i_draft *d, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(d->f, e);
    tn_i_space_lazy(d->f, e, &d->s, d->m, &d->m[e->out]);
    const tn_i_member *m = &d->m[e->out];
    for (uint32_t k = 0; m->part == TN_PART_PAD && k < e->nin; k++)
        if (!(k && e->prim->id == TN_P_pad ? outside(d->f, in[k]) : in[k] < d->f->nin)) return false;
    return m->part != TN_PART_NONE || loads(d, e);
}

static bool computed_fits(tn_i_draft *d, const tn_i_eqn *e, bool *any) {
    if (!*any) tn_i_space_of(d->f, e, &d->s);
    *any = true;
    for (uint32_t k = 0; k < e->nin; k++) d->reads[tn_i_in(d->f, e)[k]]++;
    if (tn_i_may_look_up(e) && tn_i_in(d->f, e)[0] >= d->f->nin) return false;
    return tn_i_space_computes(d->f, e) && tn_i_space_join(d->f, e, &d->s, d->m, 0, &d->m[e->out]);
}

static bool computed(const tn_i_draft *d, tn_i_var v) {
    const uint32_t def = d->f->val[v].def;
    return def < d->f->neqn && !lazy(d, &d->f->eqn[def]);
}

/* Each output is computed, and none is twice there. */
static bool outputs_fit(const tn_i_draft *d) {
    for (uint32_t j = 0; j < d->f->nout; j++) {
        if (!computed(d, d->f->out[j])) return false;
        for (uint32_t k = 0; k < j; k++)
            if (d->f->out[k] == d->f->out[j]) return false;
    }
    return d->f->nout > 0;
}

static bool fits(tn_i_draft *d) {
    const tn_fn *f = d->f;
    bool any = false;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (lazy(d, e) ? !lazy_fits(d, e) : !computed_fits(d, e, &any)) return false;
    }
    return any && outputs_fit(d);
}

/* The readers of each input, in the order of the equations. */
static void index_readers(tn_i_draft *d) {
    const tn_fn *f = d->f;
    for (uint32_t k = 0; k < f->neqn; k++)
        for (uint32_t n = 0; n < f->eqn[k].nin; n++) {
            const tn_i_var v = tn_i_in(f, &f->eqn[k])[n];
            if (v < f->nin) d->first[v + 1]++;
        }
    for (uint32_t i = 0; i < f->nin; i++) d->first[i + 1] += d->first[i];
    for (uint32_t k = f->neqn; k-- > 0;) /* `first` runs from the ends of the inputs' parts to their beginnings */
        for (uint32_t n = f->eqn[k].nin; n-- > 0;) {
            const tn_i_var v = tn_i_in(f, &f->eqn[k])[n];
            if (v < f->nin) d->reader[--d->first[v + 1]] = k;
        }
    memmove(d->first, d->first + 1, f->nin * sizeof *d->first);
    d->first[f->nin] = (uint32_t)d->nreader;
}

bool tn_i_draft_init(const tn_fn *body, tn_i_draft *d) {
    *d = (tn_i_draft){.f = body,
                      .m = tn_i_alloc_array(body->ctx, body->nval, sizeof *d->m),
                      .reads = tn_i_alloc_array(body->ctx, body->nval, sizeof *d->reads),
                      .far = tn_i_alloc(body->ctx, body->nval),
                      .first = tn_i_alloc_array(body->ctx, (size_t)body->nin + 1, sizeof *d->first)};
    for (uint32_t k = 0; k < body->neqn; k++)
        for (uint32_t n = 0; n < body->eqn[k].nin; n++) d->nreader += tn_i_in(body, &body->eqn[k])[n] < body->nin;
    d->reader = tn_i_alloc_array(body->ctx, d->nreader, sizeof *d->reader);
    if (!d->m || !d->reads || !d->far || !d->first || !d->reader) return false;
    index_readers(d);
    tn_i_space_far(body, d->far);
    for (uint32_t v = 0; v < body->nval; v++)
        d->m[v] = (tn_i_member){.nest = TN_NOVAR, .part = tn_i_is_literal(body, v) ? TN_PART_FREE : TN_PART_NONE};
    d->fits = fits(d);
    return true;
}

void tn_i_draft_drop(tn_i_draft *d) {
    tn_i_free(d->f->ctx, d->m, d->f->nval * sizeof *d->m);
    tn_i_free(d->f->ctx, d->reads, d->f->nval * sizeof *d->reads);
    tn_i_free(d->f->ctx, d->far, d->f->nval);
    tn_i_free(d->f->ctx, d->first, ((size_t)d->f->nin + 1) * sizeof *d->first);
    tn_i_free(d->f->ctx, d->reader, d->nreader * sizeof *d->reader);
}

/* The same loops in the same order, so that both are walked alike. */
static bool alike(const tn_type *a, const int8_t *x, const tn_type *b, const int8_t *y) {
    int i = 0, j = 0;
    for (;;) {
        while (i < a->rank && a->dim[i] == 1) i++;
        while (j < b->rank && b->dim[j] == 1) j++;
        if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
        if (x[i++] != y[j++]) return false;
    }
}

/* The loops of operand v of e, when it is an array in memory. */
static bool loops_of(const tn_i_draft *d, const tn_i_eqn *e, tn_i_var v, int8_t *loop) {
    if (e->prim->fold) return tn_i_space_whole(&d->s, d->f->val[v].type, loop);
    memcpy(loop, d->m[e->out].loop, TN_MAX_RANK);
    return d->f->val[v].type->rank == d->f->val[e->out].type->rank;
}

/* e reads element v where output `out` has been, or is to be, stored. */
static bool reads_there(const tn_i_draft *d, const tn_i_eqn *e, tn_i_var v, tn_i_var out) {
    const tn_fn *f = d->f;
    int8_t loop[TN_MAX_RANK];
    if (tn_i_may_look_up(e) && tn_i_in(f, e)[0] == v) return false;
    if (lazy(d, e) || d->m[e->out].phase > d->m[out].phase || !loops_of(d, e, v, loop)) return false;
    return alike(f->val[v].type, loop, f->val[out].type, d->m[out].loop);
}

bool tn_i_draft_replaces(const tn_i_draft *d, uint32_t j, uint32_t i) {
    const tn_fn *f = d->f;
    const tn_i_var out = f->out[j];
    if (f->eqn[f->val[out].def].prim->id == TN_P_concatenate) return false;
    for (uint32_t r = d->first[i]; r < d->first[i + 1]; r++) {
        const tn_i_eqn *e = &f->eqn[d->reader[r]];
        if (!loads(d, e)) {
            if (!reads_there(d, e, i, out)) return false;
            continue;
        }
        for (uint32_t k = d->reader[r] + 1; k < f->neqn; k++)
            for (uint32_t n = 0; n < f->eqn[k].nin; n++)
                if (tn_i_in(f, &f->eqn[k])[n] == e->out && !reads_there(d, &f->eqn[k], e->out, out)) return false;
    }
    return true;
}
