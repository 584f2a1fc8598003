/* Reductions, running reductions, sorting. */
#include "prims/ids.h"
#include "trace/trace.h"

#include <string.h>

/* ---- on variables --------------------------------------------------------------- */

/* A reduced x back at its rank: the axes return with size 1. */
static tn_i_var keep(tn_i_site *s, tn_i_var y, const tn_type *t, uint32_t axes) {
    int64_t shape[TN_MAX_RANK];
    for (int i = 0; i < t->rank; i++) shape[i] = axes >> i & 1 ? 1 : t->dim[i];
    return tn_i_do_reshape(s, y, t->rank, shape);
}

tn_i_var tn_i_do_reduce(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims) {
    if (s->b->failed || axes == 0) return x;
    const tn_type t = *tn_i_site_type(s, x);
    int64_t list[TN_MAX_RANK];
    size_t n = 0;
    for (int i = 0; i < t.rank; i++)
        if (axes >> i & 1) list[n++] = i;
    tn_i_args a;
    tn_i_args_init(&a, s, id);
    tn_i_args_ints(&a, "axes", n, list);
    tn_i_var y = tn_i_args_emit(s, &a, 1, &x);
    return keepdims ? keep(s, y, &t, axes) : y;
}

static double elements(const tn_type *t, uint32_t axes) {
    double n = 1;
    for (int i = 0; i < t->rank; i++)
        if (axes >> i & 1) n *= (double)t->dim[i];
    return n;
}

tn_i_var tn_i_do_mean(tn_i_site *s, tn_i_var x, uint32_t axes, bool keepdims) {
    if (s->b->failed) return TN_NOVAR;
    double n = elements(tn_i_site_type(s, x), axes);
    return tn_i_do2n(s, TN_P_div, tn_i_do_reduce(s, TN_P_reduce_sum, x, axes, keepdims), n);
}

/* ---- the three forms of a reduction ------------------------------------------------- */

typedef tn_i_var reduction(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims);

static tn_i_var primitive(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims) {
    return tn_i_do_reduce(s, id, x, axes, keepdims);
}

static tn_i_var mean(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims) {
    (void)id;
    return tn_i_need_float(s, 1) ? tn_i_do_mean(s, x, axes, keepdims) : TN_NOVAR;
}

static tn_i_var var(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims) {
    (void)id;
    if (!tn_i_need_float(s, 1)) return TN_NOVAR;
    tn_i_var d = tn_i_do2(s, TN_P_sub, x, tn_i_do_mean(s, x, axes, true));
    return tn_i_do_mean(s, tn_i_do1(s, TN_P_square, d), axes, keepdims);
}

static tn_i_var std(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims) {
    return tn_i_do1(s, TN_P_sqrt, var(s, id, x, axes, keepdims));
}

static tn_i_var norm(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims) {
    (void)id;
    if (!tn_i_need_float(s, 1)) return TN_NOVAR;
    tn_i_var square = tn_i_do1(s, TN_P_square, x);
    return tn_i_do1(s, TN_P_sqrt, tn_i_do_reduce(s, TN_P_reduce_sum, square, axes, keepdims));
}

static tn_val over_all(const char *name, reduction *f, int id, tn_val x, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, name, NULL, 1, &x, &v, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, f(&s, id, v, tn_i_all_axes(tn_i_site_type(&s, v)->rank), false));
}

static tn_val over_axes(const char *name, reduction *f, int id, tn_val x, tn_int_list axes, tn_flags flags,
                        const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    uint32_t set;
    tn_i_site_open(&s, name, NULL, 1, &x, &v, 0, file, line);
    if (!tn_i_site_flags(&s, flags, TN_KEEPDIMS) || !tn_i_site_axes(&s, axes, tn_i_site_type(&s, v)->rank, &set))
        return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, f(&s, id, v, set, flags & TN_KEEPDIMS));
}

static tn_val over_axis(const char *name, reduction *f, int id, tn_val x, int axis, tn_flags flags, const char *file,
                        int line) {
    const int64_t one = axis;
    return over_axes(name, f, id, x, (tn_int_list){1, &one}, flags, file, line);
}

tn_val tn_sum_at(tn_val x, const char *file, int line) {
    return over_all("sum", primitive, TN_P_reduce_sum, x, file, line);
}
tn_val tn_sum_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return over_axis("sum_axis", primitive, TN_P_reduce_sum, x, axis, flags, file, line);
}
tn_val tn_sum_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line) {
    return over_axes("sum_axes", primitive, TN_P_reduce_sum, x, axes, flags, file, line);
}

tn_val tn_prod_at(tn_val x, const char *file, int line) {
    return over_all("prod", primitive, TN_P_reduce_prod, x, file, line);
}
tn_val tn_prod_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return over_axis("prod_axis", primitive, TN_P_reduce_prod, x, axis, flags, file, line);
}
tn_val tn_prod_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line) {
    return over_axes("prod_axes", primitive, TN_P_reduce_prod, x, axes, flags, file, line);
}

tn_val tn_max_at(tn_val x, const char *file, int line) {
    return over_all("max", primitive, TN_P_reduce_max, x, file, line);
}
tn_val tn_max_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return over_axis("max_axis", primitive, TN_P_reduce_max, x, axis, flags, file, line);
}
tn_val tn_max_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line) {
    return over_axes("max_axes", primitive, TN_P_reduce_max, x, axes, flags, file, line);
}

tn_val tn_min_at(tn_val x, const char *file, int line) {
    return over_all("min", primitive, TN_P_reduce_min, x, file, line);
}
tn_val tn_min_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return over_axis("min_axis", primitive, TN_P_reduce_min, x, axis, flags, file, line);
}
tn_val tn_min_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line) {
    return over_axes("min_axes", primitive, TN_P_reduce_min, x, axes, flags, file, line);
}

tn_val tn_mean_at(tn_val x, const char *file, int line) { return over_all("mean", mean, 0, x, file, line); }
tn_val tn_mean_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return over_axis("mean_axis", mean, 0, x, axis, flags, file, line);
}
tn_val tn_mean_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line) {
    return over_axes("mean_axes", mean, 0, x, axes, flags, file, line);
}

tn_val tn_var_at(tn_val x, const char *file, int line) { return over_all("var", var, 0, x, file, line); }
tn_val tn_var_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return over_axis("var_axis", var, 0, x, axis, flags, file, line);
}
tn_val tn_var_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line) {
    return over_axes("var_axes", var, 0, x, axes, flags, file, line);
}

tn_val tn_std_at(tn_val x, const char *file, int line) { return over_all("std", std, 0, x, file, line); }
tn_val tn_std_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return over_axis("std_axis", std, 0, x, axis, flags, file, line);
}
tn_val tn_std_axes_at(tn_val x, tn_int_list axes, tn_flags flags, const char *file, int line) {
    return over_axes("std_axes", std, 0, x, axes, flags, file, line);
}
tn_val tn_norm_at(tn_val x, const char *file, int line) { return over_all("norm", norm, 0, x, file, line); }
tn_val tn_norm_axis_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return over_axis("norm_axis", norm, 0, x, axis, flags, file, line);
}

static tn_i_var sum_squares(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims) {
    return tn_i_do_reduce(s, id, tn_i_do1(s, TN_P_square, x), axes, keepdims);
}
tn_val tn_sum_squares_at(tn_val x, const char *file, int line) {
    return over_all("sum_squares", sum_squares, TN_P_reduce_sum, x, file, line);
}

/* any is the largest, all the smallest of bools. */
static tn_i_var of_bools(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims) {
    const tn_type *t = s->b->failed ? NULL : tn_i_site_type(s, x);
    if (t && t->dtype != TN_BOOL)
        return tn_i_site_fail(s, TN_ETYPE, 0, "must be bool, not %s", tn_i_dtype_name(t->dtype));
    return tn_i_do_reduce(s, id, x, axes, keepdims);
}
tn_val tn_any_at(tn_val x, const char *file, int line) {
    return over_all("any", of_bools, TN_P_reduce_max, x, file, line);
}
tn_val tn_all_at(tn_val x, const char *file, int line) {
    return over_all("all", of_bools, TN_P_reduce_min, x, file, line);
}

/* ---- along one axis -------------------------------------------------------------------- */

/* Opens a site with one operand and its axis; false when it is dead. */
static bool open_axis(tn_i_site *s, const char *name, const tn_val *x, tn_i_var *v, int *axis, const char *file,
                      int line) {
    tn_i_site_open(s, name, NULL, 1, x, v, 0, file, line);
    return !s->b->failed && tn_i_site_axis(s, *axis, tn_i_site_type(s, *v)->rank, axis);
}

/* The largest along an axis as a shift that no derivative sees; where it is not
 * finite, `zero` says to shift by 0. */
static tn_i_var shift(tn_i_site *s, tn_i_var x, int axis, bool zero) {
    tn_i_var m = tn_i_do1(s, TN_P_stop_gradient, tn_i_do_reduce(s, TN_P_reduce_max, x, 1u << axis, true));
    if (!zero) return m;
    const tn_i_var finite = tn_i_do1(s, TN_P_is_finite, m), none = tn_i_do_number(s, m, 0);
    return tn_i_do_where(s, finite, m, none);
}

tn_val tn_logsumexp_at(tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_axis(&s, "logsumexp", &x, &v, &axis, file, line) || !tn_i_need_float(&s, 1))
        return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var m = shift(&s, v, axis, true);
    tn_i_var e = tn_i_do1(&s, TN_P_exp, tn_i_do2(&s, TN_P_sub, v, m));
    tn_i_var l = tn_i_do1(&s, TN_P_log, tn_i_do_reduce(&s, TN_P_reduce_sum, e, 1u << axis, false));
    return tn_i_site_close(&s, tn_i_do2(&s, TN_P_add, l, tn_i_do_squeeze(&s, m, 1u << axis)));
}

tn_val tn_softmax_at(tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_axis(&s, "softmax", &x, &v, &axis, file, line) || !tn_i_need_float(&s, 1))
        return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var e = tn_i_do1(&s, TN_P_exp, tn_i_do2(&s, TN_P_sub, v, shift(&s, v, axis, false)));
    return tn_i_site_close(&s, tn_i_do2(&s, TN_P_div, e, tn_i_do_reduce(&s, TN_P_reduce_sum, e, 1u << axis, true)));
}

tn_val tn_log_softmax_at(tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_axis(&s, "log_softmax", &x, &v, &axis, file, line) || !tn_i_need_float(&s, 1))
        return tn_i_site_close(&s, TN_NOVAR);
    tn_i_var d = tn_i_do2(&s, TN_P_sub, v, shift(&s, v, axis, false));
    tn_i_var sum = tn_i_do_reduce(&s, TN_P_reduce_sum, tn_i_do1(&s, TN_P_exp, d), 1u << axis, true);
    return tn_i_site_close(&s, tn_i_do2(&s, TN_P_sub, d, tn_i_do1(&s, TN_P_log, sum)));
}

static tn_val arg_extreme(int id, const char *name, tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_axis(&s, name, &x, &v, &axis, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    const int64_t list = axis;
    tn_i_args a;
    tn_i_args_init(&a, &s, id);
    tn_i_args_ints(&a, "axes", 1, &list);
    tn_i_args_int(&a, "index_dtype", TN_I32);
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 1, &v));
}

tn_val tn_argmax_at(tn_val x, int axis, const char *file, int line) {
    return arg_extreme(TN_P_argmax, "argmax", x, axis, file, line);
}
tn_val tn_argmin_at(tn_val x, int axis, const char *file, int line) {
    return arg_extreme(TN_P_argmin, "argmin", x, axis, file, line);
}

static tn_val cumulative(int id, const char *name, tn_val x, int axis, tn_flags flags, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_axis(&s, name, &x, &v, &axis, file, line) || !tn_i_site_flags(&s, flags, TN_REVERSE))
        return tn_i_site_close(&s, TN_NOVAR);
    tn_i_args a;
    tn_i_args_init(&a, &s, id);
    tn_i_args_int(&a, "axis", axis);
    tn_i_args_int(&a, "reverse", !!(flags & TN_REVERSE));
    return tn_i_site_close(&s, tn_i_args_emit(&s, &a, 1, &v));
}

tn_val tn_cumsum_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return cumulative(TN_P_cumsum, "cumsum", x, axis, flags, file, line);
}
tn_val tn_cumprod_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return cumulative(TN_P_cumprod, "cumprod", x, axis, flags, file, line);
}
tn_val tn_cummax_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return cumulative(TN_P_cummax, "cummax", x, axis, flags, file, line);
}
tn_val tn_cummin_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return cumulative(TN_P_cummin, "cummin", x, axis, flags, file, line);
}
tn_val tn_cumlogsumexp_at(tn_val x, int axis, tn_flags flags, const char *file, int line) {
    return cumulative(TN_P_cumlogsumexp, "cumlogsumexp", x, axis, flags, file, line);
}

tn_val tn_linear_recurrence_at(tn_val a, tn_val x, int axis, tn_flags flags, const char *file, int line) {
    const tn_val in[2] = {a, x};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, "linear_recurrence", NULL, 2, in, v, 0, file, line);
    if (!tn_i_site_flags(&s, flags, TN_REVERSE) || !tn_i_need_float(&s, 2) || !tn_i_do_broadcast(&s, 2, v) ||
        !tn_i_site_axis(&s, axis, tn_i_site_type(&s, v[1])->rank, &axis))
        return tn_i_site_close(&s, TN_NOVAR);
    tn_i_args args;
    tn_i_args_init(&args, &s, TN_P_linear_recurrence);
    tn_i_args_int(&args, "axis", axis);
    tn_i_args_int(&args, "reverse", !!(flags & TN_REVERSE));
    return tn_i_site_close(&s, tn_i_args_emit(&s, &args, 2, v));
}

/* ---- sorting ------------------------------------------------------------------------------ */

static tn_i_var sort(tn_i_site *s, size_t n, const tn_i_var *v, int axis, int keys) {
    tn_i_args a;
    tn_i_args_init(&a, s, TN_P_sort);
    tn_i_args_int(&a, "dimension", axis);
    tn_i_args_int(&a, "is_stable", true);
    tn_i_args_int(&a, "num_keys", keys);
    return tn_i_args_emit(s, &a, n, v);
}

tn_val tn_sort_at(tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_axis(&s, "sort", &x, &v, &axis, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    return tn_i_site_close(&s, sort(&s, 1, &v, axis, 1));
}

tn_val tn_argsort_at(tn_val x, int axis, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    if (!open_axis(&s, "argsort", &x, &v, &axis, file, line)) return tn_i_site_close(&s, TN_NOVAR);
    tn_type t = *tn_i_site_type(&s, v);
    t.dtype = TN_I32;
    const tn_i_var in[2] = {v, tn_i_do_iota(&s, &t, axis)};
    tn_i_var first = sort(&s, 2, in, axis, 1);
    return tn_i_site_close(&s, first == TN_NOVAR ? first : first + 1);
}

void tn_top_k_at(tn_val x, int64_t k, int axis, tn_val *values, tn_val *indices, const char *file, int line) {
    tn_i_site s;
    tn_i_var v, out[2] = {TN_NOVAR, TN_NOVAR};
    if (open_axis(&s, "top_k", &x, &v, &axis, file, line)) {
        tn_i_args a;
        tn_i_args_init(&a, &s, TN_P_top_k);
        tn_i_args_int(&a, "k", k);
        tn_i_args_int(&a, "axis", axis);
        out[0] = tn_i_args_emit(&s, &a, 1, &v);
        out[1] = out[0] == TN_NOVAR ? TN_NOVAR : out[0] + 1;
    }
    const tn_val places = tn_i_site_close(&s, out[1]), largest = tn_i_site_close(&s, out[0]);
    if (values) *values = largest;
    if (indices) *indices = places;
}

void tn_sort_many_at(tn_val_list x, int axis, int keys, tn_val *out, const char *file, int line) {
    tn_i_site s;
    tn_i_var v[8], first = TN_NOVAR;
    size_t n = x.n < 8 ? x.n : 8;
    tn_i_site_open(&s, "sort_many", NULL, n, x.v, v, 0, file, line);
    if (n < x.n) (void)tn_i_site_fail(&s, TN_EINVAL, -1, "sorts at most 8 arrays jointly, not %zu", x.n);
    if (!s.b->failed && tn_i_site_axis(&s, axis, tn_i_site_type(&s, v[0])->rank, &axis))
        first = sort(&s, n, v, axis, keys);
    tn_i_site_close_many(&s, first, x.n, out);
}
