/* Static costs, one equation at a time (docs/ir.md). */
#include "ir/seen.h"
#include "prims/prim.h"

#include <string.h>

/* Costs of nested programs, by their number among those met. */
typedef struct costs {
    tn_i_seen seen;
    tn_i_cost *cost;
    size_t capacity;
} costs;

static void add(tn_i_cost *a, const tn_i_cost *b) {
    a->flops += b->flops;
    a->transcendentals += b->transcendentals;
    a->products += b->products;
    a->bytes += b->bytes;
    a->equations += b->equations;
}

/* Each element costs the primitive's weight; operands are read and outputs written once. */
static void elementwise(const tn_i_query *q, tn_i_cost *cost) {
    for (uint32_t i = 0; i < q->nin; i++) cost->bytes += (double)tn_type_bytes(q->in[i]);
    for (uint32_t j = 0; j < q->nout; j++) {
        const double n = (double)tn_i_count(&q->out[j]);
        cost->bytes += (double)tn_type_bytes(&q->out[j]);
        cost->flops += n * q->prim->weight;
        if (q->prim->weight >= 16) cost->transcendentals += n;
    }
}

#define FEW 8

static bool plain_cost(const tn_fn *f, const tn_i_eqn *e, tn_i_cost *cost) {
    const tn_type *few_in[FEW], **in = few_in;
    tn_type few_out[FEW], *out = few_out;
    tn_ctx *c = f->ctx;
    const tn_status before = c->status;
    if (e->nin > FEW) in = tn_i_alloc_array(c, e->nin, sizeof *in);
    if (e->nout > FEW) out = tn_i_alloc_array(c, e->nout, sizeof *out);
    if (in && out) {
        for (uint32_t i = 0; i < e->nin; i++) in[i] = f->val[tn_i_in(f, e)[i]].type;
        for (uint32_t j = 0; j < e->nout; j++) out[j] = *f->val[e->out + j].type;
        const tn_i_query q = {
            .ctx = c, .prim = e->prim, .p = tn_i_p(e), .nin = e->nin, .nout = e->nout, .in = in, .out = out};
        c->status = TN_OK; /* what a loop's steps cost may be more than there is memory to find out */
        (e->prim->cost ? e->prim->cost : elementwise)(&q, cost);
    }
    const bool ok = in && out && c->status == TN_OK;
    if (ok) c->status = before;
    if (in != few_in) tn_i_free(c, (void *)in, e->nin * sizeof *in);
    if (out != few_out) tn_i_free(c, out, e->nout * sizeof *out);
    return ok;
}

static bool program_cost(const tn_fn *f, costs *k, tn_i_cost *cost);

static bool nested_cost(const tn_fn *f, costs *k, tn_i_cost *cost) {
    uint32_t number;
    bool fresh;
    if (!tn_i_seen_add(&k->seen, f, &number, &fresh) ||
        !tn_i_grow(f->ctx, (void **)&k->cost, &k->capacity, k->seen.n, sizeof *k->cost))
        return false;
    if (fresh) {
        tn_i_cost sum;
        if (!program_cost(f, k, &sum)) return false;
        k->cost[number] = sum;
    }
    *cost = k->cost[number];
    return true;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Whichever is run, no figure is more than its largest among them. */
static bool largest_cost(uint32_t n, const tn_fn *const *f, costs *k, tn_i_cost *cost) {
    for (uint32_t i = 0; i < n; i++) {
        tn_i_cost one;
        if (!nested_cost(f[i], k, &one)) return false;
        cost->flops = larger(cost->flops, one.flops);
        cost->transcendentals = larger(cost->transcendentals, one.transcendentals);
        cost->products = larger(cost->products, one.products);
        cost->bytes = larger(cost->bytes, one.bytes);
        cost->equations = larger(cost->equations, one.equations);
    }
    return true;
}

/* An equation that runs a program costs what the program does. */
static bool equation_cost(const tn_fn *f, const tn_i_eqn *e, costs *k, tn_i_cost *cost) {
    const tn_fn *const *branch;
    const uint32_t n = tn_i_alternatives(e, &branch);
    *cost = (tn_i_cost){.equations = 1};
    if (n) return largest_cost(n, branch, k, cost);
    if (e->prim->body) return nested_cost(tn_i_p(e)[e->prim->body - 1].u.fn, k, cost);
    return plain_cost(f, e, cost);
}

static bool program_cost(const tn_fn *f, costs *k, tn_i_cost *cost) {
    *cost = (tn_i_cost){0};
    for (uint32_t i = 0; i < f->neqn; i++) {
        tn_i_cost one;
        if (!equation_cost(f, &f->eqn[i], k, &one)) return false;
        add(cost, &one);
    }
    return true;
}

static void costs_init(costs *k, tn_ctx *c) {
    *k = (costs){0};
    tn_i_seen_init(&k->seen, c);
}

static void costs_free(costs *k) {
    tn_i_free(k->seen.ctx, k->cost, k->capacity * sizeof *k->cost);
    tn_i_seen_free(&k->seen);
}

bool tn_i_fn_cost(const tn_fn *f, tn_i_cost *cost) {
    costs k;
    costs_init(&k, f->ctx);
    const bool ok = program_cost(f, &k, cost);
    costs_free(&k);
    return ok;
}

bool tn_i_eqn_cost(const tn_fn *f, const tn_i_eqn *e, tn_i_cost *cost) {
    costs k;
    costs_init(&k, f->ctx);
    const bool ok = equation_cost(f, e, &k, cost);
    costs_free(&k);
    return ok;
}
