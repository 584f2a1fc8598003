/* requires: any program; ensures: the same results, bit for bit but where it had products to be contracted, in the form
 * that is planned. */
#include "control/either.h"
#include "control/replay.h"
#include "exec/plan.h"

tn_fn *tn_i_prepared(const tn_fn *f) {
    tn_fn *once = tn_i_contracted(f), *g = once ? tn_i_settle(once) : NULL, *h = g ? tn_i_localize(g) : NULL;
    tn_i_fn_unref(once);
    tn_i_fn_unref(g);
    return h;
}
