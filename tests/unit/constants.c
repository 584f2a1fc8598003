/* What is not differentiated costs nothing, and what is read in parts costs the parts: counts of equations, products,
 * bytes and copies.  Under every policy named here; a policy that recomputes may recompute products, and says so. */
#include "exec/exec.h"
#include "prims/ids.h"
#include "tracing.h"
#include "amount.h"
#include "sanitized.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const policies[] = {"everything_saveable", "nothing_saveable", "min_cut"};
enum { EVERYTHING, NOTHING, MIN_CUT };

static tn_policy policy(size_t k) { return (tn_policy){.size = sizeof(tn_policy), .name = policies[k]}; }

static tn_fn *made(tn_ctx *c, tn_fn *f) {
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_cost_report cost(const tn_fn *f) {
    tn_cost_report r = {.size = sizeof r};
    assert_non_null(f);
    assert_int_equal(tn_cost(f, &r), TN_OK);
    return r;
}

static size_t count(const tn_fn *f, const char *primitive) {
    size_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) n += strcmp(f->eqn[i].prim->name, primitive) == 0;
    return n;
}

/* ---- constants ------------------------------------------------------------------------------ */

/* p -> c[0] * p and p -> dot(c, e1) * p, c an input or captured. */
typedef struct big {
    const double *c, *e1; /* captured, or NULL: inputs 1 and 2 */
    int64_t n;
    bool dot;
} big;

static tn_val with_big(const tn_val *in, void *user) {
    const big *k = user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val x = k->c ? tn_constant(c, tn_f64(k->n), k->c) : in[1];
    if (!k->dot) return tn_mul(tn_at(x, 0), in[0]);
    return tn_mul(tn_dot(x, k->e1 ? tn_constant(c, tn_f64(k->n), k->e1) : in[2]), in[0]);
}

/* Bytes of the workspace that a call writes: it is filled with two patterns in turn, so that no byte
 * written is missed because it has the pattern's value. */
static size_t touched(const tn_fn *f, const void *const *in, void *const *out) {
    tn_exec *e = tn_compile(f, NULL);
    assert_non_null(e);
    const size_t n = tn_work_bytes(e), arena = tn_exec_bytes(e);
    unsigned char *memory = malloc(n), *hit = calloc(arena + 1, 1);
    assert_true(memory && hit);
    size_t sum = 0;
    for (int k = 0; k < 2; k++) {
        const int pattern = k ? 0x5A : 0xA5;
        memset(memory, pattern, n);
        tn_work *w = tn_work_new(e, memory, n);
        assert_non_null(w);
        assert_int_equal(tn_call_in(e, w, in, out), TN_OK);
        for (size_t i = 0; i < arena; i++) hit[i] |= w->arena[i] != pattern;
        tn_work_free(w);
    }
    for (size_t i = 0; i < arena; i++) sum += hit[i];
    free(memory);
    free(hit);
    tn_exec_free(e);
    return sum;
}

typedef struct figures {
    size_t equations, arena, touched;
    double bytes, flops;
} figures;

static figures pullback(int64_t n, bool dot, bool captured, size_t k) {
    tn_ctx *c = checked();
    double *x = calloc((size_t)n, sizeof *x), *e1 = calloc((size_t)n, sizeof *e1), got = 0, ct = 2;
    assert_true(x && e1);
    x[0] = 3;
    e1[0] = 1;
    big what = {.c = captured ? x : NULL, .e1 = captured ? e1 : NULL, .n = n, .dot = dot};
    const tn_policy how = policy(k);
    tn_fn *f = made(c, tn_trace(c, with_big, &what,
                                captured ? 1
                                : dot    ? 3
                                         : 2,
                                TN_TYPES(tn_f64(), tn_f64(n), tn_f64(n))));
    tn_linearized l = tn_linearize(f, tn_wrt(0), &how);
    tn_fn *back = made(c, tn_transpose(made(c, l.linear)));
    const tn_cost_report r = cost(back);
    double residual = 3; /* or c itself, when the policy reads c[0] again */
    const size_t nin = tn_fn_inputs(back);
    assert_in_range(nin, 1, 2);
    const tn_type t = tn_fn_input_type(back, 0);
    const void *first = nin == 1 ? (const void *)&ct : tn_type_elements(&t) > 1 ? (const void *)x : &residual;
    const figures z = {.equations = tn_fn_equations(back),
                       .bytes = r.bytes,
                       .flops = r.flops,
                       .arena = (size_t)r.peak_bytes,
                       .touched = touched(back, TN_RAW_INPUTS(first, &ct), TN_RAW_OUTPUTS(&got))};
    close_to(&got, P(6), 1, 0);
    free(x);
    free(e1);
    tn_ctx_free(c);
    return z;
}

static void test_constants_cost_nothing(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT(policies); k++)
        for (int dot = 0; dot < 2; dot++)
            for (int captured = 0; captured < 2; captured++) {
                if (dot && k == NOTHING) continue; /* it asks for the product once more */
                const figures small = pullback(1000, dot, captured, k);
                if (small.equations > 4 || small.bytes > 64 || small.flops > 1)
                    fail_msg("%s, %d %d: %zu equations, %g bytes, %g flops", policies[k], dot, captured,
                             small.equations, small.bytes, small.flops);
                for (int64_t n = 10000; n <= 1000000; n *= 10) {
                    const figures z = pullback(n, dot, captured, k);
                    assert_int_equal(z.equations, small.equations);
                    assert_int_equal(z.arena, small.arena);
                    assert_int_equal(z.touched, small.touched);
                    assert_true(z.bytes == small.bytes && z.flops == small.flops);
                }
            }
}

/* The whole gradient too, where c[0] is all that is read. */
static void test_gradient_beside_a_constant(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double bytes = 0;
    for (int64_t n = 1000; n <= 1000000; n *= 10) {
        big what = {.n = n};
        tn_fn *f = made(c, tn_trace(c, with_big, &what, 2, TN_TYPES(tn_f64(), tn_f64(n))));
        const tn_cost_report r = cost(tn_grad(f, tn_wrt(0), NULL));
        assert_true(r.bytes <= 64 && r.flops == 0 && r.peak_bytes == 0);
        if (bytes != 0) assert_true(r.bytes == bytes);
        bytes = r.bytes;
    }
    tn_ctx_free(c);
}

/* ---- activity --------------------------------------------------------------------------------- */

static tn_val product_loss(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_square(tn_matmul(in[0], in[1])));
}

static void test_products(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, product_loss, NULL, 2, TN_TYPES(tn_f64(16, 8), tn_f64(8, 4))));
    assert_int_equal(count(f, "dot_general"), 1);
    for (size_t k = 0; k < COUNT(policies); k++) {
        const tn_policy how = policy(k);
        assert_int_equal(count(tn_grad(f, tn_wrt(1), &how), "dot_general"), 2);
        assert_int_equal(count(tn_grad(f, NULL, &how), "dot_general"), 3);
        if (k == NOTHING) continue;
        tn_linearized l = tn_linearize(f, tn_wrt(1), &how);
        assert_int_equal(count(tn_transpose(l.linear), "dot_general"), 1);
        assert_int_equal(count(tn_value_and_grad(f, tn_wrt(1), &how), "dot_general"), 2);
        assert_int_equal(count(tn_value_and_grad(f, NULL, &how), "dot_general"), 3);
    }
    tn_ctx_free(c);
}

static tn_val mlp(const tn_val *p, size_t layers, tn_val x) {
    for (size_t i = 0; i < layers; i++) {
        x = tn_add(tn_matmul(x, p[2 * i]), p[2 * i + 1]);
        if (i + 1 < layers) x = tn_tanh(x);
    }
    return x;
}

/* in: G's weights and biases, D's, then z. */
static tn_val gan(const tn_val *in, void *user) {
    (void)user;
    return tn_mean(tn_softplus(tn_neg(mlp(in + 6, 3, mlp(in, 3, in[12])))));
}

static void test_gan(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, gan, NULL, 13,
                                TN_TYPES(tn_f32(64, 128), tn_f32(128), tn_f32(128, 128), tn_f32(128), tn_f32(128, 256),
                                         tn_f32(256), tn_f32(256, 256), tn_f32(256), tn_f32(256, 128), tn_f32(128),
                                         tn_f32(128, 1), tn_f32(1), tn_f32(128, 64))));
    assert_int_equal(count(f, "dot_general"), 6);
    for (size_t k = 0; k < COUNT(policies); k++) {
        if (k == NOTHING) continue;
        const tn_policy how = policy(k);
        tn_fn *g = made(c, tn_grad(f, tn_wrt(0, 1, 2, 3, 4, 5), &how));
        tn_fn *both = made(c, tn_grad(f, tn_wrt(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), &how));
        assert_int_equal(count(g, "dot_general"), 14);
        assert_int_equal(count(both, "dot_general"), 17);
        /* none has the shape of a discriminator's weights, 256 x 256 or 256 x 128 transposed or not */
        for (uint32_t i = 0; i < g->neqn; i++) {
            const tn_i_eqn *e = &g->eqn[i];
            const tn_type *t = g->val[e->out].type;
            if (e->prim->id != TN_P_dot_general) continue;
            for (int j = 6; j < 10; j += 2) assert_false(tn_type_equal(t, f->val[j].type));
        }
    }
    tn_ctx_free(c);
}

/* sum(c0 + c1 x + ... + c9 x^9), by Horner's rule or by powers. */
static tn_val polynomial(const tn_val *in, void *user) {
    const bool horner = *(const bool *)user;
    tn_val x = in[10], sum = horner ? in[9] : tn_add(in[0], tn_mul(in[1], x));
    for (int i = 8; i >= 0 && horner; i--) sum = tn_add(in[i], tn_mul(sum, x));
    for (int i = 2; i <= 9 && !horner; i++) sum = tn_add(sum, tn_mul(in[i], tn_integer_pow(x, i)));
    return tn_sum(sum);
}

static void test_single_coefficient(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_type t[11];
    for (int i = 0; i < 10; i++) t[i] = tn_f64();
    t[10] = tn_f64(1000);
    for (int horner = 0; horner < 2; horner++)
        for (size_t k = 0; k < COUNT(policies); k++) {
            bool which = horner;
            const tn_policy how = policy(k);
            tn_fn *f = made(c, tn_trace(c, polynomial, &which, 11, t));
            tn_fn *g = made(c, tn_grad(f, tn_wrt(2), &how));
            assert_int_equal(g->neqn, 2);
            assert_string_equal(g->eqn[0].prim->name, horner ? "mul" : "square");
            assert_string_equal(g->eqn[1].prim->name, "reduce_sum");
            for (uint32_t i = 0; i < g->eqn[0].nin; i++) assert_int_equal(tn_i_in(g, &g->eqn[0])[i], 10);
            assert_int_equal(tn_i_in(g, &g->eqn[1])[0], g->eqn[0].out);
            assert_int_equal(g->out[0], g->eqn[1].out);
        }
    tn_ctx_free(c);
}

static tn_val stopped(const tn_val *in, void *user) {
    (void)user;
    tn_val h = tn_stop_gradient(tn_tanh(tn_matmul(in[0], in[1])));
    return tn_sum(tn_mul(h, tn_matmul(in[0], in[2])));
}

/* wrt down to one input, and tn_stop_gradient: nothing of the inactive side is in the pullback. */
static void test_inactive(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, stopped, NULL, 3, TN_TYPES(tn_f64(4, 5), tn_f64(5, 3), tn_f64(5, 3))));
    for (size_t k = 0; k < COUNT(policies); k++) {
        const tn_policy how = policy(k);
        tn_fn *none = made(c, tn_grad(f, tn_wrt(1), &how));
        assert_int_equal(tn_fn_equations(none), 1); /* zeros */
        assert_true(cost(none).flops == 0 && none->eqn[0].prim->id == TN_P_broadcast_in_dim);
        tn_fn *w = made(c, tn_grad(f, tn_wrt(2), &how));
        assert_int_equal(count(w, "dot_general"), 2); /* h, and what it is multiplied by; not in[0] @ in[2] */
        if (k == NOTHING) continue;
        tn_linearized l = tn_linearize(f, tn_wrt(2), &how);
        tn_fn *back = tn_transpose(l.linear);
        assert_int_equal(count(back, "dot_general"), 1);
        assert_int_equal(count(back, "tanh"), 0);
    }
    tn_ctx_free(c);
}

/* ---- sparsity of cotangents ---------------------------------------------------------------------- */

static tn_val reads(const tn_val *in, void *user) {
    const int n = *(const int *)user;
    tn_val sum = tn_square(tn_at(in[0], 0));
    for (int i = 1; i < n; i++) sum = tn_add(sum, tn_mul(tn_at(in[0], i), tn_sin(tn_at(in[0], i - 1))));
    return sum;
}

static tn_val slices(const tn_val *in, void *user) {
    const int n = *(const int *)user;
    tn_val sum = tn_sum(tn_slice_axis(in[0], 0, 4, 1, 0));
    for (int i = 1; i + 4 <= n; i++) {
        tn_val w = tn_slice_axis(in[0], i, i + 4, 1, 0);
        sum = tn_add(sum, tn_sum(tn_mul(w, tn_square(w))));
    }
    return sum;
}

static tn_val dynamic_slices(const tn_val *in, void *user) {
    const int n = *(const int *)user;
    tn_val sum = tn_number_f64(0), at = in[1];
    for (int i = 0; i < n; i++, at = tn_add(at, 1)) {
        tn_val w = tn_dynamic_slice(in[0], tn_vals(at), tn_ints(2));
        sum = tn_add(sum, tn_sum(tn_mul(w, tn_square(w))));
    }
    return sum;
}

/* x[i] = x[i-1] sin(in[i]): reads of an array that is updated in place. */
static tn_val updates(const tn_val *in, void *user) {
    const int n = *(const int *)user;
    tn_val x = in[0];
    for (int i = 1; i < n; i++) {
        tn_val before = tn_slice_axis(x, i - 1, i, 1, 0), here = tn_slice_axis(in[0], i, i + 1, 1, 0);
        x = tn_dynamic_update_slice(x, tn_mul(before, tn_sin(here)), tn_vals(tn_number_i64(i)));
    }
    return tn_sum(tn_square(x));
}

static tn_val gathers(const tn_val *in, void *user) {
    (void)user;
    tn_val g = tn_take(in[0], in[1], 0);
    return tn_sum(tn_mul(g, tn_sin(g)));
}

static tn_val scatters(const tn_val *in, void *user) {
    (void)user;
    tn_val g = tn_index_add(in[0], in[1], tn_square(in[0]), 0);
    return tn_sum(tn_mul(g, tn_sin(g)));
}

/* One index at a time, gathered and scattered. */
static tn_val one_by_one(const tn_val *in, void *user) {
    const int n = *(const int *)user;
    tn_val y = tn_zeros_like(in[0]);
    for (int i = 0; i < n; i++) {
        tn_val at = tn_slice_axis(in[1], i, i + 1, 1, 0);
        y = tn_index_add(y, at, tn_sin(tn_take(in[0], at, 0)), 0);
    }
    return tn_sum(tn_square(y));
}

/* Steps that write n numbers or more, and not in place. */
static size_t whole_writes(const tn_fn *f, int64_t n) {
    tn_i_plan *p = tn_i_plan_plain(f);
    assert_non_null(p);
    size_t sum = p->nmove;
    for (size_t s = 0; s < p->nstep; s++) {
        const tn_i_eqn *e = &f->eqn[p->step[s].eqn];
        if (p->step[s].kind == TN_STEP_MOVE) continue;
        const tn_i_place *to = &p->place[e->out];
        bool in_place = false;
        if (e->prim->flags & TN_F_INPLACE && e->prim->kernel) {
            const tn_i_place *from = &p->place[tn_i_in(f, e)[0]];
            in_place = from->base == to->base && from->offset == to->offset;
        }
        sum += !in_place && tn_i_count(f->val[e->out].type) >= n;
    }
    tn_i_plan_free(f->ctx, p);
    return sum;
}

typedef struct workload {
    const char *name;
    tn_trace_fn f;
    bool index, many; /* takes indices; is n equations long */
} workload;

static tn_fn *traced(tn_ctx *c, const workload *w, int *n) {
    const bool one = w->f == dynamic_slices;
    const tn_type t[2] = {tn_f64(*n), one ? tn_i32() : tn_i32(*n)};
    return made(c, tn_trace(c, w->f, n, w->index ? 2 : 1, t));
}

/* Per element, the figures at 10 n may exceed those at n by little only (min_cut may plan otherwise where caches end);
 * and a bounded number of steps writes n numbers. */
static void assert_linear(const char *what, const tn_fn *small, const tn_fn *large, int n) {
    const tn_cost_report x = cost(small), y = cost(large);
    const struct {
        const char *name;
        double x, y;
    } figure[] = {{"equations", x.equations, y.equations},
                  {"flops", x.flops, y.flops},
                  {"bytes", x.bytes, y.bytes},
                  {"peak", x.peak_bytes, y.peak_bytes}};
    for (size_t i = 0; i < COUNT(figure); i++)
        if (figure[i].y > 15 * figure[i].x + 1000)
            fail_msg("%s, n = %d: %s is %g, at a tenth of n %g", what, n, figure[i].name, figure[i].y, figure[i].x);
    if (y.peak_bytes > 400.0 * n) fail_msg("%s, n = %d: peak %g", what, n, y.peak_bytes);
    const size_t whole = whole_writes(large, n);
    if (whole > 40) fail_msg("%s, n = %d: %zu steps write n numbers", what, n, whole);
}

enum { FEW_READS = 30 };

static void test_linear_in_reads(void **state) {
    (void)state;
    const int most = SANITIZED ? 300 : amount(3000, 300);
    static const workload all[] = {{"reads", reads, false, true},
                                   {"slices", slices, false, true},
                                   {"dynamic_slices", dynamic_slices, true, true},
                                   {"updates", updates, false, true},
                                   {"gathers", gathers, true, false},
                                   {"scatters", scatters, true, false},
                                   {"one_by_one", one_by_one, true, true}};
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t k = 0; k < COUNT(policies); k++) {
            tn_ctx *c = tn_ctx_new(NULL);
            const tn_policy how = policy(k);
            tn_fn *f = NULL, *g = NULL, *h = NULL;
            for (int n = FEW_READS; n <= most; n *= 10) {
                int m = n;
                tn_fn *f1 = traced(c, &all[i], &m), *g1 = made(c, tn_grad(f1, tn_wrt(0), &how)),
                      *h1 = made(c, tn_hvp(f1, tn_wrt(0), &how));
                char what[96];
                if (f) {
                    (void)snprintf(what, sizeof what, "%s, %s: f", all[i].name, policies[k]);
                    assert_linear(what, f, f1, n);
                    (void)snprintf(what, sizeof what, "%s, %s: grad", all[i].name, policies[k]);
                    assert_linear(what, g, g1, n);
                    (void)snprintf(what, sizeof what, "%s, %s: hvp", all[i].name, policies[k]);
                    assert_linear(what, h, h1, n);
                }
                f = f1;
                g = g1;
                h = h1;
            }
            tn_ctx_free(c);
        }
}

/* What is computed in place is right: the gradient against differences. */
static void test_values(void **state) {
    (void)state;
    int n = 9;
    const workload all[] = {{"reads", reads, false, true},
                            {"updates", updates, false, true},
                            {"slices", slices, false, true},
                            {"one_by_one", one_by_one, true, true}};
    const double x[] = {0.5, -1.25, 0.75, 2, -0.5, 1.5, -2, 0.25, 1};
    const int32_t at[] = {3, 1, 4, 1, 5, 8, 2, 6, 5};
    for (size_t i = 0; i < COUNT(all); i++) {
        tn_ctx *c = checked();
        tn_fn *f = traced(c, &all[i], &n);
        if (tn_check_grads(f, TN_RAW_INPUTS(x, at), tn_wrt(0), NULL) != TN_OK)
            fail_msg("%s: %s", all[i].name, tn_error(c));
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_cost_nothing),
        cmocka_unit_test(test_gradient_beside_a_constant),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_gan),
        cmocka_unit_test(test_single_coefficient),
        cmocka_unit_test(test_inactive),
        cmocka_unit_test(test_linear_in_reads),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
