/* tn_advise: what it predicts is what the programs take, the best is the fastest that fits, and solves are tried with
 * each adjoint. */
#include <tansy.h>
#include <tansy/ode.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 200, TEXT = 128 };

typedef struct heard {
    size_t n;
    tn_advice row[MOST];
    char error[MOST][TEXT];
} heard;

static void hear(void *user, const tn_advice *a) {
    heard *h = user;
    assert_int_equal(a->size, sizeof *a);
    assert_true(a->policy && *a->policy && a->schedules && a->adjoint && a->error);
    assert_true(h->n < MOST);
    (void)snprintf(h->error[h->n], TEXT, "%s", a->error);
    h->row[h->n++] = *a;
}

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "advise.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static void advise(const tn_fn *f, const tn_advise_options *o, heard *h) {
    h->n = 0;
    if (tn_advise(f, NULL, o, hear, h) != TN_OK) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_last_status(tn_fn_ctx(f)), TN_OK); /* what could not be had is no error */
}

/* Those that fit, the fastest first; one is best. */
static void in_order(const heard *h, size_t bytes) {
    size_t best = 0;
    for (size_t i = 0; i < h->n; i++) {
        const tn_advice *a = &h->row[i];
        const bool failed = h->error[i][0] != 0;
        best += a->best;
        assert_int_equal(a->fits, !failed && (bytes == 0 || a->bytes <= (double)bytes));
        assert_true(!a->best || i == 0);
        if (i == 0 || failed) continue;
        const tn_advice *before = &h->row[i - 1];
        assert_true(before->fits || !a->fits);
        if (before->fits == a->fits) assert_true(before->ns <= a->ns);
    }
    assert_int_equal(best, h->n && h->row[0].fits);
}

static const tn_advice *row_of(const heard *h, const char *policy, const char *schedules) {
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(h->row[i].policy, policy) == 0 && strcmp(h->row[i].schedules, schedules) == 0) return &h->row[i];
    fail_msg("no row is %s, %s", policy, schedules);
    return NULL;
}

/* ---- policies ---------------------------------------------------------------------------------------- */

static const char *const chain =
    "{ lambda x:%s[32,32] w:%s[32,32] . let\n"
    "  a = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] x w b = tanh a\n"
    "  c = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] b w d = tanh c\n"
    "  e = dot_general[dimension_numbers=(((1,), (0,)), ((), ()))] d w f = sin e\n"
    "  y = reduce_sum[axes=(0, 1)] f in (y) }";

/* The bytes are those of the largest of the programs that are made, as a budget has it. */
static double peak(const tn_fn *f, const char *policy) {
    const tn_policy named = {.size = sizeof named, .name = policy};
    tn_fn *g[] = {tn_vjp(f, NULL, &named), tn_value_and_grad(f, NULL, &named), tn_grad(f, NULL, &named)};
    double most = 0;
    for (int k = 0; k < 3; k++) {
        tn_cost_report r = {.size = sizeof r};
        assert_int_equal(tn_cost(g[k], &r), TN_OK);
        if (r.peak_bytes > most) most = r.peak_bytes;
        tn_fn_free(g[k]);
    }
    return most;
}

static void test_policies(void **state) {
    (void)state;
    static const char *const dtype[] = {"f64", "f32"};
    for (int k = 0; k < 2; k++) {
        char text[1024];
        static heard h;
        (void)snprintf(text, sizeof text, chain, dtype[k], dtype[k]);
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *f = parse(c, text);
        advise(f, NULL, &h);
        in_order(&h, 0);
        size_t policies = 0;
        bool arguments;
        for (size_t i = 0; tn_policy_at(i, &arguments); i++) policies += !arguments;
        assert_int_equal(h.n, policies);
        assert_true(row_of(&h, "everything_saveable", "")->bytes == peak(f, "everything_saveable"));
        assert_true(row_of(&h, "nothing_saveable", "")->bytes == peak(f, "nothing_saveable"));
        assert_true(row_of(&h, "nothing_saveable", "")->ns > row_of(&h, "everything_saveable", "")->ns);
        /* a budget in between: what is slower and smaller is the best */
        const size_t least = (size_t)row_of(&h, "nothing_saveable", "")->bytes;
        assert_true(least < (size_t)row_of(&h, "everything_saveable", "")->bytes);
        advise(f, &(tn_advise_options){.size = sizeof(tn_advise_options), .bytes = least}, &h);
        in_order(&h, least);
        assert_int_equal(h.n, policies + 1);
        assert_true(h.row[0].best && h.row[0].bytes <= (double)least);
        assert_false(row_of(&h, "everything_saveable", "")->fits);
        tn_budget_report r = {.size = sizeof r};
        assert_int_equal(tn_memory_budget(f, NULL, least, &r), TN_OK);
        char budget[TEXT];
        (void)snprintf(budget, sizeof budget, "memory_budget:%zu", least);
        assert_true(row_of(&h, budget, "")->bytes == (double)r.peak_bytes);
        /* nothing fits */
        advise(f, &(tn_advise_options){.size = sizeof(tn_advise_options), .bytes = 1}, &h);
        in_order(&h, 1);
        assert_false(h.row[0].best);
        assert_non_null(strstr(h.error[h.n - 1], "infeasible"));
        tn_ctx_free(c);
    }
}

static void test_small(void **state) {
    (void)state;
    static const char *const texts[] = {"{ lambda a:f64[] . let b = sin a in (b) }",
                                        "{ lambda a:f32[0] . let b = sin a in (b) }",
                                        "{ lambda a:f64[] . let in (a) }"};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        static heard h;
        tn_ctx *c = tn_ctx_new(NULL);
        advise(parse(c, texts[k]), NULL, &h);
        in_order(&h, 0);
        assert_true(h.row[0].best);
        tn_ctx_free(c);
    }
}

/* ---- schedules ------------------------------------------------------------------------------------------- */

static const char *const loop =
    "{ lambda a:f64[50] . let b = scan[program={ lambda x:f64[50] . let y = sin x z = mul y x in (z) } length=40 "
    "num_consts=0 num_carry=1] a c = reduce_sum[axes=(0,)] b in (c) }";

static void test_schedules(void **state) {
    (void)state;
    static heard h;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, loop);
    advise(f, NULL, &h);
    in_order(&h, 0);
    const tn_advice *few = row_of(&h, "min_cut", "revolve:2"), *all = row_of(&h, "min_cut", "all_save");
    assert_true(few->bytes < all->bytes && few->ns > all->ns);
    assert_string_equal(few->adjoint, "RecursiveCheckpoint:2");
    assert_string_equal(all->adjoint, "AllSave");
    assert_string_equal(row_of(&h, "min_cut", "none")->adjoint, "Direct");
    assert_string_equal(row_of(&h, "min_cut", "mixed:2")->adjoint, "");
    tn_schedule_counts k = {.size = sizeof k};
    assert_int_equal(tn_schedule_cost(c, "revolve:2", 40, NULL, &k), TN_OK);
    assert_true(few->advances == (double)k.advances && few->recorded == 40 && all->advances == 0);
    for (size_t i = 0; i < h.n; i++) assert_null(strstr(h.row[i].schedules, "disk"));
    /* between two rungs: the most slots that fit */
    const size_t bytes = (size_t)row_of(&h, "min_cut", "revolve:19")->bytes - 1;
    advise(f, &(tn_advise_options){.size = sizeof(tn_advise_options), .bytes = bytes, .disk = 3}, &h);
    in_order(&h, bytes);
    int64_t most = 0, least = INT64_MAX;
    for (size_t i = 0; i < h.n; i++) {
        if (strcmp(h.row[i].policy, "min_cut") != 0 || strncmp(h.row[i].schedules, "revolve:", 8) != 0) continue;
        const int64_t n = strtoll(h.row[i].schedules + 8, NULL, 10);
        if (h.row[i].fits && n > most) most = n;
        if (!h.row[i].fits && n < least) least = n;
    }
    assert_int_equal(least, most + 1);
    assert_true(row_of(&h, "min_cut", "disk_revolve:2,3")->spill_bytes > 0);
    tn_ctx_free(c);
}

/* What was said of a schedule is what the program with it takes. */
static void test_predictions(void **state) {
    (void)state;
    static heard h;
    tn_ctx *c = tn_ctx_new(NULL);
    advise(parse(c, loop), NULL, &h);
    static const char *const schedule[] = {"revolve:4", "mixed:4", "nothing", "all_save"};
    for (size_t k = 0; k < sizeof schedule / sizeof *schedule; k++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{ lambda a:f64[50] . let b = scan[program={ lambda x:f64[50] . let y = sin x z = mul y x in "
                       "(z) } length=40 num_consts=0 num_carry=1 schedule=\"%s\"] a c = reduce_sum[axes=(0,)] b in (c) }",
                       schedule[k]);
        assert_true(row_of(&h, "min_cut", schedule[k])->bytes == peak(parse(c, text), "min_cut"));
    }
    tn_ctx_free(c);
}

/* Lengths that a run finds, beside one that is known: each has what it can have. */
static void test_unknown(void **state) {
    (void)state;
    static heard h;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(
        c, "{ lambda a:f64[5] n:i64[] . let b = scan[program={ lambda x:f64[5] . let y = sin x z = mul y x in (z) } "
           "num_consts=0 num_carry=1 schedule=\"online:7\"] n a d = scan[program={ lambda x:f64[5] . let y = cos x in (y) "
           "} length=9 num_consts=0 num_carry=1] b c = reduce_sum[axes=(0,)] d in (c) }");
    advise(f, &(tn_advise_options){.size = sizeof(tn_advise_options), .steps = 200}, &h);
    in_order(&h, 0);
    const tn_advice *own = row_of(&h, "min_cut", "online:7 none"), *three = row_of(&h, "min_cut", "online:3 revolve:3"),
                    *all = row_of(&h, "min_cut", "all_save");
    assert_string_equal(own->adjoint, "");
    assert_true(all->bytes_per_step > 0 && all->bytes > 200 * all->bytes_per_step);
    assert_true(three->bytes_per_step == 0 && three->bytes < all->bytes);
    assert_true(own->recorded == 209 && own->advances > 200);
    (void)row_of(&h, "min_cut", "online:999 revolve:8");
    tn_ctx_free(c);
}

/* ---- adjoints ----------------------------------------------------------------------------------------------- */

static void decay(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)user;
    dy[0] = tn_mul(tn_sin(y[0]), p[0]);
}

static tn_val solved(const tn_val *in, void *user) {
    tn_val y;
    const tn_ode_problem problem = {.size = sizeof problem,
                                    .field = decay,
                                    .nstate = 1,
                                    .y0 = in,
                                    .nparams = 1,
                                    .params = in + 1,
                                    .t0 = TN_VAL(0.0),
                                    .t1 = TN_VAL(1.0)};
    const tn_ode_options options = {.size = sizeof options, .adjoint = user, .steps = 50};
    tn_ode_solution s = {.size = sizeof s, .y = &y};
    tn_ode_solve(&problem, &options, &s);
    return tn_sum(y);
}

static tn_fn *solve(void *user, const char *adjoint) {
    return tn_trace(user, solved, (void *)(uintptr_t)adjoint, TN_ARGS(tn_f64(20), tn_f64()));
}

static tn_fn *no_solve(void *user, const char *adjoint) { return solve(user, adjoint[0] == 'A' ? "Guess" : adjoint); }
static tn_fn *foreign(void *user, const char *adjoint) {
    (void)user;
    return solve(*(tn_ctx **)user, adjoint);
}

static const tn_advice *adjoint_row(const heard *h, const char *adjoint) {
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(h->row[i].adjoint, adjoint) == 0) return &h->row[i];
    fail_msg("no row has the adjoint %s", adjoint);
    return NULL;
}

static void test_adjoints(void **state) {
    (void)state;
    static heard h;
    tn_ctx *c = tn_ctx_new(NULL), *other = tn_ctx_new(NULL);
    tn_fn *f = solve(c, NULL);
    tn_advise_options o = {.size = sizeof o, .solve = solve, .user = c};
    advise(f, &o, &h);
    in_order(&h, 0);
    const tn_advice *all = adjoint_row(&h, "AllSave"), *back = adjoint_row(&h, "Backsolve");
    assert_true(back->bytes < all->bytes);
    assert_true(adjoint_row(&h, "RecursiveCheckpoint:3")->bytes < all->bytes);
    assert_true(adjoint_row(&h, "RecursiveCheckpoint:3")->advances > 50);
    (void)adjoint_row(&h, "Direct");
    o.solve = no_solve; /* one cannot be traced: the others are told */
    advise(f, &o, &h);
    size_t refused = 0;
    for (size_t i = 0; i < h.n; i++) refused += strstr(h.error[i], "Guess") != NULL;
    assert_int_equal(refused, 1);
    o.solve = foreign;
    o.user = &other;
    assert_int_equal(tn_advise(f, NULL, &o, hear, &h), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "another context"));
    tn_ctx_free(other);
    tn_ctx_free(c);
}

/* ---- what is refused ------------------------------------------------------------------------------------------ */

static int nothing(void *user, const void *const *in, void *const *out) {
    (void)user, (void)in, (void)out;
    return 0;
}

static tn_val opaque(const tn_val *in, void *user) {
    (void)user;
    return tn_external(in[0].ctx, "opaque", 1, in);
}

static void test_refused(void **state) {
    (void)state;
    static heard h;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parse(c, loop);
    tn_advise_options o = {.size = sizeof o};
    assert_int_equal(tn_advise(NULL, NULL, &o, hear, &h), TN_EINVAL);
    assert_int_equal(tn_advise(f, NULL, &o, NULL, &h), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "no function"));
    assert_int_equal(tn_advise(f, tn_wrt(3), &o, hear, &h), TN_EINVAL);
    assert_int_equal(tn_advise(f, NULL, &(tn_advise_options){.bytes = 3}, hear, &h), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "tn_advise_options"));
    o.steps = -1;
    assert_int_equal(tn_advise(f, NULL, &o, hear, &h), TN_EINVAL);
    o.steps = 0;
    o.disk = -1;
    assert_int_equal(tn_advise(f, NULL, &o, hear, &h), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "disk is negative"));
    /* no way can be had: user code without a derivative */
    const tn_type t = tn_f64();
    assert_int_equal(tn_external_register(c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                                 .name = "opaque",
                                                                 .nin = 1,
                                                                 .nout = 1,
                                                                 .in = &t,
                                                                 .out = &t,
                                                                 .fn = nothing}),
                     TN_OK);
    tn_fn *g = tn_trace(c, opaque, NULL, TN_ARGS(tn_f64()));
    assert_non_null(g);
    h.n = 0;
    assert_int_equal(tn_advise(g, NULL, NULL, hear, &h), TN_ERULE);
    assert_int_equal(h.n, 0);
    assert_non_null(strstr(tn_error(c), "opaque"));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_policies),    cmocka_unit_test(test_small),
                                       cmocka_unit_test(test_schedules),   cmocka_unit_test(test_predictions),
                                       cmocka_unit_test(test_unknown),     cmocka_unit_test(test_adjoints),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
