/* Numbers as text: against the C library's own conversion in the C locale, on
 * hard cases, and under a locale with a decimal comma. */
#include "base/number.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * 2685821657736338717u;
}

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint32_t bits_of_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double f64_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float f32_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void expect_parse(const char *text) {
    const size_t n = strlen(text);
    double full = 0;
    float single = 0;
    if (!tn_i_parse_f64(text, n, &full) || bits_of(full) != bits_of(strtod(text, NULL)))
        fail_msg("%.60s... read as f64 %a, not %a", text, full, strtod(text, NULL));
    if (!tn_i_parse_f32(text, n, &single) || bits_of_f32(single) != bits_of_f32(strtof(text, NULL)))
        fail_msg("%.60s... read as f32 %a, not %a", text, (double)single, (double)strtof(text, NULL));
}

/* What is written reads back to the same bits, here and in the C library. */
static void expect_round_trip(double x) {
    char text[TN_I_NUMBER_TEXT];
    double back;
    const size_t n = tn_i_format_f64(text, x);
    assert_int_equal(n, strlen(text));
    if (!tn_i_parse_f64(text, n, &back) || bits_of(back) != bits_of(x))
        fail_msg("%s reads back as %a, not %a", text, back, x);
    if (!isnan(x) && bits_of(strtod(text, NULL)) != bits_of(x)) fail_msg("%s is not %a", text, x);
    if (!strpbrk(text, ".einf")) fail_msg("%s is not visibly a float", text);
}

static void expect_round_trip_f32(float x) {
    char text[TN_I_NUMBER_TEXT];
    float back;
    const size_t n = tn_i_format_f32(text, x);
    assert_int_equal(n, strlen(text));
    if (!tn_i_parse_f32(text, n, &back) || bits_of_f32(back) != bits_of_f32(x))
        fail_msg("%s reads back as %a, not %a", text, (double)back, (double)x);
    if (!isnan(x) && bits_of_f32(strtof(text, NULL)) != bits_of_f32(x)) fail_msg("%s is not %a", text, (double)x);
}

static int significant_digits(const char *text) {
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9') continue;
        if (*text == '0') {
            zeros += n > 0;
        } else {
            n += zeros + 1;
            zeros = 0;
        }
    }
    return n;
}

static void expect_shortest(double x) {
    char text[TN_I_NUMBER_TEXT], shorter[TN_I_NUMBER_TEXT];
    (void)tn_i_format_f64(text, x);
    const int n = significant_digits(text);
    if (n < 2) return;
    (void)snprintf(shorter, sizeof shorter, "%.*e", n - 2, x);
    if (bits_of(strtod(shorter, NULL)) == bits_of(x)) fail_msg("%s is longer than %s", text, shorter);
}

static void expect_json(double x) {
    char text[TN_I_NUMBER_TEXT], want[TN_I_NUMBER_TEXT];
    (void)tn_i_format_json_f64(text, x);
    (void)snprintf(want, sizeof want, "%.17g", x);
    assert_string_equal(text, want);
}

static void test_random_bits(void **state) {
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 1000000; i++) {
        const uint64_t bits = next_random(&random);
        expect_round_trip(f64_of(bits));
        expect_round_trip_f32(f32_of((uint32_t)bits));
        const double x = i % 2 ? f64_of(bits) : (double)(int64_t)bits * 0x1p-60;
        if (i % 8 > 1 || !isfinite(x)) continue;
        expect_shortest(x);
        expect_json(x);
    }
}

static void test_random_text(void **state) {
    (void)state;
    uint64_t random = 362436069;
    char text[1200];
    for (int i = 0; i < 200000; i++) {
        const unsigned long long a = next_random(&random) >> (next_random(&random) % 64), b = next_random(&random);
        const int e = (int)(next_random(&random) % 720) - 360, e2 = (int)(next_random(&random) % 2400) - 1200;
        (void)snprintf(text, sizeof text, "%llu.%llue%d", a, b >> (e & 31), e);
        expect_parse(text);
        (void)snprintf(text, sizeof text, "-0x%llx.%llxP%d", a, b, i % 2 ? e2 : e / 2);
        expect_parse(text);
        if (i % 16) continue;
        (void)snprintf(text, sizeof text, "%.*e", (int)(b % 780), f64_of(b));
        if (isfinite(f64_of(b))) expect_parse(text);
    }
}

/* The exact decimal of the middle between two floats, and the same with its
 * last digit nudged far behind. */
static void expect_halfway(double low, double high) {
    char text[1400];
    double got;
    /* both halves and their sum are exact in decimal: low + (high - low) / 2 */
    const long double middle = (long double)low + ((long double)high - (long double)low) / 2;
    (void)snprintf(text, sizeof text, "%.1000Lf", middle);
    const bool tie_is_low = !(bits_of(low) & 1);
    assert_true(tn_i_parse_f64(text, strlen(text), &got));
    assert_true(bits_of(got) == bits_of(tie_is_low ? low : high));
    (void)strcat(text, "000000000000000000001");
    assert_true(tn_i_parse_f64(text, strlen(text), &got));
    assert_true(bits_of(got) == bits_of(high));
}

static void test_hard_cases(void **state) {
    (void)state;
    static const char *const texts[] = {"2.2250738585072011e-308",
                                        "2.2250738585072014e-308",
                                        "2.2250738585072012e-308",
                                        "4.9406564584124654e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "1.7976931348623157e308",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "1.797693134862315807e308",
                                        "9007199254740993",
                                        "9007199254740992.99999",
                                        "9007199254740993.0000000000000000000000000000000000000001",
                                        "1e23",
                                        "8.5e22",
                                        "9.5367431640625e-7",
                                        "6.631236846766476e-316",
                                        "3.237883913302901e-319",
                                        "1090544144181609348835077142190",
                                        "89255e-22",
                                        "1e-400",
                                        "1e400",
                                        "-1e400",
                                        "0e999999999999999999999999",
                                        "1e-999999999999999999999999",
                                        "1e999999999999999999999999",
                                        "1.",
                                        ".5",
                                        "+1",
                                        "-.5e1",
                                        "00001.5000",
                                        "0x1.fffffffffffff8p0",
                                        "0x1.fffffffffffff7p0",
                                        "0x1.fffffffffffff80000000000000000000001p0",
                                        "0x.8",
                                        "0X1P+3",
                                        "0x0.0000000000001p-1022",
                                        "0x0.00000000000008p-1022",
                                        "0x1p-1075",
                                        "0x1.8p-1075",
                                        "0x1p1024",
                                        "0x1.fffffeffffffp127",
                                        "0x1.ffffffp127",
                                        "0x1p-150",
                                        "0x1.1p-150",
                                        "16777217",
                                        "16777217.0000000001",
                                        "7.0064923216240854e-46",
                                        "7.0064923216240853e-46",
                                        "3.4028235677973366e38"};
    for (size_t i = 0; i < COUNT(texts); i++) expect_parse(texts[i]);
    uint64_t random = 1;
    for (int i = 0; i < 2000; i++) {
        const double low = fabs(ldexp((double)(next_random(&random) >> 11), -(int)(next_random(&random) % 100)));
        if (low > 0) expect_halfway(low, nextafter(low, INFINITY));
    }
    for (int e = -1074; e < 1024; e++) {
        expect_round_trip(ldexp(1, e));
        expect_round_trip(nextafter(ldexp(1, e), 0));
        expect_round_trip(nextafter(ldexp(1, e), INFINITY));
        expect_shortest(ldexp(1, e));
        expect_json(ldexp(1, e));
    }
}

static void test_long_texts(void **state) {
    (void)state;
    enum { N = 20000 };
    char *text = malloc(N + 64);
    double x;
    assert_non_null(text);
    memset(text, '0', N);
    (void)strcpy(text + N, "1e20000");
    assert_true(tn_i_parse_f64(text, strlen(text), &x) && isinf(x));
    memcpy(text, "0.", 2); /* 0.000...01e20000 is 10^(20000 - (N - 1)) */
    assert_true(tn_i_parse_f64(text, strlen(text), &x) && x == 10);
    memset(text, '7', N);
    (void)strcpy(text + N, "e-19990");
    assert_true(tn_i_parse_f64(text, strlen(text), &x) && x == 7777777777.7777777777777777777);
    memset(text + 1, '0', N - 1); /* 2^53 + 1, a tie but for a digit at the very end */
    memcpy(text, "9007199254740993.", 17);
    text[N] = '\0';
    assert_true(tn_i_parse_f64(text, N, &x) && x == 9007199254740992.0);
    text[N - 1] = '1';
    assert_true(tn_i_parse_f64(text, N, &x) && x == 9007199254740994.0);
    free(text);
}

static void test_layout(void **state) {
    (void)state;
    static const struct {
        double x;
        const char *text;
    } f64[] = {{1, "1.0"},
               {0.0, "0.0"},
               {-0.0, "-0.0"},
               {0.1, "0.1"},
               {1e300, "1e+300"},
               {-2.5e-7, "-2.5e-07"},
               {1e16, "1e+16"},
               {1e15, "1000000000000000.0"},
               {123456789012345680.0, "1.2345678901234568e+17"},
               {0.0001, "0.0001"},
               {0.00001, "1e-05"},
               {5e-324, "5e-324"},
               {2.0 / 3, "0.6666666666666666"},
               {INFINITY, "inf"},
               {-INFINITY, "-inf"},
               {9007199254740993.0, "9007199254740992.0"}};
    char text[TN_I_NUMBER_TEXT];
    for (size_t i = 0; i < COUNT(f64); i++) {
        assert_int_equal(tn_i_format_f64(text, f64[i].x), strlen(f64[i].text));
        assert_string_equal(text, f64[i].text);
    }
    (void)tn_i_format_f32(text, 0.1f);
    assert_string_equal(text, "0.1");
    (void)tn_i_format_f32(text, 16777216.0f);
    assert_string_equal(text, "16777216.0");
    (void)tn_i_format_f32(text, -3.4028235e38f);
    assert_string_equal(text, "-3.4028235e+38");
    static const struct {
        double x;
        const char *text;
    } json[] = {{1, "1"},
                {-0.0, "-0"},
                {0.1, "0.10000000000000001"},
                {1e300, "1.0000000000000001e+300"},
                {INFINITY, "Infinity"},
                {-INFINITY, "-Infinity"},
                {NAN, "NaN"},
                {0.00001, "1.0000000000000001e-05"},
                {123456.5, "123456.5"}};
    for (size_t i = 0; i < COUNT(json); i++) {
        (void)tn_i_format_json_f64(text, json[i].x);
        assert_string_equal(text, json[i].text);
    }
}

static void test_nan(void **state) {
    (void)state;
    static const struct {
        uint64_t bits;
        const char *text;
    } nans[] = {{0x7ff8000000000000u, "nan"},
                {0x7ff8000000000001u, "nan:0x7ff8000000000001"},
                {0xfff8000000000000u, "nan:0xfff8000000000000"},
                {0x7ff0000000000001u, "nan:0x7ff0000000000001"}};
    char text[TN_I_NUMBER_TEXT];
    double x;
    float f;
    for (size_t i = 0; i < COUNT(nans); i++) {
        const size_t n = tn_i_format_f64(text, f64_of(nans[i].bits));
        assert_string_equal(text, nans[i].text);
        assert_true(tn_i_parse_f64(text, n, &x) && bits_of(x) == nans[i].bits);
    }
    (void)tn_i_format_f32(text, f32_of(0x7fc00000u));
    assert_string_equal(text, "nan");
    (void)tn_i_format_f32(text, f32_of(0xffc00007u));
    assert_string_equal(text, "nan:0xffc00007");
    assert_true(tn_i_parse_f32(text, strlen(text), &f) && bits_of_f32(f) == 0xffc00007u);
    assert_true(tn_i_parse_f64("NaN", 3, &x) && bits_of(x) == 0x7ff8000000000000u);
    assert_true(tn_i_parse_f64("-nan", 4, &x) && bits_of(x) == 0xfff8000000000000u);
}

static void test_refused(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "-",
                                        "+",
                                        ".",
                                        "e5",
                                        "1e",
                                        "1e+",
                                        "1_000",
                                        "1 ",
                                        " 1",
                                        "1..2",
                                        "1.2.3",
                                        "0x",
                                        "0x.",
                                        "0xp3",
                                        "0x1p",
                                        "0x1g",
                                        "--1",
                                        "+-1",
                                        "infinity",
                                        "INF",
                                        "in",
                                        "nanx",
                                        "infx",
                                        "nan:",
                                        "nan:0x",
                                        "nan:0x7ff0000000000000",
                                        "nan:0x1",
                                        "nan:0x17ff8000000000001",
                                        "nan:0xg",
                                        "1,5",
                                        "1e5.5",
                                        "0x1.8p0x1",
                                        "1f",
                                        "True",
                                        "1e5 "};
    double x = 7;
    float f = 7;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (tn_i_parse_f64(texts[i], strlen(texts[i]), &x) || tn_i_parse_f32(texts[i], strlen(texts[i]), &f))
            fail_msg("'%s' was read", texts[i]);
    assert_true(x == 7 && f == 7);
    assert_false(tn_i_parse_f32("nan:0x7ff8000000000001", 22, &f));
    assert_false(tn_i_parse_f64("12\0"
                                "3",
                                4, &x));
    assert_true(tn_i_parse_f64("123", 2, &x) && x == 12); /* the span ends where it says */
}

static void test_i64(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t x;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"007", 7},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"-9223372036854775807", -INT64_MAX}};
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      "1.0",
                                      "1e3",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "0x10",
                                      " 1",
                                      "1 ",
                                      "18446744073709551616",
                                      "99999999999999999999999999",
                                      "--1",
                                      "true"};
    int64_t x = 7;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_true(tn_i_parse_i64(good[i].text, strlen(good[i].text), &x));
        assert_true(x == good[i].x);
    }
    x = 7;
    for (size_t i = 0; i < COUNT(bad); i++) assert_false(tn_i_parse_i64(bad[i], strlen(bad[i]), &x));
    assert_true(x == 7);
}

static void test_decimal_comma(void **state) {
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") || strcmp(localeconv()->decimal_point, ",") != 0) {
        print_message("no de_DE.UTF-8 here (localedef makes one, LOCPATH names its folder)\n");
        skip();
    }
    char text[TN_I_NUMBER_TEXT];
    double x;
    float f;
    (void)tn_i_format_f64(text, -1234567.5);
    assert_string_equal(text, "-1234567.5");
    (void)tn_i_format_f32(text, 0.1f);
    assert_string_equal(text, "0.1");
    (void)tn_i_format_json_f64(text, 0.1);
    assert_string_equal(text, "0.10000000000000001");
    assert_true(tn_i_parse_f64("1.5", 3, &x) && x == 1.5);
    assert_true(tn_i_parse_f32("0x1.8p1", 7, &f) && f == 3);
    assert_false(tn_i_parse_f64("1,5", 3, &x));
    (void)setlocale(LC_ALL, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_bits), cmocka_unit_test(test_random_text), cmocka_unit_test(test_hard_cases),
        cmocka_unit_test(test_long_texts),  cmocka_unit_test(test_layout),      cmocka_unit_test(test_nan),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_i64),         cmocka_unit_test(test_decimal_comma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
