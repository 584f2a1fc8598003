/* Lowering: what a plan runs, as loop programs (loop/loop.h). */
#ifndef TN_LOWER_H
#define TN_LOWER_H

#include "plan/loop.h"
#include "plan/replay.h"
#include "loop/loop.h"
#include "pass/pass.h"

/* The table of addresses of what is lowered is that of its plan (plan/plan.h), in which entry 0, from where nothing is
 * counted, is the scratch memory of the step while it runs. */
enum { TN_LOWER_SCRATCH = 0 };

/* In place of bytes of a vector: strips, which have any length. */
enum { TN_LOWER_STRIPS = 0 };

/* The loop program of a nest whose arrays are placed: straight, a FOR for each of its loops and phases, one element at
 * a time.  All outputs are wanted.  NULL after an error. */
tn_i_loops *tn_i_lower_nest(tn_ctx *c, const tn_i_nest *n);

/* The loop program of the steps of a loop whose body is planned: a FOR over the steps, in it what the condition does
 * where there is one, and the body, and that what the step leaves is what the next one enters with; loops and
 * conditions in the step are loops and IFs.  The table of addresses is the body's frame and what is behind it
 * (tn_i_whole), in which arrays of entries begin at the first one in memory that any of the steps has, were they as
 * many as can be; entry 0 is scratch memory of tn_i_loop.nscratch bytes.  Only for loops that are one
 * (tn_i_loop.whole).  counted: it adds to the loop's counters. */
tn_i_loops *tn_i_lower_loop(tn_ctx *c, const tn_i_loop *l, bool counted);

/* part.c: all steps of p, where they are a part that loop programs may have.  Its table of addresses is that of p;
 * entry 0 is scratch memory of its own. */
tn_i_loops *tn_i_lower_all(tn_ctx *c, const tn_i_plan *p);
/* The steps of a segment of p. */
tn_i_loops *tn_i_lower_segment(tn_ctx *c, const tn_i_plan *p, const tn_i_segment *g);

/* chunk.c: likewise of consecutive steps of a group of p.  Its table of addresses has g->ncell entries, of which arrays
 * of entries, and slots, begin at the first one in memory that any of g->most steps has; scratch memory is
 * g->nchunk_scratch bytes. */
tn_i_loops *tn_i_lower_chunk(tn_ctx *c, const tn_i_plan *p, const tn_i_group *g, tn_i_chunk_kind kind);

/* What passes are told for a nest: vectors of so many bytes, or TN_LOWER_STRIPS, and as many threads as it may be run
 * by. */
tn_i_machine tn_i_lower_machine(const tn_i_nest *n, int vector);
/* For steps of a loop, of which none is worth sharing; n: the first nest of one. */
tn_i_machine tn_i_lower_machine_alone(const tn_i_nest *n, int vector);

/* As what loop programs are told. */
typedef struct tn_i_lower_as {
    int vector;       /* for vectors of so many bytes */
    const char *last; /* after this pass; NULL: all passes; "": as they are lowered */
    bool c;           /* as C (cgen/cgen.h, native): their functions, without what stands in front of all files */
} tn_i_lower_as;

/* Tells, of all steps of an executable where they are one program, and for each step that is a nest, all steps of a
 * loop, or steps in a row of one with a schedule, its title and text.  False after an error. */
typedef void tn_i_lower_tell(void *user, const char *title, const char *text);
bool tn_i_lower_text(const tn_exec *e, const tn_i_lower_as *as, tn_i_lower_tell *tell, void *user);

#endif
