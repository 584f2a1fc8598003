/* Programs within programs on small stacks: as deep as a context takes them, everything works; deeper ones are refused.
 */
#include <tansy.h>

#include <pthread.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- texts ----------------------------------------------------------------------------------- */

static const char *const kinds[][2] = {
    {"call[name=a program=", "] x"},
    {"checkpoint[name=r policy=\"nothing_saveable\" program=", "] x"},
    {"checkpoint[name=r policy=\"everything_saveable\" program=", "] x"},
    {"cond[branches=({ lambda x:f64[] . let in (x,) }, ", ")] 0 x"},
    {"while[cond={ lambda x:f64[] . let p = lt x -9.0 in (p,) } cond_nconsts=0 body_nconsts=0 body=", "] x"},
    {"scan[length=1 num_consts=0 num_carry=1 program=", "] x"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static char *nested(int kind, unsigned depth) {
    const char *open = kinds[kind][0], *close = kinds[kind][1];
    char *text = malloc(depth * (strlen(open) + strlen(close) + 64) + 128);
    size_t at = 0;
    for (unsigned i = 1; i < depth; i++) at += (size_t)sprintf(text + at, "{ lambda x:f64[] . let y:f64[] = %s", open);
    at += (size_t)sprintf(text + at, "{ lambda x:f64[] . let y:f64[] = sin x in (y,) }");
    for (unsigned i = 1; i < depth; i++) at += (size_t)sprintf(text + at, "%s in (y,) }", close);
    return text;
}

/* ---- what is done with them -------------------------------------------------------------------- */

static bool refused(tn_ctx *c) {
    const tn_status s = tn_last_status(c);
    return s == TN_ELIMIT || s == TN_EPARSE || s == TN_ETYPE || s == TN_EINVAL;
}

/* Whatever is made is made, or refused: rank 8 is reached before depth 256. */
static void derive(tn_ctx *c, const tn_fn *f) {
    tn_fn *made[5] = {tn_jvp(f, NULL), tn_grad(f, NULL, NULL),
                      tn_grad(f, NULL, tn_policy_by_name("everything_saveable")), tn_vmap(f, 2, NULL, NULL), NULL};
    if (made[1]) made[4] = tn_jvp(made[1], NULL);
    for (int i = 0; i < 5; i++) {
        if (!made[i]) {
            if (!refused(c)) (void)fprintf(stderr, "derivative %d: %s\n", i, tn_error(c));
            assert_true(refused(c));
            continue;
        }
        char *text = tn_fn_print(made[i], NULL);
        tn_exec *e = tn_compile(made[i], NULL);
        if (!e) (void)fprintf(stderr, "derivative %d: %s\n", i, tn_error(c));
        assert_true(text && e);
        tn_text_free(c, text);
        tn_exec_free(e);
        tn_fn_free(made[i]);
    }
}

static void run(const tn_fn *f) {
    double x = 0.5, y = 0;
    tn_exec *e = tn_compile(f, NULL);
    if (!e) (void)fprintf(stderr, "%s\n", tn_error(tn_fn_ctx(f))); /* cmocka says nothing of other threads */
    assert_non_null(e);
    assert_int_equal(tn_call(e, TN_INPUTS(&x), TN_OUTPUTS(&y)), TN_OK);
    tn_exec_free(e);
}

/* The deepest that the context takes, of each kind. */
static void *go_down(void *found) {
    for (int kind = 0; kind < KINDS; kind++) {
        unsigned low = 1, high = TN_MAX_NEST + 1; /* low is taken, high is not */
        while (high - low > 1) {
            const unsigned depth = (low + high) / 2;
            tn_ctx *c = tn_ctx_new(NULL);
            char *text = nested(kind, depth);
            tn_fn *f = tn_fn_parse(c, text, strlen(text), "deep.tn");
            if (f)
                low = depth;
            else {
                high = depth;
                assert_non_null(strstr(tn_error(c), "nested deeper than"));
            }
            tn_fn_free(f);
            tn_ctx_free(c);
            free(text);
        }
        tn_ctx *c = tn_ctx_new(NULL);
        char *text = nested(kind, low);
        tn_fn *f = tn_fn_parse(c, text, strlen(text), "deep.tn");
        assert_non_null(f);
        run(f);
        derive(c, f);
        tn_fn_free(f);
        tn_ctx_free(c);
        free(text);
        ((unsigned *)found)[kind] = low;
    }
    return NULL;
}

/* Bytes of a thread's stack that are not its own: where thread-local variables of libraries are (60 KB of OpenBLAS's,
 * which may be the system's LAPACK). */
static void *look_around(void *taken) {
    pthread_attr_t attr;
    void *lowest;
    size_t bytes;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &lowest, &bytes), 0);
    (void)pthread_attr_destroy(&attr);
    *(size_t *)taken = bytes - (size_t)((uintptr_t)&bytes - (uintptr_t)lowest);
    return NULL;
}

static size_t not_its_own(void) {
    pthread_t thread;
    size_t taken = 0;
    assert_int_equal(pthread_create(&thread, NULL, look_around, &taken), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return taken;
}

static void on_stack(size_t bytes, unsigned least) {
    pthread_attr_t attr;
    pthread_t thread;
    unsigned found[KINDS] = {0};
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, bytes + not_its_own()), 0);
    assert_int_equal(pthread_create(&thread, &attr, go_down, found), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attr);
    for (int kind = 0; kind < KINDS; kind++)
        if (found[kind] < least) fail_msg("%zu bytes: %u levels of %s", bytes, found[kind], kinds[kind][0]);
}

#if defined __SANITIZE_ADDRESS__
enum { TIMES = 8 };
#elif defined __has_feature
#if __has_feature(address_sanitizer)
enum { TIMES = 8 };
#else
enum { TIMES = 1 };
#endif
#else
enum { TIMES = 1 };
#endif

static void test_stacks(void **state) {
    (void)state;
    on_stack((size_t)TIMES * (128 << 10), 10);
    on_stack((size_t)TIMES * (192 << 10), 30);
    on_stack((size_t)TIMES * (256 << 10), 50);
    on_stack((size_t)TIMES * (512 << 10), 120);
    on_stack((size_t)TIMES * (1 << 20), TN_MAX_NEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
