/* How hot is a plate that heats itself?  Bratu's equation on a square, by Newton's method with a sparse Jacobian.
 *
 *     -laplace u = 6 exp(u) inside, u = 0 at the edges, 64 x 64 points
 *
 * F(u) is traced once.  tn_sparse_jacobian makes a program of its Jacobian's values: of 5 entries a row, 4 are
 * constant and computed once, so that the rest takes one directional derivative.  The linear equations of each step are
 * solved by conjugate gradients on the values, in CSR.
 *
 * The exit status is 0 when Newton's method has converged and the values are those of the derivative. */
#include <tansy/sparse.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, POINTS = N * N };

/* The neighbour `down` rows below and `right` columns to the right; 0 outside. */
static tn_val neighbour(tn_val u, int down, int right) {
    const tn_val around = tn_pad(u, 0.0, tn_ints(1, 1), tn_ints(1, 1), tn_ints(0, 0));
    return tn_slice(around, tn_ints(1 + down, 1 + right), tn_ints(1 + down + N, 1 + right + N), tn_ints(1, 1));
}

static tn_val bratu(const tn_val *in, void *user) {
    (void)user;
    const tn_val u = in[0], rows = tn_add(neighbour(u, -1, 0), neighbour(u, 1, 0));
    const tn_val columns = tn_add(neighbour(u, 0, -1), neighbour(u, 0, 1));
    const tn_val laplacian = tn_sub(tn_mul(4.0, u), tn_add(rows, columns));
    return tn_sub(laplacian, tn_mul(6.0 / ((N + 1) * (N + 1)), tn_exp(u)));
}

static double dot(const double *x, const double *y) {
    double sum = 0;
    for (int i = 0; i < POINTS; i++) sum += x[i] * y[i];
    return sum;
}

/* Solves J d = f, J symmetric and positive definite. */
static void solve(const tn_sparsity_arrays *s, const double *values, const double *f, double *d) {
    static double r[POINTS], p[POINTS], q[POINTS];
    for (int i = 0; i < POINTS; i++) d[i] = 0, p[i] = r[i] = f[i];
    double rr = dot(r, r);
    const double enough = 1e-26 * rr;
    for (int step = 0; step < 10 * N && rr > enough; step++) {
        for (int i = 0; i < POINTS; i++) {
            q[i] = 0;
            for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++) q[i] += values[k] * p[s->ind[k]];
        }
        const double alpha = rr / dot(p, q), before = rr;
        for (int i = 0; i < POINTS; i++) d[i] += alpha * p[i], r[i] -= alpha * q[i];
        rr = dot(r, r);
        for (int i = 0; i < POINTS; i++) p[i] = r[i] + rr / before * p[i];
    }
}

static int newton(tn_exec *e, const tn_sparsity_arrays *s, double *u) {
    static double f[POINTS], d[POINTS];
    double *values = malloc((size_t)s->nnz * sizeof *values), norm = 1;
    for (int step = 0; values && step < 20 && norm > 1e-12; step++) {
        if (tn_call(e, TN_RAW_INPUTS(u), TN_RAW_OUTPUTS(f, values)) != TN_OK) break;
        norm = sqrt(dot(f, f));
        printf("step %d  |F| = %.3g\n", step, norm);
        solve(s, values, f, d);
        for (int i = 0; i < POINTS; i++) u[i] -= d[i];
    }
    free(values);
    return norm <= 1e-12;
}

int main(void) {
    static double u[POINTS];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, bratu, NULL, TN_ARGS(tn_f64(N, N)));
    tn_sparsity *s = NULL;
    const tn_sparse_options options = {.size = sizeof options, .format = TN_CSR, .with_value = true};
    tn_exec *e = tn_compile(tn_sparse_jacobian(f, NULL, &options, &s), NULL);
    tn_sparsity_arrays a = {.size = sizeof a};
    int ok = e && tn_sparsity_view(s, TN_CSR, TN_FULL, &a) == TN_OK;
    if (ok) {
        int64_t constant = 0;
        for (int64_t k = 0; k < a.nnz; k++) constant += a.constant && a.constant[k];
        printf("%lld x %lld, %lld entries, %lld of them constant\n", (long long)a.rows, (long long)a.columns,
               (long long)a.nnz, (long long)constant);
        ok = newton(e, &a, u) && tn_sparsity_check(f, NULL, s, TN_RAW_INPUTS(u)) == TN_OK;
        printf("in the middle u = %.6f\n", u[N / 2 * N + N / 2]);
    }
    if (!ok) fprintf(stderr, "%s\n", tn_error(c));
    tn_ctx_free(c);
    return !ok;
}
