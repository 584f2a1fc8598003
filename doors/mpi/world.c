/* MPI_COMM_WORLD, initialized here where the program has not. */
#include "table.h"

tn_mpi *tn_mpi_world(const tn_grid *grid) {
    int begun = 0, level;
    bool here = false;
    (void)MPI_Initialized(&begun);
    if (!begun) here = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS;
    tn_mpi *m = tn_mpi_new(MPI_COMM_WORLD, grid);
    if (m)
        m->finalize = here;
    else if (here)
        (void)MPI_Finalize();
    return m;
}
