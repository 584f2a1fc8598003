/* What is needed, and producer inlining: what is made of little is made where it is read. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/equations.h"
#include "prims/ids.h"
#include "prims/rules.h"

#include <string.h>

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
static bool producer(const tn_fn *f, const tn_i_eqn *e, double from, unsigned depth) {
    return (e->prim->flags & TN_F_ELEMENTWISE) && !(e->prim->flags & (TN_F_OFFLOAD | TN_F_COSTLY)) && e->region == 0 &&
           depth <= TN_M_PRODUCER_DEEP && from * TN_M_PRODUCER_SMALLER <= (double)tn_type_bytes(f->val[e->out].type);
}

/* The operand that e adds to, if that is an input or such a sum of what is made of little: it is there to the end, and
 * can be read once for all that is added.  TN_NOVAR: there is none. */
static tn_i_var added_to(const tn_fn *f, const tn_i_eqn *e, const uint8_t *sums) {
    const tn_i_var *in = tn_i_in(f, e);
    const bool fma = e->prim->id == TN_P_fma && tn_i_p(e)[0].u.i != TN_FMA_SUB;
    if (e->prim->id != TN_P_add && !fma) return TN_NOVAR;
    for (uint32_t k = fma ? 2 : 0; k < e->nin; k++) {
        uint32_t times = 0;
        for (uint32_t j = 0; j < e->nin; j++) times += in[j] == in[k];
        if (times == 1 && sums[in[k]] && f->val[in[k]].type == f->val[e->out].type) return in[k];
    }
    return TN_NOVAR;
}

/* Producer inlining: only what nests compute reads them. */
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

bool tn_i_producers(const tn_fn *f, bool (*computes)(const tn_fn *, const tn_i_eqn *), uint8_t *out) {
    double *from = tn_i_alloc_array(f->ctx, f->nval, sizeof *from);
    uint8_t *depth = tn_i_alloc(f->ctx, f->nval), *sums = tn_i_alloc(f->ctx, f->nval), *live = tn_i_needed(f);
    const bool ok = from && depth && sums && live;
    for (uint32_t v = 0; ok && v < f->nin; v++) from[v] = (double)tn_type_bytes(f->val[v].type);
    if (ok) memset(sums, 1, f->nin);
    for (uint32_t i = 0; ok && i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool one = e->nout == 1 && !tn_i_has_steps(f->val[e->out].type);
        const tn_i_var base = one ? added_to(f, e, sums) : TN_NOVAR;
        double sum = 0;
        unsigned deep = 0;
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_var v = tn_i_in(f, e)[k];
            if (v != base || v >= f->nin) sum += from[v];
            if (depth[v] > deep) deep = depth[v];
        }
        out[i] = one && e->nin && !view(e) && computes(f, e) && producer(f, e, sum, deep + 1);
        for (uint32_t j = 0; j < e->nout; j++) from[e->out + j] = (double)tn_type_bytes(f->val[e->out + j].type);
        if (one && (out[i] || view(e))) {
            from[e->out] = sum;
            depth[e->out] = (uint8_t)(deep + out[i]);
            sums[e->out] = out[i] && base != TN_NOVAR;
        }
        if (tn_i_constant_data(e) || e->prim->id == TN_P_iota) from[e->out] = 0;
    }
    if (ok) read_by(f, live, out, computes);
    tn_i_free(f->ctx, from, f->nval * sizeof *from);
    tn_i_free(f->ctx, depth, f->nval);
    tn_i_free(f->ctx, sums, f->nval);
    tn_i_free(f->ctx, live, f->neqn);
    return ok;
}
