/* Scans along an axis: kernels that compute y[i] of y[i-1] and x[i], and their text in C. */
#ifndef TN_LANES_H
#define TN_LANES_H

#include "base/machine.h"
#include "base/isa.h"
#include "prims/c_text.h"
#include "prims/prim.h"

/* The parameters of a scan. */
enum { TN_SCAN_AXIS, TN_SCAN_REVERSE };
extern const tn_i_spec tn_i_scan_params[];
/* The running sums of the operand along the axis. */
void tn_i_sums_scan(const tn_i_query *q, tn_i_sums *s);

/* Lanes are scanned side by side, each strictly in order, so the layout does not change a bit of the result:
 * TN_M_SCAN_WIDTH of them where they are next to one another in memory (a row of less is walked as it lies, without
 * gaps that would have to be fetched anew), else as many as registers hold, so that one does not wait for another. */
enum { TN_SCAN_ABREAST = 4 };

/* w lanes of n elements.  Strides are of elements, along the axis and from lane to lane: of the operand that is
 * scanned, the factors of a recurrence, and the output. */
typedef struct tn_i_lanes {
    int64_t n, w;
    const void *x, *a;
    void *out;
    int64_t xs, xl, as, al, os, ol;
} tn_i_lanes;

typedef void tn_i_scan(const tn_i_lanes *k);

/* `begin` is the state that the first element x makes, `step` what x and the factor a make of the state y. */
#define TN_SCAN_LANES(T, S, factor, begin, step)                              \
    for (int64_t j = 0; j < w; j++) {                                         \
        const S x = (S)from[j * xl];                                          \
        s[j] = begin;                                                         \
        to[j * ol] = (T)s[j];                                                 \
    }                                                                         \
    for (int64_t i = 1; i < k->n; i++) {                                      \
        const T *const xi = from + i * k->xs, *const ai = factor + i * k->as; \
        T *const oi = to + i * k->os;                                         \
        (void)ai;                                                             \
        for (int64_t j = 0; j < w; j++) {                                     \
            const S x = (S)xi[j * xl], a = (S)ai[j * al], y = s[j];           \
            (void)a;                                                          \
            s[j] = step;                                                      \
            oi[j * ol] = (T)s[j];                                             \
        }                                                                     \
    }

#define TN_SCAN_FOR(target, name, T, S, begin, step)                    \
    target static void name(const tn_i_lanes *k) {                      \
        const T *const from = k->x, *const factor = k->a ? k->a : from; \
        T *const restrict to = k->out;                                  \
        if (k->w == 1) {                                                \
            enum { w = 1, xl = 1, al = 1, ol = 1 };                     \
            S s[w];                                                     \
            TN_SCAN_LANES(T, S, factor, begin, step)                    \
        } else if (k->w == TN_SCAN_ABREAST) {                           \
            enum { w = TN_SCAN_ABREAST };                               \
            const int64_t xl = k->xl, al = k->al, ol = k->ol;           \
            S s[w];                                                     \
            TN_SCAN_LANES(T, S, factor, begin, step)                    \
        } else if (k->xl == 1 && k->al == 1 && k->ol == 1) {            \
            enum { xl = 1, al = 1, ol = 1 };                            \
            const int64_t w = k->w;                                     \
            S s[TN_M_SCAN_WIDTH];                                       \
            TN_SCAN_LANES(T, S, factor, begin, step)                    \
        } else {                                                        \
            const int64_t w = k->w, xl = k->xl, al = k->al, ol = k->ol; \
            S s[TN_M_SCAN_WIDTH];                                       \
            TN_SCAN_LANES(T, S, factor, begin, step)                    \
        }                                                               \
    }

#if TN_HAVE_ISA
#define TN_SCAN(name, T, S, begin, step)                        \
    TN_SCAN_FOR(, name##_plain, T, S, begin, step)              \
    TN_SCAN_FOR(TN_TARGET_AVX2, name##_avx2, T, S, begin, step) \
    static void name(const tn_i_lanes *k) { (tn_i_has_avx2() ? name##_avx2 : name##_plain)(k); }
#else
#define TN_SCAN(name, T, S, begin, step) TN_SCAN_FOR(, name, T, S, begin, step)
#endif

/* Operand x scanned, by the factors of operand a where it is not NULL. */
tn_status tn_i_scan_run(const tn_i_kernel *k, const tn_i_arr *x, const tn_i_arr *a, tn_i_scan *scan);

/* The same as C: `each` makes y of x and, from factors, a, and of what is kept from one element to the next.  In it, j
 * is 0 for the first element. */
typedef struct tn_i_c_state {
    const char *name, *begin;
} tn_i_c_state;
typedef struct tn_i_c_scanned {
    int x, a;                  /* which operand is scanned; which has the factors, or -1 */
    const tn_i_c_state *state; /* up to a NULL name */
    const char *each;
} tn_i_c_scanned;
void tn_i_c_scan(const tn_i_c_kernel *k, const tn_i_c_scanned *s);

/* Parameters and an operand of a scan. */
bool tn_i_sample_lanes(tn_i_rng *r, int dtype, tn_i_case *c);

#endif
