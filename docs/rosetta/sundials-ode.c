/* The same oscillator without SUNDIALS: docs/rosetta/sundials.md. */
#include <stdio.h>
#include <tansy.h>
#include <tansy/ode.h>

static void rhs(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = y[1];
    dy[1] = tn_sub(tn_mul(p[0], tn_mul(tn_sub(1, tn_square(y[0])), y[1])), y[0]);
}

static tn_val end(const tn_val *in, void *user) { /* mu -> y(5) */
    (void)user;
    tn_val y0[2] = {tn_full_like(in[0], 2), tn_zeros_like(in[0])}, y[2];
    tn_ode_problem problem = {.size = sizeof problem,
                              .field = rhs,
                              .nstate = 2,
                              .y0 = y0,
                              .nparams = 1,
                              .params = in,
                              .t0 = TN_VAL(0.0),
                              .t1 = TN_VAL(5.0)};
    tn_ode_options options = {.size = sizeof options, .solver = "Kvaerno5", .rtol = 1e-9, .atol = 1e-9};
    tn_ode_solution s = {.size = sizeof s, .y = y};
    tn_ode_solve(&problem, &options, &s);
    return y[0];
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, end, NULL, TN_ARGS(tn_f64()));
    tn_exec *e = tn_compile(tn_value_and_grad(f, NULL, NULL), NULL);
    double mu = 10, y, dmu;
    if (!e || tn_call(e, TN_INPUTS(&mu), TN_OUTPUTS(&y, &dmu))) {
        fprintf(stderr, "%s\n", e ? tn_exec_error(e) : tn_error(c));
        return 1;
    }
    printf("y(5) %.5f, dy(5)/dmu %.5f\n", y, dmu);
    tn_ctx_free(c);
    return 0;
}
