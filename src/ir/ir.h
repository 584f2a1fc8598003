/* Programs: values, equations, and the builder that makes them.
 *
 * A program (tn_fn) is immutable.  Values are numbered; inputs come first, the
 * last `nlin` of them being linear.  A value is an input, a literal (rank 0) or
 * an output of an equation; an equation's outputs are consecutive values. */
#ifndef TN_IR_H
#define TN_IR_H

#include "base/axes.h"

typedef uint32_t tn_i_var;
#define TN_NOVAR UINT32_MAX

/* ---- parameters ------------------------------------------------------------- */

typedef enum tn_i_kind {
    TN_K_NONE,   /* absent (text: None, or left out) */
    TN_K_INT,    /* i */
    TN_K_BOOL,   /* i */
    TN_K_DTYPE,  /* i: a tn_dtype */
    TN_K_SYM,    /* i: index into the spec's symbols */
    TN_K_STR,    /* str: interned in the context */
    TN_K_INTS,   /* n ints */
    TN_K_LISTS,  /* n ints: the spec's `lists` lengths, then the lists one after another */
    TN_K_FN,     /* fn: a nested program */
    TN_K_FNS,    /* n fns: nested programs */
    TN_K_BLOB,   /* blob: array data */
    TN_K_TYPES,  /* n types: interned */
    TN_K_NUMBER, /* i: the bits of an i64, an f64 or a truth value, as the dtype n says */
    TN_K_AXES,   /* i: a set of axes of the context's grid, by bits (base/axes.h) */
    TN_K_PTR     /* ptr: opaque, compared by address (callbacks) */
} tn_i_kind;

/* Array data shared by the equations that hold it.  The data follow, row-major. */
typedef struct tn_i_blob {
    uint32_t refs;
    bool zero;           /* each element is */
    const tn_type *type; /* interned */
    uint64_t hash;
} tn_i_blob;
/* Whether an element of these bits is zero; -0 is. */
bool tn_i_zero_bits(int dtype, uint64_t bits);

typedef struct tn_i_param {
    tn_i_kind kind;
    uint32_t n;
    union {
        int64_t i;
        const int64_t *ints;
        const char *str;
        const tn_fn *fn;
        const tn_fn *const *fns;
        const tn_i_blob *blob;
        const tn_type *const *types;
        const void *ptr;
    } u;
} tn_i_param;

/* An immutable, counted copy of an equation's parameters, shared by programs. */
typedef struct tn_i_params {
    uint32_t refs, n;
    size_t bytes;
    uint64_t hash;
    tn_i_param v[];
} tn_i_params;

/* How a parameter is written.  `lists` and `fields` describe TN_K_LISTS:
 * without fields nested tuples as in dot_general, with fields a record
 * `NAME(field=(..), ...)`.  A TN_K_INTS with `lists` 3 is a tuple of triples. */
typedef struct tn_i_spec {
    const char *name;
    tn_i_kind kind;
    const char *otherwise; /* what holds when it is absent (TN_K_NONE); NULL: it may not be */
    uint8_t lists; /* of a TN_K_STR TN_I_AS_WRITTEN: whatever is written there, as it stands; of a TN_K_FN TN_I_FIRST */
    const char *record;
    const char *const *fields;  /* `lists` of them */
    const char *const *symbols; /* NULL-terminated names of a TN_K_SYM */
} tn_i_spec;

#define TN_I_AS_WRITTEN 1
/* Of a TN_K_FN: what stands first in a tuple of Python objects, when that is a program. */
#define TN_I_FIRST 1

#define TN_MAX_PARAMS 11

/* The nested programs of a parameter, in *f; how many. */
uint32_t tn_i_programs(const tn_i_param *p, const tn_fn *const **f);

/* List `j` of a TN_K_LISTS parameter that has `lists` lists. */
const int64_t *tn_i_list(const tn_i_param *p, uint32_t lists, uint32_t j, uint32_t *n);

/* ---- programs --------------------------------------------------------------- */

typedef struct tn_i_val {
    const tn_type *type; /* interned */
    uint64_t bits;       /* of a literal: its bytes in memory order, zero-extended */
    uint32_t def;        /* equation that makes it, or TN_DEF_* */
    uint8_t linear;      /* depends on a linear input */
    uint8_t zero;        /* a literal zero, or a linear image of zeros */
} tn_i_val;

#define TN_DEF_INPUT   (UINT32_MAX - 1)
#define TN_DEF_LITERAL (UINT32_MAX - 2)

typedef struct tn_i_eqn {
    const tn_prim *prim;
    const tn_i_params *params; /* NULL when the primitive has none */
    const tn_i_loc *loc;
    uint32_t in; /* offset of the operands in the pool */
    uint32_t nin, nout;
    tn_i_var out;    /* outputs are out .. out+nout-1 */
    uint32_t region; /* part of the value-numbering key: recomputation is never merged back */
    bool linear;     /* came out of a linear program, where strict_zero would change it (docs/ir.md) */
} tn_i_eqn;

/* What others keep with a program, and leave with it. */
typedef struct tn_i_note {
    void *data; /* NULL: nothing */
    void (*drop)(void *data);
} tn_i_note;

struct tn_fn {
    tn_ctx *ctx;
    tn_fn *prev, *next;
    uint32_t refs;
    uint32_t nin, nlin, nout, neqn, nval, npool;
    tn_i_val *val;
    tn_i_eqn *eqn;
    tn_i_var *pool;
    tn_i_var *out;
    uint32_t comm;       /* axes over which ranks speak in it, at any depth (TN_F_COMM) */
    uint32_t depth;      /* 1 + depth of the deepest nested program */
    uint32_t regions;    /* regions are 0..regions-1 */
    bool effect;         /* holds an equation with an effect, at any depth */
    bool once;           /* holds one with an effect that is no result of what ranks say: never run again */
    bool varies;         /* something in it varies over an axis of the grid, at any depth */
    bool expands;        /* holds one that is other equations when it runs (tn_prim.expand), at any depth */
    bool rules;          /* holds one whose derivative a user gives, at any depth */
    bool held;           /* a value in it is of a dtype that is computed with as another one, at any depth */
    bool mixed;          /* primal and tangents together: val[].linear tells which, nlin is 0 */
    uint64_t hash;       /* of the contents; places do not count */
    const char *name;    /* interned; "" when unknown */
    const tn_i_loc *loc; /* where it was traced */
    tn_i_note note;      /* of searches among its derivatives (checkpoint/trials.h) */
};

static inline const tn_i_var *tn_i_in(const tn_fn *f, const tn_i_eqn *e) { return f->pool + e->in; }
static inline const tn_i_param *tn_i_p(const tn_i_eqn *e) { return e->params ? e->params->v : NULL; }
static inline bool tn_i_is_literal(const tn_fn *f, tn_i_var v) { return f->val[v].def == TN_DEF_LITERAL; }

/* The programs of which e runs one, over its operands but the first, for its outputs (in *f); how many, 0 for most
 * equations. */
uint32_t tn_i_alternatives(const tn_i_eqn *e, const tn_fn *const **f);

/* Same contents (types, equations, parameters; not places). */
bool tn_i_fn_equal(const tn_fn *a, const tn_fn *b);
/* The same primitive with the same parameters. */
bool tn_i_eqn_same(const tn_i_eqn *x, const tn_i_eqn *y);
const tn_fn *tn_i_fn_ref(const tn_fn *f);
/* For functions that are given a program: false for NULL, whose error stands, and for one that was freed, which is one.
 * (Its head remains until as many others as the context has were made after it.) */
bool tn_i_living(const tn_fn *f);
void tn_i_fn_unref(const tn_fn *f);

/* Programs nested deeper than a context has it are refused; why they may be no deeper. */
static inline const char *tn_i_why_no_deeper(const tn_ctx *c) {
    return c->by_stack ? ", which is what the stack of the thread that made the context has room for" : "";
}

/* ---- the builder -------------------------------------------------------------- */

typedef struct tn_i_builder {
    tn_ctx *ctx;
    bool raw;      /* keep every equation as given: no folding, merging or dead code elimination */
    bool numbered; /* but of equal equations that are emitted while this is set keep one */
    bool failed;   /* sticky: the error is in the context */
    tn_i_val *val;
    tn_i_eqn *eqn;
    tn_i_var *pool;
    size_t nval, neqn, npool, cval, ceqn, cpool;
    uint32_t nin, nlin;
    struct tn_i_slot *slot; /* value numbering */
    size_t nslot, cslot;
    const tn_i_loc *loc; /* given to new equations */
    uint32_t region;     /* given to new equations */
    bool linear;         /* new equations belong to a linear program, whatever their operands are here */
    uint32_t regions;    /* regions in use are 0..regions-1 */
    /* scratch for the type rule of the equation being made */
    tn_type *out_type;
    size_t cout_type;
    const tn_type **in_type;
    size_t cin_type;
    uint32_t *vary; /* axes that operands are to vary over as well, by the type rule */
    size_t cvary;
    struct tn_i_memo *depends; /* what nested programs' outputs depend on, once asked for */
    const tn_fn *named_after;  /* gives name and place to the program being made; may be NULL */
    bool mixed;                /* finish: outputs may be linear or not (a jvp before it is split); nlin is then 0 */
    bool forget;               /* finish: linear inputs become ordinary ones */
} tn_i_builder;

/* A builder on the stack: init, inputs, emits, then finish (which always
 * releases it) or drop. */
void tn_i_builder_init(tn_i_builder *b, tn_ctx *c);
void tn_i_builder_drop(tn_i_builder *b);

/* Inputs come before everything else, linear ones last. */
tn_i_var tn_i_input(tn_i_builder *b, const tn_type *t, bool linear);
/* A rank-0 literal from its bytes (bool 1, i32/f32 4, i64/f64 8 bytes). */
tn_i_var tn_i_literal(tn_i_builder *b, int dtype, uint64_t bits);
tn_i_var tn_i_literal_f64(tn_i_builder *b, int dtype, double x); /* converted to dtype */
tn_i_var tn_i_literal_i64(tn_i_builder *b, int dtype, int64_t x);

/* x, varying over these axes as well: a `pvary`, unless it does. */
tn_i_var tn_i_vary(tn_i_builder *b, tn_i_var x, uint32_t axes);
/* x, varying over what t does. */
tn_i_var tn_i_vary_as(tn_i_builder *b, tn_i_var x, const tn_type *t);

/* Adds an equation (or finds the equal one, or folds it) and returns its first
 * output.  Parameters are copied when needed and may live on the stack.
 * TN_NOVAR when an operand is TN_NOVAR or the builder has failed. */
tn_i_var tn_i_emit(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin, const tn_i_var *in);
/* As emit, sharing another equation's parameters. */
tn_i_var tn_i_emit_like(tn_i_builder *b, const tn_i_eqn *like, const tn_i_var *in);

/* Of TN_NOVAR, which is what an emit returns after an error, a number's: who goes on emitting finds nothing but that.
 */
extern const tn_type tn_i_no_type;
static inline const tn_type *tn_i_vtype(const tn_i_builder *b, tn_i_var v) {
    return v == TN_NOVAR ? &tn_i_no_type : b->val[v].type;
}
static inline bool tn_i_is_zero(const tn_i_builder *b, tn_i_var v) { return b->val[v].zero; }
/* Whether strict_zero would change an equation: its primitive has a strict form, and no factor is known,
 * finite and not 0. */
bool tn_i_strict_matters(const tn_i_builder *b, const tn_prim *prim, uint32_t nin, const tn_i_var *in);
/* The equation that made v, or NULL. */
const tn_i_eqn *tn_i_def(const tn_i_builder *b, tn_i_var v);
/* True when v is a literal or a broadcast of one; *bits its value, in v's dtype. */
bool tn_i_known_scalar(const tn_i_builder *b, tn_i_var v, uint64_t *bits);
bool tn_i_known_f64(const tn_i_builder *b, tn_i_var v, double *x); /* any dtype, as double */

/* Removes dead equations (unless raw), freezes, checks (tn_ctx.check); NULL
 * after an error.  Equations with effects stay. */
tn_fn *tn_i_finish(tn_i_builder *b, uint32_t nout, const tn_i_var *out);
/* Fails the builder with a message at its current place. */
void tn_i_builder_fail(tn_i_builder *b, tn_status s, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* A new blob with room for the type's bytes; data is uninitialized.  One reference. */
tn_i_blob *tn_i_blob_new(tn_ctx *c, const tn_type *t);
static inline void *tn_i_blob_data(const tn_i_blob *k) { return (void *)(uintptr_t)(k + 1); }
void tn_i_blob_seal(tn_i_blob *k); /* computes the hash; call once the data are written */
void tn_i_blob_unref(tn_ctx *c, const tn_i_blob *k);
/* `constant` equation of an array (rank 0 becomes a literal); data is copied. */
tn_i_var tn_i_constant(tn_i_builder *b, const tn_type *t, const void *data);

/* ---- walking ------------------------------------------------------------------ */

/* The value of f's v in b: map[v], or a literal made now. */
tn_i_var tn_i_mapped(tn_i_builder *b, const tn_fn *f, tn_i_var *map, tn_i_var v);
/* Emits f's equation e over mapped operands and records its outputs in map. */
void tn_i_copy_eqn(tn_i_builder *b, const tn_fn *f, const tn_i_eqn *e, tn_i_var *map);
/* A map of f's values, all TN_NOVAR; free with tn_i_map_free. */
tn_i_var *tn_i_map_new(const tn_fn *f);
void tn_i_map_free(const tn_fn *f, tn_i_var *map);
/* Whether e belongs to a linear program, f itself or one that f was put together from. */
bool tn_i_of_linear(const tn_fn *f, const tn_i_eqn *e);
/* Emits all of f over args (nin of them); outs receives nout values. */
void tn_i_inline(tn_i_builder *b, const tn_fn *f, const tn_i_var *args, tn_i_var *outs);

/* ---- passes over finished programs ---------------------------------------------- */

/* Scoping, types and linearity.  false after an error that names equation,
 * operand, reason and place. */
bool tn_i_check(const tn_fn *f);
/* Linearity of f's outputs when its inputs are linear as `in` says (values of
 * tn_i_lin).  false after an error.  Fails no program that has no linear input. */
typedef enum tn_i_lin { TN_NONLINEAR, TN_LINEAR, TN_ZERO } tn_i_lin;
bool tn_i_check_linear(const tn_fn *f, const uint8_t *in, uint8_t *out);
/* What e's outputs are where its operands may be linear as they stand and it has no rule of its own. */
uint8_t tn_i_linear_image(const tn_i_eqn *e, const uint8_t *in);

/* f with the strict form of each equation of a linear program, nested programs too: what
 * strict_zero compiles.  A new reference, NULL after an error. */
tn_fn *tn_i_strict(const tn_fn *f);
/* f simplified, as the builder does, with an fma for each sum and difference of floats with a product in it that was
 * made in the same region, whoever else reads the product; nested programs too; f itself where the context is without
 * (tn_ctx_options.contract).  It is decided by each equation and what made its operands, before a program is derived,
 * batched or split: a value then has the same bits wherever and however often it is computed.  A new reference, NULL
 * after an error. */
tn_fn *tn_i_contracted(const tn_fn *f);
/* The same, but in f alone: nested programs stay. */
tn_fn *tn_i_contracted_here(const tn_fn *f);
/* f with what `expand` says in place of each equation that has it, nested programs too: what is planned.  A new
 * reference. */
tn_fn *tn_i_expanded(const tn_fn *f);
/* f without `offload`, nested programs too: what runs without a spill file.  A new reference. */
tn_fn *tn_i_in_memory(const tn_fn *f);

/* Equations, flops and bytes (docs/ir.md); nested programs count each time they run. */
typedef struct tn_i_cost {
    double flops;           /* weighted: add, mul 1; div, sqrt 4; transcendental 16 */
    double transcendentals; /* evaluations */
    double products;        /* multiply-adds in dot_general and linear algebra */
    double bytes;           /* read and written */
    double equations;
} tn_i_cost;
bool tn_i_fn_cost(const tn_fn *f, tn_i_cost *cost);
bool tn_i_eqn_cost(const tn_fn *f, const tn_i_eqn *e, tn_i_cost *cost);

/* ---- text ------------------------------------------------------------------------ */

/* Printed text; the caller frees it with tn_i_free(ctx, text, *n + 1). */
char *tn_i_print(const tn_fn *f, size_t *n);
/* The n characters as a text that tn_text_free releases; NULL after TN_ENOMEM. */
char *tn_i_owned_text(tn_ctx *c, const char *text, size_t n);
tn_fn *tn_i_parse(tn_ctx *c, const char *text, size_t n, const char *filename);

#endif
