/* Chains: cheap operations one after another over blocks of eight vectors, which stay in registers.
 *
 * A chain is a list of links.  Each one takes the eight vectors that the last one has left, the *held* ones, does one
 * operation on them, and calls the next.  Other operands are read from memory: dense ones block by block, or one number
 * for all elements, or a block of its own (a *slot*) that the chain itself has stored.  So a value that the next
 * operation reads is never stored, and one that a later operation of the chain reads takes a block instead of a tile.
 *
 * Each operation rounds as the scalar body of its primitive does: the bits are those of the strips. */
#ifndef TN_CHAIN_H
#define TN_CHAIN_H

#include "prims/prim.h"

/* What a link does; a: what is held, x and y: operands in memory. */
typedef enum tn_i_link_op {
    TN_LINK_LOAD,    /* x */
    TN_LINK_STORE,   /* to x, and held on to */
    TN_LINK_FOLD,    /* into the lanes at x, until the end in bytes that is at y (exec/nest.h: the order of sums) */
    TN_LINK_END,     /* of the chain */
    TN_LINK_NEG,     /* -a */
    TN_LINK_ABS,     /* |a| */
    TN_LINK_SQRT,    /* root of a */
    TN_LINK_TWICE,   /* a + a */
    TN_LINK_SQUARE,  /* a a */
    TN_LINK_CUBE,    /* a (a a) */
    TN_LINK_FOURTH,  /* (a a) (a a) */
    TN_LINK_INVERSE, /* 1 / a */
    TN_LINK_ADD,     /* a + x */
    TN_LINK_SUB,     /* a - x */
    TN_LINK_RSUB,    /* x - a */
    TN_LINK_MUL,     /* a x */
    TN_LINK_DIV,     /* a / x */
    TN_LINK_RDIV,    /* x / a */
    TN_LINK_MAX,     /* max(a, x) */
    TN_LINK_RMAX,    /* max(x, a) */
    TN_LINK_MIN,
    TN_LINK_RMIN,
    TN_LINK_SUM,         /* x + y */
    TN_LINK_DIFFERENCE,  /* x - y */
    TN_LINK_PRODUCT,     /* x y */
    TN_LINK_SQUARE_ADD,  /* a a + x, rounded once, as all that follow */
    TN_LINK_SQUARE_SUB,  /* a a - x */
    TN_LINK_SQUARE_RSUB, /* x - a a */
    TN_LINK_FMA,         /* a x + y */
    TN_LINK_FMS,         /* a x - y */
    TN_LINK_FNMA,        /* y - a x */
    TN_LINK_FMA_TO,      /* x y + a */
    TN_LINK_FMS_TO,      /* x y - a */
    TN_LINK_FNMA_TO,     /* a - x y */
    TN_LINKS
} tn_i_link_op;

/* Where an operand is: dense, of the place of the block; in a slot; one number for all. */
typedef enum tn_i_link_from { TN_FROM_DENSE, TN_FROM_SLOT, TN_FROM_ONE, TN_LINK_FROMS } tn_i_link_from;

/* A link that runs: x and y, addresses of the first block's operands. */
typedef struct tn_i_link {
    void (*fn)(void);
    const char *x, *y;
} tn_i_link;

enum {
    TN_CHAIN_BLOCK = 512, /* bytes of the longest block */
    TN_CHAIN_SLOTS = 24,  /* the most slots, and operands and results, of one chain */
    TN_CHAIN_LINKS = 256  /* the most links */
};

typedef struct tn_i_chain_set {
    void (*link[TN_LINKS][TN_LINK_FROMS][TN_LINK_FROMS])(void); /* by op, x, y */
    /* All whole blocks from byte `from` to byte `end`; where they end. */
    int64_t (*run)(const tn_i_link *first, int64_t from, int64_t end);
    /* Less than a block, to one that is filled up with zeros, and from one. */
    void (*widen)(char *to, const char *from, int64_t bytes);
    void (*narrow)(char *to, const char *from, int64_t bytes);
    int64_t block; /* bytes */
} tn_i_chain_set;

/* For f32 and f64; NULL where there is none. */
const tn_i_chain_set *tn_i_chain_of(int dtype, tn_i_isa isa);

extern const tn_i_chain_set tn_i_chain_plain_f32, tn_i_chain_plain_f64, tn_i_chain_avx2_f32, tn_i_chain_avx2_f64,
    tn_i_chain_avx512_f32, tn_i_chain_avx512_f64;

#endif
