/* Steps that run programs (steps_c.c, registers.c). */
#ifndef TN_STEPS_EMIT_H
#define TN_STEPS_EMIT_H

#include "emit/emit.h"
#include "exec/loop.h"

/* Places that are variables while a loop runs (registers.c). */
typedef struct tn_i_variable {
    uint32_t base;
    int64_t offset;
    int dtype;
} tn_i_variable;

typedef struct tn_i_registers {
    tn_i_module *m;
    char prefix;                 /* of the variables' names */
    uint32_t carry, out, ncarry; /* bases of what is carried, in and out of a step */
    tn_i_variable *variable;
    size_t n, room;
} tn_i_registers;

/* An element as what can be read or assigned: a variable, or in memory. */
void tn_i_emit_element_at(tn_i_registers *g, uint32_t base, int64_t offset, int dtype);
/* Whether all that a loop computes are numbers; and that loop, within a function that has T and F. */
bool tn_i_in_registers(tn_i_module *m, const tn_i_loop *l);
void tn_i_put_register_loop(tn_i_module *m, const tn_i_plan *p, const tn_i_loop *l, const tn_i_eqn *e);

/* Whether a nest can be written; and one without loops as a block of a step's C, its operands and results by g. */
bool tn_i_nest_fits(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n);
void tn_i_emit_nest_inline(tn_i_module *m, tn_i_registers *g, const tn_i_plan *p, const tn_i_step *s,
                           const tn_i_nest *n);

/* The address of a place, by the frame F and the table T. */
void tn_i_emit_address(tn_i_module *m, const tn_i_place *k);

/* Declares how programs nested in p run: `struct run inner`; and begins a call of one, up to its frame. */
void tn_i_emit_inner(tn_i_module *m, const tn_i_plan *p);
void tn_i_emit_call(tn_i_module *m, const tn_i_plan *p, const char *run);

/* Whether a copy is one of bytes in a row, or of one element; and that copy. */
bool tn_i_move_plain(const tn_i_plan *p, const tn_i_move *k);
void tn_i_emit_move(tn_i_module *m, const tn_i_plan *p, const tn_i_move *k);
/* Arrays side by side, each dense from the dimension in which they are, or vectors: copies of runs. */
bool tn_i_joins_runs(const tn_i_plan *p, const tn_i_step *s);
void tn_i_emit_joined(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s);

/* Writes `static int stepID(P, R, F)` for a step that runs programs; false, with nothing written, when the library runs
 * it. */
bool tn_i_emit_program_step(tn_i_module *m, uint32_t id, const tn_i_plan *p, const tn_i_step *s);
/* The same for a group (group_c.c). */
bool tn_i_emit_group(tn_i_module *m, uint32_t id, const tn_i_plan *p, const tn_i_step *s);

#endif
