/* Several callbacks that become programs of one equation, over the same operands: those given, then values of the
 * enclosing trace that any of them uses, each once.  What an equation solves for enters some of them behind all. */
#ifndef TN_SHARED_H
#define TN_SHARED_H

#include "trace/trace.h"

typedef struct tn_i_callback {
    tn_trace_fn one;
    tn_trace_many_fn many; /* or neither: there is none */
} tn_i_callback;

typedef struct tn_i_shared_program {
    const char *name; /* of the parameter */
    tn_i_callback call;
    bool more;   /* takes the further inputs, too */
    bool linear; /* and has to be linear in them */
    size_t nout;
    tn_fn *f;
    tn_val *captured;
    size_t n;
} tn_i_shared_program;

enum { TN_SHARED_MOST = 3 };

typedef struct tn_i_shared {
    tn_i_site *s;       /* its first operands, nown of them, are those given */
    size_t nown, nmore; /* operands; further inputs of programs that take these, */
    size_t more;        /* whose types are those of the site's operands from here on */
    void *user;
    tn_i_shared_program program[TN_SHARED_MOST];
    tn_i_var *v; /* operands given, captured ones, and room for nmore */
    size_t n;    /* without the room */
    tn_type *in;
    tn_val *captured;
    size_t most;
} tn_i_shared;

/* Traces all programs, and sets v.  A callback that is NULL is none where `optional` has its bit, else TN_EINVAL; false
 * after a failure of the site. */
bool tn_i_shared_trace(tn_i_shared *k, unsigned optional);
/* The programs as parameters. */
void tn_i_shared_args(const tn_i_shared *k, tn_i_args *a);
void tn_i_shared_free(tn_i_shared *k);

/* Two lists of operands as one, x and then y, and what is done with them; where that cannot be, the results are poison
 * and the trace fails, saying which of them is NULL. */
typedef struct tn_i_lists {
    const char *name, *x_name, *y_name;
    size_t nx, ny;
    const tn_val *x, *y;
    const char *file;
    int line;
    tn_val few[8], *all;
    size_t n;
    tn_ctx *c;
} tn_i_lists;
/* false: it has failed, and out, nout values, is poison. */
bool tn_i_join_lists(tn_i_lists *j, size_t nout, tn_val *out);
void tn_i_lists_free(tn_i_lists *j);

#endif
