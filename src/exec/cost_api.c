/* tn_cost: what a run of a program costs, before anything runs. */
#include "control/either.h"
#include "plan/plan.h"

#include <string.h>

tn_status tn_cost(const tn_fn *f, tn_cost_report *out) {
    tn_i_cost k;
    if (!tn_i_living(f)) return TN_EINVAL;
    if (!out || out->size < sizeof out->size)
        return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_cost: the report is NULL or its size is not set");
    tn_fn *own = tn_i_settle(f), *g = own && tn_i_fn_cost(own, &k) ? tn_i_prepared(own) : NULL;
    tn_i_fn_unref(own);
    tn_i_plan *p = g ? tn_i_plan_new(g, NULL) : NULL;
    if (!p) {
        tn_i_fn_unref(g);
        return f->ctx->status;
    }
    tn_cost_report r = {.size = out->size,
                        .equations = k.equations,
                        .flops = k.flops,
                        .transcendentals = k.transcendentals,
                        .products = k.products,
                        .bytes = k.bytes,
                        .peak_bytes = (double)p->bytes,
                        .spill_bytes = (double)p->spill};
    tn_i_plan_free(f->ctx, p);
    tn_i_fn_unref(g);
    memcpy(out, &r, r.size < sizeof r ? r.size : sizeof r);
    return TN_OK;
}
