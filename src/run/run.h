/* Running a plan.  Nothing is decided or allocated here. */
#ifndef TN_RUN_H
#define TN_RUN_H

#include "plan/plan.h"
#include "run/spill.h"
#include "plan/stack.h"
#include "run/talk.h"

typedef struct tn_i_run {
    const uint8_t *skip; /* a bit per step of the outermost plan that is not wanted; NULL: all are */
    int threads;
    tn_i_observer observer;
    char *message; /* `size` bytes for "file:line: primitive: reason" */
    size_t size;
    const tn_i_spill_file *file; /* open when the plan spills */
    uint64_t file_at;            /* where this plan's part of it begins */
    tn_i_stacks *stacks;
    tn_i_talk *talk;     /* with other ranks; NULL: there is no table for it */
    bool quiet;          /* what runs has run before: no print, no assert */
    uintptr_t room;      /* scratch memory for segments */
    tn_profile *profile; /* what steps take is noted there (run/profile.h); NULL: it is not */
} tn_i_run;

/* The frame (plan->frame bytes, 64-aligned) begins with the bases: 0, the arena's address,
 * those of the inputs, those of the outputs (0: not wanted).  The caller fills them in;
 * an input without elements needs any address but 0. */
static inline void *tn_i_address(const uintptr_t *base, const tn_i_place *k) {
    return (void *)(base[k->base] + (uintptr_t)k->offset);
}
/* How a program nested in p is run. */
tn_i_run tn_i_run_within(const tn_i_plan *p, const tn_i_run *r);
/* Writes the message of a failed equation; why "": the status's text. */
tn_status tn_i_run_fail(const tn_i_run *r, const tn_i_eqn *e, tn_status status, const char *why);
/* A failure: TN_OK where ranks speak in what has failed (`axes`) and this one goes on with what it has to say. */
static inline tn_status tn_i_run_heard(const tn_i_run *r, uint32_t axes, tn_status status) {
    return status == TN_OK || !axes || !r->talk ? status : tn_i_talk_failed(r->talk, status);
}
static inline bool tn_i_run_failed(const tn_i_run *r) { return r->talk && r->talk->failed; }
/* The least *v of all ranks that speak over the axes; false: one of them has failed.  Where nobody speaks it stays. */
bool tn_i_run_agreed(const tn_i_run *r, uint32_t axes, int64_t *v, tn_status *status);
/* Step s of p has failed before it said anything. */
tn_status tn_i_run_give_up(const tn_i_run *r, const tn_i_plan *p, const tn_i_step *s, tn_status status);
tn_status tn_i_run_no_memory(const tn_i_run *r, const tn_i_eqn *e);
tn_status tn_i_run_move(const tn_i_plan *p, const tn_i_move *m, const tn_i_run *r, const uintptr_t *base);
tn_status tn_i_run_group(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base);
/* A step of kind TN_STEP_NEST (nest_run.c).  Operand i is at place[in i], output j at place[out + j] of its equation;
 * an output whose base is 0 is not wanted and not written. */
tn_status tn_i_run_nest(const tn_i_step *s, uintptr_t *base);
/* Runs code that a back end made, for the table of addresses; its scratch memory is entry 0 meanwhile.  r: for the
 * kernels that it calls; NULL: there are none. */
tn_status tn_i_run_made(const tn_i_made *m, const tn_i_run *r, uintptr_t *base, uintptr_t scratch);
/* A step of kind TN_STEP_KERNEL (kernel_run.c); and one that a loop program calls. */
tn_status tn_i_run_kernel_step(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, uintptr_t *base);
tn_i_called_fn tn_i_run_called;
/* A step of kind TN_STEP_LOOP (loop_run.c). */
tn_status tn_i_run_loop(const tn_i_plan *p, const tn_i_step *s, const tn_i_run *r, const uintptr_t *base);

/* All steps of a plan, and what is left to do behind the last. */
tn_status tn_i_run_plan(const tn_i_plan *p, const tn_i_run *r, uintptr_t *frame);

/* Sets the bits of the steps that no wanted output (out[j] not NULL) and no effect needs.
 * wanted: a bit per value; skip: a bit per step. */
void tn_i_mark_unwanted(const tn_i_plan *p, void *const *out, uint8_t *wanted, uint8_t *skip);
static inline bool tn_i_bit(const uint8_t *bits, size_t i) { return bits[i / 8] >> i % 8 & 1; }
static inline void tn_i_set_bit(uint8_t *bits, size_t i) { bits[i / 8] = (uint8_t)(bits[i / 8] | 1u << i % 8); }

#endif
