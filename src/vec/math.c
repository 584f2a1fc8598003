/* Functions of vectors: libmvec's, which is part of the GNU C library, and SLEEF's.
 *
 * They are called by name.  A compiler that is to find them by itself wants -ffast-math, and even then makes of the
 * sine and the cosine of one number a sincos, for which there is no vector. */
#include "vec/math.h"

#include <string.h>

enum { MVEC, SLEEF, OWN };

static const tn_i_vec_named *table(tn_i_isa isa, int library) {
    static const tn_i_vec_named *const all[][3] = {
        [TN_ISA_PLAIN] = {tn_i_mvec_plain, tn_i_sleef_plain, tn_i_own_plain},
        [TN_ISA_AVX2] = {tn_i_mvec_avx2, tn_i_sleef_avx2, tn_i_own_avx2},
        [TN_ISA_AVX512] = {tn_i_mvec_avx512, tn_i_sleef_avx512, tn_i_own_avx512},
    };
    return all[isa][library];
}

/* What libmvec lacks, as it did before glibc 2.35, is SLEEF's. */
tn_i_vec tn_i_vec_math(const char *name, tn_i_isa isa, bool accurate) {
    for (int library = accurate ? SLEEF : MVEC; library <= OWN; library++)
        for (const tn_i_vec_named *r = table(isa, library); r->name; r++)
            if (strcmp(r->name, name) == 0) return r->vec;
    return (tn_i_vec){0};
}

const char *tn_i_vec_library(bool accurate) {
    if (!accurate && table(TN_ISA_PLAIN, MVEC)->name) return "libmvec";
    return table(TN_ISA_PLAIN, SLEEF)->name ? "SLEEF" : "libm";
}

const char *tn_i_vec_math_at(size_t i, tn_i_isa isa, bool accurate) {
    const tn_i_vec_named *r = table(isa, accurate ? SLEEF : MVEC);
    while (i && r->name) r++, i--;
    return r->name ? r->name : table(isa, OWN)[i].name;
}
