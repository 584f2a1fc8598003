/* Jacobians: vmap of jvp or of vjp over a basis, in blocks of bounded size. */
#include "api/args.h"
#include "api/choose.h"
#include "api/surgery.h"
#include "checkpoint/policies.h"
#include "jvp/jvp.h"
#include "linearize/linearize.h"
#include "linearize/prune.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"
#include "transpose/transpose.h"
#include "vmap/vmap.h"

#include <string.h>

/* A linear map L (residuals.. | one input of type t) -> outputs.., pushed over the basis of t:
 * out[j] gets [count(t), type of output j]. */
static void push_basis(tn_i_builder *b, const tn_fn *linear, tn_i_var *args, const tn_type *t, size_t block,
                       tn_i_var *out) {
    tn_ctx *c = b->ctx;
    uint32_t nout = linear->nout, last = linear->nin - 1;
    int64_t n = tn_i_count(t), k = block && (int64_t)block < n ? (int64_t)block : n;
    size_t blocks = n ? (size_t)((n + k - 1) / k) : 1;
    bool *batched = tn_i_alloc_array(c, linear->nin, sizeof *batched);
    tn_i_var *parts = tn_i_alloc_array(c, blocks * nout, sizeof *parts), *row = tn_i_alloc_array(c, nout, sizeof *row);
    if (!batched || !parts || !row)
        b->failed = true;
    else
        batched[last] = true;
    tn_fn *mapped = NULL;
    for (size_t at = 0; at < blocks && !b->failed; at++) {
        int64_t first = (int64_t)at * k, size = n - first < k ? n - first : k;
        if (!mapped || size != k) {
            tn_i_fn_unref(mapped);
            mapped = tn_i_vmap(linear, size, batched, true, NULL, NULL);
        }
        if (!mapped) {
            b->failed = true;
            break;
        }
        args[last] = tn_i_basis(b, t, first, size);
        tn_i_inline(b, mapped, args, row);
        for (uint32_t j = 0; j < nout; j++) parts[j * blocks + at] = row[j];
    }
    tn_i_fn_unref(mapped);
    for (uint32_t j = 0; j < nout; j++)
        out[j] = b->failed     ? TN_NOVAR
                 : blocks == 1 ? parts[j]
                               : tn_i_concatenate(b, (uint32_t)blocks, parts + j * blocks, 0);
    tn_i_free(c, batched, linear->nin * sizeof *batched);
    tn_i_free(c, parts, blocks * nout * sizeof *parts);
    tn_i_free(c, row, nout * sizeof *row);
}

/* [outer.., inner..] as one array of both shapes. */
static tn_i_var joined(tn_i_builder *b, tn_i_var x, const tn_type *outer, const tn_type *inner) {
    int64_t shape[2 * TN_MAX_RANK];
    int rank = outer->rank + inner->rank;
    if (rank > TN_MAX_RANK) {
        tn_i_builder_fail(b, TN_ELIMIT, "a Jacobian would have rank %d (at most %d)", rank, TN_MAX_RANK);
        return TN_NOVAR;
    }
    memcpy(shape, outer->dim, (size_t)outer->rank * sizeof *shape);
    memcpy(shape + outer->rank, inner->dim, (size_t)inner->rank * sizeof *shape);
    return tn_i_reshape(b, x, rank, shape);
}

typedef struct jacobian {
    const tn_fn *f;
    const tn_policy *policy;
    tn_i_wrt w;
    size_t block;
    bool symmetric; /* derived output k is a gradient in input k of wrt */
    uint32_t first; /* outputs before it are not derived */
    tn_i_builder b;
    tn_i_var *x, *y, *out; /* inputs; values of outputs, or TN_NOVAR so far; results, outputs outermost */
    uint32_t nfloat;       /* float outputs that are derived */
} jacobian;

static bool is_float(const tn_fn *f, uint32_t j) { return tn_i_is_float(f->val[f->out[j]].type->dtype); }

/* The k-th float output that is derived. */
static uint32_t float_output(const jacobian *q, uint32_t k) {
    for (uint32_t j = q->first;; j++)
        if (is_float(q->f, j) && k-- == 0) return j;
}

/* Primal of `p` inlined; its residuals, with room for one more argument.  The values of f's outputs, which are q->f's
 * from `output` on, are kept. */
static tn_i_var *residuals(jacobian *q, const tn_i_parts *p, const tn_fn *f, uint32_t output) {
    tn_ctx *c = f->ctx;
    tn_i_var *y = tn_i_alloc_array(c, p->known->nout, sizeof *y),
             *args = tn_i_alloc_array(c, (size_t)p->nres + 1, sizeof *args);
    if (!y || !args)
        q->b.failed = true;
    else {
        tn_i_inline(&q->b, p->known, q->x, y);
        memcpy(args, y + f->nout, p->nres * sizeof *args);
        for (uint32_t j = 0; j < f->nout; j++)
            if (q->y[output + j] == TN_NOVAR) q->y[output + j] = y[j];
    }
    tn_i_free(c, y, p->known->nout * sizeof *y);
    return args;
}

static bool linearize(const jacobian *q, const tn_fn *f, const tn_i_wrt *w, tn_i_parts *out) {
    tn_i_choice by;
    const bool ok = tn_i_choose(f, w, q->policy, &by) && tn_i_linearize(by.f, w->n, w->index, &by.how, out);
    tn_i_choice_free(&by);
    return ok;
}

/* Columns: all outputs' derivatives in input k of wrt. */
static void forward_columns(jacobian *q, uint32_t k) {
    tn_ctx *c = q->f->ctx;
    const tn_type *t = q->f->val[q->w.index[k]].type;
    tn_i_parts p;
    if (!linearize(q, q->f, &(tn_i_wrt){.n = 1, .index = &q->w.index[k]}, &p)) {
        q->b.failed = true;
        return;
    }
    const uint32_t all = p.linear->nout, before = all - q->nfloat;
    tn_i_var *args = residuals(q, &p, q->f, 0), *rows = tn_i_alloc_array(c, all, sizeof *rows);
    if (!rows) q->b.failed = true;
    if (!q->b.failed) push_basis(&q->b, p.linear, args, t, q->block, rows);
    for (uint32_t j = 0; j < q->nfloat && !q->b.failed; j++) {
        const tn_type *ty = q->f->val[q->f->out[float_output(q, j)]].type;
        int64_t flat[2] = {tn_i_count(t), tn_i_count(ty)};
        tn_i_var m = tn_i_move_axis(&q->b, tn_i_reshape(&q->b, rows[before + j], 2, flat), 0, 1);
        if (q->symmetric && j == k) m = tn_i_op1(&q->b, TN_P_mirror, m);
        q->out[j * q->w.n + k] = joined(&q->b, m, ty, t);
    }
    tn_i_free(c, args, ((size_t)p.nres + 1) * sizeof *args);
    tn_i_free(c, rows, all * sizeof *rows);
    tn_i_parts_free(&p);
}

/* Rows: float output k's derivatives in all of wrt. */
static void reverse_rows(jacobian *q, uint32_t k) {
    tn_ctx *c = q->f->ctx;
    const uint32_t output = float_output(q, k);
    const tn_type *ty = q->f->val[q->f->out[output]].type;
    tn_fn *f = tn_i_select_outputs(q->f, 1, &output), *back = NULL;
    tn_i_parts p = {0};
    tn_i_var *args = NULL, *rows = tn_i_alloc_array(c, q->w.n, sizeof *rows);
    if (f && rows && linearize(q, f, &q->w, &p)) back = tn_i_transpose_linear(p.linear);
    if (back)
        args = residuals(q, &p, f, output);
    else
        q->b.failed = true;
    if (!q->b.failed) push_basis(&q->b, back, args, ty, q->block, rows);
    for (uint32_t i = 0; i < q->w.n && !q->b.failed; i++)
        q->out[k * q->w.n + i] = joined(&q->b, rows[i], ty, q->f->val[q->w.index[i]].type);
    tn_i_free(c, args, ((size_t)p.nres + 1) * sizeof *args);
    tn_i_free(c, rows, q->w.n * sizeof *rows);
    tn_i_parts_free(&p);
    tn_i_fn_unref(back);
    tn_i_fn_unref(f);
}

/* The program that the derivatives after the first are made of: effects happen once. */
static tn_fn *quiet(const char *who, const tn_fn *f) {
    tn_fn *g = tn_i_quiet(f);
    if (!g || !g->effect) return g;
    (void)tn_i_fail(f->ctx, TN_ERULE, tn_i_effect_loc(g), "%s: this effect would happen more than once", who);
    tn_i_fn_unref(g);
    return NULL;
}

typedef enum way { FORWARD, REVERSE, SYMMETRIC /* forward */ } way;

/* One-hot vectors are the same on all ranks: what they go in at is replicated, or a column would be the sum of one of
 * each rank. */
static bool one_hot(const char *who, const tn_fn *f, const tn_i_wrt *w, bool reverse) {
    const uint32_t n = reverse ? f->nout : w->n;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = reverse ? f->out[k] : w->index[k];
        const tn_type *t = f->val[i].type;
        if (!t->varying || !tn_i_is_float(t->dtype)) continue;
        (void)tn_i_fail(f->ctx, TN_EINVAL, f->loc, "%s: %s %u varies over %s: %s of it would be of all ranks at once",
                        who, reverse ? "output" : "input", (unsigned)(reverse ? k : i), t->varying->text,
                        reverse ? "a row" : "a column");
        return false;
    }
    return true;
}

/* Outputs that no derivative has computed: those that are no floats, in reverse mode. */
static void other_values(jacobian *q) {
    tn_ctx *c = q->f->ctx;
    tn_i_var *y = tn_i_alloc_array(c, q->f->nout, sizeof *y);
    bool all = true;
    for (uint32_t j = 0; j < q->f->nout; j++) all = all && q->y[j] != TN_NOVAR;
    if (!y)
        q->b.failed = true;
    else if (!all) {
        tn_i_inline(&q->b, q->f, q->x, y);
        for (uint32_t j = 0; j < q->f->nout; j++)
            if (q->y[j] == TN_NOVAR) q->y[j] = y[j];
    }
    tn_i_free(c, y, q->f->nout * sizeof *y);
}

/* What is differentiated how. */
typedef struct task {
    const char *who;
    way to;
    bool values;    /* those of f's outputs come first */
    uint32_t first; /* outputs before it are not derived */
    size_t block;
} task;

static void fill_in(jacobian *q, const task *job) {
    const tn_fn *f = q->f;
    const bool reverse = job->to == REVERSE;
    const uint32_t n = reverse ? q->nfloat : q->w.n;
    const bool again = n > 1 || (n && reverse && job->values && q->nfloat < f->nout);
    tn_fn *others = again && f->effect && !q->b.failed ? quiet(job->who, f) : NULL;
    if (again && f->effect && !others) q->b.failed = true;
    for (uint32_t k = 0; k < n && !q->b.failed; k++) {
        q->f = k && others ? others : f;
        if (reverse)
            reverse_rows(q, k);
        else
            forward_columns(q, k);
    }
    if (others) q->f = others;
    if (job->values && !q->b.failed) other_values(q);
    q->f = f;
    tn_i_fn_unref(others);
}

static tn_fn *jacobian_of(const task *job, const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy) {
    jacobian q = {
        .f = f, .policy = policy, .block = job->block, .symmetric = job->to == SYMMETRIC, .first = job->first};
    tn_i_plan_by how;
    if (!tn_i_living(f) || (!tn_i_budgets(policy) && !tn_i_plan_of(f->ctx, policy, &how)) ||
        !tn_i_wrt_init(&q.w, job->who, f, wrt))
        return NULL;
    tn_ctx *c = f->ctx;
    if (!one_hot(job->who, f, &q.w, job->to == REVERSE)) {
        tn_i_wrt_free(&q.w);
        return NULL;
    }
    for (uint32_t j = job->first; j < f->nout; j++) q.nfloat += is_float(f, j);
    const size_t nout = f->nout + (size_t)q.nfloat * q.w.n;
    q.x = tn_i_alloc_array(c, f->nin, sizeof *q.x);
    q.y = tn_i_alloc_array(c, nout, sizeof *q.y);
    q.out = q.y ? q.y + f->nout : NULL;
    tn_i_builder_init(&q.b, c);
    q.b.named_after = f;
    if (!q.x || !q.y) q.b.failed = true;
    for (uint32_t i = 0; i < f->nin && !q.b.failed; i++) q.x[i] = tn_i_input(&q.b, f->val[i].type, false);
    for (size_t j = 0; q.y && j < nout; j++) q.y[j] = TN_NOVAR;
    fill_in(&q, job);
    const uint32_t skipped = job->values ? 0 : f->nout;
    tn_fn *g = tn_i_finish(&q.b, (uint32_t)nout - skipped, q.y ? q.y + skipped : NULL);
    tn_i_free(c, q.x, f->nin * sizeof *q.x);
    tn_i_free(c, q.y, nout * sizeof *q.y);
    tn_i_wrt_free(&q.w);
    return tn_i_runnable(tn_i_prune(g));
}

tn_fn *tn_jacfwd(const tn_fn *f, const tn_wrt_list *wrt, size_t block) {
    return jacobian_of(&(task){.who = "jacfwd", .to = FORWARD, .block = block}, f, wrt, NULL);
}

tn_fn *tn_jacrev(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block) {
    return jacobian_of(&(task){.who = "jacrev", .to = REVERSE, .block = block}, f, wrt, policy);
}

/* Whether there are fewer rows than columns. */
static bool wide(const tn_fn *f, const tn_i_wrt *w) {
    double rows = 0, columns = 0;
    for (uint32_t j = 0; j < f->nout; j++)
        if (is_float(f, j)) rows += (double)tn_i_count(f->val[f->out[j]].type);
    for (uint32_t k = 0; k < w->n; k++) columns += (double)tn_i_count(f->val[w->index[k]].type);
    return rows < columns;
}

tn_fn *tn_value_and_jacobian(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block) {
    task job = {.who = "value_and_jacobian", .values = true, .block = block};
    tn_i_wrt w;
    if (!tn_i_living(f) || !tn_i_wrt_init(&w, job.who, f, wrt)) return NULL;
    job.to = wide(f, &w) ? REVERSE : FORWARD;
    tn_i_wrt_free(&w);
    return jacobian_of(&job, f, wrt, policy);
}

/* Forward over reverse has no backward pass of its own to bound.  First derivatives that a user gives need not have
 * symmetric ones. */
static tn_fn *second(task *job, const tn_fn *f, tn_fn *g, const tn_wrt_list *wrt, const tn_policy *policy) {
    job->to = f && f->rules ? FORWARD : SYMMETRIC;
    tn_fn *h = g ? jacobian_of(job, g, wrt, tn_i_budgets(policy) ? NULL : policy) : NULL;
    tn_i_fn_unref(g);
    return h;
}

tn_fn *tn_hessian(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block) {
    return second(&(task){.who = "hessian", .block = block}, f, tn_grad(f, wrt, policy), wrt, policy);
}

tn_fn *tn_hessian_aux(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block) {
    tn_fn *g = tn_value_and_grad_aux(f, wrt, policy);
    task job = {.who = "hessian_aux", .values = true, .first = g ? f->nout : 0, .block = block};
    return second(&job, f, g, wrt, policy);
}
