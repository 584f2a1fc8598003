/* Shifts and permutations: a message to one rank, and one from another. */
#include "table.h"

#include <string.h>

enum { TAG = 1 };

/* Up to here a message that was begun is sent as MPI_Sendrecv does it, without a request of its own: every rank has
 * begun to receive before it sends, so that none waits for another's wait. */
#define SMALL 4096

typedef struct pair {
    int source, target; /* MPI_PROC_NULL: none */
} pair;

static pair of_shift(const call *k) {
    const int64_t by = k->x->by, from = k->rank - by, to = k->rank + by;
    const int size = k->size;
    if (k->x->wrap) return (pair){(int)((from % size + size) % size), (int)((to % size + size) % size)};
    return (pair){from >= 0 && from < size ? (int)from : MPI_PROC_NULL, to >= 0 && to < size ? (int)to : MPI_PROC_NULL};
}

static pair of_list(const call *k) {
    pair p = {MPI_PROC_NULL, MPI_PROC_NULL};
    for (size_t i = 0; i < k->x->npairs; i++) {
        if (k->x->pairs[2 * i] == k->rank) p.target = k->x->pairs[2 * i + 1];
        if (k->x->pairs[2 * i + 1] == k->rank) p.source = k->x->pairs[2 * i];
    }
    return p;
}

static int piece(const call *k, int64_t at) { return (int)(k->count - at < k->m->most ? k->count - at : k->m->most); }

static int receive(call *k, int source) {
    int code = MPI_SUCCESS;
    for (int64_t at = 0; at < k->count && code == MPI_SUCCESS; at += k->m->most)
        code =
            MPI_Irecv(k->out + (size_t)at * k->width, piece(k, at), k->type, source, TAG, k->comm, tn_mpi_i_next(k->q));
    return code;
}

static int put(call *k, int target) {
    int code = MPI_SUCCESS;
    for (int64_t at = 0; at < k->count && code == MPI_SUCCESS; at += k->m->most) {
        const char *from = k->in + (size_t)at * k->width;
        code = (size_t)k->count * k->width <= SMALL && k->m->limit <= 0
                   ? MPI_Send(from, piece(k, at), k->type, target, TAG, k->comm)
                   : MPI_Isend(from, piece(k, at), k->type, target, TAG, k->comm, tn_mpi_i_next(k->q));
    }
    return code;
}

/* At once. */
static int swap(const call *k, int source, int target) {
    int code = MPI_SUCCESS;
    for (int64_t at = 0; at < k->count && code == MPI_SUCCESS; at += k->m->most) {
        const size_t from = (size_t)at * k->width;
        code = MPI_Sendrecv(k->in + from, piece(k, at), k->type, target, TAG, k->out + from, piece(k, at), k->type,
                            source, TAG, k->comm, MPI_STATUS_IGNORE);
    }
    return code;
}

int tn_mpi_i_neighbours(call *k) {
    const pair p = k->x->kind == TN_COMM_SHIFT ? of_shift(k) : of_list(k);
    const size_t bytes = (size_t)k->count * k->width;
    if (p.source == k->rank) {
        memcpy(k->out, k->in, bytes);
        return MPI_SUCCESS;
    }
    if (p.source == MPI_PROC_NULL) memset(k->out, 0, bytes);
    if (k->size == 1) return MPI_SUCCESS;
    if (!k->q) return swap(k, p.source, p.target);
    const int code = p.source == MPI_PROC_NULL ? MPI_SUCCESS : receive(k, p.source);
    return code != MPI_SUCCESS || p.target == MPI_PROC_NULL ? code : put(k, p.target);
}
