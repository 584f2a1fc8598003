/* Rules of elementwise primitives: identities that need no equation, derivatives
 * at kinks, scalars beside arrays, types, linearity, and the samplers. */
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* The same number, sign of zero included; any NaN is the same as any other. */
static bool identical(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }
#define assert_identical(a, b) assert_true(identical((double)(a), (double)(b)))

/* ---- identities -------------------------------------------------------------------------------------------- */

typedef struct scene {
    tn_ctx *c;
    tn_i_builder b;
    tn_i_var x, linear; /* f64[3] */
    tn_i_var n;         /* i32[3] */
    tn_i_var which;     /* bool[3] */
} scene;

static void scene_open(scene *s) {
    const int64_t three = 3;
    const tn_type f = tn_type_of(TN_F64, 1, &three), i = tn_type_of(TN_I32, 1, &three),
                  t = tn_type_of(TN_BOOL, 1, &three);
    s->c = tn_ctx_new(NULL);
    assert_non_null(s->c);
    tn_i_builder_init(&s->b, s->c);
    s->x = tn_i_input(&s->b, &f, false);
    s->n = tn_i_input(&s->b, &i, false);
    s->which = tn_i_input(&s->b, &t, false);
    s->linear = tn_i_input(&s->b, &f, true);
}

static void scene_close(scene *s) {
    assert_false(s->b.failed);
    tn_i_builder_drop(&s->b);
    tn_ctx_free(s->c);
}

static bool known(const tn_i_builder *b, tn_i_var v, double value) {
    double k;
    return tn_i_known_f64(b, v, &k) && identical(k, value);
}

static void safe_identities(void **state) {
    (void)state;
    scene s;
    scene_open(&s);
    tn_i_builder *b = &s.b;
    const tn_i_var x = s.x, n = s.n, dx = s.linear, one = tn_i_number_like(b, x, 1), zero = tn_i_number_like(b, x, 0),
                   minus_zero = tn_i_number_like(b, x, -0.0), n_zero = tn_i_number_like(b, n, 0),
                   n_one = tn_i_number_like(b, n, 1);
    assert_int_equal(tn_i_op2(b, TN_P_mul, one, x), x);
    assert_int_equal(tn_i_op2(b, TN_P_div, x, one), x);
    assert_int_equal(tn_i_op2(b, TN_P_sub, x, zero), x);
    assert_int_equal(tn_i_op2(b, TN_P_add, minus_zero, x), x);
    assert_int_equal(tn_i_op2(b, TN_P_pow, x, one), x);
    assert_int_equal(tn_i_op2(b, TN_P_pow, x, n_one), x);
    assert_int_equal(tn_i_op2(b, TN_P_max, x, x), x);
    assert_int_equal(tn_i_op1(b, TN_P_neg, tn_i_op1(b, TN_P_neg, x)), x);
    assert_int_equal(tn_i_op3(b, TN_P_select, s.which, x, x), x);
    assert_int_equal(tn_i_op1(b, TN_P_not, tn_i_op1(b, TN_P_not, s.which)), s.which);
    assert_int_equal(tn_i_op2(b, TN_P_add, x, tn_i_op1(b, TN_P_neg, dx)), tn_i_op2(b, TN_P_sub, x, dx));
    assert_int_equal(tn_i_op2(b, TN_P_add, n, n_zero), n);
    assert_true(known(b, tn_i_op2(b, TN_P_mul, n, n_zero), 0));
    assert_true(known(b, tn_i_op2(b, TN_P_pow, x, zero), 1));
    const tn_i_param power[3] = {
        {.kind = TN_K_INT, .u.i = 0}, {.kind = TN_K_INT, .u.i = 1}, {.kind = TN_K_INT, .u.i = 2}};
    const tn_prim *integer_pow = tn_i_registry[TN_P_integer_pow];
    assert_true(known(b, tn_i_emit(b, integer_pow, &power[0], 1, &x), 1));
    assert_int_equal(tn_i_emit(b, integer_pow, &power[1], 1, &x), x);
    assert_int_equal(tn_i_emit(b, integer_pow, &power[2], 1, &x), tn_i_op1(b, TN_P_square, x));
    const tn_i_param same = {.kind = TN_K_DTYPE, .u.i = TN_F64};
    assert_int_equal(tn_i_emit(b, tn_i_registry[TN_P_convert_element_type], &same, 1, &x), x);
    /* Only linear values may forget what 0 does to NaN, infinities and -0. */
    assert_int_equal(tn_i_op2(b, TN_P_add, dx, zero), dx);
    assert_int_equal(tn_i_op2(b, TN_P_sub, zero, dx), tn_i_op1(b, TN_P_neg, dx));
    assert_true(known(b, tn_i_op2(b, TN_P_mul, dx, zero), 0));
    scene_close(&s);
}

static void unsafe_identities(void **state) {
    (void)state;
    scene s;
    scene_open(&s);
    tn_i_builder *b = &s.b;
    const tn_i_var x = s.x, zero = tn_i_number_like(b, x, 0), minus_zero = tn_i_number_like(b, x, -0.0);
    const tn_i_var made[] = {tn_i_op2(b, TN_P_add, x, zero), tn_i_op2(b, TN_P_sub, x, minus_zero),
                             tn_i_op2(b, TN_P_sub, zero, x), tn_i_op2(b, TN_P_sub, x, x),
                             tn_i_op2(b, TN_P_mul, x, zero), tn_i_op2(b, TN_P_div, x, x),
                             tn_i_op2(b, TN_P_div, zero, x)};
    const int id[] = {TN_P_add, TN_P_sub, TN_P_sub, TN_P_sub, TN_P_mul, TN_P_div, TN_P_div};
    for (size_t i = 0; i < COUNT(made); i++) {
        const tn_i_eqn *e = tn_i_def(b, made[i]);
        assert_non_null(e);
        assert_int_equal(e->prim->id, id[i]);
    }
    scene_close(&s);
}

/* ---- derivatives where a convention decides -------------------------------------------------------------------- */

/* Runs a program of f64[4] inputs and outputs. */
static void call4(tn_fn *f, const double (*in)[4], double (*out)[4]) {
    const void *from[8];
    void *to[8];
    for (size_t i = 0; i < tn_fn_inputs(f); i++) from[i] = in[i];
    for (size_t j = 0; j < tn_fn_outputs(f); j++) to[j] = out[j];
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    assert_int_equal(tn_call(e, from, to), TN_OK);
}

/* d of `equation` (operands x y z of f64[4]) at four points, for tangents of wrt (NULL: all). */
static void derivative(const char *equation, size_t nin, const double (*in)[4], const tn_wrt_list *wrt, double *d) {
    static const char *const inputs[] = {"x:f64[4]", "x:f64[4] y:f64[4]", "x:f64[4] y:f64[4] z:f64[4]"};
    char text[256];
    double out[2][4];
    const int n = snprintf(text, sizeof text, "{ lambda %s . let r:f64[4] = %s in (r,) }", inputs[nin - 1], equation);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_jvp(tn_fn_parse(c, text, (size_t)n, "derivative.tn"), wrt);
    if (!f) fail_msg("%s", tn_error(c));
    call4(f, in, out);
    memcpy(d, out[1], 4 * sizeof *d);
    tn_ctx_free(c);
}

static void expect4(const char *equation, size_t nin, const double (*in)[4], const double *expected) {
    double d[4];
    derivative(equation, nin, in, NULL, d);
    for (int i = 0; i < 4; i++)
        if (!(d[i] == expected[i] || (isnan(d[i]) && isnan(expected[i]))))
            fail_msg("%s at %d: %g, not %g", equation, i, d[i], expected[i]);
}

#define ONES \
    { 1, 1, 1, 1 }
#define NONE \
    { 0, 0, 0, 0 }

static void kinks_of_one_operand(void **state) {
    (void)state;
    expect4("abs x", 1, (const double[][4]){{0.0, -0.0, -2, 3}, ONES}, (const double[]){1, 1, -1, 1});
    expect4("sign x", 1, (const double[][4]){{0.0, -0.0, -2, NAN}, ONES}, (const double[])NONE);
    expect4("sqrt x", 1, (const double[][4]){{0, 1, 4, -1}, ONES}, (const double[]){INFINITY, 0.5, 0.25, NAN});
    expect4("cbrt x", 1, (const double[][4]){{0, -1, 1, INFINITY}, ONES},
            (const double[]){INFINITY, 1.0 / 3, 1.0 / 3, 0});
    expect4("logistic x", 1, (const double[][4]){{0, 1000, -1000, NAN}, ONES}, (const double[]){0.25, 0, 0, NAN});
    expect4("tanh x", 1, (const double[][4]){{0, 1000, -1000, NAN}, ONES}, (const double[]){1, 0, 0, NAN});
    expect4("stop_gradient x", 1, (const double[][4]){{0, 1, 2, 3}, ONES}, (const double[])NONE);
    expect4("floor x", 1, (const double[][4]){{0, 1, 2.5, 3}, ONES}, (const double[])NONE);
    expect4("integer_pow[y=0] x", 1, (const double[][4]){{0, 1, NAN, 3}, ONES}, (const double[])NONE);
    expect4("integer_pow[y=3] x", 1, (const double[][4]){{0, 1, -2, 3}, ONES}, (const double[]){0, 3, 12, 27});
    expect4("integer_pow[y=-1] x", 1, (const double[][4]){{0, 1, -2, INFINITY}, ONES},
            (const double[]){-INFINITY, -1, -0.25, 0});
}

static void kinks_of_two_operands(void **state) {
    (void)state;
    const double ties[4] = {1, 2, 0.0, 3}, others[4] = {1, 1, -0.0, 4};
    double in[4][4] = {{0}, {0}, ONES, NONE};
    memcpy(in[0], ties, sizeof ties);
    memcpy(in[1], others, sizeof others);
    expect4("max x y", 2, (const double(*)[4])in, (const double[]){0.5, 1, 0.5, 0});
    expect4("min x y", 2, (const double(*)[4])in, (const double[]){0.5, 0, 0.5, 1});
    const double base[3][4] = {{0, 0, 2, 0}, {2, 0, 3, 0.5}, ONES};
    double d[4];
    derivative("pow x y", 2, base, tn_wrt(1), d);
    assert_identical(d[0], 0);
    assert_identical(d[1], 0);
    assert_true(fabs(d[2] - 8 * log(2)) < 1e-15);
    assert_identical(d[3], 0);
    const double origin[4][4] = {{0, 0, 1, -1}, {0, 1, 0, 0}, ONES, NONE};
    expect4("atan2 x y", 2, origin, (const double[]){NAN, 1, 0, 0});
    const double apart[4][4] = {{7, -7, 7, 0.5}, {2, 2, -2, 2}, NONE, ONES};
    expect4("rem x y", 2, apart, (const double[]){-3, 3, 3, 0});
    const double quotient[4][4] = {{1, 1e-200, 0, INFINITY}, {2, 1e-200, 1e-300, 1e200}, NONE, ONES};
    expect4("div x y", 2, quotient, (const double[]){-0.25, -1e200, 0, -INFINITY});
}

static void kinks_of_clamp(void **state) {
    (void)state;
    /* below, at the lower bound, inside, at the upper bound; then above */
    const double lo[4] = {0, 0, 0, 0}, x[4] = {-1, 0, 0.5, 1}, hi[4] = {1, 1, 1, 1}, beyond[4] = {2, 2, 2, 2};
    double in[6][4] = {{0}};
    memcpy(in[0], lo, sizeof lo);
    memcpy(in[1], x, sizeof x);
    memcpy(in[2], hi, sizeof hi);
    static const double expected[3][4] = {{1, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 3; j++) in[3 + j][i] = j == k;
        expect4("clamp x y z", 3, (const double(*)[4])in, expected[k]);
    }
    memcpy(in[1], beyond, sizeof beyond);
    expect4("clamp x y z", 3, (const double(*)[4])in, (const double[])ONES);
}

/* In what a derivative does not select nothing may be infinite, or it is NaN a derivative later. */
static void second_derivatives_at_zero(void **state) {
    (void)state;
    static const char *const odd[] = {"sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf"};
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
        char text[128];
        tn_ctx *c = tn_ctx_new(NULL);
        const int n = snprintf(text, sizeof text, "{ lambda x:f64[] . let y:f64[] = %s x in (y,) }", odd[k]);
        tn_fn *f = tn_grad(tn_fn_parse(c, text, (size_t)n, "odd.tn"), NULL, NULL);
        const double zero = 0;
        for (int order = 2; order <= 3; order++) {
            f = tn_grad(f, NULL, NULL);
            assert_non_null(f);
            double d;
            tn_exec *e = tn_compile(f, NULL);
            assert_int_equal(tn_call(e, (const void *const[]){&zero}, (void *const[]){&d}), TN_OK);
            if (order == 2 ? d != 0 : !isfinite(d)) fail_msg("%s: derivative %d at 0 is %g", odd[k], order, d);
            tn_exec_free(e);
        }
        tn_ctx_free(c);
    }
}

static void order_of_polygamma_is_fixed(void **state) {
    (void)state;
    static const char text[] = "{ lambda m:f64[] x:f64[] . let y:f64[] = polygamma m x in (y,) }";
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "polygamma.tn");
    assert_non_null(f);
    assert_non_null(tn_jvp(f, tn_wrt(1)));
    assert_null(tn_jvp(f, tn_wrt(0)));
    assert_int_equal(tn_last_status(c), TN_ERULE);
    assert_non_null(strstr(tn_error(c), "polygamma"));
    tn_ctx_free(c);
}

static void integer_exponents_differentiate(void **state) {
    (void)state;
    static const char text[] = "{ lambda x:f64[4] n:i32[4] . let y:f64[4] = pow x n in (y,) }";
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "pow.tn"), *g = tn_jvp(f, NULL);
    const double x[4] = {0, -2, 0, 3}, dx[4] = ONES;
    const int32_t n[4] = {0, 3, 1, -1};
    double y[4], dy[4];
    tn_exec *e = tn_compile(g, NULL);
    if (!e) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_call(e, (const void *[]){x, n, dx}, (void *[]){y, dy}), TN_OK);
    assert_memory_equal(y, ((const double[]){1, -8, 0, 1.0 / 3}), sizeof y);
    assert_true(dy[0] == 0 && dy[1] == 12 && dy[2] == 1 && fabs(dy[3] + 1.0 / 9) < 1e-16);
    tn_ctx_free(c);
}

/* ---- scalars beside arrays, batched -------------------------------------------------------------------------------
 */

/* vmap of `text` over every choice of mapped inputs against lane after lane. */
static void batches_like_a_loop(const char *text, size_t nin, const int *lane) {
    double data[3][12], out[12], one[6];
    uint8_t flag[12];
    tn_i_rng r = {7};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "batch.tn");
    if (!f) fail_msg("%s", tn_error(c));
    for (size_t i = 0; i < 12; i++) {
        flag[i] = (uint8_t)tn_i_pick(&r, 0, 1);
        for (size_t k = 0; k < 3; k++) data[k][i] = tn_i_uniform(&r, -2, 2);
    }
    tn_exec *single = tn_compile(f, NULL);
    const tn_type result = tn_fn_output_type(f, 0);
    const size_t n = tn_type_elements(&result);
    for (unsigned mapped = 1; mapped < 1u << nin; mapped++) {
        int axes[3];
        const void *in[3], *at[3];
        for (size_t i = 0; i < nin; i++) {
            const tn_type t = tn_fn_input_type(f, i);
            axes[i] = mapped >> i & 1 ? 0 : TN_NOT_MAPPED;
            in[i] = t.dtype == TN_BOOL ? (const void *)flag : (const void *)data[i];
        }
        tn_exec *e = tn_compile(tn_vmap(f, 2, axes, NULL), NULL);
        if (!e) fail_msg("mapped %u: %s", mapped, tn_error(c));
        assert_int_equal(tn_call(e, in, (void *[]){out}), TN_OK);
        for (int k = 0; k < 2; k++) {
            for (size_t i = 0; i < nin; i++) {
                const tn_type t = tn_fn_input_type(f, i);
                at[i] = (const char *)in[i] + (axes[i] == 0 ? k * lane[i] * (int)tn_i_dtype_size(t.dtype) : 0);
            }
            assert_int_equal(tn_call(single, at, (void *[]){one}), TN_OK);
            assert_memory_equal(out + (size_t)k * n, one, n * sizeof *one);
        }
    }
    tn_ctx_free(c);
}

static void scalars_batch(void **state) {
    (void)state;
    batches_like_a_loop("{ lambda p:bool[] x:f64[3] y:f64[3] . let z:f64[3] = select p x y in (z,) }", 3,
                        (const int[]){1, 3, 3});
    batches_like_a_loop("{ lambda p:bool[3] x:f64[3] y:f64[3] . let z:f64[3] = select p x y in (z,) }", 3,
                        (const int[]){3, 3, 3});
    batches_like_a_loop("{ lambda p:bool[] x:f64[] y:f64[] . let z:f64[] = select p x y in (z,) }", 3,
                        (const int[]){1, 1, 1});
    batches_like_a_loop("{ lambda a:f64[] x:f64[2,3] b:f64[] . let z:f64[2,3] = clamp a x b in (z,) }", 3,
                        (const int[]){1, 6, 1});
    batches_like_a_loop("{ lambda a:f64[3] x:f64[3] b:f64[] . let z:f64[3] = clamp a x b in (z,) }", 3,
                        (const int[]){3, 3, 1});
    batches_like_a_loop("{ lambda a:f64[] x:f64[] b:f64[] . let z:f64[] = clamp a x b in (z,) }", 3,
                        (const int[]){1, 1, 1});
}

static void scalar_bounds_differentiate(void **state) {
    (void)state;
    static const char text[] =
        "{ lambda a:f64[] x:f64[4] b:f64[] . let z:f64[4] = clamp a x b s:f64[] = reduce_sum[axes=(0,)] z in (s,) }";
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *g = tn_grad(tn_fn_parse(c, text, sizeof text - 1, "clamp.tn"), NULL, NULL);
    tn_exec *e = tn_compile(g, NULL);
    if (!e) fail_msg("%s", tn_error(c));
    const double a = -1, b = 1, x[4] = {-3, 0.5, 2, 4};
    double da, dx[4], db;
    assert_int_equal(tn_call(e, (const void *[]){&a, x, &b}, (void *[]){&da, dx, &db}), TN_OK);
    assert_identical(da, 1);
    assert_identical(db, 2);
    assert_memory_equal(dx, ((const double[]){0, 1, 0, 0}), sizeof dx);
    tn_ctx_free(c);
}

/* ---- linearity and types -------------------------------------------------------------------------------------------
 */

static void refused(const char *text, tn_status status, const char *reason) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "refused.tn");
    if (f && tn_check(f) == TN_OK) fail_msg("accepted: %s", text);
    if (tn_last_status(c) != status || !strstr(tn_error(c), reason)) fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

static void wrong_types(void **state) {
    (void)state;
    refused("{ lambda x:f64[3] y:f32[3] . let z:f64[3] = add x y in (z,) }", TN_ETYPE, "convert_element_type");
    refused("{ lambda x:f64[3] y:f64[2] . let z:f64[3] = add x y in (z,) }", TN_ETYPE, "broadcast");
    refused("{ lambda x:i32[3] . let z:i32[3] = sin x in (z,) }", TN_ETYPE, "sin is not defined for i32");
    refused("{ lambda x:f64[3] . let z:f64[3] = not x in (z,) }", TN_ETYPE, "not is not defined for f64");
    refused("{ lambda x:bool[3] y:bool[3] . let z:bool[3] = add x y in (z,) }", TN_ETYPE,
            "add is not defined for bool");
    refused("{ lambda x:i32[3] . let z:i32[3] = integer_pow[y=-1] x in (z,) }", TN_ETYPE, "negative power");
    refused("{ lambda x:f32[3] y:f64[3] . let z:f32[3] = pow x y in (z,) }", TN_ETYPE, "operand 1");
    refused("{ lambda p:i32[3] x:f64[3] . let z:f64[3] = select p x x in (z,) }", TN_ETYPE, "must be bool");
    refused("{ lambda p:bool[2] x:f64[3] . let z:f64[3] = select p x x in (z,) }", TN_ETYPE, "operand 0");
    refused("{ lambda p:bool[3] x:f64[3] y:f32[3] . let z:f64[3] = select p x y in (z,) }", TN_ETYPE, "operand 2");
    refused("{ lambda a:f64[2] x:f64[3] . let z:f64[3] = clamp a x x in (z,) }", TN_ETYPE, "operand 0");
    refused("{ lambda a:f32[] x:f64[3] . let z:f64[3] = clamp x x a in (z,) }", TN_ETYPE, "operand 2");
}

static void what_is_linear(void **state) {
    (void)state;
    static const char *const accepted[] = {
        "{ lambda p:bool[3] | x:f64[3] y:f64[3] . let z:f64[3] = select p x y w:f64[3] = sub z y in (w,) }",
        "{ lambda a:f64[3] | x:f64[3] . let y:f64[3] = mul a x z:f64[3] = div y a w:f64[3] = neg z in (w,) }",
        "{ lambda | x:f64[3] . let y:f32[3] = convert_element_type[new_dtype=f32] x in (y,) }"};
    for (size_t i = 0; i < COUNT(accepted); i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = tn_fn_parse(c, accepted[i], strlen(accepted[i]), "linear.tn");
        if (!f || tn_check(f) != TN_OK || !tn_transpose(f)) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
    refused("{ lambda | x:f64[3] . let y:f64[3] = mul x x in (y,) }", TN_ELINEAR, "mul");
    refused("{ lambda a:f64[3] | x:f64[3] . let y:f64[3] = div a x in (y,) }", TN_ELINEAR, "div");
    refused("{ lambda a:f64[3] | x:f64[3] . let y:f64[3] = add a x in (y,) }", TN_ELINEAR, "add");
    refused("{ lambda | x:f64[3] . let y:i32[3] = convert_element_type[new_dtype=i32] x in (y,) }", TN_ELINEAR,
            "convert_element_type");
    refused("{ lambda | x:f64[3] . let y:f64[3] = abs x in (y,) }", TN_ELINEAR, "abs");
    refused("{ lambda | x:f64[3] . let y:f64[3] = stop_gradient x in (y,) }", TN_ELINEAR, "stop_gradient");
}

/* ---- samplers
 * --------------------------------------------------------------------------------------------------------- */

/* Shapes and parameters that the type rule takes, data inside the domain. */
static void sampled_case(tn_ctx *c, const tn_prim *prim, int dtype, uint64_t seed) {
    tn_i_rng r = {seed};
    tn_i_case k;
    tn_i_var in[TN_CASE_MAX];
    tn_i_builder b;
    memset(&k, 0, sizeof k);
    k.ctx = c;
    if (!prim->sample(&r, dtype, &k)) return;
    tn_i_builder_init(&b, c);
    b.raw = true;
    assert_int_equal(k.nin, (uint32_t)prim->nin);
    for (uint32_t i = 0; i < k.nin; i++) {
        double room[TN_SAMPLE_ELEMENTS];
        assert_true(tn_i_type_valid(&k.in[i]) && tn_i_count(&k.in[i]) <= TN_SAMPLE_ELEMENTS);
        (k.fill ? k.fill : tn_i_fill_domain)(&r, &k, i, room);
        in[i] = tn_i_input(&b, &k.in[i], false);
    }
    assert_int_equal(k.in[prim->strip_operand].dtype, dtype);
    if (tn_i_emit(&b, prim, k.p, k.nin, in) == TN_NOVAR) fail_msg("%s: %s", prim->name, tn_error(c));
    tn_i_builder_drop(&b);
}

static void samplers(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    for (int id = TN_P_neg; id <= TN_P_stop_gradient; id++)
        for (int dtype = 0; dtype < TN_NDTYPES; dtype++)
            for (uint64_t seed = 0; seed < 100; seed++)
                if (tn_i_registry[id]->sample && (tn_i_registry[id]->dtypes >> dtype & 1))
                    sampled_case(c, tn_i_registry[id], dtype, seed);
    tn_ctx_free(c);
}

static void sampled_numbers(void **state) {
    (void)state;
    tn_i_rng r = {3};
    const tn_i_domain zero = {-1, 1, 0.25, TN_AT_ZERO}, whole = {-2, 2, 0.125, TN_AT_INTEGERS};
    bool negative = false, positive = false, empty = false;
    for (int i = 0; i < 2000; i++) {
        const double x = tn_i_sample_number(&r, &zero, TN_F64), y = tn_i_sample_number(&r, &whole, TN_F64);
        tn_type t;
        assert_true(fabs(x) >= 0.25 && fabs(x) <= 1 && fabs(y - rint(y)) >= 0.125);
        negative |= x < 0;
        positive |= x > 0;
        assert_true(fabs(tn_i_sample_number(&r, &zero, TN_I32)) == 1);
        tn_i_sample_shape(&r, &t, TN_F32, 1, 4);
        assert_true(tn_i_type_valid(&t) && t.rank >= 1 && t.rank <= 4 && tn_i_count(&t) <= TN_SAMPLE_ELEMENTS);
        empty |= tn_i_count(&t) == 0;
        const int64_t pick = tn_i_pick(&r, -3, 5);
        assert_true(pick >= -3 && pick <= 5);
    }
    assert_true(negative && positive && empty);
}

/* ---- quotients --------------------------------------------------------------------------------------------- */

/* The quotients of the jvp, and how many elements they have. */
static int quotients(const char *program, int64_t *elements) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, program, strlen(program), "quotient.tn");
    if (!f) fail_msg("%s", tn_error(c));
    const tn_fn *d = tn_jvp(f, NULL);
    assert_non_null(d);
    int n = 0;
    *elements = 0;
    for (uint32_t i = 0; i < d->neqn; i++) {
        if (d->eqn[i].prim->id != TN_P_div) continue;
        n++;
        *elements += tn_i_count(d->val[d->eqn[i].out].type);
    }
    tn_ctx_free(c);
    return n;
}

/* Beside the quotients of the program there is 1/y, once, and of what a broadcast repeats; tangents are divided by a
 * constant alone. */
static void tangents_are_not_divided(void **state) {
    (void)state;
    int64_t elements;
    assert_int_equal(quotients("{ lambda a:f64[4,3] b:f64[4] . let\n"
                               "    c:f64[4,3] = broadcast_in_dim[shape=(4, 3) broadcast_dimensions=(0,)] b\n"
                               "    d:f64[4,3] = div a c\n  in (d,) }",
                               &elements),
                     2);
    assert_int_equal(elements, 12 + 4);
    assert_int_equal(quotients("{ lambda a:f64[5] b:f64[5] . let\n    c:f64[5] = div a b\n"
                               "    d:f64[5] = div c b\n  in (d,) }",
                               &elements),
                     3);
    assert_int_equal(quotients("{ lambda a:f64[5] . let\n    b:f64[5] = div a 3.0:f64[]\n  in (b,) }", &elements), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safe_identities),
        cmocka_unit_test(unsafe_identities),
        cmocka_unit_test(kinks_of_one_operand),
        cmocka_unit_test(kinks_of_two_operands),
        cmocka_unit_test(kinks_of_clamp),
        cmocka_unit_test(second_derivatives_at_zero),
        cmocka_unit_test(order_of_polygamma_is_fixed),
        cmocka_unit_test(integer_exponents_differentiate),
        cmocka_unit_test(tangents_are_not_divided),
        cmocka_unit_test(scalars_batch),
        cmocka_unit_test(scalar_bounds_differentiate),
        cmocka_unit_test(wrong_types),
        cmocka_unit_test(what_is_linear),
        cmocka_unit_test(samplers),
        cmocka_unit_test(sampled_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
