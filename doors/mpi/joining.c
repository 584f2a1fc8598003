/* MPI's types and operations for ours. */
#include "table.h"

#include <math.h>

_Static_assert(sizeof(bool) == 1, "truth values are bytes");

size_t tn_mpi_i_width(int dtype) {
    static const size_t width[TN_NDTYPES] = {
        [TN_BOOL] = 1, [TN_I32] = 4, [TN_I64] = 8, [TN_F32] = 4, [TN_F64] = 8, [TN_U32] = 4};
    return width[dtype];
}

/* ---- maxima with NaN ---------------------------------------------------------------- */

/* MPI_MAX keeps a NaN or loses it, as ranks come.  Ranks join the same two numbers in either order and have to get the
 * same bits: so there is one NaN, and of the zeros it is always the same one. */
static double larger_of(double x, double y) {
    if (x != x || y != y) return (double)NAN;
    return x < y || (x == y && signbit(x)) ? y : x;
}

static double smaller_of(double x, double y) {
    if (x != x || y != y) return (double)NAN;
    return x > y || (x == y && signbit(y)) ? y : x;
}

static void larger(void *in, void *inout, int *n, MPI_Datatype *type) {
    if (*type == MPI_DOUBLE) {
        const double *x = in;
        double *y = inout;
        for (int i = 0; i < *n; i++) y[i] = larger_of(x[i], y[i]);
    } else {
        const float *x = in;
        float *y = inout;
        for (int i = 0; i < *n; i++) y[i] = (float)larger_of((double)x[i], (double)y[i]);
    }
}

static void smaller(void *in, void *inout, int *n, MPI_Datatype *type) {
    if (*type == MPI_DOUBLE) {
        const double *x = in;
        double *y = inout;
        for (int i = 0; i < *n; i++) y[i] = smaller_of(x[i], y[i]);
    } else {
        const float *x = in;
        float *y = inout;
        for (int i = 0; i < *n; i++) y[i] = (float)smaller_of((double)x[i], (double)y[i]);
    }
}

void tn_mpi_i_operations_free(tn_mpi *m) {
    if (m->max != MPI_OP_NULL) (void)MPI_Op_free(&m->max);
    if (m->min != MPI_OP_NULL) (void)MPI_Op_free(&m->min);
}

/* Of truth values sums and maxima are `or`, products and minima `and`. */
static void fill(tn_mpi *m) {
    const MPI_Datatype type[TN_NDTYPES] = {[TN_BOOL] = MPI_C_BOOL, [TN_I32] = MPI_INT32_T, [TN_U32] = MPI_UINT32_T,
                                           [TN_I64] = MPI_INT64_T, [TN_F32] = MPI_FLOAT,   [TN_F64] = MPI_DOUBLE};
    for (int d = 0; d < TN_NDTYPES; d++) {
        const bool truth = d == TN_BOOL, number = d == TN_F32 || d == TN_F64;
        m->type[d] = type[d];
        m->join[d][TN_COMM_SUM] = truth ? MPI_LOR : MPI_SUM;
        m->join[d][TN_COMM_PROD] = truth ? MPI_LAND : MPI_PROD;
        m->join[d][TN_COMM_MAX] = truth ? MPI_LOR : number ? m->max : MPI_MAX;
        m->join[d][TN_COMM_MIN] = truth ? MPI_LAND : number ? m->min : MPI_MIN;
    }
}

tn_status tn_mpi_i_operations(tn_mpi *m) {
    int code = MPI_Op_create(larger, 1, &m->max);
    if (code == MPI_SUCCESS) code = MPI_Op_create(smaller, 1, &m->min);
    fill(m);
    return tn_mpi_i_said(m, code, "MPI_Op_create");
}

/* ---- sums and products by hand ------------------------------------------------------- */

static void join_f32(int op, const float *a, const float *b, float *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = op == TN_COMM_PROD ? a[i] * b[i] : a[i] + b[i];
}

static void join_f64(int op, const double *a, const double *b, double *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = op == TN_COMM_PROD ? a[i] * b[i] : a[i] + b[i];
}

void tn_mpi_i_join(int dtype, int op, const void *a, const void *b, void *out, int64_t n) {
    if (dtype == TN_F32)
        join_f32(op, a, b, out, n);
    else
        join_f64(op, a, b, out, n);
}
