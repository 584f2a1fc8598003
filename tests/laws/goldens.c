/* Every primitive, in every dtype it admits, computes what the table says: by the reference and
 * compiled.  The numbers at edges (wrapping, division by zero, NaN, clamped indices, kinks) are
 * the conventions that random cases keep away from. */
#include "laws/goldens.h"

#include "laws/derive.h"
#include "laws/effects.h"
#include "laws/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const laws_golden *const tables[] = {laws_goldens_elementwise, laws_goldens_axes,   laws_goldens_shapes,
                                            laws_goldens_products,    laws_goldens_lapack, laws_goldens_nested,
                                            laws_goldens_loops,       laws_goldens_random, laws_goldens_effects};

/* ---- numbers ------------------------------------------------------------------------------ */

static void put_number(laws_array *a, int64_t k, const char *s, char **end) {
    switch (a->type.dtype) {
    case TN_BOOL: ((uint8_t *)a->data)[k] = strtol(s, end, 10) != 0; return;
    case TN_I32: ((int32_t *)a->data)[k] = (int32_t)strtoll(s, end, 10); return;
    case TN_U32: ((uint32_t *)a->data)[k] = (uint32_t)strtoll(s, end, 10); return;
    case TN_I64: ((int64_t *)a->data)[k] = (int64_t)strtoll(s, end, 10); return;
    case TN_U64: ((uint64_t *)a->data)[k] = strtoull(s, end, 10); return;
    default: laws_put(a, k, strtod(s, end));
    }
}

/* n arrays, of types of their own; false when the text does not hold just as many numbers. */
static bool read_arrays(const char *s, laws_array *a, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < laws_count(&a[i]); k++) {
            char *end;
            put_number(&a[i], k, s, &end);
            if (end == s) return false;
            s = end;
        }
        s += strspn(s, " ");
        if (i + 1 < n && *s++ != ';') return false;
    }
    return *s == '\0';
}

/* What elements of a result are sums of where its primitive is other equations when it runs, or decomposes: as large as
 * this. */
static double terms(const laws_trial *t, const laws_golden *row, const laws_array *want) {
    for (int id = 0; id < TN_NPRIMS; id++)
        if (strcmp(t->ctx->prims[id]->name, row->prim) == 0)
            return t->ctx->prims[id]->expand || t->ctx->prims[id]->complex_many ? laws_largest(want) : 0;
    return 0;
}

/* Each equation of a derivative rounds to its dtype. */
static double relative(int dtype) {
    if (tn_i_is_half(dtype)) return dtype == TN_F16 ? 4 * 0x1p-10 : 4 * 0x1p-7;
    return dtype == TN_F32 ? 2e-6 : 1e-13;
}

/* Zeros keep their sign in values; of a derivative the sign of a zero says nothing. */
static bool same_number(double want, double got, int dtype, bool value, double scale) {
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (fabs(got - want) <= relative(dtype) * scale) return true;
    if (want == 0) return got == 0 && (!value || signbit(want) == signbit(got));
    if (isinf(want) || isinf(got)) return want == got;
    return fabs(got - want) <= relative(dtype) * fabs(want);
}

static bool compare(laws_trial *t, const laws_golden *row, const char *by, const laws_array *want,
                    const laws_array *got, uint32_t n) {
    for (uint32_t j = 0; j < n; j++) {
        const double scale = laws_is_float(&want[j]) ? terms(t, row, &want[j]) : 0;
        for (int64_t k = 0; k < laws_count(&want[j]); k++) {
            const size_t size = tn_i_dtype_size(want[j].type.dtype), at = (size_t)k * size;
            const bool same =
                laws_is_float(&want[j])
                    ? same_number(laws_get(&want[j], k), laws_get(&got[j], k), want[j].type.dtype, !row->how[0], scale)
                    : memcmp((char *)want[j].data + at, (char *)got[j].data + at, size) == 0;
            if (same) continue;
            laws_fail(t, "%s%s%s of %s at %s: output %u, element %lld (%s): %.17g, not %.17g", row->prim,
                      row->how[0] ? ", " : "", row->how, row->program, row->given, (unsigned)j, (long long)k, by,
                      laws_get(&got[j], k), laws_get(&want[j], k));
            return false;
        }
    }
    return true;
}

/* ---- a row ----------------------------------------------------------------------------------- */

static const tn_fn *transformed(const tn_fn *f, const char *how) {
    if (!f || !how[0]) return f;
    if (strcmp(how, "jvp") == 0) return tn_jvp(f, NULL);
    return strcmp(how, "vjp") == 0 ? tn_vjp(f, NULL, NULL) : tn_grad(f, NULL, NULL);
}

static bool run_compiled(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *y) {
    const void **in = laws_alloc(t->memory, f->nin + 1u, sizeof *in);
    void **out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = x[i].data;
    for (uint32_t j = 0; j < f->nout; j++) {
        y[j] = laws_new(t->memory, f->val[f->out[j]].type);
        out[j] = y[j].data;
    }
    tn_exec *e = tn_compile(
        f, &(tn_compile_options){.size = sizeof(tn_compile_options), .spill_dir = "/tmp", .backend = t->backend});
    const bool ok = e && tn_call(e, in, out) == TN_OK;
    if (!ok) laws_fail(t, "it cannot be %s: %s", e ? "called" : "compiled", e ? tn_exec_error(e) : tn_error(t->ctx));
    tn_exec_free(e);
    return ok;
}

static void check_row(laws_trial *t, const laws_golden *row, const tn_fn *f) {
    const tn_fn *g = laws_made(t, transformed(f, row->how), row->how[0] ? row->how : "parse");
    if (!g) return;
    laws_array *x = laws_alloc(t->memory, g->nin + 1u, sizeof *x),
               *want = laws_alloc(t->memory, g->nout + 1u, sizeof *want);
    laws_array *y = laws_alloc(t->memory, g->nout + 1u, sizeof *y);
    for (uint32_t i = 0; i < g->nin; i++) x[i] = laws_new(t->memory, g->val[i].type);
    for (uint32_t j = 0; j < g->nout; j++) want[j] = laws_new(t->memory, g->val[g->out[j]].type);
    if (!read_arrays(row->given, x, g->nin) || !read_arrays(row->want, want, g->nout)) {
        laws_fail(t, "%s: the row's numbers do not fit the program %s", row->prim, row->program);
        return;
    }
    if (!laws_run(t, g, x, y) || !compare(t, row, "by the reference", want, y, g->nout)) return;
    if (run_compiled(t, g, x, y)) (void)compare(t, row, "compiled", want, y, g->nout);
}

static bool says_dtype(const tn_prim *p) {
    const tn_i_spec *s = p->params;
    while (s && s->name && strcmp(s->name, "dtype") != 0) s++;
    return s && s->name;
}

/* A row of what the observer hears: the arrays, and that an assert fails. */
static void check_said(laws_trial *t, const laws_golden *row, const tn_fn *f) {
    laws_said said = {.memory = t->memory};
    laws_array *x = laws_alloc(t->memory, f->nin + 1u, sizeof *x),
               *want = laws_alloc(t->memory, f->nin + 1u, sizeof *x);
    const void **in = laws_alloc(t->memory, f->nin + 1u, sizeof *in);
    void **out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) {
        x[i] = laws_new(t->memory, f->val[i].type);
        want[i] = laws_new(t->memory, f->val[i].type);
        in[i] = x[i].data;
    }
    if (!read_arrays(row->given, x, f->nin) || !read_arrays(row->want, want, f->nin)) {
        laws_fail(t, "%s: the row's numbers do not fit the program %s", row->prim, row->program);
        return;
    }
    const tn_compile_options o = {
        .size = sizeof o, .observer = laws_listen, .observer_user = &said, .backend = t->backend};
    tn_exec *e = tn_compile(f, &o);
    const tn_status s = e ? tn_call(e, in, out) : TN_EINVAL;
    tn_exec_free(e);
    if (s != (said.kind == TN_ASSERT ? TN_EASSERT : TN_OK) || said.calls != 1 || said.n != f->nin)
        laws_fail(t, "%s at %s: %s, %u calls of the observer", row->program, row->given, tn_status_text(s),
                  (unsigned)said.calls);
    else
        (void)compare(t, row, "said", want, said.array, said.n);
}

/* The dtype that the row stands for: of the operand that chooses the kernel, or of the result where there is
 * no such operand. */
static int dtype_of(const tn_fn *f, const char *prim) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (strcmp(e->prim->name, prim) == 0)
            return f->val[e->nin && !says_dtype(e->prim) ? tn_i_in(f, e)[e->prim->strip_operand] : e->out].type->dtype;
    }
    return -1;
}

/* ---- the C functions that rows of external_call name ------------------------------------------- */

#define FUNCTIONS(T, suffix)                                                          \
    static int square_##suffix(void *user, const void *const *in, void *const *out) { \
        const T *x = in[0];                                                           \
        T *y = out[0];                                                                \
        (void)user;                                                                   \
        for (int i = 0; i < 3; i++) y[i] = x[i] * x[i];                               \
        return 0;                                                                     \
    }                                                                                 \
    static int slope_##suffix(void *user, const void *const *in, void *const *out) {  \
        const T *x = in[0], *d = in[1];                                               \
        T *y = out[0];                                                                \
        (void)user;                                                                   \
        for (int i = 0; i < 3; i++) y[i] = 2 * x[i] * d[i];                           \
        return 0;                                                                     \
    }                                                                                 \
    static int forth_##suffix(void *user, const void *const *in, void *const *out) {  \
        const T *x = in[0];                                                           \
        T *y = out[0];                                                                \
        (void)user;                                                                   \
        for (int i = 0; i < 3; i++) y[i] = 3 * x[i];                                  \
        return 0;                                                                     \
    }                                                                                 \
    static int back_##suffix(void *user, const void *const *in, void *const *out) {   \
        const T *ct = in[1];                                                          \
        T *y = out[0];                                                                \
        (void)user;                                                                   \
        for (int i = 0; i < 3; i++) y[i] = 7 * ct[i];                                 \
        return 0;                                                                     \
    }
FUNCTIONS(float, f32)
FUNCTIONS(double, f64)

static void register_functions(laws_trial *t) {
    const int64_t n = 3;
    for (int k = 0; k < 2; k++) {
        const tn_type type = tn_type_of(k ? TN_F64 : TN_F32, 1, &n);
        const tn_external_spec square = {.size = sizeof square,
                                         .name = k ? "golden_f64" : "golden_f32",
                                         .nin = 1,
                                         .nout = 1,
                                         .in = &type,
                                         .out = &type,
                                         .fn = k ? square_f64 : square_f32,
                                         .jvp = k ? slope_f64 : slope_f32,
                                         .vjp = k ? slope_f64 : slope_f32},
                               triple = {.size = sizeof triple,
                                         .name = k ? "golden_linear_f64" : "golden_linear_f32",
                                         .nin = 1,
                                         .nout = 1,
                                         .in = &type,
                                         .out = &type,
                                         .fn = k ? forth_f64 : forth_f32,
                                         .vjp = k ? back_f64 : back_f32,
                                         .linear = true};
        if (tn_external_register(t->ctx, &square) != TN_OK || tn_external_register(t->ctx, &triple) != TN_OK)
            laws_fail(t, "tn_external_register: %s", tn_error(t->ctx));
    }
}

/* ---- the rows of a primitive ------------------------------------------------------------------------- */

void laws_goldens(laws_trial *t) {
    bool seen = false;
    register_functions(t);
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
        for (const laws_golden *row = tables[k]; row->prim && !t->failed; row++) {
            if (strcmp(row->prim, t->prim->name) != 0) continue;
            const tn_fn *f =
                laws_made(t, tn_fn_parse(t->ctx, row->program, strlen(row->program), "golden.tn"), row->program);
            const int dtype = f ? dtype_of(f, row->prim) : -1;
            if (f && dtype < 0) laws_fail(t, "no equation of %s in %s", row->prim, row->program);
            if (dtype != t->dtype) continue;
            seen |= !row->how[0];
            if (strcmp(row->how, "says") == 0)
                check_said(t, row, f);
            else
                check_row(t, row, f);
        }
    /* of one that is computed with as another there is the law `held` */
    if (!seen && !tn_i_is_held(t->dtype)) laws_fail(t, "there is no row for this dtype");
}
