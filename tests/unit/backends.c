/* Back ends by name: each runs what it is asked for, says so, and has the same bits; and where there is no machine
 * code, that is said, and is an error for who asked for it.  All but how memory for code is refused is the public
 * interface. */
#include <tansy.h>

#include "base/base.h" /* no_code */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cache_dir.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { N = 67, LARGEST = N * N };

static const struct {
    int backend;
    const char *name; /* as tn_step.runner has it */
} named[] = {{TN_BACKEND_REFERENCE, "reference"},
             {TN_BACKEND_NATIVE, "native"},
             {TN_BACKEND_ASSEMBLER, "assembler"},
             {TN_BACKEND_STRIPS, "strips"}};

/* All take one f64[67] and give one array. */
static const struct {
    const char *text;
    bool functions; /* has some that vectors have otherwise than the C library */
} programs[] = {
    {"{ lambda a:f64[67] . let b = mul a a c = add b 1.5 d = div a c e = sqrt c f = sub d e in (f) }", false},
    {"{ lambda a:f64[67] . let b = exp a c = sin b d = tanh a e = mul c d in (e) }", true},
    {"{ lambda a:f64[67] . let b:f64[67,67] = broadcast_in_dim[shape=(67, 67) broadcast_dimensions=(0,)] a "
     "c:f64[67,67] = broadcast_in_dim[shape=(67, 67) broadcast_dimensions=(1,)] a d = sub b c e = mul d d "
     "f = reduce_sum[axes=(1,)] e in (f) }",
     false},
    {"{ lambda a:f64[67] . let b:f64[67] = scan[program={ lambda x:f64[67] . let y = mul x 0.75 z = add y 0.5 in (z) } "
     "length=9 num_consts=0 num_carry=1] a in (b) }",
     false},
    {"{ lambda a:f64[67] . let b:f64[67] = cumsum[axis=0 reverse=False] a c = mul b a in (c) }", false}};

static char cache[] = "/tmp/tansy-backends-XXXXXX";

static tn_fn *parsed(tn_ctx *c, size_t program) {
    tn_fn *f = tn_fn_parse(c, programs[program].text, strlen(programs[program].text), "backends.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_exec *compiled(const tn_fn *f, int backend, const char *cc) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend, .cc = cc, .cache_dir = cache};
    return tn_compile(f, &o);
}

static void run(tn_exec *e, double *y) {
    double a[N];
    for (int i = 0; i < N; i++) a[i] = 0.125 * (i % 19) - 1;
    if (!e) fail_msg("no executable");
    for (int call = 0; call < 2; call++) assert_int_equal(tn_call(e, TN_INPUTS(a), TN_OUTPUTS((void *)y)), TN_OK);
}

/* Whether the default is machine code; else there is a reason. */
static bool has_assembler(void) {
    const char *why;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e = compiled(parsed(c, 0), TN_BACKEND_DEFAULT, NULL);
    assert_non_null(e);
    const int ran = tn_exec_backend(e, &why);
    assert_true(ran == TN_BACKEND_ASSEMBLER ? !*why : ran == TN_BACKEND_STRIPS && *why);
    tn_exec_free(e);
    tn_ctx_free(c);
    return ran == TN_BACKEND_ASSEMBLER;
}

static void check_runner(void *user, const tn_step *s) {
    if (strcmp(s->kind, "loops") != 0) return;
    assert_string_equal(s->runner, (const char *)user);
    assert_string_equal(s->why, "");
}

static void test_by_name(void **state) {
    (void)state;
    const bool assembler = has_assembler();
    for (size_t k = 0; k < COUNT(programs); k++) {
        static double want[LARGEST], got[LARGEST];
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = parsed(c, k);
        tn_exec *e = compiled(f, TN_BACKEND_DEFAULT, NULL);
        assert_int_equal(tn_exec_backend(e, NULL), assembler ? TN_BACKEND_ASSEMBLER : TN_BACKEND_STRIPS);
        run(e, want);
        tn_exec_free(e);
        for (size_t i = 0; i < COUNT(named); i++) {
            const char *why = NULL;
            if (named[i].backend == TN_BACKEND_ASSEMBLER && !assembler) continue;
            e = compiled(f, named[i].backend, NULL);
            if (!e) fail_msg("%s: %s", named[i].name, tn_error(c));
            if (tn_exec_backend(e, &why) != named[i].backend) fail_msg("%s: %s", named[i].name, why);
            assert_string_equal(why, "");
            assert_int_equal(tn_exec_steps(e, check_runner, (void *)(uintptr_t)named[i].name), TN_OK);
            memset(got, 0, sizeof got);
            run(e, got);
            if (!(programs[k].functions && named[i].backend == TN_BACKEND_REFERENCE) &&
                memcmp(want, got, sizeof want) != 0)
                fail_msg("program %d: other bits: %s", (int)k, named[i].name);
            tn_exec_free(e);
        }
        tn_ctx_free(c);
    }
}

static void test_unknown(void **state) {
    (void)state;
    static const int numbers[] = {-1, TN_BACKEND_STRIPS + 1, 12345};
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parsed(c, 0);
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char want[64];
        (void)snprintf(want, sizeof want, "backend %d is not known", numbers[i]);
        assert_null(compiled(f, numbers[i], NULL));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
        assert_non_null(strstr(tn_error(c), want));
        tn_error_clear(c);
    }
    tn_ctx_free(c);
}

/* Which backend runs f, its bits, and that `why` says both unless NULL, else nothing. */
static void runs_by_strips(const tn_fn *f, int backend, const char *cc, const double *want, const char *first,
                           const char *then) {
    static double got[LARGEST];
    const char *why;
    tn_exec *e = compiled(f, backend, cc);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_exec_backend(e, &why), TN_BACKEND_STRIPS);
    if (!first) assert_string_equal(why, "");
    if (first && !(strstr(why, first) && strstr(why, then))) fail_msg("'%s' does not say %s, %s", why, first, then);
    memset(got, 0, sizeof got);
    run(e, got);
    assert_memory_equal(want, got, N * sizeof *want);
    tn_exec_free(e);
}

/* The system has no memory for code, or makes it none: nothing is silent. */
static void test_refused(void **state) {
    (void)state;
    static double want[LARGEST];
    const bool assembler = has_assembler();
    for (uint8_t which = 1; which <= 2; which++)
        for (size_t k = 0; k < COUNT(programs); k++) {
            const char *refused = !assembler ? "AVX2" : "the system refuses memory for machine code";
            const char *call = !assembler ? "" : which == 1 ? "(mmap: " : "(mprotect: ";
            tn_ctx *c = tn_ctx_new(NULL);
            tn_fn *f = parsed(c, k);
            tn_exec *e = compiled(f, TN_BACKEND_DEFAULT, NULL);
            run(e, want);
            tn_exec_free(e);
            const size_t before = tn_ctx_bytes(c);
            c->no_code = which;
            runs_by_strips(f, TN_BACKEND_DEFAULT, NULL, want, refused, call);
            runs_by_strips(f, TN_BACKEND_STRIPS, NULL, want, NULL, NULL);
            runs_by_strips(f, TN_BACKEND_NATIVE, "no-such-compiler", want, "no-such-compiler", refused);
            assert_null(compiled(f, TN_BACKEND_ASSEMBLER, NULL));
            assert_int_equal(tn_last_status(c), TN_EINVAL);
            const char *said = tn_error(c);
            if (!strstr(said, "TN_BACKEND_ASSEMBLER: ") || !strstr(said, refused) || !strstr(said, call))
                fail_msg("'%s'", said);
            tn_error_clear(c);
            assert_true(tn_ctx_bytes(c) <= before);
            c->no_code = 0; /* and all goes on */
            assert_int_equal(has_assembler(), assembler);
            tn_ctx_free(c);
        }
}

/* Without loops there is nothing to be refused. */
static void test_no_loops(void **state) {
    (void)state;
    static const char text[] = "{ lambda a:f64[67] . let in (a) }";
    const bool assembler = has_assembler();
    double x[N] = {1, 2, 3}, y[N];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "none.tn");
    for (size_t i = 0; i < COUNT(named); i++) {
        if (named[i].backend == TN_BACKEND_ASSEMBLER && !assembler) continue;
        tn_exec *e = compiled(f, named[i].backend, NULL);
        if (!e) fail_msg("%s", tn_error(c));
        assert_int_equal(tn_exec_backend(e, NULL), named[i].backend);
        assert_int_equal(tn_call(e, TN_INPUTS(x), TN_OUTPUTS(y)), TN_OK);
        assert_memory_equal(x, y, sizeof x);
        tn_exec_free(e);
    }
    tn_ctx_free(c);
}

static int make_cache(void **state) {
    (void)state;
    return mkdtemp(cache) ? 0 : -1;
}

static int remove_cache(void **state) {
    (void)state;
    cache_dir_remove(cache);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_name), cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_no_loops)};
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
