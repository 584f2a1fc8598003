/* Elements far away, where a step calls functions: so many instructions lie between two loads that the processor comes
 * to the next one late, and does nothing while it waits for memory.  So lines are asked for some vectors ahead.
 * Without calls it asks early enough by itself. */
#include "emit/nest_emit.h"

#include <inttypes.h>

enum { FAR = 1 << 20, AHEAD = 1024 /* bytes: 512 was 1.1 times as slow in f32, 2048 no faster */ };

bool tn_i_calls_functions(const tn_i_nest_writer *w, uint32_t phase) {
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->function[i] && w->n->op[i].phase == phase && tn_i_of_elements(w, &w->n->op[i])) return true;
    return false;
}

/* What the loops go through of an array takes more than the caches near by hold. */
static bool is_far(const tn_i_nest_writer *w, const tn_i_nest_array *a) {
    int64_t left = FAR / (int64_t)tn_i_dtype_size(a->dtype);
    for (uint32_t d = 0; d < w->n->nloop; d++)
        if (a->stride[d]) left /= w->n->size[d] > 0 ? w->n->size[d] : 1;
    return left == 0;
}

void tn_i_emit_prefetch(tn_i_nest_writer *w, uint32_t phase, int vectors, const tn_i_piece *k) {
    if (!tn_i_calls_functions(w, phase)) return;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->kind != TN_NEST_LOAD || o->phase != phase || o->level != TN_NEST_ELEMENT) continue;
        const tn_i_nest_array *a = &w->n->array[o->array];
        if (a->stride[w->n->nloop - 1] != 1 || !is_far(w, a)) continue;
        for (int u = 0; u < vectors; u++)
            if (k[u].count == w->lanes)
                tn_i_text_put(w->t, "__builtin_prefetch((const %s *)q%u + j%d + %d);\n", tn_i_c_type(o->dtype),
                              (unsigned)o->array, u, AHEAD / (int)tn_i_dtype_size(o->dtype));
    }
}
