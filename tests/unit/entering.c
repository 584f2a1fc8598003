/* Loops whose derivatives do without stacks of what enters a step: bytes, and the same bits as with them. */
#include "amount.h"
#include "sanitized.h"
#include "recurrent.h"
#include "unit/meter.h"
#include "unit/tracing.h"

#include <stdio.h>
#include <stdlib.h>

static tn_fn *parsed(tn_ctx *c, const char *fmt, ...) {
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_in_range(n, 1, sizeof text - 1);
    tn_fn *f = tn_fn_parse(c, text, (size_t)n, "test");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static double residual_bytes(const tn_fn *f, const tn_wrt_list *wrt, const char *policy) {
    tn_residuals *r = tn_saved_residuals(f, wrt, policy ? tn_policy_by_name(policy) : NULL);
    tn_residual_totals t = {.size = sizeof t};
    if (!r) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_residuals_total(r, &t), TN_OK);
    tn_residuals_free(r);
    return t.residual_bytes;
}

/* Inputs of a program in f32 or f64, numbers between -1 and 1. */
typedef struct arrays {
    void *v[16];
    size_t n;
} arrays;

static void arrays_like(const tn_fn *f, bool outputs, arrays *a) {
    uint64_t state = 88172645463325252u;
    *a = (arrays){.n = outputs ? f->nout : f->nin};
    assert_true(a->n <= 16);
    for (size_t i = 0; i < a->n; i++) {
        const tn_type *t = f->val[outputs ? f->out[i] : i].type;
        const size_t count = tn_type_elements(t);
        a->v[i] = calloc(count + 1, 8);
        for (size_t k = 0; k < count && !outputs; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            const double x = (double)(state >> 11) * 0x1p-52 - 1;
            if (t->dtype == TN_F32) ((float *)a->v[i])[k] = (float)x;
            if (t->dtype == TN_F64) ((double *)a->v[i])[k] = x;
        }
    }
}

static void arrays_free(arrays *a) {
    for (size_t i = 0; i < a->n; i++) free(a->v[i]);
}

/* What f gives for those inputs. */
static void results_of(const tn_fn *f, arrays *out) {
    arrays in;
    if (!f) fail_msg("no program");
    assert_int_equal(tn_check(f), TN_OK);
    arrays_like(f, false, &in);
    arrays_like(f, true, out);
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, (const void *const *)in.v, out->v), TN_OK);
    tn_exec_free(e);
    arrays_free(&in);
}

/* How far apart two programs' results are, in units of the largest number among them; 0: the same bits. */
static double apart(const tn_fn *f, const tn_fn *g) {
    arrays a, b;
    double worst = 0, scale = 0;
    results_of(f, &a);
    results_of(g, &b);
    assert_int_equal(a.n, b.n);
    for (size_t i = 0; i < a.n; i++) {
        const tn_type *t = f->val[f->out[i]].type;
        const bool narrow = t->dtype == TN_F32;
        if (memcmp(a.v[i], b.v[i], tn_type_bytes(t)) == 0) continue;
        for (size_t k = 0; k < tn_type_elements(t); k++) {
            const double x = narrow ? ((float *)a.v[i])[k] : ((double *)a.v[i])[k];
            const double y = narrow ? ((float *)b.v[i])[k] : ((double *)b.v[i])[k];
            if (!isfinite(x) || !isfinite(y)) fail_msg("output %zu[%zu]: %g and %g", i, k, x, y);
            worst = fmax(worst, fabs(x - y));
            scale = fmax(scale, fmax(fabs(x), fabs(y)));
        }
        if (worst == 0) worst = scale = 1e-300; /* -0 and 0 */
    }
    arrays_free(&a);
    arrays_free(&b);
    return worst == 0 ? 0 : worst / scale;
}

/* First derivatives have the bits, second ones the values, that they have with every stack. */
static void same_derivatives(const tn_fn *f, const tn_wrt_list *wrt, const char *policy, double tolerance) {
    const tn_policy *p = policy ? tn_policy_by_name(policy) : NULL, *all = tn_policy_by_name("everything_saveable");
    tn_fn *g = tn_grad(f, wrt, p), *h = tn_grad(f, wrt, all);
    assert_true(apart(g, h) == 0);
    assert_true(apart(tn_hvp(f, wrt, p), tn_hvp(f, wrt, all)) <= tolerance);
    tn_fn *gg = tn_vjp(g, wrt, p), *hh = tn_vjp(h, wrt, all);
    assert_true(apart(gg, hh) <= tolerance);
    assert_true(apart(tn_vmap(g, 3, NULL, NULL), tn_vmap(h, 3, NULL, NULL)) == 0);
}

/* ---- the network ------------------------------------------------------------------------------------ */

static void test_lstm_bytes(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const lstm m = {.steps = LSTM_STEPS, .batch = LSTM_BATCH, .width = LSTM_WIDTH};
    tn_fn *f = lstm_traced(c, &m);
    if (!f) fail_msg("%s", tn_error(c));
    /* i, f, o, u and c of each step: what a hand would keep */
    assert_true(residual_bytes(f, tn_wrt(0, 1, 2), "min_bytes") == 5242880);
    /* those, h, tanh of the next c, and the last h */
    assert_true(residual_bytes(f, tn_wrt(0, 1, 2), NULL) == 7356416);
    assert_true(residual_bytes(f, tn_wrt(0, 1, 2), "everything_saveable") == 12599296);
    tn_ctx_free(c);
}

static void test_lstm_values(void **state) {
    (void)state;
    static const char *const schedule[] = {NULL, "all_save", "revolve:3"};
    tn_ctx *c = checked();
    for (size_t k = 0; k < sizeof schedule / sizeof *schedule; k++) {
        const lstm m = {.steps = 5, .batch = 2, .width = 3, .schedule = schedule[k]};
        tn_fn *f = lstm_traced(c, &m);
        same_derivatives(f, tn_wrt(0, 1, 2, 4, 5), "min_bytes", 1e-5);
        same_derivatives(f, tn_wrt(0, 1, 2, 4, 5), NULL, 1e-5);
    }
    tn_ctx_free(c);
}

/* ---- what the next step starts from ------------------------------------------------------------------- */

/* y' = y + k w, k' = w sin y': what enters a step as k is a function of the y that enters it, but in the first step. */
#define SLOPE                       \
    "        d:f64[40] = mul k w\n" \
    "        e:f64[40] = add y d\n" \
    "        f:f64[40] = sin e\n"   \
    "        g:f64[40] = mul f w\n" \
    "      in (e, g) }"
#define PRODUCT                               \
    "    c:f64[40] = mul a b\n"               \
    "    d:f64[] = reduce_sum[axes=(0,)] c\n" \
    "  in (d,) }"

static void test_slope(void **state) {
    (void)state;
    static const char *const how[] = {"", " reverse=True", " schedule=\"revolve:2\"", " schedule=\"online:2\""};
    for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
        tn_ctx *c = checked();
        tn_fn *f = parsed(c,
                          "{ lambda y:f64[40] k:f64[40] w:f64[40] . let\n"
                          "    a:f64[40] b:f64[40] = scan[program={ lambda w:f64[40] y:f64[40] k:f64[40] . let\n" SLOPE
                          " length=7 num_consts=1 num_carry=2%s] w y k\n" PRODUCT,
                          how[k]);
        /* y alone, and what the product behind the loop reads */
        assert_true(residual_bytes(f, tn_wrt(0, 1, 2), "min_bytes") <= (7 + 2) * 40 * 8);
        assert_true(residual_bytes(f, tn_wrt(0, 1, 2), "everything_saveable") >= 2 * 7 * 40 * 8);
        same_derivatives(f, tn_wrt(0, 1, 2), "min_bytes", 1e-13);
        same_derivatives(f, tn_wrt(0, 1, 2), NULL, 1e-13);
        tn_ctx_free(c);
    }
}

/* The default spares what is cheap to make again beside all steps' bytes, and schedules change no bit of any order. */
static void test_default(void **state) {
    (void)state;
    static const char *const how[] = {"", "revolve:3", "online:3", "periodic:4", "mixed:2"};
    tn_ctx *c = checked();
    tn_fn *first[3] = {NULL};
    for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
        char schedule[64] = "";
        if (*how[k]) (void)snprintf(schedule, sizeof schedule, " schedule=\"%s\"", how[k]);
        tn_fn *f =
            parsed(c,
                   "{ lambda y:f64[4000] k:f64[4000] w:f64[4000] . let\n"
                   "    a:f64[4000] b:f64[4000] = scan[program={ lambda w:f64[4000] y:f64[4000] k:f64[4000] . let\n"
                   "        d:f64[4000] = mul k w\n"
                   "        e:f64[4000] = add y d\n"
                   "        g:f64[4000] = mul e w\n"
                   "      in (e, g) } length=20 num_consts=1 num_carry=2%s] w y k\n"
                   "    c:f64[4000] = mul a b\n"
                   "    d:f64[] = reduce_sum[axes=(0,)] c\n"
                   "  in (d,) }",
                   schedule);
        if (k == 0) {
            assert_true(residual_bytes(f, tn_wrt(0, 1, 2), NULL) <= (20 + 2) * 4000 * 8);
            assert_true(residual_bytes(f, tn_wrt(0, 1, 2), "everything_saveable") >= 2 * 20 * 4000 * 8);
        }
        tn_fn *g = tn_grad(f, tn_wrt(0, 1, 2), NULL);
        tn_fn *all[3] = {g, tn_hvp(f, tn_wrt(0, 1, 2), NULL), tn_vjp(g, tn_wrt(0, 1, 2), NULL)};
        for (int order = 0; order < 3; order++) {
            if (k == 0) first[order] = all[order];
            assert_true(apart(first[order], all[order]) == 0);
        }
    }
    tn_ctx_free(c);
}

/* The same where only a run tells the number of steps. */
static void test_slope_of_while(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda y:f64[40] k:f64[40] w:f64[40] . let\n"
                         "    n:i64[] a:f64[40] b:f64[40] = while[cond={ lambda n:i64[] y:f64[40] k:f64[40] . let\n"
                         "        p:bool[] = lt n 6:i64[]\n"
                         "      in (p,) } body={ lambda w:f64[40] n:i64[] y:f64[40] k:f64[40] . let\n"
                         "        d:f64[40] = mul k w\n"
                         "        e:f64[40] = add y d\n"
                         "        f:f64[40] = sin e\n"
                         "        g:f64[40] = mul f w\n"
                         "        m:i64[] = add n 1:i64[]\n"
                         "      in (m, e, g) } cond_nconsts=0 body_nconsts=1] w 0:i64[] y k\n" PRODUCT);
    const tn_linearized cut = tn_linearize(f, tn_wrt(0, 1, 2), tn_policy_by_name("min_bytes")),
                        all = tn_linearize(f, tn_wrt(0, 1, 2), tn_policy_by_name("everything_saveable"));
    size_t stacks[2] = {0};
    for (uint32_t j = 0; j < cut.primal->nout; j++)
        stacks[0] += tn_i_has_steps(cut.primal->val[cut.primal->out[j]].type);
    for (uint32_t j = 0; j < all.primal->nout; j++)
        stacks[1] += tn_i_has_steps(all.primal->val[all.primal->out[j]].type);
    assert_int_equal(stacks[0], 1);
    assert_true(stacks[1] >= 2);
    same_derivatives(f, tn_wrt(0, 1, 2), "min_bytes", 1e-13);
    tn_ctx_free(c);
}

/* b is what a was a step ago: under min_bytes the stack of a is there for both, one entry off. */
static void test_delay(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda y:f64[40] z:f64[40] . let\n"
                         "    a:f64[40] b:f64[40] = scan[program={ lambda a:f64[40] b:f64[40] . let\n"
                         "        d:f64[40] = mul a b\n"
                         "        e:f64[40] = tanh d\n"
                         "        g:f64[40] = add e a\n"
                         "      in (g, a) } length=9 num_consts=0 num_carry=2] y z\n" PRODUCT);
    const double least = residual_bytes(f, NULL, "min_bytes");
    assert_true(least < 2 * 9 * 40 * 8);
    same_derivatives(f, NULL, "min_bytes", 1e-12);
    tn_ctx_free(c);
}

/* The first step's k is no logarithm: that of the first y, which is 0, is never looked at. */
static void test_first_step(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda k:f64[] . let\n"
                         "    a:f64[] b:f64[] = scan[program={ lambda y:f64[] k:f64[] . let\n"
                         "        d:f64[] = mul k k\n"
                         "        e:f64[] = add y d\n"
                         "        g:f64[] = log e\n"
                         "      in (e, g) } length=4 num_consts=0 num_carry=2] 0.0:f64[] k\n"
                         "    s:f64[] = mul a b\n"
                         "  in (s,) }");
    assert_true(residual_bytes(f, NULL, "min_bytes") <= (4 + 2) * 8); /* y, a and b */
    same_derivatives(f, NULL, "min_bytes", 1e-12);                    /* finite, too */
    tn_ctx_free(c);
}

/* ---- schedules change no bit ------------------------------------------------------------------------ */

/* Loops that do without a stack, with a schedule: what enters a step is made of what the step before saved (the
 * network's h, a delay, a carry whose step hands on another one), or of what enters the step as well (a slope). */
static tn_fn *sparing(tn_ctx *c, int which, int length, const char *schedule) {
    char how[96] = "";
    const lstm m = {.steps = length, .batch = 2, .width = 3, .schedule = schedule};
    if (schedule) (void)snprintf(how, sizeof how, " schedule=\"%s\"", schedule);
    switch (which) {
    case 0: return lstm_traced(c, &m);
    case 1:
        return parsed(c,
                      "{ lambda y:f64[40] z:f64[40] . let\n"
                      "    a:f64[40] b:f64[40] = scan[program={ lambda a:f64[40] b:f64[40] . let\n"
                      "        d:f64[40] = mul a b\n"
                      "        e:f64[40] = tanh d\n"
                      "        g:f64[40] = add e a\n"
                      "      in (g, a) } length=%d num_consts=0 num_carry=2%s] y z\n" PRODUCT,
                      length, how);
    case 2: /* two stacks made by steps, in the other direction, with xs */
        return parsed(c,
                      "{ lambda w:f64[40] y:f64[40] z:f64[40] x:f64[%d,40] . let\n"
                      "    a:f64[40] b:f64[40] s:f64[%d,40] = scan[program={ lambda w:f64[40] y:f64[40] z:f64[40] "
                      "x:f64[40] . let\n"
                      "        d:f64[40] = mul y w\n"
                      "        e:f64[40] = add d x\n"
                      "        g:f64[40] = tanh e\n"
                      "        h:f64[40] = mul z y\n"
                      "        i:f64[40] = logistic h\n"
                      "        j:f64[40] = mul i g\n"
                      "        k:f64[40] = sin j\n"
                      "        l:f64[40] = mul k w\n"
                      "      in (l, i, k) } length=%d num_consts=1 num_carry=2 reverse=True%s] w y z x\n"
                      "    t:f64[40] = reduce_sum[axes=(0,)] s\n"
                      "    c:f64[40] = mul a b\n"
                      "    u:f64[40] = mul c t\n"
                      "    d:f64[] = reduce_sum[axes=(0,)] u\n"
                      "  in (d,) }",
                      length, length, length, how);
    default:
        return parsed(c,
                      "{ lambda y:f64[40] k:f64[40] w:f64[40] . let\n"
                      "    a:f64[40] b:f64[40] = scan[program={ lambda w:f64[40] y:f64[40] k:f64[40] . let\n" SLOPE
                      " length=%d num_consts=1 num_carry=2%s] w y k\n" PRODUCT,
                      length, how);
    }
}
enum { SPARING = 4, ORDERS = 6 };

/* Derivatives of the first three orders. */
static void derivatives(const tn_fn *f, const tn_policy *p, tn_fn *out[ORDERS]) {
    const tn_wrt_list *const wrt = tn_wrt(0, 1);
    out[0] = tn_grad(f, wrt, p);
    out[1] = tn_hvp(f, wrt, p);
    out[2] = tn_vjp(out[0], wrt, p);
    out[3] = tn_jvp(out[1], wrt);
    out[4] = tn_vjp(out[1], wrt, p);
    out[5] = tn_vjp(out[2], wrt, p);
}

static const char *const schedules[] = {NULL,      "all_save",   "revolve:2", "online:2",
                                        "mixed:2", "periodic:3", "nothing",   "auto"};
static const char *const policies[] = {"min_bytes", "min_cut", "balanced", "nothing_saveable", "everything_saveable"};

static void test_bits(void **state) {
    (void)state;
    const size_t some = SANITIZED ? 36 : (size_t)amount(3, 18);
    for (int which = 0; which < SPARING; which++)
        for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
            tn_ctx *c = checked();
            tn_fn *first[ORDERS], *now[ORDERS];
            derivatives(sparing(c, which, 7, NULL), tn_policy_by_name(policies[p]), first);
            for (size_t k = 1; k < sizeof schedules / sizeof *schedules; k++) {
                if (((size_t)which + p + k) % some) continue; /* of 3 every pair is met */
                derivatives(sparing(c, which, 7, schedules[k]), tn_policy_by_name(policies[p]), now);
                for (int order = 0; order < ORDERS; order++)
                    if (apart(first[order], now[order]) != 0)
                        fail_msg("loop %d, %s, %s: derivative %d has other bits", which, policies[p], schedules[k],
                                 order);
            }
            tn_ctx_free(c);
        }
}

static double peak_bytes(const tn_fn *f) {
    tn_cost_report k = {.size = sizeof k};
    if (!f) fail_msg("no program");
    assert_int_equal(tn_cost(f, &k), TN_OK);
    return k.peak_bytes;
}

/* What could be read from the stacks of the step before is no reason to keep them where a schedule does not. */
static void test_schedules_keep_their_bounds(void **state) {
    (void)state;
    enum { SHORT = 100, LONG = 800, ENTRY = 40 * 8 };
    for (int which = 1; which < SPARING; which++)
        for (int order = 0; order < 3; order++) {
            double bytes[3];
            for (int k = 0; k < 3; k++) {
                tn_ctx *c = tn_ctx_new(NULL);
                tn_fn *d[ORDERS];
                derivatives(sparing(c, which, k ? LONG : SHORT, k == 2 ? NULL : "revolve:3"),
                            tn_policy_by_name("min_bytes"), d);
                bytes[k] = peak_bytes(d[order]);
                tn_ctx_free(c);
            }
            const double inputs = which == 2 ? (LONG - SHORT) * 2 * ENTRY : 0; /* their cotangents */
            if (bytes[1] > bytes[0] + 2 * inputs || bytes[1] > bytes[2] / 2)
                fail_msg("loop %d, derivative %d: %g bytes, of a short loop %g, with all stacks %g", which, order,
                         bytes[1], bytes[0], bytes[2]);
        }
}

/* Programs of the third order can be read back: regions are numbers that a text may have. */
static void test_regions(void **state) {
    (void)state;
    for (int which = 1; which < SPARING; which++) {
        tn_ctx *c = tn_ctx_new(NULL);
        tn_fn *d[ORDERS];
        derivatives(sparing(c, which, 7, NULL), tn_policy_by_name("min_bytes"), d);
        for (int order = 0; order < ORDERS; order++) {
            size_t n;
            char *text = tn_fn_print(d[order], &n);
            assert_non_null(text);
            tn_fn *again = tn_fn_parse(c, text, n, "again");
            if (!again) fail_msg("%s", tn_error(c));
            assert_true(apart(d[order], again) == 0);
            tn_text_free(c, text);
        }
        tn_ctx_free(c);
    }
}

/* One value in two ways: with a schedule the kept one, else the one that is made; derivatives are those of the kept. */
static void test_either(void **state) {
    (void)state;
    static const double want[2] = {2, 3}; /* a sum of x and x, or of y: to tell them apart, they are not the same */
    for (int replayed = 0; replayed < 2; replayed++) {
        tn_ctx *c = checked();
        tn_fn *f = parsed(c,
                          "{ lambda x:f64[] y:f64[] . let\n"
                          "    a:f64[] = add x x\n"
                          "    b:f64[] = mul y 3.0:f64[]\n"
                          "    c:f64[] = either[replayed=%s] a b\n"
                          "  in (c,) }",
                          replayed ? "True" : "False");
        const double one = 1;
        double value, dx, dy;
        tn_exec *e = tn_compile(f, NULL);
        assert_int_equal(tn_call(e, (const void *const[]){&one, &one}, (void *const[]){&value}), TN_OK);
        assert_true(value == want[replayed]);
        tn_exec_free(e);
        e = tn_compile(tn_grad(f, tn_wrt(0, 1), NULL), NULL);
        assert_int_equal(tn_call(e, (const void *const[]){&one, &one}, (void *const[]){&dx, &dy}), TN_OK);
        assert_true(dx == 0 && dy == 3);
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

/* ---- failures ---------------------------------------------------------------------------------------- */

/* A gradient, compiled, and both halves: whether there was memory for all of it. */
static bool all_made(const tn_fn *f) {
    const tn_policy *const p = tn_policy_by_name("min_bytes");
    tn_fn *g = tn_grad(f, tn_wrt(0, 1), p);
    tn_exec *e = g ? tn_compile(g, NULL) : NULL;
    const tn_linearized l = e ? tn_linearize(f, tn_wrt(0, 1), p) : (tn_linearized){NULL, NULL};
    const bool ok = l.primal && l.linear;
    tn_fn_free(l.primal);
    tn_fn_free(l.linear);
    tn_exec_free(e);
    tn_fn_free(g);
    return ok;
}

static void test_failing_allocations(void **state) {
    (void)state;
    for (int which = 1; which < 3; which++) {
        meter m = {0};
        tn_ctx *c =
            tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .realloc = metered_realloc, .user = &m});
        tn_fn *f = sparing(c, which, 5, which == 1 ? "revolve:2" : NULL);
        assert_true(all_made(f)); /* interned strings and types stay */
        const size_t before = m.living;
        for (size_t at = 1;; at += 1 + at / ((size_t)(SANITIZED ? 3 : amount(40, 12)))) {
            m.fail_at = m.calls + at;
            const bool ok = all_made(f);
            m.fail_at = 0;
            if (ok) break;
            assert_int_equal(tn_last_status(c), TN_ENOMEM);
            assert_int_equal(m.living, before);
        }
        tn_fn_free(f);
        tn_ctx_free(c);
        assert_int_equal(m.living, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lstm_bytes),
                                       cmocka_unit_test(test_lstm_values),
                                       cmocka_unit_test(test_slope),
                                       cmocka_unit_test(test_slope_of_while),
                                       cmocka_unit_test(test_default),
                                       cmocka_unit_test(test_delay),
                                       cmocka_unit_test(test_first_step),
                                       cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_schedules_keep_their_bounds),
                                       cmocka_unit_test(test_regions),
                                       cmocka_unit_test(test_either),
                                       cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
