/* tansy/optim.h - first-order optimizers as traced update steps.
 *
 * SPDX-License-Identifier: MIT
 *
 * ## How to read this manual
 *
 * tn_optim_step makes one program of a loss, its gradient and the update of its parameters, so that the update is fused
 * with the gradient; tn_optim_update is the update alone, an operator for programs of your own.  Rules, rates, defaults
 * and the order of what is computed are optax's, and results are its own to the last digits.
 *
 *     tn_optim o = {.size = sizeof o, .rule = TN_ADAM, .clip = 1,
 *                   .rate = {.kind = TN_RATE_COSINE, .value = 1e-3, .steps = 1000, .warmup = 50}};
 *     tn_fn *step = tn_optim_step(loss, tn_wrt(0, 1), &o, NULL);     // w, b, x, state.. -> loss, w, b, state..
 *
 * The state is arrays that begin as zeros (tn_optim_state has their types): how many updates there were, i64[], and the
 * moments, in the order of the parameters.
 *
 * Zero is the default everywhere.  Errors, ownership, threads: as <tansy/ops.h>; arrays given by pointer are read
 * during the call only.  Cost: a constant number of equations for each parameter. */
#ifndef TANSY_OPTIM_H
#define TANSY_OPTIM_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rate at update k = 0, 1, ..; with j = k - warmup and t = min(j / steps, 1) behind the warmup. */
typedef enum tn_rate_kind {
    TN_RATE_CONSTANT,    /* value */
    TN_RATE_LINEAR,      /* from value to end: end + (value - end) (1 - t) */
    TN_RATE_EXPONENTIAL, /* value decay^(j / steps), never beyond end if that is not 0 */
    TN_RATE_COSINE       /* from value to end along half a cosine: value (1 + cos(pi t)) / 2, for end = 0 */
} tn_rate_kind;
typedef struct tn_rate {
    int kind;     /* a tn_rate_kind */
    double value; /* > 0 (or `traced`) */
    double end;
    double decay;       /* TN_RATE_EXPONENTIAL: > 0 */
    double warmup_from; /* the rate rises from here, on a line, to `value` at update `warmup` */
    int64_t steps;      /* > 0, but for TN_RATE_CONSTANT */
    int64_t warmup;
    /* A rate of your own, a float scalar as an input is; nothing else may be set then.  NULL: none. */
    const tn_val *traced;
} tn_rate;

typedef enum tn_optim_rule {
    TN_SGD,  /* m = momentum m + g; p - rate m; with `nesterov` p - rate (momentum m + g).  No momentum: p - rate g */
    TN_ADAM, /* m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2; p - rate m / (1 - b1^k) / (sqrt(v / (1 - b2^k)) + eps)
              */
    TN_ADAMW /* as TN_ADAM, and p - rate weight_decay p */
} tn_optim_rule;
typedef struct tn_optim {
    size_t size; /* sizeof(tn_optim) */
    int rule;    /* a tn_optim_rule */
    tn_rate rate;
    double momentum;     /* TN_SGD: in [0, 1) */
    int nesterov;        /* TN_SGD: 1, with a momentum */
    double b1, b2;       /* TN_ADAM, TN_ADAMW: in (0, 1); 0: 0.9 and 0.999 */
    double eps;          /* 0: 1e-8 */
    double weight_decay; /* TN_ADAMW; 0: 1e-4 */
    double clip; /* gradients whose norm, all together, is not below it are scaled to it first; 0: they are not */
} tn_optim;

/* The types of the state for n parameters of these types, into state unless that is NULL; at most
 * TN_OPTIM_STATES(n) are written.  Returns how many there are: 1, 1 + n or 1 + 2 n; 0 when o is NULL or wrong. */
#define TN_OPTIM_STATES(n) (1 + 2 * (n))
TN_API size_t tn_optim_state(const tn_optim *o, size_t n, const tn_type *params, tn_type *state);

/* One update: params and their gradients, of floats, and the state -> new ones.  Results may be the arrays that
 * arguments are in.  Each parameter is updated in its own dtype; rates and corrections are computed in f64.  Over a
 * grid of ranks what is replicated stays so.  TN_EINVAL: o, or a number in it that does not suit, which the message
 * names; TN_ETYPE: gradients or states of other types than the parameters'. */
TN_API void tn_optim_update_at(const tn_optim *o, size_t n, const tn_val *params, const tn_val *grads,
                               const tn_val *state, tn_val *new_params, tn_val *new_state, const char *file, int line);
#define tn_optim_update(...) tn_optim_update_at(__VA_ARGS__, __FILE__, __LINE__)
/* The rate at an update (i64 or i32), f64[]: to be printed, say. */
TN_API tn_val tn_optim_rate_at(const tn_rate *rate, tn_val update, const char *file, int line);
#define tn_optim_rate(rate, update) tn_optim_rate_at(rate, TN_VAL(update), __FILE__, __LINE__)
/* min(1, max_norm / norm) times the gradients, as `clip` does it. */
TN_API void tn_optim_clip_at(size_t n, const tn_val *grads, double max_norm, tn_val *clipped, const char *file,
                             int line);
#define tn_optim_clip(...) tn_optim_clip_at(__VA_ARGS__, __FILE__, __LINE__)

/* f: x.. -> (loss, aux..)  becomes  (x.., state..) -> (loss, aux.., new params.., new state..), where the parameters
 * are the inputs of wrt, new ones in that order.  With a rate of your own (`traced` not NULL; what it points to is not
 * read) it is one more input at the end, f64[].  policy: as tn_value_and_grad's.  To update in place, compile with
 * `alias`. NULL after an error: those of tn_value_and_grad_aux and tn_optim_update. */
TN_API tn_fn *tn_optim_step_at(const tn_fn *f, const tn_wrt_list *wrt, const tn_optim *o, const tn_policy *policy,
                               const char *file, int line);
#define tn_optim_step(...) tn_optim_step_at(__VA_ARGS__, __FILE__, __LINE__)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
