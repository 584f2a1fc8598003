/* A lane for each observation: derivatives written out, and a transposition of 30 vectors at the end. */
#include "by_hand.h"
#include "vec.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

enum { L = LANES_f64, CAMERA = 11, ROW = 15 };

typedef struct rotated {
    vec_f64 at[3], by_x[3][3], by_r[3][3]; /* X_c, and its derivatives [component][of] */
} rotated;

/* X_c = cos |r| X + sin |r| / |r| (r x X) + (1 - cos |r|) / |r|^2 r (r.X), which has a limit at r = 0. */
static void rotate(const vec_f64 *r, const vec_f64 *x, rotated *o) {
    const vec_f64 zero = {0}, square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    const mask_f64 none = square == zero;
    const vec_f64 q = pick_f64(none, all_f64(1), square), th = sqrt_f64(q), sn = sin_f64(th);
    const vec_f64 c = pick_f64(none, all_f64(1), cos_f64(th)), s = pick_f64(none, all_f64(1), sn / th);
    const vec_f64 by = 1 / q, k = (1 - c) * by, ds = pick_f64(none, zero, (c - s) * by);
    const vec_f64 dk = pick_f64(none, zero, (s - 2 * k) * by), dot = r[0] * x[0] + r[1] * x[1] + r[2] * x[2];
    const vec_f64 cross[3] = {r[1] * x[2] - r[2] * x[1], r[2] * x[0] - r[0] * x[2], r[0] * x[1] - r[1] * x[0]};
    const vec_f64 turn_r[3][3] = {{zero, -r[2], r[1]}, {r[2], zero, -r[0]}, {-r[1], r[0], zero}};
    const vec_f64 turn_x[3][3] = {{zero, x[2], -x[1]}, {-x[2], zero, x[0]}, {x[1], -x[0], zero}}; /* of r x X in r */
    for (int i = 0; i < 3; i++) {
        o->at[i] = c * x[i] + s * cross[i] + k * dot * r[i];
        const vec_f64 common = ds * cross[i] - s * x[i] + dk * dot * r[i];
        for (int j = 0; j < 3; j++) {
            o->by_x[i][j] = s * turn_r[i][j] + k * r[i] * r[j] + (i == j ? c : zero);
            o->by_r[i][j] = common * r[j] + s * turn_x[i][j] + k * r[i] * x[j] + (i == j ? k * dot : zero);
        }
    }
}

/* camera: r, C, f, u0 v0, k1 k2; out: two rows of camera, point, weight.  The feature is in no derivative but the
 * weight's, which is the projection without it. */
static void jacobian(const vec_f64 *camera, const vec_f64 *point, vec_f64 weight, const vec_f64 *feature, vec_f64 *row0,
                     vec_f64 *row1) {
    rotated o;
    vec_f64 x[3];
    for (int i = 0; i < 3; i++) x[i] = point[i] - camera[3 + i];
    rotate(camera, x, &o);
    const vec_f64 f = camera[6], k1 = camera[9], k2 = camera[10], by = 1 / o.at[2], u = o.at[0] * by, v = o.at[1] * by;
    const vec_f64 rho = u * u + v * v, bend = 1 + rho * (k1 + k2 * rho), slope = 2 * (k1 + 2 * k2 * rho);
    const vec_f64 fw = f * weight, uu = fw * (bend + slope * u * u), uv = fw * slope * u * v,
                  vv = fw * (bend + slope * v * v);
    const vec_f64 at[2] = {u, v}, by_u[2] = {uu, uv}, by_v[2] = {uv, vv};
    vec_f64 *const out[2] = {row0, row1};
#pragma GCC unroll 2
    for (int e = 0; e < 2; e++) {
        const vec_f64 d[3] = {by_u[e] * by, by_v[e] * by, -(by_u[e] * u + by_v[e] * v) * by};
        for (int j = 0; j < 3; j++) {
            out[e][j] = d[0] * o.by_r[0][j] + d[1] * o.by_r[1][j] + d[2] * o.by_r[2][j];
            out[e][CAMERA + j] = d[0] * o.by_x[0][j] + d[1] * o.by_x[1][j] + d[2] * o.by_x[2][j];
            out[e][3 + j] = -out[e][CAMERA + j];
        }
        out[e][6] = weight * bend * at[e];
        out[e][7] = e == 0 ? weight : (vec_f64){0};
        out[e][8] = e == 1 ? weight : (vec_f64){0};
        out[e][9] = fw * rho * at[e];
        out[e][10] = out[e][9] * rho;
        out[e][14] = f * bend * at[e] + camera[7 + e] - feature[e];
    }
}

/* Rows of 16 numbers: camera, point, feature. */
enum { IN = CAMERA + 3 + 2 };

#if defined(__AVX512F__)
typedef long order __attribute__((vector_size(VEC_BYTES)));
#define MIX(a, b, ...) __builtin_shuffle(a, b, (order){__VA_ARGS__})

/* Eight rows of eight numbers become eight columns. */
static inline void transpose(vec_f64 *x) {
    vec_f64 t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = MIX(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        t[i + 1] = MIX(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = i; j < i + 2; j++) {
            u[j] = MIX(t[j], t[j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            u[j + 2] = MIX(t[j], t[j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        x[i] = MIX(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        x[i + 4] = MIX(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* Eight observations, a lane each: masked loads put the parts of a row side by side. */
static inline void columns(const c_bundle *b, long first, long lanes, vec_f64 *in) {
    for (long i = 0; i < L; i++) {
        const long at = first + (i < lanes ? i : 0);
        const double *camera = b->camera + (long)b->index[at] * CAMERA;
        const __m512d some = _mm512_maskz_loadu_pd(0x07, camera + 8);
        const __m512d more = _mm512_mask_loadu_pd(some, 0x38, b->point + (long)b->index[b->p + at] * 3 - 3);
        in[i] = load_f64(camera);
        in[8 + i] = (vec_f64)_mm512_mask_loadu_pd(more, 0xc0, b->feature + at * 2 - 6);
    }
    transpose(in);
    transpose(in + 8);
}

static inline void rows_of(vec_f64 *out, long lanes, double *rows) {
#pragma GCC unroll 4
    for (int from = 0; from < 2 * ROW; from += L) {
        transpose(out + from);
        for (long i = 0; i < lanes; i++)
            _mm512_mask_storeu_pd(rows + i * 2 * ROW + from, from + L <= 2 * ROW ? 0xff : 0x3f, (__m512d)out[from + i]);
    }
}
#else
static inline void columns(const c_bundle *b, long first, long lanes, vec_f64 *in) {
    for (long i = 0; i < L; i++) {
        const long at = first + (i < lanes ? i : 0);
        for (int j = 0; j < CAMERA; j++) in[j][i] = b->camera[(long)b->index[at] * CAMERA + j];
        for (int j = 0; j < 3; j++) in[CAMERA + j][i] = b->point[(long)b->index[b->p + at] * 3 + j];
        for (int j = 0; j < 2; j++) in[CAMERA + 3 + j][i] = b->feature[at * 2 + j];
    }
}

static inline void rows_of(vec_f64 *out, long lanes, double *rows) {
    for (long i = 0; i < lanes; i++)
        for (int j = 0; j < 2 * ROW; j++) rows[i * 2 * ROW + j] = out[j][i];
}
#endif

void c_bundle_jacobian(const c_bundle *b, double *rows, double *weights) {
    for (long first = 0; first < b->p; first += L) {
        const long lanes = b->p - first < L ? b->p - first : L;
        vec_f64 in[IN], out[2 * ROW + 2] = {{0}}; /* two more, for whole blocks */
        const vec_f64 weight = lanes == L ? load_f64(b->weight + first) : load_part_f64(b->weight + first, lanes);
        columns(b, first, lanes, in);
        jacobian(in, in + CAMERA, weight, in + CAMERA + 3, out, out + ROW);
        rows_of(out, lanes, rows + first * 2 * ROW);
        if (lanes == L)
            store_f64(weights + first, -2 * weight);
        else
            store_part_f64(weights + first, -2 * weight, lanes);
    }
}
