/* tn_exec_steps: each step is told once, shares add up, and what native code leaves to strips says why. */
#include <tansy.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const texts[] = {
    "{ lambda a:f64[3] . let b = sin a in (b) }",
    "{ lambda a:f64[] . let in (a) }",
    "{ lambda a:f64[0,3] . let b = exp a c = reduce_sum[axes=(0,)] b in (b, c) }",
    "{ lambda a:f32[64,65] b:f32[65,7] . let c = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] a b d = sin c "
    "in "
    "(d) }",
    /* an all-pairs force: sums over rows, over columns, and of all, with a number behind that */
    "{ lambda a:f64[40] . let b:f64[40,40] = broadcast_in_dim[shape=(40, 40) broadcast_dimensions=(0,)] a "
    "c:f64[40,40] = broadcast_in_dim[shape=(40, 40) broadcast_dimensions=(1,)] a d = sub b c e = exp d "
    "f = reduce_sum[axes=(0, 1)] e g = mul f 0.5 h = reduce_sum[axes=(0,)] e i = reduce_sum[axes=(1,)] e in (g, h, i) "
    "}",
    "{ lambda a:f64[3] n:i64[] . let b:f64[3] c = scan[program={ lambda x:f64[3] . let y = sin x in (y, x) } "
    "num_consts=0 "
    "num_carry=1 schedule=\"online:3\"] n a d = scan[program={ lambda t:f64[3] x:f64[3] . let s = mul t x in (s) } "
    "num_consts=0 num_carry=1 reverse=True] n b c in (d) }",
    "{ lambda a:f64[3] i:i32[] . let b = cond[branches=({ lambda x:f64[3] . let y = sin x in (y) }, { lambda x:f64[3] "
    ". let "
    "y = sort[dimension=0 is_stable=True num_keys=1] x in (y) })] i a in (b) }",
    "{ lambda a:f64[3] . let b = while[cond={ lambda x:f64[3] . let m = reduce_max[axes=(0,)] x p = lt m 9.0 in (p) } "
    "body={ lambda x:f64[3] . let y = add x 1.0 in (y) } cond_nconsts=0 body_nconsts=0] a in (b) }",
    "let p = { lambda x:f64[4,4] . let y = cholesky x in (y) } in { lambda a:f64[4,4] . let b = call[name=f program=p] "
    "a "
    "c = call[name=f program=p] b in (c) }",
};
enum { TEXTS = sizeof texts / sizeof *texts };

typedef struct heard {
    size_t steps;
    double share;
    int depth, backend;
} heard;

static bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static void hear(void *user, const tn_step *s) {
    heard *h = user;
    assert_int_equal(s->size, sizeof *s);
    assert_true(s->kind && *s->kind && s->primitive && s->file && s->why && s->operations > 0);
    assert_true(s->ns >= 0 && s->share >= 0 && s->share <= 1 + 1e-9);
    assert_true(s->depth <= h->depth + 1); /* what is inside follows */
    h->depth = s->depth;
    h->steps++;
    if (s->depth == 0) h->share += s->share;
    const bool named = is(s->runner, "native") || is(s->runner, "strips") || is(s->runner, "reference") ||
                       is(s->runner, "library") || is(s->runner, "assembler");
    assert_true(named);
    if (h->backend != TN_BACKEND_NATIVE) assert_string_not_equal(s->runner, "native");
    if (h->backend == TN_BACKEND_NATIVE && is(s->kind, "loops") && !is(s->runner, "native"))
        assert_string_not_equal(s->why, ""); /* nothing is left to strips without a word */
    if (!is(s->runner, "strips")) assert_string_equal(s->why, "");
}

static void told(const char *text, int backend) {
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "steps.tn");
    if (!f) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .backend = backend});
    if (!e) fail_msg("%s", tn_error(c));
    heard h = {.backend = tn_exec_backend(e, NULL)}, again = h;
    assert_int_equal(tn_exec_steps(e, hear, &h), TN_OK);
    assert_true(h.steps == 0 || fabs(h.share - 1) < 1e-9 || h.share == 0);
    assert_int_equal(tn_exec_steps(e, hear, &again), TN_OK);
    assert_int_equal(h.steps, again.steps);
    assert_int_equal(tn_exec_steps(NULL, hear, &h), TN_EINVAL);
    assert_int_equal(tn_exec_steps(e, NULL, &h), TN_EINVAL);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void test_backends(void **state) {
    (void)state;
    for (size_t k = 0; k < TEXTS; k++)
        for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) told(texts[k], backend);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_backends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
