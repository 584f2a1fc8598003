/* Linear systems and constants in C++: cg, gmres and lu against solve, with derivatives; what is told; who throws;
 * numbers in braces. */
#include "check.hpp"

enum { N = 5 };

static tn::context c;

static bool near(double a, double b) { return std::fabs(a - b) <= 1e-8 * (1 + std::fabs(b)); }

/* The value and both gradients of f(a, b), traced from a [N,N] and b [N]. */
template <class F> static std::vector<double> derived(F f) {
    std::vector<double> a(N * N), b(N), all(1 + N * N + N);
    for (int i = 0; i < N * N; i++) a[static_cast<size_t>(i)] = std::sin(1.0 + 3 * i);
    for (int i = 0; i < N; i++) b[static_cast<size_t>(i)] = std::cos(2.0 * i);
    tn::compile(tn::value_and_grad(tn::trace(c, f, tn_f64(N, N), tn_f64(N))))(
        tn::in(a, b), tn::out(all[0], &all[1], &all[1 + N * N]));
    return all;
}

template <class F, class G> static bool same(F f, G g) {
    const auto x = derived(f), y = derived(g);
    for (size_t i = 0; i < x.size(); i++)
        if (!near(x[i], y[i])) return false;
    return true;
}

static tn::val definite(tn::val a) { return matmul(a, t(a)) + eye(a, TN_F64, N); }
static tn::val regular(tn::val a) { return 0.5 * a + 3.0 * eye(a, TN_F64, N); }
static tn::val energy(tn::val x) { return sum(x * x * cos(x)); }
static tn::val same_again(tn::val x) { return x; }
static tn::val twice(tn::val x) { return 2.0 * x; }

static void solutions() {
    const auto by_cg = [](tn::val a, tn::val b) {
        const tn::val m = definite(a);
        return energy(tn::cg([&](tn::val x) { return matmul(m, x); }, b, {1e-13}).x);
    };
    const auto by_cg_preconditioned = [](tn::val a, tn::val b) {
        const tn::val m = definite(a), d = diag(m);
        return energy(tn::cg([&](tn::val x) { return matmul(m, x); }, [&](tn::val x) { return x / d; }, b, {1e-13}).x);
    };
    const auto by_solve = [](tn::val a, tn::val b) { return energy(solve(definite(a), b)); };
    CHECK(same(by_cg, by_solve));
    CHECK(same(by_cg_preconditioned, by_solve));
    const auto by_gmres = [](tn::val a, tn::val b) {
        const tn::val m = regular(a);
        return energy(tn::gmres([&](tn::val x) { return matmul(m, x); }, b, {1e-13}).x);
    };
    const auto by_gmres_preconditioned = [](tn::val a, tn::val b) {
        const tn::val m = regular(a), d = diag(m);
        const auto near_inverse = [&](tn::val x) { return x / d; };
        return energy(tn::gmres([&](tn::val x) { return matmul(m, x); }, near_inverse, b, {1e-13, 0, 100, 3}).x);
    };
    const auto by_lu = [](tn::val a, tn::val b) { return energy(lu_solve(lu(regular(a)), b)); };
    const auto by_solve_regular = [](tn::val a, tn::val b) { return energy(solve(regular(a), b)); };
    CHECK(same(by_gmres, by_solve_regular));
    CHECK(same(by_gmres_preconditioned, by_solve_regular));
    CHECK(same(by_lu, by_solve_regular));
    const auto by_lu_transposed = [](tn::val a, tn::val b) {
        return energy(lu_solve(lu(regular(a)), b, TN_SOLVE_TRANSPOSED));
    };
    const auto by_solve_transposed = [](tn::val a, tn::val b) { return energy(solve(t(regular(a)), b)); };
    CHECK(same(by_lu_transposed, by_solve_transposed));
    const auto by_transpose = [](tn::val a, tn::val b) {
        return energy(tn::linear_transpose([&](tn::val x) { return matmul(a, x); }, tn_f64(N), b));
    };
    CHECK(same(by_transpose, [](tn::val a, tn::val b) { return energy(matmul(t(a), b)); }));
}

/* b where a vector is meant: of triangular_solve, cholesky_solve and solve. */
static void vectors() {
    const auto factor = [](tn::val a) { return cholesky(definite(a)); };
    const auto by_solve = [](tn::val a, tn::val b) { return energy(solve(definite(a), b)); };
    CHECK(same([&](tn::val a, tn::val b) { return energy(cholesky_solve(factor(a), b)); }, by_solve));
    const auto by_triangles = [&](tn::val a, tn::val b) {
        const tn::val l = factor(a), half = triangular_solve(l, b, TN_SOLVE_LOWER);
        return energy(triangular_solve(l, half, TN_SOLVE_LOWER | TN_SOLVE_TRANSPOSED));
    };
    CHECK(same(by_triangles, by_solve));
    const auto columns = [&](tn::val a, tn::val b) { return energy(solve(definite(a), expand_dims(b, 1))); };
    CHECK(same(columns, by_solve));
    CHECK(same([&](tn::val a, tn::val b) { return 2.0 * sum(log(diag(factor(a)))) * b[0]; },
               [](tn::val a, tn::val b) { return logdet(definite(a)) * b[0]; }));
}

/* What a solve tells; functions of one type as matvec and preconditioner; what throws, and where. */
static void told() {
    const auto all = [](tn::val b) {
        const auto [x, iterations, residual, converged] = tn::cg(twice, same_again, b, {1e-12});
        return tn::many(x, iterations, residual, converged);
    };
    const double b[2] = {3, 4};
    double x[2], residual;
    int64_t iterations;
    bool converged;
    tn::compile(tn::trace(c, all, tn_f64(2)))(tn::in(b), tn::out(x, iterations, residual, converged));
    CHECK(near(x[0], 1.5) && near(x[1], 2) && iterations == 1 && residual < 1e-12 && converged);
    const auto square = [](tn::val y) { return tn::gmres([](tn::val v) { return v * v; }, y).x; };
    CHECK_THROWS(tn::trace(c, square, tn_f64(2)), TN_ELINEAR, "linear.cpp:");
    const auto narrow = [](tn::val y) { return tn::cg([](tn::val v) { return sum(v); }, y).x; };
    CHECK_THROWS(tn::trace(c, narrow, tn_f64(2)), TN_ETYPE, "linear.cpp:");
    const auto negative = [](tn::val y) { return tn::cg(twice, y, {-1}).x; };
    CHECK_THROWS(tn::trace(c, negative, tn_f64(2)), TN_EINVAL, "linear.cpp:");
    std::string thrown;
    try {
        const auto leaves = [](tn::val v) {
            if (v.rank() == 1) throw std::string("mine");
            return v;
        };
        (void)tn::trace(
            c, [&](tn::val y) { return tn::cg(twice, leaves, y).x; }, tn_f64(2));
    } catch (const std::string &s) {
        thrown = s;
    }
    CHECK(thrown == "mine");
}

static std::string type_of(const tn::val &x) {
    const tn_type t = x.type();
    std::string s = std::to_string(t.dtype) + ":";
    for (int d = 0; d < t.rank; d++) s += std::to_string(t.dim[d]) + ",";
    return s;
}

/* Numbers in braces, their context told by an array. */
static void constants() {
    const std::string f64 = std::to_string(TN_F64) + ":", i32 = std::to_string(TN_I32) + ":";
    const auto f = [&](tn::val x) {
        CHECK(type_of(tn::constant(x, {1, 2, 3})) == f64 + "3,");
        CHECK(type_of(tn::constant(x, {{1}, {2}})) == f64 + "2,1,");
        CHECK(type_of(tn::constant(x, {{1, 2}})) == f64 + "1,2,");
        CHECK(type_of(tn::constant(x, {{{1.5, 2}, {3, 4}, {5, 6}}})) == f64 + "1,3,2,");
        CHECK(type_of(tn::constant(c, {4, 5}, TN_I32)) == i32 + "2,");
        CHECK(type_of(tn::constant(x, 7)) == f64);
        return many(matmul(tn::constant(x, {{1, 0.1}, {0, 1}}), x), tn::constant(x, {-1, 2}, TN_I32),
                    tn::zeros(x, tn_f64(2)) + iota(x, tn_f64(2), 0));
    };
    const double x[2] = {3, 4};
    double y[2], z[2];
    int32_t n[2];
    tn::compile(tn::trace(c, f, tn_f64(2)))(tn::in(x), tn::out(y, n, z));
    CHECK(y[0] == 3 + 0.1 * 4 && y[1] == 4 && n[0] == -1 && n[1] == 2 && z[0] == 0 && z[1] == 1);
    const auto uneven = [](tn::val v) { return v + tn::constant(v, {{1, 2}, {3}}); };
    CHECK_THROWS(tn::trace(c, uneven, tn_f64(2)), TN_EINVAL, "linear.cpp:");
    const auto deeper = [](tn::val v) { return v + tn::constant(v, {{1, 2}, 3}); };
    CHECK_THROWS(tn::trace(c, deeper, tn_f64(2)), TN_EINVAL, "not equally long");
    const auto nowhere = [](tn::val v) { return v + tn::zeros(tn::val(1.0), tn_f64(2)); };
    CHECK_THROWS(tn::trace(c, nowhere, tn_f64(2)), TN_EINVAL, "");
}

int main() {
    solutions();
    vectors();
    told();
    constants();
    return report();
}
