#include "by_hand.h"
#include "vec.h"

enum { ROUNDS = 4, BLOCK = 4096 };

#define CHEAP(T, real)                                                                                              \
    static inline vec_##T value_##T(vec_##T x, vec_##T y) {                                                         \
        vec_##T v = x;                                                                                              \
        for (int r = 0; r < ROUNDS; r++) {                                                                          \
            v = v * x + y;                                                                                          \
            v = v * y - x;                                                                                          \
        }                                                                                                           \
        return v;                                                                                                   \
    }                                                                                                               \
    void c_cheap_f_##T(long n, const real *x, const real *y, real *sum) {                                           \
        enum { L = LANES_##T };                                                                                     \
        double total = 0;                                                                                           \
        long i = 0;                                                                                                 \
        while (i + L <= n) {                                                                                        \
            const long end = n - i < BLOCK ? n : i + BLOCK;                                                         \
            vec_##T s = {0}, t = {0}, u = {0}, w = {0};                                                             \
            for (; i + 4 * L <= end; i += 4 * L) {                                                                  \
                s += value_##T(load_##T(x + i), load_##T(y + i));                                                   \
                t += value_##T(load_##T(x + i + L), load_##T(y + i + L));                                           \
                u += value_##T(load_##T(x + i + 2 * L), load_##T(y + i + 2 * L));                                   \
                w += value_##T(load_##T(x + i + 3 * L), load_##T(y + i + 3 * L));                                   \
            }                                                                                                       \
            for (; i + L <= end; i += L) s += value_##T(load_##T(x + i), load_##T(y + i));                          \
            total += (double)total_##T((s + t) + (u + w));                                                          \
        }                                                                                                           \
        if (i < n) total += (double)total_##T(value_##T(load_part_##T(x + i, n - i), load_part_##T(y + i, n - i))); \
        *sum = (real)total;                                                                                         \
    }                                                                                                               \
    static inline void slopes_##T(vec_##T x, vec_##T y, vec_##T *gx, vec_##T *gy) {                                 \
        vec_##T v[2 * ROUNDS], d = all_##T(1), dx = {0}, dy = {0};                                                  \
        v[0] = x;                                                                                                   \
        for (int r = 0; r < ROUNDS; r++) {                                                                          \
            v[2 * r + 1] = v[2 * r] * x + y;                                                                        \
            if (r + 1 < ROUNDS) v[2 * r + 2] = v[2 * r + 1] * y - x;                                                \
        }                                                                                                           \
        for (int r = ROUNDS - 1; r >= 0; r--) {                                                                     \
            dy += d * v[2 * r + 1];                                                                                 \
            dx -= d;                                                                                                \
            d *= y;                                                                                                 \
            dx += d * v[2 * r];                                                                                     \
            dy += d;                                                                                                \
            d *= x;                                                                                                 \
        }                                                                                                           \
        *gx = dx + d;                                                                                               \
        *gy = dy;                                                                                                   \
    }                                                                                                               \
    void c_cheap_grad_##T(long n, const real *x, const real *y, real *gx, real *gy) {                               \
        vec_##T dx, dy;                                                                                             \
        long i = 0;                                                                                                 \
        for (; i + LANES_##T <= n; i += LANES_##T) {                                                                \
            slopes_##T(load_##T(x + i), load_##T(y + i), &dx, &dy);                                                 \
            store_##T(gx + i, dx);                                                                                  \
            store_##T(gy + i, dy);                                                                                  \
        }                                                                                                           \
        if (i == n) return;                                                                                         \
        slopes_##T(load_part_##T(x + i, n - i), load_part_##T(y + i, n - i), &dx, &dy);                             \
        store_part_##T(gx + i, dx, n - i);                                                                          \
        store_part_##T(gy + i, dy, n - i);                                                                          \
    }
CHEAP(f32, float)
CHEAP(f64, double)
