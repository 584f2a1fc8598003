/* Patterns that are found: their entries, what is constant, warnings and refusals. */
#include <tansy.h>
#include <tansy/sparse.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_ctx *checked(void) {
    tn_ctx_options o = {.size = sizeof o, .check = 1};
    return tn_ctx_new(&o);
}

static const tn_fn *traced(tn_ctx *c, const tn_fn *f) {
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_sparsity_arrays viewed(tn_ctx *c, const tn_sparsity *s) {
    tn_sparsity_arrays a = {.size = sizeof a};
    if (!s) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_sparsity_view(s, TN_CSR, TN_FULL, &a), TN_OK);
    return a;
}

static int64_t constants(const tn_sparsity_arrays *a) {
    int64_t n = 0;
    for (int64_t k = 0; a->constant && k < a->nnz; k++) n += a->constant[k];
    return n;
}

/* Rows as text: columns, constant ones with their values: "0:1 2|1" */
static const char *text_of(const tn_sparsity_arrays *a, char *text, size_t size) {
    size_t n = 0;
    text[0] = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        if (i) n += (size_t)snprintf(text + n, size - n, "|");
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
            n += (size_t)snprintf(text + n, size - n, k > a->ptr[i] ? " %lld" : "%lld", (long long)a->ind[k]);
            if (a->constant && a->constant[k]) n += (size_t)snprintf(text + n, size - n, ":%g", a->value[k]);
        }
    }
    return text;
}

static void pattern_is(tn_ctx *c, tn_sparsity *s, const char *want) {
    char text[4096];
    const tn_sparsity_arrays a = viewed(c, s);
    assert_string_equal(text_of(&a, text, sizeof text), want);
    tn_sparsity_free(s);
}

/* ---- the programs that solvers want ------------------------------------------------------------- */

/* Cart-pole by direct multiple shooting: 30 intervals of 4 RK4 steps, 154 variables. */
enum { N = 30, M = 4, NX = 4, NS = 5, NZ = N * NS + NX, NG = (N + 2) * NX };
static const double period = 2.0;

static tn_val field(tn_val x, tn_val u) {
    const double m1 = 1, m2 = 0.3, l = 0.5, g = 9.81;
    tn_val th = tn_at(x, 1), v = tn_at(x, 2), w = tn_at(x, 3), s = tn_sin(th), co = tn_cos(th);
    tn_val w2s = tn_mul(tn_square(w), s), den = tn_add(m1, tn_mul(m2, tn_square(s))), gs = tn_mul(g, s);
    tn_val a = tn_add(tn_add(tn_mul(l * m2, w2s), u), tn_mul(m2, tn_mul(gs, co)));
    tn_val b = tn_add(tn_mul(l * m2, tn_mul(w2s, co)), tn_mul(u, co));
    b = tn_add(b, tn_mul(m1 + m2, gs));
    return tn_stack(tn_vals(v, w, tn_div(a, den), tn_neg(tn_div(b, tn_mul(l, den)))), 0);
}

static tn_val flow(const tn_val *in, void *user) {
    (void)user;
    const double h = period / N / M;
    tn_val x = tn_slice_axis(in[0], 0, NX, 1, 0), u = tn_at(in[0], NX);
    for (int i = 0; i < M; i++) {
        tn_val k1 = field(x, u), k2 = field(tn_add(x, tn_mul(h / 2, k1)), u),
               k3 = field(tn_add(x, tn_mul(h / 2, k2)), u), k4 = field(tn_add(x, tn_mul(h, k3)), u),
               mid = tn_mul(2.0, tn_add(k2, k3));
        x = tn_add(x, tn_mul(h / 6, tn_add(tn_add(k1, mid), k4)));
    }
    return x;
}

static tn_val constraints(const tn_val *in, void *user) {
    static const double goal[NX] = {1, 3.14159265358979323846, 0, 0};
    tn_val s = tn_reshape(tn_slice_axis(in[0], 0, N * NS, 1, 0), N, NS), next = tn_apply((const tn_fn *)user, 1, &s);
    tn_val last = tn_slice_axis(in[0], N * NS, NZ, 1, 0);
    tn_val xs = tn_concatenate(tn_vals(tn_slice_axis(s, 0, NX, 1, 1), tn_expand_dims(last, 0)), 0);
    tn_val defects = tn_sub(next, tn_slice_axis(xs, 1, N + 1, 1, 0));
    tn_val target = tn_constant(tn_val_ctx(s), tn_f64(NX), goal);
    return tn_concatenate(tn_vals(tn_ravel(defects), tn_at(xs, 0), tn_sub(last, target)), 0);
}

static tn_val lagrangian(const tn_val *in, void *user) {
    tn_val u = tn_slice_axis(tn_reshape(tn_slice_axis(in[0], 0, N * NS, 1, 0), N, NS), NX, NS, 1, 1);
    return tn_add(tn_mul(in[1], tn_mul(period / N, tn_sum_squares(u))),
                  tn_dot(in[2], tn_apply((const tn_fn *)user, 1, in)));
}

static void multiple_shooting(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, tn_trace(c, flow, NULL, 1, TN_TYPES(tn_f64(NS)))),
                *fs = traced(c, tn_vmap(f, N, NULL, NULL)),
                *g = traced(c, tn_trace(c, constraints, (void *)(uintptr_t)fs, 1, TN_TYPES(tn_f64(NZ)))),
                *l = traced(
                    c, tn_trace(c, lagrangian, (void *)(uintptr_t)g, 3, TN_TYPES(tn_f64(NZ), tn_f64(), tn_f64(NG))));
    tn_sparsity *s = tn_jacobian_sparsity(g, NULL, NULL), *h = tn_hessian_sparsity(l, tn_wrt(0), NULL);
    tn_sparsity_arrays a = viewed(c, s), b = viewed(c, h);
    assert_int_equal(a.rows, NG);
    assert_int_equal(a.columns, NZ);
    assert_int_equal(a.nnz, 578);
    /* -x of the next interval and the ends; and of each interval dp/dp, dp/dv and dv/dv, as nothing depends on p and v
     */
    assert_int_equal(constants(&a), 128 + 3 * N);
    for (int64_t i = 0; i < N * NX; i++) {
        static const int length[NX] = {5, 3, 4, 3};
        assert_int_equal(a.ptr[i + 1] - a.ptr[i], length[i % NX] + 1);
        assert_int_equal(a.ind[a.ptr[i + 1] - 1], NS * (i / NX + 1) + i % NX);
        assert_true(a.constant[a.ptr[i + 1] - 1]);
        assert_true(a.value[a.ptr[i + 1] - 1] == -1.0);
    }
    assert_int_equal(b.nnz, 270);
    assert_true(b.symmetric && !b.local);
    assert_null(tn_sparsity_warning(s, 0));
    assert_null(tn_sparsity_warning(h, 0));
    tn_ctx_free(c);
}

static tn_val bratu(const tn_val *in, void *user) {
    const int n = *(const int *)user;
    const double h = 1.0 / (n + 1);
    tn_val u = tn_reshape(in[0], n, n), p = tn_pad(u, 0.0, tn_ints(1, 1), tn_ints(1, 1), tn_ints(0, 0));
    tn_val up = tn_slice(p, tn_ints(0, 1), tn_ints(n, n + 1), tn_ints(1, 1)),
           down = tn_slice(p, tn_ints(2, 1), tn_ints(n + 2, n + 1), tn_ints(1, 1)),
           left = tn_slice(p, tn_ints(1, 0), tn_ints(n + 1, n), tn_ints(1, 1)),
           right = tn_slice(p, tn_ints(1, 2), tn_ints(n + 1, n + 2), tn_ints(1, 1));
    tn_val around = tn_add(tn_add(up, down), tn_add(left, right));
    return tn_ravel(tn_sub(tn_sub(tn_mul(4.0, u), around), tn_mul(h * h * 6.8, tn_exp(u))));
}

static void grid(void **state) {
    (void)state;
    tn_ctx *c = checked();
    int n = 100;
    const tn_fn *f = traced(c, tn_trace(c, bratu, &n, 1, TN_TYPES(tn_f64(n * n))));
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL);
    tn_sparsity_arrays a = viewed(c, s);
    assert_int_equal(a.nnz, 49600);
    assert_int_equal(constants(&a), 49600 - 10000); /* all but the diagonal */
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t k = a.ptr[i]; k < a.ptr[i + 1]; k++) {
            assert_int_equal(a.constant[k], a.ind[k] != i);
            if (a.constant[k]) assert_true(a.value[k] == -1.0);
        }
    tn_ctx_free(c);
}

/* Reprojections of points by cameras, chosen by indices: constants, or inputs. */
enum { CAMERAS = 50, POINTS = 2000, SEEN = 4 * POINTS };

static void observations(int64_t *camera, int64_t *point) {
    for (int64_t k = 0; k < SEEN; k++) {
        camera[k] = (7 * (k / 4) + 3 * (k % 4)) % CAMERAS;
        point[k] = k / 4;
    }
}

static tn_val reprojected(const tn_val *in, tn_val camera, tn_val point) {
    tn_val cs = tn_reshape(tn_slice_axis(in[0], 0, 9 * CAMERAS, 1, 0), CAMERAS, 9),
           ps = tn_reshape(tn_slice_axis(in[0], 9 * CAMERAS, 9 * CAMERAS + 3 * POINTS, 1, 0), POINTS, 3);
    tn_val a = tn_t(tn_take(cs, camera, 0, TN_CLIP_INDICES)), b = tn_t(tn_take(ps, point, 0, TN_CLIP_INDICES)), p[3];
    for (int i = 0; i < 3; i++) {
        tn_val turned = tn_mul(tn_at(a, i), tn_at(b, (i + 1) % 3)), back = tn_mul(tn_at(a, (i + 1) % 3), tn_at(b, i));
        p[i] = tn_add(tn_add(tn_sub(turned, back), tn_at(b, (i + 2) % 3)), tn_at(a, 3 + i));
        p[i] = tn_mul(p[i], tn_cos(tn_at(a, (i + 2) % 3)));
    }
    tn_val u = tn_div(p[0], p[2]), v = tn_div(p[1], p[2]), rr = tn_add(tn_square(u), tn_square(v));
    tn_val d = tn_add(1.0, tn_mul(rr, tn_add(tn_at(a, 7), tn_mul(tn_at(a, 8), rr))));
    tn_val g = tn_mul(tn_at(a, 6), d);
    return tn_ravel(tn_stack(tn_vals(tn_mul(g, u), tn_mul(g, v)), 1));
}

static tn_val by_constants(const tn_val *in, void *user) {
    (void)user;
    static int64_t camera[SEEN], point[SEEN];
    tn_ctx *c = tn_val_ctx(in[0]);
    observations(camera, point);
    return reprojected(in, tn_constant(c, tn_i64(SEEN), camera), tn_constant(c, tn_i64(SEEN), point));
}

static tn_val by_inputs(const tn_val *in, void *user) {
    (void)user;
    return reprojected(in, in[1], in[2]);
}

static void bundle_adjustment(void **state) {
    (void)state;
    static int64_t camera[SEEN], point[SEEN];
    tn_ctx *c = checked();
    const tn_type z = tn_f64(9 * CAMERAS + 3 * POINTS);
    observations(camera, point);
    const tn_fn *f = traced(c, tn_trace(c, by_constants, NULL, 1, &z)),
                *g = traced(c, tn_trace(c, by_inputs, NULL, 3, (tn_type[]){z, tn_i64(SEEN), tn_i64(SEEN)}));
    const void *known[3] = {NULL, camera, point};
    const tn_sparsity_options o = {.size = sizeof o, .known = known};
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL), *t = tn_jacobian_sparsity(g, tn_wrt(0), &o);
    tn_sparsity_arrays a = viewed(c, s), b = viewed(c, t);
    assert_int_equal(a.nnz, 192000);
    assert_int_equal(b.nnz, 192000);
    assert_memory_equal(a.ind, b.ind, 192000 * sizeof *a.ind);
    assert_null(tn_sparsity_warning(t, 0));
    for (int64_t i = 0; i < a.rows; i++) {
        assert_int_equal(a.ptr[i + 1] - a.ptr[i], 12);
        assert_int_equal(a.ind[a.ptr[i]], 9 * camera[i / 2]);
        assert_int_equal(a.ind[a.ptr[i] + 9], 9 * CAMERAS + 3 * point[i / 2]);
    }
    /* indices that only a run knows: every observation may be of any camera and point, and the limit says where */
    const tn_sparsity_options few = {.size = sizeof few, .max_nnz = 1000000};
    assert_null(tn_jacobian_sparsity(g, tn_wrt(0), &few));
    assert_int_equal(tn_last_status(c), TN_ELIMIT);
    assert_non_null(strstr(tn_error(c), "patterns.c:"));
    assert_non_null(strstr(tn_error(c), "gather"));
    tn_ctx_free(c);
}

/* ---- rules, one by one ------------------------------------------------------------------------------ */

static tn_val rotated_sum(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_mul(in[0], tn_roll(in[0], 1, 0)), tn_mul(2.0, in[0]));
}

static tn_val run_time_read(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(3.0, tn_take(in[0], in[1], 0, TN_CLIP_INDICES));
}

static tn_val whole_product(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(in[0], tn_sum(tn_exp(in[0]))));
}

static tn_val masked(const tn_val *in, void *user) {
    (void)user;
    return tn_select(tn_gt(in[1], 0.0), tn_sin(in[0]), tn_mul(in[1], in[0]));
}

static tn_val running(const tn_val *in, void *user) {
    (void)user;
    return tn_cumsum(tn_mul(in[0], in[0]), 0);
}

static tn_val nothing(const tn_val *in, void *user) {
    (void)user;
    return tn_stop_gradient(in[0]);
}

static tn_val matrix(const tn_val *in, void *user) {
    (void)user;
    static const double a[6] = {1, 0, 2, 0, 3, 0};
    return tn_matmul(tn_constant(tn_val_ctx(in[0]), tn_f64(2, 3), a), in[0]);
}

static void small_programs(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, tn_trace(c, rotated_sum, NULL, 1, TN_TYPES(tn_f32(3))));
    pattern_is(c, tn_jacobian_sparsity(f, NULL, NULL), "0 2|0 1|1 2");
    f = traced(c, tn_trace(c, running, NULL, 1, TN_TYPES(tn_f64(3))));
    pattern_is(c, tn_jacobian_sparsity(f, NULL, NULL), "0|0 1|0 1 2");
    f = traced(c, tn_trace(c, nothing, NULL, 1, TN_TYPES(tn_f64(2))));
    pattern_is(c, tn_jacobian_sparsity(f, NULL, NULL), "|");
    f = traced(c, tn_trace(c, rotated_sum, NULL, 1, TN_TYPES(tn_f64(0))));
    pattern_is(c, tn_jacobian_sparsity(f, NULL, NULL), "");
    f = traced(c, tn_trace(c, matrix, NULL, 1, TN_TYPES(tn_f64(3))));
    pattern_is(c, tn_jacobian_sparsity(f, NULL, NULL), "0:1 2:2|1:3");
    tn_ctx_free(c);
}

static void what_is_known(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const int64_t index[2] = {2, 0};
    const double x[3] = {1, 2, 3}, mask[3] = {1, 0, -1};
    const void *known[2] = {NULL, index}, *masks[2] = {NULL, mask}, *at[2] = {x, mask};
    const tn_sparsity_options o = {.size = sizeof o, .known = known}, m = {.size = sizeof m, .known = masks},
                              here = {.size = sizeof here, .at = at};
    const tn_fn *f = traced(c, tn_trace(c, run_time_read, NULL, 2, TN_TYPES(tn_f64(3), tn_i64(2))));
    pattern_is(c, tn_jacobian_sparsity(f, tn_wrt(0), &o), "2:3|0:3");
    tn_sparsity *s = tn_jacobian_sparsity(f, tn_wrt(0), NULL);
    assert_non_null(strstr(tn_sparsity_warning(s, 0), "patterns.c:"));
    assert_non_null(strstr(tn_sparsity_warning(s, 0), "gather"));
    assert_null(tn_sparsity_warning(s, 1));
    pattern_is(c, s, "0 1 2|0 1 2");
    f = traced(c, tn_trace(c, masked, NULL, 2, TN_TYPES(tn_f64(3), tn_f64(3))));
    pattern_is(c, tn_jacobian_sparsity(f, tn_wrt(0), NULL), "0|1|2");
    pattern_is(c, tn_jacobian_sparsity(f, tn_wrt(0), &m), "0||2:-1");
    s = tn_jacobian_sparsity(f, NULL, &here);
    assert_true(viewed(c, s).local);
    pattern_is(c, s, "0|4|2 5");
    tn_ctx_free(c);
}

/* ---- loops ---------------------------------------------------------------------------------------- */

static void accumulate(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    next[0] = tn_add(tn_mul(carry[0], carry[0]), x[0]);
    y[0] = next[0];
}

static bool backwards;

static tn_val accumulated(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val zero = tn_zeros(c, tn_f64()), total, ys;
    const tn_loop_options o = {.size = sizeof o, .reverse = backwards};
    tn_scan(c, accumulate, NULL, .ncarry = 1, .init = &zero, .nx = 1, .xs = in, .carry = &total, .ny = 1, .ys = &ys,
            .reverse = o.reverse);
    return ys;
}

static void loops_of_known_length(void **state) {
    (void)state;
    tn_ctx *c = checked();
    backwards = false;
    const tn_fn *f = traced(c, tn_trace(c, accumulated, NULL, 1, TN_TYPES(tn_f64(1000))));
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL);
    const tn_sparsity_arrays a = viewed(c, s);
    assert_int_equal(a.nnz, 500500);
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(a.ptr[i + 1] - a.ptr[i], i + 1);
        assert_true(a.constant[a.ptr[i + 1] - 1] && a.value[a.ptr[i + 1] - 1] == 1.0);
    }
    backwards = true;
    f = traced(c, tn_trace(c, accumulated, NULL, 1, TN_TYPES(tn_f64(3))));
    pattern_is(c, tn_jacobian_sparsity(f, NULL, NULL), "0:1 1 2|1:1 2|2:1");
    tn_ctx_free(c);
}

/* Rows that the steps before had are dropped on the way: of 4.5 million there are 3000 left. */
static tn_val last(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val zero = tn_zeros(c, tn_f64()), total;
    tn_scan(c, accumulate, NULL, .ncarry = 1, .init = &zero, .nx = 1, .xs = in, .carry = &total, .ny = 1);
    return tn_concatenate(tn_vals(tn_reshape(total, 1), tn_mul(3.0, in[0])), 0);
}

static void loops_of_many_steps(void **state) {
    (void)state;
    tn_ctx *c = checked();
    enum { STEPS = 3000 };
    const tn_fn *f = traced(c, tn_trace(c, last, NULL, 1, TN_TYPES(tn_f64(STEPS))));
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL);
    const tn_sparsity_arrays a = viewed(c, s);
    assert_int_equal(a.nnz, 2 * STEPS);
    assert_int_equal(constants(&a), STEPS + 1);
    for (int64_t k = 0; k < STEPS; k++) {
        assert_int_equal(a.ind[k], k);
        assert_int_equal(a.ind[STEPS + k], k);
        assert_true(a.value[k] == (k == STEPS - 1) && a.value[STEPS + k] == 3.0);
    }
    tn_ctx_free(c);
}

/* y[i] = x[i] x[i + 1], element by element: the step's number and what is made of it are known in each step. */
static void by_number(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const tn_val x = *(const tn_val *)user;
    tn_val product = tn_mul(tn_dynamic_index(x, i, 0), tn_dynamic_index(x, tn_add(i, 1), 0));
    next[0] = tn_dynamic_update_slice(carry[0], tn_reshape(product, 1), tn_vals(i));
}

static tn_val neighbours(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val y = tn_zeros(c, tn_f64(4)), x = in[0];
    tn_fori(c, 0, 4, by_number, &x, 1, &y, &y, NULL);
    return y;
}

static tn_val sum_of_neighbours(const tn_val *in, void *user) { return tn_sum_squares(neighbours(in, user)); }

/* One interval after the other, each from its own start: the blocks of multiple shooting, as a loop. */
static void interval(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    next[0] = x[0];
    y[0] = tn_sub(tn_mul(carry[0], tn_flip(carry[0], 0)), x[0]);
}

static tn_val intervals(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val first = tn_dynamic_index(in[0], 0, 0), rest = tn_slice_axis(in[0], 1, 4, 1, 0), defects, end;
    tn_scan(c, interval, NULL, .ncarry = 1, .init = &first, .nx = 1, .xs = &rest, .carry = &end, .ny = 1,
            .ys = &defects);
    return tn_ravel(defects);
}

static void loops_over_blocks(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, tn_trace(c, neighbours, NULL, 1, TN_TYPES(tn_f64(5))));
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL);
    assert_null(tn_sparsity_warning(s, 0));
    pattern_is(c, s, "0 1|1 2|2 3|3 4");
    f = traced(c, tn_trace(c, intervals, NULL, 1, TN_TYPES(tn_f64(4, 2))));
    pattern_is(c, tn_jacobian_sparsity(f, NULL, NULL), "0 1 2:-1|0 1 3:-1|2 3 4:-1|2 3 5:-1|4 5 6:-1|4 5 7:-1");
    /* and their Hessians, through the loop backwards */
    f = traced(c, tn_trace(c, sum_of_neighbours, NULL, 1, TN_TYPES(tn_f64(5))));
    pattern_is(c, tn_hessian_sparsity(f, NULL, NULL), "0 1|0 1 2|1 2 3|2 3 4|3 4");
    tn_ctx_free(c);
}

/* More than is asked for, though no equation makes many at once: the message is about the function. */
static void limits(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, tn_trace(c, rotated_sum, NULL, 1, TN_TYPES(tn_f64(100))));
    const tn_sparsity_options o = {.size = sizeof o, .max_nnz = 199}, enough = {.size = sizeof o, .max_nnz = 200};
    assert_null(tn_jacobian_sparsity(f, NULL, &o));
    assert_int_equal(tn_last_status(c), TN_ELIMIT);
    assert_non_null(strstr(tn_error(c), "199"));
    assert_non_null(strstr(tn_error(c), "patterns.c:"));
    assert_non_null(tn_jacobian_sparsity(f, NULL, &enough));
    assert_null(tn_hessian_sparsity(traced(c, tn_trace(c, whole_product, NULL, 1, TN_TYPES(tn_f64(100)))), NULL, &o));
    assert_int_equal(tn_last_status(c), TN_ELIMIT);
    assert_non_null(strstr(tn_error(c), "dense"));
    tn_ctx_free(c);
}

/* ---- while, cond ------------------------------------------------------------------------------------ */

/* x rotated as often as a number says that only a run knows: each element may depend on each. */
static tn_val goes_on(const tn_val *carry, void *user) {
    (void)user;
    return tn_lt(carry[0], tn_mul(10.0, carry[1]));
}

static void rotate(const tn_val *carry, tn_val *next, void *user) {
    (void)user;
    next[0] = tn_add(carry[0], 1.0);
    next[1] = carry[1];
    next[2] = tn_roll(carry[2], 1, 0);
}

static tn_val rotated(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val carry[3] = {tn_zeros(c, tn_f64()), in[1], tn_sin(in[0])}, out[3];
    tn_while_loop(c, goes_on, rotate, NULL, 3, carry, out, NULL);
    return out[2];
}

static void loops_of_unknown_length(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double twice = 0.15;
    const void *known[2] = {NULL, &twice};
    const tn_sparsity_options o = {.size = sizeof o, .known = known};
    const tn_fn *f = traced(c, tn_trace(c, rotated, NULL, 2, TN_TYPES(tn_f64(4), tn_f64())));
    pattern_is(c, tn_jacobian_sparsity(f, tn_wrt(0), NULL), "0 1 2 3|0 1 2 3|0 1 2 3|0 1 2 3");
    pattern_is(c, tn_jacobian_sparsity(f, tn_wrt(0), &o), "2|3|0|1");
    /* more steps than are tried exactly: sets go on growing, and are widened */
    f = traced(c, tn_trace(c, rotated, NULL, 2, TN_TYPES(tn_f64(100), tn_f64())));
    tn_sparsity *s = tn_jacobian_sparsity(f, tn_wrt(0), NULL);
    assert_int_equal(viewed(c, s).nnz, 10000);
    assert_non_null(strstr(tn_sparsity_warning(s, 0), "patterns.c:"));
    assert_non_null(strstr(tn_sparsity_warning(s, 0), "loop"));
    tn_ctx_free(c);
}

/* The first step is known to be made, further ones are not: from there on no number of a step is known. */
static tn_val below_one(const tn_val *carry, void *user) {
    (void)user;
    return tn_lt(carry[0], 1.0);
}

static void one_by_one(const tn_val *carry, tn_val *next, void *user) {
    tn_ctx *c = user;
    tn_val i = tn_loop_step(c), x = tn_dynamic_index(carry[2], i, 0);
    next[0] = carry[1];
    next[1] = carry[1];
    next[2] = tn_dynamic_update_slice(carry[2], tn_reshape(tn_mul(x, x), 1), tn_vals(i));
}

static tn_val some_squared(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val carry[3] = {tn_zeros(c, tn_f64()), in[1], in[0]}, out[3];
    tn_while_loop(c, below_one, one_by_one, c, 3, carry, out, NULL);
    return out[2];
}

static void loops_known_to_begin(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double stops = 2;
    const void *known[2] = {NULL, &stops};
    const tn_sparsity_options o = {.size = sizeof o, .known = known};
    const tn_fn *f = traced(c, tn_trace(c, some_squared, NULL, 2, TN_TYPES(tn_f64(3), tn_f64())));
    pattern_is(c, tn_jacobian_sparsity(f, tn_wrt(0), &o), "0|1:1|2:1");
    pattern_is(c, tn_jacobian_sparsity(f, tn_wrt(0), NULL), "0 1 2|0 1 2|0 1 2");
    tn_ctx_free(c);
}

/* Rows chosen when it runs: each column may be that of any. */
static tn_val run_time_rows(const tn_val *in, void *user) {
    (void)user;
    return tn_take(in[0], in[1], 0, TN_CLIP_INDICES);
}

/* and places that are added to */
static tn_val run_time_places(const tn_val *in, void *user) {
    (void)user;
    return tn_index_add(tn_mul(2.0, in[0]), in[1], in[2], 0);
}

static void unknown_places(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, tn_trace(c, run_time_rows, NULL, 2, TN_TYPES(tn_f64(3, 2), tn_i64(2))));
    pattern_is(c, tn_jacobian_sparsity(f, NULL, NULL), "0 2 4|1 3 5|0 2 4|1 3 5");
    f = traced(c, tn_trace(c, run_time_places, NULL, 3, TN_TYPES(tn_f64(2, 2), tn_i64(1), tn_f64(1, 2))));
    pattern_is(c, tn_jacobian_sparsity(f, tn_wrt(0, 2), NULL), "0 4|1 5|2 4|3 5");
    tn_ctx_free(c);
}

/* Derivatives of loops of unknown length go back over stacks, whose length is no value that depends on anything. */
static void sine_steps(const tn_val *carry, tn_val *next, void *user) {
    (void)user;
    next[0] = tn_add(carry[0], 1.0);
    next[1] = carry[1];
    next[2] = tn_sin(tn_mul(carry[2], carry[2]));
}

static tn_val sines(const tn_val *in, void *user) {
    (void)user;
    tn_ctx *c = tn_val_ctx(in[0]);
    tn_val carry[3] = {tn_zeros(c, tn_f64()), in[1], in[0]}, out[3];
    tn_while_loop(c, goes_on, sine_steps, NULL, 3, carry, out, NULL);
    return tn_sum(out[2]);
}

static void hessians_of_loops(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, tn_trace(c, sines, NULL, 2, TN_TYPES(tn_f64(3), tn_f64())));
    tn_sparsity *s = tn_hessian_sparsity(f, tn_wrt(0), NULL);
    assert_true(viewed(c, s).symmetric);
    assert_null(tn_sparsity_warning(s, 0));
    pattern_is(c, s, "0|1|2");
    tn_ctx_free(c);
}

static tn_val by_self(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], in[0]);
}

static tn_val by_next(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(2.0, tn_roll(in[0], 2, 0));
}

static tn_val either_way(const tn_val *in, void *user) {
    (void)user;
    return tn_cond(in[1], by_next, by_self, NULL, 1, in);
}

static void branches(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const bool yes = true, no = false;
    const void *known[2] = {NULL, &yes};
    tn_sparsity_options o = {.size = sizeof o, .known = known};
    const tn_fn *f = traced(c, tn_trace(c, either_way, NULL, 2, TN_TYPES(tn_f64(3), tn_bool())));
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL);
    assert_non_null(strstr(tn_sparsity_warning(s, 0), "branch"));
    pattern_is(c, s, "0 1|1 2|0 2");
    pattern_is(c, tn_jacobian_sparsity(f, NULL, &o), "1:2|2:2|0:2");
    known[1] = &no;
    pattern_is(c, tn_jacobian_sparsity(f, NULL, &o), "0|1|2");
    tn_ctx_free(c);
}

/* ---- the user's own code ----------------------------------------------------------------------------- */

/* y[i] = x[i]^2 + x[i+1], the last without a neighbour */
enum { CELLS = 4 };
static int cells(void *user, const void *const *in, void *const *out) {
    (void)user;
    const double *x = in[0];
    for (int i = 0; i < CELLS; i++) ((double *)out[0])[i] = x[i] * x[i] + (i + 1 < CELLS ? x[i + 1] : 0);
    return 0;
}
static int cells_jvp(void *user, const void *const *in, void *const *out) {
    (void)user;
    const double *x = in[0], *d = in[1];
    for (int i = 0; i < CELLS; i++) ((double *)out[0])[i] = 2 * x[i] * d[i] + (i + 1 < CELLS ? d[i + 1] : 0);
    return 0;
}
static int cells_vjp(void *user, const void *const *in, void *const *out) {
    (void)user;
    const double *x = in[0], *w = in[1];
    for (int i = 0; i < CELLS; i++) ((double *)out[0])[i] = 2 * x[i] * w[i] + (i > 0 ? w[i - 1] : 0);
    return 0;
}

static tn_val by_cells(const tn_val *in, void *user) {
    return tn_mul(tn_external(tn_val_ctx(in[0]), user, 1, in), 2.0);
}

static tn_sparsity *two_diagonals(tn_ctx *c, int64_t columns) {
    static const int64_t ptr[CELLS + 1] = {0, 2, 4, 6, 7}, ind[7] = {0, 1, 1, 2, 2, 3, 3};
    return tn_sparsity_csr(c, CELLS, columns, ptr, ind);
}

static void external_functions(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_type t = tn_f64(CELLS);
    tn_external_spec x = {.size = sizeof x,
                          .name = "dense",
                          .nin = 1,
                          .nout = 1,
                          .in = &t,
                          .out = &t,
                          .fn = cells,
                          .jvp = cells_jvp,
                          .vjp = cells_vjp};
    assert_int_equal(tn_external_register(c, &x), TN_OK);
    x.name = "sparse";
    tn_sparsity *p = two_diagonals(c, CELLS);
    x.sparsity = p;
    assert_int_equal(tn_external_register(c, &x), TN_OK);
    tn_sparsity_free(p); /* it was copied */
    x.name = "wrong";
    x.sparsity = p = two_diagonals(c, CELLS + 1);
    assert_int_equal(tn_external_register(c, &x), TN_ETYPE);
    assert_non_null(strstr(tn_error(c), "4 x 5"));
    tn_sparsity_free(p);
    const tn_fn *f = traced(c, tn_trace(c, by_cells, (void *)(uintptr_t) "dense", 1, &t)),
                *g = traced(c, tn_trace(c, by_cells, (void *)(uintptr_t) "sparse", 1, &t)),
                *v = traced(c, tn_vmap(g, 2, NULL, NULL));
    tn_sparsity *s = tn_jacobian_sparsity(f, NULL, NULL);
    assert_non_null(strstr(tn_sparsity_warning(s, 0), "external_call"));
    pattern_is(c, s, "0 1 2 3|0 1 2 3|0 1 2 3|0 1 2 3");
    s = tn_jacobian_sparsity(g, NULL, NULL);
    assert_null(tn_sparsity_warning(s, 0));
    pattern_is(c, s, "0 1|1 2|2 3|3");
    pattern_is(c, tn_jacobian_sparsity(v, NULL, NULL), "0 1|1 2|2 3|3|4 5|5 6|6 7|7");
    /* its vjp with respect to the cotangent: the transpose */
    const tn_fn *back = traced(c, tn_vjp(g, NULL, NULL));
    pattern_is(c, tn_jacobian_sparsity(back, tn_wrt(1), NULL), "||||0|0 1|1 2|2 3");
    tn_ctx_free(c);
}

/* ---- programs without cancellation ----------------------------------------------------------------- */

/* Of functions that grow in all they depend on, at positive values: no entry of the Jacobian cancels. */
enum { WIDTH = 6, STEPS_OF = 12 };
typedef struct growing {
    uint64_t state;
    const tn_fn *inner; /* (WIDTH) -> (WIDTH), called; NULL: none */
} growing;

static uint32_t draw(growing *g, uint32_t n) {
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((g->state >> 33) % n);
}

static tn_val taken(growing *g, tn_val x) {
    int64_t at[WIDTH];
    for (int i = 0; i < WIDTH; i++) at[i] = draw(g, WIDTH);
    return tn_take(x, tn_constant(tn_val_ctx(x), tn_i64(WIDTH), at), 0, TN_CLIP_INDICES);
}

static tn_val added_up(growing *g, tn_val x) {
    int64_t at[WIDTH];
    for (int i = 0; i < WIDTH; i++) at[i] = draw(g, WIDTH);
    return tn_index_add(x, tn_constant(tn_val_ctx(x), tn_i64(WIDTH), at), x, 0);
}

static tn_val weighted(growing *g, tn_val x) {
    double a[WIDTH * WIDTH] = {0};
    for (int i = 0; i < WIDTH; i++)
        for (int k = 0; k < 2; k++) a[WIDTH * i + (int)draw(g, WIDTH)] = 0.5;
    return tn_matmul(tn_constant(tn_val_ctx(x), tn_f64(WIDTH, WIDTH), a), x);
}

static tn_val chosen(growing *g, tn_val x, tn_val y) {
    bool first[WIDTH];
    for (int i = 0; i < WIDTH; i++) first[i] = draw(g, 2);
    return tn_select(tn_constant(tn_val_ctx(x), tn_bool(WIDTH), first), x, y);
}

static tn_val one_more(growing *g, tn_val x, tn_val y) {
    tn_ctx *c = tn_val_ctx(x);
    tn_val z, sums;
    switch (draw(g, 13)) {
    case 0: return tn_add(x, y);
    case 1: return tn_mul(x, y);
    case 2: return draw(g, 2) ? tn_exp(x) : added_up(g, x);
    case 3: return tn_roll(x, (int)draw(g, WIDTH), 0);
    case 4: return taken(g, x);
    case 5: return tn_cumsum(x, 0);
    case 6: return weighted(g, x);
    case 7: return chosen(g, x, y);
    case 8: return tn_add(tn_sum(x), y);
    case 9: return tn_concatenate(tn_vals(tn_slice_axis(x, 2, WIDTH, 1, 0), tn_slice_axis(y, 0, 2, 1, 0)), 0);
    case 10:
        z = tn_zeros(c, tn_f64());
        tn_scan(c, accumulate, NULL, .ncarry = 1, .init = &z, .nx = 1, .xs = &x, .ny = 1, .ys = &sums);
        return sums;
    case 11: return g->inner ? tn_apply(g->inner, 1, &x) : tn_sqrt(x);
    default: return tn_maximum(x, y);
    }
}

static tn_val grown(const tn_val *in, void *user) {
    growing *g = user;
    tn_val v[STEPS_OF + 1] = {in[0]};
    for (int k = 1; k <= STEPS_OF; k++) {
        tn_val x = v[draw(g, (uint32_t)k)], y = v[draw(g, (uint32_t)k)];
        v[k] = tn_tanh(tn_mul(0.5, one_more(g, x, y)));
    }
    return tn_add(v[STEPS_OF], v[STEPS_OF - 1]);
}

/* Both arguments' largest elements count in the pattern, one in the derivative: max is left to the point. */
static void exact_without_cancellation(void **state) {
    (void)state;
    static const double x[WIDTH] = {0.31, 0.47, 0.59, 0.66, 0.73, 0.88};
    const void *in[1] = {x}, *at[1] = {x};
    const tn_sparsity_options here = {.size = sizeof here, .at = at};
    int64_t entries = 0, all = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        tn_ctx *c = checked();
        growing g = {.state = seed * 977};
        if (seed % 3 == 0) {
            growing other = {.state = seed * 31};
            g.inner = traced(c, tn_trace(c, grown, &other, 1, TN_TYPES(tn_f64(WIDTH))));
        }
        const tn_fn *f = traced(c, tn_trace(c, grown, &g, 1, TN_TYPES(tn_f64(WIDTH)))),
                    *j = traced(c, tn_jacfwd(f, NULL, 0));
        double d[WIDTH * WIDTH];
        tn_exec *e = tn_compile(j, NULL);
        assert_non_null(e);
        assert_int_equal(tn_call(e, in, (void *[]){d}), TN_OK);
        tn_sparsity *s = tn_jacobian_sparsity(f, NULL, &here);
        const tn_sparsity_arrays a = viewed(c, s);
        for (int64_t i = 0, k = 0; i < WIDTH; i++)
            for (int64_t l = 0; l < WIDTH; l++) {
                const bool has = k < a.ptr[i + 1] && a.ind[k] == l;
                if (has != (d[WIDTH * i + l] != 0.0))
                    fail_msg("seed %llu: entry (%lld, %lld) is %g", (unsigned long long)seed, (long long)i,
                             (long long)l, d[WIDTH * i + l]);
                k += has;
            }
        entries += a.nnz;
        all += WIDTH * WIDTH;
        tn_exec_free(e);
        tn_ctx_free(c);
    }
    assert_true(entries > all / 5 && entries < all * 19 / 20); /* neither empty nor dense */
}

/* ---- Hessians, refusals ----------------------------------------------------------------------------- */

static tn_val chain(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_mul(tn_square(in[0]), tn_roll(in[0], 1, 0)));
}

static void hessians(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = traced(c, tn_trace(c, chain, NULL, 1, TN_TYPES(tn_f64(5))));
    pattern_is(c, tn_hessian_sparsity(f, NULL, NULL), "0 1 4|0 1 2|1 2 3|2 3 4|0 3 4");
    f = traced(c, tn_trace(c, running, NULL, 1, TN_TYPES(tn_f64(3))));
    assert_null(tn_hessian_sparsity(f, NULL, NULL));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    tn_ctx_free(c);
}

static void refused(tn_ctx *c, const tn_fn *f, const tn_wrt_list *w, const tn_sparsity_options *o, const char *why) {
    assert_null(tn_jacobian_sparsity(f, w, o));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    if (!strstr(tn_error(c), why)) fail_msg("%s", tn_error(c));
}

static void refusals(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double x[3] = {0};
    const void *known[2] = {x, NULL}, *at[2] = {x, NULL};
    const tn_fn *f = traced(c, tn_trace(c, masked, NULL, 2, TN_TYPES(tn_f64(3), tn_f64(3))));
    refused(c, f, NULL, &(tn_sparsity_options){.max_nnz = 1}, "size");
    refused(c, f, NULL, &(tn_sparsity_options){.size = sizeof(tn_sparsity_options), .max_nnz = -1}, "max_nnz");
    refused(c, f, tn_wrt(0), &(tn_sparsity_options){.size = sizeof(tn_sparsity_options), .known = known}, "input 0");
    refused(c, f, NULL, &(tn_sparsity_options){.size = sizeof(tn_sparsity_options), .at = at}, "input 1");
    refused(c, f, tn_wrt(7), NULL, "7");
    assert_null(tn_jacobian_sparsity(NULL, NULL, NULL));
    assert_null(tn_hessian_sparsity(NULL, NULL, NULL));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiple_shooting),
        cmocka_unit_test(grid),
        cmocka_unit_test(bundle_adjustment),
        cmocka_unit_test(small_programs),
        cmocka_unit_test(what_is_known),
        cmocka_unit_test(loops_of_known_length),
        cmocka_unit_test(loops_of_many_steps),
        cmocka_unit_test(loops_over_blocks),
        cmocka_unit_test(hessians_of_loops),
        cmocka_unit_test(loops_known_to_begin),
        cmocka_unit_test(unknown_places),
        cmocka_unit_test(limits),
        cmocka_unit_test(loops_of_unknown_length),
        cmocka_unit_test(branches),
        cmocka_unit_test(external_functions),
        cmocka_unit_test(exact_without_cancellation),
        cmocka_unit_test(hessians),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
