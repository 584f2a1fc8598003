/* Policies by rule, and regions with a policy of their own. */
#include "ir/ir.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

static tn_ctx *checked(void) {
    tn_ctx_options o = {.size = sizeof o, .check = 1};
    return tn_ctx_new(&o);
}

static void assert_made(tn_ctx *c, const void *p) {
    if (!p) fail_msg("%s", tn_error(c));
}

/* x[4], w[4,4], v[2,4,4]: two plain products, one batched, names on two values. */
static tn_val layers(const tn_val *in, void *user) {
    (void)user;
    tn_val a = tn_checkpoint_name(tn_sin(tn_matmul(in[1], in[0])), "first");
    tn_val b = tn_checkpoint_name(tn_sin(tn_matmul(in[1], a)), "second");
    tn_val c = tn_matmul(tn_mul(in[2], tn_at(b, 0)), in[2]);
    return tn_sum(tn_mul(tn_sin(c), tn_sin(c)));
}

/* Residuals other than inputs. */
static uint32_t residuals(tn_ctx *c, const tn_fn *f, const char *policy) {
    const tn_policy p = {.size = sizeof p, .name = policy};
    tn_linearized l = tn_linearize(f, NULL, &p);
    assert_made(c, l.linear);
    uint32_t n = 0;
    for (uint32_t j = f->nout; j < l.primal->nout; j++) n += l.primal->out[j] >= l.primal->nin;
    return n;
}

static uint32_t count(const tn_fn *f, const char *prim) {
    uint32_t n = 0;
    size_t length;
    char *text = tn_fn_print(f, &length);
    for (const char *at = text; (at = strstr(at, prim)) != NULL; at += strlen(prim)) n++;
    tn_text_free(f->ctx, text);
    return n;
}

static tn_fn *traced_layers(tn_ctx *c) {
    tn_fn *f = tn_trace(c, layers, NULL, 3, (tn_type[]){tn_f64(4), tn_f64(4, 4), tn_f64(2, 2, 2)});
    assert_made(c, f);
    return f;
}

static void rules_save_what_they_say(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced_layers(c);
    assert_int_equal(residuals(c, f, "nothing_saveable"), 0);
    assert_int_equal(residuals(c, f, "dots_saveable"), 3);
    assert_int_equal(residuals(c, f, "dots_with_no_batch_dims_saveable"), 2);
    assert_int_equal(residuals(c, f, "save_only_these_names:first"), 1);
    assert_int_equal(residuals(c, f, "save_only_these_names:first,second"), 2);
    assert_int_equal(residuals(c, f, "save_only_these_names:firs,seconds"), 0);
    assert_int_equal(residuals(c, f, "save_any_names_but_these:first"), 1);
    assert_int_equal(residuals(c, f, "save_from_either_policy:save_only_these_names:second|dots_saveable"), 4);
    assert_int_equal(residuals(c, f, "save_from_both_policies:save_only_these_names:second|dots_saveable"), 4);
    assert_true(residuals(c, f, "everything_saveable") >= residuals(c, f, "save_anything_except_these_names:first"));
    assert_true(residuals(c, f, "save_anything_except_these_names:first") > 3);
    tn_ctx_free(c);
}

static void unknown_policies_are_refused(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced_layers(c);
    static const char *const bad[] = {"",
                                      "dots",
                                      "save_only_these_names",
                                      "dots_saveable:x",
                                      "save_from_either_policy:dots_saveable",
                                      "save_from_either_policy:dots_saveable|nope",
                                      "save_from_either_policy:|",
                                      "save_from_either_policy:save_from_either_policy:a|b|dots_saveable"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const tn_policy p = {.size = sizeof p, .name = bad[i]};
        assert_null(tn_grad(f, NULL, &p));
        assert_int_equal(tn_last_status(c), TN_EINVAL);
    }
    tn_ctx_free(c);
}

static void gradient(tn_ctx *c, const tn_fn *f, const tn_policy *p, double *x, double *w, double *v, double *gx,
                     double *gw) {
    tn_exec *e = tn_compile(tn_grad(f, tn_wrt(0, 1), p), NULL);
    assert_made(c, e);
    assert_int_equal(tn_call(e, (const void *[]){x, w, v}, (void *[]){gx, gw}), TN_OK);
    tn_exec_free(e);
}

static void every_policy_has_the_same_gradient(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = traced_layers(c);
    double x[4], w[16], v[8], want[20], got[20];
    for (int i = 0; i < 16; i++) w[i] = sin(i), x[i % 4] = cos(i), v[i % 8] = 0.3 * i - 1;
    gradient(c, f, NULL, x, w, v, want, want + 4);
    static const char *const all[] = {"nothing_saveable",
                                      "dots_saveable",
                                      "checkpoint_dots",
                                      "dots_with_no_batch_dims_saveable",
                                      "save_only_these_names:first",
                                      "save_any_names_but_these:second",
                                      "save_anything_except_these_names:first",
                                      "save_from_either_policy:dots_saveable|save_only_these_names:second"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const tn_policy p = {.size = sizeof p, .name = all[i]};
        gradient(c, f, &p, x, w, v, got, got + 4);
        assert_memory_equal(got, want, sizeof got); /* the same operations in the same order */
    }
    tn_ctx_free(c);
}

/* ---- regions -------------------------------------------------------------------------------- */

static tn_val deep(const tn_val *in, void *user) {
    (void)user;
    return tn_exp(tn_sin(tn_exp(tn_sin(in[0]))));
}

static tn_val with_region(const tn_val *in, void *user) {
    tn_val y = in[0];
    for (int i = 0; i < 6; i++) y = user ? tn_checkpoint(deep, NULL, NULL, 1, &y) : deep(&y, NULL);
    return tn_sum(tn_mul(y, in[0]));
}

static tn_fn *traced_region(tn_ctx *c, bool region) {
    int yes = 1;
    tn_fn *f = tn_trace(c, with_region, region ? &yes : NULL, 1, (tn_type[]){tn_f64(16)});
    assert_made(c, f);
    return f;
}

static double peak(const tn_fn *f) {
    tn_cost_report r = {.size = sizeof r};
    assert_int_equal(tn_cost(f, &r), TN_OK);
    return r.peak_bytes;
}

static void regions_recompute(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *plain = traced_region(c, false), *region = traced_region(c, true);
    assert_true(residuals(c, plain, "everything_saveable") >= 24);
    assert_true(residuals(c, region, "everything_saveable") <= 6); /* what enters a region, and y for the product */
    tn_fn *g = tn_grad(region, NULL, NULL), *h = tn_grad(plain, NULL, NULL);
    assert_made(c, g);
    assert_true(peak(g) < peak(h));
    double x[16];
    for (int i = 0; i < 16; i++) x[i] = 0.01 * i;
    if (tn_check_grads(region, (const void *[]){x}, NULL, NULL) != TN_OK) fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

/* Where each product is rounded, in bits.  Contracted a region may be another program: its last product is in it, and
 * the sum of cotangents behind it is not, so that no fma joins them.  Then equal but for that rounding. */
static void regions_have_the_same_gradient(void **state) {
    (void)state;
    for (int contract = -1; contract <= 0; contract++) {
        tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1, .contract = contract});
        assert_non_null(c);
        tn_fn *const f[] = {traced_region(c, false), traced_region(c, true)};
        double x[16], y[2][16];
        for (int i = 0; i < 16; i++) x[i] = 0.01 * i;
        for (int k = 0; k < 2; k++) {
            tn_exec *e = tn_compile(tn_grad(f[k], NULL, NULL), NULL);
            assert_non_null(e);
            assert_int_equal(tn_call(e, (const void *[]){x}, (void *[]){y[k]}), TN_OK);
        }
        for (int i = 0; i < 16 && contract == 0; i++)
            assert_true(fabs(y[1][i] - y[0][i]) <= 2 * DBL_EPSILON * fabs(y[0][i]));
        if (contract < 0) assert_memory_equal(y[0], y[1], sizeof *y);
        tn_ctx_free(c);
    }
}

/* Through jvp, vjp of vjp and the text form a region stays one, and its memory with it. */
static void regions_keep_their_meaning(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *region = traced_region(c, true), *g = tn_grad(region, NULL, NULL);
    tn_fn *hvp = tn_hvp(region, NULL, NULL), *gg = tn_vjp(g, NULL, NULL),
          *plain = tn_vjp(tn_grad(traced_region(c, false), NULL, NULL), NULL, NULL);
    assert_made(c, hvp);
    assert_made(c, gg);
    assert_true(count(g, "checkpoint[") >= 2 && count(hvp, "checkpoint[") >= 2 && count(gg, "checkpoint[") >= 2);
    assert_true(peak(gg) < peak(plain));
    const tn_fn *all[] = {region, g, hvp, gg};
    for (size_t i = 0; i < 4; i++) {
        size_t n;
        char *text = tn_fn_print(all[i], &n);
        tn_fn *again = tn_fn_parse(c, text, n, "again.tn");
        assert_made(c, again);
        assert_true(peak(again) == peak(all[i]));
        tn_fn *da = tn_vjp(again, NULL, NULL), *db = tn_vjp(all[i], NULL, NULL);
        assert_made(c, da);
        assert_true(peak(da) == peak(db));
        tn_text_free(c, text);
    }
    tn_ctx_free(c);
}

static tn_verdict never(void *user, const tn_candidate *v) {
    (void)user, (void)v;
    return TN_RECOMPUTE;
}
static tn_val with_callback(const tn_val *in, void *user) {
    (void)user;
    return tn_checkpoint(deep, (&(const tn_policy){.size = sizeof(tn_policy), .callback = never}), NULL, 1, in);
}

static double residual_bytes(const tn_fn *f, const char *policy) {
    const tn_policy p = {.size = sizeof p, .name = policy};
    tn_residuals *r = tn_saved_residuals(f, NULL, &p);
    assert_made(f->ctx, r);
    tn_residual_totals t = {.size = sizeof t};
    assert_int_equal(tn_residuals_total(r, &t), TN_OK);
    tn_residuals_free(r);
    return t.residual_bytes;
}

/* One head of attention over 128 positions, with the residual connection: x, wq, wk, wv, wo. */
static tn_val attention(const tn_val *in, void *user) {
    (void)user;
    tn_val q = tn_matmul(in[0], in[1]), k = tn_matmul(in[0], in[2]), v = tn_matmul(in[0], in[3]);
    tn_val t = tn_mul(tn_matmul(q, tn_matrix_transpose(k)), 0.17677669f);
    tn_val most = tn_stop_gradient(tn_max_axis(t, 1, TN_KEEPDIMS));
    tn_val e = tn_exp(tn_sub(t, most));
    tn_val a = tn_div(e, tn_sum_axis(e, 1, TN_KEEPDIMS));
    tn_val d = tn_add(tn_matmul(tn_matmul(a, v), in[4]), in[0]);
    return tn_sum(tn_square(d));
}

/* The quotient and what it is made of are enough for its derivative: JAX 0.10 keeps as much (print_saved_residuals of
 * the same equations: three products of 16,384 bytes, exp and div of 65,536, one more product, the sums and their
 * squares' reciprocals, and what is squared). */
static void a_quotient_is_kept_once(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, attention, NULL,
                        TN_ARGS(tn_f32(128, 64), tn_f32(64, 32), tn_f32(64, 32), tn_f32(64, 32), tn_f32(32, 64)));
    assert_made(c, f);
    assert_true(residual_bytes(f, "everything_saveable") <= 4 * 16384 + 2 * 65536 + 2 * 512 + 32768);
    tn_ctx_free(c);
}

enum { CHEAP = 9 };
static tn_val cheap(int kind, tn_val a, tn_val v) {
    switch (kind) {
    case 0: return tn_square(a);
    case 1: return tn_integer_pow(a, 3);
    case 2: return tn_square(tn_mul(a, v));
    case 3: return tn_mul(tn_mul(a, a), a);
    case 4: return tn_mul(tn_add(tn_mul(a, 0.5), 1), a);
    case 5: return tn_square(tn_square(a));
    case 6: return tn_mul(tn_mul(tn_neg(a), a), v);
    case 7: return tn_sub(tn_mul(a, tn_square(a)), a);
    default: return tn_square(tn_mul(tn_add(tn_square(a), 1), a));
    }
}

/* Three layers of a product and cheap functions of it: x, three matrices and a vector. */
static tn_val cheap_layers(const tn_val *in, void *user) {
    tn_val y = in[0];
    for (int i = 1; i <= 3; i++) y = cheap(*(const int *)user, tn_matmul(y, in[i]), in[4]);
    return tn_sum(y);
}

static void cheap_functions_are_not_kept_beside_products(void **state) {
    (void)state;
    tn_ctx *c = checked();
    for (int n = 64; n <= 128; n *= 2)
        for (int kind = 0; kind < CHEAP; kind++) {
            const tn_type m = tn_f64(n, n);
            tn_fn *f = tn_trace(c, cheap_layers, &kind, TN_ARGS(m, m, m, m, tn_f64(n)));
            assert_made(c, f);
            const double products = 3.0 * n * n * sizeof(double);
            if (residual_bytes(f, "balanced") > products || residual_bytes(f, "min_cut") > products)
                fail_msg("function %d, n = %d: balanced keeps %g bytes, the products are %g", kind, n,
                         residual_bytes(f, "balanced"), products);
            tn_fn_free(f);
        }
    tn_ctx_free(c);
}

static void regions_want_a_named_policy(void **state) {
    (void)state;
    tn_ctx *c = checked();
    assert_null(tn_trace(c, with_callback, NULL, 1, (tn_type[]){tn_f64()}));
    assert_non_null(strstr(tn_error(c), "policies.c:"));
    assert_non_null(strstr(tn_error(c), "callback"));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_save_what_they_say),
        cmocka_unit_test(unknown_policies_are_refused),
        cmocka_unit_test(every_policy_has_the_same_gradient),
        cmocka_unit_test(regions_recompute),
        cmocka_unit_test(regions_have_the_same_gradient),
        cmocka_unit_test(regions_keep_their_meaning),
        cmocka_unit_test(regions_want_a_named_policy),
        cmocka_unit_test(a_quotient_is_kept_once),
        cmocka_unit_test(cheap_functions_are_not_kept_beside_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
