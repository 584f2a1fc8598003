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

static tn_i_vec row(const tn_i_vec_named *r, const char *name) {
    while (r->name && strcmp(r->name, name) != 0) r++;
    return r->vec;
}

/* What libmvec lacks, as it did before glibc 2.35, is SLEEF's. */
tn_i_vec tn_i_vec_math(const char *name, tn_i_isa isa, bool accurate) {
    const tn_i_vec v = row(table(isa, accurate), name);
    return v.strip ? v : row(table(isa, true), name);
}

const char *tn_i_vec_library(bool accurate) {
    if (!accurate && table(TN_ISA_PLAIN, false)->name) return "libmvec";
    return table(TN_ISA_PLAIN, true)->name ? "SLEEF" : "libm";
}

const char *tn_i_vec_math_at(size_t i, bool accurate) { return table(TN_ISA_PLAIN, accurate)[i].name; }
