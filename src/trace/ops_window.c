/* Operators over windows: sliding_windows and overlap_add, convolutions, pooling. */
#include "prims/linear/conv.h"
#include "prims/ids.h"
#include "prims/folds/reduce_window.h"
#include "prims/arrays/shape.h"
#include "trace/trace.h"

#include <string.h>

/* One number an axis, or none: then each is `otherwise`. */
static bool fill(tn_i_site *s, const char *name, tn_int_list list, size_t n, int64_t otherwise, int64_t *out) {
    if (list.n != 0 && list.n != n) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "%s has %zu numbers, not %zu", name, list.n, n);
        return false;
    }
    for (size_t i = 0; i < n; i++) out[i] = list.n ? list.v[i] : otherwise;
    return true;
}

/* ---- the primitives ------------------------------------------------------------------- */

static tn_i_var slide(tn_i_site *s, int id, const tn_i_var *v, tn_int_list axes, tn_int_list sizes, tn_int_list strides,
                      tn_int_list dilation) {
    int64_t list[4][TN_MAX_RANK];
    const tn_int_list given[4] = {axes, sizes, strides, dilation};
    static const char *const name[4] = {"axes", "sizes", "strides", "dilation"}, *const ours[4] = {"dimensions",
                                                                                                   "sizes", "strides",
                                                                                                   "dilation"};
    tn_i_args a;
    uint32_t set;
    if (s->b->failed || !tn_i_site_axes(s, axes, tn_i_site_type(s, v[0])->rank, &set)) return TN_NOVAR;
    if (sizes.n != axes.n) return tn_i_site_fail(s, TN_EINVAL, -1, "%zu axes and %zu sizes", axes.n, sizes.n);
    tn_i_args_init(&a, s, id);
    for (int k = 0; k < 4; k++) {
        if (!fill(s, name[k], given[k], axes.n, 1, list[k])) return TN_NOVAR;
        for (size_t i = 0; k == 0 && i < axes.n; i++)
            if (list[0][i] < 0) list[0][i] += tn_i_site_type(s, v[0])->rank;
        tn_i_args_ints(&a, ours[k], axes.n, list[k]);
    }
    return tn_i_args_emit(s, &a, id == TN_P_overlap_add ? 2 : 1, v);
}

tn_val tn_sliding_windows_at(tn_val x, tn_int_list axes, tn_int_list sizes, tn_int_list strides, tn_int_list dilation,
                             const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "sliding_windows", NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, slide(&s, TN_P_sliding_windows, &v, axes, sizes, strides, dilation));
}

tn_val tn_overlap_add_at(tn_val x, tn_val u, tn_int_list axes, tn_int_list sizes, tn_int_list strides,
                         tn_int_list dilation, const char *file, int line) {
    const tn_val in[2] = {x, u};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_site_open(&s, "overlap_add", NULL, 2, in, v, 0, file, line);
    return tn_i_site_close(&s, slide(&s, TN_P_overlap_add, v, axes, sizes, strides, dilation));
}

/* ---- convolution ------------------------------------------------------------------------ */

/* Padding that leaves ceil(n / stride) windows, as JAX's "SAME": half of it in front, rounded down.  Numbers beyond any
 * array's are left to the checks. */
static void pad_same(int64_t n, int64_t size, int64_t stride, int64_t base, int64_t dilation, int64_t *low,
                     int64_t *high) {
    int64_t all, span, reach, need;
    *low = *high = 0;
    if (n < 1 || size < 1 || stride < 1 || base < 1 || dilation < 1) return;
    if (!tn_i_mul_i64(n - 1, base, &all) || !tn_i_mul_i64(size - 1, dilation, &span)) return;
    const int64_t windows = all / stride + 1; /* ceil((all + 1) / stride) */
    if (!tn_i_mul_i64(windows - 1, stride, &reach) || !tn_i_add_i64(reach, span, &need) || need <= all) return;
    *low = (need - all) / 2;
    *high = need - all - *low;
}

/* The axes of an array by its letters: the place of `first`, of `second`, and of the kernel's spatial letters. */
static bool read_letters(tn_i_site *s, const char *text, size_t n, char first, char second, const char *spatial,
                         int64_t *spec) {
    for (size_t i = 0; i < n; i++) spec[i] = -1;
    for (size_t i = 0; i < n; i++) {
        const char *at = memchr(spatial, text[i], n - 2);
        int64_t *const to = text[i] == first    ? spec
                            : text[i] == second ? spec + 1
                            : at                ? spec + 2 + (at - spatial)
                                                : NULL;
        if (!to || *to >= 0) {
            (void)tn_i_site_fail(s, TN_EINVAL, -1,
                                 to ? "layout: '%c' is there twice" : "layout: '%c' is no letter of the kernel",
                                 text[i]);
            return false;
        }
        *to = (int64_t)i;
    }
    return true;
}

/* "NHWC,HWIO->NHWC" */
static bool read_layout(tn_i_site *s, const char *layout, tn_i_conv *c) {
    const char *const comma = layout ? strchr(layout, ',') : NULL, *const arrow = comma ? strstr(comma, "->") : NULL;
    char spatial[TN_MAX_RANK];
    size_t k = 0;
    const size_t n = arrow ? (size_t)(comma - layout) : 0;
    if (n < 2 || n > TN_MAX_RANK || (size_t)(arrow - comma - 1) != n || strlen(arrow + 2) != n) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "the layout is not as \"NHWC,HWIO->NHWC\"");
        return false;
    }
    const char *const kernel = comma + 1, *const out = arrow + 2;
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        if (kernel[i] == 'I' || kernel[i] == 'O') continue;
        ok = k < n - 2 && kernel[i] != 'N' && kernel[i] != 'C';
        if (ok) spatial[k++] = kernel[i];
    }
    if (!ok || k < n - 2) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "layout: the kernel has the letters I, O and those of space, each once");
        return false;
    }
    c->n = (int)n - 2;
    return read_letters(s, kernel, n, 'O', 'I', spatial, c->rhs) &&
           read_letters(s, layout, n, 'N', 'C', spatial, c->lhs) && read_letters(s, out, n, 'N', 'C', spatial, c->out);
}

static bool read_conv(tn_i_site *s, const tn_i_var *v, const char *layout, const tn_conv_how *how, tn_i_conv *c) {
    const tn_conv_how none = {.groups = 1}, *const h = how ? how : &none;
    if (s->b->failed || !read_layout(s, layout, c)) return false;
    const size_t n = (size_t)c->n;
    if (!fill(s, "strides", h->strides, n, 1, c->strides) || !fill(s, "lo", h->lo, n, 0, c->low) ||
        !fill(s, "hi", h->hi, n, 0, c->high) || !fill(s, "x_dilation", h->x_dilation, n, 1, c->lhs_dilation) ||
        !fill(s, "dilation", h->dilation, n, 1, c->rhs_dilation))
        return false;
    c->feature_groups = h->groups ? h->groups : 1;
    c->batch_groups = h->batch_groups ? h->batch_groups : 1;
    const tn_type *x = tn_i_site_type(s, v[0]), *w = tn_i_site_type(s, v[1]);
    if (!h->same || x->rank != c->n + 2 || w->rank != c->n + 2) return true; /* other ranks are refused later */
    if (h->lo.n || h->hi.n) {
        (void)tn_i_site_fail(s, TN_EINVAL, -1, "`same` and padding of your own");
        return false;
    }
    for (int i = 0; i < c->n; i++)
        pad_same(x->dim[c->lhs[2 + i]], w->dim[c->rhs[2 + i]], c->strides[i], c->lhs_dilation[i], c->rhs_dilation[i],
                 &c->low[i], &c->high[i]);
    return true;
}

tn_val tn_conv_at(tn_val x, tn_val kernel, const char *layout, const tn_conv_how *how, const char *file, int line) {
    const tn_val in[2] = {x, kernel};
    tn_i_site s;
    tn_i_var v[2];
    tn_i_conv c;
    tn_i_site_open(&s, "conv", NULL, 2, in, v, 0, file, line);
    return tn_i_site_close(&s, read_conv(&s, v, layout, how, &c) ? tn_i_convolution(s.b, v[0], v[1], &c) : TN_NOVAR);
}

/* ---- pooling ----------------------------------------------------------------------------- */

static bool read_window(tn_i_site *s, tn_i_var x, const tn_window *w, tn_i_window *out) {
    if (s->b->failed) return false;
    const tn_type *t = tn_i_site_type(s, x);
    const size_t n = (size_t)t->rank;
    if (!w) return tn_i_site_fail(s, TN_EINVAL, -1, "the window is NULL"), false;
    out->rank = t->rank;
    if (!fill(s, "sizes", w->sizes, n, 1, out->size) || !fill(s, "strides", w->strides, n, 1, out->stride) ||
        !fill(s, "lo", w->lo, n, 0, out->low) || !fill(s, "hi", w->hi, n, 0, out->high) ||
        !fill(s, "x_dilation", w->x_dilation, n, 1, out->base_dilation) ||
        !fill(s, "dilation", w->dilation, n, 1, out->dilation))
        return false;
    if (!w->same) return true;
    if (w->lo.n || w->hi.n) return tn_i_site_fail(s, TN_EINVAL, -1, "`same` and padding of your own"), false;
    for (size_t i = 0; i < n; i++)
        pad_same(t->dim[i], out->size[i], out->stride[i], out->base_dilation[i], out->dilation[i], &out->low[i],
                 &out->high[i]);
    return true;
}

static tn_val pool(const char *name, tn_i_window_op op, tn_val x, const tn_window *w, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_window all;
    tn_i_site_open(&s, name, NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, read_window(&s, v, w, &all) ? tn_i_reduce_window(s.b, v, op, &all) : TN_NOVAR);
}

tn_val tn_sum_pool_at(tn_val x, const tn_window *w, const char *file, int line) {
    return pool("sum_pool", TN_I_WINDOW_SUM, x, w, file, line);
}

tn_val tn_prod_pool_at(tn_val x, const tn_window *w, const char *file, int line) {
    return pool("prod_pool", TN_I_WINDOW_PROD, x, w, file, line);
}

tn_val tn_max_pool_at(tn_val x, const tn_window *w, const char *file, int line) {
    return pool("max_pool", TN_I_WINDOW_MAX, x, w, file, line);
}

tn_val tn_min_pool_at(tn_val x, const tn_window *w, const char *file, int line) {
    return pool("min_pool", TN_I_WINDOW_MIN, x, w, file, line);
}

/* How many elements each window has, without padding: of ones, so known when the program is made. */
static tn_i_var counts(tn_i_site *s, tn_i_var x, const tn_i_window *w) {
    return tn_i_reduce_window(s->b, tn_i_number_like(s->b, x, 1), TN_I_WINDOW_SUM, w);
}

static tn_i_var average(tn_i_site *s, tn_i_var x, const tn_window *w, tn_flags flags) {
    tn_i_window all;
    double n = 1;
    if (!tn_i_site_flags(s, flags, TN_EXCLUDE_PADDING) || !tn_i_need_float(s, 1) || !read_window(s, x, w, &all))
        return TN_NOVAR;
    const tn_i_var sum = tn_i_reduce_window(s->b, x, TN_I_WINDOW_SUM, &all);
    if (flags & TN_EXCLUDE_PADDING) return tn_i_do2(s, TN_P_div, sum, counts(s, x, &all));
    for (int i = 0; i < all.rank; i++) n *= (double)all.size[i];
    return tn_i_do2n(s, TN_P_div, sum, n);
}

tn_val tn_avg_pool_at(tn_val x, const tn_window *w, tn_flags flags, const char *file, int line) {
    tn_i_site s;
    tn_i_var v;
    tn_i_site_open(&s, "avg_pool", NULL, 1, &x, &v, 0, file, line);
    return tn_i_site_close(&s, average(&s, v, w, flags));
}
