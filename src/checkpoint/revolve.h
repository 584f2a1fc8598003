/* The binomial arithmetic of Revolve, in closed form: no tables.
 *
 * With s slots, one of which holds the state that enters the first of n steps, and no step advanced more than r times,
 * C(s+r, s) steps can be brought back.  Steps are advanced t(n,s) = r*n - C(s+r, s+1) times in all, r the least that
 * does. */
#ifndef TN_REVOLVE_H
#define TN_REVOLVE_H

#include <stdint.h>

/* C(n, k); 0 unless 0 <= k <= n; INT64_MAX where it does not fit. */
int64_t tn_i_binomial(int64_t n, int64_t k);
/* a + b and a * b of numbers >= 0; INT64_MAX where they do not fit. */
int64_t tn_i_plus(int64_t a, int64_t b);
int64_t tn_i_times(int64_t a, int64_t b);
/* r of n >= 1 steps and s >= 1 slots; O(min(s, r) log r).  *work (may be NULL) grows by the factors looked at. */
int64_t tn_i_repeats(int64_t n, int64_t s, uint64_t *work);
/* t(n, s) for n >= 0, s >= 1: the fewest advances; INT64_MAX where they, or r*n, do not fit. */
int64_t tn_i_advances(int64_t n, int64_t s);
/* After how many advances the next state is kept, 1..n-1, for n >= 2: the most that is optimal. */
int64_t tn_i_split(int64_t n, int64_t s, uint64_t *work);

#endif
