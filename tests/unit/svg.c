/* The drawing of memory: well-formed whatever the names are, the same in every locale, no longer than the picture
 * is wide, and true to the numbers it was given. */
#include "cli/svg.c"
#include "xml.h"

#include <locale.h>
#include <stdlib.h>

/* The drawing as text, released with free. */
static char *drawn(const char *title, size_t n, const tn_i_memory_line *line) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_true(tn_i_svg_memory(f, title, n, line));
    assert_int_equal(fclose(f), 0);
    assert_int_equal(strlen(text), size);
    return text;
}

/* ---- what is drawn ------------------------------------------------------------------------ */

static const size_t hill[] = {1 << 20, 3 << 20, 4 << 20, 2 << 20, 1 << 20, 0}, flat[] = {1 << 19, 1 << 19, 1 << 19};
static const tn_i_memory_line two[] = {
    {.name = "min_cut", .bytes = hill, .n = 6, .equations = 6, .backward = 3, .kept = 2 << 20, .peak = 5 << 20},
    {.name = "nothing_saveable", .bytes = flat, .n = 3, .equations = 3, .backward = 1, .kept = 0, .peak = 1 << 19}};

/* The path of line k as it stands in the drawing. */
static void assert_path(const char *text, size_t k, const char *want) {
    for (k++; k > 0; k--) {
        text = strstr(text, "<path d='");
        assert_non_null(text);
        text += 9;
    }
    if (strncmp(text, want, strlen(want)) != 0 || text[strlen(want)] != '\'')
        fail_msg("%.*s is not %s", (int)strcspn(text, "'"), text, want);
}

/* 852 pixels for 3 equations on either side, 142 each; 360 for 6 MiB, 60 each. */
static void test_geometry(void **state) {
    (void)state;
    char *text = drawn("two", 2, two);
    assert_well_formed(text);
    assert_path(text, 0, "M84 526V466H226V346H368V286H510V406H652V466H794V526H936V526");
    assert_path(text, 1, "M368 526V496H794V526");
    assert_non_null(strstr(text, ">5.00 MiB</text>"));
    assert_non_null(strstr(text, ">4.00 MiB</text>"));
    assert_non_null(strstr(text, ">512.00 KiB</text>"));
    assert_non_null(strstr(text, ">0 B</text>"));
    assert_non_null(strstr(text, ">6 MiB</text>"));
    assert_null(strstr(text, ">7 MiB</text>"));
    assert_non_null(strstr(text, " y1='226' x2='936' y2='226' stroke='#0072b2'")); /* the arena: 5 MiB */
    assert_non_null(strstr(text, "cx='439' cy='286'"));                            /* in the middle of equation 2 */
    free(text);
}

static void test_units(void **state) {
    (void)state;
    static const struct {
        size_t bytes;
        const char *figure, *tick;
    } row[] = {{1, ">1 B<", ">1 B<"},
               {1000, ">1000 B<", ">800 B<"},
               {1023, ">1023 B<", ">1000 B<"},
               {1024, ">1.00 KiB<", ">0.8 KiB<"},
               {1536 * 1024, ">1.50 MiB<", ">1.5 MiB<"},
               {(size_t)37 << 30, ">37.00 GiB<", ">30 GiB<"},
               {(size_t)5000 << 40, ">5000.00 TiB<", ">4000 TiB<"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const tn_i_memory_line one = {
            .name = "p", .bytes = &row[i].bytes, .n = 1, .equations = 1, .backward = 0, .peak = row[i].bytes};
        char *text = drawn("units", 1, &one);
        assert_well_formed(text);
        if (!strstr(text, row[i].figure) || !strstr(text, row[i].tick)) fail_msg("%zu bytes:\n%s", row[i].bytes, text);
        free(text);
    }
}

/* Nothing to draw, nothing alive, all of it forward, all of it backward. */
static void test_edges(void **state) {
    (void)state;
    static const size_t zero[3] = {0};
    const tn_i_memory_line line[] = {{.name = "", .bytes = zero, .n = 0},
                                     {.name = "b", .bytes = zero, .n = 3, .equations = 3, .backward = 3},
                                     {.name = "c", .bytes = zero, .n = 3, .equations = 3, .backward = 0}};
    for (size_t n = 0; n <= 3; n++) {
        char *text = drawn("", n, line);
        assert_well_formed(text);
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        free(text);
    }
}

static void test_hostile_names(void **state) {
    (void)state;
    static const char *const name[] = {"</text><script>&'\"",
                                       "\x01\x1b[31m\x7f\r\n\t",
                                       "\xff\xfe\xc0\xaf\xed\xa0\x80\xf5",
                                       "na\xc3\xafve \xe2\x86\x92 \xf0\x9f\x90\x95",
                                       "\xef\xbf\xbf\xe2\x86",
                                       "cut \xc3"};
    tn_i_memory_line line[6];
    for (size_t k = 0; k < 6; k++) {
        line[k] = two[0];
        line[k].name = name[k];
        char *text = drawn(name[k], k + 1, line);
        assert_well_formed(text);
        free(text);
    }
    char longest[1001] = {0};
    for (size_t i = 0; i < 1000; i += 2) memcpy(longest + i, "\xc3\xa9", 2);
    line[0].name = longest;
    char *text = drawn(longest, 1, line);
    assert_well_formed(text);
    assert_non_null(strstr(text, "\xc3\xa9\xe2\x80\xa6</text>"));
    free(text);
}

/* More lines than colours, and equal lines: told apart by dashes. */
static void test_many_lines(void **state) {
    (void)state;
    size_t other[10][2];
    tn_i_memory_line line[10];
    for (size_t k = 0; k < 10; k++) {
        other[k][0] = other[k][1] = 100 * (k + 1);
        line[k] =
            (tn_i_memory_line){.name = "p", .bytes = other[k], .n = 2, .equations = 2, .backward = 1, .peak = 1000};
    }
    char *text = drawn("ten", 10, line);
    assert_well_formed(text);
    assert_non_null(strstr(text, "stroke='#0072b2' stroke-linejoin='round' stroke-width"));
    assert_non_null(strstr(text, "stroke='#0072b2' stroke-linejoin='round' stroke-dasharray='11 11'"));
    assert_null(strstr(text, "stroke='#000000' stroke-linejoin='round' stroke-dasharray"));
    free(text);
    line[1].bytes = line[2].bytes = line[0].bytes;
    text = drawn("three", 3, line);
    assert_non_null(strstr(text, "stroke='#0072b2' stroke-linejoin='round' stroke-width"));
    assert_non_null(strstr(text, "stroke='#d55e00' stroke-linejoin='round' stroke-dasharray='11 11'"));
    assert_non_null(strstr(text, "stroke='#009e73' stroke-linejoin='round' stroke-dasharray='4 18'"));
    free(text);
}

/* A million equations make a path of two points per pixel, in which no peak is lost. */
static void test_long_programs(void **state) {
    (void)state;
    enum { N = 1000000 };
    size_t *bytes = malloc(N * sizeof *bytes);
    assert_non_null(bytes);
    for (size_t i = 0; i < N; i++) bytes[i] = (i * 2654435761u) % 1000 + 1;
    bytes[777777] = 5120;
    const tn_i_memory_line line = {
        .name = "p", .bytes = bytes, .n = N, .equations = N, .backward = N / 2, .kept = 0, .peak = 5120};
    char *text = drawn("a million", 1, &line);
    assert_well_formed(text);
    assert_true(strlen(text) < 60000);
    char top[32];
    const plot p = scaled(NULL, 1, &line);
    (void)snprintf(top, sizeof top, "V%.0fH", y_of(&p, 5120));
    assert_non_null(strstr(text, top));
    free(text);
    free(bytes);
}

/* The picture in the README, as it stands there (tests/golden/tool/memory.tn sees that it is the tool's). */
static void test_the_example(void **state) {
    (void)state;
    static char text[1 << 20];
    FILE *f = fopen("docs/img/memory.svg", "r");
    if (!f) fail_msg("docs/img/memory.svg: to be run in the root of the repository");
    assert_true(fread(text, 1, sizeof text - 1, f) > 1000);
    (void)fclose(f);
    assert_well_formed(text);
}

static void test_locale(void **state) {
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8") || strcmp(localeconv()->decimal_point, ",") != 0) {
        print_message("no de_DE.UTF-8 here (localedef makes one, LOCPATH names its folder)\n");
        skip();
    }
    char *german = drawn("two", 2, two);
    (void)setlocale(LC_ALL, "C");
    char *plain = drawn("two", 2, two);
    assert_string_equal(plain, german);
    free(plain);
    free(german);
}

static void test_full_disk(void **state) {
    (void)state;
    FILE *f = fopen("/dev/full", "w");
    if (!f) skip();
    (void)setvbuf(f, NULL, _IONBF, 0);
    assert_false(tn_i_svg_memory(f, "two", 2, two));
    (void)fclose(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometry),      cmocka_unit_test(test_units),      cmocka_unit_test(test_edges),
        cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_many_lines), cmocka_unit_test(test_long_programs),
        cmocka_unit_test(test_the_example),   cmocka_unit_test(test_locale),     cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
