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
/* The same with one float output of each of the given types, between -1 and 1. */
const tn_fn *laws_generate_to(laws_gen *outer, uint32_t nin, const tn_type *in, int steps, uint32_t nout,
                              const tn_type *out);
/* Emits an equation with a generated program in it; false when `prim` is not of that kind. */
bool laws_generate_nested(laws_gen *g, const tn_prim *prim);
bool laws_generate_loop(laws_gen *g, const tn_prim *prim); /* scan, while, cond */
void laws_generate_complex(laws_gen *g);                   /* a function of complex arrays, or Fourier transforms */

tn_i_var laws_gen_real(laws_gen *g);                          /* any float value */
tn_i_var laws_gen_whole(laws_gen *g, int64_t lo, int64_t hi); /* an i64[] between lo and hi */
/* Some of v's elements, v repeated, or one of v's elements everywhere. */
tn_i_var laws_gen_fit(laws_gen *g, tn_i_var v, const tn_type *want);
void laws_gen_keep(laws_gen *g, tn_i_var v);

#endif
