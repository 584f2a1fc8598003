/* What kernels by LAPACK share: matrices in column order, as doubles, and room for a call. */
#include "prims/lapack.h"

#include "prims/dims.h"
#include "prims/layout.h"
#include "prims/matrices.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *tn_i_no_lapack(const tn_i_param *p) {
    (void)p;
    return tn_i_lapack_linked() ? NULL : "is computed by LAPACK, which this library was built without (LAPACK=0)";
}

bool tn_i_lapack_sizes(tn_i_query *q, uint32_t operand) {
    const tn_type *t = q->in[operand];
    for (int d = t->rank - 2; d < t->rank; d++)
        if (t->dim[d] > TN_LAPACK_ROWS)
            return tn_i_type_fail(q, (int)operand, "has %lld %s: LAPACK's 32-bit integers allow %d",
                                  (long long)t->dim[d], d == t->rank - 1 ? "columns" : "rows", TN_LAPACK_ROWS);
    return true;
}

size_t tn_i_lapack_rooms(const int64_t *n, int count, size_t *at) {
    size_t end = 0;
    for (int i = 0; i < count; i++) {
        at[i] = end;
        if (!tn_i_reserve(&end, (size_t)n[i], 8)) return SIZE_MAX;
    }
    return end;
}

/* Elements `by` apart as doubles, and doubles as dense elements. */
static void widen(int dtype, const void *from, int64_t by, int64_t n, double *to) {
    const double *d = from;
    const float *f = from;
    for (int64_t i = 0; i < n; i++) to[i] = dtype == TN_F64 ? d[i * by] : (double)f[i * by];
}

static void narrow(int dtype, const double *from, int64_t by, int64_t n, void *to) {
    double *d = to;
    float *f = to;
    for (int64_t i = 0; i < n; i++)
        if (dtype == TN_F64)
            d[i] = from[i * by];
        else
            f[i] = (float)from[i * by];
}

void tn_i_lapack_take(const tn_i_arr *a, int64_t offset, double *to) {
    const int batch = tn_i_batch_rank(a->type);
    const int64_t rows = a->type->dim[batch], columns = a->type->dim[batch + 1];
    for (int64_t j = 0; j < columns; j++)
        widen(a->type->dtype, tn_i_address(a, offset + j * a->stride[batch + 1]), a->stride[batch], rows,
              to + j * rows);
}

static void put(const double *from, int64_t leading, bool upper, const tn_i_arr *to, int64_t i) {
    const int batch = tn_i_batch_rank(to->type), dtype = to->type->dtype;
    const int64_t rows = to->type->dim[batch], columns = to->type->dim[batch + 1];
    for (int64_t r = 0; r < rows; r++) {
        const int64_t zeros = !upper ? 0 : r < columns ? r : columns;
        char *row = tn_i_address(to, (i * rows + r) * columns);
        const size_t bytes = (size_t)zeros * tn_i_dtype_size(dtype);
        memset(row, 0, bytes);
        narrow(dtype, from + r + zeros * leading, leading, columns - zeros, row + bytes);
    }
}

void tn_i_lapack_put(const double *from, int64_t leading, const tn_i_arr *to, int64_t i) {
    put(from, leading, false, to, i);
}

void tn_i_lapack_put_upper(const double *from, int64_t leading, const tn_i_arr *to, int64_t i) {
    put(from, leading, true, to, i);
}

void tn_i_lapack_put_vector(const double *from, const tn_i_arr *to, int64_t i) {
    const int64_t n = to->type->dim[to->type->rank - 1];
    narrow(to->type->dtype, from, 1, n, tn_i_address(to, i * n));
}

void tn_i_lapack_put_nan(int rank, const tn_i_arr *to, int64_t i) {
    int64_t n = 1;
    for (int d = to->type->rank - rank; d < to->type->rank; d++) n *= to->type->dim[d];
    tn_i_fill_nan(to->type->dtype, n, tn_i_address(to, i * n));
}

bool tn_i_all_finite(int64_t n, const double *x) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= DBL_MAX)) return false;
    return true;
}

bool tn_i_lapack_turned(int64_t n, const double *x, int64_t by) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(x[i * by]));
    int64_t first = 0;
    while (first < n - 1 && !(fabs(x[first * by]) >= largest / 2)) first++;
    return x[first * by] < 0;
}

void tn_i_lapack_negate(int64_t n, double *x, int64_t by) {
    for (int64_t i = 0; i < n; i++) x[i * by] = -x[i * by];
}
