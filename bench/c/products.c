#include "by_hand.h"

#include <blis.h>

void c_product_f32(long m, long n, long k, float alpha, const float *a, long ars, long acs, const float *b, long brs,
                   long bcs, float beta, float *c, long crs) {
    rntm_t r = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(1, &r);
    bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &alpha, (float *)(uintptr_t)a, ars, acs,
                 (float *)(uintptr_t)b, brs, bcs, &beta, c, crs, 1, NULL, &r);
}

void c_product_f64(long m, long n, long k, double alpha, const double *a, long ars, long acs, const double *b, long brs,
                   long bcs, double beta, double *c, long crs) {
    rntm_t r = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(1, &r);
    bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &alpha, (double *)(uintptr_t)a, ars, acs,
                 (double *)(uintptr_t)b, brs, bcs, &beta, c, crs, 1, NULL, &r);
}

const char *c_products(void) {
    bli_init(); /* or BLIS_ARCH_TYPE is not looked at */
    return bli_arch_string(bli_arch_query_id());
}
