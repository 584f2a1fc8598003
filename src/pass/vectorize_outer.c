/* Outer loops around short ones, for strips: a strip is of iterations of the outer loop, and the short ones are in it,
 * as loops of all its iterations.  So rows of few elements are computed many at a time.
 *
 * Scratch memory in which an iteration keeps what is its own becomes each iteration's own, side by side. */
#include "base/machine.h"
#include "loop/inside.h"
#include "pass/inside.h"
#include "strips/strips.h"

#include <string.h>

typedef struct outer {
    const tn_i_loops *p;
    tn_i_l_copy c;
    bool *own;      /* of each array: an iteration's own, of the loop that is looked at */
    uint32_t *mine; /* the arrays in place of these */
    int64_t lanes;
    uint32_t strip; /* the vector loop that is written */
} outer;

/* ---- which ---- */

static bool may_stand(const tn_i_loops *p, uint32_t k, uint32_t i) {
    const tn_i_l_op *o = &p->op[i];
    switch (o->kind) {
    case TN_L_NUMBER:
    case TN_L_INDEX:
    case TN_L_WITHIN:
    case TN_L_MAP:
    case TN_L_LOAD:
    case TN_L_CARRY:
    case TN_L_NEXT:
    case TN_L_LAST:
    case TN_L_END: return true;
    case TN_L_STORE: return !o->update;
    case TN_L_REDUCE: return o->hi == 1;
    case TN_L_INTO:
    case TN_L_TOTAL: return o->in[0] > k;
    default: return false;
    }
}

/* Loop k is long beside the loops in it, which are all there is that has blocks. */
static bool is_outer(const tn_i_loops *p, uint32_t k, int64_t *n) {
    const tn_i_l_op *o = &p->op[k];
    const uint8_t behind = o->to + 1 < p->nop ? p->op[o->to + 1].kind : TN_L_END;
    int64_t longest = 0, m;
    if (o->kind != TN_L_FOR || o->vector || o->parallel || !tn_i_l_known_count(p, k, n)) return false;
    if (p->op[k + 1].kind == TN_L_CARRY || behind == TN_L_LAST || behind == TN_L_HALVES) return false;
    for (uint32_t i = k + 1; i < o->to; i++) {
        const tn_i_l_op *x = &p->op[i];
        if (x->kind != TN_L_FOR) {
            if (!may_stand(p, k, i)) return false;
            continue;
        }
        if (x->vector || x->parallel || !tn_i_l_known_count(p, i, &m) || m >= TN_M_STRIP_LANES) return false;
        if (m > longest) longest = m;
    }
    return longest > 0 && *n > longest;
}

static int64_t own_bytes(const outer *z) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < z->p->narray; i++)
        if (z->own[i]) bytes += z->p->array[i].count * (int64_t)tn_i_dtype_size(z->p->array[i].dtype);
    return bytes;
}

static bool fits(outer *z, uint32_t k, int64_t *n) {
    return is_outer(z->p, k, n) && tn_i_l_find_own(z->p, k, z->own) && tn_i_l_apart(z->p, k, *n, z->own);
}

/* ---- strips ---- */

static void make_own(outer *z) {
    for (uint32_t i = 0; i < z->p->narray; i++) {
        const tn_i_l_array *a = &z->p->array[i];
        if (z->own[i]) z->mine[i] = tn_i_l_scratch(z->c.b, a->name, a->dtype, a->count * z->lanes, 0);
    }
}

static void copy_own(outer *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    uint32_t *value = z->c.value;
    tn_i_l_builder *b = z->c.b;
    tn_i_l_where w = {.array = z->mine[o->which]};
    w.e = tn_i_affine_add(b, tn_i_affine_loop(z->strip, 1, 0), z->lanes, tn_i_l_copy_affine(&z->c, &o->at));
    w.indexed = o->in[0] != TN_L_NONE;
    if (w.indexed) w.index = value[o->in[0]], w.by = o->lo * z->lanes, w.last = o->hi;
    w.masked = o->in[1] != TN_L_NONE;
    if (w.masked) w.mask = value[o->in[1]];
    if (w.masked && o->kind == TN_L_LOAD) w.otherwise = value[o->in[2]];
    if (o->kind == TN_L_LOAD)
        value[k] = tn_i_l_load(b, &w);
    else
        tn_i_l_store_like(b, o, &w, value[o->in[2]]);
}

static void copy_strips(outer *z, uint32_t k, int64_t n) {
    tn_i_l_builder *b = z->c.b;
    const tn_i_loops *p = z->p;
    const bool many = n > z->lanes;
    tn_i_affine at = tn_i_affine_number(0), left = tn_i_affine_number(n);
    if (many) {
        const uint32_t loop = tn_i_l_for_n(b, (n - 1) / z->lanes + 1);
        at = tn_i_affine_loop(loop, z->lanes, 0);
        left = tn_i_affine_loop(loop, -z->lanes, n);
    }
    z->strip = tn_i_l_for_up_to(b, z->lanes < n ? z->lanes : n, left, TN_L_NONE);
    tn_i_l_set_vector(b, z->strip, TN_L_HALVED);
    tn_i_l_copy_loop(&z->c, k, tn_i_affine_term(b, at, z->strip, 1));
    for (uint32_t i = k + 1; i < p->op[k].to && !b->failed; i++) {
        const tn_i_l_op *o = &p->op[i];
        if ((o->kind == TN_L_LOAD || o->kind == TN_L_STORE) && z->own[o->which])
            copy_own(z, i);
        else
            tn_i_l_copy_op(&z->c, i);
    }
    tn_i_l_close(b);
    if (many) tn_i_l_close(b);
}

/* ---- the pass ---- */

static bool begin(outer *z) {
    const uint32_t n = z->p->narray + 1;
    z->own = tn_i_alloc_array(z->p->ctx, n, sizeof *z->own);
    z->mine = tn_i_alloc_array(z->p->ctx, n, sizeof *z->mine);
    return z->own && z->mine;
}

static void end(const outer *z) {
    const uint32_t n = z->p->narray + 1;
    if (z->own) tn_i_free(z->p->ctx, z->own, n * sizeof *z->own);
    if (z->mine) tn_i_free(z->p->ctx, z->mine, n * sizeof *z->mine);
}

tn_i_loops *tn_i_pass_vectorize_outer(tn_i_loops *p, const tn_i_machine *m) {
    if (!m->strips || p->nop == 0) return p;
    tn_i_l_builder b;
    outer z = {.p = p};
    uint32_t vector = 0; /* the END of the vector loop that is open */
    tn_i_l_begin(&b, p->ctx);
    if (!begin(&z)) b.failed = true;
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) {
            int64_t n;
            if (p->op[k].kind == TN_L_FOR && p->op[k].vector) vector = p->op[k].to;
            if (k < vector || p->op[k].kind != TN_L_FOR || !fits(&z, k, &n)) {
                tn_i_l_copy_op(&z.c, k);
                continue;
            }
            z.lanes = tn_i_strips_lanes(own_bytes(&z));
            make_own(&z);
            copy_strips(&z, k, n);
            k = p->op[k].to;
        }
    tn_i_l_copy_end(&z.c);
    end(&z);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
