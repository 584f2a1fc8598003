/* Which outputs of an equation depend on some of its operands. */
#ifndef TN_DEPENDS_H
#define TN_DEPENDS_H

#include "ir/memo.h"

/* out[j] = 1 when output j depends on an operand i with in[i]; at least one has it.  A nested
 * program that may compute known and unknown values (what `split` says of a primitive) is
 * followed, once per set of operands.  false after TN_ENOMEM. */
bool tn_i_depends(tn_i_memo *m, const tn_i_eqn *e, const uint8_t *in, uint8_t *out);
/* The same of the outputs of a program and its inputs. */
bool tn_i_depends_through(tn_i_memo *m, const tn_fn *f, const uint8_t *in, uint8_t *out);

#endif
