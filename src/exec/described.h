/* Arguments that say what they are (TN_INPUTS, TN_OUTPUTS), beside arrays of pointers, which do not. */
#ifndef TN_EXEC_DESCRIBED_H
#define TN_EXEC_DESCRIBED_H

#include "prims/prim.h"

/* An argument: where its elements are, in bytes from its address, and the input that an output may be written over. */
typedef struct tn_i_argument {
    const tn_type *type;
    int64_t low, high; /* high is that behind the last; both 0 when there are none */
    uint32_t over;     /* of outputs; UINT32_MAX: no input */
} tn_i_argument;
/* stride: of its elements; NULL: row-major. */
tn_i_argument tn_i_argument_of(const tn_type *t, const int64_t *stride);

static inline bool tn_i_is_described(const void *const *at, uint32_t n) {
    return n && at && at[0] == (const void *)tn_described;
}

/* What is given for n arguments, as addresses in `address`, which holds those of the last call.  *moved is set when one
 * changed.  False: what is given does not fit, and `why` names the operand. */
bool tn_i_take(const tn_i_argument *a, uint32_t n, const char *what, const void *const *given, const void **address,
               bool *moved, char *why, size_t size);
/* False: an output shares memory with another argument, and `why` names both.  The outputs are behind the inputs; an
 * address that is NULL is no memory. */
bool tn_i_apart(const tn_i_argument *a, uint32_t nin, uint32_t nout, const void *const *address, char *why,
                size_t size);

#endif
