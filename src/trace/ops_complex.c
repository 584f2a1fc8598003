/* Operators on complex arrays: two values each, and the equations of their parts. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "tansy/complex.h"
#include "trace/trace.h"

#include <math.h>

/* ---- sites of parts ---------------------------------------------------------------------------------- */

enum { MOST = 2 };
typedef struct site {
    tn_i_site s;
    tn_val x[2 * MOST];
    tn_i_var v[2 * MOST];
} site;

/* Opens one of n complex operands; false when it is dead.  Parts may be numbers; all are broadcast. */
static bool begin(site *k, const char *name, size_t n, const tn_complex *z, const char *file, int line) {
    for (size_t i = 0; i < n; i++) {
        k->x[2 * i] = z[i].re;
        k->x[2 * i + 1] = z[i].im;
    }
    tn_i_site_open(&k->s, name, NULL, 2 * n, k->x, k->v, (1u << 2 * n) - 1, file, line);
    return tn_i_do_numbers(&k->s) && tn_i_need_float(&k->s, 2 * n);
}

static bool open(site *k, const char *name, size_t n, const tn_complex *z, const char *file, int line) {
    return begin(k, name, n, z, file, line) && tn_i_do_broadcast(&k->s, 2 * n, k->v);
}

static tn_i_complex operand(const site *k, size_t i) { return (tn_i_complex){k->v[2 * i], k->v[2 * i + 1]}; }

static tn_complex close(site *k, tn_i_complex z) {
    tn_complex out;
    out.re = tn_i_site_close(&k->s, z.re);
    out.im = k->s.t ? tn_i_value(k->s.b->ctx, k->s.t->serial, k->s.b->failed ? TN_NOVAR : z.im) : out.re;
    return out;
}

static const tn_i_complex none = {TN_NOVAR, TN_NOVAR};

static tn_i_complex emit(site *k, int id, const tn_i_param *p, size_t n) {
    tn_i_complex in[MOST], out[1] = {none};
    for (size_t i = 0; i < n; i++) in[i] = operand(k, i);
    return tn_i_complex_emit(k->s.b, tn_i_prim(k->s.b, id), p, (uint32_t)n, in, 1, out) ? out[0] : none;
}

static tn_complex of(int id, const char *name, const tn_i_param *p, size_t n, const tn_complex *z, const char *file,
                     int line) {
    site k;
    return close(&k, open(&k, name, n, z, file, line) ? emit(&k, id, p, n) : none);
}

static tn_complex of_one(int id, const char *name, tn_complex z, const char *file, int line) {
    return of(id, name, NULL, 1, &z, file, line);
}

static tn_complex of_two(int id, const char *name, tn_complex z, tn_complex w, const char *file, int line) {
    const tn_complex in[2] = {z, w};
    return of(id, name, NULL, 2, in, file, line);
}

/* ---- arithmetic, functions ------------------------------------------------------------------------------ */

#define ONE(NAME, ID) \
    tn_complex tn_##NAME##_at(tn_complex z, const char *file, int line) { return of_one(ID, #NAME, z, file, line); }
#define TWO(NAME, ID)                                                                   \
    tn_complex tn_##NAME##_at(tn_complex z, tn_complex w, const char *file, int line) { \
        return of_two(ID, #NAME, z, w, file, line);                                     \
    }

TWO(cadd, TN_P_add)
TWO(csub, TN_P_sub)
TWO(cmul, TN_P_mul)
TWO(cdiv, TN_P_div)
TWO(cpow, TN_P_pow)
ONE(cneg, TN_P_neg)
ONE(csquare, TN_P_square)
ONE(csign, TN_P_sign)
ONE(csqrt, TN_P_sqrt)
ONE(cexp, TN_P_exp)
ONE(clog, TN_P_log)
ONE(csin, TN_P_sin)
ONE(ccos, TN_P_cos)
ONE(ctan, TN_P_tan)
ONE(csinh, TN_P_sinh)
ONE(ccosh, TN_P_cosh)
ONE(ctanh, TN_P_tanh)
ONE(casin, TN_P_asin)
ONE(cacos, TN_P_acos)
ONE(catan, TN_P_atan)
ONE(casinh, TN_P_asinh)
ONE(cacosh, TN_P_acosh)
ONE(catanh, TN_P_atanh)

tn_complex tn_cpowi_at(tn_complex z, int64_t n, const char *file, int line) {
    const tn_i_param p = {.kind = TN_K_INT, .u.i = n};
    return of(TN_P_integer_pow, "cpowi", &p, 1, &z, file, line);
}

tn_complex tn_conj_at(tn_complex z, const char *file, int line) {
    site k;
    return close(&k, open(&k, "conj", 1, &z, file, line) ? tn_i_complex_conj(k.s.b, operand(&k, 0)) : none);
}

tn_val tn_cabs_at(tn_complex z, const char *file, int line) { return of_one(TN_P_abs, "cabs", z, file, line).re; }

tn_val tn_carg_at(tn_complex z, const char *file, int line) {
    site k;
    const bool ok = open(&k, "carg", 1, &z, file, line);
    return tn_i_site_close(&k.s, ok ? tn_i_op2(k.s.b, TN_P_atan2, k.v[1], k.v[0]) : TN_NOVAR);
}

/* ---- pairs ------------------------------------------------------------------------------------------------ */

tn_complex tn_complex_from_at(tn_val pairs, const char *file, int line) {
    site k;
    k.x[0] = pairs;
    tn_i_site_open(&k.s, "complex_from", NULL, 1, k.x, k.v, 0, file, line);
    if (!tn_i_need_float(&k.s, 1)) return close(&k, none);
    const tn_type *t = tn_i_site_type(&k.s, k.v[0]);
    if (t->rank == 0 || t->dim[t->rank - 1] != 2) {
        (void)tn_i_site_fail(&k.s, TN_ETYPE, 0, "needs a last dimension of 2, real and imaginary parts");
        return close(&k, none);
    }
    return close(&k, tn_i_complex_parts(k.s.b, k.v[0]));
}

tn_val tn_complex_pairs_at(tn_complex z, const char *file, int line) {
    site k;
    const bool ok = open(&k, "complex_pairs", 1, &z, file, line);
    return tn_i_site_close(&k.s, ok ? tn_i_complex_join(k.s.b, operand(&k, 0)) : TN_NOVAR);
}

/* ---- matrices ---------------------------------------------------------------------------------------------- */

tn_complex tn_cmatmul_at(tn_complex z, tn_complex w, const char *file, int line) {
    const tn_val rr = tn_matmul_at(z.re, w.re, file, line), ii = tn_matmul_at(z.im, w.im, file, line);
    const tn_val ri = tn_matmul_at(z.re, w.im, file, line), ir = tn_matmul_at(z.im, w.re, file, line);
    tn_complex out;
    out.re = tn_sub_at(rr, ii, file, line);
    out.im = tn_add_at(ri, ir, file, line);
    return out;
}

tn_complex tn_csolve_at(tn_complex z, tn_complex w, const char *file, int line) {
    const tn_complex in[2] = {z, w};
    site k;
    bool vectors = false;
    if (!begin(&k, "csolve", 2, in, file, line)) return close(&k, none);
    for (int i = 0; i < 4; i += 2)
        if (!tn_type_equal(tn_i_site_type(&k.s, k.v[i]), tn_i_site_type(&k.s, k.v[i + 1]))) {
            (void)tn_i_site_fail(&k.s, TN_ETYPE, i + 1, "imaginary parts have the type of real ones");
            return close(&k, none);
        }
    for (int i = 2; i < 4 && !k.s.b->failed; i++) k.v[i] = tn_i_do_columns(&k.s, k.v[0], k.v[i], i, &vectors);
    tn_i_complex x = k.s.b->failed ? none : emit(&k, TN_P_linear_solve, NULL, 2);
    x.re = tn_i_do_as_given(&k.s, x.re, vectors);
    x.im = tn_i_do_as_given(&k.s, x.im, vectors);
    return close(&k, x);
}

/* ---- Fourier transforms -------------------------------------------------------------------------------------- */

/* The axes of the list, in its order; how many, 0 after a failure. */
static int axes_of(site *k, tn_int_list axes, int *axis) {
    const int rank = tn_i_site_type(&k->s, k->v[0])->rank;
    uint32_t set;
    if (axes.n < 1 || axes.n > 3) {
        (void)tn_i_site_fail(&k->s, TN_EINVAL, -1, "%zu axes: there are 1 to 3", axes.n);
        return 0;
    }
    if (!tn_i_site_axes(&k->s, axes, rank, &set)) return 0;
    for (size_t i = 0; i < axes.n; i++)
        if (!tn_i_site_axis(&k->s, axes.v[i], rank, &axis[i])) return 0;
    return (int)axes.n;
}

/* n: the real array's length along the last axis, of IRFFT. */
static tn_i_complex transform(site *k, tn_i_fft_kind kind, tn_i_complex z, tn_int_list axes, int64_t n) {
    tn_i_builder *b = k->s.b;
    int axis[3];
    const int naxes = axes_of(k, axes, axis);
    const bool first = kind == TN_RFFT, last = kind == TN_IRFFT;
    if (naxes == 0) return none;
    if (first) z = tn_i_fft_along(b, kind, z, axis[naxes - 1], tn_i_vtype(b, z.re)->dim[axis[naxes - 1]]);
    for (int i = 0; i < naxes - (first || last) && !b->failed; i++)
        z = tn_i_fft_along(b, first ? TN_FFT : last ? TN_IFFT : kind, z, axis[i], tn_i_vtype(b, z.re)->dim[axis[i]]);
    return last && !b->failed ? tn_i_fft_along(b, kind, z, axis[naxes - 1], n) : z;
}

static tn_complex complex_transform(const char *name, tn_i_fft_kind kind, tn_complex z, tn_int_list axes, int64_t n,
                                    const char *file, int line) {
    site k;
    return close(&k, open(&k, name, 1, &z, file, line) ? transform(&k, kind, operand(&k, 0), axes, n) : none);
}

tn_complex tn_fft_at(tn_complex z, tn_int_list axes, const char *file, int line) {
    return complex_transform("fft", TN_FFT, z, axes, 0, file, line);
}
tn_complex tn_ifft_at(tn_complex z, tn_int_list axes, const char *file, int line) {
    return complex_transform("ifft", TN_IFFT, z, axes, 0, file, line);
}
tn_val tn_irfft_at(tn_complex z, tn_int_list axes, int64_t n, const char *file, int line) {
    return complex_transform("irfft", TN_IRFFT, z, axes, n, file, line).re;
}

tn_complex tn_rfft_at(tn_val x, tn_int_list axes, const char *file, int line) {
    site k;
    k.x[0] = x;
    tn_i_site_open(&k.s, "rfft", NULL, 1, k.x, k.v, 0, file, line);
    const bool ok = tn_i_need_float(&k.s, 1);
    return close(&k, ok ? transform(&k, TN_RFFT, tn_i_not_complex(k.v[0]), axes, 0) : none);
}

/* k / (n d), k = 0 .. and, behind `positive` of them, those below 0. */
static tn_val frequencies(tn_ctx *c, const char *name, tn_dtype dtype, int64_t n, double d, int64_t count,
                          int64_t positive, const char *file, int line) {
    tn_i_site s;
    tn_i_site_open(&s, name, c, 0, NULL, NULL, 0, file, line);
    if (s.b->failed) return tn_i_site_close(&s, TN_NOVAR);
    const tn_type t = tn_type_of(dtype, 1, &count);
    if (!tn_i_is_float((int)dtype)) return tn_i_site_close(&s, tn_i_site_fail(&s, TN_ETYPE, -1, "needs f32 or f64"));
    if (n < 1 || !isfinite(d) || d == 0 || !tn_i_type_valid(&t))
        return tn_i_site_close(&s, tn_i_site_fail(&s, TN_EINVAL, -1, "n is %lld, d is %g", (long long)n, d));
    double *data = tn_i_alloc_array(s.b->ctx, (size_t)count, sizeof *data);
    if (!data) s.b->failed = true;
    for (int64_t i = 0; data && i < count; i++) data[i] = (double)(i < positive ? i : i - n) / ((double)n * d);
    const tn_i_var v = data ? tn_i_constant_f64(s.b, (int)dtype, count, data) : TN_NOVAR;
    tn_i_free(s.b->ctx, data, (size_t)count * sizeof *data);
    return tn_i_site_close(&s, v);
}

tn_val tn_fftfreq_at(tn_ctx *c, tn_dtype dtype, int64_t n, double d, const char *file, int line) {
    return frequencies(c, "fftfreq", dtype, n, d, n < 1 ? 0 : n, n / 2 + n % 2, file, line);
}
tn_val tn_rfftfreq_at(tn_ctx *c, tn_dtype dtype, int64_t n, double d, const char *file, int line) {
    return frequencies(c, "rfftfreq", dtype, n, d, n < 1 ? 0 : n / 2 + 1, n / 2 + 1, file, line);
}
