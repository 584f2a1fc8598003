/* Nests and loops that are run as loop programs, as tn_compile sees it (src/lower/plan.c). */
#ifndef TN_ASSEMBLED_H
#define TN_ASSEMBLED_H

#include "cgen/native.h"
#include "plan/loop.h"

/* Who runs the nests of a plan: ctx->nests.  All but the first are for tests, and are tn_i_l_eval in place of what is
 * not native code. */
enum {
    TN_NESTS_BACKEND,  /* as tn_compile_options.backend says */
    TN_NESTS_LOWERED,  /* evaluated as they are lowered */
    TN_NESTS_PASSED,   /* likewise, after all passes */
    TN_NESTS_BACKWARDS /* likewise, vector and parallel loops from the last iteration to the first */
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
    tn_i_native native; /* or what a C compiler made; its `why` goes on to say why there is no machine code either */
    int backend;        /* the tn_backend that runs them: the assembler, strips, or native */
} tn_i_assembled;

/* Sets `made` of all steps of root, where they are one program, and of what nests and loops of root and of what is
 * nested in it can be run so, by a tn_backend other than the reference; `native` is for TN_BACKEND_NATIVE.  Where
 * another runs than was asked for, out->native.why says why, and that is an error of the assembler, asked for by name.
 * False after an error. */
bool tn_i_assemble(tn_ctx *c, tn_i_plan *root, tn_i_all_steps *all, int backend, const tn_i_native_options *native,
                   tn_i_assembled *out);
void tn_i_assembled_drop(tn_ctx *c, tn_i_assembled *a);

#endif
