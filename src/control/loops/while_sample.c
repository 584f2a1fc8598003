/* Test cases of while: a few steps, told by a number that is carried or by a time that is never near its end. */
#include "control/loops/loop_sample.h"
#include "prims/ids.h"
#include "prims/sample.h"

typedef struct draw {
    bool timed; /* the condition looks at a float: time < end; else at an i64: k < n */
    bool given; /* the end is a const of the condition; else part of it */
    bool index, count, linear;
    uint32_t nconst, ncarry; /* consts of the body; carries beside the one that the condition reads */
    tn_type t, clock;
} draw;

static bool chance(tn_i_rng *g, int64_t of) { return tn_i_pick(g, 1, of) == 1; }

static draw draw_case(tn_i_rng *g, int dtype) {
    const bool timed = chance(g, 3);
    draw d = {.timed = timed && tn_i_is_float(dtype),
              .given = chance(g, 2),
              .index = chance(g, 3),
              .count = chance(g, 3),
              .linear = chance(g, 4),
              .nconst = (uint32_t)tn_i_pick(g, 0, 2),
              .ncarry = (uint32_t)tn_i_pick(g, 1, 2)};
    tn_i_sample_shape(g, &d.t, dtype, 0, 2);
    d.clock = tn_type_of(d.timed ? (tn_dtype)dtype : TN_I64, 0, NULL);
    return d;
}

/* ([end], carries.., clock) -> clock < end */
static const tn_fn *condition(tn_ctx *c, const draw *d) {
    tn_i_builder b;
    tn_i_var end = TN_NOVAR;
    tn_i_builder_init(&b, c);
    if (d->given) end = tn_i_input(&b, &d->clock, false);
    for (uint32_t k = 0; k < d->ncarry; k++) (void)tn_i_input(&b, &d->t, false);
    const tn_i_var clock = tn_i_input(&b, &d->clock, false);
    if (!d->given) end = tn_i_number(&b, &d->clock, d->timed ? 2.75 : 3);
    const tn_i_var out = tn_i_op2(&b, TN_P_lt, clock, end);
    return tn_i_finish(&b, 1, &out);
}

/* A carry turns with a const; with the clock, when it is differentiable; with the step's number. */
static tn_i_var next_carry(tn_i_builder *b, const draw *d, tn_i_var number, tn_i_var r, tn_i_var x, tn_i_var clock) {
    tn_i_var y = tn_i_sample_product(b, r, x);
    if (d->linear) return y;
    if (d->timed) y = tn_i_sample_sum(b, y, tn_i_sample_spread(b, clock, x));
    if (d->index) y = tn_i_sample_sum(b, y, tn_i_sample_spread(b, number, x));
    return tn_i_sample_bend(b, y);
}

/* ([i], consts.., carries.., clock) -> carries.., clock + 1 */
static const tn_fn *step(tn_ctx *c, const draw *d) {
    tn_i_builder b;
    tn_i_var konst[2], carry[2], out[3], number = TN_NOVAR;
    const tn_type whole = tn_type_of(TN_I64, 0, NULL);
    tn_i_builder_init(&b, c);
    if (d->index) number = tn_i_input(&b, &whole, false);
    for (uint32_t k = 0; k < d->nconst; k++) konst[k] = tn_i_input(&b, &d->t, false);
    for (uint32_t k = 0; k < d->ncarry; k++) carry[k] = tn_i_input(&b, &d->t, false);
    const tn_i_var clock = tn_i_input(&b, &d->clock, false);
    for (uint32_t k = 0; k < d->ncarry; k++) {
        tn_i_var r = d->nconst ? konst[k % d->nconst] : tn_i_number(&b, &d->t, 0.5);
        if (d->nconst && !d->linear) r = tn_i_sample_bend(&b, r);
        out[k] = next_carry(&b, d, number, r, carry[d->ncarry - 1 - k], clock);
    }
    out[d->ncarry] = tn_i_op2(&b, TN_P_add, clock, tn_i_number(&b, &d->clock, 1));
    return tn_i_finish(&b, d->ncarry + 1, out);
}

static void add_operand(tn_i_case *c, const tn_type *t, double lo, double hi) {
    c->in[c->nin] = *t;
    c->domain[c->nin++] = (tn_i_domain){.lo = lo, .hi = hi};
}

bool tn_i_sample_while(tn_i_rng *g, int dtype, tn_i_case *c) {
    const draw d = draw_case(g, dtype);
    const char *schedule = tn_i_sample_schedule(g, true);
    if (!(c->fns[0] = condition(c->ctx, &d)) || !(c->fns[1] = step(c->ctx, &d))) return false;
    if (d.given) add_operand(c, &d.clock, d.timed ? 2.5 : -1, d.timed ? 2.75 : 4);
    for (uint32_t k = 0; k < d.nconst + d.ncarry; k++) add_operand(c, &d.t, 0, 0);
    add_operand(c, &d.clock, d.timed ? 0.125 : -1, d.timed ? 0.375 : 1);
    c->p[TN_WHILE_COND] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[0]};
    c->p[TN_WHILE_BODY] = (tn_i_param){.kind = TN_K_FN, .u.fn = c->fns[1]};
    c->p[TN_WHILE_COND_CONSTS] = (tn_i_param){.kind = TN_K_INT, .u.i = d.given};
    c->p[TN_WHILE_BODY_CONSTS] = (tn_i_param){.kind = TN_K_INT, .u.i = d.nconst};
    if (d.index) c->p[TN_WHILE_INDEX] = (tn_i_param){.kind = TN_K_BOOL, .u.i = true};
    if (d.count) c->p[TN_WHILE_COUNT] = (tn_i_param){.kind = TN_K_BOOL, .u.i = true};
    if (schedule) c->p[TN_WHILE_SCHEDULE] = (tn_i_param){.kind = TN_K_STR, .u.str = schedule};
    return true;
}
