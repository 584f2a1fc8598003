/* What the interpreter of nests runs: instructions over tiles, made once of a nest (nest_code.c), run by nest_run.c.
 *
 * The index space is walked in *blocks*: some whole rows, when rows are short, else a piece of one row.  A block is a
 * range of the space's linear index, so an operand that is dense there is used where it is, and a result that is stored
 * densely is computed in its place.  Everything else is a tile of a block's elements in scratch memory, shared by
 * values that are not alive together. */
#ifndef TN_NEST_CODE_H
#define TN_NEST_CODE_H

#include "exec/nest_part.h"
#include "vec/vec.h"

/* An array over a linear index: loops merged where the array walks them evenly, outermost first, at least one. */
typedef struct tn_i_nest_walk {
    uint32_t n;
    int64_t size[TN_MAX_RANK + 1], stride[TN_MAX_RANK + 1];
} tn_i_nest_walk;

typedef enum tn_i_nest_code_kind {
    TN_CODE_MAP,    /* strip over in[], strides s[] */
    TN_CODE_LOAD,   /* `array` along `walk` into a tile */
    TN_CODE_BOX,    /* the same, where `array` is boxed; in[0], stride s[0], is what is read outside; s[1] loops walk;
                     * s[2]: TN_BOX_FIRST, TN_BOX_OVER */
    TN_CODE_PICK,   /* a load of a tiny nest: offsets of all elements in bytes, or TN_NOT_PICKED: in[0], s[0], are at
                       gather[walk] */
    TN_CODE_PUT,    /* a store of a tiny nest, likewise */
    TN_CODE_LOOKUP, /* elements of `array`, `by` apart, of indices in[0] up to `first`: s[1] bytes each; s[2]: others
                       are given s[3] */
    TN_CODE_IOTA,   /* `walk` has strides of indices */
    TN_CODE_SPREAD, /* a value of each row, for all its elements */
    TN_CODE_STORE,  /* in[0], with stride s[0], to `array` along `walk` */
    TN_CODE_ROWS,   /* in[0], whole rows, folded to one value each */
    TN_CODE_SINK    /* in[0] into `sink` */
} tn_i_nest_code_kind;

#define TN_NOT_PICKED INT32_MIN

typedef struct tn_i_nest_instr {
    uint8_t kind, dtype, size; /* of the result, or of what is stored */
    uint8_t nin;
    bool lasting;        /* made once, for a whole block */
    bool padded;         /* a tile of a tiny nest: filled up behind its end, and computed on to there */
    uint32_t out, in[4]; /* values */
    int64_t s[4];
    tn_i_strip *strip;
    tn_i_one *one;
    tn_i_number_fn *number, *const *lanes;
    const tn_i_vec_fold *fold; /* ROWS; NULL: `sink` says which extreme */
    tn_i_spread *spread;       /* SPREAD of values of rows */
    uint32_t array, walk, sink;
    int64_t by, first;
} tn_i_nest_instr;

/* Where a value is.  In `memory` of an array: then `offset` is a tile for the case that nobody wants that output. */
typedef struct tn_i_nest_value {
    uint8_t where, size;
    uint32_t array, walk;
    size_t offset; /* in scratch */
} tn_i_nest_value;
enum { TN_VALUE_NONE, TN_VALUE_SCRATCH, TN_VALUE_BUFFER, TN_VALUE_MEMORY };

/* A reduction that is not one of whole rows within a block.  Its loops are merged into groups, kept and reduced in
 * turn. Kept ones in front of the first reduced group, of `prefix` elements, only begin it anew. */
typedef struct tn_i_nest_sink {
    uint8_t fold, dtype, size, out_dtype, out_size;
    bool arg;                      /* argmax or argmin */
    bool inner_kept;               /* the innermost group */
    uint32_t in, out, array, walk; /* result: value `out`, or, if that is TN_NOVAR, to array along walk */
    int64_t n, kept;               /* elements of each result; results alive at once */
    int64_t lanes;                 /* fewer than TN_LANES where the others would stay empty */
    uint32_t ngroup, levels;
    int64_t group[TN_MAX_RANK + 1], folds[TN_MAX_RANK + 1], keeps[TN_MAX_RANK + 1], begins[TN_MAX_RANK + 1];
    size_t state, stack; /* in scratch: lanes of all kept; entries of the counter */
    uint64_t identity;
    const tn_i_vec_fold *kernel;
    int64_t leaves; /* of a piece: a power of two; 0: it is not cut */
    size_t parts;   /* in all threads' scratch: results of the pieces, `kept` each */
} tn_i_nest_sink;

/* Scalar code: a nest of one element (nest_scalar.c).  Its values are in registers, a piece of scratch that begins with
 * the constants.  Equations of one kind that do not wait for each other are one instruction over a vector of them: of
 * `n` registers side by side, a whole number of the machine's vectors, of which the last ones repeat the first. */
typedef enum tn_i_scalar_from {
    TN_FROM_SAME,  /* register `in`, for all */
    TN_FROM_ROW,   /* registers side by side from `in` on */
    TN_FROM_GATHER /* n registers, named from gather[in] on */
} tn_i_scalar_from;

/* What a vector of numbers is made of and by; where they are is in its tn_i_number_op. */
typedef struct tn_i_scalar_many {
    tn_i_strip *strip;
    const int32_t *gather; /* the code's */
    uint16_t n;
    uint8_t nin, from[3], size[3]; /* of each operand */
} tn_i_scalar_many;

/* A number that is loaded or stored. */
typedef struct tn_i_scalar_move {
    uint32_t array, at; /* at: offset in scratch */
    uint32_t size;
    int64_t from; /* bytes from where the array is */
} tn_i_scalar_move;

typedef struct tn_i_nest_section {
    uint32_t first, last;
} tn_i_nest_section;

typedef struct tn_i_nest_code {
    tn_i_nest_part *part; /* by nest_split.c, run one after another; then there is nothing else */
    uint32_t nparts;
    bool scalar, whole; /* whole: a block has whole rows */
    bool tiny;          /* at most TN_LANES elements */
    bool numbers;       /* and run as a program of numbers (nest_tiny.c) */
    uint32_t nnumber, nmany, nload, nstore, nconstant;
    uint32_t ninstr, nvalue, nwalk, nsink;
    int64_t tile, block; /* elements of a tile; rows of a block */
    int64_t reach;       /* elements of a row that run at once, if all outputs are wanted */
    tn_i_nest_section once, before, elements[TN_NEST_PHASES], row[TN_NEST_PHASES];
    tn_i_nest_instr *instr;
    tn_i_nest_value *value;
    tn_i_nest_walk *walk;
    tn_i_nest_sink *sink;
    tn_i_number_op *number; /* of one element, or of a tiny nest: in order */
    tn_i_scalar_many *many;
    struct tn_i_tiny *small; /* what they do, of a tiny nest */
    size_t cnumber, nsmall;
    tn_i_scalar_move *load, *store; /* load: all of both */
    int32_t *gather;                /* offsets in scratch; of tiny nests in arrays */
    size_t ngather, cgather;
    uint64_t *constant; /* of scalar code; else an image of the values that are once */
    uint32_t *moving;   /* values whose address follows the block */
    uint32_t nmoving, nonce;
    size_t once_at;                      /* where the image is in scratch */
    size_t cinstr, cvalue, cwalk, csink; /* how many there is room for */
    size_t nop;
    uint32_t threads;     /* the most that run it */
    long process;         /* the one that it was made in (exec/parallel.h), where they are several */
    int64_t unit, pieces; /* rows of a piece, or elements where there is one row; how many */
    size_t each;          /* scratch of a thread */
} tn_i_nest_code;

/* tn_i_nest_ready for an instruction set, and with functions of 1 ulp. */
bool tn_i_nest_prepare(tn_ctx *c, tn_i_nest *nest, tn_i_isa isa, bool accurate);

/* Runs it: data[a] is where index 0 of array a is, NULL for an output that is not wanted. */
void tn_i_nest_execute(const tn_i_nest *nest, char *const *data, void *scratch);

/* What computes an operation of kind MAP; false, with an error, where nothing does. */
bool tn_i_nest_kernel(tn_ctx *c, const tn_i_nest *n, const tn_i_nest_op *o, tn_i_isa isa, bool accurate, tn_i_vec *out);

/* ---- parts (nest_split.c) ---- */
/* Makes parts of the nest where boxes of its operands begin and end, and code of each, if that is worth it. */
bool tn_i_nest_split(tn_ctx *c, tn_i_nest *n, tn_i_isa isa, bool accurate, bool *done);
void tn_i_nest_drop_parts(tn_ctx *c, tn_i_nest_code *code);

/* ---- numbers (nest_scalar.c) ---- */
bool tn_i_scalar_make(tn_ctx *c, tn_i_nest *n, tn_i_nest_code *code, tn_i_isa isa, bool accurate);
void tn_i_scalar_run(const tn_i_nest_code *code, char *const *data, char *scratch);

/* ---- tiny nests (nest_tiny.c) ---- */
/* An instruction over n elements, of `rows` rows; tiles are filled up to `width` of them. */
struct tn_i_tiny {
    const tn_i_nest_code *code;
    const tn_i_nest_instr *instr;
    int64_t n, rows, width;
};

/* Operations that are being written; there is room for two of each instruction. */
typedef struct tn_i_tiny_maker {
    const tn_i_nest_code *code;
    tn_i_number_op *op;
    struct tn_i_tiny *small;
    uint32_t nop, nsmall;
    bool vectors;        /* of AVX2 are there */
    int64_t width;       /* of all tiles */
    const uint32_t *own; /* of each value: where it is instead, or TN_NOVAR; NULL: all are where the code says */
} tn_i_tiny_maker;

tn_i_tiny_maker tn_i_tiny_begin(const tn_i_nest *n, tn_i_number_op *op, struct tn_i_tiny *small, tn_i_isa isa);
/* False where nothing here runs it. */
bool tn_i_tiny_add(tn_i_tiny_maker *m, const struct tn_i_tiny *x);
/* All instructions in their order, at most `code->ninstr`; returns how many. */
uint32_t tn_i_tiny_order(const tn_i_nest *n, struct tn_i_tiny *list);
/* Whether a load or store is of all elements, which are side by side in memory. */
bool tn_i_tiny_dense(const struct tn_i_tiny *x);

/* Once everything is placed.  False after an error. */
bool tn_i_tiny_make(tn_ctx *ctx, tn_i_nest *n, tn_i_nest_code *code, tn_i_isa isa);
void tn_i_tiny_drop(tn_ctx *ctx, tn_i_nest_code *code);
void tn_i_tiny_run(const tn_i_nest_code *code, char *const *data, char *scratch);
/* Elements at offsets, of which there are TN_LANES, or of `fill`, a tile if step is 1; n of them. */
void tn_i_nest_pick(uint8_t size, const int32_t *at, const char *from, const char *fill, int64_t step, char *to);
void tn_i_nest_put(uint8_t size, const int32_t *at, const char *from, int64_t by, int64_t n, char *to);

/* Whether and where it is cut for several threads, and what they need (nest_cut.c). */
bool tn_i_nest_cut(tn_ctx *c, tn_i_nest *nest);

/* ---- moving (nest_move.c) ---- */
int64_t tn_i_walk_far(const tn_i_nest_walk *w, int64_t at);
static inline int64_t tn_i_walk_offset(const tn_i_nest_walk *w, int64_t at) {
    return w->n == 1 ? at * w->stride[0] : tn_i_walk_far(w, at);
}
void tn_i_walk_load(const tn_i_nest_walk *w, int size, const char *from, int64_t at, int64_t n, char *to);
void tn_i_walk_store(const tn_i_nest_walk *w, int size, char *to, int64_t at, int64_t n, const char *from,
                     int64_t step);
void tn_i_look_up(const tn_i_nest_instr *e, const char *table, const char *index, int64_t n, char *to);
void tn_i_walk_iota(const tn_i_nest_walk *w, int dtype, int64_t by, int64_t first, int64_t at, int64_t n, char *to);
enum {
    TN_BOX_FIRST = 1, /* what is outside nobody reads */
    TN_BOX_OVER = 2   /* in[0] is a tile that nothing else reads: may be written over */
};
/* fill NULL: whatever is outside. */
void tn_i_box_load(const tn_i_nest *nest, const tn_i_nest_array *a, uint32_t loops, const char *from, int64_t at,
                   int64_t n, const char *fill, int64_t step, char *to);
bool tn_i_box_misses(const tn_i_nest *nest, const tn_i_nest_array *a, uint32_t loops, int64_t at, int64_t n);
/* Where n elements from index `at` on lie densely within the box; NULL: they do not. */
const char *tn_i_box_within(const tn_i_nest *nest, const tn_i_nest_array *a, uint32_t loops, const char *from,
                            int64_t at, int64_t n);
void tn_i_repeat(int size, const char *from, char *to, int64_t n);

/* ---- reductions (nest_fold.c) ---- */
/* parts: the scratch of all threads. */
void tn_i_sink_run(const tn_i_nest_code *code, const tn_i_nest_sink *k, char *scratch, char *parts, char *const *data,
                   const char *x, int64_t at, int64_t n, char *out);
/* The result of what was cut into pieces; scratch: of one thread. */
void tn_i_sink_join(const tn_i_nest_code *code, const tn_i_nest_sink *k, char *scratch, char *parts, char *const *data,
                    char *out);
void tn_i_arg_rows(const tn_i_nest_sink *k, const char *x, int64_t rows, int64_t row, char *out);

#endif
