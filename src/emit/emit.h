/* Plans as C text for the native backend: vectors are explicit, sizes and strides are constants, and what is not
 * written as C is called through a table of addresses that enters when the text is loaded.  The text has no address in
 * it, so that it is the same in every process (native.c keeps what was compiled). */
#ifndef TN_EMIT_H
#define TN_EMIT_H

#include "base/text.h"
#include "exec/native.h"
#include "exec/run.h"

extern const char *const tn_i_prelude[];

/* One C file in the making. */
typedef struct tn_i_module {
    tn_ctx *ctx;
    const tn_i_plan *root;
    tn_i_text text;
    tn_i_isa isa;
    int bytes;          /* of the machine's vectors: 16, 32 or 64 */
    const void **table; /* addresses: of the library's functions, of constants, of plans */
    size_t ntable, ctable;
    uint32_t nests;           /* functions named nest0, nest1, ... */
    uint32_t lanes;           /* mask: 1 << lanes in use */
    uint64_t leaves, columns; /* masks: of reductions in use, by TN_EMIT_FOLD */
    bool groups;              /* one is written: what they have in common too */
    bool profile;             /* profiles are told of steps (exec/profile.h) */
    uint8_t why;              /* what has just been refused was: a tn_i_native_step */
    bool failed;
} tn_i_module;

#define TN_EMIT_FOLD(fold, dtype) ((unsigned)(fold)*TN_NDTYPES + (unsigned)(dtype))

/* False: a step is refused, for this reason. */
bool tn_i_module_refuse(tn_i_module *m, uint8_t why);

/* What the table begins with. */
enum {
    TN_TABLE_STEP,
    TN_TABLE_LEAVE,
    TN_TABLE_GROUP_ENTER,
    TN_TABLE_GROUP_DISK,
    TN_TABLE_PRODUCT,
    TN_TABLE_NOTE_ENTER,
    TN_TABLE_NOTE_LEAVE,
    TN_TABLE_NOTE_STEPS,
    TN_TABLE_FIRST
};

/* The entry of the table that holds this address. */
uint32_t tn_i_module_address(tn_i_module *m, const void *p);
void tn_i_module_free(tn_i_module *m);

/* ---- nests ---------------------------------------------------------------------- */

/* Writes `static void nestID(const void *const *T, const uintptr_t *F)`: F is a frame's bases, T the table.  False,
 * with nothing written, for what only the interpreter runs. */
bool tn_i_emit_nest(tn_i_module *m, uint32_t id, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n);

/* ---- plans ----------------------------------------------------------------------- */

/* Writes the functions of root and of all plans nested in it, and `const void *const tansy_plans[]`: root, then
 * root->nested one after another; notes of each step whether it is written.  False after an error. */
bool tn_i_emit_module(tn_i_module *m, tn_i_plan *root);
/* Adds the whole file to t: the prelude, what of it is in use, and those functions. */
bool tn_i_module_text(tn_i_module *m, tn_i_text *t);
/* What a reduction begins with, as C. */
const char *tn_i_identity(int fold, int dtype);

/* ---- bodies of primitives ----------------------------------------------------------- */

/* How a scalar body is written. */
typedef enum tn_i_body_kind {
    TN_BODY_FUNCTION, /* a function of a vector library */
    TN_BODY_VECTOR,   /* an expression of vectors */
    TN_BODY_SCALAR,   /* an expression of numbers, lane by lane */
    TN_BODY_STRIP     /* calls what only the library has */
} tn_i_body_kind;

typedef struct tn_i_body_text {
    tn_i_body_kind kind;
    const char *vector, *scalar; /* expressions of x, y, z; NULL: none */
    tn_i_strip *strip;
    const void *function; /* of `lanes` elements */
    int lanes;
} tn_i_body_text;

/* The body of a nest's operation. */
void tn_i_body_of(const tn_i_module *m, const tn_i_nest *n, const tn_i_nest_op *op, tn_i_body_text *out);

/* "f64", ...; of bool "b8". */
const char *tn_i_c_type(int dtype);

#endif
