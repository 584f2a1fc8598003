/* Which thread may communicate, by what MPI was asked for: nothing (1 rank), MPI_THREAD_FUNNELED (2), _SERIALIZED (3),
 * _MULTIPLE (4). */
#include "test_ranks.h"

typedef struct call_of_thread {
    tn_mpi *m, *made;
    int start, wait;
    double sum;
    char says[256];
} call_of_thread;

static void *elsewhere(void *user) {
    call_of_thread *k = user;
    const tn_comm_ops *t = tn_mpi_ops(k->m);
    const tn_collective x = {
        .size = sizeof x, .kind = TN_COMM_ALLREDUCE, .dtype = TN_F64, .count = 1, .axes = 1, .overlap = true};
    const double one = 1;
    void *r = NULL;
    k->start = t->start(t->user, &x, &one, &k->sum, &r);
    (void)snprintf(k->says, sizeof k->says, "%s", t->error(t->user));
    t->progress(t->user);
    k->wait = r ? t->wait(t->user, r) : TN_OK;
    k->made = tn_mpi_new(MPI_COMM_WORLD, NULL);
    return NULL;
}

static void another_thread(int level) {
    const int64_t n = world_size;
    const bool anywhere = level >= MPI_THREAD_SERIALIZED;
    call_of_thread k = {.m = grid_of(1, &n), .start = -1};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, elsewhere, &k) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(k.made);
    if (anywhere) {
        CHECK(k.start == TN_OK && k.wait == TN_OK && k.sum == world_size);
        CHECK(tn_mpi_status(k.made) == TN_OK);
    } else {
        CHECK(k.start == TN_EINVAL && tn_mpi_status(k.made) == TN_EINVAL);
        const char *name = level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED";
        CHECK_SAYS(k.says, "allreduce: this is not the thread that initialized MPI");
        CHECK_SAYS(k.says, name);
        CHECK_SAYS(tn_mpi_error(k.made), "tn_mpi_new: this is not the thread");
    }
    tn_mpi_free(k.made);
    tn_mpi_free(k.m);
    ranks_passed(anywhere ? "another thread communicates" : "another thread is refused");
}

int main(void) {
    int size = 1, level;
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    const char *ranks = getenv("TN_MPI_RANKS");
    if (ranks) size = atoi(ranks);
    ranks_begin(levels[size >= 1 && size <= 4 ? size - 1 : 0]);
    MPI_Query_thread(&level);
    if (world_rank == 0) printf("MPI gives level %d\n", level);
    another_thread(level);
    ranks_end();
    return 0;
}
