/* Kernels as C99, for programs that are emitted (src/emit/c99.h) and compiled (src/cgen).
 *
 * A primitive's `c_kernel` writes statements.  in0, in1, ... are pointers to its operands' first elements, out0, ... to
 * its results', `scratch` to prim->scratch bytes, `shared` to memory that means nothing before and after, `status` an
 * int that the function returns when it is not 0; they are there when the statements name them.  Functions that it
 * calls are `c_helpers`, which are written once, with those that they call.  Their text is compiled nowhere here,
 * unless it was made by TN_C_TEXT.
 *
 * In a helper's text the identifier T is the dtype's type, U the unsigned integer to compute with (a float is its own),
 * a name that ends in _T ends in the dtype's name (max_T: max_f64), M_exp is exp or expf, LOWEST and
 * HIGHEST are its bounds, and the prefix tn_i_ becomes
 * tansy_.  A helper NAME_T is looked up for each dtype, as NAME_f64, ....  bool is
 * int.  Names that begin with tn_i_ are also looked for in special.c. */
#ifndef TN_C_TEXT_H
#define TN_C_TEXT_H

#include "base/text.h"
#include "prims/prim.h"

typedef struct tn_i_c_helper {
    const char *name, *text;
} tn_i_c_helper;

/* A function that is compiled, and its text. */
#define TN_C_TEXT(name, ...) __VA_ARGS__ static const char name[] = #__VA_ARGS__;
/* The text alone. */
#define TN_C_ONLY(name, ...) static const char name[] = #__VA_ARGS__;

typedef struct tn_i_c_kernel {
    tn_i_text *t;
    tn_i_text *outside; /* declarations in front of all functions */
    const tn_prim *prim;
    const tn_i_param *p;
    uint32_t nin, nout;
    const tn_i_arr *in, *out; /* types and strides; `data` means nothing */
    bool cblas;               /* products may call it */
    const char *prefix;       /* of the program's names, as the function's */
    const tn_i_loc *loc;      /* of the equation, or NULL */
    size_t *shared;           /* bytes at `shared`: raised to what it needs */
    unsigned *tells;          /* |= 1: calls tansy_print; 2: tansy_progress */
    const char **why;         /* set: the equation cannot be written, and this is the reason */
} tn_i_c_kernel;

/* NULL where a program's function may have this name, which links with others and the C library; else what it is. */
const char *tn_i_c_refuses(const char *name);
const char *tn_i_c_name(int dtype);   /* "double", ... */
const char *tn_i_c_suffix(int dtype); /* "f64", ... */
/* The functions of prims/scalar/special.h: of special.c, and of incomplete_gamma.c. */
extern const tn_i_c_helper tn_i_special_helpers[];
extern const tn_i_c_helper tn_i_igamma_helpers[];
/* Reductions, NAME that of tn_i_fold_name ("sum_f64"): tansy_NAME(x, y) of two elements; of a state of 16 numbers and
 * one for each level of the counter, at most 56, of which nothing is set, tansy_into_NAME(state, &n, x), where n counts
 * from 0, and tansy_total_NAME(state, n); of arg folds tansy_into_NAME(&best, &n, &at, x), from at = 0 on. */
extern const tn_i_c_helper tn_i_fold_helpers[];
const char *tn_i_fold_name(int fold, int dtype, char name[32]);
/* An element of dtype as a constant expression. */
void tn_i_c_number(tn_i_text *t, int dtype, const void *at);
/* Opens a loop for each dimension but those of size 1: variables i0, i1, ... of prefix "i". */
void tn_i_c_open(tn_i_text *t, const char *prefix, int rank, const int64_t *dim);
void tn_i_c_close(tn_i_text *t, int rank, const int64_t *dim);
/* The offset that they make with strides; "0" where there is none. */
void tn_i_c_at(tn_i_text *t, const char *prefix, int rank, const int64_t *dim, const int64_t *stride);
/* The same of the dimensions in `axes` alone. */
void tn_i_c_open_axes(tn_i_text *t, const char *prefix, const tn_type *x, unsigned axes);
void tn_i_c_close_axes(tn_i_text *t, const tn_type *x, unsigned axes);
void tn_i_c_at_axes(tn_i_text *t, const char *prefix, const tn_type *x, const int64_t *stride, unsigned axes);
/* A loop over the whole array `a`, and the offset in it. */
static inline void tn_i_c_open_arr(tn_i_text *t, const char *prefix, const tn_type *x) {
    tn_i_c_open(t, prefix, x->rank, x->dim);
}
static inline void tn_i_c_at_arr(tn_i_text *t, const char *prefix, const tn_i_arr *a) {
    tn_i_c_at(t, prefix, a->type->rank, a->type->dim, a->stride);
}
/* Operand 0 to result 0, unless they are one. */
void tn_i_c_copy_operand(const tn_i_c_kernel *k);
/* For those whose kernel is tn_i_chosen_kernel, of one operand. */
void tn_i_c_chosen_kernel(const tn_i_c_kernel *k);
/* For primitives whose kernel moves boxes. */
void tn_i_c_box_kernel(const tn_i_c_kernel *k);

#endif
