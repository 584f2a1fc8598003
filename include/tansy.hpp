/* tansy.hpp - Tansy in C++17: values with operators, lambdas as bodies, handles that free what they hold.
 *
 * SPDX-License-Identifier: MIT
 *
 * ## Introduction
 *
 * Everything here is inline and made of the functions of <tansy.h>, which stays the manual of what they compute: there
 * is no second library.  tn::sin(x) appends the equation that tn_sin(x) appends, x * y that of tn_mul(x, y), and a
 * program has the same text whichever spelling traced it.
 *
 *     tn::context c;
 *     tn::program f = tn::trace(c, [](tn::val x, tn::val y) { return sum(sin(x) * x + 2.0 * y); }, tn_f64(3),
 * tn_f64(3)); tn::executable run = tn::compile(tn::value_and_grad(f, 0)); std::vector<double> x(3), y(3), dx(3); double
 * value; run(tn::in(x, y), tn::out(value, dx));                  // or run(x, y, value, dx)
 *
 * C and C++ mix: a tn::val is a tn_val and goes wherever one is wanted, a tn_val becomes a tn::val by itself, and
 * get() of each handle is the C object.  Functions that only C has are called so: tn::val y = tn_pad(x, 0, ..).
 * (What a C macro returns has no operators until it is a tn::val.)
 *
 * ## Errors
 *
 * With exceptions, what fails throws tn::error: status() is the tn_status, what() the message, which names primitive,
 * operand, reason and the file:line of the user's operator.  Without them (-fno-exceptions) nothing is thrown and
 * nothing aborts: what would have been made is empty (if (!f)), calls return their status, and error() of the empty
 * object has the message; what is made of an empty program is empty too, with the first message, so calls may be nested
 * and checked once.  Only the C++ library's own allocations may then end the process.  Files compiled either way may be
 * linked together, as the functions have different names; between them values are tn_val.
 *   Operators never fail by themselves: the first bad one is reported by tn::trace, as in C.  In which order the
 * operands of one expression are traced is the compiler's choice, as it is in C: values do not depend on it, the text
 * of a program and which of several bad operators is the first do. An exception may leave any body (of trace, scan,
 * cond ..), observer or external function: it passes the C library without crossing it, and leaves tn::trace, or the
 * call, as it was thrown.  (From an external function that is called by C code and not by what is below, it becomes
 * TN_ECALLBACK.)
 *
 * ## Places
 *
 * Messages have the file:line of the operator or function.  A binary operator that is spread over lines has the line of
 * its right operand.  Functions of your own may pass on where they were called:
 *
 *     tn::val square_norm(tn::val x, tn::place at = tn::place::here()) { return tn::sum({x * x, at}); }
 *
 * (with C++20, a std::source_location does as well).
 *
 * ## Ownership
 *
 * tn::context, program, executable and work are handles, as std::shared_ptr is: a copy is another handle of the same
 * object, which is freed with the last one.  A program keeps its context, an executable its context, a work its
 * executable; so the order in which they go does not matter.  What is moved from is empty, and using it is an error
 * (TN_EINVAL), not undefined.  Values own nothing.
 *   Lambdas are called before the function that they are given to returns, and may capture by reference.  Those that
 * are called later (observers, external functions) are copied, and live as long as the executable or the context.
 *
 * ## Threads
 *
 * As in C: one context, with all its handles, is used by one thread at a time, also to free them; a tn::work for each
 * thread runs one executable on many. */
#ifndef TANSY_HPP
#define TANSY_HPP

#include "tansy.h"
#include "tansy/complex.h"
#include "tansy/krylov.h"
#include "tansy/ode.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#if defined(__has_include)
#if __cplusplus >= 202002L && __has_include(<source_location>)
#include <source_location>
#endif
#endif

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define TN_I_THROWS 1
#define TN_I_MODE   throws
#define TN_I_STATUS /* a status that is returned is TN_OK */
#else
#define TN_I_THROWS 0
#define TN_I_MODE   returns
#define TN_I_STATUS [[nodiscard]]
#endif

namespace tn {
inline namespace TN_I_MODE {

/* ---- errors ------------------------------------------------------------------ */

/* What is thrown.  Its message is that of tn_error, or of tn_exec_error. */
class error : public std::runtime_error {
    tn_status status_;

  public:
    error(tn_status status, const std::string &message) : std::runtime_error(message), status_(status) {}
    tn_status status() const { return status_; }
};

/* Where something was written. */
struct place {
    const char *file;
    int line;
    static constexpr place here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
    constexpr place(const char *file_, int line_) : file(file_), line(line_) {}
#if defined(__cpp_lib_source_location)
    constexpr place(const std::source_location &at) : file(at.file_name()), line(static_cast<int>(at.line())) {}
#endif
};

namespace i { /* what is not for users */

#if TN_I_THROWS
inline tn_status failed(tn_status s, const char *message) {
    throw error(s, message && *message ? message : tn_status_text(s));
}
#else
inline tn_status failed(tn_status s, const char *) { return s; }
#endif

template <class T> using bare = std::remove_cv_t<std::remove_reference_t<T>>;
template <class T> using if_number = std::enable_if_t<std::is_arithmetic<T>::value, int>;

/* A plain number, as TN_VAL has it; long double too. */
template <class T> inline tn_val number(T x) {
    if constexpr (std::is_floating_point<T>::value)
        return tn_number_f64(static_cast<double>(x));
    else
        return ::TN_VAL(x);
}

} // namespace i

/* ---- values ------------------------------------------------------------------ */

class index;

/* An array while tracing (tn_val): passed by copy, owns nothing.  A number becomes one by itself; it has the dtype of
 * the operand beside it.  One that was only declared is refused where it is used.
 *
 *     x[2]   x[-1]                  an element or sub-array of the first axis (tn_at)
 *     x(1, -1)                      one index for each of the first axes
 *     x[tn::slice(1, 3)]            part of an axis; x(tn::slice(), 0) is the first column
 *     x[i]   x(0, i)                where i is a value: an integer scalar is clamped into the axis and drops it
 *                                   (tn_dynamic_index), an integer array takes its place (tn_take: NaN where it is
 *                                   outside).  Several arrays index each its own axis: x(i, j) has all pairs */
class val : public tn_val {
  public:
    val() : tn_val{} {}
    val(tn_val x) : tn_val(x) {}
    template <class T, i::if_number<T> = 0> val(T x) : tn_val(i::number(x)) {}

    tn_type type() const { return tn_val_type(*this); }
    int rank() const { return tn_rank(*this); }
    int64_t dim(int axis) const { return tn_dim(*this, axis); }
    int64_t size() const { return tn_size(*this); }

    val operator[](const index &i) const;
    template <class... I> val operator()(const index &i0, const index &i1, const I &...more) const;

  private:
    val indexed(const index *i, size_t n) const;
};

/* An argument that is an array, and one that may be a number instead, each with the place where it was written.  They
 * are made by themselves: parameters of this type take a tn::val.  {x, at} is x, written at `at`. */
struct operand {
    tn_val v;
    place at;
    operand(const val &x, place at_ = place::here()) : v(x), at(at_) {}
    operand(const tn_val &x, place at_ = place::here()) : v(x), at(at_) {}
};
struct mixed {
    tn_val v;
    place at;
    mixed(const val &x, place at_ = place::here()) : v(x), at(at_) {}
    mixed(const tn_val &x, place at_ = place::here()) : v(x), at(at_) {}
    template <class T, i::if_number<T> = 0> mixed(T x, place at_ = place::here()) : v(i::number(x)), at(at_) {}
};

/* Text, and where it stands. */
struct text {
    const char *s;
    place at;
    text(const char *s_, place at_ = place::here()) : s(s_), at(at_) {}
    text(const std::string &s_, place at_ = place::here()) : s(s_.c_str()), at(at_) {}
};

/* A whole number of a list; a fraction does not compile. */
struct whole {
    int64_t n;
    template <class T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int> = 0>
    constexpr whole(T x) : n(static_cast<int64_t>(x)) {}
};

/* Lists, as {3, 4} or {x, y}: shapes, axes; values.  {} has no elements. */
class ints {
    std::vector<int64_t> v_;

  public:
    ints() {}
    ints(std::initializer_list<whole> x) {
        for (const whole &w : x) v_.push_back(w.n);
    }
    ints(std::vector<int64_t> x) : v_(std::move(x)) {}
    operator tn_int_list() const { return tn_ints_of(v_.size(), v_.data()); }
};
class vals {
    std::vector<tn_val> v_;

  public:
    vals() {}
    vals(std::initializer_list<val> x) : v_(x.begin(), x.end()) {}
    vals(const std::vector<val> &x) : v_(x.begin(), x.end()) {}
    template <size_t N> vals(const std::array<val, N> &x) : v_(x.begin(), x.end()) {}
    operator tn_val_list() const { return tn_vals_of(v_.size(), v_.data()); }
    size_t size() const { return v_.size(); }
    const tn_val *data() const { return v_.data(); }
};

/* Types of arrays, as tn_f64(3, 4), whose macros and functions serve as well. */
template <class... D> inline tn_type f64(D... dims) { return ::tn_f64(dims...); }
template <class... D> inline tn_type f32(D... dims) { return ::tn_f32(dims...); }
template <class... D> inline tn_type i64(D... dims) { return ::tn_i64(dims...); }
template <class... D> inline tn_type i32(D... dims) { return ::tn_i32(dims...); }
template <class... D> inline tn_type u32(D... dims) { return ::tn_u32(dims...); }
template <class... D> inline tn_type i8(D... dims) { return ::tn_i8(dims...); }
template <class... D> inline tn_type i16(D... dims) { return ::tn_i16(dims...); }
template <class... D> inline tn_type u8(D... dims) { return ::tn_u8(dims...); }
template <class... D> inline tn_type u16(D... dims) { return ::tn_u16(dims...); }
template <class... D> inline tn_type u64(D... dims) { return ::tn_u64(dims...); }
template <class... D> inline tn_type f16(D... dims) { return ::tn_f16(dims...); }
template <class... D> inline tn_type bf16(D... dims) { return ::tn_bf16(dims...); }
template <class... D> inline tn_type boolean(D... dims) { return ::tn_bool(dims...); }

/* start, start + step, .. below stop, as Python's: negative numbers count from the end, and what lies outside is cut
 * off. slice() is the whole axis, slice(1, slice::end) all but the first.  step >= 1. */
struct slice {
    static constexpr int64_t end = INT64_MAX;
    int64_t start, stop, step;
    constexpr slice() : start(0), stop(end), step(1) {}
    constexpr slice(whole start_, whole stop_, whole step_ = 1) : start(start_.n), stop(stop_.n), step(step_.n) {}
};

/* One index between [] or (): a whole number, a slice, or a value. */
class index {
    friend class val;
    enum { NUMBER, SLICE, VALUE } kind_;
    int64_t number_ = 0;
    slice slice_;
    tn_val value_{};
    place at_;

  public:
    template <class T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int> = 0>
    index(T i, place at = place::here()) : kind_(NUMBER), number_(static_cast<int64_t>(i)), at_(at) {}
    index(const slice &s, place at = place::here()) : kind_(SLICE), slice_(s), at_(at) {}
    index(const val &i, place at = place::here()) : kind_(VALUE), value_(i), at_(at) {}
    index(const tn_val &i, place at = place::here()) : kind_(VALUE), value_(i), at_(at) {}
};

inline val val::indexed(const index *i, size_t n) const {
    std::vector<int64_t> all;
    for (size_t k = 0; k < n && i[k].kind_ == index::NUMBER; k++) all.push_back(i[k].number_);
    if (all.size() == n && n) return tn_at_at(*this, tn_ints_of(n, all.data()), i[0].at_.file, i[0].at_.line);
    tn_val x = *this;
    int axis = 0;
    for (size_t k = 0; k < n; k++) {
        const place at = i[k].at_;
        if (i[k].kind_ == index::SLICE) {
            const slice &s = i[k].slice_;
            x = tn_slice_axis_at(x, s.start, s.stop, s.step, axis++, at.file, at.line);
        } else if (i[k].kind_ == index::VALUE && tn_rank(i[k].value_) > 0) {
            x = tn_take_at(x, i[k].value_, axis, 0, at.file, at.line);
            axis += tn_rank(i[k].value_);
        } else if (i[k].kind_ == index::VALUE) {
            x = tn_dynamic_index_at(x, i[k].value_, axis, at.file, at.line);
        } else {
            const int64_t length = tn_dim(x, axis), from = i[k].number_ + (i[k].number_ < 0 ? length : 0);
            if (length >= 0 && (from < 0 || from >= length)) {
                const std::string why = "index " + std::to_string(i[k].number_) + " is outside axis " +
                                        std::to_string(axis) + " of size " + std::to_string(length);
                return tn_fail_at(tn_val_ctx(x), TN_EINVAL, "at", why.c_str(), at.file, at.line);
            }
            x = tn_slice_axis_at(x, from, from + 1, 1, axis, at.file, at.line);
            x = tn_squeeze_at(x, axis, at.file, at.line);
        }
    }
    return x;
}
inline val val::operator[](const index &i) const { return indexed(&i, 1); }
template <class... I> inline val val::operator()(const index &i0, const index &i1, const I &...more) const {
    const index all[] = {i0, i1, index(more, i0.at_)...};
    return indexed(all, 2 + sizeof...(I));
}

/* ---- operators ------------------------------------------------------------------
 *
 * Of two arrays, which broadcast as NumPy's, or of an array and a number. */

inline val operator+(mixed x, mixed y) { return tn_add_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator-(mixed x, mixed y) { return tn_sub_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator*(mixed x, mixed y) { return tn_mul_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator/(mixed x, mixed y) { return tn_div_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator%(mixed x, mixed y) { return tn_rem_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator-(operand x) { return tn_neg_at(x.v, x.at.file, x.at.line); }
inline val operator+(operand x) { return x.v; }
inline val &operator+=(val &x, mixed y) { return x = tn_add_at(x, y.v, y.at.file, y.at.line); }
inline val &operator-=(val &x, mixed y) { return x = tn_sub_at(x, y.v, y.at.file, y.at.line); }
inline val &operator*=(val &x, mixed y) { return x = tn_mul_at(x, y.v, y.at.file, y.at.line); }
inline val &operator/=(val &x, mixed y) { return x = tn_div_at(x, y.v, y.at.file, y.at.line); }
/* Of bools and, but for !, of the bits of integers. */
inline val operator&(mixed x, mixed y) { return tn_and_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator|(mixed x, mixed y) { return tn_or_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator^(mixed x, mixed y) { return tn_xor_at(x.v, y.v, y.at.file, y.at.line); }
/* Integers; >> keeps the sign of signed ones, as C's does. */
inline val operator<<(mixed x, mixed y) { return tn_shift_left_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator>>(mixed x, mixed y) { return tn_shift_right_arithmetic_at(x.v, y.v, y.at.file, y.at.line); }
inline val operator~(operand x) { return tn_not_at(x.v, x.at.file, x.at.line); }
inline val operator!(operand x) { return tn_not_at(x.v, x.at.file, x.at.line); }

/* ---- functions of elements ---------------------------------------------------------
 *
 * The names, meanings and errors of <tansy/ops.h>.  Where x is a tn::val the namespace may be left out: sin(x). */

/* -x, |x|, sign, squares, roots, 1/x, exponentials and logarithms. */
inline val neg(operand x) { return tn_neg_at(x.v, x.at.file, x.at.line); }
inline val abs(operand x) { return tn_abs_at(x.v, x.at.file, x.at.line); }
inline val sign(operand x) { return tn_sign_at(x.v, x.at.file, x.at.line); }
inline val square(operand x) { return tn_square_at(x.v, x.at.file, x.at.line); }
inline val sqrt(operand x) { return tn_sqrt_at(x.v, x.at.file, x.at.line); }
inline val rsqrt(operand x) { return tn_rsqrt_at(x.v, x.at.file, x.at.line); }
inline val cbrt(operand x) { return tn_cbrt_at(x.v, x.at.file, x.at.line); }
inline val reciprocal(operand x) { return tn_reciprocal_at(x.v, x.at.file, x.at.line); }
inline val exp(operand x) { return tn_exp_at(x.v, x.at.file, x.at.line); }
inline val exp2(operand x) { return tn_exp2_at(x.v, x.at.file, x.at.line); }
inline val expm1(operand x) { return tn_expm1_at(x.v, x.at.file, x.at.line); }
inline val log(operand x) { return tn_log_at(x.v, x.at.file, x.at.line); }
inline val log1p(operand x) { return tn_log1p_at(x.v, x.at.file, x.at.line); }
inline val log2(operand x) { return tn_log2_at(x.v, x.at.file, x.at.line); }
inline val log10(operand x) { return tn_log10_at(x.v, x.at.file, x.at.line); }
/* Trigonometric and hyperbolic functions and their inverses. */
inline val sin(operand x) { return tn_sin_at(x.v, x.at.file, x.at.line); }
inline val cos(operand x) { return tn_cos_at(x.v, x.at.file, x.at.line); }
inline val tan(operand x) { return tn_tan_at(x.v, x.at.file, x.at.line); }
inline val asin(operand x) { return tn_asin_at(x.v, x.at.file, x.at.line); }
inline val acos(operand x) { return tn_acos_at(x.v, x.at.file, x.at.line); }
inline val atan(operand x) { return tn_atan_at(x.v, x.at.file, x.at.line); }
inline val sinh(operand x) { return tn_sinh_at(x.v, x.at.file, x.at.line); }
inline val cosh(operand x) { return tn_cosh_at(x.v, x.at.file, x.at.line); }
inline val tanh(operand x) { return tn_tanh_at(x.v, x.at.file, x.at.line); }
inline val asinh(operand x) { return tn_asinh_at(x.v, x.at.file, x.at.line); }
inline val acosh(operand x) { return tn_acosh_at(x.v, x.at.file, x.at.line); }
inline val atanh(operand x) { return tn_atanh_at(x.v, x.at.file, x.at.line); }
/* Error functions, ln |Gamma| and its derivative, rounding, tests (bool), and x without a derivative. */
inline val erf(operand x) { return tn_erf_at(x.v, x.at.file, x.at.line); }
inline val erfc(operand x) { return tn_erfc_at(x.v, x.at.file, x.at.line); }
inline val erf_inv(operand x) { return tn_erf_inv_at(x.v, x.at.file, x.at.line); }
inline val lgamma(operand x) { return tn_lgamma_at(x.v, x.at.file, x.at.line); }
inline val bessel_i0e(operand x) { return tn_bessel_i0e_at(x.v, x.at.file, x.at.line); }
inline val bessel_i1e(operand x) { return tn_bessel_i1e_at(x.v, x.at.file, x.at.line); }
inline val digamma(operand x) { return tn_digamma_at(x.v, x.at.file, x.at.line); }
inline val floor(operand x) { return tn_floor_at(x.v, x.at.file, x.at.line); }
inline val ceil(operand x) { return tn_ceil_at(x.v, x.at.file, x.at.line); }
inline val round(operand x) { return tn_round_at(x.v, x.at.file, x.at.line); }
inline val is_finite(operand x) { return tn_is_finite_at(x.v, x.at.file, x.at.line); }
inline val is_nan(operand x) { return tn_is_nan_at(x.v, x.at.file, x.at.line); }
inline val is_inf(operand x) { return tn_is_inf_at(x.v, x.at.file, x.at.line); }
inline val stop_gradient(operand x) { return tn_stop_gradient_at(x.v, x.at.file, x.at.line); }
/* Of the bits of integers. */
inline val shift_left(mixed x, mixed y) { return tn_shift_left_at(x.v, y.v, y.at.file, y.at.line); }
inline val shift_right_logical(mixed x, mixed y) { return tn_shift_right_logical_at(x.v, y.v, y.at.file, y.at.line); }
inline val shift_right_arithmetic(mixed x, mixed y) {
    return tn_shift_right_arithmetic_at(x.v, y.v, y.at.file, y.at.line);
}
inline val population_count(operand x) { return tn_population_count_at(x.v, x.at.file, x.at.line); }
inline val clz(operand x) { return tn_clz_at(x.v, x.at.file, x.at.line); }
/* Activations. */
inline val relu(operand x) { return tn_relu_at(x.v, x.at.file, x.at.line); }
inline val gelu(operand x) { return tn_gelu_at(x.v, x.at.file, x.at.line); }
inline val gelu_tanh(operand x) { return tn_gelu_tanh_at(x.v, x.at.file, x.at.line); }
inline val sigmoid(operand x) { return tn_sigmoid_at(x.v, x.at.file, x.at.line); }
inline val log_sigmoid(operand x) { return tn_log_sigmoid_at(x.v, x.at.file, x.at.line); }
inline val silu(operand x) { return tn_silu_at(x.v, x.at.file, x.at.line); }
inline val softplus(operand x) { return tn_softplus_at(x.v, x.at.file, x.at.line); }
inline val log1mexp(operand x) { return tn_log1mexp_at(x.v, x.at.file, x.at.line); }
/* Remainder (also x % y); powers, where a plain integer as exponent makes integer_pow; the larger and the smaller. */
inline val rem(mixed x, mixed y) { return tn_rem_at(x.v, y.v, y.at.file, y.at.line); }
inline val pow(mixed x, mixed y) { return tn_pow_at(x.v, y.v, y.at.file, y.at.line); }
inline val maximum(mixed x, mixed y) { return tn_maximum_at(x.v, y.v, y.at.file, y.at.line); }
inline val minimum(mixed x, mixed y) { return tn_minimum_at(x.v, y.v, y.at.file, y.at.line); }
inline val atan2(mixed y, mixed x) { return tn_atan2_at(y.v, x.v, x.at.file, x.at.line); }
inline val polygamma(mixed m, mixed x) { return tn_polygamma_at(m.v, x.v, x.at.file, x.at.line); }
inline val zeta(mixed s, mixed q) { return tn_zeta_at(s.v, q.v, s.at.file, s.at.line); }
inline val igamma(mixed a, mixed x) { return tn_igamma_at(a.v, x.v, a.at.file, a.at.line); }
inline val igammac(mixed a, mixed x) { return tn_igammac_at(a.v, x.v, a.at.file, a.at.line); }
inline val igamma_grad_a(mixed a, mixed x) { return tn_igamma_grad_a_at(a.v, x.v, a.at.file, a.at.line); }
inline val random_gamma_grad(mixed a, mixed x) { return tn_random_gamma_grad_at(a.v, x.v, a.at.file, a.at.line); }
inline val betainc(mixed a, mixed b, mixed x) { return tn_betainc_at(a.v, b.v, x.v, x.at.file, x.at.line); }
inline val hypot(mixed x, mixed y) { return tn_hypot_at(x.v, y.v, y.at.file, y.at.line); }
inline val logaddexp(mixed x, mixed y) { return tn_logaddexp_at(x.v, y.v, y.at.file, y.at.line); }
inline val xlogy(mixed x, mixed y) { return tn_xlogy_at(x.v, y.v, y.at.file, y.at.line); }
inline val xlog1py(mixed x, mixed y) { return tn_xlog1py_at(x.v, y.v, y.at.file, y.at.line); }
/* Comparisons; the result is bool.  There is no x < y: it would read like the condition of an if, which is not known
 * while tracing. */
inline val eq(mixed x, mixed y) { return tn_eq_at(x.v, y.v, y.at.file, y.at.line); }
inline val ne(mixed x, mixed y) { return tn_ne_at(x.v, y.v, y.at.file, y.at.line); }
inline val lt(mixed x, mixed y) { return tn_lt_at(x.v, y.v, y.at.file, y.at.line); }
inline val le(mixed x, mixed y) { return tn_le_at(x.v, y.v, y.at.file, y.at.line); }
inline val gt(mixed x, mixed y) { return tn_gt_at(x.v, y.v, y.at.file, y.at.line); }
inline val ge(mixed x, mixed y) { return tn_ge_at(x.v, y.v, y.at.file, y.at.line); }
/* x*y + z rounded once; x where cond (bool) holds, else y; x between bounds; another dtype; a name for policies. */
inline val fma(mixed x, mixed y, mixed z) { return tn_fma_at(x.v, y.v, z.v, z.at.file, z.at.line); }
inline val where(operand cond, mixed x, mixed y) { return tn_where_at(cond.v, x.v, y.v, cond.at.file, cond.at.line); }
inline val clip(operand x, mixed lo, mixed hi) { return tn_clip_at(x.v, lo.v, hi.v, x.at.file, x.at.line); }
inline val convert(operand x, tn_dtype dtype) { return tn_convert_at(x.v, dtype, x.at.file, x.at.line); }
inline val bitcast(operand x, tn_dtype dtype) { return tn_bitcast_at(x.v, dtype, x.at.file, x.at.line); }
inline val checkpoint_name(operand x, text name) { return tn_checkpoint_name_at(x.v, name.s, x.at.file, x.at.line); }
inline val leaky_relu(operand x, double slope) { return tn_leaky_relu_at(x.v, slope, x.at.file, x.at.line); }
inline val elu(operand x, double alpha) { return tn_elu_at(x.v, alpha, x.at.file, x.at.line); }

/* ---- reductions ------------------------------------------------------------------
 *
 * Over all axes: sum(x); over one: sum(x, -1); over several: sum(x, {0, 2}); with TN_KEEPDIMS they stay, with size 1.
 */

inline val sum(operand x) { return tn_sum_at(x.v, x.at.file, x.at.line); }
inline val sum(operand x, int axis, tn_flags flags = 0) {
    return tn_sum_axis_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val sum(operand x, const ints &axes, tn_flags flags = 0) {
    return tn_sum_axes_at(x.v, axes, flags, x.at.file, x.at.line);
}
inline val prod(operand x) { return tn_prod_at(x.v, x.at.file, x.at.line); }
inline val prod(operand x, int axis, tn_flags flags = 0) {
    return tn_prod_axis_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val prod(operand x, const ints &axes, tn_flags flags = 0) {
    return tn_prod_axes_at(x.v, axes, flags, x.at.file, x.at.line);
}
inline val max(operand x) { return tn_max_at(x.v, x.at.file, x.at.line); }
inline val max(operand x, int axis, tn_flags flags = 0) {
    return tn_max_axis_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val max(operand x, const ints &axes, tn_flags flags = 0) {
    return tn_max_axes_at(x.v, axes, flags, x.at.file, x.at.line);
}
inline val min(operand x) { return tn_min_at(x.v, x.at.file, x.at.line); }
inline val min(operand x, int axis, tn_flags flags = 0) {
    return tn_min_axis_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val min(operand x, const ints &axes, tn_flags flags = 0) {
    return tn_min_axes_at(x.v, axes, flags, x.at.file, x.at.line);
}
inline val mean(operand x) { return tn_mean_at(x.v, x.at.file, x.at.line); }
inline val mean(operand x, int axis, tn_flags flags = 0) {
    return tn_mean_axis_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val mean(operand x, const ints &axes, tn_flags flags = 0) {
    return tn_mean_axes_at(x.v, axes, flags, x.at.file, x.at.line);
}
inline val var(operand x) { return tn_var_at(x.v, x.at.file, x.at.line); }
inline val var(operand x, int axis, tn_flags flags = 0) {
    return tn_var_axis_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val var(operand x, const ints &axes, tn_flags flags = 0) {
    return tn_var_axes_at(x.v, axes, flags, x.at.file, x.at.line);
}
inline val std(operand x) { return tn_std_at(x.v, x.at.file, x.at.line); }
inline val std(operand x, int axis, tn_flags flags = 0) {
    return tn_std_axis_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val std(operand x, const ints &axes, tn_flags flags = 0) {
    return tn_std_axes_at(x.v, axes, flags, x.at.file, x.at.line);
}
inline val norm(operand x) { return tn_norm_at(x.v, x.at.file, x.at.line); }
inline val norm(operand x, int axis, tn_flags flags = 0) {
    return tn_norm_axis_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val sum_squares(operand x) { return tn_sum_squares_at(x.v, x.at.file, x.at.line); }
inline val any(operand x) { return tn_any_at(x.v, x.at.file, x.at.line); }
inline val all(operand x) { return tn_all_at(x.v, x.at.file, x.at.line); }
/* Along one axis. */
inline val logsumexp(operand x, int axis) { return tn_logsumexp_at(x.v, axis, x.at.file, x.at.line); }
inline val softmax(operand x, int axis) { return tn_softmax_at(x.v, axis, x.at.file, x.at.line); }
inline val log_softmax(operand x, int axis) { return tn_log_softmax_at(x.v, axis, x.at.file, x.at.line); }
inline val argmax(operand x, int axis) { return tn_argmax_at(x.v, axis, x.at.file, x.at.line); }
inline val argmin(operand x, int axis) { return tn_argmin_at(x.v, axis, x.at.file, x.at.line); }
inline val sort(operand x, int axis) { return tn_sort_at(x.v, axis, x.at.file, x.at.line); }
/* The k largest along an axis, and where they are. */
inline std::array<val, 2> top_k(operand x, std::int64_t k, int axis) {
    tn_val values, places;
    tn_top_k_at(x.v, k, axis, &values, &places, x.at.file, x.at.line);
    return {{values, places}};
}
inline val argsort(operand x, int axis) { return tn_argsort_at(x.v, axis, x.at.file, x.at.line); }
inline val cumsum(operand x, int axis, tn_flags flags = 0) {
    return tn_cumsum_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val cumprod(operand x, int axis, tn_flags flags = 0) {
    return tn_cumprod_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val cummax(operand x, int axis, tn_flags flags = 0) {
    return tn_cummax_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val cummin(operand x, int axis, tn_flags flags = 0) {
    return tn_cummin_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val cumlogsumexp(operand x, int axis, tn_flags flags = 0) {
    return tn_cumlogsumexp_at(x.v, axis, flags, x.at.file, x.at.line);
}
inline val linear_recurrence(operand a, operand x, int axis, tn_flags flags = 0) {
    return tn_linear_recurrence_at(a.v, x.v, axis, flags, x.at.file, x.at.line);
}

/* ---- constants ---------------------------------------------------------------------
 *
 * Their context is told by its handle, or by any array of the same trace: zeros(x, tn_f64(3)).  (Of a number, or of
 * what is poison, it is not known; the constant is poison then.) */

class context;
namespace i {
/* A context, and where it is used: a handle or pointer of one, or an array that is of it. */
struct site {
    tn_ctx *c;
    place at;
    site(const context &c, place at = place::here());
    site(tn_ctx *c_, place at_ = place::here()) : c(c_), at(at_) {}
    site(const val &x, place at_ = place::here()) : c(tn_val_ctx(x)), at(at_) {}
};
} // namespace i

/* An array of this type, its elements copied from row-major memory, of which there are enough (tn_constant). */
inline val constant(i::site c, const tn_type &t, const void *data) {
    return tn_constant_at(c.c, t, data, c.at.file, c.at.line);
}
/* One axis with the elements of a std::vector, a std::array, an array. */
template <class T, std::enable_if_t<!std::is_arithmetic<T>::value, int> = 0> inline val constant(i::site c, const T &x);
/* Numbers as they are written, in braces as deep as the array has axes: constant(c, {{1, 0.1}, {0, 1}}), or in a
 * std::vector.  TN_EINVAL where lists are not equally long, or not equally deep. */
class numbers {
    std::vector<double> v_;
    std::vector<int64_t> shape_;
    bool even_ = true;

  public:
    template <class T, i::if_number<T> = 0> numbers(T x) : v_{static_cast<double>(x)} {}
    numbers(std::vector<double> x) : v_(std::move(x)), shape_{static_cast<int64_t>(v_.size())} {}
    numbers(std::initializer_list<numbers> x) : shape_{static_cast<int64_t>(x.size())} {
        for (const numbers &n : x) {
            even_ = even_ && n.even_ && n.shape_ == x.begin()->shape_;
            v_.insert(v_.end(), n.v_.begin(), n.v_.end());
        }
        if (x.size()) shape_.insert(shape_.end(), x.begin()->shape_.begin(), x.begin()->shape_.end());
    }
    /* A constant. */
    val in(const i::site &c, tn_dtype d) const {
        if (!even_)
            return tn_fail_at(c.c, TN_EINVAL, "constant", "its lists are not equally long", c.at.file, c.at.line);
        const tn_type t = tn_type_of(TN_F64, shape_.size(), shape_.data());
        const val x = tn_constant_at(c.c, t, v_.data(), c.at.file, c.at.line);
        return d == TN_F64 ? x : val(tn_convert_at(x, d, c.at.file, c.at.line));
    }
    /* Puts the elements of an array of type t behind `to`: these numbers, if they are as many in one row, or broadcast
     * as NumPy's.  False: they do not fit. */
    bool append(const tn_type &t, std::vector<double> &to) const {
        const size_t n = tn_type_elements(&t), rank = shape_.size(), all = static_cast<size_t>(t.rank);
        if (even_ && rank == 1 && v_.size() == n) {
            to.insert(to.end(), v_.begin(), v_.end());
            return true;
        }
        if (!even_ || rank > all) return false;
        for (size_t d = 0; d < rank; d++)
            if (shape_[d] != 1 && shape_[d] != t.dim[all - rank + d]) return false;
        for (size_t k = 0; k < n; k++) {
            size_t rest = k, step = 1, from = 0;
            for (size_t d = rank; d-- > 0;) {
                const auto length = static_cast<size_t>(t.dim[all - rank + d]);
                if (shape_[d] != 1) from += rest % length * step;
                rest /= length;
                step *= static_cast<size_t>(shape_[d]);
            }
            to.push_back(v_[from]);
        }
        return true;
    }
};
inline val constant(i::site c, const numbers &x, tn_dtype d = TN_F64) { return x.in(c, d); }
inline val zeros(i::site c, const tn_type &t) { return tn_zeros_at(c.c, t, c.at.file, c.at.line); }
inline val ones(i::site c, const tn_type &t) { return tn_ones_at(c.c, t, c.at.file, c.at.line); }
inline val full(i::site c, const tn_type &t, mixed x) { return tn_full_at(c.c, t, x.v, c.at.file, c.at.line); }
inline val zeros_like(operand x) { return tn_zeros_like_at(x.v, x.at.file, x.at.line); }
inline val ones_like(operand x) { return tn_ones_like_at(x.v, x.at.file, x.at.line); }
inline val full_like(operand x, mixed n) { return tn_full_like_at(x.v, n.v, x.at.file, x.at.line); }
inline val iota(i::site c, const tn_type &t, int axis) { return tn_iota_at(c.c, t, axis, c.at.file, c.at.line); }
inline val arange(i::site c, tn_dtype d, int64_t n) { return tn_arange_at(c.c, d, n, c.at.file, c.at.line); }
inline val linspace(i::site c, tn_dtype d, double lo, double hi, int64_t n) {
    return tn_linspace_at(c.c, d, lo, hi, n, c.at.file, c.at.line);
}
inline val eye(i::site c, tn_dtype d, int64_t n, int64_t m) { return tn_eye_at(c.c, d, n, m, c.at.file, c.at.line); }
inline val eye(i::site c, tn_dtype d, int64_t n) { return tn_eye_at(c.c, d, n, n, c.at.file, c.at.line); }

/* ---- shapes, joining, places in arrays ------------------------------------------------- */

/* reshape(x, {3, -1}), permute(x, {1, 0}), broadcast_to(x, {3, 4}), tile(x, {2, 3}). */
inline val reshape(operand x, const ints &shape) { return tn_reshape_at(x.v, shape, x.at.file, x.at.line); }
inline val ravel(operand x) { return tn_ravel_at(x.v, x.at.file, x.at.line); }
inline val expand_dims(operand x, int axis) { return tn_expand_dims_at(x.v, axis, x.at.file, x.at.line); }
inline val squeeze(operand x, int axis) { return tn_squeeze_at(x.v, axis, x.at.file, x.at.line); }
inline val squeeze(operand x) { return tn_squeeze_all_at(x.v, x.at.file, x.at.line); }
inline val broadcast_to(operand x, const ints &shape) { return tn_broadcast_to_at(x.v, shape, x.at.file, x.at.line); }
inline val permute(operand x, const ints &axes) { return tn_permute_at(x.v, axes, x.at.file, x.at.line); }
/* The transpose of a matrix (tn_t).  tn::transpose is the transformation of programs. */
inline val t(operand x) { return tn_t_at(x.v, x.at.file, x.at.line); }
inline val swapaxes(operand x, int a, int b) { return tn_swapaxes_at(x.v, a, b, x.at.file, x.at.line); }
inline val moveaxis(operand x, int from, int to) { return tn_moveaxis_at(x.v, from, to, x.at.file, x.at.line); }
inline val flip(operand x, int axis) { return tn_flip_at(x.v, axis, x.at.file, x.at.line); }
inline val roll(operand x, int64_t shift, int axis) { return tn_roll_at(x.v, shift, axis, x.at.file, x.at.line); }
inline val tile(operand x, const ints &repeats) { return tn_tile_at(x.v, repeats, x.at.file, x.at.line); }
/* stack({x, y}), concatenate({x, y}, 1). */
inline val concatenate(const vals &x, int axis = 0, place at = place::here()) {
    return tn_concatenate_at(x, axis, at.file, at.line);
}
inline val stack(const vals &x, int axis = 0, place at = place::here()) {
    return tn_stack_at(x, axis, at.file, at.line);
}
/* Elements at integer indices (NaN outside), also through x[i]; the same, element by element; sums into places. */
inline val take(operand x, operand i, int axis, tn_flags flags = 0) {
    return tn_take_at(x.v, i.v, axis, flags, x.at.file, x.at.line);
}
inline val take_along(operand x, operand i, int axis, tn_flags flags = 0) {
    return tn_take_along_at(x.v, i.v, axis, flags, x.at.file, x.at.line);
}
inline val index_add(operand x, operand i, operand u, int axis) {
    return tn_index_add_at(x.v, i.v, u.v, axis, x.at.file, x.at.line);
}
inline val at_set(operand x, operand i, operand u, int axis) {
    return tn_at_set_at(x.v, i.v, u.v, axis, x.at.file, x.at.line);
}
inline val at_add(operand x, operand i, operand u, int axis) {
    return tn_at_add_at(x.v, i.v, u.v, axis, x.at.file, x.at.line);
}
inline val at_mul(operand x, operand i, operand u, int axis) {
    return tn_at_mul_at(x.v, i.v, u.v, axis, x.at.file, x.at.line);
}
inline val at_min(operand x, operand i, operand u, int axis) {
    return tn_at_min_at(x.v, i.v, u.v, axis, x.at.file, x.at.line);
}
inline val at_max(operand x, operand i, operand u, int axis) {
    return tn_at_max_at(x.v, i.v, u.v, axis, x.at.file, x.at.line);
}
inline val segment_sum(operand x, operand segment, int64_t n) {
    return tn_segment_sum_at(x.v, segment.v, n, x.at.file, x.at.line);
}
inline val dynamic_slice(operand x, const vals &starts, const ints &sizes) {
    return tn_dynamic_slice_at(x.v, starts, sizes, x.at.file, x.at.line);
}
inline val dynamic_update_slice(operand x, operand u, const vals &starts) {
    return tn_dynamic_update_slice_at(x.v, u.v, starts, x.at.file, x.at.line);
}
inline val one_hot(operand i, int64_t n, tn_dtype d) { return tn_one_hot_at(i.v, n, d, i.at.file, i.at.line); }
inline val diag(operand x) { return tn_diag_at(x.v, x.at.file, x.at.line); }
inline val trace_of(operand x) { return tn_trace_of_at(x.v, x.at.file, x.at.line); }
inline val tril(operand x, int64_t k = 0) { return tn_tril_at(x.v, k, x.at.file, x.at.line); }
inline val triu(operand x, int64_t k = 0) { return tn_triu_at(x.v, k, x.at.file, x.at.line); }

/* ---- products and linear algebra ---------------------------------------------------------- */

inline val matmul(operand x, operand y) { return tn_matmul_at(x.v, y.v, y.at.file, y.at.line); }
inline val dot(operand x, operand y) { return tn_dot_at(x.v, y.v, y.at.file, y.at.line); }
inline val vdot(operand x, operand y) { return tn_vdot_at(x.v, y.v, y.at.file, y.at.line); }
inline val outer(operand x, operand y) { return tn_outer_at(x.v, y.v, y.at.file, y.at.line); }
inline val tensordot(operand x, operand y, int n) { return tn_tensordot_at(x.v, y.v, n, y.at.file, y.at.line); }
/* einsum("bij,bjk->bik", {x, y}) */
inline val einsum(text spec, const vals &x) { return tn_einsum_at(spec.s, x, spec.at.file, spec.at.line); }
/* conv(x, kernel, "NHWC,HWIO->NHWC", how): lists in `how` and in windows are to live until then. */
inline val conv(operand x, operand kernel, text layout, const tn_conv_how &how = {}) {
    return tn_conv_at(x.v, kernel.v, layout.s, &how, layout.at.file, layout.at.line);
}
inline val sum_pool(operand x, const tn_window &w) { return tn_sum_pool_at(x.v, &w, x.at.file, x.at.line); }
inline val prod_pool(operand x, const tn_window &w) { return tn_prod_pool_at(x.v, &w, x.at.file, x.at.line); }
inline val max_pool(operand x, const tn_window &w) { return tn_max_pool_at(x.v, &w, x.at.file, x.at.line); }
inline val min_pool(operand x, const tn_window &w) { return tn_min_pool_at(x.v, &w, x.at.file, x.at.line); }
inline val avg_pool(operand x, const tn_window &w, tn_flags flags = 0) {
    return tn_avg_pool_at(x.v, &w, flags, x.at.file, x.at.line);
}
inline val sliding_windows(operand x, const ints &axes, const ints &sizes, const ints &strides = {},
                           const ints &dilation = {}) {
    return tn_sliding_windows_at(x.v, axes, sizes, strides, dilation, x.at.file, x.at.line);
}
inline val overlap_add(operand x, operand u, const ints &axes, const ints &sizes, const ints &strides = {},
                       const ints &dilation = {}) {
    return tn_overlap_add_at(x.v, u.v, axes, sizes, strides, dilation, x.at.file, x.at.line);
}
inline val cholesky(operand x) { return tn_cholesky_at(x.v, x.at.file, x.at.line); }
inline val triangular_solve(operand a, operand b, int how) {
    return tn_triangular_solve_at(a.v, b.v, how, b.at.file, b.at.line);
}
inline val cholesky_solve(operand l, operand b) { return tn_cholesky_solve_at(l.v, b.v, b.at.file, b.at.line); }
inline val logdet(operand a) { return tn_logdet_at(a.v, a.at.file, a.at.line); }
inline val det(operand a) { return tn_det_at(a.v, a.at.file, a.at.line); }
/* The sign of det(a) and ln |det(a)|. */
struct sign_and_log {
    val sign, logabs;
};
inline sign_and_log slogdet(operand a) {
    tn_val sign, logabs;
    tn_slogdet_at(a.v, &sign, &logabs, a.at.file, a.at.line);
    return {sign, logabs};
}
inline val inverse(operand a) { return tn_inverse_at(a.v, a.at.file, a.at.line); }
inline val expm(operand a) { return tn_expm_at(a.v, a.at.file, a.at.line); }
/* Several factors at once: structured bindings take them apart. */
struct eigen {
    val w, v;
};
inline eigen eigh(operand a) {
    eigen e;
    tn_eigh_at(a.v, &e.w, &e.v, a.at.file, a.at.line);
    return e;
}
inline val eigvalsh(operand a) { return tn_eigvalsh_at(a.v, a.at.file, a.at.line); }
struct factors_qr {
    val q, r;
};
inline factors_qr qr(operand a, tn_factors how = TN_FACTORS_REDUCED) {
    factors_qr f;
    tn_qr_at(a.v, how, &f.q, &f.r, a.at.file, a.at.line);
    return f;
}
struct factors_svd {
    val u, s, vt;
};
inline factors_svd svd(operand a, tn_factors how = TN_FACTORS_REDUCED) {
    factors_svd f;
    tn_svd_at(a.v, how, &f.u, &f.s, &f.vt, a.at.file, a.at.line);
    return f;
}
inline val singular_values(operand a) {
    val s;
    tn_svd_at(a.v, TN_FACTORS_REDUCED, nullptr, &s, nullptr, a.at.file, a.at.line);
    return s;
}
struct factors_schur {
    val t, q;
};
inline factors_schur schur(operand a) {
    factors_schur f;
    tn_schur_at(a.v, &f.t, &f.q, a.at.file, a.at.line);
    return f;
}
inline val pinv(operand a) { return tn_pinv_at(a.v, a.at.file, a.at.line); }
inline val lstsq(operand a, operand b) { return tn_lstsq_at(a.v, b.v, b.at.file, b.at.line); }
inline val tridiagonal_solve(operand dl, operand d, operand du, operand b) {
    return tn_tridiagonal_solve_at(dl.v, d.v, du.v, b.v, b.at.file, b.at.line);
}

/* ---- complex arrays, Fourier transforms (<tansy/complex.h>) ------------------------------------------- */

/* re + i im, of arrays, or of an array and a number. */
struct complex {
    val re, im;
    complex() {}
    complex(const val &re_, const val &im_) : re(re_), im(im_) {}
    complex(const tn_complex &z) : re(z.re), im(z.im) {}
};
/* A complex argument, with the place where it was written. */
struct complex_operand {
    tn_complex z;
    place at;
    complex_operand(const complex &x, place at_ = place::here()) : at(at_) { z.re = x.re, z.im = x.im; }
    complex_operand(const tn_complex &x, place at_ = place::here()) : z(x), at(at_) {}
};
/* Of an array [.., 2] of real and imaginary parts; and the way back. */
inline complex complex_from(operand pairs) { return tn_complex_from_at(pairs.v, pairs.at.file, pairs.at.line); }
inline val complex_pairs(complex_operand z) { return tn_complex_pairs_at(z.z, z.at.file, z.at.line); }
inline complex operator+(complex_operand z, complex_operand w) { return tn_cadd_at(z.z, w.z, w.at.file, w.at.line); }
inline complex operator-(complex_operand z, complex_operand w) { return tn_csub_at(z.z, w.z, w.at.file, w.at.line); }
inline complex operator*(complex_operand z, complex_operand w) { return tn_cmul_at(z.z, w.z, w.at.file, w.at.line); }
inline complex operator/(complex_operand z, complex_operand w) { return tn_cdiv_at(z.z, w.z, w.at.file, w.at.line); }
inline complex operator-(complex_operand z) { return tn_cneg_at(z.z, z.at.file, z.at.line); }
inline complex conj(complex_operand z) { return tn_conj_at(z.z, z.at.file, z.at.line); }
inline complex square(complex_operand z) { return tn_csquare_at(z.z, z.at.file, z.at.line); }
inline complex sign(complex_operand z) { return tn_csign_at(z.z, z.at.file, z.at.line); }
inline val abs(complex_operand z) { return tn_cabs_at(z.z, z.at.file, z.at.line); }
inline val arg(complex_operand z) { return tn_carg_at(z.z, z.at.file, z.at.line); }
inline complex sqrt(complex_operand z) { return tn_csqrt_at(z.z, z.at.file, z.at.line); }
inline complex exp(complex_operand z) { return tn_cexp_at(z.z, z.at.file, z.at.line); }
inline complex log(complex_operand z) { return tn_clog_at(z.z, z.at.file, z.at.line); }
inline complex sin(complex_operand z) { return tn_csin_at(z.z, z.at.file, z.at.line); }
inline complex cos(complex_operand z) { return tn_ccos_at(z.z, z.at.file, z.at.line); }
inline complex tan(complex_operand z) { return tn_ctan_at(z.z, z.at.file, z.at.line); }
inline complex sinh(complex_operand z) { return tn_csinh_at(z.z, z.at.file, z.at.line); }
inline complex cosh(complex_operand z) { return tn_ccosh_at(z.z, z.at.file, z.at.line); }
inline complex tanh(complex_operand z) { return tn_ctanh_at(z.z, z.at.file, z.at.line); }
inline complex asin(complex_operand z) { return tn_casin_at(z.z, z.at.file, z.at.line); }
inline complex acos(complex_operand z) { return tn_cacos_at(z.z, z.at.file, z.at.line); }
inline complex atan(complex_operand z) { return tn_catan_at(z.z, z.at.file, z.at.line); }
inline complex asinh(complex_operand z) { return tn_casinh_at(z.z, z.at.file, z.at.line); }
inline complex acosh(complex_operand z) { return tn_cacosh_at(z.z, z.at.file, z.at.line); }
inline complex atanh(complex_operand z) { return tn_catanh_at(z.z, z.at.file, z.at.line); }
inline complex pow(complex_operand z, complex_operand w) { return tn_cpow_at(z.z, w.z, w.at.file, w.at.line); }
inline complex powi(complex_operand z, int64_t n) { return tn_cpowi_at(z.z, n, z.at.file, z.at.line); }
/* Eigenvalues and eigenvectors of any square matrix. */
struct complex_eigen {
    complex w, v;
};
inline complex_eigen eig(operand a) {
    tn_complex w, v;
    tn_eig_at(a.v, &w, &v, a.at.file, a.at.line);
    return {w, v};
}
inline complex eigvals(operand a) { return tn_eigvals_at(a.v, a.at.file, a.at.line); }
inline complex_eigen eig(complex_operand a) {
    tn_complex w, v;
    tn_ceig_at(a.z, &w, &v, a.at.file, a.at.line);
    return {w, v};
}
inline complex eigvals(complex_operand a) { return tn_ceigvals_at(a.z, a.at.file, a.at.line); }
struct hermitian_eigen {
    val w;
    complex v;
};
inline hermitian_eigen eigh(complex_operand a) {
    tn_val w;
    tn_complex v;
    tn_ceigh_at(a.z, &w, &v, a.at.file, a.at.line);
    return {w, v};
}
inline val eigvalsh(complex_operand a) { return tn_ceigvalsh_at(a.z, a.at.file, a.at.line); }
struct complex_qr {
    complex q, r;
};
inline complex_qr qr(complex_operand a, tn_factors how = TN_FACTORS_REDUCED) {
    tn_complex q, r;
    tn_cqr_at(a.z, how, &q, &r, a.at.file, a.at.line);
    return {q, r};
}
struct complex_svd {
    complex u;
    val s;
    complex vt;
};
inline complex_svd svd(complex_operand a, tn_factors how = TN_FACTORS_REDUCED) {
    tn_complex u, vt;
    tn_val s;
    tn_csvd_at(a.z, how, &u, &s, &vt, a.at.file, a.at.line);
    return {u, s, vt};
}
inline val singular_values(complex_operand a) {
    tn_val s;
    tn_csvd_at(a.z, TN_FACTORS_REDUCED, nullptr, &s, nullptr, a.at.file, a.at.line);
    return s;
}
struct complex_schur {
    complex t, q;
};
inline complex_schur schur(complex_operand a) {
    tn_complex t, q;
    tn_cschur_at(a.z, &t, &q, a.at.file, a.at.line);
    return {t, q};
}
inline complex pinv(complex_operand a) { return tn_cpinv_at(a.z, a.at.file, a.at.line); }
inline complex lstsq(complex_operand a, complex_operand b) { return tn_clstsq_at(a.z, b.z, b.at.file, b.at.line); }
inline complex cholesky(complex_operand a) { return tn_ccholesky_at(a.z, a.at.file, a.at.line); }
inline complex cholesky_solve(complex_operand l, complex_operand b) {
    return tn_ccholesky_solve_at(l.z, b.z, b.at.file, b.at.line);
}
inline complex triangular_solve(complex_operand a, complex_operand b, int how) {
    return tn_ctriangular_solve_at(a.z, b.z, how, b.at.file, b.at.line);
}
struct complex_lu {
    complex lu;
    val pivots, permutation;
};
inline complex_lu lu(complex_operand a) {
    tn_complex lu;
    tn_val pivots, permutation;
    tn_clu_at(a.z, &lu, &pivots, &permutation, a.at.file, a.at.line);
    return {lu, pivots, permutation};
}
inline complex lu_solve(const complex_lu &f, complex_operand b, int how = 0) {
    return tn_clu_solve_at(complex_operand(f.lu).z, f.permutation, b.z, how, b.at.file, b.at.line);
}
inline complex inverse(complex_operand a) { return tn_cinverse_at(a.z, a.at.file, a.at.line); }
inline complex expm(complex_operand a) { return tn_cexpm_at(a.z, a.at.file, a.at.line); }
inline complex det(complex_operand a) { return tn_cdet_at(a.z, a.at.file, a.at.line); }
struct complex_sign_and_log {
    complex sign;
    val logabs;
};
inline complex_sign_and_log slogdet(complex_operand a) {
    tn_complex sign;
    tn_val logabs;
    tn_cslogdet_at(a.z, &sign, &logabs, a.at.file, a.at.line);
    return {sign, logabs};
}
inline complex matmul(complex_operand z, complex_operand w) { return tn_cmatmul_at(z.z, w.z, w.at.file, w.at.line); }
inline complex solve(complex_operand z, complex_operand w) { return tn_csolve_at(z.z, w.z, w.at.file, w.at.line); }
inline complex fft(complex_operand z, const ints &axes = {-1}) { return tn_fft_at(z.z, axes, z.at.file, z.at.line); }
inline complex ifft(complex_operand z, const ints &axes = {-1}) { return tn_ifft_at(z.z, axes, z.at.file, z.at.line); }
inline complex rfft(operand x, const ints &axes = {-1}) { return tn_rfft_at(x.v, axes, x.at.file, x.at.line); }
inline val irfft(complex_operand z, int64_t n, const ints &axes = {-1}) {
    return tn_irfft_at(z.z, axes, n, z.at.file, z.at.line);
}
inline val fftfreq(i::site c, tn_dtype d, int64_t n, double apart = 1) {
    return tn_fftfreq_at(c.c, d, n, apart, c.at.file, c.at.line);
}
inline val rfftfreq(i::site c, tn_dtype d, int64_t n, double apart = 1) {
    return tn_rfftfreq_at(c.c, d, n, apart, c.at.file, c.at.line);
}

struct factors_lu {
    val lu, pivots, permutation;
};
inline factors_lu lu(operand a) {
    factors_lu f;
    tn_lu_at(a.v, &f.lu, &f.pivots, &f.permutation, a.at.file, a.at.line);
    return f;
}
inline val lu_solve(const factors_lu &f, operand b, int how = 0) {
    return tn_lu_solve_at(f.lu, f.permutation, b.v, how, b.at.file, b.at.line);
}
inline val solve(operand a, operand b) { return tn_solve_at(a.v, b.v, b.at.file, b.at.line); }

/* ---- contexts -------------------------------------------------------------------- */

namespace i {

/* A context and what has to live as long: functions that the library calls later. */
struct owner {
    tn_ctx *c;
    std::vector<std::shared_ptr<void>> kept;
    explicit owner(const tn_ctx_options *options) : c(tn_ctx_new(options)) {}
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    ~owner() { tn_ctx_free(c); }
};

/* Where a call that is under way on this thread wants what is thrown by the functions that it calls. */
inline std::exception_ptr *&thrown_to() {
    static thread_local std::exception_ptr *to = nullptr;
    return to;
}

/* Runs f, which is called by C; -1 when it throws. */
template <class F> inline int called_by_c(F &&f) noexcept {
#if TN_I_THROWS
    try {
        return f();
    } catch (...) {
        if (thrown_to() && !*thrown_to()) *thrown_to() = std::current_exception();
        return -1;
    }
#else
    return f();
#endif
}

/* A call of C, which may call functions that throw. */
template <class F> inline tn_status calling(F &&f) {
    std::exception_ptr thrown, *before = thrown_to();
    thrown_to() = &thrown;
    const tn_status s = f();
    thrown_to() = before;
#if TN_I_THROWS
    if (s != TN_OK && thrown) std::rethrow_exception(thrown);
#endif
    return s;
}

} // namespace i

/* Opaque code as a primitive (tn_external_spec): fixed types; fn(in, out) gets a pointer per operand and output, dense
 * row-major, and returns 0, or anything else for a failure (TN_ECALLBACK), or throws.  jvp and vjp are its rules. */
struct external_function {
    std::string name;
    std::vector<tn_type> in, out;
    std::function<int(const void *const *in, void *const *out)> fn, jvp, vjp;
    bool linear = false, effect = false;
};

/* Owns all that is made in it (tn_ctx).  Made with tn_ctx_options or without. */
class context {
    std::shared_ptr<i::owner> o_;

    static int call(const std::function<int(const void *const *, void *const *)> &f, const void *const *in,
                    void *const *out) {
        return i::called_by_c([&] { return f(in, out); });
    }

  public:
    context() : o_(std::make_shared<i::owner>(nullptr)) {
        if (!o_->c) (void)i::failed(TN_ENOMEM, nullptr);
    }
    explicit context(const tn_ctx_options &options) : o_(std::make_shared<i::owner>(&options)) {
        if (!o_->c) (void)i::failed(TN_ENOMEM, nullptr);
        if (o_->c && tn_last_status(o_->c) != TN_OK) (void)i::failed(tn_last_status(o_->c), tn_error(o_->c));
    }

    tn_ctx *get() const { return o_ ? o_->c : nullptr; }
    explicit operator bool() const { return get() != nullptr; }
    /* Bytes now allocated through it. */
    size_t bytes() const { return get() ? tn_ctx_bytes(get()) : 0; }
    /* The last failure; "" and TN_OK if none. */
    const char *error() const { return get() ? tn_error(get()) : "the context is empty"; }
    tn_status status() const { return get() ? tn_last_status(get()) : TN_EINVAL; }
    explicit context(std::shared_ptr<i::owner> o) : o_(std::move(o)) {} /* of a handle's */
    const std::shared_ptr<i::owner> &owner() const { return o_; }

    /* Registers f (tn_external_register); what it captures lives as long as the context.  tn::external calls it. */
    TN_I_STATUS tn_status add(external_function f) const;
};

inline i::site::site(const context &c_, place at_) : c(c_.get()), at(at_) {}

inline tn_status context::add(external_function f) const {
    if (!get()) return i::failed(TN_EINVAL, error());
    auto kept = std::make_shared<external_function>(std::move(f));
    auto spec = tn_sized<tn_external_spec>();
    spec.name = kept->name.c_str();
    spec.nin = kept->in.size();
    spec.nout = kept->out.size();
    spec.in = kept->in.data();
    spec.out = kept->out.data();
    spec.user = kept.get();
    spec.linear = kept->linear;
    spec.effect = kept->effect;
    using F = external_function;
    if (kept->fn)
        spec.fn = [](void *u, const void *const *in, void *const *out) {
            return call(static_cast<F *>(u)->fn, in, out);
        };
    if (kept->jvp)
        spec.jvp = [](void *u, const void *const *in, void *const *out) {
            return call(static_cast<F *>(u)->jvp, in, out);
        };
    if (kept->vjp)
        spec.vjp = [](void *u, const void *const *in, void *const *out) {
            return call(static_cast<F *>(u)->vjp, in, out);
        };
    o_->kept.push_back(kept);
    const tn_status s = tn_external_register(get(), &spec);
    return s == TN_OK ? s : i::failed(s, error());
}

/* Equations made while it lives carry its name (tn_scope):  { tn::scope s(c, "layer1"); h = relu(matmul(x, w)); } */
class scope {
    tn_ctx *c_;

  public:
    scope(i::site c, const char *name) : c_(c.c) { tn_scope_push(c_, name); }
    ~scope() { tn_scope_pop(c_); }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
};

/* ---- programs ------------------------------------------------------------------------ */

/* A program (tn_fn).  Empty: made by default, moved from, or (without exceptions) what failed. */
class program {
    std::shared_ptr<i::owner> o_;
    std::shared_ptr<tn_fn> f_;
    const char *why_ = "the program is empty";

  public:
    program() {}
    /* What is empty because of `why`, which lives on. */
    explicit program(const char *why) : why_(why) { (void)i::failed(TN_EINVAL, why); }
    /* Takes a C program of this context over; it is freed with the last handle. */
    program(const context &c, tn_fn *f) : o_(c.owner()) {
        if (f && o_)
            f_ = std::shared_ptr<tn_fn>(f, [o = o_](tn_fn *p) { tn_fn_free(p); });
        else
            (void)i::failed(status(), error());
    }

    tn_fn *get() const { return f_.get(); }
    explicit operator bool() const { return get() != nullptr; }
    context owned_by() const { return context(o_); }
    /* Why it is empty. */
    const char *error() const { return o_ && o_->c ? tn_error(o_->c) : why_; }
    tn_status status() const {
        return get() ? TN_OK : o_ && o_->c && tn_last_status(o_->c) ? tn_last_status(o_->c) : TN_EINVAL;
    }

    size_t inputs() const { return get() ? tn_fn_inputs(get()) : 0; }
    size_t outputs() const { return get() ? tn_fn_outputs(get()) : 0; }
    size_t equations() const { return get() ? tn_fn_equations(get()) : 0; }
    tn_type input_type(size_t i) const { return tn_fn_input_type(get(), i); }
    tn_type output_type(size_t i) const { return tn_fn_output_type(get(), i); }
    /* Its text (docs/ir.md); "" when it is empty. */
    std::string text() const {
        size_t n = 0;
        char *s = get() ? tn_fn_print(get(), &n) : nullptr;
        if (!s) return {};
        const std::unique_ptr<char, std::function<void(char *)>> held(s, [this](char *p) { tn_text_free(o_->c, p); });
        return std::string(s, n);
    }

    /* Calls it on values of a trace of its context (tn_apply): its output, or with call() all of them. */
    template <class... T> val operator()(operand x, T... more) const {
        const tn_val all[] = {x.v, val(more)...};
        return tn_apply_at(get(), sizeof...(T) + 1, all, x.at.file, x.at.line);
    }
    std::vector<val> call(const vals &x, place at = place::here()) const {
        std::vector<tn_val> out(outputs());
        tn_apply_many_at(get(), x.size(), x.data(), out.size(), out.data(), at.file, at.line);
        return std::vector<val>(out.begin(), out.end());
    }
};

/* ---- several values ---------------------------------------------------------------------
 *
 * Where a body takes or returns several values, as the carries of a loop, they are a std::array<tn::val, N> (take it
 * apart by auto [x, v]), or a std::vector<tn::val> where their number is not known when compiling; a std::tuple or
 * std::pair of values is given as a std::array.  many(x, v) makes one, of numbers too; none is no value. */
template <class... T> inline std::array<val, sizeof...(T)> many(const T &...x) { return {{val(x)...}}; }
using none = std::array<val, 0>;

namespace i {

constexpr size_t dynamic = SIZE_MAX;

/* How T holds values: their number, what a body sees in its place, and both ways between it and C's arrays. */
template <class T, class = void> struct pack {
    static_assert(!std::is_same<T, T>::value, "a body takes and returns tn::val, several of them as std::array, tuple, "
                                              "pair or vector of tn::val, or tn::none");
};
template <class T> struct pack<T, std::enable_if_t<std::is_convertible<T, val>::value>> {
    static constexpr size_t fixed = 1;
    using as = val;
    static size_t count(const T &) { return 1; }
    static void put(const T &x, tn_val *to) { to[0] = val(x); }
    static as get(const tn_val *from, size_t) { return from[0]; }
};
template <size_t N> struct pack_n {
    static constexpr size_t fixed = N;
    using as = std::array<val, N>;
    template <class T> static size_t count(const T &) { return N; }
    static as get(const tn_val *from, size_t) {
        as x{};
        for (size_t i = 0; i < N; i++) x[i] = from[i];
        return x;
    }
    template <class T> static void put(const T &x, tn_val *to) {
        (void)to;
        std::apply([&](const auto &...v) { (void)std::initializer_list<int>{0, ((void)(*to++ = val(v)), 0)...}; }, x);
    }
};
template <size_t N> struct pack<std::array<val, N>> : pack_n<N> {};
template <class... T> struct pack<std::tuple<T...>> : pack_n<sizeof...(T)> {};
template <class A, class B> struct pack<std::pair<A, B>> : pack_n<2> {};
template <> struct pack<std::vector<val>> {
    static constexpr size_t fixed = dynamic;
    using as = std::vector<val>;
    static size_t count(const as &x) { return x.size(); }
    static void put(const as &x, tn_val *to) {
        for (const val &v : x) *to++ = v;
    }
    static as get(const tn_val *from, size_t n) { return as(from, from + n); }
};
template <class T> using pack_of = pack<bare<T>>;
template <class T> using as_of = typename pack_of<T>::as;
template <class T> inline std::vector<tn_val> listed(const T &x) {
    std::vector<tn_val> v(pack_of<T>::count(x));
    pack_of<T>::put(x, v.data());
    return v;
}

/* f of N values, one by one. */
template <class F, size_t... I> inline decltype(auto) spread(F &f, const tn_val *in, std::index_sequence<I...>) {
    (void)in;
    return f(val(in[I])...);
}
template <size_t N, class F>
using result_n = bare<decltype(spread(std::declval<F &>(), nullptr, std::make_index_sequence<N>()))>;
template <size_t N, class F> inline result_n<N, F> call_n(F &f, const tn_val *in) {
    return spread(f, in, std::make_index_sequence<N>());
}
/* How many values f of N values returns; it must be known. */
template <size_t N, class F> constexpr size_t results_n() {
    static_assert(pack<result_n<N, F>>::fixed != dynamic,
                  "how many values this body returns must be known: return a std::array, or tn::many(..)");
    return pack<result_n<N, F>>::fixed;
}

/* What bodies that are called while tracing share: who is told what they throw, and how many values they make. */
struct frame {
    tn_ctx *c;
    place at;
    size_t nout;
    std::exception_ptr thrown = nullptr;

    /* Calls f, which makes `out`; where it throws, the trace fails. */
    template <class F> void run(tn_val *out, F &&f) noexcept {
        for (size_t i = 0; i < nout; i++) out[i] = tn_val{};
#if TN_I_THROWS
        try {
            f();
        } catch (...) {
            if (!thrown) thrown = std::current_exception();
            stop("an exception left the body");
        }
#else
        f();
#endif
    }
    void stop(const char *why) const {
        if (c) (void)tn_fail_at(c, TN_ECALLBACK, "C++", why, at.file, at.line);
    }
    /* x, which a body returned, as `out`. */
    template <class T> void give(const T &x, tn_val *out) const {
        if (pack_of<T>::count(x) == nout)
            pack_of<T>::put(x, out);
        else
            stop("a body returns another number of values than the loop carries");
    }
    void rethrow() const {
#if TN_I_THROWS
        if (thrown) std::rethrow_exception(thrown);
#endif
    }
};
inline tn_ctx *context_in(const std::vector<tn_val> &x) {
    for (const tn_val &v : x)
        if (v.ctx) return v.ctx;
    return nullptr;
}

/* Several bodies that get the same N values, as C's callbacks. */
template <size_t N, class... F> struct bodies : frame {
    std::tuple<F *...> f;
    bodies(tn_ctx *c_, place at_, size_t nout_, F &...f_) : frame{c_, at_, nout_}, f(&f_...) {}
    template <size_t K> static void many(const tn_val *in, tn_val *out, void *user) {
        bodies &b = *static_cast<bodies *>(user);
        b.run(out, [&] { b.give(call_n<N>(*std::get<K>(b.f), in), out); });
    }
    /* One that returns one value (nout is 1). */
    template <size_t K> static tn_val one(const tn_val *in, void *user) {
        bodies &b = *static_cast<bodies *>(user);
        tn_val out{};
        b.run(&out, [&] { out = val(call_n<N>(*std::get<K>(b.f), in)); });
        return out;
    }
};
template <class B, size_t... K> inline std::array<tn_trace_many_fn, sizeof...(K)> callbacks(std::index_sequence<K...>) {
    return {{B::template many<K>...}};
}

} // namespace i

/* ---- tracing ------------------------------------------------------------------------------ */

/* The program that f performs on inputs of these types (tn_trace): f(tn::val, ..) with a value for each, or with one
 * const std::vector<tn::val> &, returns a tn::val, a std::array or std::tuple of values (several outputs).
 * Errors: those of tn_trace; what f throws. */
namespace i {
template <class F> struct traced_list : frame {
    F *f;
    size_t nin;
    static void many(const tn_val *in, tn_val *out, void *user) {
        traced_list &b = *static_cast<traced_list *>(user);
        b.run(out, [&] { b.give((*b.f)(std::vector<val>(in, in + b.nin)), out); });
    }
};
template <class F> inline program trace_list(const context &c, place at, F &f, const std::vector<tn_type> &in) {
    using R = bare<decltype(f(std::vector<val>()))>;
    static_assert(pack<R>::fixed != dynamic,
                  "how many outputs there are must be known: return a std::array, or tn::many(..)");
    traced_list<F> b{{c.get(), at, pack<R>::fixed}, &f, in.size()};
    tn_fn *p = tn_trace_many_at(c.get(), b.many, &b, in.size(), in.data(), b.nout, at.file, at.line);
    b.rethrow();
    return program(c, p);
}
/* A context that a function is given, and where. */
struct home {
    const context &c;
    place at;
    home(const context &c_, place at_ = place::here()) : c(c_), at(at_) {}
};
template <class F, class... T> using takes_n = std::is_invocable<F &, std::conditional_t<true, val, T>...>;
} // namespace i

template <class F> inline program trace(i::home h, F &&f, const std::vector<tn_type> &in) {
    return i::trace_list(h.c, h.at, f, in);
}
template <class F, class... T, std::enable_if_t<(std::is_same<T, tn_type>::value && ...), int> = 0>
inline program trace(i::home h, F &&f, const T &...in) {
    using B = std::remove_reference_t<F>;
    if constexpr (i::takes_n<B, T...>::value) {
        constexpr size_t nin = sizeof...(T);
        const tn_type types[] = {in..., tn_type{TN_NDTYPES, 0, {}, nullptr}};
        i::bodies<nin, B> b(h.c.get(), h.at, i::results_n<nin, B>(), f);
        tn_fn *p = tn_trace_many_at(h.c.get(), b.template many<0>, &b, nin, types, b.nout, h.at.file, h.at.line);
        b.rethrow();
        return program(h.c, p);
    } else {
        static_assert(std::is_invocable<B &, const std::vector<val> &>::value,
                      "the function takes a tn::val for each type, or a const std::vector<tn::val> &");
        return i::trace_list(h.c, h.at, f, {in...});
    }
}
/* A program from its text (tn_fn_parse); messages speak of `name`. */
inline program parse(const context &c, const std::string &s, const char *name = "text") {
    return program(c, c ? tn_fn_parse(c.get(), s.data(), s.size(), name) : nullptr);
}

/* ---- loops and branches ------------------------------------------------------------------------
 *
 * Bodies are called once, while tracing, and may use any value of the traces around them.  What a loop carries keeps
 * its types.  Errors: those of <tansy/loops.h>; what a body throws. */

/* {"revolve:8"}: a schedule; {nullptr, true}: from the last step to the first; the number of steps of a scan that reads
 * no arrays. */
struct loop {
    const char *schedule = nullptr;
    bool reverse = false;
    int64_t length = TN_LENGTH_OF_XS;
};
namespace i {
inline tn_loop_options options_of(const loop &l) {
    auto o = tn_sized<tn_loop_options>();
    o.schedule = l.schedule;
    o.reverse = l.reverse;
    return o;
}
template <class F, class Carry, class Xs> struct scan_body : frame {
    F *f;
    size_t ncarry, nx, ny;
    static auto of(F &f, const as_of<Carry> &carry, const as_of<Xs> &x) {
        if constexpr (pack_of<Xs>::fixed == 0 && std::is_invocable<F &, const as_of<Carry> &>::value) {
            (void)x;
            return f(carry);
        } else {
            return f(carry, x);
        }
    }
    static void step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
        scan_body &b = *static_cast<scan_body *>(user);
        for (size_t i = 0; i < b.ny; i++) y[i] = tn_val{};
        b.run(next, [&] {
            const auto r = of(*b.f, pack_of<Carry>::get(carry, b.ncarry), pack_of<Xs>::get(x, b.nx));
            b.give(std::get<0>(r), next);
            pack_of<decltype(std::get<1>(r))>::put(std::get<1>(r), y);
        });
    }
};
template <class F, class Carry> struct while_body : frame {
    static tn_val condition(const tn_val *in, void *user) {
        while_body &b = *static_cast<while_body *>(user);
        tn_val out{};
        const size_t n = std::exchange(b.nout, size_t{1});
        b.run(&out, [&] { out = val(std::get<0>(*b.f)(pack_of<Carry>::get(in, n))); });
        b.nout = n;
        return out;
    }
    static void body(const tn_val *in, tn_val *out, void *user) {
        while_body &b = *static_cast<while_body *>(user);
        b.run(out, [&] { b.give(std::get<1>(*b.f)(pack_of<Carry>::get(in, b.nout)), out); });
    }
    static void step(tn_val i, const tn_val *in, tn_val *out, void *user) {
        while_body &b = *static_cast<while_body *>(user);
        b.run(out, [&] { b.give((*b.f)(val(i), pack_of<Carry>::get(in, b.nout)), out); });
    }
    F *f;
};
} // namespace i

/* f(carry, x) returns std::pair(next carry, y) (or a tuple of two) for one entry x of each of xs; the result is a pair
 * of the last carry and the ys, stacked (tn_scan).  Without xs: tn::none(), f(carry), and a length in `how`.
 *
 *     auto [sum, sums] = tn::scan([](tn::val s, tn::val x) { return std::pair(s + x, s + x); }, tn::val(0.0), xs); */
template <class F, class Carry, class Xs>
inline auto scan(F &&f, const Carry &init, const Xs &xs, const loop &how = {}, place at = place::here()) {
    using B = i::scan_body<std::remove_reference_t<F>, Carry, Xs>;
    using R = decltype(B::of(f, std::declval<i::as_of<Carry>>(), std::declval<i::as_of<Xs>>()));
    static_assert(std::tuple_size<R>::value == 2, "the body of a scan returns std::pair(next, y)");
    using Y = i::bare<std::tuple_element_t<1, R>>;
    static_assert(i::pack<Y>::fixed != i::dynamic,
                  "how many ys there are must be known: use a std::array, or tn::many(..)");
    const std::vector<tn_val> from = i::listed(init), x = i::listed(xs);
    std::vector<tn_val> to(from.size()), ys(i::pack<Y>::fixed);
    tn_ctx *c = i::context_in(from) ? i::context_in(from) : i::context_in(x);
    B b{{c, at, from.size()}, &f, from.size(), x.size(), ys.size()};
    auto a = tn_sized<tn_scan_args>();
    a.ncarry = from.size();
    a.init = from.data();
    a.carry = to.data();
    a.nx = x.size();
    a.xs = x.data();
    a.ny = ys.size();
    a.ys = ys.data();
    a.length = how.length;
    a.reverse = how.reverse;
    a.schedule = how.schedule;
    tn_scan_at(c, B::step, &b, &a, at.file, at.line);
    b.rethrow();
    return std::make_pair(i::pack_of<Carry>::get(to.data(), to.size()), i::pack<Y>::get(ys.data(), ys.size()));
}

/* The carry after f(i, carry) for i = lower .. upper - 1 (tn_fori); bounds are whole numbers or values. */
template <class F, class Carry>
inline auto fori(mixed lower, mixed upper, F &&f, const Carry &init, const loop &how = {}, place at = place::here()) {
    using B = i::while_body<std::remove_reference_t<F>, Carry>;
    std::vector<tn_val> x = i::listed(init);
    tn_ctx *c = lower.v.ctx ? lower.v.ctx : upper.v.ctx ? upper.v.ctx : i::context_in(x);
    B b{{c, at, x.size()}, &f};
    const tn_loop_options o = i::options_of(how);
    tn_fori_at(c, lower.v, upper.v, B::step, &b, x.size(), x.data(), x.data(), &o, at.file, at.line);
    b.rethrow();
    return i::pack_of<Carry>::get(x.data(), x.size());
}

/* The first carry for which cond(carry), a bool, does not hold, with body(carry) as step (tn_while_loop). */
template <class C, class F, class Carry>
inline auto while_loop(C &&cond, F &&body, const Carry &init, const loop &how = {}, place at = place::here()) {
    std::tuple<std::remove_reference_t<C> &, std::remove_reference_t<F> &> both(cond, body);
    using B = i::while_body<decltype(both), Carry>;
    std::vector<tn_val> x = i::listed(init);
    tn_ctx *c = i::context_in(x);
    B b{{c, at, x.size()}, &both};
    const tn_loop_options o = i::options_of(how);
    tn_while_loop_at(c, B::condition, B::body, &b, x.size(), x.data(), x.data(), &o, at.file, at.line);
    b.rethrow();
    return i::pack_of<Carry>::get(x.data(), x.size());
}

/* How odeint solves: names and numbers of tn_ode_options. */
struct ode {
    double rtol = 1e-8, atol = 1e-8;
    int64_t max_steps = 4096; /* accepted and rejected ones */
    const char *solver = nullptr, *adjoint = nullptr;
};
namespace i {
template <class F, size_t N> struct field_body : frame {
    F *f;
    template <size_t... K> static val of(F &f, tn_val t, tn_val y, const tn_val *p, std::index_sequence<K...>) {
        (void)p;
        return f(val(t), val(y), val(p[K])...);
    }
    static void field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
        field_body &b = *static_cast<field_body *>(user);
        b.run(dy, [&] { *dy = of(*b.f, t, y[0], p, std::make_index_sequence<N>()); });
    }
};
} // namespace i

/* The solution of dy/dt = f(t, y, p..) at the times ts, f64 [m], in order, of which the first is where y is y0: [m, ..]
 * (tn_ode_solve by adaptive steps).  y is one array; derivatives are with respect to y0, ts and p, and what f captures.
 * A solve that does not reach the last time, in max_steps or because of NaN, stops the call (TN_EASSERT).  Errors:
 * those of tn_ode_solve; TN_EINVAL for times that are no row; what f throws. */
template <class F, class... P> inline val odeint(F &&f, operand y0, operand ts, const ode &how, const P &...p) {
    using B = i::field_body<std::remove_reference_t<F>, sizeof...(P)>;
    const place at = ts.at;
    const tn_val params[] = {val(p)..., tn_val{}};
    const val times = ts.v;
    val y, at_times;
    B b{{tn_val_ctx(times), at, 1}, &f};
    auto problem = tn_sized<tn_ode_problem>();
    problem.field = B::field;
    problem.user = &b;
    problem.nstate = 1;
    problem.y0 = &y0.v;
    problem.nparams = sizeof...(P);
    problem.params = params;
    problem.t0 = tn_at_at(times, tn_ints(0), at.file, at.line);
    problem.t1 = tn_at_at(times, tn_ints(-1), at.file, at.line);
    auto options = tn_sized<tn_ode_options>();
    options.rtol = how.rtol;
    options.atol = how.atol;
    options.max_steps = how.max_steps;
    options.solver = how.solver;
    options.adjoint = how.adjoint;
    options.ts = times;
    auto s = tn_sized<tn_ode_solution>();
    s.y = &y;
    s.ts_y = &at_times;
    tn_ode_solve_at(&problem, &options, &s, at.file, at.line);
    b.rethrow();
    tn_assert_at(tn_eq_at(s.status, tn_number_i64(TN_ODE_SUCCESS), at.file, at.line),
                 "odeint: the solve did not reach the last time", at.file, at.line);
    return at_times;
}

/* yes(x..) where pred, a bool scalar, holds when the program runs, else no(x..): one of them only (tn_cond). */
template <class F, class G, class... T> inline auto cond(operand pred, F &&yes, G &&no, const T &...x) {
    using Y = std::remove_reference_t<F>;
    using N = std::remove_reference_t<G>;
    constexpr size_t n = sizeof...(T), nout = i::results_n<n, Y>();
    static_assert(nout == i::results_n<n, N>(), "both branches return as many values");
    const std::array<tn_val, n + 1> in = {{val(x)..., tn_val{}}};
    tn_val out[nout + 1];
    i::bodies<n, Y, N> b(tn_val_ctx(pred.v), pred.at, nout, yes, no);
    tn_cond_many_at(pred.v, b.template many<0>, b.template many<1>, &b, n, in.data(), nout, out, pred.at.file,
                    pred.at.line);
    b.rethrow();
    return i::pack<i::result_n<n, Y>>::get(out, nout);
}
/* branch number `i` of these (tn_switch), which take no arguments: they use the values around them. */
template <class F, class... G> inline auto choose(operand i, F &&first, G &&...more) {
    constexpr size_t nout = i::results_n<0, std::remove_reference_t<F>>(), n = 1 + sizeof...(G);
    static_assert(((nout == i::results_n<0, std::remove_reference_t<G>>()) && ...),
                  "all branches return as many values");
    using B = i::bodies<0, std::remove_reference_t<F>, std::remove_reference_t<G>...>;
    tn_val out[nout + 1];
    B b(tn_val_ctx(i.v), i.at, nout, first, more...);
    const auto branch = i::callbacks<B>(std::make_index_sequence<n>());
    tn_switch_at(i.v, n, branch.data(), &b, 0, nullptr, nout, out, i.at.file, i.at.line);
    b.rethrow();
    return i::pack<i::result_n<0, std::remove_reference_t<F>>>::get(out, nout);
}
/* The number of the step of the innermost loop (tn_loop_step). */
inline val loop_step(i::site c) { return tn_loop_step_at(c.c, c.at.file, c.at.line); }

/* ---- nested programs, and rules of your own -------------------------------------------------------- */

/* f(x..) as a nested program of this name (tn_subfn). */
template <class F, class... T> inline auto subfn(text name, F &&f, operand x, const T &...more) {
    using B = i::bodies<1 + sizeof...(T), std::remove_reference_t<F>>;
    constexpr size_t n = 1 + sizeof...(T), nout = i::results_n<n, std::remove_reference_t<F>>();
    const tn_val in[] = {x.v, val(more)...};
    tn_val out[nout + 1];
    B b(tn_val_ctx(x.v), name.at, nout, f);
    tn_subfn_many_at(name.s, B::template many<0>, &b, n, in, nout, out, name.at.file, name.at.line);
    b.rethrow();
    return i::pack<i::result_n<n, std::remove_reference_t<F>>>::get(out, nout);
}
/* f(x..) as a region with a policy of its own (tn_checkpoint): "nothing_saveable", .. */
template <class F, class... T> inline auto checkpoint(text policy, F &&f, operand x, const T &...more) {
    using B = i::bodies<1 + sizeof...(T), std::remove_reference_t<F>>;
    constexpr size_t n = 1 + sizeof...(T), nout = i::results_n<n, std::remove_reference_t<F>>();
    const tn_val in[] = {x.v, val(more)...};
    tn_val out[nout + 1];
    B b(tn_val_ctx(x.v), policy.at, nout, f);
    const auto p = tn_policy_by_name(policy.s);
    tn_checkpoint_many_at(B::template many<0>, policy.s ? static_cast<const tn_policy *>(p) : nullptr, &b, n, in, nout,
                          out, policy.at.file, policy.at.line);
    b.rethrow();
    return i::pack<i::result_n<n, std::remove_reference_t<F>>>::get(out, nout);
}
namespace i {
/* A function of N floats with a rule: the rule gets M values. */
template <size_t N, size_t M, class F, class G, class H> struct ruled : frame {
    F *f;
    G *g; /* jvp, or fwd */
    H *h; /* bwd */
    size_t nrule;
    template <size_t K, class T> void call(T &t, const tn_val *in, tn_val *out, size_t n) {
        const size_t before = std::exchange(nout, n);
        run(out, [&] { give(call_n<K>(t, in), out); });
        nout = before;
    }
    static void body(const tn_val *in, tn_val *out, void *user) {
        ruled &b = *static_cast<ruled *>(user);
        b.template call<N>(*b.f, in, out, b.nout);
    }
    static void jvp(const tn_val *in, tn_val *out, void *user) {
        ruled &b = *static_cast<ruled *>(user);
        b.template call<M>(*b.g, in, out, b.nout);
    }
    static void fwd(const tn_val *in, tn_val *out, void *user) {
        ruled &b = *static_cast<ruled *>(user);
        b.template call<N>(*b.g, in, out, b.nrule);
    }
    static void bwd(const tn_val *in, tn_val *out, void *user) {
        ruled &b = *static_cast<ruled *>(user);
        b.template call<M>(*b.h, in, out, N);
    }
};
inline bool floats(const tn_val *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (const int d = tn_val_type(x[i]).dtype; d != TN_F32 && d != TN_F64 && tn_rank(x[i]) >= 0) return false;
    return true;
}
constexpr const char *want_floats = "operands of a rule are float arrays here; for others there is the C function";
} // namespace i
/* f(x..) with a forward rule (tn_custom_jvp): jvp(x.., dx..), as many dx as x, returns the tangents of what f returns.
 * Operands and results are floats (TN_ETYPE). */
template <class F, class G, class... T> inline auto custom_jvp(F &&f, G &&jvp, operand x, const T &...more) {
    constexpr size_t n = 1 + sizeof...(T), nout = i::results_n<n, std::remove_reference_t<F>>();
    using B = i::ruled<n, 2 * n, std::remove_reference_t<F>, std::remove_reference_t<G>, int>;
    const tn_val in[] = {x.v, val(more)...};
    tn_val out[nout + 1];
    if (!i::floats(in, n))
        (void)tn_fail_at(tn_val_ctx(x.v), TN_ETYPE, "custom_jvp", i::want_floats, x.at.file, x.at.line);
    B b{{tn_val_ctx(x.v), x.at, nout}, &f, &jvp, nullptr, 0};
    tn_custom_jvp_many_at(B::body, B::jvp, &b, n, in, nout, out, x.at.file, x.at.line);
    b.rethrow();
    return i::pack<i::result_n<n, std::remove_reference_t<F>>>::get(out, nout);
}
/* f(x..) with a reverse rule (tn_custom_vjp): fwd(x..) returns what f returns and then the residuals; bwd(residuals..,
 * cotangents of what f returns..) the cotangents of x.. .  Operands and results are floats (TN_ETYPE). */
template <class F, class G, class H, class... T>
inline auto custom_vjp(F &&f, G &&fwd, H &&bwd, operand x, const T &...more) {
    constexpr size_t n = 1 + sizeof...(T), nout = i::results_n<n, std::remove_reference_t<F>>();
    constexpr size_t nfwd = i::results_n<n, std::remove_reference_t<G>>();
    static_assert(nfwd >= nout, "fwd returns what f returns, and residuals behind it");
    using B = i::ruled<n, nfwd, std::remove_reference_t<F>, std::remove_reference_t<G>, std::remove_reference_t<H>>;
    const tn_val in[] = {x.v, val(more)...};
    tn_val out[nout + 1];
    if (!i::floats(in, n))
        (void)tn_fail_at(tn_val_ctx(x.v), TN_ETYPE, "custom_vjp", i::want_floats, x.at.file, x.at.line);
    B b{{tn_val_ctx(x.v), x.at, nout}, &f, &fwd, &bwd, nfwd};
    tn_custom_vjp_many_at(B::body, B::fwd, nfwd - nout, B::bwd, &b, n, in, nout, out, x.at.file, x.at.line);
    b.rethrow();
    return i::pack<i::result_n<n, std::remove_reference_t<F>>>::get(out, nout);
}
/* x with f(x, p..) = 0, as solve(x0, p..) finds it, with the derivative of the implicit function (tn_custom_root). */
template <class F, class G, class... T> inline val custom_root(F &&f, G &&solve, operand x0, const T &...p) {
    constexpr size_t n = sizeof...(T);
    const std::array<tn_val, n + 1> in = {{val(p)..., tn_val{}}};
    i::bodies<n + 1, std::remove_reference_t<F>, std::remove_reference_t<G>> b(tn_val_ctx(x0.v), x0.at, 1, f, solve);
    const val x = tn_custom_root_at(b.template one<0>, b.template one<1>, nullptr, &b, x0.v, n, in.data(), nullptr,
                                    x0.at.file, x0.at.line);
    b.rethrow();
    return x;
}
namespace i {
template <bool Symmetric, class A, class S, class T, class... P>
val linear_solve(A &matvec, S &solve, T &transpose_solve, operand b, const P &...p) {
    constexpr size_t n = sizeof...(P);
    const std::array<tn_val, n + 1> in = {{val(p)..., tn_val{}}};
    bodies<n + 1, A, S, T> body(tn_val_ctx(b.v), b.at, 1, matvec, solve, transpose_solve);
    const val x =
        tn_custom_linear_solve_at(body.template one<0>, body.template one<1>, body.template one < Symmetric ? 1 : 2 >,
                                  &body, n, in.data(), b.v, b.at.file, b.at.line);
    body.rethrow();
    return x;
}
} // namespace i
/* x with matvec(p.., x) = b, as solve(p.., b) finds it; transpose_solve(p.., b) solves with the transposed matrix
 * (tn_custom_linear_solve).  Without it the matrix is symmetric. */
template <class A, class S, class T, class... P, class = std::enable_if_t<!std::is_convertible<T &&, operand>::value>>
inline val custom_linear_solve(A &&matvec, S &&solve, T &&transpose_solve, operand b, const P &...p) {
    return i::linear_solve<false>(matvec, solve, transpose_solve, b, p...);
}
template <class A, class S, class... P>
inline val custom_linear_solve(A &&matvec, S &&solve, operand b, const P &...p) {
    return i::linear_solve<true>(matvec, solve, solve, b, p...);
}
/* How cg and gmres solve: the numbers of tn_krylov_options. */
struct krylov {
    double tol = 0, atol = 0;
    int64_t maxiter = 0, restart = 0;
    bool inexact = false;
};
/* x, and what the solve tells (tn_krylov_info): structured bindings take them apart. */
struct krylov_solution {
    val x, iterations, residual, converged;
};
namespace i {
template <class S, class A, class... M>
inline krylov_solution krylov_solve(S solver, operand b, const krylov &how, A &matvec, M &...preconditioner) {
    bodies<1, A, M...> body(tn_val_ctx(b.v), b.at, 1, matvec, preconditioner...);
    auto options = tn_sized<tn_krylov_options>();
    options.tol = how.tol;
    options.atol = how.atol;
    options.maxiter = how.maxiter;
    options.restart = how.restart;
    options.inexact = how.inexact;
    if constexpr (sizeof...(M) == 1) options.preconditioner = body.template one<1>;
    auto info = tn_sized<tn_krylov_info>();
    const val x = solver(body.template one<0>, &body, b.v, &options, &info, b.at.file, b.at.line);
    body.rethrow();
    return {x, info.iterations, info.residual, info.converged};
}
template <class F> using if_function = std::enable_if_t<!std::is_convertible<F &&, operand>::value, int>;
} // namespace i
/* x with matvec(x) = b, by conjugate gradients, where it is symmetric and positive definite (tn_cg); by GMRES, where it
 * is any invertible one (tn_gmres).  preconditioner(x) is nearly its inverse.
 *
 *     auto [x, iterations, residual, converged] = tn::cg([&](tn::val x) { return matmul(a, x); }, b, {1e-10}); */
template <class A> inline krylov_solution cg(A &&matvec, operand b, const krylov &how = {}) {
    return i::krylov_solve(tn_cg_at, b, how, matvec);
}
template <class A, class M, i::if_function<M> = 0>
inline krylov_solution cg(A &&matvec, M &&preconditioner, operand b, const krylov &how = {}) {
    return i::krylov_solve(tn_cg_at, b, how, matvec, preconditioner);
}
template <class A> inline krylov_solution gmres(A &&matvec, operand b, const krylov &how = {}) {
    return i::krylov_solve(tn_gmres_at, b, how, matvec);
}
template <class A, class M, i::if_function<M> = 0>
inline krylov_solution gmres(A &&matvec, M &&preconditioner, operand b, const krylov &how = {}) {
    return i::krylov_solve(tn_gmres_at, b, how, matvec, preconditioner);
}
/* The transpose of f, which is linear in its one argument of type x, at ct (tn_linear_transpose). */
template <class F> inline val linear_transpose(F &&f, const tn_type &x, operand ct) {
    i::bodies<1, std::remove_reference_t<F>> b(tn_val_ctx(ct.v), ct.at, 1, f);
    const val y = tn_linear_transpose_at(b.template one<0>, &b, x, ct.v, ct.at.file, ct.at.line);
    b.rethrow();
    return y;
}
/* Calls the external function of this name (context::add), which has N outputs: a value, or N of them. */
template <size_t N = 1, class... T> inline auto external(text name, operand x, const T &...more) {
    const tn_val in[] = {x.v, val(more)...};
    tn_val out[N + 1];
    tn_external_many_at(tn_val_ctx(x.v), name.s, 1 + sizeof...(T), in, N, out, name.at.file, name.at.line);
    return i::pack<std::conditional_t<N == 1, val, std::array<val, N>>>::get(out, N);
}
/* Tells the observer (tn_print); stops the call unless all of cond holds (tn_assert). */
template <class... T> inline void print(text s, operand x, const T &...more) {
    const tn_val in[] = {x.v, val(more)...};
    tn_print_at(tn_val_ctx(x.v), s.s, 1 + sizeof...(T), in, s.at.file, s.at.line);
}
inline void require(operand cond, const char *s) { tn_assert_at(cond.v, s, cond.at.file, cond.at.line); }

/* ---- transformations -------------------------------------------------------------------------------
 *
 * Those of <tansy.h>, of programs.  Errors: those of the C function; TN_EINVAL for an empty program. */

/* Which inputs are differentiated: 0, or {0, 2}; all float inputs where nothing is said. */
class wrt {
    std::vector<int> v_;
    bool all_;
    tn_wrt_list list_{};

  public:
    wrt() : all_(true) {}
    wrt(int i) : v_{i}, all_(false) {}
    wrt(std::initializer_list<int> x) : v_(x), all_(false) {}
    wrt(std::vector<int> x) : v_(std::move(x)), all_(false) {}
    const tn_wrt_list *get() {
        list_.n = v_.size();
        list_.index = v_.data();
        return all_ ? nullptr : &list_;
    }
};

/* What a derivative keeps: the default, a name ("dots_saveable"), or a function that is asked. */
class policy {
    std::string name_;
    std::function<tn_verdict(const tn_candidate &)> ask_;
    tn_policy p_{};

  public:
    policy() {}
    policy(const char *name) : name_(name ? name : "") {}
    policy(std::string name) : name_(std::move(name)) {}
    template <class F, std::enable_if_t<std::is_invocable_r<tn_verdict, F &, const tn_candidate &>::value, int> = 0>
    policy(F ask) : ask_(std::move(ask)) {}
    const tn_policy *get() {
        p_.size = sizeof p_;
        if (ask_) {
            p_.user = this;
            p_.callback = [](void *user, const tn_candidate *c) {
                tn_verdict v = TN_SAVE;
                (void)i::called_by_c([&] {
                    v = static_cast<policy *>(user)->ask_(*c);
                    return 0;
                });
                return v;
            };
        } else {
            p_.name = name_.c_str();
        }
        return ask_ || !name_.empty() ? &p_ : nullptr;
    }
};

namespace i {
/* What make, which is given the C program, makes of f.  What a policy throws comes out. */
template <class F> inline program derived(const program &f, F &&make) {
    if (!f) {
        (void)failed(TN_EINVAL, "the program is empty");
        return f;
    }
    std::exception_ptr thrown, *before = std::exchange(thrown_to(), &thrown);
    tn_fn *g = make(f.get());
    thrown_to() = before;
#if TN_I_THROWS
    if (thrown) {
        tn_fn_free(g);
        std::rethrow_exception(thrown);
    }
#endif
    return program(f.owned_by(), g);
}
} // namespace i

/* (x.., dx..) -> (y.., dy..) */
inline program jvp(const program &f, wrt w = {}) {
    return i::derived(f, [&](tn_fn *p) { return tn_jvp(p, w.get()); });
}
/* (x.., ct..) -> (y.., ct of w..) */
inline program vjp(const program &f, wrt w = {}, policy p = {}) {
    return i::derived(f, [&](tn_fn *g) { return tn_vjp(g, w.get(), p.get()); });
}
/* x.. -> gradients, or (y, gradients..), or with further outputs (y, aux.., gradients..) */
inline program grad(const program &f, wrt w = {}, policy p = {}) {
    return i::derived(f, [&](tn_fn *g) { return tn_grad(g, w.get(), p.get()); });
}
inline program value_and_grad(const program &f, wrt w = {}, policy p = {}) {
    return i::derived(f, [&](tn_fn *g) { return tn_value_and_grad(g, w.get(), p.get()); });
}
inline program value_and_grad_aux(const program &f, wrt w = {}, policy p = {}) {
    return i::derived(f, [&](tn_fn *g) { return tn_value_and_grad_aux(g, w.get(), p.get()); });
}
/* (x.., v..) -> H v.. */
inline program hvp(const program &f, wrt w = {}, policy p = {}) {
    return i::derived(f, [&](tn_fn *g) { return tn_hvp(g, w.get(), p.get()); });
}
/* Jacobians and Hessians, dense; `block` bounds the directions that are pushed at once. */
inline program jacfwd(const program &f, wrt w = {}, size_t block = 0) {
    return i::derived(f, [&](tn_fn *g) { return tn_jacfwd(g, w.get(), block); });
}
inline program jacrev(const program &f, wrt w = {}, policy p = {}, size_t block = 0) {
    return i::derived(f, [&](tn_fn *g) { return tn_jacrev(g, w.get(), p.get(), block); });
}
inline program value_and_jacobian(const program &f, wrt w = {}, policy p = {}, size_t block = 0) {
    return i::derived(f, [&](tn_fn *g) { return tn_value_and_jacobian(g, w.get(), p.get(), block); });
}
inline program hessian(const program &f, wrt w = {}, policy p = {}, size_t block = 0) {
    return i::derived(f, [&](tn_fn *g) { return tn_hessian(g, w.get(), p.get(), block); });
}
inline program hessian_aux(const program &f, wrt w = {}, policy p = {}, size_t block = 0) {
    return i::derived(f, [&](tn_fn *g) { return tn_hessian_aux(g, w.get(), p.get(), block); });
}
/* The two halves of forward mode, and the transpose of the second. */
struct linearized {
    program primal, linear;
};
inline linearized linearize(const program &f, wrt w = {}, policy p = {}) {
    tn_linearized l{};
    linearized r;
    r.primal = i::derived(f, [&](tn_fn *g) { return (l = tn_linearize(g, w.get(), p.get())).primal; });
    r.linear = i::derived(r.primal, [&](tn_fn *) { return l.linear; });
    return r;
}
inline program transpose(const program &linear) {
    return i::derived(linear, [&](tn_fn *g) { return tn_transpose(g); });
}
/* f with these of its outputs. */
inline program select_outputs(const program &f, const ints &outputs) {
    return i::derived(f, [&](tn_fn *g) { return tn_select_outputs(g, outputs); });
}
/* f over a new axis of this size: where inputs and outputs have it, 0 for all where nothing is said, or TN_NOT_MAPPED.
 * TN_EINVAL where a list has not one number for each of them. */
inline program vmap(const program &f, int64_t size, const std::vector<int> &in_axes = {},
                    const std::vector<int> &out_axes = {}) {
    if (f && !in_axes.empty() && in_axes.size() != f.inputs())
        return program("vmap: in_axes has not one axis for each input");
    if (f && !out_axes.empty() && out_axes.size() != f.outputs())
        return program("vmap: out_axes has not one axis for each output");
    return i::derived(f, [&](tn_fn *g) {
        return tn_vmap(g, size, in_axes.empty() ? nullptr : in_axes.data(),
                       out_axes.empty() ? nullptr : out_axes.data());
    });
}

/* ---- buffers ------------------------------------------------------------------------------------------
 *
 * What a call reads and writes: numbers, arrays, std::vector, std::array, std::span, Eigen's vectors, row-major
 * matrices and maps: whatever has data() and size(); pointers, whose length nobody knows; nullptr for an output that is
 * not wanted.  in(..) and out(..) keep addresses: they are for one statement.
 *   Does not compile: elements that no array has (short, long double, structs), an output that is const or a temporary,
 * a matrix of Eigen's by columns (choose Eigen::RowMajor, or tell tn_compile_options.in_strides and give data()).
 *   TN_EINVAL when called: other elements or fewer bytes than the program's arrays, another number of buffers, a map of
 * Eigen's with gaps. */
namespace i {

template <class T, class = void> struct element {
    using type = T;
};
template <class T> struct element<T, std::enable_if_t<std::is_array<T>::value>> {
    using type = typename element<bare<std::remove_all_extents_t<T>>>::type;
};
template <class T, size_t N> struct element<std::array<T, N>> {
    using type = typename element<bare<T>>::type;
};
template <class T> constexpr int dtype_of() {
    using E = typename element<bare<T>>::type;
    static_assert(std::is_void<E>::value || std::is_arithmetic<E>::value, "a buffer has elements that no array has");
    constexpr int d = tn_i_dtype_cxx<E>();
    static_assert(d != TN_BUFFER_NONE, "a buffer has elements that no array has");
    return d;
}
template <class T, class = void> struct is_eigen : std::false_type {};
template <class T>
struct is_eigen<T, std::void_t<decltype(T::IsRowMajor), decltype(T::IsVectorAtCompileTime)>> : std::true_type {};

constexpr const char *with_gaps = "a buffer has gaps between its elements: copy it, or give strides to tn_compile";
constexpr const char *not_written = "an output is const or a temporary: nothing can be written there";

/* A buffer, whether it may be written, and what is wrong with it, or NULL. */
struct described {
    tn_buffer b;
    bool writable;
    const char *wrong;
};
template <class P> inline described at_address(P *p, size_t bytes, const char *wrong = nullptr) {
    tn_buffer b{};
    b.at.in = p;
    b.bytes = bytes;
    b.dtype = dtype_of<P>();
    return {b, !std::is_const<P>::value && !std::is_const<std::remove_all_extents_t<P>>::value, wrong};
}
template <class T> inline described describe(T &&x) {
    using U = std::remove_reference_t<T>;
    using V = bare<T>;
    if constexpr (std::is_null_pointer<V>::value) {
        return {tn_buffer{{nullptr}, 0, TN_BUFFER_ANY}, true, nullptr};
    } else if constexpr (std::is_arithmetic<V>::value) {
        described d = at_address(&x, sizeof x);
        d.writable = d.writable && std::is_lvalue_reference<T>::value;
        return d;
    } else if constexpr (std::is_array<U>::value) {
        return at_address(&x[0], sizeof x);
    } else if constexpr (std::is_pointer<V>::value) {
        return at_address(x, 0);
    } else {
        const char *wrong = nullptr;
        if constexpr (is_eigen<V>::value) {
            static_assert(V::IsRowMajor || V::IsVectorAtCompileTime,
                          "a matrix by columns: arrays are by rows (Eigen::RowMajor)");
            if (x.size() > 1 && x.innerStride() != 1) wrong = with_gaps;
            if (!V::IsVectorAtCompileTime && x.rows() > 1 && x.outerStride() != x.cols()) wrong = with_gaps;
        }
        const auto n = static_cast<size_t>(x.size());
        described d = at_address(x.data(), n * sizeof *x.data(), wrong);
        if (!n) d.b.bytes = 0; /* as not known: nothing is read */
        return d;
    }
}
template <class T> constexpr bool can_write() {
    using U = std::remove_reference_t<T>;
    if constexpr (std::is_null_pointer<bare<T>>::value)
        return true;
    else if constexpr (std::is_arithmetic<U>::value)
        return std::is_lvalue_reference<T>::value && !std::is_const<U>::value;
    else if constexpr (std::is_array<U>::value)
        return !std::is_const<std::remove_all_extents_t<U>>::value;
    else if constexpr (std::is_pointer<bare<T>>::value)
        return !std::is_const<std::remove_pointer_t<bare<T>>>::value;
    else
        return !std::is_const<std::remove_reference_t<decltype(*std::declval<T &>().data())>>::value;
}

} // namespace i

template <class T, std::enable_if_t<!std::is_arithmetic<T>::value, int>> inline val constant(i::site c, const T &x) {
    const tn_buffer b = i::describe(x).b;
    const size_t each = b.dtype == TN_BOOL ? 1 : b.dtype == TN_I64 || b.dtype == TN_F64 ? 8 : 4;
    static_assert(i::dtype_of<decltype(*std::begin(x))>() >= 0, "a constant has elements of a dtype");
    const auto n = static_cast<int64_t>(b.bytes / each);
    return tn_constant_at(c.c, tn_type_of(static_cast<tn_dtype>(b.dtype), 1, &n), b.at.in, c.at.file, c.at.line);
}

struct inputs {
    std::vector<i::described> v;
};
struct outputs {
    std::vector<i::described> v;
};
template <class... T> inline inputs in(T &&...x) { return {{i::describe(std::forward<T>(x))...}}; }
template <class... T> inline outputs out(T &&...x) {
    static_assert((i::can_write<T>() && ...), "an output is const or a temporary: nothing can be written there");
    return {{i::describe(std::forward<T>(x))...}};
}

/* ---- execution ---------------------------------------------------------------------------------------------- */

/* tn_compile_options with their size set: fields as in C, and who hears of prints (a function that is copied). */
struct compile_options : tn_compile_options {
    std::shared_ptr<std::function<int(const tn_effect &)>> heard;
    compile_options() : tn_compile_options{} { size = sizeof(tn_compile_options); }
    compile_options &observe(std::function<int(const tn_effect &)> f) {
        heard = std::make_shared<std::function<int(const tn_effect &)>>(std::move(f));
        observer = hear;
        observer_user = heard.get();
        return *this;
    }
    static int hear(void *user, const tn_effect *e) {
        return i::called_by_c([&] { return (*static_cast<std::function<int(const tn_effect &)> *>(user))(*e); });
    }
};

namespace i {
struct compiled {
    std::shared_ptr<owner> o;
    std::shared_ptr<std::function<int(const tn_effect &)>> heard;
    tn_exec *e = nullptr;
    size_t nin = 0;
    std::atomic<const char *> wrong{nullptr}; /* with the buffers of the last call of tn_call */
    compiled() {}
    compiled(const compiled &) = delete;
    compiled &operator=(const compiled &) = delete;
    ~compiled() { tn_exec_free(e); }
};

/* C's lists of in and out, given to `call`; *wrong says what C cannot know. */
template <class F> inline tn_status with_lists(const inputs &in, const outputs &out, const char **wrong, F &&call) {
    std::vector<tn_buffer> bi, bo;
    for (const described &d : in.v) bi.push_back(d.b), *wrong = d.wrong ? d.wrong : *wrong;
    for (const described &d : out.v) bo.push_back(d.b), *wrong = d.wrong ? d.wrong : !d.writable ? not_written : *wrong;
    if (*wrong) return TN_EINVAL;
    const tn_buffer_list li = {bi.size(), bi.data()}, lo = {bo.size(), bo.data()};
    const void *const ci[] = {tn_described, &li};
    void *const co[] = {const_cast<char *>(tn_described), const_cast<tn_buffer_list *>(&lo)};
    return calling([&] { return call(ci, co); });
}
template <class A, class B> constexpr int kind_of() {
    if (std::is_same<bare<A>, inputs>::value && std::is_same<bare<B>, outputs>::value) return 1;
    return std::is_convertible<A, const void *const *>::value && std::is_convertible<B, void *const *>::value ? 2 : 0;
}
/* What a call is given, in any of its forms.  Of buffers without more the first nin are inputs; where there are fewer,
 * or too many, C says so. */
template <class F, class... T> inline tn_status with_buffers(size_t nin, const char **wrong, F &&call, T &&...x) {
    *wrong = nullptr;
    constexpr int kind = [] {
        if constexpr (sizeof...(T) == 2)
            return kind_of<T &&...>();
        else
            return 0;
    }();
    if constexpr (kind == 1) {
        return with_lists(x..., wrong, call);
    } else if constexpr (kind == 2) {
        return calling([&] { return call(std::forward<T>(x)...); });
    } else {
        const std::vector<described> all = {describe(std::forward<T>(x))...};
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(nin < all.size() ? nin : all.size());
        return with_lists(inputs{{all.begin(), middle}}, outputs{{middle, all.end()}}, wrong, call);
    }
}
} // namespace i

/* A compiled program (tn_exec).  Calls, which return TN_OK or fail:
 *
 *     run(tn::in(x, w), tn::out(y))      checked when compiling, too
 *     run(x, w, y)                       inputs, then outputs; a const output is TN_EINVAL
 *     run(TN_INPUTS(x, w), TN_OUTPUTS(y))
 *
 * Cost: two small lists beside that of tn_call.  One thread at a time (TN_EBUSY); others have a tn::work each. */
class executable {
    std::shared_ptr<i::compiled> e_;
    std::shared_ptr<i::owner> o_;

  public:
    executable() {}
    executable(const program &f, const compile_options &options) : o_(f.owned_by().owner()) {
        if (!f) {
            (void)i::failed(TN_EINVAL, "the program is empty");
            return;
        }
        auto e = std::make_shared<i::compiled>();
        e->o = o_;
        e->heard = options.heard;
        e->nin = f.inputs();
        e->e = tn_compile(f.get(), &options);
        if (e->e)
            e_ = std::move(e);
        else
            (void)i::failed(tn_last_status(o_->c), tn_error(o_->c));
    }
    tn_exec *get() const { return e_ ? e_->e : nullptr; }
    explicit operator bool() const { return get() != nullptr; }
    size_t inputs() const { return e_ ? e_->nin : 0; }
    /* Of the last call that failed here, or why it is empty. */
    const char *error() const {
        if (!e_) return o_ && o_->c ? tn_error(o_->c) : "the executable is empty";
        return e_->wrong ? e_->wrong.load() : tn_exec_error(e_->e);
    }

    template <class... T> TN_I_STATUS tn_status operator()(T &&...x) const {
        if (!e_) return i::failed(TN_EINVAL, "the executable is empty");
        const char *wrong;
        const auto call = [&](const void *const *in, void *const *out) { return tn_call(get(), in, out); };
        const tn_status s = i::with_buffers(inputs(), &wrong, call, std::forward<T>(x)...);
        e_->wrong = wrong;
        return s == TN_OK ? s : i::failed(s, error());
    }
};
inline executable compile(const program &f, const compile_options &options = {}) { return executable(f, options); }

/* A workspace (tn_work): calls as an executable's, on any thread, each with a work of its own. */
class work {
    executable e_;
    std::shared_ptr<tn_work> w_;
    const char *wrong_ = nullptr;
    std::shared_ptr<std::function<int(const tn_effect &)>> heard_;

  public:
    work() {}
    /* Made and freed by the thread of the context. */
    explicit work(const executable &e) : e_(e) {
        tn_work *w = e ? tn_work_new(e.get(), nullptr, 0) : nullptr;
        if (w)
            w_ = std::shared_ptr<tn_work>(w, [e](tn_work *p) { tn_work_free(p); });
        else
            (void)i::failed(e ? TN_ENOMEM : TN_EINVAL, e ? nullptr : "the executable is empty");
    }
    tn_work *get() const { return w_.get(); }
    explicit operator bool() const { return get() != nullptr; }
    const char *error() const { return wrong_ ? wrong_ : w_ ? tn_work_error(get()) : "the work is empty"; }
    /* Who hears of effects from now on (tn_work_observe). */
    TN_I_STATUS tn_status observe(std::function<int(const tn_effect &)> f) {
        auto kept = std::make_shared<std::function<int(const tn_effect &)>>(std::move(f));
        const tn_status s = tn_work_observe(get(), compile_options::hear, kept.get());
        if (s != TN_OK) return i::failed(s, "the work is empty");
        heard_ = std::move(kept);
        return s;
    }
    template <class... T> TN_I_STATUS tn_status operator()(T &&...x) {
        if (!w_) return i::failed(TN_EINVAL, "the work is empty");
        const auto call = [&](const void *const *in, void *const *out) { return tn_call_in(e_.get(), get(), in, out); };
        const tn_status s = i::with_buffers(e_.inputs(), &wrong_, call, std::forward<T>(x)...);
        return s == TN_OK ? s : i::failed(s, error());
    }
};

/* f's derivatives at the point x against differences (tn_check_grads): TN_OK, or TN_EINVAL with both numbers. */
TN_I_STATUS inline tn_status check_grads(const program &f, const inputs &x, wrt w = {}) {
    if (!f) return i::failed(TN_EINVAL, "the program is empty");
    const char *wrong = nullptr;
    const tn_status s = i::with_lists(x, outputs{}, &wrong, [&](const void *const *in, void *const *) {
        return tn_check_grads(f.get(), in, w.get(), nullptr);
    });
    return s == TN_OK ? s : i::failed(s, wrong ? wrong : tn_error(f.owned_by().get()));
}

} // namespace TN_I_MODE
} // namespace tn

#endif
