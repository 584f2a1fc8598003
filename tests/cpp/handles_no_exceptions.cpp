/* Without exceptions nothing is thrown: what failed is empty and says why, calls return their status.  (The macros of
 * check.hpp that catch are not used.) */
#include <tansy.hpp>

#include <cstdio>
#include <cstring>

static int passed = 0, failed = 0;
static void check(bool ok, int line, const char *more) {
    ok ? passed++ : failed++;
    if (!ok) std::printf("%s:%d: %s\n", __FILE__, line, more);
}
#define CHECK(x)          check(static_cast<bool>(x), __LINE__, #x)
#define CHECK_HAS(x, has) check(std::strstr(x, has) != nullptr, __LINE__, x)

static tn::val product(tn::val a, tn::val b) { return matmul(a, b); }
static const int line = __LINE__ - 1;

int main() {
    tn::context c;
    CHECK(c && c.status() == TN_OK && !*c.error());
    tn::program f = tn::trace(
        c, [](tn::val x) { return sum(x * x + 1.0); }, tn_f64(3));
    tn::executable e = tn::compile(tn::value_and_grad(f));
    double x[3] = {1, 2, 3}, y = 0, dx[3];
    CHECK(e(x, y, dx) == TN_OK && y == 17 && dx[2] == 6);

    const tn::program bad = tn::trace(c, product, tn_f64(3), tn_f64(4));
    char place[200];
    std::snprintf(place, sizeof place, "%s:%d: matmul", __FILE__, line);
    CHECK(!bad && bad.status() == TN_ETYPE);
    CHECK_HAS(bad.error(), place);
    const tn::program more = tn::jvp(tn::grad(bad));
    CHECK(!more && more.text().empty() && more.inputs() == 0);
    CHECK_HAS(more.error(), place); /* the first message stays */
    const tn::executable none = tn::compile(more);
    CHECK(!none && none(x, y) == TN_EINVAL);
    CHECK_HAS(none.error(), place);
    const tn::work idle(none);
    CHECK(!idle);
    CHECK_HAS(idle.error(), "empty");
    const tn::linearized halves = tn::linearize(bad);
    CHECK(!halves.primal && !halves.linear);

    float single[3];
    CHECK(e(x, y, single) == TN_EINVAL);
    CHECK_HAS(e.error(), "output 1");
    const double fixed[3] = {};
    CHECK(e(x, y, fixed) == TN_EINVAL);
    CHECK_HAS(e.error(), "const");
    CHECK(e(x, y) == TN_EINVAL);
    CHECK_HAS(e.error(), "output 1");
    CHECK(e(x, y, dx) == TN_OK);
    tn::work w(e);
    CHECK(w(x, y, single) == TN_EINVAL);
    CHECK_HAS(w.error(), "output 1");
    CHECK(w(x, y, dx) == TN_OK);

    tn::program gone = std::move(f);
    CHECK(!f && !tn::grad(f) && f.status() == TN_EINVAL);
    CHECK_HAS(tn::grad(f).error(), "empty");
    CHECK(!tn::compile(tn::program()) && !tn::vmap(gone, 3, {0, 0}) && tn::check_grads(f, tn::in()) == TN_EINVAL);
    CHECK_HAS(tn::vmap(gone, 3, {0, 0}).error(), "in_axes");
    tn::context other = std::move(c);
    CHECK(!tn::trace(
        c, [](tn::val a) { return a; }, tn_f64()));
    CHECK(c.add({}) == TN_EINVAL);
    tn_ctx_options unsized{};
    const tn::context refused(unsized);
    CHECK(refused.status() == TN_EINVAL);
    CHECK_HAS(refused.error(), "size");
    CHECK(!tn::trace(
        refused, [](tn::val a) { return a; }, tn_f64()));

    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
