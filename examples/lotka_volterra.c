/* Hares and lynxes: the parameters of a differential equation, found from noisy counts.
 *
 *     hares' = a hares - b hares lynxes        lynxes' = d hares lynxes - c lynxes
 *
 * The logarithms of a, b, c, d and of the two numbers at the start are fitted by Gauss-Newton with the damping of
 * Levenberg and Marquardt: the Jacobian of all residuals is tn_jacfwd's, the gradient tn_grad's, backwards through
 * adaptive steps of which RecursiveCheckpoint keeps 20 states.  One step of the fit is one program.
 *
 * The counts are made here, from known parameters, so that the answer can be judged.
 * usage: lotka_volterra [--short] [PICTURE.svg]; it is short anyway
 * Exit status: 0, or 1 when the fit does not converge or the parameters are not found within 3 standard errors. */
#include "progress.h"
#include "picture.h"

#include <tansy/ode.h>

enum { N = 6, TIMES = 41, CURVE = 401, MOST = 60 };
static const double noise = 0.15, years = 20;
static const char *const name[N] = {"a", "b", "c", "d", "hares(0)", "lynxes(0)"};
static const double truth[N] = {0.55, 0.028, 0.80, 0.024, 33, 6};
static const double guess[N] = {0.8, 0.05, 1.2, 0.04, 20, 10};

/* ---- the programs ---------------------------------------------------------- */

static void field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    const tn_val met = tn_mul(y[0], y[1]);
    dy[0] = tn_sub(tn_mul(p[0], y[0]), tn_mul(p[1], met));
    dy[1] = tn_sub(tn_mul(p[3], met), tn_mul(p[2], y[1]));
}

/* theta [N], ts [m] -> the logarithms of both numbers at these times [m,2], the solver's status and steps */
static void solve(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    tn_val p[N], y[2], ts_y[2];
    for (int i = 0; i < N; i++) p[i] = tn_exp(tn_at(in[0], i));
    const tn_ode_problem problem = {.size = sizeof problem,
                                    .field = field,
                                    .nstate = 2,
                                    .y0 = p + 4,
                                    .nparams = 4,
                                    .params = p,
                                    .t0 = TN_VAL(0.0),
                                    .t1 = TN_VAL(years)};
    const tn_ode_options options = {.size = sizeof options,
                                    .solver = "Tsit5",
                                    .adjoint = "RecursiveCheckpoint:20",
                                    .rtol = 1e-8,
                                    .atol = 1e-8,
                                    .max_steps = 10000,
                                    .ts = in[1]};
    tn_ode_solution s = {.size = sizeof s, .y = y, .ts_y = ts_y};
    tn_ode_solve(&problem, &options, &s);
    out[0] = tn_log(tn_stack(tn_vals(ts_y[0], ts_y[1]), 1));
    out[1] = s.status;
    out[2] = s.steps;
}

/* theta, ts, key i32[2] -> counts: the solution with noise, as logarithms */
static tn_val count(const tn_val *in, void *user) {
    tn_val out[3];
    solve(in, out, user);
    return tn_add(out[0], tn_mul(tn_random_normal(in[2], tn_f64(TIMES, 2)), noise));
}

/* theta, ts, counts [TIMES,2] -> what is left of the counts [2 TIMES] */
static tn_val residual(const tn_val *in, void *user) {
    tn_val out[3];
    solve(in, out, user);
    return tn_ravel(tn_sub(out[0], in[2]));
}

/* theta, ts, counts -> half the sum of squares, the solver's status and steps */
static void loss(const tn_val *in, tn_val *out, void *user) {
    solve(in, out, user);
    out[0] = tn_mul(0.5, tn_sum_squares(tn_sub(out[0], in[2])));
}

/* theta, ts, counts, damping [] -> loss, status, steps, gradient, J' r, the next step, inverse of J' J */
static void step(const tn_val *in, tn_val *out, void *user) {
    const tn_fn *const *f = user; /* value and gradient, residuals, Jacobian */
    tn_apply_many(f[0], 3, in, 4, out);
    const tn_val r = tn_apply(f[1], 3, in), j = tn_apply(f[2], 3, in), a = tn_matmul(tn_t(j), j);
    const tn_val eye = tn_eye(tn_val_ctx(in[0]), TN_F64, N, N), more = tn_mul(tn_mul(a, eye), in[3]);
    out[4] = tn_matmul(r, j);
    out[5] = tn_neg(tn_solve(tn_add(a, more), out[3]));
    out[6] = tn_solve(a, eye);
}

/* ---- the fit ---------------------------------------------------------------- */

typedef struct point {
    double theta[N], loss, gradient[N], forward[N], move[N], inverse[N][N];
    int32_t status;
    int64_t steps;
} point;

typedef struct fit {
    tn_ctx *c;
    tn_exec *step, *solve;
    double ts[TIMES], counts[TIMES][2], damping;
    point at;
    int tried;
} fit;

static bool failed(const fit *f, const char *what) {
    const char *why = tn_error(f->c);
    fprintf(stderr, "%s: %s\n", what, *why ? why : "failed");
    return false;
}

static bool compile(fit *f) {
    tn_ctx *c = f->c;
    const tn_type *types = TN_TYPES(tn_f64(N), tn_f64(TIMES), tn_f64(TIMES, 2), tn_f64());
    const tn_fn *parts[3] = {
        tn_value_and_grad_aux(tn_trace_many(c, loss, NULL, 3, types, 3), tn_wrt(0), NULL),
        tn_trace(c, residual, NULL, 3, types),
        tn_jacfwd(tn_trace(c, residual, NULL, 3, types), tn_wrt(0), 0),
    };
    tn_fn *one = parts[0] && parts[1] && parts[2] ? tn_trace_many(c, step, parts, 4, types, 7) : NULL;
    f->step = tn_compile(one, NULL);
    f->solve = tn_compile(tn_trace_many(c, solve, NULL, TN_ARGS(tn_f64(N), tn_f64(CURVE)), 3), NULL);
    return f->step && f->solve ? true : failed(f, "tracing");
}

static bool make_counts(fit *f) {
    double theta[N];
    for (int i = 0; i < N; i++) theta[i] = log(truth[i]);
    for (int i = 0; i < TIMES; i++) f->ts[i] = years * i / (TIMES - 1);
    tn_exec *e = tn_compile(tn_trace(f->c, count, NULL, TN_ARGS(tn_f64(N), tn_f64(TIMES), tn_i32(2))), NULL);
    const int32_t key[2] = {0, 7};
    return e && tn_call(e, TN_INPUTS(theta, f->ts, key), TN_OUTPUTS(f->counts)) == TN_OK ? true
                                                                                         : failed(f, "the counts");
}

static tn_status evaluate(const fit *f, point *p) {
    return tn_call(f->step, TN_INPUTS(p->theta, f->ts, f->counts, &f->damping),
                   TN_OUTPUTS(&p->loss, &p->status, &p->steps, p->gradient, p->forward, p->move, p->inverse));
}

/* What a whole step of Gauss-Newton would gain, by its quadratic model. */
static double expected(const point *p) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) sum += 0.5 * p->gradient[i] * p->inverse[i][j] * p->gradient[j];
    return sum;
}

static bool usable(const point *p) { return p->status == TN_ODE_SUCCESS && isfinite(p->loss); }

/* Steps until one promises less than 1e-10 of the loss. */
static bool run(fit *f) {
    double shown = 0;
    f->damping = 1e-2;
    for (int i = 0; i < N; i++) f->at.theta[i] = log(guess[i]);
    if (evaluate(f, &f->at) != TN_OK || !usable(&f->at)) return failed(f, "the first guess");
    for (f->tried = 1; f->tried <= MOST; f->tried++) {
        const double left = expected(&f->at) / f->at.loss;
        const bool done = left < 1e-10;
        char text[128];
        (void)snprintf(text, sizeof text, "step %2d   loss %9.5f   gain expected %.0e   %3d solver steps", f->tried,
                       f->at.loss, f->at.loss * left, (int)f->at.steps);
        shown = done ? 1 : fmax(shown, -log10(left) / 10);
        progress(shown, text);
        if (done) return true;
        point next = {.loss = INFINITY};
        for (int i = 0; i < N; i++) next.theta[i] = f->at.theta[i] + f->at.move[i];
        if (evaluate(f, &next) != TN_OK) return failed(f, "a step");
        const bool better = usable(&next) && next.loss < f->at.loss;
        f->damping *= better ? 0.2 : 5;
        if (better)
            f->at = next; /* whose move was made with the damping before */
        else if (evaluate(f, &f->at) != TN_OK)
            return failed(f, "a step");
    }
    fprintf(stderr, "\nnot converged after %d steps\n", MOST);
    return false;
}

/* ---- what was found ------------------------------------------------------------ */

static bool report(const fit *f) {
    const double spread = sqrt(2 * f->at.loss / (2 * TIMES - N));
    double worst = 0;
    printf("\n  %-10s %10s %10s %10s %12s\n", "", "truth", "guess", "found", "off by");
    for (int i = 0; i < N; i++) {
        const double error = spread * sqrt(f->at.inverse[i][i]), off = (f->at.theta[i] - log(truth[i])) / error;
        printf("  %-10s %10.4g %10.4g %10.4g %6.2f standard errors (%.1f %%)\n", name[i], truth[i], guess[i],
               exp(f->at.theta[i]), off, 100 * error);
        worst = fmax(worst, fabs(off));
    }
    printf("  %-10s %10.4g %10s %10.4g\n\n", "noise", noise, "", spread);
    if (worst < 3) return true;
    printf("  MISSED: a parameter is %.2f standard errors off\n", worst);
    return false;
}

/* Forward and reverse mode agree on the gradient, at the first guess. */
static bool modes_agree(fit *f) {
    point p = {.loss = 0};
    double difference = 0, size = 0;
    for (int i = 0; i < N; i++) p.theta[i] = log(guess[i]);
    if (evaluate(f, &p) != TN_OK) return failed(f, "the first guess");
    for (int i = 0; i < N; i++) {
        difference = fmax(difference, fabs(p.gradient[i] - p.forward[i]));
        size = fmax(size, fabs(p.gradient[i]));
    }
    printf("  gradient backwards and forwards: %.0e of its size apart\n", difference / size);
    return difference <= 1e-9 * size;
}

static bool draw(const fit *f, const char *path) {
    static double ts[CURVE], y[2][CURVE][2]; /* first guess, fit */
    static const char *const title[2] = {"hares", "lynxes"}, *const colour[2] = {BLUE, ORANGE};
    double theta[N], counts[TIMES][2];
    int32_t status;
    int64_t steps;
    for (int i = 0; i < CURVE; i++) ts[i] = years * i / (CURVE - 1);
    for (int i = 0; i < N; i++) theta[i] = log(guess[i]);
    if (tn_call(f->solve, TN_INPUTS(theta, ts), TN_OUTPUTS(y[0], &status, &steps)) != TN_OK ||
        tn_call(f->solve, TN_INPUTS(f->at.theta, ts), TN_OUTPUTS(y[1], &status, &steps)) != TN_OK)
        return failed(f, "the picture");
    for (int i = 0; i < 2 * CURVE; i++)
        for (int k = 0; k < 2; k++) (&y[k][0][0])[i] = exp((&y[k][0][0])[i]);
    for (int i = 0; i < 2 * TIMES; i++) (&counts[0][0])[i] = exp((&f->counts[0][0])[i]);
    picture p;
    if (!picture_open(&p, path, 900, 640, "Hares and lynxes: six parameters from noisy counts")) return false;
    for (int k = 0; k < 2; k++) {
        double range[2] = {0, 0};
        picture_range(range, TIMES, &counts[0][k], 2);
        picture_range(range, CURVE, &y[1][0][k], 2);
        range[1] *= 1.05;
        picture_panel(&p, 60, 90 + 280 * k, 810, 200, (const double[]){0, years}, range, title[k], "years");
        picture_line(&p, CURVE, ts, 1, &y[0][0][k], 2, GREY, "6 4");
        picture_line(&p, CURVE, ts, 1, &y[1][0][k], 2, colour[k], "none");
        picture_dots(&p, TIMES, f->ts, 1, &counts[0][k], 2, colour[k]);
        picture_legend(&p, colour[k], NULL, "counts");
        picture_legend(&p, GREY, "6 4", "first guess");
        picture_legend(&p, colour[k], "none", "fit");
    }
    if (!picture_close(&p, path)) return false;
    printf("  picture: %s\n", path);
    return true;
}

int main(int n, char **args) {
    const int at = n > 1 && strcmp(args[1], "--short") == 0 ? 2 : 1;
    fit f = {.c = tn_ctx_new(NULL)};
    const bool ok = f.c && compile(&f) && make_counts(&f) && modes_agree(&f) && run(&f) && report(&f) &&
                    (n <= at || draw(&f, args[at]));
    tn_ctx_free(f.c);
    return ok ? 0 : 1;
}
