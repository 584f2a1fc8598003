/* tansy/ipopt.hpp: bounds and starts as lists, parameters, what is refused. */
#include "check.hpp"

#include <tansy/ipopt.hpp>

static constexpr double none = 1e20;

static bool near(double a, double b) { return std::fabs(a - b) <= 1e-6 * (1 + std::fabs(b)); }

static tn::val hs071_f(tn::val x) { return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]; }
static auto hs071_g(tn::val x) { return tn::many(prod(x), sum_squares(x)); }

static void hs071(const tn::context &c) {
    const tn::program f = tn::trace(c, hs071_f, tn_f64(4)), g = tn::trace(c, hs071_g, tn_f64(4));
    tn::ipopt solver({f, g, 1, {1}, {5}, {25, 40}, {none, 40}});
    const tn::ipopt_result r = solver.solve({{1, 5, 5, 1}});
    CHECK(r.status == TN_OK && near(r.objective, 17.0140173) && near(r.x[1], 4.7429994) && near(r.g[0], 25));
    const tn::ipopt same = std::move(solver); /* the same start as a vector */
    CHECK(near(same.solve({std::vector<double>{1, 5, 5, 1}}).objective, 17.0140173) && same && !solver);
}

/* Two variables of several axes, of which one is bounded elementwise, and parameters; no constraints. */
static void parameters() {
    const auto distance = [](tn::val x, tn::val y, tn::val p, tn::val q) { return sum_squares(x - p) + square(y - q); };
    tn::ipopt solver;
    {
        const tn::context own;
        const tn::program f = tn::trace(own, distance, tn_f64(2, 3), tn_f64(), tn_f64(2, 3), tn_f64());
        solver = tn::ipopt({f, {}, 2, {{{0}, {-none}}, -none}, {{{none}, {1}}, {2}}});
    }
    const double p[2][3] = {{-1, 2, 3}, {-1, 2, 3}}, want[] = {0, 2, 3, -1, 1, 1, 2};
    const tn::ipopt_result r = solver.solve({}, tn::in(p, 7.0));
    for (int i = 0; i < 7; i++) CHECK(near(r.x[i], want[i]));
    const tn::ipopt_result again = solver.solve({{{0.5}, {0}}, 1}, tn::in(p, -3.0));
    CHECK(near(again.x[6], -3));
    CHECK_THROWS(solver.solve(), TN_EINVAL, "");
    CHECK_THROWS(solver.solve({}, tn::in(p)), TN_EINVAL, "");
    CHECK_THROWS(solver.solve({0}, tn::in(p, 1.0)), TN_EINVAL, "does not fit");
    CHECK_THROWS(solver.solve({{1, 2}, 0}, tn::in(p, 1.0)), TN_EINVAL, "does not fit");
    CHECK_THROWS(solver.solve({{{1, 2}, {3}}, 0}, tn::in(p, 1.0)), TN_EINVAL, "does not fit");
}

static void refused(const tn::context &c) {
    const tn::program f = tn::trace(c, hs071_f, tn_f64(4)), g = tn::trace(c, hs071_g, tn_f64(4));
    CHECK_THROWS(tn::ipopt({f, g, 1, {1, 2}}), TN_EINVAL, "bounds that do not fit");
    CHECK_THROWS(tn::ipopt({f, g, 1, {}, {}, {0}, {0}}), TN_EINVAL, "bounds that do not fit");
    CHECK_THROWS(tn::ipopt({f, g, 1, {2}, {1}}), TN_EINVAL, "");
    CHECK_THROWS(tn::ipopt({{}, g, 1}), TN_EINVAL, "empty");
    CHECK_THROWS(tn::ipopt().solve(), TN_EINVAL, "empty");
    const tn::ipopt infeasible({f, g, 1, {1}, {5}, {0, 1000}, {none, none}});
    CHECK_THROWS(infeasible.solve({{1, 5, 5, 1}}), TN_EINVAL, "");
}

int main() {
    const tn::context c;
    hs071(c);
    parameters();
    refused(c);
    return report();
}
