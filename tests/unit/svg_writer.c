/* What drawings are written with: numbers of every kind, round steps, any text. */
#include "cli/svg_writer.h"
#include "xml.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

static FILE *out;
static char *text;
static size_t size;

static void begin(void) {
    out = open_memstream(&text, &size);
    assert_non_null(out);
}

static void end(const char *want) {
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, want);
    free(text);
}

static void assert_number(double x, const char *want) {
    begin();
    svg_number(out, x);
    end(want);
}

static void test_numbers(void **state) {
    (void)state;
    assert_number(0, "0");
    assert_number(12, "12");
    assert_number(-12, "-12");
    assert_number(0.5, "0.5");
    assert_number(-0.25, "-0.25");
    assert_number(3.14159, "3.14");
    assert_number(99.996, "100");
    assert_number(0.05, "0.05");
    assert_number(-0.001, "0"); /* and not -0 */
    assert_number(123456789, "123456789");
    assert_number(NAN, "0");
    assert_number(INFINITY, "0");
    assert_number(-1e300, "0");
}

static void test_points(void **state) {
    (void)state;
    begin();
    svg_point(out, 'M', 1.04, -2.96);
    svg_point(out, 'L', -0.04, NAN);
    end("M1 -3L0 0");
}

/* At most so many steps, and no smaller step would do. */
static void test_steps(void **state) {
    (void)state;
    const struct {
        double x;
        int wanted;
        double step;
    } row[] = {{1, 5, 0.2},     {1, 10, 0.1},      {1, 1, 1},        {1.01, 1, 2},   {5, 1, 5},
               {5.1, 1, 10},    {7, 1, 10},        {9, 6, 2},        {60, 6, 10},    {61, 6, 20},
               {4096, 6, 1000}, {0.003, 3, 0.001}, {1e-9, 5, 2e-10}, {3e12, 5, 1e12}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const double step = svg_step(row[i].x, row[i].wanted);
        if (!(fabs(step - row[i].step) < 1e-9 * row[i].step))
            fail_msg("%d steps to %g: %g and not %g", row[i].wanted, row[i].x, step, row[i].step);
    }
    assert_true(svg_step(0, 5) == 1 && svg_step(-3, 5) == 1 && svg_step(NAN, 5) == 1 && svg_step(INFINITY, 5) == 1);
    assert_int_equal(svg_whole_step(0.3, 5), 1);
    assert_int_equal(svg_whole_step(5, 6), 1);
    assert_int_equal(svg_whole_step(7, 6), 2);
    assert_int_equal(svg_whole_step(1e6, 5), 200000);
}

static void test_text(void **state) {
    (void)state;
    begin();
    svg_text(out, "a<b>&c \x01\xff\xc3\xa9", SIZE_MAX);
    end("a&lt;b&gt;&amp;c ??\xc3\xa9");
    begin();
    svg_text(out, "\xc3\xa9\xc3\xa9\xc3\xa9", 2);
    end("\xc3\xa9\xc3\xa9\xe2\x80\xa6");
}

static void test_shapes(void **state) {
    (void)state;
    begin();
    svg_open(out, 40, 30, 13, "1 < 2");
    svg_begin_window(out, -1, 2, 3.5, 4);
    svg_line(out, 0, 1, -2, 3, " stroke='#000'");
    svg_close(out);
    svg_rect(out, 1, 2, 3, 4, "");
    svg_circle(out, 1, 2, 0.5, " fill='none'");
    svg_label(out, 5, 6, " class='x'", "a & b");
    svg_close(out);
    assert_int_equal(fclose(out), 0);
    assert_well_formed(text);
    assert_non_null(strstr(text, "<title>1 &lt; 2</title>"));
    assert_non_null(strstr(text, "<svg x='-1' y='2' width='3.5' height='4' viewBox='-1 2 3.5 4'>\n"
                                 "<line x1='0' y1='1' x2='-2' y2='3' stroke='#000'/>\n</svg>\n"
                                 "<rect x='1' y='2' width='3' height='4'/>\n"
                                 "<circle cx='1' cy='2' r='0.5' fill='none'/>\n"
                                 "<text x='5' y='6' class='x'>a &amp; b</text>\n</svg>\n"));
    free(text);
}

static void test_locale(void **state) {
    if (!setlocale(LC_ALL, "de_DE.UTF-8") || strcmp(localeconv()->decimal_point, ",") != 0) {
        print_message("no de_DE.UTF-8 here (localedef makes one, LOCPATH names its folder)\n");
        skip();
    }
    test_numbers(state);
    (void)setlocale(LC_ALL, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_points), cmocka_unit_test(test_steps),
        cmocka_unit_test(test_text),    cmocka_unit_test(test_shapes), cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
