/* Innermost loops whose iterations do not depend on each other become vector loops, and so do loops over lanes that lie
 * side by side, in each of which loops carry something from element to element. */
#include "base/machine.h"
#include "pass/inside.h"

static int together(uint32_t operations) {
    int n = TN_M_CALL_VECTORS;
    while (n > 1 && operations > TN_M_CODE_BYTES / TN_M_OPERATION_BYTES / (uint32_t)n) n /= 2;
    return n;
}

/* As many elements as a vector has of the widest of them, and no more than there are. */
static int width_of(const tn_i_loops *p, uint32_t k, int64_t n, const tn_i_machine *m) {
    int width = m->vector / tn_i_l_widest(p, k + 1, p->op[k].to);
    if (tn_i_l_calls(p, k + 1, p->op[k].to)) width *= together(p->op[k].to - k);
    while (width > 2 && width / 2 >= n) width /= 2;
    return width > 64 ? 64 : width;
}

static bool behind_are_carried(const tn_i_loops *p, uint32_t k) {
    const uint32_t next = p->op[k].to + 1;
    return next < p->nop && p->op[next].kind == TN_L_LAST;
}

static bool fits(const tn_i_loops *p, uint32_t k, int64_t *n, bool strips) {
    const tn_i_l_op *o = &p->op[k];
    return !o->vector && !o->parallel && tn_i_l_known_count(p, k, n) && *n > 1 && !behind_are_carried(p, k) &&
           (strips ? tn_i_l_reduces(p, k) : tn_i_l_straight(p, k + 1, o->to)) && tn_i_l_vectorizable(p, k);
}

/* Elements of fewer than four bytes are vectors where they lie side by side alone. */
static bool may_be_apart(const tn_i_loops *p, const tn_i_l_op *o, uint32_t k) {
    const int64_t by = tn_i_l_by(p, &o->at, k);
    return by == 0 || by == 1 || tn_i_dtype_size(p->array[o->which].dtype) >= 4;
}

/* What may stand in a loop over lanes; loops in it that end as was known before. */
static bool in_lanes(const tn_i_loops *p, uint32_t k, uint32_t i) {
    const tn_i_l_op *o = &p->op[i];
    int64_t n;
    switch (o->kind) {
    case TN_L_NUMBER:
    case TN_L_INDEX:
    case TN_L_WITHIN:
    case TN_L_MAP:
    case TN_L_NEXT:
    case TN_L_LAST:
    case TN_L_END: return true;
    case TN_L_CARRY: return i > k + 1 && p->op[k + 1].kind != TN_L_CARRY;
    case TN_L_FOR: return !o->vector && !o->parallel && tn_i_l_known_count(p, i, &n);
    case TN_L_LOAD: return o->in[0] == TN_L_NONE && may_be_apart(p, o, k);
    case TN_L_STORE:
        return o->in[0] == TN_L_NONE && !o->update && tn_i_l_by(p, &o->at, k) != 0 && may_be_apart(p, o, k);
    default: return false;
    }
}

/* Neighbours of what loop k touches are apart: loads, or stores as well. */
typedef enum apart { BESIDE, LOADS_APART, STORES_APART } apart;

static apart how_far(const tn_i_loops *p, uint32_t k) {
    apart how = BESIDE;
    for (uint32_t i = k + 1; i < p->op[k].to; i++) {
        const tn_i_l_op *o = &p->op[i];
        const int64_t by = o->kind == TN_L_LOAD || o->kind == TN_L_STORE ? tn_i_l_by(p, &o->at, k) : 0;
        if (o->kind == TN_L_STORE && by != 1) return STORES_APART;
        if (o->kind == TN_L_LOAD && by != 0 && by != 1) how = LOADS_APART;
    }
    return how;
}

static bool may_be_lanes(const tn_i_loops *p, uint32_t k, int64_t *n) {
    const tn_i_l_op *o = &p->op[k];
    bool carries = false;
    if (o->vector || o->parallel || !tn_i_l_known_count(p, k, n) || *n < 2 || behind_are_carried(p, k)) return false;
    for (uint32_t i = k + 1; i < o->to; i++) {
        if (!in_lanes(p, k, i)) return false;
        carries |= p->op[i].kind == TN_L_CARRY;
    }
    return carries && tn_i_l_apart(p, k, *n, NULL);
}

/* Elements that are apart are taken one by one: not where a loop inside has them side by side, and what is stored not
 * where there are few. */
static bool lanes_carry(const tn_i_loops *p, uint32_t k, int64_t *n, const tn_i_machine *m) {
    int64_t inner;
    if (!may_be_lanes(p, k, n)) return false;
    const apart how = how_far(p, k);
    for (uint32_t i = k + 1; how != BESIDE && i < p->op[k].to; i++)
        if (p->op[i].kind == TN_L_FOR && how_far(p, i) == BESIDE &&
            (may_be_lanes(p, i, &inner) || fits(p, i, &inner, false)))
            return false;
    return how != STORES_APART || *n >= 2 * width_of(p, k, *n, m);
}

/* Two vectors: what is carried in one waits for itself. */
static int lanes_of(const tn_i_loops *p, uint32_t k, int64_t n, const tn_i_machine *m) {
    const int width = width_of(p, k, n, m);
    return width < 64 && 2 * (int64_t)width <= n ? 2 * width : width;
}

tn_i_loops *tn_i_pass_vectorize(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    tn_i_l_copy c;
    uint32_t vector = 0; /* the operation behind the vector loop that is open */
    tn_i_l_begin(&b, p->ctx);
    if (tn_i_l_copy_begin(&c, &b, p))
        for (uint32_t k = 0; k < p->nop; k++) {
            int64_t n;
            tn_i_l_copy_op(&c, k);
            if (p->op[k].kind != TN_L_FOR || k < vector) continue;
            if (p->op[k].vector) vector = p->op[k].to;
            if (p->op[k].vector) continue;
            if (fits(p, k, &n, m->strips)) {
                tn_i_l_set_vector(&b, c.value[k], width_of(p, k, n, m));
            } else if (!m->strips && lanes_carry(p, k, &n, m)) {
                tn_i_l_set_vector(&b, c.value[k], lanes_of(p, k, n, m));
                vector = p->op[k].to;
            }
        }
    tn_i_l_copy_end(&c);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
