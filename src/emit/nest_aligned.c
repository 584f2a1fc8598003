/* Rows that do not begin where vectors do: a matrix of 50 columns has few rows whose stores would not each touch two
 * lines of the cache, which takes a store two or three times as long.  So a row has the elements in front of the next
 * line first, then whole vectors that are aligned, then what is left: both ends by masks. */
#include "emit/nest_emit.h"

#include <inttypes.h>

enum { LEAST_ROW = 24, MOST_MAPS = 32 };

/* What masks know, without calls. */
static bool is_plain(const tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    const int64_t by =
        o->kind == TN_NEST_LOAD || o->kind == TN_NEST_STORE ? w->n->array[o->array].stride[w->n->nloop - 1] : 0;
    if (o->dtype == TN_BOOL && o->kind != TN_NEST_MAP) return false;
    const bool wide = (int)tn_i_dtype_size(o->dtype) == w->width;
    if (o->kind == TN_NEST_LOAD) return !w->n->array[o->array].boxed && (by == 0 || (by == 1 && wide));
    if (o->kind == TN_NEST_STORE) return by == 1 && wide;
    return o->kind != TN_NEST_REDUCE && o->kind != TN_NEST_LOOKUP && !w->address[op];
}

/* The array of the first store; rows of others are aligned likewise, or not. */
uint32_t tn_i_first_store(const tn_i_nest_writer *w) {
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->n->op[i].kind == TN_NEST_STORE && w->n->op[i].level == TN_NEST_ELEMENT) return w->n->op[i].array;
    return TN_NOVAR;
}

static bool rows_begin_anywhere(const tn_i_nest_writer *w, uint32_t array) {
    bool some = false;
    for (uint32_t d = 0; d + 1 < w->n->nloop; d++) some |= w->n->array[array].stride[d] % w->lanes != 0;
    return some;
}

bool tn_i_aligns_rows(const tn_i_nest_writer *w) {
    const tn_i_nest *n = w->n;
    int maps = 0;
    if (w->m->bytes != 64 || n->nloop < 2 || n->nphase != 1 || w->inner < LEAST_ROW) return false;
    for (uint32_t i = 0; i < n->nop; i++) {
        if (!tn_i_of_elements(w, &n->op[i])) continue;
        maps += n->op[i].kind == TN_NEST_MAP;
        if (!is_plain(w, i)) return false;
    }
    const uint32_t array = tn_i_first_store(w);
    return maps <= MOST_MAPS && array != TN_NOVAR && rows_begin_anywhere(w, array);
}

void tn_i_emit_aligned(tn_i_nest_writer *w) {
    const tn_i_piece some = {.some = "some"}, whole = {.count = w->lanes};
    tn_i_text_put(w->t,
                  "const int64_t lead = (int64_t)(-((uintptr_t)q%u / %d) %% %d);\n"
                  "{ const int64_t some = lead, i = 0;\n",
                  (unsigned)tn_i_first_store(w), w->width, w->lanes);
    tn_i_emit_pieces(w, 0, 1, &some);
    tn_i_text_put(w->t, "}\nint64_t i = lead;\nfor (; i + %d <= INT64_C(%" PRId64 "); i += %d) {\n", w->lanes, w->inner,
                  w->lanes);
    tn_i_emit_pieces(w, 0, 1, &whole);
    tn_i_text_put(w->t, "}\n{ const int64_t some = INT64_C(%" PRId64 ") - i;\n", w->inner);
    tn_i_emit_pieces(w, 0, 1, &some);
    tn_i_text_put(w->t, "}\n");
}
