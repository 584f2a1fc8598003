/* The drawing of a profile: well-formed whatever the names are, and bars as wide and as deep as they should be. */
#include "cli/profile_svg.c"
#include "xml.h"

#include <stdlib.h>

/* The drawing as text, released with free. */
static char *drawn(const char *title, double ns, size_t n, const tn_i_flame *bar) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_true(tn_i_svg_flames(f, title, "all", ns, n, bar));
    assert_int_equal(fclose(f), 0);
    assert_int_equal(strlen(text), size);
    assert_well_formed(text);
    return text;
}

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) n++;
    return n;
}

static const tn_i_flame three[] = {
    {.ns = 500, .depth = 0, .runner = "strips", .label = "scan f.tn:3", .all = "scan f.tn:3: all of it"},
    {.ns = 250, .depth = 1, .runner = "native", .label = "sin f.tn:4", .all = "sin"},
    {.ns = 125, .depth = 1, .runner = "library", .label = "sort f.tn:5", .all = "sort"},
    {.ns = 250, .depth = 0, .runner = "strips", .label = "add f.tn:6", .all = "add"},
    {.ns = 0, .depth = 0, .runner = "strips", .label = "never", .all = "never"}};

/* 912 pixels for 1000 ns; rows of 26 from 84 on. */
static void test_geometry(void **state) {
    (void)state;
    char *text = drawn("three", 1000, 5, three);
    assert_non_null(strstr(text, "<rect x='24' y='84' width='912' height='24'"));
    assert_non_null(strstr(text, "<title>scan f.tn:3: all of it</title><rect x='24' y='110' width='456' height='24'"));
    assert_non_null(strstr(text, "<title>sin</title><rect x='24' y='136' width='228' height='24'"));
    assert_non_null(strstr(text, "<title>sort</title><rect x='252' y='136' width='114' height='24'"));
    assert_non_null(strstr(text, "<title>add</title><rect x='480' y='110' width='228' height='24'"));
    assert_null(strstr(text, "never"));
    assert_int_equal(count(text, "<g>"), 5);
    assert_non_null(strstr(text, ">scan f.tn:3</text>"));
    assert_int_equal(count(text, ">strips</text>"), 1);
    assert_int_equal(count(text, ">reference</text>"), 0);
    free(text);
}

static void test_nothing(void **state) {
    (void)state;
    free(drawn("none", 0, 0, NULL));
    char *text = drawn("no time", 0, 5, three);
    assert_int_equal(count(text, "<g>"), 1);
    free(text);
}

static void test_hostile(void **state) {
    (void)state;
    tn_i_flame bar[] = {{.ns = 10, .depth = 0, .runner = "<x>", .label = "a<b>&'\"\x01", .all = "\xff\xfe</title>"},
                        {.ns = 10, .depth = 100000, .runner = "native", .label = "too deep", .all = "too deep"}};
    char *text = drawn("</svg>&", 10, 2, bar);
    assert_null(strstr(text, "too deep"));
    assert_non_null(strstr(text, "a&lt;b&gt;&amp;"));
    free(text);
}

static void test_full_disk(void **state) {
    (void)state;
    FILE *f = fopen("/dev/full", "w");
    if (!f) skip();
    (void)setvbuf(f, NULL, _IONBF, 0);
    assert_false(tn_i_svg_flames(f, "three", "all", 1000, 5, three));
    (void)fclose(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_geometry), cmocka_unit_test(test_nothing),
                                       cmocka_unit_test(test_hostile), cmocka_unit_test(test_full_disk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
