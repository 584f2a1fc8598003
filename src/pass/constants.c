/* Loads of arrays of constants are numbers, where the element is known or all are the same (constant folding). */
#include "loop/inside.h"
#include "pass/inside.h"

#include <string.h>

enum { UNASKED, SAME, DIFFERENT };

static bool all_same(const tn_i_l_array *a) {
    const size_t size = tn_i_dtype_size(a->dtype), more = (size_t)(a->count - 1) * size;
    const char *const data = a->data;
    return more == 0 || memcmp(data, data + size, more) == 0;
}

/* Whether LOAD o is of a known element. */
static bool is_known(const tn_i_loops *p, const tn_i_l_op *o, uint8_t *asked) {
    const tn_i_l_array *a = &p->array[o->which];
    if (!a->data || a->count < 1 || o->in[1] != TN_L_NONE) return false;
    if (o->in[0] == TN_L_NONE && o->at.n == 0) return true;
    uint8_t *const is = &asked[o->which];
    if (*is == UNASKED) *is = all_same(a) ? SAME : DIFFERENT;
    return *is == SAME;
}

tn_i_loops *tn_i_pass_constants(tn_i_loops *p, const tn_i_machine *m) {
    const size_t n = p->narray + 1u;
    tn_i_l_builder b;
    tn_i_l_copy c;
    uint8_t *asked = tn_i_alloc(p->ctx, n);
    (void)m;
    tn_i_l_begin(&b, p->ctx);
    if (!asked) b.failed = true;
    if (tn_i_l_copy_begin(&c, &b, p))
        for (uint32_t k = 0; k < p->nop && !b.failed; k++) {
            const tn_i_l_op *o = &p->op[k];
            if (o->kind == TN_L_LOAD && is_known(p, o, asked)) {
                const tn_i_l_array *a = &p->array[o->which];
                const bool at = o->in[0] == TN_L_NONE && o->at.n == 0;
                c.value[k] = tn_i_l_number(&b, o->dtype, tn_i_l_get(a->dtype, a->data, at ? o->at.at : 0));
            } else
                tn_i_l_copy_op(&c, k);
        }
    tn_i_l_copy_end(&c);
    if (asked) tn_i_free(p->ctx, asked, n);
    tn_i_l_free(p);
    return tn_i_l_end(&b);
}
