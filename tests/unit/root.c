/* custom_root: derivatives of every order against closed forms and differences; captured values, several unknowns,
 * batches; that nothing of `solve` is differentiated; the residual; and what is refused. */
#include "prims/prim.h"
#include "unit/tracing.h"

#include <stdlib.h>

static tn_fn *traced(tn_ctx *c, tn_trace_fn f, void *user, size_t n, const tn_type *in) {
    tn_fn *p = tn_trace(c, f, user, n, in);
    if (!p) fail_msg("%s", tn_error(c));
    return p;
}

static size_t count(const tn_fn *f, const char *prim) {
    size_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) n += strcmp(f->eqn[i].prim->name, prim) == 0;
    return n;
}

/* ---- square root -------------------------------------------------------------------------------- */

static tn_val square_minus(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_square(in[0]), in[1]);
}

static tn_val newton_sqrt(const tn_val *in, void *user) {
    const int *steps = user;
    tn_val x = in[0];
    for (int i = 0; i < *steps; i++) x = tn_mul(tn_add(x, tn_div(in[1], x)), 0.5);
    return x;
}

static tn_val root_of(const tn_val *in, void *user) { /* first guess, p */
    return tn_custom_root(square_minus, newton_sqrt, NULL, user, in[0], 1, &in[1], NULL);
}

static tn_val root_of_square(const tn_val *in, void *user) { /* p^(3/2) */
    return tn_mul(in[1], root_of(in, user));
}

static void square_root(void **state) {
    (void)state;
    int steps = 9;
    for (int dtype = TN_F32; dtype <= TN_F64; dtype++) {
        tn_ctx *c = checked();
        const tn_type t = tn_type_of((tn_dtype)dtype, 0, NULL);
        const tn_fn *f = traced(c, root_of_square, &steps, 2, (const tn_type[]){t, t});
        const double p = 5, want[] = {pow(p, 1.5), 1.5 * sqrt(p), 0.75 / sqrt(p), -0.375 * pow(p, -1.5),
                                      0.5625 * pow(p, -2.5)};
        for (int order = 0; order <= 4; order++) {
            double x0 = 2, at = p, y = 0;
            float narrow[2] = {2, (float)p}, z = 0;
            if (dtype == TN_F64)
                run(f, TN_INPUTS(&x0, &at), TN_OUTPUTS(&y));
            else
                run(f, TN_INPUTS(&narrow[0], &narrow[1]), TN_OUTPUTS(&z));
            if (dtype == TN_F32) y = (double)z;
            if (!(fabs(y - want[order]) <= (dtype == TN_F64 ? 1e-13 : 1e-5) * fabs(want[order])))
                fail_msg("derivative %d is %.17g, not %.17g", order, y, want[order]);
            f = order % 2 ? tn_jacfwd(f, tn_wrt(1), 0) : tn_grad(f, tn_wrt(1), NULL);
            assert_non_null(f);
        }
        tn_ctx_free(c);
    }
}

/* The first guess has no derivative; a whole array of independent roots has the dense rule's. */
static void first_guess(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int steps = 9;
    const tn_fn *f = traced(c, root_of, &steps, 2, TN_TYPES(tn_f64(2, 2), tn_f64(2, 2)));
    const double x0[] = {1, 2, 3, 4}, p[] = {1, 4, 9, 16}, ct[] = {1, 2, 3, 4};
    double y[4], g0[4], g[4];
    run(tn_vjp(f, NULL, NULL), TN_INPUTS(x0, p, ct), TN_OUTPUTS(y, g0, g));
    close_to(y, P(1, 2, 3, 4), 4, 1e-15);
    close_to(g0, P(0, 0, 0, 0), 4, 0);
    close_to(g, P(0.5, 0.5, 0.5, 0.5), 4, 1e-15);
    assert_int_equal(tn_jvp(f, tn_wrt(0))->neqn, f->neqn + 1); /* zeros */
    tn_ctx_free(c);
}

/* ---- a system of five ----------------------------------------------------------------------------- */

enum { N = 5 };

/* x - p - q sin(roll x): a contraction for |q| < 1. */
static tn_val system_of(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_sub(in[0], in[1]), tn_mul(in[2], tn_sin(tn_roll(in[0], 1, 0))));
}

typedef struct how {
    int steps;
    bool by_user;
    tn_val p, q; /* captured, not given */
} how;

static tn_val iterate(const tn_val *in, void *user) {
    const how *h = user;
    tn_val x = in[0];
    for (int i = 0; i < h->steps; i++) x = tn_add(in[1], tn_mul(in[2], tn_sin(tn_roll(x, 1, 0))));
    return x;
}

/* The same Jacobian, by hand. */
static tn_val jacobian_solve(const tn_val *in, void *user) { /* x, p, q, r */
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    const tn_val slope = tn_mul(in[2], tn_cos(tn_roll(in[0], 1, 0)));
    const tn_val eye = tn_eye(c, TN_F64, N, N), turned = tn_roll(eye, 1, 0);
    return tn_solve(tn_sub(eye, tn_mul(tn_expand_dims(slope, 1), turned)), in[3]);
}

static tn_val system_root(const tn_val *in, void *user) { /* p, q */
    const how *h = user;
    return tn_custom_root(system_of, iterate, h->by_user ? jacobian_solve : NULL, user, in[0], 2, in, NULL);
}

static tn_val system_energy(const tn_val *in, void *user) {
    const tn_val x = system_root(in, user);
    return tn_sum(tn_mul(tn_square(x), tn_exp(in[0])));
}

static tn_val captured_system(const tn_val *in, void *user) {
    const how *h = user;
    return system_of((const tn_val[]){in[0], h->p, h->q}, user);
}
static tn_val captured_iterate(const tn_val *in, void *user) {
    const how *h = user;
    return iterate((const tn_val[]){in[0], h->p, h->q}, user);
}
static tn_val captured_jacobian(const tn_val *in, void *user) {
    const how *h = user;
    return jacobian_solve((const tn_val[]){in[0], h->p, h->q, in[1]}, user);
}

static tn_val captured_root(const tn_val *in, void *user) {
    how *h = user;
    h->p = in[0];
    h->q = in[1];
    return tn_custom_root(captured_system, captured_iterate, h->by_user ? captured_jacobian : NULL, h, in[0], 0, NULL,
                          NULL);
}

static const double p5[N] = {0.3, -1.2, 0.8, 2, -0.5}, q5[N] = {0.5, 0.4, -0.6, 0.3, 0.55};

/* dx/dp and dx/dq by elimination: (1 - q cos(roll x) R) dx = dp + sin(roll x) dq. */
static void closed_form(double x[N], double by_p[N * N], double by_q[N * N]) {
    memcpy(x, p5, N * sizeof *x);
    for (int k = 0; k < 100; k++) {
        double y[N];
        for (int i = 0; i < N; i++) y[i] = p5[i] + q5[i] * sin(x[(i + N - 1) % N]);
        memcpy(x, y, sizeof y);
    }
    double m[N][2 * N] = {{0}};
    for (int i = 0; i < N; i++) {
        m[i][i] = 1;
        m[i][(i + N - 1) % N] = -q5[i] * cos(x[(i + N - 1) % N]);
        m[i][N + i] = 1;
    }
    for (int j = 0; j < N; j++) /* Gauss and Jordan; the diagonal dominates */
        for (int i = 0; i < N; i++) {
            if (i == j) continue;
            const double factor = m[i][j] / m[j][j];
            for (int k = 0; k < 2 * N; k++) m[i][k] -= factor * m[j][k];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            by_p[i * N + j] = m[i][N + j] / m[i][i];
            by_q[i * N + j] = by_p[i * N + j] * sin(x[(j + N - 1) % N]);
        }
}

static void system_of_five(void **state) {
    (void)state;
    double x[N], by_p[N * N], by_q[N * N], y[N], jp[N * N], jq[N * N];
    closed_form(x, by_p, by_q);
    static const tn_trace_fn forms[] = {system_root, captured_root};
    for (size_t k = 0; k < 2 * COUNT(forms); k++) {
        tn_ctx *c = checked();
        how h = {.steps = 60, .by_user = k >= COUNT(forms)};
        const tn_fn *f = traced(c, forms[k % COUNT(forms)], &h, 2, TN_TYPES(tn_f64(N), tn_f64(N)));
        run(f, TN_INPUTS(p5, q5), TN_OUTPUTS(y));
        close_to(y, x, N, 1e-15);
        run(tn_jacfwd(f, NULL, 0), TN_INPUTS(p5, q5), TN_OUTPUTS(jp, jq));
        close_to(jp, by_p, N * N, 1e-14);
        close_to(jq, by_q, N * N, 1e-14);
        run(tn_jacrev(f, NULL, NULL, 2), TN_INPUTS(p5, q5), TN_OUTPUTS(jp, jq));
        close_to(jp, by_p, N * N, 1e-14);
        close_to(jq, by_q, N * N, 1e-14);
        tn_ctx_free(c);
    }
}

/* Gradient and Hessian products against differences, in f64 and through f32's copy. */
static void system_checked(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        tn_ctx *c = checked();
        how h = {.steps = 60, .by_user = k == 1};
        const tn_dtype d = k == 2 ? TN_F32 : TN_F64;
        const tn_type t = tn_type_of(d, 1, (const int64_t[]){N});
        const tn_fn *f = traced(c, system_energy, &h, 2, (const tn_type[]){t, t});
        float p[N], q[N];
        for (int i = 0; i < N; i++) p[i] = (float)p5[i], q[i] = (float)q5[i];
        const tn_check_options opt = {.size = sizeof opt, .order = 2};
        const void *const x[] = {k == 2 ? (const void *)p : p5, k == 2 ? (const void *)q : q5};
        if (tn_check_grads(f, x, NULL, &opt)) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
}

/* However long `solve` is, its derivative is the same program. */
static void nothing_of_solve(void **state) {
    (void)state;
    uint32_t equations[2][3];
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        how h = {.steps = k ? 60 : 1};
        const tn_fn *f = traced(c, system_energy, &h, 2, TN_TYPES(tn_f64(N), tn_f64(N)));
        const tn_linearized l = tn_linearize(f, NULL, tn_policy_by_name("everything_saveable"));
        const tn_fn *g = tn_grad(f, NULL, NULL), *hvp = tn_hvp(f, NULL, NULL), *back = tn_transpose(l.linear);
        assert_int_equal(count(g, "custom_root"), 1);
        assert_int_equal(count(g, "lu"), 1);
        assert_int_equal(count(hvp, "custom_root"), 1);
        assert_int_equal(count(l.linear, "custom_root") + count(l.linear, "lu") + count(l.linear, "sin"), 0);
        assert_int_equal(count(back, "custom_root") + count(back, "lu") + count(back, "sin"), 0);
        assert_int_equal(count(back, "lu_solve"), 1);
        equations[k][0] = g->neqn;
        equations[k][1] = hvp->neqn;
        equations[k][2] = back->neqn;
        tn_ctx_free(c);
    }
    assert_memory_equal(equations[0], equations[1], sizeof equations[0]);
}

/* ---- batches ------------------------------------------------------------------------------------- */

enum { LANES = 4 };

static void batches(void **state) {
    (void)state;
    double p[LANES * N], x[LANES * N], jp[LANES * N * N], jq[LANES * N * N], one[N], two[N * N], three[N * N];
    for (int i = 0; i < LANES * N; i++) p[i] = p5[i % N] + 0.1 * i;
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        how h = {.steps = 60, .by_user = k};
        const tn_fn *f = traced(c, system_root, &h, 2, TN_TYPES(tn_f64(N), tn_f64(N)));
        const tn_fn *jac = tn_jacrev(f, NULL, NULL, 0);
        const int axes[] = {0, TN_NOT_MAPPED};
        const tn_fn *mapped = tn_vmap(f, LANES, axes, NULL), *each = tn_vmap(jac, LANES, axes, NULL);
        /* the other way round: a batch of Jacobians, not a Jacobian of the batch */
        const tn_fn *jvp = tn_jvp(mapped, NULL);
        if (!mapped || !each || !jvp) fail_msg("%s", tn_error(c));
        run(mapped, TN_INPUTS(p, q5), TN_OUTPUTS(x));
        run(each, TN_INPUTS(p, q5), TN_OUTPUTS(jp, jq));
        char *text = tn_fn_print(jvp, NULL);
        if (!k && !strstr(text, "f64[4,5,5]")) fail_msg("%s", text);
        if (strstr(text, "[20,20]") || strstr(text, "[20,4,5]")) fail_msg("%s", text);
        tn_text_free(c, text);
        for (int i = 0; i < LANES; i++) {
            double dp[LANES * N] = {0}, dq[N] = {0}, dx[LANES * N], y[LANES * N];
            run(f, TN_INPUTS(p + i * N, q5), TN_OUTPUTS(one));
            run(jac, TN_INPUTS(p + i * N, q5), TN_OUTPUTS(two, three));
            close_to(x + i * N, one, N, 1e-15);
            close_to(jp + i * N * N, two, N * N, 1e-14);
            close_to(jq + i * N * N, three, N * N, 1e-14);
            dp[i * N + 2] = 1;
            run(jvp, TN_INPUTS(p, q5, dp, dq), TN_OUTPUTS(y, dx));
            for (int j = 0; j < LANES * N; j++) close_to(&dx[j], P(j / N == i ? two[j % N * N + 2] : 0), 1, 1e-14);
        }
        tn_ctx_free(c);
    }
}

/* ---- several unknowns, an integer, the residual -------------------------------------------------------- */

/* a^2 = p k and b = sum a + p, for a [2,2], b [3], p [], k i32[]. */
static void two_residuals(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_sub(tn_square(in[0]), tn_mul(in[2], tn_convert(in[3], TN_F64)));
    out[1] = tn_sub(tn_sub(in[1], tn_sum(in[0])), in[2]);
}

static void two_solve(const tn_val *in, tn_val *out, void *user) {
    const double *error = user;
    const tn_val s = tn_sqrt(tn_mul(in[2], tn_convert(in[3], TN_F64)));
    out[0] = tn_add(tn_zeros_like(in[0]), s);
    out[1] = tn_add(tn_add(tn_zeros_like(in[1]), tn_add(tn_mul(s, 4), in[2])), *error);
}

static void two_roots(const tn_val *in, tn_val *out, void *user) { /* p, k */
    tn_ctx *c = tn_val_ctx(in[0]);
    const tn_val x0[2] = {tn_zeros(c, tn_f64(2, 2)), tn_zeros(c, tn_f64(3))};
    tn_custom_root_many(two_residuals, two_solve, NULL, user, 2, x0, 2, in, out, &out[2]);
}

static void several_unknowns(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double error = -0.25, p = 8, a[4], b[3], norm, da[4], db[3], dnorm;
    const int32_t k = 2;
    const tn_fn *f = tn_trace_many(c, two_roots, &error, 2, TN_TYPES(tn_f64(), tn_i32()), 3);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, TN_INPUTS(&p, &k), TN_OUTPUTS(a, b, &norm));
    close_to(a, P(4, 4, 4, 4), 4, 1e-15);
    close_to(b, P(23.75, 23.75, 23.75), 3, 1e-15);
    close_to(&norm, P(0.25), 1, 1e-15);
    /* 2 a da = k dp, db = sum da + dp; the norm has no derivative */
    run(tn_jacfwd(f, NULL, 0), TN_INPUTS(&p, &k), TN_OUTPUTS(da, db, &dnorm));
    close_to(da, P(0.25, 0.25, 0.25, 0.25), 4, 1e-15);
    close_to(db, P(2, 2, 2), 3, 1e-15);
    close_to(&dnorm, P(0), 1, 0);
    run(tn_jacrev(f, NULL, NULL, 0), TN_INPUTS(&p, &k), TN_OUTPUTS(da, db, &dnorm));
    close_to(da, P(0.25, 0.25, 0.25, 0.25), 4, 1e-15);
    close_to(db, P(2, 2, 2), 3, 1e-15);
    error = NAN;
    run(tn_trace_many(c, two_roots, &error, 2, TN_TYPES(tn_f64(), tn_i32()), 3), TN_INPUTS(&p, &k),
        TN_OUTPUTS(a, b, &norm));
    assert_true(isnan(norm));
    tn_ctx_free(c);
}

static tn_val unused_residual(const tn_val *in, void *user) {
    tn_val norm;
    return tn_custom_root(square_minus, newton_sqrt, NULL, user, in[0], 1, &in[1], &norm);
}
static tn_val only_residual(const tn_val *in, void *user) {
    tn_val norm;
    (void)tn_custom_root(square_minus, newton_sqrt, NULL, user, in[0], 1, &in[1], &norm);
    return norm;
}

static void residual(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int steps = 1;
    const tn_fn *f = traced(c, unused_residual, &steps, 2, TN_TYPES(tn_f64(), tn_f64()));
    assert_int_equal(f->neqn, 1);
    f = traced(c, only_residual, &steps, 2, TN_TYPES(tn_f64(), tn_f64()));
    const double x0[] = {2, 4, 1}, p[] = {4, 4, 9};
    double norm[3], g;
    run(tn_vmap(f, 3, NULL, NULL), TN_INPUTS(x0, p), TN_OUTPUTS(norm)); /* of each lane */
    close_to(norm, P(0, 2.25, 16), 3, 0);
    run(tn_grad(f, tn_wrt(1), NULL), TN_INPUTS(x0 + 1, p + 1), TN_OUTPUTS(&g));
    close_to(&g, P(0), 1, 0);
    f = traced(c, only_residual, &steps, 2, TN_TYPES(tn_f64(0), tn_f64(0)));
    run(f, TN_INPUTS(x0, p), TN_OUTPUTS(&g));
    close_to(&g, P(0), 1, 0);
    f = traced(c, root_of, &steps, 2, TN_TYPES(tn_f64(3, 0), tn_f64(3, 0)));
    run(tn_vjp(f, NULL, NULL), TN_INPUTS(x0, p, p), TN_OUTPUTS(norm, norm, norm));
    tn_ctx_free(c);
}

/* At a double root df/dx is 0: no finite derivative, and no error. */
static void singular(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int steps = 0;
    const double zero = 0, p = 1;
    double g;
    const tn_fn *f = traced(c, root_of, &steps, 2, TN_TYPES(tn_f64(), tn_f64()));
    run(tn_grad(f, tn_wrt(1), NULL), TN_INPUTS(&zero, &p), TN_OUTPUTS(&g));
    assert_true(!isfinite(g));
    tn_ctx_free(c);
}

/* ---- what is refused -------------------------------------------------------------------------------- */

static tn_val too_long(const tn_val *in, void *user) {
    (void)user;
    return tn_concatenate(tn_vals(in[0], in[0]), 0);
}
static tn_val not_linear(const tn_val *in, void *user) {
    (void)user;
    return tn_add(in[2], 1.0);
}
static tn_val without_rhs(const tn_val *in, void *user) {
    (void)user;
    return in[0];
}
static tn_val printing(const tn_val *in, void *user) {
    tn_print(tn_val_ctx(in[0]), "f", 1, in);
    return square_minus(in, user);
}
static tn_val failing(const tn_val *in, void *user) {
    (void)user;
    return tn_matmul(in[0], tn_sum(in[0]));
}

static const struct {
    tn_trace_fn f, solve, linear_solve;
    tn_status status;
    const char *why;
} bad[] = {
    {NULL, newton_sqrt, NULL, TN_EINVAL, "NULL"},
    {square_minus, NULL, NULL, TN_EINVAL, "NULL"},
    {too_long, newton_sqrt, NULL, TN_ETYPE, "f's output 0"},
    {square_minus, too_long, NULL, TN_ETYPE, "solve's output 0"},
    {square_minus, newton_sqrt, too_long, TN_ELINEAR, ""},
    {square_minus, newton_sqrt, not_linear, TN_ELINEAR, "linear"},
    {square_minus, newton_sqrt, without_rhs, TN_ELINEAR, "linear"},
    {printing, newton_sqrt, NULL, TN_ETYPE, "effects"},
    {square_minus, newton_sqrt, printing, TN_ELINEAR, ""},
    {failing, newton_sqrt, NULL, TN_ETYPE, "matmul"},
};

static tn_val refused_root(const tn_val *in, void *user) {
    int steps = 1;
    const size_t *k = user;
    return tn_custom_root(bad[*k].f, bad[*k].solve, bad[*k].linear_solve, &steps, in[0], 1, &in[1], NULL);
}

static tn_val whole_numbers(const tn_val *in, void *user) {
    return tn_custom_root(square_minus, without_rhs, NULL, user, in[0], 1, &in[1], NULL);
}
static void no_unknown(const tn_val *in, tn_val *out, void *user) {
    tn_custom_root_many(two_residuals, two_solve, NULL, user, 0, in, 1, in, out, NULL);
    out[0] = in[0];
}

static void refused(void **state) {
    (void)state;
    const tn_ctx_options opt = {.size = sizeof opt, .check = -1};
    tn_ctx *c = tn_ctx_new(&opt);
    for (size_t k = 0; k < COUNT(bad); k++) {
        assert_null(tn_trace(c, refused_root, &k, 2, TN_TYPES(tn_f64(2), tn_f64(2))));
        if (tn_last_status(c) != bad[k].status || !strstr(tn_error(c), bad[k].why))
            fail_msg("case %zu: %d, %s", k, (int)tn_last_status(c), tn_error(c));
        assert_non_null(strstr(tn_error(c), "root.c:"));
    }
    assert_null(tn_trace(c, whole_numbers, NULL, 2, TN_TYPES(tn_i32(2), tn_i32(2))));
    assert_non_null(strstr(tn_error(c), "float"));
    assert_null(tn_trace_many(c, no_unknown, NULL, 1, TN_TYPES(tn_f64()), 1));
    assert_non_null(strstr(tn_error(c), "no unknown"));
    assert_null(c->fns);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(square_root),      cmocka_unit_test(first_guess),      cmocka_unit_test(system_of_five),
        cmocka_unit_test(system_checked),   cmocka_unit_test(nothing_of_solve), cmocka_unit_test(batches),
        cmocka_unit_test(several_unknowns), cmocka_unit_test(residual),         cmocka_unit_test(singular),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
