#include "checkpoint/cost_model.h"

#include "prims/ids.h"

/* Measured with gcc -O3 on f32 arrays of 16 KiB, 256 KiB and 64 MiB, in ns per element: copy .039 .073 .365, read
 * .042 .050 .179; beyond the second cache, by bench/calibrate on an EPYC (family 25 model 17; a Xeon's triad agrees),
 * .12 and .14.  Square root and quotient .16 together (8).  A step of an executable takes about 20 ns.  Products and
 * functions of vectors (AVX-512: sgemm 140 flops per ns), by bench/calibrate on a Xeon (family 6 model 207). */
const tn_i_cost_model tn_i_shipped_costs = {
    .equation = 20,
    .flop = 0.02,
    .product = 2 / 140.0,
    .read = {0.042 / 4, 0.050 / 4, 0.12 / 4, 0.179 / 4},
    .write = {0.039 / 4, 0.073 / 4, 0.14 / 4, 0.365 / 4},
    .capacity = {32 << 10, 1 << 20, 32 << 20},
    .message = 5000, /* Open MPI in shared memory, of 32 KiB and more */
    .message_byte = 0.12,
    .element =
        {[TN_P_cbrt] = 0.34,  [TN_P_exp] = 0.22,   [TN_P_exp2] = 0.22,   [TN_P_expm1] = 0.25, [TN_P_log] = 0.25,
         [TN_P_log1p] = 0.48, [TN_P_sin] = 0.29,   [TN_P_cos] = 0.27,    [TN_P_tan] = 0.44,   [TN_P_asin] = 0.38,
         [TN_P_acos] = 0.41,  [TN_P_atan] = 0.44,  [TN_P_atan2] = 0.7,   [TN_P_sinh] = 0.38,  [TN_P_cosh] = 0.32,
         [TN_P_tanh] = 0.35,  [TN_P_asinh] = 0.92, [TN_P_acosh] = 0.87,  [TN_P_atanh] = 0.57, [TN_P_logistic] = 0.36,
         [TN_P_erf] = 0.67,   [TN_P_erfc] = 0.56,  [TN_P_erf_inv] = 0.9, [TN_P_lgamma] = 5,   [TN_P_digamma] = 4.6,
         [TN_P_polygamma] = 2},
};

tn_i_level tn_i_level_of(const tn_i_cost_model *m, double bytes) {
    int level = TN_I_L1;
    while (level < TN_I_DRAM && bytes > m->capacity[level]) level++;
    return (tn_i_level)level;
}

/* Vectors hold half as many elements of 8 bytes as of 4; those of 1 byte come from wider ones. */
static double width(const tn_fn *f, const tn_i_eqn *e) {
    const tn_i_var v = e->nin ? tn_i_in(f, e)[0] : e->out;
    return tn_i_dtype_size(f->val[v].type->dtype) > 4 ? 2 : 1;
}

double tn_i_computing_ns(const tn_i_cost_model *m, const tn_fn *f, const tn_i_eqn *e, const tn_i_cost *c) {
    const double flops = c->flops > 2 * c->products ? c->flops - 2 * c->products : 0;
    const double element = m->element[e->prim->id];
    const double ns =
        element > 0 ? element * (double)tn_i_count(f->val[e->out].type) : flops * m->flop + c->products * m->product;
    return width(f, e) * ns;
}

bool tn_i_narrows(const tn_fn *f, const tn_i_eqn *e) {
    return e->prim->flags & TN_F_VIEW &&
           tn_type_bytes(f->val[e->out].type) < tn_type_bytes(f->val[tn_i_in(f, e)[0]].type);
}

double tn_i_part_ns(const tn_i_cost_model *m, const tn_fn *f, const tn_i_eqn *e, const tn_i_cost *c) {
    return m->equation * c->equations + tn_i_computing_ns(m, f, e, c);
}

bool tn_i_fuses(const tn_i_eqn *e) {
    enum { MOST_PARTS = 4 }; /* more are put together in memory */
    return e->prim->flags & TN_F_ELEMENTWISE || e->prim->body || (e->prim->flags & TN_F_PLACES && e->nin <= MOST_PARTS);
}

bool tn_i_recompute_ns(const tn_i_cost_model *m, const tn_fn *f, const tn_i_eqn *e, double *ns) {
    tn_i_cost c;
    *ns = 0;
    if (e->nin == 0 && !e->prim->body) return true;
    if (e->prim->flags & TN_F_VIEW) {
        *ns = tn_i_narrows(f, e) ? m->equation : 0;
        return true;
    }
    if (!tn_i_eqn_cost(f, e, &c)) return false;
    *ns = m->equation * (c.equations > 1 ? c.equations : 1) + tn_i_computing_ns(m, f, e, &c);
    if (tn_i_fuses(e)) return true;
    *ns += c.bytes * m->read[tn_i_level_of(m, c.bytes)];
    return true;
}

double tn_i_save_ns(const tn_i_cost_model *m, const tn_type *t, tn_i_level level, bool written_anyway) {
    return (double)tn_type_bytes(t) * (m->read[level] + (written_anyway ? 0 : m->write[level]));
}

bool tn_i_planned_ns(const tn_i_cost_model *m, const tn_fn *f, double *ns) {
    *ns = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        double one;
        if (!tn_i_recompute_ns(m, f, &f->eqn[i], &one)) return false;
        *ns += one;
    }
    return true;
}

/* Whether v is among the first n outputs of f. */
static bool returned(const tn_fn *f, uint32_t n, tn_i_var v) {
    for (uint32_t k = 0; k < n; k++)
        if (f->out[k] == v) return true;
    return false;
}

double tn_i_residuals_ns(const tn_i_cost_model *m, const tn_fn *primal, const tn_fn *linear, double *bytes) {
    const uint32_t nres = linear->nin - linear->nlin, first = primal->nout - nres;
    double sum = 0, ns = 0;
    for (uint32_t k = 0; k < nres; k++)
        if (primal->out[first + k] >= primal->nin) sum += (double)tn_type_bytes(linear->val[k].type);
    const tn_i_level level = tn_i_level_of(m, sum);
    for (uint32_t k = 0; k < nres; k++)
        if (primal->out[first + k] >= primal->nin)
            ns += tn_i_save_ns(m, linear->val[k].type, level, returned(primal, first, primal->out[first + k]));
    if (bytes) *bytes = sum;
    return ns;
}
