/* Running nests: the code of nest_code.c, block by block. */
#include "exec/nest_code.h"
#include "exec/parallel.h"
#include "exec/run.h"

#include <string.h>

/* ---- tiles ----------------------------------------------------------------------------- */

typedef struct state {
    const tn_i_nest *nest;
    const tn_i_nest_code *code;
    char *const *data;
    char *scratch, *all; /* of this thread, and of all */
    char **at;           /* of each value */
    int64_t tile; /* elements that run at once */
} state;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A tile of less than TN_LANES elements, filled up with its first one. */
static void pad(const tn_i_nest_instr *e, char *out, int64_t n) {
    if (n < TN_LANES) tn_i_repeat(e->size, out, out + n * e->size, TN_LANES - n);
}

/* What lies within the box is read where it is, and what lies outside where that is. */
static void run_box(const state *t, const tn_i_nest_instr *e, int64_t from, int64_t n) {
    const tn_i_nest_array *a = &t->nest->array[e->array];
    const char *data = t->data[e->array], *fill = t->at[e->in[0]];
    const uint32_t loops = (uint32_t)e->s[1];
    const bool first = e->s[2] & TN_BOX_FIRST;
    char *own = t->scratch + t->code->value[e->out].offset;
    const char *at = e->padded ? NULL : tn_i_box_within(t->nest, a, loops, data, from, n);
    if (!at && !e->padded && (first || e->s[0]) && tn_i_box_misses(t->nest, a, loops, from, n)) at = first ? own : fill;
    if (!at && !e->padded && (e->s[2] & TN_BOX_OVER) && fill == t->scratch + t->code->value[e->in[0]].offset)
        own = t->scratch + t->code->value[e->in[0]].offset;
    t->at[e->out] = at ? (char *)(uintptr_t)at : own;
    if (!at) tn_i_box_load(t->nest, a, loops, data, from, n, first ? NULL : fill, e->s[0], own);
}

#define PICK(T)                                                                                       \
    for (int64_t i = 0; i < TN_LANES; i++) {                                                          \
        const char *x = at[i] == TN_NOT_PICKED ? fill + i * step * (int64_t)sizeof(T) : from + at[i]; \
        memcpy(to + (size_t)i * sizeof(T), x, sizeof(T));                                             \
    }                                                                                                 \
    break;

void tn_i_nest_pick(uint8_t size, const int32_t *at, const char *from, const char *fill, int64_t step, char *to) {
    switch (size) {
    case 1: PICK(uint8_t)
    case 4: PICK(uint32_t)
    default: PICK(uint64_t)
    }
}

#define PUT(T)                                                                                          \
    for (int64_t i = 0; i < n; i++) memcpy(to + at[i], from + (size_t)(i * by) * sizeof(T), sizeof(T)); \
    break;

void tn_i_nest_put(uint8_t size, const int32_t *at, const char *from, int64_t by, int64_t n, char *to) {
    switch (size) {
    case 1: PUT(uint8_t)
    case 4: PUT(uint32_t)
    default: PUT(uint64_t)
    }
}

/* Indices from..from+n-1 of the space, or of its rows; `rows` of them, if whole. */
static void run_one(const state *t, const tn_i_nest_instr *e, int64_t from, int64_t n, int64_t rows) {
    const tn_i_nest_code *c = t->code;
    char *out = e->out == TN_NOVAR ? NULL : t->at[e->out];
    switch ((tn_i_nest_code_kind)e->kind) {
    case TN_CODE_MAP: {
        const void *in[4] = {t->at[e->in[0]], t->at[e->in[1]], t->at[e->in[2]], NULL};
        if (e->padded)
            e->strip(TN_LANES, in, e->s, out, 1);
        else if (n == 1 && e->one)
            e->one(in[0], in[1], in[2], out);
        else
            e->strip(n, in, e->s, out, 1);
        return;
    }
    case TN_CODE_LOAD: tn_i_walk_load(&c->walk[e->walk], e->size, t->data[e->array], from, n, out); break;
    case TN_CODE_BOX: run_box(t, e, from, n); break;
    case TN_CODE_LOOKUP: tn_i_look_up(e, t->data[e->array], t->at[e->in[0]], n, out); break;
    case TN_CODE_PICK:
        tn_i_nest_pick(e->size, c->gather + e->walk, t->data[e->array], t->at[e->in[0]], e->s[0], out);
        return;
    case TN_CODE_PUT:
        if (t->data[e->array])
            tn_i_nest_put(e->size, c->gather + e->walk, t->at[e->in[0]], e->s[0], n, t->data[e->array]);
        return;
    case TN_CODE_IOTA: tn_i_walk_iota(&c->walk[e->walk], e->dtype, e->by, e->first, from, n, out); break;
    case TN_CODE_SPREAD:
        if (e->s[0])
            e->spread(t->at[e->in[0]], 1, rows, n / rows, out);
        else
            tn_i_repeat(e->size, t->at[e->in[0]], out, n);
        break;
    case TN_CODE_STORE:
        if (e->nin && t->data[e->array])
            tn_i_walk_store(&c->walk[e->walk], e->size, t->data[e->array], from, n, t->at[e->in[0]], e->s[0]);
        break;
    case TN_CODE_ROWS:
        if (e->fold)
            e->fold->rows(t->at[e->in[0]], rows, n / rows, out);
        else
            tn_i_arg_rows(&c->sink[e->sink], t->at[e->in[0]], rows, n / rows, out);
        break;
    case TN_CODE_SINK: {
        const tn_i_nest_sink *k = &c->sink[e->sink];
        tn_i_sink_run(c, k, t->scratch, t->all, t->data, t->at[e->in[0]], from, n, out);
        break;
    }
    }
    if (e->padded) pad(e, out, n);
}

static void run_section(const state *t, const tn_i_nest_section *part, int64_t from, int64_t n, int64_t rows) {
    const tn_i_nest_instr *e = t->code->instr + part->first, *end = t->code->instr + part->last;
    for (; e < end; e++) run_one(t, e, from, n, rows);
}

/* Addresses of what is read and written where it is, for a block that begins at `from`, element e of its row. */
static void follow(const state *t, int64_t from, int64_t e) {
    const tn_i_nest_code *c = t->code;
    for (uint32_t i = 0; i < c->nmoving; i++) {
        const tn_i_nest_value *v = &c->value[c->moving[i]];
        char *data = v->where == TN_VALUE_MEMORY ? t->data[v->array] : NULL;
        if (data)
            t->at[c->moving[i]] = data + tn_i_walk_offset(&c->walk[v->walk], from) * v->size;
        else
            t->at[c->moving[i]] = t->scratch + v->offset + (v->where == TN_VALUE_BUFFER ? e * v->size : 0);
    }
}

static void run_block(const state *t, int64_t row, int64_t rows) {
    const tn_i_nest_code *c = t->code;
    const int64_t length = t->nest->row, from = row * length;
    if (c->whole) follow(t, from, 0);
    run_section(t, &c->before, row, rows, rows);
    for (uint32_t p = 0; p < t->nest->nphase; p++) {
        if (c->whole)
            run_section(t, &c->elements[p], from, rows * length, rows);
        else
            for (int64_t e = 0; e < length; e += t->tile) {
                follow(t, from + e, e);
                run_section(t, &c->elements[p], from + e, length - e < t->tile ? length - e : t->tile, 1);
            }
        run_section(t, &c->row[p], row, rows, rows);
    }
}

/* Results that nobody wants have room for a tile. */
static int64_t tile_of(const tn_i_nest_code *c, char *const *data) {
    for (uint32_t i = 0; i < c->nmoving && c->reach > c->tile; i++)
        if (!data[c->value[c->moving[i]].array]) return c->tile;
    return c->reach > c->tile ? c->reach : c->tile;
}

static state enter(const tn_i_nest *nest, char *const *data, char *scratch, char *all) {
    const tn_i_nest_code *c = nest->code;
    const state t = {nest, c, data, scratch, all, (char **)(void *)scratch, tile_of(c, data)};
    for (uint32_t v = 0; v < c->nvalue; v++) t.at[v] = t.scratch + c->value[v].offset;
    memcpy(t.scratch + c->once_at, c->constant, (size_t)c->nonce * 8);
    for (uint32_t i = c->once.first; i < c->once.last; i++) {
        const bool whole = c->instr[i].lasting;
        run_one(&t, &c->instr[i], 0, whole ? c->block * nest->row : 1, whole ? c->block : 1);
    }
    return t;
}

static void run_rows(const state *t, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row += t->code->block) run_block(t, row, least(last - row, t->code->block));
}

/* ---- several threads ------------------------------------------------------------------------- */

/* Pieces first..last-1. */
static void run_pieces(const state *t, int64_t first, int64_t last) {
    const tn_i_nest_code *c = t->code;
    const int64_t unit = c->unit;
    if (t->nest->rows > 1) {
        run_rows(t, first * unit, least(last * unit, t->nest->rows));
        return;
    }
    const int64_t end = least(last * unit, t->nest->row);
    run_section(t, &c->before, 0, 1, 1);
    for (int64_t e = first * unit; e < end; e += t->tile) {
        follow(t, e, e);
        run_section(t, &c->elements[0], e, least(end - e, t->tile), 1);
    }
}

typedef struct threaded {
    const tn_i_nest *nest;
    char *const *data;
    char *scratch;
    state first; /* of thread 0, whose scratch is left for what follows */
} threaded;

static void run_thread(void *with, int thread, int64_t first, int64_t last) {
    threaded *k = with;
    const size_t each = ((const tn_i_nest_code *)k->nest->code)->each;
    const state mine = enter(k->nest, k->data, k->scratch + (size_t)thread * each, k->scratch);
    run_pieces(&mine, first, last);
    if (thread == 0) k->first = mine;
}

static void run_threads(const tn_i_nest *nest, char *const *data, char *scratch) {
    const tn_i_nest_code *c = nest->code;
    threaded k = {.nest = nest, .data = data, .scratch = scratch};
    tn_i_in_pieces(c->process, c->threads, c->pieces, run_thread, &k);
    const state *t = &k.first;
    for (uint32_t i = 0; i < c->nsink; i++) {
        const tn_i_nest_sink *q = &c->sink[i];
        if (q->leaves) tn_i_sink_join(c, q, t->scratch, scratch, data, q->out == TN_NOVAR ? NULL : t->at[q->out]);
    }
    if (nest->rows == 1) run_section(t, &c->row[0], 0, 1, 1);
}

static void run_parts(const tn_i_nest_code *c, char *const *data, void *scratch);

/* Whatever needs addresses of its own arrays. */
static void run_tiles(const tn_i_nest *nest, char *const *data, void *scratch) {
    const tn_i_nest_code *c = nest->code;
    if (c->nparts) {
        run_parts(c, data, scratch);
    } else if (c->numbers) {
        tn_i_tiny_run(c, data, scratch);
    } else if (c->threads > 1) {
        run_threads(nest, data, scratch);
    } else {
        const state t = enter(nest, data, scratch, scratch);
        run_rows(&t, 0, nest->rows);
    }
}

/* Whether it needs none but those that were listed for it. */
static bool run_listed(const tn_i_nest_code *c, char *const *data, void *scratch) {
    if (c->scalar) tn_i_scalar_run(c, data, scratch);
    return c->scalar;
}

static void run_parts(const tn_i_nest_code *c, char *const *data, void *scratch) {
    char *own[TN_NEST_ARRAYS];
    for (uint32_t k = 0; k < c->nparts; k++) {
        const tn_i_nest_part *p = &c->part[k];
        if (run_listed(p->nest.code, data, scratch)) continue;
        for (uint32_t i = 0; i < p->nest.narray; i++) {
            char *at = data[p->move[i].array];
            own[i] = at ? at + p->move[i].bytes : NULL;
        }
        run_tiles(&p->nest, own, scratch);
    }
}

void tn_i_nest_execute(const tn_i_nest *nest, char *const *data, void *scratch) {
    if (!run_listed(nest->code, data, scratch)) run_tiles(nest, data, scratch);
    if (nest->nspot) tn_i_nest_put_spots(nest, data);
}

/* Entry 0 of the table is the scratch memory meanwhile (lower/lower.h). */
tn_status tn_i_run_made(const tn_i_made *m, uintptr_t *base, uintptr_t scratch) {
    base[TN_BASE_ABSOLUTE] = scratch;
    const tn_status status = m->code(m->run, (char *const *)(void *)base);
    base[TN_BASE_ABSOLUTE] = 0;
    return status;
}

tn_status tn_i_run_nest(const tn_i_step *s, uintptr_t *base) {
    const tn_i_nest *nest = s->u.nest;
    const uintptr_t scratch = base[TN_BASE_ARENA] + (uintptr_t)s->scratch;
    if (tn_i_made_for(&nest->made, base)) return tn_i_run_made(&nest->made, base, scratch);
    char *data[TN_NEST_ARRAYS];
    for (uint32_t i = 0; i < nest->narray; i++) {
        const tn_i_nest_array *a = &nest->array[i];
        data[i] = base[a->base] || a->base == TN_BASE_ABSOLUTE ? (char *)(base[a->base] + (uintptr_t)a->at) : NULL;
    }
    tn_i_nest_execute(nest, data, (void *)scratch);
    return TN_OK;
}
