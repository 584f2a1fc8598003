/* Trace a loss, differentiate it, differentiate that, run both. */
#include <stdio.h>
#include <tansy.h>

/* in: w[2,3], b[3], x[4,2], labels[4] -> mean cross-entropy of softmax(x w + b) */
static tn_val loss(const tn_val *in, void *user) {
    (void)user;
    tn_val z = tn_add(tn_matmul(in[2], in[0]), in[1]);
    return tn_mean(tn_sub(tn_logsumexp(z, 1), tn_take_along(z, in[3], 1)));
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, loss, NULL, TN_ARGS(tn_f64(2, 3), tn_f64(3), tn_f64(4, 2), tn_i32(4)));
    tn_fn *vg = tn_value_and_grad(f, tn_wrt(0, 1), NULL);
    tn_fn *hvp = tn_jvp(tn_grad(f, tn_wrt(0), NULL), tn_wrt(0)); /* forward over reverse */
    tn_exec *run_vg = tn_compile(vg, NULL), *run_hvp = tn_compile(hvp, NULL);
    if (!run_vg || !run_hvp) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }

    double w[2][3] = {{0.1, -0.2, 0.3}, {0.0, 0.5, -0.4}}, b[3] = {0}, v[2][3] = {{1, 0, 0}, {0, 0, 0}};
    double x[4][2] = {{1, 2}, {-1, 0.5}, {0.3, -2}, {2, 1}}, y, dw[2][3], db[3], hv[2][3];
    int32_t labels[4] = {0, 2, 1, 2};
    tn_status s = tn_call(run_vg, TN_INPUTS(w, b, x, labels), TN_OUTPUTS(&y, dw, db));
    if (s == TN_OK) s = tn_call(run_hvp, TN_INPUTS(w, b, x, labels, v), TN_OUTPUTS(NULL, hv));
    if (s != TN_OK)
        fprintf(stderr, "%s\n", tn_status_text(s));
    else {
        printf("loss %.6f\n", y);
        for (int i = 0; i < 2; i++) printf("dw[%d] %9.6f %9.6f %9.6f\n", i, dw[i][0], dw[i][1], dw[i][2]);
        printf("db    %9.6f %9.6f %9.6f\n", db[0], db[1], db[2]);
        for (int i = 0; i < 2; i++) printf("Hv[%d] %9.6f %9.6f %9.6f\n", i, hv[i][0], hv[i][1], hv[i][2]);
    }
    tn_ctx_free(c); /* and everything made in it */
    return s != TN_OK;
}
