/* Messages that name the true reason: values without a context, memory that was never set, callbacks that fail. */
#include "tracing.h"

#include <stdio.h>

static void fails(tn_trace_fn f, tn_status status, const char *said) {
    tn_ctx *c = checked();
    assert_null(tn_trace(c, f, c, TN_ARGS(tn_f64(2))));
    if (tn_last_status(c) != status || !strstr(tn_error(c), said)) fail_msg("%s\nexpected: %s", tn_error(c), said);
    assert_non_null(strstr(tn_error(c), "refused.c:"));
    tn_ctx_free(c);
}

/* ---- no context ------------------------------------------------------------------------ */

static int the_line;

static void add_captured(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    next[0] = tn_add(carry[0], tn_sum(*(const tn_val *)user));
}

static tn_val nowhere(const tn_val *in, void *user) {
    tn_val zero = TN_VAL(0.0), sum;
    (void)user;
    the_line = __LINE__ + 1;
    tn_fori(NULL, 0, 3, add_captured, (void *)(uintptr_t)in, 1, &zero, &sum, NULL);
    return tn_add(sum, in[0]);
}

static tn_val somewhere(const tn_val *in, void *user) {
    tn_val zero = TN_VAL(0.0), sum;
    tn_fori(user, 0, 3, add_captured, (void *)(uintptr_t)in, 1, &zero, &sum, NULL);
    return tn_add(sum, in[0]);
}

static void without_a_context(void **state) {
    (void)state;
    char said[160];
    tn_ctx *c = checked();
    double x[2] = {1, 2}, y[2];
    (void)tn_trace(c, nowhere, c, TN_ARGS(tn_f64(2)));
    (void)snprintf(said, sizeof said, "what made it in line %d was given NULL for the context", the_line);
    fails(nowhere, TN_EINVAL, said);
    run(tn_trace(c, somewhere, c, TN_ARGS(tn_f64(2))), TN_INPUTS(x), TN_OUTPUTS(y));
    close_to(y, P(10, 11), 2, 0);
    tn_ctx_free(c);
}

/* ---- values that are none ------------------------------------------------------------------ */

static const char never[] = "is not a traced value: its memory was never set, or is gone";

static tn_val garbage(unsigned char with) {
    tn_val x;
    memset(&x, with, sizeof x);
    return x;
}
static tn_val adds_garbage(const tn_val *in, void *user) {
    (void)user;
    return tn_add(garbage(0xA5), in[0]);
}
static tn_val adds_to_garbage(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], garbage(0x01));
}
static tn_val only_garbage(const tn_val *in, void *user) {
    (void)user, (void)in;
    assert_null(tn_val_ctx(garbage(0xA5)));
    return garbage(0xA5);
}
static tn_val changed(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0];
    x.id = 7; /* no such variable */
    return tn_sin(x);
}
static tn_val behind(const tn_val *in, void *user) {
    (void)user;
    return tn_add(in[0], in[1]);
}
static tn_val frees(const tn_val *in, void *user) {
    tn_ctx_free(user);
    return tn_sum(in[0]);
}

static void sets_two(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = out[1] = in[0];
}

static void more_outputs(void **state) {
    (void)state;
    for (size_t n = 0; n < 3; n++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace_many(c, sets_two, NULL, TN_ARGS(tn_f64(2)), n);
        if ((f != NULL) != (n == 2)) fail_msg("%zu outputs: %s", n, tn_error(c));
        if (n == 0) assert_non_null(strstr(tn_error(c), "the callback sets output 0, but was to have 0"));
        if (n == 1) assert_non_null(strstr(tn_error(c), "the callback sets output 1, but was to have 1"));
        tn_ctx_free(c);
    }
}

static void values_never_set(void **state) {
    (void)state;
    fails(adds_garbage, TN_EINVAL, never);
    fails(adds_to_garbage, TN_EINVAL, never);
    fails(only_garbage, TN_EINVAL, never);
    fails(changed, TN_EINVAL, "of a value that was never set");
    fails(behind, TN_EINVAL, "is not a traced value (it was never set, or stands behind the last input)");
    tn_ctx *c = checked();
    assert_non_null(tn_trace(c, frees, c, TN_ARGS(tn_f64(2))));
    assert_string_equal(tn_error(c), "tn_ctx_free: a callback of tn_trace is running; nothing was freed");
    tn_ctx_free(c);
}

/* ---- types ------------------------------------------------------------------------------------ */

static void types_that_are_none(void **state) {
    (void)state;
    const tn_type t = tn_f64(3);
    tn_type bad = t;
    bad.rank = 200;
    assert_false(tn_type_equal(NULL, &t) || tn_type_equal(&t, NULL) || tn_type_equal(&bad, &bad));
    assert_true(tn_type_equal(NULL, NULL) && tn_type_equal(&t, &t));
    assert_true(tn_type_of(TN_F64, 2, NULL).rank == -1);
}

/* ---- programs that are gone ---------------------------------------------------------------------- */

static tn_val doubled(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(in[0], 2));
}
static tn_val applies(const tn_val *in, void *user) { return tn_apply(user, 1, in); }

static void gone(tn_ctx *c, bool failed) {
    assert_true(failed);
    if (!strstr(tn_error(c), "the program was freed (tn_fn_free)")) fail_msg("%s", tn_error(c));
    tn_error_clear(c);
}

static void programs_that_were_freed(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, doubled, NULL, TN_ARGS(tn_f64(2))), *kept = tn_grad(f, NULL, NULL);
    double x[2] = {1, 2};
    tn_fn_free(f);
    tn_cost_report cost = {.size = sizeof cost};
    tn_budget_report budget = {.size = sizeof budget};
    gone(c, !tn_compile(f, NULL));
    gone(c, !tn_jvp(f, NULL));
    gone(c, !tn_linearize(f, NULL, NULL).primal);
    gone(c, !tn_transpose(f));
    gone(c, !tn_vjp(f, NULL, NULL));
    gone(c, !tn_grad(f, NULL, NULL));
    gone(c, !tn_value_and_grad(f, NULL, NULL));
    gone(c, !tn_value_and_grad_aux(f, NULL, NULL));
    gone(c, !tn_hvp(f, NULL, NULL));
    gone(c, !tn_jacfwd(f, NULL, 0));
    gone(c, !tn_jacrev(f, NULL, NULL, 0));
    gone(c, !tn_hessian(f, NULL, NULL, 0));
    gone(c, !tn_vmap(f, 3, NULL, NULL));
    gone(c, !tn_fn_print(f, NULL));
    gone(c, !tn_saved_residuals(f, NULL, NULL));
    gone(c, tn_check(f) != TN_OK);
    gone(c, tn_cost(f, &cost) != TN_OK);
    gone(c, tn_memory_budget(f, NULL, 1000, &budget) != TN_OK);
    gone(c, tn_check_grads(f, TN_INPUTS(x), NULL, NULL) != TN_OK);
    gone(c, !tn_trace(c, applies, f, TN_ARGS(tn_f64(2))));
    tn_fn_free(f);
    gone(c, true); /* the second time */
    assert_int_equal(tn_fn_inputs(f) + tn_fn_outputs(f) + tn_fn_equations(f), 0);
    double d[2];
    run(kept, TN_INPUTS(x), TN_OUTPUTS(d));
    for (int i = 0; i < 1000; i++) tn_fn_free(tn_trace(c, doubled, NULL, TN_ARGS(tn_f64(2))));
    tn_ctx_free(c);
}

/* ---- callbacks --------------------------------------------------------------------------------- */

static int returns_7(void *user, const void *const *in, void *const *out) {
    (void)user, (void)in, (void)out;
    return 7;
}
static tn_val calls(const tn_val *in, void *user) {
    (void)user;
    the_line = __LINE__ + 1;
    return tn_external(NULL, "legacy", 1, in);
}
static void call_in_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i;
    next[0] = calls(carry, user);
}
static tn_val calls_in_loop(const tn_val *in, void *user) {
    tn_val y;
    tn_fori(NULL, 0, 3, call_in_step, user, 1, in, &y, NULL);
    return y;
}

static void callbacks_that_fail(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_type t = tn_f64(2);
    const tn_external_spec s = {
        .size = sizeof s, .name = "legacy", .nin = 1, .nout = 1, .in = &t, .out = &t, .fn = returns_7};
    assert_int_equal(tn_external_register(c, &s), TN_OK);
    double x[2] = {1, 2}, y[2];
    for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++)
        for (int loop = 0; loop < 2; loop++) {
            const tn_compile_options o = {.size = sizeof o, .backend = backend};
            tn_exec *e = tn_compile(tn_trace(c, loop ? calls_in_loop : calls, NULL, 1, &t), &o);
            if (!e) fail_msg("%s", tn_error(c));
            tn_work *w = tn_work_new(e, NULL, 0);
            char said[128];
            (void)snprintf(said, sizeof said, "refused.c:%d: external_call: 'legacy' (fn) returned 7", the_line);
            assert_int_equal(tn_call(e, TN_INPUTS(x), TN_OUTPUTS(y)), TN_ECALLBACK);
            if (!strstr(tn_exec_error(e), said)) fail_msg("%s", tn_exec_error(e));
            assert_int_equal(tn_call_in(e, w, TN_INPUTS(x), TN_OUTPUTS(y)), TN_ECALLBACK);
            if (!strstr(tn_work_error(w), said)) fail_msg("%s", tn_work_error(w));
            tn_work_free(w);
        }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_context),
        cmocka_unit_test(values_never_set),
        cmocka_unit_test(more_outputs),
        cmocka_unit_test(types_that_are_none),
        cmocka_unit_test(programs_that_were_freed),
        cmocka_unit_test(callbacks_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
