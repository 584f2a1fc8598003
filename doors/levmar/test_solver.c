/* Least squares with certified answers, what fails on the way and what each says, memory. */
#include "../failing.h"

#include <tansy/levmar.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

static tn_levmar *solver(tn_ctx *c, const tn_fn *r, size_t variables, const tn_levmar_options *o) {
    if (!r) fail_msg("%s", tn_error(c));
    const tn_levmar_problem q = {.size = sizeof q, .r = r, .variables = variables};
    tn_levmar *s = tn_levmar_new(&q, o);
    if (tn_levmar_status(s)) fail_msg("%s", tn_levmar_error(s));
    return s;
}

static void says(const tn_levmar *s, tn_status status, const char *text) {
    if (tn_levmar_status(s) != status || !strstr(tn_levmar_error(s), text))
        fail_msg("%s: \"%s\", where %s: \"%s\" was to be", tn_status_text(tn_levmar_status(s)), tn_levmar_error(s),
                 tn_status_text(status), text);
}

/* ---- Misra1a of NIST's Statistical Reference Datasets ------------------------------------------------ */

enum { POINTS = 14 };
static const double load[POINTS] = {77.6,  114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                                    378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0};
static const double volume[POINTS] = {10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                                      44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78};

/* b [2], x, y [14] -> b0 (1 - exp(-b1 x)) - y */
static tn_val misra(const tn_val *in, void *user) {
    (void)user;
    const tn_val decay = tn_exp(tn_neg(tn_mul(tn_at(in[0], 1), in[1])));
    return tn_sub(tn_mul(tn_at(in[0], 0), tn_sub(1.0, decay)), in[2]);
}
/* The same of two scalar variables, residuals in two outputs of other shapes. */
static void misra_parts(const tn_val *in, tn_val *out, void *user) {
    const tn_val all[] = {tn_stack(tn_vals(in[0], tn_at(in[1], 0)), 0), in[2], in[3]};
    const tn_val r = misra(all, user);
    out[0] = tn_reshape(tn_slice_axis(r, 0, 6, 1, 0), 2, 3);
    out[1] = tn_slice_axis(r, 6, POINTS, 1, 0);
}

static int told_in_order(void *user, const tn_levmar_iteration *i) {
    int64_t *next = user;
    assert_int_equal(i->number, (*next)++);
    assert_true(isfinite(i->objective) && i->x && i->r);
    return 0;
}

static void certified(void **state) {
    (void)state;
    const double starts[2][2] = {{500, 1e-4}, {250, 5e-4}};
    const double b[2] = {2.3894212918e+02, 5.5015643181e-04}, error[2] = {2.7070075241e+00, 7.2668688436e-06},
                 sum = 1.2455138894e-01;
    tn_ctx *c = tn_ctx_new(NULL);
    int64_t next = 0;
    const tn_levmar_options o = {.size = sizeof o, .progress = told_in_order, .progress_user = &next};
    for (int parts = 0; parts < 2; parts++) {
        tn_fn *r =
            parts ? tn_trace_many(c, misra_parts, NULL, TN_ARGS(tn_f64(), tn_f64(1), tn_f64(POINTS), tn_f64(POINTS)), 2)
                  : tn_trace(c, misra, NULL, TN_ARGS(tn_f64(2), tn_f64(POINTS), tn_f64(POINTS)));
        tn_levmar *s = solver(c, r, (size_t)parts + 1, &o);
        for (int k = 0; k < 2; k++) {
            tn_levmar_result out = {.size = sizeof out};
            const tn_levmar_start start = {.size = sizeof start, .x = starts[k], .p = (const void *[]){load, volume}};
            next = 0;
            if (tn_levmar_solve(s, &start, &out)) fail_msg("%s", tn_levmar_error(s));
            for (int i = 0; i < 2; i++) {
                assert_true(fabs(out.x[i] / b[i] - 1) < 1e-8);
                assert_true(fabs(sqrt(out.covariance[3 * i]) / error[i] - 1) < 1e-6);
            }
            assert_true(out.covariance[1] == out.covariance[2] && out.rank == 2);
            assert_true(fabs(2 * out.objective / sum - 1) < 1e-9);
            assert_true(out.iterations > 2 && out.evaluations > out.iterations && out.not_finite == 0);
            double square = 0;
            for (int i = 0; i < POINTS; i++) square += out.r[i] * out.r[i];
            assert_true(fabs(square / sum - 1) < 1e-9);
        }
        tn_levmar_free(s);
    }
    tn_ctx_free(c);
}

/* ---- what is not finite, what ends early ------------------------------------------------------------ */

/* log(x / 2) and a thousandth of x - 2: the first step from far leads below 0 */
static tn_val roots(const tn_val *in, void *user) {
    (void)user;
    const tn_val x = in[0];
    return tn_stack(tn_vals(tn_sub(tn_log(x), log(2.0)), tn_mul(1e-3, tn_sub(x, 2.0))), 0);
}

static void not_finite(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_levmar *s = solver(c, tn_trace(c, roots, NULL, TN_ARGS(tn_f64())), 0, NULL);
    const double far = 100, bad = -1;
    tn_levmar_result r = {.size = sizeof r};
    if (tn_levmar_solve(s, &(tn_levmar_start){.size = sizeof(tn_levmar_start), .x = &far}, &r))
        fail_msg("%s", tn_levmar_error(s));
    assert_true(r.not_finite > 0 && fabs(r.x[0] - 2) < 1e-8 && r.objective < 1e-18);
    assert_int_equal(tn_levmar_solve(s, &(tn_levmar_start){.size = sizeof(tn_levmar_start), .x = &bad}, &r),
                     TN_ECALLBACK);
    says(s, TN_ECALLBACK, "at the start: residual 0 is not a number");
    assert_true(r.x[0] == bad && !r.covariance);
    assert_int_equal(tn_levmar_solve(s, NULL, &r), TN_ECALLBACK); /* log 0 */
    says(s, TN_ECALLBACK, "residual 0 is infinite");
    tn_levmar_free(s);
    tn_ctx_free(c);
}

/* sqrt, whose derivative alone is infinite at 0: times the 0 of another column not a number */
static tn_val edge(const tn_val *in, void *user) {
    (void)user;
    return tn_stack(tn_vals(tn_at(in[0], 0), tn_sqrt(tn_at(in[0], 1))), 0);
}

static tn_val asserting(const tn_val *in, void *user) {
    (void)user;
    tn_assert(tn_gt(in[0], 3.0), "below three");
    return tn_stack(tn_vals(in[0], tn_sub(in[0], 1.0)), 0);
}

static int stopped(void *user, const tn_levmar_iteration *i) { return i->number == *(int *)user; }

static void ends_early(void **state) {
    (void)state;
    tn_ctx *c = tn_ctx_new(NULL);
    tn_levmar_result r = {.size = sizeof r};
    const double nine = 9, begin[2] = {500, 1e-4};
    tn_levmar *s = solver(c, tn_trace(c, edge, NULL, TN_ARGS(tn_f64(2))), 0, NULL);
    assert_int_equal(tn_levmar_solve(s, NULL, &r), TN_ECALLBACK);
    says(s, TN_ECALLBACK, "the Jacobian of r: its entry in row 1, column 0 is not a number");
    tn_levmar_free(s);
    s = solver(c, tn_trace(c, asserting, NULL, TN_ARGS(tn_f64())), 0, NULL);
    assert_int_equal(tn_levmar_solve(s, &(tn_levmar_start){.size = sizeof(tn_levmar_start), .x = &nine}, &r),
                     TN_EASSERT);
    says(s, TN_EASSERT, "below three");
    assert_true(r.x[0] == 9 && r.r[1] == 8);
    tn_levmar_free(s);
    int at = 2;
    tn_fn *f = tn_trace(c, misra, NULL, TN_ARGS(tn_f64(2), tn_f64(POINTS), tn_f64(POINTS)));
    const tn_levmar_start start = {.size = sizeof start, .x = begin, .p = (const void *[]){load, volume}};
    s = solver(c, f, 0,
               &(tn_levmar_options){.size = sizeof(tn_levmar_options), .progress = stopped, .progress_user = &at});
    assert_int_equal(tn_levmar_solve(s, &start, &r), TN_ECANCELLED);
    says(s, TN_ECANCELLED, "stopped by the caller after 2 iterations");
    assert_true(r.iterations == 2 && isfinite(r.objective) && !r.covariance);
    tn_levmar_free(s);
    s = solver(c, f, 0, &(tn_levmar_options){.size = sizeof(tn_levmar_options), .max_evaluations = 3});
    assert_int_equal(tn_levmar_solve(s, &start, &r), TN_ELIMIT);
    says(s, TN_ELIMIT, "evaluations are used up");
    tn_levmar_free(s);
    tn_ctx_free(c);
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static tn_val same(const tn_val *in, void *user) {
    (void)user;
    return in[0];
}

static void refuse(const tn_levmar_problem *q, const tn_levmar_options *o, tn_status status, const char *text) {
    tn_levmar *s = tn_levmar_new(q, o);
    says(s, status, text);
    assert_int_equal(tn_levmar_solve(s, NULL, NULL), status); /* and keeps saying so */
    says(s, status, text);
    tn_levmar_free(s);
}

static void refused(void **state) {
    (void)state;
    tn_levmar_free(NULL);
    assert_string_equal(tn_levmar_error(NULL), "out of memory");
    assert_int_equal(tn_levmar_solve(NULL, NULL, NULL), TN_ENOMEM);
    tn_ctx *c = tn_ctx_new(NULL);
    tn_levmar_problem q = {.size = sizeof q, .r = tn_trace(c, same, NULL, TN_ARGS(tn_f64(2), tn_f64(3)))};
    const double zero[2] = {1, 0};
    const struct {
        tn_levmar_options o;
        const char *text;
    } list[] = {
        {{.ftol = 1}, "the options' size"},
        {{.size = sizeof(tn_levmar_options), .gtol = NAN}, "ftol, xtol or gtol"},
        {{.size = sizeof(tn_levmar_options), .factor = -1}, "factor"},
        {{.size = sizeof(tn_levmar_options), .max_evaluations = -1}, "max_evaluations"},
        {{.size = sizeof(tn_levmar_options), .scale = zero}, "the scale of variable 1 is 0"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) refuse(&q, &list[i].o, TN_EINVAL, list[i].text);
    refuse(NULL, NULL, TN_EINVAL, "the problem's size");
    q.variables = 2;
    refuse(&q, NULL, TN_EINVAL, "2 residuals are fewer than the 5 variables");
    q = (tn_levmar_problem){.size = sizeof q, .r = tn_trace(c, same, NULL, TN_ARGS(tn_f32(2), tn_f64(3)))};
    refuse(&q, NULL, TN_ETYPE, "variable 0 is f32[2]");
    q.r = NULL;
    refuse(&q, NULL, TN_EINVAL, "there is no r");
    tn_ctx_free(c);
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static tn_levmar *in_context(tn_ctx *c) {
    tn_fn *r = tn_trace_many(c, misra_parts, NULL, TN_ARGS(tn_f64(), tn_f64(1), tn_f64(POINTS), tn_f64(POINTS)), 2);
    return r ? tn_levmar_new(&(tn_levmar_problem){.size = sizeof(tn_levmar_problem), .r = r, .variables = 2}, NULL)
             : NULL;
}

static void memory(void **state) {
    (void)state;
    counter k = {0};
    tn_ctx *c = counting(&k);
    tn_levmar *s = in_context(c);
    const double begin[2] = {250, 5e-4};
    const tn_levmar_start start = {.size = sizeof start, .x = begin, .p = (const void *[]){load, volume}};
    const long before = k.calls;
    own = 0;
    assert_int_equal(tn_levmar_solve(s, &start, NULL), TN_OK);
    assert_int_equal(k.calls, before); /* a solve allocates nothing, from the context or itself */
    assert_int_equal(own, 0);
    tn_levmar_free(s);
    tn_ctx_free(c);
    for (long at = 1; at <= before; at += 1 + at / 40) {
        counter failing = {.fail_at = at};
        c = counting(&failing);
        s = c ? in_context(c) : NULL;
        if (s && tn_levmar_status(s)) says(s, TN_ENOMEM, "memory");
        tn_levmar_free(s);
        tn_ctx_free(c);
    }
    int failures = 0;
    for (long at = 1;; at++) {
        c = tn_ctx_new(NULL);
        tn_fn *r = tn_trace_many(c, misra_parts, NULL, TN_ARGS(tn_f64(), tn_f64(1), tn_f64(POINTS), tn_f64(POINTS)), 2);
        assert_non_null(r);
        own = 0, fail_own = at;
        s = tn_levmar_new(&(tn_levmar_problem){.size = sizeof(tn_levmar_problem), .r = r, .variables = 2}, NULL);
        const bool reached = own >= at;
        own = fail_own = 0;
        if (reached) assert_int_equal(tn_levmar_status(s), TN_ENOMEM);
        failures += reached;
        tn_levmar_free(s);
        tn_ctx_free(c);
        if (!reached) break;
    }
    assert_true(failures > 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certified), cmocka_unit_test(not_finite), cmocka_unit_test(ends_early),
        cmocka_unit_test(refused),   cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
