/* The incomplete gamma functions of vectors of f64: as igamma_set.h, but in sums of two numbers, to the last bit but
 * one. Where 1 - P or 1 - Q cancels digits, and where what is computed vanishes, they are left to the functions of
 * numbers. */

/* What Stirling's series (DLMF 5.11.1) adds to log Gamma(z + 1), z >= 10. */
static inline two stirling_rest(two z) {
    static const double rest[] = {-1.0 / 360,      1.0 / 1260, -1.0 / 1680,      1.0 / 1188,
                                  -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400, 43867.0 / 244188};
    const f64xn q = 1.0 / z.high, u = q * q;
    const two first = two_over((two){all(0x1.5555555555555p-4), all(0x1.5555555555555p-58)}, z);
    return two_add(first, two_of(SERIES(series_f64, u, rest) * u * q));
}
static inline two two_pi(void) { return (two){all(0x1.921fb54442d18p+2), all(0x1.1a62633145c07p-52)}; }

/* x^a e^-x / Gamma(a+1) by that series r, with A = a + 10 and what lies between where a < 10:
 * e^(a log(x/A) - (A-a) log A - (x - A) - r(A)) / sqrt(2 pi A) times (a+1) .. (a+10).  Lanes where the exponent is too
 * small are no longer `fine`. */
static inline two igamma_front(f64xn a, f64xn x, i64xn *fine) {
    enum { SHIFT = 10 };
    const i64xn small = (i64xn)(a < (double)SHIFT);
    const f64xn shift = choose(small, all(SHIFT), all(0.0));
    const two beyond = two_sum(a, shift), less = two_add(two_of(x), two_minus(beyond));
    two power = two_times(two_of(a), two_log(two_over(two_of(x), beyond)));
    power = two_add(power, two_minus(two_add(less, stirling_rest(beyond))));
    if (ANY(small)) power = two_add(power, two_minus(two_times(two_of(shift), two_log(beyond))));
    *fine &= (i64xn)(power.high > -600.0);
    two y = two_exp(two_choose(*fine, power, two_of(all(1.0))));
    y = two_times(y, two_inverse_sqrt(two_times(two_pi(), beyond)));
    if (!ANY(small)) return y;
    two product = y;
    for (int i = 1; i <= SHIFT; i++) product = two_times(product, two_sum(a, all(i)));
    return two_choose(small, product, y);
}

static inline two two_scale(two x, f64xn by) { return (two){x.high * by, x.low * by}; }

static inline two igamma_series_two(f64xn a, f64xn x, i64xn left) {
    two above = two_of(all(1.0)), below = above, power = above, out = above;
    for (double n = 1; ANY(left) && n < MOST_STEPS; n += IGAMMA_STEPS) {
        for (int i = 0; i < IGAMMA_STEPS; i++) {
            const two by = two_sum(a, all(n + i));
            power = two_times(power, two_of(x));
            below = two_times(below, by);
            above = two_add(two_times(above, by), power);
        }
        const i64xn done = left & (i64xn)(power.high <= two_done * above.high);
        if (ANY(done)) out = two_choose(done, two_over(above, below), out);
        left &= ~done;
        const f64xn scale = choose((i64xn)(below.high > fraction_large), all(1.0 / fraction_large), all(1.0));
        above = two_scale(above, scale), below = two_scale(below, scale), power = two_scale(power, scale);
    }
    return out;
}

/* As a fraction of igamma_set.h. */
typedef struct fraction_two {
    two above, below, last_above, last_below, out;
    i64xn left;
} fraction_two;

static inline void fraction_look_two(fraction_two *f) {
    const two off = two_add(two_times(f->above, f->last_below), two_minus(two_times(f->last_above, f->below)));
    const i64xn done = f->left & (i64xn)(size_of(off.high) <= size_of(two_done * f->above.high * f->last_below.high));
    if (ANY(done)) f->out = two_choose(done, two_over(f->above, f->below), f->out);
    f->left &= ~done;
    const f64xn scale = choose((i64xn)(size_of(f->below.high) > fraction_large), all(1.0 / fraction_large), all(1.0));
    f->above = two_scale(f->above, scale), f->below = two_scale(f->below, scale);
    f->last_above = two_scale(f->last_above, scale), f->last_below = two_scale(f->last_below, scale);
}

static inline two igamma_fraction_two(f64xn a, f64xn x, i64xn left) {
    const two first = two_add(two_sum(x, -a), two_of(all(1.0)));
    const two one = two_of(all(1.0));
    fraction_two f = {one, first, two_of(all(0.0)), one, one, left};
    for (double n = 1; ANY(f.left) && n < MOST_STEPS; n += IGAMMA_STEPS) {
        for (int i = 0; i < IGAMMA_STEPS; i++) {
            const two by = two_add(first, two_of(all(2 * (n + i))));
            const two with = two_times(two_sum(a, all(-(n + i))), two_of(all(n + i)));
            const two next = two_add(two_times(by, f.above), two_times(with, f.last_above));
            const two next_below = two_add(two_times(by, f.below), two_times(with, f.last_below));
            f.last_above = f.above, f.last_below = f.below;
            f.above = next, f.below = next_below;
        }
        fraction_look_two(&f);
    }
    return f.out;
}

static inline f64xn igamma_part_two(f64xn a, f64xn x, i64xn *fine, bool upper) {
    a = choose(*fine, a, all(1.0));
    x = choose(*fine, x, all(1.0));
    const two front = igamma_front(a, x, fine);
    const i64xn large = *fine & (i64xn)(x >= 1.0) & (i64xn)(x > a);
    two y = front;
    if (ANY(*fine & ~large)) y = two_times(front, igamma_series_two(a, x, *fine & ~large));
    if (ANY(large)) y = two_choose(large, two_times(two_times(front, two_of(a)), igamma_fraction_two(a, x, large)), y);
    const f64xn rest = two_add(two_of(all(1.0)), two_minus(y)).high;
    const i64xn other = upper ? ~large : large;
    *fine &= ~(other & (i64xn)(rest < 0x1p-6));
    return choose(other, rest, y.high);
}

#define IGAMMA_TWO(name, upper, one)                                                                      \
    static f64xn name(f64xn a, f64xn x) {                                                                 \
        i64xn fine = (i64xn)(a >= 1e-200) & (i64xn)(x >= 1e-200) & (i64xn)(a <= 1e4) & (i64xn)(x <= 1e6); \
        f64xn y = igamma_part_two(a, x, &fine, upper);                                                    \
        if (!ANY(~fine)) return y;                                                                        \
        for (size_t l = 0; l < sizeof x / sizeof x[0]; l++)                                               \
            if (!fine[l]) y[l] = one(a[l], x[l]);                                                         \
        return y;                                                                                         \
    }
IGAMMA_TWO(igamma_any, false, tn_i_igamma)
IGAMMA_TWO(igammac_any, true, tn_i_igammac)
