/* LAPACK's factorizations, when built with LAPACK=1: the only file that knows it. */
#include "prims/lu.h"

#ifdef TN_LAPACK
#include <lapacke.h>

bool tn_i_lapack_linked(void) { return true; }

/* The _work form with columns in order hands its arguments through and allocates nothing. */
void tn_i_lapack_getrf(int dtype, int64_t n, void *a, int32_t *pivots) {
    const lapack_int size = (lapack_int)n;
    _Static_assert(sizeof(lapack_int) == sizeof *pivots, "LAPACK with 32-bit integers");
    if (dtype == TN_F64)
        (void)LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, size, size, a, size, pivots);
    else
        (void)LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, size, size, a, size, pivots);
    for (int64_t i = 0; i < n; i++) pivots[i]--;
}

#else

bool tn_i_lapack_linked(void) { return false; }
void tn_i_lapack_getrf(int dtype, int64_t n, void *a, int32_t *pivots) { (void)dtype, (void)n, (void)a, (void)pivots; }

#endif
