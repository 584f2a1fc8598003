/* Slices of a padded array that loops compute with, as pads of their own: a stencil with an edge then reads its array
 * where it is, each neighbour through its box, and the padded copy is not made.
 *
 *     p = pad x by 0; y = p[0:n] + p[2:n+2]     becomes     y = (pad x by 0: one left, less one right) + (..)  */
#include "opt/fuse.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

static bool unit(const tn_i_eqn *e, int rank) {
    const tn_i_param *p = tn_i_p(e);
    for (int d = 0; d < rank && p[2].kind != TN_K_NONE; d++)
        if (p[2].u.ints[d] != 1) return false;
    return true;
}

/* The pad whose slice e is, or NULL. */
static const tn_i_eqn *sliced_pad(const tn_fn *f, const tn_i_eqn *e) {
    tn_i_box box;
    const uint32_t def = e->prim->id == TN_P_slice ? f->val[tn_i_in(f, e)[0]].def : f->neqn;
    if (def >= f->neqn || !tn_i_box_of(f, &f->eqn[def], &box)) return NULL;
    return tn_i_space_admits(f, e) && unit(e, f->val[e->out].type->rank) ? &f->eqn[def] : NULL;
}

/* Of each equation: a pad whose slices may take its place.  Who reads a pad has to be a slice, and who reads that has
 * to compute with its elements. */
static uint8_t *candidates(const tn_fn *f) {
    uint8_t *may = tn_i_alloc(f->ctx, f->neqn);
    for (uint32_t i = 0; may && i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i], *p = sliced_pad(f, e);
        if (p) may[p - f->eqn] = 1;
    }
    for (uint32_t i = 0; may && i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool computes = (e->prim->flags & TN_F_ELEMENTWISE) && tn_i_space_computes(f, e);
        for (uint32_t k = 0; k < e->nin; k++) {
            const uint32_t def = f->val[tn_i_in(f, e)[k]].def;
            if (def >= f->neqn) continue;
            const tn_i_eqn *p = sliced_pad(f, &f->eqn[def]);
            if (p && !computes) may[p - f->eqn] = 0;
            if (!sliced_pad(f, e)) may[def] = 0;
        }
    }
    for (uint32_t j = 0; may && j < f->nout; j++) {
        const uint32_t def = f->val[f->out[j]].def;
        const tn_i_eqn *p = def < f->neqn ? sliced_pad(f, &f->eqn[def]) : NULL;
        if (def < f->neqn) may[def] = 0;
        if (p) may[p - f->eqn] = 0;
    }
    return may;
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const uint8_t *may = with;
    if (may[e - f->eqn]) return true; /* its slices are made of its operand */
    const tn_i_eqn *p = sliced_pad(f, e);
    if (!p || !may[p - f->eqn]) return false;
    const tn_i_var *in = tn_i_in(f, p);
    const tn_type *t = f->val[in[0]].type;
    int64_t config[3 * TN_MAX_RANK], start[TN_MAX_RANK], limit[TN_MAX_RANK];
    bool within = true;
    for (int d = 0; d < t->rank; d++) {
        start[d] = tn_i_p(e)[0].u.ints[d] - tn_i_p(p)[0].u.ints[3 * d];
        limit[d] = tn_i_p(e)[1].u.ints[d] - tn_i_p(p)[0].u.ints[3 * d];
        config[3 * d] = -start[d];
        config[3 * d + 1] = limit[d] - t->dim[d];
        config[3 * d + 2] = 0;
        within &= start[d] >= 0 && limit[d] <= t->dim[d];
    }
    const tn_i_var x = tn_i_mapped(b, f, map, in[0]);
    map[e->out] = within ? tn_i_slice(b, x, start, limit, NULL) : tn_i_pad(b, x, tn_i_mapped(b, f, map, in[1]), config);
    return true;
}

tn_fn *tn_i_unpadded(const tn_fn *f) {
    uint8_t *may = candidates(f);
    bool some = false;
    for (uint32_t i = 0; may && i < f->neqn; i++) some |= may[i] != 0;
    tn_fn *g = !may ? NULL : some ? tn_i_rewritten(f, NULL, f->neqn, put, may) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_free(f->ctx, may, f->neqn);
    return g;
}
