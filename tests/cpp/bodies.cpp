/* Lambdas as bodies: loops, branches, nested programs, rules; against C, or against what they compute. */
#include "check.hpp"

static tn::context c;

/* f of x as a C program, for its text. */
static std::string in_c(tn_trace_fn f) {
    return tn::program(c, tn_trace(c.get(), f, c.get(), TN_ARGS(tn_f64(4), tn_f64()))).text();
}
template <class F> static std::string in_cxx(F f) { return tn::trace(c, f, tn_f64(4), tn_f64()).text(); }
#define SAME(a, b)                                                                        \
    do {                                                                                  \
        const std::string by_c = a, by_cxx = b;                                           \
        check_at(!by_c.empty() && by_c == by_cxx, #b, by_c + by_cxx, __FILE__, __LINE__); \
    } while (0)

/* The first output of f at x and s. */
template <class F> static double value(F f, std::vector<double> x, double s) {
    double y = NAN;
    tn::compile(tn::select_outputs(tn::trace(c, f, tn_f64(4), tn_f64()), {0}))(x, s, y);
    return y;
}
template <class F> static double slope(F f, std::vector<double> x, double s) {
    double y = NAN;
    tn::compile(tn::grad(tn::trace(c, f, tn_f64(4), tn_f64()), 1))(x, s, y);
    return y;
}
static bool near(double a, double b) { return std::fabs(a - b) <= 1e-12 * (1 + std::fabs(b)); }

static void loops() {
    SAME(in_c([](const tn_val *in, void *user) {
             tn_val total, sums;
             auto a = tn_sized<tn_scan_args>();
             a.ncarry = a.nx = a.ny = 1;
             a.init = &in[1];
             a.xs = &in[0];
             a.carry = &total;
             a.ys = &sums;
             tn_scan(
                 static_cast<tn_ctx *>(user),
                 [](const tn_val *s, const tn_val *x, tn_val *next, tn_val *y, void *) {
                     next[0] = tn_add(s[0], x[0]);
                     y[0] = tn_mul(next[0], 2.0);
                 },
                 nullptr, &a);
             return tn_add(total, tn_sum(sums));
         }),
         in_cxx([](tn::val x, tn::val s) {
             auto [total, sums] = tn::scan(
                 [](tn::val a, tn::val b) {
                     tn::val next = a + b;
                     return std::pair(next, next * 2.0);
                 },
                 s, x);
             tn::val second = sum(sums);
             return total + second;
         }));
    SAME(in_c([](const tn_val *in, void *) {
             tn_val x = in[1];
             tn_loop_options o = tn_sized<tn_loop_options>();
             o.schedule = "revolve:2";
             o.reverse = true;
             tn_fori(
                 nullptr, 0, 5,
                 [](tn_val i, const tn_val *s, tn_val *next, void *) { next[0] = tn_mul(s[0], tn_convert(i, TN_F64)); },
                 nullptr, 1, &x, &x, &o);
             return x;
         }),
         in_cxx([](tn::val, tn::val s) {
             return tn::fori(0, 5, [](tn::val i, tn::val a) { return a * convert(i, TN_F64); }, s, {"revolve:2", true});
         }));
    SAME(in_c([](const tn_val *in, void *) {
             tn_val x = in[1];
             tn_while_loop(
                 nullptr, [](const tn_val *s, void *) { return tn_gt(s[0], 1.0); },
                 [](const tn_val *s, tn_val *next, void *) { next[0] = tn_mul(s[0], 0.5); }, nullptr, 1, &x, &x,
                 nullptr);
             return x;
         }),
         in_cxx([](tn::val, tn::val s) {
             return tn::while_loop([](tn::val a) { return gt(a, 1.0); }, [](tn::val a) { return a * 0.5; }, s);
         }));
    /* Captures, several carries, a vector of them, numbers, no xs. */
    const std::vector<double> x = {1, 2, 3, 4};
    auto horner = [](tn::val a, tn::val s) {
        auto [sum, n] = tn::fori(
            0, 4,
            [&](tn::val i, auto carry) {
                auto [y, count] = carry;
                return tn::many(y * s + a[i], count + 1);
            },
            tn::many(0.0 * s, 0));
        return tn::many(sum, n);
    };
    CHECK(near(value(horner, x, 2.0), ((1 * 2. + 2) * 2 + 3) * 2 + 4));
    CHECK(near(slope([&](tn::val a, tn::val s) { return horner(a, s)[0]; }, x, 2.0), 3 * 4. + 2 * 2 * 2. + 3));
    CHECK(near(value(
                   [](tn::val, tn::val s) {
                       auto r = tn::scan(
                           [&](std::vector<tn::val> v) {
                               std::vector<tn::val> next = {v[1], v[0] + v[1]};
                               return std::pair(next, tn::none());
                           },
                           std::vector<tn::val>{s * 0.0, s}, tn::none(), {nullptr, false, 10});
                       return r.first[1];
                   },
                   x, 1.0),
               89));
    CHECK(near(value(
                   [](tn::val a, tn::val) {
                       return tn::scan([](tn::val s,
                                          std::array<tn::val, 2> ab) { return std::tuple(s + ab[0] * ab[1], ab[0]); },
                                       tn::val(0.0), std::pair(a, a))
                           .first;
                   },
                   x, 1.0),
               30));
    CHECK(near(value(
                   [](tn::val, tn::val s) {
                       return tn::fori(
                           0, 3, [&](tn::val, tn::val a) { return a + convert(tn::loop_step(c), TN_F64); }, s);
                   },
                   x, 1.0),
               4));
    CHECK_THROWS(tn::trace(
                     c,
                     [](tn::val s) {
                         return tn::fori(
                             0, 3,
                             [](tn::val, std::vector<tn::val> v) {
                                 v.pop_back();
                                 return v;
                             },
                             std::vector<tn::val>{s, s})[0];
                     },
                     tn_f64()),
                 TN_ECALLBACK, "another number of values");
    CHECK_THROWS(tn::trace(
                     c,
                     [](tn::val s) {
                         return tn::fori(
                             0, 3, [](tn::val, tn::val a) { return convert(a, TN_F32); }, s);
                     },
                     tn_f64()),
                 TN_ETYPE, "carry");
    CHECK_THROWS(tn::trace(
                     c,
                     [](tn::val s) {
                         return s + tn::fori(
                                        0, 3, [](tn::val, tn::val a) { return a; }, 1.0);
                     },
                     tn_f64()),
                 TN_EINVAL, "NULL for the context");
}

static void branches() {
    SAME(in_c([](const tn_val *in, void *) {
             return tn_cond(
                 tn_gt(in[1], 0.0), [](const tn_val *x, void *) { return tn_sin(x[0]); },
                 [](const tn_val *x, void *) { return tn_neg(x[0]); }, nullptr, 1, &in[1]);
         }),
         in_cxx([](tn::val, tn::val s) {
             return cond(
                 gt(s, 0.0), [](tn::val a) { return sin(a); }, [](tn::val a) { return -a; }, s);
         }));
    auto pick = [](tn::val a, tn::val s) {
        return cond(
            gt(s, 0.0), [&] { return a[0] * s; }, [&] { return a[1] * s; });
    };
    CHECK(near(slope(pick, {3, 5, 0, 0}, 1.0), 3) && near(slope(pick, {3, 5, 0, 0}, -1.0), 5));
    auto which = [](tn::val a, tn::val s) {
        auto [y, z] = tn::choose(
            convert(s, TN_I32), [&] { return tn::many(a[0], s); }, [&] { return tn::many(a[1], s * 2.0); },
            [&] { return tn::many(a[2], s * s); });
        return y + z;
    };
    CHECK(near(value(which, {10, 20, 30, 0}, 0.0), 10) && near(value(which, {10, 20, 30, 0}, 1.0), 22) &&
          near(value(which, {10, 20, 30, 0}, 7.0), 79));
}

static void nested() {
    SAME(in_c([](const tn_val *in, void *) {
             return tn_subfn(
                 "f", [](const tn_val *x, void *) { return tn_sin(x[0]); }, nullptr, 1, &in[1]);
         }),
         in_cxx([](tn::val, tn::val s) {
             return tn::subfn(
                 "f", [](tn::val a) { return sin(a); }, s);
         }));
    SAME(in_c([](const tn_val *in, void *) {
             return tn_checkpoint([](const tn_val *x, void *) { return tn_exp(tn_sin(x[0])); },
                                  tn_policy_by_name("dots_saveable"), nullptr, 1, &in[1]);
         }),
         in_cxx([](tn::val, tn::val s) {
             return tn::checkpoint(
                 "dots_saveable", [](tn::val a) { return exp(sin(a)); }, s);
         }));
    SAME(in_c([](const tn_val *in, void *) {
             return tn_checkpoint([](const tn_val *x, void *) { return tn_exp(tn_sin(x[0])); }, nullptr, nullptr, 1,
                                  &in[1]);
         }),
         in_cxx([](tn::val, tn::val s) {
             return tn::checkpoint(
                 nullptr, [](tn::val a) { return exp(sin(a)); }, s);
         }));
    SAME(in_c([](const tn_val *in, void *) {
             return tn_custom_jvp([](const tn_val *x, void *) { return tn_sin(x[0]); },
                                  [](const tn_val *x, void *) { return tn_mul(tn_cos(x[0]), x[1]); }, nullptr, 1,
                                  &in[1]);
         }),
         in_cxx([](tn::val, tn::val s) {
             return tn::custom_jvp([](tn::val a) { return sin(a); }, [](tn::val a, tn::val da) { return cos(a) * da; },
                                   s);
         }));
    auto vjp = [](tn::val, tn::val s) {
        return tn::custom_vjp([](tn::val a) { return sin(a); }, [](tn::val a) { return tn::many(sin(a), cos(a)); },
                              [](tn::val r, tn::val ct) { return 3.0 * r * ct; }, s);
    };
    CHECK(near(value(vjp, {1, 1, 1, 1}, 0.5), std::sin(0.5)) && near(slope(vjp, {1, 1, 1, 1}, 0.5), 3 * std::cos(0.5)));
    auto root = [](tn::val, tn::val s) {
        return tn::custom_root([](tn::val x, tn::val p) { return x * x - p; },
                               [](tn::val x0, tn::val p) {
                                   return tn::fori(
                                       0, 20, [&](tn::val, tn::val x) { return 0.5 * (x + p / x); }, x0);
                               },
                               ones_like(s), s);
    };
    CHECK(near(value(root, {1, 1, 1, 1}, 2.0), std::sqrt(2.0)) &&
          near(slope(root, {1, 1, 1, 1}, 2.0), 0.5 / std::sqrt(2.0)));
    auto product = [](tn::val p, tn::val x) { return p * x; };
    auto quotient = [](tn::val p, tn::val b) { return b / p; };
    auto thrice = [](tn::val, tn::val b) { return 3.0 * b; };
    auto solved = [&](tn::val, tn::val s) { return tn::custom_linear_solve(product, quotient, ones_like(s), s); };
    CHECK(near(value(solved, {1, 1, 1, 1}, 2.0), 0.5) && near(slope(solved, {1, 1, 1, 1}, 2.0), -0.25));
    auto turned = [&](tn::val, tn::val s) { return tn::custom_linear_solve(product, quotient, thrice, 4.0 * s, s); };
    CHECK(near(value(turned, {1, 1, 1, 1}, 2.0), 4) && near(slope(turned, {1, 1, 1, 1}, 2.0), 12 - 3 * 4));
    const tn::program f = tn::trace(
        c, [](tn::val a, tn::val s) { return tn::many(sum(a) * s, s); }, tn_f64(4), tn_f64());
    CHECK(near(value([&](tn::val a, tn::val s) { return f.call({a, s})[0]; }, {1, 2, 3, 4}, 3.0), 30));
    const tn::program g = tn::select_outputs(f, {0});
    CHECK(near(slope([&](tn::val a, tn::val s) { return g(a, s * s); }, {1, 2, 3, 4}, 3.0), 60));
    CHECK_THROWS(tn::trace(
                     c,
                     [](tn::val i) {
                         return tn::custom_jvp([](tn::val a) { return a; }, [](tn::val a, tn::val) { return a; }, i);
                     },
                     tn_i32()),
                 TN_ETYPE, "float");
    CHECK_THROWS(tn::trace(
                     c,
                     [](tn::val a) {
                         return tn::custom_jvp([](tn::val b) { return b; }, [](tn::val b, tn::val d) { return b + d; },
                                               a);
                     },
                     tn_f64()),
                 TN_ELINEAR, "bodies.cpp");
}

/* Transformations, by their names: each is C's. */
static void transformations() {
    const tn::program f = tn::trace(
        c, [](tn::val a, tn::val s) { return sum(sin(a * s)); }, tn_f64(4), tn_f64());
    tn_fn *p = f.get();
    const auto of = [](tn_fn *g) { return tn::program(c, g).text(); };
    SAME(of(tn_jvp(p, tn_wrt(0))), tn::jvp(f, 0).text());
    SAME(of(tn_jvp(p, nullptr)), tn::jvp(f).text());
    SAME(of(tn_vjp(p, tn_wrt(1, 0), nullptr)), tn::vjp(f, {1, 0}).text());
    SAME(of(tn_grad(p, nullptr, tn_policy_by_name("nothing_saveable"))), tn::grad(f, {}, "nothing_saveable").text());
    SAME(of(tn_value_and_grad(p, tn_wrt(0), nullptr)), tn::value_and_grad(f, 0).text());
    SAME(of(tn_value_and_grad_aux(p, tn_wrt(0), nullptr)), tn::value_and_grad_aux(f, std::vector<int>{0}).text());
    SAME(of(tn_hvp(p, nullptr, nullptr)), tn::hvp(f).text());
    SAME(of(tn_jacfwd(p, tn_wrt(0), 2)), tn::jacfwd(f, 0, 2).text());
    SAME(of(tn_jacrev(p, tn_wrt(0), nullptr, 0)), tn::jacrev(f, 0).text());
    SAME(of(tn_value_and_jacobian(p, tn_wrt(0), nullptr, 0)), tn::value_and_jacobian(f, 0).text());
    SAME(of(tn_hessian(p, tn_wrt(0), nullptr, 0)), tn::hessian(f, 0).text());
    SAME(of(tn_hessian_aux(p, tn_wrt(0), nullptr, 0)), tn::hessian_aux(f, 0).text());
    const tn_linearized l = tn_linearize(p, nullptr, nullptr);
    const tn::linearized m = tn::linearize(f);
    SAME(of(tn_transpose(l.linear)), tn::transpose(m.linear).text());
    SAME(of(l.primal), m.primal.text());
    SAME(of(l.linear), m.linear.text());
    const int axes[] = {0, TN_NOT_MAPPED};
    SAME(of(tn_vmap(p, 3, axes, nullptr)), tn::vmap(f, 3, {0, TN_NOT_MAPPED}).text());
    SAME(of(tn_vmap(p, 3, nullptr, nullptr)), tn::vmap(f, 3).text());
    SAME(f.text(), tn::parse(c, f.text()).text());
    int asked = 0;
    const tn::program g = tn::grad(f, {}, [&](const tn_candidate &) { return asked++, TN_SAVE; });
    CHECK(asked > 0 && g.outputs() == 2);
    CHECK_THROWS(tn::grad(f, 2), TN_EINVAL, "2");
    CHECK_THROWS(tn::grad(f, {}, "dots_savable"), TN_EINVAL, "dots_saveable");
    CHECK_THROWS(tn::vmap(f, 3, {0}), TN_EINVAL, "in_axes");
    CHECK_THROWS(tn::vmap(f, 3, {}, {0, 0}), TN_EINVAL, "out_axes");
    CHECK_THROWS(tn::parse(c, "{ lambda", "some.tn"), TN_EPARSE, "some.tn:1");
    CHECK(tn::check_grads(f, tn::in(std::vector<double>{1, 2, 3, 4}, 0.5)) == TN_OK);
    CHECK_THROWS((void)tn::check_grads(f, tn::in(std::vector<float>{1, 2, 3, 4}, 0.5)), TN_EINVAL, "f32");
}

/* Other forms of functions to be traced. */
static void signatures() {
    const std::vector<tn_type> types(3, tn_f64());
    const auto all = [](const std::vector<tn::val> &x) { return x[0] + x[2]; };
    CHECK(tn::trace(c, all, types).inputs() == 3 && tn::trace(c, all, tn_f64(), tn_f64(), tn_f64()).inputs() == 3);
    CHECK(tn::trace(
              c, [](tn::val a) { return std::tuple(a, a + 1, a); }, tn_f64())
              .outputs() == 3);
    CHECK(tn::trace(
              c, [](tn::val) { return tn::none{}; }, tn_f64())
              .outputs() == 0);
    CHECK(tn::trace(c, [] { return tn::zeros(c, tn_f64(2)); }).inputs() == 0);
    CHECK(tn::trace(
              c, [](tn::val a) { return tn_sin(a); }, tn_f64())
              .outputs() == 1);
    tn::program f = tn::trace(
        c,
        [](tn::val a) {
            {
                tn::scope s(c, "in");
                a = sin(a);
            }
            return a;
        },
        tn_f64());
    CHECK(f.equations() == 1 && f.input_type(0).rank == 0 && f.output_type(0).dtype == TN_F64);
}

int main() {
    loops();
    branches();
    nested();
    transformations();
    signatures();
    return report();
}
