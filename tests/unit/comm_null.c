/* The table of one rank. */
#include "comm_table.h"

#include "comm/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static tn_ctx *context_of(size_t naxes) {
    static const char *const name[] = {"r", "c", "w"};
    static const int64_t one[] = {1, 1, 1};
    const tn_ctx_options o = {.size = sizeof o, .grid = {.naxes = naxes, .name = name, .extent = one}};
    tn_ctx *c = tn_ctx_new(&o);
    assert_non_null(c);
    return c;
}

static void test_all(void **state) {
    (void)state;
    for (size_t naxes = 1; naxes <= 3; naxes++) {
        tn_ctx *c = context_of(naxes);
        tn_i_null_comm n;
        const tn_comm_ops *t = tn_i_null_comm_init(&n, c);
        assert_int_equal(t->naxes, naxes);
        assert_int_equal(comm_table_check(t, 100000, stdout), 0);
        assert_int_equal(comm_table_refused(t, stdout), 0);
        tn_ctx_free(c);
    }
}

/* The check of tables finds what is wrong: each of these tables does something else than it must. */
typedef struct mutant {
    const tn_comm_ops *real;
    int which;
} mutant;

enum { COPIES_SHIFTS, FORGETS_SCANS, WRITES_BEHIND, CHANGES_OPERANDS, LOSES_NAN, ACCEPTS_ALL, FAILS, MUTANTS };

static int broken_start(void *user, const tn_collective *given, const void *in, void *out, void **request) {
    const mutant *m = user;
    tn_collective x = *given;
    if (m->which == COPIES_SHIFTS) x.wrap = true;
    if (m->which == FORGETS_SCANS) x.exclusive = false;
    const int status = m->real->start(m->real->user, &x, in, out, request);
    const bool some = status == TN_OK && x.count > 0 && x.kind != TN_COMM_BARRIER;
    if (m->which == ACCEPTS_ALL) return TN_OK;
    if (some && m->which == WRITES_BEHIND && x.kind == TN_COMM_SCAN) /* which the check gives guarded arrays */
        ((char *)out)[(size_t)x.count * tn_i_dtype_size(x.dtype)] ^= 1;
    if (some && m->which == CHANGES_OPERANDS) ((char *)(uintptr_t)in)[0] ^= 1;
    if (some && m->which == LOSES_NAN && x.dtype == TN_F64 && x.op == TN_COMM_MAX)
        for (int64_t i = 0; i < x.count; i++)
            if (((double *)out)[i] != ((double *)out)[i]) ((double *)out)[i] = 0;
    if (m->which == FAILS && x.kind == TN_COMM_SHIFT) return TN_EIO;
    return status;
}
static const char *broken_error(void *user) {
    const mutant *m = user;
    return m->real->error(m->real->user);
}

static void test_mutants(void **state) {
    (void)state;
    tn_ctx *c = context_of(1);
    tn_i_null_comm n;
    mutant m = {.real = tn_i_null_comm_init(&n, c)};
    tn_comm_ops t = *m.real;
    t.user = &m;
    t.start = broken_start;
    t.error = broken_error;
    for (m.which = 0; m.which < MUTANTS; m.which++) {
        const int failures = m.which == ACCEPTS_ALL ? comm_table_refused(&t, NULL) : comm_table_check(&t, 7, NULL);
        assert_true(failures > 0);
    }
    tn_ctx_free(c);
}

static void test_messages(void **state) {
    (void)state;
    tn_ctx *c = context_of(2);
    tn_i_null_comm n;
    const tn_comm_ops *t = tn_i_null_comm_init(&n, c);
    assert_string_equal(t->error(t->user), "");
    tn_collective x = {.size = sizeof x, .kind = TN_COMM_BCAST, .dtype = TN_F64, .count = 2, .axes = 3, .root = 1};
    double in[2] = {1, 2}, out[2];
    void *request = &x;
    assert_int_equal(t->start(t->user, &x, in, out, &request), TN_EINVAL);
    assert_null(request);
    assert_string_equal(t->error(t->user),
                        "pick f64[2] root=1 over (r,c) is refused: its root is not among the ranks of its axes");
    x.root = 0;
    assert_int_equal(t->start(t->user, &x, in, NULL, &request), TN_EINVAL);
    assert_string_equal(t->error(t->user), "pick f64[2] root=0 over (r,c) is refused: its result is NULL");
    x.count = INT64_MAX / 4;
    assert_int_equal(t->start(t->user, &x, in, out, &request), TN_EINVAL);
    assert_non_null(strstr(t->error(t->user), "more than memory can have"));
    x.axes = 4;
    assert_int_equal(t->start(t->user, &x, in, out, &request), TN_EINVAL);
    assert_string_equal(t->error(t->user), "a collective is refused: it names an axis that the grid has not");
    assert_int_equal(t->start(t->user, NULL, in, out, &request), TN_EINVAL);
    assert_int_equal(t->wait(t->user, &x), TN_EINVAL);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_mutants),
                                       cmocka_unit_test(test_messages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
