/* Nests that several threads run: the bits of one thread. */
#include "exec/exec.h"
#include "plan/assembled.h"
#include "base/parallel.h"
#include "lower/lower.h"
#include "tansy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cache_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct program {
    const char *name;
    tn_val (*f)(const tn_val *in, void *user);
    size_t rank;
    int64_t dim[3];
    int dtype;
    bool gradient, cut; /* cut: a loop program has parts: not where a nest sums as a whole */
} program;

static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_sin(tn_add(tn_mul(in[0], in[0]), 1)), tn_exp(tn_neg(in[0])));
}
static tn_val softmax(const tn_val *in, void *user) {
    (void)user;
    return tn_softmax(in[0], 1);
}
static tn_val columns(const tn_val *in, void *user) {
    (void)user;
    return tn_sum_axis(tn_square(in[0]), 0);
}
static tn_val rows(const tn_val *in, void *user) {
    (void)user;
    return tn_sum_axis(tn_exp(in[0]), 1);
}
static tn_val middle(const tn_val *in, void *user) {
    (void)user;
    return tn_sum_axis(tn_exp(in[0]), 1);
}
static tn_val total(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(tn_sin(in[0]), in[0]));
}
static tn_val greatest(const tn_val *in, void *user) {
    (void)user;
    return tn_max(tn_square(in[0]));
}
static tn_val loss(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_square(tn_sub(in[0], tn_log(tn_sum_axis(tn_exp(in[0]), 1, TN_KEEPDIMS)))));
}
static tn_val first_greatest(const tn_val *in, void *user) {
    (void)user;
    return tn_argmax(tn_square(in[0]), 0);
}

static const program all[] = {
    {"chain", chain, 1, {100000}, TN_F64, false, true},
    {"chain", chain, 1, {1000003}, TN_F32, false, true},
    {"chain", chain, 2, {317, 331}, TN_F64, false, true},
    {"softmax", softmax, 2, {3000, 10}, TN_F64, false, true},
    {"softmax", softmax, 2, {257, 1000}, TN_F32, false, true},
    {"softmax", softmax, 2, {20, 5000}, TN_F64, false, true},
    {"columns", columns, 2, {10000, 13}, TN_F64, false, false},
    {"columns", columns, 2, {5001, 300}, TN_F32, false, false},
    {"columns", columns, 2, {1025, 1500}, TN_F64, false, false},
    {"rows", rows, 2, {100, 1000}, TN_F64, false, true},
    {"rows", rows, 2, {50, 10001}, TN_F32, false, true},
    {"middle", middle, 3, {30, 40, 50}, TN_F64, false, true},
    {"total", total, 1, {100000}, TN_F64, false, false},
    {"total", total, 1, {131072}, TN_F32, false, false},
    {"total", total, 1, {10000001}, TN_F64, false, false},
    {"total", total, 2, {1000, 999}, TN_F64, false, false},
    {"greatest", greatest, 1, {77777}, TN_F64, false, false},
    {"loss", loss, 2, {5000, 16}, TN_F64, true, true},
    {"loss", loss, 2, {5000, 10}, TN_F64, true, true},
    {"argmax", first_greatest, 1, {100000}, TN_F64, false, false},
};

static void fill(const program *p, int64_t n, void *x) {
    uint64_t state = 12345;
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double u = (double)(state >> 11) * 0x1p-53 * 2 - 1;
        if (p->dtype == TN_F64)
            ((double *)x)[i] = u;
        else
            ((float *)x)[i] = (float)u;
    }
}

static void look(void *found, const char *title, const char *text) {
    (void)title;
    *(bool *)found |= strstr(text, " parallel ") != NULL;
}

static bool is_cut(const tn_exec *e) {
    const tn_i_lower_as as = {.vector = 32};
    bool found = false;
    assert_true(tn_i_lower_text(e, &as, look, &found));
    return found;
}

/* Strips on four threads: machine code's bits. */
static int check_strips(const program *p, const tn_fn *f, const void *x, const char *one, char *many, size_t bytes) {
    const tn_compile_options o = {.size = sizeof o, .threads = 4, .backend = TN_BACKEND_STRIPS};
    int bad = 0;
    tn_exec *e = tn_compile(f, &o);
    assert_non_null(e);
    memset(many, 0x55, bytes);
    assert_int_equal(tn_call(e, TN_INPUTS(x), TN_OUTPUTS(many)), TN_OK);
    if (memcmp(one, many, bytes) != 0) print_error("%s of %d: other bits by strips\n", p->name, (int)p->dim[0]), bad++;
    tn_exec_free(e);
    return bad;
}

/* Native code of four threads: the same bits. */
static int check_native(const program *p, const tn_fn *f, const char *dir, const void *x, const char *one, char *many,
                        size_t bytes) {
    const tn_compile_options o = {.size = sizeof o, .threads = 4, .backend = TN_BACKEND_NATIVE, .cache_dir = dir};
    tn_exec *e = tn_compile(f, &o);
    int bad = 0;
    assert_non_null(e);
    assert_int_equal(tn_exec_backend(e, NULL), TN_BACKEND_NATIVE);
    memset(many, 0x55, bytes);
    assert_int_equal(tn_call(e, TN_INPUTS(x), TN_OUTPUTS(many)), TN_OK);
    if (memcmp(one, many, bytes) != 0)
        print_error("%s of %d: other bits in native code\n", p->name, (int)p->dim[0]), bad++;
    tn_exec_free(e);
    return bad;
}

static int check(tn_ctx *c, const program *p, const char *dir) {
    static const int threads[] = {1, 2, 3, 4, 7};
    const tn_type t = tn_type_of((tn_dtype)p->dtype, p->rank, p->dim);
    const int64_t n = (int64_t)tn_type_elements(&t);
    int bad = 0;
    const size_t size = p->dtype == TN_F64 ? 8 : 4;
    tn_fn *f = tn_trace(c, p->f, NULL, 1, &t);
    if (p->gradient) f = tn_grad(f, NULL, NULL);
    assert_non_null(f);
    char *x = malloc((size_t)n * size), *one = malloc((size_t)n * 8), *many = malloc((size_t)n * 8);
    assert_true(x && one && many);
    fill(p, n, x);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        char *out = i ? many : one;
        const tn_compile_options o = {.size = sizeof o, .threads = threads[i]};
        tn_exec *e = tn_compile(f, &o);
        assert_non_null(e);
        if (is_cut(e) != (threads[i] > 1 && p->cut && tn_i_nest_threads()))
            print_error("%s of %d: %d threads: %s\n", p->name, (int)p->dim[0], threads[i],
                        is_cut(e) ? "cut" : "not cut"),
                bad++;
        memset(out, 0x55, (size_t)n * 8);
        assert_int_equal(tn_call(e, TN_INPUTS(x), TN_OUTPUTS(out)), TN_OK);
        if (memcmp(one, out, (size_t)n * 8) != 0)
            print_error("%s of %d: other bits with %d threads\n", p->name, (int)p->dim[0], threads[i]), bad++;
        tn_exec_free(e);
    }
    bad += check_strips(p, f, x, one, many, (size_t)n * 8);
    bad += check_native(p, f, dir, x, one, many, (size_t)n * 8);
    free(x);
    free(one);
    free(many);
    return bad;
}

static void test_bits(void **state) {
    (void)state;
    int bad = 0;
    tn_ctx *c = tn_ctx_new(NULL);
    char dir[] = "/tmp/tansy-threads-XXXXXX";
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) bad += check(c, &all[i], dir);
    cache_dir_remove(dir);
    assert_int_equal(bad, 0);
    tn_ctx_free(c);
}

/* A context's threads are those of programs that name none. */
static void test_default(void **state) {
    (void)state;
    const tn_ctx_options two = {.size = sizeof two, .threads = 2}, none = {.size = sizeof none, .threads = -2};
    const tn_compile_options one = {.size = sizeof one, .threads = 1};
    const tn_type t = tn_type_of(TN_F64, 1, (const int64_t[]){100000});
    tn_ctx *c = tn_ctx_new(&two), *d = tn_ctx_new(&none);
    tn_fn *f = tn_trace(c, chain, NULL, 1, &t), *g = tn_trace(d, chain, NULL, 1, &t);
    tn_exec *many = tn_compile(f, NULL), *single = tn_compile(f, &one);
    assert_true(many && single);
    assert_int_equal(is_cut(many), tn_i_nest_threads());
    assert_false(is_cut(single));
    assert_null(tn_compile(g, NULL));
    assert_string_equal(tn_error(d), "tn_compile: threads is negative");
    tn_exec *asked = tn_compile(g, &one);
    assert_non_null(asked);
    tn_ctx_free(c);
    tn_ctx_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_default)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
