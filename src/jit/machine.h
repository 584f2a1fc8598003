/* Instructions on virtual registers, and what makes code of them.
 *
 * Who chooses instructions (jit/walk.h) writes a list of them for one function: those of jit/x86.h, with any number of
 * registers, and a few of its own for copies, loops, branches and calls.  tn_i_m_finish assigns registers in one walk
 * forwards and encodes as it goes: what is needed the latest leaves for the stack, from where it is read as an operand;
 * each loop ends with the registers that it began with; constants are read from the pool, and never stored.
 *
 * Registers are defined once, but for those that a loop carries and those that branches join (TN_M_COPY to the same
 * one).  All is linear in the length of the list. */
#ifndef TN_MACHINE_H
#define TN_MACHINE_H

#include "jit/seal.h"
#include "jit/x86.h"

typedef uint32_t tn_i_reg;
#define TN_REG_NONE  UINT32_MAX
#define TN_REG_FIXED 0xFFFFFE00u
/* A register of the processor as an operand: rax, rcx and rdx, which no value lives in, are for sequences; rsp. */
static inline tn_i_reg tn_i_fixed(unsigned n) { return TN_REG_FIXED | n; }
static inline bool tn_i_is_virtual(tn_i_reg r) { return r < TN_REG_FIXED; }
#define TN_RAX_ tn_i_fixed(TN_RAX)
#define TN_RCX_ tn_i_fixed(TN_RCX)
#define TN_RDX_ tn_i_fixed(TN_RDX)
#define TN_RSP_ tn_i_fixed(TN_RSP)

enum { TN_CLASS_G, TN_CLASS_V, TN_CLASS_K };

/* Beside TN_X_.. of jit/x86.h. */
enum {
    TN_M_COPY = 2000, /* r = m */
    TN_M_NONE,        /* nothing */
    TN_M_FMA,  /* r = v m + s, v m - s or s - v m: imm 0, 1, 2; size of vectors, 4 or 8: of one number; memory is what m
                  or s  has no register for */
    TN_M_BUMP, /* r, which is tie, + imm */
    TN_M_SET,  /* r = the number `imm`, or constant m, in full */
    TN_M_TABLE,   /* r, fixed: the address of constant imm of the pool */
    TN_M_ADDRESS, /* r, fixed: of code label imm */
    TN_M_LABEL,   /* imm: the label (tn_i_m_label); no register changes between a jump and its label */
    TN_M_JUMP,
    TN_M_JUMP_IF,    /* cc */
    TN_M_BEGIN,      /* the function: r, v: what rdi and rsi are */
    TN_M_RELEASE,    /* what a call destroys holds nothing from here to the call */
    TN_M_CALL,       /* the address is constant m; arguments are in fixed registers */
    TN_M_CALL_LABEL, /* imm: a label of the code */
    TN_M_FUNCTION,   /* r = the function of vectors at constant s, of v and m (or none) */
    TN_M_RETURN,     /* with eax */
    TN_M_RETURN_IF,  /* where eax is not 0 */
    TN_M_LOOP,       /* imm: the loop; where cc is there, it is skipped by this condition of flags */
    TN_M_AGAIN,      /* imm: the loop; cc: flags are so for another iteration; TN_CC_NONE: in any case */
    TN_M_LEAVE,      /* imm: the loop, which is left where cc */
    TN_M_IF,         /* cc: the block is skipped */
    TN_M_ELSE,
    TN_M_END
};

enum { TN_CC_NONE = 0xFF };
enum {
    TN_MI_R = 1,       /* r is defined */
    TN_MI_M = 2,       /* m is defined, a register */
    TN_MI_SWAP = 4,    /* v and m may be exchanged */
    TN_MI_EARLY = 8,   /* r is none of the operands' registers */
    TN_MI_MEM = 16,    /* rm is memory at base + index * scale + disp */
    TN_MI_ZERO = 32,   /* mask k leaves zeros */
    TN_MI_WRITES = 64, /* to memory that may be an array's */
    TN_MI_PURE = 128,  /* but for its result of no effect */
    TN_MI_IN_V = 256   /* r stands in place v: shifts by a number */
};

typedef struct tn_i_mi {
    uint16_t op;
    uint16_t flags;
    uint8_t size; /* of vectors; of general registers: 4 or 8 */
    uint8_t scale, cc;
    tn_i_reg r, v, m, s; /* the places reg, v and rm of jit/x86.h; s: a register in the number's place */
    tn_i_reg tie;        /* what r is before */
    tn_i_reg k;          /* the mask */
    tn_i_reg base, index;
    int32_t disp, imm;
} tn_i_mi;

/* A register: how many bytes of it count (4, 8, 16 ..), and the constant that it is. */
typedef struct tn_i_m_value {
    uint8_t class, bytes;
    bool constant, carried; /* carried: it is written again, while its loop runs */
    tn_i_jit_const pool;    /* of constants */
    int64_t number; /* of constants in G and K; in V 1 where all bits are 0, 2 where all are 1, and -n where those of
                       the first n bytes are 1, and no other ones */
    tn_i_reg like;  /* the register that it becomes at the end of its loop */
    uint32_t born, link;
    uint32_t loop; /* which carries it */
} tn_i_m_value;

typedef struct tn_i_m_link {
    tn_i_reg value;
    uint32_t loop, next, uses;
} tn_i_m_link;
typedef struct tn_i_m_pair {
    tn_i_reg carry, value;
    uint32_t next;
} tn_i_m_pair;
typedef struct tn_i_m_loop {
    uint32_t outer, begin, end;
    uint32_t links; /* what it reads from outside */
    uint32_t pairs; /* its carries */
    uint32_t kept;  /* links: carries that are read behind it */
    bool calls;
    uint32_t most[3], head[3]; /* registers of each class that are alive at once, at most, and where it begins */
} tn_i_m_loop;

typedef struct tn_i_machine {
    tn_ctx *ctx;
    tn_i_code *code;
    bool wide; /* AVX-512 */
    bool failed;
    bool calls; /* somewhere in the function */
    char *why;  /* TN_JIT_WHY bytes: why it is not compiled; empty: there is no such reason */
    tn_i_mi *in;
    tn_i_m_value *value;
    tn_i_m_link *link;
    tn_i_m_pair *pair;
    tn_i_m_loop *loop;
    uint32_t *slot; /* a table of constants: 1 + a register */
    size_t nin, nvalue, nlink, npair, nloop, nconstant;
    uint32_t nlabel;
    size_t cin, cvalue, clink, cpair, cloop, cslot;
    uint32_t open; /* the innermost loop */
    int32_t area;  /* bytes of the stack for sequences, from rsp on */
} tn_i_machine;

void tn_i_m_begin(tn_i_machine *m, tn_i_code *code, char *why);
void tn_i_m_drop(tn_i_machine *m);
/* The list so far is forgotten, for another function. */
void tn_i_m_clear(tn_i_machine *m);
/* It is not compiled, for this reason; the first one stays. */
void tn_i_m_refuse(tn_i_machine *m, const char *why);

tn_i_reg tn_i_m_new(tn_i_machine *m, int class, unsigned bytes);
/* Constants: one register for the same ones. */
tn_i_reg tn_i_m_constant(tn_i_machine *m, const void *bytes, unsigned size);
tn_i_reg tn_i_m_number(tn_i_machine *m, int class, int64_t x); /* in G and K */

void tn_i_m_add(tn_i_machine *m, const tn_i_mi *in);
void tn_i_m_use(tn_i_machine *m, tn_i_reg v); /* an operand that was added to the last instruction */
static inline tn_i_mi tn_i_m_blank(unsigned op, unsigned size) {
    return (tn_i_mi){.op = (uint16_t)op,
                     .size = (uint8_t)size,
                     .scale = 1,
                     .r = TN_REG_NONE,
                     .v = TN_REG_NONE,
                     .m = TN_REG_NONE,
                     .s = TN_REG_NONE,
                     .tie = TN_REG_NONE,
                     .k = TN_REG_NONE,
                     .base = TN_REG_NONE,
                     .index = TN_REG_NONE};
}
static inline int32_t tn_i_m_label(tn_i_machine *m) { return (int32_t)m->nlabel++; }
uint32_t tn_i_m_loop_new(tn_i_machine *m); /* which is the innermost until its TN_M_AGAIN was added */
/* carry, defined before the loop, is what `next` is in the iteration before; next is no carry of the loop itself. */
void tn_i_m_carry(tn_i_machine *m, uint32_t loop, tn_i_reg carry, tn_i_reg next);
void tn_i_m_keep(tn_i_machine *m, uint32_t loop, tn_i_reg carry);

/* Registers that an instruction reads: at most 7, into `use`.  The lists of loops are not among them. */
unsigned tn_i_m_uses(const tn_i_mi *in, tn_i_reg use[8]);

/* All of it as code at label `at`.  False after an error, or a refusal. */
bool tn_i_m_finish(tn_i_machine *m, tn_i_jit_label at);

#endif
