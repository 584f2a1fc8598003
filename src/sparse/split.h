/* Constant coefficients: a linear program as the sum of one without residuals and the rest. */
#ifndef TN_SPARSE_SPLIT_H
#define TN_SPARSE_SPLIT_H

#include "ir/ir.h"

typedef struct tn_i_halves {
    tn_fn *constant, *varying; /* of f's signature; NULL both: nothing is constant */
} tn_i_halves;

/* requires: f, a linear program; ensures: f(r, x) = constant(x) + varying(r, x), where varying has no equation that f
 * does not have, and fewer entries if some are constant.  false after an error. */
bool tn_i_split_linear(const tn_fn *f, tn_i_halves *out);
void tn_i_halves_free(tn_i_halves *h);

#endif
