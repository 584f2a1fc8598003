/* Lifetime and equality of parameter blocks: for the builder and programs only. */
#ifndef TN_PARAMS_H
#define TN_PARAMS_H

#include "ir/ir.h"

uint32_t tn_i_params_count(const tn_prim *prim);
uint64_t tn_i_params_hash(const tn_i_param *p, uint32_t n);
bool tn_i_params_equal(const tn_i_param *a, const tn_i_param *b, uint32_t n);
tn_i_params *tn_i_params_copy(tn_ctx *c, const tn_i_param *p, uint32_t n);
const tn_i_params *tn_i_params_ref(const tn_i_params *k);
void tn_i_params_unref(tn_ctx *c, const tn_i_params *k);

#endif
