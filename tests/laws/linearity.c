/* What the checker calls linear is linear, and is transposed as such. */
#include "laws/case.h"
#include "laws/derive.h"
#include "laws/table.h"

#include <math.h>

/* Inputs in the program's order: operands outside the set, then those in it. */
static laws_array *ordered(laws_trial *t, uint32_t set, const laws_array *nonlinear, const laws_array *linear) {
    laws_array *x = laws_alloc(t->memory, t->c->nin + 1u, sizeof *x);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->c->nin; i++)
        if (!(set >> i & 1)) x[n++] = nonlinear[i];
    for (uint32_t i = 0; i < t->c->nin; i++)
        if (set >> i & 1) x[n++] = linear[i];
    return x;
}

static bool additive(laws_trial *t, const tn_fn *f, uint32_t set, const laws_array *u, const laws_array *v) {
    const double a = 1.5, b = -0.75; /* exact in f32 */
    laws_array *sum = laws_alloc(t->memory, t->c->nin + 1u, sizeof *sum);
    for (uint32_t i = 0; i < t->c->nin; i++) {
        sum[i] = laws_new(t->memory, &u[i].type);
        for (int64_t k = 0; k < laws_count(&u[i]); k++)
            laws_put(&sum[i], k, a * laws_get(&u[i], k) + b * laws_get(&v[i], k));
    }
    const laws_array *fu = laws_run_new(t, f, ordered(t, set, t->x, u)),
                     *fv = laws_run_new(t, f, ordered(t, set, t->x, v)),
                     *fs = laws_run_new(t, f, ordered(t, set, t->x, sum));
    if (!fu || !fv || !fs) return false;
    for (uint32_t j = 0; j < f->nout; j++) {
        laws_array want = laws_new(t->memory, &fs[j].type);
        if (!laws_is_float(&want)) continue;
        for (int64_t k = 0; k < laws_count(&want); k++)
            laws_put(&want, k, a * laws_get(&fu[j], k) + b * laws_get(&fv[j], k));
        if (!laws_finite(&want)) {
            laws_fail(t, "the checker calls operands %#x linear, but output %u is not finite", (unsigned)set,
                      (unsigned)j);
            return false;
        }
        if (!laws_agree(t, "the checker calls it linear, but f(1.5 u - 0.75 v) is not 1.5 f(u) - 0.75 f(v): output",
                        &fs[j], &want, 1, laws_rounding(f), 1))
            return false;
    }
    return true;
}

static void transposed(laws_trial *t, const tn_fn *f, uint32_t set, const laws_array *u) {
    const tn_fn *g = laws_made(t, tn_transpose(f), "transpose");
    if (!g) return;
    uint32_t n;
    const laws_array *ct = laws_cotangents(t, f, &n), *x = ordered(t, set, t->x, u);
    const laws_array *y = laws_run_new(t, f, x),
                     *back = y ? laws_run_new(t, g, laws_joined(t, x, f->nin - f->nlin, ct, n)) : NULL;
    if (!back) return;
    double a = 0, b = 0, scale = 0;
    for (uint32_t j = 0; j < f->nout; j++) a += laws_dot(&ct[j], &y[j], &scale);
    for (uint32_t i = 0; i < f->nlin; i++) b += laws_dot(&back[i], &x[f->nin - f->nlin + i], &scale);
    t->shown = g;
    if (!(fabs(a - b) <= laws_rounding(f) * fmax(scale, 1e-2)))
        laws_fail(t, "<ct, f u> = %.17g but <f' ct, u> = %.17g", a, b);
}

/* Every set of operands that the descriptor declares must be accepted; any other set that the
 * checker lets pass must be linear all the same. */
void laws_linear(laws_trial *t) {
    uint32_t floats = 0, set = 0;
    for (uint32_t i = 0; i < t->c->nin; i++) floats |= tn_i_is_float(t->c->in[i].dtype) ? 1u << i : 0;
    const int64_t which = tn_i_pick(&t->rng, 0, 3);
    const bool declared = which < 2 && t->prim->linear[which] && !t->prim->linearity;
    set = floats & (declared ? t->prim->linear[which] : (uint32_t)tn_i_random(&t->rng));
    if (!set) return;
    const tn_fn *f = laws_case_program(t->prim, t->c, set);
    if (!f) {
        if (declared)
            laws_fail(t, "the checker refuses what the descriptor declares: %s", tn_error(t->ctx));
        else if (tn_last_status(t->ctx) != TN_ELINEAR)
            laws_fail(t, "refused with another status: %s", tn_error(t->ctx));
        return;
    }
    for (uint32_t j = 0; j < f->nout; j++)
        if (!tn_i_is_float(f->val[f->out[j]].type->dtype)) {
            laws_fail(t, "the checker lets operands %#x be linear, but output %u is no float", (unsigned)set,
                      (unsigned)j);
            return;
        }
    laws_array *u = laws_alloc(t->memory, t->c->nin + 1u, sizeof *u),
               *v = laws_alloc(t->memory, t->c->nin + 1u, sizeof *v);
    for (uint32_t i = 0; i < t->c->nin; i++) {
        u[i] = laws_new(t->memory, &t->c->in[i]);
        v[i] = laws_new(t->memory, &t->c->in[i]);
        laws_random(&t->rng, &u[i]);
        laws_random(&t->rng, &v[i]);
    }
    if (additive(t, f, set, u, v)) transposed(t, f, set, u);
}
