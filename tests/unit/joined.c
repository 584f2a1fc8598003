/* Operands of concatenations are made where the concatenation has them: same values, no copies, no more memory. */
#include "sanitized.h"
#include "prims/prim.h"
#include "tracing.h"

#include <stdlib.h>

/* ---- what is copied ----------------------------------------------------------------------------------------- */

enum { N = 1000 };

typedef struct counts {
    int kernels, copies;
} counts;

static void count_step(void *user, const tn_step *s) {
    counts *k = user;
    k->kernels += strcmp(s->primitive, "concatenate") == 0;
    k->copies += strcmp(s->kind, "copy") == 0;
}

static counts counted(const tn_exec *e) {
    counts k = {0};
    assert_int_equal(tn_exec_steps(e, count_step, &k), TN_OK);
    return k;
}

static tn_exec *compiled(tn_fn *f, int backend) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    return e;
}

/* What a sort of N numbers leaves: kernels that are no loops. */
static tn_val sorted(tn_val x) { return tn_sort(x, 0); }

static tn_val two(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = sorted(in[0]), b = sorted(tn_neg(in[0]));
    return tn_sort(tn_concatenate(tn_vals(a, b), 0), 0);
}

/* Of concatenations, and of rows of a matrix. */
static tn_val nested(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_concatenate(tn_vals(sorted(in[0]), sorted(tn_neg(in[0]))), 0);
    const tn_val b = tn_stack(tn_vals(sorted(tn_sin(in[0])), sorted(tn_cos(in[0]))), 0);
    return tn_sort(tn_concatenate(tn_vals(a, tn_ravel(b)), 0), 0);
}

/* Read twice, an input, and a constant: copied. */
static tn_val others(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = sorted(in[0]);
    return tn_sort(tn_concatenate(tn_vals(a, a, in[0], tn_full(tn_val_ctx(a), tn_f64(N), 2.0), sorted(tn_neg(a))), 0),
                   0);
}

/* Kernels that need no memory but their operands and results. */
static tn_val sums(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_cumsum(in[0], 0), b = tn_cumprod(in[0], 0);
    return tn_cumsum(tn_concatenate(tn_vals(a, b), 0), 0);
}

static void test_copies(void **state) {
    (void)state;
    static const struct {
        tn_trace_fn f;
        int kernels, copies;
    } cases[] = {{two, 0, 0}, {sums, 0, 0}, {nested, 0, 0}, {others, 0, 4}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        tn_ctx *c = checked();
        tn_exec *e = compiled(tn_trace(c, cases[i].f, NULL, 1, TN_TYPES(tn_f64(N))), 0);
        const counts k = counted(e);
        if (k.kernels != cases[i].kernels || k.copies != cases[i].copies)
            fail_msg("case %zu: %d kernels, %d copies", i, k.kernels, k.copies);
        tn_exec_free(e);
        tn_ctx_free(c);
    }
}

static void test_memory(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, sums, NULL, 1, TN_TYPES(tn_f64(N)));
    tn_exec *e = compiled(f, 0), *plain = compiled(f, TN_BACKEND_REFERENCE);
    assert_in_range(tn_exec_bytes(e), 1, 2 * N * sizeof(double) + 64);
    assert_in_range(tn_exec_bytes(plain), 4 * N * sizeof(double), SIZE_MAX);
    tn_exec_free(e);
    tn_exec_free(plain);
    tn_ctx_free(c);
}

/* ---- the same values, whatever is joined: of what each backend rounds alike
 * ---------------------------------------------------------------------------
 */

enum { MOST = 40, MOST_ELEMENTS = 600 };

static void filter_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)user;
    y[0] = next[0] = tn_add(tn_mul(carry[0], 0.5), x[0]);
}

/* A step that carries a concatenation: [a, b] -> [b sorted, a + 1]. */
static void swap_step(const tn_val *carry, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    (void)x, (void)y, (void)user;
    const int64_t n = tn_val_type(carry[0]).dim[0], half = n / 2;
    const tn_val a = tn_slice_axis(carry[0], 0, half, 1, 0), b = tn_slice_axis(carry[0], half, n, 1, 0);
    next[0] = tn_concatenate(tn_vals(tn_sort(b, 0), tn_add(a, 1)), 0);
}

static tn_val yes(const tn_val *x, void *user) {
    (void)user;
    return tn_concatenate(tn_vals(tn_sort(x[0], 0), tn_sqrt(tn_abs(x[0]))), 0);
}

static tn_val no(const tn_val *x, void *user) {
    (void)user;
    return tn_concatenate(tn_vals(x[0], tn_cumsum(x[0], 0)), 0);
}

static tn_val looped(tn_val x) {
    tn_val last, ys, init = tn_mul(tn_at(x, 0), 0);
    tn_scan(tn_val_ctx(x), filter_step, NULL, .ncarry = 1, .init = &init, .nx = 1, .xs = &x, .carry = &last, .ny = 1,
            .ys = &ys);
    return ys;
}

static tn_val swapped(tn_val x) {
    tn_val last;
    tn_scan(tn_val_ctx(x), swap_step, NULL, .ncarry = 1, .init = &x, .length = 3, .carry = &last);
    return last;
}

static tn_val one(tn_i_rng *r, tn_val x, tn_val y) {
    switch (tn_i_pick(r, 0, 9)) {
    case 0: return tn_sort(x, 0);
    case 1: return tn_cumsum(x, 0);
    case 2: return tn_sqrt(tn_abs(x));
    case 3: return tn_flip(x, 0);
    case 4: return looped(x);
    case 5: return tn_val_type(x).dim[0] > 1 ? swapped(x) : x;
    case 6:
        if (2 * tn_val_type(x).dim[0] > MOST_ELEMENTS) return x;
        return tn_cond(tn_gt(tn_at(x, 0), 0), yes, no, NULL, 1, &x);
    case 7: return tn_mul(x, tn_at(y, 0));
    case 8: return tn_slice_axis(x, 0, (tn_val_type(x).dim[0] + 1) / 2, 1, 0);
    default: return tn_square(x);
    }
}

static tn_val join(tn_i_rng *r, int n, const tn_val *v) {
    tn_val part[4];
    const int parts = (int)tn_i_pick(r, 2, 4), ones = (int)tn_i_pick(r, 0, 2);
    int64_t all = 0;
    for (int k = 0; k < parts; k++) {
        part[k] = v[tn_i_pick(r, n > 6 ? n - 6 : 0, n - 1)];
        const int64_t size = tn_val_type(part[k]).dim[0];
        all += size;
        if (ones == 1) part[k] = tn_reshape(part[k], 1, size);
        if (ones == 2) part[k] = tn_reshape(part[k], 1, 1, size, 1);
    }
    if (all > MOST_ELEMENTS) return v[n - 1];
    return tn_ravel(tn_concatenate(tn_vals_of((size_t)parts, part), ones));
}

typedef struct random_program {
    tn_i_rng r;
    int n;
} random_program;

static void any_program(const tn_val *in, tn_val *out, void *user) {
    random_program *p = user;
    tn_val v[MOST] = {in[0], in[1]};
    for (int n = 2; n < p->n; n++) {
        const tn_val x = v[tn_i_pick(&p->r, n > 4 ? n - 4 : 0, n - 1)], y = v[tn_i_pick(&p->r, 0, n - 1)];
        v[n] = tn_i_pick(&p->r, 0, 2) == 0 ? join(&p->r, n, v) : one(&p->r, x, y);
    }
    out[0] = v[p->n - 1];
    out[1] = v[tn_i_pick(&p->r, 0, p->n - 1)];
    out[2] = tn_sum(v[p->n - 2]);
}

static void test_random(void **state) {
    (void)state;
    static double x[2][MOST_ELEMENTS], y[2][3][MOST_ELEMENTS];
    enum { PROGRAMS = SANITIZED ? 150 : 1500 };
    int without = 0;
    for (int i = 0; i < MOST_ELEMENTS; i++) {
        x[0][i] = sin(1.7 * i);
        x[1][i] = cos(0.3 * i);
    }
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        random_program p = {.r = {.state = seed}};
        p.n = (int)tn_i_pick(&p.r, 4, MOST);
        tn_ctx *c = checked();
        const int64_t a = tn_i_pick(&p.r, 1, 9), b = tn_i_pick(&p.r, 1, 20);
        tn_fn *f = tn_trace_many(c, any_program, &p, TN_ARGS(tn_f64(a), tn_f64(b)), 3);
        if (!f) fail_msg("seed %llu: %s", (unsigned long long)seed, tn_error(c));
        const bool left_out = tn_i_pick(&p.r, 0, 3) == 0;
        size_t bytes[3];
        for (size_t j = 0; j < 3; j++) {
            const tn_type t = tn_fn_output_type(f, j);
            bytes[j] = tn_type_bytes(&t);
        }
        for (int which = 0; which < 2; which++) {
            tn_exec *e = compiled(f, which ? TN_BACKEND_REFERENCE : 0);
            memset(y[which], 0, sizeof y[which]);
            void *out[3] = {y[which][0], y[which][1], left_out ? NULL : y[which][2]};
            assert_int_equal(tn_call(e, (const void *[]){x[0], x[1]}, out), TN_OK);
            const counts k = counted(e);
            without += which == 0 && k.kernels == 0 && k.copies > 0;
            tn_exec_free(e);
        }
        for (size_t j = 0; j < 3; j++)
            if (memcmp(y[0][j], y[1][j], bytes[j]) != 0) fail_msg("seed %llu, output %zu", (unsigned long long)seed, j);
        tn_ctx_free(c);
    }
    if (without < PROGRAMS / 3) fail_msg("only %d programs with moves alone", without);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
