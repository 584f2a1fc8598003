/* Programs that are written as C, and what they should compute. */
#ifndef EMIT_WRITTEN_H
#define EMIT_WRITTEN_H

#include "laws/laws.h"
#include "laws/trial.h"
#include "prims/ids.h"

enum { EMIT_MOST = 4000 };

/* What the observer, or the functions that stand for it in C, were told: texts, and all numbers one after another. */
typedef struct emit_told {
    char text[4000];
    size_t ntext, n, most;
    double *x;
} emit_told;
void emit_told_clear(emit_told *t);
void emit_told_free(emit_told *t);
/* NULL, or in what they differ. */
const char *emit_told_differ(const emit_told *a, const emit_told *b, double tolerance);
int emit_hear(void *user, const tn_effect *e);
/* kind: 0 print, 1 progress; arrays as the header of a program declares them. */
void emit_told_add(emit_told *t, int kind, const char *message, const char *file, int line);
void emit_told_array(emit_told *t, const char *type, int rank, const int64_t *dim, const void *data);

/* A program that was written, where it came from, and what it should compute. */
typedef struct emit_record {
    char what[160];
    uint32_t nin, nout;
    laws_array *x, *y; /* y: as the library computes it */
    laws_array *slack; /* what the errors of functions amount to; NULL: not looked at */
    double tolerance;
    double work; /* flops and multiply-adds */
    char *text;
    int status;        /* what the function is to return */
    bool cblas, unrun; /* unrun: it is compiled and not called */
    bool first;        /* of a primitive, or of a kind of sizes */
    emit_told told;    /* what the call's observer was */
} emit_record;

typedef struct emit_session {
    laws_memory memory; /* of the records */
    emit_record at[EMIT_MOST];
    size_t n;
    long passed, failed, refused, skipped, unknown, products, effects, halves;
    bool written[TN_NPRIMS], tried[TN_NPRIMS];
    const char *dir, *cc, *other; /* other: another compiler, or NULL */
    uint64_t seed;
    /* Of the programs that are written, one in `share` is compiled and run, and one in `firsts` of the first of each
     * primitive; others of them each turn. */
    size_t share, firsts, turn;
    size_t part, parts; /* of the primitives and of the examples; parts 0: all of them */
    bool verbose;
    bool generated;   /* programs whose terms may cancel: their slack is looked at */
    double tolerance; /* 0: what rounding does in a few equations */
    int64_t capacity; /* of programs that need one; 0: the default */
    int status;       /* of those that are added */
} emit_session;

static inline bool emit_in_part(const emit_session *s, size_t i) {
    return s->parts < 2 || i % s->parts == s->part % s->parts;
}
void emit_wrong(emit_session *s, const char *what, const char *why);
/* A program that stops, or cannot run, is none for this test. */
bool emit_add(emit_session *s, const char *what, const tn_fn *f, const laws_array *x);
/* What the library computes of it, in r; false: nothing. */
bool emit_runs(emit_session *s, const tn_fn *f, const laws_array *x, emit_record *r);
laws_array *emit_kept(emit_session *s, const laws_array *a, size_t n);
/* What is derived from f: jvp and vjp; `second`: and the jvp of its vjp. */
void emit_add_derived(emit_session *s, laws_trial *t, const char *what, bool second);
/* loops.c: loops, and loops in loops, with all schedules. */
void emit_loops(emit_session *s);
/* schedules.c: loops that are brought back, bit for bit. */
void emit_schedules(emit_session *s);
/* halves.c: the halves of t's jvp and vjp, if some residual is as long as a loop; `spoilt`: with a wrong length. */
void emit_add_halves(emit_session *s, laws_trial *t, const char *what, bool spoilt);
void emit_halves(emit_session *s);
extern const char emit_room[]; /* what their callers, and those of lengths.c, call */
/* lengths.c: other programs with such inputs and outputs. */
void emit_lengths(emit_session *s);
/* row_blocks.c: products, sums and elementwise equations over many rows. */
void emit_row_blocks(emit_session *s);
/* sizes.c: kernels that work in blocks. */
void emit_sizes(emit_session *s);
/* compile.c: compiles all programs, runs them, compares. */
void emit_check(emit_session *s);

#endif
