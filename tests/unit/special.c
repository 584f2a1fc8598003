/* Special functions against exact values, their conventions at poles and
 * limits, and the identities that tie them together. */
#define _XOPEN_SOURCE 700 /* signgam */

#include "prims/scalar/special.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* An argument, the exact value (21 digits) and the number whose ulp the error
 * is counted in: the value itself, or the largest of the terms that cancel. */
typedef struct point {
    double x;
    long double value, scale;
} point;

typedef struct order_point {
    double n, x;
    long double value, scale;
} order_point;

static const point lgamma_points[] = {
    {1e-300, 6.9077552789821370518e+2L, 6.9077552789821370518e+2L},
    {1e-05, 1.15129196928958256256e+1L, 1.15129196928958256256e+1L},
    {0.1, 2.25271265173420590201L, 2.25271265173420590201L},
    {0.5, 5.72364942924700087072e-1L, 5.72364942924700087072e-1L},
    {0.75, 2.03280951431295371481e-1L, 2.03280951431295371481e-1L},
    {0.9999999, 5.77215746844419282632e-8L, 5.77215746844419282632e-8L},
    {1.000000001, -5.7721571183810395192e-10L, -5.7721571183810395192e-10L},
    {1.25, -9.82718364218131614639e-2L, -9.82718364218131614639e-2L},
    {1.4616321449683622, -1.21486290535849608096e-1L, -1.21486290535849608096e-1L},
    {1.9999999, -4.22784303098612981945e-8L, -4.22784303098612981945e-8L},
    {2.000000001, 4.22784370402266964763e-10L, 4.22784370402266964763e-10L},
    {2.5, 2.84682870472919159632e-1L, 2.84682870472919159632e-1L},
    {3.0, 6.93147180559945309417e-1L, 6.93147180559945309417e-1L},
    {7.3, 7.1478925230222486921L, 7.1478925230222486921L},
    {33.0, 8.15579594561150371785e+1L, 8.15579594561150371785e+1L},
    {1234.5, 7.55055090107789489573e+3L, 7.55055090107789489573e+3L},
    {10000000000.0, 2.2025850928881058147e+11L, 2.2025850928881058147e+11L},
    {1e+300, 6.89775527898213741474e+302L, 6.89775527898213741474e+302L},
    {-1e-05, 1.15129312372091244576e+1L, 1.15129312372091244576e+1L},
    {-0.5, 1.26551212348464539649L, 1.26551212348464539649L},
    {-1.5, 8.60047015376481014511e-1L, 8.60047015376481014511e-1L},
    {-2.4570247382208, 7.29255061267470329563e-16L, 7.29255061267470329563e-16L},
    {-3.25, -6.23153451320998646625e-1L, -6.23153451320998646625e-1L},
    {-4.043995404944003, -1.17673553014516976485e-1L, -1.17673553014516976485e-1L},
    {-10.1, -1.30209732710114985204e+1L, -1.30209732710114985204e+1L},
    {-30.5, -7.5226467981933374089e+1L, -7.5226467981933374089e+1L},
    {-100.75, -3.65708485017931287365e+2L, -3.65708485017931287365e+2L},
    {-1000.3, -5.91284403477852050411e+3L, -5.91284403477852050411e+3L},
};

static const point digamma_points[] = {
    {1e-300, -9.99999999999999974941e+299L, -9.99999999999999974941e+299L},
    {1e-05, -1.00000577199215672889e+5L, -1.00000577199215672889e+5L},
    {0.1, -1.04237549404110762321e+1L, -1.04237549404110762321e+1L},
    {0.46, -2.17549360546534417343L, -2.17549360546534417343L},
    {0.5, -1.96351002602142347944L, -1.96351002602142347944L},
    {0.75, -1.08586087978647216963L, -1.08586087978647216963L},
    {0.9137758380446188, -7.28741977603445167594e-1L, -7.28741977603445167594e-1L},
    {1.0, -5.77215664901532860607e-1L, -5.77215664901532860607e-1L},
    {1.25, -2.2745353337626540809e-1L, -2.2745353337626540809e-1L},
    {1.46, -1.58056198708345210615e-3L, -1.58056198708345210615e-3L},
    {1.4616321449683622, -9.24126552172942751679e-17L, -9.24126552172942751679e-17L},
    {1.4616321449683625, 1.22453746220040690313e-16L, 1.22453746220040690313e-16L},
    {1.47, 8.06648901136486844233e-3L, 8.06648901136486844233e-3L},
    {1.9999, 4.22719839671130965331e-1L, 4.22719839671130965331e-1L},
    {2.0, 4.22784335098467139393e-1L, 4.22784335098467139393e-1L},
    {3.5, 1.10315664064524318723L, 1.10315664064524318723L},
    {5.75, 1.65973037106793657952L, 1.65973037106793657952L},
    {9.99, 2.25070037283120112198L, 2.25070037283120112198L},
    {10.0, 2.25175258906672110765L, 2.25175258906672110765L},
    {33.3, 3.49046723852024277728L, 3.49046723852024277728L},
    {100000.0, 1.15129204649618950868e+1L, 1.15129204649618950868e+1L},
    {1e+20, 4.60517018598809136804e+1L, 4.60517018598809136804e+1L},
    {1e+300, 6.90775527898213705258e+2L, 6.90775527898213705258e+2L},
    {-1e-05, 9.99994227678856294116e+4L, 9.99999999671013104806e+4L},
    {-0.25, 2.91413912021352783037L, 3.14159265358979323846L},
    {-0.5, 3.6489973978576520559e-2L, 3.6489973978576520559e-2L},
    {-0.549, -4.06140070899863980172e-1L, 4.87467202862131311565e-1L},
    {-0.75, -2.89412020004293207476L, 3.14159265358979323846L},
    {-1.5, 7.03156640645243187226e-1L, 7.03156640645243187226e-1L},
    {-2.9, -8.4415004536193757679L, 9.66882799046401622344L},
    {-10.1, 1.20300522485483092596e+1L, 9.66882799046406212265L},
    {-30.5, 3.43403055420756272378L, 3.43403055420756272378L},
    {-100.75, 1.47600411674855089551L, 4.61759677033834413397L},
    {-1000.3, 9.19105566925565809171L, 6.90855500075277398515L},
};

static const point erf_inv_points[] = {
    {1e-300, 8.86226925452758035857e-301L, 8.86226925452758035857e-301L},
    {1e-09, 8.86226925452758069077e-10L, 8.86226925452758069077e-10L},
    {1e-05, 8.862269254759594528e-6L, 8.862269254759594528e-6L},
    {0.001, 8.86227157466552123014e-4L, 8.86227157466552123014e-4L},
    {0.1, 8.88559904942576919743e-2L, 8.88559904942576919743e-2L},
    {0.25, 2.25312055012178104725e-1L, 2.25312055012178104725e-1L},
    {0.2563839342656209, 2.3127236392343149115e-1L, 2.3127236392343149115e-1L},
    {0.49999, 4.76925150415316583504e-1L, 4.76925150415316583504e-1L},
    {0.5, 4.76936276204469873381e-1L, 4.76936276204469873381e-1L},
    {0.6, 5.95116081449994821978e-1L, 5.95116081449994821978e-1L},
    {0.74, 7.96478805611707370519e-1L, 7.96478805611707370519e-1L},
    {0.75, 8.1341984759761854169e-1L, 8.1341984759761854169e-1L},
    {0.9, 1.16308715367667416284L, 1.16308715367667416284L},
    {0.99, 1.82138636771844945587L, 1.82138636771844945587L},
    {0.999999, 3.45891073727549877753L, 3.45891073727549877753L},
    {0.999999999999, 5.04203189857269613005L, 5.04203189857269613005L},
    {0.9999999999999999, 5.86358474875516792721L, 5.86358474875516792721L},
};

static const point logistic_points[] = {
    {-744.0, 7.67194470417997907395e-324L, 7.67194470417997907395e-324L},
    {-700.5, 5.98019611863979120641e-305L, 5.98019611863979120641e-305L},
    {-36.7, 1.15184094930760949952e-16L, 1.15184094930760949952e-16L},
    {-23.65964619968832, 5.3057430232590832853e-11L, 5.3057430232590832853e-11L},
    {-10.25, 3.53562507417443138714e-5L, 3.53562507417443138714e-5L},
    {-1.0, 2.68941421369995120749e-1L, 2.68941421369995120749e-1L},
    {-1e-09, 4.9999999975e-1L, 4.9999999975e-1L},
    {0.0, 5.0e-1L, 5.0e-1L},
    {0.3, 5.74442516811658984438e-1L, 5.74442516811658984438e-1L},
    {1.0, 7.31058578630004879251e-1L, 7.31058578630004879251e-1L},
    {5.5, 9.95929862284103872675e-1L, 9.95929862284103872675e-1L},
    {20.0, 9.9999999793884638181e-1L, 9.9999999793884638181e-1L},
    {36.7, 9.99999999999999884816e-1L, 9.99999999999999884816e-1L},
    {800.0, 1.0L, 1.0L},
};

static const order_point polygamma_points[] = {
    {1, 1e-05, 1.000000000164490839e+10L, 1.000000000164490839e+10L},
    {1, 0.1, 1.01433299150792747705e+2L, 1.01433299150792747705e+2L},
    {1, 0.5, 4.93480220054467930942L, 4.93480220054467930942L},
    {1, 1.0, 1.64493406684822643647L, 1.64493406684822643647L},
    {1, 1.46, 9.69119621509887894552e-1L, 9.69119621509887894552e-1L},
    {1, 2.5, 4.90357756100234864973e-1L, 4.90357756100234864973e-1L},
    {1, 9.9, 1.06283041628740591933e-1L, 1.06283041628740591933e-1L},
    {1, 12.0, 8.69018728717683907503e-2L, 8.69018728717683907503e-2L},
    {1, 100.0, 1.00501666633335713952e-2L, 1.00501666633335713952e-2L},
    {1, 10000000000.0, 1.00000000005e-10L, 1.00000000005e-10L},
    {1, 1e+300, 9.99999999999999947495e-301L, 9.99999999999999947495e-301L},
    {2, 0.25, -1.29327739937536920333e+2L, -1.29327739937536920333e+2L},
    {2, 1.0, -2.4041138063191885708L, -2.4041138063191885708L},
    {2, 7.5, -2.03052525366446640649e-2L, -2.03052525366446640649e-2L},
    {2, 100000.0, -1.00001000005e-10L, -1.00001000005e-10L},
    {3, 0.7, 2.58791496784277379926e+1L, 2.58791496784277379926e+1L},
    {3, 10.0, 2.31990130428986838556e-3L, 2.31990130428986838556e-3L},
    {4, 0.47, -1.05028651087092230204e+3L, -1.05028651087092230204e+3L},
    {5, 3.3, 1.20841714318477228859e-1L, 1.20841714318477228859e-1L},
    {10, 2.0, -1.79331160662871299062e+3L, -1.79331160662871299062e+3L},
    {20, 0.5, -5.10216531273942987874e+24L, -5.10216531273942987874e+24L},
    {45, 29.0, 8.15987001659302325034e-12L, 8.15987001659302325034e-12L},
    {100, 100.0, -1.47710216917416693038e-44L, -1.47710216917416693038e-44L},
    {170, 1.0, -7.2574156153079989674e+306L, -7.2574156153079989674e+306L},
    {200, 100.0, -9.12542469109622265572e-28L, -9.12542469109622265572e-28L},
    {372, 163.47742459819054, -6.25653048617302650957e-30L, -6.25653048617302650957e-30L},
    {999, 400.0, 3.81938677109494804121e-38L, 3.81938677109494804121e-38L},
    {1, -0.5, 8.93480220054467930942L, 4.93480220054467930942L},
    {1, -1.25, 1.91818796476716064984e+1L, 1.71973291545071107393e+1L},
    {1, -10.1, 1.03261569239467245565e+2L, 1.01433299150793470021e+2L},
    {2, -0.3, 6.76390811998831600402e+1L, 7.52725365887260389173e+1L},
    {2, -0.5, -8.28796644234319995596e-1L, 1.68287966442343199956e+1L},
    {2, -5.75, -1.24050545261590388889e+2L, 1.29327739937536920333e+2L},
    {3, -2.9, 6.00142030577429234018e+4L, 6.00045128767900535428e+4L},
    {4, -100.2, 7.49355136316695941287e+4L, 7.50102124979673310232e+4L},
    {7, -0.48, 2.73149411564413438915e+6L, 1.78877089643460649899e+6L},
    {170, -0.5, -5.61276289490629667005e+276L, 5.61276289490629667005e+276L},
};

static const order_point large_order_points[] = {
    {1500, 500.0, -3.55269453907694893463e+63L, 3.55269453907694893463e+63L},
    {5000, 2000.0, -1.63077013678172725668e-183L, 1.63077013678172725668e-183L},
    {1000000, 367886.5, -3.38775913761812798769e-11L, 3.38775913761812798769e-11L},
    {18871, 6716.06745056189, 1.59742793247126989262e+270L, 1.59742793247126989262e+270L},
    {2000, -700.5, -4.41717615175166548181e+40L, 4.41717615175166548181e+40L},
};

static long double ulp(long double x) {
    const double a = fabs((double)x);
    return (long double)nextafter(a, INFINITY) - (long double)a;
}

static long double ulp_f32(long double x) {
    const float a = fabsf((float)x);
    return (long double)nextafterf(a, INFINITY) - (long double)a;
}

static void expect(const char *name, double n, double x, long double error, long double unit, double bound) {
    if (!(error <= (long double)bound * unit))
        fail_msg("%s at n=%.17g x=%.17g: off by %Lg units of %Lg, %g allowed", name, n, x, error / unit, unit, bound);
}

static bool in_f32(long double x) { return fabsl(x) < (long double)FLT_MAX && fabsl(x) > (long double)FLT_MIN; }

static void check(const char *name, const point *p, size_t count, double (*f)(double), float (*f32)(float),
                  double bound) {
    for (size_t i = 0; i < count; i++) {
        const float narrow = (float)p[i].x;
        expect(name, 0, p[i].x, fabsl((long double)f(p[i].x) - p[i].value), ulp(p[i].scale), bound);
        /* the f64 function, checked above, at the f32 argument */
        const long double value = (long double)f((double)narrow);
        if (!in_f32((long double)p[i].x) || !in_f32(value)) continue;
        expect(name, 0, (double)narrow, fabsl((long double)f32(narrow) - value), ulp_f32(value), 0.5);
    }
}

static void test_lgamma(void **state) {
    (void)state;
    check("lgamma", lgamma_points, COUNT(lgamma_points), tn_i_lgamma, tn_i_lgamma_f32, 5);
    assert_true(tn_i_lgamma(INFINITY) == INFINITY && tn_i_lgamma(-INFINITY) == INFINITY);
    assert_true(tn_i_lgamma(0.0) == INFINITY && tn_i_lgamma(-0.0) == INFINITY && tn_i_lgamma(-7) == INFINITY);
    assert_true(isnan(tn_i_lgamma(NAN)) && isnan(tn_i_lgamma_f32(NAN)));
    assert_true(tn_i_lgamma(1) == 0 && tn_i_lgamma(2) == 0);
}

static void test_lgamma_leaves_signgam_alone(void **state) {
    (void)state;
    signgam = 42;
    assert_true(tn_i_lgamma(-0.5) > 1 && tn_i_lgamma(2.5) > 0 && tn_i_lgamma_f32(-0.5f) > 1);
    assert_int_equal(signgam, 42);
}

static void test_digamma(void **state) {
    (void)state;
    check("digamma", digamma_points, COUNT(digamma_points), tn_i_digamma, tn_i_digamma_f32, 5);
    assert_true(tn_i_digamma(INFINITY) == INFINITY && tn_i_digamma(5e-324) == -INFINITY);
    const double poles[] = {0.0, -0.0, -1, -2, -1e10, -1e300, -INFINITY, NAN};
    for (size_t i = 0; i < COUNT(poles); i++) {
        assert_true(isnan(tn_i_digamma(poles[i])));
        assert_true(isnan(tn_i_digamma_f32((float)poles[i])));
    }
}

static void test_polygamma(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(polygamma_points); i++) {
        const order_point *p = &polygamma_points[i];
        expect("polygamma", p->n, p->x, fabsl((long double)tn_i_polygamma(p->n, p->x) - p->value), ulp(p->scale), 8);
        const double value = tn_i_polygamma(p->n, (double)(float)p->x);
        if (in_f32((long double)p->x) && in_f32((long double)value))
            expect("polygamma_f32", p->n, p->x,
                   fabsl((long double)tn_i_polygamma_f32((float)p->n, (float)p->x) - (long double)value),
                   ulp_f32((long double)value), 0.5);
    }
    for (size_t i = 0; i < COUNT(large_order_points); i++) {
        const order_point *p = &large_order_points[i];
        expect("polygamma", p->n, p->x, fabsl((long double)tn_i_polygamma(p->n, p->x) - p->value), fabsl(p->scale),
               5e-13);
    }
    for (double x = -3.3; x < 20; x += 0.37) assert_true(tn_i_polygamma(0, x) == tn_i_digamma(x));
}

static void test_polygamma_limits(void **state) {
    (void)state;
    assert_true(isnan(tn_i_polygamma(-1, 2)) && isnan(tn_i_polygamma(1.5, 2)) && isnan(tn_i_polygamma(NAN, 2)));
    assert_true(isnan(tn_i_polygamma(INFINITY, 2)) && isnan(tn_i_polygamma(1, NAN)));
    assert_true(isnan(tn_i_polygamma(1, -INFINITY)) && isnan(tn_i_polygamma(2, -INFINITY)));
    assert_true(tn_i_polygamma(1, INFINITY) == 0 && !signbit(tn_i_polygamma(1, INFINITY)));
    assert_true(tn_i_polygamma(2, INFINITY) == 0 && signbit(tn_i_polygamma(2, INFINITY)));
    const double poles[] = {0.0, -0.0, -1, -1e5, -1e300};
    for (size_t i = 0; i < COUNT(poles); i++) {
        assert_true(tn_i_polygamma(1, poles[i]) == INFINITY && tn_i_polygamma(33, poles[i]) == INFINITY);
        assert_true(isnan(tn_i_polygamma(2, poles[i])) && isnan(tn_i_polygamma(34, poles[i])));
    }
    /* what overflows or vanishes does so as a whole, and has its sign */
    assert_true(tn_i_polygamma(171, 0.5) == INFINITY && tn_i_polygamma(172, 0.5) == -INFINITY);
    assert_true(tn_i_polygamma(1e9, 1) == -INFINITY && tn_i_polygamma(1e300, 1) == -INFINITY);
    assert_true(tn_i_polygamma(1e9, 1e9) == 0 && tn_i_polygamma(1e300, 1e300) == 0);
    assert_true(tn_i_polygamma(171, 1e308) == 0 && tn_i_polygamma(5000, DBL_MAX) == 0);
    assert_true(tn_i_polygamma(DBL_MAX, 0.5) == -INFINITY && tn_i_polygamma(DBL_MAX, DBL_MAX) == 0);
    assert_true(tn_i_polygamma(2000, -1000.25) == INFINITY && tn_i_polygamma(2000, -0.5) == -INFINITY);
    assert_true(tn_i_polygamma(1, 5e-324) == INFINITY && tn_i_polygamma(2, 5e-324) == -INFINITY);
}

static void test_erf_inv(void **state) {
    (void)state;
    check("erf_inv", erf_inv_points, COUNT(erf_inv_points), tn_i_erf_inv, tn_i_erf_inv_f32, 2);
    assert_true(tn_i_erf_inv(1) == INFINITY && tn_i_erf_inv(-1) == -INFINITY && tn_i_erf_inv_f32(1) == INFINITY);
    assert_true(isnan(tn_i_erf_inv(1 + DBL_EPSILON)) && isnan(tn_i_erf_inv(-INFINITY)) && isnan(tn_i_erf_inv(NAN)));
    assert_true(tn_i_erf_inv(0.0) == 0 && signbit(tn_i_erf_inv(-0.0)) && !signbit(tn_i_erf_inv(0.0)));
    for (double x = -0.999; x < 1; x += 0.001) {
        assert_true(tn_i_erf_inv(-x) == -tn_i_erf_inv(x));
        expect("erf(erf_inv)", 0, x, fabsl((long double)(erf(tn_i_erf_inv(x)) - x)), ulp(1), 2);
    }
}

static void test_logistic(void **state) {
    (void)state;
    check("logistic", logistic_points, COUNT(logistic_points), tn_i_logistic, tn_i_logistic_f32, 2);
    assert_true(tn_i_logistic(INFINITY) == 1 && tn_i_logistic(-INFINITY) == 0 && isnan(tn_i_logistic(NAN)));
    assert_true(tn_i_logistic(-1e300) == 0 && tn_i_logistic_f32(-3e38f) == 0 && tn_i_logistic_f32(3e38f) == 1);
    for (double x = 0; x < 40; x += 0.01)
        expect("logistic(-x)", 0, x, fabsl((long double)(tn_i_logistic(x) + tn_i_logistic(-x) - 1)), ulp(1), 2);
}

/* f(x+1) - f(x) is known for all of them, on both sides of zero. */
static void test_recurrences(void **state) {
    (void)state;
    for (double x = -30 + 1.0 / 64; x < 40; x += 0.0625) {
        const long double step = (long double)(tn_i_lgamma(x + 1) - tn_i_lgamma(x) - log(fabs(x)));
        const double large = fabs(tn_i_lgamma(x)) + fabs(log(fabs(x))) + 1;
        expect("lgamma step", 0, x, fabsl(step), ulp((long double)large), 8);
        const double psi = tn_i_digamma(x), size = fabs(psi) + fabs(1 / x) + fabs(tn_i_digamma(1 - x)) + 1;
        expect("digamma step", 0, x, fabsl((long double)(tn_i_digamma(x + 1) - psi - 1 / x)), ulp((long double)size),
               8);
        double sign_factorial = -1; /* (-1)^n n! */
        for (int n = 1; n < 12; n++, sign_factorial *= -n) {
            const double power = pow(x, -n - 1), at = tn_i_polygamma(n, x), next = tn_i_polygamma(n, x + 1);
            const double unit =
                fabs(at) + fabs(next) + fabs(sign_factorial * power) + fabs(tn_i_polygamma(n, fabs(x - rint(x))));
            expect("polygamma step", n, x, fabsl((long double)(next - at - sign_factorial * power)),
                   ulp((long double)unit), 24);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lgamma),           cmocka_unit_test(test_lgamma_leaves_signgam_alone),
        cmocka_unit_test(test_digamma),          cmocka_unit_test(test_polygamma),
        cmocka_unit_test(test_polygamma_limits), cmocka_unit_test(test_erf_inv),
        cmocka_unit_test(test_logistic),         cmocka_unit_test(test_recurrences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
