/* Reductions: reduce_sum reduce_max reduce_min reduce_prod argmax argmin. */
#include "prims/forms.h"
#include "prims/c_text.h"
#include "prims/scalar/complex.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/folds/recur.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <math.h>
#include <string.h>

static const tn_i_spec axes_params[] = {{.name = "axes", .kind = TN_K_INTS}, {.name = NULL}};

/* ---- types ------------------------------------------------------------------- */

static bool output_without(tn_i_query *q, unsigned axes, int dtype) {
    int64_t dim[TN_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < q->in[0]->rank; i++)
        if (!(axes >> i & 1)) dim[rank++] = q->in[0]->dim[i];
    return tn_i_output(q, dtype, rank, dim);
}

static bool axes_valid(tn_i_query *q, unsigned *axes) {
    if (!tn_i_admits(q) || !tn_i_params_given(q)) return false;
    if (!tn_i_axes_valid(q, "axes", q->p[0].n, q->p[0].u.ints, q->in[0]->rank, false)) return false;
    *axes = tn_i_axis_set(q->p[0].n, q->p[0].u.ints);
    return true;
}

static bool type_reduce(tn_i_query *q) {
    unsigned axes;
    return axes_valid(q, &axes) && output_without(q, axes, q->in[0]->dtype);
}

static bool type_arg(tn_i_query *q) {
    unsigned axes;
    if (!axes_valid(q, &axes)) return false;
    if (q->p[0].n != 1) return tn_i_type_fail(q, -1, "axes must hold exactly one axis, not %u", (unsigned)q->p[0].n);
    const int64_t size = q->in[0]->dim[q->p[0].u.ints[0]];
    const int dtype = (int)q->p[1].u.i;
    if (!tn_i_is_index(dtype))
        return tn_i_type_fail(q, -1, "index_dtype must be i32 or i64, not %s", tn_i_dtype_name(dtype));
    if (size == 0) return tn_i_type_fail(q, 0, "axis %d is empty and has no extreme element", (int)q->p[0].u.ints[0]);
    if (dtype == TN_I32 && size > INT32_MAX)
        return tn_i_type_fail(q, 0, "the axis is too long for indices of type i32");
    return output_without(q, axes, dtype);
}

static void cost_reduce(const tn_i_query *q, tn_i_cost *cost) {
    tn_i_cost_copy(q, cost);
    cost->flops += (double)tn_i_count(q->in[0]);
}

/* ---- folding ----------------------------------------------------------------- */

/* In the order of plan/nest.h, whatever the layout: leaves of LEAF elements of the reduced axes, row-major, are summed
 * in LANES interleaved lanes, and leaves in a binary counter.  Each operation is rounded to the operand's dtype: what
 * f64 makes of one operation on two f32 is, rounded, what f32 makes of it. */
enum { LEAF = 512, LANES = 16, WIDTH = 64 };

/* acc[j] takes in x[j], x[j + period], ... */
typedef void fold_fn(tn_i_wide *acc, const tn_i_wide *x, int64_t n, int64_t period);

#define FOLD(name, field, type, expression)                                           \
    static void name(tn_i_wide *acc, const tn_i_wide *x, int64_t n, int64_t period) { \
        for (int64_t i = 0; i < n; i += period) {                                     \
            const int64_t m = n - i < period ? n - i : period;                        \
            for (int64_t j = 0; j < m; j++) {                                         \
                const type a = acc[j].field, b = x[i + j].field;                      \
                acc[j].field = expression;                                            \
            }                                                                         \
        }                                                                             \
    }

FOLD(sum_float, d, double, a + b)
FOLD(sum_single, d, double, (float)(a + b))
FOLD(prod_single, d, double, (float)(a *b))
FOLD(sum_int, u, uint64_t, a + b)
FOLD(prod_float, d, double, a *b)
FOLD(prod_int, u, uint64_t, a *b)
FOLD(max_float, d, double, b > a || b != b ? b : a)
FOLD(max_int, i, int64_t, b > a ? b : a)
FOLD(min_float, d, double, b < a || b != b ? b : a)
FOLD(min_int, i, int64_t, b < a ? b : a)

typedef struct reduction {
    fold_fn *fold;
    tn_i_wide identity;
    int dtype;
    const void *data; /* at the kept position at hand */
    const tn_i_dims *reduced;
    int64_t count;         /* of elements reduced */
    int64_t width, stride; /* kept elements reduced side by side */
} reduction;

/* Lanes that nothing goes to hold what changes no other: they are passed over. */
static void fold_leaf(const reduction *c, int64_t first, int64_t n, tn_i_wide *out) {
    tn_i_wide acc[LANES * WIDTH], x[LEAF];
    const int64_t w = c->width;
    int64_t lanes = n < 1 ? 1 : n < LANES ? n : LANES;
    for (int64_t i = 0; i < lanes * w; i++) acc[i] = c->identity;
    if (w == 1) {
        tn_i_load_dims(c->dtype, c->data, c->reduced, first, n, x);
        c->fold(acc, x, n, LANES);
    } else {
        tn_i_cursor at;
        tn_i_cursor_start(&at, c->reduced, first);
        for (int64_t i = 0; i < n; i++, tn_i_cursor_next(&at)) {
            tn_i_load(c->dtype, c->data, at.offset, c->stride, w, x);
            c->fold(acc + i % LANES * w, x, w, w);
        }
    }
    for (int64_t half = LANES / 2; half > 0; half /= 2)
        if (lanes > half) {
            c->fold(acc, acc + half * w, (lanes - half) * w, (lanes - half) * w);
            lanes = half;
        }
    memcpy(out, acc, (size_t)w * sizeof *out);
}

/* Leaves lo..hi-1; as deep as the logarithm of their number. */
static void fold_leaves(const reduction *c, int64_t lo, int64_t hi, tn_i_wide *out) {
    if (hi - lo == 1) {
        const int64_t left = c->count - lo * LEAF;
        fold_leaf(c, lo * LEAF, left < LEAF ? left : LEAF, out);
        return;
    }
    tn_i_wide right[WIDTH];
    int64_t half = 1; /* of the binary counter's trees the first is the largest */
    while (2 * half < hi - lo) half *= 2;
    const int64_t mid = lo + half;
    fold_leaves(c, lo, mid, out);
    fold_leaves(c, mid, hi, right);
    c->fold(out, right, c->width, c->width);
}

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/* Side by side where that walks memory in order, or where single folds would be short. */
static bool side_by_side(const tn_i_dims *reduced, int64_t count, int64_t size, int64_t stride) {
    if (size < LANES || count == 0) return false;
    if (reduced->n == 0 || count < LEAF / 2) return true;
    return magnitude(stride) <= magnitude(reduced->stride[reduced->n - 1]);
}

static tn_status reduce(const tn_i_kernel *k, fold_fn *fold, tn_i_wide identity) {
    const tn_i_arr *x = &k->in[0], *out = &k->out[0];
    const unsigned axes = tn_i_axis_set(k->p[0].n, k->p[0].u.ints);
    tn_i_dims reduced = tn_i_dims_of(x, axes), kept = tn_i_dims_of(x, ~axes);
    tn_i_dims_merge(&reduced);
    tn_i_dims_merge(&kept);
    if (kept.n == 0) tn_i_dims_push(&kept, 1, 0);
    const int64_t size = kept.size[kept.n - 1], stride = kept.stride[kept.n - 1], total = tn_i_dims_count(&kept);
    reduction c = {.fold = fold,
                   .identity = identity,
                   .dtype = x->type->dtype,
                   .reduced = &reduced,
                   .count = tn_i_dims_count(&reduced),
                   .stride = stride};
    const int64_t width = side_by_side(&reduced, c.count, size, stride) ? WIDTH : 1;
    const int64_t leaves = c.count ? (c.count - 1) / LEAF + 1 : 1;
    tn_i_wide result[WIDTH];
    kept.n--;
    tn_i_cursor w;
    tn_i_cursor_start(&w, &kept, 0);
    for (int64_t at = 0; at < total; at += size, tn_i_cursor_next(&w))
        for (int64_t j = 0; j < size; j += c.width) {
            c.width = size - j < width ? size - j : width;
            c.data = c.count ? tn_i_address(x, w.offset + j * stride) : NULL; /* of none there may be no memory */
            fold_leaves(&c, 0, leaves, result);
            tn_i_store(c.dtype, out->data, at + j, 1, c.width, result);
        }
    return TN_OK;
}

static bool floating(const tn_i_kernel *k) { return tn_i_is_float(k->in[0].type->dtype); }
static bool single(const tn_i_kernel *k) { return k->in[0].type->dtype == TN_F32; }

static tn_status kernel_sum(const tn_i_kernel *k) {
    if (!floating(k)) return reduce(k, sum_int, (tn_i_wide){.i = 0});
    return reduce(k, single(k) ? sum_single : sum_float, (tn_i_wide){.d = 0});
}

static tn_status kernel_prod(const tn_i_kernel *k) {
    if (!floating(k)) return reduce(k, prod_int, (tn_i_wide){.i = 1});
    return reduce(k, single(k) ? prod_single : prod_float, (tn_i_wide){.d = 1});
}

static int64_t least(int dtype) {
    return dtype == TN_BOOL || dtype == TN_U32 ? 0 : dtype == TN_I32 ? INT32_MIN : INT64_MIN;
}
static int64_t greatest(int dtype) {
    return dtype == TN_BOOL ? 1 : dtype == TN_U32 ? UINT32_MAX : dtype == TN_I32 ? INT32_MAX : INT64_MAX;
}

static tn_status kernel_max(const tn_i_kernel *k) {
    return floating(k) ? reduce(k, max_float, (tn_i_wide){.d = -INFINITY})
                       : reduce(k, max_int, (tn_i_wide){.i = least(k->in[0].type->dtype)});
}

static tn_status kernel_min(const tn_i_kernel *k) {
    return floating(k) ? reduce(k, min_float, (tn_i_wide){.d = INFINITY})
                       : reduce(k, min_int, (tn_i_wide){.i = greatest(k->in[0].type->dtype)});
}

/* ---- rules --------------------------------------------------------------------- */

/* A reduced value repeated over the axes it lost. */
static tn_i_var spread(tn_i_rule *r, tn_i_var y) {
    const tn_type *t = r->in_type[0];
    const unsigned axes = tn_i_axis_set(r->p[0].n, r->p[0].u.ints);
    int64_t kept[TN_MAX_RANK];
    int n = 0;
    for (int i = 0; i < t->rank; i++)
        if (!(axes >> i & 1)) kept[n++] = i;
    return tn_i_broadcast(r->b, y, t->rank, t->dim, kept);
}

static void transpose_sum(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) { ct_in[0] = spread(r, ct[0]); }

static void batch_axes(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    int64_t axes[TN_MAX_RANK];
    const uint32_t n = tn_i_behind_batch(r->p[0].n, r->p[0].u.ints, -1, axes);
    tn_i_param p[2] = {{.kind = TN_K_INTS, .n = n, .u.ints = axes}};
    if (r->e->prim->params[1].name) p[1] = r->p[1];
    out[0] = tn_i_emit(r->b, r->e->prim, p, 1, r->in);
    out_batched[0] = true;
}

static tn_i_var sum_axes(tn_i_rule *r, tn_i_var x) { return tn_i_reduce_sum(r->b, x, r->p[0].n, r->p[0].u.ints); }

/* Mean of the tangents over the places of the extreme value. */
static void jvp_extreme(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    if (tn_i_count(r->in_type[0]) == 0) return; /* nothing to differentiate; a mean over none is NaN */
    if (r->p[0].n == 0) {
        dout[0] = din[0];
        return;
    }
    const tn_i_var here = tn_i_op2(b, TN_P_eq, r->in[0], spread(r, r->out[0])),
                   count = sum_axes(r, tn_i_convert(b, here, r->in_type[0]->dtype)),
                   taken = tn_i_op3(b, TN_P_select, here, din[0], tn_i_zeros(b, r->in_type[0]));
    dout[0] = tn_i_op2(b, TN_P_div, sum_axes(r, taken), count);
}

/* x with the reduced axes joined into one, at *axis. */
static tn_i_var join(tn_i_rule *r, tn_i_var x, int *axis) {
    const tn_type *t = r->in_type[0];
    const unsigned axes = tn_i_axis_set(r->p[0].n, r->p[0].u.ints);
    int64_t perm[TN_MAX_RANK], shape[TN_MAX_RANK], joined = 1;
    int n = 0, kept = 0;
    if (r->p[0].n == 1) {
        *axis = (int)r->p[0].u.ints[0];
        return x;
    }
    for (int i = 0; i < t->rank; i++)
        if (!(axes >> i & 1)) {
            shape[kept++] = t->dim[i];
            perm[n++] = i;
        }
    for (int i = 0; i < t->rank; i++)
        if (axes >> i & 1) {
            joined *= t->dim[i]; /* not empty, so no larger than x */
            perm[n++] = i;
        }
    shape[kept] = joined;
    *axis = kept;
    bool sorted = true;
    for (int i = 0; i < n; i++) sorted &= perm[i] == i;
    return tn_i_reshape(r->b, sorted ? x : tn_i_permute(r->b, x, perm), kept + 1, shape);
}

/* The other elements' product is the product before times the product after: exact at zeros. */
static void jvp_prod(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    if (tn_i_count(r->in_type[0]) == 0) return;
    if (r->p[0].n == 0) {
        dout[0] = din[0];
        return;
    }
    int at;
    const tn_i_var x = join(r, r->in[0], &at), dx = join(r, din[0], &at);
    const tn_i_var before = tn_i_cumulate(b, TN_P_cumprod, tn_i_shift(b, x, at, 1, 1.0), at, false);
    const tn_i_var after = tn_i_cumulate(b, TN_P_cumprod, tn_i_shift(b, x, at, -1, 1.0), at, true);
    const int64_t axis = at;
    dout[0] = tn_i_reduce_sum(b, tn_i_op2(b, TN_P_mul, dx, tn_i_op2(b, TN_P_mul, before, after)), 1, &axis);
}

/* x without those dimensions of size 1 that are among the n axes, and the axes that are left; x itself where there are
 * none of size 1. */
static tn_i_var without_single(tn_i_builder *b, tn_i_var x, uint32_t n, const int64_t *axes, uint32_t *left,
                               int64_t *rest) {
    const tn_type t = *tn_i_vtype(b, x);
    const unsigned among = tn_i_axis_set(n, axes);
    int64_t shape[TN_MAX_RANK], place[TN_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < t.rank; d++) {
        place[d] = rank;
        if (t.dim[d] != 1 || !(among >> d & 1)) shape[rank++] = t.dim[d];
    }
    *left = 0;
    for (uint32_t i = 0; i < n; i++)
        if (t.dim[axes[i]] != 1) rest[(*left)++] = place[axes[i]];
    return *left == n ? x : tn_i_reshape(b, x, rank, shape);
}

/* Of no axes, and of one element each, it is the value itself. */
static tn_i_var simplify_axes(tn_i_builder *b, int id, const tn_i_param *p, tn_i_var x) {
    int64_t rest[TN_MAX_RANK];
    uint32_t left;
    if (p[0].n == 0) return x;
    const tn_i_var y = without_single(b, x, p[0].n, tn_i_ints(p, 0), &left, rest);
    if (left == p[0].n) return TN_NOVAR;
    const tn_i_param axes = {.kind = TN_K_INTS, .n = left, .u.ints = rest};
    return left ? tn_i_emit(b, tn_i_prim(b, id), &axes, 1, &y) : y;
}

#define SIMPLIFY(name)                                                                                      \
    static tn_i_var simplify_##name(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in, \
                                    const tn_type *out) {                                                   \
        (void)nin, (void)out;                                                                               \
        return simplify_axes(b, TN_P_reduce_##name, p, in[0]);                                              \
    }
SIMPLIFY(max)
SIMPLIFY(min)
SIMPLIFY(prod)

/* How many of the axes are the last dimensions, where others are summed too, in front of some that are kept: such rows
 * are summed by themselves, and what they leave after them, so that each is one pass over memory in its order.  0: all
 * are one sum; so too of rows that are shorter than the lanes of a sum (docs/loop-ir.md, "The order of sums"). */
static uint32_t rows_of(const tn_type *t, uint32_t naxes, const int64_t *axes) {
    unsigned summed = 0;
    uint32_t rows = 0;
    int64_t length = 1;
    bool between = false;
    for (uint32_t i = 0; i < naxes; i++) {
        if (i && axes[i] < axes[i - 1]) return 0;
        summed |= 1u << axes[i];
    }
    for (int d = t->rank; d-- > 0 && summed >> d & 1; rows++) length *= t->dim[d];
    for (int d = (int)axes[0]; d < t->rank - (int)rows; d++) between |= !(summed >> d & 1) && t->dim[d] > 1;
    return between && length >= LANES ? rows : 0;
}

/* The sum of -0 alone is +0, which linear programs do not tell apart. */
static tn_i_var simplify_sum(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)nin;
    const uint32_t n = p[0].n;
    const tn_type *t = tn_i_vtype(b, in[0]);
    uint32_t left = 0;
    for (uint32_t i = 0; i < n; i++) left += t->dim[tn_i_ints(p, 0)[i]] != 1;
    const bool signless = !tn_i_is_float(out->dtype) || b->val[in[0]].linear;
    if (left == 0 && n == 0 && !signless) return TN_NOVAR;
    if (left < n || n == 0) {
        const tn_i_var x = simplify_axes(b, TN_P_reduce_sum, p, in[0]);
        return left || signless || x == TN_NOVAR ? x : tn_i_plus(b, x, 0.0);
    }
    const uint32_t rows = rows_of(t, n, tn_i_ints(p, 0));
    if (rows == 0) return TN_NOVAR;
    const tn_i_var x = tn_i_reduce_sum(b, in[0], rows, tn_i_ints(p, 0) + (n - rows));
    return tn_i_reduce_sum(b, x, n - rows, tn_i_ints(p, 0));
}

/* ---- argmax, argmin ---------------------------------------------------------------- */

/* Whether x displaces `best`: the first NaN wins, then the first extreme. */
static bool better(bool is_float, bool most, tn_i_wide x, tn_i_wide best) {
    if (!is_float) return most ? x.i > best.i : x.i < best.i;
    if (best.d != best.d) return false;
    return x.d != x.d || (most ? x.d > best.d : x.d < best.d);
}

static int64_t find_extreme(const tn_i_arr *x, const void *data, int64_t n, int64_t stride, bool most) {
    const bool is_float = tn_i_is_float(x->type->dtype);
    tn_i_wide part[LEAF], best = {.i = 0};
    int64_t where = -1;
    for (int64_t first = 0; first < n; first += LEAF) {
        const int64_t m = n - first < LEAF ? n - first : LEAF;
        tn_i_load(x->type->dtype, data, first * stride, stride, m, part);
        for (int64_t i = 0; i < m; i++)
            if (where < 0 || better(is_float, most, part[i], best)) {
                best = part[i];
                where = first + i;
            }
    }
    return where;
}

static tn_status find(const tn_i_kernel *k, bool most) {
    const tn_i_arr *x = &k->in[0], *out = &k->out[0];
    const int64_t axis = k->p[0].u.ints[0];
    const tn_i_dims kept = tn_i_dims_of(x, ~(1u << axis));
    const int64_t total = tn_i_dims_count(&kept);
    tn_i_cursor w;
    tn_i_cursor_start(&w, &kept, 0);
    for (int64_t at = 0; at < total; at++, tn_i_cursor_next(&w)) {
        const tn_i_wide where = {
            .i = find_extreme(x, tn_i_address(x, w.offset), x->type->dim[axis], x->stride[axis], most)};
        tn_i_store(out->type->dtype, out->data, at, 1, 1, &where);
    }
    return TN_OK;
}

static tn_status kernel_argmax(const tn_i_kernel *k) { return find(k, true); }
static tn_status kernel_argmin(const tn_i_kernel *k) { return find(k, false); }

/* ---- samples ------------------------------------------------------------------------- */

static bool sample_axes(tn_i_rng *r, int dtype, tn_i_case *c) {
    int64_t axes[TN_MAX_RANK];
    uint32_t n = 0;
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    for (int i = 0; i < c->in[0].rank; i++)
        if (tn_i_pick(r, 0, 1)) axes[n++] = i;
    return tn_i_case_list(c, 0, n, axes);
}

/* An empty maximum is infinite and a difference of infinities NaN. */
static void no_empty_axis(tn_i_case *c) {
    for (uint32_t i = 0; i < c->p[0].n; i++)
        if (c->in[0].dim[c->p[0].u.ints[i]] == 0) c->in[0].dim[c->p[0].u.ints[i]] = 3;
}

static bool sample_extreme(tn_i_rng *r, int dtype, tn_i_case *c) {
    if (!sample_axes(r, dtype, c)) return false;
    if (tn_i_is_float(dtype)) no_empty_axis(c);
    c->fill = tn_i_fill_apart;
    return true;
}

static bool sample_prod(tn_i_rng *r, int dtype, tn_i_case *c) {
    if (tn_i_is_float(dtype)) c->fill = tn_i_fill_factors;
    return sample_axes(r, dtype, c);
}

static bool sample_arg(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 1, 4);
    const int64_t axis = tn_i_pick(r, 0, c->in[0].rank - 1);
    c->p[1] = (tn_i_param){.kind = TN_K_DTYPE, .u.i = tn_i_pick(r, 0, 1) ? TN_I32 : TN_I64};
    if (!tn_i_case_list(c, 0, 1, &axis)) return false;
    no_empty_axis(c);
    return true;
}

/* ---- descriptors ----------------------------------------------------------------------- */

/* The sign stays, also of none. */
static void range_reduce_sum(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out) {
    (void)p, (void)nin, (void)same;
    if (in[0].lo >= 0) out->lo = 0;
    if (in[0].hi <= 0) out->hi = 0;
}

/* ---- C text ---- */

static void c_reduce(const tn_i_c_kernel *k) {
    const tn_type *t = k->in[0].type;
    const unsigned axes = tn_i_axis_set(k->p[0].n, k->p[0].u.ints);
    const bool finds = k->prim->fold == TN_FOLD_ARGMAX || k->prim->fold == TN_FOLD_ARGMIN;
    const char *type = tn_i_c_name(t->dtype);
    int64_t to[TN_MAX_RANK] = {0};
    char name[32];
    int n = 0;
    (void)tn_i_fold_name((int)k->prim->fold, t->dtype, name);
    for (int d = 0; d < t->rank; d++)
        if (!(axes >> d & 1)) to[d] = k->out[0].stride[n++];
    tn_i_c_open_axes(k->t, "i", t, ~axes);
    tn_i_text_put(k->t, finds ? "%s best = 0;\nint64_t at = 0;\n" : "%s state[72] = {0};\n", type);
    tn_i_text_put(k->t, "uint64_t n = 0;\n");
    tn_i_c_open_axes(k->t, "i", t, axes);
    tn_i_text_put(k->t, finds ? "tansy_into_%s(&best, &n, &at, in0[" : "tansy_into_%s(state, &n, in0[", name);
    tn_i_c_at_arr(k->t, "i", &k->in[0]);
    tn_i_text_put(k->t, "]);\n");
    tn_i_c_close_axes(k->t, t, axes);
    tn_i_text_put(k->t, "out0[");
    tn_i_c_at_axes(k->t, "i", t, to, ~axes);
    if (finds)
        tn_i_text_put(k->t, k->out[0].type->dtype == TN_I32 ? "] = (int32_t)at;\n" : "] = at;\n");
    else
        tn_i_text_put(k->t, "] = tansy_total_%s(state, n);\n", name);
    tn_i_c_close_axes(k->t, t, ~axes);
}

static bool sums_reduce(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const tn_type *t = q->in[0];
    const unsigned axes = tn_i_axis_set(q->p[0].n, q->p[0].u.ints);
    int64_t from[TN_MAX_RANK], to[TN_MAX_RANK];
    tn_i_dense_strides(t, from);
    tn_i_dense_strides(q->out, to);
    for (int d = 0, j = 0; d < t->rank; d++)
        if (!(axes >> d & 1)) tn_i_sums_loop(s, false, t->dim[d], to[j++], from[d], 0);
    for (int d = 0; d < t->rank; d++)
        if (axes >> d & 1) tn_i_sums_loop(s, true, t->dim[d], 0, from[d], 0);
    return operand == 0;
}

const tn_prim tn_prim_reduce_sum = {
    .id = TN_P_reduce_sum,
    .name = "reduce_sum",
    .doc = "sum over axes; integers wrap; floats are summed pairwise, in an order that only the sizes decide",
    .nin = 1,
    .dtypes = TN_NUMBERS,
    .params = axes_params,
    .type = type_reduce,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_sum,
    .transpose = transpose_sum,
    .batch = batch_axes,
    .fold = TN_FOLD_SUM,
    .kernel = kernel_sum,
    .c_kernel = c_reduce,
    .cost = cost_reduce,
    .jvp_bound = 2,
    .transpose_bound = 2,
    .sample = sample_axes,
    .range = range_reduce_sum,
    .spread = TN_SPREAD_SUMS,
    .sums = sums_reduce,
};

const tn_prim tn_prim_reduce_max = {
    .id = TN_P_reduce_max,
    .name = "reduce_max",
    .doc = "largest over axes; NaN wins; of none -inf, the least integer or False; derivative: ties share equally",
    .nin = 1,
    .flags = TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = axes_params,
    .type = type_reduce,
    .simplify = simplify_max,
    .jvp = jvp_extreme,
    .batch = batch_axes,
    .fold = TN_FOLD_MAX,
    .kernel = kernel_max,
    .c_kernel = c_reduce,
    .cost = cost_reduce,
    .jvp_bound = 16,
    .domain = {{.at = TN_AT_TIES, .apart = 0.01}},
    .sample = sample_extreme,
};

const tn_prim tn_prim_reduce_min = {
    .id = TN_P_reduce_min,
    .name = "reduce_min",
    .doc = "smallest over axes; NaN wins; of none inf, the greatest integer or True; derivative: ties share equally",
    .nin = 1,
    .flags = TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = axes_params,
    .type = type_reduce,
    .simplify = simplify_min,
    .jvp = jvp_extreme,
    .batch = batch_axes,
    .fold = TN_FOLD_MIN,
    .kernel = kernel_min,
    .c_kernel = c_reduce,
    .cost = cost_reduce,
    .jvp_bound = 16,
    .domain = {{.at = TN_AT_TIES, .apart = 0.01}},
    .sample = sample_extreme,
};

const tn_prim tn_prim_reduce_prod = {
    .id = TN_P_reduce_prod,
    .name = "reduce_prod",
    .doc = "product over axes; integers wrap; the derivative is exact at zeros: the gradient at [0,2,3] is [6,0,0]",
    .nin = 1,
    .dtypes = TN_NUMBERS,
    .params = axes_params,
    .type = type_reduce,
    .simplify = simplify_prod,
    .jvp = jvp_prod,
    .batch = batch_axes,
    .fold = TN_FOLD_PROD,
    .kernel = kernel_prod,
    .c_kernel = c_reduce,
    .cost = cost_reduce,
    .jvp_bound = 24,
    .sample = sample_prod,
    .complex = tn_i_complex_of_reduce_prod,
};

static const tn_i_spec arg_params[] = {
    {.name = "axes", .kind = TN_K_INTS}, {.name = "index_dtype", .kind = TN_K_DTYPE}, {.name = NULL}};

static tn_i_var written_argmax(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_place(b, TN_P_argmax, p, nin, in);
}

const tn_prim tn_prim_argmax = {
    .id = TN_P_argmax,
    .name = "argmax",
    .doc = "index of the first largest element along one axis, of the first NaN if any",
    .nin = 1,
    .flags = TN_F_NODIFF | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = arg_params,
    .type = type_arg,
    .batch = batch_axes,
    .written = written_argmax,
    .fold = TN_FOLD_ARGMAX,
    .kernel = kernel_argmax,
    .c_kernel = c_reduce,
    .cost = cost_reduce,
    .jvp_bound = 1,
    .sample = sample_arg,
};

static tn_i_var written_argmin(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_place(b, TN_P_argmin, p, nin, in);
}

const tn_prim tn_prim_argmin = {
    .id = TN_P_argmin,
    .name = "argmin",
    .doc = "index of the first smallest element along one axis, of the first NaN if any",
    .nin = 1,
    .flags = TN_F_NODIFF | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = arg_params,
    .type = type_arg,
    .batch = batch_axes,
    .written = written_argmin,
    .fold = TN_FOLD_ARGMIN,
    .kernel = kernel_argmin,
    .c_kernel = c_reduce,
    .cost = cost_reduce,
    .jvp_bound = 1,
    .sample = sample_arg,
};
