/* lu and lu_solve, over leading batch dimensions.  linear_solve.c puts them together; they stand apart so that
 * its derivative keeps the factors, and the transposed solve uses them again. */
#include "prims/factor_text.h"
#include "prims/lu.h"

#include "prims/ids.h"
#include "prims/matrices.h"
#include "prims/product.h"
#include "prims/sample.h"
#include "prims/shape.h"

#include <string.h>

/* x strictly below the diagonal, or elsewhere without `below`; else 0. */
static tn_i_var part(tn_i_builder *b, tn_i_var x, bool below) {
    return tn_i_matrix_where(b, x, below ? TN_P_gt : TN_P_le);
}

/* Row permutation[i] of each matrix as its row i. */
static tn_i_var rows_of(tn_i_builder *b, tn_i_var x, tn_i_var permutation) {
    if (b->failed || x == TN_NOVAR || permutation == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    const int batch = tn_i_batch_rank(&t);
    if (t.dim[batch] == 0) return x;
    int64_t shape[TN_MAX_RANK], sizes[TN_MAX_RANK];
    tn_i_dnums d = {.n = {1, 1, 1, (uint32_t)batch, (uint32_t)batch}};
    for (int i = 0; i < batch; i++) {
        d.v[TN_OPERAND_BATCH][i] = d.v[TN_INDEX_BATCH][i] = i;
        sizes[i] = 1;
    }
    d.v[TN_WINDOW][0] = batch + 1;
    d.v[TN_COLLAPSED][0] = d.v[TN_MAP][0] = batch;
    sizes[batch] = 1;
    sizes[batch + 1] = t.dim[batch + 1];
    memcpy(shape, t.dim, (size_t)(batch + 1) * sizeof *shape);
    shape[batch + 1] = 1;
    return tn_i_gather(b, x, tn_i_reshape(b, permutation, batch + 2, shape), &d, sizes, TN_CLIP, NULL);
}

enum { LOWER_UNIT = 1u << TN_LEFT_SIDE | 1u << TN_LOWER | 1u << TN_UNIT_DIAGONAL, UPPER = 1u << TN_LEFT_SIDE };

/* ---- lu ---------------------------------------------------------------------------------------- */

static int64_t rows_of_type(const tn_type *t) { return t->dim[t->rank - 2]; }
static int64_t columns_of_type(const tn_type *t) { return t->dim[t->rank - 1]; }
static int64_t smaller_of_type(const tn_type *t) {
    return rows_of_type(t) < columns_of_type(t) ? rows_of_type(t) : columns_of_type(t);
}

static bool type_lu(tn_i_query *q) {
    if (!tn_i_matrices(q) || !tn_i_outputs(q, 3)) return false;
    const tn_type *t = q->in[0];
    if (rows_of_type(t) > INT32_MAX) return tn_i_type_fail(q, 0, "has too many rows");
    q->out[0] = *t;
    q->out[1] = q->out[2] = tn_type_of(TN_I32, (size_t)t->rank - 1, t->dim);
    q->out[1].dim[t->rank - 2] = smaller_of_type(t);
    return true;
}

/* Of k columns: the sum over step j of (m - j) (n - j). */
static void cost_lu(const tn_i_query *q, tn_i_cost *cost) {
    const tn_type *t = q->in[0];
    const double m = (double)rows_of_type(t), n = (double)columns_of_type(t), k = m < n ? m : n;
    const double batch = m * n > 0 ? (double)tn_i_count(t) / (m * n) : 0;
    const double all = batch * k * (m * n - k * (m + n) / 2 + k * k / 3);
    tn_i_cost_copy(q, cost);
    cost->products += all;
    cost->flops += 2 * all + 4 * (double)tn_i_count(t);
}

static tn_status kernel_lu(const tn_i_kernel *k) {
    const tn_i_arr *a = &k->in[0], *lu = &k->out[0];
    const int64_t m = rows_of_type(a->type), n = columns_of_type(a->type), few = smaller_of_type(a->type);
    const int64_t count = tn_i_count(a->type);
    int32_t *pivots = k->out[1].data, *permutation = k->out[2].data;
    for (int64_t i = 0; count == 0 && i < tn_i_count(k->out[2].type); i++) permutation[i] = (int32_t)(i % m);
    if (count == 0) return TN_OK;
    tn_i_copy_array(a, lu);
    for (int64_t i = 0; i < count / (m * n); i++)
        tn_i_lu(a->type->dtype, k->threads, m, n, tn_i_address(lu, i * m * n), pivots + i * few, permutation + i * m);
    return TN_OK;
}

tn_i_var tn_i_emit_lu(tn_i_builder *b, tn_i_var a) { return tn_i_op1(b, TN_P_lu, a); }

/* Of p da = dl u + l du with square l and u: f = l^-1 p da u^-1, of which l times the strictly lower part is dl and the
 * rest times u is du.  The solves read the one triangle each that they need of the packed factors. */
static tn_i_var moved_factors(tn_i_builder *b, tn_i_var lu, tn_i_var rows, tn_i_var *lower, tn_i_var *upper) {
    const tn_i_var half = tn_i_triangular_solve(b, LOWER_UNIT, lu, rows);
    const tn_i_var f = tn_i_triangular_solve(b, 0, lu, half);
    *lower = part(b, f, true);
    *upper = part(b, f, false);
    const tn_i_var l = part(b, lu, true), u = part(b, lu, false);
    const tn_i_var dl = tn_i_op2(b, TN_P_add, *lower, tn_i_matrix_product(b, l, 1, *lower, 0));
    return tn_i_op2(b, TN_P_add, dl, tn_i_matrix_product(b, *upper, 1, u, 0));
}

/* What lies behind the first k rows, or columns. */
static tn_i_var rest_of(tn_i_builder *b, tn_i_var x, bool columns, int64_t k) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    const int axis = t.rank - 2 + columns;
    return tn_i_slice_dimension(b, x, axis, k, 1, t.dim[axis] - k);
}

/* Rows below a square: dl = (p da) u^-1 - l times f's upper part.  Columns beside it: du = l^-1 p da - f's lower part
 * times u. */
static tn_i_var moved_rest(tn_i_builder *b, bool columns, tn_i_var square, tn_i_var rest, tn_i_var rows, tn_i_var of) {
    const tn_i_var solved = tn_i_triangular_solve(b, columns ? LOWER_UNIT : 0, square, rows);
    const tn_i_var turned = columns ? tn_i_matrix_product(b, of, 1, rest, 0) : tn_i_matrix_product(b, rest, 1, of, 0);
    return tn_i_op2(b, TN_P_sub, solved, turned);
}

static void jvp_lu(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_var lu = r->out[0];
    const tn_type t = *r->in_type[0];
    const int64_t m = rows_of_type(&t), n = columns_of_type(&t), k = smaller_of_type(&t);
    tn_i_var lower, upper;
    if (b->failed) return;
    const tn_i_var rows = rows_of(b, din[0], r->out[2]);
    const tn_i_var square = tn_i_matrix_part(b, lu, k, k);
    const tn_i_var moved = moved_factors(b, square, tn_i_matrix_part(b, rows, k, k), &lower, &upper);
    dout[0] = moved;
    if (m == n || b->failed) return;
    const bool columns = n > m;
    const tn_i_var more = moved_rest(b, columns, square, rest_of(b, lu, columns, k), rest_of(b, rows, columns, k),
                                     columns ? lower : upper);
    const tn_i_var both[2] = {moved, more};
    dout[0] = tn_i_concatenate(b, 2, both, t.rank - 2 + columns);
}

static void batch_lu(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    const tn_i_var first = tn_i_emit_lu(r->b, r->in[0]);
    for (uint32_t j = 0; j < 3; j++) {
        out[j] = first == TN_NOVAR ? first : first + j;
        out_batched[j] = true;
    }
}

void tn_i_fill_pivoted(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t m = rows_of_type(&c->in[0]), n = columns_of_type(&c->in[0]), count = tn_i_count(&c->in[i]);
    if (i != 0) {
        tn_i_fill_domain(r, c, i, data);
        return;
    }
    for (int64_t first = 0; first < count; first += m * n) {
        int64_t column[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        for (int64_t row = 0; row < m; row++) {
            const int64_t other = tn_i_pick(r, row, m - 1), t = column[row];
            column[row] = column[other];
            column[other] = t;
            for (int64_t k = 0; k < n; k++) {
                double x = k == column[row] ? tn_i_uniform(r, 1.5, 2.5) : tn_i_uniform(r, -0.3, 0.3);
                if (k == column[row] && tn_i_pick(r, 0, 1)) x = -x;
                tn_i_put(c->in[0].dtype, data, first + row * n + k, x);
            }
        }
    }
}

static bool sample_lu(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_matrices(r, dtype, c);
    c->fill = tn_i_fill_pivoted;
    return true;
}

static void c_lu(const tn_i_c_kernel *k) {
    const tn_i_arr *a = &k->in[0];
    const int n = a->type->rank - 2;
    const long long rows = (long long)a->type->dim[n], columns = (long long)a->type->dim[n + 1];
    tn_i_c_open_arr(k->t, "i", a->type);
    tn_i_text_put(k->t, "out0[");
    tn_i_c_at_arr(k->t, "i", &k->out[0]);
    tn_i_text_put(k->t, "] = in0[");
    tn_i_c_at_arr(k->t, "i", a);
    tn_i_text_put(k->t, "];\n");
    tn_i_c_close(k->t, a->type->rank, a->type->dim);
    tn_i_c_open(k->t, "b", n, a->type->dim);
    tn_i_text_put(k->t, "lu_%s(%lld, %lld, out0 + ", tn_i_c_suffix(a->type->dtype), rows, columns);
    tn_i_c_at(k->t, "b", n, a->type->dim, k->out[0].stride);
    tn_i_text_put(k->t, ", out1 + ");
    tn_i_c_at(k->t, "b", n, a->type->dim, k->out[1].stride);
    tn_i_text_put(k->t, ", out2 + ");
    tn_i_c_at(k->t, "b", n, a->type->dim, k->out[2].stride);
    tn_i_text_put(k->t, ", (%s *)(void *)shared);\n", tn_i_c_name(a->type->dtype));
    tn_i_c_lu_room(k, rows, columns);
    tn_i_c_close(k->t, n, a->type->dim);
}

const tn_prim tn_prim_lu = {
    .id = TN_P_lu,
    .name = "lu",
    .doc = "(lu, pivots, permutation) with l u = a[permutation] for any m x n, packed: l (m x k, k = min(m, n)) "
           "without its "
           "diagonal of ones; a zero pivot stays; rows i and pivots[i] were exchanged at step i < k",
    .nin = 1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .type = type_lu,
    .jvp = jvp_lu,
    .batch = batch_lu,
    .kernel = kernel_lu,
    .c_kernel = c_lu,
    .c_helpers = tn_i_factor_helpers,
    .cost = cost_lu,
    .jvp_bound = 24,
    .sample = sample_lu,
};

/* ---- lu_solve ---------------------------------------------------------------------------------- */

enum { TRANSPOSED };
static const tn_i_spec solve_params[] = {{.name = "transposed", .kind = TN_K_BOOL}, {.name = NULL}};

static bool type_solve(tn_i_query *q) {
    if (!tn_i_square_matrices(q) || !tn_i_same_dtype(q, 2) || !tn_i_params_given(q)) return false;
    const tn_type *lu = q->in[0], *p = q->in[1], *x = q->in[2];
    const tn_type want = tn_type_of(TN_I32, (size_t)lu->rank - 1, lu->dim);
    char text[TN_I_TYPE_TEXT];
    if (!tn_type_equal(p, &want))
        return tn_i_type_fail(q, 1, "should be the permutation, %s", tn_i_type_text(text, &want));
    if (!tn_i_same_batch(q, 2)) return false;
    if (x->dim[tn_i_batch_rank(x)] != lu->dim[lu->rank - 1])
        return tn_i_type_fail(q, 2, "the number of rows must be operand 0's %lld", (long long)lu->dim[lu->rank - 1]);
    return tn_i_output_type(q, x);
}

static void cost_lu_solve(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], elements = (double)tn_i_count(q->in[2]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * n;
    cost->flops += elements * (2 * n + 3);
}

static size_t scratch_solve(const tn_i_query *q) {
    const tn_type *x = q->in[2];
    return tn_i_lu_solve_scratch(x->dtype, x->dim[x->rank - 2], x->dim[x->rank - 1]);
}

static tn_status kernel_solve(const tn_i_kernel *k) {
    const tn_i_arr *lu = &k->in[0], *p = &k->in[1], *b = &k->in[2], *x = &k->out[0];
    const int n = tn_i_batch_rank(lu->type), dtype = x->type->dtype;
    const int64_t rows = x->type->dim[n], columns = x->type->dim[n + 1];
    if (tn_i_count(x->type) == 0) return TN_OK;
    const tn_i_arr *const each[3] = {lu, p, b};
    tn_i_dims batch[3];
    tn_i_cursor at[3];
    for (int i = 0; i < 3; i++) {
        batch[i] = tn_i_dims_of(each[i], (1u << n) - 1);
        tn_i_cursor_start(&at[i], &batch[i], 0);
    }
    for (int64_t i = 0; i < tn_i_dims_count(&batch[0]); i++) {
        const tn_i_factors f = {.n = rows,
                                .lu = {tn_i_address(lu, at[0].offset), lu->stride[n], lu->stride[n + 1]},
                                .permutation = tn_i_address(p, at[1].offset),
                                .stride = p->stride[n]};
        const tn_i_matrix rhs = {tn_i_address(b, at[2].offset), b->stride[n], b->stride[n + 1]};
        tn_i_lu_solve(dtype, k->threads, k->p[TRANSPOSED].u.i != 0, &f, columns, rhs,
                      tn_i_address(x, i * rows * columns), k->scratch);
        for (int j = 0; j < 3; j++) tn_i_cursor_next(&at[j]);
    }
    return TN_OK;
}

tn_i_var tn_i_emit_lu_solve(tn_i_builder *b, bool transposed, tn_i_var lu, tn_i_var permutation, tn_i_var x) {
    const tn_i_param p[1] = {{.kind = TN_K_BOOL, .u.i = transposed}};
    const tn_i_var in[3] = {lu, permutation, x};
    return tn_i_emit(b, tn_i_prim(b, TN_P_lu_solve), p, 3, in);
}

/* What the factors' tangents do to the solution, with l u x = p b: dx = -u^-1 (l^-1 dl u x + du x). */
static tn_i_var by_factors(tn_i_rule *r, tn_i_var dlu) {
    tn_i_builder *b = r->b;
    const tn_i_var lu = r->in[0], x = r->out[0];
    const tn_i_var ux = tn_i_matrix_product(b, part(b, lu, false), 1, x, 0);
    const tn_i_var by_l = tn_i_matrix_product(b, part(b, dlu, true), 1, ux, 0);
    const tn_i_var by_u = tn_i_matrix_product(b, part(b, dlu, false), 1, x, 0);
    const tn_i_var both = tn_i_op2(b, TN_P_add, tn_i_triangular_solve(b, LOWER_UNIT, lu, by_l), by_u);
    return tn_i_op1(b, TN_P_neg, tn_i_triangular_solve(b, UPPER, lu, both));
}

/* The same transposed, with u' l' w = b and w = p x: what is to be solved for, du' l' w + u' dl' w. */
static tn_i_var by_factors_transposed(tn_i_rule *r, tn_i_var dlu) {
    tn_i_builder *b = r->b;
    const tn_i_var lu = r->in[0], w = rows_of(b, r->out[0], r->in[1]);
    const tn_i_var lw = tn_i_op2(b, TN_P_add, w, tn_i_matrix_product(b, part(b, lu, true), 0, w, 0));
    const tn_i_var by_u = tn_i_matrix_product(b, part(b, dlu, false), 0, lw, 0);
    const tn_i_var by_l = tn_i_matrix_product(b, part(b, dlu, true), 0, w, 0);
    const tn_i_var u = part(b, lu, false);
    return tn_i_op2(b, TN_P_add, by_u, tn_i_matrix_product(b, u, 0, by_l, 0));
}

static void jvp_lu_solve(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const bool transposed = r->p[TRANSPOSED].u.i != 0;
    tn_i_var rhs = din[2], dx = TN_NOVAR;
    if (din[0] != TN_NOVAR && transposed) {
        const tn_i_var moved = by_factors_transposed(r, din[0]);
        rhs = rhs == TN_NOVAR ? tn_i_op1(b, TN_P_neg, moved) : tn_i_op2(b, TN_P_sub, rhs, moved);
    } else if (din[0] != TN_NOVAR)
        dx = by_factors(r, din[0]);
    if (rhs != TN_NOVAR) {
        const tn_i_var solved = tn_i_emit_lu_solve(b, transposed, r->in[0], r->in[1], rhs);
        dx = dx == TN_NOVAR ? solved : tn_i_op2(b, TN_P_add, dx, solved);
    }
    dout[0] = dx;
}

static void transpose_lu_solve(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[2] = tn_i_emit_lu_solve(r->b, !r->p[TRANSPOSED].u.i, r->in[0], r->in[1], ct[0]);
}

/* One factorization for the whole batch: the batch becomes more columns. */
static void batch_lu_solve(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    const bool transposed = r->p[TRANSPOSED].u.i != 0;
    out_batched[0] = true;
    if (!batched[0] && !batched[1]) {
        tn_i_folding f;
        tn_i_fold_batch(r, 2, true, &f);
        out[0] = tn_i_unfold_batch(r->b, tn_i_emit_lu_solve(r->b, transposed, r->in[0], r->in[1], f.x), &f);
        return;
    }
    const tn_i_var lu = tn_i_batched_operand(r, batched, 0), p = tn_i_batched_operand(r, batched, 1);
    out[0] = tn_i_emit_lu_solve(r->b, transposed, lu, p, tn_i_batched_operand(r, batched, 2));
}

/* Factors with a dominating diagonal, and permutations. */
static void fill_factors(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = c->in[0].dim[c->in[0].rank - 1], count = tn_i_count(&c->in[i]);
    if (i == 2) tn_i_fill_domain(r, c, i, data);
    for (int64_t k = 0; k < count && i == 0; k++) {
        const bool diagonal = k % (n * n) % (n + 1) == 0;
        double x = diagonal ? tn_i_uniform(r, 1.5, 2.5) : tn_i_uniform(r, -0.5, 0.5);
        if (diagonal && tn_i_pick(r, 0, 1)) x = -x;
        tn_i_put(c->in[0].dtype, data, k, x);
    }
    int32_t *p = data;
    for (int64_t k = 0; k < count && i == 1; k++) {
        const int64_t row = k % n, other = k - row + tn_i_pick(r, 0, row);
        p[k] = p[other];
        p[other] = (int32_t)row;
    }
}

static bool sample_lu_solve(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    tn_i_case_alike(c, 1, 0, TN_I32);
    tn_i_case_alike(c, 2, 0, dtype);
    c->in[1].rank--;
    c->in[2].dim[c->in[2].rank - 1] = tn_i_pick(r, 0, 4);
    c->p[TRANSPOSED] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 1)};
    c->fill = fill_factors;
    return true;
}

static void c_lu_solve(const tn_i_c_kernel *k) {
    const tn_i_arr *lu = &k->in[0], *p = &k->in[1], *b = &k->in[2];
    const int n = tn_i_batch_rank(lu->type);
    const long long rows = (long long)b->type->dim[n], columns = (long long)b->type->dim[n + 1];
    tn_i_c_open(k->t, "b", n, lu->type->dim);
    tn_i_text_put(k->t, "lu_solve_%s(%d, %lld, %lld, in0 + ", tn_i_c_suffix(lu->type->dtype), k->p[TRANSPOSED].u.i != 0,
                  rows, columns);
    tn_i_c_at(k->t, "b", n, lu->type->dim, lu->stride);
    tn_i_text_put(k->t, ", %lld, %lld, in1 + ", (long long)lu->stride[n], (long long)lu->stride[n + 1]);
    tn_i_c_at(k->t, "b", n, lu->type->dim, p->stride);
    tn_i_text_put(k->t, ", %lld, in2 + ", (long long)p->stride[n]);
    tn_i_c_at(k->t, "b", n, lu->type->dim, b->stride);
    tn_i_text_put(k->t, ", %lld, %lld, out0 + ", (long long)b->stride[n], (long long)b->stride[n + 1]);
    tn_i_c_at(k->t, "b", n, lu->type->dim, k->out[0].stride);
    const char *type = tn_i_c_name(lu->type->dtype);
    tn_i_text_put(k->t, ", (%s *)(void *)(scratch + %lld), scratch, (%s *)(void *)shared);\n", type,
                  (rows + 63) / 64 * 64, type);
    tn_i_c_solve_room(k, rows, columns);
    tn_i_c_close(k->t, n, lu->type->dim);
}

static bool sums_lu_solve(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    tn_i_sums_solve(q, q->out->rank - 2, 0, s);
    return operand == 2;
}

const tn_prim tn_prim_lu_solve = {
    .id = TN_P_lu_solve,
    .name = "lu_solve",
    .doc = "x with a x = b, or a' x = b if transposed, for a given by lu and permutation of `lu`; NaN if that is no "
           "permutation",
    .nin = 3,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .params = solve_params,
    .type = type_solve,
    .linear = {TN_OPERAND(2)},
    .jvp = jvp_lu_solve,
    .transpose = transpose_lu_solve,
    .batch = batch_lu_solve,
    .kernel = kernel_solve,
    .c_kernel = c_lu_solve,
    .c_helpers = tn_i_factor_helpers,
    .scratch = scratch_solve,
    .cost = cost_lu_solve,
    .jvp_bound = 32,
    .transpose_bound = 2,
    .sample = sample_lu_solve,
    .spread = TN_SPREAD_SUMS,
    .sums = sums_lu_solve,
};
