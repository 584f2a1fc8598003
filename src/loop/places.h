/* Where accesses of memory are, in bytes: what tells whether two of them can be of one element. */
#ifndef TN_LOOP_PLACES_H
#define TN_LOOP_PLACES_H

#include "loop/loop.h"

/* Elements of one size at a place that is `at` and terms, plus `index` where there is one. */
typedef struct tn_i_l_place {
    tn_i_affine e; /* in bytes */
    uint32_t index;
    int64_t by, last, size; /* bytes */
} tn_i_l_place;

static inline int64_t tn_i_l_magnitude(int64_t x) { return x < 0 ? (x == INT64_MIN ? INT64_MAX : -x) : x; }

/* Of the LOAD or STORE o; false: a number in it does not fit. */
bool tn_i_l_place_of(const tn_i_loops *p, const tn_i_l_op *o, tn_i_l_place *z);
/* What e moves by with a loop; 0 where it has no term of it. */
int64_t tn_i_l_term_by(const tn_i_affine *e, uint32_t loop);
/* Terms of loops but k are the same; those of loops around loop k are. */
bool tn_i_l_same_terms(const tn_i_affine *x, const tn_i_affine *y, uint32_t k);
bool tn_i_l_same_around(const tn_i_affine *x, const tn_i_affine *y, uint32_t k);
/* What z moves by with its index and with loops from loop k on: the greatest common divisor of these and of `step`. */
int64_t tn_i_l_step_of(uint32_t k, const tn_i_l_place *z, int64_t step);
/* No iteration of loop k, or of loops in it, touches by a what one touches by b, whatever their indices are, as other
 * columns of the same rows. */
bool tn_i_l_never_meet(const tn_i_loops *p, uint32_t k, const tn_i_l_op *a, const tn_i_l_op *b);

#endif
