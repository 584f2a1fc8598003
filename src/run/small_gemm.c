/* Small products, and matrices times vectors: cut into what the kernels of small_gemm.h take. */
#include "base/machine.h"
#include "base/parallel.h"
#include "run/small_gemm.h"

#include <unistd.h>

enum { BLOCK_ROWS = 64 }; /* of c, which are made beside it */

const tn_i_small *tn_i_small_kernels(int dtype) {
    if (!tn_i_is_float(dtype)) return NULL;
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return tn_i_small_avx512(dtype);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return tn_i_small_avx2(dtype);
#endif
    return NULL;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void *at(int dtype, const void *data, int64_t by) {
    return (char *)(uintptr_t)data + by * (int64_t)tn_i_dtype_size(dtype);
}

static tn_i_products transposed(const tn_i_products *w) {
    tn_i_products t = *w;
    t.m = w->n;
    t.n = w->m;
    t.a = tn_i_matrix_transposed(w->b);
    t.b = tn_i_matrix_transposed(w->a);
    t.c = tn_i_matrix_transposed(w->c);
    t.anext = w->bnext;
    t.bnext = w->anext;
    t.aahead = w->bahead;
    t.bahead = w->aahead;
    t.triangle = w->triangle == TN_ABOVE ? TN_BELOW : w->triangle == TN_BELOW ? TN_ABOVE : TN_WHOLE;
    return t;
}

/* ---- tiles ------------------------------------------------------------------------ */

/* Of the columns first .. first + width of some rows, what has elements of the triangle, in whole vectors from `first`
 * on; false: nothing. */
static bool narrow(const tn_i_small *s, tn_i_triangle triangle, int64_t row, int64_t rows, int64_t first, int64_t width,
                   int64_t *begin, int64_t *end) {
    *begin = 0;
    *end = width;
    if (triangle == TN_ABOVE && row > first) *begin = (row - first) / s->lanes * s->lanes;
    if (triangle == TN_BELOW) *end = smaller(width, row + rows - first);
    return *begin < *end;
}

/* All rows of one tile's columns, of which `first` is the first. */
static void run_rows(const tn_i_small *s, const tn_i_products *w, int64_t first, tn_i_tile t) {
    const tn_i_tile whole = t;
    const int64_t size = (int64_t)tn_i_dtype_size(w->dtype);
    const int64_t of = tn_i_tile_vectors(s, whole.width);
    int64_t begin, end;
    for (int64_t row = 0, rows; row < w->m; row += rows) {
        rows = tn_i_tile_height(s, of, w->m - row);
        if (!narrow(s, w->triangle, row, rows, first, whole.width, &begin, &end)) continue;
        t.width = end - begin;
        t.a = (const char *)whole.a + row * t.ars * size;
        t.b = (const char *)whole.b + begin * size;
        t.c = (char *)whole.c + (row * t.crs + begin) * size;
        const int64_t vectors = tn_i_tile_vectors(s, t.width);
        (t.width == vectors * s->lanes ? s->full : s->tile)[rows][vectors](&t);
    }
}

typedef union pack {
    char bytes[TN_M_GEMM_TILE_BYTES];
    double align;
} pack;

typedef union apart {
    char bytes[TN_M_GEMM_BESIDE_BYTES];
    double align;
} apart;

/* `count` blocks of b, one after the other with contiguous rows. */
static void pack_rows(const tn_i_small *s, int dtype, int64_t rows, int64_t columns, int64_t count, const void *from,
                      int64_t rs, int64_t cs, int64_t next, void *to) {
    for (int64_t i = 0; i < count; i++) {
        const void *b = at(dtype, from, i * next);
        void *p = at(dtype, to, i * rows * columns);
        if (rs == 1) {
            s->turn(rows, columns, b, cs, p, columns);
            continue;
        }
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < columns; j++)
                if (dtype == TN_F64)
                    ((double *)p)[r * columns + j] = ((const double *)b)[r * rs + j * cs];
                else
                    ((float *)p)[r * columns + j] = ((const float *)b)[r * rs + j * cs];
    }
}

/* How many products are taken together, so that a tile's place is found once for all. */
static int64_t group_of(const tn_i_products *w, int64_t room, int64_t each) {
    if (w->count == 1) return 1;
    const int64_t fit = room / (each * (int64_t)tn_i_dtype_size(w->dtype));
    return smaller(w->count, fit > 1 ? fit : 1);
}

/* Columns first .. first + width of some products, whose c has contiguous rows. */
static void run_columns(const tn_i_small *s, const tn_i_products *w, int64_t first, int64_t width) {
    tn_i_tile t = {.width = width,
                   .k = w->k,
                   .a = w->a.data,
                   .b = at(w->dtype, w->b.data, first * w->b.cs),
                   .c = at(w->dtype, w->c.data, first),
                   .ars = w->a.rs,
                   .acs = w->a.cs,
                   .brs = w->b.rs,
                   .crs = w->c.rs,
                   .count = w->count,
                   .anext = w->anext,
                   .bnext = w->bnext,
                   .cnext = w->cnext,
                   .accumulate = w->accumulate};
    if (w->b.cs == 1) {
        run_rows(s, w, first, t);
        return;
    }
    pack room;
    const int64_t most = TN_M_GEMM_TILE_BYTES / (width * (int64_t)tn_i_dtype_size(w->dtype));
    const int64_t block = smaller(w->k, most), group = group_of(w, TN_M_GEMM_TILE_BYTES, block * width);
    t.brs = width;
    t.b = room.bytes;
    for (int64_t i = 0; i < w->count; i += t.count)
        for (int64_t p = 0; p < w->k; p += t.k) {
            t.count = smaller(group, w->count - i);
            t.k = smaller(block, w->k - p);
            t.bnext = t.k * width;
            t.accumulate = w->accumulate || p > 0;
            t.a = at(w->dtype, w->a.data, i * w->anext + p * w->a.cs);
            t.c = at(w->dtype, w->c.data, i * w->cnext + first);
            pack_rows(s, w->dtype, t.k, width, t.count,
                      at(w->dtype, w->b.data, i * w->bnext + p * w->b.rs + first * w->b.cs), w->b.rs, w->b.cs, w->bnext,
                      room.bytes);
            run_rows(s, w, first, t);
        }
}

void tn_i_add_matrix(int dtype, int64_t m, int64_t n, tn_i_matrix from, tn_i_matrix to) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            if (dtype == TN_F64)
                ((double *)to.data)[i * to.rs + j * to.cs] += ((const double *)from.data)[i * from.rs + j * from.cs];
            else
                ((float *)to.data)[i * to.rs + j * to.cs] += ((const float *)from.data)[i * from.rs + j * from.cs];
}

static void copy_matrix(int dtype, int64_t m, int64_t n, tn_i_matrix from, tn_i_matrix to) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            if (dtype == TN_F64)
                ((double *)to.data)[i * to.rs + j * to.cs] = ((const double *)from.data)[i * from.rs + j * from.cs];
            else
                ((float *)to.data)[i * to.rs + j * to.cs] = ((const float *)from.data)[i * from.rs + j * from.cs];
}

/* No row of c is contiguous: some rows and columns at a time beside it. */
static void run_apart(const tn_i_small *s, const tn_i_products *w, int64_t first, int64_t width) {
    pack room;
    tn_i_products part = *w;
    part.count = 1;
    part.c = (tn_i_matrix){room.bytes, width, 1};
    part.n = width;
    for (int64_t i = 0; i < w->count; i++)
        for (int64_t r = 0; r < w->m; r += part.m) {
            const tn_i_matrix c = {at(w->dtype, w->c.data, i * w->cnext + r * w->c.rs + first * w->c.cs), w->c.rs,
                                   w->c.cs};
            part.m = smaller(BLOCK_ROWS, w->m - r);
            part.a.data = at(w->dtype, w->a.data, i * w->anext + r * w->a.rs);
            part.b.data = at(w->dtype, w->b.data, i * w->bnext + first * w->b.cs);
            if (w->accumulate) copy_matrix(w->dtype, part.m, width, c, part.c);
            run_columns(s, &part, 0, width);
            copy_matrix(w->dtype, part.m, width, part.c, c);
        }
}

/* What is not computed is 0 and not what was in memory: whatever reads it computes with numbers. */
static void clear_others(const tn_i_small *s, const tn_i_products *w) {
    for (int64_t i = 0; w->triangle && !w->accumulate && i < w->count; i++)
        s->clear(w->m, w->n, w->triangle == TN_ABOVE, at(w->dtype, w->c.data, i * w->cnext), w->c.rs);
}

/* Sums in one go, all columns. */
static void run_all(const tn_i_small *s, const tn_i_products *w) {
    clear_others(s, w);
    for (int64_t j = 0, width; j < w->n; j += width) {
        width = tn_i_tile_width(s, w->n - j);
        (w->c.cs == 1 ? run_columns : run_apart)(s, w, j, width);
    }
}

/* One product that is larger than the first cache: some rows at a time, whose part of a stays in the second-level cache
 * while all columns pass, and so much of the sums that a tile's part of b stays in the first. */
static void run_blocks(const tn_i_small *s, const tn_i_products *w) {
    const int64_t size = (int64_t)tn_i_dtype_size(w->dtype), across = smaller(w->n, s->lanes * TN_TILE_VECTORS);
    const int64_t k = TN_M_GEMM_TILE_BYTES / (across * size), m = TN_M_GEMM_PANEL_BYTES / (smaller(k, w->k) * size);
    tn_i_products part = *w;
    for (int64_t i = 0; i < w->m; i += m)
        for (int64_t p = 0; p < w->k; p += k) {
            part.m = smaller(m, w->m - i);
            part.k = smaller(k, w->k - p);
            part.accumulate = w->accumulate || p > 0;
            part.a.data = at(w->dtype, w->a.data, i * w->a.rs + p * w->a.cs);
            part.b.data = at(w->dtype, w->b.data, p * w->b.rs);
            part.c.data = at(w->dtype, w->c.data, i * w->c.rs);
            run_all(s, &part);
        }
}

static void run(const tn_i_small *s, const tn_i_products *w) {
    tn_i_products part = *w;
    const int64_t group = group_of(w, TN_M_GEMM_GROUP_BYTES, w->m * w->k + w->k * w->n + w->m * w->n);
    for (int64_t i = 0; i < w->count; i += group) {
        part.count = smaller(group, w->count - i);
        part.a.data = at(w->dtype, w->a.data, i * w->anext);
        part.b.data = at(w->dtype, w->b.data, i * w->bnext);
        part.c.data = at(w->dtype, w->c.data, i * w->cnext);
        if (part.count > 1 || part.triangle)
            run_all(s, &part);
        else
            run_blocks(s, &part);
    }
}

static bool has_columns(const tn_i_products *t) { return t->b.rs == 1 && (t->n == 1 || t->b.cs != 1); }

/* Sums that are long enough for lanes: longer than those of nests (small_products.c), which are in order. */
static bool fills(const tn_i_products *w) { return w->k > TN_M_PRODUCT_INNER; }

/* A column becomes a row, and c gets contiguous rows, where that can be.  A few rows of a stay as they are where a
 * column of them would have to be packed: that would take longer than what the other lanes could do. */
static bool is_turned(const tn_i_products *w) {
    const bool column = w->n == 1 && w->m > 1 && (w->a.rs == 1 || w->m > TN_TILE_ROWS || (w->a.cs == 1 && fills(w)));
    return column || (w->n > 1 && w->c.cs != 1 && w->c.rs == 1 && w->m > 1);
}

static tn_i_products turned(const tn_i_products *w) {
    tn_i_products t = is_turned(w) ? transposed(w) : *w;
    if (t.n == 1) t.b.cs = t.c.cs = 1;                    /* of one column there is no next */
    if (t.m != t.n || t.c.cs != 1) t.triangle = TN_WHOLE; /* or rows are put together elsewhere */
    return t;
}

/* Some rows and columns, whose longer sums are cut; each part but the first is summed beside c. */
static void run_cut(const tn_i_small *s, const tn_i_products *w) {
    apart room;
    tn_i_products part = *w;
    for (int64_t p = 0; p < w->k; p += TN_M_GEMM_IN_ORDER) {
        const bool add = w->accumulate || p > 0;
        part.accumulate = false;
        part.k = smaller(TN_M_GEMM_IN_ORDER, w->k - p);
        part.a.data = at(w->dtype, w->a.data, p * w->a.cs);
        part.b.data = at(w->dtype, w->b.data, p * w->b.rs);
        part.c = add ? (tn_i_matrix){room.bytes, w->n, 1} : w->c;
        run(s, &part);
        if (add) tn_i_add_matrix(w->dtype, w->m, w->n, part.c, w->c);
    }
}

/* Sums that are longer are cut, so that their errors do not grow with their length. */
static void run_parts(const tn_i_small *s, const tn_i_products *w) {
    const int64_t most = TN_M_GEMM_BESIDE_BYTES / (int64_t)tn_i_dtype_size(w->dtype);
    const int64_t n = smaller(w->n, most / BLOCK_ROWS), m = most / n;
    tn_i_products part = *w;
    part.count = 1;
    if (m < w->m || n < w->n) part.triangle = TN_WHOLE; /* what the other elements are then, too */
    for (int64_t i = 0; i < w->count; i++)
        for (int64_t r = 0; r < w->m; r += m)
            for (int64_t j = 0; j < w->n; j += n) {
                part.m = smaller(m, w->m - r);
                part.n = smaller(n, w->n - j);
                part.a.data = at(w->dtype, w->a.data, i * w->anext + r * w->a.rs);
                part.b.data = at(w->dtype, w->b.data, i * w->bnext + j * w->b.cs);
                part.c.data = at(w->dtype, w->c.data, i * w->cnext + r * w->c.rs + j * w->c.cs);
                run_cut(s, &part);
            }
}

static bool is_little(const tn_i_small *s, int64_t m, int64_t n, int64_t k) {
    const bool most = s->rows[TN_TILE_VECTORS] == TN_TILE_ROWS || m <= 2 * TN_TILE_ROWS;
    return (double)m * (double)n * (double)k <= (most ? TN_M_GEMM_LARGE_WORK : TN_M_GEMM_SMALL_WORK);
}

/* Where the tiles are faster than BLIS with its packing, by measurement (bench/gemm.c): little work, or short rows of
 * b, for which packing a takes long.  Threads do not matter here: what is summed how must not depend on them. */
static bool is_small(const tn_i_small *s, const tn_i_products *w) {
    return w->k == 1 || w->n * (int64_t)tn_i_dtype_size(w->dtype) <= TN_M_GEMM_ROW_BYTES ||
           is_little(s, w->m, w->n, w->k);
}

/* ---- threads ---- */

/* Rows of a product that threads share out. */
typedef struct rows_of {
    const tn_i_small *s;
    const tn_i_products *w;
} rows_of;

enum { PIECE = TN_M_GEMM_PIECE_ROWS };

static void run_piece(void *with, int thread, int64_t first, int64_t last) {
    const rows_of *r = with;
    tn_i_products part = *r->w;
    (void)thread;
    if (first == last) return;
    part.m = smaller(last * PIECE, r->w->m) - first * PIECE;
    part.a.data = at(part.dtype, part.a.data, first * PIECE * part.a.rs);
    part.c.data = at(part.dtype, part.c.data, first * PIECE * part.c.rs);
    (part.k > TN_M_GEMM_IN_ORDER ? run_parts : run)(r->s, &part);
}

/* What each element is summed of, and how, is the same on any number of threads. */
static void run_rows_on(int threads, const tn_i_small *s, const tn_i_products *w) {
    rows_of r = {s, w};
    const int64_t pieces = (w->m + PIECE - 1) / PIECE;
    const double work = (double)w->m * (double)w->n * (double)w->k * (double)w->count;
    const bool many = threads > 1 && pieces > 1 && !w->triangle && work >= TN_M_THREAD_OPERATIONS;
    if (many)
        tn_i_in_pieces((long)getpid(), (uint32_t)threads, pieces, run_piece, &r);
    else
        (w->k > TN_M_GEMM_IN_ORDER ? run_parts : run)(s, w);
}

/* ---- matrices times vectors ------------------------------------------------------- */

/* One row times b, whose columns are contiguous; a row that is not is copied, a piece at a time. */
static void by_dots(const tn_i_small *s, const tn_i_products *w) {
    if (w->a.cs == 1) {
        s->dots(w->k, w->n, w->a.data, w->b.data, w->b.cs, w->accumulate, w->c.data, w->c.cs);
        return;
    }
    pack room;
    const int64_t most = TN_M_GEMM_TILE_BYTES / (int64_t)tn_i_dtype_size(w->dtype);
    for (int64_t p = 0; p < w->k; p += most) {
        const int64_t k = smaller(most, w->k - p);
        copy_matrix(w->dtype, 1, k, (tn_i_matrix){at(w->dtype, w->a.data, p * w->a.cs), 0, w->a.cs},
                    (tn_i_matrix){room.bytes, 0, 1});
        s->dots(k, w->n, room.bytes, at(w->dtype, w->b.data, p), w->b.cs, w->accumulate || p > 0, w->c.data, w->c.cs);
    }
}

static void by_vector(const tn_i_small *s, const tn_i_products *w) {
    tn_i_products t = *w;
    t.count = 1;
    for (int64_t i = 0; i < w->count; i++) {
        t.a.data = at(w->dtype, w->a.data, i * w->anext);
        t.b.data = at(w->dtype, w->b.data, i * w->bnext);
        t.c.data = at(w->dtype, w->c.data, i * w->cnext);
        if (has_columns(&t)) {
            by_dots(s, &t);
        } else if (t.b.cs == 1 && t.c.cs == 1) {
            const uintptr_t ahead = t.bahead && t.b.rs == t.n ? (uintptr_t)t.b.data + (uintptr_t)t.bahead : 0;
            s->add_rows(t.k, t.n, t.a.data, t.a.cs, t.b.data, t.b.rs, t.accumulate, t.c.data, ahead);
        } else {
            run(s, &t);
        }
    }
}

/* ---- choice ----------------------------------------------------------------------- */

static bool is_vector(const tn_i_products *t) {
    return t->m == 1 && t->k > 1 && (t->n > TN_M_GEMM_TINY || t->k > TN_M_GEMM_TINY || (has_columns(t) && fills(t)));
}

bool tn_i_gemm_own(int threads, const tn_i_products *w) {
    const tn_i_small *s = tn_i_small_kernels(w->dtype);
    if (!s || w->m < 1 || w->n < 1 || w->k < 1) return false;
    const tn_i_products t = turned(w);
    if (is_vector(&t))
        by_vector(s, &t);
    else if (!is_small(s, &t))
        return false;
    else if (t.k == 1 && t.count == 1 && !t.accumulate && t.b.cs == 1 && t.c.cs == 1)
        s->outer(t.m, t.n, t.a.data, t.a.rs, t.b.data, t.c.data, t.c.rs);
    else
        run_rows_on(threads, s, &t);
    return true;
}

bool tn_i_gemm_in_order(int dtype, int64_t m, int64_t n, int64_t k) {
    const tn_i_small *s = tn_i_small_kernels(dtype);
    const tn_i_products w = {.k = k};
    if (!s || m < 1 || n < 1 || k < 1 || k > TN_M_GEMM_IN_ORDER) return false;
    if (k == 1) return true;
    return m > 1 && n > 1 ? is_little(s, m, n, k)
                          : m <= TN_M_GEMM_TINY && n <= TN_M_GEMM_TINY && k <= TN_M_GEMM_TINY && !fills(&w);
}

bool tn_i_gemm_in_eights(int dtype, int64_t n) { return n > TN_M_GEMM_TINY && tn_i_small_kernels(dtype); }

bool tn_i_gemm_by_dots(const tn_i_products *w, tn_i_by_dots *d) {
    const tn_i_small *s = tn_i_small_kernels(w->dtype);
    if (!s || w->count != 1 || w->accumulate || w->m < 1 || w->n < 1 || w->k < 1) return false;
    const tn_i_products t = turned(w);
    if (!is_vector(&t) || !has_columns(&t) || t.a.cs != 1) return false;
    *d = (tn_i_by_dots){.kernel = s->dots,
                        .two = s->dots_of_two,
                        .turned = is_turned(w),
                        .k = t.k,
                        .n = t.n,
                        .bcs = t.b.cs,
                        .ys = t.c.cs};
    return true;
}

bool tn_i_gemm_two(const tn_i_products *w, const tn_i_products *other, tn_i_by_dots *d) {
    tn_i_by_dots e;
    return tn_i_gemm_by_dots(w, d) && tn_i_gemm_by_dots(other, &e) && d->kernel == e.kernel && d->turned == e.turned &&
           d->k == e.k && d->n == e.n && d->bcs == e.bcs && d->n > 1 && d->ys == 1 && e.ys == 1;
}

bool tn_i_mirror(size_t size, int64_t n, bool lower, const void *from, int64_t rs, void *to) {
    const tn_i_small *s = size == sizeof(double)  ? tn_i_small_kernels(TN_F64)
                          : size == sizeof(float) ? tn_i_small_kernels(TN_F32)
                                                  : NULL;
    if (s) s->mirror(n, lower, from, rs, to);
    return s != NULL;
}
