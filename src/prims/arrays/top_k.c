/* top_k: the k largest along a dimension, and where they are. */
#include "prims/ids.h"
#include "prims/arrays/largest.h"
#include "prims/arrays/order.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <math.h>

static const tn_i_spec params[] = {
    {.name = "k", .kind = TN_K_INT}, {.name = "axis", .kind = TN_K_INT, .otherwise = "the last"}, {.name = NULL}};

static bool type_top_k(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const tn_type *x = q->in[0];
    const int64_t axis = q->p[TN_TOP_AXIS].kind == TN_K_NONE ? x->rank - 1 : q->p[TN_TOP_AXIS].u.i,
                  k = q->p[TN_TOP_K].u.i;
    if (!tn_i_axes_valid(q, "axis", 1, &axis, x->rank, false)) return false;
    const int64_t n = x->dim[axis];
    if (k < 0 || k > n)
        return tn_i_type_fail(q, 0, "dimension %d has %lld elements, of which there are no %lld", (int)axis,
                              (long long)n, (long long)k);
    if (n > INT32_MAX) return tn_i_type_fail(q, 0, "dimension %d has more elements than i32 has numbers", (int)axis);
    if (!tn_i_outputs(q, 2)) return false;
    q->out[0] = q->out[1] = *x;
    q->out[0].dim[axis] = q->out[1].dim[axis] = k;
    q->out[1].dtype = TN_I32;
    return true;
}

static void cost_top_k(const tn_i_query *q, tn_i_cost *cost) {
    const double k = (double)q->p[TN_TOP_K].u.i;
    tn_i_cost_copy(q, cost);
    cost->flops += (double)tn_i_count(q->in[0]) + (double)tn_i_count(&q->out[0]) * ceil(log2(k > 1 ? k : 1));
}

/* ---- kernel ---------------------------------------------------------------------- */

static size_t scratch_top_k(const tn_i_query *q) {
    const tn_i_largest way = tn_i_largest_way(q->in[0]->dim[tn_i_top_axis(q->p, q->in[0])], q->p[TN_TOP_K].u.i);
    size_t bytes;
    return tn_i_mul((size_t)way.room, sizeof(tn_i_keyed), &bytes) ? bytes : SIZE_MAX;
}

static tn_status kernel_top_k(const tn_i_kernel *k) {
    const tn_i_arr *x = &k->in[0];
    const int axis = tn_i_top_axis(k->p, x->type);
    const int64_t n = x->type->dim[axis], most = k->p[TN_TOP_K].u.i;
    int64_t dense[TN_MAX_RANK];
    tn_i_dense_strides(k->out[0].type, dense);
    const int64_t step = dense[axis];
    const tn_i_dims kept = tn_i_dims_of(x, ~(1u << axis));
    const int64_t rows = tn_i_count(k->out[0].type) ? tn_i_dims_count(&kept) : 0;
    tn_i_cursor cur;
    tn_i_cursor_start(&cur, &kept, 0);
    for (int64_t at = 0; at < rows; at++, tn_i_cursor_next(&cur)) {
        const void *data = tn_i_address(x, cur.offset);
        const tn_i_keyed *e = tn_i_largest_of(x, data, x->stride[axis], n, most, k->scratch);
        const int64_t first = at / step * step * most + at % step;
        int32_t *place = tn_i_address(&k->out[1], first);
        tn_i_move_entries(x, data, x->stride[axis], tn_i_address(&k->out[0], first), step, e, most);
        for (int64_t i = 0; i < most; i++) place[i * step] = (int32_t)e[i].from;
    }
    return TN_OK;
}

/* ---- rules ------------------------------------------------------------------------ */

/* Tangents are taken from where the elements are. */
static void jvp_top_k(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    if (r->p[TN_TOP_K].u.i > 0 && tn_i_count(r->in_type[0]) > 0)
        dout[0] = tn_i_take_along(r->b, din[0], r->out[1], tn_i_top_axis(r->p, r->in_type[0]));
}

static void batch_top_k(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_i_var x = tn_i_batched_operand(r, batched, 0);
    const tn_i_param p[2] = {r->p[TN_TOP_K], {.kind = TN_K_INT, .u.i = tn_i_top_axis(r->p, r->in_type[0]) + 1}};
    const tn_i_var first = tn_i_emit(r->b, r->e->prim, p, 1, &x);
    for (uint32_t j = 0; j < 2; j++) {
        out[j] = first == TN_NOVAR ? TN_NOVAR : first + j;
        out_batched[j] = true;
    }
}

static bool sample_top_k(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 1, 3);
    const int64_t axis = tn_i_pick(r, 0, c->in[0].rank - 1);
    c->p[TN_TOP_K] = (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, 0, c->in[0].dim[axis])};
    c->p[TN_TOP_AXIS] = (tn_i_param){.kind = TN_K_INT, .u.i = axis};
    c->fill = tn_i_fill_apart;
    return true;
}

/* ---- C text ---- */

static void c_key(const tn_i_c_kernel *k, int axis, unsigned others) {
    const tn_i_arr *x = &k->in[0];
    const bool floats = tn_i_is_float(x->type->dtype);
    tn_i_text_put(k->t, "const uint64_t key = ~%s(in0[j * (%lld) + ", floats ? "tansy_order_float" : "tansy_order_int",
                  (long long)x->stride[axis]);
    tn_i_c_at_axes(k->t, "i", x->type, x->stride, others);
    tn_i_text_put(k->t, "]);\n");
}

/* The same without blocks: a row is looked through for entries that come into question one by one. */
static void c_collect(const tn_i_c_kernel *k, int axis, unsigned others, tn_i_largest way) {
    const long long n = (long long)k->in[0].type->dim[axis], most = (long long)k->p[TN_TOP_K].u.i;
    const bool listed = way.by == TN_LISTED;
    const long long room = listed ? most + 1 : way.by == TN_SORTED ? n + 1 : (long long)way.room;
    tn_i_text_put(k->t, "int64_t have = 0%s;\nuint64_t last = UINT64_MAX;\n", listed ? ", sorted = 0" : "");
    tn_i_text_put(k->t, "for (int64_t j = 0; j < %lld; j++) {\n", n);
    c_key(k, axis, others);
    tn_i_text_put(k->t, "if (have >= %lld && key >= last) continue;\nx[have].key = key;\nx[have++].from = j;\n", most);
    if (room <= n) {
        tn_i_text_put(k->t, "if (have < %lld) continue;\n", room);
        if (listed)
            tn_i_text_put(k->t, "tansy_insert_entries(x, %lld, sorted, have);\nlast = x[%lld].key;\nsorted = ", most,
                          most - 1);
        else
            tn_i_text_put(k->t, "last = tansy_select_entries(x, %lld, have);\n", most);
        tn_i_text_put(k->t, "have = %lld;\n", most);
    }
    tn_i_text_put(k->t, "}\n");
}

/* Those that came since the last time, and all of them in order. */
static void c_order(const tn_i_c_kernel *k, tn_i_largest way) {
    const long long n = (long long)k->in[0].type->dim[tn_i_top_axis(k->p, k->in[0].type)],
                    most = (long long)k->p[TN_TOP_K].u.i;
    const long long of = way.by == TN_SORTED ? n : most;
    if (way.by == TN_LISTED) {
        tn_i_text_put(k->t, "tansy_insert_entries(x, %lld, sorted, have);\nconst tansy_keyed *const order = x;\n",
                      most);
        return;
    }
    if (way.by == TN_SIFTED)
        tn_i_text_put(k->t, "if (have > %lld) (void)tansy_select_entries(x, %lld, have);\n", most, most);
    tn_i_text_put(k->t, "const tansy_lane c = {%lld, 0, NULL};\n", of);
    tn_i_text_put(k->t, "const tansy_keyed *const order = merge_sort(&c, x, x + %lld);\n", of);
}

static void c_top_k(const tn_i_c_kernel *k) {
    const tn_i_arr *x = &k->in[0];
    const int axis = tn_i_top_axis(k->p, x->type);
    const unsigned others = ~(1u << axis);
    const tn_i_largest way = tn_i_largest_way(x->type->dim[axis], k->p[TN_TOP_K].u.i);
    if (tn_i_count(k->out[0].type) == 0) return;
    tn_i_text_put(k->t, "tansy_keyed *const x = (tansy_keyed *)(void *)scratch;\n");
    tn_i_c_open_axes(k->t, "i", x->type, others);
    tn_i_text_put(k->t, "{\n");
    c_collect(k, axis, others, way);
    c_order(k, way);
    tn_i_text_put(k->t, "for (int64_t j = 0; j < %lld; j++) {\n", (long long)k->p[TN_TOP_K].u.i);
    for (int j = 0; j < 2; j++) {
        tn_i_text_put(k->t, "out%d[j * (%lld) + ", j, (long long)k->out[j].stride[axis]);
        tn_i_c_at_axes(k->t, "i", x->type, k->out[j].stride, others);
        tn_i_text_put(k->t, j ? "] = (int32_t)order[j].from;\n" : "] = in0[order[j].from * (%lld) + ",
                      (long long)x->stride[axis]);
        if (j == 0) tn_i_c_at_axes(k->t, "i", x->type, x->stride, others);
        if (j == 0) tn_i_text_put(k->t, "];\n");
    }
    tn_i_text_put(k->t, "}\n}\n");
    tn_i_c_close_axes(k->t, x->type, others);
}

const tn_prim tn_prim_top_k = {
    .id = TN_P_top_k,
    .name = "top_k",
    .doc = "the k largest along a dimension, from the largest on, and where they are (i32): NaN first, of equals the "
           "first, -0 equals 0; tangents move along",
    .nin = 1,
    .flags = TN_F_COSTLY | TN_F_ORDER,
    .dtypes = TN_ANY,
    .params = params,
    .type = type_top_k,
    .jvp = jvp_top_k,
    .batch = batch_top_k,
    .kernel = kernel_top_k,
    .c_kernel = c_top_k,
    .c_helpers = tn_i_order_helpers,
    .scratch = scratch_top_k,
    .cost = cost_top_k,
    .jvp_bound = 8,
    .domain = {{.at = TN_AT_TIES, .apart = 0.01}},
    .sample = sample_top_k,
};
