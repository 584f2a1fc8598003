/* Symmetric results: `mirror` itself, products of which a triangle alone is wanted, and Hessians, which are made of
 * both. */
#include "exec/exec.h"
#include "plan/nest.h"
#include "prims/linear/dot.h"
#include "prims/prim.h"
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>

static void *room(size_t bytes) {
    void *p = malloc(bytes + 1);
    assert_non_null(p);
    return memset(p, 0xFF, bytes + 1); /* NaN */
}

static double number(int dtype, const void *x, int64_t i) {
    return dtype == TN_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

/* ---- triangles of products ------------------------------------------------------------ */

typedef struct shape {
    int64_t n, k, count;
    bool turn_a, turn_b, turn_c;
} shape;

/* Elements that are wanted have the bits of the whole product; the others are those or 0. */
static void triangle_of(int dtype, const shape *s, tn_i_triangle triangle) {
    const int64_t n = s->n, k = s->k, elements = n * n * s->count;
    const size_t size = tn_i_dtype_size(dtype);
    void *a = room((size_t)(n * k * s->count) * size), *b = room((size_t)(n * k * s->count) * size);
    void *whole = room((size_t)elements * size), *part = room((size_t)elements * size);
    fill_sines(dtype, a, (size_t)(n * k * s->count), 0.7);
    fill_sines(dtype, b, (size_t)(n * k * s->count), 1.3);
    tn_i_products w = {.dtype = dtype, .m = n, .n = n, .k = k, .count = s->count, .anext = n * k, .bnext = n * k};
    w.cnext = n * n;
    w.a = s->turn_a ? (tn_i_matrix){NULL, 1, n} : (tn_i_matrix){NULL, k, 1};
    w.b = s->turn_b ? (tn_i_matrix){NULL, 1, k} : (tn_i_matrix){NULL, n, 1};
    w.c = s->turn_c ? (tn_i_matrix){NULL, 1, n} : (tn_i_matrix){NULL, n, 1};
    tn_i_multiply_at(&w, 1, a, b, whole);
    w.triangle = triangle;
    tn_i_multiply_at(&w, 1, a, b, part);
    for (int64_t e = 0; e < elements; e++) {
        const int64_t i = e / w.c.rs % n, j = e / w.c.cs % n;
        const bool wanted = triangle == TN_ABOVE ? j >= i : j <= i;
        const bool same = memcmp((char *)whole + e * (int64_t)size, (char *)part + e * (int64_t)size, size) == 0;
        if (wanted ? !same : !same && number(dtype, part, e) != 0)
            fail_msg("dtype %d n %lld k %lld triangle %d: [%lld, %lld]", dtype, (long long)n, (long long)k,
                     (int)triangle, (long long)i, (long long)j);
    }
    free(a), free(b), free(whole), free(part);
}

static void test_triangles(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 16, 17, 24, 25, 31, 40, 50, 57, 64, 97, 130};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (unsigned how = 0; how < 32; how++) {
            const shape s = {sizes[i], sizes[(i * 7 + how) % 12], 1 + how % 3, how & 1, how >> 1 & 1, how >> 2 & 1};
            triangle_of(how & 8 ? TN_F32 : TN_F64, &s, how & 16 ? TN_ABOVE : TN_BELOW);
        }
    static const shape large[] = {{300, 20, 1, 0, 0, 0},  {300, 300, 1, 1, 0, 0}, {270, 280, 2, 0, 1, 0},
                                  {290, 300, 1, 0, 0, 1}, {20, 1500, 1, 1, 0, 0}, {40, 1100, 1, 0, 1, 0}};
    for (size_t i = 0; i < COUNT(large); i++)
        for (unsigned how = 0; how < 4; how++)
            triangle_of(how & 1 ? TN_F32 : TN_F64, &large[i], how & 2 ? TN_ABOVE : TN_BELOW);
}

/* ---- the primitive ---------------------------------------------------------------------- */

/* Of matrices as they are, and turned: `to` is what the upper triangle, or the lower one, makes. */
static void mirror_of(int backend, const char *type, size_t size, int n, bool turned) {
    char text[400];
    (void)snprintf(text, sizeof text,
                   turned ? "{ lambda a:%s[2,%d,%d] . let b:%s[2,%d,%d] = transpose[permutation=(0, 2, 1)] a "
                            "c:%s[2,%d,%d] = mirror b in (c,) }"
                          : "{ lambda a:%s[2,%d,%d] . let c:%s[2,%d,%d] = mirror a in (c,) }",
                   type, n, n, type, n, n, type, n, n);
    tn_ctx *c = checked();
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "mirror");
    if (!f) fail_msg("%s", tn_error(c));
    const size_t all = 2 * (size_t)n * (size_t)n;
    unsigned char *x = room(all * size), *y = room(all * size);
    for (size_t i = 0; i < all * size; i++) x[i] = (unsigned char)(i * 37 % 2);
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    assert_non_null(e);
    assert_int_equal(tn_call(e, (const void *[]){x}, (void *[]){y}), TN_OK);
    for (size_t i = 0; i < all; i++) {
        const size_t n2 = (size_t)n * (size_t)n, r = i % n2 / (size_t)n, q = i % n2 % (size_t)n;
        const size_t row = r < q ? r : q, column = r < q ? q : r;
        const size_t from = i / n2 * n2 + (turned ? column * (size_t)n + row : row * (size_t)n + column);
        if (memcmp(x + from * size, y + i * size, size) != 0) fail_msg("%s n %d element %zu", type, n, i);
    }
    free(x), free(y);
    tn_exec_free(e);
    tn_ctx_free(c);
}

static void test_mirror(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t size;
    } types[] = {{"f64", 8}, {"f32", 4}, {"i64", 8}, {"i32", 4}, {"bool", 1}};
    for (size_t i = 0; i < COUNT(types); i++)
        for (int n = 0; n < 36; n++)
            for (int how = 0; how < 4; how++)
                mirror_of(how & 1 ? TN_BACKEND_REFERENCE : TN_BACKEND_DEFAULT, types[i].name, types[i].size, n,
                          how >> 1);
    mirror_of(TN_BACKEND_DEFAULT, "f64", 8, 201, false);
    mirror_of(TN_BACKEND_NATIVE, "f32", 4, 19, true);
}

/* ---- Hessians ------------------------------------------------------------------------------ */

typedef struct kind {
    int n, dtype;
} kind;

static tn_type vector(const kind *k) { return k->dtype == TN_F64 ? tn_f64(k->n) : tn_f32(k->n); }
static tn_type matrix(const kind *k) { return k->dtype == TN_F64 ? tn_f64(k->n, k->n) : tn_f32(k->n, k->n); }

static tn_val turned(const tn_val *in, void *user) {
    (void)user;
    const tn_val s = tn_sin(tn_roll(in[1], 1, 0)), t = tn_tanh(tn_matmul(in[0], in[1]));
    return tn_sum_squares(tn_mul(t, s));
}

static tn_val log_sum(const tn_val *in, void *user) {
    (void)user;
    return tn_logsumexp(tn_matmul(in[0], in[1]), 0);
}

static tn_fn *made(tn_ctx *c, tn_fn *f) {
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static void call(const tn_fn *f, int backend, const void *const *in, void *const *out) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static void is_symmetric(int dtype, const void *h, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (number(dtype, h, i * n + j) != number(dtype, h, j * n + i))
                fail_msg("[%lld, %lld]: %.17g, %.17g", (long long)i, (long long)j, number(dtype, h, i * n + j),
                         number(dtype, h, j * n + i));
}

/* Products of f's plan of which a triangle alone is made. */
static int triangles(const tn_fn *f) {
    tn_exec *e = tn_compile(f, NULL);
    int some = 0;
    assert_non_null(e);
    for (size_t i = 0; i < e->plan->nstep; i++) some += e->plan->step[i].triangle != TN_WHOLE;
    tn_exec_free(e);
    return some;
}

enum { FEW = 8 }; /* smaller products are no products, but loops (small_products.c): they are symmetric, too */

static void hessian_of(tn_trace_fn g, kind k) {
    tn_ctx *c = checked();
    const tn_type t[2] = {matrix(&k), vector(&k)};
    tn_fn *f = made(c, tn_trace(c, g, &k, 2, t));
    tn_fn *h = made(c, tn_hessian(f, tn_wrt(1), NULL, 0)), *d = made(c, tn_grad(f, tn_wrt(1), NULL));
    tn_fn *j = made(c, tn_jacfwd(d, tn_wrt(1), 0));
    const size_t size = tn_i_dtype_size(k.dtype), all = (size_t)k.n * (size_t)k.n;
    void *w = room(all * size), *x = room((size_t)k.n * size), *got[4];
    for (int i = 0; i < 4; i++) got[i] = room(all * size);
    fill_sines(k.dtype, w, all, 0.7);
    fill_sines(k.dtype, x, (size_t)k.n, 1.3);
    const void *const in[2] = {w, x};
    call(h, TN_BACKEND_DEFAULT, in, got);
    call(h, TN_BACKEND_NATIVE, in, got + 1);
    call(h, TN_BACKEND_REFERENCE, in, got + 2);
    call(j, TN_BACKEND_DEFAULT, in, got + 3);
    assert_memory_equal(got[0], got[1], all * size);
    is_symmetric(k.dtype, got[0], k.n);
    is_symmetric(k.dtype, got[2], k.n);
    for (size_t i = 0; i < all; i++)
        for (int other = 2; other < 4; other++) {
            const double a = number(k.dtype, got[0], (int64_t)i), b = number(k.dtype, got[other], (int64_t)i);
            if (!(fabs(a - b) <= (k.dtype == TN_F64 ? 1e-12 : 2e-4) * fmax(1, fabs(b))))
                fail_msg("n %d element %zu: %.17g, not %.17g", k.n, i, a, b);
        }
    /* the upper triangle has the bits of the Jacobian */
    for (int64_t r = 0; r < k.n; r++)
        assert_memory_equal((char *)got[0] + (r * k.n + r) * (int64_t)size,
                            (char *)got[3] + (r * k.n + r) * (int64_t)size, (size_t)(k.n - r) * size);
    if (k.n > FEW && triangles(h) != 1) fail_msg("n %d: %d triangles", k.n, triangles(h));
    assert_int_equal(triangles(j), 0);
    free(w), free(x);
    for (int i = 0; i < 4; i++) free(got[i]);
    tn_ctx_free(c);
}

static void test_hessians(void **state) {
    (void)state;
    static const kind kinds[] = {{1, TN_F64},  {2, TN_F64},  {3, TN_F64},  {5, TN_F32},  {6, TN_F64},
                                 {7, TN_F32},  {8, TN_F64},  {16, TN_F64}, {33, TN_F32}, {50, TN_F64},
                                 {50, TN_F32}, {67, TN_F64}, {261, TN_F64}};
    for (size_t i = 0; i < COUNT(kinds); i++) hessian_of(turned, kinds[i]);
    hessian_of(log_sum, (kind){21, TN_F64});
    hessian_of(log_sum, (kind){40, TN_F32});
}

/* in: x of rank 0, y of rank 2, z of rank 1, none of which is alone in any term. */
static tn_val of_three(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_matmul(in[1], in[2]), s = tn_sum(tn_exp(tn_mul(a, in[0])));
    return tn_add(s, tn_sum(tn_mul(tn_matmul(in[1], tn_permute(in[1], 1, 0)), tn_cos(in[0]))));
}

static void test_inputs(void **state) {
    (void)state;
    enum { R = 4, C = 3, M = R * C };
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, of_three, NULL, 3, TN_TYPES(tn_f64(), tn_f64(R, C), tn_f64(C))));
    const double x = 0.3;
    double y[M], z[C], got[9][M * M], want[9][M * M];
    fill_sines(TN_F64, y, M, 0.9);
    fill_sines(TN_F64, z, C, 0.4);
    const void *const in[3] = {&x, y, z};
    void *to[2][9];
    for (int i = 0; i < 9; i++) to[0][i] = got[i], to[1][i] = want[i];
    static const int size[3] = {1, M, C};
    tn_fn *d = made(c, tn_grad(f, tn_wrt(0, 1, 2), NULL));
    call(made(c, tn_jacfwd(d, tn_wrt(0, 1, 2), 0)), TN_BACKEND_DEFAULT, in, to[1]);
    for (size_t block = 0; block < 6; block += 5) {
        tn_fn *h = made(c, tn_hessian(f, tn_wrt(0, 1, 2), NULL, block));
        const tn_type t = tn_fn_output_type(h, 4);
        assert_true(t.rank == 4 && t.dim[0] == R && t.dim[1] == C && t.dim[2] == R && t.dim[3] == C);
        call(h, TN_BACKEND_DEFAULT, in, to[0]);
        for (int i = 0; i < 9; i++) close_to(got[i], want[i], (size_t)(size[i / 3] * size[i % 3]), 1e-13);
        is_symmetric(TN_F64, got[4], M);
        is_symmetric(TN_F64, got[8], C);
        to[0][4] = NULL; /* what is not wanted is not made */
        call(h, TN_BACKEND_DEFAULT, in, to[0]);
        to[0][4] = got[4];
    }
    tn_ctx_free(c);
}

static tn_val empty(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(tn_sin(in[0]));
}

static void test_empty(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, empty, NULL, 1, TN_TYPES(tn_f64(0, 2))));
    tn_fn *h = made(c, tn_hessian(f, NULL, NULL, 0));
    assert_int_equal(tn_fn_output_type(h, 0).rank, 4);
    call(h, TN_BACKEND_DEFAULT, (const void *[]){NULL}, (void *[]){NULL});
    tn_ctx_free(c);
}

/* Each entry of a batch has the bits it has alone. */
static void test_batches(void **state) {
    (void)state;
    enum { N = 19, B = 3 };
    const kind k = {N, TN_F64};
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, turned, NULL, 2, (tn_type[]){matrix(&k), vector(&k)}));
    tn_fn *h = made(c, tn_hessian(f, tn_wrt(1), NULL, 0));
    tn_fn *v = made(c, tn_vmap(h, B, (int[]){-1, 0}, NULL));
    static double w[N * N], x[B * N], got[B * N * N], want[N * N];
    fill_sines(TN_F64, w, N * N, 0.7);
    fill_sines(TN_F64, x, B * N, 1.3);
    call(v, TN_BACKEND_DEFAULT, (const void *[]){w, x}, (void *[]){got});
    for (int b = 0; b < B; b++) {
        call(h, TN_BACKEND_DEFAULT, (const void *[]){w, x + b * N}, (void *[]){want});
        is_symmetric(TN_F64, got + b * N * N, N);
        close_to(got + b * N * N, want, N * N, 1e-13);
    }
    tn_ctx_free(c);
}

/* Third derivatives through the mirror are those without it: all of them are symmetric. */
static void test_third(void **state) {
    (void)state;
    enum { N = 6 };
    const kind k = {N, TN_F64};
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, turned, NULL, 2, (tn_type[]){matrix(&k), vector(&k)}));
    tn_fn *h = made(c, tn_hessian(f, tn_wrt(1), NULL, 0));
    tn_fn *j = made(c, tn_jacfwd(made(c, tn_grad(f, tn_wrt(1), NULL)), tn_wrt(1), 0));
    tn_fn *const third[3] = {made(c, tn_jacfwd(h, tn_wrt(1), 0)), made(c, tn_jacrev(h, tn_wrt(1), NULL, 0)),
                             made(c, tn_jacfwd(j, tn_wrt(1), 0))};
    static double w[N * N], x[N], got[3][N * N * N];
    fill_sines(TN_F64, w, N * N, 0.7);
    fill_sines(TN_F64, x, N, 1.3);
    for (int i = 0; i < 3; i++) call(third[i], i, (const void *[]){w, x}, (void *[]){got[i]});
    close_to(got[0], got[2], N * N * N, 1e-12);
    close_to(got[1], got[2], N * N * N, 1e-12);
    tn_ctx_free(c);
}

/* ---- what is not symmetric ----------------------------------------------------------------- */

/* The gradient that this says, (x1, 0), has derivatives that are no Hessian. */
static tn_val sum(const tn_val *in, void *user) {
    (void)user;
    return tn_sum(in[0]);
}

static void said_fwd(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_sum(in[0]);
    out[1] = in[0];
}

static void said_bwd(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    const tn_val first = tn_mul(tn_slice_axis(in[0], 1, 2, 1, 0), in[1]);
    out[0] = tn_concatenate(tn_vals(first, tn_mul(first, 0.0)), 0);
}

static tn_val said(const tn_val *in, void *user) { return tn_custom_vjp(sum, said_fwd, 1, said_bwd, user, 1, in); }

static void test_rules_of_users(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = made(c, tn_trace(c, said, NULL, 1, TN_TYPES(tn_f64(2))));
    double got[4];
    call(made(c, tn_hessian(f, NULL, NULL, 0)), TN_BACKEND_DEFAULT, (const void *[]){P(2, 3)}, (void *[]){got});
    close_to(got, P(0, 1, 0, 0), 4, 0);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangles), cmocka_unit_test(test_mirror),         cmocka_unit_test(test_hessians),
        cmocka_unit_test(test_inputs),    cmocka_unit_test(test_empty),          cmocka_unit_test(test_batches),
        cmocka_unit_test(test_third),     cmocka_unit_test(test_rules_of_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
