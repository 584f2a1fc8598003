/* The r/m operand: the bytes behind an opcode that are the same in every family. */
#ifndef TN_X86_RM_H
#define TN_X86_RM_H

#include "jit/x86.h"

/* Writes ModRM, SIB and displacement at p, within the room of the instruction that begins at c->length; where a
 * displacement of 8 bits counts `unit` bytes, and `behind` bytes of the instruction follow.  Returns their end. */
uint8_t *tn_i_x86_put_rm(tn_i_code *c, uint8_t *p, unsigned reg, const tn_i_x86_rm *rm, unsigned unit, size_t behind);
/* Why the operand is none, or NULL.  vector: its index is a vector register. */
const char *tn_i_x86_bad_rm(const tn_i_x86_rm *rm, bool reg, bool memory, bool vector);

/* Bits 3 of the index and of the base or register, for prefixes. */
static inline unsigned tn_i_x86_x(const tn_i_x86_rm *rm) {
    return rm->kind == TN_RM_MEMORY && rm->index != TN_NO_REGISTER ? rm->index >> 3 & 1 : 0;
}
static inline unsigned tn_i_x86_b(const tn_i_x86_rm *rm) { return rm->kind == TN_RM_POOL ? 0 : rm->reg >> 3 & 1; }

#endif
