/* One planning in progress: for plan.c, place.c and steps.c only. */
#ifndef TN_PLANNER_H
#define TN_PLANNER_H

#include "prims/arrays/windows.h"
#include "plan/draft.h"
#include "plan/loop.h"
#include "plan/plan.h"
#include "plan/pool.h"
#include "plan/replay.h"
#include "plan/stack.h"

#define TN_NOBLOCK UINT32_MAX

/* A part of the arena; dies when the last use of the last value in it is over. */
typedef struct tn_i_block {
    tn_i_slot slot;
    size_t bytes;
    uint32_t refs;  /* uses to come of all values that live in it */
    tn_i_var stack; /* the value whose handles it holds, or TN_NOVAR */
    uint32_t base;  /* TN_BASE_ARENA; TN_BASE_ARGUMENTS + i: the memory of a carry that enters as input i */
} tn_i_block;

/* A part of the spill file, and the block of its checksum; free when nothing will be fetched from it. */
typedef struct tn_i_piece {
    tn_i_slot at;
    uint32_t sum, refs;
} tn_i_piece;

/* A value that is in the spill file until it is fetched. */
typedef struct tn_i_spilled {
    uint32_t piece;
    uint32_t left, offloads; /* uses to come; those of all that only offload it again */
    bool fetched;
} tn_i_spilled;

/* A value that is to be made in the memory of another, a concatenation, so many bytes behind its beginning. */
typedef struct tn_i_join {
    tn_i_var into; /* TN_NOVAR: where it likes */
    int64_t offset;
} tn_i_join;

typedef struct tn_i_planner {
    tn_ctx *ctx;
    const tn_fn *f;
    const tn_i_layout *layout;
    tn_i_plan *p, *root; /* root owns the plans of nested programs */
    uint8_t *live;       /* equations that run */
    uint32_t *uses;      /* of each value, by live equations and outputs */
    uint32_t *block_of;  /* of each value, or TN_NOBLOCK */
    uint32_t *out_of;    /* first output that is this value, or TN_NOVAR */
    uint32_t *last;      /* 1 + the equation that uses the value, or a view of it, last; outputs: after all */
    tn_i_join *join;     /* of each value; NULL: none is (joined.c) */
    uint32_t *rewritten; /* 1 + the last equation that could write its result over the value; 0: none */
    tn_i_block *block;
    size_t nblock, cblock;
    tn_i_pool pool;
    const tn_type **in_type; /* scratch for queries */
    tn_type *out_type;
    uint32_t most_in, most_out;
    uint32_t *spill_of; /* of each value, or TN_NOBLOCK; NULL when nothing is spilled */
    tn_i_spilled *spilled;
    tn_i_piece *piece;
    size_t cspilled, npiece, cpiece;
    tn_i_pool file;          /* offsets in the spill file */
    uint8_t *again;          /* of each value: a stack that is made again; NULL: none is */
    uint32_t *group_of;      /* of each equation: in p->group, or TN_NOVAR */
    size_t steps_now;        /* bytes per step of the stacks that are alive */
    size_t nested_spill;     /* the most that a nested program spills */
    const tn_i_draft *draft; /* of the `fused` equation that is being placed */
    uint32_t waited;         /* the first equation that waited for a message whose memory is held, or TN_NOVAR */
} tn_i_planner;

/* place.c: where values live */
void tn_i_place_strides(const tn_i_planner *z, tn_i_var v, int64_t stride[TN_MAX_RANK]);
bool tn_i_place_inputs(tn_i_planner *z);
void tn_i_place_literals(tn_i_planner *z);
bool tn_i_place_view(tn_i_planner *z, const tn_i_eqn *e, bool *done);
/* e, of z's program, runs whether what it makes is wanted or not: also where loops that run beside it tell other ranks
 * something. */
bool tn_i_always_runs(const tn_i_planner *z, const tn_i_eqn *e);
bool tn_i_place_outputs(tn_i_planner *z, const tn_i_eqn *e);
/* Whether output v of e may be made, from now on, in the memory of its operand x, which nothing else reads; and puts v,
 * or what is part of it, there. */
/* A place with these strides (normalized here; TN_DENSE when row-major). */
bool tn_i_place_with(tn_i_planner *z, const tn_type *t, int64_t *stride, tn_i_place *place);
/* In nested programs: output j is where carry j came in. */
bool tn_i_place_kept(const tn_i_planner *z, uint32_t j);
bool tn_i_block_new(tn_i_planner *z, size_t bytes, uint32_t refs, uint32_t *block);
void tn_i_block_release(tn_i_planner *z, uint32_t block);
/* Likewise, of a block of values behind an equation: a stack in it is given up by a step. */
bool tn_i_block_dead(tn_i_planner *z, uint32_t block, uint32_t eqn);
bool tn_i_place_last(tn_i_planner *z); /* what is given up when results have been copied */
/* The strides of a value at a place, as keys have them; returns their number. */
size_t tn_i_place_key(const tn_i_planner *z, const tn_type *t, const tn_i_place *k, int64_t *key);
void tn_i_count_steps(tn_i_planner *z, size_t nested);
size_t tn_i_per_step(const tn_type *t); /* bytes that a step adds to an array of unknown length */
static inline bool tn_i_empty(const tn_type *t) { return tn_i_count(t) == 0; }
tn_i_query tn_i_planner_query(tn_i_planner *z, const tn_i_eqn *e);

/* offload.c: what is in the spill file, and when */
bool tn_i_spill_init(tn_i_planner *z);
void tn_i_spill_drop(tn_i_planner *z);
bool tn_i_spills(const tn_i_planner *z, const tn_i_eqn *e); /* e writes its operand there */
bool tn_i_spill_equation(tn_i_planner *z, uint32_t eqn);
bool tn_i_spill_fetch(tn_i_planner *z, uint32_t eqn); /* the operands that eqn reads */
void tn_i_spill_used(tn_i_planner *z, tn_i_var v);
bool tn_i_spill_finish(tn_i_planner *z);

/* steps.c: what runs */
bool tn_i_step_add(tn_i_planner *z, const tn_i_step *s);
bool tn_i_step_move(tn_i_planner *z, uint32_t eqn, tn_i_var v, const tn_i_place *from, const tn_i_place *to);
/* The same without a step: whoever needs it runs it. */
bool tn_i_move_add(tn_i_planner *z, tn_i_var v, const tn_i_place *from, const tn_i_place *to, uint32_t out);
bool tn_i_step_equation(tn_i_planner *z, uint32_t eqn);
bool tn_i_step_results(tn_i_planner *z);
/* Room for what a step needs while it runs. */
bool tn_i_step_scratch(tn_i_planner *z, size_t bytes, tn_i_step *s);
bool tn_i_cannot_run(const tn_i_planner *z, const tn_i_eqn *e, const char *why);

/* replay_find.c: stacks that are made again.  Before uses are counted. */
bool tn_i_replay_init(tn_i_planner *z);
void tn_i_replay_drop(tn_i_planner *z);
tn_i_group *tn_i_group_of(const tn_i_planner *z, uint32_t eqn);
static inline bool tn_i_again(const tn_i_planner *z, tn_i_var v) { return z->again && z->again[v]; }

/* replay_plan.c */
bool tn_i_step_group(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s, tn_i_group *g);

/* nest_plan.c: outputs are placed and the step is added, or nothing is *done: its body is no nest. */
bool tn_i_step_nest(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s, bool *done);
/* A nest, taken over, is what the step runs. */
bool tn_i_step_add_nest(tn_i_planner *z, tn_i_nest *n, tn_i_step *s);
/* interior.c: where the last steps wait for messages that n, of equation e = eqn, reads at its edges only, steps for
 * parts of it are added, or nothing is *done. */
bool tn_i_step_interior(tn_i_planner *z, const tn_i_eqn *e, const tn_i_nest *n, uint32_t eqn, bool *done);
/* Tells all nests where what they read and write is, once every place is known. */
void tn_i_nests_placed(tn_i_planner *z);

/* triangle.c: notes in the steps of products of which results a triangle alone is wanted. */
bool tn_i_find_triangles(tn_i_planner *z);
/* products.c */
bool tn_i_find_products(tn_i_planner *z);
/* Whether product e, whose operands and output are placed, needs no packing; then what it is, without addresses. */
bool tn_i_describe_product(const tn_i_planner *z, const tn_i_eqn *e, int triangle, tn_i_products *w);

/* joined.c: operands that are made where a concatenation has them.  Once uses are counted. */
bool tn_i_find_joins(tn_i_planner *z);
/* The concatenation whose memory v is to be part of, or v itself where it is one that others may be part of, and where
 * there; TN_NOVAR: none. */
tn_i_var tn_i_join_of(const tn_i_planner *z, tn_i_var v, int64_t *offset);
/* A concatenation, placed, some of whose operands are where they belong: moves for the others, or nothing is *done. */
bool tn_i_step_joined(tn_i_planner *z, const tn_i_eqn *e, uint32_t eqn, bool *done);

/* loop_plan.c: the strides of an operand, or of its entries. */
size_t tn_i_loop_key(const tn_i_planner *z, const tn_type *t, const tn_i_place *k, bool entries, int64_t *key);
/* Moves operand v to where it is carried; whether an entry of an array at k is reached by a cursor, else by how many
 * bytes. */
bool tn_i_loop_walk(const tn_i_planner *z, const tn_type *t, const tn_i_place *k, int64_t *by);
/* Bytes of an entry of a stack; -1: entries are handles. */
int64_t tn_i_loop_entry(const tn_type *t);
/* loop_part.c: adds what p takes to *k; false where it cannot be part of a loop program, or takes too many levels. */
bool tn_i_part_measure(const tn_i_plan *p, tn_i_part_size *k);
/* Likewise of one step alone; *k is of no use where it is false. */
bool tn_i_part_add_step(const tn_i_plan *p, const tn_i_step *s, tn_i_part_size *k);
/* Likewise of a program that is a step of a loop. */
bool tn_i_part_steps(const tn_i_plan *p, tn_i_part_size *k);
/* How a loop program has the kernel of a step. */
typedef enum tn_i_kernel_how {
    TN_KERNEL_NOT,
    TN_KERNEL_BOXES,   /* as loops: lower/boxes.c, */
    TN_KERNEL_SCAN,    /* scans.c, */
    TN_KERNEL_WINDOWS, /* windows.c; */
    TN_KERNEL_CALL     /* as a call: calls.c */
} tn_i_kernel_how;
enum { TN_CALLED_ARRAYS = 32 }; /* operands and outputs of a step that is called, at most */
tn_i_kernel_how tn_i_part_kernel(const tn_i_plan *p, const tn_i_step *s);
/* What the kernel of a step that has windows does (prims/arrays/windows.h). */
void tn_i_part_windows(const tn_i_plan *p, const tn_i_step *s, tn_i_window_form *f);
/* Whether a part, where it is some, is one loop program: it is so little work that nobody would share it out, or one
 * thread runs it. */
bool tn_i_part_is_one(const tn_i_part_size *k);
/* Of `most` steps with entries of so many bytes, as many as one loop program does. */
int64_t tn_i_loop_most(int64_t most, int64_t entry);
/* replay_chunks.c: of a group whose programs are planned, which of its steps are loop programs. */
void tn_i_find_chunks(const tn_i_plan *p, tn_i_group *g);
bool tn_i_step_loop(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s);
/* prefetch.c: notes in the steps of a loop's body which products read again an entry that is in the cache by then, so
 * that they can fetch the next one.  A hint: the body may be that of other loops too. */
void tn_i_plan_prefetch(tn_i_plan *body, const tn_i_loop *l);

/* steps.c, for those that run programs: where e's operands from `first` on are, and the strides that tell plans of one
 * program apart; operands copied because there are too many layouts already. */
typedef struct tn_i_body_args {
    tn_i_place *place;
    int64_t *key;
    uint32_t *copy; /* blocks of operands that had to be copied, or TN_NOBLOCK */
    size_t nkey;
    uint32_t first;
} tn_i_body_args;
bool tn_i_body_args_init(tn_i_planner *z, const tn_i_eqn *e, uint32_t first, tn_i_body_args *a);
void tn_i_body_args_free(tn_i_planner *z, const tn_i_eqn *e, tn_i_body_args *a);
/* Writes the key.  Where one of the n programs has been planned for many layouts already, operands are copied to be
 * row-major. */
bool tn_i_settle_operands(tn_i_planner *z, const tn_i_eqn *e, uint32_t eqn, uint32_t n, const tn_fn *const *f,
                          tn_i_body_args *a);
/* The plan of f for them, and the bytes of its frame and arena. */
const tn_i_plan *tn_i_plan_nested(tn_i_planner *z, const tn_fn *f, const tn_i_body_args *a, size_t *bytes);
/* Notes the places as arguments of the step, whose programs need so many bytes, and lets the copies go. */
bool tn_i_add_arguments(tn_i_planner *z, const tn_i_eqn *e, size_t bytes, tn_i_body_args *a, tn_i_step *s,
                        uint32_t *arg);
/* branch.c */
bool tn_i_add_branches(tn_i_planner *z, const tn_i_eqn *e, tn_i_step *s);

/* plan.c: the plan of a nested program for these strides of its inputs. */
typedef struct tn_i_variant {
    const tn_i_plan *plan; /* NULL: not planned yet */
    bool full;             /* the program has been planned for many layouts already */
} tn_i_variant;
tn_i_variant tn_i_variant_find(const tn_i_plan *root, const tn_fn *f, const int64_t *key, size_t nkey);
/* The key begins with the strides of the inputs; of a loop's body it ends with carry0 and ncarry. */
const tn_i_plan *tn_i_variant_new(tn_i_plan *root, const tn_fn *f, const int64_t *key, size_t nkey, uint32_t carry0,
                                  uint32_t ncarry);

#endif
