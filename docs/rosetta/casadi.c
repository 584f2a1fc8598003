/* The right-hand sides of docs/rosetta/casadi.md. */
#include <stdio.h>
#include <tansy.h>
#include <tansy/emit.h>
#include <tansy/ode.h>
#include <tansy/sparse.h>

enum { N = 5 };

/* Rosenbrock's function of N variables */
static tn_val objective(const tn_val *in, void *user) {
    (void)user;
    tn_val a = tn_slice_axis(in[0], 0, -1, 1, 0), b = tn_slice_axis(in[0], 1, N, 1, 0);
    return tn_add(tn_sum_squares(tn_sub(1, a)), tn_mul(100, tn_sum_squares(tn_sub(b, tn_square(a)))));
}
static tn_val residuals(const tn_val *in, void *user) {
    (void)user;
    tn_val a = tn_slice_axis(in[0], 0, -1, 1, 0), b = tn_slice_axis(in[0], 1, N, 1, 0);
    return tn_sub(b, tn_square(a));
}

static void decay(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(tn_neg(p[0]), y[0]);
}
static tn_val integrated(const tn_val *in, void *user) { /* in: y0, rate */
    (void)user;
    tn_ode_problem p = {.size = sizeof p,
                        .field = decay,
                        .nstate = 1,
                        .y0 = in,
                        .nparams = 1,
                        .params = in + 1,
                        .t0 = TN_VAL(0.0),
                        .t1 = TN_VAL(1.0)};
    tn_ode_options o = {.size = sizeof o, .rtol = 1e-10, .atol = 1e-10};
    tn_val end;
    tn_ode_solution s = {.size = sizeof s, .y = &end};
    tn_ode_solve(&p, &o, &s);
    return end;
}

static tn_val equation(const tn_val *in, void *user) { /* x, p -> x e^x - p */
    (void)user;
    return tn_sub(tn_mul(in[0], tn_exp(in[0])), in[1]);
}
static void newton(tn_val i, const tn_val *x, tn_val *next, void *user) {
    (void)i;
    const tn_val *p = user;
    tn_val e = tn_exp(x[0]);
    next[0] = tn_sub(x[0], tn_div(tn_sub(tn_mul(x[0], e), *p), tn_mul(tn_add(x[0], 1), e)));
}
static tn_val solve(const tn_val *in, void *user) { /* x0, p -> x */
    (void)user;
    tn_val p = in[1], x;
    tn_fori(tn_val_ctx(p), 0, 20, newton, &p, 1, in, &x, NULL);
    return x;
}
static tn_val lambert(const tn_val *in, void *user) {
    (void)user;
    return tn_custom_root(equation, solve, NULL, NULL, tn_ones_like(in[0]), 1, in, NULL);
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_sparsity *pattern = NULL;
    tn_fn *F = tn_trace(c, objective, NULL, TN_ARGS(tn_f64(N)));
    tn_fn *G = tn_trace(c, residuals, NULL, TN_ARGS(tn_f64(N)));
    tn_fn *g = tn_grad(F, NULL, NULL);
    tn_fn *J = tn_sparse_jacobian(G, NULL, NULL, &pattern);
    tn_fn *H = tn_sparse_hessian(F, NULL, NULL, NULL);
    tn_fn *Jd = tn_jacfwd(G, NULL, 0);
    tn_fn *Jv = tn_jvp(G, NULL);
    tn_fn *Jtv = tn_vjp(G, NULL, NULL);
    tn_fn *M = tn_vmap(F, 10, NULL, NULL);
    tn_fn *I = tn_value_and_grad(tn_trace(c, integrated, NULL, TN_ARGS(tn_f64(), tn_f64())), NULL, NULL);
    tn_fn *R = tn_value_and_grad(tn_trace(c, lambert, NULL, TN_ARGS(tn_f64())), NULL, NULL);
    tn_exec *eF = tn_compile(F, NULL), *eg = tn_compile(g, NULL), *eJ = tn_compile(J, NULL);
    tn_exec *eI = tn_compile(I, NULL), *eR = tn_compile(R, NULL);
    char *source, *header;
    if (!eF || !eg || !eJ || !H || !Jd || !Jv || !Jtv || !M || !eI || !eR ||
        tn_emit_c(g, &(tn_emit_c_options){.size = sizeof(tn_emit_c_options), .name = "g"}, &source, &header)) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }
    tn_text_free(c, source);
    tn_text_free(c, header);

    tn_sparsity_arrays a = {.size = sizeof a};
    if (tn_sparsity_view(pattern, TN_CSC, TN_FULL, &a)) return 1;
    double x[N] = {1, 0.5, -1, 2, 0}, y, dx[N], one = 1, rate = 2, end, dy0, drate, p = 1, root, dp;
    if (tn_call(eF, TN_INPUTS(x), TN_OUTPUTS(&y)) || tn_call(eg, TN_INPUTS(x), TN_OUTPUTS(dx)) ||
        tn_call(eI, TN_INPUTS(&one, &rate), TN_OUTPUTS(&end, &dy0, &drate)) ||
        tn_call(eR, TN_INPUTS(&p), TN_OUTPUTS(&root, &dp)))
        return 1;
    printf("%.4f, %.4f %.4f\n", y, dx[0], dx[1]);
    printf("%lld entries\n", (long long)a.nnz);
    printf("%.6f %.6f %.6f\n", end, dy0, drate);
    printf("%.6f %.6f\n", root, dp);
    tn_sparsity_free(pattern);
    tn_ctx_free(c);
    return 0;
}
