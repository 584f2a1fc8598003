/* What the public transformations share: which inputs, and small program surgery. */
#ifndef TN_ARGS_H
#define TN_ARGS_H

#include "ir/ir.h"

/* Resolved `wrt`: indices of float inputs. */
typedef struct tn_i_wrt {
    tn_ctx *ctx;
    uint32_t n, room;
    uint32_t *index;
} tn_i_wrt;

/* wrt NULL: every float input.  false after TN_EINVAL (out of range, repeated, not float)
 * that names `who`; release with tn_i_wrt_free. */
bool tn_i_wrt_init(tn_i_wrt *w, const char *who, const tn_fn *f, const tn_wrt_list *wrt);
void tn_i_wrt_free(tn_i_wrt *w);

/* TN_ERULE when an equation of a finished transformation has nothing to run (a missing
 * external callback), or would carry an array of unknown length, at its place. Releases f then. */
tn_fn *tn_i_runnable(tn_fn *f);

/* The one float scalar output that gradients need; false after TN_EINVAL. `outputs`: 0 means
 * exactly one output, else at least one. */
bool tn_i_scalar_output(const char *who, const tn_fn *f, bool aux);
/* Nothing in f varies over the grid, and no ranks speak; false after TN_EINVAL. */
bool tn_i_one_rank(const char *who, const tn_fn *f);

/* What is given for f's inputs (tn_take_arguments), as addresses; *at is NULL where given is, else the context's, f->nin of
 * them.  false after an error that names `who` and `what`. */
bool tn_i_given_values(const char *who, const char *what, const tn_fn *f, const void *const *given, const void ***at);
void tn_i_given_free(const tn_fn *f, const void **at);

#endif
