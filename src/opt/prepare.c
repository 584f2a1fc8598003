/* requires: any program; ensures: the same results, bit for bit but where it had products to be contracted, in the form
 * that is planned. */
#include "control/either.h"
#include "control/loops/invariant.h"
#include "control/local.h"
#include "control/loops/replay.h"
#include "control/widen.h"
#include "opt/equations.h"

/* What a pass makes of f, which it takes over. */
static tn_fn *then(tn_fn *f, tn_fn *(*pass)(const tn_fn *f)) {
    tn_fn *g = f ? pass(f) : NULL;
    tn_i_fn_unref(f);
    return g;
}

static tn_fn *outside(const tn_fn *f) { return tn_i_invariants_outside(f, TN_I_TO_RUN); }

tn_fn *tn_i_prepared(const tn_fn *f) {
    tn_fn *g = then(then(then(tn_i_widened(f), tn_i_contracted), tn_i_expanded), tn_i_settle);
    return then(then(then(g, tn_i_localize), outside), tn_i_local);
}
