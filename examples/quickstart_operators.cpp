/* The first program (quickstart.c) with operators and lambdas: trace a loss, differentiate it, differentiate that, run
 * both. */
#include <cstdio>
#include <vector>

#include <tansy.hpp>

/* w[2,3], b[3], x[4,2], labels[4] -> mean cross-entropy of softmax(x w + b) */
static tn::val loss(tn::val w, tn::val b, tn::val x, tn::val labels) {
    const tn::val z = matmul(x, w) + b;
    return mean(logsumexp(z, 1) - take_along(z, labels, 1));
}

int main() try {
    tn::context c;
    const tn::program f = tn::trace(c, loss, tn_f64(2, 3), tn_f64(3), tn_f64(4, 2), tn_i32(4));
    const tn::executable run_vg = tn::compile(tn::value_and_grad(f, {0, 1}));
    const tn::executable run_hvp = tn::compile(tn::jvp(tn::grad(f, 0), 0)); /* forward over reverse */

    const double w[2][3] = {{0.1, -0.2, 0.3}, {0.0, 0.5, -0.4}}, b[3] = {}, v[2][3] = {{1, 0, 0}, {0, 0, 0}};
    const std::vector<double> x = {1, 2, -1, 0.5, 0.3, -2, 2, 1};
    const std::vector<int32_t> labels = {0, 2, 1, 2};
    double y, dw[2][3], db[3], hv[2][3];
    run_vg(tn::in(w, b, x, labels), tn::out(y, dw, db));
    run_hvp(tn::in(w, b, x, labels, v), tn::out(nullptr, hv));
    std::printf("loss %.6f\n", y);
    for (int i = 0; i < 2; i++) std::printf("dw[%d] %9.6f %9.6f %9.6f\n", i, dw[i][0], dw[i][1], dw[i][2]);
    std::printf("db    %9.6f %9.6f %9.6f\n", db[0], db[1], db[2]);
    for (int i = 0; i < 2; i++) std::printf("Hv[%d] %9.6f %9.6f %9.6f\n", i, hv[i][0], hv[i][1], hv[i][2]);
} catch (const tn::error &e) { /* names the operator, its operands and this file's line */
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
