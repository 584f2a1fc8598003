#include "fault/programs.h"
#include "tansy/comm.h"

#include "recurrent.h"
#include "tansy/ode.h"

#include <string.h>

/* ---- external functions --------------------------------------------------------------- */

enum { N = 3 };

static const double *f64s(const void *p) { return p; }

static int cube(void *user, const void *const *in, void *const *out) {
    (void)user;
    for (int i = 0; i < N; i++) ((double *)out[0])[i] = f64s(in[0])[i] * f64s(in[0])[i] * f64s(in[0])[i];
    return 0;
}

/* (x, d) -> 3 x^2 d: its jvp and its vjp. */
static int cube_rule(void *user, const void *const *in, void *const *out) {
    (void)user;
    for (int i = 0; i < N; i++) ((double *)out[0])[i] = 3 * f64s(in[0])[i] * f64s(in[0])[i] * f64s(in[1])[i];
    return 0;
}

/* (x, d, dx, dd) -> 6 x d dx + 3 x^2 dd */
static int rule_jvp(void *user, const void *const *in, void *const *out) {
    (void)user;
    for (int i = 0; i < N; i++) {
        const double x = f64s(in[0])[i], d = f64s(in[1])[i];
        ((double *)out[0])[i] = 6 * x * d * f64s(in[2])[i] + 3 * x * x * f64s(in[3])[i];
    }
    return 0;
}

/* (x, d, w) -> 6 x d w, 3 x^2 w */
static int rule_vjp(void *user, const void *const *in, void *const *out) {
    (void)user;
    for (int i = 0; i < N; i++) {
        const double x = f64s(in[0])[i], d = f64s(in[1])[i], w = f64s(in[2])[i];
        ((double *)out[0])[i] = 6 * x * d * w;
        ((double *)out[1])[i] = 3 * x * x * w;
    }
    return 0;
}

static int twice(void *user, const void *const *in, void *const *out) {
    (void)user;
    for (int i = 0; i < N; i++) ((double *)out[0])[i] = 2 * f64s(in[0])[i];
    return 0;
}

/* (x, ct) -> 2 ct */
static int twice_vjp(void *user, const void *const *in, void *const *out) { return twice(user, in + 1, out); }

static int twice_single(void *user, const void *const *in, void *const *out) {
    (void)user;
    for (int i = 0; i < N; i++) ((float *)out[0])[i] = 2 * ((const float *)in[0])[i];
    return 0;
}

static int twice_single_vjp(void *user, const void *const *in, void *const *out) {
    return twice_single(user, in + 1, out);
}

tn_status register_cube(tn_ctx *c, const char *name) {
    const tn_type t[1] = {tn_f64(N)};
    return tn_external_register(c, &(tn_external_spec){.size = sizeof(tn_external_spec),
                                                       .name = name,
                                                       .nin = 1,
                                                       .nout = 1,
                                                       .in = t,
                                                       .out = t,
                                                       .fn = cube,
                                                       .jvp = cube_rule,
                                                       .vjp = cube_rule});
}

bool register_externals(tn_ctx *c) {
    const tn_type t[2] = {tn_f64(N), tn_f64(N)}, s[1] = {tn_f32(N)};
    tn_external_spec rule = {.size = sizeof rule,
                             .name = "cube.jvp",
                             .nin = 2,
                             .nout = 1,
                             .in = t,
                             .out = t,
                             .fn = cube_rule,
                             .jvp = rule_jvp,
                             .vjp = rule_vjp};
    const tn_external_spec linear = {.size = sizeof linear,
                                     .name = "twice",
                                     .nin = 1,
                                     .nout = 1,
                                     .in = t,
                                     .out = t,
                                     .fn = twice,
                                     .vjp = twice_vjp,
                                     .linear = true};
    const tn_external_spec single = {.size = sizeof single,
                                     .name = "single",
                                     .nin = 1,
                                     .nout = 1,
                                     .in = s,
                                     .out = s,
                                     .fn = twice_single,
                                     .vjp = twice_single_vjp,
                                     .linear = true};
    bool ok = tn_external_register(c, &single) == TN_OK && register_cube(c, "cube") == TN_OK &&
              tn_external_register(c, &rule) == TN_OK;
    rule.name = "cube.vjp";
    return ok && tn_external_register(c, &rule) == TN_OK && tn_external_register(c, &linear) == TN_OK;
}

/* ---- rules of the user's ------------------------------------------------------------------ */

static tn_val soft(const tn_val *in, void *user) {
    (void)user;
    return tn_log(tn_add(1.0, tn_exp(in[0])));
}

static tn_val soft_jvp(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_sigmoid(in[0]), in[1]);
}

static tn_val product(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], tn_sin(in[1]));
}

static void product_fwd(const tn_val *in, tn_val *out, void *user) {
    out[0] = product(in, user);
    out[1] = tn_sin(in[1]);
    out[2] = tn_mul(in[0], tn_cos(in[1]));
}

static void product_bwd(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(in[0], in[2]);
    out[1] = tn_mul(in[1], in[2]);
}

/* Linear in the last, with the others as residuals: more than fit a small array. */
static void weighted(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = in[9];
    for (int i = 0; i < 9; i++) out[0] = tn_mul(out[0], in[i]);
}

/* sinh x = y + captured, with the Jacobian given, and without. */
static tn_val root_residual(const tn_val *in, void *user) {
    const tn_val *captured = user;
    return tn_sub(tn_sinh(in[0]), tn_add(in[1], *captured));
}

static tn_val root_solve(const tn_val *in, void *user) {
    const tn_val *captured = user;
    return tn_asinh(tn_add(in[1], *captured));
}

static tn_val root_linear(const tn_val *in, void *user) {
    (void)user;
    return tn_div(in[2], tn_cosh(in[0]));
}

static tn_val roots(tn_val y, tn_val captured) {
    tn_val norm, z = tn_custom_root(root_residual, root_solve, NULL, &captured, y, 1, &y, &norm);
    z = tn_custom_root(root_residual, root_solve, root_linear, &captured, z, 1, &y, NULL);
    return tn_add(z, norm);
}

/* ---- nested programs ---------------------------------------------------------------------- */

static tn_val inner(const tn_val *in, void *user) {
    (void)user;
    return tn_tanh(tn_mul(in[0], 0.5));
}

tn_fn *inner_program(world *w) { return tn_trace(w->c, inner, NULL, 1, TN_TYPES(tn_f64(N))); }

/* More operands than fit a small array. */
static tn_val deepest(const tn_val *in, void *user) {
    const tn_val *outer = user;
    tn_val many[18];
    for (size_t i = 0; i < 18; i++) many[i] = i % 2 ? in[0] : outer[0];
    return tn_add(tn_mul(in[0], outer[0]), tn_mul(outer[1], tn_max(tn_concatenate(tn_vals_of(18, many), 0))));
}

static tn_val told(const tn_val *in, void *user) {
    (void)user;
    tn_print(tn_val_ctx(in[0]), "told", 1, in);
    tn_assert(tn_lt(in[0], 1e9), "in bounds");
    return tn_exp(tn_neg(tn_square(in[0])));
}

/* A region that needs what a call with effects makes. */
static tn_val region(const tn_val *in, void *user) {
    tn_val y = tn_subfn("told", told, user, 1, in);
    return tn_sin(tn_mul(y, in[0]));
}

static void layer(const tn_val *in, tn_val *out, void *user) {
    out[0] = tn_subfn("deepest", deepest, user, 1, in);
    out[1] = tn_sum(in[0]);
}

/* Branches that capture different values; one of them branches again. */
static tn_val bent(const tn_val *in, void *user) {
    const tn_val *outer = user;
    return tn_mul(tn_sin(in[0]), outer[0]);
}

static tn_val straight(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], 0.5);
}

static void steep(const tn_val *in, tn_val *out, void *user) {
    const tn_val *outer = user;
    out[0] = tn_cond(tn_gt(tn_sum(outer[1]), 0), bent, straight, user, 1, in);
}

static void flat(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = in[0];
}

static tn_val nested(const tn_val *in, void *user) {
    world *w = user;
    const double numbers[N] = {0.5, 1.5, -1};
    tn_val x = in[0], h[2], r[9], y, outer[2];
    tn_scope(w->c, "first") {
        outer[0] = tn_constant(w->c, tn_f64(N), numbers);
        outer[1] = tn_sum_axis(in[1], 1);
        tn_scope(w->c, "second") tn_subfn_many("layer", layer, outer, 1, &x, 2, h);
        y = tn_apply(w->inner, 1, &h[0]);
        y = tn_apply(w->inner, 1, &y);
    }
    static const tn_trace_many_fn branch[3] = {flat, steep, flat};
    tn_switch(tn_argmax(y, 0), 3, branch, outer, 1, &y, 1, &y);
    y = tn_checkpoint(region, NULL, NULL, 1, &y);
    y = tn_checkpoint_name(tn_custom_jvp(soft, soft_jvp, NULL, 1, &y), "soft");
    y = tn_custom_vjp(product, product_fwd, 2, product_bwd, NULL, 2, ((tn_val[]){y, x}));
    for (int i = 0; i < 9; i++) r[i] = i % 2 ? outer[0] : x;
    tn_linear_call_many(weighted, weighted, NULL, 9, r, 1, &y, 1, &y);
    y = roots(y, outer[0]);
    y = tn_external(w->c, "cube", 1, &y);
    y = tn_external(w->c, "twice", 1, &y);
    return tn_add(tn_sum(tn_matmul(y, in[1])), h[1]);
}

tn_fn *nested_program(world *w) { return tn_trace(w->c, nested, w, 2, TN_TYPES(tn_f64(N), tn_f64(N, 2))); }

/* ---- loops -------------------------------------------------------------------------------- */

/* Captures w[0]; its own inner loop captures its carry. */
static void fall(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const tn_val *x = user;
    next[0] = tn_mul(carry[0], tn_sin(tn_mul(tn_convert(i, TN_F64), x[0])));
}

static void step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const tn_val *w = user;
    const tn_loop_options o = {.size = sizeof o, .schedule = "all_save"};
    tn_fori(NULL, 0, 2, fall, (void *)(uintptr_t)carry, 1, x, &next[0], &o);
    next[0] = tn_tanh(tn_add(tn_mul(carry[0], w[0]), next[0]));
    y[0] = tn_mul(next[0], tn_convert(tn_loop_step(tn_val_ctx(x[0])), TN_F64));
}

static tn_val below(const tn_val *in, void *user) { return (void)user, tn_lt(in[1], 3); }

static void turn(const tn_val *in, tn_val *out, void *user) {
    const tn_val *w = user;
    out[0] = tn_sin(tn_mul(in[0], tn_sum(w[0])));
    out[1] = tn_add(in[1], 1);
}

static tn_val loops(const tn_val *in, void *user) {
    (void)user;
    const tn_loop_options o = {.size = sizeof o, .reverse = true};
    tn_val h, ys, s[2];
    tn_scan(NULL, step, (void *)(uintptr_t)&in[0], .ncarry = 1, .init = &in[0], .nx = 1, .xs = &in[1], .carry = &h,
            .ny = 1, .ys = &ys, .reverse = o.reverse);
    s[0] = tn_add(tn_sum(ys), tn_sum(h)), s[1] = TN_VAL(0);
    tn_while_loop(NULL, below, turn, (void *)(uintptr_t)&in[0], 2, s, s, NULL);
    return s[0];
}

tn_fn *loop_program(world *w) { return tn_trace(w->c, loops, w, 2, TN_TYPES(tn_f64(N), tn_f64(2, N))); }

tn_fn *recurrent_program(world *w) {
    static const lstm m = {.steps = 3, .batch = 1, .width = 2};
    return lstm_traced(w->c, &m);
}

/* ---- every primitive ------------------------------------------------------------------------ */

/* x within [0.25, 0.75], where all of them have derivatives. */
static tn_val elementwise(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0], y = tn_at(in[1], 0, 0), k = in[2];
    tn_val one[] = {tn_neg(x),
                    tn_abs(x),
                    tn_sign(x),
                    tn_sqrt(x),
                    tn_rsqrt(x),
                    tn_cbrt(x),
                    tn_square(x),
                    tn_exp(x),
                    tn_exp2(x),
                    tn_expm1(x),
                    tn_log(x),
                    tn_log1p(x),
                    tn_sin(x),
                    tn_cos(x),
                    tn_tan(x),
                    tn_asin(x),
                    tn_acos(x),
                    tn_atan(x),
                    tn_sinh(x),
                    tn_cosh(x),
                    tn_tanh(x),
                    tn_asinh(x),
                    tn_acosh(tn_add(x, 1)),
                    tn_atanh(x),
                    tn_logistic(x),
                    tn_erf(x),
                    tn_erfc(x),
                    tn_erf_inv(x),
                    tn_lgamma(x),
                    tn_digamma(x),
                    tn_bessel_i0e(x),
                    tn_bessel_i1e(x),
                    tn_floor(x),
                    tn_ceil(x),
                    tn_round(x),
                    tn_stop_gradient(x),
                    tn_relu(x),
                    tn_leaky_relu(x, 0.1),
                    tn_elu(x, 1.0),
                    tn_gelu(x),
                    tn_gelu_tanh(x),
                    tn_log_sigmoid(x),
                    tn_silu(x),
                    tn_softplus(x),
                    tn_log1mexp(x),
                    tn_log2(x),
                    tn_log10(x),
                    tn_reciprocal(x)};
    tn_val two[] = {tn_add(x, y),          tn_sub(x, y),       tn_mul(x, y),           tn_div(x, y),
                    tn_rem(x, y),          tn_pow(x, y),       tn_pow(x, 3),           tn_maximum(x, y),
                    tn_minimum(x, y),      tn_atan2(x, y),     tn_polygamma(1, x),     tn_zeta(2, x),
                    tn_igamma(x, y),       tn_igammac(x, y),   tn_igamma_grad_a(x, y), tn_random_gamma_grad(x, y),
                    tn_betainc(2, 3, x), tn_hypot(x, y),     tn_logaddexp(x, y),     tn_xlogy(x, y),
                    tn_xlog1py(x, y),      tn_clip(x, 0.3, y), tn_fma(x, 2, y)};
    tn_val tests[] = {tn_eq(x, y), tn_ne(x, y),     tn_lt(x, y),  tn_le(x, y), tn_gt(x, y),
                      tn_ge(x, y), tn_is_finite(x), tn_is_nan(x), tn_is_inf(x)};
    tn_val s = x, b = tn_not(tests[0]);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) s = tn_add(s, one[i]);
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) s = tn_add(s, two[i]);
    for (size_t i = 1; i < sizeof tests / sizeof *tests; i++)
        b = i % 3 ? tn_and(b, tests[i]) : tn_or(tn_xor(b, tests[i]), b);
    s = tn_where(b, s, tn_mul(s, 2));
    return tn_add(tn_sum(s), tn_sum(tn_convert(tn_convert(k, TN_I64), TN_F64)));
}

tn_fn *elementwise_program(world *w) {
    return tn_trace(w->c, elementwise, w, 3, TN_TYPES(tn_f64(4), tn_f64(2, 2), tn_i32(3)));
}

static tn_val reductions(tn_val x, tn_val a) {
    tn_val y[2], s[] = {tn_prod(x),
                        tn_max(x),
                        tn_min(x),
                        tn_var(x),
                        tn_std(x),
                        tn_norm(x),
                        tn_logsumexp(x, 0),
                        tn_sum(tn_softmax(a, 1)),
                        tn_sum(tn_mul(tn_cumsum(x, 0), tn_cumprod(x, 0))),
                        tn_sum(tn_cummax(x, 0, TN_REVERSE)),
                        tn_sum(tn_cumlogsumexp(x, 0)),
                        tn_sum(tn_mul(tn_sort(x, 0), x)),
                        tn_sum(tn_prod_axis(a, 0)),
                        tn_mean(tn_max_axes(a, tn_ints(0, -1), TN_KEEPDIMS))};
    tn_val total = s[0], where = tn_add(tn_argmax(x, 0), tn_argmin(x, 0));
    for (size_t i = 1; i < sizeof s / sizeof *s; i++) total = tn_add(total, s[i]);
    tn_sort_many(tn_vals(x, tn_neg(x)), 0, 1, y);
    total = tn_add(total, tn_sum(tn_mul(y[0], y[1])));
    return tn_add(total, tn_convert(where, TN_F64));
}

static tn_val shapes(tn_ctx *c, tn_val x, tn_val a) {
    tn_val part[2];
    tn_split(x, tn_ints(2, 2), 0, part);
    tn_val s[] = {tn_flip(x, 0),
                  tn_roll(x, 1, 0),
                  tn_ravel(tn_permute(a, 1, 0)),
                  tn_concatenate(tn_vals(part[1], part[0]), 0),
                  tn_slice(tn_pad(x, 1.0, tn_ints(2), tn_ints(-1), tn_ints(1)), tn_ints(1), tn_ints(8), tn_ints(2)),
                  tn_ravel(tn_stack(tn_vals(part[0], part[1]), 1)),
                  tn_iota(c, tn_f64(4), 0),
                  tn_linspace(c, TN_F64, 0, 1, 4),
                  tn_tile(part[1], 2),
                  tn_sum_axis(tn_broadcast_to(x, 3, 4), 0),
                  tn_sum_axis(tn_eye(c, TN_F64, 4, 4), 0),
                  tn_squeeze(tn_expand_dims(x, 0), 0)};
    tn_val total = x;
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) total = tn_add(tn_mul(total, 0.5), s[i]);
    return tn_vdot(total, x);
}

static tn_val indexing(tn_val x, tn_val a, tn_val i) {
    tn_val j = tn_at(i, 0), u = tn_dynamic_slice(x, tn_vals(j), tn_ints(2));
    const tn_gather_dims g = {.collapsed_slice_dims = tn_ints(0), .start_index_map = tn_ints(0)};
    const tn_scatter_dims d = {.inserted_window_dims = tn_ints(0), .scatter_dims_to_operand_dims = tn_ints(0)};
    tn_val k = tn_expand_dims(i, 1), taken = tn_gather(x, k, &g, tn_ints(1));
    tn_val s[] = {tn_dynamic_update_slice(x, u, tn_vals(tn_at(i, 1))), tn_scatter_add(x, k, taken, &d),
                  tn_index_add(x, i, tn_take(x, i, 0, TN_CLIP_INDICES), 0), tn_segment_sum(tn_take(x, i, 0), i, 4)};
    tn_val total = tn_at(x, -1);
    for (size_t n = 0; n < sizeof s / sizeof *s; n++) total = tn_add(total, tn_vdot(s[n], x));
    total = tn_add(total, tn_dynamic_index(x, j, 0));
    total = tn_add(total, tn_sum(tn_take_along(a, tn_slice_axis(i, 0, 2, 1, 0), 1)));
    return tn_add(total, tn_sum(tn_mul(tn_one_hot(i, 4, TN_F64), x)));
}

static tn_val products(tn_ctx *c, tn_val x, tn_val a) {
    tn_val spd = tn_add(tn_matmul(a, tn_t(a)), tn_mul(tn_eye(c, TN_F64, 2, 2), 2.0)), l = tn_cholesky(spd);
    tn_val b = tn_reshape(x, 2, -1), lu, pivots, order;
    tn_lu(spd, &lu, &pivots, &order);
    tn_val s[] = {tn_solve(spd, b),
                  tn_lu_solve(lu, order, tn_at(b, 0), TN_SOLVE_TRANSPOSED),
                  tn_convert(pivots, TN_F64),
                  tn_triangular_solve(l, b, TN_SOLVE_LOWER),
                  tn_triangular_solve(l, b, TN_SOLVE_RIGHT | TN_SOLVE_TRANSPOSED | TN_SOLVE_UNIT_DIAGONAL),
                  tn_cholesky_solve(l, b),
                  tn_logdet(spd),
                  tn_einsum("ij,jk,kl->li", tn_vals(a, b, a)),
                  tn_einsum("...ii,ij", tn_vals(a, b)),
                  tn_tensordot(a, b, 1),
                  tn_reshape(tn_slice_axis(tn_ravel(tn_outer(x, x)), 0, 4, 1, 0), 2, 2),
                  tn_dot_general(a, b, tn_ints(0), tn_ints(0), tn_ints(), tn_ints()),
                  tn_dot(a, b),
                  tn_tril(a, 0),
                  tn_triu(b, 1)};
    tn_val total = tn_trace_of(a);
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) total = tn_add(total, tn_sum(s[i]));
    return tn_add(total, tn_sum(tn_diag(x)));
}

static tn_val arrays(const tn_val *in, void *user) {
    const world *w = user;
    tn_val x = in[0], a = in[1], i = in[2];
    return tn_add(tn_add(reductions(x, a), shapes(w->c, x, a)), tn_add(indexing(x, a, i), products(w->c, x, a)));
}

tn_fn *array_program(world *w) { return tn_trace(w->c, arrays, w, 3, TN_TYPES(tn_f64(4), tn_f64(2, 2), tn_i32(3))); }

/* x: [4] -> [2] */
static tn_val few(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = in[0], two = tn_slice_axis(x, 0, 2, 1, 0), turned = tn_roll(x, -1, 0);
    const tn_val norm = tn_sqrt(tn_sum_squares(x)), y = tn_slice_axis(tn_mul(turned, tn_sin(x)), 1, 3, 1, 0);
    return tn_add(tn_div(two, norm), tn_mul(y, tn_exp(tn_neg(tn_at(x, 3)))));
}

tn_fn *columns_program(world *w) {
    tn_fn *f = tn_trace(w->c, few, NULL, 1, TN_TYPES(tn_f64(4))), *j = tn_jacrev(f, NULL, NULL, 0);
    tn_fn *g = tn_vmap(j, 20, NULL, NULL);
    tn_fn_free(f);
    tn_fn_free(j);
    return g;
}

static tn_val ring(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0];
    for (int i = 0; i < 2; i++)
        x = tn_add(x, tn_mul(0.1, tn_add(tn_sub(tn_roll(x, 1, 0), tn_mul(2, x)), tn_roll(tn_square(x), -1, 0))));
    const tn_val inner = tn_slice_axis(x, 1, 63, 1, 0);
    x = tn_add(x, tn_pad(tn_mul(inner, 2), 0.0, tn_ints(1), tn_ints(1), tn_ints(0)));
    return tn_sum_squares(x);
}

tn_fn *ring_program(world *w) {
    tn_fn *f = tn_trace(w->c, ring, NULL, 1, TN_TYPES(tn_f64(64))), *g = tn_grad(f, NULL, NULL);
    tn_fn_free(f);
    return g;
}

/* ---- small ones --------------------------------------------------------------------------------- */

static tn_val power(const tn_val *in, void *user) {
    (void)user;
    return tn_integer_pow(tn_sin(in[0]), 3);
}

static void small(const tn_val *in, tn_val *out, void *user) {
    const tn_dtype *dtype = user;
    tn_val y = tn_subfn("power", power, NULL, 1, &in[0]), z = tn_tanh(tn_matmul(y, in[1]));
    out[0] = tn_sum(tn_mul(z, z));
    out[1] = tn_mul(y, tn_constant(tn_val_ctx(y), tn_type_of(*dtype, 1, (const int64_t[]){N}), (const double[N]){0}));
    out[2] = tn_argmax(z, 0);
}

static tn_fn *small_of(world *w, tn_dtype dtype) {
    const int64_t dims[2] = {N, 2};
    return tn_trace_many(w->c, small, &dtype, 2, TN_TYPES(tn_type_of(dtype, 1, dims), tn_type_of(dtype, 2, dims)), 3);
}

tn_fn *small_program(world *w) { return small_of(w, TN_F64); }
tn_fn *single_program(world *w) { return small_of(w, TN_F32); }

static tn_val external_single(const tn_val *in, void *user) {
    const world *w = user;
    tn_val y = tn_external(w->c, "single", 1, in);
    return tn_sum(tn_mul(y, y));
}

tn_fn *external_single_program(world *w) { return tn_trace(w->c, external_single, w, 1, TN_TYPES(tn_f32(N))); }

const char jax_text[] = "{ lambda a:f64[2,1] ; b:float64[2,3] c:i32[]. let\n"
                        "    d:f64[2,3] = mul a b\n"
                        "    e:f64[2,3] = add d 1.5\n"
                        "    f:f64[6] = reshape[dimensions=None new_sizes=(6,) sharding=None] e\n"
                        "    g:f64[6] = pjit[name=f jaxpr={ lambda ; x:f64[6]. let y:f64[6] = integer_pow[y=3] x\n"
                        "        z:f64[6] = select_n True x y in (z,) }] f\n"
                        "    h:f64[1] = dynamic_slice[slice_sizes=(1,)] g c\n"
                        "    i:f64[] = squeeze[dimensions=(0,)] h\n"
                        "    j:f64[3,2] = transpose[permutation=(1, 0)] b\n"
                        "    k:f64[2,2] = dot_general[dimension_numbers=(([1], [0]), ([], [])) precision=None "
                        "preferred_element_type=float64] b j\n"
                        "    l:f64[] = reduce_sum[axes=(0, 1) out_sharding=None] k\n"
                        "    m:f64[] = add_any l i\n"
                        "    n:i32[1] = broadcast_in_dim[shape=(1,) broadcast_dimensions=() sharding=None] c\n"
                        "    o:f64[6] = scatter-add[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(), "
                        "inserted_window_dims=(0,),\n"
                        "        scatter_dims_to_operand_dims=(0,)) indices_are_sorted=True unique_indices=True "
                        "mode=GatherScatterMode.FILL_OR_DROP\n"
                        "        update_jaxpr=None update_consts=()] g n i\n"
                        "    p:f64[6] = constant[value=[1.0, 2.0, 3.0, 4.0, -inf, nan]]\n"
                        "    q:f64[6] = custom_jvp_call[name=s call_jaxpr={ lambda ; x:f64[6]. let y:f64[6] = sin x in "
                        "(y,) } jvp=None num_consts=0 symbolic_zeros=False] p\n"
                        "    r:f64[6] = name[name=\"a\\x41\\n\"] o\n"
                        "  in (m, q, r, 2.0:f64[]) }\n";

static const char loops_text[] =
    "{ lambda n:i64[] a:f64[3] . let\n"
    "    m:i64[] = add 2:i64[] n\n"
    "    b:f64[3] ks:i64[?] yss:f64[?,?,3] = scan[program={ lambda a:f64[3] . let\n"
    "        c:f64[3] k:i64[] ys:f64[?,3] = while[cond={ lambda a:f64[3] . let s:f64[] = reduce_sum[axes=(0,)] a\n"
    "            p:bool[] = lt s 9.0:f64[] in (p) } body={ lambda i:i64[] a:f64[3] . let b:f64[3] = add a 1.5:f64[]\n"
    "            in (b, a) } cond_nconsts=0 body_nconsts=0 index=True count=True] a\n"
    "        d:f64[3] = mul c 0.25:f64[] in (d, k, ys) } num_consts=0 num_carry=1] m a\n"
    "    c:f64[3] i:i64[] = scan[program={ lambda c:f64[3] i:i64[] k:i64[] ys:f64[?,3] . let\n"
    "        d:f64[3] = scan[program={ lambda c:f64[3] y:f64[3] . let d:f64[3] = mul c 0.5:f64[] e:f64[3] = add d y\n"
    "            in (e) } num_consts=0 num_carry=1 reverse=True] k c ys\n"
    "        j:i64[] = add i k in (d, j) } num_consts=0 num_carry=2 reverse=True] m b 0:i64[] ks yss\n"
    "  in (c, i) }\n";

tn_fn *loops_program(world *w) { return tn_fn_parse(w->c, loops_text, sizeof loops_text - 1, "loops.tn"); }
/* ---- solves of differential equations -------------------------------------------------------------------- */

static void ode_field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)user;
    dy[0] = tn_mul(y[0], p[0]);
    dy[1] = tn_mul(tn_sum(y[0]), t);
}

static tn_val ode_event(tn_val t, const tn_val *y, const tn_val *p, void *user) {
    (void)t, (void)p, (void)user;
    return tn_sub(y[1], 2);
}

static void solves(const tn_val *in, tn_val *out, void *user) {
    tn_val y[4], ts_y[2], steps_y[2], dense_y[4];
    tn_ode_problem p = {.size = sizeof p, .field = ode_field, .nstate = 2, .y0 = in, .nparams = 1, .params = in + 2};
    tn_ode_options o = {.size = sizeof o, .solver = "Heun", .rtol = 1e-3, .save_steps = 9, .dense = 9};
    (void)user;
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_f64(1.5);
    o.ts = in[3];
    o.event = ode_event;
    tn_ode_solution s = {.size = sizeof s, .y = y, .ts_y = ts_y, .steps_y = steps_y, .dense_y = dense_y};
    tn_ode_solve(&p, &o, &s);
    tn_ode_evaluate(&s, 2, 0.5, y + 2);
    out[0] = tn_add(tn_sum(y[2]), tn_sum(ts_y[0]));
    o = (tn_ode_options){.size = sizeof o, .solver = "Kvaerno3", .steps = 2};
    tn_ode_solve(&p, &o, &s);
    out[1] = y[1];
}

tn_fn *ode_program(world *w) {
    return tn_trace_many(w->c, solves, NULL, 4, TN_TYPES(tn_f64(2), tn_f64(), tn_f64(), tn_f64(3)), 2);
}

/* in: y, p, ts */
static tn_val one_way_solves(const tn_val *in, void *user) {
    tn_val y[2], z[2], ts_y[2], residual;
    const tn_val zero[2] = {in[0], tn_mul(tn_sum(in[0]), 0)};
    tn_ode_problem p = {.size = sizeof p, .field = ode_field, .nstate = 2, .y0 = zero, .nparams = 1, .params = in + 1};
    tn_ode_options o = {.size = sizeof o, .solver = "Heun", .adjoint = "Backsolve", .rtol = 1e-3, .progress = 2};
    tn_ode_solution s = {.size = sizeof s, .y = y, .ts_y = ts_y};
    (void)user;
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_f64(1.5);
    o.ts = in[2];
    tn_ode_solve(&p, &o, &s);
    o = (tn_ode_options){.size = sizeof o, .solver = "Heun", .rtol = 1e-3};
    tn_ode_solution rest = {.size = sizeof rest, .y = z};
    tn_ode_steady(&p, &o, &rest, &residual);
    return tn_add(tn_add(tn_sum(y[0]), tn_sum(ts_y[1])), tn_sum(z[0]));
}

tn_fn *one_way_program(world *w) {
    return tn_trace(w->c, one_way_solves, NULL, 3, TN_TYPES(tn_f64(2), tn_f64(), tn_f64(3)));
}

static tn_val forward(const tn_val *in, void *user) { return tn_forward_only(tn_sin(in[0]), user); }
tn_fn *forward_program(world *w) { return tn_trace(w->c, forward, NULL, 1, TN_TYPES(tn_f64(3))); }

/* in: x, e, p */
static tn_val exchanges(const tn_val *in, void *user) {
    const tn_val x = in[0], e = in[1], p = in[2], k = tn_convert(tn_axis_index(user, "w"), TN_F64);
    tn_val y = tn_mul(tn_add(x, tn_mul(p, k)), tn_place(tn_sin(p), "w", 1));
    y = tn_add(y, tn_mul(tn_shift(y, "w", 1), tn_ppermute(y, "w", 0, 1, 1, 0)));
    y = tn_add(y, tn_mul(tn_pscan(y, "w", TN_EXCLUSIVE), tn_reduce_scatter(e, "w")));
    y = tn_add(y, tn_mul(tn_scatter_from(tn_all_to_all(e, "w"), "w", 0), tn_own(tn_all_gather(tn_sin(y), "w"), "w")));
    y = tn_add(y, tn_sum_axis(tn_gather_to(y, "w", 1), 0));
    const tn_val all = tn_mul(tn_pmax(y, "w"), tn_mul(tn_pmin(y, "w"), tn_pprod(y, "w")));
    tn_barrier(user, "w");
    return tn_sum(
        tn_mul(tn_add(all, tn_pick(y, "w", 0)), tn_add(tn_pmean(y, "w"), tn_psum(tn_vary(p, "w"), "w", TN_ORDERED))));
}

tn_fn *ranks_program(world *w) {
    static const char text[] = "grid (w=2)\n{ lambda . let in () }";
    tn_fn *f = tn_fn_parse(w->c, text, strlen(text), "grid.tn");
    if (!f) return NULL;
    tn_fn_free(f);
    const tn_type t[3] = {tn_varying(w->c, tn_f64(3), "w"), tn_varying(w->c, tn_f64(2, 3), "w"), tn_f64(3)};
    return t[0].rank < 0 || t[1].rank < 0 ? NULL : tn_trace(w->c, exchanges, w->c, 3, t);
}
