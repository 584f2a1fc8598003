/* The table `general`: programs as a user would write them, in shapes that no other table names, beside the loops that
 * a C programmer would write (by_hand*.inc, gcc -O3 -march=native -ffast-math).  main.c measures what the tables of the
 * other files list. */
#ifndef BENCH_GENERAL_H
#define BENCH_GENERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tansy.h>

typedef struct program program;
typedef void general_by_hand(const int64_t *n, const void *const *in, void *const *out);

/* Inputs are what make's program takes: floats of [lo, hi), integers of [0, below). */
struct program {
    const char *name;
    general_by_hand *c64, *c32;
    tn_fn *(*make)(tn_ctx *c, tn_dtype dtype, const int64_t *n);
    int64_t size[4][3]; /* up to four; [0] is 0 behind the last */
    double lo, hi;
    int64_t below;
    double tolerance64, tolerance32; /* of the largest entry of each output; 0: 1e-9, 1e-3 */
};

typedef struct programs {
    size_t n;
    const program *program;
} programs;
extern const programs general_arrays, general_moves, general_loops, general_scalars, general_models;

/* emitted.c: the program as tn_emit_c writes it, compiled by $BENCH_EMIT_CC, `cc -O3` without one; its files are
 * left where $BENCH_EMIT_KEEP is set. */
typedef struct emitted {
    void *library, *work;
    int (*run)(const void *const *in, void *const *out, void *work);
} emitted;
bool general_emit(const tn_fn *f, emitted *e); /* false: the context says why, or the compiler has */
void general_emit_free(emitted *e);

#define GENERAL(NAME, C) .name = NAME, .c64 = by_hand_##C##_f64, .c32 = by_hand_##C##_f32
#define BY_HAND(NAME)    general_by_hand by_hand_##NAME##_f64, by_hand_##NAME##_f32

/* One input, several, of the dtype. */
tn_fn *general_trace(tn_ctx *c, tn_trace_fn f, const void *user, tn_dtype dtype, size_t n, const tn_type *t);

#endif
