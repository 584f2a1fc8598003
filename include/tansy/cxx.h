/* tansy/cxx.h - the C spellings of <tansy.h> in C++17.
 *
 * SPDX-License-Identifier: MIT
 *
 * C has compound literals and _Generic where this header has overloads:
 * tn_f64(3, 4), tn_wrt(0, 1), tn_ints(0, -1), tn_vals(x, y), TN_VAL(2.5),
 * TN_TYPES(..), TN_INPUTS(..) and TN_OUTPUTS(..) mean the same in both.  What
 * a list is made of lives until the end of the statement, as in C.  An
 * exception may not leave a callback that the library calls. */
#ifndef TANSY_CXX_H
#define TANSY_CXX_H

#include "../tansy.h"

#ifdef __cplusplus

#include <type_traits>

/* ---- types ------------------------------------------------------------------ */

template <class... Dims> inline tn_type tn_i_type_cxx(tn_dtype dtype, Dims... dims) {
    const int64_t v[sizeof...(Dims) + 1] = {static_cast<int64_t>(dims)..., 0};
    return tn_type_of(dtype, sizeof...(Dims), v);
}
template <class... Dims> inline tn_type tn_bool(Dims... dims) { return tn_i_type_cxx(TN_BOOL, dims...); }
template <class... Dims> inline tn_type tn_i32(Dims... dims) { return tn_i_type_cxx(TN_I32, dims...); }
template <class... Dims> inline tn_type tn_i64(Dims... dims) { return tn_i_type_cxx(TN_I64, dims...); }
template <class... Dims> inline tn_type tn_f32(Dims... dims) { return tn_i_type_cxx(TN_F32, dims...); }
template <class... Dims> inline tn_type tn_f64(Dims... dims) { return tn_i_type_cxx(TN_F64, dims...); }

/* ---- lists ------------------------------------------------------------------ */

/* An array that lives as long as the temporary, one element longer than asked
 * for, so that an empty list is an array too. */
template <class T, size_t N> struct tn_i_array_cxx {
    T v[N + 1];
    operator const T *() const { return v; }
};

template <size_t N> struct tn_i_ints_cxx : tn_i_array_cxx<int64_t, N> {
    operator tn_int_list() const { return tn_ints_of(N, this->v); }
};
template <class... T> inline tn_i_ints_cxx<sizeof...(T)> tn_ints(T... x) { return {{{static_cast<int64_t>(x)..., 0}}}; }

template <size_t N> struct tn_i_vals_cxx : tn_i_array_cxx<tn_val, N> {
    operator tn_val_list() const { return tn_vals_of(N, this->v); }
};
template <class... T> inline tn_i_vals_cxx<sizeof...(T)> tn_vals(T... x) { return {{{x..., tn_val()}}}; }

struct tn_i_policy_cxx {
    tn_policy policy;
    operator const tn_policy *() const { return &policy; }
};
inline tn_i_policy_cxx tn_policy_by_name(const char *text) {
    tn_i_policy_cxx p{};
    p.policy.size = sizeof p.policy;
    p.policy.name = text;
    return p;
}

template <size_t N> struct tn_i_wrt_cxx {
    int index[N + 1];
    mutable tn_wrt_list list;
    operator const tn_wrt_list *() const {
        list.n = N;
        list.index = index;
        return &list;
    }
};
template <class... T> inline tn_i_wrt_cxx<sizeof...(T)> tn_wrt(T... i) {
    return {{static_cast<int>(i)..., 0}, {0, nullptr}};
}

template <class... T> inline tn_i_array_cxx<tn_type, sizeof...(T)> TN_TYPES(T... t) { return {{t..., tn_type()}}; }
template <class... T> inline tn_i_array_cxx<const void *, sizeof...(T)> TN_INPUTS(T... p) {
    return {{static_cast<const void *>(p)..., nullptr}};
}
template <class... T> inline tn_i_array_cxx<void *, sizeof...(T)> TN_OUTPUTS(T... p) {
    return {{static_cast<void *>(p)..., nullptr}};
}

/* ---- numbers ---------------------------------------------------------------- */

inline tn_val TN_VAL(tn_val x) { return x; }
inline tn_val TN_VAL(double x) { return tn_number_f64(x); }
inline tn_val TN_VAL(float x) { return tn_number_f64(static_cast<double>(x)); }
inline tn_val TN_VAL(bool x) { return tn_number_bool(x); }
template <class T, std::enable_if_t<std::is_integral<T>::value || std::is_enum<T>::value, int> = 0>
inline tn_val TN_VAL(T x) {
    if constexpr (std::is_unsigned<T>::value)
        return tn_number_u64(static_cast<uint64_t>(x));
    else
        return tn_number_i64(static_cast<int64_t>(x));
}

#endif
#endif
