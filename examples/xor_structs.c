/* A small network learns XOR; its parameters, their gradient and the optimizer's state are C structs.
 *
 * usage: xor_structs [FILE.npz]    FILE: where the parameters are written to, and read again
 * Exit status: 0, or 1 when the network does not learn it or what is read is not what was written. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tansy.h>
#include <tansy/optim.h>

enum { ROWS = 4, HIDDEN = 8, UPDATES = 400 };

#define MLP(F)            \
    F(f64, w1, 2, HIDDEN) \
    F(f64, b1, HIDDEN)    \
    F(f64, w2, HIDDEN)    \
    F(f64, b2)
TN_STRUCT(mlp, MLP); /* struct mlp, mlp_struct, mlp_arrays, mlp_vals */

#define ADAM(F) F(i64, count) F(struct, mlp, m) F(struct, mlp, v)
TN_STRUCT(adam, ADAM);

/* mlp, x [ROWS,2], y [ROWS] -> mean squared distance */
static tn_val loss(const tn_val *in, void *user) {
    (void)user;
    const mlp_vals *p = TN_STRUCT_VALS(mlp, in);
    const tn_val x = in[mlp_arrays], y = in[mlp_arrays + 1];
    const tn_val h = tn_tanh(tn_add(tn_matmul(x, p->w1), p->b1));
    return tn_mean(tn_square(tn_sub(tn_add(tn_matmul(h, p->w2), p->b2), y)));
}

/* One update in place: mlp, x, y, adam -> loss, mlp, adam. */
static tn_exec *compile_update(tn_ctx *c) {
    const tn_optim rule = {.size = sizeof rule, .rule = TN_ADAM, .rate = {.value = 0.03}};
    int alias[1 + mlp_arrays + adam_arrays] = {-1};
    for (int i = 0; i < mlp_arrays; i++) alias[1 + i] = i;
    for (int i = 0; i < adam_arrays; i++) alias[1 + mlp_arrays + i] = mlp_arrays + 2 + i;
    tn_fn *f = tn_trace(c, loss, NULL, TN_STRUCT_ARGS(mlp, tn_f64(ROWS, 2), tn_f64(ROWS)));
    tn_fn *update = tn_optim_step(f, TN_STRUCT_WRT(mlp, 0), &rule, NULL);
    return tn_compile(update, &(tn_compile_options){.size = sizeof(tn_compile_options), .alias = alias});
}

int main(int n, char **args) {
    static const double x[ROWS][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, y[ROWS] = {0, 1, 1, 0};
    mlp p = {0}, again = {0};
    bool same = true;
    adam a = {0};
    double *flat = tn_struct_flat(&mlp_struct, &p, TN_F64); /* all parameters as one array */
    for (size_t i = 0; i < tn_struct_floats(&mlp_struct); i++) flat[i] = sin(7.0 * (double)i + 1);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e = compile_update(c);
    tn_status s = e ? TN_OK : tn_last_status(c);
    double now = 0;
    for (int k = 0; k < UPDATES && s == TN_OK; k++) {
        s = tn_call(e, TN_INPUTS(TN_STRUCT_IN(mlp, &p), x, y, TN_STRUCT_IN(adam, &a)),
                    TN_OUTPUTS(&now, TN_STRUCT_OUT(mlp, &p), TN_STRUCT_OUT(adam, &a)));
        if (k % 100 == 0) printf("update %3lld  loss %.6f\n", (long long)a.count, now);
    }
    if (s == TN_OK && n > 1) {
        s = tn_struct_save(c, &mlp_struct, &p, args[1]);
        if (s == TN_OK) s = tn_struct_load(c, &mlp_struct, &again, args[1]);
        same = s == TN_OK && memcmp(&p, &again, sizeof p) == 0;
        printf("%s: %s\n", args[1], same ? "the same bits" : "MISSED");
    }
    if (s != TN_OK) fprintf(stderr, "%s\n", e && tn_exec_error(e)[0] ? tn_exec_error(e) : tn_error(c));
    printf("after %lld updates %.6f\n", (long long)a.count, now);
    tn_ctx_free(c);
    return s == TN_OK && same && now < 1e-3 ? 0 : 1;
}
