/* Finding patterns: a program is run over sets of columns, equation by equation (pattern.c), by what descriptors say of
 * primitives (tn_i_spread_class): elementwise.c, moves.c, sums.c, loops.c.  What depends on nothing that may change is
 * computed on the way (known.c). */
#ifndef TN_SPARSE_WALK_H
#define TN_SPARSE_WALK_H

#include "prims/prim.h"
#include "sparse/rows.h"

/* Data shared by values; they follow. */
typedef struct tn_i_shared {
    uint64_t refs;
    size_t bytes;
    struct tn_i_shared *prev, *next; /* of row numbers: all there are */
    int64_t n, pad;                  /* how many */
} tn_i_shared;
static inline void *tn_i_shared_data(const tn_i_shared *b) { return (void *)(uintptr_t)(b + 1); }
tn_i_shared *tn_i_shared_new(tn_ctx *c, size_t bytes); /* one reference; not zeroed */
tn_i_shared *tn_i_shared_ref(tn_i_shared *b);
void tn_i_shared_unref(tn_ctx *c, tn_i_shared *b); /* NULL is fine */

/* A value of the program: what its elements depend on, row numbers (int32_t), or its elements where they are known,
 * row- major; neither where it depends on no column and is not known.  Arrays as long as loops (`?`) have the rows of
 * one entry, which are those of all, and are never known. */
typedef struct tn_i_spread_val {
    tn_i_shared *rows, *known;
    bool local; /* known at the point of `at` alone */
} tn_i_spread_val;
static inline const int32_t *tn_i_spread_val_rows(const tn_i_spread_val *v) {
    return v->rows ? tn_i_shared_data(v->rows) : NULL;
}
void tn_i_spread_val_free(tn_ctx *c, tn_i_spread_val *v);
tn_i_spread_val tn_i_spread_val_ref(const tn_i_spread_val *v);

/* A place where a pattern became denser than it may be. */
typedef struct tn_i_remark {
    const tn_i_loc *loc;
    const char *prim, *why;
} tn_i_remark;

typedef struct tn_i_spreading {
    tn_ctx *ctx;
    tn_i_rowset set;
    tn_i_shared rows;      /* of all values: the head of a ring */
    size_t collect;        /* columns and rows at which those that no value has are dropped */
    const tn_i_loc *dense; /* of the equation that first made rows much longer than all before, or NULL */
    int32_t longest;       /* row so far */
    int64_t dense_columns;
    const char *dense_prim;
    tn_i_remark *remark;
    size_t nremark, cremark;
    struct tn_i_memo *depends; /* of nested programs */
} tn_i_spreading;

/* An equation, its operands and, to be filled, its results (empty at first). */
typedef struct tn_i_spread_eqn {
    tn_i_spreading *w;
    const tn_fn *f;
    const tn_i_eqn *e;
    const tn_i_spread_val *in;
    tn_i_spread_val *out;
    const tn_type **in_type; /* e->nin */
} tn_i_spread_eqn;
static inline const tn_type *tn_i_spread_out(const tn_i_spread_eqn *q, uint32_t j) {
    return q->f->val[q->e->out + j].type;
}

/* A walk with rows over so many columns, for about so many elements; one equation may make `limit` entries. */
bool tn_i_spreading_init(tn_i_spreading *w, tn_ctx *c, struct tn_i_memo *depends, int64_t columns, int64_t elements,
                         int64_t limit);
void tn_i_spreading_free(tn_i_spreading *w);
/* n row numbers, to be set. */
tn_i_shared *tn_i_spread_rows_new(tn_i_spreading *w, int64_t n);
/* Drops rows that no value has, where there are many; values get other numbers.  false after an error, or where more
 * than four times the limit is left: values of a loop's steps may be stacked. */
static inline size_t tn_i_collect_from(int64_t columns) { return ((size_t)1 << 22) + 32 * (size_t)columns; }
bool tn_i_spread_collect(tn_i_spreading *w);

/* Runs f: out[j] gets references.  false after an error. */
bool tn_i_spread_through(tn_i_spreading *w, const tn_fn *f, const tn_i_spread_val *in, tn_i_spread_val *out);
/* Every element of every result depends on all that the operands do. */
bool tn_i_spread_all(tn_i_spread_eqn *q);
bool tn_i_spread_remark(tn_i_spreading *w, const tn_i_eqn *e, const char *why);
/* Row numbers of out[j], all of them `row`. */
int32_t *tn_i_spread_rows(tn_i_spread_eqn *q, uint32_t j, int32_t row);
/* v, of n elements, with what `with` depends on besides; not known any more.  Sets *changed where v was another. */
bool tn_i_spread_join(tn_i_spreading *w, int64_t n, tn_i_spread_val *v, const tn_i_spread_val *with, bool *changed);
/* The row of all that these nv values, of n[i] elements, depend on; -1 after an error. */
int32_t tn_i_spread_hull(tn_i_spreading *w, uint32_t nv, const tn_i_spread_val *v, const int64_t *n);

bool tn_i_spread_elementwise(tn_i_spread_eqn *q);
bool tn_i_spread_moves(tn_i_spread_eqn *q);
bool tn_i_spread_adds(tn_i_spread_eqn *q);
bool tn_i_spread_sums(tn_i_spread_eqn *q);
/* By the user's entries, where there are some; *done tells. */
bool tn_i_spread_entries(tn_i_spread_eqn *q, bool *done);
bool tn_i_spread_loop(tn_i_spread_eqn *q);
bool tn_i_spread_branches(tn_i_spread_eqn *q);

/* known.c: the results of an equation whose operands are all known, where it may be computed: it has one kernel, no
 * effect, and each result at most 64 MiB.  false after an error; results stay empty where it may not. */
bool tn_i_know(tn_i_spread_eqn *q);
/* Its kernel over other arrays. */
bool tn_i_run_kernel(tn_ctx *c, const tn_prim *prim, const tn_i_param *p, uint32_t nin, const tn_i_arr *in,
                     uint32_t nout, tn_i_arr *out, bool *done);
tn_i_arr tn_i_dense_arr(const tn_type *t, void *data);
enum { TN_KNOWN_BYTES = 64 << 20 };

#endif
