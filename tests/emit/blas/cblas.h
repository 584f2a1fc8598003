/* A reference of what emitted programs call, which looks at its arguments as BLAS does: what it refuses becomes NaN. */
#ifndef CBLAS_H
#define CBLAS_H

#pragma GCC system_header
#include <math.h>

enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 };

#define TANSY_GEMM(name, T)                                                                                            \
    static void name(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, int m, int n, int k,    \
                     T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc) {                       \
        const int wide_a = ta == CblasNoTrans ? k : m, wide_b = tb == CblasNoTrans ? n : k;                            \
        const int ok = order == CblasRowMajor && lda >= wide_a && ldb >= wide_b && ldc >= n && lda >= 1 && ldb >= 1 && \
                       ldc >= 1 && m >= 0 && n >= 0 && k >= 0;                                                         \
        for (int i = 0; i < m; i++)                                                                                    \
            for (int j = 0; j < n; j++) {                                                                              \
                double sum = 0;                                                                                        \
                for (int l = 0; l < k; l++)                                                                            \
                    sum += (double)(ta == CblasNoTrans ? a[(long)i * lda + l] : a[(long)l * lda + i]) *                \
                           (double)(tb == CblasNoTrans ? b[(long)l * ldb + j] : b[(long)j * ldb + l]);                 \
                sum = (double)alpha * sum;                                                                             \
                if (beta != 0) sum += (double)beta * (double)c[(long)i * ldc + j];                                     \
                c[(long)i * ldc + j] = ok ? (T)sum : (T)NAN;                                                           \
            }                                                                                                          \
    }
TANSY_GEMM(cblas_sgemm, float)
TANSY_GEMM(cblas_dgemm, double)
#undef TANSY_GEMM

#endif
