/* Operators of complex matrices: what each promises of matrices of every size, dtype and batch; phases; derivatives
 * beside differences; triangular systems with diagonals of every magnitude; what is refused. */
#include "prims/linear/lapack.h"
#include "tansy/complex.h"
#include "tansy/ops.h"
#include "unit/tracing.h"

#include <complex.h>
#include <float.h>

enum { ROWS = 21, BATCH = 2, MOST = BATCH * ROWS * ROWS * 2 };

/* ---- residuals ------------------------------------------------------------------------------------------ */

static tn_complex adjoint(tn_complex z) {
    const tn_complex t = {tn_swapaxes(z.re, -1, -2), tn_swapaxes(z.im, -1, -2)};
    return tn_conj(t);
}

static tn_val apart(tn_complex z, tn_complex w) { return tn_max(tn_abs(tn_complex_pairs(tn_csub(z, w)))); }

static tn_complex each(tn_complex z, tn_val (*f)(tn_val)) {
    const tn_complex y = {f(z.re), f(z.im)};
    return y;
}

static tn_val lower(tn_val x) { return tn_tril(x, 0); }
static tn_val upper(tn_val x) { return tn_triu(x, 0); }
static tn_val below(tn_val x) { return tn_tril(x, -1); }
static tn_val above(tn_val x) { return tn_triu(x, 1); }

static tn_val zero_like(tn_val x) { return tn_sub(x, x); }

/* Ones on the diagonal of x's shape. */
static tn_complex one_like(tn_complex z) {
    const tn_type t = tn_val_type(z.re);
    const tn_val eye = tn_eye(tn_val_ctx(z.re), (tn_dtype)t.dtype, t.dim[t.rank - 2], t.dim[t.rank - 1]);
    const tn_complex y = {tn_add(zero_like(z.re), eye), zero_like(z.re)};
    return y;
}

static tn_complex column_of(tn_complex z) {
    const tn_complex y = {tn_sum_axis(z.re, -1), tn_sum_axis(z.im, -1)};
    return y;
}

/* z v of vectors [.., n] */
static tn_complex times(tn_complex z, tn_complex v) {
    const tn_complex column = {tn_expand_dims(v.re, -1), tn_expand_dims(v.im, -1)}, y = tn_cmatmul(z, column);
    return (tn_complex){tn_squeeze(y.re, -1), tn_squeeze(y.im, -1)};
}

/* z diag(w), for real w [.., n] */
static tn_complex scaled(tn_complex z, tn_val w) {
    const tn_val row = tn_expand_dims(w, -2);
    const tn_complex y = {tn_mul(z.re, row), tn_mul(z.im, row)};
    return y;
}

static tn_complex at_rows(tn_complex z, tn_val rows) {
    const tn_val index = tn_expand_dims(rows, -1);
    const tn_complex y = {tn_take_along(z.re, index, -2), tn_take_along(z.im, index, -2)};
    return y;
}

static tn_complex regular(tn_complex a) { return tn_cadd(a, tn_cmul(one_like(a), tn_complex_of(3.0, 1.0))); }
static tn_complex hermitian(tn_complex a) { return tn_cadd(tn_cmatmul(a, adjoint(a)), one_like(a)); }

/* a [.., n, n] -> how far each promise is from true */
static void systems(const tn_val *in, tn_val *far, void *user) {
    (void)user;
    const tn_complex a = tn_complex_from(in[0]), b = tn_csub(a, adjoint(a)), h = hermitian(a), v = column_of(b);
    const tn_complex l = tn_ccholesky(h), m = regular(a);
    far[0] = apart(tn_cmatmul(l, adjoint(l)), h);
    far[1] = apart(l, each(l, lower));
    far[2] = apart(tn_cmatmul(h, tn_ccholesky_solve(l, b)), b);
    far[3] = apart(times(h, tn_ccholesky_solve(l, v)), v);
    tn_complex lu;
    tn_val pivots, permutation;
    tn_clu(a, &lu, &pivots, &permutation);
    far[4] = apart(tn_cmatmul(tn_cadd(each(lu, below), one_like(lu)), each(lu, upper)), at_rows(a, permutation));
    tn_clu(m, &lu, NULL, &permutation);
    const tn_complex t = {tn_swapaxes(m.re, -1, -2), tn_swapaxes(m.im, -1, -2)};
    far[5] = apart(tn_cmatmul(m, tn_clu_solve(lu, permutation, b, 0)), b);
    far[6] = apart(tn_cmatmul(t, tn_clu_solve(lu, permutation, b, TN_SOLVE_TRANSPOSED)), b);
    far[7] = apart(times(tn_conj(m), tn_clu_solve(lu, permutation, v, TN_SOLVE_CONJUGATED)), v);
    far[8] =
        apart(tn_cmatmul(adjoint(m), tn_clu_solve(lu, permutation, b, TN_SOLVE_TRANSPOSED | TN_SOLVE_CONJUGATED)), b);
    far[9] = apart(tn_cmatmul(tn_cinverse(m), m), one_like(m));
    tn_complex sign;
    tn_val logs, scale;
    tn_cslogdet(m, &sign, &logs);
    scale = tn_exp(logs);
    const tn_complex det = tn_cdet(m), by_logs = {tn_mul(sign.re, scale), tn_mul(sign.im, scale)};
    const tn_complex product = tn_cmul(tn_cdet(adjoint(m)), det), square = {tn_mul(scale, scale), zero_like(scale)};
    far[10] = tn_max(tn_div(tn_cabs(tn_csub(det, by_logs)), scale));
    far[11] = tn_max(tn_div(tn_cabs(tn_csub(product, square)), tn_mul(scale, scale)));
    far[12] = tn_max(tn_abs(tn_sub(tn_cabs(sign), 1.0)));
    const tn_complex real = tn_complex_of(tn_add(m.re, one_like(m).re), 0.0); /* a part may be a number */
    far[13] = apart(tn_cmatmul(tn_cinverse(real), tn_csub(real, tn_complex_of(zero_like(m.re), zero_like(m.re)))),
                    one_like(m));
}

/* All 32 ways that a triangular matrix stands. */
static void triangles(const tn_val *in, tn_val *far, void *user) {
    (void)user;
    const tn_complex a = tn_complex_from(in[0]), m = regular(tn_cmul(a, tn_complex_of(0.25, 0.0))), b = adjoint(a);
    for (int how = 0; how < 32; how++) {
        tn_complex t = each(m, how & TN_SOLVE_UPPER ? upper : lower);
        if (how & TN_SOLVE_UNIT_DIAGONAL) t = tn_cadd(each(m, how & TN_SOLVE_UPPER ? above : below), one_like(m));
        if (how & TN_SOLVE_TRANSPOSED) t.re = tn_swapaxes(t.re, -1, -2), t.im = tn_swapaxes(t.im, -1, -2);
        if (how & TN_SOLVE_CONJUGATED) t = tn_conj(t);
        const tn_complex x = tn_ctriangular_solve(m, b, how), y = tn_ctriangular_solve(m, column_of(b), how);
        const tn_complex again = how & TN_SOLVE_RIGHT ? tn_cmatmul(x, t) : tn_cmatmul(t, x);
        const tn_complex row = {tn_expand_dims(y.re, -2), tn_expand_dims(y.im, -2)};
        const tn_complex by = tn_cmatmul(row, t);
        const tn_complex vector = {tn_squeeze(by.re, -2), tn_squeeze(by.im, -2)};
        far[how] = tn_maximum(apart(again, b), apart(how & TN_SOLVE_RIGHT ? vector : times(t, y), column_of(b)));
    }
}

/* Columns' first element of at least half the largest magnitude is real and positive: how far from that. */
static tn_val turned(tn_complex v) {
    const tn_val size = tn_cabs(v), most = tn_expand_dims(tn_max_axis(size, -2), -2);
    const tn_val large = tn_ge(size, tn_mul(most, 0.4999));
    const tn_val first = tn_eq(tn_cumsum(tn_convert(large, TN_I32), -2), 1);
    const tn_val here = tn_and(large, first);
    return tn_max(tn_where(here, tn_maximum(tn_abs(v.im), tn_neg(v.re)), 0.0));
}

static void decompositions(const tn_val *in, tn_val *far, void *user) {
    const tn_factors how = *(const tn_factors *)user;
    const tn_complex a = tn_complex_from(in[0]), z = tn_complex_from(in[1]), h = tn_cadd(a, adjoint(a));
    tn_complex v, q, r, u, vt, w, t;
    tn_val real, s;
    tn_ceigh(h, &real, &v);
    far[0] = apart(tn_cmatmul(h, v), scaled(v, real));
    far[1] = apart(tn_cmatmul(adjoint(v), v), one_like(v));
    far[2] = turned(v);
    far[3] = tn_max(tn_abs(tn_sub(tn_ceigvalsh(h), real)));
    tn_cqr(z, how, &q, &r);
    far[4] = apart(tn_cmatmul(q, r), z);
    far[5] = apart(tn_cmatmul(adjoint(q), q), one_like(tn_cmatmul(adjoint(q), q)));
    far[6] = apart(r, each(r, upper));
    tn_csvd(z, how, &u, &s, &vt);
    const int64_t k = tn_val_type(s).dim[tn_val_type(s).rank - 1];
    const tn_val rows = tn_arange(tn_val_ctx(u.re), TN_I32, k);
    const tn_complex left = {tn_take(u.re, rows, 1), tn_take(u.im, rows, 1)};
    const tn_complex right = {tn_take(vt.re, rows, 1), tn_take(vt.im, rows, 1)};
    far[7] = apart(tn_cmatmul(scaled(left, s), right), z);
    far[8] = apart(tn_cmatmul(adjoint(u), u), one_like(tn_cmatmul(adjoint(u), u)));
    far[9] = apart(tn_cmatmul(vt, adjoint(vt)), one_like(tn_cmatmul(vt, adjoint(vt))));
    far[10] = turned(u);
    const tn_complex p = tn_cpinv(z), zp = tn_cmatmul(z, p);
    far[11] = apart(tn_cmatmul(zp, z), z);
    far[12] = apart(zp, adjoint(zp));
    far[13] = apart(tn_clstsq(z, z), tn_cmatmul(p, z));
    far[14] = apart(tn_clstsq(z, column_of(z)), times(p, column_of(z)));
    tn_ceig(a, &w, &v);
    const tn_complex row = {tn_expand_dims(w.re, -2), tn_expand_dims(w.im, -2)};
    far[15] = apart(tn_cmatmul(a, v), tn_cmul(v, row));
    far[16] = turned(v);
    far[17] = apart(tn_ceigvals(a), w);
    tn_cschur(a, &t, &q);
    far[18] = apart(tn_cmatmul(tn_cmatmul(q, t), adjoint(q)), a);
    far[19] = apart(t, each(t, upper));
    far[20] = turned(q);
    tn_val rt, rq;
    tn_schur(z.re, &rt, &rq);
    far[21] = tn_max(tn_abs(tn_sub(tn_matmul(tn_matmul(rq, rt), tn_swapaxes(rq, -1, -2)), z.re)));
    far[22] = tn_max(tn_abs(tn_tril(rt, -2)));
    tn_complex only;
    tn_cschur(a, &only, NULL);
    far[23] = apart(only, t);
    tn_csvd(z, how, NULL, &real, NULL);
    far[24] = tn_max(tn_abs(tn_sub(real, s)));
}

static double numbers[MOST], more[MOST];
static float narrow_numbers[MOST], narrow_more[MOST];

static void fill(void) {
    for (int i = 0; i < MOST; i++) {
        numbers[i] = sin(3.0 * (double)((int64_t)i * i % 1009) + i);
        more[i] = cos(2.0 * (double)((int64_t)i * i % 997) - i);
        narrow_numbers[i] = (float)numbers[i];
        narrow_more[i] = (float)more[i];
    }
}

static void near_zero(tn_ctx *c, const tn_fn *f, bool wide, double epsilon) {
    static double far[40];
    static float narrow_far[40];
    void *out[40];
    if (!f) fail_msg("%s", tn_error(c));
    for (int j = 0; j < 40; j++) out[j] = wide ? (void *)&far[j] : (void *)&narrow_far[j];
    run(f, wide ? (const void *[]){numbers, more} : (const void *[]){narrow_numbers, narrow_more}, out);
    for (size_t j = 0; j < tn_fn_outputs(f); j++) {
        const double x = wide ? far[j] : (double)narrow_far[j];
        if (!(x <= epsilon)) fail_msg("promise %zu is off by %g, more than %g", j, x, epsilon);
    }
}

static void promises(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 8, ROWS};
    fill();
    for (size_t i = 0; i < 2 * COUNT(sizes); i++) {
        const int64_t n = sizes[i / 2];
        const bool wide = i % 2;
        const tn_type t = wide ? tn_f64(BATCH, n, n, 2) : tn_f32(BATCH, n, n, 2);
        const double epsilon = (wide ? DBL_EPSILON : FLT_EPSILON) * 400 * (double)(n * n + 4);
        tn_ctx *c = checked();
        near_zero(c, tn_trace_many(c, systems, NULL, 1, &t, 14), wide, epsilon);
        near_zero(c, tn_trace_many(c, triangles, NULL, 1, &t, 32), wide, epsilon);
        tn_ctx_free(c);
    }
}

static void factors(void **state) {
    (void)state;
    static const int64_t rows[] = {1, 3, 2, 7, ROWS};
    fill();
    for (size_t i = 0; i < 4 * COUNT(rows); i++) {
        tn_factors how = i / 2 % 2 ? TN_FACTORS_FULL : TN_FACTORS_REDUCED;
        const int64_t n = rows[i / 4];
        const bool wide = i % 2;
        const tn_type t[2] = {wide ? tn_f64(n, n, 2) : tn_f32(n, n, 2), wide ? tn_f64(n, n, 2) : tn_f32(n, n, 2)};
        tn_ctx *c = checked();
        near_zero(c, tn_trace_many(c, decompositions, &how, 2, t, 25), wide,
                  (wide ? DBL_EPSILON : FLT_EPSILON) * 400 * (double)(n * n + 4));
        tn_ctx_free(c);
    }
}

/* ---- derivatives ------------------------------------------------------------------------------------------ */

static tn_val weighed(tn_val x) {
    const tn_type t = tn_val_type(x);
    int64_t n = 1;
    for (int d = 0; d < t.rank; d++) n *= t.dim[d];
    const tn_val flat = tn_reshape_at(x, tn_ints_of(1, &n), __FILE__, __LINE__);
    return tn_sum(tn_mul(flat, tn_cos(tn_arange(tn_val_ctx(x), TN_F64, n))));
}
static tn_val of_both(tn_complex z) { return tn_add(weighed(z.re), tn_mul(weighed(z.im), 0.7)); }

typedef struct derived {
    const char *name;
    tn_val (*f)(tn_complex a);
    int order;
    bool lapack;
} derived;

static tn_val by_cholesky(tn_complex a) { return of_both(tn_ccholesky_solve(tn_ccholesky(hermitian(a)), a)); }
static tn_val by_triangles(tn_complex a) {
    const tn_complex m = regular(a);
    const tn_complex x = tn_ctriangular_solve(m, a, TN_SOLVE_UPPER | TN_SOLVE_CONJUGATED);
    return of_both(tn_ctriangular_solve(m, x, TN_SOLVE_RIGHT | TN_SOLVE_TRANSPOSED));
}
static tn_val by_lu(tn_complex a) {
    const tn_complex m = regular(a);
    tn_complex lu;
    tn_val permutation;
    tn_clu(m, &lu, NULL, &permutation);
    return tn_add(of_both(tn_clu_solve(lu, permutation, a, TN_SOLVE_TRANSPOSED)), of_both(lu));
}
static tn_val by_det(tn_complex a) {
    tn_complex sign;
    tn_val logs;
    tn_cslogdet(regular(a), &sign, &logs);
    return tn_add(tn_add(logs, of_both(sign)), tn_mul(of_both(tn_cdet(regular(a))), 0.01));
}
static tn_val by_inverse(tn_complex a) { return of_both(tn_cinverse(regular(a))); }
static tn_val by_eigh(tn_complex a) {
    tn_val w;
    tn_complex v;
    tn_ceigh(tn_cadd(a, adjoint(a)), &w, &v);
    return tn_add(of_both(v), weighed(w));
}
static tn_val by_eig(tn_complex a) {
    tn_complex w, v;
    tn_ceig(a, &w, &v);
    return tn_add(of_both(v), of_both(w));
}
static tn_val by_qr(tn_complex a) {
    tn_complex q, r;
    tn_cqr(a, TN_FACTORS_REDUCED, &q, &r);
    return tn_add(of_both(q), of_both(r));
}
static tn_val by_svd(tn_complex a) {
    tn_complex u, vt;
    tn_val s;
    tn_csvd(a, TN_FACTORS_REDUCED, &u, &s, &vt);
    return tn_add(weighed(s), tn_add(of_both(u), of_both(vt)));
}
static tn_val by_pinv(tn_complex a) { return of_both(tn_clstsq(a, tn_cmul(a, a))); }

static tn_val of_derived(const tn_val *in, void *user) { return ((const derived *)user)->f(tn_complex_from(in[0])); }

static void derivatives(void **state) {
    (void)state;
    static derived all[] = {{"cholesky", by_cholesky, 2, false},
                            {"triangular_solve", by_triangles, 2, false},
                            {"lu", by_lu, 2, false},
                            {"det", by_det, 2, false},
                            {"inverse", by_inverse, 2, false},
                            {"eigh", by_eigh, 1, true},
                            {"eig", by_eig, 1, true},
                            {"qr", by_qr, 2, true},
                            {"svd", by_svd, 1, true},
                            {"lstsq", by_pinv, 2, true}};
    fill();
    for (size_t i = 0; i < COUNT(all); i++) {
        if (all[i].lapack && !tn_i_lapack_linked()) continue;
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, of_derived, &all[i], 1, (tn_type[]){tn_f64(3, 3, 2)});
        const tn_check_options opt = {.size = sizeof opt, .order = all[i].order};
        const void *x[] = {numbers};
        if (!f || tn_check_grads(f, x, NULL, &opt) != TN_OK) fail_msg("%s: %s", all[i].name, tn_error(c));
        tn_fn_free(f);
        tn_ctx_free(c);
    }
}

/* ---- magnitudes --------------------------------------------------------------------------------------------- */

typedef long double complex exact;
enum { LARGE = 40 };

static tn_val solved(const tn_val *in, void *user) {
    return tn_complex_pairs(tn_ctriangular_solve(tn_complex_from(in[0]), tn_complex_from(in[1]), *(const int *)user));
}

/* A system with diagonals of such a magnitude and rows that stand beside them, against substitution in long double,
 * which reaches further.  Rows of one size have solutions of one size. */
static void of_magnitude(long double size, int64_t n, int64_t m, int how, bool wide) {
    static double a[LARGE][LARGE][2], b[LARGE][LARGE][2];
    static float fa[LARGE * LARGE * 2], fb[LARGE * LARGE * 2], fx[LARGE * LARGE * 2];
    static exact z[LARGE][LARGE], l[LARGE][LARGE];
    const bool is_upper = how & TN_SOLVE_UPPER;
    for (int64_t i = 0; i < n; i++) {
        /* rows take turns: some are of size 1 */
        const long double row = i % 3 == 2 ? 1 : size;
        for (int64_t j = 0; j < n; j++)
            for (int p = 0; p < 2; p++) {
                const long double k =
                    i == j ? 1 + 0.5L * sinl((long double)(i + 3 * p + 1)) : 0.05L * cosl(i + 2 * j + p);
                const long double value = row * k * (p && i % 2 ? -1 : 1);
                a[i][j][p] = wide ? (double)value : (double)(float)value;
            }
        for (int64_t j = 0; j < m; j++)
            for (int p = 0; p < 2; p++) {
                const long double value = row * cosl((long double)(3 * i + 5 * j + p));
                b[i][j][p] = wide ? (double)value : (double)(float)value;
            }
    }
    const size_t nb = (size_t)(n * m);
    static double da[LARGE * LARGE * 2], db[LARGE * LARGE * 2], dx[LARGE * LARGE * 2];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int p = 0; p < 2; p++)
                da[(i * n + j) * 2 + p] = a[i][j][p], fa[(i * n + j) * 2 + p] = (float)a[i][j][p];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            for (int p = 0; p < 2; p++)
                db[(i * m + j) * 2 + p] = b[i][j][p], fb[(i * m + j) * 2 + p] = (float)b[i][j][p];
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = is_upper ? n - 1 - k : k;
        for (int64_t j = 0; j < n; j++) l[i][j] = (exact)a[i][j][0] + I * (exact)a[i][j][1];
        for (int64_t j = 0; j < m; j++) {
            exact sum = (exact)b[i][j][0] + I * (exact)b[i][j][1];
            for (int64_t q = is_upper ? i + 1 : 0; q < (is_upper ? n : i); q++) sum -= l[i][q] * z[q][j];
            z[i][j] = sum / l[i][i];
        }
    }
    tn_ctx *c = checked();
    const tn_type t[2] = {wide ? tn_f64(n, n, 2) : tn_f32(n, n, 2), wide ? tn_f64(n, m, 2) : tn_f32(n, m, 2)};
    tn_fn *f = tn_trace(c, solved, &how, 2, t);
    if (!f) fail_msg("%s", tn_error(c));
    run(f, wide ? (const void *[]){da, db} : (const void *[]){fa, fb}, (void *[]){wide ? (void *)dx : (void *)fx});
    for (size_t k = 0; k < nb; k++) {
        const exact want = z[k / (size_t)m][k % (size_t)m];
        const exact got =
            wide ? (exact)dx[2 * k] + I * (exact)dx[2 * k + 1] : (exact)fx[2 * k] + I * (exact)fx[2 * k + 1];
        if (!(cabsl(got - want) <= 50 * (wide ? DBL_EPSILON : FLT_EPSILON)))
            fail_msg("size %Lg, %d rows, %d: element %zu is (%Lg, %Lg), not (%Lg, %Lg)", size, (int)n, how, k,
                     creall(got), cimagl(got), creall(want), cimagl(want));
    }
    tn_fn_free(f);
    tn_ctx_free(c);
}

static void magnitudes(void **state) {
    (void)state;
    static const long double wide[] = {0x1p-1070L, 1e-320L, 1e-309L, 1e-308L, 1e-300L,
                                       1e-160L,    1,       1e160L,  1e300L,  8e307L};
    static const long double narrow[] = {0x1p-146L, 1e-42L, 1e-39L, 1e-38L, 1e-30L, 1, 1e30L, 1.5e38L};
    static const int64_t shapes[][2] = {{1, 1}, {3, 1}, {5, 4}, {LARGE, LARGE}};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int how = 0; how < 4; how += 2)
            for (size_t i = 0; i < COUNT(wide) + COUNT(narrow); i++) {
                const bool is_wide = i < COUNT(wide);
                of_magnitude(is_wide ? wide[i] : narrow[i - COUNT(wide)], shapes[s][0], shapes[s][1], how / 2, is_wide);
            }
}

/* ---- refusals ------------------------------------------------------------------------------------------------- */

static tn_val refused(const tn_val *in, void *user) {
    const tn_complex a = tn_complex_from(in[0]), b = tn_complex_from(in[1]);
    const tn_val i = tn_convert(tn_sum_axes(tn_abs(in[0]), tn_ints(-1, -2)), TN_I32);
    tn_complex q;
    switch (*(const int *)user) {
    case 0: return tn_ccholesky(b).re;
    case 1: return tn_ctriangular_solve(b, b, 0).re;
    case 2: return tn_ctriangular_solve(a, a, 32).re;
    case 3: return tn_ctriangular_solve(a, b, TN_SOLVE_RIGHT).re;
    case 4: return tn_clu_solve(a, i, a, TN_SOLVE_UPPER).re;
    case 5: return tn_clu_solve(a, tn_convert(i, TN_F64), a, 0).re;
    case 6: return tn_cdet(b).re;
    case 7: return tn_cinverse(b).re;
    case 8: return tn_ccholesky(tn_complex_of(a.re, b.re)).re;
    case 9: tn_cqr(a, (tn_factors)7, &q, NULL); return q.re;
    case 10: tn_csvd(a, (tn_factors)7, &q, NULL, NULL); return q.re;
    case 11: return tn_ceigvals(b).re;
    case 12: return tn_ceigvalsh(b);
    case 13: tn_cschur(b, &q, NULL); return q.re;
    case 14: return tn_clstsq(a, tn_complex_of(tn_sum(a.re), tn_sum(a.im))).re;
    case 15: return tn_ctriangular_solve(a, tn_complex_of(tn_convert(a.re, TN_F32), tn_convert(a.im, TN_F32)), 0).re;
    case 16: return tn_cpinv(tn_complex_of(i, i)).re;
    default: return tn_cdet(tn_complex_of(tn_sum(a.re), tn_sum(a.im))).re;
    }
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *says;
        tn_status status;
    } rows[] = {{"ccholesky: operand 0: needs square matrices", TN_ETYPE},
                {"ctriangular_solve: operand 0: needs square matrices", TN_ETYPE},
                {"ctriangular_solve: how is 32", TN_EINVAL},
                {"ctriangular_solve: operand 2: has 3 equations where operand 0 has 2", TN_ETYPE},
                {"clu_solve: how is 1", TN_EINVAL},
                {"clu_solve: operand 4: should be the permutation", TN_ETYPE},
                {"cdet: operand 0: needs square matrices", TN_ETYPE},
                {"cinverse: operand 0: needs square matrices", TN_ETYPE},
                {"ccholesky: ", TN_ETYPE},
                {"cqr: how is 7", TN_EINVAL},
                {"csvd: how is 7", TN_EINVAL},
                {"ceigvals: operand 0: needs square matrices", TN_ETYPE},
                {"ceigvalsh: operand 0: needs square matrices", TN_ETYPE},
                {"cschur: operand 0: needs square matrices", TN_ETYPE},
                {"clstsq: operand 2: has rank 0: vectors have 1, matrices 2", TN_ETYPE},
                {"ctriangular_solve: ", TN_ETYPE},
                {"cpinv: ", TN_ETYPE},
                {"cdet: operand 0: needs square matrices", TN_ETYPE}};
    for (int i = 0; i < (int)COUNT(rows); i++) {
        tn_ctx *c = checked();
        tn_fn *f = tn_trace(c, refused, &i, 2, (tn_type[]){tn_f64(2, 2, 2), tn_f64(2, 3, 2)});
        if (f || tn_last_status(c) != rows[i].status || !strstr(tn_error(c), rows[i].says))
            fail_msg("row %d: %s", i, f ? "is taken" : tn_error(c));
        tn_ctx_free(c);
    }
}

static tn_val schur_of(const tn_val *in, void *user) {
    tn_complex t;
    tn_cschur(tn_complex_from(in[0]), &t, NULL);
    return (void)user, tn_sum(t.re);
}

static void without_derivative(void **state) {
    (void)state;
    tn_ctx *c = checked();
    tn_fn *f = tn_trace(c, schur_of, NULL, 1, (tn_type[]){tn_f64(3, 3, 2)});
    assert_non_null(f);
    assert_null(tn_grad(f, NULL, NULL));
    assert_int_equal(tn_last_status(c), TN_ERULE);
    tn_fn_free(f);
    tn_ctx_free(c);
}

int main(void) {
    const struct CMUnitTest with[] = {cmocka_unit_test(promises),    cmocka_unit_test(factors),
                                      cmocka_unit_test(derivatives), cmocka_unit_test(magnitudes),
                                      cmocka_unit_test(refusals),    cmocka_unit_test(without_derivative)};
    const struct CMUnitTest none[] = {cmocka_unit_test(promises), cmocka_unit_test(derivatives),
                                      cmocka_unit_test(magnitudes), cmocka_unit_test(refusals)};
    return tn_i_lapack_linked() ? cmocka_run_group_tests(with, NULL, NULL) : cmocka_run_group_tests(none, NULL, NULL);
}
