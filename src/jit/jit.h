/* Loop programs as machine code: the back end that compiles in memory.
 *
 * A loop program (loop/loop.h) that passed its checker becomes a function of C.  What is computed, in which loops and
 * by vectors of how many elements the program has decided; here instructions are chosen (jit/walk.h), registers
 * assigned (jit/machine.h) and bytes written (jit/x86.h).  Its bits are those of tn_i_l_eval with the same functions of
 * vectors.
 *
 *     tn_i_code_begin(&code, ctx, tn_i_isa_best());
 *     tn_i_jit_compile(&code, p, NULL, &at, why);       as many programs as there are
 *     tn_i_jit_seal(&code, &pages, why);
 *     run = tn_i_jit_program(&pages, &code, at);
 *     tn_i_code_drop(&code);
 *     run(&(tn_i_l_run){0}, base); */
#ifndef TN_JIT_H
#define TN_JIT_H

#include "jit/seal.h"
#include "loop/loop.h"

typedef struct tn_i_jit_options {
    bool accurate; /* functions of vectors are SLEEF's (tn_i_vec_math) */
    /* Each address of each access is compared with its array before it; what is outside stops the process (ud2). */
    bool bounds;
} tn_i_jit_options;

/* Adds p to the buffer, which must be for AVX2 or AVX-512; o NULL: all 0.  TN_JIT_NONE: the program is not compiled,
 * and `why` says for which reason; the buffer is as good as before.  The program, its numbers and its kernels' data
 * live as long as the code.  Time and memory: linear in the program's length. */
tn_i_jit_result tn_i_jit_compile(tn_i_code *code, const tn_i_loops *p, const tn_i_jit_options *o, tn_i_jit_label *at,
                                 char why[TN_JIT_WHY]);
/* The function, once the buffer is sealed; it lives as long as the pages.  Floats are as base/fp_mode.h has them. */
static inline tn_i_l_compiled *tn_i_jit_program(const tn_i_jit *j, const tn_i_code *code, tn_i_jit_label at) {
    return (tn_i_l_compiled *)tn_i_jit_at(j, tn_i_code_place_of(code, at));
}

#endif
