/* tansy/mpi.h - libtansy-mpi: Tansy's collectives by MPI.
 *
 * SPDX-License-Identifier: MIT
 *
 * A tn_mpi is a grid of the ranks of a communicator, and the table (tn_comm_ops, <tansy/comm.h>) that programs on that
 * grid communicate by:
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
 *     tn_mpi *m = tn_mpi_new(MPI_COMM_WORLD, NULL);                   // one axis, "w", of all ranks
 *     if (tn_mpi_status(m)) fprintf(stderr, "%s\n", tn_mpi_error(m));
 *     tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .grid = tn_mpi_grid(m)});
 *     tn_fn *f = tn_trace(c, ...);
 *     tn_exec *e = tn_compile(f, &(tn_compile_options){.size = sizeof(tn_compile_options), .comm = tn_mpi_ops(m)});
 *     tn_call(e, in, out);
 *     ...                                                             // tn_exec_free, tn_ctx_free
 *     tn_mpi_free(m);
 *     MPI_Finalize();
 *
 * The grid comes first, so that a context can be given it, and goes last.
 *
 * Other axes, of given extents or of what is left of the ranks:
 *
 *     tn_mpi_new(MPI_COMM_WORLD, &(tn_grid){2, (const char *[]){"r", "c"}, NULL})                      6 ranks: 3 x 2
 *     tn_mpi_new(MPI_COMM_WORLD, &(tn_grid){2, (const char *[]){"r", "c"}, (int64_t[]){0, 3}})         6 ranks: 2 x 3
 *
 * Ranks stand in the grid as in the communicator, the last axis fastest.
 *
 * MPI's own: any MPI-3 (Open MPI, MPICH): a program and this library have to be built with the same.  Messages are on
 * communicators of its own, so they do not meet the user's.  Arrays are passed as they are, without copies.
 *
 * Threads: a grid is used by the thread that calls tn_call, one call at a time.  With less than MPI_THREAD_SERIALIZED
 * (MPI_Init: MPI_THREAD_SINGLE) that has to be the thread that initialized MPI; another one is refused (TN_EINVAL, with
 * the level).  Threads that the library itself starts never communicate, so MPI_THREAD_FUNNELED is enough for them, and
 * is what to ask for where there are any (tn_compile_options.threads).  Calls in several threads at once need
 * MPI_THREAD_MULTIPLE, and a grid each.
 *
 * Errors: those of MPI on these communicators come back as TN_EIO with MPI's text, and do not end the program; what it
 * does about a rank that dies is its own matter. */
#ifndef TANSY_MPI_H
#define TANSY_MPI_H

#include <mpi.h>
#include <tansy/comm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_mpi tn_mpi;

/* The ranks of comm as a grid.  grid NULL: one axis, "w".  extent[a] 0, or extent NULL: what is left of the ranks is
 * divided among such axes as evenly as can be (MPI_Dims_create).  Names are copied.
 *   Collective over comm.  The ranks agree: where it fails on one it fails on all.  NULL: no memory here.  A grid that
 * was refused holds the error: tn_mpi_status has it, tn_mpi_error the message, tn_mpi_ops is NULL.
 * TN_EINVAL: MPI is not initialized, or finalized; the communicator is MPI_COMM_NULL or an intercommunicator; its ranks
 * are not as many as the grid's; names or extents that make no grid, or differ between ranks; the thread.
 * TN_ENOMEM; TN_EIO: MPI, with its text.  Memory is malloc's: there is no context yet. */
TN_API tn_mpi *tn_mpi_new(MPI_Comm comm, const tn_grid *grid);
/* The same of MPI_COMM_WORLD, for programs that do nothing else with MPI: initializes it (MPI_THREAD_FUNNELED) where
 * that has not been done, and tn_mpi_free then finalizes it.  MPI can be initialized once in the life of a program. */
TN_API tn_mpi *tn_mpi_world(const tn_grid *grid);
/* Collective, after all calls and before MPI_Finalize; later it frees memory alone.  NULL is fine. */
TN_API void tn_mpi_free(tn_mpi *m);

/* For tn_ctx_options.grid: names and extents, which belong to m.  Without axes, if m is NULL or was refused. */
TN_API tn_grid tn_mpi_grid(const tn_mpi *m);
/* For tn_compile_options.comm; it belongs to m.  NULL, if m is NULL or was refused. */
TN_API const tn_comm_ops *tn_mpi_ops(const tn_mpi *m);
/* Where this rank stands: its number, the last axis fastest; tn_mpi_ops has it by axes. */
TN_API int tn_mpi_rank(const tn_mpi *m);
/* What tn_mpi_new said.  NULL: TN_ENOMEM. */
TN_API tn_status tn_mpi_status(const tn_mpi *m);
/* The message of the last failure, of the table's too, "" if there was none; valid until the next.  NULL: "out of
 * memory". */
TN_API const char *tn_mpi_error(const tn_mpi *m);

/* For debugging: from now on no rank waits longer than so many seconds for another in a communication; 0: as long as it
 * takes, as in the beginning.  The wait then ends with TN_EIO and a message that says who waits where:
 *
 *     rank 2 has waited 10 s in allreduce [10] (communication 17); rank 0 has begun none since shift [4] (communication 16)
 *
 * Collective, with the same limit on all ranks (TN_EINVAL: others were given).  Every communication is then a
 * nonblocking one that is asked about all the time, and is written down in a window that all ranks can read
 * (MPI_Win_allocate), so it takes longer; results are the same.  What a network cannot read without the other rank's
 * help is reported as not known.  A call that has ended so leaves the ranks at different places: the program should
 * end.  TN_EINVAL: m is NULL, seconds negative or NaN, the thread; TN_EIO: MPI, with its text. */
TN_API tn_status tn_mpi_limit(tn_mpi *m, double seconds);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
