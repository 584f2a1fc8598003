/* Instructions on general registers (x86_gen.def), jumps and calls. */
#include "jit/x86_rm.h"

#include <string.h>

enum {
#define X(name, text, flags, special) FORM_##name,
    TN_X86_GEN_FORMS(X)
#undef X
};

enum { R = TN_GEN_R, M = TN_GEN_M, W = TN_GEN_W, N = TN_GEN_N, BR = TN_GEN_BR, BM = TN_GEN_BM };
const tn_i_x86_gen_form tn_i_x86_gen_forms[] = {
#define X(name, text, flags, special) {text, flags, TN_GEN_##special},
    TN_X86_GEN_FORMS(X)
#undef X
};

const tn_i_x86_gen_row tn_i_x86_gen_rows[TN_X_GENERALS] = {
#define G(id, name, form, op, ext) {name, FORM_##form, ext, op},
#include "jit/x86_gen.def"
#undef G
};

static uint8_t *put_opcode(uint8_t *p, uint32_t opcode) {
    for (unsigned shift = 24; shift; shift -= 8)
        if (opcode >> shift) *p++ = (uint8_t)(opcode >> shift);
    *p++ = (uint8_t)opcode;
    return p;
}

/* Registers 4 to 7 of 8 bits are the lowest ones of rsp to rdi with this prefix, and others without it. */
static bool byte_of_4_to_7(const tn_i_x86_gen_form *f, const tn_i_x86_gen *i) {
    return (f->flags & BR && i->reg > 3) || (f->flags & BM && i->rm.kind == TN_RM_REGISTER && i->rm.reg > 3);
}

static uint8_t *put_rex(uint8_t *p, const tn_i_x86_gen_form *f, const tn_i_x86_gen *i, unsigned reg) {
    const unsigned w = i->size == 8 && f->flags & W ? 1 : 0;
    const unsigned rex = w << 3 | (reg >> 3 & 1) << 2 | tn_i_x86_x(&i->rm) << 1 | tn_i_x86_b(&i->rm);
    if (rex || byte_of_4_to_7(f, i)) *p++ = (uint8_t)(0x40 | rex);
    return p;
}

static bool fits_8(int32_t x) { return x >= -128 && x <= 127; }

static size_t bytes_of_number(uint8_t special, int32_t imm) {
    switch (special) {
    case TN_GEN_IMM: return 4;
    case TN_GEN_IMM8: return 1;
    case TN_GEN_IMM_SHORT: return fits_8(imm) ? 1 : 4;
    default: return 0;
    }
}

static const char *bad(const tn_i_x86_gen_form *f, const tn_i_x86_gen *i) {
    if (f->special == TN_GEN_ALONE) return NULL;
    if ((f->flags & N && i->reg > 15) || (i->rm.kind == TN_RM_REGISTER && i->rm.reg > 15)) return "no such register";
    if (i->size != 4 && i->size != 8) return "its operands have 4 or 8 bytes";
    if (f->special == TN_GEN_IMM8 && (i->imm < -128 || i->imm > 255)) return "its number has 8 bits";
    if (i->rm.spread) return "it spreads no element";
    return tn_i_x86_bad_rm(&i->rm, f->flags & R, f->flags & M, false);
}

void tn_i_x86_general(tn_i_code *c, const tn_i_x86_gen *i) {
    const unsigned op = i->op - (unsigned)TN_X_GENERAL;
    if (op >= TN_X_GENERALS) {
        tn_i_code_wrong(c, "an instruction", "it is none on general registers");
        return;
    }
    const tn_i_x86_gen_row *r = &tn_i_x86_gen_rows[op];
    const tn_i_x86_gen_form *f = &tn_i_x86_gen_forms[r->form];
    const char *why = bad(f, i);
    uint8_t *p = tn_i_code_room(c);
    if (why) tn_i_code_wrong(c, r->name, why);
    if (why || !p) return;
    const unsigned reg = f->flags & N ? i->reg : r->ext;
    const size_t number = bytes_of_number(f->special, i->imm);
    uint32_t opcode = r->opcode;
    if (f->special == TN_GEN_CC) opcode += i->cc;
    if (f->special == TN_GEN_IN_OPCODE) opcode += i->rm.reg & 7;
    if (f->special == TN_GEN_IMM_SHORT && number == 1) opcode += 2;
    if (f->special != TN_GEN_ALONE) p = put_rex(p, f, i, reg);
    p = put_opcode(p, opcode);
    if (f->special != TN_GEN_ALONE && f->special != TN_GEN_IN_OPCODE) p = tn_i_x86_put_rm(c, p, reg, &i->rm, 1, number);
    memcpy(p, &i->imm, 4);
    c->length = (size_t)(p - c->text) + number;
}

/* ---- numbers, jumps, calls ------------------------------------------------------------------- */

void tn_i_x86_set(tn_i_code *c, unsigned reg, int64_t x) {
    if (x < 0 && x >= INT32_MIN) {
        tn_i_x86_gi(c, TN_X_mov_i, tn_i_x86_r(reg), (int32_t)x);
        return;
    }
    if (reg > 15) tn_i_code_wrong(c, "mov", "no such register");
    uint8_t *p = tn_i_code_room(c);
    if (!p) return;
    const bool wide = x < 0 || x > UINT32_MAX; /* writing 32 bits clears the others */
    if (wide || reg > 7) *p++ = (uint8_t)(0x40 | (wide ? 8 : 0) | reg >> 3);
    *p++ = (uint8_t)(0xB8 | (reg & 7));
    memcpy(p, &x, wide ? 8 : 4);
    c->length = (size_t)(p - c->text) + (wide ? 8 : 4);
}

/* An opcode of one or two bytes, and the distance to a label in 32 bits. */
static void put_far(tn_i_code *c, uint32_t opcode, tn_i_jit_label to) {
    uint8_t *p = tn_i_code_room(c);
    if (!p) return;
    p = put_opcode(p, opcode);
    const size_t at = (size_t)(p - c->text);
    memset(p, 0, 4);
    tn_i_code_fix_later(c, at, at + 4, to, false);
    c->length = at + 4;
}

/* One of 8 bits where the label is placed that near. */
static void jump(tn_i_code *c, uint8_t near, uint32_t far, tn_i_jit_label to) {
    if (c->failed) return;
    const int64_t distance = (int64_t)c->label[to] - (int64_t)(c->length + 2);
    uint8_t *p = tn_i_code_room(c);
    if (!p) return;
    if (distance < -128 || distance > 0) {
        put_far(c, far, to);
        return;
    }
    p[0] = near;
    p[1] = (uint8_t)distance;
    c->length += 2;
}

void tn_i_x86_jump(tn_i_code *c, tn_i_jit_label to) { jump(c, 0xEB, 0xE9, to); }
void tn_i_x86_jump_if(tn_i_code *c, tn_i_x86_cc cc, tn_i_jit_label to) {
    jump(c, (uint8_t)(0x70 + cc), 0x0F80u + (unsigned)cc, to);
}
void tn_i_x86_call_label(tn_i_code *c, tn_i_jit_label to) { put_far(c, 0xE8, to); }

void tn_i_x86_address(tn_i_code *c, unsigned reg, tn_i_jit_label of) {
    put_far(c, 0x480000u | (reg > 7 ? 0x40000u : 0) | 0x8D00u | 5u | (reg & 7) << 3, of);
}

void tn_i_x86_call(tn_i_code *c, void (*f)(void)) {
    const uint64_t address = (uint64_t)(uintptr_t)f;
    tn_i_x86_g1(c, TN_X_call, tn_i_x86_pool(tn_i_code_constant_of(c, &address, 8)));
}
