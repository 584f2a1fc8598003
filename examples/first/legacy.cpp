/* A function from before, with its adjoint by hand: what an instrument that smooths was given, by gradient descent. */
#include <cmath>
#include <cstdio>

#include <tansy.hpp>

using namespace tn;

static void smooth(const double *in, double *out) {
    out[0] = in[0];
    for (int i = 1; i < 50; i++) out[i] = 0.7 * out[i - 1] + 0.3 * in[i];
}

static void smooth_adjoint(const double *ct, double *ct_in) {
    double carried = 0;
    for (int i = 49; i > 0; i--) ct_in[i] = 0.3 * (carried = 0.7 * carried + ct[i]);
    ct_in[0] = 0.7 * carried + ct[0];
}

static val loss(val u, val seen) {
    const val rough = u[slice(1, 50)] - u[slice(0, 49)];
    return sum_squares(external("smooth", u) - seen) + 0.01 * sum_squares(rough);
}

int main() {
    context c;
    const auto fn = [](const void *const *in, void *const *out) {
        smooth(static_cast<const double *>(in[0]), static_cast<double *>(out[0]));
        return 0;
    };
    const auto vjp = [](const void *const *in, void *const *out) {
        smooth_adjoint(static_cast<const double *>(in[1]), static_cast<double *>(out[0]));
        return 0;
    };
    (void)c.add({"smooth", {tn_f64(50)}, {tn_f64(50)}, fn, {}, vjp});
    const program gradient = grad(trace(c, loss, tn_f64(50), tn_f64(50)), 0);
    const auto descent = [&](val seen) {
        const auto down = [&](val, val u) { return u - 0.4 * gradient(u, seen); };
        return fori(0, 500, down, seen);
    };
    double given[50], seen[50], found[50], worst = 0;
    for (int i = 0; i < 50; i++) given[i] = std::sin(0.2 * i);
    smooth(given, seen);
    compile(trace(c, descent, tn_f64(50)))(in(seen), out(found));
    for (int i = 0; i < 50; i++) worst = std::fmax(worst, std::fabs(found[i] - given[i]));
    std::printf("%.6f %.6f %.6f, off by %.4f at most\n", found[0], found[10], found[20], worst);
}
