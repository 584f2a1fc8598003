/* The distinct programs met during a walk, numbered in the order they were met: what keeps work over
 * shared nested programs linear in their number, where the paths to them are exponentially many. */
#ifndef TN_SEEN_H
#define TN_SEEN_H

#include "ir/ir.h"

typedef struct tn_i_seen {
    tn_ctx *ctx;
    const tn_fn **fn; /* n of them */
    size_t n, capacity;
    uint32_t *slot; /* number + 1 */
    size_t slots;
} tn_i_seen;

void tn_i_seen_init(tn_i_seen *s, tn_ctx *c);
void tn_i_seen_free(tn_i_seen *s);
/* The number of f in *number, and whether it is new; false after TN_ENOMEM. */
bool tn_i_seen_add(tn_i_seen *s, const tn_fn *f, uint32_t *number, bool *fresh);
/* Whether `is` holds of an equation of f or of a program that it runs, in *found; false after TN_ENOMEM. */
bool tn_i_any_equation(const tn_fn *f, bool (*is)(const tn_i_eqn *e), bool *found);

#endif
