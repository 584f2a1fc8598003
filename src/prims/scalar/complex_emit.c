/* Equations with complex operands as equations of their parts. */
#include "prims/scalar/complex.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

#include <string.h>

static const tn_i_complex none = {TN_NOVAR, TN_NOVAR};

/* ---- as pairs --------------------------------------------------------------------------------- */

tn_i_var tn_i_complex_join(tn_i_builder *b, tn_i_complex z) {
    if (b->failed) return TN_NOVAR;
    tn_type t = *tn_i_vtype(b, z.re);
    tn_i_var part[2] = {z.re, z.im};
    if (t.rank == TN_MAX_RANK) {
        tn_i_builder_fail(b, TN_ELIMIT, "a complex array has at most %d dimensions", TN_MAX_RANK - 1);
        return TN_NOVAR;
    }
    t.dim[t.rank] = 1;
    for (int i = 0; i < 2; i++) part[i] = tn_i_reshape(b, part[i], t.rank + 1, t.dim);
    return tn_i_concatenate(b, 2, part, t.rank);
}

static tn_i_var part_of(tn_i_builder *b, tn_i_var pairs, int at) {
    if (b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, pairs);
    return tn_i_reshape(b, tn_i_slice_dimension(b, pairs, t.rank - 1, at, 1, 1), t.rank - 1, t.dim);
}

tn_i_complex tn_i_complex_parts(tn_i_builder *b, tn_i_var pairs) {
    tn_i_complex z;
    z.re = part_of(b, pairs, 0);
    z.im = part_of(b, pairs, 1);
    return z;
}

/* ---- equations ---------------------------------------------------------------------------------- */

/* Of one part, with the dtypes of parts; how many results, from `first` on. */
static uint32_t emit_part(tn_i_builder *b, const tn_prim *prim, const tn_i_param *given, uint32_t nin,
                          const tn_i_var *in, tn_i_var *first) {
    tn_i_param p[TN_MAX_PARAMS];
    for (uint32_t k = 0; prim->params && prim->params[k].name; k++) {
        p[k] = given[k];
        const int dtype = p[k].kind == TN_K_DTYPE ? tn_i_complex_dtype((int)p[k].u.i) : -1;
        if (dtype >= 0) p[k].u.i = dtype;
    }
    *first = prim->written ? prim->written(b, p, nin, in) : TN_NOVAR;
    if (*first == TN_NOVAR && !b->failed && prim->id >= 0) *first = tn_i_emit(b, prim, p, nin, in);
    if (b->failed || *first == TN_NOVAR) return 0;
    const tn_i_eqn *e = tn_i_def(b, *first);
    return prim->id >= 0 && e && e->out == *first ? e->nout : 1;
}

static uint32_t by_parts(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                         const tn_i_complex *in, uint32_t most, tn_i_complex *out) {
    tn_i_var *of = tn_i_alloc_array(b->ctx, nin, sizeof *of), re, im;
    if (!of) {
        b->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < nin; i++) of[i] = in[i].re;
    uint32_t n = emit_part(b, prim, p, nin, of, &re);
    for (uint32_t i = 0; i < nin; i++)
        if (tn_i_is_complex(in[i])) of[i] = in[i].im;
    if (n) n = emit_part(b, prim, p, nin, of, &im);
    if (n > most) tn_i_builder_fail(b, TN_ELIMIT, "%s: has more than %u complex results", prim->name, (unsigned)most);
    for (uint32_t j = 0; j < n && n <= most; j++) out[j] = (tn_i_complex){re + j, im + j};
    tn_i_free(b->ctx, of, nin * sizeof *of);
    return n <= most ? n : 0;
}

/* Whether the complex operands are those that it is linear in together, or some of them. */
static bool is_linear(const tn_prim *prim, uint32_t nin, const tn_i_complex *in) {
    if (prim->flags & TN_F_NODIFF) return false;
    for (int k = 0; k < 2 && prim->linear[k]; k++) {
        bool all = true;
        for (uint32_t i = 0; i < nin; i++) {
            const bool member = prim->linear[k] == TN_ALL || (i < 32 && prim->linear[k] >> i & 1);
            all &= member == tn_i_is_complex(in[i]);
        }
        if (all) return true;
    }
    return false;
}

/* Elementwise functions are of complex operands alone, as all operands of one have one dtype. */
static bool fit(tn_i_builder *b, const tn_prim *prim, uint32_t nin, const tn_i_complex *in) {
    const bool converts = prim->complex == tn_i_complex_of_convert;
    for (uint32_t i = 0; i < nin && prim->flags & TN_F_ELEMENTWISE && !converts; i++) {
        if (tn_i_is_complex(in[i])) continue;
        tn_i_builder_fail(b, TN_ETYPE, "%s: operand %u is not complex; use convert_element_type (tn_complex_of)",
                          prim->name, (unsigned)i);
        return false;
    }
    return true;
}

uint32_t tn_i_complex_emit(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                           const tn_i_complex *in, uint32_t most, tn_i_complex *out) {
    if (b->failed) return 0;
    if (prim->nin >= 0 && (uint32_t)prim->nin != nin) {
        tn_i_builder_fail(b, TN_ETYPE, "%s: takes %d operand%s, not %u", prim->name, prim->nin,
                          prim->nin == 1 ? "" : "s", (unsigned)nin);
        return 0;
    }
    if (prim->complex_many) return prim->complex_many(b, prim, p, nin, in, most, out);
    if (prim->complex && !fit(b, prim, nin, in)) return 0;
    if (prim->complex) out[0] = prim->complex(b, prim, p, nin, in);
    if (prim->complex && (b->failed || out[0].re != TN_NOVAR)) return b->failed ? 0 : 1;
    if (is_linear(prim, nin, in)) return by_parts(b, prim, p, nin, in, most, out);
    tn_i_builder_fail(b, TN_ETYPE, "%s is not defined for these complex operands", prim->name);
    return 0;
}

/* Of what moves or marks numbers: part by part; and of what makes real ones: these. */
tn_i_complex tn_i_complex_of_parts(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                   const tn_i_complex *in) {
    tn_i_complex out[1] = {none};
    return nin && tn_i_is_complex(in[0]) && by_parts(b, prim, p, nin, in, 1, out) == 1 ? out[0] : none;
}

tn_i_complex tn_i_complex_of_real(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                  const tn_i_complex *in) {
    tn_i_complex z;
    (void)in;
    if (nin || !emit_part(b, prim, p, 0, NULL, &z.re)) return none;
    const tn_type t = *tn_i_vtype(b, z.re);
    z.im = tn_i_zeros(b, &t);
    return z;
}

/* ---- several results ------------------------------------------------------------------------------- */

/* An equation of parts: its results, of which those of the set `complex` are two values each, and others one. */
static uint32_t results(tn_i_builder *b, tn_i_var first, unsigned complex, uint32_t most, tn_i_complex *out) {
    uint32_t n = 0;
    if (b->failed || first == TN_NOVAR) return 0;
    const uint32_t nout = tn_i_def(b, first)->nout;
    for (uint32_t k = 0; k < nout && n < most; n++) {
        const bool both = complex >> n & 1;
        out[n] = (tn_i_complex){first + k, both ? first + k + 1 : TN_NOVAR};
        k += both ? 2 : 1;
    }
    return n;
}

static uint32_t decomposed(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                           const tn_i_complex *in, unsigned complex, uint32_t most, tn_i_complex *out) {
    if (nin != 1) {
        tn_i_builder_fail(b, TN_ETYPE, "%s: takes one complex operand", prim->name);
        return 0;
    }
    const tn_i_var parts[2] = {in[0].re, in[0].im};
    return results(b, tn_i_emit(b, prim, p, tn_i_is_complex(in[0]) ? 2 : 1, parts), complex, most, out);
}

#define DECOMPOSED(NAME, COMPLEX)                                                                            \
    uint32_t tn_i_complex_of_##NAME(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin, \
                                    const tn_i_complex *in, uint32_t most, tn_i_complex *out) {              \
        return decomposed(b, prim, p, nin, in, COMPLEX, most, out);                                          \
    }
#define OF_COMPLEX(SET) (nin && tn_i_is_complex(in[0]) ? SET : 0u)

DECOMPOSED(lu, OF_COMPLEX(1u))
DECOMPOSED(qr, OF_COMPLEX(3u))
DECOMPOSED(eigh, OF_COMPLEX(1u))
DECOMPOSED(svd, OF_COMPLEX(6u))
DECOMPOSED(schur, OF_COMPLEX(3u))
DECOMPOSED(eig, 3u)

/* By the real part, then by the imaginary one. */
uint32_t tn_i_complex_of_sort(tn_i_builder *b, const tn_prim *prim, const tn_i_param *given, uint32_t nin,
                              const tn_i_complex *in, uint32_t most, tn_i_complex *out) {
    tn_i_var part[32];
    tn_i_param p[3] = {given[0], given[1], given[2]};
    uint32_t n = 0;
    unsigned complex = 0;
    if (nin > most || 2 * nin > sizeof part / sizeof *part) {
        tn_i_builder_fail(b, TN_ELIMIT, "%s: has more than %u complex operands", prim->name, (unsigned)most);
        return 0;
    }
    for (uint32_t i = 0; i < nin; i++) {
        part[n++] = in[i].re;
        if (!tn_i_is_complex(in[i])) continue;
        part[n++] = in[i].im;
        complex |= 1u << i;
        p[2].u.i += (int64_t)i < given[2].u.i;
    }
    return results(b, tn_i_emit(b, prim, p, n, part), complex, most, out);
}

/* ---- products, solutions ---------------------------------------------------------------------------- */

static tn_i_var one_product(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, tn_i_var x, tn_i_var y) {
    const tn_i_var in[2] = {x, y};
    tn_i_var v;
    return emit_part(b, prim, p, 2, in, &v) ? v : TN_NOVAR;
}

/* Bilinear: four products. */
tn_i_complex tn_i_complex_of_product(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                     const tn_i_complex *in) {
    const tn_i_complex x = in[0], y = in[1];
    tn_i_complex z;
    (void)nin;
    if (!tn_i_is_complex(x) || !tn_i_is_complex(y)) { /* a real factor */
        z.re = one_product(b, prim, p, x.re, y.re);
        z.im = tn_i_is_complex(x) ? one_product(b, prim, p, x.im, y.re) : one_product(b, prim, p, x.re, y.im);
        return z;
    }
    const tn_i_var rr = one_product(b, prim, p, x.re, y.re), ii = one_product(b, prim, p, x.im, y.im);
    const tn_i_var ri = one_product(b, prim, p, x.re, y.im), ir = one_product(b, prim, p, x.im, y.re);
    z.re = tn_i_op2(b, TN_P_sub, rr, ii);
    z.im = tn_i_op2(b, TN_P_add, ri, ir);
    return z;
}

tn_i_var tn_i_complex_as_real(tn_i_builder *b, tn_i_complex a) {
    if (b->failed) return TN_NOVAR;
    const int rank = tn_i_vtype(b, a.re)->rank;
    const tn_i_var upper[2] = {a.re, tn_i_op1(b, TN_P_neg, a.im)}, lower[2] = {a.im, a.re};
    tn_i_var rows[2];
    rows[0] = tn_i_concatenate(b, 2, upper, rank - 1);
    rows[1] = tn_i_concatenate(b, 2, lower, rank - 1);
    return tn_i_concatenate(b, 2, rows, rank - 2);
}

tn_i_var tn_i_complex_stacked(tn_i_builder *b, tn_i_complex x) {
    const tn_i_var parts[2] = {x.re, x.im};
    return b->failed ? TN_NOVAR : tn_i_concatenate(b, 2, parts, tn_i_vtype(b, x.re)->rank - 2);
}

tn_i_complex tn_i_complex_unstacked(tn_i_builder *b, tn_i_var x) {
    tn_i_complex z = none;
    if (b->failed || x == TN_NOVAR) return z;
    const int axis = tn_i_vtype(b, x)->rank - 2;
    const int64_t n = tn_i_vtype(b, x)->dim[axis] / 2;
    z.re = tn_i_slice_dimension(b, x, axis, 0, 1, n);
    z.im = tn_i_slice_dimension(b, x, axis, n, 1, n);
    return z;
}

/* [re, -im; im, re] [x; y] = [re of b; im of b]: a real system of twice the size, with its own pivots. */
tn_i_complex tn_i_complex_of_linear_solve(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                          const tn_i_complex *in) {
    (void)p, (void)nin;
    const tn_i_complex a = in[0], r = in[1];
    if (!tn_i_is_complex(a) || !tn_i_is_complex(r)) {
        tn_i_builder_fail(b, TN_ETYPE, "%s: matrix and right-hand side are both complex, or neither", prim->name);
        return none;
    }
    tn_i_var both[2];
    both[0] = tn_i_complex_as_real(b, a);
    both[1] = tn_i_complex_stacked(b, r);
    return b->failed ? none : tn_i_complex_unstacked(b, tn_i_emit(b, prim, NULL, 2, both));
}

/* ---- reduce_prod: by halves --------------------------------------------------------------------- */

static tn_i_complex along(tn_i_builder *b, tn_i_complex z, int axis, int64_t first, int64_t n) {
    z.re = tn_i_slice_dimension(b, z.re, axis, first, 1, n);
    z.im = tn_i_slice_dimension(b, z.im, axis, first, 1, n);
    return z;
}

static tn_i_complex product_along(tn_i_builder *b, tn_i_complex z, int axis) {
    tn_i_complex odd = none;
    for (int64_t n = tn_i_vtype(b, z.re)->dim[axis]; n > 1 && !b->failed; n /= 2) {
        if (n % 2) {
            const tn_i_complex last = along(b, z, axis, n - 1, 1);
            odd = tn_i_is_complex(odd) ? tn_i_complex_mul(b, odd, last) : last;
        }
        const tn_i_complex low = along(b, z, axis, 0, n / 2), high = along(b, z, axis, n / 2, n / 2);
        z = tn_i_complex_mul(b, low, high);
    }
    return tn_i_is_complex(odd) ? tn_i_complex_mul(b, z, odd) : z;
}

tn_i_complex tn_i_complex_of_reduce_prod(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                         const tn_i_complex *in) {
    (void)nin;
    tn_i_complex z = in[0];
    if (!tn_i_is_complex(z)) return none;
    const tn_i_var type = tn_i_emit(b, prim, p, 1, &z.re); /* its shape; nobody reads it */
    if (b->failed) return none;
    const tn_type out = *tn_i_vtype(b, type);
    const uint32_t axes = tn_i_axis_set(p[0].n, p[0].u.ints);
    if (tn_i_count(tn_i_vtype(b, z.re)) == 0) return tn_i_complex_number(b, &out, 1, 0);
    for (int d = 0; d < TN_MAX_RANK && !b->failed; d++)
        if (axes >> d & 1) z = product_along(b, z, d);
    z.re = tn_i_reshape(b, z.re, out.rank, out.dim);
    z.im = tn_i_reshape(b, z.im, out.rank, out.dim);
    return z;
}

/* ---- cumprod: each element times the one 1, 2, 4, .. before it -------------------------------------- */

/* z moved by n along the axis, on from its begin, or back from its end; ones come in. */
static tn_i_var moved(tn_i_builder *b, tn_i_var x, int axis, bool back, int64_t n, double fill) {
    if (b->failed) return TN_NOVAR;
    tn_type t = *tn_i_vtype(b, x);
    const int64_t length = t.dim[axis];
    tn_i_var part[2];
    t.dim[axis] = n;
    part[back] = tn_i_number(b, &t, fill);
    part[!back] = tn_i_slice_dimension(b, x, axis, back ? n : 0, 1, length - n);
    return tn_i_concatenate(b, 2, part, axis);
}

tn_i_complex tn_i_complex_of_cumprod(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                     const tn_i_complex *in) {
    (void)nin;
    tn_i_complex z = in[0];
    if (!tn_i_is_complex(z)) return none;
    (void)tn_i_emit(b, prim, p, 1, &z.re); /* its type; nobody reads it */
    if (b->failed) return none;
    const int axis = (int)p[0].u.i;
    const int64_t length = tn_i_vtype(b, z.re)->dim[axis];
    for (int64_t n = 1; n < length && !b->failed; n *= 2) {
        tn_i_complex before;
        before.re = moved(b, z.re, axis, p[1].u.i, n, 1);
        before.im = moved(b, z.im, axis, p[1].u.i, n, 0);
        z = tn_i_complex_mul(b, z, before);
    }
    return z;
}

/* ---- conversions, parts ---------------------------------------------------------------------------- */

static bool one_part(tn_i_builder *b, const char *name, uint32_t nin, const tn_i_complex *in, bool complex) {
    if (nin == 1 && tn_i_is_complex(in[0]) == complex) return true;
    tn_i_builder_fail(b, TN_ETYPE, "%s: takes one %s operand", name, complex ? "complex" : "real");
    return false;
}

static tn_i_complex of_complex(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                               const tn_i_complex *in) {
    (void)prim, (void)p;
    const bool fits = nin == 2 && !tn_i_is_complex(in[0]) && !tn_i_is_complex(in[1]) &&
                      tn_type_equal(tn_i_vtype(b, in[0].re), tn_i_vtype(b, in[1].re)) &&
                      tn_i_is_float(tn_i_vtype(b, in[0].re)->dtype);
    if (fits) return (tn_i_complex){in[0].re, in[1].re};
    tn_i_builder_fail(b, TN_ETYPE, "complex: takes two real operands of one type, f32 or f64");
    return none;
}

static tn_i_complex of_conj(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                            const tn_i_complex *in) {
    (void)prim, (void)p;
    return one_part(b, "conj", nin, in, true) ? tn_i_complex_conj(b, in[0]) : none;
}

static tn_i_complex of_real(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                            const tn_i_complex *in) {
    (void)prim, (void)p;
    return one_part(b, "real", nin, in, true) ? tn_i_not_complex(in[0].re) : none;
}

static tn_i_complex of_imag(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                            const tn_i_complex *in) {
    (void)prim, (void)p;
    return one_part(b, "imag", nin, in, true) ? tn_i_not_complex(in[0].im) : none;
}

/* Real to complex: no imaginary part; complex to complex: both parts; complex to real: the real part, as JAX has it. */
tn_i_complex tn_i_complex_of_convert(tn_i_builder *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                     const tn_i_complex *in) {
    (void)prim, (void)nin;
    const int to = tn_i_complex_dtype((int)p[0].u.i);
    tn_i_complex z = in[0];
    z.re = tn_i_convert(b, z.re, to < 0 ? (int)p[0].u.i : to);
    if (to < 0) return tn_i_not_complex(z.re);
    if (b->failed) return none;
    const tn_type t = *tn_i_vtype(b, z.re);
    z.im = tn_i_is_complex(in[0]) ? tn_i_convert(b, z.im, to) : tn_i_zeros(b, &t);
    return z;
}

const tn_prim tn_i_complex_form = {.id = -1, .name = "complex", .nin = 2, .complex = of_complex};
const tn_prim tn_i_conj_form = {.id = -1, .name = "conj", .nin = 1, .complex = of_conj};
const tn_prim tn_i_real_form = {.id = -1, .name = "real", .nin = 1, .complex = of_real};
const tn_prim tn_i_imag_form = {.id = -1, .name = "imag", .nin = 1, .complex = of_imag};
