/* Loops in a plan: one step of the plan runs all steps of a loop. */
#ifndef TN_EXEC_LOOP_H
#define TN_EXEC_LOOP_H

#include "plan/plan.h"

/* scan and while as the executor sees them. */
typedef struct tn_i_loop_shape {
    const tn_fn *body, *cond; /* cond NULL: a scan */
    int64_t length;           /* TN_I_STEPS: operand 0 tells, or cond */
    bool reverse, index;      /* the body's first input is the step's number */
    uint32_t ncond, nconst, ncarry, nx, ny;
    uint32_t const0, carry0, x0; /* among the operands; those of cond come first */
    uint32_t y0, steps;          /* among the outputs; the number of steps, or TN_NOVAR */
    const char *schedule;        /* NULL: none */
} tn_i_loop_shape;

/* false when e is no loop. */
bool tn_i_loop_read(const tn_i_eqn *e, tn_i_loop_shape *s);

/* An entry of the body's frame that is another address each step. */
typedef struct tn_i_mover {
    uint32_t at;       /* index in the frame */
    uint32_t arg, out; /* operand or output of the equation; the other is TN_NOVAR */
    int64_t by;        /* bytes from one entry to the next; of a stack: 0 */
    int64_t entry;     /* the same, of a stack too, unless one entry is all there are; -1: entries are handles */
    bool stack;        /* one handle, whose entries are walked by a cursor */
} tn_i_mover;

/* A carry with two buffers, which change places each step.  Where an array is made of what enters the steps, each
 * leaves it there for the next, so that it is in a buffer only as it enters the first and leaves the last. */
typedef struct tn_i_pair {
    uint32_t leaf;
    uint32_t stacked; /* the mover of that array, or TN_NOVAR */
    size_t second;    /* offset in the step's scratch */
    size_t bytes;
} tn_i_pair;

/* What a plan takes as part of a loop program, or one step of a loop. */
typedef struct tn_i_part_size {
    double work; /* operations of its nests, of which a large number is a large number, and copied elements */
    size_t keeps, registers; /* bytes of its nests: all that is kept in memory; the most registers of one */
    uint32_t counters;      /* of what is found when it runs: how often each program of several, the steps of `while` */
    uint32_t steps;         /* of all programs in it: calls of calls may be very many */
    uint32_t levels;        /* loops and programs of several in each other, with those around that are the plan's own */
    const tn_i_nest *first; /* of its nests, or NULL */
    bool calls;             /* it calls kernels of the library */
    bool own; /* asked: its table of addresses is the plan's, so that loops with schedules may be called */
} tn_i_part_size;
enum { TN_PART_LEVELS = 8 }; /* loops around that the address of an element may move in (TN_L_TERMS less TN_MAX_RANK) */

/* Steps in a row that are one loop program (segments.c): they are run by it where all that it needs is there, else one
 * by one. */
struct tn_i_segment {
    size_t first, n; /* steps */
    tn_i_part_size size;
    size_t bytes; /* of scratch memory */
    tn_i_made made;
};
/* Those of root, and of what its steps run one by one; *bytes: of scratch memory, the most of one.  False after an
 * error. */
bool tn_i_plan_segments(tn_ctx *c, tn_i_plan *root, size_t *bytes);

/* Many steps as one loop program (lower/loop.c), which has `nscratch` bytes of the step's scratch.  Its table of
 * addresses is the body's frame, and what else is behind that in the step's scratch: entry `counts` has the address of
 * two i64, the number of steps and that of the first one (where a condition ends them: how many it were), and behind
 * them its counters. */
typedef enum tn_i_whole {
    TN_WHOLE_NOT,
    TN_WHOLE_ALL,  /* all steps, of a known number */
    TN_WHOLE_SOME, /* so many as counts say, at most `most` */
    TN_WHILE_ALL,  /* until the condition does not hold; counts then say how many that was */
    TN_WHILE_SOME  /* likewise, but at most as many as counts say: there is room for so many entries */
} tn_i_whole;

struct tn_i_loop {
    tn_i_loop_shape shape;
    const tn_i_plan *body, *cond;
    uint32_t arg; /* places of the operands in plan->arg; of carries: of the outputs that they become */
    /* offsets in the step's scratch: the body's frame is at 0 */
    size_t cond_frame, number, answer, cursor, arena, bytes;
    tn_i_mover *mover;
    tn_i_pair *pair;
    uint32_t nmover, npair, room; /* room: of both arrays */
    uint32_t ncursor;
    bool stacks; /* an output is a stack of its own */
    tn_i_whole whole;
    bool inner;          /* all of it may be part of a step around */
    tn_i_part_size size; /* of body and condition */
    int64_t most;
    size_t counts; /* offset of the table's entry, behind which the numbers are; 0: there are none */
    size_t scratch, nscratch;
    tn_i_made made; /* what there is of it */
};

void tn_i_loop_drop(tn_ctx *c, tn_i_loop *l);

#endif
