/* Rows of elementwise equations with their coefficients, which are what the primitive's own kernel makes of those of
 * the operands, so that they have the bits of the derivative; one that varies is a NaN, which stays one. */
#include "prims/arrays/layout.h"
#include "sparse/elementwise.h"

#include <math.h>
#include <string.h>

enum { MOST = TN_I_MOST_FACTORS, CHUNK = 512 };

void tn_i_store_number(int dtype, void *at, int64_t i, double x) {
    tn_i_element_set(dtype, (char *)at + i * (int64_t)tn_i_dtype_size(dtype), x);
}

double tn_i_load_number(int dtype, const void *at, int64_t i) {
    return tn_i_element(dtype, (const char *)at + i * (int64_t)tn_i_dtype_size(dtype));
}

void tn_i_store_guess(int dtype, void *at, int which) {
    static const double guess[] = {1.0, -0.75, 3.5};
    memset(at, 0, tn_i_dtype_size(dtype));
    if (tn_i_is_float(dtype))
        tn_i_store_number(dtype, at, 0, guess[which]);
    else
        *(unsigned char *)at = which != 1;
}

/* ---- entries --------------------------------------------------------------------------------------- */

/* Arrays of `room` numbers of 8 bytes. */
static bool chunk_room(tn_i_elementwise *k, int64_t room) {
    tn_ctx *c = k->q->w->ctx;
    size_t bytes;
    if (!tn_i_mul((size_t)room, 8, &bytes)) return (void)tn_i_alloc_array(c, SIZE_MAX, 8), false;
    k->room = room;
    bool ok = (k->element = tn_i_alloc_raw(c, bytes)) != NULL;
    for (uint32_t i = 0; ok && i <= MOST; i++)
        if (i < k->q->e->nin || i == MOST) ok = (k->chunk[i] = tn_i_alloc_raw(c, bytes)) != NULL;
    for (uint32_t m = 0; ok && m < k->n; m++) ok = (k->entry[m] = tn_i_alloc_raw(c, bytes)) != NULL;
    return ok;
}

bool tn_i_coefficients_begin(tn_i_elementwise *k) { return chunk_room(k, CHUNK); }

void tn_i_coefficients_free(tn_i_elementwise *k) {
    tn_ctx *c = k->q->w->ctx;
    const size_t bytes = 8 * (size_t)k->room;
    for (uint32_t m = 0; m < MOST; m++)
        if (k->entry[m]) tn_i_free(c, k->entry[m], bytes);
    for (uint32_t i = 0; i <= MOST; i++)
        if (k->chunk[i]) tn_i_free(c, k->chunk[i], bytes);
    if (k->element) tn_i_free(c, k->element, bytes);
    memset(k->entry, 0, sizeof k->entry);
    memset(k->chunk, 0, sizeof k->chunk);
    k->element = NULL;
}

static uint32_t number_of(const tn_i_elementwise *k, uint32_t operand) {
    for (uint32_t m = 0; m < k->n; m++)
        if (k->of[m] == operand) return m;
    return MOST;
}

/* The elements of a factor that the entries are of, gathered. */
static void gather(const tn_i_elementwise *k, uint32_t o, void *to) {
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
static tn_i_arr chunk_operand(tn_i_elementwise *k, uint32_t o, tn_type *type, char *one) {
    const tn_i_spread_eqn *q = k->q;
    const int dtype = q->in_type[o]->dtype;
    const uint32_t m = number_of(k, o);
    const bool linear = tn_i_elementwise_linear(k, o);
    *type = tn_type_of((tn_dtype)dtype, 1, &k->filled);
    tn_i_arr a = tn_i_dense_arr(type, k->chunk[o]);
    if (linear && m < MOST && dtype == TN_F64) {
        a.data = k->entry[m];
    } else if (linear && m < MOST) {
        for (int64_t i = 0; i < k->filled; i++) tn_i_store_number(dtype, a.data, i, k->entry[m][i]);
    } else if (!linear && !k->guessed && !k->uniform[o]) {
        gather(k, o, a.data);
    } else {
        a.data = one;
        a.stride[0] = 0;
        memset(one, 0, 8);
        if (!linear && k->guessed) tn_i_store_guess(dtype, one, 0);
        if (!linear && !k->guessed) memcpy(one, tn_i_shared_data(q->in[o].known), tn_i_dtype_size(dtype));
    }
    return a;
}

bool tn_i_coefficients_flush(tn_i_elementwise *k) {
    const tn_i_spread_eqn *q = k->q;
    const tn_i_eqn *e = q->e;
    const int dtype = tn_i_spread_out(q, 0)->dtype;
    double *const to = k->set->value + k->first;
    tn_type type[MOST + 1];
    char one[MOST][8];
    tn_i_arr in[MOST], out;
    bool done;
    if (!k->filled) return true;
    for (uint32_t o = 0; o < e->nin; o++) in[o] = chunk_operand(k, o, &type[o], one[o]);
    type[MOST] = tn_type_of((tn_dtype)dtype, 1, &k->filled);
    out = tn_i_dense_arr(&type[MOST], k->chunk[MOST]);
    if (!tn_i_run_kernel(q->w->ctx, e->prim, tn_i_p(e), e->nin, in, 1, &out, &done)) return false;
    for (int64_t i = 0; i < k->filled; i++) to[i] = done ? tn_i_load_number(dtype, out.data, i) : (double)NAN;
    k->first += k->filled;
    k->filled = 0;
    return true;
}

static bool entry_room(tn_i_elementwise *k, int64_t n) {
    if (k->filled + n <= k->room) return true;
    if (!tn_i_coefficients_flush(k)) return false;
    if (n <= k->room) return true;
    tn_i_coefficients_free(k);
    return chunk_room(k, n);
}

/* ---- rows ------------------------------------------------------------------------------------------- */

/* A row of an operand while it is merged. */
typedef struct part {
    const int32_t *col, *end;
    const double *value; /* NULL: none of the result's is known by it */
} part;

static inline part part_of(const tn_i_elementwise *k, uint32_t m, int32_t row) {
    const tn_i_set_row *r = &k->set->row[row];
    const bool values = r->value >= 0 && (!k->guessed || k->plain[m]);
    const int32_t *col = k->set->col + r->at;
    return (part){.col = col, .end = col + r->n, .value = values ? k->set->value + r->value : NULL};
}

/* The columns of one operand are those of its row, and are not written. */
static int64_t take_one(const tn_i_elementwise *k, const int32_t *id) {
    const part p = part_of(k, 0, id[0]);
    double *e = k->entry[0] + k->filled;
    const int64_t n = p.end - p.col;
    for (int64_t j = 0; j < n; j++) e[j] = p.value ? p.value[j] : (double)NAN;
    return n;
}

/* The columns of both, ascending, and their coefficients among those to be computed; how many columns.  What varies is
 * read of one number again and again. */
static int64_t merge_two(const tn_i_elementwise *k, const int32_t *id, int32_t *to) {
    static const double varies = (double)NAN;
    const part p = part_of(k, 0, id[0]), q = part_of(k, 1, id[1]);
    const int32_t *x = p.col, *y = q.col;
    const double *xv = p.value ? p.value : &varies, *yv = q.value ? q.value : &varies;
    const ptrdiff_t xstep = p.value != NULL, ystep = q.value != NULL;
    double *xe = k->entry[0] + k->filled, *ye = k->entry[1] + k->filled;
    int64_t n = 0;
    while (x < p.end || y < q.end) {
        const int32_t u = x < p.end ? *x : INT32_MAX, v = y < q.end ? *y : INT32_MAX;
        to[n] = u < v ? u : v;
        xe[n] = ye[n] = 0.0;
        if (u <= v) xe[n] = *xv, x++, xv += xstep;
        if (v <= u) ye[n] = *yv, y++, yv += ystep;
        n++;
    }
    return n;
}

/* Any number of them. */
static int64_t merge_all(const tn_i_elementwise *k, const int32_t *id, int32_t *to) {
    part p[MOST];
    for (uint32_t m = 0; m < k->n; m++) p[m] = part_of(k, m, id[m]);
    for (int64_t n = 0;; n++) {
        int32_t least = INT32_MAX;
        for (uint32_t m = 0; m < k->n; m++)
            if (p[m].col < p[m].end && *p[m].col < least) least = *p[m].col;
        if (least == INT32_MAX) return n;
        to[n] = least;
        for (uint32_t m = 0; m < k->n; m++) {
            const bool has = p[m].col < p[m].end && *p[m].col == least;
            k->entry[m][k->filled + n] = !has ? 0.0 : p[m].value ? *p[m].value : (double)NAN;
            p[m].col += has;
            if (p[m].value) p[m].value += has;
        }
    }
}

/* The row of n columns that were just written; the union of rows has all columns of one of them: it shares them. */
static inline int32_t row_of(tn_i_elementwise *k, int64_t i, int64_t n, int32_t whole) {
    for (int64_t j = 0; j < n && k->arrays; j++) k->element[k->filled + j] = i;
    k->filled += n;
    return whole >= 0 ? tn_i_row_valued(k->set, whole) : tn_i_row_push(k->set, n, true);
}

static bool room(tn_i_elementwise *k, int64_t n) {
    if (!tn_i_row_room(k->set, n, true) || !entry_room(k, n)) return false;
    if (k->filled == 0) k->first = (int64_t)k->set->nvalue;
    return true;
}

static int32_t row_of_two(tn_i_elementwise *k, int64_t i, const int32_t *id) {
    const tn_i_rowset *s = k->set;
    const int32_t a = s->row[id[0]].n, b = s->row[id[1]].n;
    if (!room(k, (int64_t)a + b)) return -1;
    const int64_t n = merge_two(k, id, s->col + s->ncol);
    return row_of(k, i, n, a == n ? id[0] : b == n ? id[1] : -1);
}

int32_t tn_i_coefficients_row(tn_i_elementwise *k, int64_t i, const int32_t *id) {
    const tn_i_rowset *s = k->set;
    if (k->n == 2) return row_of_two(k, i, id);
    int64_t most = 0;
    int32_t whole = -1;
    for (uint32_t m = 0; m < k->n; m++) most += s->row[id[m]].n;
    if (!room(k, most)) return -1;
    const int64_t n = k->n == 1 ? take_one(k, id) : merge_all(k, id, s->col + s->ncol);
    for (uint32_t m = k->n; m-- > 0;)
        if (s->row[id[m]].n == n) whole = id[m];
    return row_of(k, i, n, whole);
}
