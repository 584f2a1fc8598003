/* mirror: symmetric matrices of one triangle. */
#include "base/machine.h"
#include "prims/c_text.h"
#include "prims/dims.h"
#include "prims/linear/gemm.h"
#include "prims/ids.h"
#include "prims/arrays/layout.h"
#include "prims/linear/matrices.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

static bool type_mirror(tn_i_query *q) { return tn_i_square_matrices(q) && tn_i_output_type(q, q->in[0]); }

/* ---- kernel ------------------------------------------------------------------------- */

/* Rows of the upper triangle are read once and written as rows and as columns, some columns at a time. */
static void mirror(size_t size, int64_t n, const void *from, int64_t rs, int64_t cs, void *to) {
    if (cs == 1 && tn_i_mirror(size, n, false, from, rs, to)) return;
    if (rs == 1 && tn_i_mirror(size, n, true, from, cs, to)) return;
    tn_i_row *copy = tn_i_copy_row(size);
    for (int64_t first = 0; first < n; first += TN_M_MIRROR_SPAN)
        for (int64_t i = 0; i < n && i < first + TN_M_MIRROR_SPAN; i++) {
            const int64_t j = i < first ? first : i,
                          run = (n - first < TN_M_MIRROR_SPAN ? n : first + TN_M_MIRROR_SPAN) - j;
            const void *row = tn_i_at(from, size, i * rs + j * cs);
            if (from != to) copy(run, row, cs, tn_i_at_mut(to, size, i * n + j), 1);
            copy(run, row, cs, tn_i_at_mut(to, size, j * n + i), n);
        }
}

static tn_status kernel_mirror(const tn_i_kernel *k) {
    const tn_i_arr *x = &k->in[0];
    const size_t size = tn_i_dtype_size(x->type->dtype);
    const int last = x->type->rank - 1;
    const int64_t n = x->type->dim[last], *s = x->stride;
    if (tn_i_count(x->type) == 0) return TN_OK;
    const tn_i_dims batch = tn_i_dims_of(x, (1u << (last - 1)) - 1);
    const int64_t count = tn_i_dims_count(&batch);
    tn_i_cursor at;
    tn_i_cursor_start(&at, &batch, 0);
    for (int64_t i = 0; i < count; i++, tn_i_cursor_next(&at))
        mirror(size, n, tn_i_address(x, at.offset), s[last - 1], s[last], tn_i_address(&k->out[0], i * n * n));
    return TN_OK;
}

static void c_element(const tn_i_c_kernel *k, int n, const char *i, const char *j) {
    const tn_type *t = k->out[0].type;
    tn_i_text_put(k->t, "out0[");
    tn_i_c_at(k->t, "b", n, t->dim, k->out[0].stride);
    tn_i_text_put(k->t, " + %s * %lld + %s] = ", i, (long long)t->dim[n], j);
}

/* In two statements: of one element they are one place. */
static void c_mirror(const tn_i_c_kernel *k) {
    const tn_i_arr *x = &k->in[0];
    const int n = tn_i_batch_rank(x->type);
    const long long size = (long long)x->type->dim[n], rs = (long long)x->stride[n], cs = (long long)x->stride[n + 1];
    tn_i_c_open(k->t, "b", n, x->type->dim);
    tn_i_text_put(k->t, "for (int64_t i = 0; i < %lld; i++)\nfor (int64_t j = i; j < %lld; j++) {\n", size, size);
    for (int turned = 0; turned < 2; turned++) {
        c_element(k, n, turned ? "j" : "i", turned ? "i" : "j");
        tn_i_text_put(k->t, "in0[");
        tn_i_c_at(k->t, "b", n, x->type->dim, x->stride);
        tn_i_text_put(k->t, " + i * (int64_t)%lld + j * (int64_t)%lld];\n", rs, cs);
    }
    tn_i_text_put(k->t, "}\n");
    tn_i_c_close(k->t, n, x->type->dim);
}

/* ---- rules -------------------------------------------------------------------------- */

/* One number everywhere, and matrices of one, are symmetric. */
static tn_i_var simplify_mirror(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                const tn_type *out) {
    (void)p, (void)nin;
    const tn_i_eqn *e = tn_i_made_by(b, in[0], TN_P_broadcast_in_dim);
    const bool same = e && tn_i_vtype(b, b->pool[e->in])->rank == 0;
    return out->dim[out->rank - 1] <= 1 || same || tn_i_made_by(b, in[0], TN_P_mirror) ? in[0] : TN_NOVAR;
}

/* What is beside the diagonal was used twice, and what is below it not at all. */
static void transpose_mirror(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    const tn_type *t = r->in_type[0];
    int64_t turned[TN_MAX_RANK];
    for (int i = 0; i < t->rank; i++) turned[i] = i;
    turned[t->rank - 2] = t->rank - 1;
    turned[t->rank - 1] = t->rank - 2;
    const tn_i_var other = tn_i_permute(b, ct[0], turned), both = tn_i_op2(b, TN_P_add, ct[0], other);
    const tn_i_var above = tn_i_over_batch(b, tn_i_compare_indices(b, t, TN_P_lt), t);
    const tn_i_var on = tn_i_over_batch(b, tn_i_compare_indices(b, t, TN_P_eq), t);
    const tn_i_var rest = tn_i_op3(b, TN_P_select, on, ct[0], tn_i_zeros(b, t));
    ct_in[0] = tn_i_op3(b, TN_P_select, above, both, rest);
}

static void batch_mirror(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    out[0] = tn_i_op1(r->b, TN_P_mirror, r->in[0]);
    out_batched[0] = true;
}

static bool sample_mirror(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    return true;
}

const tn_prim tn_prim_mirror = {
    .id = TN_P_mirror,
    .name = "mirror",
    .doc = "the symmetric matrix y[i, j] = x[min(i, j), max(i, j)], of the last two dimensions: x's lower triangle is "
           "not read",
    .nin = 1,
    .flags = TN_F_INPLACE,
    .dtypes = TN_ANY,
    .type = type_mirror,
    .linear = {TN_OPERAND(0)},
    .simplify = simplify_mirror,
    .transpose = transpose_mirror,
    .batch = batch_mirror,
    .kernel = kernel_mirror,
    .c_kernel = c_mirror,
    .cost = tn_i_cost_copy,
    .jvp_bound = 2,
    .transpose_bound = 12,
    .sample = sample_mirror,
    .spread = TN_SPREAD_MOVES,
};
