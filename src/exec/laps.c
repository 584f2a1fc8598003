/* Steps of a loop as programs of numbers: what they find in memory, and running them. */
#include "exec/laps.h"
#include "exec/strides.h"

#include <string.h>

/* ---- parts of programs -------------------------------------------------------------------------- */

bool tn_i_lap_room(tn_i_lap_maker *m, tn_i_lap_program *p, size_t nop) {
    p->cop = (uint32_t)nop;
    p->op = tn_i_alloc_array(m->ctx, nop, sizeof *p->op);
    return p->op != NULL;
}

uint32_t tn_i_lap_reserve(tn_i_laps *k, const tn_i_lap_program *p, size_t bytes) {
    const size_t at = k->bytes;
    k->bytes += (bytes + 63) & ~(size_t)63;
    return (uint32_t)(at - p->reg);
}

static inline void next(const tn_i_number_op *o, char *reg) { o[1].run(o + 1, reg); }
static void run_end(const tn_i_number_op *o, char *reg) { (void)o, (void)reg; }

static void run_duplicate(const tn_i_number_op *o, char *reg) {
    memcpy(reg + o->out, reg + o->in[0], o->in[1]);
    next(o, reg);
}

static void run_duplicate_8(const tn_i_number_op *o, char *reg) {
    memcpy(reg + o->out, reg + o->in[0], 8);
    next(o, reg);
}

void tn_i_lap_duplicate(tn_i_lap_program *p, uint32_t from, uint32_t to, uint32_t bytes) {
    if (from == to) return;
    p->op[p->nop++] =
        (tn_i_number_op){.run = bytes <= 8 ? run_duplicate_8 : run_duplicate, .out = to, .in = {from, bytes}};
}

uint32_t tn_i_lap_end(tn_i_lap_program *p) {
    p->op[p->nop++] = (tn_i_number_op){.run = run_end};
    return p->nop;
}

/* ---- what there is in memory ------------------------------------------------------------------ */

bool tn_i_lap_new_array(tn_i_laps *k, uint32_t base, int64_t at, uint32_t *array) {
    if (k->narray == TN_LAP_ARRAYS) return false;
    *array = k->narray;
    k->array[k->narray++] = (tn_i_lap_array){base, at};
    return true;
}

bool tn_i_lap_new_access(tn_i_lap_maker *m, const tn_i_lap_access *x) {
    if (!tn_i_grow(m->ctx, (void **)&m->access, &m->caccess, m->naccess + 1, sizeof *x)) return false;
    m->access[m->naccess] = *x;
    m->access[m->naccess].memory = TN_LAP_CHANGES;
    m->access[m->naccess++].with = TN_NOVAR;
    return true;
}

/* The two buffers of a pair, in the body's frame. */
static uint32_t buffer_of(const tn_i_loop *l, uint32_t pair, bool out) {
    const tn_i_loop_shape *s = &l->shape;
    return TN_BASE_ARGUMENTS + l->pair[pair].leaf + (out ? s->body->nin : s->index + s->nconst);
}

/* The pair that a base is a buffer of, or TN_NOVAR. */
static uint32_t pair_of(const tn_i_loop *l, uint32_t base, bool *out) {
    for (uint32_t k = 0; k < l->npair; k++)
        for (int way = 0; way < 2; way++)
            if (base == buffer_of(l, k, way)) {
                *out = way;
                return k;
            }
    return TN_NOVAR;
}

static bool moves(const tn_i_loop *l, uint32_t base) {
    if (l->shape.index && base == TN_BASE_ARGUMENTS) return true; /* the number of the step */
    for (uint32_t i = 0; i < l->nmover; i++)
        if (l->mover[i].at == base) return true;
    return false;
}

/* Whether two accesses are of the same elements, or of others. */
typedef enum relation { ELSEWHERE, SAME, MIXED } relation;
static relation relation_of(const tn_i_lap_maker *m, const tn_i_lap_access *x, const tn_i_lap_access *y) {
    const int64_t a = m->laps->array[x->array].at, b = m->laps->array[y->array].at;
    if (x->base != y->base) return ELSEWHERE;
    if (!x->whole || !y->whole) return MIXED;
    if (a == b && x->bytes == y->bytes && x->dtype == y->dtype) return SAME;
    return a + x->bytes <= b || b + y->bytes <= a ? ELSEWHERE : MIXED;
}

/* A load that comes in front of the store, in one program, or reads the other buffer. */
static bool carries(const tn_i_lap_maker *m, uint32_t load, uint32_t store) {
    const tn_i_lap_access *x = &m->access[load], *y = &m->access[store];
    if (x->program != y->program || x->program == TN_NOVAR) return false;
    return x->pair == TN_NOVAR ? load < store : !x->out && y->out;
}

static void classify(const tn_i_lap_maker *m, uint32_t i) {
    tn_i_lap_access *x = &m->access[i];
    uint32_t stores = 0, loads = 0;
    bool mixed = false;
    for (uint32_t j = 0; j < m->naccess; j++) {
        const tn_i_lap_access *y = &m->access[j];
        const relation r = i == j ? ELSEWHERE : relation_of(m, x, y);
        if (r == ELSEWHERE) continue;
        mixed |= r == MIXED && (x->store || y->store);
        *(y->store ? &stores : &loads) += 1;
        if (x->store != y->store) x->with = j;
    }
    if (!mixed && !x->store && stores == 0 && x->program != TN_NOVAR)
        x->memory = TN_LAP_STAYS;
    else if (!mixed && stores + loads == 1 && x->with != TN_NOVAR &&
             carries(m, x->store ? x->with : i, x->store ? i : x->with))
        x->memory = TN_LAP_CARRIED;
}

/* A pair is kept in registers as a whole or not at all. */
static void keep_pairs(tn_i_lap_maker *m) {
    uint8_t *kept = m->laps->kept;
    memset(kept, 1, m->loop->npair);
    for (tn_i_lap_access *x = m->access; x < m->access + m->naccess; x++)
        if (x->pair != TN_NOVAR && x->memory != TN_LAP_CARRIED) kept[x->pair] = 0;
    for (tn_i_lap_access *x = m->access; x < m->access + m->naccess; x++) {
        if (x->pair == TN_NOVAR) continue;
        if (kept[x->pair])
            m->laps->array[x->array].base = x->base;
        else
            x->memory = TN_LAP_CHANGES;
    }
}

static void classify_all(tn_i_lap_maker *m) {
    for (tn_i_lap_access *x = m->access; x < m->access + m->naccess; x++) {
        x->base = m->laps->array[x->array].base;
        x->pair = pair_of(m->loop, x->base, &x->out);
        if (x->pair != TN_NOVAR) x->base = buffer_of(m->loop, x->pair, false);
    }
    for (uint32_t i = 0; i < m->naccess; i++)
        if (!moves(m->loop, m->access[i].base)) classify(m, i);
    keep_pairs(m);
}

/* ---- copies ------------------------------------------------------------------------------------- */

/* The access of a program that has just what is copied: that stores it last, or loads it and nothing stores it; not
 * where another copy goes. */
static uint32_t source_of(const tn_i_lap_maker *m, const tn_i_move *k, int64_t bytes) {
    uint32_t found = TN_NOVAR;
    for (uint32_t i = 0; i < m->naccess; i++) {
        const tn_i_lap_access *x = &m->access[i];
        const tn_i_lap_array *a = &m->laps->array[x->array];
        if (a->base != k->from.base) continue;
        const bool same = !x->copy && x->whole && a->at == k->from.offset && x->bytes == bytes;
        if (x->store && !same) return TN_NOVAR;
        if (same && (x->store || found == TN_NOVAR)) found = i;
    }
    return found;
}

/* One that goes to where only it goes, an entry or what is carried on, may be the store of a program. */
static bool add_copy(tn_i_lap_maker *m, const tn_i_move *k, bool *fits) {
    tn_i_laps *laps = m->laps;
    const tn_type *t = m->loop->body->f->val[k->v].type;
    const int64_t bytes = (int64_t)tn_type_bytes(t);
    const bool own = k->to.base >= TN_BASE_ARGUMENTS + m->loop->shape.body->nin;
    const bool dense = k->from.stride == TN_DENSE && k->to.stride == TN_DENSE;
    tn_i_lap_access x = {.program = TN_NOVAR, .of = TN_NOVAR, .bytes = bytes, .dtype = (uint8_t)t->dtype, .copy = true};
    tn_i_lap_access y = x;
    x.store = true;
    x.whole = k->to.stride == TN_DENSE;
    y.whole = k->from.stride == TN_DENSE;
    if (bytes == 0 || (k->from.base == k->to.base && k->from.offset == k->to.offset && dense)) return true;
    *fits = !k->stack && bytes <= TN_LAP_COPY && tn_i_lap_new_array(laps, k->to.base, k->to.offset, &x.array);
    if (!*fits) return true;
    if (own && dense && (x.of = source_of(m, k, bytes)) != TN_NOVAR) {
        x.program = m->access[x.of].program;
        return tn_i_lap_new_access(m, &x);
    }
    if (!(*fits = tn_i_lap_new_array(laps, k->from.base, k->from.offset, &y.array))) return true;
    laps->copy[laps->ncopy++] = (tn_i_lap_copy){y.array, x.array, (size_t)bytes, dense ? NULL : k, t};
    return tn_i_lap_new_access(m, &y) && tn_i_lap_new_access(m, &x);
}

static bool add_copies(tn_i_lap_maker *m, bool *fits) {
    const tn_i_plan *p = m->loop->body;
    m->laps->croom = p->nmove + 1;
    m->laps->copy = tn_i_alloc_array(m->ctx, m->laps->croom, sizeof *m->laps->copy);
    bool ok = m->laps->copy != NULL;
    for (size_t i = 0; ok && *fits && i < p->nmove; i++) ok = add_copy(m, &p->move[i], fits);
    return ok;
}

/* ---- making ------------------------------------------------------------------------------------- */

static bool add_nests(tn_i_lap_maker *m, bool *fits) {
    const tn_i_plan *p = m->loop->body;
    tn_i_laps *k = m->laps;
    for (size_t s = 0; s < p->nstep; s++) {
        const tn_i_nest *n = p->step[s].u.nest;
        tn_i_lap_program *to = &k->program[k->nprogram];
        *to = (tn_i_lap_program){.nest = n, .array = k->narray, .reg = k->bytes};
        (void)tn_i_lap_reserve(k, to, n->scratch);
        for (uint32_t i = 0, a; *fits && i < n->narray; i++)
            *fits = tn_i_lap_new_array(k, n->array[i].base, n->array[i].at, &a);
        if (!*fits) return true;
        const bool scalar = ((const tn_i_nest_code *)n->code)->scalar;
        if (!(scalar ? tn_i_lap_number_accesses(m, k->nprogram) : tn_i_lap_tiny_accesses(m, k->nprogram))) return false;
        k->nprogram++;
    }
    return true;
}

/* Arrays that move and those that change places. */
static bool add_movers(tn_i_lap_maker *m) {
    tn_i_laps *k = m->laps;
    const tn_i_loop *l = m->loop;
    k->mover = tn_i_alloc_array(m->ctx, TN_LAP_ARRAYS, sizeof *k->mover);
    k->swap = tn_i_alloc_array(m->ctx, TN_LAP_ARRAYS, sizeof *k->swap);
    if (!k->mover || !k->swap) return false;
    for (uint32_t a = 0; a < k->narray; a++) {
        tn_i_lap_swap s = {.array = a};
        s.pair = pair_of(l, k->array[a].base, &s.out);
        if (s.pair != TN_NOVAR && !k->kept[s.pair]) k->swap[k->nswap++] = s;
        for (uint32_t i = 0, cursor = 0; i < l->nmover; cursor += l->mover[i++].stack)
            if (k->array[a].base == l->mover[i].at) {
                k->mover[k->nmover++] = (tn_i_lap_mover){a, i, cursor};
                break;
            }
    }
    return true;
}

static bool make(tn_i_lap_maker *m, bool *fits) {
    tn_i_laps *k = m->laps;
    k->npair = m->loop->npair;
    k->kept = tn_i_alloc(m->ctx, k->npair + 1u);
    *fits = true;
    if (!k->kept || !add_nests(m, fits) || (*fits && !add_copies(m, fits))) return false;
    if (!*fits) return true;
    classify_all(m);
    bool ok = add_movers(m);
    for (uint32_t i = 0; ok && i < k->nprogram; i++)
        ok = ((const tn_i_nest_code *)k->program[i].nest->code)->scalar ? tn_i_lap_number(m, i) : tn_i_lap_tiny(m, i);
    *fits = k->bytes <= TN_LAP_BYTES;
    return ok;
}

/* Whether all that the body does are programs of numbers and, behind them, copies. */
static bool is_numbers(const tn_i_loop *l) {
    const tn_i_plan *p = l->body;
    size_t bytes = 0;
    bool all = !l->cond && p->nstep > 0 && p->nstep <= TN_LAP_PROGRAMS && p->nrelease == 0 && p->last_move == 0;
    for (size_t i = 0; all && i < p->nstep; i++) {
        all = p->step[i].kind == TN_STEP_NEST && tn_i_lap_fits(p->step[i].u.nest);
        if (all) bytes += p->step[i].u.nest->scratch;
    }
    return all && bytes <= TN_LAP_BYTES;
}

bool tn_i_laps_make(tn_ctx *c, const tn_i_loop *l, tn_i_laps **out) {
    *out = NULL;
    if (!is_numbers(l)) return true;
    tn_i_laps *k = tn_i_alloc(c, sizeof *k);
    if (!k) return false;
    tn_i_lap_maker m = {.ctx = c, .laps = k, .loop = l};
    bool fits;
    const bool ok = make(&m, &fits);
    tn_i_free(c, m.access, m.caccess * sizeof *m.access);
    if (ok && fits)
        *out = k;
    else
        tn_i_laps_drop(c, k);
    return ok;
}

void tn_i_laps_drop(tn_ctx *c, tn_i_laps *k) {
    if (!k) return;
    for (uint32_t i = 0; i < k->nprogram; i++) {
        tn_i_free(c, k->program[i].small, k->program[i].cop * sizeof *k->program[i].small);
        tn_i_free(c, k->program[i].op, k->program[i].cop * sizeof *k->program[i].op);
    }
    tn_i_free(c, k->copy, k->croom * sizeof *k->copy);
    tn_i_free(c, k->mover, TN_LAP_ARRAYS * sizeof *k->mover);
    tn_i_free(c, k->swap, TN_LAP_ARRAYS * sizeof *k->swap);
    tn_i_free(c, k->kept, k->npair + 1u);
    tn_i_free(c, k, sizeof *k);
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* How an array goes on from a step to the next, or to and fro. */
typedef struct track {
    char **at;
    int64_t by;
} track;

/* Addresses are where tn_i_lap_slot says. */
typedef struct room {
    char *at[TN_LAP_ARRAYS];
    _Alignas(64) char reg[TN_LAP_BYTES];
    track on[TN_LAP_ARRAYS], fro[TN_LAP_ARRAYS];
    uint32_t non, nfro;
} room;

_Static_assert(offsetof(room, reg) == TN_LAP_ARRAYS * sizeof(char *), "addresses are in front of registers");

/* Bytes from an entry to the next. */
static int64_t stride_of(const tn_i_lap_mover *x, const tn_i_loop *l, const tn_i_cursor *cursor) {
    const tn_i_mover *m = &l->mover[x->mover];
    if (!m->stack) return m->by;
    const tn_i_chain *c = cursor[x->cursor].h->chain;
    return c->repeat ? 0 : (int64_t)c->entry;
}

static void enter(const tn_i_lap_program *p, room *r) {
    const tn_i_nest_code *c = p->nest->code;
    char *const reg = r->reg + p->reg;
    char *const *const at = r->at + p->array;
    if (c->scalar) {
        memcpy(reg, c->constant, c->nconstant * sizeof *c->constant);
    } else {
        memcpy(reg, &at, sizeof at);
        memcpy(reg + c->once_at, c->constant, c->nonce * sizeof *c->constant);
    }
    p->op->run(p->op, reg);
}

static void find_arrays(const tn_i_laps *k, const tn_i_loop *l, const uintptr_t *frame, const tn_i_cursor *cursor,
                        int64_t by, room *r) {
    for (uint32_t i = 0; i < k->narray; i++) {
        const tn_i_lap_array *a = &k->array[i];
        r->at[i] = frame[a->base] || a->base == TN_BASE_ABSOLUTE ? (char *)(frame[a->base] + (uintptr_t)a->at) : NULL;
    }
    r->non = r->nfro = 0;
    for (uint32_t i = 0; i < k->nmover; i++) {
        const track t = {&r->at[k->mover[i].array], by * stride_of(&k->mover[i], l, cursor)};
        if (*t.at && t.by) r->on[r->non++] = t;
    }
    for (uint32_t i = 0; i < k->nswap; i++) {
        const tn_i_lap_swap *s = &k->swap[i];
        const intptr_t apart = (intptr_t)(frame[buffer_of(l, s->pair, true)] - frame[buffer_of(l, s->pair, false)]);
        r->fro[r->nfro++] = (track){&r->at[s->array], s->out ? -apart : apart};
    }
}

static void copy(const tn_i_lap_copy *c, const char *from, char *to) {
    const size_t size = tn_i_dtype_size(c->type->dtype);
    if (!to) return;
    if (c->strided)
        tn_i_walk_run(&c->strided->walk, tn_i_copy_row(size), size, from, to);
    else
        memcpy(to, from, c->bytes);
}

static void step(const tn_i_laps *k, room *r) {
    for (const tn_i_lap_program *p = k->program; p < k->program + k->nprogram; p++) {
        const tn_i_number_op *o = p->op + p->step;
        o->run(o, r->reg + p->reg);
    }
    for (const tn_i_lap_copy *c = k->copy; c < k->copy + k->ncopy; c++) copy(c, r->at[c->from], r->at[c->to]);
}

void tn_i_laps_run(const tn_i_laps *k, const tn_i_loop *l, uintptr_t *frame, const tn_i_cursor *cursor, int64_t n,
                   int64_t by, int64_t *number) {
    room r; /* not cleared */
    find_arrays(k, l, frame, cursor, by, &r);
    for (uint32_t i = 0; i < k->nprogram; i++) enter(&k->program[i], &r);
    for (int64_t left = n;;) {
        step(k, &r);
        if (--left == 0) break;
        *number += by;
        for (const track *t = r.on; t < r.on + r.non; t++) *t->at += t->by;
        for (track *t = r.fro; t < r.fro + r.nfro; t++) {
            *t->at += t->by;
            t->by = -t->by;
        }
    }
    for (const tn_i_lap_program *p = k->program; p < k->program + k->nprogram; p++)
        p->op[p->last].run(p->op + p->last, r.reg + p->reg);
    for (uint32_t i = 0; n % 2 && i < l->npair; i++) {
        uintptr_t *in = &frame[buffer_of(l, i, false)], *out = &frame[buffer_of(l, i, true)];
        const uintptr_t was = *in;
        if (k->kept[i]) continue;
        *in = *out;
        *out = was;
    }
}
