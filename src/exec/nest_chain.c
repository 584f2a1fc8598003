/* Chains in the code of a nest: which of its operations become one instruction, and what its links are.
 *
 * A *run* is a sequence of cheap operations on one dtype that stand side by side in an element section.  Values that
 * only a run reads have no tile: they are held from one link to the next, or in a slot of one block. */
#include "exec/nest_make.h"

#include <string.h>

/* ---- links of operations -------------------------------------------------------------- */

/* Of operands, those of mask `held` are the value that is held; x and y are read from memory. */
typedef struct form {
    uint8_t op, nin;
    uint8_t x, y; /* operands */
} form;

typedef struct row {
    uint8_t prim, op, reversed, both; /* both operands held; 0: one of them is read */
} row;

static const row rows[] = {
    {TN_P_neg, TN_LINK_NEG, 0, 0},
    {TN_P_abs, TN_LINK_ABS, 0, 0},
    {TN_P_sqrt, TN_LINK_SQRT, 0, 0},
    {TN_P_square, TN_LINK_SQUARE, 0, 0},
    {TN_P_add, TN_LINK_ADD, TN_LINK_ADD, TN_LINK_TWICE},
    {TN_P_sub, TN_LINK_SUB, TN_LINK_RSUB, 0},
    {TN_P_mul, TN_LINK_MUL, TN_LINK_MUL, TN_LINK_SQUARE},
    {TN_P_div, TN_LINK_DIV, TN_LINK_RDIV, 0},
    {TN_P_max, TN_LINK_MAX, TN_LINK_RMAX, 0},
    {TN_P_min, TN_LINK_MIN, TN_LINK_RMIN, 0},
};

static bool power(const tn_i_nest_op *o, form *f) {
    switch (tn_i_p(o->eqn)[0].u.i) {
    case -1: f->op = TN_LINK_INVERSE; return true;
    case 3: f->op = TN_LINK_CUBE; return true;
    case 4: f->op = TN_LINK_FOURTH; return true;
    default: return false;
    }
}

static void contracted(const tn_i_nest_op *o, unsigned held, form *f) {
    static const uint8_t square[] = {TN_LINK_SQUARE_ADD, TN_LINK_SQUARE_SUB, TN_LINK_SQUARE_RSUB},
                         factor[] = {TN_LINK_FMA, TN_LINK_FMS, TN_LINK_FNMA},
                         term[] = {TN_LINK_FMA_TO, TN_LINK_FMS_TO, TN_LINK_FNMA_TO};
    const int64_t k = tn_i_p(o->eqn)[0].u.i;
    if ((held & 3) == 3)
        *f = (form){square[k], 1, 2, 2};
    else if (held & 3)
        *f = (form){factor[k], 2, held & 1, 2};
    else
        *f = (form){term[k], 2, 0, 1};
}

/* held: not 0. */
static bool form_of(const tn_i_nest_op *o, unsigned held, form *f) {
    const tn_prim *p = o->eqn->prim;
    *f = (form){0};
    if (p->original) return false; /* copies that tests have broken */
    if (p->id == TN_P_integer_pow) return power(o, f);
    if (p->id == TN_P_fma) return contracted(o, held, f), true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *r = &rows[i];
        if (p->id != r->prim) continue;
        if (o->nin == 1)
            f->op = r->op;
        else if (held == 3 && r->both)
            f->op = r->both;
        else
            *f = (form){held & 1 ? r->op : r->reversed, 1, held & 1, 0};
        return true;
    }
    return false;
}

bool tn_i_nest_chainable(const maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->nest->op[v];
    form f;
    if (o->kind != TN_NEST_MAP || m->rate[v] != ELEMENT || m->code->tiny || !tn_i_chain_of(o->dtype, m->isa))
        return false;
    for (uint32_t i = 0; i < o->nin; i++)
        if (m->nest->op[o->in[i]].dtype != o->dtype) return false;
    return form_of(o, 1, &f);
}

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct run {
    maker *m;
    uint32_t first, last; /* instructions */
    uint32_t sinks;       /* first..sinks-1 with the sinks behind it that are links of it */
    tn_i_nest_chain chain;
    uint32_t slot[TN_CHAIN_SLOTS]; /* until which instruction it is taken */
    uint32_t nslot;
    bool full; /* more slots or ends than there are */
} run;

static const tn_i_nest_instr *instr(const run *r, uint32_t i) { return &r->m->code->instr[i]; }

static const tn_i_nest_op *op_of(const run *r, uint32_t i) { return &r->m->nest->op[instr(r, i)->out]; }

static bool maps(const run *r, uint32_t i) { return instr(r, i)->kind == TN_CODE_MAP; }

/* Operands of instruction i that are value v. */
static unsigned positions(const run *r, uint32_t i, uint32_t v) {
    const tn_i_nest_instr *e = instr(r, i);
    unsigned mask = 0;
    for (uint32_t k = 0; k < e->nin; k++)
        if (e->in[k] == v) mask |= 1u << k;
    return mask;
}

/* What is loaded where nothing is held: a factor that is squared, else a dense operand. */
static uint32_t begin_with(const tn_i_nest_instr *e) {
    if (e->nin > 1 && e->in[0] == e->in[1]) return e->in[0];
    for (uint32_t k = 0; k < e->nin; k++)
        if (e->s[k]) return e->in[k];
    return e->in[0];
}

/* Of two operands in memory. */
static bool anew(const run *r, uint32_t i, form *f) {
    const tn_i_nest_instr *e = instr(r, i);
    const int prim = op_of(r, i)->eqn->prim->id;
    if (e->nin != 2 || e->in[0] == e->in[1]) return false;
    *f = (form){prim == TN_P_add ? TN_LINK_SUM : prim == TN_P_sub ? TN_LINK_DIFFERENCE : TN_LINK_PRODUCT, 2, 0, 1};
    return prim == TN_P_add || prim == TN_P_sub || prim == TN_P_mul;
}

/* The form of instruction i when `held` is; what has to be loaded first, if anything. */
static form plan_link(const run *r, uint32_t i, uint32_t held, uint32_t *load) {
    unsigned mask = held == TN_NOVAR ? 0 : positions(r, i, held);
    form f;
    *load = TN_NOVAR;
    if (!mask && anew(r, i, &f)) return f;
    if (!mask) {
        *load = begin_with(instr(r, i));
        mask = positions(r, i, *load);
    }
    (void)form_of(op_of(r, i), mask, &f);
    return f;
}

static bool made_here(const run *r, uint32_t v) {
    return r->m->at[v] >= r->first && r->m->at[v] < r->last && r->m->code->value[v].where != TN_VALUE_MEMORY;
}

/* Something outside of the run reads v, or it is a result. */
static bool leaves(const run *r, uint32_t v) {
    return r->m->code->value[v].where == TN_VALUE_MEMORY || r->m->last[v] >= r->sinks;
}

static void mark(run *r, uint32_t v) { r->m->stored[v] = 1; }

/* Which values of the run are stored. */
static void find_stored(run *r) {
    uint32_t held = TN_NOVAR, load;
    for (uint32_t i = r->first; i < r->last; i++)
        if (maps(r, i)) r->m->stored[instr(r, i)->out] = leaves(r, instr(r, i)->out);
    for (uint32_t i = r->first; i < r->last; i++) {
        if (!maps(r, i)) continue;
        const tn_i_nest_instr *e = instr(r, i);
        const form f = plan_link(r, i, held, &load);
        if (load != TN_NOVAR) mark(r, load);
        if (f.nin > 0) mark(r, e->in[f.x]);
        if (f.nin > 1) mark(r, e->in[f.y]);
        held = e->out;
    }
}

static bool push(run *r, uint8_t op, tn_i_nest_link l, int x, int y) {
    tn_i_nest_code *c = r->m->code;
    if (!tn_i_grow(r->m->ctx, (void **)&c->link, &c->clink, c->nlink + 1, sizeof *c->link)) return false;
    l.fn = r->chain.set->link[op][x][y];
    c->link[c->nlink++] = l;
    return true;
}

/* Value v is read or written; outside of slots it is an end of the chain. */
static int touch(run *r, uint32_t v, bool writes) {
    tn_i_nest_code *c = r->m->code;
    if (r->m->slot[v] != TN_NOVAR) return TN_FROM_SLOT;
    for (uint32_t i = 0; i < r->chain.nend; i++) {
        tn_i_nest_end *k = &c->end[r->chain.end + i];
        if (k->value != v) continue;
        k->writes |= writes;
        k->uses++;
        return TN_FROM_DENSE;
    }
    r->full |= r->chain.nend == TN_CHAIN_SLOTS;
    if (!r->full)
        c->end[r->chain.end + r->chain.nend++] =
            (tn_i_nest_end){.value = v, .uses = 1, .reads = !writes, .writes = writes};
    return TN_FROM_DENSE;
}

/* Operand k of instruction i. */
static int operand(run *r, uint32_t i, uint32_t k, uint32_t *at) {
    const tn_i_nest_instr *e = instr(r, i);
    *at = e->in[k];
    return e->s[k] ? touch(r, *at, false) : TN_FROM_ONE;
}

static bool push_load(run *r, uint32_t i, uint32_t v) {
    uint32_t k = 0;
    tn_i_nest_link l = {0};
    while (instr(r, i)->in[k] != v) k++;
    const int from = operand(r, i, k, &l.x);
    return push(r, TN_LINK_LOAD, l, from, 0);
}

/* A slot that nothing reads any more. */
static void take_slot(run *r, uint32_t v, uint32_t i) {
    uint32_t s = 0;
    while (s < r->nslot && r->slot[s] > i) s++;
    r->full |= s == TN_CHAIN_SLOTS;
    if (r->full) return;
    if (s == r->nslot) r->nslot++;
    r->slot[s] = r->m->last[v];
    r->m->slot[v] = s;
}

static bool push_store(run *r, uint32_t v, uint32_t i) {
    if (!leaves(r, v)) take_slot(r, v, i);
    return push(r, TN_LINK_STORE, (tn_i_nest_link){.x = v}, touch(r, v, true), 0);
}

static bool push_folds(run *r, uint32_t v) {
    for (uint32_t i = r->last; i < r->sinks; i++) {
        const tn_i_nest_instr *e = instr(r, i);
        if (e->kind != TN_CODE_SINK || e->in[0] != v) continue;
        const tn_i_nest_link l = {.x = r->m->code->sink[e->sink].lane, .y = r->m->code->limit};
        if (!push(r, TN_LINK_FOLD, l, 0, 0)) return false;
    }
    return true;
}

/* Instruction i; what is held is `held`. */
static bool push_op(run *r, uint32_t i, uint32_t held) {
    const uint32_t v = instr(r, i)->out;
    uint32_t load;
    const form f = plan_link(r, i, held, &load);
    tn_i_nest_link l = {0};
    int x = 0, y = 0;
    if (load != TN_NOVAR && !push_load(r, i, load)) return false;
    if (f.nin > 0) x = operand(r, i, f.x, &l.x);
    if (f.nin > 1) y = operand(r, i, f.y, &l.y);
    return push(r, f.op, l, x, y) && (!r->m->stored[v] || push_store(r, v, i)) && push_folds(r, v);
}

static bool push_links(run *r) {
    enum { MOST_EACH = 8 };
    uint32_t held = TN_NOVAR;
    for (uint32_t i = r->first; i < r->last; i++) {
        if (!maps(r, i)) continue;
        if (!push_op(r, i, held)) return false;
        held = instr(r, i)->out;
        r->full |= r->m->code->nlink - r->chain.link > TN_CHAIN_LINKS - MOST_EACH;
        if (!r->full) continue;
        r->last = i;
        return true;
    }
    r->chain.nlink = (uint32_t)(r->m->code->nlink - r->chain.link) + 1;
    return push(r, TN_LINK_END, (tn_i_nest_link){0}, 0, 0);
}

/* Values without a tile are nowhere, as far as places go. */
static bool note_slots(run *r) {
    tn_i_nest_code *c = r->m->code;
    for (uint32_t i = r->first; i < r->last; i++) {
        const uint32_t v = instr(r, i)->out;
        if (!maps(r, i) || leaves(r, v)) continue;
        r->m->at[v] = TN_NOVAR;
        if (r->m->slot[v] == TN_NOVAR) continue;
        if (!tn_i_grow(r->m->ctx, (void **)&c->slot, &c->cslot, c->nslot + 1, sizeof *c->slot)) return false;
        c->slot[c->nslot++] = (tn_i_nest_slot){v, r->m->slot[v]};
    }
    return true;
}

/* ---- sinks ------------------------------------------------------------------------------------------ */

/* Sums of whole rows, of which each tile is part of one leaf and begins at lane 0. */
static bool sinks_into(const run *r, uint32_t i) {
    const tn_i_nest_instr *e = instr(r, i);
    const tn_i_nest *n = r->m->nest;
    if (e->kind != TN_CODE_SINK || !made_here(r, e->in[0]) || r->m->nest->op[e->in[0]].dtype != r->chain.dtype)
        return false;
    const tn_i_nest_sink *k = &r->m->code->sink[e->sink];
    return k->fold == TN_FOLD_SUM && !k->inner_kept && k->n == n->row && k->group[k->ngroup - 1] == n->row &&
           (!r->m->code->whole || n->rows == 1) && k->kept == 1;
}

static void take_sinks(run *r, uint32_t end) {
    tn_i_nest_code *c = r->m->code;
    enum { MOST = 4 };
    for (r->sinks = r->last; r->sinks < end && r->sinks < r->last + MOST && sinks_into(r, r->sinks); r->sinks++) {
        tn_i_nest_sink *k = &c->sink[instr(r, r->sinks)->sink];
        k->lane = c->nvalue++;
        if (c->limit == TN_NOVAR) c->limit = c->nvalue++;
    }
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

static bool chainable_instr(const run *r, uint32_t i) {
    const tn_i_nest_instr *e = instr(r, i);
    return e->kind == TN_CODE_MAP && e->out < r->m->nest->nop && tn_i_nest_chainable(r->m, e->out);
}

static bool nothing(const run *r, uint32_t i) { return instr(r, i)->kind == TN_CODE_STORE && instr(r, i)->nin == 0; }

/* From r->first on: as long as operations are of one dtype. */
static uint32_t find_run(run *r, uint32_t end) {
    uint32_t ops = 0;
    r->chain.dtype = instr(r, r->first)->dtype;
    for (r->last = r->first; r->last < end; r->last++) {
        if (nothing(r, r->last)) continue;
        if (!chainable_instr(r, r->last) || instr(r, r->last)->dtype != r->chain.dtype) break;
        if (ops++ == TN_CHAIN_LINKS) break;
    }
    return ops;
}

/* Nothing of a run that did not fit. */
static bool begin_chain(run *r, uint32_t end, uint32_t values) {
    tn_i_nest_code *c = r->m->code;
    c->nvalue = values;
    c->nlink = r->chain.link;
    r->chain.nend = r->nslot = 0;
    r->full = false;
    for (uint32_t i = r->first; i < r->last; i++)
        if (maps(r, i)) r->m->slot[instr(r, i)->out] = TN_NOVAR;
    take_sinks(r, end);
    find_stored(r);
    return tn_i_grow(r->m->ctx, (void **)&c->end, &c->cend, c->nend + TN_CHAIN_SLOTS, sizeof *c->end);
}

/* Cut where slots or ends are no longer enough, until they are. */
static bool make_chain(run *r, uint32_t end) {
    tn_i_nest_code *c = r->m->code;
    const uint32_t values = c->nvalue;
    r->chain.set = tn_i_chain_of(r->chain.dtype, r->m->isa);
    r->chain.link = (uint32_t)c->nlink;
    r->chain.end = (uint32_t)c->nend;
    r->chain.first = r->first;
    do {
        if (!begin_chain(r, end, values) || !push_links(r)) return false;
    } while (r->full);
    if (!note_slots(r)) return false;
    r->chain.last = r->sinks;
    c->nend += r->chain.nend;
    if (!tn_i_grow(r->m->ctx, (void **)&c->chain, &c->cchain, c->nchain + 1, sizeof *c->chain)) return false;
    c->chain[c->nchain++] = r->chain;
    return true;
}

static bool section_chains(maker *m, const tn_i_nest_section *part) {
    for (uint32_t i = part->first; i < part->last;) {
        run r = {.m = m, .first = i};
        if (!chainable_instr(&r, i)) {
            i++;
            continue;
        }
        if (find_run(&r, part->last) > 1 && !make_chain(&r, part->last)) return false;
        i = r.last;
    }
    return true;
}

bool tn_i_nest_chains(maker *m) {
    for (uint32_t p = 0; p < m->nest->nphase; p++)
        if (!section_chains(m, &m->code->elements[p])) return false;
    return true;
}

/* ---- the order --------------------------------------------------------------------------------------------- */

/* Operations of an element section are put so that runs are long: what a run does not make goes ahead of it, what it
 * makes for others than itself waits, both within limits, as tiles are kept for the time. */
typedef struct ordering {
    maker *m;
    uint32_t *out; /* the order */
    uint32_t *run, *after;
    uint32_t nout, nrun, nafter;
    uint32_t ahead, waits; /* loads in front of the run, functions behind it */
} ordering;
enum { IN_RUN = 1, AFTER = 2, MOST_AHEAD = 6, MOST_WAITS = 2 };

/* Whether all that v reads is in order, and whether `held` is among it. */
static bool ready(const maker *m, uint32_t v, uint32_t held, bool *holds) {
    const tn_i_nest_op *o = &m->nest->op[v];
    *holds = false;
    for (uint32_t i = 0; i < o->nin; i++) {
        if (m->mark[o->in[i]] == IN_RUN) return false;
        *holds |= o->in[i] == held;
    }
    return true;
}

/* The next operation of a run: the first that reads what is held, else the first that can be next. */
static uint32_t next_of(const ordering *z, uint32_t held) {
    enum { WINDOW = 12 };
    uint32_t next = TN_NOVAR;
    bool holds;
    for (uint32_t i = 0; i < z->nrun && i < WINDOW; i++) {
        if (!ready(z->m, z->run[i], held, &holds)) continue;
        if (holds) return i;
        if (next == TN_NOVAR) next = i;
    }
    return next;
}

static void flush(ordering *z) {
    uint32_t held = TN_NOVAR;
    while (z->nrun) {
        const uint32_t i = next_of(z, held);
        held = z->run[i];
        memmove(z->run + 1, z->run, i * sizeof *z->run);
        z->run++;
        z->nrun--;
        z->m->mark[z->out[z->nout++] = held] = 0;
    }
    z->run = z->m->order + z->m->nest->nop;
    for (uint32_t i = 0; i < z->nafter; i++) z->m->mark[z->out[z->nout++] = z->after[i]] = 0;
    z->nafter = z->ahead = z->waits = 0;
}

/* The latest of what operation v reads that is not yet in order. */
static uint8_t waits_for(const maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->nest->op[v];
    uint8_t mark = 0;
    for (uint32_t i = 0; i < o->nin; i++)
        if (m->mark[o->in[i]] > mark) mark = m->mark[o->in[i]];
    return mark;
}

static void wait(ordering *z, uint32_t v) {
    z->after[z->nafter++] = v;
    z->m->mark[v] = AFTER;
}

static void join_run(ordering *z, uint32_t v, uint8_t mark) {
    const tn_i_nest_op *op = z->m->nest->op;
    if (mark == AFTER || (z->nrun && op[z->run[0]].dtype != op[v].dtype)) flush(z);
    z->run[z->nrun++] = v;
    z->m->mark[v] = IN_RUN;
}

static void place_in_order(ordering *z, uint32_t v) {
    const uint8_t kind = z->m->nest->op[v].kind, mark = waits_for(z->m, v);
    if (tn_i_nest_chainable(z->m, v)) {
        join_run(z, v, mark);
        return;
    }
    const bool behind = mark || kind == TN_NEST_STORE;
    if (behind ? kind == TN_NEST_MAP && z->waits++ == MOST_WAITS : z->ahead++ == MOST_AHEAD) flush(z);
    if (behind && z->nrun)
        wait(z, v);
    else
        z->out[z->nout++] = v;
}

void tn_i_nest_order(maker *m, uint32_t *ops, uint32_t n) {
    ordering z = {
        .m = m, .out = m->order, .run = m->order + m->nest->nop, .after = m->order + 2 * (size_t)m->nest->nop};
    for (uint32_t i = 0; i < n; i++) place_in_order(&z, ops[i]);
    flush(&z);
    for (uint32_t i = 0; i < n; i++) ops[i] = z.out[i];
}

/* ---- running them ------------------------------------------------------------------------------------------- */

void tn_i_nest_open_desk(const tn_i_nest_code *code, tn_i_nest_desk *desk, char **at) {
    for (size_t i = 0; i < code->nslot; i++) at[code->slot[i].value] = desk->slot[code->slot[i].slot];
    if (code->limit != TN_NOVAR) at[code->limit] = (char *)&desk->limit;
}

/* The links with addresses. */
static const tn_i_link *address(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk,
                                char *const *at) {
    const tn_i_nest_link *l = code->link + k->link;
    for (uint32_t i = 0; i < k->nlink; i++) desk->link[i] = (tn_i_link){l[i].fn, at[l[i].x], at[l[i].y]};
    return desk->link;
}

/* The last block, of `left` bytes from byte `done` on. */
static void run_rest(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk, char **at,
                     int64_t done, int64_t left) {
    const tn_i_nest_end *end = code->end + k->end;
    char *old[TN_CHAIN_SLOTS];
    for (uint32_t i = 0; i < k->nend; i++) {
        const tn_i_nest_end *e = &end[i];
        char *from = at[e->value] + done;
        old[i] = at[e->value];
        at[e->value] = e->roomy ? from : desk->end[i];
        if (!e->roomy && e->reads) k->set->widen(desk->end[i], from, left);
    }
    desk->limit = left;
    k->set->run(address(code, k, desk, at), 0, k->set->block);
    for (uint32_t i = 0; i < k->nend; i++) {
        const tn_i_nest_end *e = &end[i];
        at[e->value] = old[i];
        if (e->writes && !e->roomy) k->set->narrow(old[i] + done, desk->end[i], left);
    }
}

/* Some elements may be computed twice: none is folded, or read where one is written. */
static bool repeatable(const tn_i_nest_code *code, const tn_i_nest_chain *k, char *const *at) {
    const tn_i_nest_end *e = code->end + k->end, *last = e + k->nend, *x;
    if (k->sink[0] < k->sink[1]) return false;
    for (; e < last; e++)
        for (x = code->end + k->end; e->writes && x < last; x++)
            if (x->reads && at[x->value] == at[e->value]) return false;
    return true;
}

/* Where the second block may begin so that most of what is read and written is aligned from there on. */
static int64_t second_block(const tn_i_nest_code *code, const tn_i_nest_chain *k, char *const *at) {
    enum { LINE = 64, LEAST = 4 };
    uint32_t uses[LINE / LEAST] = {0}, best = 0;
    for (uint32_t i = 0; i < k->nend; i++) {
        const tn_i_nest_end *e = &code->end[k->end + i];
        uses[(uintptr_t)at[e->value] % LINE / LEAST] += e->uses;
    }
    for (uint32_t i = 1; i < LINE / LEAST; i++)
        if (uses[i] > uses[best]) best = i;
    return k->set->block - best * LEAST;
}

/* What is no whole number of blocks: the first and the last one may overlap others. */
static void run_overlapping(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk, char **at,
                            int64_t bytes) {
    const int64_t block = k->set->block, second = second_block(code, k, at);
    const tn_i_link *link = address(code, k, desk, at);
    int64_t done = 0;
    if (second < block) done = k->set->run(link, 0, block) - block + second;
    done = k->set->run(link, done, bytes);
    if (done < bytes) (void)k->set->run(link, bytes - block, bytes);
}

/* Addresses are made for the first of some pieces. */
void tn_i_nest_run_chain(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk, char **at,
                         int64_t from, int64_t n) {
    const int64_t size = k->dtype == TN_F64 ? 8 : 4, bytes = (from + n) * size, block = k->set->block;
    int64_t done = from * size;
    desk->limit = bytes;
    if (from == 0 && bytes > block && bytes % block && repeatable(code, k, at)) {
        run_overlapping(code, k, desk, at, bytes);
        return;
    }
    if (from == 0 && bytes >= block) (void)address(code, k, desk, at);
    if (bytes - done >= block) done = k->set->run(desk->link, done, bytes);
    if (done < bytes) run_rest(code, k, desk, at, done, bytes - done);
}
