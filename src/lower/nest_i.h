/* What the files that lower nests share. */
#ifndef TN_LOWER_NEST_H
#define TN_LOWER_NEST_H

#include "lower/lower.h"

/* The steps of a loop around nests: its arrays of entries have another one in each. */
typedef struct tn_i_lower_steps {
    uint32_t loop;        /* the FOR, or TN_L_NONE: it is one step */
    int64_t every, first; /* which step: every times the number of the iteration, and first */
    int64_t n;            /* steps */
    bool reverse;         /* they are numbered from the last on */
    const int64_t *by;    /* of each entry of the table of addresses: bytes from one step's to the next one's */
    const uint32_t *at;   /* of each entry that the nests know: which it is of the program's; NULL: the same */
} tn_i_lower_steps;

typedef struct tn_i_lowering {
    const tn_i_nest *n;
    tn_i_l_builder *b;
    const tn_i_lower_steps *steps;  /* around it, or NULL */
    tn_i_affine index[TN_MAX_RANK]; /* of each loop that is open: which iteration of the nest's it is */
    uint32_t *value;                /* of each operation: in the loops that are open; TN_L_NONE: nowhere yet */
    uint32_t *reduction;            /* of each REDUCE: its REDUCE in the program */
    uint32_t *buffer;               /* of each operation that crosses: the row's elements */
    uint32_t *array;                /* of each array of the nest */
} tn_i_lowering;

/* nest.c: adds the nest to the program that is being made.  False after an error. */
bool tn_i_lower_into(tn_i_l_builder *b, const tn_i_nest *n, const tn_i_lower_steps *steps);

/* loop.c */
/* A plan that is part of each step. */
typedef struct tn_i_lower_part {
    tn_i_l_builder *b;
    const tn_i_plan *p;
    tn_i_lower_steps s;
} tn_i_lower_part;
/* All that it does: nests and copies. */
void tn_i_lower_plan(const tn_i_lower_part *w);
/* The step's number, to the memory of the plan's first input; counts: the array that has that of the first step, or
 * TN_L_NONE: the loop does all steps. */
void tn_i_lower_number(const tn_i_lower_part *w, uint32_t counts);
/* A copy of a value of type t; places are dense, or have strides of w->p. */
void tn_i_lower_copy(const tn_i_lower_part *w, const tn_type *t, const tn_i_place *from, const tn_i_place *to);
bool tn_i_lower_admits_plan(const tn_i_plan *p);

/* nest_memory.c */
/* What an array of elements of `size` bytes has more, and where a step finds its first one, as steps say. */
static inline uint32_t tn_i_lower_base(const tn_i_lower_steps *s, uint32_t base) {
    return s && s->at ? s->at[base] : base;
}
int64_t tn_i_lower_more(const tn_i_lower_steps *s, uint32_t base, size_t size);
/* by times the number of the step, and more. */
static inline tn_i_affine tn_i_lower_step(const tn_i_lower_steps *s, int64_t by, int64_t more) {
    const int64_t at = by * s->first + more;
    return s->loop == TN_L_NONE ? tn_i_affine_number(at) : tn_i_affine_loop(s->loop, by * s->every, at);
}
tn_i_affine tn_i_lower_entry(const tn_i_lower_steps *s, uint32_t base, size_t size);
/* Arrays, each with the elements that its operation can touch. */
bool tn_i_lower_arrays(tn_i_lowering *w);
uint32_t tn_i_lower_load(tn_i_lowering *w, const tn_i_nest_op *o);
uint32_t tn_i_lower_lookup(tn_i_lowering *w, const tn_i_nest_op *o);
/* Element `index` of array a, by the loops of `mask`. */
tn_i_affine tn_i_lower_address(tn_i_lowering *w, const tn_i_nest_array *a, uint32_t array, uint32_t mask);
/* Once all loops have run. */
void tn_i_lower_spots(tn_i_lowering *w);

#endif
