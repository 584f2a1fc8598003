#include "by_hand.h"
#include "vec.h"

enum { N = 10 };

void c_scalar_grad(const double *x, double *g) {
    double sn[N], cs[N], e[N], r[N];
    for (int i = 0; i < N; i++) {
        sn[i] = sin(x[i]);
        cs[i] = cos(x[i]);
        e[i] = exp(-x[i] * x[i]);
        r[i] = 1 / (1 + x[i] * x[i]);
    }
    for (int i = 0; i < N; i++) {
        const int j = (i + 1) % N, k = (i + 2) % N, h = (i + N - 1) % N, m = (i + N - 2) % N;
        g[i] = cs[i] * x[j] + sn[h] - 2 * x[i] * (e[i] * r[k] + e[m] * r[i] * r[i]);
    }
}

/* Ten numbers in as many vectors as they take; what wraps around is kept at both ends of the arrays. */
void c_scalar_grad_vectors(const double *x, double *g) {
    enum { L = LANES_f64, ALL = (N + L - 1) / L * L, PAD = 2 };
    double at[ALL + PAD + L] = {0}, sn[PAD + ALL + L], e[PAD + ALL + L], r[ALL + PAD + L];
    vec_f64 cs[ALL / L];
    memcpy(at, x, N * sizeof *x);
    for (int i = 0; i < ALL; i += L) {
        const vec_f64 v = load_f64(at + i), q = v * v;
        cs[i / L] = cos_f64(v);
        store_f64(sn + PAD + i, sin_f64(v));
        store_f64(e + PAD + i, exp_f64(-q));
        store_f64(r + i, 1 / (1 + q));
    }
    for (int i = 0; i < PAD; i++) {
        at[N + i] = x[i];
        r[N + i] = r[i];
        sn[i] = sn[N + i];
        e[i] = e[N + i];
    }
    double out[ALL];
    for (int i = 0; i < ALL; i += L) {
        const vec_f64 v = load_f64(at + i), ri = load_f64(r + i);
        store_f64(out + i, cs[i / L] * load_f64(at + i + 1) + load_f64(sn + PAD + i - 1) -
                               2 * v * (load_f64(e + PAD + i) * load_f64(r + i + 2) + load_f64(e + i) * ri * ri));
    }
    memcpy(g, out, N * sizeof *g);
}
