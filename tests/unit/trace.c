/* Tracing: what user calls become, where errors point, and what the operators compute. */
#include "ir/ir.h"
#include "prims/prim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static tn_ctx *checked(void) {
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    tn_ctx *c = tn_ctx_new(&opt);
    assert_non_null(c);
    return c;
}

static void *user_of(tn_ctx *c) { return c; }

/* ---- structure --------------------------------------------------------------------- */

static void prints(tn_trace_fn f, size_t nin, const tn_type *in, const char *expected) {
    tn_ctx *c = checked();
    tn_fn *p = tn_trace(c, f, user_of(c), nin, in);
    if (!p) fail_msg("%s", tn_error(c));
    char *text = tn_fn_print(p, NULL);
    assert_string_equal(text, expected);
    tn_text_free(c, text);
    tn_ctx_free(c);
}

static tn_val row_plus_column(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(tn_add(in[0], in[1]), 2);
}

static tn_val number_first(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(1u, tn_div(2.5f, in[0]));
}

static tn_val shared(const tn_val *in, void *user) {
    (void)user;
    tn_val dead = tn_exp(in[0]);
    (void)dead;
    return tn_add(tn_sin(in[0]), tn_sin(in[0]));
}

static void test_structure(void **state) {
    (void)state;
    prints(row_plus_column, 2, TN_TYPES(tn_f32(3), tn_f32(2, 1)),
           "{ lambda a:f32[3] b:f32[2,1] . let\n"
           "    c:f32[2,3] = broadcast_in_dim[shape=(2, 3) broadcast_dimensions=(1,)] a\n"
           "    d:f32[2,3] = broadcast_in_dim[shape=(2, 3) broadcast_dimensions=(0, 1)] b\n"
           "    e:f32[2,3] = add c d\n"
           "    f:f32[2,3] = broadcast_in_dim[shape=(2, 3) broadcast_dimensions=()] 2.0:f32[]\n"
           "    g:f32[2,3] = mul e f\n"
           "  in (g,) }\n");
    prints(number_first, 1, TN_TYPES(tn_f64()),
           "{ lambda a:f64[] . let\n    b:f64[] = div 2.5:f64[] a\n    c:f64[] = sub 1.0:f64[] b\n  in (c,) }\n");
    prints(shared, 1, TN_TYPES(tn_f64()), "{ lambda a:f64[] . let\n    b:f64[] = sin a\n    c:f64[] = add b b\n  in (c,) }\n");
}

/* ---- places and scopes ------------------------------------------------------------------ */

static uint32_t sin_line;

static tn_val scoped(const tn_val *in, void *user) {
    tn_ctx *c = user;
    sin_line = __LINE__ + 1;
    tn_val h = tn_sin(in[0]);
    tn_scope(c, "outer") {
        h = tn_cos(h);
        tn_scope(c, "in/ner") h = tn_exp(h);
        h = tn_tan(h);
    }
    tn_scope(c, "left") return tn_tanh(h);
    return h;
}

static void test_places(void **state) {
    (void)state;
    static const char *const scopes[] = {"", "outer", "outer/in.ner", "outer", "left"};
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, scoped, c, 1, TN_TYPES(tn_f64())); /* twice: what return left behind is gone */
    f = tn_trace(c, scoped, c, 1, TN_TYPES(tn_f64()));
    assert_non_null(f);
    assert_int_equal(f->neqn, COUNT(scopes));
    for (uint32_t i = 0; i < f->neqn; i++) {
        assert_string_equal(f->eqn[i].loc->scope, scopes[i]);
        assert_non_null(strstr(f->eqn[i].loc->file, "trace.c"));
    }
    assert_int_equal(f->eqn[0].loc->line, sin_line);
    assert_int_equal(f->eqn[1].loc->line, sin_line + 2);
    assert_string_equal(c->scope, "");
    tn_ctx_free(c);
}

/* A binding gives its own places. */
static tn_val bound(const tn_val *in, void *user) {
    (void)user;
    return tn_matmul_at(in[0], in[0], "model.py", 7);
}

static void test_binding(void **state) {
    (void)state;
    tn_ctx *c = checked();
    assert_null(tn_trace_at(c, bound, NULL, 1, TN_TYPES(tn_f64(2, 3)), "model.py", 30));
    assert_string_equal(tn_error(c), "model.py:7: matmul: operand 1: has 2 rows, but operand 0 has 3 columns "
                                     "(operands: f64[2,3], f64[2,3])");
    tn_ctx_free(c);
}

/* ---- errors --------------------------------------------------------------------------------- */

typedef struct bad {
    tn_trace_fn f;
    tn_status status;
    const char *message; /* behind "file:line: " */
} bad;

/* inputs: x f64[2,3], i i32[2,3], s f64[], v f64[4], b bool[2,3], r f32[2,3] */
#define BAD(name, expression)                                                                                          \
    static tn_val name(const tn_val *in, void *user) {                                                                 \
        (void)in, (void)user;                                                                                          \
        return expression;                                                                                             \
    }
#define X in[0]
#define I in[1]
#define S in[2]
#define V in[3]
#define B in[4]
#define R in[5]
BAD(bad_broadcast, tn_add(X, V))
BAD(bad_dtypes, tn_add(X, R))
BAD(bad_number, tn_mul(I, 2.5))
BAD(bad_big_number, tn_mul(I, 3000000000))
BAD(bad_f32, tn_mul(R, 1e300))
BAD(bad_u64, tn_add(tn_convert(I, TN_I64), UINT64_MAX))
BAD(bad_bool, tn_and(B, 2))
BAD(bad_sin, tn_sin(I))
BAD(bad_softmax, tn_softmax(I, 0))
BAD(bad_logsumexp, tn_logsumexp(X, 2))
BAD(bad_negative_axis, tn_sum_axis(X, -3, false))
BAD(bad_twice, tn_sum_axes(X, tn_ints(0, -2), false))
BAD(bad_where, tn_where(I, X, 0))
BAD(bad_mean, tn_mean(I))
BAD(bad_reshape, tn_reshape(X, 4, -1))
BAD(bad_reshape2, tn_reshape(X, -1, -1))
BAD(bad_squeeze, tn_squeeze(X, 0))
BAD(bad_permute, tn_permute(X, 0))
BAD(bad_at, tn_at(X, 0, 3))
BAD(bad_stack, tn_stack(tn_vals(X, V), 0))
BAD(bad_concat, tn_concatenate(tn_vals(X, V), 0))
BAD(bad_take, tn_take(X, S, 0))
BAD(bad_along, tn_take_along(X, V, 0))
BAD(bad_einsum, tn_einsum("ij,jk->ik", tn_vals(X, X)))
BAD(bad_einsum2, tn_einsum("ij,kj->iz", tn_vals(X, X)))
BAD(bad_einsum3, tn_einsum("ij,j", tn_vals(X)))
BAD(bad_einsum4, tn_einsum("ij->ii", tn_vals(X)))
BAD(bad_einsum5, tn_einsum("i1->i", tn_vals(X)))
BAD(bad_matmul, tn_matmul(S, X))
BAD(bad_cholesky, tn_cholesky(X))
BAD(bad_constant, tn_constant(user, tn_f64(2), NULL))
BAD(bad_zeros, tn_zeros(user, tn_f64(-1)))
BAD(bad_external, tn_external(user, "nothing", 1, in))
BAD(bad_rank, tn_outer(tn_tile(S, 1, 1, 1, 1, 1, 1, 1, 1), tn_expand_dims(tn_tile(S, 1, 1, 1, 1, 1, 1, 1, 1), 0)))
BAD(bad_output, TN_VAL(2.0))
BAD(bad_unset, (tn_val){0})
BAD(bad_numbers, tn_add(X, tn_add(1, 2)))
BAD(bad_apply, tn_apply(NULL, 1, in))

static const bad bads[] = {
    {bad_broadcast, TN_ETYPE, "add: operand 1: f64[4] does not broadcast with f64[2,3] (operands: f64[2,3], f64[4])"},
    {bad_dtypes, TN_ETYPE, "add: operand 1: dtype f32 differs from f64; use tn_convert (operands: f64[2,3], f32[2,3])"},
    {bad_number, TN_ETYPE, "mul: operand 1: number 2.5 is not representable in i32; use tn_convert on the array "
                           "(operands: i32[2,3], number 2.5)"},
    {bad_big_number, TN_ETYPE, "mul: operand 1: number 3000000000 is not representable in i32"},
    {bad_f32, TN_ETYPE, "mul: operand 1: number 1.0000000000000001e+300 is not representable in f32"},
    {bad_u64, TN_ETYPE, "add: operand 1: number 18446744073709551615 is not representable in i64"},
    {bad_bool, TN_ETYPE, "and: operand 1: number 2 is not representable in bool"},
    {bad_sin, TN_ETYPE, "sin: operand 0: sin is not defined for i32 (operands: i32[2,3])"},
    {bad_softmax, TN_ETYPE, "softmax: operand 0: needs f32 or f64, not i32; use tn_convert"},
    {bad_logsumexp, TN_EINVAL, "logsumexp: axis 2 is out of range for rank 2 (operands: f64[2,3])"},
    {bad_negative_axis, TN_EINVAL, "sum_axis: axis -3 is out of range for rank 2"},
    {bad_twice, TN_EINVAL, "sum_axes: axis 0 is given twice"},
    {bad_where, TN_ETYPE, "where: operand 0: must be bool, not i32; compare it with 0 (operands: i32[2,3], f64[2,3], f64[])"},
    {bad_mean, TN_ETYPE, "mean: operand 0: needs f32 or f64, not i32; use tn_convert"},
    {bad_reshape, TN_ETYPE, "reshape: 6 elements leave no size for dimension 1"},
    {bad_reshape2, TN_EINVAL, "reshape: dimension 1 is -1"},
    {bad_squeeze, TN_ETYPE, "squeeze: axis 0 has size 2, not 1"},
    {bad_permute, TN_EINVAL, "permute: takes every axis once: 2 axes, not 1"},
    {bad_at, TN_EINVAL, "at: operand 0: index 3 is outside axis 1 of size 3"},
    {bad_stack, TN_ETYPE, "stack: operand 1: the type differs from the first one's (operands: f64[2,3], f64[4])"},
    {bad_concat, TN_ETYPE, "concatenate: operand 1: "},
    {bad_take, TN_ETYPE, "take: operand 1: indices are i32 or i64, not f64"},
    {bad_along, TN_ETYPE, "take_along: operand 1: indices are i32 or i64, not f64"},
    {bad_einsum, TN_ETYPE, "einsum: operand 1: axis 0, 'j', has size 2, elsewhere 3"},
    {bad_einsum2, TN_EINVAL, "einsum: 'ij,kj->iz': the result has a letter that no operand has"},
    {bad_einsum3, TN_EINVAL, "einsum: 'ij,j': more terms than operands"},
    {bad_einsum4, TN_EINVAL, "einsum: 'ij->ii': the result repeats a letter"},
    {bad_einsum5, TN_EINVAL, "einsum: 'i1->i': "},
    {bad_matmul, TN_ETYPE, "matmul: operand 0: has rank 0; use tn_mul to scale"},
    {bad_cholesky, TN_ETYPE, "cholesky: operand 0: "},
    {bad_constant, TN_EINVAL, "constant: the data are NULL"},
    {bad_zeros, TN_ETYPE, "zeros: no valid type"},
    {bad_external, TN_ERULE, "external function 'nothing' is not registered (tn_external_register), in external"},
    {bad_rank, TN_ETYPE, "expand_dims: the result would have rank 9"},
    {bad_output, TN_EINVAL, "output 0: a plain number has no dtype; make it an array with tn_full"},
    {bad_unset, TN_EINVAL, "output 0: is not a traced value (it was never set)"},
    {bad_numbers, TN_EINVAL, "add: operand 1: is not a traced value: line "},
    {bad_apply, TN_EINVAL, "apply: the program is NULL"},
};

static void test_errors(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bads); i++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, bads[i].f, c, 6,
                            TN_TYPES(tn_f64(2, 3), tn_i32(2, 3), tn_f64(), tn_f64(4), tn_bool(2, 3), tn_f32(2, 3)));
        const char *text = strstr(tn_error(c), ": ");
        if (f || tn_last_status(c) != bads[i].status || !text || strncmp(text + 2, bads[i].message, strlen(bads[i].message)))
            fail_msg("%zu: expected '%s', got %d '%s'", i, bads[i].message, (int)tn_last_status(c), tn_error(c));
        assert_null(c->fns);
        assert_null(c->trace);
        tn_ctx_free(c);
    }
}

/* The first bad operation is the one reported, whatever happens later. */
static tn_val two_mistakes(const tn_val *in, void *user) {
    tn_ctx *c = user;
    tn_val bad1 = tn_matmul(in[0], in[0]);
    tn_val bad2 = tn_add(in[0], tn_sum_axis(bad1, 7, false));
    assert_int_equal(tn_rank(bad1), -1);
    assert_int_equal(tn_dim(bad2, 0), -1);
    assert_int_equal(tn_size(bad2), -1);
    assert_null(tn_trace(c, bad_unset, c, 0, NULL)); /* overwrites the context's message */
    return tn_mul(bad2, tn_subfn("never", bad_unset, c, 1, &bad2));
}

static void test_first_error(void **state) {
    (void)state;
    tn_ctx *c = checked();
    assert_null(tn_trace(c, two_mistakes, c, 1, TN_TYPES(tn_f64(2, 3))));
    assert_non_null(strstr(tn_error(c), "matmul: operand 1"));
    tn_ctx_free(c);
}

static tn_val many_bad(const tn_val *in, void *user) {
    (void)user;
    return tn_hypot(tn_convert(in[0], TN_I32), tn_convert(in[0], TN_I32));
}

/* A primitive inside a composition is reported with the composition. */
static tn_val inner_name(const tn_val *in, void *user) {
    (void)user;
    return tn_log2(tn_convert(in[0], TN_I32));
}

static void test_composition_named(void **state) {
    (void)state;
    tn_ctx *c = checked();
    assert_null(tn_trace(c, many_bad, NULL, 1, TN_TYPES(tn_f64())));
    assert_non_null(strstr(tn_error(c), "hypot: operand 0: needs f32 or f64, not i32"));
    assert_null(tn_trace(c, inner_name, NULL, 1, TN_TYPES(tn_f64())));
    assert_non_null(strstr(tn_error(c), "log is not defined for i32 (operands: i32[]), in log2"));
    tn_ctx_free(c);
}

static tn_val kept; /* what must not be used any more */
static tn_val keep(const tn_val *in, void *user) {
    (void)user;
    return kept = in[0];
}
static tn_val use_kept(const tn_val *in, void *user) {
    (void)user;
    return tn_add(in[0], kept);
}

static void test_foreign_values(void **state) {
    (void)state;
    tn_ctx *c = checked(), *d = checked();
    assert_non_null(tn_trace(c, keep, NULL, 1, TN_TYPES(tn_f64())));
    assert_null(tn_trace(c, use_kept, NULL, 1, TN_TYPES(tn_f64())));
    assert_non_null(strstr(tn_error(c), "add: operand 1: is a value of a trace that has ended (operands: f64[], ?)"));
    assert_null(tn_trace(d, use_kept, NULL, 1, TN_TYPES(tn_f64())));
    assert_non_null(strstr(tn_error(d), "add: operand 1: belongs to another context"));
    assert_int_equal(tn_rank(tn_sin(kept)), -1);
    assert_non_null(strstr(tn_error(c), "sin: no trace is active"));
    assert_null(tn_trace(c, NULL, NULL, 0, NULL));
    assert_null(tn_trace(NULL, keep, NULL, 0, NULL));
    assert_null(tn_trace(c, keep, NULL, 1, TN_TYPES(tn_type_of(TN_F64, 9, NULL))));
    tn_ctx_free(c);
    tn_ctx_free(d);
}

/* ---- nested programs -------------------------------------------------------------------------- */

static const tn_val *outer; /* inputs of the enclosing trace */

static tn_val body_captures(const tn_val *in, void *user) {
    (void)user;
    tn_val scaled_in = tn_mul(in[0], outer[1]); /* C leaves the order of arguments open */
    return tn_add(scaled_in, tn_mul(outer[1], outer[2]));
}
static tn_val deeper(const tn_val *in, void *user) {
    return tn_subfn("inner", body_captures, user, 1, &in[0]);
}
static tn_val calls_twice(const tn_val *in, void *user) {
    outer = in;
    return tn_subfn("outer", deeper, user, 1, &in[0]);
}

static void test_capture(void **state) {
    (void)state;
    prints(calls_twice, 3, TN_TYPES(tn_f64(), tn_f64(), tn_f64()),
           "{ lambda a:f64[] b:f64[] c:f64[] . let\n"
           "    d:f64[] = call[\n"
           "        name=\"outer\"\n"
           "        program={ lambda a:f64[] b:f64[] c:f64[] . let\n"
           "            d:f64[] = call[\n"
           "                name=\"inner\"\n"
           "                program={ lambda a:f64[] b:f64[] c:f64[] . let\n"
           "                    d:f64[] = mul a b\n"
           "                    e:f64[] = mul b c\n"
           "                    f:f64[] = add d e\n"
           "                  in (f,) }\n"
           "              ] a b c\n"
           "          in (d,) }\n"
           "      ] a b c\n"
           "  in (d,) }\n");
}

static tn_val returns_outer(const tn_val *in, void *user) {
    (void)in, (void)user;
    return outer[0];
}
static tn_val independent(const tn_val *in, void *user) {
    outer = in;
    return tn_apply(tn_trace((tn_ctx *)user, returns_outer, user, 0, NULL), 1, in);
}
static tn_val custom_closed(const tn_val *in, void *user) {
    outer = in;
    return tn_custom_jvp(body_captures, returns_outer, user, 1, in);
}
static tn_val sub_in_custom(const tn_val *in, void *user) { return tn_subfn("s", body_captures, user, 1, in); }
static tn_val custom_closed_deep(const tn_val *in, void *user) {
    outer = in;
    return tn_custom_jvp(sub_in_custom, returns_outer, user, 1, in);
}

static void test_closed(void **state) {
    (void)state;
    static const struct {
        tn_trace_fn f;
        const char *message;
    } closed[] = {{independent, "output 0: is a value of an enclosing trace, which tn_trace does not take; pass it as an argument"},
                  {custom_closed, "mul: operand 1: is a value of an enclosing trace, which custom_jvp does not take"},
                  {custom_closed_deep, "mul: operand 1: is a value of an enclosing trace, which custom_jvp does not take"}};
    for (size_t i = 0; i < COUNT(closed); i++) {
        tn_ctx *c = checked();
        assert_null(tn_trace(c, closed[i].f, c, 3, TN_TYPES(tn_f64(), tn_f64(), tn_f64())));
        if (!strstr(tn_error(c), closed[i].message)) fail_msg("%zu: %s", i, tn_error(c));
        assert_null(c->fns);
        tn_ctx_free(c);
    }
}

/* ---- running ------------------------------------------------------------------------------------ */

static void run(const tn_fn *f, const void *const *in, void *const *out) {
    assert_non_null(f);
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static void close_to(const double *got, const double *want, size_t n, double tolerance) {
    for (size_t i = 0; i < n; i++) {
        bool same = isnan(want[i]) ? isnan(got[i]) : isinf(want[i]) ? got[i] == want[i]
                                                                    : fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i]));
        if (!same) fail_msg("element %zu: %.17g, expected %.17g", i, got[i], want[i]);
    }
}

/* Value and derivative of an elementwise f at n points (forward and reverse agree). */
static void at_points(tn_trace_fn f, size_t n, const double *x, const double *y, const double *dy) {
    tn_ctx *c = checked();
    double got[16], slope[16], back[16], ones[16];
    for (size_t i = 0; i < n; i++) ones[i] = 1;
    tn_fn *p = tn_trace(c, f, c, 1, TN_TYPES(tn_f64((int64_t)n)));
    if (!p) fail_msg("%s", tn_error(c));
    run(tn_jvp(p, NULL), TN_INPUTS(x, ones), TN_OUTPUTS(got, slope));
    close_to(got, y, n, 1e-14);
    close_to(slope, dy, n, 1e-14);
    run(tn_vjp(p, NULL, NULL), TN_INPUTS(x, ones), TN_OUTPUTS(NULL, back));
    close_to(back, dy, n, 1e-14);
    tn_ctx_free(c);
}

#define POINTWISE(name, expression)                                                                                    \
    static tn_val name(const tn_val *in, void *user) {                                                                 \
        (void)user;                                                                                                    \
        return expression;                                                                                             \
    }
POINTWISE(p_relu, tn_relu(in[0]))
POINTWISE(p_softplus, tn_softplus(in[0]))
POINTWISE(p_log_sigmoid, tn_log_sigmoid(in[0]))
POINTWISE(p_logaddexp, tn_logaddexp(in[0], 0.0))
POINTWISE(p_hypot, tn_hypot(in[0], 3.0))
POINTWISE(p_xlogy, tn_xlogy(in[0], 2.0))
POINTWISE(p_xlogy0, tn_xlogy(in[0], 0.0))
POINTWISE(p_log1mexp, tn_log1mexp(in[0]))
POINTWISE(p_clip, tn_clip(in[0], -1, 1))
POINTWISE(p_elu, tn_elu(in[0], 2.0))

static void test_kinks(void **state) {
    (void)state;
    const double inf = HUGE_VAL, ln2 = 0.693147180559945309417;
#define P(...) ((const double[]){__VA_ARGS__})
    at_points(p_relu, 4, P(-1, 0, 2, -inf), P(0, 0, 2, 0), P(0, 0, 1, 0));
    at_points(p_softplus, 6, P(0, 800, -800, -50, inf, -inf), P(ln2, 800, 0, exp(-50), inf, 0), P(.5, 1, 0, exp(-50), 1, 0));
    at_points(p_log_sigmoid, 4, P(0, 800, -800, 50), P(-ln2, 0, -800, -exp(-50)), P(.5, 0, 1, exp(-50)));
    at_points(p_logaddexp, 4, P(0, 800, -800, inf), P(ln2, 800, 0, inf), P(.5, 1, 0, 1));
    at_points(p_hypot, 4, P(4, -4, 3, 1e200), P(5, 5, 3 * sqrt(2), 1e200), P(.8, -.8, sqrt(.5), 1));
    at_points(p_xlogy, 2, P(0, 3), P(0, 3 * ln2), P(ln2, ln2));
    at_points(p_xlogy0, 1, P(0), P(0), P(0));
    at_points(p_log1mexp, 2, P(1e-20, 50), P(log(1e-20), -exp(-50)), P(1e20, exp(-50)));
    at_points(p_clip, 3, P(-1, 0.5, 1), P(-1, 0.5, 1), P(0, 1, 0));
    at_points(p_elu, 3, P(1, 0, -800), P(1, 0, -2), P(1, 2, 0));
}

/* Twice differentiable where two branches meet: softplus''(0) = 1/4. */
static void test_smooth_at_ties(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, p_softplus, NULL, 1, TN_TYPES(tn_f64()));
    double x = 0, h = 0;
    run(tn_grad(tn_grad(f, NULL, NULL), NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&h));
    close_to(&h, P(0.25), 1, 1e-15);
    tn_ctx_free(c);
}

/* One program, one result: the sum of |difference| of two ways to say the same. */
static double difference(tn_trace_fn f, size_t nin, const tn_type *in, const void *const *data) {
    tn_ctx *c = checked();
    double d = -1;
    tn_fn *p = tn_trace(c, f, c, nin, in);
    if (!p) fail_msg("%s", tn_error(c));
    run(p, data, TN_OUTPUTS(&d));
    tn_ctx_free(c);
    return d;
}

static tn_val apart(tn_val x, tn_val y) {
    for (int i = 0; i < tn_rank(x) || i < tn_rank(y); i++) assert_int_equal(tn_dim(x, i), tn_dim(y, i));
    return tn_sum(tn_abs(tn_sub(x, y)));
}

static tn_val same_products(const tn_val *in, void *user) { /* a [2,3,4], b [2,4,5], m [3,4], v [4] */
    (void)user;
    tn_val a = in[0], b = in[1], m = in[2], v = in[3];
    tn_val d = apart(tn_matmul(a, b), tn_einsum("bij,bjk->bik", tn_vals(a, b)));
    d = tn_add(d, apart(tn_matmul(a, v), tn_sum_axis(tn_mul(a, v), -1, false)));
    d = tn_add(d, apart(tn_matmul(m, b), tn_einsum("ij,...jk", tn_vals(m, b))));
    d = tn_add(d, apart(tn_tensordot(m, v, 1), tn_dot(m, v)));
    d = tn_add(d, apart(tn_einsum("ij,kj->ki", tn_vals(m, m)), tn_t(tn_matmul(m, tn_t(m)))));
    d = tn_add(d, apart(tn_outer(v, v), tn_einsum("i,j", tn_vals(v, v))));
    d = tn_add(d, apart(tn_einsum("ii->i", tn_vals(tn_outer(v, v))), tn_diag(tn_outer(v, v))));
    d = tn_add(d, apart(tn_trace_of(tn_outer(v, v)), tn_vdot(v, v)));
    d = tn_add(d, apart(tn_matmul(m, tn_diag(v)), tn_mul(m, v)));
    d = tn_add(d, apart(tn_einsum("ij,jk,k->i", tn_vals(m, tn_outer(v, v), v)), tn_mul(tn_dot(m, v), tn_vdot(v, v))));
    return d;
}

static tn_val same_shapes(const tn_val *in, void *user) {
    (void)user;
    tn_val a = in[0], m = in[2], v = in[3];
    tn_val rows[3] = {tn_at(m, 0), tn_at(m, 1), tn_at(m, -1)}, parts[2];
    tn_split(m, tn_ints(1, 2), 0, parts);
    tn_val d = apart(tn_stack(tn_vals_of(3, rows), 0), m);
    d = tn_add(d, apart(tn_concatenate(tn_vals_of(2, parts), 0), m));
    d = tn_add(d, apart(tn_moveaxis(a, 0, -1), tn_permute(a, 1, 2, 0)));
    d = tn_add(d, apart(tn_roll(v, 1, 0), tn_concatenate(tn_vals(tn_slice_axis(v, -1, 4, 1, 0), tn_slice_axis(v, 0, -1, 1, 0)), 0)));
    d = tn_add(d, apart(tn_flip(tn_flip(m, 0), 1), tn_reshape(tn_flip(tn_ravel(m), 0), 3, 4)));
    d = tn_add(d, apart(tn_add(tn_tril(m, 0), tn_triu(m, 1)), m));
    d = tn_add(d, apart(tn_tile(v, 3, 1), tn_broadcast_to(v, 3, 4)));
    d = tn_add(d, apart(tn_sum_axes(a, tn_ints(-1, 0), true), tn_expand_dims(tn_expand_dims(tn_sum_axis(tn_sum_axis(a, 0, false), 1, false), 0), -1)));
    d = tn_add(d, apart(tn_std(m), tn_sqrt(tn_sub(tn_mean(tn_square(m)), tn_square(tn_mean(m))))));
    d = tn_add(d, apart(tn_log_softmax(m, 1), tn_log(tn_softmax(m, -1))));
    d = tn_add(d, apart(tn_pad(v, 0, tn_ints(1), tn_ints(-1), tn_ints()), tn_mul(tn_roll(v, 1, 0), tn_convert(tn_ge(tn_arange(v.ctx, TN_I32, 4), 1), TN_F64))));
    return d;
}

static tn_val same_indices(const tn_val *in, void *user) { /* .., i i32[2] = {1, -1} */
    tn_ctx *c = user;
    tn_val m = in[2], v = in[3], i = in[4];
    tn_val d = apart(tn_take(m, i, 1), tn_stack(tn_vals(tn_at_at(tn_t(m), tn_ints(1), "", 0), tn_at(tn_t(m), 3)), 1));
    d = tn_add(d, apart(tn_take_along(tn_slice_axis(m, 0, 2, 1, 0), i, 1), tn_stack(tn_vals(tn_at(m, 0, 1), tn_at(m, 1, -1)), 0)));
    d = tn_add(d, apart(tn_matmul(tn_one_hot(tn_rem(tn_add(i, 4), 4), 4, TN_F64), v), tn_take(v, i, 0)));
    d = tn_add(d, apart(tn_index_add(tn_zeros(c, tn_f64(4)), i, tn_take(v, i, 0), 0), tn_mul(v, tn_constant(c, tn_f64(4), (double[]){0, 1, 0, 1}))));
    d = tn_add(d, apart(tn_dynamic_index(m, tn_at(i, 0), 0), tn_at(m, 1)));
    d = tn_add(d, apart(tn_dynamic_slice(m, tn_vals(tn_at(i, 0), TN_VAL(9)), tn_ints(2, 2)), tn_slice(m, tn_ints(1, 2), tn_ints(3, 4), tn_ints())));
    d = tn_add(d, apart(tn_take(tn_sort(v, 0), tn_argmax(tn_sort(v, 0), 0), 0), tn_max(v)));
    d = tn_add(d, apart(tn_take(v, tn_argsort(v, 0), 0), tn_sort(v, 0)));
    d = tn_add(d, apart(tn_segment_sum(v, tn_constant(c, tn_i32(4), (int32_t[]){1, 0, 1, 7}), 2), tn_stack(tn_vals(tn_at(v, 1), tn_add(tn_at(v, 0), tn_at(v, 2))), 0)));
    return d;
}

static void test_identities(void **state) {
    (void)state;
    double a[24], b[40], m[12], v[4] = {0.5, -1.25, 2, 0.75};
    const int32_t i[2] = {1, -1};
    for (int k = 0; k < 24; k++) a[k] = sin(1 + 3 * k);
    for (int k = 0; k < 40; k++) b[k] = cos(2 + 5 * k);
    for (int k = 0; k < 12; k++) m[k] = sin(7 * k) - 0.3;
    static const tn_trace_fn f[] = {same_products, same_shapes, same_indices};
    for (size_t k = 0; k < COUNT(f); k++) {
        double d = difference(f[k], 5, TN_TYPES(tn_f64(2, 3, 4), tn_f64(2, 4, 5), tn_f64(3, 4), tn_f64(4), tn_i32(2)),
                              TN_INPUTS(a, b, m, v, i));
        if (!(d >= 0 && d < 1e-12)) fail_msg("identities %zu differ by %g", k, d);
    }
}

static void everything_empty(const tn_val *in, tn_val *out, void *user) { /* e f64[0,3], s f64[], i i32[0] */
    (void)user;
    tn_val e = in[0], s = in[1], i = in[2];
    out[0] = tn_sum(e);
    out[1] = tn_max(e);
    out[2] = tn_mean(e);
    out[3] = tn_sum(tn_matmul(tn_t(e), e));
    out[4] = tn_sum(tn_einsum("ij,ik->jk", tn_vals(e, e)));
    out[5] = tn_prod(tn_take(tn_reshape(s, 1), i, 0));
    out[6] = tn_logsumexp(tn_reshape(e, 0), 0);
    out[7] = tn_add(tn_softmax(tn_reshape(s, 1), 0), tn_var_at(s, __FILE__, __LINE__));
    out[7] = tn_squeeze(out[7], 0);
    out[8] = tn_sum(tn_diag(tn_reshape(e, 0)));
    out[9] = tn_einsum(",->", tn_vals(s, s));
    out[10] = tn_at_at(s, tn_ints(), "", 0);
    out[11] = tn_sum(tn_tile(e, 2, 2));
}

static void test_empty(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double s = 3, got[12];
    void *out[12];
    for (int k = 0; k < 12; k++) out[k] = &got[k];
    tn_fn *f = tn_trace_many(c, everything_empty, NULL, 3, TN_TYPES(tn_f64(0, 3), tn_f64(), tn_i32(0)), 12);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, TN_INPUTS(&s, &s, &s), out);
    close_to(got, P(0, -HUGE_VAL, NAN, 0, 0, 1, -HUGE_VAL, 1, 0, 9, 3, 0), 12, 0);
    tn_ctx_free(c);
}

/* ---- rules of one's own ------------------------------------------------------------------------- */

static tn_val cube(const tn_val *in, void *user) {
    (void)user;
    return tn_pow(in[0], 3);
}
static tn_val cube_jvp(const tn_val *in, void *user) { /* ten times the true slope, to be recognized */
    (void)user;
    return tn_mul(tn_mul(30, tn_square(in[0])), in[1]);
}
static tn_val affine_jvp(const tn_val *in, void *user) {
    (void)user;
    return tn_add(in[1], 3);
}
static void cube_fwd(const tn_val *in, tn_val *out, void *user) {
    out[0] = cube(in, user);
    out[1] = tn_square(in[0]);
}
static void cube_bwd(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(tn_mul(30, in[0]), in[1]);
}
static tn_val with_jvp(const tn_val *in, void *user) { return tn_custom_jvp(cube, cube_jvp, user, 1, in); }
static tn_val with_affine(const tn_val *in, void *user) { return tn_custom_jvp(cube, affine_jvp, user, 1, in); }
static tn_val with_vjp(const tn_val *in, void *user) { return tn_custom_vjp(cube, cube_fwd, 1, cube_bwd, user, 1, in); }

static tn_val scaled(const tn_val *in, void *user) { /* residual k, x */
    (void)user;
    return tn_mul(in[0], tn_roll(in[1], 1, 0));
}
static tn_val scaled_t(const tn_val *in, void *user) {
    (void)user;
    return tn_roll(tn_mul(in[0], in[1]), -1, 0);
}
static tn_val with_linear(const tn_val *in, void *user) {
    return tn_sum(tn_square(tn_linear_call(scaled, scaled_t, user, 1, &in[0], in[1])));
}
static tn_val with_wrong_linear(const tn_val *in, void *user) {
    return tn_sum(tn_linear_call(scaled, scaled, user, 1, &in[0], in[1]));
}

static void test_custom_rules(void **state) {
    (void)state;
    static const tn_trace_fn f[] = {with_jvp, with_vjp};
    for (size_t k = 0; k < COUNT(f); k++) {
        tn_ctx *c = checked();
        tn_fn *p = tn_trace(c, f[k], c, 1, TN_TYPES(tn_f64()));
        if (!p) fail_msg("%s", tn_error(c));
        double x = 2, one = 1, y = 0, d = 0, h = 0;
        run(tn_jvp(p, NULL), TN_INPUTS(&x, &one), TN_OUTPUTS(&y, &d));
        close_to(P(y, d), P(8, 120), 2, 1e-15);
        run(tn_grad(p, NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&d));
        run(tn_grad(tn_grad(p, NULL, NULL), NULL, NULL), TN_INPUTS(&x), TN_OUTPUTS(&h));
        close_to(P(d, h), P(120, 120), 2, 1e-15);
        tn_ctx_free(c);
    }
}

static void test_rules_checked(void **state) {
    (void)state;
    /* also where the context checks nothing by itself */
    const tn_ctx_options opt = {.size = sizeof opt, .check = -1};
    tn_ctx *c = tn_ctx_new(&opt);
    assert_null(tn_trace(c, with_affine, c, 1, TN_TYPES(tn_f64())));
    assert_int_equal(tn_last_status(c), TN_ELINEAR);
    assert_non_null(strstr(tn_error(c), "trace.c:"));
    assert_null(tn_trace(c, with_wrong_linear, c, 2, TN_TYPES(tn_f64(3), tn_f64(3))));
    assert_non_null(strstr(tn_error(c), "linear_call"));
    assert_null(c->fns);
    tn_ctx_free(c);
}

static void test_linear_call(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *p = tn_trace(c, with_linear, c, 2, TN_TYPES(tn_f64(3), tn_f64(3)));
    if (!p) fail_msg("%s", tn_error(c));
    double g[3]; /* y_i = k_i x_{i-1}; d/dx_{i-1} = 2 k_i y_i */
    run(tn_grad(p, tn_wrt(1), NULL), TN_INPUTS(P(1, 2, 3), P(4, 5, 6)), TN_OUTPUTS(g));
    close_to(g, P(2 * 4 * 4, 2 * 9 * 5, 2 * 1 * 6), 3, 1e-15);
    tn_ctx_free(c);
}

static int twice(void *user, const void *const *in, void *const *out) {
    (void)user;
    for (int i = 0; i < 3; i++) ((double *)out[0])[i] = 2 * ((const double *)in[0])[i];
    return 0;
}
static tn_val external(const tn_val *in, void *user) { return tn_sum(tn_external(user, "twice", 1, in)); }
static void external_two(const tn_val *in, tn_val *out, void *user) { tn_external_many(user, "twice", 1, in, 2, out); }

static void test_external(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_external_spec spec = {.size = sizeof spec, .name = "twice", .nin = 1, .nout = 1,
                                   .in = TN_TYPES(tn_f64(3)), .out = TN_TYPES(tn_f64(3)), .fn = twice};
    assert_int_equal(tn_external_register(c, &spec), TN_OK);
    tn_fn *p = tn_trace(c, external, c, 1, TN_TYPES(tn_f64(3)));
    double y = 0;
    run(p, TN_INPUTS(P(1, 2, 3)), TN_OUTPUTS(&y));
    close_to(&y, P(12), 1, 0);
    assert_null(tn_trace_many(c, external_two, c, 1, TN_TYPES(tn_f64(3)), 2));
    assert_non_null(strstr(tn_error(c), "'twice' has 1 outputs, not 2"));
    tn_ctx_free(c);
}

/* ---- programs as operands ------------------------------------------------------------------------ */

static void sin_cos(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_sin(in[0]);
    out[1] = tn_cos(in[0]);
}
static tn_val uses_program(const tn_val *in, void *user) {
    tn_val out[2];
    tn_apply_many(user, 1, in, 2, out);
    return tn_add(tn_square(out[0]), tn_square(out[1]));
}
static tn_val uses_one(const tn_val *in, void *user) { return tn_apply(user, 1, in); }
static tn_val sub_many(const tn_val *in, void *user) {
    tn_val out[2];
    tn_subfn_many("sc", sin_cos, user, 1, in, 2, out);
    return tn_add(tn_square(out[0]), tn_square(out[1]));
}

static void test_apply(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *sc = tn_trace_many(c, sin_cos, NULL, 1, TN_TYPES(tn_f64()), 2);
    double x = 1.25, y = 0;
    run(tn_trace(c, uses_program, sc, 1, TN_TYPES(tn_f64())), TN_INPUTS(&x), TN_OUTPUTS(&y));
    close_to(&y, P(1), 1, 1e-15);
    run(tn_trace(c, sub_many, NULL, 1, TN_TYPES(tn_f64())), TN_INPUTS(&x), TN_OUTPUTS(&y));
    close_to(&y, P(1), 1, 1e-15);
    assert_null(tn_trace(c, uses_one, sc, 1, TN_TYPES(tn_f64())));
    assert_non_null(strstr(tn_error(c), "apply: the program has 2 outputs, not 1"));
    assert_null(tn_trace(c, uses_program, sc, 1, TN_TYPES(tn_f32())));
    assert_int_equal(tn_last_status(c), TN_ETYPE);
    tn_ctx_free(c);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

typedef struct door {
    long left; /* allocations that succeed */
} door;

static void *limited(void *user, void *p, size_t old_size, size_t new_size) {
    door *d = user;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return d->left-- > 0 ? realloc(p, new_size) : NULL;
}

static tn_val of_all_kinds(const tn_val *in, void *user) {
    outer = in;
    tn_val y = tn_subfn("f", body_captures, user, 1, in);
    y = tn_custom_jvp(cube, cube_jvp, user, 1, &y);
    y = tn_custom_vjp(cube, cube_fwd, 1, cube_bwd, user, 1, &y);
    tn_val row = tn_stack(tn_vals(y, in[0], in[1]), 0);
    row = tn_linear_call(scaled, scaled_t, user, 1, &row, row);
    row = tn_einsum("i,i,j->j", tn_vals(row, row, row));
    tn_scope((tn_ctx *)user, "end") row = tn_take(row, tn_arange(user, TN_I32, 2), 0);
    return tn_checkpoint_name(tn_sum(tn_mul(row, tn_linspace(user, TN_F64, 0, 1, 2))), "result");
}

static void test_no_memory(void **state) {
    (void)state;
    bool done = false;
    for (long n = 0; !done; n++) {
        door d = {.left = n};
        const tn_ctx_options opt = {.size = sizeof opt, .realloc = limited, .user = &d, .check = 1};
        tn_ctx *c = tn_ctx_new(&opt);
        if (!c) continue;
        tn_fn *f = tn_trace(c, of_all_kinds, c, 3, TN_TYPES(tn_f64(), tn_f64(), tn_f64()));
        done = f != NULL;
        if (!f && tn_last_status(c) != TN_ENOMEM) fail_msg("%ld: %s", n, tn_error(c));
        assert_null(c->trace);
        assert_string_equal(c->scope, "");
        if (!f) assert_null(c->fns);
        tn_ctx_free(c);
        assert_true(n < 100000);
    }
}

static tn_val long_chain(const tn_val *in, void *user) {
    (void)user;
    tn_val x = in[0];
    for (int i = 0; i < 100000; i++) x = i % 2 ? tn_sin(x) : tn_mul(x, in[0]);
    return x;
}

static void test_long(void **state) {
    (void)state;
    tn_ctx *c = checked();
    size_t before = tn_ctx_bytes(c);
    tn_fn *f = tn_trace(c, long_chain, NULL, 1, TN_TYPES(tn_f64()));
    assert_non_null(f);
    assert_int_equal(tn_fn_equations(f), 100000);
    assert_true(tn_ctx_peak_bytes(c) - before < 100000 * 1024u);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structure),   cmocka_unit_test(test_places),
        cmocka_unit_test(test_binding),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_first_error), cmocka_unit_test(test_composition_named),
        cmocka_unit_test(test_foreign_values), cmocka_unit_test(test_capture),
        cmocka_unit_test(test_closed),      cmocka_unit_test(test_kinks),
        cmocka_unit_test(test_smooth_at_ties), cmocka_unit_test(test_identities),
        cmocka_unit_test(test_empty),       cmocka_unit_test(test_custom_rules),
        cmocka_unit_test(test_rules_checked), cmocka_unit_test(test_linear_call),
        cmocka_unit_test(test_external),    cmocka_unit_test(test_apply),
        cmocka_unit_test(test_no_memory),   cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
