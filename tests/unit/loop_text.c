/* Loop programs as text: what is printed parses, and prints the same; each construct; what is no program says where. */
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

/* clang-format off */
static const char everything[] =
    "loop {\n"
    "  array x: f64[8000] in base 0\n"
    "  array n: i32[4] in base 1 at 16 align 16\n"
    "  array h: f64[8] inout base 2\n"
    "  array y: f32[16] out base 3\n"
    "  array m: bool[16] out base 4\n"
    "  array k: i64[16] out base 5\n"
    "  array c: f64[4] const {1.0, -0.0, nan, inf}\n"
    "  array b: bool[2] const {0, 1}\n"
    "  array e: i64[0] const {}\n"
    "  array s: i8[3] const {-128, 0, 127}\n"
    "  array f: f16[3] const {-0.5, inf, 6.1035156e-05}\n"
    "  array q: bf16[8] inout base 7 at 2\n"
    "  array t: f64[8] scratch base 6 at 64 align 64\n"
    "  arena 128 base 6\n"
    "  v0: f64 = number 0.1\n"
    "  v1: i32 = number -2147483648\n"
    "  v2: bool = number 1\n"
    "  v3: i64 = number -9223372036854775808\n"
    "  v4: f32 = number nan:0x7fc00001\n"
    "  for i0 < 1000 {\n"
    "    r0: f64 = reduce sum\n"
    "    for i1 < 8 {\n"
    "      v5: f64 = load h[i1]\n"
    "      v6: f64 = load x[8 i0 + i1]\n"
    "      v7: f64 = fma v5 v6 v0\n"
    "      v8: f64 = fn tanh v7\n"
    "      into r0 = v8\n"
    "      store t[-i1 + 7] = v8\n"
    "    }\n"
    "    v9: f64 = total r0\n"
    "    call copy(read t[0 : 8], write h[0 : 8], -i0 + 3)\n"
    "  }\n"
    "  for i2 < 2 {\n"
    "    for i3 < min(16, -16 i2 + 20) vector 8 unroll 2 {\n"
    "      v10: i64 = index 3 i3 + 1\n"
    "      v11: bool = within 0 <= -i2 + i3 < 4\n"
    "      v12: bool = within i3 < 5\n"
    "      v13: bool = within -1 <= i3\n"
    "      v14: bool = and v11 v12\n"
    "      v15: f64 = load c[clamp(v10, 3)]\n"
    "      v16: f64 = load x[16 i2 + 2 clamp(v10, 99)] where v14 else v15\n"
    "      v17: f32 = convert v16\n"
    "      store y[i3] = v17 where v13\n"
    "      store m[i3] = v14\n"
    "      store k[i3] = v10\n"
    "    }\n"
    "  }\n"
    "  for i4 < 16 vector 16 {\n"
    "    for i5 < 4 {\n"
    "      v18: f64 = carry v0\n"
    "      v19: f64 = load x[i4 + 16 i5]\n"
    "      v20: f64 = add v18 v19\n"
    "      next v18 = v20\n"
    "    }\n"
    "    v21: f64 = last v18\n"
    "  }\n"
    "  v22: f64 = halves sum v21\n"
    "  for i6 {\n"
    "    v23: f64 = carry v22\n"
    "    v24: bool = gt v23 v0\n"
    "    while v24\n"
    "    v25: f64 = mul v23 v0\n"
    "    next v23 = v25\n"
    "  }\n"
    "  v26: f64 = last v23\n"
    "  if v24 {\n"
    "    v27: f64 = fn polygamma v0 v26\n"
    "  } else {\n"
    "    v28: f64 = fn integer_pow(-17) v26\n"
    "  }\n"
    "  v29: f64 = join v27 v28\n"
    "  for i7 < min(9, v1) {\n"
    "    v30: i64 = bits v29\n"
    "  }\n"
    "  r1: i32 = reduce argmax 8\n"
    "  for i8 < 8 parallel {\n"
    "    v31: f64 = load h[i8]\n"
    "    store t[i8] = v31\n"
    "  }\n"
    "  for i9 < min(9, v3) {\n"
    "    into r1[7] = v1\n"
    "  }\n"
    "  v32: i64 = total r1[7]\n"
    "  v33: i64 = total r1\n"
    "}\n";
/* clang-format on */

static tn_ctx *context(void) {
    tn_ctx *c = tn_ctx_new(NULL);
    assert_non_null(c);
    return c;
}

static void round_trip(tn_ctx *c, const char *text, const char *want) {
    size_t n = 0;
    tn_i_loops *p = tn_i_l_parse(c, text, strlen(text), "text", NULL, 0);
    if (!p) print_error("%s\n", tn_error(c));
    assert_non_null(p);
    char *printed = tn_i_l_print(p, &n);
    assert_non_null(printed);
    assert_int_equal(n, strlen(printed));
    assert_string_equal(printed, want);
    tn_text_free(c, printed);
    tn_i_l_free(p);
}

static void test_everything(void **state) {
    (void)state;
    tn_ctx *c = context();
    round_trip(c, everything, everything);
    tn_ctx_free(c);
}

/* Any names, spaces, comments, signs, orders of terms. */
static void test_canonical(void **state) {
    (void)state;
    tn_ctx *c = context();
    round_trip(c,
               "loop { # a comment\n array x: f64[99] inout base 0\n for row < 3 { for col < 4 {\n"
               "a: f64 = load x[col + 2 + 4 row - 1 + 3 col -1 + 0 row + 1]\n store x[+row] = a } } }",
               "loop {\n  array x: f64[99] inout base 0\n  for i0 < 3 {\n    for i1 < 4 {\n"
               "      v0: f64 = load x[4 i0 + 4 i1 + 1]\n      store x[i0] = v0\n    }\n  }\n}\n");
    round_trip(c, "loop{}", "loop {\n}\n");
    tn_ctx_free(c);
}

static void refused(tn_ctx *c, const char *text, const char *why) {
    tn_i_loops *p = tn_i_l_parse(c, text, strlen(text), "text", NULL, 0);
    assert_null(p);
    if (!strstr(tn_error(c), why)) print_error("%s\n   is said, not\n%s\n", tn_error(c), why);
    assert_non_null(strstr(tn_error(c), why));
}

static void test_errors(void **state) {
    (void)state;
    tn_ctx *c = context();
    refused(c, "", "text:1:1: expected `loop`");
    refused(c, "loop {", "text:1:7: expected a statement");
    refused(c, "loop {}\nx", "text:2:1: expected the end");
    refused(c, "loop { array x: f8[2] in base 0 }", "text:1:17: expected a dtype");
    refused(c, "loop { array x: f16[2] in base 0 v: f16 = load x[0] }", "text:1:37: expected a dtype");
    refused(c, "loop { array x: f16[2] in base 0 v: f64 = load x[0] }", "the array is of f32");
    refused(c, "loop { array x: u8[2] const {3, 256} }", "u8 has no such number");
    refused(c, "loop { array x: f64[-2] in base 0 }", "expected a number from 0");
    refused(c, "loop { array x: f64[2] inn base 0 }", "expected a role");
    refused(c, "loop { array x: f64[2] const {1} }", "expected 2 numbers");
    refused(c, "loop { array x: f64[1] const {1, 2} }", "expected `}`");
    refused(c, "loop { array x: f64[1] in base 0 array x: f64[1] in base 1 }", "array x is declared twice");
    refused(c, "loop { v: f64 = number 1 v: f64 = number 1 }", "v is defined twice");
    refused(c, "loop { v: f64 = neg w }", "text:1:21: w is not defined");
    refused(c, "loop { v: f64 = nege w }", "expected an operation");
    refused(c, "loop { v: f64 = load x[0] }", "there is no array x");
    refused(c, "loop { array x: f64[1] in base 0 v: f32 = load x[0] }", "the array is of f64");
    refused(c, "loop { v: i32 = number 3000000000 }", "expected a number from -2147483648");
    refused(c, "loop { v: bool = number 2 }", "expected a number from 0 to 1");
    refused(c, "loop { v: f64 = number zero }", "expected a number");
    refused(c, "loop { r: f64 = reduce mean }", "expected a fold");
    refused(c, "loop { v: f64 = number 1 into v = v }", "this is no reduction");
    refused(c, "loop { v: f64 = fn reduce_sum v }", "expected an elementwise primitive");
    refused(c, "loop { v: i64 = index v }", "v is not defined");
    refused(c, "loop { v: i64 = index 1\n w: i64 = index 2 v }", "this is no loop");
    refused(c, "loop { for i < 3 { v: f64 = neg i } }", "this is no value");
    refused(c, "loop { for i < 3 { } else { } }", "else without an if");
    refused(c, "loop { v: i64 = index 9223372036854775807 + 1 }", "too large");
    refused(c, "loop { array x: f64[9] in base 0 v: i64 = index 1\n w: f64 = load x[clamp(v, 2) + clamp(v, 2)] }",
            "an address has one index");
    refused(c, "loop { v: bool = within 1 + 2 }", "expected `<`");
    tn_ctx_free(c);
}

/* As deep as blocks may be nested, and one more; an address of as many loops as may be counted, and one more. */
static void test_limits(void **state) {
    (void)state;
    tn_ctx *c = context();
    for (int more = 0; more < 2; more++) {
        tn_i_l_builder b;
        tn_i_l_begin(&b, c);
        for (int d = 0; d < TN_L_DEPTH + more; d++) (void)tn_i_l_for_n(&b, 2);
        for (int d = 0; d < TN_L_DEPTH + more; d++) tn_i_l_close(&b);
        tn_i_loops *p = tn_i_l_end(&b);
        assert_int_equal(p != NULL, !more);
        if (more) assert_non_null(strstr(tn_error(c), "nested too deep"));
        tn_i_l_free(p);
    }
    for (int more = 0; more < 2; more++) {
        tn_i_l_builder b;
        tn_i_affine e = {0};
        tn_i_l_begin(&b, c);
        for (int d = 0; d < TN_L_TERMS + more; d++) e = tn_i_affine_term(&b, e, tn_i_l_for_n(&b, 2), 1);
        (void)tn_i_l_index(&b, TN_I64, e);
        for (int d = 0; d < TN_L_TERMS + more; d++) tn_i_l_close(&b);
        tn_i_loops *p = tn_i_l_end(&b);
        assert_int_equal(p != NULL, !more);
        if (more) assert_non_null(strstr(tn_error(c), "counts too many loops"));
        tn_i_l_free(p);
    }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_everything), cmocka_unit_test(test_canonical),
                                       cmocka_unit_test(test_errors), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
