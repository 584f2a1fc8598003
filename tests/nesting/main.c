/* Derivatives of loops, nested: every schedule, under every way to differentiate, each cell compared with finite
 * differences of the derivative one order below, and bit for bit with all_save; then the same bits under every policy,
 * and what each holds. `make nesting` prints the tables.
 *
 * usage: nesting [--count] [--share S]
 * With --share, of the derivatives of loops in loops one in S, other ones under each policy and for each quantity that
 * is held: every schedule, policy and derivative has some. */
#include <tansy.h>
#include <tansy/loops.h>
#include <tansy/ops.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 3, STEPS = 9, INNER = 5, MOST = 8 };

/* A loop of the kind, alone or with an inner loop of a kind in its step. */
typedef enum kind { NONE, SCAN, WHILE, KINDS } kind;
static const char *const kind_name[KINDS] = {"-", "scan", "while"};

typedef struct model {
    kind outer, inner;
    const char *schedule, *inner_schedule;
    bool remembers; /* scans carry something of the step before, too */
    int64_t steps, inner_steps;
    tn_val w, xs, limit, inner_limit; /* of the program being traced */
} model;

/* ---- the functions ------------------------------------------------------------------------ */

/* Slow enough for differences to be exact over all steps. */
static tn_val field(tn_val w, tn_val y) { return tn_add(y, tn_mul(0.1, tn_sin(tn_mul(w, tn_add(y, tn_flip(y, 0)))))); }

/* y and h, which remembers what y was a step ago: no stack has to hold it. */
static void remembering_step(model *m, const tn_val *carry, tn_val x, tn_val *next) {
    next[0] = tn_add(field(m->w, carry[0]), tn_mul(0.1, tn_mul(carry[1], tn_sin(tn_add(carry[0], x)))));
    next[1] = tn_tanh(tn_mul(m->w, carry[0]));
}

static void inner_remembering_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    remembering_step(user, carry, tn_mul(0.1, x[0]), next);
    y[0] = tn_sum(tn_mul(next[0], next[1]));
}

static void inner_scan_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    model *m = user;
    next[0] = tn_add(field(m->w, carry[0]), tn_mul(0.1, x[0]));
    y[0] = tn_sum(tn_mul(next[0], next[0]));
}

static tn_val inner_going(const tn_val *carry, void *user) { return tn_lt(carry[0], ((model *)user)->inner_limit); }

static void inner_while_step(const tn_val *carry, tn_val *next, void *user) {
    model *m = user;
    next[0] = tn_add(carry[0], 1);
    next[1] = field(m->w, carry[1]);
    next[2] = tn_add(carry[2], tn_mul(0.1, tn_sum(tn_mul(next[1], carry[1]))));
}

/* One step of the outer loop: of y and xs[INNER, WIDTH], the next y and what is added to the loss. */
static void step(model *m, tn_val y, tn_val xs, tn_val *next, tn_val *sum) {
    const tn_loop_options o = {.size = sizeof o, .schedule = m->inner_schedule};
    const tn_val x = tn_mul(0.05, tn_sum_axis(xs, 0)), init[3] = {TN_VAL(0), tn_add(y, x), TN_VAL(0.0)};
    tn_val out[3], ys;
    switch (m->inner) {
    case SCAN:
        if (m->remembers) {
            const tn_val both[2] = {init[1], init[1]};
            tn_scan(NULL, inner_remembering_step, m, .ncarry = 2, .init = both, .nx = 1, .xs = &xs, .carry = out,
                    .ny = 1, .ys = &ys, .schedule = o.schedule);
            *next = tn_add(out[0], tn_mul(0.1, out[1]));
            *sum = tn_sum(ys);
            return;
        }
        tn_scan(NULL, inner_scan_step, m, .ncarry = 1, .init = &init[1], .nx = 1, .xs = &xs, .carry = next, .ny = 1,
                .ys = &ys, .schedule = o.schedule);
        *sum = tn_sum(ys);
        return;
    case WHILE:
        tn_while_loop(NULL, inner_going, inner_while_step, m, 3, init, out, &o);
        *next = out[1];
        *sum = out[2];
        return;
    default: *next = tn_add(field(m->w, y), x); *sum = tn_sum(tn_mul(*next, y));
    }
}

static void scan_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    step(user, carry[0], x[0], &next[0], &y[0]);
}

/* h beside y, of a step of y. */
static void scan_remembering_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    model *m = user;
    tn_val both[2];
    remembering_step(m, carry, tn_mul(0.05, tn_sum_axis(x[0], 0)), both);
    next[1] = both[1];
    step(m, both[0], x[0], &next[0], &y[0]);
}

static tn_val going(const tn_val *carry, void *user) { return tn_lt(carry[0], ((model *)user)->limit); }

static void while_step(const tn_val *carry, tn_val *next, void *user) {
    model *m = user;
    tn_val sum;
    step(m, carry[1], m->xs, &next[1], &sum);
    next[0] = tn_add(carry[0], 1);
    next[2] = tn_add(carry[2], sum);
}

static tn_val loss(const tn_val *in, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    const tn_val init[3] = {TN_VAL(0), in[1], TN_VAL(0.0)};
    tn_val y, sum, ys, out[3];
    m->w = in[0];
    m->limit = tn_full(in[0].ctx, tn_i64(), m->steps);
    m->inner_limit = tn_full(in[0].ctx, tn_i64(), m->inner_steps);
    if (m->outer == SCAN && m->remembers) {
        const tn_val both[2] = {in[1], in[1]};
        tn_scan(NULL, scan_remembering_step, m, .ncarry = 2, .init = both, .nx = 1, .xs = &in[2], .carry = out, .ny = 1,
                .ys = &ys, .schedule = o.schedule);
        y = tn_add(out[0], out[1]);
        sum = tn_sum(ys);
    } else if (m->outer == SCAN) {
        tn_scan(NULL, scan_step, m, .ncarry = 1, .init = &in[1], .nx = 1, .xs = &in[2], .carry = &y, .ny = 1, .ys = &ys,
                .schedule = o.schedule);
        sum = tn_sum(ys);
    } else {
        m->xs = tn_mean_axis(in[2], 0);
        tn_while_loop(NULL, going, while_step, m, 3, init, out, &o);
        y = out[1];
        sum = out[2];
    }
    return tn_add(tn_mul(0.1, sum), tn_sum(tn_cos(y)));
}

/* ---- derivatives ---------------------------------------------------------------------------- */

enum { W, Y0, XS, DW, DY0, UW, UY0 }; /* inputs: the function's, a direction, another one */

/* A program of more inputs from one of fewer. */
typedef struct within {
    const tn_fn *f;
    size_t nin, nout, first; /* of f; the outputs from `first` on are used */
} within;

/* The directional derivative: the tangent of the value alone. */
static tn_val directional(const tn_val *in, void *user) {
    const within *k = user;
    tn_val out[MOST];
    tn_apply_many(k->f, k->nin, in, k->nout, out);
    return out[k->first];
}

/* The gradient's product with a direction. */
static tn_val against(const tn_val *in, void *user) {
    const within *k = user;
    tn_val out[MOST];
    tn_apply_many(k->f, k->nin, in, k->nout, out);
    return tn_add(tn_sum(tn_mul(out[0], in[DW])), tn_sum(tn_mul(out[1], in[DY0])));
}

static tn_fn *wrapped(tn_ctx *c, tn_trace_fn how, const tn_fn *f, const tn_fn *types, size_t first) {
    within k = {.f = f, .nin = tn_fn_inputs(f), .nout = tn_fn_outputs(f), .first = first};
    tn_type in[MOST];
    for (size_t i = 0; i < tn_fn_inputs(types); i++) in[i] = tn_fn_input_type(types, i);
    return tn_trace(c, how, &k, tn_fn_inputs(types), in);
}

/* The product of what reverse-over-reverse gives with another direction. */
static tn_val against_again(const tn_val *in, void *user) {
    const within *k = user;
    tn_val out[MOST];
    tn_apply_many(k->f, k->nin, in, k->nout, out);
    return tn_add(tn_sum(tn_mul(out[0], in[UW])), tn_sum(tn_mul(out[1], in[UY0])));
}

typedef enum cell { GRAD, JVP, FWD_REV, REV_FWD, REV_REV, THIRD, REV_REV_REV, CELLS } cell;
static const char *const cell_name[CELLS] = {"grad",         "jvp",         "fwd-over-rev", "rev-over-fwd",
                                             "rev-over-rev", "fwd-fwd-rev", "rev-rev-rev"};

static const tn_policy *policy; /* of all derivatives; NULL: the default */

static tn_fn *derivative(tn_ctx *c, const tn_fn *f, cell what) {
    const tn_wrt_list *const wrt = tn_wrt(W, Y0);
    tn_fn *a = NULL, *b = NULL, *d = NULL;
    switch (what) {
    case JVP: return tn_jvp(f, wrt);
    case GRAD: return tn_grad(f, wrt, policy);
    case FWD_REV:
        if ((a = tn_grad(f, wrt, policy)) != NULL) d = tn_jvp(a, wrt);
        break;
    case REV_FWD:
        if ((a = tn_jvp(f, wrt)) != NULL && (b = wrapped(c, directional, a, a, 1)) != NULL) d = tn_grad(b, wrt, policy);
        break;
    case REV_REV: {
        tn_fn *types = tn_jvp(f, wrt);
        if (types && (a = tn_grad(f, wrt, policy)) != NULL && (b = wrapped(c, against, a, types, 0)) != NULL)
            d = tn_grad(b, wrt, policy);
        tn_fn_free(types);
        break;
    }
    case REV_REV_REV: {
        tn_fn *types = derivative(c, f, THIRD); /* has both directions behind the function's inputs */
        if (types && (a = derivative(c, f, REV_REV)) != NULL && (b = wrapped(c, against_again, a, types, 0)) != NULL)
            d = tn_grad(b, wrt, policy);
        tn_fn_free(types);
        break;
    }
    default:
        if ((a = derivative(c, f, FWD_REV)) != NULL) d = tn_jvp(a, wrt);
        break;
    }
    tn_fn_free(a);
    tn_fn_free(b);
    return d;
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static double data[MOST][STEPS * INNER * WIDTH];

/* Outputs of f, one after another; how many numbers, or 0 after an error. */
static size_t run(const tn_fn *f, double *out) {
    const void *in[MOST];
    void *at[MOST];
    size_t n = 0;
    const char *dir = getenv("TMPDIR");
    const tn_compile_options options = {.size = sizeof options, .spill_dir = dir ? dir : "/tmp"};
    tn_exec *e = tn_compile(f, &options);
    if (!e) return 0;
    for (size_t i = 0; i < tn_fn_inputs(f); i++) in[i] = data[i];
    for (size_t j = 0; j < tn_fn_outputs(f); j++) {
        const tn_type t = tn_fn_output_type(f, j);
        at[j] = out + n;
        n += tn_type_elements(&t);
    }
    if (tn_call(e, in, at) != TN_OK) {
        fprintf(stderr, "nesting: %s\n", tn_exec_error(e));
        n = 0;
    }
    tn_exec_free(e);
    return n;
}

/* d/dt of f along the direction in data[first], data[first + 1] at t = 0, by central differences, extrapolated twice.
 */
static size_t slope(const tn_fn *f, int first, double *out) {
    double keep[2][WIDTH], value[6][64], table[3][64];
    size_t n = 0;
    memcpy(keep[0], data[W], sizeof keep[0]);
    memcpy(keep[1], data[Y0], sizeof keep[1]);
    for (int k = 0; k < 6; k++) {
        const double h = (k % 2 ? -1e-2 : 1e-2) / (1 << (k / 2));
        for (int i = 0; i < WIDTH; i++) {
            data[W][i] = keep[0][i] + h * data[first][i];
            data[Y0][i] = keep[1][i] + h * data[first + 1][i];
        }
        if ((n = run(f, value[k])) == 0) break;
    }
    memcpy(data[W], keep[0], sizeof keep[0]);
    memcpy(data[Y0], keep[1], sizeof keep[1]);
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < n; i++) table[k][i] = (value[2 * k][i] - value[2 * k + 1][i]) / (2e-2 / (1 << k));
    for (size_t i = 0; i < n; i++) {
        const double a = (4 * table[1][i] - table[0][i]) / 3, b = (4 * table[2][i] - table[1][i]) / 3;
        out[i] = (16 * b - a) / 15;
    }
    return n;
}

static bool close_to(const double *x, const double *y, size_t n) {
    double scale = 1e-3;
    for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(y[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(x[i] - y[i]) <= 1e-8 * scale)) {
            fprintf(stderr, "nesting: %zu: %.12g, by differences %.12g\n", i, x[i], y[i]);
            return false;
        }
    return true;
}

static double along(const double *x, int first) {
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += x[i] * data[first][i] + x[WIDTH + i] * data[first + 1][i];
    return sum;
}

/* Does what `d` says agree with differences of f, or of the derivative one order below? */
static bool agrees(tn_ctx *c, const tn_fn *f, cell what, const double *d, size_t n) {
    double by[64], dot;
    tn_fn *below = what == THIRD         ? derivative(c, f, FWD_REV)
                   : what == REV_REV_REV ? derivative(c, f, REV_REV)
                   : what >= FWD_REV     ? derivative(c, f, GRAD)
                                         : NULL;
    bool ok = false;
    switch (what) {
    case JVP: ok = n == 2 && slope(f, DW, by) == 1 && close_to(d + 1, by, 1); break;
    case GRAD:
        dot = along(d, DW);
        ok = n == 2 * WIDTH && slope(f, DW, by) == 1 && close_to(&dot, by, 1);
        break;
    case FWD_REV: ok = below && n == 4 * WIDTH && slope(below, DW, by) && close_to(d + 2 * WIDTH, by, 2 * WIDTH); break;
    case REV_FWD:
    case REV_REV: ok = below && n == 2 * WIDTH && slope(below, DW, by) && close_to(d, by, 2 * WIDTH); break;
    case REV_REV_REV: ok = below && n == 2 * WIDTH && slope(below, UW, by) && close_to(d, by, 2 * WIDTH); break;
    default: ok = below && n == 8 * WIDTH && slope(below, UW, by) && close_to(d + 4 * WIDTH, by, 4 * WIDTH); break;
    }
    tn_fn_free(below);
    return ok;
}

/* ---- the table ---------------------------------------------------------------------------------- */

static size_t share = 1;

/* Whether it is tried, a derivative of a loop with an inner one, in table `of`: the same of each row, which compares
 * with the first. */
static bool tried(kind inner, int what, size_t of) {
    return inner == NONE || ((size_t)inner * CELLS + (size_t)what + of) % share == 0;
}

static double reference[KINDS][KINDS][CELLS][64];

static tn_fn *traced(tn_ctx *c, model *m) {
    m->steps = STEPS;
    m->inner_steps = INNER;
    return tn_trace(c, loss, m, 3, ((tn_type[]){tn_f64(WIDTH), tn_f64(WIDTH), tn_f64(STEPS, INNER, WIDTH)}));
}

static bool holds(const model *m, cell what, bool first) {
    model own = *m;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = traced(c, &own);
    tn_fn *d = f ? derivative(c, f, what) : NULL;
    double out[64], *of_all_save = reference[m->outer][m->inner][what];
    const size_t n = d ? run(d, out) : 0;
    const char *why = n == 0 ? tn_error(c) : "differs from differences";
    bool ok = n > 0 && agrees(c, f, what, out, n);
    if (ok && first) memcpy(of_all_save, out, n * sizeof *out);
    if (ok && memcmp(of_all_save, out, n * sizeof *out) != 0) {
        why = "not the bits of all_save";
        ok = false;
    }
    if (!ok)
        fprintf(stderr, "nesting: %s, %s, inner %s %s, %s: %s\n", m->schedule, kind_name[m->outer], kind_name[m->inner],
                m->inner_schedule, cell_name[what], why);
    tn_ctx_free(c);
    return ok;
}

static void sample(void) {
    unsigned long long state = 1;
    for (size_t i = 0; i < MOST; i++)
        for (size_t k = 0; k < sizeof data[0] / sizeof data[0][0]; k++) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            data[i][k] = (double)(state >> 40) / (double)(1 << 24) * 1.6 - 0.8;
        }
}

/* Loops of unknown length are not for schedules that want to know it, and say so when they are traced. */
static const struct {
    const char *name, *inner;
    bool unknown;
} row[] = {{"all_save", "all_save", true},   {"revolve:3", "online:2", false},
           {"online:3", "periodic:2", true}, {"mixed:3", "online:2", false},
           {"periodic:3", "nothing", true},  {"disk_revolve:2,2", "online:2", false},
           {"nothing", "online:2", true},    {"auto", "auto", true}};

static int passed, failed;

static void put_wide(bool ok, int width) {
    *(ok ? &passed : &failed) += 1;
    printf(" %-*s", width, ok ? "ok" : "FAIL");
    fflush(stdout);
}

static void put(bool ok) { put_wide(ok, 13); }

/* Whether all derivatives, with and without a loop inside (then up to the second order, but under the first policy),
 * have the bits of the first row; number: the policy's. */
static bool same_bits(model m, bool first, size_t number) {
    static double of_all_save[KINDS][KINDS][CELLS][64];
    bool ok = true;
    for (m.inner = NONE; m.inner < KINDS; m.inner++)
        for (int k = 0; k < CELLS; k++) {
            if ((m.inner != NONE && k >= THIRD && number) || !tried(m.inner, k, number)) continue;
            model own = m;
            double out[64], *want = of_all_save[m.outer][m.inner][k];
            tn_ctx *c = tn_ctx_new(NULL);
            tn_fn *f = traced(c, &own), *d = f ? derivative(c, f, (cell)k) : NULL;
            const size_t n = d ? run(d, out) : 0;
            if (first) memcpy(want, out, n * sizeof *out);
            const bool same = n > 0 && memcmp(want, out, n * sizeof *out) == 0;
            if (!same)
                fprintf(stderr, "nesting: %s, %s, %s, inner %s %s, %s: %s\n", policy->name, m.schedule,
                        kind_name[m.outer], kind_name[m.inner], m.inner_schedule, cell_name[k],
                        n ? "not the bits of all_save" : tn_error(c));
            ok &= same;
            tn_ctx_free(c);
        }
    return ok;
}

/* Every derivative, with either kind of loop inside. */
static bool two_deep(model m, bool first) {
    bool ok = true;
    for (m.inner = SCAN; m.inner < KINDS; m.inner++)
        for (int k = 0; k < CELLS; k++)
            if (tried(m.inner, k, 0)) ok &= holds(&m, (cell)k, first);
    return ok;
}

static void derivatives_table(void) {
    printf("%-17s %-6s", "schedule", "loop");
    for (int k = 0; k < CELLS; k++) printf(" %-13s", cell_name[k]);
    printf(" %s\n", "two-deep nested");
    for (size_t r = 0; r < sizeof row / sizeof *row; r++)
        for (kind outer = SCAN; outer < KINDS; outer++) {
            if (outer == WHILE && !row[r].unknown) continue;
            const model m = {.outer = outer, .schedule = row[r].name, .inner_schedule = row[r].inner};
            printf("%-17s %-6s", row[r].name, kind_name[outer]);
            for (int k = 0; k < CELLS; k++) put(holds(&m, (cell)k, r == 0));
            put(two_deep(m, r == 0));
            printf("\n");
        }
}

static const char *const policies[] = {"min_bytes", "min_cut", "balanced", "nothing_saveable", "everything_saveable"};
enum { POLICIES = sizeof policies / sizeof *policies };

static void policies_table(void) {
    static bool ok[sizeof row / sizeof *row][KINDS][POLICIES];
    for (int p = 0; p < POLICIES; p++) {
        policy = tn_policy_by_name(policies[p]);
        for (size_t r = 0; r < sizeof row / sizeof *row; r++)
            for (kind outer = SCAN; outer < KINDS; outer++) {
                const model m = {
                    .outer = outer, .remembers = true, .schedule = row[r].name, .inner_schedule = row[r].inner};
                if (outer == SCAN || row[r].unknown) ok[r][outer][p] = same_bits(m, r == 0, (size_t)p);
            }
    }
    policy = NULL;
    printf("\n%-17s %-6s", "schedule", "loop");
    for (int p = 0; p < POLICIES; p++) printf(" %-19s", policies[p]);
    printf("\n");
    for (size_t r = 0; r < sizeof row / sizeof *row; r++)
        for (kind outer = SCAN; outer < KINDS; outer++) {
            if (outer == WHILE && !row[r].unknown) continue;
            printf("%-17s %-6s", row[r].name, kind_name[outer]);
            for (int p = 0; p < POLICIES; p++) put_wide(ok[r][outer][p], 19);
            printf("\n");
        }
}

/* ---- what is held ----------------------------------------------------------------------------------- */

enum { WIDE = 4096, MORE = 20 };

/* Bytes that a program needs before it runs, and for each step that it finds out then. */
typedef struct need {
    double bytes, per_step;
} need;

static need needed(const model *m, cell what) {
    model own = *m;
    const int64_t outer = m->outer == SCAN ? m->steps : 1, inner = m->inner == SCAN ? m->inner_steps : 1;
    const char *dir = getenv("TMPDIR");
    const tn_compile_options options = {.size = sizeof options, .spill_dir = dir ? dir : "/tmp"};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, loss, &own, 3, ((tn_type[]){tn_f64(WIDE), tn_f64(WIDE), tn_f64(outer, inner, 1)}));
    tn_fn *d = f ? derivative(c, f, what) : NULL;
    tn_exec *e = d ? tn_compile(d, &options) : NULL;
    if (!e)
        fprintf(stderr, "nesting: %s, %s, %s: %s\n", m->schedule, kind_name[m->outer], cell_name[what], tn_error(c));
    const need n = {e ? (double)tn_exec_bytes(e) : NAN, e ? (double)tn_exec_bytes_per_step(e) : NAN};
    tn_exec_free(e);
    tn_ctx_free(c);
    return n;
}

/* `many` has MORE slots more than `few`; or is the same, and wants something every so many steps. */
static const struct holding {
    const char *of, *few, *many;
    int64_t every;
    bool unknown, records; /* records: what is kept is the linear programs' affair */
} holding[] = {{"all_save: a step", "all_save", NULL, 1, true, true},
               {"revolve:S: a slot", "revolve:13", "revolve:33", 0, false, false},
               {"online:S: a slot", "online:13", "online:33", 0, true, false},
               {"mixed:S: a slot", "mixed:13", "mixed:33", 0, false, true},
               {"periodic:K: K steps", "periodic:4", NULL, 4, true, false},
               {"disk_revolve:S,D: a slot", "disk_revolve:13,2", "disk_revolve:33,2", 0, false, false},
               {"nothing: a step", "nothing", NULL, 1, true, false}};

/* In states, to a twentieth: addresses of states, and what decides about slots, are less.  inside: what the inner loop
 * holds in a step of the outer one, which holds nothing itself. */
static double states_held(const struct holding *h, kind outer, kind inner, bool inside, cell what) {
    model m = {.outer = outer, .inner = inner, .schedule = "nothing", .inner_schedule = "nothing"};
    const char **schedule = inside ? &m.inner_schedule : &m.schedule;
    int64_t *steps = inside ? &m.inner_steps : &m.steps;
    m.steps = m.inner_steps = INNER;
    *steps = inside ? 500 : 5000;
    *schedule = h->few;
    const need few = needed(&m, what);
    if (h->many) *schedule = h->many;
    *steps += MORE * h->every;
    const need many = needed(&m, what);
    const bool found = (inside ? inner : outer) == WHILE && h->every; /* how many steps there are */
    const double bytes = found ? few.per_step * (double)h->every : (many.bytes - few.bytes) / MORE;
    return floor(bytes / (WIDE * sizeof(double)) * 20 + 0.5) / 20;
}

/* What a slot holds: of two reverse modes in each other two states, of three four, and twice as many of each jvp. */
static const double states_of[CELLS] = {1, 0, 2, 2, 2, 4, 4};

static void memory_row(const struct holding *h, kind outer, kind inner, bool inside, size_t number) {
    char loops[16];
    (void)snprintf(loops, sizeof loops, inner ? "%s(%s)" : "%s", kind_name[outer], kind_name[inner]);
    printf("%-25s %-12s", h->of, loops);
    for (int k = 0; k < CELLS; k++) {
        if (!tried(SCAN, k, number)) {
            printf(" %-12s", "-");
            continue;
        }
        const double held = states_held(h, outer, inner, inside, (cell)k);
        const bool right = h->records ? held >= states_of[k] : held == (strcmp(h->few, "nothing") ? states_of[k] : 0);
        *(right ? &passed : &failed) += 1;
        printf(" %-7g%-5s", held, right ? "" : "FAIL");
    }
    printf("\n");
}

static void memory_table(bool inside) {
    printf("\n%-25s %-12s", inside ? "held in an outer step" : "held, in states", "loop");
    for (int k = 0; k < CELLS; k++) printf(" %-12s", cell_name[k]);
    printf("\n");
    for (size_t r = 0; r < sizeof holding / sizeof *holding; r++)
        for (kind outer = SCAN; outer < KINDS; outer++)
            for (kind inner = inside ? SCAN : NONE; inner < KINDS; inner++)
                if ((inside ? inner : outer) == SCAN || holding[r].unknown)
                    memory_row(&holding[r], outer, inner, inside, r + outer + inner);
}

int main(int argc, char **argv) {
    bool count = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--count") == 0)
            count = true;
        else if (strcmp(argv[i], "--share") == 0 && i + 1 < argc)
            share = strtoul(argv[++i], NULL, 10);
        else
            share = 0;
    }
    if (share < 1 || share > KINDS * CELLS) {
        fprintf(stderr, "usage: nesting [--count] [--share 1 to %d]\n", KINDS * CELLS);
        return 2;
    }
    if (share > 1) printf("of loops in loops and of what is held one derivative in %zu\n", share);
    sample();
    derivatives_table();
    policies_table();
    memory_table(false);
    memory_table(true);
    if (count) printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
