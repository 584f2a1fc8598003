/* The links of a chain: which of three registers each value of a run is in, and when (vec/chain.h).
 *
 * Operations come in order, and it is known which one reads a value next.  A result goes to a register that nobody
 * needs any more, else to the one whose value is read last; if that is in memory nowhere, it is stored to a slot, which
 * costs as much as two operations, so that it is done for values that are not read for long.  One operand of an
 * operation may stay in memory at hardly any cost; what is read again is loaded where a register is free. */
#include "exec/nest_links.h"

typedef tn_i_nest_run run;

/* ---- operations --------------------------------------------------------------------------------------- */

/* A link's operands are these of the operation. */
typedef struct form {
    uint8_t op, nin, in[3];
} form;

static bool power(const tn_i_nest_op *o, form *f) {
    switch (tn_i_p(o->eqn)[0].u.i) {
    case -1: f->op = TN_LINK_INVERSE; return true;
    case 3: f->op = TN_LINK_CUBE; return true;
    case 4: f->op = TN_LINK_FOURTH; return true;
    default: return false;
    }
}

static bool form_of(const tn_i_nest_op *o, form *f) {
    static const struct {
        uint8_t prim, op, nin;
    } rows[] = {
        {TN_P_neg, TN_LINK_NEG, 1}, {TN_P_abs, TN_LINK_ABS, 1}, {TN_P_sqrt, TN_LINK_SQRT, 1},
        {TN_P_add, TN_LINK_ADD, 2}, {TN_P_sub, TN_LINK_SUB, 2}, {TN_P_mul, TN_LINK_MUL, 2},
        {TN_P_div, TN_LINK_DIV, 2}, {TN_P_max, TN_LINK_MAX, 2}, {TN_P_min, TN_LINK_MIN, 2},
    };
    const tn_prim *p = o->eqn->prim;
    *f = (form){.nin = 1};
    if (p->original) return false; /* copies that tests have broken */
    if (p->id == TN_P_integer_pow) return power(o, f);
    if (p->id == TN_P_square) return *f = (form){TN_LINK_MUL, 2, {0, 0}}, true;
    if (p->id == TN_P_fma) {
        *f = (form){(uint8_t)(TN_LINK_FMA + tn_i_p(o->eqn)[0].u.i), 3, {0, 1, 2}};
        return true;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (p->id == rows[i].prim) return *f = (form){rows[i].op, rows[i].nin, {0, 1}}, true;
    return false;
}

bool tn_i_links_do(const tn_i_chain_set *set, const tn_i_nest_op *o) {
    form f;
    return form_of(o, &f) && set->link(f.op, TN_FROM_A, TN_FROM_A, TN_FROM_A, TN_FROM_A);
}

static form form_at(const run *r, uint32_t i) {
    form f;
    (void)form_of(&r->m->nest->op[tn_i_run_instr(r, i)->out], &f);
    return f;
}

/* ---- what is read when ----------------------------------------------------------------------------------- */

/* From the last operation to the first; m->use: which one reads a value next. */
static void find_uses(run *r) {
    uint32_t *use = r->m->use, k = 0;
    r->nop = 0;
    for (uint32_t i = r->first; i < r->last; i++) {
        if (!tn_i_run_maps(r, i)) continue;
        const tn_i_nest_instr *e = tn_i_run_instr(r, i);
        use[e->out] = TN_NOVAR;
        for (uint32_t j = 0; j < e->nin; j++) use[e->in[j]] = TN_NOVAR;
        r->m->stored[e->out] = 0;
        r->m->slot[e->out] = TN_NOVAR;
        r->nop++;
    }
    k = r->nop;
    for (uint32_t i = r->last; i-- > r->first;) {
        if (!tn_i_run_maps(r, i)) continue;
        const tn_i_nest_instr *e = tn_i_run_instr(r, i);
        k--;
        for (uint32_t j = 0; j < e->nin; j++) r->next[k][j] = use[e->in[j]];
        for (uint32_t j = 0; j < e->nin; j++) use[e->in[j]] = k;
    }
}

static bool made_here(const run *r, uint32_t v) {
    const uint32_t at = r->m->at[v];
    return at >= r->first && at < r->last && tn_i_run_maps(r, at) && tn_i_run_instr(r, at)->out == v;
}

/* Somewhere else than in a register. */
static bool in_memory(const run *r, uint32_t v) { return !made_here(r, v) || r->m->stored[v]; }

/* ---- memory ---------------------------------------------------------------------------------------------- */

/* What links cost beside each other: operations go through eight registers in four cycles, and the cache has its own
 * pace, more so where vectors lie across its lines. */
enum { COST_OPERATION = 4, COST_READ = 7, COST_NUMBER = 2, COST_WRITE = 8 };

static bool push(run *r, const void *to, uint32_t x, bool moves, uint32_t cost) {
    tn_i_nest_code *c = r->m->code;
    r->cost += cost;
    if (!tn_i_grow(r->m->ctx, (void **)&c->link, &c->clink, c->nlink + 1, sizeof *c->link)) return false;
    c->link[c->nlink++] = (tn_i_nest_link){to, x, -(int32_t)moves};
    return true;
}

/* Value v is read or written; outside of slots it is an end of the chain, and moves with the block. */
static bool touch(run *r, uint32_t v, bool writes) {
    tn_i_nest_code *c = r->m->code;
    if (r->m->slot[v] != TN_NOVAR) return false;
    for (uint32_t i = 0; i < r->chain.nend; i++) {
        tn_i_nest_end *k = &c->end[r->chain.end + i];
        if (k->value != v) continue;
        k->writes |= writes;
        k->uses++;
        return true;
    }
    r->full |= r->chain.nend == TN_CHAIN_SLOTS;
    if (!r->full)
        c->end[r->chain.end + r->chain.nend++] =
            (tn_i_nest_end){.value = v, .uses = 1, .reads = !writes, .writes = writes};
    return true;
}

/* A slot that nothing reads from instruction i on. */
static void take_slot(run *r, uint32_t v, uint32_t i) {
    uint32_t s = 0;
    while (s < r->nslot && r->slot[s] >= i) s++;
    r->full |= s == TN_CHAIN_SLOTS;
    if (r->full) return;
    if (s == r->nslot) r->nslot++;
    r->slot[s] = r->m->last[v];
    r->m->slot[v] = s;
}

static bool push_store(run *r, int from, uint32_t i) {
    const uint32_t v = r->holds[from];
    if (!tn_i_run_leaves(r, v)) take_slot(r, v, i);
    r->m->stored[v] = 1;
    return push(r, r->chain.set->link(TN_LINK_STORE, 0, from, 0, 0), v, touch(r, v, true), COST_WRITE);
}

/* ---- registers --------------------------------------------------------------------------------------------- */

static int register_of(const run *r, uint32_t v) {
    int k = 0;
    while (k < TN_LINK_REGISTERS && r->holds[k] != v) k++;
    return k;
}

/* The later it is read the cheaper it is to lose; 0: nobody reads it. */
static uint32_t distance(const run *r, int k, uint32_t now) {
    enum { NEVER = 1 << 20, STORING = 3 };
    const uint32_t v = r->holds[k];
    if (v == TN_NOVAR || r->m->use[v] == TN_NOVAR) return NEVER;
    return (r->m->use[v] - now + 1) * (in_memory(r, v) ? STORING : 1);
}

/* The register that is best lost, other than those of mask `but`. */
static int victim(const run *r, uint32_t now, unsigned but) {
    int best = TN_LINK_REGISTERS;
    for (int k = 0; k < TN_LINK_REGISTERS; k++)
        if (!(but >> k & 1) && (best == TN_LINK_REGISTERS || distance(r, k, now) > distance(r, best, now))) best = k;
    return best;
}

/* Register k is empty then. */
static bool lose(run *r, int k, uint32_t i) {
    const uint32_t v = r->holds[k];
    const bool needed = v != TN_NOVAR && r->m->use[v] != TN_NOVAR && !in_memory(r, v);
    const bool ok = !needed || push_store(r, k, i);
    r->holds[k] = TN_NOVAR;
    return ok;
}

/* Operation number `now`, instruction i. */
typedef struct operation {
    const tn_i_nest_instr *e;
    form f;
    uint32_t i, now;
    uint32_t v[3];
    bool one[3];
    int from[3];
    unsigned taken; /* registers of operands */
} operation;

static operation operation_at(const run *r, uint32_t i, uint32_t now) {
    operation o = {.e = tn_i_run_instr(r, i), .f = form_at(r, i), .i = i, .now = now};
    for (uint32_t k = 0; k < o.f.nin; k++) {
        o.v[k] = o.e->in[o.f.in[k]];
        o.one[k] = o.e->s[o.f.in[k]] == 0;
        o.from[k] = register_of(r, o.v[k]);
        if (o.from[k] < TN_LINK_REGISTERS) o.taken |= 1u << o.from[k];
    }
    return o;
}

static bool load(run *r, operation *o, uint32_t k) {
    const int to = victim(r, o->now, o->taken);
    if (!lose(r, to, o->i)) return false;
    const int from = o->one[k] ? TN_FROM_ONE : TN_FROM_MEMORY;
    const bool moves = !o->one[k] && touch(r, o->v[k], false);
    const uint32_t cost = o->one[k] ? COST_NUMBER : COST_READ;
    if (!push(r, r->chain.set->link(TN_LINK_LOAD, to, from, 0, 0), o->v[k], moves, cost)) return false;
    r->holds[to] = o->v[k];
    o->taken |= 1u << to;
    for (uint32_t j = k; j < o->f.nin; j++)
        if (o->v[j] == o->v[k]) o->from[j] = to;
    return true;
}

static bool twice(const operation *o, uint32_t k) {
    for (uint32_t j = 0; j < o->f.nin; j++)
        if (j != k && o->v[j] == o->v[k]) return true;
    return false;
}

static uint32_t next_use(const run *r, const operation *o, uint32_t k) { return r->next[o->now][o->f.in[k]]; }

/* The operand that stays where it is: one number, else what is read again last; nin: none. */
static uint32_t stays(const run *r, const operation *o) {
    uint32_t best = o->f.nin;
    const bool may = o->f.op == TN_LINK_ADD || o->f.op == TN_LINK_SUB || o->f.op == TN_LINK_MUL || o->f.nin == 3;
    for (uint32_t k = 0; may && k < o->f.nin; k++) {
        if (o->from[k] < TN_LINK_REGISTERS || twice(o, k)) continue;
        if (o->one[k]) return k;
        if (best == o->f.nin || next_use(r, o, k) > next_use(r, o, best)) best = k;
    }
    return best;
}

/* A dense operand that is read again, while there is a register for it. */
static bool worth_loading(const run *r, const operation *o, uint32_t k) {
    if (o->one[k] || r->m->slot[o->v[k]] != TN_NOVAR || next_use(r, o, k) == TN_NOVAR) return false;
    const int to = victim(r, o->now, o->taken);
    if (to == TN_LINK_REGISTERS) return false;
    const uint32_t v = r->holds[to];
    return v == TN_NOVAR || r->m->use[v] == TN_NOVAR || (in_memory(r, v) && r->m->use[v] > next_use(r, o, k));
}

static bool find_operands(run *r, operation *o) {
    uint32_t rest = stays(r, o);
    for (uint32_t k = 0; k < o->f.nin; k++)
        if (k != rest && o->from[k] == TN_LINK_REGISTERS && !load(r, o, k)) return false;
    if (rest == o->f.nin) return true;
    if (worth_loading(r, o, rest)) return load(r, o, rest);
    o->from[rest] = o->one[rest] ? TN_FROM_ONE : TN_FROM_MEMORY;
    return true;
}

/* ---- operations as links ------------------------------------------------------------------------------------ */

/* Where factors and terms may be exchanged they stand in one order. */
static void sort(operation *o) {
    const bool even = o->f.op == TN_LINK_ADD || o->f.op == TN_LINK_MUL || o->f.nin == 3;
    if (!even || o->from[0] <= o->from[1]) return;
    const int from = o->from[0];
    o->from[0] = o->from[1];
    o->from[1] = from;
}

static bool push_folds(run *r, int from) {
    for (uint32_t i = r->last; i < r->sinks; i++) {
        const tn_i_nest_instr *e = tn_i_run_instr(r, i);
        if (e->kind != TN_CODE_SINK || e->in[0] != r->holds[from]) continue;
        const void *link = r->chain.set->link(TN_LINK_FOLD, 0, from, 0, 0);
        if (!push(r, link, r->m->code->sink[e->sink].lane, false, COST_OPERATION)) return false;
    }
    return true;
}

static bool push_op(run *r, uint32_t i, uint32_t now) {
    operation o = operation_at(r, i, now);
    uint32_t x = o.e->out;
    uint32_t cost = COST_OPERATION;
    bool moves = false;
    if (!find_operands(r, &o)) return false;
    for (uint32_t k = 0; k < o.f.nin; k++) {
        if (o.from[k] >= TN_FROM_MEMORY) x = o.v[k], moves = !o.one[k] && touch(r, o.v[k], false);
        if (o.from[k] == TN_FROM_MEMORY) cost += COST_READ;
        r->m->use[o.v[k]] = next_use(r, &o, k);
    }
    const int to = victim(r, now, 0);
    if (!lose(r, to, i)) return false;
    sort(&o);
    if (!push(r, r->chain.set->link(o.f.op, to, o.from[0], o.from[1], o.from[2]), x, moves, cost)) return false;
    r->holds[to] = o.e->out;
    return (!tn_i_run_leaves(r, o.e->out) || push_store(r, to, i)) && push_folds(r, to);
}

bool tn_i_links_make(run *r) {
    enum { MOST_EACH = 16 };
    find_uses(r);
    for (int k = 0; k < TN_LINK_REGISTERS; k++) r->holds[k] = TN_NOVAR;
    for (uint32_t i = r->first, now = 0; i < r->last; i++) {
        if (!tn_i_run_maps(r, i)) continue;
        if (!push_op(r, i, now++)) return false;
        r->full |= r->m->code->nlink - r->chain.link > TN_CHAIN_LINKS - MOST_EACH;
        if (!r->full) continue;
        r->last = i;
        return true;
    }
    r->chain.nlink = (uint32_t)(r->m->code->nlink - r->chain.link) + 1;
    return push(r, r->chain.set->link(TN_LINK_END, 0, 0, 0, 0), 0, false, 0);
}
