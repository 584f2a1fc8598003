/* One function a law; table.c says what each states. */
#ifndef LAWS_TABLE_H
#define LAWS_TABLE_H

#include "laws/laws.h"

void laws_jvp(laws_trial *t);
void laws_vjp(laws_trial *t);
void laws_linearize(laws_trial *t);
void laws_twice(laws_trial *t);
void laws_second(laws_trial *t);
void laws_third(laws_trial *t);
void laws_fourth(laws_trial *t);
void laws_policies(laws_trial *t);
void laws_schedules(laws_trial *t);
void laws_recompute(laws_trial *t);
void laws_regions(laws_trial *t);
void laws_text(laws_trial *t);
void laws_vmap(laws_trial *t);
void laws_vmap_twice(laws_trial *t);
void laws_vmap_grad(laws_trial *t);
void laws_compiled(laws_trial *t);
void laws_native(laws_trial *t);
void laws_work(laws_trial *t);
void laws_work_everywhere(laws_trial *t); /* the same of t->f, under every policy */
void laws_examples(laws_trial *t);
void laws_inactive(laws_trial *t);
void laws_reads(laws_trial *t);
void laws_layouts(laws_trial *t);
void laws_hostile_data(laws_trial *t);
void laws_simplify(laws_trial *t);
void laws_held(laws_trial *t);
void laws_half_derivatives(laws_trial *t);
void laws_operands(laws_trial *t);
void laws_underivable(laws_trial *t);
void laws_linear(laws_trial *t);
void laws_pruned(laws_trial *t);
void laws_jacobian(laws_trial *t);
void laws_declared(laws_trial *t);
void laws_lengths(laws_trial *t);
void laws_goldens(laws_trial *t);
void laws_effects(laws_trial *t);
void laws_outside(laws_trial *t);
void laws_spoken(laws_trial *t);
void laws_sparsity(laws_trial *t);
void laws_sparsity_hessian(laws_trial *t);
void laws_sparse(laws_trial *t);
void laws_sparse_hessian(laws_trial *t);

/* Data for f's inputs that should better not occur: NaN, infinities, extremes, wild indices. */
laws_array *laws_hostile(laws_trial *t, const tn_fn *f);

#endif
