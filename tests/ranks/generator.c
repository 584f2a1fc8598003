/* Programs from seeds: local operators, collectives over each set of axes, and programs within programs.  What a value
 * varies over is told here once more, by the rules of docs/mpi.md, to be compared with what the library says. */
#include "ranks.h"

#include <stdio.h>
#include <string.h>

enum { POOL = 64 };

typedef struct value {
    tn_val v;
    uint32_t over;
} value;

typedef struct pool {
    tn_ctx *c;
    const ranks_case *k;
    ranks_rng r;
    value x[POOL];
    int n;
} pool;

uint64_t ranks_next(ranks_rng *r) {
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
int ranks_pick(ranks_rng *r, int n) { return (int)(ranks_next(r) % (uint64_t)n); }
double ranks_uniform(ranks_rng *r) { return (double)(int64_t)ranks_next(r) * 0x1p-63; }

const char *ranks_names(const ranks_case *k, uint32_t axes, char text[32]) {
    size_t at = 0;
    text[0] = 0;
    for (size_t a = 0; a < k->grid.naxes; a++)
        if (axes >> a & 1) at += (size_t)snprintf(text + at, 32 - at, "%s%s", at ? "," : "", k->name[a]);
    return text;
}

uint32_t ranks_over(tn_ctx *c, const ranks_case *k, const tn_type *t) {
    char text[32];
    for (uint32_t axes = 1; axes < 1u << k->grid.naxes; axes++)
        if (tn_varying(c, tn_type_of(TN_F64, 0, NULL), ranks_names(k, axes, text)).varying == t->varying) return axes;
    return 0;
}

void ranks_case_of(uint64_t seed, ranks_case *k) {
    static const int64_t grids[][RANKS_AXES] = {{1, 0}, {2, 0}, {3, 0}, {4, 0}, {2, 2}, {1, 3}};
    ranks_rng r = {seed};
    *k = (ranks_case){.seed = seed, .ranks = 1};
    const int64_t *g = grids[ranks_pick(&r, (int)(sizeof grids / sizeof *grids))];
    for (size_t a = 0; a < RANKS_AXES && g[a]; a++) {
        k->name[a] = a ? "c" : g[1] ? "r" : "w";
        k->extent[a] = g[a];
        k->ranks *= (int)g[a];
        k->grid.naxes++;
    }
    k->grid.name = k->name;
    k->grid.extent = k->extent;
    k->nin = 1 + (size_t)ranks_pick(&r, 3);
    for (size_t i = 0; i < k->nin; i++) k->in[i] = (uint32_t)ranks_pick(&r, 1 << k->grid.naxes);
}

/* ---- choosing --------------------------------------------------------------------------- */

static int64_t ranks_along(const pool *p, uint32_t axes) {
    int64_t n = 1;
    for (size_t a = 0; a < p->k->grid.naxes; a++)
        if (axes >> a & 1) n *= p->k->extent[a];
    return n;
}

static value any(pool *p) { return p->x[ranks_pick(&p->r, p->n)]; }

/* Axes, at least one, that are all in `of`; 0: there are none. */
static uint32_t some_axes(pool *p, uint32_t of) {
    uint32_t axes = 0;
    while (of && !axes) axes = (uint32_t)ranks_next(&p->r) & of;
    return axes;
}

static uint32_t one_axis(pool *p, uint32_t of) {
    uint32_t a = some_axes(p, of);
    return a & (~a + 1);
}

static uint32_t all_axes(const pool *p) { return (1u << p->k->grid.naxes) - 1; }

/* ---- values ------------------------------------------------------------------------------ */

static void give(pool *p, tn_val v, uint32_t over) {
    if (p->n < POOL) p->x[p->n++] = (value){v, over};
}

static value local(pool *p, value a, value b) {
    const uint32_t over = a.over | b.over;
    switch (ranks_pick(&p->r, 7)) {
    case 0: return (value){tn_mul(tn_add(a.v, b.v), 0.5), over};
    case 1: return (value){tn_mul(a.v, b.v), over};
    case 2: return (value){tn_tanh(tn_sub(a.v, tn_mul(b.v, 2))), over};
    case 3: return (value){tn_sin(tn_mul(a.v, 1.7)), a.over};
    case 4: return (value){tn_mul(a.v, tn_sum(tn_mul(b.v, 0.4))), over};
    case 5: return (value){tn_where(tn_gt(a.v, 0), b.v, tn_mul(a.v, 0.5)), over};
    default: return (value){tn_neg(tn_square(a.v)), a.over};
    }
}

/* Weights of ranks and elements: which piece is whose shows. */
static tn_val weights(pool *p, int64_t ranks) {
    const tn_val i = tn_iota(p->c, tn_type_of(TN_F64, 2, (const int64_t[]){ranks, RANKS_N}), 0);
    const tn_val j = tn_iota(p->c, tn_type_of(TN_F64, 2, (const int64_t[]){ranks, RANKS_N}), 1);
    return tn_cos(tn_add(tn_mul(i, 1.3), j));
}

static void collective(pool *p) {
    const value x = any(p);
    const uint32_t axes = some_axes(p, x.over), one = one_axis(p, x.over), more = some_axes(p, all_axes(p) & ~x.over);
    const int64_t n = ranks_along(p, axes), m = ranks_along(p, more);
    char names[32], single[32], others[32];
    ranks_names(p->k, axes, names);
    ranks_names(p->k, one, single);
    ranks_names(p->k, more, others);
    const double part = 1 / (double)n;
    const int root = axes ? ranks_pick(&p->r, (int)n) : 0, to = more ? ranks_pick(&p->r, (int)m) : 0;
    const bool yes = ranks_pick(&p->r, 2) != 0, no = ranks_pick(&p->r, 2) != 0;
    if (!axes || (more && ranks_pick(&p->r, 3) == 0)) {
        if (!more) return;
        switch (ranks_pick(&p->r, 4)) {
        case 0: give(p, tn_vary(x.v, others), x.over | more); return;
        case 1: give(p, tn_place(x.v, others, to), x.over | more); return;
        case 2: give(p, tn_own(tn_mul(weights(p, m), x.v), others), x.over | more); return;
        default: {
            const tn_val k = tn_convert(tn_axis_index(p->c, others), TN_F64);
            give(p, tn_mul(x.v, tn_cos(k)), x.over | more);
            return;
        }
        }
    }
    switch (ranks_pick(&p->r, 15)) {
    case 0: give(p, tn_mul(tn_psum(x.v, names), part), x.over & ~axes); return;
    case 1: give(p, tn_pmean(x.v, names), x.over & ~axes); return;
    case 2: give(p, tn_pick(x.v, names, root), x.over & ~axes); return;
    case 3: give(p, tn_sum_axis(tn_mul(tn_all_gather(x.v, names), weights(p, n)), 0), x.over & ~axes); return;
    case 4: give(p, tn_own(tn_mul(tn_all_gather(x.v, names), weights(p, n)), names), x.over); return;
    case 5: give(p, tn_mul(tn_reduce_scatter(tn_mul(weights(p, n), x.v), names), part), x.over); return;
    case 6: give(p, tn_sum_axis(tn_mul(tn_gather_to(x.v, names, root), weights(p, n)), 0), x.over); return;
    case 7: give(p, tn_scatter_from(tn_mul(weights(p, n), x.v), names, root), x.over); return;
    case 8:
        give(p, tn_sum_axis(tn_mul(tn_all_to_all(tn_mul(weights(p, n), x.v), names), weights(p, n)), 0), x.over);
        return;
    case 9:
        give(p, tn_shift_at(x.v, single, ranks_pick(&p->r, 7) - 3, yes ? TN_WRAP : 0, __FILE__, __LINE__), x.over);
        return;
    case 10:
        give(p,
             tn_mul(tn_pscan_at(x.v, single, (yes ? TN_EXCLUSIVE : 0u) | (no ? TN_REVERSE : 0u), __FILE__, __LINE__),
                    0.5),
             x.over);
        return;
    case 11: give(p, tn_pmax(x.v, names), x.over & ~axes); return;
    case 12: give(p, tn_pmin(x.v, names), x.over & ~axes); return;
    case 13: give(p, tn_pprod(tn_add(x.v, 0.3), names), x.over & ~axes); return;
    default: {
        int64_t pairs[2 * RANKS_MOST]; /* what is left of a permutation */
        size_t np = 0;
        const int len = (int)ranks_along(p, one), by = ranks_pick(&p->r, len);
        for (int s = 0; s < len; s++)
            if (ranks_pick(&p->r, 4)) {
                pairs[2 * np] = s;
                pairs[2 * np++ + 1] = (s + by) % len;
            }
        give(p, tn_ppermute_at(x.v, single, tn_ints_of(2 * np, pairs), __FILE__, __LINE__), x.over);
    }
    }
}

/* ---- programs within ----------------------------------------------------------------------- */

/* Values of the pool that a callback captures, and a seed of its own. */
typedef struct inner {
    pool *p;
    uint64_t seed;
    value a;
    uint32_t over; /* found by the callback: of its result */
    bool speaks;
} inner;

static value inside(inner *z, value x, ranks_rng *r) {
    pool q = {.c = z->p->c, .k = z->p->k, .r = *r};
    give(&q, x.v, x.over);
    give(&q, z->a.v, z->a.over);
    for (int i = 0; i < 2; i++) {
        const value y = local(&q, any(&q), any(&q));
        give(&q, y.v, y.over);
        if (z->speaks) collective(&q);
    }
    return q.x[q.n - 1];
}

static tn_val region(const tn_val *in, void *user) {
    inner *z = user;
    ranks_rng r = {z->seed};
    const value y = inside(z, (value){in[0], z->over}, &r);
    z->over = y.over;
    return y.v;
}

static void step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *ys, void *user) {
    inner *z = user;
    ranks_rng r = {z->seed};
    (void)x;
    (void)ys;
    const tn_type t = tn_val_type(carry[0]);
    const value y = inside(z, (value){carry[0], ranks_over(z->p->c, z->p->k, &t)}, &r);
    next[0] = tn_tanh(tn_add(y.v, tn_mul(carry[0], 0.3)));
}

static tn_val go_on(const tn_val *in, void *user) {
    (void)user;
    return tn_lt(in[1], 2);
}

static void again(const tn_val *in, tn_val *out, void *user) {
    step(in, NULL, out, NULL, user);
    out[1] = tn_add(in[1], 1);
}

static tn_val branch(const tn_val *in, void *user) {
    inner *z = user;
    ranks_rng r = {z->seed++};
    const tn_type t = tn_val_type(in[0]);
    return inside(z, (value){in[0], ranks_over(z->p->c, z->p->k, &t)}, &r).v;
}

static void nested(pool *p) {
    const value x = any(p);
    inner z = {.p = p, .seed = ranks_next(&p->r), .a = any(p), .over = x.over, .speaks = true};
    tn_val y[2];
    switch (ranks_pick(&p->r, 4)) {
    case 0: {
        const tn_val v = tn_checkpoint(region, NULL, &z, 1, &x.v);
        give(p, v, z.over);
        return;
    }
    case 1: {
        static const char *const schedule[] = {NULL, "revolve:2", "online:2", "nothing"};
        const char *s = schedule[ranks_pick(&p->r, 3)];
        tn_scan(p->c, step, &z, .ncarry = 1, .init = &x.v, .length = 3, .carry = y, .schedule = s);
        break;
    }
    case 2: {
        const tn_val init[2] = {x.v, tn_full(p->c, tn_type_of(TN_I64, 0, NULL), 0)};
        tn_while_loop(p->c, go_on, again, &z, 2, init, y, &(tn_loop_options){.size = sizeof(tn_loop_options)});
        break;
    }
    default: {
        const value by = any(p);
        const tn_val on = tn_gt(tn_sum(by.v), 0);
        z.speaks = by.over == 0;
        y[0] = tn_cond(on, branch, branch, &z, 1, &x.v);
    }
    }
    const tn_type t = tn_val_type(y[0]);
    give(p, y[0], ranks_over(p->c, p->k, &t));
}

/* ---- the program ------------------------------------------------------------------------------ */

typedef struct build {
    tn_ctx *c;
    ranks_case *k;
} build;

static void body(const tn_val *in, tn_val *out, void *user) {
    const build *u = user;
    ranks_case *k = u->k;
    pool p = {.c = u->c, .k = k, .r = {k->seed ^ 0x5DEECE66Du}};
    for (size_t i = 0; i < k->nin; i++) give(&p, in[i], k->in[i]);
    const int most = 3 + ranks_pick(&p.r, 7);
    for (int i = 0; i < most; i++) {
        const int what = ranks_pick(&p.r, 8);
        if (what < 3) {
            const value y = local(&p, any(&p), any(&p));
            give(&p, y.v, y.over);
        } else if (what < 7)
            collective(&p);
        else
            nested(&p);
    }
    for (size_t j = 0; j < k->nout; j++) {
        const value y = p.x[p.n - 1 - (j && p.n > 1)];
        out[j] = y.v;
        k->out[j] = y.over;
    }
}

tn_fn *ranks_program(tn_ctx *c, ranks_case *k) {
    build u = {c, k};
    tn_type in[RANKS_ARRAYS];
    char names[RANKS_ARRAYS][32];
    const char *axes[RANKS_ARRAYS];
    for (size_t i = 0; i < k->nin; i++) {
        in[i] = tn_type_of(TN_F64, 1, (const int64_t[]){RANKS_N});
        axes[i] = ranks_names(k, k->in[i], names[i]);
    }
    ranks_rng r = {k->seed + 1};
    k->nout = 1 + (size_t)ranks_pick(&r, 2);
    return tn_trace_spmd(c, body, &u, k->nin, in, axes, k->nout);
}
