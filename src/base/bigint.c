#include "base/bigint.h"

#include <assert.h>
#include <string.h>

static void trim(tn_i_big *a) {
    while (a->n > 0 && a->limb[a->n - 1] == 0) a->n--;
}

void tn_i_big_set(tn_i_big *a, uint64_t x) {
    a->limb[0] = (uint32_t)x;
    a->limb[1] = (uint32_t)(x >> 32);
    a->n = 2;
    trim(a);
}

void tn_i_big_mul_add(tn_i_big *a, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < a->n; i++) {
        carry += (uint64_t)a->limb[i] * factor;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) {
        assert(a->n < TN_I_BIG_LIMBS);
        a->limb[a->n++] = (uint32_t)carry;
    }
    trim(a);
}

void tn_i_big_mul_pow5(tn_i_big *a, int exponent) {
    static const uint32_t pow5[] = {1,     5,      25,      125,     625,      3125,      15625,
                                    78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125};
    for (; exponent > 13; exponent -= 13) tn_i_big_mul_add(a, pow5[13], 0);
    tn_i_big_mul_add(a, pow5[exponent], 0);
}

void tn_i_big_shl(tn_i_big *a, int bits) {
    const int limbs = bits / 32, rest = bits % 32;
    if (a->n == 0 || bits == 0) return;
    assert(a->n + limbs < TN_I_BIG_LIMBS);
    if (rest) {
        uint32_t carry = 0;
        for (int i = 0; i < a->n; i++) {
            const uint32_t x = a->limb[i];
            a->limb[i] = (x << rest) | carry;
            carry = x >> (32 - rest);
        }
        if (carry) a->limb[a->n++] = carry;
    }
    if (limbs) {
        memmove(a->limb + limbs, a->limb, (size_t)a->n * sizeof a->limb[0]);
        memset(a->limb, 0, (size_t)limbs * sizeof a->limb[0]);
        a->n += limbs;
    }
}

/* a -= b * factor over a's limbs; what could not be taken away is returned. */
static uint64_t sub_mul(tn_i_big *a, const tn_i_big *b, uint32_t factor) {
    uint64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        const uint64_t take = (i < b->n ? (uint64_t)b->limb[i] * factor : 0) + borrow;
        const uint32_t low = (uint32_t)take;
        borrow = (take >> 32) + (a->limb[i] < low);
        a->limb[i] -= low;
    }
    return borrow;
}

void tn_i_big_sub(tn_i_big *a, const tn_i_big *b) {
    const uint64_t borrow = sub_mul(a, b, 1);
    assert(borrow == 0);
    (void)borrow;
    trim(a);
}

int tn_i_big_cmp(const tn_i_big *a, const tn_i_big *b) {
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (int i = a->n; i-- > 0;)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

int tn_i_big_cmp_sum(const tn_i_big *a, const tn_i_big *b, const tn_i_big *c) {
    tn_i_big sum;
    uint64_t carry = 0;
    const int n = a->n > b->n ? a->n : b->n;
    assert(n < TN_I_BIG_LIMBS);
    for (int i = 0; i < n; i++) {
        carry += (uint64_t)(i < a->n ? a->limb[i] : 0) + (i < b->n ? b->limb[i] : 0);
        sum.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum.limb[n] = (uint32_t)carry;
    sum.n = n + 1;
    trim(&sum);
    return tn_i_big_cmp(&sum, c);
}

int tn_i_big_bits(const tn_i_big *a) {
    int bits = a->n * 32;
    if (a->n == 0) return 0;
    for (uint32_t top = a->limb[a->n - 1]; !(top & 0x80000000u); top <<= 1) bits--;
    return bits;
}

uint64_t tn_i_big_top64(const tn_i_big *a, bool *rest) {
    const int skip = tn_i_big_bits(a) - 64, limb = skip / 32, shift = skip % 32;
    uint64_t q = 0;
    assert(skip >= 0);
    *rest = false;
    for (int i = 0; i < limb; i++) *rest |= a->limb[i] != 0;
    *rest |= shift && (a->limb[limb] << (32 - shift)) != 0;
    for (int i = 1; i >= 0; i--) {
        uint64_t pair = a->limb[limb + i];
        if (limb + i + 1 < a->n) pair |= (uint64_t)a->limb[limb + i + 1] << 32;
        q = (q << 32) | (uint32_t)(pair >> shift);
    }
    return q;
}

uint32_t tn_i_big_divmod(tn_i_big *a, const tn_i_big *b) {
    if (a->n < b->n) return 0;
    assert(a->n <= b->n + 1);
    const uint32_t high = a->n > b->n ? a->limb[b->n] : 0;
    const uint64_t top = ((uint64_t)high << 32) | a->limb[b->n - 1];
    /* A divisor with its highest bit set makes this guess at most two too large. */
    uint64_t guess = top / b->limb[b->n - 1];
    if (guess > UINT32_MAX) guess = UINT32_MAX;
    a->n = b->n + 1; /* a->limb[b->n] is `high` from here on */
    a->limb[b->n] = high;
    uint64_t debt = sub_mul(a, b, (uint32_t)guess);
    while (debt) {
        uint64_t carry = 0;
        for (int i = 0; i < a->n; i++) {
            carry += (uint64_t)a->limb[i] + (i < b->n ? b->limb[i] : 0);
            a->limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
        debt -= carry;
        guess--;
    }
    trim(a);
    return (uint32_t)guess;
}
