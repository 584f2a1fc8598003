/* What the writers of a group's C share (group_c.c, group_acts.c). */
#ifndef TN_GROUP_EMIT_H
#define TN_GROUP_EMIT_H

#include "emit/steps_emit.h"
#include "exec/replay.h"

typedef struct tn_i_group_writer {
    tn_i_module *m;
    tn_i_text *t;
    const tn_i_plan *p;
    const tn_i_step *s;
    const tn_i_group *g, *led;
    const tn_i_actor *self;
} tn_i_group_writer;

/* ---- group_c.c ---- */

/* The address of operand i of a loop. */
void tn_i_put_group_operand(tn_i_group_writer *k, const tn_i_actor *a, uint32_t i);
/* Leaf `leaf` among all of the group. */
unsigned tn_i_group_leaf(const tn_i_group_writer *k, const tn_i_actor *a, uint32_t leaf);
/* Where status is set: the way out. */
void tn_i_put_group_check(tn_i_group_writer *k);

/* ---- group_acts.c: what is found while a group runs, its length and what its schedule does ---- */

/* What the text begins with where groups are. */
extern const char *const tn_i_group_acts_text;
/* Cursors of the stacks that a loop of the group reads or makes, and of slots that grow. */
void tn_i_declare_group_cursors(tn_i_group_writer *k);
/* Entry *number of the stack that x or y is. */
void tn_i_put_stack_x(tn_i_group_writer *k, const tn_i_actor *a, uint32_t x);
void tn_i_put_stack_y(tn_i_group_writer *k, const tn_i_actor *a, const tn_i_entry *y);
/* Asks that stacks be long enough for n steps, and adds n entries to those that are made; or one. */
void tn_i_put_group_claim(tn_i_group_writer *k);
void tn_i_put_group_push(tn_i_group_writer *k);
/* Leaves a loop with a condition when that does not hold. */
void tn_i_declare_group_condition(tn_i_group_writer *k);
void tn_i_put_group_condition(tn_i_group_writer *k);
/* Snapshots of g without a script: they begin; n steps are done; all are back. */
void tn_i_put_group_begin(tn_i_group_writer *k);
void tn_i_put_group_turn(tn_i_group_writer *k, const tn_i_group *g);
void tn_i_put_group_release(tn_i_group_writer *k);
/* Declares `line`, what the schedule does before step `nth`, or next. */
void tn_i_put_forward_act(tn_i_group_writer *k, const tn_i_group *g, const char *nth);
void tn_i_put_next_act(tn_i_group_writer *k);
/* Assigns the address of slot line->slot, one of any number, to `name`. */
void tn_i_put_growing_slot(tn_i_group_writer *k, const tn_i_group *g, const char *name);

#endif
