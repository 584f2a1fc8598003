/* As many rows at a time as a vector has lanes: they stay in the first cache between their product with w and their
 * part of the gradient. */
#include "by_hand.h"
#include "vec.h"

enum { L = LANES_f64 };

/* a's rows times w: a lane each. */
static vec_f64 dots(long n, const double *a, const double *w) {
    double z[L];
    for (int r = 0; r < L; r += 4) {
        vec_f64 s[4] = {{0}};
        const double *row = a + r * n;
        long j = 0;
        for (; j + L <= n; j += L) {
            const vec_f64 v = load_f64(w + j);
            for (int q = 0; q < 4; q++) s[q] += load_f64(row + q * n + j) * v;
        }
        if (j < n) {
            const vec_f64 v = load_part_f64(w + j, n - j);
            for (int q = 0; q < 4; q++) s[q] += load_part_f64(row + q * n + j, n - j) * v;
        }
        for (int q = 0; q < 4; q++) z[r + q] = total_f64(s[q]);
    }
    return load_f64(z);
}

/* g += the rows, each times its lane of d. */
static void add_rows(long n, const double *a, vec_f64 d, double *g) {
    double by[L];
    store_f64(by, d);
    for (int r = 0; r < L; r += 4) {
        const double *row = a + r * n;
        long j = 0;
        for (; j + L <= n; j += L) {
            vec_f64 s = load_f64(g + j);
            for (int q = 0; q < 4; q++) s += load_f64(row + q * n + j) * by[r + q];
            store_f64(g + j, s);
        }
        for (; j < n; j++)
            for (int q = 0; q < 4; q++) g[j] += row[q * n + j] * by[r + q];
    }
}

static vec_f64 softplus(vec_f64 u) {
    const vec_f64 zero = {0}, plus = max_f64(u, zero);
    return plus + log1p_f64(exp_f64(u - 2 * plus)); /* exp(-|u|) */
}

static vec_f64 logistic(vec_f64 u) { return 1 / (1 + exp_f64(-u)); }

void c_logreg_f(long m, long n, const double *a, const double *y, const double *w, double *value) {
    vec_f64 s = {0};
    for (long i = 0; i < m; i += L) s += softplus(-load_f64(y + i) * dots(n, a + i * n, w));
    *value = total_f64(s) / (double)m;
}

static vec_f64 slope(vec_f64 y, vec_f64 z, long m) { return -y * logistic(-y * z) / (double)m; }

void c_logreg_grad(long m, long n, const double *a, const double *y, const double *w, double *g) {
    memset(g, 0, (size_t)n * sizeof *g);
    for (long i = 0; i < m; i += L) add_rows(n, a + i * n, slope(load_f64(y + i), dots(n, a + i * n, w), m), g);
}

static vec_f64 bend(vec_f64 y, vec_f64 z, vec_f64 u, long m) {
    const vec_f64 p = logistic(y * z);
    return p * (1 - p) * u / (double)m;
}

void c_logreg_hvp(long m, long n, const double *a, const double *y, const double *w, const double *v, double *h) {
    memset(h, 0, (size_t)n * sizeof *h);
    for (long i = 0; i < m; i += L) {
        const double *rows = a + i * n;
        add_rows(n, rows, bend(load_f64(y + i), dots(n, rows, w), dots(n, rows, v), m), h);
    }
}

void c_logreg_grad_products(long m, long n, const double *a, const double *y, const double *w, double *work,
                            double *g) {
    for (long i = 0; i < m; i += L) store_f64(work + i, dots(n, a + i * n, w));
    for (long i = 0; i < m; i += L) store_f64(work + i, slope(load_f64(y + i), load_f64(work + i), m));
    memset(g, 0, (size_t)n * sizeof *g);
    for (long i = 0; i < m; i += L) add_rows(n, a + i * n, load_f64(work + i), g);
}

void c_logreg_hvp_products(long m, long n, const double *a, const double *y, const double *w, const double *v,
                           double *work, double *h) {
    double *u = work + m;
    for (long i = 0; i < m; i += L) store_f64(work + i, dots(n, a + i * n, w));
    for (long i = 0; i < m; i += L) store_f64(u + i, dots(n, a + i * n, v));
    for (long i = 0; i < m; i += L) store_f64(u + i, bend(load_f64(y + i), load_f64(work + i), load_f64(u + i), m));
    memset(h, 0, (size_t)n * sizeof *h);
    for (long i = 0; i < m; i += L) add_rows(n, a + i * n, load_f64(u + i), h);
}
