/* The command-line tool.  Exit status: 0, 1 for a bad program or argument, 2 for bad usage. */
#ifndef TN_CLI_H
#define TN_CLI_H

#include "tansy.h"

#include <stdio.h>

enum { TN_CLI_OK, TN_CLI_BAD, TN_CLI_USAGE };

/* What the command line asks for. */
typedef struct tn_i_cli {
    const char *command, *file;
    const char **argument; /* what follows the file */
    int narguments;
    const char *policy, *part, *out_dir, *svg, *html, *spill_dir, *output, *name, *after, *isa;
    bool json, pareto, lint, strict_zero, flush, cblas, profile, as_c;
    int backend;         /* run: a tn_backend */
    int64_t digits;      /* run: significant ones of floats; 0: as many as tell the number from all others */
    int64_t ranks;       /* run; 0: not given */
    int64_t threads;     /* run, plan, lower: that may share a step; 0: one */
    int64_t wait;        /* run: seconds that a rank waits for another; 0: not said */
    bool mpi;            /* run: ranks are processes that mpirun has started */
    int64_t runs, block; /* time, profiles; Jacobians; 0: not given */
    int64_t directions, seed;
    double tolerance; /* these are check-grads'; 0: not given */
    bool has_size, has_bytes;
    int64_t size, bytes;
    int64_t capacity; /* emit-c; 0: not given */
    bool unknown;     /* the rest is schedule's; -1: not given */
    int64_t steps, checkpoints, disk, state_bytes, record_bytes, step_ns, order;
    bool hessian;       /* the rest but one is sparsity's */
    const char *mtx;    /* NULL: not given */
    const char **known; /* NUMBER=VALUE each */
    int nknown;
    int *wrt, *in_axes, *out_axes; /* NULL: not given */
    size_t nwrt, nin_axes, nout_axes;
} tn_i_cli;

/* options.c: false after a message about usage. */
bool tn_i_cli_options(int argc, char **argv, tn_i_cli *o);
void tn_i_cli_options_free(tn_i_cli *o);

/* input.c: a whole file ("-": standard input), or NULL after a message; released with free. */
char *tn_i_cli_read(const char *path, size_t *n);
/* The operand that an argument of `run` describes, allocated; NULL after a message. */
void *tn_i_cli_operand(const char *text, const tn_type *t, int number);

/* Messages; each returns the exit status it names. */
int tn_i_cli_bad(const tn_i_cli *o, const tn_ctx *c);
int tn_i_cli_say(const tn_i_cli *o, const char *message);
/* The file's name in messages. */
const char *tn_i_cli_shown(const tn_i_cli *o);
int tn_i_cli_usage(const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* The name of a tn_backend, as --backend takes it; NULL: there is none of this number. */
const char *tn_i_cli_backend(int backend);

/* Commands that don't print a program. */
/* run: f is of this text. */
int tn_i_cli_run(const tn_i_cli *o, tn_fn *f, const char *text, size_t n);
/* time: what a call takes. */
int tn_i_cli_time(const tn_i_cli *o, tn_fn *f);
/* check-grads: derivatives at the point that the arguments are. */
int tn_i_cli_check_grads(const tn_i_cli *o, tn_fn *f);
/* emit-c: the program as C files. */
int tn_i_cli_emit(const tn_i_cli *o, const tn_fn *f);
int tn_i_cli_cost(const tn_i_cli *o, tn_fn *f);
int tn_i_cli_residuals(const tn_i_cli *o, tn_fn *f);
int tn_i_cli_policies(const tn_i_cli *o, tn_fn *f);
int tn_i_cli_budget(const tn_i_cli *o, tn_fn *f);
int tn_i_cli_advise(const tn_i_cli *o, tn_fn *f);
int tn_i_cli_memory(const tn_i_cli *o, const tn_fn *f);
int tn_i_cli_lower(const tn_i_cli *o, tn_fn *f);
int tn_i_cli_plan(const tn_i_cli *o, tn_fn *f);
int tn_i_cli_sparsity(const tn_i_cli *o, tn_ctx *c, const tn_fn *f);
/* Live bytes of f's vjp (--wrt) under each of n policies: drawn to the file of --svg, else a table. */
int tn_i_cli_draw_memory(const tn_i_cli *o, const tn_fn *f, size_t n, const char *const *policy);
/* What the schedule that `file` names does with --steps. */
int tn_i_cli_schedule(const tn_i_cli *o);
int tn_i_cli_prims(void);
int tn_i_cli_machine(void);
int tn_i_cli_version(void);

#endif
