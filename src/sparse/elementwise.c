/* Elementwise equations: each element of the result depends on what those of the operands do.  Other factors mask:
 * where the primitive makes 0 of a 1 the row is empty.  Coefficients are what the primitive's own kernel makes of those
 * of the operands, so that they have the bits of the derivative; one that varies is a NaN, which stays one. */
#include "prims/layout.h"
#include "sparse/walk.h"

#include <math.h>
#include <string.h>

enum { MOST = 4, CHUNK = 1024 };

typedef struct elementwise {
    tn_i_spread_eqn *q;
    tn_i_rowset *set;
    uint32_t n, of[MOST]; /* operands that depend on columns */
    const int32_t *rows[MOST];
    int64_t step[MOST]; /* 0: of rank 0, which repeats */
    unsigned char *mask[MOST];
    size_t mask_bytes;
    int64_t count;
    uint32_t linear;  /* the set of operands that it is jointly linear in, with all of `of` */
    bool exact, same; /* coefficients are computed; elements of the same rows have the same row */
    bool guessed;     /* factors are not known, and 1 stands for them: only what is plain[] has coefficients */
    bool plain[MOST];
    /* entries to be computed: those of operand i, of its dtype, and where the results go */
    void *chunk[MOST + 1];
    int64_t filled, first; /* values first.. of the set */
} elementwise;

static bool is_linear(const elementwise *k, uint32_t i) { return k->linear == TN_ALL || (k->linear >> i & 1); }

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

static void store_number(int dtype, void *at, int64_t i, double x) {
    if (dtype == TN_F32)
        ((float *)at)[i] = (float)x;
    else
        ((double *)at)[i] = x;
}

static double load_number(int dtype, const void *at, int64_t i) {
    return dtype == TN_F32 ? (double)((const float *)at)[i] : ((const double *)at)[i];
}

/* A factor that is not known. */
static void store_guess(int dtype, void *at, int which) {
    static const double guess[] = {1.0, -0.75, 3.5};
    memset(at, 0, tn_i_dtype_size(dtype));
    if (tn_i_is_float(dtype))
        store_number(dtype, at, 0, guess[which]);
    else
        *(unsigned char *)at = which != 1;
}

/* Whether the result has operand of[m] as it is, whatever the factors are, as z in x*y + z: they are tried. */
static bool find_plain(elementwise *k, uint32_t m) {
    enum { GUESSES = 3 };
    const tn_i_spread_eqn *q = k->q;
    tn_type type[MOST + 1];
    tn_i_arr in[MOST], out;
    char data[MOST + 1][8] = {{0}};
    double first = 0.0;
    bool done = true;
    k->plain[m] = true;
    for (int g = 0; g < GUESSES && done; g++) {
        for (uint32_t i = 0; i < q->e->nin; i++) {
            const int dtype = q->in_type[i]->dtype;
            type[i] = tn_type_of((tn_dtype)dtype, 0, NULL);
            in[i] = tn_i_dense_arr(&type[i], data[i]);
            if (!is_linear(k, i))
                store_guess(dtype, data[i], g);
            else
                store_number(dtype, data[i], 0, i == k->of[m] ? 1.0 : 0.0);
        }
        type[MOST] = tn_type_of((tn_dtype)tn_i_spread_out(q, 0)->dtype, 0, NULL);
        out = tn_i_dense_arr(&type[MOST], data[MOST]);
        if (!tn_i_run_kernel(q->w->ctx, q->e->prim, tn_i_p(q->e), q->e->nin, in, 1, &out, &done)) return false;
        const double x = load_number(type[MOST].dtype, out.data, 0);
        if (g == 0) first = x;
        k->plain[m] &= done && x == first;
    }
    return true;
}

/* ---- masks --------------------------------------------------------------------------------------- */

/* Whether each element of the result is more than 0 times operand of[m]. */
static bool make_mask(elementwise *k, uint32_t m) {
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
    store_number(q->in_type[k->of[m]]->dtype, one, 0, 1.0);
    bool ok = tn_i_run_kernel(c, e->prim, tn_i_p(e), e->nin, in, 1, &out, &done);
    if (ok && done) ok = (k->mask[m] = tn_i_alloc_raw(c, k->mask_bytes)) != NULL;
    for (int64_t i = 0; ok && done && i < k->count; i++) k->mask[m][i] = load_number(t->dtype, result, i) != 0.0;
    tn_i_free(c, result, bytes ? bytes : 1);
    return ok;
}

/* ---- coefficients ---------------------------------------------------------------------------------- */

static bool flush(elementwise *k) {
    const tn_i_spread_eqn *q = k->q;
    const tn_i_eqn *e = q->e;
    tn_type type[MOST + 1];
    tn_i_arr in[MOST], out;
    bool done;
    if (!k->filled) return true;
    for (uint32_t i = 0; i <= e->nin; i++) {
        const int dtype = i < e->nin ? q->in_type[i]->dtype : tn_i_spread_out(q, 0)->dtype;
        type[i] = tn_type_of((tn_dtype)dtype, 1, &k->filled);
        *(i < e->nin ? &in[i] : &out) = tn_i_dense_arr(&type[i], k->chunk[i < e->nin ? i : MOST]);
    }
    if (!tn_i_run_kernel(q->w->ctx, e->prim, tn_i_p(e), e->nin, in, 1, &out, &done)) return false;
    for (int64_t i = 0; i < k->filled; i++)
        k->set->value[k->first + i] = done ? load_number(type[e->nin].dtype, out.data, i) : (double)NAN;
    k->filled = 0;
    return true;
}

/* One more entry, of element i; x: the coefficients of its operands. */
static bool enter(elementwise *k, int64_t i, const double *x, int64_t value) {
    const tn_i_spread_eqn *q = k->q;
    if (k->filled == CHUNK && !flush(k)) return false;
    if (k->filled == 0) k->first = value;
    for (uint32_t o = 0; o < q->e->nin; o++) {
        const int dtype = q->in_type[o]->dtype;
        const size_t size = tn_i_dtype_size(dtype);
        char *to = (char *)k->chunk[o] + (size_t)k->filled * size;
        if (is_linear(k, o)) {
            double y = 0.0;
            for (uint32_t m = 0; m < k->n; m++)
                if (k->of[m] == o) y = x[m];
            store_number(dtype, to, 0, y);
        } else if (k->guessed)
            store_guess(dtype, to, 0);
        else
            memcpy(to, tn_i_at(tn_i_shared_data(q->in[o].known), size, q->in_type[o]->rank ? i : 0), size);
    }
    k->filled++;
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

/* Whether coefficients of a row of operand of[m] make some of the result's. */
static bool has_values(const elementwise *k, uint32_t m, int32_t row) {
    return k->set->row[row].value >= 0 && (!k->guessed || k->plain[m]);
}

/* The union of the rows of element i with their coefficients computed. */
static int32_t exact_union(elementwise *k, int64_t i, const int32_t *id) {
    tn_i_rowset *s = k->set;
    int64_t most = 0, n = 0;
    uint32_t some = 0, which = 0;
    bool values = false;
    for (uint32_t m = 0; m < k->n; m++) {
        if (!id[m]) continue;
        most += s->row[id[m]].n;
        values |= has_values(k, m, id[m]);
        some++;
        which = m;
    }
    if (some == 0) return 0;
    if (!values && some == 1) return tn_i_row_varying(s, id[which]);
    if (!tn_i_row_room(s, most, values)) return -1;
    const int32_t *col[MOST], *end[MOST];
    const double *val[MOST];
    for (uint32_t m = 0; m < k->n; m++) {
        const tn_i_set_row r = s->row[id[m]];
        col[m] = s->col + r.at;
        end[m] = col[m] + r.n;
        val[m] = has_values(k, m, id[m]) ? s->value + r.value : NULL;
    }
    int32_t *to = s->col + s->ncol;
    for (;; n++) {
        int32_t least = INT32_MAX;
        double x[MOST] = {0};
        for (uint32_t m = 0; m < k->n; m++)
            if (col[m] < end[m] && *col[m] < least) least = *col[m];
        if (least == INT32_MAX) break;
        for (uint32_t m = 0; m < k->n; m++) {
            if (col[m] == end[m] || *col[m] != least) continue;
            x[m] = val[m] ? *val[m]++ : (double)NAN;
            col[m]++;
        }
        to[n] = least;
        if (values && !enter(k, i, x, (int64_t)s->nvalue + n)) return -1;
    }
    return some == 1 ? tn_i_row_valued(s, id[which]) : tn_i_row_push(s, n, values);
}

static int32_t plain_union(elementwise *k, const int32_t *id) {
    int32_t row = 0;
    for (uint32_t m = 0; m < k->n && row >= 0; m++)
        if (id[m]) row = row ? tn_i_row_union(k->set, row, id[m]) : tn_i_row_varying(k->set, id[m]);
    return row;
}

/* Rows of elements that are the same numbers as lately. */
enum { RECENT = 64 };
typedef struct recent {
    int32_t id[MOST], row;
} recent;

static recent *look_up(recent *lately, const int32_t *id, uint32_t n, bool *found) {
    uint32_t h = 0;
    for (uint32_t m = 0; m < n; m++) h = (h + (uint32_t)id[m]) * 2654435761u;
    recent *r = &lately[h >> 26];
    *found = r->row >= 0;
    for (uint32_t m = 0; m < n; m++) *found &= r->id[m] == id[m];
    return r;
}

static bool fill_rows(elementwise *k, int32_t *to) {
    recent lately[RECENT];
    for (int j = 0; j < RECENT; j++) lately[j].row = -1;
    for (int64_t i = 0; i < k->count; i++) {
        int32_t id[MOST] = {0};
        bool found = false;
        recent *r = NULL;
        for (uint32_t m = 0; m < k->n; m++) {
            id[m] = k->rows[m][i * k->step[m]];
            if (k->mask[m] && !k->mask[m][i]) id[m] = 0;
        }
        if (k->same) r = look_up(lately, id, k->n, &found);
        const int32_t row = found ? r->row : k->exact ? exact_union(k, i, id) : plain_union(k, id);
        if (row < 0) return false;
        if (r && !found) {
            memcpy(r->id, id, sizeof id);
            r->row = row;
        }
        to[i] = row;
    }
    return flush(k);
}

/* The rows of the one operand as they are: all of them vary, and so do those of the result. */
static bool shares(const elementwise *k) {
    if (k->n != 1 || k->mask[0] || k->step[0] == 0) return false;
    for (int64_t i = 0; i < k->count; i++)
        if (k->set->row[k->rows[0][i]].value >= 0) return false;
    return true;
}

/* All that it is linear in. */
static bool only_floats(const elementwise *k) {
    bool floats = true;
    for (uint32_t i = 0; i < k->q->e->nin; i++)
        if (is_linear(k, i)) floats &= tn_i_is_float(k->q->in_type[i]->dtype);
    return floats;
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
        numbers &= q->in_type[i]->rank == 0;
    }
    bool ok = true, some = false;
    k->guessed = linear && floats && (!known || local) && only_floats(k);
    for (uint32_t m = 0; ok && k->guessed && m < k->n; m++) {
        ok = find_plain(k, m);
        some |= k->plain[m];
    }
    k->exact = (known && !local) || some;
    k->same = !k->exact || numbers || some;
    for (uint32_t m = 0; ok && known && factors && m < k->n; m++) ok = make_mask(k, m);
    for (uint32_t i = 0; ok && k->exact && i <= MOST; i++) ok = (k->chunk[i] = tn_i_alloc_raw(q->w->ctx, 8 * CHUNK));
    return ok;
}

bool tn_i_spread_elementwise(tn_i_spread_eqn *q) {
    elementwise k = {.q = q, .set = &q->w->set, .count = tn_i_count(tn_i_spread_out(q, 0))};
    tn_ctx *c = q->w->ctx;
    if (q->e->nin > MOST || q->e->nout != 1) return tn_i_spread_all(q);
    k.mask_bytes = (size_t)k.count + 1;
    for (uint32_t i = 0; i < q->e->nin; i++) {
        if (!q->in[i].rows) continue;
        k.of[k.n] = i;
        k.rows[k.n] = tn_i_spread_val_rows(&q->in[i]);
        k.step[k.n++] = q->in_type[i]->rank > 0;
    }
    bool ok = prepare(&k);
    if (ok && shares(&k))
        q->out[0].rows = tn_i_shared_ref(q->in[k.of[0]].rows);
    else if (ok) {
        int32_t *to = tn_i_spread_rows(q, 0, 0);
        ok = to && fill_rows(&k, to);
    }
    for (uint32_t m = 0; m < MOST; m++)
        if (k.mask[m]) tn_i_free(c, k.mask[m], k.mask_bytes);
    for (uint32_t i = 0; i <= MOST; i++)
        if (k.chunk[i]) tn_i_free(c, k.chunk[i], 8 * CHUNK);
    return ok;
}
