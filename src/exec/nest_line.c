/* Nests that are one chain over one row: they have neither tiles nor blocks, and no values but those of the chain.
 *
 * What their running takes besides the links is to be little, for a row of a thousand elements is gone through in a
 * third of a microsecond.  So it is listed when the code is made where each address that the chain works with comes
 * from, and a call does no more than add these up. */
#include "exec/nest_make.h"

#include <string.h>

/* ---- making ------------------------------------------------------------------------------- */

typedef struct lister {
    tn_ctx *ctx;
    tn_i_nest_code *code;
    bool *listed; /* of each value */
} lister;

static void list(lister *z, uint32_t value, uint8_t kind, uint32_t array, int64_t bytes) {
    tn_i_nest_code *c = z->code;
    z->listed[value] = true;
    c->anchor[c->nanchor++] = (tn_i_nest_anchor){value, kind, array, bytes};
}

static uint32_t slot_of(const tn_i_nest_code *c, uint32_t v) {
    for (size_t i = 0; i < c->nslot; i++)
        if (c->slot[i].value == v) return c->slot[i].slot;
    return TN_NOVAR;
}

/* Numbers are read where the code has them. */
static void list_value(lister *z, uint32_t v) {
    const tn_i_nest_code *c = z->code;
    const tn_i_nest_value *k = &c->value[v];
    const uint32_t slot = slot_of(c, v);
    if (z->listed[v]) return;
    if (slot != TN_NOVAR)
        list(z, v, TN_ANCHOR_SLOT, 0, (int64_t)slot * TN_CHAIN_BLOCK);
    else if (k->where == TN_VALUE_MEMORY)
        list(z, v, TN_ANCHOR_ARRAY, k->array, 0);
    else if (k->where == TN_VALUE_SCRATCH && k->offset >= c->once_at && k->offset < c->once_at + 8 * (size_t)c->nonce)
        list(z, v, TN_ANCHOR_CODE, 0, (int64_t)(k->offset - c->once_at));
    else
        list(z, v, TN_ANCHOR_SCRATCH, 0, (int64_t)k->offset);
}

/* Numbers that are loaded once are where they would be copied to. */
static bool list_loads(lister *z) {
    tn_i_nest_code *c = z->code;
    const uint32_t n = c->once.last - c->once.first;
    if (!n) return true;
    c->load = tn_i_alloc_array(z->ctx, c->nop + 1, sizeof *c->load);
    if (!c->load) return false;
    for (uint32_t i = c->once.first; i < c->once.last; i++) {
        const tn_i_nest_instr *e = &c->instr[i];
        const size_t at = c->value[e->out].offset;
        c->load[c->nload++] = (tn_i_scalar_move){e->array, (uint32_t)at, e->size, 0};
        list(z, e->out, TN_ANCHOR_SCRATCH, 0, (int64_t)at);
    }
    return true;
}

/* Sums are left where they are to be stored. */
static void list_all(lister *z) {
    const tn_i_nest_code *c = z->code;
    for (uint32_t i = c->row[0].first; i < c->row[0].last; i++)
        list(z, c->instr[i].in[0], TN_ANCHOR_ARRAY, c->instr[i].array, 0);
    for (uint32_t i = 0; i < c->chain->nlink; i++) list_value(z, c->link[c->chain->link + i].x);
    for (uint32_t i = 0; i < c->nsunk; i++) list_value(z, c->sink[c->sunk[i]].out);
}

static bool is_sum(const tn_i_nest_code *c, uint32_t v) {
    for (uint32_t i = 0; i < c->nsunk; i++)
        if (c->sink[c->sunk[i]].out == v) return true;
    return false;
}

/* Each sum goes to one place. */
static bool only_sums(const tn_i_nest_code *c) {
    for (uint32_t i = c->row[0].first; i < c->row[0].last; i++) {
        const tn_i_nest_instr *e = &c->instr[i];
        if (e->kind != TN_CODE_STORE || !is_sum(c, e->in[0])) return false;
        for (uint32_t j = c->row[0].first; j < i; j++)
            if (c->instr[j].in[0] == e->in[0]) return false;
    }
    for (uint32_t i = 0; i < c->nsunk; i++)
        if (c->sink[c->sunk[i]].out == TN_NOVAR || c->sink[c->sunk[i]].leaves) return false;
    return true;
}

static bool only_loads(const tn_i_nest_code *c) {
    for (uint32_t i = c->once.first; i < c->once.last; i++)
        if (c->instr[i].kind != TN_CODE_LOAD || c->instr[i].lasting) return false;
    return true;
}

static bool is_line(const tn_i_nest *n, const tn_i_nest_code *c) {
    const tn_i_nest_section *e = &c->elements[0];
    if (c->scalar || c->tiny || c->nparts || c->threads > 1 || n->rows != 1 || n->nphase != 1) return false;
    if (c->nchain != 1 || e->last != e->first + 1 || c->instr[e->first].kind != TN_CODE_CHAIN) return false;
    if (c->before.first != c->before.last || !(c->whole || c->reach >= n->row)) return false;
    for (uint32_t i = 0; i < c->nmoving; i++) {
        const tn_i_nest_value *v = &c->value[c->moving[i]];
        if (v->where != TN_VALUE_MEMORY || c->walk[v->walk].n != 1) return false;
    }
    return only_loads(c) && only_sums(c);
}

bool tn_i_line_make(tn_ctx *ctx, const tn_i_nest *n, tn_i_nest_code *c) {
    lister z = {.ctx = ctx, .code = c};
    if (!is_line(n, c)) return true;
    z.listed = tn_i_alloc_array(ctx, c->nvalue + 1u, sizeof *z.listed);
    c->canchor = c->nvalue + 1u;
    c->anchor = tn_i_alloc_array(ctx, c->canchor, sizeof *c->anchor);
    const bool ok = z.listed && c->anchor && list_loads(&z);
    if (ok) {
        list_all(&z);
        c->line = n->row;
    }
    tn_i_free(ctx, z.listed, (c->nvalue + 1u) * sizeof *z.listed);
    return ok;
}

/* ---- running ------------------------------------------------------------------------------ */

/* False where an output is not wanted. */
static bool find_addresses(const tn_i_nest_code *c, char *const *data, char *scratch, tn_i_nest_desk *desk) {
    char *const own[] = {
        [TN_ANCHOR_CODE] = (char *)c->constant, [TN_ANCHOR_SCRATCH] = scratch, [TN_ANCHOR_SLOT] = desk->slot[0]};
    char **at = (char **)(void *)scratch;
    for (uint32_t i = 0; i < c->nanchor; i++) {
        const tn_i_nest_anchor *a = &c->anchor[i];
        char *from = a->kind == TN_ANCHOR_ARRAY ? data[a->array] : own[a->kind];
        if (!from) return false;
        at[a->value] = from + a->bytes;
    }
    return true;
}

bool tn_i_line_run(const tn_i_nest_code *c, char *const *data, char *scratch) {
    tn_i_nest_desk desk;
    char **at = (char **)(void *)scratch;
    if (!find_addresses(c, data, scratch, &desk)) return false;
    for (uint32_t i = 0; i < c->nload; i++) {
        const tn_i_scalar_move *x = &c->load[i];
        memcpy(scratch + x->at, data[x->array] + x->from, x->size);
    }
    tn_i_nest_address(c, c->chain, &desk, at);
    if (c->nsunk)
        tn_i_nest_fold_chain(c, c->chain, &desk, at, &(tn_i_nest_folding){scratch, scratch, data, 0, 0}, c->line);
    else
        tn_i_nest_run_chain(c, c->chain, &desk, at, 0, c->line);
    return true;
}
