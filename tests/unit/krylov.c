/* tn_cg, tn_gmres, tn_linear_transpose: solutions and derivatives against tn_solve, what they tell, what does not
 * converge. */
#include "tansy/krylov.h"
#include "unit/tracing.h"

enum { N = 6 };

typedef struct problem {
    tn_krylov_options options;
    tn_val a, d;
    bool gmres, captures;
} problem;

static tn_val product(const tn_val *in, void *user) { return tn_matmul(((const problem *)user)->a, in[0]); }
static tn_val scaled(const tn_val *in, void *user) { return tn_div(in[0], ((const problem *)user)->d); }

/* m -> a matrix that is far from symmetric for gmres, symmetric and positive definite for cg */
static tn_val matrix(const problem *k, tn_val m) {
    const tn_val eye = tn_eye(tn_val_ctx(m), TN_F64, N, N);
    if (k->gmres) return tn_add(tn_mul(tn_sin(m), 0.7), tn_mul(eye, 2.0));
    return tn_add(tn_matmul(m, tn_matrix_transpose(m)), eye);
}

static tn_val energy(tn_val x) { return tn_sum(tn_mul(tn_square(x), tn_cos(x))); }

static void krylov_energy(const tn_val *in, tn_val *out, void *user) {
    problem *k = user;
    tn_krylov_info info = {.size = sizeof info};
    k->a = matrix(k, in[0]);
    k->d = tn_diag(k->a);
    const tn_val b = tn_exp(in[1]);
    const tn_val x = k->gmres ? tn_gmres(product, k, b, &k->options, &info) : tn_cg(product, k, b, &k->options, &info);
    out[0] = energy(x);
    out[1] = info.iterations;
    out[2] = info.residual;
    out[3] = info.converged;
}
static tn_val value(const tn_val *in, void *user) {
    tn_val out[4];
    krylov_energy(in, out, user);
    return out[0];
}
static tn_val dense(const tn_val *in, void *user) { return energy(tn_solve(matrix(user, in[0]), tn_exp(in[1]))); }

static tn_fn *traced(tn_ctx *c, tn_trace_fn f, void *user, size_t n, const tn_type *in) {
    tn_fn *p = tn_trace(c, f, user, n, in);
    if (!p) fail_msg("%s", tn_error(c));
    return p;
}

/* All outputs of both at the same inputs: m, b, then tangents. */
static void same(const tn_fn *f, const tn_fn *g, double tolerance) {
    static double in[4][3 * N * N], y[4][N * N * N * N], z[4][N * N * N * N];
    const void *x[4];
    void *out[4], *want[4];
    assert_non_null(f);
    assert_non_null(g);
    assert_true(f->nin <= 4 && f->nout <= 4 && f->nout == g->nout);
    for (int i = 0; i < 4; i++) {
        x[i] = in[i];
        out[i] = y[i];
        want[i] = z[i];
        for (int j = 0; j < 3 * N * N; j++) in[i][j] = sin(1.0 + 3 * j + 7 * i);
    }
    run(f, x, out);
    run(g, x, want);
    for (uint32_t j = 0; j < f->nout; j++) close_to(y[j], z[j], (size_t)tn_i_count(f->val[f->out[j]].type), tolerance);
}

static const tn_krylov_options tight = {.size = sizeof tight, .tol = 1e-13, .maxiter = 500};

static problem of_case(int k) {
    problem p = {.options = tight, .gmres = k % 2};
    if (k / 2 % 2) p.options.preconditioner = scaled;
    if (k / 4 % 2) p.options.restart = 4;
    return p;
}

static void derivatives(void **state) {
    (void)state;
    for (int k = 0; k < 8; k++) {
        tn_ctx *c = checked();
        problem p = of_case(k);
        const tn_fn *f = traced(c, value, &p, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
        const tn_fn *g = traced(c, dense, &p, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
        same(tn_value_and_grad(f, NULL, NULL), tn_value_and_grad(g, NULL, NULL), 1e-10);
        same(tn_jvp(f, NULL), tn_jvp(g, NULL), 1e-10);
        same(tn_jvp(tn_grad(f, NULL, NULL), NULL), tn_jvp(tn_grad(g, NULL, NULL), NULL), 1e-9);
        same(tn_hessian(f, tn_wrt(1), NULL, 0), tn_hessian(g, tn_wrt(1), NULL, 0), 1e-9);
        same(tn_vmap(tn_value_and_grad(f, NULL, NULL), 3, NULL, NULL),
             tn_vmap(tn_value_and_grad(g, NULL, NULL), 3, NULL, NULL), 1e-10);
        tn_ctx_free(c);
    }
}

/* In f32 and of any shape: an operator on [2, 3]; of rank 0; of nothing. */
static tn_val shifted(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_mul(in[0], 3.0), tn_mul(tn_rank(in[0]) ? tn_roll(in[0], 1, -1) : in[0], 0.5));
}
static tn_val solve_shifted(const tn_val *in, void *user) {
    const tn_val x = tn_gmres(shifted, NULL, in[0], user, NULL);
    return tn_sub(shifted(&x, NULL), in[0]);
}
static void shapes(void **state) {
    (void)state;
    tn_ctx *c = checked();
    float b[6] = {1, -2, 3, 0.5f, 4, -1}, rest[6];
    const tn_krylov_options o = {.size = sizeof o, .tol = 1e-6};
    run(traced(c, solve_shifted, (void *)(uintptr_t)&o, 1, TN_TYPES(tn_f32(2, 3))), TN_INPUTS(b), TN_OUTPUTS(rest));
    for (int i = 0; i < 6; i++) assert_true(fabsf(rest[i]) < 1e-4f);
    run(traced(c, solve_shifted, NULL, 1, TN_TYPES(tn_f32())), TN_INPUTS(b), TN_OUTPUTS(rest));
    assert_true(fabsf(rest[0]) < 1e-4f);
    run(traced(c, solve_shifted, NULL, 1, TN_TYPES(tn_f32(0, 2))), TN_INPUTS(b), TN_OUTPUTS(rest));
    const float zeros[6] = {0};
    run(traced(c, solve_shifted, NULL, 1, TN_TYPES(tn_f32(6))), TN_INPUTS(zeros), TN_OUTPUTS(rest));
    for (int i = 0; i < 6; i++) assert_true(rest[i] == 0);
    tn_ctx_free(c);
}

/* What is told; what has not converged is NaN, in derivatives too, but with `inexact`. */
static void convergence(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        tn_ctx *c = checked();
        problem p = of_case(k);
        double m[N * N], b[N], y, residual, grad[N];
        int64_t iterations;
        bool converged;
        for (int i = 0; i < N * N; i++) m[i] = sin(1.0 + 3 * i);
        for (int i = 0; i < N; i++) b[i] = cos(i);
        const tn_type types[] = {tn_f64(N, N), tn_f64(N)};
        run(tn_trace_many(c, krylov_energy, &p, 2, types, 4), TN_INPUTS(m, b),
            TN_OUTPUTS(&y, &iterations, &residual, &converged));
        assert_true(converged && isfinite(y) && residual <= 1e-11 && iterations >= 2 && iterations <= 3 * N);
        p.options.maxiter = 2;
        run(tn_trace_many(c, krylov_energy, &p, 2, types, 4), TN_INPUTS(m, b),
            TN_OUTPUTS(&y, &iterations, &residual, &converged));
        assert_true(!converged && isnan(y) && residual > 1e-6 && iterations == 2);
        run(tn_grad(traced(c, value, &p, 2, types), tn_wrt(1), NULL), TN_INPUTS(m, b), TN_OUTPUTS(grad));
        assert_true(isnan(grad[0]));
        p.options.inexact = true;
        run(tn_trace_many(c, krylov_energy, &p, 2, types, 4), TN_INPUTS(m, b),
            TN_OUTPUTS(&y, &iterations, &residual, &converged));
        assert_true(!converged && isfinite(y) && residual > 1e-6);
        p.options = (tn_krylov_options){.size = sizeof p.options, .atol = 1e3};
        run(tn_trace_many(c, krylov_energy, &p, 2, types, 4), TN_INPUTS(m, b),
            TN_OUTPUTS(&y, &iterations, &residual, &converged));
        assert_true(converged && y == 0 && iterations == 0);
        tn_ctx_free(c);
    }
}

/* A permutation, over which residuals stand still, and a singular matrix. */
static tn_val turned(const tn_val *in, void *user) {
    (void)user;
    return tn_roll(in[0], 1, 0);
}
static tn_val by_turns(const tn_val *in, void *user) { return tn_gmres(turned, user, in[0], &tight, NULL); }
static tn_val differences(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(in[0], tn_roll(in[0], 1, 0));
}
static tn_val singular(const tn_val *in, void *user) { return tn_gmres(differences, user, in[0], &tight, NULL); }
static void stagnation(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double b[N] = {1, 0, 0, 0, 0, 0};
    double x[N];
    run(traced(c, by_turns, NULL, 1, TN_TYPES(tn_f64(N))), TN_INPUTS(b), TN_OUTPUTS(x));
    close_to(x, P(0, 0, 0, 0, 0, 1), N, 1e-13);
    run(traced(c, singular, NULL, 1, TN_TYPES(tn_f64(N))), TN_INPUTS(b), TN_OUTPUTS(x));
    assert_true(isnan(x[0]));
    tn_ctx_free(c);
}

static tn_val rectangle(const tn_val *in, void *user) { return tn_matmul(*(tn_val *)user, in[0]); }
static tn_val transposed(const tn_val *in, void *user) {
    tn_val a = in[0];
    (void)user;
    return tn_linear_transpose(rectangle, &a, tn_f64(3), in[1]);
}
static tn_val curved(const tn_val *in, void *user) {
    (void)user;
    return tn_square(in[0]);
}
static tn_val refused_case(const tn_val *in, void *user) {
    const tn_krylov_options negative = {.size = sizeof negative, .tol = -1}, unsized = {0};
    tn_krylov_info info = {0};
    switch (*(const int *)user) {
    case 0: return tn_cg(NULL, NULL, in[0], NULL, NULL);
    case 1: return tn_cg(shifted, NULL, in[0], &negative, NULL);
    case 2: return tn_cg(shifted, NULL, in[0], &unsized, NULL);
    case 3: return tn_gmres(shifted, NULL, in[0], NULL, &info);
    case 4: return tn_gmres(curved, NULL, in[0], NULL, NULL);
    case 5: return tn_cg(shifted, NULL, tn_convert(in[0], TN_I32), NULL, NULL);
    case 6: return tn_linear_transpose(curved, NULL, tn_f64(3), in[0]);
    case 7: return tn_linear_transpose(NULL, NULL, tn_f64(3), in[0]);
    default: return tn_linear_transpose(shifted, NULL, tn_f64(4), in[0]);
    }
}
static void refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double a[] = {1, 2, 3, 4, 5, 6}, ct[] = {1, -1};
    double x[3];
    run(traced(c, transposed, NULL, 2, TN_TYPES(tn_f64(2, 3), tn_f64(2))), TN_INPUTS(a, ct), TN_OUTPUTS(x));
    close_to(x, P(-3, -3, -3), 3, 0);
    static const struct {
        tn_status status;
        const char *why;
    } rows[] = {
        {TN_EINVAL, "cg: matvec is NULL"},
        {TN_EINVAL, "cg: tol and atol"},
        {TN_EINVAL, "tn_krylov_options: its size"},
        {TN_EINVAL, "tn_krylov_info: its size"},
        {TN_ELINEAR, "not linear"},
        {TN_ETYPE, "not of floats"},
        {TN_ELINEAR, "not linear"},
        {TN_EINVAL, "callback is NULL"},
        {TN_ETYPE, "f's result is f64[4]"},
    };
    for (int k = 0; k < (int)COUNT(rows); k++) {
        assert_null(tn_trace(c, refused_case, &k, 1, TN_TYPES(tn_f64(3))));
        if (tn_last_status(c) != rows[k].status || !strstr(tn_error(c), rows[k].why) ||
            !strstr(tn_error(c), "krylov.c:"))
            fail_msg("case %d: %d, %s", k, (int)tn_last_status(c), tn_error(c));
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives), cmocka_unit_test(shapes),  cmocka_unit_test(convergence),
        cmocka_unit_test(stagnation),  cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
