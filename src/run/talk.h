/* What a rank says to others while a program runs: the table of a call, failures that others must hear of, and what is
 * agreed on while it runs (docs/mpi.md).
 *
 * A rank that fails goes on with what it has to say, since the others wait for that: from then on plans run those steps
 * alone that say something (`axes` of a step), with NaN for what is not known.  Where a value decides what is said
 * next, as the predicate of a `while`, ranks agree on it, and hear there that one of them has failed. */
#ifndef TN_TALK_H
#define TN_TALK_H

#include "plan/plan.h"
#include "tansy/comm.h"

struct tn_i_run;

/* A table that calls of a context may use, one at a time. */
typedef struct tn_i_table tn_i_table;
/* The entry of such a table, one reference; NULL after an error, which names `who`: its axes are not those of the
 * context's grid, or it is of another version. */
tn_i_table *tn_i_table_of(tn_ctx *c, const tn_comm_ops *ops, const char *who);
void tn_i_table_drop(tn_ctx *c, tn_i_table *t); /* NULL is fine */
const tn_comm_ops *tn_i_table_ops(const tn_i_table *t);
/* False: a call is using it. */
bool tn_i_table_enter(tn_i_table *t);
void tn_i_table_leave(tn_i_table *t);
bool tn_i_table_good(tn_ctx *c, const tn_comm_ops *ops, const char *who);

enum { TN_I_TALK_TEXT = 512 };

/* One call. */
typedef struct tn_i_talk {
    const tn_comm_ops *ops;
    uint32_t all;        /* all axes of the grid */
    int64_t rank, ranks; /* along all of them */
    bool drains;         /* there are others, and they are to hear of failures */
    bool failed;         /* a rank has, this one or one that it heard of */
    bool broken;         /* the table has: nobody can be told */
    tn_status status;    /* of this rank's own failure */
    char *message;       /* of that: TN_I_TALK_TEXT bytes and more */
    size_t size;
    unsigned char *room; /* for what is said by a rank that failed, and for what it is told */
    size_t room_bytes;
    void **pending; /* requests of collectives that have started, nstart of the plan at most */
    uint32_t npending;
    size_t *next; /* of the innermost plan that runs: behind the last step that said something */
} tn_i_talk;

void tn_i_talk_begin(tn_i_talk *t, const tn_comm_ops *ops, bool drains);
/* A failure: TN_OK where the rank goes on, else the status. */
tn_status tn_i_talk_failed(tn_i_talk *t, tn_status status);
/* One collective, to its end. */
tn_status tn_i_say(tn_i_talk *t, const tn_collective *x, const void *in, void *out);
/* Equation e has run, with these results or operands: what it started, and what it waited for. */
void tn_i_talk_started(tn_i_talk *t, int64_t request);
void tn_i_talk_waited(tn_i_talk *t, int64_t request);
/* The least *v along the axes; *v is 0, and *none true, where a rank has failed. */
tn_status tn_i_agree(tn_i_talk *t, uint32_t axes, int64_t *v, bool *none);
/* The end of a call: the same status on all ranks, and the message of the rank that failed. */
tn_status tn_i_talk_end(tn_i_talk *t, tn_status status);

/* Of a program that is about to run: the first equation, at any depth, that needs a table behind collectives, or NULL;
 * and its name. */
const tn_i_eqn *tn_i_first_speaking(const tn_fn *f);
const char *tn_i_speech(const tn_i_eqn *e);

/* The collective of a step that is one; the pairs are in room. */
void tn_i_collective_of(const tn_i_plan *p, const tn_i_step *s, tn_collective *x, int32_t *room);
/* What a rank that has failed says in p's steps from `first` on. */
tn_status tn_i_drain(tn_i_talk *t, const tn_i_plan *p, size_t first);
/* Likewise in one that says something, of which nothing has run; */
tn_status tn_i_drain_step(tn_i_talk *t, const tn_i_plan *p, const tn_i_step *s);
/* and in n steps of a loop's program. */
tn_status tn_i_drain_steps(tn_i_talk *t, const tn_i_plan *body, int64_t n);

#endif
