/* Plans as plain C99 (docs/emit-c.md).
 *
 * A plan becomes a static function: pointers to its inputs and outputs, then `w`, its part of the workspace, and `s`,
 * memory that one nest at a time uses.  Places are known, so that every address is a pointer and a constant.  What the
 * functions call, and constants, are written in front of them when they are first named. */
#ifndef TN_C99_H
#define TN_C99_H

#include "cgen/helpers.h"
#include "plan/loop.h"
#include "run/run.h"

typedef struct tn_i_c99 {
    tn_ctx *ctx;
    const char *name; /* of the function; what else the file defines begins with it */
    const tn_i_plan *root;
    tn_i_cgen g; /* loops, and all that is written once: functions that are called, constants */
    uint32_t loops;
    tn_i_text outside, functions;
    tn_i_text t;     /* the body of the function that is being written */
    uint8_t *called; /* of each nested plan: 1 to be written, 2 is */
    bool cblas;      /* products may call it */
    bool uses_cblas; /* one does */
    unsigned tells;  /* 1: print is called, 2: progress */
    bool quiet;      /* functions are told whether their effects have been had */
    /* Arrays whose length loops find (c99_stack.c). */
    bool stacks; /* there are some: functions are told where their memory is */
    const tn_type **level;
    size_t nlevel, clevel, largest_entry;
    size_t pages, step_pages; /* not full: of those made once, and of those made each step */
    size_t inner_bytes;       /* for each step, of arrays in entries */
    int64_t capacity;
    bool failed; /* the error is in the context */
} tn_i_c99;

/* ---- c99_text.c ------------------------------------------------------------------- */

/* Fails, once, with the equation's place. */
void tn_i_c99_refuse(tn_i_c99 *w, const tn_i_eqn *e, const char *why);
/* For a comment, of which it is part however it reads. */
void tn_i_c99_put_plain(tn_i_text *t, const char *s);
/* "sin, model.c:12". */
void tn_i_c99_about(tn_i_text *t, const tn_i_eqn *e);

/* ---- c99_place.c -------------------------------------------------------------------- */

/* A pointer of the value's type to where it is at k; `write`: not to const. */
void tn_i_c99_pointer(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p, tn_i_var v, const tn_i_place *k, bool write);
/* Bytes that the pointer moves by. */
int64_t tn_i_c99_unit(const tn_i_plan *p, tn_i_var v, const tn_i_place *k);
void tn_i_c99_strides(const tn_i_plan *p, const tn_type *t, const tn_i_place *k, int64_t *stride);
/* "NAME_plan3". */
void tn_i_c99_function(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p);
/* The parameters of p's function. */
void tn_i_c99_parameters(tn_i_c99 *w, tn_i_text *t, const tn_i_plan *p);

/* ---- c99_nest.c ------------------------------------------------------------------------ */

void tn_i_c99_nest(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n);
/* A loop that is one loop program. */
bool tn_i_c99_whole(const tn_i_loop *l);
void tn_i_c99_whole_loop(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s);

/* ---- c99_steps.c, c99_loop.c, c99_group.c ------------------------------------------------- */

void tn_i_c99_step(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s);
void tn_i_c99_move(tn_i_c99 *w, const tn_i_plan *p, const tn_i_move *m);
void tn_i_c99_loop(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s);
/* The two buffers of a carry that has two, or NULL. */
const tn_i_pair *tn_i_c99_pair(const tn_i_loop *l, uint32_t leaf);
void tn_i_c99_group(tn_i_c99 *w, const tn_i_plan *p, const tn_i_step *s);
/* Calls a plan's function: argument by argument, then the workspace at `arena` bytes of w; `again`: its effects have
 * been had. */
void tn_i_c99_call(tn_i_c99 *w, const tn_i_plan *callee);
void tn_i_c99_end_call(tn_i_c99 *w, int64_t arena, bool again);

/* ---- c99_stack.c ----------------------------------------------------------------------------- */

/* In front of what a page holds: no less than sizeof(tansy_chain) anywhere. */
enum { TN_I_PAGE_HEAD = 128 };
bool tn_i_c99_has_stacks(const tn_i_plan *root);
/* t is handles where it is row-major. */
bool tn_i_c99_is_stack(const tn_type *t);
/* Functions that the text names. */
void tn_i_c99_stack_helpers(tn_i_c99 *w, const char *text);
/* A page that is not full for each of its levels. */
void tn_i_c99_count_pages(tn_i_c99 *w, const tn_type *t);
/* Begins an array of type t, `at` bytes into w; so many made here are alive at once, or as many as there are steps. */
void tn_i_c99_stack_new(tn_i_c99 *w, const tn_type *t, int64_t at, size_t alive, bool each_step);
/* Likewise v, if it is one in the workspace. */
void tn_i_c99_stack_output(tn_i_c99 *w, const tn_i_plan *p, tn_i_var v);
void tn_i_c99_stack_release(tn_i_c99 *w, const tn_i_plan *p, const tn_i_release *k);
void tn_i_c99_stack_move(tn_i_c99 *w, const tn_i_plan *p, const tn_i_move *m);
/* How many `?` t has; the type of an entry; the number of the constant that describes its levels. */
int64_t tn_i_c99_levels(const tn_type *t);
tn_type tn_i_c99_entry(const tn_type *t);
uint32_t tn_i_c99_level(tn_i_c99 *w, const tn_type *t);
size_t tn_i_c99_page_bytes(const tn_i_c99 *w);
size_t tn_i_c99_step_bytes(const tn_i_c99 *w);

/* ---- c99_arguments.c ------------------------------------------------------------------------- */

/* Whether some inputs or outputs, or outputs, have a length that a loop finds. */
bool tn_i_c99_has_lengths(const tn_i_c99 *w, bool outputs);
/* Of the workspace, for what tells where they are. */
size_t tn_i_c99_arguments_bytes(const tn_i_c99 *w);
/* The parameters that say how long an array is, if it is one of them. */
void tn_i_c99_lengths(tn_i_text *t, const tn_type *type, bool input, uint32_t i);
/* What the header says of them, and macros for the memory of outputs. */
void tn_i_c99_say_lengths(tn_i_text *t, const tn_type *type, bool input, uint32_t i);
void tn_i_c99_say_arguments(const tn_i_c99 *w, tn_i_text *t);
void tn_i_c99_rooms(const tn_i_c99 *w, tn_i_text *t);
/* In the function that users call: before the program runs, what it is given, and afterwards. */
void tn_i_c99_enter_arguments(tn_i_c99 *w, tn_i_text *t);
void tn_i_c99_put_argument(const tn_i_c99 *w, tn_i_text *t, bool input, uint32_t i);
void tn_i_c99_leave_arguments(tn_i_c99 *w, tn_i_text *t);

/* ---- c99_header.c --------------------------------------------------------------------------- */

/* Of the workspace, but for pages. */
size_t tn_i_c99_static_bytes(const tn_i_c99 *w);
void tn_i_c99_prototype(const tn_i_c99 *w, tn_i_text *t);
void tn_i_c99_upper(tn_i_text *t, const char *s);
void tn_i_c99_header(const tn_i_c99 *w, tn_i_text *t);

#endif
