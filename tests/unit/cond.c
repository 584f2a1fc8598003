/* cond and switch: values, derivatives, batches, effects, and what is refused. */
#include "unit/tracing.h"

#include "prims/ids.h"

#include <stdio.h>
#include <stdlib.h>

static const tn_policy everything = {.size = sizeof(tn_policy), .name = "everything_saveable"},
                       nothing = {.size = sizeof(tn_policy), .name = "nothing_saveable"};

static tn_fn *parsed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "cond.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

#define TEXT(s) s, sizeof s - 1

static uint32_t equations_of(const tn_fn *f, int id) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) n += f->eqn[i].prim->id == id;
    return n;
}

static double at(const tn_fn *f, uint8_t p, double x) {
    double y;
    run(f, TN_INPUTS(&p, &x), TN_OUTPUTS(&y));
    return y;
}

static void refused(tn_ctx *c, const tn_fn *f, tn_status want, const char *part) {
    assert_null(f);
    if (tn_last_status(c) != want || !strstr(tn_error(c), part))
        fail_msg("%d: %s", (int)tn_last_status(c), tn_error(c));
    tn_error_clear(c);
}

/* ---- values ------------------------------------------------------------------------------ */

static tn_val sine(const tn_val *in, void *user) {
    (void)user;
    return tn_sin(in[0]);
}

static tn_val cubed(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], tn_mul(in[0], in[0]));
}

static tn_val sine_or_cube(const tn_val *in, void *user) { return tn_cond(in[0], sine, cubed, user, 1, in + 1); }

static void test_values(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, sine_or_cube, NULL, 2, TN_TYPES(tn_bool(), tn_f64()));
    assert_true(fabs(at(f, 1, 0.5) - sin(0.5)) < 1e-15);
    assert_true(at(f, 0, 0.5) == 0.125);
    tn_ctx_free(c);
}

static void first(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    for (int j = 0; j < 5; j++) out[j] = in[j];
}

static void second(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    for (int j = 0; j < 4; j++) out[j] = tn_neg(in[j]);
    out[4] = tn_not(in[4]);
}

static void third(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    for (int j = 0; j < 4; j++) out[j] = tn_add(in[j], 7);
    out[4] = tn_or(in[4], tn_not(in[4]));
}

static void switched(const tn_val *in, tn_val *out, void *user) {
    static const tn_trace_many_fn branch[] = {first, second, third};
    tn_switch(in[0], 3, branch, user, 5, in + 1, 5, out);
}

/* Each dtype, each index, in and out of range, of both widths. */
static void test_switch(void **state) {
    (void)state;
    static const int64_t index[] = {INT64_MIN, -(INT64_C(1) << 32), INT32_MIN,        -1,       0, 1, 2,
                                    3,         INT32_MAX,           INT64_C(1) << 32, INT64_MAX};
    tn_ctx *c = checked();
    const float a[2] = {1.5F, -2};
    const double b[2] = {0.25, 3};
    const int32_t i = 4;
    const int64_t l = -9;
    const uint8_t z[3] = {1, 0, 1};
    for (int wide = 0; wide < 2; wide++) {
        tn_fn *f = tn_trace_many(
            c, switched, NULL, 6,
            TN_TYPES(wide ? tn_i64() : tn_i32(), tn_f32(2), tn_f64(2), tn_i32(), tn_i64(), tn_bool(3)), 5);
        if (!f) fail_msg("%s", tn_error(c));
        for (size_t k = 0; k < COUNT(index); k++) {
            const int32_t narrow = (int32_t)index[k];
            if (!wide && narrow != index[k]) continue;
            const void *which = wide ? (const void *)&index[k] : &narrow;
            const int taken = index[k] <= 0 ? 0 : index[k] >= 2 ? 2 : 1;
            float ya[2];
            double yb[2];
            int32_t yi;
            int64_t yl;
            uint8_t yz[3];
            run(f, TN_INPUTS(which, a, b, &i, &l, z), TN_OUTPUTS(ya, yb, &yi, &yl, yz));
            assert_true(ya[1] == (taken == 0 ? -2 : taken == 1 ? 2 : 5));
            assert_true(yb[0] == (taken == 0 ? 0.25 : taken == 1 ? -0.25 : 7.25));
            assert_int_equal(yi, taken == 0 ? 4 : taken == 1 ? -4 : 11);
            assert_int_equal(yl, taken == 0 ? -9 : taken == 1 ? 9 : -2);
            assert_int_equal(yz[1], taken != 0);
            assert_int_equal(yz[0], taken != 1);
        }
    }
    tn_ctx_free(c);
}

/* Text as JAX prints it, with what older versions add; and as it is printed here. */
static void test_text(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda ; a:bool[] b:f32[]. let\n"
                         "    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] a\n"
                         "    d:f32[] = cond[\n"
                         "      branches=(\n"
                         "        { lambda ; e:f32[]. let f:f32[] = mul e 2.0:f32[] in (f,) }\n"
                         "        { lambda ; g:f32[]. let h:f32[] = sin g in (h,) }\n"
                         "      )\n"
                         "      linear=(False, False)\n"
                         "    ] c b\n"
                         "  in (d,) }");
    const uint8_t yes = 1, no = 0;
    const float x = 0.5F;
    float y;
    run(f, TN_INPUTS(&yes, &x), TN_OUTPUTS(&y));
    assert_true(fabsf(y - sinf(x)) < 1e-7F);
    run(f, TN_INPUTS(&no, &x), TN_OUTPUTS(&y));
    assert_true(y == 1);
    size_t n;
    char *text = tn_fn_print(f, &n);
    assert_true(tn_i_fn_equal(f, parsed(c, text)));
    tn_text_free(c, text);
    tn_ctx_free(c);
}

/* ---- captures ------------------------------------------------------------------------------- */

static tn_val inner_then(const tn_val *in, void *user) {
    const tn_val *outer = user;
    return tn_mul(in[0], tn_mul(outer[0], outer[2]));
}

static tn_val inner_else(const tn_val *in, void *user) {
    const tn_val *outer = user;
    return tn_add(in[0], outer[1]);
}

static tn_val outer_then(const tn_val *in, void *user) {
    const tn_val *outer = user;
    return tn_cond(tn_gt(in[0], outer[2]), inner_then, inner_else, user, 1, in);
}

static tn_val outer_else(const tn_val *in, void *user) {
    const tn_val *outer = user;
    return tn_sub(tn_mul(in[0], in[0]), outer[2]);
}

/* x[1] > 0 ? (x[1] > x[3] ? x[1] x[0] x[3] : x[1] + x[2]) : x[1]^2 - x[3], all but x[1] captured */
static tn_val capturing(const tn_val *in, void *user) {
    (void)user;
    tn_val outer[3] = {in[0], in[2], in[3]};
    return tn_cond(tn_gt(in[1], 0), outer_then, outer_else, outer, 1, &in[1]);
}

static void test_captures(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, capturing, NULL, 4, TN_TYPES(tn_f64(), tn_f64(), tn_f64(), tn_f64()));
    if (!f) fail_msg("%s", tn_error(c));
    tn_fn *g = tn_grad(f, NULL, NULL);
    static const struct {
        double x[4], y, d[4];
    } rows[] = {
        {{2, 3, 5, 1}, 6, {3, 2, 0, 6}}, {{2, 0.5, 5, 1}, 5.5, {0, 1, 1, 0}}, {{2, -3, 5, 1}, 8, {0, -6, 0, -1}}};
    for (size_t k = 0; k < COUNT(rows); k++) {
        const double *x = rows[k].x;
        double y, d[4];
        run(f, TN_INPUTS(&x[0], &x[1], &x[2], &x[3]), TN_OUTPUTS(&y));
        close_to(&y, &rows[k].y, 1, 0);
        run(g, TN_INPUTS(&x[0], &x[1], &x[2], &x[3]), TN_OUTPUTS(&d[0], &d[1], &d[2], &d[3]));
        close_to(d, rows[k].d, 4, 0);
    }
    tn_ctx_free(c);
}

/* ---- derivatives ------------------------------------------------------------------------------ */

static void test_derivatives(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, sine_or_cube, NULL, 2, TN_TYPES(tn_bool(), tn_f64()));
    const tn_policy *policies[] = {NULL, &everything, &nothing};
    for (size_t k = 0; k < COUNT(policies); k++) {
        const double x = 0.7;
        tn_fn *g = tn_grad(f, NULL, policies[k]), *gg = tn_grad(g, NULL, policies[k]),
              *ggg = tn_grad(gg, NULL, policies[k]);
        if (!ggg) fail_msg("%s", tn_error(c));
        close_to(P(at(g, 1, x), at(g, 0, x)), P(cos(x), 3 * x * x), 2, 1e-15);
        close_to(P(at(gg, 1, x), at(gg, 0, x)), P(-sin(x), 6 * x), 2, 1e-15);
        close_to(P(at(ggg, 1, x), at(ggg, 0, x)), P(-cos(x), 6), 2, 1e-15);
        const uint8_t p[2] = {0, 1};
        tn_fn *h = tn_hvp(f, NULL, policies[k]), *jv = tn_jvp(g, NULL);
        for (int i = 0; i < 2; i++) {
            double d, v = 2, both[2];
            run(h, TN_INPUTS(&p[i], &x, &v), TN_OUTPUTS(&d));
            close_to(&d, P(2 * (i ? -sin(x) : 6 * x)), 1, 1e-15);
            run(jv, TN_INPUTS(&p[i], &x, &v), TN_OUTPUTS(&both[0], &both[1]));
            close_to(both, P(i ? cos(x) : 3 * x * x, 2 * (i ? -sin(x) : 6 * x)), 2, 1e-15);
        }
    }
    tn_ctx_free(c);
}

/* Two costly residuals in one branch, one in the other, an operand and an output among them: two slots. */
static void test_residuals_share_slots(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f =
        parsed(c, "{ lambda p:bool[] a:f64[100] . let b:f64[100] = cond[branches=("
                  "{ lambda a:f64[100] . let b = exp a c = sin b d = sin c in (d,) },"
                  "{ lambda a:f64[100] . let b = exp a c = mul a b d = tanh c e = exp d in (e,) })] p a in (b,) }");
    const tn_linearized l = tn_linearize(f, NULL, &everything);
    assert_non_null(l.linear);
    size_t arrays = 0; /* a branch: exp a, cos b, cos c; the other: a, exp a, 1 - tanh^2 or tanh, and the output */
    const uint32_t nres = l.linear->nin - 1;
    for (uint32_t i = 0; i < nres; i++) arrays += l.linear->val[i].type->rank == 1;
    assert_in_range(arrays, 4, 5);
    tn_fn *g = tn_vjp(f, NULL, &everything);
    double x[100], ct[100], y[100], d[100], want[100];
    for (int i = 0; i < 100; i++) {
        x[i] = 0.02 * i - 1;
        ct[i] = 1;
        want[i] = cos(sin(exp(x[i]))) * cos(exp(x[i])) * exp(x[i]);
    }
    uint8_t p = 0;
    run(g, TN_INPUTS(&p, x, ct), TN_OUTPUTS(y, d));
    close_to(d, want, 100, 1e-14);
    p = 1;
    for (int i = 0; i < 100; i++) {
        const double t = tanh(x[i] * exp(x[i]));
        want[i] = exp(t) * (1 - t * t) * exp(x[i]) * (1 + x[i]);
    }
    run(g, TN_INPUTS(&p, x, ct), TN_OUTPUTS(y, d));
    close_to(d, want, 100, 1e-14);
    tn_ctx_free(c);
}

/* A tangent that one branch has and the other has not; an integer result; an operand that no branch reads. */
static void test_uneven_branches(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda i:i32[] a:f64[] b:f64[] c:f64[] . let x:f64[] y:f64[] z:i32[] = cond[branches=("
                         "{ lambda a:f64[] b:f64[] c:f64[] . let d = mul a a in (d, 1.0, 3) },"
                         "{ lambda a:f64[] b:f64[] c:f64[] . let d = mul a b in (2.0, d, 4) },"
                         "{ lambda a:f64[] b:f64[] c:f64[] . let in (1.0, 2.0, 5) })] i a b c in (x, y, z) }");
    const double x[3] = {3, 5, 7}, v[3] = {1, 10, 100};
    static const double want[3][4] = {{9, 1, 6, 0}, {2, 15, 0, 35}, {1, 2, 0, 0}};
    static const double back[3][3] = {{6, 0, 0}, {0, 0, 0}, {0, 0, 0}}, back2[3][3] = {{0, 0, 0}, {5, 3, 0}, {0, 0, 0}};
    tn_fn *j = tn_jvp(f, NULL), *t = tn_vjp(f, NULL, NULL);
    assert_non_null(j);
    assert_non_null(t);
    for (int32_t i = 0; i < 3; i++) {
        double y[4], ct[2] = {1, 0}, d[3];
        int32_t z;
        run(j, TN_INPUTS(&i, &x[0], &x[1], &x[2], &v[0], &v[1], &v[2]), TN_OUTPUTS(&y[0], &y[1], &z, &y[2], &y[3]));
        close_to(y, want[i], 4, 0);
        assert_int_equal(z, 3 + i);
        for (int k = 0; k < 2; k++) {
            ct[k] = 1, ct[1 - k] = 0;
            run(t, TN_INPUTS(&i, &x[0], &x[1], &x[2], &ct[0], &ct[1]),
                TN_OUTPUTS(&y[0], &y[1], &z, &d[0], &d[1], &d[2]));
            close_to(d, k ? back2[i] : back[i], 3, 0);
        }
    }
    tn_ctx_free(c);
}

/* ---- regions ------------------------------------------------------------------------------------ */

static tn_val regioned(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[1], tn_exp(sine_or_cube(in, NULL)));
}

static tn_val in_region(const tn_val *in, void *user) {
    const tn_val y = tn_checkpoint(regioned, user, NULL, 2, in);
    return tn_subfn("inner", regioned, NULL, 2, ((const tn_val[]){in[0], y}));
}

static void test_regions(void **state) {
    (void)state;
    tn_ctx *c = checked();
    static const tn_policy dots = {.size = sizeof dots, .name = "dots_saveable"};
    const tn_policy *inside[] = {NULL, &everything, &dots}, *around[] = {NULL, &everything, &nothing};
    for (size_t k = 0; k < COUNT(inside) * COUNT(around); k++) {
        tn_fn *f = tn_trace(c, in_region, (void *)(uintptr_t)inside[k % 3], 2, TN_TYPES(tn_bool(), tn_f64()));
        tn_fn *g = tn_grad(f, NULL, around[k / 3]), *h = tn_grad(g, NULL, around[k / 3]);
        if (!h) fail_msg("%s", tn_error(c));
        for (uint8_t p = 0; p < 2; p++) {
            const double x = 0.3, e = 1e-5;
            const double d = (at(f, p, x + e) - at(f, p, x - e)) / (2 * e),
                         dd = (at(g, p, x + e) - at(g, p, x - e)) / (2 * e);
            close_to(P(at(g, p, x), at(h, p, x)), P(d, dd), 2, 1e-8);
        }
    }
    tn_ctx_free(c);
}

/* ---- batches --------------------------------------------------------------------------------------- */

static tn_val root(const tn_val *in, void *user) {
    (void)user;
    return tn_sqrt(in[0]);
}

static tn_val none(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(0, in[0]);
}

static tn_val root_or_none(const tn_val *in, void *user) { return tn_cond(tn_gt(in[0], 0), root, none, user, 1, in); }

/* The infinite derivative of the branch that a lane does not take stays out of it. */
static void test_batched_predicate(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, root_or_none, NULL, 1, TN_TYPES(tn_f64()));
    const double x[4] = {4, 0, -1, 0.25}, one[4] = {1, 1, 1, 1}, want[4] = {0.25, 0, 0, 1}, zero[16] = {0};
    double y[4], d[4], j[16], second_d[4];
    tn_fn *b = tn_vmap(f, 4, NULL, NULL), *t = tn_vjp(b, NULL, NULL),
          *g = tn_vmap(tn_grad(f, NULL, NULL), 4, NULL, NULL);
    assert_int_equal(equations_of(b, TN_P_cond), 0);
    run(b, TN_INPUTS(x), TN_OUTPUTS(y));
    close_to(y, P(2, 0, -0.0, 0.5), 4, 0);
    run(t, TN_INPUTS(x, one), TN_OUTPUTS(y, d));
    close_to(d, want, 4, 0);
    run(g, TN_INPUTS(x), TN_OUTPUTS(d));
    close_to(d, want, 4, 0);
    run(tn_jvp(b, NULL), TN_INPUTS(x, one), TN_OUTPUTS(y, d));
    close_to(d, want, 4, 0);
    run(tn_jacrev(b, NULL, NULL, 0), TN_INPUTS(x), TN_OUTPUTS(j));
    close_to(P(j[0], j[5], j[10], j[15]), want, 4, 0);
    run(tn_jacfwd(b, NULL, 0), TN_INPUTS(x), TN_OUTPUTS(j));
    close_to(P(j[0], j[5], j[10], j[15], j[1], j[6]), P(0.25, 0, 0, 1, 0, 0), 6, 0);
    run(tn_vmap(tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), 4, NULL, NULL), TN_INPUTS(x), TN_OUTPUTS(second_d));
    close_to(second_d, P(-1.0 / 32, 0, 0, -2), 4, 1e-15);
    run(tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), TN_INPUTS(zero), TN_OUTPUTS(d));
    close_to(d, zero, 1, 0);
    tn_ctx_free(c);
}

static tn_val shared(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(in[0], in[1]));
}

static tn_val alone(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_log(in[1]));
}

static tn_val with_weights(const tn_val *in, void *user) { return tn_cond(in[0], shared, alone, user, 2, in + 1); }

/* A predicate for all batch elements stays one choice; with one for each, an operand that all share has the sum of its
 * lanes' cotangents, and no NaN from lanes that go the other way. */
static void test_shared_operands(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, with_weights, NULL, 3, TN_TYPES(tn_bool(), tn_f64(2), tn_f64(2)));
    tn_fn *one = tn_vmap(f, 3, (const int[]){TN_NOT_MAPPED, TN_NOT_MAPPED, 0}, NULL);
    if (!one) fail_msg("%s", tn_error(c));
    assert_int_equal(equations_of(one, TN_P_cond), 1);
    const double w[2] = {2, 3}, x[6] = {1, 2, 3, 4, 5, 6}, ct[3] = {1, 10, 100};
    double y[3], dw[2], dx[6];
    uint8_t yes = 1;
    run(tn_vjp(one, NULL, NULL), TN_INPUTS(&yes, w, x, ct), TN_OUTPUTS(y, dw, dx));
    close_to(y, P(8, 18, 28), 3, 0);
    close_to(dw, P(531, 642), 2, 0);
    tn_fn *each = tn_vmap(f, 3, (const int[]){0, TN_NOT_MAPPED, TN_NOT_MAPPED}, NULL);
    const uint8_t p[3] = {1, 0, 1};
    const double at_zero[2] = {0, 1};
    run(tn_vjp(each, NULL, NULL), TN_INPUTS(p, w, at_zero, ct), TN_OUTPUTS(y, dw, dx));
    close_to(y, P(3, -INFINITY, 3), 3, 0);
    close_to(dw, P(0, 101), 2, 0);
    close_to(dx, P(INFINITY, 313), 2, 0);
    const uint8_t all[3] = {1, 1, 1};
    run(tn_vjp(each, NULL, NULL), TN_INPUTS(all, w, at_zero, ct), TN_OUTPUTS(y, dw, dx));
    close_to(dx, P(222, 333), 2, 0); /* log of 0 was nobody's */
    tn_ctx_free(c);
}

/* Each lane its index, out of range too; of a program already differentiated as well. */
static void test_batched_switch(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda i:i32[] a:f64[] . let b:f64[] = cond[branches=("
                         "{ lambda a:f64[] . let b = exp a in (b,) }, { lambda a:f64[] . let b = log a in (b,) },"
                         "{ lambda a:f64[] . let b = mul a a in (b,) })] i a in (b,) }");
    const int32_t i[6] = {-5, 0, 1, 2, 3, 99};
    const double x[6] = {-1, 2, 4, -3, 5, -6}, v[6] = {1, 1, 1, 1, 1, 1};
    double y[6], d[6];
    run(tn_vmap(f, 6, NULL, NULL), TN_INPUTS(i, x), TN_OUTPUTS(y));
    close_to(y, P(exp(-1), exp(2), log(4), 9, 25, 36), 6, 1e-15);
    tn_fn *inside = tn_vmap(tn_vjp(f, NULL, NULL), 6, NULL, NULL),
          *outside = tn_vjp(tn_vmap(f, 6, NULL, NULL), NULL, NULL);
    if (!inside || !outside) fail_msg("%s", tn_error(c));
    run(inside, TN_INPUTS(i, x, v), TN_OUTPUTS(y, d));
    close_to(d, P(exp(-1), exp(2), 0.25, -6, 10, -12), 6, 1e-15);
    run(outside, TN_INPUTS(i, x, v), TN_OUTPUTS(y, d));
    close_to(d, P(exp(-1), exp(2), 0.25, -6, 10, -12), 6, 1e-15);
    const tn_linearized l = tn_linearize(f, NULL, NULL);
    tn_fn *lanes = tn_vmap(l.linear, 6, NULL, NULL); /* tangents are guarded without stop_gradient */
    if (!lanes || !tn_transpose(lanes)) fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

/* ---- effects --------------------------------------------------------------------------------------------- */

static int count_calls(void *user, const tn_effect *e) {
    (void)e;
    ++*(int *)user;
    return 0;
}

static tn_val loud(const tn_val *in, void *user) {
    int *line = user;
    const tn_val y = tn_exp(in[0]);
    if (line) *line = __LINE__ + 1;
    tn_print(tn_val_ctx(in[0]), "taken", 1, in);
    return tn_mul(y, y);
}

static tn_val loud_or_sine(const tn_val *in, void *user) { return tn_cond(in[0], loud, sine, user, 1, in + 1); }

static int said(const tn_fn *f, const void *const *in, void *const *out) {
    int calls = 0;
    assert_non_null(f);
    const tn_compile_options o = {.size = sizeof o, .observer = count_calls, .observer_user = &calls};
    tn_exec *e = tn_compile(f, &o);
    assert_non_null(e);
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
    return calls;
}

static void test_effects(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int line = 0;
    tn_fn *f = tn_trace(c, loud_or_sine, &line, 2, TN_TYPES(tn_bool(), tn_f64()));
    const tn_policy *policies[] = {NULL, &everything, &nothing};
    const double x = 0.5, v = 1;
    for (uint8_t p = 0; p < 2; p++) {
        double y, d;
        const double want = p ? 2 * exp(1) : cos(0.5);
        assert_int_equal(said(f, TN_INPUTS(&p, &x), TN_OUTPUTS(&y)), p);
        assert_int_equal(said(f, TN_INPUTS(&p, &x), TN_OUTPUTS(NULL)), p);
        assert_int_equal(said(tn_jvp(f, NULL), TN_INPUTS(&p, &x, &v), TN_OUTPUTS(&y, &d)), p);
        for (size_t k = 0; k < COUNT(policies); k++) {
            assert_int_equal(said(tn_vjp(f, NULL, policies[k]), TN_INPUTS(&p, &x, &v), TN_OUTPUTS(&y, &d)), p);
            close_to(&d, &want, 1, 1e-15);
        }
        double lanes[3] = {1, 2, 3}, ys[3];
        tn_fn *b = tn_vmap(f, 3, (const int[]){TN_NOT_MAPPED, 0}, NULL);
        assert_int_equal(said(b, TN_INPUTS(&p, lanes), TN_OUTPUTS(ys)), p);
    }
    char where[64];
    (void)snprintf(where, sizeof where, "cond.c:%d: vmap: this effect is in branch 1", line);
    refused(c, tn_vmap(f, 3, NULL, NULL), TN_ERULE, where);
    tn_ctx_free(c);
}

/* ---- known indices ------------------------------------------------------------------------------------------ */

static tn_val known(const tn_val *in, void *user) {
    const tn_val p = tn_eq(tn_full(tn_val_ctx(in[0]), tn_i32(), 3), 3);
    return tn_cond(p, user ? loud : sine, cubed, NULL, 1, in);
}

static void test_known_index(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, known, NULL, 1, TN_TYPES(tn_f64())), *g = tn_trace(c, known, c, 1, TN_TYPES(tn_f64()));
    if (!f || !g) fail_msg("%s", tn_error(c));
    assert_int_equal(equations_of(f, TN_P_cond), 0);
    assert_int_equal(equations_of(g, TN_P_cond), 1); /* an effect is not looked into */
    const double x = 0.5;
    double y, d;
    run(tn_value_and_grad(f, NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&y, &d));
    close_to(P(y, d), P(sin(x), cos(x)), 2, 1e-15);
    assert_int_equal(said(tn_value_and_grad(g, NULL, &nothing), TN_INPUTS(&x), TN_OUTPUTS(&y, &d)), 1);
    close_to(P(y, d), P(exp(1), 2 * exp(1)), 2, 1e-15);
    /* a tangent that is zero in the known branch alone */
    tn_fn *h =
        parsed(c, "{ lambda a:f64[] . let x:f64[] y:f64[] = cond[branches=("
                  "{ lambda a:f64[] . let in (1.0, a) }, { lambda a:f64[] . let b = sin a in (b, b) })] 0:i32[] a "
                  "z = mul x y w = add z x in (w,) }");
    run(tn_grad(h, NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&d));
    close_to(&d, P(1), 1, 0);
    run(tn_grad(tn_grad(h, NULL, NULL), NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&d));
    close_to(&d, P(0), 1, 0);
    tn_ctx_free(c);
}

/* ---- cost, layouts, sharing ------------------------------------------------------------------------------------ */

static void test_cost(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda p:bool[] a:f64[10] . let b:f64[10] = cond[branches=("
                         "{ lambda a:f64[10] . let b = exp a in (b,) },"
                         "{ lambda a:f64[10] . let b = add a a c = add b a d = add c b in (d,) })] p a in (b,) }");
    tn_cost_report r = {.size = sizeof r};
    assert_int_equal(tn_cost(f, &r), TN_OK);
    assert_true(r.flops == 160 && r.transcendentals == 10 && r.equations == 3 && r.bytes == 3 * 240);
    tn_ctx_free(c);
}

/* One pair of branches under more layouts of its operands than are planned. */
static void test_layouts(void **state) {
    (void)state;
    static const char *const order[] = {"0,1,2,3", "0,1,3,2", "0,2,1,3", "0,2,3,1", "0,3,1,2", "0,3,2,1",
                                        "1,0,2,3", "1,0,3,2", "1,2,0,3", "1,2,3,0", "1,3,0,2", "3,2,1,0"};
    char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "let p1 = { lambda a:f64[2,2,2,2] . let b = neg a in (b,) } in "
                                "let p2 = { lambda a:f64[2,2,2,2] . let b = mul a a in (b,) } in "
                                "{ lambda p:bool[] a:f64[2,2,2,2] . let ");
    for (size_t k = 0; k < COUNT(order); k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "t%zu:f64[2,2,2,2] = transpose[permutation=(%s)] a "
                              "c%zu:f64[2,2,2,2] = cond[branches=(p1, p2)] p t%zu ",
                              k, order[k], k, k);
    n += (size_t)snprintf(text + n, sizeof text - n, "in (");
    for (size_t k = 0; k < COUNT(order); k++) n += (size_t)snprintf(text + n, sizeof text - n, "c%zu,", k);
    (void)snprintf(text + n, sizeof text - n, ") }");
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, text);
    double x[16], y[COUNT(order)][16];
    void *out[COUNT(order)];
    for (int i = 0; i < 16; i++) x[i] = i + 1;
    for (size_t k = 0; k < COUNT(order); k++) out[k] = y[k];
    for (uint8_t p = 0; p < 2; p++) {
        run(f, TN_INPUTS(&p, x), out);
        for (size_t k = 0; k < COUNT(order); k++)
            for (int i = 0; i < 16; i++) {
                int from = 0;
                for (int d = 0; d < 4; d++) from |= (i >> (3 - d) & 1) << (3 - (order[k][2 * d] - '0'));
                assert_true(y[k][i] == (p ? x[from] * x[from] : -x[from]));
            }
    }
    tn_ctx_free(c);
}

/* Forty levels, each of two programs that choose between the two below: 2^40 paths, but each program is transformed
 * once, and one path's residuals are kept. */
static void test_shared_programs(void **state) {
    (void)state;
    enum { DEPTH = 40, ROOM = 1 << 16 };
    char *text = malloc(ROOM);
    assert_non_null(text);
    size_t n = (size_t)snprintf(text, ROOM,
                                "let p0 = { lambda i:i32[] a:f64[] . let b = sin a in (b,) } in "
                                "let q0 = { lambda i:i32[] a:f64[] . let b = mul a 0.5 in (b,) } in ");
    for (int k = 1; k <= DEPTH; k++)
        for (int q = 0; q < 2; q++)
            n += (size_t)snprintf(
                text + n, ROOM - n,
                "let %c%d = { lambda i:i32[] a:f64[] . let j = %s i 1 b = cond[branches=(%c%d, %c%d)] j i a "
                "c = tanh b in (c,) } in ",
                q ? 'q' : 'p', k, q ? "add" : "sub", q ? 'q' : 'p', k - 1, q ? 'p' : 'q', k - 1);
    (void)snprintf(text + n, ROOM - n, "{ lambda i:i32[] a:f64[] . let b = cond[branches=(p%d, q%d)] i i a in (b,) }",
                   DEPTH, DEPTH);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parsed(c, text);
    free(text);
    tn_fn *g = tn_grad(f, NULL, NULL), *h = tn_hvp(f, NULL, NULL),
          *gg = tn_grad(tn_grad(f, NULL, &nothing), NULL, &everything), *b = tn_vmap(f, 3, NULL, NULL);
    if (!g || !h || !gg || !b) fail_msg("%s", tn_error(c));
    tn_cost_report r = {.size = sizeof r};
    assert_int_equal(tn_cost(f, &r), TN_OK);
    assert_true(r.transcendentals == DEPTH + 1);
    const tn_linearized l = tn_linearize(f, NULL, &everything);
    assert_true(l.linear->nin <= 3 * DEPTH);
    tn_fn *const all[] = {f, g, h, gg, l.primal, l.linear};
    for (size_t k = 0; k < COUNT(all); k++) {
        tn_exec *e = tn_compile(all[k], NULL);
        if (!e) fail_msg("%s", tn_error(c));
        tn_exec_free(e);
    }
    tn_ctx_free(c);
}

/* ---- refusals ------------------------------------------------------------------------------------------------------
 */

typedef struct wrong {
    tn_trace_fn then_fn, else_fn;
    int line;
} wrong;

static tn_val two_of_it(const tn_val *in, void *user) {
    (void)user;
    return tn_broadcast_to(in[0], 2);
}

static tn_val wrongly(const tn_val *in, void *user) {
    wrong *w = user;
    w->line = __LINE__ + 1;
    return tn_cond(in[0], w->then_fn, w->else_fn, NULL, 1, in + 1);
}

static void nothing_to_choose(const tn_val *in, tn_val *out, void *user) {
    tn_switch(in[0], 0, NULL, user, 1, in, 1, out);
}

static tn_val of_a_number(const tn_val *in, void *user) {
    (void)in;
    return tn_cond(TN_VAL(1), sine, cubed, user, 1, in);
}

static void test_refusals(void **state) {
    (void)state;
    tn_ctx *c = checked();
    wrong w = {sine, two_of_it, 0};
    char part[128];
    const tn_fn *f = tn_trace(c, wrongly, &w, 2, TN_TYPES(tn_bool(), tn_f64()));
    (void)snprintf(part, sizeof part, "cond.c:%d: cond: output 0 of branch 1 is f64[], of branch 0 f64[2]", w.line);
    refused(c, f, TN_ETYPE, part);
    w.else_fn = NULL;
    refused(c, tn_trace(c, wrongly, &w, 2, TN_TYPES(tn_bool(), tn_f64())), TN_EINVAL,
            "the callback of branch 0 is NULL");
    w.else_fn = cubed;
    refused(c, tn_trace(c, wrongly, &w, 2, TN_TYPES(tn_f64(), tn_f64())), TN_ETYPE, "not f64[]");
    refused(c, tn_trace(c, wrongly, &w, 2, TN_TYPES(tn_bool(2), tn_f64())), TN_ETYPE, "not bool[2]");
    refused(c, tn_trace_many(c, nothing_to_choose, NULL, 1, TN_TYPES(tn_i32()), 1), TN_EINVAL, "no branches");
    refused(c, tn_trace(c, of_a_number, NULL, 1, TN_TYPES(tn_f64())), TN_EINVAL, "plain number");
    refused(c,
            tn_fn_parse(
                c, TEXT("{ lambda p:bool[] . let b:f64[] = cond[branches=({ lambda . let in (1.0,) })] p in (b,) }"),
                "x.tn"),
            TN_ETYPE, "between two branches, not 1");
    refused(c, tn_fn_parse(c, TEXT("{ lambda p:i32[] . let b:f64[] = cond[branches=()] p in (b,) }"), "x.tn"), TN_ETYPE,
            "at least one branch");
    refused(
        c,
        tn_fn_parse(c,
                    TEXT("{ lambda p:bool[] a:f64[] . let b:f64[] = cond[branches=({ lambda a:f64[] . let in (a,) }, "
                         "{ lambda . let in (1.0,) })] p a in (b,) }"),
                    "x.tn"),
        TN_ETYPE, "branch 1 takes 0 operands behind the index, not 1");
    refused(
        c,
        tn_fn_parse(c,
                    TEXT("{ lambda p:bool[] | a:f64[] . let b:f64[] = cond[branches=({ lambda a:f64[] . let in (a,) }, "
                         "{ lambda a:f64[] . let in (1.0,) })] p a in (b,) }"),
                    "x.tn"),
        TN_ELINEAR, "output 0 is linear in some of the branches only");
    tn_ctx_free(c);
}

/* A user's linear program: its transpose, of branches that mix what is linear and what is not. */
static void test_transpose(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda p:bool[] a:f64[] | x:f64[] . let y:f64[] z:f64[] = cond[branches=("
                         "{ lambda a:f64[] x:f64[] . let b = exp a c = mul b x in (c, b) },"
                         "{ lambda a:f64[] x:f64[] . let b = sin a in (0.0, b) })] p a x w = mul y z in (w,) }");
    tn_fn *t = tn_transpose(f);
    if (!t) fail_msg("%s", tn_error(c));
    const double a = 0.5, ct = 3;
    for (uint8_t p = 0; p < 2; p++) {
        double x;
        run(t, TN_INPUTS(&p, &a, &ct), TN_OUTPUTS(&x));
        close_to(&x, P(p ? 0 : 3 * exp(1)), 1, 1e-15);
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_captures),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_residuals_share_slots),
        cmocka_unit_test(test_uneven_branches),
        cmocka_unit_test(test_regions),
        cmocka_unit_test(test_batched_predicate),
        cmocka_unit_test(test_shared_operands),
        cmocka_unit_test(test_batched_switch),
        cmocka_unit_test(test_effects),
        cmocka_unit_test(test_known_index),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_shared_programs),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_transpose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
