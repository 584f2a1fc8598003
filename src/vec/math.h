/* Tables of functions of vectors by name, one for each instruction set (math_set.h). */
#ifndef TN_VEC_MATH_H
#define TN_VEC_MATH_H

#include "vec/vec.h"

#if TN_HAVE_ISA && defined(__linux__)
#include <features.h>
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 22)
#define TN_LIBMVEC 1
#endif
#endif
#endif

typedef struct tn_i_vec_named {
    const char *name; /* NULL behind the last */
    tn_i_vec vec;
} tn_i_vec_named;

extern const tn_i_vec_named tn_i_mvec_plain[], tn_i_mvec_avx2[], tn_i_mvec_avx512[];
extern const tn_i_vec_named tn_i_sleef_plain[], tn_i_sleef_avx2[], tn_i_sleef_avx512[];
extern const tn_i_vec_named tn_i_own_plain[], tn_i_own_avx2[], tn_i_own_avx512[]; /* exact, of no library */

#endif
