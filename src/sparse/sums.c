/* Sums: each element of the result depends on a group of the operand's, as tn_i_sums says. */
#include "sparse/walk.h"

#include <math.h>
#include <string.h>

typedef struct sums {
    tn_i_spread_eqn *q;
    tn_i_sums s;
    const int32_t *rows;
    const void *factor; /* NULL: none, or not known */
    int factor_dtype;
    bool exact, narrow, unknown; /* there is a factor that is not known */
    int32_t *to;
    int32_t *made; /* by where a group begins, 1 + its row; NULL: groups have factors */
} sums;

/* The loops from..from + n at a position; false behind the last. */
static bool next(const sums *k, int from, int n, int64_t *at, int64_t *out, int64_t *in, int64_t *by) {
    for (int d = from + n; d-- > from;) {
        const int64_t back = ++at[d] < k->s.dim[d] ? 0 : k->s.dim[d];
        *out += k->s.out[d] * (1 - back);
        *in += k->s.in[d] * (1 - back);
        *by += k->s.by[d] * (1 - back);
        if (!back) return true;
        at[d] = 0;
    }
    return false;
}

static double factor_at(const sums *k, int64_t i) {
    if (k->unknown) return (double)NAN;
    if (!k->factor) return 1.0;
    const int64_t size = (int64_t)tn_i_dtype_size(k->factor_dtype);
    return tn_i_element(k->factor_dtype, (const char *)k->factor + i * size);
}

/* The row of the group that begins at `in` and `by`. */
static int32_t group(const sums *k, int64_t in, int64_t by) {
    int64_t at[2 * TN_MAX_RANK] = {0}, none = 0;
    tn_i_row_sum sum;
    if (!tn_i_row_sum_begin(&sum, &k->q->w->set, k->exact, k->narrow)) return -1;
    do {
        const int32_t r = k->rows[in];
        const double f = r ? factor_at(k, by) : 0.0;
        if (r && f != 0.0) tn_i_row_sum_add(&sum, r, f);
    } while (next(k, k->s.outer, k->s.inner, at, &none, &in, &by));
    const int32_t row = tn_i_row_sum_end(&sum);
    return row < 0 || k->exact ? row : tn_i_row_varying(&k->q->w->set, row);
}

static bool whole_groups(const sums *k) {
    int64_t at[2 * TN_MAX_RANK] = {0}, out = 0, in = 0, by = 0;
    do {
        int32_t row = k->made ? k->made[in] - 1 : -1;
        if (row < 0 && (row = group(k, in, by)) < 0) return false;
        if (k->made) k->made[in] = row + 1;
        const int32_t have = k->to[out], both = have ? tn_i_row_union(&k->q->w->set, have, row) : row;
        if (both < 0) return false;
        k->to[out] = both;
    } while (next(k, 0, k->s.outer, at, &out, &in, &by));
    return true;
}

/* The sums up to each element along one loop, the last of the outer ones, whose elements are the groups'. */
static bool running(const sums *k) {
    const int last = k->s.outer - 1, inner = k->s.outer;
    const int64_t n = k->s.dim[last];
    int64_t at[2 * TN_MAX_RANK] = {0}, out = 0, in = 0, by = 0;
    do {
        int32_t row = 0;
        for (int64_t i = 0; i < n; i++) {
            const int64_t j = k->s.running > 0 ? i : n - 1 - i;
            tn_i_row_sum sum;
            if (!tn_i_row_sum_begin(&sum, &k->q->w->set, k->exact, k->narrow)) return false;
            tn_i_row_sum_add(&sum, row, 1.0);
            tn_i_row_sum_add(&sum, k->rows[in + j * k->s.in[inner]], 1.0);
            row = tn_i_row_sum_end(&sum);
            if (row >= 0 && !k->exact) row = tn_i_row_varying(&k->q->w->set, row);
            if (row < 0) return false;
            k->to[out + j * k->s.out[last]] = row;
        }
    } while (next(k, 0, last, at, &out, &in, &by));
    return true;
}

static bool empty(const sums *k) {
    bool none = false;
    for (int d = 0; d < k->s.outer + k->s.inner; d++) none |= k->s.dim[d] == 0;
    return none;
}

static bool over_operand(sums *k, uint32_t i) {
    tn_i_spread_eqn *q = k->q;
    tn_ctx *c = q->w->ctx;
    const size_t n = (size_t)tn_i_count(q->in_type[i]);
    const int f = k->s.factor;
    if (empty(k)) return true;
    k->rows = tn_i_spread_val_rows(&q->in[i]);
    k->factor = f >= 0 && q->in[f].known ? tn_i_shared_data(q->in[f].known) : NULL;
    k->factor_dtype = f >= 0 ? q->in_type[f]->dtype : TN_F64;
    k->unknown = f != -1 && !k->factor;
    k->exact = !k->unknown && (f < 0 || !q->in[f].local) && tn_i_is_float(q->in_type[i]->dtype);
    k->narrow = q->in_type[i]->dtype == TN_F32;
    k->made = NULL;
    if (k->s.running) return running(k);
    if (!k->factor && !(k->made = tn_i_alloc_array(c, n, sizeof *k->made))) return false;
    const bool ok = whole_groups(k);
    if (k->made) tn_i_free(c, k->made, n * sizeof *k->made);
    return ok;
}

bool tn_i_spread_sums(tn_i_spread_eqn *q) {
    const tn_i_eqn *e = q->e;
    tn_type t = *tn_i_spread_out(q, 0);
    const tn_i_query query = {
        .ctx = q->w->ctx, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = 1, .in = q->in_type, .out = &t};
    sums k = {.q = q};
    uint32_t depend = 0;
    for (uint32_t i = 0; i < e->nin; i++) {
        if (!q->in[i].rows) continue;
        k.s = (tn_i_sums){.factor = -1};
        if (!e->prim->sums(&query, i, &k.s) || (k.s.factor >= 0 && q->in[k.s.factor].rows)) return tn_i_spread_all(q);
        depend++;
    }
    if (!(k.to = tn_i_spread_rows(q, 0, 0))) return false;
    if (tn_i_count(&t) == 0) return true; /* windows of updates may be larger than that: they are dropped */
    for (uint32_t i = 0; i < e->nin && depend; i++) {
        if (!q->in[i].rows) continue;
        k.s = (tn_i_sums){.factor = -1};
        if (!e->prim->sums(&query, i, &k.s) || !over_operand(&k, i)) return false;
    }
    return true;
}
