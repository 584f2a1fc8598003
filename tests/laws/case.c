#include "laws/case.h"

#include "prims/sample.h"

#include <string.h>

static void elementwise(tn_i_rng *r, const tn_prim *prim, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    for (int i = 1; i < prim->nin; i++) tn_i_case_alike(c, (uint32_t)i, 0, dtype);
}

/* The descriptor's domains hold where the sampler set none. */
static void default_domains(const tn_prim *prim, tn_i_case *c) {
    static const tn_i_domain unset;
    for (uint32_t i = 0; i < c->nin && i < 3; i++)
        if (memcmp(&c->domain[i], &unset, sizeof unset) == 0) c->domain[i] = prim->domain[i];
}

bool laws_case_draw(tn_ctx *ctx, const tn_prim *prim, int dtype, tn_i_rng *r, tn_i_case *c) {
    memset(c, 0, sizeof *c);
    c->ctx = ctx;
    if (!prim->sample) {
        if (prim->nin < 1 || prim->nin > 3 || !(prim->flags & TN_F_ELEMENTWISE)) {
            (void)tn_i_fail(ctx, TN_ERULE, NULL, "%s has no sampler and is not elementwise", prim->name);
            return false;
        }
        elementwise(r, prim, dtype, c);
    } else if (!prim->sample(r, dtype, c)) {
        laws_case_free(c);
        return false;
    }
    default_domains(prim, c);
    return true;
}

void laws_case_free(tn_i_case *c) {
    for (size_t k = 0; k < sizeof c->fns / sizeof *c->fns; k++) tn_i_fn_unref(c->fns[k]);
    for (size_t k = 0; k < sizeof c->blobs / sizeof *c->blobs; k++)
        if (c->blobs[k]) tn_i_blob_unref(c->ctx, c->blobs[k]);
    memset(c->fns, 0, sizeof c->fns);
    memset(c->blobs, 0, sizeof c->blobs);
}

/* The outputs of e, the equation just emitted; of what has none, its operands.  `linear` alone: only those that depend
 * on a linear operand. */
static uint32_t case_outputs(tn_i_builder *b, const tn_i_case *c, const tn_i_var *in, bool linear, tn_i_var *out) {
    const tn_i_eqn *e = &b->eqn[b->neqn - 1];
    uint32_t nout = 0;
    if (e->nout > 64) tn_i_builder_fail(b, TN_ELIMIT, "a case has at most 64 outputs");
    for (uint32_t j = 0; j < e->nout && j < 64; j++)
        if (!linear || b->val[e->out + j].linear) out[nout++] = e->out + j;
    for (uint32_t i = 0; i < c->nin && e->nout == 0; i++)
        if (!linear || b->val[in[i]].linear) out[nout++] = in[i];
    return nout;
}

/* Linear inputs come last in a program, wherever their operands stand. */
static const tn_fn *program(const tn_prim *prim, const tn_i_case *c, uint32_t linear, bool some) {
    tn_i_builder b;
    tn_i_builder_init(&b, c->ctx);
    b.raw = true;
    tn_i_var in[TN_CASE_MAX], out[64];
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < c->nin; i++)
            if ((linear >> i & 1) == (unsigned)pass) in[i] = tn_i_input(&b, &c->in[i], pass == 1);
    b.loc = tn_i_loc_of(c->ctx, "case.c", 1, 0, "");
    const tn_i_var first = tn_i_emit(&b, prim, c->p, c->nin, in);
    const uint32_t nout = first != TN_NOVAR ? case_outputs(&b, c, in, some, out) : 0;
    if (nout == 0) tn_i_builder_fail(&b, TN_EINVAL, "a case needs an output or an operand");
    return tn_i_finish(&b, nout, out);
}

const tn_fn *laws_case_program(const tn_prim *prim, const tn_i_case *c, uint32_t linear) {
    return program(prim, c, linear, false);
}

const tn_fn *laws_case_linear(const tn_prim *prim, const tn_i_case *c, uint32_t linear) {
    return program(prim, c, linear, true);
}

/* Samples of operand i closer than `apart` to one another or to earlier operands are drawn again. */
static bool tied(const tn_i_case *c, const laws_array *x, uint32_t i, int64_t k) {
    const double apart = c->domain[i].apart, v = laws_get(&x[i], k);
    for (uint32_t j = 0; j <= i; j++)
        for (int64_t m = 0; m < (j == i ? k : laws_count(&x[j])); m++)
            if (v - laws_get(&x[j], m) < apart && laws_get(&x[j], m) - v < apart) return true;
    return false;
}

/* Elementwise operands need to be apart only at the same place; one value serves both uses. */
static void separate(const tn_prim *prim, const tn_i_case *c, tn_i_rng *r, laws_array *x, uint32_t i) {
    const tn_i_domain *d = &c->domain[i];
    if (!(d->at & TN_AT_TIES) || !laws_is_float(&x[i])) return;
    const bool same_place = (prim->flags & TN_F_ELEMENTWISE) != 0;
    for (int64_t k = 0; k < laws_count(&x[i]); k++)
        for (int tries = 0; tries < 1000; tries++) {
            bool close = false;
            for (uint32_t j = 0; same_place && j < i; j++) {
                const int64_t at = laws_count(&x[j]) == 1 ? 0 : k;
                const double gap = laws_get(&x[i], k) - laws_get(&x[j], at);
                close |= laws_is_float(&x[j]) && gap < d->apart && -gap < d->apart;
            }
            if (!same_place) close = tied(c, x, i, k);
            if (!close) break;
            laws_put(&x[i], k, tn_i_sample_number(r, d, x[i].type.dtype));
        }
}

void laws_case_fill(const tn_i_case *c, uint32_t i, tn_i_rng *r, void *data) {
    if (c->fill)
        c->fill(r, c, i, data);
    else
        tn_i_fill_domain(r, c, i, data);
}

laws_array *laws_case_data(laws_memory *m, const tn_prim *prim, const tn_i_case *c, tn_i_rng *r) {
    laws_array *x = laws_alloc(m, c->nin + 1u, sizeof *x);
    for (uint32_t i = 0; i < c->nin; i++) {
        x[i] = laws_new(m, &c->in[i]);
        laws_case_fill(c, i, r, x[i].data);
        if (!c->fill) separate(prim, c, r, x, i);
    }
    return x;
}
