/* Making code of a nest: for nest_code.c and nest_place.c only. */
#ifndef TN_NEST_MAKE_H
#define TN_NEST_MAKE_H

#include "exec/nest_code.h"

/* How often an operation runs, once it is known what ONCE means beside reductions of all elements. */
typedef enum rate { ONCE, ROW, ELEMENT } rate;

typedef struct maker {
    tn_ctx *ctx;
    tn_i_nest *nest;
    tn_i_nest_code *code;
    tn_i_isa isa;
    bool accurate, many;         /* many: blocks of several rows */
    uint8_t *rate, *late;        /* of each operation; late: reads a reduction of the row */
    uint32_t *at, *last;         /* of each value: instructions that make it and read it last */
    uint32_t *spread;            /* of each operation: the value that has it for all elements, or TN_NOVAR */
    uint32_t *group;             /* of each value: its tile */
    uint16_t *readers;           /* of each operation */
    uint8_t *copied;             /* of each operation: a load that must not be read in place */
    uint32_t *order;             /* room for a list of operations */
    uint32_t ntile, nrow, begin; /* begin: of the section that is being made */
    uint8_t widest;
    uint32_t cycle; /* blocks have whole rounds of the loops over rows from this one on, `round` rows each */
    int64_t round;
    size_t bytes;
} maker;

static inline uint32_t mask_of(uint32_t first, uint32_t last) {
    uint32_t mask = 0;
    for (uint32_t d = first; d < last; d++) mask |= 1u << d;
    return mask;
}

static inline uint32_t inner_mask(const tn_i_nest *n) { return mask_of(n->nouter, n->nloop); }

static inline bool of_row(const tn_i_nest *n, const tn_i_nest_op *o) {
    return o->kind == TN_NEST_REDUCE && o->over == inner_mask(n);
}

static inline uint8_t size_of(int dtype) { return (uint8_t)tn_i_dtype_size(dtype); }

/* nest_code.c: whether `load` may read where array a, an output, is written. */
bool tn_i_nest_may_share(const tn_i_nest *n, const tn_i_nest_op *load, const tn_i_nest_array *a);

/* nest_place.c: sizes of tiles and blocks, and where each value is in scratch, when what runs is known. */
bool tn_i_nest_place(maker *m);

#endif
