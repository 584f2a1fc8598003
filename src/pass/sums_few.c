/* Few elements of each of several results, as of blocks of 2 x 2 side by side, where loops over results stand within
 * loops over elements: results come first, and the elements of one are written out.
 *
 *     for i < 2 { for j < 64 { for k < 2 {               for j < 64 {
 *       v0 = load x[128 i + 2 j + k]                       v0 = load x[2 j]  ..  v3 = load x[2 j + 129]
 *       into r0[j] = v0 } } }                   ->         store totals[j] = what lanes of v0 .. v3 come to }
 *
 * Then lanes are in registers, and vectors are of results. */
#include "base/machine.h"
#include "pass/sums.h"

bool tn_i_summing_is_few(const tn_i_summing *z, const tn_i_reduction *r) {
    const tn_i_loops *p = z->p;
    const uint32_t inner = r->loop[r->nloop - 1], end = p->op[inner].to;
    if (r->n > (r->kept[r->nloop - 1] ? TN_LEAF : TN_LANES) || r->fold > TN_FOLD_MIN || r->by_columns) return false;
    if (r->kind != TN_SUMMING_COLUMNS && r->kind != TN_SUMMING_EACH) return false;
    for (uint32_t i = 1; i < r->nloop; i++)
        if (r->loop[i] != r->loop[i - 1] + 1 || p->op[r->loop[i]].to + 1 != p->op[r->loop[i - 1]].to) return false;
    for (uint32_t i = inner + 1; i < end; i++)
        if (i != r->into && (!tn_i_l_straight(p, i, i + 1) || p->op[i].kind == TN_L_STORE)) return false;
    return (int64_t)(end - inner) * r->n <= TN_M_SUM_OPERATIONS;
}

/* Element `at` of the result that is open. */
static uint32_t element(tn_i_summing *z, const tn_i_reduction *r, int64_t at) {
    const uint32_t inner = r->loop[r->nloop - 1];
    for (uint32_t i = r->nloop; i-- > 0;) {
        if (r->kept[i]) continue;
        tn_i_l_copy_loop(&z->c, r->loop[i], tn_i_affine_number(at % r->size[i]));
        at /= r->size[i];
    }
    for (uint32_t k = inner + 1; k < z->p->op[inner].to; k++)
        if (k != r->into) tn_i_l_copy_op(&z->c, k);
    return z->c.b->failed ? TN_L_NONE : z->c.value[z->p->op[r->into].in[1]];
}

void tn_i_summing_few(tn_i_summing *z, tn_i_reduction *r) {
    tn_i_l_builder *b = z->c.b;
    uint32_t x[TN_LANES], open = 0;
    for (uint32_t i = 0; i < r->nloop; i++) {
        if (!r->kept[i]) continue;
        tn_i_l_copy_loop(&z->c, r->loop[i], tn_i_affine_loop(tn_i_l_for_n(b, r->size[i]), 1, 0));
        open++;
    }
    for (int64_t i = 0; i < r->n && !b->failed; i++) {
        const uint32_t v = element(z, r, i), l = (uint32_t)(i % TN_LANES);
        x[l] = i < TN_LANES ? tn_i_l_fold_first(b, r->fold, r->dtype, v) : tn_i_summing_fold(z, r, x[l], v);
    }
    for (int64_t h = TN_LANES / 2; h > 0 && !b->failed; h /= 2)
        for (int64_t l = 0; l < h && l + h < r->n; l++) x[l] = tn_i_summing_fold(z, r, x[l], x[l + h]);
    if (!b->failed) tn_i_l_store_at(b, r->lane, tn_i_l_copy_affine(&z->c, &z->p->op[r->into].at), x[0]);
    while (open-- > 0) tn_i_l_close(b);
}
