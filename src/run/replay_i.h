/* What the files that run groups share. */
#ifndef TN_EXEC_REPLAY_I_H
#define TN_EXEC_REPLAY_I_H

#include "plan/replay.h"
#include "run/run.h"

typedef struct group_run {
    const tn_i_plan *p;
    const tn_i_group *g;
    const tn_i_group *led; /* the group that snapshots are taken for now, or NULL */
    const uintptr_t *base;
    uintptr_t scratch;
    uint32_t axes; /* over which ranks speak in it */
    tn_i_run inner;
    uint64_t file_at;        /* where the part of the spill file of this plan begins */
    int64_t *number;         /* of the step */
    tn_i_reading forward[2]; /* of scripts: of the group that is led, and of its own */
    tn_i_reading back;       /* of its own */
    bool bound;              /* what is in slots is where g->place_of says */
    bool chunks;             /* chunks may run */
} group_run;

static inline uintptr_t operand(const group_run *w, const tn_i_actor *a, uint32_t i) {
    return (uintptr_t)tn_i_address(w->base, &w->p->arg[a->arg + i]);
}

static inline uintptr_t output(const group_run *w, const tn_i_actor *a, uint32_t j) {
    return (uintptr_t)tn_i_address(w->base, &w->p->place[w->p->f->eqn[a->eqn].out + j]);
}

static inline const tn_i_actor *self_of(const group_run *w) { return &w->g->actor[w->g->nactor - 1]; }

static inline tn_i_leaf_at *leaves(const group_run *w, const tn_i_actor *a) {
    tn_i_leaf_at *at = (tn_i_leaf_at *)(w->scratch + w->g->pointers);
    for (const tn_i_actor *b = w->g->actor; b < a; b++) at += b->nleaf;
    return at;
}

/* The number of a step of loops in one direction or the other, the k-th in time. */
static inline int64_t number_of(bool reverse, int64_t k, int64_t n) { return reverse ? n - 1 - k : k; }

/* The address of a slot of g in memory, NULL when there is no memory for it. */
unsigned char *tn_i_slot_at(const group_run *w, const tn_i_group *g, int64_t slot);
/* Of slots that may be any number, the handle. */
const tn_i_handle *tn_i_growing_of(const group_run *w, const tn_i_group *g);

/* replay_chunk.c */
/* Steps that a chunk does. */
typedef struct tn_i_chunk_run {
    tn_i_chunk_kind kind;
    int64_t number; /* of the first step */
    int64_t n;
    int64_t slot;      /* of the first step */
    unsigned char *at; /* of one step, what it has in the place of a slot, or NULL */
    bool here;         /* BACK, one step: the state is where it was left */
} tn_i_chunk_run;

/* Whether the group's chunks may run in this call at all; fills what of their table of addresses stays. */
bool tn_i_chunks_enter(const group_run *w);
bool tn_i_chunk_made(const group_run *w, tn_i_chunk_kind kind);
tn_status tn_i_run_chunk(const group_run *w, const tn_i_chunk_run *r);

#endif
