/* What is needed, and what is made of little. */
#include "exec/fuse.h"
#include "exec/plan.h"
#include "prims/ids.h"

#include <string.h>

enum { LITTLE = 4 /* times less than the result */, MOST_DEPTH = 8 };

uint8_t *tn_i_needed(const tn_fn *f) {
    uint8_t *live = tn_i_alloc(f->ctx, f->neqn), *used = live ? tn_i_alloc(f->ctx, f->nval) : NULL;
    for (uint32_t j = 0; used && j < f->nout; j++) used[f->out[j]] = 1;
    for (uint32_t i = f->neqn; used && i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        live[i] = tn_i_eqn_effect(e);
        for (uint32_t j = 0; j < e->nout; j++) live[i] |= used[e->out + j];
        for (uint32_t k = 0; live[i] && k < e->nin; k++) used[tn_i_in(f, e)[k]] = 1;
    }
    if (!used) tn_i_free(f->ctx, live, f->neqn);
    tn_i_free(f->ctx, used, f->nval);
    return used ? live : NULL;
}

static bool view(const tn_i_eqn *e) { return (e->prim->flags & TN_F_VIEW) && e->nin == 1 && e->nout == 1; }

/* Elementwise equations whose operands, through others like it and views, have few bytes; *depth of them. */
static bool light(const tn_fn *f, const tn_i_eqn *e, double from, unsigned depth) {
    return (e->prim->flags & TN_F_ELEMENTWISE) && !(e->prim->flags & (TN_F_OFFLOAD | TN_F_COSTLY)) && e->region == 0 &&
           depth <= MOST_DEPTH && from * LITTLE <= (double)tn_type_bytes(f->val[e->out].type);
}

/* Only what nests compute reads what is light. */
static void read_by(const tn_fn *f, const uint8_t *live, uint8_t *out,
                    bool (*computes)(const tn_fn *, const tn_i_eqn *)) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t k = 0; live[i] && k < e->nin; k++) {
            const uint32_t def = f->val[tn_i_in(f, e)[k]].def;
            if (def < f->neqn && (!computes(f, e) || view(e))) out[def] = 0;
        }
    }
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->val[f->out[j]].def < f->neqn) out[f->val[f->out[j]].def] = 0;
}

bool tn_i_light(const tn_fn *f, bool (*computes)(const tn_fn *, const tn_i_eqn *), uint8_t *out) {
    double *from = tn_i_alloc_array(f->ctx, f->nval, sizeof *from);
    uint8_t *depth = tn_i_alloc(f->ctx, f->nval), *live = tn_i_needed(f);
    const bool ok = from && depth && live;
    for (uint32_t v = 0; ok && v < f->nin; v++) from[v] = (double)tn_type_bytes(f->val[v].type);
    for (uint32_t i = 0; ok && i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool one = e->nout == 1 && !tn_i_has_steps(f->val[e->out].type);
        double sum = 0;
        unsigned deep = 0;
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_var v = tn_i_in(f, e)[k];
            sum += from[v];
            if (depth[v] > deep) deep = depth[v];
        }
        out[i] = one && e->nin && !view(e) && computes(f, e) && light(f, e, sum, deep + 1);
        for (uint32_t j = 0; j < e->nout; j++) from[e->out + j] = (double)tn_type_bytes(f->val[e->out + j].type);
        if (one && (out[i] || view(e))) {
            from[e->out] = sum;
            depth[e->out] = (uint8_t)(deep + out[i]);
        }
        if (tn_i_constant_data(e) || e->prim->id == TN_P_iota) from[e->out] = 0;
    }
    if (ok) read_by(f, live, out, computes);
    tn_i_free(f->ctx, from, f->nval * sizeof *from);
    tn_i_free(f->ctx, depth, f->nval);
    tn_i_free(f->ctx, live, f->neqn);
    return ok;
}
