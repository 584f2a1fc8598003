/* Test cases of scan: every part of the equation, there or not, around a step that is smooth. */
#include "control/loops/loop_sample.h"

#include "checkpoint/schedule.h"
#include "prims/ids.h"
#include "prims/sample.h"

#include <string.h>

/* ---- steps in any dtype ---------------------------------------------------------- */

tn_i_var tn_i_sample_sum(tn_i_builder *b, tn_i_var x, tn_i_var y) {
    if (x == TN_NOVAR || y == TN_NOVAR) return x == TN_NOVAR ? y : x;
    return tn_i_op2(b, tn_i_vtype(b, x)->dtype == TN_BOOL ? TN_P_xor : TN_P_add, x, y);
}

tn_i_var tn_i_sample_product(tn_i_builder *b, tn_i_var x, tn_i_var y) {
    return tn_i_op2(b, tn_i_vtype(b, x)->dtype == TN_BOOL ? TN_P_and : TN_P_mul, x, y);
}

tn_i_var tn_i_sample_bend(tn_i_builder *b, tn_i_var x) {
    const int dtype = tn_i_vtype(b, x)->dtype;
    return tn_i_op1(b, tn_i_is_float(dtype) ? TN_P_sin : dtype == TN_BOOL ? TN_P_not : TN_P_neg, x);
}

tn_i_var tn_i_sample_spread(tn_i_builder *b, tn_i_var x, tn_i_var like) {
    const tn_type t = *tn_i_vtype(b, like);
    if (tn_i_vtype(b, x)->rank) return x;
    x = tn_i_convert(b, x, t.dtype);
    return t.rank && x != TN_NOVAR ? tn_i_broadcast(b, x, t.rank, t.dim, NULL) : x;
}

const char *tn_i_sample_schedule(tn_i_rng *g, bool unknown_length) {
    bool known = false;
    size_t n = 0;
    while (tn_i_schedule_example(n, &known)) n++;
    const int64_t i = tn_i_pick(g, -(int64_t)n, (int64_t)n - 1);
    const char *text = i < 0 ? NULL : tn_i_schedule_example((size_t)i, &known);
    return text && known && unknown_length ? NULL : text;
}

/* ---- scan ------------------------------------------------------------------------- */

/* What a case has; drawn without a look at the dtype, so that its copy in another has the same. */
typedef struct draw {
    bool counted, reverse, index, linear, nested, counter, scalar;
    int64_t length;
    uint32_t nconst, ncarry, nx, ny;
    tn_type t, one;
} draw;

static bool chance(tn_i_rng *g, int64_t of) { return tn_i_pick(g, 1, of) == 1; }

static draw draw_case(tn_i_rng *g, int dtype) {
    draw d = {.counted = chance(g, 4),
              .reverse = chance(g, 2),
              .index = chance(g, 3),
              .linear = chance(g, 4),
              .nested = chance(g, 4),
              .counter = chance(g, 4),
              .scalar = chance(g, 2),
              .length = tn_i_pick(g, 0, 6),
              .nconst = (uint32_t)tn_i_pick(g, 0, 2),
              .ncarry = (uint32_t)tn_i_pick(g, 0, 2),
              .nx = (uint32_t)tn_i_pick(g, 0, 2),
              .ny = (uint32_t)tn_i_pick(g, 0, 2)};
    tn_i_sample_shape(g, &d.t, dtype, 0, 2);
    d.one = tn_type_of((tn_dtype)dtype, 0, NULL);
    if (d.counted) d.nx = d.ny = 0; /* arrays as long as such a loop stay inside of programs */
    if (d.ncarry + d.ny == 0) d.ncarry = 1;
    if (d.nconst + d.ncarry + d.nx == 0) d.nconst = 1;
    return d;
}

/* (r, x) -> (r x, ) or (sin(r x), x): run a few times by the step. */
static const tn_fn *inner_program(tn_ctx *c, const draw *d) {
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    const tn_i_var r = tn_i_input(&b, &d->t, false), x = tn_i_input(&b, &d->t, false);
    const tn_i_var y = tn_i_sample_product(&b, r, x), out[] = {d->linear ? y : tn_i_sample_bend(&b, y), x};
    return tn_i_finish(&b, 2, out);
}

/* The sum of what an inner scan, of two steps, makes of x. */
static tn_i_var inner_scan(tn_i_builder *b, const tn_fn *inner, tn_i_var r, tn_i_var x) {
    const tn_i_param p[7] = {[TN_SCAN_PROGRAM] = {.kind = TN_K_FN, .u.fn = inner},
                             [TN_SCAN_LENGTH] = {.kind = TN_K_INT, .u.i = 2},
                             [TN_SCAN_CONSTS] = {.kind = TN_K_INT, .u.i = 1},
                             [TN_SCAN_CARRY] = {.kind = TN_K_INT, .u.i = 1}};
    const tn_i_var in[] = {r, x};
    const tn_i_var out = tn_i_emit(b, tn_i_prim(b, TN_P_scan), p, 2, in);
    if (out == TN_NOVAR || tn_i_vtype(b, x)->dtype == TN_BOOL) return out;
    const int64_t axis = 0;
    return tn_i_sample_sum(b, out, tn_i_reduce_sum(b, out + 1, 1, &axis));
}

typedef struct inputs {
    tn_i_var number, konst[2], carry[2], counter, x[2];
} inputs;

static inputs make_inputs(tn_i_builder *b, const draw *d) {
    inputs v = {.number = TN_NOVAR, .counter = TN_NOVAR};
    const tn_type whole = tn_type_of(TN_I64, 0, NULL);
    if (d->index) v.number = tn_i_input(b, &whole, false);
    for (uint32_t k = 0; k < d->nconst; k++) v.konst[k] = tn_i_input(b, k && d->scalar ? &d->one : &d->t, false);
    for (uint32_t k = 0; k < d->ncarry; k++) v.carry[k] = tn_i_input(b, &d->t, false);
    if (d->counter) v.counter = tn_i_input(b, &whole, false);
    for (uint32_t k = 0; k < d->nx; k++) v.x[k] = tn_i_input(b, &d->t, false);
    return v;
}

/* What is the same in every step, or a half: a factor. */
static tn_i_var factor(tn_i_builder *b, const draw *d, const inputs *v, uint32_t k) {
    if (d->nconst == 0) return tn_i_number(b, &d->t, 0.5);
    k = k < d->nconst ? k : 0;
    const tn_i_var r = tn_i_sample_spread(b, v->konst[k], v->konst[0]);
    return d->linear ? r : tn_i_sample_bend(b, r);
}

/* Carry k of the next step: of its own (or the other carry), the entries, the step's number. */
static tn_i_var next_carry(tn_i_builder *b, const draw *d, const inputs *v, const tn_fn *inner, uint32_t k) {
    const tn_i_var r = factor(b, d, v, k), from = v->carry[d->ncarry - 1 - k];
    tn_i_var y = inner && k == 0 ? inner_scan(b, inner, r, from) : tn_i_sample_product(b, r, from);
    if (d->nx) y = tn_i_sample_sum(b, y, v->x[k < d->nx ? k : 0]);
    if (d->index && !d->linear) y = tn_i_sample_sum(b, y, tn_i_sample_spread(b, v->number, y));
    if (d->counter && d->linear) y = tn_i_sample_product(b, y, tn_i_sample_spread(b, v->counter, y));
    return d->linear ? y : tn_i_sample_bend(b, y);
}

static tn_i_var entry(tn_i_builder *b, const draw *d, const inputs *v, uint32_t k, const tn_i_var *next) {
    tn_i_var y = d->nx ? tn_i_sample_product(b, factor(b, d, v, k + 1), v->x[d->nx - 1]) : TN_NOVAR;
    if (d->ncarry) y = tn_i_sample_sum(b, y, k ? v->carry[0] : next[0]);
    if (y == TN_NOVAR) y = factor(b, d, v, k);
    return k && !d->linear ? tn_i_sample_bend(b, y) : y;
}

static const tn_fn *step_program(tn_ctx *c, const draw *d, const tn_fn *inner) {
    tn_i_builder b;
    tn_i_builder_init(&b, c);
    const inputs v = make_inputs(&b, d);
    tn_i_var out[5];
    uint32_t n = 0;
    for (uint32_t k = 0; k < d->ncarry; k++) out[n++] = next_carry(&b, d, &v, inner, k);
    if (d->counter) out[n++] = tn_i_op2(&b, TN_P_add, v.counter, tn_i_literal_i64(&b, TN_I64, 1));
    for (uint32_t k = 0; k < d->ny; k++, n++) out[n] = entry(&b, d, &v, k, out);
    return tn_i_finish(&b, n, out);
}

static void add_operand(tn_i_case *c, const tn_type *t, int64_t length, tn_i_domain domain) {
    if (length < 0)
        c->in[c->nin] = *t;
    else
        (void)tn_i_stack_type(t, length, &c->in[c->nin]);
    c->domain[c->nin++] = domain;
}

bool tn_i_sample_scan(tn_i_rng *g, int dtype, tn_i_case *c) {
    const draw d = draw_case(g, dtype);
    const tn_type whole = tn_type_of(TN_I64, 0, NULL);
    const char *schedule = tn_i_sample_schedule(g, d.counted);
    if (d.nested && !(c->fns[1] = inner_program(c->ctx, &d))) return false;
    if (!(c->fns[0] = step_program(c->ctx, &d, c->fns[1]))) return false;
    if (d.counted) add_operand(c, &whole, -1, (tn_i_domain){.lo = -1, .hi = 5});
    for (uint32_t k = 0; k < d.nconst; k++) add_operand(c, k && d.scalar ? &d.one : &d.t, -1, (tn_i_domain){0});
    for (uint32_t k = 0; k < d.ncarry; k++) add_operand(c, &d.t, -1, (tn_i_domain){0});
    if (d.counter) add_operand(c, &whole, -1, (tn_i_domain){.lo = -1, .hi = 1});
    for (uint32_t k = 0; k < d.nx; k++) add_operand(c, &d.t, d.length, (tn_i_domain){0});
    c->p[TN_SCAN_PROGRAM] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[0]};
    if (!d.counted) c->p[TN_SCAN_LENGTH] = (tn_i_param){.kind = TN_K_INT, .u.i = d.length};
    c->p[TN_SCAN_CONSTS] = (tn_i_param){.kind = TN_K_INT, .u.i = d.nconst};
    c->p[TN_SCAN_CARRY] = (tn_i_param){.kind = TN_K_INT, .u.i = d.ncarry + d.counter};
    if (d.reverse) c->p[TN_SCAN_REVERSE] = (tn_i_param){.kind = TN_K_BOOL, .u.i = true};
    if (d.index) c->p[TN_SCAN_INDEX] = (tn_i_param){.kind = TN_K_BOOL, .u.i = true};
    if (schedule) c->p[TN_SCAN_SCHEDULE] = (tn_i_param){.kind = TN_K_STR, .u.str = schedule};
    return true;
}
