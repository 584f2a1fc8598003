/* Least squares with standard errors: Misra1a of NIST's Statistical Reference Datasets, by Gauss and Newton. */
#include <cstdio>
#include <vector>

#include <tansy.hpp>

using namespace tn;

static val residuals(val b, val x, val y) { return b[0] * (1.0 - exp(-b[1] * x)) - y; }

int main() {
    const std::vector<double> x = {77.6,  114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                                   378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0};
    const std::vector<double> y = {10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                                   44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78};
    context c;
    const program r = trace(c, residuals, tn_f64(2), tn_f64(14), tn_f64(14)), both = value_and_jacobian(r, 0);
    const auto fit = [&](val start, val x, val y) {
        const auto step = [&](val, val b) {
            const auto rJ = both.call({b, x, y});
            return b - solve(matmul(t(rJ[1]), rJ[1]), matmul(t(rJ[1]), rJ[0]));
        };
        const val b = fori(0, 10, step, start);
        const auto rJ = both.call({b, x, y});
        return many(b, sqrt(diag(inverse(matmul(t(rJ[1]), rJ[1])) * sum_squares(rJ[0]) / 12.0)));
    };
    double b[2], error[2];
    const double start[] = {250, 5e-4};
    compile(trace(c, fit, tn_f64(2), tn_f64(14), tn_f64(14)))(in(start, x, y), out(b, error));
    for (int i = 0; i < 2; i++) std::printf("%.9e +- %.5e\n", b[i], error[i]);
}
