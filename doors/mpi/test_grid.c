/* Grids: extents that are left to be found, what is refused, and that all ranks refuse it. */
#include "test_ranks.h"

#include <tansy.h>

static tn_mpi *with(const int64_t *extent, size_t naxes) {
    static const char *const names[] = {"r", "c", "w"};
    return tn_mpi_new(MPI_COMM_WORLD, &(tn_grid){naxes, names, extent});
}

static void refused(tn_mpi *m, tn_status status, const char *says) {
    CHECK(m);
    CHECK(tn_mpi_status(m) == status);
    CHECK_SAYS(tn_mpi_error(m), says);
    CHECK(!tn_mpi_ops(m));
    CHECK(tn_mpi_grid(m).naxes == 0);
    tn_mpi_free(m);
}

static void nothing(void) {
    tn_mpi_free(NULL);
    CHECK(tn_mpi_status(NULL) == TN_ENOMEM);
    CHECK_SAYS(tn_mpi_error(NULL), "out of memory");
    CHECK(!tn_mpi_ops(NULL) && tn_mpi_grid(NULL).naxes == 0);
    refused(tn_mpi_new(MPI_COMM_NULL, NULL), TN_EINVAL, "MPI_COMM_NULL");
    ranks_passed("nothing");
}

static void is(const tn_mpi *m, size_t naxes, const int64_t *extent) {
    const tn_grid g = tn_mpi_grid(m);
    const tn_comm_ops *t = tn_mpi_ops(m);
    int64_t rank = 0;
    CHECK(!tn_mpi_status(m) && t);
    CHECK(g.naxes == naxes && (size_t)t->naxes == naxes);
    for (size_t a = 0; a < naxes; a++) {
        CHECK(g.extent[a] == extent[a] && t->extent[a] == extent[a]);
        CHECK(t->index[a] >= 0 && t->index[a] < extent[a]);
        rank = rank * extent[a] + t->index[a];
    }
    CHECK(rank == world_rank && tn_mpi_rank(m) == world_rank);
}

static void extents(void) {
    const int64_t n = world_size;
    tn_mpi *m = tn_mpi_new(MPI_COMM_WORLD, NULL);
    is(m, 1, &n);
    CHECK(strcmp(tn_mpi_grid(m).name[0], "w") == 0);
    tn_mpi_free(m);
    is(m = with(NULL, 2), 2, n == 4 ? (int64_t[]){2, 2} : (int64_t[]){n, 1});
    tn_mpi_free(m);
    is(m = with((int64_t[]){1, 0}, 2), 2, (int64_t[]){1, n});
    tn_mpi_free(m);
    is(m = with((int64_t[]){0, n, 0}, 3), 3, (int64_t[]){1, n, 1});
    tn_mpi_free(m);
    char text[128];
    (void)snprintf(text, sizeof text, "(r=%d, c=1) has %d ranks, the communicator %d", world_size + 1, world_size + 1,
                   world_size);
    refused(with((int64_t[]){n + 1, 1}, 2), TN_EINVAL, text);
    (void)snprintf(text, sizeof text, "(r=%d, c=0) has a multiple of %d ranks, the communicator %d", world_size + 1,
                   world_size + 1, world_size);
    refused(with((int64_t[]){n + 1, 0}, 2), TN_EINVAL, text);
    refused(with((int64_t[]){-1, 0}, 2), TN_EINVAL, "the extent of axis r is -1");
    refused(with((int64_t[]){(int64_t)1 << 40, 0}, 2), TN_EINVAL, "the extent of axis r is 1099511627776");
    refused(with((int64_t[]){INT32_MAX, INT32_MAX, INT32_MAX}, 3), TN_EINVAL, "ranks, the communicator");
    ranks_passed("extents");
}

static tn_mpi *named(size_t n, const char *const *names) {
    return tn_mpi_new(MPI_COMM_WORLD, &(tn_grid){n, names, NULL});
}

static void names(void) {
    refused(named(0, (const char *[]){"w"}), TN_EINVAL, "1 to 8 axes, not 0");
    refused(named(9, (const char *[]){"a", "b", "c", "d", "e", "f", "g", "h", "i"}), TN_EINVAL, "1 to 8 axes, not 9");
    refused(named(1, NULL), TN_EINVAL, "no names");
    refused(named(2, (const char *[]){"r", NULL}), TN_EINVAL, "axis 1 has a name of 0 characters");
    refused(named(1, (const char *[]){"sixteen_letters_"}), TN_EINVAL, "axis 0 has a name of 16 characters");
    refused(named(2, (const char *[]){"r", "r"}), TN_EINVAL, "axes 0 and 1 are both \"r\"");
    char name[] = "x"; /* names are copied */
    tn_mpi *m = named(1, (const char *[]){name});
    name[0] = 'y';
    CHECK(strcmp(tn_mpi_grid(m).name[0], "x") == 0 && strcmp(tn_mpi_ops(m)->name[0], "x") == 0);
    tn_mpi_free(m);
    ranks_passed("names");
}

/* One rank's grid is wrong, or another one: all are refused, and none hangs. */
static void agreement(void) {
    const int64_t n = world_size;
    const bool last = world_rank == world_size - 1;
    if (world_size > 1) {
        char text[128];
        (void)snprintf(text, sizeof text, last ? "is -1" : "rank %d refused the grid", world_size - 1);
        refused(with((int64_t[]){last ? -1 : n}, 1), TN_EINVAL, text);
        refused(with((int64_t[]){last ? 1 : n, last ? n : 1}, 2), TN_EINVAL, "different grids");
        refused(named(1, (const char *[]){last ? "a" : "b"}), TN_EINVAL, "different grids");
    }
    ranks_passed("agreement");
}

/* Of the even ranks, and of the odd ones in between, from the last to the first. */
static void communicators(void) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half);
    int size, rank;
    MPI_Comm_size(half, &size);
    MPI_Comm_rank(half, &rank);
    tn_mpi *m = tn_mpi_new(half, NULL);
    CHECK(!tn_mpi_status(m) && tn_mpi_grid(m).extent[0] == size && tn_mpi_ops(m)->index[0] == rank);
    const tn_collective x = {.size = sizeof x, .kind = TN_COMM_ALLGATHER, .dtype = TN_I32, .count = 1, .axes = 1};
    int32_t mine = world_rank, all[4];
    void *r;
    CHECK(tn_mpi_ops(m)->start(m, &x, &mine, all, &r) == TN_OK && !r);
    const int top = (world_size - 1 - world_rank % 2) / 2 * 2 + world_rank % 2;
    for (int k = 0; k < size; k++) CHECK(all[k] == top - 2 * k);
    tn_mpi_free(m);
    if (world_size > 1) {
        /* Leaders are the last of the even and of the odd ranks. */
        const int other = (world_size - 1 - (1 - world_rank % 2)) / 2 * 2 + 1 - world_rank % 2;
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other, 7, &inter);
        refused(tn_mpi_new(inter, NULL), TN_EINVAL, "intercommunicator");
        MPI_Comm_free(&inter);
    }
    MPI_Comm_free(&half);
    ranks_passed("communicators");
}

/* The order of calls: the grid, a context of it, the end. */
static void context(void) {
    tn_mpi *m = with(NULL, 2);
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .grid = tn_mpi_grid(m)});
    CHECK(c && tn_last_status(c) == TN_OK);
    tn_ctx_free(c);
    tn_mpi_free(m);
    ranks_passed("a context");
}

int main(void) {
    refused(tn_mpi_new(MPI_COMM_WORLD, NULL), TN_EINVAL, "MPI is not initialized");
    tn_mpi *world = tn_mpi_world(NULL);
    ranks_begin(MPI_THREAD_SINGLE);
    CHECK(!tn_mpi_status(world) && tn_mpi_grid(world).extent[0] == world_size);
    ranks_passed("the world, initialized by the grid");
    nothing();
    extents();
    names();
    agreement();
    communicators();
    context();
    tn_mpi *late = tn_mpi_new(MPI_COMM_WORLD, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    tn_mpi_free(world); /* finalizes */
    int ended;
    MPI_Finalized(&ended);
    tn_mpi_free(late);
    refused(tn_mpi_new(MPI_COMM_WORLD, NULL), TN_EINVAL, "finalized");
    if (world_rank == 0) printf("%d passed, %d failed\n", tests_passed, ended ? 0 : 1);
    return !ended;
}
