/* What the files that write a nest share. */
#ifndef TN_NEST_EMIT_H
#define TN_NEST_EMIT_H

#include "emit/emit.h"

/* How a reduction is written. */
typedef enum tn_i_sum_kind {
    TN_SUM_LANES,  /* over the only inner loop: lanes in registers */
    TN_SUM_LEAVES, /* elements are collected until they are a leaf */
    TN_SUM_COLUMNS /* over leading loops: lanes of whole rows in memory */
} tn_i_sum_kind;

typedef struct tn_i_sum {
    tn_i_sum_kind kind;
    bool total;   /* LEAVES: over all loops, not of each row */
    uint32_t led; /* COLUMNS: how many loops are reduced */
    int64_t q;    /* COLUMNS: results side by side, among them what the innermost loop is filled up with */
    int64_t run;  /* COLUMNS: results of the innermost loop, filled up to whole vectors where that may be */
    int64_t n;    /* elements of a result */
    size_t at;    /* COLUMNS: offset in scratch, or SIZE_MAX: on the stack */
} tn_i_sum;

typedef struct tn_i_nest_writer {
    tn_i_module *m;
    tn_i_text *t;
    const tn_i_nest *n;
    const tn_i_plan *p;
    const tn_i_step *s;
    struct tn_i_registers *registers; /* places that are variables; NULL: none */
    int width;                        /* bytes of the widest number: masks are as wide */
    int lanes;                        /* of a vector of those */
    bool numbers;                     /* no loops within a row: everything is numbers */
    int64_t inner;                    /* size of the innermost loop; 1 when `numbers` */
    int u;                            /* which of several vectors is written */
    uint8_t mask[TN_NEST_OPS];        /* bytes of the integers of an operation's mask */
    bool spread[TN_NEST_OPS];         /* a number that vectors read */
    bool carried[TN_NEST_OPS];        /* kept in a buffer of the row for later phases */
    bool function[TN_NEST_OPS];       /* it calls a function of vectors */
    uint32_t block[TN_NEST_OPS];      /* the member of its block that all are written with (blocks.c), or TN_NOVAR */
    struct {
        uint32_t block, op;
    } early[TN_NEST_ARRAYS]; /* blocks that are stored behind an operation, sooner than they stand */
    uint32_t nearly;
    uint32_t address[TN_NEST_OPS]; /* entry of the table that its body calls, or 0 */
    tn_i_sum sum[TN_NEST_OPS];
    bool plain;                       /* no box begins or ends in what is being written */
    int64_t plain_lo, plain_hi;       /* where so, of the innermost loop */
    size_t buffers;                   /* offset in scratch of the rows' buffers, SIZE_MAX: on the stack */
    size_t needs;                     /* bytes of scratch, of one thread */
    const struct tn_i_nest_code *cut; /* how threads share it; NULL: they do not */
    struct {
        bool on;
        int64_t row;  /* elements in front of the row that is being written, of rows that are gone through as one */
        int64_t seam; /* how many lanes are this row's, where the others are the next one's; 0: all */
    } flat;           /* nest_flat.c */
    struct {
        bool on;
        uint32_t of[TN_NEST_OPS];  /* the operation of whose vectors this one's are made, or TN_NOVAR */
        uint8_t back[TN_NEST_OPS]; /* how many elements it is behind that */
        bool need[TN_NEST_OPS], done[TN_NEST_OPS];
    } behind; /* nest_behind.c */
    struct {
        int vectors; /* how many are of one leaf, where the others are of the next; 0: all are of leaf `at` */
        int at;
    } leaf;                   /* nest_leaves.c */
    size_t part[TN_NEST_OPS]; /* of a sum that goes through all pieces: where in scratch its parts are */
} tn_i_nest_writer;

/* A vector of the innermost loop, of which at a row's end only `count` elements are there. */
typedef struct tn_i_piece {
    int64_t count;
    const char *some; /* the variable that says how many; NULL: `count` */
} tn_i_piece;

/* numbers.c: one number. */
void tn_i_emit_number(tn_i_text *t, int dtype, uint64_t bits);
void tn_i_emit_scalar(tn_i_nest_writer *w, uint32_t op);
void tn_i_emit_numbers(tn_i_nest_writer *w); /* all of a nest without loops */
/* nest_ops.c: n vectors, the first at element `i`. */
void tn_i_emit_pieces(tn_i_nest_writer *w, uint32_t phase, int n, const tn_i_piece *k);
void tn_i_emit_operation(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k);
void tn_i_emit_stays(tn_i_nest_writer *w, uint32_t phase); /* in front of the innermost loop: what it does not move */
void tn_i_emit_spread(tn_i_nest_writer *w, uint32_t op);
/* "f64x8"; of bool the integers of op's mask. */
void tn_i_vector_type(const tn_i_nest_writer *w, uint32_t op, char *text);

/* The name of such a vector. */
void tn_i_put_vector(tn_i_nest_writer *w, uint32_t op);

void tn_i_emit_indices(tn_i_nest_writer *w, uint32_t op);

/* blocks.c: neighbours in memory, together.  True: op was written, or is with another. */
void tn_i_blocks_plan(tn_i_nest_writer *w);
bool tn_i_emit_block(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k);
void tn_i_emit_blocks_behind(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k);

/* nest_aligned.c: whether rows are better stored from where vectors are aligned; and the elements of a row, so. */
bool tn_i_aligns_rows(const tn_i_nest_writer *w);
void tn_i_emit_aligned(tn_i_nest_writer *w);
uint32_t tn_i_first_store(const tn_i_nest_writer *w); /* its array's rows are those that are aligned */

/* nest_flat.c: whether rows are gone through as one, if they are aligned; `done` says how many have been. */
bool tn_i_rows_are_flat(const tn_i_nest_writer *w);
void tn_i_emit_flat_rows(tn_i_nest_writer *w);
/* The value of a LOAD in such rows, where it is no matter of the index alone; false: it is. */
bool tn_i_emit_flat_load(tn_i_nest_writer *w, uint32_t op, const char *type, const tn_i_piece *piece);

/* nest_behind.c: whether operations of the plain part take over what others compute of neighbours; in front of its
 * loop; a vector of it without stores; at the end of a step. */
bool tn_i_find_behind(tn_i_nest_writer *w, uint32_t phase);
void tn_i_behind_begin(tn_i_nest_writer *w);
void tn_i_behind_vector(tn_i_nest_writer *w, uint32_t phase, const tn_i_piece *k);
void tn_i_behind_next(tn_i_nest_writer *w, int vectors);

/* nest_vec.c: elements from `from` to `to`, texts, by so many vectors; and the last ones of a row, from a number on. */
void tn_i_emit_vectors(tn_i_nest_writer *w, uint32_t phase, const char *from, const char *to, int vectors);
void tn_i_emit_last(tn_i_nest_writer *w, uint32_t phase, int64_t from);
/* Whether elements of a phase are loaded that may not be there. */
bool tn_i_has_boxes(const tn_i_nest *n, uint32_t phase);
/* q3, an array where loops 0 .. loops-1 are. */
void tn_i_move_arrays(tn_i_nest_writer *w, uint32_t loops);
/* Where an array is. */
const tn_i_place *tn_i_array_place(const tn_i_nest_writer *w, uint32_t array);
/* "if (wanted) " in front of a store to an output that the caller may leave out. */
void tn_i_emit_guard(tn_i_nest_writer *w, uint32_t array);
/* "*(f64 *)q3", or what stands for it where places are variables. */
void tn_i_emit_element(tn_i_nest_writer *w, uint32_t array);
/* The flat index, in loops first .. end-1 of sizes known, of the loops' variables. */
void tn_i_emit_flat(tn_i_nest_writer *w, uint32_t first, uint32_t end);

/* sums.c */
bool tn_i_sum_plan(tn_i_nest_writer *w);
void tn_i_sums_declare(tn_i_nest_writer *w); /* in front of all loops */
void tn_i_sums_begin_row(tn_i_nest_writer *w, uint32_t phase);
/* One leaf or two at a time; `second`: the condition that there is another one, NULL: there is not. */
void tn_i_sums_begin_leaf(tn_i_nest_writer *w, uint32_t phase, int leaves);
void tn_i_sums_end_leaf(tn_i_nest_writer *w, uint32_t phase, const char *second);
void tn_i_sums_end_row(tn_i_nest_writer *w, uint32_t phase);
/* In front of the innermost loop, or, of what rows are reduced, behind that of their values. */
void tn_i_sums_enter(tn_i_nest_writer *w, uint32_t phase, bool rows);
void tn_i_sum_add(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k);
void tn_i_sum_add_number(tn_i_nest_writer *w, uint32_t op);
void tn_i_sums_leave_loop(tn_i_nest_writer *w, uint32_t loop); /* behind the body of a loop */
void tn_i_sums_end(tn_i_nest_writer *w);                       /* behind all loops: results are stored */
void tn_i_sums_end_piece(tn_i_nest_writer *w);                 /* behind those of a piece (nest_parts.c) */
bool tn_i_has_leaf(const tn_i_nest_writer *w, uint32_t phase);

/* nest_leaves.c: the elements of a row with leaves, `whole` of them in vectors; in pieces those from `from` to `to`. */
void tn_i_emit_leaves(tn_i_nest_writer *w, uint32_t phase, int vectors, int64_t whole, bool pieces);

/* nest_prefetch.c: whether elements of a phase are given to functions; what of them is far away is asked for ahead. */
bool tn_i_calls_functions(const tn_i_nest_writer *w, uint32_t phase);
void tn_i_emit_prefetch(tn_i_nest_writer *w, uint32_t phase, int vectors, const tn_i_piece *k);

/* nest_parts.c: nests for several threads.  Whether this one is; where the parts of its sums are. */
void tn_i_parts_plan(tn_i_nest_writer *w);
/* A sum of all pieces, of which one only makes a part. */
bool tn_i_in_parts(const tn_i_nest_writer *w, uint32_t op);
int64_t tn_i_results(const tn_i_nest_writer *w, uint32_t op); /* side by side, of such a sum */
/* In a piece: what the sum came to, results side by side at `from`, is its part. */
void tn_i_parts_put(tn_i_nest_writer *w, uint32_t op, const char *from);
/* After all pieces: they run, and parts become `T *sum5`, results side by side. */
void tn_i_parts_run(tn_i_nest_writer *w, uint32_t id);
void tn_i_parts_join(tn_i_nest_writer *w);

/* sums.c: the C type that op's elements are folded in. */
const char *tn_i_sum_type(const tn_i_nest_writer *w, uint32_t op);
const char *tn_i_fold_macro(int fold);

/* Whether op belongs to the element loop of a phase. */
static inline bool tn_i_of_elements(const tn_i_nest_writer *w, const tn_i_nest_op *o) {
    return o->level == TN_NEST_ELEMENT || (o->kind == TN_NEST_REDUCE && w->n->op[o->in[0]].level == TN_NEST_ELEMENT);
}
static inline uint32_t tn_i_inner_mask(const tn_i_nest *n) { return ((1u << n->nloop) - 1) & ~((1u << n->nouter) - 1); }
static inline bool tn_i_of_row(const tn_i_nest *n, const tn_i_nest_op *o) { /* a reduction that rows may read */
    return o->kind == TN_NEST_REDUCE && o->over == tn_i_inner_mask(n);
}

#endif
