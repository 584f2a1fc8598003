#include "checkpoint/cost_model.h"

#include "prims/ids.h"

/* The machine table's. */
const tn_i_cost_model tn_i_shipped_costs = {
#define TN_MACHINE(name, value, unit, what, how)
#define TN_PRICE(member, name, ns, unit, how) .member = (ns),
#include "base/machine.def"
#undef TN_MACHINE
#undef TN_PRICE
    .capacity = {TN_M_FIRST_CACHE, TN_M_SECOND_CACHE, TN_M_THIRD_CACHE},
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
    const double element = m->named ? m->element[e->prim->id] : e->prim->ns;
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
