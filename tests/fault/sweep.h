/* The sweep: one public call, with its k-th allocation failing, for k = 1, 2, .. until it succeeds. */
#ifndef TN_FAULT_SWEEP_H
#define TN_FAULT_SWEEP_H

#include "fault/memory.h"
#include "tansy.h"

/* What a stage works on and makes; each run has one of its own. */
typedef struct world {
    memory m;
    tn_ctx *c;
    const struct stage *stage;
    /* of prepare */
    tn_fn *given, *inner;
    tn_exec *exec;
    tn_work *own;       /* a workspace for exec */
    const char *source; /* text to be parsed */
    size_t length;
    char *owned; /* what tn_fn_print made of it */
    /* of the call under test */
    tn_fn *made[2];
    tn_exec *made_exec;
    tn_work *made_work;
    char *text;
    double numbers[6];
    /* Arguments of the program that runs, filled by world_arguments. */
    void *in[8], *out[8];
    size_t nin, nout;
} world;

typedef struct stage {
    const char *name;
    bool (*prepare)(world *w);   /* nothing fails; NULL: nothing to prepare */
    bool (*run)(world *w);       /* the one public call; true when it succeeded */
    tn_fn *(*program)(world *w); /* for prepare: traces w->given */
    const void *arg;
    bool keeps;  /* what it makes stays with what prepare made, or with the context */
    bool silent; /* it must not allocate at all */
} stage;

/* The whole list, ended by a NULL name. */
extern const stage stages[];

/* Dense buffers for f's inputs, filled with numbers in [0.25, 0.75] (integers: 0, 1), and for its outputs. */
bool world_arguments(world *w, const tn_fn *f);

typedef struct sweep_options {
    size_t work;    /* runs times allocations, at most: above it, each n-th allocation only; 0: every one fails */
    size_t only_at; /* if not 0, this k alone */
} sweep_options;

/* Both modes; adds to the counts and prints a line each. */
void sweep(const stage *s, const sweep_options *o, int *passed, int *failed);

#endif
