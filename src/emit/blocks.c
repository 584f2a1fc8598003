/* Neighbours in memory: columns of short rows, of which each is an array with a stride, are loaded, looked up and
 * stored several together.  The rows of as many elements as a vector has lanes are read or written as vectors, and
 * transposed in registers.
 *
 * Operations of one phase are neighbours when they walk the same memory alike, less than a vector's lanes apart; of
 * stores there is one for each place from the first to the last. */
#include "emit/nest_emit.h"

#include <inttypes.h>
#include <string.h>

enum { LEAST_LOADS = 2, LEAST_STORES = 3, LONG = 1 << 20 /* bytes that the caches near by do not hold */ };

static const tn_i_nest_array *array_of(const tn_i_nest_writer *w, uint32_t op) {
    return &w->n->array[w->n->op[op].array];
}

/* Where index 0 is, in bytes from its base. */
static int64_t offset_of(const tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_array *a = array_of(w, op);
    return tn_i_array_place(w, w->n->op[op].array)->offset + a->offset * (int64_t)tn_i_dtype_size(a->dtype);
}

/* Elements from one row to the next. */
static int64_t row_stride(const tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    return o->kind == TN_NEST_LOOKUP ? o->by : array_of(w, op)->stride[w->n->nloop - 1];
}

/* Whole vectors, with a stride. */
static bool can_be(const tn_i_nest_writer *w, uint32_t op) {
    const tn_i_nest_op *o = &w->n->op[op];
    if (o->level != TN_NEST_ELEMENT) return false;
    if (o->kind != TN_NEST_LOAD && o->kind != TN_NEST_LOOKUP && o->kind != TN_NEST_STORE) return false;
    const tn_i_nest_array *a = array_of(w, op);
    if (a->boxed || a->dtype == TN_BOOL || (int)tn_i_dtype_size(a->dtype) != w->width) return false;
    if (o->kind == TN_NEST_LOOKUP) return !o->fills && w->n->op[o->in[0]].level == TN_NEST_ELEMENT;
    if (o->kind == TN_NEST_STORE && w->n->op[o->in[0]].kind == TN_NEST_REDUCE) return false;
    const int64_t by = row_stride(w, op);
    return by > 1 || by < -1;
}

static bool neighbours(const tn_i_nest_writer *w, uint32_t x, uint32_t y) {
    const tn_i_nest_op *o = &w->n->op[x], *p = &w->n->op[y];
    const tn_i_nest_array *a = array_of(w, x), *b = array_of(w, y);
    const size_t loops = w->n->nloop * sizeof *a->stride;
    if (o->kind != p->kind || o->phase != p->phase || a->dtype != b->dtype || row_stride(w, x) != row_stride(w, y) ||
        memcmp(a->stride, b->stride, loops) != 0)
        return false;
    if (o->kind == TN_NEST_LOOKUP && (o->in[0] != p->in[0] || o->first != p->first)) return false;
    const tn_i_place *k = tn_i_array_place(w, o->array);
    return k->base == tn_i_array_place(w, p->array)->base && k->base != TN_BASE_ABSOLUTE;
}

/* The members of the block that begins with operation `first`, by column; TN_NOVAR: none there.  Columns are counted
 * from the first one's. */
typedef struct members {
    uint32_t op[TN_LANES];
    int columns, count;
} members;

static int64_t column(const tn_i_nest_writer *w, uint32_t first, uint32_t op) {
    const int64_t size = w->width, bytes = offset_of(w, op) - offset_of(w, first);
    return bytes % size ? INT64_MAX : bytes / size;
}

/* Those beside `least`, and not yet in a block, as far as a vector reaches. */
static void find_members(const tn_i_nest_writer *w, uint32_t least, members *m) {
    memset(m->op, 0xFF, sizeof m->op);
    m->columns = m->count = 0;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (w->block[i] != TN_NOVAR || !can_be(w, i) || !neighbours(w, least, i)) continue;
        const int64_t k = column(w, least, i);
        if (k < 0 || k >= w->lanes || m->op[k] != TN_NOVAR) continue;
        m->op[k] = i;
    }
    const bool stores = w->n->op[least].kind == TN_NEST_STORE;
    for (int k = 0; k < w->lanes && !(stores && m->op[k] == TN_NOVAR); k++)
        if (m->op[k] != TN_NOVAR) m->columns = k + 1, m->count++;
}

/* The one of op's neighbours that is first in memory. */
static uint32_t first_in_memory(const tn_i_nest_writer *w, uint32_t op) {
    uint32_t least = op;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (w->block[i] != TN_NOVAR || !can_be(w, i) || !neighbours(w, op, i)) continue;
        const int64_t k = column(w, least, i);
        if (k < 0) least = i;
    }
    return least;
}

/* A block is known by its member that is written first, of stores last. */
static void take(tn_i_nest_writer *w, const members *m, bool stores) {
    uint32_t at = TN_NOVAR;
    for (int k = 0; k < m->columns; k++) {
        const uint32_t op = m->op[k];
        if (op != TN_NOVAR && (at == TN_NOVAR || (stores ? op > at : op < at))) at = op;
    }
    for (int k = 0; k < m->columns; k++)
        if (m->op[k] != TN_NOVAR) w->block[m->op[k]] = at;
}

/* An output of the program, which nothing in the nest reads: it may be written at any time. */
static bool only_written(const tn_i_nest_writer *w, uint32_t op) {
    const uint32_t base = tn_i_array_place(w, w->n->op[op].array)->base;
    if (base == TN_BASE_ABSOLUTE || base < TN_BASE_ARGUMENTS + w->p->f->nin) return false;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        const bool reads = o->kind == TN_NEST_LOAD || o->kind == TN_NEST_LOOKUP;
        if (reads && tn_i_array_place(w, o->array)->base == base) return false;
    }
    return true;
}

/* The block is written as soon as all of its values are known: they need not be kept, and memory takes its time. */
static void hasten(tn_i_nest_writer *w, const members *m) {
    uint32_t behind = 0;
    if (w->nearly == TN_NEST_ARRAYS || !only_written(w, m->op[0])) return;
    for (int k = 0; k < m->columns; k++) {
        const tn_i_nest_op *o = &w->n->op[m->op[k]], *x = &w->n->op[o->in[0]];
        if (x->phase == o->phase && tn_i_of_elements(w, x) && o->in[0] > behind) behind = o->in[0];
    }
    const tn_i_nest_op *x = &w->n->op[behind];
    if (x->phase != w->n->op[m->op[0]].phase || !tn_i_of_elements(w, x)) return;
    w->early[w->nearly].block = w->block[m->op[0]];
    w->early[w->nearly++].op = behind;
}

void tn_i_blocks_plan(tn_i_nest_writer *w) {
    memset(w->block, 0xFF, sizeof w->block);
    if (w->numbers || w->lanes > TN_LANES) return;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (w->block[i] != TN_NOVAR || !can_be(w, i)) continue;
        const bool stores = w->n->op[i].kind == TN_NEST_STORE;
        members m;
        for (;;) {
            const uint32_t least = first_in_memory(w, i);
            find_members(w, least, &m);
            if (m.count < (stores ? LEAST_STORES : LEAST_LOADS)) {
                w->block[least] = least; /* alone */
                if (least == i) break;
                continue;
            }
            take(w, &m, stores);
            if (stores) hasten(w, &m);
            if (w->block[i] != TN_NOVAR) break;
        }
    }
}

static void members_of(const tn_i_nest_writer *w, uint32_t op, members *m) {
    uint32_t least = op;
    memset(m->op, 0xFF, sizeof m->op);
    m->columns = m->count = 0;
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->block[i] == w->block[op] && column(w, least, i) < 0) least = i;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (w->block[i] != w->block[op]) continue;
        const int k = (int)column(w, least, i);
        m->op[k] = i;
        m->count++;
        if (k >= m->columns) m->columns = k + 1;
    }
}

static bool in_block(const tn_i_nest_writer *w, uint32_t op) {
    if (w->block[op] == TN_NOVAR) return false;
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (i != op && w->block[i] == w->block[op]) return true;
    return false;
}

/* Where lane l's row begins: "(const f64 *)q3 + ...". */
static void put_row(tn_i_nest_writer *w, uint32_t first, int lane) {
    const tn_i_nest_op *o = &w->n->op[first];
    const char *element = tn_i_c_type(array_of(w, first)->dtype);
    const int64_t by = row_stride(w, first);
    if (o->kind == TN_NEST_LOOKUP)
        tn_i_text_put(w->t, "(const %s *)q%u + (int64_t)at[%d] * INT64_C(%" PRId64 ")", element, (unsigned)o->array,
                      lane, by);
    else
        tn_i_text_put(w->t, "(%s%s *)q%u + (j%d + %d) * INT64_C(%" PRId64 ")", o->kind == TN_NEST_STORE ? "" : "const ",
                      element, (unsigned)o->array, w->u, lane, by);
}

/* Rows that are stored next are asked for: a vector's worth of them is more than the processor looks ahead. */
static bool goes_far(const tn_i_nest_writer *w, uint32_t first) {
    const int64_t by = row_stride(w, first), bytes = (by < 0 ? -by : by) * w->width;
    return w->inner > LONG / bytes;
}

/* Rows that are not there are zeros; all lanes have an index that is. */
static void emit_loads(tn_i_nest_writer *w, uint32_t op, const members *m, int64_t count) {
    const uint32_t first = m->op[0];
    const bool looks_up = w->n->op[first].kind == TN_NEST_LOOKUP;
    char type[16];
    tn_i_vector_type(w, first, type);
    tn_i_text_put(w->t, "%s b%u_%d[%d]; {\n", type, (unsigned)op, w->u, w->lanes);
    if (looks_up) tn_i_emit_indices(w, first);
    for (int l = 0; l < w->lanes; l++) {
        tn_i_text_put(w->t, "b%u_%d[%d] = ", (unsigned)op, w->u, l);
        if (!looks_up && l >= count) {
            tn_i_text_put(w->t, "(%s){0};\n", type);
            continue;
        }
        tn_i_text_put(w->t, "%s_%s(", type, m->columns == w->lanes ? "load" : "some");
        put_row(w, first, l);
        if (m->columns < w->lanes) tn_i_text_put(w->t, ", 1, %d", m->columns);
        tn_i_text_put(w->t, ");\n");
    }
    tn_i_text_put(w->t, "}\n%s_turn(b%u_%d);\n", type, (unsigned)op, w->u);
    for (int k = 0; k < m->columns; k++)
        if (m->op[k] != TN_NOVAR)
            tn_i_text_put(w->t, "const %s v%u_%d = b%u_%d[%d];\n", type, (unsigned)m->op[k], w->u, (unsigned)op, w->u,
                          k);
}

static void emit_stores(tn_i_nest_writer *w, uint32_t op, const members *m, int64_t count) {
    char type[16];
    tn_i_vector_type(w, w->n->op[op].in[0], type);
    tn_i_emit_guard(w, w->n->op[op].array);
    tn_i_text_put(w->t, "{ %s b[%d] = {", type, w->lanes);
    for (int k = 0; k < w->lanes; k++) {
        if (k) tn_i_text_put(w->t, ", ");
        tn_i_put_vector(w, w->n->op[m->op[k < m->columns ? k : 0]].in[0]);
    }
    tn_i_text_put(w->t, "};\n%s_turn(b);\n", type);
    for (int l = 0; l < w->lanes && count == w->lanes && goes_far(w, m->op[0]); l++) {
        tn_i_text_put(w->t, "__builtin_prefetch(");
        put_row(w, m->op[0], l + w->lanes);
        tn_i_text_put(w->t, ", 1);\n");
    }
    for (int l = 0; l < w->lanes && l < count; l++) {
        tn_i_text_put(w->t, "%s_%s(", type, m->columns == w->lanes ? "store" : "put");
        put_row(w, m->op[0], l);
        if (m->columns < w->lanes) tn_i_text_put(w->t, ", 1, %d", m->columns);
        tn_i_text_put(w->t, ", b[%d]);\n", l);
    }
    tn_i_text_put(w->t, "}\n");
}

static bool is_early(const tn_i_nest_writer *w, uint32_t block) {
    for (uint32_t i = 0; i < w->nearly; i++)
        if (w->early[i].block == block) return true;
    return false;
}

bool tn_i_emit_block(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k) {
    members m;
    if (!in_block(w, op)) return false;
    if (w->block[op] != op || is_early(w, op)) return true;
    members_of(w, op, &m);
    (w->n->op[op].kind == TN_NEST_STORE ? emit_stores : emit_loads)(w, op, &m, k->count);
    return true;
}

void tn_i_emit_blocks_behind(tn_i_nest_writer *w, uint32_t op, const tn_i_piece *k) {
    members m;
    for (uint32_t i = 0; i < w->nearly; i++) {
        if (w->early[i].op != op) continue;
        members_of(w, w->early[i].block, &m);
        emit_stores(w, w->early[i].block, &m, k->count);
    }
}
