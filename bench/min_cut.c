/* How long does the exact plan take?  Graphs of 1000 to 100,000 values: chains, wide layers, diamonds and
 * random ones, with costs that leave the cut no easy way out.  One JSON line a graph: microseconds per value. */
#include "checkpoint/save_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct graph {
    tn_i_save_graph g;
    tn_i_save_op *op;
    uint32_t *pool;
    double *save;
    uint8_t *needed;
    uint32_t npool;
    uint64_t state;
} graph;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(graph *s) {
    s->state ^= s->state << 13;
    s->state ^= s->state >> 7;
    s->state ^= s->state << 17;
    return (double)(s->state >> 11) * 0x1p-53;
}

enum { ARGUMENTS = 2, OPERANDS = 4 };

static bool graph_new(graph *s, uint32_t n) {
    const size_t values = (size_t)n + ARGUMENTS;
    *s = (graph){.op = calloc(n, sizeof *s->op),
                 .pool = calloc(n, OPERANDS * sizeof *s->pool),
                 .save = calloc(values, sizeof *s->save),
                 .needed = calloc(values, 1),
                 .state = 88172645463325252u};
    s->g = (tn_i_save_graph){.nval = n + ARGUMENTS, .op = s->op, .pool = s->pool, .save = s->save, .needed = s->needed};
    return s->op && s->pool && s->save && s->needed;
}

static void graph_free(graph *s) {
    free(s->op);
    free(s->pool);
    free(s->save);
    free(s->needed);
}

/* An operation that makes one value; `in` counts back from it: 1 is the value before. */
static void add(graph *s, double cost, double save, bool needed, uint32_t nin, const uint32_t *in) {
    const uint32_t v = s->g.nop + ARGUMENTS;
    s->op[s->g.nop++] = (tn_i_save_op){.cost = cost, .in = s->npool, .nin = nin, .out = v, .nout = 1};
    for (uint32_t k = 0; k < nin; k++) s->pool[s->npool++] = in[k] < v ? v - in[k] : 0;
    s->save[v] = save;
    s->needed[v] = needed;
}

static void chain_last(graph *s, uint32_t n) { /* only the end is needed */
    for (uint32_t i = 0; i < n; i++) add(s, uniform(s), 2 + (double)n * uniform(s), i + 1 == n, 1, (uint32_t[]){1});
}

static void chain_half(graph *s, uint32_t n) { /* a value and what is needed of it, by turns */
    for (uint32_t i = 0; i < n; i++) {
        if (i % 2)
            add(s, 0.5 * uniform(s), 0.5 + uniform(s), true, 1, (uint32_t[]){1});
        else
            add(s, 0.5 + 0.5 * uniform(s), 1 + 3 * uniform(s), false, 1, (uint32_t[]){2});
    }
}

static void chain_all(graph *s, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) add(s, uniform(s), uniform(s), true, 1, (uint32_t[]){1});
}

static void rare(graph *s, uint32_t n) { /* needed values far apart, costs near balance */
    for (uint32_t i = 0; i < n; i++) {
        if (i % 200 == 199)
            add(s, 0.5, 120 * uniform(s), true, 1, (uint32_t[]){1});
        else
            add(s, uniform(s), 60 + 100 * uniform(s), false, 2, (uint32_t[]){1, 3});
    }
}

static void wide(graph *s, uint32_t n) { /* layers of 64, each value of three above it */
    const uint32_t w = 64;
    for (uint32_t i = 0; i < n; i++)
        add(s, uniform(s), 1 + 9 * uniform(s), uniform(s) < 0.1, 3,
            (uint32_t[]){w, w - 1 + (i % w == w - 1), w + 1 - (i % w == 0)});
}

static void wide_last(graph *s, uint32_t n) { /* the same, needed at the end alone, with narrow places */
    const uint32_t w = 64;
    for (uint32_t i = 0; i < n; i++)
        add(s, uniform(s), (double)n * (i / w % 50 ? 1 : 0.01) * uniform(s), i + w >= n, 3,
            (uint32_t[]){w, w - 1 + (i % w == w - 1), w + 1 - (i % w == 0)});
}

static void diamonds(graph *s, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i % 3 == 2)
            add(s, uniform(s), 1 + 4 * uniform(s), uniform(s) < 0.3, 2, (uint32_t[]){1, 2});
        else
            add(s, uniform(s), 1 + 4 * uniform(s), uniform(s) < 0.3, 1, (uint32_t[]){1 + i % 3});
    }
}

static void diamonds_last(graph *s, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i % 3 == 2)
            add(s, uniform(s), (double)n * uniform(s), i + 3 >= n, 2, (uint32_t[]){1, 2});
        else
            add(s, uniform(s), (double)n * uniform(s), false, 1, (uint32_t[]){1 + i % 3});
    }
}

static void two_lanes(graph *s, uint32_t n) { /* independent narrow places side by side, joined at the end */
    for (uint32_t i = 0; i < n; i++) {
        const double shrinking = (double)(n - i) * 0.4;
        if (i + 1 == n)
            add(s, 0.1, (double)n, true, 2, (uint32_t[]){1, 2});
        else
            add(s, 1, i % 20 < 2 ? shrinking : (double)n, false, 2, (uint32_t[]){2, i % 10 == 0 ? 3 : 2});
    }
}

static void anyhow(graph *s, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t near = 1 + (uint32_t)(uniform(s) * 10), far = 1 + (uint32_t)(uniform(s) * (i + 1));
        const double cost = uniform(s) < 0.05 ? INFINITY : uniform(s);
        add(s, cost, 0.5 + 4 * uniform(s), uniform(s) < 0.4, 2, (uint32_t[]){near, far});
    }
}

static void anyhow_sparse(graph *s, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t near = 1 + (uint32_t)(uniform(s) * 1000), far = 1 + (uint32_t)(uniform(s) * (i + 1));
        add(s, uniform(s), 1 + 50 * uniform(s), uniform(s) < 0.01, 2, (uint32_t[]){near, far});
    }
}

static const struct {
    const char *name;
    void (*fill)(graph *s, uint32_t n);
} shapes[] = {{"chain, all needed", chain_all},
              {"chain, every other needed", chain_half},
              {"chain, last needed", chain_last},
              {"chain, one in 200 needed", rare},
              {"layers of 64", wide},
              {"layers of 64, last needed", wide_last},
              {"diamonds", diamonds},
              {"diamonds, last needed", diamonds_last},
              {"two lanes, narrow places", two_lanes},
              {"random", anyhow},
              {"random, few needed", anyhow_sparse}};

static bool measure(tn_ctx *c, size_t shape, uint32_t n) {
    graph s;
    double best = INFINITY, cost = 0;
    const bool room = graph_new(&s, n);
    uint8_t *save = malloc((size_t)n + ARGUMENTS);
    bool ok = room && save;
    if (ok) shapes[shape].fill(&s, n);
    for (int i = 0; ok && i < 3; i++) {
        const double start = now();
        ok = tn_i_cheapest_saves(c, &s.g, save, &cost);
        best = fmin(best, now() - start);
    }
    if (ok)
        printf("{\"bench\": \"min_cut\", \"graph\": \"%s\", \"values\": %u, \"us_per_value\": %.3f, \"cost\": %.6g}\n",
               shapes[shape].name, (unsigned)n, 1e6 * best / n, cost);
    free(save);
    graph_free(&s);
    return ok;
}

int main(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    bool ok = c != NULL;
    for (size_t i = 0; ok && i < sizeof shapes / sizeof *shapes; i++)
        for (uint32_t n = 1000; ok && n <= 100000; n *= 10) ok = measure(c, i, n);
    if (!ok) fprintf(stderr, "min_cut: %s\n", c ? tn_error(c) : "out of memory");
    tn_ctx_free(c);
    return !ok;
}
