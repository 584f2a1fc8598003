/* A pattern: what the folder's files share.  Entries are kept by row; other orders are made when they are asked for. */
#ifndef TN_SPARSITY_H
#define TN_SPARSITY_H

#include "base/base.h"
#include "tansy/sparse.h"

/* One order of the entries of one triangle. */
typedef struct tn_i_sparse_order {
    bool made;
    int64_t room;             /* entries in each array below, at least one: ptr says how many there are */
    int64_t *ptr, *ind, *row; /* row: COO alone */
    int64_t *entry;           /* nnz: the position among all entries by row */
    bool *constant;
    double *value;
} tn_i_sparse_order;

struct tn_sparsity {
    tn_ctx *ctx;
    tn_sparsity *prev, *next;
    uint32_t refs;
    int64_t rows, columns, nnz;
    int64_t *ptr, *ind; /* by row */
    bool *constant;     /* nnz, and the values; NULL: none is known */
    double *value;
    bool local, symmetric;
    uint32_t ntypes; /* of the inputs that the columns are elements of; 0: the caller's pattern */
    tn_type *types;
    char **warning; /* nwarning texts, each with its 0 */
    size_t nwarning, cwarning;
    tn_i_sparse_order order[3][3]; /* by format and triangle */
};

/* A pattern that owns ptr and ind (rows + 1 and ptr[rows] of them, by tn_i_alloc_array of the context), ascending
 * within rows; they are freed where it cannot be made.  NULL after TN_ENOMEM. */
tn_sparsity *tn_i_sparsity_new(tn_ctx *c, int64_t rows, int64_t columns, int64_t *ptr, int64_t *ind);
tn_sparsity *tn_i_sparsity_ref(const tn_sparsity *s);
/* Adds a sentence, with `loc` in front; false after TN_ENOMEM. */
bool tn_i_sparsity_warn(tn_sparsity *s, const tn_i_loc *loc, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Entries of one order of one triangle, made when first asked for; NULL after an error. */
const tn_i_sparse_order *tn_i_sparsity_order(const tn_sparsity *s, tn_sparse_format format, tn_triangle triangle);
/* By column: ptr (columns + 1), row and the position among the entries by row. */
typedef struct tn_i_by_column {
    const int64_t *ptr, *row, *entry;
} tn_i_by_column;
bool tn_i_sparsity_columns(const tn_sparsity *s, tn_i_by_column *out);
/* Whether (i,j) is in it for each (j,i). */
bool tn_i_sparsity_is_symmetric(const tn_sparsity *s, bool *yes);

#endif
