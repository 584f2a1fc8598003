/* Types as text, what programs print to a FILE, and that prints want a listener. */
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- types ------------------------------------------------------------------------------ */

static void types_and_back(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_type back;
    char text[TN_TYPE_TEXT], few[5];
    for (int dtype = 0; dtype < TN_NDTYPES; dtype++)
        for (size_t rank = 0; rank <= TN_MAX_RANK; rank++) {
            int64_t dim[TN_MAX_RANK] = {rank == 3 ? 0 : 3, 1, 4, 1, 5, 9, 2, 6};
            if (rank == 1) dim[0] = (int64_t)1 << 55;
            const tn_type t = tn_type_of((tn_dtype)dtype, rank, dim);
            const size_t n = tn_type_print(&t, text, sizeof text);
            assert_int_equal(n, strlen(text));
            if (tn_type_parse(c, text, &back) != TN_OK) fail_msg("%s: %s", text, tn_error(c));
            assert_true(tn_type_equal(&t, &back));
        }
    const tn_type t = tn_f64(3, 4), bad = tn_f64(-3);
    assert_int_equal(tn_type_print(&t, few, sizeof few), 8);
    assert_string_equal(few, "f64[");
    assert_int_equal(tn_type_print(&t, NULL, 0), 8);
    assert_int_equal(tn_type_print(&bad, text, sizeof text), 1);
    assert_string_equal(text, "?");
    assert_int_equal(tn_type_parse(c, " float32[ 2,3 ] ", &back), TN_OK);
    assert_true(tn_type_equal(&back, &(tn_type){.dtype = TN_F32, .rank = 2, .dim = {2, 3}}));
    static const char *const wrong[] = {"",          "f64",
                                        "f64[",      "f64[3",
                                        "f64[3]]",   "f64[3] f64[3]",
                                        "f64[-1]",   "f64[1.5]",
                                        "f24[2]",    "[2]",
                                        "f64[3,,4]", "f64[1,1,1,1,1,1,1,1,1]",
                                        "?",         "f64[9223372036854775807,9223372036854775807]"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        back = t;
        assert_int_equal(tn_type_parse(c, wrong[i], &back), TN_EPARSE);
        assert_int_equal(tn_type_bytes(&back), SIZE_MAX);
        if (strncmp(tn_error(c), "type:1:", 7) != 0) fail_msg("%s: %s", wrong[i], tn_error(c));
    }
    tn_ctx_free(c);
}

/* ---- prints ------------------------------------------------------------------------------ */

static tn_val says(const tn_val *in, void *user) {
    tn_ctx *c = user;
    tn_print(c, "nothing", 0, NULL);
    tn_print(c, "all", 5, in);
    tn_assert(tn_gt(in[0], -1), "too low");
    return tn_sum(in[0]);
}

static void heard_by_a_file(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, says, c, TN_ARGS(tn_f64(2, 2), tn_f32(), tn_i32(1), tn_bool(2), tn_f64(0, 3)));
    if (!f) fail_msg("%s", tn_error(c));
    FILE *file = tmpfile();
    assert_non_null(file);
    tn_exec *e = tn_compile(
        f,
        &(tn_compile_options){.size = sizeof(tn_compile_options), .observer = tn_observe_file, .observer_user = file});
    double x[4] = {1, 0.1, -0.0, 1e300}, none[1] = {0}, y;
    const float s = 0.1f;
    const int32_t k = -3;
    const bool b[2] = {true, false};
    assert_int_equal(tn_call(e, TN_INPUTS(x, &s, &k, b, none), TN_OUTPUTS(&y)), TN_OK);
    x[0] = -2;
    assert_int_equal(tn_call(e, TN_INPUTS(x, &s, &k, b, none), TN_OUTPUTS(&y)), TN_EASSERT);
    rewind(file);
    char text[2048];
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    static const char *const want[] = {
        "said.c:52: nothing\n",
        "said.c:53: all: f64[2,2] [[1.0, 0.1], [-0.0, 1e+300]], f32[] 0.1, i32[1] [-3], bool[2] [True, False], "
        "f64[0,3] "
        "[]\n",
        "said.c:53: all: f64[2,2] [[-2.0, 0.1],",
        "said.c:54: assertion failed: too low: bool[2,2] [[False, True], [True, True]]\n"};
    for (size_t i = 0; i < COUNT(want); i++)
        if (!strstr(text, want[i])) fail_msg("%s\nlacks %s", text, want[i]);
    (void)fclose(file);
    assert_true(tn_observe_file(NULL, NULL) != 0);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        (void)setvbuf(full, NULL, _IONBF, 0);
        tn_work *w = tn_work_new(e, NULL, 0);
        assert_int_equal(tn_work_observe(w, tn_observe_file, full), TN_OK);
        assert_int_equal(tn_call_in(e, w, TN_INPUTS(x, &s, &k, b, none), TN_OUTPUTS(&y)), TN_ECALLBACK);
        assert_non_null(strstr(tn_work_error(w), "said.c:52: print: the observer returned 1"));
        tn_work_free(w);
        (void)fclose(full);
    }
    tn_ctx_free(c);
}

static void note(void *user, const tn_lint_warning *w) {
    char *text = user;
    assert_int_equal(w->operand, -1);
    assert_int_equal(w->line, 52);
    (void)snprintf(text + strlen(text), 600, "%s|", w->message);
}

static void prints_want_a_listener(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, says, c, TN_ARGS(tn_f64(2, 2), tn_f32(), tn_i32(1), tn_bool(2), tn_f64(0, 3)));
    char text[2048] = "";
    assert_int_equal(tn_lint(f, note, text), TN_OK);
    const char *first = strchr(text, '|');
    if (!strstr(text, "said.c:52: warning: print: is told to the observer of a call alone") || !first || first[1])
        fail_msg("%s", text);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_back),
        cmocka_unit_test(heard_by_a_file),
        cmocka_unit_test(prints_want_a_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
