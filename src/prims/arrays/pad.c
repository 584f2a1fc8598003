/* pad: an array amid copies of one value. */
#include "prims/c_text.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/arrays/boxes.h"
#include "prims/arrays/shape.h"

#include <string.h>

static const tn_i_spec pad_params[] = {{.name = "padding_config", .kind = TN_K_INTS, .lists = 3}, {.name = NULL}};

/* Paddings beyond this could not be added up; no array is larger. */
#define PAD_LIMIT (INT64_MAX / 4)

static int64_t low(const tn_i_param *p, int i) { return p[0].u.ints[3 * i]; }
static int64_t high(const tn_i_param *p, int i) { return p[0].u.ints[3 * i + 1]; }
/* From one element to the next; a lone element has no next. */
static int64_t step(const tn_i_param *p, int i, int64_t size) { return size > 1 ? p[0].u.ints[3 * i + 2] + 1 : 1; }
/* What `size` elements span. */
static int64_t span(const tn_i_param *p, int i, int64_t size) { return size ? (size - 1) * step(p, i, size) + 1 : 0; }

static bool padded_size(tn_i_query *q, int i, int64_t *out) {
    const int64_t lo = low(q->p, i), hi = high(q->p, i), between = q->p[0].u.ints[3 * i + 2], size = q->in[0]->dim[i];
    if (between < 0)
        return tn_i_type_fail(q, -1, "padding_config: interior padding %lld is negative", (long long)between);
    if (lo < -PAD_LIMIT || lo > PAD_LIMIT || hi < -PAD_LIMIT || hi > PAD_LIMIT || between > PAD_LIMIT)
        return tn_i_type_fail(q, -1, "padding_config: the padding of dimension %d is out of range", i);
    int64_t gaps;
    if (!tn_i_mul_i64(size > 1 ? size - 1 : 0, between, &gaps) || !tn_i_add_i64(gaps, size, out) ||
        !tn_i_add_i64(*out, lo, out) || !tn_i_add_i64(*out, hi, out))
        return tn_i_type_fail(q, -1, "the size of dimension %d overflows", i);
    if (*out < 0) return tn_i_type_fail(q, 0, "negative padding removes more than dimension %d has", i);
    return true;
}

static bool type_pad(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const tn_type *in = q->in[0];
    if (!tn_i_length_is(q, 0, 3 * (uint32_t)in->rank, "three times the rank of the operand") || !tn_i_same_dtype(q, 1))
        return false;
    if (q->in[1]->rank != 0) return tn_i_type_fail(q, 1, "the padding value must be a scalar");
    int64_t dim[TN_MAX_RANK];
    for (int i = 0; i < in->rank; i++)
        if (!padded_size(q, i, &dim[i])) return false;
    return tn_i_output(q, in->dtype, in->rank, dim);
}

/* In each dimension the elements `from` .. of the operand fall inside the result; false: none does. */
static bool inside(const tn_i_kernel *k, tn_i_moved_box *box) {
    const tn_type *in = k->in[0].type, *out = k->out->type;
    tn_i_box_of_operand(k, 0, 0, box);
    for (int i = 0; i < in->rank; i++) {
        const int64_t s = step(k->p, i, in->dim[i]), lo = low(k->p, i);
        const int64_t from = lo < 0 ? (-lo - 1) / s + 1 : 0;
        const int64_t first = lo + from * s; /* where it lands */
        if (from >= in->dim[i] || first >= out->dim[i]) return false;
        const int64_t room = (out->dim[i] - 1 - first) / s + 1;
        box->dim[i] = room < in->dim[i] - from ? room : in->dim[i] - from;
        box->from += from * box->src[i];
        box->to += first * box->dst[i];
        if (box->dim[i] > 1) box->dst[i] *= s;
    }
    return true;
}

/* Elements first .. of dimension d, and all of the others, are the padding value. */
static void put_padding(const tn_i_kernel *k, tn_i_moved_boxes *to, int d, int64_t first, int64_t last) {
    const tn_type *out = k->out->type;
    tn_i_moved_box box = {.in = 1, .rank = out->rank};
    memcpy(box.dim, out->dim, sizeof box.dim);
    tn_i_dense_strides(out, box.dst);
    if (d < out->rank) {
        box.dim[d] = last - first;
        box.to = first * box.dst[d];
    }
    if (d == out->rank || last > first) to->put(to, &box);
}

/* Where one dimension alone is padded, before and behind; else all of the result, the operand over it. */
static void boxes_pad(const tn_i_kernel *k, tn_i_moved_boxes *to) {
    const tn_type *in = k->in[0].type, *out = k->out->type;
    tn_i_moved_box box;
    int padded = 0, d = 0;
    bool between = false;
    const bool any = inside(k, &box);
    for (int i = 0; any && i < in->rank; i++) {
        if (box.dim[i] == out->dim[i]) continue;
        padded++;
        d = i;
        between = box.dim[i] > 1 && step(k->p, i, in->dim[i]) > 1;
    }
    if (!any || padded > 1 || between) put_padding(k, to, out->rank, 0, 0);
    if (any && padded == 1 && !between) {
        const int64_t first = box.to / box.dst[d]; /* it begins nowhere else */
        put_padding(k, to, d, 0, first);
        put_padding(k, to, d, first + box.dim[d], out->dim[d]);
    }
    if (any) to->put(to, &box);
}

static tn_i_var simplify_pad(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                             const tn_type *out) {
    (void)nin;
    const tn_type *t = tn_i_vtype(b, in[0]), to = *out;
    bool same = tn_type_equal(t, &to);
    uint64_t x, y;
    for (int i = 0; i < t->rank && same; i++) same = low(p, i) == 0 && (high(p, i) == 0 && step(p, i, t->dim[i]) == 1);
    if (same) return in[0];
    if (tn_i_count(t) == 0) return tn_i_broadcast(b, in[1], to.rank, to.dim, NULL);
    if (tn_i_known_scalar(b, in[0], &x) && tn_i_known_scalar(b, in[1], &y) && x == y)
        return tn_i_broadcast(b, in[1], to.rank, to.dim, NULL);
    return TN_NOVAR;
}

/* Padding the cotangent by what was cut off, then slicing out the elements. */
static tn_i_var pad_ct_operand(tn_i_rule *r, tn_i_var ct) {
    const tn_type *in = r->in_type[0];
    int64_t config[3 * TN_MAX_RANK], start[TN_MAX_RANK], limit[TN_MAX_RANK], strides[TN_MAX_RANK];
    for (int i = 0; i < in->rank; i++) {
        const int64_t lo = low(r->p, i), hi = high(r->p, i);
        config[3 * i] = lo < 0 ? -lo : 0;
        config[3 * i + 1] = hi < 0 ? -hi : 0;
        config[3 * i + 2] = 0;
        start[i] = lo > 0 ? lo : 0;
        limit[i] = start[i] + span(r->p, i, in->dim[i]);
        strides[i] = step(r->p, i, in->dim[i]);
    }
    ct = tn_i_pad(r->b, ct, tn_i_literal_f64(r->b, in->dtype, 0), config);
    return tn_i_slice(r->b, ct, start, limit, strides);
}

/* True where the result is padding. */
static tn_i_var padding_mask(tn_i_rule *r) {
    tn_i_builder *b = r->b;
    tn_type t = *r->in_type[0];
    t.dtype = TN_BOOL;
    const tn_i_var inside = tn_i_number(b, &t, 0), padding = tn_i_literal_i64(b, TN_BOOL, 1);
    return tn_i_pad(b, inside, padding, tn_i_ints(r->p, 0));
}

static void transpose_pad(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    const int rank = r->out_type[0]->rank;
    int64_t axes[TN_MAX_RANK];
    if (r->in[0] == TN_NOVAR) ct_in[0] = pad_ct_operand(r, ct[0]);
    if (r->in[1] != TN_NOVAR) return;
    for (int i = 0; i < rank; i++) axes[i] = i;
    /* masked, not sum(ct) - sum(ct of the operand), which would cancel */
    const tn_i_var mask = padding_mask(r), zeros = tn_i_zeros(b, r->out_type[0]);
    const tn_i_var outside = tn_i_op3(b, TN_P_select, mask, ct[0], zeros);
    ct_in[1] = tn_i_reduce_sum(b, outside, (uint32_t)rank, axes);
}

static void batch_pad(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_builder *b = r->b;
    int64_t config[3 * (TN_MAX_RANK + 1)] = {0, 0, 0};
    for (uint32_t i = 0; i < r->p[0].n; i++) config[i + 3] = tn_i_ints(r->p, 0)[i];
    *out_batched = true;
    tn_i_var x = tn_i_batched_operand(r, batched, 0);
    if (!batched[1]) {
        *out = tn_i_pad(b, x, r->in[1], config);
        return;
    }
    const int64_t front = 0;
    const tn_type t = tn_i_batch_type(r->out_type[0], r->batch);
    x = tn_i_pad(b, x, tn_i_literal_f64(b, t.dtype, 0), config);
    tn_i_var value = tn_i_broadcast(b, r->in[1], t.rank, t.dim, &front);
    *out = tn_i_op3(b, TN_P_select, tn_i_batched(b, padding_mask(r), r->batch), value, x);
}

static bool sample_pad(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 3);
    c->nin = 2;
    c->in[1] = tn_type_of((tn_dtype)dtype, 0, NULL);
    int64_t config[3 * TN_MAX_RANK];
    const int rank = c->in[0].rank;
    for (int i = 0; i < rank; i++) {
        const int64_t size = c->in[0].dim[i];
        config[3 * i + 2] = tn_i_pick(r, 0, 2) ? 0 : tn_i_pick(r, 1, 2);
        const int64_t all = size ? (size - 1) * (config[3 * i + 2] + 1) + 1 : 0;
        config[3 * i] = tn_i_pick(r, all < 2 ? -all : -2, 2);
        config[3 * i + 1] = tn_i_pick(r, config[3 * i] + all < 2 ? -(config[3 * i] + all) : -2, 2);
    }
    return tn_i_case_list(c, 0, 3 * (uint32_t)rank, config);
}

static tn_i_rows rows_pad(const tn_i_query *q) {
    return tn_i_as_many_rows(q) && low(q->p, 0) == 0 && high(q->p, 0) == 0 ? TN_ROWS_OWN : TN_ROWS_MIXED;
}

const tn_prim tn_prim_pad = {
    .id = TN_P_pad,
    .name = "pad",
    .doc = "(low, high, interior) copies of the value before, behind and between the elements of each dimension; "
           "negative cuts",
    .nin = 2,
    .flags = TN_F_PLACES,
    .dtypes = TN_ANY,
    .params = pad_params,
    .type = type_pad,
    .rows = rows_pad,
    .linear = {TN_OPERAND(0) | TN_OPERAND(1)},
    .simplify = simplify_pad,
    .transpose = transpose_pad,
    .batch = batch_pad,
    .boxes = boxes_pad,
    .kernel = tn_i_box_kernel,
    .c_kernel = tn_i_c_box_kernel,
    .cost = tn_i_cost_copy,
    .jvp_bound = 3,
    .transpose_bound = 16,
    .sample = sample_pad,
    .spread = TN_SPREAD_MOVES,
};
