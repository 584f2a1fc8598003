/* One smallest cut.  An operation that is done again is behind the cut, and so is each value that is
 * had there:
 *
 *     source --cost--> operation --save--> value        (for each value it makes)
 *     value --unbounded--> operation                    (for each value it reads)
 *     value --unbounded--> sink                         (where needed)
 *
 * An arc that is cut is a cost that is paid.  Needed values are the sink itself, and operations that are
 * not done again the source: so the network falls apart where the decisions are independent. */
#include "checkpoint/save_graph.h"

#include "checkpoint/max_flow.h"

#include <math.h>
#include <string.h>

#define NO_NODE UINT32_MAX

typedef struct builder {
    tn_ctx *ctx;
    const tn_i_save_graph *g;
    uint32_t *op_node, *val_node; /* NO_NODE: the source or the sink */
    uint8_t *wanted;              /* per value: may be read behind the boundary */
    double scale;                 /* costs to whole numbers: a power of two */
    uint32_t nnodes;
    int64_t *supply, *demand;
    tn_i_arc *arc;
    size_t narcs, carcs;
} builder;

static double wanted_saves(const builder *b, const tn_i_save_op *op, bool *any) {
    double sum = 0;
    *any = false;
    for (uint32_t v = op->out; v < op->out + op->nout; v++) {
        if (!b->wanted[v]) continue;
        sum += b->g->save[v];
        *any = true;
    }
    return sum;
}

/* From the last operation to the first: which are worth a thought.  To save all that an operation makes
 * for no more than it costs to do again is best, whatever the rest. */
static void number_nodes(builder *b) {
    const tn_i_save_graph *g = b->g;
    double sum = 0;
    memcpy(b->wanted, g->needed, g->nval);
    for (uint32_t i = g->nop; i-- > 0;) {
        const tn_i_save_op *op = &g->op[i];
        bool any;
        const double saves = wanted_saves(b, op, &any);
        const bool again = any && op->cost < saves;
        sum += saves + (again ? op->cost : 0);
        b->op_node[i] = again ? b->nnodes++ : NO_NODE;
        for (uint32_t v = op->out; v < op->out + op->nout; v++)
            b->val_node[v] = b->wanted[v] && !g->needed[v] ? b->nnodes++ : NO_NODE;
        for (uint32_t k = 0; again && k < op->nin; k++) b->wanted[g->pool[op->in + k]] = 1;
    }
    int exponent;
    (void)frexp(sum, &exponent);
    b->scale = sum > 0 ? ldexp(1, 60 - exponent) : 1;
}

static int64_t scaled(const builder *b, double cost) { return (int64_t)llrint(cost * b->scale); }

static bool add_arc(builder *b, uint32_t from, uint32_t to, int64_t capacity) {
    if (!tn_i_grow(b->ctx, (void **)&b->arc, &b->carcs, b->narcs + 1, sizeof *b->arc)) return false;
    b->arc[b->narcs++] = (tn_i_arc){from, to, capacity};
    return true;
}

static bool add_op(builder *b, uint32_t i) {
    const tn_i_save_graph *g = b->g;
    const tn_i_save_op *op = &g->op[i];
    const uint32_t node = b->op_node[i];
    if (node != NO_NODE) b->supply[node] = scaled(b, op->cost);
    for (uint32_t v = op->out; v < op->out + op->nout; v++) {
        if (!b->wanted[v]) continue;
        const int64_t save = scaled(b, g->save[v]);
        if (b->val_node[v] == NO_NODE) {
            if (node != NO_NODE) b->demand[node] += save;
        } else if (node == NO_NODE)
            b->supply[b->val_node[v]] = save;
        else if (!add_arc(b, node, b->val_node[v], save))
            return false;
    }
    for (uint32_t k = 0; node != NO_NODE && k < op->nin; k++) {
        const uint32_t from = b->val_node[g->pool[op->in + k]];
        if (from != NO_NODE && !add_arc(b, from, node, TN_I_UNBOUNDED)) return false;
    }
    return true;
}

static bool solve(builder *b, uint8_t *behind) {
    const tn_i_network net = {
        .nnodes = b->nnodes, .narcs = (uint32_t)b->narcs, .supply = b->supply, .demand = b->demand, .arc = b->arc};
    int64_t value;
    if (b->narcs > UINT32_MAX) {
        (void)tn_i_fail(b->ctx, TN_ELIMIT, NULL, "a plan over %zu operands", b->narcs);
        return false;
    }
    return tn_i_smallest_cut(b->ctx, &net, behind, &value);
}

static double read_cut(const builder *b, const uint8_t *behind, uint8_t *save) {
    const tn_i_save_graph *g = b->g;
    double cost = 0;
    memset(save, 0, g->nval);
    for (uint32_t i = 0; i < g->nop; i++) {
        const tn_i_save_op *op = &g->op[i];
        const bool again = b->op_node[i] != NO_NODE && behind[b->op_node[i]];
        if (again) cost += op->cost;
        for (uint32_t v = op->out; v < op->out + op->nout; v++) {
            const bool had = b->val_node[v] == NO_NODE ? g->needed[v] != 0 : behind[b->val_node[v]] != 0;
            save[v] = had && !again;
            if (save[v]) cost += g->save[v];
        }
    }
    return cost;
}

bool tn_i_cheapest_saves(tn_ctx *c, const tn_i_save_graph *g, uint8_t *save, double *cost) {
    const size_t words = (size_t)g->nval + g->nop;
    builder b = {
        .ctx = c, .g = g, .op_node = tn_i_alloc_array(c, words, sizeof *b.op_node), .wanted = tn_i_alloc(c, g->nval)};
    uint8_t *behind = NULL;
    size_t nodes = 0;
    bool ok = b.op_node && b.wanted && words < NO_NODE;
    if (ok) {
        b.val_node = b.op_node + g->nop;
        memset(b.op_node, 0xff, words * sizeof *b.op_node);
        number_nodes(&b);
        nodes = b.nnodes;
        b.supply = tn_i_alloc_array(c, nodes, 2 * sizeof *b.supply);
        behind = tn_i_alloc(c, nodes);
        ok = b.supply && behind;
    }
    if (ok) b.demand = b.supply + nodes;
    for (uint32_t i = 0; ok && i < g->nop; i++) ok = add_op(&b, i);
    ok = ok && solve(&b, behind);
    if (ok) {
        const double sum = read_cut(&b, behind, save);
        if (cost) *cost = sum;
    }
    tn_i_free(c, b.arc, b.carcs * sizeof *b.arc);
    tn_i_free(c, behind, nodes);
    tn_i_free(c, b.supply, nodes * 2 * sizeof *b.supply);
    tn_i_free(c, b.wanted, g->nval);
    tn_i_free(c, b.op_node, words * sizeof *b.op_node);
    return ok;
}
