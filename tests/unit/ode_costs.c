/* What the adjoints of a solve with constant steps cost: the loops of a gradient, its residuals, bytes a step, and how
 * often the field is evaluated.  y' = -0.1 y + 0.1 sin(0.2 t), and the same with y^3; Tsit5, 2250 numbers, f32. */
#include "prims/prim.h"
#include "tansy/ode.h"
#include "unit/tracing.h"

enum { SIZE = 2250 };

typedef struct problem {
    bool cubic;
    const char *adjoint;
    int64_t steps;
    double end;
} problem;

static void field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    const problem *q = user;
    (void)p;
    const tn_val push = tn_mul(tn_sin(tn_mul(t, 0.2)), 0.1), pull = q->cubic ? tn_pow(y[0], 3) : y[0];
    dy[0] = tn_add(tn_mul(pull, -0.1), tn_convert(push, (tn_dtype)tn_val_type(y[0]).dtype));
}

/* in: y0, and the end's time where there is another input */
static void solved(const tn_val *in, tn_val end, const problem *q, tn_val *y) {
    tn_ode_problem p = {.size = sizeof p, .field = field, .user = (void *)(uintptr_t)q, .nstate = 1, .y0 = in};
    const tn_ode_options o = {.size = sizeof o, .adjoint = q->adjoint, .steps = q->steps};
    tn_ode_solution s = {.size = sizeof s, .y = y};
    p.t0 = tn_number_i64(0);
    p.t1 = end;
    tn_ode_solve(&p, &o, &s);
}
static tn_val loss(const tn_val *in, void *user) {
    const problem *q = user;
    tn_val y;
    solved(in, tn_number_f64(q->end), q, &y);
    return tn_sum(y);
}
static tn_val loss_until(const tn_val *in, void *user) {
    tn_val y;
    solved(in, in[1], user, &y);
    return tn_sum(y);
}

/* ---- counting ----------------------------------------------------------------------------------------------- */

typedef struct counted {
    int loops,
        steps; /* loops; equations that read or make an array of SIZE in loops against time, as primal ones run */
} counted;

static void count_step(const tn_fn *f, int *n) {
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        for (uint32_t j = 0; j < e->nout; j++) *n += f->val[e->out + j].type->rank > 0;
    }
}

/* Loops of f, nested ones too; and, of those that run from the first step on, equations of arrays. */
static counted count(const tn_fn *f) {
    counted c = {0, 0};
    for (uint32_t i = 0; i < f->neqn; i++) {
        const tn_i_eqn *e = &f->eqn[i];
        const bool loop = !strcmp(e->prim->name, "scan") || !strcmp(e->prim->name, "while");
        c.loops += loop;
        for (uint32_t k = 0; e->params && k < e->params->n; k++) {
            if (e->params->v[k].kind != TN_K_FN) continue;
            const counted inner = count(e->params->v[k].u.fn);
            c.loops += inner.loops;
            c.steps += inner.steps;
            const tn_i_spec *s = e->prim->params;
            int reverse = 0;
            for (uint32_t m = 0; s[m].name && m < e->params->n; m++)
                if (!strcmp(s[m].name, "reverse")) reverse = (int)e->params->v[m].u.i;
            if (loop && !reverse) count_step(e->params->v[k].u.fn, &c.steps);
        }
    }
    return c;
}

static double residual_bytes(const tn_fn *f, const tn_policy *policy) {
    tn_residual_totals t = {.size = sizeof t};
    tn_residuals *r = tn_saved_residuals(f, tn_wrt(0), policy);
    if (!r) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_residuals_total(r, &t), TN_OK);
    tn_residuals_free(r);
    return t.residual_bytes;
}

/* ---- the linear field: nothing needs storing, and the primal loop need not run --------------------------------- */

static void a_linear_field_keeps_nothing(void **state) {
    (void)state;
    static const char *const adjoint[] = {NULL, "RecursiveCheckpoint:3", "AllSave", "Direct"};
    static const char *const policy[] = {"min_cut", "everything_saveable", "nothing_saveable"};
    for (size_t k = 0; k < COUNT(adjoint); k++)
        for (int until = 0; until < 2; until++) {
            const problem q = {.adjoint = adjoint[k], .steps = 80000, .end = 8000};
            for (size_t p = 0; p < COUNT(policy); p++) {
                tn_ctx *c = checked();
                tn_fn *f = tn_trace(c, until ? loss_until : loss, (void *)(uintptr_t)&q, until ? 2 : 1,
                                    TN_TYPES(tn_f32(SIZE), tn_f64()));
                if (!f) fail_msg("%s", tn_error(c));
                const tn_policy *by = tn_policy_by_name(policy[p]);
                assert_true(residual_bytes(f, by) <= 4096);
                tn_fn *g = tn_grad(f, tn_wrt(0), by);
                const counted n = count(g);
                assert_int_equal(n.loops, 1); /* the transposed one; of the primal loop not even the clock */
                assert_int_equal(n.steps, 0);
                tn_exec *e = tn_compile(g, NULL);
                assert_true(e && tn_exec_bytes(e) < 20 * SIZE * sizeof(float) && tn_exec_bytes_per_step(e) == 0);
                const counted both = count(tn_value_and_grad(f, tn_wrt(0), by));
                assert_int_equal(both.loops, 2);
                tn_ctx_free(c);
            }
        }
}

static void a_linear_field_has_its_gradient(void **state) {
    (void)state;
    static const char *const adjoint[] = {NULL, "AllSave", "Direct", "Backsolve"};
    static float y0[SIZE], d[SIZE];
    for (int i = 0; i < SIZE; i++) y0[i] = 1 + (float)i / SIZE;
    for (size_t k = 0; k < COUNT(adjoint); k++) {
        const problem q = {.adjoint = adjoint[k], .steps = 100, .end = 10};
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, loss, (void *)(uintptr_t)&q, 1, TN_TYPES(tn_f32(SIZE)));
        run(tn_grad(f, NULL, NULL), TN_INPUTS(y0), TN_OUTPUTS(d));
        for (int i = 0; i < SIZE; i++) close_to(P((double)d[i]), P(exp(-1)), 1, 2e-6);
        tn_ctx_free(c);
    }
}

/* ---- the cubic field: AllSave
 * ---------------------------------------------------------------------------------------- */

static size_t bytes_of(const char *adjoint, const char *policy, int64_t steps) {
    const problem q = {.cubic = true, .adjoint = adjoint, .steps = steps, .end = 0.1 * (double)steps};
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, loss, (void *)(uintptr_t)&q, 1, TN_TYPES(tn_f32(SIZE)));
    tn_fn *g = tn_grad(f, NULL, tn_policy_by_name(policy));
    tn_exec *e = tn_compile(g, NULL);
    if (!e) fail_msg("%s", tn_error(c));
    assert_int_equal(tn_exec_bytes_per_step(e), 0);
    const size_t bytes = tn_exec_bytes(e);
    tn_ctx_free(c);
    return bytes;
}

static void bytes_a_step_are_bounded(void **state) {
    (void)state;
    enum { STEPS = 80000 };
    const double all = (double)bytes_of("AllSave", "everything_saveable", STEPS) / STEPS;
    const double cut = (double)bytes_of("AllSave", "min_cut", STEPS) / STEPS;
    if (!(all <= 54100)) fail_msg("%.1f bytes a step, everything saved", all);
    if (!(cut <= 9100)) fail_msg("%.1f bytes a step, min_cut", cut);
    /* 100 states, not 80000: the step's own arrays are a few dozen more */
    const size_t few = bytes_of(NULL, "min_cut", STEPS);
    assert_true(few < 200 * SIZE * sizeof(float));
    assert_int_equal(few, bytes_of(NULL, "min_cut", STEPS / 10));
}

/* Evaluations of y^3, counted by an external function in the field. */
static int evaluations;
static int cube(void *user, const void *const *in, void *const *out) {
    const double *x = in[0];
    (void)user;
    evaluations++;
    for (int i = 0; i < 3; i++) ((double *)out[0])[i] = x[i] * x[i] * x[i];
    return 0;
}
static int cube_jvp(void *user, const void *const *in, void *const *out) {
    const double *x = in[0], *dx = in[1];
    (void)user;
    for (int i = 0; i < 3; i++) ((double *)out[0])[i] = 3 * x[i] * x[i] * dx[i];
    return 0;
}
static void counting_field(tn_val t, const tn_val *y, const tn_val *p, tn_val *dy, void *user) {
    (void)t, (void)p, (void)user;
    dy[0] = tn_mul(tn_external(tn_val_ctx(y[0]), "cube", 1, y), -0.1);
}
static tn_val counting_loss(const tn_val *in, void *user) {
    tn_ode_problem p = {.size = sizeof p, .field = counting_field, .nstate = 1, .y0 = in};
    tn_val y;
    tn_ode_solution s = {.size = sizeof s, .y = &y};
    p.t0 = tn_number_i64(0);
    p.t1 = tn_number_i64(5);
    tn_ode_solve(&p, user, &s);
    return tn_sum(y);
}

static int field_evaluations(const char *adjoint, int64_t steps, const char *policy, double *d) {
    const tn_type type = tn_f64(3);
    const tn_external_spec spec = {.size = sizeof spec,
                                   .name = "cube",
                                   .nin = 1,
                                   .nout = 1,
                                   .in = &type,
                                   .out = &type,
                                   .fn = cube,
                                   .jvp = cube_jvp,
                                   .vjp = cube_jvp}; /* diagonal: its own transpose */
    const tn_ode_options o = {
        .size = sizeof o, .adjoint = adjoint, .steps = steps, .rtol = steps ? 0 : 1e-6, .atol = steps ? 0 : 1e-6};
    tn_ctx *c = checked();
    assert_int_equal(tn_external_register(c, &spec), TN_OK);
    tn_fn *f = tn_trace(c, counting_loss, (void *)(uintptr_t)&o, 1, &type);
    if (!f) fail_msg("%s", tn_error(c));
    evaluations = 0;
    run(policy ? tn_grad(f, NULL, tn_policy_by_name(policy)) : f, TN_INPUTS(P(1, 2, -0.5)), TN_OUTPUTS(d));
    tn_ctx_free(c);
    return evaluations;
}

/* With everything saved AllSave evaluates the field as often as the solve does: no step is repeated, nor a part of one.
 * Checkpoints repeat steps. */
static void all_save_repeats_nothing(void **state) {
    (void)state;
    for (int64_t steps = 0; steps <= 40; steps += 40) {
        double y, all[3], some[3];
        const int forward = field_evaluations("AllSave", steps, NULL, &y);
        if (steps) assert_int_equal(forward, 6 * 40);
        const int gradient = field_evaluations("AllSave", steps, "everything_saveable", all);
        if (steps)
            assert_int_equal(gradient, forward);
        else
            assert_int_equal(gradient, forward);
        assert_true(field_evaluations("RecursiveCheckpoint:3", steps, "everything_saveable", some) > 2 * forward);
        assert_memory_equal(all, some, sizeof all);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_linear_field_keeps_nothing), cmocka_unit_test(a_linear_field_has_its_gradient),
        cmocka_unit_test(bytes_a_step_are_bounded), cmocka_unit_test(all_save_repeats_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
