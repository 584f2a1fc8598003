/* Growth y' = r y (1 - y / k): r and k from measurements, with standard errors, by Gauss and Newton through a solver.
 */
#include <cstdio>

#include <tansy.hpp>

using namespace tn;

static val growth(val, val y, val p) { return p[0] * y * (1.0 - y / p[1]); }

static val residuals(val p, val times, val seen) {
    return odeint(growth, ones_like(p[0]), times, {1e-9, 1e-9}, p) - seen;
}

int main() {
    const double times[] = {0, 2, 4, 6, 8, 10}, seen[] = {1.0, 2.5, 5.0, 7.4, 8.9, 9.6}, start[] = {0.5, 8};
    context c;
    const program both = value_and_jacobian(trace(c, residuals, f64(2), f64(6), f64(6)), 0);
    const auto fit = [&](val start, val times, val seen) {
        const auto step = [&](val, val p) {
            const auto rJ = both.call({p, times, seen});
            return p - solve(matmul(t(rJ[1]), rJ[1]), matmul(t(rJ[1]), rJ[0]));
        };
        const val p = fori(0, 10, step, start);
        const auto rJ = both.call({p, times, seen});
        return many(p, sqrt(diag(inverse(matmul(t(rJ[1]), rJ[1])) * sum_squares(rJ[0]) / 4.0)));
    };
    double p[2], error[2];
    compile(trace(c, fit, f64(2), f64(6), f64(6)))(in(start, times, seen), out(p, error));
    for (int i = 0; i < 2; i++) std::printf("%.5f +- %.5f\n", p[i], error[i]);
}
