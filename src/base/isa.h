/* Instruction sets that kernels are compiled for.  Which one runs is found out at run time (vec/isa.c), so a library
 * that was built anywhere runs everywhere.  Results of arithmetic do not depend on it. */
#ifndef TN_ISA_H
#define TN_ISA_H

#include <stdbool.h>

typedef enum tn_i_isa { TN_ISA_PLAIN, TN_ISA_AVX2, TN_ISA_AVX512, TN_ISA_ANY } tn_i_isa;

/* Bytes of a vector. */
static inline int tn_i_isa_bytes(tn_i_isa isa) { return isa == TN_ISA_AVX512 ? 64 : isa == TN_ISA_AVX2 ? 32 : 16; }

/* FMA is for `fma` alone: everything is compiled with -ffp-contract=off. */
#if defined(__x86_64__) && defined(__GNUC__)
#define TN_HAVE_ISA    1
#define TN_TARGET_AVX2 __attribute__((target("avx2,fma")))
#ifdef __clang__
#define TN_TARGET_AVX512 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl"), min_vector_width(512)))
#else
#define TN_TARGET_AVX512 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512")))
#endif
#else
#define TN_HAVE_ISA 0
#define TN_TARGET_AVX2
#define TN_TARGET_AVX512
#endif

/* Whether the processor has what TN_TARGET_AVX2 stands for. */
static inline bool tn_i_has_avx2(void) {
#if TN_HAVE_ISA
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

/* Elements of a tile are independent of each other, also where a result is written over an operand. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* not every body can be vectorized */
#define TN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TN_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TN_INDEPENDENT
#endif

#endif
