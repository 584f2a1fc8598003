/* Operands that a primitive does not expect. */
#include "laws/derive.h"
#include "laws/table.h"

#include <string.h>

/* Operand i as the primitive has it; or of another rank, size or dtype. */
static tn_type operand(laws_trial *t, const tn_i_eqn *e, uint32_t i, bool other) {
    tn_type x = {.dtype = TN_F64};
    if (e->nin) x = *t->f->val[tn_i_in(t->f, e)[i % e->nin]].type;
    if (!other || tn_i_has_steps(&x)) return x;
    switch (tn_i_pick(&t->rng, 0, 2)) {
    case 0: x.dtype = (int32_t)tn_i_pick(&t->rng, 0, TN_NDTYPES - 1); break;
    case 1: x.rank = (int32_t)tn_i_pick(&t->rng, 0, x.rank); break;
    default:
        if (x.rank) x.dim[x.rank - 1] = tn_i_pick(&t->rng, 0, 4);
    }
    return x;
}

static void emit(laws_trial *t, const tn_i_eqn *e, uint32_t n, int64_t other) {
    tn_i_builder b;
    tn_i_var in[64];
    if (n > 64) return;
    tn_i_builder_init(&b, t->ctx);
    for (uint32_t i = 0; i < n; i++) {
        const tn_type x = operand(t, e, i, i == other);
        in[i] = tn_i_input(&b, &x, false);
    }
    if (!b.failed) {
        (void)tn_i_emit(&b, e->prim, tn_i_p(e), n, in);
        if (b.failed && tn_last_status(t->ctx) == TN_OK)
            laws_fail(t, "%u operands: refused without a reason", (unsigned)n);
    }
    tn_i_builder_drop(&b);
}

/* From none to two more than there are; each in turn another one. */
void laws_operands(laws_trial *t) {
    const tn_i_eqn *e = &t->f->eqn[0];
    for (uint32_t n = 0; n <= e->nin + 2 && !t->failed; n++) emit(t, e, n, -1);
    for (uint32_t i = 0; i < e->nin && !t->failed; i++) emit(t, e, e->nin, i);
}

/* No zero is put in the place of a derivative that is not there. */
void laws_underivable(laws_trial *t) {
    const tn_i_eqn *e = &t->f->eqn[0];
    for (uint32_t i = 0; i < e->nin && !t->failed; i++) {
        const int v = (int)tn_i_in(t->f, e)[i];
        if (!laws_is_fixed(e->prim, i) || v >= (int)t->f->nin || !tn_i_is_float(t->f->val[v].type->dtype)) continue;
        tn_fn *g = tn_jvp(t->f, &(tn_wrt_list){1, &v});
        if (g)
            laws_fail(t, "operand %u has no derivative, and jvp gives one", (unsigned)i);
        else if (tn_last_status(t->ctx) != TN_ERULE || !strstr(tn_error(t->ctx), e->prim->name))
            laws_fail(t, "operand %u has no derivative, and the message is: %s", (unsigned)i, tn_error(t->ctx));
        tn_fn_free(g);
    }
}
