/* Nested programs and rules of one's own, run; and without memory. */
#include "unit/tracing.h"
#include <stdlib.h>

/* ---- rules of one's own ------------------------------------------------------------------------- */

static tn_val cube(const tn_val *in, void *user) {
    (void)user;
    return tn_pow(in[0], 3);
}
static tn_val cube_jvp(const tn_val *in, void *user) { /* ten times the true slope, to be recognized */
    (void)user;
    return tn_mul(tn_mul(30, tn_square(in[0])), in[1]);
}
static tn_val affine_jvp(const tn_val *in, void *user) {
    (void)user;
    return tn_add(in[1], 3);
}
static void cube_fwd(const tn_val *in, tn_val *out, void *user) {
    out[0] = cube(in, user);
    out[1] = tn_square(in[0]);
}
static void cube_bwd(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(tn_mul(30, in[0]), in[1]);
}
static tn_val with_jvp(const tn_val *in, void *user) { return tn_custom_jvp(cube, cube_jvp, user, 1, in); }
static tn_val with_affine(const tn_val *in, void *user) { return tn_custom_jvp(cube, affine_jvp, user, 1, in); }
static tn_val with_vjp(const tn_val *in, void *user) { return tn_custom_vjp(cube, cube_fwd, 1, cube_bwd, user, 1, in); }

static tn_val scaled(const tn_val *in, void *user) { /* residual k, x */
    (void)user;
    return tn_mul(in[0], tn_roll(in[1], 1, 0));
}
static tn_val scaled_t(const tn_val *in, void *user) {
    (void)user;
    return tn_roll(tn_mul(in[0], in[1]), -1, 0);
}
static tn_val with_linear(const tn_val *in, void *user) {
    return tn_sum(tn_square(tn_linear_call(scaled, scaled_t, user, 1, &in[0], in[1])));
}
static tn_val with_wrong_linear(const tn_val *in, void *user) {
    return tn_sum(tn_linear_call(scaled, scaled, user, 1, &in[0], in[1]));
}

static void test_custom_rules(void **state) {
    (void)state;
    static const tn_trace_fn f[] = {with_jvp, with_vjp};
    for (size_t k = 0; k < COUNT(f); k++) {
        tn_ctx *c = checked();
        tn_fn *p = tn_trace(c, f[k], c, 1, TN_TYPES(tn_f64()));
        if (!p) fail_msg("%s", tn_error(c));
        double x = 2, one = 1, y = 0, d = 0, h = 0;
        run(tn_jvp(p, NULL), TN_INPUTS(&x, &one), TN_OUTPUTS(&y, &d));
        close_to(P(y, d), P(8, 120), 2, 1e-15);
        run(tn_grad(p, NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&d));
        run(tn_grad(tn_grad(p, NULL, NULL), NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&h));
        close_to(P(d, h), P(120, 120), 2, 1e-15);
        tn_ctx_free(c);
    }
}

static void test_rules_checked(void **state) {
    (void)state;
    /* also where the context checks nothing by itself */
    const tn_ctx_options opt = {.size = sizeof opt, .check = -1};
    tn_ctx *c = tn_ctx_new(&opt);
    assert_null(tn_trace(c, with_affine, c, 1, TN_TYPES(tn_f64())));
    assert_int_equal(tn_last_status(c), TN_ELINEAR);
    assert_non_null(strstr(tn_error(c), "rules.c:"));
    assert_null(tn_trace(c, with_wrong_linear, c, 2, TN_TYPES(tn_f64(3), tn_f64(3))));
    assert_non_null(strstr(tn_error(c), "linear_call"));
    assert_null(c->fns);
    tn_ctx_free(c);
}

static void test_linear_call(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *p = tn_trace(c, with_linear, c, 2, TN_TYPES(tn_f64(3), tn_f64(3)));
    if (!p) fail_msg("%s", tn_error(c));
    double g[3]; /* y_i = k_i x_{i-1}; d/dx_{i-1} = 2 k_i y_i */
    run(tn_grad(p, tn_wrt(1), NULL), TN_INPUTS(P(1, 2, 3), P(4, 5, 6)), TN_OUTPUTS(g));
    close_to(g, P(2 * 4 * 4, 2 * 9 * 5, 2 * 1 * 6), 3, 1e-15);
    tn_ctx_free(c);
}

/* x f64[3], k i32[] -> x*k, x+1, and k+1, which has no tangent */
static void mixed(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(in[0], tn_convert(in[1], TN_F64));
    out[1] = tn_add(in[1], 1);
    out[2] = tn_add(in[0], 1);
}
static void mixed_jvp(const tn_val *in, tn_val *out, void *user) { /* x, k, dx */
    (void)user;
    out[0] = tn_mul(in[2], tn_convert(in[1], TN_F64));
    out[1] = tn_mul(in[2], 7);
}
static void mixed_fwd(const tn_val *in, tn_val *out, void *user) {
    mixed(in, out, user);
    out[3] = in[1];
}
static void mixed_bwd(const tn_val *in, tn_val *out, void *user) { /* k, ct, ct */
    (void)user;
    out[0] = tn_add(tn_mul(in[1], tn_convert(in[0], TN_F64)), tn_mul(in[2], 7));
}
static void mixed_by_jvp(const tn_val *in, tn_val *out, void *user) {
    tn_custom_jvp_many(mixed, mixed_jvp, user, 2, in, 3, out);
}
static void mixed_by_vjp(const tn_val *in, tn_val *out, void *user) {
    tn_custom_vjp_many(mixed, mixed_fwd, 1, mixed_bwd, user, 2, in, 3, out);
}
static void wrong_type(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_sum(in[1]);
}
static void bad_rule(const tn_val *in, tn_val *out, void *user) {
    tn_custom_vjp_many(mixed, mixed_fwd, 1, wrong_type, user, 2, in, 3, out);
}

static void test_mixed_operands(void **state) {
    (void)state;
    static const tn_trace_many_fn f[] = {mixed_by_jvp, mixed_by_vjp};
    const int32_t k = 5;
    for (size_t i = 0; i < COUNT(f); i++) {
        tn_ctx *c = checked();
        tn_fn *p = tn_trace_many(c, f[i], c, 2, TN_TYPES(tn_f64(3), tn_i32()), 3);
        if (!p) fail_msg("%s", tn_error(c));
        double y[3], dy[3], dz[3], ct[3];
        int32_t next = 0;
        run(tn_jvp(p, NULL), TN_INPUTS(P(1, 2, 3), &k, P(1, 0, -1)), TN_OUTPUTS(y, &next, NULL, dy, dz));
        close_to(y, P(5, 10, 15), 3, 0);
        close_to(dy, P(5, 0, -5), 3, 0);
        close_to(dz, P(7, 0, -7), 3, 0);
        assert_int_equal(next, 6);
        run(tn_vjp(p, NULL, NULL), TN_INPUTS(P(1, 2, 3), &k, P(1, 2, 3), P(1, 1, 0)), TN_OUTPUTS(NULL, NULL, NULL, ct));
        close_to(ct, P(12, 17, 15), 3, 0);
        tn_ctx_free(c);
    }
    tn_ctx *c = checked();
    assert_null(tn_trace_many(c, bad_rule, c, 2, TN_TYPES(tn_f64(3), tn_i32()), 3));
    assert_non_null(strstr(tn_error(c), "custom_vjp: bwd output 0 should be f64[3], is f64[]"));
    assert_null(c->fns);
    tn_ctx_free(c);
}

static void scaled_many(const tn_val *in, tn_val *out, void *user) { /* k, x, y */
    (void)user;
    out[0] = tn_mul(in[0], tn_add(in[1], in[2]));
    out[1] = tn_sub(in[1], in[2]);
}
static void scaled_many_t(const tn_val *in, tn_val *out, void *user) { /* k, a, b */
    (void)user;
    tn_val ka = tn_mul(in[0], in[1]);
    out[0] = tn_add(ka, in[2]);
    out[1] = tn_sub(ka, in[2]);
}
static tn_val with_linear_many(const tn_val *in, void *user) {
    tn_val out[2];
    tn_linear_call_many(scaled_many, scaled_many_t, user, 1, in, 2, in + 1, 2, out);
    return tn_sum(tn_mul(out[0], tn_mul(out[1], 0.5)));
}

static void test_linear_call_many(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *p = tn_trace(c, with_linear_many, c, 3, TN_TYPES(tn_f64(2), tn_f64(2), tn_f64(2)));
    if (!p) fail_msg("%s", tn_error(c));
    double gx[2], gy[2]; /* k (x + y) (x - y) / 2 */
    run(tn_grad(p, tn_wrt(1, 2), NULL), TN_INPUTS(P(2, 3), P(5, 7), P(1, 4)), TN_OUTPUTS(gx, gy));
    close_to(gx, P(10, 21), 2, 1e-15);
    close_to(gy, P(-2, -12), 2, 1e-15);
    tn_ctx_free(c);
}

static int twice(void *user, const void *const *in, void *const *out) {
    (void)user;
    for (int i = 0; i < 3; i++) ((double *)out[0])[i] = 2 * ((const double *)in[0])[i];
    return 0;
}
static tn_val external(const tn_val *in, void *user) { return tn_sum(tn_external(user, "twice", 1, in)); }
static void external_two(const tn_val *in, tn_val *out, void *user) { tn_external_many(user, "twice", 1, in, 2, out); }

static void test_external(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_external_spec spec = {.size = sizeof spec,
                                   .name = "twice",
                                   .nin = 1,
                                   .nout = 1,
                                   .in = TN_TYPES(tn_f64(3)),
                                   .out = TN_TYPES(tn_f64(3)),
                                   .fn = twice};
    assert_int_equal(tn_external_register(c, &spec), TN_OK);
    tn_fn *p = tn_trace(c, external, c, 1, TN_TYPES(tn_f64(3)));
    double y = 0;
    run(p, TN_INPUTS(P(1, 2, 3)), TN_OUTPUTS(&y));
    close_to(&y, P(12), 1, 0);
    assert_null(tn_trace_many(c, external_two, c, 1, TN_TYPES(tn_f64(3)), 2));
    assert_non_null(strstr(tn_error(c), "'twice' has 1 outputs, not 2"));
    tn_ctx_free(c);
}

/* ---- programs as operands ------------------------------------------------------------------------ */

static void sin_cos(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_sin(in[0]);
    out[1] = tn_cos(in[0]);
}
static tn_val uses_program(const tn_val *in, void *user) {
    tn_val out[2];
    tn_apply_many(user, 1, in, 2, out);
    return tn_add(tn_square(out[0]), tn_square(out[1]));
}
static tn_val uses_one(const tn_val *in, void *user) { return tn_apply(user, 1, in); }
static tn_val sub_many(const tn_val *in, void *user) {
    tn_val out[2];
    tn_subfn_many("sc", sin_cos, user, 1, in, 2, out);
    return tn_add(tn_square(out[0]), tn_square(out[1]));
}

static void test_apply(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *sc = tn_trace_many(c, sin_cos, NULL, 1, TN_TYPES(tn_f64()), 2);
    double x = 1.25, y = 0;
    run(tn_trace(c, uses_program, sc, 1, TN_TYPES(tn_f64())), TN_INPUTS(&x), TN_OUTPUTS(&y));
    close_to(&y, P(1), 1, 1e-15);
    run(tn_trace(c, sub_many, NULL, 1, TN_TYPES(tn_f64())), TN_INPUTS(&x), TN_OUTPUTS(&y));
    close_to(&y, P(1), 1, 1e-15);
    assert_null(tn_trace(c, uses_one, sc, 1, TN_TYPES(tn_f64())));
    assert_non_null(strstr(tn_error(c), "apply: the program has 2 outputs, not 1"));
    assert_null(tn_trace(c, uses_program, sc, 1, TN_TYPES(tn_f32())));
    assert_int_equal(tn_last_status(c), TN_ETYPE);
    tn_ctx_free(c);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

typedef struct door {
    long left; /* allocations that succeed */
} door;

static void *limited(void *user, void *p, size_t old_size, size_t new_size) {
    door *d = user;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return d->left-- > 0 ? realloc(p, new_size) : NULL;
}

static const tn_val *outer; /* inputs of the enclosing trace */

static tn_val body_captures(const tn_val *in, void *user) {
    (void)user;
    tn_val scaled_in = tn_mul(in[0], outer[1]); /* C leaves the order of arguments open */
    return tn_add(scaled_in, tn_mul(outer[1], outer[2]));
}
static tn_val of_all_kinds(const tn_val *in, void *user) {
    outer = in;
    tn_val y = tn_subfn("f", body_captures, user, 1, in);
    y = tn_custom_jvp(cube, cube_jvp, user, 1, &y);
    y = tn_custom_vjp(cube, cube_fwd, 1, cube_bwd, user, 1, &y);
    tn_val row = tn_stack(tn_vals(y, in[0], in[1]), 0);
    row = tn_linear_call(scaled, scaled_t, user, 1, &row, row);
    row = tn_einsum("i,i,j->j", tn_vals(row, row, row));
    tn_scope((tn_ctx *)user, "end") row = tn_take(row, tn_arange(user, TN_I32, 2), 0);
    return tn_checkpoint_name(tn_sum(tn_mul(row, tn_linspace(user, TN_F64, 0, 1, 2))), "result");
}

static void test_no_memory(void **state) {
    (void)state;
    bool done = false;
    for (long n = 0; !done; n++) {
        door d = {.left = n};
        const tn_ctx_options opt = {.size = sizeof opt, .realloc = limited, .user = &d, .check = 1};
        tn_ctx *c = tn_ctx_new(&opt);
        if (!c) continue;
        tn_fn *f = tn_trace(c, of_all_kinds, c, 3, TN_TYPES(tn_f64(), tn_f64(), tn_f64()));
        done = f != NULL;
        if (!f && tn_last_status(c) != TN_ENOMEM) fail_msg("%ld: %s", n, tn_error(c));
        assert_null(c->trace);
        assert_string_equal(c->scope, "");
        if (!f) assert_null(c->fns);
        tn_ctx_free(c);
        assert_true(n < 100000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_custom_rules),
        cmocka_unit_test(test_rules_checked),
        cmocka_unit_test(test_linear_call),
        cmocka_unit_test(test_mixed_operands),
        cmocka_unit_test(test_linear_call_many),
        cmocka_unit_test(test_external),
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
