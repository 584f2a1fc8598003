/* tansy/loops.h - loops in traced functions.
 *
 * SPDX-License-Identifier: MIT
 *
 * A loop is one equation that holds the program of its step, however often it
 * runs; a C `for` in a callback makes the equations of every step instead.
 * Loops have jvp, vjp and all that is made of them, and nest to any depth.
 *
 *     static void step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
 *         (void)user;
 *         y[0] = next[0] = tn_add(carry[0], x[0]);
 *     }
 *     ...  tn_val total, sums, zero = TN_VAL(0.0);
 *          tn_scan(c, step, NULL, .ncarry = 1, .init = &zero, .nx = 1, .xs = &xs, .carry = &total, .ny = 1, .ys =
 * &sums);
 *
 * ## Rules shared by all
 *
 * Carries.  A loop carries any number of arrays from step to step.  A step has
 * to return each with the dtype and shape that it came with: nothing is
 * converted or broadcast, and the error names the carry and both types.  The
 * initial ones may be plain numbers (TN_VAL): a whole number is i64, a bool
 * bool, and a floating one has the dtype of the first float array among the
 * loop's operands (the other carries, then xs), or f64 without any.
 *
 * Captured values.  Values of the enclosing trace that a step uses are
 * operands of the loop by themselves, the same in every step.
 *
 * Callbacks are called once, while tracing, before the function returns.  They
 * set every element of what they have to return; plain numbers are an error
 * there (tn_full makes arrays of them).
 *
 * Results.  Arrays for results may be those of the operands; where NULL stands,
 * results are not wanted.
 *
 * Errors, as those of <tansy/ops.h>, make the results poison and are reported
 * by tn_trace: TN_EINVAL for a callback that is NULL, operands that are NULL,
 * and lengths that differ or are negative; TN_ETYPE for carries that change
 * their type, a condition that is not bool[], xs of rank 0, ys that would have
 * more than TN_MAX_RANK dimensions or too many bytes, and a schedule that is
 * malformed or wants a number of steps that is not known; TN_ELIMIT for programs
 * nested more than TN_MAX_NEST deep.  All with the file:line of the loop.
 *
 * c may be NULL when an operand is an array. Threads and ownership: as in
 * <tansy/ops.h>; text in the options is copied.  Cost: the equations of the
 * step, however many steps there will be. */
#ifndef TANSY_LOOPS_H
#define TANSY_LOOPS_H

#include "ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL and zeros mean the default everywhere. */
typedef struct tn_loop_options {
    size_t size; /* sizeof(tn_loop_options) */
    /* tn_fori: from the last step to the first; an error in tn_while_loop. */
    bool reverse;
    /* What reverse mode keeps of the steps and what it runs again (docs/loops.md), as text:
     * NULL, "all_save", "revolve:10", "auto" .. ; gradients are the same under every schedule.  "auto" under the
     * policy memory_budget becomes what is fastest within it (tn_memory_budget). */
    const char *schedule;
} tn_loop_options;

/* One step: of what is carried and one entry of each xs, what is carried on and one entry of each ys. */
typedef void (*tn_scan_fn)(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user);

/* What tn_scan is given besides its step, by name; what is left out is 0 or NULL. */
typedef struct tn_scan_args {
    size_t size;          /* sizeof(tn_scan_args); the macro sets it */
    size_t ncarry;        /* what is carried: */
    const tn_val *init;   /* as it enters the first step, */
    tn_val *carry;        /* as it leaves the last one */
    size_t nx;            /* arrays of which each step reads an entry */
    const tn_val *xs;     /* [length, ..] each */
    size_t ny;            /* arrays of which each step makes an entry */
    tn_val *ys;           /* [length, ..] each */
    int64_t length;       /* TN_LENGTH_OF_XS, the number of steps, or TN_NO_STEPS */
    bool reverse;         /* from the last step to the first */
    const char *schedule; /* as in tn_loop_options */
} tn_scan_args;
#define TN_LENGTH_OF_XS 0
#define TN_NO_STEPS     (-1)

/* A loop over the first dimension of arrays (jax.lax.scan): step i reads xs[k][i]
 * and makes ys[k][i]; what it carries goes to step i + 1 (with `reverse` to step
 * i - 1).  All xs have the same first dimension, which is the length; one that is
 * given must be equal to it, and is needed without xs.  A loop of no steps
 * (TN_NO_STEPS without xs) gives init back.
 *
 * The macro takes fields of tn_scan_args by name, as above; in C++, where these
 * have no such form (see tn::scan of <tansy.hpp>), and of tn_scan_at, args is
 * the address of a tn_scan_args. */
TN_API void tn_scan_at(tn_ctx *c, tn_scan_fn f, void *user, const tn_scan_args *args, const char *file, int line);
#ifdef __cplusplus
#define tn_scan(c, f, user, args) tn_scan_at(c, f, user, args, __FILE__, __LINE__)
#else
#define tn_scan(c, f, user, ...) \
    tn_scan_at(c, f, user, &(const tn_scan_args){.size = sizeof(tn_scan_args), __VA_ARGS__}, __FILE__, __LINE__)
#endif

/* Steps as long as cond, given the carries, holds (jax.lax.while_loop): the
 * condition, a bool[], is looked at before each step; `out` gets the n carries
 * with which it did not hold.  cond and body capture values each for itself.
 * Nothing bounds the number of steps: a condition that never fails never ends. */
TN_API void tn_while_loop_at(tn_ctx *c, tn_trace_fn cond, tn_trace_many_fn body, void *user, size_t n,
                             const tn_val *init, tn_val *out, const tn_loop_options *options, const char *file,
                             int line);
#define tn_while_loop(...) tn_while_loop_at(__VA_ARGS__, __FILE__, __LINE__)

/* The step for number i, i64[]. */
typedef void (*tn_fori_fn)(tn_val i, const tn_val *carry, tn_val *next, void *user);

/* Steps for i = lower, .., upper - 1 (jax.lax.fori_loop), with options->reverse
 * from upper - 1 down; none when upper <= lower.  A bound is a whole C number or
 * an i64[] or i32[] of the trace.  Bounds known while tracing make a loop of
 * known length; others are read when the program runs (the loop still has
 * reverse mode).  upper - lower must be representable: an error when both are
 * known, and wraps when not. */
TN_API void tn_fori_at(tn_ctx *c, tn_val lower, tn_val upper, tn_fori_fn f, void *user, size_t n, const tn_val *init,
                       tn_val *out, const tn_loop_options *options, const char *file, int line);
#define tn_fori(c, lower, upper, ...) tn_fori_at(c, TN_VAL(lower), TN_VAL(upper), __VA_ARGS__, __FILE__, __LINE__)

/* The number of the step, i64[], of the innermost tn_scan, tn_fori or
 * tn_while_loop whose step is being traced: the index of its entries in xs and
 * ys (so with `reverse` it goes down to 0), in tn_while_loop and tn_fori
 * the number from 0.  TN_EINVAL outside of steps, and in a condition. */
TN_API tn_val tn_loop_step_at(tn_ctx *c, const char *file, int line);
#define tn_loop_step(c) tn_loop_step_at(c, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
