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
 *     tn_hessian, tn_value_and_jacobian, tn_vmap
 *
 * Because the results are ordinary programs, they nest: tn_jvp(tn_grad(f)) is
 * forward over reverse.  A program is run by compiling it (`tn_compile`) and
 * calling it (`tn_call`).
 *
 * Here are contexts, values, programs and transformations.  This header includes what most programs want besides:
 * <tansy/exec.h>, compiling, calls and profiles; <tansy/ops.h>, the operators; <tansy/loops.h>; <tansy/structs.h>.
 *
 * ## A first program
 *
 *     static tn_val f(const tn_val *in, void *user) {
 *         (void)user;
 *         return tn_sum(tn_mul(tn_sin(in[0]), in[0]));
 *     }
 *     tn_ctx  *c = tn_ctx_new(NULL);
 *     tn_fn   *p = tn_trace(c, f, NULL, TN_ARGS(tn_f64(3)));
 *     tn_fn   *g = tn_grad(p, NULL, NULL);
 *     tn_exec *e = tn_compile(g, NULL);
 *     if (!e) fprintf(stderr, "%s\n", tn_error(c));
 *     if (tn_call(e, TN_INPUTS(x), TN_OUTPUTS(dx))) fprintf(stderr, "%s\n", tn_exec_error(e));
 *     tn_ctx_free(c);
 *
 * ## Errors
 *
 * Functions that make an object return NULL on failure, others a tn_status.
 * The context then holds the status (tn_last_status) and a message (tn_error)
 * that names the primitive, the operand, the reason and the user's file:line.
 * Calls of what is compiled may be on any thread: their message, also that of a
 * callback that failed, is tn_exec_error's or tn_work_error's.
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
 *
 * A child of fork() may use what its parent made, if no other thread was using it then; calls have the same bits.
 * There, and in what is compiled after a fork without exec, threads are started for each step (docs/execution.md).
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

/* What tn_blis_select found. */
typedef enum tn_blis_choice {
    TN_BLIS_KEPT,     /* nothing was done: BLIS chooses well, or there is nothing better that we could name */
    TN_BLIS_SELECTED, /* BLIS_ARCH_TYPE was set */
    TN_BLIS_USER      /* BLIS_ARCH_TYPE had been set before, and stays */
} tn_blis_choice;
/* BLIS, which does large products, picks its kernels by the processor's name.  Version 0.9 does not know all names: it
 * takes portable kernels for processors that came later (AMD Zen 5, other makers), and those for half vectors where
 * the name does not tell (virtual machines).  This function sets BLIS_ARCH_TYPE in the environment where the processor
 * has AVX2 and FMA, BLIS would choose so, and the version's numbers are known.
 * Call it, if at all, before anything calls BLIS (also other libraries) and before there is a second thread: BLIS
 * reads the environment once, and environments are not safe among threads.  Nothing else in Tansy changes the
 * environment.  It is for triangular solves: products are as fast without it, by kernels of Tansy's own, which they
 * keep where those are faster than what BLIS then takes (Zen 5). Never fails; costs microseconds. */
TN_API tn_blis_choice tn_blis_select(void);

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
    X(TN_EIO, 11, "input or output failed")   \
    X(TN_EASSERT, 12, "an assertion failed")  \
    X(TN_ECANCELLED, 13, "cancelled")

typedef enum tn_status {
#define TN_STATUS_ENUM(name, code, text) name = code,
    TN_STATUS_LIST(TN_STATUS_ENUM)
#undef TN_STATUS_ENUM
} tn_status;

/* A short text for a status; "unknown status" for any other number. */
TN_API const char *tn_status_text(tn_status s);

/* ---- Types ---------------------------------------------------------------- */

/* Element types.  bool is one byte holding 0 or 1.  Unsigned integers count modulo 2^bits; arrays are indexed by i32
 * and i64 alone.  f16 is IEEE's binary16, bf16 the upper half of an f32; in memory both are a uint16_t of these bits.
 *
 * i8, i16, u8, u16, u64, f16 and bf16 are computed with as i32, u32, i64 and f32: each result of an equation that may
 * be none of the dtype's values has its low bits kept, or is rounded to nearest, ties to even.  Sums and products of
 * many numbers are rounded once.  Arrays of these dtypes in memory are inputs, outputs and constants; what is kept in
 * between takes the memory of the wider dtype. */
typedef enum tn_dtype {
    TN_BOOL,
    TN_I32,
    TN_I64,
    TN_F32,
    TN_F64,
    TN_U32,
    TN_I8,
    TN_I16,
    TN_U8,
    TN_U16,
    TN_U64,
    TN_F16,
    TN_BF16,
    TN_NDTYPES
} tn_dtype;

typedef struct tn_ctx tn_ctx;
/* Axes of a context's grid of ranks (<tansy/comm.h>). */
typedef struct tn_axes tn_axes;

/* An array type: dtype and shape.  dim[rank..] are zero.  Arrays are row-major
 * unless tn_compile is told otherwise; zero-size dimensions are allowed. */
typedef struct tn_type {
    int32_t dtype; /* a tn_dtype */
    int32_t rank;  /* 0..TN_MAX_RANK; a scalar has rank 0 */
    int64_t dim[TN_MAX_RANK];
    const tn_axes *varying; /* what it varies over (tn_varying), a context's own; NULL: nothing, as without a grid */
} tn_type;

/* A type from a dtype and `rank` dimensions.  A bad rank or a negative
 * dimension gives a type that every use refuses.  The macros tn_f64(3, 4),
 * tn_f64() ... are the usual spelling. */
TN_API tn_type tn_type_of(tn_dtype dtype, size_t rank, const int64_t *dims);

/* Elements and bytes of a type; SIZE_MAX when the type is bad or overflows. */
TN_API size_t tn_type_elements(const tn_type *t);
TN_API size_t tn_type_bytes(const tn_type *t);
/* The text of a type, as programs have it: f64[3,4], i32[], bool[2].  Writes at most `size` bytes, the zero behind it
 * included, and returns how long it is, at most TN_TYPE_TEXT - 1; a bad type is "?". */
#define TN_TYPE_TEXT 384
TN_API size_t tn_type_print(const tn_type *t, char *text, size_t size);
/* Dtypes and shapes, not what they vary over.  NULL is equal to NULL, and a type of a bad rank to none. */
TN_API bool tn_type_equal(const tn_type *a, const tn_type *b);

/* ---- Contexts -------------------------------------------------------------- */

typedef struct tn_fn tn_fn;
typedef struct tn_exec tn_exec;
typedef struct tn_work tn_work;
typedef struct tn_profile tn_profile;

/* Ranks of a program that many run together (<tansy/comm.h>), as a grid: names of its axes, at most 8, and how many
 * ranks there are along each. */
typedef struct tn_grid {
    size_t naxes;
    const char *const *name;
    const int64_t *extent;
} tn_grid;
typedef struct tn_comm_ops tn_comm_ops; /* who moves data between them */

/* Options of a context.  Zero means the default everywhere. */
typedef struct tn_ctx_options {
    size_t size; /* sizeof(tn_ctx_options) */
    /* The one door for memory.  realloc(user, p, old, new) behaves like C's
     * realloc: p NULL allocates, new 0 frees (and returns NULL).  Memory is
     * aligned for any type.  Default: the C library's. */
    void *(*realloc)(void *user, void *p, size_t old_size, size_t new_size);
    void *user;
    int check; /* 0: check after every transformation in debug builds; 1: always; -1: never */
    /* Whether x*y + z, x*y - z and z - x*y of floats, as written or as derivatives have them, are rounded once, as one
     * fma.  0: yes, decided for each equation before a program is derived, batched or split: a value has the same bits
     * wherever it is computed, or computed again, with every policy, schedule and backend; not across the border of a
     * nested program, tn_subfn's or a region's.  As with any compiler that
     * contracts, x*y - u*v where u*v equals x*y but is a value of its own may be a rounding error instead of 0, and
     * x*x - y*y slightly negative.  -1: no, each product is rounded. */
    int contract;
    /* The threads of programs compiled in this context that name none (tn_compile_options.threads); 0: 1. */
    int threads;
    /* Limits, for programs that come from strangers (docs/ir.md, "Texts of strangers"); 0: none but the library's own.
     * max_bytes: that the context may have allocated at once, workspaces and stacks of calls included (TN_ENOMEM);
     * max_equations: of one program, those of nested programs not counted (TN_ELIMIT); max_nesting: of programs within
     * programs, at most TN_MAX_NEST (TN_ELIMIT), and as many as the stack of the thread that makes the context has room
     * for where that is known (Linux), at 3 KiB each: all 256 with 832 KiB.  Threads with smaller stacks that use the
     * context want a max_nesting of their own. */
    size_t max_bytes;
    uint32_t max_equations, max_nesting;
    /* The grid that programs of this context run on; copied.  Default: none, until a text brings one. */
    tn_grid grid;
} tn_ctx_options;

/* A new context, or NULL without memory.  `opt` may be NULL.  A context whose options were refused (size not set)
 * holds the error, and each attempt to trace, parse or transform in it fails with that message. */
TN_API tn_ctx *tn_ctx_new(const tn_ctx_options *opt);
/* Frees the context and everything made in it; NULL is fine.  Within a callback of tn_trace it is an error, and frees
 * nothing. */
TN_API void tn_ctx_free(tn_ctx *c);
/* The last error's message ("" if none), valid until the next error. */
TN_API const char *tn_error(const tn_ctx *c);
/* The last error's status; TN_OK if none since tn_error_clear. */
TN_API tn_status tn_last_status(const tn_ctx *c);
TN_API void tn_error_clear(tn_ctx *c);
/* Bytes now allocated through the context, and the most so far. */
TN_API size_t tn_ctx_bytes(const tn_ctx *c);
TN_API size_t tn_ctx_peak_bytes(const tn_ctx *c);

/* The type of a text, all of it, in *t: what tn_type_print writes, with spaces where one likes, and the names of
 * NumPy's dtypes (float64[3]).  TN_OK; TN_EPARSE with the place in the message; TN_EINVAL when a pointer is NULL.  *t
 * is a type that every use refuses where it fails. */
TN_API tn_status tn_type_parse(tn_ctx *c, const char *text, tn_type *t);

/* ---- Values and tracing ------------------------------------------------------ */

/* A value while tracing, passed by copy; it owns nothing.  A plain number
 * (ctx NULL) becomes an array of the other operand's dtype where it is used.
 * Only the library makes the others: one that was never set is refused. */
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

/* Types for one statement, in C and in C++: TN_ARGS(tn_f64(3), tn_i32()) stands for two arguments, how many they are
 * and their array, as in tn_trace(c, f, NULL, TN_ARGS(tn_f64(3), tn_i32())).  TN_TYPES(..) is the array alone; it ends
 * with a mark, so that a count that is larger is refused and nothing behind the array is read. */
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
        char: tn_number_i64,               \
        signed char: tn_number_i64,        \
        unsigned char: tn_number_i64,      \
        short: tn_number_i64,              \
        unsigned short: tn_number_i64,     \
        int: tn_number_i64,                \
        unsigned: tn_number_i64,           \
        long: tn_number_i64,               \
        long long: tn_number_i64)(x)
#define TN_I_TYPES(...) TN_I_COUNT(__VA_ARGS__)
#else
#define TN_I_TYPES(...) tn_i_types_cxx(__VA_ARGS__)
#endif
#define TN_ARGS(...) TN_I_TYPES(__VA_ARGS__), TN_TYPES(__VA_ARGS__)

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

/* Releases the caller's hold on a program; NULL is fine.  One that is gone is told when it is used again, TN_EINVAL,
 * until some thirty others were made after it. */
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
 * (TN_EPARSE, TN_ETYPE, TN_ELINEAR).  Equations are kept as written.  That the ft of a linear_call is the transpose of
 * its f holds where it is what tn_transpose makes of f; else it is tried at random points, as when it is traced:
 * TN_ELINEAR where it is not, TN_ELIMIT where trying takes more than 10^7 operations or nobody knows how many. */
TN_API tn_fn *tn_fn_parse(tn_ctx *c, const char *text, size_t n, const char *filename);
/* Scoping, types and linearity; TN_OK, or the error with its message. */
TN_API tn_status tn_check(const tn_fn *f);

/* What tn_lint reports: an equation whose derivative may turn to NaN, and a print. */
typedef struct tn_lint_warning {
    size_t size; /* sizeof(tn_lint_warning) of the library */
    const char *primitive, *file;
    int operand, line; /* operand -1: a print; line 0: unknown */
    const char *scope;
    const char *message; /* all of it, "FILE:LINE: warning: ..."; the strings live during the call only */
} tn_lint_warning;
typedef void (*tn_lint_fn)(void *user, const tn_lint_warning *w);
/* Warns where the case that a tn_where (select) does not take has an infinite or undefined partial: its cotangent is 0
 * there, and 0 times infinity is NaN, as in the gradient of where(x > 0, sqrt(x), 0) at 0. Looked for are
 * sqrt, log, division, powers and others with poles (`pole` of the descriptor), in and out of nested calls,
 * reached from the case through elementwise equations and views, at most 10000 of them, whose operand may be at the
 * pole as far as its bounds are known (of exp, squares, sums, constants ..).  The idiom that mends it is not reported:
 * an operand which was itself chosen by a condition on the same values, where(x > 0, sqrt(where(x > 0, x, 1)), 0). Each
 * equation is reported once.  The first tn_print or tn_progress is reported too: only the observer of a call hears it,
 * and this function does not know whether there will be one.  fn is called on the same thread, before tn_lint returns,
 * and may not use f's context. TN_OK, however many warnings; TN_EINVAL when f or fn is NULL; TN_ENOMEM.  Cost: linear
 * in equations, and at each where in the equations of its cases. */
TN_API tn_status tn_lint(const tn_fn *f, tn_lint_fn fn, void *user);

/* Static cost of one run; nested programs count each time they run. */
typedef struct tn_cost_report {
    size_t size; /* sizeof(tn_cost_report), set by the caller */
    double equations;
    double flops;           /* weighted: add, mul 1; div, sqrt 4; transcendental 16 */
    double transcendentals; /* evaluations */
    double products;        /* multiply-adds of products and linear algebra */
    double bytes;           /* read and written, each equation alone */
    /* Of the arena, as tn_exec_bytes has it for tn_compile without options or with TN_BACKEND_NATIVE, which runs the
     * same plan.  Others plan for themselves: TN_BACKEND_REFERENCE, which fuses nothing, and strides, aliases,
     * strict_zero, threads, or exact math functions. */
    double peak_bytes;
    double spill_bytes; /* of the spill file tn_compile would plan, which peak_bytes leaves out */
} tn_cost_report;
TN_API tn_status tn_cost(const tn_fn *f, tn_cost_report *out);

/* ---- Transformations ------------------------------------------------------------ */

/* Which inputs are differentiated: n indices in the order wanted.  NULL stands
 * for all float inputs.  The usual spelling is tn_wrt(0, 1). */
typedef struct tn_wrt_list {
    size_t n;
    const int *index;
} tn_wrt_list;
/* What partial evaluation keeps for the linear program (src/checkpoint). */
/* TN_OFFLOAD: kept, but not in memory: in a spill file until the linear program reads it
 * (tn_compile_options.spill_dir). */
typedef enum tn_verdict { TN_RECOMPUTE, TN_SAVE, TN_OFFLOAD } tn_verdict;
/* What a policy callback is told of a candidate value. */
typedef struct tn_candidate {
    size_t size;           /* sizeof(tn_candidate) of the library */
    const char *primitive; /* that made it */
    const char *file;      /* the user's line */
    int line;
    const char *scope;
    tn_type type;
} tn_candidate;
typedef struct tn_policy {
    size_t size; /* sizeof(tn_policy) */
    /* A name, followed by ':' and arguments where the policy has some, or NULL with `callback`:
     *   everything_saveable, nothing_saveable, dots_saveable (or checkpoint_dots),
     *   dots_with_no_batch_dims_saveable (or checkpoint_dots_with_no_batch_dims),
     *   save_only_these_names:a,b  save_any_names_but_these:a,b  save_anything_except_these_names:a,b
     *   offload_dot_with_no_batch_dims  save_and_offload_only_these_names:a,b|c,d  (saved | offloaded)
     *   save_from_either_policy:dots_saveable|save_only_these_names:a  (or save_from_both_policies)
     *   memory_budget:1000000 (see tn_memory_budget)
     * Names and meanings are JAX's (jax.checkpoint_policies); names are given to values by
     * tn_checkpoint_name.  Policies that compare what saving and computing again cost, by a table that is
     * the same on every machine:
     *   min_cut     the default: fewest modelled nanoseconds, exactly; at most 5 us per value
     *   min_cut:costs=FILE  the same by another table, as `bench/calibrate` writes it: lines "name number",
     *               read each time a program is split; TN_EIO, or TN_EPARSE with the line.  Not for regions
     *               (tn_checkpoint): the text of a program names no file
     *   min_bytes   fewest bytes, where products, factorizations, solves, sorts and external calls are not
     *               computed again and everything else is free; in loops of known length that keep what their
     *               steps save, a step may also be recomputed from what the one before it saved
     *   balanced (or recompute_memory_bound)  what is dearer to compute again than to save is saved, each
     *               value by itself; linear in the program */
    const char *name;
    tn_verdict (*callback)(void *user, const tn_candidate *v);
    void *user;
} tn_policy;
/* The policy of a name, with its arguments where it has some, for as long as the block around lives, in C++ for the
 * statement: tn_grad(f, NULL, tn_policy_by_name("dots_saveable")).  The name is looked up where the policy is used: one
 * that the table does not have is refused there (TN_EINVAL, with the name that is nearest). */
#ifndef __cplusplus
#define tn_policy_by_name(text) (&(const tn_policy){.size = sizeof(tn_policy), .name = (text)})
#endif

/* Forward mode: (x.., dx of wrt..) -> (y.., dy of the float outputs..).
 * dy = J(x) dx (Radul et al., "You Only Linearize Once", POPL 2023, section 4).
 * Errors: TN_EINVAL (wrt out of range, repeated, or not float), TN_ERULE.  The
 * work of the result is at most a constant times f's, whatever the sizes. */
TN_API tn_fn *tn_jvp(const tn_fn *f, const tn_wrt_list *wrt);

/* Splits forward mode: the primal program x.. -> (y.., residuals..) and the
 * linear one (residuals.. | dx of wrt..) -> dy of the float outputs.., with the
 * same residuals in the same order.  policy NULL: min_cut, which leaves to the
 * linear program what it alone needs and can make of what it has (everything_saveable
 * suits a linear program that runs often).  On failure both are NULL.  Errors of this, tn_vjp and the gradients: as of
 * tn_jvp; TN_EINVAL (policy), TN_EIO and TN_EPARSE (a policy's file of costs), TN_ELIMIT where one program would keep
 * more than 65,536 residuals beside one for each of its equations, as calls within calls may.  Ibid., section 5. */
typedef struct tn_linearized {
    tn_fn *primal, *linear;
} tn_linearized;
TN_API tn_linearized tn_linearize(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);

/* The table of policies: entry i, or NULL behind the last.  *arguments (may be NULL) tells
 * whether its name wants ":arguments". */
TN_API const tn_policy *tn_policy_at(size_t i, bool *arguments);

/* What a derivative keeps, before anything runs: one entry per value that the linear
 * program of tn_linearize reads, however it comes by it. */
typedef enum tn_residual_verdict {
    TN_RESIDUAL_SAVED,      /* written by the primal program, read by the linear one */
    TN_RESIDUAL_RECOMPUTED, /* computed by the linear program, from the other entries */
    TN_RESIDUAL_OFFLOADED,  /* saved to a file */
    TN_RESIDUAL_INPUT,      /* an input of f: the caller's memory, never copied */
    TN_RESIDUAL_FREE        /* a constant, or a view of another entry: costs nothing */
} tn_residual_verdict;
/* "saved", "recomputed", "offloaded", "input", "free". */
TN_API const char *tn_residual_verdict_text(tn_residual_verdict v);

/* Strings belong to the context, and live as long as it. */
typedef struct tn_residual {
    size_t size; /* sizeof(tn_residual) of the library */
    tn_type
        type; /* a dimension of INT64_MIN, `?` in text, is as long as its loop: `bytes` are then those of one step */
    size_t bytes;
    tn_residual_verdict verdict;
    const char *primitive; /* that makes it, inside nested programs where it is made there; "input", "constant" */
    int input;             /* the input's number, or -1 */
    const char *file;      /* the user's place, "" when unknown */
    int line;
    const char *scope;
    const char *reader; /* the first linear equation that depends on it; "output" when it is a result itself */
    const char *reader_file;
    int reader_line;
    const char *rule; /* the policy that decided, of the innermost region; "input", "constant", "view" */
    /* Of computing it once from its equation's operands, whether that is done or not: flops as tn_cost
     * counts them and modelled nanoseconds.  A second value of one recomputed equation costs nothing. */
    double flops, transcendentals, ns;
    double times; /* how often the derivative makes it: the runs of its nested program, else 1 */
} tn_residual;

typedef struct tn_residual_totals {
    size_t size;        /* sizeof(tn_residual_totals), set by the caller */
    const char *policy; /* its text; "callback" */
    double residual_bytes, offloaded_bytes;
    /* Work that the derivative does beyond one that saves every value everywhere, regions included: what
     * primal and linear program both compute. */
    double recomputed_flops, recomputed_transcendentals;
    /* Work of the recomputed entries: that, and of values that only the linear program needs. */
    double behind_flops, behind_transcendentals;
    /* Arenas, as tn_exec_bytes states them: of the primal program, whose outputs (residuals among
     * them) are the caller's memory; of the transposed linear program, whose inputs are; of the two as
     * one program, tn_vjp's, where residuals live in the arena as well. */
    double peak_forward_bytes, peak_backward_bytes,
        peak_bytes;                           /* with the schedules of loops; residual_bytes without */
    double equations, flops, transcendentals; /* of tn_vjp's program, as tn_cost counts them */
    double modelled_ns;                       /* of one run of it, by the shipped cost model */
    const char *schedules;                    /* memory_budget: as in tn_budget_report; else "" */
} tn_residual_totals;

/* The report of f's derivative with respect to wrt under a policy (NULL: the default); saved,
 * input and offloaded entries first, in the order of the linear program's inputs.  A value in a
 * nested program that runs several times is one entry.  NULL after an error: those of tn_vjp.
 * Owned by the context; may be freed earlier.  Cost: that of tn_vjp, three times. */
typedef struct tn_residuals tn_residuals;
TN_API tn_residuals *tn_saved_residuals(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy);
TN_API void tn_residuals_free(tn_residuals *r); /* NULL is fine */
TN_API size_t tn_residuals_count(const tn_residuals *r);
/* Entry i, as long as the report; NULL when i is out of range. */
TN_API const tn_residual *tn_residuals_at(const tn_residuals *r, size_t i);
/* TN_EINVAL when r or out is NULL, or out->size is not set. */
TN_API tn_status tn_residuals_total(const tn_residuals *r, tn_residual_totals *out);

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
/* x.. -> (y.., Jacobians..): all outputs of f, and Jacobians as tn_jacrev has them where float outputs have fewer
 * elements than the inputs of wrt, else as tn_jacfwd.  One program: what values and derivatives share is computed once.
 */
TN_API tn_fn *tn_value_and_jacobian(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block);
/* jacfwd of grad: for each pair of wrt an array of shape x_i.shape + x_j.shape.  That of an input with itself is
 * symmetric to the bit: it is made of its upper triangle (flattened to a matrix), so products whose result goes there
 * take little more than half the time.  Where f holds derivatives that its author gives (tn_custom_jvp, tn_custom_vjp,
 * tn_linear_call, tn_custom_root, tn_external), which may contradict it, the whole is computed, as by tn_jacfwd. */
TN_API tn_fn *tn_hessian(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block);
/* For f: x.. -> (y, aux..), as tn_value_and_grad_aux: x.. -> (y, aux.., gradients of y.., the Hessian's blocks..). */
TN_API tn_fn *tn_hessian_aux(const tn_fn *f, const tn_wrt_list *wrt, const tn_policy *policy, size_t block);

/* f with these of its outputs alone, in this order; one may come more than once.  What only others need is not
 * computed: tn_select_outputs(h, tn_ints(2)) of a program that has a value, a gradient and a Hessian is the Hessian.
 * Effects of f stay.  TN_EINVAL when there is no such output.  Cost: linear in equations. */
TN_API tn_fn *tn_select_outputs(const tn_fn *f, tn_int_list outputs);

/* The policy memory_budget:BYTES is, of all plans whose peak is within BYTES, the one that does the least again.
 *   The peak of a plan is the largest arena (tn_exec_bytes without options, or with TN_BACKEND_NATIVE) of the programs
 * that tn_vjp and, where the first output is a float scalar, tn_value_and_grad_aux and, where there is no other,
 * tn_grad make of f with respect to wrt: one definition, so that the plan is the same for all of them and for
 * tn_linearize. It is of the plan that tn_compile makes, where values that one set of loops makes and reads take no
 * memory.  tn_jacrev takes the budget for the reverse pass of each output, tn_hvp and tn_hessian for the gradient.
 *   Programs with at most 12 values to decide on, those of nested programs included, are planned exactly: every save
 * set is tried, at most 4096 times the cost of tn_linearize, tn_transpose and planning, usually much fewer.  For larger
 * ones at most 64 candidates are tried, each at that cost: the other policies, save sets that are the least at a price
 * per byte, and those with some of what they recompute saved after all; a nested program is planned at the same price
 * as the one that calls it.  (What nested programs save adds to what is decided outside: where that makes more than 12
 * values only after some sets were tried, candidates follow.)  The plans that are tried do not depend on BYTES; so the
 * peak of a lower budget is never higher.
 *   Loops whose schedule is `auto` get theirs with the plan: the least modelled time, of what plans do again and of
 * what schedules do (steps that run again, slots that are written and read), so that the whole program keeps within
 * BYTES. The programs that are made have the schedule that was chosen in the place of `auto`.  Every schedule of every
 * loop is tried with every save set where that makes at most 2048 plans.  Else six policies are tried with at most 24
 * choices each for one loop (all_save, revolve or mixed with a few numbers of slots, nothing); for 2 to 8 loops these,
 * and each loop's choices while the others keep half; more loops keep more or less together.  From the best that fits,
 * halving, to numbers of slots in between: this depends on BYTES, but the peak of a lower budget is not higher.  A loop
 * with auto:BYTES keeps that limit of its own: it becomes auto:N, N at most BYTES.  Of a loop whose number of steps
 * only a run tells, slots alone can be bounded: it becomes online:S, S at most 999, the time that of 1000 steps, or
 * all_save where saving everything takes no bytes for a step. A region (tn_checkpoint) keeps its own policy, which
 * cannot be a budget (TN_EINVAL at its file:line). A budget below the least peak is TN_EINVAL; the message states the
 * least peak of all plans or, for large programs, the least found. */
typedef struct tn_budget_report {
    size_t size;         /* sizeof(tn_budget_report), set by the caller */
    size_t least_bytes;  /* the least peak, of all plans or of those tried: no lower budget is feasible */
    size_t full_bytes;   /* the peak when everything is saved */
    size_t peak_bytes;   /* of the chosen plan; 0 where none is feasible, as are the next two */
    double recompute_ns; /* modelled work of the vjp that everything_saveable does not have */
    /* No plan within the budget has less; equal when exact, and 0 when nothing is known: with loops, nested programs
     * or regions.  Else it counts the residuals that products of the derivative read, which are in memory whatever is
     * fused; others may live in registers, so that it is 0 where there are no products. */
    double bound_ns;
    size_t plans; /* how many were tried */
    int feasible, exact;
    const char *schedules; /* chosen for loops with `auto`, separated by spaces; "" where there are none.  In the order
                            * of the program, a loop before those of its step; lives as long as the context */
} tn_budget_report;
/* What memory_budget:bytes would choose, without making the program.  TN_OK, also when it is infeasible; TN_EINVAL
 * (wrt, the report's size), and what tn_vjp fails with. */
TN_API tn_status tn_memory_budget(const tn_fn *f, const tn_wrt_list *wrt, size_t bytes, tn_budget_report *out);

/* Schedules: which of a loop's states (what enters a step) and records (what the linear program reads of a step) are
 * kept while it runs, and how its steps come back in reverse; what is not kept is computed again.  A schedule can
 * waste, but not change a result.  With N steps and S = CHECKPOINTS slots, one of which holds the initial state:
 *   all_save              every record; nothing is computed again
 *   revolve:S             states; N known: the fewest advances, r*N - C(S+r, S+1), r the least with C(S+r, S) >= N
 *   online:S              states; N unknown: at most N more than revolve, 2 more up to N = (S+1)(S+2)/2 - 1
 *   mixed:S               N known; a slot holds a state or a record: fewest advances, never more than revolve
 *   disk_revolve:S,DISK   N known; states in S slots in memory and DISK slots on disk, which cost so many steps to
 *                         write and to read: ",wd=COST" and ",rd=COST" behind it, default 2, at most three decimals.
 *                         Least advances + costs.  At most 2^22 steps; TN_ELIMIT, too, where planning takes over
 *                         2^32 operations
 *   periodic:K            every K-th state; then block by block, each advanced through once, its K-2 inner states kept:
 *                         with B = ceil(N/K) blocks N-1 + (B-1)(K-1) advances, or 2N - B where N is unknown
 *   nothing               the initial state: N(N-1)/2 advances, and N more where N is unknown
 *   auto[:BYTES]          what is modelled fastest within a budget: all_save, mixed, revolve or nothing; of loops of
 *                         unknown length all_save or online.  BYTES are for the loop's slots alone; without them, and
 *                         without the policy memory_budget, there is no bound
 * Schedules with a fixed number of slots have at most 2^24.
 *   Derivatives of derivatives keep the schedule. The gradient of a gradient's product with a direction, and so on, of
 * order P, keeps 2^(P-1) states in the place of one, the loop's own and those of its linear sweeps in the same
 * direction, and runs the loop's own steps N P(P-1)/2 times more than a gradient; with all_save no more often. Each
 * tn_jvp doubles what a state is, and runs no step more. */
typedef struct tn_schedule_options {
    size_t size;         /* sizeof(tn_schedule_options), set by the caller */
    size_t state_bytes;  /* of what enters a step */
    size_t record_bytes; /* of what the linear program reads of a step; of order P, all linear programs together */
    size_t budget_bytes; /* auto without BYTES: for all slots together; 0: no bound */
    double step_ns;      /* auto: of one step */
    int unknown;         /* the number of steps is found out at the end, as in a while loop */
    int order;           /* P, at most 32: gradients in each other, below; 0 is 1 */
} tn_schedule_options;
typedef struct tn_schedule_counts {
    size_t size;          /* sizeof(tn_schedule_counts), set by the caller */
    const char *schedule; /* in normal form, of `auto` what it became; lives as long as the context */
    int64_t steps;
    int64_t advances;       /* plain steps, those of the forward pass and of further orders among them */
    int64_t recorded;       /* steps that make their record: N.  All steps done are advances + recorded */
    int64_t snapshots;      /* the most slots in memory that hold something at once */
    int64_t disk_snapshots; /* and on disk */
    int64_t disk_writes, disk_reads;
    /* Snapshots times the larger of what they hold.  The initial state counts, though it is the loop's operand and
     * needs no copy; the working state and record do not. */
    size_t bytes, disk_bytes;
} tn_schedule_counts;
/* Schedule i of the library with the names of its arguments, as "revolve:CHECKPOINTS"; NULL behind the last. */
TN_API const char *tn_schedule_at(size_t i);
/* What a reverse pass over `steps` steps takes under a schedule, by arithmetic: nothing runs.  `opt` may be NULL: sizes
 * 0.  Fills *out up to the size it states.  TN_OK; TN_EINVAL (the schedule's text, steps < 0, unknown steps for a
 * schedule that wants them, sizes); TN_ELIMIT (see above); TN_EOVERFLOW (a count does not fit 64 bits); TN_ENOMEM.  The
 * context is used by one thread at a time.  O(log steps), but mixed O(S); online O(min(steps, S^2)) and, for S <= 256,
 * O(S^2 log S); disk_revolve O(steps * DISK * pieces), pieces being the bends of its cost as a function of steps. */
TN_API tn_status tn_schedule_cost(tn_ctx *c, const char *schedule, int64_t steps, const tn_schedule_options *opt,
                                  tn_schedule_counts *out);

/* What a derivative would take under other choices, before anything runs: one way to have it. */
typedef struct tn_advice {
    size_t size;        /* sizeof(tn_advice) of the library */
    const char *policy; /* for tn_policy.name */
    const char
        *schedules;      /* of the loops, one that all have or each its own, separated by spaces ("none": it has none);
                            "" where there are no loops */
    const char *adjoint; /* the name that <tansy/ode.h> has for a solve in such a loop, or that was asked for; or "" */
    double bytes;        /* the peak, as tn_budget_report has it, and stacks for so many steps */
    double bytes_per_step; /* of them, for each step of loops of unknown length */
    double spill_bytes;    /* in a file (tn_compile_options.spill_dir) */
    /* Steps of the loops of f itself, not of those within their steps and in programs that it calls, as
     * tn_schedule_cost counts them: those that keep nothing and those that make their record. */
    double advances, recorded;
    double ns;         /* modelled, of one run of the vjp and of what schedules do again */
    bool fits, best;   /* within the bytes; and modelled to be the fastest that does, of equals that of fewest bytes */
    const char *error; /* why this way cannot be had, numbers are 0 then; "" */
} tn_advice;
typedef void (*tn_advice_fn)(void *user, const tn_advice *a);
typedef struct tn_advise_options {
    size_t size;   /* sizeof(tn_advise_options); zeros are defaults */
    size_t bytes;  /* the budget; 0: no bound */
    int64_t steps; /* that loops of unknown length are taken to make; 0: 1000 */
    int64_t disk;  /* slots on disk that loops of known length may have, beside those in memory; 0: none */
    /* Traces the program with another adjoint, for tn_ode_options.adjoint: then each of <tansy/ode.h> that has a
     * reverse mode is tried, too.  In f's context, with f's inputs; NULL after an error, which is told.  What it
     * returns is freed. */
    tn_fn *(*solve)(void *user, const char *adjoint);
    void *user;
} tn_advise_options;
/* Tells fn of ways to have reverse mode of f with respect to wrt, those that fit first, the fastest in front: every
 * policy that takes no arguments, with f's own schedules; for programs with loops the policies min_cut,
 * everything_saveable and nothing_saveable with other schedules for all of them (all_save, revolve with fewer and fewer
 * slots, nothing; min_cut also with mixed and, where `disk` is given, disk_revolve; of loops of unknown length online),
 * with a number of slots in between that just fits; memory_budget:BYTES; the adjoints of `solve`.  What a schedule
 * changes is the text of tn_scan, tn_fori or tn_while_loop.  Modelled times are those of an unnamed machine, for
 * comparing; a loop of unknown length counts as one step, which runs again as often as that of a loop of 1000 does on
 * the average.  fn is called on this thread, and may not use f's context; what a text points to lives as long as the
 * context, `error` during the call.  TN_OK, also where nothing fits; TN_EINVAL (f or fn NULL, wrt, options) and, where
 * no way can be had, what tn_vjp fails with; TN_ENOMEM.  Cost: some 10 to 80 times that of tn_vjp and tn_compile. */
TN_API tn_status tn_advise(const tn_fn *f, const tn_wrt_list *wrt, const tn_advise_options *opt, tn_advice_fn fn,
                           void *user);

/* Maps f over a new axis of `size`.  in_axes[i] is where input i has that axis,
 * or TN_NOT_MAPPED; NULL: 0 for every input.  out_axes likewise for outputs
 * (not TN_NOT_MAPPED where the output depends on a mapped input). */
#define TN_NOT_MAPPED (-1)
TN_API tn_fn *tn_vmap(const tn_fn *f, int64_t size, const int *in_axes, const int *out_axes);

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
    /* (x.., dx of float inputs..) -> dy of float outputs.. ; may be NULL, as vjp: what has float outputs has no
     * derivative then (TN_ERULE, by the transformation that asks for one). */
    tn_external_fn jvp;
    /* (x.., ct of float outputs..) -> ct of float inputs.. ; may be NULL. */
    tn_external_fn vjp;
    bool linear; /* fn is linear in all float inputs: its transpose is vjp at any point */
    /* Run exactly once, in order, also in derivatives, where what it gave is kept, whatever the policy and the
     * schedules of loops; otherwise pure: may be merged, dropped, recomputed. */
    bool effect;
    /* Which entries of its Jacobian may be nonzero: elements of the float outputs by those of the float inputs
     * (tansy/sparse.h); copied.  NULL: all, as far as patterns of sparse derivatives go. */
    const struct tn_sparsity *sparsity;
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
    /* 1: first derivatives; 2: second as well; 0: 2, but 1 where external functions or one-way rules have no second. */
    int order;
    const char *spill_dir; /* as in tn_compile_options, for programs and regions that offload */
} tn_check_options;
/* Checks f's derivatives at the point x (TN_INPUTS or an array of one pointer per input, dense): jvp against
 * Richardson-extrapolated central differences, <ct, J dx> = <J' ct, dx> and, with order 2, the same of the gradient.
 * Where f calls external functions that have a vjp and no jvp, or has rules for reverse mode alone, <J' ct, dx> is
 * compared with products of ct and differences of f; where they have a jvp alone, that is what is checked.  TN_OK;
 * TN_EINVAL with a message that names the input and both numbers; TN_ERULE where they have neither, or not what the
 * order that is asked for wants.  f32 programs are compared on their f64 copy; those that call external functions of
 * f32 have none and need a larger tolerance. */
TN_API tn_status tn_check_grads(const tn_fn *f, const void *const *x, const tn_wrt_list *wrt,
                                const tn_check_options *opt);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "tansy/exec.h"
#ifdef __cplusplus
#include "tansy/cxx.h"
#else
#include "tansy/lists.h"
#endif
#include "tansy/loops.h"
#include "tansy/ops.h"
#include "tansy/structs.h"

#endif
