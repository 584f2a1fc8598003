/* A sparse derivative in the making. */
#ifndef TN_API_SPARSE_H
#define TN_API_SPARSE_H

#include "api/args.h"
#include "linearize/linearize.h"
#include "sparse/sides.h"
#include "sparse/sparsity.h"

typedef struct tn_i_derivative {
    const char *who;
    const tn_fn *given; /* what the caller differentiates, in wrt, and how */
    const tn_wrt_list *wrt;
    tn_sparse_options o;
    bool hessian;
    bool unchecked; /* a pattern of the caller's is taken as it is */
    tn_fn *f;       /* whose Jacobian it is: `given` or its gradient, behind `skip` float outputs */
    uint32_t skip;
    tn_i_wrt w;
    tn_i_sides sides;
} tn_i_derivative;

/* The program, and in *pattern (may be NULL) what its values are of. */
tn_fn *tn_i_derivative_program(tn_i_derivative *q, tn_sparsity **pattern);

/* What tn_jacfwd or tn_jacrev make, its entries in order: entry[k], by row, is value k. */
tn_fn *tn_i_dense_program(const tn_i_derivative *q, bool reverse, const tn_sparsity *s, const int64_t *entry,
                          int64_t nvalue);

/* The linear half with what it reads that depends on no input as constants, where `known` has values of inputs or NULL.
 * A new reference. */
tn_fn *tn_i_known_folded(const tn_i_parts *p, const void *const *known);

/* A linear program in two parts: what is constant was computed. */
typedef struct tn_i_apart {
    tn_ctx *ctx; /* NULL: nothing is constant */
    int64_t nnz; /* of the whole */
    int dtype;
    tn_fn *linear;        /* the rest */
    tn_sparsity *varying; /* and its pattern */
    int64_t *entry;       /* by entry of the whole: its number in that, -1: none */
    void *constant;       /* by entry of the whole: what is added, of the dtype */
} tn_i_apart;
/* s: the pattern of p->linear.  false after an error, with nothing to free. */
bool tn_i_constants_apart(const tn_i_derivative *q, const tn_sparsity *s, const tn_i_parts *p, tn_i_apart *a);
void tn_i_apart_free(tn_i_apart *a);

/* Whether s covers the derivative at x of f's float outputs from `skip` on: TN_EINVAL names the first entry that is
 * missing and not 0. */
tn_status tn_i_sparsity_covers(const char *who, const tn_fn *f, const tn_i_wrt *w, const tn_wrt_list *wrt,
                               uint32_t skip, const tn_sparsity *s, const void *const *x);

#endif
