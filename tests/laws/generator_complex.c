/* Complex arithmetic in generated programs: parts that are values of the program, held where every function is smooth.
 */
#include "laws/generator_i.h"
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/sample.h"

/* Of one shape, with |re| in [0.3, 1.3] and im in [0.3, 1.3] or its negative: away from 0 and all branch cuts. */
static tn_i_var part(laws_gen *g, const tn_type *t, int wave, bool negative) {
    const tn_i_var v = laws_gen_fit(g, tn_i_convert(&g->b, laws_gen_real(g), t->dtype), t);
    const tn_i_var u = tn_i_op1(&g->b, wave, v);
    const tn_i_var half = tn_i_op2(&g->b, TN_P_mul, u, tn_i_number_like(&g->b, u, negative ? -0.5 : 0.5));
    return tn_i_op2(&g->b, TN_P_add, half, tn_i_number_like(&g->b, u, negative ? -0.8 : 0.8));
}

/* Parts of one value do not go with each other: the angle of z would be constant, and its derivative rounding alone. */
static tn_i_complex operand(laws_gen *g, const tn_type *t) {
    tn_i_complex z;
    z.re = part(g, t, TN_P_sin, tn_i_pick(g->r, 0, 1));
    z.im = part(g, t, TN_P_cos, tn_i_pick(g->r, 0, 1));
    return z;
}

/* Functions of one or two complex arrays of one type. */
static bool suits(const tn_prim *prim) {
    return prim->complex && prim->flags & TN_F_ELEMENTWISE && (prim->nin == 1 || prim->nin == 2) &&
           prim->id != TN_P_stop_gradient && prim->id != TN_P_convert_element_type && prim->id != TN_P_name;
}

static uint32_t function(laws_gen *g, const tn_type *t, tn_i_complex *out) {
    const tn_prim *prim = NULL;
    do prim = g->ctx->prims[tn_i_pick(g->r, 0, TN_NPRIMS - 1)];
    while (!suits(prim));
    const tn_i_param power = {.kind = TN_K_INT, .u.i = tn_i_pick(g->r, -3, 4)};
    tn_i_complex in[2];
    for (int i = 0; i < prim->nin; i++) in[i] = operand(g, t);
    return tn_i_complex_emit(&g->b, prim, &power, (uint32_t)prim->nin, in, 1, out);
}

/* A transform there and, of the spectrum by a number, back. */
static uint32_t transform(laws_gen *g, tn_i_complex *out) {
    const int64_t n = tn_i_pick(g->r, 1, 9), shape[2] = {tn_i_pick(g->r, 1, 3), n};
    const tn_type t = tn_type_of((tn_dtype)g->dtype, 2, shape);
    const bool real = tn_i_pick(g->r, 0, 1);
    tn_i_complex z = operand(g, &t);
    if (real) z.im = TN_NOVAR;
    z = tn_i_fft(&g->b, real ? TN_RFFT : TN_FFT, z, 1, &n);
    if (g->b.failed) return 0;
    const tn_type spectrum = *tn_i_vtype(&g->b, z.re);
    const tn_i_complex w = operand(g, &spectrum);
    out[0] = tn_i_fft(&g->b, real ? TN_IRFFT : TN_IFFT, tn_i_complex_mul(&g->b, z, w), 1, &n);
    return g->b.failed ? 0 : 1;
}

void laws_generate_complex(laws_gen *g) {
    tn_i_complex out[1];
    tn_type t;
    tn_i_sample_shape(g->r, &t, g->dtype, 0, 3);
    if (!(tn_i_pick(g->r, 0, 3) ? function(g, &t, out) : transform(g, out))) return;
    const bool real = tn_i_is_float(tn_i_vtype(&g->b, out[0].re)->dtype);
    laws_gen_keep(g, real ? out[0].re : tn_i_convert(&g->b, out[0].re, g->dtype));
    if (tn_i_is_complex(out[0])) laws_gen_keep(g, out[0].im);
}
