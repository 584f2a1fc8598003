/* Loop programs: all that runs, as loops over arrays.
 *
 * Programs (ir/ir.h) say what is computed; a loop program says how: which loops, where each number is in memory, in
 * which order, by vectors of how many elements, by how many threads.  Lowering makes one, passes turn it into another,
 * and a back end walks it and decides nothing.  docs/loop-ir.md has the text with an example of each construct.
 *
 *     loop {
 *       array x: f64[8000] in base 0
 *       array h: f64[8] inout base 1
 *       array t: f64[8] scratch base 2
 *       arena 64 base 2
 *       for i0 < 1000 {
 *         for i1 < 8 {
 *           v0: f64 = load h[i1]
 *           v1: f64 = load x[8 i0 + i1]
 *           v2: f64 = add v0 v1
 *           v3: f64 = fn tanh v2
 *           store t[i1] = v3
 *         }
 *         call copy(read t[0 : 8], write h[0 : 8])
 *       }
 *     }
 *
 * A program is one array of operations.  FOR, IF and ELSE open a block, which the END (or ELSE) that `to` names closes.
 * An operation with a value is told by its index: values are defined once, and seen from there to the end of the block
 * that they are defined in.  So a walk forwards meets each operand before its reader, and a pass is one walk that
 * writes another program (tn_i_l_copy).
 *
 * Laws.
 * - A program that passes tn_i_l_check touches no element outside of its arrays, whatever the numbers in them.
 * - tn_i_l_eval says what it computes: bits, but for which NaN.  Passes keep that, back ends compute that.
 * - Arithmetic is as the primitives' scalar bodies have it (ops.def): nothing is contracted, reassociated or flushed.
 */
#ifndef TN_LOOPS_H
#define TN_LOOPS_H

#include "prims/prim.h"

#define TN_L_NONE UINT32_MAX
/* How deep blocks nest; loops that one address counts; iterations of a loop with HALVES. */
enum { TN_L_DEPTH = 64, TN_L_TERMS = 16, TN_L_HALVED = 64 };

/* ---- arrays --------------------------------------------------------------------------------------------------------
 *
 * A compiled program is called with a table of addresses, `char *const *base`, and is as good for any other.  Element 0
 * of an array is at base[a->base] + a->at.  None of the addresses is NULL: of a program some of whose outputs are not
 * wanted there are variants, from which the caller picks.
 *
 * Arrays of different bases do not share memory: who lowers makes sure, by giving what may be the same memory one base.
 * Arrays of one base share what their bytes say (tn_i_l_overlap). */
typedef enum tn_i_l_role {
    TN_L_IN,      /* read only */
    TN_L_OUT,     /* what it holds before does not count; may be read once it was written */
    TN_L_INOUT,   /* read and written */
    TN_L_TEMP,    /* like OUT, and of no use afterwards */
    TN_L_SCRATCH, /* likewise, in the arena: a pass may have it elsewhere there, and none may be beside it */
    TN_L_CONST    /* numbers that are known: `data`, no base */
} tn_i_l_role;

typedef struct tn_i_l_array {
    const char *name;    /* interned; a word, and its own in the program */
    uint8_t dtype, role; /* dtype: in memory; numbers are of its holder */
    uint32_t align;      /* bytes that its address is a multiple of: a power of two, at least the element's size */
    int64_t count;       /* elements, >= 0 */
    uint32_t base;       /* CONST: TN_L_NONE */
    int64_t at;          /* bytes, a multiple of the element's size; less than 0 where strides are */
    const void *data;    /* CONST: `count` elements, which live as long as the program; else NULL */
    bool own;            /* these are the program's */
} tn_i_l_array;

/* ---- affine expressions --------------------------------------------------------------------------------------------
 *
 * at + the sum of by x the number of the iteration (from 0) of a loop around.  Addresses, counts, predicates. */
typedef struct tn_i_l_term {
    uint32_t loop; /* the FOR */
    int64_t by;    /* not 0 */
} tn_i_l_term;
/* As one is made: terms in any order, also several of a loop. */
typedef struct tn_i_affine {
    int64_t at;
    uint32_t n;
    tn_i_l_term term[TN_L_TERMS];
} tn_i_affine;
/* As a program holds it: p->term[first .. first + n), outermost loop first, each once. */
typedef struct tn_i_l_affine {
    int64_t at;
    uint32_t first, n;
} tn_i_l_affine;

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* What is not named in a row is 0, operands TN_L_NONE.  [e] is the affine expression `at`. */
typedef enum tn_i_l_kind {
    /* values */
    TN_L_NUMBER, /* `bits`, of dtype (as a literal's: the low bytes) */
    TN_L_INDEX,  /* [e], an i64, converted to dtype, not bool */
    TN_L_WITHIN, /* bool: lo <= [e] < hi; INT64_MIN, INT64_MAX: no bound */
    TN_L_MAP,    /* operation `code` of ops.def over in[0..nin); TN_L_fn: the primitive `which` with the literal `lo` */
    TN_L_LOAD,   /* array `which` at [e], + lo x clamp(in[0], 0, hi) where there is in[0], an i32 or i64;
                    where in[1], a bool, is there and false: in[2], and memory is not touched */
    TN_L_CARRY,  /* in the loop: in[0] in the first iteration, then what NEXT gave in the one before */
    TN_L_LAST,   /* behind the loop: CARRY in[0] as it leaves; where there was no iteration, as it entered */
    TN_L_HALVES, /* behind the loop, of n = 2, 4 .. TN_L_HALVED iterations: x[0] where x[l] is in[0] in iteration l,
                    once x[l] = fold(x[l], x[l + h]) for l < h, for h = n/2, n/4 .. 1; code: the fold, SUM to MIN */
    TN_L_JOIN,   /* behind an IF: in[0] as the block of the IF leaves it, in[1] as that of the ELSE does */
    TN_L_TOTAL,  /* what REDUCE in[0] has at [e]: by the order of sums; ARGMAX, ARGMIN: an i32 or i64 */
    /* no values */
    TN_L_REDUCE, /* hi >= 1 reductions by fold `code`, empty; dtype: of what goes into them */
    TN_L_INTO,   /* in[1] is the next element of reduction [e] of REDUCE in[0] */
    TN_L_STORE,  /* like LOAD: in[2] to array `which`; where in[1] is false: not.  update: what `code` (add, mul, max,
                    min) makes of what is there and in[2]; not to arrays of bools or of dtypes that are held */
    TN_L_NEXT,   /* CARRY in[0] is in[1] in the next iteration; all NEXTs of a loop at once */
    TN_L_WHILE,  /* where in[0], a bool, is false the loop is left: carries are as they entered this iteration */
    TN_L_CALL,   /* kernel `which` with p->arg[arg .. arg + narg) */
    /* blocks */
    TN_L_FOR,  /* n iterations, n = [e] + in[0] (i32, i64; may be absent), at least 0 and at most hi; hi INT64_MAX:
                  until a WHILE leaves it.  to: its END */
    TN_L_IF,   /* in[0], a bool.  to: its ELSE, or END */
    TN_L_ELSE, /* to: the END; which: the IF */
    TN_L_END   /* to: its FOR or IF */
} tn_i_l_kind;

/* TN_L_add ...; behind the last: a primitive that is no operation of its own */
typedef enum tn_i_l_code {
#define TN_L_OP(name, nin, dtypes, result, prim, param) TN_L_##name,
#include "loop/ops.def"
#undef TN_L_OP
    TN_L_fn,
    TN_L_NCODES
} tn_i_l_code;

typedef struct tn_i_l_op {
    uint8_t kind, dtype, code, nin; /* dtype: of the value; of STORE and INTO: of the number */
    uint8_t unroll;                 /* FOR: iterations to be written out at a time; 0: nothing is said */
    uint8_t vector;                 /* FOR: see below; 0: one at a time */
    bool parallel;                  /* FOR: see below */
    bool update;                    /* STORE */
    uint32_t in[3];
    uint32_t which, to, arg, narg;
    tn_i_l_affine at;
    int64_t lo, hi;
    uint64_t bits;
} tn_i_l_op;

/* Where operations stand.
 *
 *     for i0 < 10 {             FOR     CARRYs stand at the beginning of the block, NEXTs at its end, one for each;
 *       v1 = carry v0           CARRY   WHILEs stand in the block itself and in no IF or loop in it, behind the CARRYs.
 *       v2 = lt v1 v9
 *       while v2                WHILE
 *       v3 = mul v1 v1
 *       next v1 = v3            NEXT
 *     }                         END
 *     v4 = last v1              LAST    LASTs and HALVES stand right behind the END of their loop, JOINs right behind
 *     if v5 {                   IF      that of their IF; nothing else sees into a block that is closed.
 *       v6 = exp v4
 *     }                         END     An IF without ELSE may have JOINs too: in[1] is then from outside.
 *     v7 = join v6 v4           JOIN
 *
 * vector W: the iterations do not depend on each other, W (2, 4, .. 64) of them are to be computed at a time, operation
 * by operation, the last ones by masks: the program says nothing of tails.  What does not change in the loop is one
 * number.  Loops and IFs inside are those of all iterations together: their counts and conditions do not change in the
 * vector loop.  There are no CARRYs, WHILEs and HALVES of such a loop but HALVES behind it; inside no CALL, and
 * no vector or parallel loop; each STORE is to an address that moves with the loop.  An update is done in the order of
 * iterations, which may be to one place; nothing else in the loop touches its array.  Loops inside may carry: a CARRY
 * is then a vector.  So lanes of a sum are a vector loop of 16 around a loop of 32 with a CARRY. Reductions may stand
 * in a vector loop for back ends that have those of vectors (strips).  One from outside is fed or asked there once and
 * in no block within: one result, which elements enter in the order of iterations, or as many next to each other as
 * there are iterations.  One that is in the loop is each iteration's own.
 *
 * parallel: the iterations do not depend on each other and are parts of the work, not many, for as many threads as
 * there are.  Such a loop stands in no block, has a count without an operand, and nothing in it reads a value from
 * outside: it is a function of its number alone.  There are no CARRYs, WHILEs and HALVES of it.
 *
 * That iterations are independent is what a pass promises by writing `vector` or `parallel`; tn_i_l_eval can run them
 * from the last to the first, where a promise that is broken shows.
 *
 * Functions.  MAP fn of a primitive with prim->vector is that function of full vectors, for each element wherever it
 * stands (tn_i_vec_math), lanes without an element included; of another primitive its scalar body (tn_i_scalar_body),
 * element by element.
 *
 * The order of sums.  A REDUCE's elements are numbered as INTO runs.  Leaves of TN_LEAF consecutive elements (the last
 * may be shorter) have TN_LANES lanes; lane l of a leaf folds elements l, l + TN_LANES, ... of the leaf in this order,
 * beginning with the identity (tn_i_l_identity); then the lanes are halved as in HALVES.  Leaves enter a binary
 * counter: a leaf has level 0; while the last two entries have one level, the earlier folds in the later and has the
 * next level; at the end the last entry is folded into the one before, until one is left.  Of no elements it is the
 * identity.  ARGMAX and ARGMIN: the number of the first of the greatest (least), or of the first NaN; of none 0.  A
 * fold of two numbers is add, mul, fold_max or fold_min; of integers max, min; of bools (MAX, MIN) or, and. */

/* ---- calls ---------------------------------------------------------------------------------------------------------
 *
 * Library kernels: products, sorts, gathers of rows, user functions; opaque. */

/* What a program is called with, beside `base`. */
typedef struct tn_i_l_run tn_i_l_run;
typedef tn_status tn_i_l_part(const tn_i_l_run *run, char *const *base, int64_t i);
struct tn_i_l_run {
    void *context; /* of who made the program */
    /* Runs part(run, base, i) for 0 <= i < n, in any order and by any threads; NULL: in order, by this one.  The status
     * is that of the first i that failed. */
    tn_status (*share)(const tn_i_l_run *run, char *const *base, int64_t n, tn_i_l_part *part);
    const void *const *table; /* addresses that the program's back end put there */
    const void *call;         /* what the kernels of this call are given, */
    void *frame;              /* and the table of addresses, of who made the program */
};
/* What a back end makes of a program: TN_OK, or what the first kernel that failed returned; nothing runs behind it. */
typedef tn_status tn_i_l_compiled(const tn_i_l_run *run, char *const *base);

/* at[k]: the address of the first element of array argument k; number[k]: number argument k. */
typedef tn_status tn_i_l_kernel_fn(const void *data, const tn_i_l_run *run, char *const *at, const int64_t *number);
typedef struct tn_i_l_kernel {
    const char *name;      /* interned; several may have one name */
    tn_i_l_kernel_fn *run; /* NULL: known by name only, and cannot run (a text was read) */
    const void *data;      /* lives longer than the program */
} tn_i_l_kernel;

/* An argument of a CALL.  Arrays: the elements [at, at + count) of it are all that is touched. */
typedef enum tn_i_l_access { TN_L_INTEGER, TN_L_READ, TN_L_WRITE, TN_L_UPDATE /* read and written */ } tn_i_l_access;
typedef struct tn_i_l_arg {
    uint8_t access;
    uint32_t array;
    tn_i_l_affine at; /* INTEGER: the number */
    int64_t count;
} tn_i_l_arg;

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* Not changed once it is made. */
typedef struct tn_i_loops {
    tn_ctx *ctx;
    uint32_t nop, narray, nkernel, nbase; /* nbase: entries of the table of addresses */
    tn_i_l_op *op;
    tn_i_l_array *array;
    tn_i_l_kernel *kernel;
    tn_i_l_term *term;
    tn_i_l_arg *arg;
    uint32_t arena; /* the base of all SCRATCH arrays, or TN_L_NONE */
    int64_t bytes;  /* of the arena */
    size_t cop, carray, ckernel, nterm, cterm, narg, carg;
    tn_i_arena memory; /* of constants' numbers that were given as text */
} tn_i_loops;

void tn_i_l_free(tn_i_loops *p); /* NULL is nothing */

static inline const tn_i_l_term *tn_i_l_terms(const tn_i_loops *p, const tn_i_l_affine *a) {
    return a->n ? p->term + a->first : NULL;
}
tn_i_affine tn_i_l_affine_of(const tn_i_loops *p, const tn_i_l_affine *a);
/* What `loop` counts in a: 0 where it has no term of it. */
int64_t tn_i_l_by(const tn_i_loops *p, const tn_i_l_affine *a, uint32_t loop);
static inline bool tn_i_l_has_value(const tn_i_l_op *o) { return o->kind <= TN_L_TOTAL; }
/* Whether a FOR's count is a number, and which. */
bool tn_i_l_known_count(const tn_i_loops *p, uint32_t loop, int64_t *n);
/* Whether loop k neither feeds nor asks a reduction. */
bool tn_i_l_no_sums(const tn_i_loops *p, uint32_t k);
/* Nor updates: iterations of a vector loop may run in any order. */
bool tn_i_l_any_order(const tn_i_loops *p, uint32_t k);
/* Whether two arrays share a byte. */
bool tn_i_l_overlap(const tn_i_loops *p, uint32_t a, uint32_t b);
/* The dtype of memory of which code makes what it has of a number (as_i8 ..), or -1; and the code, or TN_L_fn. */
int tn_i_l_fits(int code);
tn_i_l_code tn_i_l_as(int dtype);
/* Of a fold, as bits of a literal. */
uint64_t tn_i_l_identity(int fold, int dtype);
/* The operation that folds two numbers. */
tn_i_l_code tn_i_l_fold_code(int fold, int dtype);

/* A row of ops.def. */
typedef struct tn_i_l_row {
    const char *name;
    uint8_t nin, result; /* result: TN_L_SAME .. */
    unsigned dtypes;
    int prim, param; /* prim -1: none */
} tn_i_l_row;
enum { TN_L_SAME, TN_L_BOOL, TN_L_ANY };
extern const tn_i_l_row tn_i_l_rows[TN_L_NCODES]; /* of fn: the name alone */

/* ---- making one ----------------------------------------------------------------------------------------------------
 *
 * Operations go to the end of the innermost block that is open.  Functions that make a value, a loop or an array return
 * its index, TN_L_NONE after an error; the error stays, later calls do nothing, and tn_i_l_end returns NULL.  Only what
 * cannot be written down is an error here (memory, nesting, an unknown operand); the rest is the checker's. */
typedef struct tn_i_l_builder {
    tn_ctx *ctx;
    tn_i_loops *p;
    bool failed;        /* and the context has the message */
    uint32_t forgotten; /* the base of memory that is of no use behind the program, or TN_L_NONE: OUT is TEMP there */
    uint32_t depth, open[TN_L_DEPTH];
    const char **name; /* a hash table of the arrays' names */
    size_t nname, cname;
    uint32_t copied; /* so many operations are a program that has been checked; 0: it is not the same */
} tn_i_l_builder;

void tn_i_l_begin(tn_i_l_builder *b, tn_ctx *c);
tn_i_loops *tn_i_l_end(tn_i_l_builder *b); /* in debug builds checked */

/* align 0: the element's size.  The name is made another where it is taken. */
uint32_t tn_i_l_array_new(tn_i_l_builder *b, const char *name, int dtype, int role, int64_t count, uint32_t base,
                          int64_t at, uint32_t align);
/* `data` lives as long as the program; copied where `copy`. */
uint32_t tn_i_l_const(tn_i_l_builder *b, const char *name, int dtype, int64_t count, const void *data, bool copy);
void tn_i_l_arena(tn_i_l_builder *b, uint32_t base, int64_t bytes);
/* A scratch array at the end of the arena, which grows by it; align 0: 64. */
uint32_t tn_i_l_scratch(tn_i_l_builder *b, const char *name, int dtype, int64_t count, uint32_t align);
uint32_t tn_i_l_kernel_new(tn_i_l_builder *b, const char *name, tn_i_l_kernel_fn *run, const void *data);

/* Affine expressions: of a number, of a loop; a + by x b.  An overflow is an error. */
static inline tn_i_affine tn_i_affine_number(int64_t at) { return (tn_i_affine){.at = at}; }
static inline tn_i_affine tn_i_affine_loop(uint32_t loop, int64_t by, int64_t at) {
    return (tn_i_affine){.at = at, .n = by != 0, .term = {{loop, by}}};
}
tn_i_affine tn_i_affine_add(tn_i_l_builder *b, tn_i_affine a, int64_t by, tn_i_affine x);
tn_i_affine tn_i_affine_term(tn_i_l_builder *b, tn_i_affine a, uint32_t loop, int64_t by);

uint32_t tn_i_l_number(tn_i_l_builder *b, int dtype, uint64_t bits);
uint32_t tn_i_l_number_f64(tn_i_l_builder *b, int dtype, double x); /* rounded to dtype */
uint32_t tn_i_l_index(tn_i_l_builder *b, int dtype, tn_i_affine e);
uint32_t tn_i_l_within(tn_i_l_builder *b, int64_t lo, tn_i_affine e, int64_t hi);
/* By code; the dtype is that of the operands, or bool; of `convert` and `bits`: */
uint32_t tn_i_l_map(tn_i_l_builder *b, tn_i_l_code code, uint32_t x, uint32_t y, uint32_t z);
uint32_t tn_i_l_convert(tn_i_l_builder *b, int dtype, uint32_t x);
uint32_t tn_i_l_bits(tn_i_l_builder *b, int dtype, uint32_t x);
/* What memory of `dtype` has of x, of its holder. */
uint32_t tn_i_l_in_memory(tn_i_l_builder *b, int dtype, uint32_t x);
/* The identity of SUM to MIN folded with x: that itself, but for a sum with -0. */
uint32_t tn_i_l_fold_first(tn_i_l_builder *b, int fold, int dtype, uint32_t x);
/* `fn`: any elementwise primitive, as it is. */
uint32_t tn_i_l_fn(tn_i_l_builder *b, int dtype, int prim, int64_t param, uint32_t nin, const uint32_t *in);
/* An elementwise equation of the primitive, result of `dtype`: an operation, several that have the same bits (square,
 * rsqrt, sign, clamp, is_finite, strict_*, integer_pow), or fn.  How all MAPs of equations are to be made. */
uint32_t tn_i_l_elementwise(tn_i_l_builder *b, const tn_prim *prim, const tn_i_param *p, int dtype, uint32_t nin,
                            const uint32_t *in);

/* A memory access; {array, e} with the rest left out is the plain one. */
typedef struct tn_i_l_where {
    uint32_t array;
    tn_i_affine e;
    bool indexed, masked;
    uint32_t index; /* indexed: + by x clamp(index, 0, last) */
    int64_t by, last;
    uint32_t mask, otherwise; /* masked: a bool; a LOAD's value where it is false */
} tn_i_l_where;
uint32_t tn_i_l_load(tn_i_l_builder *b, const tn_i_l_where *w);
/* The plain one; of a constant that is known, or all of whose elements are the same, a number. */
uint32_t tn_i_l_load_at(tn_i_l_builder *b, uint32_t array, tn_i_affine e);
void tn_i_l_store(tn_i_l_builder *b, const tn_i_l_where *w, uint32_t x);
void tn_i_l_store_at(tn_i_l_builder *b, uint32_t array, tn_i_affine e, uint32_t x);
void tn_i_l_update(tn_i_l_builder *b, const tn_i_l_where *w, tn_i_l_code code, uint32_t x);
/* As STORE o does it. */
void tn_i_l_store_like(tn_i_l_builder *b, const tn_i_l_op *o, const tn_i_l_where *w, uint32_t x);

/* Loops.  `for_n`: n times; `for_up_to`: e + count times (count: TN_L_NONE, or a value), at most `most`. */
uint32_t tn_i_l_for_n(tn_i_l_builder *b, int64_t n);
uint32_t tn_i_l_for_up_to(tn_i_l_builder *b, int64_t most, tn_i_affine e, uint32_t count);
uint32_t tn_i_l_for_ever(tn_i_l_builder *b);
void tn_i_l_set_vector(tn_i_l_builder *b, uint32_t loop, int width);
void tn_i_l_set_parallel(tn_i_l_builder *b, uint32_t loop);
void tn_i_l_set_unroll(tn_i_l_builder *b, uint32_t loop, int by);
void tn_i_l_if(tn_i_l_builder *b, uint32_t p);
void tn_i_l_else(tn_i_l_builder *b);
void tn_i_l_close(tn_i_l_builder *b); /* the innermost block */
uint32_t tn_i_l_carry(tn_i_l_builder *b, uint32_t first);
void tn_i_l_next(tn_i_l_builder *b, uint32_t carry, uint32_t x);
void tn_i_l_while(tn_i_l_builder *b, uint32_t p);
uint32_t tn_i_l_last(tn_i_l_builder *b, uint32_t carry);
uint32_t tn_i_l_halves(tn_i_l_builder *b, int fold, uint32_t x);
uint32_t tn_i_l_join(tn_i_l_builder *b, uint32_t x, uint32_t y);

/* Reductions: `count` of them. */
uint32_t tn_i_l_reduce(tn_i_l_builder *b, int fold, int dtype, int64_t count);
void tn_i_l_into(tn_i_l_builder *b, uint32_t reduce, tn_i_affine e, uint32_t x);
uint32_t tn_i_l_total(tn_i_l_builder *b, uint32_t reduce, tn_i_affine e, int dtype); /* dtype: of arg folds */

/* A call: its kernel, then its arguments in order. */
void tn_i_l_call(tn_i_l_builder *b, uint32_t kernel);
void tn_i_l_call_array(tn_i_l_builder *b, int access, uint32_t array, tn_i_affine e, int64_t count);
void tn_i_l_call_integer(tn_i_l_builder *b, tn_i_affine e);

/* ---- passes --------------------------------------------------------------------------------------------------------
 *
 * A pass walks p and writes b.  What it does not change it copies: operands are what value[] has for them, loops are
 * the loop that value[] has for their FOR, or the expression that tn_i_l_copy_loop has given, so that
 *
 *     outer = tn_i_l_for_n(b, n / 16); inner = tn_i_l_for_n(b, 16);
 *     tn_i_l_copy_loop(&c, k, tn_i_affine_term(b, tn_i_affine_loop(outer, 16, 0), inner, 1));
 *     tn_i_l_copy_ops(&c, k + 1, p->op[k].to);
 *     tn_i_l_close(b); tn_i_l_close(b);
 *
 * strip-mines loop k.  A range may be copied more than once, say in front of a split and behind it. */
typedef struct tn_i_l_copy {
    tn_i_l_builder *b;
    const tn_i_loops *p;
    uint32_t *value; /* of p's operations: in b; TN_L_NONE: none yet */
    struct tn_i_l_moved *moved;
    size_t nmoved, cmoved;
} tn_i_l_copy;

/* Arrays, kernels and the arena come over, with their indices.  False after an error. */
bool tn_i_l_copy_begin(tn_i_l_copy *c, tn_i_l_builder *b, const tn_i_loops *p);
void tn_i_l_copy_loop(tn_i_l_copy *c, uint32_t loop, tn_i_affine e);
tn_i_affine tn_i_l_copy_affine(tn_i_l_copy *c, const tn_i_l_affine *a);
tn_i_affine tn_i_l_copied_loop(tn_i_l_copy *c, uint32_t loop); /* what its number is in b */
/* An operation as it is: FOR and IF open, END closes.  Or operations first .. last - 1, whose blocks are whole. */
void tn_i_l_copy_op(tn_i_l_copy *c, uint32_t k);
void tn_i_l_copy_ops(tn_i_l_copy *c, uint32_t first, uint32_t last);
void tn_i_l_copy_end(tn_i_l_copy *c);

/* ---- text, checks, evaluation ------------------------------------------------------------------------------------ */

/* As docs/loop-ir.md; what is parsed again prints the same.  Operations are numbered anew: v0, v1 .., loops i0, i1 ..,
 * reductions r0, r1 .. .  NULL after an error; free with tn_text_free. */
char *tn_i_l_print(const tn_i_loops *p, size_t *n);
/* Kernels are found by name among nkernel of them, which may be 0.  NULL after TN_EPARSE "name:line:col: ...", or
 * another error.  Not yet checked. */
tn_i_loops *tn_i_l_parse(tn_ctx *c, const char *text, size_t n, const char *name, const tn_i_l_kernel *kernel,
                         size_t nkernel);

/* False, and TN_ERULE "loop program: <statement>: <reason>", for a program that is not well formed or not known to stay
 * within its arrays: affine ranges over the loops around, as the conditions around have it (those of IFs that are a
 * WITHIN or an `and` of some, and of the access's mask), and clamps. */
bool tn_i_l_check(const tn_i_loops *p);

/* What is known where blocks open[0 .. depth) are open (FORs, IFs, ELSEs, outermost first) and `mask`, a bool or
 * TN_L_NONE, is true.  Whether e <= bound, and e >= bound, is known; false says nothing. */
typedef struct tn_i_l_known {
    const tn_i_loops *p;
    const uint32_t *open;
    uint32_t depth, mask;
    void *room; /* of tn_i_l_room, for who asks often; NULL: memory is taken each time */
} tn_i_l_known;
void *tn_i_l_room(tn_ctx *c); /* NULL after TN_ENOMEM */
void tn_i_l_room_drop(tn_ctx *c, void *room);
bool tn_i_l_at_most(const tn_i_l_known *z, tn_i_affine e, int64_t bound);
bool tn_i_l_at_least(const tn_i_l_known *z, tn_i_affine e, int64_t bound);

typedef struct tn_i_l_eval_options {
    const tn_i_l_run *run; /* for kernels; NULL: none */
    /* The strip of vector function `name` (prim->vector); NULL, or a NULL strip: the primitive's own body.  What is
     * compared with a back end that has libmvec's functions gives those (tn_i_vec_math). */
    tn_i_strip *(*function)(void *user, const char *name);
    void *user;
    bool backwards; /* vector and parallel loops from the last iteration to the first */
} tn_i_l_eval_options;

/* Runs it, one number at a time: the meaning of a program.  o NULL: all 0.  Slow, and allocates. */
tn_status tn_i_l_eval(const tn_i_loops *p, char *const *base, const tn_i_l_eval_options *o);

#endif
