/* A small convolutional network: tells horizontal from vertical stripes in pictures of 12 x 12 with noise, by gradient
 * descent with momentum. */
#include <cmath>
#include <cstdio>
#include <vector>

#include <tansy.hpp>

using namespace tn;

enum { N = 64, S = 12, F = 4 };

/* Pictures [N,S,S,1] -> how much rather vertical than horizontal [N] */
static val network(val kernel, val bias, val w, val x) {
    return matmul(mean(relu(conv(x, kernel, "NHWC,HWIO->NHWC") + bias), {1, 2}), w);
}

static val loss(val kernel, val bias, val w, val x, val y) { return mean(softplus(-y * network(kernel, bias, w, x))); }

int main() {
    std::vector<double> x(N * S * S), y(N), k(9 * F), w(F);
    for (int i = 0; i < N; i++) y[i] = i % 2 ? 1 : -1;
    for (int i = 0; i < N * S * S; i++) {
        const int place = i / (S * S) % 2 ? i % S : i / S % S;
        x[i] = std::sin(2.0 * place + i / (S * S)) + std::sin(78.233 * i * i);
    }
    for (int i = 0; i < 9 * F; i++) k[i] = 0.5 * std::sin(3.0 * i * i);
    for (int i = 0; i < F; i++) w[i] = std::sin(5.0 * i * i + 1);
    context c;
    const auto K = f64(3, 3, 1, F), B = f64(F), X = f64(N, S, S, 1), Y = f64(N);
    const program gradient = grad(trace(c, loss, K, B, B, X, Y), {0, 1, 2});
    const auto train = [&](val kernel, val w, val x, val y) {
        const auto update = [&](val, std::vector<val> p) {
            const auto g = gradient.call({p[0], p[1], p[2], x, y});
            for (int i = 0; i < 3; i++) p[i] -= 0.1 * (p[i + 3] = 0.9 * p[i + 3] + g[i]);
            return p;
        };
        const val bias = zeros_like(w);
        std::vector<val> p = {kernel, bias, w, 0.0 * kernel, bias, bias};
        p = fori(0, 300, update, p);
        const val right = mean(where(gt(y * network(p[0], p[1], p[2], x), 0.0), 1.0, 0.0 * y));
        return many(loss(p[0], p[1], p[2], x, y), right);
    };
    double error, right;
    compile(trace(c, train, K, B, X, Y))(in(k, w, x, y), out(error, right));
    std::printf("loss %.4f, %.1f %% are right\n", error, 100 * right);
}
