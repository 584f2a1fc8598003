/* What calls take: containers, arrays, numbers, pointers, Eigen's maps; and what they refuse. */
#include "check.hpp"

#include <memory>
#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#endif
#if __cplusplus >= 202002L
#include <span>
#endif

/* x [2,3], k i32[] -> x * k, the sum of x */
static tn::executable two(tn::context &c) {
    return tn::compile(tn::trace(
        c, [](tn::val x, tn::val k) { return tn::many(x * convert(k, TN_F64), sum(x)); }, tn_f64(2, 3), tn_i32()));
}

static void taken() {
    tn::context c;
    const tn::executable e = two(c);
    const double m[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const std::vector<double> v(&m[0][0], &m[0][0] + 6);
    const std::array<std::array<double, 3>, 2> a = {{{1, 2, 3}, {4, 5, 6}}};
    std::array<std::array<double, 3>, 2> y{};
    std::vector<double> z(6);
    double w[2][3], total = 0;
    const int k = 2;
    CHECK(e(m, 2, w, total) == TN_OK && w[1][2] == 12 && total == 21);
    CHECK(e(v, k, z, total) == TN_OK && z[5] == 12);
    CHECK(e(a, int32_t{3}, y, nullptr) == TN_OK && y[1][2] == 18);
    CHECK(e(v.data(), &k, z.data(), &total) == TN_OK && z[4] == 10);
    CHECK(e(tn::in(m, k), tn::out(nullptr, total)) == TN_OK);
    CHECK(e(tn::in(static_cast<const void *>(m), 3u), tn::out(static_cast<void *>(w), nullptr)) == TN_OK &&
          w[0][0] == 3);
    CHECK(e(TN_INPUTS(m, &k), TN_OUTPUTS(w, &total)) == TN_OK && w[0][0] == 2);
    CHECK(e(TN_RAW_INPUTS(m, &k), TN_RAW_OUTPUTS(w, &total)) == TN_OK);
    const void *const raw[] = {m, &k};
    void *const raw_out[] = {w, nullptr};
    CHECK(e(raw, raw_out) == TN_OK);
    tn::work t(e);
    CHECK(t(m, k, w, nullptr) == TN_OK && t(tn::in(m, k), tn::out(w, total)) == TN_OK && t(raw, raw_out) == TN_OK);
#if __cplusplus >= 202002L
    CHECK(e(std::span(v), k, std::span(z), total) == TN_OK && z[5] == 12);
    CHECK(e(tn::in(std::span<const double, 6>(v), k), tn::out(std::span<double>(z), total)) == TN_OK);
    CHECK_THROWS((void)e(std::span(v), k, std::span<const double>(z), total), TN_EINVAL, "const");
#endif
    /* No elements, bools, and types that are given by name. */
    const tn::executable none = tn::compile(tn::trace(
        c, [](tn::val x, tn::val b) { return where(b, x, -x); }, tn::f32(0), tn::boolean()));
    CHECK(none(std::vector<float>(), true, std::vector<float>()) == TN_OK);
    const tn::executable wide = tn::compile(tn::trace(
        c, [](tn::val x) { return x + 1; }, tn::i64(2)));
    int64_t n[2] = {1, 2};
    std::vector<uint64_t> out(2);
    CHECK(wide(n, out) == TN_OK && out[1] == 3);
}

static void refused() {
    tn::context c;
    const tn::executable e = two(c);
    std::vector<double> x(6), y(6), small(5);
    const std::vector<double> fixed(6);
    std::vector<float> f(6);
    double total = 0;
    CHECK_THROWS((void)e(f, 2, y, total), TN_EINVAL, "input 0");
    CHECK_THROWS((void)e(x, 2.0, y, total), TN_EINVAL, "input 1");
    CHECK_THROWS((void)e(x, 2L, y, total), TN_EINVAL, "input 1");
    CHECK_THROWS((void)e(small, 2, y, total), TN_EINVAL, "input 0");
    CHECK_THROWS((void)e(1.0, 2, y, total), TN_EINVAL, "input 0");
    CHECK_THROWS((void)e(x, 2, f, total), TN_EINVAL, "output 0");
    CHECK_THROWS((void)e(x, 2, small, total), TN_EINVAL, "output 0");
    CHECK_THROWS((void)e(x, 2, x, total), TN_EINVAL, "output 0");
    CHECK_THROWS((void)e(x, 2, fixed, total), TN_EINVAL, "const");
    CHECK_THROWS((void)e(x, 2, y, 1.0), TN_EINVAL, "temporary");
    CHECK_THROWS((void)e(x, 2, y), TN_EINVAL, "output 1");
    CHECK_THROWS((void)e(x), TN_EINVAL, "input");
    CHECK_THROWS((void)e(), TN_EINVAL, "input");
    CHECK_THROWS((void)e(x, 2, y, total, y), TN_EINVAL, "3 outputs");
    CHECK_THROWS((void)e(tn::in(x, 2, 3), tn::out(y, total)), TN_EINVAL, "3 inputs");
    CHECK(e(x, 2, y, total) == TN_OK); /* and is as good as before */
    tn::work w(e);
    CHECK_THROWS((void)w(f, 2, y, total), TN_EINVAL, "input 0");
    CHECK_THROWS((void)w(x, 2, fixed, total), TN_EINVAL, "const");
    CHECK_THROWS((void)w(x), TN_EINVAL, "input");
    CHECK(w(x, 2, y, total) == TN_OK);
}

/* What Eigen's types have of its interface: a row-major matrix and a vector, with strides. */
template <bool Rows, bool Vector> struct like_eigen {
    enum { IsRowMajor = Rows, IsVectorAtCompileTime = Vector };
    double *p;
    std::ptrdiff_t n, m, inner, outer;
    double *data() const { return p; }
    std::ptrdiff_t size() const { return n * m; }
    std::ptrdiff_t rows() const { return n; }
    std::ptrdiff_t cols() const { return m; }
    std::ptrdiff_t innerStride() const { return inner; }
    std::ptrdiff_t outerStride() const { return outer; }
};
static void maps() {
    tn::context c;
    const tn::executable e = two(c);
    double x[12] = {1, 2, 3, 4, 5, 6}, y[12] = {0}, total;
    like_eigen<true, false> m{x, 2, 3, 1, 3}, out{y, 2, 3, 1, 3}, rows{x, 2, 3, 1, 4}, gaps{x, 2, 3, 2, 6};
    CHECK(e(m, 2, out, total) == TN_OK && y[5] == 12);
    CHECK_THROWS((void)e(rows, 2, out, total), TN_EINVAL, "gaps");
    CHECK_THROWS((void)e(gaps, 2, out, total), TN_EINVAL, "gaps");
    CHECK_THROWS((void)e(m, 2, gaps, total), TN_EINVAL, "gaps");
    const tn::executable s = tn::compile(tn::trace(
        c, [](tn::val a) { return sum(a); }, tn_f64(4)));
    like_eigen<false, true> v{x, 4, 1, 1, 4}, odd{x, 4, 1, 2, 4};
    CHECK(s(v, total) == TN_OK && total == 10);
    CHECK_THROWS((void)s(odd, total), TN_EINVAL, "gaps");
#ifdef EIGEN_CORE_H
    using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Matrix a(2, 3), b(2, 3);
    a << 1, 2, 3, 4, 5, 6;
    CHECK(e(a, 2, b, total) == TN_OK && b(1, 2) == 12 && total == 21);
    const Eigen::Map<const Matrix> read(x, 2, 3);
    Eigen::Map<Matrix> written(y, 2, 3);
    CHECK(e(tn::in(read, 3), tn::out(written, total)) == TN_OK && y[5] == 18);
    CHECK_THROWS((void)e(written, 3, read, total), TN_EINVAL, "const");
    Eigen::VectorXd q = Eigen::VectorXd::LinSpaced(4, 1, 4);
    CHECK(s(q, total) == TN_OK && total == 10);
    CHECK(s(Eigen::Map<Eigen::Vector4d>(x), total) == TN_OK && total == 10);
    Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<2>> strided(x, 4);
    CHECK_THROWS((void)s(strided, total), TN_EINVAL, "gaps");
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> large(2, 4);
    CHECK_THROWS((void)e(large.leftCols(3), 2, b, total), TN_EINVAL, "gaps");
#else
    std::printf("skip: Eigen, which is not there\n");
#endif
}

int main() {
    taken();
    refused();
    maps();
    return report();
}
