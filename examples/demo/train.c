/* Job 2: the model trained with mini-batches.  Every step is one call of one
 * compiled program, which updates parameters and moments in place. */
#include "demo.h"

#include <tansy/optim.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the table in memory as the programs want them. */
typedef struct rows {
    size_t n;
    double *x;
    int32_t *y;
} rows;

typedef struct training {
    demo *d;
    rows train, held_back;
    mlp p;
    adam a;
    tn_exec *step, *on_train, *on_held_back;
    double *curve[4]; /* loss and accuracy of train, of held_back; one number an epoch */
    size_t *order;
    double x[BATCH * PIXELS];
    int32_t y[BATCH];
} training;

/* ---- data ---- */

enum { HOLD_BACK = 5 };

static bool rows_new(rows *r, size_t n) {
    *r = (rows){0, calloc(n * PIXELS + 1, sizeof *r->x), calloc(n + 1, sizeof *r->y)};
    return r->x && r->y;
}

static void rows_free(rows *r) {
    free(r->x);
    free(r->y);
}

static void rows_add(rows *r, const table *t, size_t i) {
    digit(t, i, &r->x[r->n * PIXELS], &r->y[r->n]);
    r->n++;
}

/* A fifth of the rows, drawn at random with the fixed seed, is held back. */
static bool split(training *t, const table *digits, rng *r) {
    const size_t n = digits->rows, held = n / HOLD_BACK;
    size_t *index = calloc(n, sizeof *index);
    const bool ok = index && rows_new(&t->train, n - held) && rows_new(&t->held_back, held);
    if (ok) {
        for (size_t i = 0; i < n; i++) index[i] = i;
        rng_shuffle(r, n, index);
        for (size_t i = 0; i < n; i++) rows_add(i < held ? &t->held_back : &t->train, digits, index[i]);
    }
    free(index);
    return ok;
}

/* ---- programs ---- */

/* The step's outputs are the memory of its inputs, but for the loss. */
static tn_exec *compile_step(tn_ctx *c, int steps) {
    int alias[1 + mlp_arrays + adam_arrays] = {-1};
    for (int i = 0; i < mlp_arrays; i++) alias[1 + i] = i;
    for (int i = 0; i < adam_arrays; i++) alias[1 + mlp_arrays + i] = mlp_arrays + 2 + i;
    tn_fn *f = mlp_step(c, BATCH, steps);
    tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .alias = alias});
    if (e)
        printf("   one step: %zu equations with the update, %zu KiB of workspace\n", tn_fn_equations(f),
               tn_exec_bytes(e) / 1024);
    tn_fn_free(f);
    return e;
}

static tn_exec *compile_evaluate(tn_ctx *c, size_t n) {
    tn_fn *f = mlp_evaluate(c, (int64_t)n);
    tn_exec *e = tn_compile(f, NULL);
    tn_fn_free(f);
    return e;
}

static bool evaluate(training *t, tn_exec *e, const rows *r, double *loss, double *accuracy) {
    return tn_call(e, TN_INPUTS(TN_STRUCT_IN(mlp, &t->p), r->x, r->y), TN_OUTPUTS(loss, accuracy)) == TN_OK;
}

/* ---- training ---- */

static bool run_step(training *t, const size_t *batch) {
    double loss;
    for (size_t i = 0; i < BATCH; i++) {
        memcpy(&t->x[i * PIXELS], &t->train.x[batch[i] * PIXELS], PIXELS * sizeof *t->x);
        t->y[i] = t->train.y[batch[i]];
    }
    return tn_call(t->step, TN_INPUTS(TN_STRUCT_IN(mlp, &t->p), t->x, t->y, TN_STRUCT_IN(adam, &t->a)),
                   TN_OUTPUTS(&loss, TN_STRUCT_OUT(mlp, &t->p), TN_STRUCT_OUT(adam, &t->a))) == TN_OK &&
           isfinite(loss);
}

/* Every row once, in a new order; rows that fill no batch wait for another epoch. */
static bool run_epoch(training *t, rng *r, int epoch) {
    const int steps = (int)(t->train.n / BATCH);
    rng_shuffle(r, t->train.n, t->order);
    for (int k = 0; k < steps; k++)
        if (!run_step(t, t->order + k * BATCH)) return failed(t->d, "a training step");
    return evaluate(t, t->on_train, &t->train, &t->curve[0][epoch], &t->curve[2][epoch]) &&
                   evaluate(t, t->on_held_back, &t->held_back, &t->curve[1][epoch], &t->curve[3][epoch])
               ? true
               : failed(t->d, "evaluating");
}

static bool run(training *t, rng *r) {
    const double start = seconds();
    const int all = t->d->epochs;
    for (int i = 0; i < all; i++) {
        char text[96];
        if (!run_epoch(t, r, i)) return false;
        (void)snprintf(text, sizeof text, "loss %.4f   held back: loss %.4f, %5.2f %%   %4.1f s", t->curve[0][i],
                       t->curve[1][i], t->curve[3][i], seconds() - start);
        progress(t->d, i + 1, all, text);
    }
    const double last = t->curve[3][all - 1], time = seconds() - start;
    const int steps = all * (int)(t->train.n / BATCH);
    printf("\n   after the last epoch: %.2f %% of the training rows right, %.2f %% of those held back (%.0f of %zu)\n"
           "   %d steps in %.2f s, %.0f us each with the evaluations\n",
           t->curve[2][all - 1], last, last / 100 * (double)t->held_back.n, t->held_back.n, steps, time,
           1e6 * time / steps);
    aim(t->d, last >= 95, "%.2f %% of the digits held back are right (>= 95 %%)", last);
    return true;
}

static bool draw(const training *t) {
    static const char *const label[2] = {"training rows", "rows held back"};
    const panel panels[2] = {
        {"Loss", "", true, {t->curve[0], t->curve[1]}},
        {"Right answers", " %", false, {t->curve[2], t->curve[3]}},
    };
    if (!chart_write(t->d, "learning-curve.svg", "A 64-128-10 network learns digits", "epoch", label,
                     (size_t)t->d->epochs, panels))
        return false;
    printf("   learning curve: %s/learning-curve.svg\n", t->d->out);
    return true;
}

static bool prepare(training *t, const table *digits, rng *r) {
    t->order = calloc(digits->rows, sizeof *t->order);
    bool ok = t->order && split(t, digits, r);
    for (int i = 0; i < 4; i++) ok &= (t->curve[i] = calloc((size_t)t->d->epochs, sizeof *t->curve[i])) != NULL;
    if (!ok) {
        fprintf(stderr, "out of memory\n");
        return false;
    }
    for (size_t i = 0; i < t->train.n; i++) t->order[i] = i;
    mlp_init(r, &t->p);
    printf("   %zu rows to train on, %zu held back; batches of %d, Adam, seed %llu\n", t->train.n, t->held_back.n,
           BATCH, (unsigned long long)t->d->seed);
    t->step = compile_step(t->d->ctx, t->d->epochs * (int)(t->train.n / BATCH));
    t->on_train = compile_evaluate(t->d->ctx, t->train.n);
    t->on_held_back = compile_evaluate(t->d->ctx, t->held_back.n);
    putchar('\n');
    return t->step && t->on_train && t->on_held_back ? true : failed(t->d, "compiling");
}

bool train(demo *d, const table *digits) {
    heading(d, 2, "Training on mini-batches");
    if (digits->rows < BATCH * 2) {
        fprintf(stderr, "%zu digits are too few to train on\n", digits->rows);
        return false;
    }
    rng r = {d->seed};
    training *t = calloc(1, sizeof *t);
    if (t) t->d = d;
    const bool ok = t && prepare(t, digits, &r) && run(t, &r) && draw(t);
    if (t) {
        rows_free(&t->train);
        rows_free(&t->held_back);
        for (int i = 0; i < 4; i++) free(t->curve[i]);
        free(t->order);
        tn_exec_free(t->step);
        tn_exec_free(t->on_train);
        tn_exec_free(t->on_held_back);
    }
    free(t);
    return ok;
}
