/* tansy/nlopt.h - nonlinear programs from traced functions, solved by NLopt (libtansy-nlopt).
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 *     min f(x, p)   subject to   h(x, p) = 0,   g(x, p) <= 0,   xl <= x <= xu
 *
 * f, g and h are programs of f64.  NLopt has many algorithms behind one interface, which takes dense derivatives alone:
 * f's gradient is tn_value_and_grad's, the Jacobians of g and h are tn_jacrev's where they have fewer rows than
 * columns, else tn_jacfwd's.  An algorithm without derivatives needs none, and none are made. NLopt has no sparse
 * interface: a Jacobian is rows times columns of numbers at each point.  Problems of more than some hundred variables
 * are better off with libtansy-ipopt (tansy/ipopt.h), which has sparse Jacobians and Hessians.
 *
 *     tn_nlopt_problem problem = {.size = sizeof problem, .f = f, .g = g, .xl = xl, .xu = xu};
 *     tn_nlopt_options options = {.size = sizeof options, .algorithm = "LD_SLSQP", .xtol_rel = 1e-10};
 *     tn_nlopt *s = tn_nlopt_new(&problem, &options);
 *     tn_nlopt_result r = {.size = sizeof r};
 *     if (tn_nlopt_solve(s, &(tn_nlopt_start){.size = sizeof(tn_nlopt_start), .x = x0}, &r))
 *         fprintf(stderr, "%s\n", tn_nlopt_error(s));
 *     tn_nlopt_free(s);
 *
 * The variables are the first `variables` inputs of all functions, which have the same inputs; x is these, row-major,
 * one after the other.  The inputs behind them are parameters: data that each solve gives anew, so that a problem whose
 * data change is compiled once.  Rows of g and of h are the elements of their outputs, likewise.
 *
 * Errors: functions return a tn_status and leave a message in the solver (tn_nlopt_error).  Nothing prints.
 * Ownership: a solver holds the programs' executables, so the context of f has to live longer, the programs need not;
 * bounds and names are copied.  Threads: as the context of f for tn_nlopt_new and tn_nlopt_free; a solver is used by
 * one thread at a time, several solvers at once.  Random numbers are NLopt's, of one sequence for each thread
 * (nlopt_srand). */
#ifndef TANSY_NLOPT_H
#define TANSY_NLOPT_H

#include <tansy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_nlopt tn_nlopt;

typedef struct tn_nlopt_problem {
    size_t size;      /* sizeof(tn_nlopt_problem) */
    const tn_fn *f;   /* (x.., p..) -> an f64 scalar */
    const tn_fn *g;   /* (x.., p..) -> f64 outputs, <= 0; NULL: no inequalities */
    const tn_fn *h;   /* (x.., p..) -> f64 outputs, = 0; NULL: no equations */
    size_t variables; /* how many inputs are variables, all f64; 0: the first alone */
    const double *xl; /* n each, infinite where there is no bound.  NULL: none on that side */
    const double *xu;
} tn_nlopt_problem;

/* What is told of each evaluation of f. */
typedef struct tn_nlopt_evaluation {
    size_t size;    /* sizeof(tn_nlopt_evaluation) of the library */
    int64_t number; /* 1, 2, .. */
    double objective;
    const double *x; /* n: where, until the call returns */
} tn_nlopt_evaluation;
/* 0 goes on; anything else ends the solve with TN_ECANCELLED. */
typedef int (*tn_nlopt_progress)(void *user, const tn_nlopt_evaluation *e);

typedef struct tn_nlopt_options {
    size_t size;           /* sizeof(tn_nlopt_options) */
    const char *algorithm; /* NLopt's name: "LD_LBFGS", "LN_COBYLA", "GN_DIRECT_L" ..; NULL: "LD_SLSQP" */
    /* The algorithm that AUGLAG and MLSL leave the local problems to, with the tolerances below; NULL: theirs. */
    const char *local;
    /* What ends a solve; 0: not that.  Without any of the four tolerances xtol_rel is 1e-8 and xtol_abs 1e-12.  Most
     * global algorithms look at none: they need max_evaluations, max_seconds or stop_value (TN_EINVAL). */
    double ftol_rel, ftol_abs, xtol_rel, xtol_abs;
    int max_evaluations;        /* of f; some algorithms look between their steps, and take a few more */
    double max_seconds;         /* looked at after an evaluation */
    const double *stop_value;   /* an f at or below it is good enough; NULL: none is */
    double constraint_tol;      /* rows off by at most this hold; 0: 1e-8 */
    tn_nlopt_progress progress; /* NULL: nobody */
    void *progress_user;
    /* How the programs are compiled; NULL: defaults.  Strides, aliases and observers must not be set (TN_EINVAL). */
    const tn_compile_options *compile;
} tn_nlopt_options;

/* Makes the derivatives, compiles them, and allocates all that a solve needs but NLopt's own memory.  NULL without
 * memory.  A solver whose problem was refused holds the error: tn_nlopt_status has it, tn_nlopt_error the message, and
 * tn_nlopt_solve fails with both, so that one check at the end is enough.
 * TN_EINVAL: options or the problem without their size, a name that NLopt does not have (the message has the nearest),
 * an algorithm that takes no constraints of that kind, f without a scalar, inputs of functions that differ, bounds that
 * are NaN or cross (the message has the index), tolerances that are negative or NaN, nothing that ends the solve;
 * TN_ETYPE: variables or outputs that are not f64; TN_ELIMIT: more numbers than NLopt's 32-bit sizes count; and what
 * tn_value_and_grad, tn_jacrev, tn_jacfwd and tn_compile fail with. */
TN_API tn_nlopt *tn_nlopt_new(const tn_nlopt_problem *problem, const tn_nlopt_options *options);
TN_API void tn_nlopt_free(tn_nlopt *s); /* NULL is fine */
/* The message of the last failure, "" if there was none; valid until the next call.  s NULL: "out of memory". */
TN_API const char *tn_nlopt_error(const tn_nlopt *s);
/* The status of what failed last, tn_nlopt_new or a solve; TN_OK if that did not fail.  s NULL: TN_ENOMEM. */
TN_API tn_status tn_nlopt_status(const tn_nlopt *s);

/* NLopt's own handle, an nlopt_opt, for nlopt_set_initial_step, nlopt_set_population, nlopt_set_param and the like
 * between tn_nlopt_new and tn_nlopt_solve.  It belongs to the solver, and so do objective, constraints and bounds.
 * nlopt_force_stop on it, from `progress`, is a cancelling.  NULL: the problem was refused. */
struct nlopt_opt_s;
TN_API struct nlopt_opt_s *tn_nlopt_handle(tn_nlopt *s);

typedef struct tn_nlopt_start {
    size_t size;     /* sizeof(tn_nlopt_start) */
    const double *x; /* n, within the bounds; NULL: the point within them that is nearest to 0 */
    /* One pointer per parameter, in the order of the inputs, or TN_INPUTS(..), whose count and types are looked at:
     * dense arrays of the input's type.  They must stay as they are until tn_nlopt_solve returns.  NULL: there are no
     * parameters (else TN_EINVAL). */
    const void *const *p;
} tn_nlopt_start;

/* Owned by the solver, until its next solve.  After a failure x and objective are the best that NLopt has found. */
typedef struct tn_nlopt_result {
    size_t size; /* sizeof(tn_nlopt_result), set by the caller */
    double objective;
    const double *x;      /* n */
    const double *g;      /* rows of g at x: NaN where they cannot be computed; so for h */
    const double *h;      /* rows of h at x */
    double infeasibility; /* the largest of g, |h| and 0 */
    int code;             /* NLopt's nlopt_result */
    const char *text;     /* its name, "XTOL_REACHED" */
    int64_t evaluations;  /* of f, as NLopt asks */
    /* How often the programs ran: a second question about one point runs nothing.  A gradient run has f's value, too.
     */
    int64_t f_runs, gradient_runs, g_runs, g_jacobian_runs, h_runs, h_jacobian_runs;
} tn_nlopt_result;

/* Solves from a start.  start NULL: as one with nothing in it; out may be NULL.
 *   A value or derivative that is not finite ends the solve (nlopt_force_stop), as does a program whose run fails
 * (tn_call: an assertion, an external function), with its status and message: keep iterates where functions are defined
 * by bounds.
 * TN_OK: a tolerance or the stop value is reached, or a global algorithm has used up what it was given; and constraints
 * hold within constraint_tol.
 * TN_EINVAL: the arguments, a start out of bounds, or what NLopt refuses, with its reason.
 * TN_ELIMIT: evaluations or time are used up, round-off limits progress, NLopt gives up, or constraints do not hold at
 * the end.  TN_ECALLBACK: not finite; the message names the function and the element.  TN_ECANCELLED: by `progress`.
 * TN_ENOMEM.  Anything else is a program's.
 * Nothing is allocated from the context, except as tn_call says for stacks. */
TN_API tn_status tn_nlopt_solve(tn_nlopt *s, const tn_nlopt_start *start, tn_nlopt_result *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
