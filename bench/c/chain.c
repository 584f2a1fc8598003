#include "by_hand.h"
#include "vec.h"

/* Two vectors at a time, a function of both before the next one: while one call waits, the other is worked on.  Between
 * two loads lie so many instructions that the processor has to be asked ahead for what is in memory. */
enum { BLOCK = 4096, AHEAD = 1024 }; /* elements summed in their own dtype, the blocks in f64; bytes */

#define BOTH for (int u = 0; u < 2; u++)

#define CHAIN(T, real)                                                                              \
    typedef struct {                                                                                \
        vec_##T at[2];                                                                              \
    } two_##T;                                                                                      \
    enum { PAIR_##T = 2 * LANES_##T };                                                              \
    static inline two_##T two_loads_##T(const real *x) {                                            \
        two_##T r;                                                                                  \
        BOTH {                                                                                      \
            __builtin_prefetch((const char *)(x + u * LANES_##T) + AHEAD);                          \
            r.at[u] = load_##T(x + u * LANES_##T);                                                  \
        }                                                                                           \
        return r;                                                                                   \
    }                                                                                               \
    static inline two_##T two_parts_##T(const real *x, long k) {                                    \
        two_##T r;                                                                                  \
        const long first = k < LANES_##T ? k : LANES_##T;                                           \
        r.at[0] = load_part_##T(x, first);                                                          \
        r.at[1] = load_part_##T(x + first, k - first);                                              \
        return r;                                                                                   \
    }                                                                                               \
    static inline two_##T value_##T(two_##T x) {                                                    \
        two_##T s, e;                                                                               \
        BOTH s.at[u] = sin_##T(x.at[u]);                                                            \
        BOTH e.at[u] = exp_##T(-x.at[u] * x.at[u]);                                                 \
        BOTH s.at[u] = tanh_##T(s.at[u] * e.at[u] + x.at[u]);                                       \
        return s;                                                                                   \
    }                                                                                               \
    void c_chain_f_##T(long n, const real *x, real *y) {                                            \
        double total = 0;                                                                           \
        long i = 0;                                                                                 \
        while (i + PAIR_##T <= n) {                                                                 \
            const long end = n - i < BLOCK ? n : i + BLOCK;                                         \
            two_##T s = {{{0}}};                                                                    \
            for (; i + PAIR_##T <= end; i += PAIR_##T) {                                            \
                const two_##T v = value_##T(two_loads_##T(x + i));                                  \
                BOTH s.at[u] += v.at[u];                                                            \
            }                                                                                       \
            total += (double)total_##T(s.at[0] + s.at[1]);                                          \
        }                                                                                           \
        if (i < n) { /* 0 at 0 */                                                                   \
            const two_##T v = value_##T(two_parts_##T(x + i, n - i));                               \
            total += (double)total_##T(v.at[0] + v.at[1]);                                          \
        }                                                                                           \
        *y = (real)total;                                                                           \
    }                                                                                               \
    static inline two_##T slope_##T(two_##T x) {                                                    \
        two_##T e, s, c, t, r;                                                                      \
        BOTH e.at[u] = exp_##T(-x.at[u] * x.at[u]);                                                 \
        BOTH s.at[u] = sin_##T(x.at[u]);                                                            \
        BOTH c.at[u] = cos_##T(x.at[u]);                                                            \
        BOTH t.at[u] = tanh_##T(s.at[u] * e.at[u] + x.at[u]);                                       \
        BOTH r.at[u] = (1 - t.at[u] * t.at[u]) * (e.at[u] * (c.at[u] - 2 * x.at[u] * s.at[u]) + 1); \
        return r;                                                                                   \
    }                                                                                               \
    void c_chain_grad_##T(long n, const real *x, real *g) {                                         \
        long i = 0;                                                                                 \
        for (; i + PAIR_##T <= n; i += PAIR_##T) {                                                  \
            const two_##T r = slope_##T(two_loads_##T(x + i));                                      \
            BOTH store_##T(g + i + u * LANES_##T, r.at[u]);                                         \
        }                                                                                           \
        if (i >= n) return;                                                                         \
        const two_##T r = slope_##T(two_parts_##T(x + i, n - i));                                   \
        const long first = n - i < LANES_##T ? n - i : LANES_##T;                                   \
        store_part_##T(g + i, r.at[0], first);                                                      \
        store_part_##T(g + i + first, r.at[1], n - i - first);                                      \
    }
CHAIN(f32, float)
CHAIN(f64, double)
