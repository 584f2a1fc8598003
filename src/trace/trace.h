/* Tracing: what the user's calls do becomes equations of the innermost trace.
 *
 * A *trace* is a builder on the context's stack.  An operator opens a *site*:
 * it finds the trace, notes the user's place, and turns values into variables
 * of that trace; then it emits, and closes the site with the result. */
#ifndef TN_TRACE_H
#define TN_TRACE_H

#include "prims/prim.h"
#include "tansy/ops.h"

/* ---- traces (trace.c) --------------------------------------------------------- */

/* Whether a trace is the step of a loop, where tn_loop_step has a meaning. */
typedef enum tn_i_stepping {
    TN_STEP_NONE,  /* no step: ask the enclosing trace */
    TN_STEP_INPUT, /* input 0 is the step's number */
    TN_STEP_REFUSED
} tn_i_stepping;

/* A value of an enclosing trace that became an input here. */
typedef struct tn_i_capture {
    tn_val outer;
    tn_i_var inner;
} tn_i_capture;

typedef struct tn_i_trace {
    tn_i_builder b;
    struct tn_i_trace *parent;
    uint32_t serial;
    const char *closed; /* the construct that refuses values of enclosing traces; NULL: they are captured */
    tn_i_stepping stepping;
    uint32_t over; /* what is captured varies over these axes as well */
    tn_i_capture *capture;
    size_t ncapture, ccapture;
    uint32_t *captured; /* hash table of captures: number + 1 */
    size_t ccaptured;
    const tn_i_loc *loc; /* where it began */
    const char *scope;   /* the context's at that time */
    /* The first failure, kept apart: work on other programs may overwrite the context's. */
    bool reported;
    tn_status status;
    char message[1024];
} tn_i_trace;

/* One callback to be traced: `one` or `many` is set. */
typedef struct tn_i_body {
    tn_trace_fn one;
    tn_trace_many_fn many;
    void *user;
    size_t nin, nlin, nout; /* the last nlin inputs are linear */
    const tn_type *in;
    const char *closed; /* see tn_i_trace */
    tn_i_stepping stepping;
    uint32_t over; /* axes of the grid that what it captures varies over as well */
    size_t ncarry; /* of a step: the outputs that messages call carries; the others are ys */
    const tn_i_loc *loc;
} tn_i_body;

/* The program that the body performs.  Captured values follow its inputs; with
 * `captured` their outer values are given, *ncaptured of them, to be released
 * by tn_i_free(c, *captured, *ncaptured * sizeof(tn_val)).  NULL after an error
 * in the context. */
tn_fn *tn_i_trace_body(tn_ctx *c, const tn_i_body *body, tn_val **captured, size_t *ncaptured);

/* Keeps the context's error as the trace's first one, if its builder just failed. */
void tn_i_trace_keep_error(tn_i_trace *t);
/* Gives the trace the error that is in the context, and fails it. */
void tn_i_trace_adopt_error(tn_i_trace *t);

/* ---- values (site.c) ------------------------------------------------------------ */

/* A value of a trace says so: `num` is made of the rest.  What was never set, as an array's element or a struct's
 * member, does not, and is refused before its context is looked at. */
tn_val tn_i_value(tn_ctx *c, uint32_t trace, tn_i_var v);
bool tn_i_value_sound(const tn_val *x); /* numbers and poison too */
/* c, or the context of the first operand that has one; x may be NULL. */
tn_ctx *tn_i_ctx_of(tn_ctx *c, size_t n, const tn_val *x);

/* ---- sites (site.c) ------------------------------------------------------------- */

typedef struct tn_i_site {
    tn_i_builder *b; /* the trace's, or `none` */
    tn_i_trace *t;   /* NULL: there is none, the result is poison */
    const char *name;
    uint32_t line;
    size_t n; /* operands */
    const tn_val *x;
    tn_i_var *v; /* their variables; TN_NOVAR: a plain number */
    bool failed; /* the builder, when the site was opened */
    size_t own;  /* elements of v that belong to the site, released by closing it */
    tn_i_builder none;
} tn_i_site;

/* Opens a site for operands x[n].  Bit i of `numbers` admits a plain number as
 * operand i; v[i] is then TN_NOVAR until tn_i_site_number.  The context c may
 * be NULL where an operand tells it. */
void tn_i_site_open(tn_i_site *s, const char *name, tn_ctx *c, size_t n, const tn_val *x, tn_i_var *v, uint32_t numbers,
                    const char *file, int line);
/* The same for any number of array operands: v is allocated, with room for
 * `more` further variables behind them. */
void tn_i_site_open_many(tn_i_site *s, const char *name, tn_ctx *c, size_t n, const tn_val *x, size_t more,
                         const char *file, int line);
/* Its two parts: the place, and one value's variable (operand -1: messages do
 * not count it).  A plain number is a failure here. */
void tn_i_site_begin(tn_i_site *s, const char *name, tn_ctx *c, const char *file, int line);
tn_i_var tn_i_site_resolve(tn_i_site *s, const tn_val *x, int operand);
tn_val tn_i_site_close(tn_i_site *s, tn_i_var result);
/* Consecutive variables from `first`; all poison when it is TN_NOVAR. */
void tn_i_site_close_many(tn_i_site *s, tn_i_var first, size_t n, tn_val *out);

/* True when nothing may be looked at any more: the builder failed or has no trace. */
static inline bool tn_i_site_dead(const tn_i_site *s) { return s->b->failed; }
/* Fails with "name: operand i: reason (operands: ...)"; operand -1: none.  TN_NOVAR. */
tn_i_var tn_i_site_fail(tn_i_site *s, tn_status status, int operand, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;
/* Makes operand i a literal of the dtype if it is a plain number. */
void tn_i_site_number(tn_i_site *s, size_t i, int dtype);
static inline bool tn_i_is_number(const tn_val *x) { return !x->ctx && x->trace != 0; }
static inline const tn_type *tn_i_site_type(const tn_i_site *s, tn_i_var v) { return tn_i_vtype(s->b, v); }
/* Axis 0..rank-1 from one that may be negative; fails otherwise. */
bool tn_i_site_axis(tn_i_site *s, int64_t axis, int rank, int *out);
/* Distinct axes, ascending, as a bit set. */
bool tn_i_site_axes(tn_i_site *s, tn_int_list axes, int rank, uint32_t *set);
/* Fails where there are flags that an operator does not take; false after a failure. */
bool tn_i_site_flags(tn_i_site *s, tn_flags flags, tn_flags takes);

/* ---- parameters by name (args.c) -------------------------------------------------- */

/* Parameters of one equation, set by name, so that no operator knows their order. */
typedef struct tn_i_args {
    const tn_prim *prim;
    const char *unknown; /* a name that the primitive does not have: a defect of ours */
    tn_i_param p[TN_MAX_PARAMS];
    int64_t room[8 + 8 * TN_MAX_RANK]; /* of one TN_K_LISTS */
} tn_i_args;

void tn_i_args_init(tn_i_args *a, const tn_i_site *s, int id);
void tn_i_args_int(tn_i_args *a, const char *name, int64_t i); /* also bool, dtype */
void tn_i_args_ints(tn_i_args *a, const char *name, size_t n, const int64_t *v);
void tn_i_args_str(tn_i_args *a, const char *name, const char *str);
void tn_i_args_sym(tn_i_args *a, const char *name, const char *symbol);
void tn_i_args_fn(tn_i_args *a, const char *name, const tn_fn *f);
/* `n` lists; by the spec's field names where it has fields. */
void tn_i_args_lists(tn_i_args *a, const char *name, size_t n, const char *const *fields, const tn_int_list *lists);
bool tn_i_args_has(const tn_i_args *a, const char *name);
tn_i_var tn_i_args_emit(tn_i_site *s, const tn_i_args *a, size_t n, const tn_i_var *in);

/* ---- operators on variables, for compositions --------------------------------------
 *
 * Each takes TN_NOVAR (after a failure) and returns it. */

/* ops_elementwise.c */
tn_i_var tn_i_do1(tn_i_site *s, int id, tn_i_var x);
tn_i_var tn_i_do2(tn_i_site *s, int id, tn_i_var x, tn_i_var y); /* broadcasts */
tn_i_var tn_i_do2n(tn_i_site *s, int id, tn_i_var x, double y);  /* y: a number in x's dtype */
tn_i_var tn_i_don2(tn_i_site *s, int id, double x, tn_i_var y);
tn_i_var tn_i_do_where(tn_i_site *s, tn_i_var cond, tn_i_var x, tn_i_var y); /* broadcasts */
tn_i_var tn_i_do_number(tn_i_site *s, tn_i_var like, double x);              /* x in like's dtype, rank 0 */
bool tn_i_do_broadcast(tn_i_site *s, size_t n, tn_i_var *v);                 /* all to their common shape */
bool tn_i_need_float(tn_i_site *s, size_t n);                                /* all operands; fails otherwise */
/* Plain numbers take the dtype of the first array; fails when arrays differ. */
bool tn_i_do_numbers(tn_i_site *s);

/* ops_linalg.c: b beside matrices a, where vectors become columns; whether they were vectors is told in *vectors.  And
 * back again. */
tn_i_var tn_i_do_columns(tn_i_site *s, tn_i_var a, tn_i_var b, int operand, bool *vectors);
tn_i_var tn_i_do_as_given(tn_i_site *s, tn_i_var x, bool vectors);

/* ops_shape.c */
tn_i_var tn_i_do_reshape(tn_i_site *s, tn_i_var x, int rank, const int64_t *shape);
tn_i_var tn_i_do_broadcast_to(tn_i_site *s, tn_i_var x, int rank, const int64_t *shape);
tn_i_var tn_i_do_permute(tn_i_site *s, tn_i_var x, const int64_t *perm); /* nothing for the identity */
tn_i_var tn_i_do_expand(tn_i_site *s, tn_i_var x, int axis);
tn_i_var tn_i_do_squeeze(tn_i_site *s, tn_i_var x, uint32_t axes);
tn_i_var tn_i_do_slice(tn_i_site *s, tn_i_var x, const int64_t *start, const int64_t *limit, const int64_t *stride);
tn_i_var tn_i_do_slice_axis(tn_i_site *s, tn_i_var x, int axis, int64_t start, int64_t limit, int64_t stride);
tn_i_var tn_i_do_concatenate(tn_i_site *s, size_t n, const tn_i_var *v, int axis);
tn_i_var tn_i_do_iota(tn_i_site *s, const tn_type *t, int axis);
tn_i_var tn_i_do_full(tn_i_site *s, const tn_type *t, double x);
/* The diagonal of axes a and b, which become one axis in front. */
tn_i_var tn_i_do_diagonal(tn_i_site *s, tn_i_var x, int a, int b);

/* ops_reduce.c: `axes` is a bit set */
tn_i_var tn_i_do_reduce(tn_i_site *s, int id, tn_i_var x, uint32_t axes, bool keepdims);
tn_i_var tn_i_do_mean(tn_i_site *s, tn_i_var x, uint32_t axes, bool keepdims);
static inline uint32_t tn_i_all_axes(int rank) { return (1u << rank) - 1; }

/* ops_product.c */
/* Sum of products over labels: x has labels lx (distinct), y has ly (distinct);
 * the result has lout, each from lx or ly; all others are summed.  Shared
 * labels have equal sizes. */
tn_i_var tn_i_do_contract(tn_i_site *s, tn_i_var x, const int8_t *lx, tn_i_var y, const int8_t *ly, int nout,
                          const int8_t *lout);
/* The same for one array: sums labels that lout lacks and orders the others. */
tn_i_var tn_i_do_arrange(tn_i_site *s, tn_i_var x, const int8_t *lx, int nout, const int8_t *lout);

#endif
