/* The file:line of what went wrong is that of the user's operator. */
#include "check.hpp"

/* Lines are what is tested. */
/* clang-format off */
static tn::context c;

/* The message of tracing f. */
template <class F> static std::string message(F f) {
    try {
        tn::trace(c, f, tn_f64(2, 3), tn_f64(3), tn_i32());
    } catch (const tn::error &e) {
        return e.what();
    }
    return "nothing was thrown";
}
static std::string at(int line) { return std::string(__FILE__) + ":" + std::to_string(line) + ": "; }
#define FAILS(line, ...) CHECK_HAS(message([](tn::val x, tn::val y, tn::val i) -> tn::val { \
    (void)x, (void)y, (void)i; return __VA_ARGS__; }), at(line))

static tn::val square_norm(tn::val x, tn::place where = tn::place::here()) { return tn::sum({x + x[0] * where.line, where}, 7); }
#if defined(__cpp_lib_source_location)
static tn::val modern(tn::val x, std::source_location where = std::source_location::current()) { return tn::sum({x, where}, 7); }
#endif

/* Operators over lines, where macros would make one of all. */
static tn::val lines(tn::val x, tn::val y, tn::val i) {
    return x
        + 1.0
        + i
        + y;
}
static const int lines_at = __LINE__ - 3;
static tn::val nested(tn::val x, tn::val, tn::val) {
    return tn::fori(
        0, 3,
        [&](tn::val, tn::val s) {
            return s +
                   matmul(x, x); /* here */
        },
        x);
}
static const int nested_at = __LINE__ - 4;

int main() {
    FAILS(__LINE__, x + i);
    FAILS(__LINE__, x * 2 - i);
    FAILS(__LINE__, 2.5 * i);
    FAILS(__LINE__, -eq(x, y));
    FAILS(__LINE__, x += i);
    FAILS(__LINE__, x[2]);
    FAILS(__LINE__, x(0, 3));
    FAILS(__LINE__, x(tn::slice(), -4));
    FAILS(__LINE__, x(tn::slice(), tn::slice(), 0));
    FAILS(__LINE__, x[tn::slice(0, 1, -1)]);
    FAILS(__LINE__, x[y]);
    FAILS(__LINE__, sin(i));
    FAILS(__LINE__, sum(x, 2));
    FAILS(__LINE__, sum(x, {0, 0}));
    FAILS(__LINE__, matmul(y, x));
    FAILS(__LINE__, where(x, 1.0, 2.0));
    FAILS(__LINE__, reshape(x, {4}));
    FAILS(__LINE__, tn::stack({x, y}));
    FAILS(__LINE__, tn::einsum("ij,k", {x}));
    FAILS(__LINE__, tn::zeros(c, tn_f64(-1)));
    FAILS(__LINE__, cond(x, [&] { return x; }, [&] { return x; }));
    FAILS(__LINE__, tn::fori(0.5, 3, [](tn::val, tn::val s) { return s; }, x));
    FAILS(__LINE__, square_norm(x));
#if defined(__cpp_lib_source_location)
    FAILS(__LINE__, modern(x));
#endif
    CHECK_HAS(message(lines), at(lines_at));
    CHECK_HAS(message(nested), at(nested_at));
    CHECK_HAS(message([](tn::val x, tn::val, tn::val) { return x(0, 3); }), "outside axis 1 of size 3");
    CHECK_HAS(message([](tn::val x, tn::val, tn::val) { return x(tn::slice(), 3); }), "index 3 is outside axis 1 of size 3");
    CHECK_HAS(message([](tn::val, tn::val, tn::val) { return tn::val(); }), "trace");
    return report();
}
