/* What the files that split a loop share: loop_split.c, loop_entering.c, which spares stacks, and loop_effects.c. */
#ifndef TN_LOOP_SPLIT_H
#define TN_LOOP_SPLIT_H

#include "control/loops/loop.h"

/* Where a residual of the step comes from. */
typedef enum tn_i_source {
    TN_I_NUMBER,
    TN_I_CONST,
    TN_I_ENTRY,
    TN_I_ENTERING, /* the carry that enters the step, stacked */
    TN_I_HOISTED,  /* made of consts, outside */
    TN_I_STACKED,
    TN_I_INITIAL, /* the carry that enters the loop */
    TN_I_WHOLE    /* the stack of another residual, all of it */
} tn_i_source;

typedef struct tn_i_residual {
    tn_i_source from;
    uint32_t at;    /* HOISTED, STACKED: the known step's output; WHOLE: the other residual; else the body's input */
    uint32_t place; /* HOISTED: among what is computed outside; ENTERING, STACKED: among the stacks */
    bool spared;    /* ENTERING: had in another way, too */
} tn_i_residual;

/* A loop that is being split. */
typedef struct tn_i_loop_halves {
    tn_i_rule *r;
    tn_i_loop_eqn l;
    tn_i_arena a;
    uint8_t *unknown;   /* per input of the body, through all steps */
    bool *flag;         /* the same, as partial evaluation wants it */
    uint8_t *out;       /* per output of the body */
    uint32_t *known_at; /* per known input of the body, in order: which it is */
    uint32_t *known_of; /* per input of the body: its place among the known ones */
    uint32_t nknown, nknown_out;
    tn_i_parts parts; /* of the step */
    tn_fn *linear;    /* the linear step, whose first inputs are the residuals */
    tn_i_residual *res;
    uint32_t nres, nstack, nhoist;
    tn_i_var *hoisted, *stack;
    tn_i_var count; /* the number of steps, where an operand tells it */
} tn_i_loop_halves;

/* Of the halves' arena; NULL, and the rule's builder failed, without memory. */
void *tn_i_halves_room(tn_i_loop_halves *w, size_t n, size_t size);

/* loop_effects.c: emits l over in; out: its outputs, the last nagain of which its schedule may run again, where it runs
 * no effect twice.  false after an error. */
bool tn_i_loop_emit_once(tn_i_rule *r, const tn_i_loop_eqn *l, uint32_t nagain, const tn_i_var *in, tn_i_var *out);

/* loop_entering.c.  requires: linear, res[0..nres); ensures: the same linear step, in which carries that enter it and
 * that are cheaper made again (says the policy) from what is at hand are no residuals. */
bool tn_i_loop_spare(tn_i_loop_halves *w, const tn_i_plan_by *how);
/* The known loop has been emitted.  Where residuals of other steps may be looked at: what it leaves is made again, of
 * the last step's residuals, where the policy says so, and then need not be kept beside them. */
bool tn_i_loop_last(tn_i_loop_halves *w, const tn_i_plan_by *how, tn_i_var *out);

#endif
