/* Sums of columns in registers: where all that a loop over rows has is loops over columns, of which each sums few
 * enough rows for one leaf, the columns come first, as a vector, and the lanes of a leaf are so many carries. */
#include "base/machine.h"
#include "pass/sums.h"

/* What the rows store may be stored column by column. */
static bool any_order(const tn_i_summing *z, const tn_i_reduction *r) {
    const uint32_t k = r->loop[0], inner = r->loop[r->nloop - 1];
    return r->nloop == 2 && z->around[k] == TN_L_NONE && tn_i_l_apart(z->p, k, r->n, NULL) &&
           tn_i_l_independent(z->p, inner);
}

bool tn_i_summing_in_registers(const tn_i_summing *z, const tn_i_reduction *r) {
    const tn_i_loops *p = z->p;
    if (!r->split || r->before || r->kept[0] || r->nloop < 2) return false;
    for (uint32_t i = 1; i < r->nloop; i++)
        if (r->loop[i] != r->loop[i - 1] + 1 || p->op[r->loop[i]].to + 1 != p->op[r->loop[i - 1]].to) return false;
    const uint32_t inner = r->loop[r->nloop - 1], end = p->op[inner].to;
    if (end - inner > TN_M_SUM_COLUMN_OPERATIONS) return false;
    bool stores = false;
    for (uint32_t i = inner + 1; i < end; i++) {
        if (i != r->into && !tn_i_l_straight(p, i, i + 1)) return false;
        stores |= p->op[i].kind == TN_L_STORE;
    }
    return !stores || any_order(z, r);
}

/* The element of a row, in the columns that are open. */
static uint32_t element(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine row) {
    const uint32_t inner = r->loop[r->nloop - 1];
    tn_i_l_copy_loop(&z->c, r->loop[0], row);
    for (uint32_t i = inner + 1; i < z->p->op[inner].to; i++)
        if (i != r->into) tn_i_l_copy_op(&z->c, i);
    return z->c.b->failed ? TN_L_NONE : z->c.value[z->p->op[r->into].in[1]];
}

static void fold_rows(tn_i_summing *z, const tn_i_reduction *r, tn_i_affine first, int64_t n, uint32_t *x) {
    for (int64_t l = 0; l < n && !z->c.b->failed; l++)
        x[l] = tn_i_summing_fold(z, r, x[l], element(z, r, tn_i_affine_add(z->c.b, first, 1, tn_i_affine_number(l))));
}

/* All whole rounds of lanes. */
static void fold_rounds(tn_i_summing *z, const tn_i_reduction *r, int64_t rounds, uint32_t *x) {
    tn_i_l_builder *b = z->c.b;
    uint32_t carry[TN_LANES];
    if (rounds == 0) return;
    if (rounds == 1) {
        fold_rows(z, r, tn_i_affine_number(0), TN_LANES, x);
        return;
    }
    const uint32_t loop = tn_i_l_for_n(b, rounds);
    for (int l = 0; l < TN_LANES; l++) x[l] = carry[l] = tn_i_l_carry(b, x[l]);
    fold_rows(z, r, tn_i_affine_loop(loop, TN_LANES, 0), TN_LANES, x);
    for (int l = 0; l < TN_LANES; l++) tn_i_l_next(b, carry[l], x[l]);
    tn_i_l_close(b);
    for (int l = 0; l < TN_LANES; l++) x[l] = tn_i_l_last(b, carry[l]);
}

void tn_i_summing_columns(tn_i_summing *z, tn_i_reduction *r) {
    tn_i_l_builder *b = z->c.b;
    uint32_t x[TN_LANES];
    for (uint32_t i = 1; i < r->nloop && !b->failed; i++) {
        const uint32_t loop = tn_i_l_for_n(b, r->size[i]);
        if (i + 1 == r->nloop && r->size[i] > 1)
            tn_i_l_set_vector(b, loop, z->m->vector / (int)tn_i_dtype_size(r->dtype));
        tn_i_l_copy_loop(&z->c, r->loop[i], tn_i_affine_loop(loop, 1, 0));
    }
    for (int64_t l = 0; l < r->lanes; l++) x[l] = tn_i_summing_identity(z, r);
    const int64_t rounds = r->n / TN_LANES;
    fold_rounds(z, r, rounds, x);
    fold_rows(z, r, tn_i_affine_number(rounds * TN_LANES), r->n % TN_LANES, x);
    for (int64_t h = TN_LANES / 2; h > 0; h /= 2)
        for (int64_t l = 0; l < h && l + h < r->lanes; l++) x[l] = tn_i_summing_fold(z, r, x[l], x[l + h]);
    tn_i_l_copy_loop(&z->c, r->loop[0], tn_i_affine_number(0));
    tn_i_l_store_at(b, r->lane, tn_i_l_copy_affine(&z->c, &z->p->op[r->into].at), x[0]);
    for (uint32_t i = 1; i < r->nloop; i++) tn_i_l_close(b);
}
