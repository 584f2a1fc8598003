/* linear_solve, lu and lu_solve: residuals for every size, layout and dtype; singular matrices; derivatives, and
 * what they compute again; batches; and what is refused. */
#include "prims/prim.h"
#include "unit/tracing.h"

#include <stdio.h>
#include <stdlib.h>

static double number(uint64_t *seed) { /* in [-1, 1) */
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*seed >> 11) / 4503599627370496.0 - 1;
}

static tn_fn *parse(tn_ctx *c, const char *text) {
    tn_fn *f = tn_fn_parse(c, text, strlen(text), "test.tn");
    if (!f) fail_msg("%s", tn_error(c));
    return f;
}

static size_t count(const tn_fn *f, const char *prim) {
    size_t n = 0;
    for (uint32_t i = 0; i < f->neqn; i++) n += strcmp(f->eqn[i].prim->name, prim) == 0;
    return n;
}

/* ---- values ------------------------------------------------------------------------------------ */

enum { BATCH = 2 };

typedef struct arrays {
    int64_t n, m;
    double *a, *b, *x, *lu;
    int32_t *pivots, *order;
} arrays;

static arrays fill(int64_t n, int64_t m, bool narrow) {
    uint64_t seed = (uint64_t)(n * 1000 + m);
    arrays k = {.n = n, .m = m};
    k.a = calloc((size_t)(BATCH * n * n), sizeof(double));
    k.b = calloc((size_t)(BATCH * n * m), sizeof(double));
    k.x = calloc((size_t)(BATCH * n * m), sizeof(double));
    k.lu = calloc((size_t)(BATCH * n * n), sizeof(double));
    k.pivots = calloc((size_t)(BATCH * n), sizeof(int32_t));
    k.order = calloc((size_t)(BATCH * n), sizeof(int32_t));
    for (int64_t i = 0; i < BATCH * n * n; i++) k.a[i] = number(&seed);
    for (int64_t i = 0; i < BATCH * n * m; i++) k.b[i] = number(&seed);
    for (int64_t i = 0; i < BATCH * n * n && narrow; i++) k.a[i] = (float)k.a[i];
    for (int64_t i = 0; i < BATCH * n * m && narrow; i++) k.b[i] = (float)k.b[i];
    return k;
}

static void release(arrays *k) { free(k->a), free(k->b), free(k->x), free(k->lu), free(k->pivots), free(k->order); }

/* Runs a program of doubles in its own dtype. */
static void run_as(tn_fn *f, const double *const *in, double *const *out, int32_t *const *whole, int threads,
                   bool by_columns) {
    void *from[4], *to[4];
    int64_t stride[TN_MAX_RANK];
    const int64_t *strides[4] = {NULL};
    const bool narrow = f->val[0].type->dtype == TN_F32;
    for (uint32_t i = 0; i < f->nin; i++) {
        const int64_t n = tn_i_count(f->val[i].type);
        from[i] = calloc((size_t)n + 1, 8);
        const tn_type *t = f->val[i].type;
        for (int64_t k = 0; k < n; k++) {
            const int64_t d = t->dim[t->rank - 1],
                          at = by_columns && i == 0 ? k / (d * d) * d * d + k % d * d + k / d % d : k;
            if (narrow)
                ((float *)from[i])[at] = (float)in[i][k];
            else
                ((double *)from[i])[at] = in[i][k];
        }
        if (by_columns && i == 0) {
            stride[0] = t->dim[1] * t->dim[1], stride[1] = 1, stride[2] = t->dim[1];
            strides[0] = stride;
        }
    }
    for (uint32_t j = 0; j < f->nout; j++) to[j] = calloc((size_t)tn_i_count(f->val[f->out[j]].type) + 1, 8);
    const tn_compile_options opt = {.size = sizeof opt, .threads = threads, .in_strides = by_columns ? strides : NULL};
    tn_exec *e = tn_compile(f, &opt);
    if (!e) fail_msg("%s", tn_error(f->ctx));
    assert_int_equal(tn_call(e, (const void *const *)from, to), TN_OK);
    tn_exec_free(e);
    for (uint32_t j = 0; j < f->nout; j++) {
        const tn_type *t = f->val[f->out[j]].type;
        for (int64_t k = 0; k < tn_i_count(t); k++)
            if (t->dtype == TN_I32)
                whole[j][k] = ((const int32_t *)to[j])[k];
            else
                out[j][k] = narrow ? (double)((const float *)to[j])[k] : ((const double *)to[j])[k];
        free(to[j]);
    }
    for (uint32_t i = 0; i < f->nin; i++) free(from[i]);
}

static double largest(const double *x, int64_t n) {
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
    return m;
}

/* |a x - b| or |a' x - b| against what rounding allows a backward stable solve. */
static void check_residual(const arrays *k, bool transposed, double epsilon) {
    for (int64_t c = 0; c < BATCH; c++)
        for (int64_t i = 0; i < k->n; i++)
            for (int64_t j = 0; j < k->m; j++) {
                double sum = -k->b[(c * k->n + i) * k->m + j];
                for (int64_t p = 0; p < k->n; p++)
                    sum += k->a[c * k->n * k->n + (transposed ? p * k->n + i : i * k->n + p)] *
                           k->x[(c * k->n + p) * k->m + j];
                const double size = largest(k->x + c * k->n * k->m, k->n * k->m);
                const double allowed = 8 * (double)k->n * epsilon * fmax(1, size);
                if (!(fabs(sum) <= allowed))
                    fail_msg("n %d m %d transposed %d: %g, more than %g", (int)k->n, (int)k->m, transposed, sum,
                             allowed);
            }
}

static void solves(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1}, {2, 3}, {5, 1}, {7, 40}, {63, 2}, {64, 1}, {65, 3}, {130, 70}, {200, 1}};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int narrow = 0; narrow < 2; narrow++)
            for (int by_columns = 0; by_columns < 2; by_columns++) {
                tn_ctx *c = checked();
                char text[400];
                const char *d = narrow ? "f32" : "f64";
                const int n = sizes[s][0], m = sizes[s][1];
                arrays k = fill(n, m, narrow);
                (void)snprintf(text, sizeof text,
                               "{ lambda a:%s[2,%d,%d] b:%s[2,%d,%d] . let x = linear_solve a b in (x,) }", d, n, n, d,
                               n, m);
                run_as(parse(c, text), (const double *const[]){k.a, k.b}, (double *const[]){k.x}, NULL,
                       n > 64 ? 1 + by_columns : 1, by_columns);
                check_residual(&k, false, narrow ? 1.2e-7 : 2.3e-16);
                release(&k);
                tn_ctx_free(c);
            }
}

static void solves_transposed(void **state) {
    (void)state;
    static const int sizes[] = {1, 6, 70};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int narrow = 0; narrow < 2; narrow++) {
            tn_ctx *c = checked();
            char text[400];
            const char *d = narrow ? "f32" : "f64";
            const int n = sizes[s], m = 3;
            arrays k = fill(n, m, narrow);
            (void)snprintf(text, sizeof text,
                           "{ lambda a:%s[2,%d,%d] b:%s[2,%d,%d] . let l p q = lu a x = lu_solve[transposed=True] l q "
                           "b in (x,) }",
                           d, n, n, d, n, m);
            run_as(parse(c, text), (const double *const[]){k.a, k.b}, (double *const[]){k.x}, NULL, 1, true);
            check_residual(&k, true, narrow ? 1.2e-7 : 2.3e-16);
            release(&k);
            tn_ctx_free(c);
        }
}

/* l u = a[permutation], |l| <= 1, and the pivots are the permutation step by step. */
static void check_factors(const arrays *k, double epsilon) {
    const int64_t n = k->n;
    for (int64_t c = 0; c < BATCH; c++) {
        const double *lu = k->lu + c * n * n, *a = k->a + c * n * n;
        const int32_t *order = k->order + c * n, *pivots = k->pivots + c * n;
        int32_t rows[256];
        for (int32_t i = 0; i < n; i++) rows[i] = i;
        for (int64_t i = 0; i < n; i++) {
            const int32_t t = rows[i];
            assert_true(pivots[i] >= i && pivots[i] < n);
            rows[i] = rows[pivots[i]];
            rows[pivots[i]] = t;
        }
        for (int64_t i = 0; i < n; i++) {
            assert_int_equal(rows[i], order[i]);
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t p = 0; p <= i && p <= j; p++) sum += (p == i ? 1 : lu[i * n + p]) * lu[p * n + j];
                assert_true(j >= i || fabs(lu[i * n + j]) <= 1);
                if (!(fabs(sum - a[order[i] * n + j]) <= 20 * (double)n * epsilon))
                    fail_msg("n %d: (%d, %d) is %g, not %g", (int)n, (int)i, (int)j, sum, a[order[i] * n + j]);
            }
        }
    }
}

static void factors(void **state) {
    (void)state;
    static const int sizes[] = {1, 2, 5, 63, 64, 65, 129, 200};
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int narrow = 0; narrow < 2; narrow++) {
            tn_ctx *c = checked();
            char text[200];
            arrays k = fill(sizes[s], 1, narrow);
            (void)snprintf(text, sizeof text, "{ lambda a:%s[2,%d,%d] . let l p q = lu a in (l, p, q) }",
                           narrow ? "f32" : "f64", sizes[s], sizes[s]);
            run_as(parse(c, text), (const double *const[]){k.a}, (double *const[]){k.lu, NULL, NULL},
                   (int32_t *const[]){NULL, k.pivots, k.order}, sizes[s] > 64 ? 1 + narrow : 1, false);
            check_factors(&k, narrow ? 1.2e-7 : 2.3e-16);
            release(&k);
            tn_ctx_free(c);
        }
}

static void singular(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = parse(c, "{ lambda a:f64[3,2,2] b:f64[3,2,1] . let x = linear_solve a b in (x,) }");
    /* dependent rows; zeros; and a good one between them */
    const double a[] = {1, 2, 2, 4, 2, 0, 0, 4, 0, 0, 0, 0}, b[] = {1, 1, 1, 1, 1, 1};
    double x[6];
    run(f, TN_INPUTS(a, b), TN_OUTPUTS(x));
    assert_true(!isfinite(x[0]) && !isfinite(x[1]) && !isfinite(x[4]) && !isfinite(x[5]));
    close_to(x + 2, P(0.5, 0.25), 2, 0);
    const double nan[] = {1, NAN, 2, 4, 2, 0, 0, 4, 1, 0, 0, 1};
    run(f, TN_INPUTS(nan, b), TN_OUTPUTS(x));
    assert_true(isnan(x[0]) && isnan(x[1]));
    close_to(x + 2, P(0.5, 0.25, 1, 1), 4, 0);
    tn_ctx_free(c);
}

/* What comes from a text or an input need not be a permutation. */
static void no_permutation(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const double lu[] = {2, 1, 0.5, 4}, b[] = {1, 2};
    static const int32_t order[][2] = {{1, 1}, {0, 2}, {-1, 0}, {INT32_MIN, INT32_MAX}};
    for (int transposed = 0; transposed < 2; transposed++) {
        const tn_fn *f = parse(c, transposed ? "{ lambda l:f64[2,2] p:i32[2] b:f64[2,1] . let x = "
                                               "lu_solve[transposed=True] l p b in (x,) }"
                                             : "{ lambda l:f64[2,2] p:i32[2] b:f64[2,1] . let x = "
                                               "lu_solve[transposed=False] l p b in (x,) }");
        for (size_t i = 0; i < COUNT(order); i++) {
            double x[2] = {0, 0};
            run(f, TN_INPUTS(lu, order[i], b), TN_OUTPUTS(x));
            assert_true(isnan(x[0]) && isnan(x[1]));
        }
    }
    tn_ctx_free(c);
}

/* ---- operators --------------------------------------------------------------------------------- */

static tn_val vector(const tn_val *in, void *user) {
    (void)user;
    return tn_solve(in[0], in[1]);
}

static tn_val by_halves(const tn_val *in, void *user) {
    tn_val lu, order;
    (void)user;
    tn_lu(in[0], &lu, NULL, &order);
    return tn_lu_solve(lu, order, in[1], TN_SOLVE_TRANSPOSED);
}

static const double A[] = {0.5, 2, -1, 4, -1, 0.25, -2, 3.5, 8}, B[] = {1, 2, -3};
/* A^-1 B and A'^-1 B, from a rational computation */
static void operators(void **state) {
    (void)state;
    tn_ctx *c = checked();
    double x[3], back[3];
    static const tn_trace_fn f[] = {vector, by_halves};
    for (size_t k = 0; k < COUNT(f); k++) {
        const tn_fn *p = tn_trace(c, f[k], NULL, 2, TN_TYPES(tn_f64(3, 3), tn_f64(3)));
        if (!p) fail_msg("%s", tn_error(c));
        run(p, TN_INPUTS(A, B), TN_OUTPUTS(x));
        for (int i = 0; i < 3; i++) {
            back[i] = 0;
            for (int j = 0; j < 3; j++) back[i] += A[k == 0 ? 3 * i + j : 3 * j + i] * x[j];
        }
        close_to(back, B, 3, 1e-15);
    }
    /* batches of vectors, of one and of no elements */
    const tn_fn *p = tn_trace(c, vector, NULL, 2, TN_TYPES(tn_f64(4, 2, 1, 1), tn_f64(4, 2, 1)));
    const double a[8] = {1, 2, 4, 8, 1, 2, 4, 8}, b[8] = {1, 1, 1, 1, 2, 2, 2, 2};
    double y[8];
    run(p, TN_INPUTS(a, b), TN_OUTPUTS(y));
    close_to(y, P(1, 0.5, 0.25, 0.125, 2, 1, 0.5, 0.25), 8, 0);
    p = tn_trace(c, vector, NULL, 2, TN_TYPES(tn_f32(2, 0, 0), tn_f32(2, 0)));
    const float none[1] = {0};
    float no[1];
    run(p, TN_INPUTS(none, none), TN_OUTPUTS(no));
    run(tn_jvp(p, NULL), TN_INPUTS(none, none, none, none), TN_OUTPUTS(no, no));
    tn_ctx_free(c);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        tn_trace_fn f;
        tn_type a, b;
        const char *why;
    } cases[] = {
        {vector, {.dtype = TN_F64, .rank = 2, .dim = {2, 3}}, {.dtype = TN_F64, .rank = 1, .dim = {2}}, "square"},
        {vector, {.dtype = TN_F64, .rank = 1, .dim = {2}}, {.dtype = TN_F64, .rank = 1, .dim = {2}}, "square"},
        {vector, {.dtype = TN_F64, .rank = 2, .dim = {2, 2}}, {.dtype = TN_F64, .rank = 1, .dim = {3}}, "rows"},
        {vector, {.dtype = TN_F64, .rank = 2, .dim = {2, 2}}, {.dtype = TN_F64, .rank = 0}, "rank 0"},
        {vector, {.dtype = TN_F64, .rank = 2, .dim = {2, 2}}, {.dtype = TN_F64, .rank = 3, .dim = {2, 2, 2}}, "rank 3"},
        {vector, {.dtype = TN_F64, .rank = 2, .dim = {2, 2}}, {.dtype = TN_F32, .rank = 1, .dim = {2}}, "dtype"},
        {vector, {.dtype = TN_I32, .rank = 2, .dim = {2, 2}}, {.dtype = TN_I32, .rank = 1, .dim = {2}}, "i32"},
        {vector, {.dtype = TN_F64, .rank = 3, .dim = {4, 2, 2}}, {.dtype = TN_F64, .rank = 2, .dim = {3, 2}}, "batch"},
        {by_halves, {.dtype = TN_F64, .rank = 2, .dim = {2, 3}}, {.dtype = TN_F64, .rank = 1, .dim = {2}}, "square"},
        {by_halves, {.dtype = TN_F64, .rank = 2, .dim = {2, 2}}, {.dtype = TN_F64, .rank = 1, .dim = {3}}, "rows"},
    };
    tn_ctx *c = checked();
    for (size_t i = 0; i < COUNT(cases); i++) {
        const tn_type in[2] = {cases[i].a, cases[i].b};
        assert_null(tn_trace(c, cases[i].f, NULL, 2, in));
        if (!strstr(tn_error(c), cases[i].why)) fail_msg("\"%s\" does not say \"%s\"", tn_error(c), cases[i].why);
        assert_non_null(strstr(tn_error(c), "solve.c:"));
    }
    tn_ctx_free(c);
}

/* ---- derivatives -------------------------------------------------------------------------------- */

static tn_val energy(const tn_val *in, void *user) { /* |a^-1 b|^2 / 2 */
    (void)user;
    const tn_val x = tn_solve(in[0], in[1]);
    return tn_mul(tn_vdot(x, x), 0.5);
}

/* With x = a^-1 b and y = a'^-1 x: the gradient in b is y, that in a is -y x'. */
static void gradient(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = tn_trace(c, energy, NULL, 2, TN_TYPES(tn_f64(3, 3), tn_f64(3)));
    double x[3], y[3], want[9], ga[9], gb[3];
    run(tn_trace(c, vector, NULL, 2, TN_TYPES(tn_f64(3, 3), tn_f64(3))), TN_INPUTS(A, B), TN_OUTPUTS(x));
    run(tn_trace(c, by_halves, NULL, 2, TN_TYPES(tn_f64(3, 3), tn_f64(3))), TN_INPUTS(A, x), TN_OUTPUTS(y));
    for (int i = 0; i < 9; i++) want[i] = -y[i / 3] * x[i % 3];
    run(tn_grad(f, NULL, NULL), TN_INPUTS(A, B), TN_OUTPUTS(ga, gb));
    close_to(ga, want, 9, 1e-14);
    close_to(gb, y, 3, 1e-14);
    const tn_check_options opt = {.size = sizeof opt, .order = 2};
    if (tn_check_grads(f, TN_INPUTS(A, B), NULL, &opt)) fail_msg("%s", tn_error(c));
    tn_ctx_free(c);
}

/* One factorization, with the primal; the linear half reads it, forth and back, at each policy. */
static void factors_are_kept(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = tn_trace(c, energy, NULL, 2, TN_TYPES(tn_f64(30, 30), tn_f64(30)));
    static const char *const policies[] = {NULL, "everything_saveable", "min_cut", "balanced"};
    assert_int_equal(count(f, "linear_solve"), 1);
    for (size_t i = 0; i < COUNT(policies); i++) {
        const tn_linearized l = tn_linearize(f, NULL, policies[i] ? tn_policy_by_name(policies[i]) : NULL);
        const tn_fn *back = tn_transpose(l.linear);
        assert_non_null(back);
        assert_int_equal(count(l.primal, "lu"), 1);
        assert_int_equal(count(l.linear, "lu") + count(l.linear, "linear_solve"), 0);
        assert_int_equal(count(back, "lu") + count(back, "linear_solve"), 0);
        assert_int_equal(count(back, "lu_solve"), 1);
    }
    const tn_fn *g = tn_value_and_grad(f, NULL, NULL), *h = tn_hvp(f, NULL, NULL);
    assert_int_equal(count(g, "lu") + count(g, "linear_solve"), 1);
    assert_int_equal(count(h, "lu") + count(h, "linear_solve"), 1);
    /* the residuals: the factors, their permutation and the solution, not the matrix */
    const tn_linearized l = tn_linearize(f, NULL, tn_policy_by_name("everything_saveable"));
    assert_int_equal(l.linear->nin - l.linear->nlin, 3);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(tn_i_count(l.linear->val[i].type), i == 0 ? 900 : 30);
    tn_ctx_free(c);
}

/* A program that is linear in b needs no derivative to be transposed. */
static void transposes(void **state) {
    (void)state;
    tn_ctx *c = checked();
    const tn_fn *f = parse(c, "{ lambda a:f64[3,3] | b:f64[3,1] . let x = linear_solve a b in (x,) }"),
                *t = tn_transpose(f);
    double x[3], want[3];
    run(t, TN_INPUTS(A, B), TN_OUTPUTS(x));
    run(tn_trace(c, by_halves, NULL, 2, TN_TYPES(tn_f64(3, 3), tn_f64(3))), TN_INPUTS(A, B), TN_OUTPUTS(want));
    close_to(x, want, 3, 1e-15);
    static const char bad[] = "{ lambda b:f64[3,1] | a:f64[3,3] . let x = linear_solve a b in (x,) }";
    assert_null(tn_fn_parse(c, bad, strlen(bad), "test.tn"));
    assert_int_equal(tn_last_status(c), TN_ELINEAR);
    tn_ctx_free(c);
}

/* Many right-hand sides against one matrix are one solve with more columns. */
static void batch_becomes_columns(void **state) {
    (void)state;
    static const char *const texts[] = {
        "{ lambda a:f64[4,4] b:f64[4,2] . let x = linear_solve a b in (x,) }",
        "{ lambda a:f64[4,4] b:f64[4,2] . let p = iota[dtype=i32 shape=(4,) dimension=0] x = lu_solve[transposed=True] "
        "a p b in (x,) }"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        tn_ctx *c = checked();
        const tn_fn *g = tn_vmap(parse(c, texts[i]), 9, (const int[]){TN_NOT_MAPPED, 0}, NULL);
        char *text = g ? tn_fn_print(g, NULL) : NULL;
        if (!text || !strstr(text, i ? "f64[4,18] = lu_solve" : "f64[4,18] = linear_solve"))
            fail_msg("%s", text ? text : tn_error(c));
        tn_text_free(c, text);
        tn_ctx_free(c);
    }
}

/* l u = a[permutation] of matrices with more rows than columns, or fewer; panels on both sides. */
static tn_val whole(const tn_val *in, void *user) {
    tn_val lu, order;
    const tn_type t = tn_val_type(in[0]);
    const int64_t k = t.dim[0] < t.dim[1] ? t.dim[0] : t.dim[1];
    tn_ctx *c = tn_val_ctx(in[0]);
    (void)user;
    tn_lu(in[0], &lu, NULL, &order);
    const tn_val row = tn_iota(c, tn_type_of(TN_I64, 2, t.dim), 0),
                 column = tn_iota(c, tn_type_of(TN_I64, 2, t.dim), 1);
    const tn_val l = tn_where(tn_gt(row, column), lu, tn_convert(tn_eq(row, column), TN_F64));
    const tn_val u = tn_where(tn_le(row, column), lu, 0.0);
    const tn_val a = tn_slice_axis(l, 0, k, 1, 1);
    const tn_val b = tn_slice_axis(u, 0, k, 1, 0);
    return tn_max(tn_abs(tn_sub(tn_matmul(a, b), tn_take(in[0], order, 0))));
}

static void rectangles(void **state) {
    (void)state;
    static const int64_t size[][2] = {{1, 5},    {5, 1},    {130, 40}, {40, 130},
                                      {200, 65}, {65, 200}, {64, 128}, {300, 299}};
    for (size_t k = 0; k < COUNT(size); k++) {
        tn_ctx *c = checked();
        const tn_fn *f = tn_trace(c, whole, NULL, 1, TN_TYPES(tn_f64(size[k][0], size[k][1])));
        if (!f) fail_msg("%s", tn_error(c));
        uint64_t seed = k;
        double *a = calloc((size_t)(size[k][0] * size[k][1]), sizeof *a), most;
        assert_non_null(a);
        for (int64_t i = 0; i < size[k][0] * size[k][1]; i++) a[i] = number(&seed);
        run(f, TN_INPUTS(a), TN_OUTPUTS(&most));
        assert_true(most <= 1e-13);
        free(a);
        tn_ctx_free(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves),         cmocka_unit_test(solves_transposed),
        cmocka_unit_test(factors),        cmocka_unit_test(singular),
        cmocka_unit_test(no_permutation), cmocka_unit_test(operators),
        cmocka_unit_test(rectangles),     cmocka_unit_test(refused),
        cmocka_unit_test(gradient),       cmocka_unit_test(factors_are_kept),
        cmocka_unit_test(transposes),     cmocka_unit_test(batch_becomes_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
