/* Small arrays that are looked up, written to in one place, padded or joined, as equations that nests compute: a call
 * of a kernel takes longer than they do, and a loop whose steps have no other is one loop program.
 *
 *     gather, dynamic_slice           gather of single elements of a vector, by one index each
 *     dynamic_update_slice, scatter   select of a mask; the window is padded, or spread
 *     scatter_add                     as scatter; at a place that is known the sum with the padded window
 *     scatters to places all known    the updates gathered, by what goes where
 *     what leaves the program, or is reshaped, and is put together where it is read: a copy of it
 *
 * Bits are those of the kernels: what is padded is -0 where it is added, and updates are added one after another. */
#include "base/machine.h"
#include "opt/fuse.h"
#include "opt/lookup.h"
#include "opt/space.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/windows.h"

#include <string.h>

/* A window in an array: where it begins in each dimension, known or not. */
typedef struct window {
    int64_t size[TN_MAX_RANK], at[TN_MAX_RANK];
    tn_i_var start[TN_MAX_RANK]; /* TN_NOVAR: at */
    bool clip;
} window;

static bool small(const tn_fn *f, tn_i_var v) {
    return tn_i_count(f->val[v].type) >= 1 && tn_i_count(f->val[v].type) <= TN_M_MOVE_ELEMENTS;
}

static bool admits(const tn_fn *f, const tn_i_eqn *e) {
    for (uint32_t k = 0; k < e->nin; k++)
        if (f->val[tn_i_in(f, e)[k]].type->varying) return false;
    return e->nout == 1 && !f->val[e->out].type->varying && tn_i_space_admits(f, e);
}

static bool known_whole(const tn_i_builder *b, tn_i_var v, int64_t *x) {
    uint64_t bits;
    if (!tn_i_known_scalar(b, v, &bits)) return false;
    *x = tn_i_vtype(b, v)->dtype == TN_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    return true;
}

static int64_t within(int64_t x, int64_t last) { return x < 0 ? 0 : x > last ? last : x; }

/* The same, in memory. */
static tn_i_var copied(tn_i_builder *b, tn_i_var x) {
    const tn_i_param same = {.kind = TN_K_DTYPE, .u.i = x == TN_NOVAR ? TN_F64 : tn_i_vtype(b, x)->dtype};
    return tn_i_emit(b, tn_i_prim(b, TN_P_convert_element_type), &same, 1, &x);
}

/* ---- one window ---- */

/* Elements from..to of dimension d, of all of shape t. */
static tn_i_var mask_known(tn_i_builder *b, const tn_type *t, int d, int64_t from, int64_t to) {
    const tn_type line = {.dtype = TN_BOOL, .rank = 1, .dim = {t->dim[d]}};
    const int64_t along = d;
    uint8_t is[TN_M_MOVE_ELEMENTS];
    for (int64_t i = 0; i < t->dim[d]; i++) is[i] = i >= from && i < to;
    return tn_i_broadcast(b, tn_i_constant(b, &line, is), t->rank, t->dim, &along);
}

/* The element of dimension d that `start` is. */
static tn_i_var mask_at(tn_i_builder *b, const tn_type *t, int d, tn_i_var start, bool clip) {
    const int64_t n = t->dim[d], along = d;
    const int dtype = tn_i_vtype(b, start)->dtype;
    const tn_i_var at = clip ? tn_i_clamped(b, start, n - 1) : start;
    const tn_i_var line = tn_i_iota(b, dtype, 1, &n, 0);
    const tn_i_var is = tn_i_op2(b, TN_P_eq, line, tn_i_broadcast(b, at, 1, &n, NULL));
    return tn_i_broadcast(b, is, t->rank, t->dim, &along);
}

/* Whether masks and pads say where it is; `none`: it is known to be outside. */
static bool settles(const tn_type *t, window *w, bool *none) {
    *none = false;
    for (int d = 0; d < t->rank; d++) {
        const int64_t last = t->dim[d] - w->size[d];
        if (last == 0 && w->clip) w->start[d] = TN_NOVAR, w->at[d] = 0;
        if (w->start[d] != TN_NOVAR) {
            if (w->size[d] != 1) return false;
            continue;
        }
        if (w->clip) w->at[d] = within(w->at[d], last);
        *none |= w->at[d] < 0 || w->at[d] > last;
    }
    return true;
}

/* Whether dimension d of a window is padded to the array's; else it is repeated there, or all of it. */
static bool is_padded(const tn_type *t, const window *w, int d) {
    return w->start[d] == TN_NOVAR && w->size[d] != t->dim[d];
}

/* u, of the window's shape, over all of x: with `fill` around where it is padded. */
static tn_i_var spread(tn_i_builder *b, const tn_type *t, const window *w, tn_i_var u, tn_i_var fill) {
    int64_t config[3 * TN_MAX_RANK] = {0}, dims[TN_MAX_RANK];
    bool pads = false;
    for (int d = 0; d < t->rank; d++) {
        dims[d] = d;
        if (!is_padded(t, w, d)) continue;
        pads = true;
        config[3 * d] = w->at[d];
        config[3 * d + 1] = t->dim[d] - w->size[d] - w->at[d];
    }
    if (pads) u = tn_i_pad(b, u, fill, config); /* which no view of it is */
    for (int d = 0; u != TN_NOVAR && d < t->rank; d++)
        if (tn_i_vtype(b, u)->dim[d] != t->dim[d]) return tn_i_broadcast(b, u, t->rank, t->dim, dims);
    return u;
}

/* x with u in, or added to, the window. */
static tn_i_var put_window(tn_i_builder *b, tn_i_var x, tn_i_var u, const window *w, bool adds) {
    const tn_type t = *tn_i_vtype(b, x);
    tn_i_var mask = TN_NOVAR;
    bool padded = true; /* nothing is added elsewhere */
    for (int d = 0; d < t.rank; d++) padded &= w->start[d] == TN_NOVAR;
    const tn_i_var fill = tn_i_literal_f64(b, t.dtype, adds && tn_i_is_float(t.dtype) ? -0.0 : 0.0);
    u = spread(b, &t, w, tn_i_reshape(b, u, t.rank, w->size), fill);
    const tn_i_var y = adds ? tn_i_op2(b, TN_P_add, x, u) : u;
    if (adds && padded) return y;
    for (int d = 0; d < t.rank; d++) {
        tn_i_var m;
        if (w->start[d] != TN_NOVAR)
            m = mask_at(b, &t, d, w->start[d], w->clip);
        else if (w->size[d] == t.dim[d])
            continue;
        else
            m = mask_known(b, &t, d, w->at[d], w->at[d] + w->size[d]);
        mask = mask == TN_NOVAR ? m : tn_i_op2(b, TN_P_and, mask, m);
    }
    return mask == TN_NOVAR ? y : tn_i_op3(b, TN_P_select, mask, y, x);
}

static bool put_update_slice(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_i_var *in = tn_i_in(f, e);
    const tn_type *t = f->val[e->out].type, *u = f->val[in[1]].type;
    window w = {.clip = true};
    bool none;
    if (tn_i_count(u) < 1) return false;
    for (int d = 0; d < t->rank; d++) {
        const tn_i_var start = tn_i_mapped(b, f, map, in[2 + d]);
        w.size[d] = u->dim[d];
        w.start[d] = known_whole(b, start, &w.at[d]) ? TN_NOVAR : start;
    }
    if (!settles(t, &w, &none)) return false;
    map[e->out] = put_window(b, tn_i_mapped(b, f, map, in[0]), tn_i_mapped(b, f, map, in[1]), &w, false);
    return true;
}

/* Number i of the entries of index vectors. */
static tn_i_var entry(tn_i_builder *b, tn_i_var indices, int64_t i) {
    const int64_t n = tn_i_count(tn_i_vtype(b, indices)), to = i + 1;
    return tn_i_reshape(b, tn_i_slice(b, tn_i_reshape(b, indices, 1, &n), &i, &to, NULL), 0, NULL);
}

/* Of updates the window that is number i of their batch. */
static tn_i_var update(tn_i_builder *b, tn_i_var updates, const tn_i_dnums *d, int64_t i) {
    const tn_type t = *tn_i_vtype(b, updates);
    int64_t from[TN_MAX_RANK] = {0}, to[TN_MAX_RANK];
    for (int k = t.rank; k-- > 0;) {
        to[k] = t.dim[k];
        if (tn_i_dnums_has(d, TN_WINDOW, k)) continue;
        from[k] = i % t.dim[k];
        to[k] = from[k] + 1;
        i /= t.dim[k];
    }
    return tn_i_slice(b, updates, from, to, NULL);
}

/* Where window number i begins; false: masks cannot say. */
static bool window_at(tn_i_builder *b, const tn_type *t, const tn_i_dnums *d, tn_i_var indices, int64_t i, window *w,
                      bool *none) {
    for (int k = 0; k < t->rank; k++) {
        w->start[k] = TN_NOVAR;
        w->at[k] = 0;
    }
    for (uint32_t c = 0; c < d->n[TN_MAP]; c++) {
        const int64_t k = d->v[TN_MAP][c], at = i * (int64_t)d->n[TN_MAP] + c;
        if (tn_i_known_index(b, indices, (uint32_t)at, &w->at[k])) continue;
        if (w->size[k] != 1) return false;
        w->start[k] = entry(b, indices, at);
    }
    return settles(t, w, none);
}

/* One window after the other, as they would be written. */
static bool put_scatter_windows(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_i_var *in = tn_i_in(f, e), indices = tn_i_mapped(b, f, map, in[1]);
    const tn_type t = *f->val[e->out].type, *u = f->val[in[2]].type;
    window w = {.clip = tn_i_scatter_clips(tn_i_p(e))};
    tn_i_dnums d;
    int64_t all = 1;
    bool none;
    tn_i_dnums_read(&d, &tn_i_p(e)[TN_SCATTER_DNUMS]);
    tn_i_window_sizes(&d, &t, u, w.size);
    for (int k = 0; k < t.rank; k++) {
        all *= w.size[k];
        if (w.size[k] > t.dim[k]) return false;
    }
    const int64_t windows = all ? tn_i_count(u) / all : 0;
    if (d.n[TN_OPERAND_BATCH] || windows < 1 || windows > TN_M_MOVE_ELEMENTS / tn_i_count(&t)) return false;
    const tn_i_var v = tn_i_mapped(b, f, map, in[2]);
    tn_i_var y = tn_i_mapped(b, f, map, in[0]);
    for (int64_t i = 0; i < windows; i++) {
        if (!window_at(b, &t, &d, indices, i, &w, &none)) return false;
        if (!none) y = put_window(b, y, update(b, v, &d, i), &w, e->prim->id == TN_P_scatter_add);
    }
    map[e->out] = y;
    return true;
}

/* ---- places that are all known ---- */

/* What goes to each element: updates by number, in their order, `n` of them; -1 behind the last. */
typedef struct places {
    int32_t from[TN_M_MOVE_ROUNDS][TN_M_MOVE_LOOKUPS];
    int rounds;
} places;

static bool note(places *p, int64_t to, int32_t update, bool adds) {
    int r = 0;
    while (adds && r < TN_M_MOVE_ROUNDS && p->from[r][to] >= 0) r++;
    if (r == TN_M_MOVE_ROUNDS) return false;
    p->from[r][to] = update;
    if (r >= p->rounds) p->rounds = r + 1;
    return true;
}

/* Walks the windows of updates of these types. */
static bool find_places(const tn_i_eqn *e, const tn_fn *f, const void *index, places *p) {
    const tn_i_var *in = tn_i_in(f, e);
    tn_i_arr out = {.type = f->val[e->out].type},
             indices = {.type = f->val[in[1]].type, .data = (void *)(uintptr_t)index},
             updates = {.type = f->val[in[2]].type};
    tn_i_scattered s;
    tn_i_dense_strides(out.type, out.stride);
    tn_i_dense_strides(indices.type, indices.stride);
    tn_i_dense_strides(updates.type, updates.stride);
    tn_i_scattered_init(&s, tn_i_p(e), &out, &indices, &updates);
    memset(p, 0xFF, sizeof *p);
    p->rounds = 0;
    const int64_t all = tn_i_count(updates.type);
    while (tn_i_scattered_next(&s))
        for (int64_t i = 0; i < all; i++) { /* positions in a window, by its dimensions */
            int64_t rest = i, to = s.w.from, from = s.w.to;
            for (int d = s.rank; d-- > 0; rest /= s.dim[d]) {
                to += rest % s.dim[d] * s.to[d];
                from += rest % s.dim[d] * s.from[d];
            }
            if (rest) break;
            if (!note(p, to, (int32_t)from, e->prim->id == TN_P_scatter_add)) return false;
        }
    return true;
}

/* For each element of type t its update of round r, and `fill` where there is none. */
static tn_i_var gathered(tn_i_builder *b, const tn_type *t, tn_i_var updates, const places *p, int r, bool adds) {
    const int64_t n = tn_i_count(t), m = tn_i_count(tn_i_vtype(b, updates)), one = 1;
    const tn_type column = {.dtype = TN_I32, .rank = 2, .dim = {n, 1}};
    const tn_i_dnums d = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};
    const bool minus = adds && tn_i_is_float(t->dtype);
    const tn_i_param minus_0 = {.kind = TN_K_NUMBER, .n = TN_F64, .u.i = INT64_MIN};
    const tn_i_var at = tn_i_constant(b, &column, p->from[r]), line = tn_i_reshape(b, updates, 1, &m);
    return tn_i_reshape(b, tn_i_gather(b, line, at, &d, &one, TN_FILL, minus ? &minus_0 : &tn_i_fill_zero), t->rank,
                        t->dim);
}

/* Elements that are known, in their order. */
static const void *constant_data(const tn_i_builder *b, tn_i_var v) {
    const int64_t n = tn_i_count(tn_i_vtype(b, v));
    const tn_i_eqn *e = tn_i_def(b, v);
    while (e && (e->prim->id == TN_P_reshape || e->prim->id == TN_P_broadcast_in_dim)) {
        v = b->pool[e->in];
        if (tn_i_count(tn_i_vtype(b, v)) != n) return NULL;
        e = tn_i_def(b, v);
    }
    return e && e->prim->id == TN_P_constant ? tn_i_blob_data(tn_i_p(e)[0].u.blob) : NULL;
}

static bool put_scatter_known(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_i_var *in = tn_i_in(f, e), indices = tn_i_mapped(b, f, map, in[1]);
    const tn_type t = *f->val[e->out].type;
    const bool adds = e->prim->id == TN_P_scatter_add;
    const void *data = constant_data(b, indices);
    places p;
    if (!data || tn_i_count(&t) < 2 || tn_i_count(&t) > TN_M_MOVE_LOOKUPS || !small(f, in[2]) ||
        tn_i_count(f->val[in[1]].type) <= f->val[in[1]].type->dim[f->val[in[1]].type->rank - 1] ||
        !find_places(e, f, data, &p))
        return false;
    tn_i_var y = tn_i_mapped(b, f, map, in[0]);
    const tn_i_var updates = tn_i_mapped(b, f, map, in[2]);
    for (int r = 0; r < p.rounds; r++) {
        const tn_i_var u = gathered(b, &t, updates, &p, r, adds);
        if (adds) {
            y = tn_i_op2(b, TN_P_add, y, u);
            continue;
        }
        const int64_t n = tn_i_count(&t);
        const tn_type line = {.dtype = TN_BOOL, .rank = 1, .dim = {n}};
        uint8_t is[TN_M_MOVE_ELEMENTS];
        for (int64_t i = 0; i < n; i++) is[i] = p.from[r][i] >= 0;
        y = tn_i_op3(b, TN_P_select, tn_i_reshape(b, tn_i_constant(b, &line, is), t.rank, t.dim), u, y);
    }
    map[e->out] = y;
    return true;
}

/* ---- lookups ---- */

/* Elements of x, flat, at `index`, of the shape of t, as type t has them; fill: NULL, all are inside. */
static tn_i_var look_up(tn_i_builder *b, tn_i_var x, tn_i_var index, const tn_type *t, const tn_i_param *fill) {
    const tn_i_dnums d = {.n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1}};
    const int64_t all = tn_i_count(tn_i_vtype(b, x)), n = tn_i_count(t), one = 1, zero = 0;
    int64_t shape[TN_MAX_RANK];
    int rank = t->rank;
    if (n == 1 || rank == TN_MAX_RANK) { /* of one element nests are none */
        rank = 1;
        shape[0] = n < 2 ? 2 : n;
        index = tn_i_reshape(b, index, 1, &n);
        if (n == 1) index = tn_i_broadcast(b, index, 1, shape, &zero);
    } else
        memcpy(shape, t->dim, sizeof shape);
    shape[rank] = 1;
    const tn_i_eqn *made = tn_i_def(b, x);
    if (made && (made->prim->id == TN_P_iota || made->prim->id == TN_P_pad || made->prim->id == TN_P_concatenate))
        x = copied(b, x);
    tn_i_var y = tn_i_gather(b, tn_i_reshape(b, x, 1, &all), tn_i_reshape(b, index, rank + 1, shape), &d, &one,
                             fill ? TN_FILL : TN_CLIP, fill);
    if (n == 1) y = tn_i_slice(b, y, &zero, &one, NULL);
    return tn_i_reshape(b, y, t->rank, t->dim);
}

/* How far the elements of a window, which has dimensions dims[0..n) of type t, are from its first, as an array of t. */
static tn_i_var offsets(tn_i_builder *b, const tn_type *t, int dtype, int n, const int64_t *dims,
                        const int64_t *stride) {
    tn_type whole = *t;
    int64_t wide[TN_M_MOVE_LOOKUPS];
    int32_t narrow[TN_M_MOVE_LOOKUPS];
    whole.dtype = dtype;
    for (int64_t i = 0; i < tn_i_count(t); i++) {
        int64_t rest = i, at[TN_MAX_RANK], off = 0;
        for (int d = t->rank; d-- > 0; rest /= t->dim[d]) at[d] = rest % t->dim[d];
        for (int j = 0; j < n; j++) off += at[dims[j]] * stride[j];
        wide[i] = off;
        narrow[i] = (int32_t)off;
    }
    return tn_i_constant(b, &whole, dtype == TN_I32 ? (const void *)narrow : wide);
}

static bool put_slice(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_i_var *in = tn_i_in(f, e);
    const tn_type *x = f->val[in[0]].type, t = *f->val[e->out].type;
    const int dtype = e->nin > 1 ? f->val[in[1]].type->dtype : TN_I32;
    int64_t stride[TN_MAX_RANK], dims[TN_MAX_RANK];
    tn_i_var base = TN_NOVAR;
    if (tn_i_count(x) > INT32_MAX || tn_i_count(&t) > TN_M_MOVE_LOOKUPS || !tn_i_in_a_row(f, in[0])) return false;
    tn_i_dense_strides(x, stride);
    for (int d = 0; d < x->rank; d++) {
        dims[d] = d;
        if (t.dim[d] == x->dim[d]) continue;
        const tn_i_var at = tn_i_clamped(b, tn_i_mapped(b, f, map, in[1 + d]), x->dim[d] - t.dim[d]);
        const tn_i_var far = tn_i_op2(b, TN_P_mul, at, tn_i_literal_i64(b, dtype, stride[d]));
        base = base == TN_NOVAR ? far : tn_i_op2(b, TN_P_add, base, far);
    }
    if (base == TN_NOVAR) return false;
    tn_i_var index = tn_i_broadcast(b, base, t.rank, t.dim, NULL);
    if (tn_i_count(&t) > 1) index = tn_i_op2(b, TN_P_add, index, offsets(b, &t, dtype, t.rank, dims, stride));
    map[e->out] = look_up(b, tn_i_mapped(b, f, map, in[0]), index, &t, NULL);
    return true;
}

static bool put_gather(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    enum { DNUMS, SIZES, MODE, FILL };
    const tn_i_var *in = tn_i_in(f, e), indices = tn_i_mapped(b, f, map, in[1]);
    const tn_type *x = f->val[in[0]].type, t = *f->val[e->out].type;
    const int dtype = f->val[in[1]].type->dtype;
    const bool fills = tn_i_p(e)[MODE].u.i == TN_FILL;
    int64_t stride[TN_MAX_RANK], along[TN_MAX_RANK], far[TN_MAX_RANK];
    tn_i_dnums d;
    tn_i_lookup k;
    tn_i_dnums_read(&d, &tn_i_p(e)[DNUMS]);
    if (d.n[TN_OPERAND_BATCH] || tn_i_lookup_of(f, e, &k) || tn_i_count(x) > INT32_MAX ||
        tn_i_count(&t) > TN_M_MOVE_LOOKUPS || !tn_i_in_a_row(f, in[0]))
        return false;
    tn_i_dense_strides(x, stride);
    if (d.n[TN_MAP] == 0) return false;
    const tn_i_var base = tn_i_flat_index(b, x, tn_i_p(e)[SIZES].u.ints, stride, &d, indices, !fills);
    int batch = 0, windows = 0;
    for (int j = 0; j < t.rank; j++)
        if (!tn_i_dnums_has(&d, TN_WINDOW, j)) along[batch++] = j;
    tn_i_var index = tn_i_broadcast(b, base, t.rank, t.dim, along);
    for (int i = 0; i < x->rank; i++)
        if (tn_i_in_window(&d, i)) far[windows++] = stride[i];
    if (windows) {
        const tn_i_var there = tn_i_op2(b, TN_P_add, index, offsets(b, &t, dtype, windows, d.v[TN_WINDOW], far));
        const tn_type whole = *tn_i_vtype(b, index);
        index =
            fills ? tn_i_op3(b, TN_P_select, tn_i_op2(b, TN_P_lt, index, tn_i_whole_number(b, &whole, 0)), index, there)
                  : there;
    }
    map[e->out] = look_up(b, tn_i_mapped(b, f, map, in[0]), index, &t, fills ? &tn_i_p(e)[FILL] : NULL);
    return true;
}

/* ---- put together ---- */

/* Runs that are too short for parts of a nest (opt/space.c): each operand over all, and a choice. */
static bool put_joined(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_type t = *f->val[e->out].type;
    const int64_t along = tn_i_p(e)[0].u.i;
    int64_t at = 0;
    tn_i_var y = TN_NOVAR;
    if (e->nin < 2 || e->nin > TN_M_MOVE_JOINED || tn_i_space_joins(f, e) || tn_i_space_weaves(f, e)) return false;
    for (uint32_t k = 0; k < e->nin; k++) {
        const tn_i_var x = tn_i_mapped(b, f, map, tn_i_in(f, e)[k]);
        window w = {.clip = true};
        memcpy(w.size, tn_i_vtype(b, x)->dim, sizeof w.size);
        for (int d = 0; d < t.rank; d++) w.start[d] = TN_NOVAR;
        w.at[along] = at;
        at += w.size[along];
        y = k ? put_window(b, y, x, &w, false) : spread(b, &t, &w, x, tn_i_literal_f64(b, t.dtype, 0));
    }
    map[e->out] = y;
    return true;
}

/* What no box is (opt/space.h): each element is looked up, or is the value. */
static bool put_pad(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_type *x = f->val[tn_i_in(f, e)[0]].type, t = *f->val[e->out].type;
    const tn_type line = {.dtype = TN_I32, .rank = 1, .dim = {tn_i_count(&t)}};
    const tn_type mask = {.dtype = TN_BOOL, .rank = 1, .dim = {tn_i_count(&t)}};
    tn_i_box box;
    int32_t from[TN_M_MOVE_ELEMENTS];
    uint8_t is[TN_M_MOVE_ELEMENTS];
    if (tn_i_count(&t) > TN_M_MOVE_LOOKUPS || tn_i_box_of(f, e, &box)) return false;
    for (int64_t i = 0; i < tn_i_count(&t); i++) {
        int64_t rest = i, at = 0, stride = 1;
        is[i] = 1;
        for (int d = t.rank; d-- > 0; rest /= t.dim[d]) {
            const int64_t *config = tn_i_p(e)[0].u.ints + 3 * d, step = config[2] + 1;
            const int64_t p = rest % t.dim[d] - config[0];
            is[i] &= p >= 0 && p % step == 0 && p / step < x->dim[d];
            at += is[i] ? p / step * stride : 0;
            stride *= x->dim[d];
        }
        from[i] = is[i] ? (int32_t)at : 0;
    }
    const tn_i_var v = tn_i_mapped(b, f, map, tn_i_in(f, e)[0]), value = tn_i_mapped(b, f, map, tn_i_in(f, e)[1]);
    const tn_i_var y = tn_i_count(x) == 1 ? tn_i_broadcast(b, tn_i_reshape(b, v, 0, NULL), t.rank, t.dim, NULL)
                                          : look_up(b, v, tn_i_constant(b, &line, from), &t, NULL);
    const tn_i_var inside = tn_i_reshape(b, tn_i_constant(b, &mask, is), t.rank, t.dim);
    map[e->out] = tn_i_op3(b, TN_P_select, inside, y, tn_i_broadcast(b, value, t.rank, t.dim, NULL));
    return true;
}

/* Without strides that a reshape could keep. */
static bool is_repeated(const tn_fn *f, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    if (tn_i_is_literal(f, v) || def >= f->neqn) return false;
    const int id = f->eqn[def].prim->id;
    return (id == TN_P_broadcast_in_dim && !tn_i_is_literal(f, tn_i_in(f, &f->eqn[def])[0])) || id == TN_P_rev ||
           id == TN_P_transpose;
}

static bool put_reshape(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    const tn_i_var x = tn_i_in(f, e)[0];
    if (tn_i_count(f->val[x].type) < 2 || !is_repeated(f, x)) return false;
    const tn_type *t = f->val[e->out].type;
    map[e->out] = tn_i_reshape(b, copied(b, tn_i_mapped(b, f, map, x)), t->rank, t->dim);
    return true;
}

/* Put together where nests read it, and by a kernel or a copy where others do. */
static bool made_where_read(const tn_fn *f, const tn_i_eqn *e) {
    switch (e->prim->id) {
    case TN_P_pad:
    case TN_P_iota:
    case TN_P_broadcast_in_dim:
    case TN_P_rev: return tn_i_space_admits(f, e);
    case TN_P_concatenate: return tn_i_space_joins(f, e) && !tn_i_space_weaves(f, e);
    default: return false;
    }
}

/* What loops take, but what is repeated, which they copy to where it goes; and what there are no views of. */
static bool read_by_others(const tn_fn *f, const tn_i_eqn *e, tn_i_var v) {
    const uint32_t def = f->val[v].def;
    if (def >= f->neqn) return false;
    const int id = f->eqn[def].prim->id;
    return (e->prim->flags & TN_F_LOOP && id == TN_P_iota) ||
           (e->prim->flags & (TN_F_LOOP | TN_F_VIEW) && (id == TN_P_pad || id == TN_P_concatenate));
}

enum { OUTPUT = 1, ELSEWHERE = 2 }; /* who reads a value, other than nests */

static uint8_t *find_leaves(const tn_fn *f) {
    uint8_t *leaves = tn_i_alloc(f->ctx, f->nval);
    if (!leaves) return NULL;
    memset(leaves, 0, f->nval);
    for (uint32_t j = 0; j < f->nout; j++) leaves[f->out[j]] = OUTPUT;
    for (uint32_t i = 0; i < f->neqn; i++)
        for (uint32_t k = 0; k < f->eqn[i].nin; k++) {
            const tn_i_var v = tn_i_in(f, &f->eqn[i])[k];
            if (read_by_others(f, &f->eqn[i], v)) leaves[v] |= ELSEWHERE;
        }
    return leaves;
}

/* An iota, which no nest has to make. */
static tn_i_var counted(tn_i_builder *b, const tn_i_eqn *e, const tn_type *t) {
    int64_t after = 1;
    uint64_t x[TN_M_MOVE_ELEMENTS];
    const int dimension = (int)tn_i_p(e)[2].u.i;
    const size_t size = tn_i_dtype_size(t->dtype);
    if (t->dtype == TN_BOOL) return TN_NOVAR;
    for (int d = dimension + 1; d < t->rank; d++) after *= t->dim[d];
    for (int64_t i = 0; i < tn_i_count(t); i++)
        tn_i_element_set(t->dtype, (char *)x + (size_t)i * size, (double)(i / after % t->dim[dimension]));
    return tn_i_constant(b, t, x);
}

typedef struct moves {
    const uint8_t *leaves; /* of each value */
} moves;

/* What is moved element by element, if it is small; and what is only put together, of any size. */
static bool put_small(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map) {
    switch (e->prim->id) {
    case TN_P_dynamic_update_slice: return put_update_slice(b, f, e, map);
    case TN_P_scatter:
    case TN_P_scatter_add: return put_scatter_known(b, f, e, map) || put_scatter_windows(b, f, e, map);
    case TN_P_dynamic_slice: return put_slice(b, f, e, map);
    case TN_P_gather: return put_gather(b, f, e, map);
    case TN_P_reshape: return put_reshape(b, f, e, map);
    case TN_P_concatenate: return put_joined(b, f, e, map);
    case TN_P_pad: return put_pad(b, f, e, map);
    default: return false;
    }
}

static bool is_copied(const tn_fn *f, const tn_i_eqn *e, const moves *z) {
    const int id = e->prim->id; /* iotas become constants, and parts of a large array are made where they go */
    const bool any = z->leaves[e->out] & OUTPUT && id != TN_P_iota && id != TN_P_concatenate;
    return z->leaves[e->out] && (any || small(f, e->out)) && made_where_read(f, e);
}

static bool put(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map, const void *with) {
    const moves *z = with;
    if (!admits(f, e)) return false;
    if (small(f, e->out) && put_small(b, f, e, map)) return true;
    if (!is_copied(f, e, z)) return false;
    const tn_i_var numbers = e->prim->id == TN_P_iota ? counted(b, e, f->val[e->out].type) : TN_NOVAR;
    tn_i_copy_eqn(b, f, e, map);
    map[e->out] = numbers == TN_NOVAR ? copied(b, map[e->out]) : numbers;
    return true;
}

static bool may_move(const tn_fn *f, const tn_i_eqn *e, const moves *z) {
    if (!admits(f, e)) return false;
    switch (e->prim->id) {
    case TN_P_dynamic_update_slice:
    case TN_P_scatter:
    case TN_P_scatter_add:
    case TN_P_dynamic_slice:
    case TN_P_gather:
    case TN_P_reshape:
    case TN_P_concatenate:
    case TN_P_pad:
        if (small(f, e->out)) return true;
        break;
    default: break;
    }
    return is_copied(f, e, z);
}

tn_fn *tn_i_small_moves(const tn_fn *f) {
    const moves z = {.leaves = find_leaves(f)};
    uint32_t n = 0;
    if (!z.leaves) return NULL;
    for (uint32_t i = 0; i < f->neqn; i++) n += may_move(f, &f->eqn[i], &z);
    tn_fn *g = n && n <= TN_M_MOVES ? tn_i_rewritten(f, NULL, f->neqn, put, &z) : (tn_fn *)(uintptr_t)tn_i_fn_ref(f);
    tn_i_free(f->ctx, (void *)(uintptr_t)z.leaves, f->nval);
    return g;
}
