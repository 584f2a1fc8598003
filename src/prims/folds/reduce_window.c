#include "base/machine.h"
#include "prims/ids.h"
#include "prims/folds/reduce_window.h"
#include "prims/arrays/shape.h"

#include <math.h>
#include <string.h>

typedef struct window {
    tn_i_builder *b;
    const tn_i_window *w;
    tn_i_window_op op;
    const char *name; /* for messages */
} window;

/* ---- checks ---------------------------------------------------------------------------- */

static bool valid(const window *z, tn_i_var x) {
    const tn_type *t = tn_i_vtype(z->b, x);
    if (z->w->rank != t->rank) {
        tn_i_builder_fail(z->b, TN_ETYPE, "%s: windows of rank %d of an array of rank %d", z->name, z->w->rank,
                          (int)t->rank);
        return false;
    }
    for (int i = 0; i < t->rank; i++) {
        const int64_t positive[4] = {z->w->size[i], z->w->stride[i], z->w->base_dilation[i], z->w->dilation[i]};
        static const char *const name[4] = {"window_dimensions", "window_strides", "base_dilation", "window_dilation"};
        for (int k = 0; k < 4; k++) {
            if (positive[k] >= 1) continue;
            tn_i_builder_fail(z->b, TN_ETYPE, "%s: %s: %lld is not positive", z->name, name[k], (long long)positive[k]);
            return false;
        }
    }
    return true;
}

/* ---- padding ------------------------------------------------------------------------------- */

/* The number that changes nothing. */
static tn_i_var neutral(const window *z, int dtype) {
    tn_i_builder *b = z->b;
    const bool most = z->op == TN_I_WINDOW_MIN;
    if (z->op == TN_I_WINDOW_SUM || z->op == TN_I_WINDOW_PROD)
        return tn_i_literal_f64(b, dtype, z->op == TN_I_WINDOW_PROD);
    return tn_i_literal(b, dtype, tn_i_extreme_bits(dtype, most));
}

static tn_i_var padded(const window *z, tn_i_var x, tn_i_var with) {
    int64_t config[3 * TN_MAX_RANK];
    bool some = false;
    for (int i = 0; i < z->w->rank; i++) {
        config[3 * i] = z->w->low[i];
        config[3 * i + 1] = z->w->high[i];
        config[3 * i + 2] = z->w->base_dilation[i] - 1;
        for (int k = 0; k < 3; k++) some |= config[3 * i + k] != 0;
    }
    return some ? tn_i_pad(z->b, x, with, config) : x;
}

/* ---- one dimension ------------------------------------------------------------------------------ */

/* Of x and y, the one that comes first in each window.  A choice of its own, since the derivative of max is shared
 * between equals. */
static tn_i_var joined(const window *z, tn_i_var x, tn_i_var y) {
    tn_i_builder *b = z->b;
    if (b->failed) return TN_NOVAR;
    if (z->op == TN_I_WINDOW_SUM) return tn_i_op2(b, TN_P_add, x, y);
    if (z->op == TN_I_WINDOW_PROD) return tn_i_op2(b, TN_P_mul, x, y);
    const int dtype = tn_i_vtype(b, x)->dtype;
    const bool max = z->op == TN_I_WINDOW_MAX;
    if (dtype == TN_BOOL) return tn_i_op2(b, max ? TN_P_or : TN_P_and, x, y);
    if (!tn_i_is_float(dtype)) return tn_i_op2(b, max ? TN_P_max : TN_P_min, x, y);
    const tn_i_var wins = tn_i_op2(b, max ? TN_P_ge : TN_P_le, x, y), nan = tn_i_op2(b, TN_P_ne, x, x);
    const tn_i_var first = tn_i_op2(b, TN_P_or, wins, nan);
    return tn_i_op3(b, TN_P_select, first, x, y);
}

static tn_i_var by_slices(const window *z, tn_i_var x, int at, int64_t count) {
    const int64_t stride = z->w->stride[at], dilation = z->w->dilation[at];
    tn_i_var sum = tn_i_slice_dimension(z->b, x, at, 0, stride, count);
    for (int64_t k = 1; k < z->w->size[at]; k++) {
        const tn_i_var next = tn_i_slice_dimension(z->b, x, at, count ? k * dilation : 0, stride, count);
        sum = joined(z, sum, next);
    }
    return sum;
}

/* Windows of 1, 2, 4, .. elements, each joined of two of the one before, and of those the size that is asked for. */
static tn_i_var by_doubling(const window *z, tn_i_var x, int at, int64_t count) {
    const int64_t size = z->w->size[at], dilation = z->w->dilation[at], span = (size - 1) * dilation;
    const int64_t all = (count - 1) * z->w->stride[at] + 1 + span; /* elements that windows have */
    tn_i_var power = tn_i_slice_dimension(z->b, x, at, 0, 1, all), sum = TN_NOVAR;
    int64_t taken = 0;
    for (int64_t n = 1; n <= size; n *= 2) {
        const int64_t windows = all - (n - 1) * dilation;
        if (size & n) {
            const tn_i_var next = tn_i_slice_dimension(z->b, power, at, taken * dilation, z->w->stride[at], count);
            sum = taken ? joined(z, sum, next) : next;
            taken += n;
        }
        if (2 * n > size) break;
        const tn_i_var low = tn_i_slice_dimension(z->b, power, at, 0, 1, windows - n * dilation);
        const tn_i_var high = tn_i_slice_dimension(z->b, power, at, n * dilation, 1, windows - n * dilation);
        power = joined(z, low, high);
    }
    return sum;
}

/* Along n of the dimensions. */
static tn_i_sliding sliding_along(const window *z, uint32_t n, const int64_t *dims) {
    tn_i_sliding s = {.n = n};
    for (uint32_t j = 0; j < n; j++) {
        s.dims[j] = dims[j];
        s.sizes[j] = z->w->size[dims[j]];
        s.strides[j] = z->w->stride[dims[j]];
        s.dilation[j] = z->w->dilation[dims[j]];
    }
    return s;
}

static tn_i_var windows_of(const window *z, tn_i_var x, uint32_t n, const int64_t *dims) {
    const tn_i_sliding s = sliding_along(z, n, dims);
    return tn_i_sliding_windows(z->b, x, &s);
}

static tn_i_var reduce(const window *z, int id, tn_i_var x, uint32_t n, const int64_t *axes) {
    if (z->b->failed || !n) return x;
    const tn_i_param p = {.kind = TN_K_INTS, .n = n, .u.ints = axes};
    return tn_i_emit(z->b, tn_i_prim(z->b, id), &p, 1, &x);
}

/* Where the first maximum or minimum of the n last dimensions is, in the order of their indices: of v, a mask. */
static tn_i_var first_of(const window *z, tn_i_var v, int n) {
    tn_i_builder *b = z->b;
    const bool max = z->op == TN_I_WINDOW_MAX;
    if (b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, v);
    tn_i_var mask = TN_NOVAR, best = v;
    for (int k = t.rank - 1; k >= t.rank - n && !b->failed; k--) {
        const int64_t axis = k;
        int64_t dims[TN_MAX_RANK];
        const tn_i_param p[2] = {{.kind = TN_K_INTS, .n = 1, .u.ints = &axis}, {.kind = TN_K_DTYPE, .u.i = TN_I64}};
        const tn_i_var at = tn_i_emit(b, tn_i_prim(b, max ? TN_P_argmax : TN_P_argmin), p, 1, &best);
        for (int i = 0; i < k; i++) dims[i] = i;
        const tn_i_var spread = tn_i_broadcast(b, at, t.rank, t.dim, dims), i = tn_i_iota(b, TN_I64, t.rank, t.dim, k);
        const tn_i_var here = tn_i_op2(b, TN_P_eq, i, spread);
        mask = mask == TN_NOVAR ? here : tn_i_op2(b, TN_P_and, mask, here);
        best = reduce(z, max ? TN_P_reduce_max : TN_P_reduce_min, best, 1, &axis);
    }
    return mask;
}

static tn_i_var chosen(const window *z, tn_i_var mask, tn_i_var v) {
    return tn_i_op3(z->b, TN_P_select, mask, v, tn_i_number_like(z->b, v, 0));
}

static tn_i_var by_windows(const window *z, tn_i_var x, int at) {
    const int64_t dim = at, last = z->w->rank;
    const tn_i_var v = windows_of(z, x, 1, &dim);
    if (z->b->failed) return TN_NOVAR;
    if (z->op == TN_I_WINDOW_SUM) return reduce(z, TN_P_reduce_sum, v, 1, &last);
    if (z->op == TN_I_WINDOW_PROD) return reduce(z, TN_P_reduce_prod, v, 1, &last);
    if (!tn_i_is_float(tn_i_vtype(z->b, v)->dtype))
        return reduce(z, z->op == TN_I_WINDOW_MAX ? TN_P_reduce_max : TN_P_reduce_min, v, 1, &last);
    const tn_i_var mask = first_of(z, v, 1);
    return reduce(z, TN_P_reduce_sum, chosen(z, mask, v), 1, &last);
}

static int64_t digits(int64_t n) {
    int64_t k = 0;
    for (; n; n /= 2) k++;
    return k;
}

static tn_i_var along(const window *z, tn_i_var x, int at) {
    const int64_t size = z->w->size[at], stride = z->w->stride[at];
    if (z->b->failed || (size == 1 && stride == 1)) return x;
    const int64_t count = tn_i_windows_along(tn_i_vtype(z->b, x)->dim[at], size, stride, z->w->dilation[at]);
    if (size <= TN_M_POOL_SLICES) return by_slices(z, x, at, count);
    return count && size / digits(size) / 2 >= stride ? by_doubling(z, x, at, count) : by_windows(z, x, at);
}

/* One dimension after the other, the last first: so the first maximum of all is the first of the first. */
tn_i_var tn_i_reduce_window(tn_i_builder *b, tn_i_var x, tn_i_window_op op, const tn_i_window *w) {
    static const char *const name[] = {"reduce_window_sum", "reduce_window_prod", "reduce_window_max",
                                       "reduce_window_min"};
    const window z = {.b = b, .w = w, .op = op, .name = name[op]};
    if (b->failed || x == TN_NOVAR || !valid(&z, x)) return TN_NOVAR;
    const int dtype = tn_i_vtype(b, x)->dtype;
    if (dtype == TN_BOOL && (op == TN_I_WINDOW_SUM || op == TN_I_WINDOW_PROD)) {
        tn_i_builder_fail(b, TN_ETYPE, "%s: is not defined for bool", z.name);
        return TN_NOVAR;
    }
    x = padded(&z, x, neutral(&z, dtype));
    for (int i = w->rank; i-- > 0;) x = along(&z, x, i);
    return x;
}

/* ---- selected places ---------------------------------------------------------------------------- */

static uint32_t slid_dimensions(const tn_i_window *w, int64_t *dims) {
    uint32_t n = 0;
    for (int i = 0; i < w->rank; i++)
        if (w->size[i] > 1 || w->stride[i] > 1) dims[n++] = i;
    return n;
}

/* A mask of the windows of `by`. */
static tn_i_var selected(const window *z, tn_i_var by, uint32_t n, const int64_t *dims) {
    if (!tn_i_is_float(tn_i_vtype(z->b, by)->dtype)) {
        tn_i_builder_fail(z->b, TN_ETYPE, "%s: is not defined for integers and bool", z->name);
        return TN_NOVAR;
    }
    by = padded(z, by, neutral(z, tn_i_vtype(z->b, by)->dtype));
    const tn_i_var v = windows_of(z, by, n, dims);
    return first_of(z, v, (int)n);
}

static bool alike(const window *z, tn_i_var x, tn_i_var y) {
    if (tn_type_equal(tn_i_vtype(z->b, x), tn_i_vtype(z->b, y))) return true;
    tn_i_builder_fail(z->b, TN_ETYPE, "%s: operands of different types", z->name);
    return false;
}

tn_i_var tn_i_select_and_gather(tn_i_builder *b, tn_i_var x, tn_i_var by, bool least, const tn_i_window *w) {
    const window z = {.b = b, .w = w, .op = least ? TN_I_WINDOW_MIN : TN_I_WINDOW_MAX, .name = "select_and_gather_add"};
    int64_t dims[TN_MAX_RANK], within[TN_MAX_RANK];
    if (b->failed || x == TN_NOVAR || by == TN_NOVAR || !valid(&z, by) || !alike(&z, x, by)) return TN_NOVAR;
    const uint32_t n = slid_dimensions(w, dims);
    for (uint32_t j = 0; j < n; j++) within[j] = w->rank + (int64_t)j;
    const tn_i_var zero = tn_i_literal_f64(b, tn_i_vtype(b, x)->dtype, 0);
    x = padded(&z, x, zero);
    if (!n) return x;
    const tn_i_var mask = selected(&z, by, n, dims), v = windows_of(&z, x, n, dims);
    return reduce(&z, TN_P_reduce_sum, b->failed ? TN_NOVAR : chosen(&z, mask, v), n, within);
}

/* What is added to without the padding. */
static tn_i_var unpadded(const window *z, tn_i_var sum, const tn_type *of) {
    int64_t config[3 * TN_MAX_RANK] = {0}, from[TN_MAX_RANK], to[TN_MAX_RANK], by[TN_MAX_RANK];
    for (int i = 0; i < of->rank; i++) {
        const int64_t low = z->w->low[i], high = z->w->high[i], step = z->w->base_dilation[i];
        config[3 * i] = low < 0 ? -low : 0;
        config[3 * i + 1] = high < 0 ? -high : 0;
        by[i] = of->dim[i] > 1 ? step : 1;
        from[i] = low > 0 ? low : 0;
        to[i] = from[i] + (of->dim[i] ? (of->dim[i] - 1) * by[i] + 1 : 0);
    }
    bool cut = false;
    for (int i = 0; i < of->rank; i++) cut |= config[3 * i] || config[3 * i + 1];
    if (cut) sum = tn_i_pad(z->b, sum, tn_i_literal_f64(z->b, of->dtype, 0), config);
    if (z->b->failed || tn_type_equal(tn_i_vtype(z->b, sum), of)) return sum;
    return tn_i_slice(z->b, sum, from, to, by);
}

tn_i_var tn_i_select_and_scatter(tn_i_builder *b, tn_i_var u, tn_i_var by, bool least, const tn_i_window *w) {
    const window z = {
        .b = b, .w = w, .op = least ? TN_I_WINDOW_MIN : TN_I_WINDOW_MAX, .name = "select_and_scatter_add"};
    int64_t dims[TN_MAX_RANK], outer[TN_MAX_RANK];
    if (b->failed || u == TN_NOVAR || by == TN_NOVAR || !valid(&z, by)) return TN_NOVAR;
    const uint32_t n = slid_dimensions(w, dims);
    const tn_type of = *tn_i_vtype(b, by);
    tn_type t = of; /* of u */
    const tn_i_var pad = padded(&z, by, neutral(&z, of.dtype));
    if (b->failed) return TN_NOVAR;
    const tn_type all = *tn_i_vtype(b, pad);
    for (int i = 0; i < t.rank; i++)
        t.dim[i] = tn_i_windows_along(all.dim[i], w->size[i], w->stride[i], w->dilation[i]);
    if (!tn_type_equal(tn_i_vtype(b, u), &t)) {
        tn_i_builder_fail(b, TN_ETYPE, "%s: operand 0 has not the shape of the windows", z.name);
        return TN_NOVAR;
    }
    if (!n) return unpadded(&z, u, &of);
    const tn_i_var mask = selected(&z, by, n, dims);
    if (b->failed) return TN_NOVAR;
    tn_type windows = *tn_i_vtype(b, mask);
    windows.dtype = of.dtype;
    for (int i = 0; i < of.rank; i++) outer[i] = i;
    const tn_i_var spread = tn_i_broadcast(b, u, windows.rank, windows.dim, outer);
    const tn_i_var zeros = tn_i_zeros(b, &all), u_chosen = chosen(&z, mask, spread);
    const tn_i_sliding slid = sliding_along(&z, n, dims);
    return unpadded(&z, tn_i_overlap_add(b, zeros, u_chosen, &slid), &of);
}

/* ---- as texts have them ------------------------------------------------------------------------------ */

enum { DIMENSIONS, STRIDES, PADDING, BASE, DILATION, SELECT };
#define WINDOW_PARAMS                                                                                \
    {.name = "window_dimensions", .kind = TN_K_INTS}, {.name = "window_strides", .kind = TN_K_INTS}, \
        {.name = "padding", .kind = TN_K_INTS, .lists = 2},                                          \
        {.name = "base_dilation", .kind = TN_K_INTS, .otherwise = "1 for each dimension"}, {         \
        .name = "window_dilation", .kind = TN_K_INTS, .otherwise = "1 for each dimension"            \
    }
static const char *const selections[] = {"ge", "le", NULL};
static const tn_i_spec window_params[] = {WINDOW_PARAMS, {.name = NULL}};
static const tn_i_spec select_params[] = {
    WINDOW_PARAMS, {.name = "select_prim", .kind = TN_K_SYM, .symbols = selections}, {.name = NULL}};

static bool read_form(tn_i_builder *b, const char *name, const tn_i_param *p, tn_i_window *w) {
    const uint32_t n = p[DIMENSIONS].n;
    bool ok = n <= TN_MAX_RANK && p[STRIDES].n == n && p[PADDING].n == 2 * n;
    for (int k = BASE; k <= DILATION; k++) ok = ok && (p[k].kind == TN_K_NONE || p[k].n == n);
    if (!ok) {
        tn_i_builder_fail(b, TN_ETYPE, "%s: window_dimensions and other parameters differ in length", name);
        return false;
    }
    w->rank = (int)n;
    for (uint32_t i = 0; i < n; i++) {
        w->size[i] = tn_i_ints(p, DIMENSIONS)[i];
        w->stride[i] = tn_i_ints(p, STRIDES)[i];
        w->low[i] = tn_i_ints(p, PADDING)[2 * i];
        w->high[i] = tn_i_ints(p, PADDING)[2 * i + 1];
        w->base_dilation[i] = p[BASE].kind == TN_K_NONE ? 1 : tn_i_ints(p, BASE)[i];
        w->dilation[i] = p[DILATION].kind == TN_K_NONE ? 1 : tn_i_ints(p, DILATION)[i];
    }
    return true;
}

static bool operands_are(tn_i_builder *b, const char *name, uint32_t nin, uint32_t want) {
    if (nin != want) tn_i_builder_fail(b, TN_ETYPE, "%s: %u operands, not %u", name, (unsigned)nin, (unsigned)want);
    return nin == want;
}

#define REDUCTION(form, text, op)                                                                            \
    static tn_i_var written_##form(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) { \
        tn_i_window w;                                                                                       \
        const bool ok = operands_are(b, text, nin, 1) && read_form(b, text, p, &w);                          \
        return ok ? tn_i_reduce_window(b, in[0], op, &w) : TN_NOVAR;                                         \
    }                                                                                                        \
    const tn_prim tn_i_##form##_form = {                                                                     \
        .id = -1, .name = text, .nin = 1, .params = window_params, .written = written_##form};
REDUCTION(window_sum, "reduce_window_sum", TN_I_WINDOW_SUM)
REDUCTION(window_prod, "reduce_window_prod", TN_I_WINDOW_PROD)
REDUCTION(window_max, "reduce_window_max", TN_I_WINDOW_MAX)
REDUCTION(window_min, "reduce_window_min", TN_I_WINDOW_MIN)

#define SELECTION(form, text)                                                                                \
    static tn_i_var written_##form(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) { \
        tn_i_window w;                                                                                       \
        const bool ok = operands_are(b, text, nin, 2) && read_form(b, text, p, &w);                          \
        return ok ? tn_i_##form(b, in[0], in[1], p[SELECT].u.i == 1, &w) : TN_NOVAR;                         \
    }                                                                                                        \
    const tn_prim tn_i_##form##_form = {                                                                     \
        .id = -1, .name = text, .nin = 2, .params = select_params, .written = written_##form};
SELECTION(select_and_gather, "select_and_gather_add")
SELECTION(select_and_scatter, "select_and_scatter_add")
