/* Where values are: variables, arrays of a block, or, what one function leaves for another, members of `live`. */
#include "cgen/inside.h"

#include <string.h>

enum { RUN = 256 }; /* operations of one loop over a block */

/* ---- loops over a block ---- */

static bool cuts(const tn_i_l_op *o) {
    return o->kind == TN_L_FOR || o->kind == TN_L_IF || o->kind == TN_L_ELSE || o->kind == TN_L_END ||
           o->kind == TN_L_WHILE || o->kind == TN_L_CARRY || o->kind == TN_L_LAST || o->kind == TN_L_HALVES ||
           o->kind == TN_L_JOIN;
}

/* What is one number for the whole block is computed in front of the loop, so not behind a store in it. */
static void find_runs(tn_i_cwriter *w) {
    uint32_t run = 1, fn = 0, n = 0;
    bool stored = false;
    for (uint32_t k = 0; k < w->p->nop; k++) {
        const tn_i_l_op *o = &w->p->op[k];
        tn_i_cnote *x = &w->note[k];
        if (x->lanes == TN_L_NONE || cuts(o)) {
            run++, n = 0, stored = false;
            continue;
        }
        if (!x->needed || o->kind == TN_L_NUMBER) {
            x->run = x->fn == fn ? run : 0;
            continue;
        }
        const bool call = x->call && x->varies, next = o->kind == TN_L_NEXT && o[-1].kind != TN_L_NEXT;
        if (call || x->fn != fn || n == RUN || (stored && !x->varies && o->kind == TN_L_LOAD) ||
            (next && w->note[x->block].keeps))
            run++, n = 0, stored = false;
        fn = x->fn;
        x->run = run;
        n++;
        stored |= o->kind == TN_L_STORE;
        if (call) run++, n = 0;
    }
}

/* ---- who reads what ---- */

typedef struct lives {
    tn_i_cwriter *w;
    uint32_t *last; /* where a value of several functions is read last; 0: it is of one */
    uint32_t *next; /* values that are read last at one operation */
    uint32_t *end;
} lives;

static uint32_t loop_outside(const lives *z, uint32_t k, uint32_t of) {
    const tn_i_cwriter *w = z->w;
    uint32_t outer = k;
    const uint32_t stop = w->note[of].block;
    for (uint32_t b = w->note[k].block; b != TN_L_NONE && b != stop; b = w->note[b].block)
        if (w->p->op[b].kind == TN_L_FOR && (stop == TN_L_NONE || b > stop)) outer = w->p->op[b].to;
    return outer;
}

/* Operation k, written in function fn and the loop `run` over the block, reads v. */
static void reads(lives *z, uint32_t k, uint32_t v, uint32_t run) {
    tn_i_cwriter *w = z->w;
    if (v == TN_L_NONE || w->p->op[v].kind == TN_L_NUMBER) return;
    v = tn_i_c_root(w->p, v);
    if (w->p->op[v].kind == TN_L_NUMBER) return;
    tn_i_cnote *d = &w->note[v];
    if (d->varies && (!run || run != d->run)) d->array = true;
    const uint32_t until = loop_outside(z, k, v);
    if (d->fn != w->note[k].fn && d->slot == TN_L_NONE) d->slot = 0;
    if (until > z->last[v]) z->last[v] = until;
}

static void look_at(lives *z, uint32_t k) {
    tn_i_cwriter *w = z->w;
    const tn_i_l_op *o = &w->p->op[k];
    tn_i_cnote *n = &w->note[k];
    const uint32_t behind = n->behind;
    switch (o->kind) {
    case TN_L_LAST: /* the carry */ reads(z, k, k, 0); return;
    case TN_L_HALVES: /* read at the end of the loop */
        if (n->varies) n->array = true;
        reads(z, w->p->op[behind].to, o->in[0], 0);
        return;
    case TN_L_JOIN:
    case TN_L_CARRY:
        if (n->varies) n->array = true;
        if (o->kind == TN_L_CARRY && w->p->op[n->block].to > z->last[k]) z->last[k] = w->p->op[n->block].to;
        break;
    case TN_L_MAP:
        if (n->call && n->varies) n->array = true;
        break;
    default: break;
    }
    const uint32_t run = o->kind == TN_L_JOIN || o->kind == TN_L_CARRY ? 0 : n->run;
    for (int i = 0; i < 3; i++) reads(z, k, o->in[i], run);
}

/* ---- members of `live` ---- */

static int type_of(const tn_i_cwriter *w, uint32_t k) { return w->p->op[k].dtype; }

static void free_ended(lives *z, uint32_t k, uint32_t root, uint32_t *unused, uint32_t *chain) {
    for (uint32_t v = z->end[k]; v != TN_L_NONE; v = z->next[v]) {
        const int t = type_of(z->w, v);
        if (z->w->fn[z->w->note[v].fn].root != root) continue;
        chain[v] = unused[t];
        unused[t] = v;
    }
}

/* unused: values whose members may be had again, by dtype, of the function that v's `live` is of. */
static void give(lives *z, uint32_t v, uint32_t *unused, uint32_t *chain) {
    tn_i_cwriter *w = z->w;
    tn_i_cnote *n = &w->note[v];
    if (!n->needed || n->slot == TN_L_NONE) return;
    const int t = type_of(w, v);
    tn_i_cpiece *root = &w->fn[w->fn[n->fn].root];
    root->has_live = true;
    if (w->p->op[v].kind == TN_L_REDUCE) return; /* a member of its own */
    if (n->array) {
        n->slot = (uint32_t)root->live[t];
        root->live[t] += (size_t)tn_i_c_room(w, n->lanes);
        return;
    }
    if (unused[t] != TN_L_NONE) {
        n->slot = w->note[unused[t]].slot;
        unused[t] = chain[unused[t]];
    } else
        n->slot = (uint32_t)root->live[t]++;
    z->next[v] = z->end[z->last[v]];
    z->end[z->last[v]] = v;
}

/* Functions of one root stand together, so that members are had again within one. */
static void give_all(lives *z, uint32_t *chain) {
    tn_i_cwriter *w = z->w;
    uint32_t unused[TN_NDTYPES], root = TN_L_NONE;
    for (uint32_t k = 0; k < w->p->nop; k++) {
        const uint32_t now = w->fn[w->note[k].fn].root;
        const tn_i_l_op *o = &w->p->op[k];
        if (now != root) memset(unused, 0xFF, sizeof unused);
        root = now;
        if (k) free_ended(z, k - 1, root, unused, chain);
        if (o->kind == TN_L_FOR)
            for (uint32_t c = k + 1; w->p->op[c].kind == TN_L_CARRY; c++) give(z, c, unused, chain);
        if (o->kind == TN_L_IF) {
            const uint32_t end = w->p->op[o->to].kind == TN_L_END ? o->to : w->p->op[o->to].to;
            for (uint32_t j = end + 1; j < w->p->nop && w->p->op[j].kind == TN_L_JOIN; j++) give(z, j, unused, chain);
        }
        if (tn_i_l_has_value(o) ? o->kind != TN_L_CARRY && o->kind != TN_L_JOIN : o->kind == TN_L_REDUCE)
            give(z, k, unused, chain);
    }
}

/* Loops around functions: their numbers. */
static void give_loops(tn_i_cwriter *w) {
    for (uint32_t f = 1; f < w->nfn; f++) {
        const tn_i_cpiece *z = &w->fn[f];
        if (z->part != TN_L_NONE) continue;
        tn_i_cpiece *root = &w->fn[z->root];
        root->has_live = true;
        for (uint32_t b = w->note[z->first].block; b != TN_L_NONE; b = w->note[b].block) {
            tn_i_cnote *n = &w->note[b];
            if (w->p->op[b].kind != TN_L_FOR || n->slot != TN_L_NONE || !(n->counted || n->blocks)) continue;
            if (root->part != TN_L_NONE && b < root->part) break;
            n->slot = (uint32_t)root->live[TN_I64];
            root->live[TN_I64] += n->blocks ? 2 : 1;
        }
    }
}

bool tn_i_c_live(tn_i_cwriter *w) {
    tn_ctx *c = w->p->ctx;
    const size_t n = w->p->nop + 1u;
    lives z = {.w = w};
    find_runs(w);
    uint32_t *all = tn_i_alloc_array(c, 4 * n, sizeof *all);
    if (!all) return false;
    z.last = all;
    z.next = all + n;
    z.end = all + 2 * n;
    memset(z.end, 0xFF, n * sizeof *z.end);
    for (uint32_t k = 0; k < w->p->nop; k++)
        if (w->note[k].needed) look_at(&z, k);
    for (uint32_t k = 0; k < w->p->nop && w->in_scratch; k++)
        if (w->p->op[k].kind == TN_L_REDUCE && w->note[k].slot == TN_L_NONE) w->note[k].slot = 0;
    give_loops(w);
    give_all(&z, all + 3 * n);
    tn_i_free(c, all, 4 * n * sizeof *all);
    return true;
}
