#include "api/promote.h"

#include "ir/memo.h"
#include "prims/prim.h"

#include <string.h>

static const char kind;

static tn_fn *promote(const tn_fn *f, tn_i_memo *memo);

static tn_type wide(const tn_type *t) {
    tn_type w = *t;
    if (w.dtype == TN_F32) w.dtype = TN_F64;
    return w;
}

static tn_i_var wide_literal(tn_i_builder *b, const tn_i_val *v) {
    if (v->type->dtype != TN_F32) return tn_i_literal(b, v->type->dtype, v->bits);
    uint32_t u = (uint32_t)v->bits;
    float x;
    memcpy(&x, &u, sizeof x);
    return tn_i_literal_f64(b, TN_F64, (double)x);
}

static const tn_i_blob *wide_blob(tn_ctx *c, const tn_i_blob *k) {
    tn_type t = wide(k->type);
    tn_i_blob *w = tn_i_blob_new(c, &t);
    if (!w) return NULL;
    const float *from = tn_i_blob_data(k);
    double *to = tn_i_blob_data(w);
    for (int64_t i = 0, n = tn_i_count(&t); i < n; i++) to[i] = (double)from[i];
    tn_i_blob_seal(w);
    return w;
}

static const tn_fn *wide_fn(const tn_fn *f, tn_i_memo *memo) {
    const tn_i_memo_entry *e = tn_i_memo_find(memo, &kind, f, NULL, 0);
    if (!e) {
        tn_fn *g = promote(f, memo);
        e = g ? tn_i_memo_add(memo, &kind, f, NULL, 0, g, NULL, NULL, 0) : NULL;
    }
    return e ? e->result[0] : NULL;
}

static bool has_f32(const tn_i_param *p) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->u.types[i]->dtype == TN_F32) return true;
    return false;
}

/* One parameter; `made` receives a new blob to be released, `list` has room for its programs. */
static bool wide_param(tn_i_builder *b, tn_i_param *p, tn_i_memo *memo, const tn_i_blob **made, const tn_fn **list) {
    switch (p->kind) {
    case TN_K_DTYPE:
        if (p->u.i == TN_F32) p->u.i = TN_F64;
        return true;
    case TN_K_FN: return (p->u.fn = wide_fn(p->u.fn, memo)) != NULL;
    case TN_K_FNS:
        for (uint32_t i = 0; i < p->n; i++)
            if ((list[i] = wide_fn(p->u.fns[i], memo)) == NULL) return false;
        p->u.fns = list;
        return true;
    case TN_K_BLOB:
        if (p->u.blob->type->dtype != TN_F32) return true;
        return (p->u.blob = *made = wide_blob(b->ctx, p->u.blob)) != NULL;
    case TN_K_TYPES:
        if (!has_f32(p)) return true;
        tn_i_builder_fail(b, TN_ERULE, "an external function of f32 has no f64 copy");
        return false;
    default: return true;
    }
}

static void step(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, tn_i_memo *memo) {
    tn_i_param p[TN_MAX_PARAMS];
    const tn_i_blob *made = NULL;
    const tn_fn **list = NULL;
    uint32_t nlist = 0;
    b->loc = e->loc;
    b->region = e->region;
    b->linear = e->linear;
    for (uint32_t k = 0; e->params && k < e->params->n; k++) {
        p[k] = e->params->v[k];
        if (p[k].kind == TN_K_FNS) nlist = p[k].n; /* one parameter of an equation at most */
        if (p[k].kind == TN_K_FNS && !(list = tn_i_alloc_array(b->ctx, nlist, sizeof *list))) b->failed = true;
        if (b->failed || !wide_param(b, &p[k], memo, &made, list)) b->failed = true;
    }
    tn_i_var *in = tn_i_alloc_array(b->ctx, e->nin, sizeof *in);
    if (!in) b->failed = true;
    for (uint32_t i = 0; i < e->nin && !b->failed; i++) {
        tn_i_var v = tn_i_in(f, e)[i];
        if (map[v] == TN_NOVAR && tn_i_is_literal(f, v)) map[v] = wide_literal(b, &f->val[v]);
        in[i] = map[v];
    }
    tn_i_var out = b->failed ? TN_NOVAR : tn_i_emit(b, e->prim, p, e->nin, in);
    for (uint32_t j = 0; j < e->nout && out != TN_NOVAR; j++) map[e->out + j] = out + j;
    tn_i_free(b->ctx, in, e->nin * sizeof *in);
    tn_i_free(b->ctx, (void *)list, nlist * sizeof *list);
    tn_i_blob_unref(b->ctx, made);
}

static tn_fn *promote(const tn_fn *f, tn_i_memo *memo) {
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.raw = true;
    b.mixed = f->mixed;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    if (!map || !out) b.failed = true;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) {
        tn_type t = wide(f->val[i].type);
        map[i] = tn_i_input(&b, &t, f->val[i].linear);
    }
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) step(&b, f, &f->eqn[i], map, memo);
    for (uint32_t j = 0; j < f->nout && !b.failed; j++) {
        tn_i_var v = f->out[j];
        out[j] = map[v] == TN_NOVAR && tn_i_is_literal(f, v) ? wide_literal(&b, &f->val[v]) : map[v];
    }
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    if (map) tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

tn_fn *tn_i_promote(const tn_fn *f) {
    tn_i_memo memo;
    tn_i_memo_init(&memo, f->ctx);
    tn_fn *g = promote(f, &memo);
    tn_i_memo_free(&memo);
    return g;
}
