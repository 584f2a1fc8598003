/* Products of operands that no two strides describe, as windows of an array: elements of a are read where they are,
 * through an offset of their row and one of their place in the sum (as in Dukhan, "The Indirect Convolution Algorithm",
 * 2019); b, which has the fewer columns, is packed, once for the places of one part of the sums. */
#include "base/machine.h"
#include "base/parallel.h"
#include "prims/linear/indirect.h"
#include "run/small_gemm.h"

#include <string.h>
#include <unistd.h>

/* Rows of c at a time, bytes of a row of it, which may be made beside it, and the most columns of a tile. */
enum { ROWS = TN_M_GEMM_INDIRECT_ROWS, ROW_BYTES = TN_M_GEMM_INDIRECT_PACKED, MOST_WIDTH = ROW_BYTES / sizeof(float) };

typedef struct indirect {
    const tn_i_small *s;
    tn_i_indirect w; /* m >= n */
    tn_i_matrix c;
    int64_t size, most; /* of an element; columns at a time */
    int64_t *inner[2];  /* of the places in this part of the sums: where they are in each operand */
    char *packed;       /* b, tile by tile */
    int64_t first, k;   /* this part of the sums */
    int64_t column, n;  /* these columns */
} indirect;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t up_to(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

static bool is_run(const int64_t *at, int64_t n) {
    for (int64_t i = 1; i < n; i++)
        if (at[i] != at[i - 1] + 1) return false;
    return true;
}

/* ---- b ---------------------------------------------------------------------------------------------------- */

/* Columns of a tile, which are at these offsets: row by row where they are side by side, so that they are read as they
 * are.  Rows are padded with zeros to whole vectors. */
#define PACK(name, type)                                                                                   \
    static void name(const indirect *z, const int64_t *column, int64_t width, int64_t ld, type *to) {      \
        const type *const from = z->w.b;                                                                   \
        if (is_run(column, width))                                                                         \
            for (int64_t p = 0; p < z->k; p++)                                                             \
                for (int64_t j = 0; j < width; j++) to[p * ld + j] = from[z->inner[1][p] + column[0] + j]; \
        else                                                                                               \
            for (int64_t j = 0; j < width; j++)                                                            \
                for (int64_t p = 0; p < z->k; p++) to[p * ld + j] = from[z->inner[1][p] + column[j]];      \
        for (int64_t p = 0; width < ld && p < z->k; p++)                                                   \
            memset(to + p * ld + width, 0, (size_t)(ld - width) * sizeof *to);                             \
    }
PACK(pack_f32, float)
PACK(pack_f64, double)

static void pack(const indirect *z) {
    int64_t column[MOST_WIDTH];
    char *to = z->packed;
    tn_i_cursor at;
    tn_i_cursor_start(&at, &z->w.columns, z->column);
    for (int64_t j = 0, width; j < z->n; j += width) {
        width = tn_i_tile_width(z->s, z->n - j);
        const int64_t ld = up_to(width, z->s->lanes);
        for (int64_t i = 0; i < width; i++, tn_i_cursor_next(&at)) column[i] = at.offset;
        if (z->w.dtype == TN_F64)
            pack_f64(z, column, width, ld, (double *)(void *)to);
        else
            pack_f32(z, column, width, ld, (float *)(void *)to);
        to += z->k * ld * z->size;
    }
}

/* ---- c ---------------------------------------------------------------------------------------------------- */

typedef union beside {
    char bytes[ROWS * ROW_BYTES];
    double align;
} beside;

/* m rows that were made beside c, from row i on; along what is contiguous in c. */
static void leave(const indirect *z, int64_t i, int64_t m, beside *made) {
    const tn_i_matrix to = {(char *)z->c.data + (i * z->c.rs + z->column * z->c.cs) * z->size, z->c.rs, z->c.cs};
    const tn_i_matrix from = {made, z->n, 1};
    if (z->c.cs == 1)
        tn_i_add_matrix(z->w.dtype, m, z->n, from, to);
    else if (z->first == 0)
        z->s->turn(z->n, m, made, z->n, to.data, to.cs);
    else
        tn_i_add_matrix(z->w.dtype, z->n, m, tn_i_matrix_transposed(from), tn_i_matrix_transposed(to));
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static void tiles(const indirect *z, const int64_t *row, int64_t m, int64_t p, int64_t k, bool accumulate, char *c,
                  int64_t crs) {
    const char *b = z->packed;
    for (int64_t j = 0, width; j < z->n; j += width) {
        width = tn_i_tile_width(z->s, z->n - j);
        const int64_t vectors = tn_i_tile_vectors(z->s, width), ld = vectors * z->s->lanes;
        tn_i_tile t = {.width = width,
                       .k = k,
                       .a = z->w.a,
                       .b = b + p * ld * z->size,
                       .brs = ld,
                       .crs = crs,
                       .inner = z->inner[0] + p,
                       .accumulate = accumulate};
        for (int64_t i = 0, rows; i < m; i += rows) {
            rows = tn_i_tile_height(z->s, vectors, m - i);
            t.row = row + i;
            t.c = c + (i * crs + j) * z->size;
            z->s->indirect[rows][vectors](&t);
        }
        b += z->k * ld * z->size;
    }
}

static void run_blocks(void *with, int thread, int64_t first, int64_t last) {
    const indirect *z = with;
    beside made;
    int64_t row[ROWS];
    const int64_t end = smaller(last * ROWS, z->w.m),
                  block = TN_M_GEMM_TILE_BYTES / (z->s->lanes * TN_TILE_VECTORS * z->size);
    const bool there = z->first == 0 && z->c.cs == 1;
    tn_i_cursor at;
    (void)thread;
    if (first == last) return;
    tn_i_cursor_start(&at, &z->w.rows, first * ROWS);
    for (int64_t i = first * ROWS; i < end; i += ROWS) {
        const int64_t m = smaller(ROWS, end - i), crs = there ? z->c.rs : z->n;
        char *const c = there ? (char *)z->c.data + (i * z->c.rs + z->column) * z->size : made.bytes;
        for (int64_t r = 0; r < m; r++, tn_i_cursor_next(&at)) row[r] = at.offset;
        for (int64_t p = 0; p < z->k; p += block) tiles(z, row, m, p, smaller(block, z->k - p), p > 0, c, crs);
        if (!there) leave(z, i, m, &made);
    }
}

/* ---- all -------------------------------------------------------------------------------------------------- */

static void find_inner(indirect *z) {
    for (int side = 0; side < 2; side++) {
        tn_i_cursor at;
        tn_i_cursor_start(&at, &z->w.inner[side], z->first);
        for (int64_t p = 0; p < z->k; p++, tn_i_cursor_next(&at)) z->inner[side][p] = at.offset;
    }
}

static void run_part(indirect *z) {
    const int64_t blocks = (z->w.m + ROWS - 1) / ROWS;
    find_inner(z);
    for (z->column = 0; z->column < z->w.n; z->column += z->n) {
        z->n = smaller(z->most, z->w.n - z->column);
        pack(z);
        const bool many = (double)z->w.m * (double)z->n * (double)z->k >= TN_M_THREAD_OPERATIONS;
        if (z->w.threads > 1 && blocks > 1 && many)
            tn_i_in_pieces((long)getpid(), (uint32_t)z->w.threads, blocks, run_blocks, z);
        else
            run_blocks(z, 0, 0, blocks);
    }
}

static tn_i_indirect transposed(const tn_i_indirect *w) {
    tn_i_indirect t = *w;
    t.m = w->n;
    t.n = w->m;
    t.rows = w->columns;
    t.columns = w->rows;
    t.inner[0] = w->inner[1];
    t.inner[1] = w->inner[0];
    t.a = w->b;
    t.b = w->a;
    return t;
}

static bool is_thin(int dtype, int64_t m, int64_t n) {
    return smaller(m, n) > 1 && smaller(m, n) * (int64_t)tn_i_dtype_size(dtype) <= TN_M_GEMM_INDIRECT_BYTES;
}

static int64_t columns_at_once(int dtype) { return ROW_BYTES / (int64_t)tn_i_dtype_size(dtype); }

size_t tn_i_gemm_indirect_scratch(int dtype, int64_t m, int64_t n, int64_t k) {
    enum { VECTOR = 64 }; /* bytes of the longest */
    const int64_t size = (int64_t)tn_i_dtype_size(dtype), part = smaller(k, TN_M_GEMM_IN_ORDER);
    if (!is_thin(dtype, m, n)) return 0;
    const int64_t row = up_to(smaller(columns_at_once(dtype), smaller(m, n)) * size, VECTOR);
    return (size_t)part * (2 * sizeof(int64_t) + (size_t)row);
}

bool tn_i_gemm_has_indirect(int dtype) { return tn_i_small_kernels(dtype) != NULL; }

bool tn_i_gemm_indirect(const tn_i_indirect *w) {
    const tn_i_small *s = tn_i_small_kernels(w->dtype);
    if (!s || !is_thin(w->dtype, w->m, w->n)) return false;
    const bool turned = w->m < w->n;
    indirect z = {.s = s,
                  .w = turned ? transposed(w) : *w,
                  .c = turned ? (tn_i_matrix){w->c, 1, w->n} : (tn_i_matrix){w->c, w->n, 1},
                  .size = (int64_t)tn_i_dtype_size(w->dtype),
                  .most = columns_at_once(w->dtype)};
    const int64_t part = smaller(w->k, TN_M_GEMM_IN_ORDER);
    z.inner[0] = w->scratch;
    z.inner[1] = z.inner[0] + part;
    z.packed = (char *)(z.inner[1] + part);
    for (; z.first < w->k; z.first += z.k) {
        z.k = smaller(TN_M_GEMM_IN_ORDER, w->k - z.first);
        run_part(&z);
    }
    return true;
}
