/* What the files of this folder share. */
#ifndef TN_LOOPS_INSIDE_H
#define TN_LOOPS_INSIDE_H

#include "loop/loop.h"

/* An operation with what it names resolved, at the end of the open block; e NULL: no affine expression. */
uint32_t tn_i_l_emit(tn_i_l_builder *b, tn_i_l_op o, const tn_i_affine *e);
/* An array whose name is its own. */
uint32_t tn_i_l_array_as(tn_i_l_builder *b, tn_i_l_array a);
/* An operation of this kind with nothing in it. */
static inline tn_i_l_op tn_i_l_blank(int kind, int dtype) {
    return (tn_i_l_op){.kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .in = {TN_L_NONE, TN_L_NONE, TN_L_NONE}};
}
/* Writes e down, sorted; false after an error. */
bool tn_i_l_hold(tn_i_l_builder *b, const tn_i_affine *e, tn_i_l_affine *a);
void tn_i_l_fail(tn_i_l_builder *b, tn_status s, const char *why);
tn_i_loops *tn_i_l_end_unchecked(tn_i_l_builder *b);
/* Element i of an array of dtype, as bits of a literal of its holder; what memory has of such. */
uint64_t tn_i_l_get(int dtype, const void *data, int64_t i);
void tn_i_l_put(int dtype, void *data, int64_t i, uint64_t bits);
/* One scalar operation that no primitive has; x, y: bits. */
uint64_t tn_i_l_compute(int code, int from, int dtype, uint64_t x, uint64_t y);
uint64_t tn_i_l_fold(int fold, int dtype, uint64_t x, uint64_t y);
/* Whether an arg fold takes x for the best so far; first: there is none. */
bool tn_i_l_better(int fold, int dtype, bool first, uint64_t best, uint64_t x);
/* body.c, of a MAP: the scalar body of its primitive; NULL: it has none, or there is no primitive. */
tn_i_strip *tn_i_l_body(const tn_i_loops *p, const tn_i_l_op *o);
/* The function of vectors that libraries may have (prim->vector), or NULL. */
const char *tn_i_l_vector_name(const tn_i_loops *p, const tn_i_l_op *o);
/* Whether two MAPs are the same function of vectors; and how many operations from k on are, none of which reads
 * another: what may be computed together. */
bool tn_i_l_same_function(const tn_i_loops *p, uint32_t k, uint32_t j);
uint32_t tn_i_l_together(const tn_i_loops *p, uint32_t k, uint32_t last);
/* By the primitive's kernel, where parameters make it more than a body; in, out: bits. */
tn_status tn_i_l_by_kernel(const tn_i_loops *p, const tn_i_l_op *o, uint64_t *in, uint64_t *out);
const char *tn_i_l_fold_name(int fold); /* "sum" .. */
/* Operation k as text, cut to n bytes. */
void tn_i_l_statement(const tn_i_loops *p, uint32_t k, char *text, size_t n);

#endif
