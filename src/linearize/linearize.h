/* Partial evaluation: a program whose inputs are partly unknown (tangents) is
 * split into a known program and a linear one.  What crosses the boundary, and
 * what is recomputed behind it, a plan decides: any plan is correct. */
#ifndef TN_LINEARIZE_H
#define TN_LINEARIZE_H

#include "ir/memo.h"

/* What a plan is told: the program, the known values, and which of them the unknown part reads. */
typedef struct tn_i_boundary {
    const tn_fn *f;
    const uint8_t *known, *needed;
    double times; /* f runs so often, each time with values of its own to keep; 0: once */
} tn_i_boundary;

/* A plan fills save[v], a tn_verdict, for the known values; false after an error. */
typedef struct tn_i_plan_by {
    const char *name;
    bool (*plan)(const struct tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);
    tn_verdict (*callback)(void *user, const tn_candidate *v);
    void *user;
    bool everywhere; /* in regions too, whatever their own policies */
    bool region;     /* what it does not save may not be saved for the sake of an effect either */
    bool across;     /* in loops: what enters a step may be made of what the step before saved
                        (control/loops/loop_entering.c) */
    double times;    /* of boundaries */
} tn_i_plan_by;

/* known: known inputs.. -> (known outputs.., residuals..);
 * linear: (residuals.. | unknown inputs..) -> unknown outputs.. .
 * A residual that is a known input k has from_input k and, unless `forward`
 * was asked, is not among known's outputs; otherwise from_input is TN_NOVAR. */
typedef struct tn_i_parts {
    tn_ctx *ctx;
    tn_fn *known, *linear;
    uint32_t nres, nout;
    uint32_t *from_input; /* nres: index among the known inputs */
    bool *out_unknown;    /* nout */
} tn_i_parts;

/* Splits f by unknown inputs.  Outputs j with out_linear[j] (NULL: none) belong to
 * the linear program even when they are known (zero tangents). */
bool tn_i_partial_eval(const tn_fn *f, const bool *unknown, const bool *out_linear, bool forward,
                       const tn_i_plan_by *how, tn_i_memo *memo, tn_i_parts *out);
void tn_i_parts_free(tn_i_parts *p);

/* jvp, then partial evaluation, with forwarded inputs: primal x.. -> (y.., residuals..),
 * linear (residuals.. | dx of wrt..) -> dy of the float outputs.. . */
bool tn_i_linearize(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, const tn_i_plan_by *how, tn_i_parts *out);
/* The two halves of linearize, for those who split one jvp under many plans. */
tn_fn *tn_i_jvp_for_split(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt);
bool tn_i_split_jvp(const tn_fn *f, const tn_fn *jvp, const tn_i_plan_by *how, tn_i_parts *out);

/* Splits equations that mix known and unknown operands in nested programs, so that
 * every equation is one or the other.  The result is `mixed`. */
tn_fn *tn_i_separate(const tn_fn *f, const bool *unknown, const tn_i_plan_by *how, tn_i_memo *memo);
/* Whether any equation of f would be split. */
bool tn_i_separable(const tn_fn *f);

#endif
