#include "laws/copy64.h"
#include "prims/ids.h"

#include <string.h>

static bool is_narrow(int dtype) { return tn_i_is_float(dtype) && dtype != TN_F64; }

static tn_type widened(const tn_type *t) {
    tn_type w = *t;
    if (is_narrow(w.dtype)) w.dtype = TN_F64;
    return w;
}

static uint32_t params(const tn_i_eqn *e) { return e->params ? e->params->n : 0; }

static bool holds(const tn_fn *f, bool (*is)(int dtype)) {
    for (uint32_t v = 0; v < f->nval; v++)
        if (is(f->val[v].type->dtype)) return true;
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t k = 0; k < params(&f->eqn[i]); k++) {
            const tn_i_param *p = &f->eqn[i].params->v[k];
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(p, &g);
            for (uint32_t j = 0; j < n; j++)
                if (holds(g[j], is)) return true;
        }
    return false;
}

static bool is_half(int dtype) { return tn_i_is_half(dtype); }

bool laws_holds_f32(const tn_fn *f) { return holds(f, is_narrow); }
bool laws_holds_half(const tn_fn *f) { return holds(f, is_half); }

static const tn_i_blob *wide_blob(tn_ctx *c, const tn_i_blob *k) {
    const tn_type t = widened(k->type);
    tn_i_blob *w = tn_i_blob_new(c, &t);
    if (!w) return NULL;
    const char *from = tn_i_blob_data(k);
    double *to = tn_i_blob_data(w);
    const int64_t size = (int64_t)tn_i_dtype_size(k->type->dtype);
    for (int64_t i = 0; i < tn_i_count(&t); i++) to[i] = tn_i_element(k->type->dtype, from + i * size);
    tn_i_blob_seal(w);
    return w;
}

static bool copy_programs(tn_ctx *c, const tn_i_param *p, tn_i_param *q) {
    const tn_fn **f = tn_i_alloc_array(c, p->n, sizeof *f);
    bool ok = f != NULL;
    q->u.fns = f;
    for (uint32_t i = 0; ok && i < p->n; i++) ok = (f[i] = laws_copy_f64(p->u.fns[i])) != NULL;
    return ok;
}

/* Parameter p as q; what q holds is released by drop_param. */
static bool copy_param(tn_ctx *c, const tn_i_param *p, tn_i_param *q) {
    *q = *p;
    switch (p->kind) {
    case TN_K_PTR: return true; /* see callback_on_f32 */
    case TN_K_TYPES:
        for (uint32_t i = 0; i < p->n; i++)
            if (is_narrow(p->u.types[i]->dtype)) return false;
        return true;
    case TN_K_DTYPE:
        if (is_narrow((int)p->u.i)) q->u.i = TN_F64;
        return true;
    case TN_K_FNS: return copy_programs(c, p, q);
    case TN_K_FN: q->u.fn = laws_copy_f64(p->u.fn); return q->u.fn != NULL;
    case TN_K_BLOB:
        if (is_narrow(p->u.blob->type->dtype)) q->u.blob = wide_blob(c, p->u.blob);
        return q->u.blob != NULL;
    default: return true;
    }
}

static void drop_param(tn_ctx *c, const tn_i_param *p, tn_i_param *q) {
    if (p->kind == TN_K_FN) tn_i_fn_unref(q->u.fn);
    for (uint32_t i = 0; p->kind == TN_K_FNS && q->u.fns && i < p->n; i++) tn_i_fn_unref(q->u.fns[i]);
    if (p->kind == TN_K_FNS) tn_i_free(c, (void *)(uintptr_t)q->u.fns, p->n * sizeof *q->u.fns);
    if (p->kind == TN_K_BLOB && q->u.blob && q->u.blob != p->u.blob) tn_i_blob_unref(c, q->u.blob);
}

/* User code takes the types it was registered with. */
static bool callback_on_f32(const tn_fn *f, const tn_i_eqn *e) {
    bool callback = false, f32 = false;
    for (uint32_t k = 0; k < params(e); k++) callback |= e->params->v[k].kind == TN_K_PTR;
    for (uint32_t i = 0; i < e->nin; i++) f32 |= is_narrow(f->val[tn_i_in(f, e)[i]].type->dtype);
    for (uint32_t j = 0; j < e->nout; j++) f32 |= is_narrow(f->val[e->out + j].type->dtype);
    return callback && f32;
}

/* Random f32 numbers are those of their key; f64 would be others. */
static bool f32_of_integers(const tn_fn *f, const tn_i_eqn *e) {
    if (!(e->prim->flags & TN_F_NODIFF) || e->nin == 0 || e->nout != 1 || !is_narrow(f->val[e->out].type->dtype))
        return false;
    for (uint32_t i = 0; i < e->nin; i++)
        if (tn_i_is_float(f->val[tn_i_in(f, e)[i]].type->dtype)) return false;
    return true;
}

/* Bits of f32 numbers are those of f32. */
static bool bits_of_f32(const tn_fn *f, const tn_i_eqn *e) {
    return e->prim->id == TN_P_bitcast_convert_type && is_narrow(f->val[tn_i_in(f, e)[0]].type->dtype);
}

static tn_i_var operand(tn_i_builder *b, const tn_fn *f, tn_i_var *map, tn_i_var v) {
    if (map[v] == TN_NOVAR && tn_i_is_literal(f, v) && is_narrow(f->val[v].type->dtype)) {
        unsigned char at[8];
        tn_i_put_bits(f->val[v].type->dtype, at, f->val[v].bits);
        map[v] = tn_i_literal_f64(b, TN_F64, tn_i_element(f->val[v].type->dtype, at));
    }
    return tn_i_mapped(b, f, map, v);
}

static bool copy_equation(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    tn_i_param q[TN_MAX_PARAMS];
    uint32_t n = 0;
    bool ok = !callback_on_f32(f, e);
    for (; ok && n < params(e); n++) ok = copy_param(b->ctx, &e->params->v[n], &q[n]);
    tn_i_var *in = ok ? tn_i_alloc_array(b->ctx, e->nin, sizeof *in) : NULL;
    if (in) {
        for (uint32_t i = 0; i < e->nin; i++) in[i] = operand(b, f, map, tn_i_in(f, e)[i]);
        b->loc = e->loc;
        b->region = e->region;
        const bool chosen = f32_of_integers(f, e);
        if (bits_of_f32(f, e)) in[0] = tn_i_convert(b, in[0], f->val[tn_i_in(f, e)[0]].type->dtype);
        tn_i_var out = tn_i_emit(b, e->prim, chosen ? tn_i_p(e) : params(e) ? q : NULL, e->nin, in);
        if (chosen) out = tn_i_convert(b, out, TN_F64);
        for (uint32_t j = 0; j < e->nout && out != TN_NOVAR; j++) map[e->out + j] = out + j;
        ok = out != TN_NOVAR;
    }
    if (in) tn_i_free(b->ctx, in, e->nin * sizeof *in);
    for (uint32_t k = 0; k < n; k++) drop_param(b->ctx, &e->params->v[k], &q[k]);
    return ok && !b->failed;
}

const tn_fn *laws_copy_f64(const tn_fn *f) {
    if (!laws_holds_f32(f)) return tn_i_fn_ref(f);
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.raw = true;
    b.regions = f->regions;
    tn_i_var *map = tn_i_map_new(f), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) {
        const tn_type t = widened(f->val[i].type);
        map[i] = tn_i_input(&b, &t, i >= f->nin - f->nlin);
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < f->neqn; i++) ok = copy_equation(&b, f, &f->eqn[i], map);
    for (uint32_t j = 0; ok && j < f->nout; j++) out[j] = operand(&b, f, map, f->out[j]);
    b.region = 0;
    const tn_fn *g = NULL;
    if (ok)
        g = tn_i_finish(&b, f->nout, out);
    else
        tn_i_builder_drop(&b);
    tn_i_map_free(f, map);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}
