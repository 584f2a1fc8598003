/* Every collective, on every grid of these ranks: as MPI has it at once, begun and waited for, and in pieces. */
#include "test_ranks.h"

#include "comm_table.h"

/* Counts up to here.  Where there are fewer processors than ranks each message takes long: with MPICH, whose ranks do
 * not give way (run.sh says so by TN_MPI_FEW), some milliseconds. */
static bool few;
static int64_t most(int64_t all) {
    const int64_t here = few ? 1 : world_size > 2 ? 1000 : 100000;
    return all < here ? all : here;
}

static void check(size_t naxes, const int64_t *extent, int64_t counts, const char *name) {
    tn_mpi *m = grid_of(naxes, extent);
    CHECK(comm_table_check(tn_mpi_ops(m), most(counts), stdout) == 0);
    CHECK(comm_table_refused(tn_mpi_ops(m), stdout) == 0);
    CHECK(!m->begun);
    tn_mpi_free(m);
    ranks_passed(name);
}

static void check_begun(const int64_t *extent) {
    tn_mpi *m = grid_of(2, extent);
    m->split = true;
    CHECK(comm_table_check(tn_mpi_ops(m), most(7), stdout) == 0);
    CHECK(!m->begun);
    tn_mpi_free(m);
    ranks_passed("all of them begun");
}

static void check_pieces(const int64_t *extent, bool split) {
    tn_mpi *m = grid_of(2, extent);
    m->split = split;
    m->most = 3;
    CHECK(comm_table_check(tn_mpi_ops(m), 7, stdout) == 0);
    CHECK(!m->begun);
    tn_mpi_free(m);
    ranks_passed(split ? "pieces, begun" : "pieces");
}

int main(void) {
    ranks_begin(MPI_THREAD_SINGLE);
    const int64_t n = world_size, two[] = {n == 4 ? 2 : 1, n == 4 ? 2 : n};
    few = getenv("TN_MPI_FEW");
    check(2, two, 7, "two axes");
    if (!few) check(1, &n, 100000, "an axis");
    if (!few && n == 4) check(3, (int64_t[]){2, 1, 2}, 1, "three axes");
    if (!few || n == 3) check_begun(two);
    if (!few) check_pieces(two, false);
    if (!few) check_pieces(two, true);
    ranks_end();
    return 0;
}
