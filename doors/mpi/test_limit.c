/* With a time limit nothing changes where all ranks come in time; where one does not, the others say so, and where it
 * is. */
#define _POSIX_C_SOURCE 200809L
#include "test_ranks.h"

#include "comm_table.h"

#include <math.h>
#include <time.h>

static void sleep_for(double seconds) {
    const struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&t, NULL);
}

static void same_results(void) {
    const int64_t n = world_size;
    tn_mpi *m = grid_of(1, &n);
    CHECK(tn_mpi_limit(m, 60) == TN_OK);
    CHECK(comm_table_check(tn_mpi_ops(m), 5000, stderr) == 0);
    CHECK(tn_mpi_limit(m, 0) == TN_OK);
    CHECK(comm_table_check(tn_mpi_ops(m), 5000, stderr) == 0);
    tn_mpi_free(m);
    ranks_passed("a limit that nobody meets");
}

static void refused(void) {
    const int64_t n = world_size;
    tn_mpi *m = grid_of(1, &n);
    CHECK(tn_mpi_limit(NULL, 1) == TN_EINVAL);
    CHECK(tn_mpi_limit(m, -1) == TN_EINVAL);
    CHECK_SAYS(tn_mpi_error(m), "-1 seconds are no limit");
    CHECK(tn_mpi_limit(m, (double)NAN) == TN_EINVAL);
    if (world_size > 1) {
        CHECK(tn_mpi_limit(m, 1 + world_rank) == TN_EINVAL);
        CHECK_SAYS(tn_mpi_error(m), "different limits, from 1 to ");
    }
    tn_mpi_free(m);
    ranks_passed("limits that are none");
}

/* The last rank is late.  What was begun goes on meanwhile, and is waited for again. */
static void one_is_late(int kind) {
    const int64_t n = world_size;
    tn_mpi *m = grid_of(1, &n);
    const tn_comm_ops *t = tn_mpi_ops(m);
    const int last = world_size - 1;
    double mine = 1, got = 0, at_first = 0;
    void *r = NULL;
    tn_collective first = {.size = sizeof first, .kind = TN_COMM_ALLREDUCE, .dtype = TN_F64, .count = 1, .axes = 1};
    tn_collective x = first;
    x.kind = kind;
    x.by = 1;
    x.wrap = true;
    CHECK(tn_mpi_limit(m, 0.4) == TN_OK);
    CHECK(t->start(t->user, &first, &mine, &at_first, &r) == TN_OK);
    CHECK(!r || t->wait(t->user, r) == TN_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == last) sleep_for(1.5);
    int status = t->start(t->user, &x, &mine, &got, &r);
    if (status == TN_OK && r) status = t->wait(t->user, r);
    const bool needs = kind != TN_COMM_SHIFT || world_rank == 0; /* its message comes from the last */
    if (world_rank != last && world_size > 1 && needs) {
        char says[96];
        CHECK(status == TN_EIO);
        CHECK_SAYS(tn_mpi_error(m), "has waited 0.4 s in ");
        CHECK_SAYS(tn_mpi_error(m), "(communication 2)");
        (void)snprintf(says, sizeof says, "rank %d has begun none since allreduce [1] (communication 1)", last);
        if (!strstr(tn_mpi_error(m), "is not known")) CHECK_SAYS(tn_mpi_error(m), says); /* MPICH reads with its help */
    }
    CHECK(tn_mpi_limit(m, 30) == TN_OK); /* here all meet */
    if (status) status = t->wait(t->user, r);
    CHECK(status == TN_OK);
    CHECK(got == (kind == TN_COMM_ALLREDUCE ? world_size : 1));
    MPI_Barrier(MPI_COMM_WORLD);
    tn_mpi_free(m);
    ranks_passed("a rank that is late");
}

int main(void) {
    ranks_begin(MPI_THREAD_SINGLE);
    same_results();
    refused();
    one_is_late(TN_COMM_ALLREDUCE);
    one_is_late(TN_COMM_SHIFT);
    ranks_end();
    return 0;
}
