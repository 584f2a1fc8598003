#include "prims/narrow.h"
#include "prims/ids.h"
#include "prims/shape.h"

#include <string.h>

static const struct {
    const char *name;
    int holder, bits;
    bool is_signed;
    tn_i_format format;
} dtypes[] = {
    [TN_I_U64 - TN_I_U64] = {"uint64", TN_I64, 64, false, {0, 0}},
    [TN_I_BF16 - TN_I_U64] = {"bfloat16", TN_F32, 16, true, {8, 7}},
    [TN_I_F16 - TN_I_U64] = {"float16", TN_F32, 16, true, {5, 10}},
    [TN_I_I8 - TN_I_U64] = {"int8", TN_I32, 8, true, {0, 0}},
    [TN_I_I16 - TN_I_U64] = {"int16", TN_I32, 16, true, {0, 0}},
    [TN_I_U8 - TN_I_U64] = {"uint8", TN_U32, 8, false, {0, 0}},
    [TN_I_U16 - TN_I_U64] = {"uint16", TN_U32, 16, false, {0, 0}},
};

static bool is_narrow(int dtype) { return dtype >= TN_I_U64 && dtype < TN_I_NARROW_END; }
int tn_i_holder(int dtype) { return is_narrow(dtype) ? dtypes[dtype - TN_I_U64].holder : -1; }
const char *tn_i_narrow_name(int dtype) { return is_narrow(dtype) ? dtypes[dtype - TN_I_U64].name : ""; }
tn_i_format tn_i_format_of(int dtype) { return dtypes[dtype - TN_I_U64].format; }

tn_i_var tn_i_narrowed(tn_i_builder *b, tn_i_var x, int dtype) {
    if (b->failed || !(tn_i_is_half(dtype) || tn_i_is_short(dtype))) return x;
    if (tn_i_is_half(dtype)) return tn_i_rounded_to_half(b, x, tn_i_format_of(dtype));
    const tn_type t = *tn_i_vtype(b, x);
    const int bits = dtypes[dtype - TN_I_U64].bits;
    if (!dtypes[dtype - TN_I_U64].is_signed)
        return tn_i_op2(b, TN_P_and, x, tn_i_whole_number(b, &t, ((int64_t)1 << bits) - 1));
    const tn_i_var by = tn_i_whole_number(b, &t, 32 - bits);
    return tn_i_op2(b, TN_P_shift_right_arithmetic, tn_i_op2(b, TN_P_shift_left, x, by), by);
}

/* ---- u64 ---- */

static bool two_alike(tn_i_builder *b, const char *name, uint32_t nin, const tn_i_var *in) {
    if (b->failed) return false;
    if (nin == 2 && tn_type_equal(tn_i_vtype(b, in[0]), tn_i_vtype(b, in[1])) && tn_i_vtype(b, in[0])->dtype == TN_I64)
        return true;
    tn_i_builder_fail(b, TN_ETYPE, "%s of uint64: takes two operands of one type", name);
    return false;
}

/* The order of all bits: with the first of them turned. */
static tn_i_var ordered(tn_i_builder *b, int op, tn_i_var x, tn_i_var y) {
    if (b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    const tn_i_var first = tn_i_whole_number(b, &t, INT64_MIN);
    return tn_i_op2(b, op, tn_i_op2(b, TN_P_xor, x, first), tn_i_op2(b, TN_P_xor, y, first));
}

/* Half of x divided, doubled, is the quotient or one less; of y that is 2^63 or more it is 0 or 1. */
static tn_i_var quotient(tn_i_builder *b, tn_i_var x, tn_i_var y, bool rest) {
    const tn_type t = *tn_i_vtype(b, x);
    const tn_i_var one = tn_i_whole_number(b, &t, 1), zero = tn_i_whole_number(b, &t, 0);
    const tn_i_var half = tn_i_op2(b, TN_P_div, tn_i_op2(b, TN_P_shift_right_logical, x, one), y);
    const tn_i_var large = tn_i_op2(b, TN_P_lt, y, zero);
    const tn_i_var q = tn_i_op3(b, TN_P_select, large, zero, tn_i_op2(b, TN_P_shift_left, half, one));
    const tn_i_var r = tn_i_op2(b, TN_P_sub, x, tn_i_op2(b, TN_P_mul, q, y)), more = ordered(b, TN_P_ge, r, y);
    if (rest) return tn_i_op3(b, TN_P_select, more, tn_i_op2(b, TN_P_sub, r, y), r);
    return tn_i_op3(b, TN_P_select, more, tn_i_op2(b, TN_P_add, q, one), q);
}

#define U64(op, value)                                                                                     \
    static tn_i_var written_##op(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) { \
        (void)p;                                                                                           \
        return two_alike(b, #op, nin, in) ? (value) : TN_NOVAR;                                            \
    }                                                                                                      \
    static const tn_prim u64_##op = {                                                                      \
        .id = -1, .name = #op, .nin = 2, .flags = TN_F_ELEMENTWISE, .written = written_##op};
U64(lt, ordered(b, TN_P_lt, in[0], in[1]))
U64(le, ordered(b, TN_P_le, in[0], in[1]))
U64(gt, ordered(b, TN_P_gt, in[0], in[1]))
U64(ge, ordered(b, TN_P_ge, in[0], in[1]))
U64(max, tn_i_op3(b, TN_P_select, ordered(b, TN_P_gt, in[0], in[1]), in[0], in[1]))
U64(min, tn_i_op3(b, TN_P_select, ordered(b, TN_P_lt, in[0], in[1]), in[0], in[1]))
U64(div, quotient(b, in[0], in[1], false))
U64(rem, quotient(b, in[0], in[1], true))

const tn_prim *tn_i_u64_form(const char *name) {
    static const tn_prim *const table[] = {&u64_lt, &u64_le, &u64_gt, &u64_ge, &u64_max, &u64_min, &u64_div, &u64_rem};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}

/* ---- bits of floats of 16 ---- */

static const tn_i_spec cast_params[] = {{.name = "new_dtype", .kind = TN_K_DTYPE}, {.name = NULL}};

#define CAST(name_, function, dtype)                                                                          \
    static tn_i_var written_##name_(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) { \
        (void)p;                                                                                              \
        if (nin != 1) tn_i_builder_fail(b, TN_ETYPE, "bitcast_convert_type: takes one operand");              \
        return b->failed ? TN_NOVAR : function(b, in[0], tn_i_format_of(dtype));                              \
    }                                                                                                         \
    static const tn_prim name_ = {                                                                            \
        .id = -1, .name = "bitcast_convert_type", .nin = 1, .params = cast_params, .written = written_##name_};
CAST(bits_of_bf16, tn_i_bits_of_half, TN_I_BF16)
CAST(bits_of_f16, tn_i_bits_of_half, TN_I_F16)
CAST(bf16_of_bits, tn_i_half_of_bits, TN_I_BF16)
CAST(f16_of_bits, tn_i_half_of_bits, TN_I_F16)

const tn_prim *tn_i_half_bits_form(int from, int to) {
    if (to == TN_I_U16) return from == TN_I_BF16 ? &bits_of_bf16 : from == TN_I_F16 ? &bits_of_f16 : NULL;
    if (from == TN_I_U16) return to == TN_I_BF16 ? &bf16_of_bits : to == TN_I_F16 ? &f16_of_bits : NULL;
    return NULL;
}
