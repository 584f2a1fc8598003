/* While loops as JAX writes those it batched: the condition gives a truth value for each batch element.  Here a
 * condition gives one, so the loop runs while any batch element does, and batch elements that have stopped keep what
 * they carry. */
#include "control/loops/loop.h"
#include "prims/ids.h"

typedef struct batch {
    tn_i_while w;
    const tn_type *on; /* of the condition's result */
} batch;

/* Whether what is carried has the batch elements in front, and the condition and body take it. */
static bool takes(tn_i_builder *b, const batch *l, const tn_i_var *in) {
    const tn_i_while *w = &l->w;
    for (uint32_t i = 0; i < w->ncond; i++)
        if (!tn_type_equal(w->cond->val[i].type, tn_i_vtype(b, in[i]))) return false;
    for (uint32_t j = 0; j < w->ncarry; j++) {
        const tn_type *t = tn_i_vtype(b, in[w->carry0 + j]), *inner = w->body->val[w->nconst + j].type;
        if (!tn_type_equal(w->cond->val[w->ncond + j].type, t) || !tn_type_equal(inner, t)) return false;
        if (!tn_type_equal(w->body->val[w->body->out[j]].type, t) || t->rank < l->on->rank) return false;
        for (int d = 0; d < l->on->rank; d++)
            if (t->dim[d] != l->on->dim[d]) return false;
    }
    return true;
}

static bool has_batch(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in, batch *l) {
    if (!tn_i_while_read(p, nin, &l->w)) return false;
    const tn_i_while *w = &l->w;
    if (w->cond->nout != 1 || w->index || w->count || w->ny || w->cond->effect || w->body->effect) return false;
    l->on = w->cond->val[w->cond->out[0]].type;
    return l->on->dtype == TN_BOOL && l->on->rank > 0 && takes(b, l, in);
}

/* cond_consts.., carry.. -> whether any batch element goes on. */
static tn_fn *any_element(tn_ctx *c, const batch *l, tn_i_var *args) {
    static const int64_t in_order[TN_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    const tn_i_param all = {.kind = TN_K_INTS, .n = (uint32_t)l->on->rank, .u.ints = in_order};
    const tn_fn *cond = l->w.cond;
    tn_i_builder b;
    tn_i_var on;
    tn_i_builder_init(&b, c);
    b.named_after = cond;
    b.regions = cond->regions;
    for (uint32_t i = 0; i < cond->nin; i++) args[i] = tn_i_input(&b, cond->val[i].type, false);
    tn_i_inline(&b, cond, args, &on);
    tn_i_var any = b.failed ? TN_NOVAR : tn_i_emit(&b, tn_i_prim(&b, TN_P_reduce_max), &all, 1, &on);
    return tn_i_finish(&b, 1, &any);
}

/* cond_consts.., consts.., carry.. -> carry..: those of batch elements that have stopped as they were. */
static tn_fn *batch_body(tn_ctx *c, const batch *l, tn_i_var *args, tn_i_var *out) {
    const tn_i_while *w = &l->w;
    tn_i_builder b;
    tn_i_var on;
    tn_i_builder_init(&b, c);
    b.named_after = w->body;
    b.regions = w->body->regions;
    /* the body's inputs behind the condition's consts; then the condition's own, of which the carry is the body's */
    for (uint32_t i = 0; i < w->ncond; i++) args[w->body->nin + i] = tn_i_input(&b, w->cond->val[i].type, false);
    for (uint32_t i = 0; i < w->body->nin; i++) args[i] = tn_i_input(&b, w->body->val[i].type, false);
    for (uint32_t j = 0; j < w->ncarry; j++) args[w->body->nin + w->ncond + j] = args[w->nconst + j];
    tn_i_inline(&b, w->cond, args + w->body->nin, &on);
    tn_i_inline(&b, w->body, args, out);
    for (uint32_t j = 0; j < w->ncarry; j++) out[j] = tn_i_choose_lanes(&b, on, out[j], args[w->nconst + j]);
    return tn_i_finish(&b, w->ncarry, out);
}

static tn_i_var emit(tn_i_builder *b, const batch *l, const tn_i_param *p, const tn_fn *cond, const tn_fn *body,
                     const tn_i_var *in, tn_i_var *args) {
    const tn_i_while *w = &l->w;
    const uint32_t nin = w->ncond + w->nconst + w->ncarry;
    tn_i_param q[TN_WHILE_SCHEDULE + 1];
    for (uint32_t k = 0; k <= TN_WHILE_SCHEDULE; k++) q[k] = p[k];
    q[TN_WHILE_COND].u.fn = cond;
    q[TN_WHILE_BODY].u.fn = body;
    q[TN_WHILE_BODY_CONSTS].u.i += w->ncond;
    for (uint32_t i = 0; i < w->ncond; i++) args[i] = in[i];
    for (uint32_t i = 0; i < nin; i++) args[w->ncond + i] = in[i];
    return tn_i_emit(b, tn_i_prim(b, TN_P_while), q, w->ncond + nin, args);
}

tn_i_var tn_i_while_written(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    batch l;
    tn_i_arena a;
    tn_i_var first = TN_NOVAR;
    if (!has_batch(b, p, nin, in, &l)) return TN_NOVAR;
    tn_i_arena_init(&a, b->ctx);
    tn_i_var *args = tn_i_arena_alloc(&a, 2 * ((size_t)nin + 1) * sizeof *args);
    tn_i_var *out = tn_i_arena_alloc(&a, ((size_t)nin + 1) * sizeof *out);
    tn_fn *cond = args && out ? any_element(b->ctx, &l, args) : NULL;
    tn_fn *body = cond ? batch_body(b->ctx, &l, args, out) : NULL;
    if (body) first = emit(b, &l, p, cond, body, in, args);
    if (first == TN_NOVAR) b->failed = true;
    tn_i_fn_unref(body);
    tn_i_fn_unref(cond);
    tn_i_arena_free(&a);
    return first;
}
