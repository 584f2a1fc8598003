/* Arguments of a call that say what they are: what does not fit the program is refused, and the message names it. */
#include "tansy/comm.h"
#include "tansy/sparse.h"
#include "tracing.h"

#include <stdlib.h>

static tn_val refused_by(const tn_val *in, void *user) {
    (void)user;
    return tn_add(tn_mul(in[0], tn_sum(in[1])), tn_convert(in[2], TN_F64));
}

static void two(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_mul(in[0], 2);
    out[1] = tn_add(in[1], in[0]);
}

static tn_exec *made(tn_ctx *c, const tn_fn *f, const tn_compile_options *o) {
    tn_exec *e = tn_compile(f, o);
    if (!e) fail_msg("%s", tn_error(c));
    return e;
}

static void refuses(tn_exec *e, const void *const *in, void *const *out, const char *why) {
    assert_int_equal(tn_call(e, in, out), TN_EINVAL);
    assert_string_equal(tn_exec_error(e), why);
}

static void what_does_not_fit(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, refused_by, NULL, TN_ARGS(tn_f64(3), tn_f64(2, 2), tn_i32()));
    tn_exec *e = made(c, f, NULL);
    double x[3] = {1, 2, 3}, m[2][2] = {{1, 0}, {0, 1}}, y[3] = {0}, few[2] = {0}, *at = x;
    float single[4] = {0};
    int32_t k = 1;
    int64_t wide = 1;
    long double narrow[3] = {0};

    assert_int_equal(tn_call(e, TN_INPUTS(x, m, &k), TN_OUTPUTS(y)), TN_OK);
    close_to(y, P(3, 5, 7), 3, 0);
    assert_int_equal(tn_call(e, TN_INPUTS(at, (void *)m, (char *)&k), TN_OUTPUTS(y)), TN_OK);
    refuses(e, TN_INPUTS(x, m), TN_OUTPUTS(y), "2 inputs are given, the program has 3: input 2 (i32[]) is missing");
    refuses(e, TN_INPUTS(x), TN_OUTPUTS(y), "1 inputs are given, the program has 3: input 1 (f64[2,2]) is missing");
    refuses(e, TN_INPUTS(), TN_OUTPUTS(y), "0 inputs are given, the program has 3: input 0 (f64[3]) is missing");
    refuses(e, TN_INPUTS(x, m, &k, &k), TN_OUTPUTS(y), "4 inputs are given, the program has 3");
    refuses(e, TN_INPUTS(x, m, &k), TN_OUTPUTS(),
            "0 outputs are given, the program has 1: output 0 (f64[3]) is missing");
    refuses(e, TN_INPUTS(x, m, &k), TN_OUTPUTS(y, x), "2 outputs are given, the program has 1");
    refuses(e, TN_INPUTS(x, &k, m), TN_OUTPUTS(y), "input 1 (f64[2,2]) is given a buffer of i32");
    refuses(e, TN_INPUTS(single, m, &k), TN_OUTPUTS(y), "input 0 (f64[3]) is given a buffer of f32");
    refuses(e, TN_INPUTS(x, m, &wide), TN_OUTPUTS(y), "input 2 (i32[]) is given a buffer of i64");
    refuses(e, TN_INPUTS(narrow, m, &k), TN_OUTPUTS(y),
            "input 0 (f64[3]) is given a buffer of elements that no array has");
    refuses(e, TN_INPUTS(x, m, &k), TN_OUTPUTS(single), "output 0 (f64[3]) is given a buffer of f32");
    refuses(e, TN_INPUTS(few, m, &k), TN_OUTPUTS(y), "input 0 (f64[3]) takes 24 bytes and is given an array of 16");
    refuses(e, TN_INPUTS(x, x, &k), TN_OUTPUTS(y), "input 1 (f64[2,2]) takes 32 bytes and is given an array of 24");
    refuses(e, TN_INPUTS(x, m, &k), TN_OUTPUTS(few), "output 0 (f64[3]) takes 24 bytes and is given an array of 16");
    refuses(e, TN_INPUTS(x, NULL, &k), TN_OUTPUTS(y), "input 1 (f64[2,2]) is NULL");
    refuses(e, TN_INPUTS(x, m, &k), (void *[]){x},
            "output 0 (f64[3]) shares memory with input 0, and tn_compile_options.alias does not say so");
    assert_int_equal(tn_call(e, TN_INPUTS(x, m, &k), (void *[]){y}), TN_OK); /* one of them may be described alone */
    assert_int_equal(tn_call(e, (const void *[]){x, m, &k}, TN_OUTPUTS(NULL)), TN_OK);

    double *other = malloc(sizeof x);
    assert_non_null(other);
    assert_int_equal(tn_call(e, (const void *[]){x, m, &k}, (void *[]){other}), TN_OK); /* the raw form */
    close_to(other, y, 3, 0);
    free(other);
    assert_int_equal(tn_check_grads(f, TN_INPUTS(x, m), NULL, NULL), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "2 inputs are given, the program has 3"));
    assert_int_equal(tn_check_grads(f, TN_INPUTS(x, single, &k), NULL, NULL), TN_EINVAL);
    assert_non_null(strstr(tn_error(c), "input 1 (f64[2,2]) is given a buffer of f32"));
    assert_int_equal(tn_check_grads(f, TN_INPUTS(x, m, &k), NULL, NULL), TN_OK);
    tn_ctx_free(c);
}

static void memory_that_is_shared(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace_many(c, two, NULL, TN_ARGS(tn_f64(3), tn_f64(3)), 2);
    tn_exec *e = made(c, f, NULL);
    double a[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, *p = a;
    tn_work *w = tn_work_new(e, NULL, 0);
    assert_non_null(w);
    for (int i = 0; i < 9; i++) { /* output 0 at every place around both inputs */
        double b[16] = {0};
        const void *const *in = TN_INPUTS((const double *)b + 3, (const double *)b + 7);
        void *const *out = TN_OUTPUTS(b + i, NULL);
        const bool over[2] = {i > 0 && i<6, i> 4 && i < 10};
        const tn_status s = tn_call_in(e, w, in, out);
        assert_int_equal(s, over[0] || over[1] ? TN_EINVAL : TN_OK);
        if (over[0]) assert_non_null(strstr(tn_work_error(w), "output 0 (f64[3]) shares memory with input 0,"));
        if (!over[0] && over[1]) assert_non_null(strstr(tn_work_error(w), "shares memory with input 1,"));
        /* What was refused once is refused again. */
        assert_int_equal(tn_call_in(e, w, in, out), s);
    }
    assert_int_equal(tn_call_in(e, w, TN_INPUTS(p, p), TN_OUTPUTS(p + 3, p + 6)), TN_OK);
    assert_int_equal(tn_call_in(e, w, TN_INPUTS(p, p), TN_OUTPUTS(p + 3, p + 5)), TN_EINVAL);
    assert_string_equal(tn_work_error(w), "output 1 (f64[3]) shares memory with output 0");
    tn_work_free(w);

    tn_exec *over = made(c, f, &(tn_compile_options){.size = sizeof(tn_compile_options), .alias = (int[]){0, 1}});
    assert_int_equal(tn_call(over, TN_INPUTS(p, p + 3), TN_OUTPUTS(p, p + 3)), TN_OK);
    close_to(p, P(2, 4, 6, 5 + 3, 5 + 5 - 1, 6 + 6 - 3), 3, 0);
    refuses(over, TN_INPUTS(p, p + 3), TN_OUTPUTS(p + 1, p + 6),
            "output 0 (f64[3]) shares memory with input 0, but does not begin where it does");
    refuses(over, TN_INPUTS(p, p + 3), TN_OUTPUTS(p + 3, p + 6),
            "output 0 (f64[3]) shares memory with input 1, and tn_compile_options.alias does not say so");

    /* With strides: every second element backwards, and the room between the elements counts. */
    const int64_t back = -2;
    const int64_t *const strides[] = {&back, NULL};
    tn_exec *strided = made(c, f, &(tn_compile_options){.size = sizeof(tn_compile_options), .in_strides = strides});
    assert_int_equal(tn_call(strided, TN_INPUTS(p + 4, p), TN_OUTPUTS(p + 5, NULL)), TN_OK);
    refuses(strided, TN_INPUTS(p + 8, p), TN_OUTPUTS(p + 4, NULL),
            "output 0 (f64[3]) shares memory with input 0, and tn_compile_options.alias does not say so");
    tn_ctx_free(c);
}

static tn_val nothing(const tn_val *in, void *user) {
    (void)in;
    return tn_full(user, tn_f64(2), 1.5);
}

static void none_and_empty(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double y[2] = {0};
    run(tn_trace(c, nothing, c, TN_ARGS()), TN_INPUTS(), TN_OUTPUTS(y));
    close_to(y, P(1.5, 1.5), 2, 0);
    tn_fn *f = tn_trace_many(c, two, NULL, TN_ARGS(tn_f64(0), tn_f64(0)), 2);
    run(f, TN_INPUTS(NULL, y), TN_OUTPUTS(y, y));
    tn_buffer b[] = {{.at.in = y, .dtype = TN_F64}, {.at.in = y, .dtype = TN_F32}};
    const tn_buffer_list list = {2, b};
    refuses(made(c, f, NULL), (const void *[]){tn_described, &list}, TN_OUTPUTS(y, y),
            "input 1 (f64[0]) is given a buffer of f32");
    tn_ctx_free(c);
}

static void too_few_types(void **state) {
    (void)state;
    tn_ctx *c = checked();
    assert_null(tn_trace(c, refused_by, NULL, 3, TN_TYPES(tn_f64(3), tn_f64())));
    assert_non_null(strstr(tn_error(c), "buffers.c:"));
    assert_non_null(strstr(tn_error(c), "tn_trace: there are 3 inputs, and TN_TYPES has 2 types"));
    assert_null(tn_trace(c, nothing, c, 1, TN_TYPES()));
    assert_non_null(strstr(tn_error(c), "tn_trace: there are 1 inputs, and TN_TYPES has 0 types"));
    assert_null(tn_trace(c, nothing, c, TN_ARGS(tn_f64(INT64_MIN))));
    assert_non_null(strstr(tn_error(c), "tn_trace: input 0 has no valid type"));
    tn_ctx_free(c);
}

static void sums(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_psum(tn_add(in[0], in[1]), "w");
}

static void too_few_axes(void **state) {
    (void)state;
    const char *const name[] = {"w"};
    const int64_t one = 1;
    tn_ctx *c = tn_ctx_new(&(tn_ctx_options){.size = sizeof(tn_ctx_options), .grid = {1, name, &one}});
    const tn_type in[2] = {tn_f64(3), tn_f64(3)};
    assert_non_null(tn_trace_spmd(c, sums, NULL, 2, in, TN_AXES("w", NULL), 1));
    assert_non_null(tn_trace_spmd(c, sums, NULL, TN_ARGS(tn_f64(3), tn_f64(3)), TN_AXES(NULL, "w"), 1));
    assert_null(tn_trace_spmd(c, sums, NULL, 2, in, TN_AXES("w"), 1));
    assert_non_null(strstr(tn_error(c), "buffers.c:"));
    assert_non_null(strstr(tn_error(c), "tn_trace_spmd: there are 2 inputs, and TN_AXES has 1"));
    tn_ctx_free(c);
}

/* ---- values that are no call's ------------------------------------------------------ */

static tn_val products(const tn_val *in, void *user) {
    (void)user;
    return tn_mul(in[0], in[1]);
}

static void says(tn_ctx *c, const char *what) {
    assert_int_equal(tn_last_status(c), TN_EINVAL);
    if (!strstr(tn_error(c), what)) fail_msg("'%s', not '%s'", tn_error(c), what);
    tn_error_clear(c);
}

static int64_t entries_of(const tn_sparsity *s) {
    tn_sparsity_arrays a = {.size = sizeof a};
    assert_non_null(s);
    assert_int_equal(tn_sparsity_view(s, TN_CSR, TN_FULL, &a), TN_OK);
    return a.nnz;
}

static void patterns(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, products, NULL, TN_ARGS(tn_f64(3), tn_f64(3)));
    const double x[3] = {1, 2, 3}, y[3] = {0, 5, 0};
    const float single[3] = {0};
    tn_sparsity *s = tn_jacobian_sparsity(f, tn_wrt(0), NULL), *pattern;
    assert_int_equal(entries_of(s), 3);
    assert_int_equal(tn_sparsity_check(f, tn_wrt(0), s, TN_INPUTS(x, y)), TN_OK);
    assert_int_equal(tn_sparsity_check(f, tn_wrt(0), s, TN_RAW_INPUTS(x, y)), TN_OK);
    assert_int_equal(tn_sparsity_check(f, tn_wrt(0), s, TN_INPUTS(x)), TN_EINVAL);
    says(c, "1 inputs are given, the program has 2: input 1 (f64[3]) is missing");
    assert_int_equal(tn_sparsity_check(f, tn_wrt(0), s, TN_INPUTS(single, y)), TN_EINVAL);
    says(c, "input 0 (f64[3]) is given a buffer of f32");
    assert_int_equal(tn_sparsity_check(f, tn_wrt(0), s, TN_INPUTS(x, NULL)), TN_EINVAL);
    says(c, "input 1 is NULL");
    tn_sparsity_options o = {.size = sizeof o, .known = TN_INPUTS(NULL, y)};
    assert_int_equal(entries_of(tn_jacobian_sparsity(f, tn_wrt(0), &o)), 1);
    o = (tn_sparsity_options){.size = sizeof o, .at = TN_INPUTS(x, y)};
    assert_int_equal(entries_of(tn_jacobian_sparsity(f, tn_wrt(0), &o)), 1);
    o = (tn_sparsity_options){.size = sizeof o, .at = TN_INPUTS(x)};
    assert_null(tn_jacobian_sparsity(f, tn_wrt(0), &o));
    says(c, "at: 1 inputs are given");
    o = (tn_sparsity_options){.size = sizeof o, .known = TN_INPUTS(NULL, single)};
    assert_null(tn_jacobian_sparsity(f, tn_wrt(0), &o));
    says(c, "known: input 1 (f64[3]) is given a buffer of f32");
    tn_sparse_options p = {.size = sizeof p, .known = TN_INPUTS(NULL, y)};
    assert_non_null(tn_sparse_jacobian(f, tn_wrt(0), &p, &pattern));
    assert_int_equal(entries_of(pattern), 1);
    p = (tn_sparse_options){.size = sizeof p, .known = TN_INPUTS(NULL)};
    assert_null(tn_sparse_jacobian(f, tn_wrt(0), &p, &pattern));
    says(c, "known: 1 inputs are given");
    tn_ctx_free(c);
}

static void taken_alone(void **state) {
    (void)state;
    const tn_type type[2] = {tn_f64(3), tn_i32()};
    const double x[3] = {0}, few[2] = {0};
    const int32_t k = 1;
    const void *at[2] = {NULL, NULL};
    char why[128], cut[8];
    assert_int_equal(tn_take_arguments(2, type, TN_INPUTS(x, &k), at, why, sizeof why), TN_OK);
    assert_true(at[0] == x && at[1] == &k && !why[0]);
    assert_int_equal(tn_take_arguments(2, type, TN_RAW_INPUTS(NULL, x), at, NULL, 0), TN_OK);
    assert_true(!at[0] && at[1] == x);
    assert_int_equal(tn_take_arguments(2, type, NULL, at, NULL, 0), TN_OK);
    assert_true(!at[0] && !at[1]);
    assert_int_equal(tn_take_arguments(2, type, TN_INPUTS(few, &k), at, why, sizeof why), TN_EINVAL);
    assert_string_equal(why, "argument 0 (f64[3]) takes 24 bytes and is given an array of 16");
    assert_int_equal(tn_take_arguments(2, type, TN_INPUTS(x), at, why, sizeof why), TN_EINVAL);
    assert_string_equal(why, "1 arguments are given, the program has 2: argument 1 (i32[]) is missing");
    assert_int_equal(tn_take_arguments(2, type, TN_INPUTS(x), at, cut, sizeof cut), TN_EINVAL);
    assert_string_equal(cut, "1 argum");
    assert_int_equal(tn_take_arguments(0, NULL, NULL, NULL, NULL, 0), TN_OK);
    assert_int_equal(tn_take_arguments(1, type, TN_INPUTS(x), NULL, why, sizeof why), TN_EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit), cmocka_unit_test(memory_that_is_shared), cmocka_unit_test(none_and_empty),
        cmocka_unit_test(too_few_types),     cmocka_unit_test(too_few_axes),          cmocka_unit_test(patterns),
        cmocka_unit_test(taken_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
