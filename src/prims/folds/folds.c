/* Reductions as C, in the order of loop/loop.h.
 *
 * The state are numbers, TN_LANES of them and the entries of the counter, level by level, and how many elements there
 * were; of arg folds the best number, how many, and which it was. */
#include "prims/c_text.h"

#include <string.h>

/* clang-format off */
#define FOLD(NAME, FIRST, JOINED)                                                                    \
    TN_C_ONLY(                                                                                       \
        fold_##NAME, static T tn_i_##NAME##_T(T x, T y) { return JOINED; })                          \
    TN_C_ONLY(                                                                                       \
        enter_##NAME, static void tn_i_enter_##NAME##_T(T *s, uint64_t leaf) {                       \
            int height = 0;                                                                          \
            for (int half = 8; half > 0; half /= 2)                                                  \
                for (int l = 0; l < half; l++) s[l] = tn_i_##NAME##_T(s[l], s[l + half]);            \
            for (uint64_t i = leaf; i; i &= i - 1) height++;                                         \
            T x = s[0];                                                                              \
            for (uint64_t i = leaf; i & 1; i >>= 1) {                                                \
                height--;                                                                            \
                x = tn_i_##NAME##_T(s[16 + height], x);                                              \
            }                                                                                        \
            s[16 + height] = x;                                                                      \
        })                                                                                           \
    TN_C_ONLY(                                                                                       \
        into_##NAME, static void tn_i_into_##NAME##_T(T *s, uint64_t *n, T x) {                      \
            if (*n % 512 == 0) {                                                                     \
                if (*n) tn_i_enter_##NAME##_T(s, *n / 512 - 1);                                      \
                for (int l = 0; l < 16; l++) s[l] = FIRST;                                           \
            }                                                                                        \
            s[*n % 16] = tn_i_##NAME##_T(s[*n % 16], x);                                             \
            ++*n;                                                                                    \
        })                                                                                           \
    TN_C_ONLY(                                                                                       \
        total_##NAME, static T tn_i_total_##NAME##_T(const T *s, uint64_t n) {                       \
            T lane[16];                                                                              \
            int height = 0;                                                                          \
            if (n == 0) return FIRST;                                                                \
            for (int l = 0; l < 16; l++) lane[l] = s[l];                                             \
            for (int half = 8; half > 0; half /= 2)                                                  \
                for (int l = 0; l < half; l++) lane[l] = tn_i_##NAME##_T(lane[l], lane[l + half]);   \
            for (uint64_t i = (n - 1) / 512; i; i &= i - 1) height++;                                \
            while (height > 0) {                                                                     \
                height--;                                                                            \
                lane[0] = tn_i_##NAME##_T(s[16 + height], lane[0]);                                  \
            }                                                                                        \
            return lane[0];                                                                          \
        })
FOLD(sum, 0, (T)((U)x + (U)y))
FOLD(prod, 1, (T)((U)x *(U)y))
FOLD(most, LOWEST, y > x ? y : x)
FOLD(least, HIGHEST, y < x ? y : x)
FOLD(mostnan, LOWEST, y > x || y != y ? y : x)
FOLD(leastnan, HIGHEST, y < x || y != y ? y : x)

#define FIND(NAME, BETTER)                                                                                \
    TN_C_ONLY(                                                                                            \
        into_##NAME, static void tn_i_into_##NAME##_T(T *best, uint64_t *n, int64_t *at, T x) {           \
            if (*n == 0 || (BETTER)) {                                                                    \
                *best = x;                                                                                \
                *at = (int64_t)*n;                                                                        \
            }                                                                                             \
            ++*n;                                                                                         \
        })
FIND(argmost, x > *best)
FIND(argleast, x < *best)
FIND(argmostnan, *best == *best && (x != x || x > *best))
FIND(argleastnan, *best == *best && (x != x || x < *best))

#define ROWS(NAME)                                                                      \
    {"tn_i_" #NAME "_T", fold_##NAME}, {"tn_i_enter_" #NAME "_T", enter_##NAME},        \
        {"tn_i_into_" #NAME "_T", into_##NAME}, {"tn_i_total_" #NAME "_T", total_##NAME}
const tn_i_c_helper tn_i_fold_helpers[] = {ROWS(sum),
                                             ROWS(prod),
                                             ROWS(most),
                                             ROWS(least),
                                             ROWS(mostnan),
                                             ROWS(leastnan),
                                             {"tn_i_into_argmost_T", into_argmost},
                                             {"tn_i_into_argleast_T", into_argleast},
                                             {"tn_i_into_argmostnan_T", into_argmostnan},
                                             {"tn_i_into_argleastnan_T", into_argleastnan},
                                             {NULL, NULL}};
/* clang-format on */

const char *tn_i_fold_name(int fold, int dtype, char name[32]) {
    static const char *const base[] = {
        [TN_FOLD_SUM] = "sum",   [TN_FOLD_PROD] = "prod",      [TN_FOLD_MAX] = "most",
        [TN_FOLD_MIN] = "least", [TN_FOLD_ARGMAX] = "argmost", [TN_FOLD_ARGMIN] = "argleast"};
    const bool nan = tn_i_is_float(dtype) && fold >= TN_FOLD_MAX;
    name[0] = 0;
    return strcat(strcat(strcat(strcat(name, base[fold]), nan ? "nan" : ""), "_"), tn_i_c_suffix(dtype));
}
