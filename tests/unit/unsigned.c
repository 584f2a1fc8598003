/* u32: text, operators, errors, buffers of C, and programs of many of them as every back end runs them. */
#include "tansy.h"
#include "tansy/structs.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static tn_fn *parsed(tn_ctx *c, const char *text) { return tn_fn_parse(c, text, strlen(text), "f.tn"); }

static void text(void **state) {
    (void)state;
    static const char same[] = "{ lambda a:u32[2] . let\n"
                               "    b:u32[2] = constant[value=[4294967295, 7]]\n"
                               "    c:u32[2] = xor a b\n"
                               "    d:f64[2] = convert_element_type[new_dtype=f64] c\n"
                               "  in (c, d,) }\n";
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = parsed(c, same), *g = parsed(c, "{ lambda a:uint32[] . let b = add a 4294967295:uint32[] in (b,) }");
    assert_non_null(f);
    assert_non_null(g);
    char *s = tn_fn_print(f, NULL);
    assert_non_null(strstr(s, "a:u32[2]"));
    assert_non_null(strstr(s, "[4294967295, 7]"));
    tn_fn *again = parsed(c, s);
    assert_non_null(again);
    char *t = tn_fn_print(again, NULL);
    assert_string_equal(s, t);
    tn_text_free(c, s);
    tn_text_free(c, t);
    tn_fn_free(f);
    tn_fn_free(g);
    tn_fn_free(again);
    static const struct {
        const char *program, *says;
    } bad[] = {
        {"{ lambda a:u32[] . let b = add a -1:u32[] in (b,) }", "u32"},
        {"{ lambda a:u32[] . let b = add a 4294967296:u32[] in (b,) }", "u32"},
        {"{ lambda a:u32[3] . let b = argmax[axes=(0,) index_dtype=f32] a in (b,) }", "index_dtype must be i32 or i64"},
        {"{ lambda a:u32[3] b:i32[3] . let c = add a b in (c,) }", "operand 1"},
        {"{ lambda a:u32[3] . let c = exp a in (c,) }", "u32"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_null(parsed(c, bad[i].program));
        if (!strstr(tn_error(c), bad[i].says)) fail_msg("row %zu: %s", i, tn_error(c));
    }
    tn_ctx_free(c);
}

static tn_val too_low(const tn_val *in, void *user) { return (void)user, tn_add(in[0], -1); }
static tn_val too_high(const tn_val *in, void *user) { return (void)user, tn_add(in[0], INT64_C(4294967296)); }
static tn_val a_place(const tn_val *in, void *user) {
    return (void)user, tn_dynamic_slice(in[1], tn_vals(in[0]), tn_ints(1));
}

static void errors(void **state) {
    (void)state;
    static const struct {
        tn_trace_fn f;
        const char *says;
    } rows[] = {{too_low, "not representable in u32"}, {too_high, "not representable in u32"}, {a_place, "u32"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        tn_ctx *c = tn_ctx_new(NULL);
        assert_null(tn_trace(c, rows[i].f, NULL, TN_ARGS(tn_u32(), tn_f64(3))));
        if (!strstr(tn_error(c), rows[i].says) || !strstr(tn_error(c), "unsigned.c:"))
            fail_msg("row %zu: %s", i, tn_error(c));
        tn_ctx_free(c);
    }
}

/* Thirty-two bits of a hash: what wraps, what is ordered as numbers are, and what becomes a float. */
static void hashed(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    tn_val x = tn_mul(in[0], 2654435761u);
    x = tn_xor(x, tn_shift_right_logical(x, 15));
    x = tn_add(tn_or(tn_shift_left(x, 13), tn_shift_right_logical(x, 19)), in[1]);
    out[0] = x;
    out[1] = tn_maximum(tn_div(x, 3), tn_rem(x, 1000));
    out[2] = tn_mul(tn_convert(x, TN_F64), 0x1p-32);
    out[3] = tn_sum(tn_where(tn_gt(x, 2147483648u), x, tn_sub(0, x)));
    out[4] = tn_max(x);
}

static void agrees(const tn_fn *f, size_t n, tn_backend backend) {
    tn_compile_options o = {.size = sizeof o, .backend = (int)backend};
    tn_exec *e = tn_compile(f, &o);
    uint32_t *x = malloc((n + 1) * sizeof *x), *hash = malloc((n + 1) * sizeof *x), *most = malloc((n + 1) * sizeof *x);
    double *real = malloc((n + 1) * sizeof *real);
    uint32_t add = 0x9e3779b9u, sum = 0, top = 0, want_sum = 0, want_top = 0;
    assert_non_null(e);
    for (size_t i = 0; i < n; i++) x[i] = (uint32_t)i * 40503u;
    assert_int_equal(tn_call(e, (const void *[]){x, &add}, (void *[]){hash, most, real, &sum, &top}), TN_OK);
    for (size_t i = 0; i < n; i++) {
        uint32_t h = x[i] * 2654435761u;
        h ^= h >> 15;
        h = (h << 13 | h >> 19) + add;
        assert_int_equal(hash[i], h);
        assert_int_equal(most[i], h / 3 > h % 1000 ? h / 3 : h % 1000);
        assert_true(real[i] == (double)h * 0x1p-32);
        want_sum += h > 2147483648u ? h : 0u - h;
        want_top = h > want_top ? h : want_top;
    }
    assert_int_equal(sum, want_sum);
    assert_int_equal(top, want_top);
    free(x);
    free(hash);
    free(most);
    free(real);
    tn_exec_free(e);
}

static void back_ends(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 7, 16, 33, 1000, 20011};
    tn_ctx *c = tn_ctx_new(NULL);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        tn_fn *f = tn_trace_many(c, hashed, NULL, TN_ARGS(tn_u32(sizes[i]), tn_u32()), 5);
        if (!f) fail_msg("%s", tn_error(c));
        for (int b = TN_BACKEND_DEFAULT; b <= TN_BACKEND_NATIVE; b++) agrees(f, (size_t)sizes[i], (tn_backend)b);
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

/* The bits of 1.5 and of -0, there and back. */
static void cast(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_bitcast(in[0], TN_U32);
    out[1] = tn_bitcast(out[0], TN_F32);
    out[2] = tn_bitcast(tn_bitcast(in[1], TN_I64), TN_F64);
    out[3] = tn_bitcast(out[0], TN_I32);
}
static tn_val wider(const tn_val *in, void *user) { return (void)user, tn_bitcast(in[0], TN_F64); }
static tn_val no_dtype(const tn_val *in, void *user) { return (void)user, tn_bitcast(in[0], TN_NDTYPES); }
static tn_val of_bool(const tn_val *in, void *user) { return (void)user, tn_bitcast(tn_gt(in[0], 0), TN_BOOL); }

static void bitcasts(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace_many(c, cast, NULL, TN_ARGS(tn_f32(2), tn_f64()), 4);
    if (!f) fail_msg("%s", tn_error(c));
    for (int k = TN_BACKEND_DEFAULT; k <= TN_BACKEND_NATIVE; k++) {
        tn_compile_options o = {.size = sizeof o, .backend = k};
        tn_exec *e = tn_compile(f, &o);
        const float x[2] = {1.5f, -0.0f};
        const double y = -2.25;
        uint32_t bits[2];
        int32_t whole[2];
        float back[2];
        double same;
        assert_int_equal(tn_call(e, (const void *[]){x, &y}, (void *[]){bits, back, &same, whole}), TN_OK);
        assert_int_equal(bits[0], 0x3fc00000u);
        assert_int_equal(bits[1], 0x80000000u);
        assert_memory_equal(x, back, sizeof x);
        assert_memory_equal(bits, whole, sizeof bits);
        assert_true(same == y);
        tn_exec_free(e);
    }
    tn_fn_free(f);
    static const struct {
        tn_trace_fn f;
        const char *says;
    } rows[] = {{wider, "new_dtype must have as many bits as f32"},
                {no_dtype, "is no dtype"},
                {of_bool, "not defined for bool"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_null(tn_trace(c, rows[i].f, NULL, TN_ARGS(tn_f32(3))));
        if (!strstr(tn_error(c), rows[i].says)) fail_msg("row %zu: %s", i, tn_error(c));
    }
    tn_ctx_free(c);
}

/* Known words of Threefry-2x32: a key is a seed, and its first split, in both dtypes. */
static void keys(const tn_val *in, tn_val *out, void *user) {
    (void)user;
    out[0] = tn_random_fold_in(in[0], 0);
    out[1] = tn_convert(tn_random_fold_in(tn_convert(in[0], TN_I32), 0), TN_U32);
    out[2] = tn_random_bits(in[0], tn_u32(2));
}

static void random_keys(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace_many(c, keys, NULL, TN_ARGS(tn_u32(2)), 3);
    if (!f) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(f, NULL);
    const uint32_t zero[2] = {0, 0};
    uint32_t a[2], b[2], bits[2];
    assert_int_equal(tn_call(e, (const void *[]){zero}, (void *[]){a, b, bits}), TN_OK);
    assert_int_equal(a[0], 0x6b200159u);
    assert_int_equal(a[1], 0x99ba4efeu);
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(bits[0], a[0] ^ a[1]);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
}

/* ---- memory of C ---- */

#define WORDS(F) F(u32, key, 2) F(f64, scale)
TN_STRUCT(words, WORDS);

static void scaled(const tn_val *in, tn_val *out, void *user) {
    const words_vals *p = TN_STRUCT_VALS(words, in);
    (void)user;
    out[0] = tn_mul(tn_convert(p->key, TN_F64), p->scale);
    out[1] = tn_add(p->key, 1);
}

static void memory(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_fn *f = tn_trace_many(c, scaled, NULL, TN_STRUCT_ARGS(words), 2);
    if (!f) fail_msg("%s", tn_error(c));
    tn_exec *e = tn_compile(f, NULL);
    words p = {.key = {4294967295u, 2}, .scale = 0.5};
    double y[2];
    unsigned next[2], key[2] = {7, 8};
    int same[2];
    float wrong[2];
    assert_int_equal(tn_call(e, TN_INPUTS(TN_STRUCT_IN(words, &p)), TN_OUTPUTS(y, next)), TN_OK);
    assert_true(y[0] == 2147483647.5 && y[1] == 1);
    assert_int_equal(next[0], 0);
    assert_int_equal(next[1], 3);
    assert_int_equal(tn_call(e, TN_INPUTS(key, &p.scale), TN_OUTPUTS(y, same)), TN_OK); /* as wide */
    assert_int_equal(same[1], 9);
    assert_int_equal(tn_call(e, TN_INPUTS(key, &p.scale), TN_OUTPUTS(y, wrong)), TN_EINVAL);
    tn_exec_free(e);
    tn_fn_free(f);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(text),        cmocka_unit_test(errors),
                                       cmocka_unit_test(back_ends),   cmocka_unit_test(bitcasts),
                                       cmocka_unit_test(random_keys), cmocka_unit_test(memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
