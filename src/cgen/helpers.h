/* C by the identifier: functions that text calls, types that are put in, and how lines are laid out; for what prints
 * loop programs, and for tn_emit_c (src/emit), which writes the rest of a file. */
#ifndef TN_CGEN_HELPERS_H
#define TN_CGEN_HELPERS_H

#include "cgen/cgen.h"
#include "prims/c_text.h"

/* Text as primitives have it (prims/c_text.h), of dtype; x, y, z become name[0..2] where given. */
void tn_i_c_put(tn_i_text *t, const char *text, int dtype, const char *const *name);
/* Whether the identifier occurs. */
bool tn_i_c_names(const char *text, const char *identifier);
/* Writes those functions that `text` names, behind those that they name: of `helpers` (ending with a NULL name, or
 * NULL), of reductions, of prims/scalar/special.h. */
void tn_i_c_need(tn_i_cgen *g, const tn_i_c_helper *helpers, const char *text);
/* A function that is written once: false, it is there. */
bool tn_i_c_once(tn_i_cgen *g, const char *name);
/* constants.c: a pointer to `count` elements that are known, which the file has as an array (C99). */
bool tn_i_c_constant(tn_i_cgen *g, int dtype, const void *data, int64_t count, tn_i_text *t);
/* layout.c: a statement a line, indented, in lines of up to 120 characters. */
void tn_i_c_lay_out(const char *text, tn_i_text *out);

/* The end of the word, number, string, comment or single character at s; *word: it is an identifier. */
const char *tn_i_c_token(const char *s, bool *word);
bool tn_i_c_letter(char c); /* that an identifier begins with */

#endif
