/* What ranks may do that decide for themselves. */
#include "control/vary.h"

/* The first equation in f, at any depth, that speaks over some of the axes; NULL: none. */
static const tn_i_eqn *speaker(const tn_fn *f, uint32_t axes) {
    for (uint32_t i = 0; i < f->neqn && f->comm & axes; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (tn_i_speaks_over(e) & axes) return e;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n; j++) {
                const tn_i_eqn *inner = speaker(g[j], axes);
                if (inner) return inner;
            }
        }
    }
    return NULL;
}

static bool level(tn_i_query *q, const tn_i_decided *d, uint32_t axes, const tn_type *t, const char *what, uint32_t i) {
    if (!(axes & ~tn_i_over(t))) return true;
    return tn_i_type_fail(q, -1, "%s varies over %s, %s %u of the %s does not (pvary)", d->decides,
                          tn_i_axes_text(q->ctx, axes), what, (unsigned)i, d->runs);
}

bool tn_i_decided_over(tn_i_query *q, const tn_i_decided *d, uint32_t axes) {
    const tn_fn *f = d->f;
    if (!axes) return true;
    const tn_i_eqn *e = speaker(f, axes);
    if (e)
        return tn_i_type_fail(q, -1, "%s varies over %s, and the %s communicates over %s (%s at %s:%u): ranks would %s",
                              d->decides, tn_i_axes_text(q->ctx, axes), d->runs,
                              tn_i_axes_text(q->ctx, axes & tn_i_speaks_over(e)), e->prim->name,
                              e->loc ? e->loc->file : "", e->loc ? (unsigned)e->loc->line : 0, d->else_);
    for (uint32_t i = d->from; i < f->nin; i++)
        if (!level(q, d, axes, f->val[i].type, "input", i)) return false;
    for (uint32_t j = 0; j < f->nout; j++)
        if (!level(q, d, axes, f->val[f->out[j]].type, "output", j)) return false;
    return true;
}

tn_fn *tn_i_outputs_over(tn_fn *f, const uint32_t *over) {
    tn_ctx *c = f->ctx;
    bool all = true;
    for (uint32_t j = 0; j < f->nout; j++) all &= !(over[j] & ~tn_i_over(f->val[f->out[j]].type));
    if (all) return f;
    tn_i_builder b;
    tn_i_var *in = tn_i_alloc_array(c, f->nin, sizeof *in), *out = tn_i_alloc_array(c, f->nout, sizeof *out);
    tn_i_builder_init(&b, c);
    b.named_after = f;
    b.regions = f->regions;
    if (!in || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) in[i] = tn_i_input(&b, f->val[i].type, i >= f->nin - f->nlin);
    if (!b.failed) tn_i_inline(&b, f, in, out);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_vary(&b, out[j], over[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    tn_i_free(c, in, f->nin * sizeof *in);
    tn_i_free(c, out, f->nout * sizeof *out);
    tn_i_fn_unref(f);
    return g;
}
