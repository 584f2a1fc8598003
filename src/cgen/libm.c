/* The C library's functions, for text that calls them (cgen.libm): compilers are told that nobody reads errno, and of
 * which ones glibc has versions for vectors, TANSY_MATHnn: since its version 2.nn (file.c). */
#include "cgen/inside.h"

#include <string.h>

#define LIBM1(NAME, MATH)                                        \
    {#NAME, "extern double " #NAME "(double) " #MATH ";\n"}, {   \
        #NAME "f", "extern float " #NAME "f(float) " #MATH ";\n" \
    }
#define LIBM2(NAME, MATH)                                               \
    {#NAME, "extern double " #NAME "(double, double) " #MATH ";\n"}, {  \
        #NAME "f", "extern float " #NAME "f(float, float) " #MATH ";\n" \
    }
/* Where the processor has no such instruction, a call for each is slow. */
#define ROUNDED(CALL) "#if defined(TANSY_FMA) && !TANSY_FMA\n#define " CALL " ((x) * (y) + (z))\n#else\n"
/* clang-format off */
const tn_i_c_helper tn_i_c_libm_helpers[] = {
    LIBM1(sqrt, TANSY_MATH), LIBM1(fabs, TANSY_MATH), LIBM1(floor, TANSY_MATH), LIBM1(ceil, TANSY_MATH),
    LIBM1(trunc, TANSY_MATH), LIBM1(rint, TANSY_MATH), LIBM1(round, TANSY_MATH), LIBM2(copysign, TANSY_MATH),
    {"fma", ROUNDED("fma(x, y, z)") "extern double fma(double, double, double) TANSY_MATH;\n#endif\n"},
    {"fmaf", ROUNDED("fmaf(x, y, z)") "extern float fmaf(float, float, float) TANSY_MATH;\n#endif\n"},
    LIBM2(fmod, TANSY_MATH), LIBM2(nextafter, TANSY_MATH), LIBM1(tgamma, TANSY_MATH),
    LIBM1(sin, TANSY_MATH22), LIBM1(cos, TANSY_MATH22), LIBM1(exp, TANSY_MATH22), LIBM1(log, TANSY_MATH22),
    LIBM2(pow, TANSY_MATH22),
    LIBM1(acos, TANSY_MATH35), LIBM1(acosh, TANSY_MATH35), LIBM1(asin, TANSY_MATH35), LIBM1(asinh, TANSY_MATH35),
    LIBM1(atan, TANSY_MATH35), LIBM1(atanh, TANSY_MATH35), LIBM2(atan2, TANSY_MATH35), LIBM1(cbrt, TANSY_MATH35),
    LIBM1(cosh, TANSY_MATH35), LIBM1(erf, TANSY_MATH35), LIBM1(erfc, TANSY_MATH35), LIBM1(exp2, TANSY_MATH35),
    LIBM1(expm1, TANSY_MATH35), LIBM2(hypot, TANSY_MATH35), LIBM1(log10, TANSY_MATH35), LIBM1(log1p, TANSY_MATH35),
    LIBM1(log2, TANSY_MATH35), LIBM1(sinh, TANSY_MATH35), LIBM1(tan, TANSY_MATH35), LIBM1(tanh, TANSY_MATH35),
    {NULL, NULL}};
/* clang-format on */

bool tn_i_c_in_libm(const char *name) {
    for (const tn_i_c_helper *h = tn_i_c_libm_helpers; name && h->name; h++)
        if (strcmp(h->name, name) == 0) return true;
    return false;
}
