/* Rules that go one way: reverse mode only (tn_custom_vjp_one_way_many), and forward mode only (tn_forward_only). */
#include "unit/tracing.h"

static const char why[] = "cubes have reverse mode only";

static void cube(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_pow(in[0], 3);
}
static void cube_fwd(const tn_val *in, tn_val *out, void *user) {
    cube(in, out, user);
    out[1] = in[0];
}
/* Ten times the slope; linear in the cotangent, but the checker could not know. */
static void cube_bwd(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val slope = tn_mul(30, tn_square(in[0]));
    out[0] = tn_mul(tn_mul(slope, tn_sign(in[1])), tn_abs(in[1]));
}
static tn_val cubed(tn_val x, const char *text) {
    tn_val y;
    tn_custom_vjp_one_way_many(cube, cube_fwd, 1, cube_bwd, text, NULL, 1, &x, 1, &y);
    return y;
}
static tn_val with_cube(const tn_val *in, void *user) { return tn_sum(tn_mul(cubed(in[0], user), -2)); }
static tn_val cubes(const tn_val *in, void *user) { return cubed(in[0], user); }

static void cube_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y;
    next[0] = tn_mul(cubed(carry[0], user), 0.5);
}
static tn_val cube_twice(const tn_val *in, void *user) {
    tn_val out;
    tn_scan(tn_val_ctx(in[0]), cube_step, user, .ncarry = 1, .init = in, .length = 2, .carry = &out);
    return out;
}

static void reverse_mode_takes_the_rule(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x[2] = {1, 2}, d[2], xs[4] = {1, 2, 3, 4}, ds[4], y, one = 1;
    tn_fn *f = tn_trace(c, with_cube, (void *)(uintptr_t)why, 1, TN_TYPES(tn_f64(2)));
    if (!f) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_check(f), TN_OK);
    run(tn_grad(f, NULL, NULL), TN_INPUTS(x), TN_OUTPUTS(d));
    close_to(d, P(-60, -240), 2, 1e-15);
    run(tn_vmap(tn_grad(f, NULL, NULL), 2, NULL, NULL), TN_INPUTS(xs), TN_OUTPUTS(ds));
    close_to(ds, P(-60, -240, -540, -960), 4, 1e-15);
    run(tn_vjp(tn_vmap(f, 2, NULL, NULL), NULL, NULL), TN_INPUTS(xs, P(1, 2)), TN_OUTPUTS(x, ds));
    close_to(ds, P(-60, -240, -1080, -1920), 4, 1e-15);
    tn_fn *g = tn_trace(c, cube_twice, NULL, 1, TN_TYPES(tn_f64()));
    run(tn_value_and_grad(g, NULL, NULL), TN_INPUTS(&one), TN_OUTPUTS(&y, d));
    close_to(P(y, d[0]), P(0.0625, 0.5 * 30 * 0.25 * 0.5 * 30), 2, 1e-14);
    tn_ctx_free(c);
}

/* Both, whatever comes first: the message has the text and the user's line. */
static void refused(tn_ctx *c, tn_fn *f, const char *text) {
    tn_exec *e = f ? tn_compile(f, NULL) : NULL; /* inside of loops it is found here */
    assert_null(e);
    assert_int_equal(tn_last_status(c), TN_ERULE);
    if (!strstr(tn_error(c), text) || !strstr(tn_error(c), "one_way.c:")) fail_msg("%s", tn_error(c));
    tn_error_clear(c);
}

static void what_needs_more_is_refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, with_cube, (void *)(uintptr_t)why, 1, TN_TYPES(tn_f64(2)));
    tn_fn *y = tn_trace(c, cubes, NULL, 1, TN_TYPES(tn_f64()));
    assert_null(tn_jvp(f, NULL));
    refused(c, NULL, why);
    assert_null(tn_jacfwd(f, NULL, 0));
    refused(c, NULL, why);
    assert_null(tn_hvp(f, NULL, NULL));
    refused(c, NULL, why);
    assert_null(tn_grad(tn_grad(y, NULL, NULL), NULL, NULL));
    refused(c, NULL, "reverse mode only, and no second order");
    assert_null(tn_jvp(tn_grad(f, NULL, NULL), NULL));
    refused(c, NULL, why);
    refused(c, tn_jvp(tn_trace(c, cube_twice, (void *)(uintptr_t)why, 1, TN_TYPES(tn_f64())), NULL), why);
    /* The halves of a linearization are for transposition only. */
    tn_linearized l = tn_linearize(f, NULL, NULL);
    assert_non_null(l.linear);
    refused(c, l.linear, why);
    assert_non_null(tn_transpose(l.linear));
    tn_ctx_free(c);
}

static void text_is_read_back(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, with_cube, (void *)(uintptr_t)why, 1, TN_TYPES(tn_f64(2)));
    tn_fn *each[3] = {f, tn_grad(f, NULL, NULL), tn_linearize(f, NULL, NULL).linear};
    for (int i = 0; i < 3; i++) {
        char *text = tn_fn_print(each[i], NULL);
        assert_non_null(strstr(text, "one_way=\"cubes have reverse mode only\""));
        assert_true((strstr(text, "turned=True") != NULL) == (i == 2));
        tn_fn *g = tn_fn_parse(c, text, strlen(text), "text");
        if (!g) fail_msg("%s", tn_error(c));
        char *again = tn_fn_print(g, NULL);
        assert_string_equal(text, again);
        tn_text_free(c, text);
        tn_text_free(c, again);
    }
    tn_ctx_free(c);
}

/* What the text could say and the operators cannot. */
static void wrong_one_way_calls_are_refused(void **state) {
    (void)state;
    static const char *const text[] = {
        "{lambda x:f64[]. let a = linear_call[f={lambda|u:f64[]. let in (u,)} ft={lambda|u:f64[]. let in (u,)} "
        "turned=True] x in (a,)}",
        "{lambda x:f64[]. let a = linear_call[f={lambda|u:f64[]. let in (u,)} ft={lambda|u:f64[]. let in (u,)} "
        "one_way=\"w\"] x in (a,)}",
        "{lambda x:f64[]. let a = linear_call[f={lambda u:f64[]. let in (u,)} ft={lambda u:f64[] v:f64[]. let in "
        "(u,)} one_way=\"w\"] x in (a,)}",
        "{lambda x:f64[]. let a = linear_call[f={lambda u:f64[]. let in (u,)} ft={lambda u:f64[]. let in "
        "(u,u)} one_way=\"w\"] x in (a,)}",
    };
    for (size_t i = 0; i < COUNT(text); i++) {
        tn_ctx *c = checked();
        assert_null(tn_fn_parse(c, text[i], strlen(text[i]), "text"));
        assert_int_equal(tn_last_status(c), TN_ETYPE);
        tn_ctx_free(c);
    }
}

/* In a call, in a region that saves nothing, and in the branch of a choice. */
static tn_val plain(const tn_val *in, void *user) { return (void)user, tn_square(in[0]); }
static void plain_branch(const tn_val *in, tn_val *out, void *user) { out[0] = plain(in, user); }
static void cube_branch(const tn_val *in, tn_val *out, void *user) { out[0] = cubed(in[0], user); }
static tn_val nested_cubes(const tn_val *in, void *user) {
    tn_val y;
    const tn_val a = tn_subfn("cubes", cubes, user, 1, in), b = tn_checkpoint(cubes, NULL, user, 1, &a);
    tn_cond_many(tn_lt(b, 10), cube_branch, plain_branch, user, 1, &b, 1, &y);
    return y;
}

static void nested_programs_hold_it(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        const double x = k ? 1.5 : 1.1, a = x * x * x, b = a * a * a;
        const double slope = 900 * x * x * a * a * (b < 10 ? 30 * b * b : 2 * b);
        double d;
        tn_fn *f = tn_trace(c, nested_cubes, NULL, 1, TN_TYPES(tn_f64()));
        if (!f) fail_msg("%s", tn_error(c));
        run(tn_grad(f, NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&d));
        close_to(&d, &slope, 1, 1e-13);
        refused(c, tn_jvp(f, NULL), "reverse mode only");
        tn_ctx_free(c);
    }
}

/* ---- forward only ------------------------------------------------------------------------------------ */

static tn_val forward_sine(const tn_val *in, void *user) { return tn_forward_only(tn_sin(in[0]), user); }
static void sine_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y;
    next[0] = forward_sine(carry, user);
}
static tn_val sine_twice(const tn_val *in, void *user) {
    tn_val out;
    tn_scan(tn_val_ctx(in[0]), sine_step, user, .ncarry = 1, .init = in, .length = 2, .carry = &out);
    return out;
}
static tn_val forward_integer(const tn_val *in, void *user) { return tn_forward_only(in[0], user); }

static void forward_mode_passes(void **state) {
    (void)state;
    static const char text[] = "this sine goes forward";
    tn_ctx *c = checked();
    const double x = 0.5, one = 1, zero = 0;
    double y, dy, ddy, dd;
    tn_fn *f = tn_trace(c, forward_sine, (void *)(uintptr_t)text, 1, TN_TYPES(tn_f64()));
    tn_fn *j = tn_jvp(f, NULL);
    if (!j) fail_msg("%s", tn_error(c));
    run(j, TN_INPUTS(&x, &one), TN_OUTPUTS(&y, &dy));
    close_to(P(y, dy), P(sin(x), cos(x)), 2, 1e-15);
    run(tn_jvp(j, NULL), TN_INPUTS(&x, &one, &one, &zero), TN_OUTPUTS(&y, &dy, &dd, &ddy));
    close_to(P(y, dy, dd, ddy), P(sin(x), cos(x), cos(x), -sin(x)), 4, 1e-15);
    run(tn_jacfwd(f, NULL, 0), TN_INPUTS(&x), TN_OUTPUTS(&dy));
    close_to(&dy, P(cos(x)), 1, 1e-15);
    assert_null(tn_grad(f, NULL, NULL));
    refused(c, NULL, text);
    assert_null(tn_vjp(f, NULL, NULL));
    refused(c, NULL, text);
    assert_null(tn_hvp(f, NULL, NULL));
    refused(c, NULL, text);
    refused(c, tn_grad(tn_trace(c, sine_twice, NULL, 1, TN_TYPES(tn_f64())), NULL, NULL), "has no reverse mode");
    assert_null(tn_trace(c, forward_integer, NULL, 1, TN_TYPES(tn_i32())));
    assert_int_equal(tn_last_status(c), TN_ETYPE);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reverse_mode_takes_the_rule), cmocka_unit_test(what_needs_more_is_refused),
        cmocka_unit_test(text_is_read_back),           cmocka_unit_test(wrong_one_way_calls_are_refused),
        cmocka_unit_test(nested_programs_hold_it),     cmocka_unit_test(forward_mode_passes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
