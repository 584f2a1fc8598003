/* Registration-time check of a linear_call: <f u, w> = <u, ft w> on random
 * vectors (and random residuals).  The check itself runs both programs, so it
 * stands above the executor: src/api/adjoint.c. */
#ifndef TN_LINEAR_CALL_H
#define TN_LINEAR_CALL_H

#include "ir/ir.h"

bool tn_i_linear_call_check(const tn_fn *f, const tn_fn *ft);

#endif
