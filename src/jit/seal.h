/* Machine code that may run.
 *
 * A buffer of code (jit/code.h) is copied into pages of its own, which are first written and then executable, never
 * both at once: some systems allow nothing else, and on all of them it is what keeps a stray write from becoming code.
 * All kernels of a buffer share these pages. */
#ifndef TN_SEAL_H
#define TN_SEAL_H

#include "jit/code.h"

typedef struct tn_i_jit {
    unsigned char *base; /* NULL: none */
    size_t bytes;        /* whole pages; the context counts them */
} tn_i_jit;

typedef enum tn_i_jit_result {
    TN_JIT_OK,
    TN_JIT_NONE, /* the system gives no memory for code, or not for ours: another back end has to run; no error */
    TN_JIT_ERROR /* the context has it: TN_ENOMEM, and whatever was wrong with the code */
} tn_i_jit_result;

/* A finished or unfinished buffer (which it finishes) as code that may run, on any thread, until it is dropped; the
 * buffer may be dropped before.  `why`, after TN_JIT_NONE: "mprotect: Permission denied". */
enum { TN_JIT_WHY = 160 };
tn_i_jit_result tn_i_jit_seal(tn_i_code *c, tn_i_jit *out, char why[TN_JIT_WHY]);
void tn_i_jit_drop(tn_ctx *ctx, tn_i_jit *j);
/* The function that begins `at` bytes after the beginning (tn_i_code_place_of); the caller casts it to its type. */
typedef void tn_i_jit_fn(void);
tn_i_jit_fn *tn_i_jit_at(const tn_i_jit *j, size_t at);

#endif
