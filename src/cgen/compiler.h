/* The system's C compiler: where it is, and one run of it. */
#ifndef TN_CGEN_COMPILER_H
#define TN_CGEN_COMPILER_H

#include "cgen/trust.h"

enum { TN_I_ARGUMENTS = 32 };

typedef struct tn_i_compiler {
    tn_ctx *ctx;
    double seconds;       /* that a run may take; 0: the default */
    char path[TN_I_PATH]; /* absolute */
    int64_t mark[4];      /* tells one installation from the next */
} tn_i_compiler;

/* A name is looked for in PATH, or in /usr/bin and /bin where the environment is not to be believed. */
bool tn_i_compiler_find(const char *name, tn_i_compiler *out, char why[TN_I_WHY]);
/* Runs it in that directory, without a shell.  The arguments name files in the directory, and what it makes for itself
 * goes there too.  False with a reason when it fails, or is ended as it takes too long. */
bool tn_i_compiler_run(const tn_i_compiler *cc, int dir, const char *const *argv, char why[TN_I_WHY]);

#endif
