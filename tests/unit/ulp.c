/* How far functions of vectors are from exact, in ulp, on every instruction set that is here: at most what
 * docs/execution.md promises.  What is exact is long double for f64 and double for f32. */
#include "prims/ids.h"
#include "prims/scalar/special.h"
#include "vec/vec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20011, TILE = 487 };

typedef struct function {
    const char *name; /* of f64 */
    long double (*of)(long double);
    long double (*of2)(long double, long double);
    double lo, hi;   /* where it is sampled evenly */
    double bound[2]; /* ulp, of f64 and f32, as documented */
    /* of some */
    double lo2, hi2; /* where its second operand is */
    bool whole;      /* half of its first operands are whole numbers */
    double alone;    /* its bound as function of one number, if it is not 3 */
    /* the number whose ulp are meant, where terms cancel */
    long double (*scale)(long double);
    long double (*scale2)(long double, long double);
    /* of three operands, the last from 0 to 1 */
    long double (*of3)(long double, long double, long double);
    long double (*scale3)(long double, long double, long double);
} function;

static long double logistic(long double x) { return 1 / (1 + expl(-x)); }

/* DLMF 5.11.2, from 30 on; near its root Taylor's series. */
static long double pi_cot_pi(long double x) {
    static const long double pi = 3.14159265358979323846264338327950288L;
    return pi / tanl(pi * (x - rintl(x)));
}
static long double digamma(long double x) {
    static const long double c[] = {1.0L / 12, -1.0L / 120, 1.0L / 252, -1.0L / 240, 1.0L / 132, -691.0L / 32760};
    static const long double near[] = {0.96767224544762117042744476170965L, -0.44276316898359210609286528185251L,
                                       0.25849976095565101062440138570095L, -0.16394270544240652750425129274666L,
                                       0.10782405069126236575718294886676L, -0.07219956125641471092612178360511L,
                                       0.04880428816414310722509252550791L, -0.03316112647484735929225839840448L};
    const long double past = (x - 0x1.762d86356be3fp+0L) - 9.54999542996569771518419907597e-17L;
    long double sum = 0, power = 1;
    if (fabsl(past) < 1e-3L) {
        for (int i = 8; i-- > 0;) sum = (sum + near[i]) * past;
        return sum;
    }
    if (x == floorl(x) && x <= 0) return NAN;
    if (x < 0) return digamma(1 - x) - pi_cot_pi(x);
    for (; x < 30; x++) sum -= 1 / x;
    for (int i = 0; i < 6; i++) sum -= c[i] * (power /= x * x);
    return sum + (logl(x) - 0.5L / x);
}
static long double digamma_scale(long double x) {
    return x < 0 ? fmaxl(fabsl(digamma(1 - x)), fabsl(pi_cot_pi(x))) : digamma(x);
}

/* One step of Newton's, on the side where nothing cancels. */
static long double erf_inv(long double x) {
    const long double a = fabsl(x), y = tn_i_erf_inv((double)a);
    if (!(a < 1) || a == 0) return tn_i_erf_inv((double)x);
    const long double miss = a < 0.5L ? erfl(y) - a : (1 - a) - erfcl(y);
    return copysignl(y - miss * 0.88622692545275801364908374167057259L * expl(y * y), x);
}

/* DLMF 10.25.2, whose terms are positive, and from 30 on Hankel's expansion, 10.40.1. */
static long double bessel(int order, long double x) {
    static const long double two_pi = 6.28318530717958647692528676655900577L;
    const long double y = fabsl(x);
    long double term = 1, sum = 1;
    if (isnan(x)) return x;
    if (y < 30) {
        for (int k = 1; k < 150; k++) sum += term *= y * y / (4 * k * (k + order));
        return sum * expl(-y) * (order ? y / 2 : 1);
    }
    for (int k = 1; k < 40; k++) {
        term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * y);
        sum += term;
    }
    return sum / sqrtl(two_pi * y);
}
static long double bessel_i0e(long double x) { return bessel(0, x); }
static long double bessel_i1e(long double x) { return copysignl(bessel(1, x), x); }

/* As DLMF 25.11.7, behind 24 terms, x > 0. */
static long double zeta_above(long double s, long double x) {
    static const long double c[] = {1.0L / 12,         -1.0L / 720,     1.0L / 30240,
                                    -1.0L / 1209600,   1.0L / 47900160, -691.0L / 1307674368000,
                                    1.0L / 74724249600};
    const long double a = x + 24;
    long double sum = 0, term = s / a;
    for (int j = 0; j < 7; j++) {
        sum += c[j] * term;
        term *= (s + 2 * j + 1) / a * ((s + 2 * j + 2) / a);
    }
    sum = powl(a, -s) * (a / (s - 1) + 0.5L + sum);
    for (int k = 24; k-- > 0;) sum += powl(x + k, -s);
    return sum;
}
static bool is_plain(long double s, long double x) {
    return s > 1 && s <= 64 && (x > 0 || (x != floorl(x) && s == floorl(s))) && x > -1e15L && x < 1e30L &&
           fabsl(x) > 1e-60L;
}
static long double zeta_sum(long double s, long double x, bool largest) {
    if (!is_plain(s, x)) return tn_i_zeta((double)s, (double)x);
    if (x > 0) return zeta_above(s, x);
    const long double above = zeta_above(s, x - floorl(x));
    const long double below = zeta_above(s, ceill(x) - x) - zeta_above(s, 1 - x);
    return largest ? fmaxl(above, below) : above + (fmodl(s, 2) == 0 ? below : -below);
}
static long double zeta(long double s, long double x) { return zeta_sum(s, x, false); }
static long double zeta_scale(long double s, long double x) { return zeta_sum(s, x, true); }
static long double polygamma_of(long double n, long double x, bool largest) {
    if (!is_plain(n + 1, x) || n != floorl(n) || n > 22) return tn_i_polygamma((double)n, (double)x);
    return (fmodl(n, 2) == 0 ? -1 : 1) * tgammal(n + 1) * zeta_sum(n + 1, x, largest);
}
static long double polygamma(long double n, long double x) { return polygamma_of(n, x, false); }
static long double polygamma_scale(long double n, long double x) { return polygamma_of(n, x, true); }

/* Those of numbers are long double inside, or exact to 1e-20, and vectors are there for f32 alone. */
static long double igamma(long double a, long double x) { return tn_i_igamma((double)a, (double)x); }
static long double igammac(long double a, long double x) { return tn_i_igammac((double)a, (double)x); }
static long double igammac_scale(long double a, long double x) { return fmaxl(igammac(a, x), 0x1p-42L); }

static long double betainc(long double a, long double b, long double x) {
    return tn_i_betainc((double)a, (double)b, (double)x);
}
static long double betainc_scale(long double a, long double b, long double x) {
    return fmaxl(betainc(a, b, x), 0x1p-38L);
}

static const function table[] = {
    {"sin", sinl, NULL, -10, 10, .bound = {4, 4}},
    {"cos", cosl, NULL, -10, 10, .bound = {4, 4}},
    {"tan", tanl, NULL, -10, 10, .bound = {4, 4}},
    {"asin", asinl, NULL, -1, 1, .bound = {4, 4}},
    {"acos", acosl, NULL, -1, 1, .bound = {4, 4}},
    {"atan", atanl, NULL, -20, 20, .bound = {4, 4}},
    {"sinh", sinhl, NULL, -20, 20, .bound = {4, 4}},
    {"cosh", coshl, NULL, -20, 20, .bound = {4, 4}},
    {"tanh", tanhl, NULL, -5, 5, .bound = {4, 4}},
    {"asinh", asinhl, NULL, -20, 20, .bound = {4, 4}},
    {"acosh", acoshl, NULL, 1, 30, .bound = {4, 4}},
    {"atanh", atanhl, NULL, -1, 1, .bound = {4, 4}},
    {"exp", expl, NULL, -80, 80, .bound = {4, 4}},
    {"exp2", exp2l, NULL, -100, 100, .bound = {4, 4}},
    {"expm1", expm1l, NULL, -5, 20, .bound = {4, 4}},
    {"log", logl, NULL, 0, 50, .bound = {4, 4}},
    {"log1p", log1pl, NULL, -1, 20, .bound = {4, 4}},
    {"cbrt", cbrtl, NULL, -50, 50, .bound = {4, 4}},
    {"erf", erfl, NULL, -5, 5, .bound = {4, 4}},
    {"erfc", erfcl, NULL, -3, 8, .bound = {4, 4}},
    {"logistic", logistic, NULL, -30, 30, .bound = {4, 5}},
    {"lgamma", lgammal, NULL, -20, 20, .bound = {4, 4}, .alone = 5},
    {"digamma", digamma, NULL, -20, 20, .bound = {4, 1}, .alone = 5, .scale = digamma_scale},
    {"erf_inv", erf_inv, NULL, -1, 1, .bound = {3, 4}},
    {"bessel_i0e", bessel_i0e, NULL, -30, 30, .bound = {4, 1}},
    {"bessel_i1e", bessel_i1e, NULL, -30, 30, .bound = {4, 1}},
    {"zeta", NULL, zeta, 1, 12, .bound = {4, 2}, .lo2 = -10, .hi2 = 20, .whole = true, .scale2 = zeta_scale},
    {"polygamma", NULL, polygamma, 0, 23, .bound = {4, 2}, .lo2 = -10, .hi2 = 20, .whole = true, .alone = 8,
     .scale2 = polygamma_scale},
    {"igamma", NULL, igamma, 0, 30, .bound = {4, 1}, .lo2 = 0, .hi2 = 30},
    {"igammac", NULL, igammac, 0, 30, .bound = {4, 1}, .lo2 = 0, .hi2 = 30, .scale2 = igammac_scale},
    {"regularized_incomplete_beta", NULL, NULL, 0, 30, .bound = {4, 1}, .lo2 = 0, .hi2 = 30, .of3 = betainc,
     .scale3 = betainc_scale},
    {"fmod", NULL, fmodl, -20, 20, .bound = {0, 0}, .lo2 = -8, .hi2 = 8},
    {"pow", NULL, powl, 0, 20, .bound = {4, 4}, .lo2 = 0, .hi2 = 8},
    {"atan2", NULL, atan2l, -20, 20, .bound = {4, 4}, .lo2 = -8, .hi2 = 8},
};

static bool is_single(const char *name, const function *f) { return strlen(name) == strlen(f->name) + 1; }

static const function *function_of(const char *name) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const size_t n = strlen(table[i].name);
        if (strncmp(name, table[i].name, n) == 0 && (!name[n] || (name[n] == 'f' && !name[n + 1]))) return &table[i];
    }
    return NULL;
}

/* The distance of y from what is exact, in units of the last place of `scale`. */
static double ulps(double y, long double exact, long double scale, bool single) {
    const double rounded = single ? (double)(float)exact : (double)exact;
    if (y == rounded || (isnan(y) && isnan(rounded))) return 0;
    if (!isfinite(rounded) || !isfinite(y)) return HUGE_VAL;
    int e;
    (void)frexp(single ? (double)(float)scale : (double)scale, &e);
    const int digits = single ? FLT_MANT_DIG : DBL_MANT_DIG, least = single ? FLT_MIN_EXP : DBL_MIN_EXP;
    const int power = (scale == 0 || e < least ? least : e) - digits;
    return (double)(fabsl((long double)y - exact) / ldexpl(1, power));
}

static double sample(const function *f, size_t i, bool second) {
    static const double special[] = {0.0,    -0.0, INFINITY, -INFINITY, NAN, 1,    -1,  0.5,  1e-30, -1e-30, 3e-39,
                                     1e-310, 1e30, -1e30,    2,         1e5, -1e5, 100, -100, 700,   -700};
    const size_t n = sizeof special / sizeof *special;
    if (i < n * n) return special[second ? i / n : i % n];
    const double at = second ? fmod((double)i * 0.6180339887498949, 1) : (double)i / SAMPLES;
    const double lo = second ? f->lo2 : f->lo, hi = second ? f->hi2 : f->hi;
    const bool whole = f->whole && !second && i % 2;
    if (i % 5 == 0 && !whole) return ldexp(lo < 0 && i % 2 ? -1 - at : 1 + at, (int)(i % 110) - 40); /* small, large */
    const double x = lo + (hi - lo) * at;
    return whole ? floor(x) : x;
}

static double sample_second(const function *f, size_t i) {
    const double y = sample(f, i, true);
    return f->hi2 == 8 ? fmod(y, 8) : y;
}

static double sample_third(size_t i) {
    static const double special[] = {0.0, 1, NAN, -0.1, 1.5, 0.5, 1e-30, 0.99999994, 1e-310};
    const size_t n = sizeof special / sizeof *special;
    return i % 7 == 0 ? special[i / 7 % n] : fmod((double)i * 0.7548776662466927, 1);
}

typedef struct tiles {
    double x[SAMPLES], y[SAMPLES], z[SAMPLES], out[SAMPLES];
    float xf[SAMPLES], yf[SAMPLES], zf[SAMPLES], outf[SAMPLES];
} tiles;

static void run(const function *f, const tn_i_vec *v, bool single, tiles *t) {
    const int64_t stride[3] = {1, 1, 1};
    for (size_t i = 0; i < SAMPLES; i++) {
        t->x[i] = sample(f, i, false);
        t->y[i] = f->of2 || f->of3 ? sample_second(f, i) : 0;
        t->z[i] = sample_third(i);
        t->zf[i] = (float)t->z[i];
        t->xf[i] = (float)t->x[i];
        t->yf[i] = (float)t->y[i];
    }
    for (size_t i = 0; i < SAMPLES; i += TILE) {
        const void *in[3] = {t->x + i, t->y + i, t->z + i}, *inf[3] = {t->xf + i, t->yf + i, t->zf + i};
        const int64_t n = (int64_t)(SAMPLES - i < TILE ? SAMPLES - i : TILE);
        if (single)
            v->strip(n, inf, stride, t->outf + i, 1);
        else
            v->strip(n, in, stride, t->out + i, 1);
    }
}

/* An element has the same bits alone, and in any place of a tile. */
static void check_places(const tn_i_vec *v, bool single, const tiles *t, const char *name) {
    for (size_t i = 0; i < SAMPLES; i += 7) {
        double out = 0;
        const void *x = single ? (const void *)&t->xf[i] : (const void *)&t->x[i];
        const void *y = single ? (const void *)&t->yf[i] : (const void *)&t->y[i];
        const void *z = single ? (const void *)&t->zf[i] : (const void *)&t->z[i];
        const void *tile = single ? (const void *)&t->outf[i] : (const void *)&t->out[i];
        const size_t size = single ? sizeof(float) : sizeof(double);
        v->one(x, y, z, &out);
        const double a = single ? (double)t->outf[i] : t->out[i];
        if (memcmp(&out, tile, size) != 0 && !isnan(a)) fail_msg("%s: element %zu differs when it is alone", name, i);
    }
}

static long double exact_of(const function *f, long double x, long double y, long double z) {
    return f->of ? f->of(x) : f->of2 ? f->of2(x, y) : f->of3(x, y, z);
}
static long double scale_of(const function *f, long double x, long double y, long double z, long double exact) {
    return f->scale ? f->scale(x) : f->scale2 ? f->scale2(x, y) : f->scale3 ? f->scale3(x, y, z) : exact;
}

static double worst_in(const function *f, const char *name, bool single, const tiles *t) {
    double worst = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        const long double x = single ? (long double)t->xf[i] : (long double)t->x[i];
        const long double y = single ? (long double)t->yf[i] : (long double)t->y[i];
        const long double z = single ? (long double)t->zf[i] : (long double)t->z[i];
        const double got = single ? (double)t->outf[i] : t->out[i];
        const long double exact = exact_of(f, x, y, z);
        const double d = ulps(got, exact, scale_of(f, x, y, z, exact), single);
        if (d > worst && getenv("TN_ULP"))
            printf("  %s(%a, %a, %a) = %a: %.3g ulp\n", name, (double)x, (double)y, (double)z, got, d);
        if (d > worst) worst = d;
    }
    return worst;
}

static double worst_of(const function *f, const char *name, tn_i_isa isa, bool accurate, tiles *t) {
    const tn_i_vec v = tn_i_vec_math(name, isa, accurate);
    const bool single = is_single(name, f);
    run(f, &v, single, t);
    check_places(&v, single, t, name);
    return worst_in(f, name, single, t);
}

static void bounds(bool accurate) {
    tiles *t = malloc(sizeof *t);
    const char *name;
    for (int isa = TN_ISA_PLAIN; isa <= (int)tn_i_isa_best(); isa++)
        for (size_t i = 0; (name = tn_i_vec_math_at(i, (tn_i_isa)isa, accurate)); i++) {
            const function *f = function_of(name);
            assert_non_null(f);
            const double d = worst_of(f, name, (tn_i_isa)isa, accurate, t);
            const double most = !accurate                           ? f->bound[is_single(name, f)]
                                : strncmp(name, "logistic", 8) == 0 ? 3
                                : f->alone > 0                      ? f->alone /* lgamma below 0 */
                                                                    : 1.5;
            if (getenv("TN_ULP")) printf("%s %s on %d: %.3g ulp\n", tn_i_vec_library(accurate), name, isa, d);
            if (!(d <= most)) fail_msg("%s on instruction set %d: %.3g ulp, more than %g", name, isa, d, most);
        }
    free(t);
}

static void default_functions(void **unused) {
    (void)unused;
    bounds(false);
}

static void accurate_functions(void **unused) {
    (void)unused;
    bounds(true);
}

static bool is_of(const tn_prim *p, const char *name) {
    return strcmp(p->name, name) == 0 || (p->vector[TN_F64] && strcmp(p->vector[TN_F64], name) == 0);
}

/* What stands for them where there is none: functions of one number. */
static void scalar_functions(void **unused) {
    (void)unused;
    tiles *t = malloc(sizeof *t);
    for (size_t i = 0; i < 2 * sizeof table / sizeof *table; i++) {
        const function *f = &table[i / 2];
        const bool single = i % 2;
        const tn_prim *p = NULL;
        for (int k = 0; k < TN_NPRIMS; k++)
            if (is_of(tn_i_registry[k], f->name)) p = tn_i_registry[k];
        assert_non_null(p);
        const tn_i_vec v = {.strip = p->strip[single ? TN_F32 : TN_F64]};
        if (!v.strip) continue; /* pow: which of them, its exponents' dtype says */
        run(f, &v, single, t);
        const double d = worst_in(f, f->name, single, t);
        if (getenv("TN_ULP")) printf("libm %s %s: %.3g ulp\n", f->name, single ? "f32" : "f64", d);
        const double most = f->alone > 0 ? f->alone : 3;
        if (!(d <= most)) fail_msg("%s %s: %.3g ulp, more than %g", f->name, single ? "f32" : "f64", d, most);
    }
    free(t);
}

/* Incomplete functions of large numbers near the mean, where their sums converge slowly. */
static void near_the_mean(const function *f, size_t i, double x[3]) {
    const double at = fmod((double)i * 0.6180339887498949, 1), wide = 4 * fmod((double)i * 0.7548776662466927, 1) - 2;
    const double a = pow(10, 5.4 * (double)i / SAMPLES - 2);
    x[0] = a;
    x[1] = a * exp(wide / sqrt(1 + a));
    if (!f->of3) return;
    const double b = x[1] = pow(10, 5.4 * at - 2), mean = a / (a + b);
    x[2] = fmin(fmax(mean + wide * sqrt(mean * (1 - mean) / (a + b + 1)), 1e-6), 0.999999);
}

static void slow_sums(void **unused) {
    (void)unused;
    for (int isa = TN_ISA_PLAIN; isa <= (int)tn_i_isa_best(); isa++)
        for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
            const function *f = &table[k];
            const tn_i_vec v = tn_i_vec_math(f->name, (tn_i_isa)isa, false);
            if (!v.one || (f->of2 != igamma && f->of2 != igammac && !f->of3)) continue;
            for (size_t i = 0; i < SAMPLES; i += 3) {
                double x[3] = {0}, y;
                near_the_mean(f, i, x);
                v.one(&x[0], &x[1], &x[2], &y);
                const long double exact = exact_of(f, x[0], x[1], x[2]);
                const double d = ulps(y, exact, exact, false);
                if (!(d <= 4)) fail_msg("%s at %a %a %a: %.3g ulp", f->name, x[0], x[1], x[2], d);
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(default_functions), cmocka_unit_test(accurate_functions),
                                       cmocka_unit_test(scalar_functions), cmocka_unit_test(slow_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
