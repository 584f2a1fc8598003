/* Windows that slide over an array: sliding_windows, and overlap_add, which their cotangents are summed by. */
#include "prims/c_text.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/boxes.h"
#include "prims/arrays/shape.h"
#include "prims/arrays/sliding.h"

static const tn_i_spec sliding_params[] = {{.name = "dimensions", .kind = TN_K_INTS},
                                           {.name = "sizes", .kind = TN_K_INTS},
                                           {.name = "strides", .kind = TN_K_INTS},
                                           {.name = "dilation", .kind = TN_K_INTS},
                                           {.name = NULL}};
enum { DIMENSIONS, SIZES, STRIDES, DILATION, NPARAMS };

static int64_t of_window(const tn_i_param *p, uint32_t k, uint32_t j) { return tn_i_ints(p, k)[j]; }

int64_t tn_i_windows_along(int64_t n, int64_t size, int64_t stride, int64_t dilation) {
    int64_t span;
    return tn_i_mul_i64(size - 1, dilation, &span) && span < n ? (n - 1 - span) / stride + 1 : 0;
}

/* How many windows there are in dimension j of the list. */
static bool count_windows(tn_i_query *q, uint32_t j, int64_t *count) {
    const int64_t k = of_window(q->p, SIZES, j), s = of_window(q->p, STRIDES, j), d = of_window(q->p, DILATION, j);
    const int64_t size = q->in[0]->dim[of_window(q->p, DIMENSIONS, j)];
    if (k < 1) return tn_i_type_fail(q, -1, "sizes: %lld is not positive", (long long)k);
    if (s < 1) return tn_i_type_fail(q, -1, "strides: %lld is not positive", (long long)s);
    if (d < 1) return tn_i_type_fail(q, -1, "dilation: %lld is not positive", (long long)d);
    *count = tn_i_windows_along(size, k, s, d);
    return true;
}

/* The type of the windows of operand 0. */
static bool type_of_windows(tn_i_query *q, tn_type *t) {
    if (!tn_i_params_given(q)) return false;
    const uint32_t n = q->p[DIMENSIONS].n;
    *t = *q->in[0];
    if (!tn_i_axes_valid(q, "dimensions", n, tn_i_ints(q->p, DIMENSIONS), t->rank, false)) return false;
    for (uint32_t k = SIZES; k < NPARAMS; k++)
        if (!tn_i_length_is(q, k, n, "the number of dimensions")) return false;
    if (!tn_i_rank_fits(q, (uint32_t)t->rank + n)) return false;
    for (uint32_t j = 0; j < n; j++) {
        if (!count_windows(q, j, &t->dim[of_window(q->p, DIMENSIONS, j)])) return false;
        t->dim[t->rank++] = of_window(q->p, SIZES, j);
    }
    return true;
}

/* Strides of the windows of an array with these; a lone element has no next. */
static void window_strides(const tn_i_param *p, const tn_type *windows, const int64_t *of, int64_t *stride) {
    const uint32_t n = p[DIMENSIONS].n;
    const int rank = windows->rank - (int)n;
    for (int i = 0; i < rank; i++) stride[i] = of[i];
    for (uint32_t j = 0; j < n; j++) {
        const int64_t i = of_window(p, DIMENSIONS, j), own = of[i];
        if (windows->dim[i] > 1) stride[i] = own * of_window(p, STRIDES, j);
        stride[rank + (int)j] =
            windows->dim[i] && windows->dim[rank + (int)j] > 1 ? own * of_window(p, DILATION, j) : own;
    }
}

static tn_i_var emit_with(tn_i_builder *b, int id, const tn_i_param *p, int64_t up, uint32_t nin, const tn_i_var *in) {
    int64_t dims[TN_MAX_RANK];
    tn_i_param moved[NPARAMS] = {p[0], p[1], p[2], p[3]};
    for (uint32_t j = 0; j < p[DIMENSIONS].n; j++) dims[j] = of_window(p, DIMENSIONS, j) + up;
    moved[DIMENSIONS].u.ints = dims;
    return tn_i_emit(b, tn_i_prim(b, id), moved, nin, in);
}

/* ---- windows side by side ---------------------------------------------------------- */

/* Windows that do not overlap and leave nothing out between them. */
static bool side_by_side(const tn_i_param *p) {
    for (uint32_t j = 0; j < p[DIMENSIONS].n; j++)
        if (of_window(p, DILATION, j) != 1 || of_window(p, STRIDES, j) != of_window(p, SIZES, j)) return false;
    return true;
}

/* The shape of `windows` with each dimension of a list followed by that within: where dimension i of the windows
 * stands is at[i]. */
static void split_shape(const tn_i_param *p, const tn_type *windows, int64_t *shape, int64_t *at) {
    const uint32_t n = p[DIMENSIONS].n;
    const int rank = windows->rank - (int)n;
    int to = 0;
    for (int i = 0; i < rank; i++) {
        shape[to] = windows->dim[i];
        at[i] = to++;
        for (uint32_t j = 0; j < n; j++) {
            if (of_window(p, DIMENSIONS, j) != i) continue;
            shape[to] = windows->dim[rank + (int)j];
            at[rank + (int)j] = to++;
        }
    }
}

/* As reshapes: cut off what no window has, split the dimensions, and put those within last. */
static tn_i_var windows_by_shape(tn_i_builder *b, const tn_i_param *p, tn_i_var x, const tn_type *windows) {
    const tn_type of = *tn_i_vtype(b, x), t = *windows;
    int64_t start[TN_MAX_RANK] = {0}, limit[TN_MAX_RANK], shape[TN_MAX_RANK], at[TN_MAX_RANK];
    for (int i = 0; i < of.rank; i++) limit[i] = of.dim[i];
    for (uint32_t j = 0; j < p[DIMENSIONS].n; j++) {
        const int64_t i = of_window(p, DIMENSIONS, j);
        limit[i] = t.dim[i] * of_window(p, SIZES, j);
    }
    split_shape(p, &t, shape, at);
    x = tn_i_slice(b, x, start, limit, NULL);
    x = tn_i_reshape(b, x, t.rank, shape);
    return tn_i_permute(b, x, at);
}

/* The transpose of that. */
static tn_i_var sum_by_shape(tn_i_builder *b, const tn_i_param *p, tn_i_var u, const tn_type *of) {
    const tn_type t = *tn_i_vtype(b, u), to = *of;
    int64_t shape[TN_MAX_RANK], at[TN_MAX_RANK], back[TN_MAX_RANK], config[3 * TN_MAX_RANK] = {0};
    split_shape(p, &t, shape, at);
    for (int i = 0; i < t.rank; i++) back[at[i]] = i;
    for (int i = 0; i < to.rank; i++) shape[i] = t.dim[i];
    for (uint32_t j = 0; j < p[DIMENSIONS].n; j++) {
        const int64_t i = of_window(p, DIMENSIONS, j);
        shape[i] *= of_window(p, SIZES, j);
        config[3 * i + 1] = to.dim[i] - shape[i];
    }
    u = tn_i_permute(b, u, back);
    u = tn_i_reshape(b, u, to.rank, shape);
    return tn_i_pad(b, u, tn_i_literal_f64(b, to.dtype, 0), config);
}

/* ---- sliding_windows --------------------------------------------------------------- */

static bool type_sliding_windows(tn_i_query *q) {
    tn_type t;
    return type_of_windows(q, &t) && tn_i_output_type(q, &t);
}

static bool view_sliding_windows(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset) {
    window_strides(q->p, q->out, in->stride, out->stride);
    *offset = 0;
    return true;
}

static tn_i_var simplify_sliding_windows(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                         const tn_type *out) {
    (void)nin;
    if (p[DIMENSIONS].n == 0) return in[0];
    if (side_by_side(p)) return windows_by_shape(b, p, in[0], out);
    return tn_i_respread(b, in[0], out);
}

static void transpose_sliding_windows(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const bool going_on = (r->acc && r->acc[0] != TN_NOVAR) || (r->more && r->more[0]);
    const tn_i_var sum = going_on ? tn_i_accumulated(r) : tn_i_zeros(r->b, r->in_type[0]), in[2] = {sum, ct[0]};
    ct_in[0] = tn_i_emit(r->b, tn_i_prim(r->b, TN_P_overlap_add), r->p, 2, in);
}

static void batch_sliding_windows(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    *out = emit_with(r->b, TN_P_sliding_windows, r->p, 1, 1, r->in);
    *out_batched = true;
}

/* Touches what it reads only. */
static void cost_sliding_windows(const tn_i_query *q, tn_i_cost *cost) { cost->bytes += 2 * tn_i_bytes_of(&q->out[0]); }

static bool sample_sliding_windows(tn_i_rng *r, int dtype, tn_i_case *c) {
    int64_t dims[TN_MAX_RANK], sizes[TN_MAX_RANK], strides[TN_MAX_RANK], dilation[TN_MAX_RANK];
    uint32_t n = 0;
    tn_i_case_shape(r, c, 0, dtype, 0, 3);
    for (int i = c->in[0].rank; i-- > 0;) {
        if (tn_i_pick(r, 0, 3) == 0) continue;
        dims[n] = i;
        sizes[n] = tn_i_pick(r, 1, 3);
        strides[n] = tn_i_pick(r, 0, 9) ? tn_i_pick(r, 1, 3) : INT64_MAX;
        dilation[n] = tn_i_pick(r, 0, 19) ? tn_i_pick(r, 1, 2) : INT64_MAX;
        if (tn_i_pick(r, 0, 3) == 0) strides[n] = sizes[n];
        n++;
    }
    return tn_i_case_list(c, DIMENSIONS, n, dims) && tn_i_case_list(c, SIZES, n, sizes) &&
           tn_i_case_list(c, STRIDES, n, strides) && tn_i_case_list(c, DILATION, n, dilation);
}

const tn_prim tn_prim_sliding_windows = {
    .id = TN_P_sliding_windows,
    .name = "sliding_windows",
    .doc =
        "all windows of the given sizes, which stand behind the other dimensions: [.., strides * i + dilation * k, ..] "
        "at [.., i, .., k]",
    .nin = 1,
    .flags = TN_F_VIEW,
    .dtypes = TN_ANY,
    .params = sliding_params,
    .type = type_sliding_windows,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_sliding_windows,
    .transpose = transpose_sliding_windows,
    .batch = batch_sliding_windows,
    .boxes = tn_i_view_boxes,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .view = view_sliding_windows,
    .cost = cost_sliding_windows,
    .jvp_bound = 5,
    .transpose_bound = 20,
    .sample = sample_sliding_windows,
    .spread = TN_SPREAD_MOVES,
};

/* ---- overlap_add ------------------------------------------------------------------- */

static bool type_overlap_add(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    tn_type t;
    if (q->in[0]->dtype == TN_BOOL) return tn_i_type_fail(q, 0, "overlap_add is not defined for bool");
    if (!type_of_windows(q, &t) || !tn_i_same_dtype(q, 1)) return false;
    if (!tn_type_equal(&t, q->in[1]))
        return tn_i_type_fail(q, 1, "is not of the windows' type, %s", tn_i_type_text(text, &t));
    return tn_i_output_type(q, q->in[0]);
}

/* The loops, each a dimension of the windows: as they are in memory, so that what is added to stays in the cache, with
 * those within windows behind those over them; but runs of the last dimension are over windows. */
static void loops(const tn_i_param *p, const tn_type *of, int *order) {
    int n = 0;
    for (int i = 0; i < of->rank; i++) {
        const int last = i + 1 == of->rank;
        if (!last) order[n++] = i;
        for (uint32_t j = 0; j < p[DIMENSIONS].n; j++)
            if (of_window(p, DIMENSIONS, j) == i) order[n++] = of->rank + (int)j;
        if (last) order[n++] = i;
    }
}

/* Sizes of the loops over the windows u, and strides there and in what they are added to. */
typedef struct sum_loops {
    int64_t dim[TN_MAX_RANK], src[TN_MAX_RANK], dst[TN_MAX_RANK];
} sum_loops;

static sum_loops loops_of(const tn_i_param *p, const tn_type *of, const tn_i_arr *u) {
    int64_t dense[TN_MAX_RANK], stride[TN_MAX_RANK];
    int order[TN_MAX_RANK];
    sum_loops l;
    tn_i_dense_strides(of, dense);
    window_strides(p, u->type, dense, stride);
    loops(p, of, order);
    for (int i = 0; i < u->type->rank; i++) {
        l.dim[i] = u->type->dim[order[i]];
        l.src[i] = u->stride[order[i]];
        l.dst[i] = stride[order[i]];
    }
    return l;
}

static tn_status kernel_overlap_add(const tn_i_kernel *k) {
    const tn_i_arr *u = &k->in[1];
    const tn_type *t = k->out->type;
    tn_i_walk w;
    if (k->out->data != k->in[0].data) tn_i_copy_array(&k->in[0], k->out);
    if (tn_i_count(u->type) == 0) return TN_OK;
    const sum_loops l = loops_of(k->p, t, u);
    tn_i_walk_init(&w, u->type->rank, l.dim, l.src, l.dst);
    tn_i_walk_run(&w, tn_i_add_row(t->dtype), tn_i_dtype_size(t->dtype), u->data, k->out->data);
    return TN_OK;
}

/* x + 0 is x but for the sign of a zero, which linear programs do not keep. */
static tn_i_var simplify_overlap_add(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                     const tn_type *out) {
    (void)nin;
    double k;
    if (tn_i_count(tn_i_vtype(b, in[1])) == 0) return in[0];
    if (b->val[in[0]].linear && tn_i_is_zero(b, in[1])) return in[0];
    if (tn_i_is_int(out->dtype) && tn_i_known_f64(b, in[1], &k) && k == 0.0) return in[0];
    const tn_i_var sum = side_by_side(p) ? sum_by_shape(b, p, in[1], out) : tn_i_overlap_of_product(b, p, in[1], out);
    if (sum == TN_NOVAR) return TN_NOVAR;
    return tn_i_is_zero(b, in[0]) && b->val[in[1]].linear ? sum : tn_i_op2(b, TN_P_add, in[0], sum);
}

static void jvp_overlap_add(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    dout[0] = din[0];
    if (din[1] == TN_NOVAR) return;
    const tn_i_var in[2] = {din[0] != TN_NOVAR ? din[0] : tn_i_zeros(r->b, r->in_type[0]), din[1]};
    dout[0] = tn_i_emit(r->b, r->e->prim, r->p, 2, in);
}

static void transpose_overlap_add(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    if (r->in[0] == TN_NOVAR) ct_in[0] = ct[0];
    if (r->in[1] == TN_NOVAR) ct_in[1] = tn_i_emit(r->b, tn_i_prim(r->b, TN_P_sliding_windows), r->p, 1, ct);
}

static void batch_overlap_add(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_i_var x = tn_i_batched_operand(r, batched, 0), u = tn_i_batched_operand(r, batched, 1), in[2] = {x, u};
    *out = emit_with(r->b, TN_P_overlap_add, r->p, 1, 2, in);
    *out_batched = true;
}

/* In place: touches what is added to only. */
static void cost_overlap_add(const tn_i_query *q, tn_i_cost *cost) {
    cost->flops += (double)tn_i_count(q->in[1]);
    cost->bytes += 3 * tn_i_bytes_of(q->in[1]);
}

static bool sample_overlap_add(tn_i_rng *r, int dtype, tn_i_case *c) {
    if (!sample_sliding_windows(r, dtype, c)) return false;
    c->nin = 2;
    c->in[1] = c->in[0];
    for (uint32_t j = 0; j < c->p[DIMENSIONS].n; j++) {
        const int64_t i = of_window(c->p, DIMENSIONS, j), k = of_window(c->p, SIZES, j),
                      s = of_window(c->p, STRIDES, j);
        const int64_t d = of_window(c->p, DILATION, j), room = c->in[0].dim[i] - 1;
        const bool fits = room >= 0 && (k == 1 || (room / d) >= k - 1);
        c->in[1].dim[i] = fits ? (room - (k - 1) * (k > 1 ? d : 1)) / s + 1 : 0;
        c->in[1].dim[c->in[1].rank++] = k;
    }
    return true;
}

static void c_overlap_add(const tn_i_c_kernel *k) {
    const tn_type *t = k->out[0].type, *u = k->in[1].type;
    const char *type = tn_i_is_float(t->dtype)          ? tn_i_c_name(t->dtype)
                       : tn_i_dtype_size(t->dtype) == 4 ? "uint32_t"
                                                        : "uint64_t";
    tn_i_c_copy_operand(k);
    if (tn_i_count(u) == 0) return;
    const sum_loops l = loops_of(k->p, t, &k->in[1]);
    tn_i_c_open(k->t, "i", u->rank, l.dim);
    tn_i_text_put(k->t, "%s *const sum = out0 + ", tn_i_c_name(t->dtype));
    tn_i_c_at(k->t, "i", u->rank, l.dim, l.dst);
    tn_i_text_put(k->t, ";\n*sum = (%s)((%s)*sum + (%s)in1[", tn_i_c_name(t->dtype), type, type);
    tn_i_c_at(k->t, "i", u->rank, l.dim, l.src);
    tn_i_text_put(k->t, "]);\n");
    tn_i_c_close(k->t, u->rank, l.dim);
}

static void places_overlap_add(const tn_i_kernel *k, int64_t *at) {
    const tn_type *t = k->out->type, *u = k->in[1].type;
    int64_t dense[TN_MAX_RANK], stride[TN_MAX_RANK];
    const int64_t n = tn_i_count(u);
    tn_i_dense_strides(t, dense);
    window_strides(k->p, u, dense, stride);
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        at[i] = 0;
        for (int d = u->rank; d-- > 0; rest /= u->dim[d]) at[i] += rest % u->dim[d] * stride[d];
    }
}

const tn_prim tn_prim_overlap_add = {
    .id = TN_P_overlap_add,
    .name = "overlap_add",
    .doc = "operand 0 with operand 1 added to its windows, as of sliding_windows; integers wrap",
    .nin = 2,
    .flags = TN_F_INPLACE,
    .dtypes = TN_NUMBERS,
    .params = sliding_params,
    .type = type_overlap_add,
    .linear = {TN_OPERAND(0) | TN_OPERAND(1)},
    .simplify = simplify_overlap_add,
    .jvp = jvp_overlap_add,
    .transpose = transpose_overlap_add,
    .batch = batch_overlap_add,
    .kernel = kernel_overlap_add,
    .c_kernel = c_overlap_add,
    .cost = cost_overlap_add,
    .jvp_bound = 5,
    .transpose_bound = 5,
    .sample = sample_overlap_add,
    .spread = TN_SPREAD_ADDS,
    .places = places_overlap_add,
};
