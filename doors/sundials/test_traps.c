/* Where SUNDIALS's matrices and return codes catch who writes callbacks: what SUNMatZero clears, what SUNMatScaleAddI
 * makes anew, what is column-major, what recovers. */
#include "test_systems.h"

#include <cvodes/cvodes.h>

enum { N = 7 };

/* A Jacobian without structure in common with its transpose, two diagonal entries missing: y0' = y3^2, y1' = t y1 + y6,
 * y2' = y0 y5, y3' = y3, y4' = y1 y2 y4, y5' = sin(y5) + y0, y6' = y2 + y6. */
static tn_val scattered(const tn_val *in, void *user) {
    (void)user;
    tn_val y[N];
    for (int i = 0; i < N; i++) y[i] = tn_at(in[1], i);
    return tn_stack(tn_vals(tn_square(y[3]), tn_add(tn_mul(in[0], y[1]), y[6]), tn_mul(y[0], y[5]), y[3],
                            tn_mul(tn_mul(y[1], y[2]), y[4]), tn_add(tn_sin(y[5]), y[0]), tn_add(y[2], y[6])),
                    0);
}

typedef struct bench {
    tn_ctx *c;
    tn_sundials *s;
    SUNContext sun;
    N_Vector y;
    double j[N][N]; /* by tn_jacfwd */
} bench;

static bench bench_of(double t) {
    static const double y0[N] = {1, -2, 0.5, 3, 1.5, 0.25, -1};
    bench b = {.c = context(), .sun = sun_new()};
    const tn_sundials_problem q = {.size = sizeof q, .f = tn_trace(b.c, scattered, NULL, TN_ARGS(tn_f64(), tn_f64(N)))};
    b.s = system_of(&q, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES);
    b.y = vector_of(b.sun, N, y0);
    tn_exec *e = tn_compile(tn_jacfwd(q.f, tn_wrt(1), 0), NULL);
    assert_int_equal(tn_call(e, TN_RAW_INPUTS(&t, y0), TN_RAW_OUTPUTS(b.j)), TN_OK);
    tn_exec_free(e);
    return b;
}

static void bench_free(bench *b) {
    N_VDestroy(b->y);
    (void)SUNContext_Free(&b->sun);
    tn_sundials_free(b->s);
    tn_ctx_free(b->c);
}

/* Entry (i, j) of a matrix of any format; what a sparse one does not have is 0. */
static double at(SUNMatrix m, int i, int j) {
    if (SUNMatGetID(m) == SUNMATRIX_DENSE) return SM_ELEMENT_D(m, i, j);
    if (SUNMatGetID(m) == SUNMATRIX_BAND) {
        const bool inside = i - j <= SM_LBAND_B(m) && j - i <= SM_UBAND_B(m);
        return inside ? SM_ELEMENT_B(m, i, j) : 0;
    }
    const bool csc = SM_SPARSETYPE_S(m) == CSC_MAT;
    const int major = csc ? j : i, minor = csc ? i : j;
    double sum = 0;
    for (sunindextype k = SM_INDEXPTRS_S(m)[major]; k < SM_INDEXPTRS_S(m)[major + 1]; k++)
        if (SM_INDEXVALS_S(m)[k] == minor) sum += SM_DATA_S(m)[k];
    return sum;
}

static void is_jacobian(const bench *b, SUNMatrix m, bool transposed, const char *what) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const double want = transposed ? -b->j[j][i] : b->j[i][j];
            if (at(m, i, j) != want) fail_msg("%s: (%d, %d) is %g, not %g", what, i, j, at(m, i, j), want);
        }
}

static int call(const bench *b, SUNMatrix m, bool transposed, double t) {
    return transposed ? tn_sundials_jac_b(t, b->y, b->y, NULL, m, b->s, NULL, NULL, NULL)
                      : tn_sundials_jac(t, b->y, NULL, m, b->s, NULL, NULL, NULL);
}

/* Into what was never written, what SUNMatZero cleared, and what holds something else: the same each time. */
static void after_zero(void **state) {
    (void)state;
    bench b = bench_of(0.3);
    for (int format = TN_SUNDIALS_DENSE; format <= CSR; format++)
        for (int transposed = 0; transposed < 2; transposed++) {
            linear l = linear_of(b.s, format, transposed, b.y, b.sun);
            assert_int_equal(call(&b, l.matrix, transposed, 0.3), 0);
            is_jacobian(&b, l.matrix, transposed, format_names[format]);
            assert_int_equal(SUNMatZero(l.matrix), 0);
            if (SUNMatGetID(l.matrix) == SUNMATRIX_SPARSE) assert_int_equal(SM_INDEXPTRS_S(l.matrix)[N], 0);
            assert_int_equal(call(&b, l.matrix, transposed, 0.3), 0);
            is_jacobian(&b, l.matrix, transposed, format_names[format]);
            assert_int_equal(SUNMatScaleAddI(-7, l.matrix), 0);
            assert_int_equal(call(&b, l.matrix, transposed, 0.3), 0);
            is_jacobian(&b, l.matrix, transposed, format_names[format]);
            linear_free(&l);
        }
    bench_free(&b);
}

/* 1 - gamma J keeps its memory, as the diagonal is there; and indices ascend. */
static void diagonal(void **state) {
    (void)state;
    bench b = bench_of(0.3);
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_size(b.s, &z), TN_OK);
    assert_int_equal(z.nnz, 13 + 2);
    for (int format = TN_SUNDIALS_SPARSE; format <= CSR; format++)
        for (int transposed = 0; transposed < 2; transposed++) {
            linear l = linear_of(b.s, format, transposed, b.y, b.sun);
            SUNMatrix m = l.matrix;
            const double *data = SM_DATA_S(m);
            const sunindextype *ptr = SM_INDEXPTRS_S(m), *ind = SM_INDEXVALS_S(m);
            assert_int_equal(SM_NNZ_S(m), z.nnz);
            assert_int_equal(call(&b, m, transposed, 0.3), 0);
            for (int i = 0; i < N; i++)
                for (sunindextype k = ptr[i] + 1; k < ptr[i + 1]; k++) assert_true(ind[k - 1] < ind[k]);
            assert_int_equal(SUNMatScaleAddI(-0.5, m), 0);
            assert_true(data == SM_DATA_S(m) && ptr == SM_INDEXPTRS_S(m) && ind == SM_INDEXVALS_S(m));
            assert_int_equal(SM_NNZ_S(m), z.nnz);
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    const double v = transposed ? -b.j[j][i] : b.j[i][j];
                    assert_true(at(m, i, j) == -0.5 * v + (i == j));
                }
            linear_free(&l);
        }
    bench_free(&b);
}

/* CSC of the backward Jacobian has the indices of the forward one's CSR, and the values, negative. */
static void transposed_for_nothing(void **state) {
    (void)state;
    bench b = bench_of(0.3);
    linear csr = linear_of(b.s, CSR, false, b.y, b.sun), back = linear_of(b.s, TN_SUNDIALS_SPARSE, true, b.y, b.sun);
    assert_int_equal(call(&b, csr.matrix, false, 0.3), 0);
    assert_int_equal(call(&b, back.matrix, true, 0.3), 0);
    for (int i = 0; i <= N; i++) assert_true(SM_INDEXPTRS_S(csr.matrix)[i] == SM_INDEXPTRS_S(back.matrix)[i]);
    for (sunindextype k = 0; k < SM_INDEXPTRS_S(csr.matrix)[N]; k++) {
        assert_true(SM_INDEXVALS_S(csr.matrix)[k] == SM_INDEXVALS_S(back.matrix)[k]);
        assert_true(SM_DATA_S(csr.matrix)[k] == -SM_DATA_S(back.matrix)[k]);
    }
    linear_free(&csr);
    linear_free(&back);
    bench_free(&b);
}

/* The widths of a band are the pattern's, and those of the transpose are swapped; wider matrices will do. */
static void widths(void **state) {
    (void)state;
    bench b = bench_of(0.3);
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_size(b.s, &z), TN_OK);
    assert_true(z.lower == 5 && z.upper == 5); /* (5, 0), (1, 6) */
    SUNMatrix wide = SUNBandMatrix(N, 6, 5, b.sun), narrow = SUNBandMatrix(N, 5, 3, b.sun);
    assert_int_equal(call(&b, wide, false, 0.3), 0);
    is_jacobian(&b, wide, false, "wide");
    assert_int_equal(call(&b, narrow, false, 0.3), -1);
    says(b.s, TN_ETYPE, "a lower bandwidth of 3, where there are 5");
    SUNMatrix turned = SUNBandMatrix(N, 3, 5, b.sun);
    assert_int_equal(call(&b, turned, true, 0.3), -1);
    says(b.s, TN_ETYPE, "an upper bandwidth of 3, where there are 5");
    SUNMatrix small = SUNSparseMatrix(N, N, 14, CSC_MAT, b.sun), other = SUNDenseMatrix(N, N - 1, b.sun);
    assert_int_equal(call(&b, small, false, 0.3), -1);
    says(b.s, TN_ETYPE, "room for 14, where there are 15");
    assert_int_equal(call(&b, other, false, 0.3), -1);
    says(b.s, TN_ETYPE, "rows or columns: 6, where there are 7");
    assert_int_equal(call(&b, NULL, false, 0.3), -1);
    says(b.s, TN_EINVAL, "not dense, band or sparse");
    SUNMatDestroy(wide), SUNMatDestroy(narrow), SUNMatDestroy(turned), SUNMatDestroy(small), SUNMatDestroy(other);
    bench_free(&b);
}

/* J v is the matrix times v. */
static void products(void **state) {
    (void)state;
    bench b = bench_of(0.3);
    const double v[N] = {1, 2, -3, 0.5, 0.25, -1, 4};
    N_Vector x = vector_of(b.sun, N, v), jv = vector_of(b.sun, N, NULL);
    assert_int_equal(tn_sundials_jtimes(x, jv, 0.3, b.y, NULL, b.s, NULL), 0);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) sum += b.j[i][j] * v[j];
        assert_true(fabs(NV_Ith_S(jv, i) - sum) <= 1e-15 * 40);
    }
    N_VDestroy(x), N_VDestroy(jv);
    bench_free(&b);
}

/* Indices have the width that SUNDIALS was built with. */
static void indices(void **state) {
    (void)state;
    bench b = bench_of(0.3);
    SUNMatrix m = tn_sundials_matrix(b.s, TN_SUNDIALS_SPARSE, false, b.sun);
    assert_non_null(m);
    assert_true(sizeof *SM_INDEXPTRS_S(m) == sizeof(sunindextype));
    static const int columns[N + 1] = {0, 3, 5, 8, 10, 11, 13, 15}; /* CSC: where each begins */
    for (int i = 0; i <= N; i++) assert_int_equal(SM_INDEXPTRS_S(m)[i], columns[i]);
    SUNMatDestroy(m);
    bench_free(&b);
}

/* ---- small and empty ---------------------------------------------------------------------------- */

static tn_val nothing(const tn_val *in, void *user) {
    (void)user;
    return tn_zeros_like(in[0]);
}
static tn_val no_change(const tn_val *in, void *user) {
    (void)user;
    return tn_zeros_like(in[1]);
}
static tn_val falling(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(-2.0, tn_sin(in[1]));
}

/* A state of rank 0; and Jacobians without entries: of an ODE the diagonal is left. */
static void edges(void **state) {
    (void)state;
    tn_ctx *c = context();
    SUNContext sun = sun_new();
    const double half = 0.5;
    N_Vector y = vector_of(sun, 1, &half), three = vector_of(sun, 3, NULL);
    tn_sundials_problem q = {.size = sizeof q, .f = tn_trace(c, falling, NULL, TN_ARGS(tn_f64(), tn_f64()))};
    tn_sundials_sizes z = {.size = sizeof z};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_ADJOINT | TN_SUNDIALS_SENSITIVITIES);
    for (int format = TN_SUNDIALS_DENSE; format <= TN_SUNDIALS_SPARSE; format++) {
        SUNMatrix m = tn_sundials_matrix(s, (tn_sundials_format)format, false, sun);
        assert_int_equal(tn_sundials_jac(0, y, NULL, m, s, NULL, NULL, NULL), 0);
        near_to(at(m, 0, 0), -2 * cos(0.5), 1e-15, format_names[format]);
        SUNMatDestroy(m);
    }
    assert_int_equal(tn_sundials_quad_b(0, y, y, y, s), -1); /* there are no parameters */
    says(s, TN_EINVAL, "without parameters to differentiate");
    tn_sundials_free(s);
    for (int kind = TN_SUNDIALS_ODE; kind <= TN_SUNDIALS_ROOTS; kind += TN_SUNDIALS_ROOTS) {
        q = (tn_sundials_problem){.size = sizeof q, .kind = (tn_sundials_kind)kind};
        q.f = kind ? tn_trace(c, nothing, NULL, TN_ARGS(tn_f64(3)))
                   : tn_trace(c, no_change, NULL, TN_ARGS(tn_f64(), tn_f64(3)));
        s = system_of(&q, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES);
        assert_int_equal(tn_sundials_size(s, &z), TN_OK);
        assert_int_equal(z.nnz, kind ? 0 : 3);
        for (int format = TN_SUNDIALS_DENSE; format <= TN_SUNDIALS_SPARSE; format++) {
            SUNMatrix m = tn_sundials_matrix(s, (tn_sundials_format)format, false, sun);
            assert_int_equal(kind ? tn_sundials_roots_jac(three, NULL, m, s, NULL, NULL)
                                  : tn_sundials_jac(0, three, NULL, m, s, NULL, NULL, NULL),
                             0);
            for (int i = 0; i < 9; i++) assert_true(at(m, i / 3, i % 3) == 0);
            SUNMatDestroy(m);
        }
        tn_sundials_free(s);
    }
    N_VDestroy(y), N_VDestroy(three);
    (void)SUNContext_Free(&sun);
    tn_ctx_free(c);
}

/* ---- indices as parameters -------------------------------------------------------------------------- */

/* y'_i = -y_i + y_(next[i]), as a DAE or an ODE; next i64[N], a parameter. */
static tn_val pulled(const tn_val *in, void *user) {
    const bool dae = user;
    const tn_val f = tn_sub(tn_take(in[1], in[dae ? 3 : 2], 0, TN_CLIP_INDICES), in[1]);
    return dae ? tn_sub(in[2], f) : f;
}

/* Where indices are known the pattern is as sparse as it can be, where not it is dense, and says why. */
static void known_indices(void **state) {
    (void)state;
    tn_ctx *c = context();
    const int64_t next[N] = {3, 0, 6, 1, 1, 5, 2};
    for (int dae = 0; dae < 2; dae++) {
        bool yes = true;
        tn_sundials_problem q = {.size = sizeof q, .kind = dae ? TN_SUNDIALS_DAE : TN_SUNDIALS_ODE};
        q.f = dae ? tn_trace(c, pulled, &yes, TN_ARGS(tn_f64(), tn_f64(N), tn_f64(N), tn_i64(N)))
                  : tn_trace(c, pulled, NULL, TN_ARGS(tn_f64(), tn_f64(N), tn_i64(N)));
        tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN);
        tn_sundials_sizes z = {.size = sizeof z};
        assert_int_equal(tn_sundials_size(s, &z), TN_OK);
        assert_int_equal(z.nnz, N * N);
        assert_non_null(tn_sparsity_warning(tn_sundials_pattern(s), 0));
        assert_non_null(strstr(tn_sparsity_warning(tn_sundials_pattern(s), 0), "test_traps.c:"));
        tn_sundials_free(s);
        const void *known[4] = {NULL};
        known[dae ? 3 : 2] = next;
        s = tn_sundials_new(&q, &(tn_sundials_options){
                                    .size = sizeof(tn_sundials_options), .with = TN_SUNDIALS_JACOBIAN, .known = known});
        if (tn_sundials_status(s)) fail_msg("%s", tn_sundials_error(s));
        assert_int_equal(tn_sundials_size(s, &z), TN_OK);
        assert_int_equal(z.nnz, N + N - 1); /* 5 pulls itself */
        assert_null(tn_sparsity_warning(tn_sundials_pattern(s), 0));
        assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(next)), TN_OK);
        SUNContext sun = sun_new();
        N_Vector y = vector_of(sun, N, NULL);
        SUNMatrix m = tn_sundials_matrix(s, TN_SUNDIALS_SPARSE, false, sun);
        assert_int_equal(dae ? tn_sundials_residual_jac(0, 10, y, y, NULL, m, s, NULL, NULL, NULL)
                             : tn_sundials_jac(0, y, NULL, m, s, NULL, NULL, NULL),
                         0);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                const double f = (next[i] == j) - (i == j);
                assert_true(at(m, i, j) == (dae ? 10 * (i == j) - f : f));
            }
        SUNMatDestroy(m);
        N_VDestroy(y);
        (void)SUNContext_Free(&sun);
        tn_sundials_free(s);
    }
    tn_ctx_free(c);
}

/* ---- a hundred thousand unknowns -------------------------------------------------------------------- */

static tn_val plate(const tn_val *in, void *user) {
    (void)user;
    const int64_t n = tn_dim(in[1], 0);
    const tn_val u = tn_pad(in[1], 0.0, tn_ints(1, 1), tn_ints(1, 1), tn_ints(0, 0));
    const tn_val a = tn_slice_axis(u, 1, n + 1, 1, 1), b = tn_slice_axis(u, 1, n + 1, 1, 0);
    const tn_val up = tn_slice_axis(a, 0, n, 1, 0), down = tn_slice_axis(a, 2, n + 2, 1, 0);
    const tn_val left = tn_slice_axis(b, 0, n, 1, 1), right = tn_slice_axis(b, 2, n + 2, 1, 1);
    const tn_val around = tn_add(tn_add(up, tn_mul(3.0, down)), tn_add(tn_mul(0.5, left), right));
    return tn_sub(around, tn_mul(in[1], tn_exp(in[1])));
}

/* The matrix times a vector is J v, and the transposed one times it is what rhs_b has. */
static void large(void **state) {
    (void)state;
    enum { SIDE = 320, MANY = SIDE * SIDE };
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q,
                                   .f = tn_trace(c, plate, NULL, TN_ARGS(tn_f64(), tn_f64(SIDE, SIDE)))};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN | TN_SUNDIALS_TIMES | TN_SUNDIALS_ADJOINT);
    tn_sundials_sizes z = {.size = sizeof z};
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_int_equal(z.nnz, 5 * MANY - 4 * SIDE);
    assert_true(z.lower == SIDE && z.upper == SIDE);
    SUNContext sun = sun_new();
    N_Vector y = vector_of(sun, MANY, NULL), v = vector_of(sun, MANY, NULL), r[2];
    for (int i = 0; i < 2; i++) r[i] = vector_of(sun, MANY, NULL);
    for (int i = 0; i < MANY; i++) NV_Ith_S(y, i) = sin(0.1 * i), NV_Ith_S(v, i) = cos(0.3 * i);
    for (int transposed = 0; transposed < 2; transposed++) {
        SUNMatrix m = tn_sundials_matrix(s, TN_SUNDIALS_SPARSE, transposed, sun);
        assert_int_equal(transposed ? tn_sundials_jac_b(0, y, v, NULL, m, s, NULL, NULL, NULL)
                                    : tn_sundials_jac(0, y, NULL, m, s, NULL, NULL, NULL),
                         0);
        assert_int_equal(SUNMatMatvec(m, v, r[0]), 0);
        assert_int_equal(
            transposed ? tn_sundials_rhs_b(0, y, v, r[1], s) : tn_sundials_jtimes(v, r[1], 0, y, NULL, s, NULL), 0);
        for (int i = 0; i < MANY; i++) assert_true(fabs(NV_Ith_S(r[0], i) - NV_Ith_S(r[1], i)) < 1e-13);
        SUNMatDestroy(m);
    }
    N_VDestroy(y), N_VDestroy(v), N_VDestroy(r[0]), N_VDestroy(r[1]);
    (void)SUNContext_Free(&sun);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

/* ---- return codes ------------------------------------------------------------------------------ */

/* y' = -sqrt(y): finite as long as a step does not go below 0.  (t, y [1], c) */
static tn_val draining(const tn_val *in, void *user) {
    (void)user;
    return tn_neg(tn_mul(in[2], tn_sqrt(in[1])));
}
/* The same with an assertion in place of a NaN. */
static tn_val asserting(const tn_val *in, void *user) {
    tn_assert(tn_ge(tn_at(in[1], 0), -1.0), "the level is below -1");
    return draining(in, user);
}

static const double one = 1;

static int drain(tn_sundials *s, double y0, double t1, double *y1) {
    SUNContext sun = sun_new();
    N_Vector y = vector_of(sun, 1, &y0);
    double t = 0;
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(&one)), TN_OK);
    void *mem = CVodeCreate(CV_BDF, sun);
    linear l = linear_of(s, TN_SUNDIALS_DENSE, false, y, sun);
    assert_int_equal(CVodeSetErrHandlerFn(mem, silent, NULL), 0);
    assert_int_equal(CVodeInit(mem, tn_sundials_rhs, 0, y), 0);
    assert_int_equal(CVodeSStolerances(mem, 1e-3, 1e-6), 0);
    assert_int_equal(CVodeSetUserData(mem, s), 0);
    assert_int_equal(CVodeSetLinearSolver(mem, l.solver, l.matrix), 0);
    assert_int_equal(CVodeSetJacFn(mem, tn_sundials_jac), 0);
    const int flag = CVode(mem, t1, y, &t, CV_NORMAL);
    *y1 = NV_Ith_S(y, 0);
    CVodeFree(&mem);
    linear_free(&l);
    N_VDestroy(y);
    (void)SUNContext_Free(&sun);
    return flag;
}

static void not_finite(void **state) {
    (void)state;
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q,
                                   .f = tn_trace(c, draining, NULL, TN_ARGS(tn_f64(), tn_f64(1), tn_f64()))};
    tn_sundials *s = system_of(&q, TN_SUNDIALS_JACOBIAN);
    tn_sundials_sizes z = {.size = sizeof z};
    double y1;
    /* y = (1 - t/2)^2, up to just before it is 0, where trial steps go below: CVODE recovers by shorter ones. */
    assert_int_equal(drain(s, 1, 1.999, &y1), CV_SUCCESS);
    assert_true(fabs(y1) < 1e-3);
    assert_int_equal(tn_sundials_size(s, &z), TN_OK);
    assert_true(z.not_finite > 0);
    says(s, TN_ECALLBACK, "f: its element 0 is not a number");
    assert_int_equal(drain(s, -1, 1, &y1), CV_FIRST_RHSFUNC_ERR); /* there is no shorter step */
    says(s, TN_ECALLBACK, "f: its element 0 is not a number");
    /* f is finite at 0, its derivative is not. */
    SUNContext sun = sun_new();
    N_Vector y = vector_of(sun, 1, NULL);
    SUNMatrix m = tn_sundials_matrix(s, TN_SUNDIALS_SPARSE, false, sun);
    assert_int_equal(tn_sundials_jac(0, y, NULL, m, s, NULL, NULL, NULL), 1);
    says(s, TN_ECALLBACK, "the Jacobian: its entry in row 0, column 0 is infinite");
    SUNMatDestroy(m);
    N_VDestroy(y);
    (void)SUNContext_Free(&sun);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

static void fatal(void **state) {
    (void)state;
    tn_ctx *c = context();
    const tn_sundials_problem q = {.size = sizeof q,
                                   .f = tn_trace(c, asserting, NULL, TN_ARGS(tn_f64(), tn_f64(1), tn_f64()))};
    tn_sundials *s = tn_sundials_new(&q, NULL);
    assert_int_equal(tn_sundials_status(s), TN_OK);
    const double low = -2;
    SUNContext sun = sun_new();
    N_Vector y = vector_of(sun, 1, &low), d = vector_of(sun, 1, NULL);
    assert_int_equal(tn_sundials_rhs(0, y, d, s), -1);
    says(s, TN_EINVAL, "the parameters have no values");
    assert_int_equal(tn_sundials_parameters(s, TN_RAW_INPUTS(&one)), TN_OK);
    assert_int_equal(tn_sundials_rhs(0, y, d, s), -1);
    says(s, TN_EASSERT, "f: ");
    says(s, TN_EASSERT, "the level is below -1");
    N_VDestroy(y), N_VDestroy(d);
    (void)SUNContext_Free(&sun);
    tn_sundials_free(s);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_zero), cmocka_unit_test(diagonal),      cmocka_unit_test(transposed_for_nothing),
        cmocka_unit_test(widths),     cmocka_unit_test(products),      cmocka_unit_test(indices),
        cmocka_unit_test(edges),      cmocka_unit_test(known_indices), cmocka_unit_test(large),
        cmocka_unit_test(not_finite), cmocka_unit_test(fatal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
