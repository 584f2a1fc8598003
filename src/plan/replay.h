/* Stacks that are made again (docs/loops.md, "Schedules").
 *
 * A stack of a loop with a schedule, which only loops read as entries, has no memory.  A loop that reads one, or makes
 * one, is run as a *group*: the loops whose entries it wants, and the loops whose entries those want, run a step each
 * beside it.  Those that run in its direction begin when it begins; those that run against it are brought back, last
 * step first, from snapshots of their states, as a schedule says.  The snapshots are taken by the last of these when
 * it runs for itself, if it has the others beside it, else in a run of its own. */
#ifndef TN_EXEC_REPLAY_H
#define TN_EXEC_REPLAY_H

#include "checkpoint/script.h"
#include "plan/loop.h"

enum { TN_PLAIN, TN_RECORDED, TN_STEPS_OF }; /* what every step computes; what one does whose entries are wanted */

/* An x of a loop in a group. */
typedef struct tn_i_source {
    uint32_t actor, y; /* the entry that this loop of the group has made, or TN_NOVAR: in memory */
    bool stack;        /* in memory: one handle */
    int64_t by;        /* in memory: bytes from one entry to the next */
    int64_t entry;     /* the same, of a stack too (tn_i_mover) */
} tn_i_source;

/* A y that a loop makes. */
typedef struct tn_i_entry {
    uint32_t y;
    bool made[TN_STEPS_OF];
    bool recorded; /* by a loop that is brought back: part of a record */
    bool again;    /* it has no memory but `buffer` */
    bool stack;
    uint32_t entering; /* again: it is this leaf as it enters a step, and read where that was; or TN_NOVAR */
    int64_t by, entry;
    size_t buffer, bytes; /* buffer: offset in the group's scratch */
    const tn_type *inner; /* of an entry that is made again and is itself of unknown length: handles; else NULL */
} tn_i_entry;

typedef struct tn_i_leaf {
    uint32_t leaf;
    bool state; /* of a loop that is brought back: part of a snapshot */
    bool loose; /* a step may read it in any memory, which it leaves as it is, and writes the next elsewhere */
    size_t first, second; /* offsets in the group's scratch; of the loop that the group is for the outputs come first */
    size_t bytes;
} tn_i_leaf;

/* Addresses of a leaf while a group runs. */
typedef struct tn_i_leaf_at {
    uintptr_t now, was; /* was: as the latest step began */
    uintptr_t home[2];  /* memory that is no slot's; a step goes from one to the other */
    uintptr_t into;     /* where the next step shall leave it, or 0: at home */
} tn_i_leaf_at;

/* A loop in a group; the last is the one that the group is for. */
typedef struct tn_i_actor {
    uint32_t eqn;
    tn_i_loop_shape shape;
    bool self, against;
    const tn_fn *fn[TN_STEPS_OF]; /* [number] consts.. the leaves.. xs.. -> the leaves.. the entries made; held */
    const tn_i_plan *plan[TN_STEPS_OF], *cond;
    uint32_t nleaf, nentry;
    tn_i_leaf *leaf;     /* room for all carries */
    tn_i_entry *entry;   /* all ys */
    tn_i_source *source; /* all xs */
    uint8_t *reads;      /* of a loop that runs beside: which operands, nin of them */
    uint32_t nin;
    uint32_t arg;      /* places of the operands in plan->arg */
    size_t first_move; /* of its first state, in plan->move, `moves` of them; at the start of the loop */
    uint32_t moves;
    uint32_t cell; /* its first entry in the chunks' table of addresses */
} tn_i_actor;

/* Consecutive steps of a group as one loop program, of a number that is found when it runs (lower/chunk.c).  Slots are
 * consecutive too, in memory. */
typedef enum tn_i_chunk_kind {
    TN_CHUNK_FORWARD,       /* the loop's own steps */
    TN_CHUNK_FORWARD_STORE, /* likewise, for the group that is led: what enters each goes into its slot */
    TN_CHUNK_FORWARD_KEEP,  /* likewise: its record */
    TN_CHUNK_ADVANCE,       /* steps of the loops that are brought back */
    TN_CHUNK_STORE,
    TN_CHUNK_KEEP,
    TN_CHUNK_BACK, /* from the last on: what enters a step is in its slot; it is done recorded, and used */
    TN_CHUNK_USE,  /* from the last on: records are in slots */
    TN_CHUNKS
} tn_i_chunk_kind;

typedef struct tn_i_chunk {
    bool is;
    const tn_i_nest *first; /* of its nests */
    uint32_t counters;
    bool calls;     /* of kernels */
    tn_i_made made; /* what there is of it */
} tn_i_chunk;

/* Entries of the table of addresses, which all chunks of a group have: of what is behind TN_BASE_ARENA */
enum { TN_CELL_COUNTS = TN_BASE_ARENA + 1, TN_CELL_ACTORS };

/* Of an actor: its step's inputs, the leaves that leave it, these in slots, its entries in records, its entries. */
static inline uint32_t tn_i_cell_in(const tn_i_actor *a, uint32_t i) { return a->cell + i; }
static inline uint32_t tn_i_cell_leaf(const tn_i_actor *a, uint32_t k) {
    return a->cell + a->shape.index + a->shape.nconst + k;
}
static inline uint32_t tn_i_cell_x(const tn_i_actor *a, uint32_t k) { return tn_i_cell_leaf(a, a->nleaf) + k; }
static inline uint32_t tn_i_cell_out(const tn_i_actor *a, uint32_t k) { return tn_i_cell_x(a, a->shape.nx) + k; }
static inline uint32_t tn_i_cell_slot(const tn_i_actor *a, uint32_t k) { return tn_i_cell_out(a, a->nleaf) + k; }
static inline uint32_t tn_i_cell_record(const tn_i_actor *a, uint32_t y) { return tn_i_cell_slot(a, a->nleaf) + y; }
static inline uint32_t tn_i_cell_entry(const tn_i_actor *a, uint32_t y) { return tn_i_cell_record(a, a->nentry) + y; }

typedef struct tn_i_group {
    uint32_t eqn;
    uint32_t nactor;
    tn_i_actor *actor;
    tn_i_schedule *schedule; /* NULL: no loop is brought back */
    tn_i_script *script;     /* what it does, where that is known and not too long; else NULL */
    uint32_t leader;         /* the last actor that is brought back, or TN_NOVAR */
    bool runs;               /* anybody wants what the loop itself yields, or snapshots that it takes */
    bool taken;              /* snapshots were taken by the loop of an earlier group */
    uint32_t leads;          /* the later group for which this one takes snapshots, or TN_NOVAR */
    uint32_t *stand_in;      /* per actor of that group: this one's actor, or TN_NOVAR */
    uint32_t nstand_in;
    /* A part of the arena that lives from the first snapshot on; offsets in it. */
    int64_t memory;
    uint32_t block;
    size_t run, record, sums, slots, memory_bytes; /* the number of steps is at 0 */
    uint32_t nstate;                               /* leaves of a snapshot */
    size_t state_bytes, record_bytes, slot_bytes;
    int64_t nslot, ndisk;
    const tn_type *growing; /* slots are a stack, whose handle is at `slots`: there may be any number */
    int64_t growing_every;  /* so many steps take one more */
    uint64_t file;          /* offset of the disk's slots from where those of the plan begin */
    /* offsets in the step's scratch */
    size_t frame, cond_frame, number, pointers, arena, bytes;
    /* Backwards, the memory of each leaf in each slot, which changes places with a home: nslot times nstate addresses;
     * bound: there are such. */
    size_t place_of;
    bool bound;
    tn_i_chunk chunk[TN_CHUNKS];
    bool chunks;       /* there is one */
    uint32_t ncell;    /* of their table */
    uint32_t ncounter; /* of the one with the most, behind the two counts */
    int64_t most;      /* steps of one */
    size_t table, counts, chunk_scratch, nchunk_scratch;
} tn_i_group;

/* What of a chunk's steps does what: a step of the loops that are brought back, or of the others, or -1. */
int tn_i_chunk_step(tn_i_chunk_kind kind, bool against);
static inline bool tn_i_chunk_forward(tn_i_chunk_kind kind) { return kind <= TN_CHUNK_FORWARD_KEEP; }
/* Whether slots go from the last to the first. */
static inline bool tn_i_chunk_back(tn_i_chunk_kind kind) { return kind >= TN_CHUNK_BACK; }
static inline bool tn_i_chunk_stores(tn_i_chunk_kind kind) {
    return kind == TN_CHUNK_FORWARD_STORE || kind == TN_CHUNK_STORE;
}
static inline bool tn_i_chunk_keeps(tn_i_chunk_kind kind) {
    return kind == TN_CHUNK_FORWARD_KEEP || kind == TN_CHUNK_KEEP;
}
/* The group whose slots they are: g, or that which it leads; NULL: there are none. */
static inline const tn_i_group *tn_i_chunk_slots(const tn_i_plan *p, const tn_i_group *g, tn_i_chunk_kind kind) {
    if (!tn_i_chunk_forward(kind)) return g;
    return g->leads == TN_NOVAR ? NULL : &p->group[g->leads];
}
/* The actor of g that does the steps of actor k of the group whose slots they are. */
static inline const tn_i_actor *tn_i_stand_in(const tn_i_group *g, const tn_i_group *slots, uint32_t k) {
    return g == slots ? &g->actor[k] : &g->actor[g->stand_in[k]];
}
static inline uint32_t tn_i_leaf_number(const tn_i_actor *a, uint32_t leaf) {
    uint32_t k = 0;
    while (a->leaf[k].leaf != leaf) k++;
    return k;
}
static inline size_t tn_i_slot_padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

void tn_i_group_drop(tn_ctx *c, tn_i_group *g);

#endif
