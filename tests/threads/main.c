/* One executable on several threads, for ThreadSanitizer: each with a workspace of its own, and all with
 * tn_call, where a thread finds it busy or gets its own answer. */
#include "tansy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, CALLS = 200, N = 40 };

/* Products (BLIS), an array constant, views, an update in place, a nested program in two layouts, a callback. */
static const char text[] =
    "{ lambda x:f64[40,40] j:i32[] . let"
    "    k:f64[2] = constant[value=[1.5, 2.5]]"
    "    t:f64[40,40] = transpose[permutation=(1, 0)] x"
    "    p:f64[40,40] = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] x t"
    "    a:f64[40,40] = call[name=\"f\" program={ lambda x:f64[40,40] . let y:f64[40,40] = sin x z:f64[40,40] = add y "
    "x in (z,) }] t"
    "    b:f64[40,40] = call[name=\"f\" program={ lambda x:f64[40,40] . let y:f64[40,40] = sin x z:f64[40,40] = add y "
    "x in (z,) }] a"
    "    c:f64[40,40] = mul p b"
    "    r:f64[1600] = reshape[new_sizes=(1600,)] c"
    "    u:f64[1600] = dynamic_update_slice r k j"
    "    s:f64[] = reduce_sum[axes=(0,)] u"
    "    e:f64[] = external_call[name=\"half\" mode=fn out=(f64[],) batch=() effect=False linear=False] s"
    "  in (e, u) }";

static atomic_int callbacks;

static int half(void *user, const void *const *in, void *const *out) {
    (void)user;
    atomic_fetch_add(&callbacks, 1);
    *(double *)out[0] = *(const double *)in[0] / 2;
    return 0;
}

typedef struct job {
    tn_exec *exec;
    tn_work *work; /* NULL: tn_call */
    double x[N * N];
    int32_t j;
    double e, u[N * N]; /* expected */
    int done, busy, wrong;
} job;

static void fill(job *k, int seed) {
    for (int i = 0; i < N * N; i++) k->x[i] = (double)((i * 7 + seed * 13) % 101) / 50 - 1;
    k->j = seed * 100;
}

static void *run(void *arg) {
    job *k = arg;
    const void *in[2] = {k->x, &k->j};
    static const double zero[N * N];
    double *u = malloc(sizeof k->u), e;
    for (int i = 0; i < CALLS && u; i++) {
        memcpy(u, zero, sizeof zero);
        e = 0;
        void *out[2] = {&e, i % 3 ? u : NULL};
        tn_status s = k->work ? tn_call_in(k->exec, k->work, in, out) : tn_call(k->exec, in, out);
        if (s == TN_EBUSY && !k->work) {
            k->busy++;
            continue;
        }
        k->done += s == TN_OK;
        k->wrong += s != TN_OK || e != k->e || (i % 3 && memcmp(u, k->u, sizeof k->u) != 0);
    }
    free(u);
    return NULL;
}

static bool run_all(job *jobs) {
    pthread_t thread[THREADS];
    bool ok = true;
    int done = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, run, &jobs[i])) return false;
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(thread[i], NULL);
        done += jobs[i].done;
        ok &= jobs[i].wrong == 0 && jobs[i].done + jobs[i].busy == CALLS;
    }
    return ok && done > 0;
}

/* Own workspaces, in memory of the context or of the caller; then one workspace for all. */
static bool test(tn_exec *e, bool own) {
    job *jobs = calloc(THREADS, sizeof *jobs);
    void *memory[THREADS] = {NULL};
    bool ok = jobs != NULL;
    for (int i = 0; ok && i < THREADS; i++) {
        fill(&jobs[i], i);
        jobs[i].exec = e;
        ok = tn_call(e, (const void *[]){jobs[i].x, &jobs[i].j}, (void *[]){&jobs[i].e, jobs[i].u}) == TN_OK;
        if (own && i % 2) memory[i] = malloc(tn_work_bytes(e));
        if (own) ok = ok && (jobs[i].work = tn_work_new(e, memory[i], memory[i] ? tn_work_bytes(e) : 0)) != NULL;
    }
    ok = ok && run_all(jobs);
    for (int i = 0; jobs && i < THREADS; i++) {
        tn_work_free(jobs[i].work);
        free(memory[i]);
    }
    free(jobs);
    return ok;
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_type scalar = tn_f64();
    int passed = 0, failed = 0;
    tn_status s = tn_external_register(c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                              .name = "half",
                                                              .nin = 1,
                                                              .nout = 1,
                                                              .in = &scalar,
                                                              .out = &scalar,
                                                              .fn = half});
    tn_fn *f = s == TN_OK ? tn_fn_parse(c, text, strlen(text), "threads.tn") : NULL;
    for (int threads = 1; threads <= 2; threads++) {
        tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .threads = threads});
        if (!e) printf("%s\n", tn_error(c));
        for (int own = 0; own < 2; own++) {
            const bool ok = e && test(e, own);
            printf("%s: %s, %d for products\n", ok ? "ok" : "FAILED", own ? "a workspace each" : "tn_call by all",
                   threads);
            if (ok)
                passed++;
            else
                failed++;
        }
        tn_exec_free(e);
    }
    if (atomic_load(&callbacks) == 0) failed++;
    tn_ctx_free(c);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
