/* What kernels by LAPACK share: matrices in column order, as doubles, and room for a call. */
#include "prims/linear/lapack.h"

#include "prims/dims.h"
#include "prims/arrays/layout.h"
#include "prims/linear/matrices.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *tn_i_no_lapack(const tn_i_param *p) {
    (void)p;
    return tn_i_lapack_linked() ? NULL : "is computed by LAPACK, which this library was built without (LAPACK=0)";
}

bool tn_i_lapack_operands(tn_i_query *q) {
    const tn_type *t = q->in[0];
    for (int d = t->rank - 2; d < t->rank; d++)
        if (t->dim[d] > TN_LAPACK_ROWS)
            return tn_i_type_fail(q, 0, "has %lld %s: LAPACK's 32-bit integers allow %d", (long long)t->dim[d],
                                  d == t->rank - 1 ? "columns" : "rows", TN_LAPACK_ROWS);
    return tn_i_parts_alike(q);
}

size_t tn_i_lapack_rooms(const int64_t *n, int count, size_t *at) {
    size_t end = 0;
    for (int i = 0; i < count; i++) {
        at[i] = end;
        if (!tn_i_reserve(&end, (size_t)n[i], 8)) return SIZE_MAX;
    }
    return end;
}

/* Elements `by` apart as doubles that are `parts` apart, and doubles `by` apart as dense elements. */
static void widen(int dtype, const void *from, int64_t by, int64_t n, int parts, double *to) {
    const double *d = from;
    const float *f = from;
    for (int64_t i = 0; i < n; i++) to[i * parts] = dtype == TN_F64 ? d[i * by] : (double)f[i * by];
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

/* ---- operands and results ------------------------------------------------------------------------- */

void tn_i_lapack_begin(tn_i_lapack_batch *b, const tn_i_kernel *k) {
    const tn_type *t = k->in[0].type;
    *b = (tn_i_lapack_batch){.k = k, .parts = k->nin > 1 ? 2 : 1, .at = -1, .count = tn_i_count(t) != 0};
    for (int d = 0; d < tn_i_batch_rank(t); d++) b->count *= t->dim[d];
}

static int64_t offset_of(const tn_i_arr *a, int64_t i) {
    int64_t offset = 0;
    for (int d = tn_i_batch_rank(a->type) - 1; d >= 0; d--) {
        offset += i % a->type->dim[d] * a->stride[d];
        i /= a->type->dim[d];
    }
    return offset;
}

/* An element of each column and the next one are `parts` doubles apart. */
static void take(const tn_i_arr *a, int64_t offset, int parts, double *to) {
    const int batch = tn_i_batch_rank(a->type);
    const int64_t rows = a->type->dim[batch], columns = a->type->dim[batch + 1];
    for (int64_t j = 0; j < columns; j++)
        widen(a->type->dtype, tn_i_address(a, offset + j * a->stride[batch + 1]), a->stride[batch], rows, parts,
              to + j * rows * parts);
}

bool tn_i_lapack_next(tn_i_lapack_batch *b, double *to) {
    if (++b->at >= b->count) return false;
    for (int p = 0; p < b->parts; p++) take(&b->k->in[p], offset_of(&b->k->in[p], b->at), b->parts, to + p);
    return true;
}

static void put(const double *from, int64_t row_by, int64_t by, bool upper, const tn_i_arr *to, int64_t i) {
    const int batch = tn_i_batch_rank(to->type), dtype = to->type->dtype;
    const int64_t rows = to->type->dim[batch], columns = to->type->dim[batch + 1];
    for (int64_t r = 0; r < rows; r++) {
        const int64_t zeros = !upper ? 0 : r < columns ? r : columns;
        char *row = tn_i_address(to, (i * rows + r) * columns);
        const size_t bytes = (size_t)zeros * tn_i_dtype_size(dtype);
        memset(row, 0, bytes);
        if (zeros < columns) narrow(dtype, from + r * row_by + zeros * by, by, columns - zeros, row + bytes);
    }
}

void tn_i_lapack_put(const tn_i_lapack_batch *b, int parts, uint32_t result, const double *from, int64_t leading) {
    for (int p = 0; p < parts; p++)
        put(from + p, parts, leading * parts, false, &b->k->out[result + (uint32_t)p], b->at);
}

void tn_i_lapack_put_upper(const tn_i_lapack_batch *b, uint32_t result, const double *from, int64_t leading) {
    for (int p = 0; p < b->parts; p++)
        put(from + p, b->parts, leading * b->parts, true, &b->k->out[result + (uint32_t)p], b->at);
}

void tn_i_lapack_put_vector(const tn_i_lapack_batch *b, uint32_t result, const double *from, int64_t by) {
    const tn_i_arr *to = &b->k->out[result];
    const int64_t n = to->type->dim[to->type->rank - 1];
    narrow(to->type->dtype, from, by, n, tn_i_address(to, b->at * n));
}

void tn_i_lapack_put_nan(const tn_i_lapack_batch *b) {
    for (uint32_t j = 0; j < b->k->nout; j++) {
        const tn_i_arr *to = &b->k->out[j];
        int64_t n = 1;
        for (int d = tn_i_batch_rank(b->k->in[0].type); d < to->type->rank; d++) n *= to->type->dim[d];
        tn_i_fill_nan(to->type->dtype, n, tn_i_address(to, b->at * n));
    }
}

bool tn_i_all_finite(int64_t n, const double *x) {
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= DBL_MAX)) return false;
    return true;
}

/* ---- phases ------------------------------------------------------------------------------------------ */

static double magnitude(int parts, const double *x) { return parts == 2 ? hypot(x[0], x[1]) : fabs(x[0]); }

void tn_i_lapack_turn(int parts, int64_t n, double *x, int64_t by, double *turn) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, magnitude(parts, x + i * by));
    int64_t first = 0;
    while (first < n - 1 && !(magnitude(parts, x + first * by) >= largest / 2)) first++;
    const double size = magnitude(parts, x + first * by);
    turn[0] = 1;
    turn[1] = 0;
    if (parts == 1) turn[0] = x[first * by] < 0 ? -1 : 1;
    if (parts == 2 && size > 0) {
        turn[0] = x[first * by] / size;
        turn[1] = -x[first * by + 1] / size;
    }
    tn_i_lapack_times(parts, n, x, by, turn[0], turn[1]);
    if (parts == 2) x[first * by + 1] = 0;
}

void tn_i_lapack_times(int parts, int64_t n, double *x, int64_t by, double re, double im) {
    for (int64_t i = 0; i < n; i++) {
        const double was = x[i * by];
        x[i * by] = parts == 2 ? was * re - x[i * by + 1] * im : was * re;
        if (parts == 2) x[i * by + 1] = was * im + x[i * by + 1] * re;
    }
}
