#include "base/machine.h"
#include "prims/linear/conv.h"

#include "prims/scalar/complex.h"
#include "prims/linear/dot.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

#define NAME "conv_general_dilated"

/* What a dimension is of: the batch, features of the operand, groups, features of the result, places of windows, places
 * within them. */
enum { BATCH, FEATURE, GROUP, OUT, SPATIAL, KERNEL = SPATIAL + TN_CONV_MAX };

/* A value and what its dimensions are. */
typedef struct labelled {
    tn_i_var v;
    int rank;
    int label[TN_MAX_RANK];
} labelled;

typedef struct conv {
    tn_i_builder *b;
    const tn_i_conv *c;
} conv;

/* ---- checks --------------------------------------------------------------------------- */

static bool is_permutation(const int64_t *spec, int n) {
    unsigned seen = 0;
    for (int i = 0; i < n; i++) {
        if (spec[i] < 0 || spec[i] >= n || seen >> spec[i] & 1) return false;
        seen |= 1u << spec[i];
    }
    return true;
}

static bool fail(tn_i_builder *b, const char *what) {
    tn_i_builder_fail(b, TN_ETYPE, NAME ": %s", what);
    return false;
}

static bool numbers_valid(tn_i_builder *b, const tn_i_conv *c) {
    for (int i = 0; i < c->n; i++) {
        const int64_t positive[3] = {c->strides[i], c->lhs_dilation[i], c->rhs_dilation[i]};
        static const char *const name[3] = {"window_strides", "lhs_dilation", "rhs_dilation"};
        for (int k = 0; k < 3; k++) {
            if (positive[k] >= 1) continue;
            tn_i_builder_fail(b, TN_ETYPE, NAME ": %s: %lld is not positive", name[k], (long long)positive[k]);
            return false;
        }
    }
    return true;
}

static bool groups_valid(tn_i_builder *b, const tn_i_conv *c, const tn_type *x, const tn_type *w) {
    const int64_t batch = x->dim[c->lhs[0]], features = x->dim[c->lhs[1]], out = w->dim[c->rhs[0]];
    if (c->feature_groups < 1 || c->batch_groups < 1) return fail(b, "a number of groups is not positive");
    if (c->feature_groups > 1 && c->batch_groups > 1) return fail(b, "groups of features and of the batch at once");
    const int64_t groups = c->feature_groups * c->batch_groups;
    if (features % c->feature_groups || batch % c->batch_groups || out % groups)
        return fail(b, "a number of groups does not divide features or the batch");
    if (w->dim[c->rhs[1]] == features / c->feature_groups) return true;
    tn_i_builder_fail(b, TN_ETYPE, NAME ": operand 1: has %lld input features, not %lld", (long long)w->dim[c->rhs[1]],
                      (long long)(features / c->feature_groups));
    return false;
}

static bool valid(tn_i_builder *b, const tn_i_conv *c, const tn_type *x, const tn_type *w) {
    const int rank = c->n + 2;
    if (x->rank != rank || w->rank != rank) {
        tn_i_builder_fail(b, TN_ETYPE, NAME ": operands of ranks %d and %d, not %d", (int)x->rank, (int)w->rank, rank);
        return false;
    }
    if (x->dtype != w->dtype) return fail(b, "the operands differ in dtype");
    if (x->dtype == TN_BOOL) return fail(b, "is not defined for bool");
    if (!is_permutation(c->lhs, rank) || !is_permutation(c->rhs, rank) || !is_permutation(c->out, rank))
        return fail(b, "dimension_numbers are no permutations");
    for (int i = 0; i < c->n; i++)
        if (w->dim[c->rhs[2 + i]] < 1) return fail(b, "operand 1 has a spatial dimension of size 0");
    return numbers_valid(b, c) && groups_valid(b, c, x, w);
}

/* ---- labelled arrays --------------------------------------------------------------------- */

static const tn_type *type_of(const conv *z, const labelled *x) { return tn_i_vtype(z->b, x->v); }

static int place_of(const labelled *x, int label) {
    for (int i = 0; i < x->rank; i++)
        if (x->label[i] == label) return i;
    return -1;
}

static labelled label(tn_i_var v, int n, const int64_t *spec, int first, int second, int spatial) {
    labelled x = {.v = v, .rank = n + 2};
    x.label[spec[0]] = first;
    x.label[spec[1]] = second;
    for (int i = 0; i < n; i++) x.label[spec[2 + i]] = spatial + i;
    return x;
}

static void permute(const conv *z, labelled *x, int n, const int *order) {
    int64_t perm[TN_MAX_RANK];
    bool moved = false;
    for (int i = 0; i < n; i++) {
        perm[i] = place_of(x, order[i]);
        moved |= perm[i] != i;
    }
    if (moved) x->v = tn_i_permute(z->b, x->v, perm);
    memcpy(x->label, order, (size_t)n * sizeof *order);
}

/* The dimension becomes two, groups in front. */
static void split_groups(const conv *z, labelled *x, int of, int64_t groups) {
    int64_t shape[TN_MAX_RANK + 1];
    const int at = place_of(x, of);
    if (groups == 1 || z->b->failed) return;
    if (x->rank == TN_MAX_RANK) {
        (void)fail(z->b, "groups of so many spatial dimensions");
        return;
    }
    const tn_type *t = type_of(z, x);
    for (int i = x->rank; i > at; i--) {
        shape[i] = t->dim[i - 1];
        x->label[i] = x->label[i - 1];
    }
    for (int i = 0; i < at; i++) shape[i] = t->dim[i];
    shape[at + 1] = t->dim[at] / groups;
    shape[at] = groups;
    x->label[at] = GROUP;
    x->v = tn_i_reshape(z->b, x->v, ++x->rank, shape);
}

/* Without a dimension of size 1. */
static void drop(const conv *z, labelled *x, int of) {
    if (z->b->failed) return;
    int64_t shape[TN_MAX_RANK];
    const tn_type *t = type_of(z, x);
    const int at = place_of(x, of);
    int n = 0;
    for (int i = 0; i < x->rank; i++) {
        if (i == at) continue;
        x->label[n] = x->label[i];
        shape[n++] = t->dim[i];
    }
    x->rank = n;
    x->v = tn_i_reshape(z->b, x->v, n, shape);
}

/* ---- windows ------------------------------------------------------------------------------ */

static labelled padded(const conv *z, labelled x) {
    int64_t config[3 * TN_MAX_RANK] = {0};
    bool some = false;
    for (int i = 0; i < z->c->n; i++) {
        int64_t *const at = config + 3 * place_of(&x, SPATIAL + i);
        at[0] = z->c->low[i];
        at[1] = z->c->high[i];
        at[2] = z->c->lhs_dilation[i] - 1;
        some |= at[0] || at[1] || at[2];
    }
    if (z->b->failed || !some) return x;
    x.v = tn_i_pad(z->b, x.v, tn_i_literal_f64(z->b, type_of(z, &x)->dtype, 0), config);
    return x;
}

/* Spatial dimension i with the windows' element `tap` alone. */
static void take_tap(const conv *z, labelled *x, labelled *w, int i, int64_t tap) {
    if (z->b->failed) return;
    const int to = place_of(x, SPATIAL + i), of = place_of(w, KERNEL + i);
    const int64_t stride = z->c->strides[i], dilation = z->c->rhs_dilation[i];
    const int64_t count = tn_i_windows_along(type_of(z, x)->dim[to], type_of(z, w)->dim[of], stride, dilation);
    x->v = tn_i_slice_dimension(z->b, x->v, to, count ? tap * dilation : 0, stride, count); /* count > 0: inside */
    w->v = tn_i_slice_dimension(z->b, w->v, of, tap, 1, 1);
    drop(z, w, KERNEL + i);
}

/* All windows of the dimensions that w still has. */
static void slide(const conv *z, labelled *x, const labelled *w) {
    tn_i_sliding s = {0};
    for (int i = 0; i < z->c->n && !z->b->failed; i++) {
        const int at = place_of(w, KERNEL + i);
        if (at < 0) continue;
        s.dims[s.n] = place_of(x, SPATIAL + i);
        s.sizes[s.n] = type_of(z, w)->dim[at];
        s.strides[s.n] = z->c->strides[i];
        s.dilation[s.n++] = z->c->rhs_dilation[i];
        if (x->rank < TN_MAX_RANK) x->label[x->rank] = KERNEL + i;
        x->rank++;
    }
    if (s.n) x->v = tn_i_sliding_windows(z->b, x->v, &s);
}

/* ---- products -------------------------------------------------------------------------------- */

/* Dimensions that both have are contracted, but groups; the others are the result's. */
static labelled product(const conv *z, const labelled *x, const labelled *y) {
    tn_i_dots d = {.nbatch = 0};
    labelled out = {.v = TN_NOVAR};
    if (z->b->failed) return out;
    for (int i = 0; i < x->rank; i++) {
        const int l = x->label[i], j = place_of(y, l);
        if (j < 0) continue;
        uint32_t *const n = l == GROUP ? &d.nbatch : &d.ncontract;
        int64_t(*const list)[TN_MAX_RANK] = l == GROUP ? d.batch : d.contract;
        list[0][*n] = i;
        list[1][(*n)++] = j;
        if (l == GROUP) out.label[out.rank++] = l;
    }
    const labelled *const side[2] = {x, y};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < side[k]->rank; i++)
            if (place_of(side[1 - k], side[k]->label[i]) < 0 && out.rank < TN_MAX_RANK)
                out.label[out.rank++] = side[k]->label[i];
    out.v = tn_i_dot_general(z->b, x->v, y->v, &d);
    return out;
}

/* As the result is to be; groups and what is in them are one dimension there. */
static tn_i_var arranged(const conv *z, labelled y, bool grouped) {
    int order[TN_MAX_RANK], n = 0;
    int64_t shape[TN_MAX_RANK];
    const labelled out = label(TN_NOVAR, z->c->n, z->c->out, BATCH, OUT, SPATIAL);
    if (z->b->failed) return TN_NOVAR;
    for (int i = 0; i < out.rank; i++) {
        if (out.label[i] == OUT && grouped) order[n++] = GROUP;
        order[n++] = out.label[i];
    }
    permute(z, &y, n, order);
    if (z->b->failed || !grouped) return y.v;
    const tn_type *t = type_of(z, &y);
    for (int i = 0, at = 0; i < out.rank; i++) {
        shape[i] = t->dim[at++];
        if (out.label[i] == OUT) shape[i] *= t->dim[at++];
    }
    return tn_i_reshape(z->b, y.v, out.rank, shape);
}

/* One dimension of windows too many for an array with a batch: its elements one after the other, where there are few.
 */
static int unrolled(const conv *z, const labelled *x, const labelled *w) {
    int at = -1, kernel = 0;
    int64_t least = TN_M_CONV_TAPS + 1;
    for (int i = 0; i < z->c->n && !z->b->failed; i++) {
        const int j = place_of(w, KERNEL + i);
        if (j < 0) continue;
        kernel++;
        const int64_t size = type_of(z, w)->dim[j];
        if (size >= least) continue;
        least = size;
        at = i;
    }
    return x->rank + kernel >= TN_MAX_RANK ? at : -1;
}

static labelled multiplied(const conv *z, labelled x, labelled w) {
    const labelled out = label(TN_NOVAR, z->c->n, z->c->out, BATCH, OUT, SPATIAL);
    slide(z, &x, &w);
    const bool rows = place_of(&out, OUT) < place_of(&out, z->c->n ? SPATIAL : BATCH);
    return rows ? product(z, &w, &x) : product(z, &x, &w);
}

static labelled summed(const conv *z, const labelled *x, const labelled *w) {
    const int i = unrolled(z, x, w);
    if (i < 0) return multiplied(z, *x, *w);
    const int64_t size = z->b->failed ? 0 : type_of(z, w)->dim[place_of(w, KERNEL + i)];
    labelled sum = {.v = TN_NOVAR};
    for (int64_t tap = 0; tap < size; tap++) {
        labelled a = *x, b = *w;
        take_tap(z, &a, &b, i, tap);
        const labelled y = summed(z, &a, &b);
        const tn_i_var v = tap ? tn_i_op2(z->b, TN_P_add, sum.v, y.v) : y.v;
        sum = y;
        sum.v = v;
    }
    return sum;
}

/* Dimensions of windows of a single element are none. */
static void drop_single(const conv *z, labelled *x, labelled *w) {
    for (int i = 0; i < z->c->n && !z->b->failed; i++)
        if (type_of(z, w)->dim[place_of(w, KERNEL + i)] == 1) take_tap(z, x, w, i, 0);
}

/* ---- spread operands ------------------------------------------------------------------------------ */

/* Zeros between the elements of an operand are not multiplied with: what each element adds to the result, a window of
 * it, is summed where windows overlap, as cotangents of windows with strides are. */
static labelled overlapping(const conv *z, const labelled *x, const labelled *w) {
    labelled kernel = *w, y;
    int64_t turned[TN_CONV_MAX], shape[TN_MAX_RANK], config[3 * TN_MAX_RANK] = {0};
    int order[TN_MAX_RANK], n = 0;
    tn_i_sliding s = {.n = (uint32_t)z->c->n};
    for (int i = 0; i < z->c->n; i++) turned[i] = place_of(w, KERNEL + i);
    kernel.v = tn_i_rev(z->b, w->v, (uint32_t)z->c->n, turned);
    y = product(z, x, &kernel);
    for (int i = 0; i < y.rank; i++)
        if (y.label[i] < KERNEL) order[n++] = y.label[i];
    const int rank = n;
    for (int i = 0; i < z->c->n; i++) order[n++] = KERNEL + i;
    permute(z, &y, n, order);
    y.rank = rank;
    if (z->b->failed) return y;
    const tn_type *t = type_of(z, &y);
    memcpy(shape, t->dim, (size_t)rank * sizeof *shape);
    for (int i = 0; i < z->c->n; i++) {
        const int at = place_of(&y, SPATIAL + i);
        const int64_t size = t->dim[rank + i], span = (size - 1) * z->c->rhs_dilation[i];
        s.dims[i] = at;
        s.sizes[i] = size;
        s.strides[i] = z->c->lhs_dilation[i];
        s.dilation[i] = z->c->rhs_dilation[i];
        shape[at] = (shape[at] - 1) * s.strides[i] + span + 1;
        config[3 * at] = z->c->low[i] - span;
        config[3 * at + 1] = z->c->high[i] - span;
    }
    const tn_i_var zero = tn_i_literal_f64(z->b, t->dtype, 0);
    y.v = tn_i_overlap_add(z->b, tn_i_broadcast(z->b, zero, rank, shape, NULL), y.v, &s);
    y.v = tn_i_pad(z->b, y.v, zero, config);
    return y;
}

/* Whether spatial dimension i has a result, and all numbers that its sizes are made of fit. */
static bool overlap_fits(const conv *z, int64_t n, int64_t size, int i) {
    const tn_i_conv *c = z->c;
    int64_t all, span, none, padded;
    return c->strides[i] == 1 && n > 0 && tn_i_mul_i64(n - 1, c->lhs_dilation[i], &all) &&
           tn_i_mul_i64(size - 1, c->rhs_dilation[i], &span) && tn_i_add_i64(all, span, &none) && none < INT64_MAX &&
           tn_i_add_i64(c->low[i], -span, &none) && tn_i_add_i64(c->high[i], -span, &none) &&
           tn_i_add_i64(all, c->low[i], &padded) && tn_i_add_i64(padded, c->high[i], &padded) && padded >= span;
}

/* It takes an addition for each element of the windows, and saves the products with zeros. */
static bool overlap_pays(const conv *z, const labelled *x, const labelled *w) {
    const tn_type *t = type_of(z, x), *k = type_of(z, w);
    const int64_t features = t->dim[place_of(x, FEATURE)] / z->c->feature_groups;
    double more = 1;
    if (x->rank + z->c->n + (z->c->feature_groups * z->c->batch_groups > 1) > TN_MAX_RANK) return false;
    for (int i = 0; i < z->c->n; i++) {
        if (!overlap_fits(z, t->dim[place_of(x, SPATIAL + i)], k->dim[place_of(w, KERNEL + i)], i)) return false;
        more *= (double)z->c->lhs_dilation[i];
    }
    return (more - 1) * (double)features > TN_M_CONV_OVERLAP;
}

/* ---- one channel a group ------------------------------------------------------------------------ */

/* w's one number for each channel, along the features of x. */
static tn_i_var channel_factors(const conv *z, const labelled *w, const labelled *x) {
    if (z->b->failed) return TN_NOVAR;
    const tn_type *t = type_of(z, x);
    const int64_t channels = type_of(z, w)->dim[place_of(w, OUT)], feature = place_of(x, FEATURE);
    const tn_i_var v = tn_i_reshape(z->b, w->v, 1, &channels);
    return tn_i_broadcast(z->b, v, t->rank, t->dim, &feature);
}

static labelled of_channels(const conv *z, const labelled *x, const labelled *w) {
    int64_t tap[TN_CONV_MAX] = {0};
    labelled sum = {.v = TN_NOVAR};
    for (int i = 0; i >= 0 && !z->b->failed;) {
        labelled a = *x, f = *w;
        int64_t size[TN_CONV_MAX] = {0};
        for (int d = 0; d < z->c->n && !z->b->failed; d++) {
            size[d] = type_of(z, &f)->dim[place_of(&f, KERNEL + d)];
            take_tap(z, &a, &f, d, tap[d]);
        }
        const tn_i_var factors = channel_factors(z, &f, &a), y = tn_i_op2(z->b, TN_P_mul, a.v, factors);
        const tn_i_var v = sum.v == TN_NOVAR ? y : tn_i_op2(z->b, TN_P_add, sum.v, y);
        sum = a;
        sum.v = v;
        for (i = z->c->n - 1; i >= 0; i--) {
            if (++tap[i] < size[i]) break;
            tap[i] = 0;
        }
    }
    for (int i = 0; i < sum.rank; i++)
        if (sum.label[i] == FEATURE) sum.label[i] = OUT;
    return sum;
}

static bool is_by_channels(const conv *z, const labelled *x, const labelled *w) {
    const int64_t features = type_of(z, x)->dim[place_of(x, FEATURE)];
    int64_t taps = 1;
    if (z->c->batch_groups != 1 || z->c->feature_groups != features || !features) return false;
    if (type_of(z, w)->dim[place_of(w, OUT)] != features) return false;
    for (int i = 0; i < z->c->n; i++) {
        const int64_t size = type_of(z, w)->dim[place_of(w, KERNEL + i)];
        if (size > TN_M_CONV_TAPS / taps) return false;
        taps *= size;
    }
    return true;
}

/* ---- all --------------------------------------------------------------------------------------- */

tn_i_var tn_i_convolution(tn_i_builder *b, tn_i_var lhs, tn_i_var rhs, const tn_i_conv *c) {
    const conv z = {.b = b, .c = c};
    if (b->failed || lhs == TN_NOVAR || rhs == TN_NOVAR) return TN_NOVAR;
    if (!valid(b, c, tn_i_vtype(b, lhs), tn_i_vtype(b, rhs))) return TN_NOVAR;
    labelled x = label(lhs, c->n, c->lhs, BATCH, FEATURE, SPATIAL);
    labelled w = label(rhs, c->n, c->rhs, OUT, FEATURE, KERNEL);
    const int64_t groups = c->feature_groups * c->batch_groups;
    const bool by_channels = is_by_channels(&z, &x, &w), overlaps = !by_channels && overlap_pays(&z, &x, &w);
    if (overlaps) {
        split_groups(&z, &x, c->batch_groups > 1 ? BATCH : FEATURE, groups);
        split_groups(&z, &w, OUT, groups);
        return arranged(&z, overlapping(&z, &x, &w), groups > 1);
    }
    x = padded(&z, x);
    if (b->failed) return TN_NOVAR;
    if (by_channels) return arranged(&z, of_channels(&z, &x, &w), false);
    drop_single(&z, &x, &w);
    split_groups(&z, &x, c->batch_groups > 1 ? BATCH : FEATURE, groups);
    split_groups(&z, &w, OUT, groups);
    return arranged(&z, summed(&z, &x, &w), groups > 1);
}

/* ---- as a text has it ---------------------------------------------------------------------------- */

static const char *const fields[] = {"lhs_spec", "rhs_spec", "out_spec"};
static const tn_i_spec params[] = {
    {.name = "window_strides", .kind = TN_K_INTS},
    {.name = "padding", .kind = TN_K_INTS, .lists = 2},
    {.name = "lhs_dilation", .kind = TN_K_INTS},
    {.name = "rhs_dilation", .kind = TN_K_INTS},
    {.name = "dimension_numbers", .kind = TN_K_LISTS, .lists = 3, .record = "ConvDimensionNumbers", .fields = fields},
    {.name = "feature_group_count", .kind = TN_K_INT},
    {.name = "batch_group_count", .kind = TN_K_INT},
    {.name = "preferred_element_type", .kind = TN_K_DTYPE, .otherwise = "the dtype of the operands"},
    {.name = NULL}};
enum { STRIDES, PADDING, LHS_DILATION, RHS_DILATION, DIMENSIONS, FEATURE_GROUPS, BATCH_GROUPS, PREFERRED };

static bool read_form(tn_i_builder *b, const tn_i_param *p, tn_i_conv *c) {
    int64_t *const to[3] = {c->lhs, c->rhs, c->out};
    if (p[STRIDES].n > TN_CONV_MAX) return fail(b, "too many spatial dimensions");
    c->n = (int)p[STRIDES].n;
    const uint32_t n = (uint32_t)c->n;
    if (p[PADDING].n != 2 * n || p[LHS_DILATION].n != n || p[RHS_DILATION].n != n)
        return fail(b, "window_strides, padding, lhs_dilation and rhs_dilation differ in length");
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t length;
        const int64_t *v = tn_i_list(&p[DIMENSIONS], 3, k, &length);
        if (length != n + 2) return fail(b, "dimension_numbers list other dimensions than window_strides");
        memcpy(to[k], v, length * sizeof *v);
    }
    for (uint32_t i = 0; i < n; i++) {
        c->strides[i] = tn_i_ints(p, STRIDES)[i];
        c->low[i] = tn_i_ints(p, PADDING)[2 * i];
        c->high[i] = tn_i_ints(p, PADDING)[2 * i + 1];
        c->lhs_dilation[i] = tn_i_ints(p, LHS_DILATION)[i];
        c->rhs_dilation[i] = tn_i_ints(p, RHS_DILATION)[i];
    }
    c->feature_groups = p[FEATURE_GROUPS].u.i;
    c->batch_groups = p[BATCH_GROUPS].u.i;
    return true;
}

static tn_i_var written_conv(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    tn_i_conv c;
    if (nin != 2) return fail(b, "needs two operands"), TN_NOVAR;
    if (!read_form(b, p, &c)) return TN_NOVAR;
    const bool wide = p[PREFERRED].kind != TN_K_NONE;
    const tn_i_var lhs = wide ? tn_i_convert(b, in[0], (int)p[PREFERRED].u.i) : in[0];
    const tn_i_var rhs = wide ? tn_i_convert(b, in[1], (int)p[PREFERRED].u.i) : in[1];
    return tn_i_convolution(b, lhs, rhs, &c);
}

const tn_prim tn_i_conv_form = {
    .id = -1, .name = NAME, .nin = 2, .params = params, .written = written_conv, .complex = tn_i_complex_of_product};
