/* What the test projects here build: the gradient of a product large enough for BLIS, and fused loops. */
#include <stdio.h>
#include <stdlib.h>
#include <tansy.h>

enum { N = 96 };

static tn_val f(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_sin(tn_matmul(in[0], in[1])));
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *g = tn_grad(tn_trace(c, f, NULL, TN_ARGS(tn_f64(N, N), tn_f64(N, N))), tn_wrt(0), NULL);
    tn_exec *e = tn_compile(g, &(tn_compile_options){.size = sizeof(tn_compile_options), .threads = 2});
    double *x = calloc(3 * N * N, sizeof *x);
    if (!e || !x) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }
    for (int i = 0; i < 2 * N * N; i++) x[i] = (i * 7 % 11 - 5) / 64.0;
    if (tn_call(e, TN_RAW_INPUTS(x, x + N * N), TN_RAW_OUTPUTS(x + 2 * N * N))) {
        fprintf(stderr, "%s\n", tn_exec_error(e));
        return 1;
    }
    double sum = 0;
    for (int i = 0; i < N * N; i++) sum += x[2 * N * N + i] * (i % 5 - 2);
    printf("tansy %s: %.6f\n", tn_version(), sum);
    free(x);
    tn_ctx_free(c);
    return 0;
}
