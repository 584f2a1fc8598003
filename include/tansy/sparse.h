/* tansy/sparse.h - sparse Jacobians and Hessians: patterns, colourings, values.
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 * A *pattern* (tn_sparsity) says which entries of a derivative may be nonzero.  A *colouring* (tn_coloring) groups its
 * columns or rows so that one directional derivative gives all entries of a group.  A *sparse derivative* is a program
 * whose output is the entries' values, in the order of the pattern:
 *
 *     tn_sparsity *s = NULL;
 *     tn_fn *j = tn_sparse_jacobian(f, NULL, NULL, &s);     x.. -> values [nnz]
 *     tn_sparsity_arrays a = {.size = sizeof a};
 *     tn_sparsity_view(s, TN_CSR, TN_FULL, &a);             a.ptr, a.ind: where values[k] stands
 *
 * The result is an ordinary program: it is compiled and called, differentiated, batched and written as C like any
 * other.
 *
 * Rows and columns.  Rows are the elements of f's float outputs, row-major, one output after the other; columns those
 * of the inputs in wrt, in the order of wrt.  A Hessian has the columns of wrt both ways.
 *
 * Patterns are found by running the linear program of tn_linearize over sets of columns, equation by equation; what
 * depends on no input (constants, and inputs given in `known`) is computed on the way, so that index arrays and masks
 * count as they are.  A pattern covers the derivative for all values of the inputs; entries that cancel or vanish
 * whatever the inputs are may be part of it (x - x, the diagonal of a product's Hessian).  Loops are followed step by
 * step where their length is known, up to 2^20 steps; others until the sets of what they carry change no more.
 *
 * Errors: NULL with the context's error, as <tansy.h> says; those of tn_linearize besides the ones named below.
 * Ownership: patterns and colourings belong to the context, and may be freed earlier; what a view points to lives as
 * long as what it is a view of.  Threads: as tn_fn.  The ideas: Gebremedhin, Manne, Pothen, "What Color Is Your
 * Jacobian?", SIAM Review 47 (2005); Gebremedhin, Tarafdar, Manne, Pothen, SIAM J. Sci. Comput. 29 (2007). */
#ifndef TANSY_SPARSE_H
#define TANSY_SPARSE_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- patterns ----------------------------------------------------------------- */

typedef struct tn_sparsity tn_sparsity; /* immutable */

typedef struct tn_sparsity_options {
    size_t size; /* sizeof(tn_sparsity_options) */
    /* Values of inputs that are the same in every call, by input, NULL where not: dense arrays of the input's type. The
     * pattern is then valid for those alone.  Inputs in wrt must be NULL (TN_EINVAL).  TN_INPUTS(..) or an array of
     * pointers; NULL: none.  Here and in what is
     * computed of them, arrays of more than 64 MiB count as not known. */
    const void *const *known;
    /* A point: values of all inputs, likewise.  The pattern is that of the derivative there: zeros, predicates and
     * indices count as they are, and the pattern is marked local.  NULL: the pattern holds for all inputs. */
    const void *const *at;
    /* TN_ELIMIT where the pattern, or a set on the way, would have more entries; the message names the equation that
     * first made rows dense.  0: 2^28. */
    int64_t max_nnz;
} tn_sparsity_options;

/* The pattern of f's Jacobian with respect to wrt (NULL: all float inputs); options NULL: defaults.  Rows that an
 * opaque equation makes (an external function without a pattern of its own, a gather whose indices only a run knows)
 * get all columns that its operands depend on; tn_sparsity_warning says where. Cost: the number of entries of all sets
 * on the way. */
TN_API tn_sparsity *tn_jacobian_sparsity(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity_options *options);
/* The pattern of the Hessian of f, which has one output, a float scalar (else TN_EINVAL). Where no rule of a user's own
 * is in f it is symmetric: the entries found in both (i,j) and (j,i). */
TN_API tn_sparsity *tn_hessian_sparsity(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity_options *options);

/* A pattern of the caller's own, copied.  TN_EINVAL, with the row and the position, for indices out of range, not
 * ascending within a row (or column), or repeated, and for a ptr that does not begin with 0 or descends.  Entries of
 * tn_sparsity_coo may come in any order, but not twice; they are sorted by row and column. */
TN_API tn_sparsity *tn_sparsity_csr(tn_ctx *c, int64_t rows, int64_t columns, const int64_t *ptr, const int64_t *ind);
TN_API tn_sparsity *tn_sparsity_csc(tn_ctx *c, int64_t rows, int64_t columns, const int64_t *ptr, const int64_t *ind);
TN_API tn_sparsity *tn_sparsity_coo(tn_ctx *c, int64_t rows, int64_t columns, int64_t nnz, const int64_t *row,
                                    const int64_t *col);
/* NULL is fine. */
TN_API void tn_sparsity_free(tn_sparsity *s);

/* The order of entries: by row and column (CSR, and COO, which has no ptr but each entry's row), or by column and row
 * (CSC). */
typedef enum tn_sparse_format { TN_CSR, TN_CSC, TN_COO } tn_sparse_format;
/* Which entries of a square pattern: all, those with column <= row, those with column >= row. */
typedef enum tn_triangle { TN_FULL, TN_LOWER, TN_UPPER } tn_triangle;

/* Owned by the pattern. */
typedef struct tn_sparsity_arrays {
    size_t size; /* sizeof(tn_sparsity_arrays), set by the caller */
    int64_t rows, columns, nnz;
    const int64_t *ptr;   /* CSR: rows + 1, CSC: columns + 1 positions; COO: NULL */
    const int64_t *ind;   /* nnz: CSR and COO the columns, CSC the rows; ascending within a row or column */
    const int64_t *row;   /* COO: nnz rows; else NULL */
    const bool *constant; /* nnz: whether the entry's value is the same for all inputs; NULL: not known of any */
    const double *value;  /* nnz: that value, 0 elsewhere; NULL as `constant` */
    bool local;           /* holds at the point of `at` alone */
    bool symmetric;       /* a Hessian's */
} tn_sparsity_arrays;
/* TN_EINVAL: s or out NULL, out->size not set, a triangle of a pattern that is not square.  The first view in an order
 * costs O(nnz), others nothing. */
TN_API tn_status tn_sparsity_view(const tn_sparsity *s, tn_sparse_format format, tn_triangle triangle,
                                  tn_sparsity_arrays *out);
/* Sentence i of what makes the pattern denser than the function may be, with its file:line, NULL behind the last:
 * indices or predicates that only a run knows, external functions without a pattern, loops of unknown length whose sets
 * were widened.  Owned by the pattern. */
TN_API const char *tn_sparsity_warning(const tn_sparsity *s, size_t i);

/* Tries a pattern, found or given, at the inputs x (all of f's; TN_INPUTS or an array of pointers): two jvps with
 * random tangents are compared with the values of f's dense rows times them, so that an entry which is missing and not
 * 0 at x shows with probability 1. TN_EINVAL names the first such row and the column, or an input that does not fit,
 * TN_ETYPE a shape that is not the Jacobian's. Cost: tn_jvp, and for the rows that differ their gradients. */
TN_API tn_status tn_sparsity_check(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparsity *s, const void *const *x);

/* ---- colourings --------------------------------------------------------------- */

typedef struct tn_coloring tn_coloring; /* immutable */

typedef enum tn_partition {
    TN_COLOR_AUTO,          /* the cheapest of those that suit: symmetric patterns star and column, others the rest */
    TN_COLOR_COLUMN,        /* columns of one colour share no row: forward mode */
    TN_COLOR_ROW,           /* rows of one colour share no column: reverse mode */
    TN_COLOR_BIDIRECTIONAL, /* some entries by columns, the others by rows */
    TN_COLOR_STAR,          /* symmetric: each path of four vertices has three colours; direct recovery */
    TN_COLOR_ACYCLIC        /* symmetric: no cycle of two colours; recovery by substitution, which loses digits */
} tn_partition;

/* In which order vertices are coloured, each with the first colour that is free. */
typedef enum tn_color_order {
    TN_ORDER_BEST, /* a lattice of as few colours as can be; else of natural, lattice, largest first and smallest last
                      the fewest, the first of these; what follows one that has as few as can be is not tried */
    TN_ORDER_NATURAL,
    TN_ORDER_LARGEST_FIRST, /* by decreasing degree, stable */
    TN_ORDER_SMALLEST_LAST, /* the least degree among what remains is taken away, the smallest index first; in reverse
                             */
    TN_ORDER_INCIDENCE_DEGREE, /* next comes the one with the most neighbours that are coloured, the smallest index
                                  first */
    TN_ORDER_LATTICE           /* no order: colour (a1 i1 + a2 i2 + ..) mod K of an element of a grid; column, star */
} tn_color_order;

typedef struct tn_coloring_options {
    size_t size; /* sizeof(tn_coloring_options) */
    tn_partition partition;
    tn_color_order order;
    /* What a reverse colour costs, in forward colours; 0: 1 (tn_sparse_jacobian: by tn_cost of the two halves). */
    double reverse_cost;
    /* The grid that the columns are elements of, row-major, for lattices: rank 1 to 3.  rank 0: the shape of the one
     * input in wrt, for patterns that were found, else a vector.  A vector may be a grid whose rows stand one after the
     * other: its pattern is looked at for their length. */
    int rank;
    int64_t grid[3];
} tn_coloring_options;

/* Colours s; options NULL: defaults.  The same pattern and options give the same colours on every machine.  TN_EINVAL:
 * a partition or an order that is none, STAR or ACYCLIC of a pattern that is not symmetric in structure, LATTICE where
 * none was found. Cost: column, row: the sum of squared row (column) lengths,
 * where rows that repeat the one before do not count; star and acyclic: entries times colours. */
TN_API tn_coloring *tn_color(const tn_sparsity *s, const tn_coloring_options *options);
TN_API void tn_coloring_free(tn_coloring *k); /* NULL is fine */

/* Owned by the colouring. */
typedef struct tn_coloring_arrays {
    size_t size;              /* sizeof(tn_coloring_arrays), set by the caller */
    tn_partition partition;   /* what was chosen; never AUTO */
    tn_color_order order;     /* never BEST */
    int64_t forward, reverse; /* colours of columns, of rows */
    const int32_t *column;    /* columns: each one's colour, 0 .. forward - 1, or -1: in none; NULL: forward is 0 */
    const int32_t *row;       /* rows: likewise, by `reverse` */
} tn_coloring_arrays;
/* TN_EINVAL: k or out NULL, out->size not set.  Costs nothing. */
TN_API tn_status tn_coloring_view(const tn_coloring *k, tn_coloring_arrays *out);

/* ---- derivatives --------------------------------------------------------------- */

typedef struct tn_sparse_options {
    size_t size; /* sizeof(tn_sparse_options) */
    tn_sparse_format format;
    tn_triangle triangle;                /* of tn_sparse_hessian; TN_FULL otherwise */
    const tn_coloring_options *coloring; /* NULL: AUTO, BEST */
    const tn_sparsity *sparsity;         /* the caller's, in place of finding it; it has to cover the derivative */
    const void *const *known;            /* as in tn_sparsity_options: the program is valid for those values alone */
    int64_t max_nnz;                     /* likewise */
    bool with_value;                     /* f's outputs (tn_sparse_hessian: f's value and gradients) come first */
    bool varying_only;                   /* only entries that are not constant; *pattern is the pattern of those */
    const tn_policy *policy; /* NULL: everything_saveable, which suits a linear program that runs once a colour */
} tn_sparse_options;

/* x.. -> the values of f's Jacobian, [nnz] of the outputs' dtype (all float outputs and inputs in wrt have one, else
 * TN_ETYPE), in the order of options->format.  *pattern (may be NULL) is the pattern they are of, the caller's to free.
 *   One linearization serves all colours: its linear program runs over one tangent a colour (tn_vmap), or, for rows,
 * its transpose; entries with constant coefficients are not computed when the program runs.  Each value has the bits of
 * the dense Jacobian's entry, but where constant and varying terms add up: there one rounding more, and for ACYCLIC. A
 * pattern of the caller's that does not cover the derivative gives wrong values; contexts with debug checks try it at
 * a random point and refuse it (TN_EINVAL, tn_sparsity_check).  A function that is dense by nature becomes what
 * tn_jacfwd or tn_jacrev make, and tn_sparsity_warning of the pattern says so. TN_EINVAL: options; a triangle of a
 * Jacobian.  TN_ERULE: f has effects. TN_ELIMIT: max_nnz. */
TN_API tn_fn *tn_sparse_jacobian(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparse_options *options,
                                 tn_sparsity **pattern);
/* x.. -> the values of the Hessian of f, which has one output, a float scalar: of tn_grad's Jacobian, by a star
 * colouring or, where that has fewer colours, a column colouring.  A triangle is the caller's choice: solvers want one.
 */
TN_API tn_fn *tn_sparse_hessian(const tn_fn *f, const tn_wrt_list *wrt, const tn_sparse_options *options,
                                tn_sparsity **pattern);
/* f: x.. -> a float scalar, g: the same inputs -> any number of float outputs: the Lagrangian
 * (x.., sigma, one multiplier array per output of g, of its type) -> sigma f(x) + <lambda, g(x)>.  g NULL: sigma f(x).
 * TN_EINVAL where the inputs differ or f has another output; TN_ETYPE where g has an output that is no float. */
TN_API tn_fn *tn_lagrangian(const tn_fn *f, const tn_fn *g);
/* (x.., v of wrt..) -> J' (J v) for each of wrt, J the Jacobian of all float outputs: the Gauss-Newton product of the
 * sum of squares / 2. One linearization. */
TN_API tn_fn *tn_gauss_newton_product(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);

#ifdef __cplusplus
} /* extern "C" */

/* By value; after an error nnz is 0 and ptr and ind NULL, and what failed is the context's. */
inline tn_sparsity_arrays tn_sparsity_view(const tn_sparsity *s, tn_sparse_format format = TN_CSR,
                                           tn_triangle triangle = TN_FULL) {
    tn_sparsity_arrays a = tn_sized<tn_sparsity_arrays>();
    (void)tn_sparsity_view(s, format, triangle, &a);
    return a;
}
inline tn_coloring_arrays tn_coloring_view(const tn_coloring *k) {
    tn_coloring_arrays a = tn_sized<tn_coloring_arrays>();
    (void)tn_coloring_view(k, &a);
    return a;
}
#endif

#endif
