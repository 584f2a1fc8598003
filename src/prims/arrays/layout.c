#include "base/machine.h"
#include "prims/arrays/layout.h"

#include <string.h>

#ifdef __GNUC__
typedef uint16_t __attribute__((may_alias)) tn_i_short;
typedef uint32_t __attribute__((may_alias)) tn_i_word; /* elements of any dtype of this size */
typedef uint64_t __attribute__((may_alias)) tn_i_long;
#else
typedef uint16_t tn_i_short;
typedef uint32_t tn_i_word;
typedef uint64_t tn_i_long;
#endif

/* ---- rows --------------------------------------------------------------------- */

/* memcpy of one element, because the walk does not know the element's type. */
#define COPY_ROW(size, type)                                                                            \
    static void copy_##size(int64_t n, const void *src, int64_t ss, void *dst, int64_t ds) {            \
        const char *s = src;                                                                            \
        char *d = dst;                                                                                  \
        if (ss == 1 && ds == 1)                                                                         \
            memcpy(d, s, (size_t)n *size);                                                              \
        else if (ss == 0 && ds == 1) {                                                                  \
            const type x = *(const type *)src;                                                          \
            for (int64_t i = 0; i < n; i++) ((type *)dst)[i] = x;                                       \
        } else { /* four at a time: one is a loop so short that it matters where it lies in memory */   \
            int64_t i = 0;                                                                              \
            for (; i + 4 <= n; i += 4)                                                                  \
                for (int64_t k = i; k < i + 4; k++) memcpy(d + k * ds * size, s + k * ss * size, size); \
            for (; i < n; i++) memcpy(d + i * ds * size, s + i * ss * size, size);                      \
        }                                                                                               \
    }
COPY_ROW(1, unsigned char)
COPY_ROW(2, tn_i_short)
COPY_ROW(4, tn_i_word)
COPY_ROW(8, tn_i_long)

tn_i_row *tn_i_copy_row(size_t size) { return size == 1 ? copy_1 : size == 2 ? copy_2 : size == 4 ? copy_4 : copy_8; }

#define ADD_ROW(name, type, wide)                                                              \
    static void add_##name(int64_t n, const void *src, int64_t ss, void *dst, int64_t ds) {    \
        const type *s = src;                                                                   \
        type *d = dst;                                                                         \
        for (int64_t i = 0; i < n; i++) d[i * ds] = (type)((wide)d[i * ds] + (wide)s[i * ss]); \
    }
ADD_ROW(f32, float, float)
ADD_ROW(f64, double, double)
ADD_ROW(i32, int32_t, uint32_t)
ADD_ROW(i64, int64_t, uint64_t)
ADD_ROW(u32, uint32_t, uint32_t)

tn_i_row *tn_i_add_row(int dtype) {
    switch (dtype) {
    case TN_F32: return add_f32;
    case TN_F64: return add_f64;
    case TN_I32: return add_i32;
    case TN_I64: return add_i64;
    case TN_U32: return add_u32;
    default: return NULL;
    }
}

/* Short rows, without a call for each: dimensions d and d + 1 of a walk. */
#define COPY_ROWS(size, type)                                                        \
    static void rows_##size(const tn_i_walk *w, int d, const void *src, void *dst) { \
        const int64_t n = w->dim[d + 1], ss = w->src[d + 1], ds = w->dst[d + 1];     \
        for (int64_t r = 0; r < w->dim[d]; r++) {                                    \
            const type *s = (const type *)src + r * w->src[d];                       \
            type *o = (type *)dst + r * w->dst[d];                                   \
            if (ss == 1 && ds == 1)                                                  \
                for (int64_t i = 0; i < n; i++) o[i] = s[i];                         \
            else                                                                     \
                for (int64_t i = 0; i < n; i++) o[i * ds] = s[i * ss];               \
        }                                                                            \
    }
COPY_ROWS(4, tn_i_word)
COPY_ROWS(8, tn_i_long)

/* ---- walks --------------------------------------------------------------------- */

void tn_i_walk_init(tn_i_walk *w, int rank, const int64_t *dim, const int64_t *src, const int64_t *dst) {
    w->empty = false;
    w->rank = 0;
    for (int i = 0; i < rank; i++) {
        if (dim[i] == 0) w->empty = true;
        if (dim[i] == 1) continue;
        int last = w->rank - 1;
        if (last >= 0 && !w->empty && w->src[last] == src[i] * dim[i] && w->dst[last] == dst[i] * dim[i]) {
            w->dim[last] *= dim[i];
            w->src[last] = src[i];
            w->dst[last] = dst[i];
            continue;
        }
        w->dim[w->rank] = dim[i];
        w->src[w->rank] = src[i];
        w->dst[w->rank] = dst[i];
        w->rank++;
    }
}

/* Copies of short rows; false: not such. */
static bool copy_short(const tn_i_walk *w, tn_i_row *row, const void *src, void *dst) {
    void (*rows)(const tn_i_walk *, int, const void *, void *) = row == copy_8 ? rows_8 : row == copy_4 ? rows_4 : NULL;
    if (!rows || w->rank < 2 || w->rank > 3 || w->dim[w->rank - 1] > TN_M_SHORT_LOOP) return false;
    const size_t size = row == copy_8 ? 8 : 4;
    const int64_t n = w->rank == 3 ? w->dim[0] : 1;
    for (int64_t i = 0; i < n; i++)
        rows(w, w->rank - 2, tn_i_at(src, size, i * w->src[0] * (w->rank == 3)),
             tn_i_at_mut(dst, size, i * w->dst[0] * (w->rank == 3)));
    return true;
}

/* ---- transposes ------------------------------------------------------------------- */

/* In tiles, so that what is read of a line of memory is used while it is there: n columns of m elements each become
 * rows.  ss: from one column to the next, ds: from one row to the next. */
#define COPY_TILE(size, type)                                                                           \
    static void tile_##size(int64_t n, int64_t m, const void *src, int64_t ss, void *dst, int64_t ds) { \
        const type *s = src;                                                                            \
        type *o = dst;                                                                                  \
        if (n == TN_M_COPY_TILE && m == TN_M_COPY_TILE)                                                 \
            for (int64_t j = 0; j < TN_M_COPY_TILE; j++)                                                \
                for (int64_t i = 0; i < TN_M_COPY_TILE; i++) o[j * ds + i] = s[i * ss + j];             \
        else                                                                                            \
            for (int64_t j = 0; j < m; j++)                                                             \
                for (int64_t i = 0; i < n; i++) o[j * ds + i] = s[i * ss + j];                          \
    }
COPY_TILE(1, unsigned char)
COPY_TILE(4, tn_i_word)
COPY_TILE(8, tn_i_long)

typedef void tile_fn(int64_t n, int64_t m, const void *src, int64_t ss, void *dst, int64_t ds);

/* Dimension d is the innermost one of the source, the last one that of the result: for one index of all others. */
static void copy_tiles(const tn_i_walk *w, int d, tile_fn *tile, size_t size, const void *src, void *dst) {
    const int last = w->rank - 1;
    const int64_t n = w->dim[last], m = w->dim[d], ss = w->src[last], ds = w->dst[d];
    for (int64_t j = 0; j < m; j += TN_M_COPY_TILE)
        for (int64_t i = 0; i < n; i += TN_M_COPY_TILE)
            tile(n - i < TN_M_COPY_TILE ? n - i : TN_M_COPY_TILE, m - j < TN_M_COPY_TILE ? m - j : TN_M_COPY_TILE,
                 tn_i_at(src, size, i * ss + j), ss, tn_i_at_mut(dst, size, j * ds + i), ds);
}

/* Copies that transpose; false: not such. */
static bool copy_transposed(const tn_i_walk *w, tn_i_row *row, size_t size, const void *src, void *dst) {
    tile_fn *tile = row == copy_8 ? tile_8 : row == copy_4 ? tile_4 : row == copy_1 ? tile_1 : NULL;
    const int last = w->rank - 1;
    int d = last - 1;
    if (!tile || last < 1 || w->dst[last] != 1 || w->src[last] == 1 || w->src[last] == 0) return false;
    while (d >= 0 && w->src[d] != 1) d--;
    if (d < 0) return false;
    int64_t at[TN_MAX_RANK] = {0}, from = 0, to = 0;
    for (;;) {
        copy_tiles(w, d, tile, size, tn_i_at(src, size, from), tn_i_at_mut(dst, size, to));
        int k = last - 1;
        for (; k >= 0; k--) {
            if (k == d) continue;
            from += w->src[k];
            to += w->dst[k];
            if (++at[k] < w->dim[k]) break;
            from -= w->src[k] * w->dim[k];
            to -= w->dst[k] * w->dim[k];
            at[k] = 0;
        }
        if (k < 0) return true;
    }
}

void tn_i_walk_run(const tn_i_walk *w, tn_i_row *row, size_t size, const void *src, void *dst) {
    if (w->empty || copy_short(w, row, src, dst) || copy_transposed(w, row, size, src, dst)) return;
    const int inner = w->rank - 1;
    const int64_t n = inner < 0 ? 1 : w->dim[inner], ss = inner < 0 ? 1 : w->src[inner],
                  ds = inner < 0 ? 1 : w->dst[inner];
    if (inner <= 0) {
        row(n, src, ss, dst, ds);
        return;
    }
    int64_t at[TN_MAX_RANK] = {0}, from = 0, to = 0;
    for (;;) {
        row(n, tn_i_at(src, size, from), ss, tn_i_at_mut(dst, size, to), ds);
        int d = inner - 1;
        for (; d >= 0; d--) {
            from += w->src[d];
            to += w->dst[d];
            if (++at[d] < w->dim[d]) break;
            from -= w->src[d] * w->dim[d];
            to -= w->dst[d] * w->dim[d];
            at[d] = 0;
        }
        if (d < 0) return;
    }
}

void tn_i_dense_strides(const tn_type *t, int64_t *stride) {
    int64_t s = 1;
    for (int i = t->rank; i-- > 0;) {
        stride[i] = s;
        if (t->dim[i] > 0) s *= t->dim[i]; /* one step where there are steps */
    }
}

void tn_i_copy_array(const tn_i_arr *in, const tn_i_arr *out) {
    const size_t size = tn_i_dtype_size(out->type->dtype);
    int64_t dense[TN_MAX_RANK];
    tn_i_walk w;
    tn_i_dense_strides(out->type, dense);
    tn_i_walk_init(&w, out->type->rank, out->type->dim, in->stride, dense);
    tn_i_walk_run(&w, tn_i_copy_row(size), size, in->data, out->data);
}
