/* Running a program at points of the caller's choice, for checks: buffers of every
 * input and output, numbers as doubles. */
#ifndef TN_PROBE_H
#define TN_PROBE_H

#include "ir/ir.h"

typedef struct tn_i_probe {
    const tn_fn *f;
    tn_exec *exec;
    void **in, **out; /* dense buffers, one per input and output */
} tn_i_probe;

/* spill_dir: as in tn_compile_options. */
bool tn_i_probe_init(tn_i_probe *p, const tn_fn *f, const char *spill_dir);
void tn_i_probe_free(tn_i_probe *p);
tn_status tn_i_probe_run(tn_i_probe *p);

/* Element k of a buffer of type t, read or written as a double. */
double tn_i_probe_get(const tn_type *t, const void *data, int64_t k);
void tn_i_probe_set(const tn_type *t, void *data, int64_t k, double x);
/* Uniform in [-1, 1]. */
void tn_i_probe_random(const tn_type *t, void *data, uint64_t *seed);
/* Sum of products of two float buffers; *scale gets the sum of magnitudes. */
double tn_i_probe_dot(const tn_type *t, const void *x, const void *y, double *scale);

#endif
