/* Plans that a budget tries: every path of decisions, or prices on bytes. */
#ifndef TN_CANDIDATES_H
#define TN_CANDIDATES_H

#include "checkpoint/budget.h"

/* ---- paths.c: every save set of a small program ------------------------------------------- */

/* One decision for each value that the linear program asks for: 0 recompute, 1 save. */
typedef struct tn_i_path {
    uint8_t decision[TN_I_EXACT_VALUES];
    uint32_t n, at;
    bool deep; /* there are more */
} tn_i_path;

/* how->user: a tn_i_path, followed and, where it ends, continued with 0. */
bool tn_i_plan_path(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);
/* The next path; false after the last.  From the empty path on, they are all paths there are. */
bool tn_i_path_next(tn_i_path *p);

/* ---- lagrangian.c: bytes at a price -------------------------------------------------------------- */

/* The least of what is done again plus lambda times the bytes saved; then, of what that does again,
 * some is saved after all: the dearest by the byte, or every so manyth. */
typedef struct tn_i_multiplier {
    double lambda; /* ns per byte */
    uint32_t part; /* 0: nothing more; else one of `part` is saved */
    bool evenly;
    /* what comes out, summed over the boundaries */
    double again, bytes;
    /* Optional: also how much is done again, at the least, where of what `residents` tells of (budget.h) no more than
     * `budget` is saved. */
    bool (*residents)(const tn_fn *f, const uint8_t *known, uint8_t *resident);
    size_t budget;
    double bound;
} tn_i_multiplier;

/* No price per byte leaves anything saved that may be recomputed. */
#define TN_I_DEAREST 1e12
/* how->user: a tn_i_multiplier. */
bool tn_i_plan_multiplier(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);

#endif
