/* The entries of a report of residuals, read off a linearized program. */
#ifndef TN_RESIDUAL_ROWS_H
#define TN_RESIDUAL_ROWS_H

#include "linearize/linearize.h"

typedef struct tn_i_residual_rows {
    tn_residual *row;
    size_t n, capacity;
} tn_i_residual_rows;

/* requires: f's parts, split by a policy of this (interned) text;
 * ensures: a row per value that the linear program reads, in the order tansy.h states. false after an error. */
bool tn_i_residual_rows_of(const tn_fn *f, const tn_i_parts *parts, const char *policy, tn_i_residual_rows *out);
void tn_i_residual_rows_free(tn_ctx *c, tn_i_residual_rows *rows);

#endif
