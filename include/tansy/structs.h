/* tansy/structs.h - parameters as C structs.
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 * What JAX does with pytrees is done here with a C struct: one list says which arrays it has, and all else is made of
 * the list, by the preprocessor alone.  A row is a dtype (f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8,
 * bool), a name and the shape, at most 8 dimensions that the compiler knows; or `struct`, the name of a struct that is
 * described, a name and, for an array of such structs, how many.
 *
 *     #define LAYER(F) F(f64, w, 32, 32) F(f64, b, 32)
 *     TN_STRUCT(layer, LAYER);
 *     #define MLP(F) F(f64, scale) F(struct, layer, hidden, 2) F(f32, w, 32, 10)
 *     TN_STRUCT(mlp, MLP);
 *
 * stands for
 *
 *     typedef struct layer { double w[32][32]; double b[32]; } layer;
 *     typedef struct mlp { double scale; layer hidden[2]; float w[32][10]; } mlp;
 *     mlp_struct     a static const tn_struct (tansy.h): names, types and places of the fields
 *     mlp_arrays     a constant: how many arrays there are, those of nested structs as well, here 6
 *     mlp_vals       struct { tn_val scale; layer_vals hidden[2]; tn_val w; }: the values of these arrays in a trace
 *
 * The arrays of a struct are, here and everywhere below, in the order of the list, where a nested struct's own stand in
 * its place.  So a struct is several inputs, outputs or parameters that follow each other:
 *
 *     static tn_val loss(const tn_val *in, void *user) {
 *         const mlp_vals *p = TN_STRUCT_VALS(mlp, in);              // p->hidden[1].w, ..
 *         const tn_val x = in[mlp_arrays];
 *         ..
 *     }
 *     tn_fn *f = tn_trace(c, loss, NULL, TN_STRUCT_ARGS(mlp, tn_f64(100, 32)));
 *     tn_fn *g = tn_value_and_grad(f, TN_STRUCT_WRT(mlp, 0), NULL);
 *     tn_call(e, TN_INPUTS(TN_STRUCT_IN(mlp, &p), x), TN_OUTPUTS(&y, TN_STRUCT_OUT(mlp, &gradient)));
 *     tn_struct_save(c, &mlp_struct, &p, "mlp.npz");                // and tn_struct_load
 *
 * The struct is a plain one: `mlp p = {0}` has zeros, `q = p` copies, sizeof says how large it is, calloc has room for
 * those that are too large for a stack.  The state of an optimizer is a struct as well, of the count of updates and the
 * moments, each a struct of the parameters (tn_optim_step takes TN_STRUCT_WRT for its parameters):
 *
 *     #define ADAM(F) F(i64, count) F(struct, mlp, m) F(struct, mlp, v)
 *     TN_STRUCT(adam, ADAM);
 *
 * Optimizers that want one array find it at tn_struct_flat, which copies nothing, or by tn_struct_gather and
 * tn_struct_scatter; a loss of one flat array takes it apart with tn_struct_unravel.
 *
 * A struct that exists already is described by TN_STRUCT_FIELDS alone: fields that are left out are not looked at; an
 * array may be declared flat (double w[1024] for F(f64, w, 32, 32)); rows are in the struct's order.  Others than the
 * list says do not compile, nor do a list of no rows or of more than 64, negative dimensions, and pointers to another
 * struct in TN_STRUCT_IN and its kin.  A dimension may be 0; the member has room for 1 there, since C has no arrays of
 * none.
 *
 * Descriptions may also be filled by hand, where shapes are found at run time: offsets are then into a block of memory.
 * Fields are in the order of their offsets and do not overlap, names are not empty, and structs nest at most 16 deep.
 * Functions with a context say what is wrong with one that is not so (TN_EINVAL); tn_struct_check does that alone.
 *
 * Messages name arrays by struct and field, "mlp.hidden[1].w"; names within a struct are "hidden[1].w".
 * Threads: functions without a context are pure; others as <tansy.h>.  Descriptions are borrowed for the call only.
 * Cost: linear in the number of arrays and the bytes that are moved, unless said otherwise. */
#ifndef TANSY_STRUCTS_H
#define TANSY_STRUCTS_H

#include "../tansy.h"
#include "lists.h"
#ifdef __cplusplus
#include <type_traits>
extern "C" {
#endif

/* ---- describing ------------------------------------------------------------------ */

/* At file scope, each with a semicolon behind it.  TN_STRUCT(name, LIST) is TN_STRUCT_TYPE, the C struct, and
 * TN_STRUCT_FIELDS, all that is said of it: name_struct, name_arrays and name_vals. */
#define TN_STRUCT(name, LIST)   \
    TN_STRUCT_TYPE(name, LIST); \
    TN_STRUCT_FIELDS(name, LIST)
#define TN_STRUCT_TYPE(name, LIST) TN_I_NEW_STRUCT(name, LIST(TN_I_MEMBER))
#define TN_STRUCT_FIELDS(name, LIST)                                                                \
    TN_I_NEW_STRUCT(name##_vals, LIST(TN_I_MEMBER_VAL));                                            \
    enum { name##_arrays = 0 LIST(TN_I_PLUS) };                                                     \
    static const tn_field tn_i_##name##_fields[] = {TN_I_EACH(TN_I_FIELD, name, LIST(TN_I_TUPLE))}; \
    TN_I_UNUSED static const tn_struct name##_struct = {                                            \
        #name, sizeof(name), sizeof tn_i_##name##_fields / sizeof tn_i_##name##_fields[0], tn_i_##name##_fields}

/* TN_OK; TN_EINVAL with a message that names struct and field when s is NULL or not as described above, or has more
 * than 2^31 - 1 arrays. */
TN_API tn_status tn_struct_check(tn_ctx *c, const tn_struct *s);

/* How many arrays there are; 0 when s is NULL or wrong. */
TN_API size_t tn_struct_arrays(const tn_struct *s);
/* Of array i: its type, one that every use refuses where there is no such array; where it lies in the C struct,
 * SIZE_MAX where there is none. */
TN_API tn_type tn_struct_type(const tn_struct *s, size_t i);
TN_API size_t tn_struct_offset(const tn_struct *s, size_t i);
/* Its name within the struct, "hidden[1].w".  Writes at most `size` bytes, the zero behind it included, and returns how
 * long it is; "" and 0 where there is no array i. */
TN_API size_t tn_struct_name(const tn_struct *s, size_t i, char *text, size_t size);
/* The array of this name; SIZE_MAX where there is none. */
TN_API size_t tn_struct_find(const tn_struct *s, const char *name);

/* ---- programs of structs ------------------------------------------------------------ */

/* The types of all arrays, into types unless that is NULL; returns how many. */
TN_API size_t tn_struct_types(const tn_struct *s, tn_type *types);
/* TN_STRUCT_ARGS(mlp, tn_f64(3), ..) stands for two arguments as TN_ARGS(..) does: how many types there are, and the
 * struct's followed by those that are listed, at most 31 or none, which live for one statement.  tn_struct_args makes
 * the array: types has room for all and the mark that ends them, and is returned.  The mark stands first, which every
 * use refuses, where s is wrong or n > 31. */
TN_API const tn_type *tn_struct_args(const tn_struct *s, tn_type *types, size_t n, const tn_type *more);

/* Which inputs are differentiated, as tn_wrt(..), when the struct's arrays are the inputs from `first` on: those of
 * floats.  TN_STRUCT_WRT(mlp, 0) lives for one statement.  tn_struct_wrt makes the list, in `index`, which has room for
 * tn_struct_arrays(s) and at least one, and *list, which is returned.  Where s is wrong, or an input's number is no
 * int, it is a list that every use refuses.  NULL when list or index is NULL. */
TN_API const tn_wrt_list *tn_struct_wrt(const tn_struct *s, size_t first, int *index, tn_wrt_list *list);

/* TN_STRUCT_VALS(mlp, in): values that follow each other, as the inputs or outputs of a trace, as a pointer to their
 * mlp_vals; to const where `in` is.  in[mlp_arrays] is behind them.
 *
 * In TN_INPUTS and TN_OUTPUTS, and wherever these are understood, one pointer for the whole struct:
 * TN_STRUCT_IN(mlp, &p) stands for its arrays, TN_STRUCT_OUT likewise to be written (p NULL: all absent).
 * TN_STRUCT_FLOATS_IN and TN_STRUCT_FLOATS_OUT stand for its arrays of floats, which are those that have gradients. How
 * many there are, and their dtypes and shapes, have to be the program's; else nothing runs, and the message names the
 * operand, struct and field.  Where a description is not a macro's, `&(tn_struct_in){s, p, TN_STRUCT_ALL}` is the
 * argument (C++: the struct itself).  Cost: two walks through the description. */

/* ---- one flat array -------------------------------------------------------------------- */

/* Elements of all arrays of floats together, others left out; 0 when s is NULL or wrong, SIZE_MAX if it overflows. */
TN_API size_t tn_struct_floats(const tn_struct *s);
/* All arrays of floats as one flat array of tn_struct_floats(s) elements, without a copy: the first one's address
 * where they all have this dtype, and follow each other with nothing in between (members of one dtype do, but for
 * those with a dimension of 0).  NULL where they do not, or there are none: gather then. */
TN_API void *tn_struct_flat(const tn_struct *s, void *p, tn_dtype dtype);
/* Copies the floats of p into the n elements of `flat`, and back; others stay as they are.  dtype, TN_F32 or TN_F64, is
 * the flat array's; floats of the other one are converted, rounded once.  TN_EINVAL: s, n is not tn_struct_floats(s),
 * dtype is no float, or a pointer is NULL while n > 0. */
TN_API tn_status tn_struct_gather(tn_ctx *c, const tn_struct *s, const void *p, tn_dtype dtype, size_t n, void *flat);
TN_API tn_status tn_struct_scatter(tn_ctx *c, const tn_struct *s, void *p, tn_dtype dtype, size_t n, const void *flat);

/* The same in a trace: the floats of vals (tn_struct_arrays(s) of them, as `in` above) as one
 * vector, f32 where they all are, else f64; and a vector of floats taken apart into those elements of vals that are
 * floats, which get the types of the description.  Others are left as they are.  TN_EINVAL: s, or NULL; TN_ETYPE: vals
 * of other types than the description's, or `flat` of another length.  Cost: one equation or two for each array. */
TN_API tn_val tn_struct_ravel_at(const tn_struct *s, const tn_val *vals, const char *file, int line);
TN_API void tn_struct_unravel_at(const tn_struct *s, tn_val flat, tn_val *vals, const char *file, int line);
#define tn_struct_ravel(...)   tn_struct_ravel_at(__VA_ARGS__, __FILE__, __LINE__)   /* (s, vals) */
#define tn_struct_unravel(...) tn_struct_unravel_at(__VA_ARGS__, __FILE__, __LINE__) /* (s, flat, vals) */

/* ---- files -------------------------------------------------------------------------------- */

/* Writes all arrays of p where path ends in ".npz" into that file, as numpy.savez does (not compressed); else into the
 * folder of this path, which must exist, as one NAME.npy for each.  The names are those of tn_struct_name: in Python,
 * numpy.load("mlp.npz")["hidden[1].w"].  A file of that name is replaced; when it fails, what is there is not whole.
 * TN_EINVAL: s, or NULL; TN_EIO with the file and the system's reason; TN_EOVERFLOW: an .npz beyond 4 GiB, for which
 * there are folders; TN_ENOMEM. */
TN_API tn_status tn_struct_save(tn_ctx *c, const tn_struct *s, const void *p, const char *path);
/* Reads what tn_struct_save or NumPy has written, in either byte and storage order.  dtypes and shapes have to be the
 * description's: nothing is converted.  Of an .npz, an array that the struct does not have is an error too; in a
 * folder, other files are passed over.  When it fails p is as it was, but for files that change meanwhile.
 * TN_EINVAL: s, NULL, an array of another type, one that is missing or too many, with its name; a file that is
 * damaged, compressed, or none of NumPy's; TN_EIO; TN_ENOMEM (a whole file is in memory at a time). */
TN_API tn_status tn_struct_load(tn_ctx *c, const tn_struct *s, void *p, const char *path);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* ---- how the lists are read ------------------------------------------------------------------ */

#if defined(__GNUC__)
#define TN_I_UNUSED __attribute__((unused))
#else
#define TN_I_UNUSED
#endif

#ifdef __cplusplus
#define TN_I_NEW_STRUCT(name, ...) \
    struct name {                  \
        __VA_ARGS__                \
    }
#else
#define TN_I_NEW_STRUCT(name, ...) \
    typedef struct name {          \
        __VA_ARGS__                \
    } name
#endif

/* A row behind its kind is a name and at most 8 dimensions: the name, how many there are, and what is made of them. */
#define TN_I_NAME_(name, ...)                               name
#define TN_I_NAME(...)                                      TN_I_NAME_(__VA_ARGS__, )
#define TN_I_RANK_(name, a, b, c, d, e, f, g, h, rank, ...) rank
#define TN_I_RANK(...)                                      TN_I_RANK_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, )
#define TN_I_EXTENT(n)                                      ((n) ? (n) : 1)

#define TN_I_BRACKETS_0(name)                         /* none */
#define TN_I_BRACKETS_1(name, a)                      [TN_I_EXTENT(a)]
#define TN_I_BRACKETS_2(name, a, b)                   TN_I_BRACKETS_1(name, a)[TN_I_EXTENT(b)]
#define TN_I_BRACKETS_3(name, a, b, c)                TN_I_BRACKETS_2(name, a, b)[TN_I_EXTENT(c)]
#define TN_I_BRACKETS_4(name, a, b, c, d)             TN_I_BRACKETS_3(name, a, b, c)[TN_I_EXTENT(d)]
#define TN_I_BRACKETS_5(name, a, b, c, d, e)          TN_I_BRACKETS_4(name, a, b, c, d)[TN_I_EXTENT(e)]
#define TN_I_BRACKETS_6(name, a, b, c, d, e, f)       TN_I_BRACKETS_5(name, a, b, c, d, e)[TN_I_EXTENT(f)]
#define TN_I_BRACKETS_7(name, a, b, c, d, e, f, g)    TN_I_BRACKETS_6(name, a, b, c, d, e, f)[TN_I_EXTENT(g)]
#define TN_I_BRACKETS_8(name, a, b, c, d, e, f, g, h) TN_I_BRACKETS_7(name, a, b, c, d, e, f, g)[TN_I_EXTENT(h)]
#define TN_I_BRACKETS(...)                            TN_I_JOIN(TN_I_BRACKETS_, TN_I_RANK(__VA_ARGS__))(__VA_ARGS__)

#define TN_I_EXTENTS_0(name)                         1
#define TN_I_EXTENTS_1(name, a)                      TN_I_EXTENT(a)
#define TN_I_EXTENTS_2(name, a, b)                   TN_I_EXTENTS_1(name, a) * TN_I_EXTENT(b)
#define TN_I_EXTENTS_3(name, a, b, c)                TN_I_EXTENTS_2(name, a, b) * TN_I_EXTENT(c)
#define TN_I_EXTENTS_4(name, a, b, c, d)             TN_I_EXTENTS_3(name, a, b, c) * TN_I_EXTENT(d)
#define TN_I_EXTENTS_5(name, a, b, c, d, e)          TN_I_EXTENTS_4(name, a, b, c, d) * TN_I_EXTENT(e)
#define TN_I_EXTENTS_6(name, a, b, c, d, e, f)       TN_I_EXTENTS_5(name, a, b, c, d, e) * TN_I_EXTENT(f)
#define TN_I_EXTENTS_7(name, a, b, c, d, e, f, g)    TN_I_EXTENTS_6(name, a, b, c, d, e, f) * TN_I_EXTENT(g)
#define TN_I_EXTENTS_8(name, a, b, c, d, e, f, g, h) TN_I_EXTENTS_7(name, a, b, c, d, e, f, g) * TN_I_EXTENT(h)
#define TN_I_EXTENTS(...)                            TN_I_JOIN(TN_I_EXTENTS_, TN_I_RANK(__VA_ARGS__))(__VA_ARGS__)

#define TN_I_DIMS_0(name)                         0
#define TN_I_DIMS_1(name, a)                      (a)
#define TN_I_DIMS_2(name, a, b)                   (a), (b)
#define TN_I_DIMS_3(name, a, b, c)                (a), (b), (c)
#define TN_I_DIMS_4(name, a, b, c, d)             (a), (b), (c), (d)
#define TN_I_DIMS_5(name, a, b, c, d, e)          (a), (b), (c), (d), (e)
#define TN_I_DIMS_6(name, a, b, c, d, e, f)       (a), (b), (c), (d), (e), (f)
#define TN_I_DIMS_7(name, a, b, c, d, e, f, g)    (a), (b), (c), (d), (e), (f), (g)
#define TN_I_DIMS_8(name, a, b, c, d, e, f, g, h) (a), (b), (c), (d), (e), (f), (g), (h)
#define TN_I_DIMS(...)                            TN_I_JOIN(TN_I_DIMS_, TN_I_RANK(__VA_ARGS__))(__VA_ARGS__)

/* Members of the C struct.  A row's kind is pasted before anything can replace it: `bool` may be a macro. */
#define TN_I_MEMBER(kind, ...)                       TN_I_MEMBER_##kind(__VA_ARGS__)
#define TN_I_DECLARE(type, ...)                      type TN_I_NAME(__VA_ARGS__) TN_I_BRACKETS(__VA_ARGS__);
#define TN_I_MEMBER_f64(...)                         TN_I_DECLARE(double, __VA_ARGS__)
#define TN_I_MEMBER_f32(...)                         TN_I_DECLARE(float, __VA_ARGS__)
#define TN_I_MEMBER_i64(...)                         TN_I_DECLARE(int64_t, __VA_ARGS__)
#define TN_I_MEMBER_i32(...)                         TN_I_DECLARE(int32_t, __VA_ARGS__)
#define TN_I_MEMBER_u32(...)                         TN_I_DECLARE(uint32_t, __VA_ARGS__)
#define TN_I_MEMBER_i8(...)                          TN_I_DECLARE(int8_t, __VA_ARGS__)
#define TN_I_MEMBER_i16(...)                         TN_I_DECLARE(int16_t, __VA_ARGS__)
#define TN_I_MEMBER_u8(...)                          TN_I_DECLARE(uint8_t, __VA_ARGS__)
#define TN_I_MEMBER_u16(...)                         TN_I_DECLARE(uint16_t, __VA_ARGS__)
#define TN_I_MEMBER_u64(...)                         TN_I_DECLARE(uint64_t, __VA_ARGS__)
#define TN_I_MEMBER_f16(...)                         TN_I_DECLARE(uint16_t, __VA_ARGS__)
#define TN_I_MEMBER_bf16(...)                        TN_I_DECLARE(uint16_t, __VA_ARGS__)
#define TN_I_MEMBER_bool(...)                        TN_I_DECLARE(bool, __VA_ARGS__)
#define TN_I_MEMBER_struct(...)                      TN_I_DECLARE_STRUCT(TN_I_MANY, , __VA_ARGS__)
#define TN_I_MANY_0(name)                            /* one */
#define TN_I_MANY_1(name, n)                         [(n) > 0 ? (n) : -1]
#define TN_I_MANY(...)                               TN_I_JOIN(TN_I_MANY_, TN_I_RANK(__VA_ARGS__))(__VA_ARGS__)
#define TN_I_DECLARE_STRUCT(many, suffix, type, ...) type##suffix TN_I_NAME(__VA_ARGS__) many(__VA_ARGS__);

/* Members of its values, and how many there are. */
#define TN_I_MEMBER_VAL(kind, ...)  TN_I_VAL_##kind(__VA_ARGS__)
#define TN_I_VAL_f64(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_f32(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_i64(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_i32(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_u32(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_i8(...)            tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_i16(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_u8(...)            tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_u16(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_u64(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_f16(...)           tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_bf16(...)          tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_bool(...)          tn_val TN_I_NAME(__VA_ARGS__);
#define TN_I_VAL_struct(...)        TN_I_DECLARE_STRUCT(TN_I_MANY, _vals, __VA_ARGS__)
#define TN_I_PLUS(kind, ...)        TN_I_PLUS_##kind(__VA_ARGS__)
#define TN_I_PLUS_f64(...)          +1
#define TN_I_PLUS_f32(...)          +1
#define TN_I_PLUS_i64(...)          +1
#define TN_I_PLUS_i32(...)          +1
#define TN_I_PLUS_u32(...)          +1
#define TN_I_PLUS_i8(...)           +1
#define TN_I_PLUS_i16(...)          +1
#define TN_I_PLUS_u8(...)           +1
#define TN_I_PLUS_u16(...)          +1
#define TN_I_PLUS_u64(...)          +1
#define TN_I_PLUS_f16(...)          +1
#define TN_I_PLUS_bf16(...)         +1
#define TN_I_PLUS_bool(...)         +1
#define TN_I_PLUS_struct(type, ...) +type##_arrays *(TN_I_EXTENTS(__VA_ARGS__))

/* Fields: rows as tuples, (f64_, w, 32, 32), each with the struct's name beside it. */
#define TN_I_TUPLE(kind, ...)         (kind##_, __VA_ARGS__),
#define TN_I_BARE(...)                __VA_ARGS__
#define TN_I_FIELD(s, row)            TN_I_FIELD_ROW(s, TN_I_BARE row)
#define TN_I_FIELD_ROW(...)           TN_I_FIELD_KIND(__VA_ARGS__)
#define TN_I_FIELD_KIND(s, kind, ...) TN_I_FIELD_##kind(s, __VA_ARGS__)
#define TN_I_FIELD_f64_(s, ...)       TN_I_FIELD_OF(s, TN_F64, double, double, __VA_ARGS__)
#define TN_I_FIELD_f32_(s, ...)       TN_I_FIELD_OF(s, TN_F32, float, float, __VA_ARGS__)
#define TN_I_FIELD_i64_(s, ...)       TN_I_FIELD_OF(s, TN_I64, int64_t, long long, __VA_ARGS__)
#define TN_I_FIELD_i32_(s, ...)       TN_I_FIELD_OF(s, TN_I32, int32_t, int32_t, __VA_ARGS__)
#define TN_I_FIELD_u32_(s, ...)       TN_I_FIELD_OF(s, TN_U32, uint32_t, uint32_t, __VA_ARGS__)
#define TN_I_FIELD_i8_(s, ...)        TN_I_FIELD_OF(s, TN_I8, int8_t, signed char, __VA_ARGS__)
#define TN_I_FIELD_i16_(s, ...)       TN_I_FIELD_OF(s, TN_I16, int16_t, int16_t, __VA_ARGS__)
#define TN_I_FIELD_u8_(s, ...)        TN_I_FIELD_OF(s, TN_U8, uint8_t, uint8_t, __VA_ARGS__)
#define TN_I_FIELD_u16_(s, ...)       TN_I_FIELD_OF(s, TN_U16, uint16_t, uint16_t, __VA_ARGS__)
#define TN_I_FIELD_u64_(s, ...)       TN_I_FIELD_OF(s, TN_U64, uint64_t, unsigned long long, __VA_ARGS__)
#define TN_I_FIELD_f16_(s, ...)       TN_I_FIELD_OF(s, TN_F16, uint16_t, uint16_t, __VA_ARGS__)
#define TN_I_FIELD_bf16_(s, ...)      TN_I_FIELD_OF(s, TN_BF16, uint16_t, uint16_t, __VA_ARGS__)
#define TN_I_FIELD_bool_(s, ...)      TN_I_FIELD_OF(s, TN_BOOL, bool, bool, __VA_ARGS__)
#define TN_I_TEXT(name)               TN_I_TEXT_(name)
#define TN_I_TEXT_(name)              #name
/* Nothing is added where `right` holds, and it does not compile where not. */
#define TN_I_IF(right) 0 * sizeof(char[(right) ? 1 : -1])
#define TN_I_FIELD_OF(s, dtype, type, or_type, ...)                                                                   \
    {TN_I_TEXT(TN_I_NAME(__VA_ARGS__)),                                                                               \
     offsetof(s, TN_I_NAME(__VA_ARGS__)) +                                                                            \
         TN_I_IF(TN_I_IS(s, TN_I_NAME(__VA_ARGS__), type, TN_I_BRACKETS(__VA_ARGS__), TN_I_EXTENTS(__VA_ARGS__)) ||   \
                 TN_I_IS(s, TN_I_NAME(__VA_ARGS__), or_type, TN_I_BRACKETS(__VA_ARGS__), TN_I_EXTENTS(__VA_ARGS__))), \
     {dtype, TN_I_RANK(__VA_ARGS__), {TN_I_DIMS(__VA_ARGS__)}, NULL},                                                 \
     NULL},
#define TN_I_FIELD_struct_(s, type_, ...)                                                                       \
    {TN_I_TEXT(TN_I_NAME(__VA_ARGS__)),                                                                         \
     offsetof(s, TN_I_NAME(__VA_ARGS__)) +                                                                      \
         TN_I_IF(TN_I_IS(s, TN_I_NAME(__VA_ARGS__), type_, TN_I_MANY(__VA_ARGS__), TN_I_EXTENTS(__VA_ARGS__))), \
     {TN_BOOL, TN_I_RANK(__VA_ARGS__), {TN_I_DIMS(__VA_ARGS__)}, NULL},                                         \
     &type_##_struct},

#ifndef __cplusplus
/* Whether a member is declared so, or flat. */
#define TN_I_IS(s, name, type, brackets, extents) \
    _Generic(&((s *)0)->name, type(*) brackets: 1, default: _Generic(&((s *)0)->name, type(*)[extents]: 1, default: 0))

/* A pointer to the struct, const or not; to one that is not for what is written. */
#define TN_I_READ_STRUCT(s, p)     _Generic((p), s *: (p), const s *: (p))
#define TN_I_WRITE_STRUCT(s, p)    _Generic((p), s *: (p))
#define TN_STRUCT_IN(s, p)         (&(const tn_struct_in){&s##_struct, TN_I_READ_STRUCT(s, p), TN_STRUCT_ALL})
#define TN_STRUCT_OUT(s, p)        (&(tn_struct_out){&s##_struct, TN_I_WRITE_STRUCT(s, p), TN_STRUCT_ALL})
#define TN_STRUCT_FLOATS_IN(s, p)  (&(const tn_struct_in){&s##_struct, TN_I_READ_STRUCT(s, p), TN_STRUCT_FLOATS})
#define TN_STRUCT_FLOATS_OUT(s, p) (&(tn_struct_out){&s##_struct, TN_I_WRITE_STRUCT(s, p), TN_STRUCT_FLOATS})

#define TN_STRUCT_VALS(s, in) \
    _Generic((in), const tn_val *: (const s##_vals *)(const void *)(in), tn_val *: (s##_vals *)(uintptr_t)(in))
#define TN_STRUCT_WRT(s, first) \
    tn_struct_wrt(&s##_struct, (size_t)TN_I_WHOLE(first), (int[s##_arrays]){0}, &(tn_wrt_list){0, NULL})

#define TN_I_STRUCT_ARGS_0(s) s##_arrays, tn_struct_args(&s##_struct, (tn_type[s##_arrays + 1]){{0}}, 0, NULL)
#define TN_I_STRUCT_ARGS_1(s, ...)        \
    s##_arrays + TN_I_COUNT(__VA_ARGS__), \
        tn_struct_args(&s##_struct, (tn_type[s##_arrays + TN_I_COUNT(__VA_ARGS__) + 1]){{0}}, TN_ARGS(__VA_ARGS__))
#else
/* (Nothing of cxx.h but in macros: it may be included first.) */
template <class Member, class T> constexpr bool tn_i_is_cxx(size_t n) {
    using U = std::remove_all_extents_t<Member>;
    return std::is_same<U, T>::value && sizeof(Member) == n * sizeof(T);
}
#define TN_I_IS(s, name, type, brackets, extents) (tn_i_is_cxx<decltype(s::name), type>(static_cast<size_t>(extents)))

#define TN_STRUCT_IN(s, p)         (tn_i_struct_in_cxx<s>(s##_struct, p, TN_STRUCT_ALL))
#define TN_STRUCT_OUT(s, p)        (tn_i_struct_out_cxx<s>(s##_struct, p, TN_STRUCT_ALL))
#define TN_STRUCT_FLOATS_IN(s, p)  (tn_i_struct_in_cxx<s>(s##_struct, p, TN_STRUCT_FLOATS))
#define TN_STRUCT_FLOATS_OUT(s, p) (tn_i_struct_out_cxx<s>(s##_struct, p, TN_STRUCT_FLOATS))
template <class S> struct tn_i_itself_cxx {
    using type = S; /* not deduced: nothing but a pointer to it is one */
};
template <class S>
inline tn_struct_in tn_i_struct_in_cxx(const tn_struct &s, const typename tn_i_itself_cxx<S>::type *p, int part) {
    return {&s, p, part};
}
template <class S>
inline tn_struct_out tn_i_struct_out_cxx(const tn_struct &s, typename tn_i_itself_cxx<S>::type *p, int part) {
    return {&s, p, part};
}

#define TN_STRUCT_VALS(s, in) (tn_i_struct_vals_cxx<s##_vals>(in))
template <class V> inline const V *tn_i_struct_vals_cxx(const tn_val *in) { return reinterpret_cast<const V *>(in); }
template <class V> inline V *tn_i_struct_vals_cxx(tn_val *in) { return reinterpret_cast<V *>(in); }

#define TN_STRUCT_WRT(s, first) (tn_i_struct_wrt_cxx<s##_arrays>(s##_struct, tn_i_whole_cxx<size_t>(first)))
template <size_t N> struct tn_i_struct_wrt_list_cxx {
    const tn_struct *s;
    size_t first;
    mutable int index[N];
    mutable tn_wrt_list list;
    operator const tn_wrt_list *() const { return tn_struct_wrt(s, first, index, &list); }
};
template <size_t N> inline tn_i_struct_wrt_list_cxx<N> tn_i_struct_wrt_cxx(const tn_struct &s, size_t first) {
    return {&s, first, {}, {}};
}

#define TN_I_STRUCT_ARGS_0(s) static_cast<size_t>(s##_arrays), tn_i_struct_args_cxx<s##_arrays>(s##_struct)
#define TN_I_STRUCT_ARGS_1(s, ...) \
    s##_arrays + tn_i_types_cxx(__VA_ARGS__), tn_i_struct_args_cxx<s##_arrays>(s##_struct, __VA_ARGS__)
template <size_t N> struct tn_i_struct_types_cxx {
    tn_type v[N + 1];
    operator const tn_type *() const { return v; }
};
template <size_t N, class... T>
inline tn_i_struct_types_cxx<N + sizeof...(T)> tn_i_struct_args_cxx(const tn_struct &s, T... more) {
    tn_i_struct_types_cxx<N + sizeof...(T)> a{};
    const tn_type types[sizeof...(T) + 1] = {more..., tn_type{}};
    (void)tn_struct_args(&s, a.v, sizeof...(T), types);
    return a;
}
#endif
#define TN_STRUCT_ARGS(...) TN_I_JOIN(TN_I_STRUCT_ARGS_, TN_I_HAS_COMMA(__VA_ARGS__))(__VA_ARGS__)

/* m(s, row) for each of at most 64 rows, which end with a comma. */
#define TN_I_ROWS_(r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15, r16, r17, r18, r19, r20, r21,     \
                   r22, r23, r24, r25, r26, r27, r28, r29, r30, r31, r32, r33, r34, r35, r36, r37, r38, r39, r40, r41, \
                   r42, r43, r44, r45, r46, r47, r48, r49, r50, r51, r52, r53, r54, r55, r56, r57, r58, r59, r60, r61, \
                   r62, r63, r64, r65, n, ...)                                                                         \
    n
#define TN_I_ROWS_OF(...)                                                                                              \
    TN_I_ROWS_(__VA_ARGS__, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43,    \
               42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, \
               16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, )
#define TN_I_EACH(m, s, ...)       TN_I_JOIN(TN_I_EACH_, TN_I_ROWS_OF(__VA_ARGS__))(m, s, __VA_ARGS__)
#define TN_I_EACH_1(m, s, r, ...)  m(s, r)
#define TN_I_EACH_2(m, s, r, ...)  m(s, r) TN_I_EACH_1(m, s, __VA_ARGS__)
#define TN_I_EACH_3(m, s, r, ...)  m(s, r) TN_I_EACH_2(m, s, __VA_ARGS__)
#define TN_I_EACH_4(m, s, r, ...)  m(s, r) TN_I_EACH_3(m, s, __VA_ARGS__)
#define TN_I_EACH_5(m, s, r, ...)  m(s, r) TN_I_EACH_4(m, s, __VA_ARGS__)
#define TN_I_EACH_6(m, s, r, ...)  m(s, r) TN_I_EACH_5(m, s, __VA_ARGS__)
#define TN_I_EACH_7(m, s, r, ...)  m(s, r) TN_I_EACH_6(m, s, __VA_ARGS__)
#define TN_I_EACH_8(m, s, r, ...)  m(s, r) TN_I_EACH_7(m, s, __VA_ARGS__)
#define TN_I_EACH_9(m, s, r, ...)  m(s, r) TN_I_EACH_8(m, s, __VA_ARGS__)
#define TN_I_EACH_10(m, s, r, ...) m(s, r) TN_I_EACH_9(m, s, __VA_ARGS__)
#define TN_I_EACH_11(m, s, r, ...) m(s, r) TN_I_EACH_10(m, s, __VA_ARGS__)
#define TN_I_EACH_12(m, s, r, ...) m(s, r) TN_I_EACH_11(m, s, __VA_ARGS__)
#define TN_I_EACH_13(m, s, r, ...) m(s, r) TN_I_EACH_12(m, s, __VA_ARGS__)
#define TN_I_EACH_14(m, s, r, ...) m(s, r) TN_I_EACH_13(m, s, __VA_ARGS__)
#define TN_I_EACH_15(m, s, r, ...) m(s, r) TN_I_EACH_14(m, s, __VA_ARGS__)
#define TN_I_EACH_16(m, s, r, ...) m(s, r) TN_I_EACH_15(m, s, __VA_ARGS__)
#define TN_I_EACH_17(m, s, r, ...) m(s, r) TN_I_EACH_16(m, s, __VA_ARGS__)
#define TN_I_EACH_18(m, s, r, ...) m(s, r) TN_I_EACH_17(m, s, __VA_ARGS__)
#define TN_I_EACH_19(m, s, r, ...) m(s, r) TN_I_EACH_18(m, s, __VA_ARGS__)
#define TN_I_EACH_20(m, s, r, ...) m(s, r) TN_I_EACH_19(m, s, __VA_ARGS__)
#define TN_I_EACH_21(m, s, r, ...) m(s, r) TN_I_EACH_20(m, s, __VA_ARGS__)
#define TN_I_EACH_22(m, s, r, ...) m(s, r) TN_I_EACH_21(m, s, __VA_ARGS__)
#define TN_I_EACH_23(m, s, r, ...) m(s, r) TN_I_EACH_22(m, s, __VA_ARGS__)
#define TN_I_EACH_24(m, s, r, ...) m(s, r) TN_I_EACH_23(m, s, __VA_ARGS__)
#define TN_I_EACH_25(m, s, r, ...) m(s, r) TN_I_EACH_24(m, s, __VA_ARGS__)
#define TN_I_EACH_26(m, s, r, ...) m(s, r) TN_I_EACH_25(m, s, __VA_ARGS__)
#define TN_I_EACH_27(m, s, r, ...) m(s, r) TN_I_EACH_26(m, s, __VA_ARGS__)
#define TN_I_EACH_28(m, s, r, ...) m(s, r) TN_I_EACH_27(m, s, __VA_ARGS__)
#define TN_I_EACH_29(m, s, r, ...) m(s, r) TN_I_EACH_28(m, s, __VA_ARGS__)
#define TN_I_EACH_30(m, s, r, ...) m(s, r) TN_I_EACH_29(m, s, __VA_ARGS__)
#define TN_I_EACH_31(m, s, r, ...) m(s, r) TN_I_EACH_30(m, s, __VA_ARGS__)
#define TN_I_EACH_32(m, s, r, ...) m(s, r) TN_I_EACH_31(m, s, __VA_ARGS__)
#define TN_I_EACH_33(m, s, r, ...) m(s, r) TN_I_EACH_32(m, s, __VA_ARGS__)
#define TN_I_EACH_34(m, s, r, ...) m(s, r) TN_I_EACH_33(m, s, __VA_ARGS__)
#define TN_I_EACH_35(m, s, r, ...) m(s, r) TN_I_EACH_34(m, s, __VA_ARGS__)
#define TN_I_EACH_36(m, s, r, ...) m(s, r) TN_I_EACH_35(m, s, __VA_ARGS__)
#define TN_I_EACH_37(m, s, r, ...) m(s, r) TN_I_EACH_36(m, s, __VA_ARGS__)
#define TN_I_EACH_38(m, s, r, ...) m(s, r) TN_I_EACH_37(m, s, __VA_ARGS__)
#define TN_I_EACH_39(m, s, r, ...) m(s, r) TN_I_EACH_38(m, s, __VA_ARGS__)
#define TN_I_EACH_40(m, s, r, ...) m(s, r) TN_I_EACH_39(m, s, __VA_ARGS__)
#define TN_I_EACH_41(m, s, r, ...) m(s, r) TN_I_EACH_40(m, s, __VA_ARGS__)
#define TN_I_EACH_42(m, s, r, ...) m(s, r) TN_I_EACH_41(m, s, __VA_ARGS__)
#define TN_I_EACH_43(m, s, r, ...) m(s, r) TN_I_EACH_42(m, s, __VA_ARGS__)
#define TN_I_EACH_44(m, s, r, ...) m(s, r) TN_I_EACH_43(m, s, __VA_ARGS__)
#define TN_I_EACH_45(m, s, r, ...) m(s, r) TN_I_EACH_44(m, s, __VA_ARGS__)
#define TN_I_EACH_46(m, s, r, ...) m(s, r) TN_I_EACH_45(m, s, __VA_ARGS__)
#define TN_I_EACH_47(m, s, r, ...) m(s, r) TN_I_EACH_46(m, s, __VA_ARGS__)
#define TN_I_EACH_48(m, s, r, ...) m(s, r) TN_I_EACH_47(m, s, __VA_ARGS__)
#define TN_I_EACH_49(m, s, r, ...) m(s, r) TN_I_EACH_48(m, s, __VA_ARGS__)
#define TN_I_EACH_50(m, s, r, ...) m(s, r) TN_I_EACH_49(m, s, __VA_ARGS__)
#define TN_I_EACH_51(m, s, r, ...) m(s, r) TN_I_EACH_50(m, s, __VA_ARGS__)
#define TN_I_EACH_52(m, s, r, ...) m(s, r) TN_I_EACH_51(m, s, __VA_ARGS__)
#define TN_I_EACH_53(m, s, r, ...) m(s, r) TN_I_EACH_52(m, s, __VA_ARGS__)
#define TN_I_EACH_54(m, s, r, ...) m(s, r) TN_I_EACH_53(m, s, __VA_ARGS__)
#define TN_I_EACH_55(m, s, r, ...) m(s, r) TN_I_EACH_54(m, s, __VA_ARGS__)
#define TN_I_EACH_56(m, s, r, ...) m(s, r) TN_I_EACH_55(m, s, __VA_ARGS__)
#define TN_I_EACH_57(m, s, r, ...) m(s, r) TN_I_EACH_56(m, s, __VA_ARGS__)
#define TN_I_EACH_58(m, s, r, ...) m(s, r) TN_I_EACH_57(m, s, __VA_ARGS__)
#define TN_I_EACH_59(m, s, r, ...) m(s, r) TN_I_EACH_58(m, s, __VA_ARGS__)
#define TN_I_EACH_60(m, s, r, ...) m(s, r) TN_I_EACH_59(m, s, __VA_ARGS__)
#define TN_I_EACH_61(m, s, r, ...) m(s, r) TN_I_EACH_60(m, s, __VA_ARGS__)
#define TN_I_EACH_62(m, s, r, ...) m(s, r) TN_I_EACH_61(m, s, __VA_ARGS__)
#define TN_I_EACH_63(m, s, r, ...) m(s, r) TN_I_EACH_62(m, s, __VA_ARGS__)
#define TN_I_EACH_64(m, s, r, ...) m(s, r) TN_I_EACH_63(m, s, __VA_ARGS__)

#endif
