/* Nests and loops that loop programs run in place of the interpreter, as tn_compile sees it (src/lower/plan.c). */
#ifndef TN_ASSEMBLED_H
#define TN_ASSEMBLED_H

#include "cgen/native.h"
#include "plan/loop.h"

/* Who runs the nests of a plan: ctx->nests. */
enum {
    TN_NESTS_CODE,     /* machine code in memory; those for which there is none, strips */
    TN_NESTS_STRIPS,   /* for tests: strips */
    TN_NESTS_LOWERED,  /* for tests: tn_i_l_eval, as they are lowered */
    TN_NESTS_PASSED,   /* for tests: likewise, after all passes */
    TN_NESTS_BACKWARDS /* for tests: likewise, vector and parallel loops from the last iteration to the first */
};

/* All steps of a program as one loop program, where they are little work: a call has one code to enter. */
typedef struct tn_i_all_steps {
    bool is;
    tn_i_part_size size;
    size_t bytes; /* of scratch memory */
    tn_i_made made;
} tn_i_all_steps;

typedef struct tn_i_assembled {
    struct tn_i_compiled *nest; /* of each nest of each plan that is run so */
    size_t nnest, cnest;
    void *code;         /* pages of machine code, or NULL */
    size_t code_bytes;  /* whole pages */
    tn_i_native native; /* or what a C compiler made */
} tn_i_assembled;

/* Sets `made` of all steps of root, where they are one program, and of what nests and loops of root and of what is
 * nested in it can be run so: as machine code in memory;
 * with options for a C compiler by what that makes of their text, where it can (else out->native.why says why not).
 * False after an error. */
bool tn_i_assemble(tn_ctx *c, tn_i_plan *root, tn_i_all_steps *all, const tn_i_native_options *native,
                   tn_i_assembled *out);
void tn_i_assembled_drop(tn_ctx *c, tn_i_assembled *a);

#endif
