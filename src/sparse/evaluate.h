/* Compressed evaluation: one linearization, its linear half over one seed a colour, the entries gathered. */
#ifndef TN_SPARSE_EVALUATE_H
#define TN_SPARSE_EVALUATE_H

#include "linearize/linearize.h"
#include "sparse/recovery.h"

/* What is made a program of; all of it is the caller's. */
typedef struct tn_i_compressed {
    const char *who;
    const tn_fn *f;          /* whose inputs and values the program has */
    const tn_i_parts *parts; /* of its linearization in wrt */
    const tn_i_sides *sides; /* rows: float outputs from `skip` on */
    uint32_t skip;
    const tn_coloring *colors; /* of the entries that are evaluated */
    const int64_t *entry;      /* nvalue: which of them, by row, each value is; -1: none */
    const void *constant;      /* nvalue numbers that are added; NULL: none */
    int64_t nvalue;
    bool symmetric, with_value;
} tn_i_compressed;

/* f's inputs -> (f's outputs, with_value,) the entries in that order. */
tn_fn *tn_i_compressed_program(const tn_i_compressed *q);

#endif
