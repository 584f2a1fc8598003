/* What the files of this folder share: what is known of a program before a line is written, and who writes it. */
#ifndef TN_CGEN_INSIDE_H
#define TN_CGEN_INSIDE_H

#include "cgen/helpers.h"

/* Of an operation. */
typedef struct tn_i_cnote {
    uint32_t label;  /* its number among values, loops or reductions: as printed */
    uint32_t block;  /* the FOR, IF or ELSE that it stands in, or TN_L_NONE */
    uint32_t behind; /* LAST, HALVES, JOIN: the FOR or IF that they stand behind */
    uint32_t chain;  /* CARRY: its NEXT; REDUCE, INTO: the next INTO of that reduction; TN_L_NONE: none */
    uint32_t fn;     /* the function that it is written in */
    uint32_t lanes;  /* the vector loop in blocks that it stands in, or TN_L_NONE */
    uint32_t run;    /* in such a loop: which loop over the block it is in; 0: none */
    uint32_t slot; /* where it lives between functions, or TN_L_NONE; of a FOR: its number, in blocks also the length */
    bool needed;   /* something that is stored depends on it */
    bool varies;   /* in a vector loop in blocks: another number in each iteration */
    bool array;    /* so, and an array of the block */
    bool blocks;   /* FOR: a vector loop in blocks */
    uint8_t wide;  /* in a vector loop, native: bytes of the widest numbers there, 4 or 8; else 0 */
    bool counted;  /* FOR: something counts it */
    bool keeps;    /* FOR: there are HALVES behind it */
    uint8_t call;  /* MAP: a CALL_ */
} tn_i_cnote;

/* How a MAP is computed: in place, by a function of vectors, by a strip of the library. */
enum { TN_C_PLACE, TN_C_VECTOR, TN_C_STRIP };

/* A function: operations first .. last - 1. */
typedef struct tn_i_cpiece {
    uint32_t first, last, parent;
    uint32_t root; /* the function whose `live` it uses: 0, or a part */
    uint32_t part; /* the parallel loop of which it is an iteration, or TN_L_NONE */
    uint32_t twin; /* another one that begins here, or TN_L_NONE */
    size_t live[TN_NDTYPES];
    bool has_live; /* roots: there are slots, or reductions */
} tn_i_cpiece;

typedef struct tn_i_cwriter {
    tn_i_cgen *g;
    const tn_i_loops *p;
    const char *name;
    tn_i_cnote *note;
    uint32_t *at; /* the last function that begins at an operation, or TN_L_NONE */
    tn_i_cpiece *fn;
    uint32_t nfn;
    size_t cfn;
    bool calls;      /* there are CALLs: functions return a status */
    bool in_scratch; /* C99: reductions are in scratch memory, as too much for the stack */
    bool failed;
    /* The function that is being written. */
    uint32_t cur;
    tn_i_text *t;
    tn_i_text pointers; /* what it declares first: arrays that it uses */
    bool *seen;         /* of arrays: it has declared them */
    bool table, status; /* it uses these */
    int depth;
    uint32_t inside; /* the vector loop whose loop over the block is open, or TN_L_NONE */
} tn_i_cwriter;

/* look.c: notes; pieces.c: functions; live.c: where values are. */
bool tn_i_c_look(tn_i_cwriter *w);
bool tn_i_c_pieces(tn_i_cwriter *w);
bool tn_i_c_live(tn_i_cwriter *w);
/* What an operand is: LAST is its CARRY. */
static inline uint32_t tn_i_c_root(const tn_i_loops *p, uint32_t v) {
    return p->op[v].kind == TN_L_LAST ? p->op[v].in[0] : v;
}
/* Elements of a block of a loop; whether it is only one; what its arrays have. */
int64_t tn_i_c_block(const tn_i_cwriter *w, uint32_t loop, bool *only);
int64_t tn_i_c_room(const tn_i_cwriter *w, uint32_t loop);
/* How many words of the numbers' own type a reduction's state has. */
int64_t tn_i_c_words(const tn_i_cwriter *w, uint32_t reduce);

/* text.c: a line, indented. */
void tn_i_c_line(tn_i_cwriter *w, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void tn_i_c_open_brace(tn_i_cwriter *w, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void tn_i_c_close_brace(tn_i_cwriter *w);
enum { TN_C_NAME = 96, TN_C_AFFINE = 1400 };
/* A value as an operand; what is assigned to it; the array that it is. */
const char *tn_i_c_value(tn_i_cwriter *w, uint32_t v, char text[TN_C_NAME]);
const char *tn_i_c_array(tn_i_cwriter *w, uint32_t v, char text[TN_C_NAME]);
/* "const double v3 = ", or "s->f64[3] = ". */
const char *tn_i_c_define(tn_i_cwriter *w, uint32_t v, char text[TN_C_NAME]);
/* Declares it, if it needs that, to be assigned to later. */
void tn_i_c_declare(tn_i_cwriter *w, uint32_t v);
/* Truth values in vector loops are as wide as the widest numbers there, but for those that a strip of the library
 * makes: compilers make little of loops that mix bytes with them. */
bool tn_i_c_wide(const tn_i_cwriter *w, uint32_t v);
const char *tn_i_c_affine(tn_i_cwriter *w, const tn_i_l_affine *a, char text[TN_C_AFFINE]);
/* "p3", which the function declares. */
const char *tn_i_c_pointer(tn_i_cwriter *w, uint32_t array, char text[TN_C_NAME]);
void tn_i_c_literal(tn_i_text *t, int dtype, uint64_t bits);

/* helpers.c */
/* The entry of the table that holds this address. */
uint32_t tn_i_c_address(tn_i_cgen *g, const void *p);

extern const tn_i_c_helper tn_i_c_libm_helpers[]; /* libm.c */
bool tn_i_c_in_libm(const char *name);            /* NULL: no */

/* map.c: how k is computed; the statement; a call over a block. */
uint8_t tn_i_c_way(const tn_i_cwriter *w, uint32_t k);
void tn_i_c_map(tn_i_cwriter *w, uint32_t k);
/* What update k makes of what is there and of what is given. */
void tn_i_c_updated(tn_i_cwriter *w, uint32_t k, const char *there, const char *given, tn_i_text *t);
/* Function k of one number and those right behind it that go with it, by one call; what is behind them, or k: none does
 */
uint32_t tn_i_c_functions(tn_i_cwriter *w, uint32_t k, uint32_t last);
void tn_i_c_call_block(tn_i_cwriter *w, uint32_t k);
/* memory.c: statements of loads, stores, calls. */
void tn_i_c_load(tn_i_cwriter *w, uint32_t k);
void tn_i_c_store(tn_i_cwriter *w, uint32_t k);
void tn_i_c_call(tn_i_cwriter *w, uint32_t k);
/* reduce.c */
void tn_i_c_reduce(tn_i_cwriter *w, uint32_t k);
void tn_i_c_into(tn_i_cwriter *w, uint32_t k);
void tn_i_c_total(tn_i_cwriter *w, uint32_t k);
void tn_i_c_halves(tn_i_cwriter *w, uint32_t k);
void tn_i_c_keep(tn_i_cwriter *w, uint32_t loop);           /* what HALVES behind it read, at the end of an iteration */
void tn_i_c_declare_halves(tn_i_cwriter *w, uint32_t loop); /* in front of it */
/* lanes.c: a loop over the block; the operations from k on that are in one; a vector loop
 * in blocks. */
void tn_i_c_open_lanes(tn_i_cwriter *w, uint32_t loop, bool counted);
void tn_i_c_close_lanes(tn_i_cwriter *w);
uint32_t tn_i_c_run(tn_i_cwriter *w, uint32_t k, uint32_t last);
void tn_i_c_blocks(tn_i_cwriter *w, uint32_t k);
/* blocks.c: operations first .. last - 1; one of them alone. */
void tn_i_c_body(tn_i_cwriter *w, uint32_t first, uint32_t last);
void tn_i_c_operation(tn_i_cwriter *w, uint32_t k);
void tn_i_c_next(tn_i_cwriter *w, uint32_t k, uint32_t last); /* NEXTs from k on, at once */

#endif
