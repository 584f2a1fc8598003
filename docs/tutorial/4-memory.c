/* What the derivative of a network keeps, under some policies and a budget. */
#include <stdio.h>
#include <tansy.h>

enum { ROWS = 64, WIDTH = 32, LAYERS = 6 };

/* in: x[ROWS,WIDTH], then a matrix for each layer -> mean square of what comes out */
static tn_val loss(const tn_val *in, void *user) {
    (void)user;
    tn_val h = in[0];
    for (int i = 1; i <= LAYERS; i++) h = tn_gelu(tn_matmul(h, in[i]));
    return tn_mean(tn_square(h));
}

static int tell(const tn_fn *f, const char *policy) {
    tn_residuals *r = tn_saved_residuals(f, NULL, tn_policy_by_name(policy));
    tn_residual_totals t = {.size = sizeof t};
    if (!r || tn_residuals_total(r, &t)) return 1;
    printf("%-22s keeps %4.0f KiB, peak %4.0f KiB, %8.0f flops again\n", policy, t.residual_bytes / 1024,
           t.peak_bytes / 1024, t.recomputed_flops);
    return 0;
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_type in[1 + LAYERS] = {tn_f64(ROWS, WIDTH)};
    for (int i = 1; i <= LAYERS; i++) in[i] = tn_f64(WIDTH, WIDTH);
    tn_fn *f = tn_trace(c, loss, NULL, 1 + LAYERS, in);
    tn_budget_report b = {.size = sizeof b};
    if (tell(f, "everything_saveable") || tell(f, "dots_saveable") || tell(f, "min_cut") ||
        tn_memory_budget(f, NULL, 200 << 10, &b)) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }
    printf("a budget of 200 KiB: %s, peak %zu KiB; no plan takes less than %zu KiB\n",
           b.feasible ? "feasible" : "not feasible", b.peak_bytes >> 10, b.least_bytes >> 10);
    tn_fn *g = tn_grad(f, NULL, tn_policy_by_name("memory_budget:204800"));
    tn_exec *e = tn_compile(g, NULL);
    if (!e) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }
    printf("its gradient takes %zu KiB\n", tn_exec_bytes(e) >> 10);
    tn_ctx_free(c);
    return 0;
}
