/* Columns of what moves: slices, concatenations, transposes and broadcasts choose columns, and move the long dimensions
 * of each alone. */
#include "base/machine.h"
#include "opt/columns_cells.h"

#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* The operand, and its index, of which the element at `to` of e's output is a copy. */
static uint32_t source(const tn_i_cells *c, const tn_i_eqn *e, const int64_t *to, int64_t *from) {
    const tn_i_param *p = tn_i_p(e);
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = tn_i_cell_type(c->f, in[0]), *out = tn_i_cell_type(c->f, e->out);
    uint32_t i = 0;
    switch (e->prim->id) {
    case TN_P_broadcast_in_dim:
        for (int d = 0; d < t->rank; d++) from[d] = t->dim[d] == 1 ? 0 : to[p[1].u.ints[d]];
        break;
    case TN_P_transpose:
        for (int d = 0; d < out->rank; d++) from[p[0].u.ints[d]] = to[d];
        break;
    case TN_P_slice:
        for (int d = 0; d < t->rank; d++)
            from[d] = p[0].u.ints[d] + to[d] * (p[2].kind == TN_K_NONE ? 1 : p[2].u.ints[d]);
        break;
    case TN_P_concatenate:
        memcpy(from, to, (size_t)out->rank * sizeof *to);
        while (from[p[0].u.i] >= tn_i_cell_type(c->f, in[i])->dim[p[0].u.i])
            from[p[0].u.i] -= tn_i_cell_type(c->f, in[i++])->dim[p[0].u.i];
        break;
    default: /* reshape */ tn_i_cell_index(c, t, tn_i_cell_column(c, out, to), from); break;
    }
    return i;
}

int tn_i_cell_place(const tn_i_cells *c, const tn_type *t, int64_t d) {
    int n = 0;
    for (int i = 0; i < d; i++) n += tn_i_is_long(c->l, t, i);
    return n;
}

static tn_i_var repeat_column(tn_i_cells *c, const tn_i_eqn *e, tn_i_var x) {
    const tn_type *t = tn_i_cell_type(c->f, tn_i_in(c->f, e)[0]), *out = tn_i_cell_type(c->f, e->out);
    const tn_type to = tn_i_column_type(out, c->l);
    int64_t dims[TN_MAX_RANK];
    int n = 0;
    for (int d = 0; d < t->rank; d++)
        if (tn_i_is_long(c->l, t, d)) dims[n++] = tn_i_cell_place(c, out, tn_i_p(e)[1].u.ints[d]);
    return n == to.rank ? x : tn_i_broadcast(c->b, x, to.rank, to.dim, dims);
}

static tn_i_var permute_column(tn_i_cells *c, const tn_i_eqn *e, tn_i_var x) {
    const tn_type *t = tn_i_cell_type(c->f, tn_i_in(c->f, e)[0]), *out = tn_i_cell_type(c->f, e->out);
    int64_t perm[TN_MAX_RANK];
    int n = 0;
    bool same = true;
    for (int d = 0; d < out->rank; d++) {
        if (!tn_i_is_long(c->l, out, d)) continue;
        perm[n] = tn_i_cell_place(c, t, tn_i_p(e)[0].u.ints[d]);
        same &= perm[n] == n;
        n++;
    }
    return same ? x : tn_i_permute(c->b, x, perm);
}

/* Of a long dimension of which there are few in the slice, what is at `from`. */
static tn_i_var slice_column(tn_i_cells *c, const tn_i_eqn *e, const int64_t *from, tn_i_var x) {
    const tn_type *t = tn_i_cell_type(c->f, tn_i_in(c->f, e)[0]), *out = tn_i_cell_type(c->f, e->out);
    const tn_i_param *p = tn_i_p(e);
    const tn_type to = tn_i_column_type(out, c->l);
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], step[TN_MAX_RANK];
    int n = 0;
    bool same = true;
    for (int d = 0; d < t->rank; d++) {
        if (!tn_i_is_long(c->l, t, d)) continue;
        const bool one = !tn_i_is_long(c->l, out, d);
        start[n] = one ? from[d] : p[0].u.ints[d];
        limit[n] = one ? from[d] + 1 : p[1].u.ints[d];
        step[n++] = one || p[2].kind == TN_K_NONE ? 1 : p[2].u.ints[d];
        same &= !one && out->dim[d] == t->dim[d];
    }
    if (same) return x;
    x = tn_i_slice(c->b, x, start, limit, step);
    return n == to.rank ? x : tn_i_reshape(c->b, x, to.rank, to.dim);
}

/* What v has of dimension d, which is long in an array around it: its column at `index`, or those of all its indices
 * there, one after another; of the long dimensions of t, and as much of them as v has.  The number of parts. */
static uint32_t parts_along(tn_i_cells *c, tn_i_var v, const tn_type *t, int d, const int64_t *index, tn_i_var *part) {
    const tn_type *own = tn_i_cell_type(c->f, v), to = tn_i_column_type(own, c->l);
    const int64_t n = tn_i_is_long(c->l, own, d) ? 1 : own->dim[d];
    int64_t at[TN_MAX_RANK];
    tn_type one = {.dtype = own->dtype};
    for (int i = 0; i < t->rank; i++)
        if (tn_i_is_long(c->l, t, i)) one.dim[one.rank++] = i == d && !tn_i_is_long(c->l, own, d) ? 1 : own->dim[i];
    memcpy(at, index, (size_t)t->rank * sizeof *at);
    for (int64_t j = 0; j < n; j++) {
        at[d] = j;
        const tn_i_cell x = tn_i_cells_of(c, v)[tn_i_cell_column(c, own, at)];
        part[j] = x.wide && to.rank == one.rank ? x.v
                  : x.wide                      ? tn_i_reshape(c->b, x.v, one.rank, one.dim)
                                                : tn_i_broadcast(c->b, x.v, one.rank, one.dim, NULL);
    }
    return (uint32_t)n;
}

/* Column k of what e joins along a long dimension. */
static tn_i_var join_columns(tn_i_cells *c, const tn_i_eqn *e, int64_t k) {
    const tn_type *out = tn_i_cell_type(c->f, e->out);
    const int d = (int)tn_i_p(e)[0].u.i;
    int64_t index[TN_MAX_RANK];
    tn_i_var part[MOST_JOINED];
    uint32_t n = 0;
    tn_i_cell_index(c, out, k, index);
    for (uint32_t i = 0; i < e->nin; i++) n += parts_along(c, tn_i_in(c->f, e)[i], out, d, index, part + n);
    return tn_i_concatenate(c->b, n, part, tn_i_cell_place(c, out, d));
}

/* What e does to the long dimensions of a column x that it moves. */
static tn_i_var moved_column(tn_i_cells *c, const tn_i_eqn *e, const int64_t *from, tn_i_var x) {
    switch (e->prim->id) {
    case TN_P_broadcast_in_dim: return repeat_column(c, e, x);
    case TN_P_transpose: return permute_column(c, e, x);
    case TN_P_slice: return slice_column(c, e, from, x);
    default: return x;
    }
}

void tn_i_cells_move(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_type *out = tn_i_cell_type(c->f, e->out);
    const int64_t count = tn_i_cell_count(c, e->out);
    const bool joins = e->prim->id == TN_P_concatenate && tn_i_is_long(c->l, out, tn_i_p(e)[0].u.i);
    for (int64_t k = 0; k < count && !c->b->failed; k++) {
        int64_t to[TN_MAX_RANK], from[TN_MAX_RANK] = {0};
        if (joins) {
            tn_i_cells_of(c, e->out)[k] = (tn_i_cell){join_columns(c, e, k), true, false};
            continue;
        }
        tn_i_cell_index(c, out, k, to);
        const tn_i_var v = tn_i_in(c->f, e)[source(c, e, to, from)];
        tn_i_cell x = tn_i_cells_of(c, v)[tn_i_cell_column(c, tn_i_cell_type(c->f, v), from)];
        if (x.wide) x.v = moved_column(c, e, from, x.v);
        x.wide = x.wide && tn_i_column_type(out, c->l).rank > 0;
        tn_i_cells_of(c, e->out)[k] = x;
    }
}

/* Elements amid copies of a number. */
void tn_i_cells_pad(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = tn_i_cell_type(c->f, in[0]), *out = tn_i_cell_type(c->f, e->out);
    const int64_t count = tn_i_cell_count(c, e->out), *config = tn_i_p(e)[0].u.ints;
    for (int64_t k = 0; k < count; k++) {
        int64_t to[TN_MAX_RANK], from[TN_MAX_RANK] = {0};
        bool inside = true;
        tn_i_cell_index(c, out, k, to);
        for (int d = 0; d < t->rank; d++) {
            if (tn_i_is_long(c->l, t, d)) continue;
            const int64_t at = to[d] - config[3 * d], step = config[3 * d + 2] + 1;
            inside &= at >= 0 && at % step == 0 && at / step < t->dim[d];
            from[d] = at / step;
        }
        tn_i_cells_of(c, e->out)[k] =
            inside ? tn_i_cells_of(c, in[0])[tn_i_cell_column(c, t, from)] : *tn_i_cells_of(c, in[1]);
    }
}

/* Whether u, that is added to t, has all of t's long dimensions; else *few: the one of which it has few, or -1. */
static bool is_all(const tn_i_cells *c, const tn_i_eqn *e, const tn_type *t, const tn_type *u, int *few) {
    const tn_i_param *p = tn_i_p(e);
    bool all = true;
    *few = -1;
    for (int d = 0; d < t->rank; d++) {
        if (!tn_i_is_long(c->l, t, d)) continue;
        all &= p[0].u.ints[d] == 0 && u->dim[d] == t->dim[d];
        if (!tn_i_is_long(c->l, u, d)) *few = d;
    }
    return all;
}

/* A part of long dimensions is added to: x with the column of operand 1 at `at`, or with few of them. */
static tn_i_cell add_part(tn_i_cells *c, const tn_i_eqn *e, tn_i_cell x, const int64_t *at, int few) {
    const tn_i_var u = tn_i_in(c->f, e)[1];
    const tn_type *t = tn_i_cell_type(c->f, e->out), to = tn_i_column_type(t, c->l);
    const tn_i_param *p = tn_i_p(e);
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK], step[TN_MAX_RANK];
    tn_i_var part[TN_M_COLUMNS];
    int d = few < 0 ? 0 : few, n = 0;
    while (!tn_i_is_long(c->l, t, d)) d++;
    const uint32_t parts = parts_along(c, u, t, d, at, part);
    const tn_i_var all = parts > 1 ? tn_i_concatenate(c->b, parts, part, tn_i_cell_place(c, t, d)) : part[0];
    for (int i = 0; i < t->rank; i++) {
        if (!tn_i_is_long(c->l, t, i)) continue;
        start[n] = p[0].u.ints[i];
        limit[n] = p[1].u.ints[i];
        step[n++] = p[2].kind == TN_K_NONE ? 1 : p[2].u.ints[i];
    }
    return (tn_i_cell){tn_i_slice_add(c->b, tn_i_cell_widened(c, x, &to), all, start, limit, step), true, false};
}

/* Zeros that things are added to are those of the linear program. */
void tn_i_cells_slice_add(tn_i_cells *c, const tn_i_eqn *e) {
    const tn_i_var *in = tn_i_in(c->f, e);
    const tn_type *t = tn_i_cell_type(c->f, in[0]), *u = tn_i_cell_type(c->f, in[1]);
    const int64_t count = tn_i_cell_count(c, in[0]);
    int few;
    const bool all = is_all(c, e, t, u, &few);
    for (int64_t k = 0; k < count; k++) {
        tn_i_cell x = tn_i_cells_of(c, in[0])[k];
        int64_t at[TN_MAX_RANK], config[3];
        bool inside = true;
        tn_i_cell_index(c, t, k, at);
        for (int d = 0; d < t->rank; d++) {
            if (tn_i_is_long(c->l, t, d)) continue;
            tn_i_slice_padding(tn_i_p(e), t, u, d, config);
            at[d] -= config[0];
            inside &= at[d] >= 0 && at[d] % (config[2] + 1) == 0 && at[d] / (config[2] + 1) < u->dim[d];
            at[d] /= config[2] + 1;
        }
        x.none |= tn_i_cell_known_zero(c, x);
        tn_i_cells_of(c, e->out)[k] = !inside ? x
                                      : all   ? tn_i_cell_sum(c, x, tn_i_cells_of(c, in[1])[tn_i_cell_column(c, u, at)])
                                              : add_part(c, e, x, at, few);
    }
}
