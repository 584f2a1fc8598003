/* Loop programs as C: one printer, two flavours of the same text.
 *
 * A file in the making has any number of programs.  What it prints computes what tn_i_l_eval does, bit for bit (but for
 * which NaN): an operation is a statement with the scalar body that the primitive has (c_body), so nothing is
 * contracted or put in another order, and sums are in the order of loop.h.  The printer decides nothing that a pass
 * could have.
 *
 * - C99: `static int NAME(char *const *base)`, for files that need no Tansy: -std=c99 -pedantic -Wall -Wextra -Werror
 *   accepts it, functions are the C library's or static ones that are written in front, known numbers are arrays.
 *   Nothing but static functions, guarded by TANSY_HAS_..., so that texts stand in one file or link with each other.
 *   gcc is told of vector loops and, with `libm`, which of the C library's functions have versions for vectors.
 * - Native: a tn_i_l_compiled each, for gcc and clang with tn_i_cgen_flags.  Functions with prim->vector are those of
 *   tn_i_vec_math, given whole vectors, also where fewer elements are left; what only the library has is called.  These
 *   addresses are in a table that the caller gives (tn_i_l_run.table), so that the text is the same in every process.
 * `parallel` loops are parts that run->share runs.
 *
 * Vector loops are plain loops that compilers vectorize (`omp simd`, in C99 TANSY_SIMD), or, where there are loops
 * or functions of vectors inside, blocks of TN_CGEN_BLOCK elements: what is between these is a loop over the block, and
 * what passes from one such loop to another is an array of the block. */
#ifndef TN_CGEN_H
#define TN_CGEN_H

#include "base/isa.h"
#include "base/text.h"
#include "loop/loop.h"

enum {
    /* Operations of one function.  gcc 12 takes 0.12-0.15 ms an operation of straight code up to 2,000 in a function
     * (-O1 to -O3), 0.3 at 16,000, and more from there on; what lives across functions costs a load and a store each,
     * of which longer functions have fewer. */
    TN_CGEN_PIECE = 2000,
    TN_CGEN_BLOCK = 64,          /* elements of a block of a vector loop */
    TN_CGEN_STATES = 1 << 18,    /* bytes of the reductions of a program, which are on the stack */
    TN_CGEN_C99_STATES = 1 << 12 /* likewise in C99, for small machines: more are in the program's scratch memory */
};

typedef struct tn_i_cgen_constant {
    const char *data;
    size_t bytes;
    int dtype;
} tn_i_cgen_constant;

typedef struct tn_i_cgen {
    /* Set before the first program. */
    tn_ctx *ctx;
    bool native;
    tn_i_isa isa;   /* native: the functions' vectors, and what tn_i_cgen_flags are for */
    bool accurate;  /* native: as for tn_i_vec_math */
    bool libm;      /* C99: functions of the C library in place of those of the same name, within its error */
    uint32_t piece; /* operations of one function; 0: TN_CGEN_PIECE */
    /* C99: writes the name of what a CALL of k calls, static int NAME(char *const *at, const int64_t *number), which
     * returns 0 to go on, and adds that function to `helpers` where it is not there; false: cannot be, after an error.
     */
    bool (*kernel)(void *user, const tn_i_l_kernel *k, tn_i_text *name);
    void *user;
    const char *prefix; /* C99: of the names of constants; NULL: "tansy" */
    /* What there is. */
    tn_i_text helpers, constants, functions, list; /* list: names of the programs */
    tn_i_cgen_constant *constant;                  /* C99 */
    size_t nconstant, cconstant;
    size_t scratch;     /* C99: bytes at the base of the programs' scratch memory that one of them needs */
    const void **table; /* native */
    size_t ntable, ctable;
    char *written; /* names of helpers, a line each */
    size_t nwritten, cwritten;
    bool failed; /* the error is in the context */
} tn_i_cgen;

/* Adds a checked program; `name` is none of those that tn_i_c_refuses.  False after TN_ENOMEM, or, where the file is as
 * good as before, TN_ERULE: a primitive has no text in C, a kernel cannot be called, or (native) reductions side by
 * side need more than TN_CGEN_STATES; TN_ELIMIT: a line would be too long. */
bool tn_i_cgen_add(tn_i_cgen *g, const char *name, const tn_i_loops *p);
/* C99: what stands in front of helpers, constants and functions, and of `more`, or NULL, which is written behind them:
 * headers, and what compilers are told. */
void tn_i_cgen_head(const tn_i_cgen *g, const tn_i_text *more, tn_i_text *out);
/* The file.  Native: `tansy_programs` is an array of the programs' addresses, in order. */
bool tn_i_cgen_file(tn_i_cgen *g, tn_i_text *out);
void tn_i_cgen_free(tn_i_cgen *g);

/* Options of the compiler for native text, up to a NULL: standard, contraction, errno, traps, vectors of this set. */
void tn_i_cgen_flags(tn_i_isa isa, const char *flags[24]);

#endif
