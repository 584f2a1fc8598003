/* tansy/cxx.h - the C spellings of <tansy.h> in C++17.
 *
 * SPDX-License-Identifier: MIT
 *
 * C has compound literals and _Generic where this header has overloads:
 * tn_f64(3, 4), tn_wrt(0, 1), tn_ints(0, -1), tn_vals(x, y), TN_VAL(2.5),
 * TN_ARGS(..), TN_TYPES(..), TN_INPUTS(..) and TN_OUTPUTS(..) mean the same in both.  What
 * a list is made of lives until the end of the statement, as in C.  Structs that
 * begin with their size are tn_sized<tn_compile_options>(): all defaults.  An
 * exception may not leave a callback that the library calls.  (Operators, lambdas
 * and handles are <tansy.hpp>'s, docs/cxx.md.) */
#ifndef TANSY_CXX_H
#define TANSY_CXX_H

#include "../tansy.h"

#ifdef __cplusplus

#include <cstddef>
#include <type_traits>
#include <utility>

/* A whole number of a list: neither a pointer nor a fraction. */
template <class To, class T> constexpr To tn_i_whole_cxx(T x) {
    static_assert(std::is_integral<T>::value || std::is_enum<T>::value, "lists of numbers hold whole ones");
    return static_cast<To>(x);
}

/* Options, or what a function fills in: zero, but for its size. */
template <class T> inline T tn_sized() {
    T x{};
    x.size = sizeof x;
    return x;
}

/* ---- types ------------------------------------------------------------------ */

template <class... Dims> inline tn_type tn_i_type_cxx(tn_dtype dtype, Dims... dims) {
    const int64_t v[sizeof...(Dims) + 1] = {tn_i_whole_cxx<int64_t>(dims)..., 0};
    return tn_type_of(dtype, sizeof...(Dims), v);
}
template <class... Dims> inline tn_type tn_bool(Dims... dims) { return tn_i_type_cxx(TN_BOOL, dims...); }
template <class... Dims> inline tn_type tn_i32(Dims... dims) { return tn_i_type_cxx(TN_I32, dims...); }
template <class... Dims> inline tn_type tn_i64(Dims... dims) { return tn_i_type_cxx(TN_I64, dims...); }
template <class... Dims> inline tn_type tn_u32(Dims... dims) { return tn_i_type_cxx(TN_U32, dims...); }
template <class... Dims> inline tn_type tn_i8(Dims... dims) { return tn_i_type_cxx(TN_I8, dims...); }
template <class... Dims> inline tn_type tn_i16(Dims... dims) { return tn_i_type_cxx(TN_I16, dims...); }
template <class... Dims> inline tn_type tn_u8(Dims... dims) { return tn_i_type_cxx(TN_U8, dims...); }
template <class... Dims> inline tn_type tn_u16(Dims... dims) { return tn_i_type_cxx(TN_U16, dims...); }
template <class... Dims> inline tn_type tn_u64(Dims... dims) { return tn_i_type_cxx(TN_U64, dims...); }
template <class... Dims> inline tn_type tn_f16(Dims... dims) { return tn_i_type_cxx(TN_F16, dims...); }
template <class... Dims> inline tn_type tn_bf16(Dims... dims) { return tn_i_type_cxx(TN_BF16, dims...); }
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
template <class... T> inline tn_i_ints_cxx<sizeof...(T)> tn_ints(T... x) {
    return {{{tn_i_whole_cxx<int64_t>(x)..., 0}}};
}

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
    return {{tn_i_whole_cxx<int>(i)..., 0}, {0, nullptr}};
}

template <class... T> constexpr size_t tn_i_types_cxx(const T &...) { return sizeof...(T); }
template <class... T> inline tn_i_array_cxx<tn_type, sizeof...(T)> TN_TYPES(T... t) {
    return {{t..., tn_type{TN_NDTYPES, 0, {}, nullptr}}};
}

/* ---- the arguments of a call ---------------------------------------------------- */

template <class T> constexpr int tn_i_dtype_cxx() {
    using U = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if (!std::is_arithmetic<U>::value) return TN_BUFFER_ANY;
    if (std::is_same<U, bool>::value) return TN_BOOL;
    if (std::is_same<U, float>::value) return TN_F32;
    if (std::is_same<U, double>::value) return TN_F64;
    if constexpr (std::is_integral<U>::value) {
        if (sizeof(U) == 1) return TN_BUFFER_ANY;
        if (sizeof(U) == 2) return TN_I16;
        if (sizeof(U) == 4) return TN_I32;
        if (sizeof(U) == 8) return TN_I64;
    }
    return TN_BUFFER_NONE;
}

struct tn_i_input_cxx {
    static tn_buffer of(const void *p, size_t bytes, int dtype) {
        tn_buffer b{};
        b.at.in = p;
        b.bytes = bytes;
        b.dtype = dtype;
        return b;
    }
    static tn_buffer of(const tn_struct_in &s) { return of(&s, 0, TN_BUFFER_IN); }
    static tn_buffer of(const tn_struct_out &s) { return of(&s, 0, TN_BUFFER_OUT); }
};
struct tn_i_output_cxx { /* takes no pointer to const */
    static tn_buffer of(void *p, size_t bytes, int dtype) {
        tn_buffer b{};
        b.at.out = p;
        b.bytes = bytes;
        b.dtype = dtype;
        return b;
    }
    static tn_buffer of(const tn_struct_out &s) { return of(const_cast<tn_struct_out *>(&s), 0, TN_BUFFER_OUT); }
};

/* Structs that are described, pointers, arrays, and what has data() and size(), as std::vector. */
template <class D, class T> inline tn_buffer tn_i_buffer_cxx(T &&x) {
    using U = std::remove_reference_t<T>;
    using V = std::remove_cv_t<U>;
    if constexpr (std::is_null_pointer<U>::value)
        return D::of(nullptr, 0, TN_BUFFER_ANY);
    else if constexpr (std::is_same<V, tn_struct_in>::value || std::is_same<V, tn_struct_out>::value)
        return D::of(x);
    else if constexpr (std::is_array<U>::value)
        return D::of(x, sizeof(U), tn_i_dtype_cxx<U>());
    else if constexpr (std::is_pointer<U>::value)
        return D::of(x, 0, tn_i_dtype_cxx<std::remove_pointer_t<U>>());
    else
        return D::of(x.data(), x.size() * sizeof *x.data(),
                     tn_i_dtype_cxx<std::remove_reference_t<decltype(*x.data())>>());
}

template <class P, size_t N> struct tn_i_buffers_cxx {
    tn_buffer v[N + 1];
    mutable tn_buffer_list list;
    mutable P at[2];
    operator P const *() const {
        list.n = N;
        list.v = v;
        at[0] = const_cast<char *>(tn_described);
        at[1] = &list;
        return at;
    }
};
template <class... T> inline tn_i_buffers_cxx<const void *, sizeof...(T)> TN_INPUTS(T &&...p) {
    return {{tn_i_buffer_cxx<tn_i_input_cxx>(std::forward<T>(p))..., tn_buffer()}, {}, {}};
}
template <class... T> inline tn_i_buffers_cxx<void *, sizeof...(T)> TN_OUTPUTS(T &&...p) {
    return {{tn_i_buffer_cxx<tn_i_output_cxx>(std::forward<T>(p))..., tn_buffer()}, {}, {}};
}

template <class... T> inline tn_i_array_cxx<const void *, sizeof...(T)> TN_RAW_INPUTS(T... p) {
    return {{static_cast<const void *>(p)..., nullptr}};
}
template <class... T> inline tn_i_array_cxx<void *, sizeof...(T)> TN_RAW_OUTPUTS(T... p) {
    return {{static_cast<void *>(p)..., nullptr}};
}

/* ---- numbers ---------------------------------------------------------------- */

inline tn_val TN_VAL(tn_val x) { return x; }
inline tn_val TN_VAL(double x) { return tn_number_f64(x); }
inline tn_val TN_VAL(float x) { return tn_number_f64(static_cast<double>(x)); }
template <class T, std::enable_if_t<std::is_integral<T>::value || std::is_enum<T>::value, int> = 0>
inline tn_val TN_VAL(T x) {
    if constexpr (std::is_same<T, bool>::value)
        return tn_number_bool(x);
    else if constexpr (std::is_unsigned<T>::value)
        return tn_number_u64(static_cast<uint64_t>(x));
    else
        return tn_number_i64(static_cast<int64_t>(x));
}

#endif
#endif
