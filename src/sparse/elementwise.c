/* Elementwise equations: each element of the result depends on what those of the operands do.  Other factors mask:
 * where the primitive makes 0 of a 1 the row is empty.  Coefficients are what the primitive's own kernel makes of those
 * of the operands, so that they have the bits of the derivative; one that varies is a NaN, which stays one. */
#include "prims/layout.h"
#include "sparse/walk.h"

#include <math.h>
#include <string.h>

enum { MOST = 4, CHUNK = 512 };

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
    double *entry[MOST];   /* of operand of[m] */
    int64_t *element;      /* of the result, that each is of */
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

static uint32_t number_of(const elementwise *k, uint32_t operand) {
    for (uint32_t m = 0; m < k->n; m++)
        if (k->of[m] == operand) return m;
    return MOST;
}

/* The elements of a factor that the entries are of, gathered. */
static void gather(const elementwise *k, uint32_t o, void *to) {
    const void *from = tn_i_shared_data(k->q->in[o].known);
    switch (tn_i_dtype_size(k->q->in_type[o]->dtype)) {
    case 1:
        for (int64_t i = 0; i < k->filled; i++) ((uint8_t *)to)[i] = ((const uint8_t *)from)[k->element[i]];
        break;
    case 4:
        for (int64_t i = 0; i < k->filled; i++) ((uint32_t *)to)[i] = ((const uint32_t *)from)[k->element[i]];
        break;
    default:
        for (int64_t i = 0; i < k->filled; i++) ((uint64_t *)to)[i] = ((const uint64_t *)from)[k->element[i]];
    }
}

/* Operand o of the entries, as its dtype has it; what is one number for all has no stride. */
static tn_i_arr chunk_operand(elementwise *k, uint32_t o, tn_type *type, char *one) {
    const tn_i_spread_eqn *q = k->q;
    const int dtype = q->in_type[o]->dtype;
    const uint32_t m = number_of(k, o);
    *type = tn_type_of((tn_dtype)dtype, 1, &k->filled);
    tn_i_arr a = tn_i_dense_arr(type, k->chunk[o]);
    if (is_linear(k, o) && m < MOST) {
        for (int64_t i = 0; i < k->filled; i++) store_number(dtype, a.data, i, k->entry[m][i]);
    } else if (!is_linear(k, o) && !k->guessed && q->in_type[o]->rank) {
        gather(k, o, a.data);
    } else {
        a.data = one;
        a.stride[0] = 0;
        memset(one, 0, 8);
        if (!is_linear(k, o) && k->guessed) store_guess(dtype, one, 0);
        if (!is_linear(k, o) && !k->guessed) memcpy(one, tn_i_shared_data(q->in[o].known), tn_i_dtype_size(dtype));
    }
    return a;
}

static bool flush(elementwise *k) {
    const tn_i_spread_eqn *q = k->q;
    const tn_i_eqn *e = q->e;
    const int dtype = tn_i_spread_out(q, 0)->dtype;
    tn_type type[MOST + 1];
    char one[MOST][8];
    tn_i_arr in[MOST], out;
    bool done;
    if (!k->filled) return true;
    for (uint32_t o = 0; o < e->nin; o++) in[o] = chunk_operand(k, o, &type[o], one[o]);
    type[MOST] = tn_type_of((tn_dtype)dtype, 1, &k->filled);
    out = tn_i_dense_arr(&type[MOST], k->chunk[MOST]);
    if (!tn_i_run_kernel(q->w->ctx, e->prim, tn_i_p(e), e->nin, in, 1, &out, &done)) return false;
    for (int64_t i = 0; i < k->filled; i++)
        k->set->value[k->first + i] = done ? load_number(dtype, out.data, i) : (double)NAN;
    k->first += k->filled;
    k->filled = 0;
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

/* A row of an operand while it is merged. */
typedef struct part {
    const int32_t *col, *end;
    const double *value; /* NULL: none of the result's is known by it */
} part;

static part part_of(const elementwise *k, uint32_t m, int32_t row) {
    const tn_i_set_row r = k->set->row[row];
    const bool values = r.value >= 0 && (!k->guessed || k->plain[m]);
    const int32_t *col = k->set->col + r.at;
    return (part){.col = col, .end = col + r.n, .value = values ? k->set->value + r.value : NULL};
}

/* The columns of all, ascending, and their coefficients among those to be computed for element i; how many columns, -1
 * after an error. */
static int64_t merge(elementwise *k, int64_t i, part *p, int32_t *to) {
    for (int64_t n = 0;; n++) {
        int32_t least = INT32_MAX;
        for (uint32_t m = 0; m < k->n; m++)
            if (p[m].col < p[m].end && *p[m].col < least) least = *p[m].col;
        if (least == INT32_MAX) return n;
        if (k->filled == CHUNK && !flush(k)) return -1;
        to[n] = least;
        for (uint32_t m = 0; m < k->n; m++) {
            const bool has = p[m].col < p[m].end && *p[m].col == least;
            k->entry[m][k->filled] = !has ? 0.0 : p[m].value ? *p[m].value : (double)NAN;
            p[m].col += has;
            if (p[m].value) p[m].value += has;
        }
        k->element[k->filled++] = i;
    }
}

static int32_t plain_union(elementwise *k, const int32_t *id) {
    int32_t row = 0;
    for (uint32_t m = 0; m < k->n && row >= 0; m++)
        if (id[m]) row = row ? tn_i_row_union(k->set, row, id[m]) : tn_i_row_varying(k->set, id[m]);
    return row;
}

/* The union of the rows of element i with their coefficients computed. */
static int32_t exact_union(elementwise *k, int64_t i, const int32_t *id) {
    tn_i_rowset *s = k->set;
    int64_t most = 0;
    bool values = false;
    part p[MOST];
    for (uint32_t m = 0; m < k->n; m++) {
        p[m] = part_of(k, m, id[m]);
        most += p[m].end - p[m].col;
        values |= p[m].value != NULL;
    }
    if (!values) return plain_union(k, id);
    if (!tn_i_row_room(s, most, true)) return -1;
    for (uint32_t m = 0; m < k->n; m++) p[m] = part_of(k, m, id[m]); /* the room may be elsewhere */
    if (k->filled == 0) k->first = (int64_t)s->nvalue;
    const int64_t n = merge(k, i, p, s->col + s->ncol);
    if (n < 0) return -1;
    for (uint32_t m = 0; m < k->n; m++)
        if (s->row[id[m]].n == n) return tn_i_row_valued(s, id[m]); /* it has all columns */
    return tn_i_row_push(s, n, true);
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

/* The rows of one operand, which vary. */
static bool fill_varying(elementwise *k, int32_t *to) {
    for (int64_t i = 0; i < k->count; i++) {
        const int32_t id = k->rows[0][i * k->step[0]];
        to[i] = k->mask[0] && !k->mask[0][i] ? 0 : k->set->row[id].value < 0 ? id : tn_i_row_varying(k->set, id);
        if (to[i] < 0) return false;
    }
    return true;
}

static bool fill_rows(elementwise *k, int32_t *to) {
    if (k->n == 1 && !k->exact) return fill_varying(k, to);
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

static bool chunk_room(elementwise *k) {
    tn_ctx *c = k->q->w->ctx;
    bool ok = (k->element = tn_i_alloc_raw(c, CHUNK * sizeof *k->element)) != NULL;
    for (uint32_t i = 0; ok && i <= MOST; i++)
        if (i < k->q->e->nin || i == MOST) ok = (k->chunk[i] = tn_i_alloc_raw(c, 8 * CHUNK)) != NULL;
    for (uint32_t m = 0; ok && m < k->n; m++)
        ok = (k->entry[m] = tn_i_alloc_raw(c, CHUNK * sizeof *k->entry[m])) != NULL;
    return ok;
}

static void release(elementwise *k) {
    tn_ctx *c = k->q->w->ctx;
    for (uint32_t m = 0; m < MOST; m++) {
        if (k->mask[m]) tn_i_free(c, k->mask[m], k->mask_bytes);
        if (k->entry[m]) tn_i_free(c, k->entry[m], CHUNK * sizeof *k->entry[m]);
    }
    for (uint32_t i = 0; i <= MOST; i++)
        if (k->chunk[i]) tn_i_free(c, k->chunk[i], 8 * CHUNK);
    if (k->element) tn_i_free(c, k->element, CHUNK * sizeof *k->element);
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
    return ok && (!k->exact || chunk_room(k));
}

bool tn_i_spread_elementwise(tn_i_spread_eqn *q) {
    elementwise k = {.q = q, .set = &q->w->set, .count = tn_i_count(tn_i_spread_out(q, 0))};
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
    release(&k);
    return ok;
}
