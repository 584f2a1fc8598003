/* tansy/sundials.h - traced functions and their derivatives as callbacks of SUNDIALS (libtansy-sundials).
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 * The solver stays the user's, with all its options; what Tansy gives are the functions that it calls.  A *system* is
 * made of a traced function once, with the derivatives that are wanted, and is the solver's user_data:
 *
 *     tn_sundials_problem problem = {.size = sizeof problem, .f = f};            f: (t, y, p..) -> dy/dt
 *     tn_sundials *s = tn_sundials_new(&problem, &(tn_sundials_options){.size = sizeof(tn_sundials_options),
 *                                                                       .with = TN_SUNDIALS_JACOBIAN});
 *     tn_sundials_parameters(s, TN_RAW_INPUTS(rates));
 *     SUNMatrix A = tn_sundials_matrix(s, TN_SUNDIALS_SPARSE, false, sunctx);    with the Jacobian's pattern
 *     SUNLinearSolver LS = SUNLinSol_KLU(y, A, sunctx);
 *     CVodeInit(mem, tn_sundials_rhs, t0, y);
 *     CVodeSetUserData(mem, s);
 *     CVodeSetLinearSolver(mem, LS, A);
 *     CVodeSetJacFn(mem, tn_sundials_jac);
 *     if (CVode(mem, t1, y, &t, CV_NORMAL) < 0) fprintf(stderr, "%s\n", tn_sundials_error(s));
 *
 * Vectors are serial, OpenMP or Pthreads ones, whose elements are in this process, one behind the other; arrays of any
 * shape are in them row-major.  SUNDIALS is one of double precision; its index type may have 32 or 64 bits.
 *
 * What a callback returns: 0; 1, from which solvers recover by a smaller step, where a value is not finite; -1, which
 * ends the solve, where the program fails (tn_call), where vectors or matrices do not fit, or where a derivative is
 * asked for that the system was made without.  tn_sundials_error says which value, or why.
 *
 * Errors: tn_sundials_status has a tn_status for what failed last, tn_sundials_error the message.  Nothing prints.
 * Ownership: a system holds the programs' executables, so the context of f has to live longer, f need not.  Matrices
 * are the user's (SUNMatDestroy).  Callbacks allocate nothing, but as tn_call says for stacks.
 * Threads: as the context of f for tn_sundials_new and tn_sundials_free; a system is used by one solver at a time, or
 * by several that run in turn. */
#ifndef TANSY_SUNDIALS_H
#define TANSY_SUNDIALS_H

#include <tansy/sparse.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What SUNDIALS calls N_Vector and SUNMatrix are pointers to these. */
struct _generic_N_Vector;
struct _generic_SUNMatrix;

typedef struct tn_sundials tn_sundials;

typedef enum tn_sundials_kind {
    TN_SUNDIALS_ODE,  /* CVODE, CVODES, ARKODE: dy/dt = f(t, y, p..), f of y's type */
    TN_SUNDIALS_DAE,  /* IDA, IDAS: f(t, y, y', p..) = 0, of as many elements as y */
    TN_SUNDIALS_ROOTS /* KINSOL: f(u, p..) = 0, of as many elements as u */
} tn_sundials_kind;

typedef struct tn_sundials_problem {
    size_t size;           /* sizeof(tn_sundials_problem) */
    tn_sundials_kind kind; /* 0: an ODE */
    /* t is f64[]; y, y' and u are f64 arrays of one shape each.  The inputs behind them are parameters, of any types:
     * data that tn_sundials_parameters gives.  One output. */
    const tn_fn *f;
    /* ODE: the inputs of f -> f64[], integrated along the solution: tn_sundials_quad is its right-hand side, and the
     * backward problem is that of  G = integral of g.  NULL: none, the backward problem is that of what it starts
     * with. */
    const tn_fn *g;
    /* ODE: as f, the part of the right-hand side that ARKODE treats explicitly (tn_sundials_rhs_explicit).  NULL. */
    const tn_fn *explicit_part;
    /* Which inputs, f64 and parameters, sensitivities and quadratures are with respect to, their elements one behind
     * the other: np numbers.  NULL: all float parameters. */
    const tn_wrt_list *wrt;
} tn_sundials_problem;

/* What is derived and compiled, added up. */
enum {
    TN_SUNDIALS_JACOBIAN = 1,      /* tn_sparse_jacobian: tn_sundials_matrix and the callbacks _jac */
    TN_SUNDIALS_TIMES = 2,         /* tn_jvp: the callbacks _jtimes */
    TN_SUNDIALS_SENSITIVITIES = 4, /* ODE, tn_jvp: tn_sundials_sens, tn_sundials_sens_all */
    TN_SUNDIALS_ADJOINT = 8        /* ODE, tn_vjp: tn_sundials_rhs_b, _jtimes_b, _quad_b */
};

typedef struct tn_sundials_options {
    size_t size;   /* sizeof(tn_sundials_options) */
    unsigned with; /* 0: the function alone */
    /* TN_SUNDIALS_JACOBIAN: values of parameters that are the same in every call, by input of f, NULL where not; t, y,
     * y' and u must be NULL (TN_EINVAL).  Indices and masks among them count as they are, where the pattern of others
     * would be denser (tn_sparsity_options.known).  They are read here, and again as parameters.  NULL: none. */
    const void *const *known;
    /* TN_SUNDIALS_SENSITIVITIES: how many tn_sundials_sens_all computes by one run, in which what they share is
     * computed once; with CV_STAGGERED1 it cannot be used.  0: that program is not made. */
    size_t at_once;
    /* How the programs are compiled; NULL: defaults.  Strides, aliases and observers must not be set (TN_EINVAL). */
    const tn_compile_options *compile;
} tn_sundials_options;

/* Makes the derivatives, compiles them, and allocates all that callbacks need.  NULL without memory.  A system whose
 * problem was refused holds the error, and its callbacks fail.
 * TN_EINVAL: options or the problem without their size, inputs or outputs that are not those of the kind, g,
 * explicit_part, sensitivities or adjoints of what is no ODE; TN_ETYPE: what has to be f64 is not; TN_ELIMIT: more
 * entries than SUNDIALS's indices count; and what tn_sparse_jacobian, tn_jvp, tn_vjp and tn_compile fail with. */
TN_API tn_sundials *tn_sundials_new(const tn_sundials_problem *problem, const tn_sundials_options *options);
TN_API void tn_sundials_free(tn_sundials *s); /* NULL is fine */
/* The message of what failed last, or of the last value that was not finite; "" if there was none.  It stays when a
 * solver recovers.  s NULL: "out of memory". */
TN_API const char *tn_sundials_error(const tn_sundials *s);
/* Its status: TN_ECALLBACK of a value that was not finite.  TN_OK: nothing failed.  s NULL: TN_ENOMEM. */
TN_API tn_status tn_sundials_status(const tn_sundials *s);

/* The parameters' values from now on, a dense array of each one's type, in the order of the inputs: p[0] .. , or
 * TN_INPUTS(..), whose count and types are looked at.  The
 * arrays have to stay where they are, and may change between solves.  TN_EINVAL: NULL among them, or what does not fit.
 */
TN_API tn_status tn_sundials_parameters(tn_sundials *s, const void *const *p);

typedef struct tn_sundials_sizes {
    size_t size;          /* sizeof(tn_sundials_sizes), set by the caller */
    int64_t n, np;        /* elements of y, and of the inputs in wrt */
    int64_t nnz;          /* of a sparse matrix; the diagonal of an ODE's belongs to it: solvers form 1 - gamma J */
    int64_t lower, upper; /* half bandwidths: the largest i - j and j - i of an entry */
    /* Runs so far: of f and its parts, of Jacobians, of their products, of sensitivities, of backward problems; and
     * results that were not finite. */
    int64_t f, jacobian, products, sensitivities, backward, not_finite;
} tn_sundials_sizes;
/* TN_EINVAL: s or out NULL, out->size not set; of a problem that was refused, its status. */
TN_API tn_status tn_sundials_size(const tn_sundials *s, tn_sundials_sizes *out);

/* The pattern of the Jacobian (of dF/dy + c dF/dy'), without the diagonal that is added: what is constant, and the
 * sentences of tn_sparsity_warning.  Owned by the system; NULL without TN_SUNDIALS_JACOBIAN. */
TN_API const tn_sparsity *tn_sundials_pattern(const tn_sundials *s);

typedef enum tn_sundials_format { TN_SUNDIALS_DENSE, TN_SUNDIALS_BAND, TN_SUNDIALS_SPARSE } tn_sundials_format;
/* A matrix for the Jacobian (transposed: for that of the backward problem), a SUNMatrix of the format: band with the
 * pattern's bandwidths, sparse as CSC with room for its entries, and its indices.  `context` is the SUNContext.
 * Others will do: the callbacks write into any dense, band (of at least these widths), CSC or CSR matrix that has room.
 * NULL after an error: TN_EINVAL without TN_SUNDIALS_JACOBIAN, or without a context; TN_ENOMEM. */
TN_API struct _generic_SUNMatrix *tn_sundials_matrix(tn_sundials *s, tn_sundials_format format, bool transposed,
                                                     void *context);

/* ---- callbacks: user_data is the system ---------------------------------------- */

/* CVODE, CVODES, ARKODE.  f; the Jacobian; its product with v (no setup function is needed). */
TN_API int tn_sundials_rhs(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *ydot, void *user_data);
TN_API int tn_sundials_jac(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *fy,
                           struct _generic_SUNMatrix *j, void *user_data, struct _generic_N_Vector *tmp1,
                           struct _generic_N_Vector *tmp2, struct _generic_N_Vector *tmp3);
TN_API int tn_sundials_jtimes(struct _generic_N_Vector *v, struct _generic_N_Vector *jv, double t,
                              struct _generic_N_Vector *y, struct _generic_N_Vector *fy, void *user_data,
                              struct _generic_N_Vector *tmp);
/* g, for CVodeQuadInit. */
TN_API int tn_sundials_quad(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *qdot, void *user_data);
/* ARKStepCreate(tn_sundials_rhs_explicit, tn_sundials_rhs, ..). */
TN_API int tn_sundials_rhs_explicit(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *ydot,
                                    void *user_data);
/* CVodeSensInit1: (df/dy) s + df/dp.  Sensitivity i is with respect to element i of the inputs in wrt; from np on
 * df/dp is 0: those are with respect to what the initial state alone depends on. */
TN_API int tn_sundials_sens(int ns, double t, struct _generic_N_Vector *y, struct _generic_N_Vector *ydot, int i,
                            struct _generic_N_Vector *s, struct _generic_N_Vector *sdot, void *user_data,
                            struct _generic_N_Vector *tmp1, struct _generic_N_Vector *tmp2);
/* CVodeSensInit: all of them, options.at_once of them (else it fails). */
TN_API int tn_sundials_sens_all(int ns, double t, struct _generic_N_Vector *y, struct _generic_N_Vector *ydot,
                                struct _generic_N_Vector **s, struct _generic_N_Vector **sdot, void *user_data,
                                struct _generic_N_Vector *tmp1, struct _generic_N_Vector *tmp2);
/* CVodeInitB: -(df/dy)' lambda - (dg/dy)'; its Jacobian -(df/dy)', and that times v; CVodeQuadInitB:
 * -(df/dp)' lambda - (dg/dp)', np numbers, which end as dG/dp. */
TN_API int tn_sundials_rhs_b(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *lambda,
                             struct _generic_N_Vector *lambdadot, void *user_data);
TN_API int tn_sundials_jac_b(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *lambda,
                             struct _generic_N_Vector *f, struct _generic_SUNMatrix *j, void *user_data,
                             struct _generic_N_Vector *tmp1, struct _generic_N_Vector *tmp2,
                             struct _generic_N_Vector *tmp3);
TN_API int tn_sundials_jtimes_b(struct _generic_N_Vector *v, struct _generic_N_Vector *jv, double t,
                                struct _generic_N_Vector *y, struct _generic_N_Vector *lambda,
                                struct _generic_N_Vector *f, void *user_data, struct _generic_N_Vector *tmp);
TN_API int tn_sundials_quad_b(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *lambda,
                              struct _generic_N_Vector *qdot, void *user_data);

/* IDA, IDAS.  f; dF/dy + c dF/dy'; that times v. */
TN_API int tn_sundials_residual(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *yp,
                                struct _generic_N_Vector *r, void *user_data);
TN_API int tn_sundials_residual_jac(double t, double c, struct _generic_N_Vector *y, struct _generic_N_Vector *yp,
                                    struct _generic_N_Vector *r, struct _generic_SUNMatrix *j, void *user_data,
                                    struct _generic_N_Vector *tmp1, struct _generic_N_Vector *tmp2,
                                    struct _generic_N_Vector *tmp3);
TN_API int tn_sundials_residual_jtimes(double t, struct _generic_N_Vector *y, struct _generic_N_Vector *yp,
                                       struct _generic_N_Vector *r, struct _generic_N_Vector *v,
                                       struct _generic_N_Vector *jv, double c, void *user_data,
                                       struct _generic_N_Vector *tmp1, struct _generic_N_Vector *tmp2);

/* KINSOL.  f; its Jacobian; that times v. */
TN_API int tn_sundials_roots(struct _generic_N_Vector *u, struct _generic_N_Vector *r, void *user_data);
TN_API int tn_sundials_roots_jac(struct _generic_N_Vector *u, struct _generic_N_Vector *r, struct _generic_SUNMatrix *j,
                                 void *user_data, struct _generic_N_Vector *tmp1, struct _generic_N_Vector *tmp2);
TN_API int tn_sundials_roots_jtimes(struct _generic_N_Vector *v, struct _generic_N_Vector *jv,
                                    struct _generic_N_Vector *u, int *new_u, void *user_data);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
