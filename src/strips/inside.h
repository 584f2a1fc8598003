/* Instructions of strips: what the files of this folder share. */
#ifndef TN_STRIPS_INSIDE_H
#define TN_STRIPS_INSIDE_H

#include "loop/inside.h"
#include "strips/strips.h"

typedef enum tn_i_s_kind {
    TN_S_MAP,    /* strip over in[], strides s[]; one: of one number */
    TN_S_KERNEL, /* operation `op` by the primitive's kernel, number by number */
    TN_S_COPY,   /* in[0], which s[0] 0 repeats */
    TN_S_INDEX,  /* numbers of iterations: the expression, `step` apart */
    TN_S_WITHIN, /* by <= the expression < last */
    TN_S_PLACE,  /* the address of the expression; where that array is missing, in[0]'s */
    TN_S_LOAD, /* in[0]: an index, in[1]: a mask, in[2]: what is read where that is false; strip: from memory's dtype */
    TN_S_STORE,  /* in[0], in[1] likewise, in[2]; strip: to memory's dtype, `out` is room for that */
    TN_S_JOIN,   /* in[0], or in[1] where number in[2] is 0 */
    TN_S_KEEP,   /* in[0] of this strip to the numbers `slot` of its loop, whose number is in[1] */
    TN_S_HALVES, /* of `last` numbers at `slot` */
    TN_S_REDUCE, /* reduction `slot` is empty */
    TN_S_INTO,   /* in[0] into it; `step` 1: into as many next to each other */
    TN_S_TOTAL,  /* of one of it, or of as many as the strip has */
    TN_S_WHILE,  /* where in[0] is false: to `to` */
    TN_S_CALL,
    TN_S_FOR,      /* out, slot: the number of the iteration and how many; in[0], or nin 0: added to the expression */
    TN_S_VECTOR,   /* the same, in strips */
    TN_S_PARALLEL, /* the same, by threads, of `last` iterations */
    TN_S_IF,       /* out: whether; to: where it is not */
    TN_S_GO,       /* to `to` */
    TN_S_END,      /* of the loop at `to` */
    TN_S_VECTOR_END,
    TN_S_STOP
} tn_i_s_kind;

/* Where a number, or a strip of them, is.  While instructions are made: which of its kind; then bytes from where the
 * registers begin, or from where the constants do. */
enum { TN_S_CONST = 1 << 30, TN_S_STRIP = 1 << 29, TN_S_AREA = 1 << 28, TN_S_NUMBER_OF = (1 << 28) - 1 };

typedef struct tn_i_s_term {
    uint32_t at; /* the number of an iteration */
    int64_t by;
} tn_i_s_term;

typedef struct tn_i_s_op {
    uint8_t kind, dtype, size, nin;
    uint8_t through; /* bits of in[], and bit 3 of out: there is the address of it */
    uint8_t index;   /* the dtype of an index; TN_NDTYPES: there is none */
    bool varies;     /* a strip of results, not one */
    bool masked;
    bool update; /* STORE: `strip` makes of what is there and in[2] what then is */
    uint32_t out, in[3];
    int64_t s[3];
    tn_i_strip *strip;
    tn_i_one *one;
    uint32_t term, nterm; /* the expression: of bytes where it is of memory */
    int64_t at, step;     /* step: from one iteration of the vector loop to the next */
    const char *data;     /* a constant array, or NULL: */
    uint32_t base;
    uint32_t to, op, slot;
    int64_t by, last;
} tn_i_s_op;

/* A REDUCE: its results' counts, lanes and the entries of their counters are in an area. */
typedef struct tn_i_s_sum {
    uint32_t area;
    uint8_t fold, dtype, size;
    bool alike; /* results are fed in one strip after another, all of them: the first one's count is that of all */
    int64_t count;
    const tn_i_vec_fold *of; /* NULL: of argmax and argmin */
} tn_i_s_sum;

struct tn_i_strips {
    tn_ctx *ctx;
    const tn_i_loops *p;
    uint32_t nop, nterm, nconstant, nsum;
    size_t cop, cterm, cconstant, csum;
    tn_i_s_op *op;
    tn_i_s_term *term;
    uint64_t *constant; /* each the first bytes of 8 */
    tn_i_s_sum *sum;
    int64_t strip; /* iterations of one */
    size_t bytes;
};

/* While it runs. */
typedef struct tn_i_s_state {
    const tn_i_strips *s;
    const tn_i_l_run *run;
    char *const *base;
    char *reg, *room; /* of this part; of all */
    int64_t n;        /* iterations of the strip; 1 outside of vector loops */
    tn_status status;
} tn_i_s_state;

static inline char *tn_i_s_register(const tn_i_s_state *t, uint32_t at) {
    return at & TN_S_CONST ? (char *)t->s->constant + (at ^ TN_S_CONST) : t->reg + at;
}
static inline char *tn_i_s_in(const tn_i_s_state *t, const tn_i_s_op *e, int k) {
    char *at = tn_i_s_register(t, e->in[k]);
    return e->through >> k & 1 ? *(char **)(void *)at : at;
}
static inline char *tn_i_s_out(const tn_i_s_state *t, const tn_i_s_op *e) {
    char *at = t->reg + e->out;
    return e->through & 8 ? *(char **)(void *)at : at;
}
static inline int64_t *tn_i_s_number(const tn_i_s_state *t, uint32_t at) { return (int64_t *)(void *)(t->reg + at); }
static inline int64_t tn_i_s_sum_of(const tn_i_s_state *t, const tn_i_s_op *e) {
    uint64_t v = (uint64_t)e->at;
    for (uint32_t i = e->term; i < e->term + e->nterm; i++)
        v += (uint64_t)t->s->term[i].by * (uint64_t)*tn_i_s_number(t, t->s->term[i].at);
    return (int64_t)v;
}

/* live_ranges.c: of each operation, the last one before which its value must be kept; of CARRYs that are LAST behind
 * their loop as long as these. */
typedef struct tn_i_s_range {
    uint32_t last;  /* its own index: nobody reads it */
    uint32_t block; /* the FOR, IF or ELSE around, or TN_L_NONE */
    uint32_t loop;  /* the FOR around */
    uint32_t in;    /* a MAP whose value may be computed where this CARRY is, or TN_L_NONE; of that MAP: the CARRY */
} tn_i_s_range;
void tn_i_s_find_ranges(const tn_i_loops *p, tn_i_s_range *range);

/* registers.c: places for values, of which each is told when the last that reads it is made. */
typedef struct tn_i_s_area_of {
    uint32_t place;
    bool free;
    size_t bytes;
} tn_i_s_area_of;
typedef struct tn_i_s_places {
    tn_ctx *ctx;
    uint32_t nnumber, nstrip, nfree[2], narea; /* so far; free: numbers, strips */
    uint32_t *free[2];
    tn_i_s_area_of *area;
    size_t cfree[2], carea, bytes; /* bytes: of areas */
    bool failed;
} tn_i_s_places;
uint32_t tn_i_s_take(tn_i_s_places *z, bool strip);
uint32_t tn_i_s_area(tn_i_s_places *z, size_t bytes);
void tn_i_s_give(tn_i_s_places *z, uint32_t place);
void tn_i_s_places_drop(tn_i_s_places *z);
/* How long strips are, and where everything is; false: it does not fit. */
bool tn_i_s_settle(tn_i_strips *s, const tn_i_s_places *z, int64_t most, size_t room);

/* memory.c */
void tn_i_s_index(const tn_i_s_state *t, const tn_i_s_op *e);
void tn_i_s_within(const tn_i_s_state *t, const tn_i_s_op *e);
void tn_i_s_place(const tn_i_s_state *t, const tn_i_s_op *e);
void tn_i_s_load(const tn_i_s_state *t, const tn_i_s_op *e);
void tn_i_s_store(const tn_i_s_state *t, const tn_i_s_op *e);
void tn_i_s_copy(int size, const char *from, int64_t s, char *to, int64_t n);

/* reduce.c */
void tn_i_s_empty(const tn_i_s_state *t, const tn_i_s_op *e);
void tn_i_s_into(const tn_i_s_state *t, const tn_i_s_op *e);
void tn_i_s_total(const tn_i_s_state *t, const tn_i_s_op *e);

/* bodies.c: what computes operation k, a MAP; both NULL: the primitive's kernel. */
void tn_i_s_body(const tn_i_loops *p, uint32_t k, tn_i_isa isa, bool accurate, tn_i_strip **strip, tn_i_one **one);

#endif
