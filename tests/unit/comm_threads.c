/* Tables of ranks that are threads. */
#include "comm_table.h"

#include "sanitized.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { MOST = 8 };

/* ---- ranks ------------------------------------------------------------------------------ */

typedef struct job {
    tn_threads *t;
    int rank, wrong, status;
    char error[1024];
    int (*run)(struct job *j, const tn_comm_ops *o);
} job;

static void *run_rank(void *arg) {
    job *j = arg;
    const tn_comm_ops *o = tn_threads_rank(j->t, j->rank);
    j->wrong = j->run(j, o);
    (void)snprintf(j->error, sizeof j->error, "%s", o->error(o->user));
    tn_threads_leave(j->t, j->rank);
    return NULL;
}

typedef struct team {
    tn_ctx *c;
    tn_threads *t;
    int ranks;
    job j[MOST];
} team;

static void set_up(team *g, size_t naxes, const int64_t *extent, double seconds) {
    static const char *const name[] = {"r", "c", "w"};
    *g = (team){.c = tn_ctx_new(NULL), .ranks = 1};
    assert_non_null(g->c);
    g->t = tn_threads_comm(g->c, &(tn_grid){naxes, name, extent}, seconds);
    if (!g->t) fail_msg("%s", tn_error(g->c));
    for (size_t a = 0; a < naxes; a++) g->ranks *= (int)extent[a];
}

static void run_all(team *g, int (*run)(job *j, const tn_comm_ops *o)) {
    pthread_t id[MOST];
    for (int r = 0; r < g->ranks; r++) {
        g->j[r] = (job){.t = g->t, .rank = r, .run = run};
        assert_int_equal(pthread_create(&id[r], NULL, run_rank, &g->j[r]), 0);
    }
    for (int r = 0; r < g->ranks; r++) assert_int_equal(pthread_join(id[r], NULL), 0);
}

static void tear_down(team *g) {
    tn_threads_free(g->t);
    const size_t bytes = tn_ctx_bytes(g->c);
    tn_ctx *fresh = tn_ctx_new(NULL);
    assert_int_equal(bytes, tn_ctx_bytes(fresh));
    tn_ctx_free(fresh);
    tn_ctx_free(g->c);
}

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what must work ------------------------------------------------------------------------ */

/* ThreadSanitizer takes minutes for what computes what large arrays must be. */
#ifdef __SANITIZE_THREAD__
enum { LARGE = 7, LARGE_IN_ROWS = 5000 };
#else
enum { LARGE = SANITIZED ? 1000 : 20000, LARGE_IN_ROWS = SANITIZED ? 20000 : 100000 };
#endif

static int check(job *j, const tn_comm_ops *o) {
    (void)j;
    return comm_table_check(o, o->naxes > 1 ? LARGE : LARGE_IN_ROWS, stdout) + comm_table_refused(o, stdout);
}

static void check_grid(size_t naxes, const int64_t *extent) {
    team g;
    set_up(&g, naxes, extent, 120);
    run_all(&g, check);
    for (int r = 0; r < g.ranks; r++) assert_int_equal(g.j[r].wrong, 0);
    tear_down(&g);
}

static void test_rows(void **state) {
    (void)state;
    for (int64_t np = 1; np <= 4; np++) check_grid(1, &np);
}
static void test_2x2(void **state) {
    (void)state;
    check_grid(2, (const int64_t[]){2, 2});
}
static void test_2x3(void **state) {
    (void)state;
    check_grid(2, (const int64_t[]){2, 3});
}
static void test_2x1x3(void **state) {
    (void)state;
    check_grid(3, (const int64_t[]){2, 1, 3});
}

/* ---- one collective ---------------------------------------------------------------------------- */

static tn_collective sum(int64_t count) {
    return (tn_collective){
        .size = sizeof(tn_collective), .kind = TN_COMM_ALLREDUCE, .dtype = TN_F64, .count = count, .axes = 1};
}

static int start(const tn_comm_ops *o, const tn_collective *x, void **request) {
    static const double in[64];
    static _Thread_local double out[64];
    *request = NULL;
    return o->start(o->user, x, in, out, request);
}

static int do_one(const tn_comm_ops *o, const tn_collective *x) {
    void *request;
    const int status = start(o, x, &request);
    return status == TN_OK && request ? o->wait(o->user, request) : status;
}

static void all_fail(const team *g, int status, const char *const *any, size_t n) {
    for (int r = 0; r < g->ranks; r++) {
        bool found = false;
        for (size_t i = 0; i < n; i++) found = found || strcmp(g->j[r].error, any[i]) == 0;
        if (g->j[r].status != status || !found) fail_msg("rank %d: status %d: %s", r, g->j[r].status, g->j[r].error);
        assert_string_equal(g->j[r].error, g->j[0].error);
    }
}
#define ALL_FAIL(g, status, ...) \
    all_fail(g, status, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* ---- ranks that do different things ------------------------------------------------------------- */

static const int32_t ring[] = {0, 1, 1, 0}, stay[] = {0, 0, 1, 1};
static tn_collective different(int which, int rank) {
    tn_collective x = sum(10);
    const bool odd = rank == 1;
    switch (which) {
    case 0:
        if (odd) x.kind = TN_COMM_SHIFT, x.by = 1, x.count = 4;
        break;
    case 1:
        if (odd) x.op = TN_COMM_MAX;
        break;
    case 2:
        if (odd) x.dtype = TN_I64;
        break;
    case 3:
        if (odd) x.count = 11;
        break;
    case 4:
        x.kind = TN_COMM_BCAST;
        x.root = odd;
        break;
    case 5:
        x.kind = TN_COMM_SHIFT;
        x.by = 1;
        x.wrap = odd;
        break;
    case 6:
        x.kind = TN_COMM_SCAN;
        x.exclusive = odd;
        break;
    case 7:
        x.kind = TN_COMM_PERMUTE;
        x.npairs = 2;
        x.pairs = odd ? ring : stay;
        break;
    case 8:
        if (odd) x.ordered = true;
        break;
    default:
        if (odd) x.kind = TN_COMM_BARRIER;
        break;
    }
    return x;
}

static int which_difference; /* set while no ranks run */
static int begin_different(job *j, const tn_comm_ops *o) {
    const tn_collective same = sum(3), x = different(which_difference, j->rank);
    if (do_one(o, &same) != TN_OK) return 1;
    j->status = do_one(o, &x);
    return do_one(o, &same) != j->status; /* nobody goes on */
}

static void test_mismatches(void **state) {
    (void)state;
    static const char *const said[][2] = {{"psum f64[10]", "shift f64[4] by=1"},
                                          {"psum f64[10]", "pmax f64[10]"},
                                          {"psum f64[10]", "psum i64[10]"},
                                          {"psum f64[10]", "psum f64[11]"},
                                          {"pick f64[10] root=0", "pick f64[10] root=1"},
                                          {"shift f64[10] by=1", "shift f64[10] by=1 wrap"},
                                          {"pscan f64[10]", "pscan f64[10] exclusive"},
                                          {"ppermute f64[10] of 2 pairs", "ppermute f64[10] of 2 pairs"},
                                          {"psum f64[10]", "psum f64[10] ordered"},
                                          {"psum f64[10]", "barrier"}};
    for (which_difference = 0; which_difference < 10; which_difference++) {
        const char *const a = said[which_difference][0], *const b = said[which_difference][1];
        const char *const why = which_difference == 7 ? ": the pairs differ" : "";
        char one[256], other[256];
        (void)snprintf(
            one, sizeof one,
            "rank 0 begins %s over r (communication 2), where rank 1 has begun %s over r (communication 2)%s", a, b,
            why);
        (void)snprintf(
            other, sizeof other,
            "rank 1 begins %s over r (communication 2), where rank 0 has begun %s over r (communication 2)%s", b, a,
            why);
        team g;
        set_up(&g, 1, (const int64_t[]){2}, 60);
        const double t = now();
        run_all(&g, begin_different);
        assert_true(now() - t < 30);
        ALL_FAIL(&g, TN_EINVAL, one, other);
        for (int r = 0; r < 2; r++) assert_int_equal(g.j[r].wrong, 0);
        tear_down(&g);
    }
}

/* Rows on rank 0, columns elsewhere: no meeting is wrong, but nobody can go on. */
static int cross(job *j, const tn_comm_ops *o) {
    tn_collective x = sum(10);
    x.axes = j->rank == 0 ? 1 : j->rank == 1 ? 2 : 3;
    j->status = do_one(o, &x);
    return 0;
}

static void test_axes_differ(void **state) {
    (void)state;
    team g;
    set_up(&g, 2, (const int64_t[]){2, 2}, 60);
    const double t = now();
    run_all(&g, cross);
    assert_true(now() - t < 30);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(g.j[r].status, TN_EINVAL);
        assert_string_equal(g.j[r].error, g.j[0].error);
        assert_non_null(strstr(g.j[r].error, " waits in psum f64[10] over "));
        assert_non_null(strstr(g.j[r].error, ", which waits in psum f64[10] over "));
    }
    tear_down(&g);
}

/* Two that wait in each other's order. */
static int swapped(job *j, const tn_comm_ops *o) {
    tn_collective x = sum(10), y = sum(4);
    (j->rank ? &x : &y)->axes = 3;
    j->status = do_one(o, &x);
    if (j->status == TN_OK) j->status = do_one(o, &y);
    return 0;
}

static void test_order_differs(void **state) {
    (void)state;
    team g;
    set_up(&g, 2, (const int64_t[]){2, 1}, 60);
    run_all(&g, swapped);
    ALL_FAIL(&g, TN_EINVAL,
             "rank 0 waits in psum f64[10] over r (communication 1) for rank 1, which waits in psum f64[10] over (r,c) "
             "(communication 1)",
             "rank 1 waits in psum f64[10] over (r,c) (communication 1) for rank 0, which waits in psum f64[10] over r "
             "(communication 1)");
    tear_down(&g);
}

/* ---- ranks that do not come -------------------------------------------------------------------------- */

static atomic_int failed_ranks;

static int late(job *j, const tn_comm_ops *o) {
    const tn_collective first = {.size = sizeof first,
                                 .kind = TN_COMM_SHIFT,
                                 .by = 1,
                                 .dtype = TN_F64,
                                 .count = 4,
                                 .axes = 1},
                        x = sum(10);
    if (do_one(o, &first) != TN_OK) return 1;
    if (j->rank == 0) /* is busy until the others have given up, and is told then */
        while (atomic_load(&failed_ranks) < 2) (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    j->status = do_one(o, &x);
    atomic_fetch_add(&failed_ranks, 1);
    return 0;
}

static void test_time_limit(void **state) {
    (void)state;
    team g;
    set_up(&g, 1, (const int64_t[]){3}, 1.5); /* threads begin one after the other */
    atomic_store(&failed_ranks, 0);
    const double t = now();
    run_all(&g, late);
    assert_true(now() - t >= 1.4);
    static const char one[] = "rank 1 has waited 1.5 s in psum f64[10] over r (communication 2) for rank 0, which has "
                              "begun no other since shift f64[4] by=1 over r (communication 1)",
                      other[] = "rank 2 has waited 1.5 s in psum f64[10] over r (communication 2) for rank 0, which "
                                "has begun no other since shift f64[4] by=1 over r (communication 1)",
                      two[] = "rank 1 has waited 1.5 s in psum f64[10] over r (communication 2) for rank 0 (and 1 "
                              "other), which has begun no other since shift f64[4] by=1 over r (communication 1)",
                      three[] = "rank 2 has waited 1.5 s in psum f64[10] over r (communication 2) for rank 0 (and 1 "
                                "other), which has begun no other since shift f64[4] by=1 over r (communication 1)";
    ALL_FAIL(&g, TN_EIO, one, other, two, three);
    tear_down(&g);
}

static int leave_early(job *j, const tn_comm_ops *o) {
    const tn_collective x = sum(10);
    if (j->rank == 2) {
        tn_threads_leave(j->t, 2);
        j->status = do_one(o, &x);
        return 0;
    }
    j->status = do_one(o, &x);
    return 0;
}

static void test_leaving(void **state) {
    (void)state;
    team g;
    set_up(&g, 1, (const int64_t[]){3}, 60);
    const double t = now();
    run_all(&g, leave_early);
    assert_true(now() - t < 30);
    assert_int_equal(g.j[2].status, TN_EINVAL);
    assert_string_equal(g.j[2].error, "rank 2 has left (tn_threads_leave)");
    for (int r = 0; r < 2; r++) {
        assert_int_equal(g.j[r].status, TN_EIO);
        assert_non_null(strstr(g.j[r].error, " waits in psum f64[10] over r (communication 1) for rank "));
        assert_string_equal(g.j[r].error, g.j[0].error);
    }
    tear_down(&g);
}

static atomic_int begun; /* rank 0 has begun what nobody else does */

/* A rank leaves with a collective that is under way: one that all have begun is seen through, another one fails. */
static int leave_open(job *j, const tn_comm_ops *o) {
    static double in[50000], out[3][50000];
    tn_collective large = sum(50000), x = sum(10);
    void *a = NULL, *b = NULL;
    if (o->start(o->user, &large, in, out[j->rank], &a) != TN_OK) return 1;
    const tn_collective barrier = {.size = sizeof barrier, .kind = TN_COMM_BARRIER, .axes = 1};
    if (do_one(o, &barrier) != TN_OK) return 1;
    if (j->rank == 0) {
        const int status = start(o, &x, &b);
        atomic_store(&begun, 1);
        return status != TN_OK; /* and leaves */
    }
    while (!atomic_load(&begun)) (void)sched_yield(); /* before one that has left makes it fail */
    if (!a || o->wait(o->user, a) != TN_OK) return 1;
    if (j->rank == 1) j->status = do_one(o, &x);
    return 0;
}

static void test_leaving_open(void **state) {
    (void)state;
    team g;
    set_up(&g, 1, (const int64_t[]){3}, 60);
    atomic_store(&begun, 0);
    run_all(&g, leave_open);
    for (int r = 0; r < 3; r++) assert_int_equal(g.j[r].wrong, 0);
    assert_int_equal(g.j[1].status, TN_EIO);
    tear_down(&g);
}

static int wait_for_nobody(job *j, const tn_comm_ops *o) {
    const tn_collective x = sum(10);
    if (j->rank == 1) return 0;
    j->status = do_one(o, &x);
    return 0;
}

static void *wait_alone(void *arg) {
    job *j = arg;
    const tn_comm_ops *o = tn_threads_rank(j->t, j->rank);
    const tn_collective x = sum(10);
    void *request;
    j->status = start(o, &x, &request);
    atomic_fetch_add(&failed_ranks, 1);
    if (j->status == TN_OK) j->status = o->wait(o->user, request);
    return NULL;
}

static void test_freeing(void **state) {
    (void)state;
    team g;
    pthread_t id;
    set_up(&g, 1, (const int64_t[]){2}, HUGE_VAL);
    run_all(&g, wait_for_nobody);
    assert_int_equal(g.j[0].status, TN_EIO);
    tn_threads_free(g.t);
    g.t = tn_threads_comm(g.c, &(tn_grid){1, (const char *const[]){"w"}, (const int64_t[]){2}}, HUGE_VAL);
    assert_non_null(g.t);
    g.j[0] = (job){.t = g.t};
    atomic_store(&failed_ranks, 0);
    assert_int_equal(pthread_create(&id, NULL, wait_alone, &g.j[0]), 0);
    while (!atomic_load(&failed_ranks)) (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); /* most often it is in `wait` then */
    tn_threads_free(g.t);
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(g.j[0].status, TN_EIO);
    tn_ctx_free(g.c);
}

/* ---- misuse ------------------------------------------------------------------------------------------- */

static int wait_twice(job *j, const tn_comm_ops *o) {
    static double in[50000], out[2][50000];
    const tn_collective large = sum(50000);
    void *a = NULL;
    int wrong = o->start(o->user, &large, in, out[j->rank], &a) != TN_OK || !a || o->wait(o->user, a) != TN_OK;
    j->status = o->wait(o->user, a);
    return wrong;
}

static void test_requests(void **state) {
    (void)state;
    team g;
    set_up(&g, 1, (const int64_t[]){2}, 60);
    run_all(&g, wait_twice);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(g.j[r].wrong, 0);
        assert_int_equal(g.j[r].status, TN_EINVAL);
        assert_non_null(strstr(g.j[r].error, "waits for a request that it has not, or no longer"));
    }
    tear_down(&g);
}

static void test_busy(void **state) {
    (void)state;
    team g;
    pthread_t id;
    const tn_collective x = sum(10);
    set_up(&g, 1, (const int64_t[]){2}, HUGE_VAL);
    g.j[0] = (job){.t = g.t};
    atomic_store(&failed_ranks, 0);
    assert_int_equal(pthread_create(&id, NULL, wait_alone, &g.j[0]), 0);
    while (!atomic_load(&failed_ranks)) (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    const tn_comm_ops *zero = tn_threads_rank(g.t, 0), *one = tn_threads_rank(g.t, 1);
    int status = TN_OK;
    for (int i = 0; i < 1000 && status != TN_EBUSY; i++) { /* once the thread is in `wait`, it stays there */
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        status = zero->wait(zero->user, NULL);
    }
    assert_int_equal(status, TN_EBUSY);
    assert_string_equal(zero->error(zero->user), "the table of a rank is used by two threads at once");
    assert_int_equal(do_one(one, &x), TN_OK);
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(g.j[0].status, TN_OK);
    tear_down(&g);
}

static void refuse(tn_ctx *c, const tn_grid *grid, double seconds, int status, const char *why) {
    assert_null(tn_threads_comm(c, grid, seconds));
    assert_int_equal(tn_last_status(c), status);
    assert_string_equal(tn_error(c), why);
}

static void test_arguments(void **state) {
    (void)state;
    static const char *const name[] = {"w", "w"};
    static const int64_t extent[] = {2, 2}, many[] = {4097};
    tn_ctx *c = tn_ctx_new(NULL);
    refuse(c, NULL, 0, TN_EINVAL, "tn_threads_comm: the grid is NULL");
    refuse(c, &(tn_grid){0}, 0, TN_EINVAL, "tn_threads_comm: the grid has no axes");
    refuse(c, &(tn_grid){2, name, extent}, 0, TN_EINVAL, "tn_threads_comm: two axes have one name");
    refuse(c, &(tn_grid){1, name, extent}, -1, TN_EINVAL, "tn_threads_comm: the time limit is negative or no number");
    refuse(c, &(tn_grid){1, name, extent}, (double)NAN, TN_EINVAL,
           "tn_threads_comm: the time limit is negative or no number");
    refuse(c, &(tn_grid){1, name, many}, 0, TN_ELIMIT, "tn_threads_comm: the grid has 4097 ranks, more than 4096");
    assert_null(tn_threads_comm(NULL, &(tn_grid){1, name, extent}, 0));
    tn_threads *t = tn_threads_comm(c, &(tn_grid){1, name, extent}, 0),
               *u = tn_threads_comm(c, &(tn_grid){1, name, extent}, 0);
    assert_non_null(t);
    assert_non_null(u);
    assert_null(tn_threads_rank(t, 2));
    assert_null(tn_threads_rank(t, -1));
    assert_null(tn_threads_rank(NULL, 0));
    assert_int_equal(tn_threads_rank(t, 1)->index[0], 1);
    tn_threads_leave(NULL, 0);
    tn_threads_leave(t, 7);
    tn_threads_free(NULL);
    tn_ctx_free(c); /* and t, and u */
}

/* ---- the check finds what is wrong ---------------------------------------------------------------------- */

/* Another rank's order of joining; waits that return at once. */
typedef struct mutant {
    const tn_comm_ops *real;
    int which;
} mutant;

static int broken_start(void *user, const tn_collective *given, const void *in, void *out, void **request) {
    const mutant *m = user;
    tn_collective x = *given;
    if (m->which == 0 && x.kind == TN_COMM_BCAST) x.root = 0;
    if (m->which == 1 && x.kind == TN_COMM_SCAN) x.reverse = !x.reverse;
    if (m->which == 2 && x.kind == TN_COMM_SHIFT) x.by = x.by == INT32_MIN ? 0 : -x.by;
    return m->real->start(m->real->user, &x, in, out, request);
}
static int broken_wait(void *user, void *request) {
    const mutant *m = user;
    return m->real->wait(m->real->user, request);
}
static const char *broken_error(void *user) {
    const mutant *m = user;
    return m->real->error(m->real->user);
}

static int which_mutant; /* set while no ranks run */
static int check_mutant(job *j, const tn_comm_ops *o) {
    mutant m = {.real = o, .which = which_mutant};
    tn_comm_ops t = *o;
    t.user = &m;
    t.start = broken_start;
    t.wait = broken_wait;
    t.progress = NULL;
    t.error = broken_error;
    j->status = comm_table_check(&t, 7, NULL);
    return 0;
}

static void test_mutants(void **state) {
    (void)state;
    for (which_mutant = 0; which_mutant < 3; which_mutant++) {
        team g;
        int found = 0;
        set_up(&g, 1, (const int64_t[]){3}, 60);
        run_all(&g, check_mutant);
        for (int r = 0; r < g.ranks; r++) found += g.j[r].status;
        assert_true(found > 0);
        tear_down(&g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_2x2),        cmocka_unit_test(test_2x3),
        cmocka_unit_test(test_2x1x3),         cmocka_unit_test(test_mismatches), cmocka_unit_test(test_axes_differ),
        cmocka_unit_test(test_order_differs), cmocka_unit_test(test_time_limit), cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_leaving_open),  cmocka_unit_test(test_freeing),    cmocka_unit_test(test_requests),
        cmocka_unit_test(test_busy),          cmocka_unit_test(test_arguments),  cmocka_unit_test(test_mutants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
