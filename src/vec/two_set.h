/* Numbers of vectors as sums of two, of some 105 binary digits: included by special_set.h.  Sums and products are
 * Knuth's and Dekker's (Numerische Mathematik 18, 1971). */
typedef struct two {
    f64xn high, low;
} two;
typedef uint64_t u64xn __attribute__((vector_size(BYTES)));

static inline f64xn all(double x) { return (f64xn){0} + x; }
static inline two two_of(f64xn x) { return (two){x, (f64xn){0}}; }
static inline two two_normal(f64xn high, f64xn low) {
    const f64xn sum = high + low;
    return (two){sum, low - (sum - high)};
}
static inline two two_sum(f64xn a, f64xn b) {
    const f64xn sum = a + b, back = sum - a;
    return (two){sum, (a - (sum - back)) + (b - back)};
}
static inline two two_add(two a, two b) {
    const two sum = two_sum(a.high, b.high);
    return two_normal(sum.high, sum.low + (a.low + b.low));
}
static inline two two_minus(two a) { return (two){-a.high, -a.low}; }
static inline two two_times(two a, two b) {
    const f64xn high = a.high * b.high;
    return two_normal(high, FMA(a.high, b.high, -high) + FMA(a.high, b.low, a.low * b.high));
}
static inline two two_over(two a, two b) {
    const f64xn high = a.high / b.high;
    return two_normal(high, (FMA(-high, b.high, a.high) + FMA(-high, b.low, a.low)) / b.high);
}
static inline two two_choose(i64xn m, two a, two b) {
    return (two){choose(m, a.high, b.high), choose(m, a.low, b.low)};
}

/* 2^k, k a whole number in the range of normal ones: what 3/2 2^52 makes of it ends in its digits. */
static inline f64xn power_of_2(f64xn k) { return (f64xn)(((u64xn)(k + (0x1.8p52 + 1023))) << 52); }

/* x normal: of x = 2^k m, m from sqrt(1/2) to sqrt(2), k log 2 + 2 atanh((m-1)/(m+1)), 2^-64. */
OF_ITS_OWN two two_log(two x) {
    static const double log_2[] = {0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45};
    static const double rest[] = {2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                  2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
    const u64xn bits = (u64xn)x.high - ((u64xn)all(0x1.6a09e667f3bcdp-1) - (1023ULL << 52));
    const f64xn k = (f64xn)((bits >> 52) | (u64xn)all(0x1p52)) - (0x1p52 + 1023), scale = power_of_2(-k);
    const two above = two_normal(x.high * scale - 1.0, x.low * scale);
    const two below = two_add(two_sum(x.high * scale, all(1.0)), two_of(x.low * scale));
    const two s = two_over(above, below), square = two_times(s, s);
    const two third = two_times(two_times(s, square), (two){all(0x1.5555555555555p-1), all(0x1.5555555555555p-55)});
    const f64xn more = SERIES(series_f64, square.high, rest) * square.high * square.high * s.high;
    const two of_m = two_add(two_add((two){2.0 * s.high, 2.0 * s.low}, third), two_of(more));
    return two_add(two_add(two_of(k * log_2[0]), two_of(k * log_2[1])), of_m);
}

/* |x| < 700: 2^-62. */
OF_ITS_OWN two two_exp(two x) {
    static const double log_2[] = {0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45};
    static const double rest[] = {1.0 / 24,        1.0 / 120,        1.0 / 720,        1.0 / 5040,
                                  1.0 / 40320,     1.0 / 362880,     1.0 / 3628800,    1.0 / 39916800,
                                  1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200};
    const f64xn k = (x.high * 0x1.71547652b82fep+0 + 0x1.8p52) - 0x1.8p52;
    const two r = two_add(two_add(x, two_of(-k * log_2[0])), two_of(-k * log_2[1])), square = two_times(r, r);
    const two sixth = two_times(r, (two){all(0x1.5555555555555p-3), all(0x1.5555555555555p-57)});
    const two third = two_times(square, two_add(two_of(all(0.5)), sixth));
    const f64xn more = SERIES(series_f64, r.high, rest) * square.high * square.high, scale = power_of_2(k);
    const two sum = two_add(two_of(all(1.0)), two_add(r, two_add(third, two_of(more))));
    return (two){sum.high * scale, sum.low * scale};
}

/* 1/sqrt(x), by a step of Newton's. */
static inline two two_inverse_sqrt(two x) {
    const f64xn y = 1.0 / SQRT(x.high);
    const two miss = two_times(x, two_times(two_of(y), two_of(y)));
    return two_normal(y, 0.5 * y * ((1.0 - miss.high) - miss.low));
}
