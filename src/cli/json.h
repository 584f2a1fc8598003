/* Arrays as JSON text: a number, or numbers in nested rectangular lists, as
 * Python's json module writes them (NaN, Infinity and -Infinity included).
 *
 * A number may also be spelled in any way tn_i_parse_f64 takes, so that every
 * bit pattern can be given.  Time is linear in the text, memory constant.
 * (JSON libraries read neither NaN nor Infinity, and round what is f32 twice.) */
#ifndef TN_CLI_JSON_H
#define TN_CLI_JSON_H

#include "tansy.h"

#include <stdio.h>

typedef struct tn_i_json_error {
    size_t at; /* bytes before the place */
    char text[192];
} tn_i_json_error;

/* The shape of an array in text, and as dtype the narrowest that holds all its
 * elements exactly: bool when all are true or false, i64 when all are integers
 * in range, else f64 (also without elements).  False with an error unless the
 * text is one number or one rectangular list at most 8 deep. */
bool tn_i_json_scan(const char *text, size_t n, tn_type *type, tn_i_json_error *error);

/* Reads an array of a known type to `out` (tn_type_bytes(want) bytes), row-major.
 * Shapes must agree; what follows a zero dimension may be left out, as Python
 * writes [] for (0, 3).  Integer types take integers in range only, exactly;
 * float types take any number, rounded once; bool takes true, false, 1 and 0. */
bool tn_i_json_read(const char *text, size_t n, const tn_type *want, void *out, tn_i_json_error *error);

/* Writes a row-major array as one line: floats with 17 digits, bools as true
 * and false.  False when the stream failed. */
bool tn_i_json_write(FILE *f, const tn_type *type, const void *data);
/* The same without the end of the line, and finite floats to so many significant digits (0: 17). */
bool tn_i_json_put(FILE *f, const tn_type *type, const void *data, int digits);
/* Writes any text as a string, its quotes included. */
void tn_i_json_text(FILE *f, const char *text);

#endif
