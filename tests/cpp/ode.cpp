/* tn::odeint against solutions that are known: values, derivatives with respect to all that it depends on, and errors.
 */
#include "check.hpp"

static tn::context c;

static bool near(double a, double b) { return std::fabs(a - b) <= 1e-7 * (1 + std::fabs(b)); }

static const std::vector<double> times = {0.5, 1, 2.5};

/* y' = -k y + a, from y0. */
static tn::val decay(tn::val y0, tn::val ts, tn::val k, double a) {
    return tn::odeint([a](tn::val, tn::val y, tn::val rate) { return a - rate * y; }, y0, ts, {1e-10, 1e-10}, k);
}

static void values() {
    const auto f = [](tn::val y0, tn::val ts, tn::val k) { return decay(y0, ts, k, 0); };
    double y[3];
    tn::compile(tn::trace(c, f, tn_f64(), tn_f64(3), tn_f64()))(3.0, times, 0.7, y);
    for (int i = 0; i < 3; i++) CHECK(near(y[i], 3 * std::exp(-0.7 * (times[i] - times[0]))));
    /* an array of any shape, a time that the field reads, and no parameters: y' = t (y[1], y[0]) */
    const auto g = [](tn::val y0, tn::val ts) {
        return tn::odeint([](tn::val t, tn::val u) { return t * flip(u, 1); }, y0, ts, {});
    };
    double z[3][1][2];
    tn::compile(tn::trace(c, g, tn_f64(1, 2), tn_f64(3)))(std::vector<double>{1, 0}, times, z);
    for (int i = 0; i < 3; i++) {
        const double s = (times[i] * times[i] - times[0] * times[0]) / 2;
        CHECK(near(z[i][0][0], std::cosh(s)) && near(z[i][0][1], std::sinh(s)));
    }
    /* other solvers and adjoints */
    for (const char *solver : {"Dopri5", "Dopri8", "Kvaerno5"}) {
        const auto h = [&](tn::val ts) {
            return tn::odeint([](tn::val, tn::val u) { return -u; }, ones_like(ts[0]), ts,
                              {1e-9, 1e-9, 1000, solver, "Direct"});
        };
        tn::compile(tn::trace(c, h, tn_f64(3)))(times, y);
        CHECK(near(y[2], std::exp(-2.0)));
    }
}

static void derivatives() {
    /* of the last value, with respect to the beginning, the times, what is passed and what is captured */
    const auto f = [](tn::val y0, tn::val ts, tn::val k, tn::val captured) {
        return tn::odeint([=](tn::val, tn::val y, tn::val rate) { return -rate * y * captured; }, y0, ts,
                          {1e-10, 1e-10}, k)[2];
    };
    const tn::program p = tn::trace(c, f, tn_f64(), tn_f64(3), tn_f64(), tn_f64());
    double dy0, dts[3], dk, da;
    tn::compile(tn::grad(p, {0, 1, 2, 3}))(tn::in(3.0, times, 0.7, 1.0), tn::out(dy0, dts, dk, da));
    const double e = std::exp(-0.7 * 2);
    CHECK(near(dy0, e) && near(dk, -6 * e) && near(da, 0.7 * -6 * e));
    CHECK(near(dts[0], 0.7 * 3 * e) && near(dts[1], 0) && near(dts[2], -0.7 * 3 * e));
    double J[3];
    const auto at_all = [](tn::val k, tn::val ts) { return decay(3.0 * ones_like(k), ts, k, 0); };
    tn::compile(tn::jacrev(tn::trace(c, at_all, tn_f64(), tn_f64(3)), 0))(0.7, times, J);
    for (int i = 0; i < 3; i++) {
        const double s = times[i] - times[0];
        CHECK(near(J[i], -3 * s * std::exp(-0.7 * s)));
    }
}

static void errors() {
    const auto stiff = [](tn::val ts) {
        return tn::odeint([](tn::val, tn::val y) { return -1e6 * y; }, ones_like(ts[0]), ts, {1e-8, 1e-8, 3});
    };
    double y[3];
    const tn::executable e = tn::compile(tn::trace(c, stiff, tn_f64(3)));
    CHECK_THROWS(e(times, y), TN_EASSERT, "the solve did not reach the last time");
    const auto named = [](tn::val ts) {
        return tn::odeint([](tn::val, tn::val u) { return u; }, ones_like(ts[0]), ts, {1e-8, 1e-8, 9, "Euclid"});
    };
    CHECK_THROWS(tn::trace(c, named, tn_f64(3)), TN_EINVAL, "ode.cpp:");
    const auto other = [](tn::val ts) { return tn::odeint([](tn::val, tn::val u) { return sum(u); }, ts, ts, {}); };
    CHECK_THROWS(tn::trace(c, other, tn_f64(3)), TN_ETYPE, "ode.cpp:");
    const auto none = [](tn::val ts) { return tn::odeint([](tn::val, tn::val) { return tn::val(1.0); }, ts, ts, {}); };
    CHECK_THROWS(tn::trace(c, none, tn_f64(3)), TN_EINVAL, "the field did not set dy[0] to an array");
    const auto scalar = [](tn::val t) { return tn::odeint([](tn::val, tn::val u) { return u; }, ones_like(t), t, {}); };
    CHECK_THROWS(tn::trace(c, scalar, tn_f64()), TN_EINVAL, "ode.cpp:");
    std::string thrown;
    try {
        (void)tn::trace(
            c,
            [](tn::val ts) {
                return tn::odeint(
                    [](tn::val, tn::val u) -> tn::val {
                        (void)u;
                        throw std::string("mine");
                    },
                    ones_like(ts[0]), ts, {});
            },
            tn_f64(3));
    } catch (const std::string &s) {
        thrown = s;
    }
    CHECK(thrown == "mine");
}

int main() {
    values();
    derivatives();
    errors();
    return report();
}
