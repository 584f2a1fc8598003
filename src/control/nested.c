#include "control/nested.h"

#include "jvp/jvp.h"
#include "transpose/transpose.h"
#include "vmap/vmap.h"

#include <stdio.h>
#include <string.h>

static const char jvp_kind, vmap_kind, transpose_kind, transpose_linear_kind;

static const tn_i_memo_entry *failed(tn_i_rule *r) {
    r->b->failed = true;
    return NULL;
}

const tn_i_memo_entry *tn_i_nested_jvp(tn_i_rule *r, const tn_fn *f, const tn_i_var *din) {
    tn_ctx *c = r->b->ctx;
    uint32_t n = 0, *wrt = tn_i_alloc_array(c, f->nin, sizeof *wrt);
    bool *active = tn_i_alloc_array(c, f->nout, sizeof *active);
    const tn_i_memo_entry *e = NULL;
    if (wrt && active) {
        for (uint32_t i = 0; i < f->nin; i++)
            if (din[i] != TN_NOVAR) wrt[n++] = i;
        e = tn_i_memo_find(r->memo, &jvp_kind, f, wrt, n * sizeof *wrt);
        if (!e) {
            tn_fn *g = tn_i_jvp(f, n, wrt, false, active, r->memo);
            if (g)
                e = tn_i_memo_add(r->memo, &jvp_kind, f, wrt, n * sizeof *wrt, g, NULL, active,
                                  f->nout * sizeof *active);
        }
    }
    tn_i_free(c, wrt, f->nin * sizeof *wrt);
    tn_i_free(c, active, f->nout * sizeof *active);
    return e ? e : failed(r);
}

const tn_i_memo_entry *tn_i_nested_vmap(tn_i_rule *r, const tn_fn *f, const bool *batched, bool all) {
    tn_ctx *c = r->b->ctx;
    size_t nkey = sizeof(int64_t) + 1 + f->nin;
    unsigned char *key = tn_i_alloc(c, nkey);
    bool *out = tn_i_alloc_array(c, f->nout, sizeof *out);
    const tn_i_memo_entry *e = NULL;
    if (key && out) {
        memcpy(key, &r->batch, sizeof r->batch);
        key[sizeof r->batch] = all;
        for (uint32_t i = 0; i < f->nin; i++) key[sizeof r->batch + 1 + i] = batched[i];
        e = tn_i_memo_find(r->memo, &vmap_kind, f, key, nkey);
        if (!e) {
            tn_fn *g = tn_i_vmap(f, r->batch, batched, all, out, r->memo);
            if (g) e = tn_i_memo_add(r->memo, &vmap_kind, f, key, nkey, g, NULL, out, f->nout * sizeof *out);
        }
    }
    tn_i_free(c, key, nkey);
    tn_i_free(c, out, f->nout * sizeof *out);
    return e ? e : failed(r);
}

/* f, which makes the inputs that are zeros itself: that they are linear is seen of zeros alone, not of inputs. */
static tn_fn *with_zeros(const tn_fn *f, const bool *zero) {
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.named_after = f;
    b.regions = f->regions;
    b.mixed = f->mixed;
    tn_i_var *in = tn_i_alloc_array(f->ctx, f->nin, sizeof *in), *out = tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    b.failed = !in || !out;
    for (uint32_t i = 0; i < f->nin && !b.failed; i++) in[i] = tn_i_input(&b, f->val[i].type, f->val[i].linear);
    for (uint32_t i = 0; i < f->nin && !b.failed; i++)
        if (zero[i]) in[i] = tn_i_zeros(&b, f->val[i].type);
    if (!b.failed) tn_i_inline(&b, f, in, out);
    tn_fn *g = tn_i_finish(&b, f->nout, out);
    tn_i_free(f->ctx, in, f->nin * sizeof *in);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static tn_fn *transposed(const tn_fn *f, const bool *linear, const bool *zero, tn_i_memo *memo) {
    bool any = false;
    for (uint32_t i = 0; i < f->nin; i++) any |= zero[i];
    if (!any || !tn_i_separable(f)) return tn_i_transpose(f, linear, memo);
    tn_fn *g = with_zeros(f, zero), *t = g ? tn_i_transpose(g, linear, memo) : NULL;
    tn_i_fn_unref(g);
    return t;
}

const tn_i_memo_entry *tn_i_nested_transpose(tn_i_rule *r, const tn_fn *f, const bool *linear, const tn_i_var *given) {
    tn_ctx *c = r->b->ctx;
    const size_t n = f->nin;
    bool *key = tn_i_alloc_array(c, 2 * n, sizeof *key), *zero = key ? key + n : NULL;
    const tn_i_memo_entry *e = NULL;
    for (uint32_t i = 0; key && i < f->nin; i++) {
        key[i] = linear[i];
        zero[i] = !linear[i] && given[i] != TN_NOVAR && tn_i_is_zero(r->b, given[i]);
    }
    if (key && !(e = tn_i_memo_find(r->memo, &transpose_kind, f, key, 2 * n * sizeof *key))) {
        tn_fn *g = transposed(f, linear, zero, r->memo);
        if (g) e = tn_i_memo_add(r->memo, &transpose_kind, f, key, 2 * n * sizeof *key, g, NULL, NULL, 0);
    }
    tn_i_free(c, key, 2 * n * sizeof *key);
    return e ? e : failed(r);
}

const tn_i_memo_entry *tn_i_nested_transpose_linear(tn_i_rule *r, const tn_fn *f) {
    const tn_i_memo_entry *e = tn_i_memo_find(r->memo, &transpose_linear_kind, f, NULL, 0);
    if (e) return e;
    tn_fn *g = tn_i_transpose_linear(f);
    if (g) e = tn_i_memo_add(r->memo, &transpose_linear_kind, f, NULL, 0, g, NULL, NULL, 0);
    return e ? e : failed(r);
}

/* Programs of p as they are over the batch; false after an error. */
static bool batch_each(tn_i_rule *r, tn_i_param *p, const bool *flags) {
    for (uint32_t k = 0; k < r->e->params->n; k++) {
        if (p[k].kind != TN_K_FN) continue;
        const tn_i_memo_entry *e = tn_i_nested_vmap(r, p[k].u.fn, flags, true);
        if (!e) return false;
        p[k].u.fn = e->result[0];
    }
    return true;
}

void tn_i_batch_programs(tn_i_rule *r, tn_i_param *p, uint32_t first, uint32_t n, const bool *batched, tn_i_var *out,
                         bool *out_batched) {
    tn_ctx *c = r->b->ctx;
    size_t most = r->nin;
    for (uint32_t k = 0; k < r->e->params->n; k++)
        if (p[k].kind == TN_K_FN && p[k].u.fn->nin > most) most = p[k].u.fn->nin;
    bool *flags = tn_i_alloc_array(c, most, sizeof *flags);
    tn_i_var *in = tn_i_alloc_array(c, r->nin, sizeof *in);
    if (flags && in) {
        for (uint32_t i = 0; i < most; i++) flags[i] = i >= r->nin || (i >= first && i - first < n) || batched[i];
        for (uint32_t i = 0; i < r->nin; i++)
            in[i] = flags[i] && !batched[i] ? tn_i_batched(r->b, r->in[i], r->batch) : r->in[i];
        const tn_i_var y = batch_each(r, p, flags) ? tn_i_emit(r->b, r->e->prim, p, r->nin, in) : TN_NOVAR;
        for (uint32_t j = 0; j < r->nout; j++) {
            out[j] = y == TN_NOVAR ? y : y + j;
            out_batched[j] = true;
        }
    } else
        r->b->failed = true;
    tn_i_free(c, flags, most * sizeof *flags);
    tn_i_free(c, in, r->nin * sizeof *in);
}

bool tn_i_linear_from(const tn_fn *f, const tn_i_eqn *e, uint32_t first, const uint8_t *in, uint8_t *out) {
    const char *name = e->prim->name;
    bool linear = false, zero = true;
    for (uint32_t i = 0; i < e->nin; i++) {
        if (i < first && in[i] == TN_LINEAR) {
            (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc, "%s: operand %u is a residual, not a linear input", name,
                            (unsigned)i);
            return false;
        }
        if (i < first) continue;
        linear |= in[i] == TN_LINEAR;
        zero &= in[i] == TN_ZERO;
    }
    for (uint32_t i = first; i < e->nin && linear; i++)
        if (in[i] == TN_NONLINEAR) {
            (void)tn_i_fail(f->ctx, TN_ELINEAR, e->loc,
                            "%s: operand %u does not depend on a linear input, but others do", name, (unsigned)i);
            return false;
        }
    for (uint32_t j = 0; j < e->nout; j++) out[j] = linear ? TN_LINEAR : zero ? TN_ZERO : TN_NONLINEAR;
    return true;
}

bool tn_i_type_nested_inputs(tn_i_query *q, const tn_fn *f, const char *what) {
    char text[TN_I_TYPE_TEXT];
    if (f->nin != q->nin)
        return tn_i_type_fail(q, -1, "%s takes %u inputs, not %u", what, (unsigned)f->nin, (unsigned)q->nin);
    for (uint32_t i = 0; i < f->nin; i++)
        if (f->val[i].type != q->in[i] && !tn_i_fits(q, i, f->val[i].type))
            return tn_i_type_fail(q, (int)i, "%s takes %s", what, tn_i_type_text(text, f->val[i].type));
    return true;
}

bool tn_i_type_nested_outputs(tn_i_query *q, const tn_fn *f) {
    if (!tn_i_outputs(q, f->nout)) return false;
    for (uint32_t j = 0; j < f->nout; j++) q->out[j] = *f->val[f->out[j]].type;
    return true;
}

uint32_t tn_i_float_inputs(const tn_fn *f) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->nin; i++) n += tn_i_is_float(f->val[i].type->dtype);
    return n;
}

uint32_t tn_i_float_outputs(const tn_fn *f) {
    uint32_t n = 0;
    for (uint32_t j = 0; j < f->nout; j++) n += tn_i_is_float(f->val[f->out[j]].type->dtype);
    return n;
}

const char *tn_i_wrapped_name(tn_i_builder *b, const char *what, const char *name) {
    char text[256];
    int n = snprintf(text, sizeof text, "%s(%s)", what, name);
    if (n <= 0 || (size_t)n >= sizeof text) return name;
    const char *s = tn_i_string(b->ctx, text, (size_t)n);
    if (!s) b->failed = true;
    return s;
}

void tn_i_cost_nested(const tn_fn *f, tn_i_cost *cost) { (void)tn_i_fn_cost(f, cost); }
