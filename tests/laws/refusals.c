/* What generated programs may ask for although the library says that it does not do it (docs/ir.md, docs/loops.md). */
#include "laws/laws.h"
#include "prims/ids.h"

#include <string.h>

static bool has_effect(const tn_fn *f) { return f->effect; }

static bool runs(const tn_fn *f, int a, int b) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->id == a || e->prim->id == b) return true;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n; j++)
                if (runs(g[j], a, b)) return true;
        }
    }
    return false;
}

static bool has_loop(const tn_fn *f) { return runs(f, TN_P_while, TN_P_scan); }
static bool has_orders(const tn_fn *f) {
    return runs(f, TN_P_igamma, TN_P_igammac) || runs(f, TN_P_igamma_grad_a, TN_P_random_gamma_grad);
}
static bool calls_out(const tn_fn *f) { return runs(f, TN_P_external_call, TN_P_external_call); }

static const struct {
    const char *says;
    bool (*may)(const tn_fn *f); /* only such a program is refused for it */
} refusals[] = {
    {"has an effect, and batch elements stop on their own", has_effect},
    {"of its region would run this effect again", has_effect},
    {"whose index is batched: all branches would run", has_effect},
    {"carries an array whose length a loop finds when it runs", has_loop},
    {"is needed: register it as external function", calls_out}, /* derivatives of a callback's, unless there are more */
    {"derivatives in a are there to order 5", has_orders},
};

bool laws_refused(laws_trial *t) {
    const char *error = tn_error(t->ctx);
    for (size_t k = 0; !t->prim && k < sizeof refusals / sizeof *refusals; k++)
        if (strstr(error, refusals[k].says) && refusals[k].may(t->f)) t->refused = true;
    return t->refused;
}
