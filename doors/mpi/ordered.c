/* Sums in the order of ranks: whatever MPI adds first, and however many it adds at once, the bits are these.  Ranks
 * give their numbers to each other, a piece at a time, and every rank adds them. */
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { SCRATCH = 256 * 1024 };

static size_t room(int ranks) {
    const size_t least = (size_t)ranks * sizeof(double);
    return least > SCRATCH ? least : SCRATCH;
}

bool tn_mpi_i_ordered_room(tn_mpi *m) { return (m->scratch = malloc(room(m->size))); }

static int gather(const call *k, int64_t at, int n) {
    const char *from = k->in + (size_t)at * k->width;
    MPI_Request r;
    if (k->m->limit <= 0) return MPI_Allgather(from, n, k->type, k->m->scratch, n, k->type, k->comm);
    const int code = MPI_Iallgather(from, n, k->type, k->m->scratch, n, k->type, k->comm, &r);
    return code == MPI_SUCCESS ? tn_mpi_i_wait_for(k->m, &r, tn_mpi_i_kinds[k->x->kind]) : code;
}

/* Piece `rank` of every rank's operand. */
static int exchange(const call *k, int64_t at, int n) {
    MPI_Datatype wide;
    int code = tn_mpi_i_wide(k, n, &wide);
    if (code != MPI_SUCCESS) return code;
    const char *from = k->in + (size_t)at * k->width;
    MPI_Request r;
    if (k->m->limit <= 0)
        code = MPI_Alltoall(from, 1, wide, k->m->scratch, n, k->type, k->comm);
    else if ((code = MPI_Ialltoall(from, 1, wide, k->m->scratch, n, k->type, k->comm, &r)) == MPI_SUCCESS)
        code = tn_mpi_i_wait_for(k->m, &r, tn_mpi_i_kinds[k->x->kind]);
    (void)MPI_Type_free(&wide);
    return code;
}

/* The sum of ranks first, first + step .. before end. */
static void add(const call *k, int first, int end, int step, char *out, int n) {
    const char *all = k->m->scratch;
    const size_t bytes = (size_t)n * k->width;
    if (first == end) {
        memset(out, 0, bytes);
        return;
    }
    memcpy(out, all + (size_t)first * bytes, bytes);
    for (int r = first + step; r != end; r += step)
        tn_mpi_i_join(k->x->dtype, k->x->kind == TN_COMM_ALLREDUCE ? k->x->op : TN_COMM_SUM, out,
                      all + (size_t)r * bytes, out, n);
}

static void add_piece(const call *k, char *out, int n) {
    const int skip = k->x->exclusive;
    if (k->x->kind != TN_COMM_SCAN)
        add(k, 0, k->size, 1, out, n);
    else if (k->x->reverse)
        add(k, k->size - 1, k->rank - 1 + skip, -1, out, n);
    else
        add(k, 0, k->rank + 1 - skip, 1, out, n);
}

int tn_mpi_i_ordered(call *k) {
    const int64_t fits = (int64_t)(room(k->m->size) / k->width) / k->size, most = fits < k->m->most ? fits : k->m->most;
    for (int64_t at = 0; at < k->count; at += most) {
        const int n = (int)(k->count - at < most ? k->count - at : most);
        const int code = k->x->kind == TN_COMM_REDUCE_SCATTER ? exchange(k, at, n) : gather(k, at, n);
        if (code != MPI_SUCCESS) return code;
        add_piece(k, k->out + (size_t)at * k->width, n);
    }
    return MPI_SUCCESS;
}
