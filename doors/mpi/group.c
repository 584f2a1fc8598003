/* Communicators of sets of axes: made when first needed, by the ranks that need them. */
#include "table.h"

#include <stdlib.h>

/* Ranks along axes, and where this one stands. */
static void measure(tn_mpi *m, uint32_t axes, group *g) {
    g->size = 1, g->rank = 0;
    g->comm = g->reversed = MPI_COMM_NULL;
    for (int a = 0; a < m->naxes; a++)
        if (axes >> a & 1) {
            g->size *= (int)m->extent[a];
            g->rank = g->rank * (int)m->extent[a] + (int)m->index[a];
        }
}

void tn_mpi_i_groups_size(tn_mpi *m) {
    for (uint32_t axes = 0; axes < 1u << TN_MPI_AXES; axes++) measure(m, axes & m->wide, &m->group[axes]);
}

/* The number among all ranks of the k-th along axes. */
static int number(const tn_mpi *m, uint32_t axes, int k) {
    int at[TN_MPI_AXES], all = 0;
    for (int a = m->naxes; a--;) {
        at[a] = (int)m->index[a];
        if (!(axes >> a & 1)) continue;
        at[a] = k % (int)m->extent[a];
        k /= (int)m->extent[a];
    }
    for (int a = 0; a < m->naxes; a++) all = all * (int)m->extent[a] + at[a];
    return all;
}

static int create(tn_mpi *m, uint32_t axes, const group *g, bool reversed, MPI_Comm *comm) {
    int *list = malloc((size_t)g->size * sizeof *list);
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    if (!list) return MPI_ERR_NO_MEM;
    for (int k = 0; k < g->size; k++) list[k] = number(m, axes, reversed ? g->size - 1 - k : k);
    int code = MPI_Comm_group(m->comm, &all);
    if (code == MPI_SUCCESS) code = MPI_Group_incl(all, g->size, list, &some);
    free(list);
    if (code == MPI_SUCCESS) code = MPI_Comm_create_group(m->comm, some, (int)axes << 1 | reversed, comm);
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    if (some != MPI_GROUP_NULL) (void)MPI_Group_free(&some);
    if (all != MPI_GROUP_NULL) (void)MPI_Group_free(&all);
    return code;
}

tn_status tn_mpi_i_group(tn_mpi *m, uint32_t axes, bool reversed, group **out) {
    group *g = *out = &m->group[axes & m->wide];
    MPI_Comm *comm = reversed ? &g->reversed : &g->comm;
    if (*comm != MPI_COMM_NULL) return TN_OK;
    const int code = create(m, axes & m->wide, g, reversed, comm);
    return tn_mpi_i_said(m, code, "the communicator of an axis");
}

void tn_mpi_i_groups_free(tn_mpi *m) {
    for (uint32_t axes = 0; axes < 1u << TN_MPI_AXES; axes++) {
        group *g = &m->group[axes];
        if (g->comm != MPI_COMM_NULL) (void)MPI_Comm_free(&g->comm);
        if (g->reversed != MPI_COMM_NULL) (void)MPI_Comm_free(&g->reversed);
    }
}
