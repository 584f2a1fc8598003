/* Which programs become programs over columns (columns.h): all equations are such that make columns of columns, but for
 * a few that stand aside, and enough of them would be slow as they are. */
#include "base/machine.h"
#include "opt/columns_fit.h"

#include "opt/fuse.h"
#include "opt/equations.h"
#include "prims/linear/dot.h"
#include "prims/linear/gemm.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* A program is rewritten for joined or split rows, or for a sum over short dimensions or a repetition along them, which
 * loops over whole arrays cannot take as they lie in memory; from which sizes on, the machine table says (COLUMN_*). */
enum { MOST_ASIDE = 32, MOST_SEEN = 64 };

static const tn_type *type_of(const tn_fn *f, tn_i_var v) { return f->val[v].type; }

/* ---- columns -------------------------------------------------------------------------------- */

int64_t tn_i_columns_width(const tn_type *t, tn_i_long l) {
    int64_t k = 1;
    for (int d = 0; d < t->rank; d++) k *= tn_i_is_long(l, t, d) ? 1 : t->dim[d];
    return k;
}

tn_type tn_i_column_type(const tn_type *t, tn_i_long l) {
    tn_type to = {.dtype = t->dtype};
    for (int d = 0; d < t->rank; d++)
        if (tn_i_is_long(l, t, d)) to.dim[to.rank++] = t->dim[d];
    return to;
}

bool tn_i_few_columns(const tn_type *t, tn_i_long l) {
    if (tn_i_has_steps(t) || tn_i_count(t) == 0) return false;
    for (int d = 0; d < t->rank; d++)
        if (!tn_i_is_long(l, t, d) && t->dim[d] > TN_M_COLUMN_NUMBERS) return false;
    return tn_i_columns_width(t, l) <= (tn_i_column_type(t, l).rank ? TN_M_COLUMNS : TN_M_COLUMN_NUMBERS);
}

/* ---- equations ------------------------------------------------------------------------------- */

typedef struct fit {
    const tn_fn *f;
    tn_i_long l;
    uint8_t *own;
    uint32_t moves, breaks, aside;
    int64_t cells;
} fit;

static bool is_long(const fit *w, const tn_type *t, int64_t d) { return tn_i_is_long(w->l, t, d); }
static bool has_long(const fit *w, tn_i_var v) { return tn_i_column_type(type_of(w->f, v), w->l).rank > 0; }

/* Of a batch all rows are columns; else columns read what lies side by side apart, each of them all of it. */
static bool few(const fit *w, tn_i_var v) {
    const tn_type *t = type_of(w->f, v);
    return tn_i_few_columns(t, w->l) &&
           (w->l.batch || !has_long(w, v) || tn_i_columns_width(t, w->l) <= TN_M_COLUMN_APART);
}

/* Long dimensions stay long, and short ones short. */
static bool same_kinds(const fit *w, const tn_type *a, const tn_type *b) {
    bool same = a->rank == b->rank;
    for (int d = 0; d < a->rank && same; d++) same = is_long(w, a, d) == is_long(w, b, d);
    return same;
}

static bool same_long(const fit *w, const tn_type *a, const tn_type *b) {
    bool same = same_kinds(w, a, b);
    for (int d = 0; d < a->rank && same; d++) same = !is_long(w, a, d) || a->dim[d] == b->dim[d];
    return same;
}

/* Some of a long dimension of a may be a few of b, as the first and the last of what is rolled; of a grid the edges
 * would be many equations. */
static bool few_of_long(const fit *w, const tn_type *a, const tn_type *b) {
    bool same = a->rank == b->rank && tn_i_column_type(a, w->l).rank == 1;
    for (int d = 0; d < a->rank && same; d++) same = is_long(w, a, d) || !is_long(w, b, d);
    return same && !w->l.batch;
}

/* But in one dimension, of which there are few, or in none. */
static bool few_of_one(const fit *w, const tn_type *a, const tn_type *b) {
    int n = 0;
    if (!few_of_long(w, a, b)) return same_long(w, a, b);
    for (int d = 0; d < a->rank; d++) n += is_long(w, a, d) != is_long(w, b, d);
    return n < 2;
}

/* Between the same long dimensions there are as many columns. */
static bool reshapes_columns(const fit *w, const tn_type *a, const tn_type *b) {
    int i = 0, j = 0;
    for (;;) {
        int64_t left = 1, right = 1;
        for (; i < a->rank && !is_long(w, a, i); i++) left *= a->dim[i];
        for (; j < b->rank && !is_long(w, b, j); j++) right *= b->dim[j];
        if (left != right) return false;
        if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
        if (a->dim[i++] != b->dim[j++]) return false;
    }
}

/* A few of what is joined along a long dimension are one column after another. */
static bool joins_columns(const fit *w, const tn_i_eqn *e) {
    const tn_type *out = type_of(w->f, e->out);
    const int d = (int)tn_i_p(e)[0].u.i;
    int64_t parts = 0;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_type *t = type_of(w->f, tn_i_in(w->f, e)[k]);
        for (int i = 0; i < t->rank; i++)
            if (is_long(w, t, i) != is_long(w, out, i) &&
                (i != d || is_long(w, t, i) || w->l.batch || tn_i_column_type(out, w->l).rank > 1))
                return false;
        parts += is_long(w, t, d) ? 1 : t->dim[d];
    }
    return parts <= MOST_JOINED || !is_long(w, out, d);
}

/* The dimensions that stay are long where they were. */
static bool keeps_kinds(const fit *w, const tn_type *in, const tn_type *out, const tn_i_param *axes) {
    bool same = true;
    int n = 0;
    for (int d = 0; d < in->rank && same; d++) {
        bool stays = true;
        for (uint32_t k = 0; k < axes->n; k++) stays &= axes->u.ints[k] != d;
        if (stays) same = is_long(w, in, d) == is_long(w, out, n++);
    }
    return same;
}

/* Sums over short dimensions, and reductions over long ones; both at once have another order. */
static bool reduces_columns(const fit *w, const tn_i_eqn *e) {
    const tn_type *in = type_of(w->f, tn_i_in(w->f, e)[0]);
    const tn_i_param *axes = &tn_i_p(e)[0];
    bool some_long = false, some_short = false;
    if (type_of(w->f, e->out)->dtype == TN_BOOL || e->prim->fold > TN_FOLD_MIN) return false;
    if (!keeps_kinds(w, in, type_of(w->f, e->out), axes)) return false;
    for (uint32_t k = 0; k < axes->n; k++) *(is_long(w, in, axes->u.ints[k]) ? &some_long : &some_short) = true;
    if (some_long) return !some_short;
    return (e->prim->fold == TN_FOLD_SUM || e->prim->fold == TN_FOLD_PROD) &&
           tn_i_columns_width(in, w->l) <= TN_M_COLUMNS;
}

static bool repeats_columns(const fit *w, const tn_i_eqn *e) {
    const tn_type *in = type_of(w->f, tn_i_in(w->f, e)[0]), *out = type_of(w->f, e->out);
    bool same = true;
    for (int d = 0; d < in->rank && same; d++)
        same = in->dim[d] == 1 || is_long(w, in, d) == is_long(w, out, tn_i_p(e)[1].u.ints[d]);
    return same;
}

static bool permutes_columns(const fit *w, const tn_i_eqn *e) {
    const tn_type *in = type_of(w->f, tn_i_in(w->f, e)[0]), *out = type_of(w->f, e->out);
    bool same = true;
    for (int d = 0; d < out->rank && same; d++) same = is_long(w, out, d) == is_long(w, in, tn_i_p(e)[0].u.ints[d]);
    return same;
}

/* Many products of few numbers: a batch that is long, all else short.  Kernels of our own, on machines that have them,
 * sum these in the order of the inner index with fused multiply-adds (prims/linear/gemm.h), and so do columns. */
static bool multiplies_columns(const fit *w, const tn_i_eqn *e) {
    const tn_i_dots d = tn_i_dots_read(&tn_i_p(e)[0]);
    const tn_type *out = type_of(w->f, e->out), *in[2];
    bool ok = d.ncontract <= 1 && tn_i_is_float(out->dtype) && tn_i_gemm_in_eights(out->dtype, INT64_MAX);
    for (int side = 0; side < 2 && ok; side++) {
        in[side] = type_of(w->f, tn_i_in(w->f, e)[side]);
        const unsigned batch = tn_i_dots_batches(&d, side);
        for (int i = 0; i < in[side]->rank && ok; i++) ok = (batch >> i & 1) || !is_long(w, in[side], i);
        for (uint32_t i = 0; i < d.nbatch && ok; i++)
            ok = d.batch[side][i] == (int64_t)i && is_long(w, in[side], (int)i) == is_long(w, out, (int)i);
    }
    for (int i = (int)d.nbatch; i < out->rank && ok; i++) ok = !is_long(w, out, i);
    if (!ok) return false;
    const int64_t inner = d.ncontract ? in[0]->dim[d.contract[0][0]] : 1;
    return inner * (int64_t)tn_i_dtype_size(out->dtype) < TN_M_COLUMN_SUM &&
           inner * tn_i_columns_width(out, w->l) <= TN_M_COLUMN_PRODUCT;
}

/* Long dimensions as they are: not moved either, as -1 in front and 1 behind do. */
static bool pads_columns(const fit *w, const tn_i_eqn *e) {
    const tn_type *in = type_of(w->f, tn_i_in(w->f, e)[0]);
    const int64_t *config = tn_i_p(e)[0].u.ints;
    bool same = true;
    for (int d = 0; d < in->rank; d++)
        same &= !is_long(w, in, d) || (config[3 * d] == 0 && config[3 * d + 1] == 0 && config[3 * d + 2] == 0);
    return same;
}

/* Choices among all columns of a row, for each of them. */
static bool places_columns(const fit *w, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(w->f, e);
    tn_i_row_places p;
    if (!tn_i_columns_places(w->f, e, w->l, &p)) return false;
    return type_of(w->f, in[0])->dim[p.along] * tn_i_columns_width(type_of(w->f, in[1]), w->l) <= TN_M_COLUMN_PRODUCT;
}

static bool moves_columns(const fit *w, const tn_i_eqn *e) {
    const tn_type *in = type_of(w->f, tn_i_in(w->f, e)[0]), *out = type_of(w->f, e->out);
    switch (e->prim->id) {
    case TN_P_broadcast_in_dim: return repeats_columns(w, e);
    case TN_P_transpose: return permutes_columns(w, e);
    case TN_P_slice: return same_kinds(w, in, out) || few_of_long(w, in, out);
    case TN_P_dot_general: return multiplies_columns(w, e);
    case TN_P_concatenate: return joins_columns(w, e);
    case TN_P_reshape: return reshapes_columns(w, in, out);
    case TN_P_pad: return same_kinds(w, in, out) && pads_columns(w, e);
    case TN_P_slice_add: return few_of_one(w, in, type_of(w->f, tn_i_in(w->f, e)[1]));
    case TN_P_gather:
    case TN_P_scatter:
    case TN_P_scatter_add: return places_columns(w, e);
    default: return e->prim->fold != TN_FOLD_NONE && reduces_columns(w, e);
    }
}

/* Sums over short dimensions, repetitions along them, and small products, of enough elements: else whole arrays are one
 * run, or a few. */
static bool breaks(const fit *w, const tn_i_eqn *e) {
    const tn_type *in = type_of(w->f, tn_i_in(w->f, e)[0]), *out = type_of(w->f, e->out), *t = e->prim->fold ? in : out;
    int64_t along = 1;
    if (e->prim->id == TN_P_dot_general)
        along = tn_i_columns_width(out, w->l);
    else if (e->prim->fold || (e->prim->id == TN_P_broadcast_in_dim && in->rank > 0))
        along = tn_i_columns_width(t, w->l) / tn_i_columns_width(e->prim->fold ? out : in, w->l);
    return along > 1 && tn_i_count(t) / along >= TN_M_COLUMN_PLACES && tn_i_column_type(t, w->l).rank > 0;
}

/* Arrays without long dimensions are numbers one by one; those of many stay arrays, unless numbers make them. */
static bool stays_array(const fit *w, const tn_i_eqn *e) {
    bool numbers = true;
    if (has_long(w, e->out) || tn_i_columns_width(type_of(w->f, e->out), w->l) <= TN_M_COLUMNS) return false;
    for (uint32_t k = 0; k < e->nin; k++)
        numbers &= tn_i_is_literal(w->f, tn_i_in(w->f, e)[k]) || w->own[tn_i_in(w->f, e)[k]];
    return !numbers;
}

static bool fits(fit *w, const tn_i_eqn *e) {
    if (e->nout != 1 || !few(w, e->out) || tn_i_eqn_effect(e) || stays_array(w, e)) return false;
    if (e->prim->flags & TN_F_OFFLOAD) return false;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!few(w, tn_i_in(w->f, e)[k])) return false;
    if (e->prim->id == TN_P_constant || e->prim->id == TN_P_iota) return true;
    if (e->prim->flags & TN_F_ELEMENTWISE) return true;
    if (e->nin == 0 || !moves_columns(w, e)) return false;
    w->moves += has_long(w, e->out) && (e->prim->id == TN_P_concatenate || e->prim->id == TN_P_slice_add);
    w->breaks += breaks(w, e);
    return true;
}

bool tn_i_columns_constant(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    const tn_i_eqn *e = def < f->neqn ? &f->eqn[def] : NULL;
    if (!e || e->prim->id == TN_P_constant) return e != NULL;
    return e->prim->id == TN_P_broadcast_in_dim && tn_i_is_literal(f, tn_i_in(f, e)[0]);
}

/* Whether v can be in memory for an equation that stands aside: others like it make it, it is known, or it is a column,
 * or a few that a program is called with, or a few numbers.  For windows, as a scatter has them, some columns are put
 * together where they are made: no loop but theirs reads them. */
static bool can_be_whole(const fit *w, const tn_i_eqn *e, tn_i_var v) {
    if (!w->own[v] || tn_i_columns_constant(w->f, v)) return true;
    const int64_t most = e->prim->id == TN_P_call || !has_long(w, v) ? TN_M_COLUMNS
                         : e->prim->windows                          ? TN_M_COLUMN_APART
                                                                     : 1;
    return tn_i_few_columns(type_of(w->f, v), w->l) && tn_i_columns_width(type_of(w->f, v), w->l) <= most;
}

/* An equation that takes no part; or it views columns put together, as results are in another shape. */
static bool stands_aside(const fit *w, const tn_i_eqn *e) {
    if (e->prim->flags & (TN_F_LOOP | TN_F_OFFLOAD) || tn_i_eqn_effect(e)) return false;
    const tn_i_var v = e->nin ? tn_i_in(w->f, e)[0] : TN_NOVAR;
    if (e->prim->flags & TN_F_VIEW)
        return tn_i_few_columns(type_of(w->f, v), w->l) && tn_i_columns_width(type_of(w->f, v), w->l) <= TN_M_COLUMNS;
    for (uint32_t k = 0; k < e->nin; k++)
        if (!can_be_whole(w, e, tn_i_in(w->f, e)[k])) return false;
    return true;
}

/* A view of what is in memory anyway, across its rows. */
static bool looks_across(const fit *w, const tn_i_eqn *e) {
    const tn_i_var v = e->nin == 1 ? tn_i_in(w->f, e)[0] : TN_NOVAR;
    return v != TN_NOVAR && e->nout == 1 && (e->prim->flags & TN_F_VIEW) && !tn_i_is_literal(w->f, v) && !w->own[v];
}

/* ---- programs ---------------------------------------------------------------------------------- */

static bool all_fit(fit *w) {
    const tn_fn *f = w->f;
    memset(w->own, 0, f->nval);
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool across = looks_across(w, e);
        if (across && !has_long(w, tn_i_in(f, e)[0])) continue;
        if (fits(w, e)) {
            w->own[e->out] = 1;
            w->cells += tn_i_columns_width(type_of(f, e->out), w->l);
        } else if (!across && (!stands_aside(w, e) || ++w->aside > MOST_ASIDE))
            return false;
    }
    for (uint32_t j = 0; j < f->nout; j++)
        if (w->own[f->out[j]] && tn_i_columns_width(type_of(f, f->out[j]), w->l) > TN_M_COLUMNS) return false;
    return w->cells <= TN_M_COLUMN_CELLS;
}

/* The first dimension that most values have, the longest of several. */
bool tn_i_columns_batch(const tn_fn *f, int64_t *n) {
    typedef struct seen {
        int64_t n;
        uint32_t count;
    } seen;
    seen some[MOST_SEEN], best = {0, 0};
    uint32_t nsome = 0;
    for (uint32_t v = f->nin; v < f->nval; v++) {
        const tn_type *t = type_of(f, v);
        if (tn_i_is_literal(f, v) || t->rank == 0 || t->dim[0] < TN_M_COLUMN_BATCH) continue;
        uint32_t k = 0;
        while (k < nsome && some[k].n != t->dim[0]) k++;
        if (k == MOST_SEEN) continue;
        if (k == nsome) some[nsome++] = (seen){t->dim[0], 0};
        const uint32_t count = ++some[k].count;
        if (count > best.count || (count == best.count && some[k].n > best.n)) best = some[k];
    }
    *n = best.n;
    return best.count > 0;
}

/* All dimensions but a batch's count as short where rows are joined or split; else those that loops are slow along. */
bool tn_i_columns_fit(const tn_fn *f, uint8_t *own, tn_i_long *l) {
    int64_t n;
    const bool batched = tn_i_columns_batch(f, &n);
    fit batch = {.f = f, .l = {n, true}, .own = own};
    *l = batch.l;
    if (batched && all_fit(&batch) && batch.moves >= TN_M_COLUMN_MOVES) return true;
    fit rows = {.f = f, .l = {TN_M_COLUMN_SHORT + 1, false}, .own = own};
    *l = rows.l;
    return all_fit(&rows) && rows.breaks > 0;
}
