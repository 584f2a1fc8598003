/* First-order optimizers: optax's numbers (record_optim.py), whole steps, what is refused. */
#include <tansy/optim.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "optim_table.h"

enum { CASES = sizeof optim_table / sizeof optim_table[0], UPDATES = 12 };

static void assert_made(tn_ctx *c, const void *p) {
    if (!p) fail_msg("%s", tn_error(c));
}

static const struct {
    const char *name;
    tn_optim o;
} rules[] = {
    {"sgd", {.rate = {.value = 0.1}}},
    {"momentum", {.rate = {.value = 0.1}, .momentum = 0.9}},
    {"nesterov", {.rate = {.value = 0.1}, .momentum = 0.8, .nesterov = 1}},
    {"adam", {.rule = TN_ADAM, .rate = {.value = 0.1}}},
    {"adam_other", {.rule = TN_ADAM, .rate = {.value = 0.05}, .b1 = 0.7, .b2 = 0.99, .eps = 1e-3}},
    {"adamw", {.rule = TN_ADAMW, .rate = {.value = 0.1}}},
    {"adamw_more", {.rule = TN_ADAMW, .rate = {.value = 0.1}, .weight_decay = 0.01}},
    {"clipped", {.rule = TN_ADAM, .rate = {.value = 0.1}, .clip = 2}},
    {"clipped_sgd", {.rate = {.value = 0.1}, .momentum = 0.9, .clip = 0.5}},
    {"cosine",
     {.rate = {.kind = TN_RATE_COSINE, .value = 0.1, .end = 0.02, .steps = 6, .warmup = 4, .warmup_from = 0.01}}},
    {"linear", {.rate = {.kind = TN_RATE_LINEAR, .value = 0.1, .end = 0.02, .steps = 8}}},
    {"exponential", {.rule = TN_ADAM, .rate = {.kind = TN_RATE_EXPONENTIAL, .value = 0.1, .decay = 0.7, .steps = 5}}},
    {"bounded", {.rate = {.kind = TN_RATE_EXPONENTIAL, .value = 0.1, .end = 0.03, .decay = 0.3, .steps = 5}}},
    {"warm_exponential", {.rate = {.kind = TN_RATE_EXPONENTIAL, .value = 0.1, .decay = 0.7, .steps = 5, .warmup = 3}}},
};

static tn_optim rule_of(const char *name) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].name, name) == 0) {
            tn_optim o = rules[i].o;
            o.size = sizeof o;
            return o;
        }
    fail_msg("no rule %s", name);
    return (tn_optim){0};
}

/* ---- optax ---------------------------------------------------------------------------------- */

/* w, b, gradients of both, state.. -> w, b, state.. */
static void update(const tn_val *in, tn_val *out, void *user) {
    tn_optim_update(user, 2, in, in + 2, in + 4, out, out + 2);
}

/* The largest difference from optax's numbers, relative to 1 or the number. */
static double differs(const char *name, tn_dtype dtype, const double (*want)[8]) {
    tn_optim o = rule_of(name);
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    tn_type in[4 + TN_OPTIM_STATES(2)] = {tn_type_of(dtype, 2, (const int64_t[]){3, 2}),
                                          tn_type_of(dtype, 1, (const int64_t[]){2})};
    in[2] = in[0], in[3] = in[1];
    const size_t states = tn_optim_state(&o, 2, in, in + 4);
    tn_fn *f = tn_trace_many(c, update, &o, 4 + states, in, 2 + states);
    assert_made(c, f);
    tn_exec *e = tn_compile(f, NULL);
    assert_made(c, e);
    union {
        double d[8];
        float f[8];
        int64_t i;
    } at[2][TN_OPTIM_STATES(2) + 2] = {0}, g[2];
    const size_t n = 2 + states;
    double worst = 0;
    for (int i = 0; i < 8; i++) {
        const double start = i < 6 ? i / 4.0 - 0.5 : i == 6 ? 0.5 : -0.25;
        if (dtype == TN_F64)
            at[0][i >= 6].d[i % 6] = start;
        else
            at[0][i >= 6].f[i % 6] = (float)start;
    }
    for (int k = 0; k < UPDATES; k++) {
        const void *from[TN_OPTIM_STATES(2) + 4] = {at[k % 2][0].d, at[k % 2][1].d, g[0].d, g[1].d};
        void *to[TN_OPTIM_STATES(2) + 2];
        for (int i = 0; i < 8; i++) {
            const double x = ((k * 7 + i * 13) % 11 - 5) / 4.0;
            if (dtype == TN_F64)
                g[i >= 6].d[i % 6] = x;
            else
                g[i >= 6].f[i % 6] = (float)x;
        }
        for (size_t j = 0; j < states; j++) from[4 + j] = at[k % 2][2 + j].d;
        for (size_t j = 0; j < n; j++) to[j] = at[(k + 1) % 2][j].d;
        assert_int_equal(tn_call(e, from, to), TN_OK);
        for (int i = 0; i < 8; i++) {
            const double x =
                dtype == TN_F64 ? at[(k + 1) % 2][i >= 6].d[i % 6] : (double)at[(k + 1) % 2][i >= 6].f[i % 6];
            worst = fmax(worst, fabs(x - want[k][i]) / fmax(1, fabs(want[k][i])));
        }
        assert_int_equal(at[(k + 1) % 2][2].i, k + 1);
    }
    tn_ctx_free(c);
    return worst;
}

static void optax(void **state) {
    (void)state;
    assert_int_equal(sizeof rules / sizeof rules[0], CASES);
    for (int i = 0; i < CASES; i++) {
        const double in_f64 = differs(optim_table[i].name, TN_F64, optim_table[i].f64),
                     in_f32 = differs(optim_table[i].name, TN_F32, optim_table[i].f32);
        printf("%-16s f64 %.2g, f32 %.2g\n", optim_table[i].name, in_f64, in_f32);
        if (!(in_f64 <= 4 * 0x1p-52) || !(in_f32 <= 4 * 0x1p-23)) fail_msg("%s is not optax's", optim_table[i].name);
    }
}

/* ---- whole steps ----------------------------------------------------------------------------- */

/* (w, n, x, y) -> (loss, what is predicted): n is no parameter */
static void fit(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[1] = tn_add(tn_matmul(in[2], in[0]), tn_convert(in[1], TN_F64));
    out[0] = tn_mean(tn_square(tn_sub(out[1], in[3])));
}

static void whole_step(void **state) {
    (void)state;
    const double x[4][2] = {{1, 2}, {0.5, -1}, {-2, 0.3}, {1.5, 1}}, truth[2] = {0.7, -1.2};
    double y[4], w[2] = {0}, m[2] = {0}, v[2] = {0}, loss = 0, rate;
    int64_t count = 0;
    const int32_t shift = 1;
    for (int i = 0; i < 4; i++) y[i] = x[i][0] * truth[0] + x[i][1] * truth[1] + shift;
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    tn_fn *f = tn_trace_many(c, fit, NULL, TN_ARGS(tn_f64(2), tn_i32(), tn_f64(4, 2), tn_f64(4)), 2);
    const tn_val mine = {0};
    tn_optim o = {.size = sizeof o, .rule = TN_ADAM, .rate = {.traced = &mine}, .clip = 10};
    tn_fn *s = tn_optim_step(f, tn_wrt(0), &o, NULL);
    assert_made(c, s);
    assert_int_equal(tn_fn_inputs(s), 4 + 3 + 1);
    assert_int_equal(tn_fn_outputs(s), 2 + 1 + 3);
    const int alias[] = {-1, -1, 0, 4, 5, 6}; /* in place */
    tn_exec *e = tn_compile(s, &(tn_compile_options){.size = sizeof(tn_compile_options), .alias = alias});
    assert_made(c, e);
    for (int k = 0; k < 800; k++) {
        rate = 0.1 * pow(0.99, k);
        assert_int_equal(
            tn_call(e, TN_INPUTS(w, &shift, x, y, &count, m, v, &rate), TN_OUTPUTS(&loss, NULL, w, &count, m, v)),
            TN_OK);
    }
    assert_int_equal(count, 800);
    assert_true(loss < 1e-6 && fabs(w[0] - truth[0]) < 1e-3 && fabs(w[1] - truth[1]) < 1e-3);
    assert_made(
        c, tn_optim_step(f, NULL, &(tn_optim){.size = sizeof(tn_optim), .rate = {.value = 1}}, NULL)); /* w, x, y */
    tn_ctx_free(c);
}

static tn_val rates(const tn_val *in, void *user) { return tn_optim_rate(user, in[0]); }

static void rates_alone(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_rate r = {.kind = TN_RATE_COSINE, .value = 0.1, .steps = 10, .warmup = 5};
    tn_exec *e = tn_compile(tn_trace(c, rates, (void *)(uintptr_t)&r, TN_ARGS(tn_i64())), NULL);
    assert_made(c, e);
    double before = -1;
    for (int64_t k = 0; k < 20; k++) {
        double rate;
        assert_int_equal(tn_call(e, TN_INPUTS(&k), TN_OUTPUTS(&rate)), TN_OK);
        assert_true(k == 0 ? rate == 0 : k <= 5 ? rate > before : k <= 15 ? rate < before : rate == before);
        before = rate;
    }
    assert_true(before >= 0 && before < 1e-16);
    tn_ctx_free(c);
}

/* ---- what is refused --------------------------------------------------------------------------- */

static void refused(void **state) {
    (void)state;
    static const struct {
        tn_optim o;
        const char *text;
    } list[] = {
        {{.size = 0}, "size"},
        {{.size = sizeof(tn_optim), .rule = 3, .rate = {.value = 1}}, "the rule is none"},
        {{.size = sizeof(tn_optim)}, "the rate's value is not above 0"},
        {{.size = sizeof(tn_optim), .rate = {.value = NAN}}, "the rate's value is not above 0"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1, .kind = 9}}, "kind"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1, .kind = TN_RATE_COSINE}}, "steps are not above 0"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1, .kind = TN_RATE_EXPONENTIAL, .steps = 1}}, "decay"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1, .warmup = -1}}, "warmup is negative"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1}, .momentum = 1}, "momentum is not in"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1}, .nesterov = 1}, "nesterov needs"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1}, .b1 = 0.5}, "are Adam's"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1}, .rule = TN_ADAM, .momentum = 0.5}, "Adam has b1"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1}, .rule = TN_ADAM, .b2 = 1}, "b1 or b2"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1}, .rule = TN_ADAM, .eps = -1}, "eps"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1}, .rule = TN_ADAM, .weight_decay = 1}, "TN_ADAMW's"},
        {{.size = sizeof(tn_optim), .rate = {.value = 1}, .clip = INFINITY}, "clip"},
    };
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace_many(c, fit, NULL, TN_ARGS(tn_f64(2), tn_i32(), tn_f64(4, 2), tn_f64(4)), 2);
    tn_type in[4 + TN_OPTIM_STATES(2)] = {tn_f64(2), tn_f64(2), tn_f64(2), tn_f64(2), tn_i64()};
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        tn_optim o = list[i].o;
        assert_null(tn_trace_many(c, update, &o, 4 + TN_OPTIM_STATES(2), in, 2 + TN_OPTIM_STATES(2)));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
        if (!strstr(tn_error(c), list[i].text) || !strstr(tn_error(c), "optim.c:"))
            fail_msg("%s: %s", list[i].text, tn_error(c));
        assert_null(tn_optim_step(f, tn_wrt(0), &o, NULL));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
    }
    tn_optim o = {.size = sizeof o, .rule = TN_ADAM, .rate = {.value = 1}};
    for (size_t k = 0; k < 4; k++) in[5 + k] = tn_f64(2);
    in[2] = tn_f64(3);
    assert_null(tn_trace_many(c, update, &o, 4 + TN_OPTIM_STATES(2), in, 2 + TN_OPTIM_STATES(2)));
    assert_int_equal(tn_last_status(c), TN_ETYPE);
    in[2] = tn_f64(2), in[8] = tn_f32(2);
    assert_null(tn_trace_many(c, update, &o, 4 + TN_OPTIM_STATES(2), in, 2 + TN_OPTIM_STATES(2)));
    assert_non_null(strstr(tn_error(c), "a moment of the state"));
    assert_null(tn_optim_step(f, tn_wrt(1), &o, NULL)); /* i32 */
    assert_null(tn_optim_step(f, tn_wrt(0), NULL, NULL));
    assert_null(tn_optim_step(NULL, tn_wrt(0), &o, NULL));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optax),
        cmocka_unit_test(whole_step),
        cmocka_unit_test(rates_alone),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
