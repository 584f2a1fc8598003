/* tansy.h - automatic differentiation of numerical C, "You Only Linearize Once".
 *
 * SPDX-License-Identifier: MIT
 *
 * ## Introduction
 *
 * A C function written with the operators of <tansy/ops.h> is *traced* into a
 * program (`tn_fn`): an immutable, typed list of equations.  Transformations
 * take programs to programs:
 *
 *     tn_jvp        f         ->  (x, dx) -> (y, dy)
 *     tn_linearize  f         ->  primal: x -> (y, residuals)
 *                                 linear: (residuals | dx) -> dy
 *     tn_transpose  linear    ->  (residuals | ct) -> ct of the linear inputs
 *     tn_vjp, tn_grad, tn_value_and_grad, tn_hvp, tn_jacfwd, tn_jacrev,
 *     tn_hessian, tn_vmap
 *
 * Because the results are ordinary programs, they nest: tn_jvp(tn_grad(f)) is
 * forward over reverse.  A program is run by compiling it (`tn_compile`) and
 * calling it (`tn_call`).
 *
 * ## A first program
 *
 *     static tn_val f(const tn_val *in, void *user) {
 *         (void)user;
 *         return tn_sum(tn_mul(tn_sin(in[0]), in[0]));
 *     }
 *     tn_ctx  *c = tn_ctx_new(NULL);
 *     tn_fn   *p = tn_trace(c, f, NULL, 1, (tn_type[]){tn_f64(3)});
 *     tn_fn   *g = tn_grad(p, NULL, NULL);
 *     tn_exec *e = tn_compile(g, NULL);
 *     if (!e) fprintf(stderr, "%s\n", tn_error(c));
 *     tn_call(e, (const void *[]){x}, (void *[]){dx});
 *     tn_ctx_free(c);
 *
 * ## Errors
 *
 * Functions that make an object return NULL on failure, others a tn_status.
 * The context then holds the status (tn_last_status) and a message (tn_error)
 * that names the primitive, the operand, the reason and the user's file:line.
 * A transformation given NULL returns NULL and leaves the first message, so
 * calls may be nested and checked once.  Nothing aborts or prints.
 *
 * ## Ownership
 *
 * A context owns everything made in it; tn_ctx_free releases all.  Programs
 * and executables can be released earlier (tn_fn_free, tn_exec_free); what
 * still uses them keeps them alive.  User buffers are never owned.
 *
 * ## Threads
 *
 * One context is used by one thread at a time (tracing, transforming,
 * compiling, freeing).  A compiled tn_exec may be called from many threads at
 * once, each with a tn_work of its own (tn_call_in).
 */
#ifndef TANSY_H
#define TANSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TN_API __attribute__((visibility("default")))
#else
#define TN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TN_VERSION  "0.1.0"
#define TN_MAX_RANK 8   /* largest rank of an array */
#define TN_MAX_NEST 256 /* deepest nesting of programs */

/* The version of the library at run time, "major.minor.patch".  Never fails. */
TN_API const char *tn_version(void);

/* The one list of statuses: name, code, text of tn_status_text. */
#define TN_STATUS_LIST(X)                     \
    X(TN_OK, 0, "success")                    \
    X(TN_ENOMEM, 1, "out of memory")          \
    X(TN_EINVAL, 2, "bad argument")           \
    X(TN_ETYPE, 3, "type error")              \
    X(TN_ELINEAR, 4, "linearity error")       \
    X(TN_EPARSE, 5, "malformed program text") \
    X(TN_ERULE, 6, "missing rule")            \
    X(TN_ECALLBACK, 7, "a callback failed")   \
    X(TN_EBUSY, 8, "executable in use")       \
    X(TN_EOVERFLOW, 9, "size overflow")       \
    X(TN_ELIMIT, 10, "limit exceeded")        \
    X(TN_EIO, 11, "input or output failed")

typedef enum tn_status {
#define TN_STATUS_ENUM(name, code, text) name = code,
    TN_STATUS_LIST(TN_STATUS_ENUM)
#undef TN_STATUS_ENUM
} tn_status;

/* A short text for a status; "unknown status" for any other number. */
TN_API const char *tn_status_text(tn_status s);

/* ---- Types ---------------------------------------------------------------- */

/* Element types.  bool is one byte holding 0 or 1. */
typedef enum tn_dtype { TN_BOOL, TN_I32, TN_I64, TN_F32, TN_F64, TN_NDTYPES } tn_dtype;

/* An array type: dtype and shape.  dim[rank..] are zero.  Arrays are row-major
 * unless tn_compile is told otherwise; zero-size dimensions are allowed. */
typedef struct tn_type {
    int32_t dtype; /* a tn_dtype */
    int32_t rank;  /* 0..TN_MAX_RANK; a scalar has rank 0 */
    int64_t dim[TN_MAX_RANK];
} tn_type;

/* A type from a dtype and `rank` dimensions.  A bad rank or a negative
 * dimension gives a type that every use refuses.  The macros tn_f64(3, 4),
 * tn_f64() ... are the usual spelling. */
TN_API tn_type tn_type_of(tn_dtype dtype, size_t rank, const int64_t *dims);

#ifndef __cplusplus
#define TN_I_TYPE(dtype, ...)                                                          \
    tn_type_of(dtype, sizeof((const int64_t[]){0, __VA_ARGS__}) / sizeof(int64_t) - 1, \
               (const int64_t[]){0, __VA_ARGS__} + 1)
#define tn_bool(...) TN_I_TYPE(TN_BOOL, __VA_ARGS__)
#define tn_i32(...)  TN_I_TYPE(TN_I32, __VA_ARGS__)
#define tn_i64(...)  TN_I_TYPE(TN_I64, __VA_ARGS__)
#define tn_f32(...)  TN_I_TYPE(TN_F32, __VA_ARGS__)
#define tn_f64(...)  TN_I_TYPE(TN_F64, __VA_ARGS__)
#endif

/* Elements and bytes of a type; SIZE_MAX when the type is bad or overflows. */
TN_API size_t tn_type_elements(const tn_type *t);
TN_API size_t tn_type_bytes(const tn_type *t);
TN_API bool tn_type_equal(const tn_type *a, const tn_type *b);

/* ---- Contexts -------------------------------------------------------------- */

typedef struct tn_ctx tn_ctx;
typedef struct tn_fn tn_fn;
typedef struct tn_exec tn_exec;
typedef struct tn_work tn_work;

/* Options of a context.  Zero means the default everywhere. */
typedef struct tn_ctx_options {
    size_t size; /* sizeof(tn_ctx_options) */
    /* The one door for memory.  realloc(user, p, old, new) behaves like C's
     * realloc: p NULL allocates, new 0 frees (and returns NULL).  Memory is
     * aligned for any type.  Default: the C library's. */
    void *(*realloc)(void *user, void *p, size_t old_size, size_t new_size);
    void *user;
    int check; /* 0: check after every transformation in debug builds; 1: always; -1: never */
} tn_ctx_options;

/* A new context, or NULL without memory.  `opt` may be NULL. */
TN_API tn_ctx *tn_ctx_new(const tn_ctx_options *opt);
/* Frees the context and everything made in it; NULL is fine. */
TN_API void tn_ctx_free(tn_ctx *c);
/* The last error's message ("" if none), valid until the next error. */
TN_API const char *tn_error(const tn_ctx *c);
/* The last error's status; TN_OK if none since tn_error_clear. */
TN_API tn_status tn_last_status(const tn_ctx *c);
TN_API void tn_error_clear(tn_ctx *c);
/* Bytes now allocated through the context, and the most so far. */
TN_API size_t tn_ctx_bytes(const tn_ctx *c);
TN_API size_t tn_ctx_peak_bytes(const tn_ctx *c);

/* ---- Values and tracing ------------------------------------------------------ */

/* A value while tracing, passed by copy; it owns nothing.  A plain number
 * (ctx NULL) becomes an array of the other operand's dtype where it is used. */
typedef struct tn_val {
    tn_ctx *ctx;
    uint32_t trace; /* serial of its trace; for numbers: 1 double, 2 signed, 3 bool, 4 unsigned; 0 poison */
    uint32_t id;    /* of poison: the line that made it */
    union {
        double d;
        int64_t i;
    } num;
} tn_val;

/* Lists as arguments.  tn_ints(0, -1) and tn_vals(x, y) are the usual spelling
 * of what lives for one statement; tn_ints_of and tn_vals_of name arrays of yours. */
typedef struct tn_int_list {
    size_t n;
    const int64_t *v;
} tn_int_list;
typedef struct tn_val_list {
    size_t n;
    const tn_val *v;
} tn_val_list;
TN_API tn_int_list tn_ints_of(size_t n, const int64_t *v);
TN_API tn_val_list tn_vals_of(size_t n, const tn_val *v);

/* Plain numbers as values; TN_VAL(x) picks one by x's type and leaves a tn_val
 * alone.  Operators apply it to their operands. */
TN_API tn_val tn_number_self(tn_val x);
TN_API tn_val tn_number_f64(double x);
TN_API tn_val tn_number_i64(int64_t x);
TN_API tn_val tn_number_u64(uint64_t x);
TN_API tn_val tn_number_bool(bool x);

/* Arrays of types, of input and of output pointers for one statement, in C
 * and in C++: TN_TYPES(tn_f64(3), tn_i32()), TN_INPUTS(w, &b), TN_OUTPUTS(&y).
 * In C they are compound literals, which may be written out as well. */
#ifndef __cplusplus
#define TN_VAL(x)                          \
    _Generic((x),                          \
        tn_val: tn_number_self,            \
        double: tn_number_f64,             \
        float: tn_number_f64,              \
        long double: tn_number_f64,        \
        _Bool: tn_number_bool,             \
        unsigned long: tn_number_u64,      \
        unsigned long long: tn_number_u64, \
        default: tn_number_i64)(x)
#define TN_TYPES(...)   ((const tn_type[]){{0, 0, {0}}, __VA_ARGS__} + 1)
#define TN_INPUTS(...)  ((const void *const[]){NULL, __VA_ARGS__} + 1)
#define TN_OUTPUTS(...) ((void *const[]){NULL, __VA_ARGS__} + 1)
#define tn_ints(...) \
    tn_ints_of(sizeof((const int64_t[]){0, __VA_ARGS__}) / sizeof(int64_t) - 1, (const int64_t[]){0, __VA_ARGS__} + 1)
#define tn_vals(...) tn_vals_of(sizeof((const tn_val[]){__VA_ARGS__}) / sizeof(tn_val), (const tn_val[]){__VA_ARGS__})
#endif

/* The function to be traced: from inputs to one output, or to `nout` outputs.
 * It may not be left by longjmp or an exception. */
typedef tn_val (*tn_trace_fn)(const tn_val *in, void *user);
typedef void (*tn_trace_many_fn)(const tn_val *in, tn_val *out, void *user);

/* Runs f once on symbolic inputs of the given types and returns the program it
 * performed.  The first bad operation is reported once, here, with the user's
 * file:line; every later one is a no-op on poison values.  `user` goes to f as
 * it is.  NULL on failure.  Inside a callback, tn_trace makes an independent
 * program, whose values do not mix with those outside.  Cost: linear in the
 * operations performed. */
TN_API tn_fn *tn_trace_at(tn_ctx *c, tn_trace_fn f, void *user, size_t nin, const tn_type *in, const char *file,
                          int line);
TN_API tn_fn *tn_trace_many_at(tn_ctx *c, tn_trace_many_fn f, void *user, size_t nin, const tn_type *in, size_t nout,
                               const char *file, int line);
#define tn_trace(...)      tn_trace_at(__VA_ARGS__, __FILE__, __LINE__)      /* (c, f, user, nin, in) */
#define tn_trace_many(...) tn_trace_many_at(__VA_ARGS__, __FILE__, __LINE__) /* (c, f, user, nin, in, nout) */

/* ---- Programs ------------------------------------------------------------------ */

/* Releases the caller's hold on a program; NULL is fine. */
TN_API void tn_fn_free(tn_fn *f);
TN_API tn_ctx *tn_fn_ctx(const tn_fn *f);
/* Inputs (linear ones last), linear inputs, outputs, equations (nested ones not counted). */
TN_API size_t tn_fn_inputs(const tn_fn *f);
TN_API size_t tn_fn_linear_inputs(const tn_fn *f);
TN_API size_t tn_fn_outputs(const tn_fn *f);
TN_API size_t tn_fn_equations(const tn_fn *f);
/* Type of input or output i; a type that every use refuses when i is out of range. */
TN_API tn_type tn_fn_input_type(const tn_fn *f, size_t i);
TN_API tn_type tn_fn_output_type(const tn_fn *f, size_t i);

/* Text of a program (docs/ir.md), zero-terminated, owned by the caller and
 * released with tn_text_free; NULL without memory.  *n, if given, its length. */
TN_API char *tn_fn_print(const tn_fn *f, size_t *n);
TN_API void tn_text_free(tn_ctx *c, char *text);
/* Reads a program; messages speak of `filename` line:column.  NULL on errors
 * (TN_EPARSE, TN_ETYPE, TN_ELINEAR).  Equations are kept as written. */
TN_API tn_fn *tn_fn_parse(tn_ctx *c, const char *text, size_t n, const char *filename);
/* Scoping, types and linearity; TN_OK, or the error with its message. */
TN_API tn_status tn_check(const tn_fn *f);

/* Static cost of one run; nested programs count each time they run. */
typedef struct tn_cost_report {
    size_t size; /* sizeof(tn_cost_report), set by the caller */
    double equations;
    double flops;           /* weighted: add, mul 1; div, sqrt 4; transcendental 16 */
    double transcendentals; /* evaluations */
    double products;        /* multiply-adds of products and linear algebra */
    double bytes;           /* read and written, each equation alone */
    double peak_bytes;      /* of the arena tn_compile would plan */
} tn_cost_report;
TN_API tn_status tn_cost(const tn_fn *f, tn_cost_report *out);

/* ---- Transformations ------------------------------------------------------------ */

/* Which inputs are differentiated: n indices in the order wanted.  NULL stands
 * for all float inputs.  The usual spelling is tn_wrt(0, 1). */
typedef struct tn_wrt_list {
    size_t n;
    const int *index;
} tn_wrt_list;
#ifndef __cplusplus
#define tn_wrt(...) (&(const tn_wrt_list){sizeof((const int[]){__VA_ARGS__}) / sizeof(int), (const int[]){__VA_ARGS__}})
#endif

/* What partial evaluation keeps for the linear program (src/checkpoint). */
typedef enum tn_verdict { TN_RECOMPUTE, TN_SAVE } tn_verdict;
/* What a policy callback is told of a candidate value. */
typedef struct tn_candidate {
    size_t size;
    const char *primitive; /* that made it */
    const char *file;      /* the user's line */
    int line;
    const char *scope;
    tn_type type;
} tn_candidate;
typedef struct tn_policy {
    size_t size;      /* sizeof(tn_policy) */
    const char *name; /* "everything_saveable", "nothing_saveable", or NULL with `callback` */
    tn_verdict (*callback)(void *user, const tn_candidate *v);
    void *user;
} tn_policy;
/* A named policy, or NULL (no error is recorded). */
TN_API const tn_policy *tn_policy_by_name(const char *name);

/* Forward mode: (x.., dx of wrt..) -> (y.., dy of the float outputs..).
 * dy = J(x) dx (Radul et al., "You Only Linearize Once", POPL 2023, section 4).
 * Errors: TN_EINVAL (wrt out of range, repeated, or not float), TN_ERULE.  The
 * work of the result is at most a constant times f's, whatever the sizes. */
TN_API tn_fn *tn_jvp(const tn_fn *f, const tn_wrt_list *wrt);

/* Splits forward mode: the primal program x.. -> (y.., residuals..) and the
 * linear one (residuals.. | dx of wrt..) -> dy of the float outputs.., with the
 * same residuals in the same order.  policy NULL: the default.  On failure
 * both are NULL.  Ibid., section 5. */
typedef struct tn_linearized {
    tn_fn *primal, *linear;
} tn_linearized;
TN_API tn_linearized tn_linearize(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);

/* (residuals.. | ct of the outputs..) -> ct of the linear inputs.., for a
 * program with linear inputs; <ct, L dx> = <L' ct, dx>.  A program without
 * linear inputs is transposed with respect to all its float inputs when it is
 * linear in them; TN_ELINEAR with the equation's place when it is not. */
TN_API tn_fn *tn_transpose(const tn_fn *linear);

/* (x.., ct of the float outputs..) -> (y.., ct of wrt..). */
TN_API tn_fn *tn_vjp(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);
/* x.. -> gradient in each of wrt.. ; f has exactly one output, a float scalar. */
TN_API tn_fn *tn_grad(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);
/* x.. -> (y, gradients..). */
TN_API tn_fn *tn_value_and_grad(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);
/* As tn_value_and_grad for f: x.. -> (y, aux..): x.. -> (y, aux.., gradients of y..). */
TN_API tn_fn *tn_value_and_grad_aux(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);
/* (x.., v of wrt..) -> H v for each of wrt.. : forward over reverse. */
TN_API tn_fn *tn_hvp(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);
/* Jacobians: x.. -> for each float output y and each of wrt, an array of
 * shape y.shape + x.shape (outputs outermost).  jacfwd: vmap of jvp over a
 * basis of x; jacrev: vmap of vjp over a basis of y.  `block` bounds the basis
 * vectors pushed at once (0: all), and with it the memory. */
TN_API tn_fn *tn_jacfwd(const tn_fn *f, const tn_wrt_list *wrt, size_t block);
TN_API tn_fn *tn_jacrev(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block);
/* jacfwd of grad: for each pair of wrt an array of shape x_i.shape + x_j.shape. */
TN_API tn_fn *tn_hessian(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block);

/* Maps f over a new axis of `size`.  in_axes[i] is where input i has that axis,
 * or TN_NOT_MAPPED; NULL: 0 for every input.  out_axes likewise for outputs
 * (not TN_NOT_MAPPED where the output depends on a mapped input). */
#define TN_NOT_MAPPED (-1)
TN_API tn_fn *tn_vmap(const tn_fn *f, int64_t size, const int *in_axes, const int *out_axes);

/* ---- Execution --------------------------------------------------------------------- */

typedef struct tn_compile_options {
    size_t size; /* sizeof(tn_compile_options) */
    int threads; /* for products; 0: 1 */
    /* Element strides per input and output (rank of them each); NULL, or a NULL
     * entry: row-major.  So column-major matrices enter without a copy. */
    const int64_t *const *in_strides;
    const int64_t *const *out_strides;
    /* alias[j] = i: output j may be the same memory as input i (same type and
     * strides); -1: shares no memory with any input.  NULL: all -1. */
    const int *alias;
} tn_compile_options;

/* Plans f: order, liveness, buffers.  NULL on failure.  Warms BLIS's pools
 * with a product of the largest size; note that BLIS itself aborts when it is
 * out of memory.  Cost: linear in equations. */
TN_API tn_exec *tn_compile(const tn_fn *f, const tn_compile_options *opt);
TN_API void tn_exec_free(tn_exec *e);
/* Bytes of workspace a call needs, padding included; known before anything runs. */
TN_API size_t tn_exec_bytes(const tn_exec *e);
/* Runs with the executable's own workspace.  in[i], out[j] point to user
 * buffers, naturally aligned; out[j] NULL: that output is not written.
 * Allocates nothing after the first call.  TN_EBUSY when another thread is in
 * tn_call of the same executable; TN_ECALLBACK; TN_ENOMEM at the first call. */
TN_API tn_status tn_call(tn_exec *e, const void *const *in, void *const *out);

/* A workspace, one per thread.  `memory` of at least tn_work_bytes(e) bytes, or
 * NULL to allocate (then from the executable's context, by its thread). */
TN_API size_t tn_work_bytes(const tn_exec *e);
TN_API tn_work *tn_work_new(const tn_exec *e, void *memory, size_t bytes);
TN_API void tn_work_free(tn_work *w);
TN_API tn_status tn_call_in(const tn_exec *e, tn_work *w, const void *const *in, void *const *out);
/* The message of the last failed call with this workspace (or of tn_call). */
TN_API const char *tn_work_error(const tn_work *w);
TN_API const char *tn_exec_error(const tn_exec *e);

/* ---- User code as primitives -------------------------------------------------------- */

/* External functions: opaque C code with fixed types, called while a program
 * runs, on the calling thread only.  fn gets one pointer per operand and per
 * output (dense row-major); non-zero means failure (TN_ECALLBACK).  No
 * exception and no longjmp may cross.  Concurrent calls happen when the
 * executable is called concurrently. */
typedef int (*tn_external_fn)(void *user, const void *const *in, void *const *out);
typedef struct tn_external_spec {
    size_t size;      /* sizeof(tn_external_spec) */
    const char *name; /* unique in the context */
    size_t nin, nout;
    const tn_type *in, *out;
    tn_external_fn fn;
    void *user;
    /* (x.., dx of float inputs..) -> dy of float outputs.. ; may be NULL. */
    tn_external_fn jvp;
    /* (x.., ct of float outputs..) -> ct of float inputs.. ; may be NULL. */
    tn_external_fn vjp;
    bool linear; /* fn is linear in all float inputs: its transpose is vjp at any point */
    bool effect; /* run exactly once, in order; otherwise pure: may be merged, dropped, recomputed */
} tn_external_spec;
/* Registers an external function in the context (the spec is copied). To nest
 * deeper, register "NAME.jvp" or "NAME.vjp" with rules of their own: they are
 * asked for by name when the derivative of that callback is needed. */
TN_API tn_status tn_external_register(tn_ctx *c, const tn_external_spec *spec);

/* ---- Checking derivatives -------------------------------------------------------------- */

typedef struct tn_check_options {
    size_t size;      /* sizeof(tn_check_options) */
    double tolerance; /* 0: 1e-8 (f64) or 1e-4 (f32) of max(|df|, |f|, 1) */
    int directions;   /* random directions; 0: 4 */
    uint64_t seed;
    int order; /* 1: first derivatives; 2: second as well; 0: 2 */
} tn_check_options;
/* Checks f's derivatives at the point x (one buffer per input, dense): jvp
 * against Richardson-extrapolated central differences, <ct, J dx> = <J' ct, dx>
 * and, with order 2, the same of the gradient.  TN_OK, or TN_EINVAL with a
 * message that names the input and both numbers.  f32 programs are compared on
 * their f64 copy; those that call external functions of f32 have none and need a
 * larger tolerance. */
TN_API tn_status tn_check_grads(const tn_fn *f, const void *const *x, const tn_wrt_list *wrt,
                                const tn_check_options *opt);

#ifdef __cplusplus
} /* extern "C" */
#endif

#ifdef __cplusplus
#include "tansy/cxx.h"
#endif
#include "tansy/ops.h"

#endif
