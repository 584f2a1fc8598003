/* What tables behind collectives have in common: what a good collective is, ranks along axes, and how one is written
 * in messages. */
#ifndef TN_COLLECTIVE_H
#define TN_COLLECTIVE_H

#include "base/base.h"

#include "tansy/comm.h"

/* Room for the text of a collective. */
#define TN_I_COLLECTIVE_TEXT 256

/* Ranks along the axes, which t has, and which of them this one is in *me (may be NULL). */
int64_t tn_i_comm_ranks(const tn_comm_ops *t, uint32_t axes, int64_t *me);
/* Elements of the operand and of the result of a good collective, among so many ranks. */
int64_t tn_i_operand_count(const tn_collective *x, int64_t ranks);
int64_t tn_i_result_count(const tn_collective *x, int64_t ranks);
/* Whether t can do x with these arrays; if not, why. */
bool tn_i_collective_good(const tn_comm_ops *t, const tn_collective *x, const void *in, const void *out, char *why,
                          size_t n);
/* "psum f64[10] over w", "shift f64[4] by=-1 wrap over (r,c)"; x has known kind and dtype.  Returns buf. */
const char *tn_i_collective_text(const tn_comm_ops *t, const tn_collective *x, char buf[TN_I_COLLECTIVE_TEXT]);
/* Does x among one rank. */
void tn_i_collective_alone(const tn_collective *x, const void *in, void *out);

/* The table of a grid whose axes all have one rank; in the caller's memory, without any other. */
typedef struct tn_i_null_comm {
    tn_comm_ops ops;
    char why[256];
} tn_i_null_comm;
/* For c's grid; it must not move. */
const tn_comm_ops *tn_i_null_comm_init(tn_i_null_comm *n, const tn_ctx *c);

#endif
