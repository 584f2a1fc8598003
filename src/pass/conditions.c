/* Comparisons of the numbers of loops, with one another or with constants, are WITHINs: passes behind this one know
 * where these change.  Comparisons for equality are left to `diagonals` in front of it, where these are few; others are
 * conditions as well. */
#include "pass/inside.h"

enum { DEEP = 3 };

static bool comparison(tn_i_l_builder *b, const tn_i_loops *p, const tn_i_l_op *o, int64_t *lo, tn_i_affine *e,
                       int64_t *hi) {
    tn_i_affine y;
    if (o->kind != TN_L_MAP || o->code < TN_L_eq || o->code > TN_L_ge || o->code == TN_L_ne) return false;
    if (!tn_i_l_affine_value(b, p, o->in[0], DEEP, e) || !tn_i_l_affine_value(b, p, o->in[1], DEEP, &y) ||
        e->n + y.n > 4)
        return false;
    *e = tn_i_affine_add(b, *e, -1, y);
    *lo = o->code == TN_L_eq || o->code == TN_L_ge ? 0 : o->code == TN_L_gt ? 1 : INT64_MIN;
    *hi = o->code == TN_L_eq || o->code == TN_L_le ? 1 : o->code == TN_L_lt ? 0 : INT64_MAX;
    return e->n > 0;
}

/* A load of constants, true from *lo on to *hi - 1: the bounds of the array itself bound nothing. */
static bool stretch(const tn_i_loops *p, const tn_i_l_op *o, int64_t *lo, tn_i_affine *e, int64_t *hi) {
    if (o->kind != TN_L_LOAD || o->dtype != TN_BOOL || o->in[0] != TN_L_NONE || o->in[1] != TN_L_NONE) return false;
    const tn_i_l_array *a = &p->array[o->which];
    if (a->role != TN_L_CONST || a->dtype != TN_BOOL) return false;
    const uint8_t *is = a->data;
    int64_t from = 0, to, i;
    while (from < a->count && !is[from]) from++;
    for (to = from; to < a->count && is[to]; to++) {
    }
    for (i = to; i < a->count && !is[i]; i++) {
    }
    *e = tn_i_l_affine_of(p, &o->at);
    *lo = from == 0 ? INT64_MIN : from;
    *hi = to == a->count ? INT64_MAX : to;
    return i == a->count;
}

tn_i_loops *tn_i_pass_conditions(tn_i_loops *p, const tn_i_machine *m) {
    tn_i_l_builder b;
    tn_i_l_copy c;
    (void)m;
    tn_i_l_begin(&b, p->ctx);
    bool *halved = tn_i_l_halved(p);
    if (!halved) b.failed = true;
    if (tn_i_l_copy_begin(&c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) {
            const tn_i_l_op *o = &p->op[k];
            int64_t lo, hi;
            tn_i_affine e;
            if (!halved[k] && (comparison(&b, p, o, &lo, &e, &hi) || stretch(p, o, &lo, &e, &hi))) {
                tn_i_affine at = tn_i_affine_number(e.at);
                for (uint32_t i = 0; i < e.n; i++)
                    at = tn_i_affine_add(&b, at, e.term[i].by, tn_i_l_copied_loop(&c, e.term[i].loop));
                c.value[k] = tn_i_l_within(&b, lo, at, hi);
            } else
                tn_i_l_copy_op(&c, k);
        }
    tn_i_l_copy_end(&c);
    tn_i_l_halved_drop(p, halved);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
