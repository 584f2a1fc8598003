/* Planning: a pure function of a program and of the strides of its arguments.
 *
 * The plan says where every value lives and which steps compute them, in program
 * order.  Views are strides over their operand's storage; a step may write over an
 * operand that dies there; what is left shares one arena.  Nothing is run here, and
 * the running part (run.c) decides nothing. */
#ifndef TN_PLAN_H
#define TN_PLAN_H

#include "opt/equations.h"
#include "plan/nest.h"
#include "prims/linear/gemm.h"
#include "prims/arrays/layout.h"

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

typedef struct tn_i_plan tn_i_plan;
/* Of a value of type t at a place of p. */
void tn_i_place_strides_of(const tn_i_plan *p, const tn_type *t, const tn_i_place *k, int64_t stride[TN_MAX_RANK]);

/* ---- steps --------------------------------------------------------------------- */

typedef enum tn_i_step_kind {
    TN_STEP_STRIP,
    TN_STEP_KERNEL,
    TN_STEP_BODY,
    TN_STEP_NEST,
    TN_STEP_LOOP,
    TN_STEP_GROUP,
    TN_STEP_BRANCH,
    TN_STEP_RELEASE,
    TN_STEP_MOVE,
    TN_STEP_SPILL,
    TN_STEP_FETCH
} tn_i_step_kind;

typedef struct tn_i_step {
    union {
        tn_i_strip *strip;
        const tn_i_nest *nest;
        const tn_i_plan *body; /* planned for the strides of this step's operands */
    } u;
    int64_t scratch; /* offset in the arena: kernel: scratch; body: its frame and arena; loop: likewise, and buffers */
    size_t nscratch; /* kernel: bytes of it */
    uint32_t eqn;
    uint32_t loop; /* strip: its loops in plan->number; body: operand places in plan->arg; others: which one */
    uint8_t kind, loops;
    bool stacks;         /* body: an output is a stack of its own */
    bool leads, follows; /* product: with the next step, or the one before, it is one matrix times two vectors */
    uint8_t ahead; /* product: a mask of operands, entries of an array, of which the next is read soon (prefetch.c) */
    uint8_t triangle; /* product: what of its result is wanted, a tn_i_triangle (triangle.c) */
    bool at_once;     /* kernel: plan->product[loop] of where its operands and result are */
    uint8_t axes;     /* of the grid, over which ranks speak in it (run/talk.h); 0: they do not */
    uint32_t segment; /* 1 + the plan->segment that begins with it; 0: none does */
} tn_i_step;

/* Programs of which a step runs one. */
typedef struct tn_i_fork {
    uint32_t arg;    /* operand places in plan->arg, the index first */
    uint32_t branch; /* in plan->branch */
    uint32_t n;
    size_t bytes; /* of frame and arena of the largest */
} tn_i_fork;

/* A copy of a value, strided on both sides. */
typedef struct tn_i_move {
    tn_i_place from, to;
    tn_i_walk walk;
    tn_i_var v;
    uint32_t out; /* the output it writes, or TN_NOVAR */
    bool stack;   /* v is handles (plan/stack.h); from: handles too, or, where it has strides, one entry */
} tn_i_move;

/* A stack that nothing reads any more. */
typedef struct tn_i_release {
    int64_t offset; /* in the arena */
    tn_i_var v;
} tn_i_release;

/* A value on its way to the spill file or back, row-major on both sides. */
typedef struct tn_i_transfer {
    tn_i_place memory;
    uint64_t file; /* offset from where the file of this plan begins */
    int64_t sum;   /* offset in the arena of its checksum */
    size_t bytes;
    tn_i_var v;
    uint32_t ahead; /* the fetch that comes next, or TN_NOVAR */
} tn_i_transfer;

typedef struct tn_i_loop tn_i_loop;       /* plan/loop.h */
typedef struct tn_i_group tn_i_group;     /* plan/replay.h */
typedef struct tn_i_segment tn_i_segment; /* plan/loop.h */

struct tn_i_run;

/* A product whose operands need no packing, without addresses; and, where it is one call of a kernel for vectors, that
 * (else its kernel is NULL). */
typedef struct tn_i_product {
    tn_i_products all;
    tn_i_by_dots dots;
} tn_i_product;

/* Runs a kernel step of plan `data` from a loop program: the addresses of operands, outputs and scratch memory, and the
 * step's number (run/kernel_run.c). */
struct tn_i_l_run;
typedef tn_status tn_i_called_fn(const void *data, const struct tn_i_l_run *run, char *const *at,
                                 const int64_t *number);

struct tn_i_plan {
    const tn_fn *f;  /* the program that runs: `of`, or what fusion made of it, held then */
    const tn_fn *of; /* the program that was to be planned; not held: who plans keeps it */
    bool apart;      /* operands of concatenations are copied: they are not made there (joined.c) */
    bool plain;      /* f is `of`: nothing is fused (TN_BACKEND_REFERENCE) */
    bool accurate;   /* of the outermost plan: TN_MATH_ACCURATE */
    bool emitted;    /* for C without the library */
    int threads;     /* of the outermost plan: the most for a nest; 0: 1 */
    size_t bytes;    /* of the arena: padding, scratch and nested programs included */
    size_t frame;    /* bytes of a call's bases and, from `arrays` on, descriptions of a kernel's operands */
    size_t arrays;
    uint32_t narr;     /* the most operands and outputs of a kernel step */
    tn_i_place *place; /* of every value that is computed or used */
    tn_i_var *within;  /* the concatenation in whose memory each is, or TN_NOVAR; NULL: none is */
    tn_i_step *step;
    tn_i_move *move; /* from last_move on they follow the last step */
    tn_i_place *arg;
    int64_t *number; /* strides and loops */
    size_t nstep, nmove, narg, nnumber, cstep, cmove, carg, cnumber;
    tn_i_fork *fork;
    const tn_i_plan **branch;
    size_t nfork, nbranch, cfork, cbranch;
    size_t last_move;
    tn_i_release *release; /* from last_release on they follow the last move */
    size_t nrelease, crelease, last_release;
    size_t per_step; /* the most bytes of stacks that are alive at once, for each step of the loops that make them */
    tn_i_transfer *transfer;
    size_t ntransfer, ctransfer;
    tn_i_nest **nest;
    size_t nnest, cnest;
    tn_i_product *product;
    size_t nproduct, cproduct;
    tn_i_loop *loop;
    size_t nloop, cloop;
    tn_i_group *group;
    size_t ngroup, cgroup;
    tn_i_segment *segment;
    size_t nsegment, csegment;
    bool segmented;         /* these have been looked for */
    tn_i_called_fn *called; /* who runs the kernels that loop programs call; NULL: they are only printed */
    size_t slots_at, slots; /* where the slots on disk begin in the spill file, and their bytes */
    int64_t *spare; /* of the outermost plan, NULL: none; per output: where in the arena it is if the caller gives NULL,
                       -1: not computed then, or copied there at the end */
    uint8_t *kept;  /* of a loop's body: per carry, whether what leaves a step is in the memory of what entered it */
    uint32_t ncarry;
    uint32_t axes;           /* of all steps */
    uint32_t starts;         /* collectives that may have started and not been waited for, at most */
    size_t said;             /* bytes for the longest of what is said in it, and for what comes of that */
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
    bool handles;              /* outputs with `?` are the caller's empty arrays, and all are wanted */
    bool plain;                /* nothing is fused; of nested programs the outermost plan tells */
    bool accurate;             /* TN_MATH_ACCURATE; likewise */
    int threads;               /* likewise */
    /* A `?` dimension's stride: TN_I_STEPS where the argument is handles, 0 where it repeats. */
    /* A loop's body: inputs carry0.. are overwritten at will once they are dead, outputs 0.. replace them. */
    uint32_t carry0, ncarry;
} tn_i_layout;

/* Where in the arena k is, or is when the caller gives no memory for it; false: nowhere. */
bool tn_i_place_arena(const tn_i_plan *p, const tn_i_place *k, int64_t *offset);

/* Whether running p may write to the memory of input i: that of a carry, once it is dead. */
bool tn_i_plan_writes(const tn_i_plan *p, uint32_t i);

/* NULL after an error: TN_ENOMEM, TN_EOVERFLOW, or TN_ERULE for what cannot run.
 * layout NULL: all row-major.  Cost: linear in the equations, nested programs once
 * for each layout of their arguments (beyond TN_MAX_LAYOUTS: row-major copies). */
#define TN_MAX_LAYOUTS 8
tn_i_plan *tn_i_plan_new(const tn_fn *f, const tn_i_layout *layout);
void tn_i_plan_free(tn_ctx *c, tn_i_plan *p);
/* What running f takes, prepared, for row-major arguments; false after an error. */
typedef struct tn_i_measured {
    size_t bytes;    /* of the arena: what tn_exec_bytes would say */
    size_t per_step; /* what tn_exec_bytes_per_step would */
    size_t spill;    /* what tn_exec_spill_bytes would */
    /* Modelled ns of its equations and of what schedules do besides: steps that run again, and snapshots that are
     * written and read.  A loop whose steps a run finds out counts as one step, which runs again as often as that of
     * a loop of TN_I_ASSUMED_STEPS does on the average. */
    double work;
} tn_i_measured;
#define TN_I_ASSUMED_STEPS 1000
bool tn_i_plan_measure(const tn_fn *f, tn_i_measured *out); /* measure.c */
/* The same with nothing fused. */
tn_i_plan *tn_i_plan_plain(const tn_fn *f);

/* Text of a plan for tests and for people, cut to n bytes; returns the length without the cut. */
size_t tn_i_plan_text(const tn_i_plan *p, char *buf, size_t n);

#endif
