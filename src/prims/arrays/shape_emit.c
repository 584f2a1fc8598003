/* Checks, costs and emitters of the shape and index primitives. */
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* ---- type rules ------------------------------------------------------------------ */

bool tn_i_params_given(tn_i_query *q) {
    const tn_i_spec *s = q->prim->params;
    for (uint32_t k = 0; s[k].name; k++) {
        if (q->p[k].kind == s[k].kind || (s[k].otherwise && q->p[k].kind == TN_K_NONE)) continue;
        return tn_i_type_fail(
            q, -1, q->p[k].kind == TN_K_NONE ? "parameter %s is missing" : "parameter %s is of the wrong kind",
            s[k].name);
    }
    return true;
}

bool tn_i_rank_fits(tn_i_query *q, uint32_t rank) {
    if (rank <= TN_MAX_RANK) return true;
    return tn_i_type_fail(q, -1, "the result would have rank %u (at most %d)", (unsigned)rank, TN_MAX_RANK);
}

bool tn_i_length_is(tn_i_query *q, uint32_t k, uint32_t want, const char *what) {
    if (q->p[k].n == want) return true;
    return tn_i_type_fail(q, -1, "%s has length %u, but %s is %u", q->prim->params[k].name, (unsigned)q->p[k].n, what,
                          (unsigned)want);
}

bool tn_i_axes_valid(tn_i_query *q, const char *name, uint32_t n, const int64_t *v, int rank, bool increasing) {
    unsigned seen = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i] < 0 || v[i] >= rank)
            return tn_i_type_fail(q, -1, "%s: %lld is no dimension of an array of rank %d", name, (long long)v[i],
                                  rank);
        if (seen >> v[i] & 1) return tn_i_type_fail(q, -1, "%s: dimension %lld is repeated", name, (long long)v[i]);
        if (increasing && i && v[i] < v[i - 1]) return tn_i_type_fail(q, -1, "%s must be increasing", name);
        seen |= 1u << v[i];
    }
    return true;
}

bool tn_i_same_dtype(tn_i_query *q, uint32_t i) {
    if (q->in[i]->dtype == q->in[0]->dtype) return true;
    return tn_i_type_fail(q, (int)i, "dtype %s differs from %s; use convert_element_type (tn_convert)",
                          tn_i_dtype_name(q->in[i]->dtype), tn_i_dtype_name(q->in[0]->dtype));
}

bool tn_i_indices_valid(tn_i_query *q, uint32_t first) {
    const int rank = q->in[0]->rank;
    if (q->nin != first + (uint32_t)rank)
        return tn_i_type_fail(q, -1, "takes one start index per dimension of operand 0 (%d), not %u", rank,
                              (unsigned)(q->nin - first));
    for (uint32_t i = first; i < q->nin; i++) {
        if (q->in[i]->rank != 0 || !tn_i_is_index(q->in[i]->dtype))
            return tn_i_type_fail(q, (int)i, "a start index must be a scalar of dtype i32 or i64");
        if (q->in[i]->dtype != q->in[first]->dtype)
            return tn_i_type_fail(q, (int)i, "start indices must have the same dtype");
    }
    return true;
}

/* ---- costs -------------------------------------------------------------------------- */

void tn_i_cost_copy(const tn_i_query *q, tn_i_cost *cost) {
    for (uint32_t i = 0; i < q->nin; i++) cost->bytes += tn_i_bytes_of(q->in[i]);
    for (uint32_t j = 0; j < q->nout; j++) cost->bytes += tn_i_bytes_of(&q->out[j]);
}

/* ---- rules -------------------------------------------------------------------------- */

uint32_t tn_i_behind_batch(uint32_t n, const int64_t *v, int64_t first, int64_t *out) {
    uint32_t at = 0;
    if (first >= 0) out[at++] = first;
    for (uint32_t i = 0; i < n; i++) out[at++] = v[i] + 1;
    return at;
}

tn_type tn_i_batch_type(const tn_type *t, int64_t n) {
    tn_type b = *t;
    b.dim[0] = n;
    for (int i = 0; i < t->rank && i < TN_MAX_RANK - 1; i++) b.dim[i + 1] = t->dim[i];
    if (b.rank < TN_MAX_RANK) b.rank++;
    return b;
}

tn_i_var tn_i_batched_operand(tn_i_rule *r, const bool *batched, uint32_t i) {
    return batched[i] ? r->in[i] : tn_i_batched(r->b, r->in[i], r->batch);
}

tn_i_var tn_i_respread(tn_i_builder *b, tn_i_var x, const tn_type *t) {
    uint64_t bits;
    const tn_type type = *t; /* `t` may be the builder's scratch */
    if (!tn_i_known_scalar(b, x, &bits)) return TN_NOVAR;
    tn_i_var v = tn_i_literal(b, type.dtype, bits);
    return type.rank == 0 ? v : tn_i_broadcast(b, v, type.rank, type.dim, NULL);
}

bool tn_i_accumulates(const tn_i_rule *r) {
    bool going_on = (r->acc && r->acc[0] != TN_NOVAR) || (r->more && r->more[0]);
    return going_on && tn_i_count(r->out_type[0]) < tn_i_count(r->in_type[0]);
}

tn_i_var tn_i_accumulated(tn_i_rule *r) {
    if (r->merged) r->merged[0] = true;
    return r->acc && r->acc[0] != TN_NOVAR ? r->acc[0] : tn_i_zeros(r->b, r->in_type[0]);
}

/* ---- emitting ------------------------------------------------------------------------ */

static tn_i_param list(int64_t n, const int64_t *v) {
    return (tn_i_param){.kind = TN_K_INTS, .n = (uint32_t)n, .u.ints = v};
}

tn_i_var tn_i_whole_number(tn_i_builder *b, const tn_type *t, int64_t x) {
    tn_i_var v = tn_i_literal_i64(b, t->dtype, x);
    return t->rank == 0 ? v : tn_i_broadcast(b, v, t->rank, t->dim, NULL);
}

tn_i_var tn_i_iota(tn_i_builder *b, int dtype, int rank, const int64_t *shape, int dimension) {
    const tn_i_param p[3] = {
        {.kind = TN_K_DTYPE, .u.i = dtype}, list(rank, shape), {.kind = TN_K_INT, .u.i = dimension}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_iota), p, 0, NULL);
}

tn_i_var tn_i_slice(tn_i_builder *b, tn_i_var x, const int64_t *start, const int64_t *limit, const int64_t *strides) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int rank = tn_i_vtype(b, x)->rank;
    const tn_i_param p[3] = {list(rank, start), list(rank, limit),
                             strides ? list(rank, strides) : (tn_i_param){.kind = TN_K_NONE}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_slice), p, 1, &x);
}

tn_i_var tn_i_slice_dimension(tn_i_builder *b, tn_i_var x, int at, int64_t start, int64_t stride, int64_t count) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, x);
    int64_t from[TN_MAX_RANK] = {0}, to[TN_MAX_RANK], by[TN_MAX_RANK];
    if (count == t->dim[at]) return x;
    for (int i = 0; i < t->rank; i++) {
        to[i] = t->dim[i];
        by[i] = 1;
    }
    by[at] = count > 1 ? stride : 1;
    from[at] = count ? start : 0;
    to[at] = count ? start + (count - 1) * by[at] + 1 : 0;
    return tn_i_slice(b, x, from, to, by);
}

tn_i_var tn_i_slice_add(tn_i_builder *b, tn_i_var x, tn_i_var u, const int64_t *start, const int64_t *limit,
                        const int64_t *strides) {
    if (b->failed || x == TN_NOVAR || u == TN_NOVAR) return TN_NOVAR;
    const int rank = tn_i_vtype(b, x)->rank;
    const tn_i_param p[3] = {list(rank, start), list(rank, limit),
                             strides ? list(rank, strides) : (tn_i_param){.kind = TN_K_NONE}};
    const tn_i_var in[2] = {x, u};
    return tn_i_emit(b, tn_i_prim(b, TN_P_slice_add), p, 2, in);
}

tn_i_var tn_i_pad(tn_i_builder *b, tn_i_var x, tn_i_var value, const int64_t *config) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_i_param p[1] = {list(3 * tn_i_vtype(b, x)->rank, config)};
    const tn_i_var in[2] = {x, value};
    return tn_i_emit(b, tn_i_prim(b, TN_P_pad), p, 2, in);
}

tn_i_var tn_i_repeated(tn_i_builder *b, tn_i_var x, int axis, int64_t times) {
    if (b->failed || x == TN_NOVAR || times == 1) return b->failed ? TN_NOVAR : x;
    tn_type t = *tn_i_vtype(b, x);
    /* dimensions in front merge into one, so that the pair always finds room */
    int64_t lead = 1, tail = 1;
    for (int k = 0; k < axis; k++) lead *= t.dim[k];
    for (int k = axis; k < t.rank; k++) tail *= t.dim[k];
    const int64_t three[3] = {lead, 1, tail}, wide[3] = {lead, times, tail}, each[3] = {0, 1, 2};
    x = tn_i_broadcast(b, tn_i_reshape(b, x, 3, three), 3, wide, each);
    t.dim[axis] *= times;
    return b->failed ? TN_NOVAR : tn_i_reshape(b, x, t.rank, t.dim);
}

tn_i_var tn_i_concatenate(tn_i_builder *b, uint32_t n, const tn_i_var *in, int64_t dimension) {
    const tn_i_param p[1] = {{.kind = TN_K_INT, .u.i = dimension}};
    return tn_i_emit(b, tn_i_prim(b, TN_P_concatenate), p, n, in);
}

tn_i_var tn_i_rev(tn_i_builder *b, tn_i_var x, uint32_t n, const int64_t *dimensions) {
    const tn_i_param p[1] = {list(n, dimensions)};
    return tn_i_emit(b, tn_i_prim(b, TN_P_rev), p, 1, &x);
}

tn_i_var tn_i_dynamic_slice(tn_i_builder *b, tn_i_var x, const tn_i_var *index, const int64_t *sizes) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int rank = tn_i_vtype(b, x)->rank;
    tn_i_var in[1 + TN_MAX_RANK] = {x};
    for (int i = 0; i < rank; i++) in[1 + i] = index[i];
    const tn_i_param p[1] = {list(rank, sizes)};
    return tn_i_emit(b, tn_i_prim(b, TN_P_dynamic_slice), p, 1 + (uint32_t)rank, in);
}

tn_i_var tn_i_dynamic_update_slice(tn_i_builder *b, tn_i_var x, tn_i_var update, const tn_i_var *index) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int rank = tn_i_vtype(b, x)->rank;
    tn_i_var in[2 + TN_MAX_RANK] = {x, update};
    for (int i = 0; i < rank; i++) in[2 + i] = index[i];
    return tn_i_emit(b, tn_i_prim(b, TN_P_dynamic_update_slice), NULL, 2 + (uint32_t)rank, in);
}

static tn_i_var slide(tn_i_builder *b, int id, const tn_i_sliding *w, uint32_t nin, const tn_i_var *in) {
    const tn_i_param p[4] = {list(w->n, w->dims), list(w->n, w->sizes), list(w->n, w->strides),
                             list(w->n, w->dilation)};
    return tn_i_emit(b, tn_i_prim(b, id), p, nin, in);
}

tn_i_var tn_i_sliding_windows(tn_i_builder *b, tn_i_var x, const tn_i_sliding *w) {
    return slide(b, TN_P_sliding_windows, w, 1, &x);
}

tn_i_var tn_i_overlap_add(tn_i_builder *b, tn_i_var x, tn_i_var u, const tn_i_sliding *w) {
    const tn_i_var in[2] = {x, u};
    return slide(b, TN_P_overlap_add, w, 2, in);
}

/* ---- dimension numbers ---------------------------------------------------------------- */

void tn_i_dnums_read(tn_i_dnums *d, const tn_i_param *p) {
    for (uint32_t j = 0; j < TN_NDNUMS; j++) {
        const int64_t *v = tn_i_list(p, TN_NDNUMS, j, &d->n[j]);
        for (uint32_t i = 0; i < d->n[j] && i <= TN_MAX_RANK; i++) d->v[j][i] = v[i];
    }
}

/* As the parameter's integers: the lengths, then the lists. */
static tn_i_param packed(const tn_i_dnums *d, int64_t store[TN_NDNUMS * (2 + TN_MAX_RANK)]) {
    uint32_t at = TN_NDNUMS;
    for (uint32_t j = 0; j < TN_NDNUMS; j++) {
        store[j] = d->n[j];
        for (uint32_t i = 0; i < d->n[j]; i++) store[at++] = d->v[j][i];
    }
    return (tn_i_param){.kind = TN_K_LISTS, .n = at, .u.ints = store};
}

tn_i_var tn_i_gather(tn_i_builder *b, tn_i_var x, tn_i_var indices, const tn_i_dnums *d, const int64_t *sizes, int mode,
                     const tn_i_param *fill) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    int64_t store[TN_NDNUMS * (2 + TN_MAX_RANK)];
    const tn_i_param none = {.kind = TN_K_NONE};
    const tn_i_param p[4] = {
        packed(d, store), list(tn_i_vtype(b, x)->rank, sizes), {.kind = TN_K_SYM, .u.i = mode}, fill ? *fill : none};
    const tn_i_var in[2] = {x, indices};
    return tn_i_emit(b, tn_i_prim(b, TN_P_gather), p, 2, in);
}

tn_i_var tn_i_scatter_add(tn_i_builder *b, tn_i_var x, tn_i_var indices, tn_i_var updates, const tn_i_dnums *d,
                          bool clip) {
    int64_t store[TN_NDNUMS * (2 + TN_MAX_RANK)];
    const tn_i_param p[2] = {packed(d, store), {.kind = clip ? TN_K_SYM : TN_K_NONE, .u.i = clip}};
    const tn_i_var in[3] = {x, indices, updates};
    return tn_i_emit(b, tn_i_prim(b, TN_P_scatter_add), p, 3, in);
}

tn_i_var tn_i_scatter(tn_i_builder *b, tn_i_var x, tn_i_var indices, tn_i_var updates, const tn_i_dnums *d, bool clip,
                      bool unique) {
    int64_t store[TN_NDNUMS * (2 + TN_MAX_RANK)];
    const tn_i_param p[3] = {packed(d, store),
                             {.kind = clip ? TN_K_SYM : TN_K_NONE, .u.i = clip},
                             {.kind = unique ? TN_K_BOOL : TN_K_NONE, .u.i = unique}};
    const tn_i_var in[3] = {x, indices, updates};
    return tn_i_emit(b, tn_i_prim(b, TN_P_scatter), p, 3, in);
}

tn_i_var tn_i_scatter_of(tn_i_builder *b, int scatter, tn_i_var x, tn_i_var indices, tn_i_var updates,
                         const tn_i_dnums *d) {
    int64_t store[TN_NDNUMS * (2 + TN_MAX_RANK)];
    const tn_i_param p[3] = {packed(d, store), {.kind = TN_K_NONE}, {.kind = TN_K_NONE}};
    const tn_i_var in[3] = {x, indices, updates};
    return tn_i_emit(b, tn_i_prim(b, scatter), p, 3, in);
}

tn_i_var tn_i_scatter_alike(tn_i_builder *b, const tn_i_eqn *like, tn_i_var x, tn_i_var indices, tn_i_var updates,
                            const tn_i_dnums *d) {
    int64_t store[TN_NDNUMS * (2 + TN_MAX_RANK)];
    tn_i_param p[3] = {packed(d, store)};
    for (int i = 1; i < 3 && like->prim->params[i].name; i++) p[i] = tn_i_p(like)[i];
    const tn_i_var in[3] = {x, indices, updates};
    return tn_i_emit(b, like->prim, p, 3, in);
}

/* An array's dimensions before the axis, and those behind it, as one each. */
static tn_i_var joined_around(tn_i_builder *b, tn_i_var x, int axis) {
    const tn_type t = *tn_i_vtype(b, x);
    int64_t three[3] = {1, t.dim[axis], 1};
    for (int i = 0; i < axis; i++) three[0] *= t.dim[i]; /* x is not empty: no product exceeds its size */
    for (int i = axis + 1; i < t.rank; i++) three[2] *= t.dim[i];
    return tn_i_reshape(b, x, 3, three);
}

/* Indices need one more dimension than x. */
tn_i_var tn_i_take_along(tn_i_builder *b, tn_i_var x, tn_i_var index, int axis) {
    if (b->failed) return TN_NOVAR;
    const tn_type shape = *tn_i_vtype(b, index);
    if (shape.rank == TN_MAX_RANK) {
        const tn_i_var y = tn_i_take_along(b, joined_around(b, x, axis), joined_around(b, index, axis), 1);
        return b->failed ? TN_NOVAR : tn_i_reshape(b, y, shape.rank, shape.dim);
    }
    tn_i_dnums d;
    memset(&d, 0, sizeof d);
    int64_t sizes[TN_MAX_RANK], column[TN_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) {
        sizes[i] = 1;
        column[i] = shape.dim[i];
        if (i == axis) continue;
        d.v[TN_OPERAND_BATCH][d.n[TN_OPERAND_BATCH]++] = i;
        d.v[TN_INDEX_BATCH][d.n[TN_INDEX_BATCH]++] = i;
    }
    d.n[TN_COLLAPSED] = d.n[TN_MAP] = 1;
    d.v[TN_COLLAPSED][0] = d.v[TN_MAP][0] = axis;
    column[shape.rank] = 1;
    return tn_i_gather(b, x, tn_i_reshape(b, index, shape.rank + 1, column), &d, sizes, TN_CLIP, NULL);
}
