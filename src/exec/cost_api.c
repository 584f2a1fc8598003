/* tn_cost: what a run of a program costs, before anything runs. */
#include "exec/plan.h"

#include <string.h>

tn_status tn_cost(const tn_fn *f, tn_cost_report *out) {
    tn_i_cost k;
    size_t bytes;
    if (!f) return TN_EINVAL;
    if (!out || out->size < sizeof out->size)
        return tn_i_fail(f->ctx, TN_EINVAL, NULL, "tn_cost: the report is NULL or its size is not set");
    if (!tn_i_fn_cost(f, &k) || !tn_i_plan_bytes(f, &bytes)) return f->ctx->status;
    tn_cost_report r = {.size = out->size,
                        .equations = k.equations,
                        .flops = k.flops,
                        .transcendentals = k.transcendentals,
                        .products = k.products,
                        .bytes = k.bytes,
                        .peak_bytes = (double)bytes};
    memcpy(out, &r, r.size < sizeof r ? r.size : sizeof r);
    return TN_OK;
}
