/* What the tests share: problems, traced, with exact answers; contexts and vectors of SUNDIALS; linear solvers for each
 * format of the Jacobian. */
#ifndef TANSY_SUNDIALS_TEST_SYSTEMS_H
#define TANSY_SUNDIALS_TEST_SYSTEMS_H

#include <tansy/sundials.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

/* Errors are what is tested: SUNDIALS's own messages would only be in the way. */
static inline void silent(int code, const char *module, const char *function, char *text, void *user) {
    (void)code, (void)module, (void)function, (void)text, (void)user;
}

static inline SUNContext sun_new(void) {
    SUNContext x = NULL;
    assert_int_equal(SUNContext_Create(NULL, &x), 0);
    return x;
}

static inline N_Vector vector_of(SUNContext x, int64_t n, const double *from) {
    N_Vector v = N_VNew_Serial((sunindextype)n, x);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) NV_Ith_S(v, i) = from ? from[i] : 0;
    return v;
}

static inline tn_ctx *context(void) {
    const tn_ctx_options o = {.size = sizeof o, .check = -1};
    tn_ctx *c = tn_ctx_new(&o);
    assert_non_null(c);
    return c;
}

/* A system that was not refused. */
static inline tn_sundials *system_of(const tn_sundials_problem *q, unsigned with) {
    tn_sundials *s = tn_sundials_new(q, &(tn_sundials_options){.size = sizeof(tn_sundials_options), .with = with});
    if (tn_sundials_status(s)) fail_msg("%s", tn_sundials_error(s));
    return s;
}

static inline void says(const tn_sundials *s, tn_status status, const char *text) {
    if (tn_sundials_status(s) != status || !strstr(tn_sundials_error(s), text))
        fail_msg("%s: \"%s\", where %s: \"%s\" was to be", tn_status_text(tn_sundials_status(s)), tn_sundials_error(s),
                 tn_status_text(status), text);
}

/* |a - b| <= relative max(|a|, |b|) */
static inline void near_to(double a, double b, double relative, const char *what) {
    if (!(fabs(a - b) <= relative * fmax(fabs(a), fabs(b)))) fail_msg("%s: %.12g, expected %.12g", what, a, b);
}

/* A printed value of `digits` digits, computed with these tolerances: ten times them, and half of the last digit. */
static inline void as_printed(double a, double printed, int digits, double rtol, double atol, const char *what) {
    const double last = 0.5 * pow(10, floor(log10(fabs(printed))) + 1 - digits);
    if (!(fabs(a - printed) <= 10 * (rtol * fabs(printed) + atol) + last))
        fail_msg("%s: %.12g, printed %.12g", what, a, printed);
}

/* ---- linear solvers ----------------------------------------------------------------------- */

/* The formats of tn_sundials_matrix, CSR, and products alone. */
enum { CSR = TN_SUNDIALS_SPARSE + 1, PRODUCTS };
static const char *const format_names[] = {"dense", "band", "CSC", "CSR", "products"};

typedef struct linear {
    SUNMatrix matrix; /* NULL: products */
    SUNLinearSolver solver;
} linear;

static inline linear linear_of(tn_sundials *s, int format, bool transposed, N_Vector y, SUNContext x) {
    linear l = {0};
    if (format == PRODUCTS) {
        l.solver = SUNLinSol_SPGMR(y, SUN_PREC_NONE, 40, x);
    } else {
        l.matrix =
            tn_sundials_matrix(s, format == CSR ? TN_SUNDIALS_SPARSE : (tn_sundials_format)format, transposed, x);
        if (!l.matrix) fail_msg("%s", tn_sundials_error(s));
        if (format == CSR) SM_SPARSETYPE_S(l.matrix) = CSR_MAT; /* square: the room is the same */
        l.solver = format == TN_SUNDIALS_DENSE  ? SUNLinSol_Dense(y, l.matrix, x)
                   : format == TN_SUNDIALS_BAND ? SUNLinSol_Band(y, l.matrix, x)
                                                : SUNLinSol_KLU(y, l.matrix, x);
    }
    assert_non_null(l.solver);
    return l;
}

static inline void linear_free(linear *l) {
    (void)SUNLinSolFree(l->solver);
    if (l->matrix) SUNMatDestroy(l->matrix);
}

/* ---- problems ------------------------------------------------------------------------------- */

/* Robertson's kinetics: (t, y [3], rates [3]). */
static inline tn_val robertson(const tn_val *in, void *user) {
    (void)user;
    const tn_val a = tn_at(in[1], 0), b = tn_at(in[1], 1), c = tn_at(in[1], 2);
    const tn_val f1 = tn_add(tn_neg(tn_mul(tn_at(in[2], 0), a)), tn_mul(tn_at(in[2], 1), tn_mul(b, c)));
    const tn_val f3 = tn_mul(tn_at(in[2], 2), tn_square(b));
    return tn_stack(tn_vals(f1, tn_neg(tn_add(f1, f3)), f3), 0);
}
static inline tn_val third(const tn_val *in, void *user) {
    (void)user;
    return tn_at(in[1], 2);
}
static const double robertson_rates[] = {0.04, 1e4, 3e7}, robertson_y0[] = {1, 0, 0};
static const double robertson_atol[] = {1e-8, 1e-14, 1e-6};

static inline tn_fn *robertson_of(tn_ctx *c, tn_trace_fn f) {
    tn_fn *p = tn_trace(c, f, NULL, TN_ARGS(tn_f64(), tn_f64(3), tn_f64(3)));
    if (!p) fail_msg("%s", tn_error(c));
    return p;
}

/* u' = a u'' - v u' + b sin(t) on n points between zeros, by central differences; (t, u [n], (a, v, b) [3], shift i32):
 * the Jacobian is banded and not symmetric. */
static inline tn_val carried(const tn_val *in, void *user) {
    (void)user;
    const int64_t n = tn_dim(in[1], 0);
    const double h = 1.0 / (double)(n + 1);
    const tn_val zero = tn_zeros(tn_val_ctx(in[1]), tn_f64(1));
    const tn_val all = tn_concatenate(tn_vals(zero, in[1], zero), 0);
    const tn_val left = tn_slice_axis(all, 0, n, 1, 0), right = tn_slice_axis(all, 2, n + 2, 1, 0);
    const tn_val bend = tn_mul(1 / (h * h), tn_sub(tn_add(left, right), tn_mul(2.0, in[1])));
    const tn_val slope = tn_mul(1 / (2 * h), tn_sub(right, left));
    const tn_val source = tn_mul(tn_at(in[2], 2), tn_sin(in[0]));
    return tn_add(tn_sub(tn_mul(tn_at(in[2], 0), bend), tn_mul(tn_at(in[2], 1), tn_mul(in[1], slope))), source);
}
static const double carried_values[] = {0.05, 1.5, 2};

#endif
