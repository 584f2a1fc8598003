/* All values of the 5-point Jacobian in order of rows: the exponentials first, as vectors, then one pass that writes.
 */
#include "by_hand.h"
#include "vec.h"

enum { L = LANES_f64 };

void c_bratu_jacobian(const c_bratu *b) {
    const long n = b->side;
    const double h = 1.0 / (double)(n + 1), k = h * h * b->lambda;
    long i = 0;
    for (; i + L <= n * n; i += L) store_f64(b->work + i, 4 - k * exp_f64(load_f64(b->u + i)));
    for (; i < n * n; i++) b->work[i] = 4 - k * exp(b->u[i]);
    double *p = b->values;
    for (long r = 0; r < n; r++) {
        const double *d = b->work + r * n;
        const int above = r > 0, below = r < n - 1;
        for (long c = 0; c < n; c++) {
            for (; above && below && c > 0 && c < n - 1; c++, p += 5) /* inside: five each */
                p[0] = -1, p[1] = -1, p[2] = d[c], p[3] = -1, p[4] = -1;
            if (above) *p++ = -1;
            if (c > 0) *p++ = -1;
            *p++ = d[c];
            if (c < n - 1) *p++ = -1;
            if (below) *p++ = -1;
        }
    }
}
