/* Hurwitz's zeta and polygamma of vectors: included by special_set.h.
 *
 * zeta(s, x), x > 0, is the sum of `terms` (x + k)^-s and Euler and Maclaurin's estimate of the rest, of `orders` of
 * his terms (as DLMF 25.11.7): relative errors for all s 1e-17 by 8 and 9 (f64), 3e-9 by 3 and 6 (f32).  Whole s up
 * to 7, as those of derivatives of digamma, are powers by products; others are of the library's pow.  What x + k is
 * rounded by changes the s-th power s times as much, and is made up for.  Numbers out of range, poles and the like are
 * left to the functions of numbers. */

extern f64xn MVEC_F64(pow, vv)(f64xn, f64xn);

static const double bernoulli_over_factorial[] = {/* B(2j) / (2j)! */
                                                  1.0 / 12,
                                                  -1.0 / 720,
                                                  1.0 / 30240,
                                                  -1.0 / 1209600,
                                                  1.0 / 47900160,
                                                  -5.2841901386874931848e-10,
                                                  1.3382536530684678833e-11,
                                                  -3.3896802963225828668e-13,
                                                  8.5860620562778445641e-15};

/* How the s-th powers are computed: the bits of those s that are small. */
typedef struct zeta_way {
    i64xn small, one, two, four;
    bool any_small, any_other;
} zeta_way;

static inline i64xn is_whole(f64xn x) { return (i64xn)(TRUNC(x) == x); }

static zeta_way zeta_way_of(f64xn s, i64xn fine) {
    zeta_way w;
    const f64xn half = TRUNC(0.5 * s), quarter = TRUNC(0.5 * half);
    w.small = fine & is_whole(s) & (i64xn)(s < 8.0);
    w.one = (i64xn)(s != 2.0 * half);
    w.two = (i64xn)(half != 2.0 * quarter);
    w.four = (i64xn)(quarter != 0.0);
    w.any_small = ANY(w.small);
    w.any_other = ANY(fine & ~w.small);
    return w;
}

/* a^-s of small s, to the last bit but one. */
static inline f64xn zeta_small_term(const zeta_way *w, f64xn a) {
    const f64xn one = (f64xn){0} + 1.0;
    const two x = {a, (f64xn){0}}, square = two_times(x, x);
    two power = two_choose(w->one, x, (two){one, (f64xn){0}});
    power = two_choose(w->two, two_times(power, square), power);
    power = two_choose(w->four, two_times(power, two_times(square, square)), power);
    const f64xn y = one / power.high;
    return FMA(FMA(-power.low, y, FMA(-power.high, y, one)), y, y);
}

/* (a + low)^-s */
static inline f64xn zeta_further_term(const zeta_way *w, f64xn s, f64xn a, f64xn low) {
    const f64xn one = (f64xn){0} + 1.0, square = a * a;
    f64xn power = choose(w->one, a, one);
    power = choose(w->two, power * square, power);
    power = choose(w->four, power * (square * square), power);
    return FMA(-s, low, a) / (a * power);
}

static inline f64xn zeta_term(const zeta_way *w, f64xn s, f64xn a, f64xn low, bool first) {
    f64xn y = a;
    if (w->any_other) {
        y = MVEC_F64(pow, vv)(a, -s);
        if (!first) y = FMA(-y, s * low / a, y);
    }
    if (!w->any_small) return y;
    return choose(w->small, first ? zeta_small_term(w, a) : zeta_further_term(w, s, a, low), y);
}

/* Where x > 0. */
OF_ITS_OWN f64xn zeta_sum(const zeta_way *w, f64xn s, f64xn x, int terms, int orders) {
    f64xn a = x + (double)terms, back = a - x, low = (x - (a - back)) + ((double)terms - back), u = 1.0 / (a * a);
    f64xn sum = (f64xn){0} + bernoulli_over_factorial[orders - 1];
    for (int j = orders - 1; j > 0; j--)
        sum = FMA(sum * u, (s + (2.0 * j - 1.0)) * (s + 2.0 * j), (f64xn){0} + bernoulli_over_factorial[j - 1]);
    const f64xn rest = zeta_term(w, s, a, low, false) * (a / (s - 1.0) + FMA(sum, s / a, (f64xn){0} + 0.5));
    sum = (f64xn){0};
    for (int k = terms; k-- > 0;) {
        a = x + (double)k, back = a - x, low = (x - (a - back)) + ((double)k - back);
        sum += zeta_term(w, s, a, low, k == 0);
    }
    return sum + rest;
}

/* The terms below 0, of whole s, are the beginning of a second sum: all of it less its end. */
static inline f64xn zeta_fine(f64xn s, f64xn x, i64xn fine, int terms, int orders) {
    const zeta_way w = zeta_way_of(s, fine);
    const i64xn below = fine & (i64xn)(x < 0.0);
    const f64xn one = (f64xn){0} + 1.0;
    s = choose(fine, s, one + one);
    x = choose(fine, x, one);
    if (!ANY(below)) return zeta_sum(&w, s, x, terms, orders);
    const f64xn last = TRUNC(x), sign = choose(w.one, -one, one);
    f64xn y = zeta_sum(&w, s, choose(below, (x - last) + 1.0, x), terms, orders);
    const f64xn other = zeta_sum(&w, s, choose(below, last - x, x), terms, orders);
    const f64xn end = zeta_sum(&w, s, choose(below, 1.0 - x, x), terms, orders);
    return choose(below, (y + sign * other) - sign * end, y);
}

/* Powers of x, and of x + k, to x^8 are numbers. */
static inline i64xn zeta_is_fine(f64xn s, f64xn x) {
    const i64xn whole = is_whole(s), above = (i64xn)(x > 0.0), below = (i64xn)(x < 0.0) & ~is_whole(x);
    return (i64xn)(s > 1.0) & (i64xn)(s <= 64.0) & (above | (below & whole)) & (i64xn)(x < 1e38);
}

static inline i64xn in_range(f64xn y) { return (i64xn)(y > 1e-290) & (i64xn)(y < 1e290); }

#define ZETA(name, terms, orders)                                    \
    static f64xn name(f64xn s, f64xn x) {                            \
        i64xn fine = zeta_is_fine(s, x);                             \
        f64xn y = zeta_fine(s, x, fine, terms, orders);              \
        fine &= in_range((f64xn)((i64xn)y & ~(i64xn)(-(f64xn){0}))); \
        if (ANY(~fine))                                              \
            for (size_t l = 0; l < sizeof x / sizeof x[0]; l++)      \
                if (!fine[l]) y[l] = tn_i_zeta(s[l], x[l]);          \
        return y;                                                    \
    }
ZETA(zeta_any, 8, 9)
ZETA(zeta_short, 3, 6)

/* (-1)^(n+1) n! zeta(n+1, x); n! is exact up to 22. */
#define POLYGAMMA(name, terms, orders)                                      \
    static f64xn name(f64xn n, f64xn x) {                                   \
        const f64xn s = n + 1.0, one = (f64xn){0} + 1.0;                    \
        i64xn fine = zeta_is_fine(s, x) & is_whole(n) & (i64xn)(n <= 22.0); \
        f64xn y = zeta_fine(s, x, fine, terms, orders), factorial = one;    \
        fine &= in_range((f64xn)((i64xn)y & ~(i64xn)(-(f64xn){0})));        \
        for (int i = 2; i <= 22; i++) {                                     \
            const i64xn more = fine & (i64xn)(n >= (double)i);              \
            if (!ANY(more)) break;                                          \
            factorial = choose(more, factorial * (double)i, factorial);     \
        }                                                                   \
        const i64xn odd = (i64xn)(n != 2.0 * TRUNC(0.5 * n));               \
        y *= choose(odd, factorial, -factorial);                            \
        if (ANY(~fine))                                                     \
            for (size_t l = 0; l < sizeof x / sizeof x[0]; l++)             \
                if (!fine[l]) y[l] = tn_i_polygamma(n[l], x[l]);            \
        return y;                                                           \
    }
POLYGAMMA(polygamma_any, 8, 9)
POLYGAMMA(polygamma_short, 3, 6)
