/* The rate and the end of a growth y' = r y (1 - y / k), from measurements. */
#include <stdio.h>
#include <tansy.h>
#include <tansy/ode.h>
#include <tansy/optim.h>

enum { TIMES = 6 };

static void growth(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(tn_mul(p[0], y[0]), tn_sub(1, tn_div(y[0], p[1])));
}

/* in: log r, log k, times[TIMES], measured[TIMES] -> mean squared error */
static tn_val misfit(const tn_val *in, void *user) {
    (void)user;
    tn_val p[2] = {tn_exp(in[0]), tn_exp(in[1])}, start = tn_full_like(in[0], 1.0), y, ts_y;
    const tn_ode_problem problem = {.size = sizeof problem,
                                    .field = growth,
                                    .nstate = 1,
                                    .y0 = &start,
                                    .nparams = 2,
                                    .params = p,
                                    .t0 = TN_VAL(0.0),
                                    .t1 = TN_VAL(10.0)};
    const tn_ode_options options = {.size = sizeof options, .rtol = 1e-6, .atol = 1e-8, .max_steps = 1000, .ts = in[2]};
    tn_ode_solution s = {.size = sizeof s, .y = &y, .ts_y = &ts_y};
    tn_ode_solve(&problem, &options, &s);
    tn_assert(tn_eq(s.status, TN_ODE_SUCCESS), "the solve did not reach its end");
    return tn_mean(tn_square(tn_sub(ts_y, in[3])));
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_optim adam = {.size = sizeof adam, .rule = TN_ADAM, .rate = {.value = 0.05}};
    tn_fn *f = tn_trace(c, misfit, NULL, TN_ARGS(tn_f64(), tn_f64(), tn_f64(TIMES), tn_f64(TIMES)));
    /* new parameters and moments go where the old ones are: which output may be which input's memory */
    const int alias[] = {-1, 0, 1, 4, 5, 6, 7, 8};
    tn_exec *e = tn_compile(tn_optim_step(f, tn_wrt(0, 1), &adam, NULL),
                            &(tn_compile_options){.size = sizeof(tn_compile_options), .alias = alias});
    if (!e) {
        fprintf(stderr, "%s\n", tn_error(c));
        return 1;
    }

    const double times[TIMES] = {0, 2, 4, 6, 8, 10}, measured[TIMES] = {1.0, 2.5, 5.0, 7.4, 8.9, 9.6};
    double r = 0, k = 1, m[2] = {0}, v[2] = {0}, error; /* logarithms, and Adam's moments */
    int64_t updates = 0;
    for (int i = 0; i < 500; i++) {
        if (tn_call(e, TN_INPUTS(&r, &k, times, measured, &updates, m, m + 1, v, v + 1),
                    TN_OUTPUTS(&error, &r, &k, &updates, m, m + 1, v, v + 1))) {
            fprintf(stderr, "%s\n", tn_exec_error(e));
            return 1;
        }
        if (i % 100 == 99) printf("update %d: error %.5f\n", i + 1, error);
    }
    tn_exec *result = tn_compile(f, NULL);
    if (!result || tn_call(result, TN_INPUTS(&r, &k, times, measured), TN_OUTPUTS(&error))) return 1;
    printf("log r %.3f, log k %.3f\n", r, k);
    tn_ctx_free(c);
    return 0;
}
