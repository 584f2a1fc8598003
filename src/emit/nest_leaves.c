/* The elements of a row whose sums have leaves.  In a leaf each lane is a chain of additions, in the order of
 * exec/nest.h: of vectors of sixteen lanes, 32 that wait for one another.  So two leaves are worked on at a time, each
 * with lanes of its own: the same sums, and half of the waiting. */
#include "emit/nest_emit.h"
#include "exec/nest_code.h"

#include <inttypes.h>

enum { PAIR = 2 * TN_LEAF, LEAST_MAPS = 4, NEAR = 1 << 20 /* bytes that caches near by hold */ };

/* A leaf of few operations is short: the processor is with the next one before this one's sums are there.  And what is
 * far away comes best in the order in which it lies there: two leaves at a time of two arrays took 1.15 times as long.
 */
static bool is_worth_two(const tn_i_nest_writer *w, uint32_t phase) {
    int64_t near = NEAR;
    int maps = 0;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->phase != phase || !tn_i_of_elements(w, o)) continue;
        maps += o->kind == TN_NEST_MAP;
        if (o->kind == TN_NEST_LOAD && w->n->array[o->array].stride[w->n->nloop - 1])
            near -= (int64_t)tn_i_dtype_size(o->dtype) * (w->inner < NEAR ? w->inner : NEAR);
    }
    return maps >= LEAST_MAPS && near >= 0;
}

static bool sums_lanes_alone(const tn_i_nest_writer *w, uint32_t phase) {
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->n->op[i].kind == TN_NEST_REDUCE && w->n->op[i].phase == phase && w->sum[i].kind != TN_SUM_LANES)
            return false;
    return true;
}

/* Half of the vectors of a step must be all lanes of a leaf. */
static bool goes_by_pairs(const tn_i_nest_writer *w, uint32_t phase, int vectors, bool pieces) {
    const int64_t half = (int64_t)vectors / 2 * w->lanes;
    if (vectors < 2 || half % TN_LANES || w->inner < TN_LEAF + half) return false;
    if (pieces && w->cut->unit % PAIR) return false;
    return is_worth_two(w, phase) && sums_lanes_alone(w, phase) && !tn_i_has_boxes(w->n, phase);
}

/* Behind the whole vectors, of the last leaf. */
static void put_rest(tn_i_nest_writer *w, uint32_t phase, int64_t whole, int leaves) {
    if (whole >= w->inner) return;
    tn_i_text_put(w->t, "if (leaf + %d >= INT64_C(%" PRId64 "))\n", leaves * TN_LEAF, w->inner);
    tn_i_emit_last(w, phase, whole);
}

static void one_leaf(tn_i_nest_writer *w, uint32_t phase, int vectors, int64_t whole) {
    tn_i_text_put(w->t, "const int64_t end = leaf + %d < full ? leaf + %d : full;\n", TN_LEAF, TN_LEAF);
    tn_i_sums_begin_leaf(w, phase, 1);
    tn_i_emit_vectors(w, phase, "leaf", "end", vectors);
    put_rest(w, phase, whole, 1);
    tn_i_sums_end_leaf(w, phase, NULL);
}

/* As far as the second leaf goes both, then the first one alone. */
static void two_leaves(tn_i_nest_writer *w, uint32_t phase, int vectors, int64_t whole) {
    tn_i_text_put(w->t,
                  "const int64_t next = leaf + %d, end = full < next ? full : next;\n"
                  "const int64_t both = full <= next ? leaf : full - next < %d ? leaf + (full - next) : next;\n",
                  TN_LEAF, TN_LEAF);
    tn_i_sums_begin_leaf(w, phase, 2);
    w->leaf.vectors = vectors / 2;
    tn_i_emit_vectors(w, phase, "leaf", "both", vectors);
    w->leaf.vectors = 0;
    tn_i_emit_vectors(w, phase, "both", "end", vectors);
    w->leaf.at = (int)((w->inner - 1) / TN_LEAF % 2);
    put_rest(w, phase, whole, 2);
    w->leaf.at = 0;
    tn_i_sums_end_leaf(w, phase, "next < all");
}

void tn_i_emit_leaves(tn_i_nest_writer *w, uint32_t phase, int vectors, int64_t whole, bool pieces) {
    const bool pairs = goes_by_pairs(w, phase, vectors, pieces);
    if (pieces)
        tn_i_text_put(w->t, "const int64_t all = to, full = to < INT64_C(%" PRId64 ") ? to : INT64_C(%" PRId64 ");\n",
                      whole, whole);
    else
        tn_i_text_put(w->t, "const int64_t all = INT64_C(%" PRId64 "), full = INT64_C(%" PRId64 ");\n", w->inner,
                      whole);
    tn_i_text_put(w->t, "for (int64_t leaf = %s; leaf < all; leaf += %d) {\n", pieces ? "from" : "0",
                  pairs ? PAIR : TN_LEAF);
    (pairs ? two_leaves : one_leaf)(w, phase, vectors, whole);
    tn_i_text_put(w->t, "}\n");
}
