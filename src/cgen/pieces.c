/* Functions of bounded length: statements of a block that is too long become functions of their own, and calls of
 * those, where there are still too many, too. */
#include "cgen/inside.h"

/* A statement: an operation, or a block with what stands behind it. */
typedef struct item {
    uint32_t first, last, weight;
    bool stays; /* it is part of its loop */
} item;

typedef struct cutter {
    tn_i_cwriter *w;
    item *item;
    size_t n, room;
} cutter;

static bool add_piece(tn_i_cwriter *w, tn_i_cpiece piece) {
    if (w->nfn == TN_L_NONE - 1 ||
        !tn_i_grow(w->p->ctx, (void **)(void *)&w->fn, &w->cfn, (size_t)w->nfn + 1, sizeof *w->fn))
        return !(w->failed = true);
    w->fn[w->nfn++] = piece;
    return true;
}

static bool add_item(cutter *c, item i) {
    if (!tn_i_grow(c->w->p->ctx, (void **)(void *)&c->item, &c->room, c->n + 1, sizeof *c->item))
        return !(c->w->failed = true);
    c->item[c->n++] = i;
    return true;
}

static uint32_t weight_of(const tn_i_cwriter *w, uint32_t k) {
    const tn_i_l_op *o = &w->p->op[k];
    if (!w->note[k].needed || o->kind == TN_L_NUMBER || o->kind == TN_L_LAST) return 0;
    if (o->kind == TN_L_CALL) return 2 + o->narg;
    return o->kind == TN_L_HALVES || o->kind == TN_L_TOTAL || w->note[k].call ? 4 : 1;
}

/* Items from `from` on that are short enough together become one, of a function, until there are few. */
static bool group(cutter *c, size_t from) {
    tn_i_cwriter *w = c->w;
    const uint32_t most = w->g->piece;
    size_t to = from;
    for (size_t i = from; i < c->n;) {
        size_t j = i;
        uint32_t weight = 0, n = 0;
        for (; j < c->n && !c->item[j].stays && weight + c->item[j].weight <= most; j++) {
            weight += c->item[j].weight;
            n += c->item[j].weight > 0;
        }
        if (n < 2 || weight < 8) {
            if (j == i) j++;
            while (i < j) c->item[to++] = c->item[i++];
            continue;
        }
        const tn_i_cpiece piece = {.first = c->item[i].first, .last = c->item[j - 1].last, .part = TN_L_NONE};
        c->item[to++] = (item){piece.first, piece.last, 1, false};
        if (!add_piece(w, piece)) return false;
        i = j;
    }
    const bool fewer = to < c->n;
    c->n = to;
    return fewer;
}

static uint32_t cut(cutter *c, uint32_t first, uint32_t last);

/* The statement at k; what it still weighs. */
static item statement(cutter *c, uint32_t k) {
    tn_i_cwriter *w = c->w;
    const tn_i_l_op *op = w->p->op, *o = &op[k];
    item i = {k, k + 1, weight_of(w, k), o->kind == TN_L_CARRY || o->kind == TN_L_NEXT || o->kind == TN_L_WHILE};
    if (o->kind != TN_L_FOR && o->kind != TN_L_IF) return i;
    const bool part = w->g->native && o->parallel && w->note[k].needed;
    const uint32_t end = o->kind == TN_L_FOR || op[o->to].kind == TN_L_END ? o->to : op[o->to].to;
    i.weight = 2 + cut(c, k + 1, o->to);
    if (end != o->to) i.weight += cut(c, o->to + 1, end);
    if (part && add_piece(w, (tn_i_cpiece){.first = k + 1, .last = end, .part = k})) i.weight = 2;
    for (i.last = end + 1; i.last < w->p->nop && w->note[i.last].behind == k; i.last++)
        i.weight += weight_of(w, i.last);
    if (!w->note[k].needed) i.weight = 0;
    return i;
}

static uint32_t cut(cutter *c, uint32_t first, uint32_t last) {
    const size_t from = c->n;
    uint32_t weight = 0;
    for (uint32_t k = first; k < last && !c->w->failed;) {
        const item i = statement(c, k);
        if (!add_item(c, i)) break;
        k = i.last;
    }
    for (bool more = true; more && !c->w->failed;) {
        weight = 0;
        for (size_t i = from; i < c->n; i++) weight += c->item[i].weight;
        more = weight > c->w->g->piece && group(c, from);
    }
    c->n = from;
    return weight;
}

bool tn_i_c_pieces(tn_i_cwriter *w) {
    tn_ctx *ctx = w->p->ctx;
    cutter c = {.w = w};
    if (!add_piece(w, (tn_i_cpiece){.last = w->p->nop, .parent = TN_L_NONE, .part = TN_L_NONE, .twin = TN_L_NONE}))
        return false;
    (void)cut(&c, 0, w->p->nop);
    tn_i_free(ctx, c.item, c.room * sizeof *c.item);
    if (w->failed || !(w->at = tn_i_alloc_array(ctx, w->p->nop + 1u, sizeof *w->at))) return false;
    for (uint32_t k = 0; k <= w->p->nop; k++) w->at[k] = TN_L_NONE;
    for (uint32_t f = w->nfn; f-- > 1;) { /* the later, the farther out */
        tn_i_cpiece *z = &w->fn[f];
        z->parent = w->note[z->first].fn;
        z->root = z->part != TN_L_NONE ? f : w->fn[z->parent].root;
        z->twin = w->at[z->first];
        w->at[z->first] = f;
        for (uint32_t k = z->first; k < z->last; k++) w->note[k].fn = f;
    }
    return true;
}
