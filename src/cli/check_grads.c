/* check-grads: a program's derivatives at a point, against finite differences. */
#include "cli/run.h"

#include <limits.h>

static int check(const tn_i_cli *o, const tn_i_cli_rank *r) {
    const tn_wrt_list list = {o->nwrt, o->wrt};
    const tn_check_options options = {.size = sizeof options,
                                      .tolerance = o->tolerance,
                                      .directions = o->directions < INT_MAX ? (int)o->directions : INT_MAX,
                                      .seed = (uint64_t)o->seed,
                                      .order = (int)o->order,
                                      .spill_dir = o->spill_dir};
    if (tn_check_grads(r->f, (const void *const *)r->in, o->wrt ? &list : NULL, &options) != TN_OK)
        return tn_i_cli_bad(o, tn_fn_ctx(r->f));
    (void)printf("%s: ok\n", tn_i_cli_shown(o));
    return TN_CLI_OK;
}

int tn_i_cli_check_grads(const tn_i_cli *o, tn_fn *f) {
    tn_i_cli_rank r = {.o = o, .number = -1, .f = f};
    if (o->order > 2) return tn_i_cli_usage("--order of check-grads is 1 or 2, not %lld", (long long)o->order);
    if (tn_i_cli_arguments(o, f) != TN_CLI_OK) return TN_CLI_USAGE;
    if (tn_i_cli_alone(o, f) != TN_CLI_OK) return TN_CLI_BAD;
    const int status = tn_i_cli_prepare(&r) ? check(o, &r) : TN_CLI_BAD;
    tn_i_cli_release(&r);
    return status;
}
