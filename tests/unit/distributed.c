/* Optimizers and solvers of differential equations on vectors that are spread over ranks: what decides is made of sums
 * over all ranks, so the ranks together do what one rank does.  Ranks are threads. */
#include "tansy/comm.h"
#include "tansy/loops.h"
#include "tansy/ode.h"
#include "unit/tracing.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4, ROOM = 4096 };

/* ---- ranks ------------------------------------------------------------------------------------- */

typedef struct rank {
    tn_ctx *c;
    const tn_comm_ops *ops;
    tn_threads *threads;
    int k, n;
    void (*work)(struct rank *);
    const void *user;
    char why[1024];
    double out[ROOM];
} rank;

/* cmocka's assertions end the thread's function, which no other thread may. */
static bool complain(rank *r, const char *what, const char *why) {
    if (!r->why[0]) (void)snprintf(r->why, sizeof r->why, "%s: %s", what, why);
    return false;
}

static tn_exec *compiled(rank *r, tn_fn *f) {
    const tn_compile_options o = {.size = sizeof o, .comm = r->ops};
    tn_exec *e = f ? tn_compile(f, &o) : NULL;
    if (!e) (void)complain(r, "compiling", tn_error(r->c));
    return e;
}

static bool called(rank *r, tn_exec *e, const void *const *in, void *const *out) {
    if (!e) return false;
    return tn_call(e, in, out) == TN_OK ? true : complain(r, "running", tn_exec_error(e));
}

static void *run_rank(void *user) {
    rank *r = user;
    const tn_grid grid = {1, (const char *const[]){"w"}, (const int64_t[]){r->n}};
    r->c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1, .grid = grid});
    if (r->c)
        r->work(r);
    else
        (void)complain(r, "beginning", "no memory");
    tn_ctx_free(r->c);
    if (r->threads) tn_threads_leave(r->threads, r->k);
    return NULL;
}

/* work on n ranks; they are to be freed.  One rank alone has no table. */
static rank *on_ranks(int n, void (*work)(rank *), const void *user) {
    rank *r = calloc((size_t)n, sizeof *r);
    pthread_t thread[MOST];
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_grid grid = {1, (const char *const[]){"w"}, (const int64_t[]){n}};
    tn_threads *t = n > 1 ? tn_threads_comm(c, &grid, 60) : NULL;
    assert_non_null(r);
    if (n > 1 && !t) fail_msg("%s", tn_error(c));
    for (int k = 0; k < n; k++) {
        r[k].threads = t, r[k].k = k, r[k].n = n, r[k].work = work, r[k].user = user;
        if (t) r[k].ops = tn_threads_rank(t, k);
    }
    for (int k = 1; k < n; k++) assert_int_equal(pthread_create(&thread[k], NULL, run_rank, &r[k]), 0);
    (void)run_rank(&r[0]);
    for (int k = 1; k < n; k++) assert_int_equal(pthread_join(thread[k], NULL), 0);
    for (int k = 0; k < n; k++)
        if (r[k].why[0]) fail_msg("rank %d of %d: %s", k, n, r[k].why);
    tn_ctx_free(c);
    return r;
}

/* Numbers 0 .. n-1 of `out` are the same bits on all ranks. */
static void same_on_ranks(const rank *r, size_t n) {
    for (int k = 1; k < r->n; k++)
        if (memcmp(r[k].out, r->out, n * sizeof *r->out) != 0) fail_msg("rank %d has other numbers than rank 0", k);
}

/* ---- minimizing ------------------------------------------------------------------------------------ */

enum { CHAIN = 120, MEMORY = 5, ITERATIONS = 60, FIRST = 20, NEWTON = 8 };

static tn_val dot(tn_val a, tn_val b) { return tn_psum(tn_sum(tn_mul(a, b)), "w"); }

/* x_(i-1) for each x_i of this rank; the chain begins at 0. */
static tn_val before(tn_val x) {
    const int64_t n = tn_dim(x, 0);
    const tn_val part[] = {tn_shift(tn_slice_axis(x, n - 1, n, 1, 0), "w", 1), tn_slice_axis(x, 0, n - 1, 1, 0)};
    return tn_concatenate(tn_vals_of(2, part), 0);
}

/* Springs between neighbours, which would be somewhere else each, and a wall: convex, not quadratic. */
static tn_val energy(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = in[0], rest = in[1];
    const tn_val pull = tn_add(tn_square(tn_sub(x, before(x))), tn_mul(0.5, tn_square(tn_sub(x, rest))));
    return tn_psum(tn_sum(tn_add(pull, tn_mul(0.1, tn_pow(x, 4)))), "w");
}

/* in: s, y [MEMORY], newest first -> minus the gradient by L-BFGS's inverse Hessian */
static tn_val direction(tn_val g, const tn_val *s, const tn_val *y) {
    tn_val d = tn_neg(g), rho[MEMORY], alpha[MEMORY], scale = d;
    for (int i = 0; i < MEMORY; i++) {
        const tn_val sy = dot(s[i], y[i]), used = tn_gt(sy, 0.0);
        rho[i] = tn_where(used, tn_div(1.0, tn_where(used, sy, 1.0)), 0.0);
        if (i == 0) scale = tn_where(used, tn_div(sy, tn_where(used, dot(y[0], y[0]), 1.0)), 0.1);
        alpha[i] = tn_mul(rho[i], dot(s[i], d));
        d = tn_sub(d, tn_mul(alpha[i], y[i]));
    }
    d = tn_mul(d, scale);
    for (int i = MEMORY; i-- > 0;) d = tn_add(d, tn_mul(tn_sub(alpha[i], tn_mul(rho[i], dot(y[i], d))), s[i]));
    return d;
}

typedef struct search {
    const tn_fn *value, *gradient; /* of x, rest */
    tn_val x, rest, d, f, slope;
} search;

static tn_val value_at(const search *q, tn_val t) {
    const tn_val in[] = {tn_add(q->x, tn_mul(t, q->d)), q->rest};
    return tn_apply(q->value, 2, in);
}

/* carry: the length of the step, the value there */
static tn_val too_long(const tn_val *in, void *user) {
    const search *q = user;
    return tn_gt(in[1], tn_add(q->f, tn_mul(tn_mul(in[0], 1e-4), q->slope)));
}

static void halve(const tn_val *in, tn_val *out, void *user) {
    out[0] = tn_mul(in[0], 0.5);
    out[1] = value_at(user, out[0]);
}

/* carry: x, f, g, s.., y..; what is told of each: f */
static void iteration(const tn_val *in, const tn_val *none, tn_val *out, tn_val *told, void *user) {
    search q = *(search *)user;
    (void)none;
    const tn_val g = in[2], *s = in + 3, *y = s + MEMORY;
    q.x = in[0], q.f = in[1], q.d = direction(g, s, y);
    q.slope = dot(g, q.d);
    tn_val step[2] = {tn_full(tn_val_ctx(g), tn_f64(), 1.0)}, fg[2];
    step[1] = value_at(&q, step[0]);
    tn_while_loop(NULL, too_long, halve, &q, 2, step, step, NULL);
    const tn_val x = tn_add(q.x, tn_mul(step[0], q.d)), at[] = {x, q.rest};
    tn_apply_many(q.gradient, 2, at, 2, fg);
    out[0] = x, out[1] = told[0] = fg[0], out[2] = fg[1];
    out[3] = tn_sub(x, q.x), out[3 + MEMORY] = tn_sub(fg[1], g);
    for (int i = 1; i < MEMORY; i++) out[3 + i] = s[i - 1], out[3 + MEMORY + i] = y[i - 1];
}

/* x, rest -> f of each iteration, x: all of L-BFGS is one program. */
static void lbfgs(const tn_val *in, tn_val *out, void *user) {
    search q = *(search *)user;
    tn_val carry[3 + 2 * MEMORY] = {in[0]}, fg[2];
    q.rest = in[1];
    tn_apply_many(q.gradient, 2, in, 2, fg);
    carry[1] = fg[0], carry[2] = fg[1];
    for (int i = 3; i < 3 + 2 * MEMORY; i++) carry[i] = tn_vary(tn_zeros_like(in[0]), "w");
    tn_scan(NULL, iteration, &q, .ncarry = 3 + 2 * MEMORY, .init = carry, .length = ITERATIONS, .carry = carry, .ny = 1,
            .ys = &out[0]);
    out[1] = carry[0];
}

/* carry: step, residual, direction, |residual|^2 */
typedef struct conjugate {
    const tn_fn *hvp;
    tn_val x, rest, enough;
} conjugate;

static tn_val goes_on(const tn_val *in, void *user) { return tn_gt(in[3], ((const conjugate *)user)->enough); }

static void conjugate_step(const tn_val *in, tn_val *out, void *user) {
    const conjugate *q = user;
    const tn_val at[] = {q->x, q->rest, in[2]}, hp = tn_apply(q->hvp, 3, at);
    const tn_val alpha = tn_div(in[3], dot(in[2], hp));
    out[0] = tn_add(in[0], tn_mul(alpha, in[2]));
    out[1] = tn_sub(in[1], tn_mul(alpha, hp));
    out[3] = dot(out[1], out[1]);
    out[2] = tn_add(out[1], tn_mul(tn_div(out[3], in[3]), in[2]));
}

typedef struct newton {
    const tn_fn *gradient, *hvp;
    tn_val rest;
} newton;

/* carry: x; what is told of each: f */
static void newton_step(const tn_val *in, const tn_val *none, tn_val *out, tn_val *told, void *user) {
    const newton *n = user;
    tn_val fg[2];
    const tn_val at[] = {in[0], n->rest};
    (void)none;
    tn_apply_many(n->gradient, 2, at, 2, fg);
    const tn_val r = tn_neg(fg[1]), rr = dot(r, r);
    tn_val carry[4] = {tn_zeros_like(r), r, r, rr};
    conjugate q = {n->hvp, in[0], n->rest, tn_add(tn_mul(rr, 1e-6), 1e-28)};
    tn_while_loop(NULL, goes_on, conjugate_step, &q, 4, carry, carry, NULL);
    out[0] = tn_add(in[0], carry[0]);
    told[0] = fg[0];
}

static void newton_cg(const tn_val *in, tn_val *out, void *user) {
    newton n = *(newton *)user;
    tn_val x = in[0];
    n.rest = in[1];
    tn_scan(NULL, newton_step, &n, .ncarry = 1, .init = &x, .length = NEWTON, .carry = &x, .ny = 1, .ys = &out[0]);
    out[1] = x;
}

/* out: the values, then this rank's x. */
static void minimize(rank *r) {
    const bool by_newton = r->user != NULL;
    const int64_t n = CHAIN / r->n;
    const size_t told = by_newton ? NEWTON : ITERATIONS;
    double x[CHAIN] = {0}, rest[CHAIN];
    for (int i = 0; i < n; i++) rest[i] = 3 * sin(0.1 * (double)(r->k * n + i) + 0.5) + 1;
    const tn_type in[] = {tn_varying(r->c, tn_f64(n), "w"), tn_varying(r->c, tn_f64(n), "w")};
    tn_fn *f = tn_trace(r->c, energy, NULL, 2, in), *g = tn_value_and_grad(f, tn_wrt(0), NULL);
    tn_fn *h = tn_hvp(f, tn_wrt(0), NULL);
    search q = {.value = f, .gradient = g};
    newton p = {.gradient = g, .hvp = h};
    if (!g || !h) {
        (void)complain(r, "derivatives", tn_error(r->c));
        return;
    }
    tn_exec *e = compiled(r, by_newton ? tn_trace_many(r->c, newton_cg, &p, 2, in, 2)
                                       : tn_trace_many(r->c, lbfgs, &q, 2, in, 2));
    (void)called(r, e, TN_INPUTS(x, rest), TN_OUTPUTS(r->out, r->out + told));
}

/* On n ranks as on one: the first values, and x at the end. */
static void minimizes(bool by_newton, double values, double end) {
    const size_t told = by_newton ? NEWTON : ITERATIONS, first = by_newton ? NEWTON : FIRST;
    rank *one = on_ranks(1, minimize, by_newton ? "" : NULL);
    assert_true(one->out[told - 1] < 0.5 * one->out[0]);
    assert_true(fabs(one->out[told - 1] - one->out[told - 2]) <= 1e-9 * one->out[told - 1]);
    for (int n = 2; n <= MOST; n++) {
        rank *r = on_ranks(n, minimize, one->user);
        same_on_ranks(r, told);
        close_to(r->out, one->out, first, values);
        for (int k = 0; k < n; k++)
            close_to(r[k].out + told, one->out + told + (size_t)k * (CHAIN / (size_t)n), CHAIN / (size_t)n, end);
        free(r);
    }
    free(one);
}

static void quasi_newton_on_ranks(void **state) {
    (void)state;
    minimizes(false, 1e-12, 1e-7);
}

static void newton_on_ranks(void **state) {
    (void)state;
    minimizes(true, 1e-12, 1e-9);
}

/* ---- differential equations -------------------------------------------------------------------------------- */

enum { SITES = 36 };
static const double force = 8;

typedef struct way {
    const char *adjoint;
    int64_t steps; /* 0: adaptive */
    double tolerance;
} way;

/* Lorenz, "Predictability: a problem partly solved", 1996: y_i' = (y_(i+1) - y_(i-2)) y_(i-1) - y_i + F, in a ring. */
static void lorenz(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    const tn_val x = y[0];
    const int64_t n = tn_dim(x, 0);
    const tn_val part[] = {tn_shift(tn_slice_axis(x, n - 2, n, 1, 0), "w", 1, TN_WRAP), x,
                           tn_shift(tn_slice_axis(x, 0, 1, 1, 0), "w", -1, TN_WRAP)};
    const tn_val all = tn_concatenate(tn_vals_of(3, part), 0);
    const tn_val far = tn_slice_axis(all, 0, n, 1, 0), near = tn_slice_axis(all, 1, n + 1, 1, 0);
    const tn_val next = tn_slice_axis(all, 3, n + 3, 1, 0);
    dy[0] = tn_add(tn_sub(tn_mul(tn_sub(next, far), near), x), p[0]);
    dy[1] = tn_neg(y[1]); /* the same on all ranks, and counted once */
}

/* y0 [SITES / ranks], F, another state [2] -> a loss; y, t, steps, accepted, status */
static void solved(const tn_val *in, tn_val *out, void *user) {
    const way *w = user;
    const tn_val y0[] = {in[0], in[2]};
    tn_val y[2];
    tn_ode_problem p = {.size = sizeof p, .field = lorenz, .nstate = 2, .y0 = y0, .nparams = 1, .params = in + 1};
    p.t0 = tn_number_f64(0);
    p.t1 = tn_number_f64(0.4);
    tn_ode_options o = {.size = sizeof o, .adjoint = w->adjoint, .steps = w->steps};
    if (!w->steps) o.rtol = o.atol = 1e-7;
    tn_ode_solution s = {.size = sizeof s, .y = y};
    tn_ode_solve(&p, &o, &s);
    out[0] = tn_add(tn_psum(tn_sum(tn_square(y[0])), "w"), tn_sum(y[1]));
    out[1] = y[0];
    out[2] = s.t;
    out[3] = s.steps;
    out[4] = s.accepted;
    out[5] = s.status;
}

static tn_val loss(const tn_val *in, void *user) {
    tn_val out[6];
    solved(in, out, user);
    return out[0];
}

/* out: loss, t, steps, accepted, status; the loss again, its gradient in F and in the other state; y, its gradient */
static void solve(rank *r) {
    const int64_t n = SITES / r->n;
    double y0[SITES], other[2] = {1, 2}, *o = r->out;
    int64_t steps, accepted;
    int32_t status;
    for (int i = 0; i < n; i++) y0[i] = force + sin(2.0 * (double)(r->k * n + i) + 1);
    const tn_type in[] = {tn_varying(r->c, tn_f64(n), "w"), tn_f64(), tn_f64(2)};
    void *user = (void *)(uintptr_t)r->user;
    tn_exec *e = compiled(r, tn_trace_many(r->c, solved, user, 3, in, 6));
    tn_exec *g = compiled(r, tn_value_and_grad(tn_trace(r->c, loss, user, 3, in), tn_wrt(0, 1, 2), NULL));
    if (!called(r, e, TN_INPUTS(y0, &force, other), TN_OUTPUTS(o, o + 9, o + 1, &steps, &accepted, &status))) return;
    o[2] = (double)steps, o[3] = (double)accepted, o[4] = status;
    (void)called(r, g, TN_INPUTS(y0, &force, other), TN_OUTPUTS(o + 5, o + 9 + n, o + 6, o + 7));
}

static void solves_on_ranks_are_those_of_one(void **state) {
    (void)state;
    static const way ways[] = {{"RecursiveCheckpoint:5", 0, 1e-11},
                               {"AllSave", 0, 1e-11},
                               {"Direct", 0, 1e-11},
                               {"RecursiveCheckpoint:3", 40, 1e-12},
                               {"Backsolve", 0, 1e-9}};
    for (size_t i = 0; i < COUNT(ways); i++) {
        rank *one = on_ranks(1, solve, &ways[i]);
        assert_true(one->out[4] == TN_ODE_SUCCESS);
        assert_true(one->out[2] >= 10);
        for (int n = 2; n <= MOST; n++) {
            rank *r = on_ranks(n, solve, &ways[i]);
            const size_t own = SITES / (size_t)n;
            same_on_ranks(r, 9);
            close_to(r->out + 1, one->out + 1, 4, 1e-14); /* t, the numbers of steps, the status */
            close_to(r->out, one->out, 9, ways[i].tolerance);
            for (int k = 0; k < n; k++) {
                close_to(r[k].out + 9, one->out + 9 + (size_t)k * own, own, ways[i].tolerance);
                close_to(r[k].out + 9 + own, one->out + 9 + SITES + (size_t)k * own, own, 10 * ways[i].tolerance);
            }
            free(r);
        }
        free(one);
    }
}

/* ---- what is saved, and events ------------------------------------------------------------------------------- */

/* y_i' = y_(i-1) - y_i: down the chain and away. */
static void flow(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(p[0], tn_sub(before(y[0]), y[0]));
}

static tn_val half_is_gone(tn_val t, const tn_val *y, const tn_val *p, void *user) {
    (void)t, (void)p, (void)user;
    return tn_sub(dot(y[0], y[0]), 20.0);
}

/* y0, rate -> the end, status; a loss of the time and the state there, of saved states and of the dense output */
static void saved(const tn_val *in, tn_val *out, void *user) {
    tn_val y, ts_y, steps_y, dense_y[2], between;
    tn_ode_problem p = {.size = sizeof p, .field = flow, .nstate = 1, .y0 = in, .nparams = 1, .params = in + 1};
    p.t0 = tn_number_f64(0);
    p.t1 = tn_number_f64(50);
    tn_ode_options o = {.size = sizeof o, .adjoint = user, .rtol = 1e-6, .atol = 1e-8, .event = half_is_gone};
    o.save_steps = o.dense = 50;
    o.ts = tn_linspace(tn_val_ctx(in[0]), TN_F64, 0.1, 0.4, 4);
    tn_ode_solution s = {.size = sizeof s, .y = &y, .ts_y = &ts_y, .steps_y = &steps_y, .dense_y = dense_y};
    tn_ode_solve(&p, &o, &s);
    tn_ode_evaluate(&s, 1, tn_number_f64(0.25), &between);
    const tn_val first = tn_slice_axis(steps_y, 0, 3, 1, 0);
    out[0] = s.t;
    out[1] = s.status;
    out[2] = tn_psum(tn_add(tn_add(tn_sum_squares(ts_y), tn_sum_squares(first)), tn_sum_squares(between)), "w");
    out[2] = tn_add(out[2], tn_add(s.t, tn_psum(tn_sum(tn_pow(y, 3)), "w")));
}

static tn_val loss_of_saved(const tn_val *in, void *user) {
    tn_val out[3];
    saved(in, out, user);
    return out[2];
}

/* out: the end, the status; the loss, its gradient in the rate; its gradient in y0 */
static void save(rank *r) {
    const int64_t n = SITES / r->n;
    double y0[SITES], rate = 0.7, *o = r->out, again;
    int32_t status;
    for (int i = 0; i < n; i++) y0[i] = 1 + 0.5 * sin(2.0 * (double)(r->k * n + i));
    const tn_type in[] = {tn_varying(r->c, tn_f64(n), "w"), tn_f64()};
    void *user = (void *)(uintptr_t)r->user;
    tn_exec *e = compiled(r, tn_trace_many(r->c, saved, user, 2, in, 3));
    tn_exec *g = compiled(r, tn_value_and_grad(tn_trace(r->c, loss_of_saved, user, 2, in), tn_wrt(0, 1), NULL));
    if (!called(r, e, TN_INPUTS(y0, &rate), TN_OUTPUTS(o, &status, o + 2))) return;
    o[1] = status;
    (void)called(r, g, TN_INPUTS(y0, &rate), TN_OUTPUTS(&again, o + 4, o + 3));
    if (again != o[2]) (void)complain(r, "the gradient", "another value");
}

static void what_is_saved_is_that_of_one_rank(void **state) {
    (void)state;
    static const char *const adjoint[] = {"RecursiveCheckpoint:3", "Direct"};
    for (size_t i = 0; i < COUNT(adjoint); i++) {
        rank *one = on_ranks(1, save, adjoint[i]);
        assert_true(one->out[1] == TN_ODE_EVENT && one->out[0] > 0.5);
        for (int n = 2; n <= MOST; n++) {
            rank *r = on_ranks(n, save, adjoint[i]);
            const size_t own = SITES / (size_t)n;
            same_on_ranks(r, 4);
            close_to(r->out, one->out, 4, 1e-12);
            for (int k = 0; k < n; k++) close_to(r[k].out + 4, one->out + 4 + (size_t)k * own, own, 1e-11);
            free(r);
        }
        free(one);
    }
}

/* ---- each for itself, and what is refused -------------------------------------------------------------------- */

static void decay(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(tn_neg(p[0]), tn_pow(y[0], 3));
}

static tn_val leaves(tn_val t, const tn_val *y, const tn_val *p, void *user) {
    (void)t, (void)p, (void)user;
    return tn_sub(tn_sum(y[0]), 0.5);
}

/* y0 [2], rate, t1 -> y, steps, status */
static void decays(const tn_val *in, tn_val *out, void *user) {
    tn_ode_problem p = {.size = sizeof p, .field = decay, .nstate = 1, .y0 = in, .nparams = 1, .params = in + 1};
    p.t0 = tn_number_f64(0);
    p.t1 = in[2];
    tn_ode_solution s = {.size = sizeof s, .y = out};
    tn_ode_solve(&p, user, &s);
    out[1] = s.steps;
    out[2] = s.status;
}

/* Ends that vary: ranks take steps of their own, and no messages are sent. */
static void apart(rank *r) {
    tn_ode_options o = {.size = sizeof o, .rtol = 1e-8, .atol = 1e-8};
    const double y0[2] = {1 + r->k, 2}, rate = 1, t1 = 0.5 * (1 + r->k);
    double y[2];
    int64_t steps[2];
    int32_t status[2];
    tn_type in[] = {tn_f64(2), tn_f64(), tn_f64()};
    tn_exec *alone = compiled(r, tn_trace_many(r->c, decays, &o, 3, in, 3));
    in[0] = tn_varying(r->c, in[0], "w");
    in[2] = tn_varying(r->c, in[2], "w");
    tn_exec *e = compiled(r, tn_trace_many(r->c, decays, &o, 3, in, 3));
    if (!called(r, alone, TN_INPUTS(y0, &rate, &t1), TN_OUTPUTS(r->out, &steps[0], &status[0])) ||
        !called(r, e, TN_INPUTS(y0, &rate, &t1), TN_OUTPUTS(y, &steps[1], &status[1])))
        return;
    if (memcmp(y, r->out, sizeof y) != 0 || steps[0] != steps[1] || status[0] || status[1])
        (void)complain(r, "alone", "another solution");
    r->out[2] = (double)steps[0];
}

static void ranks_with_times_of_their_own_solve_alone(void **state) {
    (void)state;
    rank *r = on_ranks(3, apart, NULL);
    assert_true(r[2].out[2] > r[0].out[2]);
    free(r);
}

/* Constant steps that overflow on one rank: all are told. */
static void overflow(rank *r) {
    tn_ode_options o = {.size = sizeof o, .steps = 20, .solver = "Euler"};
    const double y0[2] = {r->k == 1 ? 1e3 : 1, 2}, rate = 1, t1 = 10;
    int64_t steps;
    int32_t status = 0;
    const tn_type in[] = {tn_varying(r->c, tn_f64(2), "w"), tn_f64(), tn_f64()};
    (void)called(r, compiled(r, tn_trace_many(r->c, decays, &o, 3, in, 3)), TN_INPUTS(y0, &rate, &t1),
                 TN_OUTPUTS(r->out + 1, &steps, &status));
    r->out[0] = status;
}

static void all_ranks_hear_of_a_state_that_is_not_finite(void **state) {
    (void)state;
    rank *r = on_ranks(3, overflow, NULL);
    for (int k = 0; k < 3; k++) assert_true(r[k].out[0] == TN_ODE_NONFINITE);
    assert_true(isfinite(r[0].out[1]) && !isfinite(r[1].out[1]));
    free(r);
}

static void refused(rank *r, tn_trace_many_fn f, const tn_ode_options *o, const char *want) {
    const tn_type in[] = {tn_varying(r->c, tn_f64(2), "w"), tn_f64(), tn_f64()};
    const bool taken = tn_trace_many(r->c, f, (void *)(uintptr_t)o, 3, in, 3) != NULL;
    if (taken || !strstr(tn_error(r->c), want)) (void)complain(r, want, taken ? "not refused" : tn_error(r->c));
}

static void at_rest(const tn_val *in, tn_val *out, void *user) {
    tn_ode_problem p = {.size = sizeof p, .field = decay, .nstate = 1, .y0 = in, .nparams = 1, .params = in + 1};
    p.t0 = tn_number_f64(0);
    p.t1 = in[2];
    tn_ode_solution s = {.size = sizeof s, .y = out};
    tn_ode_steady(&p, user, &s, NULL);
    out[1] = s.steps;
    out[2] = s.status;
}

static void bad(rank *r) {
    tn_ode_options o = {.size = sizeof o, .rtol = 1e-6, .event = leaves};
    refused(r, decays, &o, "the event varies over w: ranks would stop at different times (psum it)");
    o.event = NULL;
    o.solver = "Kvaerno3";
    refused(r, decays, &o, "the state varies over w: implicit solvers and steady states want it the same on all ranks");
    o.solver = NULL;
    refused(r, at_rest, &o,
            "the state varies over w: implicit solvers and steady states want it the same on all ranks");
    o.adjoint = "Backsolve";
    const tn_type in[] = {tn_f64(2), tn_varying(r->c, tn_f64(), "w"), tn_f64()};
    const char *want = "Backsolve: dy[0] varies over w, y0[0] does not (tn_vary it)";
    if (tn_trace_many(r->c, decays, &o, 3, in, 3) || !strstr(tn_error(r->c), want))
        (void)complain(r, want, tn_error(r->c));
}

static void what_would_part_the_ranks_is_refused(void **state) {
    (void)state;
    free(on_ranks(2, bad, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quasi_newton_on_ranks),
        cmocka_unit_test(newton_on_ranks),
        cmocka_unit_test(solves_on_ranks_are_those_of_one),
        cmocka_unit_test(what_is_saved_is_that_of_one_rank),
        cmocka_unit_test(ranks_with_times_of_their_own_solve_alone),
        cmocka_unit_test(all_ranks_hear_of_a_state_that_is_not_finite),
        cmocka_unit_test(what_would_part_the_ranks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
