/* What tansy.hpp does not let compile, found out without compiling it.  (tests/misuse has what static_assert refuses.)
 */
#include "check.hpp"

template <class F, class... T> constexpr bool compiles(F, T *...) { return std::is_invocable<F, T &...>::value; }
#define IS(right, wrong, expression)                                               \
    CHECK(compiles([](auto &x, auto &y) -> decltype(expression) {}, ONLY right) && \
          !compiles([](auto &x, auto &y) -> decltype(expression) {}, ONLY wrong))
#define ONLY(...) __VA_ARGS__
#define OF(A, B)  (static_cast<A *>(nullptr), static_cast<B *>(nullptr))

inline tn::val same(tn::val v) { return v; }

int main() {
    using tn::val;
    using three = double[3];
    IS(OF(val, double), OF(val, const char *), (void(x + y)));
    IS(OF(double, val), OF(tn_ctx *, val), (void(x * y)));
    IS(OF(val, tn_val), OF(val, tn_type), (void(x / y)));
    IS(OF(val, const float), OF(val, three), (void(x - y)));
    IS(OF(int, int), OF(val, val), (void(x < y), void(y)));
    IS(OF(double, int), OF(val, int), (void(x == y)));
    IS(OF(bool, int), OF(val, int), (void(x ? 1 : 0), void(y)));
    IS(OF(val, int), OF(double, int), (void(tn::sin(x)), void(y)));
    IS(OF(val, int), OF(val, double), (void(x[y])));
    IS(OF(val, tn::slice), OF(val, bool), (void(x[y])));
    IS(OF(val, val), OF(val, tn_type), (void(x(0, y))));
    IS(OF(val, size_t), OF(val, double), (void(tn::reshape(x, {y}))));
    IS(OF(val, val), OF(val, tn_type), (void(tn::stack({x, y}))));
    IS(OF(tn::program, int), OF(tn_fn *, int), (void(tn::grad(x, y))));
    IS(OF(tn::program, int), OF(tn::executable, int), (void(tn::grad(x, y))));
    IS(OF(tn::context, tn_type), OF(tn_ctx *, tn_type), (void(tn::trace(x, same, y))));
    return report();
}
