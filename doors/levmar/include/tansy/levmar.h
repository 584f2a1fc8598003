/* tansy/levmar.h - nonlinear least squares of traced functions by Levenberg-Marquardt, with cminpack (libtansy-levmar).
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 *     min 1/2 |r(x, p)|^2
 *
 * r is a program of f64 with m residuals, at least as many as variables: all its outputs, one after the other.
 * Residuals and their Jacobian are one program, tn_value_and_jacobian's; the algorithm is MINPACK's lmder.  Jacobians
 * are dense, m times n numbers at each point.
 *
 *     tn_levmar_problem problem = {.size = sizeof problem, .r = r};
 *     tn_levmar *s = tn_levmar_new(&problem, NULL);
 *     tn_levmar_result out = {.size = sizeof out};
 *     if (tn_levmar_solve(s, &(tn_levmar_start){.size = sizeof(tn_levmar_start), .x = x0}, &out))
 *         fprintf(stderr, "%s\n", tn_levmar_error(s));
 *     for (int i = 0; i < n; i++) printf("%g +- %g\n", out.x[i], sqrt(out.covariance[i * n + i]));
 *     tn_levmar_free(s);
 *
 * The variables are the first `variables` inputs of r; x is these, row-major, one after the other.  The inputs behind
 * them are parameters (what was measured, say): data that each solve gives anew, so that a problem whose data change is
 * compiled once.
 *
 * Errors: functions return a tn_status and leave a message in the solver (tn_levmar_error).  Nothing prints.
 * Ownership: a solver holds an executable, so the context of r has to live longer, r need not.  Threads: as the context
 * of r for tn_levmar_new and tn_levmar_free; a solver is used by one thread at a time, several solvers at once. */
#ifndef TANSY_LEVMAR_H
#define TANSY_LEVMAR_H

#include <tansy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_levmar tn_levmar;

typedef struct tn_levmar_problem {
    size_t size;      /* sizeof(tn_levmar_problem) */
    const tn_fn *r;   /* (x.., p..) -> residuals, f64 */
    size_t variables; /* how many inputs are variables, all f64; 0: the first alone */
} tn_levmar_problem;

/* What is told of each iteration, the start (0) and the end included. */
typedef struct tn_levmar_iteration {
    size_t size;      /* sizeof(tn_levmar_iteration) of the library */
    int64_t number;   /* 0, 1, .. */
    double objective; /* 1/2 |r|^2 */
    const double *x;  /* n: where, until the call returns */
    const double *r;  /* m */
} tn_levmar_iteration;
/* 0 goes on; anything else ends the solve with TN_ECANCELLED. */
typedef int (*tn_levmar_progress)(void *user, const tn_levmar_iteration *i);

typedef struct tn_levmar_options {
    size_t size; /* sizeof(tn_levmar_options) */
    /* Done when |r|^2 falls by less than ftol of itself, x moves by less than xtol of itself, or r is orthogonal to the
     * Jacobian's columns within gtol (a cosine).  0: 1e-10; 1e-10; not that. */
    double ftol, xtol, gtol;
    double factor;               /* the first step is at most factor |D x| long; 0: 100 */
    const double *scale;         /* D: n, above 0.  NULL: norms of the Jacobian's columns.  Copied */
    int max_evaluations;         /* 0: 100 (n + 1) */
    tn_levmar_progress progress; /* NULL: nobody */
    void *progress_user;
    const tn_compile_options
        *compile; /* NULL: defaults.  Strides, aliases and observers must not be set (TN_EINVAL). */
} tn_levmar_options;

/* Makes the Jacobian, compiles it, and allocates all that a solve needs.  NULL without memory.  A solver whose problem
 * was refused holds the error: tn_levmar_status has it, tn_levmar_error the message, and tn_levmar_solve fails with
 * both. TN_EINVAL: options or the problem without their size, fewer residuals than variables, numbers that are negative
 * or NaN; TN_ETYPE: variables or residuals that are not f64; TN_ELIMIT: more numbers than an int counts; and what
 * tn_value_and_jacobian and tn_compile fail with. */
TN_API tn_levmar *tn_levmar_new(const tn_levmar_problem *problem, const tn_levmar_options *options);
TN_API void tn_levmar_free(tn_levmar *s); /* NULL is fine */
/* The message of the last failure, "" if there was none; valid until the next call.  s NULL: "out of memory". */
TN_API const char *tn_levmar_error(const tn_levmar *s);
/* The status of what failed last, tn_levmar_new or a solve; TN_OK if that did not fail.  s NULL: TN_ENOMEM. */
TN_API tn_status tn_levmar_status(const tn_levmar *s);

typedef struct tn_levmar_start {
    size_t size;     /* sizeof(tn_levmar_start) */
    const double *x; /* n; NULL: zeros */
    /* One pointer per parameter, in the order of the inputs, or TN_INPUTS(..), whose count and types are looked at:
     * dense arrays of the input's type, which stay as they are until tn_levmar_solve returns.  NULL: there are no
     * parameters (else TN_EINVAL). */
    const void *const *p;
} tn_levmar_start;

/* Owned by the solver, until its next solve.  After a failure x and r are those of the last iteration. */
typedef struct tn_levmar_result {
    size_t size;      /* sizeof(tn_levmar_result), set by the caller */
    double objective; /* 1/2 |r|^2 */
    const double *x;  /* n */
    const double *r;  /* m */
    /* n x n, of x, for residuals of one unknown variance: (J'J)^-1 |r|^2 / (m - n), the pseudo-inverse where the rank
     * is less than n.  m = n: that of a variance of 1, (J'J)^-1.  NULL after a failure, but TN_ELIMIT. */
    const double *covariance;
    int rank;                        /* of the Jacobian */
    int code;                        /* lmder's info */
    const char *text;                /* what it means */
    int64_t iterations, evaluations; /* of the program: residuals and Jacobian at once */
    int64_t not_finite;              /* evaluations with a NaN or an infinity, which shorter steps went around */
} tn_levmar_result;

/* Solves from a start.  start NULL: as one with nothing in it; out may be NULL.
 *   Residuals or derivatives that are not finite make the step shorter, except at the start.  A program whose run fails
 * (tn_call: an assertion, an external function) ends the solve with its status and message.
 * TN_OK: a tolerance is reached.  TN_EINVAL: the arguments.  TN_ELIMIT: evaluations are used up, or tolerances are
 * beyond what f64 can tell.  TN_ECALLBACK: not finite at the start; the message names the element.  TN_ECANCELLED: by
 * `progress`.  Anything else is the program's.  Nothing is allocated, except as tn_call says for stacks. */
TN_API tn_status tn_levmar_solve(tn_levmar *s, const tn_levmar_start *start, tn_levmar_result *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
