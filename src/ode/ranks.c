/* States that vary over a grid of ranks: each rank has elements of its own, and all take the same steps.
 *
 * What decides about steps is the same on all ranks, as it is made of sums over them.  Along axes that t0, t1 or ts
 * vary over, ranks solve for themselves: they take steps of their own, so nothing is summed there. */
#include "ode/solve.h"

#include "base/axes.h"
#include "tansy/comm.h"

uint32_t tn_i_ode_over(const tn_i_ode *s, tn_val x) {
    const tn_type t = tn_val_type(x);
    return tn_i_over(&t) & ~s->by_time;
}

/* Numbers over the same axes are summed first: one message for all of them. */
tn_val tn_i_ode_total(tn_i_ode *s, size_t n, const tn_val *x) {
    tn_val total = {0};
    for (size_t j = 0; j < n; j++) {
        const uint32_t axes = tn_i_ode_over(s, x[j]);
        size_t first = 0;
        while (tn_i_ode_over(s, x[first]) != axes) first++;
        if (first < j) continue; /* has been summed with that one */
        tn_val sum = x[j];
        for (size_t k = j + 1; k < n; k++)
            if (tn_i_ode_over(s, x[k]) == axes) sum = ADD(sum, x[k]);
        if (axes) sum = tn_psum_at(sum, tn_i_axes_text(s->c, axes), 0, s->file, s->line);
        total = j ? ADD(total, sum) : sum;
    }
    return total;
}

tn_val tn_i_ode_mean_square(tn_i_ode *s, const tn_val *r) {
    tn_val *square = tn_i_ode_values(s, s->n);
    double elements = 0;
    if (!square) return r[0];
    for (size_t j = 0; j < s->n; j++) {
        const tn_type t = tn_val_type(r[j]);
        square[j] = CONVERT(tn_sum_squares_at(r[j], s->file, s->line), TN_F64);
        elements += (double)tn_type_elements(&t) * (double)tn_i_ranks(s->c, tn_i_ode_over(s, r[j]));
    }
    return DIV(tn_i_ode_total(s, s->n, square), elements > 0 ? elements : 1);
}

tn_val tn_i_ode_everywhere(tn_i_ode *s, tn_val x) {
    const uint32_t axes = tn_i_ode_over(s, x);
    return axes ? tn_pmin_at(x, tn_i_axes_text(s->c, axes), s->file, s->line) : x;
}

void tn_i_ode_same_on_ranks(tn_i_ode *s, tn_val x, const char *what, const char *why) {
    const tn_type t = tn_val_type(x);
    if (tn_i_over(&t))
        tn_i_ode_fail(s, TN_ETYPE, "%s varies over %s%s", what, tn_i_axes_text(s->c, tn_i_over(&t)), why);
}

tn_val tn_i_ode_vary_like(tn_i_ode *s, tn_val x, tn_val y) {
    const tn_type t = tn_val_type(y);
    return tn_i_over(&t) ? tn_vary_at(x, tn_i_axes_text(s->c, tn_i_over(&t)), s->file, s->line) : x;
}
