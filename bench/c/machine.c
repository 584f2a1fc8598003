#include "by_hand.h"
#include "vec.h"

enum { CHAINS = 12 };

double c_machine_fma(long rounds) {
    vec_f64 s[CHAINS];
    const vec_f64 a = all_f64(0.999999), b = all_f64(1e-9);
    for (int i = 0; i < CHAINS; i++) s[i] = all_f64(i);
    for (long r = 0; r < rounds; r++) {
        for (int i = 0; i < CHAINS; i++) s[i] = s[i] * a + b;
    }
    vec_f64 sum = {0};
    for (int i = 0; i < CHAINS; i++) sum += s[i];
    volatile double used = total_f64(sum);
    (void)used;
    return 2.0 * CHAINS * LANES_f64 * (double)rounds;
}

void c_machine_triad(long n, const double *restrict x, const double *restrict y, double *restrict z) {
    for (long i = 0; i < n; i++) z[i] = x[i] + 0.5 * y[i];
}
