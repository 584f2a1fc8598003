/* The operations of a chain in another order: depth first.
 *
 * Chains have three registers, and a value that is read late is stored and loaded again, which takes as long as several
 * operations.  What nest_chain.c puts in order follows the program, in which much is made before any of it is read.  So
 * a run is tried once more with each operation right behind its operands, of which the one that needs most registers
 * comes first (Sethi and Ullman's order, exact for trees), and keeps the order whose links cost less. */
#include "exec/nest_links.h"

#include <string.h>

typedef tn_i_nest_run run;

enum { MOST = TN_CHAIN_LINKS };

/* Places are counted from the run's first one. */
typedef struct order {
    const run *r;
    uint32_t n, nlist;
    uint32_t list[MOST]; /* the new order */
    uint32_t to[MOST];   /* where each is in it, or TN_NOVAR */
    uint32_t need[MOST]; /* registers that making it takes */
} order;

static const tn_i_nest_instr *at(const order *z, uint32_t i) { return tn_i_run_instr(z->r, z->r->first + i); }

/* The place of what makes v, or TN_NOVAR. */
static uint32_t maker_of(const order *z, uint32_t v) {
    const uint32_t i = z->r->m->at[v] - z->r->first;
    return i < z->n && tn_i_run_maps(z->r, z->r->first + i) && at(z, i)->out == v ? i : TN_NOVAR;
}

/* Operands of operation i that are made here, each once, the neediest first. */
static uint32_t operands(const order *z, uint32_t i, uint32_t *of) {
    const tn_i_nest_instr *e = at(z, i);
    uint32_t n = 0;
    for (uint32_t k = 0; k < e->nin; k++) {
        const uint32_t x = maker_of(z, e->in[k]);
        uint32_t j = n;
        bool skip = x == TN_NOVAR;
        for (uint32_t l = 0; l < n; l++) skip |= of[l] == x;
        if (skip) continue;
        for (n++; j > 0 && z->need[of[j - 1]] < z->need[x]; j--) of[j] = of[j - 1];
        of[j] = x;
    }
    return n;
}

static void count_needs(order *z) {
    for (uint32_t i = 0; i < z->n; i++) {
        uint32_t of[4];
        const uint32_t n = tn_i_run_maps(z->r, z->r->first + i) ? operands(z, i, of) : 0;
        z->need[i] = 1;
        for (uint32_t k = 0; k < n; k++)
            if (z->need[of[k]] + k > z->need[i]) z->need[i] = z->need[of[k]] + k;
    }
}

/* Operation i behind all that it is made of. */
static void put(order *z, uint32_t i) {
    uint32_t stack[MOST], depth = 0;
    if (z->to[i] != TN_NOVAR) return;
    stack[depth++] = i;
    while (depth) {
        uint32_t of[4], k = 0;
        const uint32_t x = stack[depth - 1], n = operands(z, x, of);
        while (k < n && z->to[of[k]] != TN_NOVAR) k++;
        if (k < n) {
            stack[depth++] = of[k];
            continue;
        }
        depth--;
        z->to[x] = z->nlist;
        z->list[z->nlist++] = x;
    }
}

/* Results in the order that they had; stores that do nothing come last. */
static void put_all(order *z) {
    bool read[MOST] = {false};
    for (uint32_t i = 0; i < z->n; i++)
        for (uint32_t k = 0; tn_i_run_maps(z->r, z->r->first + i) && k < at(z, i)->nin; k++) {
            const uint32_t x = maker_of(z, at(z, i)->in[k]);
            if (x != TN_NOVAR) read[x] = true;
        }
    for (uint32_t i = 0; i < z->n; i++) z->to[i] = TN_NOVAR;
    for (uint32_t i = 0; i < z->n; i++)
        if (!read[i] && tn_i_run_maps(z->r, z->r->first + i)) put(z, i);
    for (uint32_t i = 0; i < z->n; i++)
        if (z->to[i] == TN_NOVAR) z->to[i] = z->nlist, z->list[z->nlist++] = i;
}

static bool reads_from(const order *z, uint32_t i, const tn_i_nest_array *a) {
    const tn_i_nest *n = z->r->m->nest;
    const tn_i_nest_instr *e = at(z, i);
    for (uint32_t k = 0; tn_i_run_maps(z->r, z->r->first + i) && k < e->nin; k++)
        if (e->in[k] < n->nop && tn_i_nest_may_share(n, &n->op[e->in[k]], a)) return true;
    return false;
}

/* Whether what may be written over is still read before that. */
static bool reads_first(const order *z) {
    const tn_i_nest_value *value = z->r->m->code->value;
    for (uint32_t i = 0; i < z->n; i++) {
        if (!tn_i_run_maps(z->r, z->r->first + i) || value[at(z, i)->out].where != TN_VALUE_MEMORY) continue;
        const tn_i_nest_array *a = &z->r->m->nest->array[value[at(z, i)->out].array];
        for (uint32_t j = 0; j < i; j++)
            if (z->to[j] > z->to[i] && reads_from(z, j, a)) return false;
    }
    return true;
}

bool tn_i_run_deepen(const run *r, uint32_t *list) {
    order z = {.r = r, .n = r->last - r->first};
    bool moves = false;
    if (z.n > MOST) return false;
    count_needs(&z);
    put_all(&z);
    for (uint32_t i = 0; i < z.n; i++) moves |= z.list[i] != i;
    if (!moves || !reads_first(&z)) return false;
    memcpy(list, z.list, z.n * sizeof *list);
    return true;
}

/* When values are made and read last, once the operations of the run have moved. */
static void note_places(const run *r) {
    maker *m = r->m;
    for (uint32_t i = r->first; i < r->last; i++) {
        const tn_i_nest_instr *e = tn_i_run_instr(r, i);
        const bool maps = tn_i_run_maps(r, i);
        if (maps) m->at[e->out] = i;
        if (maps && m->last[e->out] < r->last) m->last[e->out] = i;
        for (uint32_t k = 0; k < (maps ? e->nin : 1u); k++) /* 1: what a store would store that does nothing */
            if (m->last[e->in[k]] < r->last) m->last[e->in[k]] = i;
    }
}

bool tn_i_run_arrange(const run *r, const uint32_t *list) {
    const uint32_t n = r->last - r->first;
    tn_i_nest_instr *instr = r->m->code->instr + r->first;
    tn_i_nest_instr *old = tn_i_alloc_array(r->m->ctx, n, sizeof *old);
    if (!old) return false;
    memcpy(old, instr, n * sizeof *old);
    for (uint32_t i = 0; i < n; i++) instr[i] = old[list[i]];
    tn_i_free(r->m->ctx, old, n * sizeof *old);
    note_places(r);
    return true;
}
