/* A loop of known or unknown length whose steps may be counted, for the tests of schedules. */
#ifndef TN_COUNTED_LOOP_H
#define TN_COUNTED_LOOP_H

#include "unit/tracing.h"

#include "tansy/loops.h"
#include "tansy/ops.h"

enum { WIDE = 2 };

static inline int tick(void *user, const void *const *in, void *const *out) {
    int64_t *calls = user;
    ++*calls;
    memcpy(out[0], in[0], WIDE * sizeof(double));
    return 0;
}

typedef struct model {
    tn_ctx *c;
    const char *schedule;
    int64_t steps, width;
    bool by_condition, ticks, consts; /* ticks: steps are counted; consts: gradients of w, too */
    tn_val w, limit;
} model;

/* What is counted has no derivative, and what it gives is read by every derivative. */
static inline tn_val next_of(model *m, tn_val y) {
    const tn_val frozen = tn_stop_gradient(y), z = m->ticks ? tn_external(m->c, "tick", 1, &frozen) : frozen;
    return tn_add(tn_mul(tn_sin(tn_mul(m->w, y)), tn_add(1.0, tn_mul(0.1, z))), 0.2);
}

static inline void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    next[0] = next_of(user, carry[0]);
}

static inline tn_val going(const tn_val *carry, void *user) {
    const model *m = user;
    return tn_lt(carry[1], m->limit);
}

static inline void go(const tn_val *carry, tn_val *next, void *user) {
    next[0] = next_of(user, carry[0]);
    next[1] = tn_add(carry[1], 1);
}

static inline tn_val loss(const tn_val *in, void *user) {
    model *m = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = m->schedule};
    tn_val out[2];
    m->w = in[0];
    if (m->by_condition) {
        const tn_val init[2] = {in[1], TN_VAL(0)};
        m->limit = tn_full(m->c, tn_i64(), m->steps);
        tn_while_loop(m->c, going, go, m, 2, init, out, &o);
    } else {
        tn_fori(m->c, 0, m->steps, step, m, 1, &in[1], out, &o);
    }
    return tn_sum(tn_cos(out[0]));
}

#endif
