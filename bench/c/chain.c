#include "by_hand.h"
#include "vec.h"

enum { BLOCK = 4096 }; /* summed in its own dtype; the blocks in f64 */

#define CHAIN(T, real)                                                                                \
    static inline vec_##T value_##T(vec_##T x) { return tanh_##T(sin_##T(x) * exp_##T(-x * x) + x); } \
    void c_chain_f_##T(long n, const real *x, real *y) {                                              \
        double total = 0;                                                                             \
        long i = 0;                                                                                   \
        while (i + LANES_##T <= n) {                                                                  \
            const long end = n - i < BLOCK ? n : i + BLOCK;                                           \
            vec_##T s = {0};                                                                          \
            for (; i + LANES_##T <= end; i += LANES_##T) s += value_##T(load_##T(x + i));             \
            total += (double)total_##T(s);                                                            \
        }                                                                                             \
        if (i < n) total += (double)total_##T(value_##T(load_part_##T(x + i, n - i))); /* 0 at 0 */   \
        *y = (real)total;                                                                             \
    }                                                                                                 \
    static inline vec_##T slope_##T(vec_##T x) {                                                      \
        const vec_##T e = exp_##T(-x * x), s = sin_##T(x), c = cos_##T(x), t = tanh_##T(s * e + x);   \
        return (1 - t * t) * (e * (c - 2 * x * s) + 1);                                               \
    }                                                                                                 \
    void c_chain_grad_##T(long n, const real *x, real *g) {                                           \
        long i = 0;                                                                                   \
        for (; i + LANES_##T <= n; i += LANES_##T) store_##T(g + i, slope_##T(load_##T(x + i)));      \
        if (i < n) store_part_##T(g + i, slope_##T(load_part_##T(x + i, n - i)), n - i);              \
    }
CHAIN(f32, float)
CHAIN(f64, double)
