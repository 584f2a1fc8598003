/* Optimal control: a car is to be round the track as soon as possible, with a limit of its speed that depends on the
 * place; direct multiple shooting, by Ipopt. */
#include <cstdio>
#include <vector>

#include <tansy.hpp>
#include <tansy/ipopt.h>

using namespace tn;

static constexpr int N = 100, X = 2 * (N + 1), Z = X + N + 1, EQUALITIES = 2 * N + 3;

static val derivative(val x, val u) { return stack({x[1], u - x[1]}); }

/* States [2,N+1], throttles [N] and the time -> what has to be 0, and what has to be positive */
static auto constraints(val states, val u, val time) {
    const val x = states(slice(), slice(0, N)), h = time / double(N);
    const val k1 = derivative(x, u), k2 = derivative(x + h / 2.0 * k1, u), k3 = derivative(x + h / 2.0 * k2, u);
    const val next = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + derivative(x + h * k3, u));
    const val limit = 1.0 - sin(6.283185307179586 * states[0]) / 2.0;
    return many(states(slice(), slice(1, N + 1)) - next, states(slice(), 0), states(0, N) - 1.0, limit - states[1]);
}

int main() {
    context c;
    const auto first = [](val, val, val time) { return time; };
    const program f = trace(c, first, f64(2, N + 1), f64(N), f64()),
                  g = trace(c, constraints, f64(2, N + 1), f64(N), f64());
    std::vector<double> lower(Z, -1e20), upper(Z, 1e20), at_most(EQUALITIES + N + 1, 0), start(Z, 0);
    for (int i = X; i < Z; i++) lower[i] = 0;
    for (int i = X; i < X + N; i++) upper[i] = 1;
    for (int i = EQUALITIES; i <= EQUALITIES + N; i++) at_most[i] = 1e20;
    for (int i = N + 1; i < X; i++) start[i] = 1;
    start[Z - 1] = 1;
    const std::vector<double> at_least(at_most.size(), 0);
    const tn_nlp problem = {sizeof problem, f.get(),      g.get(),         3,
                            lower.data(),   upper.data(), at_least.data(), at_most.data()};
    tn_ipopt *s = tn_ipopt_new(&problem, nullptr);
    tn_ipopt_result r = {.size = sizeof r};
    const tn_ipopt_start from = {.size = sizeof from, .x = start.data()};
    if (tn_ipopt_solve(s, &from, &r)) return std::fprintf(stderr, "%s\n", tn_ipopt_error(s)), 1;
    std::printf("time %.6f, speed in the middle %.6f\n", r.objective, r.x[N + 1 + N / 2]);
    tn_ipopt_free(s);
}
