/* Random programs of many ranks: the law of docs/mpi.md, checked on ranks that are threads of one process. */
#ifndef RANKS_H
#define RANKS_H

#include <tansy.h>
#include <tansy/comm.h>
#include <tansy/loops.h>
#include <tansy/ops.h>

enum { RANKS_AXES = 2, RANKS_ARRAYS = 8, RANKS_N = 3, RANKS_MOST = 4 };

typedef struct ranks_rng {
    uint64_t state;
} ranks_rng;
uint64_t ranks_next(ranks_rng *r);
int ranks_pick(ranks_rng *r, int n); /* 0 .. n-1 */
double ranks_uniform(ranks_rng *r);  /* -1 .. 1 */

/* A case: a grid, and a program of f64[RANKS_N] arrays whose inputs and outputs vary over sets of its axes (bits). */
typedef struct ranks_case {
    uint64_t seed;
    tn_grid grid;
    const char *name[RANKS_AXES];
    int64_t extent[RANKS_AXES];
    int ranks;
    size_t nin, nout;
    uint32_t in[RANKS_ARRAYS], out[RANKS_ARRAYS];
} ranks_case;

/* The grid and the inputs of a seed. */
void ranks_case_of(uint64_t seed, ranks_case *k);
/* Its program, the same on every rank; sets nout and out.  NULL after the context's error. */
tn_fn *ranks_program(tn_ctx *c, ranks_case *k);
/* "r,c" */
const char *ranks_names(const ranks_case *k, uint32_t axes, char text[32]);
/* What the axes of t are, as bits. */
uint32_t ranks_over(tn_ctx *c, const ranks_case *k, const tn_type *t);

#endif
