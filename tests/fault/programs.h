/* The programs that the stages work on. */
#ifndef TN_FAULT_PROGRAMS_H
#define TN_FAULT_PROGRAMS_H

#include "fault/sweep.h"

/* Registers cube (with rules to order three), its two rules, twice and single (linear). */
tn_status register_cube(tn_ctx *c, const char *name);
bool register_externals(tn_ctx *c);

/* x:f64[3] w:f64[3,2] -> f64[]: nested programs, rules of the user's, external functions, scopes, constants.
 * Needs the external functions and w->inner. */
tn_fn *nested_program(world *w);
tn_fn *loop_program(world *w);      /* each kind of loop, nested and captured */
tn_fn *recurrent_program(world *w); /* a loop whose step's residuals follow from those of the step before */
/* x:f64[3] -> f64[3], called by it. */
tn_fn *inner_program(world *w);
/* x:f64[4] a:f64[2,2] i:i32[3] -> f64[] : every elementwise primitive; every other one. */
tn_fn *elementwise_program(world *w);
tn_fn *array_program(world *w);
/* x:f64[20,4] -> f64[20,2,4]: Jacobians of a function of few numbers, which run as columns. */
tn_fn *columns_program(world *w);
/* x:f64[64] -> f64[64]: the gradient of a stencil on a ring, whose pads and joined slices move into what is computed.
 */
tn_fn *ring_program(world *w);
/* x:f64[3] w:f64[3,2] -> f64[], f64[3], i32[]: small, several outputs. */
tn_fn *small_program(world *w);
/* The same in f32, with constants and a nested program. */
tn_fn *single_program(world *w);

/* One that has no f64 copy.  Needs the external functions. */
tn_fn *external_single_program(world *w);

/* n:i64[] a:f64[3] -> f64[3], i64[]: loops within loops, with stacks of lengths that are found when they run. */
tn_fn *loops_program(world *w);
/* y:f64[2] z:f64[] a:f64[] ts:f64[3] -> f64[], f64[]: adaptive steps with an event, all that is saved; an implicit
 * method. */
tn_fn *ode_program(world *w);
/* y:f64[2] p:f64[] ts:f64[3] -> f64[]: a solve with reverse mode only, a steady state; x:f64[3] -> f64[3]: forward
 * only. */
tn_fn *one_way_program(world *w);
tn_fn *forward_program(world *w);
/* x:f64[3]{V:w} e:f64[2,3]{V:w} p:f64[3] -> f64[]: what two ranks exchange. */
tn_fn *ranks_program(world *w);

/* Text as JAX prints it, with everything that the parser completes. */
extern const char jax_text[];

#endif
