/* Dead outputs and inputs of nested programs. */
#ifndef TN_PRUNE_H
#define TN_PRUNE_H

#include "ir/memo.h"
#include "prims/frame.h"

/* Ensures: the same program, in which no nested program computes an output that
 * nobody reads, or one value twice, or has an input that it does not read.  Takes f over; NULL after an error (f NULL:
 * NULL). */
tn_fn *tn_i_prune(tn_fn *f);

/* For prune rules: f with the used outputs only, each value once, and with the inputs only that these
 * depend on. */
const tn_i_memo_entry *tn_i_nested_prune(tn_i_rule *r, const tn_fn *f, const bool *used);
/* Of such an entry, per output of f, or per input: its new number or TN_NOVAR. */
static inline const uint32_t *tn_i_pruned_outputs(const tn_i_memo_entry *e) {
    return (const uint32_t *)(const void *)e->flags;
}
static inline const uint32_t *tn_i_pruned_inputs(const tn_i_memo_entry *e, uint32_t nout) {
    return tn_i_pruned_outputs(e) + nout;
}

/* Which operands of e, an equation of w's program, its outputs told by w->mark need, in w->flag: all, but for inputs
 * that nested programs do not read.  With w->r.quiet its effects need none.  false after an error. */
bool tn_i_needed_operands(tn_i_frame *w, const tn_i_eqn *e);

/* f without equations whose outputs no output of f needs, those with effects too, at any depth:
 * what to compute again.  If the result still has ->effect, an output needs one. */
tn_fn *tn_i_quiet(const tn_fn *f);
/* Where the outputs of e told by `used` (which e's own prune rule gets, with r->quiet) need an effect, *loud is
 * the place of that effect, else NULL.  false after an error. */
bool tn_i_quiet_outputs(const tn_fn *f, const tn_i_eqn *e, const bool *used, tn_i_memo *memo, const tn_i_loc **loud);
/* The place of the first equation with an effect, at any depth. */
const tn_i_loc *tn_i_effect_loc(const tn_fn *f);

#endif
