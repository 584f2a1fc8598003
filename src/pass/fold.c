/* Constant folding: conditions that are numbers, accesses and choices that depend on them, sums with -0.0, which is
 * what adding nothing is. */
#include "pass/inside.h"

typedef struct folder {
    const tn_i_loops *p;
    tn_i_l_copy c;
} folder;

static const tn_i_l_op *made(const folder *z, uint32_t v) { return &z->c.b->p->op[z->c.value[v]]; }

static bool known(const folder *z, uint32_t v, bool *is) {
    if (v == TN_L_NONE || z->c.value[v] == TN_L_NONE) return false;
    const tn_i_l_op *o = made(z, v);
    *is = (o->bits & 1) != 0;
    return o->kind == TN_L_NUMBER && o->dtype == TN_BOOL;
}

static uint64_t minus_zero(int dtype) { return dtype == TN_F64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31; }

/* Whether what is added changes nothing. */
static bool adds_nothing(const folder *z, uint32_t v) {
    const tn_i_l_op *o = made(z, v);
    return o->kind == TN_L_NUMBER && tn_i_is_float(o->dtype) && o->bits == minus_zero(o->dtype);
}

static bool fold_within(folder *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    const tn_i_affine e = tn_i_l_copy_affine(&z->c, &o->at);
    if (e.n) return false;
    z->c.value[k] = tn_i_l_number(z->c.b, TN_BOOL, e.at >= o->lo && (o->hi == INT64_MAX || e.at < o->hi));
    return true;
}

static bool fold_map(folder *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    bool yes;
    uint32_t same = TN_L_NONE;
    if (o->code == TN_L_add && adds_nothing(z, o->in[1])) same = o->in[0];
    if (o->code == TN_L_add && same == TN_L_NONE && adds_nothing(z, o->in[0])) same = o->in[1];
    if (o->code == TN_L_select && known(z, o->in[0], &yes)) same = o->in[yes ? 1 : 2];
    if (same == TN_L_NONE) return false;
    z->c.value[k] = z->c.value[same];
    return true;
}

/* An access under a condition that is known. */
static bool fold_access(folder *z, uint32_t k) {
    const tn_i_l_op *o = &z->p->op[k];
    bool yes;
    if (!known(z, o->in[1], &yes)) return false;
    if (!yes) {
        if (o->kind == TN_L_LOAD) z->c.value[k] = z->c.value[o->in[2]];
        return true;
    }
    tn_i_l_where at = {.array = o->which, .e = tn_i_l_copy_affine(&z->c, &o->at), .by = o->lo, .last = o->hi};
    at.indexed = o->in[0] != TN_L_NONE;
    if (at.indexed) at.index = z->c.value[o->in[0]];
    if (o->kind == TN_L_LOAD)
        z->c.value[k] = tn_i_l_load(z->c.b, &at);
    else
        tn_i_l_store(z->c.b, &at, z->c.value[o->in[2]]);
    return true;
}

static bool fold(folder *z, uint32_t k) {
    switch (z->p->op[k].kind) {
    case TN_L_WITHIN: return fold_within(z, k);
    case TN_L_MAP: return fold_map(z, k);
    case TN_L_LOAD:
    case TN_L_STORE: return fold_access(z, k);
    default: return false;
    }
}

tn_i_loops *tn_i_pass_fold(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    folder z = {.p = p};
    (void)m;
    tn_i_l_begin(&b, p->ctx);
    if (tn_i_l_copy_begin(&z.c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++)
            if (!fold(&z, k)) tn_i_l_copy_op(&z.c, k);
    tn_i_l_copy_end(&z.c);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
