/* The Jacobian's entries: where they stand in dense, band and sparse matrices.
 *
 * Values come row by row (TN_COO), and are one program's for every format.  A solver forms 1 - gamma J with
 * SUNMatScaleAddI, which makes a sparse matrix anew where the diagonal is not part of it; so it is part of an ODE's. */
#include "system.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* ---- the pattern ------------------------------------------------------------------ */

static bool layout_new(layout *l, int64_t n, int64_t nnz, int64_t entries) {
    l->ptr = calloc((size_t)n + 1, sizeof *l->ptr);
    l->ind = calloc((size_t)entries + 1, sizeof *l->ind);
    l->at = calloc((size_t)nnz + 1, sizeof *l->at);
    return l->ptr && l->ind && l->at;
}

static void layout_free(layout *l) {
    free(l->ptr);
    free(l->ind);
    free(l->at);
    *l = (layout){0};
}

/* Rows without a diagonal entry, marked. */
static int64_t missing_diagonal(const tn_sundials *s, bool *missing) {
    int64_t count = 0;
    for (int64_t i = 0; i < s->n; i++) missing[i] = s->kind == TN_SUNDIALS_ODE;
    for (int64_t k = 0; k < s->nnz; k++)
        if (s->row[k] == s->column[k]) missing[s->row[k]] = false;
    for (int64_t i = 0; i < s->n; i++) count += missing[i];
    return count;
}

/* The entries and the missing diagonal compressed by `major`, in ascending order within: both are stable sorts of what
 * is sorted by rows. */
static void compress(const tn_sundials *s, layout *l, const int64_t *major, const int64_t *minor, const bool *missing) {
    for (int64_t k = 0; k < s->nnz; k++) l->ptr[major[k] + 1]++;
    for (int64_t i = 0; i < s->n; i++) l->ptr[i + 1] += l->ptr[i] + missing[i];
    sunindextype *next = l->ptr; /* moved on while they are filled, then back */
    for (int64_t k = 0; k < s->nnz; k++) {
        const int64_t i = major[k], at = next[i]++;
        l->ind[at] = (sunindextype)minor[k];
        l->at[k] = at;
    }
    for (int64_t i = s->n; i > 0; i--) next[i] = next[i - 1] + missing[i - 1];
    next[0] = 0;
}

/* Puts the missing diagonal entry of each row or column at its place among the others. */
static void insert_diagonal(const tn_sundials *s, layout *l, const int64_t *major, const int64_t *minor,
                            const bool *missing) {
    for (int64_t i = 0; i < s->n; i++) {
        if (!missing[i]) continue;
        int64_t at = l->ptr[i + 1] - 1;
        for (; at > l->ptr[i] && l->ind[at - 1] > i; at--) l->ind[at] = l->ind[at - 1];
        l->ind[at] = (sunindextype)i;
    }
    for (int64_t k = 0; k < s->nnz; k++)
        if (missing[major[k]] && minor[k] > major[k]) l->at[k]++;
}

static void bandwidths(tn_sundials *s) {
    for (int64_t k = 0; k < s->nnz; k++) {
        const int64_t d = s->row[k] - s->column[k];
        if (d > s->lower) s->lower = d;
        if (-d > s->upper) s->upper = -d;
    }
}

static tn_status counted(tn_sundials *s, int64_t missing) {
    const int64_t most = sizeof(sunindextype) == 4 ? INT32_MAX : INT64_MAX;
    s->entries = s->nnz + missing;
    if (s->entries > most)
        return tn_sundials_i_fail(s, TN_ELIMIT, "the Jacobian has %lld entries, more than SUNDIALS's indices count",
                                  (long long)s->entries);
    return layout_new(&s->by_row, s->n, s->nnz, s->entries) && layout_new(&s->by_column, s->n, s->nnz, s->entries)
               ? TN_OK
               : tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
}

static tn_status layouts(tn_sundials *s, bool *missing) {
    if (counted(s, missing_diagonal(s, missing))) return s->status;
    compress(s, &s->by_row, s->row, s->column, missing);
    insert_diagonal(s, &s->by_row, s->row, s->column, missing);
    compress(s, &s->by_column, s->column, s->row, missing);
    insert_diagonal(s, &s->by_column, s->column, s->row, missing);
    bandwidths(s);
    return TN_OK;
}

tn_status tn_sundials_i_pattern(tn_sundials *s) {
    tn_sparsity_arrays a = {.size = sizeof a};
    const tn_status status = tn_sparsity_view(s->pattern, TN_COO, TN_FULL, &a);
    if (status) return tn_sundials_i_fail(s, status, "the Jacobian: its pattern cannot be read");
    s->nnz = a.nnz;
    const size_t bytes = (size_t)a.nnz * sizeof *s->row;
    s->row = malloc(bytes + 1);
    s->column = malloc(bytes + 1);
    s->value = calloc((size_t)a.nnz + 1, sizeof *s->value);
    bool *missing = calloc((size_t)s->n + 1, sizeof *missing);
    if (!s->row || !s->column || !s->value || !missing) {
        free(missing);
        return tn_sundials_i_fail(s, TN_ENOMEM, "out of memory");
    }
    if (bytes) memcpy(s->row, a.row, bytes);
    if (bytes) memcpy(s->column, a.ind, bytes);
    (void)layouts(s, missing);
    free(missing);
    return s->status;
}

void tn_sundials_i_pattern_free(tn_sundials *s) {
    tn_sparsity_free(s->pattern);
    layout_free(&s->by_row);
    layout_free(&s->by_column);
    free(s->row);
    free(s->column);
    free(s->value);
}

/* ---- matrices ----------------------------------------------------------------------- */

static bool refuse(tn_sundials *s, const char *what, int64_t has, int64_t needs) {
    (void)tn_sundials_i_fail(s, TN_ETYPE, "the Jacobian: the matrix has %s %lld, where there are %lld", what,
                             (long long)has, (long long)needs);
    return false;
}

static bool square(tn_sundials *s, int64_t rows, int64_t columns) {
    return rows == s->n && columns == s->n ? true : refuse(s, "rows or columns:", rows != s->n ? rows : columns, s->n);
}

bool tn_sundials_i_fits(tn_sundials *s, SUNMatrix m, bool transposed) {
    const int64_t lower = transposed ? s->upper : s->lower, upper = transposed ? s->lower : s->upper;
    switch (m ? SUNMatGetID(m) : SUNMATRIX_CUSTOM) {
    case SUNMATRIX_DENSE: return square(s, SUNDenseMatrix_Rows(m), SUNDenseMatrix_Columns(m));
    case SUNMATRIX_BAND:
        if (!square(s, SUNBandMatrix_Rows(m), SUNBandMatrix_Columns(m))) return false;
        if (SUNBandMatrix_LowerBandwidth(m) < lower)
            return refuse(s, "a lower bandwidth of", SUNBandMatrix_LowerBandwidth(m), lower);
        if (SUNBandMatrix_UpperBandwidth(m) < upper)
            return refuse(s, "an upper bandwidth of", SUNBandMatrix_UpperBandwidth(m), upper);
        return true;
    case SUNMATRIX_SPARSE:
        if (!square(s, SUNSparseMatrix_Rows(m), SUNSparseMatrix_Columns(m))) return false;
        if (SUNSparseMatrix_NNZ(m) < s->entries) return refuse(s, "room for", SUNSparseMatrix_NNZ(m), s->entries);
        return true;
    default:
        (void)tn_sundials_i_fail(s, TN_EINVAL, "the Jacobian: the matrix is not dense, band or sparse");
        return false;
    }
}

static void fill_dense(const tn_sundials *s, SUNMatrix m, bool transposed, double sign) {
    double **column = SUNDenseMatrix_Cols(m);
    memset(SUNDenseMatrix_Data(m), 0, (size_t)SUNDenseMatrix_LData(m) * sizeof(double));
    for (int64_t k = 0; k < s->nnz; k++) {
        const int64_t i = transposed ? s->column[k] : s->row[k], j = transposed ? s->row[k] : s->column[k];
        column[j][i] = sign * s->value[k];
    }
}

static void fill_band(const tn_sundials *s, SUNMatrix m, bool transposed, double sign) {
    double **column = SUNBandMatrix_Cols(m);
    const int64_t diagonal = SUNBandMatrix_StoredUpperBandwidth(m);
    memset(SUNBandMatrix_Data(m), 0, (size_t)SM_LDATA_B(m) * sizeof(double));
    for (int64_t k = 0; k < s->nnz; k++) {
        const int64_t i = transposed ? s->column[k] : s->row[k], j = transposed ? s->row[k] : s->column[k];
        column[j][i - j + diagonal] = sign * s->value[k];
    }
}

/* CSC of J' is CSR of J. */
static const layout *write_indices(const tn_sundials *s, SUNMatrix m, bool transposed) {
    const layout *l = (SUNSparseMatrix_SparseType(m) == CSC_MAT) != transposed ? &s->by_column : &s->by_row;
    memcpy(SUNSparseMatrix_IndexPointers(m), l->ptr, ((size_t)s->n + 1) * sizeof *l->ptr);
    memcpy(SUNSparseMatrix_IndexValues(m), l->ind, (size_t)s->entries * sizeof *l->ind);
    return l;
}

/* Indices as well, each time: SUNMatZero, which solvers call before, has cleared them. */
static void fill_sparse(const tn_sundials *s, SUNMatrix m, bool transposed, double sign) {
    const layout *l = write_indices(s, m, transposed);
    double *data = SUNSparseMatrix_Data(m);
    memset(data, 0, (size_t)s->entries * sizeof *data);
    for (int64_t k = 0; k < s->nnz; k++) data[l->at[k]] = sign * s->value[k];
}

void tn_sundials_i_fill(const tn_sundials *s, SUNMatrix m, bool transposed, double sign) {
    switch (SUNMatGetID(m)) {
    case SUNMATRIX_DENSE: fill_dense(s, m, transposed, sign); return;
    case SUNMATRIX_BAND: fill_band(s, m, transposed, sign); return;
    default: fill_sparse(s, m, transposed, sign);
    }
}

/* Whether SUNDIALS can count n columns of `height` numbers. */
static bool countable(tn_sundials *s, int64_t height) {
    const int64_t most = sizeof(sunindextype) == 4 ? INT32_MAX : INT64_MAX;
    if (height <= most / s->n) return true;
    (void)tn_sundials_i_fail(s, TN_ELIMIT, "a matrix of %lld columns of %lld: more than SUNDIALS's indices count",
                             (long long)s->n, (long long)height);
    return false;
}

static SUNMatrix matrix_of(tn_sundials *s, tn_sundials_format format, bool transposed, SUNContext context) {
    const sunindextype n = (sunindextype)s->n, room = (sunindextype)(s->entries ? s->entries : 1);
    const int64_t lower = transposed ? s->upper : s->lower, upper = transposed ? s->lower : s->upper;
    SUNMatrix m = NULL;
    if (format == TN_SUNDIALS_DENSE) {
        if (!countable(s, s->n)) return NULL;
        m = SUNDenseMatrix(n, n, context);
    } else if (format == TN_SUNDIALS_BAND) { /* the factors have lower + upper + lower + 1 rows */
        if (!countable(s, 2 * lower + upper + 1)) return NULL;
        m = SUNBandMatrix(n, (sunindextype)upper, (sunindextype)lower, context);
    } else {
        m = SUNSparseMatrix(n, n, room, CSC_MAT, context);
    }
    if (!m) (void)tn_sundials_i_fail(s, TN_ENOMEM, "SUNDIALS cannot make a matrix of %lld rows", (long long)s->n);
    return m;
}

struct _generic_SUNMatrix *tn_sundials_matrix(tn_sundials *s, tn_sundials_format format, bool transposed,
                                              void *context) {
    if (!s || s->refused) return NULL;
    const char *wrong = NULL;
    if (format != TN_SUNDIALS_DENSE && format != TN_SUNDIALS_BAND && format != TN_SUNDIALS_SPARSE)
        wrong = "the format is none";
    if (!context) wrong = "there is no SUNContext";
    if (!s->p[PROGRAM_JACOBIAN].exec) wrong = "the system has no TN_SUNDIALS_JACOBIAN";
    if (wrong) {
        (void)tn_sundials_i_fail(s, TN_EINVAL, "a matrix: %s", wrong);
        return NULL;
    }
    SUNMatrix m = matrix_of(s, format, transposed, context);
    if (m && format == TN_SUNDIALS_SPARSE) (void)write_indices(s, m, transposed);
    return m;
}
