/* What is computed from indices alone: random masks, bases and ramps, sliced, padded, turned and repeated, have the
 * same bits as the reference has wherever they are computed, and a basis of a Jacobian is no array of the arena. */
#include "compiled.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state;
static int pick(int lo, int hi) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int)((state >> 33) % (uint64_t)(hi - lo + 1));
}

/* ---- random arrays of indices --------------------------------------------------------------------------- */

typedef struct shape {
    tn_ctx *c;
    int dtype; /* of floats */
    int64_t n, m;
} shape;

static tn_type type_of(const shape *s, int dtype) {
    return (tn_type){.dtype = (uint8_t)dtype, .rank = 2, .dim = {s->n, s->m}};
}

typedef tn_val make(const shape *s, int depth);

/* A larger one cut, a smaller one padded, one of the other shape turned, a row repeated; or NULL. */
static tn_val moved(const shape *s, int depth, make *of, double edge) {
    const int a = pick(0, 3), b = pick(0, 3);
    shape t = *s;
    switch (s->n < 8 || s->m < 8 ? 0 : pick(0, 3)) {
    case 0: t.n += a, t.m += b; return tn_slice(of(&t, depth), tn_ints(a, 0), tn_ints(s->n + a, s->m), tn_ints(1, 1));
    case 1: t.n += a - b, t.m -= a; return tn_pad(of(&t, depth), edge, tn_ints(b - a, a), tn_ints(0, 0), tn_ints(0, 0));
    case 2: t.n = s->m, t.m = s->n; return tn_permute(of(&t, depth), 1, 0);
    default: t.n = 1; return tn_broadcast_to(of(&t, depth), s->n, s->m);
    }
}

static tn_val integers(const shape *s, int depth) {
    const int kind = depth ? pick(0, 4) : 0, by = pick(-3, 3);
    if (kind == 0) return tn_iota(s->c, type_of(s, TN_I64), pick(0, 1));
    const tn_val x = kind < 3 ? integers(s, depth - 1) : (tn_val){0}, y = kind == 2 ? integers(s, depth - 1) : x;
    if (kind == 1) return tn_add(x, by);
    if (kind == 2) return tn_sub(x, y);
    return moved(s, depth - 1, integers, pick(-2, 2));
}

static tn_val masks(const shape *s, int depth) {
    const int kind = depth ? pick(0, 5) : 0;
    make *of = kind < 4 ? integers : masks;
    const tn_val x = of(s, depth ? depth - 1 : 0), y = kind < 5 ? of(s, depth ? depth - 1 : 0) : x;
    switch (kind) {
    case 0:
    case 1: return tn_eq(x, y);
    case 2: return tn_lt(x, y);
    case 3: return tn_ge(x, y);
    case 4: return tn_and(x, y);
    default: return tn_not(x);
    }
}

static tn_val floats(const shape *s, int depth) {
    const int kind = depth ? pick(0, 3) : 0;
    const tn_val x = kind == 0 ? masks(s, depth ? depth - 1 : 0) : kind == 1 ? floats(s, depth - 1) : (tn_val){0};
    if (kind == 0) return tn_convert(x, (tn_dtype)s->dtype);
    if (kind == 1) return tn_mul(x, 0.5);
    return moved(s, depth - 1, floats, pick(0, 2) ? 0.0 : 1.5);
}

/* of x [n, m], r [m] */
static tn_val program(const tn_val *in, void *user) {
    const shape *s = user;
    const int depth = pick(1, 5);
    const tn_val a = floats(s, depth), b = floats(s, depth), k = masks(s, depth);
    const tn_val y = tn_where(k, tn_mul(in[0], a), tn_add(tn_mul(b, in[1]), a));
    const tn_val rows = tn_mul(b, in[0]);
    return pick(0, 3) ? y : tn_mul(y, tn_expand_dims(tn_sum_axis(rows, 1), 1));
}

/* ---- laws ----------------------------------------------------------------------------------------------- */

/* exact: to the bit; else but for sin and cos, which the reference has of libm. */
static void compare(const tn_fn *f, const void *const *in, size_t bytes, bool exact, uint64_t seed) {
    const tn_compile_options plain = {.size = sizeof plain, .backend = TN_BACKEND_REFERENCE};
    char *want = aligned_alloc(64, (bytes + 127) / 64 * 64), *got = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_true(want && got);
    tn_exec_free(call_compiled(f, &plain, in, want));
    tn_exec_free(call_compiled(f, NULL, in, got));
    if (!exact)
        close_to((const double *)(void *)got, (const double *)(void *)want, bytes / 8, 1e-14);
    else if (memcmp(want, got, bytes) != 0)
        fail_msg("seed %llu", (unsigned long long)seed);
    free(want);
    free(got);
}

static void test_same_bits(void **unused) {
    (void)unused;
    static const int64_t size[][2] = {{65, 65}, {70, 90}, {129, 40}, {33, 257}};
    for (uint64_t seed = 1; seed <= 200; seed++) {
        state = seed;
        tn_ctx *c = checked();
        const int64_t *n = size[seed % COUNT(size)];
        shape s = {c, seed / 4 % 2 ? TN_F32 : TN_F64, n[0], n[1]};
        const tn_type t[2] = {type_of(&s, s.dtype), {.dtype = (uint8_t)s.dtype, .rank = 1, .dim = {s.m}}};
        tn_fn *f = tn_trace(c, program, &s, 2, t);
        if (!f) fail_msg("seed %llu: %s", (unsigned long long)seed, tn_error(c));
        double x[2][33 * 257 + 64];
        fill_sines(s.dtype, x[0], (size_t)(s.n * s.m), 0.7);
        fill_sines(s.dtype, x[1], (size_t)s.m, 0.3);
        const void *const in[2] = {x[0], x[1]};
        compare(f, in, tn_type_bytes(&t[0]), true, seed);
        tn_fn_free(f);
        tn_ctx_free(c);
    }
}

/* Neighbours' products, differences, a reversal and a cut: what of them is no array. */
static tn_val neighbours(const tn_val *in, void *user) {
    const int64_t n = *(const int64_t *)user;
    const tn_val p = tn_pad(in[0], 1.0, tn_ints(1), tn_ints(1), tn_ints(0));
    return tn_sub(tn_mul(tn_slice_axis(p, 0, n, 1, 0), tn_slice_axis(p, 2, n + 2, 1, 0)), tn_sin(in[0]));
}

static void test_no_array(void **unused) {
    (void)unused;
    static const int64_t size[] = {65, 100, 257};
    for (size_t i = 0; i < COUNT(size); i++)
        for (int reverse = 0; reverse < 2; reverse++) {
            int64_t n = size[i];
            tn_ctx *c = checked();
            const tn_type t = tn_f64(n);
            tn_fn *f = tn_trace(c, neighbours, &n, 1, &t);
            tn_fn *j = reverse ? tn_jacrev(f, NULL, NULL, 0) : tn_jacfwd(f, NULL, 0);
            tn_exec *e = tn_compile(j, NULL);
            assert_non_null(e);
            if (!reverse && tn_exec_bytes(e) >= (size_t)(n * n * 8))
                fail_msg("%zu bytes for n = %d", tn_exec_bytes(e), (int)n);
            tn_exec_free(e);
            double *x = calloc((size_t)n, sizeof *x);
            fill_sines(TN_F64, x, (size_t)n, 0.7);
            const void *const in[1] = {x};
            compare(j, in, (size_t)(n * n) * 8, false, (uint64_t)n);
            free(x);
            tn_fn_free(j);
            tn_fn_free(f);
            tn_ctx_free(c);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits), cmocka_unit_test(test_no_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
