#include "checkpoint/trials.h"

#include <string.h>

/* Trial k is of policy[k], and of nloop schedules from schedule[k * nloop] on. */
struct tn_i_trials {
    tn_ctx *ctx;
    uint32_t *wrt, nwrt;
    size_t nloop, n, ctrial, cpolicy, cschedule;
    tn_i_trial *trial;
    const char **policy, **schedule;
};

static void drop(void *data) {
    tn_i_trials *m = data;
    tn_i_free(m->ctx, m->wrt, m->nwrt * sizeof *m->wrt);
    tn_i_free(m->ctx, m->trial, m->ctrial * sizeof *m->trial);
    tn_i_free(m->ctx, (void *)m->policy, m->cpolicy * sizeof *m->policy);
    tn_i_free(m->ctx, (void *)m->schedule, m->cschedule * sizeof *m->schedule);
    tn_i_free(m->ctx, m, sizeof *m);
}

static bool is_of(const tn_i_trials *m, uint32_t nwrt, const uint32_t *wrt, size_t nloop) {
    return m && m->nloop == nloop && m->nwrt == nwrt && (!nwrt || memcmp(m->wrt, wrt, nwrt * sizeof *wrt) == 0);
}

void tn_i_trials_forget(const tn_fn *f) {
    tn_i_note *note = (tn_i_note *)(uintptr_t)&f->note;
    if (note->data) note->drop(note->data);
    *note = (tn_i_note){.data = NULL};
}

tn_i_trials *tn_i_trials_of(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, size_t nloop) {
    tn_i_note *note = (tn_i_note *)(uintptr_t)&f->note;
    if (is_of(note->data, nwrt, wrt, nloop)) return note->data;
    tn_i_trials *m = tn_i_alloc(f->ctx, sizeof *m);
    uint32_t *copy = m ? tn_i_alloc_array(f->ctx, nwrt, sizeof *copy) : NULL;
    if (!copy) {
        if (m) tn_i_free(f->ctx, m, sizeof *m);
        return NULL;
    }
    if (nwrt) memcpy(copy, wrt, nwrt * sizeof *copy);
    *m = (tn_i_trials){.ctx = f->ctx, .wrt = copy, .nwrt = nwrt, .nloop = nloop};
    tn_i_trials_forget(f);
    *note = (tn_i_note){.data = m, .drop = drop};
    return m;
}

bool tn_i_trials_find(const tn_i_trials *m, const char *policy, const char *const *schedule, tn_i_trial *out) {
    for (size_t k = 0; k < m->n; k++) {
        size_t same = 0;
        while (same < m->nloop && m->schedule[k * m->nloop + same] == schedule[same]) same++;
        if (same < m->nloop || strcmp(m->policy[k], policy) != 0) continue;
        *out = m->trial[k];
        return true;
    }
    return false;
}

bool tn_i_trials_add(tn_i_trials *m, const char *policy, const char *const *schedule, const tn_i_trial *t) {
    const char *name = tn_i_string(m->ctx, policy, strlen(policy));
    if (!name || !tn_i_grow(m->ctx, (void **)&m->trial, &m->ctrial, m->n + 1, sizeof *m->trial) ||
        !tn_i_grow(m->ctx, (void **)&m->policy, &m->cpolicy, m->n + 1, sizeof *m->policy) ||
        !tn_i_grow(m->ctx, (void **)&m->schedule, &m->cschedule, (m->n + 1) * m->nloop, sizeof *m->schedule))
        return false;
    m->trial[m->n] = *t;
    m->policy[m->n] = name;
    memcpy((void *)(m->schedule + m->n++ * m->nloop), (const void *)schedule, m->nloop * sizeof *m->schedule);
    return true;
}
