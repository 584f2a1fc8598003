/* Loops whose steps are a few numbers, which run as one loop program: the bits of the reference and of native code, for
 * every way in which carries, arrays and numbers of steps go through a step. */
#include "tansy.h"
#include "tansy/loops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

enum { STEPS = 7, WIDEST = 17, CARRIES = 5, RESULTS = CARRIES + 4 };

typedef struct trial {
    tn_ctx *c;
    int dtype;
    int64_t width; /* 0: scalars */
    bool reverse, turns;
    int64_t steps;
} trial;

static bool is_whole(const trial *t) { return t->steps > 1; }

static tn_type type_of(const trial *t, bool entries) {
    const int64_t dim[2] = {entries ? t->steps : t->width, t->width};
    return tn_type_of((tn_dtype)t->dtype, (size_t)(t->width > 0) + entries, dim);
}

/* A carry that is computed in its place, the one before it and the one before that, one that is what an array has, and
 * one that is read in another order.  Entries: what enters, what leaves, what is only computed, the step's number. */
static void step(const tn_val *a, const tn_val *x, tn_val *next, tn_val *y, void *user) {
    const trial *t = user;
    const tn_val number = tn_convert(tn_loop_step(t->c), (tn_dtype)t->dtype);
    const tn_val turned = t->turns ? tn_flip(a[4], 0) : a[4];
    next[0] = tn_add(tn_mul(a[0], x[0]), tn_maximum(a[2], number));
    next[1] = a[0];
    next[2] = a[1];
    next[3] = x[0];
    next[4] = tn_sub(turned, tn_mul(x[0], a[3]));
    y[0] = a[0];
    y[1] = next[4];
    y[2] = tn_minimum(a[3], tn_add(a[1], 2));
    y[3] = tn_add(number, tn_sub(next[0], a[0]));
}

static void loop(const tn_val *in, tn_val *out, void *user) {
    const trial *t = user;
    const tn_loop_options o = {.size = sizeof o, .reverse = t->reverse};
    tn_scan(NULL, step, user, .ncarry = CARRIES, .init = in, .nx = 1, .xs = in + CARRIES, .carry = out, .ny = 4,
            .ys = out + CARRIES, .reverse = o.reverse);
}

static void fill(int dtype, void *to, int n, int from) {
    for (int i = 0; i < n; i++) {
        const int x = (from + 3 * i) % 7 - 3;
        if (dtype == TN_F64) ((double *)to)[i] = x + 0.3 * i;
        if (dtype == TN_F32) ((float *)to)[i] = (float)x + 0.3f * (float)i;
        if (dtype == TN_I64) ((int64_t *)to)[i] = x;
        if (dtype == TN_I32) ((int32_t *)to)[i] = x;
    }
}

static void note(void *user, const tn_step *step) {
    int *n = user;
    if (!strcmp(step->runner, "assembler")) n[!strcmp(step->kind, "steps")]++;
}

/* At least so many loops are one program each, where there is machine code. */
static void check_whole(const tn_exec *e, int loops) {
    int made[2] = {0};
    assert_int_equal(tn_exec_steps(e, note, made), TN_OK);
    if (made[0]) assert_true(made[1] >= loops);
}

typedef struct results {
    double data[RESULTS][STEPS * WIDEST];
} results;

static void run(const tn_fn *f, int backend, const void *const *in, results *out, int loops) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(f, &o);
    assert_non_null(e);
    if (backend == TN_BACKEND_DEFAULT) check_whole(e, loops);
    void *to[RESULTS];
    for (int i = 0; i < RESULTS; i++) to[i] = out->data[i];
    memset(out, 0, sizeof *out);
    for (int again = 0; again < 2; again++) assert_int_equal(tn_call(e, in, to), TN_OK);
    tn_exec_free(e);
}

static void check(tn_ctx *c, trial t, bool native) {
    static double given[CARRIES + 1][STEPS * WIDEST];
    static results want, got;
    const void *in[CARRIES + 1];
    tn_type type[CARRIES + 1];
    for (int i = 0; i <= CARRIES; i++) {
        fill(t.dtype, given[i], STEPS * WIDEST, i);
        in[i] = given[i];
        type[i] = type_of(&t, i == CARRIES);
    }
    tn_fn *f = tn_trace_many(c, loop, &t, CARRIES + 1, type, RESULTS);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, TN_BACKEND_REFERENCE, in, &want, 0);
    run(f, TN_BACKEND_DEFAULT, in, &got, is_whole(&t));
    assert_memory_equal(&want, &got, sizeof want);
    if (native) {
        run(f, TN_BACKEND_NATIVE, in, &got, 0);
        assert_memory_equal(&want, &got, sizeof want);
    }
    tn_fn_free(f);
}

static void test_ways(void **state) {
    static const int dtypes[] = {TN_F64, TN_F32, TN_I64, TN_I32};
    static const int64_t width[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17};
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    for (size_t d = 0; d < 4; d++)
        for (size_t w = 0; w < sizeof width / sizeof *width; w++)
            for (int way = 0; way < 4; way++) {
                trial t = {.c = c,
                           .dtype = dtypes[d],
                           .width = width[w],
                           .reverse = way & 1,
                           .turns = way & 2,
                           .steps = STEPS};
                if (t.turns && t.width == 0) continue;
                check(c, t, t.width % 4 == 3 && way == 0);
            }
    for (int64_t steps = 0; steps < 3; steps++) check(c, (trial){c, TN_F64, 4, false, false, steps}, false);
    tn_ctx_free(c);
}

/* ---- several programs ------------------------------------------------------------------------------- */

enum { PARTS = 7 };

/* Numbers and arrays of several lengths, which need each other: carries that several programs read, values that one
 * makes for another, a carry of which parts are written, and one that stays. */
static void mix(tn_val i, const tn_val *a, tn_val *next, void *user) {
    (void)user;
    const tn_val t = tn_convert(i, TN_F64), s = tn_add(tn_mul(a[0], 0.5), tn_add(t, 1.0));
    const tn_val u = tn_add(tn_mul(a[1], s), a[5]), v = tn_sub(a[2], tn_mul(a[6], 0.25));
    next[0] = tn_mul(tn_sum(u), 0.125);
    next[1] = tn_add(tn_mul(u, 0.5), a[1]);
    next[2] = tn_add(tn_maximum(v, 0.125), next[0]);
    next[3] = tn_convert(tn_gt(a[2], a[4]), TN_F32);
    next[4] = a[2];
    next[5] = a[5];
    next[6] = tn_sub(s, 0.5);
}

static void several(const tn_val *in, tn_val *out, void *user) {
    tn_fori(NULL, 0, STEPS, mix, user, PARTS, in, out, NULL);
}

static void test_programs(void **state) {
    static const int64_t widths[] = {2, 3, 4, 8, 13, 16};
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    double in[PARTS][WIDEST], want[PARTS][WIDEST] = {{0}}, got[PARTS][WIDEST] = {{0}};
    float bits[WIDEST] = {0};
    for (int k = 0; k < PARTS; k++) fill(TN_F64, in[k], WIDEST, k);
    for (size_t w = 0; w < 36; w++) {
        const tn_type x = tn_f64(widths[w % 6]), y = tn_f64(widths[w / 6]), z = tn_f32(widths[w / 6]),
                      number = tn_f64();
        tn_fn *f = tn_trace_many(c, several, NULL, PARTS, ((const tn_type[]){number, x, y, z, y, x, number}), PARTS);
        if (!f) fail_msg("%s", tn_error(c));
        for (int way = 0; way < 2; way++) {
            const tn_compile_options o = {.size = sizeof o, .backend = way ? TN_BACKEND_DEFAULT : TN_BACKEND_REFERENCE};
            double(*to)[WIDEST] = way ? got : want;
            tn_exec *e = tn_compile(f, &o);
            assert_non_null(e);
            if (way) check_whole(e, 1);
            assert_int_equal(tn_call(e, TN_RAW_INPUTS(in[0], in[1], in[2], bits, in[4], in[5], in[6]),
                                     TN_RAW_OUTPUTS(to[0], to[1], to[2], to[3], to[4], to[5], to[6])),
                             TN_OK);
            tn_exec_free(e);
        }
        assert_memory_equal(want, got, sizeof want);
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

/* A carry that one program reads and another one makes goes through memory. */
static void pass(tn_val i, const tn_val *a, tn_val *next, void *user) {
    (void)user;
    next[0] = tn_add(tn_mul(tn_convert(i, TN_F64), 3.0), 0.5);
    next[1] = tn_add(tn_mul(a[1], 0.5), a[0]);
}

static void passing(const tn_val *in, tn_val *out, void *user) {
    tn_fori(NULL, 0, STEPS, pass, user, 2, in, out, NULL);
}

static void test_passed(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    for (int64_t width = 2; width <= 16; width += 7) {
        double in[2][WIDEST], number = in[0][0] = -2, got[2][WIDEST] = {{0}};
        fill(TN_F64, in[1], WIDEST, 1);
        tn_fn *f = tn_trace_many(c, passing, NULL, 2, ((const tn_type[]){tn_f64(), tn_f64(width)}), 2);
        tn_exec *e = tn_compile(f, NULL);
        assert_non_null(e);
        check_whole(e, 1);
        assert_int_equal(tn_call(e, TN_INPUTS(in[0], in[1]), TN_OUTPUTS(got[0], got[1])), TN_OK);
        for (int k = 0; k < STEPS; number = 3 * k++ + 0.5)
            for (int j = 0; j < width; j++) in[1][j] = in[1][j] * 0.5 + number;
        assert_true(got[0][0] == number);
        for (int j = 0; j < width; j++) assert_true(got[1][j] == in[1][j]); /* halves are exact */
        tn_exec_free(e);
        tn_fn_free(f);
    }
    tn_ctx_free(c);
}

/* ---- stacks, whose entries are in pages -------------------------------------------------------------- */

enum { LONG = 20001 };

static tn_val small(const tn_val *y, void *user) {
    (void)user;
    return tn_lt(y[1], (double)LONG);
}

static void move(const tn_val *y, tn_val *next, void *user) {
    (void)user;
    next[0] = tn_add(y[0], tn_mul(1e-4, tn_sub(1.0, tn_mul(y[0], tn_square(y[0])))));
    next[1] = tn_add(y[1], 1.0);
}

static void move_known(tn_val i, const tn_val *y, tn_val *next, void *user) {
    (void)i;
    move(y, next, user);
}

static tn_val end_of(const tn_val *in, void *user) {
    const tn_val start[2] = {in[0], tn_mul(0.0, tn_sum(in[0]))};
    tn_val end[2];
    if (user)
        tn_fori(NULL, 0, LONG, move_known, NULL, 2, start, end, NULL);
    else
        tn_while_loop(NULL, small, move, NULL, 2, start, end, NULL);
    return tn_sum(tn_mul(end[0], in[1]));
}

static void gradient(const tn_fn *g, int backend, const double *x, double *out, int loops) {
    const tn_compile_options o = {.size = sizeof o, .backend = backend};
    tn_exec *e = tn_compile(g, &o);
    assert_non_null(e);
    if (backend == TN_BACKEND_DEFAULT) check_whole(e, loops);
    for (int again = 0; again < 2; again++)
        assert_int_equal(tn_call(e, TN_INPUTS(x, x + WIDEST), TN_OUTPUTS(out, out + WIDEST)), TN_OK);
    tn_exec_free(e);
}

/* A loop of a length that it finds and one of the same length that is known have the same bits, and so has the
 * reference: the one's gradient walks stacks of several pages backwards. */
static void test_pages(void **state) {
    static const int64_t width[] = {0, 3, 4, 16};
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    double x[2 * WIDEST], want[2 * WIDEST] = {0}, got[2 * WIDEST] = {0};
    for (int i = 0; i < 2 * WIDEST; i++) x[i] = 1.5 - 0.1 * (i % 11);
    for (size_t w = 0; w < sizeof width / sizeof *width; w++)
        for (int known = 0; known < 2; known++) {
            const tn_type t = tn_type_of(TN_F64, width[w] > 0, &width[w]);
            tn_fn *f = tn_trace(c, end_of, known ? x : NULL, 2, ((const tn_type[]){t, t})), *g = tn_grad(f, NULL, NULL);
            assert_non_null(g);
            if (!known) gradient(g, TN_BACKEND_REFERENCE, x, want, 0);
            gradient(g, TN_BACKEND_DEFAULT, x, got, known ? 2 : 1);
            assert_memory_equal(want, got, sizeof want);
            tn_fn_free(g);
            tn_fn_free(f);
        }
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ways), cmocka_unit_test(test_programs),
                                       cmocka_unit_test(test_passed), cmocka_unit_test(test_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
