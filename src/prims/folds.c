/* Reductions as C, in the order of exec/nest.h: elements are collected until they are a leaf. */
#include "prims/c_text.h"

#include <string.h>

#define FOLD(NAME, FIRST, JOINED)                                                                  \
    TN_C_ONLY(                                                                                     \
        join_##NAME, static T join_##NAME##_T(T a, T b) { return JOINED; })                        \
    TN_C_ONLY(                                                                                     \
        fold_##NAME,                                                                               \
        typedef struct NAME##_T {                                                                  \
            T at[512];                                                                             \
            T tree[48];                                                                            \
            int64_t n;                                                                             \
            uint64_t leaves;                                                                       \
            int top;                                                                               \
        } NAME##_T;                                                                                \
        static void begin_##NAME##_T(NAME##_T *f) {                                                \
            f->n = 0;                                                                              \
            f->leaves = 0;                                                                         \
            f->top = 0;                                                                            \
        } static void leaf_##NAME##_T(NAME##_T *f) {                                               \
            T lane[16];                                                                            \
            int64_t i;                                                                             \
            for (int l = 0; l < 16; l++) lane[l] = FIRST;                                          \
            for (i = 0; i + 16 <= f->n; i += 16)                                                   \
                for (int l = 0; l < 16; l++) lane[l] = join_##NAME##_T(lane[l], f->at[i + l]);     \
            for (int l = 0; i + l < f->n; l++) lane[l] = join_##NAME##_T(lane[l], f->at[i + l]);   \
            for (int half = 8; half > 0; half /= 2)                                                \
                for (int l = 0; l < half; l++) lane[l] = join_##NAME##_T(lane[l], lane[l + half]); \
            f->tree[f->top++] = lane[0];                                                           \
            f->leaves++;                                                                           \
            for (uint64_t k = f->leaves; !(k & 1); k >>= 1) {                                      \
                f->top--;                                                                          \
                f->tree[f->top - 1] = join_##NAME##_T(f->tree[f->top - 1], f->tree[f->top]);       \
            }                                                                                      \
            f->n = 0;                                                                              \
        } static void add_##NAME##_T(NAME##_T *f, T x) {                                           \
            f->at[f->n++] = x;                                                                     \
            if (f->n == 512) leaf_##NAME##_T(f);                                                   \
        } static T end_##NAME##_T(NAME##_T *f) {                                                   \
            if (f->n || !f->leaves) leaf_##NAME##_T(f);                                            \
            for (; f->top > 1; f->top--)                                                           \
                f->tree[f->top - 2] = join_##NAME##_T(f->tree[f->top - 2], f->tree[f->top - 1]);   \
            return f->tree[0];                                                                     \
        })

FOLD(sum, 0, (T)((U)a + (U)b))
FOLD(prod, 1, (T)((U)a *(U)b))
FOLD(max, LOWEST, b > a ? b : a)
FOLD(min, HIGHEST, b < a ? b : a)
FOLD(maxnan, LOWEST, b > a || b != b ? b : a)
FOLD(minnan, HIGHEST, b < a || b != b ? b : a)

#define FIND(NAME, BETTER)                               \
    TN_C_ONLY(                                           \
        fold_##NAME,                                     \
        typedef struct NAME##_T {                        \
            T best;                                      \
            int64_t at;                                  \
            int64_t n;                                   \
        } NAME##_T;                                      \
        static void begin_##NAME##_T(NAME##_T *f) {      \
            f->at = 0;                                   \
            f->n = 0;                                    \
        } static void add_##NAME##_T(NAME##_T *f, T x) { \
            if (f->n == 0 || (BETTER)) {                 \
                f->best = x;                             \
                f->at = f->n;                            \
            }                                            \
            f->n++;                                      \
        } static int64_t end_##NAME##_T(const NAME##_T *f) { return f->at; })
FIND(argmax, x > f->best)
FIND(argmin, x < f->best)
FIND(argmaxnan, f->best == f->best && (x != x || x > f->best))
FIND(argminnan, f->best == f->best && (x != x || x < f->best))

#define ROW(NAME) \
    {"join_" #NAME "_T", join_##NAME}, { #NAME "_T", fold_##NAME }
const tn_i_c_helper tn_i_fold_helpers[] = {ROW(sum),
                                           ROW(prod),
                                           ROW(max),
                                           ROW(min),
                                           ROW(maxnan),
                                           ROW(minnan),
                                           {"argmax_T", fold_argmax},
                                           {"argmin_T", fold_argmin},
                                           {"argmaxnan_T", fold_argmaxnan},
                                           {"argminnan_T", fold_argminnan},
                                           {NULL, NULL}};

void tn_i_fold_name(tn_i_fold fold, int dtype, char name[32]) {
    static const char *const base[] = {[TN_FOLD_SUM] = "sum", [TN_FOLD_PROD] = "prod",     [TN_FOLD_MAX] = "max",
                                       [TN_FOLD_MIN] = "min", [TN_FOLD_ARGMAX] = "argmax", [TN_FOLD_ARGMIN] = "argmin"};
    const bool nan = tn_i_is_float(dtype) && fold >= TN_FOLD_MAX;
    name[0] = 0;
    strcat(strcat(strcat(strcat(name, base[fold]), nan ? "nan" : ""), "_"), tn_i_c_suffix(dtype));
}
