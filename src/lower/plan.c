/* The nests of a plan as loop programs. */
#include "exec/assembled.h"
#include "lower/lower.h"
#include "pass/pass.h"
#include "vec/vec.h"

/* What runs one of them. */
struct tn_i_compiled {
    tn_i_loops *p;
    const tn_i_nest *nest;
    tn_i_l_run run;
    bool backwards;
};

static tn_i_strip *function(void *user, const char *name) {
    const tn_i_nest *n = user;
    return tn_i_vec_math(name, tn_i_isa_best(), n->accurate).strip;
}

static tn_status evaluate(const tn_i_l_run *run, char *const *base) {
    const struct tn_i_compiled *k = run->context;
    const tn_i_l_eval_options o = {
        .run = run, .function = function, .user = (void *)(uintptr_t)k->nest, .backwards = k->backwards};
    return tn_i_l_eval(k->p, base, &o);
}

static tn_i_loops *lower(tn_ctx *c, const tn_i_nest *n) {
    tn_i_loops *p = tn_i_lower_nest(c, n);
    if (c->nests == TN_NESTS_LOWERED || !p) return p;
    const tn_i_machine m = {.vector = 64};
    return tn_i_passes(p, &m, NULL);
}

static bool add(tn_ctx *c, tn_i_nest *n, tn_i_assembled *out) {
    tn_i_loops *p = lower(c, n);
    if (!p) return c->status == TN_ELIMIT;
    if ((size_t)p->bytes > n->scratch) { /* more than the plan has for it */
        tn_i_l_free(p);
        return true;
    }
    if (!tn_i_grow(c, (void **)(void *)&out->nest, &out->cnest, out->nnest + 1, sizeof *out->nest)) {
        tn_i_l_free(p);
        return false;
    }
    out->nest[out->nnest++] = (struct tn_i_compiled){.p = p, .nest = n, .backwards = c->nests == TN_NESTS_BACKWARDS};
    return true;
}

static bool add_all(tn_ctx *c, const tn_i_plan *p, tn_i_assembled *out) {
    for (size_t i = 0; i < p->nnest; i++)
        if (!add(c, p->nest[i], out)) return false;
    return true;
}

bool tn_i_assemble(tn_ctx *c, tn_i_plan *root, tn_i_assembled *out) {
    *out = (tn_i_assembled){.nnest = 0};
    if (c->nests == TN_NESTS_TILES) return true;
    bool ok = add_all(c, root, out);
    for (size_t i = 0; ok && i < root->nnested; i++) ok = add_all(c, root->nested[i], out);
    for (size_t i = 0; ok && i < out->nnest; i++) { /* they stay where they are from now on */
        struct tn_i_compiled *k = &out->nest[i];
        tn_i_nest *n = (tn_i_nest *)(uintptr_t)k->nest;
        k->run.context = k;
        n->run = &k->run;
        n->compiled = evaluate;
    }
    return ok;
}

void tn_i_assembled_drop(tn_ctx *c, tn_i_assembled *a) {
    for (size_t i = 0; i < a->nnest; i++) tn_i_l_free(a->nest[i].p);
    tn_i_free(c, a->nest, a->cnest * sizeof *a->nest);
    *a = (tn_i_assembled){.nnest = 0};
}
