/* memory_budget: exact against all save sets, monotone, within the budget, and the same gradients. */
#include "tracing.h"

#include "api/choose.h"
#include "checkpoint/cost_model.h"
#include "plan/resident.h"
#include "prims/prim.h"
#include "amount.h"
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>

enum { SHORTER = SANITIZED ? 20 : 1 };

/* ---- random programs -------------------------------------------------------------------- */

enum { INPUTS = 2, MOST_OPS = 7, SIDE = 6 };

typedef struct sample {
    tn_i_rng r;
    bool scalar; /* one scalar output; else several values as they are */
} sample;

/* Values are [6,6], [6] or []: so that bytes differ by orders of magnitude. */
static tn_val sampled_op(tn_i_rng *r, const tn_val *v, int n) {
    const tn_val a = v[tn_i_pick(r, n > 3 ? n - 3 : 0, n - 1)], b = v[tn_i_pick(r, 0, n - 1)];
    const int rank = tn_val_type(a).rank;
    switch (tn_i_pick(r, 0, 11)) {
    case 0: return tn_exp(a);
    case 1: return tn_tanh(a);
    case 2: return rank == 2 ? tn_mul(tn_t(a), b) : tn_sqrt(tn_exp(a));
    case 3: return rank == 2 ? tn_matmul(a, a) : tn_square(a);
    case 4: return rank ? tn_sum_axis(a, rank - 1) : tn_cos(a);
    case 5: return rank == 2 ? tn_at(a, 1) : tn_sin(a);
    case 6:
    case 7: return tn_add(a, b);
    case 8: return tn_div(a, b);
    default: return tn_mul(a, b);
    }
}

static void sampled(const tn_val *in, tn_val *out, void *user) {
    sample *s = user;
    tn_val v[INPUTS + MOST_OPS];
    int n = INPUTS;
    for (const int last = INPUTS + (int)tn_i_pick(&s->r, 2, MOST_OPS); n < last; n++) {
        if (n == INPUTS) memcpy(v, in, INPUTS * sizeof *v);
        v[n] = sampled_op(&s->r, v, n);
    }
    out[0] = s->scalar ? tn_sum(v[n - 1]) : v[n - 1];
    if (!s->scalar) out[1] = v[n - 2];
}

static tn_fn *sampled_program(tn_ctx *c, uint64_t seed, bool scalar) {
    sample s = {.r = {seed}, .scalar = scalar};
    tn_fn *f = tn_trace_many(c, sampled, &s, INPUTS, TN_TYPES(tn_f64(SIDE, SIDE), tn_f64(SIDE)), scalar ? 1 : 2);
    if (!f) fail_msg("program %d: %s", (int)seed, tn_error(c));
    return f;
}

/* ---- every save set, by way of the public functions ------------------------------------------ */

enum { MOST_BITS = 12, MOST_CANDIDATES = 200 };

typedef struct sets {
    uint32_t bits, at;
    int8_t bit[MOST_CANDIDATES]; /* of the values that a callback is asked about; -1: nobody wants it */
    uint32_t set;
} sets;

static tn_verdict by_set(void *user, const tn_candidate *v) {
    sets *s = user;
    (void)v;
    const int bit = s->bit[s->at++];
    return bit >= 0 && (s->set >> bit & 1) ? TN_SAVE : TN_RECOMPUTE;
}

/* Numbers the values that a residual could be: what the linear program needs, and all from which that is made. */
static bool number(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    sets *s = how->user;
    uint8_t wanted[MOST_CANDIDATES];
    assert_true(q->f->nval <= MOST_CANDIDATES);
    memcpy(wanted, q->needed, q->f->nval);
    for (uint32_t i = q->f->neqn; i-- > 0;) {
        const tn_i_eqn *e = &q->f->eqn[i];
        bool any = false;
        for (uint32_t v = e->out; v < e->out + e->nout; v++) any |= q->known[v] && wanted[v];
        for (uint32_t k = 0; k < e->nin && any; k++) wanted[tn_i_in(q->f, e)[k]] = 1;
    }
    for (uint32_t i = 0; i < q->f->neqn; i++) {
        const tn_i_eqn *e = &q->f->eqn[i];
        for (uint32_t v = e->out; v < e->out + e->nout; v++)
            if (q->known[v]) s->bit[s->at++] = (int8_t)(e->nin && wanted[v] ? (int)s->bits++ : -1);
    }
    memset(save, 1, q->f->nval);
    return true;
}

static sets sets_of(const tn_fn *f) {
    sets s = {.bits = 0};
    const tn_i_plan_by how = {.name = "number", .plan = number, .user = &s};
    tn_i_parts p;
    if (!tn_i_linearize(f, INPUTS, (const uint32_t[]){0, 1}, &how, &p)) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    tn_i_parts_free(&p);
    return s;
}

static size_t arena(tn_fn *g) {
    tn_exec *e = tn_compile(g, NULL);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(g)));
    const size_t bytes = tn_exec_bytes(e);
    tn_exec_free(e);
    return bytes;
}

static double work_of(const tn_fn *g) {
    double sum = 0;
    for (uint32_t i = 0; i < g->neqn; i++) {
        double ns;
        assert_true(tn_i_recompute_ns(&tn_i_shipped_costs, g, &g->eqn[i], &ns));
        sum += ns;
    }
    return sum;
}

static size_t most(size_t a, size_t b) { return a > b ? a : b; }

/* What the programs that a policy makes of f need. */
static tn_i_trial made(const tn_fn *f, const tn_policy *policy, sets *s) {
    tn_i_trial r = {0};
    const bool scalar = tn_fn_output_type(f, 0).rank == 0, one = tn_fn_outputs(f) == 1;
    for (int k = 0; k < (scalar && one ? 3 : scalar ? 2 : 1); k++) {
        if (s) s->at = 0;
        tn_fn *g = k == 0   ? tn_vjp(f, NULL, policy)
                   : k == 1 ? tn_value_and_grad_aux(f, NULL, policy)
                            : tn_grad(f, NULL, policy);
        if (!g) fail_msg("%s", tn_error(tn_fn_ctx(f)));
        if (k == 0) r.work = work_of(g);
        r.peak = most(r.peak, arena(g));
        tn_fn_free(g);
    }
    return r;
}

static tn_policy budget_policy(char text[64], size_t bytes) {
    (void)snprintf(text, 64, "memory_budget:%zu", bytes);
    return (tn_policy){.size = sizeof(tn_policy), .name = text};
}

static void compare(const tn_fn *f, size_t bytes, const tn_i_trial *all, size_t n, int seed) {
    tn_ctx *c = tn_fn_ctx(f);
    double best = INFINITY, full = INFINITY;
    size_t least = SIZE_MAX;
    for (size_t k = 0; k < n; k++) {
        if (all[k].peak < least) least = all[k].peak;
        if (all[k].peak <= bytes) best = fmin(best, all[k].work);
        full = fmin(full, all[k].work);
    }
    tn_budget_report r = {.size = sizeof r};
    if (tn_memory_budget(f, NULL, bytes, &r) != TN_OK) fail_msg("program %d: %s", seed, tn_error(c));
    if (!r.exact || r.least_bytes != least || r.feasible != (least <= bytes))
        fail_msg("program %d: least %zu of %zu, feasible %d with %zu", seed, r.least_bytes, least, r.feasible, bytes);
    char text[64], want[64];
    const tn_policy p = budget_policy(text, bytes);
    if (!r.feasible) {
        assert_null(tn_vjp(f, NULL, &p));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
        (void)snprintf(want, sizeof want, "the least peak of all plans is %zu bytes", least);
        if (!strstr(tn_error(c), want)) fail_msg("program %d: %s, not %s", seed, tn_error(c), want);
        return;
    }
    const tn_i_trial got = made(f, &p, NULL);
    if (fabs(got.work - best) > 0.1 || got.peak > bytes || got.peak != r.peak_bytes ||
        fabs(r.recompute_ns - (best - full)) > 0.1 || fabs(r.bound_ns - r.recompute_ns) > 0.1)
        fail_msg("program %d: work %g of %g, again %g of %g, peak %zu within %zu", seed, got.work, best, r.recompute_ns,
                 best - full, got.peak, bytes);
}

/* The number of programs, 10000 in the words, from the environment. */
static int programs(void) {
    const char *text = getenv("TN_BUDGET_PROGRAMS");
    const int n = text ? atoi(text) : amount(150, 20) / (SANITIZED ? 10 : 1);
    return n > 0 ? n : 1;
}

static void exact_on_random_programs(void **state) {
    (void)state;
    tn_i_trial *all = malloc(sizeof *all << MOST_BITS);
    int with[MOST_BITS + 1] = {0}, several = 0;
    assert_non_null(all);
    for (int seed = 0, n = 0; n < programs(); seed++) {
        tn_ctx *c = checked();
        const tn_fn *f = sampled_program(c, (uint64_t)seed, seed % 2);
        sets s = sets_of(f);
        if (s.bits <= MOST_BITS && (s.bits <= 7 || n % 50 == 0)) {
            tn_i_rng r = {(uint64_t)seed};
            const tn_policy p = {.size = sizeof p, .callback = by_set, .user = &s};
            for (s.set = 0; s.set < 1u << s.bits; s.set++) all[s.set] = made(f, &p, &s);
            const size_t some = all[tn_i_pick(&r, 0, (1 << s.bits) - 1)].peak;
            size_t least = SIZE_MAX;
            for (size_t k = 0; k < 1u << s.bits; k++) least = all[k].peak < least ? all[k].peak : least;
            several += some > least;
            compare(f, some, all, 1u << s.bits, seed);
            if (least > 0) compare(f, seed % 3 ? least : least - 1, all, 1u << s.bits, seed);
            with[s.bits]++;
            n++;
        }
        tn_ctx_free(c);
    }
    (void)fprintf(stderr, "programs by values to decide on:");
    for (int k = 0; k <= MOST_BITS; k++) (void)fprintf(stderr, " %d", with[k]);
    (void)fprintf(stderr, "; with a choice of peaks %d\n", several);
    free(all);
}

/* ---- candidates against the exact plan -------------------------------------------------------- */

typedef struct programs_of {
    const tn_fn *f, *jvp;
} programs_of;

static bool attempt(void *user, const tn_i_plan_by *how, tn_i_trial *out) {
    const programs_of *p = user;
    return tn_i_measure_reverse(p->f, p->jvp, how, out);
}

static tn_i_budget found(const tn_fn *f, size_t bytes, bool large) {
    static const uint32_t wrt[] = {0, 1};
    tn_i_budget x;
    tn_fn *jvp = tn_i_jvp_for_split(f, INPUTS, wrt);
    assert_non_null(jvp);
    programs_of p = {f, jvp};
    const tn_i_trier t = {
        .ctx = tn_fn_ctx(f), .attempt = attempt, .residents = tn_i_residents, .user = &p, .large = large};
    if (!tn_i_budget_find(&t, bytes, &x)) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    tn_fn_free(jvp);
    return x;
}

static tn_val steps(const tn_val *in, void *user) {
    tn_val x = in[0];
    for (int i = 0; i < *(const int *)user; i++) x = tn_exp(tn_matmul(x, in[1]));
    return tn_sum(x);
}

/* Arrays that products read, each by itself. */
static tn_val readings(const tn_val *in, void *user) {
    tn_val y = tn_number_f64(0);
    (void)user;
    for (int i = 1; i <= 4; i++) y = tn_add(y, tn_matmul(tn_exp(tn_mul(in[0], tn_number_f64(0.1 * i))), in[1]));
    return tn_sum(y);
}

/* No candidate beats the exact plan, and the bound, which only the candidates know, does not exceed it. */
static void bounds_hold(void **state) {
    (void)state;
    int best = 0, feasible = 0, bounded = 0, missed = 0, again = 0;
    for (int seed = 0; seed < amount(200, 30) / (SANITIZED ? 10 : 1); seed++) {
        tn_ctx *c = checked();
        const tn_fn *f = sampled_program(c, (uint64_t)seed + 100000, seed % 2);
        tn_i_budget all = found(f, SIZE_MAX, false);
        const size_t between =
            all.least + (all.full.peak - (all.full.peak > all.least ? all.least : all.full.peak)) / 2;
        const size_t budgets[] = {all.least, between, SIZE_MAX};
        for (size_t k = 0; k < COUNT(budgets) && all.exact; k++) {
            tn_i_budget x = k < 2 ? found(f, budgets[k], false) : all, y = found(f, budgets[k], true);
            assert_true(x.exact && x.feasible && !y.exact && y.trials <= TN_I_MOST_CANDIDATES);
            assert_true(y.least >= x.least && y.bound <= x.chosen.work - x.full.work + 0.1);
            if (y.feasible && y.chosen.work < x.chosen.work) fail_msg("program %d: a candidate is better", seed);
            feasible++;
            missed += !y.feasible;
            again += x.chosen.work > x.full.work;
            best += y.feasible && y.chosen.work == x.chosen.work;
            bounded += y.bound > 0;
            if (k < 2) tn_i_budget_free(&x);
            tn_i_budget_free(&y);
        }
        tn_i_budget_free(&all);
        tn_ctx_free(c);
    }
    tn_ctx *c = checked(); /* whose peak is mostly what products read, from memory */
    const tn_fn *f = tn_trace(c, readings, NULL, INPUTS, TN_TYPES(tn_f64(200, 50), tn_f64(50)));
    assert_non_null(f);
    tn_budget_report top = {.size = sizeof top};
    assert_int_equal(tn_memory_budget(f, NULL, SIZE_MAX, &top), TN_OK);
    for (size_t bytes = top.least_bytes; bytes <= top.full_bytes; bytes += 12000) {
        tn_budget_report r = {.size = sizeof r};
        assert_int_equal(tn_memory_budget(f, NULL, bytes, &r), TN_OK);
        tn_i_budget y = found(f, bytes, true);
        assert_true(r.exact && r.feasible && y.bound <= r.recompute_ns + 0.1);
        if (y.feasible) assert_true(y.chosen.work - y.full.work >= r.recompute_ns - 0.1);
        again += r.recompute_ns > 0;
        bounded += y.bound > 0;
        tn_i_budget_free(&y);
    }
    tn_ctx_free(c);
    (void)fprintf(stderr, "of %d budgets candidates miss %d and are best for %d; %d of %d bounds are positive\n",
                  feasible, missed, best, bounded, again);
    assert_true(bounded > 0 && (SHORTER > 1 || 10 * best > 8 * feasible)); /* a share of few says little */
}

typedef struct saving {
    tn_i_rng r;
    size_t bytes; /* of residents among what is saved */
} saving;

static bool save_some(const tn_i_plan_by *how, const tn_i_boundary *q, uint8_t *save) {
    saving *s = how->user;
    uint8_t resident[MOST_CANDIDATES];
    assert_true(q->f->nval <= MOST_CANDIDATES);
    if (!tn_i_residents(q->f, q->known, resident)) return false;
    for (uint32_t v = 0; v < q->f->nval; v++) {
        save[v] = q->known[v] && tn_i_pick(&s->r, 0, 3);
        if (resident[v]) assert_true(q->needed[v]);
        if (resident[v] && save[v]) s->bytes += tn_type_bytes(q->f->val[v].type);
    }
    return true;
}

/* What is said to be in memory together takes no more than the arena, whatever else is saved. */
static void residents_are_in_memory(void **state) {
    (void)state;
    static const uint32_t wrt[] = {0, 1};
    int some = 0, most_of_it = 0;
    for (int seed = 0; seed < amount(1000, 300) / SHORTER; seed++) {
        tn_ctx *c = checked();
        const tn_fn *f = seed % 10 ? sampled_program(c, (uint64_t)seed + 200000, seed % 2)
                                   : tn_trace(c, readings, NULL, INPUTS, TN_TYPES(tn_f64(200, 50), tn_f64(50)));
        tn_fn *jvp = tn_i_jvp_for_split(f, INPUTS, wrt);
        assert_non_null(jvp);
        saving s = {.r = {(uint64_t)seed}};
        const tn_i_plan_by how = {.name = "some", .plan = save_some, .user = &s};
        tn_i_trial t;
        if (!tn_i_measure_reverse(f, jvp, &how, &t)) fail_msg("%s", tn_error(c));
        if (s.bytes > t.peak) fail_msg("program %d: %zu bytes in an arena of %zu", seed, s.bytes, t.peak);
        some += s.bytes > 0;
        most_of_it += 2 * s.bytes > t.peak;
        tn_ctx_free(c);
    }
    assert_true(some > 0 &&
                (SHORTER > 1 || (some > amount(100, 30) && most_of_it > 0))); /* a share of few says little */
}

/* ---- examples ------------------------------------------------------------------------------------ */

enum { LAYERS = 6 };

static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0];
    for (int i = 0; i < 24; i++) x = tn_exp(tn_sin(x));
    return tn_sum(tn_mul(x, in[1]));
}

static tn_val products(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0];
    for (int i = 0; i < 12; i++) x = tn_sin(tn_matmul(x, in[1]));
    return tn_sum(x);
}

static tn_val mlp(const tn_val *in, void *user) {
    (void)user;
    tn_val h = in[0];
    for (int i = 0; i < LAYERS; i++) {
        h = tn_matmul(h, in[i + 1]);
        if (i + 1 < LAYERS) h = tn_tanh(h);
    }
    return tn_sum(tn_mul(h, h));
}

static tn_val layer(const tn_val *in, void *user) {
    (void)user;
    return tn_tanh(tn_add(tn_exp(tn_sin(tn_mul(in[0], in[1]))), in[0]));
}

static tn_val two_layers(const tn_val *in, void *user) {
    (void)user;
    const tn_val y = tn_subfn("layer", layer, NULL, 2, in);
    return tn_subfn("layer", layer, NULL, 2, ((const tn_val[]){y, in[1]}));
}

static tn_val nested(const tn_val *in, void *user) {
    (void)user;
    tn_val y = in[0];
    for (int i = 0; i < 3; i++) y = tn_subfn("two", two_layers, NULL, 2, ((const tn_val[]){y, in[1]}));
    return tn_sum(y);
}

/* Few enough values for every save set, those of the nested program among them. */
static tn_val inner(const tn_val *in, void *user) {
    (void)user;
    return tn_exp(tn_sin(tn_mul(in[0], in[1])));
}

static tn_val small_nested(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_exp(tn_subfn("inner", inner, NULL, 2, in)));
}

static tn_val regions(const tn_val *in, void *user) {
    (void)user;
    tn_val y = in[0];
    for (int i = 0; i < 8; i++) y = tn_exp(tn_checkpoint(layer, NULL, NULL, 2, ((const tn_val[]){y, in[1]})));
    return tn_sum(y);
}

static tn_val small(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_exp(tn_sin(tn_exp(tn_sin(tn_matmul(in[0], in[1]))))));
}

#define SQUARE(t, n) \
    { t, 2, {n, n}, NULL }
#define SQUARES(t, n) SQUARE(t, n), SQUARE(t, n), SQUARE(t, n), SQUARE(t, n), SQUARE(t, n), SQUARE(t, n)

static const struct example {
    const char *name;
    tn_val (*f)(const tn_val *in, void *user);
    size_t nin;
    tn_type in[LAYERS + 1];
    bool exact, saves; /* saves: some plan has a lower peak than saving everything */
} examples[] = {
    {"small", small, 2, {SQUARE(TN_F64, 20), SQUARE(TN_F64, 20)}, true, true},
    {"small f32", small, 2, {SQUARE(TN_F32, 20), SQUARE(TN_F32, 20)}, true, true},
    {"small, nothing", small, 2, {{TN_F64, 2, {0, 3}, NULL}, {TN_F64, 2, {3, 4}, NULL}}, true, false},
    /* one set of loops: nothing is in memory whatever is saved */
    {"small nested", small_nested, 2, {{TN_F64, 1, {500}, NULL}, {TN_F64, 1, {500}, NULL}}, true, false},
    {"chain", chain, 2, {{TN_F64, 1, {1000}, NULL}, {TN_F64, 1, {1000}, NULL}}, false, true},
    {"chain f32", chain, 2, {{TN_F32, 1, {1000}, NULL}, {TN_F32, 1, {1000}, NULL}}, false, true},
    {"chain of scalars", chain, 2, {{TN_F64, 0, {0}, NULL}, {TN_F64, 0, {0}, NULL}}, false, false},
    {"products", products, 2, {SQUARE(TN_F32, 32), SQUARE(TN_F32, 32)}, false, true},
    {"mlp", mlp, 7, {{TN_F32, 2, {256, 32}, NULL}, SQUARES(TN_F32, 32)}, false, true},
    {"nested", nested, 2, {{TN_F64, 1, {500}, NULL}, {TN_F64, 1, {500}, NULL}}, false, true},
    {"regions", regions, 2, {{TN_F64, 1, {500}, NULL}, {TN_F64, 1, {500}, NULL}}, false, true},
};

static tn_fn *traced(tn_ctx *c, const struct example *e) {
    tn_fn *f = tn_trace(c, e->f, NULL, e->nin, e->in);
    if (!f) fail_msg("%s: %s", e->name, tn_error(c));
    return f;
}

static tn_budget_report report(const tn_fn *f, size_t bytes) {
    tn_budget_report r = {.size = sizeof r};
    if (tn_memory_budget(f, NULL, bytes, &r) != TN_OK) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    return r;
}

/* From the highest peak to below the least: each budget is kept, no peak rises, no recomputation falls. */
static void monotone_on_examples(void **state) {
    (void)state;
    const int most = SHORTER > 1 ? 1 : amount(8, 2);
    for (size_t k = 0; k < COUNT(examples); k++) {
        if (!in_turn(k, 2)) continue;
        tn_ctx *c = checked();
        const tn_fn *f = traced(c, &examples[k]);
        const tn_budget_report top = report(f, SIZE_MAX);
        size_t last = SIZE_MAX;
        double again = 0;
        assert_true(top.feasible && top.recompute_ns == 0);
        if (top.exact != examples[k].exact || (top.least_bytes < top.full_bytes) != examples[k].saves)
            fail_msg("%s: exact %d, least %zu of %zu", examples[k].name, top.exact, top.least_bytes, top.full_bytes);
        for (int i = most; i >= 0; i--) {
            const size_t bytes = top.least_bytes + (top.full_bytes - top.least_bytes) / (size_t)most * (size_t)i;
            const tn_budget_report r = report(f, bytes);
            char text[64];
            const tn_policy p = budget_policy(text, bytes);
            if (!r.feasible || r.peak_bytes > bytes || r.peak_bytes > last || r.recompute_ns < again ||
                r.least_bytes != top.least_bytes || r.plans != top.plans || r.bound_ns > r.recompute_ns ||
                made(f, &p, NULL).peak != r.peak_bytes)
                fail_msg("%s within %zu: peak %zu after %zu, again %g after %g, bound %g", examples[k].name, bytes,
                         r.peak_bytes, last, r.recompute_ns, again, r.bound_ns);
            last = r.peak_bytes;
            again = r.recompute_ns;
        }
        if (top.least_bytes > 0) {
            char text[64], want[96];
            const tn_policy p = budget_policy(text, top.least_bytes - 1);
            (void)snprintf(want, sizeof want, "the least peak %s is %zu bytes", top.exact ? "of all plans" : "found",
                           top.least_bytes);
            assert_null(tn_grad(f, NULL, &p));
            assert_int_equal(tn_last_status(c), TN_EINVAL);
            if (!strstr(tn_error(c), want)) fail_msg("%s: %s", examples[k].name, tn_error(c));
            const tn_budget_report r = report(f, top.least_bytes - 1);
            assert_true(!r.feasible && r.peak_bytes == 0 && r.least_bytes == top.least_bytes);
        }
        tn_ctx_free(c);
    }
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

/* The gradients under least budgets, in bits those with everything saved. */
static void same_gradients(void **state) {
    (void)state;
    static const char *const names[] = {"everything_saveable", "min_cut", NULL, NULL};
    for (size_t k = 0; k < COUNT(examples); k++) {
        const struct example *e = &examples[k];
        tn_ctx *c = checked();
        const tn_fn *f = traced(c, e);
        const tn_budget_report top = report(f, SIZE_MAX);
        void *in[LAYERS + 1], *first[LAYERS + 1], *out[LAYERS + 1];
        for (size_t i = 0; i < e->nin; i++) {
            in[i] = filled(&e->in[i], i + 1);
            first[i] = filled(&e->in[i], 0);
            out[i] = filled(&e->in[i], 0);
        }
        for (size_t j = 0; j < COUNT(names); j++) {
            char text[64];
            const size_t bytes = j == 2 ? top.least_bytes : top.least_bytes + (top.full_bytes - top.least_bytes) / 2;
            const tn_policy p = names[j] ? (tn_policy){.size = sizeof p, .name = names[j]} : budget_policy(text, bytes);
            tn_fn *g = tn_grad(f, NULL, &p);
            if (!g) fail_msg("%s: %s", e->name, tn_error(c));
            if (!names[j]) assert_true(arena(g) <= bytes);
            run(g, (const void *const *)in, j ? out : first);
            for (size_t i = 0; j && i < e->nin; i++)
                if (memcmp(out[i], first[i], tn_type_bytes(&e->in[i])) != 0) fail_msg("%s, plan %zu", e->name, j);
        }
        for (size_t i = 0; i < e->nin; i++) free(in[i]), free(first[i]), free(out[i]);
        tn_ctx_free(c);
    }
}

/* A chain of n alike steps, whose states products read from memory, needs about twice the square root of n states. */
static void chains_need_a_root(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int n = 48;
    const tn_fn *f = tn_trace(c, steps, &n, INPUTS, TN_TYPES(tn_f64(32, 32), tn_f64(32, 32)));
    assert_non_null(f);
    const tn_budget_report r = report(f, SIZE_MAX);
    if (r.full_bytes < 47 * 8192 || r.least_bytes > 16 * 8192) fail_msg("%zu to %zu", r.least_bytes, r.full_bytes);
    tn_ctx_free(c);
}

/* ---- other ways in ------------------------------------------------------------------------------------ */

static void derivatives_of_all_kinds(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, &examples[0]);
    char text[64];
    const tn_policy p = budget_policy(text, report(f, 0).least_bytes);
    const tn_linearized l = tn_linearize(f, NULL, &p);
    if (!l.primal || !l.linear) fail_msg("%s", tn_error(c));
    const tn_fn *const all[] = {tn_hvp(f, NULL, &p), tn_hessian(f, tn_wrt(0), &p, 0), tn_jacrev(f, NULL, &p, 0),
                                tn_value_and_grad_aux(f, NULL, &p)};
    const tn_fn *const plain[] = {tn_hvp(f, NULL, NULL), tn_hessian(f, tn_wrt(0), NULL, 0), tn_jacrev(f, NULL, NULL, 0),
                                  tn_value_and_grad_aux(f, NULL, NULL)};
    void *in[4], *out[3], *want[3];
    const tn_type square = examples[0].in[0];
    for (size_t i = 0; i < 4; i++) in[i] = filled(&square, i + 1);
    for (size_t i = 0; i < 3; i++) {
        out[i] = calloc(160000, 8);
        want[i] = calloc(160000, 8);
        assert_true(out[i] && want[i]);
    }
    for (size_t k = 0; k < COUNT(all); k++) {
        if (!all[k]) fail_msg("%s", tn_error(c));
        run(all[k], (const void *const *)in, out);
        run(plain[k], (const void *const *)in, want);
        for (size_t j = 0; j < tn_fn_outputs(all[k]); j++) {
            const tn_type t = tn_fn_output_type(all[k], j);
            close_to(out[j], want[j], tn_type_bytes(&t) / 8, 1e-12);
        }
    }
    for (size_t i = 0; i < 4; i++) free(in[i]);
    for (size_t i = 0; i < 3; i++) free(out[i]), free(want[i]);
    tn_ctx_free(c);
}

static tn_val region(const tn_val *in, void *user) {
    (void)user;
    return tn_checkpoint(layer, (&(const tn_policy){.size = sizeof(tn_policy), .name = "memory_budget:100"}), NULL, 2,
                         in);
}

static void refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    assert_null(tn_trace(c, region, NULL, 2, TN_TYPES(tn_f64(3), tn_f64(3))));
    assert_non_null(strstr(tn_error(c), "budget.c:"));
    assert_non_null(strstr(tn_error(c), "plans whole programs, not regions"));
    const tn_fn *f = traced(c, &examples[0]);
    static const char *const bad[] = {"memory_budget",
                                      "memory_budget:",
                                      "memory_budget:-1",
                                      "memory_budget:1e6",
                                      "memory_budget:1 ",
                                      "memory_budget:x",
                                      "memory_budgets:1",
                                      "memory_budget:99999999999999999999999",
                                      "save_from_either_policy:memory_budget:1|min_cut"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        const tn_policy p = {.size = sizeof p, .name = bad[i]};
        assert_null(tn_grad(f, NULL, &p));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
        assert_null(tn_jacrev(f, NULL, &p, 0));
        assert_null(tn_linearize(f, NULL, &p).primal);
    }
    tn_budget_report r = {0};
    assert_int_equal(tn_memory_budget(f, NULL, 1, &r), TN_EINVAL);
    assert_int_equal(tn_memory_budget(f, NULL, 1, NULL), TN_EINVAL);
    assert_int_equal(tn_memory_budget(NULL, NULL, 1, &r), TN_EINVAL);
    r.size = sizeof r;
    assert_int_equal(tn_memory_budget(f, tn_wrt(7), 1, &r), TN_EINVAL);
    tn_ctx_free(c);
}

/* ---- no memory ----------------------------------------------------------------------------------------- */

typedef struct limited {
    size_t left, asked;
} limited;

static void *allocate(void *user, void *p, size_t old, size_t bytes) {
    limited *l = user;
    (void)old;
    if (bytes == 0) return free(p), NULL;
    l->asked++;
    if (l->left == 0) return NULL;
    l->left--;
    return realloc(p, bytes);
}

static tn_val tiny(const tn_val *in, void *user) { return (void)user, tn_sum(tn_sin(tn_mul(in[0], in[1]))); }

/* Where any allocation of a search fails, that is what is said, and nothing is left behind. */
static void no_memory(void **state) {
    (void)state;
    for (int large = 0; large < 2; large++) {
        limited l = {SIZE_MAX, 0};
        tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .realloc = allocate, .user = &l});
        assert_non_null(c);
        tn_fn *f = tn_trace(c, tiny, NULL, 2, TN_TYPES(tn_f64(3), tn_f64(3)));
        assert_non_null(f);
        tn_budget_report r = {.size = sizeof r};
        static const uint32_t wrt[] = {0, 1};
        tn_fn *jvp = tn_i_jvp_for_split(f, 2, wrt);
        programs_of p = {f, jvp};
        const tn_i_trier t = {.ctx = c, .attempt = attempt, .residents = tn_i_residents, .user = &p, .large = large};
        tn_i_budget x;
        assert_true(tn_i_budget_find(&t, SIZE_MAX, &x)); /* strings and types are kept for good */
        tn_i_budget_free(&x);
        assert_int_equal(tn_memory_budget(f, NULL, 1000000, &r), TN_OK);
        const size_t before = tn_ctx_bytes(c);
        l.asked = 0;
        assert_true(tn_i_budget_find(&t, SIZE_MAX, &x));
        tn_i_budget_free(&x);
        const size_t all = l.asked, step = 1 + all / 1000;
        for (size_t n = 0; n < all; n += step) {
            l.left = n;
            const bool ok = tn_i_budget_find(&t, SIZE_MAX, &x);
            l.left = SIZE_MAX;
            if (ok || c->status != TN_ENOMEM || tn_ctx_bytes(c) != before)
                fail_msg("allocation %zu of %zu: %s, %zu bytes left", n, all, tn_error(c), tn_ctx_bytes(c) - before);
        }
        tn_fn_free(jvp);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_on_random_programs),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(residents_are_in_memory),
        cmocka_unit_test(monotone_on_examples),
        cmocka_unit_test(same_gradients),
        cmocka_unit_test(chains_need_a_root),
        cmocka_unit_test(derivatives_of_all_kinds),
        cmocka_unit_test(refused),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
