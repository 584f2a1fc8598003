/* The right-hand sides of docs/rosetta/adolc.md. */
#include <math.h>
#include <stdio.h>
#include <tansy.h>
#include <tansy/sparse.h>

enum { N = 4 };

static tn_val f(const tn_val *in, void *user) {
    (void)user;
    tn_val y = tn_at(in[0], 0);
    for (int i = 1; i < N; i++) y = tn_mul(y, tn_at(in[0], i));
    return tn_where(tn_gt(y, 0), tn_sqrt(tn_where(tn_gt(y, 0), y, 1)), tn_neg(y));
}

static tn_val g(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_slice_axis(in[0], 1, N, 1, 0), tn_sin(tn_slice_axis(in[0], 0, -1, 1, 0)));
}

static int old_code(void *user, const void *const *in, void *const *out) {
    (void)user;
    const double *x = in[0];
    double *y = out[0];
    for (int i = 0; i < N; i++) y[i] = cbrt(x[i]);
    return 0;
}
static int old_code_jvp(void *user, const void *const *in, void *const *out) { /* x, dx -> dy */
    (void)user;
    const double *x = in[0], *dx = in[1];
    double *dy = out[0];
    for (int i = 0; i < N; i++) dy[i] = dx[i] / (3 * cbrt(x[i] * x[i]));
    return 0;
}
static int old_code_vjp(void *user, const void *const *in, void *const *out) { /* x, ct -> ct of x */
    return old_code_jvp(user, in, out);                                        /* a diagonal Jacobian */
}
static tn_val outer(const tn_val *in, void *user) { return tn_sum(tn_external(user, "old_code", 1, in)); }

int main(void) {
    double x[N] = {1, 2, 3, 4}, y, dx[N], h[N][N], v[N] = {1, 0, 0, 0}, hv[N], values[2 * (N - 1)], u[1] = {1}, back[N];
    const tn_type type = tn_f64(N);
    const tn_external_spec spec = {.size = sizeof spec,
                                   .name = "old_code",
                                   .nin = 1,
                                   .nout = 1,
                                   .in = &type,
                                   .out = &type,
                                   .fn = old_code,
                                   .jvp = old_code_jvp,
                                   .vjp = old_code_vjp};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_external_register(c, &spec);
    tn_fn *p = tn_trace(c, f, NULL, TN_ARGS(tn_f64(N)));
    tn_fn *q = tn_trace(c, g, NULL, TN_ARGS(tn_f64(N)));
    tn_sparsity *pattern = NULL;
    tn_exec *value = tn_compile(p, NULL);
    tn_exec *gradient = tn_compile(tn_grad(p, NULL, NULL), NULL);
    tn_exec *hessian = tn_compile(tn_hessian(p, NULL, NULL, 0), NULL);
    tn_exec *hess_vec = tn_compile(tn_hvp(p, NULL, NULL), NULL);
    tn_exec *forward = tn_compile(tn_jvp(p, NULL), NULL);
    tn_exec *reverse = tn_compile(tn_vjp(p, NULL, NULL), NULL);
    tn_exec *jacobian = tn_compile(tn_jacrev(q, NULL, NULL, 0), NULL);
    tn_exec *sparse_jac = tn_compile(tn_sparse_jacobian(q, NULL, NULL, &pattern), NULL);
    tn_exec *external = tn_compile(tn_grad(tn_trace(c, outer, c, TN_ARGS(tn_f64(N))), NULL, NULL), NULL);
    if (!value || !gradient || !hessian || !hess_vec || !forward || !reverse || !jacobian || !sparse_jac || !external) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }

    if (tn_call(value, TN_INPUTS(x), TN_OUTPUTS(&y)) || tn_call(gradient, TN_INPUTS(x), TN_OUTPUTS(dx)) ||
        tn_call(hessian, TN_INPUTS(x), TN_OUTPUTS(h)) || tn_call(hess_vec, TN_INPUTS(x, v), TN_OUTPUTS(hv)) ||
        tn_call(reverse, TN_INPUTS(x, u), TN_OUTPUTS(NULL, back)) ||
        tn_call(sparse_jac, TN_INPUTS(x), TN_OUTPUTS(values)))
        return 1;
    printf("%.6f, gradient %.6f %.6f %.6f %.6f\n", y, dx[0], dx[1], dx[2], dx[3]);
    printf("hessian[0] %.6f %.6f %.6f %.6f\n", h[0][0], h[0][1], h[0][2], h[0][3]);
    printf("hess_vec   %.6f %.6f %.6f %.6f\n", hv[0], hv[1], hv[2], hv[3]);
    printf("entries    %.6f %.6f %.6f %.6f %.6f %.6f\n", values[0], values[1], values[2], values[3], values[4],
           values[5]);
    if (tn_call(external, TN_INPUTS(x), TN_OUTPUTS(dx))) return 1;
    printf("external   %.6f %.6f %.6f %.6f\n", dx[0], dx[1], dx[2], dx[3]);
    tn_sparsity_free(pattern);
    tn_ctx_free(c);
    return 0;
}
