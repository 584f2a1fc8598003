/* What did the plate look like before the heat spread, on many ranks?
 *
 * A plate of 48 x 48 points, cold at its border, conducts heat, and loses it the faster the hotter it is:
 *
 *     u <- u + k (lap u - u^3/10)
 *
 * Ranks are a grid of rows and columns, and each has a block of the plate.  In every step neighbours exchange the rows
 * and columns at their borders (tn_shift).  From the plate after 30 steps the beginning is found by minimizing
 *
 *     |plate after the steps - measured|^2 / 2, summed over the ranks (tn_psum)
 *
 * with L-BFGS, whose inner products are sums over the ranks, too.  The steps are one loop with a schedule: the gradient
 * keeps 8 plates and runs steps again, exchanging borders again, on all ranks alike.
 *
 *     mpirun -np 4 heat2d [--schedule S] [--short] [FILE.svg]
 *     heat2d --threads 4 ..       ranks that are threads, without MPI
 *     .. --check                  the gradient is that of one rank, with every schedule
 *
 * The exit status is 0 when it is (to 1e-13), and when what was found is much nearer to the truth than what was
 * measured. */
#include "../plates.h"
#include "ranks.h"

#include <math.h>
#include <tansy/loops.h>

enum { N = 48, POINTS = N * N, STEPS = 30, MEMORY = 8, ROOMS = 8 + 2 * MEMORY };
static const double conductivity = 0.2;

/* ---- the program --------------------------------------------------------------------------------- */

static const char both[] = "r,c";

/* The row (axis 0) or column that lies before this block, or behind it; zeros beyond the plate. */
static tn_val border(tn_val u, int axis, bool behind) {
    const int64_t n = tn_dim(u, axis), at = behind ? 0 : n - 1;
    return tn_shift(tn_slice_axis(u, at, at + 1, 1, axis), axis ? "c" : "r", behind ? -1 : 1);
}

/* The sum of the two neighbours along the axis. */
static tn_val neighbours(tn_val u, int axis) {
    const int64_t n = tn_dim(u, axis);
    const tn_val before[] = {border(u, axis, false), tn_slice_axis(u, 0, n - 1, 1, axis)};
    const tn_val behind[] = {tn_slice_axis(u, 1, n, 1, axis), border(u, axis, true)};
    return tn_add(tn_concatenate(tn_vals_of(2, before), axis), tn_concatenate(tn_vals_of(2, behind), axis));
}

static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    const tn_val u = carry[0], *k = user;
    const tn_val lap = tn_sub(tn_add(neighbours(u, 0), neighbours(u, 1)), tn_mul(u, 4.0));
    next[0] = tn_add(u, tn_mul(*k, tn_sub(lap, tn_mul(tn_pow(u, 3), 0.1))));
}

static tn_val after_steps(tn_val u, tn_val k, const char *schedule) {
    const tn_loop_options o = {.size = sizeof o, .schedule = schedule};
    tn_fori(NULL, 0, STEPS, step, &k, 1, &u, &u, &o);
    return u;
}

/* the beginning, k -> the end */
static tn_val plate_later(const tn_val *in, void *user) { return after_steps(in[0], in[1], user); }

/* the beginning, k, what was measured -> how far apart */
static tn_val objective(const tn_val *in, void *user) {
    const tn_val misfit = tn_sub(after_steps(in[0], in[1], user), in[2]);
    return tn_mul(tn_psum(tn_sum_squares(misfit), both), 0.5);
}

/* blocks -> on rank 0 the blocks of all ranks, one behind the other */
static tn_val all_blocks(const tn_val *in, void *user) {
    (void)user;
    return tn_gather_to(in[0], both, 0);
}

/* ---- L-BFGS, on blocks ------------------------------------------------------------------------------- */

static tn_val dot(tn_val a, tn_val b) { return tn_psum(tn_sum(tn_mul(a, b)), both); }

/* g, then the latest steps and what they did to the gradient: s, y, s, y .., the newest first -> where to go, the slope
 * along it.  Steps that are zero do not count. */
static void direction(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val g = in[0], *s = in + 1, *y = in + 2;
    tn_val d = tn_neg(g), rho[MEMORY], alpha[MEMORY], scale = d;
    for (int i = 0; i < MEMORY; i++) {
        const tn_val sy = dot(s[2 * i], y[2 * i]), used = tn_gt(sy, 0.0);
        rho[i] = tn_where(used, tn_div(1.0, tn_where(used, sy, 1.0)), 0.0);
        if (i == 0) scale = tn_where(used, tn_div(sy, tn_where(used, dot(y[0], y[0]), 1.0)), 1.0);
        alpha[i] = tn_mul(rho[i], dot(s[2 * i], d));
        d = tn_sub(d, tn_mul(alpha[i], y[2 * i]));
    }
    d = tn_mul(d, scale);
    for (int i = MEMORY; i-- > 0;) {
        const tn_val beta = tn_mul(rho[i], dot(y[2 * i], d));
        d = tn_add(d, tn_mul(tn_sub(alpha[i], beta), s[2 * i]));
    }
    out[0] = d;
    out[1] = dot(g, d);
}

/* ---- a rank -------------------------------------------------------------------------------------------- */

typedef struct plate {
    rank *r;
    tn_ctx *c;
    int64_t rows, columns, top, left; /* of this rank's block */
    size_t n;                         /* points in it */
    tn_exec *later, *gradient, *direction, *gather;
    double *measured, *s[MEMORY], *y[MEMORY]; /* blocks */
    int steps, calls;
    long messages;              /* of a gradient */
    double *room[ROOMS], *page; /* page: all blocks */
    size_t rooms;
} plate;

static bool failed(const plate *p, const char *what, const tn_exec *e) {
    fprintf(stderr, "rank %d: %s: %s\n", p->r->number, what,
            e      ? tn_exec_error(e)
            : p->c ? tn_error(p->c)
                   : "no memory");
    return false;
}

static double *block(plate *p) {
    double *x = calloc(p->n, sizeof *x);
    p->room[p->rooms++] = x;
    return x;
}

static tn_type block_type(const plate *p) { return tn_varying(p->c, tn_f64(p->rows, p->columns), both); }

/* Value and gradient in the beginning and k, of a context of all ranks or of one that has the whole plate. */
static tn_fn *gradient_of(tn_ctx *c, tn_type block, const char *schedule) {
    tn_fn *f = tn_trace(c, objective, (void *)(uintptr_t)schedule, TN_ARGS(block, tn_f64(), block));
    tn_fn *g = f ? tn_value_and_grad(f, tn_wrt(0, 1), NULL) : NULL;
    tn_fn_free(f);
    return g;
}

static bool open_plate(plate *p, rank *r) {
    const int64_t *extent = r->grid.extent, *index = r->table.index;
    *p = (plate){.r = r};
    if (N % extent[0] || N % extent[1]) {
        fprintf(stderr, "%d points are not divisible among %d x %d ranks\n", N, (int)extent[0], (int)extent[1]);
        return false;
    }
    p->rows = N / extent[0], p->columns = N / extent[1];
    p->top = index[0] * p->rows, p->left = index[1] * p->columns;
    p->n = (size_t)(p->rows * p->columns);
    p->c = ranks_context(r, false);
    p->page = calloc(POINTS, sizeof *p->page);
    tn_type in[1 + 2 * MEMORY];
    if (!p->c || !p->page) return failed(p, "beginning", NULL);
    for (int i = 0; i < 1 + 2 * MEMORY; i++) in[i] = block_type(p);
    p->direction = ranks_compile(r, tn_trace_many(p->c, direction, NULL, 1 + 2 * MEMORY, in, 2), NULL);
    p->gather = ranks_compile(r, tn_trace(p->c, all_blocks, NULL, 1, in), NULL);
    return p->direction && p->gather ? true : failed(p, "compiling", NULL);
}

static void close_plate(plate *p) {
    for (size_t i = 0; i < p->rooms; i++) free(p->room[i]);
    free(p->page);
    tn_ctx_free(p->c); /* and everything made in it */
}

/* The whole plate on rank 0, by points. */
static bool gather(plate *p, const double *u, double *whole) {
    if (tn_call(p->gather, TN_INPUTS(u), TN_OUTPUTS(p->page)) != TN_OK) return failed(p, "gathering", p->gather);
    const int64_t across = N / p->columns;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) {
            const int64_t of = i / p->rows * across + j / p->columns;
            whole[i * N + j] = p->page[of * (int64_t)p->n + i % p->rows * p->columns + j % p->columns];
        }
    return true;
}

/* This rank's block of a whole plate. */
static void own(const plate *p, const double *whole, double *u) {
    for (int64_t i = 0; i < p->rows; i++)
        memcpy(u + i * p->columns, whole + (p->top + i) * N + p->left, (size_t)p->columns * sizeof *u);
}

/* ---- minimizing ------------------------------------------------------------------------------------------ */

/* NAN after an error. */
static double value_and_gradient(plate *p, const double *u, double *g) {
    double f, k;
    const long before = p->r->messages;
    p->calls++;
    const tn_status s = tn_call(p->gradient, TN_INPUTS(u, &conductivity, p->measured), TN_OUTPUTS(&f, g, &k));
    if (s != TN_OK) (void)failed(p, "the gradient", p->gradient);
    p->messages = p->r->messages - before;
    return s == TN_OK ? f : NAN;
}

static bool go_on(plate *p, const double *g, double *d, double *slope) {
    const void *in[1 + 2 * MEMORY] = {g};
    for (int i = 0; i < MEMORY; i++) { /* the newest first */
        const int m = (p->steps + MEMORY - 1 - i) % MEMORY;
        in[1 + 2 * i] = p->s[m];
        in[2 + 2 * i] = p->y[m];
    }
    return tn_call(p->direction, in, TN_OUTPUTS(d, slope)) == TN_OK ? true : failed(p, "L-BFGS", p->direction);
}

/* From u, into u; the objective, or NAN after an error.  What decides is replicated, so that all ranks decide alike. */
static double minimize(plate *p, double *u, int iterations) {
    double *g = block(p), *d = block(p), *v = block(p), *w = block(p);
    for (int i = 0; i < MEMORY; i++) p->s[i] = block(p), p->y[i] = block(p);
    if (!p->y[MEMORY - 1]) return NAN;
    double f = value_and_gradient(p, u, g), slope;
    for (int i = 0; i < iterations && isfinite(f); i++) {
        if (!go_on(p, g, d, &slope)) return NAN;
        double t = i ? 1 : 0.1, f_new = NAN;
        for (int tries = 0; tries < 20; tries++, t /= 2) {
            for (size_t j = 0; j < p->n; j++) v[j] = u[j] + t * d[j];
            f_new = value_and_gradient(p, v, w);
            if (f_new <= f + 1e-4 * t * slope) break; /* never so for NaN */
        }
        if (!(f_new < f)) return f;
        const int m = p->steps++ % MEMORY;
        for (size_t j = 0; j < p->n; j++) {
            p->s[m][j] = v[j] - u[j];
            p->y[m][j] = w[j] - g[j];
        }
        memcpy(u, v, p->n * sizeof *u);
        memcpy(g, w, p->n * sizeof *g);
        f = f_new;
        if (!p->r->number) plates_bar(i + 1, iterations, f);
    }
    return f;
}

/* ---- the gradient against that of one rank ------------------------------------------------------------------ */

static double smooth(int64_t i, int64_t j) {
    return sin(0.3 * (double)i) * cos(0.2 * (double)j) + 0.02 * (double)(i - j);
}

/* The value, the gradient in k, the gradient in the beginning. */
typedef struct result {
    double f, k, g[POINTS];
} result;

typedef struct checking {
    double u[POINTS], d[POINTS], v[POINTS], w[POINTS], g[POINTS]; /* whole plates, then blocks */
    result found, one;
} checking;

/* Without other ranks, on the whole plate. */
static bool alone(const plate *p, checking *k) {
    tn_ctx *c = ranks_context(p->r, true);
    tn_fn *f = c ? gradient_of(c, tn_varying(c, tn_f64(N, N), both), "all_save") : NULL;
    tn_exec *e = f ? tn_compile(f, NULL) : NULL;
    const bool ok =
        e && tn_call(e, TN_INPUTS(k->u, &conductivity, k->d), TN_OUTPUTS(&k->one.f, k->one.g, &k->one.k)) == TN_OK;
    if (!ok) fprintf(stderr, "one rank: %s\n", e ? tn_exec_error(e) : c ? tn_error(c) : "no memory");
    tn_ctx_free(c);
    return ok;
}

/* How far two gradients are apart, of the size of the second. */
static double apart(const result *x, const result *y) {
    double most = 0, size = 0;
    for (int i = 0; i < POINTS; i++) {
        most = fmax(most, fabs(x->g[i] - y->g[i]));
        size = fmax(size, fabs(y->g[i]));
    }
    return fmax(most / size, fmax(fabs(x->f - y->f) / fabs(y->f), fabs(x->k - y->k) / fabs(y->k)));
}

/* Goes on where the gradient is wrong: the other ranks do. */
static bool check_schedule(plate *p, checking *k, const char *schedule, bool *right) {
    tn_fn *f = gradient_of(p->c, block_type(p), schedule);
    tn_exec *e = f ? ranks_compile(p->r, f, NULL) : NULL;
    if (!e) return failed(p, schedule, NULL);
    const long before = p->r->messages;
    if (tn_call(e, TN_INPUTS(k->v, &conductivity, k->w), TN_OUTPUTS(&k->found.f, k->g, &k->found.k)) != TN_OK)
        return failed(p, schedule, e);
    const long messages = p->r->messages - before;
    if (!gather(p, k->g, k->found.g)) return false;
    if (p->r->number == 0) {
        const double wrong = apart(&k->found, &k->one);
        *right &= wrong <= 1e-13;
        printf("  %s  %-17s %4ld communications, %.1e from one rank's\n", wrong <= 1e-13 ? "ok    " : "MISSED",
               schedule, messages, wrong);
    }
    tn_exec_free(e);
    tn_fn_free(f);
    return true;
}

static bool check(plate *p) {
    static const char *const schedule[] = {"all_save", "revolve:2", "revolve:8",  "revolve:30",
                                           "online:4", "mixed:4",   "periodic:5", "nothing"};
    checking *k = calloc(1, sizeof *k);
    bool ok = k != NULL, right = true;
    for (int i = 0; ok && i < POINTS; i++) {
        k->u[i] = smooth(i / N, i % N);
        k->d[i] = smooth(i % N, i / N);
    }
    ok = ok && (p->r->number || alone(p, k));
    if (ok) {
        own(p, k->u, k->v);
        own(p, k->d, k->w);
        if (p->r->number == 0)
            printf("%d x %d points on %d x %d ranks, %d steps: the gradient in the beginning and in k\n", N, N,
                   (int)(N / p->rows), (int)(N / p->columns), STEPS);
    }
    for (size_t i = 0; ok && i < sizeof schedule / sizeof *schedule; i++)
        ok = check_schedule(p, k, schedule[i], &right);
    free(k);
    return ok && right;
}

/* ---- all together -------------------------------------------------------------------------------------------- */

/* 1 inside, 0 outside; x: the distance from the edge, which is not sharp. */
static double inside(double x) { return 1 / (1 + exp(1.5 * x)); }

static double box(int64_t i, int64_t j, double rows, double columns) {
    return inside(fmax(fabs((double)i) - rows, fabs((double)j) - columns));
}

/* A ring, a bar and a cross. */
static double hot(int64_t i, int64_t j) {
    const double ring = inside(fabs(hypot((double)i - 15, (double)j - 15) - 7) - 3);
    return ring + 0.7 * box(i - 14, j - 36, 8, 4) +
           0.85 * fmax(box(i - 35, j - 25, 3.5, 14), box(i - 35, j - 25, 9, 3.5));
}

static double rms(const double *a, const double *b) {
    double s = 0;
    for (int k = 0; k < POINTS; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(s / POINTS);
}

/* Rank 0 tells, and draws. */
static bool tell(const plate *p, const double *seen[3], double f, bool brief, const char *path) {
    const double start = rms(seen[1], seen[0]), end = rms(seen[2], seen[0]);
    printf("%d x %d points on %d x %d ranks, %d steps: %ld communications a gradient\n", N, N, (int)(N / p->rows),
           (int)(N / p->columns), STEPS, p->messages);
    printf("objective %.3e after %d gradients; distance to the truth %.4f measured, %.4f recovered\n", f, p->calls,
           start, end);
    static const char *const title[] = {"the beginning", "measured after 30 steps", "the beginning, recovered"};
    const bool drawn = !path || plates_draw(path, "The temperature of a plate", N, title, seen);
    if (!drawn) fprintf(stderr, "%s cannot be written\n", path);
    if (path && drawn) printf("picture: %s\n", path);
    return end < (brief ? 0.5 : 0.3) * start && drawn;
}

static bool recover(plate *p, const char *schedule, bool brief, const char *path) {
    tn_fn *later = tn_trace(p->c, plate_later, (void *)(uintptr_t)schedule, TN_ARGS(block_type(p), tn_f64()));
    tn_fn *gradient = later ? gradient_of(p->c, block_type(p), schedule) : NULL;
    p->later = gradient ? ranks_compile(p->r, later, NULL) : NULL;
    p->gradient = p->later ? ranks_compile(p->r, gradient, NULL) : NULL;
    double *before = block(p), *found = block(p), *whole = calloc(3 * (size_t)POINTS, sizeof *whole);
    const double *seen[3] = {whole, whole + POINTS, whole + 2 * POINTS};
    p->measured = block(p);
    bool ok = p->gradient && before && found && whole && p->measured ? true : failed(p, "compiling", NULL);
    for (size_t i = 0; ok && i < p->n; i++)
        before[i] = hot(p->top + (int64_t)i / p->columns, p->left + (int64_t)i % p->columns);
    if (ok && tn_call(p->later, TN_INPUTS(before, &conductivity), TN_OUTPUTS(p->measured)) != TN_OK)
        ok = failed(p, "the steps", p->later);
    if (ok) {
        memcpy(found, p->measured, p->n * sizeof *found);
        const double f = minimize(p, found, brief ? 30 : 300);
        ok = isfinite(f) && gather(p, before, whole) && gather(p, p->measured, whole + POINTS) &&
             gather(p, found, whole + 2 * POINTS) && (p->r->number || tell(p, seen, f, brief, path));
    }
    free(whole);
    return ok;
}

static int work(rank *r, int argc, char **argv) {
    const char *schedule = "revolve:8", *path = NULL;
    bool brief = false, checks = false;
    plate p;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--check") == 0)
            checks = true;
        else if (strcmp(argv[i], "--short") == 0)
            brief = true;
        else if (strcmp(argv[i], "--schedule") == 0 && i + 1 < argc)
            schedule = argv[++i];
        else if (argv[i][0] != '-')
            path = argv[i];
        else {
            if (!r->number)
                fprintf(stderr, "heat2d: %s? There are --threads N, --check, --short, --schedule S, PICTURE.svg\n",
                        argv[i]);
            return 2;
        }
    }
    const bool ok = open_plate(&p, r) && (checks ? check(&p) : recover(&p, schedule, brief, path));
    close_plate(&p);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) { return ranks_main(argc, argv, 2, (const char *const[]){"r", "c"}, work); }
