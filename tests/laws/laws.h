/* Laws: statements about every primitive and every program, checked on random
 * cases by drivers that loop over the registry.
 *
 * A trial is one program with one point: either a single equation drawn from a
 * primitive's descriptor, or a generated program.  A law is a function that
 * looks at a trial and calls laws_fail when it does not hold.  Everything a
 * trial needs is drawn from its seed, so a printed seed reproduces it. */
#ifndef LAWS_H
#define LAWS_H

#include "prims/linear/lapack.h"
#include "prims/ids.h"

#include "laws/array.h"
#include "naive.h"

typedef struct laws_trial {
    laws_memory *memory;
    tn_ctx *ctx;
    const tn_prim *prim; /* NULL: a generated program */
    int dtype, backend;
    uint64_t seed;
    tn_i_rng rng;       /* what the law draws from */
    const tn_i_case *c; /* of a primitive */
    const tn_fn *f;     /* the program ... */
    laws_array *x;      /* ... and a point of its domain */
    const tn_fn *f64;   /* its copy in f64 (laws_copy_f64), f itself when it holds no f32 */
    bool failed;
    bool redraw;        /* the point does not suit this law: draw another */
    bool refused;       /* the law asked for what the library documents that it refuses */
    double ratio, used; /* laws about cost: largest multiple found, and largest part of what is allowed */
    const tn_fn *shown; /* printed with a failure; NULL: f */
    char why[1024];
} laws_trial;

enum {
    LAWS_DIFFERENTIABLE = 1 << 0, /* needs a float input and a float output */
    LAWS_PRIMITIVES = 1 << 1,     /* only for single equations */
    LAWS_GENERATED = 1 << 2,      /* only for generated programs */
    LAWS_ONCE = 1 << 3,           /* not about random cases: runs once */
    LAWS_DIGITS = 1 << 6,         /* holds up to rounding, where floats of 16 bits have no digits to tell */
    LAWS_KERNELS = 1 << 5,        /* about what kernels do with arrays in memory */
    LAWS_ROUNDED = 1 << 4         /* holds up to rounding, which a generated f32 program may amplify */
};

typedef struct laws_law {
    const char *name, *says;
    unsigned flags;
    int every; /* takes part in every so many-th sample: costly laws are thinned out */
    void (*run)(laws_trial *t);
} laws_law;

/* What only many ranks give a meaning: tests/ranks has their laws, and tests/unit/collectives_ranks.c their values and
 * what breaks them. */
static inline bool laws_of_ranks(const tn_prim *p) {
    return p->local || p->flags & TN_F_COMM || p->id == TN_P_rank_index;
}

/* LAPACK's primitives; laws_refuses: in a library that was built without it. */
static inline bool laws_by_lapack(const tn_prim *p) { return p->unrunnable == tn_i_no_lapack; }
static inline bool laws_refuses(const tn_prim *p) { return laws_by_lapack(p) && tn_i_no_lapack(NULL); }

/* The table, ended by a NULL name (table.c). */
extern const laws_law laws_table[];

void laws_fail(laws_trial *t, const char *fmt, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* After an error: whether it is one of the refusals that are documented (refusals.c).  Then the trial is over, and
 * counted. */
bool laws_refused(laws_trial *t);
/* A program made by a transformation: fails the trial when it is NULL or when the checker rejects
 * it, unless it is refused.  `how` says what it is. */
const tn_fn *laws_made(laws_trial *t, const tn_fn *f, const char *how);

/* Runs f over x into out (nout arrays, made in the trial's memory); false after laws_fail.  It is run as tn_compile
 * runs it, contracted: the library contracts a program before it splits it, so only what is contracted alike has equal
 * bits. */
bool laws_run(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out);
laws_array *laws_run_new(laws_trial *t, const tn_fn *f, const laws_array *x);
/* The same with errors. */
bool laws_run_off(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out, tn_naive_errors *off);
/* The same as laws_run, each product rounded: what builders and rules promise about equations as they stand. */
bool laws_run_as_written(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out);
bool laws_run_as_written_off(laws_trial *t, const tn_fn *f, const laws_array *x, laws_array *out, tn_naive_errors *off);

/* ---- running many ----------------------------------------------------------- */

typedef struct laws_options {
    long n;        /* samples per primitive */
    long programs; /* generated; 0: n */
    uint64_t seed;
    const char *law, *prim; /* NULL: all; prim "generated" stands for generated programs */
    const tn_prim *const *registry;
    const char *write; /* a directory: the cases are written there, as text, and no law is tried; else NULL */
    long part, parts;  /* of the primitives, and what else there is, one in `parts`; 0: all */
    int backend;       /* the tn_backend that programs are compiled for, where a law names none */
    uint8_t nests;     /* who runs nests (plan/assembled.h); 0: that backend */
    bool quiet;        /* print nothing */
    bool stop;         /* at the first failure, of which too many points redrawn are none */
} laws_options;

typedef struct laws_result {
    long passed, failed; /* checks: one per law and primitive and dtype */
} laws_result;

laws_result laws_run_all(const laws_options *o);

#endif
