/* Nests that several threads share, in the pieces of exec/nest_cut.c.
 *
 * A piece of a sum is a whole subtree of the order in exec/nest.h, so that its result is an entry of the counter that
 * joins them: bits do not depend on the number of threads. */
#include "emit/nest_emit.h"
#include "emit/steps_emit.h"
#include "exec/nest_code.h"
#include "exec/parallel.h"

#include <inttypes.h>
#include <string.h>

enum { ALIGN = 64 };

/* ---- which nests --------------------------------------------------------------------- */

bool tn_i_in_parts(const tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    return w->cut && o->kind == TN_NEST_REDUCE && !(tn_i_of_row(w->n, o) && w->n->rows > 1);
}

int64_t tn_i_results(const tn_i_nest_writer *w, uint32_t op) {
    return w->sum[op].kind == TN_SUM_COLUMNS ? w->sum[op].q : 1;
}

/* Pieces are ranges of the outermost loop or of the only one; where they begin, a vector and a leaf do. */
static bool loops_fit(const tn_i_nest_writer *w) {
    enum { MOST_AT_ONCE = 64 };
    const tn_i_nest *n = w->n;
    const tn_i_nest_code *c = n->code;
    if (!c || c->threads < 2 || w->numbers) return false;
    return n->rows > 1 ? n->nouter == 1 : n->nloop == 1 && n->nphase == 1 && c->unit % MOST_AT_ONCE == 0;
}

void tn_i_parts_plan(tn_i_nest_writer *w) {
    const tn_i_nest_code *c = w->n->code;
    if (!loops_fit(w)) return;
    size_t at = c->threads * c->each;
    w->cut = c;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (!tn_i_in_parts(w, i)) continue;
        w->part[i] = at;
        at += (size_t)(c->pieces * tn_i_results(w, i)) * tn_i_dtype_size(o->dtype) + ALIGN - 1;
        at -= at % ALIGN;
        if (o->dtype != w->n->op[o->in[0]].dtype || o->dtype == TN_BOOL) w->cut = NULL;
        if (!w->cut) return;
    }
    if (at > w->n->scratch || w->needs > c->each) w->cut = NULL;
}

/* ---- pieces and parts -------------------------------------------------------------------- */

void tn_i_parts_put(tn_i_nest_writer *w, uint32_t op, const char *from) {
    const int64_t n = tn_i_results(w, op);
    const char *type = tn_i_sum_type(w, op);
    tn_i_text_put(w->t, "memcpy((%s *)(all + %zu) + piece * INT64_C(%" PRId64 "), %s, %zuu);\n", type, w->part[op], n,
                  from, (size_t)n * tn_i_dtype_size(w->n->op[op].dtype));
}

void tn_i_parts_join(tn_i_nest_writer *w) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (!tn_i_in_parts(w, i)) continue;
        tn_i_text_put(w->t,
                      "%s *const sum%u = (%s *)(S + %zu);\nPARTS(sum%u, %s, %s, INT64_C(%" PRId64 "), INT64_C(%" PRId64
                      "));\n",
                      tn_i_sum_type(w, i), (unsigned)i, tn_i_sum_type(w, i), w->part[i], (unsigned)i,
                      tn_i_sum_type(w, i), tn_i_fold_macro(w->n->op[i].fold), tn_i_results(w, i), w->cut->pieces);
    }
}

/* ---- running them: what the text calls ------------------------------------------------------ */

typedef void part_fn(const void *const *T, const uintptr_t *F, int64_t first, int64_t last, uintptr_t scratch,
                     uintptr_t all);

typedef struct parts {
    part_fn *part;
    const void *const *table;
    const uintptr_t *frame;
    uintptr_t scratch;
    size_t each;
} parts;

static void run_part(void *with, int thread, int64_t first, int64_t last) {
    const parts *k = with;
    k->part(k->table, k->frame, first, last, k->scratch + (size_t)thread * k->each, k->scratch);
}

static void run_parts(part_fn *part, const void *const *table, const uintptr_t *frame, uintptr_t scratch,
                      const void *code) {
    const tn_i_nest_code *cut = code;
    parts k = {part, table, frame, scratch, cut->each};
    tn_i_in_pieces(cut->process, cut->threads, cut->pieces, run_part, &k);
}

void tn_i_parts_run(tn_i_nest_writer *w, uint32_t id) {
    tn_i_text_put(w->t,
                  "((void (*)(part_fn *, const void *const *, const uintptr_t *, uintptr_t, const void *))T[%u])"
                  "(nest%u_part, T, F, S, T[%u]);\n",
                  (unsigned)tn_i_module_address(w->m, (const void *)(uintptr_t)run_parts), (unsigned)id,
                  (unsigned)tn_i_module_address(w->m, w->cut));
}
