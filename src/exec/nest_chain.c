/* Chains in the code of a nest: which of its operations become one instruction, and what its links are.
 *
 * A *run* is a sequence of cheap operations on one dtype that stand side by side in an element section.  Values that
 * only a run reads have no tile: they are held from one link to the next, or in a slot of one block. */
#include "exec/nest_links.h"

#include <string.h>

typedef tn_i_nest_run run;

bool tn_i_nest_chainable(const maker *m, uint32_t v) {
    const tn_i_nest_op *o = &m->nest->op[v];
    const tn_i_chain_set *set = tn_i_chain_of(o->dtype, m->isa);
    if (o->kind != TN_NEST_MAP || m->rate[v] != ELEMENT || m->code->tiny || !set) return false;
    for (uint32_t i = 0; i < o->nin; i++)
        if (m->nest->op[o->in[i]].dtype != o->dtype) return false;
    return tn_i_links_do(set, o);
}

/* ---- one run --------------------------------------------------------------------------------- */

static const tn_i_nest_instr *instr(const run *r, uint32_t i) { return tn_i_run_instr(r, i); }

static bool made_here(const run *r, uint32_t v) {
    return r->m->at[v] >= r->first && r->m->at[v] < r->last && r->m->code->value[v].where != TN_VALUE_MEMORY;
}

/* Values without a tile are nowhere, as far as places go. */
static bool note_slots(run *r) {
    tn_i_nest_code *c = r->m->code;
    for (uint32_t i = r->first; i < r->last; i++) {
        const uint32_t v = instr(r, i)->out;
        if (!tn_i_run_maps(r, i) || tn_i_run_leaves(r, v)) continue;
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
    r->chain.nend = r->nslot = r->cost = 0;
    r->full = false;
    take_sinks(r, end);
    return tn_i_grow(r->m->ctx, (void **)&c->end, &c->cend, c->nend + TN_CHAIN_SLOTS, sizeof *c->end);
}

/* Cut where slots or ends are no longer enough, until they are. */
static bool make_links(run *r, uint32_t end, uint32_t values) {
    do {
        if (!begin_chain(r, end, values) || !tn_i_links_make(r)) return false;
    } while (r->full);
    return true;
}

static void weigh_ends(const run *r) {
    enum { ALL = 15 };
    tn_i_nest_end *end = r->m->code->end + r->chain.end;
    uint32_t uses = 0;
    for (uint32_t i = 0; i < r->chain.nend; i++) uses += end[i].uses;
    for (uint32_t i = 0; i < r->chain.nend; i++) end[i].weight = uses > ALL ? end[i].uses * ALL / uses : end[i].uses;
}

/* In another order, if its links cost less. */
static bool try_order(run *r, uint32_t end, uint32_t values) {
    uint32_t list[TN_CHAIN_LINKS], back[TN_CHAIN_LINKS];
    const uint32_t cost = r->cost, last = r->last;
    if (!tn_i_run_deepen(r, list)) return true;
    for (uint32_t i = 0; i < last - r->first; i++) back[list[i]] = i;
    if (!tn_i_run_arrange(r, list) || !make_links(r, end, values)) return false;
    if (r->last == last && r->cost < cost) return true;
    r->last = last;
    return tn_i_run_arrange(r, back) && make_links(r, end, values);
}

static bool make_chain(run *r, uint32_t end) {
    tn_i_nest_code *c = r->m->code;
    const uint32_t values = c->nvalue;
    r->chain.set = tn_i_chain_of(r->chain.dtype, r->m->isa);
    r->chain.link = (uint32_t)c->nlink;
    r->chain.end = (uint32_t)c->nend;
    r->chain.first = r->first;
    if (!make_links(r, end, values) || !try_order(r, end, values) || !note_slots(r)) return false;
    weigh_ends(r);
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
}

void tn_i_nest_address(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk, char *const *at) {
    const tn_i_nest_link *l = code->link + k->link;
    for (uint32_t i = 0; i < k->nlink; i++) desk->link[i] = (tn_i_link){l[i].to, at[l[i].x], l[i].moves};
}

/* The last block, of `left` bytes from byte `done` on. */
static void run_rest(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk, char **at,
                     int64_t done, int64_t left) {
    const tn_i_nest_end *end = code->end + k->end;
    const int64_t lane = done % (TN_LANES * (k->dtype == TN_F64 ? 8 : 4)); /* that it begins with */
    char *old[TN_CHAIN_SLOTS];
    for (uint32_t i = 0; i < k->nend; i++) {
        const tn_i_nest_end *e = &end[i];
        char *from = at[e->value] + done;
        old[i] = at[e->value];
        at[e->value] = (e->roomy ? from : desk->end[i]) - lane;
        if (!e->roomy && e->reads) k->set->widen(desk->end[i], from, left);
    }
    tn_i_nest_address(code, k, desk, at);
    k->set->run(desk->link, lane, lane + k->set->block, lane + left);
    for (uint32_t i = 0; i < k->nend; i++) {
        const tn_i_nest_end *e = &end[i];
        at[e->value] = old[i];
        if (e->writes && !e->roomy) k->set->narrow(old[i] + done, desk->end[i], left);
    }
}

/* Some elements may be computed twice: none is folded, or read where one is written. */
static bool repeatable(const tn_i_nest_code *code, const tn_i_nest_chain *k, char *const *at) {
    const tn_i_nest_end *e = code->end + k->end, *last = e + k->nend, *x;
    bool same = k->sink[0] < k->sink[1];
    for (; e < last; e++)
        for (x = code->end + k->end; e->writes && x < last; x++) same |= x->reads && at[x->value] == at[e->value];
    return !same;
}

/* Where the second block may begin so that most of what is read and written is aligned from there on.  Each place of a
 * number in a line has four bits of a word, where uses of what begins there are counted: 15 of them at most. */
static int64_t second_block(const tn_i_nest_code *code, const tn_i_nest_chain *k, char *const *at) {
    enum { PLACE = 60, FOUR = 15 };
    uint64_t uses = 0, most = 0;
    int64_t place = 0;
    const tn_i_nest_end *first = code->end + k->end, *last = first + k->nend;
    for (const tn_i_nest_end *e = first; e < last; e++) uses += e->weight << ((uintptr_t)at[e->value] & PLACE);
    for (const tn_i_nest_end *e = first; e < last; e++) {
        const int64_t here = (int64_t)((uintptr_t)at[e->value] & PLACE);
        const uint64_t n = uses >> here & FOUR;
        if (n > most) most = n, place = here;
    }
    return k->set->block - place;
}

/* What is no whole number of blocks: the first and the last one may overlap others. */
static void run_overlapping(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk, char *const *at,
                            int64_t bytes) {
    const int64_t block = k->set->block, second = second_block(code, k, at);
    int64_t done = 0;
    if (second < block) done = k->set->run(desk->link, 0, block, block) - block + second;
    done = k->set->run(desk->link, done, bytes, bytes);
    if (done < bytes) (void)k->set->run(desk->link, bytes - block, bytes, bytes);
}

void tn_i_nest_run_chain(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk, char **at,
                         int64_t first, int64_t n) {
    const int64_t size = k->dtype == TN_F64 ? 8 : 4, end = (first + n) * size, block = k->set->block;
    if (first == 0 && end > block && (end & (block - 1)) && repeatable(code, k, at)) {
        run_overlapping(code, k, desk, at, end);
        return;
    }
    const int64_t done = k->set->run(desk->link, first * size, end, end);
    if (done < end) run_rest(code, k, desk, at, done, end - done);
}

void tn_i_nest_fold_chain(const tn_i_nest_code *code, const tn_i_nest_chain *k, tn_i_nest_desk *desk, char **at,
                          const tn_i_nest_folding *z, int64_t n) {
    for (int64_t i = 0, leaf; i < n; i += leaf) {
        const int64_t e = z->first + i;
        leaf = TN_LEAF - e % TN_LEAF < n - i ? TN_LEAF - e % TN_LEAF : n - i;
        for (uint32_t j = k->sink[0]; j < k->sink[1]; j++) tn_i_sink_begin(&code->sink[code->sunk[j]], z->scratch, e);
        tn_i_nest_run_chain(code, k, desk, at, i, leaf);
        for (uint32_t j = k->sink[0]; j < k->sink[1]; j++) {
            const tn_i_nest_sink *s = &code->sink[code->sunk[j]];
            char *out = s->out == TN_NOVAR ? NULL : at[s->out];
            tn_i_sink_end(code, s, z->scratch, z->all, z->data, z->row, e, leaf, out);
        }
    }
}
