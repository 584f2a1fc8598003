#include "by_hand.h"
#include "vec.h"

enum { L = LANES_f64 };

static inline vec_f64 terms(const double *x) {
    const vec_f64 v = load_f64(x), a = load_f64(x + 1) - v * v, b = 1 - v;
    return 100 * a * a + b * b;
}

void c_rosenbrock_f(long n, const double *x, double *y) {
    vec_f64 s = {0}, t = {0}, u = {0}, w = {0};
    long i = 0;
    for (; i + 4 * L < n; i += 4 * L) {
        s += terms(x + i);
        t += terms(x + i + L);
        u += terms(x + i + 2 * L);
        w += terms(x + i + 3 * L);
    }
    for (; i + L < n; i += L) s += terms(x + i);
    double total = total_f64((s + t) + (u + w));
    for (; i + 1 < n; i++) {
        const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
        total += 100 * a * a + b * b;
    }
    *y = total;
}

/* Alone at both ends, and up to where the vectors of the output are aligned. */
static double slope_at(const double *x, long i) {
    return 200 * (x[i] - x[i - 1] * x[i - 1]) - 400 * (x[i + 1] - x[i] * x[i]) * x[i] - 2 * (1 - x[i]);
}

void c_rosenbrock_grad(long n, const double *restrict x, double *restrict g) {
    long i = 1;
    g[0] = -400 * (x[1] - x[0] * x[0]) * x[0] - 2 * (1 - x[0]);
    for (; i < L && i + 1 < n; i++) g[i] = slope_at(x, i);
    for (; i + L < n; i += L) {
        const vec_f64 l = load_f64(x + i - 1), c = load_f64(x + i), r = load_f64(x + i + 1);
        store_f64(g + i, 200 * (c - l * l) - 400 * (r - c * c) * c + (2 * c - 2));
    }
    for (; i + 1 < n; i++) g[i] = slope_at(x, i);
    g[n - 1] = 200 * (x[n - 1] - x[n - 2] * x[n - 2]);
}

static double bend_at(const double *x, const double *v, long i) {
    return (1200 * x[i] * x[i] - 400 * x[i + 1] + 202) * v[i] - 400 * (x[i - 1] * v[i - 1] + x[i] * v[i + 1]);
}

void c_rosenbrock_hvp(long n, const double *restrict x, const double *restrict v, double *restrict h) {
    long i = 1;
    h[0] = (1200 * x[0] * x[0] - 400 * x[1] + 2) * v[0] - 400 * x[0] * v[1];
    for (; i < L && i + 1 < n; i++) h[i] = bend_at(x, v, i);
    for (; i + L < n; i += L) {
        const vec_f64 c = load_f64(x + i), before = load_f64(x + i - 1) * load_f64(v + i - 1);
        const vec_f64 by = 1200 * c * c + (202 - 400 * load_f64(x + i + 1));
        store_f64(h + i, by * load_f64(v + i) - 400 * (c * load_f64(v + i + 1) + before));
    }
    for (; i + 1 < n; i++) h[i] = bend_at(x, v, i);
    h[n - 1] = 200 * v[n - 1] - 400 * x[n - 2] * v[n - 2];
}
