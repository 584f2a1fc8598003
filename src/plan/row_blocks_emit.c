/* A program with its blocks: what they need, the scan over blocks, the rows that are left, what is put together of
 * both, and the rest. */
#include "plan/row_blocks.h"

#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { MOST_LEVELS = 64 };

typedef struct emission {
    const tn_i_row_block *z;
    tn_i_builder b;  /* the new program */
    tn_i_var *map;   /* values in it */
    tn_i_var *rows;  /* values that are read by rows: blocks of them, in what is being made */
    tn_i_var *whole; /* values that are read whole, there */
    tn_i_var *made;  /* values of rows and sums, there */
    tn_i_var *list;  /* scratch: inputs, outputs */
    int64_t left;    /* rows behind the last whole block */
} emission;

static const tn_type *type_of(const tn_i_row_block *z, tn_i_var v) { return z->f->val[v].type; }

/* t, whose first dimension is all rows, with k of them. */
static tn_type with_rows(const tn_type *t, int64_t k) {
    tn_type u = *t;
    u.dim[0] = k;
    return u;
}

static tn_i_var slice_rows(tn_i_builder *b, tn_i_var x, int64_t first, int64_t last) {
    int64_t start[TN_MAX_RANK] = {first}, limit[TN_MAX_RANK];
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, x);
    if (first == 0 && last == t->dim[0]) return x;
    memcpy(limit, t->dim, (size_t)t->rank * sizeof *limit);
    limit[0] = last;
    return tn_i_slice(b, x, start, limit, NULL);
}

/* x[n, ...] as [n / k, k, ...], or back (k 0). */
static tn_i_var cut_rows(tn_i_builder *b, tn_i_var x, int64_t k) {
    int64_t shape[TN_MAX_RANK + 1];
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, x);
    const int rank = t->rank;
    shape[0] = k ? t->dim[0] / k : t->dim[0] * t->dim[1];
    if (k) shape[1] = k;
    for (int d = k ? 1 : 2; d < rank; d++) shape[k ? d + 1 : d - 1] = t->dim[d];
    return tn_i_reshape(b, x, k ? rank + 1 : rank - 1, shape);
}

/* ---- equations over k rows ------------------------------------------------------------------ */

/* The parameters of e that hold the number of rows, with k in its place. */
static tn_i_var emit_rows(tn_i_builder *b, const tn_i_eqn *e, int64_t k, const tn_i_var *in) {
    const int at = e->prim->rows_in - 1;
    if (at < 0) return tn_i_emit_like(b, e, in);
    tn_i_param p[TN_MAX_PARAMS];
    int64_t dim[TN_MAX_RANK];
    memcpy(p, tn_i_p(e), e->params->n * sizeof *p);
    memcpy(dim, p[at].u.ints, p[at].n * sizeof *dim);
    dim[0] = k;
    p[at].u.ints = dim;
    return tn_i_emit(b, e->prim, p, e->nin, in);
}

/* A product over the rows from `first` on, in parts, which are added to what there is. */
static tn_i_var add_parts(tn_i_builder *b, const tn_i_eqn *e, int64_t part, int64_t first, int64_t k,
                          const tn_i_var *in, tn_i_var sum) {
    for (int64_t r = first, next; r < k; r = next) {
        next = r + part < k ? r + part : k;
        const tn_i_var some[2] = {slice_rows(b, in[0], r, next), slice_rows(b, in[1], r, next)};
        const tn_i_var product = tn_i_emit_like(b, e, some);
        b->linear = false;
        sum = tn_i_op2(b, TN_P_add, sum, product);
    }
    return sum;
}

static tn_i_var operand(const emission *w, tn_i_builder *b, tn_i_var v, bool row) {
    if (tn_i_is_literal(w->z->f, v)) return tn_i_mapped(b, w->z->f, w->made, v);
    if (!row) return w->whole[v];
    return w->made[v] != TN_NOVAR ? w->made[v] : w->rows[v];
}

/* All equations of the blocks over k rows, of which `first` are there for the company only; made[] of a product's
 * result holds what is to be added to. */
static void emit_block(emission *w, tn_i_builder *b, int64_t first, int64_t k) {
    const tn_i_row_block *z = w->z;
    for (uint32_t i = 0; i < z->f->neqn && !b->failed; i++) {
        const tn_i_eqn *e = &z->f->eqn[i];
        const tn_i_row_block_role role = z->role[i];
        const unsigned rowwise = tn_i_row_block_rowwise(z, e, role);
        tn_i_var in[32];
        bool there = role != TN_ROW_BLOCK_NOT;
        for (uint32_t j = 0; there && j < e->nin; j++) {
            in[j] = operand(w, b, tn_i_in(z->f, e)[j], rowwise >> j & 1);
            there = in[j] != TN_NOVAR;
        }
        if (!there) continue; /* FREE, and not wanted here */
        b->loc = e->loc;
        b->region = e->region;
        b->linear = e->linear;
        if (role == TN_ROW_BLOCK_PRODUCT)
            w->made[e->out] = add_parts(b, e, z->part, first, k, in, w->made[e->out]);
        else if (role == TN_ROW_BLOCK_SUM) {
            in[0] = slice_rows(b, in[0], first, k);
            w->made[e->out] = tn_i_emit_like(b, e, in);
        } else
            w->made[e->out] = emit_rows(b, e, k, in);
    }
    b->region = 0;
    b->linear = false;
}

static void forget(emission *w, tn_i_var *map) { memset(map, 0xFF, w->z->f->nval * sizeof *map); }

/* ---- lists ------------------------------------------------------------------------------------- */

/* The values with a flag, or results of equations of a role; how many. */
static uint32_t flagged(const emission *w, const uint8_t *flag, tn_i_var *list) {
    uint32_t n = 0;
    for (uint32_t v = 0; v < w->z->f->nval; v++)
        if (flag[v]) list[n++] = v;
    return n;
}

static uint32_t results(const emission *w, tn_i_row_block_role role, tn_i_var *list) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->z->f->neqn; i++)
        if (w->z->role[i] == role) list[n++] = w->z->f->eqn[i].out;
    return n;
}

/* Lists of values one after another. */
typedef struct lists {
    tn_i_var *whole, *product, *row, *sum, *leave;
    uint32_t nwhole, nproduct, nrow, nsum, nleave;
} lists;

static lists lists_of(emission *w) {
    lists l = {.whole = w->list};
    l.nwhole = flagged(w, w->z->whole, l.whole);
    l.product = l.whole + l.nwhole;
    l.nproduct = results(w, TN_ROW_BLOCK_PRODUCT, l.product);
    l.row = l.product + l.nproduct;
    l.nrow = flagged(w, w->z->by_row, l.row);
    l.sum = l.row + l.nrow;
    l.nsum = results(w, TN_ROW_BLOCK_SUM, l.sum);
    l.leave = l.sum + l.nsum;
    l.nleave = flagged(w, w->z->leaves, l.leave);
    return l;
}

/* ---- the scan ------------------------------------------------------------------------------------ */

/* consts: whole; carry: products; entries: rows; results: sums of a leaf, rows that leave. */
static tn_fn *body_of(emission *w, const lists *l, tn_i_var *out) {
    const tn_i_row_block *z = w->z;
    tn_i_builder b;
    uint32_t n = 0;
    tn_i_builder_init(&b, z->f->ctx);
    b.raw = true;
    for (uint32_t k = 0; k < l->nwhole; k++) w->whole[l->whole[k]] = tn_i_input(&b, type_of(z, l->whole[k]), false);
    for (uint32_t k = 0; k < l->nproduct; k++)
        w->made[l->product[k]] = tn_i_input(&b, type_of(z, l->product[k]), false);
    for (uint32_t k = 0; k < l->nrow; k++) {
        const tn_type t = with_rows(type_of(z, l->row[k]), z->rows);
        w->rows[l->row[k]] = tn_i_input(&b, &t, false);
    }
    emit_block(w, &b, 0, z->rows);
    for (uint32_t k = 0; k < l->nproduct; k++) out[n++] = w->made[l->product[k]];
    for (uint32_t k = 0; k < l->nsum; k++) out[n++] = w->made[l->sum[k]];
    for (uint32_t k = 0; k < l->nleave; k++) out[n++] = w->made[l->leave[k]];
    if (b.failed) {
        tn_i_builder_drop(&b);
        return NULL;
    }
    return tn_i_finish(&b, n, out);
}

/* -0, to which adding changes no bit. */
static tn_i_var nothing(tn_i_builder *b, const tn_type *t) { return tn_i_number(b, t, -0.0); }

/* The scan's results are put in made[]: of products, stacks of sums, and stacks of rows that leave. */
static bool emit_scan(emission *w, const lists *l, tn_i_var *in) {
    const tn_i_row_block *z = w->z;
    tn_i_builder *b = &w->b;
    const int64_t blocks = z->n / z->rows;
    uint32_t n = 0;
    tn_fn *body = body_of(w, l, in);
    if (!body) return false;
    forget(w, w->made);
    for (uint32_t k = 0; k < l->nwhole; k++) in[n++] = w->map[l->whole[k]];
    for (uint32_t k = 0; k < l->nproduct; k++) in[n++] = nothing(b, type_of(z, l->product[k]));
    for (uint32_t k = 0; k < l->nrow; k++)
        in[n++] = cut_rows(b, slice_rows(b, w->map[l->row[k]], 0, blocks * z->rows), z->rows);
    const tn_i_param none = {.kind = TN_K_NONE};
    const tn_i_param p[TN_MAX_PARAMS] = {{.kind = TN_K_FN, .u.fn = body},
                                         {.kind = TN_K_INT, .u.i = blocks},
                                         {.kind = TN_K_INT, .u.i = l->nwhole},
                                         {.kind = TN_K_INT, .u.i = l->nproduct},
                                         none,
                                         none,
                                         none};
    tn_i_var v = tn_i_emit(b, tn_i_prim(b, TN_P_scan), p, n, in);
    tn_i_fn_unref(body);
    if (v == TN_NOVAR) return false;
    for (uint32_t k = 0; k < l->nproduct; k++) w->made[l->product[k]] = v++;
    for (uint32_t k = 0; k < l->nsum; k++) w->made[l->sum[k]] = v++;
    for (uint32_t k = 0; k < l->nleave; k++) w->made[l->leave[k]] = v++;
    return true;
}

/* ---- leaves ----------------------------------------------------------------------------------------- */

/* Entry (or every second one from `first` on, `count` of them) of a stack. */
static tn_i_var every_second(tn_i_builder *b, tn_i_var pairs, int64_t which) {
    int64_t start[TN_MAX_RANK] = {0, which}, limit[TN_MAX_RANK], shape[TN_MAX_RANK];
    if (b->failed || pairs == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, pairs);
    memcpy(limit, t.dim, (size_t)t.rank * sizeof *limit);
    limit[1] = which + 1;
    shape[0] = t.dim[0];
    memcpy(shape + 1, t.dim + 2, (size_t)(t.rank - 2) * sizeof *shape);
    return tn_i_reshape(b, tn_i_slice(b, pairs, start, limit, NULL), t.rank - 1, shape);
}

/* What the binary counter of plan/nest.h makes of leaves: a stack of whole ones, and one more or TN_NOVAR. */
static tn_i_var put_together(tn_i_builder *b, tn_i_var stack, tn_i_var last) {
    tn_i_var entry[MOST_LEVELS];
    int level[MOST_LEVELS], n = 0, at = 0;
    if (b->failed || stack == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, stack);
    int64_t count = t.dim[0];
    for (; count > 1; count /= 2, at++) {
        if (count % 2) { /* found last, so it stands last */
            level[n] = at;
            entry[n++] = slice_rows(b, stack, count - 1, count);
            stack = slice_rows(b, stack, 0, count - 1);
        }
        const tn_i_var pairs = cut_rows(b, stack, 2);
        const tn_i_var odd = every_second(b, pairs, 1);
        stack = tn_i_op2(b, TN_P_add, every_second(b, pairs, 0), odd);
    }
    level[n] = at;
    entry[n++] = stack;
    for (int k = 0; k < n / 2; k++) { /* the first at the bottom */
        const tn_i_var v = entry[k];
        const int l = level[k];
        entry[k] = entry[n - 1 - k], level[k] = level[n - 1 - k];
        entry[n - 1 - k] = v, level[n - 1 - k] = l;
    }
    for (int k = 0; k < n; k++) entry[k] = tn_i_reshape(b, entry[k], t.rank - 1, t.dim + 1);
    if (last != TN_NOVAR) {
        int its = 0;
        for (; n && level[n - 1] == its; its++) last = tn_i_op2(b, TN_P_add, entry[--n], last);
        entry[n] = last;
        level[n++] = its;
    }
    tn_i_var sum = entry[--n];
    while (n) sum = tn_i_op2(b, TN_P_add, entry[--n], sum);
    return sum;
}

/* ---- the rows that are left ---------------------------------------------------------------------------- */

/* A few rows of the last block among them, so that products choose the kernels that they have for many. */
static void emit_left(emission *w, const lists *l, tn_i_var *blocks) {
    const tn_i_row_block *z = w->z;
    tn_i_builder *b = &w->b;
    const int64_t k = w->left < z->least ? z->least : w->left;
    memcpy(blocks, w->made, z->f->nval * sizeof *blocks);
    for (uint32_t j = 0; j < l->nsum; j++) w->made[l->sum[j]] = TN_NOVAR;
    for (uint32_t j = 0; j < l->nleave; j++) w->made[l->leave[j]] = TN_NOVAR;
    for (uint32_t j = 0; j < l->nwhole; j++) w->whole[l->whole[j]] = w->map[l->whole[j]];
    for (uint32_t j = 0; j < l->nrow; j++) w->rows[l->row[j]] = slice_rows(b, w->map[l->row[j]], z->n - k, z->n);
    emit_block(w, b, k - w->left, k);
}

/* What is read behind the blocks. */
static void collect(emission *w, const lists *l, const tn_i_var *blocks) {
    tn_i_builder *b = &w->b;
    for (uint32_t k = 0; k < l->nproduct; k++) w->map[l->product[k]] = w->made[l->product[k]];
    for (uint32_t k = 0; k < l->nsum; k++)
        w->map[l->sum[k]] = put_together(b, blocks[l->sum[k]], w->left ? w->made[l->sum[k]] : TN_NOVAR);
    for (uint32_t k = 0; k < l->nleave && !b->failed; k++) {
        const tn_i_var v = l->leave[k];
        tn_i_var in[2] = {cut_rows(b, blocks[v], 0), TN_NOVAR};
        if (w->left) {
            const int64_t have = tn_i_vtype(b, w->made[v])->dim[0];
            in[1] = slice_rows(b, w->made[v], have - w->left, have);
            in[0] = tn_i_concatenate(b, 2, in, 0);
        }
        w->map[v] = in[0];
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static void emit_outside(emission *w, bool before) {
    const tn_i_row_block *z = w->z;
    for (uint32_t i = 0; i < z->f->neqn && !w->b.failed; i++) {
        if (z->role[i] > TN_ROW_BLOCK_FREE || (z->before[i] != 0) != before) continue;
        w->b.region = z->f->eqn[i].region;
        tn_i_copy_eqn(&w->b, z->f, &z->f->eqn[i], w->map);
    }
    w->b.region = 0;
}

static tn_fn *emit_all(emission *w, tn_i_var *scratch) {
    const tn_fn *f = w->z->f;
    tn_i_builder *b = &w->b;
    for (uint32_t i = 0; i < f->nin; i++) w->map[i] = tn_i_input(b, f->val[i].type, false);
    emit_outside(w, true);
    const lists l = lists_of(w);
    if (b->failed || !emit_scan(w, &l, scratch)) {
        tn_i_builder_drop(b);
        return NULL;
    }
    if (w->left)
        emit_left(w, &l, scratch);
    else
        memcpy(scratch, w->made, f->nval * sizeof *scratch);
    collect(w, &l, scratch);
    emit_outside(w, false);
    for (uint32_t j = 0; j < f->nout && !b->failed; j++) scratch[j] = tn_i_mapped(b, f, w->map, f->out[j]);
    if (!b->failed) return tn_i_finish(b, f->nout, scratch);
    tn_i_builder_drop(b);
    return NULL;
}

tn_fn *tn_i_row_blocks_emit(const tn_i_row_block *z) {
    const tn_fn *f = z->f;
    const size_t room = 5 * (size_t)f->nval + f->nout;
    emission w = {.z = z, .left = z->n % z->rows};
    tn_fn *g = NULL;
    w.map = tn_i_map_new(f);
    w.rows = tn_i_map_new(f);
    w.whole = tn_i_map_new(f);
    w.made = tn_i_map_new(f);
    w.list = tn_i_alloc_array(f->ctx, room, sizeof *w.list);
    tn_i_var *scratch = tn_i_alloc_array(f->ctx, room, sizeof *scratch);
    if (w.map && w.rows && w.whole && w.made && w.list && scratch) {
        tn_i_builder_init(&w.b, f->ctx);
        w.b.raw = true;
        w.b.named_after = f;
        g = emit_all(&w, scratch);
    }
    if (w.map) tn_i_map_free(f, w.map);
    if (w.rows) tn_i_map_free(f, w.rows);
    if (w.whole) tn_i_map_free(f, w.whole);
    if (w.made) tn_i_map_free(f, w.made);
    tn_i_free(f->ctx, w.list, room * sizeof *w.list);
    tn_i_free(f->ctx, scratch, room * sizeof *scratch);
    return g;
}
