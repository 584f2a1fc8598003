/* Pieces of one step on several threads. */
#ifndef TN_PARALLEL_H
#define TN_PARALLEL_H

#include "base/fp_mode.h"

#include <stdbool.h>
#include <stdint.h>

/* Pieces first .. last-1, by thread number `thread`. */
typedef void tn_i_pieces_fn(void *with, int thread, int64_t first, int64_t last);

/* Whether the library was built with threads. */
bool tn_i_nest_threads(void);
/* The process, if the threads that OpenMP keeps may be used in it; 0 in one that was forked and is no new program
 * since: OpenMP may believe that it has threads that only the parent has, and would wait for them for ever. */
long tn_i_process(void);
/* Whether `process`, as it was told then, is this one. */
bool tn_i_same_process(long process);
/* All pieces, each by one of at most `threads` threads, which have some in a row; returns when all are done.  In
 * another process than that, a child of it, threads are started for these pieces, and ended. */
void tn_i_in_pieces(long process, uint32_t threads, int64_t pieces, tn_i_pieces_fn *run, void *with);
/* Before products on several threads, where the caller's mode (base/fp_mode.h) or that of the call is not the default
 * one: OpenMP's threads get this one, and keep it, for who made them may have had another too. */
void tn_i_threads_enter(long process, uint32_t threads, tn_i_fp_mode wanted);

#endif
