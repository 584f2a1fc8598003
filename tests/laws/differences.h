/* Richardson-extrapolated central differences. */
#ifndef LAWS_DIFFERENCES_H
#define LAWS_DIFFERENCES_H

#include "laws/laws.h"

/* The derivative of the float outputs of f (an f64 program) at x along v, and Richardson's own
 * estimate of its error, as f64 arrays; other outputs have arrays of zeros. v[i].data NULL: zero.
 * false after laws_fail. */
bool laws_differences(laws_trial *t, const tn_fn *f, const laws_array *x, const laws_array *v, laws_array *slope,
                      laws_array *error);

/* The first element of `slope` that the program's own derivative dy contradicts, or -1; scale is
 * max(|dy|, |y|, 1).  Sets t->redraw when an estimate leaves no room for a statement, or where y is
 * not finite. */
int64_t laws_contradicts(laws_trial *t, const laws_array *dy, const laws_array *y, const laws_array *slope,
                         const laws_array *error, double tolerance);
/* 1e-4 when f holds an f32, else 1e-8. */
double laws_tolerance(const tn_fn *f);

#endif
