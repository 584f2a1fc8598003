/* The r/m operand (x86_rm.h), as the manuals' tables 2-2 and 2-3 have it. */
#include "jit/x86_rm.h"

#include <string.h>

/* In the place of a base: a SIB byte follows; in that of an index: there is none; of a base without displacement:
 * relative to the next instruction. */
enum { SIB_FOLLOWS = 4, NO_INDEX = 4, RELATIVE = 5 };

static uint8_t fields(unsigned two, unsigned reg, unsigned rm) {
    return (uint8_t)(two << 6 | (reg & 7) << 3 | (rm & 7));
}

/* The displacement's form: 0 none, 1 of 8 bits, which is `*units`, 2 of 32. */
static unsigned displaced(const tn_i_x86_rm *rm, unsigned unit, int *units) {
    const int n = (int)unit;
    if (rm->disp == 0 && (rm->reg & 7) != RELATIVE) return 0;
    *units = rm->disp / n;
    return rm->disp % n == 0 && *units >= -128 && *units <= 127 ? 1 : 2;
}

static unsigned scale_bits(unsigned scale) { return scale == 8 ? 3 : scale >> 1; }

static uint8_t *memory(uint8_t *p, unsigned reg, const tn_i_x86_rm *rm, unsigned unit) {
    int units = 0;
    const unsigned mod = displaced(rm, unit, &units);
    const bool sib = rm->index != TN_NO_REGISTER || (rm->reg & 7) == SIB_FOLLOWS;
    *p++ = fields(mod, reg, sib ? SIB_FOLLOWS : rm->reg);
    if (sib) *p++ = fields(scale_bits(rm->scale), rm->index == TN_NO_REGISTER ? NO_INDEX : rm->index, rm->reg);
    if (mod == 1) *p++ = (uint8_t)units;
    if (mod == 2) {
        memcpy(p, &rm->disp, 4);
        p += 4;
    }
    return p;
}

uint8_t *tn_i_x86_put_rm(tn_i_code *c, uint8_t *p, unsigned reg, const tn_i_x86_rm *rm, unsigned unit, size_t behind) {
    if (rm->kind == TN_RM_MEMORY) return memory(p, reg, rm, unit);
    if (rm->kind == TN_RM_REGISTER) {
        *p++ = fields(3, reg, rm->reg);
        return p;
    }
    *p++ = fields(0, reg, RELATIVE);
    const size_t at = (size_t)(p - c->text);
    tn_i_code_fix_later(c, at, at + 4 + behind, rm->constant, true);
    memset(p, 0, 4);
    return p + 4;
}

const char *tn_i_x86_bad_rm(const tn_i_x86_rm *rm, bool reg, bool memory, bool vector) {
    if (rm->kind == TN_RM_REGISTER) return reg ? NULL : "its operand is memory";
    if (!memory) return "its operand is a register";
    if (rm->kind == TN_RM_POOL) return vector ? "no base" : NULL;
    if (rm->reg > 15) return "no such base";
    if (vector) return rm->index > 31 ? "no vector of indices" : NULL;
    if (rm->index == TN_RSP || (rm->index > 15 && rm->index != TN_NO_REGISTER)) return "no such index";
    if (rm->scale != 1 && rm->scale != 2 && rm->scale != 4 && rm->scale != 8) return "no such scale";
    return NULL;
}
