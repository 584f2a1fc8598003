/* Numbers of steps that are computed more than once, each as a policy had it: of derivatives of derivatives every one
 * has a loop's number of steps from its own run.  A number is no memory to speak of, and loops that run as often by one
 * number are seen to do so. */
#include "control/loops/loop.h"
#include "control/loops/replay.h"
#include "linearize/prune.h"
#include "prims/ids.h"

#include <string.h>

/* Whether v is the number of steps that a while had. */
static bool is_count(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    tn_i_while w;
    if (def >= f->neqn || f->eqn[def].prim->id != TN_P_while) return false;
    const tn_i_eqn *e = &f->eqn[def];
    return tn_i_while_read(tn_i_p(e), e->nin, &w) && w.count && v == e->out + w.n_out;
}

static bool several(const tn_fn *f) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t j = 0; f->eqn[i].prim->id == TN_P_while && j < f->eqn[i].nout; j++)
            n += is_count(f, f->eqn[i].out + j);
    return n > 1;
}

/* same[v]: the first value of f that is what v is, wherever it is computed.  The builder finds it, without regions. */
static bool find_same(const tn_fn *f, tn_i_var *same) {
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.regions = 3;
    tn_i_var *map = tn_i_map_new(f);
    if (!map) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, false);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        b.region = 1 + tn_i_of_linear(f, &f->eqn[i]);
        tn_i_copy_eqn(&b, f, &f->eqn[i], map);
    }
    uint32_t *first = b.failed ? NULL : tn_i_alloc_array(f->ctx, b.nval, sizeof *first);
    for (tn_i_var v = f->nval; first && v-- > 0;)
        if (map[v] != TN_NOVAR) first[map[v]] = v;
    for (tn_i_var v = 0; first && v < f->nval; v++) same[v] = map[v] != TN_NOVAR ? first[map[v]] : v;
    const bool ok = first != NULL;
    tn_i_free(f->ctx, first, b.nval * sizeof *first);
    if (map) tn_i_map_free(f, map);
    tn_i_builder_drop(&b);
    return ok;
}

static tn_fn *rebuilt(const tn_fn *f, const tn_i_var *same) {
    tn_i_builder b;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, f->val[i].linear);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        b.region = e->region;
        tn_i_copy_eqn(&b, f, e, map);
        for (tn_i_var v = e->out; v < e->out + e->nout && !b.failed; v++)
            if (same[v] != v && is_count(f, v) && is_count(f, same[v])) map[v] = map[same[v]];
    }
    b.region = 0;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_counts_once(tn_fn *f) {
    if (!f || !several(f)) return f;
    tn_i_var *same = tn_i_alloc_array(f->ctx, f->nval, sizeof *same);
    tn_fn *g = same && find_same(f, same) ? tn_i_prune(rebuilt(f, same)) : NULL;
    tn_i_free(f->ctx, same, f->nval * sizeof *same);
    tn_i_fn_unref(f);
    return g;
}
