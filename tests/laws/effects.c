/* Primitives without outputs are there for their effect: it happens once, with the right values, in the program
 * and in all that is made of it.  That their programs otherwise compute what they should, the other laws say. */
#include "laws/effects.h"
#include "prims/ids.h"

#include "checkpoint/policies.h"
#include "laws/derive.h"
#include "laws/table.h"

#include <string.h>

int laws_listen(void *user, const tn_effect *e) {
    laws_said *s = user;
    if (s->calls++) return 0;
    s->kind = e->kind;
    s->n = (uint32_t)e->n;
    s->array = laws_alloc(s->memory, e->n + 1u, sizeof *s->array);
    for (size_t i = 0; i < e->n; i++) {
        s->array[i] = laws_new(s->memory, e->array[i].type);
        memcpy(s->array[i].data, e->array[i].data, laws_bytes(&s->array[i]));
    }
    return 0;
}

/* Every array stands with its dimensions reversed in memory. */
static int64_t *reversed(laws_trial *t, const laws_array *x, void **data) {
    int64_t *s = laws_alloc(t->memory, TN_MAX_RANK + 1, sizeof *s), step = 1, at[TN_MAX_RANK] = {0};
    const size_t size = tn_i_dtype_size(x->type.dtype);
    char *to = laws_alloc(t->memory, laws_bytes(x) + 1, 1);
    for (int d = 0; d < x->type.rank; d++) {
        s[d] = step;
        step *= x->type.dim[d];
    }
    for (int64_t k = 0; k < laws_count(x); k++) {
        int64_t offset = 0;
        for (int d = 0; d < x->type.rank; d++) offset += at[d] * s[d];
        memcpy(to + (size_t)offset * size, (const char *)x->data + (size_t)k * size, size);
        for (int d = x->type.rank - 1; d >= 0 && ++at[d] == x->type.dim[d]; d--) at[d] = 0;
    }
    *data = to;
    return s;
}

static tn_status call(laws_trial *t, const tn_fn *f, const laws_array *x, bool strided, laws_said *said) {
    const void **in = laws_alloc(t->memory, f->nin + 1u, sizeof *in);
    void **out = laws_alloc(t->memory, f->nout + 1u, sizeof *out); /* nobody wants them */
    const int64_t **strides = laws_alloc(t->memory, f->nin + 1u, sizeof *strides);
    *said = (laws_said){.memory = t->memory};
    for (uint32_t i = 0; i < f->nin; i++) {
        void *data = x[i].data;
        if (strided) strides[i] = reversed(t, &x[i], &data);
        in[i] = data;
    }
    const tn_compile_options o = {
        .size = sizeof o, .in_strides = strides, .observer = laws_listen, .observer_user = said, .backend = t->backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) laws_fail(t, "compile: %s", tn_error(t->ctx));
    const tn_status s = e ? tn_call(e, in, out) : TN_EINVAL;
    tn_exec_free(e);
    return s;
}

/* f, whose first inputs are the primitive's operands, says them: print always, assert when it fails. */
static bool says(laws_trial *t, const char *what, const tn_fn *f, const laws_array *x, tn_status want) {
    const bool silent = want == TN_OK && t->prim->id == TN_P_assert;
    for (int strided = 0; f && strided < 2; strided++) {
        laws_said said;
        const tn_status got = call(t, f, x, strided != 0, &said);
        t->shown = f;
        if (got != want) laws_fail(t, "%s: the call gives %s, not %s", what, tn_status_text(got), tn_status_text(want));
        if (said.calls != (silent ? 0 : 1))
            laws_fail(t, "%s: the observer was called %u times", what, (unsigned)said.calls);
        if (!t->failed && !silent && said.n != t->c->nin) laws_fail(t, "%s: of %u arrays", what, (unsigned)said.n);
        for (uint32_t i = 0; !t->failed && i < said.n; i++)
            if (!tn_type_equal(&said.array[i].type, &x[i].type))
                laws_fail(t, "%s: array %u has another type", what, (unsigned)i);
        if (!t->failed && said.n && !laws_same_bits(t, what, x, said.array, said.n)) return false;
        if (t->failed) return false;
    }
    return f && !t->failed;
}

/* Operands with a batch in front; the lanes differ. */
static laws_array *batch_of(laws_trial *t, const laws_array *x, uint32_t n, int64_t lanes) {
    laws_array *all = laws_alloc(t->memory, n + 1u, sizeof *all);
    for (uint32_t i = 0; i < n; i++) {
        tn_type type = x[i].type;
        memmove(type.dim + 1, type.dim, (size_t)type.rank * sizeof *type.dim);
        type.dim[0] = lanes;
        type.rank++;
        all[i] = laws_new(t->memory, &type);
        for (int64_t k = 0; k < laws_count(&all[i]); k++)
            laws_put(&all[i], k, type.dtype == TN_BOOL ? 1 : (double)(k % 100) - 20);
    }
    return all;
}

static void under_everything(laws_trial *t, const laws_array *x, tn_status want) {
    static const char *const policies[] = {"everything_saveable", "nothing_saveable", "min_cut"};
    laws_wrt w;
    uint32_t n;
    if (!says(t, "the program", t->f, x, want) || laws_wrt_all(t->f, &w)->n == 0) return;
    const laws_array *v = laws_tangents(t, x, &w.list), *ct = laws_cotangents(t, t->f, &n);
    const laws_array *forth = laws_joined(t, x, t->f->nin, v, w.list.n), *back = laws_joined(t, x, t->f->nin, ct, n);
    if (!says(t, "jvp", laws_made(t, tn_jvp(t->f, &w.list), "jvp"), forth, want)) return;
    for (size_t k = 0; k < sizeof policies / sizeof *policies && !t->failed; k++) {
        const tn_policy p = {.size = sizeof p, .name = policies[k]};
        (void)says(t, "vjp", laws_made(t, tn_vjp(t->f, &w.list, &p), "vjp"), back, want);
    }
}

void laws_effects(laws_trial *t) {
    if (t->f->eqn[0].nout) return;
    const tn_fn *g = laws_made(t, tn_vmap(t->f, 3, NULL, NULL), "vmap");
    laws_array *x = laws_alloc(t->memory, t->f->nin + 1u, sizeof *x), *all = batch_of(t, t->x, t->f->nin, 3);
    for (uint32_t i = 0; i < t->f->nin; i++) x[i] = laws_copy(t->memory, &t->x[i]);
    under_everything(t, x, TN_OK);
    if (!t->failed) (void)says(t, "vmap", g, all, TN_OK);
    if (t->failed || t->prim->id != TN_P_assert || laws_count(&x[0]) == 0) return;
    ((uint8_t *)x[0].data)[tn_i_pick(&t->rng, 0, laws_count(&x[0]) - 1)] = 0;
    ((uint8_t *)all[0].data)[tn_i_pick(&t->rng, 0, laws_count(&all[0]) - 1)] = 0;
    under_everything(t, x, TN_EASSERT);
    if (!t->failed) (void)says(t, "vmap", g, all, TN_EASSERT);
}

/* ---- in generated programs ------------------------------------------------------------------ */

static int count_said(void *user, const tn_effect *e) {
    (void)e;
    ++*(long *)user;
    return 0;
}

/* How often f speaks; -1 after laws_fail, or refused. */
static long times_said(laws_trial *t, const tn_fn *f, const laws_array *x, const char *what) {
    const void **in = laws_alloc(t->memory, f->nin + 1u, sizeof *in);
    void **out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    long n = 0;
    for (uint32_t i = 0; i < f->nin; i++) in[i] = x[i].data;
    const tn_compile_options o = {
        .size = sizeof o, .observer = count_said, .observer_user = &n, .spill_dir = "/tmp", .backend = t->backend};
    tn_exec *e = tn_compile(f, &o);
    t->shown = f;
    if (!e) {
        if (!laws_refused(t)) laws_fail(t, "%s: compile: %s", what, tn_error(t->ctx));
        return -1;
    }
    if (tn_call(e, in, out) != TN_OK) laws_fail(t, "%s: call: %s", what, tn_exec_error(e));
    tn_exec_free(e);
    return t->failed ? -1 : n;
}

static void as_often(laws_trial *t, long want, const tn_fn *f, const laws_array *x, const char *what) {
    const long n = f ? times_said(t, f, x, what) : -1;
    if (n >= 0 && n != want) laws_fail(t, "%s: the program speaks %ld times, this %ld times", what, want, n);
}

void laws_spoken(laws_trial *t) {
    if (!t->f->effect) return;
    laws_wrt w;
    uint32_t n;
    const long want = times_said(t, t->f, t->x, "the program");
    laws_wrt_all(t->f, &w);
    if (want < 0) return;
    const laws_array *v = laws_tangents(t, t->x, &w.list), *ct = laws_cotangents(t, t->f, &n);
    const laws_array *forth = laws_joined(t, t->x, t->f->nin, v, w.list.n),
                     *back = laws_joined(t, t->x, t->f->nin, ct, n);
    as_often(t, want, laws_made(t, tn_jvp(t->f, &w.list), "jvp"), forth, "jvp");
    for (size_t k = 0; tn_i_policy_text(k) && !t->failed && !t->refused; k++) {
        const tn_policy p = {.size = sizeof p, .name = tn_i_policy_text(k)};
        const tn_fn *g = laws_made(t, tn_vjp(t->f, &w.list, &p), "vjp");
        as_often(t, want, g, back, p.name);
        laws_wrt u;
        if (!g || k != (size_t)tn_i_pick(&t->rng, 0, 3) || laws_wrt_all(g, &u)->n == 0) continue;
        const laws_array *du = laws_tangents(t, back, &u.list);
        as_often(t, want, laws_made(t, tn_jvp(g, &u.list), "jvp of vjp"), laws_joined(t, back, g->nin, du, u.list.n),
                 "jvp of vjp");
    }
}
