/* Steps of a loop over tiny arrays, as programs (laps.h).  Tiles of a nest are shared by values that are not alive
 * together; what lasts from step to step has one of its own. */
#include "exec/laps.h"

#include <string.h>

typedef struct tn_i_tiny tiny;

/* An instruction, and its access or TN_NOVAR. */
typedef struct line {
    tiny x;
    uint32_t access, between; /* between: where what it carries on waits for the end of the step, or TN_NOVAR */
} line;

typedef struct writer {
    tn_i_lap_maker *m;
    tn_i_lap_program *p;
    const tn_i_nest_code *code;
    tn_i_tiny_maker to;
    line *line; /* in their order, copies behind what they copy */
    uint32_t n, ncopy;
    tn_i_nest_instr *copy; /* copies, as instructions */
    uint32_t *own;         /* of each value: its own tile, or TN_NOVAR */
    uint32_t entered;      /* lines up to the last load of what changes */
} writer;

static bool loads(const tn_i_nest_instr *e) { return e->kind == TN_CODE_LOAD || e->kind == TN_CODE_PICK; }
static bool stores(const tn_i_nest_instr *e) { return e->kind == TN_CODE_STORE || e->kind == TN_CODE_PUT; }

/* What is read outside of an array may have been computed: such a load is none that could be made once. */
bool tn_i_lap_tiny_accesses(tn_i_lap_maker *m, uint32_t program) {
    const tn_i_lap_program *p = &m->laps->program[program];
    const uint32_t room = ((const tn_i_nest_code *)p->nest->code)->ninstr + 1u;
    tiny *list = tn_i_alloc_array(m->ctx, room, sizeof *list);
    bool ok = list != NULL;
    const uint32_t n = ok ? tn_i_tiny_order(p->nest, list) : 0;
    for (uint32_t i = 0; ok && i < n; i++) {
        const tn_i_nest_instr *e = list[i].instr;
        if (loads(e) || stores(e))
            ok = tn_i_lap_new_access(m, &(tn_i_lap_access){.array = p->array + e->array,
                                                           .program = program,
                                                           .of = i,
                                                           .bytes = list[i].n * e->size,
                                                           .dtype = p->nest->array[e->array].dtype,
                                                           .store = stores(e),
                                                           .whole = tn_i_tiny_dense(&list[i])});
    }
    tn_i_free(m->ctx, list, room * sizeof *list);
    return ok;
}

/* ---- lines ---------------------------------------------------------------------------------------- */

static tn_i_lap_access *access_of(const writer *w, uint32_t i) {
    return w->line[i].access == TN_NOVAR ? NULL : &w->m->access[w->line[i].access];
}

static const tn_i_nest_instr *instr_of(const writer *w, uint32_t i) { return w->line[i].x.instr; }

static bool loads_as(const writer *w, uint32_t i, tn_i_lap_memory memory) {
    const tn_i_lap_access *x = access_of(w, i);
    return x && !x->store && x->memory == memory;
}

static bool stores_as(const writer *w, uint32_t i, tn_i_lap_memory memory) {
    const tn_i_lap_access *x = access_of(w, i);
    return x && x->store && x->memory == memory;
}

/* The value that a store carries on to, and enters the next step as. */
static uint32_t target_of(const writer *w, uint32_t i) {
    const uint32_t with = access_of(w, i)->with;
    uint32_t k = 0;
    while (w->line[k].access != with) k++;
    return instr_of(w, k)->out;
}

static void add_line(writer *w, const tiny *x, uint32_t access) { w->line[w->n++] = (line){*x, access, TN_NOVAR}; }

/* A copy of access `of`, which is that of instruction x. */
static void add_copies(writer *w, const tiny *x, uint32_t of) {
    const tn_i_nest_instr *e = x->instr;
    for (uint32_t i = 0; i < w->m->naccess; i++) {
        const tn_i_lap_access *k = &w->m->access[i];
        if (!k->copy || k->program == TN_NOVAR || k->of != of) continue;
        tn_i_nest_instr *c = &w->copy[w->ncopy++];
        *c = (tn_i_nest_instr){.kind = TN_CODE_PUT, .dtype = e->dtype, .size = e->size, .nin = 1, .out = TN_NOVAR};
        c->in[0] = loads(e) ? e->out : e->in[0];
        c->s[0] = 1;
        c->array = k->array - w->p->array;
        c->walk = e->walk;
        tiny y = *x;
        y.instr = c;
        add_line(w, &y, i);
    }
}

static void list(writer *w, uint32_t program, tiny *order) {
    const uint32_t n = tn_i_tiny_order(w->p->nest, order);
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        while (k < w->m->naccess &&
               (w->m->access[k].program != program || w->m->access[k].copy || w->m->access[k].of < i))
            k++;
        const bool accesses = k < w->m->naccess && w->m->access[k].of == i;
        tn_i_lap_access *x = accesses ? &w->m->access[k] : NULL;
        if (x && x->memory == TN_LAP_STAYS && order[i].instr->nin > 0) x->memory = TN_LAP_CHANGES;
        add_line(w, &order[i], accesses ? k : TN_NOVAR);
        if (x && !x->store && x->memory == TN_LAP_CHANGES) w->entered = w->n;
        if (x) add_copies(w, &order[i], k);
    }
}

/* ---- where values are ------------------------------------------------------------------------------- */

static uint32_t tile_bytes(const writer *w, uint32_t v) { return (uint32_t)w->to.width * w->code->value[v].size; }

static uint32_t new_tile(const writer *w) { return tn_i_lap_reserve(w->m->laps, w->p, TN_LANES * 8); }

static uint32_t maker_of(const writer *w, uint32_t v) {
    uint32_t i = 0;
    while (i < w->n && instr_of(w, i)->out != v) i++;
    return i;
}

static bool reads(const tn_i_nest_instr *e, uint32_t v) {
    bool some = false;
    for (uint32_t k = 0; k < e->nin; k++) some |= e->in[k] == v;
    return some;
}

/* A store of what lasts from step to step needs to wait for nothing but all loads. */
static bool goes_ahead(const writer *w, uint32_t i) {
    if (!stores_as(w, i, TN_LAP_CHANGES)) return false;
    const uint32_t d = maker_of(w, instr_of(w, i)->in[0]);
    return d < w->n && (loads_as(w, d, TN_LAP_STAYS) || loads_as(w, d, TN_LAP_CARRIED));
}

/* Whether the operation that makes what line i carries on may leave it where the next step reads it: no one reads later
 * what is there. */
static bool computes_in_place(const writer *w, uint32_t i) {
    const uint32_t to = target_of(w, i), v = instr_of(w, i)->in[0], d = maker_of(w, v);
    if (d == w->n || instr_of(w, d)->kind != TN_CODE_MAP || !instr_of(w, d)->padded) return false;
    if (w->own[v] != TN_NOVAR) return false;
    for (uint32_t k = 0; k < w->n; k++)
        if (reads(instr_of(w, k), to) && (goes_ahead(w, k) ? w->entered : k) > d) return false;
    return true;
}

static void place(writer *w) {
    for (uint32_t i = 0; i < w->n; i++)
        if (loads_as(w, i, TN_LAP_STAYS) || loads_as(w, i, TN_LAP_CARRIED)) w->own[instr_of(w, i)->out] = new_tile(w);
    for (uint32_t i = 0; i < w->n; i++) {
        if (!stores_as(w, i, TN_LAP_CARRIED)) continue;
        if (computes_in_place(w, i))
            w->own[instr_of(w, i)->in[0]] = w->own[target_of(w, i)];
        else
            w->line[i].between = new_tile(w);
    }
}

/* ---- operations ------------------------------------------------------------------------------------- */

static bool add(writer *w, uint32_t i) {
    w->to.nop = w->p->nop;
    const bool ok = tn_i_tiny_add(&w->to, &w->line[i].x);
    w->p->nop = w->to.nop;
    return ok;
}

static void keep(writer *w, uint32_t i) {
    const uint32_t v = instr_of(w, i)->in[0];
    const uint32_t at = w->own[v] != TN_NOVAR ? w->own[v] : (uint32_t)w->code->value[v].offset;
    tn_i_lap_duplicate(w->p, at, w->line[i].between, tile_bytes(w, v));
}

static bool write_once(writer *w) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->n; i++)
        if (loads_as(w, i, TN_LAP_STAYS) || loads_as(w, i, TN_LAP_CARRIED)) ok = add(w, i);
    w->p->step = tn_i_lap_end(w->p);
    return ok;
}

static bool write_ahead(writer *w) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->n; i++)
        if (goes_ahead(w, i)) ok = add(w, i);
    return ok;
}

static bool write_step(writer *w) {
    bool ok = w->entered > 0 || write_ahead(w);
    for (uint32_t i = 0; ok && i < w->n; i++) {
        const tn_i_lap_access *x = access_of(w, i);
        if (w->line[i].between != TN_NOVAR)
            keep(w, i);
        else if (!x || (x->memory == TN_LAP_CHANGES && !goes_ahead(w, i)))
            ok = add(w, i);
        if (ok && i + 1 == w->entered) ok = write_ahead(w);
    }
    for (uint32_t i = 0; i < w->n; i++)
        if (w->line[i].between != TN_NOVAR)
            tn_i_lap_duplicate(w->p, w->line[i].between, w->own[target_of(w, i)], tile_bytes(w, target_of(w, i)));
    w->p->last = tn_i_lap_end(w->p);
    return ok;
}

/* What is carried on is where the next step would read it. */
static bool write_last(writer *w) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->n; i++) {
        if (!stores_as(w, i, TN_LAP_CARRIED)) continue;
        const uint32_t v = instr_of(w, i)->in[0], was = w->own[v];
        w->own[v] = w->own[target_of(w, i)];
        ok = add(w, i);
        w->own[v] = was;
    }
    (void)tn_i_lap_end(w->p);
    return ok;
}

bool tn_i_lap_tiny(tn_i_lap_maker *m, uint32_t program) {
    writer w = {.m = m, .p = &m->laps->program[program]};
    w.code = w.p->nest->code;
    const size_t most = w.code->ninstr + m->naccess + 1, values = w.code->nvalue + 1u;
    tiny *order = tn_i_alloc_array(m->ctx, most, sizeof *order);
    w.line = tn_i_alloc_array(m->ctx, most, sizeof *w.line);
    w.copy = tn_i_alloc_array(m->ctx, most, sizeof *w.copy);
    w.own = tn_i_alloc_array(m->ctx, values, sizeof *w.own);
    bool ok = order && w.line && w.copy && w.own && tn_i_lap_room(m, w.p, 4 * most + 3);
    ok = ok && (w.p->small = tn_i_alloc_array(m->ctx, w.p->cop, sizeof *w.p->small));
    if (ok) {
        memset(w.own, 0xff, values * sizeof *w.own);
        w.to = tn_i_tiny_begin(w.p->nest, w.p->op, w.p->small, tn_i_isa_best());
        w.to.own = w.own;
        list(&w, program, order);
        place(&w);
        (void)(write_once(&w) && write_step(&w) && write_last(&w)); /* as the nest's own program was written */
    }
    tn_i_free(m->ctx, w.own, values * sizeof *w.own);
    tn_i_free(m->ctx, w.copy, most * sizeof *w.copy);
    tn_i_free(m->ctx, w.line, most * sizeof *w.line);
    tn_i_free(m->ctx, order, most * sizeof *order);
    return ok;
}

/* A fold of one number begins with what is in its register, which each run needs anew. */
bool tn_i_lap_fits(const tn_i_nest *n) {
    const tn_i_nest_code *c = n->code;
    bool fits = n->nspot == 0 && c->nparts == 0 && (c->scalar || c->numbers) && n->scratch <= TN_LAP_BYTES;
    for (uint32_t v = 0; c->scalar && v < n->nop; v++) fits &= n->op[v].kind != TN_NEST_REDUCE;
    return fits;
}
