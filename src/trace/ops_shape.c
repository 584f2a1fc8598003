/* Operators that make constants or move elements. */
#include "prims/ids.h"
#include "trace/trace.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* ---- on variables --------------------------------------------------------------- */

tn_i_var tn_i_do_reshape(tn_i_site *s, tn_i_var x, int rank, const int64_t *shape) {
    if (s->b->failed) return TN_NOVAR;
    const tn_type *t = tn_i_site_type(s, x);
    if (t->rank == rank && (rank == 0 || memcmp(t->dim, shape, (size_t)rank * sizeof *shape) == 0)) return x;
    return tn_i_reshape(s->b, x, rank, shape);
}

tn_i_var tn_i_do_broadcast_to(tn_i_site *s, tn_i_var x, int rank, const int64_t *shape) {
    if (s->b->failed) return TN_NOVAR;
    const tn_type *t = tn_i_site_type(s, x);
    if (t->rank == rank && (rank == 0 || memcmp(t->dim, shape, (size_t)rank * sizeof *shape) == 0)) return x;
    int64_t dims[TN_MAX_RANK];
    for (int i = 0; i < t->rank; i++) dims[i] = rank - t->rank + i;
    return tn_i_broadcast(s->b, x, rank, shape, dims);
}

tn_i_var tn_i_do_permute(tn_i_site *s, tn_i_var x, const int64_t *perm) {
    if (s->b->failed) return TN_NOVAR;
    int rank = tn_i_site_type(s, x)->rank, i = 0;
    while (i < rank && perm[i] == i) i++;
    return i == rank ? x : tn_i_permute(s->b, x, perm);
}

tn_i_var tn_i_do_expand(tn_i_site *s, tn_i_var x, int axis) {
    if (s->b->failed) return TN_NOVAR;
    tn_type t = *tn_i_site_type(s, x);
    if (t.rank == TN_MAX_RANK) return tn_i_site_fail(s, TN_ETYPE, -1, "the result would have rank %d", TN_MAX_RANK + 1);
    memmove(t.dim + axis + 1, t.dim + axis, (size_t)(t.rank - axis) * sizeof *t.dim);
    t.dim[axis] = 1;
    return tn_i_do_reshape(s, x, t.rank + 1, t.dim);
}

tn_i_var tn_i_do_squeeze(tn_i_site *s, tn_i_var x, uint32_t axes) {
    if (s->b->failed) return TN_NOVAR;
    const tn_type *t = tn_i_site_type(s, x);
    int64_t shape[TN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < t->rank; i++) {
        if (!(axes >> i & 1))
            shape[rank++] = t->dim[i];
        else if (t->dim[i] != 1)
            return tn_i_site_fail(s, TN_ETYPE, -1, "axis %d has size %lld, not 1", i, (long long)t->dim[i]);
    }
    return tn_i_do_reshape(s, x, rank, shape);
}

tn_i_var tn_i_do_slice(tn_i_site *s, tn_i_var x, const int64_t *start, const int64_t *limit, const int64_t *stride) {
    return s->b->failed ? TN_NOVAR : tn_i_slice(s->b, x, start, limit, stride);
}

tn_i_var tn_i_do_slice_axis(tn_i_site *s, tn_i_var x, int axis, int64_t start, int64_t limit, int64_t stride) {
    if (s->b->failed) return TN_NOVAR;
    const tn_type *t = tn_i_site_type(s, x);
    int64_t from[TN_MAX_RANK] = {0}, to[TN_MAX_RANK], step[TN_MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        to[i] = t->dim[i];
        step[i] = 1;
    }
    from[axis] = start;
    to[axis] = limit;
    step[axis] = stride;
    return tn_i_slice(s->b, x, from, to, stride == 1 ? NULL : step);
}

tn_i_var tn_i_do_concatenate(tn_i_site *s, size_t n, const tn_i_var *v, int axis) {
    if (s->b->failed) return TN_NOVAR;
    return n == 1 ? v[0] : tn_i_concatenate(s->b, (uint32_t)n, v, axis);
}

tn_i_var tn_i_do_iota(tn_i_site *s, const tn_type *t, int axis) {
    return s->b->failed ? TN_NOVAR : tn_i_iota(s->b, t->dtype, t->rank, t->dim, axis);
}

tn_i_var tn_i_do_full(tn_i_site *s, const tn_type *t, double x) {
    return s->b->failed ? TN_NOVAR : tn_i_number(s->b, t, x);
}

tn_i_var tn_i_do_diagonal(tn_i_site *s, tn_i_var x, int a, int b) {
    if (s->b->failed) return TN_NOVAR;
    tn_type t = *tn_i_site_type(s, x);
    int64_t perm[TN_MAX_RANK] = {a, b}, shape[TN_MAX_RANK], n = t.dim[a], m = t.dim[b];
    int rank = 2;
    for (int i = 0; i < t.rank; i++)
        if (i != a && i != b) perm[rank++] = i;
    for (int i = 1; i < t.rank; i++) shape[i - 1] = t.dim[perm[i]];
    shape[0] = n * m; /* x's elements are countable, so this does not overflow unless another size is 0 */
    if (!tn_i_mul_i64(n, m, &shape[0])) return tn_i_site_fail(s, TN_EOVERFLOW, -1, "size overflow");
    int64_t k = n < m ? n : m;
    x = tn_i_do_reshape(s, tn_i_do_permute(s, x, perm), t.rank - 1, shape);
    return tn_i_do_slice_axis(s, x, 0, 0, k ? (k - 1) * (m + 1) + 1 : 0, m + 1);
}

/* ---- constants ------------------------------------------------------------------ */

static bool good_type(tn_i_site *s, const tn_type *t) {
    if (s->b->failed) return false;
    if (tn_i_type_valid(t)) return true;
    (void)tn_i_site_fail(s, TN_ETYPE, -1, "no valid type (dtype, rank 0..%d, dimensions >= 0, countable size)",
                         TN_MAX_RANK);
    return false;
}

tn_val tn_constant_at(tn_ctx *c, tn_type type, const void *data, const char *file, int line) {
    tn_i_site s;
    tn_i_site_open(&s, "constant", c, 0, NULL, NULL, 0, file, line);
    if (!good_type(&s, &type)) return tn_i_site_close(&s, TN_NOVAR);
    if (!data && tn_i_count(&type) > 0)
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_EINVAL, -1, "the data are NULL"));
    return tn_i_site_close(&s, tn_i_constant(s.b, &type, data));
}

static tn_i_var full(tn_i_site *s, const tn_type *type) {
    if (!good_type(s, type)) return TN_NOVAR;
    tn_i_site_number(s, 0, type->dtype);
    if (s->b->failed) return TN_NOVAR;
    const tn_type *t = tn_i_site_type(s, s->v[0]);
    if (t->rank != 0 || t->dtype != type->dtype)
        return tn_i_site_fail(s, TN_ETYPE, 0, "needs a number or an array %s[]", tn_i_dtype_name(type->dtype));
    return tn_i_do_broadcast_to(s, s->v[0], type->rank, type->dim);
}

static tn_val full_of(const char *name, tn_ctx *c, tn_type type, tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, name, c, 1, &x, &v, 1, file, line);
    return tn_i_site_close(&s, full(&s, &type));
}

tn_val tn_full_at(tn_ctx *c, tn_type type, tn_val x, const char *file, int line) {
    return full_of("full", c, type, x, file, line);
}
tn_val tn_zeros_at(tn_ctx *c, tn_type type, const char *file, int line) {
    return full_of("zeros", c, type, tn_number_i64(0), file, line);
}
tn_val tn_ones_at(tn_ctx *c, tn_type type, const char *file, int line) {
    return full_of("ones", c, type, tn_number_i64(1), file, line);
}

static tn_val full_like(const char *name, tn_val x, tn_val number, const char *file, int line) {
    const tn_val in[2] = {number, x};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, name, NULL, 2, in, v, 1, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_type type = *tn_i_site_type(&s, v[1]);
    return tn_i_site_close(&s, tn_i_vary_as(s.b, full(&s, &type), &type)); /* alike in what it varies over, too */
}

tn_val tn_full_like_at(tn_val x, tn_val number, const char *file, int line) {
    return full_like("full_like", x, number, file, line);
}
tn_val tn_zeros_like_at(tn_val x, const char *file, int line) {
    return full_like("zeros_like", x, tn_number_i64(0), file, line);
}
tn_val tn_ones_like_at(tn_val x, const char *file, int line) {
    return full_like("ones_like", x, tn_number_i64(1), file, line);
}

tn_val tn_iota_at(tn_ctx *c, tn_type type, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_site_open(&s, "iota", c, 0, NULL, NULL, 0, file, line);
    if (!good_type(&s, &type) || !tn_i_site_axis(&s, axis, type.rank, &axis)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do_iota(&s, &type, axis));
}

tn_val tn_arange_at(tn_ctx *c, tn_dtype dtype, int64_t n, const char *file, int line) {
    tn_i_site s;
    tn_type t = tn_type_of(dtype, 1, &n);
    tn_i_site_open(&s, "arange", c, 0, NULL, NULL, 0, file, line);
    return tn_i_site_close(&s, good_type(&s, &t) ? tn_i_do_iota(&s, &t, 0) : TN_NOVAR);
}

tn_val tn_linspace_at(tn_ctx *c, tn_dtype dtype, double lo, double hi, int64_t n, const char *file, int line) {
    tn_i_site s;
    tn_type t = tn_type_of(dtype, 1, &n);
    tn_i_site_open(&s, "linspace", c, 0, NULL, NULL, 0, file, line);
    if (!good_type(&s, &t)) return tn_i_site_close(&s, TN_NOVAR);
    if (!tn_i_is_float((int)dtype)) return tn_i_site_close(&s, tn_i_site_fail(&s, TN_ETYPE, -1, "needs f32 or f64"));
    double *data = tn_i_alloc_array(s.b->ctx, (size_t)n, sizeof *data);
    if (!data) s.b->failed = true;
    for (int64_t i = 0; data && i < n; i++) {
        const double w = n > 1 ? (double)i / (double)(n - 1) : 0;
        data[i] = i > 0 && i == n - 1 ? hi : lo + w * (hi - lo);
    }
    const tn_i_var v = data ? tn_i_constant_f64(s.b, (int)dtype, n, data) : TN_NOVAR;
    tn_i_free(s.b->ctx, data, (size_t)n * sizeof *data);
    return tn_i_site_close(&s, v);
}

tn_val tn_eye_at(tn_ctx *c, tn_dtype dtype, int64_t n, int64_t m, const char *file, int line) {
    tn_i_site s;
    tn_type t = tn_type_of(dtype, 2, (const int64_t[]){n, m}), index = t;
    tn_i_site_open(&s, "eye", c, 0, NULL, NULL, 0, file, line);
    if (!good_type(&s, &t)) return tn_i_site_close(&s, TN_NOVAR);
    index.dtype = TN_I64;
    const tn_i_var row = tn_i_do_iota(&s, &index, 0), column = tn_i_do_iota(&s, &index, 1);
    const tn_i_var same = tn_i_do2(&s, TN_P_eq, row, column);
    return tn_i_site_close(&s, tn_i_convert(s.b, same, (int)dtype));
}

/* ---- shapes ----------------------------------------------------------------------- */

static bool good_shape(tn_i_site *s, tn_int_list shape) {
    if (s->b->failed) return false;
    if (shape.n <= TN_MAX_RANK) return true;
    (void)tn_i_site_fail(s, TN_EINVAL, -1, "a shape of rank %zu (at most %d)", shape.n, TN_MAX_RANK);
    return false;
}

/* Replaces a dimension -1 by what the others leave. */
static bool fill_in(tn_i_site *s, int64_t count, tn_int_list shape, int64_t *dim) {
    int64_t rest = 1;
    int open = -1;
    for (size_t i = 0; i < shape.n; i++) {
        dim[i] = shape.v[i];
        bool bad = dim[i] < -1 || (dim[i] == -1 && open >= 0);
        if (dim[i] == -1)
            open = (int)i;
        else
            bad = bad || !tn_i_mul_i64(rest, dim[i], &rest);
        if (bad) {
            (void)tn_i_site_fail(s, TN_EINVAL, -1, "dimension %zu is %lld", i, (long long)shape.v[i]);
            return false;
        }
    }
    if (open < 0) return true;
    if (rest == 0 || count % rest) {
        (void)tn_i_site_fail(s, TN_ETYPE, -1, "%lld elements leave no size for dimension %d", (long long)count, open);
        return false;
    }
    dim[open] = count / rest;
    return true;
}

tn_val tn_reshape_at(tn_val x, tn_int_list shape, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    int64_t dim[TN_MAX_RANK];
    tn_i_site_open(&s, "reshape", NULL, 1, &x, &v, 0, file, line);
    if (!good_shape(&s, shape) || !fill_in(&s, tn_i_count(tn_i_site_type(&s, v)), shape, dim))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do_reshape(&s, v, (int)shape.n, dim));
}

tn_val tn_ravel_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "ravel", NULL, 1, &x, &v, 0, file, line);
    int64_t n = s.b->failed ? 0 : tn_i_count(tn_i_site_type(&s, v));
    return tn_i_site_close(&s, tn_i_do_reshape(&s, v, 1, &n));
}

tn_val tn_expand_dims_at(tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "expand_dims", NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v)->rank + 1, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do_expand(&s, v, axis));
}

tn_val tn_squeeze_at(tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "squeeze", NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v)->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do_squeeze(&s, v, 1u << axis));
}

tn_val tn_squeeze_all_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    uint32_t ones = 0;
    tn_i_site_open(&s, "squeeze_all", NULL, 1, &x, &v, 0, file, line);
    for (int i = 0; !s.b->failed && i < tn_i_site_type(&s, v)->rank; i++)
        if (tn_i_site_type(&s, v)->dim[i] == 1) ones |= 1u << i;
    return tn_i_site_close(&s, tn_i_do_squeeze(&s, v, ones));
}

tn_val tn_broadcast_to_at(tn_val x, tn_int_list shape, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    char text[TN_I_TYPE_TEXT];
    tn_i_site_open(&s, "broadcast_to", NULL, 1, &x, &v, 0, file, line);
    if (!good_shape(&s, shape)) return tn_i_site_close(&s, TN_NOVAR);
    const tn_type *t = tn_i_site_type(&s, v);
    const tn_type to = tn_type_of((tn_dtype)t->dtype, shape.n, shape.v);
    bool fits = t->rank <= to.rank;
    for (int i = 0; fits && i < t->rank; i++) fits = t->dim[i] == 1 || t->dim[i] == to.dim[to.rank - t->rank + i];
    if (!fits) (void)tn_i_site_fail(&s, TN_ETYPE, 0, "does not broadcast to %s", tn_i_type_text(text, &to));
    return tn_i_site_close(&s, tn_i_do_broadcast_to(&s, v, to.rank, to.dim));
}

tn_val tn_broadcast_in_dim_at(tn_val x, tn_int_list shape, tn_int_list dims, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_args a;
    tn_i_site_open(&s, "broadcast_in_dim", NULL, 1, &x, &v, 0, file, line);
    if (!good_shape(&s, shape) || !good_shape(&s, dims)) return tn_i_site_close(&s, TN_NOVAR);
    tn_i_args_init(&a, &s, TN_P_broadcast_in_dim);
    tn_i_args_ints(&a, "shape", shape.n, shape.v);
    tn_i_args_ints(&a, "broadcast_dimensions", dims.n, dims.v);
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 1, &v));
}

/* ---- order of axes and elements ------------------------------------------------------ */

tn_val tn_permute_at(tn_val x, tn_int_list axes, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    int64_t perm[TN_MAX_RANK];
    uint32_t set;
    tn_i_site_open(&s, "permute", NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    int rank = tn_i_site_type(&s, v)->rank;
    if (axes.n != (size_t)rank)
        (void)tn_i_site_fail(&s, TN_EINVAL, -1, "takes every axis once: %d axes, not %zu", rank, axes.n);
    if (!tn_i_site_axes(&s, axes, rank, &set)) return tn_i_site_close(&s, TN_NOVAR);
    for (int i = 0; i < rank; i++) perm[i] = axes.v[i] < 0 ? axes.v[i] + rank : axes.v[i];
    return tn_i_site_close(&s, tn_i_do_permute(&s, v, perm));
}

tn_val tn_t_at(tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    int64_t perm[TN_MAX_RANK];
    tn_i_site_open(&s, "t", NULL, 1, &x, &v, 0, file, line);
    int rank = s.b->failed ? 0 : tn_i_site_type(&s, v)->rank;
    for (int i = 0; i < rank; i++) perm[i] = rank - 1 - i;
    return tn_i_site_close(&s, tn_i_do_permute(&s, v, perm));
}

tn_val tn_swapaxes_at(tn_val x, int a, int b, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    int64_t perm[TN_MAX_RANK];
    tn_i_site_open(&s, "swapaxes", NULL, 1, &x, &v, 0, file, line);
    int rank = s.b->failed ? 0 : tn_i_site_type(&s, v)->rank;
    if (!tn_i_site_axis(&s, a, rank, &a) || !tn_i_site_axis(&s, b, rank, &b)) return tn_i_site_close(&s, TN_NOVAR);
    for (int i = 0; i < rank; i++) perm[i] = i == a ? b : i == b ? a : i;
    return tn_i_site_close(&s, tn_i_do_permute(&s, v, perm));
}

tn_val tn_moveaxis_at(tn_val x, int from, int to, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    int64_t perm[TN_MAX_RANK];
    tn_i_site_open(&s, "moveaxis", NULL, 1, &x, &v, 0, file, line);
    int rank = s.b->failed ? 0 : tn_i_site_type(&s, v)->rank;
    if (!tn_i_site_axis(&s, from, rank, &from) || !tn_i_site_axis(&s, to, rank, &to))
        return tn_i_site_close(&s, TN_NOVAR);
    for (int i = 0, k = 0; i < rank; i++) {
        if (k == from) k++;
        perm[i] = i == to ? from : k++;
    }
    return tn_i_site_close(&s, tn_i_do_permute(&s, v, perm));
}

tn_val tn_flip_at(tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "flip", NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v)->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_rev(s.b, v, 1, &(const int64_t){axis}));
}

tn_val tn_roll_at(tn_val x, int64_t shift, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "roll", NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v)->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    int64_t n = tn_i_site_type(&s, v)->dim[axis], k = n ? shift % n : 0;
    if (k < 0) k += n;
    if (k == 0) return tn_i_site_close(&s, v);
    const tn_i_var part[2] = {tn_i_do_slice_axis(&s, v, axis, n - k, n, 1),
                              tn_i_do_slice_axis(&s, v, axis, 0, n - k, 1)};
    return tn_i_site_close(&s, tn_i_do_concatenate(&s, 2, part, axis));
}

/* ---- joining and cutting ---------------------------------------------------------------- */

tn_val tn_concatenate_at(tn_val_list x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_site_open_many(&s, "concatenate", NULL, x.n, x.v, 0, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, s.v[0])->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, tn_i_do_concatenate(&s, x.n, s.v, axis));
}

tn_val tn_stack_at(tn_val_list x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_site_open_many(&s, "stack", NULL, x.n, x.v, 0, file, line);
    if (s.b->failed || !tn_i_site_axis(&s, axis, tn_i_site_type(&s, s.v[0])->rank + 1, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    for (size_t i = 1; i < x.n && !s.b->failed; i++)
        if (!tn_type_equal(tn_i_site_type(&s, s.v[i]), tn_i_site_type(&s, s.v[0])))
            (void)tn_i_site_fail(&s, TN_ETYPE, (int)i, "the type differs from the first one's");
    for (size_t i = 0; i < x.n; i++) s.v[i] = tn_i_do_expand(&s, s.v[i], axis);
    return tn_i_site_close(&s, tn_i_do_concatenate(&s, x.n, s.v, axis));
}

void tn_split_at(tn_val x, tn_int_list sizes, int axis, tn_val *out, const char *file, int line) {
    tn_i_site s;
    tn_i_var v, first = TN_NOVAR;
    tn_i_args a;
    tn_i_site_open(&s, "split", NULL, 1, &x, &v, 0, file, line);
    if (!s.b->failed && tn_i_site_axis(&s, axis, tn_i_site_type(&s, v)->rank, &axis)) {
        tn_i_args_init(&a, &s, TN_P_split);
        tn_i_args_ints(&a, "sizes", sizes.n, sizes.v);
        tn_i_args_int(&a, "axis", axis);
        first = tn_i_args_emit(&s, &a, 1, &v);
    }
    tn_i_site_close_many(&s, first, sizes.n, out);
}

tn_val tn_tile_at(tn_val x, tn_int_list repeats, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "tile", NULL, 1, &x, &v, 0, file, line);
    if (!good_shape(&s, repeats)) return tn_i_site_close(&s, TN_NOVAR);
    while ((size_t)tn_i_site_type(&s, v)->rank < repeats.n) v = tn_i_do_expand(&s, v, 0);
    for (size_t i = 0; i < repeats.n && !s.b->failed; i++) {
        const tn_type t = *tn_i_site_type(&s, v);
        const int axis = t.rank - (int)repeats.n + (int)i;
        const int64_t r = repeats.v[i];
        int64_t n;
        if (r < 0 || !tn_i_mul_i64(r, t.dim[axis], &n)) {
            (void)tn_i_site_fail(&s, TN_EINVAL, -1, "%lld repeats", (long long)r);
            break;
        }
        v = tn_i_repeated(s.b, v, axis, r);
    }
    return tn_i_site_close(&s, v);
}

tn_val tn_pad_at(tn_val x, tn_val value, tn_int_list lo, tn_int_list hi, tn_int_list interior, const char *file,
                 int line) {
    const tn_val in[2] = {x, value};
    tn_i_site s;
    tn_i_var v[2];
    int64_t config[3 * TN_MAX_RANK] = {0};
    tn_i_site_open(&s, "pad", NULL, 2, in, v, 2, file, line);
    if (!tn_i_do_numbers(&s)) return tn_i_site_close(&s, TN_NOVAR);
    size_t rank = (size_t)tn_i_site_type(&s, v[0])->rank;
    const tn_int_list list[3] = {lo, hi, interior};
    for (size_t k = 0; k < 3; k++) {
        if (list[k].n != 0 && list[k].n != rank)
            (void)tn_i_site_fail(&s, TN_EINVAL, -1, "takes one number a dimension: %zu, not %zu", rank, list[k].n);
        for (size_t i = 0; i < list[k].n && i < rank; i++) config[3 * i + k] = list[k].v[i];
    }
    return tn_i_site_close(&s, s.b->failed ? TN_NOVAR : tn_i_pad(s.b, v[0], v[1], config));
}
