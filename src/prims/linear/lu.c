/* lu and lu_solve, over leading batch dimensions.  linear_solve.c puts them together; they stand apart so that
 * its derivative keeps the factors, and the transposed solve uses them again. */
#include "prims/scalar/complex.h"
#include "prims/linear/factor_text.h"
#include "prims/linear/lu.h"

#include "prims/ids.h"
#include "prims/linear/matrices.h"
#include "prims/linear/product.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <string.h>

/* x strictly below the diagonal, or elsewhere without `below`; else 0. */
static tn_i_var part(tn_i_builder *b, tn_i_var x, bool below) {
    return tn_i_matrix_where(b, x, below ? TN_P_gt : TN_P_le);
}

static tn_i_complex part_of(tn_i_builder *b, tn_i_complex x, bool below) {
    return tn_i_complex_where(b, x, below ? TN_P_gt : TN_P_le);
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
    if (!tn_i_matrices(q) || !tn_i_parts_alike(q) || !tn_i_outputs(q, q->nin + 2)) return false;
    const tn_type *t = q->in[0];
    if (rows_of_type(t) > INT32_MAX) return tn_i_type_fail(q, 0, "has too many rows");
    for (uint32_t j = 0; j < q->nin; j++) q->out[j] = *t;
    q->out[q->nin] = q->out[q->nin + 1] = tn_type_of(TN_I32, (size_t)t->rank - 1, t->dim);
    q->out[q->nin].dim[t->rank - 2] = smaller_of_type(t);
    return true;
}

/* Of k columns: the sum over step j of (m - j) (n - j). */
static void cost_lu(const tn_i_query *q, tn_i_cost *cost) {
    const tn_type *t = q->in[0];
    const double m = (double)rows_of_type(t), n = (double)columns_of_type(t), k = m < n ? m : n;
    const double batch = m * n > 0 ? (double)tn_i_count(t) / (m * n) : 0;
    const double all = (q->nin > 1 ? 4 : 1) * batch * k * (m * n - k * (m + n) / 2 + k * k / 3);
    tn_i_cost_copy(q, cost);
    cost->products += all;
    cost->flops += 2 * all + 4 * (double)tn_i_count(t);
}

static tn_status kernel_lu(const tn_i_kernel *k) {
    const tn_i_arr *a = &k->in[0], *lu = &k->out[0];
    const int64_t m = rows_of_type(a->type), n = columns_of_type(a->type), few = smaller_of_type(a->type);
    const int64_t count = tn_i_count(a->type);
    int32_t *pivots = k->out[k->nin].data, *permutation = k->out[k->nin + 1].data;
    for (int64_t i = 0; count == 0 && i < tn_i_count(k->out[k->nin + 1].type); i++) permutation[i] = (int32_t)(i % m);
    if (count == 0) return TN_OK;
    for (uint32_t j = 0; j < k->nin; j++) tn_i_copy_array(&k->in[j], &k->out[j]);
    for (int64_t i = 0; i < count / (m * n); i++) {
        void *im = k->nin > 1 ? tn_i_address(&k->out[1], i * m * n) : NULL;
        tn_i_lu(a->type->dtype, k->threads, m, n, tn_i_address(lu, i * m * n), im, pivots + i * few,
                permutation + i * m);
    }
    return TN_OK;
}

tn_i_var tn_i_emit_lu(tn_i_builder *b, tn_i_var a) { return tn_i_op1(b, TN_P_lu, a); }

/* Of p da = dl u + l du with square l and u: f = l^-1 p da u^-1, of which l times the strictly lower part is dl and the
 * rest times u is du.  The solves read the one triangle each that they need of the packed factors. */
static tn_i_complex moved_factors(tn_i_builder *b, tn_i_complex lu, tn_i_complex rows, tn_i_complex *lower,
                                  tn_i_complex *upper) {
    const tn_i_complex half = tn_i_complex_triangular_solve(b, LOWER_UNIT, false, lu, rows);
    const tn_i_complex f = tn_i_complex_triangular_solve(b, 0, false, lu, half);
    *lower = part_of(b, f, true);
    *upper = part_of(b, f, false);
    const tn_i_complex l = part_of(b, lu, true), u = part_of(b, lu, false);
    const tn_i_complex dl = tn_i_complex_add(b, *lower, tn_i_complex_matmul(b, l, false, *lower, false));
    return tn_i_complex_add(b, dl, tn_i_complex_matmul(b, *upper, false, u, false));
}

/* What lies behind the first k rows, or columns. */
static tn_i_var rest_of(tn_i_builder *b, tn_i_var x, bool columns, int64_t k) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    const int axis = t.rank - 2 + columns;
    return tn_i_slice_dimension(b, x, axis, k, 1, t.dim[axis] - k);
}

static tn_i_complex both_rests(tn_i_builder *b, tn_i_complex x, bool columns, int64_t k) {
    x.re = rest_of(b, x.re, columns, k);
    if (tn_i_is_complex(x)) x.im = rest_of(b, x.im, columns, k);
    return x;
}

/* Rows below a square: dl = (p da) u^-1 - l times f's upper part.  Columns beside it: du = l^-1 p da - f's lower part
 * times u. */
static tn_i_complex moved_rest(tn_i_builder *b, bool columns, tn_i_complex square, tn_i_complex rest, tn_i_complex rows,
                               tn_i_complex of) {
    const tn_i_complex solved = tn_i_complex_triangular_solve(b, columns ? LOWER_UNIT : 0, false, square, rows);
    const tn_i_complex x = columns ? of : rest, y = columns ? rest : of;
    return tn_i_complex_sub(b, solved, tn_i_complex_matmul(b, x, false, y, false));
}

static void jvp_lu(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const bool z = r->nin == 2;
    const tn_i_complex lu = {r->out[0], z ? r->out[1] : TN_NOVAR};
    const tn_type t = *r->in_type[0];
    const int64_t m = rows_of_type(&t), n = columns_of_type(&t), k = smaller_of_type(&t);
    tn_i_complex lower, upper, rows = tn_i_complex_tangent(r, din);
    if (b->failed) return;
    rows.re = rows_of(b, rows.re, r->out[r->nin + 1]);
    if (z) rows.im = rows_of(b, rows.im, r->out[r->nin + 1]);
    const tn_i_complex square = tn_i_complex_part(b, lu, k, k);
    const tn_i_complex moved = moved_factors(b, square, tn_i_complex_part(b, rows, k, k), &lower, &upper);
    dout[0] = moved.re;
    if (z) dout[1] = moved.im;
    if (m == n || b->failed) return;
    const bool columns = n > m;
    const tn_i_complex beside = both_rests(b, lu, columns, k), moving = both_rests(b, rows, columns, k);
    const tn_i_complex more = moved_rest(b, columns, square, beside, moving, columns ? lower : upper);
    const tn_i_var re[2] = {moved.re, more.re}, im[2] = {moved.im, more.im};
    dout[0] = tn_i_concatenate(b, 2, re, t.rank - 2 + columns);
    if (z) dout[1] = tn_i_concatenate(b, 2, im, t.rank - 2 + columns);
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

/* Imaginary parts that exchange none of these pivots. */
static void fill_pivoted_parts(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    if (i == 0) tn_i_fill_pivoted(r, c, i, data);
    for (int64_t k = 0; i == 1 && k < tn_i_count(&c->in[1]); k++)
        tn_i_put(c->in[1].dtype, data, k, tn_i_uniform(r, -0.1, 0.1));
}

static bool sample_lu(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_matrices(r, dtype, c);
    if (tn_i_pick(r, 0, 1)) tn_i_case_alike(c, 1, 0, dtype);
    c->fill = fill_pivoted_parts;
    return true;
}

static void c_lu(const tn_i_c_kernel *k) {
    const tn_i_arr *a = &k->in[0];
    const int n = a->type->rank - 2;
    const uint32_t parts = k->nin;
    const long long rows = (long long)a->type->dim[n], columns = (long long)a->type->dim[n + 1];
    for (uint32_t j = 0; j < parts; j++) {
        tn_i_c_open_arr(k->t, "i", a->type);
        tn_i_text_put(k->t, "out%u[", (unsigned)j);
        tn_i_c_at_arr(k->t, "i", &k->out[j]);
        tn_i_text_put(k->t, "] = in%u[", (unsigned)j);
        tn_i_c_at_arr(k->t, "i", &k->in[j]);
        tn_i_text_put(k->t, "];\n");
        tn_i_c_close(k->t, a->type->rank, a->type->dim);
    }
    tn_i_c_open(k->t, "b", n, a->type->dim);
    tn_i_text_put(k->t, "%s_%s(%lld, %lld", parts > 1 ? "lu_parts" : "lu", tn_i_c_suffix(a->type->dtype), rows,
                  columns);
    for (uint32_t j = 0; j < parts + 2; j++) {
        tn_i_text_put(k->t, ", out%u + ", (unsigned)j);
        tn_i_c_at(k->t, "b", n, a->type->dim, k->out[j].stride);
    }
    if (parts == 1) {
        tn_i_text_put(k->t, ", (%s *)(void *)shared", tn_i_c_name(a->type->dtype));
        tn_i_c_lu_room(k, rows, columns);
    }
    tn_i_text_put(k->t, ");\n");
    tn_i_c_close(k->t, n, a->type->dim);
}

const tn_prim tn_prim_lu = {
    .id = TN_P_lu,
    .name = "lu",
    .doc = "(lu, pivots, permutation) with l u = a[permutation] for any m x n, packed: l (m x k, k = min(m, n)) "
           "without its "
           "diagonal of ones; a zero pivot stays; rows i and pivots[i] were exchanged at step i < k; (re lu, im lu, "
           "..) of "
           "re a, im a, whose pivots are the largest |re| + |im|",
    .nin = -1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .type = type_lu,
    .jvp = jvp_lu,
    .batch = tn_i_batch_parts,
    .kernel = kernel_lu,
    .complex_many = tn_i_complex_of_lu,
    .c_kernel = c_lu,
    .c_helpers = tn_i_factor_helpers,
    .cost = cost_lu,
    .jvp_bound = 52,
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
