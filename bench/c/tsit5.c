/* One fused loop over the numbers for each step.  The tableau is multiplied by the step's length beforehand. */
#include "by_hand.h"

#include <math.h>
#include <string.h>

#define H 0.1
static const double C[6] = {0, 0.161, 0.327, 0.9, 0.9800255409045097, 1};
/* H times the tableau; constants of f32 */
#define A10 ((float)(H * 0.161))
#define A20 ((float)(H * -0.008480655492356989))
#define A21 ((float)(H * 0.335480655492357))
#define A30 ((float)(H * 2.8971530571054935))
#define A31 ((float)(H * -6.359448489975075))
#define A32 ((float)(H * 4.3622954328695815))
#define A40 ((float)(H * 5.325864828439257))
#define A41 ((float)(H * -11.748883564062828))
#define A42 ((float)(H * 7.4955393428898365))
#define A43 ((float)(H * -0.09249506636175525))
#define A50 ((float)(H * 5.86145544294642))
#define A51 ((float)(H * -12.92096931784711))
#define A52 ((float)(H * 8.159367898576159))
#define A53 ((float)(H * -0.071584973281401))
#define A54 ((float)(H * -0.028269050394068383))
#define B0  ((float)(H * 0.09646076681806523))
#define B1  ((float)(H * 0.01))
#define B2  ((float)(H * 0.4798896504144996))
#define B3  ((float)(H * 1.379008574103742))
#define B4  ((float)(H * -3.290069515436081))
#define B5  ((float)(H * 2.324710524099774))

static const float K = -0.1F;

static void forcing(long step, float *g) {
    for (int i = 0; i < 6; i++) g[i] = (float)(0.1 * sin(0.2 * ((double)step + C[i]) * H));
}

static void step_linear(long n, const float *restrict g, float *restrict y) {
    const float g0 = g[0], g1 = g[1], g2 = g[2], g3 = g[3], g4 = g[4], g5 = g[5];
    for (long e = 0; e < n; e++) {
        const float v = y[e], k0 = K * v + g0, k1 = K * (v + A10 * k0) + g1, k2 = K * (v + A20 * k0 + A21 * k1) + g2,
                    k3 = K * (v + A30 * k0 + A31 * k1 + A32 * k2) + g3,
                    k4 = K * (v + A40 * k0 + A41 * k1 + A42 * k2 + A43 * k3) + g4,
                    k5 = K * (v + A50 * k0 + A51 * k1 + A52 * k2 + A53 * k3 + A54 * k4) + g5;
        y[e] = v + B0 * k0 + B1 * k1 + B2 * k2 + B3 * k3 + B4 * k4 + B5 * k5;
    }
}

/* Of a linear field, nothing of the solve is read. */
static void back_linear(long n, float *restrict lam) {
    for (long e = 0; e < n; e++) {
        const float l = lam[e], b5 = K * (B5 * l), b4 = K * (B4 * l + A54 * b5),
                    b3 = K * (B3 * l + A53 * b5 + A43 * b4), b2 = K * (B2 * l + A52 * b5 + A42 * b4 + A32 * b3),
                    b1 = K * (B1 * l + A51 * b5 + A41 * b4 + A31 * b3 + A21 * b2),
                    b0 = K * (B0 * l + A50 * b5 + A40 * b4 + A30 * b3 + A20 * b2 + A10 * b1);
        lam[e] = l + b5 + b4 + b3 + b2 + b1 + b0;
    }
}

void c_tsit5_linear(long n, long steps, const float *y0, float *work, float *value, float *grad) {
    float g[6];
    if (value) {
        memcpy(work, y0, (size_t)n * sizeof *work);
        for (long s = 0; s < steps; s++) {
            forcing(s, g);
            step_linear(n, g, work);
        }
        double total = 0;
        for (long e = 0; e < n; e++) total += (double)work[e];
        *value = (float)total;
    }
    for (long e = 0; e < n; e++) grad[e] = 1;
    for (long s = 0; s < steps; s++) back_linear(n, grad);
}

static inline float cube(float u) { return u * u * u; }

static void step_cubic(long n, const float *restrict g, const float *restrict y, float *restrict next) {
    const float g0 = g[0], g1 = g[1], g2 = g[2], g3 = g[3], g4 = g[4], g5 = g[5];
    for (long e = 0; e < n; e++) {
        const float v = y[e], k0 = K * cube(v) + g0, k1 = K * cube(v + A10 * k0) + g1,
                    k2 = K * cube(v + A20 * k0 + A21 * k1) + g2, k3 = K * cube(v + A30 * k0 + A31 * k1 + A32 * k2) + g3,
                    k4 = K * cube(v + A40 * k0 + A41 * k1 + A42 * k2 + A43 * k3) + g4,
                    k5 = K * cube(v + A50 * k0 + A51 * k1 + A52 * k2 + A53 * k3 + A54 * k4) + g5;
        next[e] = v + B0 * k0 + B1 * k1 + B2 * k2 + B3 * k3 + B4 * k4 + B5 * k5;
    }
}

/* The stages again from y, then back through them. */
static void back_cubic(long n, const float *restrict g, const float *restrict y, float *restrict lam) {
    const float g0 = g[0], g1 = g[1], g2 = g[2], g3 = g[3], g4 = g[4], K3 = 3 * K;
    for (long e = 0; e < n; e++) {
        const float v = y[e], k0 = K * cube(v) + g0, u1 = v + A10 * k0, k1 = K * cube(u1) + g1,
                    u2 = v + A20 * k0 + A21 * k1, k2 = K * cube(u2) + g2, u3 = v + A30 * k0 + A31 * k1 + A32 * k2,
                    k3 = K * cube(u3) + g3, u4 = v + A40 * k0 + A41 * k1 + A42 * k2 + A43 * k3, k4 = K * cube(u4) + g4,
                    u5 = v + A50 * k0 + A51 * k1 + A52 * k2 + A53 * k3 + A54 * k4, l = lam[e],
                    b5 = K3 * u5 * u5 * (B5 * l), b4 = K3 * u4 * u4 * (B4 * l + A54 * b5),
                    b3 = K3 * u3 * u3 * (B3 * l + A53 * b5 + A43 * b4),
                    b2 = K3 * u2 * u2 * (B2 * l + A52 * b5 + A42 * b4 + A32 * b3),
                    b1 = K3 * u1 * u1 * (B1 * l + A51 * b5 + A41 * b4 + A31 * b3 + A21 * b2),
                    b0 = K3 * v * v * (B0 * l + A50 * b5 + A40 * b4 + A30 * b3 + A20 * b2 + A10 * b1);
        lam[e] = l + b5 + b4 + b3 + b2 + b1 + b0;
    }
}

void c_tsit5_cubic(long n, long steps, const float *y0, float *states, float *work, float *grad) {
    float g[6];
    memcpy(states, y0, (size_t)n * sizeof *states);
    for (long s = 0; s < steps; s++) {
        forcing(s, g);
        step_cubic(n, g, states + s * n, s + 1 < steps ? states + (s + 1) * n : work);
    }
    for (long e = 0; e < n; e++) grad[e] = 1;
    for (long s = steps; s-- > 0;) {
        forcing(s, g);
        back_cubic(n, g, states + s * n, grad);
    }
}
