/* Windows placed by index vectors: what gather and the scatters have in common.
 *
 * The last dimension of `indices` holds vectors, one entry per mapped operand
 * dimension.  Each vector places one window in the operand; `windows` (gather's
 * output, scatter_add's updates) has one copy of the window per vector. */
#ifndef TN_WINDOWS_H
#define TN_WINDOWS_H

#include "prims/arrays/shape.h"

/* Reads parameter 0 and checks it against the types of operand and indices;
 * the rank of `windows` is returned through *rank. */
bool tn_i_dnums_valid(tn_i_query *q, tn_i_dnums *d, int *rank);
/* Whether list j has x. */
bool tn_i_dnums_has(const tn_i_dnums *d, uint32_t j, int64_t x);
/* Operand dimension i runs over windows: it is neither collapsed nor batching. */
bool tn_i_in_window(const tn_i_dnums *d, int64_t i);
/* Size of the window per operand dimension, from the type of `windows`. */
void tn_i_window_sizes(const tn_i_dnums *d, const tn_type *operand, const tn_type *windows, int64_t *sizes);

/* Walks the windows in order. */
typedef struct tn_i_windows {
    const tn_i_arr *indices;
    int rank; /* of the batch of windows */
    int64_t dim[TN_MAX_RANK], at[TN_MAX_RANK];
    int64_t index_stride[TN_MAX_RANK], operand_stride[TN_MAX_RANK], window_stride[TN_MAX_RANK];
    uint32_t columns;
    int64_t column_stride, last[TN_MAX_RANK], column_operand[TN_MAX_RANK];
    bool done, too_large; /* no window fits in the operand */
    int64_t index_at, batch_at, window_at;
    /* the current window: its first element in operand and windows; wholly inside */
    int64_t from, to;
    bool inside;
} tn_i_windows;

/* operand and windows with the strides of their arrays; sizes per operand dimension. */
void tn_i_windows_init(tn_i_windows *w, const tn_i_dnums *d, const int64_t *sizes, const tn_i_arr *operand,
                       const tn_i_arr *indices, const tn_i_arr *windows);
/* The batch of windows in as few dimensions as strides allow, at least one.  Before the first window. */
void tn_i_windows_merge(tn_i_windows *w);
/* Windows by runs: of the last dimension of the batch, at each place of the others in order.  Offsets of indices,
 * operand and windows there, in elements. */
typedef struct tn_i_window_run {
    int64_t index, operand, window;
} tn_i_window_run;
int64_t tn_i_window_runs(const tn_i_windows *w); /* how many */
tn_i_window_run tn_i_window_run_at(const tn_i_windows *w, int64_t i);
/* The next window (the first, at first), its start clamped into the operand; false at the end. */
bool tn_i_windows_next(tn_i_windows *w);
/* The loops over one window, between the operand's strides and those of `windows`. */
void tn_i_window_strides(const tn_i_dnums *d, const int64_t *sizes, const tn_i_arr *operand, const tn_i_arr *windows,
                         int *rank, int64_t *dim, int64_t *in_operand, int64_t *in_windows);

/* What a kernel of windows does, in numbers: for who writes it as loops (lower/windows.c).  Strides are in elements. */
enum { TN_WINDOWS_READ = -1, TN_WINDOWS_WRITE = -2, TN_WINDOW_OPERANDS = 2 + TN_MAX_RANK };
typedef struct tn_i_window_column {
    uint32_t in;      /* the operand that has the index */
    int64_t at;       /* where it has it, of the first window */
    int64_t last, by; /* the largest that there is; elements of the array of windows' places from one to the next */
} tn_i_window_column;
typedef struct tn_i_window_form {
    int how; /* operand 0's windows are read into the result; or operand 0 is the result, in which then operand
                `windows` is written, or joined by a primitive of two numbers with what is there */
    uint32_t windows;
    bool clip;     /* places are held inside; else windows that are not wholly inside are dropped, or, read, `fill` */
    bool none;     /* there are no windows, or none that fits */
    uint64_t fill; /* as of a literal */
    int rank;      /* loops over windows, in order */
    int64_t dim[TN_MAX_RANK], index[TN_MAX_RANK], place[TN_MAX_RANK], window[TN_MAX_RANK];
    int inner; /* loops over one window */
    int64_t size[TN_MAX_RANK], in_place[TN_MAX_RANK], in_window[TN_MAX_RANK];
    uint32_t columns; /* of an index vector */
    tn_i_window_column column[TN_MAX_RANK];
} tn_i_window_form;
/* That of walked windows; `indices` is the operand that has their vectors. */
void tn_i_window_form_of(const tn_i_windows *w, uint32_t indices, tn_i_window_form *f);

/* Dimension numbers with the batch in front: of the operand as one more window dimension (indices not
 * batched), of the indices alone, or of both. */
void tn_i_dnums_batch(tn_i_dnums *out, const tn_i_dnums *d, bool operand, bool indices);

/* A random case: operand, indices and their domain, dimension numbers (parameter 0), window sizes, the type of
 * windows.  `gather`: collapsed dimensions have elements. */
bool tn_i_sample_windows(tn_i_rng *r, int dtype, tn_i_case *c, bool gather, int64_t *sizes, tn_type *windows);

/* ---- what scatters have in common (scatter.c) ---- */

/* Parameters: dimension_numbers, mode, and of some unique_indices. */
enum { TN_SCATTER_DNUMS, TN_SCATTER_MODE, TN_SCATTER_UNIQUE };
extern const tn_i_spec tn_i_scatter_spec[], tn_i_scatter_unique_spec[];
/* Starts are held inside (mode=clip); else windows not wholly inside are dropped. */
bool tn_i_scatter_clips(const tn_i_param *p);
/* The result is of operand 0's type; the updates have its dtype and the shape that dimension numbers and indices make.
 */
bool tn_i_type_scatter(tn_i_query *q);
/* Which elements of an operand may end where, wherever the windows are; of no constant factor. */
bool tn_i_scatter_sums(const tn_i_query *q, uint32_t operand, tn_i_sums *s);
bool tn_i_scatter_sums_by(const tn_i_query *q, uint32_t operand, tn_i_sums *s);
/* The same equation of each of a batch. */
void tn_i_batch_scatter(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);
/* What texts of JAX call scatter-sub: scatter_add of what is taken away, negated. */
extern const tn_prim tn_i_scatter_sub_form;
/* A random case; unique: of primitives to which it is promised, where there is one window in each of a batch. */
bool tn_i_sample_scatter(tn_i_rng *r, int dtype, tn_i_case *c);
bool tn_i_sample_scatter_unique(tn_i_rng *r, int dtype, tn_i_case *c);

/* The windows of updates over a result that are not dropped, in order: w.to is where one begins in the updates, w.from
 * where it goes; and the loops over one of them. */
typedef struct tn_i_scattered {
    tn_i_windows w;
    bool clip;
    int rank;
    int64_t dim[TN_MAX_RANK], to[TN_MAX_RANK], from[TN_MAX_RANK];
} tn_i_scattered;
void tn_i_scattered_init(tn_i_scattered *s, const tn_i_param *p, const tn_i_arr *out, const tn_i_arr *indices,
                         const tn_i_arr *updates);
bool tn_i_scattered_next(tn_i_scattered *s);
/* A kernel: operand 0 copied to the result, then the updates, by `row` how they get there. */
tn_status tn_i_scatter_by(const tn_i_kernel *k, tn_i_row *row);
/* The same of single elements or rows of a dense array, each at one index, added or stored; false, and nothing done:
 * others (scatter_elements.c). */
bool tn_i_scatter_elements(const tn_i_kernel *k, bool adds);
/* What it does: how: as of tn_i_window_form. */
void tn_i_scatter_form(const tn_i_kernel *k, int how, tn_i_window_form *f);
/* C text: operand 0 goes to the result, and loops are opened over all elements of the windows: `at` points to one,
 * `update` is what goes there.  false: there is nothing to write, and to close. */
bool tn_i_c_open_scattered(const struct tn_i_c_kernel *k, tn_i_scattered *s);
void tn_i_c_close_scattered(const struct tn_i_c_kernel *k, const tn_i_scattered *s);

/* An equation whose derivative is wanted. */
typedef struct tn_i_scatter_site {
    tn_i_dnums d;
    int64_t sizes[TN_MAX_RANK];
    bool clip, unique; /* unique: no windows meet, as is promised or plain */
    bool fits;         /* windows fit in the operand, so that gather takes them */
} tn_i_scatter_site;
tn_i_scatter_site tn_i_scatter_site_of(const tn_i_rule *r);
/* What of x is where the updates go, and `fill` for those that are dropped (NULL: gather's own). */
tn_i_var tn_i_scatter_read(tn_i_rule *r, const tn_i_scatter_site *s, tn_i_var x, const tn_i_param *fill);

/* ---- gather.c ---- */

/* C text: opens the loops over the windows; behind it `from` and `to` are where each begins, and `inside` tells. */
void tn_i_c_open_windows(const struct tn_i_c_kernel *k, const tn_i_windows *w, bool inside);

#endif
