/* Small arrays that are put together by steps of their own, such as a vector turned round a ring, right behind what
 * they are made of: so they are no steps between large equations, which then run in one nest. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/equations.h"
#include "opt/space.h"
#include "prims/ids.h"

#include <string.h>

static bool rises(const tn_fn *f, const tn_i_eqn *e) {
    if (e->region || e->nout != 1 || !tn_i_space_admits(f, e) ||
        tn_type_bytes(f->val[e->out].type) > TN_M_HOISTED_BYTES)
        return false;
    return e->prim->id == TN_P_slice || (e->prim->id == TN_P_concatenate && e->nin > 1);
}

/* anchor: of each equation, the one behind which it goes, plus 1; 0: it stays. */
static bool find_anchors(const tn_fn *f, uint32_t *anchor) {
    bool some = false;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        uint32_t last = 0;
        if (!rises(f, e)) continue;
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_var v = tn_i_in(f, e)[k];
            const uint32_t def = f->val[v].def;
            if (tn_i_is_literal(f, v) || def >= f->neqn) continue;
            const uint32_t behind = anchor[def] ? anchor[def] : def + 1;
            if (behind > last) last = behind;
        }
        anchor[i] = last;
        some |= last && last < i;
    }
    return some;
}

static tn_fn *moved(const tn_fn *f, const uint32_t *anchor) {
    tn_ctx *c = f->ctx;
    uint32_t *first = tn_i_alloc_array(c, (size_t)f->neqn + 1, sizeof *first);
    uint32_t *link = tn_i_alloc_array(c, f->neqn, sizeof *link), *order = tn_i_alloc_array(c, f->neqn, sizeof *order);
    uint32_t n = 0;
    tn_fn *g = NULL;
    if (first && link && order) {
        memset(first, 0xFF, ((size_t)f->neqn + 1) * sizeof *first);
        for (uint32_t i = f->neqn; i-- > 0;) {
            if (!anchor[i]) continue;
            link[i] = first[anchor[i]];
            first[anchor[i]] = i;
        }
        for (uint32_t i = 0; i < f->neqn; i++) {
            if (anchor[i]) continue;
            order[n++] = i;
            for (uint32_t k = first[i + 1]; k != UINT32_MAX; k = link[k]) order[n++] = k;
        }
        g = tn_i_reordered(f, order, n);
    }
    tn_i_free(c, first, ((size_t)f->neqn + 1) * sizeof *first);
    tn_i_free(c, link, f->neqn * sizeof *link);
    tn_i_free(c, order, f->neqn * sizeof *order);
    return g;
}

tn_fn *tn_i_hoisted(const tn_fn *f) {
    uint32_t *anchor = tn_i_alloc_array(f->ctx, f->neqn, sizeof *anchor);
    tn_fn *g = NULL;
    if (anchor) g = find_anchors(f, anchor) ? moved(f, anchor) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_free(f->ctx, anchor, f->neqn * sizeof *anchor);
    return g;
}
