/* The loop primitives at the caller's place. */
#include "ode/solve.h"

void tn_i_ode_while(tn_i_ode *s, tn_trace_fn cond, tn_trace_many_fn body, void *user, size_t n, tn_val *carry,
                    bool main) {
    const tn_loop_options o = {.size = sizeof o, .schedule = main && s->schedule[0] ? s->schedule : NULL};
    if (!s->failed) tn_while_loop_at(s->c, cond, body, user, n, carry, carry, &o, s->file, s->line);
}

void tn_i_ode_repeat(tn_i_ode *s, int64_t steps, tn_fori_fn body, void *user, size_t n, tn_val *carry) {
    const tn_loop_options o = {.size = sizeof o, .schedule = s->schedule[0] ? s->schedule : NULL};
    if (s->failed) return;
    tn_fori_at(s->c, tn_number_i64(0), tn_number_i64(steps), body, user, n, carry, carry, &o, s->file, s->line);
}
