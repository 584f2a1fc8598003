/* What the user sends on the same communicator, and what is refused of a table, do not meet what the table sends; a
 * table takes requests again that it has been given back, and ends in any order beside others. */
#include "test_ranks.h"

#include <math.h>

static tn_collective sum_of(int64_t n) {
    return (tn_collective){
        .size = sizeof(tn_collective), .kind = TN_COMM_ALLREDUCE, .dtype = TN_F64, .count = n, .axes = 1};
}

static void *start(tn_mpi *m, const tn_collective *x, const void *in, void *out) {
    void *r = &r;
    const tn_comm_ops *t = tn_mpi_ops(m);
    if (t->start(t->user, x, in, out, &r) != TN_OK) wrong_here(__FILE__, __LINE__, "start:", t->error(t->user));
    return r;
}
static void wait(tn_mpi *m, void *r) {
    const tn_comm_ops *t = tn_mpi_ops(m);
    if (r && t->wait(t->user, r) != TN_OK) wrong_here(__FILE__, __LINE__, "wait:", t->error(t->user));
}

/* A message of any tag is received where the table's are under way, and so is a collective of the user's. */
static void beside_the_user(void) {
    const int64_t n = world_size;
    tn_mpi *m = grid_of(1, &n);
    const int next = (world_rank + 1) % world_size, last = (world_rank + world_size - 1) % world_size;
    double mine = world_rank, theirs = -1, all = -1, shifted = -1, added = -1;
    MPI_Request receive, reduce, put;
    MPI_Irecv(&theirs, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
    tn_collective x = sum_of(1), s = sum_of(1);
    x.overlap = s.overlap = true;
    s.kind = TN_COMM_SHIFT;
    s.by = 1;
    s.wrap = true;
    void *a = start(m, &s, &mine, &shifted);
    MPI_Iallreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &reduce);
    void *b = start(m, &x, &mine, &added);
    const double sent = 100 + world_rank;
    MPI_Isend(&sent, 1, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &put);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    wait(m, b);
    MPI_Wait(&reduce, MPI_STATUS_IGNORE);
    wait(m, a);
    MPI_Wait(&put, MPI_STATUS_IGNORE);
    CHECK(theirs == 100 + last);
    CHECK(all == world_size - 1);
    CHECK(shifted == last);
    CHECK(added == world_size * (world_size - 1) / 2);
    tn_mpi_free(m);
    ranks_passed("the user's own messages");
}

/* Two grids of one communicator, of which each begins and waits while the other is under way. */
static void two_grids(void) {
    const int64_t n = world_size;
    tn_mpi *m[2] = {grid_of(1, &n), grid_of(1, &n)};
    double mine[2] = {world_rank, 10 * world_rank}, got[2] = {-1, -1};
    void *r[2];
    tn_collective x = sum_of(1);
    x.overlap = true;
    /* Communicators differ, so the order of ranks' waits may, too. */
    for (int k = 0; k < 2; k++) r[k] = start(m[k], &x, &mine[k], &got[k]);
    for (int k = 0; k < 2; k++) wait(m[(k + world_rank) % 2], r[(k + world_rank) % 2]);
    const int sum = world_size * (world_size - 1) / 2;
    CHECK(got[0] == sum && got[1] == 10 * sum);
    tn_mpi_free(m[0]);
    tn_mpi_free(m[1]);
    ranks_passed("two grids");
}

/* The first collectives make requests; later ones take those. */
static void requests_again(void) {
    const int64_t n = world_size;
    tn_mpi *m = grid_of(1, &n);
    tn_collective x = sum_of(1);
    x.overlap = true;
    double mine = 1, got[3];
    size_t made = 0;
    for (int k = 0; k < 20; k++) {
        void *r[3];
        for (int i = 0; i < 3; i++) r[i] = start(m, &x, &mine, &got[i]);
        tn_mpi_ops(m)->progress(m);
        for (int i = 0; i < 3; i++) wait(m, r[(i + k) % 3]);
        for (int i = 0; i < 3; i++) CHECK(got[i] == world_size);
        size_t now = 0;
        for (const request *q = m->spare; q; q = q->next) now++;
        CHECK(!m->begun && (k == 0 || now == made));
        made = now;
    }
    CHECK(made == (world_size > 1 ? 3 : 0));
    CHECK(tn_mpi_ops(m)->wait(m, &made) == TN_EINVAL);
    CHECK_SAYS(tn_mpi_error(m), "no such request");
    tn_mpi_free(m);
    ranks_passed("requests are taken again");
}

/* No rank is faster in saying so: what MPI refuses comes back as a status, with its text. */
static void mpi_fails(void) {
    const int64_t n = world_size;
    tn_mpi *m = grid_of(1, &n);
    if (world_size > 1) {
        double mine = 1, got;
        const tn_collective x = sum_of(1);
        wait(m, start(m, &x, &mine, &got));
        const MPI_Comm was = m->group[1].comm;
        const tn_collective root = {
            .size = sizeof root, .kind = TN_COMM_BCAST, .dtype = TN_F64, .count = 1, .axes = 1, .root = world_size - 1};
        MPI_Comm alone;
        MPI_Comm_dup(MPI_COMM_SELF, &alone);
        MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
        m->group[1].comm = alone; /* which has no such root */
        void *r;
        CHECK(tn_mpi_ops(m)->start(m, &root, &mine, &got, &r) == TN_EIO);
        CHECK_SAYS(tn_mpi_error(m), "bcast: MPI: ");
        CHECK(strlen(tn_mpi_error(m)) > strlen("bcast: MPI: "));
        MPI_Comm_free(&alone);
        m->group[1].comm = was;
        wait(m, start(m, &x, &mine, &got)); /* and it goes on */
        CHECK(got == world_size);
    }
    tn_mpi_free(m);
    ranks_passed("MPI's own errors");
}

int main(void) {
    ranks_begin(MPI_THREAD_SINGLE);
    beside_the_user();
    two_grids();
    requests_again();
    mpi_fails();
    ranks_end();
    return 0;
}
