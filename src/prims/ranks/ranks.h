/* What the primitives share in which ranks speak, or know of each other: their parameters, type rules and batching, and
 * what they become in the program that one rank runs. */
#ifndef TN_RANKS_H
#define TN_RANKS_H

#include "prims/ranks/collective_run.h"

/* ---- parameters: the axes are the first of all ---------------------------------------- */

static inline uint32_t tn_i_rank_axes(const tn_i_param *p) { return (uint32_t)p[0].u.i; }
static inline bool tn_i_rank_bool(const tn_i_param *p) { return p->kind == TN_K_BOOL && p->u.i; }
/* x under the primitive `id`; p: its parameters. */
tn_i_var tn_i_ranks_emit(tn_i_builder *b, int id, const tn_i_param *p, tn_i_var x);

#define TN_RANKS_AXES \
    { .name = "axes", .kind = TN_K_AXES }
#define TN_RANKS_ROOT \
    { .name = "root", .kind = TN_K_INT }
#define TN_RANKS_SIZE \
    { .name = "size", .kind = TN_K_INT, .otherwise = "the number of ranks" }
/* Nothing but axes. */
extern const tn_i_spec tn_i_ranks_specs[];

/* ---- type rules: each fails with a message --------------------------------------------- */

/* Parameters are there, axes are the grid's, the dtype of the operand is one of the primitive's. */
bool tn_i_ranks_given(tn_i_query *q);
/* The operand varies over the axes; it varies over none of them. */
bool tn_i_ranks_vary(tn_i_query *q);
bool tn_i_ranks_alike(tn_i_query *q);
/* There is one axis. */
bool tn_i_ranks_line(tn_i_query *q);
/* Parameter k names one of the ranks; is how many there are, or absent. */
bool tn_i_ranks_root(tn_i_query *q, uint32_t k);
bool tn_i_ranks_size(tn_i_query *q, uint32_t k);
/* The operand has an entry for each rank. */
bool tn_i_ranks_pieces(tn_i_query *q);
/* One output: of the operand's type; of an entry of it; of such an array for each rank.  It varies over `over`. */
bool tn_i_ranks_same(tn_i_query *q, uint32_t over);
bool tn_i_ranks_piece(tn_i_query *q, uint32_t over);
bool tn_i_ranks_stack(tn_i_query *q, uint32_t over);

/* ---- other rules ------------------------------------------------------------------------ */

/* Of arrays of one type: ranks exchange whole batches. */
void tn_i_ranks_batch(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);
/* The same where the operand, or the result, has an entry for each rank, which stay in front. */
void tn_i_ranks_batch_pieces(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);
/* Operand and result, each once. */
void tn_i_ranks_cost(const tn_i_query *q, tn_i_cost *cost);
/* And an addition, or the like, for each element of the operand. */
void tn_i_ranks_cost_sum(const tn_i_query *q, tn_i_cost *cost);
/* Zeros of type t where `in`, in which the primitive is linear, is known to be zeros; else TN_NOVAR.  t may be the
 * builder's own. */
tn_i_var tn_i_ranks_zeros(tn_i_builder *b, tn_i_var in, const tn_type *t);
/* The equation of primitive `id` over the same axes that made v, or NULL. */
const tn_i_eqn *tn_i_ranks_made_by(const tn_i_builder *b, tn_i_var v, int id, const tn_i_param *p);

/* ---- in the program that one rank runs ------------------------------------------------------ */

/* Parameters of `collective` but for the kind and axes: none. */
void tn_i_collective_begin(tn_i_param p[TN_I_COLLECTIVE_PARAMS], int kind, uint32_t axes);
tn_i_var tn_i_collective(tn_i_builder *b, const tn_i_param p[TN_I_COLLECTIVE_PARAMS], tn_i_var x);
/* The number of this rank, i64[]; a literal where there is one rank. */
tn_i_var tn_i_rank_index(tn_i_builder *b, uint32_t axes);
/* x with a dimension of size 1 in front; the only entry of x. */
tn_i_var tn_i_ranks_as_stack(tn_i_builder *b, tn_i_var x);
tn_i_var tn_i_ranks_as_piece(tn_i_builder *b, tn_i_var x);
/* Whether e is over axes with one rank: nothing is exchanged then. */
bool tn_i_ranks_alone(const tn_i_builder *b, const tn_i_eqn *e);

#endif
