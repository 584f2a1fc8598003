/* tansy/lbfgs.h - minima of traced functions by L-BFGS, with libLBFGS (libtansy-lbfgs).
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 *     min f(x, p)     or     min f(x, p) + l1 |x|
 *
 * f is a program of f64 with one output, a scalar; its gradient is tn_value_and_grad's, one program with the value. For
 * smooth functions of many variables without constraints; with bounds or constraints, tansy/nlopt.h or tansy/ipopt.h.
 *
 *     tn_lbfgs_problem problem = {.size = sizeof problem, .f = f};
 *     tn_lbfgs *s = tn_lbfgs_new(&problem, NULL);
 *     tn_lbfgs_result r = {.size = sizeof r};
 *     if (tn_lbfgs_solve(s, &(tn_lbfgs_start){.size = sizeof(tn_lbfgs_start), .x = x0}, &r))
 *         fprintf(stderr, "%s\n", tn_lbfgs_error(s));
 *     tn_lbfgs_free(s);
 *
 * The variables are the first `variables` inputs of f; x is these, row-major, one after the other.  The inputs behind
 * them are parameters: data that each solve gives anew, so that a problem whose data change is compiled once.
 *
 * Errors: functions return a tn_status and leave a message in the solver (tn_lbfgs_error).  Nothing prints.
 * Ownership: a solver holds an executable, so the context of f has to live longer, f need not.  Threads: as the context
 * of f for tn_lbfgs_new and tn_lbfgs_free; a solver is used by one thread at a time, several solvers at once. */
#ifndef TANSY_LBFGS_H
#define TANSY_LBFGS_H

#include <tansy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_lbfgs tn_lbfgs;

typedef struct tn_lbfgs_problem {
    size_t size;      /* sizeof(tn_lbfgs_problem) */
    const tn_fn *f;   /* (x.., p..) -> an f64 scalar */
    size_t variables; /* how many inputs are variables, all f64; 0: the first alone */
} tn_lbfgs_problem;

/* What is told of each iteration. */
typedef struct tn_lbfgs_iteration {
    size_t size;    /* sizeof(tn_lbfgs_iteration) of the library */
    int64_t number; /* 1, 2, .. */
    double objective, gradient_norm, x_norm, step;
    int evaluations; /* of its line search */
    const double *x; /* n: where, until the call returns */
} tn_lbfgs_iteration;
/* 0 goes on; anything else ends the solve with TN_ECANCELLED. */
typedef int (*tn_lbfgs_progress)(void *user, const tn_lbfgs_iteration *i);

typedef enum tn_lbfgs_search {
    TN_LBFGS_STRONG_WOLFE, /* backtracking until the strong Wolfe conditions hold */
    TN_LBFGS_WOLFE,
    TN_LBFGS_ARMIJO,
    TN_LBFGS_MORE_THUENTE /* cannot go around values that are not finite */
} tn_lbfgs_search;

typedef struct tn_lbfgs_options {
    size_t size;         /* sizeof(tn_lbfgs_options) */
    int memory;          /* corrections that are kept; 0: 8 */
    double gradient_tol; /* done when |g| <= gradient_tol max(1, |x|); 0: 1e-6 */
    double ftol;         /* done when f fell by less than ftol |f| over `past` iterations; 0: not that */
    int past;            /* 0: 1 */
    int max_iterations;  /* 0: no limit */
    int max_linesearch;  /* evaluations of one line search; 0: 40 */
    int search;          /* a tn_lbfgs_search; with l1 that is libLBFGS's own */
    double l1; /* the weight of |x| (OWL-QN, Andrew and Gao 2007), of elements l1_first <= i < l1_end; 0: none */
    int l1_first, l1_end;       /* l1_end 0: n */
    tn_lbfgs_progress progress; /* NULL: nobody */
    void *progress_user;
    const tn_compile_options
        *compile; /* NULL: defaults.  Strides, aliases and observers must not be set (TN_EINVAL). */
} tn_lbfgs_options;

/* Makes the gradient, compiles it, and allocates all that a solve needs but libLBFGS's own memory.  NULL without
 * memory. A solver whose problem was refused holds the error: tn_lbfgs_status has it, tn_lbfgs_error the message, and
 * tn_lbfgs_solve fails with both, so that one check at the end is enough.
 * TN_EINVAL: options or the problem without their size, f without a scalar, numbers that are negative or NaN; TN_ETYPE:
 * variables or f that are not f64; TN_ELIMIT: more variables than an int counts; and what tn_value_and_grad and
 * tn_compile fail with. */
TN_API tn_lbfgs *tn_lbfgs_new(const tn_lbfgs_problem *problem, const tn_lbfgs_options *options);
TN_API void tn_lbfgs_free(tn_lbfgs *s); /* NULL is fine */
/* The message of the last failure, "" if there was none; valid until the next call.  s NULL: "out of memory". */
TN_API const char *tn_lbfgs_error(const tn_lbfgs *s);
/* The status of what failed last, tn_lbfgs_new or a solve; TN_OK if that did not fail.  s NULL: TN_ENOMEM. */
TN_API tn_status tn_lbfgs_status(const tn_lbfgs *s);

typedef struct tn_lbfgs_start {
    size_t size;     /* sizeof(tn_lbfgs_start) */
    const double *x; /* n; NULL: zeros */
    /* One pointer per parameter, in the order of the inputs, or TN_INPUTS(..), whose count and types are looked at:
     * dense arrays of the input's type, which stay as they are until tn_lbfgs_solve returns.  NULL: there are no
     * parameters (else TN_EINVAL). */
    const void *const *p;
} tn_lbfgs_start;

/* Owned by the solver, until its next solve.  After a failure x and objective are those of the last iteration. */
typedef struct tn_lbfgs_result {
    size_t size;      /* sizeof(tn_lbfgs_result), set by the caller */
    double objective; /* l1 |x| included */
    double gradient_norm;
    const double *x;                 /* n */
    int code;                        /* libLBFGS's */
    const char *text;                /* its name, "CONVERGENCE" */
    int64_t iterations, evaluations; /* of the program: value and gradient at once */
    int64_t not_finite;              /* evaluations with a NaN or an infinity, which line searches went around */
} tn_lbfgs_result;

/* Solves from a start.  start NULL: as one with nothing in it; out may be NULL.
 *   A value or gradient that is not finite makes a line search try a shorter step, except at the start and with
 * TN_LBFGS_MORE_THUENTE.  A program whose run fails (tn_call: an assertion, an external function) ends the solve with
 * its status and message. TN_OK: a tolerance is reached.  TN_EINVAL: the arguments.  TN_ELIMIT: iterations are used up,
 * or a line search finds nothing better.  TN_ECALLBACK: not finite; the message names the element.  TN_ECANCELLED: by
 * `progress`.  TN_ENOMEM. Anything else is the program's.  Nothing is allocated from the context, except as tn_call
 * says for stacks. */
TN_API tn_status tn_lbfgs_solve(tn_lbfgs *s, const tn_lbfgs_start *start, tn_lbfgs_result *out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
