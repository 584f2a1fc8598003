/* The Runge-Kutta methods as numbers: one table for each, found by name. */
#ifndef TN_ODE_TABLEAUX_H
#define TN_ODE_TABLEAUX_H

#include <stdbool.h>
#include <stddef.h>

/* y1 = y0 + h sum_i b_i k_i,  k_i = f(t + c_i h, y0 + h (sum_(j<i) a_ij k_j + diagonal k_i)); the first stage
 * is explicit in all of them.  In between, y(t + theta h) = y0 + h sum_i b_i(theta) k_i, with b_i(1) = b_i. */
typedef struct tn_i_tableau {
    const char *name;
    int order;          /* of y1 */
    int embedded_order; /* of the solution that y1 is compared with; 0: no estimate */
    int dense_order;    /* of y(t + theta h) at every theta */
    size_t stages;
    bool first_same_as_last; /* the last stage is f(t + h, y1): the next step's first */
    double diagonal;         /* of an ESDIRK method's implicit stages; 0: explicit */
    const double *a;         /* row i = 1.. of i numbers, left of the diagonal, at i (i - 1) / 2 */
    const double *b, *c;
    const double *e; /* b minus the embedded weights; NULL: no estimate */
    size_t degree;   /* of b_i(theta) = sum_(k=1..degree) dense[i degree + k - 1] theta^k */
    const double *dense;
} tn_i_tableau;

/* The method of that name (Diffrax's spelling, "Tsit5"), or NULL. */
const tn_i_tableau *tn_i_tableau_find(const char *name);
/* Method i of all, in the order of tansy/ode.h; NULL behind the last. */
const tn_i_tableau *tn_i_tableau_at(size_t i);

static inline double tn_i_tableau_a(const tn_i_tableau *m, size_t i, size_t j) { return m->a[i * (i - 1) / 2 + j]; }

#endif
