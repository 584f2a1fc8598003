/* One rank: collectives are copies, but for what would come from another rank. */
#include "comm/collective.h"

#include <stdio.h>
#include <string.h>

static bool from_nowhere(const tn_collective *x) {
    return (x->kind == TN_COMM_SHIFT && !x->wrap && x->by != 0) || (x->kind == TN_COMM_PERMUTE && !x->npairs) ||
           (x->kind == TN_COMM_SCAN && x->exclusive);
}

void tn_i_collective_alone(const tn_collective *x, const void *in, void *out) {
    if (x->kind == TN_COMM_BARRIER || x->count == 0) return;
    const size_t bytes = (size_t)x->count * tn_i_dtype_size(x->dtype);
    if (from_nowhere(x))
        memset(out, 0, bytes);
    else
        memcpy(out, in, bytes);
}

static int null_start(void *user, const tn_collective *x, const void *in, void *out, void **request) {
    tn_i_null_comm *n = user;
    *request = NULL;
    if (!tn_i_collective_good(&n->ops, x, in, out, n->why, sizeof n->why)) return TN_EINVAL;
    tn_i_collective_alone(x, in, out);
    return TN_OK;
}

static int null_wait(void *user, void *request) {
    tn_i_null_comm *n = user;
    (void)request;
    (void)snprintf(n->why, sizeof n->why, "among one rank nothing is waited for: there is no such request");
    return TN_EINVAL;
}

static const char *null_error(void *user) { return ((const tn_i_null_comm *)user)->why; }

const tn_comm_ops *tn_i_null_comm_init(tn_i_null_comm *n, const tn_ctx *c) {
    static const int64_t first[8];
    *n = (tn_i_null_comm){.ops = {.size = sizeof n->ops,
                                  .user = n,
                                  .naxes = c->grid.naxes,
                                  .name = c->grid.name,
                                  .extent = c->grid.extent,
                                  .index = first,
                                  .start = null_start,
                                  .wait = null_wait,
                                  .error = null_error}};
    return &n->ops;
}
