/* Which links an instruction set has. */
#include "vec/chain.h"

const tn_i_chain_set *tn_i_chain_of(int dtype, tn_i_isa isa) {
    static const tn_i_chain_set *const sets[][2] = {
        [TN_ISA_PLAIN] = {&tn_i_chain_plain_f32, &tn_i_chain_plain_f64},
        [TN_ISA_AVX2] = {&tn_i_chain_avx2_f32, &tn_i_chain_avx2_f64},
        [TN_ISA_AVX512] = {&tn_i_chain_avx512_f32, &tn_i_chain_avx512_f64},
    };
    if (dtype != TN_F32 && dtype != TN_F64) return NULL;
    const tn_i_chain_set *s = sets[isa][dtype == TN_F64];
    return s->run ? s : NULL;
}
