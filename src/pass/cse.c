/* What is computed already, in the same block or in one around it, is not computed again: numbers, indices, conditions
 * and operations of the same operands (common subexpressions), but no functions, which are called for many numbers at
 * once.  Nor is loaded what the block itself has loaded or stored since (cse_memory.h). */
#include "loop/inside.h"
#include "pass/cse_memory.h"
#include "pass/inside.h"

#include <string.h>

typedef struct known {
    uint32_t value, bucket, next; /* of the copy; behind it in its bucket: 1 + one of these */
} known;

typedef struct cse {
    tn_i_l_copy c;
    known *of;
    uint32_t *bucket;
    size_t nknown, cknown, nbucket;
    uint32_t *around; /* of each FOR and IF that is open, at its depth: how many were known in front */
    size_t depth, caround;
    size_t seen; /* in a parallel loop, which sees no values from outside: how many were known in front */
    bool *stays; /* of each operation: what stands behind its block reads it */
    tn_i_l_recent recent;
} cse;

static bool is_pure(const tn_i_l_op *o) {
    if (o->kind == TN_L_MAP) return o->code != TN_L_fn;
    return o->kind == TN_L_NUMBER || o->kind == TN_L_INDEX || o->kind == TN_L_WITHIN;
}

static uint64_t hash(const tn_i_loops *p, const tn_i_l_op *o) {
    const tn_i_l_term *t = tn_i_l_terms(p, &o->at);
    uint64_t h = tn_i_hash_u64(o->bits, (uint64_t)o->kind << 16 | (uint64_t)o->code << 8 | o->dtype);
    for (int i = 0; i < o->nin; i++) h = tn_i_hash_u64(h, o->in[i]);
    h = tn_i_hash_u64(tn_i_hash_u64(tn_i_hash_u64(h, (uint64_t)o->at.at), (uint64_t)o->lo), (uint64_t)o->hi);
    for (uint32_t i = 0; i < o->at.n; i++) h = tn_i_hash_u64(tn_i_hash_u64(h, t[i].loop), (uint64_t)t[i].by);
    return h;
}

static bool alike(const tn_i_loops *p, const tn_i_l_op *x, const tn_i_l_op *y) {
    const tn_i_l_term *s = tn_i_l_terms(p, &x->at), *t = tn_i_l_terms(p, &y->at);
    if (x->kind != y->kind || x->code != y->code || x->dtype != y->dtype || x->nin != y->nin || x->bits != y->bits)
        return false;
    if (x->at.n != y->at.n || x->at.at != y->at.at || x->lo != y->lo || x->hi != y->hi) return false;
    for (int i = 0; i < x->nin; i++)
        if (x->in[i] != y->in[i]) return false;
    for (uint32_t i = 0; i < x->at.n; i++)
        if (s[i].loop != t[i].loop || s[i].by != t[i].by) return false;
    return true;
}

/* Value v of the copy, or what it is already. */
static uint32_t first_like(cse *z, uint32_t v) {
    const tn_i_loops *p = z->c.b->p;
    const uint32_t bucket = (uint32_t)(hash(p, &p->op[v]) & (z->nbucket - 1));
    for (uint32_t i = z->bucket[bucket]; i; i = z->of[i - 1].next)
        if (i > z->seen && alike(p, &p->op[z->of[i - 1].value], &p->op[v])) return z->of[i - 1].value;
    if (!tn_i_grow(z->c.b->ctx, (void **)(void *)&z->of, &z->cknown, z->nknown + 1, sizeof *z->of)) {
        z->c.b->failed = true;
        return v;
    }
    z->of[z->nknown] = (known){v, bucket, z->bucket[bucket]};
    z->bucket[bucket] = (uint32_t)++z->nknown;
    return v;
}

static void forget(cse *z, size_t n) {
    while (z->nknown > n) {
        const known *k = &z->of[--z->nknown];
        z->bucket[k->bucket] = k->next;
    }
}

/* A value that memory has, or what is stored there. */
static void note_access(cse *z, uint32_t k) {
    const tn_i_l_op *o = &z->c.p->op[k];
    if (o->kind == TN_L_FOR || o->kind == TN_L_IF || o->kind == TN_L_ELSE || o->kind == TN_L_END ||
        o->kind == TN_L_CALL)
        tn_i_l_forget(&z->recent);
    if (o->kind != TN_L_LOAD && o->kind != TN_L_STORE) return;
    const uint32_t x = tn_i_l_recall(&z->recent, z->c.b, z->c.b->p->nop - 1);
    if (x != TN_L_NONE && !z->stays[k]) z->c.value[k] = x;
}

/* Blocks: what one of them knows is forgotten behind it. */
static void note_block(cse *z, const tn_i_l_op *o) {
    if (o->kind == TN_L_FOR || o->kind == TN_L_IF) {
        if (!tn_i_grow(z->c.b->ctx, (void **)(void *)&z->around, &z->caround, z->depth + 1, sizeof *z->around))
            z->c.b->failed = true;
        else
            z->around[z->depth++] = (uint32_t)z->nknown;
        if (o->parallel) z->seen = z->nknown;
    } else if (o->kind == TN_L_ELSE)
        forget(z, z->around[z->depth - 1]);
    else if (o->kind == TN_L_END) {
        forget(z, z->around[--z->depth]);
        if (z->depth == 0) z->seen = 0; /* a parallel loop stands in no other */
    }
}

static bool prepare(cse *z, const tn_i_loops *p) {
    size_t n = 64;
    while (n < p->nop / 2) n *= 2;
    z->nbucket = n;
    z->bucket = tn_i_alloc_array(p->ctx, n, sizeof *z->bucket);
    z->stays = tn_i_l_halved(p);
    if (!z->bucket || !z->stays) return false;
    memset(z->bucket, 0, n * sizeof *z->bucket);
    for (uint32_t k = 0; k < p->nop; k++)
        for (int i = 0; p->op[k].kind == TN_L_JOIN && i < 2; i++) z->stays[p->op[k].in[i]] = true;
    return true;
}

static void drop(cse *z, const tn_i_loops *p) {
    if (z->bucket) tn_i_free(p->ctx, z->bucket, z->nbucket * sizeof *z->bucket);
    tn_i_l_halved_drop(p, z->stays);
    tn_i_free(p->ctx, z->of, z->cknown * sizeof *z->of);
    tn_i_free(p->ctx, z->around, z->caround * sizeof *z->around);
}

tn_i_loops *tn_i_pass_cse(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    cse z = {.depth = 0};
    (void)m;
    tn_i_l_begin(&b, p->ctx);
    if (!prepare(&z, p)) b.failed = true;
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) {
            const tn_i_l_op *o = &p->op[k];
            tn_i_l_copy_op(&z.c, k);
            if (b.failed) break;
            note_block(&z, o);
            note_access(&z, k);
            if (is_pure(o) && !z.stays[k]) z.c.value[k] = first_like(&z, z.c.value[k]);
        }
    tn_i_l_copy_end(&z.c);
    drop(&z, p);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
