/* Random loop programs, and memory to run them in: for laws of passes and back ends, "before = after, bit for bit". */
#ifndef TN_LOOP_RANDOM_H
#define TN_LOOP_RANDOM_H

#include "loop/loop.h"

/* What there is to be in a program, besides arithmetic, loops, and loads and stores. */
enum {
    LOOP_FUNCTIONS = 1 << 0, /* fn: elementwise functions, whose bits depend on who computes them */
    LOOP_REDUCTIONS = 1 << 1,
    LOOP_CALLS = 1 << 2,
    LOOP_VECTORS = 1 << 3, /* vector loops, and halves behind them */
    LOOP_PARALLEL = 1 << 4,
    LOOP_CARRIES = 1 << 5, /* carries, while, open-ended loops */
    LOOP_BRANCHES = 1 << 6,
    LOOP_ALL = (1 << 7) - 1
};

/* A program that passes the checker (a failed assertion of its maker otherwise); NULL after an error of the context. */
tn_i_loops *loop_random(tn_ctx *c, tn_i_rng *r, unsigned what);

/* Memory for a program's bases. */
typedef struct loop_memory {
    uint32_t n;
    char **base;
    size_t *bytes;
} loop_memory;

bool loop_memory_new(loop_memory *m, const tn_i_loops *p, tn_i_rng *r); /* numbers of all kinds; NaN, infinities, -0 */
bool loop_memory_like(loop_memory *m, const loop_memory *other);        /* the same numbers elsewhere */
void loop_memory_free(loop_memory *m);
/* Whether OUT and INOUT arrays hold the same, any NaN being like any other; *array, *at: where not. */
bool loop_memory_same(const tn_i_loops *p, const loop_memory *a, const loop_memory *b, uint32_t *array, int64_t *at);

/* The kernel that programs call. */
extern const tn_i_l_kernel loop_random_kernel;

#endif
