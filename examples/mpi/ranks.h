/* What the examples of many ranks share: who the ranks are.
 *
 *     mpirun -np 4 PROGRAM ..     processes, by MPI (where the program was built with TANSY_MPI)
 *     PROGRAM --threads 4 ..      threads of one process
 *     PROGRAM ..                  one rank
 */
#ifndef RANKS_H
#define RANKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tansy/comm.h>
#ifdef TANSY_MPI
#include <tansy/mpi.h>
#endif

enum { RANKS_MOST = 64 };

/* One rank. */
typedef struct rank {
    int number, of;
    tn_grid grid;
    tn_comm_ops table;       /* counts what is begun, and has `real` do it */
    const tn_comm_ops *real; /* MPI's, or threads' */
    long messages;           /* begun so far */
    tn_threads *threads;     /* NULL with MPI */
    int (*work)(struct rank *, int, char **);
    int argc;
    char **argv;
    int status;
} rank;

/* ---- a table that counts ----------------------------------------------------------- */

static inline int ranks_start(void *user, const tn_collective *x, const void *in, void *out, void **request) {
    rank *r = user;
    r->messages++;
    return r->real->start(r->real->user, x, in, out, request);
}
static inline int ranks_wait(void *user, void *request) {
    const rank *r = user;
    return r->real->wait(r->real->user, request);
}
static inline void ranks_progress(void *user) {
    const rank *r = user;
    if (r->real->progress) r->real->progress(r->real->user);
}
static inline const char *ranks_error(void *user) {
    const rank *r = user;
    return r->real->error(r->real->user);
}

static inline void ranks_count(rank *r, const tn_comm_ops *real) {
    r->real = real;
    r->table = *real;
    r->table.user = r;
    r->table.start = ranks_start;
    r->table.wait = ranks_wait;
    r->table.progress = ranks_progress;
    r->table.error = ranks_error;
}

/* ---- contexts and programs ----------------------------------------------------------- */

/* A context of the grid that all ranks are; alone: of a grid of this rank alone, for the same program without others.
 */
static inline tn_ctx *ranks_context(const rank *r, bool alone) {
    static const int64_t one[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const tn_grid grid = {r->grid.naxes, r->grid.name, alone ? one : r->grid.extent};
    return tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .grid = grid});
}

/* f, in a context of all ranks. */
static inline tn_exec *ranks_compile(const rank *r, const tn_fn *f, const int *alias) {
    return tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .comm = &r->table, .alias = alias});
}

/* ---- beginning --------------------------------------------------------------------------- */

static inline void *ranks_thread(void *user) {
    rank *r = user;
    r->status = r->work(r, r->argc, r->argv);
    tn_threads_leave(r->threads, r->number);
    return NULL;
}

/* n = rows * columns (* 1 ..), as square as can be, more rows. */
static inline void ranks_extents(int n, size_t naxes, int64_t *extent) {
    int64_t columns = 1;
    for (size_t a = 0; a < naxes; a++) extent[a] = 1;
    for (int64_t k = 1; naxes > 1 && k * k <= n; k++)
        if (n % k == 0) columns = k;
    extent[0] = n / columns;
    if (naxes > 1) extent[1] = columns;
}

static inline int ranks_as_threads(rank first, int n) {
    static rank r[RANKS_MOST];
    pthread_t thread[RANKS_MOST];
    int64_t extent[8];
    int status = 0, running = 1;
    ranks_extents(n, first.grid.naxes, extent);
    first.grid.extent = extent;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_threads *t = c ? tn_threads_comm(c, &first.grid, 120) : NULL;
    if (!t) {
        fprintf(stderr, "%s\n", c ? tn_error(c) : "out of memory");
        tn_ctx_free(c);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        r[i] = first;
        r[i].number = i, r[i].of = n, r[i].threads = t;
        ranks_count(&r[i], tn_threads_rank(t, i));
    }
    while (running < n && !pthread_create(&thread[running], NULL, ranks_thread, &r[running])) running++;
    for (int i = running; i < n; i++) tn_threads_leave(t, i); /* no thread: the others are told */
    ranks_thread(&r[0]);
    for (int i = 1; i < running; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < n; i++) status |= i < running ? r[i].status : 1;
    tn_ctx_free(c); /* and the tables */
    return status;
}

#ifdef TANSY_MPI
static inline int ranks_as_processes(rank r) {
    tn_mpi *m = tn_mpi_world(&r.grid); /* without extents: as square as can be */
    if (tn_mpi_status(m) != TN_OK) {
        fprintf(stderr, "%s\n", tn_mpi_error(m));
        tn_mpi_free(m);
        return 1;
    }
    r.grid = tn_mpi_grid(m);
    r.number = tn_mpi_rank(m), r.of = 1;
    for (size_t a = 0; a < r.grid.naxes; a++) r.of *= (int)r.grid.extent[a];
    ranks_count(&r, tn_mpi_ops(m));
    const int status = r.work(&r, r.argc, r.argv);
    tn_mpi_free(m);
    return status;
}
#endif

/* Runs work on every rank of a grid of these axes, with the arguments behind --threads N; returns what main returns. */
static inline int ranks_main(int argc, char **argv, size_t naxes, const char *const *name,
                             int (*work)(rank *, int, char **)) {
    const bool threads = argc > 2 && strcmp(argv[1], "--threads") == 0;
    const long n = threads ? strtol(argv[2], NULL, 10) : 1;
    rank r = {.grid = {naxes, name, NULL}, .work = work, .argc = argc - 1, .argv = argv + 1};
    if (n < 1 || n > RANKS_MOST) {
        fprintf(stderr, "--threads: 1 to %d\n", RANKS_MOST);
        return 2;
    }
    if (threads) r.argc -= 2, r.argv += 2;
#ifdef TANSY_MPI
    if (!threads) return ranks_as_processes(r);
#endif
    return ranks_as_threads(r, (int)n);
}

#endif
