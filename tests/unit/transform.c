/* The promises of the transformations that no generic law states: costs that do not grow,
 * rules of the user's, refusals with file:line, deep and shared nesting. */
#include "ir/ir.h"
#include "amount.h"
#include "sanitized.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

static tn_ctx *checked(void) {
    tn_ctx_options o = {.size = sizeof o, .check = 1};
    return tn_ctx_new(&o);
}

static void assert_made(tn_ctx *c, const void *p) {
    if (!p) fail_msg("%s", tn_error(c));
}

static double run(tn_ctx *c, const tn_fn *f, const double *a, const double *b) {
    double y = NAN;
    tn_exec *e = tn_compile(f, NULL);
    assert_made(c, e);
    const void *in[2] = {a, b};
    void *out[1] = {&y};
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
    return y;
}

/* ---- work ------------------------------------------------------------------------- */

/* sum of x[i] * x[i+1], by scalar reads. */
static tn_val reads(const tn_val *in, void *user) {
    int64_t n = *(int64_t *)user;
    tn_val s = tn_mul(tn_at(in[0], 0), tn_at(in[0], 1));
    for (int64_t i = 1; i + 1 < n; i++) s = tn_add(s, tn_mul(tn_at(in[0], i), tn_at(in[0], i + 1)));
    return s;
}

static double bytes_of(const tn_fn *f) {
    tn_cost_report r = {.size = sizeof r};
    assert_int_equal(tn_cost(f, &r), TN_OK);
    return r.bytes;
}

static void scalar_reads_are_linear(void **state) {
    (void)state;
    double grad[2], hvp[2], rev[2], arena[2];
    for (int k = 0; k < 2; k++) {
        tn_ctx *c = checked();
        int64_t n = k ? 2000 : 1000;
        tn_fn *f = tn_trace(c, reads, &n, 1, (tn_type[]){tn_f64(n)});
        assert_made(c, f);
        tn_fn *g = tn_grad(f, NULL, NULL), *h = tn_hvp(f, NULL, NULL), *gg = tn_vjp(g, NULL, NULL);
        assert_made(c, gg);
        tn_exec *e = tn_compile(gg, NULL);
        assert_made(c, e);
        grad[k] = bytes_of(g), hvp[k] = bytes_of(h), rev[k] = bytes_of(gg);
        arena[k] = (double)tn_exec_bytes(e);
        tn_ctx_free(c);
    }
    assert_true(grad[1] < 2.1 * grad[0]);
    assert_true(hvp[1] < 2.1 * hvp[0]);
    assert_true(rev[1] < 2.1 * rev[0]);
    assert_true(arena[1] < 2.1 * arena[0]);
}

static void scalar_reads_are_right(void **state) {
    (void)state;
    enum { N = 17 };
    tn_ctx *c = checked();
    int64_t n = N;
    double x[N];
    for (int i = 0; i < N; i++) x[i] = 0.3 * i - 1;
    tn_fn *f = tn_trace(c, reads, &n, 1, (tn_type[]){tn_f64(N)});
    assert_made(c, f);
    if (tn_check_grads(f, (const void *[]){x}, NULL, NULL) != TN_OK) fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

static tn_val constant_read(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_at(in[1], 0), in[0]);
}

static bool mentions_size(const tn_fn *f, int64_t n) {
    for (uint32_t i = f->nin; i < f->nval; i++)
        if (f->val[i].def < TN_DEF_LITERAL && tn_i_count(f->val[i].type) >= n) return true;
    return false;
}

static void untouched_constants_cost_nothing(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, constant_read, NULL, 2, (tn_type[]){tn_f64(), tn_f64(1000000)});
    assert_made(c, f);
    tn_linearized l = tn_linearize(f, tn_wrt(0), NULL);
    assert_made(c, l.linear);
    tn_fn *t = tn_transpose(l.linear), *v = tn_vjp(f, tn_wrt(0), NULL);
    assert_made(c, t);
    assert_false(mentions_size(l.linear, 1000) || mentions_size(t, 1000) || mentions_size(v, 1000));
    for (uint32_t i = 0; i < l.linear->nin; i++) assert_int_equal(tn_i_count(l.linear->val[i].type), 1);
    tn_ctx_free(c);
}

static tn_val affine(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_mul(in[0], 2.0), 5.0);
}

static void linear_maps_store_nothing(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, affine, NULL, 1, (tn_type[]){tn_f64(100)});
    tn_linearized l = tn_linearize(f, NULL, NULL);
    assert_made(c, l.linear);
    assert_int_equal(tn_fn_inputs(l.linear), 1); /* no residual */
    assert_int_equal(tn_fn_outputs(l.primal), 1);
    tn_ctx_free(c);
}

/* ---- order four, exactly --------------------------------------------------------------- */

static tn_val sine(const tn_val *in, void *user) {
    (void)user;
    return tn_sin(in[0]);
}

static void fourth_derivatives(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x = 0.37;
    tn_fn *f = tn_trace(c, sine, NULL, 1, (tn_type[]){tn_f64()});
    tn_fn *g = tn_grad(tn_grad(tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), NULL, NULL), NULL, NULL);
    assert_made(c, g);
    assert_true(fabs(run(c, g, &x, NULL) - sin(x)) < 1e-15);
    tn_fn *mixed = tn_hvp(tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), NULL, NULL);
    double one = 1;
    assert_made(c, mixed);
    assert_true(fabs(run(c, mixed, &x, &one) - sin(x)) < 1e-15);
    tn_ctx_free(c);
}

/* ---- refusals ----------------------------------------------------------------------------- */

static void refused(tn_ctx *c, const void *p, tn_status s, const char *part) {
    assert_null(p);
    assert_int_equal(tn_last_status(c), s);
    if (!strstr(tn_error(c), part)) fail_msg("'%s' does not say '%s'", tn_error(c), part);
}

static void refusals_name_the_reason(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, affine, NULL, 1, (tn_type[]){tn_f64(3)});
    refused(c, tn_grad(f, NULL, NULL), TN_EINVAL, "float scalar");
    refused(c, tn_jvp(f, tn_wrt(1)), TN_EINVAL, "input 1");
    refused(c, tn_jvp(f, tn_wrt(0, 0)), TN_EINVAL, "wrt");
    refused(c, tn_jvp(f, tn_wrt(-1)), TN_EINVAL, "-1");
    refused(c, tn_transpose(f), TN_ELINEAR, "transform.c:");
    refused(c, tn_vmap(f, -1, NULL, NULL), TN_EINVAL, "negative");
    refused(c, tn_vmap(f, 2, (const int[]){2}, NULL), TN_EINVAL, "in_axes[0]");
    refused(c, tn_vmap(f, 2, NULL, (const int[]){TN_NOT_MAPPED}), TN_EINVAL, "output 0");
    tn_policy unknown = {.size = sizeof unknown, .name = "no_such_policy"};
    refused(c, tn_vjp(f, NULL, &unknown), TN_EINVAL, "no_such_policy");
    tn_fn *g = tn_trace(c, sine, NULL, 1, (tn_type[]){tn_f64()});
    refused(c, tn_transpose(g), TN_ELINEAR, "sin");
    assert_null(tn_jvp(NULL, NULL));
    assert_null(tn_hvp(NULL, NULL, NULL));
    assert_non_null(tn_jvp(g, NULL)); /* the context is usable */
    tn_ctx_free(c);
}

/* ---- rules of the user's --------------------------------------------------------------------- */

static tn_val square_(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], in[0]);
}
static tn_val tripled_rule(const tn_val *in, void *user) { /* thrice the true slope, to be seen in every mode */
    (void)user;
    return tn_mul(tn_mul(in[0], 6.0), in[1]);
}
static tn_val affine_rule(const tn_val *in, void *user) {
    (void)user;
    return tn_add(in[1], 3.0);
}
static tn_val with_custom_jvp(const tn_val *in, void *user) {
    return tn_custom_jvp(square_, *(tn_trace_fn *)user, NULL, 1, in);
}

static void custom_jvp_rules(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x = 0.5, one = 1;
    tn_trace_fn rule = tripled_rule;
    tn_fn *f = tn_trace(c, with_custom_jvp, &rule, 1, (tn_type[]){tn_f64()});
    assert_made(c, f);
    assert_true(fabs(run(c, tn_grad(f, NULL, NULL), &x, NULL) - 6 * x) < 1e-15);
    assert_true(fabs(run(c, tn_hvp(f, NULL, NULL), &x, &one) - 6) < 1e-15);
    assert_true(fabs(run(c, tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), &x, NULL) - 6) < 1e-15);
    rule = affine_rule;
    refused(c, tn_trace(c, with_custom_jvp, &rule, 1, (tn_type[]){tn_f64()}), TN_ELINEAR, "transform.c:");
    tn_ctx_free(c);
}

static void square_fwd(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(in[0], in[0]);
    out[1] = in[0];
}
static void tripled_bwd(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(tn_mul(in[0], 6.0), in[1]);
}
static tn_val with_custom_vjp(const tn_val *in, void *user) {
    (void)user;
    return tn_custom_vjp(square_, square_fwd, 1, tripled_bwd, NULL, 1, in);
}

static void custom_vjp_nests(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x = 0.5, one = 1, y[2];
    tn_fn *f = tn_trace(c, with_custom_vjp, NULL, 1, (tn_type[]){tn_f64()});
    assert_made(c, f);
    assert_true(fabs(run(c, tn_grad(f, NULL, NULL), &x, NULL) - 6 * x) < 1e-15);
    tn_exec *e = tn_compile(tn_jvp(f, NULL), NULL); /* forward mode too */
    assert_made(c, e);
    assert_int_equal(tn_call(e, (const void *[]){&x, &one}, (void *[]){&y[0], &y[1]}), TN_OK);
    assert_true(y[0] == x * x && fabs(y[1] - 6 * x) < 1e-15);
    assert_true(fabs(run(c, tn_hvp(f, NULL, NULL), &x, &one) - 6) < 1e-15);
    assert_true(fabs(run(c, tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), &x, NULL) - 6) < 1e-15);
    tn_ctx_free(c);
}

/* x -> x and a zero that does not depend on it: neither x + 0.0 nor x * 0.0 may be folded afterwards. */
static void two_values(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_sin(in[0]);
    out[1] = tn_floor(in[0]);
}
static void after_a_call(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    tn_val y[2];
    tn_subfn_many("two", two_values, NULL, 1, in, 2, y);
    out[0] = tn_add(y[1], 0.0);
    out[1] = tn_mul(y[1], 0.0);
}

static void calls_are_linear_output_by_output(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x = -0.0, one = 1, y[4];
    tn_fn *f = tn_trace_many(c, after_a_call, NULL, 1, (tn_type[]){tn_f64()}, 2);
    assert_made(c, f);
    tn_exec *e = tn_compile(tn_jvp(f, NULL), NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, (const void *[]){&x, &one}, (void *[]){&y[0], &y[1], &y[2], &y[3]}), TN_OK);
    assert_true(y[0] == 0 && !signbit(y[0]));
    x = NAN;
    assert_int_equal(tn_call(e, (const void *[]){&x, &one}, (void *[]){&y[0], &y[1], &y[2], &y[3]}), TN_OK);
    assert_true(isnan(y[1]));
    tn_ctx_free(c);
}

static tn_val doubled(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], 2.0);
}
static tn_val halved(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], 0.5);
}
static tn_val with_linear_call(const tn_val *in, void *user) {
    return tn_mul(tn_linear_call(doubled, *(tn_trace_fn *)user, NULL, 0, NULL, in[0]), in[0]);
}

static void linear_calls_are_checked(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x = 0.5;
    tn_trace_fn ft = doubled;
    tn_fn *f = tn_trace(c, with_linear_call, &ft, 1, (tn_type[]){tn_f64()});
    assert_made(c, f);
    assert_true(fabs(run(c, tn_grad(f, NULL, NULL), &x, NULL) - 4 * x) < 1e-15);
    assert_true(fabs(run(c, tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), &x, NULL) - 4) < 1e-15);
    ft = halved;
    refused(c, tn_trace(c, with_linear_call, &ft, 1, (tn_type[]){tn_f64()}), TN_ELINEAR, "<f u, w>");
    tn_ctx_free(c);
}

/* ---- external functions -------------------------------------------------------------------------- */

static int cube(void *user, const void *const *in, void *const *out) {
    double x = *(const double *)in[0];
    if (user) ++*(int *)user;
    *(double *)out[0] = x * x * x;
    return 0;
}
static int cube_slope(void *user, const void *const *in, void *const *out) { /* jvp and vjp alike */
    double x = *(const double *)in[0], d = *(const double *)in[1];
    (void)user;
    *(double *)out[0] = 3 * x * x * d;
    return 0;
}
static int cube_slope_vjp(void *user, const void *const *in, void *const *out) {
    double x = *(const double *)in[0], d = *(const double *)in[1], ct = *(const double *)in[2];
    (void)user;
    *(double *)out[0] = 6 * x * d * ct;
    *(double *)out[1] = 3 * x * x * ct;
    return 0;
}
static int fails(void *user, const void *const *in, void *const *out) {
    (void)user, (void)in, (void)out;
    return 7;
}
static tn_val calls_cube(const tn_val *in, void *user) { return tn_external(in[0].ctx, (const char *)user, 1, in); }

static tn_status add_external(tn_ctx *c, const char *name, size_t nin, tn_external_fn fn, tn_external_fn jvp,
                              tn_external_fn vjp) {
    const tn_type t[2] = {tn_f64(), tn_f64()};
    return tn_external_register(c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                       .name = name,
                                                       .nin = nin,
                                                       .nout = 1,
                                                       .in = t,
                                                       .out = t,
                                                       .fn = fn,
                                                       .jvp = jvp,
                                                       .vjp = vjp});
}

static void externals_differentiate_by_their_callbacks(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x = 0.7;
    char opaque[] = "opaque", both[] = "both", reverse[] = "reverse", bad[] = "bad";
    assert_int_equal(add_external(c, opaque, 1, cube, NULL, NULL), TN_OK);
    assert_int_equal(add_external(c, both, 1, cube, cube_slope, cube_slope), TN_OK);
    assert_int_equal(add_external(c, reverse, 1, cube, NULL, cube_slope), TN_OK);
    assert_int_equal(add_external(c, bad, 1, fails, NULL, NULL), TN_OK);
    assert_int_equal(add_external(c, both, 1, cube, NULL, NULL), TN_EINVAL); /* the name is taken */
    tn_fn *f = tn_trace(c, calls_cube, opaque, 1, (tn_type[]){tn_f64()});
    assert_made(c, f);
    refused(c, tn_jvp(f, NULL), TN_ERULE, "opaque");
    f = tn_trace(c, calls_cube, reverse, 1, (tn_type[]){tn_f64()});
    assert_true(fabs(run(c, tn_grad(f, NULL, NULL), &x, NULL) - 3 * x * x) < 1e-15);
    refused(c, tn_jvp(f, NULL), TN_ERULE, "jvp callback");
    tn_fn *g = tn_grad(f, NULL, NULL);
    refused(c, tn_grad(g, NULL, NULL), TN_ERULE, "'reverse.vjp'"); /* asked for by name */
    assert_int_equal(add_external(c, "reverse.vjp", 2, cube_slope, NULL, cube_slope_vjp), TN_OK);
    assert_true(fabs(run(c, tn_grad(g, NULL, NULL), &x, NULL) - 6 * x) < 1e-14);
    f = tn_trace(c, calls_cube, bad, 1, (tn_type[]){tn_f64()});
    tn_exec *e = tn_compile(f, NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, (const void *[]){&x}, (void *[]){&x}), TN_ECALLBACK);
    assert_non_null(strstr(tn_exec_error(e), "bad"));
    tn_ctx_free(c);
}

static tn_val effect_and_more(const tn_val *in, void *user) {
    tn_val y = tn_external(in[0].ctx, (const char *)user, 1, in);
    return tn_mul(tn_stop_gradient(y), tn_sin(in[0]));
}

static void effects_run_once(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int count = 0;
    double x = 0.3, y[2];
    char name[] = "counted";
    const tn_type t = tn_f64();
    tn_external_spec s = {.size = sizeof s,
                          .name = name,
                          .nin = 1,
                          .nout = 1,
                          .in = &t,
                          .out = &t,
                          .fn = cube,
                          .user = &count,
                          .effect = true,
                          .jvp = cube_slope,
                          .vjp = cube_slope};
    assert_int_equal(tn_external_register(c, &s), TN_OK);
    tn_fn *f = tn_trace(c, effect_and_more, name, 1, (tn_type[]){tn_f64()});
    assert_made(c, f);
    const tn_policy *policy[] = {NULL, tn_policy_by_name("nothing_saveable")};
    for (int k = 0; k < 2; k++) {
        tn_exec *e = tn_compile(tn_value_and_grad(f, NULL, policy[k]), NULL);
        assert_made(c, e);
        count = 0;
        assert_int_equal(tn_call(e, (const void *[]){&x}, (void *[]){&y[0], &y[1]}), TN_OK);
        assert_int_equal(count, 1);
        assert_true(fabs(y[1] - x * x * x * cos(x)) < 1e-15);
    }
    tn_ctx_free(c);
}

/* ---- nesting ------------------------------------------------------------------------------------------ */

static tn_val twice(const tn_val *in, void *user) {
    const tn_fn *f = user;
    tn_val y = tn_apply(f, 1, in);
    return tn_apply(f, 1, &y);
}

/* 2^40 runs of the innermost program; every transformation visits each level once.  (To save
 * everything would save 2^40 residuals: the policy is the other one.) */
static void shared_nesting_is_not_exponential(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, sine, NULL, 1, (tn_type[]){tn_f64()});
    for (int k = 0; k < 40; k++) assert_made(c, f = tn_trace(c, twice, f, 1, (tn_type[]){tn_f64()}));
    assert_made(c, tn_jvp(f, NULL));
    const tn_policy *nothing = tn_policy_by_name("nothing_saveable");
    tn_fn *g = tn_grad(f, NULL, nothing);
    assert_made(c, g);
    assert_made(c, tn_hvp(f, NULL, nothing));
    assert_made(c, tn_vmap(g, 5, NULL, NULL));
    assert_int_equal(tn_check(g), TN_OK);
    assert_true(bytes_of(g) > 1e12);
    assert_made(c, tn_compile(g, NULL));
    tn_ctx_free(c);
}

static tn_val once(const tn_val *in, void *user) { return tn_apply((const tn_fn *)user, 1, in); }

static void nesting_is_limited(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, sine, NULL, 1, (tn_type[]){tn_f64()});
    for (int k = 1; k < TN_MAX_NEST; k++) assert_made(c, f = tn_trace(c, once, f, 1, (tn_type[]){tn_f64()}));
    tn_fn *g = tn_grad(f, NULL, NULL);
    assert_made(c, g);
    double x = 0.2;
    assert_true(run(c, g, &x, NULL) == cos(x));
    refused(c, tn_trace(c, once, f, 1, (tn_type[]){tn_f64()}), TN_ELIMIT, "256");
    tn_ctx_free(c);
}

/* ---- length -------------------------------------------------------------------------------------------- */

static tn_val chain(const tn_val *in, void *user) {
    tn_val x = in[0];
    for (int i = 0, n = *(int *)user; i < n; i++)
        x = i % 3 == 0 ? tn_sin(x) : i % 3 == 1 ? tn_mul(x, in[0]) : tn_add(x, 0.5);
    return x;
}

static void long_programs_fit(void **state) {
    (void)state;
    int n = SANITIZED ? 20000 : amount(1000000, 200000);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace(c, chain, &n, 1, (tn_type[]){tn_f64()});
    assert_made(c, f);
    tn_fn *g = tn_grad(f, NULL, NULL);
    assert_made(c, g);
    assert_true(tn_ctx_peak_bytes(c) < 1024 * (size_t)n);
    size_t length, before = tn_ctx_bytes(c);
    char *text = tn_fn_print(f, &length);
    assert_made(c, text);
    tn_fn *p = tn_fn_parse(c, text, length, "long.tn");
    assert_made(c, p);
    assert_true(tn_ctx_peak_bytes(c) - before < 1024 * (size_t)n);
    assert_int_equal(tn_fn_equations(p), tn_fn_equations(f));
    tn_text_free(c, text);
    tn_ctx_free(c);
}

/* ---- contraction ------------------------------------------------------------------ */

/* Two products; that of the derivative of asinh is the second. */
static void two_products(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_asinh(in[0]);
    const tn_val q = tn_mul(in[1], in[2]);
    out[1] = tn_add(q, tn_square(in[0]));
}

/* Output n of f, a derivative of three numbers: tangents and cotangents are the first of them. */
static double nth_output(tn_ctx *c, const tn_fn *f, const double *x, int n) {
    enum { MOST = 32 };
    double y[MOST];
    const void *in[MOST];
    void *out[MOST];
    for (int j = 0; j < MOST; j++) in[j] = j < 3 ? &x[j] : &x[0], out[j] = &y[j];
    assert_made(c, f);
    tn_exec *e = tn_compile(f, NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
    return y[n];
}

/* A rule may compute a product before the program does, whichever the program names first: the bits stay. */
static void derivatives_contract_alike(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = tn_trace_many(c, two_products, NULL, 3, (tn_type[]){tn_f64(), tn_f64(), tn_f64()}, 2);
    const tn_fn *forward = tn_jvp(f, NULL), *back = tn_vjp(f, NULL, NULL);
    const tn_fn *made[] = {f,
                           forward,
                           back,
                           tn_linearize(f, NULL, NULL).primal,
                           tn_jvp(back, NULL),
                           tn_vjp(forward, NULL, NULL),
                           tn_vjp(back, NULL, NULL)};
    for (int k = 1; k < 20; k++) {
        const double x[3] = {sin(k), cos(k), sin(3 * k)}, want = fma(x[1], x[2], x[0] * x[0]);
        for (size_t i = 0; i < sizeof made / sizeof *made; i++) assert_true(nth_output(c, made[i], x, 1) == want);
    }
    tn_ctx_free(c);
}

/* Sums of a product that is the same in all batch elements and of one that is not. */
static void sums_of_lanes(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val p = tn_mul(in[1], in[1]);
    out[0] = tn_add(p, tn_mul(in[0], in[2]));
    out[1] = tn_add(p, in[0]);
}

/* As text has it, which is kept as it is: a square and a difference only once simplified. */
static void texts_contract_alike(void **state) {
    (void)state;
    static const char text[] = "{ lambda x:f64[] y:f64[] z:f64[] . let\n"
                               "    a = integer_pow[y=2] x\n"
                               "    b = mul y z\n"
                               "    c = neg b\n"
                               "    d = add c x\n"
                               "    e = sub z a\n"
                               "  in (d, e) }";
    tn_ctx *c = checked();
    const tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "text.tn");
    const tn_fn *made[] = {f, tn_jvp(f, NULL), tn_vjp(f, NULL, NULL), tn_linearize(f, NULL, NULL).primal,
                           tn_vmap(f, 1, (int[]){TN_NOT_MAPPED, 0, 0}, NULL)};
    for (int k = 1; k < 20; k++) {
        const double x[3] = {sin(k), cos(k), sin(3 * k)}, want[2] = {fma(-x[1], x[2], x[0]), fma(-x[0], x[0], x[2])};
        for (size_t i = 0; i < sizeof made / sizeof *made; i++)
            for (int j = 0; j < 2; j++) assert_true(nth_output(c, made[i], x, j) == want[j]);
    }
    tn_ctx_free(c);
}

static void lanes_contract_alike(void **state) {
    (void)state;
    enum { N = 20 };
    tn_ctx *c = checked();
    const tn_fn *f = tn_trace_many(c, sums_of_lanes, NULL, 3, (tn_type[]){tn_f64(), tn_f64(), tn_f64()}, 2);
    const tn_fn *g = tn_vmap(f, N, (int[]){0, TN_NOT_MAPPED, 0}, NULL);
    assert_made(c, g);
    double x[N], y = sin(1), z[N], s[N], r[N];
    for (int k = 0; k < N; k++) x[k] = sin(2 + k), z[k] = cos(3 * k);
    tn_exec *e = tn_compile(g, NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, (const void *[]){x, &y, z}, (void *[]){s, r}), TN_OK);
    for (int k = 0; k < N; k++) assert_true(s[k] == fma(y, y, x[k] * z[k]) && r[k] == fma(y, y, x[k]));
    tn_exec_free(e);
    tn_ctx_free(c);
}

static void doublings(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val x = in[0], twice = tn_add(x, x);
    out[0] = tn_mul(3, twice);
    out[1] = tn_mul(0.75, twice);
    out[2] = tn_mul(DBL_MAX, twice);
    out[3] = tn_add(tn_neg(x), tn_neg(x));
}

/* What is put in place of k (x + x) and -x + -x has their bits. */
static void doublings_are_exact(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_type t = tn_f64();
    const tn_fn *f = tn_trace_many(c, doublings, NULL, 1, &t, 4);
    assert_made(c, f);
    assert_int_equal(tn_fn_equations(f), 5); /* x + x, of which 3 (x + x) has no need; three products; neg */
    const double x[] = {0.0,     -0.0,         0.1,           -7,       DBL_MIN / 3, -DBL_TRUE_MIN,
                        DBL_MAX, -DBL_MAX / 3, 0.6 * DBL_MAX, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        const volatile double twice = x[i] + x[i], minus = -x[i];
        const double want[4] = {3 * twice, 0.75 * twice, DBL_MAX * twice, minus + minus};
        for (int j = 0; j < 4; j++) {
            const double y = nth_output(c, f, &x[i], j);
            assert_memory_equal(&y, &want[j], sizeof y);
        }
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doublings_are_exact),        cmocka_unit_test(scalar_reads_are_linear),
        cmocka_unit_test(scalar_reads_are_right),     cmocka_unit_test(untouched_constants_cost_nothing),
        cmocka_unit_test(linear_maps_store_nothing),  cmocka_unit_test(fourth_derivatives),
        cmocka_unit_test(refusals_name_the_reason),   cmocka_unit_test(custom_jvp_rules),
        cmocka_unit_test(custom_vjp_nests),           cmocka_unit_test(calls_are_linear_output_by_output),
        cmocka_unit_test(linear_calls_are_checked),   cmocka_unit_test(externals_differentiate_by_their_callbacks),
        cmocka_unit_test(effects_run_once),           cmocka_unit_test(shared_nesting_is_not_exponential),
        cmocka_unit_test(nesting_is_limited),         cmocka_unit_test(long_programs_fit),
        cmocka_unit_test(derivatives_contract_alike), cmocka_unit_test(lanes_contract_alike),
        cmocka_unit_test(texts_contract_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
