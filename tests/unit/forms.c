/* Equations of JAX that become several of ours. */
#include "tansy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tn_fn *parse(tn_ctx *c, const char *type, const char *equation) {
    char text[512];
    (void)snprintf(text, sizeof text, "{ lambda a:%s b:%s . let c = %s in (c,) }", type, type, equation);
    return tn_fn_parse(c, text, strlen(text), "f.tn");
}

static void run(const tn_fn *f, const void *const *in, void *const *out) {
    assert_non_null(f);
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static void computes(const char *type, const char *equation, const void *a, const void *b, const void *want, size_t n) {
    unsigned char got[128];
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = parse(c, type, equation);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, (const void *[]){a, b}, (void *[]){got});
    if (memcmp(got, want, n) != 0) fail_msg("%s of %s", equation, type);
    tn_ctx_free(c);
}

static void refuses(const char *type, const char *equation, const char *why) {
    tn_ctx *c = tn_ctx_new(NULL);
    if (parse(c, type, equation)) fail_msg("accepted: %s", equation);
    if (!strstr(tn_error(c), why)) fail_msg("expected '%s', got '%s'", why, tn_error(c));
    tn_ctx_free(c);
}

/* Bits of integers, in odd and even numbers and over two axes. */
static void test_reduces_bits(void **state) {
    (void)state;
    const int32_t x[6] = {1, 2, 6, 12, -8, 5};
    const uint32_t u[5] = {0xf0000001u, 0x90000003u, 0xb0000007u, 0xd0000009u, 0x80000001u};
    const int64_t w[4] = {INT64_MIN | 3, 5, -1, INT64_MAX};
    computes("i32[3,2]", "reduce_or[axes=(0,)] a", x, x, ((int32_t[]){-1, 15}), 8);
    computes("i32[3,2]", "reduce_and[axes=(1,)] a", x, x, ((int32_t[]){0, 4, 0}), 12);
    computes("i32[3,2]", "reduce_xor[axes=(0, 1)] a", x, x, ((int32_t[]){1 ^ 2 ^ 6 ^ 12 ^ -8 ^ 5}), 4);
    computes("i32[3,2]", "reduce_xor[axes=()] a", x, x, x, sizeof x);
    computes("u32[5]", "reduce_and[axes=(0,)] a", u, u, ((uint32_t[]){0x80000001u}), 4);
    computes("u32[5]", "reduce_or[axes=(0,)] a", u, u, ((uint32_t[]){0xf000000fu}), 4);
    computes("i64[4]", "reduce_xor[axes=(0,)] a", w, w, ((int64_t[]){(INT64_MIN | 3) ^ 5 ^ -1 ^ INT64_MAX}), 8);
    computes("i32[1,2]", "reduce_or[axes=(0,)] a", x, x, x, 8);
    computes("i32[0,2]", "reduce_and[axes=(0,)] a", x, x, ((int32_t[]){-1, -1}), 8);
    computes("u32[2,0]", "reduce_and[axes=(1,)] a", x, x, ((uint32_t[]){UINT32_MAX, UINT32_MAX}), 8);
    computes("i64[0]", "reduce_or[axes=(0,)] a", x, x, ((int64_t[]){0}), 8);
}

static void test_reduces_bools(void **state) {
    (void)state;
    const uint8_t x[6] = {1, 0, 1, 1, 1, 0};
    computes("bool[2,3]", "reduce_or[axes=(0,)] a", x, x, ((uint8_t[]){1, 1, 1}), 3);
    computes("bool[2,3]", "reduce_and[axes=(0,)] a", x, x, ((uint8_t[]){1, 0, 0}), 3);
    computes("bool[2,3]", "reduce_xor[axes=(0,)] a", x, x, ((uint8_t[]){0, 1, 1}), 3);
    computes("bool[2,3]", "reduce_xor[axes=(1, 0)] a", x, x, ((uint8_t[]){0}), 1);
    computes("bool[0,2]", "reduce_xor[axes=(0,)] a", x, x, ((uint8_t[]){0, 0}), 2);
}

/* The larger of bools is whether either is true. */
static void test_extremes_of_bools(void **state) {
    (void)state;
    const uint8_t x[4] = {0, 0, 1, 1}, y[4] = {0, 1, 0, 1};
    computes("bool[4]", "max a b", x, y, ((uint8_t[]){0, 1, 1, 1}), 4);
    computes("bool[4]", "min a b", x, y, ((uint8_t[]){0, 0, 0, 1}), 4);
}

/* Of NaN and zeros as well, which lt finds neither below nor above. */
static void test_total_order(void **state) {
    (void)state;
    const double nan = (double)NAN, x[7] = {-nan, -INFINITY, -1.5, -0.0, 0.0, INFINITY, nan};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 7; j++) {
            /* NAN may have either sign */
            const double a = i == 0 || i == 6 ? copysign(x[i], i - 3) : x[i];
            const double b = j == 0 || j == 6 ? copysign(x[j], j - 3) : x[j];
            const float fa = (float)a, fb = (float)b;
            const uint8_t below = i < j, not_above = i <= j;
            computes("f64[]", "lt_to a b", &a, &b, &below, 1);
            computes("f64[]", "le_to a b", &a, &b, &not_above, 1);
            computes("f32[]", "lt_to a b", &fa, &fb, &below, 1);
            computes("f32[]", "le_to a b", &fa, &fb, &not_above, 1);
        }
    const uint32_t u = 1, v = UINT32_MAX;
    computes("u32[]", "lt_to a b", &u, &v, ((uint8_t[]){1}), 1);
}

/* Of x and of where its largest are: ones, where a pair of outputs has what the text says. */
/* Beside each other in a new dimension, and repeated along those there are. */
static void test_joined(void **state) {
    (void)state;
    const int32_t a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    computes("i32[2,2]", "stack[axis=0] a b", a, b, ((int32_t[]){1, 2, 3, 4, 5, 6, 7, 8}), 32);
    computes("i32[2,2]", "stack[axis=1] a b", a, b, ((int32_t[]){1, 2, 5, 6, 3, 4, 7, 8}), 32);
    computes("i32[2,2]", "stack[axis=2] a b", a, b, ((int32_t[]){1, 5, 2, 6, 3, 7, 4, 8}), 32);
    computes("i32[]", "stack[axis=0] a b a", a, b, ((int32_t[]){1, 5, 1}), 12);
    computes("i32[2,2]", "tile[reps=(1, 3)] a", a, b, ((int32_t[]){1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}), 48);
    computes("i32[2,1]", "tile[reps=(2, 5)] a", a, b,
             ((int32_t[]){1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2}), 80);
    computes("i32[2,2]", "tile[reps=(0, 2)] a", a, b, a, 0);
    computes("i32[]", "tile[reps=()] a", a, b, a, 4);
    computes("i32[2,2]", "device_put[copy_semantics=(ArrayCopySemantics.REUSE_INPUT,) devices=(None,)] a", a, b, a, 16);
    refuses("i32[2,2]", "stack[axis=3] a b", "axis");
    refuses("i32[2,2]", "stack[axis=-1] a b", "axis");
    refuses("i32[2,2]", "tile[reps=(2,)] a", "reps");
    refuses("i32[2,2]", "tile[reps=(2, -1)] a", "reps");
}

/* The case that a number names, wherever it is not below 1 or above the last but one. */
static void test_chosen(void **state) {
    (void)state;
    const int32_t a[4] = {10, 20, 30, 40}, b[4] = {0, 1, 2, 1};
    computes("i32[4]", "select_n b a b", a, b, ((int32_t[]){10, 1, 30, 1}), 16);
    computes("i32[4]", "select_n b a b b a", a, b, ((int32_t[]){10, 1, 2, 1}), 16);
    computes("i32[4]", "select_n 1:i32[] a b", a, b, b, 16);
    computes("i32[4]", "select_n True a b", a, b, b, 16);
    computes("f64[2,2]", "argmax[axes=(1,) index_dtype=uint32] a", ((double[]){1, 2, 4, 3}), b, ((uint32_t[]){1, 0}),
             8);
    computes("i32[2,2]", "reshape[dimensions=(1, 0) new_sizes=(4,) sharding=None] a", a, b,
             ((int32_t[]){10, 30, 20, 40}), 16);
    computes("i32[4]", "platform_index[platforms=(('mosaic',), ('cuda', 'cpu'), None)]", a, b, ((int32_t[]){1}), 4);
    computes("i32[4]", "platform_index[platforms=(('mosaic',), ('cuda',), None)]", a, b, ((int32_t[]){2}), 4);
    refuses("i32[4]", "platform_index[platforms=(('mosaic',), ('cuda',))]", "platforms has nothing for cpu");
    refuses("f64[4]", "select_n b a b", "select: operand 0");
    refuses("i32[4]", "select_n a", "takes an index and cases");
}

/* Floats beside others, and of fewer bits. */
static void test_near(void **state) {
    (void)state;
    const double x[6] = {1, -1, 0, 0, INFINITY, 3}, y[6] = {2, -2, -1, 0, 0, 3};
    const double next[6] = {nextafter(1, 2), nextafter(-1, -2), -0x1p-1074, 0, nextafter(INFINITY, 0), 3};
    computes("f64[6]", "nextafter a b", x, y, next, sizeof next);
    const float f[6] = {1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-9f, 3.4e38f, 0x1p-130f, 65520.0f, -0.1f};
    const float brain[6] = {1.0f, 1.0f + 0x1p-7f, INFINITY, 0x1p-130f, 65536.0f, -0x1.9ap-4f};
    computes("f32[6]", "reduce_precision[exponent_bits=8 mantissa_bits=7] a", f, f, brain, sizeof brain);
    const float half[6] = {1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-9f, INFINITY, 0.0f, INFINITY, -0x1.998p-4f};
    computes("f32[6]", "reduce_precision[exponent_bits=5 mantissa_bits=10] a", f, f, half, sizeof half);
    refuses("f64[3]", "nextafter a", "nextafter: takes 2 operands");
    refuses("i32[3]", "nextafter a b", "nextafter: operand 0: is not of floats");
    refuses("f64[3]", "reduce_precision[exponent_bits=0 mantissa_bits=7] a", "there is no format of 0 and 7 bits");
}

/* Equinox's, where nothing is mapped any more. */
static void test_equinox(void **state) {
    (void)state;
    const uint8_t t[4] = {0, 1, 1, 0};
    const int32_t a[3] = {7, 8, 9}, b[3] = {-1, 5, 2};
    computes("bool[2,2]", "unvmap_any a", t, t, ((uint8_t[]){1}), 1);
    computes("bool[2,2]", "unvmap_all a", t, t, ((uint8_t[]){0}), 1);
    computes("i32[3]", "unvmap_max a", a, b, ((int32_t[]){9}), 4);
    computes("i32[]", "unvmap_max a", a, b, a, 4);
    computes("i32[3]", "select_if_vmap True:bool[] a b", a, b, a, 12);
#define SET "maybe_set[i_static=None i_treedef=PyTreeDef(*) kwargs=() makes_false_steps=True] True:bool[] a 1:i32[] "
    computes("i32[3]", SET "1:i64[]", a, b, ((int32_t[]){7, 1, 9}), 12);
    computes("i32[3]", SET "-1:i64[]", a, b, ((int32_t[]){7, 8, 1}), 12);
    computes("i32[3]", SET "3:i64[]", a, b, a, 12);
    computes("i32[3]", "nonbatchable[allow_constant_across_batch=True msg=Nonconstant batch. `this` isn't one.\n] a", a,
             b, a, 12);
    refuses("i32[3]",
            "maybe_set[i_static=None i_treedef=PyTreeDef((*, *)) kwargs=()] True:bool[] a 1:i32[] 1:i32[] 1:i32[]",
            "maybe_set: only what sets one row");
    refuses("i32[3]", "pure_callback[callback=<function f at 0x7f> result_avals=(ShapedArray(int32[3]),)] a",
            "pure_callback needs a type here");
    static const char text[] = "{ lambda a:i32[3] . let c:i32[3] = pure_callback[callback=<function f at 0x7f> "
                               "result_avals=(ShapedArray(int32[3]),)] a in (c,) }";
    tn_ctx *c = tn_ctx_new(NULL);
    assert_null(tn_fn_parse(c, text, sizeof text - 1, "f.tn"));
    assert_non_null(strstr(tn_error(c), "does not hold the function of Python"));
    tn_ctx_free(c);
}

/* Lineax's: a matrix, and a function of which the text has the program; dropped operands are those of its solver. */
#define SOLVE(left, static, tree) \
    left " = linear_solve[flatten=<object at 0x7f> static=(" static ") treedef=PyTreeDef((CustomNode(" tree ")] "
#define MATRIX "MatrixLinearOperator[(Missing, frozenset())], [*]), (*, *), *, {}, CustomNode(LU[(Missing,)], []), *)"
#define TALL   "MatrixLinearOperator[(Missing, frozenset())], [*]), *, *, {}, CustomNode(QR[(Missing,)], []), *)"
#define MAPS   "FunctionLinearOperator[(Missing,)], [*, [*, *]]), *, *, {}, CustomNode(LU[(Missing,)], []), *)"
static const tn_fn *lineax(tn_ctx *c, const char *inputs, const char *solve, const char *operands) {
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{ lambda ; %s. let _:i32[] = convert_element_type[new_dtype=int32] 0:i64[]\n"
                   "_:f64[] = convert_element_type[new_dtype=float64] 0:i64[]\n%s %s\n in (x, r) }",
                   inputs, solve, operands);
    return tn_fn_parse(c, text, strlen(text), "f.tn");
}

static const tn_fn *made(tn_ctx *c, const tn_fn *f) {
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static void test_lineax(void **state) {
    (void)state;
    const double a[4] = {2, 1, 0, 4}, b[2] = {4, 8}, tall[6] = {1, 0, 0, 1, 0, 0}, three[3] = {5, 6, 7}, k[2] = {2, 4};
    double x[2];
    int32_t r;
    tn_ctx *c = tn_ctx_new(NULL);
    run(made(c,
             lineax(c, "a:f64[2,2] b:f64[2]", SOLVE("x:f64[2] r:i32[]", "<object at 0x7f>, True", MATRIX), "a _ _ b")),
        (const void *[]){a, b}, (void *[]){x, &r});
    assert_true(x[0] == 1 && x[1] == 2 && r == 0);
    run(made(c, lineax(c, "k:f64[2] b:f64[2]",
                       SOLVE("x:f64[2] r:i32[]",
                             "{ lambda k:f64[2]; x:f64[2]. let y:f64[2] = mul k x z:f64[2] = rev[dimensions=(0,)] x "
                             "w:f64[2] = add y z in (w,) }, <object at 0x7f>, True",
                             MAPS),
                       "k _ b")),
        (const void *[]){k, (double[]){4, 9}}, (void *[]){x, &r});
    assert_true(fabs(x[0] - 1) < 1e-15 && fabs(x[1] - 2) < 1e-15);
    const tn_fn *f = lineax(c, "a:f64[3,2] b:f64[3]", SOLVE("x:f64[2] r:i32[]", "True,", TALL), "a _ b");
    if (!f) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(f, NULL); /* NULL without LAPACK */
    if (e) {
        assert_int_equal(tn_call(e, (const void *[]){tall, three}, (void *[]){x, &r}), TN_OK);
        assert_true(fabs(x[0] - 5) < 1e-14 && fabs(x[1] - 6) < 1e-14);
        tn_exec_free(e);
    }
    assert_null(lineax(c, "a:f64[2,2] b:f64[2]", SOLVE("x:f64[2] r:i32[]", "True,", MATRIX), "_ a b"));
    assert_non_null(strstr(tn_error(c), "does not tell what one of its operands is"));
    assert_null(lineax(c, "a:f64[2,2] b:f64[3]", SOLVE("x:f64[2] r:i32[]", "True,", MATRIX), "a b"));
    assert_non_null(strstr(tn_error(c), "does not fit the right-hand side"));
    assert_null(
        lineax(c, "a:f64[2] b:f64[2]",
               SOLVE("x:f64[2] r:i32[]", "True,", "JacobianLinearOperator[], [*]), *, *, {}, CustomNode(LU[], []), *)"),
               "a b"));
    assert_non_null(strstr(tn_error(c), "of Lineax's operators"));
    tn_ctx_free(c);
}

/* a = q h q', with nothing below h's first subdiagonal; of one row there is no reflection. */
static void test_hessenberg(void **state) {
    (void)state;
    static const char text[] =
        "{ lambda ; a:f64[4,4] b:f64[1,1]. let r:f64[4,4] t:f64[3] = hessenberg a\n"
        "v:f64[3,3] = slice[start_indices=(1,0) limit_indices=(4,3) strides=None] r\n"
        "q:f64[3,3] = householder_product v t\n c:f64[1,1] u:f64[0] = hessenberg b in (r, q, c) }";
    static const double a[16] = {1, 2, -3, 4, 3, 0.5, 2, 1, 4, -2, 1, 0, 0, 5, 2, -1}, b[1] = {7};
    double r[16], q[9], c[1];
    tn_ctx *k = tn_ctx_new(NULL);
    run(made(k, tn_fn_parse(k, text, sizeof text - 1, "f.tn")), (const void *[]){a, b}, (void *[]){r, q, c});
    double h[16], whole[16] = {1};
    for (int i = 0; i < 16; i++) h[i] = i / 4 > i % 4 + 1 ? 0 : r[i];
    for (int i = 0; i < 9; i++) whole[(i / 3 + 1) * 4 + i % 3 + 1] = q[i];
    for (int i = 0; i < 16; i++) {
        double sum = 0, square = 0;
        for (int p = 0; p < 4; p++) {
            square += whole[i / 4 * 4 + p] * whole[i % 4 * 4 + p];
            for (int s = 0; s < 4; s++) sum += whole[i / 4 * 4 + p] * h[p * 4 + s] * whole[i % 4 * 4 + s];
        }
        assert_true(fabs(sum - a[i]) < 1e-14 * 40 && fabs(square - (i / 4 == i % 4)) < 1e-14);
    }
    assert_true(c[0] == 7);
    tn_ctx_free(k);
}

/* Programs that are traced for an equation, over dimensions in front as well. */
static void test_composed(void **state) {
    (void)state;
    static const char text[] =
        "{ lambda ; a:f64[2,2,1] c:f64[2,2,1] d:f64[1,3] b:f64[1,3,1] p:i32[2]. let r:f64[2,2,1] t:f64[2,1] = geqrf a\n"
        "q:f64[2,2,1] = householder_product r t\n m:f64[2,2,1] = ormqr[left=True transpose=True] r t c\n"
        "x:f64[1,3,1] = tridiagonal_solve[perturb_singular=False] d d d b\n"
        "o:i32[4] = lu_pivots_to_permutation[permutation_size=4] p in (r, q, m, x, o) }";
    const double a[4] = {3, 4, 2, 0}, c[4] = {5, 10, 1, 7}, d[3] = {1, 2, 4}, b[3] = {4, 10, 20};
    const int32_t pivots[2] = {2, 2};
    double r[4], q[4], m[4], x[3];
    int32_t o[4];
    tn_ctx *k = tn_ctx_new(NULL);
    run(made(k, tn_fn_parse(k, text, sizeof text - 1, "f.tn")), (const void *[]){a, c, d, b, pivots},
        (void *[]){r, q, m, x, o});
    const double r_[4] = {-5, 0.5, 2, 0}, q_[4] = {-0.6, -0.8, 1, 0}, m_[4] = {-11, 2, 1, 7};
    for (int i = 0; i < 4; i++)
        if (fabs(r[i] - r_[i]) + fabs(q[i] - q_[i]) + fabs(m[i] - m_[i]) > 1e-14)
            fail_msg("%d: %g %g %g", i, r[i], q[i], m[i]);
    /* rows (1, 1, 0), (2, 2, 2), (0, 4, 4) */
    assert_true(fabs(x[0] + x[1] - 4) + fabs(x[0] + x[1] + x[2] - 5) + fabs(x[1] + x[2] - 5) < 1e-14);
    assert_memory_equal(o, ((int32_t[]){2, 0, 1, 3}), sizeof o);
    tn_ctx_free(k);
    refuses("f64[3]", "geqrf a", "geqrf: operand 0: is not of the rank");
    refuses("f64[3]", "hessenberg a", "hessenberg: operand 0: is not of the rank");
    refuses("f64[3,3]", "householder_product a b", "householder_product: operand 1: is not of the rank");
    refuses("f64[3,3]", "ormqr[left=True transpose=False] a b", "ormqr: takes 3 operands, not 2");
}

/* A region as JAX prints it: nothing is saved where it has no policy. */
static void test_remat(void **state) {
    static const char text[] =
        "{ lambda a:f64[2] . let b:f64[2] = remat2[differentiated=False jaxpr={ lambda ; c:f64[2]. let "
        "d:f64[2] = cos c; e:f64[2] = sin d in (e,) } policy=None prevent_cse=True] a in (b,) }";
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_fn_parse(c, text, sizeof text - 1, "f.tn");
    if (!f) fail_msg("%s", tn_error(c));
    size_t n;
    char *printed = tn_fn_print(f, &n);
    assert_non_null(strstr(printed, "policy=\"nothing_saveable\""));
    tn_text_free(c, printed);
    tn_ctx_free(c);
}

static void test_top_k(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    static const char text[] = "{ lambda a:f64[2,5] . let b:f64[2,3] c:i32[2,3] = top_k[k=3] a d:f64[1,5] e:i32[1,5] = "
                               "top_k[axis=0 k=1] a in (b, c, d, e) }";
    const tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    if (!f) fail_msg("%s", tn_error(c));
    const double x[10] = {3, 7, 3, 7, 1, -1, INFINITY, -2, (double)NAN, -3};
    double b[6], d[5];
    int32_t i[6], j[5];
    run(f, (const void *[]){x}, (void *[]){b, i, d, j});
    assert_memory_equal(b, ((double[]){7, 7, 3}), 3 * sizeof *b);
    assert_memory_equal(i, ((int32_t[]){1, 3, 0, 3, 1, 0}), sizeof i);
    assert_true(isnan(b[3]) && b[4] == INFINITY && b[5] == -1);
    assert_memory_equal(j, ((int32_t[]){0, 1, 0, 1, 0}), sizeof j);
    assert_true(d[0] == 3 && d[1] == INFINITY && d[2] == 3 && isnan(d[3]) && d[4] == 1);
    tn_ctx_free(c);
}

static tn_val largest(const tn_val *in, void *user) {
    (void)user;
    tn_val values, places, none;
    tn_top_k(in[0], 2, -1, &values, &places);
    tn_top_k(in[0], 0, 0, &none, NULL);
    return tn_add(tn_sum(tn_mul(values, tn_take(in[0], places, 0))), tn_sum(none));
}

/* sum of squares of the two largest: the derivative is twice each of them. */
static void test_top_k_operator(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    const tn_fn *f = tn_trace(c, largest, NULL, 1, (tn_type[]){tn_f64(4)});
    const double x[4] = {2, -5, 7, 3};
    double g[4];
    assert_non_null(f);
    run(tn_grad(f, NULL, NULL), (const void *[]){x}, (void *[]){g});
    assert_memory_equal(g, ((double[]){0, 0, 14, 6}), sizeof g);
    tn_ctx_free(c);
}

static tn_val too_many(const tn_val *in, void *user) {
    (void)user;
    tn_val values;
    tn_top_k(in[0], 5, 0, &values, NULL);
    return values;
}

static void test_top_k_refusals(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    assert_null(tn_trace(c, too_many, NULL, 1, (tn_type[]){tn_f64(4)}));
    assert_non_null(strstr(tn_error(c), "top_k: operand 0"));
    assert_non_null(strstr(tn_error(c), "dimension 0 has 4 elements, of which there are no 5"));
    tn_ctx_free(c);
    refuses("f64[3]", "top_k[k=4] a", "dimension 0 has 3 elements, of which there are no 4");
    refuses("f64[3]", "top_k[k=1 axis=1] a", "axis: 1 is no dimension");
    refuses("f64[3]", "top_k[k=1] a b", "top_k");
    refuses("f64[3]", "top_k[k=1] a", "has 2 outputs, not 1");
}

/* As searchsorted has them. */
static void test_unsigned_places(void **state) {
    (void)state;
    const uint32_t i[3] = {2, 0, 9};
    const double x[4] = {1, 2, 3, 4};
    tn_ctx *c = tn_ctx_new(NULL);
    static const char text[] =
        "{ lambda x:f64[4] i:u32[3,1] j:u32[] . let a = "
        "gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(), "
        "collapsed_slice_dims=(0,), start_index_map=(0,)) slice_sizes=(1,) mode=clip] x i b = dynamic_slice["
        "slice_sizes=(2,)] x j c = dynamic_update_slice x b 0:u32[] in (a, b, c) }";
    const tn_fn *f = tn_fn_parse(c, text, strlen(text), "f.tn");
    if (!f) fail_msg("%s", tn_error(c));
    double a[3], b[2], d[4];
    run(f, (const void *[]){x, i, &i[0]}, (void *[]){a, b, d});
    assert_memory_equal(a, ((double[]){3, 1, 4}), sizeof a);
    assert_memory_equal(b, ((double[]){3, 4}), sizeof b);
    assert_memory_equal(d, ((double[]){3, 4, 3, 4}), sizeof d);
    tn_ctx_free(c);
}

static void test_refusals(void **state) {
    (void)state;
    refuses("f64[3]", "reduce_or[axes=(0,)] a", "reduce_or: operand 0: is neither of integers nor of bools");
    refuses("i32[3]", "reduce_and[axes=(1,)] a", "reduce_and: axes: an axis is no dimension");
    refuses("i32[3]", "reduce_xor[axes=(0, 0)] a", "reduce_xor: axes: an axis is repeated");
    refuses("f64[3]", "lt_to a b b", "lt_to");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduces_bits),
        cmocka_unit_test(test_reduces_bools),
        cmocka_unit_test(test_extremes_of_bools),
        cmocka_unit_test(test_total_order),
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_equinox),
        cmocka_unit_test(test_lineax),
        cmocka_unit_test(test_hessenberg),
        cmocka_unit_test(test_composed),
        cmocka_unit_test(test_remat),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_k_operator),
        cmocka_unit_test(test_top_k_refusals),
        cmocka_unit_test(test_unsigned_places),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
