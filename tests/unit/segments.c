/* Programs with a product between what loops do: the steps between are loop programs of their own, in the program and
 * in a loop's steps, and have the bits of one step at a time. */
#include "tracing.h"

enum { N = 60, M = 300, K = 9 };

/* in: x [n, k], w [k, k], from [m], to [m] */
static tn_val passed_on(tn_val x, tn_val w, tn_val from, tn_val to) {
    const tn_val sent = tn_take(tn_matmul(x, w), from, 0);
    const tn_val sums = tn_at_add(tn_mul(x, 0.5), to, tn_sin(sent), 0);
    const tn_val padded = tn_concatenate(tn_vals(tn_slice_axis(sums, 1, N, 1, 0), tn_slice_axis(x, 0, 1, 1, 0)), 0);
    return tn_tanh(tn_add(padded, tn_cumsum(sums, 0)));
}

static tn_val once(const tn_val *in, void *user) {
    (void)user;
    return passed_on(passed_on(in[0], in[1], in[2], in[3]), in[1], in[2], in[3]);
}

static void step(const tn_val *carry, const tn_val *xs, tn_val *next, tn_val *ys, void *user) {
    const tn_val *in = user;
    (void)xs, (void)ys;
    next[0] = passed_on(carry[0], in[1], in[2], in[3]);
}

static tn_val often(const tn_val *in, void *user) {
    tn_val last;
    (void)user;
    tn_scan(tn_val_ctx(in[0]), step, (void *)(uintptr_t)in, .ncarry = 1, .init = in, .length = 4, .carry = &last);
    return last;
}

typedef struct told {
    int loops, kernels; /* scatters that are loops, and others */
} told;

static void look(void *user, const tn_step *s) {
    told *t = user;
    if (strcmp(s->primitive, "scatter_add") != 0) return;
    *(strcmp(s->kind, "loops") == 0 ? &t->loops : &t->kernels) += 1;
}

static void fill(double *x, float *half, size_t n) {
    for (size_t i = 0; i < n; i++) half[i] = (float)(x[i] = sin((double)i * 0.7));
}

static tn_status called(const tn_fn *f, const tn_compile_options *o, const void *const *in, void *out, told *t) {
    tn_exec *e = tn_compile(f, o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    if (t) assert_int_equal(tn_exec_steps(e, look, t), TN_OK);
    tn_status status = TN_OK;
    for (int k = 0; k < 2 && status == TN_OK; k++) status = tn_call(e, in, (void *[]){out}); /* again in used memory */
    tn_exec_free(e);
    return status;
}

static void same_bits(tn_val (*f)(const tn_val *, void *), tn_dtype dtype) {
    static double x[2][N * K], y[3][N * K];
    static float half[2][N * K];
    int32_t from[M], to[M];
    const size_t bytes = N * K * (dtype == TN_F64 ? sizeof(double) : sizeof(float));
    const void *in[] = {dtype == TN_F64 ? (const void *)x[0] : half[0], dtype == TN_F64 ? (const void *)x[1] : half[1],
                        from, to};
    for (int i = 0; i < 2; i++) fill(x[i], half[i], N * K);
    for (int i = 0; i < M; i++) {
        from[i] = i * 13 % (N + 3) - 1; /* some are outside */
        to[i] = i * 7 % (N + 2);
    }
    tn_ctx *c = checked();
    const tn_type a = tn_type_of(dtype, 2, (int64_t[]){N, K}), w = tn_type_of(dtype, 2, (int64_t[]){K, K});
    tn_fn *g = tn_trace(c, f, NULL, 4, TN_TYPES(a, w, tn_i32(M), tn_i32(M)));
    if (!g) fail_msg("%s", tn_error(c));
    told t = {0, 0};
    const tn_compile_options strips = {.size = sizeof strips, .backend = TN_BACKEND_STRIPS},
                             plain = {.size = sizeof plain};
    const tn_compile_options reference = {.size = sizeof reference, .backend = TN_BACKEND_REFERENCE};
    assert_int_equal(called(g, &plain, in, y[0], &t), TN_OK);
    assert_int_equal(called(g, &strips, in, y[1], NULL), TN_OK);
    assert_int_equal(called(g, &reference, in, y[2], NULL), TN_OK);
    assert_true(t.loops > 0 && t.kernels == 0);
    assert_memory_equal(y[0], y[1], bytes);
    for (size_t i = 0; i < N * K; i++) {
        const double got = dtype == TN_F64 ? y[0][i] : ((float *)(void *)y[0])[i];
        const double want = dtype == TN_F64 ? y[2][i] : ((float *)(void *)y[2])[i];
        assert_true(fabs(got - want) <= (dtype == TN_F64 ? 1e-12 : 1e-4) || (got != got && want != want));
    }
    tn_ctx_free(c);
}

static void test_programs(void **state) {
    (void)state;
    same_bits(once, TN_F64);
    same_bits(once, TN_F32);
}

static void test_loops(void **state) {
    (void)state;
    same_bits(often, TN_F64);
    same_bits(often, TN_F32);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
