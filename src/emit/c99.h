/* Plans as plain C99 (docs/emit-c.md).
 *
 * A plan becomes a static function: pointers to its inputs and outputs, then `w`, its part of the workspace, and `s`,
 * memory that one nest at a time uses.  Places are known, so that every address is a pointer and a constant.  What the
 * functions call, and constants, are written in front of them when they are first named. */
#ifndef TN_C99_H
#define TN_C99_H

#include "exec/run.h"
#include "prims/c_text.h"

typedef struct tn_i_c99_constant {
    const void *data;
    uint32_t id;
} tn_i_c99_constant;

typedef struct tn_i_c99_written {
    const char *helper;
    int dtype;
} tn_i_c99_written;

typedef struct tn_i_c99 {
    tn_ctx *ctx;
    const char *name; /* of the function; what else the file defines begins with it */
    const tn_i_plan *root;
    tn_i_text helpers, constants, outside, functions;
    tn_i_text t; /* the body of the function that is being written */
    tn_i_c99_constant *constant;
    size_t nconstant, cconstant;
    tn_i_c99_written *written;
    size_t nwritten, cwritten;
    uint8_t *called; /* of each nested plan: 1 to be written, 2 is */
    size_t shared;   /* bytes that nests need at `s` */
    bool cblas;      /* products may call it */
    bool uses_cblas; /* one does */
    bool stacks;     /* arrays whose length loops find */
    size_t stack_bytes;
    bool failed; /* the error is in the context */
} tn_i_c99;

/* ---- c99_text.c ------------------------------------------------------------------- */

/* Fails, once, with the equation's place. */
void tn_i_c99_refuse(tn_i_c99 *w, const tn_i_eqn *e, const char *why);
/* Adds `text` with T as dtype (tn_prims/c_text.h); x, y, z become name[0..2] where name is given. */
void tn_i_c99_put(tn_i_text *t, const char *text, int dtype, const char *const *name);
/* Writes those of the helpers (ending with a NULL name) that the text names, behind those that they name. */
void tn_i_c99_need(tn_i_c99 *w, const tn_i_c_helper *helpers, const char *text);
/* Whether the identifier occurs. */
bool tn_i_c99_names(const char *text, const char *identifier);
/* The text laid out: a statement a line, indented, in lines of up to 120 characters. */
void tn_i_c99_lay_out(const char *text, tn_i_text *out);
/* "sin, model.c:12". */
void tn_i_c99_about(tn_i_text *t, const tn_i_eqn *e);

/* ---- c99_place.c -------------------------------------------------------------------- */

/* A pointer of the value's type to where it is at k; `write`: not to const. */
void tn_i_c99_pointer(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p, tn_i_var v, const tn_i_place *k, bool write);
void tn_i_c99_strides(const tn_i_plan *p, const tn_type *t, const tn_i_place *k, int64_t *stride);
/* "NAME_plan3". */
void tn_i_c99_function(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p);
/* The parameters of p's function. */
void tn_i_c99_parameters(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p);

/* ---- c99_nest.c ------------------------------------------------------------------------ */

void tn_i_c99_nest(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n);
/* An elementwise equation that is no nest. */
void tn_i_c99_elementwise(tn_i_c99 *w, const tn_i_plan *p, const tn_i_eqn *e);

/* ---- c99_steps.c, c99_loop.c, c99_group.c ------------------------------------------------- */

void tn_i_c99_step(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s);
void tn_i_c99_move(tn_i_c99 *w, const tn_i_plan *p, const tn_i_move *m);
void tn_i_c99_loop(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s);
void tn_i_c99_group(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s);
/* Calls a plan's function: argument by argument, then the workspace at `arena` bytes of w. */
void tn_i_c99_call(tn_i_c99 *w, const tn_i_plan *callee);
void tn_i_c99_end_call(tn_i_c99 *w, int64_t arena);

#endif
