/* Push-relabel, highest label first, one component at a time: only the preflow is computed, since
 * a cut needs no more.  Components keep the gap rule sharp: labels of one say nothing of another.
 * B. V. Cherkassky, A. V. Goldberg, "On implementing the push-relabel method for the maximum flow
 * problem", Algorithmica 19 (1997). */
#include "checkpoint/max_flow.h"

#include <string.h>

#define NONE UINT32_MAX

typedef struct edge {
    uint32_t to, reverse; /* reverse: index of the edge back */
    int64_t left;
} edge;

typedef struct flow {
    tn_ctx *ctx;
    uint32_t n;
    uint32_t *first; /* n+1: edges of node v are first[v] .. first[v+1] */
    edge *edge;
    size_t nedges;
    int64_t *excess, *demand;
    uint32_t *label;              /* distance to the sink at least; NONE: the sink is out of reach */
    uint32_t *at;                 /* the edge to look at next */
    uint32_t *next, *prev, *head; /* nodes by label; head is also indexed by label */
    uint32_t *waiting, *stack;    /* nodes with excess by label: stack[label], chained by waiting */
    uint32_t *exact;              /* the label that the last search found */
    uint32_t *order;              /* nodes, component by component */
    uint32_t *queue;
    uint32_t highest, largest; /* labels: of nodes with excess, of all */
    size_t work;
    bool parked; /* some excess waits for a search */
} flow;

/* ---- memory ----------------------------------------------------------------------------- */

enum { ARRAYS = 10 };

static bool flow_new(flow *s, tn_ctx *c, const tn_i_network *net) {
    const size_t n = net->nnodes, labels = n + 2;
    *s = (flow){.ctx = c, .n = net->nnodes, .nedges = 2 * (size_t)net->narcs};
    if (n > UINT32_MAX - 4 || s->nedges > UINT32_MAX) {
        (void)tn_i_fail(c, TN_ELIMIT, NULL, "a network of %zu nodes and %u arcs", n, (unsigned)net->narcs);
        return false;
    }
    uint32_t *words = tn_i_alloc_array(c, labels, ARRAYS * sizeof *words);
    s->first = words;
    s->edge = tn_i_alloc_array(c, s->nedges, sizeof *s->edge);
    s->excess = tn_i_alloc_array(c, 2 * n, sizeof *s->excess);
    if (!words || !s->edge || !s->excess) return false;
    uint32_t **const part[ARRAYS] = {&s->first, &s->label,   &s->at,    &s->next,  &s->prev,
                                     &s->head,  &s->waiting, &s->stack, &s->order, &s->exact};
    for (size_t i = 0; i < ARRAYS; i++) *part[i] = words + i * labels;
    s->demand = s->excess + n;
    s->queue = s->next; /* the lists by label are made after each search */
    return true;
}

static void flow_free(flow *s) {
    const size_t n = s->n;
    tn_i_free(s->ctx, s->first, (n + 2) * ARRAYS * sizeof *s->first);
    tn_i_free(s->ctx, s->edge, s->nedges * sizeof *s->edge);
    tn_i_free(s->ctx, s->excess, 2 * n * sizeof *s->excess);
}

/* Counting sort of the arcs, each with its reverse, by the node they leave. */
static void set_edges(flow *s, const tn_i_network *net) {
    for (uint32_t i = 0; i < net->narcs; i++) {
        s->first[net->arc[i].from + 1]++;
        s->first[net->arc[i].to + 1]++;
    }
    for (uint32_t v = 0; v < s->n; v++) {
        s->first[v + 1] += s->first[v];
        s->at[v] = s->first[v];
    }
    for (uint32_t i = 0; i < net->narcs; i++) {
        const tn_i_arc *a = &net->arc[i];
        const uint32_t there = s->at[a->from]++, back = s->at[a->to]++;
        s->edge[there] = (edge){.to = a->to, .reverse = back, .left = a->capacity};
        s->edge[back] = (edge){.to = a->from, .reverse = there, .left = 0};
    }
}

/* ---- labels ------------------------------------------------------------------------------ */

static void link_node(flow *s, uint32_t v) {
    const uint32_t l = s->label[v];
    s->prev[v] = NONE;
    s->next[v] = s->head[l];
    if (s->head[l] != NONE) s->prev[s->head[l]] = v;
    s->head[l] = v;
    if (l > s->largest) s->largest = l;
}

static void unlink_node(flow *s, uint32_t v) {
    if (s->prev[v] != NONE)
        s->next[s->prev[v]] = s->next[v];
    else
        s->head[s->label[v]] = s->next[v];
    if (s->next[v] != NONE) s->prev[s->next[v]] = s->prev[v];
}

static void wait_node(flow *s, uint32_t v) {
    const uint32_t l = s->label[v];
    s->waiting[v] = s->stack[l];
    s->stack[l] = v;
    if (l > s->highest) s->highest = l;
}

/* Exact distances to the sink along what is left, for the nodes of one component. */
static void search(flow *s, const uint32_t *node, uint32_t count) {
    uint32_t tail = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t v = node[i];
        s->label[v] = s->demand[v] > 0 ? 1 : NONE;
        if (s->demand[v] > 0) s->queue[tail++] = v;
    }
    for (uint32_t i = 0; i < tail; i++) {
        const uint32_t v = s->queue[i];
        for (uint32_t k = s->first[v]; k < s->first[v + 1]; k++) {
            const edge *e = &s->edge[k];
            if (s->label[e->to] != NONE || s->edge[e->reverse].left == 0) continue;
            s->label[e->to] = s->label[v] + 1;
            s->queue[tail++] = e->to;
        }
    }
}

static void relabel_all(flow *s, const uint32_t *node, uint32_t count) {
    search(s, node, count);
    for (uint32_t l = 0; l <= count + 1; l++) s->head[l] = s->stack[l] = NONE;
    s->highest = s->largest = 0;
    s->work = 0;
    s->parked = false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t v = node[i];
        s->at[v] = s->first[v];
        s->exact[v] = s->label[v];
        if (s->label[v] == NONE) continue;
        link_node(s, v);
        if (s->excess[v] > 0) wait_node(s, v);
    }
}

/* No node has label l any more: from the labels above it the sink is out of reach. */
static void close_gap(flow *s, uint32_t l) {
    for (uint32_t k = l + 1; k <= s->largest; k++) {
        for (uint32_t v = s->head[k]; v != NONE; v = s->next[v]) s->label[v] = NONE;
        s->head[k] = NONE;
    }
    s->largest = l;
}

static void relabel(flow *s, uint32_t v, uint32_t count) {
    const uint32_t old = s->label[v];
    uint32_t least = NONE;
    unlink_node(s, v);
    if (s->head[old] == NONE) {
        close_gap(s, old);
        s->label[v] = NONE;
        return;
    }
    for (uint32_t k = s->first[v]; k < s->first[v + 1]; k++)
        if (s->edge[k].left > 0 && s->label[s->edge[k].to] < least) least = s->label[s->edge[k].to];
    s->work += s->first[v + 1] - s->first[v];
    s->at[v] = s->first[v];
    s->label[v] = least < count ? least + 1 : NONE;
    if (s->label[v] != NONE) link_node(s, v);
}

/* ---- flow -------------------------------------------------------------------------------- */

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

static void push(flow *s, uint32_t v, edge *e) {
    const int64_t amount = least_of(s->excess[v], e->left);
    e->left -= amount;
    s->edge[e->reverse].left += amount;
    s->excess[v] -= amount;
    s->excess[e->to] += amount;
    if (s->excess[e->to] == amount) wait_node(s, e->to);
}

/* Excess that can go no further would climb step by step, here and in many places one after another;
 * after a few steps it waits for the next search, which raises all of it at once. */
enum { SLACK = 8 };

static void discharge(flow *s, uint32_t v, uint32_t count) {
    while (s->excess[v] > 0 && s->label[v] != NONE) {
        if (s->label[v] - s->exact[v] > SLACK) {
            s->parked = true;
            return;
        }
        if (s->label[v] == 1) {
            const int64_t amount = least_of(s->excess[v], s->demand[v]);
            s->demand[v] -= amount;
            s->excess[v] -= amount;
        }
        for (; s->excess[v] > 0 && s->at[v] < s->first[v + 1]; s->at[v]++) {
            edge *e = &s->edge[s->at[v]];
            s->work++;
            if (e->left == 0 || s->label[e->to] == NONE || s->label[e->to] + 1 != s->label[v]) continue;
            push(s, v, e);
            if (s->excess[v] == 0) break;
        }
        if (s->excess[v] > 0) relabel(s, v, count);
    }
}

/* As much as can reach the sink does; labels are exact afterwards. */
static void saturate(flow *s, const uint32_t *node, uint32_t count) {
    size_t edges = 0;
    for (uint32_t i = 0; i < count; i++) edges += s->first[node[i] + 1] - s->first[node[i]];
    relabel_all(s, node, count);
    for (;;) {
        while (s->highest > 0 && s->stack[s->highest] == NONE) s->highest--;
        if (s->highest == 0 && !s->parked) break;
        if (s->highest == 0) {
            relabel_all(s, node, count);
            continue;
        }
        const uint32_t v = s->stack[s->highest];
        s->stack[s->highest] = s->waiting[v];
        if (s->label[v] == s->highest) discharge(s, v, count);
        if (s->work > 4 * (edges + count)) relabel_all(s, node, count);
    }
    search(s, node, count);
}

/* Collects the component of `root` from order[from] on; returns its end. */
static uint32_t component(flow *s, uint32_t root, uint32_t from) {
    uint32_t tail = from;
    s->order[tail++] = root;
    s->label[root] = 1;
    for (uint32_t i = from; i < tail; i++)
        for (uint32_t v = s->order[i], k = s->first[v]; k < s->first[v + 1]; k++) {
            const uint32_t w = s->edge[k].to;
            if (s->label[w]) continue;
            s->label[w] = 1;
            s->order[tail++] = w;
        }
    return tail;
}

bool tn_i_smallest_cut(tn_ctx *c, const tn_i_network *net, uint8_t *sink_side, int64_t *value) {
    flow s;
    bool ok = flow_new(&s, c, net);
    *value = 0;
    if (ok) {
        set_edges(&s, net);
        for (uint32_t v = 0; v < s.n; v++) {
            const int64_t through = least_of(net->supply[v], net->demand[v]);
            s.excess[v] = net->supply[v] - through;
            s.demand[v] = net->demand[v] - through;
        }
        for (uint32_t v = 0, end = 0; v < s.n; v++) {
            if (s.label[v]) continue;
            const uint32_t begin = end;
            end = component(&s, v, begin);
            saturate(&s, s.order + begin, end - begin);
        }
        for (uint32_t v = 0; v < s.n; v++) {
            sink_side[v] = s.label[v] != NONE;
            *value += net->demand[v] - s.demand[v];
        }
    }
    flow_free(&s);
    return ok;
}
