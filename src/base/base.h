/* The context: the one door for memory, the last error, interned strings.
 * Nothing else in the library allocates. */
#ifndef TN_BASE_H
#define TN_BASE_H

#include "tansy.h"

#include <stdarg.h>
#include <stdatomic.h>

typedef struct tn_prim tn_prim;

/* A place in the user's source (or a .tn file, where line:column speak). */
typedef struct tn_i_loc {
    const char *file;   /* interned; "" when unknown */
    uint32_t line, col; /* col 0: unknown */
    const char *scope;  /* interned; "" outside scopes, "a/b" when nested */
} tn_i_loc;

/* Grow-only memory that lives as long as its owner. */
typedef struct tn_i_arena {
    tn_ctx *ctx;
    struct tn_i_chunk *chunk;
    size_t used, bytes;
} tn_i_arena;

/* A table of interned byte strings; every value lives as long as the context. */
typedef struct tn_i_intern {
    void **slot;
    uint32_t count, capacity;
} tn_i_intern;

/* The grid of ranks: what base/axes.h is about.  naxes 0: none. */
typedef struct tn_i_grid {
    int naxes;
    const char *name[8]; /* interned */
    int64_t extent[8];
    tn_axes **set; /* by bits; those that were asked for */
} tn_i_grid;

/* Memory of each context for the heads of programs. */
#define TN_I_HEADS 8192
struct tn_ctx {
    tn_ctx_options opt;
    atomic_size_t bytes, peak;
    tn_status status;
    char message[1024];
    bool check;
    bool contract;
    uint32_t most_nesting; /* how deep programs may be nested */
    bool by_stack;         /* because the stack has no room for more */
    const char *refused;   /* why its options were: it makes no program, and says so; NULL: they were not */
    bool whole;            /* for tests: no program runs in blocks of rows (plan/row_blocks.h) */
    uint8_t nests;         /* for tests: who runs nests (plan/assembled.h) */
    uint8_t no_code;       /* for tests: the system gives no memory for code: 1 mmap refuses, 2 mprotect (jit/seal.h) */
    bool tight;            /* for tests: whatever grows, grows by just what is needed, so that each time may fail */
    const tn_prim *const *prims; /* the registry, indexed by primitive id */
    tn_i_arena arena;            /* interned strings, types, places */
    tn_i_intern strings, types, locs;
    tn_i_grid grid;
    tn_fn *fns;                    /* every living program, doubly linked */
    void *heads;                   /* of programs, living or not (ir/fn.c): TN_I_HEADS bytes behind this struct */
    bool used;                     /* they were set up */
    tn_fn *dead, *newest;          /* those of none, that which was freed first in front */
    tn_exec *execs;                /* every living executable, doubly linked */
    struct tn_i_table *tables;     /* that they speak to other ranks with (run/talk.h) */
    tn_residuals *reports;         /* every living report, doubly linked */
    struct tn_sparsity *patterns;  /* every living pattern, doubly linked */
    struct tn_coloring *colorings; /* every living colouring, doubly linked */
    struct tn_threads *threads;    /* every living group of ranks in threads, doubly linked */
    struct tn_i_trace *trace;      /* innermost active trace */
    uint32_t trace_serial;
    const char *scope; /* current tn_scope */
    struct tn_i_external *externals;
    struct tn_i_memo *linearity;   /* what is known of nested programs while linearity is checked */
    void (*teardown[8])(tn_ctx *); /* what higher layers registered to be run first by tn_ctx_free */
};

/* tn_ctx_new with a registry (src/api/context.c gives the library's own). */
tn_ctx *tn_i_ctx_new(const tn_ctx_options *opt, const tn_prim *const *prims);

/* Memory.  alloc zeroes; NULL after TN_ENOMEM was recorded.  Sizes are given
 * back on free, so that the context can count. */
void *tn_i_alloc(tn_ctx *c, size_t bytes);
void *tn_i_alloc_raw(tn_ctx *c, size_t bytes); /* bytes > 0; not zeroed */
void *tn_i_alloc_array(tn_ctx *c, size_t count, size_t size);
void tn_i_free(tn_ctx *c, void *p, size_t bytes);
/* Grows *p (count elements of `size` used, *capacity allocated) so that
 * `want` fit; false after TN_ENOMEM.  New elements are not initialized. */
bool tn_i_grow(tn_ctx *c, void **p, size_t *capacity, size_t want, size_t size);

/* Memory for a call that is running, on its thread: not zeroed, and no error is recorded. */
void *tn_i_page_alloc(tn_ctx *c, size_t bytes);
void tn_i_page_free(tn_ctx *c, void *p, size_t bytes);

/* Counts memory that the system gave and not the user's allocator, as `now` bytes instead of `before`; false after
 * TN_ENOMEM, where max_bytes leaves no room. */
bool tn_i_count_pages(tn_ctx *c, size_t before, size_t now);

void tn_i_arena_init(tn_i_arena *a, tn_ctx *c);
void *tn_i_arena_alloc(tn_i_arena *a, size_t bytes); /* zeroed, 16-aligned; NULL after TN_ENOMEM */
void tn_i_arena_free(tn_i_arena *a);

/* Overflow-checked size arithmetic: false on overflow. */
bool tn_i_mul(size_t a, size_t b, size_t *out);
bool tn_i_add(size_t a, size_t b, size_t *out);
bool tn_i_mul_i64(int64_t a, int64_t b, int64_t *out);
bool tn_i_add_i64(int64_t a, int64_t b, int64_t *out);

/* Interning: equal contents give equal pointers.  NULL after TN_ENOMEM. */
const char *tn_i_string(tn_ctx *c, const char *s, size_t n);
const tn_type *tn_i_type(tn_ctx *c, const tn_type *t); /* t must be valid */
const tn_i_loc *tn_i_loc_of(tn_ctx *c, const char *file, uint32_t line, uint32_t col, const char *scope);

uint64_t tn_i_hash(uint64_t seed, const void *p, size_t n);
uint64_t tn_i_hash_u64(uint64_t seed, uint64_t x);

/* Records an error (the last one wins) and returns its status.  With a place,
 * the message begins "file:line: " or "file:line:col: ". */
tn_status tn_i_fail(tn_ctx *c, tn_status s, const tn_i_loc *loc, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;
tn_status tn_i_vfail(tn_ctx *c, tn_status s, const tn_i_loc *loc, const char *fmt, va_list ap);

/* Reads a caller's options struct, which begins with its size: own[0..known), zero so far, gets what the caller gave.
 * Members that the caller's version of the struct lacks stay 0; those that this library lacks must be 0.  `given` NULL:
 * all defaults.  TN_EINVAL, with the name of the struct and what to write, where the size was never set. */
bool tn_i_options(tn_ctx *c, const char *type, const void *given, void *own, size_t known);

/* Registers what a higher layer must free before the base does. */
void tn_i_on_teardown(tn_ctx *c, void (*f)(tn_ctx *));

/* dtypes */
size_t tn_i_dtype_size(int dtype);
const char *tn_i_dtype_name(int dtype); /* "f64" ... */
#define TN_I_ELEMENT_TEXT 40
/* Dtypes that are computed with as another one, their holder: that of integers of 8 and 16 bits has 32, that of u64 is
 * an i64 of the same bits, that of floats of 16 bits f32.  What runs has arrays of them, and converts these. */
static inline bool tn_i_is_half(int dtype) { return dtype == TN_F16 || dtype == TN_BF16; }
static inline bool tn_i_is_short(int dtype) { return dtype >= TN_I8 && dtype <= TN_U16; }
static inline bool tn_i_is_held(int dtype) { return dtype >= TN_I8 && dtype <= TN_BF16; }
int tn_i_holder(int dtype); /* of others, the dtype itself */
/* The others are first: of these loop programs, kernels and messages between ranks are. */
enum { TN_I_OWN_DTYPES = TN_I8 };
static inline bool tn_i_is_float(int dtype) { return dtype == TN_F32 || dtype == TN_F64 || tn_i_is_half(dtype); }
static inline bool tn_i_is_wide_float(int dtype) { return dtype == TN_F32 || dtype == TN_F64; }
static inline bool tn_i_is_unsigned(int dtype) { return dtype == TN_U32 || (dtype >= TN_U8 && dtype <= TN_U64); }
static inline bool tn_i_is_int(int dtype) {
    return dtype == TN_I32 || dtype == TN_I64 || dtype == TN_I8 || dtype == TN_I16 || tn_i_is_unsigned(dtype);
}
/* The largest finite number of a float dtype; the bits of the least number of a dtype, or of the largest, which of
 * floats are infinite. */
double tn_i_greatest(int dtype);
uint64_t tn_i_extreme_bits(int dtype, bool largest);
/* The bits of a number of a held dtype, zero-extended, as those of its holder that is the same number (u64: has the
 * same bits); and back: the low bits, or those of the nearest. */
uint64_t tn_i_held_bits(int dtype, uint64_t bits);
uint64_t tn_i_stored_bits(int dtype, uint64_t held);
/* One element of an array, as a number (of integers the nearest) and as text that is read as the same element; a number
 * in its place: converted, of bool whether it is not 0. */
double tn_i_element(int dtype, const void *at);
size_t tn_i_element_text(char text[TN_I_ELEMENT_TEXT], int dtype, const void *at);
void tn_i_element_set(int dtype, void *at, double x);
/* The whole number that a text spells, as bits of an integer dtype; false: it is none, or none of the dtype's. */
bool tn_i_whole_bits(int dtype, const char *text, size_t n, uint64_t *bits);
/* The same of floats: the nearest. */
bool tn_i_float_bits(int dtype, const char *text, size_t n, uint64_t *bits);
/* Bits into memory, and from there, zero-extended. */
void tn_i_put_bits(int dtype, void *at, uint64_t bits);
uint64_t tn_i_bits_at(int dtype, const void *at);
/* Of halves: the one nearest to x, ties to even, and its number. */
uint16_t tn_i_half_of(int dtype, double x);
double tn_i_of_half(int dtype, uint16_t bits);
/* Integers that count, and tell places: the signed ones. */
static inline bool tn_i_is_index(int dtype) { return dtype == TN_I32 || dtype == TN_I64; }

/* A dimension whose size is known when a loop has run: `?` in text.  Only loops, and what passes values on as they
 * are (TN_F_STEPS), take and make arrays that have it (docs/loops.md). */
#define TN_I_STEPS INT64_MIN
bool tn_i_has_steps(const tn_type *t);

/* A valid type has a known dtype, rank 0..8, dims >= 0 and countable bytes. */
bool tn_i_type_valid(const tn_type *t);
/* The n types that a caller gives: valid, without `?`, and not past the end of a TN_TYPES, else an error is recorded.
 * who, what: as in "tn_trace: input 1 .." */
bool tn_i_given_types(tn_ctx *c, const tn_i_loc *loc, const char *who, const char *what, size_t n, const tn_type *t);
int64_t tn_i_count(const tn_type *t); /* elements of a valid type; those of one step where it has `?` */
/* Writes "f64[3,4]" into buf (cut to n), returns buf. */
#define TN_I_TYPE_TEXT 384
const char *tn_i_type_text(char buf[TN_I_TYPE_TEXT], const tn_type *t);

#endif
