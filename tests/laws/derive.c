#include "laws/derive.h"
#include "prims/ids.h"

#include "laws/copy64.h"

#include <math.h>

double laws_rounding(const tn_fn *f) { return laws_holds_f32(f) ? 2e-5 : 1e-11; }

/* ---- choices and arguments ----------------------------------------------------------- */

bool laws_is_fixed(const tn_prim *prim, uint32_t i) {
    if (prim->id == TN_P_schur) return true;
    if (!(prim->flags & TN_F_ELEMENTWISE) || prim->jvp || prim->linear[0] || i >= 3 || prim->partial[i]) return false;
    return prim->partial[0] || prim->partial[1] || prim->partial[2];
}

static bool is_read_as_fixed(const tn_fn *f, uint32_t v) {
    for (uint32_t k = 0; k < f->neqn; k++)
        for (uint32_t i = 0; i < f->eqn[k].nin; i++)
            if (tn_i_in(f, &f->eqn[k])[i] == v && laws_is_fixed(f->eqn[k].prim, i)) return true;
    return false;
}

const tn_wrt_list *laws_wrt_all(const tn_fn *f, laws_wrt *w) {
    w->list = (tn_wrt_list){0, w->index};
    for (uint32_t i = 0; i < f->nin && w->list.n < 64; i++)
        if (tn_i_is_float(f->val[i].type->dtype) && !is_read_as_fixed(f, i)) w->index[w->list.n++] = (int)i;
    return &w->list;
}

const tn_wrt_list *laws_wrt_some(laws_trial *t, const tn_fn *f, laws_wrt *w) {
    (void)laws_wrt_all(f, w);
    if (tn_i_pick(&t->rng, 0, 1)) return &w->list;
    for (size_t k = w->list.n; k > 1; k--) {
        const size_t j = (size_t)tn_i_pick(&t->rng, 0, (int64_t)k - 1);
        const int swap = w->index[k - 1];
        w->index[k - 1] = w->index[j];
        w->index[j] = swap;
    }
    w->list.n = (size_t)tn_i_pick(&t->rng, 1, (int64_t)w->list.n);
    return &w->list;
}

laws_array *laws_tangents(laws_trial *t, const laws_array *x, const tn_wrt_list *w) {
    laws_array *v = laws_alloc(t->memory, w->n + 1, sizeof *v);
    for (size_t k = 0; k < w->n; k++) {
        v[k] = laws_new(t->memory, &x[w->index[k]].type);
        laws_random(&t->rng, &v[k]);
    }
    return v;
}

uint32_t laws_float_outputs(const tn_fn *f) {
    uint32_t n = 0;
    for (uint32_t j = 0; j < f->nout; j++) n += tn_i_is_float(f->val[f->out[j]].type->dtype);
    return n;
}

laws_array *laws_cotangents(laws_trial *t, const tn_fn *f, uint32_t *n) {
    laws_array *ct = laws_alloc(t->memory, f->nout + 1u, sizeof *ct);
    *n = 0;
    for (uint32_t j = 0; j < f->nout; j++) {
        const tn_type *type = f->val[f->out[j]].type;
        if (!tn_i_is_float(type->dtype)) continue;
        ct[*n] = laws_new(t->memory, type);
        laws_random(&t->rng, &ct[(*n)++]);
    }
    return ct;
}

laws_array *laws_joined(laws_trial *t, const laws_array *a, size_t na, const laws_array *b, size_t nb) {
    laws_array *c = laws_alloc(t->memory, na + nb + 1, sizeof *c);
    for (size_t i = 0; i < na; i++) c[i] = a[i];
    for (size_t i = 0; i < nb; i++) c[na + i] = b[i];
    return c;
}

laws_array *laws_widened_all(laws_trial *t, const laws_array *a, size_t n) {
    laws_array *b = laws_alloc(t->memory, n + 1, sizeof *b);
    for (size_t i = 0; i < n; i++) b[i] = laws_widened(t->memory, &a[i]);
    return b;
}

bool laws_all_finite(const laws_array *a, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!laws_finite(&a[i])) return false;
    return true;
}

/* ---- comparison ------------------------------------------------------------------------- */

/* slack: n arrays, or NULL. */
static bool agree(laws_trial *t, const char *what, const laws_array *a, const laws_array *b, size_t n, double tolerance,
                  double floor, const laws_array *slack) {
    for (size_t j = 0; j < n; j++) {
        const double least = fmax(floor, 1e-3 * laws_largest(&a[j]));
        const int64_t i = laws_values_differ_more(&a[j], &b[j], tolerance, least, slack ? &slack[j] : NULL);
        if (i < 0) continue;
        if (i >= laws_count(&a[j]) || i >= laws_count(&b[j]))
            laws_fail(t, "%s %zu: types differ", what, j);
        else
            laws_fail(t, "%s %zu, element %lld: %.17g and %.17g", what, j, (long long)i, laws_get(&a[j], i),
                      laws_get(&b[j], i));
        return false;
    }
    return true;
}

bool laws_agree(laws_trial *t, const char *what, const laws_array *a, const laws_array *b, size_t n, double tolerance,
                double floor) {
    return agree(t, what, a, b, n, tolerance, floor, NULL);
}

double laws_rounded(const tn_fn *f, const tn_i_eqn *e) {
    tn_i_cost c;
    return tn_i_eqn_cost(f, e, &c) && c.flops > 0 ? 1 : 0;
}

/* The most that y changed, times MARGIN: a dozen draws of errors seldom meet the worst. */
static void widen(laws_array *slack, const laws_array *y, const laws_array *off) {
    enum { MARGIN = 4 };
    if (!laws_is_float(y) || tn_i_has_steps(&y->type)) return;
    for (int64_t i = 0; i < laws_count(y); i++) {
        const double by = MARGIN * fabs(laws_get(y, i) - laws_get(off, i));
        if (isfinite(by) && by > laws_get(slack, i)) laws_put(slack, i, by);
    }
}

typedef bool runs(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out, tn_naive_errors *off);

static laws_array *amounts(laws_trial *t, const tn_fn *f, const laws_array *x, laws_errors *ulps, runs *how) {
    enum { DRAWS = 12 };
    laws_array *slack = laws_alloc(t->memory, f->nout + 1u, sizeof *slack),
               *off = laws_alloc(t->memory, f->nout + 1u, sizeof *off),
               *y = laws_alloc(t->memory, f->nout + 1u, sizeof *y);
    if (!how(t, f, x, y, NULL)) return NULL;
    for (uint32_t j = 0; j < f->nout; j++) {
        tn_type type = *f->val[f->out[j]].type;
        if (!tn_i_has_steps(&type)) type.dtype = TN_F64;
        slack[j] = laws_new(t->memory, &type);
    }
    for (int k = 0; k < DRAWS; k++) {
        tn_naive_errors errors = {.ulps = ulps, .rng = {tn_i_hash_u64(t->seed, (uint64_t)k)}};
        if (!how(t, f, x, off, &errors)) return NULL;
        for (uint32_t j = 0; j < f->nout; j++) widen(&slack[j], &y[j], &off[j]);
    }
    return slack;
}

laws_array *laws_amounts(laws_trial *t, const tn_fn *f, const laws_array *x, laws_errors *ulps) {
    return amounts(t, f, x, ulps, laws_run_off);
}

laws_array *laws_amounts_as_written(laws_trial *t, const tn_fn *f, const laws_array *x, laws_errors *ulps) {
    return amounts(t, f, x, ulps, laws_run_as_written_off);
}

bool laws_agree_but_for(laws_trial *t, const char *what, const tn_fn *f, const laws_array *x, const laws_array *a,
                        const laws_array *b, double tolerance, laws_errors *ulps) {
    if (t->failed || agree(t, what, a, b, f->nout, tolerance, 1e-3, NULL)) return !t->failed;
    t->failed = false; /* looked into: this takes a while */
    const laws_array *slack = laws_amounts(t, f, x, ulps);
    return slack && agree(t, what, a, b, f->nout, tolerance, 1e-3, slack);
}

bool laws_same_bits(laws_trial *t, const char *what, const laws_array *a, const laws_array *b, size_t n) {
    for (size_t j = 0; j < n; j++) {
        const int64_t i = laws_bits_differ(&a[j], &b[j]);
        if (i < 0) continue;
        if (i >= laws_count(&a[j]) || i >= laws_count(&b[j]))
            laws_fail(t, "%s %zu: types differ", what, j);
        else
            laws_fail(t, "%s %zu, element %lld: %a and %a (bits)", what, j, (long long)i, laws_get(&a[j], i),
                      laws_get(&b[j], i));
        return false;
    }
    return true;
}

/* ---- scalar functions ---------------------------------------------------------------------- */

static tn_i_var sum_all(tn_i_builder *b, tn_i_var x) {
    int64_t axes[TN_MAX_RANK];
    const int rank = b->failed ? 0 : tn_i_vtype(b, x)->rank;
    for (int d = 0; d < rank; d++) axes[d] = d;
    return tn_i_reduce_sum(b, x, (uint32_t)rank, axes);
}

static tn_i_var plus(tn_i_builder *b, tn_i_var sum, tn_i_var x) {
    return sum == TN_NOVAR ? x : tn_i_op2(b, TN_P_add, sum, x);
}

/* w y + y y / 4, so that neither first nor second derivatives are constant; w has digits that
 * f32 holds exactly. */
static tn_i_var weighted(laws_trial *t, tn_i_builder *b, tn_i_var y) {
    laws_array w = laws_new(t->memory, tn_i_vtype(b, y));
    for (int64_t i = 0; i < laws_count(&w); i++) laws_put(&w, i, (double)tn_i_pick(&t->rng, -64, 64) / 64);
    const tn_i_var linear = tn_i_op2(b, TN_P_mul, tn_i_constant(b, &w.type, w.data), y);
    const tn_i_var square = tn_i_op2(b, TN_P_mul, tn_i_number_like(b, y, 0.25), tn_i_op2(b, TN_P_mul, y, y));
    return tn_i_op2(b, TN_P_add, linear, square);
}

/* (y y) (w + y): of a cotangent of 1 a product of the function becomes a cotangent. */
static tn_i_var cubed(laws_trial *t, tn_i_builder *b, tn_i_var y) {
    laws_array w = laws_new(t->memory, tn_i_vtype(b, y));
    for (int64_t i = 0; i < laws_count(&w); i++) laws_put(&w, i, (double)tn_i_pick(&t->rng, -64, 64) / 64);
    return tn_i_op2(b, TN_P_mul, tn_i_op2(b, TN_P_mul, y, y),
                    tn_i_op2(b, TN_P_add, tn_i_constant(b, &w.type, w.data), y));
}

static int common_dtype(const tn_fn *f) {
    int dtype = TN_F32;
    for (uint32_t j = 0; j < f->nout; j++)
        if (f->val[f->out[j]].type->dtype == TN_F64) dtype = TN_F64;
    return dtype;
}

typedef tn_i_var term(laws_trial *t, tn_i_builder *b, tn_i_var y);

static const tn_fn *sum_of(laws_trial *t, const tn_fn *f, term *of) {
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    tn_i_var *in = laws_alloc(t->memory, f->nin + 1u, sizeof *in),
             *out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    tn_i_inline(&b, f, in, out);
    tn_i_var sum = TN_NOVAR;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++)
        if (tn_i_is_float(f->val[f->out[j]].type->dtype))
            sum = plus(&b, sum, sum_all(&b, tn_i_convert(&b, of(t, &b, out[j]), common_dtype(f))));
    return laws_made(t, tn_i_finish(&b, 1, &sum), "a scalar function of the outputs");
}

const tn_fn *laws_scalar(laws_trial *t, const tn_fn *f) { return sum_of(t, f, weighted); }
const tn_fn *laws_cubes(laws_trial *t, const tn_fn *f) { return sum_of(t, f, cubed); }

const tn_fn *laws_paired(laws_trial *t, const tn_fn *f) {
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    tn_i_var *in = laws_alloc(t->memory, f->nin + 1u, sizeof *in),
             *out = laws_alloc(t->memory, f->nout + 1u, sizeof *out),
             *v = laws_alloc(t->memory, f->nout + 1u, sizeof *v);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    for (uint32_t j = 0; j < f->nout; j++) v[j] = tn_i_input(&b, f->val[f->out[j]].type, false);
    tn_i_inline(&b, f, in, out);
    tn_i_var sum = TN_NOVAR;
    for (uint32_t j = 0; j < f->nout && !b.failed; j++)
        sum = plus(&b, sum, tn_i_convert(&b, sum_all(&b, tn_i_op2(&b, TN_P_mul, out[j], v[j])), common_dtype(f)));
    return laws_made(t, tn_i_finish(&b, 1, &sum), "a scalar product of the outputs");
}

const tn_fn *laws_simplified(laws_trial *t, const tn_fn *f) {
    tn_i_builder b;
    tn_i_builder_init(&b, t->ctx);
    tn_i_var *in = laws_alloc(t->memory, f->nin + 1u, sizeof *in),
             *out = laws_alloc(t->memory, f->nout + 1u, sizeof *out);
    for (uint32_t i = 0; i < f->nin; i++) in[i] = tn_i_input(&b, f->val[i].type, false);
    tn_i_inline(&b, f, in, out);
    return laws_made(t, tn_i_finish(&b, f->nout, out), "simplifying");
}
