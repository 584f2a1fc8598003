/* Strided accesses side by side: what the iterations of a vector loop touch one after the other is a column of an array
 * of rows.  Neighbouring columns are loaded or stored together, 16 bytes of a row at a time, and transposed in
 * registers; a column alone goes element by element.
 *
 * Operations of one run (walk.c) that differ by where in the row they are become a unit: two columns of 8 bytes, four
 * or two of 4.  All of a unit is loaded where its first operation stands and stored where its last one does, unless
 * what stands between may touch the same memory. */
#include "jit/walk.h"

#include <stdlib.h>

enum { LANES = 16 };

/* ---- units ------------------------------------------------------------------------------------------ */

/* An access, and what it has in common with the others of its array of rows. */
typedef struct column {
    const tn_i_loops *p;
    uint32_t op, origin;
    const tn_i_l_affine *at;
    bool store;
    unsigned size;
    int64_t first; /* bytes from the origin on */
} column;

#define ORDER(x, y) \
    if ((x) != (y)) return (x) < (y) ? -1 : 1

static int by_rows(const column *a, const column *b) {
    const tn_i_l_term *s = tn_i_l_terms(a->p, a->at), *t = tn_i_l_terms(b->p, b->at);
    ORDER(a->store, b->store);
    ORDER(a->origin, b->origin);
    ORDER(a->size, b->size);
    ORDER(a->at->n, b->at->n);
    for (uint32_t i = 0; i < a->at->n; i++) {
        ORDER(s[i].loop, t[i].loop);
        ORDER(s[i].by, t[i].by);
    }
    return 0;
}

static int in_order(const void *x, const void *y) {
    const column *a = x, *b = y;
    const int rows = by_rows(a, b);
    if (rows) return rows;
    ORDER(a->first, b->first);
    ORDER(a->op, b->op);
    return 0;
}
#undef ORDER

/* Whether operation k goes by a stride that is known, all of it. */
static bool strided(const tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const int dtype = w->p->array[o->which].dtype;
    const int64_t size = (int64_t)tn_i_dtype_size(dtype), by = tn_i_l_by(w->p, &o->at, w->vector);
    if (o->kind == TN_L_LOAD ? !w->note[k].varies : o->kind != TN_L_STORE || o->update) return false;
    return o->in[0] == TN_L_NONE && o->in[1] == TN_L_NONE && dtype != TN_BOOL && size >= 4 && by != 0 && by != 1 &&
           by != -1 && by < INT32_MAX / 1024 && by > INT32_MIN / 1024 && w->lanes * (unsigned)size >= 16;
}

static column column_of(const tn_i_walk *w, uint32_t k) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const tn_i_l_array *a = &w->p->array[o->which];
    const unsigned size = (unsigned)tn_i_dtype_size(a->dtype);
    column c = {.p = w->p, .op = k, .at = &o->at, .store = o->kind == TN_L_STORE, .size = size};
    c.origin = a->role == TN_L_CONST ? w->p->nbase + o->which : a->base;
    if (!tn_i_mul_i64(o->at.at, size, &c.first) || !tn_i_add_i64(c.first, a->at, &c.first)) c.first = INT64_MAX;
    return c;
}

static bool may_touch(const tn_i_loops *p, uint32_t x, uint32_t y) {
    const tn_i_l_array *a = &p->array[x], *b = &p->array[y];
    const int64_t all_a = a->count * (int64_t)tn_i_dtype_size(a->dtype),
                  all_b = b->count * (int64_t)tn_i_dtype_size(b->dtype);
    if (a->role == TN_L_CONST || b->role == TN_L_CONST || a->base != b->base) return false;
    return a->at < b->at + all_b && b->at < a->at + all_a;
}

/* What must not be passed by: by loads stores, by stores loads and stores that are no columns. */
static bool passes(const tn_i_walk *w, const tn_i_w_rows *u, bool store) {
    uint32_t first = u->op[0], last = first;
    for (unsigned i = 1; i < u->n; i++) {
        if (u->op[i] < first) first = u->op[i];
        if (u->op[i] > last) last = u->op[i];
    }
    for (uint32_t k = first + 1; k < last; k++) {
        const tn_i_l_op *o = tn_i_w_o(w, k);
        const bool reads = o->kind == TN_L_LOAD && store, writes = o->kind == TN_L_STORE && !(store && strided(w, k));
        if ((reads || writes) && may_touch(w->p, o->which, tn_i_w_o(w, first)->which)) return false;
    }
    return true;
}

static void add_unit(tn_i_walk *w, const column *c, unsigned n) {
    tn_i_w_rows u = {.n = (uint8_t)n};
    uint32_t acts = c->op;
    for (unsigned i = 0; i < n; i++) {
        u.op[i] = c[i].op;
        if (c->store ? u.op[i] > acts : u.op[i] < acts) acts = u.op[i];
    }
    if (!passes(w, &u, c->store) || !tn_i_w_grow(w, &w->rows, &w->crows, w->nrows + 1, sizeof *w->rows)) return;
    w->rows[w->nrows++] = u;
    for (unsigned i = 0; i < n; i++) w->note[u.op[i]].rows = TN_W_WITH_OTHERS;
    w->note[acts].rows = (uint32_t)w->nrows;
}

/* The columns from c on, n of the same rows, that lie side by side. */
static size_t side_by_side(const column *c, size_t n) {
    size_t k = 1;
    while (k < n && c[k].first == c[k - 1].first + (int64_t)c->size) k++;
    if (k < n && c[k].first == c[k - 1].first) k = 0; /* the same one twice: as they stand */
    return k;
}

static void make_units(tn_i_walk *w, const column *c, size_t n) {
    for (size_t i = 0; i < n;) {
        size_t same = 1;
        while (i + same < n && by_rows(&c[i], &c[i + same]) == 0) same++;
        const size_t most = 16 / c[i].size, k = side_by_side(&c[i], same);
        size_t take = k >= most ? most : k >= 2 ? 2 : 1;
        if (take > 1) add_unit(w, &c[i], (unsigned)take);
        i += take;
    }
}

void tn_i_w_find_rows(tn_i_walk *w, uint32_t first, uint32_t last) {
    size_t n = 0;
    w->nrows = 0;
    for (uint32_t k = first; k < last; k++) {
        w->note[k].rows = 0;
        n += strided(w, k);
    }
    if (n < 2 || w->o->bounds || (w->tail != TN_REG_NONE && !w->left) || w->m.failed) return;
    column *c = tn_i_alloc_array(w->ctx, n, sizeof *c);
    if (!c) {
        w->m.failed = true;
        return;
    }
    n = 0;
    for (uint32_t k = first; k < last; k++)
        if (strided(w, k)) c[n++] = column_of(w, k);
    qsort(c, n, sizeof *c, in_order);
    make_units(w, c, n);
    tn_i_free(w->ctx, c, n * sizeof *c);
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* Where the rows of a piece are: the first one's address, bytes from one to the next, how many there are. */
typedef struct rows {
    tn_i_w_mem at;
    int32_t step;
    unsigned n, bytes; /* of a register */
} rows;

static rows rows_of(tn_i_walk *w, const tn_i_l_op *o, unsigned piece) {
    const unsigned size = (unsigned)tn_i_dtype_size(w->p->array[o->which].dtype);
    const int64_t step = tn_i_l_by(w->p, &o->at, w->vector) * (int64_t)size;
    rows r = {.step = (int32_t)step, .n = w->lanes, .bytes = w->lanes * size};
    if (piece + 1 == w->pieces && w->tail != TN_REG_NONE) r.n = w->left;
    tn_i_w_address(w, o->which, &o->at, step * piece * w->lanes, &r.at);
    return r;
}

static tn_i_w_mem row(const rows *r, unsigned k) {
    tn_i_w_mem at = r->at;
    at.disp += r->step * (int32_t)k;
    return at;
}

/* A register of parts of `unit` bytes: part `u` belongs to row k[u]. */
typedef struct parts {
    unsigned unit;
    uint8_t k[LANES];
} parts;

/* Columns n at a time: part `which` of those that they are transposed by.  16 bytes hold `16 / unit` rows' parts, and
 * with each quarter of a vector rows go on by as many as it has elements of a column. */
static parts parts_of(unsigned size, unsigned n, unsigned which) {
    parts p = {.unit = size * n};
    const unsigned each = 16 / p.unit, quarter = 16 / size;
    for (unsigned u = 0; u < LANES; u++) p.k[u] = (uint8_t)(u / each * quarter + which * each + u % each);
    return p;
}

static void store_part(tn_i_walk *w, tn_i_reg x, unsigned unit, unsigned u, const tn_i_w_mem *at) {
    if (unit == 8)
        tn_i_w_store_op(w, u ? TN_X_vmovhpd_to : TN_X_vmovsd_to, 16, x, at, true);
    else
        tn_i_w_store_op(w, TN_X_vmovss_to, 16, u ? tn_i_w_put_of(w, TN_X_vpshufd, 16, 16, TN_REG_NONE, x, (int)u) : x,
                        at, true);
}

static void store_quarter(tn_i_walk *w, tn_i_reg x, unsigned bytes, unsigned q, const tn_i_w_mem *at) {
    if (q == 0) {
        tn_i_w_store_op(w, TN_X_vmovups_to, 16, x, at, true);
        return;
    }
    tn_i_w_store_op(w, TN_X_vextractf128, bytes, x, at, true);
    if (!w->m.failed) w->m.in[w->m.nin - 1].imm = (int32_t)q;
}

static void store_parts(tn_i_walk *w, tn_i_reg x, const rows *r, parts p) {
    const unsigned each = 16 / p.unit;
    for (unsigned q = 0; q < r->bytes / 16 && p.k[q * each] < r->n; q++) {
        if (each == 1) {
            const tn_i_w_mem at = row(r, p.k[q]);
            store_quarter(w, x, r->bytes, q, &at);
            continue;
        }
        const tn_i_reg y = q ? tn_i_w_narrow(w, TN_X_vextractf128, r->bytes, 16, x, (int)q) : x;
        for (unsigned u = 0; u < each && p.k[q * each + u] < r->n; u++) {
            const tn_i_w_mem at = row(r, p.k[q * each + u]);
            store_part(w, y, p.unit, u, &at);
        }
    }
}

static tn_i_reg load_quarter(tn_i_walk *w, const rows *r, const parts *p, unsigned q) {
    const unsigned each = 16 / p->unit;
    tn_i_w_mem at = row(r, p->k[q * each]);
    tn_i_reg x = tn_i_w_load_op(w, each == 1 ? TN_X_vmovups : TN_X_vmovsd, 16, 16, TN_REG_NONE, &at);
    if (each == 1 || p->k[q * each + 1] >= r->n) return x;
    at = row(r, p->k[q * each + 1]);
    return tn_i_w_load_op(w, TN_X_vmovhpd, 16, 16, x, &at);
}

/* Parts of rows that there are not are 0. */
static tn_i_reg load_parts(tn_i_walk *w, const rows *r, parts p) {
    const unsigned each = 16 / p.unit;
    if (p.k[0] >= r->n) return tn_i_w_all(w, TN_I32, 0, r->bytes);
    tn_i_reg x = load_quarter(w, r, &p, 0);
    for (unsigned q = 1; q < r->bytes / 16 && p.k[q * each] < r->n; q++) {
        const tn_i_w_mem at = row(r, p.k[q]);
        if (each > 1)
            x = tn_i_w_put_of(w, TN_X_vinsertf128, r->bytes, r->bytes, x, load_quarter(w, r, &p, q), (int)q);
        else {
            x = tn_i_w_load_op(w, TN_X_vinsertf128, r->bytes, r->bytes, x, &at);
            if (!w->m.failed) w->m.in[w->m.nin - 1].imm = (int32_t)q;
        }
    }
    return x;
}

/* ---- columns --------------------------------------------------------------------------------------------------- */

static tn_i_reg low(tn_i_walk *w, const rows *r, unsigned unit, tn_i_reg a, tn_i_reg b) {
    return tn_i_w_put(w, unit == 4 ? TN_X_vunpcklps : TN_X_vunpcklpd, r->bytes, a, b, 0);
}
static tn_i_reg high(tn_i_walk *w, const rows *r, unsigned unit, tn_i_reg a, tn_i_reg b) {
    return tn_i_w_put(w, unit == 4 ? TN_X_vunpckhps : TN_X_vunpckhpd, r->bytes, a, b, 0);
}

/* Two columns of `size` bytes as two registers of their rows' parts. */
static void pair_up(tn_i_walk *w, const rows *r, unsigned size, tn_i_reg x[2]) {
    const tn_i_reg a = low(w, r, size, x[0], x[1]), b = high(w, r, size, x[0], x[1]);
    x[0] = a;
    x[1] = b;
}

static void swap(tn_i_reg *a, tn_i_reg *b) {
    const tn_i_reg c = *a;
    *a = *b;
    *b = c;
}

static void store_columns(tn_i_walk *w, const rows *r, unsigned size, tn_i_reg x[4], unsigned n) {
    for (unsigned i = 0; i + 1 < n; i += 2) pair_up(w, r, size, &x[i]);
    if (n == 4) { /* (a b)(c d), of lower and of upper rows */
        swap(&x[1], &x[2]);
        pair_up(w, r, 8, &x[0]);
        pair_up(w, r, 8, &x[2]);
    }
    for (unsigned i = 0; i < n; i++) store_parts(w, x[i], r, parts_of(size, n, i));
}

static void load_columns(tn_i_walk *w, const rows *r, unsigned size, tn_i_reg x[4], unsigned n) {
    for (unsigned i = 0; i < n; i++) x[i] = load_parts(w, r, parts_of(size, n, i));
    if (n == 2 && size == 4) { /* a0 b0 a1 b1, a2 b2 a3 b3 */
        const tn_i_reg a = tn_i_w_put(w, TN_X_vshufps, r->bytes, x[0], x[1], 0x88),
                       b = tn_i_w_put(w, TN_X_vshufps, r->bytes, x[0], x[1], 0xDD);
        x[0] = a;
        x[1] = b;
        return;
    }
    for (unsigned i = 0; i + 1 < n; i += 2) pair_up(w, r, size, &x[i]);
    if (n == 4) {
        swap(&x[1], &x[2]);
        pair_up(w, r, 8, &x[0]);
        pair_up(w, r, 8, &x[2]);
    }
}

void tn_i_w_store_rows(tn_i_walk *w, const tn_i_w_rows *u, unsigned piece) {
    const tn_i_l_op *o = tn_i_w_o(w, u->op[0]);
    const rows r = rows_of(w, o, piece);
    tn_i_reg x[4];
    for (unsigned i = 0; i < u->n; i++) x[i] = tn_i_w_piece(w, tn_i_w_o(w, u->op[i])->in[2], piece);
    store_columns(w, &r, (unsigned)tn_i_dtype_size(w->p->array[o->which].dtype), x, u->n);
}

void tn_i_w_load_rows(tn_i_walk *w, const tn_i_w_rows *u, unsigned piece, tn_i_reg x[4]) {
    const tn_i_l_op *o = tn_i_w_o(w, u->op[0]);
    const rows r = rows_of(w, o, piece);
    load_columns(w, &r, (unsigned)tn_i_dtype_size(o->dtype), x, u->n);
}

bool tn_i_w_store_column(tn_i_walk *w, uint32_t k, unsigned piece) {
    const tn_i_l_op *o = tn_i_w_o(w, k);
    const bool last = piece + 1 == w->pieces && w->tail != TN_REG_NONE;
    if (!strided(w, k) || w->o->bounds || w->m.failed || (last && !w->left)) return false;
    const rows r = rows_of(w, o, piece);
    tn_i_reg x[4] = {tn_i_w_piece(w, o->in[2], piece)};
    store_columns(w, &r, (unsigned)tn_i_dtype_size(w->p->array[o->which].dtype), x, 1);
    return true;
}
