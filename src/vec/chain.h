/* Chains: cheap operations one after another over blocks of a few vectors, which stay in registers.
 *
 * A chain is a list of links for a small machine.  It has three registers A, B and C, each a *block*: eight vectors
 * where the processor has 32 vector registers, else four.  A link does one operation on registers, of which one operand
 * may be in memory instead, dense or a block of its own (a *slot*) that the chain has stored, or one number for all
 * elements; its result goes to any register.  Then the next link follows, and at the end of the chain the next block.
 * So a value is stored only where three registers are not enough, and then takes a block instead of a tile.
 *
 * Each operation rounds as the scalar body of its primitive does: the bits are those of the strips. */
#ifndef TN_CHAIN_H
#define TN_CHAIN_H

#include "prims/prim.h"

/* What a link does with its operands r, s and t. */
typedef enum tn_i_link_op {
    TN_LINK_LOAD,    /* r, in memory */
    TN_LINK_STORE,   /* r, to memory */
    TN_LINK_FOLD,    /* r into lanes in memory (exec/nest.h: the order of sums) */
    TN_LINK_END,     /* of the chain */
    TN_LINK_NEG,     /* -r */
    TN_LINK_ABS,     /* |r| */
    TN_LINK_SQRT,    /* root of r */
    TN_LINK_CUBE,    /* r (r r) */
    TN_LINK_FOURTH,  /* (r r) (r r) */
    TN_LINK_INVERSE, /* 1 / r */
    TN_LINK_ADD,     /* r + s */
    TN_LINK_SUB,     /* r - s */
    TN_LINK_MUL,     /* r s */
    TN_LINK_DIV,     /* r / s */
    TN_LINK_MAX,     /* max(r, s) */
    TN_LINK_MIN,
    TN_LINK_FMA,  /* r s + t, rounded once, as those that follow */
    TN_LINK_FMS,  /* r s - t */
    TN_LINK_FNMA, /* t - r s */
    TN_LINKS
} tn_i_link_op;

/* Where an operand is. */
typedef enum tn_i_link_from {
    TN_FROM_A,
    TN_FROM_B,
    TN_FROM_C,
    TN_FROM_MEMORY,
    TN_FROM_ONE,
    TN_LINK_FROMS
} tn_i_link_from;
enum { TN_LINK_REGISTERS = TN_FROM_MEMORY };

/* A link that runs: x is the address of the operand that is in memory; `moves` is -1 where that is dense, of the place
 * of the block, and 0 where it is of the same place for all blocks. */
typedef struct tn_i_link {
    const void *to;
    const char *x;
    int64_t moves;
} tn_i_link;

enum {
    TN_CHAIN_BLOCK = 512, /* bytes of the longest block */
    TN_CHAIN_SLOTS = 24,  /* the most slots, and operands and results, of one chain */
    TN_CHAIN_LINKS = 256  /* the most links */
};

typedef struct tn_i_chain_set {
    /* What does `op` to register `to`; NULL where there is no such link: operands that are in memory are then loaded
     * first.  Those that may be exchanged stand in the order of tn_i_link_from. */
    const void *(*link)(int op, int to, int r, int s, int t);
    /* All whole blocks from byte `from` to byte `bytes`, of which those to `valid` are folded, byte 0 to lane 0; where
     * they end. */
    int64_t (*run)(const tn_i_link *first, int64_t from, int64_t bytes, int64_t valid);
    /* Less than a block, to one that is filled up with zeros, and from one. */
    void (*widen)(char *to, const char *from, int64_t bytes);
    void (*narrow)(char *to, const char *from, int64_t bytes);
    int64_t block; /* bytes, a power of two */
} tn_i_chain_set;

/* For f32 and f64; NULL where there is none. */
const tn_i_chain_set *tn_i_chain_of(int dtype, tn_i_isa isa);

extern const tn_i_chain_set tn_i_chain_plain_f32, tn_i_chain_plain_f64, tn_i_chain_avx2_f32, tn_i_chain_avx2_f64,
    tn_i_chain_avx512_f32, tn_i_chain_avx512_f64;

#endif
