/* Loops with schedules, and loops that find their length when they run. */
#include "emit/written.h"

#include "checkpoint/schedule.h"
#include "laws/derive.h"
#include "recurrent.h"

#include <tansy/ops.h>

#include <stdio.h>
#include <string.h>

/* A scan in a scan, both with the schedule. */
typedef struct nested {
    const char *schedule;
    tn_val w;
} nested;

static void inner_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const nested *m = user;
    next[0] = tn_add(tn_mul(0.9, tn_sin(tn_mul(m->w, carry[0]))), tn_mul(0.1, x[0]));
    y[0] = tn_mul(next[0], next[0]);
}

static void outer_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const nested *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    tn_val ys;
    tn_scan(NULL, inner_step, user, .ncarry = 1, .init = carry, .nx = 1, .xs = x, .carry = next, .ny = 1, .ys = &ys,
            .schedule = o.schedule);
    y[0] = tn_sum(ys);
}

/* in: w, y0 [3], xs [7, 5, 3] */
static tn_val nested_loss(const tn_val *in, void *user) {
    nested m = *(const nested *)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m.schedule};
    tn_val y, ys;
    m.w = in[0];
    tn_scan(NULL, outer_step, &m, .ncarry = 1, .init = &in[1], .nx = 1, .xs = &in[2], .carry = &y, .ny = 1, .ys = &ys,
            .schedule = o.schedule);
    return tn_add(tn_sum(ys), tn_sum_squares(y));
}

/* ---- loops that find their length, and loops in them ------------------------------------------------------ */

/* Of `steps` steps: of nothing more, of `inner` steps each that are found, too, or of a scan. */
typedef enum within { ALONE, FOUND, SCANNED } within;

typedef struct found {
    const char *schedule;
    bool counted; /* the outer loop is a scan: its length is known */
    within within;
    int64_t steps, inner;
    bool prints;
    tn_val w;
} found;

static tn_val field(tn_val w, tn_val y) { return tn_add(y, tn_mul(0.1, tn_sin(tn_mul(w, tn_add(y, tn_flip(y, 0)))))); }

static tn_val inner_goes_on(const tn_val *carry, void *user) {
    return tn_lt(carry[0], tn_full(carry[0].ctx, tn_i64(), (double)((const found *)user)->inner));
}

static void inner_found(const tn_val *carry, tn_val *next, void *user) {
    const found *m = user;
    next[0] = tn_add(carry[0], 1);
    next[1] = tn_add(field(m->w, carry[1]), tn_mul(0.01, tn_tanh(carry[1])));
}

static void inner_scanned(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const found *m = user;
    next[0] = tn_add(field(m->w, carry[0]), tn_mul(0.01, x[0]));
    y[0] = tn_sum(tn_mul(next[0], carry[0]));
}

static tn_val advanced(found *m, tn_val y, tn_val *more) {
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    tn_ctx *c = y.ctx;
    tn_val out[2], ys;
    *more = tn_sum(tn_mul(y, y));
    if (m->within == ALONE) return field(m->w, y);
    if (m->within == FOUND) {
        const tn_val init[2] = {tn_full(c, tn_i64(), 0), y};
        tn_while_loop(c, inner_goes_on, inner_found, m, 2, init, out, &o);
        return out[1];
    }
    const tn_val xs = tn_mul(tn_full(c, tn_f64(m->inner, 3), 0.5), y);
    tn_scan(c, inner_scanned, m, .ncarry = 1, .init = &y, .nx = 1, .xs = &xs, .carry = out, .ny = 1, .ys = &ys,
            .schedule = o.schedule);
    *more = tn_add(*more, tn_sum(ys));
    return out[0];
}

static tn_val goes_on(const tn_val *carry, void *user) {
    return tn_lt(carry[0], tn_full(carry[0].ctx, tn_i64(), (double)((const found *)user)->steps));
}

static void outer_found(const tn_val *carry, tn_val *next, void *user) {
    found *m = user;
    tn_val more;
    if (m->prints) {
        tn_print(carry[0].ctx, "y \"now\" \\ ?\?/ \t", 1, &carry[1]);
        tn_progress(carry[0].ctx, "step", tn_loop_step(carry[0].ctx), 5, 1, &carry[2]);
    }
    next[0] = tn_add(carry[0], 1);
    next[1] = advanced(m, carry[1], &more);
    next[2] = tn_add(carry[2], tn_mul(0.1, more));
}

static void outer_counted(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    next[0] = tn_add(advanced(user, carry[0], &y[0]), tn_mul(0.01, x[0]));
}

/* in: w, y0 [3] */
static tn_val found_loss(const tn_val *in, void *user) {
    found m = *(const found *)user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m.schedule};
    const tn_val init[3] = {TN_VAL(0), in[1], TN_VAL(0.0)};
    tn_ctx *c = in[0].ctx;
    tn_val out[3], ys;
    m.w = in[0];
    if (m.counted) {
        const tn_val xs = tn_mul(tn_full(c, tn_f64(m.steps, 3), 1), in[1]);
        tn_scan(c, outer_counted, &m, .ncarry = 1, .init = &in[1], .nx = 1, .xs = &xs, .carry = out, .ny = 1, .ys = &ys,
                .schedule = o.schedule);
        return tn_add(tn_sum_squares(out[0]), tn_sum(ys));
    }
    tn_while_loop(c, goes_on, outer_found, &m, 3, init, out, &o);
    return tn_add(tn_sum_squares(out[1]), out[2]);
}

/* The derivative of the pullback, backwards again, of the inputs and with respect to all. */
static void add_backwards(emit_session *s, laws_trial *t, const char *what) {
    char text[200];
    laws_wrt first, second;
    uint32_t n, more;
    const tn_fn *f = t->f;
    const tn_fn *g = tn_vjp(f, laws_wrt_all(f, &first), NULL);
    const laws_array *ct = laws_cotangents(t, f, &n);
    if (!g) {
        emit_wrong(s, what, tn_error(f->ctx));
        return;
    }
    const laws_array *x = laws_joined(t, t->x, f->nin, ct, n);
    const tn_fn *h = tn_vjp(g, laws_wrt_all(g, &second), NULL);
    (void)snprintf(text, sizeof text, "vjp of vjp of %.160s", what);
    ct = laws_cotangents(t, g, &more);
    if (!h)
        emit_wrong(s, text, tn_error(f->ctx));
    else
        (void)emit_add(s, text, h, laws_joined(t, x, g->nin, ct, more));
}

static void add_traced(emit_session *s, const char *what, const char *schedule, tn_ctx *c, tn_fn *f) {
    char text[160];
    laws_memory m = {NULL, 0};
    laws_trial t = {.memory = &m, .ctx = c, .f = f, .rng = {s->seed}};
    if (!f) {
        emit_wrong(s, what, tn_error(c));
        return;
    }
    laws_array *x = laws_alloc(&m, f->nin + 1u, sizeof *x);
    for (uint32_t i = 0; i < f->nin; i++) {
        x[i] = laws_new(&m, f->val[i].type);
        laws_random(&t.rng, &x[i]);
    }
    t.x = x;
    (void)snprintf(text, sizeof text, "%s, %s", what, schedule ? schedule : "no schedule");
    (void)emit_add(s, text, f, x);
    emit_add_derived(s, &t, text, true);
    if (f->val[0].type->dtype == TN_F64) add_backwards(s, &t, text); /* f32 rounds to nothing in that */
    laws_memory_drop(&m);
}

static tn_fn *found_traced(tn_ctx *c, const found *m) {
    return tn_trace(c, found_loss, (void *)(uintptr_t)m, 2, TN_TYPES(tn_f64(), tn_f64(3)));
}

/* With no more room than they say that they need. */
static void add_found(emit_session *s, tn_ctx *c, const char *schedule) {
    const found all[] = {{.within = ALONE, .steps = 60, .prints = true},
                         {.within = ALONE, .steps = 0},
                         {.within = FOUND, .steps = 23, .inner = 5},
                         {.within = SCANNED, .steps = 23, .inner = 5},
                         {.within = FOUND, .steps = 7, .inner = 11, .counted = true}};
    static const char *const name[] = {"while", "while that ends at once", "while in while", "scan in while",
                                       "while in scan"};
    const double tolerance = s->tolerance;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        found m = all[i];
        m.schedule = schedule;
        s->capacity = m.counted ? m.inner : m.within == FOUND ? m.steps * m.inner : m.steps ? m.steps : 1;
        s->tolerance = 1e-9; /* hundreds of steps */
        add_traced(s, name[i], schedule, c, found_traced(c, &m));
    }
    s->tolerance = tolerance;
    s->capacity = 0;
}

/* More steps than there is room for. */
static void add_exceeding(emit_session *s, tn_ctx *c, const char *schedule) {
    const found m = {.schedule = schedule, .within = ALONE, .steps = 400};
    char text[100];
    laws_memory memory = {NULL, 0};
    laws_trial t = {.memory = &memory, .ctx = c, .f = found_traced(c, &m), .rng = {s->seed}};
    laws_wrt w;
    uint32_t n;
    tn_fn *g = t.f ? tn_vjp(t.f, laws_wrt_all(t.f, &w), NULL) : NULL;
    if (!g) {
        emit_wrong(s, "a loop that exceeds its capacity", tn_error(c));
        return;
    }
    laws_array *x = laws_alloc(&memory, t.f->nin + 1u, sizeof *x);
    for (uint32_t i = 0; i < t.f->nin; i++) {
        x[i] = laws_new(&memory, t.f->val[i].type);
        laws_random(&t.rng, &x[i]);
    }
    (void)snprintf(text, sizeof text, "400 steps with room for 10, %s", schedule ? schedule : "no schedule");
    s->capacity = 10;
    s->status = 3;
    if (!emit_add(s, text, g, laws_joined(&t, x, t.f->nin, laws_cotangents(&t, t.f, &n), 1)))
        emit_wrong(s, text, "is not written");
    s->capacity = s->status = 0;
    laws_memory_drop(&memory);
}

void emit_loops(emit_session *s) {
    bool known;
    const char *schedule;
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    for (size_t i = 0; (schedule = tn_i_schedule_example(i, &known)); i++) {
        tn_ctx *c = tn_ctx_new(&opt);
        burgers ring = {schedule, 13};
        nested inner = {.schedule = schedule};
        lstm cells = {.schedule = schedule, .steps = 6, .batch = 2, .width = 3};
        add_traced(s, "burgers", schedule, c, tn_trace(c, burgers_loss, &ring, 1, TN_TYPES(tn_f64(16))));
        add_traced(s, "nested scans", schedule, c,
                   tn_trace(c, nested_loss, &inner, 3, TN_TYPES(tn_f64(), tn_f64(3), tn_f64(7, 5, 3))));
        add_traced(s, "lstm", schedule, c, lstm_traced(c, &cells));
        if (!known) add_found(s, c, schedule);
        if (strcmp(schedule, "all_save") == 0 || strncmp(schedule, "periodic", 8) == 0) add_exceeding(s, c, schedule);
        tn_ctx_free(c);
    }
    tn_ctx *c = tn_ctx_new(&opt);
    add_found(s, c, NULL);
    add_exceeding(s, c, NULL);
    tn_ctx_free(c);
}
