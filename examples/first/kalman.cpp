/* A Kalman filter: the noises of a vehicle's speed and of what measures its place, by Newton's method on the
 * likelihood, with standard errors. */
#include <cmath>
#include <cstdio>

#include <tansy.hpp>

using namespace tn;

enum { N = 400 };

/* Minus the logarithm of the likelihood of the places z, which are 0.1 s apart. */
static val surprise(val theta, val z) {
    const val F = constant(z, {{1, 0.1}, {0, 1}}), noise = exp(2.0 * theta);
    const val Q = noise[0] * constant(z, {{0, 0}, {0, 0.1}});
    const auto measure = [&](std::array<val, 3> carry, val seen) {
        auto [x, P, sum] = carry;
        x = matmul(F, x);
        P = matmul(matmul(F, P), t(F)) + Q;
        const val off = seen - x[0], S = P(0, 0) + noise[1], K = P(slice(), 0) / S;
        return std::pair(many(x + K * off, P - outer(K, P[0]), sum + 0.5 * (log(S) + off * off / S)), none());
    };
    return scan(measure, many(constant(z, {0, 1}), 0.01 * eye(z, TN_F64, 2), 0.0), z).first[2];
}

int main() {
    context c;
    double z[N], theta[2], error[2];
    const double start[] = {-1, -2};
    for (int i = 0; i < N; i++) z[i] = 0.1 * i + std::sin(0.1 * i) + 0.2 * std::sin(78.233 * i * i);
    const program derivatives = hessian_aux(trace(c, surprise, f64(2), f64(N)), 0);
    const auto fit = [&](val start, val z) {
        const auto newton = [&](val, val theta) {
            const auto fgH = derivatives.call({theta, z});
            return theta - solve(fgH[2], fgH[1]);
        };
        const val theta = fori(0, 20, newton, start);
        return many(theta, sqrt(diag(inverse(derivatives.call({theta, z})[2]))));
    };
    compile(trace(c, fit, f64(2), f64(N)))(in(start, z), out(theta, error));
    for (int i = 0; i < 2; i++) std::printf("log noise %.6f +- %.6f\n", theta[i], error[i]);
}
