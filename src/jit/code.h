/* Machine code while it is written.
 *
 * A tn_i_code is a buffer of instructions (jit/x86.h writes them) with labels, which may be jumped to before they are
 * placed, and a pool of constants that stands behind the instructions and is read relative to them.  One buffer holds
 * as many kernels as are wanted: each begins at a label.  jit/seal.h makes of it what may run.
 *
 * Errors stick: after the first one, which the context has, everything is a no-op, and tn_i_code_finish is false. */
#ifndef TN_CODE_H
#define TN_CODE_H

#include "base/base.h"
#include "base/isa.h"

typedef uint32_t tn_i_jit_label; /* of one buffer */
typedef uint32_t tn_i_jit_const; /* of the pool of one buffer */

typedef struct tn_i_code_fix {
    uint32_t at, end; /* a distance of 32 bits at `at`, from `end` on */
    uint32_t target;  /* a label, or a constant */
    bool pool;
} tn_i_code_fix;

typedef struct tn_i_code_constant {
    uint32_t at, size; /* bytes in `data` */
    uint32_t place;    /* from the beginning of the code; once finished */
} tn_i_code_constant;

typedef struct tn_i_code {
    tn_ctx *ctx;
    tn_i_isa isa; /* what instructions may be of: AVX2 (with FMA) or AVX-512 (F, DQ, BW, VL, with BMI2) */
    uint8_t *text;
    size_t length, capacity;
    uint32_t *label; /* where it is placed; UINT32_MAX: not yet */
    size_t nlabel, labels;
    tn_i_code_fix *fix;
    size_t nfix, fixes;
    tn_i_code_constant *constant;
    size_t nconstant, constants;
    uint8_t *data; /* of constants, in the order in which they came */
    size_t ndata, datas;
    uint32_t *slot; /* a table by contents: 1 + a constant; 0: empty */
    size_t slots;
    size_t size; /* instructions and pool; once finished */
    bool failed, finished;
} tn_i_code;

void tn_i_code_begin(tn_i_code *c, tn_ctx *ctx, tn_i_isa isa);
void tn_i_code_drop(tn_i_code *c); /* which may have failed */

tn_i_jit_label tn_i_code_label(tn_i_code *c);         /* a new one */
void tn_i_code_place(tn_i_code *c, tn_i_jit_label l); /* here, once */
void tn_i_code_align(tn_i_code *c, size_t alignment); /* a power of two up to 64; instructions that do nothing */

/* `size` bytes, a power of two from 4 to 64 and aligned to that; the same one for the same bytes. */
tn_i_jit_const tn_i_code_constant_of(tn_i_code *c, const void *bytes, size_t size);

/* For encoders: room for an instruction, NULL after an error; `length` is moved on by who writes there. */
enum { TN_CODE_ROOM = 16 };
uint8_t *tn_i_code_room(tn_i_code *c);
/* For encoders: the 4 bytes at `at` will hold the distance to a label or constant from `end`, where the instruction
 * ends. */
void tn_i_code_fix_later(tn_i_code *c, size_t at, size_t end, uint32_t target, bool pool);
/* For encoders: what was asked for cannot be encoded; an error of the library's own, which is told as TN_EINVAL. */
void tn_i_code_wrong(tn_i_code *c, const char *instruction, const char *reason);

/* All labels have their places, and no more comes.  False after an error. */
bool tn_i_code_finish(tn_i_code *c);
/* Of a finished buffer: `size` bytes, with the pool; where a label and a constant are in them. */
void tn_i_code_write(const tn_i_code *c, uint8_t *out);
size_t tn_i_code_place_of(const tn_i_code *c, tn_i_jit_label l);
size_t tn_i_code_constant_place(const tn_i_code *c, tn_i_jit_const k);

#endif
