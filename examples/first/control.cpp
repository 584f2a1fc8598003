/* Optimal control: a car is to be round the track as soon as possible, with a limit of its speed that depends on the
 * place; direct multiple shooting, by Ipopt. */
#include <cstdio>

#include <tansy/ipopt.hpp>

using namespace tn;

constexpr int N = 100;

static val derivative(val x, val u) { return stack({x[1], u - x[1]}); }

/* States [2,N+1], throttles [N] and the time -> what has to be 0, and what has to be positive */
static auto constraints(val states, val u, val time) {
    const val x = states(slice(), slice(0, N)), h = time / N;
    const val k1 = derivative(x, u), k2 = derivative(x + h / 2 * k1, u), k3 = derivative(x + h / 2 * k2, u);
    const val next = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + derivative(x + h * k3, u));
    const val limit = 1 - sin(6.283185307179586 * states[0]) / 2;
    return many(states(slice(), slice(1, N + 1)) - next, states(slice(), 0), states(0, N) - 1, limit - states[1]);
}

int main() {
    context c;
    const auto last = [](val, val, val time) { return time; };
    const program f = trace(c, last, f64(2, N + 1), f64(N), f64()),
                  g = trace(c, constraints, f64(2, N + 1), f64(N), f64());
    const double none = 1e20;
    const ipopt solver({f, g, 3, {-none, 0, 0}, {none, 1, none}, {0, 0, 0, 0}, {0, 0, 0, none}});
    const auto r = solver.solve({{{0}, {1}}, 0, 1});
    std::printf("time %.6f, speed in the middle %.6f\n", r.objective, r.x[N + 1 + N / 2]);
}
