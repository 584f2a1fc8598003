/* Which outputs of an equation depend on some of its operands. */
#ifndef TN_DEPENDS_H
#define TN_DEPENDS_H

#include "ir/memo.h"

/* Flags of values, and what passes a flag on: by TN_OF_ENTRIES all that computes with them, by TN_OF_LENGTH the length of
 * an array, too, which a loop found when it ran (`steps`).  What depends on tangents does so by entries alone; what is
 * another value in each step of a loop may also be another length. */
enum { TN_OF_ENTRIES = 1, TN_OF_LENGTH = 2 };

/* out[j]: the flags of the operands that output j depends on; at least one has some.  A nested program that may compute
 * known and unknown values (what `split` says of a primitive) is followed, once per set of operands.  false after
 * TN_ENOMEM. */
bool tn_i_depends(tn_i_memo *m, const tn_i_eqn *e, const uint8_t *in, uint8_t *out);
/* The same of the outputs of a program and its inputs. */
bool tn_i_depends_through(tn_i_memo *m, const tn_fn *f, const uint8_t *in, uint8_t *out);

#endif
