/* tansy/ode.h - ordinary differential equations in traced functions.
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 * tn_ode_solve is an operator: called inside a callback of tn_trace it appends
 * the loop that solves  y' = f(t, y, p),  y(t0) = y0  to the program.  What it
 * yields are values like any other, and every transformation applies: gradients
 * with respect to y0, p, t0 and t1, in either mode and to any order, vmap, and
 * all of them nested.  Solvers, controllers, adjoints and what is saved have the
 * names and the meanings of Diffrax.
 *
 *     static void decay(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
 *         (void)t, (void)user;
 *         dy[0] = tn_mul(tn_neg(p[0]), y[0]);
 *     }
 *     static tn_val loss(const tn_val *in, void *user) {            // in: y0 [3], rate []
 *         tn_ode_problem p = {.size = sizeof p, .field = decay, .nstate = 1, .y0 = in,
 *                             .nparams = 1, .params = in + 1, .t0 = TN_VAL(0.0), .t1 = TN_VAL(2.0)};
 *         tn_ode_options o = {.size = sizeof o, .rtol = 1e-8, .atol = 1e-8};
 *         tn_val y1;
 *         tn_ode_solution s = {.size = sizeof s, .y = &y1};
 *         tn_ode_solve(&p, &o, &s);
 *         return tn_sum(y1);
 *     }
 *
 * Errors.  As those of <tansy/ops.h>: what is wrong in the arguments fails the
 * trace with TN_EINVAL or TN_ETYPE at the caller's file:line.  What goes wrong
 * while the program runs (too many steps ..) is a number that it yields, `status`:
 * nothing is cut off silently.
 *
 * Time.  Times are f64, whatever the state's dtypes.  t1 < t0 solves backwards.
 *
 * Ownership, threads: as <tansy/ops.h>.  Arrays and structs given by pointer are
 * read during the call only; callbacks and `user` as well.
 *
 * Cost.  The program grows by a constant number of equations times the stages of
 * the method, not with the number of steps. */
#ifndef TANSY_ODE_H
#define TANSY_ODE_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The field: writes dy[j], of y[j]'s type, for each of the nstate arrays.  It is
 * called while tracing, several times, and may use values of the enclosing trace
 * without being given them, but not with implicit solvers. */
typedef void (*tn_ode_field)(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user);
/* A function of the state whose root ends the solve: a rank 0 f64 or f32, of t, y and p alone. */
typedef tn_val (*tn_ode_event)(tn_val t, const tn_val *y, const tn_val *p, void *user);

typedef struct tn_ode_problem {
    size_t size; /* sizeof(tn_ode_problem) */
    tn_ode_field field;
    void *user;
    size_t nstate;    /* at least 1 */
    const tn_val *y0; /* float arrays of any shapes */
    size_t nparams;
    const tn_val *params; /* arrays of any types, handed to the field */
    tn_val t0, t1;        /* rank 0 f64, or numbers: TN_VAL(0.0) */
} tn_ode_problem;

/* ## Solvers
 *
 *     name        order  stages  estimate  dense output
 *     "Euler"         1       1     -          1
 *     "Heun"          2       2     1          2
 *     "Midpoint"      2       2     1          2
 *     "RK4"           4       4     -          3
 *     "Bosh3"         3       4     2          3
 *     "Dopri5"        5       7     4          4
 *     "Tsit5"         5       7     4          4       the default
 *     "Dopri8"        8      14     7          5
 *     "Kvaerno3"      3       4     2          3       implicit, for stiff problems
 *     "Kvaerno5"      5       7     4          3       implicit
 *
 * The order of the estimate is that of the embedded solution; adaptive steps need one.
 *     Implicit solvers take states of one dtype, m elements in all, and factor the matrix 1 - h g df/dy
 * once a step: m tangents of the field and m^3/3 multiply-adds; then each stage is solved by Newton's method with that
 * matrix, to a hundredth of the tolerance (constant steps: to 1e-13 of 1 + |y|, in f32 1e-6).  An adaptive step whose
 * stages are not solved within 10 iterations is rejected.  Derivatives are those of the implicit functions
 * (tn_custom_root), never of the iteration.  The field may then not use values of the enclosing trace.
 *
 * ## Step sizes
 *
 * `steps` > 0: that many constant steps, h = (t1 - t0)/steps; step i begins at t0 + i h.
 * Otherwise adaptive, by a PID controller: a step from y to z with the error estimate e
 * is accepted when the root mean square, over all elements of all state arrays, of
 * e / (atol + rtol max(|y|, |z|)) is below 1; r being its inverse, the next step is the last one times
 *     safety r_n^((p+i+d)/k) r_(n-1)^(-(p+2d)/k) r_(n-2)^(d/k),  k one more than the order of the estimate,
 * held between factormin and factormax (after a rejected step: at most safety; after an accepted
 * one: at least 1), and between dtmin and dtmax.  r of steps before is that of accepted ones, at first 1.
 * The first step is dt0, or found from f and its change (Hairer, Norsett, Wanner, I, II.4).
 *     The sizes that the controller chooses carry no derivative: differentiation takes the steps as they
 * were, as Diffrax does.  The last step, which ends at t1, depends on t1 as it must.  A rejected step
 * that overflows may bring 0 times infinity into a gradient: compile with strict_zero where that happens.
 *
 * ## Adjoints
 *
 * How the derivative is found; the numbers of the solve are the same bits.
 *
 *     "RecursiveCheckpoint[:n]"  the default: n states (100) are kept, whatever the number of steps, and steps are
 *                                repeated from them; schedule online:n, or revolve:n for constant steps
 *     "AllSave"                  what each step needs is kept: no step is repeated, memory grows with the steps
 *     "Direct"                   a loop without a schedule (docs/loops.md): differentiated as it stands, in either
 *                                mode and at every order, keeping what AllSave keeps
 *     "ForwardMode"              the same loop for jvp, jacfwd and jvp of jvp; reverse mode is refused by the
 *                                transformation that asks for it (TN_ERULE)
 *
 * These differentiate the steps that were made (discretise, then optimise) and give equal gradients.
 *
 *     "Backsolve"                the continuous adjoint (optimise, then discretise): what reverse mode runs is another
 *                                solve, back from the end, of  y' = f,  a' = -(df/dy)^T a,  q' = -(df/dp)^T a
 *
 * Backsolve keeps nothing of the steps, however many.  The solve backwards has the solver and the options of the
 * solve, and rtol and atol hold for y, a and q together; so its gradient is that of the equation to within the
 * tolerances, not that of the steps, and no better than y can be found again backwards: not at all where the solve
 * contracts strongly, as for stiff problems.  With ts it starts anew at each of them, from what was saved there.
 * Derivatives are those with respect to y0, params, t0, t1 and ts.  Where the solve, or the one backwards, does not
 * end with TN_ODE_SUCCESS the gradient is NaN (of explicit constant steps backwards only a and q have to be finite).
 * There is no forward mode and no second order: the transformation (inside of loops: tn_compile) refuses them with
 * TN_ERULE.  TN_EINVAL: save_steps, dense, event, ts with constant steps, parameters that are plain numbers, and a
 * field that uses values of the enclosing trace.  Cost of the gradient: the solve backwards, whose field is a vjp of
 * the field.
 *
 * For steady states there is "Implicit": tn_ode_steady.
 *
 * ## Many ranks
 *
 * States may vary over a grid of ranks (<tansy/comm.h>), each with elements of its own.  All ranks take the same steps:
 * the root mean square is that of all elements on all of them, by one message for each attempted step and two or three
 * for the first length; what is replicated counts once.  status, steps, accepted and rejected are replicated.  An event
 * has to be (TN_ETYPE).  Along axes that t0, t1 or ts vary over each rank solves for itself.  Implicit solvers and
 * tn_ode_steady: TN_ETYPE.  Backsolve wants a y0 that varies over all that the field's results do. */
typedef struct tn_ode_options {
    size_t size;                   /* sizeof(tn_ode_options); zeros are defaults */
    const char *solver;            /* NULL: "Tsit5" */
    const char *adjoint;           /* NULL: "RecursiveCheckpoint" */
    int64_t steps;                 /* constant steps; 0: adaptive */
    double rtol, atol;             /* adaptive only; at least one is positive */
    double dt0;                    /* length of the first step, positive; 0: found */
    double dtmin, dtmax;           /* of adaptive steps; 0: none.  A step of dtmin is accepted whatever its error. */
    double pcoeff, icoeff, dcoeff; /* all 0: 0, 1, 0 */
    double safety, factormin, factormax; /* 0: 0.9, 0.2, 10 */
    int64_t max_steps;                   /* adaptive: accepted and rejected ones; 0: no limit.  Constant: must be 0 */

    /* What is saved besides the end, all of it at once where wanted. */
    tn_val ts;          /* f64 [m], from t0 towards t1; never set: none */
    int64_t save_steps; /* the state after each accepted step, up to that many */
    int64_t dense;      /* what tn_ode_evaluate needs of each accepted step, up to that many */

    /* Ends the solve where event(t, y, p) changes its sign from one step to the next; of the dense output's
     * function its root is taken.  direction: 1 upwards only, -1 downwards only, 0 both.  The time
     * and the state found are differentiated as the implicit functions they are, right up to third order.
     * The step that ends there counts as accepted and is saved; of ts, times up to the event are. */
    tn_ode_event event;
    int event_direction;

    /* Every so many steps (adaptive: accepted or rejected) the observer of the call (tn_work_observe) hears a
     * TN_PROGRESS "ode_solve" of three arrays: the number of steps made, i64; the time, f64; which part of t0 .. t1 is
     * done, f64.  What it returns, unless 0, stops the call with TN_ECANCELLED.  Under every derivative it hears of
     * the forward pass alone, of each step once.  vmap of constant steps says it once for all batch
     * elements; of adaptive ones it is an error (TN_ERULE), because each ends on its own.  0: never. */
    int64_t progress;
} tn_ode_options;

/* Why the solve ended. */
typedef enum tn_ode_status {
    TN_ODE_SUCCESS,    /* at t1 */
    TN_ODE_EVENT,      /* at the event */
    TN_ODE_MAX_STEPS,  /* max_steps were made */
    TN_ODE_CAPACITY,   /* save_steps or dense is full */
    TN_ODE_SMALL_STEP, /* the controller's step vanishes beside t */
    TN_ODE_NONFINITE,  /* so, because the state or the error estimate is not finite; with constant steps: the end is not
                        */
    TN_ODE_TIMES,      /* ts is not ascending (descending) within t0 .. t1; no step was made */
    TN_ODE_UNCONVERGED /* an implicit stage was not solved; tn_ode_steady: no steady state was found */
} tn_ode_status;

/* The solution.  The caller sets `size` and the arrays of values to be written: y, and those whose options are on.
 * Rows that are not reached are infinite: where t0 is t1, all of them, for no step is made. */
typedef struct tn_ode_solution {
    size_t size;     /* sizeof(tn_ode_solution) */
    tn_val *y;       /* [nstate]: the state at t; not the array y0 */
    tn_val *ts_y;    /* [nstate]: [m, ..], the state at each of ts, by dense output */
    tn_val *steps_y; /* [nstate]: [save_steps, ..]; the first `accepted` rows count.  Constant steps: [steps, ..] */
    tn_val *dense_y; /* [2 nstate], for tn_ode_evaluate */
    /* written by tn_ode_solve: */
    tn_val t;                         /* f64: where the solve ended */
    tn_val status;                    /* i32, a tn_ode_status */
    tn_val steps, accepted, rejected; /* i64 */
    tn_val steps_t;                   /* f64 [save_steps]: times of steps_y */
    tn_val dense_t, dense_h;          /* f64 [dense]: where each step began, and its length */
} tn_ode_solution;

/* Solves; see above.  TN_EINVAL: a struct's size, an unknown solver or adjoint, a missing field or array, sizes
 * and tolerances out of range, adaptive steps with a solver that has no estimate; TN_ETYPE: a state that is not of
 * floats, a time that is not f64, dy of another type than y; TN_ENOMEM.  All values of *out are poison then. */
TN_API void tn_ode_solve_at(const tn_ode_problem *problem, const tn_ode_options *options, tn_ode_solution *out,
                            const char *file, int line);
#define tn_ode_solve(problem, options, out) tn_ode_solve_at(problem, options, out, __FILE__, __LINE__)

/* ## Steady states
 *
 * The y with f(t1, y, p) = 0 to which the solve from y0 at t0 leads: the adjoint "Implicit" (or NULL).  The field
 * should not depend on time.  It is integrated to where the root mean square of f / (atol + rtol |y|) is below 1, or
 * to t1; from there Newton's method goes on.  It has to converge (its last correction is below atol + rtol |y|), and
 * to the state that was nearly reached (within 1000 such tolerances): an unstable or a distant root is not taken for
 * the steady state.  Unconverged results are refused: status is TN_ODE_UNCONVERGED, or why the integration ended,
 * and y, as all its derivatives, is NaN.
 *
 * Derivatives, of any order and in both modes, are those of the implicit function y(p) (tn_custom_root), with
 * respect to params; those with respect to y0 and t0 are 0.  Nothing of the way is kept.
 *
 * options: rtol or atol, and what adaptive steps have; steps, ts, save_steps, dense and event must not be set.
 * out: y, t (where the integration ended), status, steps, accepted, rejected.  residual, unless NULL, is set to
 * max |f| where Newton's method ended, of the state's dtype, without a derivative.
 *
 * Errors as those of tn_ode_solve; the states are of one dtype, and the field may not use values of the enclosing
 * trace.  Cost: the integration, and, for m elements, m tangents of the field and m^3/3 multiply-adds for each of a
 * few corrections and for the derivative. */
TN_API void tn_ode_steady_at(const tn_ode_problem *problem, const tn_ode_options *options, tn_ode_solution *out,
                             tn_val *residual, const char *file, int line);
#define tn_ode_steady(problem, options, out, residual) \
    tn_ode_steady_at(problem, options, out, residual, __FILE__, __LINE__)

/* y[j], nstate of them, at the time t (rank 0 f64, or a number), of a solution with `dense`; between t0 and where the
 * solve ended; elsewhere the first or last step's polynomial.  nstate is the problem's.  TN_EINVAL: the solution has no
 * dense output, t is not f64.  Cost: a search over the capacity, and a few equations. */
TN_API void tn_ode_evaluate_at(const tn_ode_solution *s, size_t nstate, tn_val t, tn_val *y, const char *file,
                               int line);
#define tn_ode_evaluate(s, nstate, t, y) tn_ode_evaluate_at(s, nstate, TN_VAL(t), y, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
