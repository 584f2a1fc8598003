/* custom_linear_solve: derivatives of every order against tn_solve, in all nestings; that nothing of the solvers is
 * differentiated; symmetric systems, several right-hand sides, further results, batches, use inside rules; what is
 * refused, and what is printed. */
#include "prims/prim.h"
#include "unit/tracing.h"

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

/* ---- Richardson's iteration, which no rule can differentiate in its steps ------------------------------- */

enum { N = 3 };

static tn_val product(const tn_val *in, void *user) { /* a, x -> a x */
    (void)user;
    return tn_matmul(in[0], in[1]);
}

typedef struct iteration {
    tn_val a, b;
} iteration;

static tn_val goes_on(const tn_val *in, void *user) {
    const iteration *k = user;
    const tn_val rest = tn_sub(k->b, tn_matmul(k->a, in[0]));
    return tn_gt(tn_max(tn_abs(rest)), 2e-14); /* no closer, whoever rounds */
}

static void next(const tn_val *in, tn_val *out, void *user) {
    const iteration *k = user;
    out[0] = tn_add(in[0], tn_mul(tn_sub(k->b, tn_matmul(k->a, in[0])), 0.5));
}

static tn_val iterate(tn_val a, tn_val b) {
    iteration k = {a, b};
    const tn_val zero = tn_zeros_like(b);
    tn_val x;
    const tn_loop_options options = {.size = sizeof options};
    tn_while_loop(tn_val_ctx(b), goes_on, next, &k, 1, &zero, &x, &options);
    return x;
}

static tn_val richardson(const tn_val *in, void *user) {
    (void)user;
    return iterate(in[0], in[1]);
}
static tn_val richardson_transposed(const tn_val *in, void *user) {
    (void)user;
    return iterate(tn_matrix_transpose(in[0]), in[1]);
}

/* a near 1.5: the iteration contracts; entries of both inputs count */
static tn_val matrix(tn_val m) {
    return tn_add(tn_mul(tn_sin(m), 0.2), tn_mul(tn_eye(tn_val_ctx(m), TN_F64, N, N), 1.5));
}

static tn_val energy(tn_val x) { return tn_sum(tn_mul(tn_square(x), tn_cos(x))); }

static tn_val by_iteration(const tn_val *in, void *user) {
    const tn_val a = matrix(in[0]);
    return energy(tn_custom_linear_solve(product, richardson, richardson_transposed, user, 1, &a, tn_exp(in[1])));
}

static tn_val captured_product(const tn_val *in, void *user) { return tn_matmul(*(tn_val *)user, in[0]); }
static tn_val captured_solve(const tn_val *in, void *user) { return iterate(*(tn_val *)user, in[0]); }
static tn_val captured_transposed(const tn_val *in, void *user) {
    return iterate(tn_matrix_transpose(*(tn_val *)user), in[0]);
}
static tn_val by_captured(const tn_val *in, void *user) {
    tn_val a = matrix(in[0]);
    (void)user;
    return energy(
        tn_custom_linear_solve(captured_product, captured_solve, captured_transposed, &a, 0, NULL, tn_exp(in[1])));
}

static tn_val dense(const tn_val *in, void *user) {
    (void)user;
    return energy(tn_solve(matrix(in[0]), tn_exp(in[1])));
}

/* ---- against tn_solve ------------------------------------------------------------------------------------ */

/* All outputs of both, at the same inputs: m, b, and then tangents and cotangents. */
static void same(const tn_fn *f, const tn_fn *g, double tolerance) {
    double in[6][N * N], y[8][N * N * N * N], z[8][N * N * N * N];
    const void *x[6];
    void *out[8], *want[8];
    assert_non_null(f);
    assert_non_null(g);
    assert_true(f->nin <= 6 && f->nout <= 8 && f->nin == g->nin && f->nout == g->nout);
    for (int i = 0; i < 6; i++) {
        x[i] = in[i];
        for (int k = 0; k < N * N; k++) in[i][k] = sin(1.0 + 3 * k + 7 * i) * (i % 2 ? 0.5 : 2);
    }
    for (int j = 0; j < 8; j++) {
        out[j] = y[j];
        want[j] = z[j];
    }
    run(f, x, out);
    run(g, x, want);
    for (uint32_t j = 0; j < f->nout; j++) close_to(y[j], z[j], (size_t)tn_i_count(f->val[f->out[j]].type), tolerance);
}

static void every_order(void **state) {
    (void)state;
    tn_trace_fn const ways[] = {by_iteration, by_captured};
    for (size_t k = 0; k < COUNT(ways); k++) {
        tn_ctx *c = checked();
        const tn_fn *f = traced(c, ways[k], NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
        const tn_fn *g = traced(c, dense, NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
        same(tn_value_and_grad(f, NULL, NULL), tn_value_and_grad(g, NULL, NULL), 1e-12);
        same(tn_jvp(f, NULL), tn_jvp(g, NULL), 1e-12);
        same(tn_jvp(tn_grad(f, NULL, NULL), NULL), tn_jvp(tn_grad(g, NULL, NULL), NULL), 1e-11);
        same(tn_hessian(f, tn_wrt(0), NULL, 0), tn_hessian(g, tn_wrt(0), NULL, 0), 1e-11);
        same(tn_jacfwd(tn_jacfwd(f, tn_wrt(0), 0), tn_wrt(1), 0), tn_jacfwd(tn_jacfwd(g, tn_wrt(0), 0), tn_wrt(1), 0),
             1e-11);
        same(tn_jacrev(tn_jacrev(f, tn_wrt(0), NULL, 0), tn_wrt(1), NULL, 0),
             tn_jacrev(tn_jacrev(g, tn_wrt(0), NULL, 0), tn_wrt(1), NULL, 0), 1e-11);
        same(tn_jacrev(tn_hessian(f, tn_wrt(1), NULL, 0), tn_wrt(1), NULL, 0),
             tn_jacrev(tn_hessian(g, tn_wrt(1), NULL, 0), tn_wrt(1), NULL, 0), 1e-10);
        tn_ctx_free(c);
    }
}

/* Derivatives hold no derivative of a solver: no loop but those inside of solves. */
static void nothing_of_solve(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, by_iteration, NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
    assert_int_equal(count(f, "custom_linear_solve"), 1);
    const tn_fn *grad = tn_grad(f, NULL, NULL), *hvp = tn_jvp(tn_grad(f, NULL, NULL), NULL);
    assert_non_null(grad);
    assert_non_null(hvp);
    assert_int_equal(count(grad, "custom_linear_solve"), 2);
    assert_int_equal(count(hvp, "custom_linear_solve"), 4);
    assert_int_equal(count(grad, "while") + count(hvp, "while") + count(hvp, "scan"), 0);
    tn_ctx_free(c);
}

static void batches(void **state) {
    (void)state;
    tn_ctx *c = checked();
    enum { LANES = 4 };
    const tn_fn *f = traced(c, by_iteration, NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
    const tn_fn *g = traced(c, dense, NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
    double m[LANES * N * N], b[LANES * N], x[2][LANES * (1 + N * N + N)];
    for (int i = 0; i < LANES * N * N; i++) m[i] = 3 * cos(i);
    for (int i = 0; i < LANES * N; i++) b[i] = sin(2.0 * i);
    static const int both[] = {0, 0}, matrices[] = {0, -1}, sides[] = {-1, 0};
    const int *const axes[] = {both, matrices, sides};
    for (size_t k = 0; k < COUNT(axes); k++) {
        const tn_fn *const way[] = {f, g};
        for (int i = 0; i < 2; i++)
            run(tn_vmap(tn_value_and_grad(way[i], NULL, NULL), LANES, axes[k], NULL), TN_INPUTS(m, b),
                TN_OUTPUTS(x[i], x[i] + LANES, x[i] + LANES + LANES * N * N));
        close_to(x[0], x[1], COUNT(x[0]), 1e-12);
    }
    tn_ctx_free(c);
}

/* ---- symmetric, several unknowns, further results ----------------------------------------------------------- */

static tn_val symmetric_product(const tn_val *in, void *user) {
    (void)user;
    return tn_matmul(tn_mul(tn_add(in[0], tn_matrix_transpose(in[0])), 0.5), in[1]);
}
static tn_val symmetric_solve(const tn_val *in, void *user) {
    (void)user;
    return tn_solve(tn_mul(tn_add(in[0], tn_matrix_transpose(in[0])), 0.5), in[1]);
}
static tn_val symmetric(const tn_val *in, void *user) {
    const tn_val a = matrix(in[0]);
    return energy(tn_custom_linear_solve(symmetric_product, symmetric_solve, symmetric_solve, user, 1, &a, in[1]));
}
static tn_val symmetric_dense(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = matrix(in[0]);
    return energy(tn_solve(tn_mul(tn_add(a, tn_matrix_transpose(a)), 0.5), in[1]));
}

/* x of [N] and y of []: p x + y = u, y q = v; and how large x is, and a whole number */
static void two_products(const tn_val *in, tn_val *out, void *user) { /* p, q, x, y */
    (void)user;
    out[0] = tn_add(tn_mul(in[0], in[2]), in[3]);
    out[1] = tn_mul(in[1], in[3]);
}
static void two_solve(const tn_val *in, tn_val *out, void *user) { /* p, q, u, v */
    (void)user;
    out[1] = tn_div(in[3], in[1]);
    out[0] = tn_div(tn_sub(in[2], out[1]), in[0]);
    out[2] = tn_max(tn_abs(out[0]));
    out[3] = tn_full(tn_val_ctx(in[0]), tn_i32(), 7);
}
static void two_transposed(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_div(in[2], in[0]);
    out[1] = tn_div(tn_sub(in[3], tn_sum(out[0])), in[1]);
}
static void two(const tn_val *in, tn_val *out, void *user) { /* p, q, u, v */
    tn_custom_linear_solve_many(two_products, two_solve, two_transposed, user, 2, in, 2, in + 2, 2, out);
}
static tn_val two_energy(const tn_val *in, void *user) {
    tn_val out[4];
    two(in, out, user);
    return tn_add(tn_add(energy(out[0]), tn_square(out[1])), tn_mul(out[2], 3.0)); /* the last: no derivative */
}
static tn_val two_by_hand(const tn_val *in, void *user) {
    tn_val out[4];
    two_solve(in, out, user);
    return tn_add(tn_add(energy(out[0]), tn_square(out[1])), tn_mul(tn_stop_gradient(out[2]), 3.0));
}

static void forms(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, symmetric, NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
    const tn_fn *g = traced(c, symmetric_dense, NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
    same(tn_value_and_grad(f, NULL, NULL), tn_value_and_grad(g, NULL, NULL), 1e-12);
    same(tn_hessian(f, NULL, NULL, 0), tn_hessian(g, NULL, NULL, 0), 1e-11);
    const tn_type types[] = {tn_f64(N), tn_f64(), tn_f64(N), tn_f64()};
    f = traced(c, two_energy, NULL, 4, types);
    g = traced(c, two_by_hand, NULL, 4, types);
    same(tn_value_and_grad(f, NULL, NULL), tn_value_and_grad(g, NULL, NULL), 1e-12);
    same(tn_jvp(tn_grad(f, tn_wrt(0, 1), NULL), tn_wrt(0, 3)), tn_jvp(tn_grad(g, tn_wrt(0, 1), NULL), tn_wrt(0, 3)),
         1e-11);
    f = tn_trace_many(c, two, NULL, 4, types, 4);
    const double p[] = {1, 2, 4}, q = 2, u[] = {3, 5, 9}, v = 2;
    double x[3], y, most;
    int32_t whole;
    run(f, TN_INPUTS(p, &q, u, &v), TN_OUTPUTS(x, &y, &most, &whole));
    close_to(x, P(2, 2, 2), 3, 0);
    close_to(P(y, most, whole), P(1, 2, 7), 3, 0);
    f = traced(c, two_energy, NULL, 4, (const tn_type[]){tn_f64(0), tn_f64(), tn_f64(0), tn_f64()});
    const double none = 0;
    run(tn_grad(f, NULL, NULL), TN_INPUTS(&none, &q, &none, &v), TN_OUTPUTS(x, &y, x, &most));
    close_to(P(y, most), P(-1, 1), 2, 0); /* of (v/q)^2 */
    tn_ctx_free(c);
}

/* ---- in rules ---------------------------------------------------------------------------------------------- */

/* The tangent of y = sin(a^-1 x) by a rule that solves itself, whose linearity the checker sees. */
static tn_val ruled_value(const tn_val *in, void *user) {
    (void)user;
    return tn_sin(iterate(in[0], in[1]));
}
static tn_val ruled_tangent(const tn_val *in, void *user) { /* a, x, da, dx */
    const tn_val y = tn_custom_linear_solve(product, richardson, richardson_transposed, user, 1, in, in[1]);
    const tn_val rhs = tn_sub(in[3], tn_matmul(in[2], y));
    return tn_mul(tn_cos(y), tn_custom_linear_solve(product, richardson, richardson_transposed, user, 1, in, rhs));
}
static tn_val ruled(const tn_val *in, void *user) {
    const tn_val x[2] = {matrix(in[0]), in[1]};
    return energy(tn_custom_jvp(ruled_value, ruled_tangent, user, 2, x));
}
static tn_val ruled_dense(const tn_val *in, void *user) {
    (void)user;
    return energy(tn_sin(tn_solve(matrix(in[0]), in[1])));
}

/* x + a^-1 x^3 = p, whose Jacobian 1 + 3 a^-1 x^2 holds a solve; its system is solved by another one */
static tn_val implicit(const tn_val *in, void *user) { /* x, p, a */
    const tn_val cube = tn_mul(tn_square(in[0]), in[0]);
    return tn_sub(
        tn_add(in[0], tn_custom_linear_solve(product, richardson, richardson_transposed, user, 1, &in[2], cube)),
        in[1]);
}
static tn_val implicit_newton(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0];
    const tn_val eye = tn_eye(tn_val_ctx(x), TN_F64, N, N), inverse = tn_solve(in[2], eye);
    for (int i = 0; i < 12; i++) {
        const tn_val f = tn_sub(tn_add(x, tn_matmul(inverse, tn_mul(tn_square(x), x))), in[1]);
        const tn_val slope = tn_add(eye, tn_mul(inverse, tn_mul(tn_square(x), 3.0)));
        x = tn_sub(x, tn_solve(slope, f));
    }
    return x;
}
static tn_val rooted(const tn_val *in, void *user) {
    const tn_val p[2] = {in[1], matrix(in[0])};
    return energy(tn_custom_root(implicit, implicit_newton, NULL, user, tn_zeros_like(in[1]), 2, p, NULL));
}
static tn_val rooted_dense(const tn_val *in, void *user) {
    const tn_val x[3] = {tn_zeros_like(in[1]), in[1], matrix(in[0])};
    return energy(implicit_newton(x, user));
}

static void in_rules(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_trace_fn ways[][2] = {{ruled, ruled_dense}, {rooted, rooted_dense}};
    for (size_t k = 0; k < COUNT(ways); k++) {
        const tn_fn *f = traced(c, ways[k][0], NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
        const tn_fn *g = traced(c, ways[k][1], NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
        same(tn_value_and_grad(f, NULL, NULL), tn_value_and_grad(g, NULL, NULL), 1e-11);
        same(tn_hessian(f, tn_wrt(1), NULL, 0), tn_hessian(g, tn_wrt(1), NULL, 0), 1e-10);
    }
    tn_ctx_free(c);
}

/* ---- what is refused ------------------------------------------------------------------------------------------ */

static tn_val squared(const tn_val *in, void *user) {
    (void)user;
    return tn_square(in[1]);
}
static tn_val too_long(const tn_val *in, void *user) {
    (void)user;
    return tn_concatenate(tn_vals(in[1], in[1]), 0);
}
static tn_val printing(const tn_val *in, void *user) {
    tn_print(tn_val_ctx(in[0]), "solve", 1, in);
    return product(in, user);
}
static const struct {
    tn_trace_fn matvec, solve, transpose_solve;
    tn_status status;
    const char *why;
} bad[] = {
    {NULL, product, NULL, TN_EINVAL, "matvec is NULL"},
    {product, NULL, NULL, TN_EINVAL, "solve is NULL"},
    {squared, product, NULL, TN_ELINEAR, "not linear"},
    {too_long, product, NULL, TN_ETYPE, "matvec's output 0"},
    {product, too_long, NULL, TN_ETYPE, "solve's output 0"},
    {product, product, too_long, TN_ETYPE, "transpose_solve's output 0"},
    {product, printing, NULL, TN_ETYPE, "effects"},
    {product, product, printing, TN_ETYPE, "effects"},
};
static tn_val refused_solve(const tn_val *in, void *user) {
    const size_t k = *(const size_t *)user;
    return tn_custom_linear_solve(bad[k].matvec, bad[k].solve, bad[k].transpose_solve, NULL, 1, in, in[1]);
}
static tn_val one_way(const tn_val *in, void *user) {
    return energy(tn_custom_linear_solve(product, symmetric_solve, NULL, user, 1, in, in[1]));
}
static tn_val halved(const tn_val *in, void *user) {
    (void)user;
    return tn_custom_linear_solve(product, product, NULL, NULL, 1, in, in[1]);
}
static void no_sides(const tn_val *in, tn_val *out, void *user) {
    tn_custom_linear_solve_many(two_products, two_solve, NULL, user, 2, in, 0, in, 0, out);
    out[0] = in[0];
}

static void refused(void **state) {
    (void)state;
    const tn_ctx_options opt = {.size = sizeof opt, .check = -1};
    tn_ctx *c = tn_ctx_new(&opt);
    for (size_t k = 0; k < COUNT(bad); k++) {
        assert_null(tn_trace(c, refused_solve, &k, 2, TN_TYPES(tn_f64(2, 2), tn_f64(2))));
        if (tn_last_status(c) != bad[k].status || !strstr(tn_error(c), bad[k].why))
            fail_msg("case %zu: %d, %s", k, (int)tn_last_status(c), tn_error(c));
        assert_non_null(strstr(tn_error(c), "linear_solve.c:"));
    }
    assert_null(tn_trace(c, halved, NULL, 2, TN_TYPES(tn_i32(2, 2), tn_i32(2))));
    assert_non_null(strstr(tn_error(c), "float"));
    assert_null(tn_trace_many(c, no_sides, NULL, 2, TN_TYPES(tn_f64(), tn_f64()), 1));
    assert_non_null(strstr(tn_error(c), "no right-hand side"));
    const tn_fn *f = traced(c, one_way, NULL, 2, TN_TYPES(tn_f64(N, N), tn_f64(N)));
    assert_non_null(tn_jvp(tn_jvp(f, NULL), NULL));
    assert_null(tn_grad(f, NULL, NULL));
    assert_int_equal(tn_last_status(c), TN_ERULE);
    assert_non_null(strstr(tn_error(c), "no transpose_solve"));
    assert_non_null(strstr(tn_error(c), "linear_solve.c:"));
    tn_ctx_free(c);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void text(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_trace_fn const ways[] = {by_iteration, symmetric, two_energy};
    const tn_type matrices[] = {tn_f64(N, N), tn_f64(N)}, four[] = {tn_f64(N), tn_f64(), tn_f64(N), tn_f64()};
    for (size_t k = 0; k < COUNT(ways); k++) {
        const tn_fn *f = tn_grad(traced(c, ways[k], NULL, k == 2 ? 4 : 2, k == 2 ? four : matrices), NULL, NULL);
        char *s = tn_fn_print(f, NULL);
        assert_non_null(s);
        const tn_fn *g = tn_fn_parse(c, s, strlen(s), "f.tn");
        if (!g) fail_msg("%s", tn_error(c));
        assert_true(tn_i_fn_equal(f, g));
        same(g, f, 0);
        tn_text_free(c, s);
    }
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"{ lambda a:f64[] b:f64[] . let x = custom_linear_solve[matvec={lambda a:f64[] | x:f64[] . let y = mul a x in "
         "(y,)} solve={lambda a:f64[] b:f64[] . let x = div b a in (x,)} transpose_solve={lambda a:f64[] b:f64[] . let "
         "x = "
         "div b a in (x,)} symmetric=True] a b in (x,) }",
         "its solve is that"},
        {"{ lambda a:f64[] b:f64[] . let x = custom_linear_solve[matvec={lambda a:f64[] x:f64[] . let y = mul a x in "
         "(y,)} solve={lambda a:f64[] b:f64[] . let x = div b a in (x,)}] a b in (x,) }",
         "linear inputs"},
        {"{ lambda a:f64[] | b:f64[] . let x n = custom_linear_solve[matvec={lambda a:f64[] | x:f64[] . let y = mul a "
         "x in "
         "(y,)} solve={lambda a:f64[] b:f64[] . let x = div b a in (x, b)}] a b in (x,) }",
         "besides x"},
        {"{ lambda b:f64[] | a:f64[] . let x = custom_linear_solve[matvec={lambda a:f64[] | x:f64[] . let y = mul a x "
         "in "
         "(y,)} solve={lambda a:f64[] b:f64[] . let x = div b a in (x,)}] a b in (x,) }",
         "residual"},
    };
    for (size_t k = 0; k < COUNT(wrong); k++) {
        assert_null(tn_fn_parse(c, wrong[k].text, strlen(wrong[k].text), "f.tn"));
        if (!strstr(tn_error(c), wrong[k].why)) fail_msg("%s", tn_error(c));
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order), cmocka_unit_test(nothing_of_solve), cmocka_unit_test(batches),
        cmocka_unit_test(forms),       cmocka_unit_test(in_rules),         cmocka_unit_test(refused),
        cmocka_unit_test(text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
