/* The parser's parts share this: parse.c reads programs and equations, parse_operands.c operands,
 * parse_params.c parameters, parse_values.c numbers, types and arrays, parse_jax.c knows JAX's spellings.
 *
 * Functions return false once an error is in the context.  What an equation gathers (binders, integers,
 * types, operands) lies on stacks that nested programs use too, above it. */
#ifndef TN_PARSE_H
#define TN_PARSE_H

#include "ir/lex.h"
#include "ir/names.h"
#include "prims/scalar/complex.h"

typedef struct tn_i_binder {
    tn_i_token name;
    const tn_type *type; /* interned; NULL: not written; of what is complex, that of its parts */
    bool complex, key;   /* key: of two words each, a dimension of the type */
} tn_i_binder;

typedef struct tn_i_operand {
    tn_i_token token;
    tn_i_var var; /* TN_NOVAR: a literal */
    int dtype;    /* of a literal as written, or -1; of a complex one that of its parts */
    uint32_t z;   /* a complex value of the scope, or TN_NOVAR */
    bool dropped; /* `_`, where several values of the program are: no one knows which */
    bool complex; /* a complex literal: its parts are `token` and `imaginary`, each of which may have no text */
    tn_i_token imaginary;
} tn_i_operand;

#define TN_I_PRIM_SLOTS 512

/* Where reading may go on again. */
typedef struct tn_i_one_hot_element {
    tn_i_lexer lex;
    tn_i_token tok;
} tn_i_one_hot_element;

/* A constant of a program in a text, which has its name and type alone (parse_constants.c). */
typedef struct tn_i_text_constant {
    const char *at; /* its binder */
    const tn_type *type;
    tn_i_var var; /* in the scope */
    uint32_t eqn; /* what stands for it there; TN_NOVAR: it is the scope's own, and an input */
} tn_i_text_constant;

/* A program that has constants, as its first inputs; held, so that no other has its address. */
typedef struct tn_i_closed_text {
    const tn_fn *f;
    size_t first, n;
} tn_i_closed_text;

typedef struct tn_i_parser {
    tn_ctx *ctx;
    const char *file; /* interned */
    tn_i_lexer lex;   /* behind tok */
    tn_i_token tok;   /* the next one to read */
    const tn_prim *prim[TN_I_PRIM_SLOTS];
    tn_i_names programs; /* `let p = {...} in` */
    struct tn_i_shared_text *program;
    size_t nprogram, cprogram;
    const struct tn_i_definition *open; /* of definitions that are being read, the one within all others */
    tn_i_one_hot_element lets;          /* where the definitions begin that programs are looked up among */
    tn_i_binder *binder;
    size_t nbinder, cbinder;
    int64_t *ints;
    size_t nints, cints;
    const tn_type **types;
    size_t ntypes, ctypes;
    tn_i_operand *operand;
    size_t noperand, coperand;
    struct tn_i_reading *caller;  /* of the program that is read next, where it is a parameter */
    tn_i_text_constant *constant; /* those of each program that has some */
    size_t nconstant, cconstant;
    tn_i_closed_text *closed;
    size_t nclosed, cclosed;
    bool of_keys; /* the type that was read last is one of keys */
} tn_i_parser;

/* A definition that is being read, and the one that led there. */
typedef struct tn_i_definition {
    const char *at;
    const struct tn_i_definition *outer;
} tn_i_definition;

/* A program with a name, and where that stands. */
typedef struct tn_i_shared_text {
    const tn_fn *f;
    const char *at;
} tn_i_shared_text;

/* A type, which is all of the text. */
bool tn_i_type_of_text(tn_ctx *c, const char *text, tn_type *t);

/* A complex value of a program being read, together, apart, or both; made when it is first asked for. */
typedef struct tn_i_complex_value {
    tn_i_var pairs; /* TN_NOVAR: not yet */
    tn_i_complex parts;
} tn_i_complex_value;

/* A value named `_`; vague: one of several that might be meant. */
typedef struct tn_i_dropped {
    uint32_t value;
    bool vague;
} tn_i_dropped;

/* One program being read.  A name is a value's, or with TN_I_COMPLEX_NAME a complex value's. */
#define TN_I_COMPLEX_NAME 0x80000000u
typedef struct tn_i_scope {
    tn_i_builder b;
    tn_i_names names;
    uint32_t depth;
    tn_i_complex_value *z;
    size_t nz, cz;
    tn_i_dropped *dropped; /* values that `_` is on the left for: JAX reads some of them nevertheless */
    size_t ndropped, cdropped;
    tn_i_text_constant *constant; /* its own, then those of programs that it calls */
    size_t nconstant, cconstant;
    struct tn_i_reading *caller; /* the equation whose parameter this program is; NULL: none, or not at this place */
} tn_i_scope;

/* One equation being read. */
typedef struct tn_i_reading {
    tn_i_token name;                                  /* of the primitive */
    const tn_prim *prim;                              /* NULL: the identity */
    const struct tn_i_jax *jax;                       /* how JAX's spelling differs, or NULL */
    size_t binder0, nbinder, ints0, types0, operand0; /* its parts of the stacks */
    uint32_t nparam;
    tn_i_param p[TN_MAX_PARAMS];
    size_t at[TN_MAX_PARAMS]; /* where a parameter's integers or types begin on their stack */
    uint32_t given;           /* bit k: parameter k was written */
    uint64_t vague; /* bit j: result j, which is dropped, may be another value of the program that is called */
    uint32_t region;
    bool linear, region_given, linear_given;
} tn_i_reading;

/* parse.c */
bool tn_i_parse_program(tn_i_parser *p, uint32_t depth, const tn_fn **out);
/* `let p = { .. } in`, behind the `let`, for programs that are used more than once. */
bool tn_i_parse_shared(tn_i_parser *p, uint32_t depth);
/* The program of that name, which may be defined further on (JAX prints them so); UINT32_MAX after an error. */
uint32_t tn_i_shared_program(tn_i_parser *p, const tn_i_token *name, uint32_t depth);
void tn_i_next(tn_i_parser *p);
bool tn_i_accept(tn_i_parser *p, const char *mark); /* reads the token if it is this one */
bool tn_i_expect(tn_i_parser *p, const char *mark);
bool tn_i_ends_body(const tn_i_parser *p); /* is `in` the word in front of the outputs, or a name? */
bool tn_i_unexpected(tn_i_parser *p, const char *expected);
bool tn_i_parse_fail(tn_i_parser *p, const tn_i_token *at, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
#define TN_I_WORD_TEXT 48
const char *tn_i_word_text(char buf[TN_I_WORD_TEXT], const tn_i_token *t); /* quoted, cut, printable */

/* parse_dropped.c: `_`, on the left and as an operand */
static inline bool tn_i_is_dropped(const tn_i_token *name) { return tn_i_token_is(name, "_"); }
bool tn_i_parse_drop(tn_i_scope *s, uint32_t v, bool vague);
/* What the operand `_` is: the one value that was dropped; of several the operand says so.  False: there is none. */
bool tn_i_parse_dropped(const tn_i_scope *s, tn_i_operand *o);
/* The same of output n, which the caller drops as well: by its type. */
bool tn_i_parse_dropped_output(tn_i_parser *p, tn_i_scope *s, size_t n, tn_i_operand *o);

/* parse_constants.c: constants that a text has no values of */
bool tn_i_parse_own_constant(tn_i_parser *p, tn_i_scope *s, const tn_i_token *name, tn_i_var v);
/* Operands for those of the program that the equation calls, where there are none. */
bool tn_i_parse_constants(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r);
/* f, finished, with inputs for those of programs within; takes f over. */
bool tn_i_parse_close(tn_i_parser *p, const tn_i_scope *s, const tn_fn **f);

/* parse_operands.c: operands up to the next equation or the outputs; then their values, in order */
bool tn_i_parse_operands(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r);
bool tn_i_resolve_operands(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r);
bool tn_i_parse_operand(tn_i_parser *p, const tn_i_scope *s, tn_i_operand *out);
/* The operand is the value of a name. */
static inline void tn_i_name_operand(tn_i_operand *o, uint32_t v) {
    const bool complex = v & TN_I_COMPLEX_NAME;
    o->z = complex ? v & ~TN_I_COMPLEX_NAME : TN_NOVAR;
    o->var = complex ? TN_NOVAR : v;
}
/* Dimensions of equal rank together, t's 1 beside another; false when neither fits the other. */
bool tn_i_parse_widen(tn_type *shape, const tn_type *t);
/* v broadcast to the shape, when it is a scalar or differs in dimensions of size 1 only. */
tn_i_var tn_i_parse_spread(tn_i_scope *s, tn_i_var v, const tn_type *shape);
tn_i_var tn_i_parse_untyped(tn_i_parser *p, tn_i_scope *s, const tn_i_operand *o); /* by its spelling alone */

/* parse_params.c: one more integer on the stack. */
bool tn_i_parse_push_int(tn_i_parser *p, int64_t x);
/* parse_keys.c: parameters of an equation that moves keys, with the dimension of their words. */
bool tn_i_parse_key_params(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r);

/* parse_complex.c */
/* The type of the pairs of complex arrays with parts of type t; NULL after an error. */
const tn_type *tn_i_parse_pairs_type(tn_i_parser *p, const tn_type *t);
/* A new complex value, known by the one or the other; its name's value is in *name. */
bool tn_i_parse_complex_value(tn_i_parser *p, tn_i_scope *s, tn_i_var pairs, tn_i_complex parts, uint32_t *name);
/* Whether the parts of complex value z are of type t. */
bool tn_i_parse_parts_are(const tn_i_scope *s, uint32_t z, const tn_type *t);
/* The pairs of a complex operand, which may be a literal; TN_NOVAR after an error. */
tn_i_var tn_i_parse_complex_operand(tn_i_parser *p, tn_i_scope *s, const tn_i_operand *o);
/* Behind "(": `2-1j)`; or a number that ends with j; then its type, when written. */
bool tn_i_parse_complex_literal(tn_i_parser *p, tn_i_operand *o);
bool tn_i_is_imaginary(const tn_i_token *t);
/* Whether an equation whose operands were read has complex ones, or results; of one with programs these are pairs. */
bool tn_i_parse_is_complex(const tn_i_parser *p, const tn_i_reading *r);
/* Of one with programs: the pairs of complex operands. */
bool tn_i_parse_pair_operands(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r);
/* Resolves, completes and emits one; how many results, in out (room for TN_I_COMPLEX_RESULTS); 0 after an error. */
enum { TN_I_COMPLEX_RESULTS = 64 };
uint32_t tn_i_parse_complex_equation(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r, tn_i_complex *out);

/* parse_params.c: `[name=value ..]`, then what can be derived; releases what p holds */
bool tn_i_parse_params(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r);
bool tn_i_complete_params(tn_i_parser *p, tn_i_scope *s, tn_i_reading *r);
void tn_i_release_params(tn_i_parser *p, tn_i_reading *r);

/* parse_values.c */
bool tn_i_parse_dtype(tn_i_parser *p, int *dtype);
/* (tn_i_parse_dtype: of a complex one TN_I_C64 or TN_I_C128.)  A set of axes of the grid: w, (r,c), ('w',). */
bool tn_i_parse_axes(tn_i_parser *p, int64_t *bits);
/* Of what is complex that of its pairs; or, where `complex` is given, of its parts, and whether it is. */
bool tn_i_parse_type(tn_i_parser *p, tn_type *t, bool *complex);
bool tn_i_parse_int(tn_i_parser *p, int64_t *out);
/* Behind the bracket of NumPy's spelling of a number, `np.int64(3)`, where that stands; what tn_i_parse_unboxed wants
 * is *is.
 */
bool tn_i_parse_boxed(tn_i_parser *p, bool *is);
bool tn_i_parse_unboxed(tn_i_parser *p, bool is);
bool tn_i_parse_string(tn_i_parser *p, const char **out);
/* The bytes of a number or truth value; false (no error recorded) when it is none of this dtype. */
bool tn_i_parse_bits(const tn_i_token *t, int dtype, uint64_t *bits);
int tn_i_spelled_dtype(const tn_i_token *t);                                 /* True: bool, 1.0: f64, 1: i32 */
bool tn_i_parse_array(tn_i_parser *p, const tn_type *type, tn_i_blob **out); /* type NULL: inferred */

/* parse_jax.c */
typedef struct tn_i_jax {
    const char *name;    /* JAX's */
    int id;              /* of the primitive meant; -1: the identity */
    const char *drop;    /* a parameter that has no counterpart */
    const char *program; /* the parameter that is our `program` */
} tn_i_jax;
const tn_i_jax *tn_i_jax_primitive(const tn_i_token *name);
/* What programs have other equations for, which `written` emits: no primitive, and no number.  NULL: there is none. */
const tn_prim *tn_i_jax_form(const tn_i_token *name);
/* The same where JAX's parameters are others than a primitive's of that name; by the first of them, and its value's
 * first word. */
const tn_prim *tn_i_jax_form_by(const tn_prim *prim, const tn_i_token *param, const tn_i_token *value);
const char *tn_i_jax_param(const tn_prim *prim, const tn_i_token *name); /* our name of it, or NULL */
/* True when the parameter says nothing about values; *only, if not NULL, lists what it may be. */
bool tn_i_jax_ignored(const tn_prim *prim, const tn_i_token *name, const char *const **only);
/* The name of a policy of jax.checkpoint as JAX prints one, NULL after an error; false: it is none. */
bool tn_i_jax_policy(tn_ctx *c, const char *text, const char **name);
int tn_i_jax_symbol(const tn_i_token *t, const char *const *symbols); /* index of what an enumerator means, or -1 */

#endif
