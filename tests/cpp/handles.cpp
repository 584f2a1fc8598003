/* Handles free what they hold, in any order; what is thrown passes C; functions that are called later live long enough.
 */
#include "check.hpp"

#include <cstdlib>
#include <thread>

/* Bytes that contexts of `counted` hold. */
static long held = 0;
static void *count(void *, void *p, size_t before, size_t after) {
    held += static_cast<long>(after) - static_cast<long>(before);
    if (after) return std::realloc(p, after);
    std::free(p);
    return nullptr;
}
static tn::context counted() {
    auto options = tn_sized<tn_ctx_options>();
    options.realloc = count;
    return tn::context(options);
}
static tn::val square_sum(tn::val x) { return sum(x * x); }

static void order() {
    {
        tn::work w;
        {
            tn::executable e;
            {
                tn::program g;
                {
                    tn::context c = counted();
                    g = tn::grad(tn::trace(c, square_sum, tn_f64(3)));
                    const size_t before = c.bytes();
                    { tn::program much = tn::hessian(g.owned_by() ? tn::trace(c, square_sum, tn_f64(3)) : g); }
                    CHECK(held > 0 && c.bytes() >= before);
                }
                e = tn::compile(g);
                CHECK(g.inputs() == 1 && std::string(g.error()).empty());
            }
            w = tn::work(e);
        }
        std::vector<double> x = {1, 2, 3}, dx(3);
        CHECK(w(x, dx) == TN_OK && dx[2] == 6);
        tn::work other = w;
        w = tn::work(); /* the handle, not the object */
        CHECK(other(tn::in(x), tn::out(dx)) == TN_OK && held > 0);
    }
    CHECK(held == 0);
    tn::context c = counted();
    tn::program f = tn::trace(c, square_sum, tn_f64(3));
    tn::executable e = tn::compile(f);
    c = tn::context();
    f = tn::program();
    e = tn::executable();
    CHECK(held == 0);
}

static void moved() {
    tn::context c;
    tn::program f = tn::trace(c, square_sum, tn_f64(3)), g = std::move(f);
    CHECK(!f && g && f.text().empty() && f.inputs() == 0 && f.status() == TN_EINVAL);
    CHECK_THROWS(tn::grad(f), TN_EINVAL, "empty");
    CHECK_THROWS(tn::compile(f), TN_EINVAL, "empty");
    CHECK_THROWS((void)tn::check_grads(f, tn::in()), TN_EINVAL, "empty");
    CHECK_THROWS(tn::linearize(f), TN_EINVAL, "empty");
    tn::executable e = tn::compile(g), moved = std::move(e);
    double x[3] = {1, 2, 3}, y;
    CHECK_THROWS((void)e(x, y), TN_EINVAL, "empty");
    CHECK_THROWS((void)e(TN_INPUTS(x), TN_OUTPUTS(&y)), TN_EINVAL, "empty");
    CHECK_THROWS(tn::work{e}, TN_EINVAL, "empty");
    tn::work w(moved), v = std::move(w);
    CHECK_THROWS((void)w(x, y), TN_EINVAL, "empty");
    CHECK_THROWS((void)w.observe([](const tn_effect &) { return 0; }), TN_EINVAL, "empty");
    CHECK(v(x, y) == TN_OK && y == 14);
    tn::context d = std::move(c);
    CHECK_THROWS(tn::trace(c, square_sum, tn_f64(3)), TN_EINVAL, "empty");
    CHECK_THROWS((void)c.add({}), TN_EINVAL, "empty");
    CHECK_THROWS(tn::parse(c, ""), TN_EINVAL, "empty");
    CHECK(tn::trace(d, square_sum, tn_f64(3)));
    CHECK_THROWS(tn::trace(
                     d, [&](tn::val x0) { return f(x0); }, tn_f64(3)),
                 TN_EINVAL, "");
    tn_ctx_options none{};
    CHECK_THROWS(tn::context{none}, TN_EINVAL, "size");
    auto g2 = g, g3 = g2;
    tn::program &itself = g2;
    g2 = itself;
    CHECK(g3.get() == g2.get());
}

struct mine {
    int number;
};
template <class F> static int caught(F f) {
    try {
        f();
    } catch (const mine &m) {
        return m.number;
    }
    return 0;
}
static void thrown() {
    {
        tn::context c = counted();
        const auto fail = [](int n) -> tn::val { throw mine{n}; };
        CHECK(caught([&] {
                  tn::trace(
                      c, [&](tn::val) { return fail(1); }, tn_f64());
              }) == 1);
        CHECK(caught([&] {
                  tn::trace(
                      c, [&](const std::vector<tn::val> &) { return fail(2); }, std::vector<tn_type>{tn_f64()});
              }) == 2);
        const auto in_trace = [&](auto body) {
            return caught([&] {
                tn::trace(
                    c, [&](tn::val x) { return tn::val(body(x)); }, tn_f64());
            });
        };
        CHECK(in_trace([&](tn::val x) {
                  return tn::fori(
                      0, 3, [&](tn::val, tn::val) { return fail(3); }, x);
              }) == 3);
        CHECK(in_trace([&](tn::val x) {
                  return tn::while_loop([&](tn::val) { return fail(4); }, [](tn::val a) { return a; }, x);
              }) == 4);
        CHECK(in_trace([&](tn::val x) {
                  return tn::while_loop([](tn::val a) { return gt(a, 0.0); }, [&](tn::val) { return fail(5); }, x);
              }) == 5);
        CHECK(in_trace([&](tn::val x) {
                  return tn::scan(
                             [&](tn::val, tn::none) {
                                 fail(6);
                                 return std::pair(tn::val(), tn::none());
                             },
                             x, tn::none(), {nullptr, false, 3})
                      .first;
              }) == 6);
        CHECK(in_trace([&](tn::val x) {
                  return cond(
                      gt(x, 0.0), [&] { return fail(7); }, [&] { return x; });
              }) == 7);
        CHECK(in_trace([&](tn::val x) {
                  return tn::choose(
                      convert(x, TN_I32), [&] { return x; }, [&] { return fail(8); });
              }) == 8);
        CHECK(in_trace([&](tn::val x) {
                  return tn::subfn(
                      "f", [&](tn::val) { return fail(9); }, x);
              }) == 9);
        CHECK(in_trace([&](tn::val x) {
                  return tn::checkpoint(
                      nullptr, [&](tn::val) { return fail(10); }, x);
              }) == 10);
        CHECK(in_trace([&](tn::val x) {
                  return tn::custom_jvp([](tn::val a) { return a; }, [&](tn::val, tn::val) { return fail(11); }, x);
              }) == 11);
        CHECK(in_trace([&](tn::val x) {
                  return tn::custom_vjp([](tn::val a) { return a; }, [](tn::val a) { return a; },
                                        [&](tn::val) { return fail(12); }, x);
              }) == 12);
        CHECK(in_trace([&](tn::val x) {
                  return tn::custom_root([&](tn::val, tn::val) { return fail(13); },
                                         [](tn::val a, tn::val) { return a; }, x, x);
              }) == 13);
        /* One that the user catches within the trace has failed it all the same. */
        CHECK_THROWS(tn::trace(
                         c,
                         [&](tn::val x) {
                             try {
                                 return tn::fori(
                                     0, 3, [&](tn::val, tn::val) { return fail(14); }, x);
                             } catch (const mine &) {
                                 return x;
                             }
                         },
                         tn_f64()),
                     TN_ECALLBACK, "handles.cpp");
        /* A policy. */
        const tn::program f = tn::trace(
            c, [](tn::val x) { return sum(sin(x) * exp(x)); }, tn_f64(3));
        CHECK(caught([&] { tn::grad(f, {}, [](const tn_candidate &) -> tn_verdict { throw mine{15}; }); }) == 15);
        CHECK(tn::grad(f)); /* the context is as good as before */
    }
    CHECK(held == 0);
}

/* Observers and external functions capture by value what is gone when they are called. */
static void later() {
    auto lines = std::make_shared<std::vector<std::string>>();
    std::weak_ptr<int> alive;
    tn::executable e;
    double y = 0;
    {
        tn::context c = counted();
        {
            auto scale = std::make_shared<int>(3);
            alive = scale;
            tn::external_function f;
            f.name = "scaled";
            f.in = f.out = {tn_f64()};
            f.fn = [scale](const void *const *in, void *const *out) {
                const double x = *static_cast<const double *>(in[0]);
                if (x < 0) throw mine{*scale};
                *static_cast<double *>(out[0]) = *scale * x;
                return x > 100;
            };
            f.jvp = [scale](const void *const *in, void *const *out) {
                *static_cast<double *>(out[0]) = *scale * *static_cast<const double *>(in[1]);
                return 0;
            };
            CHECK(c.add(f) == TN_OK);
            CHECK_THROWS((void)c.add(f), TN_EINVAL, "scaled");
        }
        tn::program f = tn::trace(
            c,
            [](tn::val x) {
                tn::val z = tn::external("scaled", x);
                tn::print("scaled", z);
                tn::require(lt(z, 50.0), "z is small");
                return z;
            },
            tn_f64());
        e = tn::compile(tn::jvp(f), tn::compile_options().observe([lines](const tn_effect &m) {
            lines->push_back(m.message);
            if (lines->size() > 3) throw mine{4};
            return 0;
        }));
    }
    double dy = 0;
    CHECK(!alive.expired() && e(2.0, 1.0, y, dy) == TN_OK && y == 6 && dy == 3);
    CHECK(lines->size() == 1 && lines->at(0) == "scaled");
    CHECK(caught([&] { (void)e(-1.0, 1.0, y, dy); }) == 3);
    CHECK_THROWS((void)e(101.0, 1.0, y, dy), TN_ECALLBACK, "scaled");
    CHECK_THROWS((void)e(20.0, 1.0, y, dy), TN_EASSERT, "z is small");
    CHECK(caught([&] { (void)e(1.0, 1.0, y, dy); }) == 4);
    {
        tn::work w(e);
        int heard = 0;
        CHECK(w(1.0, 1.0, y, dy) == TN_OK && lines->size() == 4);
        CHECK(w.observe([&heard](const tn_effect &) { return heard++, 0; }) == TN_OK);
        CHECK(w(1.0, 1.0, y, dy) == TN_OK && heard == 1);
        CHECK(caught([&] { (void)w(-1.0, 1.0, y, dy); }) == 3);
    }
    e = tn::executable();
    CHECK(alive.expired() && held == 0 && lines.use_count() == 1);
}

static void threads() {
    tn::context c;
    tn::executable e = tn::compile(tn::grad(tn::trace(c, square_sum, tn_f64(3))));
    std::vector<tn::work> works;
    for (int i = 0; i < 3; i++) works.emplace_back(e);
    std::vector<std::array<double, 3>> results(3);
    std::vector<std::thread> running;
    for (size_t i = 0; i < 3; i++)
        running.emplace_back([&, i] {
            const double x[3] = {double(i), 1, 2};
            for (int k = 0; k < 100; k++) (void)works[i](x, results[i]);
        });
    for (std::thread &t : running) t.join();
    CHECK(results[0][0] == 0 && results[1][0] == 2 && results[2][0] == 4 && results[2][2] == 4);
}

int main() {
    order();
    moved();
    thrown();
    later();
    threads();
    return report();
}
