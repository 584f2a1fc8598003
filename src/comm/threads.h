/* Ranks that are threads of one process.
 *
 * The n-th collectives that ranks begin over the same axes meet in one *meeting*.  Whoever comes last makes it ready:
 * the data of all are there.  What has to be done then is cut into as many pieces as there are ranks, and whoever waits
 * (or calls `progress`) takes pieces until there are none, so that no rank depends on another one that computes; of
 * small arrays the last one does all pieces at once.  A meeting is over for a rank when it has waited for it, and is
 * used again when it is over for all.
 *
 * A lock guards who has begun what.  Pieces are moved without it: `claimed` and `finished` say which.  The first thing
 * that goes wrong (ranks that do not begin equal collectives, time that is up, a rank that leaves) is written down
 * once, and is what every rank is told that begins, or waits for what is not ready, from then on. */
#ifndef TN_THREADS_H
#define TN_THREADS_H

#include "comm/collective.h"

#include <pthread.h>

enum { TN_I_THREADS_TEXT = 1024, TN_I_THREADS_MOST = 4096 };

typedef struct tn_i_member {
    const void *in;
    void *out;
    int64_t source;  /* of what a permutation brings here; -1: none */
    uint64_t number; /* of this communication, among those of the rank; 0: it has not come */
    bool over;
} tn_i_member;

typedef struct tn_i_meeting {
    struct tn_i_meeting *next, *made; /* of those under way, or of those to be used again; of all there are */
    tn_collective x;                  /* as who came first gave it, without pairs */
    uint64_t pairs;                   /* their hash */
    int64_t first;                    /* the rank in the whole grid with which its ranks begin */
    uint64_t turn;                    /* how many of these axes each of its ranks began before */
    int64_t ranks, here, over;
    atomic_bool ready;
    atomic_int_least64_t claimed, finished; /* pieces, of `ranks` */
    tn_i_member member[];
} tn_i_meeting;

typedef struct tn_i_thread_rank {
    tn_comm_ops ops;
    tn_threads *all;
    int64_t number, index[8];
    uint64_t *turns;     /* by axes: how many this rank has begun */
    uint64_t begun;      /* collectives at all */
    tn_collective last;  /* of them, without pairs */
    tn_i_meeting *waits; /* in which it sleeps */
    int64_t open;        /* requests that it has; its own thread's */
    uint64_t looked;     /* the last search for circles that came here */
    bool left;
    atomic_flag busy;
    const char *_Atomic said;
    char why[TN_I_THREADS_TEXT];
} tn_i_thread_rank;

struct tn_threads {
    tn_ctx *ctx;
    tn_threads *next, *prev; /* of the context */
    int naxes;
    int64_t extent[8], ranks;
    const char *name[8];
    char names[8][16];
    double seconds;
    int spins;    /* before a rank that waits sleeps */
    bool crowded; /* there are more ranks than processors */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_int sleepers, inside; /* ranks that sleep; calls */
    tn_i_meeting *under_way, *spare, *made;
    tn_i_thread_rank **path; /* for searches for circles */
    uint64_t search;
    int failed; /* a tn_status: what every rank is told, and why */
    char why[TN_I_THREADS_TEXT];
    uint64_t *turns;
    tn_i_thread_rank rank[];
};

/* The rank in the whole grid of member k of a meeting over the axes that begins with `first`. */
int64_t tn_i_member_rank(const tn_threads *t, uint32_t axes, int64_t first, int64_t k);

/* Does piece k of a meeting that is ready. */
void tn_i_meeting_piece(tn_i_meeting *m, int64_t k);

/* comm/meet.c: what ranks' tables do. */
int tn_i_meet(tn_i_thread_rank *r, const tn_collective *x, const void *in, void *out, void **request);
int tn_i_meeting_wait(tn_i_thread_rank *r, void *request);
void tn_i_meeting_progress(tn_i_thread_rank *r);
void tn_i_meeting_leave(tn_i_thread_rank *r);

/* comm/blame.c, under the lock: what has gone wrong; each returns what every rank is told, the first failure. */
int tn_i_blame(tn_threads *t, int status, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* x does not fit to m, where others are. */
int tn_i_blame_other(tn_i_thread_rank *r, const tn_i_meeting *m, const tn_collective *x);
/* r's time in m is up. */
int tn_i_blame_late(tn_i_thread_rank *r, const tn_i_meeting *m);
/* A rank that m wants has left; TN_OK: none has. */
int tn_i_blame_left(tn_i_thread_rank *r, const tn_i_meeting *m);
/* r, which is going to sleep in m, waits for itself; TN_OK: it does not. */
int tn_i_blame_circle(tn_i_thread_rank *r, const tn_i_meeting *m);

#endif
