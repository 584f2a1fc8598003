/* Moves: the primitive's own kernel over row numbers, in which 0 is the empty row.  Sums at places: the same rows, but
 * where something is added. */
#include "sparse/walk.h"

#include <string.h>

/* Whether operand i says where, and not what. */
static bool is_place(const tn_i_spread_eqn *q, uint32_t i) {
    return !tn_i_is_float(q->in_type[i]->dtype) && tn_i_is_float(tn_i_spread_out(q, 0)->dtype);
}

/* Places that are not known, or that depend on columns. */
static bool places_known(const tn_i_spread_eqn *q, bool *depend) {
    bool known = true;
    *depend = false;
    for (uint32_t i = 0; i < q->e->nin; i++) {
        if (!is_place(q, i)) continue;
        known &= q->in[i].known != NULL;
        *depend |= q->in[i].rows != NULL;
    }
    return known;
}

static bool anywhere(tn_i_spread_eqn *q) {
    return tn_i_spread_remark(q->w, q->e,
                              "where it reads or writes only a run knows: all that it may is taken to be nonzero "
                              "(indices that are the same in every call may be given as known)") &&
           (q->e->prim->sums ? tn_i_spread_sums(q) : tn_i_spread_all(q));
}

static bool run_on_rows(tn_i_spread_eqn *q, tn_i_arr *in, tn_i_arr *out, tn_type *types, int32_t *zeros) {
    const tn_i_eqn *e = q->e;
    bool done;
    for (uint32_t i = 0; i < e->nin; i++) {
        types[i] = *q->in_type[i];
        if (!is_place(q, i)) types[i].dtype = TN_I32;
        in[i] = tn_i_dense_arr(&types[i], is_place(q, i)  ? tn_i_shared_data(q->in[i].known)
                                          : q->in[i].rows ? tn_i_shared_data(q->in[i].rows)
                                                          : (void *)zeros);
        if (!is_place(q, i) && !q->in[i].rows) memset(in[i].stride, 0, sizeof in[i].stride);
    }
    for (uint32_t j = 0; j < e->nout; j++) {
        int32_t *to = tn_i_spread_rows(q, j, 0);
        if (!to) return false;
        types[e->nin + j] = *tn_i_spread_out(q, j);
        types[e->nin + j].dtype = TN_I32;
        out[j] = tn_i_dense_arr(&types[e->nin + j], to);
    }
    if (!tn_i_run_kernel(q->w->ctx, e->prim, tn_i_p(e), e->nin, in, e->nout, out, &done)) return false;
    if (done) return true;
    for (uint32_t j = 0; j < e->nout; j++) tn_i_spread_val_free(q->w->ctx, &q->out[j]);
    return tn_i_spread_all(q);
}

bool tn_i_spread_moves(tn_i_spread_eqn *q) {
    const tn_i_eqn *e = q->e;
    tn_ctx *c = q->w->ctx;
    bool depend;
    const bool known = places_known(q, &depend);
    if (depend || tn_i_has_steps(tn_i_spread_out(q, 0))) return tn_i_spread_all(q);
    if (!known) return anywhere(q);
    const size_t n = (size_t)e->nin + e->nout;
    int32_t zero = 0;
    tn_i_arr *arr = tn_i_alloc_array(c, n, sizeof *arr);
    tn_type *types = tn_i_alloc_array(c, n, sizeof *types);
    const bool ok = arr && types && run_on_rows(q, arr, arr + e->nin, types, &zero);
    tn_i_free(c, arr, n * sizeof *arr);
    tn_i_free(c, types, n * sizeof *types);
    return ok;
}

/* ---- sums at places ------------------------------------------------------------------------------- */

/* Of n elements that go to at[], in order of where: next[] chains those of one place, first[] of m begins. */
static void chains(int64_t n, const int64_t *at, int64_t m, int64_t *first, int64_t *next) {
    for (int64_t i = 0; i < m; i++) first[i] = -1;
    for (int64_t i = n; i-- > 0;) {
        if (at[i] < 0) continue;
        next[i] = first[at[i]];
        first[at[i]] = i;
    }
}

/* tn_i_spread_rows(q, 0) with the rows of operand 0, and those of the last one added. */
static bool add_rows(tn_i_spread_eqn *q, int32_t *to, const int64_t *first, const int64_t *next) {
    const tn_type *t = tn_i_spread_out(q, 0);
    const int32_t *base = tn_i_spread_val_rows(&q->in[0]), *more = tn_i_spread_val_rows(&q->in[q->e->nin - 1]);
    const int64_t n = tn_i_count(t);
    for (int64_t i = 0; i < n; i++) {
        to[i] = base ? base[i] : 0;
        if (!more || first[i] < 0) continue;
        tn_i_row_sum sum;
        if (!tn_i_row_sum_begin(&sum, &q->w->set, true, t->dtype != TN_F64)) return false;
        tn_i_row_sum_add(&sum, to[i], 1.0);
        for (int64_t k = first[i]; k >= 0; k = next[k]) tn_i_row_sum_add(&sum, more[k], 1.0);
        if ((to[i] = tn_i_row_sum_end(&sum)) < 0) return false;
    }
    return true;
}

static void find_places(const tn_i_spread_eqn *q, tn_i_arr *in, int64_t *at) {
    const tn_i_eqn *e = q->e;
    tn_i_arr out = tn_i_dense_arr(tn_i_spread_out(q, 0), NULL);
    for (uint32_t i = 0; i < e->nin; i++)
        in[i] = tn_i_dense_arr(q->in_type[i], q->in[i].known ? tn_i_shared_data(q->in[i].known) : NULL);
    const tn_i_kernel k = {.prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = 1, .in = in, .out = &out};
    e->prim->places(&k, at);
}

bool tn_i_spread_adds(tn_i_spread_eqn *q) {
    const tn_i_eqn *e = q->e;
    tn_ctx *c = q->w->ctx;
    bool depend;
    const bool known = places_known(q, &depend);
    if (depend) return tn_i_spread_all(q);
    if (!known) return anywhere(q);
    const int64_t n = tn_i_count(q->in_type[e->nin - 1]), m = tn_i_count(tn_i_spread_out(q, 0));
    const size_t room = 2 * (size_t)n + (size_t)m + 1;
    int64_t *at = tn_i_alloc_array(c, room, sizeof *at);
    tn_i_arr *in = tn_i_alloc_array(c, e->nin, sizeof *in);
    int32_t *to = at && in ? tn_i_spread_rows(q, 0, 0) : NULL;
    bool ok = to != NULL;
    if (ok) {
        find_places(q, in, at);
        chains(n, at, m, at + 2 * n, at + n);
        ok = add_rows(q, to, at + 2 * n, at + n);
    }
    tn_i_free(c, at, room * sizeof *at);
    tn_i_free(c, in, e->nin * sizeof *in);
    return ok;
}
