#include "by_hand.h"
#include "vec.h"

enum { L = LANES_f64, WIDE = 4 };

void c_poly9(long n, const double *c, const double *x, double *value, double *grad) {
    vec_f64 s[WIDE] = {{0}}, g[WIDE] = {{0}};
    long i = 0;
    for (; i + WIDE * L <= n; i += WIDE * L)
        for (int j = 0; j < WIDE; j++) {
            const vec_f64 v = load_f64(x + i + j * L);
            vec_f64 y = all_f64(c[9]);
            for (int k = 8; k >= 0; k--) y = y * v + c[k];
            s[j] += y;
            g[j] += v * v;
        }
    double sum = total_f64((s[0] + s[1]) + (s[2] + s[3])), slope = total_f64((g[0] + g[1]) + (g[2] + g[3]));
    for (; i < n; i++) {
        double y = c[9];
        for (int k = 8; k >= 0; k--) y = y * x[i] + c[k];
        sum += y;
        slope += x[i] * x[i];
    }
    *value = sum;
    *grad = slope;
}
