/* The equations that a discrete Fourier transform is when it runs.
 *
 * It is no kernel: what a factorization of n says is vectorized, emitted as C, run in f32 and f64 and on several
 * threads as all else is.  A transform runs along the first dimension of [n, inner]: a stage of radix r (8, 4, 2, 3, 5
 * and odd primes up to LARGEST) makes r arrays of parts of its operand, each of which is dense in the result that joins
 * them, and after the last stage all are in order (decimation in frequency, digits from the front).  Where n is long
 * and `inner` short there is a transposition about half way, so that the later stages have long loops as well: what is
 * done then is their inner dimension.  What is along another dimension is transposed before and behind.  Where n has a
 * larger prime factor, the transform is a convolution with exp(i pi j^2 / n) (Bluestein's), of a length that has none.
 *
 * What is computed depends on n alone, where it stands on the batch, too. */
#include "prims/linear/fft.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

#include <math.h>
#include <string.h>

enum {
    LARGEST = 13, /* prime factors above are left to Bluestein's: a stage of r costs r^2 / 2 operations of r numbers */
    INNER = 8,    /* elements of an inner dimension that make a vector */
    SHORT = 32,   /* below it there is no transposition half way */
    PIECE = 4096, /* elements of a batch that are transformed together, at most: all of its stages find them in cache */
    LEAST = 512   /* and at least: a step of a loop has a price, too */
};

/* ---- numbers --------------------------------------------------------------------------------- */

/* cos and sin of 2 pi k / n, 0 <= k < n, of an angle of at most pi/4. */
static void turn(uint64_t k, uint64_t n, double *c, double *s) {
    const long double half_pi = 1.57079632679489661923132169163975144L;
    const uint64_t quarters = (8 * k / n + 1) / 2; /* n < 2^60 */
    const long double left = half_pi * (long double)((int64_t)(4 * k) - (int64_t)(quarters * n)) / (long double)n;
    const double x = (double)cosl(left), y = (double)sinl(left);
    *c = quarters % 4 == 0 ? x : quarters % 4 == 1 ? -y : quarters % 4 == 2 ? -x : y;
    *s = quarters % 4 == 0 ? y : quarters % 4 == 1 ? x : quarters % 4 == 2 ? -y : -x;
}

/* exp(sign 2 pi i power(j) / n) for j < count, as constants [count]. */
typedef struct phases {
    int64_t count, n;
    int sign;
    int64_t times; /* j `times`; 0: j^2, and of the half of an angle */
} phases;

static tn_i_complex constant_phases(tn_i_builder *b, int dtype, const phases *f) {
    const size_t count = (size_t)f->count;
    double *c = tn_i_alloc_array(b->ctx, 2 * count, sizeof *c), *s = c + count;
    tn_i_complex out = {TN_NOVAR, TN_NOVAR};
    const uint64_t n = (uint64_t)f->n;
    uint64_t square = 0; /* j^2 modulo n */
    if (!c) b->failed = true;
    for (int64_t j = 0; c && j < f->count; j++) {
        turn(f->times ? (uint64_t)j * (uint64_t)f->times % n : square, n, &c[j], &s[j]);
        s[j] *= f->sign;
        square = (square + 2 * (uint64_t)j + 1) % n;
    }
    if (c) {
        out.re = tn_i_constant_f64(b, dtype, f->count, c);
        out.im = tn_i_constant_f64(b, dtype, f->count, s);
    }
    tn_i_free(b->ctx, c, 2 * count * sizeof *c);
    return out;
}

/* ---- arrays [batch, n, inner] ------------------------------------------------------------------ */

static tn_i_complex reshaped(tn_i_builder *b, tn_i_complex z, int rank, const int64_t *shape) {
    z.re = tn_i_reshape(b, z.re, rank, shape);
    if (z.im != TN_NOVAR) z.im = tn_i_reshape(b, z.im, rank, shape);
    return z;
}

static tn_i_var along_one(tn_i_builder *b, tn_i_var x, int at, int64_t start, int64_t count) {
    return b->failed || x == TN_NOVAR ? TN_NOVAR : tn_i_slice_dimension(b, x, at, start, 1, count);
}

static tn_i_complex along(tn_i_builder *b, tn_i_complex z, int at, int64_t start, int64_t count) {
    z.re = along_one(b, z.re, at, start, count);
    z.im = along_one(b, z.im, at, start, count);
    return z;
}

static tn_i_complex joined(tn_i_builder *b, uint32_t n, const tn_i_complex *z, int64_t dimension) {
    tn_i_var re[LARGEST + 1], im[LARGEST + 1];
    for (uint32_t i = 0; i < n; i++) re[i] = z[i].re, im[i] = z[i].im;
    tn_i_complex all;
    all.re = tn_i_concatenate(b, n, re, dimension);
    all.im = tn_i_concatenate(b, n, im, dimension);
    return all;
}

/* z times w[dim d of z], w of one dimension. */
static tn_i_complex by_phases(tn_i_builder *b, tn_i_complex z, tn_i_complex w, int64_t d) {
    if (b->failed) return z;
    const tn_type t = *tn_i_vtype(b, z.re);
    w.re = tn_i_broadcast(b, w.re, t.rank, t.dim, &d);
    w.im = tn_i_broadcast(b, w.im, t.rank, t.dim, &d);
    return tn_i_complex_mul(b, z, w);
}

static tn_i_complex permuted(tn_i_builder *b, tn_i_complex z, const int64_t *order) {
    z.re = tn_i_permute(b, z.re, order);
    z.im = tn_i_permute(b, z.im, order);
    return z;
}

/* The other way round along the middle dimension. */
static tn_i_complex reversed(tn_i_builder *b, tn_i_complex z) {
    static const int64_t middle = 1;
    z.re = tn_i_rev(b, z.re, 1, &middle);
    z.im = tn_i_rev(b, z.im, 1, &middle);
    return z;
}

/* ---- stages ---------------------------------------------------------------------------------------- */

static void of_two(tn_i_builder *b, tn_i_complex *x) {
    const tn_i_complex sum = tn_i_complex_add(b, x[0], x[1]);
    x[1] = tn_i_complex_sub(b, x[0], x[1]);
    x[0] = sum;
}

static void of_four(tn_i_builder *b, int sign, tn_i_complex *x) {
    tn_i_complex even[2] = {x[0], x[2]}, odd[2] = {x[1], x[3]};
    of_two(b, even);
    of_two(b, odd);
    odd[1] = tn_i_complex_by_i(b, odd[1], sign);
    x[0] = tn_i_complex_add(b, even[0], odd[0]);
    x[1] = tn_i_complex_add(b, even[1], odd[1]);
    x[2] = tn_i_complex_sub(b, even[0], odd[0]);
    x[3] = tn_i_complex_sub(b, even[1], odd[1]);
}

/* z times exp(sign 2 pi i k / 8), k = 1 or 3. */
static tn_i_complex by_eighths(tn_i_builder *b, tn_i_complex z, int sign, int k) {
    const tn_i_complex turned = tn_i_complex_by_i(b, z, sign);
    const tn_i_complex sum = k == 1 ? tn_i_complex_add(b, turned, z) : tn_i_complex_sub(b, turned, z);
    return tn_i_complex_scale(b, sum, 0.70710678118654752440);
}

static void of_eight(tn_i_builder *b, int sign, tn_i_complex *x) {
    tn_i_complex even[4], odd[4];
    for (int k = 0; k < 4; k++) {
        even[k] = tn_i_complex_add(b, x[k], x[k + 4]);
        odd[k] = tn_i_complex_sub(b, x[k], x[k + 4]);
    }
    of_four(b, sign, even);
    odd[1] = by_eighths(b, odd[1], sign, 1);
    odd[2] = tn_i_complex_by_i(b, odd[2], sign);
    odd[3] = by_eighths(b, odd[3], sign, 3);
    of_four(b, sign, odd);
    for (int k = 0; k < 4; k++) x[2 * k] = even[k], x[2 * k + 1] = odd[k];
}

/* x + k y */
static tn_i_complex more(tn_i_builder *b, tn_i_complex x, double k, tn_i_complex y) {
    const tn_i_var by = tn_i_number_like(b, y.re, k);
    x.re = tn_i_fma(b, TN_FMA_ADD, y.re, by, x.re);
    x.im = tn_i_fma(b, TN_FMA_ADD, y.im, by, x.im);
    return x;
}

/* Sums and differences of x[k] and x[r - k] have the cosines and the sines. */
static void of_odd(tn_i_builder *b, int sign, int r, tn_i_complex *x) {
    tn_i_complex sum[LARGEST / 2 + 1], difference[LARGEST / 2 + 1], out[LARGEST];
    const int half = r / 2;
    out[0] = x[0];
    for (int k = 1; k <= half; k++) {
        sum[k] = tn_i_complex_add(b, x[k], x[r - k]);
        difference[k] = tn_i_complex_sub(b, x[k], x[r - k]);
        out[0] = tn_i_complex_add(b, out[0], sum[k]);
    }
    for (int j = 1; j <= half; j++) {
        tn_i_complex even = x[0], odd = {TN_NOVAR, TN_NOVAR};
        for (int k = 1; k <= half; k++) {
            double c, s;
            turn((uint64_t)(j * k % r), (uint64_t)r, &c, &s);
            even = more(b, even, c, sum[k]);
            odd = k == 1 ? tn_i_complex_scale(b, difference[1], sign * s) : more(b, odd, sign * s, difference[k]);
        }
        odd = tn_i_complex_by_i(b, odd, 1);
        out[j] = tn_i_complex_add(b, even, odd);
        out[r - j] = tn_i_complex_sub(b, even, odd);
    }
    memcpy(x, out, (size_t)r * sizeof *x);
}

/* [done, n, inner] -> [r done, n / r, inner] */
static tn_i_complex stage(tn_i_builder *b, int sign, int r, tn_i_complex z, tn_i_fft_shape *s) {
    const int64_t m = s->v[1] / r, split[4] = {s->v[0], r, m, s->v[2]}, one[3] = {s->v[0], m, s->v[2]},
                  out[3] = {r * s->v[0], m, s->v[2]};
    tn_i_complex x[LARGEST + 1] = {{TN_NOVAR, TN_NOVAR}};
    z = reshaped(b, z, 4, split);
    for (int j = 0; j < r; j++) x[j] = reshaped(b, along(b, z, 1, j, 1), 3, one);
    if (r == 8)
        of_eight(b, sign, x);
    else if (r == 4)
        of_four(b, sign, x);
    else if (r == 2)
        of_two(b, x);
    else
        of_odd(b, sign, r, x);
    for (int j = 1; j < r && m > 1 && !b->failed; j++) {
        const phases f = {.count = m, .n = s->v[1], .sign = sign, .times = j};
        x[j] = by_phases(b, x[j], constant_phases(b, tn_i_vtype(b, z.re)->dtype, &f), 1);
    }
    z = joined(b, (uint32_t)r, x, 0);
    memcpy(s->v, out, sizeof out);
    return z;
}

/* A factor of n to begin with, or 0 where all are too large.  Powers of two are eights and at most two fours, where
 * they can be: as few stages as there may be. */
static int radix(int64_t n) {
    static const int odd[] = {3, 5, 7, 11, 13};
    int twos = 0;
    while (twos < 62 && n % ((int64_t)2 << twos) == 0) twos++;
    if (twos > 0) return twos < 3 ? 2 * twos : twos % 3 == 1 ? 4 : 8;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (n % odd[i] == 0) return odd[i];
    return 0;
}

/* What is left of n when all small factors are out: 1 where there are no others. */
static int64_t rough(int64_t n) {
    for (int r; n > 1 && (r = radix(n)) != 0;) n /= r;
    return n;
}

/* ---- lengths ---------------------------------------------------------------------------------------- */

static tn_i_complex transform(tn_i_builder *b, int sign, tn_i_complex z, tn_i_fft_shape s);

/* What the first stages of n leave, where they have done the nearest to its root. */
static int64_t half_of(int64_t n) {
    int64_t done = 1, left = n;
    while (left > 1) {
        const int64_t next = done * radix(left);
        /* next, as far above the root as done is below it, is as good */
        if (next * done > n) break;
        done = next;
        left = n / done;
    }
    return left;
}

/* Stages until `until` is left: [done, n, inner]. */
static tn_i_complex in_stages(tn_i_builder *b, int sign, tn_i_complex z, tn_i_fft_shape *s, int64_t until) {
    while (s->v[1] > until && !b->failed) z = stage(b, sign, radix(s->v[1]), z, s);
    return z;
}

/* Along the first dimension of [n, inner], whose factors are small. */
static tn_i_complex along_first(tn_i_builder *b, int sign, tn_i_complex z, int64_t n, int64_t inner) {
    static const int64_t swapped[3] = {1, 0, 2};
    const int64_t all[2] = {n, inner};
    tn_i_fft_shape s = {{1, n, inner}};
    if (n >= SHORT && inner < INNER) {
        z = in_stages(b, sign, z, &s, half_of(n));
        z = permuted(b, reshaped(b, z, 3, s.v), swapped);
        s = (tn_i_fft_shape){{1, s.v[1], s.v[0] * inner}};
    }
    return reshaped(b, in_stages(b, sign, z, &s, 1), 2, all);
}

/* Of [batch, n, inner], with the batch behind n. */
static tn_i_complex of_batch(tn_i_builder *b, int sign, tn_i_complex z, tn_i_fft_shape s) {
    static const int64_t swapped[3] = {1, 0, 2};
    const int64_t there[3] = {s.v[1], s.v[0], s.v[2]};
    if (s.v[0] > 1) z = permuted(b, z, swapped);
    z = along_first(b, sign, z, s.v[1], s.v[0] * s.v[2]);
    return s.v[0] > 1 ? permuted(b, reshaped(b, z, 3, there), swapped) : reshaped(b, z, 3, s.v);
}

/* z with zeros behind along n: [batch, m, inner]. */
static tn_i_complex extended(tn_i_builder *b, tn_i_complex z, int64_t m) {
    if (b->failed) return z;
    const tn_type t = *tn_i_vtype(b, z.re);
    const int64_t config[9] = {0, 0, 0, 0, m - t.dim[1], 0, 0, 0, 0};
    const tn_i_var zero = tn_i_literal_f64(b, t.dtype, 0);
    z.re = tn_i_pad(b, z.re, zero, config);
    z.im = tn_i_pad(b, z.im, zero, config);
    return z;
}

/* X[k] = w[k] sum over j of (x[j] w[j]) conj w[k - j], w[j] = exp(sign pi i j^2 / n): a convolution of length m. */
static tn_i_complex by_convolution(tn_i_builder *b, int sign, tn_i_complex z, tn_i_fft_shape s) {
    const int64_t n = s.v[1];
    int64_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    const tn_i_fft_shape wide = {{s.v[0], m, s.v[2]}}, alone = {{1, m, 1}};
    const phases f = {.count = n, .n = 2 * n, .sign = sign};
    const int dtype = b->failed ? TN_F64 : tn_i_vtype(b, z.re)->dtype;
    const tn_i_complex w = constant_phases(b, dtype, &f), back = tn_i_complex_conj(b, w);
    /* conj w[k - j] for k - j = 0 .. n - 1, zeros, and those of -(n - 1) .. -1 */
    const int64_t column[3] = {1, n, 1};
    const tn_i_complex first = reshaped(b, back, 3, column), front = extended(b, first, m - n + 1);
    const tn_i_complex parts[2] = {front, reversed(b, along(b, first, 1, 1, n - 1))};
    const tn_i_complex c = joined(b, 2, parts, 1);
    const tn_i_complex filter = reshaped(b, transform(b, -1, c, alone), 1, &m);
    z = by_phases(b, z, w, 1);
    z = extended(b, z, m);
    z = by_phases(b, transform(b, -1, z, wide), filter, 1);
    z = tn_i_complex_scale(b, along(b, transform(b, 1, z, wide), 1, 0, n), 1 / (double)m);
    return by_phases(b, z, w, 1);
}

/* Along the middle one of s, exp(sign ..), not scaled. */
static tn_i_complex transform(tn_i_builder *b, int sign, tn_i_complex z, tn_i_fft_shape s) {
    const int64_t n = s.v[1];
    if (b->failed || n == 1 || s.v[0] == 0 || s.v[2] == 0) return z;
    if (rough(n) > 1) return by_convolution(b, sign, z, s);
    return of_batch(b, sign, z, s);
}

/* ---- real arrays ---------------------------------------------------------------------------------------- */

/* X[h - k] conjugated, k < h, where X[h] is X[0]. */
static tn_i_complex mirrored(tn_i_builder *b, tn_i_complex z, int64_t h) {
    if (h == 1) return tn_i_complex_conj(b, z);
    const tn_i_complex first = along(b, z, 1, 0, 1);
    const tn_i_complex parts[2] = {first, reversed(b, along(b, z, 1, 1, h - 1))};
    return tn_i_complex_conj(b, joined(b, 2, parts, 1));
}

/* Of even n: z[j] = x[2j] + i x[2j + 1] has Z = E + i O, and X[k] = E[k] + exp(-2 pi i k / n) O[k]. */
static tn_i_complex real_forward(tn_i_builder *b, tn_i_var x, tn_i_fft_shape s) {
    const int64_t n = s.v[1], h = n / 2, split[4] = {s.v[0], h, 2, s.v[2]};
    if (b->failed) return (tn_i_complex){TN_NOVAR, TN_NOVAR};
    if (n % 2 || n == 0) {
        const tn_type t = *tn_i_vtype(b, x);
        const tn_i_complex z = {x, tn_i_zeros(b, &t)};
        tn_i_complex y = along(b, transform(b, -1, z, s), 1, 0, h + 1);
        if (rough(n) == 1 || b->failed) return y;
        /* a convolution leaves a rounding where sums of zeros leave 0, and what transposes IRFFT, which reads nothing
         * there, has to have 0 */
        const tn_i_var rest = along_one(b, y.im, 1, 1, h);
        const tn_i_var im[2] = {along_one(b, z.im, 1, 0, 1), rest};
        y.im = tn_i_concatenate(b, 2, im, 1);
        return y;
    }
    const tn_i_fft_shape half = {{s.v[0], h, s.v[2]}};
    const tn_i_var pairs = tn_i_reshape(b, x, 4, split);
    tn_i_complex z;
    z.re = tn_i_reshape(b, along_one(b, pairs, 2, 0, 1), 3, half.v);
    z.im = tn_i_reshape(b, along_one(b, pairs, 2, 1, 1), 3, half.v);
    z = transform(b, -1, z, half);
    if (b->failed) return z;
    const phases f = {.count = h, .n = n, .sign = -1, .times = 1};
    const tn_i_complex other = mirrored(b, z, h);
    const tn_i_complex even = tn_i_complex_scale(b, tn_i_complex_add(b, z, other), 0.5);
    const tn_i_complex odd = tn_i_complex_scale(b, tn_i_complex_by_i(b, tn_i_complex_sub(b, z, other), -1), 0.5);
    const tn_i_complex w = constant_phases(b, tn_i_vtype(b, x)->dtype, &f);
    const tn_i_complex all = tn_i_complex_add(b, even, by_phases(b, odd, w, 1));
    /* the last one, of k = h: E[0] - O[0] */
    const tn_i_complex even0 = along(b, even, 1, 0, 1), odd0 = along(b, odd, 1, 0, 1);
    const tn_i_complex parts[2] = {all, tn_i_complex_sub(b, even0, odd0)};
    return joined(b, 2, parts, 1);
}

/* Of even n the way back: Z[k] = E[k] + i O[k], E[k] = (X[k] + conj X[h - k]) / 2. */
static tn_i_var real_backward(tn_i_builder *b, tn_i_complex X, tn_i_fft_shape s) {
    const int64_t n = s.v[1], h = n / 2, one[4] = {s.v[0], h, 1, s.v[2]};
    if (b->failed) return TN_NOVAR;
    if (n % 2) { /* all of X, the rest of it mirrored */
        tn_i_complex all = along(b, X, 1, 0, 1);
        const tn_type t = b->failed ? (tn_type){0} : *tn_i_vtype(b, all.re);
        if (!b->failed) all.im = tn_i_zeros(b, &t);
        if (h) {
            const tn_i_complex rest = along(b, X, 1, 1, h);
            const tn_i_complex parts[3] = {all, rest, tn_i_complex_conj(b, reversed(b, rest))};
            all = joined(b, 3, parts, 1);
        }
        return transform(b, 1, all, s).re;
    }
    const tn_i_fft_shape half = {{s.v[0], h, s.v[2]}};
    /* imaginary parts of X[0] and X[h] are not read: E[0] + i O[0] of their real parts */
    const tn_i_var first = along_one(b, X.re, 1, 0, 1), last = along_one(b, X.re, 1, h, 1);
    tn_i_complex z;
    z.re = tn_i_op2(b, TN_P_add, first, last);
    z.im = tn_i_op2(b, TN_P_sub, first, last);
    if (h > 1 && !b->failed) {
        const tn_i_complex rest = along(b, X, 1, 1, h - 1), other = tn_i_complex_conj(b, reversed(b, rest));
        const phases f = {.count = h, .n = n, .sign = 1, .times = 1};
        const tn_i_complex w = along(b, constant_phases(b, tn_i_vtype(b, X.re)->dtype, &f), 0, 1, h - 1);
        const tn_i_complex even = tn_i_complex_add(b, rest, other);
        const tn_i_complex odd = tn_i_complex_by_i(b, by_phases(b, tn_i_complex_sub(b, rest, other), w, 1), 1);
        const tn_i_complex parts[2] = {z, tn_i_complex_add(b, even, odd)};
        z = joined(b, 2, parts, 1);
    }
    z = reshaped(b, transform(b, 1, z, half), 4, one);
    const tn_i_var pair[2] = {z.re, z.im};
    return tn_i_reshape(b, tn_i_concatenate(b, 2, pair, 2), 3, s.v);
}

/* ---- all of them ----------------------------------------------------------------------------------------- */

static tn_i_complex expanded(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, tn_i_fft_shape s) {
    const double n = (double)s.v[1];
    tn_i_complex y;
    switch (kind) {
    case TN_FFT: return transform(b, -1, z, s);
    case TN_IFFT: y = transform(b, 1, z, s); return tn_i_complex_scale(b, y, 1 / n);
    case TN_RFFT: return real_forward(b, z.re, s);
    default:
        y.re = real_backward(b, z, s);
        return tn_i_not_complex(tn_i_op2(b, TN_P_mul, y.re, tn_i_number_like(b, y.re, 1 / n)));
    }
}

/* How many of a batch make a piece: a divisor of their number; one where that is enough for a step of a loop, which
 * needs no transposition then. */
static int64_t in_piece(tn_i_fft_shape s) {
    int64_t best = 1;
    const int64_t each = s.v[1] * s.v[2], most = each && each < LEAST ? PIECE / each : 1;
    for (int64_t k = 2; k <= most && k <= s.v[0]; k++)
        if (s.v[0] % k == 0) best = k;
    return best;
}

static tn_fn *piece(tn_i_builder *outer, tn_i_fft_kind kind, tn_i_complex z, tn_i_fft_shape s) {
    tn_i_builder b;
    tn_i_builder_init(&b, outer->ctx);
    b.loc = outer->loc;
    tn_type t = *tn_i_vtype(outer, z.re);
    t.dim[0] = s.v[0];
    tn_i_complex x = {tn_i_input(&b, &t, false), TN_NOVAR};
    if (tn_i_is_complex(z)) x.im = tn_i_input(&b, &t, false);
    const tn_i_complex y = expanded(&b, kind, x, s);
    const tn_i_var out[2] = {y.re, y.im};
    return tn_i_finish(&b, tn_i_is_complex(y) ? 2 : 1, out);
}

/* A scan over pieces of the batch, each as s says. */
static tn_i_complex in_pieces(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, tn_i_fft_shape s, int64_t pieces) {
    tn_fn *f = piece(b, kind, z, s);
    const tn_type t = *tn_i_vtype(b, z.re);
    const int64_t split[4] = {pieces, s.v[0], t.dim[1], t.dim[2]};
    const tn_i_param p[7] = {
        {.kind = TN_K_FN, .u.fn = f}, {.kind = TN_K_INT, .u.i = pieces}, {.kind = TN_K_INT}, {.kind = TN_K_INT}};
    z = reshaped(b, z, 4, split);
    const tn_i_var in[2] = {z.re, z.im};
    if (!f) b->failed = true;
    const tn_i_var first = f ? tn_i_emit(b, tn_i_prim(b, TN_P_scan), p, f->nin, in) : TN_NOVAR;
    const bool real = f && f->nout == 1;
    tn_i_fn_unref(f);
    if (first == TN_NOVAR) return z;
    const tn_type *y = tn_i_vtype(b, first);
    const int64_t whole[3] = {pieces * s.v[0], y->dim[2], y->dim[3]};
    return reshaped(b, (tn_i_complex){first, real ? TN_NOVAR : first + 1}, 3, whole);
}

tn_i_complex tn_i_fft_expanded(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, tn_i_fft_shape s) {
    const int64_t together = in_piece(s), pieces = s.v[0] ? s.v[0] / together : 0;
    const tn_i_fft_shape one = {{together, s.v[1], s.v[2]}};
    const bool worth = pieces > 1 && together * s.v[1] * s.v[2] >= LEAST;
    return worth && !b->failed ? in_pieces(b, kind, z, one, pieces) : expanded(b, kind, z, s);
}
