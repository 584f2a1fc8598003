/* Reductions as loops: what the files of pass `sums` share. */
#ifndef TN_PASS_SUMS_H
#define TN_PASS_SUMS_H

#include "pass/inside.h"

enum { TN_SUMMING_LOOPS = TN_L_TERMS };

typedef enum tn_i_summing_kind {
    TN_SUMMING_NONE,    /* stays a REDUCE */
    TN_SUMMING_ROW,     /* one result of one straight loop: lanes are a vector */
    TN_SUMMING_BUFFER,  /* one result of several loops: elements wait in a buffer until they are a leaf */
    TN_SUMMING_COLUMNS, /* several results, each loop over which is within those that are reduced: lanes in memory, side
                        by side */
    TN_SUMMING_EACH,    /* any other */
    TN_SUMMING_ARG      /* argmax, argmin */
} tn_i_summing_kind;

/* A REDUCE and its INTO, within loops from `loop[0]` (outermost) to loop[nloop - 1]. */
typedef struct tn_i_reduction {
    uint32_t reduce, into, nloop, loop[TN_SUMMING_LOOPS];
    bool kept[TN_SUMMING_LOOPS]; /* which of them its results walk */
    uint8_t kind, fold, dtype;
    int64_t size[TN_SUMMING_LOOPS];
    int64_t n, count;      /* elements of a result; results */
    int64_t base;          /* elements that other INTOs have fed it before */
    bool more;             /* another INTO feeds it behind this one's loops */
    int64_t before, lanes; /* leaves before the last; lanes that are used */
    uint32_t lane, stack;  /* scratch arrays; ARG: the best, and where it is; BUFFER: elements, and the counter */
    bool split;            /* COLUMNS: of one loop, which is split so that lanes are told by loops */
    bool by_columns;       /* and nothing but columns in it: these come first (sums_columns.c) */
    tn_i_affine lane_of;   /* of a split loop: the lane of this iteration */
    uint32_t here;         /* COLUMNS: the lane of this iteration, a value; BUFFER: where its chunk goes */
    uint32_t total;        /* ROW: the result; of argmax and argmin without lanes: where it is */
} tn_i_reduction;

typedef struct tn_i_summing {
    const tn_i_loops *p;
    const tn_i_machine *m;
    tn_i_l_copy c;
    tn_i_reduction *of;       /* of each REDUCE, INTO */
    uint32_t *around, *which; /* which[k]: 1 + the reduction of operation k */
    uint32_t nof;
} tn_i_summing;

static inline bool tn_i_summing_arg(const tn_i_reduction *r) { return r->fold > TN_FOLD_MIN; }
/* That is looked for one by one: no lanes. */
static inline bool tn_i_summing_alone(const tn_i_reduction *r) { return r->kind == TN_SUMMING_ROW && r->lanes == 1; }
/* Of numbers of n elements: as narrow as the elements, so that both are as many to a vector. */
static inline int tn_i_summing_where(int64_t n, int dtype) {
    return n <= INT32_MAX && tn_i_dtype_size(dtype) <= 4 ? TN_I32 : TN_I64;
}
/* An element, and where it is: of argmax and argmin, the best so far. */
typedef struct tn_i_best {
    uint32_t x, at;
} tn_i_best;
/* `next` where it is better than `best`: larger (smaller), or the first NaN. */
tn_i_best tn_i_summing_best(tn_i_l_builder *b, int fold, int dtype, tn_i_best best, tn_i_best next);
uint32_t tn_i_summing_fold(tn_i_summing *z, const tn_i_reduction *r, uint32_t x, uint32_t y);
uint32_t tn_i_summing_identity(tn_i_summing *z, const tn_i_reduction *r);
int64_t tn_i_summing_levels(int64_t leaves);
/* Which element of its result it is: over the reduced loops, or those of the first `loops`. */
tn_i_affine tn_i_summing_element(tn_i_summing *z, const tn_i_reduction *r, uint32_t loops);

/* sums_leaf.c: element `at` of each of `n` reductions; mask: a bool, or TN_L_NONE. */
typedef void tn_i_summing_body(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, uint32_t mask,
                               uint32_t *x);
enum { TN_SUMMING_TOGETHER = 256 }; /* as many as a nest has arrays */
/* Elements at .. at + count - 1, count <= TN_LEAF, as one leaf. */
void tn_i_summing_leaf(tn_i_summing *z, tn_i_reduction *const *r, uint32_t n, tn_i_affine at, int64_t count,
                       tn_i_summing_body *body, uint32_t *x);
/* A leaf enters the counter; next: its number + 1, an i64.  Entries of level m are at stack[m count + at]. */
void tn_i_summing_enter(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine at, uint32_t next, uint32_t x);
/* The last leaf and what the counter has after `leaves`; x TN_L_NONE: there is no more. */
uint32_t tn_i_summing_join(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine at, int64_t leaves, uint32_t x);
/* Loop k of ROWs. */
void tn_i_summing_row(tn_i_summing *z, uint32_t k);

/* sums_memory.c: at the REDUCE; behind the FOR of the innermost reduced loop, and in front of its END; the INTO; behind
 * the outermost loop; TOTAL's value. */
void tn_i_summing_begin(tn_i_summing *z, tn_i_reduction *r);
void tn_i_summing_open(tn_i_summing *z, tn_i_reduction *r);
void tn_i_summing_close(tn_i_summing *z, tn_i_reduction *r);
void tn_i_summing_into(tn_i_summing *z, tn_i_reduction *r);
/* The INTO of COLUMNS that are split, where the mask is true; mask: a bool, or TN_L_NONE. */
void tn_i_summing_into_split(tn_i_summing *z, const tn_i_reduction *r, uint32_t mask);
void tn_i_summing_finish(tn_i_summing *z, tn_i_reduction *r);
uint32_t tn_i_summing_total(tn_i_summing *z, tn_i_reduction *r, const tn_i_l_op *o);
/* Loop k of COLUMNS that are split: leaves, rounds and lanes. */
void tn_i_summing_split(tn_i_summing *z, uint32_t k, void (*body)(tn_i_summing *z, uint32_t k));
/* sums_columns.c: whether the loop of r can be loops over columns first; and these, which leave results in r->lane. */
bool tn_i_summing_by_columns(const tn_i_summing *z, const tn_i_reduction *r);
void tn_i_summing_columns(tn_i_summing *z, tn_i_reduction *r);
/* The innermost loop of a BUFFER, in chunks of a leaf. */
void tn_i_summing_chunks(tn_i_summing *z, tn_i_reduction *r, void (*body)(tn_i_summing *z, uint32_t k));

#endif
