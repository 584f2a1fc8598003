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
#include "exec/loop.h"

enum { TN_PLAIN, TN_RECORDED, TN_STEPS_OF }; /* what every step computes; what one does whose entries are wanted */

/* An x of a loop in a group. */
typedef struct tn_i_source {
    uint32_t actor, y; /* the entry that this loop of the group has made, or TN_NOVAR: in memory */
    bool stack;        /* in memory: one handle */
    int64_t by;        /* in memory: bytes from one entry to the next */
} tn_i_source;

/* A y that a loop makes. */
typedef struct tn_i_entry {
    uint32_t y;
    bool made[TN_STEPS_OF];
    bool recorded; /* by a loop that is brought back: part of a record */
    bool again;    /* it has no memory but `buffer` */
    bool stack;
    uint32_t entering; /* again: it is this leaf as it enters a step, and read where that was; or TN_NOVAR */
    int64_t by;
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
} tn_i_actor;

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
} tn_i_group;

void tn_i_group_drop(tn_ctx *c, tn_i_group *g);

#endif
