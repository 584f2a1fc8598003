/* The steady state: once a workspace exists and a program has run, calls take no memory and enter no new page. */
#include "recurrent.h"
#include "tracing.h"
#include "workloads.h"

#include <stdlib.h>
#include <sys/resource.h>

/* ---- who counts ------------------------------------------------------------------------ */

static void *counting(void *user, void *p, size_t old_size, size_t new_size) {
    size_t *calls = user;
    (void)old_size;
    ++*calls;
    if (new_size) return realloc(p, new_size);
    free(p);
    return NULL;
}

static long pages_entered(void) {
    struct rusage r;
    return getrusage(RUSAGE_SELF, &r) == 0 ? r.ru_minflt : -1;
}

#ifdef __has_feature
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { MOST = 16, CALLS = 10 };

static void fill(const tn_type *t, void *p, double scale) {
    for (int64_t i = 0; i < tn_i_count(t); i++) {
        const double x = scale * ((double)(i * 7919 % 1000) / 500 - 1);
        if (t->dtype == TN_F64)
            ((double *)p)[i] = x;
        else
            ((float *)p)[i] = (float)x;
    }
}

/* Calls f, with a workspace of its own, until nothing is new, and then CALLS times. */
static void assert_steady(const char *name, const tn_fn *f, size_t *calls, const double *scale) {
    tn_compile_options o = {.size = sizeof o};
    void *in[MOST], *out[MOST];
    assert_non_null(f);
    assert_true(f->nin <= MOST && f->nout <= MOST);
    for (uint32_t i = 0; i < f->nin; i++) {
        in[i] = malloc(tn_type_bytes(f->val[i].type) + 1);
        fill(f->val[i].type, in[i], scale ? scale[i] : 1);
    }
    for (uint32_t j = 0; j < f->nout; j++) out[j] = calloc(1, tn_type_bytes(f->val[f->out[j]].type) + 1);
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s: %s", name, tn_error(f->ctx));
    for (int k = 0; k < 3; k++) assert_int_equal(tn_call(e, (const void *const *)in, out), TN_OK);
    const size_t taken = *calls;
    const long entered = pages_entered();
    for (int k = 0; k < CALLS; k++) assert_int_equal(tn_call(e, (const void *const *)in, out), TN_OK);
    const long more = pages_entered() - entered;
    if (*calls != taken) fail_msg("%s: %zu allocations in %d calls", name, *calls - taken, CALLS);
    if (!SANITIZED && more) fail_msg("%s: %ld pages entered in %d calls", name, more, CALLS);
    tn_exec_free(e);
    for (uint32_t i = 0; i < f->nin; i++) free(in[i]);
    for (uint32_t j = 0; j < f->nout; j++) free(out[j]);
}

/* ---- programs ---------------------------------------------------------------------------- */

static tn_ctx *counted(size_t *calls) {
    const tn_ctx_options opt = {.size = sizeof opt, .realloc = counting, .user = calls};
    tn_ctx *c = tn_ctx_new(&opt);
    assert_non_null(c);
    return c;
}

static void test_workloads(void **state) {
    (void)state;
    for (size_t k = 0; k < WORKLOADS; k++) {
        const workload one = workload_of((int)k), *w = &one;
        size_t calls = 0;
        tn_ctx *c = counted(&calls);
        tn_fn *f = tn_trace(c, w->f, NULL, (uint32_t)w->nin, w->in);
        const tn_wrt_list wrt = {w->nwrt, w->wrt};
        assert_steady(w->name, f, &calls, w->scale);
        assert_steady(w->name, tn_value_and_grad(f, &wrt, NULL), &calls, w->scale);
        tn_ctx_free(c);
    }
}

static void test_loops(void **state) {
    (void)state;
    static const char *const schedule[] = {"all_save", "nothing", "revolve:5", "online:6", "mixed:5", "periodic:7"};
    for (size_t k = 0; k < COUNT(schedule); k++) {
        size_t calls = 0;
        tn_ctx *c = counted(&calls);
        const burgers m = {.schedule = schedule[k], .steps = 60};
        tn_fn *f = tn_trace(c, burgers_loss, (void *)(uintptr_t)&m, 1, TN_TYPES(tn_f64(256)));
        assert_steady(schedule[k], tn_value_and_grad(f, NULL, NULL), &calls, NULL);
        tn_ctx_free(c);
    }
    const lstm m = {.steps = 8, .batch = 4, .width = 16};
    size_t calls = 0;
    tn_ctx *c = counted(&calls);
    tn_fn *f = lstm_traced(c, &m);
    assert_steady("lstm", tn_grad(f, NULL, NULL), &calls, NULL);
    tn_ctx_free(c);
}

/* As many steps as its input says: pages of its stacks are kept from call to call. */
static void root_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    (void)i, (void)user;
    next[0] = tn_mul(0.5, tn_add(carry[0], tn_div(2, carry[0])));
}

static tn_val root(const tn_val *in, void *user) {
    const tn_loop_options o = {.size = sizeof o, .schedule = user};
    tn_val x;
    tn_fori(NULL, 0, in[1], root_step, NULL, 1, in, &x, &o);
    return tn_sum(x);
}

static void test_unknown_lengths(void **state) {
    (void)state;
    static const char *const schedule[] = {"all_save", "online:4", "nothing"};
    for (size_t k = 0; k < COUNT(schedule); k++) {
        size_t calls = 0;
        tn_ctx *c = counted(&calls);
        tn_fn *f = tn_trace(c, root, (void *)(uintptr_t)schedule[k], 2, TN_TYPES(tn_f64(1000), tn_i64()));
        tn_fn *g = tn_grad(f, tn_wrt(0), NULL);
        tn_exec *e = g ? tn_compile(g, NULL) : NULL;
        if (!e) fail_msg("%s: %s", schedule[k], tn_error(c));
        static double x[1000], dx[1000];
        int64_t steps = 100;
        for (size_t i = 0; i < 1000; i++) x[i] = 1 + (double)i;
        for (int again = 0; again < 3; again++)
            assert_int_equal(tn_call(e, (const void *[]){x, &steps}, (void *[]){dx}), TN_OK);
        for (steps = 20; steps <= 100; steps += 40) {
            const size_t taken = calls;
            const long entered = pages_entered();
            assert_int_equal(tn_call(e, (const void *[]){x, &steps}, (void *[]){dx}), TN_OK);
            const long more = pages_entered() - entered;
            if (calls != taken) fail_msg("%s: %zu allocations", schedule[k], calls - taken);
            if (!SANITIZED && more > 0) fail_msg("%s: %ld pages entered", schedule[k], more);
        }
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_workloads), cmocka_unit_test(test_loops),
                                       cmocka_unit_test(test_unknown_lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
