/* Spy plots: well-formed, true to the pattern, of at most 200 kB whatever is drawn. */
#include "cli/spy_svg.c"
#include "xml.h"

/* The drawing as text, released with free. */
static char *drawn(const tn_i_spy *s) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_true(tn_i_svg_spy(f, s));
    assert_int_equal(fclose(f), 0);
    assert_well_formed(text);
    assert_true(size <= 200000);
    return text;
}

static void has(const char *text, const char *what) {
    if (!strstr(text, what)) fail_msg("%s\nis not in\n%s", what, text);
}

static void test_dots(void **state) {
    static const int64_t ptr[] = {0, 2, 3, 3}, ind[] = {0, 3, 1};
    static const bool constant[] = {false, true, false};
    static const int32_t colour[] = {0, 1, -1};
    (void)state;
    const tn_i_spy s = {.title = "a < b & c",
                        .note = "3 x 4",
                        .rows = 3,
                        .columns = 4,
                        .ptr = ptr,
                        .ind = ind,
                        .constant = constant,
                        .colour = colour,
                        .colours = 2};
    char *text = drawn(&s);
    has(text, ">a &lt; b &amp; c</text>");
    has(text, "<path stroke='#555' d='M1 1h0'/>");
    has(text, "<path stroke='#0072b2' d='M0 0h0'/>");
    has(text, "<path stroke='#d55e00' d='M3 0h0'/>");
    has(text, "<path stroke='#fff' stroke-width='.46' d='M3 0h0'/>");
    has(text, "translate(88 146) scale(24)");
    has(text, " width='96' height='72'"); /* an entry is as high as it is wide */
    has(text, ">2 colours</text>");
    has(text, ">constant</text>");
    free(text);
}

/* 700 x 1400, all entries: 467 x 234 squares of 3 x 3, or what is left of them at the edges. */
static void test_squares(void **state) {
    enum { ROWS = 700, COLUMNS = 1400 };
    int64_t *ptr = malloc((ROWS + 1) * sizeof *ptr), *ind = malloc((size_t)ROWS * COLUMNS * sizeof *ind);
    (void)state;
    assert_true(ptr && ind);
    for (int64_t i = 0; i <= ROWS; i++) ptr[i] = i * COLUMNS;
    for (int64_t k = 0; k < ROWS * COLUMNS; k++) ind[k] = k % COLUMNS;
    const tn_i_spy s = {.title = "dense", .note = "", .rows = ROWS, .columns = COLUMNS, .ptr = ptr, .ind = ind};
    char *text = drawn(&s);
    has(text, "1 to 9 entries in squares of 3 x 3");
    has(text, "M0 0h466M0 1h466");
    has(text, "M466 0h1");
    free(text);
    for (int64_t i = 0; i <= ROWS; i++) ptr[i] = i < 3 ? i : 3; /* three entries far away from each other */
    ind[0] = 0, ind[1] = 700, ind[2] = 1399;
    text = drawn(&s);
    has(text, "d='M0 0h1M233 0h1M466 0h1'");
    free(text);
    free(ptr), free(ind);
}

/* No pattern takes more than 200 kB: random ones of all densities and shapes, coloured or not. */
static void test_size(void **state) {
    static const int64_t shape[][2] = {{1, 1},       {512, 512}, {512, 3},     {2, 512},  {513, 513},
                                       {2000, 2000}, {5000, 40}, {3, 1000000}, {200, 200}};
    enum { MOST = 300000 };
    int64_t *ind = malloc(MOST * sizeof *ind);
    int32_t *colour = malloc(MOST * sizeof *colour);
    bool *constant = malloc(MOST);
    (void)state;
    assert_true(ind && colour && constant);
    uint32_t r = 1;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
        for (uint32_t density = 1; density <= 100; density += density < 10 ? 3 : 45)
            for (int how = 0; how < 3; how++) {
                int64_t *ptr = malloc(((size_t)shape[i][0] + 1) * sizeof *ptr), n = 0;
                assert_non_null(ptr);
                for (int64_t row = 0; row < shape[i][0]; row++) {
                    ptr[row] = n;
                    for (int64_t j = 0; j < shape[i][1] && n < MOST; j++) {
                        r = r * 1664525u + 1013904223u;
                        if ((r >> 8) % 100 >= density) continue;
                        ind[n] = j, colour[n] = (int32_t)(j % 400) - 1, constant[n++] = r >> 31;
                    }
                }
                ptr[shape[i][0]] = n;
                const tn_i_spy s = {.title = "random",
                                    .note = "",
                                    .rows = shape[i][0],
                                    .columns = shape[i][1],
                                    .ptr = ptr,
                                    .ind = ind,
                                    .constant = how ? constant : NULL,
                                    .colour = how > 1 ? colour : NULL,
                                    .colours = how > 1 ? 399 : 0};
                free(drawn(&s));
                free(ptr);
            }
    free(ind), free(colour), free(constant);
}

static void test_empty(void **state) {
    static const int64_t ptr[3] = {0};
    (void)state;
    for (int64_t rows = 0; rows < 3; rows++)
        for (int64_t columns = 0; columns < 1000; columns += 499) {
            const tn_i_spy s = {.title = "", .note = "", .rows = rows, .columns = columns, .ptr = ptr};
            char *text = drawn(&s);
            assert_null(strstr(text, "nan"));
            assert_null(strstr(text, "inf"));
            free(text);
        }
}

static void test_full_disk(void **state) {
    static const int64_t ptr[2] = {0};
    const tn_i_spy s = {.title = "", .note = "", .rows = 1, .columns = 1, .ptr = ptr};
    (void)state;
    FILE *f = fopen("/dev/full", "w");
    if (!f) skip();
    (void)setvbuf(f, NULL, _IONBF, 0);
    assert_false(tn_i_svg_spy(f, &s));
    (void)fclose(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dots),  cmocka_unit_test(test_squares),   cmocka_unit_test(test_size),
        cmocka_unit_test(test_empty), cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
