/* Sparse Jacobians and Hessians: each value has the bits of the dense derivative's entry, in every order and under
 * every colouring, inside of other transformations and under each back end. */
#include "amount.h"
#include "prims/prim.h"
#include "sparse_problems.h"

#include <tansy/effects.h>
#include <tansy/emit.h>
#include <tansy/loops.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_ctx *checked(void) {
    tn_ctx_options o = {.size = sizeof o, .check = 1};
    return tn_ctx_new(&o);
}

#define assert_made(c, p)                      \
    do {                                       \
        if (!(p)) fail_msg("%s", tn_error(c)); \
    } while (0)

static void call_by(tn_ctx *c, const tn_fn *f, int backend, const void *const *in, void *const *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    assert_made(c, e);
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static void call(tn_ctx *c, const tn_fn *f, const void *const *in, void *const *out) {
    call_by(c, f, TN_BACKEND_DEFAULT, in, out);
}

static double get(const tn_type *t, const void *x, int64_t k) {
    return t->dtype == TN_F32 ? (double)((const float *)x)[k] : ((const double *)x)[k];
}

/* ---- the dense derivative ------------------------------------------------------------------------- */

/* [rows, columns] of f's Jacobian with respect to all of wrt, from the blocks of a dense program. */
typedef struct dense {
    int64_t rows, columns;
    tn_type type;
    double *a;
} dense;

static int64_t count(const tn_type *t) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= t->dim[d];
    return n;
}

static bool is_float(const tn_type *t) { return t->dtype == TN_F32 || t->dtype == TN_F64; }

/* j: what tn_jacfwd or tn_hessian made of the nwrt inputs. */
static dense dense_of(tn_ctx *c, const tn_fn *j, const tn_type *out, size_t nout, const tn_type *in, size_t nwrt,
                      const void *const *x) {
    dense d = {0};
    for (size_t i = 0; i < nout; i++) d.rows += count(&out[i]);
    for (size_t k = 0; k < nwrt; k++) d.columns += count(&in[k]);
    d.a = calloc((size_t)(d.rows * d.columns) + 1, sizeof *d.a);
    void **block = calloc(nout * nwrt + 1, sizeof *block);
    assert_true(d.a && block);
    for (size_t b = 0; b < nout * nwrt; b++) {
        const tn_type t = tn_fn_output_type(j, b);
        assert_non_null(block[b] = calloc((size_t)count(&t) + 1, 8));
        d.type = t;
    }
    call(c, j, x, block);
    for (int64_t i = 0, row = 0; i < (int64_t)nout; row += count(&out[i++]))
        for (int64_t k = 0, col = 0; k < (int64_t)nwrt; col += count(&in[k++])) {
            const int64_t m = count(&out[i]), n = count(&in[k]);
            for (int64_t p = 0; p < m; p++)
                for (int64_t q = 0; q < n; q++)
                    d.a[(row + p) * d.columns + col + q] = get(&d.type, block[i * (int64_t)nwrt + k], p * n + q);
        }
    for (size_t b = 0; b < nout * nwrt; b++) free(block[b]);
    free(block);
    return d;
}

/* Forward and reverse mode round differently: both are the dense Jacobian. */
static dense dense_jacobian(tn_ctx *c, const tn_fn *f, bool reverse, const void *const *x) {
    tn_fn *j = reverse ? tn_jacrev(f, NULL, NULL, 0) : tn_jacfwd(f, NULL, 0);
    assert_made(c, j);
    tn_type out[8], in[8];
    size_t nout = 0, nin = 0;
    for (size_t k = 0; k < tn_fn_outputs(f); k++)
        if ((out[nout] = tn_fn_output_type(f, k), is_float(&out[nout]))) nout++;
    for (size_t k = 0; k < tn_fn_inputs(f); k++)
        if ((in[nin] = tn_fn_input_type(f, k), is_float(&in[nin]))) nin++;
    const dense d = dense_of(c, j, out, nout, in, nin, x);
    tn_fn_free(j);
    return d;
}

/* The pattern of what is not 0 in d. */
static tn_sparsity *nonzeros(tn_ctx *c, const dense *d) {
    int64_t *ptr = calloc((size_t)d->rows + 1, sizeof *ptr),
            *ind = calloc((size_t)(d->rows * d->columns) + 1, sizeof *ind);
    assert_true(ptr && ind);
    for (int64_t i = 0, n = 0; i < d->rows; i++) {
        for (int64_t j = 0; j < d->columns; j++)
            if (d->a[i * d->columns + j] != 0) ind[n++] = j;
        ptr[i + 1] = n;
    }
    tn_sparsity *s = tn_sparsity_csr(c, d->rows, d->columns, ptr, ind);
    assert_made(c, s);
    free(ptr);
    free(ind);
    return s;
}

/* ---- values against it -------------------------------------------------------------------------------- */

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (a == 0 && b == 0); }

/* What sums of constant and varying terms may be off: one rounding more. */
static double slack;

/* values: of entries of s in the given order; each one that of d or of e, and all that is not 0 in d is there. */
static void assert_entries(const tn_sparsity *s, tn_sparse_format format, tn_triangle triangle, const dense *d,
                           const dense *e, const void *values) {
    tn_sparsity_arrays a = {.size = sizeof a};
    assert_int_equal(tn_sparsity_view(s, format, triangle, &a), TN_OK);
    assert_int_equal(a.rows, d->rows);
    assert_int_equal(a.columns, d->columns);
    bool *seen = calloc((size_t)(d->rows * d->columns) + 1, 1);
    assert_non_null(seen);
    const int64_t outer = format == TN_CSC ? a.columns : a.rows;
    int64_t line = 0;
    for (int64_t k = 0; k < a.nnz; k++) {
        while (a.ptr && line < outer && a.ptr[line + 1] <= k) line++;
        const int64_t i = format == TN_COO   ? a.row[k]
                          : format == TN_CSC ? a.ind[k]
                                             : line,
                      j = format == TN_CSC ? line : a.ind[k];
        const double got = get(&d->type, values, k), want = d->a[i * d->columns + j], other = e->a[i * d->columns + j];
        if (!same_bits(got, want) && !same_bits(got, other) && !(fabs(got - want) <= slack))
            fail_msg("entry %d, (%d, %d): %.17g, not %.17g", (int)k, (int)i, (int)j, got, want);
        seen[i * d->columns + j] = true;
    }
    for (int64_t i = 0; i < d->rows; i++)
        for (int64_t j = 0; j < d->columns; j++)
            if (triangle == TN_FULL || (triangle == TN_LOWER ? j <= i : j >= i))
                assert_true(seen[i * d->columns + j] || d->a[i * d->columns + j] == 0);
    free(seen);
}

/* The Jacobian of f at x under the options, in all three orders. */
static void assert_jacobian(tn_ctx *c, const tn_fn *f, const dense *d, const dense *e, const void *const *x,
                            tn_sparse_options o) {
    o.size = sizeof o;
    for (int format = TN_CSR; format <= TN_COO; format++) {
        o.format = (tn_sparse_format)format;
        tn_sparsity *s = NULL;
        tn_fn *j = tn_sparse_jacobian(f, NULL, &o, &s);
        assert_made(c, j);
        const tn_type t = tn_fn_output_type(j, 0);
        assert_int_equal(tn_fn_outputs(j), 1);
        assert_int_equal(t.rank, 1);
        void *values = calloc((size_t)t.dim[0] + 1, 8);
        assert_non_null(values);
        call(c, j, x, &values);
        assert_entries(s, o.format, TN_FULL, d, e, values);
        free(values);
        tn_sparsity_free(s);
        tn_fn_free(j);
    }
}

static double *numbers(int64_t n) {
    double *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = 0.5 + 0.4 * sin(1.0 + 3.0 * (double)i);
    return x;
}

static const tn_partition unsymmetric[] = {TN_COLOR_AUTO, TN_COLOR_COLUMN, TN_COLOR_ROW};

/* With what is not 0 at x as the pattern: nothing is found. */
static void given_patterns(tn_ctx *c, const tn_fn *f, const void *const *x, int64_t nnz) {
    const dense d = dense_jacobian(c, f, false, x), r = dense_jacobian(c, f, true, x);
    tn_sparsity *s = nonzeros(c, &d);
    tn_sparsity_arrays a = {.size = sizeof a};
    assert_int_equal(tn_sparsity_view(s, TN_CSR, TN_FULL, &a), TN_OK);
    assert_int_equal(a.nnz, nnz);
    for (size_t k = 0; k < sizeof unsymmetric / sizeof *unsymmetric; k++) {
        const tn_coloring_options how = {.size = sizeof how, .partition = unsymmetric[k]};
        assert_jacobian(c, f, how.partition == TN_COLOR_ROW ? &r : &d, how.partition == TN_COLOR_COLUMN ? &d : &r, x,
                        (tn_sparse_options){.sparsity = s, .coloring = &how});
    }
    assert_int_equal(tn_sparsity_check(f, NULL, s, x), TN_OK);
    tn_sparsity_free(s);
    free(d.a);
    free(r.a);
}

static void given_pattern_of_the_ocp(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *g = ocp_g(c);
    assert_made(c, g);
    double *x = numbers(OCP_X);
    given_patterns(c, g, (const void *[]){x}, 578);
    free(x);
    tn_ctx_free(c);
}

static void given_pattern_of_bratu(void **state) {
    (void)state;
    for (int dtype = TN_F32; dtype <= TN_F64; dtype++) {
        tn_ctx *c = checked();
        tn_fn *f = bratu_f(c, 7, dtype);
        assert_made(c, f);
        double *x = numbers(49);
        for (int i = 0; i < 49 && dtype == TN_F32; i++) ((float *)(void *)x)[i] = (float)x[i];
        given_patterns(c, f, (const void *[]){x}, 5 * 49 - 4 * 7);
        free(x);
        tn_ctx_free(c);
    }
}

static void given_pattern_of_a_bundle(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = bundle_f(c, 5, 8);
    assert_made(c, f);
    double *x = numbers(5 * 9 + 8 * 3);
    given_patterns(c, f, (const void *[]){x}, 2 * 4 * 8 * 12);
    free(x);
    tn_ctx_free(c);
}

/* ---- Hessians ------------------------------------------------------------------------------------------- */

static dense transposed(const dense *d) {
    dense t = {d->columns, d->rows, d->type, calloc((size_t)(d->rows * d->columns) + 1, sizeof *t.a)};
    assert_non_null(t.a);
    for (int64_t i = 0; i < d->rows; i++)
        for (int64_t j = 0; j < d->columns; j++) t.a[j * d->rows + i] = d->a[i * d->columns + j];
    return t;
}

/* f's Hessian in its first input. */
static void assert_hessian(tn_ctx *c, const tn_fn *f, const void *const *x, const tn_sparsity *given, int64_t full,
                           int64_t half, tn_partition partition) {
    tn_fn *g = tn_grad(f, tn_wrt(0), NULL), *h = NULL;
    if (g) h = partition == TN_COLOR_ROW ? tn_jacrev(g, tn_wrt(0), NULL, 0) : tn_jacfwd(g, tn_wrt(0), 0);
    assert_made(c, h);
    const tn_type t = tn_fn_input_type(f, 0);
    const dense d = dense_of(c, h, &t, 1, &t, 1, x), u = transposed(&d);
    for (int format = TN_CSR; format <= TN_COO; format++)
        for (int triangle = TN_FULL; triangle <= TN_UPPER; triangle++) {
            const tn_coloring_options how = {.size = sizeof how, .partition = partition};
            const tn_sparse_options o = {.size = sizeof o,
                                         .format = (tn_sparse_format)format,
                                         .triangle = (tn_triangle)triangle,
                                         .coloring = &how,
                                         .sparsity = given};
            tn_sparsity *s = NULL;
            tn_fn *k = tn_sparse_hessian(f, tn_wrt(0), &o, &s);
            assert_made(c, k);
            const int64_t n = tn_fn_output_type(k, 0).dim[0];
            if (full >= 0) assert_int_equal(n, triangle == TN_FULL ? full : half);
            void *values = calloc((size_t)n + 1, 8);
            assert_non_null(values);
            call(c, k, x, &values);
            assert_entries(s, o.format, o.triangle, &d, &u, values);
            free(values);
            tn_sparsity_free(s);
            tn_fn_free(k);
        }
    free(d.a);
    free(u.a);
    tn_fn_free(g);
    tn_fn_free(h);
}

static const tn_partition symmetric[] = {TN_COLOR_AUTO, TN_COLOR_COLUMN, TN_COLOR_STAR, TN_COLOR_ROW};
enum { SYMMETRIC = sizeof symmetric / sizeof *symmetric };

static void hessian_of_the_ocp(void **state) {
    (void)state;
    if (!in_turn(0, SANITIZED ? 8 : 4)) skip();
    tn_ctx *c = checked();
    tn_fn *f = ocp_f(c), *g = ocp_g(c), *l = tn_lagrangian(f, g);
    assert_made(c, l);
    assert_int_equal(tn_fn_inputs(l), 3);
    double *x = numbers(OCP_X), sigma = 0.7, *lambda = numbers(OCP_G);
    for (int k = 0; k < SYMMETRIC; k++)
        assert_hessian(c, l, (const void *[]){x, &sigma, lambda}, NULL, 270, 180, symmetric[k]);
    free(x);
    free(lambda);
    tn_ctx_free(c);
}

static tn_val rosenbrock(const tn_val *in, void *user) {
    const int64_t n = *(const int64_t *)user;
    const tn_val a = tn_slice_axis(in[0], 0, n - 1, 1, 0), b = tn_slice_axis(in[0], 1, n, 1, 0);
    return tn_add(tn_mul(100.0, tn_sum_squares(tn_sub(b, tn_square(a)))), tn_sum_squares(tn_sub(1.0, a)));
}

static tn_val quadratic(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = in[0];
    return tn_add(tn_sum_squares(tn_sub(x, tn_mul(3.0, tn_roll(x, 1, 0)))), tn_sum(x));
}

static tn_val nearly_quadratic(const tn_val *in, void *user) {
    return tn_add(quadratic(in, user), tn_sum(tn_exp(in[0])));
}

/* Constant Hessians are not computed, and of others one colour is enough where the diagonal varies alone. */
static void hessian_of_a_quadratic(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double *x = numbers(9), *whole = calloc(81, sizeof *whole), values[27];
    assert_non_null(whole);
    for (int k = 0; k < 2; k++) {
        tn_fn *f = tn_trace(c, k ? nearly_quadratic : quadratic, NULL, 1, TN_TYPES(tn_f64(9)));
        tn_sparsity *s = NULL;
        tn_fn *h = tn_sparse_hessian(f, NULL, NULL, &s), *dense_h = tn_hessian(f, NULL, NULL, 0);
        tn_cost_report cost = {.size = sizeof cost};
        assert_made(c, h);
        assert_int_equal(tn_cost(h, &cost), TN_OK);
        assert_true(k ? cost.transcendentals == 9 && cost.flops <= 9 * (16 + 4) : cost.flops == 0);
        call(c, h, (const void *[]){x}, (void *[]){values});
        call(c, dense_h, (const void *[]){x}, (void *[]){whole});
        tn_sparsity_arrays a = {.size = sizeof a};
        assert_int_equal(tn_sparsity_view(s, TN_COO, TN_FULL, &a), TN_OK);
        assert_int_equal(a.nnz, 27);
        for (int e = 0; e < 27; e++) assert_true(fabs(values[e] - whole[a.row[e] * 9 + a.ind[e]]) <= 32 * DBL_EPSILON);
    }
    free(x);
    free(whole);
    tn_ctx_free(c);
}

static void hessian_of_a_chain(void **state) {
    (void)state;
    for (int dtype = TN_F32; dtype <= TN_F64; dtype++) {
        tn_ctx *c = checked();
        int64_t n = 12;
        tn_fn *f = tn_trace(c, rosenbrock, &n, 1, &(tn_type){.dtype = dtype, .rank = 1, .dim = {n}});
        assert_made(c, f);
        double *x = numbers(n);
        for (int i = 0; i < n && dtype == TN_F32; i++) ((float *)(void *)x)[i] = (float)x[i];
        for (int k = 0; k < SYMMETRIC; k++)
            assert_hessian(c, f, (const void *[]){x}, NULL, 3 * n - 2, 2 * n - 1, symmetric[k]);
        free(x);
        tn_ctx_free(c);
    }
}

/* Tridiagonal: with two colours each element outside of the diagonal is what its row leaves. */
static void acyclic_colourings_substitute(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int64_t n = 12;
    tn_fn *f = tn_trace(c, rosenbrock, &n, 1, TN_TYPES(tn_f64(n))), *h = tn_hessian(f, NULL, NULL, 0);
    assert_made(c, h);
    double *x = numbers(n), *whole = calloc((size_t)(n * n), sizeof *whole), values[64];
    call(c, h, (const void *[]){x}, (void *[]){whole});
    for (int triangle = TN_FULL; triangle <= TN_UPPER; triangle++) {
        const tn_coloring_options how = {.size = sizeof how, .partition = TN_COLOR_ACYCLIC};
        const tn_sparse_options o = {
            .size = sizeof o, .format = TN_COO, .triangle = (tn_triangle)triangle, .coloring = &how};
        tn_sparsity *s = NULL;
        tn_fn *k = tn_sparse_hessian(f, NULL, &o, &s);
        assert_made(c, k);
        call(c, k, (const void *[]){x}, (void *[]){values});
        tn_sparsity_arrays a = {.size = sizeof a};
        assert_int_equal(tn_sparsity_view(s, TN_COO, o.triangle, &a), TN_OK);
        assert_int_equal(a.nnz, triangle == TN_FULL ? 3 * n - 2 : 2 * n - 1);
        for (int64_t e = 0; e < a.nnz; e++) {
            const double want = whole[a.row[e] * n + a.ind[e]];
            if (!(fabs(values[e] - want) <= 1e-9)) fail_msg("entry %d: %.17g, not %.17g", (int)e, values[e], want);
        }
        assert_int_equal(tn_check_grads(k, (const void *[]){x}, NULL, NULL), TN_OK);
    }
    free(x);
    free(whole);
    tn_ctx_free(c);
}

/* ---- found patterns ------------------------------------------------------------------------------------ */

static void found(tn_ctx *c, const tn_fn *f, const void *const *x, int64_t nnz) {
    const dense d = dense_jacobian(c, f, false, x), r = dense_jacobian(c, f, true, x);
    static const tn_partition partition[] = {TN_COLOR_AUTO, TN_COLOR_COLUMN, TN_COLOR_ROW, TN_COLOR_BIDIRECTIONAL};
    for (size_t k = 0; k < sizeof partition / sizeof *partition; k++)
        for (int order = TN_ORDER_BEST; order <= TN_ORDER_INCIDENCE_DEGREE; order++) {
            const tn_coloring_options how = {
                .size = sizeof how, .partition = partition[k], .order = (tn_color_order)order};
            assert_jacobian(c, f, how.partition == TN_COLOR_ROW ? &r : &d, how.partition == TN_COLOR_COLUMN ? &d : &r,
                            x, (tn_sparse_options){.coloring = &how});
        }
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL);
    assert_made(c, s);
    tn_sparsity_arrays a = {.size = sizeof a};
    assert_int_equal(tn_sparsity_view(s, TN_CSR, TN_FULL, &a), TN_OK);
    if (nnz >= 0) assert_int_equal(a.nnz, nnz);
    assert_int_equal(tn_sparsity_check(f, NULL, s, x), TN_OK);
    tn_sparsity_free(s);
    free(d.a);
    free(r.a);
}

static void jacobian_of_the_ocp(void **state) {
    (void)state;
    if (!in_turn(2, SANITIZED ? 8 : 4)) skip();
    tn_ctx *c = checked();
    tn_fn *g = ocp_g(c);
    double *x = numbers(OCP_X);
    found(c, g, (const void *[]){x}, 578);
    free(x);
    tn_ctx_free(c);
}

static void jacobian_of_bratu(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = bratu_f(c, 9, TN_F64);
    double *x = numbers(81);
    slack = 4 * DBL_EPSILON;
    found(c, f, (const void *[]){x}, 5 * 81 - 4 * 9);
    const tn_coloring_options how = {
        .size = sizeof how, .partition = TN_COLOR_COLUMN, .order = TN_ORDER_LATTICE, .rank = 2, .grid = {9, 9}};
    const dense d = dense_jacobian(c, f, false, (const void *[]){x});
    assert_jacobian(c, f, &d, &d, (const void *[]){x}, (tn_sparse_options){.coloring = &how});
    slack = 0;
    /* the diagonal alone varies: one colour, whatever the size of the stencil */
    tn_fn *j = tn_sparse_jacobian(f, NULL, NULL, NULL);
    tn_cost_report cost = {.size = sizeof cost};
    assert_made(c, j);
    assert_int_equal(tn_cost(j, &cost), TN_OK);
    assert_true(cost.transcendentals == 81 && cost.flops <= 81 * (16 + 4));
    free(d.a);
    free(x);
    tn_ctx_free(c);
}

static void jacobian_of_a_bundle(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = bundle_f(c, 5, 8);
    double *x = numbers(5 * 9 + 8 * 3);
    found(c, f, (const void *[]){x}, 2 * 4 * 8 * 12);
    free(x);
    tn_ctx_free(c);
}

/* ---- constant coefficients ----------------------------------------------------------------------------------- */

static tn_val affine(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_mul(3.0, tn_flip(in[0], 0)), tn_add(tn_cumsum(in[0], 0), 1.0));
}

/* Indices that are normalised before they are used: they are known, though the program computes them. */
static tn_val looked_up(const tn_val *in, void *user) {
    static const int64_t at[5] = {-1, 0, -3, 2, 1};
    (void)user;
    const tn_val k = tn_constant(tn_val_ctx(in[0]), tn_i64(5), at);
    return tn_mul(tn_take(tn_sin(in[0]), k, 0), tn_take(in[0], tn_neg(tn_abs(k)), 0));
}

static tn_val half_constant(const tn_val *in, void *user) {
    (void)user;
    return tn_concatenate(tn_vals(tn_mul(2.0, in[0]), tn_square(in[0]), tn_sub(tn_exp(in[0]), in[0])), 0);
}

/* x^2 less its neighbour: what is subtracted is constant, whatever the factor is. */
static tn_val less_neighbour(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = tn_slice_axis(in[0], 1, 5, 1, 0), y = tn_slice_axis(in[0], 0, 4, 1, 0);
    return tn_fma(x, x, tn_neg(y));
}

static void constants_are_not_computed(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double *x = numbers(5), values[3 * 5];
    tn_fn *f = tn_trace(c, affine, NULL, 1, TN_TYPES(tn_f64(5)));
    assert_made(c, f);
    found(c, f, (const void *[]){x}, 5 * 6 / 2 + 2);
    tn_fn *j = tn_sparse_jacobian(f, NULL, NULL, NULL);
    tn_cost_report cost = {.size = sizeof cost};
    assert_made(c, j);
    assert_int_equal(tn_cost(j, &cost), TN_OK);
    assert_true(cost.flops == 0);
    f = tn_trace(c, looked_up, NULL, 1, TN_TYPES(tn_f64(5)));
    assert_made(c, f);
    found(c, f, (const void *[]){x}, -1);
    f = tn_trace(c, less_neighbour, NULL, 1, TN_TYPES(tn_f64(5)));
    assert_made(c, f);
    found(c, f, (const void *[]){x}, 8);
    f = tn_trace(c, half_constant, NULL, 1, TN_TYPES(tn_f64(5)));
    slack = 2 * DBL_EPSILON;
    found(c, f, (const void *[]){x}, 15);
    slack = 0;
    /* those that vary, and which those are */
    for (int format = TN_CSR; format <= TN_COO; format++) {
        const tn_sparse_options o = {.size = sizeof o, .format = (tn_sparse_format)format, .varying_only = true};
        tn_sparsity *s = NULL;
        j = tn_sparse_jacobian(f, NULL, &o, &s);
        assert_made(c, j);
        tn_sparsity_arrays a = {.size = sizeof a};
        assert_int_equal(tn_sparsity_view(s, TN_COO, TN_FULL, &a), TN_OK);
        assert_int_equal(a.nnz, 10);
        assert_int_equal(tn_fn_output_type(j, 0).dim[0], 10);
        for (int k = 0; k < 10; k++) assert_true(a.row[k] == k + 5 && a.ind[k] == k % 5);
        call(c, j, (const void *[]){x}, (void *[]){values});
        for (int k = 0; k < 10; k++) {
            const int at = format == TN_CSC ? k / 2 : k % 5, square = format == TN_CSC ? k % 2 == 0 : k < 5;
            const double want = square ? 2 * x[at] : exp(x[at]) - 1;
            assert_true(fabs(values[k] - want) <= 4 * DBL_EPSILON);
        }
    }
    free(x);
    tn_ctx_free(c);
}

/* Blocks that are mapped are derived as blocks: no colour computes what is 0 in all of them. */
static void mapped_blocks(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double *x = numbers(5 * 9 + 8 * 3);
    tn_fn *f = bundle_f_by_blocks(c, 5, 8, false), *g = bundle_f(c, 5, 8);
    assert_made(c, f);
    slack = 1e-13;
    found(c, f, (const void *[]){x}, 2 * 4 * 8 * 12);
    slack = 0;
    tn_fn *j = tn_sparse_jacobian(f, NULL, NULL, NULL), *whole = tn_sparse_jacobian(g, NULL, NULL, NULL);
    tn_cost_report blocks = {.size = sizeof blocks}, arrays = {.size = sizeof arrays};
    assert_made(c, j);
    assert_int_equal(tn_cost(j, &blocks), TN_OK);
    assert_int_equal(tn_cost(whole, &arrays), TN_OK);
    assert_true(blocks.flops <= 1.5 * arrays.flops);
    free(x);
    tn_ctx_free(c);
}

/* ---- several inputs and outputs, of any rank --------------------------------------------------------------- */

/* (a[2,3], i, b, c[4]) -> (a tanh b [2,3], i + 1, c^2 [4], a > 0, a[0,0] c[1]) */
static void several(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(in[0], tn_tanh(in[2]));
    out[1] = tn_add(in[1], 1);
    out[2] = tn_square(in[3]);
    out[3] = tn_gt(in[0], 0.0);
    out[4] = tn_mul(tn_at(tn_ravel(in[0]), 0), tn_at(in[3], 1));
}

static void several_inputs_and_outputs(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, several, NULL, 4, TN_TYPES(tn_f64(2, 3), tn_i32(), tn_f64(), tn_f64(4)), 5);
    assert_made(c, f);
    double *a = numbers(6), b = 0.3, *v = numbers(4);
    int32_t i = 7;
    const void *x[4] = {a, &i, &b, v};
    found(c, f, x, 6 + 6 + 4 + 2);
    /* f's own outputs first */
    const tn_sparse_options o = {.size = sizeof o, .with_value = true};
    tn_fn *j = tn_sparse_jacobian(f, tn_wrt(3, 0), &o, NULL);
    assert_made(c, j);
    assert_int_equal(tn_fn_outputs(j), 6);
    double y0[6], y2[4], y4, w0[6], w2[4], w4, values[12];
    int32_t y1, w1;
    bool y3[6], w3[6];
    call(c, j, x, (void *[]){y0, &y1, y2, y3, &y4, values});
    call(c, f, x, (void *[]){w0, &w1, w2, w3, &w4});
    assert_memory_equal(y0, w0, sizeof y0);
    assert_memory_equal(y2, w2, sizeof y2);
    assert_memory_equal(y3, w3, sizeof y3);
    assert_true(y1 == 8 && w1 == 8 && same_bits(y4, w4));
    assert_true(same_bits(values[0], tanh(b)) || fabs(values[0] - tanh(b)) < 1e-15);
    assert_true(same_bits(values[6], 2 * v[0])); /* columns of input 3 come first */
    assert_true(same_bits(values[10], v[1] * 0 + a[0]) && same_bits(values[11], v[1]));
    free(a);
    free(v);
    tn_ctx_free(c);
}

/* ---- edges ------------------------------------------------------------------------------------------------ */

static tn_val nothing_of_x(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_mul(in[0], 0.0), 3.0);
}

static tn_val cube(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], tn_square(in[0]));
}

static void edges(void **state) {
    (void)state;
    tn_ctx *c = checked();
    /* a known 0 is no entry; a program without entries has a value without elements */
    tn_fn *f = tn_trace(c, nothing_of_x, NULL, 1, TN_TYPES(tn_f64(5)));
    tn_sparsity *s = NULL;
    tn_fn *j = tn_sparse_jacobian(f, NULL, NULL, &s);
    assert_made(c, j);
    assert_int_equal(tn_fn_output_type(j, 0).dim[0], 0);
    call(c, j, (const void *[]){(double[5]){0}}, (void *[]){(double[1]){0}});
    tn_sparsity_arrays a = {.size = sizeof a};
    assert_int_equal(tn_sparsity_view(s, TN_CSC, TN_FULL, &a), TN_OK);
    assert_true(a.nnz == 0 && a.rows == 5 && a.columns == 5);
    /* rank 0, and no elements at all */
    double x = 1.5, y = 0;
    tn_fn *g = tn_trace(c, cube, NULL, 1, TN_TYPES(tn_f64()));
    for (int hessian = 0; hessian < 2; hessian++) {
        tn_fn *k = (hessian ? tn_sparse_hessian : tn_sparse_jacobian)(g, NULL, NULL, NULL);
        assert_made(c, k);
        call(c, k, (const void *[]){&x}, (void *[]){&y});
        assert_true(same_bits(y, hessian ? 9 : 6.75));
    }
    tn_fn *e = tn_trace(c, cube, NULL, 1, TN_TYPES(tn_f64(0, 3)));
    j = tn_sparse_jacobian(e, NULL, NULL, NULL);
    assert_made(c, j);
    assert_int_equal(tn_fn_output_type(j, 0).dim[0], 0);
    /* no inputs that are floats */
    tn_fn *w = tn_trace(c, cube, NULL, 1, TN_TYPES(tn_i32(3)));
    j = tn_sparse_jacobian(w, NULL, NULL, NULL);
    assert_made(c, j);
    assert_int_equal(tn_fn_output_type(j, 0).dim[0], 0);
    tn_ctx_free(c);
}

static tn_val mixed(const tn_val *in, void *user) {
    const tn_val w = *(const tn_val *)user;
    return tn_tanh(tn_matmul(w, in[0]));
}

static tn_val layer(const tn_val *in, void *user) {
    (void)user;
    return mixed(in, (void *)(uintptr_t)&in[1]);
}

/* A fully connected layer is dense: it says so, and is what the dense Jacobian is. */
static void dense_by_nature(void **state) {
    (void)state;
    static const int64_t shape[2][2] = {{4, 7}, {7, 4}};
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        const int64_t m = shape[k][0], n = shape[k][1];
        tn_fn *f = tn_trace(c, layer, NULL, 2, TN_TYPES(tn_f64(n), tn_f64(m, n)));
        assert_made(c, f);
        double *x = numbers(n), *w = numbers(m * n), *want = numbers(m * n), *got = numbers(m * n), *y = numbers(m);
        const void *in[2] = {x, w};
        tn_fn *dense_j = m < n ? tn_jacrev(f, tn_wrt(0), NULL, 0) : tn_jacfwd(f, tn_wrt(0), 0);
        call(c, dense_j, in, (void *[]){want});
        for (int format = TN_CSR; format <= TN_COO; format++) {
            tn_sparsity *s = NULL;
            const tn_sparse_options o = {
                .size = sizeof o, .format = (tn_sparse_format)format, .with_value = format == TN_COO};
            tn_fn *j = tn_sparse_jacobian(f, tn_wrt(0), &o, &s);
            assert_made(c, j);
            const char *said = tn_sparsity_warning(s, 0);
            assert_non_null(said);
            assert_non_null(strstr(said, "every row depends on every column"));
            if (o.with_value)
                call(c, j, in, (void *[]){y, got});
            else
                call(c, j, in, (void *[]){got});
            for (int64_t i = 0; i < m * n; i++)
                assert_true(same_bits(got[i], format == TN_CSC ? want[i % m * n + i / m] : want[i]));
        }
        free(x);
        free(w);
        free(want);
        free(got);
        free(y);
        tn_ctx_free(c);
    }
}

/* ---- inside of other transformations -------------------------------------------------------------------------- */

/* The values' own derivatives: with respect to the point, sigma and the multipliers. */
static void values_are_differentiated(void **state) {
    (void)state;
    if (!in_turn(3, SANITIZED ? 8 : 4)) skip();
    tn_ctx *c = checked();
    tn_fn *f = ocp_f(c), *g = ocp_g(c), *l = tn_lagrangian(f, g);
    double *x = numbers(OCP_X), sigma = 0.7, *lambda = numbers(OCP_G);
    const tn_check_options first = {.size = sizeof first, .order = 1, .directions = 2};
    tn_fn *j = tn_sparse_jacobian(g, NULL, NULL, NULL), *h = tn_sparse_hessian(l, tn_wrt(0), NULL, NULL);
    assert_made(c, h);
    if (tn_check_grads(j, (const void *[]){x}, NULL, &first) != TN_OK) fail_msg("%s", tn_error(c));
    if (tn_check_grads(h, (const void *[]){x, &sigma, lambda}, NULL, &first) != TN_OK) fail_msg("%s", tn_error(c));
    free(x);
    free(lambda);
    tn_ctx_free(c);
}

static void values_are_batched(void **state) {
    (void)state;
    enum { SIDE = 5, N = SIDE * SIDE, NNZ = 5 * N - 4 * SIDE, LANES = 3 };
    tn_ctx *c = checked();
    tn_fn *f = bratu_f(c, SIDE, TN_F64), *j = tn_sparse_jacobian(f, NULL, NULL, NULL),
          *v = tn_vmap(j, LANES, NULL, NULL);
    assert_made(c, v);
    double *x = numbers(LANES * N), all[LANES][NNZ], one[NNZ];
    call(c, v, (const void *[]){x}, (void *[]){all});
    for (int k = 0; k < LANES; k++) {
        call(c, j, (const void *[]){x + k * N}, (void *[]){one});
        assert_memory_equal(one, all[k], sizeof one);
    }
    free(x);
    tn_ctx_free(c);
}

static void back_ends_agree(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = bratu_f(c, 6, TN_F64), *j = tn_sparse_jacobian(f, NULL, NULL, NULL);
    assert_made(c, j);
    enum { NNZ = 5 * 36 - 24 };
    double *x = numbers(36), fused[NNZ], native[NNZ], plain[NNZ];
    call_by(c, j, TN_BACKEND_DEFAULT, (const void *[]){x}, (void *[]){fused});
    call_by(c, j, TN_BACKEND_NATIVE, (const void *[]){x}, (void *[]){native});
    call_by(c, j, TN_BACKEND_REFERENCE, (const void *[]){x}, (void *[]){plain});
    assert_memory_equal(fused, native, sizeof fused);
    for (int k = 0; k < NNZ; k++) assert_true(fabs(fused[k] - plain[k]) <= 1e-14);
    char *source = NULL, *header = NULL;
    const tn_emit_c_options o = {.size = sizeof o, .name = "bratu_jacobian"};
    assert_int_equal(tn_emit_c(j, &o, &source, &header), TN_OK);
    assert_non_null(strstr(source, "bratu_jacobian"));
    tn_text_free(c, source);
    tn_text_free(c, header);
    free(x);
    tn_ctx_free(c);
}

/* ---- loops and policies inside ------------------------------------------------------------------------------------
 */

static void decay(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    next[0] = tn_add(tn_mul(0.5, tn_sin(carry[0])), x[0]);
    y[0] = tn_square(next[0]);
}

/* (x0[2], u[6,2]) -> the states' squares [6,2]: lower triangular by blocks, diagonal within */
static void recurrence(const tn_val *in, tn_val *out, void *user) {
    tn_scan(user, decay, NULL, .ncarry = 1, .init = in, .nx = 1, .xs = &in[1], .ny = 1, .ys = out);
}

static tn_val unsettled(const tn_val *in, void *user) {
    (void)user;
    return tn_gt(tn_sum(tn_square(in[0])), 0.01);
}

static void halve(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(0.5, tn_sin(in[0]));
}

static void settle(const tn_val *in, tn_val *out, void *user) {
    tn_while_loop(user, unsettled, halve, NULL, 1, in, out, NULL);
}

static tn_val squared(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_sin(in[0]), tn_exp(tn_sin(in[0])));
}

static void region(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_checkpoint(squared, tn_policy_by_name("nothing_saveable"), NULL, 1, in);
}

static void loops_and_regions(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double *x = numbers(2), *u = numbers(12);
    tn_fn *f = tn_trace_many(c, recurrence, c, 2, TN_TYPES(tn_f64(2), tn_f64(6, 2)), 1);
    assert_made(c, f);
    found(c, f, (const void *[]){x, u}, 2 * (2 + 3 + 4 + 5 + 6 + 7));
    tn_fn *w = tn_trace_many(c, settle, c, 1, TN_TYPES(tn_f64(12)), 1);
    assert_made(c, w);
    const dense d = dense_jacobian(c, w, false, (const void *[]){u});
    const tn_coloring_options columns = {.size = sizeof columns, .partition = TN_COLOR_COLUMN};
    assert_jacobian(c, w, &d, &d, (const void *[]){u}, (tn_sparse_options){.coloring = &columns});
    free(d.a);
    tn_fn *r = tn_trace_many(c, region, c, 1, TN_TYPES(tn_f64(12)), 1);
    assert_made(c, r);
    found(c, r, (const void *[]){u}, 12);
    free(x);
    free(u);
    tn_ctx_free(c);
}

/* Blocks written as a loop: the derivative is the program that it is for blocks that are mapped. */
static void loops_are_blocks(tn_ctx *c, tn_fn *loop, tn_fn *mapped, bool hessian, const void *const *in) {
    tn_sparse_options o = {.size = sizeof o, .triangle = hessian ? TN_LOWER : TN_FULL};
    tn_fn *a = (hessian ? tn_sparse_hessian : tn_sparse_jacobian)(loop, tn_wrt(0), &o, NULL),
          *b = (hessian ? tn_sparse_hessian : tn_sparse_jacobian)(mapped, tn_wrt(0), &o, NULL);
    assert_made(c, a);
    assert_made(c, b);
    const size_t n = (size_t)tn_fn_output_type(a, 0).dim[0];
    assert_int_equal(n, tn_fn_output_type(b, 0).dim[0]);
    assert_int_equal(tn_fn_equations(a), tn_fn_equations(b));
    double *x = numbers((int64_t)n), *y = numbers((int64_t)n);
    call(c, a, in, (void *[]){x});
    call(c, b, in, (void *[]){y});
    assert_memory_equal(x, y, n * sizeof *x);
    free(x);
    free(y);
}

static tn_val sum_of_bundle(const tn_val *in, void *user) { return tn_sum_squares(tn_apply(user, 1, in)); }

static void loops_over_blocks(void **state) {
    (void)state;
    enum { N = 5 * 9 + 8 * 3 };
    tn_ctx *c = checked();
    double *x = numbers(OCP_X), *y = numbers(N), one = 1, lambda[OCP_G];
    for (int i = 0; i < OCP_G; i++) lambda[i] = 0.1 * i;
    tn_fn *loop = ocp_g_by_scan(c), *mapped = ocp_g(c), *cost = ocp_f(c);
    loops_are_blocks(c, loop, mapped, false, (const void *[]){x});
    loops_are_blocks(c, tn_lagrangian(cost, loop), tn_lagrangian(cost, mapped), true,
                     (const void *[]){x, &one, lambda});
    tn_fn *b[2] = {bundle_f_by_blocks(c, 5, 8, true), bundle_f_by_blocks(c, 5, 8, false)}, *sum[2];
    loops_are_blocks(c, b[0], b[1], false, (const void *[]){y});
    for (int i = 0; i < 2; i++) sum[i] = tn_trace(c, sum_of_bundle, b[i], 1, TN_TYPES(tn_f64(N)));
    loops_are_blocks(c, sum[0], sum[1], true, (const void *[]){y});
    free(x);
    free(y);
    tn_ctx_free(c);
}

/* in[0]: a number for all; in[1]: [n] or [n, m]; the step's number counts, a loop in a loop does, too. */
static void inner_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)carry, (void)next, (void)user;
    y[0] = tn_sin(tn_square(x[0]));
}

static void outer_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)carry, (void)next;
    tn_val inner;
    const char *schedule = user;
    tn_scan(tn_val_ctx(x[0]), inner_step, NULL, .nx = 1, .xs = x, .ny = 1, .ys = &inner, .schedule = schedule);
    y[0] = tn_mul(inner, tn_at(x[0], 0));
}

static tn_val loop_in_loop(const tn_val *in, void *user) {
    tn_val y;
    tn_scan(tn_val_ctx(in[0]), outer_step, user, .nx = 1, .xs = in, .ny = 1, .ys = &y);
    return y;
}

static void loops_in_loops_and_schedules(void **state) {
    (void)state;
    static const char *const said[] = {NULL, "all_save"};
    tn_ctx *c = checked();
    double *x = numbers(5 * 3);
    for (int i = 0; i < 2; i++)
        for (int n = 0; n < 6; n += 5) {
            tn_fn *f = tn_trace(c, loop_in_loop, (void *)(uintptr_t)said[i], 1, TN_TYPES(tn_f64(n, 3)));
            assert_made(c, f);
            const dense d = dense_jacobian(c, f, false, (const void *[]){x}),
                        r = dense_jacobian(c, f, true, (const void *[]){x});
            assert_jacobian(c, f, &d, &r, (const void *[]){x}, (tn_sparse_options){0});
            free(d.a);
            free(r.a);
        }
    free(x);
    tn_ctx_free(c);
}

static void policies_change_no_bit(void **state) {
    (void)state;
    if (!in_turn(2, SANITIZED ? 8 : 1)) skip();
    static const char *const name[] = {"nothing_saveable", "min_cut", "min_bytes", "memory_budget:100000000"};
    tn_ctx *c = checked();
    tn_fn *g = ocp_g(c);
    double *x = numbers(OCP_X);
    const dense d = dense_jacobian(c, g, false, (const void *[]){x}),
                r = dense_jacobian(c, g, true, (const void *[]){x});
    for (size_t k = 0; k < sizeof name / sizeof *name; k++)
        assert_jacobian(c, g, &d, &r, (const void *[]){x}, (tn_sparse_options){.policy = tn_policy_by_name(name[k])});
    free(d.a);
    free(r.a);
    free(x);
    tn_ctx_free(c);
}

/* ---- the Gauss-Newton product -------------------------------------------------------------------------------------
 */

static void gauss_newton(void **state) {
    (void)state;
    enum { N = 5 * 9 + 8 * 3 };
    tn_ctx *c = checked();
    tn_fn *f = bundle_f(c, 5, 8), *p = tn_gauss_newton_product(f, NULL, NULL);
    assert_made(c, p);
    double *x = numbers(N), *v = numbers(N), got[N];
    const dense d = dense_jacobian(c, f, false, (const void *[]){x});
    call(c, p, (const void *[]){x, v}, (void *[]){got});
    for (int j = 0; j < N; j++) {
        double want = 0, scale = 0;
        for (int64_t i = 0; i < d.rows; i++) {
            double row = 0;
            for (int k = 0; k < N; k++) row += d.a[i * N + k] * v[k];
            want += d.a[i * N + j] * row;
            scale += fabs(d.a[i * N + j] * row);
        }
        assert_true(fabs(got[j] - want) <= 1e-13 * scale);
    }
    free(d.a);
    free(x);
    free(v);
    tn_ctx_free(c);
}

/* ---- what is refused ------------------------------------------------------------------------------------------------
 */

static void refuses(tn_ctx *c, const void *made, tn_status status, const char *word) {
    assert_null(made);
    assert_int_equal(tn_last_status(c), status);
    if (!strstr(tn_error(c), word)) fail_msg("'%s' does not say '%s'", tn_error(c), word);
}

static tn_val two_types(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_convert(in[0], TN_F64), in[1]);
}

static tn_val told(const tn_val *in, void *user) {
    (void)user;
    tn_print(tn_val_ctx(in[0]), "x", 1, in);
    return in[0];
}

static void bad_input(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, cube, NULL, 1, TN_TYPES(tn_f64(3)));
    const tn_sparse_options half = {.size = sizeof half, .triangle = TN_LOWER}, unset = {.format = TN_CSC},
                            order = {.size = sizeof order, .format = (tn_sparse_format)7},
                            most = {.size = sizeof most, .max_nnz = -1};
    refuses(c, tn_sparse_jacobian(f, NULL, &half, NULL), TN_EINVAL, "triangle");
    refuses(c, tn_sparse_jacobian(f, NULL, &unset, NULL), TN_EINVAL, "tn_sparse_options");
    refuses(c, tn_sparse_jacobian(f, NULL, &order, NULL), TN_EINVAL, "format");
    refuses(c, tn_sparse_jacobian(f, NULL, &most, NULL), TN_EINVAL, "max_nnz");
    refuses(c, tn_sparse_hessian(f, NULL, NULL, NULL), TN_EINVAL, "float scalar");
    refuses(c, tn_sparse_jacobian(f, tn_wrt(1), NULL, NULL), TN_EINVAL, "input 1");
    assert_null(tn_sparse_jacobian(NULL, NULL, NULL, NULL));
    const int64_t ptr[4] = {0, 1, 2, 3}, ind[3] = {0, 1, 2};
    tn_sparsity *wide = tn_sparsity_csr(c, 3, 4, ptr, ind);
    const tn_sparse_options shape = {.size = sizeof shape, .sparsity = wide};
    refuses(c, tn_sparse_jacobian(f, NULL, &shape, NULL), TN_ETYPE, "3 x 4");
    const tn_coloring_options star = {.size = sizeof star, .partition = TN_COLOR_STAR};
    const tn_sparse_options by_star = {.size = sizeof by_star, .coloring = &star};
    refuses(c, tn_sparse_jacobian(f, NULL, &by_star, NULL), TN_EINVAL, "star");
    tn_fn *two = tn_trace(c, two_types, NULL, 2, TN_TYPES(tn_f32(3), tn_f64(3)));
    refuses(c, tn_sparse_jacobian(two, NULL, NULL, NULL), TN_ETYPE, "f32");
    tn_fn *p = tn_trace(c, told, NULL, 1, TN_TYPES(tn_f64(3)));
    assert_made(c, p);
    refuses(c, tn_sparse_jacobian(p, NULL, NULL, NULL), TN_ERULE, "effect");
    refuses(c, tn_lagrangian(f, NULL), TN_EINVAL, "float scalar");
    tn_fn *g = ocp_g(c), *cost = ocp_f(c);
    refuses(c, tn_lagrangian(cost, f), TN_EINVAL, "input 0");
    assert_made(c, tn_lagrangian(cost, NULL));
    refuses(c, tn_gauss_newton_product(g, tn_wrt(3), NULL), TN_EINVAL, "input 3");
    tn_ctx_free(c);
}

/* A pattern that lacks one entry, each in turn. */
static void patterns_that_do_not_cover(void **state) {
    (void)state;
    enum { SIDE = 3, N = SIDE * SIDE };
    tn_ctx *c = checked();
    tn_ctx_options off = {.size = sizeof off, .check = -1};
    tn_ctx *free_of_checks = tn_ctx_new(&off);
    tn_fn *f = bratu_f(c, SIDE, TN_F64), *unchecked = bratu_f(free_of_checks, SIDE, TN_F64);
    double *x = numbers(N);
    const dense d = dense_jacobian(c, f, false, (const void *[]){x});
    for (int64_t lost = 0, n = 0; lost < N * N; lost++) {
        if (d.a[lost] == 0) continue;
        dense less = d;
        less.a = calloc(N * N, sizeof *less.a);
        assert_non_null(less.a);
        memcpy(less.a, d.a, N * N * sizeof *less.a);
        less.a[lost] = 0;
        tn_sparsity *s = nonzeros(c, &less);
        char word[40];
        (void)snprintf(word, sizeof word, "(%d, %d)", (int)(lost / N), (int)(lost % N));
        assert_int_equal(tn_sparsity_check(f, NULL, s, (const void *[]){x}), TN_EINVAL);
        assert_non_null(strstr(tn_error(c), word));
        if (n++ % 8 == 0) {
            const tn_sparse_options o = {.size = sizeof o, .sparsity = s};
            refuses(c, tn_sparse_jacobian(f, NULL, &o, NULL), TN_EINVAL, word);
            tn_sparsity *t = nonzeros(free_of_checks, &less);
            const tn_sparse_options u = {.size = sizeof u, .sparsity = t};
            tn_fn *j = tn_sparse_jacobian(unchecked, NULL, &u, NULL);
            assert_made(free_of_checks, j);
            tn_sparsity_free(t);
        }
        tn_sparsity_free(s);
        free(less.a);
    }
    free(d.a);
    free(x);
    tn_ctx_free(free_of_checks);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_pattern_of_the_ocp),
        cmocka_unit_test(given_pattern_of_bratu),
        cmocka_unit_test(given_pattern_of_a_bundle),
        cmocka_unit_test(jacobian_of_the_ocp),
        cmocka_unit_test(jacobian_of_bratu),
        cmocka_unit_test(jacobian_of_a_bundle),
        cmocka_unit_test(hessian_of_the_ocp),
        cmocka_unit_test(hessian_of_a_quadratic),
        cmocka_unit_test(hessian_of_a_chain),
        cmocka_unit_test(acyclic_colourings_substitute),
        cmocka_unit_test(constants_are_not_computed),
        cmocka_unit_test(mapped_blocks),
        cmocka_unit_test(several_inputs_and_outputs),
        cmocka_unit_test(edges),
        cmocka_unit_test(dense_by_nature),
        cmocka_unit_test(values_are_differentiated),
        cmocka_unit_test(values_are_batched),
        cmocka_unit_test(back_ends_agree),
        cmocka_unit_test(loops_and_regions),
        cmocka_unit_test(loops_over_blocks),
        cmocka_unit_test(loops_in_loops_and_schedules),
        cmocka_unit_test(policies_change_no_bit),
        cmocka_unit_test(gauss_newton),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(patterns_that_do_not_cover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
