/* What the files that lower plans share. */
#ifndef TN_LOWER_NEST_H
#define TN_LOWER_NEST_H

#include "lower/lower.h"

/* ---- frame.c: where things are -------------------------------------------------------------------------------------
 *
 * A plan tells places relative to entries of its table of addresses.  One that is part of a loop program has none: each
 * entry is told by an entry of the program's table instead, and by the loops around in whose steps it is another
 * address. */

typedef struct tn_i_lower_place {
    uint32_t base;       /* of the program's table; TN_BASE_ABSOLUTE: at is an address */
    uint32_t n;          /* loops that it walks in */
    int64_t at;          /* bytes from there to the first in memory that any step has */
    int64_t first, more; /* bytes from that to the first step's, and to the last in memory */
    struct {
        uint32_t loop;
        int64_t by; /* bytes from one iteration to the next */
    } walk[TN_PART_LEVELS];
} tn_i_lower_place;

/* The steps of a loop. */
typedef struct tn_i_lower_steps {
    uint32_t loop;        /* the FOR, or TN_L_NONE: it is one step */
    int64_t every, first; /* which step: every times the number of the iteration, and first */
    int64_t n;            /* steps */
    bool reverse;         /* they are numbered from the last on */
} tn_i_lower_steps;

/* Entries of the table of f's plan. */
static inline size_t tn_i_lower_entries(const tn_fn *f) { return TN_BASE_ARGUMENTS + (size_t)f->nin + f->nout; }
/* Entry `base`; of a plan that is no part (frame NULL) it is the program's own. */
tn_i_lower_place tn_i_lower_entry(const tn_i_lower_place *frame, uint32_t base);
/* A place of the plan. */
tn_i_lower_place tn_i_lower_inside(const tn_i_lower_place *frame, const tn_i_place *k);
/* So many bytes on in each step; `by` below 0: from the last in memory on. */
void tn_i_lower_walk(tn_i_lower_place *q, const tn_i_lower_steps *s, int64_t by);
/* by times the number of the step, and more. */
tn_i_affine tn_i_lower_step(const tn_i_lower_steps *s, int64_t by, int64_t more);
/* An array of count elements in each step, `at` bytes from there on; align 0: the element's size. */
uint32_t tn_i_lower_array(tn_i_l_builder *b, const tn_i_lower_place *q, const char *name, int dtype, int role,
                          int64_t count, int64_t at, uint32_t align);
/* Its first element in this step. */
tn_i_affine tn_i_lower_first(tn_i_l_builder *b, const tn_i_lower_place *q, int dtype);

/* ---- nest.c, nest_memory.c: nests ----------------------------------------------------------------------------------
 */

/* The elements that operations touch of an array, from its place on: [lo, hi]. */
typedef struct tn_i_lower_extent {
    int64_t lo, hi;
    bool none, stored; /* none, or too far apart */
} tn_i_lower_extent;

typedef struct tn_i_lowering {
    const tn_i_nest *n;
    tn_i_l_builder *b;
    const tn_i_lower_place *frame;  /* of its plan */
    tn_i_affine index[TN_MAX_RANK]; /* of each loop that is open: which iteration of the nest's it is */
    uint32_t *value;                /* of each operation: in the loops that are open; TN_L_NONE: nowhere yet */
    uint32_t *reduction;            /* of each REDUCE: its REDUCE in the program */
    uint32_t *buffer;               /* of each operation that crosses: the row's elements */
    uint32_t *array;                /* of each array of the nest */
    tn_i_lower_extent *extent;      /* the same */
} tn_i_lowering;

/* Adds the nest to the program that is being made.  False after an error. */
bool tn_i_lower_into(tn_i_l_builder *b, const tn_i_nest *n, const tn_i_lower_place *frame);
/* Arrays, each with the elements that its operation can touch. */
bool tn_i_lower_arrays(tn_i_lowering *w);
uint32_t tn_i_lower_load(tn_i_lowering *w, const tn_i_nest_op *o);
uint32_t tn_i_lower_lookup(tn_i_lowering *w, const tn_i_nest_op *o);
/* Element `index` of array a, by the loops of `mask`. */
tn_i_affine tn_i_lower_address(tn_i_lowering *w, const tn_i_nest_array *a, uint32_t array, uint32_t mask);
/* Once all loops have run. */
void tn_i_lower_one_hot(tn_i_lowering *w);

/* ---- part.c, loop.c: plans -----------------------------------------------------------------------------------------
 */

/* Of conditions and `while` it is found when they run how often: what is counted, in the order of tn_i_profile_steps.
 */
typedef struct tn_i_lower_counters {
    uint32_t array; /* of i64; TN_L_NONE: nothing is counted */
    uint32_t next;  /* the element of the next one */
} tn_i_lower_counters;

/* A plan that is part of a loop program. */
typedef struct tn_i_lower_part {
    tn_i_l_builder *b;
    const tn_i_plan *p;
    const tn_i_lower_place *frame;
    tn_i_lower_counters *counters;
} tn_i_lower_part;

/* All that it does: nests, copies, programs of which it runs one, loops. */
void tn_i_lower_plan(const tn_i_lower_part *w);
/* A loop that is a step of the plan. */
void tn_i_lower_loop_step(const tn_i_lower_part *w, const tn_i_step *s);
/* The step's number, to the memory of the plan's first input; counts: the array that has that of the first step, or
 * TN_L_NONE: the loop does all steps. */
void tn_i_lower_number(const tn_i_lower_part *w, const tn_i_lower_steps *s, uint32_t counts);
/* One side of a copy of a value of type t, not empty, at a place: its first element, and elements from one index to the
 * next. */
typedef struct tn_i_lower_side {
    uint32_t array;
    tn_i_affine e;
    int64_t stride[TN_MAX_RANK];
} tn_i_lower_side;
tn_i_lower_side tn_i_lower_side_of(const tn_i_lower_part *w, const tn_type *t, const tn_i_place *k, bool out);
bool tn_i_lower_same_place(const tn_i_lower_part *w, const tn_i_place *a, const tn_i_place *b);
/* A kernel of windows (windows.c). */
void tn_i_lower_windows(const tn_i_lower_part *w, const tn_i_step *s);
/* One that moves boxes (boxes.c). */
void tn_i_lower_boxes(const tn_i_lower_part *w, const tn_i_step *s);
/* One that scans (scans.c). */
void tn_i_lower_scan(const tn_i_lower_part *w, const tn_i_step *s);
/* One that is called (calls.c). */
void tn_i_lower_call(const tn_i_lower_part *w, const tn_i_step *s);
/* A loop with a schedule, whose driver is called (calls.c). */
void tn_i_lower_group(const tn_i_lower_part *w, const tn_i_step *s);
/* Elements of x to those of y, which walk these dimensions, none of which is 0, by their strides. */
void tn_i_lower_elements(tn_i_l_builder *b, int rank, const int64_t *dim, tn_i_lower_side x, tn_i_lower_side y);
/* Whether 0 <= x <= last, of an index x (nest_memory.c). */
uint32_t tn_i_lower_is_index(tn_i_l_builder *b, uint32_t x, int64_t last);
/* A copy of a value of type t; places are dense, or have strides of w->p. */
void tn_i_lower_copy(const tn_i_lower_part *w, const tn_type *t, const tn_i_place *from, const tn_i_place *to);
/* Adds x, an i64, to a counter. */
void tn_i_lower_count(const tn_i_lower_part *w, uint32_t counter, uint32_t x);

#endif
