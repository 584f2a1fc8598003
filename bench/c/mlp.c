/* Products by BLIS, and one pass over memory for what is between two of them. */
#include "by_hand.h"
#include "vec.h"

enum { ROWS = MLP_BATCH, CLASSES = 10, L = LANES_f32, WIDE = (CLASSES + L - 1) / L * L };
static const long SIZE[MLP_DEPTH + 1] = {784, 512, 512, CLASSES};
static const float RATE = 0.01F;

static void activate(long n, const float *b, float *h) {
    for (long r = 0; r < ROWS; r++)
        for (long j = 0; j < n; j += L) store_f32(h + r * n + j, tanh_f32(load_f32(h + r * n + j) + load_f32(b + j)));
}

/* From products z to (softmax(z + b) - onehot) / ROWS, in place, and b's step. */
static void classify(const float *b, const int32_t *label, float *z, float *new_b) {
    float sum[CLASSES] = {0};
    for (long r = 0; r < ROWS; r++) {
        float v[WIDE] = {0}, most = -HUGE_VALF, e[WIDE], total = 0;
        for (int j = 0; j < CLASSES; j++) {
            v[j] = z[r * CLASSES + j] + b[j];
            most = v[j] > most ? v[j] : most;
        }
        for (int j = 0; j < WIDE; j += L) store_f32(e + j, exp_f32(load_f32(v + j) - most));
        for (int j = 0; j < CLASSES; j++) total += e[j];
        for (int j = 0; j < CLASSES; j++) {
            const float d = (e[j] / total - (float)(label[r] == j)) * (1.0F / ROWS);
            z[r * CLASSES + j] = d;
            sum[j] += d;
        }
    }
    for (int j = 0; j < CLASSES; j++) new_b[j] = b[j] - RATE * sum[j];
}

/* d *= 1 - h^2, and b's step from the sum over rows. */
static void back(long n, const float *h, const float *b, float *d, float *new_b) {
    float sum[512] = {0};
    for (long r = 0; r < ROWS; r++)
        for (long j = 0; j < n; j++) {
            const float v = h[r * n + j], g = d[r * n + j] * (1 - v * v);
            d[r * n + j] = g;
            sum[j] += g;
        }
    for (long j = 0; j < n; j++) new_b[j] = b[j] - RATE * sum[j];
}

void c_mlp_step(const float *const *w, const float *const *b, const float *x, const int32_t *label, float *work,
                float *const *new_w, float *const *new_b) {
    float *h[MLP_DEPTH], *d[MLP_DEPTH];
    for (int k = 0; k < MLP_DEPTH; k++) {
        h[k] = work;
        work += ROWS * SIZE[k + 1];
        d[k] = k + 1 < MLP_DEPTH ? work : h[k];
        if (k + 1 < MLP_DEPTH) work += ROWS * SIZE[k + 1];
    }
    for (int k = 0; k < MLP_DEPTH; k++) {
        const long m = SIZE[k], n = SIZE[k + 1];
        c_product_f32(ROWS, n, m, 1, k ? h[k - 1] : x, m, 1, w[k], n, 1, 0, h[k], n);
        if (k + 1 < MLP_DEPTH) activate(n, b[k], h[k]);
    }
    classify(b[MLP_DEPTH - 1], label, h[MLP_DEPTH - 1], new_b[MLP_DEPTH - 1]);
    for (int k = MLP_DEPTH - 1; k >= 0; k--) {
        const long m = SIZE[k], n = SIZE[k + 1];
        c_product_f32(m, n, ROWS, 1, k ? h[k - 1] : x, 1, m, d[k], n, 1, 0, work, n);
        for (long i = 0; i < m * n; i++) new_w[k][i] = w[k][i] - RATE * work[i];
        if (k == 0) break;
        c_product_f32(ROWS, m, n, 1, d[k], n, 1, w[k], 1, n, 0, d[k - 1], m);
        back(m, h[k - 1], b[k - 1], d[k - 1], new_b[k - 1]);
    }
}
