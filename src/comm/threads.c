/* Ranks that are threads: their tables, from tn_threads_comm to tn_threads_free. */
#include "comm/threads.h"

#include "base/axes.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Looks at what others do before a rank sleeps: some microseconds.  With more ranks than processors each of them lets
 * others run. */
enum { SPINS = 2000, YIELDS = 30 };

/* ---- what a table does ------------------------------------------------------------------ */

static bool enter(tn_i_thread_rank *r) {
    (void)atomic_fetch_add(&r->all->inside, 1);
    if (!atomic_flag_test_and_set(&r->busy)) return true;
    atomic_store(&r->said, "the table of a rank is used by two threads at once");
    (void)atomic_fetch_sub(&r->all->inside, 1);
    return false;
}

static int leave(tn_i_thread_rank *r, int status) {
    if (status != TN_OK) atomic_store(&r->said, r->why);
    atomic_flag_clear(&r->busy);
    (void)atomic_fetch_sub(&r->all->inside, 1);
    return status;
}

static int threads_start(void *user, const tn_collective *x, const void *in, void *out, void **request) {
    tn_i_thread_rank *r = user;
    return enter(r) ? leave(r, tn_i_meet(r, x, in, out, request)) : TN_EBUSY;
}

static int threads_wait(void *user, void *request) {
    tn_i_thread_rank *r = user;
    return enter(r) ? leave(r, tn_i_meeting_wait(r, request)) : TN_EBUSY;
}

static void threads_progress(void *user) {
    tn_i_thread_rank *r = user;
    if (!enter(r)) return;
    tn_i_meeting_progress(r);
    (void)leave(r, TN_OK);
}

static const char *threads_error(void *user) { return atomic_load(&((tn_i_thread_rank *)user)->said); }

/* ---- what there is ------------------------------------------------------------------------ */

static size_t bytes_of(int64_t ranks) { return sizeof(tn_threads) + (size_t)ranks * sizeof(tn_i_thread_rank); }
static size_t turns_of(const tn_threads *t) { return (size_t)t->ranks << t->naxes; }

static void destroy(tn_threads *t) {
    for (tn_i_meeting *m = t->made, *next; m; m = next) {
        next = m->made;
        tn_i_page_free(t->ctx, m, sizeof *m + (size_t)t->ranks * sizeof *m->member);
    }
    tn_i_free(t->ctx, t->path, (size_t)t->ranks * sizeof(tn_i_thread_rank *));
    tn_i_free(t->ctx, t->turns, turns_of(t) * sizeof *t->turns);
    tn_i_free(t->ctx, t, bytes_of(t->ranks));
}

static void set_grid(tn_threads *t, const tn_grid *grid) {
    t->naxes = (int)grid->naxes;
    for (int a = 0; a < t->naxes; a++) {
        (void)snprintf(t->names[a], sizeof t->names[a], "%s", grid->name[a]);
        t->name[a] = t->names[a];
        t->extent[a] = grid->extent[a];
    }
}

static void set_rank(tn_threads *t, int64_t number) {
    tn_i_thread_rank *r = &t->rank[number];
    r->all = t;
    r->number = number;
    r->turns = t->turns + ((size_t)number << t->naxes);
    for (int a = t->naxes; a-- > 0; number /= t->extent[a]) r->index[a] = number % t->extent[a];
    atomic_flag_clear(&r->busy);
    atomic_init(&r->said, r->why);
    r->ops = (tn_comm_ops){.size = sizeof r->ops,
                           .user = r,
                           .naxes = t->naxes,
                           .name = t->name,
                           .extent = t->extent,
                           .index = r->index,
                           .start = threads_start,
                           .wait = threads_wait,
                           .progress = threads_progress,
                           .error = threads_error};
}

/* Time limits are of a clock that nobody sets. */
static bool make_lock(tn_threads *t) {
    pthread_condattr_t attr;
    if (pthread_mutex_init(&t->lock, NULL) != 0) return false;
    bool good = pthread_condattr_init(&attr) == 0;
    if (good) {
        good = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&t->changed, &attr) == 0;
        (void)pthread_condattr_destroy(&attr);
    }
    if (!good) (void)pthread_mutex_destroy(&t->lock);
    return good;
}

/* ---- lifetime -------------------------------------------------------------------------------- */

static const char *bad_request(const tn_grid *grid, double seconds, int64_t *ranks) {
    *ranks = 1;
    if (!grid) return "the grid is NULL";
    if (!grid->naxes) return "the grid has no axes";
    const char *bad = tn_i_grid_bad(grid);
    if (bad) return bad;
    if (!(seconds >= 0)) return "the time limit is negative or no number";
    for (size_t a = 0; a < grid->naxes; a++) *ranks *= grid->extent[a];
    return NULL;
}

static tn_threads *make(tn_ctx *c, const tn_grid *grid, int64_t ranks) {
    tn_threads *t = tn_i_alloc(c, bytes_of(ranks));
    if (!t) return NULL;
    t->ctx = c;
    t->ranks = ranks;
    set_grid(t, grid);
    t->path = tn_i_alloc_array(c, (size_t)ranks, sizeof(tn_i_thread_rank *));
    t->turns = tn_i_alloc_array(c, turns_of(t), sizeof *t->turns);
    if (t->path && t->turns && make_lock(t)) return t;
    if (t->path && t->turns) (void)tn_i_fail(c, TN_ENOMEM, NULL, "tn_threads_comm: no lock can be made");
    destroy(t);
    return NULL;
}

static void free_all(tn_ctx *c) {
    while (c->threads) tn_threads_free(c->threads);
}

tn_threads *tn_threads_comm(tn_ctx *c, const tn_grid *grid, double seconds) {
    int64_t ranks;
    if (!c) return NULL;
    const char *bad = bad_request(grid, seconds, &ranks);
    if (bad) (void)tn_i_fail(c, TN_EINVAL, NULL, "tn_threads_comm: %s", bad);
    if (!bad && ranks > TN_I_THREADS_MOST)
        (void)tn_i_fail(c, TN_ELIMIT, NULL, "tn_threads_comm: the grid has %lld ranks, more than %d", (long long)ranks,
                        TN_I_THREADS_MOST);
    tn_threads *t = bad || ranks > TN_I_THREADS_MOST ? NULL : make(c, grid, ranks);
    if (!t) return NULL;
    t->seconds = seconds > 0 ? seconds : 10;
    t->crowded = ranks > sysconf(_SC_NPROCESSORS_ONLN);
    t->spins = t->crowded ? YIELDS : SPINS;
    for (int64_t r = 0; r < ranks; r++) set_rank(t, r);
    t->next = c->threads;
    if (t->next) t->next->prev = t;
    c->threads = t;
    tn_i_on_teardown(c, free_all);
    return t;
}

const tn_comm_ops *tn_threads_rank(tn_threads *t, int r) {
    return t && r >= 0 && r < t->ranks ? &t->rank[r].ops : NULL;
}

void tn_threads_leave(tn_threads *t, int r) {
    if (!t || r < 0 || r >= t->ranks || !enter(&t->rank[r])) return;
    tn_i_meeting_leave(&t->rank[r]);
    (void)leave(&t->rank[r], TN_OK);
}

/* Calls that are still inside are told, and come out soon. */
void tn_threads_free(tn_threads *t) {
    if (!t) return;
    (void)pthread_mutex_lock(&t->lock);
    (void)tn_i_blame(t, TN_EIO, "the ranks are being freed (tn_threads_free)");
    (void)pthread_mutex_unlock(&t->lock);
    while (atomic_load(&t->inside)) (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    (void)pthread_cond_destroy(&t->changed);
    (void)pthread_mutex_destroy(&t->lock);
    *(t->prev ? &t->prev->next : &t->ctx->threads) = t->next;
    if (t->next) t->next->prev = t->prev;
    destroy(t);
}
