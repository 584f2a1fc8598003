/* Least squares with standard errors: Misra1a of NIST's Statistical Reference Datasets, dental research on
 * monomolecular adsorption.  The model is b0 (1 - exp(-b1 x)); Levenberg-Marquardt starts far away, with the Jacobian
 * of the traced residuals, and has to find the certified numbers.
 *
 *     misra_levmar
 *
 * The exit status is 0 when parameters and their standard errors are the certified ones. */
#include <tansy/levmar.h>

#include <math.h>
#include <stdio.h>

enum { POINTS = 14, N = 2 };
static const double x[POINTS] = {77.6,  114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                                 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0};
static const double y[POINTS] = {10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                                 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78};
static const double certified[N] = {2.3894212918e+02, 5.5015643181e-04};
static const double certified_error[N] = {2.7070075241e+00, 7.2668688436e-06};

/* b [2], x, y [14] -> residuals */
static tn_val residuals(const tn_val *in, void *user) {
    (void)user;
    const tn_val left = tn_exp(tn_neg(tn_mul(tn_at(in[0], 1), in[1])));
    return tn_sub(tn_mul(tn_at(in[0], 0), tn_sub(1.0, left)), in[2]);
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_levmar_problem problem = {
        .size = sizeof problem, .r = tn_trace(c, residuals, NULL, TN_ARGS(tn_f64(N), tn_f64(POINTS), tn_f64(POINTS)))};
    const tn_levmar_start start = {.size = sizeof start, .x = (const double[]){500, 1e-4}, .p = (const void *[]){x, y}};
    tn_levmar *s = tn_levmar_new(&problem, NULL);
    tn_levmar_result r = {.size = sizeof r};
    bool good = tn_levmar_solve(s, &start, &r) == TN_OK;
    if (!good) fprintf(stderr, "%s\n", tn_levmar_error(s));
    for (int i = 0; i < N && good; i++) {
        const double error = sqrt(r.covariance[i * N + i]);
        printf("b%d  %.10e +- %.4e   certified %.10e +- %.4e\n", i, r.x[i], error, certified[i], certified_error[i]);
        good = fabs(r.x[i] / certified[i] - 1) < 1e-8 && fabs(error / certified_error[i] - 1) < 1e-6;
    }
    if (r.covariance)
        printf("residual standard deviation %.6f, %s, after %d iterations\n", sqrt(2 * r.objective / (POINTS - N)),
               r.text, (int)r.iterations);
    tn_levmar_free(s);
    tn_ctx_free(c);
    return !good;
}
