/* Products of arrays.  All but the primitive are contractions over labels. */
#include "prims/linear/dot.h"
#include "prims/ids.h"
#include "trace/trace.h"

#include <string.h>

/* ---- contraction ------------------------------------------------------------------- */

static int place(const int8_t *labels, int n, int8_t l) {
    for (int i = 0; i < n; i++)
        if (labels[i] == l) return i;
    return -1;
}

/* x without the axes whose labels occur neither in `other` nor in the result; labels follow. */
static tn_i_var sum_out(tn_i_site *s, tn_i_var x, int8_t *lx, int *nx, const int8_t *other, int nother,
                        const int8_t *lout, int nout) {
    uint32_t axes = 0;
    int n = 0;
    for (int i = 0; i < *nx; i++) {
        if (place(other, nother, lx[i]) < 0 && place(lout, nout, lx[i]) < 0)
            axes |= 1u << i;
        else
            lx[n++] = lx[i];
    }
    *nx = n;
    return tn_i_do_reduce(s, TN_P_reduce_sum, x, axes, false);
}

/* x with its axes in the order of lout and size 1 for labels it lacks. */
static tn_i_var aligned(tn_i_site *s, tn_i_var x, const int8_t *lx, int nx, const int8_t *lout, int nout) {
    if (s->b->failed) return TN_NOVAR;
    const tn_type *t = tn_i_site_type(s, x);
    int64_t perm[TN_MAX_RANK], shape[TN_MAX_RANK];
    int n = 0;
    for (int i = 0; i < nout; i++) {
        int k = place(lx, nx, lout[i]);
        shape[i] = k < 0 ? 1 : t->dim[k];
        if (k >= 0) perm[n++] = k;
    }
    return tn_i_do_reshape(s, tn_i_do_permute(s, x, perm), nout, shape);
}

tn_i_var tn_i_do_arrange(tn_i_site *s, tn_i_var x, const int8_t *lx, int nout, const int8_t *lout) {
    if (s->b->failed) return TN_NOVAR;
    int8_t l[TN_MAX_RANK];
    int n = tn_i_site_type(s, x)->rank;
    memcpy(l, lx, (size_t)n);
    x = sum_out(s, x, l, &n, l, 0, lout, nout);
    return aligned(s, x, l, n, lout, nout);
}

/* Labels of both operands: contracted unless they are in the result. */
static tn_i_dots pair_up(const int8_t *lx, int nx, const int8_t *ly, int ny, const int8_t *lout, int nout) {
    tn_i_dots d;
    memset(&d, 0, sizeof d);
    for (int i = 0; i < nx; i++) {
        int k = place(ly, ny, lx[i]);
        if (k < 0) continue;
        bool batch = place(lout, nout, lx[i]) >= 0;
        uint32_t *n = batch ? &d.nbatch : &d.ncontract;
        int64_t(*list)[TN_MAX_RANK] = batch ? d.batch : d.contract;
        list[0][*n] = i;
        list[1][(*n)++] = k;
    }
    return d;
}

/* The labels of dot_general's result: batch, then the rest of x, then of y. */
static int product_labels(const tn_i_dots *d, const int8_t *lx, int nx, const int8_t *ly, int ny, int8_t *l) {
    int n = 0;
    for (uint32_t i = 0; i < d->nbatch; i++) l[n++] = lx[d->batch[0][i]];
    for (int i = 0; i < nx; i++)
        if (place(ly, ny, lx[i]) < 0) l[n++] = lx[i];
    for (int i = 0; i < ny; i++)
        if (place(lx, nx, ly[i]) < 0) l[n++] = ly[i];
    return n;
}

tn_i_var tn_i_do_contract(tn_i_site *s, tn_i_var x, const int8_t *lx, tn_i_var y, const int8_t *ly, int nout,
                          const int8_t *lout) {
    if (s->b->failed) return TN_NOVAR;
    int8_t a[TN_MAX_RANK], b[TN_MAX_RANK], l[2 * TN_MAX_RANK];
    int na = tn_i_site_type(s, x)->rank, nb = tn_i_site_type(s, y)->rank;
    memcpy(a, lx, (size_t)na);
    memcpy(b, ly, (size_t)nb);
    x = sum_out(s, x, a, &na, b, nb, lout, nout);
    y = sum_out(s, y, b, &nb, a, na, lout, nout);
    if (s->b->failed) return TN_NOVAR;
    if (nout > TN_MAX_RANK)
        return tn_i_site_fail(s, TN_ETYPE, -1, "a product would have rank %d (at most %d)", nout, TN_MAX_RANK);
    tn_i_dots d = pair_up(a, na, b, nb, lout, nout);
    if (d.ncontract == 0) { /* nothing is summed: elementwise, which fuses */
        x = aligned(s, x, a, na, lout, nout);
        return tn_i_do2(s, TN_P_mul, x, aligned(s, y, b, nb, lout, nout));
    }
    int n = product_labels(&d, a, na, b, nb, l);
    return aligned(s, tn_i_dot_general(s->b, x, y, &d), l, n, lout, nout);
}

/* ---- matmul ---------------------------------------------------------------------------- */

enum { ROW = 1, COLUMN, SUMMED, BATCH }; /* labels; BATCH + k: the k-th batch axis from the end */

/* A batch axis of size 1 beside a larger one has nothing to say: it is dropped. */
static tn_i_var drop_repeated(tn_i_site *s, tn_i_var x, const tn_type *other, int8_t *l, int *n) {
    const tn_type *t = tn_i_site_type(s, x);
    uint32_t ones = 0;
    int batch = t->rank - 2, kept = 0;
    for (int i = 0; i < batch; i++) {
        int k = batch - 1 - i, j = other->rank - 3 - k; /* the same axis of the other operand */
        if (t->dim[i] == 1 && j >= 0 && other->dim[j] != 1)
            ones |= 1u << i;
        else
            l[kept++] = (int8_t)(BATCH + k);
    }
    *n = kept;
    return tn_i_do_squeeze(s, x, ones);
}

static bool batches_fit(tn_i_site *s, const tn_type *a, const tn_type *b) {
    for (int i = a->rank - 3, j = b->rank - 3; i >= 0 && j >= 0; i--, j--)
        if (a->dim[i] != b->dim[j] && a->dim[i] != 1 && b->dim[j] != 1) {
            (void)tn_i_site_fail(s, TN_ETYPE, 1, "batch axis of size %lld does not broadcast with %lld",
                                 (long long)b->dim[j], (long long)a->dim[i]);
            return false;
        }
    return true;
}

static tn_i_var matmul(tn_i_site *s, tn_i_var x, tn_i_var y) {
    const tn_type a = *tn_i_site_type(s, x), b = *tn_i_site_type(s, y);
    int8_t la[TN_MAX_RANK], lb[TN_MAX_RANK], lout[TN_MAX_RANK + 2];
    int na = 0, nb = 0, n = 0, batch = (a.rank > b.rank ? a.rank : b.rank) - 2;
    if (a.rank == 0 || b.rank == 0)
        return tn_i_site_fail(s, TN_ETYPE, a.rank == 0 ? 0 : 1, "has rank 0; use tn_mul to scale");
    int64_t inner = a.dim[a.rank - 1], rows = b.dim[b.rank == 1 ? 0 : b.rank - 2];
    if (inner != rows)
        return tn_i_site_fail(s, TN_ETYPE, 1, "has %lld rows, but operand 0 has %lld columns", (long long)rows,
                              (long long)inner);
    if (!batches_fit(s, &a, &b)) return TN_NOVAR;
    x = drop_repeated(s, x, &b, la, &na);
    y = drop_repeated(s, y, &a, lb, &nb);
    for (int k = batch; k-- > 0;) lout[n++] = (int8_t)(BATCH + k);
    if (a.rank > 1) la[na++] = lout[n++] = ROW;
    la[na++] = SUMMED;
    lb[nb++] = SUMMED;
    if (b.rank > 1) lb[nb++] = lout[n++] = COLUMN;
    return tn_i_do_contract(s, x, la, y, lb, n, lout);
}

/* Opens a site of two arrays of one dtype. */
static bool open_pair(tn_i_site *s, const char *name, const tn_val *in, tn_i_var *v, const char *file, int line) {
    tn_i_site_open(s, name, NULL, 2, in, v, 0, file, line);
    return tn_i_do_numbers(s);
}

tn_val tn_matmul_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    return tn_i_site_close(&s, open_pair(&s, "matmul", in, v, file, line) ? matmul(&s, v[0], v[1]) : TN_NOVAR);
}

/* ---- tensordot and its kin ----------------------------------------------------------------- */

/* Sum over n pairs of axes (not negative). */
static tn_i_var tensordot(tn_i_site *s, tn_i_var x, tn_i_var y, size_t n, const int *xa, const int *ya) {
    const tn_type a = *tn_i_site_type(s, x), b = *tn_i_site_type(s, y);
    int8_t la[TN_MAX_RANK], lb[TN_MAX_RANK], lout[2 * TN_MAX_RANK];
    int nout = 0;
    for (int i = 0; i < a.rank; i++) la[i] = (int8_t)i;
    for (int i = 0; i < b.rank; i++) lb[i] = (int8_t)(TN_MAX_RANK + i);
    for (size_t k = 0; k < n; k++) {
        if (a.dim[xa[k]] != b.dim[ya[k]])
            return tn_i_site_fail(s, TN_ETYPE, 1, "axis %d has size %lld, but axis %d of operand 0 has %lld", ya[k],
                                  (long long)b.dim[ya[k]], xa[k], (long long)a.dim[xa[k]]);
        lb[ya[k]] = (int8_t)xa[k];
    }
    for (int i = 0; i < a.rank; i++)
        if (place(lb, b.rank, la[i]) < 0) lout[nout++] = la[i];
    for (int i = 0; i < b.rank; i++)
        if (lb[i] >= TN_MAX_RANK) lout[nout++] = lb[i];
    return tn_i_do_contract(s, x, la, y, lb, nout, lout);
}

tn_val tn_tensordot_axes_at(tn_val x, tn_val y, tn_int_list xa, tn_int_list ya, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    uint32_t set;
    int a[TN_MAX_RANK], b[TN_MAX_RANK];
    if (!open_pair(&s, "tensordot_axes", in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    int ra = tn_i_site_type(&s, v[0])->rank, rb = tn_i_site_type(&s, v[1])->rank;
    if (xa.n != ya.n)
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "%zu axes of operand 0, but %zu of operand 1", xa.n, ya.n);
    if (!tn_i_site_axes(&s, xa, ra, &set) || !tn_i_site_axes(&s, ya, rb, &set)) return tn_i_site_close(&s, TN_NOVAR);
    for (size_t k = 0; k < xa.n; k++) {
        a[k] = (int)(xa.v[k] < 0 ? xa.v[k] + ra : xa.v[k]);
        b[k] = (int)(ya.v[k] < 0 ? ya.v[k] + rb : ya.v[k]);
    }
    return tn_i_site_close(&s, tensordot(&s, v[0], v[1], xa.n, a, b));
}

tn_val tn_tensordot_at(tn_val x, tn_val y, int n, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    int a[TN_MAX_RANK], b[TN_MAX_RANK];
    if (!open_pair(&s, "tensordot", in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    int ra = tn_i_site_type(&s, v[0])->rank, rb = tn_i_site_type(&s, v[1])->rank;
    if (n < 0 || n > ra || n > rb)
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_EINVAL, -1, "%d axes of ranks %d and %d", n, ra, rb));
    for (int k = 0; k < n; k++) {
        a[k] = ra - n + k;
        b[k] = k;
    }
    return tn_i_site_close(&s, tensordot(&s, v[0], v[1], (size_t)n, a, b));
}

tn_val tn_dot_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    if (!open_pair(&s, "dot", in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    int ra = tn_i_site_type(&s, v[0])->rank, rb = tn_i_site_type(&s, v[1])->rank;
    if (ra == 0 || rb == 0) return tn_i_site_close(&s, tn_i_do2(&s, TN_P_mul, v[0], v[1]));
    return tn_i_site_close(&s, tensordot(&s, v[0], v[1], 1, &(const int){ra - 1}, &(const int){rb == 1 ? 0 : rb - 2}));
}

static tn_i_var flat(tn_i_site *s, tn_i_var x) {
    const int64_t n = tn_i_count(tn_i_site_type(s, x));
    return tn_i_do_reshape(s, x, 1, &n);
}

tn_val tn_vdot_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    if (!open_pair(&s, "vdot", in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    if (!tn_type_equal(tn_i_site_type(&s, v[0]), tn_i_site_type(&s, v[1])))
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_ETYPE, 1, "the shape differs from operand 0's"));
    const tn_i_var a = flat(&s, v[0]), b = flat(&s, v[1]);
    return tn_i_site_close(&s, tensordot(&s, a, b, 1, &(const int){0}, &(const int){0}));
}

tn_val tn_outer_at(tn_val x, tn_val y, const char *file, int line) {
    const tn_val in[2] = {x, y};
    tn_i_site s;
    tn_i_var v[2];
    if (!open_pair(&s, "outer", in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    const tn_i_var a = flat(&s, v[0]), b = flat(&s, v[1]);
    return tn_i_site_close(&s, tensordot(&s, a, b, 0, NULL, NULL));
}

/* ---- primitives -------------------------------------------------------------------------- */

tn_val tn_dot_general_at(tn_val x, tn_val y, tn_int_list xc, tn_int_list yc, tn_int_list xb, tn_int_list yb,
                         const char *file, int line) {
    const tn_val in[2] = {x, y};
    const tn_int_list list[4] = {xc, yc, xb, yb};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_args a;
    if (!open_pair(&s, "dot_general", in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    for (int j = 0; j < 4; j++)
        if (list[j].n > TN_MAX_RANK)
            (void)tn_i_site_fail(&s, TN_EINVAL, -1, "%zu dimensions (at most %d)", list[j].n, TN_MAX_RANK);
    tn_i_args_init(&a, &s, TN_P_dot_general);
    if (!s.b->failed) tn_i_args_lists(&a, "dimension_numbers", 4, NULL, list);
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 2, v));
}
