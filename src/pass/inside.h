/* What passes share. */
#ifndef TN_PASS_INSIDE_H
#define TN_PASS_INSIDE_H

#include "pass/pass.h"

/* Of each operation the FOR, IF or ELSE that it stands in, or TN_L_NONE.  NULL: no memory, or no operations. */
uint32_t *tn_i_l_around(const tn_i_loops *p);
void tn_i_l_around_drop(const tn_i_loops *p, uint32_t *around);

/* Of each operation, whether a HALVES reads it: it has to stay in its loop.  NULL: no memory. */
bool *tn_i_l_halved(const tn_i_loops *p);
void tn_i_l_halved_drop(const tn_i_loops *p, bool *is);

/* Operations first .. last - 1 are values, loads and stores alone. */
bool tn_i_l_straight(const tn_i_loops *p, uint32_t first, uint32_t last);
/* Or they feed and ask reductions besides, as vector loops may. */
bool tn_i_l_reduces(const tn_i_loops *p, uint32_t k);
/* A function is called among operations first .. last - 1. */
bool tn_i_l_calls(const tn_i_loops *p, uint32_t first, uint32_t last);
/* Two accesses in the same blocks are of the same element, of one dtype. */
bool tn_i_l_same_place(const tn_i_loops *p, const tn_i_l_op *x, const tn_i_l_op *y);
/* The n iterations of loop k, TN_WAITING at a time and what is left over (fission.c). */
typedef void tn_i_l_stretch(void *with, uint32_t k, tn_i_affine at, int64_t n);
void tn_i_l_in_stretches(tn_i_l_builder *b, int64_t n, tn_i_l_stretch *each, void *with, uint32_t k);
/* Loop k, of a known count, is of straight operations whose iterations do not depend on each other. */
bool tn_i_l_independent(const tn_i_loops *p, uint32_t k);
/* Or they depend on each other by updates alone, which vector loops do in order. */
bool tn_i_l_vectorizable(const tn_i_loops *p, uint32_t k);
/* No iteration of loop k, which has n, touches what another one of the same loop stores; of arrays that `except`
 * has (NULL: none) nothing is asked. */
bool tn_i_l_apart(const tn_i_loops *p, uint32_t k, int64_t n, const bool *except);
/* Scratch arrays that are stored in loop k where it does not count are its iterations' own: nothing else may touch them
 * (else false). */
bool tn_i_l_find_own(const tn_i_loops *p, uint32_t k, bool *own);
/* The largest size of what the straight operations of a block compute, load or store. */
int tn_i_l_widest(const tn_i_loops *p, uint32_t first, uint32_t last);
/* Whether e is so small that 32 bits do not wrap. */
bool tn_i_l_near(const tn_i_loops *p, const tn_i_affine *e);
/* The integer v as an affine expression of few terms, looked for so deep. */
bool tn_i_l_affine_value(tn_i_l_builder *b, const tn_i_loops *p, uint32_t v, int depth, tn_i_affine *e);

#endif
