/* Pieces of one step on several threads. */
#ifndef TN_PARALLEL_H
#define TN_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

/* Pieces first .. last-1, by thread number `thread`. */
typedef void tn_i_pieces_fn(void *with, int thread, int64_t first, int64_t last);

/* Whether the library was built with threads. */
bool tn_i_nest_threads(void);
/* All pieces, each by one of at most `threads` threads, which have some in a row; returns when all are done. */
void tn_i_in_pieces(uint32_t threads, int64_t pieces, tn_i_pieces_fn *run, void *with);

#endif
