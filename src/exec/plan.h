/* Planning: a pure function of a program and of the strides of its arguments.
 *
 * The plan says where every value lives and which steps compute them, in program
 * order.  Views are strides over their operand's storage; a step may write over an
 * operand that dies there; what is left shares one arena.  Nothing is run here, and
 * the running part (run.c) decides nothing. */
#ifndef TN_PLAN_H
#define TN_PLAN_H

#include "prims/layout.h"

/* ---- places ------------------------------------------------------------------- */

/* What an offset is relative to: an entry of the table of bases that run.c fills. */
enum {
    TN_BASE_ABSOLUTE, /* literals and constants: the offset is an address */
    TN_BASE_ARENA,
    TN_BASE_ARGUMENTS /* + i: input i; + nin + j: output j */
};

#define TN_DENSE UINT32_MAX

typedef struct tn_i_place {
    int64_t offset; /* bytes */
    uint32_t base;
    uint32_t stride; /* index of its strides in plan->number, or TN_DENSE: row-major */
} tn_i_place;

/* ---- steps --------------------------------------------------------------------- */

typedef enum tn_i_step_kind {
    TN_STEP_STRIP,
    TN_STEP_KERNEL,
    TN_STEP_BODY,
    TN_STEP_MOVE,
    TN_STEP_SPILL,
    TN_STEP_FETCH
} tn_i_step_kind;

typedef struct tn_i_plan tn_i_plan;

typedef struct tn_i_step {
    union {
        tn_i_strip *strip;
        const tn_i_plan *body; /* planned for the strides of this step's operands */
    } u;
    int64_t scratch; /* offset in the arena: kernel: scratch; body: its frame and arena */
    uint32_t eqn;
    uint32_t loop; /* strip: its loops in plan->number; body: operand places in plan->arg; move, spill, fetch: which */
    uint8_t kind, loops;
} tn_i_step;

/* A copy of a value, strided on both sides. */
typedef struct tn_i_move {
    tn_i_place from, to;
    tn_i_walk walk;
    tn_i_var v;
    uint32_t out; /* the output it writes, or TN_NOVAR */
} tn_i_move;

/* A value on its way to the spill file or back, row-major on both sides. */
typedef struct tn_i_transfer {
    tn_i_place memory;
    uint64_t file; /* offset from where the file of this plan begins */
    int64_t sum;   /* offset in the arena of its checksum */
    size_t bytes;
    tn_i_var v;
    uint32_t ahead; /* the fetch that comes next, or TN_NOVAR */
} tn_i_transfer;

struct tn_i_plan {
    const tn_fn *f; /* not held: who plans keeps it */
    size_t bytes;   /* of the arena: padding, scratch and nested programs included */
    size_t frame;   /* bytes of a call's bases and, from `arrays` on, descriptions of a kernel's operands */
    size_t arrays;
    uint32_t narr;     /* the most operands and outputs of a kernel step */
    tn_i_place *place; /* of every value that is computed or used */
    tn_i_step *step;
    tn_i_move *move; /* from last_move on they follow the last step */
    tn_i_place *arg;
    int64_t *number; /* strides and loops */
    size_t nstep, nmove, narg, nnumber, cstep, cmove, carg, cnumber;
    size_t last_move;
    tn_i_transfer *transfer;
    size_t ntransfer, ctransfer;
    size_t spill, own_spill; /* bytes of the spill file; nested programs begin at own_spill */
    /* The plans of nested programs, one for each program and strides of its arguments; the outermost plan owns all. */
    tn_i_plan **nested;
    size_t nnested, cnested;
    uint32_t *slot; /* of the outermost plan: hash table over nested */
    size_t cslot;
    const int64_t *key; /* of a nested plan: strides of its inputs, one input after another */
    size_t nkey;
};

/* Element strides of the arguments; NULL: row-major. */
typedef struct tn_i_layout {
    const int64_t *in;         /* one input after another, rank of them each */
    const int64_t *const *out; /* per output; a NULL entry: row-major */
    const int *alias;          /* as in tn_compile_options; NULL: no output shares memory with an input */
    bool nested;               /* no output is NULL or shares memory */
} tn_i_layout;

/* NULL after an error: TN_ENOMEM, TN_EOVERFLOW, or TN_ERULE for what cannot run.
 * layout NULL: all row-major.  Cost: linear in the equations, nested programs once
 * for each layout of their arguments (beyond TN_MAX_LAYOUTS: row-major copies). */
#define TN_MAX_LAYOUTS 8
tn_i_plan *tn_i_plan_new(const tn_fn *f, const tn_i_layout *layout);
void tn_i_plan_free(tn_ctx *c, tn_i_plan *p);
/* Bytes of the arena for row-major arguments: what tn_exec_bytes would say. */
bool tn_i_plan_bytes(const tn_fn *f, size_t *bytes);

/* Text of a plan for tests and for people, cut to n bytes; returns the length without the cut. */
size_t tn_i_plan_text(const tn_i_plan *p, char *buf, size_t n);

/* ---- what planning and running share ----------------------------------------------- */

const tn_fn *tn_i_body(const tn_i_eqn *e); /* the program that computes e's outputs, or NULL */
bool tn_i_eqn_effect(const tn_i_eqn *e);
/* Data of an equation that is nothing but an array, or NULL. */
const void *tn_i_constant_data(const tn_i_eqn *e);

#endif
