/* tansy/rules.h - nested programs, branches, and rules of your own.
 *
 * SPDX-License-Identifier: MIT
 *
 * Operators as those of tansy/ops.h, which includes this: the same rules for operands, errors, ownership and threads.
 */
#ifndef TANSY_RULES_H
#define TANSY_RULES_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Forms ending in _many have several outputs, written to out.  Callbacks get
 * operands in order and the `user` pointer.  The programs they perform become
 * parameters of one equation. */

/* Calls program f (of the same context) on n values. */
TN_API tn_val tn_apply_at(const tn_fn *f, size_t n, const tn_val *x, const char *file, int line);
TN_API void tn_apply_many_at(const tn_fn *f, size_t n, const tn_val *x, size_t nout, tn_val *out, const char *file,
                             int line);
#define tn_apply(...)      tn_apply_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_apply_many(...) tn_apply_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* Traces callback f as a nested program `name` and calls it on x.  Values of
 * the enclosing trace that f uses without being given become further operands. */
TN_API tn_val tn_subfn_at(const char *name, tn_trace_fn f, void *user, size_t n, const tn_val *x, const char *file,
                          int line);
TN_API void tn_subfn_many_at(const char *name, tn_trace_many_fn f, void *user, size_t n, const tn_val *x, size_t nout,
                             tn_val *out, const char *file, int line);
#define tn_subfn(...)      tn_subfn_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_subfn_many(...) tn_subfn_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* As tn_subfn, a region with a policy of its own (NULL: nothing_saveable): whatever
 * the boundary's policy, its derivative saves only what this one allows and
 * recomputes the rest from the region's inputs (jax.checkpoint).  Regions nest and
 * keep their meaning under every transformation and in a program's text.  A policy
 * with a callback is an error here: it has no text. */
TN_API tn_val tn_checkpoint_at(tn_trace_fn f, const tn_policy *policy, void *user, size_t n, const tn_val *x,
                               const char *file, int line);
TN_API void tn_checkpoint_many_at(tn_trace_many_fn f, const tn_policy *policy, void *user, size_t n, const tn_val *x,
                                  size_t nout, tn_val *out, const char *file, int line);
#define tn_checkpoint(...)      tn_checkpoint_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_checkpoint_many(...) tn_checkpoint_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* Runs then_fn on x where pred, a bool[], holds when the program runs, else else_fn: one of them only, unlike tn_where,
 * effects included.  Both get the same x and must return values of the same types (TN_ETYPE otherwise); a pred of
 * another type is TN_ETYPE, a NULL callback TN_EINVAL.  Values of the enclosing trace that either uses without being
 * given become further operands, and are differentiated as such.
 *   Derivatives run the branch that was taken, and keep its residuals only: memory for residuals is that of the branch
 * with more of them, type by type.  Under tn_vmap an unbatched pred stays one choice; with a batched one all branches
 * run, for all batch elements, and each chooses, so that an infinite derivative of a branch not taken stays out.
 * A branch with an effect is then refused (TN_ERULE with its file:line).  tn_cost counts the larger branch, figure
 * by figure.  A pred that is a constant of the program leaves that branch alone, as a call. */
TN_API tn_val tn_cond_at(tn_val pred, tn_trace_fn then_fn, tn_trace_fn else_fn, void *user, size_t n, const tn_val *x,
                         const char *file, int line);
TN_API void tn_cond_many_at(tn_val pred, tn_trace_many_fn then_fn, tn_trace_many_fn else_fn, void *user, size_t n,
                            const tn_val *x, size_t nout, tn_val *out, const char *file, int line);
#define tn_cond(...)      tn_cond_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_cond_many(...) tn_cond_many_at(__VA_ARGS__, __FILE__, __LINE__)
/* The same with one of nbranches callbacks: index is an i32[] or i64[]; below 0 it stands for 0, above the last branch
 * for the last one.  No branch at all is TN_EINVAL. */
TN_API void tn_switch_at(tn_val index, size_t nbranches, const tn_trace_many_fn *branch, void *user, size_t n,
                         const tn_val *x, size_t nout, tn_val *out, const char *file, int line);
#define tn_switch(...) tn_switch_at(__VA_ARGS__, __FILE__, __LINE__)

/* f(x..) with a forward rule of your own.  jvp gets x.. and then one tangent
 * for each float x, and returns the tangents of f's float outputs.  It must be
 * linear in the tangents (checked here: TN_ELINEAR with file:line); reverse
 * mode is derived from it.  Values of the enclosing trace may be used neither
 * in f nor in jvp: pass them as arguments. */
TN_API tn_val tn_custom_jvp_at(tn_trace_fn f, tn_trace_fn jvp, void *user, size_t n, const tn_val *x, const char *file,
                               int line);
TN_API void tn_custom_jvp_many_at(tn_trace_many_fn f, tn_trace_many_fn jvp, void *user, size_t n, const tn_val *x,
                                  size_t nout, tn_val *out, const char *file, int line);
#define tn_custom_jvp(...)      tn_custom_jvp_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_custom_jvp_many(...) tn_custom_jvp_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* f(x..) with a reverse rule of your own.  fwd: x.. -> (y.., residuals..), nres
 * residuals; bwd: (residuals.., cotangents of the float y..) -> cotangents of
 * the float x.. , linear in the cotangents (checked here).  Forward mode is the
 * transpose of bwd, so every nesting works.  Enclosing values as above. */
TN_API tn_val tn_custom_vjp_at(tn_trace_fn f, tn_trace_many_fn fwd, size_t nres, tn_trace_many_fn bwd, void *user,
                               size_t n, const tn_val *x, const char *file, int line);
TN_API void tn_custom_vjp_many_at(tn_trace_many_fn f, tn_trace_many_fn fwd, size_t nres, tn_trace_many_fn bwd,
                                  void *user, size_t n, const tn_val *x, size_t nout, tn_val *out, const char *file,
                                  int line);
#define tn_custom_vjp(...)      tn_custom_vjp_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_custom_vjp_many(...) tn_custom_vjp_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* As tn_custom_vjp_many, for a bwd whose transpose nobody has and which the checker could not prove linear: a backwards
 * solve with steps of its own choice, say.  It is taken at its word, and may be any program without effects.  What
 * would need more than one reverse pass is refused by the transformation that asks for it, or by tn_compile, with
 * TN_ERULE and the text `why` (NULL: one of its own): forward mode, and a second derivative through bwd. */
TN_API void tn_custom_vjp_one_way_many_at(tn_trace_many_fn f, tn_trace_many_fn fwd, size_t nres, tn_trace_many_fn bwd,
                                          const char *why, void *user, size_t n, const tn_val *x, size_t nout,
                                          tn_val *out, const char *file, int line);
#define tn_custom_vjp_one_way_many(...) tn_custom_vjp_one_way_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* x, which is a float array; its jvp is the tangent's, at every order, and reverse mode through it is refused by the
 * transformation that asks for it, or by tn_compile, with TN_ERULE and the text `why` (NULL: one of its own). */
TN_API tn_val tn_forward_only_at(tn_val x, const char *why, const char *file, int line);
#define tn_forward_only(x, why) tn_forward_only_at(x, why, __FILE__, __LINE__)

/* f(residuals.., x..), linear in the float x, with its transpose ft(residuals..,
 * cotangents of the outputs..) -> cotangents of x.. given.  <f u, w> = <u, ft w>
 * is checked on random vectors here.  tn_linear_call has one x and one output. */
TN_API tn_val tn_linear_call_at(tn_trace_fn f, tn_trace_fn ft, void *user, size_t nres, const tn_val *res, tn_val x,
                                const char *file, int line);
TN_API void tn_linear_call_many_at(tn_trace_many_fn f, tn_trace_many_fn ft, void *user, size_t nres, const tn_val *res,
                                   size_t n, const tn_val *x, size_t nout, tn_val *out, const char *file, int line);
#define tn_linear_call(...)      tn_linear_call_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_linear_call_many(...) tn_linear_call_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* x with f(x, p..) = 0 as a differentiable function of p, however it is found.  solve(x0, p..) returns x: a fixed
 * number of Newton steps, a loop, an external function; it is never differentiated, and the derivative in x0 is 0.
 * f(x, p..) returns the residual, of x's shape.  The derivative is that of the implicit function,
 *     dx = -(df/dx)^-1 (df/dp) dp    at the x that solve returned,
 * made of f's own derivatives as ordinary equations: forward and reverse mode, any order, any nesting.  It is as
 * good as x is a root, and means nothing where x is none or df/dx is singular (then infinite or NaN).
 *   linear_solve NULL: the dense Jacobian of the m elements of all unknowns by forward mode (m tangents of f at
 * once: m times its memory), factored once (m^3/3 multiply-adds) and kept for the transposed solves.  Else
 * linear_solve(x, p.., r) returns (df/dx)^-1 r, linear in r (checked: TN_ELINEAR), for Jacobians with a structure;
 * derivatives of it are taken at second order.
 *   residual, unless NULL, is set to max |f(x)|, rank 0, without a derivative: one evaluation of f more, and only where
 * it is used.  Nothing is checked by itself; see tn_assert.
 *   Under vmap each batch element is a system of its own (m stays what it was).  Values of the enclosing trace may be
 * used in all callbacks; they count as p, derivatives included.  f and linear_solve may have no effects (TN_ETYPE);
 * solve may.
 *   The _many form has nx unknowns of one float dtype and any shapes: f(x.., p..) gives nx residuals of the unknowns'
 * types, solve(x0.., p..) the unknowns, linear_solve(x.., p.., r..) likewise; x may be x0.  TN_EINVAL: no unknown, or f
 * or solve NULL; TN_ETYPE: other types than these. */
TN_API tn_val tn_custom_root_at(tn_trace_fn f, tn_trace_fn solve, tn_trace_fn linear_solve, void *user, tn_val x0,
                                size_t n, const tn_val *p, tn_val *residual, const char *file, int line);
TN_API void tn_custom_root_many_at(tn_trace_many_fn f, tn_trace_many_fn solve, tn_trace_many_fn linear_solve,
                                   void *user, size_t nx, const tn_val *x0, size_t n, const tn_val *p, tn_val *x,
                                   tn_val *residual, const char *file, int line);
#define tn_custom_root(...)      tn_custom_root_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_custom_root_many(...) tn_custom_root_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* x with a x = b, for a that is known by its products alone, however x is found (jax.lax.custom_linear_solve).
 * matvec(p.., x) returns a x, which has b's shape, and must be linear in x (checked: TN_ELINEAR with file:line).
 * solve(p.., b) returns x; transpose_solve(p.., b) the x of a' x = b.  Both are linear in b by their author's word, may
 * be any programs, loops of unknown length too, and are never differentiated.  The derivative is
 *     dx = a^-1 (db - da x),
 * a solve on another right-hand side, where da x is the derivative of matvec in p; in reverse mode it is a solve with
 * transpose_solve.  So in every order and nesting, and in rules: the result is a linear function of b to the checker.
 *   transpose_solve NULL: reverse mode is refused (TN_ERULE), by the transformation that asks for it.  Where it is the
 * same callback as solve, a is symmetric by the user's word, and one program does for both.
 *   Under vmap each batch element is a system of its own.  Values of the enclosing trace may be used in all callbacks;
 * they count as p, derivatives included.  No callback may have effects (TN_ETYPE).
 *   The _many form has nx right-hand sides, floats of any shapes: matvec(p.., x..) gives nx results of their types,
 * solve(p.., b..) x.. of these types and behind them naux more results (iterations, a residual), which go to
 * out[nx..nx + naux) and have no derivative; transpose_solve gives x.. alone.  out may be b.  TN_EINVAL: no right-hand
 * side, or matvec or solve NULL; TN_ETYPE: other types than these.  Cost: that of solve, once for each derivative. */
TN_API tn_val tn_custom_linear_solve_at(tn_trace_fn matvec, tn_trace_fn solve, tn_trace_fn transpose_solve, void *user,
                                        size_t n, const tn_val *p, tn_val b, const char *file, int line);
TN_API void tn_custom_linear_solve_many_at(tn_trace_many_fn matvec, tn_trace_many_fn solve,
                                           tn_trace_many_fn transpose_solve, void *user, size_t n, const tn_val *p,
                                           size_t nx, const tn_val *b, size_t naux, tn_val *out, const char *file,
                                           int line);
#define tn_custom_linear_solve(...)      tn_custom_linear_solve_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_custom_linear_solve_many(...) tn_custom_linear_solve_many_at(__VA_ARGS__, __FILE__, __LINE__)

/* Fails the trace with a status and "who: text" at this place, for operators that
 * are made of others; the value is poison.  TN_OK counts as TN_EINVAL.  Nothing
 * when the trace has failed already. */
TN_API tn_val tn_fail_at(tn_ctx *c, tn_status status, const char *who, const char *text, const char *file, int line);
#define tn_fail(c, status, who, text) tn_fail_at(c, status, who, text, __FILE__, __LINE__)

/* Calls the C function registered under `name` (tn_external_register). */
TN_API tn_val tn_external_at(tn_ctx *c, const char *name, size_t n, const tn_val *x, const char *file, int line);
TN_API void tn_external_many_at(tn_ctx *c, const char *name, size_t n, const tn_val *x, size_t nout, tn_val *out,
                                const char *file, int line);
#define tn_external(...)      tn_external_at(__VA_ARGS__, __FILE__, __LINE__)
#define tn_external_many(...) tn_external_many_at(__VA_ARGS__, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
