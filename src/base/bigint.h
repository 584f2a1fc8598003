/* Unsigned integers of bounded size, on the stack: what exact conversion
 * between decimal and binary needs, and no more. */
#ifndef TN_BIGINT_H
#define TN_BIGINT_H

#include <stdbool.h>
#include <stdint.h>

/* 801 decimal digits (2661 bits) beside 5^1131 (2627 bits), scaled for a
 * quotient of 64 bits, with room for one limb of normalization. */
#define TN_I_BIG_LIMBS 96

typedef struct tn_i_big {
    int n; /* limbs in use; the highest is not zero; 0 limbs mean zero */
    uint32_t limb[TN_I_BIG_LIMBS];
} tn_i_big;

void tn_i_big_set(tn_i_big *a, uint64_t x);
void tn_i_big_mul_add(tn_i_big *a, uint32_t factor, uint32_t addend);
void tn_i_big_mul_pow5(tn_i_big *a, int exponent);
void tn_i_big_shl(tn_i_big *a, int bits);
void tn_i_big_sub(tn_i_big *a, const tn_i_big *b); /* needs a >= b */
int tn_i_big_cmp(const tn_i_big *a, const tn_i_big *b);
int tn_i_big_cmp_sum(const tn_i_big *a, const tn_i_big *b, const tn_i_big *c); /* a + b against c */
int tn_i_big_bits(const tn_i_big *a);
/* The 64 highest bits of a >= 2^63; *rest says whether the others hold a one. */
uint64_t tn_i_big_top64(const tn_i_big *a, bool *rest);
/* a becomes the remainder of a / b, the quotient is returned.  Needs b's
 * highest bit set in its limb, and a quotient below 2^32. */
uint32_t tn_i_big_divmod(tn_i_big *a, const tn_i_big *b);

#endif
