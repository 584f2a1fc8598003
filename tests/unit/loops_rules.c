/* What the rules make of loops: nothing that is not needed, nothing twice, and each lane of a batch by itself. */
#include "amount.h"
#include "unit/tracing.h"

#include "prims/ids.h"

#include <stdio.h>

static tn_fn *parsed(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static tn_fn *made(tn_ctx *c, tn_fn *f) {
    if (!f) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_check(f), TN_OK);
    return f;
}

/* Equations of a primitive, in f and in what it runs. */
static size_t count(const tn_fn *f, int id) {
    size_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        n += e->prim->id == id;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            const tn_fn *const *g;
            const uint32_t m = tn_i_programs(&e->params->v[k], &g);
            for (uint32_t j = 0; j < m; j++) n += count(g[j], id);
        }
    }
    return n;
}

/* The program of the k-th scan of f itself. */
static const tn_fn *scanned(const tn_fn *f, int k) {
    for (uint32_t i = 0; i < f->neqn; i++)
        if (f->eqn[i].prim->id == TN_P_scan && k-- == 0) return f->eqn[i].params->v[0].u.fn;
    fail_msg("no such scan");
    return NULL;
}

#define RNN                                                                               \
    "{ lambda w:f64[3] h:f64[3] xs:f64[5,3] . let\n"                                      \
    "    c:f64[3] ys:f64[5,3] = scan[program={ lambda w:f64[3] c:f64[3] x:f64[3] . let\n" \
    "        a:f64[3] = mul w c\n"                                                        \
    "        b:f64[3] = sin a\n"                                                          \
    "        d:f64[3] = add b x\n"                                                        \
    "        e:f64[3] = exp w\n"                                                          \
    "        f:f64[3] = mul d e\n"                                                        \
    "      in (d, f) } length=5 num_consts=1 num_carry=1] w h xs\n"                       \
    "    s:f64[] = reduce_sum[axes=(0,)] c\n"                                             \
    "    t:f64[] = reduce_sum[axes=(0, 1)] ys\n"                                          \
    "    u:f64[] = mul s t\n"                                                             \
    "  in (u,) }"

/* y' = 0.99 y + g(i): linear in y, so its gradient does without the steps. */
#define AFFINE                                                                             \
    "{ lambda y:f64[4] . let\n"                                                            \
    "    i:f64[] z:f64[4] = scan[program={ lambda i:f64[] y:f64[4] . let\n"                \
    "        s:f64[] = sin i\n"                                                            \
    "        g:f64[4] = broadcast_in_dim[shape=(4,) broadcast_dimensions=()] s\n"          \
    "        a:f64[4] = broadcast_in_dim[shape=(4,) broadcast_dimensions=()] 0.99:f64[]\n" \
    "        b:f64[4] = mul a y\n"                                                         \
    "        c:f64[4] = add b g\n"                                                         \
    "        j:f64[] = add i 1.0:f64[]\n"                                                  \
    "      in (j, c) } length=1000 num_consts=0 num_carry=2] 0.0:f64[] y\n"                \
    "    s:f64[] = reduce_sum[axes=(0,)] z\n"                                              \
    "  in (s,) }"

/* Until it is at least 100; the condition depends on what is differentiated. */
#define GROW                                                                                  \
    "{ lambda a:f64[] x:f64[] . let\n"                                                        \
    "    y:f64[] = while[cond={ lambda y:f64[] . let p:bool[] = lt y 100.0:f64[] in (p,) }\n" \
    "      body={ lambda a:f64[] y:f64[] . let\n"                                             \
    "        z:f64[] = mul y a\n"                                                             \
    "        s:f64[] = sin z\n"                                                               \
    "        w:f64[] = add z s\n"                                                             \
    "        v:f64[] = add w 1.0:f64[]\n"                                                     \
    "      in (v,) } cond_nconsts=0 body_nconsts=1] a x\n"                                    \
    "  in (y,) }"

static void test_hoisting(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, RNN), *g = made(c, tn_grad(f, tn_wrt(0), NULL));
    assert_int_equal(count(scanned(g, 1), TN_P_exp), 0); /* of w alone: once, outside */
    assert_int_equal(count(scanned(g, 0), TN_P_exp) + count(g, TN_P_exp) <= 3, 1);
    assert_int_equal(count(g, TN_P_scan), 2);
    tn_ctx_free(c);
}

static void test_dead_loop(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, AFFINE), *g = made(c, tn_grad(f, tn_wrt(0), NULL));
    assert_int_equal(count(g, TN_P_scan), 1); /* the primal loop is gone, its clock too */
    assert_int_equal(count(g, TN_P_sin), 0);
    assert_int_equal(scanned(g, 0)->nin, 1);
    tn_fn *v = made(c, tn_value_and_grad(f, tn_wrt(0), NULL));
    assert_int_equal(count(v, TN_P_scan), 2);
    assert_int_equal(scanned(v, 0)->nout, 2); /* nothing is stacked */
    tn_ctx_free(c);
}

static const double weight[4] = {1.5, 1.25, 3.0, 1.1}, start[4] = {1.0, 99.5, 200.0, 7.0};

/* Lanes stop after different numbers of steps; each gives what it gives alone. */
static void lanes(tn_fn *f, tn_ctx *c, size_t nout) {
    const int axes[2] = {0, 0};
    tn_fn *v = made(c, tn_vmap(f, 4, axes, NULL));
    double all[2][4], one[2];
    run(v, (const void *[]){weight, start}, (void *[]){all[0], all[1]});
    for (int i = 0; i < 4; i++) {
        run(f, (const void *[]){&weight[i], &start[i]}, (void *[]){&one[0], &one[1]});
        for (size_t j = 0; j < nout; j++) assert_memory_equal(&all[j][i], &one[j], sizeof(double));
    }
}

static void test_batched_while(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, GROW);
    lanes(f, c, 1);
    tn_ctx_free(c);
}

static void test_batched_gradient_of_while(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, GROW);
    lanes(made(c, tn_grad(f, tn_wrt(0, 1), NULL)), c, 2);
    tn_ctx_free(c);
}

static void test_gradient_of_batched_while(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, GROW), *v = made(c, tn_vmap(f, 4, (const int[]){0, 0}, NULL));
    tn_fn *b = made(c, tn_vjp(v, tn_wrt(0, 1), NULL)), *g = made(c, tn_grad(f, tn_wrt(0, 1), NULL));
    const double ones[4] = {1, 1, 1, 1};
    double y[4], ct[2][4], one[2];
    run(b, (const void *[]){weight, start, ones}, (void *[]){y, ct[0], ct[1]});
    for (int i = 0; i < 4; i++) {
        run(g, (const void *[]){&weight[i], &start[i]}, (void *[]){&one[0], &one[1]});
        close_to(&ct[0][i], &one[0], 1, 1e-14);
        close_to(&ct[1][i], &one[1], 1, 1e-14);
    }
    tn_ctx_free(c);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* 2 y, and the largest y it was called with. */
static int twice(void *user, const void *const *in, void *const *out) {
    const double y = *(const double *)in[0];
    double *most = user;
    if (y > *most) *most = y;
    *(double *)out[0] = 2 * y;
    return 0;
}

static int twice_jvp(void *user, const void *const *in, void *const *out) {
    double *most = user;
    if (*(const double *)in[0] > *most) *most = *(const double *)in[0];
    *(double *)out[0] = 2 * *(const double *)in[1];
    return 0;
}

#define CALLING                                                                                                   \
    "{ lambda x:f64[] . let\n"                                                                                    \
    "    y:f64[] = while[cond={ lambda y:f64[] . let p:bool[] = lt y 100.0:f64[] in (p,) }\n"                     \
    "      body={ lambda y:f64[] . let\n"                                                                         \
    "        z:f64[] = external_call[name=\"twice\" mode=fn out=(f64[],) batch=() effect=False linear=False] y\n" \
    "      in (z,) } cond_nconsts=0 body_nconsts=0] x\n"                                                          \
    "  in (y,) }"

static void test_callbacks_see_running_lanes(void **state) {
    (void)state;
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    tn_ctx *c = tn_ctx_new(&opt);
    const tn_type t = tn_f64();
    double most = 0, y[4], dy[4];
    const double x[4] = {1, 99, 300, 30}, ones[4] = {1, 1, 1, 1};
    const tn_external_spec spec = {.size = sizeof spec,
                                   .name = "twice",
                                   .nin = 1,
                                   .nout = 1,
                                   .in = &t,
                                   .out = &t,
                                   .fn = twice,
                                   .jvp = twice_jvp,
                                   .vjp = twice_jvp,
                                   .user = &most};
    assert_int_equal(tn_external_register(c, &spec), TN_OK);
    tn_fn *f = parsed(c, CALLING), *v = made(c, tn_vmap(f, 4, NULL, NULL));
    run(v, (const void *[]){x}, (void *[]){y});
    close_to(y, P(128, 198, 300, 120), 4, 0);
    assert_true(most < 100); /* never called with what a lane stopped at */
    run(made(c, tn_jvp(v, tn_wrt(0))), (const void *[]){x, ones}, (void *[]){y, dy});
    close_to(dy, P(128, 2, 1, 4), 4, 0);
    run(made(c, tn_vjp(v, tn_wrt(0), NULL)), (const void *[]){x, ones}, (void *[]){y, dy});
    close_to(dy, P(128, 2, 1, 4), 4, 0);
    assert_true(most < 100);
    most = 0;
    run(made(c, tn_vmap(f, 0, NULL, NULL)), (const void *[]){x}, (void *[]){y}); /* no lanes */
    assert_true(most == 0);
    tn_ctx_free(c);
}

static const double w3[3] = {0.3, -0.7, 1.1}, h3[3] = {0.5, 0.2, -0.4};
static double xs[15];

static void test_jacobians(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, RNN);
    for (int i = 0; i < 15; i++) xs[i] = 0.1 * i - 0.6;
    const void *in[3] = {w3, h3, xs};
    double fwd[3], rev[3], h[9], hf[9];
    run(made(c, tn_jacfwd(f, tn_wrt(0), 0)), in, (void *[]){fwd});
    run(made(c, tn_jacrev(f, tn_wrt(0), NULL, 0)), in, (void *[]){rev});
    close_to(fwd, rev, 3, 1e-13);
    run(made(c, tn_hessian(f, tn_wrt(0), NULL, 0)), in, (void *[]){h});
    tn_fn *g = made(c, tn_grad(f, tn_wrt(0), NULL));
    run(made(c, tn_jacrev(g, tn_wrt(0), NULL, 0)), in, (void *[]){hf});
    close_to(h, hf, 9, 1e-12);
    tn_ctx_free(c);
}

static void test_batched_scan(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_value_and_grad(parsed(c, RNN), tn_wrt(0, 2), NULL));
    const int axes[3] = {0, -1, 1};
    tn_fn *v = made(c, tn_vmap(f, 2, axes, NULL));
    double w[2][3], x[5][2][3], lane[15], value[2], dw[2][3], dx[2][15], v1, dw1[3], dx1[15];
    for (int i = 0; i < 6; i++) w[i / 3][i % 3] = 0.2 * i - 0.5;
    for (int i = 0; i < 30; i++) x[i / 6][i / 3 % 2][i % 3] = 0.05 * i - 0.7;
    run(v, (const void *[]){w, h3, x}, (void *[]){value, dw, dx});
    for (int b = 0; b < 2; b++) {
        for (int i = 0; i < 15; i++) lane[i] = x[i / 3][b][i % 3];
        run(f, (const void *[]){w[b], h3, lane}, (void *[]){&v1, dw1, dx1});
        close_to(&value[b], &v1, 1, 1e-15);
        close_to(dw[b], dw1, 3, 1e-14);
        close_to(dx[b], dx1, 15, 1e-14);
    }
    tn_ctx_free(c);
}

/* One loop of unknown length read by two others backwards: the cotangents of its stacks are added. */
static void test_added_stacks(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, GROW), *g = made(c, tn_grad(f, tn_wrt(0, 1), NULL));
    tn_fn *h = made(c, tn_vjp(g, tn_wrt(0, 1), NULL)); /* reads what g stacks beside what it stacks itself */
    tn_fn *t = made(c, tn_vjp(h, tn_wrt(0, 1), NULL));
    const double a = 1.25, x = 3, u[4] = {1, -0.5, 0.25, 2}, eps = 1e-6;
    double got[8], up[4], down[4], lost[4];
    const void *in[8] = {&a, &x, &u[0], &u[1], &u[2], &u[3], &u[0], &u[1]};
    double ct[4] = {0, 0, 1, 0}; /* of h's outputs g0, g1, ct a, ct x: the derivative of ct a */
    const void *tin[8] = {&a, &x, &u[0], &u[1], &ct[0], &ct[1], &ct[2], &ct[3]};
    run(t, tin, (void *[]){&lost[0], &lost[1], &lost[2], &lost[3], &got[0], &got[1]});
    for (int k = 0; k < 2; k++) {
        double at[2] = {a, x};
        in[0] = &at[0];
        in[1] = &at[1];
        at[k] += eps;
        run(h, in, (void *[]){&up[0], &up[1], &up[2], &up[3]});
        at[k] -= 2 * eps;
        run(h, in, (void *[]){&down[0], &down[1], &down[2], &down[3]});
        const double slope = (up[2] - down[2]) / (2 * eps);
        close_to(&got[k], &slope, 1, 1e-5 * fabs(slope));
    }
    tn_ctx_free(c);
}

/* One of two loops of unknown length, of which the other would not do the same number of steps. */
#define EITHER                                                                                                    \
    "{ lambda x:f64[] n:i64[] p:bool[] . let\n"                                                                   \
    "    y:f64[] = cond[branches=(\n"                                                                             \
    "      { lambda x:f64[] n:i64[] . let\n"                                                                      \
    "          k:i64[] a:f64[] = while[cond={ lambda n:i64[] k:i64[] a:f64[] . let q:bool[] = lt k n in (q,) }\n" \
    "            body={ lambda k:i64[] a:f64[] . let\n"                                                           \
    "              m:i64[] = add k 1:i64[]\n"                                                                     \
    "              s:f64[] = sin a\n"                                                                             \
    "              b:f64[] = mul s 1.5:f64[]\n"                                                                   \
    "            in (m, b) } cond_nconsts=1 body_nconsts=0 schedule=\"%s\"] n 0:i64[] x\n"                        \
    "        in (a,) },\n"                                                                                        \
    "      { lambda x:f64[] n:i64[] . let\n"                                                                      \
    "          a:f64[] = while[cond={ lambda a:f64[] . let q:bool[] = lt a 9.0:f64[] in (q,) }\n"                 \
    "            body={ lambda x:f64[] a:f64[] . let\n"                                                           \
    "              b:f64[] = mul a a\n"                                                                           \
    "              d:f64[] = add b x\n"                                                                           \
    "            in (d,) } cond_nconsts=0 body_nconsts=1 schedule=\"%s\"] x x\n"                                  \
    "        in (a,) })] p x n\n"                                                                                 \
    "  in (y,) }"

enum { LANES = 4 };

/* g of each lane of x, n and p, those with axis -1 being lane 0's for all. */
static void each_lane(tn_ctx *c, tn_fn *g, const int axes[3]) {
    static const double x[LANES] = {1.1, 1.3, 0.9, 1.2};
    static const int64_t n[LANES] = {2, 3, 5, 1};
    static const bool p[LANES] = {true, false, false, true};
    double all[LANES], one;
    tn_fn *v = made(c, tn_vmap(g, LANES, axes, NULL));
    run(v, (const void *[]){x, n, p}, (void *[]){all});
    for (int i = 0; i < LANES; i++) {
        run(g, (const void *[]){&x[axes[0] < 0 ? 0 : i], &n[axes[1] < 0 ? 0 : i], &p[axes[2] < 0 ? 0 : i]},
            (void *[]){&one});
        close_to(&all[i], &one, 1, 1e-13 * fabs(one));
    }
}

static void test_batched_choice_of_loops(void **state) {
    (void)state;
    static const char *const schedules[] = {"all_save", "online:2", "nothing"}, *const policies[] = {
                                                                                    "min_cut", "everything_saveable",
                                                                                    "nothing_saveable", "min_bytes"};
    static const int axes[5][3] = {{0, 0, 0}, {0, 0, -1}, {0, -1, 0}, {-1, -1, 0}, {0, -1, -1}};
    for (size_t s = 0; s < sizeof schedules / sizeof *schedules; s++)
        for (size_t k = 0; k < sizeof policies / sizeof *policies; k++) {
            if (SANITIZED && !in_turn(s + k, 4)) continue;
            tn_ctx *c = checked();
            char text[2048];
            (void)snprintf(text, sizeof text, EITHER, schedules[s], schedules[s]);
            const tn_policy policy = {.size = sizeof policy, .name = policies[k]};
            tn_fn *f = parsed(c, text);
            for (int order = 1; order <= 3; order++) {
                f = made(c, tn_grad(f, tn_wrt(0), &policy));
                for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) each_lane(c, f, axes[i]);
            }
            tn_ctx_free(c);
        }
}

/* What a linear program of loops must not be. */
static void test_linearity(void **state) {
    (void)state;
    static const struct {
        const char *step, *why;
    } bad[] = {{"mul c c", "depend on linear inputs"},
               {"sin c", "not linear in any operand"},
               {"add c 1.0:f64[]", "is not linear, but operand 0 is"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        tn_ctx *c = checked();
        char text[512];
        (void)snprintf(text, sizeof text,
                       "{ lambda | x:f64[] . let y:f64[] = scan[program={ lambda c:f64[] . let d:f64[] = %s in (d,) } "
                       "length=3 num_consts=0 num_carry=1] x in (y,) }",
                       bad[k].step);
        assert_null(tn_fn_parse(c, text, strlen(text), "test"));
        if (!strstr(tn_error(c), bad[k].why)) fail_msg("%s", tn_error(c));
        tn_ctx_free(c);
    }
}

/* Zeros that a nested program is given, where a loop in it begins to add what is linear. */
static void test_zeros_given(void **state) {
    (void)state;
#define SUM                                                                                                        \
    "d:f64[2] = scan[program={ lambda c:f64[2] d:f64[2] . let e:f64[2] = add c d in (e,) } length=3 num_consts=1 " \
    "num_carry=1] c a"
    static const char *const given[] = {
        "scan[program={ lambda a:f64[2] c:f64[2] . let " SUM " in (d,) } length=2 num_consts=1 num_carry=1] z t",
        "scan[program={ lambda c:f64[2] a:f64[2] . let " SUM " in (d,) } length=2 num_consts=0 num_carry=1] t zs",
        "call[name=\"sum\" program={ lambda a:f64[2] c:f64[2] . let " SUM " in (d,) }] z t",
        "cond[branches=({ lambda a:f64[2] c:f64[2] . let " SUM " in (d,) }, { lambda a:f64[2] c:f64[2] . let in (c,) "
        "})] n z t"};
#undef SUM
    static const double want[] = {9, 9, 3, 3};
    for (size_t k = 0; k < sizeof given / sizeof *given; k++) {
        tn_ctx *c = checked();
        char text[1024];
        (void)snprintf(text, sizeof text,
                       "{ lambda n:i32[] | t:f64[2] . let z:f64[2] = broadcast_in_dim[shape=(2,) "
                       "broadcast_dimensions=()] 0.0:f64[] zs:f64[2,2] = broadcast_in_dim[shape=(2, 2) "
                       "broadcast_dimensions=()] 0.0:f64[] y:f64[2] = %s in (y,) }",
                       given[k]);
        const int32_t n = 0;
        const double t[2] = {1, -2}, twice[2] = {want[k], -2 * want[k]};
        double there[2], back[2];
        tn_fn *f = parsed(c, text), *g = made(c, tn_transpose(f));
        run(f, TN_INPUTS(&n, t), TN_OUTPUTS(there));
        run(g, TN_INPUTS(&n, t), TN_OUTPUTS(back));
        close_to(there, twice, 2, 0);
        close_to(back, twice, 2, 0);
        (void)made(c, tn_transpose(g));
        tn_ctx_free(c);
    }
}

/* How long a stack is depends on what ends its loop, which is another in each step of the loop around it. */
static void test_lengths_in_steps(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(
        c,
        "{ lambda x:f64[] w:f64[] . let y:f64[] z:f64[] = scan[program={ lambda w:f64[] c:f64[] e:f64[] . let "
        "f:f64[] n:i64[] ws:f64[?] = while[cond={ lambda c:f64[] . let g:bool[] = lt c 2.0:f64[] in (g,) } body={ "
        "lambda w:f64[] c:f64[] . let s:f64[] = add c 0.5:f64[] t:f64[] = mul w 1.5:f64[] in (s, t) } "
        "cond_nconsts=0 body_nconsts=1 count=True] w c k:f64[] = call[name=\"sum\" program={ lambda n:i64[] b:f64[] "
        "ws:f64[?] . let m:i64[] = steps ws e:f64[?] = scan[program={ lambda a:f64[] b:f64[] . let c:f64[] = mul a b "
        "in (c,) } num_consts=0 num_carry=0] m ws ws f:f64[] = scan[program={ lambda a:f64[] b:f64[] . let d:f64[] = "
        "sin b c:f64[] = add a d in (c,) } num_consts=0 num_carry=1] n b e in (f,) }] n e ws u:f64[] = sub c 0.6:f64[] "
        "in (u, k) } length=3 num_consts=1 num_carry=2] w x w in (y, z) }");
    const double x = 0.3, w = 0.4, one = 1;
    double y, z, dz[2], forward;
    run(made(c, tn_vjp(f, NULL, NULL)), TN_INPUTS(&x, &w, &one, &one), TN_OUTPUTS(&y, &z, &dz[0], &dz[1]));
    run(made(c, tn_jvp(f, tn_wrt(1))), TN_INPUTS(&x, &w, &one), TN_OUTPUTS(&y, &z, NULL, &forward));
    close_to(&dz[1], &forward, 1, 1e-13);
    /* 4, 5 and 6 steps: z = w + 15 sin (1.5 w)^2 */
    forward = 1 + 15 * 2 * 2.25 * w * cos(2.25 * w * w);
    close_to(&dz[1], &forward, 1, 1e-13);
    tn_ctx_free(c);
}

/* A while that carries nothing but what is linear takes no step, or never ends. */
static void test_while_of_linear_carries(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = parsed(c, "{ lambda n:i64[] | t:f64[2] . let y:f64[2] = while[cond={ lambda n:i64[] x:f64[2] . let "
                         "b:bool[] = lt n 0:i64[] in (b,) } body={ lambda x:f64[2] . let d:f64[2] = neg x in (d,) } "
                         "cond_nconsts=1 body_nconsts=0] n t in (y,) }");
    tn_fn *g = made(c, tn_transpose(f));
    const int64_t n = 0;
    const double t[2] = {1, -2};
    double back[2];
    run(g, TN_INPUTS(&n, t), TN_OUTPUTS(back));
    close_to(back, t, 2, 0);
    (void)made(c, tn_transpose(g));
    tn_ctx_free(c);
}

/* ---- what is refused --------------------------------------------------------------------- */

typedef struct outside {
    tn_val w, n;
} outside;

static void inner_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const outside *k = user;
    (void)i;
    next[0] = tn_sin(tn_mul(carry[0], k->w));
}

/* The loop inside is the same in every step. */
static void outer_step(tn_val i, const tn_val *carry, tn_val *next, void *user) {
    const outside *k = user;
    const tn_val begin = tn_mul(k->w, 0.5);
    tn_val x;
    (void)i;
    tn_fori(NULL, 0, k->n, inner_step, user, 1, &begin, &x, NULL);
    next[0] = tn_mul(carry[0], tn_sin(tn_mul(carry[0], x)));
}

static tn_val around_invariant(const tn_val *in, void *user) {
    outside k = {in[0], in[1]};
    tn_val y;
    tn_fori(NULL, 0, user ? in[1] : TN_VAL(5), outer_step, &k, 1, in, &y, NULL);
    return y;
}

/* Of five steps: the loop inside is in front of them. */
static void test_no_carried_stacks(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, around_invariant, NULL, 2, TN_TYPES(tn_f64(), tn_i64()));
    tn_fn *g = made(c, tn_grad(f, tn_wrt(0), NULL));
    const double x = 0.8;
    const int64_t n = 3;
    double reverse, forward;
    run(made(c, tn_grad(g, tn_wrt(0), NULL)), TN_INPUTS(&x, &n), TN_OUTPUTS(&reverse));
    run(made(c, tn_jvp(g, tn_wrt(0))), TN_INPUTS(&x, &n, P(1)), TN_OUTPUTS(NULL, &forward));
    close_to(&reverse, &forward, 1, 1e-12);
    tn_ctx_free(c);
}

/* Where there may be no step it stays, and its second derivative would carry sums of stacks: the transformation says
 * so, at the place. */
static void test_carried_stacks(void **state) {
    static bool counted;
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, around_invariant, &counted, 2, TN_TYPES(tn_f64(), tn_i64()));
    tn_fn *g = made(c, tn_grad(f, tn_wrt(0), NULL));
    assert_non_null(tn_compile(g, NULL));
    assert_non_null(made(c, tn_jvp(g, tn_wrt(0))));
    assert_null(tn_grad(g, tn_wrt(0), NULL));
    assert_int_equal(tn_last_status(c), TN_ERULE);
    if (!strstr(tn_error(c), "loops_rules.c:") || !strstr(tn_error(c), "scan: carries an array whose length"))
        fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hoisting),
                                       cmocka_unit_test(test_dead_loop),
                                       cmocka_unit_test(test_batched_while),
                                       cmocka_unit_test(test_batched_gradient_of_while),
                                       cmocka_unit_test(test_gradient_of_batched_while),
                                       cmocka_unit_test(test_callbacks_see_running_lanes),
                                       cmocka_unit_test(test_jacobians),
                                       cmocka_unit_test(test_batched_scan),
                                       cmocka_unit_test(test_batched_choice_of_loops),
                                       cmocka_unit_test(test_added_stacks),
                                       cmocka_unit_test(test_linearity),
                                       cmocka_unit_test(test_zeros_given),
                                       cmocka_unit_test(test_lengths_in_steps),
                                       cmocka_unit_test(test_while_of_linear_carries),
                                       cmocka_unit_test(test_no_carried_stacks),
                                       cmocka_unit_test(test_carried_stacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
