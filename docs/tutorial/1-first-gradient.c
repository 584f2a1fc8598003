/* The gradient of sum(x sin x). */
#include <stdio.h>
#include <tansy.h>

static tn_val f(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(in[0], tn_sin(in[0])));
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *p = tn_trace(c, f, NULL, TN_ARGS(tn_f64(3)));
    tn_fn *g = tn_value_and_grad(p, NULL, NULL);
    tn_exec *e = tn_compile(g, NULL);
    if (!e) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }

    char *text = tn_fn_print(p, NULL);
    printf("%s\n", text);
    tn_text_free(c, text);

    double x[3] = {0, 1, 2}, y, dx[3];
    if (tn_call(e, TN_INPUTS(x), TN_OUTPUTS(&y, dx))) {
        fprintf(stderr, "%s\n", tn_exec_error(e));
        return 1;
    }
    printf("y %.6f, dy/dx %.6f %.6f %.6f\n", y, dx[0], dx[1], dx[2]);
    tn_ctx_free(c);
    return 0;
}
