/* How far first and second derivatives of elementwise primitives are from exact, in ulp of what is exact, over the
 * whole range of exponents: at most 8 and 16, wherever that is a number of the dtype.  Every elementwise primitive that
 * has a derivative has rows in the table (record_derivatives.py), or is named below with the reason why not. */
#include "prims/ids.h"
#include "tracing.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct family {
    const char *name, *params;
    uint32_t nin, wrt; /* operands; those that have a derivative */
    size_t n;          /* numbers */
    const double *row; /* operands, first derivatives, second derivatives */
} family;

#include "derivative_table.h"

enum { MOST = 160, OPERANDS = 3 };
static const double bound[2] = {8, 16};

static const struct {
    const char *name, *reason;
} without_rows[] = {
    {"select", "one of its operands: no arithmetic"},
    {"convert_element_type", "its derivative is a conversion"},
    {"name", "the value itself"},
    {"offload", "the value itself"},
    {"either", "the value itself"},
    {"igamma", "in x a power of e whose exponent cancels; in a: unit-special_more"},
    {"igammac", "as igamma"},
    {"igamma_grad_a", "as igamma"},
    {"random_gamma_grad", "has zeros that nothing tells; in a: unit-special_more"},
    {"regularized_incomplete_beta", "a power of e whose exponent cancels"},
    {"bessel_i0e", "a difference that loses digits as x grows"},
    {"bessel_i1e", "as bessel_i0e"},
    {"zeta", "in f32, s + 1 and s zeta(s + 1, q) round as they come; values: unit-special_more"},
};

static uint32_t ones(uint32_t set) { return set ? 1 + ones(set & (set - 1)) : 0; }

static size_t width(const family *f) {
    const size_t n = ones(f->wrt);
    return f->nin + n + n * (n + 1) / 2;
}

/* The distance of y from what is exact, in units of the last place of `scale`. */
static double ulps(double y, double exact, double scale, bool single) {
    const double rounded = single ? (double)(float)exact : exact;
    if (y == rounded || (isnan(y) && isnan(rounded))) return 0;
    if (!isfinite(rounded) || !isfinite(y)) return HUGE_VAL;
    int e;
    (void)frexp(scale, &e);
    const int digits = single ? FLT_MANT_DIG : DBL_MANT_DIG, least = single ? FLT_MIN_EXP : DBL_MIN_EXP;
    const int unit = (scale == 0 || e < least ? least : e) - digits;
    return fabs(y - exact) / ldexp(1, unit);
}

/* ---- a family in one dtype ---------------------------------------------------------------- */

typedef struct batch {
    const family *f;
    bool single;
    size_t n, row[MOST]; /* those of its rows that are numbers of the dtype */
} batch;

static bool representable(const family *f, const double *row, bool single) {
    for (uint32_t i = 0; single && i < f->nin; i++)
        if (!isnan(row[i]) && ((double)(float)row[i] != row[i] || (row[i] != 0 && fabs(row[i]) < FLT_MIN)))
            return false;
    return true;
}

static batch batch_of(const family *f, bool single) {
    batch b = {.f = f, .single = single};
    for (size_t r = 0; r < f->n / width(f); r++)
        if (representable(f, f->row + r * width(f), single)) {
            assert_true(b.n < MOST);
            b.row[b.n++] = r;
        }
    return b;
}

static const double *row_of(const batch *b, size_t k) { return b->f->row + b->row[k] * width(b->f); }

static tn_fn *program(tn_ctx *c, const batch *b) {
    char text[512], operands[64] = "", inputs[128] = "";
    const char *dtype = b->single ? "f32" : "f64";
    for (uint32_t i = 0; i < b->f->nin; i++) {
        (void)snprintf(inputs + strlen(inputs), 32, " x%u:%s[%zu]", (unsigned)i, dtype, b->n);
        (void)snprintf(operands + strlen(operands), 16, " x%u", (unsigned)i);
    }
    (void)snprintf(text, sizeof text, "{ lambda%s . let y:%s[%zu] = %s%s%s in (y,) }", inputs, dtype, b->n, b->f->name,
                   b->f->params, operands);
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "derivative_ulp");
    if (!f) fail_msg("%s%s: %s", b->f->name, b->f->params, tn_error(c));
    return f;
}

static tn_fn *derived(tn_fn *f, int operand) {
    const tn_wrt_list wrt = {1, &operand};
    tn_fn *g = tn_jvp(f, &wrt);
    if (!g) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    tn_fn_free(f);
    return g;
}

/* The last output of f, whose operands are those of the rows and then tangents of 1. */
static void last_of(tn_fn *f, const batch *b, int math, double *result) {
    static double in[OPERANDS + 2][MOST], out[4][MOST];
    static float inf[OPERANDS + 2][MOST], outf[4][MOST];
    const void *from[OPERANDS + 2];
    void *to[4];
    for (uint32_t i = 0; i < b->f->nin + 2; i++) {
        for (size_t k = 0; k < b->n; k++) inf[i][k] = (float)(in[i][k] = i < b->f->nin ? row_of(b, k)[i] : 1);
        from[i] = b->single ? (const void *)inf[i] : (const void *)in[i];
    }
    for (int j = 0; j < 4; j++) to[j] = b->single ? (void *)outf[j] : (void *)out[j];
    const tn_compile_options o = {.size = sizeof o, .math = math};
    tn_exec *e = tn_compile(f, &o);
    if (!e) fail_msg("%s", tn_error(tn_fn_ctx(f)));
    assert_int_equal(tn_call(e, from, to), TN_OK);
    tn_exec_free(e);
    const size_t last = tn_fn_outputs(f) - 1;
    for (size_t k = 0; k < b->n; k++) result[k] = b->single ? (double)outf[last][k] : out[last][k];
}

/* ---- the law -------------------------------------------------------------------------------- */

/* What is not within the bound in ulp of itself, but of another number, and why: sums of terms that cancel are as exact
 * as these. */
static double one(const double *x) { return (void)x, 1; }
static double inverse_square(const double *x) { return 1 / (x[0] * x[0] + x[1] * x[1]); }
static double power_below(const double *x) { return pow(fabs(x[0]), x[1] - 1); }

static const struct exception {
    const char *name;
    size_t column;
    const char *reason;
    double (*scale)(const double *x);
} exceptions[] = {
    {"tanh", 1, "1 - y^2 by the result, which networks keep anyway; more would need the operand too", one},
    {"tanh", 2, "-2 y (1 - y^2) by the result", one},
    {"logistic", 1, "y - y^2 by the result, which networks keep anyway; more would need the operand too", one},
    {"logistic", 2, "(1 - 2 y) (y - y^2) by the result", one},
    {"atan2", 5, "(x^2 - y^2) / r^4 is 1/r^2 - 2 y^2/r^4", inverse_square},
    {"pow", 5, "x^(y-1) (1 + y log x) is the sum of two terms", power_below},
};
enum { EXCEPTIONS = sizeof exceptions / sizeof *exceptions };
static bool needed[EXCEPTIONS];

static bool excepted(const batch *b, const double *x, size_t column, double got, int order) {
    for (size_t i = 0; i < EXCEPTIONS; i++)
        if (strcmp(exceptions[i].name, b->f->name) == 0 && exceptions[i].column == column) {
            needed[i] = true;
            return ulps(got, x[column], exceptions[i].scale(x), b->single) <= bound[order - 1];
        }
    return false;
}

/* The column of derivatives that one program computes. */
static size_t check_column(const batch *b, int math, int order, size_t column, const double *got) {
    double worst = 0;
    size_t beyond = 0;
    for (size_t k = 0; k < b->n; k++) {
        const double *x = row_of(b, k), exact = x[column],
                     d = ulps(got[k], exact, b->single ? (double)(float)exact : exact, b->single);
        if (d > bound[order - 1] && excepted(b, x, column, got[k], order)) continue;
        if (d > worst) worst = d;
        if (d <= bound[order - 1]) continue;
        beyond++;
        print_message("%s%s %s, order %d, column %zu at", b->f->name, b->f->params, b->single ? "f32" : "f64", order,
                      column);
        for (uint32_t i = 0; i < b->f->nin; i++) print_message(" %a (%g)", x[i], x[i]);
        print_message(": %.9g, exact %.9g: %.3g ulp\n", got[k], exact, d);
    }
    if (getenv("TN_ULP"))
        print_message("%s%s %s %s, order %d, column %zu: %.3g ulp\n", b->f->name, b->f->params,
                      b->single ? "f32" : "f64", math ? "accurate" : "default", order, column, worst);
    return beyond;
}

static size_t check_family(tn_ctx *c, const batch *b, int math) {
    double got[MOST];
    size_t beyond = 0, column = b->f->nin, pair = b->f->nin + ones(b->f->wrt);
    for (uint32_t i = 0; i < b->f->nin; i++) {
        if (!(b->f->wrt >> i & 1)) continue;
        tn_fn *once = derived(program(c, b), (int)i);
        last_of(once, b, math, got);
        tn_fn_free(once);
        beyond += check_column(b, math, 1, column++, got);
        for (uint32_t j = i; j < b->f->nin; j++) {
            if (!(b->f->wrt >> j & 1)) continue;
            tn_fn *twice = derived(derived(program(c, b), (int)i), (int)j);
            last_of(twice, b, math, got);
            tn_fn_free(twice);
            beyond += check_column(b, math, 2, pair++, got);
        }
    }
    return beyond;
}

static void check_all(int math) {
    tn_ctx *c = tn_ctx_new(NULL);
    size_t beyond = 0;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (int single = 0; single < 2; single++) {
            const batch b = batch_of(&families[i], single);
            if (b.n) beyond += check_family(c, &b, math);
        }
    tn_ctx_free(c);
    if (beyond) fail_msg("%zu derivatives are too far from exact", beyond);
}

static void default_functions(void **unused) {
    (void)unused;
    check_all(TN_MATH_DEFAULT);
}

static void accurate_functions(void **unused) {
    (void)unused;
    check_all(TN_MATH_ACCURATE);
}

static bool has_row(const char *name) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].name, name) == 0) return true;
    for (size_t i = 0; i < sizeof without_rows / sizeof *without_rows; i++)
        if (strcmp(without_rows[i].name, name) == 0) return true;
    return false;
}

static void every_primitive(void **unused) {
    (void)unused;
    for (int i = 0; i < TN_NPRIMS; i++) {
        const tn_prim *p = tn_i_registry[i];
        const bool derives = p->flags & TN_F_ELEMENTWISE && !(p->flags & TN_F_NODIFF);
        if (derives && p->dtypes & (1u << TN_F32 | 1u << TN_F64) && !has_row(p->name))
            fail_msg("%s has no rows in record_derivatives.py", p->name);
    }
}

/* After the others: what needs no exception has none. */
static void every_exception(void **unused) {
    (void)unused;
    for (size_t i = 0; i < EXCEPTIONS; i++)
        if (!needed[i])
            fail_msg("%s: no derivative needs the exception \"%s\"", exceptions[i].name, exceptions[i].reason);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_primitive), cmocka_unit_test(default_functions),
                                       cmocka_unit_test(accurate_functions), cmocka_unit_test(every_exception)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
