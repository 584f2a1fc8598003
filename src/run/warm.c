#include "run/warm.h"
#include "prims/linear/gemm.h"

#include <math.h>

/* An m x k by k x n product, as far as sizes tell. */
typedef struct product {
    double work, m, n, k;
} product;

/* Operands a and b and the result hold B mk, B kn and B mn elements at B mnk multiply-adds; a factorization
 * of one n x n matrix counts as a product of three such. */
static product measure(const tn_fn *f, const tn_i_eqn *e, double work) {
    const tn_i_var *in = tn_i_in(f, e);
    const double a = (double)tn_i_count(f->val[in[0]].type), c = (double)tn_i_count(f->val[e->out].type);
    const double b = e->nin > 1 ? (double)tn_i_count(f->val[in[1]].type) : a;
    double batch = a * b * c / (work * work);
    if (!(batch > 1)) batch = 1;
    return (product){
        .work = work / batch, .m = sqrt(a * c / b / batch), .n = sqrt(b * c / a / batch), .k = sqrt(a * b / c / batch)};
}

static bool consider(const tn_fn *f, const tn_i_eqn *e, product best[TN_NDTYPES]) {
    tn_i_cost cost = {0};
    const tn_type *t = e->nout ? f->val[e->out].type : NULL;
    if (!t || e->nin == 0 || !e->prim->cost || !tn_i_is_float(t->dtype) || tn_i_count(t) == 0) return true;
    if (!tn_i_eqn_cost(f, e, &cost)) return false;
    if (!(cost.products > 0)) return true;
    product p = measure(f, e, cost.products);
    if (p.work > best[t->dtype].work) best[t->dtype] = p;
    return true;
}

static bool consider_all(const tn_i_plan *p, product best[TN_NDTYPES]) {
    for (size_t i = 0; i < p->nstep; i++)
        if (p->step[i].kind == TN_STEP_KERNEL && !consider(p->f, &p->f->eqn[p->step[i].eqn], best)) return false;
    return true;
}

bool tn_i_warm_products(tn_ctx *c, const tn_i_plan *p, int threads) {
    product best[TN_NDTYPES] = {{0}};
    if (!consider_all(p, best)) return false;
    for (size_t i = 0; i < p->nnested; i++)
        if (!consider_all(p->nested[i], best)) return false;
    for (int dtype = TN_F32; dtype <= TN_F64; dtype++) {
        const product *b = &best[dtype];
        if (b->work > 0 &&
            !tn_i_gemm_warm(c, dtype, threads, (int64_t)ceil(b->m), (int64_t)ceil(b->n), (int64_t)ceil(b->k)))
            return false;
    }
    return true;
}
