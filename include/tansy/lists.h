/* tansy/lists.h - lists as arguments, in C: tn_f64(3, 4), tn_ints(0, -1), tn_vals(x, y), tn_wrt(0, 1), TN_ARGS(..),
 * TN_INPUTS(..) and TN_OUTPUTS(..) of <tansy.h>.
 *
 * SPDX-License-Identifier: MIT
 *
 * The preprocessor counts what a list has and puts each element through a macro, where one of another type does not
 * compile.  (<tansy/cxx.h> has templates for that, and takes from here what counts.) */
#ifndef TANSY_LISTS_H
#define TANSY_LISTS_H

#include "../tansy.h"

/* ---- for each ---------------------------------------------------------------- */

#define TN_I_PICK(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20, x21, x22, \
                  x23, x24, x25, x26, x27, x28, x29, x30, x31, x32, x, ...)                                            \
    x
/* 0 for nothing, else how many arguments there are, at most 32.  Nothing is what makes a call of TN_I_COMMA where
 * parentheses are put behind it, and neither before that nor by itself. */
#define TN_I_COUNT_(...)                                                                                               \
    TN_I_PICK(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, \
              9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TN_I_HAS_COMMA(...)                                                                                          \
    TN_I_PICK(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \
              1, 0, 0)
#define TN_I_COMMA(...)            ,
#define TN_I_JOIN_(a, b)           a##b
#define TN_I_JOIN(a, b)            TN_I_JOIN_(a, b)
#define TN_I_CASE_0001             ,
#define TN_I_JOIN5_(a, b, c, d, e) a##b##c##d##e
#define TN_I_JOIN5(a, b, c, d, e)  TN_I_JOIN5_(a, b, c, d, e)
#define TN_I_EMPTY(...)                                                                                        \
    TN_I_HAS_COMMA(TN_I_JOIN5(TN_I_CASE_, TN_I_HAS_COMMA(__VA_ARGS__), TN_I_HAS_COMMA(TN_I_COMMA __VA_ARGS__), \
                              TN_I_HAS_COMMA(__VA_ARGS__()), TN_I_HAS_COMMA(TN_I_COMMA __VA_ARGS__())))
#define TN_I_COUNT(...)   TN_I_JOIN(TN_I_COUNT_, TN_I_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define TN_I_COUNT_1(...) 0
#define TN_I_COUNT_0(...) TN_I_COUNT_(__VA_ARGS__)

/* f(x), f(y), .. of at most 32 arguments, `none` of nothing. */
#define TN_I_MAP_0(f, none, ...)     none
#define TN_I_MAP_1(f, none, x)       f(x)
#define TN_I_MAP_2(f, none, x, ...)  f(x), TN_I_MAP_1(f, none, __VA_ARGS__)
#define TN_I_MAP_3(f, none, x, ...)  f(x), TN_I_MAP_2(f, none, __VA_ARGS__)
#define TN_I_MAP_4(f, none, x, ...)  f(x), TN_I_MAP_3(f, none, __VA_ARGS__)
#define TN_I_MAP_5(f, none, x, ...)  f(x), TN_I_MAP_4(f, none, __VA_ARGS__)
#define TN_I_MAP_6(f, none, x, ...)  f(x), TN_I_MAP_5(f, none, __VA_ARGS__)
#define TN_I_MAP_7(f, none, x, ...)  f(x), TN_I_MAP_6(f, none, __VA_ARGS__)
#define TN_I_MAP_8(f, none, x, ...)  f(x), TN_I_MAP_7(f, none, __VA_ARGS__)
#define TN_I_MAP_9(f, none, x, ...)  f(x), TN_I_MAP_8(f, none, __VA_ARGS__)
#define TN_I_MAP_10(f, none, x, ...) f(x), TN_I_MAP_9(f, none, __VA_ARGS__)
#define TN_I_MAP_11(f, none, x, ...) f(x), TN_I_MAP_10(f, none, __VA_ARGS__)
#define TN_I_MAP_12(f, none, x, ...) f(x), TN_I_MAP_11(f, none, __VA_ARGS__)
#define TN_I_MAP_13(f, none, x, ...) f(x), TN_I_MAP_12(f, none, __VA_ARGS__)
#define TN_I_MAP_14(f, none, x, ...) f(x), TN_I_MAP_13(f, none, __VA_ARGS__)
#define TN_I_MAP_15(f, none, x, ...) f(x), TN_I_MAP_14(f, none, __VA_ARGS__)
#define TN_I_MAP_16(f, none, x, ...) f(x), TN_I_MAP_15(f, none, __VA_ARGS__)
#define TN_I_MAP_17(f, none, x, ...) f(x), TN_I_MAP_16(f, none, __VA_ARGS__)
#define TN_I_MAP_18(f, none, x, ...) f(x), TN_I_MAP_17(f, none, __VA_ARGS__)
#define TN_I_MAP_19(f, none, x, ...) f(x), TN_I_MAP_18(f, none, __VA_ARGS__)
#define TN_I_MAP_20(f, none, x, ...) f(x), TN_I_MAP_19(f, none, __VA_ARGS__)
#define TN_I_MAP_21(f, none, x, ...) f(x), TN_I_MAP_20(f, none, __VA_ARGS__)
#define TN_I_MAP_22(f, none, x, ...) f(x), TN_I_MAP_21(f, none, __VA_ARGS__)
#define TN_I_MAP_23(f, none, x, ...) f(x), TN_I_MAP_22(f, none, __VA_ARGS__)
#define TN_I_MAP_24(f, none, x, ...) f(x), TN_I_MAP_23(f, none, __VA_ARGS__)
#define TN_I_MAP_25(f, none, x, ...) f(x), TN_I_MAP_24(f, none, __VA_ARGS__)
#define TN_I_MAP_26(f, none, x, ...) f(x), TN_I_MAP_25(f, none, __VA_ARGS__)
#define TN_I_MAP_27(f, none, x, ...) f(x), TN_I_MAP_26(f, none, __VA_ARGS__)
#define TN_I_MAP_28(f, none, x, ...) f(x), TN_I_MAP_27(f, none, __VA_ARGS__)
#define TN_I_MAP_29(f, none, x, ...) f(x), TN_I_MAP_28(f, none, __VA_ARGS__)
#define TN_I_MAP_30(f, none, x, ...) f(x), TN_I_MAP_29(f, none, __VA_ARGS__)
#define TN_I_MAP_31(f, none, x, ...) f(x), TN_I_MAP_30(f, none, __VA_ARGS__)
#define TN_I_MAP_32(f, none, x, ...) f(x), TN_I_MAP_31(f, none, __VA_ARGS__)
#define TN_I_MAP(f, none, ...)       TN_I_JOIN(TN_I_MAP_, TN_I_COUNT(__VA_ARGS__))(f, none, __VA_ARGS__)

#ifndef __cplusplus

/* ---- numbers, values, types ---------------------------------------------------- */

/* One element, or an error: whole numbers have a |, and only the type itself is that type. */
#define TN_I_WHOLE(x) ((x) | 0)
#define TN_I_VALUE(x) _Generic((x), tn_val: (x))
#define TN_I_TYPE(x)  _Generic((x), tn_type: (x))

#define TN_I_WHOLES(type, ...) ((const type[]){TN_I_MAP(TN_I_WHOLE, 0, __VA_ARGS__)})
#define TN_I_ARRAY(dtype, ...) tn_type_of(dtype, TN_I_COUNT(__VA_ARGS__), TN_I_WHOLES(int64_t, __VA_ARGS__))

#define tn_bool(...) TN_I_ARRAY(TN_BOOL, __VA_ARGS__)
#define tn_i32(...)  TN_I_ARRAY(TN_I32, __VA_ARGS__)
#define tn_i64(...)  TN_I_ARRAY(TN_I64, __VA_ARGS__)
#define tn_u32(...)  TN_I_ARRAY(TN_U32, __VA_ARGS__)
#define tn_i8(...)   TN_I_ARRAY(TN_I8, __VA_ARGS__)
#define tn_i16(...)  TN_I_ARRAY(TN_I16, __VA_ARGS__)
#define tn_u8(...)   TN_I_ARRAY(TN_U8, __VA_ARGS__)
#define tn_u16(...)  TN_I_ARRAY(TN_U16, __VA_ARGS__)
#define tn_u64(...)  TN_I_ARRAY(TN_U64, __VA_ARGS__)
#define tn_f16(...)  TN_I_ARRAY(TN_F16, __VA_ARGS__)
#define tn_bf16(...) TN_I_ARRAY(TN_BF16, __VA_ARGS__)
#define tn_f32(...)  TN_I_ARRAY(TN_F32, __VA_ARGS__)
#define tn_f64(...)  TN_I_ARRAY(TN_F64, __VA_ARGS__)

#define tn_ints(...) tn_ints_of(TN_I_COUNT(__VA_ARGS__), TN_I_WHOLES(int64_t, __VA_ARGS__))
#define tn_vals(...) tn_vals_of(TN_I_COUNT(__VA_ARGS__), (const tn_val[]){TN_I_MAP(TN_I_VALUE, {.id = 0}, __VA_ARGS__)})
#define tn_wrt(...)  (&(const tn_wrt_list){TN_I_COUNT(__VA_ARGS__), TN_I_WHOLES(int, __VA_ARGS__)})
#define TN_TYPES(...) \
    ((const tn_type[]){TN_I_MAP(TN_I_TYPE, {.dtype = TN_NDTYPES}, __VA_ARGS__), {.dtype = TN_NDTYPES}})

/* ---- buffers ------------------------------------------------------------------ */

/* In place of a number where there is none: what is initialized with it does not compile. */
struct tn_i_no_buffer {
    char none;
};
#define TN_I_REFUSED ((struct tn_i_no_buffer){0})

/* x, or a pointer to char where x has no elements to look at; only pointers have a *. */
#define TN_I_SEEN(x) _Generic((x), void *: (char *)0, const void *: (const char *)0, default: (x))
/* An array of rows looks like a pointer to pointers of the same size, which may be anything. */
#define TN_I_ROWS(x, dtype) (sizeof(*TN_I_SEEN(x)) == sizeof(void *) ? TN_BUFFER_ANY : dtype)
#define TN_I_LONG           (sizeof(long) == 8 ? TN_I64 : TN_I32)
#define TN_I_ELEMENT(x)                        \
    _Generic(*TN_I_SEEN(x),                    \
        char: TN_BUFFER_ANY,                   \
        signed char: TN_BUFFER_ANY,            \
        unsigned char: TN_BUFFER_ANY,          \
        _Bool: TN_BOOL,                        \
        int: TN_I32,                           \
        unsigned: TN_I32,                      \
        long: TN_I_LONG,                       \
        unsigned long: TN_I_LONG,              \
        long long: TN_I64,                     \
        unsigned long long: TN_I64,            \
        float: TN_F32,                         \
        double: TN_F64,                        \
        short: TN_I16,                         \
        unsigned short: TN_I16,                \
        long double: TN_BUFFER_NONE,           \
        _Bool *: TN_I_ROWS(x, TN_BOOL),        \
        const _Bool *: TN_I_ROWS(x, TN_BOOL),  \
        int *: TN_I_ROWS(x, TN_I32),           \
        const int *: TN_I_ROWS(x, TN_I32),     \
        long *: TN_I_ROWS(x, TN_I_LONG),       \
        const long *: TN_I_ROWS(x, TN_I_LONG), \
        float *: TN_I_ROWS(x, TN_F32),         \
        const float *: TN_I_ROWS(x, TN_F32),   \
        double *: TN_I_ROWS(x, TN_F64),        \
        const double *: TN_I_ROWS(x, TN_F64),  \
        tn_struct_in: TN_BUFFER_IN,            \
        tn_struct_out: TN_BUFFER_OUT,          \
        default: TN_BUFFER_ANY)
/* Nothing is written through a pointer to const. */
#define TN_I_WRITTEN(x)                     \
    _Generic((x),                           \
        const void *: TN_I_REFUSED,         \
        const char *: TN_I_REFUSED,         \
        const _Bool *: TN_I_REFUSED,        \
        const int *: TN_I_REFUSED,          \
        const long *: TN_I_REFUSED,         \
        const long long *: TN_I_REFUSED,    \
        const float *: TN_I_REFUSED,        \
        const double *: TN_I_REFUSED,       \
        tn_struct_in *: TN_I_REFUSED,       \
        const tn_struct_in *: TN_I_REFUSED, \
        default: TN_I_ELEMENT(x))
#if defined(__GNUC__)
#define TN_I_BYTES(x) (sizeof(__typeof__(x)) == sizeof(void *) ? 0 : sizeof(__typeof__(x)))
#else
#define TN_I_BYTES(x) 0
#endif
#define TN_I_INPUT(x) \
    { {.in = (x)}, TN_I_BYTES(x), TN_I_ELEMENT(x) }
#define TN_I_OUTPUT(x) \
    { {.out = (x)}, TN_I_BYTES(x), TN_I_WRITTEN(x) }

#define TN_I_LIST(f, ...) \
    (&(const tn_buffer_list){TN_I_COUNT(__VA_ARGS__), (const tn_buffer[]){TN_I_MAP(f, {.bytes = 0}, __VA_ARGS__)}})
#define TN_INPUTS(...) ((const void *const[]){tn_described, TN_I_LIST(TN_I_INPUT, __VA_ARGS__)})
#define TN_OUTPUTS(...) \
    ((void *const[]){(void *)(uintptr_t)tn_described, (void *)(uintptr_t)TN_I_LIST(TN_I_OUTPUT, __VA_ARGS__)})
#define TN_RAW_INPUTS(...)  ((const void *const[]){NULL, __VA_ARGS__} + 1)
#define TN_RAW_OUTPUTS(...) ((void *const[]){NULL, __VA_ARGS__} + 1)

#endif
#endif
