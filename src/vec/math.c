/* Functions of vectors: libmvec's, which is part of the GNU C library, and SLEEF's.
 *
 * They are called by name.  A compiler that is to find them by itself wants -ffast-math, and even then makes of the
 * sine and the cosine of one number a sincos, for which there is no vector. */
#include "vec/math.h"

#include <string.h>

static const tn_i_vec_named *table(tn_i_isa isa, bool accurate) {
    switch (isa) {
    case TN_ISA_AVX512: return accurate ? tn_i_sleef_avx512 : tn_i_mvec_avx512;
    case TN_ISA_AVX2: return accurate ? tn_i_sleef_avx2 : tn_i_mvec_avx2;
    default: return accurate ? tn_i_sleef_plain : tn_i_mvec_plain;
    }
}

tn_i_vec tn_i_vec_math(const char *name, tn_i_isa isa, bool accurate) {
    for (const tn_i_vec_named *r = table(isa, accurate); r->name; r++)
        if (strcmp(r->name, name) == 0) return r->vec;
    return (tn_i_vec){.strip = NULL};
}

const char *tn_i_vec_library(bool accurate) {
    if (!table(TN_ISA_PLAIN, accurate)->name) return "libm";
    return accurate ? "SLEEF" : "libmvec";
}

const char *tn_i_vec_math_at(size_t i, bool accurate) { return table(TN_ISA_PLAIN, accurate)[i].name; }
