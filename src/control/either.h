/* Values that can be had in two ways, and which of the two is taken (docs/ir.md, "Two ways to one value"). */
#ifndef TN_EITHER_H
#define TN_EITHER_H

#include "linearize/linearize.h"

/* The one value that `made` and `kept` are; `replayed`: what makes `kept` has a schedule that brings it back. */
tn_i_var tn_i_either(tn_i_builder *b, tn_i_var made, tn_i_var kept, bool replayed);

/* ensures: the same results, bit for bit, in a program that has the better one of the two wherever it had both, at any
 * depth: what a schedule brings back, else what is made.  A new reference; NULL after an error. */
tn_fn *tn_i_settle(const tn_fn *f);
/* The same, with what is kept everywhere: a linear function stays one. */
tn_fn *tn_i_settle_kept(const tn_fn *f);
/* The halves of a boundary that holds arrays, whatever their schedules: what is made, and no residuals for what need
 * not be kept.  Both halves are pruned.  false after an error: the parts are freed. */
bool tn_i_settle_parts(tn_i_parts *p);

#endif
