/* Profiles: what they count is exact, under each backend, and what a call computes does not depend on them. */
#include <tansy.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- pieces ------------------------------------------------------------------------------------------ */

enum { MOST = 64 };

typedef struct told {
    size_t n;
    tn_profile_step step[MOST];
} told;

static void take(void *user, const tn_profile_step *s) {
    told *t = user;
    assert_int_equal(s->size, sizeof *s);
    assert_true(s->kind && *s->kind && s->primitive && s->file && s->runner && *s->runner && s->operations > 0);
    assert_true(s->calls >= 0 && s->ns >= 0 && s->own_ns >= 0 && s->own_ns <= s->ns);
    assert_true(s->work.flops >= 0 && s->work.bytes >= 0 && s->depth >= 0);
    assert_true(t->n < MOST);
    t->step[t->n++] = *s;
}

static told steps_of(const tn_profile *p) {
    told t = {.n = 0};
    assert_int_equal(tn_profile_steps(p, take, &t), TN_OK);
    return t;
}

static tn_profile_totals totals_of(const tn_profile *p) {
    tn_profile_totals t = {.size = sizeof t};
    assert_int_equal(tn_profile_total(p, &t), TN_OK);
    assert_true(t.ns >= 0 && t.own_ns >= 0 && t.own_ns <= t.ns);
    return t;
}

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "profile.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_exec *compile(const tn_fn *f, int backend, const char *spill) {
    tn_exec *e = tn_compile(
        f, &(tn_compile_options){.size = sizeof(tn_compile_options), .backend = backend, .spill_dir = spill});
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    return e;
}

static tn_profile *profile(tn_exec *e) {
    tn_profile *p = tn_profile_new(e);
    assert_non_null(p);
    assert_int_equal(tn_exec_profile(e, p), TN_OK);
    return p;
}

static void call(tn_exec *e, const void *const *in, void *const *out) {
    if (tn_call(e, in, out) != TN_OK) fail_msg("%s", tn_exec_error(e));
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* sin, mul, sum: fused, or one by one. */
static void wave(const char *dtype, double size, int backend) {
    char text[256];
    (void)snprintf(text, sizeof text,
                   "{ lambda c:%s[3] x:%s[3] . let\n s = sin x\n p = mul c s\n y = reduce_sum[axes=(0,)] p\n in (y) }",
                   dtype, dtype);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e = compile(parse(c, text), backend, NULL);
    tn_profile *p = profile(e);
    double a[3] = {0}, b[3] = {0}, y[1];
    for (int k = 0; k < 3; k++) call(e, TN_RAW_INPUTS(a, b), TN_RAW_OUTPUTS(y));
    const told t = steps_of(p);
    const tn_profile_totals all = totals_of(p);
    assert_int_equal(all.calls, 3);
    assert_true(all.work.flops == 3 * 54 && all.work.transcendentals == 3 * 3 && all.work.products == 0);
    const bool alone = backend == TN_BACKEND_REFERENCE; /* equation by equation */
    assert_true(all.work.bytes == 3 * size * (alone ? 6 + 9 + 4 : 3 + 3 + 1));
    assert_int_equal(t.n, alone ? 3 : 1);
    for (size_t i = 0; i < t.n; i++) {
        assert_int_equal(t.step[i].calls, 3);
        assert_int_equal(t.step[i].depth, 0);
        assert_string_equal(t.step[i].file, "profile.tn");
        if (alone) assert_int_equal(t.step[i].line, 2 + (int)i);
        const char *ran = t.step[i].runner; /* whether there is machine code for loops depends on the processor */
        if (tn_exec_backend(e, NULL) == TN_BACKEND_NATIVE)
            assert_string_equal(ran, "native");
        else if (alone)
            assert_string_equal(ran, i < 2 ? "reference" : "library");
        else
            assert_true(strcmp(ran, "strips") == 0 || strcmp(ran, "assembler") == 0);
    }
    tn_profile_reset(p);
    assert_int_equal(totals_of(p).calls, 0);
    assert_true(totals_of(p).ns == 0 && steps_of(p).step[0].calls == 0 && totals_of(p).work.flops == 0);
    assert_int_equal(tn_exec_profile(e, NULL), TN_OK);
    call(e, TN_RAW_INPUTS(a, b), TN_RAW_OUTPUTS(y));
    assert_int_equal(totals_of(p).calls, 0);
    tn_ctx_free(c);
}

static void test_steps(void **state) {
    (void)state;
    for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) {
        wave("f64", 8, backend);
        wave("f32", 4, backend);
    }
}

/* Sizes of which there is little. */
static void test_small(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t steps;
        double flops, bytes;
    } row[] = {{"{ lambda a:f64[] . let in (a) }", 0, 0, 0},
               {"{ lambda a:f64[] . let b = sin a in (b) }", 1, 16, 16},
               {"{ lambda a:f32[0,3] . let b = exp a c = neg b in (c) }", 0, 0, 0}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_exec *e = compile(parse(c, row[k].text), TN_BACKEND_DEFAULT, NULL);
        tn_profile *p = profile(e);
        double a[1] = {1}, b[1];
        call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b));
        assert_int_equal(steps_of(p).n, row[k].steps);
        const tn_profile_totals t = totals_of(p);
        assert_int_equal(t.calls, 1);
        assert_true(t.work.flops == row[k].flops && t.work.bytes == row[k].bytes);
        tn_ctx_free(c);
    }
}

/* Steps that an output needs which is not wanted do not run. */
static void test_unwanted(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e =
        compile(parse(c, "{ lambda a:f64[50] . let b = sin a c = sort[dimension=0 is_stable=True num_keys=1] b "
                         "in (b, c) }"),
                TN_BACKEND_DEFAULT, NULL);
    tn_profile *p = profile(e);
    double a[50] = {0}, b[50], s[50];
    call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b, s));
    call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b, NULL));
    const told t = steps_of(p);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.step[0].calls, 2);
    assert_int_equal(t.step[1].calls, 1);
    assert_string_equal(t.step[1].primitive, "sort");
    tn_ctx_free(c);
}

/* ---- programs within steps ----------------------------------------------------------------------------- */

static const char *const nested =
    "let p = { lambda x:f64[40] . let y = sin x in (y) } in\n"
    "{ lambda a:f64[40] i:i32[] n:f64[40] . let\n"
    "  b = call[name=f program=p] a\n"
    "  c = cond[branches=({ lambda x:f64[40] . let y = cos x in (y) }, { lambda x:f64[40] . let y = exp x in (y) })] i "
    "b\n"
    "  d = scan[program={ lambda x:f64[40] . let y = sort[dimension=0 is_stable=True num_keys=1] x z = tanh y in (z) } "
    "length=7 num_consts=0 num_carry=1] c\n"
    "  e = while[cond={ lambda x:f64[40] . let m = reduce_max[axes=(0,)] x p = lt m 2.5 in (p) }\n"
    "    body={ lambda x:f64[40] . let y = add x 1.0 in (y) } cond_nconsts=0 body_nconsts=0] n\n"
    "  in (d, e) }";

/* How often equations of this primitive, or loops that end in it, ran. */
static int64_t runs_of(const told *t, const char *primitive, int line) {
    int64_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->step[i].primitive, primitive) == 0 && (line == 0 || t->step[i].line == line))
            n += t->step[i].calls;
    return n;
}

static const tn_profile_step *step_named(const told *t, const char *primitive) {
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->step[i].primitive, primitive) == 0) return &t->step[i];
    fail_msg("no step is %s", primitive);
    return NULL;
}

static void test_nested(void **state) {
    (void)state;
    for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_exec *e = compile(parse(c, nested), backend, NULL);
        double a[40] = {1, 2, 3, 4}, n[40] = {0}, d[2][40], w[2][40];
        int32_t i = 1;
        call(e, TN_RAW_INPUTS(a, &i, n), TN_RAW_OUTPUTS(d[0], w[0]));
        tn_profile *p = profile(e);
        for (int k = 0; k < 2; k++) call(e, TN_RAW_INPUTS(a, &i, n), TN_RAW_OUTPUTS(d[1], w[1]));
        assert_memory_equal(d[0], d[1], sizeof d[0]); /* the same bits */
        assert_memory_equal(w[0], w[1], sizeof w[0]);
        const told t = steps_of(p);
        assert_int_equal(runs_of(&t, "sort", 0), 2 * 7);
        assert_int_equal(step_named(&t, "scan")->calls, 2);
        assert_int_equal(step_named(&t, "while")->calls, 2);
        assert_int_equal(step_named(&t, "cond")->calls, 2);
        assert_int_equal(step_named(&t, "scan")->depth, 0);
        assert_int_equal(step_named(&t, "sort")->depth, 1);
        /* exp and not cos: 40 elements in each call; tanh 7 times as often; 3 steps of the while, and 4 questions */
        assert_true(totals_of(p).work.transcendentals == 2 * (40 + 40 + 7 * 40));
        assert_true(step_named(&t, "while")->work.flops == 2 * (3 * 40 + 4 * (40 + 1)));
        double top = 0, work = 0;
        for (size_t k = 0; k < t.n; k++)
            if (t.step[k].depth == 0) top += t.step[k].ns, work += t.step[k].work.flops;
        assert_true(top <= totals_of(p).ns && work == totals_of(p).work.flops);
        tn_ctx_free(c);
    }
}

/* A loop of numbers, which is timed as a whole: its steps are counted. */
static void test_laps(void **state) {
    (void)state;
    static const char text[] =
        "{ lambda a:f64[] . let\n"
        "  b = scan[program={ lambda x:f64[] . let y = sin x in (y) } length=50 num_consts=0 num_carry=1] a\n"
        "  c = while[cond={ lambda x:f64[] . let p = lt x 9.5 in (p) }\n"
        "    body={ lambda x:f64[] . let y = add x 1.0 in (y) } cond_nconsts=0 body_nconsts=0] b\n"
        "  in (c) }";
    for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_exec *e = compile(parse(c, text), backend, NULL);
        tn_profile *p = profile(e);
        double a[1] = {0}, b[1];
        for (int k = 0; k < 3; k++) call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b));
        const tn_profile_totals t = totals_of(p);
        assert_true(t.work.transcendentals == 3 * 50);
        assert_true(t.work.flops == 3 * (50 * 16 + 10 + 11)); /* 0, 1, .. 9: ten steps, eleven questions */
        tn_ctx_free(c);
    }
}

/* Calls of calls that are a tree of 2^20 leaves: what is left out is work of the step that runs it. */
static void test_many(void **state) {
    (void)state;
    enum { LEVELS = 20 };
    static char text[8192];
    size_t n = (size_t)snprintf(text, sizeof text, "let p0 = { lambda x:f64[] . let y = sin x in (y) } in\n");
    for (int k = 1; k <= LEVELS; k++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "let p%d = { lambda x:f64[] . let y = call[name=f program=p%d] x z = call[name=f "
                              "program=p%d] y in (z) } in\n",
                              k, k - 1, k - 1);
    (void)snprintf(text + n, sizeof text - n, "{ lambda a:f64[] . let b = call[name=f program=p%d] a in (b) }", LEVELS);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e = compile(parse(c, text), TN_BACKEND_DEFAULT, NULL);
    tn_profile *p = profile(e);
    double a[1] = {0}, b[1];
    call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b));
    assert_true(totals_of(p).work.transcendentals == 1 << LEVELS);
    tn_ctx_free(c);
}

/* ---- schedules ------------------------------------------------------------------------------------------ */

/* The gradient of a loop under a schedule does what tn_schedule_cost says. */
static void replayed(const char *schedule, int64_t steps, int backend) {
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{ lambda a:f64[3] . let b = scan[program={ lambda x:f64[3] . let y = sin x z = mul y x in (z) } "
                   "length=%lld num_consts=0 num_carry=1 schedule=\"%s\"] a c = reduce_sum[axes=(0,)] b in (c) }",
                   (long long)steps, schedule);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e = compile(tn_grad(parse(c, text), NULL, NULL), backend, "/tmp");
    double a[3] = {0.1, 0.2, 0.3}, g[2][3];
    call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(g[0]));
    tn_profile *p = profile(e);
    call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(g[1]));
    assert_memory_equal(g[0], g[1], sizeof g[0]);
    tn_schedule_counts k = {.size = sizeof k};
    assert_int_equal(tn_schedule_cost(c, schedule, steps, NULL, &k), TN_OK);
    const tn_profile_replay r = totals_of(p).replay;
    if (r.advances != k.advances || r.recorded != k.recorded || r.disk_writes != k.disk_writes ||
        r.disk_reads != k.disk_reads || r.snapshots != k.snapshots || r.disk_snapshots != k.disk_snapshots)
        fail_msg("%s, %lld steps: %lld advances, %lld recorded, %lld written, %lld read, %lld and %lld snapshots; "
                 "wanted are %lld, %lld, %lld, %lld, %lld, %lld",
                 schedule, (long long)steps, (long long)r.advances, (long long)r.recorded, (long long)r.disk_writes,
                 (long long)r.disk_reads, (long long)r.snapshots, (long long)r.disk_snapshots, (long long)k.advances,
                 (long long)k.recorded, (long long)k.disk_writes, (long long)k.disk_reads, (long long)k.snapshots,
                 (long long)k.disk_snapshots);
    tn_ctx_free(c);
}

static void test_schedules(void **state) {
    (void)state;
    static const char *const schedule[] = {"revolve:3",        "revolve:1", "online:4",  "mixed:3",
                                           "disk_revolve:2,3", "nothing",   "periodic:4"};
    for (size_t k = 0; k < sizeof schedule / sizeof *schedule; k++)
        for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_REFERENCE; backend++)
            replayed(schedule[k], 17, backend);
    replayed("revolve:3", 17, TN_BACKEND_NATIVE);
    replayed("mixed:3", 17, TN_BACKEND_NATIVE);
}

/* ---- threads --------------------------------------------------------------------------------------------- */

enum { THREADS = 4, CALLS = 50 };

typedef struct thread {
    const tn_exec *e;
    tn_work *w;
    tn_profile *p;
    pthread_t id;
    int failed;
} thread;

static void *run(void *user) {
    thread *t = user;
    double a[64] = {0}, b[64];
    for (int k = 0; k < CALLS; k++) t->failed += tn_call_in(t->e, t->w, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b)) != TN_OK;
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_exec *e = compile(parse(c, "{ lambda a:f64[64] . let b = scan[program={ lambda x:f64[64] . let y = sin x in (y) "
                                  "} length=5 num_consts=0 num_carry=1] a in (b) }"),
                         TN_BACKEND_DEFAULT, NULL);
    thread t[THREADS];
    tn_profile *all = tn_profile_new(e);
    for (int k = 0; k < THREADS; k++) {
        t[k] = (thread){.e = e, .w = tn_work_new(e, NULL, 0), .p = tn_profile_new(e)};
        assert_int_equal(tn_work_profile(t[k].w, t[k].p), TN_OK);
    }
    for (int k = 0; k < THREADS; k++) assert_int_equal(pthread_create(&t[k].id, NULL, run, &t[k]), 0);
    for (int k = 0; k < THREADS; k++) {
        assert_int_equal(pthread_join(t[k].id, NULL), 0);
        assert_int_equal(t[k].failed, 0);
        assert_int_equal(totals_of(t[k].p).calls, CALLS);
        assert_int_equal(tn_profile_add(all, t[k].p), TN_OK);
    }
    assert_int_equal(totals_of(all).calls, THREADS * CALLS);
    assert_true(totals_of(all).work.transcendentals == 64.0 * 5 * THREADS * CALLS);
    tn_profile_free(t[0].p); /* its workspace calls without one */
    t[0].failed = 0;
    (void)run(&t[0]);
    assert_int_equal(t[0].failed, 0);
    tn_ctx_free(c);
}

typedef struct inner {
    const tn_exec *e;
    tn_work *w;
    tn_status status;
} inner;

/* While a call is running, another one with its profile. */
static int call_again(void *user, const void *const *in, void *const *out) {
    inner *k = user;
    (void)in;
    *(double *)out[0] = 1;
    if (k->w) k->status = tn_call_in(k->e, k->w, TN_RAW_INPUTS(in[0]), TN_RAW_OUTPUTS(out[0]));
    return 0;
}

static tn_val traced_call(const tn_val *in, void *user) {
    (void)user;
    return tn_external(in[0].ctx, "again", 1, in);
}

static void test_busy(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    inner k = {0};
    const tn_type t = tn_f64();
    assert_int_equal(tn_external_register(c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                                 .name = "again",
                                                                 .nin = 1,
                                                                 .nout = 1,
                                                                 .in = &t,
                                                                 .out = &t,
                                                                 .fn = call_again,
                                                                 .user = &k}),
                     TN_OK);
    tn_fn *f = tn_trace(c, traced_call, NULL, TN_ARGS(tn_f64()));
    tn_exec *e = compile(f, TN_BACKEND_DEFAULT, NULL);
    tn_profile *p = profile(e);
    k.e = e;
    k.w = tn_work_new(e, NULL, 0);
    assert_int_equal(tn_work_profile(k.w, p), TN_OK);
    double a[1] = {0}, b[1];
    call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b));
    assert_int_equal(k.status, TN_EBUSY);
    assert_non_null(strstr(tn_work_error(k.w), "profile"));
    assert_int_equal(totals_of(p).calls, 1);
    tn_ctx_free(c);
}

/* ---- what is refused, and what fails ---------------------------------------------------------------------- */

static void test_refused(void **state) {
    (void)state;
    static const char text[] = "{ lambda a:f64[3] . let b = sin a in (b) }";
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, text);
    tn_exec *e = compile(f, TN_BACKEND_DEFAULT, NULL), *other = compile(f, TN_BACKEND_DEFAULT, NULL);
    tn_work *w = tn_work_new(e, NULL, 0);
    tn_profile *p = tn_profile_new(e), *q = tn_profile_new(other);
    tn_profile_totals t = {.size = sizeof t}, none = {0};
    assert_null(tn_profile_new(NULL));
    tn_profile_free(NULL);
    tn_profile_reset(NULL);
    assert_int_equal(tn_work_profile(NULL, p), TN_EINVAL);
    assert_int_equal(tn_exec_profile(NULL, p), TN_EINVAL);
    assert_int_equal(tn_work_profile(w, q), TN_EINVAL);
    assert_non_null(strstr(tn_work_error(w), "another executable"));
    assert_int_equal(tn_exec_profile(e, q), TN_EINVAL);
    assert_non_null(strstr(tn_exec_error(e), "another executable"));
    assert_int_equal(tn_profile_add(p, q), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "different executables"));
    assert_int_equal(tn_profile_add(p, p), TN_EINVAL);
    assert_int_equal(tn_profile_add(NULL, p), TN_EINVAL);
    assert_int_equal(tn_profile_add(p, NULL), TN_EINVAL);
    assert_int_equal(tn_profile_steps(NULL, take, NULL), TN_EINVAL);
    assert_int_equal(tn_profile_steps(p, NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_profile_total(NULL, &t), TN_EINVAL);
    assert_int_equal(tn_profile_total(p, NULL), TN_EINVAL);
    assert_int_equal(tn_profile_total(p, &none), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "size is not set"));
    tn_exec_free(e); /* the profile and the workspace keep it */
    assert_int_equal(totals_of(p).calls, 0);
    tn_work_free(w);
    tn_profile_free(p);
    tn_ctx_free(c); /* with q */
}

/* A call that fails is a call, and the next one is counted as ever. */
static void test_failures(void **state) {
    (void)state;
    for (int backend = TN_BACKEND_DEFAULT; backend <= TN_BACKEND_NATIVE; backend++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_exec *e =
            compile(parse(c, "{ lambda a:f64[] . let b = scan[program={ lambda x:f64[] . let p = lt x 5.0 () = "
                             "assert[message=\"small\"] p y = add x 1.0 in (y) } length=3 num_consts=0 "
                             "num_carry=1] a in (b) }"),
                    backend, NULL);
        tn_profile *p = profile(e);
        double a[1] = {4}, b[1];
        assert_int_equal(tn_call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b)), TN_EASSERT);
        told t = steps_of(p);
        assert_int_equal(runs_of(&t, "assert", 0), 2);
        a[0] = 0;
        call(e, TN_RAW_INPUTS(a), TN_RAW_OUTPUTS(b));
        t = steps_of(p);
        assert_int_equal(runs_of(&t, "assert", 0), 5);
        assert_int_equal(step_named(&t, "scan")->calls, 2);
        assert_int_equal(totals_of(p).calls, 2);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),     cmocka_unit_test(test_small),   cmocka_unit_test(test_unwanted),
        cmocka_unit_test(test_nested),    cmocka_unit_test(test_laps),    cmocka_unit_test(test_many),
        cmocka_unit_test(test_schedules), cmocka_unit_test(test_threads), cmocka_unit_test(test_busy),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_failures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
