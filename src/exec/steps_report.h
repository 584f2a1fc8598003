/* What is told of steps, by tn_exec_steps and by profiles. */
#ifndef TN_EXEC_STEPS_REPORT_H
#define TN_EXEC_STEPS_REPORT_H

#include "plan/plan.h"

/* As tn_step has it: what a step is, and who runs it. */
const char *tn_i_step_kind_of(const tn_i_plan *p, const tn_i_step *s);
const char *tn_i_step_runner(const tn_i_plan *p, const tn_i_step *s);
/* The equation that it is for; NULL: a copy. */
const tn_i_eqn *tn_i_step_eqn(const tn_i_plan *p, const tn_i_step *s);
/* How many plans a step runs, and each of them; NULL: a loop without a condition. */
uint32_t tn_i_step_programs(const tn_i_plan *p, const tn_i_step *s);
const tn_i_plan *tn_i_step_program(const tn_i_plan *p, const tn_i_step *s, uint32_t k);
/* How much of its equation the nest of a step is: others may have parts of it (interior.c). */
double tn_i_step_part(const tn_i_plan *p, const tn_i_step *s);

#endif
