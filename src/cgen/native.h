/* Loop programs as a library that the system's C compiler makes of their text: the native backend.
 *
 * The compiler is started with a vector of arguments; no shell sees them, and the text only as a file.  What cannot be
 * done, as where there is no compiler, is no error: who asks runs the programs in another way, with the same bits. */
#ifndef TN_CGEN_NATIVE_H
#define TN_CGEN_NATIVE_H

#include "base/base.h"

enum { TN_I_WHY = 512 };

typedef struct tn_i_native_options {
    const char *cc, *cache_dir; /* NULL, 0: the defaults (tn_compile_options) */
    double cc_seconds;
    size_t cache_bytes;
} tn_i_native_options;

/* What is loaded. */
typedef struct tn_i_native {
    void *library; /* NULL: nothing is */
    /* A tn_i_l_compiled each, in the order in which they were added; tn_i_l_run.table of each is `table`. */
    const void *const *program;
    const void **table;
    size_t ntable;
    char why[TN_I_WHY + 256]; /* why nothing is, and room for who goes on (plan/assembled.h); "" when it is */
} tn_i_native;

struct tn_i_cgen;

/* Has the native file of g compiled, unless that was done before (cgen/cache.h), and loads it; its table is out's from
 * then on.  TN_OK with `why` when that is not possible here; an error when memory is short or the directory given must
 * not be used. */
tn_status tn_i_native_load(tn_ctx *c, struct tn_i_cgen *g, const tn_i_native_options *o, tn_i_native *out);
void tn_i_native_drop(tn_ctx *c, tn_i_native *n);

#endif
