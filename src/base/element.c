/* One element of an array: its bits, its number and its text; numbers of dtypes that are computed with as another one.
 */
#include "base/base.h"
#include "base/number.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bits of an exponent and of a mantissa. */
static int exponent_of(int dtype) { return dtype == TN_F16 ? 5 : 8; }
static int mantissa_of(int dtype) { return 15 - exponent_of(dtype); }

uint16_t tn_i_half_of(int dtype, double x) {
    const int exponent = exponent_of(dtype), mantissa = mantissa_of(dtype), bias = (1 << (exponent - 1)) - 1;
    const uint32_t infinite = ((UINT32_C(1) << exponent) - 1) << mantissa, sign = signbit(x) ? 0x8000u : 0;
    const double size = fabs(x);
    int e = 0;
    if (x != x) return (uint16_t)(sign | infinite | UINT32_C(1) << (mantissa - 1));
    if (size == 0) return (uint16_t)sign;
    if (size == (double)INFINITY) return (uint16_t)(sign | infinite);
    (void)frexp(size, &e); /* size < 2^e */
    const int least = e - 1 < 1 - bias ? 1 - bias : e - 1;
    const double units = ldexp(size, mantissa - least), whole = floor(units), rest = units - whole;
    const bool up = rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1);
    if (e - 1 > bias) return (uint16_t)(sign | infinite);
    /* a mantissa that becomes a power of 2 carries into the exponent */
    const uint32_t bits = (uint32_t)whole + up;
    const uint32_t above = (uint32_t)(least + bias - 1) << mantissa; /* the mantissa has its first 1 */
    return (uint16_t)(sign | (above + bits < infinite ? above + bits : infinite));
}

double tn_i_of_half(int dtype, uint16_t bits) {
    const int exponent = exponent_of(dtype), mantissa = mantissa_of(dtype), bias = (1 << (exponent - 1)) - 1;
    const int e = bits >> mantissa & ((1 << exponent) - 1), m = bits & ((1 << mantissa) - 1);
    double x = e == 0 ? ldexp(m, 1 - bias - mantissa) : ldexp(m + (1 << mantissa), e - bias - mantissa);
    if (e == (1 << exponent) - 1) x = m ? (double)NAN : (double)INFINITY;
    return bits & 0x8000u ? -x : x;
}

uint64_t tn_i_held_bits(int dtype, uint64_t bits) {
    uint32_t low;
    switch (dtype) {
    case TN_I8: low = (uint32_t)(int8_t)(uint8_t)bits; return low;
    case TN_I16: low = (uint32_t)(int16_t)(uint16_t)bits; return low;
    case TN_F16:
    case TN_BF16: {
        const float x = (float)tn_i_of_half(dtype, (uint16_t)bits);
        memcpy(&low, &x, sizeof low);
        return low;
    }
    default: return bits;
    }
}

uint64_t tn_i_stored_bits(int dtype, uint64_t held) {
    const uint32_t low = (uint32_t)held;
    float x;
    switch (dtype) {
    case TN_I8:
    case TN_U8: return held & 0xff;
    case TN_I16:
    case TN_U16: return held & 0xffff;
    case TN_F16:
    case TN_BF16: memcpy(&x, &low, sizeof x); return tn_i_half_of(dtype, (double)x);
    default: return held;
    }
}

/* ---- ends ---- */

double tn_i_greatest(int dtype) {
    switch (dtype) {
    case TN_F64: return DBL_MAX;
    case TN_F32: return (double)FLT_MAX;
    case TN_F16: return 0x1.ffcp15;
    default: return 0x1.fep127;
    }
}

uint64_t tn_i_extreme_bits(int dtype, bool largest) {
    const int width = (int)tn_i_dtype_size(dtype) * 8;
    unsigned char at[8];
    if (dtype == TN_BOOL) return largest;
    if (tn_i_is_float(dtype)) {
        tn_i_element_set(dtype, at, largest ? (double)INFINITY : -(double)INFINITY);
        return tn_i_bits_at(dtype, at);
    }
    const uint64_t all = UINT64_MAX >> (64 - width), first = (uint64_t)1 << (width - 1);
    if (tn_i_is_unsigned(dtype)) return largest ? all : 0;
    return largest ? all ^ first : first;
}

/* ---- in memory ---- */

void tn_i_put_bits(int dtype, void *at, uint64_t bits) {
    const uint8_t b = (uint8_t)bits;
    const uint16_t h = (uint16_t)bits;
    const uint32_t w = (uint32_t)bits;
    switch (tn_i_dtype_size(dtype)) {
    case 1: memcpy(at, &b, sizeof b); return;
    case 2: memcpy(at, &h, sizeof h); return;
    case 4: memcpy(at, &w, sizeof w); return;
    default: memcpy(at, &bits, sizeof bits);
    }
}

uint64_t tn_i_bits_at(int dtype, const void *at) {
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t bits;
    switch (tn_i_dtype_size(dtype)) {
    case 1: memcpy(&b, at, sizeof b); return b;
    case 2: memcpy(&h, at, sizeof h); return h;
    case 4: memcpy(&w, at, sizeof w); return w;
    default: memcpy(&bits, at, sizeof bits); return bits;
    }
}

static float single_at(int dtype, const void *at) {
    const uint32_t bits = (uint32_t)tn_i_held_bits(dtype, tn_i_bits_at(dtype, at));
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Of an integer that is not u64. */
static int64_t whole_at(int dtype, const void *at) {
    const uint64_t bits = tn_i_held_bits(dtype, tn_i_bits_at(dtype, at));
    return tn_i_holder(dtype) == TN_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

double tn_i_element(int dtype, const void *at) {
    double x;
    if (dtype == TN_F64) return memcpy(&x, at, sizeof x), x;
    if (tn_i_is_float(dtype)) return (double)single_at(dtype, at);
    return dtype == TN_U64 ? (double)tn_i_bits_at(dtype, at) : (double)whole_at(dtype, at);
}

void tn_i_element_set(int dtype, void *at, double x) {
    const float single = (float)x;
    if (dtype == TN_F64)
        memcpy(at, &x, sizeof x);
    else if (dtype == TN_F32)
        memcpy(at, &single, sizeof single);
    else if (tn_i_is_half(dtype))
        tn_i_put_bits(dtype, at, tn_i_half_of(dtype, x));
    else if (dtype == TN_U64 && x >= 0x1p63)
        tn_i_put_bits(dtype, at, (uint64_t)x);
    else
        tn_i_put_bits(dtype, at, dtype == TN_BOOL ? x != 0 : (uint64_t)(int64_t)x);
}

size_t tn_i_element_text(char text[TN_I_ELEMENT_TEXT], int dtype, const void *at) {
    int n;
    if (dtype == TN_F64) return tn_i_format_f64(text, tn_i_element(dtype, at));
    if (tn_i_is_float(dtype)) return tn_i_format_f32(text, single_at(dtype, at));
    if (dtype == TN_BOOL)
        n = snprintf(text, TN_I_ELEMENT_TEXT, "%s", tn_i_bits_at(dtype, at) ? "True" : "False");
    else if (dtype == TN_U64)
        n = snprintf(text, TN_I_ELEMENT_TEXT, "%" PRIu64, tn_i_bits_at(dtype, at));
    else
        n = snprintf(text, TN_I_ELEMENT_TEXT, "%" PRId64, whole_at(dtype, at));
    return n > 0 ? (size_t)n : 0;
}

/* ---- of text ---- */

/* Digits alone; of those a u64 may have more than an i64. */
static bool natural(const char *text, size_t n, uint64_t *bits) {
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (x > (UINT64_MAX - digit) / 10) return false;
        x = 10 * x + digit;
    }
    *bits = x;
    return n > 0;
}

bool tn_i_whole_bits(int dtype, const char *text, size_t n, uint64_t *bits) {
    int64_t x;
    const int width = (int)tn_i_dtype_size(dtype) * 8;
    if (dtype == TN_U64 && natural(text, n, bits)) return true;
    if (!tn_i_parse_i64(text, n, &x) || (x < 0 && tn_i_is_unsigned(dtype))) return false;
    if (width < 64) {
        const int64_t most = ((int64_t)1 << (width - !tn_i_is_unsigned(dtype))) - 1;
        if (x > most || x < -most - 1) return false;
    }
    *bits = width < 64 ? (uint64_t)x & (((uint64_t)1 << width) - 1) : (uint64_t)x;
    return true;
}

bool tn_i_float_bits(int dtype, const char *text, size_t n, uint64_t *bits) {
    double x;
    float single;
    const bool ok = dtype == TN_F32 ? tn_i_parse_f32(text, n, &single) : tn_i_parse_f64(text, n, &x);
    if (!ok) return false;
    *bits = tn_i_is_half(dtype) ? tn_i_half_of(dtype, x)
                                : tn_i_bits_at(dtype, dtype == TN_F32 ? (const void *)&single : &x);
    return true;
}
