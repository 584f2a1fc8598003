/* Derivatives in floats of 16 bits are those of wide ones, but for what rounding behind each equation of theirs amounts
 * to: the equations once more in f64, with random errors of that size. */
#include "laws/copy64.h"
#include "laws/derive.h"
#include "laws/table.h"

#include <math.h>

/* The order of polygamma is a whole number, which is exact. */
static bool is_fixed(const tn_fn *f, uint32_t v) {
    for (uint32_t k = 0; k < f->neqn; k++)
        for (uint32_t i = 0; i < f->eqn[k].nin; i++)
            if (tn_i_in(f, &f->eqn[k])[i] == v && laws_is_fixed(f->eqn[k].prim, i)) return true;
    return false;
}

static double rounded(const tn_fn *f, const tn_i_eqn *e) {
    return e->nout == 1 && is_fixed(f, e->out) ? 0 : laws_rounded(f, e);
}

/* An ulp of the half in those of f64. */
static double of_f16(const tn_fn *f, const tn_i_eqn *e) { return 0x1p42 * rounded(f, e); }
static double of_bf16(const tn_fn *f, const tn_i_eqn *e) { return 0x1p45 * rounded(f, e); }

/* Whether values that wide equations compute leave those of f16, or are less than it tells apart. */
static bool fits(const laws_array *a, size_t n, int dtype) {
    for (size_t j = 0; j < n; j++)
        for (int64_t i = 0; i < laws_count(&a[j]) && dtype == TN_F16; i++) {
            const double x = fabs(laws_get(&a[j], i));
            if (laws_is_float(&a[j]) && !(x < 0x1p15)) return false;
        }
    return laws_all_finite(a, n);
}

/* half: a program of floats of 16 bits at x; wide: what it should compute. */
static bool same(laws_trial *t, const char *what, const tn_fn *half, const tn_fn *wide, const laws_array *x) {
    const bool f16 = t->dtype == TN_F16;
    const tn_fn *exact = laws_made(t, laws_copy_f64(half), "the equations in f64");
    if (!exact) return false;
    const laws_array *in = laws_widened_all(t, x, half->nin);
    const laws_array *got = laws_run_new(t, half, x), *want = got ? laws_run_new(t, wide, in) : NULL;
    if (!want) return false;
    if (!fits(got, half->nout, t->dtype) || !fits(want, half->nout, t->dtype)) {
        t->redraw = true;
        return false;
    }
    t->shown = half;
    const laws_array *slack = laws_amounts_as_written(t, exact, in, f16 ? of_f16 : of_bf16);
    if (!slack) return false;
    for (uint32_t j = 0; j < half->nout && !t->failed; j++) {
        if (!laws_is_float(&got[j])) continue;
        for (int64_t i = 0; i < laws_count(&got[j]); i++) {
            const double x_half = laws_get(&got[j], i), x_wide = laws_get(&want[j], i);
            /* what is stored last is rounded, too; and the least that f16 has is 6e-8 */
            const double rounding = (f16 ? 0x1p-10 : 0x1p-7) * fabs(x_wide) + 1e-5;
            if (fabs(x_half - x_wide) <= rounding + laws_get(&slack[j], i)) continue;
            laws_fail(t, "%s: output %u, element %lld: %.9g, and %.9g of wide floats (rounding: %.2g)", what,
                      (unsigned)j, (long long)i, x_half, x_wide, rounding + laws_get(&slack[j], i));
            break;
        }
    }
    return !t->failed;
}

void laws_half_derivatives(laws_trial *t) {
    const tn_fn *f = t->f;
    laws_wrt w, wide_w;
    uint32_t n;
    if (!tn_i_is_half(t->dtype) || !laws_holds_half(f)) return;
    const tn_fn *g = t->f64;
    (void)laws_wrt_all(f, &w);
    (void)laws_wrt_all(g, &wide_w);
    if (w.list.n != wide_w.list.n) return; /* of integers that become floats */
    const tn_fn *jvp = laws_made(t, tn_jvp(f, &w.list), "jvp");
    const tn_fn *wide_jvp = jvp ? laws_made(t, tn_jvp(g, &wide_w.list), "jvp in f64") : NULL;
    if (!wide_jvp) return;
    const laws_array *v = laws_tangents(t, t->x, &w.list);
    if (!same(t, "jvp", jvp, wide_jvp, laws_joined(t, t->x, f->nin, v, w.list.n))) return;
    const tn_fn *vjp = laws_made(t, tn_vjp(f, &w.list, NULL), "vjp");
    const tn_fn *wide_vjp = vjp ? laws_made(t, tn_vjp(g, &wide_w.list, NULL), "vjp in f64") : NULL;
    if (!wide_vjp) return;
    const laws_array *ct = laws_cotangents(t, f, &n), *x = laws_joined(t, t->x, f->nin, ct, n);
    if (!same(t, "vjp", vjp, wide_vjp, x)) return;
    laws_wrt all, wide_all;
    (void)laws_wrt_all(vjp, &all);
    (void)laws_wrt_all(wide_vjp, &wide_all);
    const tn_fn *second = laws_made(t, tn_jvp(vjp, &all.list), "jvp of vjp");
    const tn_fn *wide_second = second ? laws_made(t, tn_jvp(wide_vjp, &wide_all.list), "jvp of vjp in f64") : NULL;
    if (!wide_second) return;
    v = laws_tangents(t, x, &all.list);
    (void)same(t, "jvp of vjp", second, wide_second, laws_joined(t, x, vjp->nin, v, all.list.n));
}
