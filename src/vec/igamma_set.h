/* The incomplete gamma functions of vectors of f32, computed in f64 to 1e-9: included by special_set.h.
 *
 * With front = x^a e^-x / Gamma(a + 1), P where x <= a is front times a series of positive terms (DLMF 8.11.4), Q where
 * x > a, x >= 1 is front a times a continued fraction (DLMF 8.9.2).  Both are kept as a numerator and a denominator, so
 * that a step takes no division, and lanes are done, and then stay as they are, when some steps together have
 * converged. Where x < 1 and P is not far below 1, as it is for small a, Q is 1 - e^E and a sum that cancels nothing.
 * Arguments beyond, and ends of the domain, are left to the functions of numbers. */

extern f64xn MVEC_F64(exp, v)(f64xn);

enum { IGAMMA_STEPS = 4, MOST_STEPS = 1000000 };
/* When a fraction has converged, and when it is made smaller. */
static const double fraction_done = 0x1p-44, two_done = 0x1p-66, fraction_large = 0x1p330;

/* log Gamma(1 + a); near 0 by Taylor's series, -gamma and zeta(k) / k (DLMF 5.7.3). */
static inline f64xn igamma_log_1p(f64xn a) {
    static const double c[] = {-0.57721566490153286061, 0.82246703342411321824, -0.40068563438653142847,
                               0.27058080842778454788, -0.20738555102867398527};
    return choose((i64xn)(a < 1e-3), a * SERIES(series_f64, a, c), lgamma_of(a + 1.0, 0.0));
}

/* 1 + x/(a+1) + x^2/((a+1)(a+2)) + .., in the lanes of `left`. */
static inline f64xn igamma_series(f64xn a, f64xn x, i64xn left) {
    f64xn above = (f64xn){0} + 1.0, below = above, power = above, out = above;
    for (double n = 1; ANY(left) && n < MOST_STEPS; n += IGAMMA_STEPS) {
        for (int i = 0; i < IGAMMA_STEPS; i++) {
            const f64xn by = a + (n + i);
            power *= x;
            below *= by;
            above = FMA(above, by, power);
        }
        const i64xn done = left & (i64xn)(power <= fraction_done * above);
        if (ANY(done)) out = choose(done, above / below, out);
        left &= ~done;
        const f64xn scale =
            choose((i64xn)(below > fraction_large), (f64xn){0} + 1.0 / fraction_large, (f64xn){0} + 1.0);
        above *= scale;
        below *= scale;
        power *= scale;
    }
    return out;
}

/* A continued fraction: its last two convergents, each a numerator and a denominator; what lanes that are done have
 * come to, and which are left. */
typedef struct fraction {
    f64xn above, below, last_above, last_below, out;
    i64xn left;
} fraction;

/* Behind some steps: lanes whose convergents agree are done, and large ones are made smaller. */
static inline void fraction_look(fraction *f) {
    const f64xn one = (f64xn){0} + 1.0, size = fraction_done * f->above * f->last_below;
    const f64xn off = FMA(f->above, f->last_below, -f->last_above * f->below);
    const i64xn done = f->left & (i64xn)(size_of(off) <= size_of(size));
    if (ANY(done)) f->out = choose(done, f->above / f->below, f->out);
    f->left &= ~done;
    const f64xn scale = choose((i64xn)(size_of(f->below) > fraction_large), one / fraction_large, one);
    f->above *= scale, f->below *= scale;
    f->last_above *= scale, f->last_below *= scale;
}

/* 1/(x+1-a + 1(a-1)/(x+3-a + 2(a-2)/(x+5-a + ..))), in the lanes of `left`. */
static inline f64xn igamma_fraction(f64xn a, f64xn x, i64xn left) {
    const f64xn one = (f64xn){0} + 1.0, first = (x - a) + 1.0;
    fraction f = {one, first, one - one, one, one, left};
    for (double n = 1; ANY(f.left) && n < MOST_STEPS; n += IGAMMA_STEPS) {
        for (int i = 0; i < IGAMMA_STEPS; i++) {
            const f64xn by = first + 2 * (n + i), with = (n + i) * (a - (n + i)),
                        next = FMA(by, f.above, with * f.last_above);
            const f64xn next_below = FMA(by, f.below, with * f.last_below);
            f.last_above = f.above, f.last_below = f.below;
            f.above = next, f.below = next_below;
        }
        fraction_look(&f);
    }
    return f.out;
}

/* Q = 1 - x^a / Gamma(a+1) (1 + a sum of (-x)^n / (n! (a+n))), DLMF 8.7.1. */
static inline f64xn igamma_small(f64xn a, f64xn x, f64xn exponent) {
    enum { TERMS = 14 };
    f64xn sum = (f64xn){0}, power = (f64xn){0} + 1.0, less = (f64xn){0};
    for (int n = 1; n < TERMS; n++) {
        power *= x * (-1.0 / n);
        sum += power / (a + (double)n);
    }
    for (int n = TERMS; n > 1; n--) less = (1.0 + less) * exponent / (double)n; /* e^E = 1 + E (1 + less) */
    less = FMA(exponent, less, exponent);
    return -FMA(a * sum, 1.0 + less, less);
}

static inline f64xn igamma_part(f64xn a, f64xn x, i64xn fine, bool upper) {
    const f64xn one = (f64xn){0} + 1.0, least = (f64xn){0} - 300.0;
    a = choose(fine, a, one);
    x = choose(fine, x, one);
    const f64xn power = FMA(a, MVEC_F64(log, v)(x), -igamma_log_1p(a));
    const i64xn large = fine & (i64xn)(x >= 1.0) & (i64xn)(x > a);
    const i64xn small = fine & (i64xn)(x < 1.0) & (i64xn)(power > -0.5);
    f64xn front = power - x;
    front = MVEC_F64(exp, v)(choose((i64xn)(front > least), front, least));
    f64xn y = front;
    if (ANY(fine & ~(large | small))) y *= igamma_series(a, x, fine & ~(large | small));
    if (ANY(large)) y = choose(large, front * a * igamma_fraction(a, x, large), y);
    if (ANY(small)) y = choose(small, igamma_small(a, x, power), y);
    const i64xn other = upper ? ~(large | small) : large | small;
    return choose(other, 1.0 - y, y);
}

#define IGAMMA(name, upper, one)                                            \
    static f64xn name(f64xn a, f64xn x) {                                   \
        const i64xn above_0 = (i64xn)(a > 0.0) & (i64xn)(x > 0.0);          \
        const i64xn fine = above_0 & (i64xn)(a <= 1e4) & (i64xn)(x <= 1e6); \
        f64xn y = igamma_part(a, x, fine, upper);                           \
        if (!ANY(~fine)) return y;                                          \
        for (size_t l = 0; l < sizeof x / sizeof x[0]; l++)                 \
            if (!fine[l]) y[l] = one(a[l], x[l]);                           \
        return y;                                                           \
    }
IGAMMA(igamma_short, false, tn_i_igamma)
IGAMMA(igammac_short, true, tn_i_igammac)
