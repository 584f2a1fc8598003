/* Joining the arrays of several ranks. */
#ifndef TN_JOIN_H
#define TN_JOIN_H

#include "base/base.h"

#include "tansy/comm.h"

/* Each of the n elements of `to` becomes itself, joined with that of `with` by op (a tn_comm_op). */
void tn_i_join(int dtype, int op, void *restrict to, const void *restrict with, size_t n);

#endif
