/* Windows at places known when the program runs: dynamic_slice dynamic_update_slice. */
#include "prims/c_text.h"
#include "prims/forms.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/windows.h"

/* ---- start indices, for both ---- */

/* The starts in the array of type `of`, from `size` elements on; clamped as XLA does. */
static void read_starts(const tn_i_arr *index, const tn_type *of, const tn_type *window, int64_t *start) {
    for (int i = 0; i < of->rank; i++) {
        const int64_t x =
            index[i].type->dtype == TN_I32 ? *(const int32_t *)index[i].data : *(const int64_t *)index[i].data;
        const int64_t last = of->dim[i] - window->dim[i];
        start[i] = x < 0 ? 0 : x > last ? last : x;
    }
}

/* One window, of which operand first.. say where it begins. */
static void window_at(uint32_t first, const tn_i_arr *of, const tn_i_arr *window, tn_i_window_form *f) {
    f->none = tn_i_count(window->type) == 0;
    f->clip = true;
    f->inner = window->type->rank;
    for (int i = 0; i < f->inner; i++) {
        const int64_t last = of->type->dim[i] - window->type->dim[i];
        f->size[i] = window->type->dim[i];
        f->in_place[i] = of->stride[i];
        f->in_window[i] = window->stride[i];
        if (last) f->column[f->columns++] = (tn_i_window_column){first + (uint32_t)i, 0, last, of->stride[i]};
    }
}

static void windows_dynamic_slice(const tn_i_kernel *k, tn_i_window_form *f) {
    *f = (tn_i_window_form){.how = TN_WINDOWS_READ};
    window_at(1, &k->in[0], k->out, f);
}
static void windows_dynamic_update_slice(const tn_i_kernel *k, tn_i_window_form *f) {
    *f = (tn_i_window_form){.how = TN_WINDOWS_WRITE, .windows = 1};
    window_at(2, k->out, &k->in[1], f);
}

/* The start indices (operands first..) as index vectors, clamped: shape [n], or [batch, n] when some are batched.
 * Dimensions that the window fills start at 0 and are left out; map lists the others. */
static tn_i_var index_vectors(tn_i_rule *r, uint32_t first, const bool *batched, const tn_type *window, uint32_t *n,
                              int64_t *map) {
    tn_i_builder *b = r->b;
    const tn_type *in = r->in_type[0];
    const int dtype = r->nin > first ? r->in_type[first]->dtype : TN_I64;
    const int64_t top = dtype == TN_I32 ? INT32_MAX : INT64_MAX, front = 0;
    const tn_i_var zero = tn_i_literal_i64(b, dtype, 0);
    tn_i_var column[TN_MAX_RANK];
    tn_type t = {.dtype = dtype, .rank = batched ? 2 : 1, .dim = {batched ? r->batch : 1, batched ? 1 : 0}};
    *n = 0;
    for (int i = 0; i < in->rank; i++) {
        const int64_t last = in->dim[i] - window->dim[i];
        const uint32_t k = first + (uint32_t)i;
        if (last == 0) continue;
        tn_i_var x = tn_i_op3(b, TN_P_clamp, zero, r->in[k], tn_i_literal_i64(b, dtype, last < top ? last : top));
        map[*n] = i;
        column[(*n)++] = tn_i_broadcast(b, x, t.rank, t.dim, batched && batched[k] ? &front : NULL);
    }
    if (*n) return tn_i_concatenate(b, *n, column, t.rank - 1);
    t.dim[t.rank - 1] = 0;
    return tn_i_whole_number(b, &t, 0);
}

static bool any_batched(const bool *batched, uint32_t from, uint32_t to) {
    bool any = false;
    for (uint32_t i = from; i < to; i++) any |= batched[i];
    return any;
}

/* Types and domains of the start indices of a case: some beyond the ends, some absurd. */
static void sample_starts(tn_i_rng *r, tn_i_case *c, uint32_t first) {
    const int rank = c->in[0].rank;
    const int dtype = tn_i_pick(r, 0, 1) ? TN_I32 : TN_I64;
    for (int i = 0; i < rank; i++) {
        const bool absurd = tn_i_pick(r, 0, 9) == 0;
        c->in[first + (uint32_t)i] = tn_type_of((tn_dtype)dtype, 0, NULL);
        c->domain[first + (uint32_t)i] =
            (tn_i_domain){.lo = absurd ? INT32_MIN : -1, .hi = absurd ? INT32_MAX : (double)c->in[0].dim[i] + 1};
    }
    c->nin = first + (uint32_t)rank;
}

/* ---- dynamic_slice ---- */
static const tn_i_spec dynamic_slice_params[] = {{.name = "slice_sizes", .kind = TN_K_INTS}, {.name = NULL}};

static bool type_dynamic_slice(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    if (q->nin == 0) return tn_i_type_fail(q, -1, "needs an operand");
    const tn_type *in = q->in[0];
    const int64_t *sizes = tn_i_ints(q->p, 0);
    if (!tn_i_indices_valid(q, 1) || !tn_i_length_is(q, 0, (uint32_t)in->rank, "the rank of operand 0")) return false;
    for (int i = 0; i < in->rank; i++)
        if (sizes[i] < 0 || sizes[i] > in->dim[i])
            return tn_i_type_fail(q, 0, "slice_sizes: dimension %d of size %lld has no slice of size %lld", i,
                                  (long long)in->dim[i], (long long)sizes[i]);
    return tn_i_output(q, in->dtype, in->rank, sizes);
}

static tn_status kernel_dynamic_slice(const tn_i_kernel *k) {
    const tn_i_arr *in = &k->in[0];
    int64_t start[TN_MAX_RANK], at = 0;
    if (tn_i_count(k->out->type) == 0) return TN_OK;
    read_starts(k->in + 1, in->type, k->out->type, start);
    for (int i = 0; i < in->type->rank; i++) at += start[i] * in->stride[i];
    tn_i_arr part = *in;
    part.data = tn_i_at_mut(in->data, tn_i_dtype_size(in->type->dtype), at);
    tn_i_copy_array(&part, k->out);
    return TN_OK;
}

/* Starts that are all known make a slice, which is a view. */
static tn_i_var static_slice(tn_i_builder *b, const tn_i_param *p, const tn_i_var *in, int rank) {
    int64_t start[TN_MAX_RANK], limit[TN_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        uint64_t bits;
        const int64_t size = tn_i_ints(p, 0)[i], last = tn_i_vtype(b, in[0])->dim[i] - size;
        if (last == 0)
            bits = 0;
        else if (!tn_i_known_scalar(b, in[1 + i], &bits))
            return TN_NOVAR;
        const int64_t x = tn_i_vtype(b, in[1 + i])->dtype == TN_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
        start[i] = x < 0 ? 0 : x > last ? last : x;
        limit[i] = start[i] + size;
    }
    return tn_i_slice(b, in[0], start, limit, NULL);
}

static tn_i_var simplify_dynamic_slice(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                       const tn_type *out) {
    (void)nin;
    if (tn_type_equal(tn_i_vtype(b, in[0]), out)) return in[0];
    const int rank = out->rank;
    tn_i_var v = tn_i_respread(b, in[0], out);
    return v != TN_NOVAR ? v : static_slice(b, p, in, rank);
}

static void transpose_dynamic_slice(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    if (!tn_i_accumulates(r)) {
        ct_in[0] = tn_i_dynamic_update_slice(r->b, tn_i_zeros(r->b, r->in_type[0]), ct[0], r->in + 1);
        return;
    }
    tn_i_dnums d = {.n = {0}};
    d.n[TN_WINDOW] = (uint32_t)r->in_type[0]->rank;
    for (uint32_t i = 0; i < d.n[TN_WINDOW]; i++) d.v[TN_WINDOW][i] = i;
    tn_i_var indices = index_vectors(r, 1, NULL, r->out_type[0], &d.n[TN_MAP], d.v[TN_MAP]);
    ct_in[0] = tn_i_scatter_add(r->b, tn_i_accumulated(r), indices, ct[0], &d, false);
}

/* With a start per batch element, the batch elements are the windows of a gather, which clips as the slice clamps. */
static tn_i_var gather_lanes(tn_i_rule *r, const bool *batched) {
    const int rank = r->in_type[0]->rank;
    const int64_t up = batched[0] ? 1 : 0;
    int64_t sizes[TN_MAX_RANK + 1] = {1};
    tn_i_dnums d = {.n = {0}};
    for (int i = 0; i < rank; i++) {
        sizes[up + i] = tn_i_ints(r->p, 0)[i];
        d.v[TN_WINDOW][d.n[TN_WINDOW]++] = i + 1;
    }
    if (batched[0]) d.n[TN_OPERAND_BATCH] = d.n[TN_INDEX_BATCH] = 1; /* dimension 0 of both */
    tn_i_var indices = index_vectors(r, 1, batched, r->out_type[0], &d.n[TN_MAP], d.v[TN_MAP]);
    for (uint32_t i = 0; i < d.n[TN_MAP]; i++) d.v[TN_MAP][i] += up;
    return tn_i_gather(r->b, r->in[0], indices, &d, sizes, TN_CLIP, NULL);
}

static void batch_dynamic_slice(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    *out_batched = true;
    if (any_batched(batched, 1, r->nin)) {
        *out = gather_lanes(r, batched);
        return;
    }
    const int rank = r->in_type[0]->rank;
    int64_t sizes[TN_MAX_RANK + 1] = {r->batch};
    tn_i_var index[TN_MAX_RANK + 1] = {tn_i_literal_i64(r->b, r->nin > 1 ? r->in_type[1]->dtype : TN_I64, 0)};
    for (int i = 0; i < rank; i++) {
        sizes[i + 1] = tn_i_ints(r->p, 0)[i];
        index[i + 1] = r->in[i + 1];
    }
    *out = tn_i_dynamic_slice(r->b, r->in[0], index, sizes);
}

/* Touches the window only. */
static void cost_dynamic_slice(const tn_i_query *q, tn_i_cost *cost) {
    cost->bytes += 2 * tn_i_bytes_of(&q->out[0]);
    for (uint32_t i = 1; i < q->nin; i++) cost->bytes += tn_i_bytes_of(q->in[i]);
}

static bool sample_dynamic_slice(tn_i_rng *r, int dtype, tn_i_case *c) {
    int64_t sizes[TN_MAX_RANK];
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    for (int i = 0; i < c->in[0].rank; i++)
        sizes[i] = tn_i_pick(r, tn_i_pick(r, 0, 9) && c->in[0].dim[i], c->in[0].dim[i]);
    sample_starts(r, c, 1);
    return tn_i_case_list(c, 0, (uint32_t)c->in[0].rank, sizes);
}

/* ---- C text ---- */
TN_C_ONLY(
    clamped_start, static int64_t clamped_start(int64_t x, int64_t last) { return x < 0      ? 0
                                                                                  : x > last ? last
                                                                                             : x; })
static const tn_i_c_helper start_helpers[] = {{"clamped_start", clamped_start}, {NULL, NULL}};

/* `at`: where the window begins. */
static void c_starts(const tn_i_c_kernel *k, uint32_t first, const tn_type *of, const tn_type *window,
                     const int64_t *stride) {
    tn_i_text_put(k->t, "const int64_t at = 0");
    for (int d = 0; d < of->rank; d++)
        if (of->dim[d] != window->dim[d])
            tn_i_text_put(k->t, " + clamped_start(in%u[0], %lld) * (%lld)", (unsigned)first + (unsigned)d,
                          (long long)(of->dim[d] - window->dim[d]), (long long)stride[d]);
    tn_i_text_put(k->t, ";\n");
}

static void c_dynamic_slice(const tn_i_c_kernel *k) {
    const tn_type *t = k->out[0].type;
    c_starts(k, 1, k->in[0].type, t, k->in[0].stride);
    tn_i_c_open_arr(k->t, "i", t);
    tn_i_text_put(k->t, "out0[");
    tn_i_c_at_arr(k->t, "i", &k->out[0]);
    tn_i_text_put(k->t, "] = in0[at + ");
    tn_i_c_at(k->t, "i", t->rank, t->dim, k->in[0].stride);
    tn_i_text_put(k->t, "];\n");
    tn_i_c_close(k->t, t->rank, t->dim);
}

static void c_dynamic_update_slice(const tn_i_c_kernel *k) {
    const tn_type *t = k->out[0].type, *update = k->in[1].type;
    tn_i_c_copy_operand(k);
    if (tn_i_count(update) == 0) return;
    c_starts(k, 2, t, update, k->out[0].stride);
    tn_i_c_open_arr(k->t, "i", update);
    tn_i_text_put(k->t, "out0[at + ");
    tn_i_c_at(k->t, "i", update->rank, update->dim, k->out[0].stride);
    tn_i_text_put(k->t, "] = in1[");
    tn_i_c_at_arr(k->t, "i", &k->in[1]);
    tn_i_text_put(k->t, "];\n");
    tn_i_c_close(k->t, update->rank, update->dim);
}

/* Wherever the window is. */
static bool sums_dynamic_slice(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const tn_type *in = q->in[0];
    int64_t from[TN_MAX_RANK], to[TN_MAX_RANK];
    tn_i_dense_strides(in, from);
    tn_i_dense_strides(q->out, to);
    for (int d = 0; d < in->rank; d++)
        tn_i_sums_loop(s, false, q->out->dim[d], to[d], q->out->dim[d] < in->dim[d] ? 0 : from[d], 0);
    for (int d = 0; d < in->rank; d++)
        if (q->out->dim[d] < in->dim[d]) tn_i_sums_loop(s, true, in->dim[d], 0, from[d], 0);
    s->factor = -2;
    return operand == 0;
}

static tn_i_var written_dynamic_slice(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_places(b, TN_P_dynamic_slice, p, nin, in, 1, UINT32_MAX);
}

const tn_prim tn_prim_dynamic_slice = {
    .id = TN_P_dynamic_slice,
    .name = "dynamic_slice",
    .doc = "the window of slice_sizes at the start indices, which are clamped so that it fits",
    .nin = -1,
    .dtypes = TN_ANY,
    .params = dynamic_slice_params,
    .type = type_dynamic_slice,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_dynamic_slice,
    .transpose = transpose_dynamic_slice,
    .batch = batch_dynamic_slice,
    .kernel = kernel_dynamic_slice,
    .windows = windows_dynamic_slice,
    .c_kernel = c_dynamic_slice,
    .c_helpers = start_helpers,
    .cost = cost_dynamic_slice,
    .jvp_bound = 2,
    .transpose_bound = 12,
    .sample = sample_dynamic_slice,
    .spread = TN_SPREAD_MOVES,
    .sums = sums_dynamic_slice,
    .written = written_dynamic_slice,
};

/* ---- dynamic_update_slice ---- */
static bool type_dynamic_update_slice(tn_i_query *q) {
    if (q->nin < 2) return tn_i_type_fail(q, -1, "needs an operand and an update");
    const tn_type *in = q->in[0], *update = q->in[1];
    if (!tn_i_same_dtype(q, 1)) return false;
    if (update->rank != in->rank)
        return tn_i_type_fail(q, 1, "the update must have the rank of operand 0, %d", in->rank);
    for (int i = 0; i < in->rank; i++)
        if (update->dim[i] > in->dim[i])
            return tn_i_type_fail(q, 1, "dimension %d is larger than that of operand 0", i);
    return tn_i_indices_valid(q, 2) && tn_i_output_type(q, in);
}

static tn_status kernel_dynamic_update_slice(const tn_i_kernel *k) {
    const tn_i_arr *update = &k->in[1];
    const size_t size = tn_i_dtype_size(k->out->type->dtype);
    int64_t start[TN_MAX_RANK], stride[TN_MAX_RANK], at = 0;
    if (k->out->data != k->in[0].data) tn_i_copy_array(&k->in[0], k->out);
    if (tn_i_count(update->type) == 0) return TN_OK;
    read_starts(k->in + 2, k->out->type, update->type, start);
    tn_i_dense_strides(k->out->type, stride);
    for (int i = 0; i < update->type->rank; i++) at += start[i] * stride[i];
    tn_i_walk w;
    tn_i_walk_init(&w, update->type->rank, update->type->dim, update->stride, stride);
    tn_i_walk_run(&w, tn_i_copy_row(size), size, update->data, tn_i_at_mut(k->out->data, size, at));
    return TN_OK;
}

static tn_i_var simplify_dynamic_update_slice(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                              const tn_type *out) {
    (void)p, (void)nin;
    uint64_t x, y;
    const tn_type *update = tn_i_vtype(b, in[1]);
    if (tn_type_equal(update, out)) return in[1];
    if (tn_i_count(update) == 0) return in[0];
    return tn_i_known_scalar(b, in[0], &x) && tn_i_known_scalar(b, in[1], &y) && x == y ? in[0] : TN_NOVAR;
}

/* The window is read before it is cleared, so that clearing may happen in place. */
static void transpose_dynamic_update_slice(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    if (r->in[1] == TN_NOVAR) ct_in[1] = tn_i_dynamic_slice(b, ct[0], r->in + 2, r->in_type[1]->dim);
    if (r->in[0] == TN_NOVAR) ct_in[0] = tn_i_dynamic_update_slice(b, ct[0], tn_i_zeros(b, r->in_type[1]), r->in + 2);
}

/* Where the updates of the batch elements go: 1 inside the windows. */
static tn_i_var window_mask(tn_i_rule *r, const tn_i_dnums *d, tn_i_var indices) {
    tn_i_builder *b = r->b;
    tn_type whole = tn_i_batch_type(r->in_type[0], r->batch), window = tn_i_batch_type(r->in_type[1], r->batch);
    whole.dtype = window.dtype = TN_I32;
    tn_i_var zeros = tn_i_zeros(b, &whole);
    return tn_i_op2(b, TN_P_ne, tn_i_scatter_add(b, zeros, indices, tn_i_number(b, &window, 1), d, false), zeros);
}

/* With a start per batch element: the windows are set to -0, which added to any number leaves its bits, and
 * the updates are added there. */
static tn_i_var update_lanes(tn_i_rule *r, const bool *batched) {
    tn_i_builder *b = r->b;
    const int dtype = r->in_type[0]->dtype;
    tn_i_var x = tn_i_batched_operand(r, batched, 0), u = tn_i_batched_operand(r, batched, 1);
    tn_i_dnums d = {.n = {0}};
    d.n[TN_WINDOW] = (uint32_t)r->in_type[0]->rank;
    for (uint32_t i = 0; i < d.n[TN_WINDOW]; i++) d.v[TN_WINDOW][i] = i + 1;
    d.n[TN_OPERAND_BATCH] = d.n[TN_INDEX_BATCH] = 1;
    tn_i_var indices = index_vectors(r, 2, batched, r->in_type[1], &d.n[TN_MAP], d.v[TN_MAP]);
    for (uint32_t i = 0; i < d.n[TN_MAP]; i++) d.v[TN_MAP][i]++;
    if (b->failed) return TN_NOVAR;
    if (dtype == TN_BOOL) {
        x = tn_i_convert(b, x, TN_I32);
        u = tn_i_convert(b, u, TN_I32);
    }
    const tn_i_var mask = window_mask(r, &d, indices), nothing = tn_i_number_like(b, x, -0.0);
    x = tn_i_op3(b, TN_P_select, mask, nothing, x);
    x = tn_i_scatter_add(b, x, indices, u, &d, false);
    return dtype == TN_BOOL ? tn_i_op2(b, TN_P_ne, x, tn_i_number_like(b, x, 0)) : x;
}

static void batch_dynamic_update_slice(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    *out_batched = true;
    if (any_batched(batched, 2, r->nin)) {
        *out = update_lanes(r, batched);
        return;
    }
    const int rank = r->in_type[0]->rank;
    tn_i_var index[TN_MAX_RANK + 1] = {tn_i_literal_i64(r->b, rank ? r->in_type[2]->dtype : TN_I64, 0)};
    for (int i = 0; i < rank; i++) index[i + 1] = r->in[i + 2];
    const tn_i_var x = tn_i_batched_operand(r, batched, 0), update = tn_i_batched_operand(r, batched, 1);
    *out = tn_i_dynamic_update_slice(r->b, x, update, index);
}

/* In place: touches the window only. */
static void cost_dynamic_update_slice(const tn_i_query *q, tn_i_cost *cost) {
    cost->bytes += 2 * tn_i_bytes_of(q->in[1]);
    for (uint32_t i = 2; i < q->nin; i++) cost->bytes += tn_i_bytes_of(q->in[i]);
}

static bool sample_dynamic_update_slice(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    for (int i = 0; i < c->in[0].rank; i++)
        c->in[1].dim[i] = tn_i_pick(r, tn_i_pick(r, 0, 9) && c->in[0].dim[i], c->in[0].dim[i]);
    sample_starts(r, c, 2);
    return true;
}

/* Wherever the update goes. */
static bool sums_dynamic_update_slice(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const tn_type *in = q->in[operand];
    int64_t from[TN_MAX_RANK], to[TN_MAX_RANK];
    if (operand > 1) return false;
    tn_i_dense_strides(in, from);
    tn_i_dense_strides(q->out, to);
    for (int d = 0; d < in->rank; d++)
        tn_i_sums_loop(s, false, q->out->dim[d], to[d], in->dim[d] < q->out->dim[d] ? 0 : from[d], 0);
    for (int d = 0; d < in->rank; d++)
        if (in->dim[d] < q->out->dim[d]) tn_i_sums_loop(s, true, in->dim[d], 0, from[d], 0);
    s->factor = -2;
    return true;
}

static tn_i_var written_dynamic_update_slice(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    return tn_i_unsigned_places(b, TN_P_dynamic_update_slice, p, nin, in, 2, UINT32_MAX);
}

const tn_prim tn_prim_dynamic_update_slice = {
    .id = TN_P_dynamic_update_slice,
    .name = "dynamic_update_slice",
    .doc = "operand 0 with the update written at the start indices, which are clamped so that it fits",
    .nin = -1,
    .flags = TN_F_INPLACE,
    .dtypes = TN_ANY,
    .type = type_dynamic_update_slice,
    .linear = {TN_OPERAND(0) | TN_OPERAND(1)},
    .simplify = simplify_dynamic_update_slice,
    .transpose = transpose_dynamic_update_slice,
    .batch = batch_dynamic_update_slice,
    .kernel = kernel_dynamic_update_slice,
    .windows = windows_dynamic_update_slice,
    .c_kernel = c_dynamic_update_slice,
    .c_helpers = start_helpers,
    .cost = cost_dynamic_update_slice,
    .jvp_bound = 3,
    .transpose_bound = 3,
    .sample = sample_dynamic_update_slice,
    .spread = TN_SPREAD_MOVES,
    .sums = sums_dynamic_update_slice,
    .written = written_dynamic_update_slice,
};
