/* Tracing: what user calls become, and where errors point. */
#include "unit/tracing.h"

/* ---- structure --------------------------------------------------------------------- */

static void prints(tn_trace_fn f, size_t nin, const tn_type *in, const char *expected) {
    tn_ctx *c = checked();
    tn_fn *p = tn_trace(c, f, c, nin, in);
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
    prints(shared, 1, TN_TYPES(tn_f64()),
           "{ lambda a:f64[] . let\n    b:f64[] = sin a\n    c:f64[] = add b b\n  in (c,) }\n");
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
#define BAD(name, expression)                          \
    static tn_val name(const tn_val *in, void *user) { \
        (void)in, (void)user;                          \
        return expression;                             \
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
BAD(bad_negative_axis, tn_sum_axis(X, -3))
BAD(bad_twice, tn_sum_axes(X, tn_ints(0, -2)))
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
BAD(flag_sum_axis, tn_sum_axis(X, 0, 1))
BAD(flag_var_axis, tn_var_axis(X, 0, 1))
BAD(flag_norm_axis, tn_norm_axis(X, 0, 1))
BAD(flag_axes, tn_max_axes(X, tn_ints(0), TN_KEEPDIMS | TN_REVERSE))
BAD(flag_cumsum, tn_cumsum(X, 0, TN_KEEPDIMS))
BAD(flag_recurrence, tn_linear_recurrence(X, X, 0, true))
BAD(flag_take, tn_take(X, I, 0, TN_WRAP))
BAD(flag_along, tn_take_along(X, I, 0, 1u << 31))
BAD(flag_gather, tn_gather(X, I, &(const tn_gather_dims){.offset_dims = {0}}, tn_ints(1, 1), TN_ORDERED))
BAD(flag_pool, tn_avg_pool(X, &(const tn_window){.sizes = {0}}, true))

static const bad bads[] = {
    {bad_broadcast, TN_ETYPE, "add: operand 1: f64[4] does not broadcast with f64[2,3] (operands: f64[2,3], f64[4])"},
    {bad_dtypes, TN_ETYPE, "add: operand 1: dtype f32 differs from f64; use tn_convert (operands: f64[2,3], f32[2,3])"},
    {bad_number, TN_ETYPE,
     "mul: operand 1: number 2.5 is not representable in i32; use tn_convert on the array "
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
    {bad_where, TN_ETYPE,
     "where: operand 0: must be bool, not i32; compare it with 0 (operands: i32[2,3], f64[2,3], f64[])"},
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
    {bad_unset, TN_EINVAL, "output 0: is not a traced value (it was never set"},
    {bad_numbers, TN_EINVAL, "add: operand 1: is not a traced value: what made it in line "},
    {bad_apply, TN_EINVAL, "apply: the program is NULL"},
    {flag_sum_axis, TN_EINVAL, "sum_axis: flags: 0x1 is not among those it takes, 0x2"},
    {flag_var_axis, TN_EINVAL, "var_axis: flags: 0x1 is not among those it takes, 0x2"},
    {flag_norm_axis, TN_EINVAL, "norm_axis: flags: 0x1 is not among those it takes, 0x2"},
    {flag_axes, TN_EINVAL, "max_axes: flags: 0x4 is not"},
    {flag_cumsum, TN_EINVAL, "cumsum: flags: 0x2 is not among those it takes, 0x4"},
    {flag_recurrence, TN_EINVAL, "linear_recurrence: flags: 0x1 is not"},
    {flag_take, TN_EINVAL, "take: flags: 0x10 is not among those it takes, 0x40"},
    {flag_along, TN_EINVAL, "take_along: flags: 0x80000000 is not"},
    {flag_gather, TN_EINVAL, "gather: flags: 0x20 is not"},
    {flag_pool, TN_EINVAL, "avg_pool: flags: 0x1 is not among those it takes, 0x80"},
};

static void test_errors(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(bads); i++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, bads[i].f, c, 6,
                            TN_TYPES(tn_f64(2, 3), tn_i32(2, 3), tn_f64(), tn_f64(4), tn_bool(2, 3), tn_f32(2, 3)));
        const char *text = strstr(tn_error(c), ": ");
        if (f || tn_last_status(c) != bads[i].status || !text ||
            strncmp(text + 2, bads[i].message, strlen(bads[i].message)))
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
    tn_val bad2 = tn_add(in[0], tn_sum_axis(bad1, 7));
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
static tn_val deeper(const tn_val *in, void *user) { return tn_subfn("inner", body_captures, user, 1, &in[0]); }
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
    } closed[] = {
        {independent,
         "output 0: is a value of an enclosing trace, which tn_trace does not take; pass it as an argument"},
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

/* ---- size -------------------------------------------------------------------------------- */

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
        cmocka_unit_test(test_structure),      cmocka_unit_test(test_places),
        cmocka_unit_test(test_binding),        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_first_error),    cmocka_unit_test(test_composition_named),
        cmocka_unit_test(test_foreign_values), cmocka_unit_test(test_capture),
        cmocka_unit_test(test_closed),         cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
