/* A derived program asked at points: what doors to solvers with one question share.  Compiled into each of them.
 *
 * Variables are the first inputs of a program of f64, one after the other in x; parameters come with a solve.  A second
 * question about one point runs nothing. */
#ifndef DOORS_POINT_H
#define DOORS_POINT_H

#include <tansy.h>

typedef struct tn_i_point {
    tn_status status;
    char message[1024];
    size_t variables, parameters;
    tn_type *type; /* of each parameter */
    int *wrt;      /* the variables' numbers: 0, 1, .. */
    int64_t n;     /* their elements */
    tn_exec *exec;
    tn_work *work;
    const void **in;
    void **out;
    double *x, *value; /* where; the outputs there, one after the other */
    int64_t count;
    bool known;       /* `value` is that of x */
    bool finite;      /* and all of it */
    tn_status failed; /* of a run, or cancelled: every question after that is refused */
    char why[512];
    int64_t runs, not_finite;
} tn_i_point;

/* Sets the status and the message, and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
tn_status
tn_i_point_fail(tn_i_point *p, tn_status status, const char *format, ...);

/* f's variables and parameters: TN_EINVAL, TN_ETYPE, TN_ELIMIT (more than an int counts), TN_ENOMEM. */
tn_status tn_i_point_inputs(tn_i_point *p, const tn_fn *f, size_t variables);
/* The program that is asked, called `name` in messages: derived of f, or NULL, which is f's context's error. */
tn_status tn_i_point_program(tn_i_point *p, const tn_fn *f, const tn_fn *derived, const char *name,
                             const tn_compile_options *compile);
void tn_i_point_free(tn_i_point *p);

/* A solve begins: x (finite; NULL: zeros), parameters. */
tn_status tn_i_point_begin(tn_i_point *p, const double *x, const void *const *parameters);
/* Whether all values at x are finite, after a run where x is another than before; if not, p->why has no reason yet,
 * unless p->failed. */
bool tn_i_point_at(tn_i_point *p, const double *x);

#endif
