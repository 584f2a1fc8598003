/* sort: by one or more keys along a dimension. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/arrays/order.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <math.h>
#include <string.h>

static const tn_i_spec params[] = {{.name = "dimension", .kind = TN_K_INT},
                                   {.name = "is_stable", .kind = TN_K_BOOL},
                                   {.name = "num_keys", .kind = TN_K_INT},
                                   {.name = NULL}};

static bool type_sort(tn_i_query *q) {
    char text[TN_I_TYPE_TEXT];
    if (!tn_i_params_given(q)) return false;
    if (q->nin == 0) return tn_i_type_fail(q, -1, "needs an operand");
    if (!tn_i_axes_valid(q, "dimension", 1, &q->p[0].u.i, q->in[0]->rank, false)) return false;
    if (q->p[2].u.i < 1 || q->p[2].u.i > (int64_t)q->nin)
        return tn_i_type_fail(q, -1, "num_keys %lld is not in 1..%u", (long long)q->p[2].u.i, (unsigned)q->nin);
    for (uint32_t i = 1; i < q->nin; i++) {
        tn_type t = *q->in[i];
        t.dtype = q->in[0]->dtype;
        if (!tn_type_equal(&t, q->in[0]))
            return tn_i_type_fail(q, (int)i, "shape differs from %s", tn_i_type_text(text, q->in[0]));
    }
    if (!tn_i_outputs(q, q->nin)) return false;
    for (uint32_t i = 0; i < q->nin; i++) q->out[i] = *q->in[i];
    return true;
}

static void cost_sort(const tn_i_query *q, tn_i_cost *cost) {
    const int64_t length = q->in[0]->dim[q->p[0].u.i];
    tn_i_cost_copy(q, cost);
    cost->flops += (double)tn_i_count(q->in[0]) * (1 + ceil(log2(length > 1 ? (double)length : 1.0)));
}

/* ---- kernel ---------------------------------------------------------------------- */

static tn_status kernel_sort(const tn_i_kernel *k) {
    const tn_type *t = k->in[0].type;
    const int axis = (int)k->p[0].u.i;
    const int64_t n = t->dim[axis], total = tn_i_count(t);
    if (total == 0) return TN_OK;
    tn_i_keyed *x = k->scratch, *y = x + n;
    uint64_t *keys = (uint64_t *)(void *)(y + n);
    const tn_i_lane c = {.n = n, .more = (uint32_t)k->p[2].u.i - 1, .keys = keys};
    int64_t dense[TN_MAX_RANK];
    tn_i_dense_strides(t, dense);
    tn_i_dims kept = tn_i_dims_of(&k->in[0], ~(1u << axis)); /* of one operand, which most sorts have: not row by row */
    for (int64_t at = 0; at < total / n; at++) {
        tn_i_cursor cur;
        for (uint32_t j = 0; j <= c.more; j++) {
            if (k->nin > 1) kept = tn_i_dims_of(&k->in[j], ~(1u << axis));
            tn_i_cursor_start(&cur, &kept, at);
            tn_i_load_keys(&k->in[j], tn_i_address(&k->in[j], cur.offset), k->in[j].stride[axis], n,
                           j ? keys + (size_t)(j - 1) * (size_t)n : &x->key, j ? 1 : sizeof *x / sizeof x->key);
        }
        for (int64_t i = 0; i < n; i++) x[i].from = i;
        const tn_i_keyed *order = tn_i_sort_entries(&c, x, y);
        for (uint32_t j = 0; j < k->nin; j++) {
            if (k->nin > 1) kept = tn_i_dims_of(&k->in[j], ~(1u << axis));
            tn_i_cursor_start(&cur, &kept, at);
            const int64_t first = at / dense[axis] * dense[axis] * n + at % dense[axis];
            tn_i_move_entries(&k->in[j], tn_i_address(&k->in[j], cur.offset), k->in[j].stride[axis],
                              tn_i_address(&k->out[j], first), dense[axis], order, n);
        }
    }
    return TN_OK;
}

static size_t scratch_sort(const tn_i_query *q) {
    const size_t n = (size_t)q->in[0]->dim[q->p[0].u.i], keys = (size_t)q->p[2].u.i - 1;
    size_t entries, more, bytes;
    if (!tn_i_mul(n, 2 * sizeof(tn_i_keyed), &entries) || !tn_i_mul(n, keys, &more) ||
        !tn_i_mul(more, sizeof(uint64_t), &more) || !tn_i_add(entries, more, &bytes))
        return SIZE_MAX;
    return bytes;
}

/* ---- rules ------------------------------------------------------------------------ */

/* Sorts positions along with the operands and takes the tangents from there. */
static void jvp_sort(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_type *t = r->in_type[0];
    const int axis = (int)r->p[0].u.i;
    tn_i_var *in = tn_i_alloc_array(b->ctx, r->nin + (size_t)1, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    memcpy(in, r->in, r->nin * sizeof *in);
    in[r->nin] = tn_i_iota(b, t->dim[axis] > INT32_MAX ? TN_I64 : TN_I32, t->rank, t->dim, axis);
    const tn_i_var sorted = tn_i_emit(b, r->e->prim, r->p, r->nin + 1, in);
    tn_i_free(b->ctx, in, (r->nin + (size_t)1) * sizeof *in);
    for (uint32_t j = 0; j < r->nin && sorted != TN_NOVAR; j++) {
        r->out[j] = sorted + j;
        if (din[j] != TN_NOVAR && tn_i_count(t) > 0) dout[j] = tn_i_take_along(b, din[j], sorted + r->nin, axis);
    }
}

static void batch_sort(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_builder *b = r->b;
    tn_i_var *in = tn_i_alloc_array(b->ctx, r->nin, sizeof *in);
    if (!in) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < r->nin; i++) in[i] = tn_i_batched_operand(r, batched, i);
    const tn_i_param p[3] = {{.kind = TN_K_INT, .u.i = r->p[0].u.i + 1}, r->p[1], r->p[2]};
    const tn_i_var sorted = tn_i_emit(b, r->e->prim, p, r->nin, in);
    tn_i_free(b->ctx, in, r->nin * sizeof *in);
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = sorted == TN_NOVAR ? TN_NOVAR : sorted + j;
        out_batched[j] = true;
    }
}

static bool sample_sort(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 1, 3);
    const uint32_t n = (uint32_t)tn_i_pick(r, 1, 3);
    for (uint32_t i = 1; i < n; i++) tn_i_case_alike(c, i, 0, tn_i_pick(r, 0, 1) ? dtype : TN_I32);
    c->p[0] = (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, 0, c->in[0].rank - 1)};
    c->p[1] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 1)};
    c->p[2] = (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, 1, n)};
    c->fill = tn_i_fill_apart;
    return true;
}

/* ---- C text ---- */

static void c_sort(const tn_i_c_kernel *k) {
    const tn_type *t = k->in[0].type;
    const int axis = (int)k->p[0].u.i;
    const long long n = (long long)t->dim[axis];
    const uint32_t more = (uint32_t)k->p[2].u.i - 1;
    const unsigned others = ~(1u << axis);
    if (tn_i_count(t) == 0) return;
    tn_i_text_put(k->t, "tansy_keyed *const x = (tansy_keyed *)(void *)scratch;\ntansy_keyed *const y = x + %lld;\n",
                  n);
    tn_i_text_put(k->t, "uint64_t *const keys = (uint64_t *)(void *)(y + %lld);\n", n);
    tn_i_text_put(k->t, "const tansy_lane c = {%lld, %u, keys};\n", n, (unsigned)more);
    tn_i_c_open_axes(k->t, "i", t, others);
    tn_i_text_put(k->t, "for (int64_t j = 0; j < %lld; j++) {\nx[j].from = j;\n", n);
    for (uint32_t m = 0; m <= more; m++) {
        const bool floats = tn_i_is_float(k->in[m].type->dtype);
        if (m == 0)
            tn_i_text_put(k->t, "x[j].key = ");
        else
            tn_i_text_put(k->t, "keys[%lld + j] = ", (long long)(m - 1) * n);
        tn_i_text_put(k->t, "%s(in%u[j * (%lld) + ", floats ? "tansy_order_float" : "tansy_order_int", (unsigned)m,
                      (long long)k->in[m].stride[axis]);
        tn_i_c_at_axes(k->t, "i", t, k->in[m].stride, others);
        tn_i_text_put(k->t, "]);\n");
    }
    tn_i_text_put(
        k->t, "}\nconst tansy_keyed *const order = merge_sort(&c, x, y);\nfor (int64_t j = 0; j < %lld; j++) {\n", n);
    for (uint32_t m = 0; m < k->nin; m++) {
        tn_i_text_put(k->t, "out%u[j * %lld + ", (unsigned)m, (long long)k->out[m].stride[axis]);
        tn_i_c_at_axes(k->t, "i", t, k->out[m].stride, others);
        tn_i_text_put(k->t, "] = in%u[order[j].from * (%lld) + ", (unsigned)m, (long long)k->in[m].stride[axis]);
        tn_i_c_at_axes(k->t, "i", t, k->in[m].stride, others);
        tn_i_text_put(k->t, "];\n");
    }
    tn_i_text_put(k->t, "}\n");
    tn_i_c_close_axes(k->t, t, others);
}

const tn_prim tn_prim_sort = {
    .id = TN_P_sort,
    .name = "sort",
    .doc = "sorts along a dimension by the first num_keys operands, always stably; NaN last, -0 equals 0; tangents "
           "move along",
    .nin = -1,
    .flags = TN_F_OWN_PRIMAL | TN_F_COSTLY | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = params,
    .type = type_sort,
    .jvp = jvp_sort,
    .batch = batch_sort,
    .kernel = kernel_sort,
    .complex_many = tn_i_complex_of_sort,
    .c_kernel = c_sort,
    .c_helpers = tn_i_order_helpers,
    .scratch = scratch_sort,
    .cost = cost_sort,
    .jvp_bound = 8,
    .domain = {{.at = TN_AT_TIES, .apart = 0.01}, {.at = TN_AT_TIES, .apart = 0.01}, {.at = TN_AT_TIES, .apart = 0.01}},
    .sample = sample_sort,
};
