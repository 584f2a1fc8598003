/* tansy/effects.h - what a running program tells its caller.
 *
 * SPDX-License-Identifier: MIT
 *
 * Operators as those of tansy/ops.h, which includes this: the same rules for
 * operands, errors, ownership, threads and cost. */
#ifndef TANSY_EFFECTS_H
#define TANSY_EFFECTS_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tells the observer of the call (tn_work_observe) `text` and the values of x
 * (n of them, n may be 0), when the program runs: once for each run of the trace
 * that it stands in, in the order of the prints, asserts and external functions
 * with effects there.  It makes no value, has no derivative, and stays when
 * nothing else needs its operands.  Under transformations: jvp, vjp and all
 * made of them say it once, of the primal values, in the forward part; vmap says
 * it once, of whole batches (the new axis in front; what is not batched as it
 * is); nothing is said when values are recomputed.  A function that
 * is to be linear cannot print its linear values (TN_ELINEAR).  TN_EINVAL when
 * the text is NULL.  Workspace: the bytes of the operands. */
TN_API void tn_print_at(tn_ctx *c, const char *text, size_t n, const tn_val *x, const char *file, int line);
#define tn_print(...) tn_print_at(__VA_ARGS__, __FILE__, __LINE__) /* (c, text, n, x) */
/* A ready observer (tn_compile_options.observer, tn_work_observe): `file` is a FILE * that is open for writing, as
 * observer_user = stderr.  Each print, progress and assert that fails is a line,
 * "main.c:12: text: f64[2] [1.0, 2.5], i32[] 3", all elements of all arrays, floats as short as they read back to the
 * same bits.  Not 0 when e or file is NULL or writing fails, which ends the call. */
TN_API int tn_observe_file(void *file, const tn_effect *e);
/* For steps of loops: as tn_print of `step` and the n values of x (at most 7), but only where `step`, an i64 array, has
 * an element that is a multiple of `every`, and the observer may stop the call, which then ends with TN_ECANCELLED.
 * tn_loop_step (<tansy/loops.h>) is the step's number, the same for all batch elements of a vmap.  Said in the forward
 * part only: never when a schedule runs a step again.  TN_EINVAL: the text is NULL, every < 1, n > 7; TN_ETYPE. */
TN_API void tn_progress_at(tn_ctx *c, const char *text, tn_val step, int64_t every, size_t n, const tn_val *x,
                           const char *file, int line);
#define tn_progress(...) tn_progress_at(__VA_ARGS__, __FILE__, __LINE__) /* (c, text, step, every, n, x) */
/* Stops the call with TN_EASSERT, and `text` with this file:line as its message,
 * unless all elements of cond, a bool array, are true; the observer hears of it
 * first.  Under transformations as tn_print; under vmap all batch elements must hold.
 * Outputs and later effects of a call that is stopped are not made. */
TN_API void tn_assert_at(tn_val cond, const char *text, const char *file, int line);
#define tn_assert(cond, text) tn_assert_at(cond, text, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
