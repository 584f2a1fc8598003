/* What the tests of tracing share: a context that checks, running, comparing. */
#ifndef TN_TRACING_H
#define TN_TRACING_H

#include "ir/ir.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define P(...)   ((const double[]){__VA_ARGS__})

static inline tn_ctx *checked(void) {
    const tn_ctx_options opt = {.size = sizeof opt, .check = 1};
    tn_ctx *c = tn_ctx_new(&opt);
    assert_non_null(c);
    return c;
}

static inline void run(const tn_fn *f, const void *const *in, void *const *out) {
    assert_non_null(f);
    tn_exec *e = tn_compile(f, NULL);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, in, out), TN_OK);
    tn_exec_free(e);
}

static inline void close_to(const double *got, const double *want, size_t n, double tolerance) {
    for (size_t i = 0; i < n; i++) {
        bool same = isnan(want[i])   ? isnan(got[i])
                    : isinf(want[i]) ? got[i] == want[i]
                                     : fabs(got[i] - want[i]) <= tolerance * fmax(1, fabs(want[i]));
        if (!same) fail_msg("element %zu: %.17g, expected %.17g", i, got[i], want[i]);
    }
}

/* n floats of f32 or f64: sin of 1, 2, .. times `by`. */
static inline void fill_sines(int dtype, void *x, size_t n, double by) {
    for (size_t i = 0; i < n; i++)
        if (dtype == TN_F64)
            ((double *)x)[i] = sin(by * (double)(i + 1));
        else
            ((float *)x)[i] = (float)sin(by * (double)(i + 1));
}

#endif
