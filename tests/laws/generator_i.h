/* Inside the generator. */
#ifndef LAWS_GENERATOR_I_H
#define LAWS_GENERATOR_I_H

#include "laws/generator.h"

enum { LAWS_POOL = 64 };

/* A program being generated, and the values in it that may be used again. */
typedef struct laws_gen {
    tn_i_builder b;
    tn_ctx *ctx;
    laws_memory *m;
    tn_i_rng *r;
    int dtype, depth;
    tn_i_var real[LAWS_POOL], whole[LAWS_POOL]; /* floats; integers and bools */
    uint32_t nreal, nwhole;
} laws_gen;

/* A program of `steps` equations (and their adapters) over inputs of the given types. */
const tn_fn *laws_generate_over(laws_gen *outer, uint32_t nin, const tn_type *in, int steps);
/* Emits an equation with a generated program in it; false when `prim` is not of that kind. */
bool laws_generate_nested(laws_gen *g, const tn_prim *prim);

tn_i_var laws_gen_real(laws_gen *g); /* any float value */
void laws_gen_keep(laws_gen *g, tn_i_var v);

#endif
