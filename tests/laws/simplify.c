/* The builder's identities and folding change no bit: not of a NaN, an infinity or a -0. */
#include "laws/derive.h"
#include "laws/table.h"
#include "prims/ids.h"

#include <math.h>

/* Loops with data from outside of their domain. */
static bool may_never_end(const laws_trial *t) { return (t->prim->flags & TN_F_LOOP) != 0; }

static tn_i_var special(laws_trial *t, tn_i_builder *b, const tn_type *type) {
    static const double reals[] = {0.0, -0.0, 1, -1, 2, 0.5, NAN, INFINITY};
    const int64_t last = may_never_end(t) ? 6 : 7; /* an infinite time does not come */
    tn_i_var v = tn_i_is_float(type->dtype) ? tn_i_literal_f64(b, type->dtype, reals[tn_i_pick(&t->rng, 0, last)])
                                            : tn_i_literal_i64(b, type->dtype, tn_i_pick(&t->rng, -2, 3));
    return type->rank == 0 ? v : tn_i_broadcast(b, v, type->rank, type->dim, NULL);
}

/* Operands that are special numbers, or the same value twice, or results of the same primitive. */
static const tn_fn *special_case(laws_trial *t) {
    const tn_i_case *c = t->c;
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    b.raw = true;
    tn_i_var in[TN_CASE_MAX], arg[TN_CASE_MAX];
    for (uint32_t i = 0; i < c->nin; i++) in[i] = arg[i] = tn_i_input(&b, &c->in[i], false);
    const tn_i_var once = tn_i_emit(&b, t->prim, c->p, c->nin, in);
    for (uint32_t i = 0; i < c->nin && !b.failed; i++) {
        const int64_t how = tn_i_pick(&t->rng, 0, 3);
        if (how == 0) arg[i] = special(t, &b, &c->in[i]);
        if (how == 1 && tn_type_equal(tn_i_vtype(&b, once), &c->in[i])) arg[i] = once;
        if (how == 2 && i && tn_type_equal(&c->in[i - 1], &c->in[i])) arg[i] = arg[i - 1];
    }
    const tn_i_var twice = tn_i_emit(&b, t->prim, c->p, c->nin, arg);
    tn_i_var out[3] = {once, twice, once};
    if (!b.failed && tn_i_vtype(&b, once)->dtype != TN_BOOL)
        out[2] = tn_i_op2(&b, TN_P_add, once, twice); /* zeros may vanish here */
    return laws_made(t, tn_i_finish(&b, 3, out), "a case with special operands");
}

void laws_simplify(laws_trial *t) {
    if (t->prim && t->f->eqn[0].nout == 0) return; /* an effect: kept as it is */
    const tn_fn *f = t->prim ? special_case(t) : t->f, *g = f ? laws_simplified(t, f) : NULL;
    if (!g) return;
    const bool any = t->prim && t->prim->id != TN_P_external_call && !may_never_end(t);
    const laws_array *x = any ? laws_hostile(t, f) : t->x;
    laws_array *y = laws_alloc(t->memory, f->nout + 1u, sizeof *y), *z = laws_alloc(t->memory, f->nout + 1u, sizeof *z);
    const bool ran = laws_run_as_written(t, f, x, y) && laws_run_as_written(t, g, x, z);
    t->shown = f;
    if (ran) (void)laws_same_bits(t, "as written and simplified: output", y, z, f->nout);
}
