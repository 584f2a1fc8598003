/* The problems of the tests, traced, with their bounds and starts. */
#ifndef TANSY_NLOPT_TEST_PROBLEMS_H
#define TANSY_NLOPT_TEST_PROBLEMS_H

#include <tansy/nlopt.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <math.h>
#include <nlopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

typedef struct problem {
    tn_ctx *c;
    tn_nlopt_problem nlp;
    int64_t n;
    double xl[MOST], xu[MOST], x0[MOST];
} problem;

/* A context that checks, and arrays that no bound holds. */
static inline void problem_make(problem *p, int64_t n, tn_trace_fn f, tn_trace_fn g, tn_trace_fn h) {
    const tn_ctx_options opt = {.size = sizeof opt, .check = -1};
    assert_true(n <= MOST);
    *p = (problem){.c = tn_ctx_new(&opt), .n = n};
    assert_non_null(p->c);
    for (int64_t i = 0; i < n; i++) {
        p->xl[i] = -INFINITY;
        p->xu[i] = INFINITY;
    }
    p->nlp = (tn_nlopt_problem){.size = sizeof p->nlp, .xl = p->xl, .xu = p->xu};
    p->nlp.f = tn_trace(p->c, f, NULL, TN_ARGS(tn_f64(n)));
    p->nlp.g = g ? tn_trace(p->c, g, NULL, TN_ARGS(tn_f64(n))) : NULL;
    p->nlp.h = h ? tn_trace(p->c, h, NULL, TN_ARGS(tn_f64(n))) : NULL;
    if (!p->nlp.f || (g && !p->nlp.g) || (h && !p->nlp.h)) fail_msg("%s", tn_error(p->c));
}

static inline void problem_free(problem *p) { tn_ctx_free(p->c); }

static inline void bound(problem *p, double low, double high) {
    for (int64_t i = 0; i < p->n; i++) {
        p->xl[i] = low;
        p->xu[i] = high;
    }
}

/* ---- HS071 --------------------------------------------------------------------------------- */

static inline tn_val hs071_f(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_at(in[0], 0), b = tn_at(in[0], 1), c = tn_at(in[0], 2), d = tn_at(in[0], 3);
    return tn_add(tn_mul(tn_mul(a, d), tn_add(tn_add(a, b), c)), c);
}
static inline tn_val hs071_g(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(25.0, tn_prod(in[0]));
}
static inline tn_val hs071_h(const tn_val *in, void *user) {
    (void)user;
    return tn_sub(tn_sum_squares(in[0]), 40.0);
}

static inline void hs071(problem *p) {
    problem_make(p, 4, hs071_f, hs071_g, hs071_h);
    bound(p, 1, 5);
    p->x0[0] = p->x0[3] = 1;
    p->x0[1] = p->x0[2] = 5;
}

/* ---- Rosenbrock's, of n variables ------------------------------------------------------------- */

static inline tn_val rosenbrock_f(const tn_val *in, void *user) {
    (void)user;
    const tn_type t = tn_val_type(in[0]);
    const int64_t n = t.dim[0];
    const tn_val a = tn_slice_axis(in[0], 0, n - 1, 1, 0), b = tn_slice_axis(in[0], 1, n, 1, 0);
    return tn_add(tn_mul(100.0, tn_sum_squares(tn_sub(b, tn_square(a)))), tn_sum_squares(tn_sub(1.0, a)));
}

static inline void rosenbrock(problem *p, int64_t n) {
    problem_make(p, n, rosenbrock_f, NULL, NULL);
    for (int64_t i = 0; i < n; i++) p->x0[i] = i % 2 ? 1 : -1.2;
}

#endif
