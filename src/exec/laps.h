/* A loop whose body is programs of numbers, without its plan: where it is no loop program (tn_i_loop.made), as its
 * length is found when it runs, or there is no machine code for the processor.
 *
 * Of a body of a dozen equations, entering it takes longer than running it.  So where all that a body does are nests
 * that run as programs of numbers (nest_scalar.c, nest_tiny.c) and copies of little, its steps (laps) are these
 * programs and nothing else: where arrays are is found once, and only moves on from step to step.
 *
 * Each program is in three parts: what is done once, a step, and what is left to do.  What no step changes is loaded
 * once; a carry that each step loads and stores as a whole stays in its register or tile, and is stored behind the last
 * step, whether the plan has one buffer for it or two; a copy of what a program loads or stores is one more store of
 * it.  The operations of a step, and so its bits, are the body's own. */
#ifndef TN_LAPS_H
#define TN_LAPS_H

#include "exec/loop.h"
#include "exec/nest_code.h"
#include "exec/stack.h"

/* Registers and tiles of all programs are on the stack of the thread. */
enum { TN_LAP_BYTES = 8192, TN_LAP_ARRAYS = TN_NEST_ARRAYS, TN_LAP_PROGRAMS = 8, TN_LAP_COPY = 1024 };

typedef struct tn_i_lap_array {
    uint32_t base;
    int64_t at;
} tn_i_lap_array;

typedef struct tn_i_lap_program {
    const tn_i_nest *nest;
    tn_i_number_op *op; /* parts: from 0, `step` and `last` on */
    struct tn_i_tiny *small;
    uint32_t nop, cop, step, last;
    uint32_t array; /* its first one */
    size_t reg;     /* where its registers or tiles begin */
} tn_i_lap_program;

typedef struct tn_i_lap_copy {
    uint32_t from, to;
    size_t bytes;
    const tn_i_move *strided; /* NULL: dense */
    const tn_type *type;
} tn_i_lap_copy;

/* An array that is another entry each step. */
typedef struct tn_i_lap_mover {
    uint32_t array, mover, cursor; /* mover of the loop; its cursor, if that walks a stack */
} tn_i_lap_mover;

/* An array in one of a carry's two buffers, which change places each step. */
typedef struct tn_i_lap_swap {
    uint32_t array, pair;
    bool out;
} tn_i_lap_swap;

struct tn_i_laps {
    tn_i_lap_program program[TN_LAP_PROGRAMS];
    uint32_t nprogram, narray, ncopy, nmover, nswap, npair;
    tn_i_lap_array array[TN_LAP_ARRAYS];
    tn_i_lap_copy *copy;
    tn_i_lap_mover *mover; /* room for one of each array, as of swaps */
    tn_i_lap_swap *swap;
    uint8_t *kept; /* of the loop's pairs: in a register, and so in one buffer */
    size_t croom;  /* of copies */
    size_t bytes;  /* of registers and tiles */
};

/* For loops whose body is planned: *out stays NULL where the body does anything else.  False after an error. */
bool tn_i_laps_make(tn_ctx *c, const tn_i_loop *l, tn_i_laps **out);
void tn_i_laps_drop(tn_ctx *c, tn_i_laps *k);
/* n > 0 steps from those entries on that the frame has, and carries; `by` is 1 or -1, *number that of the first step.
 * The frame then has what is carried on, and the entries that it had. */
void tn_i_laps_run(const tn_i_laps *k, const tn_i_loop *l, uintptr_t *frame, const tn_i_cursor *cursor, int64_t n,
                   int64_t by, int64_t *number);

/* ---- for laps.c, laps_number.c and laps_tiny.c ---- */

/* What a step finds where an array is. */
typedef enum tn_i_lap_memory {
    TN_LAP_STAYS,   /* the same as the step before */
    TN_LAP_CARRIED, /* what the step before stored with access `with` */
    TN_LAP_CHANGES  /* anything: it is read and written each step */
} tn_i_lap_memory;

/* A load or a store of a program, in their order, or what the plan copies: a store of the program that stores or loads
 * the same, or of program TN_NOVAR a load and a store. */
typedef struct tn_i_lap_access {
    uint32_t array, program;
    uint32_t of;           /* number of the load or store, or of the instruction; of a copy: access of its program */
    uint32_t with;         /* of what is carried: the store of a load, and the load of a store */
    uint32_t base;         /* of both buffers of a carry: that in which it enters */
    uint32_t pair;         /* the loop's, or TN_NOVAR */
    int64_t bytes;         /* where `whole` */
    uint8_t dtype, memory; /* memory: tn_i_lap_memory */
    bool store, copy;
    bool whole; /* of all elements, one behind the other */
    bool out;   /* of a pair: where it leaves a step */
} tn_i_lap_access;

typedef struct tn_i_lap_maker {
    tn_ctx *ctx;
    tn_i_laps *laps;
    const tn_i_loop *loop;
    tn_i_lap_access *access;
    size_t naccess, caccess;
} tn_i_lap_maker;

bool tn_i_lap_new_access(tn_i_lap_maker *m, const tn_i_lap_access *x);
/* Another array; false where there are too many. */
bool tn_i_lap_new_array(tn_i_laps *k, uint32_t base, int64_t at, uint32_t *array);
/* Room for so many operations of a program. */
bool tn_i_lap_room(tn_i_lap_maker *m, tn_i_lap_program *p, size_t nop);
/* Where the address of an array is, seen from a program's registers: in front of those of the first program. */
static inline int32_t tn_i_lap_slot(const tn_i_lap_program *p, uint32_t array) {
    return (int32_t)((int64_t)array - TN_LAP_ARRAYS) * (int32_t)sizeof(char *) - (int32_t)p->reg;
}
/* So many bytes behind what is there: from where the program's registers begin. */
uint32_t tn_i_lap_reserve(tn_i_laps *k, const tn_i_lap_program *p, size_t bytes);
void tn_i_lap_duplicate(tn_i_lap_program *p, uint32_t from, uint32_t to, uint32_t bytes);
/* Ends a part; returns where the next one begins. */
uint32_t tn_i_lap_end(tn_i_lap_program *p);

/* Of one element (laps_number.c), and tiny ones (laps_tiny.c): accesses; operations, when it is known what they find.
 * False after an error. */
bool tn_i_lap_number_accesses(tn_i_lap_maker *m, uint32_t program);
bool tn_i_lap_number(tn_i_lap_maker *m, uint32_t program);
bool tn_i_lap_tiny_accesses(tn_i_lap_maker *m, uint32_t program);
bool tn_i_lap_tiny(tn_i_lap_maker *m, uint32_t program);
/* Whether there is such a program of the nest. */
bool tn_i_lap_fits(const tn_i_nest *n);

#endif
