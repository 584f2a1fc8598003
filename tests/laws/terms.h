/* What programs compute, as terms: values that are computed in the same way from the same inputs are
 * one term, whichever program, region or nested program computes them.  So programs can be compared
 * by what they compute, and how often. */
#ifndef LAWS_TERMS_H
#define LAWS_TERMS_H

#include "laws/laws.h"

/* An operation on terms; its results are the terms out .. out+nout-1.  A leaf (an input or a literal)
 * has no prim and one result. */
typedef struct laws_op {
    uint64_t hash;
    const tn_prim *prim;
    const tn_i_eqn *e; /* one of the equations that do it, of f */
    const tn_fn *f;
    uint32_t *in, nin, out, nout;
    uint64_t bits; /* of a literal */
    double flops;
    bool linear, literal; /* linear: some operand is */
} laws_op;

typedef struct laws_term {
    const tn_type *type;
    uint32_t op; /* that it is a result of */
} laws_term;

typedef struct laws_terms {
    laws_trial *t;
    laws_op *op;
    laws_term *term;
    uint32_t nop, n, cop, cterm;
} laws_terms;

/* A program's run, with the nested programs that partial evaluation looks into. */
typedef struct laws_flat {
    uint32_t *times;  /* per operation (nop of them): how often it was done */
    uint8_t *visible; /* per term (n of them): has a place outside regions that save nothing, or leaves one */
    uint32_t nop, n;
    bool nested, regions; /* ran nested programs; regions among them */
    uint32_t *out;        /* the program's outputs */
} laws_flat;

/* Whether f runs loops, at any depth.  How often a loop runs its steps, and which values of different steps are the
 * same, terms do not tell. */
bool laws_has_loops(const tn_fn *f);
void laws_terms_init(laws_terms *k, laws_trial *t);
uint32_t laws_leaf(laws_terms *k, const tn_type *type, bool linear);
/* Leaves for all inputs of f from `first` on. */
void laws_leaves(laws_terms *k, const tn_fn *f, uint32_t first, uint32_t *in);
/* Whether f runs one of several programs somewhere: what is done then nobody knows beforehand. */
bool laws_forks(const tn_fn *f);
laws_flat laws_flatten(laws_terms *k, const tn_fn *f, const uint32_t *in);

static inline const laws_op *laws_op_of(const laws_terms *k, uint32_t v) { return &k->op[k->term[v].op]; }
static inline bool laws_is_leaf(const laws_op *op) { return !op->prim; }
static inline uint32_t laws_times(const laws_flat *a, uint32_t op) { return op < a->nop ? a->times[op] : 0; }

#endif
