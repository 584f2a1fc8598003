/* External functions: the user's C code behind a name. */
#ifndef TN_EXTERNAL_H
#define TN_EXTERNAL_H

#include "ir/ir.h"

/* Emits a call of the external function registered as `name`; returns its first
 * output and their number. Fails the builder when there is none. */
tn_i_var tn_i_external_emit(tn_i_builder *b, const char *name, uint32_t nin, const tn_i_var *in, uint32_t *nout);

#endif
