/* The right-hand sides of docs/rosetta/jax.md. */
#include <stdio.h>
#include <tansy.h>

static tn_val f(const tn_val *in, void *user) {
    (void)user;
    tn_val p = tn_sigmoid(tn_matmul(in[1], in[0]));
    return tn_mean(tn_square(tn_sub(p, in[2])));
}

static void step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    y[0] = next[0] = tn_add(tn_mul(0.9, carry[0]), x[0]);
}
static tn_val smooth(const tn_val *in, void *user) {
    tn_val start = TN_VAL(0.0), last, ys;
    tn_scan(user, step, NULL, .ncarry = 1, .init = &start, .nx = 1, .xs = in, .carry = &last, .ny = 1, .ys = &ys);
    return tn_sum(ys);
}

static tn_val square(const tn_val *in, void *user) { return (void)user, tn_square(in[0]); }
static tn_val negative(const tn_val *in, void *user) { return (void)user, tn_neg(in[0]); }
static tn_val layer(const tn_val *in, void *user) { return (void)user, tn_tanh(tn_matmul(in[0], in[1])); }
static tn_val more(const tn_val *in, void *user) {
    (void)user;
    tn_val a = tn_checkpoint(layer, tn_policy_by_name("dots_saveable"), NULL, 2, in);
    tn_val b = tn_cond(tn_gt(tn_sum(a), 0), square, negative, NULL, 1, &a);
    tn_val d = tn_where(tn_gt(b, 0.5), b, tn_stop_gradient(b));
    tn_val key = tn_random_key(tn_val_ctx(a), 0);
    tn_val noise = tn_random_uniform(key, tn_f64(2));
    return tn_einsum("ij,j->", tn_vals(d, noise));
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *p = tn_trace(c, f, NULL, TN_ARGS(tn_f64(3), tn_f64(4, 3), tn_f64(4)));
    tn_fn *s = tn_trace(c, smooth, c, TN_ARGS(tn_f64(4)));
    tn_fn *m = tn_trace(c, more, NULL, TN_ARGS(tn_f64(3, 2), tn_f64(2, 2)));
    tn_fn *g = tn_grad(p, tn_wrt(0), NULL);
    tn_fn *vg = tn_value_and_grad(p, tn_wrt(0, 1), NULL);
    tn_fn *jvp = tn_jvp(p, tn_wrt(0));
    tn_fn *vjp = tn_vjp(p, tn_wrt(0), NULL);
    tn_linearized both = tn_linearize(p, tn_wrt(0), NULL);
    tn_fn *transposed = tn_transpose(both.linear);
    tn_fn *h = tn_hessian(p, tn_wrt(0), NULL, 0);
    tn_fn *hv = tn_jvp(tn_grad(p, tn_wrt(0), NULL), tn_wrt(0));
    tn_fn *batch = tn_vmap(g, 2, (const int[]){0, TN_NOT_MAPPED, TN_NOT_MAPPED}, NULL);
    tn_exec *e = tn_compile(g, NULL), *eh = tn_compile(h, NULL), *es = tn_compile(tn_grad(s, NULL, NULL), NULL);
    tn_exec *em = tn_compile(tn_value_and_grad(m, tn_wrt(0), NULL), NULL);
    if (!e || !eh || !es || !em || !vg || !jvp || !vjp || !transposed || !hv || !batch) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }

    double w[3] = {0.1, -0.2, 0.3}, x[4][3], y[4] = {0, 1, 1, 0}, dw[3], hw[3][3], xs[4] = {1, 2, 3, 4}, ds[4];
    double a[3][2] = {{1, 2}, {-1, 0.5}, {0.3, 0.7}}, b[2][2] = {{0.5, 1}, {2, -1}}, value, da[3][2];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) x[i][j] = 0.5 * i - 0.25 * j;
    if (tn_call(e, TN_INPUTS(w, x, y), TN_OUTPUTS(dw)) || tn_call(eh, TN_INPUTS(w, x, y), TN_OUTPUTS(hw)) ||
        tn_call(es, TN_INPUTS(xs), TN_OUTPUTS(ds)) || tn_call(em, TN_INPUTS(a, b), TN_OUTPUTS(&value, da)))
        return 1;
    printf("%.6f %.6f %.6f\n", dw[0], dw[1], dw[2]);
    printf("%.6f %.6f %.6f\n", hw[0][0], hw[0][1], hw[0][2]);
    printf("%.4f %.4f %.4f %.4f\n", ds[0], ds[1], ds[2], ds[3]);
    printf("%.6f %.6f\n", value, da[2][1]);
    tn_ctx_free(c);
    return 0;
}
