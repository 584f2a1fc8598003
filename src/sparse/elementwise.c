/* Elementwise equations: each element of the result depends on what those of the operands do.  Other factors mask:
 * where the primitive makes 0 of a 1 the row is empty. */
#include "sparse/elementwise.h"

#include "prims/arrays/layout.h"

#include <string.h>

enum { MOST = TN_I_MOST_FACTORS };

typedef tn_i_elementwise elementwise;

static bool is_linear(const elementwise *k, uint32_t i) { return tn_i_elementwise_linear(k, i); }

/* The linear set that holds all operands that depend on columns; false: there is none. */
static bool find_linear(elementwise *k) {
    const uint32_t *sets = k->q->e->prim->linear;
    for (int s = 0; s < 2 && sets[s]; s++) {
        bool all = true;
        k->linear = sets[s];
        for (uint32_t i = 0; i < k->n; i++) all &= is_linear(k, k->of[i]);
        if (all) return true;
    }
    k->linear = 0;
    return false;
}

/* The primitive of numbers, with operand of[m] 1 and the others that it is linear in 0. */
static bool run_on_one(elementwise *k, uint32_t m, char data[MOST][8], double *x, bool *done) {
    const tn_i_spread_eqn *q = k->q;
    tn_type type[MOST + 1];
    tn_i_arr in[MOST], out;
    char result[8] = {0};
    for (uint32_t i = 0; i < q->e->nin; i++) {
        const int dtype = q->in_type[i]->dtype;
        type[i] = tn_type_of((tn_dtype)dtype, 0, NULL);
        in[i] = tn_i_dense_arr(&type[i], data[i]);
        if (is_linear(k, i)) tn_i_store_number(dtype, data[i], 0, i == k->of[m] ? 1.0 : 0.0);
    }
    type[MOST] = tn_type_of((tn_dtype)tn_i_spread_out(q, 0)->dtype, 0, NULL);
    out = tn_i_dense_arr(&type[MOST], result);
    if (!tn_i_run_kernel(q->w->ctx, q->e->prim, tn_i_p(q->e), q->e->nin, in, 1, &out, done)) return false;
    *x = tn_i_load_number(type[MOST].dtype, result, 0);
    return true;
}

/* Whether the result has operand of[m] as it is, whatever the factors are, as z in x*y + z: they are tried. */
static bool find_plain(elementwise *k, uint32_t m) {
    enum { GUESSES = 3 };
    const tn_i_spread_eqn *q = k->q;
    double first = 0.0, x = 0.0;
    bool done = true;
    k->plain[m] = true;
    for (int g = 0; g < GUESSES && done; g++) {
        char data[MOST][8] = {{0}};
        for (uint32_t i = 0; i < q->e->nin; i++)
            if (!is_linear(k, i)) tn_i_store_guess(q->in_type[i]->dtype, data[i], g);
        if (!run_on_one(k, m, data, &x, &done)) return false;
        if (g == 0) first = x;
        k->plain[m] &= done && x == first;
    }
    return true;
}

/* ---- masks --------------------------------------------------------------------------------------- */

/* Empty rows for the elements of the result that are 0 times operand of[m]. */
static bool mask_rows(elementwise *k, uint32_t m, const void *result) {
    const int dtype = tn_i_spread_out(k->q, 0)->dtype;
    int64_t zeros = 0;
    for (int64_t i = 0; i < k->count; i++) zeros += tn_i_load_number(dtype, result, i) == 0.0;
    if (!zeros) return true;
    int32_t *to = k->masked[m] = tn_i_alloc_raw(k->q->w->ctx, (size_t)k->count * sizeof *to);
    for (int64_t i = 0; to && i < k->count; i++)
        to[i] = tn_i_load_number(dtype, result, i) != 0.0 ? k->rows[m][i * k->step[m]] : 0;
    k->rows[m] = to;
    k->step[m] = 1;
    return to != NULL;
}

static bool mask_by_arrays(elementwise *k, uint32_t m) {
    const tn_i_spread_eqn *q = k->q;
    const tn_i_eqn *e = q->e;
    tn_ctx *c = q->w->ctx;
    const tn_type *t = tn_i_spread_out(q, 0);
    const size_t bytes = tn_type_bytes(t);
    const uint64_t zero = 0;
    char one[8] = {0};
    bool done = false;
    void *result = tn_i_alloc_raw(c, bytes ? bytes : 1);
    tn_i_arr in[MOST], out = tn_i_dense_arr(t, result);
    if (!result) return false;
    for (uint32_t i = 0; i < e->nin; i++) {
        in[i] = tn_i_dense_arr(q->in_type[i], q->in[i].known ? tn_i_shared_data(q->in[i].known) : NULL);
        if (!is_linear(k, i)) continue;
        memset(in[i].stride, 0, sizeof in[i].stride);
        in[i].data = i == k->of[m] ? (void *)one : (void *)(uintptr_t)&zero;
    }
    tn_i_store_number(q->in_type[k->of[m]]->dtype, one, 0, 1.0);
    bool ok = tn_i_run_kernel(c, e->prim, tn_i_p(e), e->nin, in, 1, &out, &done);
    ok = ok && (!done || mask_rows(k, m, result));
    tn_i_free(c, result, bytes ? bytes : 1);
    return ok;
}

/* Factors that are one number each make all elements 0, or none. */
static bool mask_by_numbers(elementwise *k, uint32_t m) {
    static const int32_t none = 0;
    const tn_i_spread_eqn *q = k->q;
    char data[MOST][8] = {{0}};
    double x = 0.0;
    bool done;
    for (uint32_t i = 0; i < q->e->nin; i++)
        if (!is_linear(k, i)) memcpy(data[i], tn_i_shared_data(q->in[i].known), tn_i_dtype_size(q->in_type[i]->dtype));
    if (!run_on_one(k, m, data, &x, &done)) return false;
    if (done && x == 0.0) k->rows[m] = &none, k->step[m] = 0;
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static bool has_values(const elementwise *k, uint32_t m, int32_t id) {
    return k->set->row[id].value >= 0 && (!k->guessed || k->plain[m]);
}

/* Whether there are coefficients to be computed at all. */
static bool some_values(const elementwise *k) {
    for (uint32_t m = 0; m < k->n && k->exact; m++)
        for (int64_t i = 0; i < (k->step[m] ? k->count : 1); i++)
            if (has_values(k, m, k->rows[m][i])) return true;
    return false;
}

static bool fill_plain(elementwise *k, int32_t *to) {
    if (k->n == 1) return tn_i_row_varying_all(k->set, k->count, k->rows[0], k->step[0], to);
    if (!tn_i_row_union_all(k->set, k->count, k->rows[0], k->step[0], k->rows[1], k->step[1], to)) return false;
    for (uint32_t m = 2; m < k->n; m++)
        if (!tn_i_row_union_all(k->set, k->count, to, 1, k->rows[m], k->step[m], to)) return false;
    return true;
}

static int32_t row_of(elementwise *k, int64_t i, const int32_t *id) {
    bool values = false;
    for (uint32_t m = 0; m < k->n; m++) values |= has_values(k, m, id[m]);
    if (values) return tn_i_coefficients_row(k, i, id);
    int32_t row = tn_i_row_varying(k->set, id[0]);
    for (uint32_t m = 1; m < k->n && row >= 0; m++) row = tn_i_row_union(k->set, m == 1 ? id[0] : row, id[m]);
    return row;
}

/* Of one operand or two, what was made of the same rows in this equation is taken again. */
static bool fill_exact(elementwise *k, int32_t *to) {
    const bool pairs = k->same && k->n <= 2;
    const uint32_t number = tn_i_row_equation(k->set);
    int32_t id[MOST] = {0};
    for (int64_t i = 0; i < k->count; i++) {
        for (uint32_t m = 0; m < k->n; m++) id[m] = k->rows[m][i * k->step[m]];
        tn_i_row_pair *const p = tn_i_row_pair_of(k->set, id[0], id[1]);
        if (pairs && tn_i_row_pair_is(p, id[0], id[1], number)) {
            to[i] = p->row;
            continue;
        }
        if ((to[i] = row_of(k, i, id)) < 0) return false;
        if (pairs) *p = (tn_i_row_pair){.a = id[0], .b = id[1], .row = to[i], .of = number};
    }
    return tn_i_coefficients_flush(k);
}

static bool fill_rows(elementwise *k, int32_t *to) {
    if (!some_values(k)) return fill_plain(k, to);
    return tn_i_coefficients_begin(k) && fill_exact(k, to);
}

/* ---- the equation ------------------------------------------------------------------------------------- */

/* All that it is linear in. */
static bool only_floats(const elementwise *k) {
    bool floats = true;
    for (uint32_t i = 0; i < k->q->e->nin; i++)
        if (is_linear(k, i)) floats &= tn_i_is_float(k->q->in_type[i]->dtype);
    return floats;
}

/* Whether a known operand has one number for all elements, of which there are some. */
static bool is_uniform(const tn_type *t, const void *data) {
    const size_t size = tn_i_dtype_size(t->dtype), bytes = tn_type_bytes(t);
    return bytes >= size && !memcmp(data, (const char *)data + size, bytes - size);
}

static bool prepare(elementwise *k) {
    tn_i_spread_eqn *q = k->q;
    const bool linear = find_linear(k), floats = tn_i_is_float(tn_i_spread_out(q, 0)->dtype);
    bool known = linear && floats && only_floats(k), local = false, factors = false, numbers = true;
    for (uint32_t i = 0; i < q->e->nin; i++) {
        if (!linear || is_linear(k, i)) continue;
        factors = true;
        known &= q->in[i].known != NULL;
        local |= q->in[i].local;
        k->uniform[i] = q->in[i].known && is_uniform(q->in_type[i], tn_i_shared_data(q->in[i].known));
        numbers &= k->uniform[i];
        k->arrays |= !k->uniform[i];
    }
    bool ok = true, some = false;
    k->guessed = linear && floats && (!known || local) && only_floats(k);
    for (uint32_t m = 0; ok && k->guessed && m < k->n; m++) {
        ok = find_plain(k, m);
        some |= k->plain[m];
    }
    k->exact = (known && !local) || some;
    k->same = !k->exact || numbers || some;
    for (uint32_t m = 0; ok && known && factors && m < k->n; m++)
        ok = numbers ? mask_by_numbers(k, m) : mask_by_arrays(k, m);
    return ok;
}

static void release(elementwise *k) {
    const size_t bytes = (size_t)k->count * sizeof **k->masked;
    for (uint32_t m = 0; m < MOST; m++)
        if (k->masked[m]) tn_i_free(k->q->w->ctx, k->masked[m], bytes);
    tn_i_coefficients_free(k);
}

/* The rows of operand of[m] as they are. */
static bool is_whole(const elementwise *k, uint32_t m) { return k->step[m] && !k->masked[m]; }

/* Whether the one operand's rows vary, all of them: so do those of the result. */
static bool shares(const elementwise *k) {
    if (k->n != 1 || !is_whole(k, 0)) return false;
    for (int64_t i = 0; i < k->count; i++)
        if (k->set->row[k->rows[0][i]].value >= 0) return false;
    return true;
}

static void share(const elementwise *k, uint32_t m) {
    tn_i_spread_eqn *q = k->q;
    tn_i_shared_unref(q->w->ctx, q->out[0].rows);
    q->out[0].rows = tn_i_shared_ref(q->in[k->of[m]].rows);
}

static bool make_rows(elementwise *k) {
    tn_i_spread_eqn *q = k->q;
    if (shares(k)) return share(k, 0), true;
    if (!(q->out[0].rows = tn_i_spread_rows_new(q->w, k->count))) return false;
    int32_t *to = tn_i_shared_data(q->out[0].rows);
    if (!fill_rows(k, to)) return false;
    for (uint32_t m = 0; m < k->n; m++)
        if (is_whole(k, m) && !memcmp(to, k->rows[m], (size_t)k->count * sizeof *to)) return share(k, m), true;
    return true;
}

bool tn_i_spread_elementwise(tn_i_spread_eqn *q) {
    elementwise k = {.q = q, .set = &q->w->set, .count = tn_i_count(tn_i_spread_out(q, 0))};
    if (q->e->nin > MOST || q->e->nout != 1) return tn_i_spread_all(q);
    for (uint32_t i = 0; i < q->e->nin; i++) {
        if (!q->in[i].rows) continue;
        k.of[k.n] = i;
        k.rows[k.n] = tn_i_spread_val_rows(&q->in[i]);
        k.step[k.n++] = q->in_type[i]->rank > 0;
    }
    const bool ok = prepare(&k) && make_rows(&k);
    release(&k);
    return ok;
}
