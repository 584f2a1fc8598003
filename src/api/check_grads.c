/* Derivatives against Richardson-extrapolated central differences, in f64.
 *
 * A jvp is compared element by element and then is what the vjp is compared with; where code from outside has no jvp,
 * products of differences with random cotangents are; where it has no vjp, the jvp is all there is. */
#include "api/args.h"
#include "api/probe.h"
#include "api/promote.h"
#include "prims/prim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEVELS = 7 };

typedef struct checker {
    const tn_fn *f;       /* as run: f64 where possible */
    const void *const *x; /* the point, in the types of `given` */
    const tn_fn *given;
    tn_check_options opt;
    tn_i_wrt w;
    tn_i_probe f_at, jvp_at, vjp_at;
    double *sample; /* LEVELS central differences of all output elements */
    int64_t elements;
    uint64_t seed;
} checker;

static int64_t output_elements(const tn_fn *f) {
    int64_t n = 0;
    for (uint32_t j = 0; j < f->nout; j++) n += tn_i_count(f->val[f->out[j]].type);
    return n;
}

/* Inputs x, moved by h along the direction in input i. */
static void place(const checker *q, tn_i_probe *p, uint32_t i, const void *direction, double h) {
    for (uint32_t v = 0; v < q->f->nin; v++) {
        const tn_type *t = q->f->val[v].type, *given = q->given->val[v].type;
        for (int64_t k = 0, n = tn_i_count(t); k < n; k++) {
            double x = tn_i_probe_get(given, q->x[v], k);
            if (t->dtype == TN_I64)
                ((int64_t *)p->in[v])[k] = ((const int64_t *)q->x[v])[k];
            else
                tn_i_probe_set(t, p->in[v], k, v == i ? x + h * tn_i_probe_get(t, direction, k) : x);
        }
    }
}

static tn_status difference(checker *q, uint32_t i, const void *direction, double h, double *out) {
    int64_t at = 0;
    for (int side = 0; side < 2; side++) {
        place(q, &q->f_at, i, direction, side ? -h : h);
        tn_status s = tn_i_probe_run(&q->f_at);
        if (s != TN_OK) return s;
        at = 0;
        for (uint32_t j = 0; j < q->f->nout; j++) {
            const tn_type *t = q->f->val[q->f->out[j]].type;
            for (int64_t k = 0, n = tn_i_count(t); k < n; k++, at++) {
                double y = tn_i_probe_get(t, q->f_at.out[j], k) / (2 * h);
                out[at] = side ? out[at] - y : y;
            }
        }
    }
    return TN_OK;
}

/* Neville's table over halved steps; the entry that agrees best with its neighbours. */
static double extrapolate(const checker *q, int64_t at, double *error) {
    double row[LEVELS] = {0}, best = q->sample[at];
    *error = HUGE_VAL;
    for (int k = 0; k < LEVELS; k++) {
        double above = row[0], factor = 4;
        row[0] = q->sample[(int64_t)k * q->elements + at];
        for (int m = 1; m <= k; m++, factor *= 4) {
            double corner = row[m];
            row[m] = row[m - 1] + (row[m - 1] - above) / (factor - 1);
            double e = fmax(fabs(row[m] - row[m - 1]), fabs(row[m] - above));
            if (e < *error) {
                *error = e;
                best = row[m];
            }
            above = corner;
        }
    }
    return best;
}

static double tolerance(const checker *q, const tn_type *t) {
    if (q->opt.tolerance > 0) return q->opt.tolerance;
    return t->dtype == TN_F32 ? 1e-4 : 1e-8;
}

static tn_status compare(checker *q, uint32_t i) {
    int64_t at = 0;
    uint32_t d = q->f->nout;
    for (uint32_t j = 0; j < q->f->nout; j++) {
        const tn_type *t = q->f->val[q->f->out[j]].type, *given = q->given->val[q->given->out[j]].type;
        int64_t n = tn_i_count(t);
        if (!tn_i_is_float(t->dtype)) {
            at += n;
            continue;
        }
        double scale = 1;
        for (int64_t k = 0; k < n; k++) {
            scale = fmax(scale, fabs(tn_i_probe_get(t, q->jvp_at.out[d], k)));
            scale = fmax(scale, fabs(tn_i_probe_get(t, q->jvp_at.out[j], k)));
        }
        for (int64_t k = 0; k < n; k++, at++) {
            double error, want = extrapolate(q, at, &error), got = tn_i_probe_get(t, q->jvp_at.out[d], k);
            if (fabs(got - want) <= tolerance(q, given) * scale + 10 * error) continue;
            return tn_i_fail(
                q->f->ctx, TN_EINVAL, q->given->loc,
                "check_grads: input %u: output %u element %lld: jvp gives %.17g, finite differences %.17g (+- %.2g)",
                (unsigned)i, (unsigned)j, (long long)k, got, want, error);
        }
        d++;
    }
    return TN_OK;
}

/* Tangent `direction` in input i, zero in the others. */
static tn_status run_jvp(checker *q, uint32_t i, void *direction) {
    place(q, &q->jvp_at, UINT32_MAX, NULL, 0);
    for (uint32_t k = 0; k < q->w.n; k++) {
        const tn_type *t = q->f->val[q->w.index[k]].type;
        void *dx = q->jvp_at.in[q->f->nin + k];
        if (q->w.index[k] == i)
            memcpy(dx, direction, tn_type_bytes(t));
        else
            memset(dx, 0, tn_type_bytes(t));
    }
    return tn_i_probe_run(&q->jvp_at);
}

/* A random ct, and <J' ct, dx>. */
static tn_status run_vjp(checker *q, uint32_t k, const void *direction, double *dot, double *scale) {
    uint32_t ct = q->f->nin;
    place(q, &q->vjp_at, UINT32_MAX, NULL, 0);
    for (uint32_t j = 0; j < q->f->nout; j++) {
        const tn_type *t = q->f->val[q->f->out[j]].type;
        if (tn_i_is_float(t->dtype)) tn_i_probe_random(t, q->vjp_at.in[ct++], &q->seed);
    }
    const tn_status s = tn_i_probe_run(&q->vjp_at);
    if (s != TN_OK) return s;
    *dot = tn_i_probe_dot(q->f->val[q->w.index[k]].type, q->vjp_at.out[q->f->nout + k], direction, scale);
    return TN_OK;
}

/* <ct, J dx> = <J' ct, dx> */
static tn_status check_adjoint(checker *q, uint32_t k, const void *direction) {
    double left = 0, right, scale = 0;
    uint32_t d = q->f->nout, ct = q->f->nin;
    const tn_type *tx = q->f->val[q->w.index[k]].type;
    const tn_status s = run_vjp(q, k, direction, &right, &scale);
    if (s != TN_OK) return s;
    for (uint32_t j = 0; j < q->f->nout; j++) {
        const tn_type *t = q->f->val[q->f->out[j]].type;
        if (tn_i_is_float(t->dtype)) left += tn_i_probe_dot(t, q->vjp_at.in[ct++], q->jvp_at.out[d++], &scale);
    }
    if (fabs(left - right) <= (tx->dtype == TN_F32 ? 1e-4 : 1e-10) * scale) return TN_OK;
    return tn_i_fail(q->f->ctx, TN_EINVAL, q->given->loc,
                     "check_grads: input %u: <ct, J dx> = %.17g, but <J' ct, dx> = %.17g", (unsigned)q->w.index[k],
                     left, right);
}

/* <ct, (f(x + h dx) - f(x - h dx)) / 2h> = <J' ct, dx> as h goes to 0 */
static tn_status check_products(checker *q, uint32_t k, const void *direction) {
    double left = 0, right, scale = 0, errors = 0, allowed = 0;
    int64_t at = 0;
    uint32_t ct = q->f->nin;
    const tn_status s = run_vjp(q, k, direction, &right, &scale);
    if (s != TN_OK) return s;
    for (uint32_t j = 0; j < q->f->nout; j++) {
        const tn_type *t = q->f->val[q->f->out[j]].type;
        const int64_t n = tn_i_count(t);
        for (int64_t e = 0; tn_i_is_float(t->dtype) && e < n; e++) {
            double error;
            const double weight = tn_i_probe_get(t, q->vjp_at.in[ct], e), dy = extrapolate(q, at + e, &error);
            left += weight * dy;
            scale += fabs(weight * dy);
            scale = fmax(scale, fabs(tn_i_probe_get(t, q->vjp_at.out[j], e)));
            errors += fabs(weight) * error;
        }
        at += n;
        if (!tn_i_is_float(t->dtype)) continue;
        allowed = fmax(allowed, tolerance(q, q->given->val[q->given->out[j]].type));
        ct++;
    }
    if (fabs(left - right) <= allowed * fmax(1, scale) + 10 * errors) return TN_OK;
    return tn_i_fail(q->f->ctx, TN_EINVAL, q->given->loc,
                     "check_grads: input %u: <J' ct, dx> = %.17g, finite differences give <ct, J dx> = %.17g (+- %.2g)",
                     (unsigned)q->w.index[k], right, left, errors);
}

static tn_status check_direction(checker *q, uint32_t k) {
    uint32_t i = q->w.index[k];
    const tn_type *t = q->f->val[i].type;
    size_t bytes = tn_type_bytes(t);
    void *direction = tn_i_alloc(q->f->ctx, bytes);
    if (!direction) return TN_ENOMEM;
    tn_i_probe_random(t, direction, &q->seed);
    double largest = 1;
    for (int64_t e = 0, n = tn_i_count(t); e < n; e++)
        largest = fmax(largest, fabs(tn_i_probe_get(q->given->val[i].type, q->x[i], e)));
    double h = 1.0 / 32 * (largest > 1 ? 1 : largest);
    tn_status s = TN_OK;
    for (int level = 0; level < LEVELS && s == TN_OK; level++, h /= 2)
        s = difference(q, i, direction, h, q->sample + (int64_t)level * q->elements);
    if (s == TN_OK && q->jvp_at.f) s = run_jvp(q, i, direction);
    if (s == TN_OK && q->jvp_at.f) s = compare(q, i);
    if (s == TN_OK && q->vjp_at.f) s = (q->jvp_at.f ? check_adjoint : check_products)(q, k, direction);
    tn_i_free(q->f->ctx, direction, bytes);
    return s;
}

/* Forward and reverse mode of f, or NULL in place of the one that a missing callback denies; false when there is none.
 */
static bool derive(const tn_fn *f, const tn_wrt_list *wrt, tn_fn **jvp, tn_fn **vjp) {
    tn_ctx *c = f->ctx;
    *vjp = NULL;
    *jvp = tn_jvp(f, wrt);
    if (!*jvp && tn_last_status(c) != TN_ERULE) return false;
    *vjp = tn_vjp(f, wrt, NULL);
    if (!*vjp && (!*jvp || tn_last_status(c) != TN_ERULE)) return false;
    if (!*vjp || !*jvp) tn_error_clear(c);
    return true;
}

static tn_status check_first_order(const tn_fn *given, const tn_fn *f, const void *const *x, const tn_wrt_list *wrt,
                                   tn_check_options opt) {
    tn_ctx *c = f->ctx;
    checker q = {.f = f, .given = given, .x = x, .opt = opt, .seed = opt.seed + 1, .elements = output_elements(f)};
    if (!tn_i_wrt_init(&q.w, "check_grads", f, wrt)) return tn_last_status(c);
    tn_fn *jvp, *vjp;
    size_t room = (size_t)LEVELS * (size_t)q.elements;
    q.sample = tn_i_alloc_array(c, room, sizeof *q.sample);
    bool ok = derive(f, wrt, &jvp, &vjp) && q.sample && tn_i_probe_init(&q.f_at, f, opt.spill_dir) &&
              (!jvp || tn_i_probe_init(&q.jvp_at, jvp, opt.spill_dir)) &&
              (!vjp || tn_i_probe_init(&q.vjp_at, vjp, opt.spill_dir));
    tn_status s = ok ? TN_OK : tn_last_status(c);
    for (uint32_t k = 0; k < q.w.n && s == TN_OK; k++)
        for (int d = 0; d < opt.directions && s == TN_OK; d++) s = check_direction(&q, k);
    tn_i_probe_free(&q.vjp_at);
    tn_i_probe_free(&q.jvp_at);
    tn_i_probe_free(&q.f_at);
    tn_i_free(c, q.sample, room * sizeof *q.sample);
    tn_i_fn_unref(jvp);
    tn_i_fn_unref(vjp);
    tn_i_wrt_free(&q.w);
    return s;
}

/* Second derivatives: the vjp, a function of x and of a random cotangent. */
static tn_status check_second_order(const tn_fn *given, const void *const *x, const tn_wrt_list *wrt,
                                    const tn_check_options *opt) {
    tn_ctx *c = given->ctx;
    tn_fn *vjp = tn_vjp(given, wrt, NULL), *f = vjp ? tn_i_promote(vjp) : NULL;
    const tn_fn *run = f ? f : vjp;
    if (!vjp || (!f && tn_last_status(c) != TN_ERULE)) {
        tn_i_fn_unref(vjp);
        return tn_last_status(c);
    }
    if (!f) tn_error_clear(c);
    const void **at = tn_i_alloc_array(c, vjp->nin, sizeof *at);
    void **ct = tn_i_alloc_array(c, vjp->nin, sizeof *ct);
    uint64_t seed = opt->seed + 77;
    tn_status s = at && ct ? TN_OK : TN_ENOMEM;
    for (uint32_t i = 0; i < vjp->nin && s == TN_OK; i++) {
        at[i] = i < given->nin ? x[i] : (ct[i] = tn_i_alloc(c, tn_type_bytes(vjp->val[i].type)));
        if (i >= given->nin && !ct[i])
            s = TN_ENOMEM;
        else if (i >= given->nin)
            tn_i_probe_random(vjp->val[i].type, ct[i], &seed);
    }
    if (s == TN_OK) s = check_first_order(vjp, run, at, wrt, *opt);
    for (uint32_t i = given->nin; ct && i < vjp->nin; i++) tn_i_free(c, ct[i], tn_type_bytes(vjp->val[i].type));
    tn_i_free(c, (void *)at, vjp->nin * sizeof *at);
    tn_i_free(c, ct, vjp->nin * sizeof *ct);
    tn_i_fn_unref(f);
    tn_i_fn_unref(vjp);
    return s;
}

/* The point, one pointer per input, and none is NULL. */
static bool take_inputs(const tn_fn *f, const void *const *x, const void ***at) {
    if (!x && f->nin) return tn_i_fail(f->ctx, TN_EINVAL, f->loc, "check_grads: no inputs are given") == TN_OK;
    if (!tn_i_given_values("check_grads", "", f, x, at)) return false;
    for (uint32_t i = 0; i < f->nin; i++)
        if (!(*at)[i] && tn_i_count(f->val[i].type))
            return tn_i_fail(f->ctx, TN_EINVAL, f->loc, "check_grads: input %u is NULL", (unsigned)i) == TN_OK;
    return true;
}

static tn_status check_orders(const tn_fn *given, const void *const *x, const tn_wrt_list *wrt,
                              const tn_check_options *o) {
    tn_fn *f = tn_i_promote(given); /* without an f64 copy (external code) f itself is run */
    if (!f && tn_last_status(given->ctx) != TN_ERULE) return tn_last_status(given->ctx);
    if (!f) tn_error_clear(given->ctx);
    tn_status s = check_first_order(given, f ? f : given, x, wrt, *o);
    tn_i_fn_unref(f);
    if (s != TN_OK || o->order == 1) return s;
    s = check_second_order(given, x, wrt, o);
    if (s != TN_ERULE || o->order == 2) return s;
    tn_error_clear(given->ctx); /* nobody asked for what code from outside does not have */
    return TN_OK;
}

tn_status tn_check_grads(const tn_fn *given, const void *const *x, const tn_wrt_list *wrt,
                         const tn_check_options *opt) {
    if (!tn_i_living(given)) return TN_EINVAL;
    tn_check_options o = {.size = sizeof o};
    if (!tn_i_options(given->ctx, "tn_check_options", opt, &o, sizeof o)) return TN_EINVAL;
    if (o.directions <= 0) o.directions = 4;
    if (o.order < 0) o.order = 0;
    if (o.order > 2) o.order = 2;
    const void **at = NULL;
    const tn_status s = take_inputs(given, x, &at) ? check_orders(given, at, wrt, &o) : tn_last_status(given->ctx);
    tn_i_given_free(given, at);
    return s;
}
