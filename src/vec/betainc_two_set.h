/* The incomplete beta function of vectors of f64: as betainc_set.h, in sums of two numbers, as igamma_two_set.h. */

/* (z+1) .. (z+n), n from 0 to `most`, a multiple of 10 */
OF_ITS_OWN two beta_product(two z, f64xn n, int most) {
    two product = two_of(all(1.0));
    for (int i = 1; i <= most; i++) {
        const i64xn more = (i64xn)(n >= (double)i);
        product = two_choose(more, two_times(product, two_add(z, two_of(all(i)))), product);
    }
    return product;
}

/* x^a y^b Gamma(a+b+1) / (Gamma(a+1) Gamma(b+1)), y = 1 - x, by Stirling's series for A = a + m, m = 10 where a < 10, B
 * = b + n, and C = A + B: e^(a log(x C/A) + b log(y C/B) + m log(C/A) + n log(C/B) + r(C) - r(A) - r(B)) / sqrt(2 pi A
 * B/C) times (a+1) .. (a+m) (b+1) .. (b+n) over (a+b+1) .. (a+b+m+n). */
static inline two beta_front(f64xn a, f64xn b, two x, two y, i64xn *fine) {
    enum { SHIFT = 10 };
    const f64xn m = choose((i64xn)(a < (double)SHIFT), all(SHIFT), all(0.0));
    const f64xn n = choose((i64xn)(b < (double)SHIFT), all(SHIFT), all(0.0));
    const two of_a = two_sum(a, m), of_b = two_sum(b, n), both = two_add(of_a, of_b);
    const two by_a = two_over(both, of_a), by_b = two_over(both, of_b);
    two power = two_times(two_of(a), two_log(two_times(x, by_a)));
    power = two_add(power, two_times(two_of(b), two_log(two_times(y, by_b))));
    power = two_add(power, two_add(stirling_rest(both), two_minus(two_add(stirling_rest(of_a), stirling_rest(of_b)))));
    const bool small = ANY((i64xn)(m + n > 0.0));
    if (small) {
        power = two_add(power, two_times(two_of(m), two_log(by_a)));
        power = two_add(power, two_times(two_of(n), two_log(by_b)));
    }
    *fine &= (i64xn)(power.high > -600.0);
    two out = two_exp(two_choose(*fine, power, two_of(all(1.0))));
    out = two_times(out, two_inverse_sqrt(two_times(two_times(two_pi(), of_a), two_over(of_b, both))));
    if (!small) return out;
    out = two_times(out, two_times(beta_product(two_of(a), m, SHIFT), beta_product(two_of(b), n, SHIFT)));
    return two_over(out, beta_product(two_sum(a, b), m + n, 2 * SHIFT));
}

static inline two beta_fraction_two(f64xn a, f64xn b, two x, i64xn left) {
    const two sum = two_sum(a, b), less = two_minus(x);
    fraction_two f = {two_of(a), two_of(a), two_of(all(0.0)), two_of(all(1.0)), two_of(a), left};
    for (double m = 0; ANY(f.left) && m < MOST_STEPS; m += 2) {
        for (int i = 0; i < 2; i++) {
            const double k = m + i;
            const two odd = two_times(two_times(less, two_sum(a, all(k))), two_add(sum, two_of(all(k))));
            const two even = two_times(two_times(x, two_of(all(k + 1))), two_sum(b, all(-(k + 1))));
            const two at_odd = two_sum(a, all(2 * k + 1)), at_even = two_sum(a, all(2 * k + 2));
            f.last_above = two_add(two_times(at_odd, f.above), two_times(odd, f.last_above));
            f.last_below = two_add(two_times(at_odd, f.below), two_times(odd, f.last_below));
            f.above = two_add(two_times(at_even, f.last_above), two_times(even, f.above));
            f.below = two_add(two_times(at_even, f.last_below), two_times(even, f.below));
        }
        fraction_look_two(&f);
    }
    return f.out;
}

static f64xn betainc_any(f64xn a, f64xn b, f64xn x) {
    i64xn fine = (i64xn)(a >= 1e-4) & (i64xn)(a <= 3e3) & (i64xn)(b >= 1e-4) & (i64xn)(b <= 3e3);
    fine &= (i64xn)(x >= 1e-200) & (i64xn)(x < 1.0);
    const f64xn p = choose(fine, a, all(1.0)), q = choose(fine, b, all(1.0)), at = choose(fine, x, all(0.5));
    const i64xn beyond = (i64xn)(at * (p + q + 2.0) >= p + 1.0);
    const two of = two_of(at), less = two_sum(all(1.0), -at), u = two_choose(beyond, less, of);
    const f64xn s = choose(beyond, q, p), t = choose(beyond, p, q);
    const two front = beta_front(s, t, u, two_choose(beyond, of, less), &fine);
    two out = two_times(front, two_over(two_of(t), two_sum(s, t)));
    out = two_times(out, beta_fraction_two(s, t, u, fine));
    const f64xn rest = two_add(two_of(all(1.0)), two_minus(out)).high;
    fine &= ~(beyond & (i64xn)(rest < 0x1p-6));
    f64xn y = choose(beyond, rest, out.high);
    if (!ANY(~fine)) return y;
    for (size_t l = 0; l < sizeof x / sizeof x[0]; l++)
        if (!fine[l]) y[l] = tn_i_betainc(a[l], b[l], x[l]);
    return y;
}
