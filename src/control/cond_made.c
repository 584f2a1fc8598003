/* Branches that are transformed together. */
#include "control/cond.h"

#include <string.h>

/* ---- one signature ------------------------------------------------------------------- */

static bool as_it_is(const tn_fn *f, const tn_i_arrangement *w) {
    bool same = f->nin == w->nin && f->nout == w->nout && f->mixed == w->mixed && w->bare >= w->nout;
    for (uint32_t i = 0; same && i < f->nin; i++)
        same = w->from[i] == i && (f->val[i].linear != 0) == (w->linear && w->linear[i]);
    for (uint32_t j = 0; same && j < f->nout; j++) same = w->out[j] == j && !(w->widen && w->widen[j]);
    return same;
}

static tn_i_var output(tn_i_builder *b, const tn_i_arrangement *w, uint32_t j, const tn_i_var *outs) {
    if (w->out[j] == TN_NOVAR) return tn_i_zeros(b, w->out_type[j]);
    tn_i_var v = outs[w->out[j]];
    const tn_i_eqn *e = j >= w->bare ? tn_i_def(b, v) : NULL;
    if (e && e->prim->flags & TN_F_OFFLOAD) v = b->pool[e->in];
    return w->widen && w->widen[j] ? tn_i_batched(b, v, w->batch) : v;
}

const tn_fn *tn_i_arrange(const tn_fn *f, const tn_i_arrangement *w) {
    if (as_it_is(f, w)) return tn_i_fn_ref(f);
    tn_ctx *c = f->ctx;
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = w->mixed;
    tn_i_var *args = tn_i_alloc_array(c, f->nin, sizeof *args), *outs = tn_i_alloc_array(c, f->nout, sizeof *outs),
             *out = tn_i_alloc_array(c, w->nout, sizeof *out);
    const tn_fn *g = NULL;
    if (args && outs && out) {
        for (uint32_t i = 0; i < w->nin; i++) (void)tn_i_input(&b, w->in[i], w->linear && w->linear[i]);
        for (uint32_t i = 0; i < f->nin; i++) args[i] = w->from[i];
        tn_i_inline(&b, f, args, outs);
        for (uint32_t j = 0; j < w->nout && !b.failed; j++) out[j] = output(&b, w, j, outs);
        g = tn_i_finish(&b, w->nout, out);
    } else
        tn_i_builder_drop(&b);
    tn_i_free(c, args, f->nin * sizeof *args);
    tn_i_free(c, outs, f->nout * sizeof *outs);
    tn_i_free(c, out, w->nout * sizeof *out);
    return g;
}

/* ---- once per walk ------------------------------------------------------------------------ */

/* Each branch has an entry of its own, whose key names all: together they hold what their keys name. */
static bool find_all(tn_i_made *m, const tn_i_rule *r, const void *kind) {
    for (uint32_t k = 0; k < m->n; k++) {
        memcpy(m->key, &k, sizeof k);
        const tn_i_memo_entry *e = tn_i_memo_find(r->memo, kind, tn_i_branch(r, k), m->key, m->nkey);
        if (!e) return false;
        m->f[k] = e->result[0];
        m->g[k] = e->result[1];
        if (k == 0) m->flags = e->flags;
    }
    return true;
}

static void forget_all(tn_i_made *m) {
    for (uint32_t k = 0; k < m->n; k++) m->f[k] = m->g[k] = NULL;
}

bool tn_i_made_begin(tn_i_made *m, const tn_i_rule *r, const void *kind, const void *extra, size_t nextra) {
    const uint32_t n = tn_i_branch_count(r);
    const size_t programs = n * sizeof(const tn_fn *);
    *m = (tn_i_made){.ctx = r->b->ctx, .n = n, .nkey = sizeof n + programs + nextra};
    m->key = tn_i_alloc(m->ctx, m->nkey);
    m->f = tn_i_alloc_array(m->ctx, n, sizeof *m->f);
    m->g = tn_i_alloc_array(m->ctx, n, sizeof *m->g);
    if (!m->key || !m->f || !m->g) return false;
    memcpy(m->key + sizeof n, r->p[TN_COND_BRANCHES].u.fns, programs);
    if (nextra) memcpy(m->key + sizeof n + programs, extra, nextra);
    m->found = find_all(m, r, kind);
    if (!m->found) forget_all(m);
    return true;
}

bool tn_i_made_keep(tn_i_made *m, const tn_i_rule *r, const void *kind, const void *flags, size_t nflags) {
    for (uint32_t k = 0; k < m->n; k++) {
        tn_fn *f = (tn_fn *)(uintptr_t)m->f[k], *g = (tn_fn *)(uintptr_t)m->g[k];
        memcpy(m->key, &k, sizeof k);
        m->f[k] = m->g[k] = NULL;
        if (!tn_i_memo_add(r->memo, kind, tn_i_branch(r, k), m->key, m->nkey, f, g, k ? NULL : flags, k ? 0 : nflags))
            return false;
    }
    m->found = find_all(m, r, kind);
    return m->found;
}

void tn_i_made_end(tn_i_made *m) {
    for (uint32_t k = 0; k < m->n && m->f && m->g && !m->found; k++) {
        tn_i_fn_unref(m->f[k]);
        tn_i_fn_unref(m->g[k]);
    }
    tn_i_free(m->ctx, m->key, m->nkey);
    tn_i_free(m->ctx, (void *)m->f, m->n * sizeof *m->f);
    tn_i_free(m->ctx, (void *)m->g, m->n * sizeof *m->g);
}
