/* Operators that read or add to parts of an array. */
#include "prims/ids.h"
#include "prims/arrays/shape.h"
#include "trace/trace.h"

#include <string.h>

/* ---- known places ------------------------------------------------------------------ */

tn_val tn_at_at(tn_val x, tn_int_list index, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    int64_t start[TN_MAX_RANK] = {0}, limit[TN_MAX_RANK];
    tn_i_site_open(&s, "at", NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_type t = *tn_i_site_type(&s, v);
    if (index.n > (size_t)t.rank)
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_EINVAL, 0, "has %d axes, not %zu", t.rank, index.n));
    memcpy(limit, t.dim, sizeof limit);
    for (size_t i = 0; i < index.n; i++) {
        int64_t k = index.v[i] < 0 ? index.v[i] + t.dim[i] : index.v[i];
        if (k < 0 || k >= t.dim[i])
            return tn_i_site_close(&s, tn_i_site_fail(&s, TN_EINVAL, 0, "index %lld is outside axis %zu of size %lld",
                                                      (long long)index.v[i], i, (long long)t.dim[i]));
        start[i] = k;
        limit[i] = k + 1;
    }
    if (index.n) v = tn_i_do_slice(&s, v, start, limit, NULL);
    return tn_i_site_close(&s, tn_i_do_reshape(&s, v, t.rank - (int)index.n, t.dim + index.n));
}

tn_val tn_slice_at(tn_val x, tn_int_list starts, tn_int_list limits, tn_int_list strides, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "slice", NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    size_t rank = (size_t)tn_i_site_type(&s, v)->rank;
    if (starts.n != rank || limits.n != rank || (strides.n != rank && strides.n != 0))
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "takes one start, limit and stride a dimension: %zu, not %zu, %zu, %zu",
                             rank, starts.n, limits.n, strides.n);
    return tn_i_site_close(&s, tn_i_do_slice(&s, v, starts.v, limits.v, strides.n ? strides.v : NULL));
}

/* A place as Python's slices have it: from the end when negative, held in 0..n. */
static int64_t held(int64_t k, int64_t n) {
    if (k < 0) k = k < -n ? 0 : k + n;
    return k > n ? n : k;
}

tn_val tn_slice_axis_at(tn_val x, int64_t start, int64_t limit, int64_t stride, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "slice_axis", NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v)->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    if (stride < 1)
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "stride %lld; for reversed order use tn_flip", (long long)stride);
    int64_t n = s.b->failed ? 0 : tn_i_site_type(&s, v)->dim[axis];
    start = held(start, n);
    limit = held(limit, n);
    return tn_i_site_close(&s, tn_i_do_slice_axis(&s, v, axis, start, limit < start ? start : limit, stride));
}

/* ---- places known when the program runs ----------------------------------------------- */

/* The indices from operand `first` on: integer scalars of one dtype. */
static bool starts_ready(tn_i_site *s, size_t first, int rank) {
    if (s->b->failed) return false;
    if (s->n - first != (size_t)rank) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "takes one start a dimension: %d, not %zu", rank, s->n - first);
        return false;
    }
    int dtype = TN_I32;
    for (size_t i = s->n; i-- > first;)
        if (s->v[i] != TN_NOVAR) dtype = tn_i_site_type(s, s->v[i])->dtype;
    if (!tn_i_is_index(dtype)) {
        (void)tn_i_site_fail(s, TN_ETYPE, (int)first, "starts are i32 or i64, not %s", tn_i_dtype_name(dtype));
        return false;
    }
    for (size_t i = first; i < s->n; i++) tn_i_site_number(s, i, dtype);
    return !s->b->failed;
}

static bool gather_operands(tn_i_site *s, const char *name, size_t narray, const tn_val *array, tn_val_list starts,
                            tn_val *x, tn_i_var *v, const char *file, int line) {
    size_t n = starts.n <= TN_MAX_RANK ? starts.n : TN_MAX_RANK;
    memcpy(x, array, narray * sizeof *x);
    if (n) memcpy(x + narray, starts.v, n * sizeof *x);
    tn_i_site_open(s, name, NULL, narray + n, x, v, ~0u << narray, file, line);
    if (s->b->failed) return false;
    if (n < starts.n) (void)tn_i_site_fail(s, TN_EINVAL, -1, "%zu starts (at most %d)", starts.n, TN_MAX_RANK);
    return !s->b->failed && starts_ready(s, narray, tn_i_site_type(s, v[0])->rank);
}

tn_val tn_dynamic_slice_at(tn_val x, tn_val_list starts, tn_int_list sizes, const char *file, int line) {
    tn_i_site s;
    tn_val in[1 + TN_MAX_RANK];
    tn_i_var v[1 + TN_MAX_RANK];
    if (!gather_operands(&s, "dynamic_slice", 1, &x, starts, in, v, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    if (sizes.n != starts.n)
        return tn_i_site_close(
            &s, tn_i_site_fail(&s, TN_EINVAL, -1, "takes one size a dimension: %zu, not %zu", starts.n, sizes.n));
    return tn_i_site_close(&s, tn_i_dynamic_slice(s.b, v[0], v + 1, sizes.v));
}

tn_val tn_dynamic_update_slice_at(tn_val x, tn_val u, tn_val_list starts, const char *file, int line) {
    const tn_val arrays[2] = {x, u};
    tn_i_site s;
    tn_val in[2 + TN_MAX_RANK];
    tn_i_var v[2 + TN_MAX_RANK];
    if (!gather_operands(&s, "dynamic_update_slice", 2, arrays, starts, in, v, file, line))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_dynamic_update_slice(s.b, v[0], v[1], v + 2));
}

tn_val tn_dynamic_index_at(tn_val x, tn_val i, int axis, const char *file, int line) {
    const tn_val in[2] = {x, i};
    tn_i_site s;
    tn_i_var v[2], start[TN_MAX_RANK];
    int64_t sizes[TN_MAX_RANK];
    tn_i_site_open(&s, "dynamic_index", NULL, 2, in, v, 2, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v[0])->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    tn_i_site_number(&s, 1, TN_I32);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_type t = *tn_i_site_type(&s, v[0]), *index = tn_i_site_type(&s, v[1]);
    if (index->rank != 0 || !tn_i_is_index(index->dtype))
        return tn_i_site_close(
            &s, tn_i_site_fail(&s, TN_ETYPE, 1, "must be an integer scalar; tn_take reads at several places"));
    for (int k = 0; k < t.rank; k++) {
        start[k] = k == axis ? v[1] : tn_i_literal_i64(s.b, index->dtype, 0);
        sizes[k] = k == axis ? 1 : t.dim[k];
    }
    return tn_i_site_close(&s, tn_i_do_squeeze(&s, tn_i_dynamic_slice(s.b, v[0], start, sizes), 1u << axis));
}

/* ---- take and its transpose --------------------------------------------------------------- */

/* Integer indices into an axis of size n, wide enough to hold n; those from the end made positive. */
static tn_i_var positions(tn_i_site *s, tn_i_var index, int64_t n, bool wrap) {
    if (s->b->failed) return TN_NOVAR;
    if (!tn_i_is_index(tn_i_site_type(s, index)->dtype))
        return tn_i_site_fail(s, TN_ETYPE, 1, "indices are i32 or i64, not %s",
                              tn_i_dtype_name(tn_i_site_type(s, index)->dtype));
    if (n > INT32_MAX) index = tn_i_convert(s->b, index, TN_I64);
    if (!wrap || s->b->failed) return index;
    int dtype = tn_i_site_type(s, index)->dtype;
    tn_i_var negative = tn_i_do2(s, TN_P_lt, index, tn_i_literal_i64(s->b, dtype, 0));
    tn_i_var from_end = tn_i_do2(s, TN_P_add, index, tn_i_literal_i64(s->b, dtype, n));
    return tn_i_do_where(s, negative, from_end, index);
}

/* How many dimensions positions have in gathers and scatters: those of the indices, one at least; with one more they
 * would be too many. */
static int positions_rank(const tn_type *index) {
    return index->rank > 0 && index->rank < TN_MAX_RANK ? index->rank : 1;
}

/* Indices as vectors of one position. */
static tn_i_var column(tn_i_site *s, tn_i_var index) {
    if (s->b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_site_type(s, index);
    const int rank = positions_rank(&t);
    int64_t shape[TN_MAX_RANK + 1] = {tn_i_count(&t)};
    if (rank == t.rank) memcpy(shape, t.dim, (size_t)rank * sizeof *shape);
    shape[rank] = 1;
    return tn_i_do_reshape(s, index, rank + 1, shape);
}

/* Dimension numbers of [.., n, ..] at positions of some rank -> [.., those dimensions, ..]. */
static void column_dims(int rank, int axis, int positions, tn_i_dnums *d) {
    memset(d, 0, sizeof *d);
    for (int i = 0; i < rank; i++)
        if (i != axis) d->v[TN_WINDOW][d->n[TN_WINDOW]++] = i < axis ? i : i - 1 + positions;
    d->n[TN_COLLAPSED] = d->n[TN_MAP] = 1;
    d->v[TN_COLLAPSED][0] = d->v[TN_MAP][0] = axis;
}

/* t with `axis` replaced by the shape of index; false when the rank is too large. */
static bool taken_type(tn_i_site *s, const tn_type *t, const tn_type *index, int axis, tn_type *out) {
    *out = tn_type_of((tn_dtype)t->dtype, 0, NULL);
    out->rank = t->rank - 1 + index->rank;
    if (out->rank > TN_MAX_RANK) {
        (void)tn_i_site_fail(s, TN_ETYPE, -1, "the result would have rank %d (at most %d)", out->rank, TN_MAX_RANK);
        return false;
    }
    int k = 0;
    for (int i = 0; i < t->rank; i++) {
        if (i != axis) out->dim[k++] = t->dim[i];
        for (int j = 0; i == axis && j < index->rank; j++) out->dim[k++] = index->dim[j];
    }
    return true;
}

/* Nothing can be read from an empty axis, and there is nothing to fill with. */
static tn_i_var from_empty(tn_i_site *s, const tn_type *out, int axis) {
    if (tn_i_type_valid(out) && tn_i_count(out) == 0) return tn_i_zeros(s->b, out);
    return tn_i_site_fail(s, TN_ETYPE, 0, "axis %d is empty", axis);
}

/* What stands outside: 0 keeps a linear x linear. */
static tn_i_var emit_gather(tn_i_site *s, tn_i_var x, tn_i_var index, const tn_i_dnums *d, const int64_t *sizes,
                            bool fill) {
    if (s->b->failed) return TN_NOVAR;
    return tn_i_gather(s->b, x, index, d, sizes, fill ? TN_FILL : TN_CLIP,
                       fill && s->b->val[x].linear ? &tn_i_fill_zero : NULL);
}

static tn_i_var take(tn_i_site *s, tn_i_var x, tn_i_var index, int axis, bool fill) {
    const tn_type t = *tn_i_site_type(s, x), i = *tn_i_site_type(s, index);
    tn_type out;
    if (!taken_type(s, &t, &i, axis, &out)) return TN_NOVAR;
    index = positions(s, index, t.dim[axis], true);
    if (s->b->failed) return TN_NOVAR;
    if (t.dim[axis] == 0) return from_empty(s, &out, axis);
    tn_i_dnums d;
    int64_t sizes[TN_MAX_RANK];
    column_dims(t.rank, axis, positions_rank(&i), &d);
    memcpy(sizes, t.dim, sizeof sizes);
    sizes[axis] = 1;
    return tn_i_do_reshape(s, emit_gather(s, x, column(s, index), &d, sizes, fill), out.rank, out.dim);
}

tn_val tn_take_at(tn_val x, tn_val indices, int axis, tn_flags flags, const char *file, int line) {
    const tn_val in[2] = {x, indices};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, "take", NULL, 2, in, v, 0, file, line);
    if (!tn_i_site_flags(&s, flags, TN_CLIP_INDICES) ||
        !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v[0])->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, take(&s, v[0], v[1], axis, !(flags & TN_CLIP_INDICES)));
}

/* Operand and indices broadcast against each other outside the axis. */
static bool spread_along(tn_i_site *s, tn_i_var *x, tn_i_var *index, int axis) {
    tn_type t = *tn_i_site_type(s, *x), i = *tn_i_site_type(s, *index);
    for (int k = 0; k < t.rank; k++) {
        if (k == axis || t.dim[k] == i.dim[k]) continue;
        if (t.dim[k] == 1)
            t.dim[k] = i.dim[k];
        else if (i.dim[k] == 1)
            i.dim[k] = t.dim[k];
        else {
            (void)tn_i_site_fail(s, TN_ETYPE, 1, "axis %d has size %lld, not %lld", k, (long long)i.dim[k],
                                 (long long)t.dim[k]);
            return false;
        }
    }
    *x = tn_i_do_broadcast_to(s, *x, t.rank, t.dim);
    *index = tn_i_do_broadcast_to(s, *index, i.rank, i.dim);
    return !s->b->failed;
}

/* x and index of one rank, seen as [outer, n, inner] and [outer, m, inner]. */
static tn_i_var take_along(tn_i_site *s, tn_i_var x, tn_i_var index, int axis, bool fill) {
    index = positions(s, index, tn_i_site_type(s, x)->dim[axis], true);
    if (s->b->failed || !spread_along(s, &x, &index, axis)) return TN_NOVAR;
    tn_type t = *tn_i_site_type(s, x), out = *tn_i_site_type(s, index);
    out.dtype = t.dtype;
    if (tn_i_count(&out) == 0 || t.dim[axis] == 0) return from_empty(s, &out, axis);
    int64_t outer = 1, inner = 1; /* x is not empty: no product exceeds its size */
    for (int i = 0; i < axis; i++) outer *= t.dim[i];
    for (int i = axis + 1; i < t.rank; i++) inner *= t.dim[i];
    const int64_t xs[3] = {outer, t.dim[axis], inner}, is[4] = {outer, out.dim[axis], inner, 1}, sizes[3] = {1, 1, 1};
    tn_i_dnums d = {
        .n = {[TN_COLLAPSED] = 1, [TN_MAP] = 1, [TN_OPERAND_BATCH] = 2, [TN_INDEX_BATCH] = 2},
        .v = {[TN_COLLAPSED] = {1}, [TN_MAP] = {1}, [TN_OPERAND_BATCH] = {0, 2}, [TN_INDEX_BATCH] = {0, 2}}};
    tn_i_var column3 = tn_i_do_reshape(s, index, 4, is);
    tn_i_var y = emit_gather(s, tn_i_do_reshape(s, x, 3, xs), column3, &d, sizes, fill);
    return tn_i_do_reshape(s, y, out.rank, out.dim);
}

tn_val tn_take_along_at(tn_val x, tn_val indices, int axis, tn_flags flags, const char *file, int line) {
    const tn_val in[2] = {x, indices};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, "take_along", NULL, 2, in, v, 0, file, line);
    if (!tn_i_site_flags(&s, flags, TN_CLIP_INDICES) ||
        !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v[0])->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    int rank = tn_i_site_type(&s, v[0])->rank, have = tn_i_site_type(&s, v[1])->rank;
    if (have != rank && have != rank - 1)
        return tn_i_site_close(
            &s, tn_i_site_fail(&s, TN_ETYPE, 1, "has rank %d, not %d (or %d, without the axis)", have, rank, rank - 1));
    tn_i_var index = have == rank ? v[1] : tn_i_do_expand(&s, v[1], axis);
    tn_i_var y = take_along(&s, v[0], index, axis, !(flags & TN_CLIP_INDICES));
    return tn_i_site_close(&s, have == rank ? y : tn_i_do_squeeze(&s, y, 1u << axis));
}

/* x with u (of x's shape but N at the axis) added, written or joined at N positions, by a scatter. */
static tn_i_var put_at(tn_i_site *s, tn_i_var x, tn_i_var index, tn_i_var u, int axis, bool wrap, int scatter) {
    if (s->b->failed) return TN_NOVAR;
    char text[TN_I_TYPE_TEXT];
    const tn_type t = *tn_i_site_type(s, x), i = *tn_i_site_type(s, index);
    tn_type want;
    if (!taken_type(s, &t, &i, axis, &want)) return TN_NOVAR;
    if (!tn_type_equal(&want, tn_i_site_type(s, u)))
        return tn_i_site_fail(s, TN_ETYPE, 2, "the updates should be %s", tn_i_type_text(text, &want));
    index = positions(s, index, t.dim[axis], wrap);
    if (s->b->failed || tn_i_count(&t) == 0) return s->b->failed ? TN_NOVAR : x;
    tn_i_dnums d;
    column_dims(t.rank, axis, positions_rank(&i), &d);
    int64_t shape[TN_MAX_RANK];
    const bool one = positions_rank(&i) != i.rank; /* dimension of positions */
    memcpy(shape, one ? t.dim : want.dim, sizeof shape);
    if (one) shape[axis] = tn_i_count(&i);
    tn_i_var col = column(s, index), rows = tn_i_do_reshape(s, u, one ? t.rank : want.rank, shape);
    if (s->b->failed) return TN_NOVAR;
    return tn_i_scatter_of(s->b, scatter, x, col, rows, &d);
}

tn_val tn_index_add_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line) {
    const tn_val in[3] = {x, indices, u};
    tn_i_site s;
    tn_i_var v[3];
    tn_i_site_open(&s, "index_add", NULL, 3, in, v, 0, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v[0])->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, put_at(&s, v[0], v[1], v[2], axis, true, TN_P_scatter_add));
}

/* x.at[.., indices, ..].set(u), .add(u) ..: u is a number, or is broadcast to what would be taken there. */
static tn_val at_place(const char *name, int scatter, tn_val x, tn_val indices, tn_val u, int axis, const char *file,
                       int line) {
    const tn_val in[3] = {x, indices, u};
    tn_i_site s;
    tn_i_var v[3];
    tn_type want;
    tn_i_site_open(&s, name, NULL, 3, in, v, TN_OPERAND(2), file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v[0])->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    tn_i_site_number(&s, 2, tn_i_site_type(&s, v[0])->dtype);
    if (s.b->failed || !taken_type(&s, tn_i_site_type(&s, v[0]), tn_i_site_type(&s, v[1]), axis, &want))
        return tn_i_site_close(&s, TN_NOVAR);
    const tn_i_var spread = tn_i_do_broadcast_to(&s, v[2], want.rank, want.dim);
    return tn_i_site_close(&s, put_at(&s, v[0], v[1], spread, axis, true, scatter));
}

tn_val tn_at_set_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line) {
    return at_place("at_set", TN_P_scatter, x, indices, u, axis, file, line);
}
tn_val tn_at_add_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line) {
    return at_place("at_add", TN_P_scatter_add, x, indices, u, axis, file, line);
}
tn_val tn_at_mul_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line) {
    return at_place("at_mul", TN_P_scatter_mul, x, indices, u, axis, file, line);
}
tn_val tn_at_min_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line) {
    return at_place("at_min", TN_P_scatter_min, x, indices, u, axis, file, line);
}
tn_val tn_at_max_at(tn_val x, tn_val indices, tn_val u, int axis, const char *file, int line) {
    return at_place("at_max", TN_P_scatter_max, x, indices, u, axis, file, line);
}

tn_val tn_segment_sum_at(tn_val x, tn_val segment, int64_t segments, const char *file, int line) {
    const tn_val in[2] = {x, segment};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, "segment_sum", NULL, 2, in, v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    tn_type t = *tn_i_site_type(&s, v[0]);
    if (t.rank == 0 || segments < 0 || tn_i_site_type(&s, v[1])->rank != 1)
        return tn_i_site_close(
            &s, tn_i_site_fail(&s, TN_ETYPE, -1, "takes x [n, ..], segment [n] and a number of segments >= 0"));
    t.dim[0] = segments;
    return tn_i_site_close(&s, put_at(&s, tn_i_zeros(s.b, &t), v[1], v[0], 0, false, TN_P_scatter_add));
}

/* ---- the primitives ---------------------------------------------------------------------- */

static bool read_dims(tn_i_site *s, const tn_int_list *list, tn_i_dnums *d) {
    memset(d, 0, sizeof *d);
    for (int j = 0; j < TN_NDNUMS && !s->b->failed; j++) {
        if (list[j].n > TN_MAX_RANK)
            (void)tn_i_site_fail(s, TN_EINVAL, -1, "%zu dimension numbers (at most %d)", list[j].n, TN_MAX_RANK);
        d->n[j] = s->b->failed ? 0 : (uint32_t)list[j].n;
        for (uint32_t i = 0; i < d->n[j]; i++) d->v[j][i] = list[j].v[i];
    }
    return !s->b->failed;
}

tn_val tn_gather_at(tn_val x, tn_val indices, const tn_gather_dims *dims, tn_int_list slice_sizes, tn_flags flags,
                    const char *file, int line) {
    const tn_val in[2] = {x, indices};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_dnums d;
    tn_i_site_open(&s, "gather", NULL, 2, in, v, 0, file, line);
    if (!dims) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the dimensions are NULL");
    if (!tn_i_site_flags(&s, flags, TN_CLIP_INDICES)) return tn_i_site_close(&s, TN_NOVAR);
    const tn_int_list list[TN_NDNUMS] = {dims->offset_dims, dims->collapsed_slice_dims, dims->start_index_map,
                                         dims->operand_batching_dims, dims->start_indices_batching_dims};
    int rank = tn_i_site_type(&s, v[0])->rank;
    if (slice_sizes.n != (size_t)rank)
        (void)tn_i_site_fail(&s, TN_EINVAL, 0, "takes one slice size a dimension: %d, not %zu", rank, slice_sizes.n);
    if (!read_dims(&s, list, &d)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, emit_gather(&s, v[0], v[1], &d, slice_sizes.v, !(flags & TN_CLIP_INDICES)));
}

tn_val tn_scatter_add_at(tn_val x, tn_val indices, tn_val u, const tn_scatter_dims *dims, const char *file, int line) {
    const tn_val in[3] = {x, indices, u};
    tn_i_site s;
    tn_i_var v[3];
    tn_i_dnums d;
    tn_i_site_open(&s, "scatter_add", NULL, 3, in, v, 0, file, line);
    if (!dims) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "the dimensions are NULL");
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_int_list list[TN_NDNUMS] = {dims->update_window_dims, dims->inserted_window_dims,
                                         dims->scatter_dims_to_operand_dims, dims->operand_batching_dims,
                                         dims->scatter_indices_batching_dims};
    if (!read_dims(&s, list, &d)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_scatter_add(s.b, v[0], v[1], v[2], &d, false));
}

/* ---- patterns ------------------------------------------------------------------------------ */

tn_val tn_one_hot_at(tn_val i, int64_t n, tn_dtype dtype, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "one_hot", NULL, 1, &i, &v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    tn_type t = *tn_i_site_type(&s, v);
    if (!tn_i_is_index(t.dtype) || n < 0)
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_ETYPE, 0, "takes integers and a size >= 0"));
    const tn_type line_type = tn_type_of((tn_dtype)t.dtype, 1, &n);
    const tn_i_var column = tn_i_do_expand(&s, v, t.rank);
    const tn_i_var same = tn_i_do2(&s, TN_P_eq, column, tn_i_do_iota(&s, &line_type, 0));
    return tn_i_site_close(&s, tn_i_convert(s.b, same, (int)dtype));
}

/* n zeros between neighbours: n*n elements, of which every n+1-st is x's. */
static tn_i_var matrix_of(tn_i_site *s, tn_i_var x, int64_t n) {
    const int64_t shape[2] = {n, n}, config[3] = {0, 0, n};
    tn_i_var row = n ? tn_i_pad(s->b, x, tn_i_do_number(s, x, 0), config) : x;
    return tn_i_do_reshape(s, row, 2, shape);
}

static tn_val diag(const char *name, bool sum, tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, name, NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_type *t = tn_i_site_type(&s, v);
    if (t->rank == 1 && !sum) return tn_i_site_close(&s, matrix_of(&s, v, t->dim[0]));
    if (t->rank != 2)
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_ETYPE, 0, sum ? "must have rank 2" : "must have rank 1 or 2"));
    tn_i_var d = tn_i_do_diagonal(&s, v, 0, 1);
    return tn_i_site_close(&s, sum ? tn_i_do_reduce(&s, TN_P_reduce_sum, d, 1, false) : d);
}

tn_val tn_diag_at(tn_val x, const char *file, int line) { return diag("diag", false, x, file, line); }
tn_val tn_trace_of_at(tn_val x, const char *file, int line) { return diag("trace_of", true, x, file, line); }

static tn_val triangle(const char *name, int compare, tn_val x, int64_t k, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, name, NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_type t = *tn_i_site_type(&s, v);
    if (t.rank < 2) return tn_i_site_close(&s, tn_i_site_fail(&s, TN_ETYPE, 0, "must have rank 2 or more"));
    const tn_type index = tn_type_of(TN_I64, 2, t.dim + t.rank - 2);
    tn_i_var row = tn_i_do2(&s, TN_P_add, tn_i_do_iota(&s, &index, 0), tn_i_literal_i64(s.b, TN_I64, k));
    tn_i_var inside = tn_i_do2(&s, compare, tn_i_do_iota(&s, &index, 1), row);
    return tn_i_site_close(&s, tn_i_do_where(&s, inside, v, tn_i_do_number(&s, v, 0)));
}

tn_val tn_tril_at(tn_val x, int64_t k, const char *file, int line) {
    return triangle("tril", TN_P_le, x, k, file, line);
}
tn_val tn_triu_at(tn_val x, int64_t k, const char *file, int line) {
    return triangle("triu", TN_P_ge, x, k, file, line);
}
