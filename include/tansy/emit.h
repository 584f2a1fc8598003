/* tansy/emit.h - programs as C source.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TANSY_EMIT_H
#define TANSY_EMIT_H

#include "../tansy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_emit_c_options {
    size_t size;      /* sizeof(tn_emit_c_options) */
    const char *name; /* of the C function, none that C, C++, their libraries or POSIX have (or "tansy_..."), nor one
                         that begins with "_"; NULL: the program's, or "f" */
    const char
        *header; /* how the source includes its header: without quotes, backslashes, two slashes or a comment in it,
                    "??" and control characters; NULL: "NAME.h" */
    int cblas;   /* products of matrices call cblas_dgemm and cblas_sgemm; 0: blocked ones of the file's own */
    bool strict_zero; /* as in tn_compile_options */
    int64_t capacity; /* what NAME_CAPACITY is unless it is defined: steps; 0: 1000 */
} tn_emit_c_options;
/* f as a C99 source file and its header, two texts that the caller releases with tn_text_free: a function
 *
 *     int NAME(const double *in0, ..., double *out0, ..., void *work);
 *
 * that needs no Tansy and no memory but `work` (NAME_WORK_BYTES, a macro of the header, which also documents the shapes
 * and what is returned).  It runs the steps that tn_compile plans, fused in the same way, with the C library's
 * functions: gcc calls glibc's of vectors, within 4 ulp, unless -DTANSY_LIBMVEC=0 is given (docs/emit-c.md).  All
 * outputs are wanted and share no memory with inputs.  Where loops find their length when they run and something is
 * kept of each step, NAME_CAPACITY says for how many there is room, and the function returns NAME_CAPACITY_EXCEEDED
 * where there is none.  Inputs and outputs that are as long as such a loop, as residuals of tn_linearize are and
 * tn_compile refuses, have their length beside them: an int64_t of an input, a pointer to one of an output, whose
 * memory is NAME_OUTj_ELEMENTS elements, for NAME_CAPACITY entries; what one loop is to read together has one length,
 * or NAME_LENGTHS_DIFFER is returned.  print and progress become calls of tansy_print and tansy_progress, which the
 * header declares and its user defines.  TN_EINVAL for a name or a header's that C does not admit, or that is one of
 * the program's external functions, and for a negative capacity; TN_ERULE for what is not written as C: values in spill
 * files (offload), schedules with slots on disk or of very many steps, and what else tn_compile refuses; TN_ENOMEM.
 * *source and *header are NULL then. f may be used by several threads at once; its context may not.  Cost: as
 * tn_compile, and linear in the text. */
TN_API tn_status tn_emit_c(const tn_fn *f, const tn_emit_c_options *opt, char **source, char **header);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
