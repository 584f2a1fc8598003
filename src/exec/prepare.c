/* requires: any program; ensures: the same results, bit for bit, in the form that is planned. */
#include "control/either.h"
#include "control/replay.h"
#include "exec/plan.h"

tn_fn *tn_i_prepared(const tn_fn *f) {
    tn_fn *g = tn_i_settle(f), *h = g ? tn_i_localize(g) : NULL;
    tn_i_fn_unref(g);
    return h;
}
