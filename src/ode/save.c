/* What a solve saves on its way.  Buffers have one row more than they are to hold: a step that is not to be kept
 * writes there, so that no step has to read what was written before. */
#include "ode/solve.h"

#include <math.h>

static bool has_ts(const tn_i_ode *s) { return tn_val_ctx(s->o.ts) != NULL; }
static bool has_steps(const tn_i_ode *s) { return s->o.save_steps > 0; }
static bool has_dense(const tn_i_ode *s) { return s->o.dense > 0; }

/* ---- in and out of the carry ----------------------------------------------------------------- */

size_t tn_i_ode_saved_count(const tn_i_ode *s) {
    return (has_ts(s) ? 1 + s->n : 0) + (has_steps(s) ? 1 + s->n : 0) + (has_dense(s) ? 2 + 2 * s->n : 0);
}

bool tn_i_ode_saved_new(tn_i_ode *s, tn_i_ode_saved *b) {
    *b = (tn_i_ode_saved){
        .ts_y = tn_i_ode_values(s, s->n), .steps_y = tn_i_ode_values(s, s->n), .dense_y = tn_i_ode_values(s, 2 * s->n)};
    return b->ts_y && b->steps_y && b->dense_y;
}

/* The value at `at` of the carry goes to *v, or the other way. */
static void pass(tn_val *v, tn_val *carry, size_t *at, size_t n, bool get) {
    for (size_t j = 0; j < n; j++, ++*at) {
        if (get)
            v[j] = carry[*at];
        else
            carry[*at] = v[j];
    }
}

static void pass_all(const tn_i_ode *s, tn_i_ode_saved *b, tn_val *carry, bool get) {
    size_t at = 0;
    if (has_ts(s)) {
        pass(&b->at, carry, &at, 1, get);
        pass(b->ts_y, carry, &at, s->n, get);
    }
    if (has_steps(s)) {
        pass(&b->steps_t, carry, &at, 1, get);
        pass(b->steps_y, carry, &at, s->n, get);
    }
    if (has_dense(s)) {
        pass(&b->dense_t, carry, &at, 1, get);
        pass(&b->dense_h, carry, &at, 1, get);
        pass(b->dense_y, carry, &at, 2 * s->n, get);
    }
}

void tn_i_ode_saved_get(const tn_i_ode *s, tn_i_ode_saved *b, tn_val *carry) { pass_all(s, b, carry, true); }
void tn_i_ode_saved_set(const tn_i_ode *s, tn_i_ode_saved *b, tn_val *carry) { pass_all(s, b, carry, false); }

/* Coefficients of theta, theta^2 .. of the state's array j: [degree, ..]. */
static tn_val polynomial(tn_i_ode *s, const tn_i_ode_step *st, size_t j) {
    double w[16];
    const tn_i_tableau *m = s->m;
    tn_val q[16];
    for (size_t k = 0; k < m->degree; k++) {
        for (size_t i = 0; i < m->stages; i++) w[i] = m->dense[i * m->degree + k];
        q[k] = MUL(tn_i_ode_like(s, st->h, st->y[j]), tn_i_ode_sum(s, st, w, j));
    }
    return tn_stack_at(tn_vals_of(m->degree, q), 0, s->file, s->line);
}

static tn_val polynomial_rows(tn_i_ode *s, tn_val y, int64_t rows) {
    tn_type t = tn_val_type(y);
    int64_t dim[TN_MAX_RANK] = {rows, (int64_t)s->m->degree};
    if (t.rank + 2 > TN_MAX_RANK) {
        tn_i_ode_fail(s, TN_ETYPE, "dense output needs states of rank %d at most", TN_MAX_RANK - 2);
        return y;
    }
    for (int i = 0; i < t.rank; i++) dim[i + 2] = t.dim[i];
    return SCALAR(tn_type_of((tn_dtype)t.dtype, (size_t)t.rank + 2, dim), INFINITY);
}

void tn_i_ode_saved_init(tn_i_ode *s, tn_i_ode_saved *b) {
    const tn_val zero = SCALAR(tn_f64(), 0.0);
    const int64_t m = has_ts(s) ? tn_dim(s->o.ts, 0) : 0;
    b->at = SCALAR(tn_i64(), 0);
    if (has_steps(s)) b->steps_t = tn_i_ode_rows(s, zero, s->o.save_steps + 1, INFINITY);
    if (has_dense(s)) {
        b->dense_t = tn_i_ode_rows(s, zero, s->o.dense + 1, INFINITY);
        b->dense_h = tn_i_ode_rows(s, zero, s->o.dense + 1, INFINITY);
    }
    for (size_t j = 0; j < s->n; j++) {
        const tn_val y = s->p->y0[j];
        if (has_ts(s)) b->ts_y[j] = tn_i_ode_rows(s, y, m, INFINITY);
        if (has_steps(s)) b->steps_y[j] = tn_i_ode_rows(s, y, s->o.save_steps + 1, INFINITY);
        if (!has_dense(s)) continue;
        b->dense_y[2 * j] = tn_i_ode_rows(s, y, s->o.dense + 1, INFINITY);
        b->dense_y[2 * j + 1] = polynomial_rows(s, y, s->o.dense + 1);
    }
}

/* ---- after a step ---------------------------------------------------------------------------------- */

/* The loop over the times of ts that lie in this step. */
typedef struct filling {
    tn_i_ode *s;
    const tn_i_ode_step *st;
    tn_val accept;
    int64_t times;
} filling;

static tn_val time_at(tn_i_ode *s, tn_val i) { return tn_dynamic_index_at(s->o.ts, i, 0, s->file, s->line); }

static tn_val more_times(const tn_val *carry, void *user) {
    const filling *f = user;
    tn_i_ode *s = f->s;
    const tn_val behind = tn_i_ode_before(s, f->st->end, time_at(s, carry[0]));
    return AND(AND(f->accept, LT(carry[0], f->times)), NOT(behind));
}

static void fill_time(const tn_val *carry, tn_val *out, void *user) {
    const filling *f = user;
    tn_i_ode *s = f->s;
    tn_val *y = tn_i_ode_values(s, s->n);
    if (!y) return;
    tn_i_ode_between(s, f->st, DIV(SUB(time_at(s, carry[0]), f->st->t), f->st->h), y);
    out[0] = ADD(carry[0], 1);
    for (size_t j = 0; j < s->n; j++) out[1 + j] = tn_i_ode_put(s, carry[1 + j], carry[0], y[j]);
}

static void save_times(tn_i_ode *s, tn_i_ode_saved *b, const tn_i_ode_step *st, tn_val accept) {
    filling f = {.s = s, .st = st, .accept = accept, .times = tn_dim(s->o.ts, 0)};
    tn_val *carry = f.times > 0 ? tn_i_ode_values(s, 1 + s->n) : NULL;
    if (!carry) return;
    carry[0] = b->at;
    for (size_t j = 0; j < s->n; j++) carry[1 + j] = b->ts_y[j];
    tn_i_ode_while(s, more_times, fill_time, &f, 1 + s->n, carry, false);
    b->at = carry[0];
    for (size_t j = 0; j < s->n; j++) b->ts_y[j] = carry[1 + j];
}

void tn_i_ode_save(tn_i_ode *s, tn_i_ode_saved *b, const tn_i_ode_step *st, tn_val accept, tn_val accepted) {
    if (has_ts(s)) save_times(s, b, st, accept);
    if (has_steps(s)) {
        const tn_val i = WHERE(accept, accepted, s->o.save_steps);
        b->steps_t = tn_i_ode_put(s, b->steps_t, i, st->end);
        for (size_t j = 0; j < s->n; j++) b->steps_y[j] = tn_i_ode_put(s, b->steps_y[j], i, st->w[j]);
    }
    if (!has_dense(s)) return;
    const tn_val i = WHERE(accept, accepted, s->o.dense);
    b->dense_t = tn_i_ode_put(s, b->dense_t, i, st->t);
    b->dense_h = tn_i_ode_put(s, b->dense_h, i, st->h);
    for (size_t j = 0; j < s->n; j++) {
        b->dense_y[2 * j] = tn_i_ode_put(s, b->dense_y[2 * j], i, st->y[j]);
        b->dense_y[2 * j + 1] = tn_i_ode_put(s, b->dense_y[2 * j + 1], i, polynomial(s, st, j));
    }
}

tn_val tn_i_ode_times_in_order(tn_i_ode *s) {
    const int64_t m = tn_dim(s->o.ts, 0);
    const tn_val first = tn_expand_dims_at(STOP(s->t0), 0, s->file, s->line);
    const tn_val last = tn_expand_dims_at(STOP(s->t1), 0, s->file, s->line);
    const tn_val row[3] = {MUL(first, s->dir), MUL(STOP(s->o.ts), s->dir), MUL(last, s->dir)};
    const tn_val joined = tn_concatenate_at(tn_vals_of(3, row), 0, s->file, s->line);
    const tn_val a = tn_slice_axis_at(joined, 0, m + 1, 1, 0, s->file, s->line);
    const tn_val b = tn_slice_axis_at(joined, 1, m + 2, 1, 0, s->file, s->line);
    return tn_all_at(LE(a, b), s->file, s->line);
}

/* ---- to the caller ------------------------------------------------------------------------------------ */

static tn_val but_last(tn_i_ode *s, tn_val x) { return tn_slice_axis_at(x, 0, -1, 1, 0, s->file, s->line); }

void tn_i_ode_saved_out(tn_i_ode *s, const tn_i_ode_saved *b, tn_ode_solution *out) {
    if (has_steps(s)) out->steps_t = but_last(s, b->steps_t);
    if (has_dense(s)) {
        out->dense_t = but_last(s, b->dense_t);
        out->dense_h = but_last(s, b->dense_h);
    }
    for (size_t j = 0; j < s->n; j++) {
        if (has_ts(s)) out->ts_y[j] = b->ts_y[j];
        if (has_steps(s)) out->steps_y[j] = but_last(s, b->steps_y[j]);
        for (size_t i = 2 * j; has_dense(s) && i < 2 * j + 2; i++) out->dense_y[i] = but_last(s, b->dense_y[i]);
    }
}

/* ---- tn_ode_evaluate -------------------------------------------------------------------------------------- */

static const char *evaluable(const tn_ode_solution *sol, const tn_val *t) {
    const tn_type want = tn_f64(), got = tn_val_type(*t);
    if (!sol->dense_y || !tn_val_ctx(sol->dense_t)) return "the solution has no dense output: set dense in the options";
    return tn_val_ctx(*t) && tn_i_type_valid(&got) && !tn_type_equal(&want, &got) ? "t is not a scalar of f64" : NULL;
}

void tn_ode_evaluate_at(const tn_ode_solution *sol, size_t nstate, tn_val t, tn_val *y, const char *file, int line) {
    if (!sol || !y) return;
    for (size_t j = 0; j < nstate; j++) y[j] = (tn_val){.id = line > 0 ? (uint32_t)line : 0};
    tn_ctx *c = tn_val_ctx(sol->t);
    if (!c) return; /* the solve has failed */
    const char *bad = evaluable(sol, &t);
    if (bad) {
        (void)tn_fail_at(c, TN_EINVAL, "ode_evaluate", bad, file, line);
        return;
    }
    tn_i_ode place = {.c = c, .file = file, .line = line}, *s = &place;
    if (!tn_val_ctx(t)) t = SCALAR(tn_f64(), t);
    /* The last step that begins before t; time goes where the first step goes. */
    const tn_val dir = tn_sign_at(tn_at_at(sol->dense_h, tn_ints(0), file, line), file, line);
    const tn_val begun = LE(MUL(STOP(sol->dense_t), dir), MUL(STOP(t), dir));
    const tn_val count = tn_sum_at(CONVERT(AND(begun, FINITE(sol->dense_t)), TN_I64), file, line);
    const tn_val i = MAX(SUB(count, 1), 0);
    const tn_val theta = DIV(SUB(t, tn_dynamic_index_at(sol->dense_t, i, 0, file, line)),
                             tn_dynamic_index_at(sol->dense_h, i, 0, file, line));
    for (size_t j = 0; j < nstate; j++) {
        const tn_val q = tn_dynamic_index_at(sol->dense_y[2 * j + 1], i, 0, file, line);
        const tn_val x = tn_i_ode_like(s, theta, q);
        const int64_t degree = tn_dim(q, 0);
        for (int64_t k = degree; k-- > 0;) {
            const tn_val a = tn_at_at(q, tn_ints(k), file, line);
            y[j] = k + 1 == degree ? MUL(a, x) : MUL(ADD(y[j], a), x);
        }
        y[j] = ADD(y[j], tn_dynamic_index_at(sol->dense_y[2 * j], i, 0, file, line));
    }
}
