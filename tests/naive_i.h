/* Inside the reference: how values are held, and nested programs.
 */
#ifndef TN_NAIVE_I_H
#define TN_NAIVE_I_H

#include "naive.h"

void *tn_naive_new(const tn_type *t); /* uninitialized; a tree is empty */
void *tn_naive_copy(const tn_type *t, const void *value);
/* Entry i of a value of type t; NULL when a tree does not have it. */
const void *tn_naive_entry(const tn_type *t, const void *value, int64_t i);
/* Makes `entry`, taken over, entry i of a value of type t. */
bool tn_naive_put(const tn_type *t, void *value, int64_t i, void *entry);

/* Runs f; out[j] are new values, owned by the caller.  off NULL: without errors. */
tn_status tn_naive_body(const tn_fn *f, const void *const *in, void **out, tn_naive_errors *off);
/* scan and while: sets value[e->out ..]. */
tn_status tn_naive_scan(const tn_fn *f, const tn_i_eqn *e, void **value, tn_naive_errors *off);
tn_status tn_naive_while(const tn_fn *f, const tn_i_eqn *e, void **value, tn_naive_errors *off);

#endif
