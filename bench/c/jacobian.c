#include "by_hand.h"
#include "vec.h"

enum { N = JACOBIAN_N, L = LANES_f64, VECTORS = (N + L - 1) / L, WIDTH = VECTORS * L };

/* Of a = W x and of p, x one place further: tanh a, sin p, cos p. */
static void functions(const double *w, const double *x, double *t, double *s, double *c) {
    double a[WIDTH] = {0}, p[WIDTH] = {0};
    for (int i = 0; i < N; i++) {
        const double *row = w + i * N;
        vec_f64 sum = {0};
        double rest = 0;
        int j = 0;
        for (; j + L <= N; j += L) sum += load_f64(row + j) * load_f64(x + j);
        for (; j < N; j++) rest += row[j] * x[j];
        a[i] = total_f64(sum) + rest;
        p[i] = i ? x[i - 1] : x[N - 1];
    }
    for (int i = 0; i < WIDTH; i += L) {
        store_f64(t + i, tanh_f64(load_f64(a + i)));
        store_f64(s + i, sin_f64(load_f64(p + i)));
        store_f64(c + i, cos_f64(load_f64(p + i)));
    }
}

void c_jacobian(const double *w, const double *x, double *jac) {
    double t[WIDTH], s[WIDTH], c[WIDTH];
    functions(w, x, t, s, c);
    for (int i = 0; i < N; i++) {
        const double d = s[i] * (1 - t[i] * t[i]);
        double *row = jac + i * N;
        for (int j = 0; j < N; j++) row[j] = d * w[i * N + j];
        row[(i + N - 1) % N] += t[i] * c[i];
    }
}

/* Rows r and r + 1 of the product W' (D W), from vector `first` on. */
static inline __attribute__((always_inline)) void two_rows(const double *w, const double *dw, int r, int first,
                                                           double *h) {
    vec_f64 up[VECTORS], low[VECTORS];
    for (int v = first; v < VECTORS; v++) up[v] = low[v] = (vec_f64){0};
    for (int i = 0; i < N; i++)
        for (int v = first; v < VECTORS; v++) {
            const vec_f64 b = load_f64(dw + i * WIDTH + v * L);
            up[v] += b * w[i * N + r];
            low[v] += b * w[i * N + r + 1];
        }
    for (int v = first; v < VECTORS; v++) {
        store_f64(h + r * WIDTH + v * L, up[v]);
        store_f64(h + (r + 1) * WIDTH + v * L, low[v]);
    }
}

/* The upper triangle; `first` has to be a constant for the sums to stay in registers. */
static void upper(const double *w, const double *dw, double *h) {
    for (int r = 0; r < N; r += 2) switch (L == 8 ? r / L : 0) {
        case 0: two_rows(w, dw, r, 0, h); break;
        case 1: two_rows(w, dw, r, 1, h); break;
        case 2: two_rows(w, dw, r, 2, h); break;
        case 3: two_rows(w, dw, r, 3, h); break;
        case 4: two_rows(w, dw, r, 4, h); break;
        case 5: two_rows(w, dw, r, 5, h); break;
        default: two_rows(w, dw, r, 6, h); break;
        }
}

/* H = W' D W + Q W + W' Q' and a diagonal, where Q couples a and p: row p(i) of Q W is m[i] times row i of W.  So H is
 * W' (D W + Q') + Q W; the upper triangle, then the other. */
void c_hessian(const double *w, const double *x, double *work, double *out) {
    double t[WIDTH], s[WIDTH], c[WIDTH], *dw = work, *h = work + N * WIDTH;
    functions(w, x, t, s, c);
    for (int i = 0; i < N; i++) {
        const double slope = 1 - t[i] * t[i], d = 2 * s[i] * s[i] * (slope * slope - 2 * t[i] * t[i] * slope);
        for (int j = 0; j < N; j++) dw[i * WIDTH + j] = d * w[i * N + j];
        for (int j = N; j < WIDTH; j++) dw[i * WIDTH + j] = 0;
        dw[i * WIDTH + (i + N - 1) % N] += 4 * t[i] * slope * s[i] * c[i];
    }
    upper(w, dw, h);
    for (int i = 0; i < N; i++) {
        const int p = (i + N - 1) % N;
        const double m = 4 * t[i] * (1 - t[i] * t[i]) * s[i] * c[i];
        for (int j = 0; j < N; j++) h[p * WIDTH + j] += m * w[i * N + j];
        h[p * WIDTH + p] += 2 * t[i] * t[i] * (c[i] * c[i] - s[i] * s[i]);
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < i; j++) out[i * N + j] = h[j * WIDTH + i];
        for (int j = i; j < N; j++) out[i * N + j] = h[i * WIDTH + j];
    }
}
