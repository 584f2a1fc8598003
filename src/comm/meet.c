/* Ranks meet: how a collective begins, is moved and waited for. */
#include "comm/threads.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Bytes in all operands or results up to which who comes last moves all: less than what waking others takes. */
enum { SMALL = 64 << 10 };

int64_t tn_i_member_rank(const tn_threads *t, uint32_t axes, int64_t first, int64_t k) {
    int64_t rank = first, stride = 1;
    for (int a = t->naxes; a-- > 0; stride *= t->extent[a])
        if (axes >> a & 1) {
            rank += k % t->extent[a] * stride;
            k /= t->extent[a];
        }
    return rank;
}

static int64_t first_rank(const tn_i_thread_rank *r, uint32_t axes) {
    int64_t rank = 0;
    for (int a = 0; a < r->all->naxes; a++) rank = rank * r->all->extent[a] + (axes >> a & 1 ? 0 : r->index[a]);
    return rank;
}

static int told(tn_i_thread_rank *r) {
    memcpy(r->why, r->all->why, sizeof r->why);
    return r->all->failed;
}

/* ---- pieces -------------------------------------------------------------------------------- */

static bool done(const tn_i_meeting *m) { return atomic_load(&m->finished) == m->ranks; }
static bool to_do(const tn_i_meeting *m) { return atomic_load(&m->ready) && atomic_load(&m->claimed) < m->ranks; }

/* Sleepers say that they are before they look; who has changed something looks for them afterwards. */
static void wake(tn_threads *t) {
    if (!atomic_load(&t->sleepers)) return;
    (void)pthread_mutex_lock(&t->lock);
    (void)pthread_cond_broadcast(&t->changed);
    (void)pthread_mutex_unlock(&t->lock);
}

static void finish_pieces(tn_threads *t, tn_i_meeting *m, int64_t n) {
    if (atomic_fetch_add(&m->finished, n) + n == m->ranks) wake(t);
}

static void help(tn_threads *t, tn_i_meeting *m) {
    while (to_do(m)) {
        const int64_t k = atomic_fetch_add(&m->claimed, 1);
        if (k >= m->ranks) return;
        tn_i_meeting_piece(m, k);
        finish_pieces(t, m, 1);
    }
}

static bool small(const tn_i_meeting *m) {
    const int64_t ranks = m->ranks, in = tn_i_operand_count(&m->x, ranks), out = tn_i_result_count(&m->x, ranks);
    const size_t most = (size_t)(in > out ? in : out);
    return !most || most <= SMALL / ((size_t)ranks * tn_i_dtype_size(m->x.dtype));
}

/* ---- beginning -------------------------------------------------------------------------------- */

static tn_i_meeting *find(tn_threads *t, uint32_t axes, int64_t first, uint64_t turn) {
    tn_i_meeting *m = t->under_way;
    while (m && (m->x.axes != axes || m->first != first || m->turn != turn)) m = m->next;
    return m;
}

/* Room for all ranks of the grid, so that any meeting can use it. */
static tn_i_meeting *make(tn_threads *t) {
    tn_i_meeting *m = tn_i_page_alloc(t->ctx, sizeof *m + (size_t)t->ranks * sizeof *m->member);
    if (!m) return NULL;
    m->made = t->made;
    t->made = m;
    return m;
}

static tn_i_meeting *open_meeting(tn_threads *t, const tn_collective *x, int64_t first, uint64_t turn, int64_t ranks) {
    tn_i_meeting *m = t->spare;
    if (m)
        t->spare = m->next;
    else if (!(m = make(t)))
        return NULL;
    m->x = *x;
    m->x.pairs = NULL;
    m->pairs = tn_i_hash(0, x->pairs, x->kind == TN_COMM_PERMUTE ? x->npairs * 2 * sizeof *x->pairs : 0);
    m->first = first;
    m->turn = turn;
    m->ranks = ranks;
    m->here = m->over = 0;
    atomic_init(&m->ready, false);
    atomic_init(&m->claimed, 0);
    atomic_init(&m->finished, 0);
    memset(m->member, 0, (size_t)ranks * sizeof *m->member);
    m->next = t->under_way;
    t->under_way = m;
    return m;
}

/* Of what its kind does not read, ranks may have anything. */
static bool equal(const tn_i_meeting *m, const tn_collective *x) {
    const tn_collective *y = &m->x;
    if (x->kind != y->kind) return false;
    if (x->kind == TN_COMM_BARRIER) return true;
    if (x->dtype != y->dtype || x->count != y->count) return false;
    switch (x->kind) {
    case TN_COMM_ALLREDUCE: return x->op == y->op && x->ordered == y->ordered;
    case TN_COMM_REDUCE_SCATTER: return x->ordered == y->ordered;
    case TN_COMM_BCAST:
    case TN_COMM_GATHER:
    case TN_COMM_SCATTER: return x->root == y->root;
    case TN_COMM_SHIFT: return x->by == y->by && x->wrap == y->wrap;
    case TN_COMM_SCAN: return x->exclusive == y->exclusive && x->reverse == y->reverse && x->ordered == y->ordered;
    case TN_COMM_PERMUTE:
        return x->npairs == y->npairs && m->pairs == tn_i_hash(0, x->pairs, x->npairs * 2 * sizeof *x->pairs);
    default: return true;
    }
}

static int64_t source_of(const tn_collective *x, int64_t me) {
    for (size_t p = 0; x->kind == TN_COMM_PERMUTE && p < x->npairs; p++)
        if (x->pairs[2 * p + 1] == me) return x->pairs[2 * p];
    return -1;
}

/* Under the lock.  The meeting in *to, which is not yet ready; a status. */
static int join(tn_i_thread_rank *r, const tn_collective *x, const tn_i_member *as, int64_t me, int64_t ranks,
                tn_i_meeting **to) {
    tn_threads *t = r->all;
    char text[TN_I_COLLECTIVE_TEXT];
    if (t->failed) return t->failed;
    r->begun++;
    const int64_t first = first_rank(r, x->axes);
    tn_i_meeting *m = find(t, x->axes, first, r->turns[x->axes]);
    if (m && !equal(m, x)) return tn_i_blame_other(r, m, x);
    if (!m && !(m = open_meeting(t, x, first, r->turns[x->axes], ranks)))
        return tn_i_blame(t, TN_ENOMEM, "rank %lld is out of memory: it cannot begin %s (communication %llu)",
                          (long long)r->number, tn_i_collective_text(&r->ops, x, text), (unsigned long long)r->begun);
    r->turns[x->axes]++;
    r->last = m->x;
    m->member[me] = *as;
    m->member[me].number = r->begun;
    m->here++;
    *to = m;
    return TN_OK;
}

static void end(tn_i_thread_rank *r, tn_i_meeting *m) {
    tn_threads *t = r->all;
    int64_t me;
    (void)tn_i_comm_ranks(&r->ops, m->x.axes, &me);
    r->open--;
    (void)pthread_mutex_lock(&t->lock);
    m->member[me].over = true;
    if (++m->over == m->ranks) {
        tn_i_meeting **at = &t->under_way;
        while (*at != m) at = &(*at)->next;
        *at = m->next;
        m->next = t->spare;
        t->spare = m;
    }
    (void)pthread_mutex_unlock(&t->lock);
}

static int meet(tn_i_thread_rank *r, const tn_collective *x, const tn_i_member *as, int64_t me, int64_t ranks,
                void **request) {
    tn_threads *t = r->all;
    tn_i_meeting *m = NULL;
    (void)pthread_mutex_lock(&t->lock);
    const int status = join(r, x, as, me, ranks, &m);
    const bool last = status == TN_OK && m->here == ranks, all = last && small(m);
    if (all) atomic_store(&m->claimed, ranks);
    if (last) atomic_store(&m->ready, true);
    if (status != TN_OK) (void)told(r);
    (void)pthread_mutex_unlock(&t->lock);
    if (status != TN_OK) return status;
    r->open++;
    for (int64_t k = 0; all && k < ranks; k++) tn_i_meeting_piece(m, k);
    if (all) {
        finish_pieces(t, m, ranks);
        end(r, m);
        return TN_OK;
    }
    if (last) wake(t);
    *request = m;
    return TN_OK;
}

int tn_i_meet(tn_i_thread_rank *r, const tn_collective *x, const void *in, void *out, void **request) {
    tn_threads *t = r->all;
    int64_t me;
    *request = NULL;
    if (!tn_i_collective_good(&r->ops, x, in, out, r->why, sizeof r->why)) return TN_EINVAL;
    const int64_t ranks = tn_i_comm_ranks(&r->ops, x->axes, &me);
    const tn_i_member as = {.in = in, .out = out, .source = source_of(x, me)};
    if (r->left) {
        (void)snprintf(r->why, sizeof r->why, "rank %lld has left (tn_threads_leave)", (long long)r->number);
        return TN_EINVAL;
    }
    if (ranks > 1) return meet(r, x, &as, me, ranks, request);
    (void)pthread_mutex_lock(&t->lock);
    const int status = t->failed ? told(r) : TN_OK;
    if (status == TN_OK) {
        r->begun++;
        r->last = *x;
        r->last.pairs = NULL;
    }
    (void)pthread_mutex_unlock(&t->lock);
    if (status == TN_OK) tn_i_collective_alone(x, in, out);
    return status;
}

/* ---- waiting ------------------------------------------------------------------------------------- */

static void pause_once(const tn_threads *t) {
    if (t->crowded) {
        (void)sched_yield();
        return;
    }
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

static bool deadline(const tn_threads *t, struct timespec *at) {
    if (t->seconds > 1e9 || clock_gettime(CLOCK_MONOTONIC, at) != 0) return false;
    const double whole = floor(t->seconds);
    at->tv_sec += (time_t)whole;
    at->tv_nsec += (long)((t->seconds - whole) * 1e9);
    if (at->tv_nsec >= 1000000000) {
        at->tv_nsec -= 1000000000;
        at->tv_sec++;
    }
    return true;
}

/* Under the lock: whether there is no use in sleeping any longer. */
static int hopeless(tn_i_thread_rank *r, tn_i_meeting *m) {
    if (r->all->failed) return r->all->failed;
    return tn_i_blame_left(r, m);
}

static int sleep_in(tn_i_thread_rank *r, tn_i_meeting *m) {
    tn_threads *t = r->all;
    struct timespec until;
    const bool limited = deadline(t, &until);
    int status = TN_OK, late = 0;
    (void)pthread_mutex_lock(&t->lock);
    (void)atomic_fetch_add(&t->sleepers, 1);
    r->waits = m;
    if (!atomic_load(&m->ready) && !t->failed) status = tn_i_blame_circle(r, m);
    while (status == TN_OK && !done(m) && !to_do(m)) {
        const bool ready = atomic_load(&m->ready); /* others move it: it takes as long as it takes */
        if (!ready) status = hopeless(r, m);
        if (!ready && status == TN_OK && late) status = tn_i_blame_late(r, m);
        if (status != TN_OK) break;
        late = limited && !ready ? pthread_cond_timedwait(&t->changed, &t->lock, &until)
                                 : pthread_cond_wait(&t->changed, &t->lock);
    }
    r->waits = NULL;
    (void)atomic_fetch_sub(&t->sleepers, 1);
    if (status != TN_OK) (void)told(r);
    (void)pthread_mutex_unlock(&t->lock);
    return status;
}

static int finish(tn_i_thread_rank *r, tn_i_meeting *m) {
    for (int i = 0; !done(m); i++) {
        if (to_do(m)) {
            help(r->all, m);
            continue;
        }
        if (i < r->all->spins) {
            pause_once(r->all);
            continue;
        }
        const int status = sleep_in(r, m);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

/* The meeting of a request that this rank may wait for. */
static tn_i_meeting *requested(tn_i_thread_rank *r, const void *request, int64_t *me) {
    tn_threads *t = r->all;
    (void)pthread_mutex_lock(&t->lock);
    tn_i_meeting *m = t->under_way;
    while (m && m != request) m = m->next;
    if (m) {
        (void)tn_i_comm_ranks(&r->ops, m->x.axes, me);
        const bool mine = m->first == first_rank(r, m->x.axes) && m->member[*me].number && !m->member[*me].over;
        if (!mine) m = NULL;
    }
    (void)pthread_mutex_unlock(&t->lock);
    return m;
}

int tn_i_meeting_wait(tn_i_thread_rank *r, void *request) {
    int64_t me;
    tn_i_meeting *m = requested(r, request, &me);
    if (!m) {
        (void)snprintf(r->why, sizeof r->why, "rank %lld waits for a request that it has not, or no longer",
                       (long long)r->number);
        return TN_EINVAL;
    }
    const int status = finish(r, m);
    if (status == TN_OK) end(r, m);
    return status;
}

/* ---- others' sake ----------------------------------------------------------------------------------- */

/* Under the lock: one of r's meetings in which something is to be done; it stays, as it is not over for r. */
static tn_i_meeting *needy(tn_i_thread_rank *r) {
    for (tn_i_meeting *m = r->all->under_way; m; m = m->next) {
        int64_t me;
        (void)tn_i_comm_ranks(&r->ops, m->x.axes, &me);
        const bool mine = m->first == first_rank(r, m->x.axes) && m->member[me].number && !m->member[me].over;
        if (mine && to_do(m)) return m;
    }
    return NULL;
}

void tn_i_meeting_progress(tn_i_thread_rank *r) {
    while (r->open) {
        (void)pthread_mutex_lock(&r->all->lock);
        tn_i_meeting *m = needy(r);
        (void)pthread_mutex_unlock(&r->all->lock);
        if (!m) return;
        help(r->all, m);
    }
}

/* What is ready is seen through, because others read r's arrays; what is not, never will be. */
void tn_i_meeting_leave(tn_i_thread_rank *r) {
    tn_threads *t = r->all;
    char text[TN_I_COLLECTIVE_TEXT];
    (void)pthread_mutex_lock(&t->lock);
    for (tn_i_meeting *m = t->under_way, *next; m; m = next) {
        int64_t me;
        (void)tn_i_comm_ranks(&r->ops, m->x.axes, &me);
        next = m->next;
        if (m->first != first_rank(r, m->x.axes) || !m->member[me].number || m->member[me].over) continue;
        if (!atomic_load(&m->ready)) {
            (void)tn_i_blame(t, TN_EIO, "rank %lld has left before %s (communication %llu) was done",
                             (long long)r->number, tn_i_collective_text(&r->ops, &m->x, text),
                             (unsigned long long)m->member[me].number);
            continue;
        }
        (void)pthread_mutex_unlock(&t->lock);
        (void)finish(r, m);
        end(r, m);
        (void)pthread_mutex_lock(&t->lock);
        next = t->under_way;
    }
    r->left = true;
    (void)pthread_cond_broadcast(&t->changed);
    (void)pthread_mutex_unlock(&t->lock);
}
