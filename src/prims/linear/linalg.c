/* triangular_solve and cholesky, over leading batch dimensions. */
#include "prims/scalar/complex.h"
#include "prims/linear/factor_text.h"
#include "prims/ids.h"
#include "prims/linear/matrices.h"
#include "prims/linear/product.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <math.h>
#include <string.h>

/* ---- triangular_solve ------------------------------------------------------------------ */

static const tn_i_spec solve_params[] = {
    {.name = "left_side", .kind = TN_K_BOOL},     {.name = "lower", .kind = TN_K_BOOL},
    {.name = "transpose_a", .kind = TN_K_BOOL},   {.name = "conjugate_a", .kind = TN_K_BOOL, .otherwise = "False"},
    {.name = "unit_diagonal", .kind = TN_K_BOOL}, {.name = NULL}};

static bool type_solve(tn_i_query *q) {
    if (!tn_i_square_matrices(q) || !tn_i_same_dtype(q, 1) || !tn_i_params_given(q)) return false;
    if (!tn_i_same_batch(q, 1)) return false;
    const tn_type *a = q->in[0], *b = q->in[1];
    const int side = q->p[TN_LEFT_SIDE].u.i ? 0 : 1;
    if (b->dim[tn_i_batch_rank(b) + side] != a->dim[a->rank - 1])
        return tn_i_type_fail(q, 1, "%s must be operand 0's %lld",
                              side ? "with left_side=False the number of columns"
                                   : "with left_side=True the number of rows",
                              (long long)a->dim[a->rank - 1]);
    return tn_i_output_type(q, b);
}

static void cost_solve(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], elements = (double)tn_i_count(q->in[1]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * n / 2;
    cost->flops += elements * (n + (q->p[TN_UNIT_DIAGONAL].u.i ? 0 : 3));
}

static tn_status kernel_solve(const tn_i_kernel *k) {
    const tn_i_arr *a = &k->in[0], *b = &k->in[1], *x = &k->out[0];
    const bool left = k->p[TN_LEFT_SIDE].u.i != 0, lower = k->p[TN_LOWER].u.i != 0;
    /* x op(a) = b is op(a)' x' = b' */
    const bool transposed = (k->p[TN_TRANSPOSE_A].u.i != 0) == left;
    const int dtype = a->type->dtype, n = tn_i_batch_rank(a->type);
    const int64_t rows = x->type->dim[n], columns = x->type->dim[n + 1];
    if (tn_i_count(x->type) == 0) return TN_OK;
    tn_i_copy_array(b, x);
    const tn_i_dims batch = tn_i_dims_of(a, (1u << n) - 1);
    tn_i_cursor at;
    tn_i_cursor_start(&at, &batch, 0);
    for (int64_t i = 0; i < tn_i_dims_count(&batch); i++, tn_i_cursor_next(&at)) {
        tn_i_matrix t = {tn_i_address(a, at.offset), a->stride[n], a->stride[n + 1]};
        tn_i_matrix y = {tn_i_address(x, i * rows * columns), columns, 1};
        if (transposed) t = tn_i_matrix_transposed(t);
        if (!left) y = tn_i_matrix_transposed(y);
        tn_i_solve(dtype, k->threads, lower != transposed, k->p[TN_UNIT_DIAGONAL].u.i != 0, left ? rows : columns,
                   left ? columns : rows, t, y);
    }
    return TN_OK;
}

static tn_i_var solve(tn_i_builder *b, const tn_i_param *p, tn_i_var a, tn_i_var x) {
    const tn_i_var in[2] = {a, x};
    return tn_i_emit(b, tn_i_prim(b, TN_P_triangular_solve), p, 2, in);
}

/* da where the solve reads a, else 0. */
static tn_i_var read_part(tn_i_rule *r, tn_i_var da) {
    tn_i_builder *b = r->b;
    const tn_type *t = r->in_type[0];
    const bool lower = r->p[TN_LOWER].u.i != 0, unit = r->p[TN_UNIT_DIAGONAL].u.i != 0;
    const tn_i_var mask = tn_i_compare_indices(b, t, lower ? unit ? TN_P_gt : TN_P_ge : unit ? TN_P_lt : TN_P_le);
    const tn_i_var all = tn_i_over_batch(b, mask, t), zeros = tn_i_zeros(b, t);
    return tn_i_op3(b, TN_P_select, all, da, zeros);
}

/* op(a) dx = db - op(da) x; on the right dx op(a) = db - x op(da). */
static void jvp_solve(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const int transposed = r->p[TN_TRANSPOSE_A].u.i != 0;
    tn_i_var rhs = din[1];
    if (din[0] != TN_NOVAR) {
        const tn_i_var da = read_part(r, din[0]);
        const tn_i_var moved = r->p[TN_LEFT_SIDE].u.i ? tn_i_matrix_product(b, da, 1 - transposed, r->out[0], 0)
                                                      : tn_i_matrix_product(b, r->out[0], 1, da, transposed);
        rhs = rhs == TN_NOVAR ? tn_i_op1(b, TN_P_neg, moved) : tn_i_op2(b, TN_P_sub, rhs, moved);
    }
    dout[0] = solve(b, r->p, r->in[0], rhs);
}

static void transpose_solve(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_param p[TN_NTRIANGULAR];
    memcpy(p, r->p, sizeof p);
    p[TN_TRANSPOSE_A].u.i = !p[TN_TRANSPOSE_A].u.i;
    ct_in[1] = solve(r->b, p, r->in[0], ct[0]);
}

/* One matrix for the whole batch: the batch becomes more columns (left) or rows (right). */
static tn_i_var solve_folded(tn_i_rule *r) {
    tn_i_folding f;
    tn_i_fold_batch(r, 1, r->p[TN_LEFT_SIDE].u.i != 0, &f);
    return tn_i_unfold_batch(r->b, solve(r->b, r->p, r->in[0], f.x), &f);
}

static void batch_solve(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    out_batched[0] = true;
    if (!batched[0])
        out[0] = solve_folded(r);
    else
        out[0] = solve(r->b, r->p, r->in[0], tn_i_batched_operand(r, batched, 1));
}

/* Well conditioned, also with a diagonal of ones. */
static void fill_triangular(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = c->in[0].dim[c->in[0].rank - 1], count = tn_i_count(&c->in[i]);
    if (i != 0) {
        tn_i_fill_domain(r, c, i, data);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        const bool diagonal = k % (n * n) % (n + 1) == 0;
        double x = diagonal ? tn_i_uniform(r, 1.5, 2.5) : tn_i_uniform(r, -0.5, 0.5);
        if (diagonal && tn_i_pick(r, 0, 1)) x = -x;
        tn_i_put(c->in[0].dtype, data, k, x);
    }
}

static bool sample_solve(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    tn_i_case_alike(c, 1, 0, dtype);
    for (int k = 0; k < TN_NTRIANGULAR; k++) c->p[k] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 1)};
    c->in[1].dim[c->in[1].rank - (c->p[TN_LEFT_SIDE].u.i ? 1 : 2)] = tn_i_pick(r, 0, 4);
    c->fill = fill_triangular;
    return true;
}

/* ---- C text ---- */
static void c_triangular_solve(const tn_i_c_kernel *k) {
    const tn_i_arr *a = &k->in[0], *x = &k->out[0];
    const bool left = k->p[TN_LEFT_SIDE].u.i != 0, lower = k->p[TN_LOWER].u.i != 0;
    const bool transposed = (k->p[TN_TRANSPOSE_A].u.i != 0) == left;
    const int n = tn_i_batch_rank(a->type);
    const long long rows = (long long)x->type->dim[n], columns = (long long)x->type->dim[n + 1];
    const long long rs = (long long)a->stride[n + transposed], cs = (long long)a->stride[n + !transposed];
    tn_i_c_open_arr(k->t, "i", x->type);
    tn_i_text_put(k->t, "out0[");
    tn_i_c_at_arr(k->t, "i", x);
    tn_i_text_put(k->t, "] = in1[");
    tn_i_c_at_arr(k->t, "i", &k->in[1]);
    tn_i_text_put(k->t, "];\n");
    tn_i_c_close(k->t, x->type->rank, x->type->dim);
    tn_i_c_open(k->t, "b", n, a->type->dim);
    tn_i_text_put(k->t, "solve_%s(%d, %d, %lld, %lld, in0 + ", tn_i_c_suffix(a->type->dtype), lower != transposed,
                  k->p[TN_UNIT_DIAGONAL].u.i != 0, left ? rows : columns, left ? columns : rows);
    tn_i_c_at(k->t, "b", n, a->type->dim, a->stride);
    tn_i_text_put(k->t, ", %lld, %lld, out0 + ", rs, cs);
    tn_i_c_at(k->t, "b", n, x->type->dim, x->stride);
    tn_i_text_put(k->t, ", %lld, %lld, (%s *)(void *)shared);\n", left ? columns : 1, left ? 1 : columns,
                  tn_i_c_name(a->type->dtype));
    tn_i_c_solve_room(k, left ? rows : columns, left ? columns : rows);
    tn_i_c_close(k->t, n, a->type->dim);
}

/* Forward substitution passes on what comes first, backward substitution what comes last. */
static bool sums_triangular(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    const bool left = q->p[TN_LEFT_SIDE].u.i, lower = (q->p[TN_LOWER].u.i != 0) != (q->p[TN_TRANSPOSE_A].u.i != 0);
    tn_i_sums_solve(q, q->out->rank - (left ? 2 : 1), left == lower ? 1 : -1, s);
    return operand == 1;
}

const tn_prim tn_prim_triangular_solve = {
    .id = TN_P_triangular_solve,
    .name = "triangular_solve",
    .doc =
        "x with op(a) x = b, or x op(a) = b without left_side; op transposes if transpose_a; one triangle of a is read",
    .nin = 2,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .params = solve_params,
    .type = type_solve,
    .linear = {TN_OPERAND(1)},
    .jvp = jvp_solve,
    .transpose = transpose_solve,
    .batch = batch_solve,
    .kernel = kernel_solve,
    .complex = tn_i_complex_of_triangular_solve,
    .c_kernel = c_triangular_solve,
    .c_helpers = tn_i_factor_helpers,
    .cost = cost_solve,
    .jvp_bound = 24,
    .transpose_bound = 2,
    .sample = sample_solve,
    .spread = TN_SPREAD_SUMS,
    .sums = sums_triangular,
};

/* ---- cholesky ------------------------------------------------------------------------------ */

static bool type_cholesky(tn_i_query *q) { return tn_i_square_matrices(q) && tn_i_output_type(q, q->in[0]); }

static void cost_cholesky(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], elements = (double)tn_i_count(q->in[0]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * n / 6;
    cost->flops += elements * (n / 3 + 4);
}

/* The factor of a small lower triangle in place; false when a pivot is not positive (or NaN). */
#define FACTOR(name, type, root)                                                          \
    static bool name(int64_t n, tn_i_matrix m) {                                          \
        type *a = m.data;                                                                 \
        for (int64_t i = 0; i < n; i++)                                                   \
            for (int64_t j = 0; j <= i; j++) {                                            \
                type sum = a[i * m.rs + j];                                               \
                for (int64_t k = 0; k < j; k++) sum -= a[i * m.rs + k] * a[j * m.rs + k]; \
                if (j == i && !(sum > 0)) return false;                                   \
                a[i * m.rs + j] = j == i ? root(sum) : sum / a[j * m.rs + j];             \
            }                                                                             \
        return true;                                                                      \
    }

FACTOR(factor_f32, float, sqrtf)
FACTOR(factor_f64, double, sqrt)

/* Block by block: factor the diagonal block, solve for the rows below it, subtract their
 * products from what remains. */
static bool factor(int dtype, int threads, int64_t n, tn_i_matrix a) {
    const int64_t block = 64;
    for (int64_t j = 0; j < n; j += block) {
        const int64_t width = n - j < block ? n - j : block, below = n - j - width;
        const tn_i_matrix corner = tn_i_matrix_at(dtype, a, j, j), panel = tn_i_matrix_at(dtype, a, j + width, j);
        if (!(dtype == TN_F64 ? factor_f64 : factor_f32)(width, corner)) return false;
        if (below == 0) return true;
        tn_i_solve(dtype, threads, true, false, width, below, corner, tn_i_matrix_transposed(panel));
        tn_i_syrk(dtype, threads, below, width, panel, tn_i_matrix_at(dtype, a, j + width, j + width));
    }
    return true;
}

/* Row by row, because a symmetric operand may have any strides. */
static void copy_lower(const tn_i_arr *from, int64_t offset, int64_t n, tn_i_matrix to) {
    const int dtype = from->type->dtype, rows = tn_i_batch_rank(from->type);
    const size_t size = tn_i_dtype_size(dtype);
    tn_i_row *copy = tn_i_copy_row(size);
    for (int64_t i = 0; i < n; i++) {
        void *row = tn_i_matrix_at(dtype, to, i, 0).data;
        copy(i + 1, tn_i_address(from, offset + i * from->stride[rows]), from->stride[rows + 1], row, 1);
        memset((char *)row + (size_t)(i + 1) * size, 0, (size_t)(n - i - 1) * size);
    }
}

static void fill_nan(int dtype, int64_t n, tn_i_matrix to) {
    const tn_i_wide nan = {.d = NAN};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) tn_i_store(dtype, to.data, i * to.rs + j, 1, 1, &nan);
}

static tn_status kernel_cholesky(const tn_i_kernel *k) {
    const tn_i_arr *a = &k->in[0], *out = &k->out[0];
    const int dtype = a->type->dtype, rank = tn_i_batch_rank(a->type);
    const int64_t n = a->type->dim[rank];
    if (tn_i_count(a->type) == 0) return TN_OK;
    const tn_i_dims batch = tn_i_dims_of(a, (1u << rank) - 1);
    tn_i_cursor at;
    tn_i_cursor_start(&at, &batch, 0);
    for (int64_t i = 0; i < tn_i_dims_count(&batch); i++, tn_i_cursor_next(&at)) {
        const tn_i_matrix l = {tn_i_address(out, i * n * n), n, 1};
        copy_lower(a, at.offset, n, l);
        if (!factor(dtype, k->threads, n, l)) fill_nan(dtype, n, l);
    }
    return TN_OK;
}

/* dl = l phi(l^-1 ds l^-T), with ds the symmetric matrix of da's lower triangle and phi the
 * lower triangle with a halved diagonal (I. Murray, "Differentiation of the Cholesky
 * decomposition", 2016). */
static void jvp_cholesky(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_var l = r->out[0], phi = tn_i_halved_triangle(b, r->in_type[0], true);
    const tn_i_var ds = tn_i_of_triangle(b, din[0], true);
    const tn_i_var left = tn_i_triangular_solve(b, 1u << TN_LEFT_SIDE | 1u << TN_LOWER, l, ds);
    const tn_i_var both = tn_i_triangular_solve(b, 1u << TN_LOWER | 1u << TN_TRANSPOSE_A, l, left);
    dout[0] = tn_i_matrix_product(b, l, 1, tn_i_op2(b, TN_P_mul, both, phi), 0);
}

static void batch_cholesky(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    out[0] = tn_i_emit(r->b, r->e->prim, NULL, 1, r->in);
    out_batched[0] = true;
}

/* m m' + 1, symmetric to the bit. */
static void fill_positive(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = c->in[i].dim[c->in[i].rank - 1], count = tn_i_count(&c->in[i]);
    for (int64_t first = 0; first < count; first += n * n) {
        double m[25];
        for (int64_t k = 0; k < n * n; k++) m[k] = tn_i_uniform(r, -1, 1);
        for (int64_t row = 0; row < n; row++)
            for (int64_t column = 0; column < n; column++) {
                double sum = row == column;
                for (int64_t k = 0; k < n; k++) sum += m[row * n + k] * m[column * n + k];
                tn_i_put(c->in[i].dtype, data, first + row * n + column, sum);
            }
    }
}

static bool sample_cholesky(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    c->fill = fill_positive;
    return true;
}

static void c_cholesky(const tn_i_c_kernel *k) {
    const tn_i_arr *a = &k->in[0];
    const int n = tn_i_batch_rank(a->type);
    tn_i_c_open(k->t, "b", n, a->type->dim);
    tn_i_text_put(k->t, "cholesky_%s(%lld, in0 + ", tn_i_c_suffix(a->type->dtype), (long long)a->type->dim[n]);
    tn_i_c_at(k->t, "b", n, a->type->dim, a->stride);
    tn_i_text_put(k->t, ", %lld, %lld, out0 + ", (long long)a->stride[n], (long long)a->stride[n + 1]);
    tn_i_c_at(k->t, "b", n, a->type->dim, k->out[0].stride);
    tn_i_text_put(k->t, ", (%s *)(void *)shared);\n", tn_i_c_name(a->type->dtype));
    tn_i_c_close(k->t, n, a->type->dim);
    tn_i_c_cholesky_room(k, a->type->dim[n]);
}

const tn_prim tn_prim_cholesky = {
    .id = TN_P_cholesky,
    .name = "cholesky",
    .doc = "lower l with l l' = s, where s is symmetric and given by a's lower triangle (alone read, and alone given a "
           "cotangent); "
           "NaN if not positive definite",
    .nin = 1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .type = type_cholesky,
    .jvp = jvp_cholesky,
    .batch = batch_cholesky,
    .kernel = kernel_cholesky,
    .complex = tn_i_complex_of_cholesky,
    .c_kernel = c_cholesky,
    .c_helpers = tn_i_factor_helpers,
    .cost = cost_cholesky,
    .jvp_bound = 24,
    .sample = sample_cholesky,
};
