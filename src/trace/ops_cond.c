/* cond and switch: callbacks become the branches of one equation.  What they capture, all together, becomes further
 * operands of each. */
#include "control/cond.h"
#include "control/vary.h"
#include "prims/ids.h"
#include "trace/trace.h"

#include <string.h>

/* What tn_cond and its kin were called with. */
typedef struct request {
    const char *name;
    tn_val index;
    size_t nbranches;
    const tn_trace_fn *one; /* one of the two lists is set */
    const tn_trace_many_fn *many;
    void *user;
    size_t n, nout;
    const tn_val *x;
} request;

/* The branches traced so far. */
typedef struct branches {
    tn_ctx *c;
    size_t n, nx;
    const tn_fn **f;      /* n */
    tn_val **captured;    /* per branch */
    size_t *ncaptured;    /* per branch */
    tn_val *all;          /* what any of them captures, each value once */
    uint32_t **from;      /* per branch: which operand behind the index its inputs are */
    const tn_type **type; /* of those operands */
    size_t nall, room;
    uint32_t over; /* axes that the index varies over: so does all that the branches take and give */
} branches;

/* ---- tracing ------------------------------------------------------------------------ */

static bool branches_init(tn_i_site *s, const request *q, branches *k) {
    *k = (branches){.c = s->b->ctx, .n = q->nbranches, .nx = q->n};
    k->f = tn_i_alloc_array(k->c, k->n, sizeof *k->f);
    k->captured = tn_i_alloc_array(k->c, k->n, sizeof *k->captured);
    k->ncaptured = tn_i_alloc_array(k->c, k->n, sizeof *k->ncaptured);
    k->from = tn_i_alloc_array(k->c, k->n, sizeof *k->from);
    if (k->f && k->captured && k->ncaptured && k->from) return true;
    s->b->failed = true;
    return false;
}

static void branches_free(branches *k) {
    if (!k->c) return;
    for (size_t i = 0; i < k->n; i++) {
        if (k->from && k->from[i]) tn_i_free(k->c, k->from[i], (k->nx + k->ncaptured[i]) * sizeof **k->from);
        if (k->captured && k->captured[i]) tn_i_free(k->c, k->captured[i], k->ncaptured[i] * sizeof **k->captured);
        if (k->f) tn_i_fn_unref(k->f[i]);
    }
    tn_i_free(k->c, (void *)k->f, k->n * sizeof *k->f);
    tn_i_free(k->c, (void *)k->captured, k->n * sizeof *k->captured);
    tn_i_free(k->c, k->ncaptured, k->n * sizeof *k->ncaptured);
    tn_i_free(k->c, (void *)k->from, k->n * sizeof *k->from);
    tn_i_free(k->c, k->all, k->room * sizeof *k->all);
    tn_i_free(k->c, (void *)k->type, (k->nx + k->nall) * sizeof *k->type);
}

static bool trace_branches(tn_i_site *s, const request *q, branches *k) {
    const tn_i_loc *loc = s->b->loc;
    tn_type *in = tn_i_alloc_array(k->c, q->n, sizeof *in);
    if (!in) s->b->failed = true;
    for (size_t i = 0; in && i < q->n; i++) {
        s->v[1 + i] = tn_i_vary(s->b, s->v[1 + i], k->over);
        if (!s->b->failed) in[i] = *tn_i_site_type(s, s->v[1 + i]);
    }
    for (size_t i = 0; i < k->n && !s->b->failed; i++) {
        const tn_i_body body = {.one = q->one ? q->one[i] : NULL,
                                .many = q->many ? q->many[i] : NULL,
                                .user = q->user,
                                .nin = q->n,
                                .nout = q->nout,
                                .in = in,
                                .over = k->over,
                                .loc = loc};
        if (!body.one && !body.many)
            (void)tn_i_site_fail(s, TN_EINVAL, -1, "the callback of branch %zu is NULL", i);
        else if (!(k->f[i] = tn_i_trace_body(k->c, &body, &k->captured[i], &k->ncaptured[i])))
            tn_i_trace_adopt_error(s->t);
        s->b->loc = loc;
    }
    tn_i_free(k->c, in, q->n * sizeof *in);
    return !s->b->failed;
}

/* ---- one list of operands --------------------------------------------------------------- */

static bool join(branches *k, const tn_val *x, uint32_t *at) {
    size_t i = 0;
    while (i < k->nall && (k->all[i].trace != x->trace || k->all[i].id != x->id)) i++;
    if (i == k->nall) {
        if (!tn_i_grow(k->c, (void **)&k->all, &k->room, i + 1, sizeof *k->all)) return false;
        k->all[k->nall++] = *x;
    }
    *at = (uint32_t)(k->nx + i);
    return true;
}

static bool join_captured(branches *k) {
    for (size_t i = 0; i < k->n; i++) {
        k->from[i] = tn_i_alloc_array(k->c, k->nx + k->ncaptured[i], sizeof **k->from);
        if (!k->from[i]) return false;
        for (size_t j = 0; j < k->nx; j++) k->from[i][j] = (uint32_t)j;
        for (size_t j = 0; j < k->ncaptured[i]; j++)
            if (!join(k, &k->captured[i][j], &k->from[i][k->nx + j])) return false;
    }
    return true;
}

/* index, x.., captured.. */
static bool all_operands(tn_i_site *s, branches *k) {
    tn_i_var *v = tn_i_alloc_array(k->c, s->own + k->nall, sizeof *v);
    k->type = tn_i_alloc_array(k->c, k->nx + k->nall, sizeof *k->type);
    if (!v || !k->type) {
        tn_i_free(k->c, v, (s->own + k->nall) * sizeof *v);
        return false;
    }
    memcpy(v, s->v, s->n * sizeof *v);
    for (size_t i = 0; i < k->nall; i++) v[s->n + i] = tn_i_vary(s->b, tn_i_site_resolve(s, &k->all[i], -1), k->over);
    tn_i_free(k->c, s->v, s->own * sizeof *s->v);
    s->v = v;
    s->own += k->nall;
    for (size_t i = 0; i < k->nx + k->nall && !s->b->failed; i++) k->type[i] = tn_i_site_type(s, v[1 + i]);
    return !s->b->failed;
}

static bool rewire(branches *k) {
    uint32_t most = 1;
    for (size_t i = 0; i < k->n; i++) most = k->f[i]->nout > most ? k->f[i]->nout : most;
    uint32_t *same = tn_i_alloc_array(k->c, most, sizeof *same);
    bool ok = same != NULL;
    for (uint32_t j = 0; ok && j < most; j++) same[j] = j;
    for (size_t i = 0; ok && i < k->n; i++) {
        const tn_i_arrangement w = {.nin = (uint32_t)(k->nx + k->nall),
                                    .nout = k->f[i]->nout,
                                    .in = k->type,
                                    .from = k->from[i],
                                    .out = same,
                                    .bare = k->f[i]->nout};
        const tn_fn *f = tn_i_arrange(k->f[i], &w);
        ok = f != NULL;
        if (!ok) break;
        tn_i_fn_unref(k->f[i]);
        k->f[i] = f;
    }
    tn_i_free(k->c, same, most * sizeof *same);
    return ok;
}

/* An output varies over what it does in any branch. */
static bool level_outputs(tn_i_site *s, const request *q, branches *k) {
    if (!s->b->ctx->grid.naxes) return true;
    uint32_t *over = tn_i_alloc_array(k->c, q->nout, sizeof *over);
    bool ok = over != NULL;
    for (size_t j = 0; ok && j < q->nout; j++) over[j] = k->over;
    for (size_t i = 0; ok && i < k->n; i++)
        for (size_t j = 0; j < q->nout && k->f[i]->nout == q->nout; j++)
            over[j] |= tn_i_over(k->f[i]->val[k->f[i]->out[j]].type);
    for (size_t i = 0; ok && i < k->n; i++)
        if (k->f[i]->nout == q->nout) ok = (k->f[i] = tn_i_outputs_over((tn_fn *)(uintptr_t)k->f[i], over)) != NULL;
    tn_i_free(k->c, over, q->nout * sizeof *over);
    return ok;
}

/* ---- the equation --------------------------------------------------------------------------- */

/* An i64 index is clamped before it is narrowed. */
static void narrow_index(tn_i_site *s, size_t n) {
    if (s->b->failed || tn_i_site_type(s, s->v[0])->dtype != TN_I64 || n == 0) return;
    const tn_i_var low = tn_i_do2n(s, TN_P_max, s->v[0], 0), high = tn_i_do2n(s, TN_P_min, low, (double)(n - 1));
    s->v[0] = tn_i_convert(s->b, high, TN_I32);
}

static tn_i_var emit(tn_i_site *s, const request *q, branches *k) {
    k->over = tn_i_over(tn_i_site_type(s, s->v[0]));
    if (!trace_branches(s, q, k)) return TN_NOVAR;
    if (!level_outputs(s, q, k) || !join_captured(k) || !all_operands(s, k) || !rewire(k)) {
        s->b->failed = true;
        return TN_NOVAR;
    }
    narrow_index(s, k->n);
    const tn_i_param p = {.kind = TN_K_FNS, .n = (uint32_t)k->n, .u.fns = k->f};
    return s->b->failed ? TN_NOVAR
                        : tn_i_emit(s->b, tn_i_prim(s->b, TN_P_cond), &p, (uint32_t)(1 + k->nx + k->nall), s->v);
}

static void choose(const request *q, tn_val *out, const char *file, int line) {
    tn_i_site s;
    branches k = {0};
    tn_ctx *c = tn_i_ctx_of(tn_i_ctx_of(NULL, 1, &q->index), q->n, q->x);
    tn_i_var first = TN_NOVAR;
    tn_val few[8], *x = few;
    size_t n;
    if (!tn_i_add(q->n, 1, &n)) n = 0;
    if (c && q->n && (!q->x || n == 0)) {
        tn_i_site_begin(&s, q->name, c, file, line);
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, q->x ? "too many operands or results" : "the operands are NULL");
        tn_i_site_close_many(&s, TN_NOVAR, q->nout, out);
        return;
    }
    if (c && n > 8 && !(x = tn_i_alloc_array(c, n, sizeof *x))) {
        if (c->trace) tn_i_trace_adopt_error(c->trace);
        c = NULL;
    }
    if (!c) { /* `out` may be q->x: nothing is written before that is read */
        for (size_t j = 0; out && j < q->nout; j++) out[j] = (tn_val){.id = line > 0 ? (uint32_t)line : 0};
        return;
    }
    x[0] = q->index;
    if (q->n) memcpy(x + 1, q->x, q->n * sizeof *x);
    tn_i_site_open_many(&s, q->name, c, n, x, 0, file, line);
    if (!s.b->failed && q->nbranches == 0) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "there are no branches");
    if (!s.b->failed && branches_init(&s, q, &k)) first = emit(&s, q, &k);
    branches_free(&k);
    tn_i_site_close_many(&s, first, q->nout, out);
    if (x != few) tn_i_free(c, x, n * sizeof *x);
}

/* ---- operators ---------------------------------------------------------------------------------- */

tn_val tn_cond_at(tn_val pred, tn_trace_fn then_fn, tn_trace_fn else_fn, void *user, size_t n, const tn_val *x,
                  const char *file, int line) {
    const tn_trace_fn f[2] = {else_fn, then_fn};
    const request q = {
        .name = "cond", .index = pred, .nbranches = 2, .one = f, .user = user, .n = n, .nout = 1, .x = x};
    tn_val out = {.id = 0};
    choose(&q, &out, file, line);
    return out;
}

void tn_cond_many_at(tn_val pred, tn_trace_many_fn then_fn, tn_trace_many_fn else_fn, void *user, size_t n,
                     const tn_val *x, size_t nout, tn_val *out, const char *file, int line) {
    const tn_trace_many_fn f[2] = {else_fn, then_fn};
    const request q = {
        .name = "cond", .index = pred, .nbranches = 2, .many = f, .user = user, .n = n, .nout = nout, .x = x};
    choose(&q, out, file, line);
}

void tn_switch_at(tn_val index, size_t nbranches, const tn_trace_many_fn *branch, void *user, size_t n, const tn_val *x,
                  size_t nout, tn_val *out, const char *file, int line) {
    const request q = {.name = "switch",
                       .index = index,
                       .nbranches = branch ? nbranches : 0,
                       .many = branch,
                       .user = user,
                       .n = n,
                       .nout = nout,
                       .x = x};
    choose(&q, out, file, line);
}
