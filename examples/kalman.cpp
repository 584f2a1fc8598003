/* How rough is a road, and how good the instrument?  A vehicle's position is measured at N times; its speed changes at
 * random.  A Kalman filter gives the likelihood of what was measured, Newton's method with the exact Hessian finds the
 * two noises for which it is greatest, and the Hessian there has their standard errors. */
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <tansy.hpp>

static constexpr int64_t N = 400;
static constexpr double dt = 0.1;

/* Positions as measured, of a vehicle whose speed has noise q and whose instrument has noise r. */
static std::vector<double> measured(double q, double r) {
    std::mt19937_64 bits(7);
    /* Box and Muller's, the same numbers with every library. */
    const auto normal = [&bits] {
        const double u = (double(bits() >> 11) + 0.5) / 9007199254740992.0,
                     v = double(bits() >> 11) / 9007199254740992.0;
        return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
    };
    std::vector<double> z;
    double position = 0, speed = 1;
    for (int64_t i = 0; i < N; i++) {
        position += dt * speed;
        speed += q * std::sqrt(dt) * normal();
        z.push_back(position + r * normal());
    }
    return z;
}

/* theta = (log q, log r), z [N] -> minus the logarithm of the likelihood, without constants */
static tn::val surprise(tn_ctx *c, tn::val theta, tn::val z) {
    const double step[] = {1, dt, 0, 1}, start[] = {0, 1}, corner[] = {0, 0, 0, dt};
    const tn::val F = tn::constant(c, tn_f64(2, 2), step), I = tn::eye(c, TN_F64, 2);
    const tn::val noise = exp(2.0 * theta), Q = noise[0] * tn::constant(c, tn_f64(2, 2), corner), R = noise[1];

    const auto measure = [&](std::array<tn::val, 3> carry, tn::val seen) {
        auto [x, P, sum] = carry;
        x = matmul(F, x);
        P = matmul(matmul(F, P), t(F)) + Q;
        const tn::val off = seen - x[0], S = P(0, 0) + R; /* what the measurement adds, and its variance */
        const tn::val K = P(tn::slice(), 0) / S;
        x += K * off;
        P -= outer(K, P[0]);
        sum += 0.5 * (log(S) + off * off / S);
        return std::pair(tn::many(x, P, sum), tn::none());
    };
    const auto init = tn::many(tn::constant(c, tn_f64(2), start), 1e-2 * I, sum(zeros_like(z)));
    return tn::scan(measure, init, z).first[2];
}

int main() try {
    const double q = 0.5, r = 0.2;
    const std::vector<double> z = measured(q, r);
    tn::context c;
    const tn::program f = tn::trace(
        c, [&](tn::val theta, tn::val seen) { return surprise(c.get(), theta, seen); }, tn_f64(2), tn_f64(N));
    const tn::executable value = tn::compile(f),
                         derivatives = tn::compile(tn::hessian_aux(f, 0)); /* value, gradient, Hessian */

    double theta[2] = {0, 0}, y = 0, g[2], H[2][2], size = 1;
    int steps = 0;
    for (; steps < 50; steps++) {
        derivatives(theta, z, y, g, H);
        size = std::hypot(g[0], g[1]);
        if (size < 1e-9) break;
        /* Newton's step where the Hessian is positive definite, else along the gradient; halved until it goes down. */
        const double det = H[0][0] * H[1][1] - H[0][1] * H[1][0];
        double d[2] = {-g[0] / size, -g[1] / size}, next[2], lower = y;
        if (H[0][0] > 0 && det > 0) {
            d[0] = -(H[1][1] * g[0] - H[0][1] * g[1]) / det;
            d[1] = -(H[0][0] * g[1] - H[1][0] * g[0]) / det;
        }
        for (double a = 1; a > 1e-6; a /= 2) {
            for (int i = 0; i < 2; i++) next[i] = theta[i] + a * d[i];
            value(next, z, lower);
            if (lower <= y) break;
        }
        for (int i = 0; i < 2; i++) theta[i] = next[i];
    }
    const double det = H[0][0] * H[1][1] - H[0][1] * H[1][0], variance[] = {H[1][1] / det, H[0][0] / det};
    const double true_theta[] = {std::log(q), std::log(r)};
    const char *const name[] = {"noise of the speed", "noise of the instrument"};
    bool good = size < 1e-6;
    std::printf("%d steps of Newton's method, gradient below 1e-6: %s\n", steps, good ? "yes" : "no");
    for (int i = 0; i < 2; i++) {
        const double error = std::sqrt(variance[i]), off = (theta[i] - true_theta[i]) / error;
        std::printf("%-24s %.3f (true: %.3f), standard error %.0f %%, off by %.1f of them\n", name[i],
                    std::exp(theta[i]), std::exp(true_theta[i]), 100 * error, off);
        good = good && std::fabs(off) < 3;
    }
    return !good;
} catch (const tn::error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
