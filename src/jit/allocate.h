/* Assigning registers (jit/machine.h): what its files share. */
#ifndef TN_ALLOCATE_H
#define TN_ALLOCATE_H

#include "jit/machine.h"

/* The processor's registers in one row: general ones, vectors, masks. */
enum { TN_A_V = 16, TN_A_K = 48, TN_A_ALL = 56, TN_A_NOWHERE = 0xFF };
#define TN_A_SEQUENCES ((uint64_t)1 << TN_RAX | 1 << TN_RCX | 1 << TN_RDX | 1 << TN_RSP)
#define TN_A_KEPT      ((uint64_t)1 << TN_RBX | 1 << TN_RBP | 0xF000) /* by functions that are called */

/* Where a register is.  Its uses and later definitions are event[at .. end): twice the position, and 1. */
typedef struct tn_i_a_state {
    uint32_t at, end;
    int32_t slot;  /* from the first slot on; -1: none */
    uint8_t reg;   /* of the row; TN_A_NOWHERE */
    uint8_t home;  /* a carry's at the head of its loop */
    uint32_t head; /* the innermost loop at whose head it is in a register, of those that were open at once */
    bool valid;    /* its slot has it */
    bool ahead;    /* its slot is that of the carry that it becomes */
} tn_i_a_state;

typedef struct tn_i_a_block {
    uint8_t kind; /* TN_M_LOOP - TN_M_COPY .. */
    bool other;   /* IF: its ELSE was met */
    uint32_t loop;
    tn_i_jit_label again, out;
    size_t trail, middle; /* where its part of the trail begins; that of the ELSE */
    tn_i_reg before[TN_A_ALL], then[TN_A_ALL];
} tn_i_a_block;

typedef struct tn_i_allocator {
    tn_i_machine *m;
    tn_i_code *c;
    tn_i_a_state *state;
    uint32_t *event;
    size_t nevent;
    tn_i_reg holder[TN_A_ALL];
    uint64_t all[3], pinned, blocked, used; /* all: of each class; used: of general ones */
    uint32_t position;
    tn_i_reg *trail; /* whose slots became valid, within the blocks that are open */
    size_t ntrail, ctrail;
    tn_i_a_block *block;
    size_t nblock, cblock;
    int32_t *vacant[4]; /* slots of 8, 16, 32, 64 bytes that are free */
    size_t nvacant[4], cvacant[4];
    size_t usable[4]; /* of these: not those that the instruction at hand still reads */
    int32_t frame;    /* bytes of slots */
    tn_i_jit_label label, body, leave;
} tn_i_allocator;

/* allocate.c */
static inline uint32_t tn_i_a_next(const tn_i_allocator *a, tn_i_reg v) {
    const tn_i_a_state *s = &a->state[v];
    return s->at == s->end || a->event[s->at] & 1 ? UINT32_MAX : a->event[s->at] >> 1;
}
static inline bool tn_i_a_alive(const tn_i_allocator *a, tn_i_reg v) { return tn_i_a_next(a, v) != UINT32_MAX; }
static inline bool tn_i_a_in_memory(const tn_i_allocator *a, tn_i_reg v) {
    return a->state[v].valid || a->m->value[v].constant;
}
uint32_t tn_i_a_again(const tn_i_allocator *a, tn_i_reg v, uint32_t event);
void tn_i_a_hold(tn_i_allocator *a, unsigned r, tn_i_reg v);
void tn_i_a_let_go(tn_i_allocator *a, unsigned r);
void tn_i_a_dies(tn_i_allocator *a, tn_i_reg v);        /* its register and slot are free */
void tn_i_a_store(tn_i_allocator *a, tn_i_reg v);       /* its slot has it, too */
unsigned tn_i_a_free(tn_i_allocator *a, int class);     /* one that holds nothing, or TN_A_NOWHERE */
unsigned tn_i_a_take(tn_i_allocator *a, int class);     /* one that holds nothing any more */
unsigned tn_i_a_fetch(tn_i_allocator *a, tn_i_reg v);   /* where it is now, pinned */
void tn_i_a_release(tn_i_allocator *a, uint64_t which); /* registers that hold nothing any more */

/* Of an instruction: its uses are over (but tie's, which dies later); where its result goes, and that it is there. */
void tn_i_a_consume(tn_i_allocator *a, tn_i_reg v);
void tn_i_a_consume_uses(tn_i_allocator *a, const tn_i_mi *in);
unsigned tn_i_a_result(tn_i_allocator *a, tn_i_reg v);
void tn_i_a_defined(tn_i_allocator *a, unsigned r, tn_i_reg v);
bool tn_i_a_stays(const tn_i_allocator *a, const tn_i_mi *in, tn_i_reg v); /* v, which is rm, remains in memory */
void tn_i_a_instruction(tn_i_allocator *a, const tn_i_mi *in);
bool tn_i_a_find_events(tn_i_allocator *a);
unsigned tn_i_a_reads(const tn_i_mi *in); /* bytes that it reads where rm is memory; 0: it cannot be */
tn_i_x86_rm tn_i_a_address(tn_i_allocator *a, const tn_i_mi *in);
static inline unsigned tn_i_a_number(unsigned r) { return r >= TN_A_K ? r - TN_A_K : r >= TN_A_V ? r - TN_A_V : r; }

/* allocate_move.c: bytes */
tn_i_x86_rm tn_i_a_memory(const tn_i_allocator *a, tn_i_reg v);
void tn_i_a_copy(tn_i_allocator *a, unsigned to, unsigned from, unsigned bytes);
void tn_i_a_load(tn_i_allocator *a, unsigned to, tn_i_reg v);
void tn_i_a_save(tn_i_allocator *a, unsigned from, tn_i_reg slot_of);
/* want[r]: what is to be in r, all at once; the states stay as they are. */
void tn_i_a_move_all(tn_i_allocator *a, const tn_i_reg want[TN_A_ALL]);

/* allocate_fold.c; false after an error */
bool tn_i_a_fold(tn_i_machine *m);

/* allocate_blocks.c */
void tn_i_a_block_op(tn_i_allocator *a, const tn_i_mi *in);

#endif
