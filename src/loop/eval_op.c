/* Scalar operations that are no primitive's, one number at a time. */
#include "loop/inside.h"

#include <math.h>
#include <string.h>

static double f64_of(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}
static float f32_of(uint64_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static uint64_t bits_f64(double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof d);
    return bits;
}
static uint64_t bits_f32(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof f);
    return bits;
}

static int64_t signed_of(int dtype, uint64_t x) {
    return dtype == TN_I32    ? (int32_t)(uint32_t)x
           : dtype == TN_U32  ? (int64_t)(uint32_t)x
           : dtype == TN_BOOL ? (int64_t)(x & 1)
                              : (int64_t)x;
}

/* The later one where it is greater (less), or no number. */
static bool replaces(int dtype, uint64_t x, uint64_t y, bool greater) {
    if (dtype == TN_F64) {
        const double a = f64_of(x), b = f64_of(y);
        return (greater ? b > a : b < a) || b != b;
    }
    if (dtype == TN_F32) {
        const float a = f32_of(x), b = f32_of(y);
        return (greater ? b > a : b < a) || b != b;
    }
    const int64_t a = signed_of(dtype, x), b = signed_of(dtype, y);
    return greater ? b > a : b < a;
}

uint64_t tn_i_l_fold(int fold, int dtype, uint64_t x, uint64_t y) {
    const bool sum = fold == TN_FOLD_SUM;
    if (fold >= TN_FOLD_MAX) return replaces(dtype, x, y, fold == TN_FOLD_MAX) ? y : x;
    switch (dtype) {
    case TN_F64: return bits_f64(sum ? f64_of(x) + f64_of(y) : f64_of(x) * f64_of(y));
    case TN_F32: return bits_f32(sum ? f32_of(x) + f32_of(y) : f32_of(x) * f32_of(y));
    case TN_I32:
    case TN_U32: return (uint32_t)(sum ? x + y : x * y);
    default: return sum ? x + y : x * y;
    }
}

static bool is_nan(int dtype, uint64_t bits) {
    const double d = f64_of(bits);
    const float f = f32_of(bits);
    return dtype == TN_F64 ? d != d : dtype == TN_F32 && f != f;
}

bool tn_i_l_better(int fold, int dtype, bool first, uint64_t best, uint64_t x) {
    return first || (!is_nan(dtype, best) && replaces(dtype, best, x, fold == TN_FOLD_ARGMAX));
}

static uint64_t zeros_below(uint64_t x, uint64_t width) {
    uint64_t n = 0;
    while (n < width && !(x >> n & 1)) n++;
    return n;
}

uint64_t tn_i_l_compute(int code, int from, int dtype, uint64_t x, uint64_t y) {
    const uint64_t width = tn_i_dtype_size(from) * 8, mask = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;
    const int memory = tn_i_l_fits(code);
    (void)dtype;
    if (memory >= 0) {
        tn_i_l_put(memory, &y, 0, x);
        return tn_i_l_get(memory, &y, 0);
    }
    switch (code) {
    case TN_L_fold_max: return tn_i_l_fold(TN_FOLD_MAX, from, x, y);
    case TN_L_fold_min: return tn_i_l_fold(TN_FOLD_MIN, from, x, y);
    case TN_L_shl: return x << (y & (width - 1)) & mask;
    case TN_L_shr: return (x & mask) >> (y & (width - 1));
    case TN_L_ctz: return zeros_below(x, width);
    case TN_L_signbit: return x >> (width - 1) & 1;
    default: return x; /* bits */
    }
}
