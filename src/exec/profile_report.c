/* What is in a profile: tn_profile_steps, tn_profile_total.  Times were noted; work is counted here, by the sizes of
 * what ran and how often it did. */
#include "exec/exec.h"
#include "run/profile.h"
#include "exec/steps_report.h"

#include <string.h>

typedef struct report {
    const tn_profile *q;
    tn_profile_fn fn;
    void *user;
    tn_profile_work *work; /* of each entry */
} report;

/* ---- work -------------------------------------------------------------------------------------- */

static void add(tn_profile_work *to, const tn_profile_work *k, double times) {
    to->flops += times * k->flops;
    to->transcendentals += times * k->transcendentals;
    to->products += times * k->products;
    to->bytes += times * k->bytes;
}

static bool equation_work(const tn_fn *f, const tn_i_eqn *e, tn_profile_work *out) {
    tn_i_cost k;
    if (!tn_i_eqn_cost(f, e, &k)) return false;
    *out = (tn_profile_work){
        .flops = k.flops, .transcendentals = k.transcendentals, .products = k.products, .bytes = k.bytes};
    return true;
}

/* What the loops compute of f, and each element of each array once. */
static bool nest_work(const tn_fn *f, const tn_i_nest *n, double part, tn_profile_work *out) {
    double all = 0;
    for (uint32_t i = 0; i < n->nop; i++) {
        tn_profile_work one;
        const tn_i_eqn *e = n->op[i].kind == TN_NEST_MAP || n->op[i].kind == TN_NEST_REDUCE ? n->op[i].eqn : NULL;
        if (!e) continue;
        if (!equation_work(f, e, &one)) return false;
        add(out, &one, part);
    }
    for (uint32_t k = 0; k < n->narray; k++) {
        double bytes = (double)tn_i_dtype_size(n->array[k].dtype);
        for (uint32_t d = 0; d < n->nloop; d++) bytes *= n->array[k].stride[d] ? (double)n->size[d] : 1;
        all += bytes;
    }
    out->bytes = all;
    return true;
}

static bool has_programs(const tn_i_plan *p, const tn_i_step *s) { return tn_i_step_programs(p, s) > 0; }

/* Of one run, without that of programs whose steps are in the profile. */
static bool step_work(const tn_profile *q, const tn_i_plan *p, const tn_i_step *s, uint32_t entry,
                      tn_profile_work *out) {
    *out = (tn_profile_work){.flops = 0};
    if (s->kind == TN_STEP_RELEASE || (has_programs(p, s) && q->entry[entry].child != TN_NOVAR)) return true;
    if (s->kind == TN_STEP_SPILL || s->kind == TN_STEP_FETCH) {
        out->bytes = (double)p->transfer[s->loop].bytes;
        return true;
    }
    if (s->kind == TN_STEP_MOVE) { /* of a stack: its handle */
        const tn_i_move *m = &p->move[s->loop];
        out->bytes = m->stack ? 0 : 2 * (double)tn_type_bytes(p->f->val[m->v].type);
        return true;
    }
    const tn_i_eqn *e = &p->f->eqn[s->eqn];
    if (s->kind == TN_STEP_NEST) return nest_work(tn_i_body(e), s->u.nest, tn_i_step_part(p, s), out);
    return equation_work(p->f, e, out);
}

/* Programs stand behind the steps that run them. */
static bool count_work(const report *r) {
    const tn_profile *q = r->q;
    for (size_t k = q->nnode; k-- > 0;) {
        const tn_i_profile_node *node = &q->node[k];
        for (size_t i = 0; node->plan && i < node->plan->nstep; i++) {
            const tn_i_step *s = &node->plan->step[i];
            const uint32_t entry = node->entry + (uint32_t)i, child = q->entry[entry].child;
            tn_profile_work one;
            if (!step_work(q, node->plan, s, entry, &one)) return false;
            add(&r->work[entry], &one, (double)q->entry[entry].calls);
            for (uint32_t c = 0; child != TN_NOVAR && c < tn_i_step_programs(node->plan, s); c++) {
                const tn_i_profile_node *inside = &q->node[child + c];
                for (size_t j = 0; inside->plan && j < inside->plan->nstep; j++)
                    add(&r->work[entry], &r->work[inside->entry + j], 1);
            }
        }
    }
    return true;
}

static bool begin(report *r) {
    r->work = tn_i_alloc_array(r->q->exec->ctx, r->q->nentry + 1, sizeof *r->work);
    return r->work && count_work(r);
}

static tn_status end(const report *r, bool ok) {
    tn_ctx *c = r->q->exec->ctx;
    tn_i_free(c, r->work, (r->q->nentry + 1) * sizeof *r->work);
    return ok ? TN_OK : tn_last_status(c);
}

/* ---- telling ----------------------------------------------------------------------------------------- */

static tn_profile_replay replay_of(const tn_profile *q, const tn_i_profile_entry *e) {
    if (e->replay == TN_NOVAR) return (tn_profile_replay){.advances = 0};
    const tn_i_replayed *k = &q->replay[e->replay];
    return (tn_profile_replay){.advances = (int64_t)k->count[TN_I_ADVANCED],
                               .recorded = (int64_t)k->count[TN_I_RECORDED],
                               .saved = (int64_t)k->count[TN_I_SAVED],
                               .loaded = (int64_t)k->count[TN_I_LOADED],
                               .disk_writes = (int64_t)k->count[TN_I_TO_DISK],
                               .disk_reads = (int64_t)k->count[TN_I_FROM_DISK],
                               .snapshots = k->slots,
                               .disk_snapshots = k->disk_slots};
}

static void tell_step(const report *r, const tn_i_profile_node *node, size_t i) {
    const tn_i_plan *p = node->plan;
    const tn_i_step *s = &p->step[i];
    const tn_i_profile_entry *k = &r->q->entry[node->entry + i];
    const tn_i_eqn *e = tn_i_step_eqn(p, s);
    const tn_i_loc *loc = e ? e->loc : NULL;
    const tn_profile_step told = {.size = sizeof told,
                                  .kind = tn_i_step_kind_of(p, s),
                                  .primitive = e ? e->prim->name : "",
                                  .file = loc && loc->file ? loc->file : "",
                                  .line = loc ? (int)loc->line : 0,
                                  .depth = (int)node->depth,
                                  .runner = tn_i_step_runner(p, s),
                                  .operations = s->kind == TN_STEP_NEST ? s->u.nest->nop : 1,
                                  .calls = (int64_t)k->calls,
                                  .ns = (double)k->ns,
                                  .own_ns = (double)(k->ns - k->within),
                                  .work = r->work[node->entry + i],
                                  .replay = replay_of(r->q, k)};
    r->fn(r->user, &told);
}

static void tell(const report *r, const tn_i_profile_node *node) {
    for (size_t i = 0; node->plan && i < node->plan->nstep; i++) {
        const tn_i_step *s = &node->plan->step[i];
        const uint32_t child = r->q->entry[node->entry + i].child;
        if (s->kind == TN_STEP_RELEASE) continue;
        tell_step(r, node, i);
        for (uint32_t c = 0; child != TN_NOVAR && c < tn_i_step_programs(node->plan, s); c++)
            tell(r, &r->q->node[child + c]);
    }
}

tn_status tn_profile_steps(const tn_profile *q, tn_profile_fn fn, void *user) {
    if (!q) return TN_EINVAL;
    if (!fn) return tn_i_fail(q->exec->ctx, TN_EINVAL, NULL, "tn_profile_steps: no function to tell");
    report r = {.q = q, .fn = fn, .user = user};
    const bool ok = begin(&r);
    if (ok) tell(&r, &q->node[0]);
    return end(&r, ok);
}

/* ---- totals --------------------------------------------------------------------------------------------- */

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void add_replay(tn_profile_replay *to, tn_profile_replay k) {
    to->advances += k.advances;
    to->recorded += k.recorded;
    to->saved += k.saved;
    to->loaded += k.loaded;
    to->disk_writes += k.disk_writes;
    to->disk_reads += k.disk_reads;
    to->snapshots = larger(to->snapshots, k.snapshots);
    to->disk_snapshots = larger(to->disk_snapshots, k.disk_snapshots);
}

tn_status tn_profile_total(const tn_profile *q, tn_profile_totals *out) {
    if (!q) return TN_EINVAL;
    if (!out || out->size < sizeof out->size)
        return tn_i_fail(q->exec->ctx, TN_EINVAL, NULL,
                         "tn_profile_total: the totals are NULL or their size is not set");
    report r = {.q = q};
    const bool ok = begin(&r);
    uint64_t within = 0;
    tn_profile_totals all = {.size = out->size, .calls = (int64_t)q->calls, .ns = (double)q->ns};
    for (size_t i = 0; ok && q->node[0].plan && i < q->node[0].plan->nstep; i++) {
        within += q->entry[i].ns;
        add(&all.work, &r.work[i], 1);
    }
    for (size_t i = 0; i < q->nentry; i++) add_replay(&all.replay, replay_of(q, &q->entry[i]));
    all.own_ns = (double)q->ns - (double)within;
    if (ok) memcpy(out, &all, all.size < sizeof all ? all.size : sizeof all);
    return end(&r, ok);
}
