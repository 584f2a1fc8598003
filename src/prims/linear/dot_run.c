/* Running dot_general: which products of matrices one of any dimensions is, and in which order. */
#include "base/machine.h"
#include "prims/linear/dot.h"
#include "prims/arrays/layout.h"
#include "prims/linear/indirect.h"
#include "prims/linear/product.h"

#include <string.h>

/* One product of the batch: rows, columns and contracted dimensions, joined as far as the
 * strides allow.  The contracted ones have a stride in each operand. */
typedef struct product {
    int dtype, threads;
    int64_t m, n, k;
    tn_i_dims rows, columns, inner[2];
    int64_t ahead[2]; /* as a kernel has it */
    tn_i_triangle triangle;
    void *scratch, *pack[2]; /* the same memory */
    void *beside;            /* where sums are cut into parts: one of them */
    bool indirect;           /* by tn_i_gemm_indirect, if it is not one product of matrices */
} product;

/* Contracted pairs may come in any order: the lhs's order in memory joins most. */
static void inner_dims(const tn_i_kernel *k, const tn_i_dots *d, tn_i_dims inner[2]) {
    unsigned left = tn_i_dots_contracted(d, 0);
    inner[0].n = inner[1].n = 0;
    for (uint32_t i = 0; i < d->ncontract; i++) {
        uint32_t best = 0;
        int64_t most = -1;
        for (uint32_t j = 0; j < d->ncontract; j++) {
            const int64_t at = d->contract[0][j], stride = k->in[0].stride[at];
            if (!(left >> at & 1) || (stride < 0 ? -stride : stride) <= most) continue;
            most = stride < 0 ? -stride : stride;
            best = j;
        }
        left &= ~(1u << d->contract[0][best]);
        const int64_t size = k->in[0].type->dim[d->contract[0][best]];
        if (size == 1) continue;
        const int64_t s[2] = {k->in[0].stride[d->contract[0][best]], k->in[1].stride[d->contract[1][best]]};
        const int last = inner[0].n - 1;
        bool joins = last >= 0;
        for (int side = 0; side < 2 && joins; side++) joins = inner[side].stride[last] == s[side] * size;
        for (int side = 0; side < 2; side++) {
            if (!joins) {
                tn_i_dims_push(&inner[side], size, s[side]);
                continue;
            }
            inner[side].size[last] *= size;
            inner[side].stride[last] = s[side];
        }
    }
}

/* Takes the largest dimension, of these the last, out of d, as size and stride. */
static int64_t take_largest(tn_i_dims *d, int64_t *stride) {
    int at = 0;
    *stride = 1;
    if (d->n == 0) return 1;
    for (int i = 1; i < d->n; i++)
        if (d->size[i] >= d->size[at]) at = i;
    const int64_t size = d->size[at];
    *stride = d->stride[at];
    d->size[at] = 1;
    return size;
}

/* Row-major strides of dimensions whose innermost one has the stride `unit`. */
static tn_i_dims dense_like(const tn_i_dims *d, int64_t unit) {
    tn_i_dims dense = *d;
    for (int i = d->n - 1; i >= 0; i--) {
        dense.stride[i] = unit;
        unit *= d->size[i];
    }
    return dense;
}

static void *shifted(int dtype, void *data, int64_t by) { return (char *)data + by * (int64_t)tn_i_dtype_size(dtype); }

/* Dimensions of a product: of its operands, and of the result. */
typedef struct parts_of {
    tn_i_dims rows, columns, inner[2], out_rows, out_columns;
} parts_of;

/* The largest dimension of each kind goes into `all`; the number of positions that the others have is returned. */
static int64_t take_matrices(const product *w, parts_of *d, tn_i_products *all) {
    *d = (parts_of){.rows = w->rows, .columns = w->columns, .inner = {w->inner[0], w->inner[1]}};
    d->out_rows = dense_like(&d->rows, w->n);
    d->out_columns = dense_like(&d->columns, 1);
    all->m = take_largest(&d->rows, &all->a.rs);
    all->n = take_largest(&d->columns, &all->b.cs);
    all->k = take_largest(&d->inner[0], &all->a.cs);
    (void)take_largest(&d->inner[1], &all->b.rs); /* the same one: the sizes are equal */
    (void)take_largest(&d->out_rows, &all->c.rs);
    (void)take_largest(&d->out_columns, &all->c.cs);
    all->triangle = w->m == w->n && all->m == w->m && all->n == w->n ? w->triangle : TN_WHOLE;
    return tn_i_dims_count(&d->rows) * tn_i_dims_count(&d->columns) * tn_i_dims_count(&d->inner[0]);
}

/* Rows or columns are contiguous: it is read as it stands. */
static bool is_plain(const tn_i_matrix *a) { return a->rs == 1 || a->cs == 1; }

/* A product for each position of all other dimensions, `calls` in all, takes less than one through offsets, or one of
 * packed blocks; whatever the size of the batch, so that each product has the bits that it has alone. */
static bool loops_pay(const product *w, double calls, const tn_i_products *all) {
    const double m = (double)w->m, n = (double)w->n, k = (double)w->k;
    const double loops = calls * TN_M_GEMM_CALL + m * n * (k / (double)all->k - 1) * TN_M_GEMM_AGAIN;
    const double offsets = (m + n + 2 * k) * TN_M_GEMM_OFFSET + k * (m < n ? m : n) * TN_M_GEMM_PACKED;
    if (calls == 1 || w->indirect) return calls == 1 || loops < TN_M_GEMM_INDIRECT_CALL + offsets;
    return loops < TN_M_GEMM_PACKED * k * (m * (double)((w->n + TN_M_GEMM_PACK_N - 1) / TN_M_GEMM_PACK_N) + n);
}

/* A product per position of all dimensions but the largest of each kind: no copies.  `all` says how many products there
 * are of the same shape, and how far apart. */
static bool by_loops(const product *w, tn_i_products all, void *lhs, void *rhs, void *out) {
    parts_of d;
    tn_i_matrix *const a = &all.a, *const b = &all.b, *const c = &all.c;
    const int64_t calls = take_matrices(w, &d, &all);
    if (!loops_pay(w, (double)calls, &all)) return false;
    if (all.k < w->k && !(is_plain(a) && is_plain(b))) return false;
    const tn_i_dims rows = d.rows, columns = d.columns, *const inner = d.inner;
    const int64_t nr = tn_i_dims_count(&rows), nc = tn_i_dims_count(&columns), ni = tn_i_dims_count(&inner[0]);
    const tn_i_dims out_rows = d.out_rows, out_columns = d.out_columns;
    all.aahead = w->ahead[0];
    all.bahead = w->ahead[1];
    tn_i_cursor r, ro, q, qo, p[2];
    tn_i_cursor_start(&r, &rows, 0);
    tn_i_cursor_start(&ro, &out_rows, 0);
    for (int64_t i = 0; i < nr; i++, tn_i_cursor_next(&r), tn_i_cursor_next(&ro)) {
        tn_i_cursor_start(&q, &columns, 0);
        tn_i_cursor_start(&qo, &out_columns, 0);
        for (int64_t j = 0; j < nc; j++, tn_i_cursor_next(&q), tn_i_cursor_next(&qo)) {
            c->data = shifted(w->dtype, out, ro.offset + qo.offset);
            for (int side = 0; side < 2; side++) tn_i_cursor_start(&p[side], &inner[side], 0);
            for (int64_t l = 0; l < ni; l++, tn_i_cursor_next(&p[0]), tn_i_cursor_next(&p[1])) {
                a->data = shifted(w->dtype, lhs, r.offset + p[0].offset);
                b->data = shifted(w->dtype, rhs, q.offset + p[1].offset);
                all.accumulate = l > 0;
                tn_i_multiply_all(w->threads, &all);
            }
        }
    }
    return true;
}

/* Copies rows first_row.. and columns first_column.. of a matrix with joined dimensions, row-major. */
static void pack_rows(int dtype, const tn_i_dims *rows, int64_t first_row, int64_t nrows, const tn_i_dims *columns,
                      int64_t first_column, int64_t ncolumns, const void *data, void *to) {
    const size_t size = tn_i_dtype_size(dtype);
    tn_i_row *copy = tn_i_copy_row(size);
    tn_i_dims outer = *columns;
    if (outer.n == 0) tn_i_dims_push(&outer, 1, 0);
    const int64_t run = outer.size[--outer.n], stride = outer.stride[outer.n];
    tn_i_cursor r, q;
    char *at = to;
    tn_i_cursor_start(&r, rows, first_row);
    for (int64_t i = 0; i < nrows; i++, tn_i_cursor_next(&r)) {
        tn_i_cursor_start(&q, &outer, first_column / run);
        int64_t from = first_column % run, left = ncolumns;
        for (; left > 0; from = 0, tn_i_cursor_next(&q)) {
            const int64_t n = left < run - from ? left : run - from;
            copy(n, tn_i_at(data, size, r.offset + q.offset + from * stride), stride, at, 1);
            at += n * (int64_t)size;
            left -= n;
        }
    }
}

static bool contiguous(const tn_i_dims *d) { return d->n > 0 && d->stride[d->n - 1] == 1; }

/* The same, column-major where columns are contiguous in memory and rows are not. */
static tn_i_matrix pack(int dtype, const tn_i_dims *rows, int64_t first_row, int64_t nrows, const tn_i_dims *columns,
                        int64_t first_column, int64_t ncolumns, const void *data, void *to) {
    if (contiguous(rows) && !contiguous(columns)) {
        pack_rows(dtype, columns, first_column, ncolumns, rows, first_row, nrows, data, to);
        return (tn_i_matrix){to, 1, nrows};
    }
    pack_rows(dtype, rows, first_row, nrows, columns, first_column, ncolumns, data, to);
    return (tn_i_matrix){to, ncolumns, 1};
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void by_blocks(const product *w, void *lhs, void *rhs, void *out) {
    tn_i_dims inner[2] = {w->inner[0], w->inner[1]}; /* each joined as far as its own strides allow: long runs */
    for (int side = 0; side < 2; side++) tn_i_dims_merge(&inner[side]);
    for (int64_t j = 0; j < w->n; j += TN_M_GEMM_PACK_N)
        for (int64_t p = 0; p < w->k; p += TN_M_GEMM_PACK_K) {
            const int64_t n = smaller(TN_M_GEMM_PACK_N, w->n - j), k = smaller(TN_M_GEMM_PACK_K, w->k - p);
            const tn_i_matrix b = pack(w->dtype, &inner[1], p, k, &w->columns, j, n, rhs, w->pack[1]);
            for (int64_t i = 0; i < w->m; i += TN_M_GEMM_PACK_M) {
                const int64_t m = smaller(TN_M_GEMM_PACK_M, w->m - i);
                const tn_i_matrix a = pack(w->dtype, &w->rows, i, m, &inner[0], p, k, lhs, w->pack[0]);
                const tn_i_matrix c = {shifted(w->dtype, out, i * w->n + j), w->n, 1};
                tn_i_multiply(w->dtype, w->threads, m, n, k, a, b, p > 0, c);
            }
        }
}

static bool by_offsets(const product *w, const void *lhs, const void *rhs, void *out) {
    const tn_i_indirect x = {.dtype = w->dtype,
                             .threads = w->threads,
                             .m = w->m,
                             .n = w->n,
                             .k = w->k,
                             .rows = w->rows,
                             .columns = w->columns,
                             .inner = {w->inner[0], w->inner[1]},
                             .a = lhs,
                             .b = rhs,
                             .c = out,
                             .scratch = w->scratch};
    return w->indirect && tn_i_gemm_indirect(&x);
}

/* More than one dimension of a kind that is not of size 1: the strides may be beyond a matrix's. */
static bool may_pack(const tn_type *lhs, const tn_type *rhs, const tn_i_dots *d) {
    int kinds[3] = {0};
    for (int i = 0; i < lhs->rank; i++)
        if (lhs->dim[i] != 1 && !(tn_i_dots_batches(d, 0) >> i & 1)) kinds[tn_i_dots_contracted(d, 0) >> i & 1]++;
    for (int i = 0; i < rhs->rank; i++)
        if (rhs->dim[i] != 1 && !(tn_i_dots_taken(d, 1) >> i & 1)) kinds[2]++;
    return kinds[0] > 1 || kinds[1] > 1 || kinds[2] > 1;
}

/* Elements of the blocks of both operands. */
static void block_sizes(const tn_type *lhs, const tn_type *rhs, const tn_i_dots *d, int64_t block[2]) {
    int64_t sizes[3] = {1, 1, 1}; /* rows, inner, columns, each up to its block */
    const int64_t most[3] = {TN_M_GEMM_PACK_M, TN_M_GEMM_PACK_K, TN_M_GEMM_PACK_N};
    for (int i = 0; i < lhs->rank; i++) {
        const int kind = tn_i_dots_contracted(d, 0) >> i & 1;
        if (!(tn_i_dots_batches(d, 0) >> i & 1))
            sizes[kind] = smaller(most[kind], sizes[kind] * smaller(most[kind], lhs->dim[i]));
    }
    for (int i = 0; i < rhs->rank; i++)
        if (!(tn_i_dots_taken(d, 1) >> i & 1))
            sizes[2] = smaller(TN_M_GEMM_PACK_N, sizes[2] * smaller(TN_M_GEMM_PACK_N, rhs->dim[i]));
    block[0] = sizes[0] * sizes[1];
    block[1] = sizes[1] * sizes[2];
}

/* Elements of one product of the batch, where its sums are cut into parts; 0: they are not. */
static int64_t in_parts(const tn_type *lhs, const tn_type *rhs, const tn_i_dots *d) {
    const tn_type *t[2] = {lhs, rhs};
    int64_t count = 1;
    int dims = 0;
    if (d->ncontract != 1 || !tn_i_is_float(lhs->dtype) || lhs->dim[d->contract[0][0]] <= TN_DOT_WHOLE) return 0;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < t[side]->rank; i++) {
            if (tn_i_dots_taken(d, side) >> i & 1) continue;
            if (i < d->contract[side][0] || t[side]->dim[i] > TN_DOT_SINK / count) return 0;
            count *= t[side]->dim[i];
            dims++;
        }
    return dims ? count : 0;
}

bool tn_i_dot_in_parts(const tn_i_param *p, const tn_type *lhs, const tn_type *rhs) {
    const tn_i_dots d = tn_i_dots_read(p);
    return in_parts(lhs, rhs, &d) > 0;
}

static int64_t blocks(const tn_type *lhs, const tn_type *rhs, const tn_i_dots *d, int64_t block[2]) {
    block[0] = block[1] = 0;
    if (may_pack(lhs, rhs, d)) block_sizes(lhs, rhs, d, block);
    return block[0] + block[1];
}

/* What tn_i_gemm_indirect wants; 0: it does not do this product. */
static size_t indirect_bytes(const tn_type *lhs, const tn_type *rhs, const tn_i_dots *d) {
    int64_t n[3] = {1, 1, 1}; /* rows, inner, columns */
    if (!may_pack(lhs, rhs, d) || !tn_i_is_float(lhs->dtype)) return 0;
    for (int i = 0; i < lhs->rank; i++)
        if (!(tn_i_dots_batches(d, 0) >> i & 1)) n[tn_i_dots_contracted(d, 0) >> i & 1] *= lhs->dim[i];
    for (int i = 0; i < rhs->rank; i++)
        if (!(tn_i_dots_taken(d, 1) >> i & 1)) n[2] *= rhs->dim[i];
    return tn_i_gemm_indirect_scratch(lhs->dtype, n[0], n[2], n[1]);
}

/* Bytes of what products of more dimensions need, the same on all machines; *indirect: by offsets. */
static size_t packed_bytes(const tn_type *lhs, const tn_type *rhs, const tn_i_dots *d, bool *indirect) {
    int64_t block[2];
    const size_t offsets = indirect_bytes(lhs, rhs, d);
    const size_t copies = (size_t)blocks(lhs, rhs, d, block) * tn_i_dtype_size(lhs->dtype);
    *indirect = offsets > 0 && tn_i_gemm_has_indirect(lhs->dtype);
    return offsets > copies ? offsets : copies;
}

size_t tn_i_dot_scratch(const tn_i_query *q) {
    const tn_i_dots d = tn_i_dots_read(&q->p[0]);
    bool indirect;
    return packed_bytes(q->in[0], q->in[1], &d, &indirect) +
           (size_t)in_parts(q->in[0], q->in[1], &d) * tn_i_dtype_size(q->in[0]->dtype);
}

static tn_i_dims in_order(const tn_i_arr *x, uint32_t n, const int64_t *axes) {
    tn_i_dims d = {.n = 0};
    for (uint32_t i = 0; i < n; i++) tn_i_dims_push(&d, x->type->dim[axes[i]], x->stride[axes[i]]);
    return d;
}

static void add_to(int dtype, int64_t n, const void *x, void *y) {
    for (int64_t i = 0; i < n; i++)
        if (dtype == TN_F64)
            ((double *)y)[i] += ((const double *)x)[i];
        else
            ((float *)y)[i] += ((const float *)x)[i];
}

/* Each part as a product of its own, the parts added in order. */
static void by_parts(product w, void *lhs, void *rhs, void *out, void *beside) {
    const int64_t left[2] = {w.inner[0].stride[0], w.inner[1].stride[0]}, k = w.k;
    for (int64_t p = 0; p < k; p += TN_DOT_PART) {
        void *const x = shifted(w.dtype, lhs, p * left[0]), *const y = shifted(w.dtype, rhs, p * left[1]);
        void *const to = p ? beside : out;
        w.k = smaller(TN_DOT_PART, k - p);
        w.inner[0] = w.inner[1] = (tn_i_dims){.n = 0};
        for (int side = 0; side < 2 && w.k > 1; side++) tn_i_dims_push(&w.inner[side], w.k, left[side]);
        if (!by_loops(&w, (tn_i_products){.dtype = w.dtype, .count = 1}, x, y, to)) by_blocks(&w, x, y, to);
        if (p) add_to(w.dtype, w.m * w.n, beside, out);
    }
}

/* The last batch dimension is left to the products. */
static tn_i_products take_batch(const product *w, tn_i_dims *lhs, tn_i_dims *rhs) {
    tn_i_products all = {.dtype = w->dtype, .count = 1, .cnext = w->m * w->n};
    const int last = lhs->n - 1;
    if (last < 0) return all;
    all.count = lhs->size[last];
    all.anext = lhs->stride[last];
    all.bnext = rhs->stride[last];
    lhs->n = rhs->n = last;
    return all;
}

/* All together, if the products need no packing here. */
static void run_batch(const product *w, tn_i_dims lhs, tn_i_dims rhs, const tn_i_kernel *k) {
    const tn_i_products all = take_batch(w, &lhs, &rhs);
    const int64_t outer = tn_i_dims_count(&lhs);
    tn_i_cursor l, r;
    tn_i_cursor_start(&l, &lhs, 0);
    tn_i_cursor_start(&r, &rhs, 0);
    for (int64_t i = 0; i < outer; i++, tn_i_cursor_next(&l), tn_i_cursor_next(&r)) {
        void *x = tn_i_address(&k->in[0], l.offset), *y = tn_i_address(&k->in[1], r.offset);
        void *out = tn_i_address(&k->out[0], i * all.count * all.cnext);
        if (!w->beside && by_loops(w, all, x, y, out)) continue;
        for (int64_t j = 0; j < all.count; j++) {
            void *const a = shifted(w->dtype, x, j * all.anext), *const b = shifted(w->dtype, y, j * all.bnext);
            void *const c = shifted(w->dtype, out, j * all.cnext);
            if (w->beside)
                by_parts(*w, a, b, c, w->beside);
            else if (!by_offsets(w, a, b, c))
                by_blocks(w, a, b, c);
        }
    }
}

static product product_of(const tn_i_kernel *k, const tn_i_dots *d) {
    product w = {.dtype = k->in[0].type->dtype,
                 .threads = k->threads,
                 .ahead = {k->ahead[0], k->ahead[1]},
                 .triangle = (tn_i_triangle)k->triangle,
                 .rows = tn_i_dims_of(&k->in[0], ~tn_i_dots_taken(d, 0)),
                 .columns = tn_i_dims_of(&k->in[1], ~tn_i_dots_taken(d, 1))};
    tn_i_dims_merge(&w.rows);
    tn_i_dims_merge(&w.columns);
    inner_dims(k, d, w.inner);
    w.m = tn_i_dims_count(&w.rows);
    w.n = tn_i_dims_count(&w.columns);
    w.k = tn_i_dims_count(&w.inner[0]);
    return w;
}

bool tn_i_dot_at_once(const tn_i_kernel *k, tn_i_products *all) {
    const tn_i_dots d = tn_i_dots_read(&k->p[0]);
    if (tn_i_count(k->out[0].type) == 0 || in_parts(k->in[0].type, k->in[1].type, &d)) return false;
    const product w = product_of(k, &d);
    tn_i_dims lhs = in_order(&k->in[0], d.nbatch, d.batch[0]), rhs = in_order(&k->in[1], d.nbatch, d.batch[1]);
    parts_of parts;
    if (w.k == 0 || lhs.n > 1) return false;
    *all = take_batch(&w, &lhs, &rhs);
    return take_matrices(&w, &parts, all) == 1;
}

tn_status tn_i_dot_kernel(const tn_i_kernel *k) {
    const tn_i_dots d = tn_i_dots_read(&k->p[0]);
    if (tn_i_count(k->out[0].type) == 0) return TN_OK;
    product w = product_of(k, &d);
    if (w.k == 0) { /* sums of nothing */
        memset(k->out[0].data, 0, tn_type_bytes(k->out[0].type));
        return TN_OK;
    }
    if (k->scratch) {
        int64_t block[2];
        const size_t packed = packed_bytes(k->in[0].type, k->in[1].type, &d, &w.indirect);
        (void)blocks(k->in[0].type, k->in[1].type, &d, block);
        w.scratch = w.pack[0] = k->scratch;
        w.pack[1] = shifted(w.dtype, k->scratch, block[0]);
        if (in_parts(k->in[0].type, k->in[1].type, &d)) w.beside = (char *)k->scratch + packed;
    }
    run_batch(&w, in_order(&k->in[0], d.nbatch, d.batch[0]), in_order(&k->in[1], d.nbatch, d.batch[1]), k);
    return TN_OK;
}
