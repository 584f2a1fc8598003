/* Which residuals are in memory, all at once, whatever runs together.
 *
 * A product is a step of its own, which reads its operands from memory, and steps of their own keep their order; what
 * is fused moves up, never down.  So what the function makes and a product of the derivative reads is there when the
 * first such product runs, be it computed in a nest or not.  Other residuals may never leave their nest. */
#include "plan/resident.h"

#include "opt/space.h"
#include "prims/ids.h"

#include <string.h>

typedef struct facts {
    const tn_fn *f;
    uint8_t *own;     /* of each value: no constant or iota went into it, and nothing but what is made in memory */
    uint8_t *varies;  /* it depends on an input */
    uint8_t *outside; /* it is in the caller's memory */
} facts;

static bool is_product(const tn_fn *f, const tn_i_eqn *e) {
    return e->prim->id == TN_P_dot_general && tn_i_space_admits(f, e);
}

static bool is_view(const tn_i_eqn *e) { return (e->prim->flags & TN_F_VIEW) && e->nin == 1; }

/* Its result is in memory once something but its nest reads it, and nothing is put in its place. */
static bool makes(const tn_fn *f, const tn_i_eqn *e) { return tn_i_space_computes(f, e) || is_product(f, e); }

static void find_facts(facts *x) {
    const tn_fn *f = x->f;
    for (uint32_t v = 0; v < f->nval; v++) {
        x->varies[v] = v < f->nin;
        x->own[v] = v < f->nin || tn_i_is_literal(f, v);
    }
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        bool own = makes(f, e) || is_view(e), varies = false;
        for (uint32_t k = 0; k < e->nin; k++) {
            own &= x->own[tn_i_in(f, e)[k]] != 0;
            varies |= x->varies[tn_i_in(f, e)[k]] != 0;
        }
        for (uint32_t v = e->out; v < e->out + e->nout; v++) {
            x->own[v] = own;
            x->varies[v] = varies;
        }
    }
    for (uint32_t j = 0; j < f->nout; j++)
        for (tn_i_var v = f->out[j];; v = tn_i_in(f, &f->eqn[f->val[v].def])[0]) {
            x->outside[v] = 1;
            if (f->val[v].def >= f->neqn || !is_view(&f->eqn[f->val[v].def])) break;
        }
}

static bool stays(const facts *x, tn_i_var v) {
    const uint32_t def = x->f->val[v].def;
    return def < x->f->neqn && makes(x->f, &x->f->eqn[def]) && x->own[v] && x->varies[v] && !x->outside[v];
}

bool tn_i_residents(const tn_fn *f, const uint8_t *known, uint8_t *resident) {
    memset(resident, 0, f->nval);
    if (f->depth > 1 || f->regions > 1) return true;
    uint8_t *bytes = tn_i_alloc_array(f->ctx, f->nval, 3);
    if (!bytes) return false;
    facts x = {.f = f, .own = bytes, .varies = bytes + f->nval, .outside = bytes + 2 * (size_t)f->nval};
    find_facts(&x);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!is_product(f, e) || known[e->out]) continue;
        for (uint32_t k = 0; k < e->nin; k++)
            if (known[tn_i_in(f, e)[k]] && stays(&x, tn_i_in(f, e)[k])) resident[tn_i_in(f, e)[k]] = 1;
    }
    tn_i_free(f->ctx, bytes, 3 * (size_t)f->nval);
    return true;
}
