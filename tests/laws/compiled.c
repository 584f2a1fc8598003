/* Compiled programs compute what the reference does. */
#include "laws/derive.h"
#include "laws/table.h"

#include <string.h>

static bool products(const tn_fn *f) {
    tn_i_cost c;
    return tn_i_fn_cost(f, &c) && c.products > 0;
}

/* Computes a function of which vector libraries have a version of their own, a few ulp from the C library's. */
static bool vectors(const tn_fn *f) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (int d = 0; d < TN_NDTYPES; d++)
            if (e->prim->vector[d]) return true;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t n = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < n; j++)
                if (vectors(g[j])) return true;
        }
    }
    return false;
}

/* Random strides for an array: its dimensions in any order, sometimes with gaps. */
static int64_t *strides(laws_trial *t, const tn_type *type, size_t *span) {
    int64_t *s = laws_alloc(t->memory, TN_MAX_RANK + 1, sizeof *s), step = 1;
    int order[TN_MAX_RANK];
    for (int d = 0; d < type->rank; d++) {
        const int at = (int)tn_i_pick(&t->rng, 0, d);
        order[d] = order[at];
        order[at] = d;
    }
    for (int k = 0; k < type->rank; k++) {
        const int64_t n = type->dim[order[k]];
        s[order[k]] = step;
        step *= (n > 0 ? n : 1) + (tn_i_pick(&t->rng, 0, 3) == 0);
    }
    *span = (size_t)step + 1;
    return s;
}

static void scatter(const laws_array *dense, void *strided, const int64_t *s, bool back) {
    const size_t size = tn_i_dtype_size(dense->type.dtype);
    int64_t at[TN_MAX_RANK] = {0};
    for (int64_t k = 0; k < laws_count(dense); k++) {
        int64_t offset = 0;
        for (int d = 0; d < dense->type.rank; d++) offset += at[d] * s[d];
        char *one = (char *)dense->data + (size_t)k * size, *other = (char *)strided + (size_t)offset * size;
        if (back)
            memcpy(one, other, size);
        else
            memcpy(other, one, size);
        for (int d = dense->type.rank - 1; d >= 0 && ++at[d] == dense->type.dim[d]; d--) at[d] = 0;
    }
}

typedef struct buffers {
    const int64_t **in_strides, **out_strides;
    const void **in;
    void **out;
    laws_array *y; /* dense, for comparison */
} buffers;

static void place(laws_trial *t, const tn_fn *f, const laws_array *x, bool strided, buffers *k) {
    *k = (buffers){.in_strides = laws_alloc(t->memory, f->nin + 1u, sizeof *k->in_strides),
                   .out_strides = laws_alloc(t->memory, f->nout + 1u, sizeof *k->out_strides),
                   .in = laws_alloc(t->memory, f->nin + 1u, sizeof *k->in),
                   .out = laws_alloc(t->memory, f->nout + 1u, sizeof *k->out),
                   .y = laws_alloc(t->memory, f->nout + 1u, sizeof *k->y)};
    size_t span;
    for (uint32_t i = 0; i < f->nin; i++) {
        k->in[i] = x[i].data;
        if (!strided || tn_i_pick(&t->rng, 0, 1)) continue;
        k->in_strides[i] = strides(t, &x[i].type, &span);
        void *room = laws_alloc(t->memory, span, 8);
        scatter(&x[i], room, k->in_strides[i], false);
        k->in[i] = room;
    }
    for (uint32_t j = 0; j < f->nout; j++) {
        const tn_type *type = f->val[f->out[j]].type;
        k->y[j] = laws_new(t->memory, type);
        k->out[j] = k->y[j].data;
        if (!strided || tn_i_pick(&t->rng, 0, 1)) continue;
        k->out_strides[j] = strides(t, type, &span);
        k->out[j] = laws_alloc(t->memory, span, 8);
    }
}

/* Which functions the vector library computes: at most 4 ulp off (docs/execution.md).  All else has the same bits. */
static double by_vectors(const tn_fn *f, const tn_i_eqn *e) {
    const int dtype = e->nout ? f->val[e->out].type->dtype : TN_BOOL;
    return e->prim->vector[dtype] ? 4 : 0;
}

static bool compare(laws_trial *t, const tn_fn *f, const laws_array *x, const laws_array *want, const buffers *k,
                    bool bits) {
    for (uint32_t j = 0; j < f->nout; j++)
        if (k->out_strides[j]) scatter(&k->y[j], k->out[j], k->out_strides[j], true);
    if (bits) return laws_same_bits(t, "compiled: output", want, k->y, f->nout);
    return laws_agree_but_for(t, "compiled: output", f, x, want, k->y, laws_rounding(f), by_vectors);
}

/* Called twice (the workspace is used again), then with one output left out. */
static bool compiled_by(laws_trial *t, const tn_fn *f, const laws_array *x, bool strided, int backend) {
    const laws_array *want = laws_run_new(t, f, x);
    if (!want) return false;
    t->shown = f;
    buffers k;
    place(t, f, x, strided, &k);
    const bool bits = !products(f) && (backend == TN_BACKEND_REFERENCE || !vectors(f));
    tn_compile_options opt = {.size = sizeof opt, .spill_dir = "/tmp", .backend = backend};
    if (strided) {
        opt.in_strides = k.in_strides;
        opt.out_strides = k.out_strides;
    }
    tn_exec *e = tn_compile(f, &opt);
    if (!e) {
        if (!laws_refused(t)) laws_fail(t, "compile: %s", tn_error(t->ctx));
        return false;
    }
    bool ok = true;
    for (int call = 0; ok && call < 2; call++) {
        if (tn_call(e, k.in, k.out) != TN_OK) {
            laws_fail(t, "call: %s", tn_exec_error(e));
            ok = false;
        }
        ok = ok && compare(t, f, x, want, &k, bits);
    }
    if (ok && f->nout > 1) {
        const int64_t without = tn_i_pick(&t->rng, 0, f->nout - 1);
        void *kept = k.out[without];
        for (uint32_t j = 0; j < f->nout; j++)
            if (!k.out_strides[j] && j != without) memset(k.out[j], 0xA5, laws_bytes(&k.y[j]));
        k.out[without] = NULL;
        if (tn_call(e, k.in, k.out) != TN_OK)
            laws_fail(t, "call without output %d: %s", (int)without, tn_exec_error(e));
        k.out[without] = kept;
        ok = !t->failed && compare(t, f, x, want, &k, bits);
    }
    tn_exec_free(e);
    return ok;
}

static bool compiled(laws_trial *t, const tn_fn *f, const laws_array *x, bool strided) {
    return compiled_by(t, f, x, strided, TN_BACKEND_REFERENCE) && compiled_by(t, f, x, strided, t->backend);
}

static tn_verdict to_the_file(void *user, const tn_candidate *v) {
    (void)user, (void)v;
    return TN_OFFLOAD;
}

/* Residuals in a spill file; twice nested, some of them pass through it more than once. */
static bool offloading(laws_trial *t, const tn_wrt_list *wrt, const laws_array *x, uint32_t nx) {
    const tn_policy policy = {.size = sizeof policy, .callback = to_the_file};
    const tn_fn *g = laws_made(t, tn_vjp(t->f, wrt, &policy), "vjp");
    if (!g || !compiled(t, g, x, true)) return false;
    laws_wrt w;
    if (laws_wrt_all(g, &w)->n == 0 || laws_float_outputs(g) == 0) return true;
    uint32_t n;
    const laws_array *v = laws_tangents(t, x, &w.list), *ct = laws_cotangents(t, g, &n);
    const tn_fn *forward = laws_made(t, tn_jvp(g, &w.list), "jvp"),
                *reverse = laws_made(t, tn_vjp(g, &w.list, &policy), "vjp");
    return forward && reverse && compiled(t, forward, laws_joined(t, x, nx, v, w.list.n), false) &&
           compiled(t, reverse, laws_joined(t, x, nx, ct, n), false);
}

void laws_compiled(laws_trial *t) {
    if (!compiled(t, t->f, t->x, false) || !compiled(t, t->f, t->x, true)) return;
    laws_wrt w;
    if (laws_wrt_all(t->f, &w)->n == 0 || laws_float_outputs(t->f) == 0) return;
    uint32_t n;
    const laws_array *v = laws_tangents(t, t->x, &w.list), *ct = laws_cotangents(t, t->f, &n);
    const tn_fn *g = laws_made(t, tn_jvp(t->f, &w.list), "jvp"), *h = laws_made(t, tn_vjp(t->f, &w.list, NULL), "vjp");
    if (!g || !h) return;
    if (!compiled(t, g, laws_joined(t, t->x, t->f->nin, v, w.list.n), false)) return;
    const laws_array *x = laws_joined(t, t->x, t->f->nin, ct, n);
    if (!compiled(t, h, x, true)) return;
    const tn_policy nothing = {.size = sizeof nothing, .name = "nothing_saveable"};
    const tn_fn *recomputed = laws_made(t, tn_vjp(t->f, &w.list, &nothing), "vjp");
    if (recomputed && compiled(t, recomputed, x, false)) (void)offloading(t, &w.list, x, t->f->nin + n);
}
