/* tn_check_grads of external functions, of which often only one derivative was written. */
#include "tracing.h"

/* (x[3], p, k) -> (y = p x^2 [3], k, z = sum x), with a jvp and a vjp that may be wrong by a factor. */
typedef struct model {
    double factor;
    int calls;
} model;

static int forward(void *user, const void *const *in, void *const *out) {
    const double *x = in[0], *p = in[1];
    double *y = out[0], *z = out[2];
    model *m = user;
    m->calls++;
    for (int i = 0; i < 3; i++) y[i] = *p * x[i] * x[i];
    *(int32_t *)out[1] = *(const int32_t *)in[2];
    *z = x[0] + x[1] + x[2];
    return 0;
}

static int tangent(void *user, const void *const *in, void *const *out) {
    const double *x = in[0], *p = in[1], *dx = in[3], *dp = in[4];
    double *dy = out[0], *dz = out[1];
    const model *m = user;
    for (int i = 0; i < 3; i++) dy[i] = m->factor * (*dp * x[i] * x[i] + 2 * *p * x[i] * dx[i]);
    *dz = dx[0] + dx[1] + dx[2];
    return 0;
}

static int cotangent(void *user, const void *const *in, void *const *out) {
    const double *x = in[0], *p = in[1], *ct = in[3], *ct_z = in[4];
    double *ct_x = out[0], *ct_p = out[1];
    const model *m = user;
    *ct_p = 0;
    for (int i = 0; i < 3; i++) {
        ct_x[i] = m->factor * 2 * *p * x[i] * ct[i] + *ct_z;
        *ct_p += ct[i] * x[i] * x[i];
    }
    return 0;
}

static void calls(const tn_val *in, tn_val *out, void *user) {
    tn_val y[3];
    (void)user;
    tn_external_many(in[0].ctx, "model", 3, in, 3, y);
    out[0] = tn_sin(y[0]);
    out[1] = y[1];
    out[2] = tn_mul(y[2], in[1]);
}

static tn_fn *traced(tn_ctx *c, model *m, bool jvp, bool vjp) {
    const tn_type in[3] = {tn_f64(3), tn_f64(), tn_i32()}, out[3] = {tn_f64(3), tn_i32(), tn_f64()};
    const tn_external_spec s = {.size = sizeof s,
                                .name = "model",
                                .nin = 3,
                                .nout = 3,
                                .in = in,
                                .out = out,
                                .fn = forward,
                                .user = m,
                                .jvp = jvp ? tangent : NULL,
                                .vjp = vjp ? cotangent : NULL};
    assert_int_equal(tn_external_register(c, &s), TN_OK);
    tn_fn *f = tn_trace_many(c, calls, NULL, 3, in, 3);
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static const double x[3] = {0.5, -1, 2}, p = 0.75;
static const int32_t k = 7;

static void one_callback_is_enough(void **state) {
    (void)state;
    for (int which = 1; which < 4; which++) {
        tn_ctx *c = checked();
        model m = {.factor = 1};
        tn_fn *f = traced(c, &m, which & 1, which & 2);
        tn_check_options o = {.size = sizeof o};
        if (tn_check_grads(f, TN_INPUTS(x, &p, &k), NULL, NULL) != TN_OK) fail_msg("%d: %s", which, tn_error(c));
        if (tn_check_grads(f, TN_INPUTS(x, &p, &k), tn_wrt(1), &o) != TN_OK) fail_msg("%d: %s", which, tn_error(c));
        assert_int_equal(tn_last_status(c), TN_OK);
        assert_true(m.calls > 4 * 7);
        m.factor = 1 + 1e-6; /* a wrong derivative is found, and its input named */
        assert_int_equal(tn_check_grads(f, TN_INPUTS(x, &p, &k), NULL, &o), TN_EINVAL);
        const char *said =
            which == 2 ? "check_grads: input 0: <J' ct, dx> = " : "check_grads: input 0: output 0 element ";
        if (!strstr(tn_error(c), said)) fail_msg("%s", tn_error(c));
        m.factor = 1;
        o.order = 2; /* what was asked for and is not there is an error */
        assert_int_equal(tn_check_grads(f, TN_INPUTS(x, &p, &k), NULL, &o), TN_ERULE);
        o.order = 1;
        assert_int_equal(tn_check_grads(f, TN_INPUTS(x, &p, &k), NULL, &o), TN_OK);
        tn_ctx_free(c);
    }
}

static void none_is_refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    model m = {.factor = 1};
    tn_fn *f = traced(c, &m, false, false);
    assert_int_equal(tn_check_grads(f, TN_INPUTS(x, &p, &k), NULL, NULL), TN_ERULE);
    if (!strstr(tn_error(c), "external function 'model' has neither a jvp nor a vjp callback"))
        fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

/* A call within the step of a loop is known not to have a jvp before anything runs. */
static void step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    tn_val y[3];
    const tn_val *in = user;
    (void)i;
    tn_external_many(in[1].ctx, "model", 3, (const tn_val[]){carry[0], in[1], in[2]}, 3, y);
    next[0] = tn_mul(y[0], 0.5);
}

static tn_val looped(const tn_val *in, void *user) {
    tn_val x3;
    (void)user;
    tn_fori(in[0].ctx, 0, 4, step, (void *)(uintptr_t)in, 1, in, &x3, NULL);
    return tn_sum(x3);
}

static void within_loops(void **state) {
    (void)state;
    tn_ctx *c = checked();
    model m = {.factor = 1};
    (void)traced(c, &m, false, true);
    tn_fn *f = tn_trace(c, looped, NULL, TN_ARGS(tn_f64(3), tn_f64(), tn_i32()));
    if (!f) fail_msg("%s", tn_error(c));
    assert_null(tn_jvp(f, NULL));
    assert_int_equal(tn_last_status(c), TN_ERULE);
    if (!strstr(tn_error(c), "external_call 'model': it has no jvp callback")) fail_msg("%s", tn_error(c));
    if (tn_check_grads(f, TN_INPUTS(x, &p, &k), NULL, NULL) != TN_OK) fail_msg("%s", tn_error(c));
    m.factor = 1.5;
    assert_int_equal(tn_check_grads(f, TN_INPUTS(x, &p, &k), NULL, NULL), TN_EINVAL);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_callback_is_enough),
        cmocka_unit_test(none_is_refused),
        cmocka_unit_test(within_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
