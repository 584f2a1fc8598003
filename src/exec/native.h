/* The native backend as tn_compile sees it (src/emit/native.c). */
#ifndef TN_EXEC_NATIVE_H
#define TN_EXEC_NATIVE_H

#include "exec/plan.h"

enum { TN_I_WHY = 512 };

/* Whether native code has a step of a plan, and why not. */
typedef enum tn_i_native_step {
    TN_I_NOT_NATIVE, /* nothing was compiled */
    TN_I_NATIVE,
    TN_I_BY_LIBRARY, /* a function of the library, called from there or by way of the interpreter */
    TN_I_ROWS_INSIDE,
    TN_I_PADDED_NUMBERS,
    TN_I_MANY_OPERANDS,
    TN_I_NO_BODY,
    TN_I_SUMS,
    TN_I_BUFFERS,
    TN_I_UNSIGNED,
    TN_I_STACKS,
    TN_I_SCHEDULES,
    TN_I_FRAMES,
    TN_I_RANKS
} tn_i_native_step;

/* A plan's functions, loaded. */
typedef struct tn_i_native {
    void *library;      /* NULL: none */
    const void **table; /* what the functions call and read */
    size_t ntable;
    char why[TN_I_WHY]; /* why there are none; "" when there are */
} tn_i_native;

typedef struct tn_i_native_options {
    const char *cc, *cache_dir; /* NULL, 0: the defaults (tn_compile_options) */
    double cc_seconds;
    size_t cache_bytes;
    bool profile; /* the code tells profiles of its steps (exec/profile.h) */
} tn_i_native_options;

/* Writes root and what is nested in it as C, has it compiled unless that was done before, and sets the plans' `native`.
 * TN_OK with `why` when that is not possible here, so that the interpreter runs; an error when memory is short or the
 * directory given must not be used. */
tn_status tn_i_native_load(tn_ctx *c, tn_i_plan *root, const tn_i_native_options *o, tn_i_native *out);
void tn_i_native_drop(tn_ctx *c, tn_i_native *n);

#endif
