/* Which equations run in blocks of rows, and whether that pays. */
#include "base/machine.h"
#include "plan/row_blocks.h"

#include "opt/fuse.h"
#include "plan/nest.h"
#include "prims/linear/dot.h"
#include "prims/ids.h"

#include <string.h>

/* Rows; elements of a row that is summed within blocks; bytes that must be in play, and that a block may touch. */
enum { LEAST_ROWS = TN_DOT_WHOLE + 1 };

/* What a value is. */
enum { OUTSIDE, FREE, ROW, SUM, BEHIND };

typedef struct search {
    tn_i_row_block z;
    const tn_fn *fused;
    uint32_t *first; /* of each equation of `fused`: its first one in z.f */
    tn_i_var *at;    /* of each value of `fused`: in z.f */
    uint8_t *state;  /* of each value of z.f */
    uint8_t *seen;
} search;

static const tn_type *type_of(const tn_fn *f, tn_i_var v) { return f->val[v].type; }
static bool has_rows(const tn_type *t, int64_t n) { return t->rank > 0 && t->dim[0] == n; }

/* ---- memory --------------------------------------------------------------------------------- */

static bool alloc(search *s, const tn_fn *g) {
    tn_ctx *c = g->ctx;
    s->z.f = g;
    return (s->z.role = tn_i_alloc(c, g->neqn)) && (s->z.before = tn_i_alloc(c, g->neqn)) &&
           (s->z.leaves = tn_i_alloc(c, g->nval)) && (s->z.by_row = tn_i_alloc(c, g->nval)) &&
           (s->z.whole = tn_i_alloc(c, g->nval)) && (s->state = tn_i_alloc(c, g->nval)) &&
           (s->seen = tn_i_alloc(c, g->nval));
}

static void drop(search *s) {
    const tn_fn *g = s->z.f;
    if (!g) return;
    tn_i_free(g->ctx, s->z.role, g->neqn);
    tn_i_free(g->ctx, s->z.before, g->neqn);
    tn_i_free(g->ctx, s->z.leaves, g->nval);
    tn_i_free(g->ctx, s->z.by_row, g->nval);
    tn_i_free(g->ctx, s->z.whole, g->nval);
    tn_i_free(g->ctx, s->state, g->nval);
    tn_i_free(g->ctx, s->seen, g->nval);
}

/* ---- equations ----------------------------------------------------------------------------- */

static bool has_axis(const tn_i_param *p, int64_t axis) {
    for (uint32_t k = 0; k < p->n; k++)
        if (p->u.ints[k] == axis) return true;
    return false;
}

static bool batched_by_rows(const tn_i_dots *d) { return d->nbatch && d->batch[0][0] == 0 && d->batch[1][0] == 0; }

/* The operand whose free dimension comes first in the result, which its dimension 0 is then; -1: there is none. */
static int leading_side(const tn_type *const t[2], const tn_i_dots *d) {
    if (d->nbatch) return -1;
    const int side = t[0]->rank == (int32_t)d->ncontract;
    for (uint32_t k = 0; k < d->ncontract; k++)
        if (d->contract[side][k] == 0) return -1;
    return t[side]->rank ? side : -1;
}

/* Every row of the product has the bits that it has in any other number of rows. */
static bool rows_alike(const tn_type *const t[2], const tn_i_dots *d, int side, int64_t n) {
    double inner = 1, row = 1, columns = 1;
    for (uint32_t k = 0; k < d->ncontract; k++) inner *= (double)t[side]->dim[d->contract[side][k]];
    row = (double)tn_i_count(t[side]) / (double)n / inner;
    columns = (double)tn_i_count(t[1 - side]) / inner;
    if (d->ncontract > 1 || !(columns >= 1)) return false;
    if (columns == 1 || inner == 1) return true;
    if (inner * columns <= 8) return false;
    if (inner <= (t[0]->dtype == TN_F64 ? TN_M_GEMM_ALIKE_F64 : TN_M_GEMM_ALIKE_F32)) return true;
    const double each = row * columns * inner;
    return each * TN_M_ROW_BLOCK_ROWS_LARGE > TN_M_GEMM_LARGE_WORK ||
           (inner <= TN_M_GEMM_IN_ORDER && each * (double)n <= TN_M_GEMM_SMALL_WORK);
}

static tn_i_row_block_role role_of_dot(const tn_fn *f, const tn_i_eqn *e, int64_t n) {
    const tn_type *const t[2] = {type_of(f, tn_i_in(f, e)[0]), type_of(f, tn_i_in(f, e)[1])};
    const tn_i_dots d = tn_i_dots_read(tn_i_p(e));
    if (!tn_i_is_float(t[0]->dtype)) return TN_ROW_BLOCK_NOT;
    if (batched_by_rows(&d)) return has_rows(t[0], n) ? TN_ROW_BLOCK_ROWS : TN_ROW_BLOCK_NOT;
    if (d.nbatch) return TN_ROW_BLOCK_NOT;
    if (d.ncontract == 1 && d.contract[0][0] == 0 && d.contract[1][0] == 0 && has_rows(t[0], n))
        return tn_i_dot_in_parts(tn_i_p(e), t[0], t[1]) ? TN_ROW_BLOCK_PRODUCT : TN_ROW_BLOCK_NOT;
    const int side = leading_side(t, &d);
    return side >= 0 && has_rows(t[side], n) && rows_alike(t, &d, side, n) ? TN_ROW_BLOCK_ROWS : TN_ROW_BLOCK_NOT;
}

static tn_i_row_block_role role_of_fold(const tn_fn *f, const tn_i_eqn *e, int64_t n) {
    const tn_type *t = type_of(f, tn_i_in(f, e)[0]);
    const tn_i_param *axes = &tn_i_p(e)[0];
    if (!has_rows(t, n)) return TN_ROW_BLOCK_NOT;
    if (!has_axis(axes, 0)) return TN_ROW_BLOCK_ROWS;
    const bool wide = axes->n == 1 && tn_i_count(t) / n >= TN_M_ROW_BLOCK_WIDTH;
    return wide && e->prim->fold == TN_FOLD_SUM && tn_i_is_float(t->dtype) ? TN_ROW_BLOCK_SUM : TN_ROW_BLOCK_NOT;
}

static tn_i_row_block_role role_of_view(const tn_fn *f, const tn_i_eqn *e) {
    const tn_i_rows rows = tn_i_rows_of(f, e);
    return rows == TN_ROWS_OWN ? TN_ROW_BLOCK_ROWS : rows == TN_ROWS_ALIKE ? TN_ROW_BLOCK_FREE : TN_ROW_BLOCK_NOT;
}

/* By its shapes alone. */
static tn_i_row_block_role role_of(const search *s, const tn_i_eqn *e) {
    const tn_fn *f = s->z.f;
    const int64_t n = s->z.n;
    if (e->nout != 1 || e->prim->flags & TN_F_OFFLOAD) return TN_ROW_BLOCK_NOT;
    if (e->prim->id == TN_P_dot_general) return role_of_dot(f, e, n);
    if (e->nin == 1 && e->prim->fold != TN_FOLD_NONE) return role_of_fold(f, e, n);
    if (!has_rows(type_of(f, e->out), n)) return TN_ROW_BLOCK_NOT;
    if (e->prim->flags & TN_F_ELEMENTWISE) return TN_ROW_BLOCK_ROWS;
    return role_of_view(f, e);
}

unsigned tn_i_row_block_rowwise(const tn_i_row_block *z, const tn_i_eqn *e, tn_i_row_block_role role) {
    const tn_fn *f = z->f;
    unsigned mask = 0;
    if (role == TN_ROW_BLOCK_NOT || role == TN_ROW_BLOCK_FREE) return 0;
    if (e->prim->id == TN_P_dot_general) {
        const tn_type *const t[2] = {type_of(f, tn_i_in(f, e)[0]), type_of(f, tn_i_in(f, e)[1])};
        const tn_i_dots d = tn_i_dots_read(tn_i_p(e));
        return role == TN_ROW_BLOCK_PRODUCT || d.nbatch ? 3 : 1u << leading_side(t, &d);
    }
    for (uint32_t k = 0; k < e->nin; k++)
        if (type_of(f, tn_i_in(f, e)[k])->rank) mask |= 1u << k;
    return mask;
}

/* ---- values --------------------------------------------------------------------------------- */

static bool operands_fit(const search *s, const tn_i_eqn *e, unsigned rowwise, bool *rows, bool *behind) {
    bool fits = e->nin <= 32;
    *rows = *behind = false;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var v = tn_i_in(s->z.f, e)[k];
        const uint8_t state = s->state[v];
        const bool row = k < 32 && (rowwise >> k & 1);
        *rows |= state == ROW;
        *behind |= state == SUM || state == BEHIND;
        if (state == ROW && !row) fits = false;
        if (row && (!has_rows(type_of(s->z.f, v), s->z.n) || type_of(s->z.f, v)->rank == TN_MAX_RANK)) fits = false;
    }
    return fits && !*behind;
}

static void classify(search *s) {
    const tn_fn *f = s->z.f;
    memset(s->state, OUTSIDE, f->nval);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        bool rows, behind;
        tn_i_row_block_role role = role_of(s, e);
        if (!operands_fit(s, e, tn_i_row_block_rowwise(&s->z, e, role), &rows, &behind)) role = TN_ROW_BLOCK_NOT;
        s->z.role[i] = (uint8_t)role;
        static const uint8_t made[] = {[TN_ROW_BLOCK_FREE] = FREE,
                                       [TN_ROW_BLOCK_ROWS] = ROW,
                                       [TN_ROW_BLOCK_PRODUCT] = SUM,
                                       [TN_ROW_BLOCK_SUM] = SUM};
        const uint8_t state = role != TN_ROW_BLOCK_NOT ? made[role] : rows || behind ? BEHIND : OUTSIDE;
        for (uint32_t j = 0; j < e->nout; j++) s->state[e->out + j] = state;
    }
}

/* Whether equation i runs in blocks, as far as it needs no other way. */
static bool in_block(const tn_i_row_block *z, uint32_t i) { return z->role[i] > TN_ROW_BLOCK_FREE; }

/* Rows that no rows are made of, and that no blocks read, are made outside; so are those with nothing to sum behind
 * them where the whole is read. */
static void drop_idle(search *s) {
    const tn_fn *f = s->z.f;
    memset(s->seen, 0, f->nval); /* of each value: blocks read it */
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        if (!in_block(&s->z, i)) continue;
        bool rows = false;
        for (uint32_t k = 0; k < e->nin; k++) rows |= s->state[tn_i_in(f, e)[k]] == ROW;
        if (s->z.role[i] == TN_ROW_BLOCK_ROWS && !rows && !s->seen[e->out]) {
            s->z.role[i] = TN_ROW_BLOCK_NOT;
            s->state[e->out] = OUTSIDE;
            continue;
        }
        for (uint32_t k = 0; k < e->nin; k++) s->seen[tn_i_in(f, e)[k]] = 1;
    }
}

static void need(search *s, tn_i_var v) {
    const uint32_t def = s->z.f->val[v].def;
    if (def < s->z.f->neqn && !in_block(&s->z, def)) s->z.before[def] = 1;
}

/* Who reads what: of blocks outside, of outside blocks. */
static void note_readers(search *s) {
    const tn_fn *f = s->z.f;
    memset(s->z.leaves, 0, f->nval);
    memset(s->z.by_row, 0, f->nval);
    memset(s->z.whole, 0, f->nval);
    memset(s->z.before, 0, f->neqn);
    for (uint32_t j = 0; j < f->nout; j++) s->z.leaves[f->out[j]] = s->state[f->out[j]] == ROW;
    for (uint32_t i = f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &f->eqn[i];
        const unsigned rowwise = tn_i_row_block_rowwise(&s->z, e, s->z.role[i]);
        const bool block = in_block(&s->z, i) || (s->z.role[i] == TN_ROW_BLOCK_FREE && s->seen[e->out]);
        for (uint32_t k = 0; k < e->nin; k++) {
            const tn_i_var v = tn_i_in(f, e)[k];
            const bool row = block && (rowwise >> k & 1);
            if (s->state[v] == ROW) s->z.leaves[v] |= !in_block(&s->z, i);
            if (s->z.before[i]) need(s, v);
            if (!block || s->state[v] == ROW || tn_i_is_literal(f, v)) continue;
            if (row && s->state[v] == FREE) continue;
            *(row ? &s->z.by_row[v] : &s->z.whole[v]) = 1;
            need(s, v);
        }
    }
}

/* ---- whether it pays ---------------------------------------------------------------------------- */

static bool is_view(const tn_i_eqn *e) { return (e->prim->flags & TN_F_VIEW) && e->nin == 1 && e->nout == 1; }

static tn_i_var viewed(const tn_fn *f, tn_i_var v) {
    while (f->val[v].def < f->neqn && is_view(&f->eqn[f->val[v].def])) v = tn_i_in(f, &f->eqn[f->val[v].def])[0];
    return v;
}

static double row_bytes(const search *s, tn_i_var v) {
    const tn_type *t = type_of(s->z.f, viewed(s->z.f, v));
    return has_rows(t, s->z.n) ? (double)tn_type_bytes(t) : 0;
}

/* Bytes of arrays that blocks read, once for each. */
static double bytes_seen(search *s) {
    const tn_fn *f = s->z.f;
    double bytes = 0;
    memset(s->seen, 0, f->nval);
    for (uint32_t v = 0; v < f->nval; v++) {
        const tn_i_var x = viewed(f, v);
        if (s->z.by_row[v] && !s->seen[x]) bytes += row_bytes(s, v);
        if (s->z.by_row[v]) s->seen[x] = 1;
        if (s->z.leaves[v]) bytes += 2 * (double)tn_type_bytes(type_of(f, v));
    }
    return bytes;
}

/* Bytes that step i of the fused program moves between memory and its rows, if it is one of the blocks. */
static double step_bytes(const search *s, uint32_t i, double *made) {
    const tn_i_eqn *e = &s->fused->eqn[i];
    bool block = false;
    double bytes = 0;
    *made = 0;
    for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++) block |= in_block(&s->z, k);
    if (!block || is_view(e)) return 0;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!tn_i_is_literal(s->fused, tn_i_in(s->fused, e)[k])) bytes += row_bytes(s, s->at[tn_i_in(s->fused, e)[k]]);
    for (uint32_t j = 0; j < e->nout; j++)
        if (s->state[s->at[e->out + j]] == ROW) *made += row_bytes(s, s->at[e->out + j]);
    return bytes + *made;
}

/* A product that in no block is small, and is made of packed operands: few rows would mostly pack. */
static bool is_large(const tn_fn *f, const tn_i_eqn *e, int64_t n) {
    tn_i_cost cost = {0};
    return e->prim->id == TN_P_dot_general && tn_i_eqn_cost(f, e, &cost) &&
           cost.products / (double)n * TN_M_ROW_BLOCK_ROWS_LARGE > TN_M_GEMM_LARGE_WORK;
}

/* Sets how many rows a block has. */
static bool pays(search *s) {
    tn_i_row_block *z = &s->z;
    double moved = 0, all = 0, most = 0, sums = 0, made;
    bool leaf = false, large = false;
    for (uint32_t i = 0; i < s->fused->neqn; i++) {
        const double bytes = step_bytes(s, i, &made);
        moved += bytes;
        all += made;
        if (bytes > most) most = bytes;
    }
    for (uint32_t i = 0; i < z->f->neqn; i++) {
        leaf |= z->role[i] == TN_ROW_BLOCK_SUM;
        large |= z->role[i] == TN_ROW_BLOCK_ROWS && is_large(z->f, &z->f->eqn[i], z->n);
        if (z->role[i] > TN_ROW_BLOCK_ROWS) sums += (double)tn_type_bytes(type_of(z->f, z->f->eqn[i].out));
    }
    z->rows = large || leaf ? TN_LEAF : TN_DOT_PART;
    if (large && most / (double)z->n * 2 * TN_LEAF <= TN_M_PANEL_BYTES) z->rows = 2 * TN_LEAF;
    z->least = large ? TN_M_ROW_BLOCK_ROWS_LARGE : TN_M_ROW_BLOCK_ROWS;
    const double once = bytes_seen(s), blocks = (double)(z->n / z->rows + 1);
    return moved - once - 4 * blocks * sums >= TN_M_ROW_BLOCK_GAIN && all + once >= TN_M_ROW_BLOCK_GAIN &&
           most / (double)z->n * (double)z->rows <= (large ? TN_M_PANEL_BYTES : TN_M_ROW_BLOCK_BYTES) &&
           (!large || z->n >= TN_M_ROW_BLOCK_PANELS * z->rows);
}

/* ---- programs -------------------------------------------------------------------------------------- */

/* The first dimension of the largest array; 0: none is large. */
static int64_t length_of(const tn_fn *f) {
    int64_t best = 0;
    size_t most = TN_M_ROW_BLOCK_GAIN / 2;
    for (uint32_t v = 0; v < f->nval; v++) {
        const tn_type *t = type_of(f, v);
        if (tn_i_has_steps(t)) return 0;
        if (t->rank == 0 || t->dim[0] < LEAST_ROWS || tn_type_bytes(t) <= most) continue;
        most = tn_type_bytes(t);
        best = t->dim[0];
    }
    return best;
}

static bool may_block(const tn_fn *f) {
    uint32_t products = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        if (e->prim->flags & (TN_F_OFFLOAD) || (e->prim->effect && e->prim->effect(tn_i_p(e)))) return false;
        products += e->prim->id == TN_P_dot_general;
    }
    return products > 0 && !f->effect;
}

static void inline_fused(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    tn_i_var in[TN_NEST_ARRAYS], out[TN_NEST_ARRAYS];
    if (e->nin > TN_NEST_ARRAYS || e->nout > TN_NEST_ARRAYS) {
        tn_i_builder_fail(b, TN_ELIMIT, "a nest of %u operands", (unsigned)e->nin);
        return;
    }
    for (uint32_t k = 0; k < e->nin; k++) in[k] = tn_i_mapped(b, f, map, tn_i_in(f, e)[k]);
    tn_i_inline(b, tn_i_p(e)[1].u.fn, in, out);
    for (uint32_t j = 0; j < e->nout; j++) map[e->out + j] = out[j];
}

/* What is fused with nothing fused; whence its equations and values come. */
static tn_fn *unfused(search *s) {
    const tn_fn *f = s->fused;
    tn_i_builder b;
    tn_i_builder_init(&b, f->ctx);
    b.raw = true;
    b.named_after = f;
    for (uint32_t i = 0; i < f->nin; i++) s->at[i] = tn_i_input(&b, type_of(f, i), false);
    for (uint32_t i = 0; i < f->neqn && !b.failed; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        s->first[i] = (uint32_t)b.neqn;
        b.region = e->region;
        if (e->prim->id == TN_P_fused)
            inline_fused(&b, f, e, s->at);
        else
            tn_i_copy_eqn(&b, f, e, s->at);
    }
    s->first[f->neqn] = (uint32_t)b.neqn;
    tn_i_var *out = b.failed ? NULL : tn_i_alloc_array(f->ctx, f->nout, sizeof *out);
    for (uint32_t j = 0; out && j < f->nout; j++) out[j] = tn_i_mapped(&b, f, s->at, f->out[j]);
    tn_fn *g = NULL;
    if (out)
        g = tn_i_finish(&b, f->nout, out);
    else
        tn_i_builder_drop(&b);
    tn_i_free(f->ctx, out, f->nout * sizeof *out);
    return g;
}

static const tn_fn *banded(search *s) {
    tn_fn *g = unfused(s), *h = NULL, *fused = NULL;
    if (g && alloc(s, g)) {
        classify(s);
        drop_idle(s);
        note_readers(s);
        if (!pays(s))
            fused = (tn_fn *)(uintptr_t)tn_i_fn_ref(s->fused);
        else if ((h = tn_i_row_blocks_emit(&s->z)))
            fused = tn_i_fuse(h);
    }
    drop(s);
    tn_i_fn_unref(g);
    tn_i_fn_unref(h);
    return fused;
}

const tn_fn *tn_i_row_blocks(const tn_fn *f) {
    search all = {.fused = f}, *const s = &all;
    s->z.n = may_block(f) ? length_of(f) : 0;
    s->z.part = TN_DOT_PART;
    if (s->z.n == 0) return tn_i_fn_ref(f);
    s->first = tn_i_alloc_array(f->ctx, (size_t)f->neqn + 1, sizeof *s->first);
    s->at = tn_i_map_new(f);
    const tn_fn *g = s->first && s->at ? banded(s) : NULL;
    tn_i_free(f->ctx, s->first, ((size_t)f->neqn + 1) * sizeof *s->first);
    if (s->at) tn_i_map_free(f, s->at);
    return g;
}
