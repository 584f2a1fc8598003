/* Machine code in memory, strips and native code compute the same bits. */
#include "laws/derive.h"
#include "laws/table.h"

#include <string.h>

enum { MOST = 4, BATCH = 37 };

/* Programs that run as one: one compilation for all of them. */
typedef struct together {
    const tn_fn *f[MOST];
    const laws_array *x[MOST];
    uint32_t n;
} together;

static void add(together *k, const tn_fn *f, const laws_array *x) {
    if (!f) return;
    k->f[k->n] = f;
    k->x[k->n++] = x;
}

static const tn_fn *joined(laws_trial *t, const together *k, const laws_array **x) {
    uint32_t nin = 0, nout = 0, at = 0, to = 0;
    for (uint32_t i = 0; i < k->n; i++) nin += k->f[i]->nin, nout += k->f[i]->nout;
    tn_i_var *in = laws_alloc(t->memory, nin + 1u, sizeof *in), *out = laws_alloc(t->memory, nout + 1u, sizeof *out);
    laws_array *data = laws_alloc(t->memory, nin + 1u, sizeof *data);
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    for (uint32_t i = 0; i < k->n; i++)
        for (uint32_t j = 0; j < k->f[i]->nin; j++, at++) {
            in[at] = tn_i_input(&b, k->f[i]->val[j].type, false);
            data[at] = k->x[i][j];
        }
    at = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        tn_i_inline(&b, k->f[i], in + at, out + to);
        at += k->f[i]->nin;
        to += k->f[i]->nout;
    }
    *x = data;
    b.forget = true;
    return laws_made(t, tn_i_finish(&b, nout, out), "together");
}

/* *ran: the backend that did. */
static bool run_as(laws_trial *t, const tn_fn *f, const laws_array *x, int backend, laws_array *y, int *ran) {
    const void **in = laws_alloc(t->memory, f->nin + 1u, sizeof *in);
    void **out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    const char *why = "";
    for (uint32_t i = 0; i < f->nin; i++) in[i] = x[i].data;
    for (uint32_t j = 0; j < f->nout; j++) {
        y[j] = laws_new(t->memory, f->val[f->out[j]].type);
        out[j] = y[j].data;
    }
    const tn_compile_options o = {.size = sizeof o, .spill_dir = "/tmp", .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) {
        laws_fail(t, "compile: %s", tn_error(t->ctx));
        return false;
    }
    /* a compiler that breaks off by itself, as gcc 12 does in the if-conversion of some loops, is told of and not ours
     */
    *ran = tn_exec_backend(e, &why);
    const bool other = backend != TN_BACKEND_DEFAULT && *ran != backend;
    t->refused = other && strstr(why, "internal compiler error");
    if (other && !t->refused) laws_fail(t, "the backend %d does not run: %s", backend, why);
    for (int call = 0; call < 2 && !t->failed; call++)
        if (tn_call(e, in, out) != TN_OK) laws_fail(t, "call: %s", tn_exec_error(e));
    tn_exec_free(e);
    return !t->failed;
}

/* The program for BATCH points at once, so that there are whole vectors. */
static const tn_fn *many(laws_trial *t, const laws_array **x) {
    laws_array *data = laws_alloc(t->memory, t->f->nin + 1u, sizeof *data);
    int *zeros = laws_alloc(t->memory, t->f->nin + t->f->nout + 1u, sizeof *zeros);
    const tn_fn *f = t->f->nin ? tn_vmap(t->f, BATCH, zeros, zeros) : NULL;
    for (uint32_t i = 0; f && i < f->nin; i++) {
        data[i] = laws_new(t->memory, f->val[i].type);
        const size_t bytes = laws_bytes(&t->x[i]);
        for (size_t k = 0; k < BATCH && bytes; k++) memcpy((char *)data[i].data + k * bytes, t->x[i].data, bytes);
    }
    *x = data;
    return f ? laws_made(t, f, "vmap") : NULL;
}

void laws_native(laws_trial *t) {
    together k = {.n = 0};
    const laws_array *x;
    laws_wrt w;
    add(&k, t->f, t->x);
    const tn_fn *f = many(t, &x);
    add(&k, f, x);
    if (laws_wrt_all(t->f, &w)->n != 0 && laws_float_outputs(t->f) != 0) {
        uint32_t n;
        const laws_array *v = laws_tangents(t, t->x, &w.list), *ct = laws_cotangents(t, t->f, &n);
        add(&k, laws_made(t, tn_jvp(t->f, &w.list), "jvp"), laws_joined(t, t->x, t->f->nin, v, w.list.n));
        add(&k, laws_made(t, tn_vjp(t->f, &w.list, NULL), "vjp"), laws_joined(t, t->x, t->f->nin, ct, n));
    }
    const tn_fn *all = t->failed ? NULL : joined(t, &k, &x);
    if (!all) return;
    static const struct {
        int backend;
        const char *output;
    } others[] = {{TN_BACKEND_ASSEMBLER, "assembler: output"},
                  {TN_BACKEND_STRIPS, "strips: output"},
                  {TN_BACKEND_NATIVE, "native: output"}};
    laws_array *want = laws_alloc(t->memory, all->nout + 1u, sizeof *want),
               *got = laws_alloc(t->memory, all->nout + 1u, sizeof *got);
    int first, ran;
    t->shown = all;
    if (!run_as(t, all, x, TN_BACKEND_DEFAULT, want, &first)) return;
    for (size_t i = 0; i < sizeof others / sizeof *others && !t->failed; i++) {
        const int backend = others[i].backend; /* the assembler runs by default where it is there */
        if (backend == TN_BACKEND_ASSEMBLER && first != backend) continue;
        if (run_as(t, all, x, backend, got, &ran)) (void)laws_same_bits(t, others[i].output, want, got, all->nout);
    }
}
