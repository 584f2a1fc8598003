/* NumPy's .npy files, in memory: formats 1, 2 and 3, both byte orders, row- and
 * column-major, of the dtypes the library has (f4 f8 i4 i8 b1). */
#ifndef TN_BASE_NPY_H
#define TN_BASE_NPY_H

#include "tansy.h"

#include <stdio.h>

#define TN_I_NPY_MESSAGE 160

typedef struct tn_i_npy {
    tn_type type;
    bool fortran_order;
    bool swapped;   /* the other byte order than this machine's */
    size_t data_at; /* where the elements begin; all of them are in the file */
} tn_i_npy;

/* Reads the header of a whole file.  False with a message for anything but a
 * complete file of a supported kind; bytes behind the elements are ignored. */
bool tn_i_npy_parse(const void *file, size_t size, tn_i_npy *npy, char message[TN_I_NPY_MESSAGE]);

/* Copies the elements of the same file, row-major and in this machine's byte
 * order, to `out` (tn_type_bytes(&npy->type) bytes of any alignment). */
void tn_i_npy_copy(const tn_i_npy *npy, const void *file, void *out);

/* The header of such an array as format 1; returns how many bytes it has. */
#define TN_I_NPY_HEADER 320
size_t tn_i_npy_header(const tn_type *type, char header[TN_I_NPY_HEADER]);
/* Writes a row-major array as format 1; false when the stream failed. */
bool tn_i_npy_write(FILE *f, const tn_type *type, const void *data);

#endif
