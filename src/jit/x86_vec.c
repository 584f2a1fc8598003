/* VEX and EVEX: one encoder each, for all rows of x86_vec.def. */
#include "jit/x86_rm.h"

/* ---- the tables -------------------------------------------------------------------------- */

enum { M0F = 1, M38, M3A };
enum { PNO, P66, PF3, PF2 };
enum { SX = 1, SY = 2, SZ = 4 };

enum {
#define X(name, text, flags, mask) FORM_##name,
    TN_X86_FORMS(X)
#undef X
};

enum { R = TN_FORM_R, M = TN_FORM_M, I = TN_FORM_I, S = TN_FORM_S, V = TN_FORM_V, K = TN_FORM_K };
const tn_i_x86_form tn_i_x86_forms[] = {
#define X(name, text, flags, mask) {text, flags, TN_MASK_##mask},
    TN_X86_FORMS(X)
#undef X
};

/* The form and, above it, what stands in reg's place. */
#define F(form)       FORM_##form
#define FORM_VMI(ext) (FORM_VMI | (ext) << 8)
const tn_i_x86_row tn_i_x86_rows[TN_X_VECTORS] = {
#define V(id, vex, evex, form, map, pp, vex_w, evex_w, op, tuple, elem, sizes) \
    {vex, evex, F(form) & 0xFF, F(form) >> 8, map, pp, vex_w, evex_w, op, TN_TUPLE_##tuple, elem, sizes},
#include "jit/x86_vec.def"
#undef V
};

unsigned tn_i_x86_memory(const tn_i_x86_row *r, unsigned size, bool spread) {
    if (spread) return r->elem;
    switch ((tn_i_x86_tuple)r->tuple) {
    case TN_TUPLE_FULL:
    case TN_TUPLE_MEM: return size;
    case TN_TUPLE_HALF:
    case TN_TUPLE_HALF_MEM: return size / 2;
    case TN_TUPLE_QUARTER: return size / 4;
    case TN_TUPLE_EIGHTH: return size / 8;
    case TN_TUPLE_M16: return 16;
    case TN_TUPLE_M32: return 32;
    case TN_TUPLE_ONE:
    case TN_TUPLE_NO_MEM: break;
    }
    return r->elem;
}

/* ---- what may be ---------------------------------------------------------------------------- */

static bool beyond_15(const tn_i_x86_vec *i) {
    const unsigned rm = i->rm.kind == TN_RM_REGISTER ? i->rm.reg : i->rm.kind == TN_RM_MEMORY ? i->rm.index & 31 : 0;
    const bool index = i->rm.kind != TN_RM_MEMORY || i->rm.index != TN_NO_REGISTER;
    return i->reg > 15 || i->v > 15 || (index && rm > 15);
}

static const char *bad_mask(const tn_i_x86_vec *i, const tn_i_x86_form *f) {
    if (f->mask == TN_MASK_NEEDED && !i->k) return "it needs a mask";
    if (!i->k) return i->zero ? "zeros without a mask" : NULL;
    if (i->k > 7) return "no such mask";
    if (f->mask == TN_MASK_NONE) return "it has no mask";
    if (i->zero && (f->mask != TN_MASK_ZEROES || (f->text[0] == 'm' && i->rm.kind != TN_RM_REGISTER))) /* a store */
        return "its mask leaves no zeros";
    return NULL;
}

/* The processor refuses gathers two of whose registers are one. */
static bool same_registers(const tn_i_x86_vec *i, const tn_i_x86_form *f, bool evex) {
    if (!(f->flags & V) || f->text[0] == 'm') return false;
    return i->reg == i->rm.index || (!evex && (i->v == i->reg || i->v == i->rm.index));
}

static const char *bad(const tn_i_code *c, const tn_i_x86_vec *i, const tn_i_x86_row *r, unsigned size, bool evex) {
    const tn_i_x86_form *f = &tn_i_x86_forms[r->form];
    const char *rm = tn_i_x86_bad_rm(&i->rm, f->flags & R, f->flags & M, f->flags & V);
    if (rm) return rm;
    if (!(r->sizes & size / 16)) return "there are no vectors of this size";
    if (evex && !r->evex[0]) return "it has no masks, no vectors of 64 bytes, and no registers above 15";
    if ((evex || f->flags & K) && c->isa != TN_ISA_AVX512) return "it is AVX-512's";
    if ((i->reg | i->v) > 31 || (i->rm.kind == TN_RM_REGISTER && i->rm.reg > 31)) return "no such register";
    if (i->rm.spread && (r->tuple > TN_TUPLE_HALF || i->rm.kind == TN_RM_REGISTER)) return "it spreads no element";
    if (same_registers(i, f, evex)) return "two of its registers are one";
    return bad_mask(i, f);
}

/* ---- encoding ----------------------------------------------------------------------------------- */

typedef struct place {
    unsigned reg, v, x, b, length; /* length: 0, 1, 2 of vectors of 16, 32, 64 bytes */
} place;

/* Bits of registers are inverted in both prefixes. */
static uint8_t *put_vex(uint8_t *p, const tn_i_x86_row *r, const place *at) {
    const unsigned not_r = ~at->reg >> 3 & 1, tail = (~at->v & 15) << 3 | at->length << 2 | r->pp;
    if (!at->x && !at->b && !r->vex_w && r->map == M0F) {
        *p++ = 0xC5;
        *p++ = (uint8_t)(not_r << 7 | tail);
        return p;
    }
    *p++ = 0xC4;
    *p++ = (uint8_t)(not_r << 7 | (~at->x & 1) << 6 | (~at->b & 1) << 5 | r->map);
    *p++ = (uint8_t)((unsigned)r->vex_w << 7 | tail);
    return p;
}

static uint8_t *put_evex(uint8_t *p, const tn_i_x86_row *r, const place *at, const tn_i_x86_vec *i) {
    unsigned x = at->x, v = at->v;
    if (i->rm.kind == TN_RM_REGISTER) x = i->rm.reg >> 4 & 1;
    if (i->rm.kind == TN_RM_MEMORY && i->rm.index != TN_NO_REGISTER) v |= i->rm.index & 16;
    *p++ = 0x62;
    *p++ = (uint8_t)((~at->reg >> 3 & 1) << 7 | (~x & 1) << 6 | (~at->b & 1) << 5 | (~at->reg >> 4 & 1) << 4 | r->map);
    *p++ = (uint8_t)((unsigned)r->evex_w << 7 | (~v & 15) << 3 | 1 << 2 | r->pp);
    *p++ =
        (uint8_t)((unsigned)i->zero << 7 | at->length << 5 | (unsigned)i->rm.spread << 4 | (~v >> 4 & 1) << 3 | i->k);
    return p;
}

void tn_i_x86_vector(tn_i_code *c, const tn_i_x86_vec *i) {
    if (i->op >= TN_X_VECTORS) {
        tn_i_code_wrong(c, "an instruction", "it is none on vectors");
        return;
    }
    const tn_i_x86_row *r = &tn_i_x86_rows[i->op];
    const uint8_t flags = tn_i_x86_forms[r->form].flags;
    const bool one = !(r->sizes & (r->sizes - 1)), number = flags & (I | S);
    const unsigned size = one ? r->sizes * 16u : i->size;
    const bool evex = !r->vex[0] || size == 64 || i->k || i->rm.spread || beyond_15(i);
    const char *why = bad(c, i, r, size, evex);
    uint8_t *p = tn_i_code_room(c);
    if (why) tn_i_code_wrong(c, r->vex[0] ? r->vex : r->evex, why);
    if (why || !p) return;
    const place at = {.reg = r->ext ? r->ext : i->reg,
                      .v = i->v,
                      .x = tn_i_x86_x(&i->rm),
                      .b = tn_i_x86_b(&i->rm),
                      .length = size >> 5};
    p = evex ? put_evex(p, r, &at, i) : put_vex(p, r, &at);
    *p++ = r->opcode;
    p = tn_i_x86_put_rm(c, p, at.reg, &i->rm, evex ? tn_i_x86_memory(r, size, i->rm.spread) : 1, number);
    if (number) *p++ = (uint8_t)(flags & S ? i->imm << 4 : i->imm);
    c->length = (size_t)(p - c->text);
}
