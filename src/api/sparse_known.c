/* What a linear program reads that depends on no input, such as indices and masks: computed once, as constants. */
#include "api/probe.h"
#include "api/sparse.h"
#include "prims/prim.h"

#include <string.h>

enum { MOST_BYTES = 64 << 20 };

typedef struct folding {
    const tn_i_parts *p;
    const void *const *given; /* values of f's inputs, or NULL */
    bool *varies;             /* of the known half's values: they depend on an input that is not given */
    uint8_t *is;              /* of the linear program's: one of these */
    uint32_t *value;          /* those that are computed here */
    uint32_t nvalue;
} folding;

enum { OTHER, KNOWN, TAKEN };

static bool given(const folding *d, uint32_t i) { return d->given && d->given[i]; }

static void follow_inputs(folding *d) {
    const tn_fn *f = d->p->known;
    for (uint32_t i = 0; i < f->nin; i++) d->varies[i] = !given(d, i);
    for (uint32_t k = 0; k < f->neqn; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        bool varies = e->prim->effect && e->prim->effect(tn_i_p(e));
        for (uint32_t i = 0; i < e->nin; i++) varies |= d->varies[tn_i_in(f, e)[i]];
        for (uint32_t j = 0; j < e->nout; j++) d->varies[e->out + j] = varies;
    }
}

static uint32_t residual_of(const folding *d, uint32_t k) {
    return d->p->known->out[d->p->known->nout - d->p->nres + k];
}

/* Worth a constant: it is computed, not only written or repeated. */
static bool computed(const tn_fn *f, uint32_t v) {
    const size_t bytes = tn_type_bytes(f->val[v].type);
    if (bytes > MOST_BYTES || tn_i_has_steps(f->val[v].type)) return false;
    if (f->val[v].def == TN_DEF_INPUT) return true;
    if (f->val[v].def == TN_DEF_LITERAL) return false;
    const tn_i_eqn *e = &f->eqn[f->val[v].def];
    for (uint32_t i = 0; i < e->nin; i++)
        if (!tn_i_is_literal(f, tn_i_in(f, e)[i])) return true;
    return false;
}

static void take(folding *d, uint32_t v) {
    if (d->is[v] != KNOWN || !computed(d->p->linear, v)) return;
    d->is[v] = TAKEN;
    d->value[d->nvalue++] = v;
}

/* Known values that equations read which are not known. */
static void find_known(folding *d) {
    const tn_fn *f = d->p->linear;
    for (uint32_t v = 0; v < f->nval; v++) d->is[v] = f->val[v].def == TN_DEF_LITERAL ? KNOWN : OTHER;
    for (uint32_t k = 0; k < d->p->nres; k++)
        if (!d->varies[residual_of(d, k)]) d->is[k] = KNOWN;
    for (uint32_t k = 0; k < f->neqn; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        bool known = true;
        for (uint32_t i = 0; i < e->nin; i++) known &= d->is[tn_i_in(f, e)[i]] != OTHER;
        for (uint32_t j = 0; j < e->nout; j++) d->is[e->out + j] = known ? KNOWN : OTHER;
    }
    for (uint32_t k = 0; k < f->neqn; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        for (uint32_t i = 0; i < e->nin && e->nout && d->is[e->out] == OTHER; i++) take(d, tn_i_in(f, e)[i]);
    }
}

/* f's inputs -> those values. */
static tn_fn *to_run(const folding *d, tn_i_var *x, tn_i_var *y) {
    const tn_fn *known = d->p->known, *linear = d->p->linear;
    tn_i_builder b;
    tn_i_builder_init(&b, known->ctx);
    for (uint32_t i = 0; i < known->nin; i++) x[i] = tn_i_input(&b, known->val[i].type, false);
    if (!b.failed) tn_i_inline(&b, known, x, y);
    tn_i_var *map = tn_i_map_new(linear);
    if (!map) b.failed = true;
    for (uint32_t k = 0; k < d->p->nres && !b.failed; k++) map[k] = y[known->nout - d->p->nres + k];
    for (uint32_t k = 0; k < linear->neqn && !b.failed; k++) {
        const tn_i_eqn *e = &linear->eqn[k];
        if (e->nout && d->is[e->out] != OTHER) tn_i_copy_eqn(&b, linear, e, map);
    }
    for (uint32_t k = 0; k < d->nvalue && !b.failed; k++) y[k] = map[d->value[k]];
    if (map) tn_i_map_free(linear, map);
    tn_fn *f = tn_i_finish(&b, d->nvalue, y), *here = f ? tn_i_in_memory(f) : NULL;
    tn_i_fn_unref(f);
    return here;
}

/* The linear program with what came out. */
static tn_fn *with_values(const folding *d, const tn_i_probe *p) {
    const tn_fn *f = d->p->linear;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, i >= f->nin - f->nlin);
    for (uint32_t k = 0; k < d->nvalue && !b.failed; k++)
        map[d->value[k]] = tn_i_constant(&b, f->val[d->value[k]].type, p->out[k]);
    for (uint32_t k = 0; k < f->neqn && !b.failed; k++) {
        const tn_i_eqn *e = &f->eqn[k];
        b.region = e->region;
        if (e->nout && d->is[e->out] == TAKEN && e->nout == 1) continue;
        tn_i_copy_eqn(&b, f, e, map);
        for (uint32_t j = 0; j < d->nvalue && e->nout > 1 && !b.failed; j++) /* one of several results */
            if (d->value[j] >= e->out && d->value[j] < e->out + e->nout)
                map[d->value[j]] = tn_i_constant(&b, f->val[d->value[j]].type, p->out[j]);
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = out ? tn_i_finish(&b, f->nout, out) : (tn_i_builder_drop(&b), NULL);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static tn_fn *folded(folding *d, tn_i_var *x, tn_i_var *y) {
    follow_inputs(d);
    find_known(d);
    if (!d->nvalue) return (tn_fn *)(uintptr_t)tn_i_fn_ref(d->p->linear);
    tn_i_probe p = {0};
    tn_fn *e = to_run(d, x, y), *g = NULL;
    if (e && tn_i_probe_init(&p, e, NULL)) {
        for (uint32_t i = 0; i < d->p->known->nin; i++)
            if (given(d, i)) memcpy(p.in[i], d->given[i], tn_type_bytes(e->val[i].type));
        if (tn_i_probe_run(&p) == TN_OK) g = with_values(d, &p);
    }
    tn_i_probe_free(&p);
    tn_i_fn_unref(e);
    return g;
}

tn_fn *tn_i_known_folded(const tn_i_parts *p, const void *const *known) {
    tn_ctx *c = p->ctx;
    folding d = {.p = p, .given = known};
    const size_t n = (size_t)p->known->nout + p->linear->nval;
    d.varies = tn_i_alloc_array(c, p->known->nval, sizeof *d.varies);
    d.is = tn_i_alloc(c, p->linear->nval);
    d.value = tn_i_alloc_array(c, p->linear->nval, sizeof *d.value);
    tn_i_var *x = tn_i_alloc_array(c, p->known->nin, sizeof *x), *y = tn_i_alloc_array(c, n, sizeof *y);
    tn_fn *g = d.varies && d.is && d.value && x && y ? folded(&d, x, y) : NULL;
    tn_i_free(c, d.varies, p->known->nval * sizeof *d.varies);
    tn_i_free(c, d.is, p->linear->nval);
    tn_i_free(c, d.value, p->linear->nval * sizeof *d.value);
    tn_i_free(c, x, p->known->nin * sizeof *x);
    tn_i_free(c, y, n * sizeof *y);
    return g;
}
