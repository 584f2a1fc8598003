/* The questions a primitive answers.  A primitive is one descriptor block in
 * src/prims/<kind>/<family>.c (or src/control) and one row in prims.def; nothing else
 * in the library names it, except rules that emit it. */
#ifndef TN_PRIM_H
#define TN_PRIM_H

#include "base/isa.h"
#include "ir/ir.h"
#include "tansy/comm.h"

struct tn_i_plan_by;
struct tn_i_c_kernel;
struct tn_i_moved_boxes;
struct tn_i_window_form;
struct tn_i_c_helper;

/* By number, in the order of prims.def (prims/ids.h). */
extern const tn_prim *const tn_i_registry[];

/* ---- flags ----------------------------------------------------------------------- */

enum {
    TN_F_ELEMENTWISE = 1 << 0, /* equal shapes in and out (select, clamp: operands of rank 0 repeat); has strips, or
                                  a kernel where parameters choose one; default batching, cost */
    TN_F_NODIFF = 1 << 1,      /* derivative zero everywhere (integer or piecewise constant result) */
    TN_F_VIEW = 1 << 2,        /* may be realized as a strided view: has `view` */
    TN_F_INPLACE = 1 << 3,     /* the kernel may write output 0 over operand 0 when both are dense */
    TN_F_NOFOLD = 1 << 4,      /* never folded on literals */
    TN_F_COMMUTES = 1 << 5,    /* two operands that may be swapped for value numbering (bit-equal either way) */
    TN_F_OWN_PRIMAL = 1 << 6,  /* the jvp rule makes the primal outputs as well */
    TN_F_COSTLY = 1 << 7,      /* more work than its arrays have elements, or user code: recomputed only for time */
    TN_F_OFFLOAD = 1 << 8,     /* the identity; the executor may keep the result in a spill file until it is read */
    TN_F_CHOOSES = 1 << 9,     /* operand 0 decides which of the others each element is */
    TN_F_INLINE = 1 << 10,     /* its program in place, under every transformation */
    TN_F_LOOP = 1 << 11,       /* runs its programs as often as it finds when it runs: scan, while, cond */
    TN_F_STEPS = 1 << 12,      /* operands and results may have dimensions known when a loop has run (TN_I_STEPS) */
    TN_F_PLACES = 1 << 14,     /* elements of the operands, elsewhere: computed where few of them are read (nests) */
    TN_F_RULES = 1 << 15,      /* its derivative is what a user says, by a rule or a program of the user's own */
    TN_F_OVER = 1 << 16,       /* its type rule says what its results vary over; those of others vary over what their
                                  operands do, which is the same for all but literals (docs/mpi.md) */
    TN_F_ORDER = 1 << 20,      /* results are operands, or truth values or places, by the order of numbers */
    TN_F_STORED = 1 << 21,     /* takes and makes arrays as they are in memory, of any dtype */
    TN_F_COMM = 1 << 17,       /* ranks speak in it: all of its axes run it, in the same order */
    TN_F_EITHER = 1 << 13      /* operands 0 and 1 are one value: made again, and kept for who rather reads that */
};

/* Sets of operands an equation is jointly linear in; TN_ALL: every operand. */
#define TN_ALL        UINT32_MAX
#define TN_OPERAND(i) (1u << (i))

/* ---- type rule ------------------------------------------------------------------- */

/* An equation to be typed (or costed, planned): types in, types out. */
typedef struct tn_i_query {
    tn_ctx *ctx;
    const tn_prim *prim;
    const tn_i_param *p;
    uint32_t nin, nout;
    const tn_type *const *in;
    uint32_t *vary;  /* while an equation is built: see tn_i_fits; else NULL */
    tn_type *out;    /* nout of them once tn_i_outputs was called */
    tn_i_builder *b; /* room for outputs, place of messages; NULL outside typing */
} tn_i_query;

/* Sets the number of outputs and makes room for their types (zeroed). */
bool tn_i_outputs(tn_i_query *q, uint32_t n);
/* Fails the type rule: "mul: operand 1: <reason> (operands: f64[3], f64[4])". operand -1: none */
bool tn_i_type_fail(tn_i_query *q, int operand, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Whether operand i is of type `want`, as a program within takes it.  While an equation is built, one that varies over
 * less becomes one that varies as `want` does. */
bool tn_i_fits(tn_i_query *q, uint32_t i, const tn_type *want);
/* Local primitives: operands but literals vary over the same axes, and outputs over these; false after a message.  val
 * are the values of the program that in, the operands, are of. */
bool tn_i_type_over(tn_i_query *q, const tn_i_val *val, const tn_i_var *in);
/* The axes that e, of a primitive with TN_F_COMM, is over. */
uint32_t tn_i_speaks_over(const tn_i_eqn *e);
/* Whether ranks speak in e or in a program that it runs, at any depth: whoever weighs costs does not repeat it, as
 * ranks whose arrays differ in size would weigh otherwise, and some of them wait. */
bool tn_i_speaks(const tn_i_eqn *e);
/* One output of the given type; false (failed) when the type is not valid. */
bool tn_i_output(tn_i_query *q, int dtype, int rank, const int64_t *dims);
bool tn_i_output_type(tn_i_query *q, const tn_type *t);
/* Equal shapes and dtypes of all operands, the dtype in prim->dtypes; output alike. */
bool tn_i_type_elementwise(tn_i_query *q);
bool tn_i_type_compare(tn_i_query *q); /* same, output bool */

/* ---- rules: jvp, transpose, batching, simplification -------------------------------- */

/* One equation of the program being transformed, its values in the builder. */
typedef struct tn_i_rule {
    tn_i_builder *b;
    const tn_fn *f;      /* source program */
    const tn_i_eqn *e;   /* source equation */
    const tn_i_param *p; /* its parameters */
    uint32_t nin, nout;
    const tn_i_var *in;            /* operands in b; transpose: TN_NOVAR for linear operands */
    tn_i_var *out;                 /* jvp: primal outputs in b; set by the rule with TN_F_OWN_PRIMAL */
    const tn_type *const *in_type; /* types in the source program (vmap: without the batch) */
    const tn_type *const *out_type;
    /* transpose: the cotangent accumulated so far per operand (TN_NOVAR: none), and
     * whether more will come.  A rule that folds acc[i] into its result (in-place
     * accumulation) returns it in ct_in[i] and sets merged[i]. */
    const tn_i_var *acc;
    const bool *more;
    bool *merged;
    bool quiet;             /* prune: leave out equations that are there for their effect alone */
    int64_t batch;          /* vmap: size of the batch dimension, always dimension 0 */
    struct tn_i_memo *memo; /* nested programs already transformed in this walk */
} tn_i_rule;

void tn_i_rule_fail(tn_i_rule *r, tn_status s, int operand, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* ---- kernels ----------------------------------------------------------------------- */

/* An array in memory: element strides, `data` at element 0 (strides may be 0 or negative). */
typedef struct tn_i_arr {
    const tn_type *type;
    void *data;
    int64_t stride[TN_MAX_RANK];
} tn_i_arr;

/* Who hears of effects while a program runs. */
typedef struct tn_i_observer {
    tn_observer call; /* NULL: nobody */
    void *user;
} tn_i_observer;

typedef struct tn_i_kernel {
    const tn_prim *prim;
    const tn_i_param *p;
    uint32_t nin, nout;
    const tn_i_arr *in;            /* any strides; naturally aligned elements */
    tn_i_arr *out;                 /* dense row-major; overlaps no operand unless TN_F_INPLACE (operand 0, exactly) */
    void *scratch;                 /* prim->scratch bytes, 64-aligned */
    int threads;                   /* for BLIS and OpenMP */
    char *message;                 /* 256 bytes for the reason of a failure */
    const tn_i_loc *loc;           /* of the equation; may be NULL */
    const tn_i_observer *observer; /* of the call; NULL: none */
    int triangle;                  /* of a product: what of its result is wanted, a tn_i_triangle (gemm.h) */
    const tn_comm_ops *comm;       /* of the call; NULL: none */
    int64_t ahead[2];              /* bytes from operand 0 and 1 to what is read soon in its place; 0: not known */
} tn_i_kernel;

/* The scalar body over a strip: out[i*so] = body(in0[i*s0], ...), strides in elements. */
typedef void tn_i_strip(int64_t n, const void *const *in, const int64_t *s, void *out, int64_t so);

/* The same for one element; operands that there are none of may be NULL. */
typedef void tn_i_one(const void *x, const void *y, const void *z, void *out);
/* What else a strip is compiled as: for any processor, and for AVX2.  Called with n < 0, a strip leaves the address of
 * these in
 * *(const tn_i_strip_kinds **)out; one that is only itself does nothing. */
typedef struct tn_i_strip_kinds {
    tn_i_one *one;
    tn_i_strip *plain, *avx2;
} tn_i_strip_kinds;

/* ---- test cases --------------------------------------------------------------------- */

typedef struct tn_i_rng {
    uint64_t state;
} tn_i_rng;
uint64_t tn_i_random(tn_i_rng *r);
double tn_i_uniform(tn_i_rng *r, double lo, double hi);
int64_t tn_i_pick(tn_i_rng *r, int64_t lo, int64_t hi); /* lo..hi inclusive */

/* Where an operand is sampled: uniform in [lo, hi] (integers: inclusive); lo == hi == 0
 * means the default [-2, 2].  `apart`: keep samples of this operand at least this far
 * from kinks: from 0 (TN_AT_ZERO), from integers (TN_AT_INTEGERS), from each other
 * and from the other operands (TN_AT_TIES). */
enum { TN_AT_ZERO = 1, TN_AT_INTEGERS = 2, TN_AT_TIES = 4 };
typedef struct tn_i_domain {
    double lo, hi;
    double apart;
    unsigned at;
} tn_i_domain;

#define TN_CASE_MAX 8
typedef struct tn_i_case {
    uint32_t nin;
    tn_type in[TN_CASE_MAX];
    tn_i_domain domain[TN_CASE_MAX];
    tn_i_param p[TN_MAX_PARAMS];
    int64_t ints[512]; /* storage for p's lists */
    uint32_t nints;
    tn_ctx *ctx;         /* for parameters that need one (strings, programs) */
    const tn_fn *fns[4]; /* programs made by the sampler: one reference each, released by the driver */
    const tn_i_blob *blobs[2];
    /* optional: writes operand i's data itself (e.g. positive definite matrices) */
    void (*fill)(tn_i_rng *r, const struct tn_i_case *c, uint32_t i, void *data);
} tn_i_case;

/* ---- bounds, for tn_lint --------------------------------------------------------------- */

typedef struct tn_i_range {
    double lo, hi;
} tn_i_range;

/* Where a partial may be infinite or undefined for finite operands: all of `operands` lie in [lo, hi], or, with
 * `outside`, not in the open (lo, hi). */
typedef struct tn_i_pole {
    uint32_t operands; /* mask; 0: nowhere */
    bool outside;
    double lo, hi;
} tn_i_pole;
#define TN_POLE_AT(i, x) \
    { TN_OPERAND(i), false, x, x }
#define TN_POLE_OUTSIDE(i, a, b) \
    { TN_OPERAND(i), true, a, b }

/* How a reduction joins two elements (the order: plan/nest.h).  Maxima take a NaN over any number; argmax and argmin
 * the first of equals. */
typedef enum tn_i_fold {
    TN_FOLD_NONE,
    TN_FOLD_SUM,
    TN_FOLD_PROD,
    TN_FOLD_MAX,
    TN_FOLD_MIN,
    TN_FOLD_ARGMAX,
    TN_FOLD_ARGMIN
} tn_i_fold;
enum { TN_SCAN_RECURRENCE = TN_FOLD_ARGMIN + 1 /* y[i] = fma(operand 0's, y[i-1], operand 1's) */ };
enum { TN_LEAF = 512, TN_LANES = 16 };
/* Elements of a row that wait at most for another reduction than the row's: pass/fission.c cuts longer rows, and
 * plan/nest_plan.c has memory for them. */
enum { TN_WAITING = 8 * TN_LEAF };

/* A value of a complex equation (prims/scalar/complex.h): its parts; im TN_NOVAR: an array that is not complex. */
typedef struct tn_i_complex {
    tn_i_var re, im;
} tn_i_complex;

/* ---- the descriptor -------------------------------------------------------------------- */

/* Of which rows (indices of dimension 0) of its operands a row of a result is made: of several, of none, so that all
 * rows are alike, or of the same one of operands that have as many. */
typedef enum tn_i_rows { TN_ROWS_MIXED, TN_ROWS_ALIKE, TN_ROWS_OWN } tn_i_rows;

/* What an equation is where some operands are 0, but for the sign of a zero: not known; itself, of zeros there; one of
 * the others; or the product of operands 0 and 1. */
typedef struct tn_i_remains {
    enum { TN_REMAINS_UNKNOWN, TN_REMAINS_ALL, TN_REMAINS_OPERAND, TN_REMAINS_PRODUCT } kind;
    uint32_t operand;
    int product; /* the primitive */
    bool negative;
} tn_i_remains;

/* How a result depends on its operands, element by element: what patterns of sparse derivatives are made of
 * (src/sparse).  Nothing set: elementwise primitives by TN_F_ELEMENTWISE, those with programs by these, and of others
 * each element of a result is taken to depend on all elements of all operands, which is always right. */
typedef enum tn_i_spread_class {
    TN_SPREAD_ALL,
    TN_SPREAD_MOVES, /* elements are those of the operands, which its kernel moves, in any dtype, and zeros; integer
                        operands beside floats are places, and where they are not known `sums` says what may be read */
    TN_SPREAD_ADDS,  /* operand 0, and the last operand added to it at `places`; or what `sums` says */
    TN_SPREAD_SUMS,  /* as `sums` says */
    TN_SPREAD_NONE   /* on no element: on how many there are */
} tn_i_spread_class;

/* Result[i] is the sum over j of operand[i, j], times factor[i, j] where there is one.  Loops over i come first, each
 * with its strides in the result (over i alone), operand and factor; then those over j. */
typedef struct tn_i_sums {
    int outer, inner;
    int64_t dim[2 * TN_MAX_RANK], out[2 * TN_MAX_RANK], in[2 * TN_MAX_RANK], by[2 * TN_MAX_RANK];
    int factor;  /* an operand; -1: none, -2: one that is no operand, so that no entry is constant */
    int running; /* 1: one loop over j, of the sums up to each j; -1: of those from each j on; the last loop over i is
                    then where they go */
} tn_i_sums;
static inline void tn_i_sums_loop(tn_i_sums *s, bool inner, int64_t n, int64_t out, int64_t in, int64_t by) {
    const int d = s->outer + s->inner;
    s->dim[d] = n;
    s->out[d] = out;
    s->in[d] = in;
    s->by[d] = by;
    if (inner)
        s->inner++;
    else
        s->outer++;
}

/* Rows are the elements of all float outputs, one after the other, columns those of the float operands from `first` on;
 * ptr, ind: as CSR.  So for each of a batch, which comes first in all arrays. */
typedef struct tn_i_entries {
    uint32_t first;
    int64_t batch;
    const int64_t *ptr, *ind;
} tn_i_entries;

struct tn_prim {
    int id;
    const char *name;
    const char *doc; /* one line: formula, conventions at kinks */
    int nin;         /* operands, or -1: any number */
    unsigned flags;
    unsigned dtypes;         /* bit mask 1 << dtype admitted for operand 0 (elementwise: all operands) */
    const tn_i_spec *params; /* ends with a NULL name; NULL: none */
    bool (*type)(tn_i_query *q);

    /* Alternatives of jointly linear operand sets; 0 ends.  mul: {0},{1}; add: {0,1}. A program is
     * linear through the equation when its linear operands all lie in one set and the set's other
     * operands are zeros. */
    uint32_t linear[2];
    /* For primitives whose linearity depends on parameters or nested programs:
     * in[i] and out[j] are tn_i_lin; false after tn_i_fail. Overrides `linear`. */
    bool (*linearity)(const tn_fn *f, const tn_i_eqn *e, const uint8_t *in, uint8_t *out);

    /* The equal value that needs no equation (x*1 -> x), or TN_NOVAR. */
    tn_i_var (*simplify)(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in, const tn_type *out);

    /* jvp: `jvp` if given; else, per active operand i, partial[i] (the tangent contribution
     * of tangent dx) if given, else the linear sets (the primitive applied to tangents). */
    tn_i_var (*partial[3])(tn_i_rule *r, tn_i_var dx);
    void (*jvp)(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout); /* TN_NOVAR: symbolic zero */
    /* ct[nout] may hold TN_NOVAR (zero), not all; fills ct_in[i] for operands whose r->in[i] is TN_NOVAR. */
    void (*transpose)(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in);
    /* r->in are values in the batched program, with the batch at dimension 0 where batched[i].
     * At least one is.  Fills out[j] and out_batched[j]. Elementwise: NULL means the default. */
    void (*batch)(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);
    /* A primitive with nested programs: splits an equation some of whose operands are unknown
     * into a known and an unknown equation (src/linearize/linearize.h). */
    void (*split)(tn_i_rule *r, const bool *unknown, tn_i_var *out, const struct tn_i_plan_by *how);

    /* Which outputs depend on operands told by `in` (TN_F_LOOP; else told by `body`). */
    bool (*depends)(struct tn_i_memo *m, const tn_i_eqn *e, const uint8_t *in, uint8_t *out);
    /* Operands that the outputs told by `used` need, through nested programs (TN_F_LOOP; else told by `body`). */
    bool (*needs)(tn_i_rule *r, const bool *used, bool *operand);

    /* Loops: the program that makes an output, or its entries, and the value inside; the operand that the program's
     * input i is in every step, or TN_NOVAR; whether the output is a stack, and one that a schedule wants made where it
     * is read. */
    const tn_fn *(*inside)(const tn_i_eqn *e, uint32_t output, tn_i_var *v);
    uint32_t (*outside)(const tn_i_eqn *e, uint32_t i);
    bool (*stacked)(const tn_i_eqn *e, uint32_t output);
    bool (*replayed)(const tn_i_eqn *e, uint32_t output);
    /* Loops whose length is found when they run: the operand that tells it, nin + the output that does, or TN_NOVAR. */
    uint32_t (*steps)(const tn_i_eqn *e);

    /* The same equation computing only the outputs told by `used`, each once; sets those of out. */
    void (*prune)(tn_i_rule *r, const bool *used, tn_i_var *out);

    tn_i_strip *strip[TN_NDTYPES]; /* by dtype of operand prim->strip_operand */
    int strip_operand;
    const char *c_body[TN_NDTYPES]; /* the strip's scalar body as a C expression of x, y, z */
    /* The kernel as C99 and the functions that it and c_body call (prims/c_text.h); helpers end with a NULL name. */
    void (*c_kernel)(const struct tn_i_c_kernel *k);
    const struct tn_i_c_helper *c_helpers;
    const char *vector[TN_NDTYPES]; /* the function of vectors that computes it (vec/math.c), without prefix: "sin",
                                       "sinf"; NULL: the body is vectorized as it is */
    /* Elementwise with a kernel: the strip and, in *body, its text, which parameters and dtypes choose; NULL: none. */
    tn_i_strip *(*choose)(const tn_i_query *q, const char **body);
    tn_i_fold fold; /* a reduction over the parameter `axes` */
    int scan; /* along the axis that parameter 0 is, from its end if parameter 1 says so: each element of the result
                 is this fold of the one before and operand 0's, or TN_SCAN_RECURRENCE (prims/folds/lanes.h) */
    /* A primitive that repeats or permutes the elements of operand 0: map[d] is the dimension of the operand that
     * dimension d of the output walks, or -1; false: not so for these types. */
    bool (*walks)(const tn_i_query *q, int8_t *map);
    tn_i_rows (*rows)(const tn_i_query *q); /* of what moves elements and has rows (rank > 0); NULL: not known */
    int rows_in; /* 1 + the parameter that begins with how many rows the result has; 0: none */
    tn_status (*kernel)(const tn_i_kernel *k); /* NULL: strips, or the nested program `body` */
    /* What the kernel does, of what moves elements and nothing else (prims/arrays/boxes.h); k's arrays have types and
     * strides alone. */
    void (*boxes)(const tn_i_kernel *k, struct tn_i_moved_boxes *to);
    /* What the kernel does, of what reads or writes windows at places that operands say (prims/arrays/windows.h); k's
     * arrays have types and strides alone. */
    void (*windows)(const tn_i_kernel *k, struct tn_i_window_form *f);
    size_t (*scratch)(const tn_i_query *q); /* bytes; SIZE_MAX on overflow */
    /* Strides and offset (in elements, through out->data as a byte offset added by the caller:
     * *offset) of the output as a view of operand 0; false: not a view for these strides. */
    bool (*view)(const tn_i_query *q, const tn_i_arr *in, tn_i_arr *out, int64_t *offset);
    int body; /* 1 + index of the parameter that is the program computing the outputs; 0: none */
    /* Completes parameters that text cannot hold (callbacks), in place; NULL: nothing to complete. */
    bool (*bind)(tn_ctx *c, tn_i_param *p);
    /* An equation as a text may have it (JAX's) where programs have others for it: those, and the first output of the
     * last; TN_NOVAR: it is emitted as it stands. */
    tn_i_var (*written)(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in);
    /* The same of several outputs, which may be of different equations, in out as far as it has room for `most`: how
     * many there are; 0: it failed. */
    uint32_t (*written_many)(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in, uint32_t most,
                             tn_i_var *out);
    /* The parts of its one result where an operand is complex, which no program's values are: by equations of their
     * parts.  NULL: each part by itself of what is linear in all complex operands, else it is refused. */
    tn_i_complex (*complex)(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                            const tn_i_complex *in);
    uint32_t (*complex_many)(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                             const tn_i_complex *in, uint32_t most, tn_i_complex *out); /* of several results */
    /* No kernel and no program: the equations that a program has in its place when it is about to run (all of out).
     * Transformations, prices and texts see the one equation. */
    void (*expand)(tn_i_rule *r, tn_i_var *out);
    /* The same of a dtype that is computed with as another one (prims/held.h), of operands and for results of their
     * holders, where that is not the equation itself over these; false: it is.  NULL: always. */
    bool (*held)(tn_i_rule *r, tn_i_var *out);
    /* Why an equation that may stand between transformations cannot run, or NULL. */
    const char *(*unrunnable)(const tn_i_param *p);
    bool (*effect)(const tn_i_param *p); /* must run exactly once, in order; NULL: pure */

    /* The same over b's operands rounded once, where one of them is a product (fma.c), the second where both are and it
     * is `later`; TN_NOVAR: neither is. */
    tn_i_var (*contract)(tn_i_builder *b, const tn_i_var *in, bool later);

    /* Where the operands of `zeros`, some of those that it is linear in, are 0; products of them are 0 where `linear`.
     */
    tn_i_remains (*without)(const tn_i_param *p, unsigned zeros, bool linear);

    tn_i_spread_class spread;
    /* The sums over one operand; false: that operand counts in no such way.  q->out is set. */
    bool (*sums)(const tn_i_query *q, uint32_t operand, tn_i_sums *s);
    /* TN_SPREAD_ALL: the entries, where they are known after all; false: they are not. */
    bool (*entries)(const tn_i_query *q, tn_i_entries *x);
    /* TN_SPREAD_ADDS: the element of the result that each of the last operand's is added to, or -1.  k has all operands
     * but the first and the last, which have types alone. */
    void (*places)(const tn_i_kernel *k, int64_t *at);

    /* A collective in the program that one rank runs, where no type says what it varies over: its result, of equations
     * without a derivative (collective, rank_index, and what is local).  in: the operands there. */
    tn_i_var (*local)(tn_i_builder *b, const tn_i_eqn *e, const tn_i_var *in);

    int strict; /* 1 + the primitive that stands for it under strict_zero, where 0 times inf or NaN is 0; 0: none */

    tn_i_pole pole;
    bool (*no_pole)(const tn_i_param *p, const tn_i_range *in); /* what the parameters or operands rule out */
    tn_i_range image;                                           /* bounds of the result; {0, 0}: none, or `range` */
    /* Bounds of the result by those of the operands, which are `same` when all are one value. */
    void (*range)(const tn_i_param *p, uint32_t nin, const tn_i_range *in, bool same, tn_i_range *out);

    double weight; /* elementwise: weighted flops per element */
    double
        ns; /* elementwise: an element of f32 in one pass with others, as bench/calibrate measures it; 0: by weight */
    void (*cost)(const tn_i_query *q, tn_i_cost *cost); /* NULL: elementwise default */
    /* Bounds: cost(jvp eqns incl. primal) <= jvp_bound * weighted cost of the equation, where an
     * equation's weighted cost counts at least 1 per element read or written; same for transpose. */
    double jvp_bound, transpose_bound;

    tn_i_domain domain[3];
    bool (*sample)(tn_i_rng *r, int dtype, tn_i_case *c); /* NULL: elementwise default */
    const tn_prim *original;                              /* of a deliberately broken copy (tests) */
};

/* Rows of e's one output; MIXED where that is not known. */
tn_i_rows tn_i_rows_of(const tn_fn *f, const tn_i_eqn *e);

/* The strip of an elementwise equation and, in *body, its scalar body as text, where there is one; NULL: it has none.
 */
tn_i_strip *tn_i_scalar_body(const tn_i_query *q, const char **body);

/* The program inside e that makes its output, and the value there; NULL: e makes it itself. */
const tn_fn *tn_i_made_inside(const tn_i_eqn *e, uint32_t output, tn_i_var *v);
/* The operand of e that is input i of that program, or TN_NOVAR: another one in each step. */
uint32_t tn_i_from_outside(const tn_i_eqn *e, uint32_t i);

/* Operands that e is computed again of, as plans count: the first of them. */
static inline uint32_t tn_i_made_of(const tn_i_eqn *e) { return e->prim->flags & TN_F_EITHER ? 1 : e->nin; }

static inline const tn_prim *tn_i_prim(const tn_i_builder *b, int id) { return b->ctx->prims[id]; }

/* ---- emitting from rules ------------------------------------------------------------------ */

tn_i_var tn_i_op1(tn_i_builder *b, int id, tn_i_var x);
tn_i_var tn_i_op2(tn_i_builder *b, int id, tn_i_var x, tn_i_var y);
tn_i_var tn_i_op3(tn_i_builder *b, int id, tn_i_var x, tn_i_var y, tn_i_var z);
/* A number as an array of v's (or the given) type: literal, broadcast where needed. */
tn_i_var tn_i_number_like(tn_i_builder *b, tn_i_var v, double x);
tn_i_var tn_i_number(tn_i_builder *b, const tn_type *t, double x);
tn_i_var tn_i_zeros(tn_i_builder *b, const tn_type *t);
/* x[n] as a constant of a float dtype, f32 rounded to nearest. */
tn_i_var tn_i_constant_f64(tn_i_builder *b, int dtype, int64_t n, const double *x);
tn_i_var tn_i_broadcast(tn_i_builder *b, tn_i_var x, int rank, const int64_t *shape, const int64_t *dims);
tn_i_var tn_i_reshape(tn_i_builder *b, tn_i_var x, int rank, const int64_t *shape);
tn_i_var tn_i_permute(tn_i_builder *b, tn_i_var x, const int64_t *perm); /* `transpose` */
tn_i_var tn_i_reduce_sum(tn_i_builder *b, tn_i_var x, uint32_t naxes, const int64_t *axes);
/* The sum of arrays of one type, as long as loops too. */
tn_i_var tn_i_add_values(tn_i_builder *b, tn_i_var x, tn_i_var y);
/* The same by a loop over their entries, with this schedule (NULL: none). */
tn_i_var tn_i_add_entries(tn_i_builder *b, tn_i_var x, tn_i_var y, const char *schedule);
tn_i_var tn_i_convert(tn_i_builder *b, tn_i_var x, int dtype);
tn_i_var tn_i_offload(tn_i_builder *b, tn_i_var x);
/* x of rank r with a batch dimension of size n in front (broadcast). */
tn_i_var tn_i_batched(tn_i_builder *b, tn_i_var x, int64_t n);
/* Where the batch stands in a batched value: in front; behind the last `?` of a stack, so that entries of a batch are
 * batches of entries. */
int tn_i_batch_axis(const tn_type *t);

/* Batching of an elementwise equation: unbatched operands are broadcast. */
void tn_i_batch_elementwise(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);
/* Fallback: unrolls the batch (slice, apply, concatenate).  For rules with nothing better. */
void tn_i_batch_unroll(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched);

#endif
