/* Mutants: copies of one descriptor with one rule broken, put in a copy of the registry.
 *
 * A wrapped rule finds its mutant from the equation's descriptor, which is the mutant's first
 * member, and the true rule from `original`. */
#ifndef MUTANT_H
#define MUTANT_H

#include "laws/laws.h"

typedef enum mutant_part {
    PART_NONE, /* every rule wrapped, none broken: the laws must not notice */
    PART_PARTIAL,
    PART_JVP,
    PART_PRIMAL, /* primal outputs made by a jvp rule */
    PART_ZERO,   /* declares that the derivative is zero */
    PART_TRANSPOSE,
    PART_BATCH,
    PART_LINEAR,    /* the declared sets */
    PART_LINEARITY, /* the rule that takes their place */
    PART_STRIP,
    PART_KERNEL,
    PART_VIEW,
    PART_SIMPLIFY,
    PART_COMMUTES, /* declares that operands may be swapped */
    PART_SPLIT,
    PART_PRUNE,
    PART_EFFECT, /* declares that nothing happens */
    NPARTS
} mutant_part;

typedef enum mutant_damage {
    NEGATED,   /* bools: flipped */
    SCALED,    /* by 1.001; whole numbers one off, bools flipped */
    ONE,       /* only the last element, so */
    STRIDED,   /* scaled, but only where an operand is not dense */
    ROTATED,   /* lanes by one */
    DROPPED,   /* linear set `index` */
    ADDED,     /* operand `index`, as a set of its own */
    JOINED,    /* operand `index`, to the first set */
    PERMITTED, /* everything is linear */
    REFUSED,   /* nothing is */
    DENIED,    /* accepted, but the results are called not linear */
    STUCK,     /* a view whose elements are all the first one */
    MISSED,    /* done without: of what has no outputs */
    DECLARED
} mutant_damage;

typedef struct mutant {
    tn_prim prim; /* must be first */
    mutant_part part;
    mutant_damage how;
    int index;                /* operand, output, linear set */
    bool behind;              /* and those behind it */
    int dtype;                /* of kernels and strips; -1: any */
    int result;               /* strips: dtype of the output */
    long hits;                /* times that the break made a difference */
    uint64_t reached[NPARTS]; /* operands or outputs for which the wrapped rules gave values */
    char name[96];
} mutant;

/* m as a broken copy of `of`. */
void mutant_init(mutant *m, const tn_prim *of, mutant_part part, mutant_damage how, int index, int dtype);
/* Wraps rules (rules.c) or kernels (kernels.c) so that m->part is broken. */
void mutant_wrap_rules(mutant *m);
void mutant_wrap_kernels(mutant *m);

/* What samples of a primitive look like. */
typedef struct shape {
    uint32_t nin, nout;
    bool real_in[TN_CASE_MAX], whole_in[TN_CASE_MAX], real_out[64];
    bool effect;            /* no outputs */
    unsigned dtypes;        /* of operand 0 (or the result) in some sample with an element */
    int result[TN_NDTYPES]; /* dtype of output 0, by that of the operand that chooses the strip */
} shape;

/* Mutants of a primitive.  `control` is its unbroken copy, over which the laws have run: rules are broken in the places
 * that samples and descriptor show, and in those behind them that it reached. */
typedef struct mutants {
    mutant *v;
    size_t n, room;
} mutants;
void mutants_of(mutants *list, const mutant *control);

#endif
