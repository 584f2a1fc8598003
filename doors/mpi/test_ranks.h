/* Tests that many ranks run together (run.sh).  What is wrong on one of them ends them all, with its file and line. */
#ifndef TEST_RANKS_H
#define TEST_RANKS_H

#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int world_size, world_rank, tests_passed;

static inline void ranks_begin(int level) {
    int provided, begun;
    MPI_Initialized(&begun);
    if (!begun) MPI_Init_thread(NULL, NULL, level, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
}

static inline void wrong_here(const char *file, int line, const char *what, const char *more) {
    fprintf(stderr, "FAIL: rank %d of %d: %s:%d: %s %s\n", world_rank, world_size, file, line, what, more);
    (void)fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define CHECK(x)               ((x) ? (void)0 : wrong_here(__FILE__, __LINE__, #x, ""))
#define CHECK_SAYS(text, part) (strstr(text, part) ? (void)0 : wrong_here(__FILE__, __LINE__, "says:", text))

/* All ranks have come to the end of a test. */
static inline void ranks_passed(const char *name) {
    MPI_Barrier(MPI_COMM_WORLD);
    tests_passed++;
    if (world_rank == 0) printf("ok: %s, %d ranks\n", name, world_size);
    (void)fflush(stdout);
}

static inline void ranks_end(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) printf("%d passed, 0 failed\n", tests_passed);
    MPI_Finalize();
}

/* A grid of these extents, which has to be possible. */
static inline tn_mpi *grid_of(size_t naxes, const int64_t *extent) {
    static const char *const names[] = {"r", "c", "w"};
    tn_mpi *m = tn_mpi_new(MPI_COMM_WORLD, &(tn_grid){naxes, names, extent});
    CHECK(m);
    if (tn_mpi_status(m)) wrong_here(__FILE__, __LINE__, "tn_mpi_new:", tn_mpi_error(m));
    return m;
}

#endif
