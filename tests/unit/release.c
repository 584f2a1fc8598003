/* What is dropped gives its memory back at once, whether it ever ran or not: programs, executables, workspaces,
 * unused residuals.  Interned strings, types and places stay for the context's life, which is why each test makes
 * everything once before it counts. */
#include "tracing.h"

#include <stddef.h>

enum { WIDTH = 64, N = 100000, LAYERS = 20 };

static const char *const policies[] = {"everything_saveable", "nothing_saveable", "dots_saveable", "min_cut",
                                       "min_bytes",           "balanced"};

typedef struct maker {
    tn_ctx *c;
    const double *big;
} maker;

/* A network, and a constant of 800 kB that its derivative reads. */
static tn_val network(const tn_val *in, void *user) {
    const maker *m = user;
    tn_val big = tn_constant(m->c, tn_f64(N), m->big), h = in[0];
    for (int i = 0; i < LAYERS; i++) h = tn_tanh(tn_matmul(h, in[1]));
    return tn_add(tn_sum(h), tn_sum(tn_mul(tn_sin(in[2]), big)));
}

static tn_fn *traced(tn_ctx *c) {
    static double big[N];
    for (int i = 0; i < N; i++) big[i] = 1 + i;
    maker m = {c, big};
    tn_fn *f = tn_trace(c, network, &m, 3, TN_TYPES(tn_f64(WIDTH, WIDTH), tn_f64(WIDTH, WIDTH), tn_f64(N)));
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_policy named(const char *name) { return (tn_policy){.size = sizeof(tn_policy), .name = name}; }

/* A derivative that nobody runs leaves nothing behind, nor do the programs it was made from. */
static void derive_and_drop(tn_ctx *c, const tn_fn *f, const char *name, bool count) {
    const tn_policy policy = named(name);
    const size_t before = tn_ctx_bytes(c);
    tn_fn *g = tn_vjp(f, NULL, &policy);
    if (!g) fail_msg("%s: %s", name, tn_error(c));
    assert_true(tn_ctx_bytes(c) > before);
    tn_fn_free(g);
    if (count) assert_int_equal(tn_ctx_bytes(c), before);
    tn_fn *h = tn_hvp(f, NULL, &policy);
    if (!h) fail_msg("%s: %s", name, tn_error(c));
    tn_fn_free(h);
    if (count) assert_int_equal(tn_ctx_bytes(c), before);
    /* the forward part alone, its residuals unused; then the other way round */
    for (int first = 0; first < 2; first++) {
        tn_linearized l = tn_linearize(f, NULL, &policy);
        assert_non_null(l.primal);
        const size_t both = tn_ctx_bytes(c);
        tn_fn_free(first ? l.primal : l.linear);
        assert_true(tn_ctx_bytes(c) < both);
        tn_fn *t = first ? tn_transpose(l.linear) : NULL;
        tn_fn_free(first ? l.linear : l.primal);
        tn_fn_free(t);
        if (count) assert_int_equal(tn_ctx_bytes(c), before);
    }
}

static void test_derivatives_never_run(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced(c);
    for (size_t k = 0; k < COUNT(policies); k++) derive_and_drop(c, f, policies[k], false);
    for (size_t k = 0; k < COUNT(policies); k++) derive_and_drop(c, f, policies[k], true);
    tn_ctx_free(c);
}

/* Each layer goes when it is dropped; what another one still uses stays until that one goes. */
static void layers(tn_ctx *c, bool contract, bool run_it, bool count) {
    static double x[WIDTH * WIDTH], w[WIDTH * WIDTH], v[N], y, dx[WIDTH * WIDTH], dw[WIDTH * WIDTH], dv[N];
    const tn_policy policy = named("everything_saveable");
    const size_t before = tn_ctx_bytes(c);
    tn_fn *f = traced(c), *g = tn_value_and_grad(f, NULL, &policy);
    assert_non_null(g);
    assert_true(tn_ctx_bytes(c) - before > sizeof(double) * N);
    assert_true(tn_ctx_bytes(c) - before < 2 * sizeof(double) * N); /* the constant is there once */
    tn_fn_free(f);
    assert_true(tn_ctx_bytes(c) - before > sizeof(double) * N); /* g reads it */
    const size_t program = tn_ctx_bytes(c);
    tn_exec *e = tn_compile(g, NULL);
    assert_non_null(e);
    const size_t compiled = tn_ctx_bytes(c);
    assert_true(compiled > program);
    tn_work *work = tn_work_new(e, NULL, 0);
    assert_non_null(work);
    assert_true(tn_ctx_bytes(c) - compiled >= tn_exec_bytes(e));
    assert_true(tn_exec_bytes(e) > LAYERS * sizeof x); /* the residuals are there */
    if (run_it) assert_int_equal(tn_call_in(e, work, TN_INPUTS(x, w, v), TN_OUTPUTS(&y, dx, dw, dv)), TN_OK);
    tn_work_free(work);
    assert_int_equal(tn_ctx_bytes(c), compiled);
    if (run_it) {
        assert_int_equal(tn_call(e, TN_INPUTS(x, w, v), TN_OUTPUTS(&y, dx, dw, dv)), TN_OK);
        assert_true(tn_ctx_bytes(c) - compiled >= tn_exec_bytes(e)); /* its own workspace, which goes with it */
    }
    if (count) { /* the executable first: the program is as it was */
        tn_exec_free(e);
        assert_int_equal(tn_ctx_bytes(c), program);
        tn_fn_free(g);
        assert_int_equal(tn_ctx_bytes(c), before);
    } else { /* the program first: the executable holds it, or what contraction made of it, with the same constant */
        const size_t held = tn_ctx_bytes(c);
        tn_fn_free(g);
        if (contract)
            assert_true(tn_ctx_bytes(c) < held && held - tn_ctx_bytes(c) < sizeof(double) * N);
        else
            assert_int_equal(tn_ctx_bytes(c), held);
        assert_true(tn_ctx_bytes(c) - before > sizeof(double) * N);
        tn_exec_free(e);
        assert_true(tn_ctx_bytes(c) < before + sizeof(double) * N);
    }
}

static void test_each_layer(void **state) {
    (void)state;
    for (int contract = 0; contract < 2; contract++) {
        tn_ctx *c =
            tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1, .contract = contract ? 0 : -1});
        layers(c, contract, false, false);
        layers(c, contract, false, true);
        layers(c, contract, true, true);
        tn_ctx_free(c);
    }
}

/* A derivative that fails half way, as many times as one likes. */
static void test_failures(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced(c);
    const tn_policy none = named("most_saveable");
    size_t before = 0;
    for (int i = 0; i < 3; i++) {
        if (i) before = tn_ctx_bytes(c);
        assert_null(tn_vjp(f, NULL, &none));
        assert_null(tn_grad(f, &(const tn_wrt_list){1, &(const int){7}}, NULL));
        if (i) assert_int_equal(tn_ctx_bytes(c), before);
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives_never_run),
        cmocka_unit_test(test_each_layer),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
