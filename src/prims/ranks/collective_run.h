/* The parameters of `collective`, which every primitive that ranks speak in becomes before it runs. */
#ifndef TN_COLLECTIVE_RUN_H
#define TN_COLLECTIVE_RUN_H

#include "prims/prim.h"

enum {
    TN_I_COLLECTIVE_KIND, /* a tn_comm_kind */
    TN_I_COLLECTIVE_OP,   /* a tn_comm_op */
    TN_I_COLLECTIVE_AXES,
    TN_I_COLLECTIVE_ROOT,
    TN_I_COLLECTIVE_BY,
    TN_I_COLLECTIVE_WRAP,
    TN_I_COLLECTIVE_EXCLUSIVE,
    TN_I_COLLECTIVE_REVERSE,
    TN_I_COLLECTIVE_ORDERED,
    TN_I_COLLECTIVE_PAIRS, /* source, target, source, target .. */
    TN_I_COLLECTIVE_PARAMS,
    TN_I_COLLECTIVE_HELD = TN_I_COLLECTIVE_PARAMS /* of what starts one: it holds the operand, which is put together */
};

/* Starts what `collective` of these parameters does with x: the result, which nobody reads before it was waited for;
 * the request; and where x is a view, room for its elements.  Waits for that: the result. */
tn_i_var tn_i_collective_start(tn_i_builder *b, const tn_i_param *p, tn_i_var x);
tn_i_var tn_i_collective_wait(tn_i_builder *b, const tn_i_param *p, tn_i_var result, tn_i_var request, tn_i_var held);
/* Whether e is a collective, or starts one. */
bool tn_i_is_collective(const tn_i_eqn *e);
/* Whether it waits for one. */
bool tn_i_waits(const tn_i_eqn *e);
/* What the table is told of an equation over so many ranks with an operand of type `in` (NULL: it has none); without
 * the pairs. */
void tn_i_collective_read(const tn_i_param *p, int64_t ranks, const tn_type *in, tn_collective *x);
/* The names of a tn_comm_kind and of a tn_comm_op in text. */
const char *tn_i_collective_name(int kind);
const char *tn_i_collective_op(int op);

#endif
