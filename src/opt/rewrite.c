/* A program again, equation by equation. */
#include "opt/fuse.h"

tn_fn *tn_i_rewritten(const tn_fn *f, const uint32_t *order, uint32_t n, tn_i_put *put, const void *with) {
    tn_i_builder b;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    tn_i_builder_init(&b, f->ctx);
    b.raw = true;
    b.named_after = f;
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) map[i] = tn_i_input(&b, f->val[i].type, false);
    for (uint32_t k = 0; k < n && !b.failed; k++) {
        const tn_i_eqn *e = &f->eqn[order ? order[k] : k];
        b.region = e->region;
        b.loc = e->loc;
        if (!put || !put(&b, f, e, map, with)) tn_i_copy_eqn(&b, f, e, map);
    }
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) out[j] = tn_i_mapped(&b, f, map, f->out[j]);
    tn_fn *g = NULL;
    if (b.failed)
        tn_i_builder_drop(&b);
    else
        g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_reordered(const tn_fn *f, const uint32_t *order, uint32_t n) {
    return tn_i_rewritten(f, order, n, NULL, NULL);
}
