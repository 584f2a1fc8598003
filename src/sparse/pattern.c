/* The walk: each equation of a program once, over what its operands depend on. */
#include "ir/depends.h"
#include "sparse/walk.h"

#include <string.h>

bool tn_i_spreading_init(tn_i_spreading *w, tn_ctx *c, tn_i_memo *depends, int64_t columns, int64_t elements,
                         int64_t limit) {
    *w = (tn_i_spreading){.ctx = c, .depends = depends, .collect = tn_i_collect_from(columns)};
    w->rows.prev = w->rows.next = &w->rows;
    return tn_i_rowset_init(&w->set, c, columns, elements, limit);
}

void tn_i_spreading_free(tn_i_spreading *w) {
    tn_i_rowset_free(&w->set);
    if (w->remark) tn_i_free(w->ctx, w->remark, w->cremark * sizeof *w->remark);
}

/* ---- what the rules share --------------------------------------------------------------------- */

bool tn_i_spread_remark(tn_i_spreading *w, const tn_i_eqn *e, const char *why) {
    for (size_t i = 0; i < w->nremark; i++)
        if (w->remark[i].loc == e->loc && w->remark[i].prim == e->prim->name && w->remark[i].why == why) return true;
    if (!tn_i_grow(w->ctx, (void **)(void *)&w->remark, &w->cremark, w->nremark + 1, sizeof *w->remark)) return false;
    w->remark[w->nremark++] = (tn_i_remark){.loc = e->loc, .prim = e->prim->name, .why = why};
    return true;
}

int32_t *tn_i_spread_rows(tn_i_spread_eqn *q, uint32_t j, int32_t row) {
    const int64_t n = tn_i_count(tn_i_spread_out(q, j));
    tn_i_shared *b = q->out[j].rows = tn_i_spread_rows_new(q->w, n);
    int32_t *to = b ? tn_i_shared_data(b) : NULL;
    for (int64_t i = 0; to && i < n; i++) to[i] = row;
    return to;
}

int32_t tn_i_spread_hull(tn_i_spreading *w, uint32_t nv, const tn_i_spread_val *v, const int64_t *n) {
    tn_i_row_sum sum;
    if (!tn_i_row_sum_begin(&sum, &w->set, false, false)) return -1;
    for (uint32_t i = 0; i < nv; i++) {
        const int32_t *rows = tn_i_spread_val_rows(&v[i]);
        for (int64_t k = 0; rows && k < n[i]; k++)
            if (k == 0 || rows[k] != rows[k - 1]) tn_i_row_sum_add(&sum, rows[k], 1.0);
    }
    return tn_i_row_sum_end(&sum);
}

bool tn_i_spread_all(tn_i_spread_eqn *q) {
    int64_t *n = tn_i_alloc_array(q->w->ctx, (size_t)q->e->nin + 1, sizeof *n);
    if (!n) return false;
    for (uint32_t i = 0; i < q->e->nin; i++) n[i] = tn_i_count(q->in_type[i]);
    const int32_t all = tn_i_spread_hull(q->w, q->e->nin, q->in, n);
    tn_i_free(q->w->ctx, n, ((size_t)q->e->nin + 1) * sizeof *n);
    const int32_t row = all < 0 ? all : tn_i_row_varying(&q->w->set, all);
    bool ok = row >= 0;
    for (uint32_t j = 0; j < q->e->nout && ok && row; j++) ok = tn_i_spread_rows(q, j, row) != NULL;
    return ok;
}

bool tn_i_spread_join(tn_i_spreading *w, int64_t n, tn_i_spread_val *v, const tn_i_spread_val *with, bool *changed) {
    const int32_t *more = tn_i_spread_val_rows(with), *have = tn_i_spread_val_rows(v);
    if (v->known) *changed = true;
    tn_i_shared_unref(w->ctx, v->known);
    v->known = NULL;
    if (!more) return true;
    tn_i_shared *b = tn_i_spread_rows_new(w, n);
    if (!b) return false;
    int32_t *to = tn_i_shared_data(b), x = -1, y = -1, both = -1;
    for (int64_t i = 0; i < n; i++) {
        const int32_t a = have ? have[i] : 0;
        if (i == 0 || a != x || more[i] != y) both = tn_i_row_union(&w->set, x = a, y = more[i]);
        if (both < 0) {
            tn_i_shared_unref(w->ctx, b);
            return false;
        }
        to[i] = both;
        *changed |= both != a;
    }
    tn_i_shared_unref(w->ctx, v->rows);
    v->rows = b;
    return true;
}

/* ---- one equation ------------------------------------------------------------------------------- */

/* Which results of a nested program may be known: those that depend on no operand that is not. */
static bool some_known(tn_i_spread_eqn *q, bool *some) {
    const uint32_t nin = q->e->nin, nout = q->e->nout;
    uint8_t *in = tn_i_alloc(q->w->ctx, (size_t)nin + nout + 1), *out = in ? in + nin : NULL;
    bool unknown = false, ok = in != NULL;
    for (uint32_t i = 0; ok && i < nin; i++) unknown |= in[i] = q->in[i].known ? 0 : TN_OF_ENTRIES;
    if (ok && unknown) ok = tn_i_depends(q->w->depends, q->e, in, out);
    *some = false;
    for (uint32_t j = 0; ok && j < nout; j++) *some |= !out[j];
    tn_i_free(q->w->ctx, in, (size_t)nin + nout + 1);
    return ok;
}

static bool by_class(tn_i_spread_eqn *q) {
    const tn_i_eqn *e = q->e;
    if (e->prim->flags & TN_F_ELEMENTWISE) return tn_i_spread_elementwise(q);
    switch (e->prim->spread) {
    case TN_SPREAD_MOVES: return tn_i_spread_moves(q);
    case TN_SPREAD_ADDS: return tn_i_spread_adds(q);
    case TN_SPREAD_SUMS: return tn_i_spread_sums(q);
    case TN_SPREAD_NONE: return true;
    case TN_SPREAD_ALL: break;
    }
    bool done = false;
    if (!tn_i_spread_entries(q, &done)) return false;
    if (done) return true;
    return tn_i_spread_remark(q->w, e,
                              "each element of what it gives is taken to depend on all that its operands do") &&
           tn_i_spread_all(q);
}

static bool step(tn_i_spread_eqn *q) {
    const tn_i_eqn *e = q->e;
    const tn_prim *p = e->prim;
    const tn_fn *const *branch;
    const bool branches = tn_i_alternatives(e, &branch) > 0, nested = p->body || p->inside || branches;
    bool depends = false, known = false;
    if (e->nout == 0) return true;
    for (uint32_t i = 0; i < e->nin; i++) depends |= q->in[i].rows != NULL;
    if (!depends && !nested) return tn_i_know(q);
    if (!depends && !some_known(q, &known)) return false;
    if (!depends && !known) return true;
    if (p->inside) return tn_i_spread_loop(q);
    if (branches) return tn_i_spread_branches(q);
    if (p->body && !(p->unrunnable && p->unrunnable(tn_i_p(e))))
        return tn_i_spread_through(q->w, tn_i_p(e)[p->body - 1].u.fn, q->in, q->out);
    return by_class(q);
}

/* ---- a program ---------------------------------------------------------------------------------- */

/* Messages about too many entries name the equation that first made rows much longer than all before. */
static void look_for_dense(tn_i_spread_eqn *q, size_t from) {
    tn_i_spreading *w = q->w;
    int32_t longest = w->longest;
    for (size_t r = from; r < w->set.nrow; r++)
        if (w->set.row[r].n > longest) longest = w->set.row[r].n;
    if (!w->dense && longest > 16 && longest / 4 > w->longest) {
        w->dense = q->e->loc;
        w->dense_prim = q->e->prim->name;
        w->dense_columns = longest;
    }
    w->longest = longest;
}

static bool too_many(tn_i_spread_eqn *q, size_t from) {
    tn_i_spreading *w = q->w;
    if (!w->set.full) return false;
    look_for_dense(q, from);
    (void)tn_i_fail(w->ctx, TN_ELIMIT, w->dense ? w->dense : q->e->loc,
                    w->dense ? "%s: here the first rows become dense, of %lld columns; more than max_nnz = %lld entries"
                             : "%s: makes rows of up to %lld columns, more than max_nnz = %lld entries",
                    w->dense ? w->dense_prim : q->e->prim->name,
                    (long long)(w->dense ? w->dense_columns : w->set.columns), (long long)w->set.limit);
    return true;
}

typedef struct frame {
    tn_i_spreading *w;
    const tn_fn *f;
    tn_i_spread_val *v;        /* of each value */
    uint32_t *last;            /* the equation behind which it is not read; f->neqn: it is an output */
    tn_i_spread_val *in, *out; /* of one equation */
    const tn_type **in_type;
    size_t width;
} frame;

static bool frame_init(frame *k, tn_i_spreading *w, const tn_fn *f) {
    tn_ctx *c = w->ctx;
    *k = (frame){.w = w, .f = f, .width = 1};
    for (uint32_t i = 0; i < f->neqn; i++) {
        if (f->eqn[i].nin > k->width) k->width = f->eqn[i].nin;
        if (f->eqn[i].nout > k->width) k->width = f->eqn[i].nout;
    }
    k->v = tn_i_alloc_array(c, (size_t)f->nval + 1, sizeof *k->v);
    k->last = tn_i_alloc_array(c, (size_t)f->nval + 1, sizeof *k->last);
    k->in = tn_i_alloc_array(c, k->width, sizeof *k->in);
    k->out = tn_i_alloc_array(c, k->width, sizeof *k->out);
    k->in_type = tn_i_alloc_array(c, k->width, sizeof *k->in_type);
    if (!k->v || !k->last || !k->in || !k->out || !k->in_type) return false;
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t j = 0; j < f->eqn[i].nin; j++) k->last[tn_i_in(f, &f->eqn[i])[j]] = i;
    for (uint32_t j = 0; j < f->nout; j++) k->last[f->out[j]] = f->neqn;
    return true;
}

static void frame_free(frame *k) {
    tn_ctx *c = k->w->ctx;
    const size_t n = (size_t)k->f->nval + 1;
    for (uint32_t v = 0; k->v && v < k->f->nval; v++) tn_i_spread_val_free(c, &k->v[v]);
    tn_i_free(c, k->v, n * sizeof *k->v);
    tn_i_free(c, k->last, n * sizeof *k->last);
    tn_i_free(c, k->in, k->width * sizeof *k->in);
    tn_i_free(c, k->out, k->width * sizeof *k->out);
    tn_i_free(c, k->in_type, k->width * sizeof *k->in_type);
}

static bool literal(frame *k, tn_i_var v) {
    const tn_i_val *x = &k->f->val[v];
    if (k->v[v].known || !tn_i_is_literal(k->f, v)) return true;
    if (!(k->v[v].known = tn_i_shared_new(k->w->ctx, sizeof x->bits))) return false;
    memcpy(tn_i_shared_data(k->v[v].known), &x->bits, sizeof x->bits);
    return true;
}

static bool run(frame *k, uint32_t i) {
    const tn_fn *f = k->f;
    const tn_i_eqn *e = &f->eqn[i];
    const tn_i_var *in = tn_i_in(f, e);
    tn_i_spreading *w = k->w;
    for (uint32_t j = 0; j < e->nin; j++) {
        if (!literal(k, in[j])) return false;
        k->in[j] = k->v[in[j]];
        k->in_type[j] = f->val[in[j]].type;
    }
    memset(k->out, 0, e->nout * sizeof *k->out);
    tn_i_spread_eqn q = {.w = w, .f = f, .e = e, .in = k->in, .out = k->out, .in_type = k->in_type};
    bool ok = tn_i_spread_collect(w);
    const size_t from = w->set.nrow;
    w->set.mark = w->set.ncol;
    ok = ok && step(&q);
    for (uint32_t j = 0; j < e->nout; j++) k->v[e->out + j] = k->out[j];
    if (!ok) {
        (void)too_many(&q, from);
        return false;
    }
    look_for_dense(&q, from);
    for (uint32_t j = 0; j < e->nin; j++)
        if (k->last[in[j]] == i) tn_i_spread_val_free(w->ctx, &k->v[in[j]]);
    for (uint32_t j = 0; j < e->nout; j++)
        if (!k->last[e->out + j]) tn_i_spread_val_free(w->ctx, &k->v[e->out + j]);
    return true;
}

bool tn_i_spread_through(tn_i_spreading *w, const tn_fn *f, const tn_i_spread_val *in, tn_i_spread_val *out) {
    frame k;
    bool ok = frame_init(&k, w, f);
    for (uint32_t i = 0; ok && i < f->nin; i++) k.v[i] = tn_i_spread_val_ref(&in[i]);
    for (uint32_t i = 0; ok && i < f->neqn; i++) ok = run(&k, i);
    for (uint32_t j = 0; ok && j < f->nout; j++) {
        ok = literal(&k, f->out[j]);
        if (ok) out[j] = tn_i_spread_val_ref(&k.v[f->out[j]]);
    }
    frame_free(&k);
    return ok;
}
