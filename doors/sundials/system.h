/* What the files of libtansy-sundials share.
 *
 * system.c    tn_sundials_new: what is refused, the function itself, parameters, sizes
 * derive.c    the derivatives, as programs
 * run.c       one program: compiled, run with a solver's vectors, looked at for what is not finite
 * matrix.c    the Jacobian's entries: where they stand in dense, band and sparse matrices
 * callbacks.c what solvers call */
#ifndef TANSY_SUNDIALS_SYSTEM_H
#define TANSY_SUNDIALS_SYSTEM_H

#include <tansy/sparse.h>
#include <tansy/sundials.h>

#include <sundials/sundials_config.h>
#include <sundials/sundials_matrix.h>
#include <sundials/sundials_nvector.h>
#include <sundials/sundials_types.h>

#if !defined(SUNDIALS_DOUBLE_PRECISION)
#error "libtansy-sundials needs a SUNDIALS of double precision"
#endif

enum {
    PROGRAM_F,
    PROGRAM_EXPLICIT,
    PROGRAM_QUAD,
    PROGRAM_JACOBIAN,
    PROGRAM_TIMES,
    PROGRAM_SENS,
    PROGRAM_SENS_ALL,
    PROGRAM_RHS_B,
    PROGRAM_TIMES_B,
    PROGRAM_QUAD_B,
    PROGRAM_COUNT
};

/* Inputs: `lead` of the solver's (t, y, y', c), the parameters, `tail` more of the solver's.  One output. */
typedef struct program {
    const char *name;
    tn_exec *exec; /* NULL: there is none */
    tn_work *work;
    const void **in;
    size_t lead, tail;
    int64_t count; /* of its output */
    int64_t runs;
} program;

/* Where the entries of the Jacobian stand in a compressed matrix: by rows, CSR of J and CSC of J'; by columns, the
 * other way round. */
typedef struct layout {
    sunindextype *ptr, *ind;
    int64_t *at; /* nnz: the position of value k */
} layout;

struct tn_sundials {
    tn_status status;
    char message[1024];
    bool refused; /* by tn_sundials_new */
    tn_sundials_kind kind;
    const tn_compile_options *compile; /* during tn_sundials_new */
    const void *const *known;          /* likewise */
    int64_t n, np;
    size_t lead, parameters; /* inputs of f: of the solver's, and behind them */
    tn_type *type;           /* of each input of f */
    const void **given;      /* the parameters' values */
    bool ready;              /* the parameters have values */
    tn_wrt_list wrt;         /* of sensitivities, ours */
    int *wrt_index;
    program p[PROGRAM_COUNT];

    tn_sparsity *pattern;
    int64_t nnz, entries; /* values of the Jacobian, and those with the diagonal */
    int64_t lower, upper;
    int64_t *row, *column; /* nnz */
    layout by_row, by_column;
    double *value; /* nnz */

    double t, c;          /* of the call */
    double *zero;         /* n: the w of derive.c */
    double *unit;         /* np: which parameter a sensitivity is of */
    const void **tangent; /* its parts, one for each of wrt, behind one for the state's */
    size_t at_once;
    double *all, *all_dot; /* at_once x n: the sensitivities of a call, and its answer */
    double *units;         /* for each of wrt: at_once times its elements */
    const void **tangents; /* parts of these, as `tangent` */
    int64_t not_finite;
};

/* Sets the status and the message, and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
tn_status
tn_sundials_i_fail(tn_sundials *s, tn_status status, const char *format, ...);
/* The error of f's context, of what was being done. */
tn_status tn_sundials_i_lost(tn_sundials *s, const tn_fn *f, const char *what);

/* All derivatives in `with`, of the problem. */
tn_status tn_sundials_i_derive(tn_sundials *s, const tn_sundials_problem *q, unsigned with);

/* p compiled, with a work area; it has s->lead (Jacobians of a DAE: and c) leading inputs, and `tail` last ones. */
tn_status tn_sundials_i_program(tn_sundials *s, int which, const tn_fn *p, size_t lead, size_t tail);
void tn_sundials_i_program_free(program *p);
/* What a solver is to be told: 0, 1 (not finite) or -1.  lead, tail: pointers as the program has inputs. */
int tn_sundials_i_run(tn_sundials *s, int which, const void *const *lead, const void *const *tail, double *out);
/* The elements of v, of which there must be n; NULL, with the message, where they are not to be had. */
double *tn_sundials_i_elements(tn_sundials *s, const char *what, N_Vector v, int64_t n);

/* The entries of s->pattern, that of the Jacobian's values. */
tn_status tn_sundials_i_pattern(tn_sundials *s);
void tn_sundials_i_pattern_free(tn_sundials *s);
/* Whether m can hold the Jacobian; and s->value, times `sign`, written there. */
bool tn_sundials_i_fits(tn_sundials *s, SUNMatrix m, bool transposed);
void tn_sundials_i_fill(const tn_sundials *s, SUNMatrix m, bool transposed, double sign);

#endif
