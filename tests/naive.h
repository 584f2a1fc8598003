/* The reference that compiled programs are compared with: every value has a dense
 * buffer of its own, every equation runs, in order, by itself. */
#ifndef TN_NAIVE_H
#define TN_NAIVE_H

#include "prims/prim.h"

/* An array whose dimensions are known is a dense row-major buffer. One with a dimension `?` is a tree: its first
 * dimension's entries, each held so in turn. */
typedef struct tn_naive_tree {
    int64_t n, room;
    bool endless; /* all entries are entry[0]: a repeated value in place of a stack */
    void **entry;
} tn_naive_tree;

/* in and out: none NULL unless it has no elements.  A tree among out is filled with values that malloc gave. */
tn_status tn_naive_run(const tn_fn *f, const void *const *in, void *const *out);
/* Errors to run with: each float result of an equation of which `ulps` says more than 0 is off by so many ulp, up or
 * down at random. */
typedef struct tn_naive_errors {
    double (*ulps)(const tn_fn *f, const tn_i_eqn *e);
    tn_i_rng rng;
} tn_naive_errors;
tn_status tn_naive_run_off(const tn_fn *f, const void *const *in, void *const *out, tn_naive_errors *off);
/* Releases a value that malloc gave. */
void tn_naive_drop(const tn_type *t, void *value);
/* Whether every value of f (of nested programs: every output) is finite. */
bool tn_naive_finite(const tn_fn *f, const void *const *in);

#endif
