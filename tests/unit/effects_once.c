/* Effects happen as often as in the program, in every derivative of it, under every policy and schedule: external
 * functions with an effect, prints and progress, wherever they stand in a loop's step. */
#include "amount.h"
#include "tracing.h"

#include <stdio.h>

typedef struct counts {
    long calls, said;
} counts;

/* y = 0.9 x + 0.1, and what is derived of it. */
static int fn(void *user, const void *const *in, void *const *out) {
    ((counts *)user)->calls++;
    *(double *)out[0] = *(const double *)in[0] * 0.9 + 0.1;
    return 0;
}

static int second_times(void *user, const void *const *in, void *const *out) {
    (void)user;
    *(double *)out[0] = *(const double *)in[1] * 0.9;
    return 0;
}

/* (x, d, dx, dd) -> 0.9 dd */
static int fourth_times(void *user, const void *const *in, void *const *out) {
    (void)user;
    *(double *)out[0] = *(const double *)in[3] * 0.9;
    return 0;
}

/* (x, d, ct) -> 0, 0.9 ct */
static int back(void *user, const void *const *in, void *const *out) {
    (void)user;
    *(double *)out[0] = 0;
    *(double *)out[1] = *(const double *)in[2] * 0.9;
    return 0;
}

static void registered(tn_ctx *c, counts *n) {
    const tn_type t[2] = {tn_f64(), tn_f64()};
    const tn_external_spec f = {.size = sizeof f,
                                .name = "f",
                                .nin = 1,
                                .nout = 1,
                                .in = t,
                                .out = t,
                                .fn = fn,
                                .user = n,
                                .jvp = second_times,
                                .vjp = second_times,
                                .effect = true};
    assert_int_equal(tn_external_register(c, &f), TN_OK);
    for (int k = 0; k < 2; k++) {
        const tn_external_spec d = {.size = sizeof d,
                                    .name = k ? "f.jvp" : "f.vjp",
                                    .nin = 2,
                                    .nout = 1,
                                    .in = t,
                                    .out = t,
                                    .fn = second_times,
                                    .jvp = fourth_times,
                                    .vjp = back};
        assert_int_equal(tn_external_register(c, &d), TN_OK);
    }
}

static int say(void *user, const tn_effect *e) {
    (void)e;
    ((counts *)user)->said++;
    return 0;
}

#define F(X) "external_call[name=\"f\" mode=fn out=(f64[],) batch=() effect=True linear=False] " X
/* What gives e of the const w and of the carry c, in a step. */
static const char *const givers[][2] = {
    {"of a carry", "e:f64[] = " F("c")},
    {"of a const", "e:f64[] = " F("w")},
    {"of a number", "e:f64[] = " F("0.5:f64[]")},
    {"two", "a:f64[] = " F("c") " b:f64[] = sin a e:f64[] = " F("b")},
    {"in a call",
     "e:f64[] = call[name=\"g\" program={ lambda c:f64[] . let a:f64[] = " F("c") " b:f64[] = sin a in (b,) }] c"},
    {"in a branch",
     "g:bool[] = gt c 0.4:f64[] e:f64[] = cond[branches=({ lambda c:f64[] . let in (c,) }, { lambda c:f64[] . "
     "let a:f64[] = " F("c") " in (a,) })] g c"},
    {"in a custom rule", "e:f64[] = custom_jvp[call={ lambda c:f64[] . let a:f64[] = " F(
                             "c") " in (a,) } jvp={ lambda c:f64[] | "
                                  "d:f64[] . let a:f64[] = mul d 0.9:f64[] in (a,) }] c"},
    {"in a loop", "e:f64[] = scan[program={ lambda c:f64[] . let a:f64[] = " F(
                      "c") " b:f64[] = sin a in (b,) } length=2 "
                           "num_consts=0 num_carry=1 schedule=\"revolve:1\"] c"},
    {"in a while",
     "e:f64[] n:i64[] = while[cond={ lambda c:f64[] n:i64[] . let g:bool[] = lt n 2:i64[] in (g,) } body={ "
     "lambda c:f64[] n:i64[] . let a:f64[] = " F("c") " b:f64[] = sin a m:i64[] = add n 1:i64[] in (b, m) } "
                                                      "cond_nconsts=0 body_nconsts=0 schedule=\"online:1\"] c 0:i64[]"},
};

/* A loop over it, of `length` steps, or as many as an operand says, that carries what the effect gave or not. */
static tn_fn *looped(tn_ctx *c, const char *giver, const char *schedule, bool known, bool carried) {
    char text[4096];
    (void)snprintf(
        text, sizeof text,
        "{ lambda w:f64[] x:f64[] n:i64[] . let y:f64[] z:f64[] ys:f64[%s] = scan[program={ lambda i:i64[] w:f64[] "
        "c:f64[] d:f64[] . let %s () = print[message=\"c\"] c () = progress[message=\"i\" every=3] i u:f64[] = mul w "
        "%s v:f64[] = sin u s:f64[] = add d e r:f64[] = mul e c in (v, s, r) } %s num_consts=1 num_carry=2 "
        "index=True %s%s%s] %sw x x r:f64[] = scan[program={ lambda a:f64[] b:f64[] . let c:f64[] = add a b in (c,) "
        "} %s num_consts=0 num_carry=1] %s0.0:f64[] ys q:f64[] = mul y z o:f64[] = add q r in (o,) }",
        known ? "7" : "?", giver, carried ? "e" : "c", known ? "length=7" : "", schedule ? "schedule=\"" : "",
        schedule ? schedule : "", schedule ? "\"" : "", known ? "" : "n ", known ? "length=7" : "", known ? "" : "n ");
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "t.tn");
    if (!f) fail_msg("%s\n%s", tn_error(c), text);
    return f;
}

static counts counted(const tn_fn *f, counts *n, double *y) {
    const double w = 0.8, x = 0.7, one = 1;
    const int64_t steps = 7;
    const void *in[] = {&w, &x, &steps, &one, &one, &one, &one};
    double other[4];
    void *out[] = {y, other, other + 1, other + 2};
    const tn_compile_options o = {
        .size = sizeof o, .observer = say, .observer_user = n, .spill_dir = "/tmp", .backend = TN_BACKEND_DEFAULT};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    *n = (counts){0, 0};
    if (tn_call(e, in, out) != TN_OK) fail_msg("%s", tn_exec_error(e));
    tn_exec_free(e);
    return *n;
}

/* 'g': grad, 'j': jvp, the innermost first, in w. */
static tn_fn *derived(tn_fn *f, const char *how, const tn_policy *policy) {
    for (; f && *how; how++) {
        f = *how == 'g' ? tn_grad(f, tn_wrt(0), policy) : tn_jvp(f, tn_wrt(0));
        if (f && *how == 'j') break; /* the last, of which the tangent comes second */
    }
    return f;
}

static void each_derivative(const char *const *giver, const char *schedule, bool known, bool carried) {
    static const char *const policies[] = {"everything_saveable", "nothing_saveable", "dots_saveable",
                                           "min_bytes",           "min_cut",          "balanced"};
    static const char *const hows[] = {"j", "g", "gg", "gj"};
    for (size_t k = 0; k < sizeof hows / sizeof *hows; k++)
        for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
            if (k != 1 && p != k) continue; /* all policies with the gradient alone */
            tn_ctx *c = tn_ctx_new(NULL);
            counts n = {0, 0};
            double y, g, h;
            registered(c, &n);
            const tn_policy policy = {.size = sizeof policy, .name = policies[p]};
            tn_fn *plain = looped(c, giver[1], NULL, known, carried),
                  *f = looped(c, giver[1], schedule, known, carried);
            const counts want = counted(plain, &n, &y);
            tn_fn *d = derived(f, hows[k], &policy), *e = derived(plain, hows[k], NULL);
            if (!d || !e) fail_msg("%s, %s of %s under %s: %s", giver[0], hows[k], schedule, policies[p], tn_error(c));
            assert_int_equal(tn_check(d), TN_OK);
            const counts got = counted(d, &n, &g);
            if (got.calls != want.calls || got.said != want.said)
                fail_msg("%s, carried %d, known %d: %ld calls and %ld words of the program, %ld and %ld of %s with %s "
                         "under %s",
                         giver[0], carried, known, want.calls, want.said, got.calls, got.said, hows[k],
                         schedule ? schedule : "no schedule", policies[p]);
            (void)counted(e, &n, &h);
            close_to(&g, &h, 1, 1e-12);
            tn_ctx_free(c);
        }
}

static void test_known_lengths(void **state) {
    static const char *const schedules[] = {NULL,         "all_save", "revolve:2", "mixed:2", "online:2",
                                            "periodic:2", "nothing",  "auto",      "auto:100"};
    (void)state;
    for (size_t i = 0; i < sizeof givers / sizeof *givers; i++)
        for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++)
            for (int carried = 0; carried < 2; carried++)
                if (in_share(i + s + (size_t)carried, 2)) each_derivative(givers[i], schedules[s], true, carried != 0);
}

static void test_unknown_lengths(void **state) {
    static const char *const schedules[] = {NULL, "all_save", "online:2", "periodic:2", "nothing", "auto", "auto:100"};
    (void)state;
    for (size_t i = 0; i < sizeof givers / sizeof *givers; i++)
        for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++)
            for (int carried = 0; carried < 2; carried++)
                if (in_share(i + s + (size_t)carried, 2)) each_derivative(givers[i], schedules[s], false, carried != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_lengths), cmocka_unit_test(test_unknown_lengths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
