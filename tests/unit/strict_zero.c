/* strict_zero: 0 times an infinite or undefined partial is 0 in the linear program, at every order, however the
 * program was put together or written down; the primal program is left alone. */
#include "prims/prim.h"
#include "tracing.h"

#include <stdlib.h>

/* what with the option gives `strict`, and without it `plain` */
static void gives(tn_fn *f, const double *x, size_t nin, const double *strict, const double *plain, size_t n) {
    assert_non_null(f);
    double got[8];
    const void *in[4];
    for (size_t i = 0; i < nin; i++) in[i] = x + i * (n / (tn_fn_outputs(f) ? tn_fn_outputs(f) : 1));
    void *out[4];
    for (size_t j = 0; j < tn_fn_outputs(f); j++) out[j] = got + j * (n / tn_fn_outputs(f));
    for (int on = 0; on < 2; on++) {
        const tn_compile_options o = {.size = sizeof o, .strict_zero = on};
        tn_exec *e = tn_compile(f, &o);
        if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
        assert_int_equal(tn_call(e, in, out), TN_OK);
        close_to(got, on ? strict : plain, n, 1e-14);
        tn_exec_free(e);
    }
}

static tn_fn *text(tn_ctx *c, const char *s) {
    tn_fn *f = tn_fn_parse(c, s, strlen(s), "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_fn *again(tn_fn *f) {
    char *s = tn_fn_print(f, NULL);
    tn_fn *g = text(tn_fn_ctx(f), s);
    char *t = tn_fn_print(g, NULL);
    if (strcmp(s, t) != 0) fail_msg("%s%s", s, t);
    tn_text_free(tn_fn_ctx(f), t);
    tn_text_free(tn_fn_ctx(f), s);
    return g;
}

#define BRANCH(body) "{ lambda x:f64[] . let p:bool[] = gt x 0.0 " body " z:f64[] = select p y 0.0 in (z,) }"

static const struct {
    const char *text;
    double at, plain; /* plain NaN: the first derivative without strict_zero */
} branches[] = {
    {BRANCH("y:f64[] = sqrt x"), 0, NAN},
    {BRANCH("y:f64[] = log x"), 0, NAN},
    {BRANCH("y:f64[] = rsqrt x"), 0, NAN},
    {BRANCH("y:f64[] = cbrt x"), 0, NAN},
    {BRANCH("y:f64[] = div 1.0 x"), 0, NAN},
    {BRANCH("y:f64[] = pow x 0.5"), 0, NAN},
    {BRANCH("y:f64[] = integer_pow[y=-3] x"), 0, NAN},
    {BRANCH("y:f64[] = atan2 x x"), 0, NAN},
    {BRANCH("l:f64[] = log x y:f64[] = mul x l"), 0, NAN},
    {BRANCH("s:f64[] = sqrt x e:f64[] = exp s y:f64[] = div e x"), 0, NAN},
    {BRANCH("s:f64[] = sub x 1.0 y:f64[] = asin s"), 0, NAN},
    {BRANCH("y:f64[] = call[name=\"g\" program={ lambda x:f64[] . let y:f64[] = sqrt x in (y,) }] x"), 0, NAN},
    {BRANCH("y:f64[] = checkpoint[name=\"g\" program={ lambda x:f64[] . let s:f64[] = sqrt x y:f64[] = log s in (y,) } "
            "policy=\"nothing_saveable\"] x"),
     0, NAN},
    {BRANCH("y:f64[] = custom_jvp[call={ lambda x:f64[] . let y:f64[] = sqrt x in (y,) } jvp={ lambda x:f64[] | "
            "dx:f64[] . let y:f64[] = sqrt x h:f64[] = div 0.5 y dy:f64[] = mul h dx in (dy,) }] x"),
     0, NAN},
};

static void test_branches(void **state) {
    (void)state;
    static const char *const policies[] = {"everything_saveable", "nothing_saveable", "min_cut"};
    for (size_t i = 0; i < COUNT(branches); i++)
        for (size_t k = 0; k < COUNT(policies); k++) {
            tn_ctx *c = checked();
            const tn_policy how = {.size = sizeof how, .name = policies[k]};
            tn_fn *f = tn_fn_parse(c, branches[i].text, strlen(branches[i].text), "test.tn");
            if (!f) fail_msg("%zu: %s", i, tn_error(c));
            tn_fn *g = tn_grad(f, NULL, &how), *h = tn_grad(g, NULL, &how);
            gives(g, P(0), 1, P(0), P(NAN), 1);
            gives(again(g), P(0), 1, P(0), P(NAN), 1);
            gives(h, P(0), 1, P(0), P(NAN), 1);
            gives(again(h), P(0), 1, P(0), P(NAN), 1);
            gives(tn_grad(h, NULL, &how), P(0), 1, P(0), P(NAN), 1);
            gives(tn_hvp(f, NULL, &how), P(0, 1), 2, P(0), P(NAN), 1);
            gives(tn_grad(again(g), NULL, &how), P(0), 1, P(0), P(NAN), 1);
            tn_fn *one = tn_hvp(f, NULL, &how);
            gives(again(one), P(0, 0), 2, P(0), P(NAN), 1);
            tn_ctx_free(c);
        }
}

/* Elementwise, in both dtypes, batched, and as a linear program of its own. */
static void test_arrays(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = text(c, "{ lambda x:f64[3] . let z:f64[3] = broadcast_in_dim 0.0 p:bool[3] = gt x z y:f64[3] = sqrt x"
                       " w:f64[3] = select p y z s:f64[] = reduce_sum[axes=(0,)] w in (s,) }");
    tn_fn *g = tn_grad(f, NULL, NULL);
    gives(g, P(0, 4, 0), 1, P(0, 0.25, 0), P(NAN, 0.25, NAN), 3);
    gives(tn_vmap(text(c, BRANCH("y:f64[] = sqrt x")), 3, NULL, NULL), P(0, 4, 0), 1, P(0, 2, 0), P(0, 2, 0), 3);
    tn_fn *scalar = tn_grad(text(c, BRANCH("y:f64[] = sqrt x")), NULL, NULL);
    gives(tn_vmap(scalar, 3, NULL, NULL), P(0, 4, 0), 1, P(0, 0.25, 0), P(NAN, 0.25, NAN), 3);
    gives(tn_jacrev(f, NULL, NULL, 0), P(0, 4, 0), 1, P(0, 0.25, 0), P(NAN, 0.25, NAN), 3);
    const char *linear = "{ lambda a:f64[] | dx:f64[] . let t:f64[] = mul dx a in (t,) }";
    gives(text(c, linear), P(INFINITY, 0), 2, P(0), P(NAN), 1);
    gives(text(c, linear), P(NAN, 0), 2, P(0), P(NAN), 1);
    gives(text(c, linear), P(NAN, 1), 2, P(NAN), P(NAN), 1);
    gives(text(c, linear), P(0, INFINITY), 2, P(0), P(NAN), 1);
    gives(tn_transpose(text(c, linear)), P(INFINITY, 0), 2, P(0), P(NAN), 1);
    gives(text(c, "{ lambda a:f64[] | dx:f64[] . let t:f64[] = div dx a in (t,) }"), P(0, 0), 2, P(0), P(NAN), 1);

    tn_fn *narrow =
        text(c, "{ lambda x:f32[] . let p:bool[] = gt x 0.0 y:f32[] = sqrt x z:f32[] = select p y 0.0 in (z,) }");
    const tn_compile_options o = {.size = sizeof o, .strict_zero = true};
    const float x = 0;
    float dx = 1;
    tn_exec *e = tn_compile(tn_grad(narrow, NULL, NULL), &o);
    assert_non_null(e);
    assert_int_equal(tn_call(e, TN_INPUTS(&x), TN_OUTPUTS(&dx)), TN_OK);
    assert_true(dx == 0);
    tn_ctx_free(c);
}

/* The primal program keeps its NaN, its infinities, and so does a product that is both. */
static void test_primal_is_left_alone(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = text(c, "{ lambda x:f64[] . let r:f64[] = div 1.0 x y:f64[] = mul x r in (y,) }");
    gives(f, P(0), 1, P(NAN), P(NAN), 1);
    gives(tn_value_and_grad(f, NULL, NULL), P(0), 1, P(NAN, INFINITY), P(NAN, NAN), 2);
    /* the cotangent of r is x, times r: the primal's own x * r */
    tn_fn *g = text(c, "{ lambda x:f64[] . let r:f64[] = div 1.0 x m:f64[] = mul x r y:f64[] = mul[linear=True] x r "
                       "in (m, y) }");
    gives(g, P(0, 0), 1, P(NAN, 0), P(NAN, NAN), 2);
    tn_fn *merged = tn_jvp(g, NULL); /* the builder finds one value where two were */
    assert_int_equal(merged->out[0], merged->out[1]);
    assert_false(merged->eqn[merged->val[merged->out[0]].def].linear);
    tn_ctx_free(c);
}

static tn_val network(const tn_val *in, void *user) {
    (void)user;
    tn_val h = tn_tanh(tn_matmul(in[0], in[1]));
    return tn_mean(tn_logsumexp(tn_div(tn_square(h), tn_add(1, tn_exp(h))), 1));
}

/* Where no 0 meets an infinity every bit is the same. */
static void test_same_bits(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, network, NULL, 2, TN_TYPES(tn_f64(7, 5), tn_f64(5, 6)));
    tn_fn *g = tn_grad(f, NULL, NULL);
    assert_non_null(g);
    double x[35], w[30], dx[2][35], dw[2][30];
    for (int i = 0; i < 35; i++) x[i] = sin(i) * (i % 5 != 0);
    for (int i = 0; i < 30; i++) w[i] = cos(3 * i) * (i % 7 != 0);
    for (int on = 0; on < 2; on++) {
        const tn_compile_options o = {.size = sizeof o, .strict_zero = on};
        tn_exec *e = tn_compile(g, &o);
        assert_non_null(e);
        assert_int_equal(tn_call(e, TN_INPUTS(x, w), TN_OUTPUTS(dx[on], dw[on])), TN_OK);
    }
    assert_memory_equal(dx[0], dx[1], sizeof dx[0]);
    assert_memory_equal(dw[0], dw[1], sizeof dw[0]);
    tn_ctx_free(c);
}

/* A shared nested program is rebuilt once, and a chain of calls in linear time. */
static void test_nested(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f =
        text(c, "let p = { lambda x:f64[] . let y:f64[] = sqrt x in (y,) } in\n"
                "let q = { lambda x:f64[] . let a:f64[] = call[name=\"p\" program=p] x b:f64[] = call[name=\"p\" "
                "program=p] a in (b,) } in\n"
                "{ lambda x:f64[] . let c:bool[] = gt x 0.0 a:f64[] = call[name=\"q\" program=q] x b:f64[] = "
                "call[name=\"q\" program=q] a y:f64[] = select c b 0.0 in (y,) }");
    gives(tn_grad(f, NULL, NULL), P(0), 1, P(0), P(NAN), 1);
    gives(tn_grad(f, NULL, NULL), P(1), 1, P(0.0625), P(0.0625), 1);
    gives(tn_hvp(f, NULL, NULL), P(0, 1), 2, P(0), P(NAN), 1);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_branches),  cmocka_unit_test(test_arrays), cmocka_unit_test(test_primal_is_left_alone),
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_nested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
