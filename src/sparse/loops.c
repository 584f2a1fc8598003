/* Loops and branches.  A loop whose length is known is run step by step, with exact sets; others until what is carried
 * changes no more, which is what it may be after any number of steps. */
#include "control/loops/loop.h"
#include "sparse/walk.h"

#include <string.h>

enum { MOST_STEPS = 1 << 20, MOST_ROUNDS = 64 };

typedef struct loop {
    tn_i_spread_eqn *q;
    tn_ctx *c;
    tn_i_loop_eqn l;
    tn_i_spread_val *in, *out; /* of the body */
    tn_i_spread_val *cond;     /* of the condition */
    int64_t steps;             /* -1: not known */
} loop;

static void free_all(tn_ctx *c, tn_i_spread_val *v, uint32_t n) {
    for (uint32_t i = 0; v && i < n; i++) tn_i_spread_val_free(c, &v[i]);
}

static void replace(tn_ctx *c, tn_i_spread_val *v, tn_i_spread_val with) {
    tn_i_spread_val_free(c, v);
    *v = with;
}

static const tn_type *body_in(const loop *k, uint32_t i) { return k->l.body->val[i].type; }
static const tn_type *body_out(const loop *k, uint32_t j) { return k->l.body->val[k->l.body->out[j]].type; }
/* The equation's output that the body's output j is, or is an entry of. */
static uint32_t output(const loop *k, uint32_t j) { return j < k->l.ncarry ? j : j + k->l.count; }
/* The body's input that is the first carry. */
static uint32_t carry0(const loop *k) { return tn_i_loop_inner(&k->l, tn_i_loop_carry0(&k->l)); }

static bool number(tn_ctx *c, tn_i_spread_val *v, int64_t x) {
    tn_i_spread_val_free(c, v);
    if (!(v->known = tn_i_shared_new(c, sizeof x))) return false;
    memcpy(tn_i_shared_data(v->known), &x, sizeof x);
    return true;
}

/* Elements from..from + n of a size, copied. */
static tn_i_shared *copied(const tn_i_shared *b, int64_t from, int64_t n, size_t size, tn_i_shared *to) {
    if (to) memcpy(tn_i_shared_data(to), (const char *)tn_i_shared_data(b) + (size_t)from * size, (size_t)n * size);
    return to;
}

/* What a step reads of a stack. */
static bool entry(const loop *k, uint32_t operand, int64_t i, tn_i_spread_val *to) {
    const tn_i_spread_val *xs = &k->q->in[operand];
    const tn_type *t = body_in(k, tn_i_loop_inner(&k->l, operand));
    const int64_t n = tn_i_count(t);
    tn_i_spread_val_free(k->c, to);
    if (tn_i_has_steps(k->q->in_type[operand])) {
        *to = tn_i_spread_val_ref(xs);
        return true;
    }
    if (xs->rows && !(to->rows = copied(xs->rows, i * n, n, sizeof(int32_t), tn_i_spread_rows_new(k->q->w, n))))
        return false;
    const size_t size = tn_i_dtype_size(t->dtype);
    if (xs->known && !(to->known = copied(xs->known, i * n, n, size, tn_i_shared_new(k->c, (size_t)n * size))))
        return false;
    to->local = xs->local;
    return true;
}

/* ---- results ---------------------------------------------------------------------------------------- */

/* An entry that a step gave: into its stack, whose rows are 0 where there are none so far. */
static bool stack(const loop *k, uint32_t j, int64_t i) {
    const tn_i_spread_val *y = &k->out[j];
    tn_i_spread_val *ys = &k->q->out[output(k, j)];
    const tn_type *t = body_out(k, j);
    const int64_t n = tn_i_count(t);
    bool changed = false;
    if (tn_i_has_steps(tn_i_spread_out(k->q, output(k, j)))) return tn_i_spread_join(k->q->w, n, ys, y, &changed);
    if (y->rows) {
        int32_t *to = ys->rows ? tn_i_shared_data(ys->rows) : tn_i_spread_rows(k->q, output(k, j), 0);
        if (!to) return false;
        memcpy(to + i * n, tn_i_spread_val_rows(y), (size_t)n * sizeof *to);
    }
    return true;
}

/* Known entries are kept while all are: the stack is made by the step that comes first. */
static bool stack_known(const loop *k, uint32_t j, int64_t i, bool first) {
    const tn_i_spread_val *y = &k->out[j];
    tn_i_spread_val *ys = &k->q->out[output(k, j)];
    const tn_type *t = tn_i_spread_out(k->q, output(k, j));
    if (tn_i_has_steps(t)) return true;
    const size_t bytes = tn_type_bytes(body_out(k, j));
    if (first && y->known && tn_type_bytes(t) <= TN_KNOWN_BYTES &&
        !(ys->known = tn_i_shared_new(k->c, tn_type_bytes(t))))
        return false;
    if (!ys->known) return true;
    if (!y->known) {
        tn_i_shared_unref(k->c, ys->known);
        ys->known = NULL;
        return true;
    }
    memcpy((char *)tn_i_shared_data(ys->known) + (size_t)i * bytes, tn_i_shared_data(y->known), bytes);
    ys->local |= y->local;
    return true;
}

static bool leave(const loop *k, int64_t steps) {
    for (uint32_t j = 0; j < k->l.ncarry; j++) replace(k->c, &k->q->out[j], tn_i_spread_val_ref(&k->in[carry0(k) + j]));
    return !k->l.count || steps < 0 || number(k->c, &k->q->out[k->l.ncarry], steps);
}

/* ---- step by step ------------------------------------------------------------------------------------- */

static bool one_step(loop *k, int64_t i, bool first) {
    const tn_i_loop_eqn *l = &k->l;
    if (l->index && !number(k->c, &k->in[0], i)) return false;
    for (uint32_t x = tn_i_loop_x0(l); x < tn_i_loop_nin(l); x++)
        if (!entry(k, x, i, &k->in[tn_i_loop_inner(l, x)])) return false;
    if (!tn_i_spread_through(k->q->w, l->body, k->in, k->out)) return false;
    for (uint32_t j = 0; j < l->ncarry; j++) {
        replace(k->c, &k->in[carry0(k) + j], k->out[j]);
        k->out[j] = (tn_i_spread_val){0};
    }
    bool ok = true;
    for (uint32_t j = l->ncarry; ok && j < l->body->nout; j++) ok = stack(k, j, i) && stack_known(k, j, i, first);
    free_all(k->c, k->out, l->body->nout);
    return ok;
}

/* Whether the condition holds: 1, 0; -1: not known; -2 after an error. */
static int holds(loop *k, bool *depends) {
    const tn_i_loop_eqn *l = &k->l;
    tn_i_spread_val result = {0};
    for (uint32_t i = 0; i < l->ncond; i++) k->cond[i] = k->q->in[i];
    for (uint32_t j = 0; j < l->ncarry; j++) k->cond[l->ncond + j] = k->in[carry0(k) + j];
    if (!tn_i_spread_through(k->q->w, l->cond, k->cond, &result)) return -2;
    const int yes = result.known ? *(const unsigned char *)tn_i_shared_data(result.known) != 0 : -1;
    *depends = result.rows != NULL;
    tn_i_spread_val_free(k->c, &result);
    return yes;
}

/* ---- any number of steps -------------------------------------------------------------------------------- */

static bool forget(const loop *k, tn_i_spread_val *v, int64_t n) {
    tn_i_rowset *s = &k->q->w->set;
    const int32_t *rows = tn_i_spread_val_rows(v);
    tn_i_shared *b = rows ? tn_i_spread_rows_new(k->q->w, n) : NULL;
    if (rows && !b) return false;
    for (int64_t i = 0; rows && i < n; i++)
        if ((((int32_t *)tn_i_shared_data(b))[i] = tn_i_row_varying(s, rows[i])) < 0) {
            tn_i_shared_unref(k->c, b);
            return false;
        }
    replace(k->c, v, (tn_i_spread_val){.rows = b});
    return true;
}

/* The entries of a stack as one that stands for each. */
static bool any_entry(const loop *k, uint32_t operand, tn_i_spread_val *to) {
    const tn_type *t = k->q->in_type[operand];
    const int64_t n = tn_i_count(body_in(k, tn_i_loop_inner(&k->l, operand)));
    bool changed = false;
    tn_i_spread_val_free(k->c, to);
    if (tn_i_has_steps(t)) return entry(k, operand, 0, to) && forget(k, to, n);
    for (int64_t i = 0; i < t->dim[0]; i++) {
        tn_i_spread_val one = {0};
        const bool ok = entry(k, operand, i, &one) && tn_i_spread_join(k->q->w, n, to, &one, &changed);
        tn_i_spread_val_free(k->c, &one);
        if (!ok) return false;
    }
    return forget(k, to, n);
}

static bool widen(const loop *k) {
    for (uint32_t j = 0; j < k->l.ncarry; j++) {
        tn_i_spread_val *v = &k->in[carry0(k) + j];
        const int64_t n = tn_i_count(body_in(k, carry0(k) + j));
        if (!v->rows) continue;
        const int32_t all = tn_i_spread_hull(k->q->w, 1, v, &n),
                      row = all < 0 ? all : tn_i_row_varying(&k->q->w->set, all);
        if (row < 0) return false;
        tn_i_spread_val same = {.rows = tn_i_spread_rows_new(k->q->w, n)};
        if (!same.rows) return false;
        for (int64_t i = 0; i < n; i++) ((int32_t *)tn_i_shared_data(same.rows))[i] = row;
        replace(k->c, v, same);
    }
    return tn_i_spread_remark(
        k->q->w, k->q->e,
        "a loop of unknown length whose sets went on growing: of what it carries all elements are "
        "taken to depend on what any of them does");
}

static bool round_of(loop *k, bool *changed) {
    const tn_i_loop_eqn *l = &k->l;
    free_all(k->c, k->out, l->body->nout);
    if (!tn_i_spread_through(k->q->w, l->body, k->in, k->out)) return false;
    bool ok = true;
    for (uint32_t j = 0; ok && j < l->ncarry; j++)
        ok = tn_i_spread_join(k->q->w, tn_i_count(body_out(k, j)), &k->in[carry0(k) + j], &k->out[j], changed);
    return ok;
}

static bool any_steps(loop *k) {
    const tn_i_loop_eqn *l = &k->l;
    bool changed = true, ok = true, depends = false;
    if (l->index) tn_i_spread_val_free(k->c, &k->in[0]);
    for (uint32_t j = 0; ok && j < l->ncarry; j++)
        ok = forget(k, &k->in[carry0(k) + j], tn_i_count(body_in(k, carry0(k) + j)));
    for (uint32_t x = tn_i_loop_x0(l); ok && x < tn_i_loop_nin(l); x++)
        ok = any_entry(k, x, &k->in[tn_i_loop_inner(l, x)]);
    for (int rounds = 0; ok && changed; rounds++) {
        changed = false;
        if (rounds >= MOST_ROUNDS) ok = widen(k);
        ok = ok && round_of(k, &changed);
    }
    if (ok && l->is_while && holds(k, &depends) == -2) ok = false;
    if (ok && depends) return tn_i_spread_all(k->q);
    for (uint32_t j = l->ncarry; ok && j < l->body->nout; j++) {
        const tn_type *t = tn_i_spread_out(k->q, output(k, j));
        for (int64_t i = 0; ok && i < (tn_i_has_steps(t) ? 1 : t->dim[0]); i++) ok = stack(k, j, i);
    }
    return ok && leave(k, -1);
}

/* ---- loops ------------------------------------------------------------------------------------------------ */

static bool start(loop *k) {
    const tn_i_loop_eqn *l = &k->l;
    k->in = tn_i_alloc_array(k->c, (size_t)l->body->nin + 1, sizeof *k->in);
    k->out = tn_i_alloc_array(k->c, (size_t)l->body->nout + 1, sizeof *k->out);
    if (l->cond) k->cond = tn_i_alloc_array(k->c, (size_t)l->cond->nin + 1, sizeof *k->cond);
    if (!k->in || !k->out || (l->cond && !k->cond)) return false;
    for (uint32_t i = tn_i_loop_const0(l); i < tn_i_loop_x0(l); i++)
        k->in[tn_i_loop_inner(l, i)] = tn_i_spread_val_ref(&k->q->in[i]);
    k->steps = l->length;
    if (l->length == TN_I_STEPS) k->steps = -1;
    if (l->counted && k->q->in[0].known) memcpy(&k->steps, tn_i_shared_data(k->q->in[0].known), sizeof k->steps);
    return true;
}

static bool exact_scan(loop *k) {
    bool ok = true;
    for (int64_t s = 0; ok && s < k->steps; s++) ok = one_step(k, k->l.reverse ? k->steps - 1 - s : s, s == 0);
    return ok && leave(k, k->steps);
}

static bool exact_while(loop *k) {
    for (int64_t s = 0; s <= MOST_STEPS; s++) {
        bool depends;
        const int more = holds(k, &depends);
        if (more == -2) return false;
        if (depends || more < 0) break;
        if (!more) return leave(k, s);
        if (!one_step(k, s, s == 0)) return false;
    }
    return any_steps(k);
}

bool tn_i_spread_loop(tn_i_spread_eqn *q) {
    loop k = {.q = q, .c = q->w->ctx};
    tn_i_loop_of(q->e->prim, tn_i_p(q->e), q->e->nin, &k.l);
    bool ok = start(&k);
    if (ok && k.l.is_while)
        ok = exact_while(&k);
    else if (ok)
        ok = k.steps >= 0 && k.steps <= MOST_STEPS ? exact_scan(&k) : any_steps(&k);
    free_all(k.c, k.in, k.in ? k.l.body->nin : 0);
    free_all(k.c, k.out, k.out ? k.l.body->nout : 0);
    tn_i_free(k.c, k.in, ((size_t)k.l.body->nin + 1) * sizeof *k.in);
    tn_i_free(k.c, k.out, ((size_t)k.l.body->nout + 1) * sizeof *k.out);
    if (k.cond) tn_i_free(k.c, k.cond, ((size_t)k.l.cond->nin + 1) * sizeof *k.cond);
    return ok;
}

/* ---- branches --------------------------------------------------------------------------------------------- */

static uint32_t taken(const tn_i_spread_val *index, int dtype, uint32_t n) {
    const void *at = tn_i_shared_data(index->known);
    if (dtype == TN_BOOL) return *(const unsigned char *)at != 0;
    const int32_t i = *(const int32_t *)at;
    return i < 0 ? 0 : (uint32_t)i >= n ? n - 1 : (uint32_t)i;
}

/* The results of branch k beside those of the branches before it. */
static bool join_branch(tn_i_spread_eqn *q, uint32_t k, const tn_fn *f, tn_i_spread_val *here, bool *grew) {
    bool ok = tn_i_spread_through(q->w, f, q->in + 1, here);
    for (uint32_t j = 0; ok && j < q->e->nout; j++) {
        bool changed = false;
        ok = tn_i_spread_join(q->w, tn_i_count(tn_i_spread_out(q, j)), &q->out[j], &here[j], &changed);
        *grew |= changed && k > 0;
    }
    free_all(q->w->ctx, here, q->e->nout);
    return ok;
}

bool tn_i_spread_branches(tn_i_spread_eqn *q) {
    const tn_fn *const *f;
    const uint32_t n = tn_i_alternatives(q->e, &f);
    bool grew = false, ok = true;
    if (q->in[0].rows) return tn_i_spread_all(q);
    if (q->in[0].known)
        return tn_i_spread_through(q->w, f[taken(&q->in[0], q->in_type[0]->dtype, n)], q->in + 1, q->out);
    tn_i_spread_val *here = tn_i_alloc_array(q->w->ctx, q->e->nout, sizeof *here);
    if (!here) return false;
    for (uint32_t k = 0; ok && k < n; k++) ok = join_branch(q, k, f[k], here, &grew);
    tn_i_free(q->w->ctx, here, q->e->nout * sizeof *here);
    return ok && (!grew || tn_i_spread_remark(q->w, q->e,
                                              "which branch is taken only a run knows: the entries of all are taken"));
}
