#include "by_hand.h"
#include "vec.h"

enum { L = LANES_f64, EDGE = 8 };

static const double A = 0.1, B = 0.2;

/* row: the first point; the ring's other end beside each end */
static void close_ring(long n, double *row) {
    row[-1] = row[n - 1];
    row[n] = row[0];
}

static void step(long n, const double *restrict u, double *restrict v) {
    for (long i = 0; i < n; i += L) {
        const vec_f64 l = load_f64(u + i - 1), c = load_f64(u + i), r = load_f64(u + i + 1);
        store_f64(v + i, c - A * c * (r - l) + B * (r - 2 * c + l));
    }
    close_ring(n, v);
}

static void adjoint(long n, const double *restrict u, const double *restrict w, double *restrict g) {
    for (long i = 0; i < n; i += L) {
        const vec_f64 l = load_f64(u + i - 1), r = load_f64(u + i + 1), wl = load_f64(w + i - 1),
                      wr = load_f64(w + i + 1);
        store_f64(g + i, load_f64(w + i) * ((1 - 2 * B) - A * (r - l)) + wl * (B - A * l) + wr * (B + A * r));
    }
}

static double *start(long n, const double *u0, double *row) {
    memcpy(row, u0, (size_t)n * sizeof *row);
    close_ring(n, row);
    return row;
}

/* The last state, in one of the two rows of work. */
static double *run(long n, long steps, const double *u0, double *work) {
    double *u = start(n, u0, work + EDGE), *v = u + n + BURGERS_EDGES;
    for (long k = 0; k < steps; k++) {
        step(n, u, v);
        double *t = u;
        u = v;
        v = t;
    }
    return u;
}

void c_burgers_f(long n, long steps, const double *u0, double *work, double *y) {
    const double *u = run(n, steps, u0, work);
    vec_f64 s = {0}, t = {0};
    for (long i = 0; i < n; i += 2 * L) {
        s += load_f64(u + i) * load_f64(u + i);
        if (i + L < n) t += load_f64(u + i + L) * load_f64(u + i + L);
    }
    *y = total_f64(s + t);
}

void c_burgers_grad(long n, long steps, long extra, const double *u0, double *states, double *work, double *g) {
    const long pitch = n + BURGERS_EDGES;
    if (extra) (void)run(n, extra, u0, work);
    double *u = start(n, u0, states + EDGE), *w = work + EDGE, *z = w + pitch;
    for (long k = 0; k < steps; k++, u += pitch) step(n, u, u + pitch);
    for (long i = 0; i < n; i++) w[i] = 2 * u[i];
    for (long k = 0; k < steps; k++) {
        u -= pitch;
        close_ring(n, w);
        adjoint(n, u, w, z);
        double *t = w;
        w = z;
        z = t;
    }
    memcpy(g, w, (size_t)n * sizeof *g);
}
