/* ADBench's Gaussian mixture.  With products: blocks of points, R' = L X' for all components at once, one pass that
 * goes from R to the weighted residuals, and G += (W R)' X; everything else is of the size of the parameters. */
#include "by_hand.h"
#include "vec.h"

enum { BLOCK = 256, L = LANES_f64 };

static long packed_size(long d) { return d * (d + 1) / 2; }

/* Doubles, whole cache lines. */
static size_t lines(long n) { return (size_t)(n + 7) / 8 * 8; }

typedef struct parts {
    double *l, *lmu, *g, *s; /* [kd, d], [kd], [kd, d], [kd] */
    double *r, *t;           /* [kd, BLOCK], [k, BLOCK] */
    double *base, *w;        /* alpha + sum q; sums of weights: [k] */
} parts;

static parts carve(const c_gmm *p, double *work) {
    const long kd = p->k * p->d;
    parts a = {.l = work};
    a.lmu = a.l + lines(kd * p->d);
    a.g = a.lmu + lines(kd);
    a.s = a.g + lines(kd * p->d);
    a.r = a.s + lines(kd);
    a.t = a.r + kd * BLOCK;
    a.base = a.t + p->k * BLOCK;
    a.w = a.base + lines(p->k);
    return a;
}

size_t c_gmm_work(const c_gmm *p) {
    const long kd = p->k * p->d;
    return 2 * lines(kd * p->d) + 2 * lines(kd) + (size_t)(kd + p->k) * BLOCK + 2 * lines(p->k);
}

/* L of every component from its logarithms and columns, L mu, and alpha + sum q. */
static void unpack(const c_gmm *p, const parts *a) {
    const long d = p->d;
    memset(a->l, 0, (size_t)(p->k * d * d) * sizeof *a->l);
    for (long k = 0; k < p->k; k++) {
        const double *q = p->icf + k * packed_size(d), *below = q + d;
        double *l = a->l + k * d * d, sum = p->alpha[k];
        for (long c = 0; c < d; c++) {
            l[c * d + c] = exp(q[c]);
            sum += q[c];
            for (long r = c + 1; r < d; r++) l[r * d + c] = *below++;
        }
        a->base[k] = sum;
        for (long r = 0; r < d; r++) {
            double dot = 0;
            for (long c = 0; c <= r; c++) dot += l[r * d + c] * p->mean[k * d + c];
            a->lmu[k * d + r] = dot;
        }
    }
}

static double log_sum_exp(long k, const double *alpha, double *softmax) {
    double most = alpha[0], sum = 0;
    for (long i = 1; i < k; i++) most = alpha[i] > most ? alpha[i] : most;
    for (long i = 0; i < k; i++) sum += softmax[i] = exp(alpha[i] - most);
    for (long i = 0; i < k; i++) softmax[i] /= sum;
    return most + log(sum);
}

/* All that does not depend on the points, n log sum exp alpha among it. */
static double constant(const c_gmm *p, double *softmax) {
    const double pi = 3.14159265359, d = (double)p->d, n = d + (double)p->m + 1; /* ADBench's pi */
    double lg = d * (d - 1) / 4 * log(pi), prior = 0;
    for (long j = 1; j <= p->d; j++) lg += lgamma(n / 2 + (double)(1 - j) / 2);
    for (long k = 0; k < p->k; k++) {
        const double *q = p->icf + k * packed_size(p->d);
        double squares = 0, sum = 0;
        for (long i = 0; i < p->d; i++) {
            squares += exp(2 * q[i]);
            sum += q[i];
        }
        for (long i = p->d; i < packed_size(p->d); i++) squares += q[i] * q[i];
        prior += 0.5 * p->gamma * p->gamma * squares - (double)p->m * sum;
    }
    prior -= (double)p->k * (n * d * (log(p->gamma) - 0.5 * log(2)) - lg);
    return prior - (double)p->n * (d / 2 * log(2 * pi) + log_sum_exp(p->k, p->alpha, softmax));
}

/* One vector of points of a block: R -> R - L mu, weights, and the weighted residuals in R's place; the value. */
static vec_f64 weigh(const c_gmm *p, const parts *a, long at, vec_f64 there) {
    const long d = p->d;
    vec_f64 most = all_f64(-HUGE_VAL), sum = {0};
    for (long k = 0; k < p->k; k++) {
        vec_f64 squares = {0}, more = {0};
        long c = 0;
        for (; c + 1 < d; c += 2) {
            double *r = a->r + (k * d + c) * BLOCK + at;
            const vec_f64 v = load_f64(r) - a->lmu[k * d + c], u = load_f64(r + BLOCK) - a->lmu[k * d + c + 1];
            store_f64(r, v);
            store_f64(r + BLOCK, u);
            squares += v * v;
            more += u * u;
        }
        if (c < d) {
            double *r = a->r + (k * d + c) * BLOCK + at;
            const vec_f64 v = load_f64(r) - a->lmu[k * d + c];
            store_f64(r, v);
            squares += v * v;
        }
        const vec_f64 t = a->base[k] - 0.5 * (squares + more);
        store_f64(a->t + k * BLOCK + at, t);
        most = max_f64(t, most);
    }
    for (long k = 0; k < p->k; k++) {
        const vec_f64 e = exp_f64(load_f64(a->t + k * BLOCK + at) - most);
        store_f64(a->t + k * BLOCK + at, e);
        sum += e;
    }
    const vec_f64 by = there / sum;
    for (long k = 0; k < p->k; k++) {
        const vec_f64 w = load_f64(a->t + k * BLOCK + at) * by;
        store_f64(a->w + k * L, load_f64(a->w + k * L) + w);
        for (long c = 0; c < d; c++) {
            double *r = a->r + (k * d + c) * BLOCK + at;
            const vec_f64 v = load_f64(r) * w;
            store_f64(r, v);
        }
    }
    return there * (most + log_f64(sum));
}

/* s_k = sum w r, sum w: sums over a block's points. */
static void add_sums(const c_gmm *p, const parts *a, long points) {
    for (long j = 0; j < p->k * p->d; j++) {
        vec_f64 s = {0};
        for (long i = 0; i < points; i += L) s += load_f64(a->r + j * BLOCK + i);
        a->s[j] += total_f64(s);
    }
}

/* From G = (W R)' X, s and the sums of weights to the gradients. */
static void finish(const c_gmm *p, const parts *a, const double *weight, const double *softmax, double *alpha,
                   double *mean, double *icf) {
    const long d = p->d;
    const double g2 = p->gamma * p->gamma;
    for (long k = 0; k < p->k; k++) {
        const double *l = a->l + k * d * d, *s = a->s + k * d, *g = a->g + k * d * d, *mu = p->mean + k * d;
        const double *q = p->icf + k * packed_size(d), *below = q + d;
        double *dq = icf + k * packed_size(d), *dbelow = dq + d;
        alpha[k] = weight[k] - (double)p->n * softmax[k];
        for (long c = 0; c < d; c++) {
            double dot = 0;
            for (long r = c; r < d; r++) dot += l[r * d + c] * s[r];
            mean[k * d + c] = dot;
            const double e = l[c * d + c];
            dq[c] = weight[k] - (g[c * d + c] - s[c] * mu[c]) * e + g2 * e * e - (double)p->m;
            for (long r = c + 1; r < d; r++) *dbelow++ = s[r] * mu[c] - g[r * d + c] + g2 * *below++;
        }
    }
}

void c_gmm_products(const c_gmm *p, double *work, double *value, double *alpha, double *mean, double *icf) {
    const long d = p->d, kd = p->k * d;
    const parts a = carve(p, work);
    double weight[256], softmax[256];
    vec_f64 sum = {0}, lane[256];
    parts b = a;
    b.w = (double *)lane; /* sums of weights, a vector each */
    memset(lane, 0, (size_t)p->k * sizeof *lane);
    unpack(p, &a);
    memset(a.g, 0, (size_t)(kd * d) * sizeof *a.g);
    memset(a.s, 0, (size_t)kd * sizeof *a.s);
    for (long first = 0; first < p->n; first += BLOCK) {
        const long points = p->n - first < BLOCK ? p->n - first : BLOCK, all = (points + L - 1) / L * L;
        const double *x = p->x + first * d;
        /* c's rows are BLOCK long, whatever the points */
        for (long j = 0; points < all && j < kd; j++)
            for (long i = points; i < all; i++) a.r[j * BLOCK + i] = 0;
        c_product_f64(kd, points, d, 1, a.l, d, 1, x, 1, d, 0, a.r, BLOCK);
        for (long i = 0; i < all; i += L) {
            vec_f64 there = all_f64(1);
            for (long j = points; j < i + L; j++)
                if (j >= i) there[j - i] = 0;
            sum += weigh(p, &b, i, there);
        }
        add_sums(p, &a, all);
        c_product_f64(kd, d, points, 1, a.r, BLOCK, 1, x, d, 1, 1, a.g, d);
    }
    for (long k = 0; k < p->k; k++) weight[k] = total_f64(lane[k]);
    *value = total_f64(sum) + constant(p, softmax);
    finish(p, &a, weight, softmax, alpha, mean, icf);
}

/* ---- point by point, as the formula says ------------------------------------------------------------------------ */

void c_gmm_direct(const c_gmm *p, double *work, double *value, double *alpha, double *mean, double *icf) {
    const long d = p->d, kd = p->k * d;
    const parts a = carve(p, work);
    double weight[256] = {0}, softmax[256], sum = 0;
    unpack(p, &a);
    memset(a.g, 0, (size_t)(kd * d) * sizeof *a.g);
    memset(a.s, 0, (size_t)kd * sizeof *a.s);
    for (long i = 0; i < p->n; i++) {
        const double *x = p->x + i * d;
        double t[256] = {0};
        for (long k = 0; k < p->k; k++) {
            const double *l = a.l + k * d * d;
            double squares = 0;
            for (long r = 0; r < d; r++) {
                double dot = -a.lmu[k * d + r];
                for (long c = 0; c <= r; c++) dot += l[r * d + c] * x[c];
                a.r[k * d + r] = dot;
                squares += dot * dot;
            }
            t[k] = a.base[k] - 0.5 * squares;
        }
        double w[256];
        sum += log_sum_exp(p->k, t, w);
        for (long k = 0; k < p->k; k++) {
            weight[k] += w[k];
            for (long r = 0; r < d; r++) {
                const double v = w[k] * a.r[k * d + r];
                double *g = a.g + (k * d + r) * d;
                a.s[k * d + r] += v;
                for (long c = 0; c <= r; c++) g[c] += v * x[c];
            }
        }
    }
    *value = sum + constant(p, softmax);
    finish(p, &a, weight, softmax, alpha, mean, icf);
}
