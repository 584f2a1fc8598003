/* Instructions of x86-64, one call each, into a buffer of code.
 *
 * Two families.  Instructions on vectors, masks and their numbers are rows of x86_vec.def, encoded in VEX (AVX2 and
 * FMA, registers 0 to 15) or EVEX (AVX-512, 0 to 31, with masks): VEX wherever registers, size and masks allow it, as
 * it is shorter.  Those on general registers are rows of x86_gen.def.  All of them have the same three places: `reg`,
 * `v`, and `rm`, which alone may be memory; a form tells which of them there are, of which kind, and in which order
 * they stand in text (Intel's, destination first).
 *
 * What cannot be encoded (a register above 15 without AVX-512, say) is an error of the caller's: tn_i_code_wrong. */
#ifndef TN_X86_H
#define TN_X86_H

#include "jit/code.h"

/* ---- operands ------------------------------------------------------------------------ */

/* General registers, as they are numbered. */
enum {
    TN_RAX,
    TN_RCX,
    TN_RDX,
    TN_RBX,
    TN_RSP,
    TN_RBP,
    TN_RSI,
    TN_RDI,
    TN_R8,
    TN_R9,
    TN_R10,
    TN_R11,
    TN_R12,
    TN_R13,
    TN_R14,
    TN_R15,
    TN_NO_REGISTER = 0xFF
};

typedef enum tn_i_x86_rm_kind { TN_RM_REGISTER, TN_RM_MEMORY, TN_RM_POOL } tn_i_x86_rm_kind;

/* A register, memory at base + index * scale + disp, or a constant of the pool. */
typedef struct tn_i_x86_rm {
    uint8_t kind;
    uint8_t reg;          /* or the base */
    uint8_t index, scale; /* TN_NO_REGISTER: none; of a gather or scatter, a vector register; scale: 1, 2, 4, 8 */
    bool spread;          /* one element, read into all of the vector (EVEX: {1to8}) */
    int32_t disp;
    tn_i_jit_const constant;
} tn_i_x86_rm;

static inline tn_i_x86_rm tn_i_x86_r(unsigned reg) {
    return (tn_i_x86_rm){.kind = TN_RM_REGISTER, .reg = (uint8_t)reg, .index = TN_NO_REGISTER};
}
static inline tn_i_x86_rm tn_i_x86_at(unsigned base, int32_t disp) {
    return (tn_i_x86_rm){.kind = TN_RM_MEMORY, .reg = (uint8_t)base, .index = TN_NO_REGISTER, .scale = 1, .disp = disp};
}
static inline tn_i_x86_rm tn_i_x86_in(unsigned base, unsigned index, unsigned scale, int32_t disp) {
    return (tn_i_x86_rm){
        .kind = TN_RM_MEMORY, .reg = (uint8_t)base, .index = (uint8_t)index, .scale = (uint8_t)scale, .disp = disp};
}
static inline tn_i_x86_rm tn_i_x86_pool(tn_i_jit_const k) {
    return (tn_i_x86_rm){.kind = TN_RM_POOL, .index = TN_NO_REGISTER, .constant = k};
}
static inline tn_i_x86_rm tn_i_x86_spread(tn_i_x86_rm memory) {
    memory.spread = true;
    return memory;
}

/* ---- vectors --------------------------------------------------------------------------- */

enum {
#define V(id, vex, evex, form, map, pp, vw, ew, op, tuple, elem, sizes) TN_X_##id,
#include "jit/x86_vec.def"
#undef V
    TN_X_VECTORS
};

/* Operands in the order of text.  The first letter is the place: r, v, m (rm), i (a number of 8 bits), s (a register
 * in these 8 bits).  The second is the kind: v a vector of the size told, h half of it, q a quarter, e an eighth (none
 * smaller than 16 bytes), x and y vectors of 16 and 32 bytes, V and H memory at a vector (or half of one) of indices, d
 * and g general registers of 32 and 64 bits, k masks.  Then what is so in all rows of the form: rm may be a register
 * (R), memory (M); a number follows (I), or a register in its place (S); memory is at a vector of indices (V); it is
 * AVX-512's in VEX too (K).  Then what a mask does in EVEX (TN_MASK_*). */
enum { TN_FORM_R = 1, TN_FORM_M = 2, TN_FORM_I = 4, TN_FORM_S = 8, TN_FORM_V = 16, TN_FORM_K = 32 };
enum { TN_MASK_NONE, TN_MASK_MERGES, TN_MASK_ZEROES, TN_MASK_NEEDED };
#define TN_X86_FORMS(X)                           \
    X(RVM, "rv vv mv", R + M, ZEROES)             \
    X(RVMI, "rv vv mv i", R + M + I, ZEROES)      \
    X(RVMS, "rv vv mv s", R + M + S, NONE)        \
    X(RVMX, "rx vx mx", R + M, ZEROES)            \
    X(RVMX_M, "rx vx mx", M, NONE)                \
    X(RVMXI_M, "rx vx mx i", M + I, NONE)         \
    X(RVMX_R, "rx vx mx", R, NONE)                \
    X(RVMXI, "rx vx mx i", R + M + I, ZEROES)     \
    X(RVM_X, "rv vv mx", R + M, ZEROES)           \
    X(RVXI, "rv vv mx i", R + M + I, ZEROES)      \
    X(RVYI, "rv vv my i", R + M + I, ZEROES)      \
    X(RM, "rv mv", R + M, ZEROES)                 \
    X(RMI, "rv mv i", R + M + I, ZEROES)          \
    X(RMX, "rx mx", R + M, NONE)                  \
    X(RM_X, "rv mx", R + M, ZEROES)               \
    X(RX_X, "rx mx", R + M, ZEROES)               \
    X(RM_H, "rv mh", R + M, ZEROES)               \
    X(RM_Q, "rv mq", R + M, ZEROES)               \
    X(RM_E, "rv me", R + M, ZEROES)               \
    X(RH_M, "rh mv", R + M, ZEROES)               \
    X(RM_D, "rv md", R, ZEROES)                   \
    X(RM_G, "rv mg", R, ZEROES)                   \
    X(MH_R, "mh rv", R + M, ZEROES)               \
    X(MQ_R, "mq rv", R + M, ZEROES)               \
    X(ME_R, "me rv", R + M, ZEROES)               \
    X(HRI, "mh rv i", R + M + I, ZEROES)          \
    X(XRI, "mx rv i", R + M + I, ZEROES)          \
    X(YRI, "my rv i", R + M + I, ZEROES)          \
    X(VMI, "vv mv i", R + I, ZEROES)              \
    X(LOADX, "rx mx", M, ZEROES)                  \
    X(LOAD16, "rv mx", M, ZEROES)                 \
    X(LOADV, "rv vv mv", M, NONE)                 \
    X(STORE, "mv rv", M, MERGES)                  \
    X(STOREX, "mx rx", M, MERGES)                 \
    X(STOREX_1, "mx rx", M, NONE)                 \
    X(STOREXI, "mx rx i", M + I, NONE)            \
    X(STOREV, "mv vv rv", M, NONE)                \
    X(STREAM, "mv rv", M, NONE)                   \
    X(KVM, "rk vv mv", R + M + K, MERGES)         \
    X(KVMI, "rk vv mv i", R + M + I + K, MERGES)  \
    X(KVMXI, "rk vx mx i", R + M + I + K, MERGES) \
    X(GATHER, "rv mV vv", M + V, NONE)            \
    X(GATHER_H, "rv mH vv", M + V, NONE)          \
    X(GATHERH, "rh mV vh", M + V, NONE)           \
    X(GATHERK, "rv mV", M + V, NEEDED)            \
    X(GATHERK_H, "rv mH", M + V, NEEDED)          \
    X(GATHERKH, "rh mV", M + V, NEEDED)           \
    X(SCATTERK, "mV rv", M + V, NEEDED)           \
    X(SCATTERK_H, "mH rv", M + V, NEEDED)         \
    X(SCATTERKH, "mV rh", M + V, NEEDED)          \
    X(RVM_D, "rx vx md", R + M, NONE)             \
    X(RVM_G, "rx vx mg", R + M, NONE)             \
    X(D_MX, "rd mx", R + M, NONE)                 \
    X(G_MX, "rg mx", R + M, NONE)                 \
    X(X_D, "rx md", R + M, NONE)                  \
    X(X_G, "rx mg", R + M, NONE)                  \
    X(D_X, "md rx", R + M, NONE)                  \
    X(G_X, "mg rx", R + M, NONE)                  \
    X(DI_X, "md rx i", R + M + I, NONE)           \
    X(GI_X, "mg rx i", R + M + I, NONE)           \
    X(D_V, "rd mv", R, NONE)                      \
    X(V_K, "rv mk", R + K, NONE)                  \
    X(K_V, "rk mv", R + K, NONE)                  \
    X(K_VK, "rk vk mk", R + K, NONE)              \
    X(K_K, "rk mk", R + K, NONE)                  \
    X(K_KI, "rk mk i", R + I + K, NONE)           \
    X(K_KM, "rk mk", R + M + K, NONE)             \
    X(M_K, "mk rk", M + K, NONE)                  \
    X(K_D, "rk md", R + K, NONE)                  \
    X(K_G, "rk mg", R + K, NONE)                  \
    X(D_K, "rd mk", R + K, NONE)                  \
    X(G_K, "rg mk", R + K, NONE)                  \
    X(G_MG, "rg mg vg", R + M + K, NONE)

typedef struct tn_i_x86_form {
    const char *text;
    uint8_t flags, mask;
} tn_i_x86_form;

/* What memory operands hold, which disp8 of EVEX counts in: a vector, of which one element may be spread; half of one,
 * likewise; the same without spreading; a quarter; an eighth; one element; 16 or 32 bytes; no memory. */
typedef enum tn_i_x86_tuple {
    TN_TUPLE_FULL,
    TN_TUPLE_HALF,
    TN_TUPLE_MEM,
    TN_TUPLE_HALF_MEM,
    TN_TUPLE_QUARTER,
    TN_TUPLE_EIGHTH,
    TN_TUPLE_ONE,
    TN_TUPLE_M16,
    TN_TUPLE_M32,
    TN_TUPLE_NO_MEM
} tn_i_x86_tuple;

typedef struct tn_i_x86_row {
    const char *vex, *evex; /* names; "": not in that encoding */
    uint8_t form, ext;      /* ext: what stands in reg's place (shifts by a number) */
    uint8_t map, pp, vex_w, evex_w, opcode;
    uint8_t tuple, elem;
    uint8_t sizes; /* 1, 2, 4: of 16, 32, 64 bytes */
} tn_i_x86_row;

extern const tn_i_x86_row tn_i_x86_rows[TN_X_VECTORS];
extern const tn_i_x86_form tn_i_x86_forms[];
/* Bytes of a memory operand of a row, for vectors of `size` bytes. */
unsigned tn_i_x86_memory(const tn_i_x86_row *r, unsigned size, bool spread);

/* Predicates: of floats, ordered and quiet but where a NaN makes them true; of integers (AVX-512); of rounding. */
enum {
    TN_X_EQ = 0x00,
    TN_X_LT = 0x11,
    TN_X_LE = 0x12,
    TN_X_UNORDERED = 0x03,
    TN_X_NE = 0x04,
    TN_X_NLT = 0x15,
    TN_X_NLE = 0x16,
    TN_X_ORDERED = 0x07,
    TN_X_GE = 0x1D,
    TN_X_GT = 0x1E
};
enum { TN_X_IEQ, TN_X_ILT, TN_X_ILE, TN_X_INE = 4, TN_X_IGE, TN_X_IGT };
enum { TN_X_EVEN = 8, TN_X_FLOOR, TN_X_CEIL, TN_X_TRUNC }; /* without the exception of inexact results */

typedef struct tn_i_x86_vec {
    uint16_t op;  /* TN_X_vaddpd .. */
    uint8_t size; /* of vectors, in bytes; 0: the only one of the row */
    uint8_t reg, v;
    uint8_t k; /* a mask, 1 to 7; 0: none */
    bool zero; /* elements that it leaves out are zeros, else what they were */
    uint8_t imm;
    tn_i_x86_rm rm;
} tn_i_x86_vec;

void tn_i_x86_vector(tn_i_code *c, const tn_i_x86_vec *i);

static inline void tn_i_x86_v2(tn_i_code *c, unsigned op, unsigned size, unsigned reg, tn_i_x86_rm rm) {
    tn_i_x86_vector(c, &(tn_i_x86_vec){.op = (uint16_t)op, .size = (uint8_t)size, .reg = (uint8_t)reg, .rm = rm});
}
static inline void tn_i_x86_v2i(tn_i_code *c, unsigned op, unsigned size, unsigned reg, tn_i_x86_rm rm, unsigned imm) {
    tn_i_x86_vector(
        c,
        &(tn_i_x86_vec){.op = (uint16_t)op, .size = (uint8_t)size, .reg = (uint8_t)reg, .rm = rm, .imm = (uint8_t)imm});
}
static inline void tn_i_x86_v3(tn_i_code *c, unsigned op, unsigned size, unsigned reg, unsigned v, tn_i_x86_rm rm) {
    tn_i_x86_vector(
        c, &(tn_i_x86_vec){.op = (uint16_t)op, .size = (uint8_t)size, .reg = (uint8_t)reg, .v = (uint8_t)v, .rm = rm});
}
static inline void tn_i_x86_v3i(tn_i_code *c, unsigned op, unsigned size, unsigned reg, unsigned v, tn_i_x86_rm rm,
                                unsigned imm) {
    tn_i_x86_vector(c, &(tn_i_x86_vec){.op = (uint16_t)op,
                                       .size = (uint8_t)size,
                                       .reg = (uint8_t)reg,
                                       .v = (uint8_t)v,
                                       .rm = rm,
                                       .imm = (uint8_t)imm});
}

/* ---- general registers ------------------------------------------------------------------ */

/* Not the numbers of instructions on vectors, so that neither encoder takes the other's. */
enum {
    TN_X_BEFORE_GENERALS = 999,
#define G(id, name, form, op, ext) TN_X_##id,
#include "jit/x86_gen.def"
#undef G
    TN_X_BEHIND_GENERALS,
    TN_X_GENERAL = TN_X_BEFORE_GENERALS + 1,
    TN_X_GENERALS = TN_X_BEHIND_GENERALS - TN_X_GENERAL
};

/* Conditions, as they are numbered: of signed numbers L GE LE G, of unsigned ones B AE BE A, of compared floats too. */
typedef enum tn_i_x86_cc {
    TN_CC_O,
    TN_CC_NO,
    TN_CC_B,
    TN_CC_AE,
    TN_CC_E,
    TN_CC_NE,
    TN_CC_BE,
    TN_CC_A,
    TN_CC_S,
    TN_CC_NS,
    TN_CC_P,
    TN_CC_NP,
    TN_CC_L,
    TN_CC_GE,
    TN_CC_LE,
    TN_CC_G
} tn_i_x86_cc;

/* As for vectors; kinds: s of the size told, b, d, g of 8, 32 and 64 bits, n memory that is not read; i a number, c the
 * register cl.  Then: rm may be a register (R), memory (M); the size is told by a prefix (W); reg is an operand (N),
 * and of 8 bits (BR), as rm is (BM).  Then what is special: numbers of 32 bits, of 8, of 8 where that is enough; a
 * condition, or a register, in the opcode; nothing but the opcode. */
enum { TN_GEN_R = 1, TN_GEN_M = 2, TN_GEN_W = 4, TN_GEN_N = 8, TN_GEN_BR = 16, TN_GEN_BM = 32 };
enum { TN_GEN_PLAIN, TN_GEN_IMM, TN_GEN_IMM8, TN_GEN_IMM_SHORT, TN_GEN_CC, TN_GEN_IN_OPCODE, TN_GEN_ALONE };
#define TN_X86_GEN_FORMS(X)                      \
    X(RM, "rs ms", R + M + W + N, PLAIN)         \
    X(RM_B, "rs mb", R + M + W + N + BM, PLAIN)  \
    X(RM_D, "rs md", R + M + W + N, PLAIN)       \
    X(RM_CC, "rs ms", R + M + W + N, CC)         \
    X(LEA, "rs mn", M + W + N, PLAIN)            \
    X(MR, "ms rs", R + M + W + N, PLAIN)         \
    X(MR_B, "mb rb", R + M + N + BR + BM, PLAIN) \
    X(M, "ms", R + M + W, PLAIN)                 \
    X(M_CL, "ms c", R + M + W, PLAIN)            \
    X(M_G, "mg", R + M, PLAIN)                   \
    X(M_CC, "mb", R + M + BM, CC)                \
    X(M_AHEAD, "mn", M, PLAIN)                   \
    X(MI, "ms i", R + M + W, IMM_SHORT)          \
    X(MI_32, "ms i", R + M + W, IMM)             \
    X(MI_8, "ms i", R + M + W, IMM8)             \
    X(MI_B, "mb i", R + M + BM, IMM8)            \
    X(RMI, "rs ms i", R + M + W + N, IMM_SHORT)  \
    X(O, "mg", R, IN_OPCODE)                     \
    X(NONE, "", 0, ALONE)

typedef struct tn_i_x86_gen_form {
    const char *text;
    uint8_t flags, special;
} tn_i_x86_gen_form;

typedef struct tn_i_x86_gen_row {
    const char *name; /* before the condition, if there is one */
    uint8_t form, ext;
    uint32_t opcode; /* its bytes, the first one uppermost */
} tn_i_x86_gen_row;

extern const tn_i_x86_gen_row tn_i_x86_gen_rows[TN_X_GENERALS]; /* of TN_X_GENERAL and on */
extern const tn_i_x86_gen_form tn_i_x86_gen_forms[];

typedef struct tn_i_x86_gen {
    uint16_t op;  /* TN_X_add .. */
    uint8_t size; /* 4 or 8 bytes */
    uint8_t reg;
    uint8_t cc;
    int32_t imm;
    tn_i_x86_rm rm;
} tn_i_x86_gen;

void tn_i_x86_general(tn_i_code *c, const tn_i_x86_gen *i);

/* On 64 bits: reg and rm; rm and a number; rm alone; no operands. */
static inline void tn_i_x86_g2(tn_i_code *c, unsigned op, unsigned reg, tn_i_x86_rm rm) {
    tn_i_x86_general(c, &(tn_i_x86_gen){.op = (uint16_t)op, .size = 8, .reg = (uint8_t)reg, .rm = rm});
}
static inline void tn_i_x86_gi(tn_i_code *c, unsigned op, tn_i_x86_rm rm, int32_t imm) {
    tn_i_x86_general(c, &(tn_i_x86_gen){.op = (uint16_t)op, .size = 8, .rm = rm, .imm = imm});
}
static inline void tn_i_x86_g1(tn_i_code *c, unsigned op, tn_i_x86_rm rm) { tn_i_x86_gi(c, op, rm, 0); }
static inline void tn_i_x86_g0(tn_i_code *c, unsigned op) { tn_i_x86_g1(c, op, tn_i_x86_r(0)); }

/* reg = x, in as few bytes as there are for it; leaves flags as they are. */
void tn_i_x86_set(tn_i_code *c, unsigned reg, int64_t x);
void tn_i_x86_jump(tn_i_code *c, tn_i_jit_label to);
void tn_i_x86_jump_if(tn_i_code *c, tn_i_x86_cc cc, tn_i_jit_label to);
void tn_i_x86_call_label(tn_i_code *c, tn_i_jit_label to);
void tn_i_x86_address(tn_i_code *c, unsigned reg, tn_i_jit_label of);
/* A function of C, wherever it is: its address is a constant of the pool. */
void tn_i_x86_call(tn_i_code *c, void (*f)(void));

#endif
