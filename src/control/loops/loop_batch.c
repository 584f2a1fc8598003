/* Batching of loops.  Arrays that are scanned over keep the loop as dimension 0 inside; a stack with `?` has the
 * batch behind its last `?` everywhere. */
#include "control/loops/loop.h"
#include "linearize/prune.h"
#include "prims/ids.h"

#include <string.h>

typedef struct work {
    tn_i_rule *r;
    tn_i_loop_eqn l, to;
    tn_i_arena a;
    bool *flag;                  /* per input of the body */
    const tn_i_memo_entry *body; /* batched */
    const bool *out;             /* per output of the body */
    bool apart;                  /* batch elements stop on their own: a batched condition or number of steps */
} work;

static void *room(work *w, size_t n, size_t size) {
    void *p = tn_i_arena_alloc(&w->a, (n + 1) * size);
    if (!p) w->r->b->failed = true;
    return p;
}

static uint32_t carry_in(const work *w) { return tn_i_loop_inner(&w->l, tn_i_loop_carry0(&w->l)); }

/* ---- which carries are batched ---------------------------------------------------- */

static bool spread(work *w) {
    for (bool changed = true; changed;) {
        changed = false;
        if (!(w->body = tn_i_nested_vmap(w->r, w->l.body, w->flag, false))) return false;
        w->out = (const bool *)w->body->flags;
        for (uint32_t j = 0; j < w->l.ncarry; j++) {
            if (!w->out[j] || w->flag[carry_in(w) + j]) continue;
            w->flag[carry_in(w) + j] = changed = true;
        }
    }
    return true;
}

/* The batched condition, and whether its result is batched. */
static const tn_i_memo_entry *batched_cond(work *w, const bool *batched, bool *each) {
    bool *flag = room(w, w->l.cond->nin, sizeof *flag);
    if (!flag) return NULL;
    for (uint32_t i = 0; i < w->l.ncond; i++) flag[i] = batched[i];
    for (uint32_t j = 0; j < w->l.ncarry; j++) flag[w->l.ncond + j] = w->flag[carry_in(w) + j];
    const tn_i_memo_entry *e = tn_i_nested_vmap(w->r, w->l.cond, flag, false);
    if (e) *each = ((const bool *)e->flags)[0];
    return e;
}

static bool find_batched(work *w, const bool *batched) {
    const tn_i_loop_eqn *l = &w->l;
    const tn_i_memo_entry *cond;
    w->flag = room(w, l->body->nin, sizeof *w->flag);
    if (!w->flag) return false;
    for (uint32_t i = l->index; i < l->body->nin; i++) w->flag[i] = batched[tn_i_loop_operand(l, i)];
    if (!spread(w)) return false;
    w->apart = l->counted && batched[0];
    if (l->is_while && (!(cond = batched_cond(w, batched, &w->apart)))) return false;
    if (!w->apart) return true;
    for (uint32_t j = 0; j < l->ncarry; j++) w->flag[carry_in(w) + j] = true; /* each batch element keeps its own */
    return spread(w) && (!l->is_while || batched_cond(w, batched, &w->apart));
}

/* ---- the batched body --------------------------------------------------------------- */

tn_i_var tn_i_choose_lanes(tn_i_builder *b, tn_i_var on, tn_i_var x, tn_i_var y) {
    static const int64_t in_order[TN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (b->failed || x == y) return x;
    const tn_type *t = tn_i_vtype(b, x);
    const bool spread = t->rank > tn_i_vtype(b, on)->rank;
    return tn_i_op3(b, TN_P_select, spread ? tn_i_broadcast(b, on, t->rank, t->dim, in_order) : on, x, y);
}

/* The inputs of a body being written: [i] and those of the batched one, `more` consts in front of the carry. */
typedef struct writing {
    tn_i_builder b;
    tn_i_var number, *args, *outs, *out; /* the step's number; the batched body's inputs and outputs */
    tn_i_var extra;                      /* the first of `more` */
} writing;

static bool write_inputs(work *w, writing *k, uint32_t nextra, const tn_type *extra, uint32_t extra_at) {
    const tn_fn *f = w->body->result[0];
    tn_type i64 = tn_type_of(TN_I64, 0, NULL);
    k->args = room(w, f->nin, sizeof *k->args);
    k->outs = room(w, f->nout, sizeof *k->outs);
    k->out = room(w, (size_t)f->nout + 1, sizeof *k->out);
    k->number = TN_NOVAR;
    if (w->r->b->failed) return false;
    if (w->to.index) k->number = tn_i_input(&k->b, &i64, false);
    if (w->l.index) k->args[0] = k->number;
    for (uint32_t i = w->l.index; i <= f->nin; i++) {
        for (uint32_t e = 0; i == extra_at && e < nextra; e++) {
            const tn_i_var v = tn_i_input(&k->b, &extra[e], false);
            if (e == 0) k->extra = v;
        }
        if (i < f->nin) k->args[i] = tn_i_input(&k->b, f->val[i].type, false);
    }
    tn_i_inline(&k->b, f, k->args, k->outs);
    return !k->b.failed;
}

/* Carries that are batched leave the step batched. */
static void write_outputs(work *w, writing *k, tn_i_var on) {
    const uint32_t carry = carry_in(w);
    for (uint32_t j = 0; j < w->l.body->nout && !k->b.failed; j++) {
        tn_i_var v = k->outs[j];
        if (j < w->l.ncarry && w->flag[carry + j] && !w->out[j]) v = tn_i_batched(&k->b, v, w->r->batch);
        if (j < w->l.ncarry && on != TN_NOVAR) v = tn_i_choose_lanes(&k->b, on, v, k->args[carry + j]);
        k->out[j] = v;
    }
}

static tn_fn *plain_body(work *w) {
    writing k = {0};
    tn_i_builder_init(&k.b, w->r->b->ctx);
    k.b.named_after = w->l.body;
    k.b.regions = w->l.body->regions;
    if (!write_inputs(w, &k, 0, NULL, 0)) {
        tn_i_builder_drop(&k.b);
        return NULL;
    }
    write_outputs(w, &k, TN_NOVAR);
    return tn_i_finish(&k.b, w->l.body->nout, k.out);
}

/* Batch elements whose number of steps is reached keep what they carry. */
static tn_fn *counted_body(work *w) {
    writing k = {0};
    const tn_type elements = tn_type_of(TN_I64, 1, &w->r->batch);
    tn_i_builder_init(&k.b, w->r->b->ctx);
    k.b.named_after = w->l.body;
    k.b.regions = w->l.body->regions;
    if (!write_inputs(w, &k, 1, &elements, w->l.index)) {
        tn_i_builder_drop(&k.b);
        return NULL;
    }
    tn_i_var i = tn_i_batched(&k.b, k.number, w->r->batch);
    tn_i_var on = tn_i_op2(&k.b, TN_P_lt, i, k.extra);
    write_outputs(w, &k, on);
    return tn_i_finish(&k.b, w->l.body->nout, k.out);
}

/* ---- while batch elements run ------------------------------------------------------------------ */

/* cond_consts.., [count,] carry.. -> whether any batch element goes on. */
static tn_fn *any_element(work *w, const tn_fn *cond) {
    tn_i_builder b;
    const uint32_t ncond = w->l.ncond;
    const tn_type elements = tn_type_of(TN_I64, 1, &w->r->batch);
    static const int64_t axis[1] = {0};
    const tn_i_param p[1] = {{.kind = TN_K_INTS, .n = 1, .u.ints = axis}};
    tn_i_builder_init(&b, w->r->b->ctx);
    b.named_after = cond;
    b.regions = cond->regions;
    tn_i_var *args = room(w, cond->nin, sizeof *args), on;
    if (!args) b.failed = true;
    for (uint32_t i = 0; i <= cond->nin && !b.failed; i++) {
        if (i == ncond) (void)tn_i_input(&b, &elements, false);
        if (i < cond->nin) args[i] = tn_i_input(&b, cond->val[i].type, false);
    }
    tn_i_inline(&b, cond, args ? args : &on, &on);
    tn_i_var going = b.failed ? TN_NOVAR : tn_i_convert(&b, on, TN_I32);
    tn_i_var most = b.failed ? TN_NOVAR : tn_i_emit(&b, tn_i_prim(&b, TN_P_reduce_max), p, 1, &going);
    tn_i_var zero = tn_i_literal_i64(&b, TN_I32, 0);
    tn_i_var any = tn_i_op2(&b, TN_P_gt, most, zero);
    return tn_i_finish(&b, 1, &any);
}

/* Whether f calls user code: a callback that must not see what a batch element has stopped with. */
static bool calls_out(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->id == TN_P_external_call) return true;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n; j++)
                if (calls_out(g[j])) return true;
        }
    }
    return false;
}

static tn_i_var first_lane(tn_i_builder *b, tn_i_var on) {
    static const int64_t axis[1] = {0};
    const tn_i_param p[2] = {{.kind = TN_K_INTS, .n = 1, .u.ints = axis}, {.kind = TN_K_DTYPE, .u.i = TN_I64}};
    tn_i_var going = b->failed ? TN_NOVAR : tn_i_convert(b, on, TN_I32);
    return b->failed ? TN_NOVAR : tn_i_emit(b, tn_i_prim(b, TN_P_argmax), p, 1, &going);
}

/* x of the batch element `first` in the place of batch elements that are not on. */
static tn_i_var running(tn_i_builder *b, tn_i_var on, tn_i_var first, tn_i_var x) {
    const tn_type *t = b->failed ? NULL : tn_i_vtype(b, x);
    if (!t) return TN_NOVAR;
    tn_i_var in[1 + TN_MAX_RANK] = {x, first};
    int64_t sizes[TN_MAX_RANK];
    const int rank = t->rank;
    const int64_t elements = t->dim[0];
    for (int d = 0; d < rank; d++) sizes[d] = d ? t->dim[d] : 1;
    for (int d = 1; d < rank; d++) in[1 + d] = tn_i_literal_i64(b, TN_I64, 0);
    const tn_i_param p[1] = {{.kind = TN_K_INTS, .n = (uint32_t)rank, .u.ints = sizes}};
    tn_i_var one = tn_i_emit(b, tn_i_prim(b, TN_P_dynamic_slice), p, 1 + (uint32_t)rank, in);
    tn_i_var element = tn_i_reshape(b, one, rank - 1, sizes + 1);
    tn_i_var all = tn_i_batched(b, element, elements);
    return b->failed ? TN_NOVAR : tn_i_choose_lanes(b, on, x, all);
}

/* [i] cond_consts.., consts.., count, carry.. -> count, carry.., y..: batch elements that have stopped keep what they
 * carry. */
static tn_fn *batch_body(work *w, const tn_fn *cond) {
    writing k = {0};
    tn_ctx *c = w->r->b->ctx;
    const tn_i_loop_eqn *l = &w->l;
    const tn_fn *f = w->body->result[0];
    const tn_type elements = tn_type_of(TN_I64, 1, &w->r->batch), i64 = tn_type_of(TN_I64, 0, NULL);
    tn_i_var *args = room(w, cond->nin, sizeof *args), on = TN_NOVAR;
    k.args = room(w, f->nin, sizeof *k.args);
    k.outs = room(w, f->nout, sizeof *k.outs);
    k.out = room(w, (size_t)f->nout + 1, sizeof *k.out);
    if (w->r->b->failed) return NULL;
    tn_i_builder_init(&k.b, c);
    k.b.named_after = l->body;
    k.b.regions = l->body->regions;
    if (l->index) k.args[0] = tn_i_input(&k.b, &i64, false);
    for (uint32_t i = 0; i < l->ncond; i++) args[i] = tn_i_input(&k.b, cond->val[i].type, false);
    for (uint32_t i = l->index; i < carry_in(w); i++) k.args[i] = tn_i_input(&k.b, f->val[i].type, false);
    tn_i_var count = tn_i_input(&k.b, &elements, false);
    for (uint32_t i = carry_in(w); i < f->nin; i++) {
        k.args[i] = tn_i_input(&k.b, f->val[i].type, false);
        args[l->ncond + i - carry_in(w)] = k.args[i];
    }
    tn_i_inline(&k.b, cond, args, &on);
    const bool callbacks = w->r->batch > 0 && calls_out(l->body);
    const tn_i_var first = callbacks ? first_lane(&k.b, on) : TN_NOVAR;
    tn_i_var *enter = room(w, f->nin, sizeof *enter);
    for (uint32_t i = 0; enter && i < f->nin; i++)
        enter[i] = callbacks && i >= carry_in(w) ? running(&k.b, on, first, k.args[i]) : k.args[i];
    if (!enter) k.b.failed = true;
    if (enter) tn_i_inline(&k.b, f, enter, k.outs);
    write_outputs(w, &k, on);
    tn_i_var one = tn_i_convert(&k.b, on, TN_I64);
    count = tn_i_op2(&k.b, TN_P_add, count, one);
    for (uint32_t j = l->body->nout; j-- > 0;) k.out[j + 1] = k.out[j];
    k.out[0] = count;
    return tn_i_finish(&k.b, l->body->nout + 1, k.out);
}

/* ---- operands and results --------------------------------------------------------------- */

static tn_i_var swap_front(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR || tn_i_has_steps(tn_i_vtype(b, x))) return x;
    int64_t perm[TN_MAX_RANK];
    for (int d = 0; d < TN_MAX_RANK; d++) perm[d] = d < 2 ? 1 - d : d;
    return tn_i_permute(b, x, perm);
}

/* Carries of a batch element loop, and others whose steps make them batched, enter batched. */
static tn_i_var entering(const work *w, uint32_t i, const bool *batched) {
    const uint32_t inner = tn_i_loop_inner(&w->l, i);
    tn_i_builder *b = w->r->b;
    const bool carry = i >= tn_i_loop_carry0(&w->l) && i < tn_i_loop_x0(&w->l);
    if (carry && w->flag[inner] && !batched[i]) return tn_i_batched(b, w->r->in[i], w->r->batch);
    if (i >= tn_i_loop_x0(&w->l) && batched[i]) return swap_front(b, w->r->in[i]);
    return w->r->in[i];
}

static tn_i_var longest(tn_i_builder *b, tn_i_var n) {
    static const int64_t axis[1] = {0};
    const tn_i_param p[1] = {{.kind = TN_K_INTS, .n = 1, .u.ints = axis}};
    if (b->failed) return TN_NOVAR;
    return tn_i_emit(b, tn_i_prim(b, TN_P_reduce_max), p, 1, &n);
}

static void results(work *w, tn_i_var v, tn_i_var *out, bool *out_batched) {
    const tn_i_loop_eqn *l = &w->l;
    const bool counting = w->apart && l->is_while;
    tn_i_var count = counting ? v++ : TN_NOVAR;
    for (uint32_t j = 0; j < l->ncarry; j++) {
        out[j] = v++;
        out_batched[j] = w->flag[carry_in(w) + j];
    }
    if (l->count) {
        out[l->ncarry] = counting ? count : v++;
        out_batched[l->ncarry] = counting;
    }
    for (uint32_t j = 0; j < l->ny; j++, v++) {
        const bool batched = w->out[l->ncarry + j];
        out[tn_i_loop_y0(l) + j] = batched ? swap_front(w->r->b, v) : v;
        out_batched[tn_i_loop_y0(l) + j] = batched;
    }
}

static void batch_lanes(work *w, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_i_loop_eqn *l = &w->l;
    tn_i_rule *r = w->r;
    bool each;
    const tn_type elements = tn_type_of(TN_I64, 1, &r->batch);
    if (l->body->effect || l->cond->effect) {
        tn_i_rule_fail(r, TN_ERULE, -1, "has an effect, and batch elements stop on their own");
        return;
    }
    const tn_i_memo_entry *e = batched_cond(w, batched, &each);
    tn_i_var *in = room(w, 2 * (size_t)r->nin + 1, sizeof *in), first = TN_NOVAR;
    uint32_t n = 0;
    if (!e || !in) return;
    tn_fn *cond = any_element(w, e->result[0]), *body = cond ? batch_body(w, e->result[0]) : NULL;
    for (int again = 0; again < 2; again++)
        for (uint32_t i = 0; i < l->ncond; i++) in[n++] = r->in[i];
    for (uint32_t i = l->ncond; i < tn_i_loop_carry0(l); i++) in[n++] = r->in[i];
    in[n++] = tn_i_zeros(r->b, &elements);
    for (uint32_t i = tn_i_loop_carry0(l); i < r->nin; i++) in[n++] = entering(w, i, batched);
    if (body) {
        w->to.cond = cond;
        w->to.body = body;
        w->to.nconst = l->ncond + l->nconst;
        w->to.ncarry = l->ncarry + 1;
        w->to.count = false;
        first = tn_i_loop_emit(r, &w->to, in);
    }
    if (first != TN_NOVAR) results(w, first, out, out_batched);
    tn_i_fn_unref(body);
    tn_i_fn_unref(cond);
}

static void batch(work *w, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_i_loop_eqn *l = &w->l;
    tn_i_rule *r = w->r;
    w->to = *l;
    if (w->apart && l->is_while) {
        batch_lanes(w, batched, out, out_batched);
        return;
    }
    tn_i_var *in = room(w, (size_t)r->nin + 1, sizeof *in), first = TN_NOVAR;
    uint32_t n = 0;
    if (!in) return;
    w->to.index |= w->apart;
    tn_fn *body = w->apart ? counted_body(w) : plain_body(w);
    const tn_i_memo_entry *cond = NULL;
    bool each;
    if (l->is_while && (cond = batched_cond(w, batched, &each)) == NULL) body = NULL;
    for (uint32_t i = 0; i < tn_i_loop_const0(l); i++) in[n++] = w->apart ? longest(r->b, r->in[0]) : r->in[i];
    if (w->apart) in[n++] = r->in[0];
    for (uint32_t i = tn_i_loop_const0(l); i < r->nin; i++) in[n++] = entering(w, i, batched);
    if (body) {
        w->to.body = body;
        w->to.cond = cond ? cond->result[0] : NULL;
        w->to.nconst += w->apart;
        first = tn_i_loop_emit(r, &w->to, in);
    }
    if (first != TN_NOVAR) results(w, first, out, out_batched);
    tn_i_fn_unref(body);
}

void tn_i_loop_batch(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    work w = {.r = r};
    tn_i_loop_of(r->e->prim, r->p, r->nin, &w.l);
    tn_i_arena_init(&w.a, r->b->ctx);
    if (find_batched(&w, batched)) batch(&w, batched, out, out_batched);
    for (uint32_t j = 0; j < r->nout; j++)
        if (out[j] == TN_NOVAR) r->b->failed = true;
    tn_i_arena_free(&w.a);
}
