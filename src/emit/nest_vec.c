/* A nest as C: loops over rows and over vectors of their elements.
 *
 * Whole vectors first, then what is left of a row with the lanes that are there, by the same functions: bits do not
 * depend on where an element lies.  Numbers and what a row has one of are computed as numbers (numbers.c) and spread
 * over vectors where elements read them. */
#include "emit/nest_emit.h"
#include "emit/steps_emit.h"
#include "exec/nest_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { STACK_BYTES = 64 << 10, PIECES = 16, LONG = 48 };

/* ---- what is known before a line is written ----------------------------------------- */

static void choose_lanes(tn_i_nest_writer *w) {
    w->width = 4;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const int dtype = w->n->op[i].dtype;
        if (w->n->op[i].kind != TN_NEST_STORE && tn_i_dtype_size(dtype) == 8) w->width = 8;
    }
    w->lanes = w->m->bytes / w->width;
    w->m->lanes |= 1u << w->lanes;
}

static int mask_of(const tn_i_nest_writer *w, const tn_i_nest_op *o) {
    if (o->kind != TN_NEST_MAP) return w->width;
    for (uint32_t i = 0; i < o->nin; i++)
        if (w->n->op[o->in[i]].dtype != TN_BOOL) return (int)tn_i_dtype_size(w->n->op[o->in[i]].dtype);
    return o->nin ? w->mask[o->in[0]] : w->width;
}

static void look_at_readers(tn_i_nest_writer *w) {
    const tn_i_nest *n = w->n;
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        w->mask[i] = (uint8_t)mask_of(w, o);
        for (uint32_t k = 0; k < o->nin; k++) {
            const tn_i_nest_op *from = &n->op[o->in[k]];
            const bool element = from->level == TN_NEST_ELEMENT && from->kind != TN_NEST_REDUCE;
            if (tn_i_of_elements(w, o) && !element) w->spread[o->in[k]] = true;
            if (tn_i_of_elements(w, o) && element && from->phase < o->phase) w->carried[o->in[k]] = true;
        }
    }
    for (uint32_t k = 0; k < n->narray; k++)
        if (n->array[k].boxed) w->spread[n->array[k].fill] = true;
}

/* Only what the text can do: a function or strip for each body. */
static bool find_bodies(tn_i_nest_writer *w) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->kind != TN_NEST_MAP) continue;
        tn_i_body_text b;
        if (o->nin > 3) return tn_i_module_refuse(w->m, TN_I_MANY_OPERANDS);
        tn_i_body_of(w->m, w->n, o, &b);
        const bool calls_strip = b.kind == TN_BODY_STRIP || (!b.scalar && !b.function);
        if (calls_strip && !b.strip) return tn_i_module_refuse(w->m, TN_I_NO_BODY);
        w->function[i] = b.function != NULL;
        if (b.function)
            w->address[i] = tn_i_module_address(w->m, b.function);
        else if (calls_strip)
            w->address[i] = tn_i_module_address(w->m, (const void *)(uintptr_t)b.strip);
    }
    return true;
}

static size_t buffer_bytes(const tn_i_nest_writer *w, uint32_t op) {
    return ((size_t)w->n->row + 16) * tn_i_dtype_size(w->n->op[op].dtype) + 64;
}

static bool plan_buffers(tn_i_nest_writer *w) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (w->carried[i]) bytes += (buffer_bytes(w, i) + 63) & ~(size_t)63;
    w->needs = w->buffers + (bytes <= STACK_BYTES ? 0 : bytes);
    if (bytes <= STACK_BYTES) w->buffers = SIZE_MAX;
    return w->needs <= w->n->scratch || tn_i_module_refuse(w->m, TN_I_BUFFERS);
}

/* ---- addresses --------------------------------------------------------------------------- */

const tn_i_place *tn_i_array_place(const tn_i_nest_writer *w, uint32_t array) {
    const tn_i_eqn *e = &w->p->f->eqn[w->s->eqn];
    const uint32_t arg = w->n->array[array].arg;
    return &w->p->place[arg < w->n->nin ? tn_i_in(w->p->f, e)[arg] : e->out + (arg - w->n->nin)];
}

void tn_i_emit_guard(tn_i_nest_writer *w, uint32_t array) {
    if (w->registers) return;
    const tn_i_place *k = tn_i_array_place(w, array);
    if (k->base >= TN_BASE_ARGUMENTS + w->p->f->nin) tn_i_text_put(w->t, "if (want%u) ", (unsigned)array);
}

static void declare_arrays(tn_i_nest_writer *w) {
    for (uint32_t k = 0; k < w->n->narray; k++) {
        const tn_i_nest_array *a = &w->n->array[k];
        const tn_i_place *at = tn_i_array_place(w, k);
        const int64_t offset = at->offset + a->offset * (int64_t)tn_i_dtype_size(a->dtype);
        if (at->base == TN_BASE_ABSOLUTE)
            tn_i_text_put(w->t, "char *const p%u = (char *)T[%u];\n", (unsigned)k,
                          (unsigned)tn_i_module_address(w->m, (const void *)(uintptr_t)offset));
        else
            tn_i_text_put(w->t, "char *const p%u = (char *)(F[%u] + (uintptr_t)INT64_C(%" PRId64 "));\n", (unsigned)k,
                          (unsigned)at->base, offset);
        tn_i_text_put(w->t, "char *const q%u = p%u;\n", (unsigned)k, (unsigned)k);
        if (a->boxed) tn_i_text_put(w->t, "const int in%u = 1;\n", (unsigned)k); /* of loads ahead of all loops */
        if (at->base >= TN_BASE_ARGUMENTS + w->p->f->nin)
            tn_i_text_put(w->t, "const int want%u = F[%u] != 0;\n", (unsigned)k, (unsigned)at->base);
    }
}

static void declare_functions(tn_i_nest_writer *w) {
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (!w->address[i]) continue;
        tn_i_body_text b;
        tn_i_body_of(w->m, w->n, o, &b);
        if (b.function) {
            const char *type = tn_i_c_type(o->dtype);
            w->m->lanes |= 1u << b.lanes;
            tn_i_text_put(w->t, "typedef %sx%d t_f%u(%sx%d%s", type, b.lanes, (unsigned)i, type, b.lanes,
                          o->nin > 1 ? ", " : "");
            if (o->nin > 1) tn_i_text_put(w->t, "%sx%d", type, b.lanes);
            tn_i_text_put(w->t, "); t_f%u *const fn%u = (t_f%u *)T[%u];\n", (unsigned)i, (unsigned)i, (unsigned)i,
                          (unsigned)w->address[i]);
        } else
            tn_i_text_put(w->t, "strip_fn *const fn%u = (strip_fn *)T[%u];\n", (unsigned)i, (unsigned)w->address[i]);
    }
}

static void declare_buffers(tn_i_nest_writer *w) {
    size_t at = w->buffers;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (!w->carried[i]) continue;
        const char *type = tn_i_c_type(w->n->op[i].dtype);
        if (w->buffers == SIZE_MAX)
            tn_i_text_put(w->t, "%s r%u[%" PRId64 "] __attribute__((aligned(64)));\n", type, (unsigned)i,
                          w->n->row + 16);
        else
            tn_i_text_put(w->t, "%s *const r%u = (%s *)(S + %zu);\n", type, (unsigned)i, type, at);
        at += (buffer_bytes(w, i) + 63) & ~(size_t)63;
    }
}

void tn_i_emit_flat(tn_i_nest_writer *w, uint32_t first, uint32_t end) {
    for (uint32_t d = first; d + 1 < end; d++) tn_i_text_put(w->t, "(");
    tn_i_text_put(w->t, first < end ? "i%u" : "0", (unsigned)first);
    for (uint32_t d = first + 1; d < end; d++)
        tn_i_text_put(w->t, " * INT64_C(%" PRId64 ") + i%u)", w->n->size[d], (unsigned)d);
}

void tn_i_move_arrays(tn_i_nest_writer *w, uint32_t loops) {
    for (uint32_t k = 0; k < w->n->narray; k++) {
        const tn_i_nest_array *a = &w->n->array[k];
        tn_i_text_put(w->t, "char *const q%u = p%u + (0", (unsigned)k, (unsigned)k);
        for (uint32_t d = 0; d < loops; d++)
            if (a->stride[d])
                tn_i_text_put(w->t, " + i%u * INT64_C(%" PRId64 ")", (unsigned)d,
                              a->stride[d] * (int64_t)tn_i_dtype_size(a->dtype));
        tn_i_text_put(w->t, ");\n");
        if (!a->boxed) continue;
        tn_i_text_put(w->t, "const int in%u = 1", (unsigned)k);
        for (uint32_t d = 0; d < loops; d++)
            if (a->lo[d] > 0 || a->hi[d] < w->n->size[d])
                tn_i_text_put(w->t, " && i%u >= INT64_C(%" PRId64 ") && i%u < INT64_C(%" PRId64 ")", (unsigned)d,
                              a->lo[d], (unsigned)d, a->hi[d]);
        tn_i_text_put(w->t, ";\n");
    }
}

static void open_loops(tn_i_nest_writer *w, uint32_t first, uint32_t end) {
    for (uint32_t d = first; d < end; d++)
        if (d == 0 && w->cut)
            tn_i_text_put(w->t, "for (int64_t i0 = from; i0 < to; i0++) {\n");
        else
            tn_i_text_put(w->t, "for (int64_t i%u = 0; i%u < INT64_C(%" PRId64 "); i%u++) {\n", (unsigned)d,
                          (unsigned)d, w->n->size[d], (unsigned)d);
}

static void close_loops(tn_i_nest_writer *w, uint32_t first, uint32_t end) {
    for (uint32_t d = end; d-- > first;) {
        tn_i_sums_leave_loop(w, d);
        tn_i_text_put(w->t, "}\n");
    }
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool hoisted(const tn_i_nest_op *o) {
    return o->kind == TN_NEST_NUMBER ||
           (o->level == TN_NEST_ONCE && (o->before || o->kind == TN_NEST_LOAD) && o->kind != TN_NEST_REDUCE);
}

static void one_number(tn_i_nest_writer *w, uint32_t op) {
    tn_i_emit_scalar(w, op);
    if (w->n->op[op].kind != TN_NEST_REDUCE && w->n->op[op].kind != TN_NEST_STORE) tn_i_emit_spread(w, op);
}

static void once(tn_i_nest_writer *w) {
    for (uint32_t i = 0; i < w->n->nop; i++)
        if (hoisted(&w->n->op[i])) one_number(w, i);
}

static void numbers_of_row(tn_i_nest_writer *w, uint32_t phase, bool before) {
    if (!before) tn_i_sums_enter(w, phase, true);
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (hoisted(o) || tn_i_of_elements(w, o) || o->phase != phase || o->before != before) continue;
        one_number(w, i);
    }
}

/* ---- elements --------------------------------------------------------------------------------- */

static bool count_elements(const tn_i_nest_writer *w, uint32_t phase, bool *lanes) {
    bool some = false;
    *lanes = false;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->phase != phase || !tn_i_of_elements(w, o)) continue;
        *lanes |= o->kind == TN_NEST_REDUCE && w->sum[i].kind == TN_SUM_LANES;
        some = true;
    }
    return some;
}

/* The most vectors of elements that are alive at once in a phase. */
static uint32_t alive_at_once(const tn_i_nest_writer *w, uint32_t phase, bool *calls) {
    uint32_t alive = 0, most = 0, ends[TN_NEST_OPS] = {0}, last[TN_NEST_OPS] = {0};
    for (uint32_t i = 0; i < w->n->nop; i++)
        for (uint32_t k = 0; k < w->n->op[i].nin; k++)
            if (w->n->op[i].phase == phase) last[w->n->op[i].in[k]] = i;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->phase != phase || o->level != TN_NEST_ELEMENT) continue;
        *calls |= w->address[i] != 0;
        if (o->kind == TN_NEST_STORE || o->kind == TN_NEST_REDUCE) continue;
        ends[last[i] > i ? last[i] : i]++;
        if (++alive > most) most = alive;
        alive -= ends[i];
    }
    return most;
}

/* As many as keep the processor busy and fit its registers; lanes of sums come by sixteen elements.  A call needs all
 * registers, but while one function waits for its last result the next vector's call is worked on. */
static int vectors_at_once(const tn_i_nest_writer *w, uint32_t phase, bool lanes) {
    bool calls = false;
    const uint32_t most = alive_at_once(w, phase, &calls), registers = w->m->bytes == 64 ? 28 : 14;
    int n = most * 4 <= registers ? 4 : most * 2 <= registers ? 2 : 1;
    if (calls) n = tn_i_calls_functions(w, phase) ? 2 : 1;
    if (w->n->nop > LONG) n = n > 2 ? 2 : n; /* there is enough to do, and compiling takes time */
    if (w->n->nop > 4 * LONG) n = 1;
    const int least = lanes ? TN_LANES / w->lanes : 1;
    while (n > 1 && w->inner < (int64_t)n * w->lanes) n /= 2;
    return n < least ? least : n;
}

/* The end of the part that begins at `from`, in which no box of the phase begins or ends. */
static int64_t next_cut(const tn_i_nest *n, uint32_t phase, int64_t from) {
    const uint32_t d = n->nloop - 1;
    int64_t next = n->size[d];
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->kind != TN_NEST_LOAD || o->level != TN_NEST_ELEMENT || o->phase != phase) continue;
        const tn_i_nest_array *a = &n->array[o->array];
        if (a->boxed && a->lo[d] > from && a->lo[d] < next) next = a->lo[d];
        if (a->boxed && a->hi[d] > from && a->hi[d] < next) next = a->hi[d];
    }
    return next;
}

bool tn_i_has_boxes(const tn_i_nest *n, uint32_t phase) {
    for (uint32_t i = 0; i < n->nop; i++)
        if (n->op[i].kind == TN_NEST_LOAD && n->op[i].level == TN_NEST_ELEMENT && n->op[i].phase == phase &&
            n->array[n->op[i].array].boxed)
            return true;
    return false;
}

/* The longest part of the innermost loop in which no box begins or ends, in whole steps; false: it is little. */
static bool find_plain(tn_i_nest_writer *w, uint32_t phase, int64_t step) {
    enum { LITTLE = 4 };
    w->plain_lo = w->plain_hi = 0;
    if (!tn_i_has_boxes(w->n, phase)) return false;
    for (int64_t lo = 0, hi; lo < w->inner; lo = hi) {
        hi = next_cut(w->n, phase, lo);
        if (hi - lo > w->plain_hi - w->plain_lo) w->plain_lo = lo, w->plain_hi = hi;
    }
    w->plain_lo = (w->plain_lo + step - 1) / step * step;
    w->plain_hi = w->plain_hi / step * step;
    return w->plain_hi - w->plain_lo >= LITTLE * step;
}

static void plain_loop(tn_i_nest_writer *w, uint32_t phase, const char *to, int vectors, const tn_i_piece *k) {
    tn_i_text_put(w->t, "if (i >= INT64_C(%" PRId64 ") && i < INT64_C(%" PRId64 ")) {\n", w->plain_lo, w->plain_hi);
    tn_i_text_put(w->t, "const int64_t stop = %s < INT64_C(%" PRId64 ") ? %s : INT64_C(%" PRId64 ");\n", to,
                  w->plain_hi, to, w->plain_hi);
    tn_i_text_put(w->t, "for (; i < stop; i += %d) {\n", vectors * w->lanes);
    w->plain = true;
    tn_i_emit_pieces(w, phase, vectors, k);
    w->plain = false;
    tn_i_text_put(w->t, "}\ncontinue;\n}\n");
}

void tn_i_emit_vectors(tn_i_nest_writer *w, uint32_t phase, const char *from, const char *to, int vectors) {
    tn_i_piece k[PIECES];
    const int step = (w->leaf.vectors ? w->leaf.vectors : vectors) * w->lanes;
    for (int u = 0; u < vectors; u++) k[u] = (tn_i_piece){.count = w->lanes};
    tn_i_text_put(w->t, "for (int64_t i = %s; i < %s;) {\n", from, to);
    if (find_plain(w, phase, vectors * w->lanes)) plain_loop(w, phase, to, vectors, k);
    tn_i_emit_pieces(w, phase, vectors, k);
    tn_i_text_put(w->t, "i += %d;\n}\n", step);
}

/* Few steps in front of the plain part and behind it stand by themselves: where they are is known, so that nothing is
 * left to ask there about boxes. */
static bool ends_are_few(tn_i_nest_writer *w, uint32_t phase, int64_t step, int64_t whole) {
    enum { FEW = 2 };
    return find_plain(w, phase, step) && w->plain_hi <= whole && (w->plain_lo + whole - w->plain_hi) / step <= FEW;
}

static void steps_alone(tn_i_nest_writer *w, uint32_t phase, int64_t from, int64_t to, int vectors,
                        const tn_i_piece *k) {
    for (int64_t i = from; i < to; i += (int64_t)vectors * w->lanes) {
        tn_i_text_put(w->t, "{ const int64_t i = INT64_C(%" PRId64 ");\n", i);
        tn_i_emit_pieces(w, phase, vectors, k);
        tn_i_text_put(w->t, "}\n");
    }
}

static void plain_between(tn_i_nest_writer *w, uint32_t phase, int64_t whole, int vectors) {
    tn_i_piece k[PIECES];
    for (int u = 0; u < vectors; u++) k[u] = (tn_i_piece){.count = w->lanes};
    steps_alone(w, phase, 0, w->plain_lo, vectors, k);
    const bool behind = tn_i_find_behind(w, phase);
    tn_i_text_put(w->t, "{\n");
    if (behind) tn_i_behind_begin(w);
    tn_i_text_put(w->t, "for (int64_t i = INT64_C(%" PRId64 "); i < INT64_C(%" PRId64 "); i += %d) {\n", w->plain_lo,
                  w->plain_hi, vectors * w->lanes);
    w->plain = true;
    w->behind.on = behind;
    tn_i_emit_pieces(w, phase, vectors, k);
    w->plain = w->behind.on = false;
    if (behind) tn_i_behind_next(w, vectors);
    tn_i_text_put(w->t, "}\n}\n");
    steps_alone(w, phase, w->plain_hi, whole, vectors, k);
}

void tn_i_emit_last(tn_i_nest_writer *w, uint32_t phase, int64_t from) {
    tn_i_piece k[PIECES];
    int n = 0;
    for (int64_t left = w->inner - from; left > 0; left -= w->lanes)
        k[n++] = (tn_i_piece){.count = left < w->lanes ? left : w->lanes};
    tn_i_text_put(w->t, "{ const int64_t i = INT64_C(%" PRId64 ");\n", from);
    tn_i_emit_pieces(w, phase, n, k);
    tn_i_text_put(w->t, "}\n");
}

/* What is left behind the whole vectors: of the last piece, where there are pieces. */
static void rest(tn_i_nest_writer *w, uint32_t phase, int64_t whole, bool pieces) {
    if (whole >= w->inner) return;
    if (pieces) tn_i_text_put(w->t, "if (to == INT64_C(%" PRId64 "))\n", w->inner);
    tn_i_emit_last(w, phase, whole);
}

static void innermost(tn_i_nest_writer *w, uint32_t phase, int vectors) {
    const int64_t step = (int64_t)vectors * w->lanes, whole = w->inner / step * step;
    const bool pieces = w->cut && w->n->nloop == 1;
    char begin[32], end[96];
    (void)snprintf(begin, sizeof begin, pieces ? "from" : w->n->upper ? "i0 / %d * %d" : "0", w->lanes, w->lanes);
    (void)snprintf(end, sizeof end, "INT64_C(%" PRId64 ")", whole);
    if (pieces)
        (void)snprintf(end, sizeof end, "(to < INT64_C(%" PRId64 ") ? to : INT64_C(%" PRId64 "))", whole, whole);
    if (!tn_i_has_leaf(w, phase)) {
        tn_i_sums_begin_leaf(w, phase, 1);
        if (whole && !pieces && !w->n->upper && ends_are_few(w, phase, step, whole))
            plain_between(w, phase, whole, vectors);
        else if (whole) {
            tn_i_text_put(w->t, "{\n");
            tn_i_emit_vectors(w, phase, begin, end, vectors);
            tn_i_text_put(w->t, "}\n");
        }
        rest(w, phase, whole, pieces);
        tn_i_sums_end_leaf(w, phase, NULL);
        return;
    }
    tn_i_emit_leaves(w, phase, vectors, whole, pieces);
}

/* As open_loops, behind what goes through rows as one. */
static void open_flat_rows(tn_i_nest_writer *w) {
    const uint32_t d = w->n->nloop - 2;
    open_loops(w, w->n->nouter, d);
    tn_i_emit_flat_rows(w);
    tn_i_text_put(w->t, "for (int64_t i%u = done; i%u < INT64_C(%" PRId64 "); i%u++) {\n", (unsigned)d, (unsigned)d,
                  w->n->size[d], (unsigned)d);
}

static void elements(tn_i_nest_writer *w, uint32_t phase) {
    const tn_i_nest *n = w->n;
    bool lanes;
    const bool some = count_elements(w, phase, &lanes);
    tn_i_sums_begin_row(w, phase);
    if (some) {
        const int vectors = w->n->upper ? 1 : vectors_at_once(w, phase, lanes);
        tn_i_text_put(w->t, "{\n");
        if (tn_i_rows_are_flat(w))
            open_flat_rows(w);
        else
            open_loops(w, n->nouter, n->nloop - 1);
        tn_i_move_arrays(w, n->nloop - 1);
        tn_i_text_put(w->t, "const int64_t e = ");
        tn_i_emit_flat(w, n->nouter, n->nloop - 1);
        tn_i_text_put(w->t, " * INT64_C(%" PRId64 "); (void)e;\n", w->inner);
        tn_i_sums_enter(w, phase, false);
        tn_i_emit_stays(w, phase);
        if (!n->upper && tn_i_aligns_rows(w))
            tn_i_emit_aligned(w);
        else
            innermost(w, phase, vectors);
        close_loops(w, n->nouter, n->nloop - 1);
        tn_i_text_put(w->t, "}\n");
    }
    tn_i_sums_end_row(w, phase);
}

/* ---- nests ------------------------------------------------------------------------------------- */

/* What is done with the sums of the only row waits for all pieces. */
static void write_rows(tn_i_nest_writer *w) {
    const bool waits = w->cut && w->n->rows == 1;
    open_loops(w, 0, w->n->nouter);
    tn_i_text_put(w->t, "{\n");
    tn_i_move_arrays(w, w->n->nouter);
    numbers_of_row(w, 0, true);
    for (uint32_t phase = 0; phase < w->n->nphase; phase++) {
        elements(w, phase);
        if (!waits) numbers_of_row(w, phase, false);
    }
    tn_i_text_put(w->t, "}\n");
    close_loops(w, 0, w->n->nouter);
}

static bool begin(tn_i_nest_writer *w, tn_i_module *m, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n) {
    *w = (tn_i_nest_writer){.m = m, .t = &m->text, .n = n, .p = p, .s = s, .numbers = n->nloop == 0};
    for (uint32_t k = 0; k < n->nop; k++)
        if (n->op[k].dtype == TN_U32) return tn_i_module_refuse(m, TN_I_UNSIGNED);
    if (n->nloop && n->nouter >= n->nloop) return tn_i_module_refuse(m, TN_I_ROWS_INSIDE);
    for (uint32_t k = 0; k < n->narray; k++)
        if (n->array[k].boxed && w->numbers) return tn_i_module_refuse(m, TN_I_PADDED_NUMBERS);
    w->inner = w->numbers ? 1 : n->size[n->nloop - 1];
    choose_lanes(w);
    look_at_readers(w);
    if (!find_bodies(w) || !tn_i_sum_plan(w) || !plan_buffers(w)) return false;
    tn_i_parts_plan(w);
    tn_i_blocks_plan(w);
    return true;
}

bool tn_i_nest_fits(tn_i_module *m, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n) {
    tn_i_nest_writer w;
    return begin(&w, m, p, s, n);
}

void tn_i_emit_nest_inline(tn_i_module *m, tn_i_registers *g, const tn_i_plan *p, const tn_i_step *s,
                           const tn_i_nest *n) {
    tn_i_nest_writer w;
    if (!begin(&w, m, p, s, n)) return; /* fits, who calls this knows */
    w.registers = g;
    tn_i_text_put(w.t, "{\n");
    declare_functions(&w);
    tn_i_emit_numbers(&w);
    tn_i_text_put(w.t, "}\n");
}

/* An element of an array of numbers. */
void tn_i_emit_element(tn_i_nest_writer *w, uint32_t array) {
    const tn_i_nest_array *a = &w->n->array[array];
    const tn_i_place *k = tn_i_array_place(w, array);
    if (w->registers)
        tn_i_emit_element_at(w->registers, k->base, k->offset + a->offset * (int64_t)tn_i_dtype_size(a->dtype),
                             a->dtype);
    else
        tn_i_text_put(w->t, "*(%s *)q%u", tn_i_c_type(a->dtype), (unsigned)array);
}

/* An element of an array, by the variables of all loops but the innermost. */
static void put_of_row(tn_i_nest_writer *w, uint32_t array, const char *innermost) {
    const tn_i_nest_array *a = &w->n->array[array];
    tn_i_text_put(w->t, "((%s *)p%u)[0", tn_i_c_type(a->dtype), (unsigned)array);
    for (uint32_t d = 0; d + 1 < w->n->nloop; d++)
        if (a->stride[d]) tn_i_text_put(w->t, " + i%u * INT64_C(%" PRId64 ")", (unsigned)d, a->stride[d]);
    if (innermost) tn_i_text_put(w->t, " + %s * INT64_C(%" PRId64 ")", innermost, a->stride[w->n->nloop - 1]);
    tn_i_text_put(w->t, "]");
}

/* As tn_i_nest_put_spots. */
static void write_spots(tn_i_nest_writer *w) {
    for (uint32_t k = 0; k < w->n->nspot; k++) {
        const tn_i_nest_spot *s = &w->n->spot[k];
        tn_i_emit_guard(w, s->store);
        tn_i_text_put(w->t, "{\n");
        for (uint32_t d = 0; d + 1 < w->n->nloop; d++)
            tn_i_text_put(w->t, "for (int64_t i%u = 0; i%u < INT64_C(%" PRId64 "); i%u++) {\n", (unsigned)d,
                          (unsigned)d, w->n->size[d], (unsigned)d);
        tn_i_text_put(w->t, "const int64_t j = ");
        put_of_row(w, s->column, NULL);
        tn_i_text_put(w->t, ";\nif (j >= 0 && j < INT64_C(%" PRId64 ")) ", w->inner);
        put_of_row(w, s->store, "j");
        tn_i_text_put(w->t, " = ");
        put_of_row(w, s->value, NULL);
        tn_i_text_put(w->t, ";\n");
        for (uint32_t d = 0; d + 1 < w->n->nloop; d++) tn_i_text_put(w->t, "}\n");
        tn_i_text_put(w->t, "}\n");
    }
}

/* Pieces first .. last-1 of a nest that threads share. */
static void write_pieces(tn_i_nest_writer *w, uint32_t id) {
    const int64_t all = w->n->rows > 1 ? w->n->rows : w->n->row;
    tn_i_text_put(w->t,
                  "static void nest%u_part(const void *const *T, const uintptr_t *F, int64_t first, int64_t last, "
                  "uintptr_t S, uintptr_t all) {\n",
                  (unsigned)id);
    declare_arrays(w);
    declare_functions(w);
    declare_buffers(w);
    once(w);
    tn_i_text_put(w->t,
                  "for (int64_t piece = first; piece < last; piece++) {\nconst int64_t from = piece * INT64_C(%" PRId64
                  "), next = from + INT64_C(%" PRId64 "), to = next < INT64_C(%" PRId64 ") ? next : INT64_C(%" PRId64
                  ");\n",
                  w->cut->unit, w->cut->unit, all, all);
    tn_i_sums_declare(w);
    write_rows(w);
    tn_i_sums_end_piece(w);
    tn_i_text_put(w->t, "}\n(void)T, (void)F, (void)S, (void)all;\n}\n");
}

/* All pieces have run, and their parts are joined: what follows from the sums of the only row. */
static void write_end(tn_i_nest_writer *w) {
    once(w);
    tn_i_text_put(w->t, "{\n");
    tn_i_move_arrays(w, 0);
    numbers_of_row(w, 0, true);
    for (uint32_t i = 0; i < w->n->nop; i++) {
        if (!tn_i_in_parts(w, i)) continue;
        tn_i_text_put(w->t, "const %s s%u = *sum%u;\n", tn_i_sum_type(w, i), (unsigned)i, (unsigned)i);
        tn_i_emit_spread(w, i);
    }
    numbers_of_row(w, 0, false);
    tn_i_text_put(w->t, "}\n");
}

static void write_whole(tn_i_nest_writer *w) {
    declare_buffers(w);
    tn_i_sums_declare(w);
    once(w);
    write_rows(w);
}

static void write_joined(tn_i_nest_writer *w, uint32_t id) {
    tn_i_parts_run(w, id);
    tn_i_parts_join(w);
    if (w->n->rows == 1) write_end(w);
}

/* What only makes one output makes nothing where that is left out: so no store has to ask.  One row asks in its stores:
 * asked ahead of them, gcc makes worse loops of the steps of a loop around them (Burgers: 0.75 of C became 1.0). */
static void leave_unwanted(tn_i_nest_writer *w) {
    uint32_t only = TN_NOVAR;
    for (uint32_t i = 0; i < w->n->nop; i++) {
        const tn_i_nest_op *o = &w->n->op[i];
        if (o->kind != TN_NEST_STORE) continue;
        if (only != TN_NOVAR && only != o->array) return;
        only = o->array;
    }
    if (w->n->rows == 1) return;
    if (only == TN_NOVAR || tn_i_array_place(w, only)->base < TN_BASE_ARGUMENTS + w->p->f->nin) return;
    tn_i_text_put(w->t, "if (!want%u) return;\n", (unsigned)only);
}

bool tn_i_emit_nest(tn_i_module *m, uint32_t id, const tn_i_plan *p, const tn_i_step *s, const tn_i_nest *n) {
    tn_i_nest_writer w;
    if (!begin(&w, m, p, s, n)) return false;
    if (w.cut) write_pieces(&w, id);
    tn_i_text_put(w.t, "static void nest%u(const void *const *T, const uintptr_t *F) {\n", (unsigned)id);
    tn_i_text_put(w.t, "const uintptr_t S = F[1] + %" PRId64 "ll;\n", s->scratch);
    declare_arrays(&w);
    leave_unwanted(&w);
    declare_functions(&w);
    if (w.numbers)
        tn_i_emit_numbers(&w);
    else {
        if (w.cut)
            write_joined(&w, id);
        else
            write_whole(&w);
        tn_i_sums_end(&w);
        write_spots(&w);
    }
    tn_i_text_put(w.t, "(void)T, (void)F, (void)S;\n}\n");
    return true;
}
