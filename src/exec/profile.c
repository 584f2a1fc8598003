/* What the steps of calls take: tn_profile_new, and what is noted while a call runs. */
#include "run/profile.h"
#include "exec/exec.h"
#include "exec/steps_report.h"

#include <string.h>
#include <time.h>

/* ---- the tree ----------------------------------------------------------------------------------- */

/* A node for p, with an entry for each of its steps; false after an error. */
static bool add_node(tn_profile *q, const tn_i_plan *p, uint32_t depth) {
    tn_ctx *c = q->exec->ctx;
    const size_t n = p ? p->nstep : 0;
    if (!tn_i_grow(c, (void **)(void *)&q->node, &q->cnode, q->nnode + 1, sizeof *q->node) ||
        !tn_i_grow(c, (void **)(void *)&q->entry, &q->centry, q->nentry + n, sizeof *q->entry))
        return false;
    q->node[q->nnode++] = (tn_i_profile_node){.plan = p, .entry = (uint32_t)q->nentry, .depth = depth};
    for (size_t i = 0; i < n; i++) q->entry[q->nentry++] = (tn_i_profile_entry){.child = TN_NOVAR, .replay = TN_NOVAR};
    if (depth >= q->room) q->room = (size_t)depth + 1;
    return true;
}

/* Whether there are entries left for all that a step runs. */
static bool fits(const tn_profile *q, const tn_i_plan *p, const tn_i_step *s, uint32_t n) {
    size_t all = q->nentry;
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_plan *inside = tn_i_step_program(p, s, k);
        if (q->nnode + n > TN_PROFILE_ENTRIES || (inside && inside->nstep > TN_PROFILE_ENTRIES - all)) return false;
        all += inside ? inside->nstep : 0;
    }
    return n > 0;
}

static bool add_inside(tn_profile *q, const tn_i_plan *p, size_t step, uint32_t entry, uint32_t depth) {
    const tn_i_step *s = &p->step[step];
    const uint32_t n = tn_i_step_programs(p, s);
    if (s->kind == TN_STEP_GROUP) {
        if (!tn_i_grow(q->exec->ctx, (void **)(void *)&q->replay, &q->creplay, q->nreplay + 1, sizeof *q->replay))
            return false;
        q->replay[q->nreplay] = (tn_i_replayed){.slots = 0};
        q->entry[entry].replay = (uint32_t)q->nreplay++;
    }
    if (!fits(q, p, s, n)) return true;
    q->entry[entry].child = (uint32_t)q->nnode;
    for (uint32_t k = 0; k < n; k++)
        if (!add_node(q, tn_i_step_program(p, s, k), depth + 1)) return false;
    return true;
}

/* Level by level, so that the deepest programs are left out. */
static bool lay_out(tn_profile *q) {
    if (q->exec->plan->nstep < TN_PROFILE_ENTRIES / 2 ? !add_node(q, q->exec->plan, 0) : !add_node(q, NULL, 0))
        return false;
    for (size_t k = 0; k < q->nnode; k++) {
        const tn_i_profile_node node = q->node[k];
        for (size_t i = 0; node.plan && i < node.plan->nstep; i++)
            if (!add_inside(q, node.plan, i, node.entry + (uint32_t)i, node.depth)) return false;
    }
    q->open = tn_i_alloc_array(q->exec->ctx, q->room, sizeof *q->open);
    return q->open != NULL;
}

static void drop(tn_profile *q) {
    tn_ctx *c = q->exec->ctx;
    tn_i_free(c, q->node, q->cnode * sizeof *q->node);
    tn_i_free(c, q->entry, q->centry * sizeof *q->entry);
    tn_i_free(c, q->replay, q->creplay * sizeof *q->replay);
    if (q->open) tn_i_free(c, q->open, q->room * sizeof *q->open);
    tn_i_free(c, q, sizeof *q);
}

void tn_i_profiles_drop(tn_profile *all) {
    while (all) {
        tn_profile *q = all;
        all = q->next;
        drop(q);
    }
}

tn_profile *tn_profile_new(const tn_exec *e) {
    if (!e) return NULL;
    tn_profile *q = tn_i_alloc(e->ctx, sizeof *q);
    if (!q) return NULL;
    q->exec = e;
    atomic_init(&q->busy, false);
    if (!lay_out(q)) {
        drop(q);
        return NULL;
    }
    tn_exec *holds = (tn_exec *)(uintptr_t)e;
    q->next = holds->profiles;
    if (q->next) q->next->prev = q;
    holds->profiles = q;
    holds->refs++;
    return q;
}

void tn_profile_free(tn_profile *q) {
    if (!q) return;
    tn_exec *e = (tn_exec *)(uintptr_t)q->exec;
    for (tn_work *w = e->works; w; w = w->next)
        if (w->profile == q) w->profile = NULL;
    if (e->profile == q) e->profile = NULL;
    if (q->prev)
        q->prev->next = q->next;
    else
        e->profiles = q->next;
    if (q->next) q->next->prev = q->prev;
    drop(q);
    tn_i_exec_unref(e);
}

void tn_profile_reset(tn_profile *q) {
    if (!q) return;
    for (size_t i = 0; i < q->nentry; i++) q->entry[i].calls = q->entry[i].ns = q->entry[i].within = 0;
    if (q->nreplay) memset(q->replay, 0, q->nreplay * sizeof *q->replay);
    q->calls = q->ns = 0;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Trees of one executable are the same. */
tn_status tn_profile_add(tn_profile *to, const tn_profile *from) {
    if (!to || !from) return TN_EINVAL;
    if (to->exec != from->exec || to == from)
        return tn_i_fail(to->exec->ctx, TN_EINVAL, NULL, "tn_profile_add: %s",
                         to == from ? "a profile is added to itself" : "the profiles are of different executables");
    for (size_t i = 0; i < to->nentry; i++) {
        to->entry[i].calls += from->entry[i].calls;
        to->entry[i].ns += from->entry[i].ns;
        to->entry[i].within += from->entry[i].within;
    }
    for (size_t i = 0; i < to->nreplay; i++) {
        for (int a = 0; a < TN_I_REPLAY_ACTS; a++) to->replay[i].count[a] += from->replay[i].count[a];
        to->replay[i].slots = larger(to->replay[i].slots, from->replay[i].slots);
        to->replay[i].disk_slots = larger(to->replay[i].disk_slots, from->replay[i].disk_slots);
    }
    to->calls += from->calls;
    to->ns += from->ns;
    return TN_OK;
}

/* ---- while a call runs ------------------------------------------------------------------------------ */

static uint64_t now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

bool tn_i_profile_begin(tn_profile *q) {
    if (atomic_exchange_explicit(&q->busy, true, memory_order_acquire)) return false;
    q->depth = q->beyond = 0;
    q->since = now();
    return true;
}

void tn_i_profile_end(tn_profile *q) {
    q->ns += now() - q->since;
    q->calls++;
    atomic_store_explicit(&q->busy, false, memory_order_release);
}

/* The node of p where it is run from now, or TN_NOVAR. */
static uint32_t node_of(const tn_profile *q, const tn_i_plan *p) {
    if (q->depth == 0) return q->node[0].plan == p ? 0 : TN_NOVAR;
    const tn_i_profile_open *o = &q->open[q->depth - 1];
    const tn_i_profile_node *node = &q->node[o->node];
    const uint32_t child = q->entry[o->entry].child;
    const uint32_t n = tn_i_step_programs(node->plan, &node->plan->step[o->entry - node->entry]);
    for (uint32_t k = 0; child != TN_NOVAR && k < n; k++)
        if (q->node[child + k].plan == p) return child + k;
    return TN_NOVAR;
}

void tn_i_profile_enter(const tn_i_plan *p, const tn_i_run *r, size_t step) {
    tn_profile *q = r->profile;
    if (!q) return;
    const uint32_t node = q->beyond ? TN_NOVAR : node_of(q, p);
    if (node == TN_NOVAR) {
        q->beyond++;
        return;
    }
    q->open[q->depth++] =
        (tn_i_profile_open){.node = node, .entry = q->node[node].entry + (uint32_t)step, .since = now()};
}

void tn_i_profile_leave(const tn_i_run *r) {
    tn_profile *q = r->profile;
    if (!q) return;
    if (q->beyond) {
        q->beyond--;
        return;
    }
    const tn_i_profile_open *o = &q->open[--q->depth];
    const uint64_t ns = now() - o->since;
    q->entry[o->entry].calls++;
    q->entry[o->entry].ns += ns;
    if (q->depth) q->entry[o[-1].entry].within += ns;
}

static const int64_t *add_steps(tn_profile *q, uint32_t node, const tn_i_plan *p, int64_t n, const int64_t *counter);

/* Programs of step s, the first one's node, as often as it says if the step has run n times.  Nodes that were left out
 * have counters, too. */
static const int64_t *add_programs(tn_profile *q, uint32_t node, const tn_i_plan *p, const tn_i_step *s, int64_t n,
                                   const int64_t *counter) {
    const tn_i_loop *l = s->kind == TN_STEP_LOOP ? &p->loop[s->loop] : NULL;
    const int64_t steps = !l ? 0 : l->cond ? *counter++ : n * l->shape.length;
    for (uint32_t k = 0; k < tn_i_step_programs(p, s); k++) {
        const tn_i_plan *inside = tn_i_step_program(p, s, k);
        const int64_t times = l ? steps + (inside == l->cond ? n : 0) : s->kind == TN_STEP_BRANCH ? *counter++ : n;
        if (inside) counter = add_steps(q, node == TN_NOVAR ? TN_NOVAR : node + k, inside, times, counter);
    }
    return counter;
}

static const int64_t *add_steps(tn_profile *q, uint32_t node, const tn_i_plan *p, int64_t n, const int64_t *counter) {
    for (size_t i = 0; i < p->nstep; i++) {
        tn_i_profile_entry *e = node == TN_NOVAR ? NULL : &q->entry[q->node[node].entry + i];
        if (e) e->calls += (uint64_t)n;
        counter = add_programs(q, e ? e->child : TN_NOVAR, p, &p->step[i], n, counter);
    }
    return counter;
}

const int64_t *tn_i_profile_steps(const tn_i_run *r, const tn_i_plan *p, int64_t n, const int64_t *counter) {
    tn_profile *q = r->profile;
    const uint32_t node = q && !q->beyond ? node_of(q, p) : TN_NOVAR;
    return node == TN_NOVAR ? counter : add_steps(q, node, p, n, counter);
}

void tn_i_profile_replay(tn_profile *q, tn_i_replay_act act, int64_t n, int64_t slot) {
    if (!q || q->beyond || q->depth == 0) return;
    const uint32_t replay = q->entry[q->open[q->depth - 1].entry].replay;
    if (replay == TN_NOVAR) return;
    tn_i_replayed *k = &q->replay[replay];
    k->count[act] += (uint64_t)n;
    if (act == TN_I_SAVED && slot >= k->slots) k->slots = slot + 1;
    if (act == TN_I_TO_DISK && slot >= k->disk_slots) k->disk_slots = slot + 1;
}

/* ---- workspaces -------------------------------------------------------------------------------------- */

/* NULL: e can have it. */
static const char *unfit(const tn_exec *e, const tn_profile *q) {
    if (q && q->exec != e) return "the profile belongs to another executable";
    return NULL;
}

static tn_status refuse(char *error, size_t size, const char *why) {
    const size_t n = strlen(why) < size ? strlen(why) : size - 1;
    memcpy(error, why, n);
    error[n] = 0;
    return TN_EINVAL;
}

tn_status tn_work_profile(tn_work *w, tn_profile *q) {
    if (!w) return TN_EINVAL;
    const char *why = unfit(w->exec, q);
    if (why) return refuse(w->error, sizeof w->error, why);
    w->profile = q;
    return TN_OK;
}

tn_status tn_exec_profile(tn_exec *e, tn_profile *q) {
    if (!e) return TN_EINVAL;
    const char *why = unfit(e, q);
    if (why) return e->own ? refuse(e->own->error, sizeof e->own->error, why) : refuse(e->error, sizeof e->error, why);
    e->profile = q;
    return TN_OK;
}
