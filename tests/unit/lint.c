/* tn_lint: warns at the untaken branch with an infinite partial, and never at "double where". */
#include "prims/prim.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct notes {
    int n;
    char primitive[4][32], message[4][1024];
    int line[4], operand[4];
} notes;

static void note(void *user, const tn_lint_warning *w) {
    notes *k = user;
    if (k->n < 4) {
        assert_int_equal(w->size, sizeof *w);
        (void)strcpy(k->primitive[k->n], w->primitive);
        (void)strcpy(k->message[k->n], w->message);
        k->line[k->n] = w->line;
        k->operand[k->n] = w->operand;
    }
    k->n++;
}

static notes linted(const tn_fn *f) {
    notes k = {0};
    assert_non_null(f);
    assert_int_equal(tn_lint(f, note, &k), TN_OK);
    return k;
}

static tn_fn *text(tn_ctx *c, const char *s) {
    tn_fn *f = tn_fn_parse(c, s, strlen(s), "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

#define HEAD                                                                                                    \
    "{ lambda x:f64[3] a:f64[3] b:bool[3] . let\nz:f64[3] = broadcast_in_dim 0.0\no:f64[3] = broadcast_in_dim " \
    "1.0\np:bool[3] = gt x z\n"
#define TAIL "w:f64[3] = select p y z\nin (w,) }"

/* Every primitive with a pole, where nothing is known of its operand; "": no warning. */
static const struct {
    const char *body, *primitive;
    int operand;
} cases[] = {
    {"y:f64[3] = sqrt x\n", "sqrt", 0},
    {"y:f64[3] = log x\n", "log", 0},
    {"y:f64[3] = rsqrt x\n", "rsqrt", 0},
    {"y:f64[3] = cbrt x\n", "cbrt", 0},
    {"y:f64[3] = log1p x\n", "log1p", 0},
    {"y:f64[3] = asin x\n", "asin", 0},
    {"y:f64[3] = acosh x\n", "acosh", 0},
    {"y:f64[3] = atanh x\n", "atanh", 0},
    {"y:f64[3] = erf_inv x\n", "erf_inv", 0},
    {"y:f64[3] = lgamma x\n", "lgamma", 0},
    {"y:f64[3] = div o x\n", "div", 1},
    {"y:f64[3] = div a x\n", "div", 1},
    {"y:f64[3] = rem a x\n", "rem", 1},
    {"y:f64[3] = pow x a\n", "pow", 0},
    {"y:f64[3] = integer_pow[y=-2] x\n", "integer_pow", 0},
    {"y:f64[3] = atan2 x a\n", "atan2", 1},
    {"h:f64[3] = broadcast_in_dim 0.5\ny:f64[3] = pow x h\n", "pow", 0},
    /* behind elementwise equations and views, and where a bound is known that does not help */
    {"s:f64[3] = sqrt x\ne:f64[3] = exp s\ny:f64[3] = mul e a\n", "sqrt", 0},
    {"s:f64[3] = log x\nr:f64[3,1] = reshape s\nt:f64[3] = reshape r\ny:f64[3] = neg t\n", "log", 0},
    {"s:f64[3] = square x\ny:f64[3] = sqrt s\n", "sqrt", 0},
    {"s:f64[3] = exp x\ny:f64[3] = log s\n", "log", 0},
    {"s:f64[3] = max x z\ny:f64[3] = sqrt s\n", "sqrt", 0},
    {"c:f64[3] = constant[value=[1.0, 0.0, 2.0]]\ny:f64[3] = div x c\n", "div", 1},
    {"t:f64[3] = stop_gradient x\ny:f64[3] = div a t\n", "div", 1},
    /* a choice by something else does not help */
    {"s:f64[3] = select b x o\ny:f64[3] = sqrt s\n", "sqrt", 0},
    /* nested calls */
    {"y:f64[3] = call[name=\"g\" program={ lambda x:f64[3] . let y:f64[3] = sqrt x in (y,) }] x\n", "sqrt", 0},
    {"y:f64[3] = checkpoint[name=\"g\" program={ lambda x:f64[3] . let y:f64[3] = call[name=\"h\" program={ lambda "
     "x:f64[3] . let y:f64[3] = log x in (y,) }] x in (y,) } policy=\"nothing_saveable\"] x\n",
     "log", 0},
    {"y:f64[3] = call[name=\"g\" program={ lambda x:f64[3] p:bool[3] . let s:f64[3] = sqrt x\ny:f64[3] = select p s x "
     "in "
     "(y,) }] x p\n",
     "sqrt", 0},

    /* the idiom */
    {"s:f64[3] = select p x o\ny:f64[3] = sqrt s\n", "", 0},
    {"s:f64[3] = select p x o\ny:f64[3] = log s\n", "", 0},
    {"s:f64[3] = select p x o\ny:f64[3] = div a s\n", "", 0},
    {"s:f64[3] = select p x o\ny:f64[3] = pow s a\n", "", 0},
    {"s:f64[3] = select p x o\nt:f64[3] = mul s a\nu:f64[3] = add t a\ny:f64[3] = rsqrt u\n", "", 0},
    {"q:bool[3] = gt x z\ns:f64[3] = select q x o\ny:f64[3] = sqrt s\n", "", 0},
    {"q:bool[3] = not p\ns:f64[3] = select q o x\ny:f64[3] = sqrt s\n", "", 0},
    {"q:bool[3] = le x z\ns:f64[3] = select q o x\ny:f64[3] = sqrt s\n", "", 0},
    {"q:bool[3] = eq z x\ns:f64[3] = select q o x\ny:f64[3] = div a s\n", "", 0},
    {"q:bool[3] = and p b\ns:f64[3] = select q x o\ny:f64[3] = sqrt s\n", "", 0},
    {"s:f64[3] = select p x o\ny:f64[3] = call[name=\"g\" program={ lambda x:f64[3] . let y:f64[3] = sqrt x in (y,) }] "
     "s\n",
     "", 0},
    {"y:f64[3] = call[name=\"g\" program={ lambda x:f64[3] p:bool[3] . let o:f64[3] = broadcast_in_dim 1.0 s:f64[3] = "
     "select p x o\ny:f64[3] = sqrt s in (y,) }] x p\n",
     "", 0},
    {"s:f64[3] = call[name=\"g\" program={ lambda x:f64[3] . let z:f64[3] = broadcast_in_dim 0.0 o:f64[3] = "
     "broadcast_in_dim 1.0 p:bool[3] = gt x z s:f64[3] = select p x o in (s,) }] x\ny:f64[3] = sqrt s\n",
     "", 0},
    {"q:bool[3] = lt a o\ns:f64[3] = select q a o\nt:f64[3] = sqrt s\ny:f64[3] = select q t x\n", "",
     0}, /* another inside */
    /* what bounds rule out */
    {"s:f64[3] = square x\nt:f64[3] = add s o\ny:f64[3] = sqrt t\n", "", 0},
    {"s:f64[3] = mul x x\nt:f64[3] = add o s\ny:f64[3] = log t\n", "", 0},
    {"s:f64[3] = neg x\nt:f64[3] = exp s\nu:f64[3] = add t o\ny:f64[3] = div x u\n", "", 0},
    {"h:f64[3] = broadcast_in_dim 1e-12\ns:f64[3] = max x h\ny:f64[3] = sqrt s\n", "", 0},
    {"s:f64[3] = clamp 1e-3 x 1.0\ny:f64[3] = log s\n", "", 0},
    {"s:f64[3] = abs x\ny:f64[3] = log1p s\n", "", 0},
    {"h:f64[3] = broadcast_in_dim 2.0\ny:f64[3] = div x h\n", "", 0},
    {"h:f64[3] = broadcast_in_dim 3.0\ny:f64[3] = pow x h\n", "", 0},
    {"y:f64[3] = integer_pow[y=3] x\n", "", 0},
    {"c:f64[3] = constant[value=[1.0, 0.5, 2.0]]\ny:f64[3] = div x c\n", "", 0},
    /* what has no derivative, or none that meets the branch */
    {"t:f64[3] = stop_gradient x\ns:f64[3] = sqrt t\ny:f64[3] = mul s x\n", "", 0},
    {"s:f64[3] = sqrt x\ny:f64[3] = floor s\n", "", 0},
    {"s:f64[3] = sin x\ny:f64[3] = mul s a\n", "", 0},
    {"y:f64[3] = custom_jvp[call={ lambda a:f64[3] . let b:f64[3] = sqrt a in (b,) } jvp={ lambda a:f64[3] | da:f64[3] "
     ". "
     "let c:f64[3] = mul a da in (c,) }] x\n",
     "", 0},
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char s[2048];
        (void)strcpy(s, HEAD);
        (void)strcat(s, cases[i].body);
        (void)strcat(s, TAIL);
        tn_ctx *c = checked();
        const notes k = linted(text(c, s));
        if (k.n != (cases[i].primitive[0] != 0))
            fail_msg("%d warnings at case %zu: %s%s", k.n, i, cases[i].body, k.message[0]);
        if (k.n) {
            assert_string_equal(k.primitive[0], cases[i].primitive);
            assert_int_equal(k.operand[0], cases[i].operand);
            assert_true(k.line[0] >= 5);
            assert_non_null(strstr(k.message[0], "test.tn:"));
            assert_non_null(strstr(k.message[0], ": warning: "));
        }
        tn_ctx_free(c);
    }
}

/* A warning is a NaN that strict_zero mends, for the elementwise cases without a bound. */
static tn_val unguarded(const tn_val *in, void *user) {
    (void)user;
    tn_val safe = tn_where(tn_gt(in[0], 0), in[0], 1);
    tn_val fine = tn_where(tn_gt(in[0], 0), tn_log(safe), 0);
    tn_val bad = tn_where(tn_gt(in[0], 0), tn_sqrt(in[0]), 0);
    return tn_sum(tn_add(fine, bad));
}

static void test_places(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, unguarded, NULL, 1, TN_TYPES(tn_f64(3)));
    const notes k = linted(f);
    assert_int_equal(k.n, 1);
    assert_string_equal(k.primitive[0], "sqrt");
    assert_non_null(strstr(k.message[0], __FILE__));
    double dx[3];
    run(tn_grad(f, NULL, NULL), TN_INPUTS(P(0, 1, -1)), TN_OUTPUTS(dx));
    assert_true(isnan(dx[0]) && dx[1] == 1.5);
    assert_int_equal(linted(tn_vmap(f, 2, NULL, NULL)).n, 1);
    tn_ctx_free(c);
}

static tn_val composites(const tn_val *in, void *user) {
    const int which = *(const int *)user;
    tn_val x = in[0], y = in[1];
    switch (which) {
    case 0: return tn_xlogy(x, y);
    case 1: return tn_xlog1py(x, y);
    case 2: return tn_hypot(x, y);
    case 3: return tn_logaddexp(x, y);
    case 4: return tn_logsumexp(x, 0);
    case 5: return tn_softmax(x, 0);
    case 6: return tn_log_softmax(x, 0);
    case 7: return tn_relu(x);
    case 8: return tn_elu(x, 1.0);
    case 9: return tn_gelu(x);
    case 10: return tn_softplus(x);
    case 11: return tn_log_sigmoid(x);
    case 12: return tn_norm(x);
    case 13: return tn_std(x);
    case 14: return tn_silu(x);
    default: return tn_log1mexp(x);
    }
}

/* The library's own compositions hold to it. */
static void test_composites(void **state) {
    (void)state;
    for (int i = 0; i < 16; i++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, composites, &i, 2, TN_TYPES(tn_f64(4), tn_f64(4)));
        const notes k = linted(f);
        if (k.n) fail_msg("%d: %s", i, k.message[0]);
        tn_ctx_free(c);
    }
}

/* What is shared is looked at once, not once per path; a long branch ends the search. */
static void test_size(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    static char s[1 << 16];
    size_t at =
        (size_t)sprintf(s, "let p0 = { lambda x:f64[] . let p:bool[] = gt x 0.0 y:f64[] = sqrt x z:f64[] = select p y "
                           "x in (z,) } in\n");
    for (int i = 1; i < 64; i++)
        at += (size_t)sprintf(s + at,
                              "let p%d = { lambda x:f64[] . let y:f64[] = call[name=\"f\" program=p%d] x z:f64[] = "
                              "call[name=\"f\" program=p%d] y in (z,) } in\n",
                              i, i - 1, i - 1);
    (void)sprintf(s + at, "{ lambda x:f64[] . let y:f64[] = call[name=\"f\" program=p63] x in (y,) }");
    assert_true(linted(text(c, s)).n >= 1);
    tn_ctx_free(c);
}

static void test_errors(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = text(c, "{ lambda x:f64[] . let in (x,) }");
    assert_int_equal(tn_lint(NULL, note, NULL), TN_EINVAL);
    assert_int_equal(tn_lint(f, NULL, NULL), TN_EINVAL);
    assert_int_equal(linted(f).n, 0);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases), cmocka_unit_test(test_places), cmocka_unit_test(test_composites),
        cmocka_unit_test(test_size),  cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
