/* Values put together of what was computed and of constants. */
#ifndef TN_SPARSE_ASSEMBLE_H
#define TN_SPARSE_ASSEMBLE_H

#include "ir/ir.h"

/* A constant column of n positions below `bound`, as gathers and scatters want them. */
tn_i_var tn_i_positions(tn_i_builder *b, int64_t n, const int64_t *at, int64_t bound);
/* Elements at[0..n) of the vector x. */
tn_i_var tn_i_taken(tn_i_builder *b, tn_i_var x, int64_t n, const int64_t *at);

/* A vector of type t: element k is x[at[k]], 0 where at[k] is -1, plus constant[k] (NULL: 0). */
tn_i_var tn_i_assembled(tn_i_builder *b, const tn_type *t, tn_i_var x, const int64_t *at, const void *constant);
/* u with x[k] added to its element into[k], unless that is behind its end. */
tn_i_var tn_i_added_into(tn_i_builder *b, tn_i_var u, tn_i_var x, const int64_t *into);

#endif
