/* Parts of programs: what is left without outputs that nobody reads, and the Jacobian's columns. */
#include "laws/derive.h"
#include "laws/table.h"
#include "linearize/prune.h"

#include <math.h>

/* f with some of its outputs; *to[k] is the k-th. */
static tn_fn *with_some(laws_trial *t, const tn_fn *f, uint32_t *kept, uint32_t *n) {
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    b.raw = true;
    b.regions = f->regions;
    tn_i_var *in = laws_alloc(t->memory, f->nin + 1u, sizeof *in),
             *out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    tn_i_inline(&b, f, in, out);
    *n = 0;
    for (uint32_t j = 0; j < f->nout; j++) {
        if (tn_i_pick(&t->rng, 0, 1) && !(j + 1 == f->nout && *n == 0)) continue;
        kept[*n] = j;
        out[(*n)++] = out[j];
    }
    return tn_i_finish(&b, *n, out);
}

void laws_pruned(laws_trial *t) {
    const tn_fn *f = t->f;
    uint32_t n, *kept = laws_alloc(t->memory, f->nout + 1u, sizeof *kept);
    tn_fn *some = with_some(t, f, kept, &n);
    const tn_fn *g = some ? laws_made(t, tn_i_prune(some), "pruning") : NULL;
    const laws_array *y = g ? laws_run_new(t, f, t->x) : NULL, *z = y ? laws_run_new(t, g, t->x) : NULL;
    t->shown = g;
    for (uint32_t k = 0; z && k < n && !t->failed; k++)
        (void)laws_same_bits(t, "without outputs that nobody reads: output", &y[kept[k]], &z[k], 1);
}

/* ---- jacobians ---------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 64 };

static bool small_enough(const laws_trial *t, const tn_wrt_list *w) {
    int64_t columns = 0;
    int rank = 0;
    for (size_t k = 0; k < w->n; k++) {
        const tn_type *x = t->f->val[w->index[k]].type;
        columns += tn_i_count(x);
        rank = x->rank > rank ? x->rank : rank;
    }
    for (uint32_t j = 0; j < t->f->nout; j++)
        if (t->f->val[t->f->out[j]].type->rank + rank > TN_MAX_RANK) return false;
    return columns <= MOST_COLUMNS;
}

/* sum += J v of one output and one input. */
static void add_product(laws_array *sum, const laws_array *j, const laws_array *v) {
    const int64_t n = laws_count(v);
    for (int64_t i = 0; i < laws_count(sum); i++)
        for (int64_t k = 0; k < n; k++) laws_put(sum, i, laws_get(sum, i) + laws_get(j, i * n + k) * laws_get(v, k));
}

/* tn_jacfwd times a tangent is what tn_jvp gives. */
void laws_jacobian(laws_trial *t) {
    laws_wrt w;
    const tn_fn *f = t->f;
    laws_wrt_all(f, &w);
    if (f->effect || !small_enough(t, &w.list)) return;
    const tn_fn *g = laws_made(t, tn_jvp(f, &w.list), "jvp"),
                *h = g ? laws_made(t, tn_jacfwd(f, &w.list, 0), "jacfwd") : NULL;
    if (!h) return;
    const laws_array *v = laws_tangents(t, t->x, &w.list);
    const laws_array *forth = laws_run_new(t, g, laws_joined(t, t->x, f->nin, v, w.list.n)),
                     *j = forth ? laws_run_new(t, h, t->x) : NULL;
    if (!j) return;
    const uint32_t n = laws_float_outputs(f);
    laws_array *sum = laws_alloc(t->memory, n + 1u, sizeof *sum);
    for (uint32_t k = 0; k < n; k++) {
        sum[k] = laws_new(t->memory, &forth[f->nout + k].type);
        for (size_t i = 0; i < w.list.n; i++) add_product(&sum[k], &j[k * w.list.n + i], &v[i]);
    }
    if (!laws_all_finite(forth + f->nout, n)) {
        t->redraw = true;
        return;
    }
    t->shown = h;
    (void)laws_agree(t, "jvp and the Jacobian's product: tangent", forth + f->nout, sum, n, laws_rounding(f), 1);
}
