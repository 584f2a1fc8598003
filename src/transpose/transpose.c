/* One backward walk over the linear equations, cotangents accumulated in place
 * where a rule can (DESIGN section 4). */
#include "transpose/transpose.h"

#include "jvp/jvp.h"
#include "linearize/linearize.h"
#include "prims/frame.h"

#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const tn_fn *f;
    const bool *input_linear;
    tn_i_builder b;
    tn_i_frame w;
    tn_i_var *map;   /* nonlinear values */
    tn_i_var *ct;    /* cotangents accumulated so far */
    uint8_t *linear; /* per value */
    uint32_t *uses;  /* linear equations and outputs still to contribute */
    bool *more, *merged;
    uint8_t *asked;  /* per equation that is not linear: it is emitted, or due */
    uint32_t *due;   /* equations, to be emitted now */
    uint32_t region; /* of the transposed equations */
} walk;

static void find_linear(walk *k) {
    const tn_fn *f = k->f;
    for (uint32_t v = 0; v < f->nin; v++) k->linear[v] = k->input_linear[v];
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        uint8_t linear = 0;
        for (uint32_t n = 0; n < e->nin; n++) linear |= k->linear[tn_i_in(f, e)[n]];
        for (uint32_t j = 0; j < e->nout; j++) k->linear[e->out + j] = linear;
        for (uint32_t n = 0; n < e->nin; n++) k->uses[tn_i_in(f, e)[n]] += linear;
    }
}

static bool is_linear_eqn(const walk *k, const tn_i_eqn *e) { return e->nout && k->linear[e->out]; }

static void ask(walk *k, tn_i_var v, uint32_t *n) {
    const uint32_t i = k->f->val[v].def;
    if (i >= TN_DEF_LITERAL || k->asked[i] || k->linear[v]) return;
    k->asked[i] = 1;
    k->due[(*n)++] = i;
}

static int by_number(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Everything that e reads but that is not linear itself.  It is computed where it is first wanted, in the order of the
 * program: what one part of the walk recomputes is not there yet while another runs. */
static void provide(walk *k, const tn_i_eqn *e) {
    const tn_fn *f = k->f;
    uint32_t n = 0;
    for (uint32_t j = 0; j < e->nin; j++) ask(k, tn_i_in(f, e)[j], &n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < f->eqn[k->due[i]].nin; j++) ask(k, tn_i_in(f, &f->eqn[k->due[i]])[j], &n);
    if (n > 1) qsort(k->due, n, sizeof *k->due, by_number);
    for (uint32_t i = 0; i < n && !k->b.failed; i++) {
        k->b.region = f->eqn[k->due[i]].region;
        tn_i_copy_eqn(&k->b, f, &f->eqn[k->due[i]], k->map);
    }
    k->b.region = k->region;
}

/* Inputs, then effects, which happen in their order and whoever reads them. */
static void forward(walk *k) {
    const tn_fn *f = k->f;
    for (uint32_t v = 0; v < f->nin; v++)
        if (!k->linear[v]) k->map[v] = tn_i_input(&k->b, f->val[v].type, false);
    for (uint32_t j = 0; j < f->nout; j++) (void)tn_i_input(&k->b, f->val[f->out[j]].type, true);
    for (uint32_t j = 0; j < f->nout && !k->b.failed; j++) { /* a value may be several outputs */
        const tn_i_var v = f->out[j], ct = (tn_i_var)(k->b.nin - f->nout + j);
        if (k->linear[v]) k->ct[v] = tn_i_sum(&k->b, k->ct[v], ct);
    }
    for (uint32_t i = 0; i < f->neqn && !k->b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (is_linear_eqn(k, e)) continue;
        k->region = e->region;
        if (k->asked[i] || !e->prim->effect || !e->prim->effect(tn_i_p(e))) continue;
        provide(k, e);
        k->asked[i] = 1;
        k->b.region = e->region;
        tn_i_copy_eqn(&k->b, f, e, k->map);
    }
    k->b.region = k->region;
}

static void accumulate(walk *k, const tn_i_eqn *e) {
    tn_i_frame *w = &k->w;
    for (uint32_t i = 0; i < e->nin && !k->b.failed; i++) {
        tn_i_var v = tn_i_in(k->f, e)[i];
        if (!k->linear[v] || w->a[i] == TN_NOVAR) continue;
        if (!tn_type_equal(tn_i_vtype(&k->b, w->a[i]), w->in_type[i])) {
            char got[TN_I_TYPE_TEXT], want[TN_I_TYPE_TEXT];
            tn_i_rule_fail(&w->r, TN_ERULE, (int)i, "the transpose rule gave a cotangent of type %s, not %s",
                           tn_i_type_text(got, tn_i_vtype(&k->b, w->a[i])), tn_i_type_text(want, w->in_type[i]));
            return;
        }
        k->ct[v] = k->merged[i] ? w->a[i] : tn_i_sum(&k->b, k->ct[v], w->a[i]);
    }
}

static void backward(walk *k, const tn_i_eqn *e) {
    tn_i_frame *w = &k->w;
    tn_i_rule *r = &w->r;
    const tn_i_var *in = tn_i_in(k->f, e);
    bool some = false;
    for (uint32_t i = 0; i < e->nin; i++)
        if (k->linear[in[i]]) k->uses[in[i]]--;
    for (uint32_t j = 0; j < e->nout; j++) {
        w->c[j] = k->ct[e->out + j];
        some |= w->c[j] != TN_NOVAR;
    }
    if (!some) return;
    provide(k, e);
    if (k->b.failed) return; /* rules take a missing operand for a linear one */
    tn_i_frame_enter(w, e);
    for (uint32_t i = 0; i < e->nin; i++) {
        bool linear = k->linear[in[i]];
        w->in[i] = linear ? TN_NOVAR : tn_i_mapped(&k->b, k->f, k->map, in[i]);
        w->out[i] = linear ? k->ct[in[i]] : TN_NOVAR;
        w->a[i] = TN_NOVAR;
        k->more[i] = linear && k->uses[in[i]] > 0;
        k->merged[i] = false;
    }
    r->acc = w->out;
    r->more = k->more;
    r->merged = k->merged;
    if (!e->prim->transpose) {
        tn_i_rule_fail(r, TN_ELINEAR, -1, "is not linear in an operand that depends on a linear input");
        return;
    }
    e->prim->transpose(r, w->c, w->a);
    accumulate(k, e);
}

static tn_fn *finish(walk *k) {
    const tn_fn *f = k->f;
    tn_i_builder *b = &k->b;
    tn_i_var *out = tn_i_alloc_array(f->ctx, f->nin, sizeof *out);
    uint32_t n = 0;
    if (!out) b->failed = true;
    b->region = 0;
    for (uint32_t v = 0; v < f->nin && !b->failed; v++) {
        if (!k->linear[v]) continue;
        out[n++] = k->ct[v] != TN_NOVAR ? k->ct[v] : tn_i_zeros(b, f->val[v].type);
    }
    tn_fn *g = tn_i_finish(b, n, out);
    tn_i_free(f->ctx, out, f->nin * sizeof *out);
    return g;
}

static tn_fn *transpose_separated(const tn_fn *f, const bool *linear, tn_i_memo *memo) {
    tn_ctx *c = f->ctx;
    walk k = {.f = f,
              .input_linear = linear,
              .map = tn_i_map_new(f),
              .ct = tn_i_map_new(f),
              .linear = tn_i_alloc(c, f->nval),
              .uses = tn_i_alloc_array(c, f->nval, sizeof *k.uses),
              .asked = tn_i_alloc(c, f->neqn),
              .due = tn_i_alloc_array(c, f->neqn, sizeof *k.due)};
    tn_i_builder_init(&k.b, c);
    k.b.named_after = f;
    k.b.regions = f->regions;
    tn_fn *g = NULL;
    bool ok = k.map && k.ct && k.linear && k.uses && k.asked && k.due && tn_i_frame_init(&k.w, &k.b, f, memo);
    size_t width = k.w.width;
    k.more = ok ? tn_i_alloc_array(c, width, sizeof *k.more) : NULL;
    k.merged = ok ? tn_i_alloc_array(c, width, sizeof *k.merged) : NULL;
    if (ok && k.more && k.merged) {
        find_linear(&k);
        forward(&k);
        for (uint32_t i = f->neqn; i-- > 0 && !k.b.failed;)
            if (is_linear_eqn(&k, &f->eqn[i])) backward(&k, &f->eqn[i]);
        g = finish(&k);
    } else
        tn_i_builder_drop(&k.b);
    tn_i_frame_free(&k.w);
    tn_i_free(c, k.more, width * sizeof *k.more);
    tn_i_free(c, k.merged, width * sizeof *k.merged);
    if (k.map) tn_i_map_free(f, k.map);
    if (k.ct) tn_i_map_free(f, k.ct);
    tn_i_free(c, k.linear, f->nval);
    tn_i_free(c, k.uses, f->nval * sizeof *k.uses);
    tn_i_free(c, k.asked, f->neqn);
    tn_i_free(c, k.due, f->neqn * sizeof *k.due);
    return g;
}

static bool save_all(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    (void)how;
    memset(save, 1, q->f->nval);
    return true;
}

/* Whether an equation with nested programs has linear and other outputs at once, or has no transpose but that of its
 * linear half (in user's programs: partial evaluation leaves none). */
static bool mixes(const tn_fn *f, const bool *linear, bool *failed) {
    tn_ctx *c = f->ctx;
    uint32_t width = 1;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        width = e->nin > width ? e->nin : width;
        width = e->nout > width ? e->nout : width;
    }
    uint8_t *lin = tn_i_alloc(c, f->nval), *in = tn_i_alloc(c, width), *out = tn_i_alloc(c, width);
    bool mixed = false;
    *failed = !lin || !in || !out;
    for (uint32_t v = 0; !*failed && v < f->nval; v++)
        lin[v] = v < f->nin && linear[v] ? TN_LINEAR : f->val[v].zero ? TN_ZERO : TN_NONLINEAR;
    for (uint32_t i = 0; i < f->neqn && !*failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        bool some = false;
        for (uint32_t k = 0; k < e->nin; k++) some |= (in[k] = lin[tn_i_in(f, e)[k]]) == TN_LINEAR;
        if (e->prim->linearity && (e->prim->split || !some))
            *failed = !e->prim->linearity(f, e, in, out);
        else
            memset(out, tn_i_linear_image(e, in), e->nout);
        for (uint32_t j = 0; j < e->nout && !*failed; j++) {
            lin[e->out + j] = out[j];
            mixed |= some && e->prim->split && (out[j] == TN_NONLINEAR || !e->prim->transpose);
        }
    }
    tn_i_free(c, lin, f->nval);
    tn_i_free(c, in, width);
    tn_i_free(c, out, width);
    return mixed;
}

tn_fn *tn_i_transpose(const tn_fn *f, const bool *linear, tn_i_memo *memo) {
    bool failed = false;
    if (!tn_i_separable(f) || !mixes(f, linear, &failed)) {
        if (failed) return NULL;
        tn_i_memo own;
        tn_i_memo_init(&own, f->ctx);
        tn_fn *t = transpose_separated(f, linear, memo ? memo : &own);
        tn_i_memo_free(&own);
        return t;
    }
    tn_i_memo own;
    tn_i_memo_init(&own, f->ctx);
    tn_i_memo *m = memo ? memo : &own;
    const tn_i_plan_by how = {.name = "everything_saveable", .plan = save_all};
    tn_fn *g = tn_i_separate(f, linear, &how, m), *t = g ? transpose_separated(g, linear, m) : NULL;
    tn_i_fn_unref(g);
    tn_i_memo_free(&own);
    return t;
}

tn_fn *tn_i_transpose_linear(const tn_fn *f) {
    bool *linear = tn_i_alloc_array(f->ctx, f->nin, sizeof *linear);
    if (!linear) return NULL;
    for (uint32_t i = f->nin - f->nlin; i < f->nin; i++) linear[i] = true;
    tn_fn *t = tn_i_transpose(f, linear, NULL);
    tn_i_free(f->ctx, linear, f->nin * sizeof *linear);
    return t;
}
