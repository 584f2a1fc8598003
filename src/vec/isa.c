/* Which instruction set is there, and which kernels for it. */
#include "vec/vec.h"

#if TN_HAVE_ISA
#include <cpuid.h>

/* Conversions of floats of 16 bits; not every compiler's __builtin_cpu_supports knows of them, which remembers what it
 * has asked: the instruction itself takes long under a hypervisor. */
static bool has_f16c(void) {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
    return __builtin_cpu_supports("f16c");
#else
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
#endif
}
#endif

tn_i_isa tn_i_isa_best(void) {
#if TN_HAVE_ISA
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return TN_ISA_AVX512;
    /* The vector library's functions for AVX2 use FMA. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c()) return TN_ISA_AVX2;
#endif
    return TN_ISA_PLAIN;
}

tn_i_vec tn_i_vec_strip(tn_i_strip *strip, tn_i_isa isa) {
    const tn_i_strip_kinds *kinds = NULL;
    const void *const none[4] = {NULL};
    const int64_t stride[4] = {0};
    strip(-1, none, stride, &kinds, 0);
    if (!kinds) return (tn_i_vec){.strip = strip};
    return (tn_i_vec){.strip = isa == TN_ISA_PLAIN ? kinds->plain : kinds->avx2, .one = kinds->one};
}
