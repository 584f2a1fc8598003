/* ADBench's Gaussian mixture model (bench/data): the logarithm of the likelihood of n points under k full covariances,
 * with a Wishart prior; value and gradient with respect to all parameters. */
#include "suite.h"

#include <math.h>
#include <string.h>

typedef struct model {
    c_gmm p;
    double *work, value, *alpha, *mean, *icf; /* what C writes */
} model;

static void products(void *data) {
    model *m = data;
    c_gmm_products(&m->p, m->work, &m->value, m->alpha, m->mean, m->icf);
}
static void direct(void *data) {
    model *m = data;
    c_gmm_direct(&m->p, m->work, &m->value, m->alpha, m->mean, m->icf);
}

/* ---- for Tansy
 * --------------------------------------------------------------------------------------------------------- */

/* Where entry (r, c) of L is in a row of [exp q, packed columns below the diagonal, 0]. */
static void positions(long d, int32_t *at) {
    int32_t below = (int32_t)d;
    for (long i = 0; i < d * d; i++) at[i] = (int32_t)(d * (d + 1) / 2);
    for (long c = 0; c < d; c++) {
        at[c * d + c] = (int32_t)c;
        for (long r = c + 1; r < d; r++) at[r * d + c] = below++;
    }
}

/* All that does not depend on the parameters. */
static double constant(const c_gmm *p) {
    const double pi = 3.14159265359, d = (double)p->d, n = d + (double)p->m + 1; /* ADBench's pi */
    double lg = d * (d - 1) / 4 * log(pi);
    for (long j = 1; j <= p->d; j++) lg += lgamma(n / 2 + (double)(1 - j) / 2);
    return -(double)p->k * (n * d * (log(p->gamma) - 0.5 * log(2)) - lg) - (double)p->n * d / 2 * log(2 * pi);
}

/* in: alpha [k], mean [k, d], icf [k, d (d + 1) / 2], x [n, d], positions [d d] */
static tn_val objective(const tn_val *in, void *user) {
    const c_gmm *p = user;
    const int64_t d = p->d, k = p->k, packed = d * (d + 1) / 2;
    const tn_val q = tn_slice_axis(in[2], 0, d, 1, 1), below = tn_slice_axis(in[2], d, packed, 1, 1), e = tn_exp(q);
    const tn_val row = tn_concatenate(tn_vals(e, below, tn_zeros(p->d ? tn_val_ctx(q) : NULL, tn_f64(k, 1))), 1);
    const tn_val l = tn_reshape(tn_take(row, in[4], 1, TN_CLIP_INDICES), k, d, d);
    const tn_val lmu = tn_einsum("kij,kj->ki", tn_vals(l, in[1]));
    const tn_val lx = tn_reshape(tn_matmul(in[3], tn_t(tn_reshape(l, k * d, d))), p->n, k, d);
    const tn_val squares = tn_sum_axis(tn_square(tn_sub(lx, lmu)), 2);
    const tn_val logs = tn_sum_axis(q, 1);
    const tn_val t = tn_sub(tn_add(in[0], logs), tn_mul(0.5, squares));
    const tn_val fit = tn_sub(tn_sum(tn_logsumexp(t, 1)), tn_mul((double)p->n, tn_logsumexp(in[0], 0)));
    const tn_val prior = tn_sub(tn_mul(0.5 * p->gamma * p->gamma, tn_add(tn_sum_squares(e), tn_sum_squares(below))),
                                tn_mul((double)p->m, tn_sum(q)));
    return tn_add(tn_add(fit, prior), constant(p));
}

/* ---- data
 * ---------------------------------------------------------------------------------------------------------------- */

static bool numbers(FILE *f, double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (fscanf(f, "%lf", &x[i]) != 1) return false;
    return true;
}

static FILE *open_data(const bench *b, const char *name, const char *end) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s%s", bench_data(b), name, end);
    return fopen(path, "r");
}

/* times: how often the points stand one behind the other */
static bool read_model(bench *b, const char *name, long times, model *m) {
    FILE *f = open_data(b, name, ".txt");
    c_gmm *p = &m->p;
    if (!f || fscanf(f, "%ld %ld %ld", &p->d, &p->k, &p->n) != 3 || p->k > 256) {
        if (f) fclose(f);
        return false;
    }
    const size_t k = (size_t)p->k, d = (size_t)p->d, icf = k * d * (d + 1) / 2, n = (size_t)p->n * d;
    double *alpha = bench_memory(b, k * 8), *mean = bench_memory(b, k * d * 8), *l = bench_memory(b, icf * 8);
    double *x = bench_memory(b, n * (size_t)times * 8);
    const bool ok = numbers(f, alpha, k) && numbers(f, mean, k * d) && numbers(f, l, icf) && numbers(f, x, n) &&
                    fscanf(f, "%lf %ld", &p->gamma, &p->m) == 2;
    fclose(f);
    for (long i = 1; i < times; i++) memcpy(x + (size_t)i * n, x, n * 8);
    p->n *= times;
    p->alpha = alpha, p->mean = mean, p->icf = l, p->x = x;
    m->work = bench_memory(b, c_gmm_work(p) * 8);
    m->alpha = bench_memory(b, k * 8);
    m->mean = bench_memory(b, k * d * 8);
    m->icf = bench_memory(b, icf * 8);
    return ok;
}

static bool near(const double *x, FILE *f, size_t n, double *want) {
    double worst = 0, scale = 0;
    if (!numbers(f, want, n)) return false;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(x[i] - want[i]));
        scale = fmax(scale, fabs(want[i]));
    }
    return worst <= 1e-12 * scale;
}

/* C's results with ADBench's; Tansy's are compared with C's. */
static bool golden(bench *b, const char *name, model *m) {
    FILE *f = open_data(b, name, ".golden.txt");
    const size_t k = (size_t)m->p.k, d = (size_t)m->p.d, icf = k * d * (d + 1) / 2;
    double *want = bench_memory(b, icf * 8 + 8 * k * d), value;
    long one, all;
    products(m);
    bool ok = f && fscanf(f, "objective %ld %lf gradient %ld", &one, &value, &all) == 3 && one == 1 &&
              fabs(value - m->value) <= 1e-12 * fabs(value);
    /* each part by its own largest entry */
    ok = ok && near(m->alpha, f, k, want) && near(m->mean, f, k * d, want) && near(m->icf, f, icf, want);
    if (f) fclose(f);
    return ok;
}

static void mixture(bench *b, const char *name, const char *variant, long times) {
    model m = {.value = 0};
    if (!read_model(b, name, times, &m)) {
        bench_failed(b, "gmm", "no data");
        return;
    }
    if (times == 1 && !golden(b, name, &m)) bench_failed(b, "gmm", "C does not give ADBench's numbers");
    const c_gmm *p = &m.p;
    int32_t *at = bench_memory(b, (size_t)(p->d * p->d) * 4);
    positions(p->d, at);
    tn_fn *f = tn_trace(bench_ctx(b), objective, &m.p,
                        TN_ARGS(tn_f64(p->k), tn_f64(p->k, p->d), tn_f64(p->k, p->d * (p->d + 1) / 2),
                                tn_f64(p->n, p->d), tn_i32(p->d * p->d)));
    bench_run(b, &(bench_case){.workload = "gmm",
                               .variant = variant,
                               .n = p->n,
                               .dtype = TN_F64,
                               .fn = tn_value_and_grad(f, tn_wrt(0, 1, 2), NULL),
                               .in = TN_RAW_INPUTS(p->alpha, p->mean, p->icf, p->x, at),
                               .c = products,
                               .other = direct,
                               .other_name = "direct",
                               .data = &m,
                               .want = TN_RAW_OUTPUTS(&m.value, m.alpha, m.mean, m.icf),
                               .tolerance = 1e-12,
                               .flush = true}); /* most weights are next to nothing */
}

void suite_gmm(bench *b) {
    if (!bench_wants(b, "gmm")) return;
    mixture(b, "gmm_1k_d10_K25", "d10 K25", 1);
    mixture(b, "gmm_1k_d64_K5", "d64 K5", 1);
    if (!bench_quick(b)) mixture(b, "gmm_1k_d10_K25", "d10 K25", 10);
}
