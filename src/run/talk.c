#include "run/talk.h"
#include "plan/speech.h"

#include "comm/collective.h"
#include "plan/loop.h"
#include "plan/replay.h"
#include "prims/ranks/collective_run.h"
#include "prims/ids.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- tables ------------------------------------------------------------------------- */

struct tn_i_table {
    const tn_comm_ops *ops;
    tn_i_table *next;
    uint32_t refs;
    atomic_bool busy;
};

static const char *why_bad(const tn_ctx *c, const tn_comm_ops *ops) {
    if (ops->size != sizeof *ops) return "its size is not set, or is another version's (.size = sizeof(tn_comm_ops))";
    if (!ops->start || !ops->wait || !ops->error) return "start, wait or error is NULL";
    if (ops->naxes != c->grid.naxes) return "it has another number of axes than the context's grid";
    if (ops->naxes && (!ops->name || !ops->extent || !ops->index)) return "names, extents or the rank's place are NULL";
    for (int a = 0; a < ops->naxes; a++) {
        if (!ops->name[a] || strcmp(ops->name[a], c->grid.name[a]) != 0)
            return "its axes have other names than those of the context's grid";
        if (ops->extent[a] != c->grid.extent[a]) return "its axes have other extents than those of the context's grid";
        if (ops->index[a] < 0 || ops->index[a] >= ops->extent[a]) return "the rank's place is outside of the grid";
    }
    return NULL;
}

bool tn_i_table_good(tn_ctx *c, const tn_comm_ops *ops, const char *who) {
    const char *bad = why_bad(c, ops);
    if (bad) (void)tn_i_fail(c, TN_EINVAL, NULL, "%s: the table of functions between ranks: %s", who, bad);
    return !bad;
}

tn_i_table *tn_i_table_of(tn_ctx *c, const tn_comm_ops *ops, const char *who) {
    if (!tn_i_table_good(c, ops, who)) return NULL;
    tn_i_table *t = c->tables;
    while (t && t->ops != ops) t = t->next;
    if (!t) {
        if (!(t = tn_i_alloc(c, sizeof *t))) return NULL;
        *t = (tn_i_table){.ops = ops, .next = c->tables};
        atomic_init(&t->busy, false);
        c->tables = t;
    }
    t->refs++;
    return t;
}

void tn_i_table_drop(tn_ctx *c, tn_i_table *t) {
    if (!t || --t->refs) return;
    tn_i_table **at = &c->tables;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    tn_i_free(c, t, sizeof *t);
}

const tn_comm_ops *tn_i_table_ops(const tn_i_table *t) { return t->ops; }
bool tn_i_table_enter(tn_i_table *t) { return !atomic_exchange_explicit(&t->busy, true, memory_order_acquire); }
void tn_i_table_leave(tn_i_table *t) { atomic_store_explicit(&t->busy, false, memory_order_release); }

/* ---- a call -------------------------------------------------------------------------- */

void tn_i_talk_begin(tn_i_talk *t, const tn_comm_ops *ops, bool drains) {
    *t = (tn_i_talk){.ops = ops, .all = (1u << ops->naxes) - 1};
    t->ranks = tn_i_comm_ranks(ops, t->all, &t->rank);
    t->drains = drains && t->ranks > 1;
}

void tn_i_talk_started(tn_i_talk *t, int64_t request) {
    if (request) t->pending[t->npending++] = (void *)(intptr_t)request;
}

void tn_i_talk_waited(tn_i_talk *t, int64_t request) {
    uint32_t i = 0;
    while (i < t->npending && t->pending[i] != (void *)(intptr_t)request) i++;
    if (i < t->npending) t->pending[i] = t->pending[--t->npending];
}

/* A rank that fails reads nothing of what it has started, but nobody may write to its memory any more. */
static tn_status wait_for_all(tn_i_talk *t) {
    int status = TN_OK;
    while (t->npending && !t->broken) {
        status = t->ops->wait(t->ops->user, t->pending[--t->npending]);
        if (status == TN_OK) continue;
        t->broken = true;
        if (t->message) (void)snprintf(t->message, t->size, "between ranks: %s", t->ops->error(t->ops->user));
    }
    return (tn_status)status;
}

tn_status tn_i_talk_failed(tn_i_talk *t, tn_status status) {
    if (!t->drains || t->broken) return status;
    if (t->status == TN_OK) t->status = status;
    t->failed = true;
    return wait_for_all(t);
}

tn_status tn_i_say(tn_i_talk *t, const tn_collective *x, const void *in, void *out) {
    void *request = NULL;
    int status = t->ops->start(t->ops->user, x, in, out, &request);
    if (status == TN_OK && request) status = t->ops->wait(t->ops->user, request);
    if (status == TN_OK) return TN_OK;
    t->broken = true;
    if (t->message) (void)snprintf(t->message, t->size, "between ranks: %s", t->ops->error(t->ops->user));
    return (tn_status)status;
}

static tn_status join(tn_i_talk *t, uint32_t axes, int op, int64_t v, int64_t *all) {
    const tn_collective x = {
        .size = sizeof x, .kind = TN_COMM_ALLREDUCE, .op = op, .dtype = TN_I64, .count = 1, .axes = axes};
    *all = v;
    return tn_i_comm_ranks(t->ops, axes, NULL) == 1 ? TN_OK : tn_i_say(t, &x, &v, all);
}

tn_status tn_i_agree(tn_i_talk *t, uint32_t axes, int64_t *v, bool *none) {
    int64_t all;
    const tn_status status = join(t, axes, TN_COMM_MIN, t->failed ? INT64_MIN : *v, &all);
    *none = all == INT64_MIN;
    if (*none) t->failed = true;
    *v = *none ? 0 : all;
    return status;
}

/* What the rank says that failed, on all of them; one that has not failed has nothing in its message yet. */
static tn_status tell(tn_i_talk *t, tn_status status, int64_t rank) {
    char text[TN_I_TALK_TEXT], said[TN_I_TALK_TEXT];
    const tn_collective x = {.size = sizeof x,
                             .kind = TN_COMM_BCAST,
                             .dtype = TN_I32,
                             .count = TN_I_TALK_TEXT / 4,
                             .axes = t->all,
                             .root = (int)rank};
    memset(text, 0, sizeof text);
    if (rank == t->rank) (void)snprintf(text, sizeof text, "%s", t->message);
    const tn_status sent = tn_i_say(t, &x, text, said);
    if (sent != TN_OK) return sent;
    said[sizeof said - 1] = 0;
    (void)snprintf(t->message, t->size, "rank %lld: %s", (long long)rank, said[0] ? said : tn_status_text(status));
    return status;
}

/* Of several that failed the one with the greatest status speaks, of these the first. */
tn_status tn_i_talk_end(tn_i_talk *t, tn_status status) {
    if (!t->drains || t->broken) return status;
    if (status == TN_OK) status = t->status;
    int64_t all;
    const int64_t own = status == TN_OK ? 0 : (int64_t)status << 32 | (INT32_MAX - t->rank);
    const tn_status joined = join(t, t->all, TN_COMM_MAX, own, &all);
    if (joined != TN_OK || all == 0) return joined;
    return tell(t, (tn_status)(all >> 32), INT32_MAX - (all & INT32_MAX));
}

static size_t padded(size_t n) { return (n + 63) & ~(size_t)63; }

/* ---- collectives of a plan ----------------------------------------------------------------- */

void tn_i_collective_of(const tn_i_plan *p, const tn_i_step *s, tn_collective *x, int32_t *room) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    const tn_i_param *v = tn_i_p(e);
    const int64_t ranks = tn_i_ranks(p->f->ctx, (uint32_t)v[TN_I_COLLECTIVE_AXES].u.i);
    tn_i_collective_read(v, ranks, e->nin ? p->f->val[tn_i_in(p->f, e)[0]].type : NULL, x);
    x->overlap = e->prim->id == TN_P_collective_start;
    for (size_t i = 0; i < 2 * x->npairs; i++) room[i] = (int32_t)v[TN_I_COLLECTIVE_PAIRS].u.ints[i];
    x->pairs = x->npairs ? room : NULL;
}

/* ---- of a rank that has failed -------------------------------------------------------------- */

static void fill(const tn_type *t, void *at) {
    const int64_t n = tn_i_count(t);
    memset(at, 0, tn_type_bytes(t));
    for (int64_t i = 0; t->dtype == TN_F64 && i < n; i++) ((double *)at)[i] = (double)NAN;
    for (int64_t i = 0; t->dtype == TN_F32 && i < n; i++) ((float *)at)[i] = NAN;
}

static tn_status drain_collective(tn_i_talk *t, const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    unsigned char *in = t->room + tn_i_pairs_bytes(e), *out = in;
    tn_collective x;
    tn_i_collective_of(p, s, &x, (int32_t *)(void *)t->room);
    if (e->nin) {
        const tn_type *type = p->f->val[tn_i_in(p->f, e)[0]].type;
        fill(type, in);
        out += padded(tn_type_bytes(type));
    }
    return tn_i_say(t, &x, e->nin ? in : NULL, e->nout ? out : NULL);
}

/* The others hear of the failure where they ask whether, or for how long, to go on. */
static tn_status drain_agreed(tn_i_talk *t, const tn_i_step *s) {
    int64_t v = 0;
    bool none;
    return tn_i_agree(t, s->axes, &v, &none);
}

tn_status tn_i_drain_steps(tn_i_talk *t, const tn_i_plan *body, int64_t n) {
    tn_status status = TN_OK;
    for (int64_t k = 0; k < n && body->axes && status == TN_OK; k++) status = tn_i_drain(t, body, 0);
    return status;
}

tn_status tn_i_drain_step(tn_i_talk *t, const tn_i_plan *p, const tn_i_step *s) {
    if (tn_i_step_is_wait(p, s)) return TN_OK; /* for what has started before it failed it has waited */
    if (s->kind == TN_STEP_KERNEL) return drain_collective(t, p, s);
    if (s->kind == TN_STEP_BODY) return tn_i_drain(t, s->u.body, 0);
    if (s->kind != TN_STEP_LOOP) return drain_agreed(t, s);
    const tn_i_loop *l = &p->loop[s->loop];
    if (!l->cond && l->shape.length != TN_I_STEPS) return tn_i_drain_steps(t, l->body, l->shape.length);
    const tn_status status = l->cond ? tn_i_drain(t, l->cond, 0) : TN_OK;
    return status == TN_OK ? drain_agreed(t, s) : status;
}

tn_status tn_i_drain(tn_i_talk *t, const tn_i_plan *p, size_t first) {
    tn_status status = TN_OK;
    for (size_t i = first; i < p->nstep && p->axes && status == TN_OK; i++)
        if (p->step[i].axes) status = tn_i_drain_step(t, p, &p->step[i]);
    return status;
}

/* ---- who needs a table ------------------------------------------------------------------- */

const tn_i_eqn *tn_i_first_speaking(const tn_fn *f) {
    const tn_i_eqn *found = NULL;
    for (uint32_t i = 0; (f->comm || f->varies) && i < f->neqn && !found; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (tn_i_is_collective(e) || e->prim->id == TN_P_rank_index) return e;
        for (uint32_t k = 0; e->params && k < e->params->n && !found; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n && !found; j++) found = tn_i_first_speaking(g[j]);
        }
    }
    return found;
}

const char *tn_i_speech(const tn_i_eqn *e) {
    return tn_i_is_collective(e) ? tn_i_collective_name((int)tn_i_p(e)[TN_I_COLLECTIVE_KIND].u.i) : e->prim->name;
}
