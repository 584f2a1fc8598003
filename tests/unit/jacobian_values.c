/* Values beside Jacobians and Hessians in one program, and programs with some of their outputs. */
#include <tansy.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

enum { ROOM = 64 };

static void assert_made(tn_ctx *c, const void *p) {
    if (!p) fail_msg("%s", tn_error(c));
}

static int counted(void *user, const tn_effect *e) {
    *(int *)user += e->kind == TN_PRINT;
    return 0;
}

/* Runs f at x, y; its outputs go to out, ROOM of 8 bytes each.  How often it prints. */
static int run(tn_ctx *c, const tn_fn *f, const double *x, const double *y, double (*out)[ROOM]) {
    int prints = 0;
    void *to[16];
    for (int j = 0; j < 16; j++) to[j] = out[j];
    memset(out, 0, 16 * sizeof *out);
    assert_made(c, f);
    assert_true(tn_fn_outputs(f) <= 16);
    tn_exec *e = tn_compile(
        f, &(tn_compile_options){.size = sizeof(tn_compile_options), .observer = counted, .observer_user = &prints});
    assert_made(c, e);
    assert_int_equal(tn_call(e, (const void *[]){x, y}, to), TN_OK);
    tn_exec_free(e);
    return prints;
}

/* (x[4], y[2]) -> (x[:2] y, whether x > 0, sum sin x), with a print */
static void f_wide(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(tn_slice_axis(in[0], 0, 2, 1, 0), in[1]);
    out[1] = tn_gt(in[0], 0.0);
    out[2] = tn_sum(tn_sin(in[0]));
    tn_print(in[1].ctx, "here", 1, &in[1]);
}
/* The same and outputs of more elements than inputs. */
static void f_tall(const tn_val *in, tn_val *out, void *user) {
    f_wide(in, out, user);
    out[3] = tn_mul(tn_expand_dims(in[0], 1), tn_expand_dims(tn_exp(in[1]), 0));
}
static const double at_x[4] = {0.3, -0.7, 1.1, 2.5}, at_y[2] = {-0.4, 0.9};

static void same_as_apart(tn_trace_many_fn what, size_t nout) {
    static double plain[16][ROOM], apart[16][ROOM], both[16][ROOM];
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    tn_fn *f = tn_trace_many(c, what, NULL, TN_ARGS(tn_f64(4), tn_f64(2)), nout);
    const tn_wrt_list *const wrts[] = {NULL, tn_wrt(1), tn_wrt(1, 0)};
    assert_int_equal(run(c, f, at_x, at_y, plain), 1);
    for (int k = 0; k < 3; k++)
        for (size_t block = 0; block < 3; block++) {
            const size_t n = (nout - 1) * (k == 1 ? 1 : 2);
            tn_fn *j = tn_jacfwd(f, wrts[k], block), *vj = tn_value_and_jacobian(f, wrts[k], NULL, block);
            assert_int_equal(run(c, j, at_x, at_y, apart), 1);
            assert_int_equal(run(c, vj, at_x, at_y, both), 1);
            assert_int_equal(tn_fn_outputs(vj), nout + n);
            assert_memory_equal(both, plain, nout * sizeof *both);
            for (size_t i = 0; i < n; i++)
                for (int e = 0; e < ROOM; e++) assert_true(fabs(both[nout + i][e] - apart[i][e]) < 1e-14);
        }
    tn_ctx_free(c);
}
static void jacobian_wide(void **state) {
    (void)state;
    same_as_apart(f_wide, 3);
}
static void jacobian_tall(void **state) {
    (void)state;
    same_as_apart(f_tall, 4);
}

/* No float output: values alone, and the effect once. */
static void positive(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_gt(in[0], 0.0);
    tn_print(in[1].ctx, "here", 1, &in[1]);
}
static void no_floats(void **state) {
    (void)state;
    static double out[16][ROOM];
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace_many(c, positive, NULL, TN_ARGS(tn_f64(4), tn_f64(2)), 1);
    assert_int_equal(run(c, tn_value_and_jacobian(f, NULL, NULL, 0), at_x, at_y, out), 1);
    assert_memory_equal(out[0], ((bool[]){true, false, true, true}), 4);
    tn_ctx_free(c);
}

/* ---- Hessians --------------------------------------------------------------------------- */

/* (x[4], y[2]) -> (a loss, how x is squared, which are large) */
static void loss(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val s = tn_square(in[0]);
    out[0] = tn_add(tn_mul(tn_sum(tn_sin(s)), tn_sum(in[1])), tn_mul(tn_sum(in[0]), tn_prod(in[1])));
    out[1] = s;
    out[2] = tn_gt(s, 1.0);
}

static void hessian_with_aux(void **state) {
    (void)state;
    static double plain[16][ROOM], gradient[16][ROOM], hessian[16][ROOM], all[16][ROOM], back[16][ROOM];
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    tn_fn *f = tn_trace_many(c, loss, NULL, TN_ARGS(tn_f64(4), tn_f64(2)), 3);
    tn_fn *only = tn_select_outputs(f, tn_ints(0)), *h = tn_hessian_aux(f, NULL, NULL, 0);
    (void)run(c, f, at_x, at_y, plain);
    (void)run(c, tn_grad(only, NULL, NULL), at_x, at_y, gradient);
    (void)run(c, tn_hessian(only, NULL, NULL, 0), at_x, at_y, hessian);
    (void)run(c, h, at_x, at_y, all);
    assert_int_equal(tn_fn_outputs(h), 3 + 2 + 4);
    assert_memory_equal(all, plain, 3 * sizeof *all);
    for (int e = 0; e < ROOM; e++) {
        for (int i = 0; i < 2; i++) assert_true(fabs(all[3 + i][e] - gradient[i][e]) < 1e-14);
        for (int i = 0; i < 4; i++) assert_true(fabs(all[5 + i][e] - hessian[i][e]) < 1e-13);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) assert_true(memcmp(&all[5][4 * i + j], &all[5][4 * j + i], 8) == 0); /* symmetric */
    tn_fn *blocks = tn_select_outputs(h, tn_ints(5, 8)); /* costs no more than what is asked for */
    assert_true(tn_fn_equations(blocks) < tn_fn_equations(h));
    (void)run(c, blocks, at_x, at_y, back);
    assert_memory_equal(back[0], all[5], sizeof *back);
    assert_memory_equal(back[1], all[8], sizeof *back);
    assert_null(tn_hessian_aux(tn_select_outputs(f, tn_ints(1)), NULL, NULL, 0)); /* no scalar */
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    tn_ctx_free(c);
}

/* ---- outputs ------------------------------------------------------------------------------ */

static void outputs(void **state) {
    (void)state;
    static double plain[16][ROOM], some[16][ROOM];
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .check = 1});
    tn_fn *f = tn_trace_many(c, f_tall, NULL, TN_ARGS(tn_f64(4), tn_f64(2)), 4);
    (void)run(c, f, at_x, at_y, plain);
    tn_fn *g = tn_select_outputs(f, tn_ints(2, 0, 2));
    assert_int_equal(run(c, g, at_x, at_y, some), 1); /* it still prints */
    assert_int_equal(tn_fn_outputs(g), 3);
    assert_memory_equal(some[0], plain[2], sizeof *some);
    assert_memory_equal(some[1], plain[0], sizeof *some);
    assert_memory_equal(some[2], plain[2], sizeof *some);
    assert_int_equal(tn_fn_inputs(g), 2);
    tn_fn *none = tn_select_outputs(f, tn_ints());
    assert_int_equal(run(c, none, at_x, at_y, some), 1);
    assert_int_equal(tn_fn_outputs(none), 0);
    assert_null(tn_select_outputs(f, tn_ints(0, 4)));
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "there is no output 4"));
    assert_null(tn_select_outputs(f, tn_ints(-1)));
    assert_null(tn_select_outputs(f, tn_ints_of(1, NULL)));
    assert_null(tn_select_outputs(NULL, tn_ints(0)));
    const tn_linearized l = tn_linearize(tn_select_outputs(f, tn_ints(0, 2)), NULL, NULL);
    assert_made(c, l.linear);
    tn_fn *half = tn_select_outputs(l.linear, tn_ints(1)), *back = tn_transpose(half); /* linear programs stay linear */
    assert_made(c, back);
    assert_int_equal(tn_fn_linear_inputs(half), 2);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jacobian_wide),    cmocka_unit_test(jacobian_tall), cmocka_unit_test(no_floats),
        cmocka_unit_test(hessian_with_aux), cmocka_unit_test(outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
