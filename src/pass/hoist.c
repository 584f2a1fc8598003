/* What a loop computes anew in each iteration and need not is computed in front of it.
 *
 * An operation leaves loops until it meets one that its operands or its address depend on; a load leaves only those
 * that store nothing where it reads, and that run at least once, so that its address is one of the array's. */
#include "pass/inside.h"

#include <string.h>

typedef struct hoister {
    const tn_i_loops *p;
    tn_i_l_copy c;
    uint32_t *around, *home; /* home: of each operation, the block that it is computed in */
    bool *halved;
    uint32_t *first, *next; /* of each FOR: what is computed in front of it, in order */
} hoister;

/* Block k, or a block in it. */
static bool within(const hoister *h, uint32_t block, uint32_t k) {
    while (block != TN_L_NONE && block != k) block = h->around[block];
    return block == k;
}

static bool stores_there(const hoister *h, uint32_t loop, uint32_t array) {
    const tn_i_loops *p = h->p;
    for (uint32_t k = loop + 1; k < p->op[loop].to; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind == TN_L_STORE && tn_i_l_overlap(p, o->which, array)) return true;
        for (uint32_t i = 0; o->kind == TN_L_CALL && i < o->narg; i++) {
            const tn_i_l_arg *a = &p->arg[o->arg + i];
            if ((a->access == TN_L_WRITE || a->access == TN_L_UPDATE) && tn_i_l_overlap(p, a->array, array))
                return true;
        }
    }
    return false;
}

/* Whether the operation, computed in the loop itself, may be computed in front of it. */
static bool leaves(const hoister *h, uint32_t k, uint32_t loop) {
    const tn_i_l_op *o = &h->p->op[k];
    int64_t n;
    if (h->p->op[loop].kind != TN_L_FOR || h->p->op[loop].parallel) return false;
    if (tn_i_l_by(h->p, &o->at, loop)) return false;
    for (int i = 0; i < 3; i++)
        if (o->in[i] != TN_L_NONE && within(h, h->home[o->in[i]], loop)) return false;
    if (o->kind != TN_L_LOAD) return true;
    return tn_i_l_known_count(h->p, loop, &n) && n > 0 && !stores_there(h, loop, o->which);
}

/* Loads of a loop that may be left stay: an iteration that is not run would load them. */
static bool may_be_left(const hoister *h, uint32_t loop) {
    for (uint32_t k = loop + 1; k < h->p->op[loop].to; k++)
        if (h->p->op[k].kind == TN_L_WHILE) return true;
    return false;
}

static void find(hoister *h) {
    uint32_t *last = h->next + h->p->nop; /* of each list */
    for (uint32_t k = 0; k < h->p->nop; k++) {
        const tn_i_l_op *o = &h->p->op[k];
        uint32_t left = TN_L_NONE;
        h->home[k] = h->around[k];
        if (h->halved[k] || o->kind > TN_L_LOAD) continue;
        while (h->home[k] != TN_L_NONE && leaves(h, k, h->home[k]) &&
               !(o->kind == TN_L_LOAD && may_be_left(h, h->home[k]))) {
            left = h->home[k];
            h->home[k] = h->around[left];
        }
        if (left == TN_L_NONE) continue;
        *(h->first[left] == TN_L_NONE ? &h->first[left] : &h->next[last[left]]) = k;
        last[left] = k;
    }
}

static void copy(hoister *h) {
    for (uint32_t k = 0; k < h->p->nop && !h->c.b->failed; k++) {
        if (h->p->op[k].kind == TN_L_FOR)
            for (uint32_t i = h->first[k]; i != TN_L_NONE; i = h->next[i]) tn_i_l_copy_op(&h->c, i);
        if (h->home[k] == h->around[k]) tn_i_l_copy_op(&h->c, k);
    }
}

tn_i_loops *tn_i_pass_hoist(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    hoister h = {.p = p};
    const size_t n = p->nop;
    (void)m;
    if (n == 0) return p;
    tn_i_l_begin(&b, p->ctx);
    h.around = tn_i_l_around(p);
    h.home = tn_i_alloc_array(p->ctx, n, sizeof *h.home);
    h.halved = tn_i_l_halved(p);
    h.first = tn_i_alloc_array(p->ctx, n, sizeof *h.first);
    h.next = tn_i_alloc_array(p->ctx, 2 * n, sizeof *h.next);
    if (!h.around || !h.home || !h.halved || !h.first || !h.next)
        b.failed = true;
    else {
        memset(h.first, 0xff, n * sizeof *h.first);
        memset(h.next, 0xff, n * sizeof *h.next);
        find(&h);
    }
    if (tn_i_l_copy_begin(&h.c, &b, p)) copy(&h);
    tn_i_l_copy_end(&h.c);
    if (h.next) tn_i_free(p->ctx, h.next, 2 * n * sizeof *h.next);
    if (h.first) tn_i_free(p->ctx, h.first, n * sizeof *h.first);
    tn_i_l_halved_drop(p, h.halved);
    if (h.home) tn_i_free(p->ctx, h.home, n * sizeof *h.home);
    tn_i_l_around_drop(p, h.around);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
