/* tansy/ipopt.h - nonlinear programs from traced functions, solved by Ipopt (libtansy-ipopt).
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 *     min f(x, p)   subject to   gl <= g(x, p) <= gu,   xl <= x <= xu
 *
 * f and g are programs of f64; everything Ipopt asks for is made of them once, by tn_ipopt_new: the gradient of f, the
 * values of g's sparse Jacobian (tn_sparse_jacobian), and those of the lower triangle of the Lagrangian's sparse
 * Hessian (tn_lagrangian, tn_sparse_hessian).
 *
 *     tn_nlp problem = {.size = sizeof problem, .f = f, .g = g, .xl = xl, .xu = xu, .gl = gl, .gu = gu};
 *     tn_ipopt *s = tn_ipopt_new(&problem, NULL);
 *     tn_ipopt_result r = {.size = sizeof r};
 *     if (tn_ipopt_solve(s, &(tn_ipopt_start){.size = sizeof(tn_ipopt_start), .x = x0}, &r))
 *         fprintf(stderr, "%s\n", tn_ipopt_error(s));
 *     tn_ipopt_free(s);
 *
 * The variables are the first `variables` inputs of f and g, which have the same inputs; x is these, row-major, one
 * after the other.  The inputs behind them are parameters: data that each solve gives anew, so that a problem whose
 * data change is compiled once.  Rows of g are the elements of its outputs, likewise.
 *
 * Errors: functions return a tn_status and leave a message in the solver (tn_ipopt_error).  Nothing prints but Ipopt,
 * when print_level asks for it.  Ipopt reads no options file.
 * Ownership: a solver holds the programs' executables, so the context of f has to live longer, f and g need not; bounds
 * are copied.  Threads: as the context of f for tn_ipopt_new and tn_ipopt_free; a solver is used by one thread at a
 * time, and several solvers at once as far as Ipopt's linear solver is thread-safe (the sequential MUMPS is not). */
#ifndef TANSY_IPOPT_H
#define TANSY_IPOPT_H

#include <tansy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_ipopt tn_ipopt;

typedef struct tn_nlp {
    size_t size;      /* sizeof(tn_nlp) */
    const tn_fn *f;   /* (x.., p..) -> an f64 scalar */
    const tn_fn *g;   /* (x.., p..) -> f64 outputs; NULL: no constraints */
    size_t variables; /* how many inputs are variables, all f64; 0: the first alone */
    const double *xl; /* n each.  NULL: no bound on that side; so are numbers beyond 1e19 and infinities */
    const double *xu;
    const double *gl; /* m each, likewise; both NULL: g(x, p) = 0 */
    const double *gu;
} tn_nlp;

/* What is told of each iteration, with the meaning it has in Ipopt's own table. */
typedef struct tn_ipopt_iteration {
    size_t size; /* sizeof(tn_ipopt_iteration) of the library */
    int number;
    bool restoration; /* in the phase that looks for feasible points alone */
    double objective, infeasibility, dual_infeasibility, mu, step, alpha_primal, alpha_dual;
    int trials; /* of the line search */
} tn_ipopt_iteration;
/* 0 goes on; anything else ends the solve with TN_ECANCELLED. */
typedef int (*tn_ipopt_progress)(void *user, const tn_ipopt_iteration *it);

typedef struct tn_ipopt_options {
    size_t size;                /* sizeof(tn_ipopt_options) */
    double tol;                 /* 0: Ipopt's, 1e-8 */
    int max_iter;               /* 0: Ipopt's, 3000; negative: none at all, the start is evaluated */
    int print_level;            /* Ipopt's log on stdout: 0 none, 5 what Ipopt does by itself, 12 everything */
    bool limited_memory;        /* L-BFGS in place of the exact Hessian, which is then neither made nor compiled */
    double warm_start_mu;       /* the barrier parameter a warm start begins with; 0: 1e-6 */
    tn_ipopt_progress progress; /* NULL: nobody */
    void *progress_user;
    /* How the programs are compiled; NULL: defaults.  Strides, aliases and observers must not be set (TN_EINVAL). */
    const tn_compile_options *compile;
} tn_ipopt_options;

/* Makes the derivatives, compiles them, and allocates all that a solve needs but Ipopt's own memory.  NULL without
 * memory.  A solver whose problem was refused holds the error: tn_ipopt_status has it, tn_ipopt_error the message, and
 * tn_ipopt_solve fails with both, so that one check at the end is enough.
 * TN_EINVAL: options or the problem without their size, f without a scalar, inputs of f and g that differ, bounds that
 * are NaN or cross (the message has the index); TN_ETYPE: variables or outputs that are not f64; TN_ELIMIT: more
 * variables, rows or entries than Ipopt's 32-bit indices count; and what tn_sparse_hessian and tn_compile fail with. */
TN_API tn_ipopt *tn_ipopt_new(const tn_nlp *problem, const tn_ipopt_options *options);
TN_API void tn_ipopt_free(tn_ipopt *s); /* NULL is fine */
/* The message of the last failure, "" if there was none; valid until the next call.  s NULL: "out of memory". */
TN_API const char *tn_ipopt_error(const tn_ipopt *s);
/* The status of what failed last, tn_ipopt_new or a solve; TN_OK if that did not fail.  s NULL: TN_ENOMEM. */
TN_API tn_status tn_ipopt_status(const tn_ipopt *s);

/* Sizes of the problem: entries of the Jacobian of g, and of the Hessian's lower triangle (0: limited_memory). */
typedef struct tn_ipopt_sizes {
    size_t size; /* sizeof(tn_ipopt_sizes), set by the caller */
    int64_t n, m, jacobian, hessian;
} tn_ipopt_sizes;
/* TN_EINVAL: s or out NULL, out->size not set; of a problem that was refused, its status. */
TN_API tn_status tn_ipopt_size(const tn_ipopt *s, tn_ipopt_sizes *out);

/* Ipopt's own handle, an IpoptProblem, for AddIpoptStrOption and the like between tn_ipopt_new and tn_ipopt_solve.  It
 * belongs to the solver, and so do tol, max_iter, the intermediate callback and, with a warm start, the options whose
 * names begin with warm_start, and mu_init.  NULL: the problem was refused. */
struct IpoptProblemInfo;
TN_API struct IpoptProblemInfo *tn_ipopt_problem(tn_ipopt *s);

typedef struct tn_ipopt_start {
    size_t size;     /* sizeof(tn_ipopt_start) */
    const double *x; /* n; NULL: zeros */
    /* One pointer per parameter, in the order of the inputs, or TN_INPUTS(..), whose count and types are looked at:
     * dense arrays of the input's type.  They must stay as they are until tn_ipopt_solve returns.  NULL: there are no
     * parameters (else TN_EINVAL). */
    const void *const *p;
    /* Multipliers of g (m), of lower and of upper bounds (n each), as a result has them: all three make a warm start,
     * none a cold one, anything else is TN_EINVAL.  lambda may be NULL where m is 0. */
    const double *lambda, *zl, *zu;
} tn_ipopt_start;

/* Owned by the solver, until its next solve.  After a failure x and what belongs to it are the last iterate's. */
typedef struct tn_ipopt_result {
    size_t size; /* sizeof(tn_ipopt_result), set by the caller */
    double objective;
    const double *x;       /* n */
    const double *g;       /* m */
    const double *lambda;  /* m: multipliers of g */
    const double *zl, *zu; /* n: of the bounds */
    int iterations;
    int code;         /* Ipopt's ApplicationReturnStatus */
    const char *text; /* its name, "Solve_Succeeded" */
    /* How often the programs ran, and how often Ipopt asked: a second question about one point runs nothing. */
    int64_t f_runs, gradient_runs, g_runs, jacobian_runs, hessian_runs, questions;
    int64_t not_finite; /* answers with a NaN or an infinity in them, after each of which Ipopt tried a shorter step */
} tn_ipopt_result;

/* Solves from a start.  start NULL: zeros, no parameters; out may be NULL.
 *   A value or derivative that is not finite makes Ipopt shorten its step; at the start it ends the solve.  A program
 * whose run fails (tn_call: an assertion, an external function) ends the solve with its status and message.
 * TN_OK: solved, or solved to Ipopt's acceptable level, or, without an objective, feasible; see `code`.
 * TN_EINVAL: the arguments, infeasible, too few degrees of freedom, or an option that Ipopt does not have.
 * TN_ELIMIT: not converged: iterations or time are used up, the restoration phase failed, steps are too small, iterates
 * diverge. TN_ECALLBACK: not finite at the start; the message names the function and the element.  TN_ECANCELLED: by
 * `progress`.  TN_ENOMEM.  Anything else is a program's.
 * Nothing is allocated from the context, except as tn_call says for stacks. */
TN_API tn_status tn_ipopt_solve(tn_ipopt *s, const tn_ipopt_start *start, tn_ipopt_result *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
