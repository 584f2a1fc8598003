/* What the parts of a solve share.  Everything here is done with the public operators. */
#ifndef TN_ODE_SOLVE_H
#define TN_ODE_SOLVE_H

#include "base/base.h"
#include "ode/tableaux.h"
#include "tansy/loops.h"
#include "tansy/ode.h"

/* One call of tn_ode_solve while it traces. */
typedef struct tn_i_ode {
    tn_ctx *c;
    const char *name; /* the operator, for messages */
    const char *file; /* the caller's place, for every equation */
    int line;
    const tn_ode_problem *p;
    tn_ode_options o; /* defaults filled in */
    const tn_i_tableau *m;
    enum { TN_I_ODE_LOOP, TN_I_ODE_FORWARD, TN_I_ODE_BACKSOLVE } adjoint;
    char schedule[64]; /* of the loop; "": whoever differentiates chooses */
    size_t n;          /* state arrays */
    size_t elements;   /* of all of them, on this rank */
    uint32_t by_time;  /* axes of the grid that times vary over: along them each rank solves for itself */
    tn_val t0, t1;
    tn_val dir;       /* f64: 1 or -1, where time goes */
    tn_val event0;    /* event(t0, y0) */
    tn_i_arena arena; /* arrays of values, until the call ends */
    bool failed;
} tn_i_ode;

/* The operators at the caller's place; `s` is the solve. */
#define ADD(x, y)         tn_add_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define SUB(x, y)         tn_sub_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define MUL(x, y)         tn_mul_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define DIV(x, y)         tn_div_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define POW(x, y)         tn_pow_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define MAX(x, y)         tn_maximum_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define MIN(x, y)         tn_minimum_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define LT(x, y)          tn_lt_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define LE(x, y)          tn_le_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define EQ(x, y)          tn_eq_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define AND(x, y)         tn_and_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define OR(x, y)          tn_or_at(TN_VAL(x), TN_VAL(y), s->file, s->line)
#define NOT(x)            tn_not_at(x, s->file, s->line)
#define WHERE(c, x, y)    tn_where_at(c, TN_VAL(x), TN_VAL(y), s->file, s->line)
#define ABS(x)            tn_abs_at(x, s->file, s->line)
#define CONVERT(x, dtype) tn_convert_at(x, dtype, s->file, s->line)
#define STOP(x)           tn_stop_gradient_at(x, s->file, s->line)
#define FINITE(x)         tn_is_finite_at(x, s->file, s->line)
#define SCALAR(type, x)   tn_full_at(s->c, type, TN_VAL(x), s->file, s->line)

/* solve.c: room for n values, not set; NULL after TN_ENOMEM, which fails the trace. */
tn_val *tn_i_ode_values(tn_i_ode *s, size_t n);
void tn_i_ode_fail(tn_i_ode *s, tn_status status, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* An array of `rows` rows like x's, each element the number. */
tn_val tn_i_ode_rows(tn_i_ode *s, tn_val x, int64_t rows, double number);
/* `buffer` with its row i (an integer scalar) replaced by x. */
tn_val tn_i_ode_put(tn_i_ode *s, tn_val buffer, tn_val i, tn_val x);
/* x in time t's direction is before y: dir (y - x) > 0; and not behind it. */
tn_val tn_i_ode_before(tn_i_ode *s, tn_val x, tn_val y);

/* Checks the arguments and makes all values of *out poison; false: nothing is to be done (the trace has failed). */
bool tn_i_ode_open(tn_i_ode *s, const tn_ode_problem *problem, const tn_ode_options *options, tn_ode_solution *out,
                   const char *name, const char *file, int line);
void tn_i_ode_close(tn_i_ode *s, tn_ode_solution *out);

/* step.c: one attempted step. */
typedef struct tn_i_ode_step {
    tn_val t, next, h; /* f64; h = next - t */
    const tn_val *y;   /* [n] */
    tn_val *k; /* [stages n]: f at stage i, array j, is k[i n + j].  The first n are given where `first` is set */
    tn_val *z; /* [n]: the state at next */
    bool first, last; /* k_1 is known; a last stage that z does not read is wanted */
    tn_val converged; /* bool, of implicit methods: every stage was solved */
    tn_val end;       /* what is saved reaches to here, normally next .. */
    const tn_val *w;  /* .. where the state is this, normally z */
} tn_i_ode_step;
bool tn_i_ode_step_new(tn_i_ode *s, tn_i_ode_step *st);
void tn_i_ode_step_make(tn_i_ode *s, tn_i_ode_step *st);
/* dy = f(t, y), checked. */
void tn_i_ode_field(tn_i_ode *s, tn_val t, const tn_val *y, tn_val *dy);
/* sum_i w_i k_i of array j, over w_i that are not 0; zeros without any. */
tn_val tn_i_ode_sum(tn_i_ode *s, const tn_i_ode_step *st, const double *w, size_t j);
/* The state at t + theta h, theta f64. */
void tn_i_ode_between(tn_i_ode *s, const tn_i_ode_step *st, tn_val theta, tn_val *y);
/* z = y + h sum_i w_i k_i, and t + c h. */
void tn_i_ode_moved(tn_i_ode *s, const tn_i_ode_step *st, const double *w, tn_val *z);
tn_val tn_i_ode_stage_time(tn_i_ode *s, const tn_i_ode_step *st, double c);
/* implicit.c: all but the first stage of an implicit method. */
void tn_i_ode_step_implicit(tn_i_ode *s, tn_i_ode_step *st);
/* All arrays of a state as one vector, and back; df/dy of such vectors, without derivative. */
tn_val tn_i_ode_joined(tn_i_ode *s, const tn_val *y);
void tn_i_ode_apart(tn_i_ode *s, tn_val v, tn_val *y);
tn_val tn_i_ode_jacobian(tn_i_ode *s, tn_val t, const tn_val *y, const tn_val *params);
/* h in the dtype of x. */
tn_val tn_i_ode_like(tn_i_ode *s, tn_val h, tn_val x);

/* ranks.c: states that vary over a grid of ranks.  The axes that x varies over and times do not: those below, too. */
uint32_t tn_i_ode_over(const tn_i_ode *s, tn_val x);
/* The sum of n numbers (f64), each over its own axes; the mean square of r [s->n], f64; whether x (bool) holds on all
 * ranks. */
tn_val tn_i_ode_total(tn_i_ode *s, size_t n, const tn_val *x);
tn_val tn_i_ode_mean_square(tn_i_ode *s, const tn_val *r);
tn_val tn_i_ode_everywhere(tn_i_ode *s, tn_val x);
/* Fails where x varies over the grid, with the text around "varies over w". */
void tn_i_ode_same_on_ranks(tn_i_ode *s, tn_val x, const char *what, const char *why);
/* x, which varies over what y does besides. */
tn_val tn_i_ode_vary_like(tn_i_ode *s, tn_val x, tn_val y);

/* controller.c */
/* The root mean square of e / (atol + rtol max(|y|, |z|)) over all elements on all ranks: f64, without derivative. */
tn_val tn_i_ode_norm(tn_i_ode *s, const tn_val *e, const tn_val *y, const tn_val *z);
tn_val tn_i_ode_error(tn_i_ode *s, const tn_i_ode_step *st);
/* The length (positive) of the first step; k1 = f(t0, y0). */
tn_val tn_i_ode_first_step(tn_i_ode *s, const tn_val *y, const tn_val *k1);
/* The length of the step after one of length h, for the inverse errors now and before. */
tn_val tn_i_ode_next_step(tn_i_ode *s, tn_val h, tn_val accept, tn_val r0, tn_val r1, tn_val r2);

/* save.c: what is saved lives in the loop's carry, as buffers that a step writes into. */
typedef struct tn_i_ode_saved {
    tn_val at;               /* i64: rows of ts that are done */
    tn_val *ts_y;            /* [n] */
    tn_val steps_t;          /* f64 */
    tn_val *steps_y;         /* [n] */
    tn_val dense_t, dense_h; /* f64 */
    tn_val *dense_y;         /* [2 n]: the state, its polynomial's other coefficients */
} tn_i_ode_saved;
/* How many values that is, and between the struct and the carry. */
size_t tn_i_ode_saved_count(const tn_i_ode *s);
bool tn_i_ode_saved_new(tn_i_ode *s, tn_i_ode_saved *b);
void tn_i_ode_saved_init(tn_i_ode *s, tn_i_ode_saved *b);
void tn_i_ode_saved_get(const tn_i_ode *s, tn_i_ode_saved *b, tn_val *carry);
void tn_i_ode_saved_set(const tn_i_ode *s, tn_i_ode_saved *b, tn_val *carry);
/* After a step: `accepted` steps were accepted before it. */
void tn_i_ode_save(tn_i_ode *s, tn_i_ode_saved *b, const tn_i_ode_step *st, tn_val accept, tn_val accepted);
/* Whether ts goes from t0 to t1 (bool). */
tn_val tn_i_ode_times_in_order(tn_i_ode *s);
void tn_i_ode_saved_out(tn_i_ode *s, const tn_i_ode_saved *b, tn_ode_solution *out);

/* event.c */
tn_val tn_i_ode_event_value(tn_i_ode *s, tn_val t, const tn_val *y);
/* Whether the sign changes in the wanted direction (bool). */
tn_val tn_i_ode_event_between(tn_i_ode *s, tn_val before, tn_val behind);
/* Makes the step in which the event *happened*; then *t and y become the root's there, and st ends there. */
void tn_i_ode_event_locate(tn_i_ode *s, tn_val happened, tn_i_ode_step *st, tn_val *t, tn_val *y);

/* constant.c, adaptive.c */
void tn_i_ode_constant(tn_i_ode *s, tn_ode_solution *out);
void tn_i_ode_adaptive(tn_i_ode *s, tn_ode_solution *out);
/* In a step of the main loop: tells where it has come to. */
void tn_i_ode_tell(tn_i_ode *s, tn_val t);

/* backsolve.c: the solve as one equation with a rule of its own; `given` are the options as the caller has them. */
void tn_i_ode_backsolve(tn_i_ode *s, const tn_ode_options *given, tn_ode_solution *out);

/* loops.c: the loop primitives at the caller's place, on a carry of n values in place.  The main loop has the
 * schedule of the adjoint. */
void tn_i_ode_while(tn_i_ode *s, tn_trace_fn cond, tn_trace_many_fn body, void *user, size_t n, tn_val *carry,
                    bool main);
void tn_i_ode_repeat(tn_i_ode *s, int64_t steps, tn_fori_fn body, void *user, size_t n, tn_val *carry);

#endif
