/* lgamma of vectors, which libmvec lacks, of the library's log: included by math_set.h, once for each instruction set
 * that has FMA; without, it is slower than the C library's, number by number.
 *
 * With 0 < x < 8, first to y in [1/2, 3): y + 1 below 1/2, and y - 1 from 3 on, so often that lgamma(x) = lgamma(y) +
 * log p, where p is 1/x, or a product of at most five factors.  There lgamma(y) = (y - 1)(y - 2)(1/2 + P(y) / Q(y)),
 * whose error is relative at the zeros too (2e-18, but for rounding).  From 8 on it is Stirling's, with the rest of his
 * series in 1/x^2 as a polynomial.  All lanes take both ways.  What is not above 0 is the C library's, number by
 * number.
 *
 * P, Q and the polynomial W are minimax fits in 60 digits, P and Q in powers of y - 1/2; no term of
 * Q is negative. */

#ifdef FMA
static const double near_p[] = {
    0x1.0d780c269af4dp-2,  0x1.54862db36fb81p+0,  0x1.0ffd382148f52p+1,  0x1.8969d2321721bp-2,  -0x1.23d2948483d5ep+1,
    -0x1.3a68c582b48f3p+1, -0x1.0749220d8f9fdp+0, -0x1.8148e8e47a066p-3, -0x1.b642788a1fac6p-7, -0x1.07f54350bb4cap-12};
static const double near_q[] = {0x1.0000000000000p+0, 0x1.d146d2b79fa0ap+2, 0x1.573913b23c6a7p+4, 0x1.090dec5d3d788p+5,
                                0x1.cdeb28670343dp+4, 0x1.c9dad9ca6991bp+3, 0x1.f1c289a563622p+1, 0x1.1057feb331ea6p-1,
                                0x1.f9e06c834144dp-6, 0x1.0bc3178ad45ffp-11};
static const double rest_w[] = {0x1.5555555555553p-4,   -0x1.6c16c16bb7c75p-9, 0x1.a019fd4110a8bp-11,
                                -0x1.380ec6bbec2a2p-11, 0x1.b6fcf891f9e38p-11, -0x1.b15ae7cf0976bp-10};
#define DEGREE(c) ((int)(sizeof(c) / sizeof *(c)) - 1)

static inline f64xn polynomial(f64xn x, const double *c, int degree) {
    f64xn y = (f64xn){0} + c[degree];
    while (degree--) y = FMA(y, x, (f64xn){0} + c[degree]);
    return y;
}

/* a where m, else b. */
static inline f64xn choose(i64xn m, f64xn a, f64xn b) { return (f64xn)(((i64xn)a & m) | ((i64xn)b & ~m)); }

extern f64xn MVEC_F64(log, v)(f64xn);

static f64xn lgamma_above_0(f64xn x) {
    enum { FACTORS = 5 };
    static const double half_log_2_pi_less_half = 0.41893853320467274178;
    const i64xn small = (i64xn)(x < 0.5), large = (i64xn)(x >= 8.0);
    f64xn y = choose(large, (f64xn){0} + 2.0, choose(small, x + 1.0, x)),
          p = choose(large | small, x, (f64xn){0} + 1.0);
    for (int i = 0; i < FACTORS; i++) {
        const i64xn more = (i64xn)(y >= 3.0);
        y = choose(more, y - 1.0, y);
        p = choose(more, p * y, p);
    }
    const f64xn l = MVEC_F64(log, v)(p), t = y - 0.5;
    const f64xn above = choose(large, (f64xn){0} + 1.0, polynomial(t, near_p, DEGREE(near_p)));
    const f64xn quotient = above / choose(large, x, polynomial(t, near_q, DEGREE(near_q)));
    const f64xn near = choose(small, x, y - 1.0) * choose(small, x - 1.0, y - 2.0) * (0.5 + quotient);
    const f64xn rest = polynomial(quotient * quotient, rest_w, DEGREE(rest_w)) * quotient;
    const f64xn stirling = FMA(x - 0.5, l - 1.0, half_log_2_pi_less_half + rest);
    return choose(large, stirling, near + choose(small, -l, l));
}

/* By way of f64. */
static f32xn lgamma_above_0f(f32xn x) {
    typedef float half __attribute__((vector_size(BYTES / 2)));
    half h[2];
    memcpy(h, &x, sizeof h);
    for (int i = 0; i < 2; i++)
        h[i] = __builtin_convertvector(lgamma_above_0(__builtin_convertvector(h[i], f64xn)), half);
    memcpy(&x, h, sizeof h);
    return x;
}

#else
static f64xn lgamma_above_0(f64xn x) {
    for (size_t l = 0; l < sizeof x / sizeof(double); l++) x[l] = tn_i_lgamma(x[l]);
    return x;
}

static f32xn lgamma_above_0f(f32xn x) {
    for (size_t l = 0; l < sizeof x / sizeof(float); l++) x[l] = tn_i_lgamma_f32(x[l]);
    return x;
}
#endif
