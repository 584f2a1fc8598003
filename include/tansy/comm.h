/* tansy/comm.h - programs over many ranks: the grid, what varies over it, collectives, and the table behind them.
 *
 * SPDX-License-Identifier: MIT
 *
 * Every rank runs the same program on arrays of its own.  Ranks form a grid with named axes.  A value is *replicated*
 * over an axis (all ranks hold the same bits: one value) or *varies* over it (a value each); inputs say so by their
 * type (tn_varying), everything else is inferred, printed (f64[3]{V:w}) and checked.  Derivatives are adjoints in the
 * inner product that sums varying values over the ranks and counts replicated ones once: docs/mpi.md.
 *
 * Operators are as those of tansy/ops.h: the same rules for operands, errors, ownership, threads and cost. */
#ifndef TANSY_COMM_H
#define TANSY_COMM_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What varies ------------------------------------------------------------------ */

/* t, varying over axes of c's grid too: "w", "r,c".  A type that every use refuses, and the context's error, where
 * there is no such axis. */
TN_API tn_type tn_varying(tn_ctx *c, tn_type t, const char *axes);

/* As tn_trace_many, of inputs that vary: input i over axes[i] ("w", "r,c"; NULL or "": replicated), besides what its
 * type says.  TN_AXES("w", NULL) is such an array for one statement, in C and in C++; it ends with a mark, so that
 * fewer than there are inputs are refused (TN_EINVAL) and nothing behind is read.  axes NULL: what types say.  Values
 * become varying on their own where they meet others that are; one that is summed, gathered or picked is replicated. */
TN_API tn_fn *tn_trace_spmd_at(tn_ctx *c, tn_trace_many_fn f, void *user, size_t nin, const tn_type *in,
                               const char *const *axes, size_t nout, const char *file, int line);
#define TN_AXES_END "(the end of TN_AXES)"
#ifndef __cplusplus
#define TN_AXES(...) ((const char *const[]){__VA_ARGS__, TN_AXES_END})
#else
#define TN_AXES(...) (tn_i_array_cxx<const char *, 255>{{__VA_ARGS__, TN_AXES_END}}) /* at most 255 */
#endif
#define tn_trace_spmd(...) tn_trace_spmd_at(__VA_ARGS__, __FILE__, __LINE__) /* (c, f, user, nin, in, axes, nout) */

/* Ranks along axes of c's grid: 4 for "w" of (w=4).  0, and the context's error, where there is no such axis. */
TN_API int64_t tn_axis_size(tn_ctx *c, const char *axes);

/* ---- Collectives -------------------------------------------------------------------
 *
 * Each is over axes of the grid, "w" or "r,c", and is run by all ranks along them.  P is how many there are, numbered
 * in the grid's order, the last axis fastest; x_k is what rank k of them holds.  An array with an *entry* for each rank
 * has P as its first dimension: its entry k is [k, ..].
 *
 * What they take must vary over all of the axes, unless they say `replicated`: over none of them.  Local operators make
 * what is replicated vary where it meets what varies; collectives do not, but refuse it (TN_ETYPE), since a sum over
 * ranks of what all hold is rarely meant: tn_vary says that it is.  All are linear in x but for maxima, minima and
 * products, and behave so under every transformation: the gradient of a sum over ranks sends nothing, that of tn_vary
 * is a sum.  Under vmap one message has the whole batch.  Messages are sent as often as a program runs them, in its
 * order, on all ranks; policies that weigh costs never repeat one, those that are told what to keep (nothing_saveable,
 * names, tn_checkpoint) and schedules of loops do, equally everywhere. */

/* The sum x_0 + .. + x_(P-1), replicated; of i32, i64, f32 and f64.  The same bits on all ranks; which, is for who adds
 * to say, but with TN_ORDERED in the order of ranks. */
TN_API tn_val tn_psum_at(tn_val x, const char *axes, tn_flags flags, const char *file, int line);
#define tn_psum(...) tn_psum_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__) /* (x, axes) */
/* The sum over P, of floats. */
TN_API tn_val tn_pmean_at(tn_val x, const char *axes, const char *file, int line);
#define tn_pmean(x, axes) tn_pmean_at(x, axes, __FILE__, __LINE__)
/* The largest, the smallest (NaN over any number; of truth values: or, and), the product (not of truth values);
 * replicated.  Derivatives: those ranks that hold the extreme value share equally; that of the product is right at
 * zeros too. */
TN_API tn_val tn_pmax_at(tn_val x, const char *axes, const char *file, int line);
TN_API tn_val tn_pmin_at(tn_val x, const char *axes, const char *file, int line);
TN_API tn_val tn_pprod_at(tn_val x, const char *axes, const char *file, int line);
#define tn_pmax(x, axes)  tn_pmax_at(x, axes, __FILE__, __LINE__)
#define tn_pmin(x, axes)  tn_pmin_at(x, axes, __FILE__, __LINE__)
#define tn_pprod(x, axes) tn_pprod_at(x, axes, __FILE__, __LINE__)
/* x, as what each rank holds for itself: sends nothing.  Axes that x varies over already are as well; so x may be
 * either. */
TN_API tn_val tn_vary_at(tn_val x, const char *axes, const char *file, int line);
#define tn_vary(x, axes) tn_vary_at(x, axes, __FILE__, __LINE__)
/* x_root, replicated (a broadcast); and back: a replicated x on rank root, zeros on the others, which sends nothing.  A
 * sum on one rank alone is tn_place(tn_psum(x, axes), axes, root). */
TN_API tn_val tn_pick_at(tn_val x, const char *axes, int64_t root, const char *file, int line);
TN_API tn_val tn_place_at(tn_val x, const char *axes, int64_t root, const char *file, int line);
#define tn_pick(x, axes, root)  tn_pick_at(x, axes, root, __FILE__, __LINE__)
#define tn_place(x, axes, root) tn_place_at(x, axes, root, __FILE__, __LINE__)
/* All of x_0, .., x_(P-1) as entries [P, ..], replicated; and back: each rank's entry of a replicated x [P, ..], which
 * sends nothing. */
TN_API tn_val tn_all_gather_at(tn_val x, const char *axes, const char *file, int line);
TN_API tn_val tn_own_at(tn_val x, const char *axes, const char *file, int line);
#define tn_all_gather(x, axes) tn_all_gather_at(x, axes, __FILE__, __LINE__)
#define tn_own(x, axes)        tn_own_at(x, axes, __FILE__, __LINE__)
/* On rank k entry k of the sum of the x [P, ..]. */
TN_API tn_val tn_reduce_scatter_at(tn_val x, const char *axes, const char *file, int line);
#define tn_reduce_scatter(x, axes) tn_reduce_scatter_at(x, axes, __FILE__, __LINE__)

/* All x as entries [P, ..] on rank root, zeros on the others; on rank k entry k of the x [P, ..] of rank root. */
TN_API tn_val tn_gather_to_at(tn_val x, const char *axes, int64_t root, const char *file, int line);
TN_API tn_val tn_scatter_from_at(tn_val x, const char *axes, int64_t root, const char *file, int line);
#define tn_gather_to(x, axes, root)    tn_gather_to_at(x, axes, root, __FILE__, __LINE__)
#define tn_scatter_from(x, axes, root) tn_scatter_from_at(x, axes, root, __FILE__, __LINE__)
/* On rank k entry s is entry k of the x [P, ..] of rank s. */
TN_API tn_val tn_all_to_all_at(tn_val x, const char *axes, const char *file, int line);
#define tn_all_to_all(x, axes) tn_all_to_all_at(x, axes, __FILE__, __LINE__)

/* These are along one axis.  On rank k what rank k - by holds: zeros where there is none; with TN_WRAP around. */
TN_API tn_val tn_shift_at(tn_val x, const char *axis, int64_t by, tn_flags flags, const char *file, int line);
#define tn_shift(...) tn_shift_at(TN_I_FLAGS(3, __VA_ARGS__), __FILE__, __LINE__) /* (x, axis, by) */
/* On each target what its source holds, zeros on ranks that are no target: tn_ppermute(x, "w", 0, 1, 1, 2) for pairs
 * 0 to 1 and 1 to 2.  No rank is a source twice, or a target. */
TN_API tn_val tn_ppermute_at(tn_val x, const char *axis, tn_int_list pairs, const char *file, int line);
#define tn_ppermute(x, axis, ...) tn_ppermute_at(x, axis, tn_ints(__VA_ARGS__), __FILE__, __LINE__)
/* The sum x_0 + .. + x_k; with TN_EXCLUSIVE x_0 + .. + x_(k-1), zeros on rank 0.  With TN_REVERSE x_k + .. + x_(P-1);
 * with both x_(k+1) + .., zeros on the last. */
TN_API tn_val tn_pscan_at(tn_val x, const char *axis, tn_flags flags, const char *file, int line);
#define tn_pscan(...) tn_pscan_at(TN_I_FLAGS(2, __VA_ARGS__), __FILE__, __LINE__) /* (x, axis) */

/* Which of the P ranks this is, i64[], varying; has no derivative. */
TN_API tn_val tn_axis_index_at(tn_ctx *c, const char *axes, const char *file, int line);
#define tn_axis_index(c, axes) tn_axis_index_at(c, axes, __FILE__, __LINE__)
/* Goes on when all P ranks have come there: for who measures time.  No program needs one to be right.  An effect, once
 * a run; derivatives leave it where the primal values are. */
TN_API void tn_barrier_at(tn_ctx *c, const char *axes, const char *file, int line);
#define tn_barrier(c, axes) tn_barrier_at(c, axes, __FILE__, __LINE__)

/* ---- The table behind collectives -------------------------------------------------- */

/* What is exchanged.  n is `count`, P the product of the extents of the axes; ranks are numbered along the axes in the
 * grid's order, the last one fastest.  Arrays are dense.  With P = 1 each is a copy, but for what comes from nowhere.
 */
typedef enum tn_comm_kind {
    TN_COMM_ALLREDUCE,      /* n -> n: joined by op over all ranks, the same bits on each */
    TN_COMM_BCAST,          /* n -> n: what `root` has */
    TN_COMM_ALLGATHER,      /* n -> P n: all ranks' in the order of ranks */
    TN_COMM_REDUCE_SCATTER, /* P n -> n: piece k of the sum on rank k */
    TN_COMM_GATHER,         /* n -> P n on root; on others the result is zeros */
    TN_COMM_SCATTER,        /* P n -> n: piece k of what root has on rank k; others' operands are not read */
    TN_COMM_ALLTOALL,       /* P n -> P n: piece s of the result on rank k is piece k of rank s's operand */
    TN_COMM_SHIFT,          /* n -> n: what rank k - by has; zeros where there is none, unless `wrap` */
    TN_COMM_PERMUTE,        /* n -> n: what the source of this rank in `pairs` has, zeros without one */
    TN_COMM_SCAN,           /* n -> n: the sum over ranks up to this one, before it where `exclusive` (zeros on the
                               first), from the last rank down where `reverse` */
    TN_COMM_BARRIER,        /* nothing -> nothing: all ranks have come here */
    TN_COMM_KINDS
} tn_comm_kind;
/* How TN_COMM_ALLREDUCE joins.  Maxima and minima take a NaN over any number.  Truth values: sums and maxima are `or`,
 * products and minima `and`. */
typedef enum tn_comm_op { TN_COMM_SUM, TN_COMM_PROD, TN_COMM_MAX, TN_COMM_MIN } tn_comm_op;

/* One collective.  All ranks of its axes start equal ones in the same order. */
typedef struct tn_collective {
    size_t size; /* sizeof(tn_collective) */
    int kind;    /* a tn_comm_kind */
    int op;      /* a tn_comm_op, of TN_COMM_ALLREDUCE */
    int dtype;   /* a tn_dtype, up to TN_U32: other dtypes travel as what they are computed with as */
    int64_t count;
    uint32_t axes;                 /* bit a: over axis a of the grid; one at least */
    int root, by;                  /* a rank along the axes; a distance */
    bool wrap, exclusive, reverse; /* see the kinds */
    bool ordered;                  /* sums and products in the order of ranks (`reverse`: from the last one down), so
                                      that bits do not depend on who adds */
    /* Whether there is other work between start and wait, on all ranks alike; false: wait follows at once, so start may
     * do all of it.  MPI's blocking collectives are the faster ones, and match no others. */
    bool overlap;
    size_t npairs;
    const int32_t *pairs; /* source, target, source, target .. */
} tn_collective;

/* Who moves the data: one table a rank.  A table serves one call at a time (TN_EBUSY), from the thread that made the
 * call.  Functions return a tn_status; `error` says why it was not TN_OK. */
struct tn_comm_ops {
    size_t size; /* sizeof(tn_comm_ops) */
    void *user;
    int naxes;               /* of the grid, at most 8 */
    const char *const *name; /* naxes each: names, extents, and where this rank stands along each axis */
    const int64_t *extent, *index;
    /* Begins x; collectives begin in the same order on all ranks.  `in` may not be written, nor `out` be read or
     * written, until it is done: at once, where *request is NULL afterwards, or when wait has returned.  They do not
     * overlap.  x and its pairs are read during the call only. */
    int (*start)(void *user, const tn_collective *x, const void *in, void *out, void **request);
    int (*wait)(void *user, void *request); /* in any order */
    void (*progress)(void *user);           /* lets what was started go on; may be NULL */
    const char *(*error)(void *user);       /* of the last failure; never NULL */
};

/* ---- Ranks that are threads of one process -------------------------------------------- */

/* Tables of the ranks of a grid, each for a thread: programs over many ranks without MPI, on one machine.
 *
 *     static void *run(void *arg) {                                  // a rank
 *         tn_threads *t = ((job *)arg)->t;
 *         const int rank = ((job *)arg)->rank;
 *         .. a context of its own, with the same grid; a program; tn_compile, with
 *            tn_compile_options.comm = tn_threads_rank(t, rank); tn_call ..
 *         tn_threads_leave(t, rank);
 *         return NULL;
 *     }
 *     tn_threads *t = tn_threads_comm(c, &(tn_grid){1, (const char *const[]){"w"}, (const int64_t[]){4}}, 0);
 *     .. pthread_create for each of 4 ranks, pthread_join ..
 *     tn_threads_free(t);
 *
 * What is joined is joined in the order of ranks: results do not depend on which thread is how fast.  Small arrays are
 * moved by the rank that comes last, large ones by all that wait; nothing is copied on the way.
 *
 * Nothing waits forever.  A collective fails, with a message that names ranks, what they do, and the number of the
 * communication, counted from 1 on each rank,
 *     - with TN_EINVAL, at once, where ranks that should meet begin different collectives (kind, op, dtype, count,
 *       root ..), or wait for each other in collectives over different axes;
 *     - with TN_EIO, at once, where one of its ranks leaves;
 *     - with TN_EIO where a rank has waited for `seconds`:
 *       "rank 2 has waited 10 s in psum f64[10] over w (communication 17) for rank 0, which has begun no other since
 *       shift f64[4] by=1 over w (communication 16)";
 *     - with TN_ENOMEM.
 * The first failure is what all ranks are told from then on, in each collective that they begin, or wait for and that
 * not all have begun: their order is lost, and other tables are needed to go on.  A collective that is bad by itself (a
 * root that is no rank ..) is refused with TN_EINVAL to who begins it, as if it had not been begun. */
typedef struct tn_threads tn_threads;

/* Tables for the ranks of the grid, at most 4096, which are numbered in its order, the last axis fastest.  seconds: the
 * time limit, 0 for 10, HUGE_VAL for none.  Memory is c's, from whichever rank's thread needs it.  NULL after an error
 * (TN_EINVAL, TN_ELIMIT, TN_ENOMEM). */
TN_API tn_threads *tn_threads_comm(tn_ctx *c, const tn_grid *grid, double seconds);
/* Rank r's table, which lives as long as t; NULL where there is no such rank.  One thread at a time uses it (TN_EBUSY),
 * any one. */
TN_API const tn_comm_ops *tn_threads_rank(tn_threads *t, int r);
/* Rank r begins no more collectives, and has waited for those that it began: others fail instead of waiting for it.
 * Called by its thread, or when that does not use its table. */
TN_API void tn_threads_leave(tn_threads *t, int r);
/* Frees t; ranks that wait fail (TN_EIO) first, and none may begin anything afterwards.  NULL is fine; with its
 * context, t is freed as well. */
TN_API void tn_threads_free(tn_threads *t);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
