/* Choosing instructions for a loop program (jit/jit.h): one walk over its operations, block by block.
 *
 * A number that is the same in all iterations of the vector loop around, or in no vector loop, is one register: the
 * lowest element of a vector.  One that is not is as many vectors side by side as `pieces`, of `lanes` elements each;
 * all dtypes have as many lanes, so that narrow ones take a part of a vector.  Where one number meets vectors it is
 * spread over a vector of its own, where it is made.
 *
 * Bools: with AVX-512 bits of a mask register, of which those beyond the lanes may be anything; with AVX2 elements of
 * all ones or zeros, of 8 bytes each, or of 4 in a vector loop where nothing has 8 (`mask` bytes).
 *
 * A vector loop is written for full vectors, then for what is left over with fewer pieces, of which the last has a mask
 * (`tail`).  Loops whose count is known and small may be written out; then their number is known (tn_i_w_loop.fixed).
 */
#ifndef TN_WALK_H
#define TN_WALK_H

#include "jit/jit.h"
#include "jit/machine.h"

/* What is known of an operation: its registers. */
typedef struct tn_i_w_note {
    tn_i_reg at;   /* one register; of a vector, where its registers are in tn_i_walk.piece */
    tn_i_reg many; /* spread, where that is wanted */
    bool varies;   /* in its vector loop */
    bool spread;   /* wanted as a vector */
    uint32_t loop; /* of FOR */
    uint32_t rows; /* of LOAD and STORE in a run: 1 + the unit that acts here; 0: none (walk_rows.c) */
} tn_i_w_note;

/* Strided accesses whose columns lie side by side. */
enum { TN_W_WITH_OTHERS = INT32_MAX }; /* acts where another of its unit stands */
typedef struct tn_i_w_rows {
    uint8_t n;
    uint32_t op[4]; /* in the order of their columns */
} tn_i_w_rows;

/* A multiple of a loop's number, which moves with it: bytes. */
typedef struct tn_i_w_stride {
    int64_t by;
    tn_i_reg at;
    uint32_t next;
} tn_i_w_stride;

/* A FOR while its body is written. */
typedef struct tn_i_w_loop {
    bool fixed;  /* the number of the iteration is `number`; else `counter` + `number` */
    bool counts; /* its counter is wanted */
    int64_t number;
    tn_i_reg counter; /* or TN_REG_NONE */
    uint32_t strides;
    uint8_t bytes, lanes, pieces; /* vector */
} tn_i_w_loop;

/* An address that does not change in the innermost loop: where a base, or an array that is a constant, begins, and the
 * sum of `term`, which count bytes, and of by x clamp(index, 0, hi). */
typedef struct tn_i_w_origin {
    uint32_t origin; /* a base, or nbase + an array */
    tn_i_reg index;  /* TN_REG_NONE: there is none */
    int64_t by, hi;
    tn_i_reg at;
    uint32_t n, bucket, next; /* in a table by contents: 1 + an address */
    tn_i_l_term term[TN_L_TERMS];
} tn_i_w_origin;

/* lo x clamp(index, 0, hi) of elements, as it was last computed; `of`: the register of the index. */
enum { TN_W_INDICES = 4 };
typedef struct tn_i_w_clamped {
    tn_i_reg of, at;
    int64_t lo, hi;
} tn_i_w_clamped;

/* Where an element is, as an instruction says it. */
typedef struct tn_i_w_mem {
    tn_i_reg base, index;
    uint8_t scale;
    int32_t disp;
} tn_i_w_mem;

enum { TN_W_BUCKETS = 1024, TN_W_MASK_BYTES = 8 };
typedef struct tn_i_walk {
    tn_i_machine m;
    tn_ctx *ctx;
    const tn_i_loops *p;
    const tn_i_jit_options *o;
    tn_i_w_note *note;
    tn_i_reg *piece;
    size_t npiece, cpiece;
    tn_i_w_loop *loop;
    tn_i_w_stride *stride;
    tn_i_w_origin *address;
    uint32_t bucket[TN_W_BUCKETS];
    size_t nloop, cloop, nstride, cstride, naddress, caddress;
    tn_i_reg run, base; /* the function's arguments */
    uint32_t part;      /* the parallel loop whose body this function is, or TN_L_NONE */
    uint32_t inner;     /* the innermost FOR that runs as a loop */
    uint32_t running;   /* the innermost loop of the machine's */
    unsigned machine;   /* bytes of a vector */
    /* of the vector loop that is open */
    uint32_t vector; /* TN_L_NONE: none */
    unsigned lanes, pieces, mask;
    int32_t arguments; /* of calls, on the stack; -1: not yet */
    int32_t scratch;   /* of sequences, on the stack; -1: not yet */
    tn_i_reg tail;     /* of the last piece; TN_REG_NONE: all of it */
    unsigned left;     /* how many lanes the tail has; 0: that is found when it runs */
    tn_i_w_rows *rows; /* of the run that is being written */
    size_t nrows, crows;
    tn_i_w_clamped index[TN_W_INDICES];
    unsigned nindex;
    tn_i_jit_label *parts; /* of parallel loops, by their number */
    uint32_t *parallel;
    size_t nparallel, cparallel, cparts;
} tn_i_walk;

static inline const tn_i_l_op *tn_i_w_o(const tn_i_walk *w, uint32_t k) { return &w->p->op[k]; }
static inline bool tn_i_w_wide(const tn_i_walk *w) { return w->m.wide; }
static inline void tn_i_w_refuse(tn_i_walk *w, const char *why) { tn_i_m_refuse(&w->m, why); }
bool tn_i_w_grow(tn_i_walk *w, void *p, size_t *capacity, size_t want, size_t size);

/* ---- instructions ----------------------------------------------------------------------------- */

/* Bytes of a register of so many elements, and of the instruction's vectors. */
static inline unsigned tn_i_w_element(const tn_i_walk *w, int dtype, unsigned lanes) {
    if (dtype != TN_BOOL) return (unsigned)tn_i_dtype_size(dtype);
    return lanes == 1 ? TN_W_MASK_BYTES : w->mask;
}
static inline unsigned tn_i_w_bytes(const tn_i_walk *w, int dtype, unsigned lanes) {
    const unsigned bytes = tn_i_w_element(w, dtype, lanes) * lanes;
    return lanes > 1 && bytes < 16 ? 16 : bytes;
}
static inline unsigned tn_i_w_size(unsigned bytes) { return bytes < 16 ? 16 : bytes; }

/* r = op(v, m), a vector of `bytes`; v may be TN_REG_NONE. */
tn_i_reg tn_i_w_put(tn_i_walk *w, unsigned op, unsigned bytes, tn_i_reg v, tn_i_reg m, int imm);
/* The same with vectors of another size in the instruction. */
tn_i_reg tn_i_w_put_of(tn_i_walk *w, unsigned op, unsigned size, unsigned bytes, tn_i_reg v, tn_i_reg m, int imm);
/* m = op(r, imm) */
tn_i_reg tn_i_w_narrow(tn_i_walk *w, unsigned op, unsigned size, unsigned bytes, tn_i_reg x, int imm);
tn_i_reg tn_i_w_shift(tn_i_walk *w, unsigned op, int dtype, unsigned lanes, tn_i_reg x, int by);
tn_i_reg tn_i_w_put_k(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg v, tn_i_reg m, int imm); /* r: a mask */
void tn_i_w_general(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg r, tn_i_reg m, int32_t imm);
/* op reg, m of general registers where reg is read and written (add ..); r fixed. */
void tn_i_w_two(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg r, tn_i_reg m);
/* op m, imm where m, fixed, is read and written or only read. */
void tn_i_w_imm(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg m, int32_t imm);
/* r is compared with m, with a number, of 64 bits; r is m where the condition is true. */
void tn_i_w_cmp(tn_i_walk *w, tn_i_reg r, tn_i_reg m);
void tn_i_w_cmp_number(tn_i_walk *w, tn_i_reg r, int64_t x);
void tn_i_w_cmov(tn_i_walk *w, unsigned cc, tn_i_reg r, tn_i_reg m);
void tn_i_w_set(tn_i_walk *w, tn_i_reg r, int64_t x);
void tn_i_w_add(tn_i_walk *w, unsigned op, unsigned cc, int32_t imm); /* jumps, labels, blocks */
/* With memory: r = op(v, memory), or the store of r; size of general registers or vectors. */
tn_i_reg tn_i_w_load_op(tn_i_walk *w, unsigned op, unsigned size, unsigned bytes, tn_i_reg v, const tn_i_w_mem *at);
void tn_i_w_store_op(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg r, const tn_i_w_mem *at, bool array);
/* Of the last instruction: its mask, its operand v. */
void tn_i_w_mask_last(tn_i_walk *w, tn_i_reg mask, bool zero);
void tn_i_w_last_v(tn_i_walk *w, tn_i_reg v);
void tn_i_w_from_vector(tn_i_walk *w, unsigned op, tn_i_reg to, tn_i_reg x); /* a general register, fixed */
void tn_i_w_bit(tn_i_walk *w, tn_i_reg p);                                   /* a bool, one number, as 0 or 1 in eax */
void tn_i_w_fixed_load(tn_i_walk *w, unsigned op, unsigned size, tn_i_reg r, const tn_i_w_mem *at);
static inline tn_i_w_mem tn_i_w_stack(int32_t at) {
    return (tn_i_w_mem){.base = TN_RSP_, .index = TN_REG_NONE, .scale = 1, .disp = at};
}
static inline tn_i_w_mem tn_i_w_at(tn_i_reg base, int32_t disp) {
    return (tn_i_w_mem){.base = base, .index = TN_REG_NONE, .scale = 1, .disp = disp};
}
/* The stack's part for sequences that go through it: places for three vectors, one of 128 bytes, one for bytes, and one
 * for addresses. */
enum { TN_W_X = 0, TN_W_Y = 64, TN_W_Z = 128, TN_W_AT = 192, TN_W_MASK = 320, TN_W_CALL = 384, TN_W_SCRATCH = 448 };
int32_t tn_i_w_scratch(tn_i_walk *w, int place);
int32_t tn_i_w_area(tn_i_walk *w, int32_t bytes); /* of the stack, for good; sequences use what follows it */

/* Constants: all elements of a vector the same; one number. */
tn_i_reg tn_i_w_all(tn_i_walk *w, int dtype, uint64_t bits, unsigned bytes);
tn_i_reg tn_i_w_bool(tn_i_walk *w, bool x, unsigned lanes);
/* A bool of which each lane is known: bit l of `lanes`. */
tn_i_reg tn_i_w_lanes(tn_i_walk *w, uint64_t lanes);
/* Whether all lanes of a bool are known to be false, true; `never` of numbers: whether they are known to be
 * +0. */
bool tn_i_w_never(const tn_i_walk *w, tn_i_reg p);
bool tn_i_w_always(const tn_i_walk *w, tn_i_reg p);

/* ---- numbers ---------------------------------------------------------------------------------- */

static inline bool tn_i_w_is_vector(const tn_i_walk *w, uint32_t k) { return w->note[k].varies; }
/* Of operation k: as one number; as piece i of a vector. */
static inline tn_i_reg tn_i_w_one(const tn_i_walk *w, uint32_t k) { return w->note[k].at; }
static inline tn_i_reg tn_i_w_piece(const tn_i_walk *w, uint32_t k, unsigned i) {
    return w->note[k].varies ? w->piece[w->note[k].at + i] : w->note[k].many;
}
/* Of operation k, one number, or a vector whose pieces come one after the other. */
void tn_i_w_is(tn_i_walk *w, uint32_t k, tn_i_reg one);
void tn_i_w_pieces(tn_i_walk *w, uint32_t k);
void tn_i_w_add_piece(tn_i_walk *w, tn_i_reg r);
/* One number that is the same for all lanes of a vector. */
tn_i_reg tn_i_w_spread(tn_i_walk *w, int dtype, tn_i_reg one);

/* walk.c */
void tn_i_w_ops(tn_i_walk *w, uint32_t first, uint32_t last);

/* walk_loop.c */
void tn_i_w_for(tn_i_walk *w, uint32_t k);
void tn_i_w_part(tn_i_walk *w, uint32_t k); /* a function's body: that of parallel loop k */
void tn_i_w_fixed_copy(tn_i_walk *w, unsigned to, tn_i_reg from);
void tn_i_w_call_c(tn_i_walk *w, int64_t address);          /* arguments are in fixed registers */
void tn_i_w_same(tn_i_walk *w, uint32_t k, uint32_t from);  /* k is what `from` is */
void tn_i_w_integer(tn_i_walk *w, tn_i_reg to, uint32_t k); /* one number, in a fixed register, as 64 bits */

/* walk_address.c */
/* Addresses that loop k reads in, up to what moves in it; and which multiples of its number. */
void tn_i_w_prepare(tn_i_walk *w, uint32_t k);
void tn_i_w_forget(tn_i_walk *w, size_t addresses); /* those that were found since */
void tn_i_w_address(tn_i_walk *w, uint32_t array, const tn_i_l_affine *e, int64_t more, tn_i_w_mem *at);
/* Of access o, whose index, where it has one, is one number; rdx is used. */
void tn_i_w_address_of(tn_i_walk *w, const tn_i_l_op *o, int64_t more, tn_i_w_mem *at);
/* rdx, an index of o, as one that there is; how many times that are bytes. */
unsigned tn_i_w_index_scaled(tn_i_walk *w, const tn_i_l_op *o);
/* For debugging (tn_i_jit_options.bounds), else nothing: traps unless `bytes` from `at` on are the array's; eax is
 * used. Or, in a conditional part of a sequence, where no register may be fetched: keep the array's origin first. */
void tn_i_w_bound(tn_i_walk *w, uint32_t array, const tn_i_w_mem *at, int64_t bytes);
void tn_i_w_keep_origin(tn_i_walk *w, uint32_t array);
void tn_i_w_bound_kept(tn_i_walk *w, uint32_t array, const tn_i_w_mem *at, int64_t bytes);
/* e into a fixed register (not rdx, which is used). */
void tn_i_w_affine(tn_i_walk *w, tn_i_reg to, const tn_i_l_affine *e);
/* e, where the numbers of its loops are known. */
bool tn_i_w_affine_known(const tn_i_walk *w, const tn_i_l_affine *e, int64_t *x);
tn_i_reg tn_i_w_multiple(tn_i_walk *w, uint32_t loop, int64_t by);

/* walk_memory.c */
void tn_i_w_load(tn_i_walk *w, uint32_t k); /* one number */
void tn_i_w_store(tn_i_walk *w, uint32_t k);
tn_i_reg tn_i_w_load_piece(tn_i_walk *w, const tn_i_l_op *o, unsigned i);
void tn_i_w_store_piece(tn_i_walk *w, uint32_t k, unsigned i);
/* Elements in a row, in the memory's form. */
tn_i_reg tn_i_w_get(tn_i_walk *w, int dtype, unsigned lanes, const tn_i_w_mem *at, tn_i_reg mask);
void tn_i_w_put_away(tn_i_walk *w, int dtype, unsigned lanes, const tn_i_w_mem *at, tn_i_reg x, tn_i_reg mask,
                     bool array);

/* walk_held.c: the same of dtypes that memory alone has; in a register, what memory of one has of x */
tn_i_reg tn_i_w_get_held(tn_i_walk *w, int dtype, unsigned lanes, const tn_i_w_mem *at, tn_i_reg mask);
void tn_i_w_put_held(tn_i_walk *w, int dtype, unsigned lanes, const tn_i_w_mem *at, tn_i_reg x, tn_i_reg mask,
                     bool array);
tn_i_reg tn_i_w_as(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg x);

/* walk_rows.c: strided accesses of operations first .. last - 1, by their notes; what such a unit does */
void tn_i_w_find_rows(tn_i_walk *w, uint32_t first, uint32_t last);
void tn_i_w_store_rows(tn_i_walk *w, const tn_i_w_rows *u, unsigned piece);
void tn_i_w_load_rows(tn_i_walk *w, const tn_i_w_rows *u, unsigned piece, tn_i_reg x[4]);
/* Store k, a column alone; false: it is none. */
bool tn_i_w_store_column(tn_i_walk *w, uint32_t k, unsigned piece);

/* walk_gather.c: piece i of load or store o whose elements are not in a row; TN_REG_NONE, false: in no quick way */
tn_i_reg tn_i_w_gather(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg mask);
/* Elements to where index in[0], which varies, says, of each lane; false: they are too far for 31 bits. */
bool tn_i_w_indices(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg *at);
bool tn_i_w_scatter(tn_i_walk *w, const tn_i_l_op *o, unsigned i, tn_i_reg x, tn_i_reg mask);
/* Indices of as many lanes, in vector x; `above`: none is below 0. */
typedef struct tn_i_w_places {
    tn_i_reg x;
    unsigned lanes;
    bool narrow, above;
    tn_i_reg part; /* the 16 bytes of x that a lane is in */
} tn_i_w_places;
/* Before each lane in its order, where it is used or not; then rdx is the lane's index. */
void tn_i_w_lane_part(tn_i_walk *w, tn_i_w_places *a, unsigned lane);
void tn_i_w_lane_index(tn_i_walk *w, const tn_i_w_places *a, unsigned lane);

/* walk_map.c, walk_int.c, walk_bool.c, walk_convert.c: operation `code` on one piece */
/* MAP o, if it is max or min of floats with a number: false, else. */
bool tn_i_w_limit(tn_i_walk *w, const tn_i_l_op *o, unsigned lanes, const tn_i_reg in[2], tn_i_reg *r);
tn_i_reg tn_i_w_map(tn_i_walk *w, int code, int from, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y, tn_i_reg z);
tn_i_reg tn_i_w_integers(tn_i_walk *w, int code, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y);
tn_i_reg tn_i_w_bools(tn_i_walk *w, int code, unsigned lanes, tn_i_reg x, tn_i_reg y, tn_i_reg z);
tn_i_reg tn_i_w_ones(tn_i_walk *w, unsigned lanes); /* elements of a bool, all true (AVX2) */
tn_i_reg tn_i_w_compare(tn_i_walk *w, int code, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y);
tn_i_reg tn_i_w_select(tn_i_walk *w, int dtype, unsigned lanes, tn_i_reg p, tn_i_reg x, tn_i_reg y);
tn_i_reg tn_i_w_convert(tn_i_walk *w, int from, int to, unsigned lanes, tn_i_reg x);
/* A bool as elements of `bytes`, or from such (AVX2); bit by bit into the lowest of eax. */
tn_i_reg tn_i_w_mask_as(tn_i_walk *w, unsigned bytes, unsigned lanes, tn_i_reg p);
tn_i_reg tn_i_w_mask_from(tn_i_walk *w, unsigned bytes, unsigned lanes, tn_i_reg p);
/* flags: NE where the bool of some lane is false; uses rax */
void tn_i_w_test_all(tn_i_walk *w, unsigned lanes, tn_i_reg p);
void tn_i_w_test(tn_i_walk *w, tn_i_reg p); /* flags: E where the bool, one number, is false; uses eax */
tn_i_reg tn_i_w_and(tn_i_walk *w, unsigned lanes, tn_i_reg p, tn_i_reg q); /* either may be TN_REG_NONE */
/* Element by element where there is no instruction: through the stack. */
tn_i_reg tn_i_w_each(tn_i_walk *w, int code, int from, int dtype, unsigned lanes, tn_i_reg x, tn_i_reg y);

/* walk_lanes.c */
void tn_i_w_index(tn_i_walk *w, uint32_t k);
void tn_i_w_within(tn_i_walk *w, uint32_t k);
tn_i_reg tn_i_w_upper(tn_i_walk *w, int dtype, unsigned h, tn_i_reg x); /* lanes h, h + 1 .. of x as the lowest */
void tn_i_w_halves(tn_i_walk *w, uint32_t k);
bool tn_i_w_has_halves(const tn_i_walk *w, uint32_t loop);
void tn_i_w_keep_halves(tn_i_walk *w, uint32_t loop); /* what they read of this iteration */

/* walk_sums.c */
void tn_i_w_reduce(tn_i_walk *w, uint32_t k);
void tn_i_w_into(tn_i_walk *w, uint32_t k);
void tn_i_w_total(tn_i_walk *w, uint32_t k);

/* walk_call.c */
void tn_i_w_fn(tn_i_walk *w, uint32_t k);
/* Function k, one number, and those right behind it that are the same one of other numbers, by one call where it is of
 * vectors: what is behind them; k where there is no other. */
uint32_t tn_i_w_fns(tn_i_walk *w, uint32_t k, uint32_t last);
void tn_i_w_call(tn_i_walk *w, uint32_t k);

#endif
