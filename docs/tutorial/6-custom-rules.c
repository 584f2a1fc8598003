/* A function with a rule of its own, and a C function from before Tansy. */
#include <stdio.h>
#include <tansy.h>

/* ---- a forward rule for log(1 + e^x): that of exp and log is NaN for large x ---- */

static tn_val softplus(const tn_val *in, void *user) {
    (void)user;
    return tn_log(tn_add(1, tn_exp(in[0])));
}
static tn_val softplus_jvp(const tn_val *in, void *user) { /* x, dx -> dy */
    (void)user;
    return tn_mul(tn_sigmoid(in[0]), in[1]);
}

/* ---- a drag law that exists already, with its reverse rule ---- */

static int drag(void *user, const void *const *in, void *const *out) { /* v[2] -> force[2] */
    const double *v = in[0], *k = user;
    double *force = out[0];
    for (int i = 0; i < 2; i++) force[i] = -*k * v[i] * v[i] * v[i];
    return 0;
}
static int drag_vjp(void *user, const void *const *in, void *const *out) { /* v[2], ct[2] -> ct of v[2] */
    const double *v = in[0], *ct = in[1], *k = user;
    double *ct_v = out[0];
    for (int i = 0; i < 2; i++) ct_v[i] = -3 * *k * v[i] * v[i] * ct[i];
    return 0;
}

static tn_val f(const tn_val *in, void *user) {
    tn_val soft = tn_custom_jvp(softplus, softplus_jvp, NULL, 1, in);
    return tn_sum(tn_external(user, "drag", 1, &soft));
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    double k = 0.5, v[2] = {1, -2}, dv[2];
    const tn_type two = tn_f64(2);
    const tn_external_spec spec = {.size = sizeof spec,
                                   .name = "drag",
                                   .nin = 1,
                                   .nout = 1,
                                   .in = &two,
                                   .out = &two,
                                   .fn = drag,
                                   .vjp = drag_vjp,
                                   .user = &k};
    tn_external_register(c, &spec);
    tn_fn *p = tn_trace(c, f, c, TN_ARGS(tn_f64(2)));
    tn_exec *e = tn_compile(tn_grad(p, NULL, NULL), NULL);
    if (!e || tn_check_grads(p, TN_INPUTS(v), NULL, NULL)) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }
    if (tn_call(e, TN_INPUTS(v), TN_OUTPUTS(dv))) {
        fprintf(stderr, "%s\n", tn_exec_error(e));
        return 1;
    }
    printf("gradient %.6f %.6f, and finite differences agree\n", dv[0], dv[1]);
    tn_ctx_free(c);
    return 0;
}
