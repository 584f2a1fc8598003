/* A neural differential equation learns a spiral.
 *
 * Only points of a path are known, with noise; what makes it move is y' = |y| A y.  The field of the model is a
 * network, 2-32-32-2 with tanh (Chen, Rubanova, Bettencourt, Duvenaud, "Neural Ordinary Differential Equations", 2018),
 * whose solutions are to go through the points; it is trained by Adam.  First on short pieces of the path, in batches:
 * these are solved with one constant step from point to point, and AllSave keeps what so few steps need.  Then on the
 * whole path from its first point alone: with adaptive steps, and RecursiveCheckpoint keeps 20 states, however many
 * they are.
 *
 * usage: neural_ode [--short] [PICTURE.svg]; short: a quarter of the updates
 * Exit status: 0, or 1 when the loss does not fall to a hundredth (short: to a half), or the whole path is not found.
 */
#include "progress.h"
#include "picture.h"

#include <stdint.h>
#include <tansy/ode.h>
#include <tansy/optim.h>

enum { POINTS = 201, PIECES = 16, STEPS = 20, WIDTH = 32, CURVE = 1001 };
enum { ON_PIECES = 800, ON_WHOLE = 400, MOST = ON_PIECES + ON_WHOLE, SHORT = 4 };
static const double end = 10, noise = 0.02;
static const double first_point[2] = {2, 0};

/* ---- the model ------------------------------------------------------------------ */

#define NET(F)               \
    F(f64, w1, 2, WIDTH)     \
    F(f64, b1, WIDTH)        \
    F(f64, w2, WIDTH, WIDTH) \
    F(f64, b2, WIDTH)        \
    F(f64, w3, WIDTH, 2)     \
    F(f64, b3, 2)
TN_STRUCT(net, NET);
/* The state of Adam: updates so far, means, squares. */
#define ADAM(F) F(i64, count) F(struct, net, m) F(struct, net, v)
TN_STRUCT(adam, ADAM);

/* y [.., 2] */
static void network(tn_val t, const tn_val *y, const tn_val *params, tn_val *dy, void *user) {
    (void)t, (void)user;
    const net_vals *p = TN_STRUCT_VALS(net, params);
    const tn_val h1 = tn_tanh(tn_add(tn_matmul(y[0], p->w1), p->b1));
    const tn_val h2 = tn_tanh(tn_add(tn_matmul(h1, p->w2), p->b2));
    dy[0] = tn_add(tn_matmul(h2, p->w3), p->b3);
}

/* y' = |y| A y */
static void spiral(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)p, (void)user;
    static const double a[2][2] = {{-0.1, -1.5}, {1.5, -0.1}}; /* transposed */
    const tn_val speed = tn_sqrt(tn_sum_squares(y[0]));
    dy[0] = tn_mul(speed, tn_matmul(y[0], tn_constant(tn_val_ctx(y[0]), tn_f64(2, 2), a)));
}

/* net, starts [PIECES,2], what follows [STEPS,PIECES,2] -> mean squared distance */
static tn_val loss_of_pieces(const tn_val *in, void *user) {
    (void)user;
    const tn_val *batch = in + net_arrays;
    tn_val y, path;
    const tn_ode_problem problem = {.size = sizeof problem,
                                    .field = network,
                                    .nstate = 1,
                                    .y0 = batch,
                                    .nparams = net_arrays,
                                    .params = in,
                                    .t0 = TN_VAL(0.0),
                                    .t1 = TN_VAL(end * STEPS / (POINTS - 1))};
    const tn_ode_options options = {.size = sizeof options, .adjoint = "AllSave", .steps = STEPS, .save_steps = STEPS};
    tn_ode_solution s = {.size = sizeof s, .y = &y, .steps_y = &path};
    tn_ode_solve(&problem, &options, &s);
    return tn_mean(tn_square(tn_sub(path, batch[1])));
}

/* The path at ts from y0, p being the network's parameters or NULL: the spiral itself. */
static tn_val path_from(tn_val y0, const tn_val *p, tn_val ts, tn_val *status) {
    tn_val y, path;
    const tn_ode_problem problem = {.size = sizeof problem,
                                    .field = p ? network : spiral,
                                    .nstate = 1,
                                    .y0 = &y0,
                                    .nparams = p ? net_arrays : 0,
                                    .params = p,
                                    .t0 = TN_VAL(0.0),
                                    .t1 = TN_VAL(end)};
    const tn_ode_options options = {.size = sizeof options,
                                    .adjoint = "RecursiveCheckpoint:20",
                                    .rtol = 1e-5,
                                    .atol = 1e-5,
                                    .max_steps = 10000,
                                    .ts = ts};
    tn_ode_solution s = {.size = sizeof s, .y = &y, .ts_y = &path};
    tn_ode_solve(&problem, &options, &s);
    *status = s.status;
    return path;
}

/* net, y0 [2], points [POINTS,2] -> mean squared distance */
static tn_val loss_of_whole(const tn_val *in, void *user) {
    (void)user;
    const tn_val *batch = in + net_arrays;
    tn_val status;
    const tn_val ts = tn_linspace(tn_val_ctx(in[0]), TN_F64, 0, end, POINTS);
    const tn_val path = path_from(batch[0], in, ts, &status);
    return tn_where(tn_eq(status, TN_ODE_SUCCESS), tn_mean(tn_square(tn_sub(path, batch[1]))), NAN);
}

/* net, y0 [2], ts [m] -> the path [m,2], status */
static void model_path(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = path_from(in[net_arrays], in, in[net_arrays + 1], &out[1]);
}

/* y0 [2], ts [m], key i32[2] -> points: the spiral's path with noise, status */
static void make_points(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_add(path_from(in[0], NULL, in[1], &out[1]), tn_mul(tn_random_normal(in[2], tn_f64(POINTS, 2)), noise));
}

/* key i32[2] -> net */
static void initial(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    for (int i = 0; i < net_arrays; i++) {
        const tn_type t = tn_struct_type(&net_struct, (size_t)i);
        const tn_val normal = tn_random_normal(tn_random_fold_in(in[0], i), t);
        out[i] = tn_mul(normal, t.rank == 2 ? 1 / sqrt((double)t.dim[0]) : 0.0);
    }
}

/* ---- training --------------------------------------------------------------------- */

typedef struct training {
    tn_ctx *c;
    tn_exec *pieces, *whole, *path;
    net p;
    adam a;
    double points[POINTS][2], loss[MOST];
    int on_pieces, updates; /* of them, the first ones on pieces */
    double before[CURVE][2], after[CURVE][2];
    uint64_t random;
} training;

static bool failed(const training *t, const char *what) {
    const char *why = tn_error(t->c);
    fprintf(stderr, "%s: %s\n", what, *why ? why : "failed");
    return false;
}

/* One of so many updates by Adam as a program, in place: net, starts, what follows, adam -> loss,
 * net, adam.  The rate rises for 50 updates, then falls to zero along a cosine. */
static tn_exec *compile_update(tn_ctx *c, tn_trace_fn loss, tn_type start, tn_type next, double most, int updates) {
    const tn_optim rule = {.size = sizeof rule,
                           .rule = TN_ADAM,
                           .rate = {.kind = TN_RATE_COSINE, .value = most, .steps = updates - 50, .warmup = 50},
                           .b2 = 0.99};
    int alias[1 + net_arrays + adam_arrays] = {-1};
    for (int i = 0; i < net_arrays; i++) alias[1 + i] = i;
    for (int i = 0; i < adam_arrays; i++) alias[1 + net_arrays + i] = net_arrays + 2 + i;
    tn_fn *f = tn_trace(c, loss, NULL, TN_STRUCT_ARGS(net, start, next));
    tn_fn *one = tn_optim_step(f, TN_STRUCT_WRT(net, 0), &rule, NULL);
    return tn_compile(one, &(tn_compile_options){.size = sizeof(tn_compile_options), .alias = alias});
}

static bool compile(training *t) {
    t->path = tn_compile(tn_trace_many(t->c, model_path, NULL, TN_STRUCT_ARGS(net, tn_f64(2), tn_f64(CURVE)), 2), NULL);
    t->pieces = compile_update(t->c, loss_of_pieces, tn_f64(PIECES, 2), tn_f64(STEPS, PIECES, 2), 2e-2, t->on_pieces);
    t->whole = compile_update(t->c, loss_of_whole, tn_f64(2), tn_f64(POINTS, 2), 3e-3, t->updates - t->on_pieces);
    return t->pieces && t->whole && t->path ? true : failed(t, "tracing");
}

static bool start(training *t) {
    const int32_t key[2] = {0, 4};
    double ts[POINTS];
    int32_t status;
    for (int i = 0; i < POINTS; i++) ts[i] = end * i / (POINTS - 1);
    tn_exec *points =
        tn_compile(tn_trace_many(t->c, make_points, NULL, TN_ARGS(tn_f64(2), tn_f64(POINTS), tn_i32(2)), 2), NULL);
    tn_exec *weights = tn_compile(tn_trace_many(t->c, initial, NULL, TN_ARGS(tn_i32(2)), net_arrays), NULL);
    return points && weights &&
                   tn_call(points, TN_INPUTS(first_point, ts, key), TN_OUTPUTS(t->points, &status)) == TN_OK &&
                   status == TN_ODE_SUCCESS &&
                   tn_call(weights, TN_INPUTS(key), TN_OUTPUTS(TN_STRUCT_OUT(net, &t->p))) == TN_OK
               ? true
               : failed(t, "the points");
}

/* The path of the model as it is now, and how far it is from the points: root of the mean square. */
static bool follow(const training *t, double path[CURVE][2], double *distance) {
    enum { EACH = (CURVE - 1) / (POINTS - 1) };
    double ts[CURVE], sum = 0;
    int32_t status;
    for (int i = 0; i < CURVE; i++) ts[i] = end * i / (CURVE - 1);
    if (tn_call(t->path, TN_INPUTS(TN_STRUCT_IN(net, &t->p), first_point, ts), TN_OUTPUTS(path, &status)) != TN_OK)
        return failed(t, "the path");
    if (status != TN_ODE_SUCCESS) fprintf(stderr, "the path: solver status %d\n", (int)status);
    for (int i = 0; i < POINTS; i++)
        for (int k = 0; k < 2; k++) sum += pow(path[EACH * i][k] - t->points[i][k], 2);
    *distance = sqrt(sum / POINTS);
    return status == TN_ODE_SUCCESS;
}

/* Pieces from anywhere on the path (a linear congruential generator is random enough). */
static void pick(training *t, double start[PIECES][2], double next[STEPS][PIECES][2]) {
    for (int j = 0; j < PIECES; j++) {
        t->random = t->random * 6364136223846793005u + 1442695040888963407u;
        const int from = (int)((t->random >> 33) % (POINTS - STEPS));
        memcpy(start[j], t->points[from], sizeof start[j]);
        for (int i = 0; i < STEPS; i++) memcpy(next[i][j], t->points[from + 1 + i], sizeof next[i][j]);
    }
}

static bool train(training *t) {
    static double first[PIECES][2], next[STEPS][PIECES][2];
    double mean = 0;
    for (int n = 0; n < t->updates; n++) {
        const bool whole = n >= t->on_pieces;
        if (n == t->on_pieces) t->a = (adam){0};
        if (!whole) pick(t, first, next);
        const void *from = whole ? (const void *)first_point : first, *to = whole ? (const void *)t->points : next;
        if (tn_call(whole ? t->whole : t->pieces,
                    TN_INPUTS(TN_STRUCT_IN(net, &t->p), from, to, TN_STRUCT_IN(adam, &t->a)),
                    TN_OUTPUTS(&t->loss[n], TN_STRUCT_OUT(net, &t->p), TN_STRUCT_OUT(adam, &t->a))) != TN_OK ||
            !isfinite(t->loss[n]))
            return failed(t, "an update");
        mean += (t->loss[n] - mean) / fmin(20, 1 + (whole ? n - t->on_pieces : n));
        char text[96];
        (void)snprintf(text, sizeof text, "update %4d/%d, %s   loss %.6f", n + 1, t->updates,
                       whole ? "the whole path" : "pieces", mean);
        if ((n + 1) % 20 == 0) progress((n + 1.0) / t->updates, text);
    }
    return true;
}

/* ---- the picture --------------------------------------------------------------------- */

static void draw_path(picture *p, const training *t, double left, double path[CURVE][2], const char *title) {
    const double range[2] = {-2.2, 2.2};
    picture_panel(p, left, 90, 300, 300, range, range, title, "y1");
    picture_dots(p, POINTS, &t->points[0][0], 2, &t->points[0][1], 2, GREY);
    picture_line(p, CURVE, &path[0][0], 2, &path[0][1], 2, BLUE, "none");
}

static bool draw(training *t, const char *path) {
    static double number[MOST], logarithm[MOST];
    double x[2] = {0, t->updates}, y[2] = {DBL_MAX, -DBL_MAX};
    for (int i = 0; i < t->updates; i++) {
        number[i] = i + 1;
        logarithm[i] = log10(t->loss[i]);
    }
    picture_range(y, t->updates, logarithm, 1);
    picture p;
    if (!picture_open(&p, path, 1120, 460, "A neural differential equation learns a spiral")) return false;
    draw_path(&p, t, 50, t->before, "before");
    draw_path(&p, t, 410, t->after, "after");
    picture_panel(&p, 780, 90, 310, 300, x, y, "log10 of the loss: pieces, then the whole path", "updates");
    picture_line(&p, t->updates, number, 1, logarithm, 1, ORANGE, "none");
    if (!picture_close(&p, path)) return false;
    printf("  picture: %s\n", path);
    return true;
}

static bool aim(bool met, const char *what) {
    printf("  %s  %s\n", met ? "ok    " : "MISSED", what);
    return met;
}

static bool run(training *t, const char *path) {
    double before, after;
    char text[2][96];
    if (!compile(t) || !start(t) || !follow(t, t->before, &before) || !train(t) || !follow(t, t->after, &after) ||
        (path && !draw(t, path)))
        return false;
    const double first = t->loss[0], last = t->loss[t->updates - 1], factor = t->updates == MOST ? 100 : 2;
    (void)snprintf(text[0], sizeof text[0], "the loss fell %.0f-fold, from %.4f to %.6f (>= %.0f)", first / last, first,
                   last, factor);
    (void)snprintf(text[1], sizeof text[1], "the whole path: %.4f from the points, before %.2f (< 0.1; noise %.4f)",
                   after, before, noise * sqrt(2));
    const bool fell = aim(first >= factor * last, text[0]);
    return (t->updates < MOST || aim(after < 0.1, text[1])) && fell;
}

int main(int n, char **args) {
    const bool brief = n > 1 && strcmp(args[1], "--short") == 0;
    static training t;
    t.c = tn_ctx_new(NULL);
    t.on_pieces = ON_PIECES / (brief ? SHORT : 1);
    t.updates = MOST / (brief ? SHORT : 1);
    const bool ok = t.c && run(&t, n > 1 + brief ? args[1 + brief] : NULL);
    tn_ctx_free(t.c);
    return ok ? 0 : 1;
}
