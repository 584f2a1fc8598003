/* linear_solve: x of a x = b for square matrices.  Where it is differentiated it becomes its two halves, lu and
 * lu_solve: the factors are computed once, with the primal, and what is linear reads them. */
#include "prims/linear/factor_text.h"
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/linear/lu.h"
#include "prims/linear/matrices.h"
#include "prims/linear/product.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

static bool type_solve(tn_i_query *q) {
    if (!tn_i_square_matrices(q) || !tn_i_same_dtype(q, 1) || !tn_i_same_batch(q, 1)) return false;
    const tn_type *a = q->in[0], *b = q->in[1];
    if (a->dim[a->rank - 1] > INT32_MAX) return tn_i_type_fail(q, 0, "has too many rows");
    if (b->dim[tn_i_batch_rank(b)] != a->dim[a->rank - 1])
        return tn_i_type_fail(q, 1, "the number of rows must be operand 0's %lld", (long long)a->dim[a->rank - 1]);
    return tn_i_output_type(q, b);
}

static void cost_solve(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], a = (double)tn_i_count(q->in[0]),
                 b = (double)tn_i_count(q->in[1]);
    tn_i_cost_copy(q, cost);
    cost->products += a * n / 3 + b * n;
    cost->flops += a * (2 * n / 3 + 4) + b * (2 * n + 3);
}

/* scratch: the factors, pivots and permutation of one matrix, then what solving needs */
typedef struct places {
    size_t pivots, permutation, more, bytes;
} places;

static bool lay_out(const tn_type *b, places *p) {
    const int64_t n = b->dim[b->rank - 2], m = b->dim[b->rank - 1];
    const size_t solve = tn_i_lu_solve_scratch(b->dtype, n, m);
    size_t elements, at = 0;
    if (solve == SIZE_MAX || !tn_i_mul((size_t)n, (size_t)n, &elements)) return false;
    if (!tn_i_reserve(&at, elements, tn_i_dtype_size(b->dtype))) return false;
    p->pivots = at;
    if (!tn_i_reserve(&at, (size_t)n, sizeof(int32_t))) return false;
    p->permutation = at;
    if (!tn_i_reserve(&at, (size_t)n, sizeof(int32_t))) return false;
    p->more = at;
    return tn_i_add(at, solve, &p->bytes);
}

static size_t scratch_solve(const tn_i_query *q) {
    places p;
    return lay_out(q->in[1], &p) ? p.bytes : SIZE_MAX;
}

static void copy_matrix(const tn_i_arr *a, int64_t offset, int64_t n, void *to) {
    const size_t size = tn_i_dtype_size(a->type->dtype);
    const int rows = tn_i_batch_rank(a->type);
    tn_i_row *copy = tn_i_copy_row(size);
    for (int64_t i = 0; i < n; i++)
        copy(n, tn_i_address(a, offset + i * a->stride[rows]), a->stride[rows + 1], tn_i_at_mut(to, size, i * n), 1);
}

static tn_status kernel_solve(const tn_i_kernel *k) {
    const tn_i_arr *a = &k->in[0], *b = &k->in[1], *x = &k->out[0];
    const int n = tn_i_batch_rank(a->type), dtype = x->type->dtype;
    const int64_t rows = x->type->dim[n], columns = x->type->dim[n + 1];
    places p;
    if (tn_i_count(x->type) == 0 || !lay_out(x->type, &p)) return TN_OK;
    char *memory = k->scratch;
    int32_t *pivots = (int32_t *)(void *)(memory + p.pivots), *order = (int32_t *)(void *)(memory + p.permutation);
    const tn_i_factors f = {.n = rows, .lu = {memory, rows, 1}, .permutation = order, .stride = 1};
    const tn_i_dims da = tn_i_dims_of(a, (1u << n) - 1), db = tn_i_dims_of(b, (1u << n) - 1);
    tn_i_cursor at_a, at_b;
    tn_i_cursor_start(&at_a, &da, 0);
    tn_i_cursor_start(&at_b, &db, 0);
    for (int64_t i = 0; i < tn_i_dims_count(&da); i++, tn_i_cursor_next(&at_a), tn_i_cursor_next(&at_b)) {
        const tn_i_matrix rhs = {tn_i_address(b, at_b.offset), b->stride[n], b->stride[n + 1]};
        copy_matrix(a, at_a.offset, rows, memory);
        tn_i_lu(dtype, k->threads, rows, rows, memory, NULL, pivots, order);
        tn_i_lu_solve(dtype, k->threads, false, &f, columns, rhs, tn_i_address(x, i * rows * columns), memory + p.more);
    }
    return TN_OK;
}

/* dx = a^-1 (db - da x) */
static void jvp_solve(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_var lu = tn_i_emit_lu(b, r->in[0]), order = lu == TN_NOVAR ? lu : lu + 2;
    tn_i_var rhs = din[1];
    r->out[0] = tn_i_emit_lu_solve(b, false, lu, order, r->in[1]);
    if (din[0] != TN_NOVAR) {
        const tn_i_var moved = tn_i_matrix_product(b, din[0], 1, r->out[0], 0);
        rhs = rhs == TN_NOVAR ? tn_i_op1(b, TN_P_neg, moved) : tn_i_op2(b, TN_P_sub, rhs, moved);
    }
    dout[0] = tn_i_emit_lu_solve(b, false, lu, order, rhs);
}

static void transpose_solve(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_var lu = tn_i_emit_lu(r->b, r->in[0]);
    ct_in[1] = tn_i_emit_lu_solve(r->b, true, lu, lu == TN_NOVAR ? lu : lu + 2, ct[0]);
}

static tn_i_var solve(tn_i_rule *r, tn_i_var a, tn_i_var b) { return tn_i_op2(r->b, TN_P_linear_solve, a, b); }

/* One matrix for the whole batch: the batch becomes more columns. */
static void batch_solve(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    out_batched[0] = true;
    if (!batched[0]) {
        tn_i_folding f;
        tn_i_fold_batch(r, 1, true, &f);
        out[0] = tn_i_unfold_batch(r->b, solve(r, r->in[0], f.x), &f);
    } else
        out[0] = solve(r, r->in[0], tn_i_batched_operand(r, batched, 1));
}

static bool sample_solve(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    tn_i_case_alike(c, 1, 0, dtype);
    c->in[1].dim[c->in[1].rank - 1] = tn_i_pick(r, 0, 4);
    c->fill = tn_i_fill_pivoted;
    return true;
}

static void c_linear_solve(const tn_i_c_kernel *k) {
    const tn_i_arr *a = &k->in[0], *b = &k->in[1];
    const int n = tn_i_batch_rank(a->type);
    const long long rows = (long long)b->type->dim[n], columns = (long long)b->type->dim[n + 1];
    const char *type = tn_i_c_name(a->type->dtype), *suffix = tn_i_c_suffix(a->type->dtype);
    const tn_type matrix = tn_type_of((tn_dtype)a->type->dtype, 2, a->type->dim + n);
    places p;
    if (!lay_out(b->type, &p)) return;
    tn_i_text_put(k->t, "%s *const lu = (%s *)(void *)scratch;\n", type, type);
    tn_i_text_put(k->t, "int32_t *const pivots = (int32_t *)(void *)(scratch + %zu);\n", p.pivots);
    tn_i_text_put(k->t, "int32_t *const order = (int32_t *)(void *)(scratch + %zu);\n", p.permutation);
    tn_i_c_open(k->t, "b", n, a->type->dim);
    tn_i_c_open(k->t, "i", 2, matrix.dim);
    tn_i_text_put(k->t, "lu[");
    const int64_t dense[2] = {rows, 1};
    tn_i_c_at(k->t, "i", 2, matrix.dim, dense);
    tn_i_text_put(k->t, "] = in0[");
    tn_i_c_at(k->t, "i", 2, matrix.dim, a->stride + n);
    tn_i_text_put(k->t, " + ");
    tn_i_c_at(k->t, "b", n, a->type->dim, a->stride);
    tn_i_text_put(k->t, "];\n");
    tn_i_c_close(k->t, 2, matrix.dim);
    tn_i_text_put(k->t, "lu_%s(%lld, %lld, lu, pivots, order, (%s *)(void *)shared);\n", suffix, rows, rows, type);
    tn_i_text_put(k->t, "lu_solve_%s(0, %lld, %lld, lu, %lld, 1, order, 1, in1 + ", suffix, rows, columns, rows);
    tn_i_c_at(k->t, "b", n, a->type->dim, b->stride);
    tn_i_text_put(k->t, ", %lld, %lld, out0 + ", (long long)b->stride[n], (long long)b->stride[n + 1]);
    tn_i_c_at(k->t, "b", n, a->type->dim, k->out[0].stride);
    tn_i_text_put(k->t, ", (%s *)(void *)(scratch + %zu), scratch + %zu, (%s *)(void *)shared);\n", type,
                  p.more + (size_t)(rows + 63) / 64 * 64, p.more, type);
    tn_i_c_lu_room(k, rows, rows);
    tn_i_c_solve_room(k, rows, columns);
    tn_i_c_close(k->t, n, a->type->dim);
}

static bool sums_linear_solve(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    tn_i_sums_solve(q, q->out->rank - 2, 0, s);
    return operand == 1;
}

const tn_prim tn_prim_linear_solve = {
    .id = TN_P_linear_solve,
    .name = "linear_solve",
    .doc = "x with a x = b by LU with partial pivoting; inf or NaN for a singular a; differentiated as lu, lu_solve",
    .nin = 2,
    .flags = TN_F_COSTLY | TN_F_OWN_PRIMAL,
    .dtypes = TN_WIDE_FLOATS,
    .type = type_solve,
    .linear = {TN_OPERAND(1)},
    .jvp = jvp_solve,
    .transpose = transpose_solve,
    .batch = batch_solve,
    .kernel = kernel_solve,
    .c_kernel = c_linear_solve,
    .c_helpers = tn_i_factor_helpers,
    .scratch = scratch_solve,
    .cost = cost_solve,
    .jvp_bound = 24,
    .transpose_bound = 2,
    .sample = sample_solve,
    .spread = TN_SPREAD_SUMS,
    .sums = sums_linear_solve,
    .complex = tn_i_complex_of_linear_solve,
};
