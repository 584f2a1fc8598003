/* Processes that are forked after programs ran with several threads: the children's calls end, with the same bits. */
#include "tracing.h"

#include "base/parallel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1 << 16, ROWS = 300, THREADS = 4, CHILDREN = 3 };

static double x[N], y[2][N], a[ROWS * ROWS], p[2][ROWS * ROWS];

static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_sin(tn_add(tn_mul(in[0], in[0]), 1)), tn_exp(tn_neg(in[0])));
}
static tn_val product(const tn_val *in, void *user) {
    (void)user;
    return tn_matmul(in[0], in[0]);
}

typedef struct programs {
    tn_ctx *ctx;
    tn_exec *chain, *product;
} programs;

static programs compiled(int backend) {
    programs z = {.ctx = tn_ctx_new(NULL)};
    const tn_compile_options o = {.size = sizeof o, .threads = THREADS, .backend = backend};
    z.chain = tn_compile(tn_trace(z.ctx, chain, NULL, 1, TN_TYPES(tn_f64(N))), &o);
    z.product = tn_compile(tn_trace(z.ctx, product, NULL, 1, TN_TYPES(tn_f64(ROWS, ROWS))), &o);
    if (!z.chain || !z.product) fail_msg("%s", tn_error(z.ctx));
    return z;
}

static bool run_all(const programs *z, int at) {
    return tn_call(z->chain, TN_INPUTS(x), TN_OUTPUTS(y[at])) == TN_OK &&
           tn_call(z->product, TN_INPUTS(a), TN_OUTPUTS(p[at])) == TN_OK;
}

static bool same(void) {
    const bool ok = memcmp(y[0], y[1], sizeof y[0]) == 0 && memcmp(p[0], p[1], sizeof p[0]) == 0;
    memset(y[1], 0, sizeof y[1]);
    memset(p[1], 0, sizeof p[1]);
    return ok;
}

/* What the parent compiled, what the child compiles, and the same in its child. */
static int in_child(const programs *z, int backend, int depth) {
    if (!run_all(z, 1) || !same()) return 1;
    const programs own = compiled(backend);
    const bool ok = run_all(&own, 1) && same();
    tn_ctx_free(own.ctx);
    if (!ok) return 2;
    if (depth == 0) return 0;
    const pid_t child = fork();
    if (child == 0) _exit(in_child(z, backend, depth - 1));
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 3;
}

static void calls_end(int backend) {
    for (int i = 0; i < N; i++) x[i] = (i % 1000) / 1000.0;
    for (int i = 0; i < ROWS * ROWS; i++) a[i] = (i % 7) - 3.5;
    const programs z = compiled(backend);
    assert_true(run_all(&z, 0));
    for (int i = 0; i < CHILDREN; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)alarm(60);
            _exit(in_child(&z, backend, 1));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_true(run_all(&z, 1) && same());
    }
    tn_ctx_free(z.ctx);
}

static void interpreted_calls_end(void **state) {
    (void)state;
    calls_end(TN_BACKEND_DEFAULT);
}
static void native_calls_end(void **state) {
    (void)state;
    calls_end(TN_BACKEND_NATIVE);
}

/* ---- pieces --------------------------------------------------------------------------- */

typedef struct seen {
    pthread_t id[THREADS];
    int pieces[THREADS];
    bool ran[THREADS];
} seen;

static void note(void *with, int thread, int64_t first, int64_t last) {
    seen *s = with;
    s->id[thread] = pthread_self();
    s->pieces[thread] = (int)(last - first);
    s->ran[thread] = true;
}

/* Each piece once, on several threads there too. */
static void pieces_of_another_process(void **state) {
    (void)state;
    if (!tn_i_nest_threads()) skip();
    seen s = {.ran = {false}};
    tn_i_in_pieces(0, THREADS, 10, note, &s);
    int all = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_true(s.ran[i]);
        all += s.pieces[i];
        for (int j = 0; j < i; j++) assert_false(i && pthread_equal(s.id[i], s.id[0]));
    }
    assert_int_equal(all, 10);
    assert_true(pthread_equal(s.id[0], pthread_self()));
}

/* A child of a fork is told from a new program. */
static void processes(void **state) {
    (void)state;
    const long mine = tn_i_process();
    if (mine) assert_true(tn_i_same_process(mine));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(tn_i_same_process(mine) || tn_i_process() != 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- files ------------------------------------------------------------------------------ */

/* Calls with inputs of one's own; whether all were right. */
static bool call_often(tn_exec *e, double from) {
    enum { TIMES = 500, LENGTH = 5000 };
    static double in[LENGTH], out[LENGTH], first[LENGTH];
    for (int i = 0; i < LENGTH; i++) in[i] = from + i;
    bool ok = tn_call(e, TN_INPUTS(in), TN_OUTPUTS(first)) == TN_OK && first[1] != first[2];
    for (int i = 0; ok && i < TIMES; i++)
        ok = tn_call(e, TN_INPUTS(in), TN_OUTPUTS(out)) == TN_OK && memcmp(out, first, sizeof out) == 0;
    return ok;
}

/* Parent and child have spill files of their own, whose calls do not mix. */
static void spill_files(void **state) {
    (void)state;
    static const char text[] =
        "{ lambda x:f64[5000] . let a = offload x  b = sin a  d = offload b  e = mul d a in (e,) }";
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e = tn_compile(tn_fn_parse(c, text, sizeof text - 1, "text"),
                            &(tn_compile_options){.size = sizeof(tn_compile_options), .spill_dir = "/tmp"});
    if (!e) fail_msg("%s", tn_error(c));
    assert_true(tn_exec_spill_bytes(e) > 0 && call_often(e, 1));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(!call_often(e, 7));
    assert_true(call_often(e, 1));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes),
        cmocka_unit_test(pieces_of_another_process),
        cmocka_unit_test(interpreted_calls_end),
        cmocka_unit_test(native_calls_end),
        cmocka_unit_test(spill_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
