/* linearize = jvp, then partial evaluation by known and linear. */
#include "linearize/linearize.h"

#include "jvp/jvp.h"
#include "linearize/prune.h"

#include <string.h>

tn_fn *tn_i_jvp_for_split(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt) {
    tn_fn *g = tn_i_contracted_jvp(f, nwrt, wrt), *h = g ? tn_i_contracted(g) : NULL; /* what rules add, too */
    tn_i_fn_unref(g);
    return tn_i_prune(h); /* a dead tangent needs no residuals */
}

bool tn_i_split_jvp(const tn_fn *f, const tn_fn *g, const tn_i_plan_by *how, tn_i_parts *out) {
    *out = (tn_i_parts){0};
    tn_ctx *c = f->ctx;
    bool *unknown = tn_i_alloc_array(c, g->nin, sizeof *unknown),
         *linear = tn_i_alloc_array(c, g->nout, sizeof *linear);
    bool ok = unknown && linear;
    if (ok) {
        for (uint32_t i = f->nin; i < g->nin; i++) unknown[i] = true;
        for (uint32_t j = f->nout; j < g->nout; j++) linear[j] = true;
        ok = tn_i_partial_eval(g, unknown, linear, true, how, NULL, out);
    }
    tn_i_free(c, unknown, g->nin * sizeof *unknown);
    tn_i_free(c, linear, g->nout * sizeof *linear);
    return ok;
}

bool tn_i_linearize(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, const tn_i_plan_by *how, tn_i_parts *out) {
    *out = (tn_i_parts){0};
    tn_fn *g = tn_i_jvp_for_split(f, nwrt, wrt);
    const bool ok = g && tn_i_split_jvp(f, g, how, out);
    tn_i_fn_unref(g);
    return ok;
}
