/* Discrete Fourier transforms: fft, along one axis.
 *
 * Its operands and results are real arrays, the parts of complex ones: linear in them together, so that its derivative
 * is itself and its transpose the transform the other way.  What it computes when it runs is fft_stages.c. */
#include "prims/linear/fft.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <math.h>
#include <string.h>

enum { KIND, AXIS, LENGTH };

static const char *const kinds[] = {"FFT", "IFFT", "RFFT", "IRFFT", NULL};
static const tn_i_spec fft_params[] = {{.name = "fft_type", .kind = TN_K_SYM, .symbols = kinds},
                                       {.name = "axis", .kind = TN_K_INT},
                                       {.name = "length", .kind = TN_K_INT},
                                       {.name = NULL}};

static bool is_real(tn_i_fft_kind kind, bool output) { return kind == (output ? TN_IRFFT : TN_RFFT); }
static tn_i_fft_kind kind_of(const tn_i_param *p) { return (tn_i_fft_kind)p[KIND].u.i; }

/* The size of its axis before it and behind it. */
static int64_t before(tn_i_fft_kind kind, int64_t n) { return kind == TN_IRFFT ? n / 2 + 1 : n; }
static int64_t behind(tn_i_fft_kind kind, int64_t n) { return kind == TN_RFFT ? n / 2 + 1 : n; }

static bool type_fft(tn_i_query *q) {
    if (!tn_i_params_given(q)) return false;
    const int64_t axis = q->p[AXIS].u.i, n = q->p[LENGTH].u.i;
    const tn_i_fft_kind kind = kind_of(q->p);
    if (kind < TN_FFT || kind > TN_IRFFT) return tn_i_type_fail(q, -1, "unknown fft_type");
    const uint32_t wants = is_real(kind, false) ? 1 : 2, gives = is_real(kind, true) ? 1 : 2;
    if (q->nin != wants)
        return tn_i_type_fail(q, -1, "%s takes %u operand%s, the parts of an array", kinds[kind], (unsigned)wants,
                              wants == 1 ? "" : "s");
    const tn_type t = *q->in[0];
    if (!tn_i_is_float(t.dtype)) return tn_i_type_fail(q, 0, "fft is not defined for %s", tn_i_dtype_name(t.dtype));
    if (wants == 2 && !tn_type_equal(q->in[1], &t)) return tn_i_type_fail(q, 1, "the parts have different types");
    if (axis < 0 || axis >= t.rank) return tn_i_type_fail(q, -1, "axis %lld is no dimension", (long long)axis);
    if (n < 1 || n > INT32_MAX) return tn_i_type_fail(q, -1, "length is 1 to 2^31 - 1");
    if (t.dim[axis] != before(kind, n))
        return tn_i_type_fail(q, 0, "dimension %lld has to be %lld for length %lld", (long long)axis,
                              (long long)before(kind, n), (long long)n);
    tn_type out = t;
    out.dim[axis] = behind(kind, n);
    if (!tn_i_outputs(q, gives)) return false;
    for (uint32_t j = 0; j < gives; j++) q->out[j] = out;
    return true;
}

/* ---- emitting ------------------------------------------------------------------------------------ */

tn_i_complex tn_i_fft_along(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, int64_t axis, int64_t n) {
    const tn_i_param p[3] = {
        {.kind = TN_K_SYM, .u.i = (int64_t)kind}, {.kind = TN_K_INT, .u.i = axis}, {.kind = TN_K_INT, .u.i = n}};
    const tn_i_var in[2] = {z.re, z.im};
    const tn_i_var first =
        b->failed ? TN_NOVAR : tn_i_emit(b, tn_i_prim(b, TN_P_fft), p, is_real(kind, false) ? 1 : 2, in);
    return (tn_i_complex){first, first == TN_NOVAR || is_real(kind, true) ? TN_NOVAR : first + 1};
}

static bool unfit(tn_i_builder *b, const char *why) {
    tn_i_builder_fail(b, TN_ETYPE, "fft: %s", why);
    return false;
}

static bool fits(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, uint32_t n, const int64_t *lengths) {
    if (b->failed) return false;
    const tn_type *t = tn_i_vtype(b, z.re);
    if (!tn_i_is_float(t->dtype)) return unfit(b, "operand 0: is of no floating-point dtype");
    if (tn_i_is_complex(z) == is_real(kind, false))
        return unfit(b, kind == TN_RFFT ? "operand 0: RFFT is of real arrays" : "operand 0: is not complex");
    if (n < 1 || n > 3 || (int)n > t->rank)
        return unfit(b, "there are 1 to 3 lengths, and no more than operand 0 has dimensions");
    for (uint32_t i = 0; i < n; i++) {
        const int64_t have = t->dim[t->rank - (int)n + (int)i], want = lengths[i];
        if (want < 1 || want > INT32_MAX) return unfit(b, "each length is 1 to 2^31 - 1");
        if (have != (i + 1 == n ? before(kind, want) : want))
            return unfit(b, "a length is not that of operand 0's dimension");
    }
    return true;
}

tn_i_complex tn_i_fft(tn_i_builder *b, tn_i_fft_kind kind, tn_i_complex z, uint32_t n, const int64_t *lengths) {
    if (!fits(b, kind, z, n, lengths)) return (tn_i_complex){TN_NOVAR, TN_NOVAR};
    const bool real = is_real(kind, false) || is_real(kind, true);
    const int rank = tn_i_vtype(b, z.re)->rank, first = rank - (int)n, end = real ? rank - 1 : rank;
    const tn_i_fft_kind other = kind == TN_RFFT ? TN_FFT : kind == TN_IRFFT ? TN_IFFT : kind;
    if (kind == TN_RFFT) z = tn_i_fft_along(b, kind, z, rank - 1, lengths[n - 1]);
    for (int d = first; d < end; d++) z = tn_i_fft_along(b, other, z, d, lengths[d - first]);
    return kind == TN_IRFFT ? tn_i_fft_along(b, kind, z, rank - 1, lengths[n - 1]) : z;
}

/* ---- rules ----------------------------------------------------------------------------------------- */

/* z times `inside` along the axis, but `ends` at its first element and, of an even length, at its last. */
static tn_i_complex weighted(tn_i_builder *b, tn_i_complex z, int64_t axis, int64_t n, double ends, double inside) {
    if (b->failed) return z;
    const int64_t h = n / 2 + 1;
    const tn_type all = *tn_i_vtype(b, z.re);
    double *data = tn_i_alloc_array(b->ctx, (size_t)h, sizeof *data);
    if (!data) {
        b->failed = true;
        return z;
    }
    for (int64_t k = 0; k < h; k++) data[k] = k == 0 || 2 * k == n ? ends : inside;
    const tn_i_var w = tn_i_broadcast(b, tn_i_constant_f64(b, all.dtype, h, data), all.rank, all.dim, &axis);
    tn_i_free(b->ctx, data, (size_t)h * sizeof *data);
    z.re = tn_i_op2(b, TN_P_mul, z.re, w);
    z.im = tn_i_op2(b, TN_P_mul, z.im, w);
    return z;
}

/* Of parts it is the conjugate transpose: F is n times its inverse's, the inverse F's by n; those of real arrays count
 * what stands for two twice. */
static void transpose_fft(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    tn_i_builder *b = r->b;
    const tn_i_fft_kind kind = kind_of(r->p);
    const int64_t axis = r->p[AXIS].u.i, n = r->p[LENGTH].u.i;
    const double size = (double)n;
    tn_i_complex z = {ct[0], r->nout > 1 ? ct[1] : TN_NOVAR};
    if (z.re == TN_NOVAR) z.re = tn_i_zeros(b, r->out_type[0]);
    if (r->nout > 1 && z.im == TN_NOVAR) z.im = tn_i_zeros(b, r->out_type[1]);
    switch (kind) {
    case TN_FFT: z = tn_i_complex_scale(b, tn_i_fft_along(b, TN_IFFT, z, axis, n), size); break;
    case TN_IFFT: z = tn_i_complex_scale(b, tn_i_fft_along(b, TN_FFT, z, axis, n), 1 / size); break;
    case TN_RFFT: z = tn_i_fft_along(b, TN_IRFFT, weighted(b, z, axis, n, size, size / 2), axis, n); break;
    default: z = weighted(b, tn_i_fft_along(b, TN_RFFT, z, axis, n), axis, n, 1 / size, 2 / size);
    }
    ct_in[0] = z.re;
    if (r->nin > 1) ct_in[1] = z.im;
}

static void batch_fft(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_param p[3];
    tn_i_var in[2];
    memcpy(p, r->p, sizeof p);
    p[AXIS].u.i++;
    for (uint32_t i = 0; i < r->nin; i++) in[i] = tn_i_batched_operand(r, batched, i);
    const tn_i_var first = tn_i_emit(r->b, r->e->prim, p, r->nin, in);
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = first == TN_NOVAR ? first : first + j;
        out_batched[j] = true;
    }
}

static void expand_fft(tn_i_rule *r, tn_i_var *out) {
    tn_i_builder *b = r->b;
    const int64_t axis = r->p[AXIS].u.i, n = r->p[LENGTH].u.i;
    const tn_i_fft_kind kind = kind_of(r->p);
    const tn_type t = *r->in_type[0];
    tn_i_fft_shape s = {{1, n, 1}};
    for (int i = 0; i < t.rank; i++)
        if (i != axis) s.v[i < axis ? 0 : 2] *= t.dim[i];
    const int64_t seen[3] = {s.v[0], t.dim[axis], s.v[2]};
    tn_i_complex z = {tn_i_reshape(b, r->in[0], 3, seen), TN_NOVAR};
    if (r->nin > 1) z.im = tn_i_reshape(b, r->in[1], 3, seen);
    z = tn_i_fft_expanded(b, kind, z, s);
    out[0] = tn_i_reshape(b, z.re, t.rank, r->out_type[0]->dim);
    if (r->nout > 1) out[1] = tn_i_reshape(b, z.im, t.rank, r->out_type[1]->dim);
}

/* 5 n log2 n of each line of a complex array, half of a real one's. */
static void cost_fft(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->p[LENGTH].u.i, all = (double)tn_i_count(q->in[0]);
    const double lines = all / (double)q->in[0]->dim[q->p[AXIS].u.i], real = q->nin + q->nout < 4 ? 0.5 : 1;
    tn_i_cost_copy(q, cost);
    cost->flops += lines * real * (5 * n * log2(n) + 2 * n);
}

static bool sample_fft(tn_i_rng *r, int dtype, tn_i_case *c) {
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 20, 32, 34, 36};
    const tn_i_fft_kind kind = (tn_i_fft_kind)tn_i_pick(r, TN_FFT, TN_IRFFT);
    const int64_t n = lengths[tn_i_pick(r, 0, (int64_t)(sizeof lengths / sizeof *lengths) - 1)];
    tn_i_sample_shape(r, &c->in[0], dtype, 1, 3);
    const int64_t axis = tn_i_pick(r, 0, c->in[0].rank - 1);
    c->in[0].dim[axis] = before(kind, n);
    c->nin = 1;
    if (!is_real(kind, false)) tn_i_case_alike(c, 1, 0, dtype);
    c->p[KIND] = (tn_i_param){.kind = TN_K_SYM, .u.i = (int64_t)kind};
    c->p[AXIS] = (tn_i_param){.kind = TN_K_INT, .u.i = axis};
    c->p[LENGTH] = (tn_i_param){.kind = TN_K_INT, .u.i = n};
    return true;
}

const tn_prim tn_prim_fft = {
    .id = TN_P_fft,
    .name = "fft",
    .doc =
        "discrete Fourier transform along an axis, of real and imaginary parts: FFT sum of x[j] exp(-2 pi i j k / n); "
        "IFFT its inverse; RFFT the first n/2 + 1 of a real array's; IRFFT the inverse of that",
    .nin = -1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .params = fft_params,
    .type = type_fft,
    .linear = {TN_ALL},
    .transpose = transpose_fft,
    .batch = batch_fft,
    .expand = expand_fft,
    .cost = cost_fft,
    .jvp_bound = 2.5,
    .transpose_bound = 4,
    .sample = sample_fft,
};

/* ---- as texts of JAX have it: of complex arrays, along the last dimensions ------------------------------ */

static const tn_i_spec form_params[] = {{.name = "fft_lengths", .kind = TN_K_INTS},
                                        {.name = "fft_type", .kind = TN_K_SYM, .symbols = kinds},
                                        {.name = NULL}};

static tn_i_complex of_fft(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                           const tn_i_complex *in) {
    (void)prim, (void)nin;
    return tn_i_fft(b, (tn_i_fft_kind)p[1].u.i, in[0], p[0].n, p[0].u.ints);
}

const tn_prim tn_i_fft_form = {.id = -1, .name = "fft", .nin = 1, .params = form_params, .complex = of_fft};
