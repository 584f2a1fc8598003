/* tansy/random.h - random numbers in traced functions.
 *
 * SPDX-License-Identifier: MIT
 *
 * Random numbers are functions of a *key*, u32[2] or i32[2]: the same key gives the same
 * bits, each time, also when a checkpointing policy computes them again.  There
 * is no hidden state: a key is used once, and new ones are made of it by
 * tn_random_split or tn_random_fold_in.  Bit patterns come from Threefry-2x32
 * with 20 rounds, and keys, bits and uniform numbers are JAX's (normal ones up
 * to rounding).  Derivatives are 0.
 *
 *     tn_val k = tn_random_key(c, 42), keys = tn_random_split(k, 2);
 *     tn_val w = tn_random_normal(tn_at(keys, 0), tn_f32(784, 128));
 *
 * A key may also be an input of the program, so that each run has its own; and
 * many keys, [.., 2], make as many results, one for each key: [.., shape].  The
 * bits count: u32 and i32 keys of the same bits give the same, and keys that are
 * made of a key have its dtype.  JAX's raw keys are u32[2].
 *
 * Operators as those of tansy/ops.h, which includes this: the same rules for
 * operands, errors, ownership, threads and cost. */
#ifndef TANSY_RANDOM_H
#define TANSY_RANDOM_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The key of a seed, i32[2]: its upper and its lower half.  tn_convert(key, TN_U32)
 * is the same key as u32[2]. */
TN_API tn_val tn_random_key_at(tn_ctx *c, int64_t seed, const char *file, int line);
#define tn_random_key(c, seed) tn_random_key_at(c, seed, __FILE__, __LINE__)
/* n new keys, [.., n, 2]; and the key for a number (i32, u32 or plain; one for
 * each key, or one for all): tn_random_fold_in(key, i) is row i of any split. */
TN_API tn_val tn_random_split_at(tn_val key, int64_t n, const char *file, int line);
TN_API tn_val tn_random_fold_in_at(tn_val key, tn_val number, const char *file, int line);
#define tn_random_split(key, n)        tn_random_split_at(key, n, __FILE__, __LINE__)
#define tn_random_fold_in(key, number) tn_random_fold_in_at(key, TN_VAL(number), __FILE__, __LINE__)
/* An array of the type, of integers, every bit pattern equally likely; floats
 * uniform in [0, 1), multiples of 2^-23 (f32) or 2^-52; floats of the normal
 * distribution. */
TN_API tn_val tn_random_bits_at(tn_val key, tn_type type, const char *file, int line);
TN_API tn_val tn_random_uniform_at(tn_val key, tn_type type, const char *file, int line);
TN_API tn_val tn_random_normal_at(tn_val key, tn_type type, const char *file, int line);
#define tn_random_bits(...)    tn_random_bits_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_random_uniform(...) tn_random_uniform_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_random_normal(...)  tn_random_normal_at(__VA_ARGS__, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
