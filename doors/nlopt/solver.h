/* What the files of libtansy-nlopt share.
 *
 * problem.c   tn_nlopt_new: what is refused, the derivatives
 * algorithm.c NLopt's names, and its handle for one of them
 * derived.c   one derived program: compiled, run once a point, looked at for what is not finite
 * callbacks.c NLopt's questions
 * solve.c     a solve: starts, what NLopt's answer means */
#ifndef TANSY_NLOPT_SOLVER_H
#define TANSY_NLOPT_SOLVER_H

#include <tansy/nlopt.h>

#include <nlopt.h>

enum { DERIVED_F, DERIVED_GRADIENT, DERIVED_G, DERIVED_G_JACOBIAN, DERIVED_H, DERIVED_H_JACOBIAN, DERIVED_COUNT };

/* A program that NLopt asks for: its outputs lie one after the other in `value`, Jacobians as one row-major matrix. */
typedef struct derived {
    const char *name;
    tn_exec *exec; /* NULL: there is none */
    tn_work *work;
    const void **in;
    void **out;
    double *value;
    int64_t count;
    /* A Jacobian's: its columns, and where there are several variables its outputs, a block for each pair of an output
     * of `rows` elements and a variable of `columns`. */
    int64_t width;
    double *blocks;
    size_t functions, variables;
    size_t *rows, *columns;
    enum { STALE, FINITE, BAD } state; /* of `value` at the point */
    int64_t runs;
} derived;

struct tn_nlopt {
    tn_status status;
    char message[1024];
    bool refused; /* by tn_nlopt_new: nothing can be solved */
    nlopt_opt opt;
    tn_nlopt_options options;
    bool global, gradients; /* of the algorithm: no tolerance ends it; it asks for derivatives */
    size_t variables, parameters;
    tn_type *type;      /* of each parameter */
    const void **given; /* their values in this solve */
    int *wrt; /* the variables' numbers: 0, 1, .. */
    int64_t n, inequalities, equations;
    derived d[DERIVED_COUNT];

    double *x; /* the point that values are of */
    bool point;

    double *best, *g, *h; /* where NLopt starts, and what it finds */
    double *low, *high;   /* bounds */
    double objective, infeasibility;
    tn_status failed; /* of a program, or cancelled; every question after that is refused */
    char why[512];
    int64_t evaluations;
};

/* Sets the status and the message, and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
tn_status
tn_nlopt_i_fail(tn_nlopt *s, tn_status status, const char *format, ...);

/* The options' names: global, gradients; TN_EINVAL: one that NLopt does not have. */
tn_status tn_nlopt_i_algorithm(tn_nlopt *s);
/* Nothing in the algorithm's work arrays is more than an int counts; TN_ELIMIT. */
tn_status tn_nlopt_i_room(tn_nlopt *s);
/* NLopt's handle with the bounds, the callbacks of callbacks.c and the options. */
tn_status tn_nlopt_i_handle(tn_nlopt *s);

/* p compiled, with a work area and buffers. */
tn_status tn_nlopt_i_derived(tn_nlopt *s, int which, const tn_fn *p);
/* The Jacobian of p likewise, with respect to the variables. */
tn_status tn_nlopt_i_jacobian(tn_nlopt *s, int which, const tn_fn *p, int64_t rows);
void tn_nlopt_i_derived_free(derived *d);
/* Its value at the point, once; false, with the reason in s->why: the run failed, or there is a NaN or an infinity. */
bool tn_nlopt_i_value(tn_nlopt *s, int which);
/* The point that is asked for. */
void tn_nlopt_i_go_to(tn_nlopt *s, const double *x);

/* callbacks.c, as NLopt calls them: the solver is `user`. */
double tn_nlopt_i_f(unsigned n, const double *x, double *gradient, void *user);
void tn_nlopt_i_g(unsigned m, double *result, unsigned n, const double *x, double *gradient, void *user);
void tn_nlopt_i_h(unsigned m, double *result, unsigned n, const double *x, double *gradient, void *user);

#endif
