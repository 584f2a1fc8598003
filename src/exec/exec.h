/* Executables and workspaces: for compile.c and call.c only. */
#ifndef TN_EXEC_H
#define TN_EXEC_H

#include "base/fp_mode.h"
#include "comm/collective.h"
#include "plan/assembled.h"
#include "exec/described.h"
#include "run/run.h"
#include "exec/skeleton.h"

#include <stdatomic.h>

struct tn_work {
    const tn_exec *exec;
    tn_work *prev, *next; /* the executable's list; unused when the memory is the caller's */
    void *memory;         /* NULL: the caller's */
    uintptr_t *frame;
    const void **given; /* arguments of the last call that described some, inputs first */
    bool apart;         /* and they share no memory but where they may */
    unsigned char *arena;
    /* Which steps the absent outputs of the last such call leave out. */
    uint8_t *wanted, *skip, *absent;
    bool marked;
    tn_i_observer observer;
    tn_profile *profile;  /* or NULL */
    tn_i_table *table;    /* that other calls may not use at the same time; NULL: the executable's */
    unsigned char *all;   /* exec->all.bytes */
    unsigned char *room;  /* plan->said bytes */
    void **pending;       /* plan->starts of them */
    tn_i_spill_file file; /* open when the executable spills */
    tn_i_stacks stacks;
    char error[1024];
};

struct tn_exec {
    tn_ctx *ctx;
    tn_exec *prev, *next;    /* the context's list */
    const tn_fn *f;          /* held */
    uint8_t *odd;            /* of each input, then of each output: the bits that no address of its dtype has */
    tn_i_argument *argument; /* likewise */
    tn_i_plan *plan;
    size_t work_bytes;
    uint32_t refs; /* the caller's hold, each workspace allocated here, and each profile */
    int threads;
    tn_i_fp_mode fp;        /* what its calls run in */
    long process;           /* that it was compiled in (base/parallel.h), where there are several */
    size_t most_stacks;     /* bytes of a workspace's stacks */
    char *dir;              /* of the spill files, or NULL */
    tn_work *works;         /* allocated here */
    tn_work *own;           /* of tn_call */
    tn_i_observer observer; /* of tn_call */
    tn_profile *profile;    /* of tn_call, or NULL */
    tn_profile *profiles;   /* all of them */
    atomic_bool busy;       /* in tn_call */
    int backend;
    tn_i_assembled assembled;
    tn_i_all_steps all;
    bool straight;         /* all that the plan does are nests, or is one, which need nothing but their frame */
    bool speaks, drains;   /* other ranks are needed; they hear of failures */
    tn_i_table *table;     /* with which, or NULL */
    tn_i_null_comm *alone; /* where there are none */
    uint32_t *over;        /* axes that inputs are declared replicated over, to be looked at in calls; or NULL */
    tn_i_skeleton skeleton;
    char error[256]; /* of tn_call before it has a workspace */
};

void tn_i_exec_unref(tn_exec *e);

#endif
