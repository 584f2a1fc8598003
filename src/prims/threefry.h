/* Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
 * as 1, 2, 3; SC 2011): a bijection of 64-bit counters for each 64-bit key.  It has no state, so a random
 * number can be made again, and in any order. */
#ifndef TN_THREEFRY_H
#define TN_THREEFRY_H

#include <stdint.h>

typedef struct tn_i_words {
    uint32_t a, b;
} tn_i_words;

static inline tn_i_words tn_i_threefry_round(tn_i_words x, int by) {
    x.a += x.b;
    x.b = (x.b << by | x.b >> (32 - by)) ^ x.a;
    return x;
}

static inline tn_i_words tn_i_threefry_even(tn_i_words x) {
    x = tn_i_threefry_round(x, 13);
    x = tn_i_threefry_round(x, 15);
    x = tn_i_threefry_round(x, 26);
    return tn_i_threefry_round(x, 6);
}

static inline tn_i_words tn_i_threefry_odd(tn_i_words x) {
    x = tn_i_threefry_round(x, 17);
    x = tn_i_threefry_round(x, 29);
    x = tn_i_threefry_round(x, 16);
    return tn_i_threefry_round(x, 24);
}

static inline tn_i_words tn_i_threefry_add(tn_i_words x, uint32_t a, uint32_t b) {
    return (tn_i_words){x.a + a, x.b + b};
}

/* Straight-line code on two words: a loop over counters becomes vector instructions. */
static inline tn_i_words tn_i_threefry(tn_i_words key, tn_i_words counter) {
    const uint32_t third = key.a ^ key.b ^ 0x1BD11BDA;
    tn_i_words x = tn_i_threefry_add(counter, key.a, key.b);
    x = tn_i_threefry_add(tn_i_threefry_even(x), key.b, third + 1);
    x = tn_i_threefry_add(tn_i_threefry_odd(x), third, key.a + 2);
    x = tn_i_threefry_add(tn_i_threefry_even(x), key.a, key.b + 3);
    x = tn_i_threefry_add(tn_i_threefry_odd(x), key.b, third + 4);
    return tn_i_threefry_add(tn_i_threefry_even(x), third, key.a + 5);
}

#endif
