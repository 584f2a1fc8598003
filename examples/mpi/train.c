/* A network learns digits on many ranks, in two ways, each of which is the training on one rank.
 *
 *     data      each rank has a part of every batch and all weights: the loss is a sum over the ranks (tn_psum), and so
 *               is its gradient, without a word about it, because the weights are the same on all ranks
 *     tensor    each rank has a part of the hidden units, with their weights, and the whole batch: what the units say
 *               to the classes is summed over the ranks
 *
 * The network is 64-48-10 with tanh, and 200 steps of gradient descent are made with batches of 96 digits.
 *
 *     mpirun -np 4 train [DATA]       DATA: the folder of digits.csv (examples/data)
 *     train --threads 4 [DATA]        ranks that are threads, without MPI
 *
 * The exit status is 0 when losses and weights are those of one rank (to 1e-12), weights that all ranks have are equal
 * to the last bit, and nine of ten digits that were not learned from are recognized. */
#include "ranks.h"

#include <math.h>
#include <stdint.h>
#include <tansy.h>

enum { PIXELS = 64, HIDDEN = 48, CLASSES = 10, BATCH = 96, HELD = 300, STEPS = 200, ROWS = 2000 };
static const double rate = 0.3;

/* ---- the programs -------------------------------------------------------------------------------- */

enum { W1, B1, W2, B2, PARAMETERS, X = PARAMETERS, Y, INPUTS };

/* A loss for each digit: -ln softmax(z)[y]. */
static tn_val entropies(tn_val z, tn_val y) { return tn_sub(tn_logsumexp(z, 1), tn_take_along(z, y, 1)); }

static tn_val hidden(const tn_val *in) { return tn_tanh(tn_add(tn_matmul(in[X], in[W1]), in[B1])); }

static tn_val scores(const tn_val *in) { return tn_add(tn_matmul(hidden(in), in[W2]), in[B2]); }

/* Digits are spread over the ranks. */
static tn_val loss_of_data(const tn_val *in, void *user) {
    (void)user;
    return tn_div(tn_psum(tn_sum(entropies(scores(in), in[Y])), "w"), (double)BATCH);
}

/* Hidden units are. */
static tn_val loss_of_tensor(const tn_val *in, void *user) {
    (void)user;
    const tn_val z = tn_add(tn_psum(tn_matmul(hidden(in), in[W2]), "w"), in[B2]);
    return tn_div(tn_sum(entropies(z, in[Y])), (double)BATCH);
}

/* One step, of a loss with its gradient: weights, x, y -> weights, loss. */
static void descend(const tn_val *in, tn_val *out, void *user) {
    tn_val result[1 + PARAMETERS];
    tn_apply_many(user, INPUTS, in, 1 + PARAMETERS, result);
    for (int i = 0; i < PARAMETERS; i++) out[i] = tn_sub(in[i], tn_mul(rate, result[1 + i]));
    out[PARAMETERS] = result[0];
}

/* weights, and digits that are spread over the ranks -> per cent that are recognized */
static tn_val accuracy(const tn_val *in, void *user) {
    (void)user;
    const tn_val right = tn_convert(tn_eq(tn_argmax(scores(in), 1), in[Y]), TN_F64);
    return tn_mul(tn_psum(tn_sum(right), "w"), 100.0 / HELD);
}

/* Weights -> on rank 0 those of all ranks. */
static void all_weights(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    for (int i = 0; i < PARAMETERS; i++) out[i] = tn_gather_to(in[i], "w", 0);
}

static tn_val largest(const tn_val *in, void *user) {
    (void)user;
    return tn_pmax(in[0], "w");
}

/* Types of weights and `rows` digits; those in `spread` vary over the ranks. */
static void types(tn_ctx *c, int64_t units, int64_t rows, unsigned spread, tn_type *t) {
    const tn_type all[INPUTS] = {tn_f64(PIXELS, units), tn_f64(units),        tn_f64(units, CLASSES),
                                 tn_f64(CLASSES),       tn_f64(rows, PIXELS), tn_i32(rows)};
    for (int i = 0; i < INPUTS; i++) t[i] = spread >> i & 1 ? tn_varying(c, all[i], "w") : all[i];
}

/* A step as a program, in place: outputs are the memory of inputs, but for the loss. */
static tn_exec *compile_step(tn_ctx *c, const tn_comm_ops *table, tn_trace_fn loss, const tn_type *in) {
    static const int alias[] = {W1, B1, W2, B2, -1};
    tn_fn *f = tn_trace(c, loss, NULL, INPUTS, in);
    tn_fn *g = f ? tn_value_and_grad(f, tn_wrt(W1, B1, W2, B2), NULL) : NULL;
    tn_fn *step = g ? tn_trace_many(c, descend, g, INPUTS, in, PARAMETERS + 1) : NULL;
    return step ? tn_compile(step,
                             &(tn_compile_options){.size = sizeof(tn_compile_options), .comm = table, .alias = alias})
                : NULL;
}

/* ---- a rank --------------------------------------------------------------------------------------- */

enum { ALONE, DATA, TENSOR, WAYS };

typedef struct weights {
    double w1[PIXELS * HIDDEN], b1[HIDDEN], w2[HIDDEN * CLASSES], b2[CLASSES];
} weights;

typedef struct training {
    rank *r;
    tn_ctx *c, *alone; /* of all ranks; of this one */
    int units, rows;   /* of this rank */
    uint64_t random;
    int n;
    double x[ROWS][PIXELS], batch_x[BATCH][PIXELS];
    int32_t y[ROWS], batch_y[BATCH];
    tn_exec *step[WAYS];
    weights w[WAYS];
    double loss[WAYS];
    long messages[WAYS]; /* of a step */
    double apart[WAYS];  /* the loss from that of one rank, the most of all steps */
    weights page[RANKS_MOST];
} training;

static bool failed(const training *t, const char *what, const tn_exec *e) {
    fprintf(stderr, "rank %d: %s: %s\n", t->r->number, what,
            e      ? tn_exec_error(e)
            : t->c ? tn_error(t->c)
                   : "no memory");
    return false;
}

static uint32_t random_below(training *t, uint32_t n) {
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((t->random >> 33) % n);
}

/* The digits in an order of their own: the first HELD are not learned from. */
static bool read_digits(training *t, const char *folder) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/digits.csv", folder);
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        return false;
    }
    double v = 0;
    for (bool more = true; more && t->n < ROWS; t->n += more) {
        for (int j = 0; more && j <= PIXELS; j++) {
            more = fscanf(f, j ? ",%lf" : "%lf", &v) == 1;
            if (j < PIXELS) t->x[t->n][j] = v / 16;
        }
        t->y[t->n] = (int32_t)v;
    }
    fclose(f);
    for (int i = t->n; i > 1; i--) {
        const uint32_t k = random_below(t, (uint32_t)i);
        double x[PIXELS];
        const int32_t y = t->y[i - 1];
        memcpy(x, t->x[i - 1], sizeof x);
        memcpy(t->x[i - 1], t->x[k], sizeof x);
        memcpy(t->x[k], x, sizeof x);
        t->y[i - 1] = t->y[k];
        t->y[k] = y;
    }
    if (t->n > HELD + BATCH) return true;
    fprintf(stderr, "%s: there are not enough digits\n", path);
    return false;
}

/* The part of the weights that this rank has where hidden units are spread. */
static void part(const training *t, const weights *all, weights *w) {
    const int units = t->units, from = t->r->number * units;
    for (int i = 0; i < PIXELS; i++)
        memcpy(w->w1 + i * units, all->w1 + i * HIDDEN + from, (size_t)units * sizeof(double));
    memcpy(w->b1, all->b1 + from, (size_t)units * sizeof(double));
    memcpy(w->w2, all->w2 + from * CLASSES, (size_t)(units * CLASSES) * sizeof(double));
    memcpy(w->b2, all->b2, sizeof w->b2);
}

static double uniform(training *t, int in, int out) {
    return sqrt(6.0 / (in + out)) * (2 * (double)random_below(t, 1u << 30) / (1u << 30) - 1);
}

static void initial(training *t) {
    for (int i = 0; i < PIXELS * HIDDEN; i++) t->w[ALONE].w1[i] = uniform(t, PIXELS, HIDDEN);
    for (int i = 0; i < HIDDEN * CLASSES; i++) t->w[ALONE].w2[i] = uniform(t, HIDDEN, CLASSES);
    t->w[DATA] = t->w[ALONE];
    part(t, &t->w[ALONE], &t->w[TENSOR]);
}

static bool begin(training *t) {
    tn_type in[INPUTS];
    t->units = HIDDEN / t->r->of, t->rows = BATCH / t->r->of;
    if (HIDDEN % t->r->of || BATCH % t->r->of || HELD % t->r->of) {
        fprintf(stderr, "%d units, %d and %d digits are not divisible among %d ranks\n", HIDDEN, BATCH, HELD, t->r->of);
        return false;
    }
    t->c = ranks_context(t->r, false);
    t->alone = ranks_context(t->r, true);
    if (!t->c || !t->alone) return failed(t, "beginning", NULL);
    const unsigned digits = 1u << X | 1u << Y, units = 1u << W1 | 1u << B1 | 1u << W2;
    types(t->alone, HIDDEN, BATCH, digits, in);
    t->step[ALONE] = compile_step(t->alone, NULL, loss_of_data, in);
    types(t->c, HIDDEN, t->rows, digits, in);
    t->step[DATA] = compile_step(t->c, &t->r->table, loss_of_data, in);
    types(t->c, t->units, BATCH, units, in);
    t->step[TENSOR] = compile_step(t->c, &t->r->table, loss_of_tensor, in);
    if (!t->step[ALONE]) fprintf(stderr, "one rank: %s\n", tn_error(t->alone));
    return t->step[ALONE] && t->step[DATA] && t->step[TENSOR] ? true : failed(t, "compiling", NULL);
}

/* ---- training ---------------------------------------------------------------------------------------- */

static bool make_step(training *t, int way) {
    weights *w = &t->w[way];
    const int from = way == DATA ? t->r->number * t->rows : 0;
    const long before = t->r->messages;
    if (tn_call(t->step[way], TN_INPUTS(w->w1, w->b1, w->w2, w->b2, &t->batch_x[from][0], &t->batch_y[from]),
                TN_OUTPUTS(w->w1, w->b1, w->w2, w->b2, &t->loss[way])) != TN_OK)
        return failed(t, "a step", t->step[way]);
    t->messages[way] = t->r->messages - before;
    t->apart[way] = fmax(t->apart[way], fabs(t->loss[way] - t->loss[ALONE]) / t->loss[ALONE]);
    return true;
}

static bool train(training *t) {
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < BATCH; i++) {
            const uint32_t row = HELD + random_below(t, (uint32_t)(t->n - HELD));
            memcpy(t->batch_x[i], t->x[row], sizeof t->batch_x[i]);
            t->batch_y[i] = t->y[row];
        }
        for (int way = 0; way < WAYS; way++)
            if (!make_step(t, way)) return false;
        if (t->r->number == 0 && (k == 0 || (k + 1) % 50 == 0))
            printf("  step %3d   loss %.12f, data %.12f, tensor %.12f\n", k + 1, t->loss[ALONE], t->loss[DATA],
                   t->loss[TENSOR]);
    }
    return true;
}

/* ---- what came out ------------------------------------------------------------------------------------ */

static double most_apart(const double *a, const double *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fabs(a[i] - b[i]) <= most ? most : fabs(a[i] - b[i]);
    return most;
}

/* The most of all ranks. */
static bool largest_of(training *t, double x, double *most) {
    tn_exec *e = ranks_compile(t->r, tn_trace(t->c, largest, NULL, TN_ARGS(tn_varying(t->c, tn_f64(), "w"))), NULL);
    return e && tn_call(e, TN_INPUTS(&x), TN_OUTPUTS(most)) == TN_OK ? true : failed(t, "the differences", e);
}

static bool same_bits(training *t, bool *same) {
    tn_type in[INPUTS];
    weights *w = &t->w[DATA], *all = t->page;
    double *const page = (double *)(void *)all;
    double *const at[] = {page, page + (size_t)t->r->of * PIXELS * HIDDEN,
                          page + (size_t)t->r->of * (PIXELS + 1) * HIDDEN,
                          page + (size_t)t->r->of * ((PIXELS + 1) * HIDDEN + HIDDEN * CLASSES)};
    const double *const own[] = {w->w1, w->b1, w->w2, w->b2};
    const size_t n[] = {sizeof w->w1, sizeof w->b1, sizeof w->w2, sizeof w->b2};
    types(t->c, HIDDEN, t->rows, ~0u, in);
    tn_exec *e = ranks_compile(t->r, tn_trace_many(t->c, all_weights, NULL, PARAMETERS, in, PARAMETERS), NULL);
    if (!e || tn_call(e, TN_INPUTS(own[0], own[1], own[2], own[3]), TN_OUTPUTS(at[0], at[1], at[2], at[3])) != TN_OK)
        return failed(t, "gathering", e);
    *same = true;
    for (int k = 0; t->r->number == 0 && k < t->r->of; k++)
        for (int i = 0; i < PARAMETERS; i++) *same &= memcmp((const char *)at[i] + (size_t)k * n[i], own[i], n[i]) == 0;
    return true;
}

static bool recognized(training *t, double *percent) {
    tn_type in[INPUTS];
    const weights *w = &t->w[DATA];
    const int rows = HELD / t->r->of, from = t->r->number * rows;
    types(t->c, HIDDEN, rows, 1u << X | 1u << Y, in);
    tn_exec *e = ranks_compile(t->r, tn_trace(t->c, accuracy, NULL, INPUTS, in), NULL);
    return e && tn_call(e, TN_INPUTS(w->w1, w->b1, w->w2, w->b2, &t->x[from][0], &t->y[from]), TN_OUTPUTS(percent)) ==
                       TN_OK
               ? true
               : failed(t, "the accuracy", e);
}

static bool aim(const training *t, bool met, const char *what, double number, const char *unit) {
    if (t->r->number == 0) printf("  %s  %s: %.3g%s\n", met ? "ok    " : "MISSED", what, number, unit);
    return met;
}

/* Collective, and then each rank's own opinion, which is rank 0's. */
static bool judge(training *t) {
    const size_t count = sizeof(weights) / sizeof(double);
    static const char *const name[] = {[DATA] = "data", [TENSOR] = "tensor"};
    double apart[WAYS], percent;
    bool same = false, ok = true;
    weights *own = calloc(1, sizeof *own);
    if (!own) return failed(t, "judging", NULL);
    part(t, &t->w[ALONE], own);
    const double here[] = {[DATA] = most_apart(t->w[DATA].w1, t->w[ALONE].w1, count),
                           [TENSOR] = most_apart(t->w[TENSOR].w1, own->w1, count)};
    free(own);
    if (!largest_of(t, here[DATA], &apart[DATA]) || !largest_of(t, here[TENSOR], &apart[TENSOR]) ||
        !same_bits(t, &same) || !recognized(t, &percent))
        return false;
    for (int way = DATA; way <= TENSOR; way++) {
        char text[2][96];
        (void)snprintf(text[0], sizeof text[0], "%s: losses from one rank's (%ld allreduces a step)", name[way],
                       t->messages[way]);
        (void)snprintf(text[1], sizeof text[1], "%s: weights from one rank's", name[way]);
        ok &= aim(t, t->apart[way] <= 1e-12, text[0], t->apart[way], "");
        ok &= aim(t, apart[way] <= 1e-12, text[1], apart[way], "");
    }
    ok &= aim(t, same, "data: ranks with other bits", same ? 0 : 1, "");
    return aim(t, percent >= 90, "recognized", percent, " %") && ok;
}

static int work(rank *r, int argc, char **argv) {
    training *t = calloc(1, sizeof *t);
    if (!t) return 1;
    t->r = r;
    t->random = 7;
    bool ok = read_digits(t, argc > 0 ? argv[0] : "examples/data") && begin(t);
    if (ok) initial(t);
    if (ok && r->number == 0)
        printf("%d-%d-%d, %d digits to learn from, batches of %d, on %d rank%s\n", PIXELS, HIDDEN, CLASSES, t->n - HELD,
               BATCH, r->of, r->of > 1 ? "s" : "");
    ok = ok && train(t) && judge(t);
    tn_ctx_free(t->c); /* and everything made in them */
    tn_ctx_free(t->alone);
    free(t);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) { return ranks_main(argc, argv, 1, (const char *const[]){"w"}, work); }
