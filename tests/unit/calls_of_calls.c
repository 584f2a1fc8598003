/* Programs whose calls double with each line of their text: what is made of them stays polynomial in the text, or is
 * refused with the limit that it reached. */
#include <tansy.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_BYTES = 1 << 29 };

typedef struct meter {
    size_t now, peak;
} meter;

/* No more than that, whatever is asked for. */
static void *measured(void *user, void *p, size_t old, size_t n) {
    meter *m = user;
    if (n > old && m->now + (n - old) > MOST_BYTES) return NULL;
    m->now += n - old;
    if (m->now > m->peak) m->peak = m->now;
    if (n) return realloc(p, n);
    free(p);
    return NULL;
}

static tn_ctx *context(meter *m) {
    *m = (meter){0};
    return tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .realloc = measured, .user = m});
}

static const char sine[] = "y:f64[] = sin x";
static const char loop[] = "y:f64[] = scan[program={ lambda c:f64[] . let d:f64[] = sin c in (d,) } length=3 "
                           "num_consts=0 num_carry=1 schedule=\"nothing\"] x";

/* The equation 2^(lines - 1) times. */
static tn_fn *doubling_of(tn_ctx *c, const char *equation, int lines) {
    char *text = malloc((size_t)lines * 160 + 512);
    size_t at = (size_t)sprintf(text, "let p0 = { lambda x:f64[] . let %s in (y,) } in\n", equation);
    for (int i = 1; i < lines; i++)
        at += (size_t)sprintf(
            text + at,
            "let p%d = { lambda x:f64[] . let y:f64[] = call[name=a program=p%d] x z:f64[] = call[name=a "
            "program=p%d] y in (z,) } in\n",
            i, i - 1, i - 1);
    (void)sprintf(text + at, "{ lambda x:f64[] . let y:f64[] = call[name=a program=p%d] x in (y,) }", lines - 1);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "doubling.tn");
    if (!f) fail_msg("%s", tn_error(c));
    free(text);
    return f;
}

static tn_fn *doubling(tn_ctx *c, int lines) { return doubling_of(c, sine, lines); }

static size_t text_length(tn_ctx *c, const tn_fn *f) {
    size_t n;
    char *text = tn_fn_print(f, &n);
    assert_non_null(text);
    tn_text_free(c, text);
    return n;
}

/* The gradient's text; 0: refused, by the limit. */
static size_t gradient(int lines, const char *policy) {
    meter m;
    tn_ctx *c = context(&m);
    tn_fn *f = doubling(c, lines), *g = tn_grad(f, NULL, tn_policy_by_name(policy));
    const size_t n = g ? text_length(c, g) : 0;
    if (!g && (tn_last_status(c) != TN_ELIMIT || !strstr(tn_error(c), "more than 65536")))
        fail_msg("%s, %d lines: %d %s", policy, lines, (int)tn_last_status(c), tn_error(c));
    tn_fn_free(g);
    tn_fn_free(f);
    tn_ctx_free(c);
    assert_int_equal(m.now, 0);
    return n;
}

static void test_gradients(void **state) {
    (void)state;
    static const char *const keeps[] = {"min_cut", "everything_saveable", "balanced"}, *const again[] = {
                                                                                           "nothing_saveable",
                                                                                           "dots_saveable",
                                                                                           "min_bytes"};
    for (size_t k = 0; k < 3; k++) {
        assert_true(gradient(10, keeps[k]) > 0);
        assert_int_equal(gradient(24, keeps[k]), 0);
        assert_int_equal(gradient(40, keeps[k]), 0);
    }
    for (size_t k = 0; k < 3; k++) {
        const size_t n = gradient(24, again[k]);
        assert_true(n > 0 && gradient(48, again[k]) <= 3 * n);
    }
}

static void test_costs(void **state) {
    (void)state;
    meter m;
    tn_ctx *c = context(&m);
    tn_fn *f = doubling(c, 24);
    tn_cost_report k = {.size = sizeof k};
    assert_int_equal(tn_cost(f, &k), TN_OK);
    assert_true(k.transcendentals == 8388608);
    tn_fn *t = tn_jvp(f, NULL), *v = tn_vmap(f, 3, NULL, NULL);
    assert_true(text_length(c, t) < 32 * text_length(c, f));
    assert_true(text_length(c, v) < 32 * text_length(c, f));
    tn_budget_report r = {.size = sizeof r};
    assert_int_equal(tn_memory_budget(f, NULL, 100000, &r), TN_ELIMIT);
    tn_fn_free(v);
    tn_fn_free(t);
    tn_fn_free(f);
    tn_ctx_free(c);
    assert_int_equal(m.now, 0);
}

/* Calls of programs with loops are put in place before they are planned, but no more than so many. */
static void test_loops(void **state) {
    (void)state;
    for (int lines = 8; lines <= 40; lines += 16) {
        meter m;
        tn_ctx *c = context(&m);
        tn_fn *f = doubling_of(c, loop, lines), *g = tn_grad(f, NULL, tn_policy_by_name("nothing_saveable"));
        tn_cost_report k = {.size = sizeof k};
        assert_int_equal(tn_cost(f, &k), TN_OK);
        assert_true(k.transcendentals == 3 * exp2(lines - 1));
        tn_exec *e = tn_compile(f, NULL), *d = tn_compile(g, NULL);
        if (!e || !d) fail_msg("%d lines: %s", lines, tn_error(c));
        if (lines < 12) {
            const double x = 0.5, h = 0x1p-20, low = x - h, high = x + h;
            double dx, y[2];
            assert_int_equal(tn_call(d, TN_INPUTS(&x), TN_OUTPUTS(&dx)), TN_OK);
            assert_int_equal(tn_call(e, TN_INPUTS(&low), TN_OUTPUTS(&y[0])), TN_OK);
            assert_int_equal(tn_call(e, TN_INPUTS(&high), TN_OUTPUTS(&y[1])), TN_OK);
            assert_true(fabs(dx - (y[1] - y[0]) / (2 * h)) < 1e-6 * fabs(dx));
        }
        tn_ctx_free(c);
        assert_int_equal(m.now, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients), cmocka_unit_test(test_costs),
                                       cmocka_unit_test(test_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
