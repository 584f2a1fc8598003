/* Tansy beside hand-written C: what bench/suite/ says, harness.c measures.  A case is one program, run by every
 * backend, and one C function of bench/c/ that computes the same; both are checked against each other before the clock
 * starts, and take turns while it runs. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdio.h>
#include <stdlib.h>
#include <tansy.h>

typedef struct bench bench;

typedef struct bench_case {
    const char *workload, *variant;
    long n;
    tn_dtype dtype;
    const tn_fn *fn; /* what Tansy runs; NULL is a failure, reported with the context's message */
    const void *const *in;
    /* The same by hand: reads and writes what `data` names.  NULL: there is none.  want[j]: the buffer it writes output
     * j to, or NULL where it does not. */
    void (*c)(void *data);
    void *data;
    void *const *want;
    double tolerance; /* of the largest entry of each output */
    /* Another one, to be measured beside it; its outputs are checked as well. */
    void (*other)(void *data);
    const char *other_name;
    double bar, default_bar; /* time / C of the faster backend, of the default; 0: none */
    double limit;            /* seconds, of the faster backend; 0: none */
    double default_limit;    /* seconds, of the default; 0: none */
    long bodies;             /* loop bodies of the plan, told in the line; 0: none */
    const char *spill_dir;   /* for tn_compile */
    bool flush;              /* numbers that are not normal are flushed to zero, on both sides */
    bool only_compared;      /* not measured */
} bench_case;

/* Whether a workload was asked for; then it traces its programs, in a context that is new for each. */
bool bench_wants(const bench *b, const char *workload);
/* Short: sizes of no interest for speed; results are compared, nothing is measured. */
bool bench_quick(const bench *b);
tn_ctx *bench_ctx(const bench *b);
/* Memory of doubles and the like, aligned to 64 bytes and filled with zeros; ends the program where there is none.  It
 * lives until the workload returns. */
void *bench_memory(bench *b, size_t bytes);
/* Numbers in [lo, hi) of a fixed sequence that `seed` picks. */
void bench_fill_f64(double *x, size_t n, double lo, double hi, uint64_t seed);
void bench_fill_f32(float *x, size_t n, double lo, double hi, uint64_t seed);
/* Compares and measures.  Failures are printed, and counted for the exit status. */
void bench_run(bench *b, const bench_case *c);
/* A failure that has no case. */
void bench_failed(bench *b, const char *workload, const char *why);
/* The folder bench/data. */
const char *bench_data(const bench *b);

typedef void bench_workload(bench *b);
/* Arguments: --quick, --only NAME[,NAME..], --data DIR, --cpu N.  Ends with a table.  0: everything computed what it
 * should. */
int bench_main(int argc, char **argv, size_t n, bench_workload *const *workload);

#endif
