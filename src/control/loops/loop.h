/* How the operands of loops are laid out (docs/loops.md). */
#ifndef TN_LOOP_H
#define TN_LOOP_H

#include "control/nested.h"

enum {
    TN_SCAN_PROGRAM,
    TN_SCAN_LENGTH,
    TN_SCAN_CONSTS,
    TN_SCAN_CARRY,
    TN_SCAN_REVERSE,
    TN_SCAN_INDEX,
    TN_SCAN_SCHEDULE
};

/* A scan's parameters, read. */
typedef struct tn_i_scan {
    const tn_fn *body;
    int64_t length; /* TN_I_STEPS: an operand tells */
    bool counted;   /* operand 0 is the number of steps */
    bool reverse, index;
    uint32_t nconst, ncarry, nx, ny;
    uint32_t const0, carry0, x0; /* the first of each among the operands; in the body subtract `counted`, add `index` */
    const char *schedule;        /* NULL: none given */
} tn_i_scan;

/* From parameters that the type rule has accepted, or that it is about to look at: false when the counts cannot be. */
bool tn_i_scan_read(const tn_i_param *p, uint32_t nin, tn_i_scan *s);
static inline uint32_t tn_i_scan_inner(const tn_i_scan *s, uint32_t operand) { return operand - s->counted + s->index; }

enum {
    TN_WHILE_COND,
    TN_WHILE_BODY,
    TN_WHILE_COND_CONSTS,
    TN_WHILE_BODY_CONSTS,
    TN_WHILE_INDEX,
    TN_WHILE_COUNT,
    TN_WHILE_SCHEDULE
};

typedef struct tn_i_while {
    const tn_fn *cond, *body;
    bool index, count;
    uint32_t ncond, nconst, ncarry, ny;
    uint32_t const0, carry0; /* among the operands: cond's consts come first */
    uint32_t n_out, y0;      /* among the outputs: the count (n_out = ncarry), the first stack */
    const char *schedule;
} tn_i_while;

bool tn_i_while_read(const tn_i_param *p, uint32_t nin, tn_i_while *w);
/* loop_batch.c: of each batch element that is on, x, else y; on has the first dimensions of both. */
tn_i_var tn_i_choose_lanes(tn_i_builder *b, tn_i_var on, tn_i_var x, tn_i_var y);
/* while_text.c: one whose condition gives a truth value for each batch element (tn_prim.written). */
tn_i_var tn_i_while_written(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in);
/* The body's input for a body const or carry operand. */
static inline uint32_t tn_i_while_inner(const tn_i_while *w, uint32_t operand) { return operand - w->ncond + w->index; }

/* Either, as the rules see it: inputs of the body are [i] consts.. carry.. x.., outputs carry.. y.. . */
typedef struct tn_i_loop_eqn {
    bool is_while, counted, index, count, reverse;
    int64_t length; /* TN_I_STEPS: found when it runs */
    const tn_fn *body, *cond;
    uint32_t ncond, nconst, ncarry, nx, ny;
    const char *schedule;
} tn_i_loop_eqn;

void tn_i_loop_of(const tn_prim *prim, const tn_i_param *p, uint32_t nin, tn_i_loop_eqn *l);
/* Operands: what stands before the consts, then consts, carry, xs. */
static inline uint32_t tn_i_loop_const0(const tn_i_loop_eqn *l) { return l->is_while ? l->ncond : l->counted; }
static inline uint32_t tn_i_loop_carry0(const tn_i_loop_eqn *l) { return tn_i_loop_const0(l) + l->nconst; }
static inline uint32_t tn_i_loop_x0(const tn_i_loop_eqn *l) { return tn_i_loop_carry0(l) + l->ncarry; }
static inline uint32_t tn_i_loop_nin(const tn_i_loop_eqn *l) { return tn_i_loop_x0(l) + l->nx; }
/* The body's input for an operand from const0 on, and back. */
static inline uint32_t tn_i_loop_inner(const tn_i_loop_eqn *l, uint32_t i) {
    return i - tn_i_loop_const0(l) + l->index;
}
static inline uint32_t tn_i_loop_operand(const tn_i_loop_eqn *l, uint32_t i) {
    return i + tn_i_loop_const0(l) - l->index;
}
static inline uint32_t tn_i_loop_y0(const tn_i_loop_eqn *l) { return l->ncarry + l->count; }
/* The first output, or TN_NOVAR. */
tn_i_var tn_i_loop_emit(tn_i_rule *r, const tn_i_loop_eqn *l, const tn_i_var *in);

/* loop_flow.c: what depends on what, through any number of steps */
bool tn_i_loop_linearity(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out);
bool tn_i_loop_depends(tn_i_memo *m, const tn_i_eqn *e, const uint8_t *in, uint8_t *out);
/* Grows `inner`, flags of the body's inputs, to a fixpoint over the carry; out: flags of the body's outputs. */
bool tn_i_loop_spread(tn_i_memo *m, const tn_i_loop_eqn *l, uint8_t *inner, uint8_t *out);

/* Of the descriptor: inside, outside, stacked, replayed. */
const tn_fn *tn_i_loop_inside(const tn_i_eqn *e, uint32_t output, tn_i_var *v);
uint32_t tn_i_loop_outside(const tn_i_eqn *e, uint32_t i);
bool tn_i_loop_stacked(const tn_i_eqn *e, uint32_t output);
bool tn_i_loop_replayed(const tn_i_eqn *e, uint32_t output);
uint32_t tn_i_loop_steps(const tn_i_eqn *e);
/* e is a loop whose step, body, only adds an entry of one array to that of another (prims/arrays/stacks.c). */
bool tn_i_adds_entries(const tn_i_eqn *e, const tn_fn *body);
/* Adds what running f so many times costs. */
void tn_i_loop_add_cost(tn_i_cost *sum, const tn_fn *f, double times);

/* One rule a file */
void tn_i_loop_jvp(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout);
void tn_i_loop_split(tn_i_rule *r, const bool *unknown, tn_i_var *out, const tn_i_plan_by *how);
void tn_i_scan_transpose(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in);
void tn_i_loop_batch(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);
bool tn_i_loop_needs(tn_i_rule *r, const bool *used, bool *operand);
void tn_i_loop_prune(tn_i_rule *r, const bool *used, tn_i_var *out);

/* Whether the loop may have the schedule (NULL: none); fails the type rule otherwise. */
bool tn_i_loop_schedule_fits(tn_i_query *q, const char *schedule, bool unknown_length);

/* t without its first dimension, and with `n` (or TN_I_STEPS) in front; false when that is not possible. */
bool tn_i_entry_type(const tn_type *t, tn_type *entry);
bool tn_i_stack_type(const tn_type *entry, int64_t n, tn_type *t);

/* The same program with its inputs in another order, inputs added, and outputs chosen: what moves consts, carries and
 * entries to where an equation has them. */
#define TN_WIRE_INPUT 0x80000000u /* + i: the new program's input i */
#define TN_WIRE_ZERO  0x40000000u /* + i: zeros of the new program's input i's type */
typedef struct tn_i_wiring {
    uint32_t nin, nout;
    const tn_type *const *in; /* types of the new inputs */
    const bool *linear;       /* which of them are tangents (the result is then `mixed`), or NULL */
    const uint32_t *from;     /* per input of f: which new input it is */
    const uint32_t *out;      /* per new output: f's output, or TN_WIRE_ .. */
} tn_i_wiring;
tn_fn *tn_i_rewire(const tn_fn *f, const tn_i_wiring *w);

#endif
