/* Wrong statements about linearity. */
#include "laws/case.h"
#include "mutants/mutants.h"

#include <stdio.h>

/* Whether operand i of some case is a float: only those can be linear. */
static bool float_operand(const tn_prim *p, int i) {
    bool found = false;
    tn_ctx *c = tn_i_ctx_new(NULL, tn_i_registry);
    for (uint64_t seed = 1; seed < 20 && !found; seed++)
        for (int d = TN_F32; d <= TN_F64 && !found; d++) {
            tn_i_rng r = {seed};
            static tn_i_case k;
            if (!(p->dtypes >> d & 1) || !laws_case_draw(c, p, d, &r, &k)) continue;
            found = (uint32_t)i < k.nin && tn_i_is_float(k.in[i].dtype);
            laws_case_free(&k);
        }
    tn_ctx_free(c);
    return found;
}

/* 0, 1: a set dropped; 2..: an operand added to the first set or made one. */
bool mutant_linear(const tn_prim *p, int i, tn_prim *copy, char what[64]) {
    if (p->linearity) return false;
    if (i < 2) {
        if (!p->linear[i]) return false;
        copy->linear[0] = i == 0 ? p->linear[1] : p->linear[0];
        copy->linear[1] = 0;
        (void)snprintf(what, 64, "linear set %d dropped", i);
        return true;
    }
    const int operand = (i - 2) / 2;
    const uint32_t bit = TN_OPERAND(operand);
    if ((p->linear[0] & bit) || !float_operand(p, operand)) return false;
    if (i % 2 == 0) {
        if (!p->linear[0]) return false;
        copy->linear[0] |= bit;
        (void)snprintf(what, 64, "operand %d added to linear set 0", operand);
        return true;
    }
    if ((p->linear[1] & bit) || (p->linear[0] && p->linear[1])) return false;
    copy->linear[p->linear[0] ? 1 : 0] = bit;
    (void)snprintf(what, 64, "operand %d declared linear", operand);
    return true;
}

static bool always(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    (void)f;
    bool linear = false;
    for (uint32_t i = 0; i < e->nin; i++) linear |= in[i] == TN_LINEAR;
    for (uint32_t j = 0; j < e->nout; j++) out[j] = linear ? TN_LINEAR : TN_NONLINEAR;
    return true;
}

static bool never(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out) {
    for (uint32_t i = 0; i < e->nin; i++)
        if (in[i] == TN_LINEAR) {
            (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc, "never linear");
            return false;
        }
    for (uint32_t j = 0; j < e->nout; j++) out[j] = TN_NONLINEAR;
    return true;
}

bool mutant_linearity(const tn_prim *p, int i, tn_prim *copy, char what[64]) {
    if (!p->linearity) return false;
    copy->linearity = i ? never : always;
    (void)snprintf(what, 64, "linearity: %s", i ? "never" : "always");
    return true;
}
