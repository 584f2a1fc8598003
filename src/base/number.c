#include "base/number.h"
#include "base/bigint.h"

#include <string.h>

/* A binary float is m * 2^e with m < 2^precision and e >= min_exponent; its
 * bits, without the sign, are ((e - min_exponent) << (precision - 1)) + m. */
typedef struct format {
    int precision, min_exponent, bits;
    uint64_t infinity, default_nan;
} format;

static const format f64_format = {53, -1074, 64, 0x7ff0000000000000u, 0x7ff8000000000000u};
static const format f32_format = {24, -149, 32, 0x7f800000u, 0x7fc00000u};

static uint64_t sign_bit(const format *f) { return (uint64_t)1 << (f->bits - 1); }

/* ---- binary to decimal ---- */

#define MAX_DIGITS 17

/* d0.d1d2... * 10^exponent */
typedef struct decimal {
    char digit[MAX_DIGITS];
    int count, exponent;
} decimal;

/* The value as num/den in [1, 10) times 10^exponent, and half the distances to
 * the neighbouring floats on the same scale; den is normalized for division. */
typedef struct scaled {
    tn_i_big num, den, below, above;
    int exponent;
    bool even; /* an even mantissa owns its rounding boundaries */
} scaled;

static int floor_log10_pow2(int e) { /* right for |e| < 1600 */
    const int product = e * 78913;
    return product >= 0 ? product / 262144 : -((262143 - product) / 262144);
}

static void big_mul10(tn_i_big *a) { tn_i_big_mul_add(a, 10, 0); }

static void normalize(scaled *s) {
    const int spare = (32 - tn_i_big_bits(&s->den) % 32) % 32;
    tn_i_big_shl(&s->num, spare);
    tn_i_big_shl(&s->den, spare);
    tn_i_big_shl(&s->below, spare);
    tn_i_big_shl(&s->above, spare);
}

/* Scales the float with these bits (finite, positive).  With `shortest` the
 * exponent is that of the upper rounding boundary, else that of the value. */
static void scale(scaled *s, const format *f, uint64_t bits, bool shortest) {
    const uint64_t hidden = (uint64_t)1 << (f->precision - 1), field = bits >> (f->precision - 1);
    const uint64_t m = (bits & (hidden - 1)) | (field ? hidden : 0);
    const int e = f->min_exponent + (field ? (int)field - 1 : 0);
    const bool narrow_below = m == hidden && field > 1;
    s->even = !(m & 1);
    tn_i_big_set(&s->num, m);
    tn_i_big_set(&s->den, 1);
    tn_i_big_set(&s->below, 1);
    tn_i_big_set(&s->above, narrow_below ? 2 : 1);
    s->exponent = floor_log10_pow2(e + tn_i_big_bits(&s->num) - 1);
    const int up = e - s->exponent, quarter = narrow_below ? 2 : 1;
    tn_i_big_shl(&s->num, quarter + (up > 0 ? up : 0));
    tn_i_big_shl(&s->den, quarter + (up < 0 ? -up : 0));
    tn_i_big_shl(&s->below, up > 0 ? up : 0);
    tn_i_big_shl(&s->above, up > 0 ? up : 0);
    if (s->exponent >= 0) {
        tn_i_big_mul_pow5(&s->den, s->exponent);
    } else {
        tn_i_big_mul_pow5(&s->num, -s->exponent);
        tn_i_big_mul_pow5(&s->below, -s->exponent);
        tn_i_big_mul_pow5(&s->above, -s->exponent);
    }
    tn_i_big ten = s->den;
    big_mul10(&ten);
    const int order = shortest ? tn_i_big_cmp_sum(&s->num, &s->above, &ten) : tn_i_big_cmp(&s->num, &ten);
    if (order > 0 || (order == 0 && (s->even || !shortest))) {
        s->den = ten;
        s->exponent++;
    }
    normalize(s);
}

static int cmp_half(const tn_i_big *rest, const tn_i_big *den) { return tn_i_big_cmp_sum(rest, rest, den); }

/* Digits until the next one could not matter to a reader (Steele and White;
 * Burger and Dybvig). */
static void shortest_digits(const format *f, uint64_t bits, decimal *d) {
    scaled s;
    scale(&s, f, bits, true);
    d->count = 0;
    d->exponent = s.exponent;
    for (;;) {
        uint32_t digit = tn_i_big_divmod(&s.num, &s.den);
        const int low = tn_i_big_cmp(&s.num, &s.below), high = tn_i_big_cmp_sum(&s.num, &s.above, &s.den);
        const bool down_reads_back = low < 0 || (low == 0 && s.even), up_reads_back = high > 0 || (high == 0 && s.even);
        if (down_reads_back && up_reads_back) {
            const int half = cmp_half(&s.num, &s.den);
            digit += half > 0 || (half == 0 && (digit & 1));
        } else if (up_reads_back) {
            digit++;
        }
        d->digit[d->count++] = (char)('0' + digit);
        if (down_reads_back || up_reads_back) return;
        big_mul10(&s.num);
        big_mul10(&s.below);
        big_mul10(&s.above);
    }
}

/* MAX_DIGITS digits, correctly rounded, without trailing zeros. */
static void fixed_digits(const format *f, uint64_t bits, decimal *d) {
    scaled s;
    scale(&s, f, bits, false);
    d->exponent = s.exponent;
    for (d->count = 0; d->count < MAX_DIGITS; d->count++) {
        if (d->count) big_mul10(&s.num);
        d->digit[d->count] = (char)('0' + tn_i_big_divmod(&s.num, &s.den));
    }
    const int half = cmp_half(&s.num, &s.den);
    if (half > 0 || (half == 0 && (d->digit[MAX_DIGITS - 1] & 1))) {
        int i = MAX_DIGITS - 1;
        while (i >= 0 && d->digit[i] == '9') d->digit[i--] = '0';
        if (i >= 0) {
            d->digit[i]++;
        } else {
            d->digit[0] = '1';
            d->exponent++;
        }
    }
    while (d->count > 1 && d->digit[d->count - 1] == '0') d->count--;
}

static char *put_text(char *p, const char *s) {
    while (*s) *p++ = *s++;
    return p;
}

static char *put_exponent(char *p, int e) {
    char digits[8];
    int n = 0;
    *p++ = 'e';
    *p++ = e < 0 ? '-' : '+';
    for (e = e < 0 ? -e : e; e || n < 2; e /= 10) digits[n++] = (char)('0' + e % 10);
    while (n) *p++ = digits[--n];
    return p;
}

static char *put_digits(char *p, const decimal *d, int from, int to) {
    for (int i = from; i < to; i++) *p++ = i < d->count ? d->digit[i] : '0';
    return p;
}

/* Plain while 10^-4 <= value < 10^limit, else with an exponent; `point` asks
 * for ".0" where a plain number would look like an integer. */
static char *put_decimal(char *p, const decimal *d, int limit, bool point) {
    if (d->exponent < -4 || d->exponent >= limit) {
        p = put_digits(p, d, 0, 1);
        if (d->count > 1) p = put_digits(put_text(p, "."), d, 1, d->count);
        return put_exponent(p, d->exponent);
    }
    if (d->exponent < 0) {
        p = put_text(p, "0.");
        for (int i = -1; i > d->exponent; i--) *p++ = '0';
        return put_digits(p, d, 0, d->count);
    }
    const int whole = d->exponent + 1;
    p = put_digits(p, d, 0, whole);
    if (d->count > whole) return put_digits(put_text(p, "."), d, whole, d->count);
    return point ? put_text(p, ".0") : p;
}

static char *put_nan(char *p, const format *f, uint64_t bits) {
    p = put_text(p, "nan");
    if (bits == f->default_nan) return p;
    p = put_text(p, ":0x");
    for (int shift = f->bits - 4; shift >= 0; shift -= 4) *p++ = "0123456789abcdef"[(bits >> shift) & 15];
    return p;
}

static size_t format_bits(char *buf, const format *f, uint64_t bits) {
    char *p = buf;
    const uint64_t magnitude = bits & ~sign_bit(f);
    decimal d = {{'0'}, 1, 0};
    if (magnitude > f->infinity) {
        p = put_nan(p, f, bits);
    } else {
        if (bits != magnitude) *p++ = '-';
        if (magnitude == f->infinity) {
            p = put_text(p, "inf");
        } else {
            if (magnitude) shortest_digits(f, magnitude, &d);
            p = put_decimal(p, &d, 16, true);
        }
    }
    *p = '\0';
    return (size_t)(p - buf);
}

size_t tn_i_format_f64(char buf[TN_I_NUMBER_TEXT], double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return format_bits(buf, &f64_format, bits);
}

size_t tn_i_format_f32(char buf[TN_I_NUMBER_TEXT], float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return format_bits(buf, &f32_format, bits);
}

size_t tn_i_format_json_f64(char buf[TN_I_NUMBER_TEXT], double x) {
    const format *f = &f64_format;
    char *p = buf;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t magnitude = bits & ~sign_bit(f);
    decimal d = {{'0'}, 1, 0};
    if (magnitude > f->infinity) {
        p = put_text(p, "NaN");
    } else {
        if (bits != magnitude) *p++ = '-';
        if (magnitude == f->infinity) {
            p = put_text(p, "Infinity");
        } else {
            if (magnitude) fixed_digits(f, magnitude, &d);
            p = put_decimal(p, &d, MAX_DIGITS, false);
        }
    }
    *p = '\0';
    return (size_t)(p - buf);
}

/* ---- text to binary ---- */

typedef struct span {
    const char *at, *end;
} span;

static bool take(span *s, const char *word) {
    const size_t n = strlen(word);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0) return false;
    s->at += n;
    return true;
}

static bool take_either(span *s, char a, char b) {
    if (s->at == s->end || (*s->at != a && *s->at != b)) return false;
    s->at++;
    return true;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Far beyond every exponent that matters, yet safe to add digit counts to. */
#define EXPONENT_LIMIT ((int64_t)1 << 60)

/* An optional exponent up to the end of the span. */
static bool take_exponent(span *s, char lower, char upper, int64_t *exponent) {
    *exponent = 0;
    if (s->at == s->end) return true;
    if (!take_either(s, lower, upper)) return false;
    const bool negative = take(s, "-");
    if (!negative) take(s, "+");
    if (s->at == s->end) return false;
    for (; s->at < s->end; s->at++) {
        if (!is_digit(*s->at)) return false;
        if (*exponent < EXPONENT_LIMIT / 16) *exponent = *exponent * 10 + (*s->at - '0');
    }
    if (negative) *exponent = -*exponent;
    return true;
}

/* The float nearest to (q + a fraction) * 2^e, where q >= 2^63 and `rest` says
 * that the fraction is not zero; also right when q's last bit belongs to the
 * fraction, as it is far below the rounding position. */
static uint64_t round_bits(const format *f, uint64_t q, bool rest, int64_t e) {
    const int64_t normal = e + 64 - f->precision;
    const int64_t lsb = normal > f->min_exponent ? normal : f->min_exponent;
    const int64_t shift = lsb - e;
    if (e > 2000) return f->infinity;
    if (shift > 64) return 0;
    const uint64_t half = (uint64_t)1 << (shift - 1);
    const uint64_t low = shift == 64 ? q : q & (half * 2 - 1);
    uint64_t m = shift == 64 ? 0 : q >> shift;
    m += low > half || (low == half && (rest || (m & 1)));
    const uint64_t bits = ((uint64_t)(lsb - f->min_exponent) << (f->precision - 1)) + m;
    return bits < f->infinity ? bits : f->infinity;
}

static bool parse_hex(span s, const format *f, uint64_t *bits) {
    uint64_t q = 0;
    int64_t e = 0, exponent;
    bool point = false, rest = false, any = false;
    for (; s.at < s.end; s.at++) {
        const int digit = hex_value(*s.at);
        if (*s.at == '.' && !point) {
            point = true;
            continue;
        }
        if (digit < 0) break;
        any = true;
        if (q >> 60) {
            rest |= digit != 0;
            e += point ? 0 : 4;
        } else {
            q = q * 16 + (uint64_t)digit;
            e -= point ? 4 : 0;
        }
    }
    if (!any || !take_exponent(&s, 'p', 'P', &exponent)) return false;
    *bits = 0;
    if (q == 0) return true;
    for (; !(q >> 63); q <<= 1) e--;
    *bits = round_bits(f, q, rest, e + exponent);
    return true;
}

/* Halfway points between doubles have at most 767 significant digits; of what
 * comes after these, only whether it is zero can matter. */
#define KEPT_DIGITS 800

/* digits * 10^exponent, digits being an integer of at most `kept` digits. */
typedef struct digits {
    tn_i_big value;
    int64_t exponent;
    int kept;
} digits;

static bool take_digits(span *s, digits *d) {
    uint32_t chunk = 0, chunk_scale = 1;
    bool point = false, rest = false, any = false;
    tn_i_big_set(&d->value, 0);
    d->exponent = 0;
    d->kept = 0;
    for (; s->at < s->end; s->at++) {
        const char c = *s->at;
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(c)) break;
        any = true;
        d->exponent -= point;
        if (c == '0' && d->kept == 0) continue;
        if (d->kept == KEPT_DIGITS) {
            rest |= c != '0';
            d->exponent++;
            continue;
        }
        d->kept++;
        chunk = chunk * 10 + (uint32_t)(c - '0');
        chunk_scale *= 10;
        if (chunk_scale == 1000000000u) {
            tn_i_big_mul_add(&d->value, chunk_scale, chunk);
            chunk = 0;
            chunk_scale = 1;
        }
    }
    tn_i_big_mul_add(&d->value, chunk_scale, chunk);
    if (rest) {
        tn_i_big_mul_add(&d->value, 10, 1);
        d->exponent--;
        d->kept++;
    }
    return any;
}

/* num/den to 64 bits: returns q >= 2^63 with num/den = (q + fraction) * 2^*e. */
static uint64_t quotient64(tn_i_big *num, tn_i_big *den, int *e, bool *rest) {
    const int spare = (32 - tn_i_big_bits(den) % 32) % 32;
    tn_i_big_shl(den, spare);
    const int shift = tn_i_big_bits(den) - tn_i_big_bits(num) + 63;
    if (shift >= 32) {
        tn_i_big_shl(num, shift - 32);
    } else { /* a whole number of limbs, so that den stays normalized */
        const int limbs = (63 - shift) / 32;
        tn_i_big_shl(den, limbs * 32);
        tn_i_big_shl(num, shift - 32 + limbs * 32);
    }
    uint64_t q = (uint64_t)tn_i_big_divmod(num, den) << 32;
    tn_i_big_shl(num, 32);
    q |= tn_i_big_divmod(num, den);
    *rest = num->n > 0;
    *e = spare - shift;
    if (!(q >> 63)) {
        q <<= 1;
        --*e;
    }
    return q;
}

static bool parse_decimal(span s, const format *f, uint64_t *bits) {
    digits d;
    int64_t exponent;
    int e = 0;
    bool rest;
    uint64_t q;
    if (!take_digits(&s, &d) || !take_exponent(&s, 'e', 'E', &exponent)) return false;
    exponent += d.exponent;
    const int64_t point = exponent + d.kept; /* 10^(point-1) <= value < 10^point */
    *bits = 0;
    if (d.kept == 0 || point < -330) return true;
    if (point > 310) {
        *bits = f->infinity;
        return true;
    }
    if (exponent >= 0) {
        tn_i_big_mul_pow5(&d.value, (int)exponent);
        const int bits_in = tn_i_big_bits(&d.value), up = bits_in < 64 ? 64 - bits_in : 0;
        tn_i_big_shl(&d.value, up);
        e = tn_i_big_bits(&d.value) - 64 - up;
        q = tn_i_big_top64(&d.value, &rest);
    } else {
        tn_i_big den;
        tn_i_big_set(&den, 1);
        tn_i_big_mul_pow5(&den, (int)-exponent);
        q = quotient64(&d.value, &den, &e, &rest);
    }
    *bits = round_bits(f, q, rest, e + exponent);
    return true;
}

static bool parse_nan_bits(span s, const format *f, uint64_t *bits) {
    *bits = 0;
    if (s.at == s.end || (s.end - s.at) * 4 > f->bits) return false;
    for (; s.at < s.end; s.at++) {
        const int digit = hex_value(*s.at);
        if (digit < 0) return false;
        *bits = (*bits << 4) | (uint64_t)digit;
    }
    return (*bits & ~sign_bit(f)) > f->infinity;
}

static bool parse_bits(const char *text, size_t n, const format *f, uint64_t *bits) {
    span s = {text, text + n};
    if (take(&s, "nan:0x")) return parse_nan_bits(s, f, bits);
    const bool negative = take(&s, "-");
    if (!negative) take(&s, "+");
    bool ok;
    if (take(&s, "Infinity") || take(&s, "inf")) {
        *bits = f->infinity;
        ok = s.at == s.end;
    } else if (take(&s, "NaN") || take(&s, "nan")) {
        *bits = f->default_nan;
        ok = s.at == s.end;
    } else if (take(&s, "0x") || take(&s, "0X")) {
        ok = parse_hex(s, f, bits);
    } else {
        ok = parse_decimal(s, f, bits);
    }
    if (ok && negative) *bits |= sign_bit(f);
    return ok;
}

bool tn_i_parse_f64(const char *s, size_t n, double *out) {
    uint64_t bits;
    if (!parse_bits(s, n, &f64_format, &bits)) return false;
    memcpy(out, &bits, sizeof bits);
    return true;
}

bool tn_i_parse_f32(const char *s, size_t n, float *out) {
    uint64_t bits;
    if (!parse_bits(s, n, &f32_format, &bits)) return false;
    const uint32_t low = (uint32_t)bits;
    memcpy(out, &low, sizeof low);
    return true;
}

bool tn_i_parse_i64(const char *text, size_t n, int64_t *out) {
    span s = {text, text + n};
    const bool negative = take(&s, "-");
    if (!negative) take(&s, "+");
    const uint64_t limit = (uint64_t)INT64_MAX + negative;
    uint64_t x = 0;
    if (s.at == s.end) return false;
    for (; s.at < s.end; s.at++) {
        if (!is_digit(*s.at)) return false;
        const uint64_t digit = (uint64_t)(*s.at - '0');
        if (x > (limit - digit) / 10) return false;
        x = x * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - x) : (int64_t)x;
    return true;
}
