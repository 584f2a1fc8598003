#include "prims/scalar/near.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

/* A float's bits as integers, and what numbers of their type are. */
typedef struct floats {
    tn_i_builder *b;
    tn_type whole, real; /* of the integers and of the floats */
    int exponent, mantissa;
} floats;

static floats floats_like(tn_i_builder *b, tn_i_var x) {
    floats k = {.b = b, .whole = *tn_i_vtype(b, x), .real = *tn_i_vtype(b, x)};
    const bool narrow = k.real.dtype == TN_F32;
    k.whole.dtype = narrow ? TN_I32 : TN_I64;
    k.exponent = narrow ? 8 : 11;
    k.mantissa = narrow ? 23 : 52;
    return k;
}

static tn_i_var cast(tn_i_builder *b, tn_i_var x, int dtype) {
    const tn_i_param to = {.kind = TN_K_DTYPE, .u.i = dtype};
    return tn_i_emit(b, tn_i_prim(b, TN_P_bitcast_convert_type), &to, 1, &x);
}

static tn_i_var whole(const floats *k, int64_t x) { return tn_i_whole_number(k->b, &k->whole, x); }
static tn_i_var bits_of(const floats *k, tn_i_var x) { return cast(k->b, x, k->whole.dtype); }
static tn_i_var real_of(const floats *k, tn_i_var bits) { return cast(k->b, bits, k->real.dtype); }
static tn_i_var two(const floats *k, int op, tn_i_var x, tn_i_var y) { return tn_i_op2(k->b, op, x, y); }
static tn_i_var choose(const floats *k, tn_i_var which, tn_i_var yes, tn_i_var no) {
    return tn_i_op3(k->b, TN_P_select, which, yes, no);
}
static tn_i_var sign_of(const floats *k, tn_i_var bits) {
    return two(k, TN_P_and, bits, whole(k, k->real.dtype == TN_F32 ? INT32_MIN : INT64_MIN));
}

/* ---- equations of a value alone ---- */

typedef tn_i_var of_values(tn_i_builder *b, const tn_i_var *in, tn_i_format to);

/* f as the program of a custom_jvp, whose tangent is that of operand 0. */
static tn_i_var with_tangent(tn_i_builder *b, of_values *f, tn_i_format to, uint32_t nin, const tn_i_var *in) {
    tn_i_var x[4] = {TN_NOVAR, TN_NOVAR, TN_NOVAR, TN_NOVAR}, y = TN_NOVAR;
    tn_i_builder of;
    if (b->failed) return TN_NOVAR;
    tn_i_builder_init(&of, b->ctx);
    for (uint32_t i = 0; i < nin; i++) x[i] = tn_i_input(&of, tn_i_vtype(b, in[i]), false);
    y = f(&of, x, to);
    tn_fn *value = tn_i_finish(&of, 1, &y), *rule = NULL;
    if (value) {
        tn_i_builder_init(&of, b->ctx);
        for (uint32_t i = 0; i < 2 * nin; i++) x[i] = tn_i_input(&of, tn_i_vtype(b, in[i % nin]), i >= nin);
        rule = tn_i_finish(&of, 1, &x[nin]);
    }
    const tn_i_param p[2] = {{.kind = TN_K_FN, .u.fn = value}, {.kind = TN_K_FN, .u.fn = rule}};
    y = rule ? tn_i_emit(b, tn_i_prim(b, TN_P_custom_jvp), p, nin, in) : TN_NOVAR;
    if (!rule) b->failed = true;
    tn_i_fn_unref(rule);
    tn_i_fn_unref(value);
    return y;
}

/* ---- fewer bits ---- */

/* The mantissa to nearest, ties to even: half of the last bit that stays is added, less 1 where that is 0. */
static tn_i_var short_mantissa(const floats *k, tn_i_var bits, int mantissa) {
    const int drop = k->mantissa - mantissa;
    if (drop <= 0) return bits;
    const tn_i_var odd = two(k, TN_P_and, two(k, TN_P_shift_right_logical, bits, whole(k, drop)), whole(k, 1));
    const tn_i_var up = two(k, TN_P_add, odd, whole(k, ((int64_t)1 << (drop - 1)) - 1));
    return two(k, TN_P_and, two(k, TN_P_add, bits, up), whole(k, -((int64_t)1 << drop)));
}

/* Exponents above are those of infinity, below they are 0. */
static tn_i_var short_exponent(const floats *k, tn_i_var bits, int exponent) {
    const int64_t infinite = (((int64_t)1 << k->exponent) - 1) << k->mantissa;
    const int64_t bias = ((int64_t)1 << (k->exponent - 1)) - 1, less = ((int64_t)1 << (exponent - 1)) - 1;
    if (exponent >= k->exponent) return bits;
    const tn_i_var sign = sign_of(k, bits), of = two(k, TN_P_and, bits, whole(k, infinite));
    const tn_i_var large = two(k, TN_P_gt, of, whole(k, (bias + less) << k->mantissa));
    const tn_i_var small = two(k, TN_P_le, of, whole(k, (bias - less) << k->mantissa));
    bits = choose(k, large, two(k, TN_P_or, sign, whole(k, infinite)), bits);
    return choose(k, small, sign, bits);
}

static tn_i_var of_fewer_bits(tn_i_builder *b, const tn_i_var *in, tn_i_format to) {
    const floats k = floats_like(b, in[0]);
    const tn_i_var bits = short_exponent(&k, short_mantissa(&k, bits_of(&k, in[0]), to.mantissa), to.exponent);
    return choose(&k, two(&k, TN_P_ne, in[0], in[0]), in[0], real_of(&k, bits));
}

/* ---- bits of 16 ---- */

tn_i_var tn_i_half_of_bits(tn_i_builder *b, tn_i_var bits, tn_i_format of) {
    if (b->failed) return TN_NOVAR;
    const floats k = {.b = b, .whole = *tn_i_vtype(b, bits), .real = {.dtype = TN_F32}};
    if (of.exponent == 8) return cast(b, two(&k, TN_P_shift_left, bits, whole(&k, 16)), TN_F32);
    const tn_i_var sign = two(&k, TN_P_shift_left, two(&k, TN_P_and, bits, whole(&k, 0x8000)), whole(&k, 16));
    const tn_i_var size = two(&k, TN_P_shift_left, two(&k, TN_P_and, bits, whole(&k, 0x7fff)), whole(&k, 13));
    tn_i_var x = cast(b, size, TN_F32);
    if (b->failed) return TN_NOVAR;
    x = tn_i_op2(b, TN_P_mul, x, tn_i_number_like(b, x, 0x1p112)); /* the exponents' biases are 127 and 15 */
    const tn_i_var ends = cast(b, two(&k, TN_P_or, size, whole(&k, 0x7f800000)), TN_F32);
    x = choose(&k, two(&k, TN_P_ge, size, whole(&k, 0x7c00 << 13)), ends, x);
    return cast(b, two(&k, TN_P_or, cast(b, x, TN_U32), sign), TN_F32);
}

tn_i_var tn_i_bits_of_half(tn_i_builder *b, tn_i_var x, tn_i_format of) {
    const tn_i_var bits = cast(b, x, TN_U32);
    if (b->failed) return TN_NOVAR;
    const floats k = {.b = b, .whole = *tn_i_vtype(b, bits), .real = *tn_i_vtype(b, x)};
    if (of.exponent == 8) return two(&k, TN_P_shift_right_logical, bits, whole(&k, 16));
    const tn_i_var sign =
        two(&k, TN_P_shift_right_logical, two(&k, TN_P_and, bits, whole(&k, (int64_t)1 << 31)), whole(&k, 16));
    const tn_i_var size_of = tn_i_op1(b, TN_P_abs, x);
    const tn_i_var small = cast(b, tn_i_op2(b, TN_P_mul, size_of, tn_i_number_like(b, x, 0x1p-112)), TN_U32);
    const tn_i_var size = two(&k, TN_P_shift_right_logical, small, whole(&k, 13));
    const tn_i_var ends = choose(&k, two(&k, TN_P_ne, x, x), whole(&k, 0x7e00), whole(&k, 0x7c00));
    return two(&k, TN_P_or, choose(&k, tn_i_op1(b, TN_P_is_finite, x), size, ends), sign);
}

/* ---- forms ---- */

static bool of_floats(tn_i_builder *b, const char *name, uint32_t want, uint32_t nin, const tn_i_var *in) {
    if (nin != want) tn_i_builder_fail(b, TN_ETYPE, "%s: takes %u operands, not %u", name, want, (unsigned)nin);
    for (uint32_t i = 0; i < nin && !b->failed; i++)
        if (!tn_i_is_float(tn_i_vtype(b, in[i])->dtype))
            tn_i_builder_fail(b, TN_ETYPE, "%s: operand %u: is not of floats", name, (unsigned)i);
    return !b->failed;
}

static tn_i_var beside(tn_i_builder *b, const tn_i_var *in, tn_i_format to) {
    const floats k = floats_like(b, in[0]);
    const tn_i_var x = in[0], y = in[1], zero = tn_i_zeros(b, &k.real), bits = bits_of(&k, x);
    (void)to;
    const tn_i_var below = two(&k, TN_P_lt, x, y), positive = two(&k, TN_P_gt, x, zero);
    const tn_i_var inwards = two(&k, TN_P_xor, below, positive);
    tn_i_var next = two(&k, TN_P_add, bits, choose(&k, inwards, whole(&k, -1), whole(&k, 1)));
    const tn_i_var least = two(&k, TN_P_or, sign_of(&k, bits_of(&k, y)), whole(&k, 1));
    next = choose(&k, two(&k, TN_P_eq, x, zero), least, next);
    const tn_i_var moved = choose(&k, two(&k, TN_P_eq, x, y), y, real_of(&k, next));
    const tn_i_var none = two(&k, TN_P_or, two(&k, TN_P_ne, x, x), two(&k, TN_P_ne, y, y));
    return choose(&k, none, two(&k, TN_P_add, x, y), moved);
}

static tn_i_var written_nextafter(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    (void)p;
    if (!of_floats(b, "nextafter", 2, nin, in)) return TN_NOVAR;
    if (!tn_type_equal(tn_i_vtype(b, in[0]), tn_i_vtype(b, in[1]))) {
        tn_i_builder_fail(b, TN_ETYPE, "nextafter: the operands are of different types");
        return TN_NOVAR;
    }
    if (tn_i_is_half(tn_i_vtype(b, in[0])->dtype)) {
        tn_i_builder_fail(b, TN_ETYPE, "nextafter of %s", tn_i_dtype_name(tn_i_vtype(b, in[0])->dtype));
        return TN_NOVAR;
    }
    return with_tangent(b, beside, (tn_i_format){0}, 2, in);
}
const tn_prim tn_i_nextafter_form = {
    .id = -1, .name = "nextafter", .nin = 2, .flags = TN_F_ELEMENTWISE, .written = written_nextafter};

enum { EXPONENT, MANTISSA };
static const tn_i_spec precision_params[] = {
    {.name = "exponent_bits", .kind = TN_K_INT}, {.name = "mantissa_bits", .kind = TN_K_INT}, {.name = NULL}};

static tn_i_var written_precision(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    const int64_t exponent = p[EXPONENT].u.i, mantissa = p[MANTISSA].u.i;
    if (!of_floats(b, "reduce_precision", 1, nin, in)) return TN_NOVAR;
    if (exponent < 1 || exponent > 63 || mantissa < 0 || mantissa > 63) {
        tn_i_builder_fail(b, TN_ETYPE, "reduce_precision: there is no format of %lld and %lld bits",
                          (long long)exponent, (long long)mantissa);
        return TN_NOVAR;
    }
    const int dtype = tn_i_vtype(b, in[0])->dtype;
    const tn_i_var x = tn_i_is_half(dtype) ? tn_i_convert(b, in[0], TN_F32) : in[0];
    return tn_i_convert(b, with_tangent(b, of_fewer_bits, (tn_i_format){(int)exponent, (int)mantissa}, 1, &x), dtype);
}
const tn_prim tn_i_reduce_precision_form = {
    .id = -1, .name = "reduce_precision", .nin = 1, .params = precision_params, .written = written_precision};
