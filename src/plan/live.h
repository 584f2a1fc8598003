/* The picture of memory: what is alive in the arena at each equation of a plan.
 * Read off the places that the plan gives; nothing is run. */
#ifndef TN_LIVE_H
#define TN_LIVE_H

#include "plan/plan.h"

/* While one equation runs: operands, outputs and scratch are all alive. */
typedef struct tn_i_live_step {
    size_t values;  /* bytes of values; of one that others share (views, in place) once, whole */
    size_t scratch; /* workspace of the kernel, copies of operands; the frame and arena of a nested program */
    size_t padding; /* what alignment adds to both */
    size_t kept;    /* of values and padding: made before this equation */
} tn_i_live_step;

/* A piece of the arena while it is in use: all steps first .. last. */
typedef enum tn_i_live_kind {
    TN_I_LIVE_VALUES, /* of a value and all that view it or are written over it */
    TN_I_LIVE_SNAPSHOTS,
    TN_I_LIVE_SCRATCH,
    TN_I_LIVE_COPY /* of an operand or a result, for one step */
} tn_i_live_kind;

typedef struct tn_i_live_range {
    int64_t offset;
    size_t bytes, room; /* without and with what alignment adds */
    uint32_t first, last;
    tn_i_live_kind kind;
} tn_i_live_range;

/* step[i] is equation i of the program (one that never runs leaves all as it is); step[n - 1] is
 * the time when results are copied out, n - 1 being the number of equations. */
typedef struct tn_i_live {
    tn_ctx *ctx;
    size_t n;
    tn_i_live_step *step;
    tn_i_live_range *range; /* the bytes of a step are the room of those that have it */
    size_t nrange, crange;
    uint32_t *range_of; /* of each of nval values: what it lies in, or UINT32_MAX */
    size_t nval;
    size_t most, at; /* the most bytes alive, and the first step at which they are */
    size_t top;      /* end of the furthest byte used: the plan's `bytes` */
} tn_i_live;

static inline size_t tn_i_live_bytes(const tn_i_live_step *s) { return s->values + s->scratch + s->padding; }

/* The profile of a plan of p->f, nested plans entering as their peak.  most <= top = p->bytes; the
 * difference is what packing loses: holes between blocks, and scalars (8 bytes each here) that do not
 * fill the 64 bytes they share.  False after TN_ENOMEM.  Cost: linear in the program. */
bool tn_i_live_of(const tn_i_plan *p, tn_i_live *out);
void tn_i_live_free(tn_i_live *l);

/* The first equation of the backward part of g = vjp(f), where f has `outputs` outputs and g's last
 * `cotangents` inputs are cotangents: the forward part ends with the last equation that an output of f
 * needs and the known equations (neither recomputation nor dependent on a cotangent) that follow it,
 * which make residuals.  g's number of equations when there is no backward part.  False after TN_ENOMEM. */
bool tn_i_backward_begins(const tn_fn *g, uint32_t outputs, uint32_t cotangents, uint32_t *eqn);

#endif
