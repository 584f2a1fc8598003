/* What the laws about derivatives share. */
#ifndef LAWS_DERIVE_H
#define LAWS_DERIVE_H

#include "laws/laws.h"

/* Whether an operand is one of those floats that have no derivative (asked for, it is refused): the order of polygamma,
 * s of zeta, a and b of regularized_incomplete_beta, what schur decomposes. */
bool laws_is_fixed(const tn_prim *prim, uint32_t i);

/* A choice of float inputs, in any order. */
typedef struct laws_wrt {
    tn_wrt_list list;
    int index[64];
} laws_wrt;
/* All float inputs in order, or at random some of them in any order. */
const tn_wrt_list *laws_wrt_all(const tn_fn *f, laws_wrt *w);
const tn_wrt_list *laws_wrt_some(laws_trial *t, const tn_fn *f, laws_wrt *w);

/* Random arrays of the types of the inputs w (in its order), or of f's float outputs. */
laws_array *laws_tangents(laws_trial *t, const laws_array *x, const tn_wrt_list *w);
laws_array *laws_cotangents(laws_trial *t, const tn_fn *f, uint32_t *n);
/* a (na arrays) followed by b (nb arrays). */
laws_array *laws_joined(laws_trial *t, const laws_array *a, size_t na, const laws_array *b, size_t nb);
laws_array *laws_widened_all(laws_trial *t, const laws_array *a, size_t n);
uint32_t laws_float_outputs(const tn_fn *f);
bool laws_all_finite(const laws_array *a, size_t n);

/* f built again, folded, merged and simplified as what is traced is.  NULL after laws_fail. */
const tn_fn *laws_simplified(laws_trial *t, const tn_fn *f);
/* A random scalar function of f's outputs: the sum of w y + y y / 4.  NULL after laws_fail. */
const tn_fn *laws_scalar(laws_trial *t, const tn_fn *f);
/* The sum of (y y) (w + y). */
const tn_fn *laws_cubes(laws_trial *t, const tn_fn *f);
/* (x.., v..) -> the sum of <f_j(x), v_j> over the outputs of f. */
const tn_fn *laws_paired(laws_trial *t, const tn_fn *f);
/* Fails unless a[j] and b[j] agree within tolerance * max(|a|, |b|, floor). */
bool laws_agree(laws_trial *t, const char *what, const laws_array *a, const laws_array *b, size_t n, double tolerance,
                double floor);
/* The same of results of f at x, or within what errors of f's own equations amount to: where terms cancel, rounding
 * goes by their size, and no size of the result tells it.  `ulps` says by how much an equation's results may differ. */
typedef double laws_errors(const tn_fn *f, const tn_i_eqn *e);
bool laws_agree_but_for(laws_trial *t, const char *what, const tn_fn *f, const laws_array *x, const laws_array *a,
                        const laws_array *b, double tolerance, laws_errors *ulps);
/* What the errors amount to in each output of f at x; NULL after laws_fail. */
laws_array *laws_amounts(laws_trial *t, const tn_fn *f, const laws_array *x, laws_errors *ulps);
/* The same where nothing is contracted. */
laws_array *laws_amounts_as_written(laws_trial *t, const tn_fn *f, const laws_array *x, laws_errors *ulps);
/* 1 ulp where an equation computes floats: its own rounding. */
laws_errors laws_rounded;
bool laws_same_bits(laws_trial *t, const char *what, const laws_array *a, const laws_array *b, size_t n);
/* What rounding alone may do in a program of f's dtypes. */
double laws_rounding(const tn_fn *f);

#endif
