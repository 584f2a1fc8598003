/* What one rank of `run` has, whether it is the only one or not. */
#ifndef TN_CLI_RUN_H
#define TN_CLI_RUN_H

#include "cli/cli.h"
#include "tansy/comm.h"

typedef struct tn_i_cli_rank {
    const tn_i_cli *o;
    int64_t number; /* -1: the program has no grid */
    bool named;     /* there are others: what it says begins with its number */
    tn_fn *f;
    void **in, **out;
    tn_exec *e;
    tn_profile *profile; /* with --profile */
    tn_status status;
    char message[1024]; /* of the failure */
} tn_i_cli_rank;

/* TN_CLI_OK where there is an argument for each input, else after a message. */
int tn_i_cli_arguments(const tn_i_cli *o, const tn_fn *f);
/* TN_CLI_OK where the program is of one rank, else after a message. */
int tn_i_cli_alone(const tn_i_cli *o, const tn_fn *f);
/* Reads the operands and makes room for the results; false after a message. */
bool tn_i_cli_prepare(tn_i_cli_rank *r);
/* Compiles and runs, with the table of this rank or NULL; status and message tell how it went. */
void tn_i_cli_call(tn_i_cli_rank *r, const tn_comm_ops *comm);
void tn_i_cli_release(tn_i_cli_rank *r);

/* Writes an array to the standard output. */
bool tn_i_cli_print(const tn_i_cli *o, const tn_type *t, const void *data);
/* Writes the rank's outputs to files: DIR/0.npy of what is replicated, on rank 0 alone, DIR/0.RANK.npy of what varies;
 * or, where {rank} is in DIR's name, a directory for each rank.  False after a message. */
bool tn_i_cli_write_rank(const tn_i_cli_rank *r);
/* Whether a rank is the first of those that hold the same array, which varies over these axes. */
bool tn_i_cli_first_of(const tn_ctx *c, int64_t rank, uint32_t over);

/* "rank 2: heat.tn:4: assert: .." names the file, though not first. */
void tn_i_cli_say_rank(const tn_i_cli *o, const char *message);

/* `text` with the number in the place of each {rank}, allocated; NULL without memory. */
char *tn_i_cli_for_rank(const char *text, int64_t number);

/* profile.c: what the calls took; false after a message. */
bool tn_i_cli_show_profile(const tn_i_cli_rank *r);

/* ranks.c: as many ranks as the grid has, in threads; the text is parsed by each. */
int tn_i_cli_run_ranks(const tn_i_cli *o, const tn_ctx *c, const char *text, size_t n);
/* mpi.c: as one of the processes that mpirun has started. */
int tn_i_cli_run_mpi(const tn_i_cli *o, tn_fn *f);

#endif
