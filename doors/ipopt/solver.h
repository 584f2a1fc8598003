/* What the files of libtansy-ipopt share.
 *
 * problem.c   tn_ipopt_new: what is refused, the derivatives, Ipopt's handle
 * derived.c   one derived program: compiled, run once a point, looked at for what is not finite
 * callbacks.c Ipopt's questions
 * solve.c     a solve: starts, warm starts, what Ipopt's answer means */
#ifndef TANSY_IPOPT_SOLVER_H
#define TANSY_IPOPT_SOLVER_H

#include <tansy/ipopt.h>
#include <tansy/sparse.h>

#include <IpoptConfig.h>

#include <IpStdCInterface.h>

/* 3.14 renamed Ipopt's types, and made Bool a bool: it was an int. */
#if IPOPT_VERSION_MAJOR > 3 || IPOPT_VERSION_MINOR >= 14
typedef ipindex ipopt_index;
typedef ipnumber ipopt_number;
typedef bool ipopt_bool;
#else
typedef Index ipopt_index;
typedef Number ipopt_number;
typedef Bool ipopt_bool;
#endif

enum { DERIVED_F, DERIVED_GRADIENT, DERIVED_G, DERIVED_JACOBIAN, DERIVED_HESSIAN, DERIVED_COUNT };

/* A program that Ipopt asks for: its outputs lie one after the other in `value`. */
typedef struct derived {
    const char *name;
    tn_exec *exec; /* NULL: there is none */
    tn_work *work;
    const void **in;
    void **out;
    size_t variables, parameters, extra; /* how many inputs of each kind, in this order */
    double *value;
    int64_t count;
    int32_t *row, *column;             /* of the entries of `value`; NULL: a list */
    enum { STALE, FINITE, BAD } state; /* of `value` at the point */
    int64_t runs;
} derived;

struct tn_ipopt {
    tn_status status;
    char message[1024];
    bool refused; /* by tn_ipopt_new: nothing can be solved */
    IpoptProblem problem;
    tn_ipopt_options options;
    size_t variables, parameters;
    tn_type *type;      /* of each parameter */
    const void **given; /* their values in this solve */
    int *wrt; /* the variables' numbers: 0, 1, .. */
    int64_t n, m;
    derived d[DERIVED_COUNT];

    double *x; /* the point that values are of */
    bool point;
    double sigma, *lambda; /* of the Hessian */

    double *best, *g, *multipliers, *zl, *zu; /* where Ipopt starts, and what it finds */
    double objective;
    bool warm; /* the last start was */
    bool cancelled;
    tn_status failed; /* of a program; every question after that is refused */
    char why[512];    /* what failed, or the last value that was not finite */
    int iterations;
    int64_t questions, not_finite;
};

/* Sets the status and the message, and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
tn_status
tn_ipopt_i_fail(tn_ipopt *s, tn_status status, const char *format, ...);

/* p compiled, with a work area and buffers; `extra` inputs come behind the parameters: sigma and lambda. */
tn_status tn_ipopt_i_derived(tn_ipopt *s, int which, const tn_fn *p, size_t extra);
/* Rows and columns of its values. */
tn_status tn_ipopt_i_entries(tn_ipopt *s, int which, const tn_sparsity *pattern, tn_triangle triangle);
void tn_ipopt_i_derived_free(derived *d);
/* Its value at the point, once; false, with the reason in s->why: the run failed, or there is a NaN or an infinity. */
bool tn_ipopt_i_value(tn_ipopt *s, int which);

/* Ipopt's handle with the callbacks of callbacks.c; NULL: Ipopt refuses the problem. */
IpoptProblem tn_ipopt_i_handle(const tn_ipopt *s, const tn_nlp *problem);
/* options -> Ipopt's; TN_EINVAL: one that Ipopt refuses. */
tn_status tn_ipopt_i_options(tn_ipopt *s);

#endif
