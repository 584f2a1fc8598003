/* lgamma and digamma of vectors: included by special_set.h.  Coefficients are minimax fits in 60 digits. */

/* ---- what is below 0, by what is above ----
 *
 * With r = x less the nearest whole number, sin(pi r) / (pi r) as a polynomial in r^2, and pi cot(pi r), which is
 * (1 - 4 r^2) / r times a quotient of polynomials in r^2, both interpolating at Chebyshev's points: relative errors
 * 4e-19. */
static const double sine_of[] = {0x1.0000000000000p+0,  -0x1.a51a6625307d3p+0,  0x1.9f9cb402bc3ebp-1,
                                 -0x1.86a8e472088a4p-3, 0x1.ac6805cbe14f0p-6,   -0x1.3381697088111p-9,
                                 0x1.37469730d3391p-13, -0x1.d3e3c296a65cfp-18, 0x1.07192db714f81p-22};
static const double cot_p[] = {0x1.0000000000000p+0, -0x1.5a2b0c1371d8ap-1, 0x1.d72efa7c4b3dap-4, -0x1.651842dc2180fp-8,
                               0x1.3658a3f5463efp-15};
static const double cot_q[] = {0x1.0000000000000p+0, -0x1.62e0b9bf57f1fp+0, 0x1.b1bbe58187938p-2, -0x1.38750ebaa7517p-5,
                               0x1.ab46ac8830e83p-11};

static inline f64xn size_of(f64xn x) { return (f64xn)((i64xn)x & ~(i64xn)(-(f64xn){0})); }
/* z >= 0 less the nearest whole number; z + 1/2 may be rounded where z is a large one. */
static inline f64xn off_whole(f64xn z) { return choose((i64xn)(TRUNC(z) == z), (f64xn){0}, z - TRUNC(z + 0.5)); }

/* ---- lgamma ----
 *
 * With 0 < x < 8, first to y in [1/2, 3): y + 1 below 1/2, and y - 1 from 3 on, so often that lgamma(x) = lgamma(y) +
 * log p, where p is 1/x, or a product of at most five factors.  There lgamma(y) = (y - 1)(y - 2)(1/2 + P(y) / Q(y)),
 * whose error is relative at the zeros too (2e-18, but for rounding).  From 8 on it is Stirling's, with the rest of his
 * series in 1/x^2 as a polynomial.
 *
 * Below 0 it is log(pi / |sin(pi z)|) - lgamma(1 + z), z = -x (DLMF 5.5.3), in which the logarithms up to 8 are one.
 * Where the two cancel to less than `least` of themselves, and where x is no number or infinite, it is the C library's,
 * number by number.
 *
 * P and Q are in powers of y - 1/2; no term of Q is negative. */
static const double near_p[] = {
    0x1.0d780c269af4dp-2,  0x1.54862db36fb81p+0,  0x1.0ffd382148f52p+1,  0x1.8969d2321721bp-2,  -0x1.23d2948483d5ep+1,
    -0x1.3a68c582b48f3p+1, -0x1.0749220d8f9fdp+0, -0x1.8148e8e47a066p-3, -0x1.b642788a1fac6p-7, -0x1.07f54350bb4cap-12};
static const double near_q[] = {0x1.0000000000000p+0, 0x1.d146d2b79fa0ap+2, 0x1.573913b23c6a7p+4, 0x1.090dec5d3d788p+5,
                                0x1.cdeb28670343dp+4, 0x1.c9dad9ca6991bp+3, 0x1.f1c289a563622p+1, 0x1.1057feb331ea6p-1,
                                0x1.f9e06c834144dp-6, 0x1.0bc3178ad45ffp-11};
static const double rest_w[] = {0x1.5555555555553p-4,   -0x1.6c16c16bb7c75p-9, 0x1.a019fd4110a8bp-11,
                                -0x1.380ec6bbec2a2p-11, 0x1.b6fcf891f9e38p-11, -0x1.b15ae7cf0976bp-10};

OF_ITS_OWN f64xn lgamma_of(f64xn x, double least) {
    enum { FACTORS = 5 };
    static const double half_log_2_pi_less_half = 0.41893853320467274178;
    const f64xn z = size_of(x), one = (f64xn){0} + 1.0;
    const i64xn below = (i64xn)(x < 0.0), small = (i64xn)(z < 0.5), large = (i64xn)(z >= 8.0);
    f64xn y = choose(large, one + 1.0, choose(small, z + 1.0, z)), p = choose(large | small, z, one);
    for (int i = 0; i < FACTORS; i++) {
        const i64xn more = (i64xn)(y >= 3.0);
        y = choose(more, y - 1.0, y);
        p = choose(more, p * y, p);
    }
    f64xn sine = one;
    if (ANY(below)) { /* |sin(pi z)| / pi, times z unless lgamma(1 + z) is at hand */
        const f64xn r = off_whole(z);
        sine = size_of(r) * SERIES(series_f64, r * r, sine_of) * choose(small, one, z);
        p = choose(below & ~large, choose(small, one, p) * sine, p);
    }
    const f64xn l = MVEC_F64(log, v)(p), t = y - 0.5;
    const f64xn above = choose(large, one, SERIES(series_f64, t, near_p));
    const f64xn quotient = above / choose(large, z, SERIES(series_f64, t, near_q));
    const f64xn near = choose(small, z, y - 1.0) * choose(small, z - 1.0, y - 2.0) * (0.5 + quotient);
    const f64xn rest = SERIES(series_f64, quotient * quotient, rest_w) * quotient;
    const f64xn stirling = FMA(z - 0.5, l - 1.0, half_log_2_pi_less_half + rest);
    f64xn out = choose(large, stirling, near + choose(small & ~below, -l, l));
    if (!ANY(below)) return out;
    if (ANY(below & large))
        out += choose(below & large, MVEC_F64(log, v)(choose(below & large, sine, one)), (f64xn){0});
    out = choose(below, -out, out);
    const i64xn near_zero = below & (i64xn)(size_of(out) < least * choose(large, stirling, one));
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        if (near_zero[i]) out[i] = tn_i_lgamma(x[i]);
    return out;
}
#define LGAMMA(name, least)                                                   \
    static f64xn name(f64xn x) {                                              \
        const i64xn other = ~(i64xn)(size_of(x) < 1e300) | (i64xn)(x == 0.0); \
        f64xn y = lgamma_of(x, least);                                        \
        if (!ANY(other)) return y;                                            \
        for (size_t l = 0; l < sizeof x / sizeof x[0]; l++)                   \
            if (other[l]) y[l] = tn_i_lgamma(x[l]);                           \
        return y;                                                             \
    }
LGAMMA(lgamma_any, 0.5)
LGAMMA(lgamma_single, 1e-6)

/* ---- digamma ----
 *
 * With 0 < x < 8, first to y in [1, 3): digamma(x) = digamma(y) + n/d, where n/d is -1/x, or the sum of at most five
 * 1/(y + i), as one quotient.  There digamma(y) = (y - root) P(y - 1) / Q(y - 1), with root in two parts, and with what
 * rounding took from x + 1.  From 8 on it is log x - 1/(2x) - W(1/x^2) / x^2.
 *
 * Below 0 it is digamma(1 + z) + pi cot(pi z), z = -x (DLMF 5.5.4), where the former has 1/z more than digamma(z). */
static const double psi_p[] = {0x1.4018e9a62525ep+0,  0x1.01e186f27c6c0p+1, 0x1.2f176398c522cp+0,
                               0x1.4922faad25604p-2,  0x1.5443fbbc43f3ep-5, 0x1.30b2d0276270cp-9,
                               0x1.5bbbcb5942ce2p-15, 0x1.7f926ec4e4515p-25};
static const double psi_q[] = {0x1.0000000000000p+0,  0x1.25bc6d673bbc0p+1, 0x1.e9e7c83231affp+0,
                               0x1.82e0645fcb7f1p-1,  0x1.3522aab2d25a8p-3, 0x1.e5ced4261d690p-7,
                               0x1.4886884ddc5f8p-11, 0x1.07633bcd1d7fap-17};
static const double psi_w[] = {0x1.5555555555555p-4,  -0x1.1111111110d76p-7, 0x1.04104101a91ccp-8,
                               -0x1.11110c2cf1665p-8, 0x1.f07735405e8ebp-8,  -0x1.58e86fe92775bp-6,
                               0x1.47dc8611c1e45p-4,  -0x1.3300af9d7f977p-2};

static inline f64xn pi_cot_pi(f64xn z) {
    const f64xn r = off_whole(z), u = r * r;
    const f64xn zero = FMA(-2.0 * r, 2.0 * r, (f64xn){0} + 1.0);
    return zero * SERIES(series_f64, u, cot_p) / (r * SERIES(series_f64, u, cot_q));
}

static f64xn digamma_any(f64xn x) {
    enum { STEPS = 5 };
    static const double root = 0x1.762d86356be3fp+0, root_low = 0x1.b86a722197829p-54;
    const f64xn one = (f64xn){0} + 1.0, none = (f64xn){0}, z = size_of(x);
    const i64xn below = (i64xn)(x < 0.0), small = (i64xn)(z < 1.0), large = (i64xn)(z >= 8.0);
    f64xn y = choose(large, one, choose(small, z + 1.0, z));
    f64xn n = choose(small, choose(below, none, -one), choose(large | below, one, none));
    f64xn d = choose(small | large | below, z, one);
    const f64xn lost = choose(small, z - (y - 1.0), none);
    for (int i = 0; i < STEPS; i++) {
        const i64xn more = (i64xn)(y >= 3.0);
        y = choose(more, y - 1.0, y);
        n = choose(more, FMA(n, y, d), n);
        d = choose(more, d * y, d);
    }
    const f64xn q = n / d, t = y - 1.0, u = q * q;
    const f64xn slope = SERIES(series_f64, t, psi_p) / SERIES(series_f64, t, psi_q);
    const f64xn near = FMA((y - root) + (lost - root_low), slope, q);
    const f64xn above = MVEC_F64(log, v)(z) - FMA(SERIES(series_f64, u, psi_w), u, choose(below, -0.5 * q, 0.5 * q));
    f64xn out = choose(large, above, near);
    if (ANY(below)) out += choose(below, pi_cot_pi(z), none);
    const f64xn nan = none + (double)NAN;
    return choose((i64xn)(x <= 0.0) & (i64xn)(TRUNC(x) == x), nan, out);
}
