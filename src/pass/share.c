/* Scratch arrays that are not live at the same time have the same memory: those of one loop after another, of the two
 * bodies of a loop whose carries change places.
 *
 * A scratch array is live in the smallest block that has all that loads and stores it, from the first of that to the
 * last, if an iteration of the block reads only what the same iteration has stored.  So it is where the first of them
 * stores and all of them are run in each iteration, at addresses that do not depend on which iteration it is: since the
 * first iteration reads nothing that was not stored, no other one does.  Else the block around is looked at. */
#include "pass/inside.h"

#include <stdlib.h>

typedef struct range {
    uint32_t array, block; /* the FOR or IF, TN_L_NONE: the whole program */
    uint32_t access, n;    /* those of it: access[access .. access + n) */
    uint32_t first, last;  /* operations */
    int64_t was, at, bytes;
} range;

typedef struct sharer {
    tn_i_loops *p;
    uint32_t *around, *access, naccess;
    bool *left; /* of each FOR: it has a WHILE */
    range *r;
    uint32_t *order;
    size_t n;
} sharer;

/* ---- blocks ---- */

static uint32_t block_of(const sharer *s, uint32_t k) {
    const uint32_t b = s->around[k];
    return b != TN_L_NONE && s->p->op[b].kind == TN_L_ELSE ? s->p->op[b].which : b;
}

static uint32_t end_of(const sharer *s, uint32_t k) {
    const tn_i_l_op *o = &s->p->op[k];
    if (o->kind != TN_L_FOR && o->kind != TN_L_IF) return k;
    return s->p->op[o->to].kind == TN_L_ELSE ? s->p->op[o->to].to : o->to;
}

static bool has(const sharer *s, uint32_t block, uint32_t k) {
    return block == TN_L_NONE || (block < k && k < end_of(s, block));
}

/* ---- ranges ---- */

/* Whether k is run as often in each iteration of the block, at the same addresses. */
static bool steady(const sharer *s, uint32_t block, uint32_t k) {
    const tn_i_loops *p = s->p;
    const tn_i_l_op *o = &p->op[k];
    if (o->kind == TN_L_CALL || o->in[0] != TN_L_NONE || o->in[1] != TN_L_NONE) return false;
    for (uint32_t t = 0; t < o->at.n; t++)
        if (!has(s, block, p->term[o->at.first + t].loop)) return false;
    for (uint32_t b = block_of(s, k); b != block; b = block_of(s, b)) {
        const tn_i_l_op *loop = &p->op[b];
        if (loop->in[0] != TN_L_NONE || loop->at.n || s->left[b]) return false; /* in[0]: an IF's, too */
    }
    return true;
}

static bool begins_anew(const sharer *s, const range *r) {
    bool is = s->p->op[s->access[r->access]].kind == TN_L_STORE;
    for (uint32_t i = 0; i < r->n && is; i++) is = steady(s, r->block, s->access[r->access + i]);
    return is;
}

/* The operation of the block that k is, or stands in. */
static uint32_t statement(const sharer *s, uint32_t block, uint32_t k) {
    while (block_of(s, k) != block) k = block_of(s, k);
    return k;
}

static void find_range(const sharer *s, range *r) {
    const uint32_t *access = s->access + r->access;
    r->first = 1, r->last = 0; /* never */
    if (!r->n) return;
    r->block = block_of(s, access[0]);
    for (uint32_t i = 1; i < r->n; i++)
        while (!has(s, r->block, access[i])) r->block = block_of(s, r->block);
    while (r->block != TN_L_NONE && !begins_anew(s, r)) r->block = block_of(s, r->block);
    r->first = statement(s, r->block, access[0]);
    r->last = end_of(s, statement(s, r->block, access[r->n - 1]));
}

/* ---- accesses, by array ---- */

typedef void visit(sharer *s, uint32_t array, uint32_t k);

static void accesses(sharer *s, visit *f) {
    const tn_i_loops *p = s->p;
    for (uint32_t k = 0; k < p->nop; k++) {
        const tn_i_l_op *o = &p->op[k];
        if (o->kind == TN_L_LOAD || o->kind == TN_L_STORE) f(s, o->which, k);
        for (uint32_t i = 0; o->kind == TN_L_CALL && i < o->narg; i++)
            if (p->arg[o->arg + i].array != TN_L_NONE) f(s, p->arg[o->arg + i].array, k);
        if (o->kind == TN_L_WHILE) s->left[s->around[k]] = true;
    }
}

static void count(sharer *s, uint32_t array, uint32_t k) {
    (void)k;
    s->r[array].n++;
    s->naccess++;
}

static void note(sharer *s, uint32_t array, uint32_t k) {
    range *r = &s->r[array];
    s->access[r->access + r->n++] = k;
}

/* s->r: of each array; then of scratch arrays, in the order of their addresses. */
static int by_place(const void *x, const void *y) {
    const range *a = x, *b = y;
    return a->was != b->was ? (a->was > b->was) - (a->was < b->was) : (a->array > b->array) - (a->array < b->array);
}

static bool find_ranges(sharer *s) {
    const tn_i_loops *p = s->p;
    accesses(s, count);
    s->access = tn_i_alloc_array(p->ctx, (size_t)s->naccess + 1, sizeof *s->access);
    if (!s->access) return false;
    for (uint32_t a = 0, at = 0; a < p->narray; a++) {
        s->r[a].access = at;
        at += s->r[a].n;
        s->r[a].n = 0;
    }
    accesses(s, note);
    for (uint32_t a = 0; a < p->narray; a++) {
        const tn_i_l_array *x = &p->array[a];
        range r = s->r[a];
        r.array = a, r.was = x->at, r.bytes = x->count * (int64_t)tn_i_dtype_size(x->dtype);
        if (x->role == TN_L_SCRATCH) s->r[s->n++] = r;
    }
    qsort(s->r, s->n, sizeof *s->r, by_place);
    for (size_t i = 1; i < s->n; i++)
        if (s->r[i].was < s->r[i - 1].was + s->r[i - 1].bytes) return false; /* they are the same memory on purpose */
    for (size_t i = 0; i < s->n; i++) find_range(s, &s->r[i]);
    return true;
}

/* ---- places ---- */

static bool together(const range *a, const range *b) { return a->first <= b->last && b->first <= a->last; }

/* Ranges before the i-th are placed and s->order has them by their places: the lowest one that none of them has that is
 * live with the i-th. */
static void place(const sharer *s, size_t i) {
    range *r = &s->r[i];
    const int64_t align = s->p->array[r->array].align;
    size_t k = 0;
    r->at = 0;
    for (; k < i && s->r[s->order[k]].at < r->at + r->bytes; k++) {
        const range *x = &s->r[s->order[k]];
        if (together(r, x) && x->at + x->bytes > r->at) r->at = (x->at + x->bytes + align - 1) / align * align;
    }
    for (k = i; k > 0 && s->r[s->order[k - 1]].at > r->at; k--) s->order[k] = s->order[k - 1];
    s->order[k] = (uint32_t)i;
}

static void place_all(sharer *s) {
    int64_t bytes = 0;
    for (size_t i = 0; i < s->n; i++) {
        place(s, i);
        if (s->r[i].at + s->r[i].bytes > bytes) bytes = s->r[i].at + s->r[i].bytes;
    }
    if (bytes >= s->p->bytes) return;
    for (size_t i = 0; i < s->n; i++) s->p->array[s->r[i].array].at = s->r[i].at;
    s->p->bytes = bytes;
}

tn_i_loops *tn_i_pass_share(tn_i_loops *p, const tn_i_machine *m) {
    (void)m;
    sharer s = {.p = p};
    if (p->nop < 2 || p->narray < 2) return p;
    s.around = tn_i_l_around(p);
    s.left = tn_i_alloc_array(p->ctx, p->nop, sizeof *s.left);
    s.r = tn_i_alloc_array(p->ctx, p->narray, sizeof *s.r);
    s.order = tn_i_alloc_array(p->ctx, p->narray, sizeof *s.order);
    const bool ok = s.around && s.left && s.r && s.order;
    if (ok && find_ranges(&s)) place_all(&s);
    const bool failed = !ok || !s.access;
    if (s.access) tn_i_free(p->ctx, s.access, ((size_t)s.naccess + 1) * sizeof *s.access);
    if (s.order) tn_i_free(p->ctx, s.order, p->narray * sizeof *s.order);
    if (s.r) tn_i_free(p->ctx, s.r, p->narray * sizeof *s.r);
    if (s.left) tn_i_free(p->ctx, s.left, p->nop * sizeof *s.left);
    tn_i_l_around_drop(p, s.around);
    if (!failed) return p;
    tn_i_l_free(p);
    return NULL;
}
