/* Steps of a loop over numbers, as programs (laps.h): a register lasts from step to step as it is. */
#include "exec/laps.h"

#include <string.h>

static inline void next(const tn_i_number_op *o, char *reg) { o[1].run(o + 1, reg); }

static inline char *array_at(const char *reg, uint32_t slot) {
    return *(char *const *)(const void *)(reg + (int32_t)slot);
}

#define RUN_MOVE(bytes)                                             \
    static void load_##bytes(const tn_i_number_op *o, char *reg) {  \
        memcpy(reg + o->out, array_at(reg, o->in[0]), bytes);       \
        next(o, reg);                                               \
    }                                                               \
    static void store_##bytes(const tn_i_number_op *o, char *reg) { \
        char *to = array_at(reg, o->out);                           \
        if (to) memcpy(to, reg + o->in[0], bytes);                  \
        next(o, reg);                                               \
    }
RUN_MOVE(1)
RUN_MOVE(4)
RUN_MOVE(8)

/* An access: the register that is loaded or stored, and where that is by the time that the step is over. */
typedef struct number {
    const tn_i_lap_access *access;
    uint32_t reg, from;
} number;

typedef struct writer {
    tn_i_lap_maker *m;
    tn_i_lap_program *p;
    const tn_i_nest_code *code;
    number *number; /* loads, then stores, then copies */
    uint32_t n;
} writer;

bool tn_i_lap_number_accesses(tn_i_lap_maker *m, uint32_t program) {
    const tn_i_lap_program *p = &m->laps->program[program];
    const tn_i_nest_code *c = p->nest->code;
    bool ok = true;
    for (uint32_t i = 0; ok && i < c->nload + c->nstore; i++) {
        const tn_i_scalar_move *x = i < c->nload ? &c->load[i] : &c->store[i - c->nload];
        ok = tn_i_lap_new_access(m, &(tn_i_lap_access){.array = p->array + x->array,
                                                       .program = program,
                                                       .of = i,
                                                       .bytes = x->size,
                                                       .dtype = p->nest->array[x->array].dtype,
                                                       .store = i >= c->nload,
                                                       .whole = true});
    }
    return ok;
}

static uint32_t register_of(const writer *w, const tn_i_lap_access *x) {
    if (x->copy) return register_of(w, &w->m->access[x->of]);
    return x->of < w->code->nload ? w->code->load[x->of].at : w->code->store[x->of - w->code->nload].at;
}

static void list(writer *w, uint32_t program) {
    for (size_t i = 0; i < w->m->naccess; i++) {
        const tn_i_lap_access *x = &w->m->access[i];
        if (x->program == program) w->number[w->n++] = (number){x, register_of(w, x), register_of(w, x)};
    }
}

static bool finds(const number *x, tn_i_lap_memory memory) { return x->access->memory == memory; }

static bool is_loaded(const writer *w, uint32_t reg) {
    bool is = false;
    for (uint32_t i = 0; i < w->code->nload; i++) is |= w->code->load[i].at == reg;
    return is;
}

static void add_load(const writer *w, const number *x) {
    const int64_t bytes = x->access->bytes;
    w->p->op[w->p->nop++] = (tn_i_number_op){.run = bytes == 8   ? load_8
                                                    : bytes == 4 ? load_4
                                                                 : load_1,
                                             .out = x->reg,
                                             .in = {(uint32_t)tn_i_lap_slot(w->p, x->access->array)}};
}

static void add_store(const writer *w, const number *x, uint32_t from) {
    const int64_t bytes = x->access->bytes;
    w->p->op[w->p->nop++] = (tn_i_number_op){.run = bytes == 8   ? store_8
                                                    : bytes == 4 ? store_4
                                                                 : store_1,
                                             .out = (uint32_t)tn_i_lap_slot(w->p, x->access->array),
                                             .in = {from}};
}

/* The register that the next step reads what store x carries on in. */
static uint32_t target_of(const writer *w, const number *x) { return register_of(w, &w->m->access[x->access->with]); }

static bool reads(const tn_i_number_op *o, uint32_t reg) {
    return o->in[0] == reg || o->in[1] == reg || o->in[2] == reg;
}

/* The operation that computes what is carried on may leave it where the next step reads it, if nothing reads what is
 * there any more.  (What stores want that was loaded they have taken in front of all operations.)  op: of a step, n of
 * them; in[] that an operation does not have is 0, which may be taken for a register. */
static void compute_in_place(const writer *w, const number *x, tn_i_number_op *op, uint32_t n) {
    const uint32_t was = x->reg, to = target_of(w, x);
    uint32_t d = 0;
    while (d < n && op[d].out != was) d++;
    bool may = d < n && w->code->nmany == 0 && !is_loaded(w, was);
    for (uint32_t i = d + 1; may && i < n; i++) may = !reads(&op[i], to);
    if (!may) return;
    op[d].out = to;
    for (uint32_t i = d + 1; i < n; i++)
        for (uint32_t k = 0; k < 3; k++)
            if (op[i].in[k] == was) op[i].in[k] = to;
    for (uint32_t i = 0; i < w->n; i++)
        if (w->number[i].access->store && w->number[i].from == was) w->number[i].from = to;
}

/* What is stored or carried on as it was loaded. */
static void write_ahead(const writer *w) {
    for (number *x = w->number; x < w->number + w->n; x++) {
        if (!x->access->store || !is_loaded(w, x->reg)) continue;
        if (finds(x, TN_LAP_CHANGES)) add_store(w, x, x->reg);
        if (!finds(x, TN_LAP_CARRIED) || x->reg == target_of(w, x)) continue;
        x->from = tn_i_lap_reserve(w->m->laps, w->p, 8);
        tn_i_lap_duplicate(w->p, x->reg, x->from, 8);
    }
}

static void write_step(const writer *w) {
    const uint32_t n = w->code->nnumber - 1;
    for (const number *x = w->number; x < w->number + w->n; x++)
        if (!x->access->store && finds(x, TN_LAP_CHANGES)) add_load(w, x);
    write_ahead(w);
    tn_i_number_op *op = w->p->op + w->p->nop;
    memcpy(op, w->code->number, n * sizeof *op);
    w->p->nop += n;
    for (const number *x = w->number; x < w->number + w->n; x++)
        if (x->access->store && finds(x, TN_LAP_CARRIED)) compute_in_place(w, x, op, n);
    for (const number *x = w->number; x < w->number + w->n; x++) {
        if (!x->access->store) continue;
        if (finds(x, TN_LAP_CHANGES) && !is_loaded(w, x->reg)) add_store(w, x, x->from);
        if (finds(x, TN_LAP_CARRIED)) tn_i_lap_duplicate(w->p, x->from, target_of(w, x), 8);
    }
}

static void write(writer *w) {
    for (const number *x = w->number; x < w->number + w->n; x++)
        if (!x->access->store && !finds(x, TN_LAP_CHANGES)) add_load(w, x);
    w->p->step = tn_i_lap_end(w->p);
    write_step(w);
    w->p->last = tn_i_lap_end(w->p);
    for (const number *x = w->number; x < w->number + w->n; x++)
        if (x->access->store && finds(x, TN_LAP_CARRIED)) add_store(w, x, target_of(w, x));
    (void)tn_i_lap_end(w->p);
}

bool tn_i_lap_number(tn_i_lap_maker *m, uint32_t program) {
    writer w = {.m = m, .p = &m->laps->program[program]};
    w.code = w.p->nest->code;
    const size_t room = m->naccess + 1;
    w.number = tn_i_alloc_array(m->ctx, room, sizeof *w.number);
    bool ok = w.number != NULL;
    if (ok) list(&w, program);
    ok = ok && tn_i_lap_room(m, w.p, 3 * (size_t)w.n + w.code->nnumber + 3);
    if (ok) write(&w);
    tn_i_free(m->ctx, w.number, room * sizeof *w.number);
    return ok;
}
