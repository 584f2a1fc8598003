#include "checkpoint/policies.h"

#include "prims/prim.h"

#include <string.h>

static bool everything_saveable(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    (void)how;
    memset(save, 1, q->f->nval);
    return true;
}

static bool nothing_saveable(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    (void)how;
    memset(save, 0, q->f->nval);
    return true;
}

/* The user's verdict on each known value that an equation makes. */
static bool by_callback(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    const tn_fn *f = q->f;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t j = 0; j < e->nout; j++) {
            if (!q->known[e->out + j]) continue;
            const tn_candidate v = {.size = sizeof v,
                                    .primitive = e->prim->name,
                                    .file = e->loc ? e->loc->file : "",
                                    .line = e->loc ? (int)e->loc->line : 0,
                                    .scope = e->loc ? e->loc->scope : "",
                                    .type = *f->val[e->out + j].type};
            save[e->out + j] = how->callback(how->user, &v) == TN_SAVE;
        }
    }
    return true;
}

/* One row a named policy. */
static const struct {
    tn_policy policy;
    bool (*plan)(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save);
} policies[] = {
    {{.size = sizeof(tn_policy), .name = "everything_saveable"}, everything_saveable},
    {{.size = sizeof(tn_policy), .name = "nothing_saveable"}, nothing_saveable},
};

const tn_policy *tn_policy_by_name(const char *name) {
    for (size_t i = 0; name && i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i].policy.name, name) == 0) return &policies[i].policy;
    return NULL;
}

bool tn_i_plan_of(tn_ctx *c, const tn_policy *policy, tn_i_plan_by *out) {
    tn_policy p = {.size = sizeof p, .name = policies[0].policy.name};
    if (policy) {
        memset(&p, 0, sizeof p);
        memcpy(&p, policy, policy->size < sizeof p ? policy->size : sizeof p);
    }
    if (p.callback) {
        *out = (tn_i_plan_by){.name = "callback", .plan = by_callback, .callback = p.callback, .user = p.user};
        return true;
    }
    for (size_t i = 0; p.name && i < sizeof policies / sizeof *policies; i++)
        if (strcmp(policies[i].policy.name, p.name) == 0) {
            *out = (tn_i_plan_by){.name = p.name, .plan = policies[i].plan};
            return true;
        }
    (void)tn_i_fail(c, TN_EINVAL, NULL, "there is no policy named '%s'", p.name ? p.name : "(null)");
    return false;
}
