/* The grid of ranks of a context, and sets of its axes.  A type names the set that its values vary over; sets are made
 * once, so that equal ones are one object, which also knows how it is written. */
#ifndef TN_AXES_H
#define TN_AXES_H

#include "base/base.h"

#define TN_MAX_AXES 8

struct tn_axes {
    tn_ctx *ctx;
    uint32_t bits;    /* bit a: axis a of the grid; not 0 */
    const char *text; /* "w", "(r,c)" */
};

static inline uint32_t tn_i_axes_bits(const tn_axes *a) { return a ? a->bits : 0; }
/* The axes that a value of type t varies over. */
static inline uint32_t tn_i_over(const tn_type *t) { return tn_i_axes_bits(t->varying); }

/* The set in *a, NULL for none; false after TN_ENOMEM.  Bits are of the grid's axes. */
bool tn_i_axes_of(tn_ctx *c, uint32_t bits, const tn_axes **a);
/* The text of the set: "" for none. */
const char *tn_i_axes_text(tn_ctx *c, uint32_t bits);
/* Ranks along them. */
int64_t tn_i_ranks(const tn_ctx *c, uint32_t bits);
/* Axis of a name of n characters, or -1. */
int tn_i_axis(const tn_ctx *c, const char *name, size_t n);
/* The axes of "w" or "r,c" (or "(r,c)") in *bits; false after TN_EINVAL with `who` in front. */
bool tn_i_axes_named(tn_ctx *c, const tn_i_loc *loc, const char *who, const char *names, uint32_t *bits);
/* Why it is no grid; NULL: it is one. */
const char *tn_i_grid_bad(const tn_grid *grid);
/* Gives the context the grid, which it had none of (or the same); false after an error. */
bool tn_i_grid_set(tn_ctx *c, const tn_i_loc *loc, const char *who, const tn_grid *grid);
/* Equal arrays that vary over the same axes. */
static inline bool tn_i_type_same(const tn_type *a, const tn_type *b) {
    return a->varying == b->varying && tn_type_equal(a, b);
}

#endif
