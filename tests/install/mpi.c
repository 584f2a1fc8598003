/* A user's program on two ranks, with what make install put in place. */
#include <stdio.h>
#include <tansy/mpi.h>

int main(void) {
    tn_mpi *m = tn_mpi_world(NULL);
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .grid = tn_mpi_grid(m)});
    const tn_comm_ops *t = tn_mpi_ops(m);
    const tn_collective x = {.size = sizeof x, .kind = TN_COMM_ALLREDUCE, .dtype = TN_F64, .count = 1, .axes = 1};
    const double mine = tn_mpi_rank(m) + 1;
    double sum = 0;
    void *request;
    int status = !c || !t ? 1 : t->start(t->user, &x, &mine, &sum, &request);
    if (!status && request) status = t->wait(t->user, request);
    if (status) fprintf(stderr, "%s\n", tn_mpi_error(m));
    tn_ctx_free(c);
    tn_mpi_free(m);
    return status || sum != 3;
}
