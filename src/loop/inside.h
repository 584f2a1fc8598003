/* What the files of this folder share. */
#ifndef TN_LOOPS_INSIDE_H
#define TN_LOOPS_INSIDE_H

#include "loop/loop.h"

/* An operation with what it names resolved, at the end of the open block; e NULL: no affine expression. */
uint32_t tn_i_l_emit(tn_i_l_builder *b, tn_i_l_op o, const tn_i_affine *e);
/* An operation of this kind with nothing in it. */
static inline tn_i_l_op tn_i_l_blank(int kind, int dtype) {
    return (tn_i_l_op){.kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .in = {TN_L_NONE, TN_L_NONE, TN_L_NONE}};
}
/* Writes e down, sorted; false after an error. */
bool tn_i_l_hold(tn_i_l_builder *b, const tn_i_affine *e, tn_i_l_affine *a);
void tn_i_l_fail(tn_i_l_builder *b, tn_status s, const char *why);
tn_i_loops *tn_i_l_end_unchecked(tn_i_l_builder *b);
/* Element i, as bits of a literal. */
uint64_t tn_i_l_get(int dtype, const void *data, int64_t i);
void tn_i_l_put(int dtype, void *data, int64_t i, uint64_t bits);
/* One scalar operation that no primitive has; x, y: bits. */
uint64_t tn_i_l_compute(int code, int from, int dtype, uint64_t x, uint64_t y);
uint64_t tn_i_l_fold(int fold, int dtype, uint64_t x, uint64_t y);
const char *tn_i_l_fold_name(int fold); /* "sum" .. */
/* Operation k as text, cut to n bytes. */
void tn_i_l_statement(const tn_i_loops *p, uint32_t k, char *text, size_t n);

#endif
