/* The gradient of a loss as a C file that needs no Tansy. */
#include <stdio.h>
#include <tansy.h>
#include <tansy/emit.h>

/* in: w[2], x[4,2], y[4] -> mean squared error of x w */
static tn_val loss(const tn_val *in, void *user) {
    (void)user;
    return tn_mean(tn_square(tn_sub(tn_matmul(in[1], in[0]), in[2])));
}

static int write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (!f) return 1;
    int failed = fputs(text, f) == EOF;
    return fclose(f) || failed;
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, loss, NULL, TN_ARGS(tn_f64(2), tn_f64(4, 2), tn_f64(4)));
    tn_fn *g = tn_value_and_grad(f, tn_wrt(0), NULL);
    const tn_emit_c_options options = {.size = sizeof options, .name = "loss_grad"};
    char *source, *header;
    if (tn_emit_c(g, &options, &source, &header)) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }
    if (write_file("loss_grad.c", source) || write_file("loss_grad.h", header)) return 1;
    tn_text_free(c, source);
    tn_text_free(c, header);
    tn_ctx_free(c);
    return 0;
}
