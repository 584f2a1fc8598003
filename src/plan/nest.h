/* A nest: several elementwise equations, broadcasts and reductions as one set of loops.
 *
 * What is fused is decided in fuse.c, program to program: a `fused` equation holds the equations that run together.
 * nest.c makes a nest of such an equation once it is known where its operands and outputs live.  Lowering (src/lower)
 * makes a loop program of it, which is what runs.  What it computes, and in which order, depends on nothing else:
 * docs/execution.md, "What must not depend on fusion".
 *
 * The index space is a box.  Its loops are outer ones, which walk the *rows*, and inner ones, which walk the elements
 * of a row.  An operation is computed for each element or once for each row; the rows' values come from reductions over
 * all inner loops, and may be used again by elements of the same row in a later *phase*:
 *
 *     for each row:                       softmax of f64[256,10]: rows 256, elements 10
 *         phase 0: for each element ...   load x, reduce max          -> m, of the row
 *         phase 1: for each element ...   e = exp(x - m), reduce sum  -> s, of the row
 *         phase 2: for each element ...   store e / s
 */
#ifndef TN_NEST_H
#define TN_NEST_H

#include "opt/space.h"

typedef enum tn_i_nest_kind {
    TN_NEST_LOAD,   /* an element of `array`; of a boxed one outside `fill`, or, where nin is 1, in[0], a LOAD */
    TN_NEST_NUMBER, /* `bits`, everywhere */
    TN_NEST_IOTA,   /* the index in loop `loop`, times `by`, plus `first`: of an integer or float dtype */
    TN_NEST_MAP,    /* the scalar body of eqn's primitive over in[0..nin) */
    TN_NEST_LOOKUP, /* the element of `array` that in[0], an index, says: opt/lookup.h */
    TN_NEST_REDUCE, /* in[0] over the loops in `over`, by `fold` */
    TN_NEST_STORE   /* in[0] to `array`; dtype is in[0]'s; no value */
} tn_i_nest_kind;

typedef enum tn_i_nest_level {
    TN_NEST_ONCE,   /* numbers, and loads that no loop moves */
    TN_NEST_ROW,    /* once for each row */
    TN_NEST_ELEMENT /* for each element of each row */
} tn_i_nest_level;

/* One operation; its value is told by its index in nest->op.  Operands come before.  An operand may be of a lower level
 * than its reader, which then reads it as often as it runs.  Where there are no outer loops there is one row, and where
 * there are no loops at all it has no elements to speak of: every MAP is of level ROW then.
 *
 * A REDUCE over exactly the inner loops is a value of the row (level ROW) that is complete when its phase is over:
 * later phases and row operations may read it, a STORE of level ROW writes it.  Any other REDUCE (over outer loops, or
 * over both) has no readers but one STORE of its result, whose array has stride 0 in the loops that are reduced;
 * `level` is ELEMENT when it or its result walks an inner loop, else ROW, and that of the STORE is the same.
 *
 * ROW operations of phase p run after the element loop of phase p (so they may read its reductions).  Loads, maps and
 * stores of level ROW that read no reduction have phase 0 and run before the element loop of phase 0 (`before`).
 *
 * An element LOAD or IOTA is read in its own phase only: there is one for each phase that wants it.  A STORE over
 * memory that is also loaded comes behind the loads of its phase. */
typedef struct tn_i_nest_op {
    uint8_t kind, level, dtype, phase;
    bool before;
    uint8_t nin;
    uint8_t fold;        /* REDUCE: tn_i_fold */
    uint8_t loop;        /* IOTA */
    uint32_t over;       /* REDUCE: mask of loops */
    uint32_t in[4];      /* operations */
    uint32_t array;      /* LOAD, STORE, LOOKUP */
    bool fills;          /* LOOKUP: `bits` for an index that is less than 0 or more than `first`; else the nearest */
    uint64_t bits;       /* NUMBER: as of a literal */
    int64_t by, first;   /* IOTA; LOOKUP: elements from one index to the next, and the largest index */
    const tn_i_eqn *eqn; /* MAP and REDUCE: of the fused program; the result's dtype is `dtype` */
    uint32_t last;       /* the last operation that reads this one; its own index when none does */
    bool crosses;        /* level ELEMENT, and read in a later phase than its own: a buffer of a row holds it */
} tn_i_nest_op;

/* An operand or output of the fused equation, as the loops walk it. */
typedef struct tn_i_nest_array {
    uint32_t arg;   /* operand arg, or output arg - nin, of the fused equation */
    uint8_t dtype;  /* in memory: operations are of its holder */
    bool boxed;     /* a load: only indices in [lo, hi) of each loop are in memory, others read `fill` */
    int64_t offset; /* elements, to index 0 of every loop (of a boxed one that may lie outside) */
    uint32_t base;  /* where index 0 of every loop is, once the program is planned (tn_i_nests_placed) */
    int64_t at;
    int64_t stride[TN_MAX_RANK]; /* elements, per loop; 0 where the loop does not move it */
    int64_t lo[TN_MAX_RANK], hi[TN_MAX_RANK];
    uint32_t fill; /* the operation, of level ONCE, that is read outside by a LOAD without an operand */
} tn_i_nest_array;

/* Once all loops have run: for each index of all loops but the innermost, the element of that loop which array `column`
 * says, if there is one, is what array `value` says (nest_one_hot.c). */
typedef struct tn_i_nest_one_hot {
    uint32_t store, column, value; /* arrays; column is of i64, and the innermost loop moves neither it nor value */
} tn_i_nest_one_hot;

enum { TN_NEST_ONE_HOT = 8, TN_NEST_PARTS = 64 };

struct tn_i_l_run;

/* What a back end made of a loop program (lower/plan.c). */
typedef tn_status tn_i_made_code(const struct tn_i_l_run *run, char *const *base);
typedef struct tn_i_made {
    tn_i_made_code *code;    /* or NULL: there is none */
    tn_i_made_code *without; /* by strips, for calls that have not all that `code` needs; or NULL */
    const struct tn_i_l_run *run;
    const uint32_t *needed; /* entries of the table of addresses that `code` needs, each once */
    uint32_t nneeded;
    const char *by;  /* who runs `code`: "assembler", "native", "strips"; NULL: it has none */
    const char *why; /* it is no machine code and no C compiler's; static, or NULL */
} tn_i_made;

/* Whether there is one, and all is there that it needs. */
static inline bool tn_i_made_for(const tn_i_made *m, const uintptr_t *base) {
    for (uint32_t i = 0; i < m->nneeded; i++)
        if (!base[m->needed[i]]) return false;
    return m->code != NULL;
}

typedef struct tn_i_nest {
    uint32_t nloop, nouter; /* loops 0 .. nouter-1 walk the rows; none has size 1, and 0 of them is one element */
    int64_t size[TN_MAX_RANK];
    int64_t rows, row; /* how many rows, and elements of a row; never 0: an empty nest is not made */
    uint32_t nop, narray, nphase;
    uint32_t allocated; /* operations: no fewer than nop */
    tn_i_nest_op *op;
    tn_i_nest_array *array;
    tn_i_nest_one_hot *hot;
    uint32_t nhot;
    uint32_t nin, nout;      /* of the fused equation */
    size_t keeps, registers; /* bytes (nest_room.c): what its loop program keeps in memory; registers of strips */
    size_t scratch;          /* both, for each part, and once more where there are several */
    bool accurate;           /* functions of 1 ulp (TN_MATH_ACCURATE) */
    int threads;             /* the most that may run it; 0: 1 */
    uint32_t parts;          /* into which it may be cut for them; 1: it stays whole */
    long process;            /* the one that it was made in (base/parallel.h), where they are several */
    tn_i_made made;
    bool upper; /* of two loops: what is computed left of the diagonal nobody reads (triangle.c) */
} tn_i_nest;

/* nest_room.c: fills in scratch, parts and process once all else but places stands.  False after an error. */
bool tn_i_nest_ready(tn_ctx *c, tn_i_nest *n);
/* Fills in `last` and `crosses` of all operations, and nphase, which were 0 (nest.c). */
void tn_i_nest_note_readers(tn_i_nest *n);

/* ---- reductions ------------------------------------------------------------------------------------------------- */

/* What a reduction's result is, whatever is fused with it, however it is laid out and however many threads run it.
 * The n elements of one result are taken in row-major order of the reduced dimensions of the operand's type: leaves of
 * TN_LEAF consecutive elements (the last may be shorter) have TN_LANES lanes; lane l of a leaf folds elements l,
 * l + TN_LANES, ... of the leaf in this order, beginning with the identity; lane l then folds in lane l + TN_LANES/2,
 * and so on by halves, to lane 0.  Leaves enter a binary counter: a leaf has level 0; while the last two entries have
 * one level, the earlier folds in the later and has the next level; at the end the last entry is folded into the one
 * before, until one is left.  Arithmetic is the operand's own dtype.  So the error grows as the logarithm of n, and a
 * result has the same bits alone, under vmap, and in parts.  The two numbers are in prims/prim.h. */
#endif
