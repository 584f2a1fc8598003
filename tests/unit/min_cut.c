/* Plans that see the whole boundary: the exact cut against all save sets, and what the plans make of programs. */
#include "tracing.h"

#include "checkpoint/cost_model.h"
#include "checkpoint/plans.h"
#include "checkpoint/policies.h"
#include "checkpoint/save_graph.h"
#include "prims/prim.h"
#include "amount.h"
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SHORTER = SANITIZED ? 20 : 1 };

/* ---- the cut against every save set --------------------------------------------------------- */

enum { ARGUMENTS = 2, MADE = 12, VALUES = ARGUMENTS + MADE, OPERANDS = 3 };

typedef struct dag {
    tn_i_save_op op[MADE];
    uint32_t pool[MADE * OPERANDS];
    double save[VALUES];
    uint8_t needed[VALUES];
    tn_i_save_graph g;
} dag;

/* One or two values an operation, operands among all earlier values, repeated or not. */
static void sample_dag(tn_i_rng *r, dag *d) {
    static const double COST[] = {0.1, 0.2, 0.5, 1, 3, 8, INFINITY}, SIZE[] = {1, 1, 2, 4};
    const int64_t made = tn_i_pick(r, 2, MADE);
    *d = (dag){.g = {.nval = ARGUMENTS, .op = d->op, .pool = d->pool, .save = d->save, .needed = d->needed}};
    for (uint32_t pool = 0; d->g.nval < ARGUMENTS + made;) {
        const uint32_t nin = (uint32_t)tn_i_pick(r, 1, OPERANDS);
        uint32_t nout = (uint32_t)(tn_i_pick(r, 0, 3) == 0) + 1;
        if (d->g.nval + nout > ARGUMENTS + made) nout = 1;
        d->op[d->g.nop++] =
            (tn_i_save_op){.cost = COST[tn_i_pick(r, 0, 6)], .in = pool, .nin = nin, .out = d->g.nval, .nout = nout};
        for (uint32_t k = 0; k < nin; k++) d->pool[pool++] = (uint32_t)tn_i_pick(r, 0, d->g.nval - 1);
        for (uint32_t j = 0; j < nout; j++) {
            d->save[d->g.nval] = SIZE[tn_i_pick(r, 0, 3)];
            d->needed[d->g.nval++] = (uint8_t)tn_i_pick(r, 0, 1);
        }
    }
}

/* What a save set costs, by the rules of partial evaluation: what is wanted and saved is kept, what is
 * wanted and not saved is made again from its operands. */
static double cost_of(const tn_i_save_graph *g, uint32_t saved) {
    uint32_t wanted = 0;
    double cost = 0;
    for (uint32_t v = 0; v < g->nval; v++) wanted |= (uint32_t)(g->needed[v] != 0) << v;
    for (uint32_t i = g->nop; i-- > 0;) {
        const tn_i_save_op *op = &g->op[i];
        bool again = false;
        for (uint32_t v = op->out; v < op->out + op->nout; v++) {
            if (!(wanted >> v & 1)) continue;
            if (saved >> v & 1)
                cost += g->save[v];
            else
                again = true;
        }
        if (!again) continue;
        cost += op->cost;
        for (uint32_t k = 0; k < op->nin; k++) wanted |= 1u << g->pool[op->in + k];
    }
    return cost;
}

static void exact_on_random_graphs(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_i_rng r = {4};
    for (int n = 0; n < 10000 / SHORTER; n++) {
        dag d;
        sample_dag(&r, &d);
        double best = INFINITY, claimed;
        for (uint32_t set = 0; set < 1u << (d.g.nval - ARGUMENTS); set++)
            best = fmin(best, cost_of(&d.g, set << ARGUMENTS));
        uint8_t save[VALUES];
        if (!tn_i_cheapest_saves(c, &d.g, save, &claimed)) fail_msg("%s", tn_error(c));
        uint32_t set = 0;
        for (uint32_t v = 0; v < d.g.nval; v++) set |= (uint32_t)save[v] << v;
        if (fabs(claimed - best) > 1e-9 || fabs(cost_of(&d.g, set) - best) > 1e-9)
            fail_msg("graph %d: the cut claims %g and costs %g, the best set %g", n, claimed, cost_of(&d.g, set), best);
    }
    tn_ctx_free(c);
}

/* ---- programs --------------------------------------------------------------------------------- */

static tn_val wave(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0];
    for (int i = 0; i < 5; i++) x = tn_tanh(tn_add(tn_exp(tn_sin(tn_mul(x, in[1]))), x));
    return tn_sum(x);
}

static tn_val softmax_loss(const tn_val *in, void *user) {
    (void)user;
    tn_val p = tn_softmax(tn_matmul(in[0], in[1]), 1);
    return tn_neg(tn_sum(tn_mul(tn_log(p), tn_mul(p, p))));
}

enum { LAYERS = 6 };

/* in: the data, then LAYERS square weights. */
static tn_val mlp(const tn_val *in, void *user) {
    (void)user;
    tn_val h = in[0];
    for (int i = 0; i < LAYERS; i++) {
        h = tn_matmul(h, in[i + 1]);
        if (i + 1 < LAYERS) h = tn_tanh(h);
    }
    return tn_sum(tn_mul(h, h));
}

static tn_val pieces(const tn_val *in, void *user) {
    (void)user;
    tn_val part[2], y = tn_sort(tn_exp(in[0]), 1);
    tn_split(y, tn_ints(3, 5), 1, part);
    return tn_add(tn_sum(tn_mul(tn_cos(part[0]), tn_tanh(part[0]))), tn_sum(tn_mul(part[1], tn_mul(part[1], part[1]))));
}

typedef struct figures {
    double bytes;                     /* residuals that are no inputs */
    uint32_t kept;                    /* how many */
    double transcendentals, products; /* of the primal and the linear program */
    double compute, keep;             /* modelled nanoseconds */
    double claimed;                   /* what the plan costs by its own account (min_cut) */
} figures;

typedef struct watched {
    tn_i_plan_by inner;
    double claimed;
} watched;

/* Notes min_cut's own account. */
static bool watch(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    watched *w = how->user;
    if (w->inner.plan == tn_i_plan_min_cut && !strchr(w->inner.name, ':'))
        return tn_i_min_cut(&tn_i_shipped_costs, q, save, &w->claimed);
    return w->inner.plan(&w->inner, q, save);
}

static figures figures_of(const tn_i_parts *p, const watched *w) {
    figures r = {.claimed = w->claimed};
    tn_i_cost known, linear;
    double forward = 0, back = 0;
    const tn_i_cost_model *m = &tn_i_shipped_costs;
    for (uint32_t k = 0; k < p->nres; k++) r.kept += p->from_input[k] == TN_NOVAR;
    r.keep = tn_i_residuals_ns(m, p->known, p->linear, &r.bytes);
    assert_true(tn_i_planned_ns(m, p->known, &forward) && tn_i_planned_ns(m, p->linear, &back));
    r.compute = forward + back;
    assert_true(tn_i_fn_cost(p->known, &known) && tn_i_fn_cost(p->linear, &linear));
    r.transcendentals = known.transcendentals + linear.transcendentals;
    r.products = known.products + linear.products;
    return r;
}

static figures plan(const tn_fn *f, uint32_t nwrt, const uint32_t *wrt, const char *policy) {
    tn_ctx *c = tn_fn_ctx(f);
    watched w = {.claimed = NAN};
    const tn_policy named = {.size = sizeof named, .name = policy};
    if (!tn_i_plan_of(c, &named, &w.inner)) fail_msg("%s", tn_error(c));
    const tn_i_plan_by how = {.name = policy, .plan = watch, .user = &w};
    tn_i_parts p;
    if (!tn_i_linearize(f, nwrt, wrt, &how, &p)) fail_msg("%s: %s", policy, tn_error(c));
    const figures r = figures_of(&p, &w);
    tn_i_parts_free(&p);
    return r;
}

static const char *const POLICIES[] = {"everything_saveable", "nothing_saveable", "min_cut", "min_bytes", "balanced"};
enum { EVERYTHING, NOTHING, MIN_CUT, MIN_BYTES, BALANCED, NPOLICIES };

#define SQUARE(n) \
    { TN_F32, 2, {n, n}, NULL }
#define SQUARES(n) SQUARE(n), SQUARE(n), SQUARE(n), SQUARE(n), SQUARE(n), SQUARE(n)

static const struct program {
    const char *name;
    tn_val (*f)(const tn_val *in, void *user);
    uint32_t nin;
    tn_type in[LAYERS + 1];
} programs[] = {
    {"wave", wave, 2, {{TN_F64, 2, {4, 300}, NULL}, {TN_F64, 2, {4, 300}, NULL}}},
    {"wave of scalars", wave, 2, {{TN_F32, 0, {0}, NULL}, {TN_F32, 0, {0}, NULL}}},
    {"wave of nothing", wave, 2, {{TN_F64, 2, {0, 3}, NULL}, {TN_F64, 2, {0, 3}, NULL}}},
    {"softmax", softmax_loss, 2, {{TN_F64, 2, {20, 30}, NULL}, {TN_F64, 2, {30, 40}, NULL}}},
    {"pieces", pieces, 1, {{TN_F64, 2, {7, 8}, NULL}}},
    {"mlp", mlp, 7, {{TN_F32, 2, {16, 32}, NULL}, SQUARES(32)}},
};

static const uint32_t FIRST[] = {0, 1, 2, 3, 4, 5, 6};

static tn_fn *traced(tn_ctx *c, const struct program *p) {
    tn_fn *f = tn_trace(c, p->f, NULL, p->nin, p->in);
    if (!f) fail_msg("%s: %s", p->name, tn_error(c));
    return f;
}

static void *filled(const tn_type *t, uint64_t seed) {
    tn_i_rng r = {seed};
    const size_t bytes = tn_type_bytes(t);
    void *p = calloc(bytes + 1, 1);
    assert_non_null(p);
    for (size_t i = 0; i < bytes / (t->dtype == TN_F32 ? 4 : 8); i++)
        if (t->dtype == TN_F32)
            ((float *)p)[i] = (float)tn_i_uniform(&r, -1, 1);
        else
            ((double *)p)[i] = tn_i_uniform(&r, -1, 1);
    return p;
}

/* The gradients under each policy, in bits those under the first. */
static void same_gradients(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT(programs); k++) {
        const struct program *p = &programs[k];
        tn_ctx *c = checked();
        tn_fn *f = traced(c, p);
        void *in[LAYERS + 1], *first[LAYERS + 1], *out[LAYERS + 1];
        for (uint32_t i = 0; i < p->nin; i++) {
            in[i] = filled(&p->in[i], i + 1);
            first[i] = filled(&p->in[i], 0);
            out[i] = filled(&p->in[i], 0);
        }
        for (size_t j = 0; j < NPOLICIES; j++) {
            const tn_policy policy = {.size = sizeof policy, .name = POLICIES[j]};
            tn_fn *g = tn_grad(f, NULL, &policy);
            if (!g) fail_msg("%s under %s: %s", p->name, POLICIES[j], tn_error(c));
            run(g, (const void *const *)in, j ? out : first);
            for (uint32_t i = 0; j && i < p->nin; i++)
                if (memcmp(out[i], first[i], tn_type_bytes(&p->in[i])) != 0)
                    fail_msg("%s under %s", p->name, POLICIES[j]);
        }
        for (uint32_t i = 0; i < p->nin; i++) free(in[i]), free(first[i]), free(out[i]);
        tn_ctx_free(c);
    }
}

/* The plan costs what the cut says beside what everything_saveable computes, and no other plan costs less. */
static void claims_hold(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT(programs); k++) {
        tn_ctx *c = checked();
        const tn_fn *f = traced(c, &programs[k]);
        figures r[NPOLICIES];
        for (size_t j = 0; j < NPOLICIES; j++) r[j] = plan(f, programs[k].nin, FIRST, POLICIES[j]);
        const figures *cut = &r[MIN_CUT];
        const double ns = cut->compute + cut->keep;
        if (fabs(r[EVERYTHING].compute + cut->claimed - ns) > 1e-9 * ns)
            fail_msg("%s: the cut claims %.17g ns beside %.17g, the plan takes %.17g", programs[k].name, cut->claimed,
                     r[EVERYTHING].compute, ns);
        for (size_t j = 0; j < NPOLICIES; j++)
            if (r[j].compute + r[j].keep < ns * (1 - 1e-9))
                fail_msg("%s: %s takes %g ns, min_cut %g", programs[k].name, POLICIES[j], r[j].compute + r[j].keep, ns);
        if (r[MIN_BYTES].bytes > cut->bytes || cut->bytes > r[EVERYTHING].bytes || r[NOTHING].bytes != 0)
            fail_msg("%s: bytes %g, %g, %g, %g", programs[k].name, r[NOTHING].bytes, r[MIN_BYTES].bytes, cut->bytes,
                     r[EVERYTHING].bytes);
        assert_true(r[MIN_BYTES].products == r[EVERYTHING].products);
        tn_ctx_free(c);
    }
}

/* Six layers of 512, 256 rows: five outputs of tanh and the last product, nothing computed twice but what is cheap. */
static void cache_resident_mlp(void **state) {
    (void)state;
    static const struct program large = {"mlp", mlp, 7, {{TN_F32, 2, {256, 512}, NULL}, SQUARES(512)}};
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, &large);
    const figures cut = plan(f, 7, FIRST, "min_cut"), all = plan(f, 7, FIRST, "everything_saveable"),
                  even = plan(f, 7, FIRST, "balanced");
    assert_true(cut.bytes <= 3145728);
    assert_true(cut.transcendentals == all.transcendentals && cut.products == all.products);
    assert_true(even.transcendentals == all.transcendentals && even.products == all.products);
    assert_true(cut.bytes < all.bytes);
    tn_ctx_free(c);
}

/* ---- what a plan keeps ------------------------------------------------------------------------------ */

enum { SIN, EXP, TANH, LOGISTIC, SQRT };

static tn_val apply(int which, tn_val x) {
    switch (which) {
    case SIN: return tn_sin(x);
    case EXP: return tn_exp(x);
    case TANH: return tn_tanh(x);
    case LOGISTIC: return tn_logistic(x);
    default: return tn_sqrt(x);
    }
}

static tn_val of_product(const tn_val *in, void *user) {
    return tn_sum(tn_square(apply(*(int *)user, tn_mul(in[0], in[1]))));
}
static tn_val of_matmul(const tn_val *in, void *user) {
    return tn_sum(tn_square(apply(*(int *)user, tn_matmul(in[0], in[1]))));
}
static tn_val cheap(const tn_val *in, void *user) {
    (void)user;
    tn_val x = tn_mul(tn_add(in[0], in[1]), 3);
    return tn_sum(tn_mul(x, tn_mul(x, x)));
}

/* What is kept of g(x*m) and g(x m) when x alone, or x and m, are differentiated.  An operand that is not
 * switches nothing off: x*m is never kept.  Where the derivative is a function of the output, the output is
 * kept and the input is not, or neither is where the output is cheap; sin alone has a derivative of its input.
 * Nothing is evaluated twice but a square root. */
static void balanced_keeps_what_is_compute_bound(void **state) {
    (void)state;
    static const struct {
        int g;
        uint32_t of_product, of_matmul;
    } row[] = {{SIN, 1, 2}, {EXP, 1, 1}, {TANH, 1, 1}, {LOGISTIC, 1, 1}, {SQRT, 0, 1}};
    tn_ctx *c = checked();
    const tn_type vector[2] = {tn_f32(100000), tn_f32(100000)}, square[2] = {tn_f32(100, 100), tn_f32(100, 100)};
    for (size_t k = 0; k < COUNT(row); k++)
        for (uint32_t nwrt = 1; nwrt <= 2; nwrt++) {
            int g = row[k].g;
            const tn_fn *of[2] = {tn_trace(c, of_product, &g, 2, vector), tn_trace(c, of_matmul, &g, 2, square)};
            const uint32_t kept[2] = {row[k].of_product, row[k].of_matmul};
            for (int i = 0; i < 2; i++) {
                const figures even = plan(of[i], nwrt, FIRST, "balanced"),
                              all = plan(of[i], nwrt, FIRST, "everything_saveable");
                if (even.kept != kept[i] || even.bytes != kept[i] * (i ? 40000.0 : 400000.0) ||
                    even.transcendentals != all.transcendentals || even.products != all.products)
                    fail_msg("%d of %s: %u kept, %g bytes, %g transcendentals, of %g", g, i ? "matmul" : "product",
                             (unsigned)even.kept, even.bytes, even.transcendentals, all.transcendentals);
            }
        }
    static const struct program none = {"cheap", cheap, 2, {{TN_F32, 1, {100000}, NULL}, {TN_F32, 1, {100000}, NULL}}};
    assert_int_equal(plan(traced(c, &none), 1, FIRST, "balanced").kept, 0);
    tn_ctx_free(c);
}

/* The derivative of sin alone asks for no sine: its cosine is computed once, behind the boundary, of x*m. */
static tn_val sin_of_product(const tn_val *in, void *user) { return (void)user, tn_sum(tn_sin(tn_mul(in[0], in[1]))); }

static void nothing_kept_for_free(void **state) {
    (void)state;
    static const struct program p = {
        "sin", sin_of_product, 2, {{TN_F32, 1, {100000}, NULL}, {TN_F32, 1, {100000}, NULL}}};
    static const char *const policies[] = {"balanced", "min_cut", "min_bytes"};
    tn_ctx *c = checked();
    for (uint32_t nwrt = 1; nwrt <= 2; nwrt++)
        for (size_t k = 0; k < COUNT(policies); k++) {
            const tn_fn *f = traced(c, &p);
            const figures r = plan(f, nwrt, FIRST, policies[k]);
            assert_true(r.kept == 0 && r.transcendentals == 200000);
        }
    tn_ctx_free(c);
}

/* The price of a byte rises where the saved set leaves the cache, and with it the number of values computed again. */
static tn_val many_roots(const tn_val *in, void *user) {
    const int *n = user;
    tn_val x = in[0];
    for (int i = 0; i < *n; i++) x = tn_rsqrt(x);
    return tn_sum(x);
}

static void main_memory_costs_more(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int n = 20;
    const tn_type small = tn_f32(1000), large = tn_f32(10000000);
    const tn_fn *near = tn_trace(c, many_roots, &n, 1, &small), *far = tn_trace(c, many_roots, &n, 1, &large);
    const figures a = plan(near, 1, FIRST, "min_cut"), b = plan(far, 1, FIRST, "min_cut");
    const figures all = plan(near, 1, FIRST, "everything_saveable"), every = plan(far, 1, FIRST, "everything_saveable");
    assert_true(a.compute == all.compute && a.kept == 20);
    assert_true(b.compute > every.compute && b.kept < 20);
    tn_ctx_free(c);
}

/* ---- another table ---------------------------------------------------------------------------------- */

static void write_table(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* By a table named and no other: where everything is free, nothing is kept. */
static void named_costs(void **state) {
    (void)state;
    char path[] = "/tmp/tansy-costs-XXXXXX", policy[64];
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    (void)snprintf(policy, sizeof policy, "min_cut:costs=%s", path);
    static const struct {
        const char *text;
        tn_status status; /* of reading it */
    } row[] = {{"element.tanh 0\nequation 0\nflop 0\n element.exp\t0.00 \n\nelement.sin 0\nwrite.dram 1e3\n", TN_OK},
               {"", TN_OK},
               {"flop 1\nelement.wave 1\n", TN_EPARSE},
               {"flop\n", TN_EPARSE},
               {"flop -1\n", TN_EPARSE},
               {"flop nan\n", TN_EPARSE},
               {"flop 1 2\n", TN_EPARSE},
               {"capacity.dram 1\n", TN_EPARSE},
               {"read.l4 1\n", TN_EPARSE}};
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, &programs[0]);
    const tn_policy named = {.size = sizeof named, .name = policy};
    const uint32_t kept = plan(f, 2, FIRST, "min_cut").kept;
    for (size_t k = 0; k < COUNT(row); k++) {
        write_table(path, row[k].text);
        const tn_linearized l = tn_linearize(f, NULL, &named);
        assert_int_equal(l.primal ? TN_OK : c->status, row[k].status);
        if (l.primal) assert_true(plan(f, 2, FIRST, policy).kept == (row[k].text[0] ? 0 : kept));
        if (row[k].status == TN_EPARSE) assert_non_null(strstr(tn_error(c), path));
        tn_error_clear(c);
    }
    assert_int_equal(remove(path), 0);
    assert_null(tn_linearize(f, NULL, &named).primal);
    assert_int_equal(c->status, TN_EIO);
    const tn_policy bad = {.size = sizeof bad, .name = "min_cut:cost=x"},
                    empty = {.size = sizeof bad, .name = "min_cut:costs="};
    assert_null(tn_grad(f, NULL, &bad));
    assert_null(tn_grad(f, NULL, &empty));
    tn_ctx_free(c);
}

/* ---- length -------------------------------------------------------------------------------------------- */

static tn_val squares(const tn_val *in, void *user) {
    const int *n = user;
    tn_val x = in[0];
    for (int i = 0; i < *n; i++) x = tn_mul(x, x);
    return tn_sum(x);
}

/* All of a memory-bound chain is computed again once. */
static void long_chains(void **state) {
    (void)state;
    const struct {
        const char *policy;
        int n;
    } row[] = {{"balanced", amount(1000000, 200000) / SHORTER}, {"min_cut", amount(100000, 20000) / SHORTER}};
    for (size_t k = 0; k < COUNT(row); k++) {
        tn_ctx *c = tn_ctx_new(NULL);
        int n = row[k].n;
        const tn_type t = tn_f64(1000);
        const tn_fn *f = tn_trace(c, squares, &n, 1, &t);
        assert_non_null(f);
        const figures r = plan(f, 1, FIRST, row[k].policy);
        assert_int_equal(r.kept, 0);
        assert_true(r.compute <= 5.0 * n * 1000 * 8);
        tn_ctx_free(c);
    }
}

/* ---- no memory --------------------------------------------------------------------------------------------- */

typedef struct limited {
    size_t left;
} limited;

static void *allocate(void *user, void *p, size_t old, size_t bytes) {
    limited *l = user;
    (void)old;
    if (bytes == 0) return free(p), NULL;
    if (l->left == 0) return NULL;
    l->left--;
    return realloc(p, bytes);
}

static void no_memory(void **state) {
    (void)state;
    limited l = {SIZE_MAX};
    tn_i_rng r = {7};
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .realloc = allocate, .user = &l});
    assert_non_null(c);
    dag d;
    do sample_dag(&r, &d);
    while (d.g.nval < VALUES);
    const size_t before = tn_ctx_bytes(c);
    uint8_t save[VALUES];
    bool ok = false;
    for (size_t n = 0; !ok; n++) {
        l.left = n;
        ok = tn_i_cheapest_saves(c, &d.g, save, NULL);
        if (!ok) assert_int_equal(c->status, TN_ENOMEM);
        assert_int_equal(tn_ctx_bytes(c), before);
        assert_true(n < 100);
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_on_random_graphs),
        cmocka_unit_test(same_gradients),
        cmocka_unit_test(claims_hold),
        cmocka_unit_test(cache_resident_mlp),
        cmocka_unit_test(balanced_keeps_what_is_compute_bound),
        cmocka_unit_test(nothing_kept_for_free),
        cmocka_unit_test(main_memory_costs_more),
        cmocka_unit_test(named_costs),
        cmocka_unit_test(long_chains),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
