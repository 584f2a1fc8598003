/* The incomplete beta function of vectors of f32, computed in f64 to 1e-9: included by special_set.h.
 *
 * Where x is below the mean it is x^a (1-x)^b / (a B(a, b)) times a continued fraction (DLMF 8.17.22), else 1 -
 * I_(1-x)(b, a).  With a + n as partial denominators the partial numerators are polynomials, so that a step, of a
 * numerator and a denominator as in igamma_set.h, takes no division.  Arguments beyond are left to the function of
 * numbers. */

/* a/(a - a(a+b)x/((a+1) + 1(b-1)x/((a+2) - (a+1)(a+b+1)x/((a+3) + 2(b-2)x/..)))), in the lanes of `left`. */
static inline f64xn beta_fraction(f64xn a, f64xn b, f64xn x, i64xn left) {
    const f64xn one = (f64xn){0} + 1.0, sum = a + b;
    fraction f = {a, a, one - one, one, one, left};
    for (double m = 0; ANY(f.left) && m < MOST_STEPS; m += 2) {
        for (int i = 0; i < 2; i++) {
            const double k = m + i;
            const f64xn odd = -x * (a + k) * (sum + k), even = x * (k + 1) * (b - (k + 1));
            f.last_above = FMA(a + (2 * k + 1), f.above, odd * f.last_above);
            f.last_below = FMA(a + (2 * k + 1), f.below, odd * f.last_below);
            f.above = FMA(a + (2 * k + 2), f.last_above, even * f.above);
            f.below = FMA(a + (2 * k + 2), f.last_below, even * f.below);
        }
        fraction_look(&f);
    }
    return f.out;
}

static f64xn betainc_short(f64xn a, f64xn b, f64xn x) {
    const f64xn one = (f64xn){0} + 1.0, half = one * 0.5;
    const i64xn fine_a = (i64xn)(a >= 1e-2) & (i64xn)(a <= 3e3), fine_b = (i64xn)(b >= 1e-2) & (i64xn)(b <= 3e3);
    const i64xn fine = fine_a & fine_b & (i64xn)(x > 0.0) & (i64xn)(x < 1.0);
    const f64xn p = choose(fine, a, one), q = choose(fine, b, one), y = choose(fine, x, half), z = 1.0 - y;
    const i64xn beyond = (i64xn)(y * (p + q + 2.0) >= p + 1.0);
    const f64xn s = choose(beyond, q, p), t = choose(beyond, p, q), u = choose(beyond, z, y);
    f64xn front = FMA(p, MVEC_F64(log, v)(y), q * MVEC_F64(log, v)(z));
    front += lgamma_of(p + q, 0.0) - lgamma_of(s + 1.0, 0.0) - lgamma_of(t, 0.0);
    front = MVEC_F64(exp, v)(choose((i64xn)(front > -300.0), front, one * -300.0));
    f64xn out = front * beta_fraction(s, t, u, fine);
    out = choose(beyond, 1.0 - out, out);
    if (!ANY(~fine)) return out;
    for (size_t l = 0; l < sizeof x / sizeof x[0]; l++)
        if (!fine[l]) out[l] = tn_i_betainc(a[l], b[l], x[l]);
    return out;
}
