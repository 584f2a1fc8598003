/* Memory of a nest while it runs, which is planned before it is known where its arrays are: what its loop program keeps
 * in memory, rows that a later phase reads and what passes make of reductions, or the registers of strips (strips/
 * strips.h).  It is the same for all that may run it, and for all processors. */
#include "base/machine.h"
#include "plan/nest.h"
#include "base/parallel.h"
#include "strips/strips.h"

#include <string.h>

/* Elements from which threads are worth waking; numbers beside those of a nest's operations and loops. */
enum { NUMBERS = 4, ALIGN = 64 };

typedef struct room {
    const tn_i_nest *n;
    size_t rows, code, sums,
        registers; /* bytes: rows that wait; what passes make of sums for code, and what strips have */
    bool overflow;
} room;

static void add(room *z, size_t *bytes, int64_t n, size_t size) {
    size_t more;
    z->overflow |= n < 0 || !tn_i_mul((size_t)n, size, &more) || !tn_i_add(more, ALIGN - 1, &more);
    if (!z->overflow) z->overflow = !tn_i_add(*bytes, more - more % ALIGN, bytes);
}

/* ---- reductions ---- */

/* Rows may be computed many at a time (pass/vectorize_outer.c). */
static bool short_rows(const tn_i_nest *n) {
    bool are = n->rows > 1;
    for (uint32_t l = n->nouter; l < n->nloop; l++) are &= n->size[l] < TN_M_STRIP_LANES;
    return are;
}

static uint32_t inner_loops(const tn_i_nest *n) { return ((1u << n->nloop) - 1) & ~((1u << n->nouter) - 1); }

/* A sum of what is computed once a row. */
static bool of_rows(const tn_i_nest *n, const tn_i_nest_op *o) {
    return o->kind == TN_NEST_REDUCE && n->nouter && o->over && !(o->over & inner_loops(n)) &&
           o->level != TN_NEST_ELEMENT;
}

/* How many results a REDUCE has at once, and of how many elements each. */
static void extent(const room *z, const tn_i_nest_op *o, int64_t *kept, int64_t *elements) {
    const tn_i_nest *n = z->n;
    const uint32_t loops = o->level == TN_NEST_ELEMENT || o->over & inner_loops(n) ? n->nloop : n->nouter;
    uint32_t first = 0;
    *kept = *elements = 1;
    if (!o->over) return; /* over loops of size 1 */
    while (!(o->over >> first & 1)) first++;
    for (uint32_t l = first; l < loops; l++) /* no more than the elements of the nest, which are counted */
        *(o->over >> l & 1 ? elements : kept) *= n->size[l];
}

static bool several(uint32_t mask) { return mask & (mask - 1); }

/* Passes: lanes side by side and the counter (pass/sums.c), or a buffer of leaves, of one result after the other
 * (pass/interchange.c); where there are several sums, elements that wait for their own loop (pass/fission.c). */
static void count_code(room *z, const tn_i_nest_op *o, int64_t kept, int64_t n, bool alone) {
    const tn_i_nest *nest = z->n;
    const size_t size = tn_i_dtype_size(o->dtype);
    const int64_t all = nest->rows * nest->row, leaves = n / TN_LEAF;
    if (o->fold >= TN_FOLD_ARGMAX) add(z, &z->code, kept > TN_LANES ? kept : TN_LANES, 2 * sizeof(int64_t));
    if (kept > 1) add(z, &z->code, kept, (size_t)(n < TN_LANES ? n : TN_LANES) * size);
    if (kept > 1) add(z, &z->code, kept, size);
    if (leaves) add(z, &z->code, kept, (size_t)tn_i_strips_levels(n) * size);
    if (several(o->over) || (kept == 1 && !alone)) add(z, &z->code, n < 2 * TN_LEAF ? n : 2 * TN_LEAF, size);
    if (alone || !(o->over & ~inner_loops(nest))) return;
    const int64_t row = of_rows(nest, o) ? nest->size[nest->nouter - 1] : nest->row;
    add(z, &z->code, row < TN_WAITING ? row : TN_WAITING, size);
    if (kept == 1) add(z, &z->code, all < 2 * TN_LEAF ? all : 2 * TN_LEAF, size);
}

static void count_sum(room *z, const tn_i_nest_op *o, bool alone) {
    int64_t kept, n;
    size_t strips = 0;
    extent(z, o, &kept, &n);
    count_code(z, o, kept, n, alone);
    if (short_rows(z->n) && o->over == inner_loops(z->n)) kept = TN_M_STRIP_LANES;
    z->overflow |= !tn_i_strips_sum_bytes(kept, n, o->fold, o->dtype, &strips);
    add(z, &z->sums, 1, strips);
}

/* Totals of rows that wait for functions, or to be summed (pass/rows.c). */
static void count_rows(room *z) {
    const tn_i_nest *n = z->n;
    bool functions = false;
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        functions |= o->level == TN_NEST_ROW && o->kind == TN_NEST_MAP && o->eqn->prim->vector[o->dtype];
        functions |= of_rows(n, o);
    }
    for (uint32_t i = 0; i < n->nop && functions && n->nouter; i++) {
        const tn_i_nest_op *o = &n->op[i];
        const int64_t last = n->size[n->nouter - 1];
        const size_t size = o->fold >= TN_FOLD_ARGMAX ? sizeof(int64_t) : tn_i_dtype_size(o->dtype);
        if (o->kind == TN_NEST_REDUCE) add(z, &z->code, last < TN_WAITING ? last : TN_WAITING, size);
    }
}

/* ---- registers ---- */

/* A load that is read where it is. */
static bool in_place(const tn_i_nest *n, const tn_i_nest_op *o) {
    const tn_i_nest_array *a = o->kind == TN_NEST_LOAD ? &n->array[o->array] : NULL;
    return a && !a->boxed && n->nloop && a->stride[n->nloop - 1] == 1;
}

/* The most elements' values that live at once. */
static int64_t strips_of(const tn_i_nest *n) {
    int64_t live = 0, most = 0;
    uint16_t ends[TN_NEST_OPS] = {0};
    for (uint32_t i = 0; i < n->nop; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->level == TN_NEST_ELEMENT && o->kind != TN_NEST_NUMBER && !in_place(n, o)) ends[o->last]++, live++;
        if (live > most) most = live;
        live -= ends[i];
    }
    return most > 0 ? most : 1;
}

static void count_registers(room *z) {
    const int64_t all = z->n->rows * z->n->row, n = strips_of(z->n);
    int64_t strip = all < TN_STRIPS_MOST ? all : TN_STRIPS_MOST;
    while (strip > TN_LANES && strip * n * 8 > TN_M_STRIP_BYTES) strip /= 2;
    add(z, &z->registers, (int64_t)z->n->nop + 4 * (int64_t)z->n->nloop + NUMBERS, 8);
    if (all > 1) add(z, &z->registers, strip * n, 8);
}

/* ---- threads ---- */

static uint32_t parts_of(const tn_i_nest *n) {
    if (n->threads < 2 || !tn_i_nest_threads() || n->rows * n->row < TN_M_THREAD_ELEMENTS) return 1;
    return n->threads < TN_NEST_PARTS ? (uint32_t)n->threads : TN_NEST_PARTS;
}

bool tn_i_nest_ready(tn_ctx *c, tn_i_nest *n) {
    room z = {.n = n};
    int64_t all, crossing = 0;
    z.overflow = !tn_i_mul_i64(n->rows, n->row, &all);
    uint32_t sums = 0;
    for (uint32_t i = 0; i < n->nop; i++) sums += n->op[i].kind == TN_NEST_REDUCE;
    for (uint32_t i = 0; i < n->nop && !z.overflow; i++) {
        const tn_i_nest_op *o = &n->op[i];
        if (o->crosses) add(&z, &z.rows, n->row, tn_i_dtype_size(o->dtype));
        if (o->crosses) crossing += n->row * (int64_t)tn_i_dtype_size(o->dtype);
        if (o->kind == TN_NEST_REDUCE) count_sum(&z, o, sums == 1);
    }
    if (!z.overflow && short_rows(n)) add(&z, &z.sums, crossing, (size_t)tn_i_strips_lanes(crossing));
    if (!z.overflow) count_rows(&z);
    if (!z.overflow) count_registers(&z);
    n->parts = z.overflow ? 1 : parts_of(n);
    n->process = n->parts > 1 ? tn_i_process() : 0;
    const size_t more = z.code > z.sums ? z.code : z.sums;
    size_t each = 0;
    n->registers = z.registers;
    if (z.overflow || !tn_i_add(z.rows, more, &n->keeps) || !tn_i_add(n->keeps, n->registers, &each) ||
        !tn_i_mul(each, n->parts > 1 ? n->parts + 1u : 1, &n->scratch)) {
        (void)tn_i_fail(c, TN_EOVERFLOW, NULL, "scratch memory of a fused step is too large");
        return false;
    }
    return true;
}
