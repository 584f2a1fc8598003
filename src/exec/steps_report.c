/* What runs each step of an executable, and its share of the modelled time: tn_exec_steps. */
#include "checkpoint/cost_model.h"
#include "exec/exec.h"
#include "plan/planner.h"
#include "plan/replay.h"
#include "exec/steps_report.h"
#include "prims/ids.h"

#include <string.h>

typedef struct report {
    const tn_exec *e;
    tn_step_fn fn;
    void *user;
    uint8_t *seen; /* of each nested plan */
} report;

/* ---- what it is ------------------------------------------------------------------------------ */

const char *tn_i_step_kind_of(const tn_i_plan *p, const tn_i_step *s) {
    switch ((tn_i_step_kind)s->kind) {
    case TN_STEP_STRIP:
    case TN_STEP_NEST: return "loops";
    case TN_STEP_KERNEL: return p->f->eqn[s->eqn].prim->id == TN_P_dot_general ? "product" : "kernel";
    case TN_STEP_BODY: return "program";
    case TN_STEP_BRANCH: return "branches";
    case TN_STEP_LOOP: return "steps";
    case TN_STEP_GROUP: return "steps and stacks";
    case TN_STEP_MOVE: return "copy";
    case TN_STEP_SPILL:
    case TN_STEP_FETCH: return "spill file";
    case TN_STEP_RELEASE: break;
    }
    return "release";
}

const tn_i_eqn *tn_i_step_eqn(const tn_i_plan *p, const tn_i_step *s) {
    const bool equation = s->kind != TN_STEP_MOVE && s->kind != TN_STEP_SPILL && s->kind != TN_STEP_FETCH;
    return equation ? &p->f->eqn[s->eqn] : NULL;
}

static const tn_i_made *made_of(const tn_i_plan *p, const tn_i_step *s) {
    static const tn_i_made none = {.code = NULL};
    return s->kind == TN_STEP_NEST ? &s->u.nest->made : s->kind == TN_STEP_LOOP ? &p->loop[s->loop].made : &none;
}

const char *tn_i_step_runner(const tn_i_plan *p, const tn_i_step *s) {
    const tn_i_made *m = made_of(p, s);
    if (s->kind == TN_STEP_KERNEL) return "library";
    if (p->plain && s->kind == TN_STEP_STRIP) return "reference";
    return m->by ? m->by : "library";
}

/* ---- modelled time ------------------------------------------------------------------------------ */

static double touched_ns(double bytes, bool written) {
    const tn_i_cost_model *k = &tn_i_shipped_costs;
    const tn_i_level level = tn_i_level_of(k, bytes);
    return bytes * (written ? k->write[level] : k->read[level]);
}

static double elements_of(const tn_i_nest *n) { return (double)n->rows * (double)n->row; }

double tn_i_step_part(const tn_i_plan *p, const tn_i_step *s) {
    double all = 0;
    for (size_t i = 0; i < p->nstep; i++)
        if (p->step[i].kind == TN_STEP_NEST && p->step[i].eqn == s->eqn) all += elements_of(p->step[i].u.nest);
    return elements_of(s->u.nest) / all;
}

/* What the loops compute of f, and each element of each array once. */
static bool nest_ns(const tn_fn *f, const tn_i_nest *n, double part, double *ns) {
    for (uint32_t i = 0; i < n->nop; i++) {
        tn_i_cost cost;
        const tn_i_eqn *e = n->op[i].kind == TN_NEST_MAP || n->op[i].kind == TN_NEST_REDUCE ? n->op[i].eqn : NULL;
        if (!e) continue;
        if (!tn_i_eqn_cost(f, e, &cost)) return false;
        cost.equations = 0;
        *ns += part * tn_i_part_ns(&tn_i_shipped_costs, f, e, &cost);
    }
    for (uint32_t k = 0; k < n->narray; k++) {
        double bytes = (double)tn_i_dtype_size(n->array[k].dtype);
        for (uint32_t d = 0; d < n->nloop; d++) bytes *= n->array[k].stride[d] ? (double)n->size[d] : 1;
        *ns += touched_ns(bytes, n->array[k].arg >= n->nin);
    }
    *ns += tn_i_shipped_costs.equation;
    return true;
}

static bool step_ns(const tn_i_plan *p, const tn_i_step *s, double *ns) {
    *ns = 0;
    if (s->kind == TN_STEP_RELEASE) return true;
    if (s->kind == TN_STEP_SPILL || s->kind == TN_STEP_FETCH) {
        *ns = touched_ns((double)p->transfer[s->loop].bytes, true);
        return true;
    }
    if (s->kind == TN_STEP_MOVE) {
        const double bytes = (double)tn_type_bytes(p->f->val[p->move[s->loop].v].type);
        *ns = touched_ns(bytes, false) + touched_ns(bytes, true);
        return true;
    }
    if (s->kind == TN_STEP_NEST) return nest_ns(tn_i_body(&p->f->eqn[s->eqn]), s->u.nest, tn_i_step_part(p, s), ns);
    return tn_i_recompute_ns(&tn_i_shipped_costs, p->f, &p->f->eqn[s->eqn], ns);
}

static bool plan_ns(const tn_i_plan *p, double *ns) {
    *ns = 0;
    for (size_t i = 0; i < p->nstep; i++) {
        double one;
        if (!step_ns(p, &p->step[i], &one)) return false;
        *ns += one;
    }
    return true;
}

/* ---- programs within steps --------------------------------------------------------------------------- */

uint32_t tn_i_step_programs(const tn_i_plan *p, const tn_i_step *s) {
    if (s->kind == TN_STEP_BODY) return 1;
    if (s->kind == TN_STEP_LOOP) return 2;
    if (s->kind == TN_STEP_BRANCH) return p->fork[s->loop].n;
    return s->kind == TN_STEP_GROUP ? p->group[s->loop].nactor * (1 + TN_STEPS_OF) : 0;
}

const tn_i_plan *tn_i_step_program(const tn_i_plan *p, const tn_i_step *s, uint32_t k) {
    if (s->kind == TN_STEP_BODY) return s->u.body;
    if (s->kind == TN_STEP_LOOP) return k ? p->loop[s->loop].body : p->loop[s->loop].cond;
    if (s->kind == TN_STEP_BRANCH) return p->branch[p->fork[s->loop].branch + k];
    const tn_i_actor *a = &p->group[s->loop].actor[k / (1 + TN_STEPS_OF)];
    const uint32_t which = k % (1 + TN_STEPS_OF);
    return which ? a->plan[which - 1] : a->cond;
}

/* False: it has been told already. */
static bool first_time(const report *r, const tn_i_plan *p) {
    const tn_i_plan *root = r->e->plan;
    for (size_t i = 0; i < root->nnested; i++) {
        if (root->nested[i] != p) continue;
        const bool first = !r->seen[i];
        r->seen[i] = 1;
        return first;
    }
    return false;
}

static bool tell(const report *r, const tn_i_plan *p, const tn_i_made *in, int depth, double share);

/* The loop program that programs in step s are part of, which is part of `in`; NULL: none. */
static const tn_i_made *around_inside(const tn_i_plan *p, const tn_i_step *s, const tn_i_made *in) {
    if (s->kind == TN_STEP_GROUP) return NULL;
    return s->kind == TN_STEP_LOOP && p->loop[s->loop].made.code ? &p->loop[s->loop].made : in;
}

static bool tell_inside(const report *r, const tn_i_plan *p, const tn_i_step *s, const tn_i_made *in, int depth,
                        double share) {
    const uint32_t n = tn_i_step_programs(p, s);
    const tn_i_made *inside = around_inside(p, s, in);
    double all = 0, ns;
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_plan *q = tn_i_step_program(p, s, k);
        if (q && !plan_ns(q, &ns)) return false;
        all += q ? ns : 0;
    }
    for (uint32_t k = 0; k < n; k++) {
        const tn_i_plan *q = tn_i_step_program(p, s, k);
        if (!q || !first_time(r, q)) continue;
        if (!plan_ns(q, &ns) || !tell(r, q, inside, depth + 1, all > 0 ? share * ns / all : 0)) return false;
    }
    return true;
}

/* Kernels that are loops of the program that they are part of (lower/windows.c, lower/scans.c) are told as such. */
static void tell_step(const report *r, const tn_i_plan *p, const tn_i_step *s, const tn_i_made *in, int depth,
                      double ns, double share) {
    const bool loops = in && s->kind == TN_STEP_KERNEL && tn_i_part_kernel(p, s) != TN_KERNEL_CALL;
    const tn_i_eqn *e = tn_i_step_eqn(p, s);
    const tn_i_loc *loc = e ? e->loc : NULL;
    const tn_step told = {.size = sizeof told,
                          .kind = loops ? "loops" : tn_i_step_kind_of(p, s),
                          .primitive = e ? e->prim->name : "",
                          .file = loc && loc->file ? loc->file : "",
                          .line = loc ? (int)loc->line : 0,
                          .depth = depth,
                          .runner = loops ? in->by : tn_i_step_runner(p, s),
                          .why = made_of(p, s)->why ? made_of(p, s)->why : "",
                          .operations = s->kind == TN_STEP_NEST ? s->u.nest->nop : 1,
                          .ns = ns,
                          .share = share};
    r->fn(r->user, &told);
}

static bool tell(const report *r, const tn_i_plan *p, const tn_i_made *in, int depth, double share) {
    double all;
    if (!plan_ns(p, &all)) return false;
    const tn_i_segment *g = NULL;
    for (size_t i = 0; i < p->nstep; i++) {
        const tn_i_step *s = &p->step[i];
        double ns;
        if (s->segment) g = &p->segment[s->segment - 1];
        const tn_i_made *one = g && i < g->first + g->n && g->made.code ? &g->made : in;
        if (s->kind == TN_STEP_RELEASE) continue;
        if (!step_ns(p, s, &ns)) return false;
        const double part = all > 0 ? share * ns / all : 0;
        tell_step(r, p, s, one, depth, ns, part);
        if (!tell_inside(r, p, s, one, depth, part)) return false;
    }
    return true;
}

tn_status tn_exec_steps(const tn_exec *e, tn_step_fn fn, void *user) {
    if (!e) return TN_EINVAL;
    if (!fn) return tn_i_fail(e->ctx, TN_EINVAL, NULL, "tn_exec_steps: no function to tell");
    const size_t n = e->plan->nnested;
    report r = {.e = e, .fn = fn, .user = user, .seen = tn_i_alloc(e->ctx, n + 1)};
    if (!r.seen) return TN_ENOMEM;
    const bool ok = tell(&r, e->plan, e->all.is && e->all.made.code ? &e->all.made : NULL, 0, 1);
    tn_i_free(e->ctx, r.seen, n + 1);
    return ok ? TN_OK : tn_last_status(e->ctx);
}
