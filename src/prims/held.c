#include "prims/held.h"
#include "ir/params.h"
#include "prims/ids.h"
#include "prims/scalar/near.h"
#include "prims/arrays/shape.h"

static int bits_of(int dtype) { return (int)tn_i_dtype_size(dtype) * 8; }

static tn_i_var whole_like(tn_i_builder *b, tn_i_var x, int64_t n) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    return tn_i_whole_number(b, &t, n);
}

static tn_i_var with(tn_i_builder *b, int op, tn_i_var x, int64_t n) { return tn_i_op2(b, op, x, whole_like(b, x, n)); }

static tn_i_var choose(tn_i_builder *b, tn_i_var which, tn_i_var yes, tn_i_var no) {
    return tn_i_op3(b, TN_P_select, which, yes, no);
}

static tn_i_var cast(tn_i_builder *b, tn_i_var x, int dtype) {
    const tn_i_param to = {.kind = TN_K_DTYPE, .u.i = dtype};
    return b->failed ? TN_NOVAR : tn_i_emit(b, tn_i_prim(b, TN_P_bitcast_convert_type), &to, 1, &x);
}

/* ---- in memory ---- */

tn_i_var tn_i_load_held(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return x;
    const int dtype = tn_i_vtype(b, x)->dtype;
    return dtype == TN_U64 ? cast(b, x, TN_I64) : tn_i_convert(b, x, tn_i_holder(dtype));
}

tn_i_var tn_i_store_held(tn_i_builder *b, tn_i_var x, int dtype) {
    return dtype == TN_U64 ? cast(b, x, dtype) : tn_i_convert(b, x, dtype);
}

static bool converts(const tn_prim *prim) {
    return prim->id == TN_P_convert_element_type || prim->id == TN_P_bitcast_convert_type;
}

bool tn_i_loads_held(const tn_prim *prim, int from, int to) {
    return converts(prim) && tn_i_is_held(from) && to == tn_i_holder(from);
}

bool tn_i_stores_held(const tn_prim *prim, int from, int to) { return tn_i_loads_held(prim, to, from); }

/* ---- values of the dtype ---- */

static tn_i_format format_of(int dtype) { return dtype == TN_F16 ? (tn_i_format){5, 10} : (tn_i_format){8, 7}; }

/* The low bits of a short integer as a u32. */
static tn_i_var low_bits(tn_i_builder *b, tn_i_var x, int dtype) {
    return with(b, TN_P_and, tn_i_convert(b, x, TN_U32), ((int64_t)1 << bits_of(dtype)) - 1);
}

/* ---- equations ---- */

/* Elements go from one array to another as they are. */
static bool moves(const tn_prim *prim) {
    const unsigned as_they_are = TN_F_VIEW | TN_F_PLACES | TN_F_LOOP;
    if (prim->flags & TN_F_STORED) return true;
    if (prim->flags & (TN_F_COMM | TN_F_ELEMENTWISE)) return false; /* messages and strips are of holders */
    return prim->flags & as_they_are || prim->spread == TN_SPREAD_MOVES || prim->body;
}

/* Whether operands and results of this dtype have to be in their holder's order, to its ends: the largest and the least
 * of nothing are the holder's. */
static bool reordered(const tn_prim *prim, int dtype) {
    const bool of_nothing = prim->fold == TN_FOLD_MAX || prim->fold == TN_FOLD_MIN;
    return prim->flags & TN_F_ORDER && (dtype == TN_U64 || (of_nothing && tn_i_is_short(dtype)));
}

/* A number in the order of all of the holder's bits, and back. */
static tn_i_var in_order(tn_i_builder *b, tn_i_var x, int dtype) {
    if (dtype == TN_U64) return with(b, TN_P_xor, x, INT64_MIN);
    return with(b, TN_P_shift_left, x, 32 - bits_of(dtype));
}

static tn_i_var out_of_order(tn_i_builder *b, tn_i_var x, int dtype) {
    if (dtype == TN_U64) return in_order(b, x, dtype);
    const int shift = tn_i_is_unsigned(dtype) ? TN_P_shift_right_logical : TN_P_shift_right_arithmetic;
    tn_i_var y = with(b, shift, x, 32 - bits_of(dtype));
    return y;
}

/* The equation of the holders, of values and results of them. */
static void of_holders(tn_i_rule *r, const tn_prim *prim, tn_i_var *out) {
    tn_i_param p[TN_MAX_PARAMS];
    tn_i_builder *b = r->b;
    const uint32_t np = tn_i_params_count(prim);
    for (uint32_t k = 0; k < np; k++) {
        p[k] = r->p[k];
        if (p[k].kind == TN_K_DTYPE) p[k].u.i = tn_i_holder((int)p[k].u.i);
    }
    tn_i_var *in = tn_i_alloc_array(b->ctx, r->nin, sizeof *in);
    if (!in) b->failed = true;
    for (uint32_t i = 0; i < r->nin && !b->failed; i++) {
        const int dtype = r->in_type[i]->dtype;
        in[i] = reordered(prim, dtype) ? in_order(b, r->in[i], dtype) : r->in[i];
    }
    const tn_i_var first = b->failed ? TN_NOVAR : tn_i_emit(b, prim, p, r->nin, in);
    for (uint32_t j = 0; j < r->nout && !b->failed; j++) {
        const int dtype = r->out_type[j]->dtype;
        out[j] = reordered(prim, dtype) ? out_of_order(b, first + j, dtype) : first + j;
    }
    tn_i_free(b->ctx, in, r->nin * sizeof *in);
}

void tn_i_held_equation(tn_i_rule *r, const tn_prim *prim, tn_i_var *out) {
    tn_i_builder *b = r->b;
    if (b->failed) return;
    if (moves(prim)) {
        const tn_i_var first = tn_i_emit(b, prim, r->p, r->nin, r->in);
        for (uint32_t j = 0; j < r->nout && !b->failed; j++) out[j] = first + j;
        return;
    }
    tn_i_var *in = tn_i_alloc_array(b->ctx, r->nin, sizeof *in);
    tn_i_rule of = *r;
    of.in = in;
    if (!in) b->failed = true;
    for (uint32_t i = 0; i < r->nin && !b->failed; i++) in[i] = tn_i_load_held(b, r->in[i]);
    if (!b->failed && !(prim->held && prim->held(&of, out))) of_holders(&of, prim, out);
    for (uint32_t j = 0; j < r->nout && !b->failed; j++) out[j] = tn_i_store_held(b, out[j], r->out_type[j]->dtype);
    tn_i_free(b->ctx, in, r->nin * sizeof *in);
}

bool tn_i_held_fold(const tn_i_query *q, const uint64_t *in, uint64_t *out) {
    enum { MOST = 3 };
    tn_i_builder b;
    tn_i_var v[MOST], y = TN_NOVAR;
    const tn_type *type = &q->out[0];
    bool ok = q->nin <= MOST && q->nout == 1;
    tn_i_builder_init(&b, q->ctx);
    for (uint32_t i = 0; i < q->nin && ok; i++) v[i] = tn_i_literal(&b, q->in[i]->dtype, in[i]);
    tn_i_rule r = {.b = &b, .p = q->p, .nin = q->nin, .nout = 1, .in = v, .in_type = q->in, .out_type = &type};
    if (ok) tn_i_held_equation(&r, q->prim, &y);
    ok = ok && !b.failed && y != TN_NOVAR && tn_i_known_scalar(&b, y, out);
    tn_i_builder_drop(&b);
    return ok;
}

/* ---- conversions ---- */

/* Of a float: truncated and saturated, NaN to 0. */
static tn_i_var float_to_whole(tn_i_builder *b, tn_i_var x, int dtype) {
    if (b->failed) return TN_NOVAR;
    if (dtype != TN_U64) {
        const int64_t most = ((int64_t)1 << (bits_of(dtype) - !tn_i_is_unsigned(dtype))) - 1;
        const int64_t least = tn_i_is_unsigned(dtype) ? 0 : -most - 1;
        const tn_i_var y = tn_i_convert(b, x, TN_I32);
        return tn_i_convert(b, with(b, TN_P_max, with(b, TN_P_min, y, most), least), tn_i_holder(dtype));
    }
    const tn_i_var half = tn_i_number_like(b, x, 0x1p63), large = tn_i_op2(b, TN_P_ge, x, half);
    const tn_i_var above = tn_i_convert(b, tn_i_op2(b, TN_P_sub, x, half), TN_I64);
    const tn_i_var below = with(b, TN_P_max, tn_i_convert(b, x, TN_I64), 0);
    return choose(b, large, with(b, TN_P_xor, above, INT64_MIN), below);
}

/* An i64 has no more than 63 of the bits; of more half, the last bit of which is set where that behind it was. */
static tn_i_var u64_to_float(tn_i_builder *b, tn_i_var x, int holder) {
    const tn_i_var half = tn_i_op2(b, TN_P_or, with(b, TN_P_shift_right_logical, x, 1), with(b, TN_P_and, x, 1));
    const tn_i_var large = with(b, TN_P_lt, x, 0), rounded = tn_i_convert(b, half, holder);
    const tn_i_var twice = tn_i_op2(b, TN_P_add, rounded, rounded);
    return choose(b, large, twice, tn_i_convert(b, x, holder));
}

bool tn_i_held_convert(tn_i_rule *r, tn_i_var *out) {
    const int from = r->in_type[0]->dtype, to = r->out_type[0]->dtype, holder = tn_i_holder(to);
    if (tn_i_is_float(from) && tn_i_is_int(to) && tn_i_is_held(to))
        out[0] = float_to_whole(r->b, r->in[0], to);
    else if (from == TN_U64 && tn_i_is_float(to))
        out[0] = u64_to_float(r->b, r->in[0], holder);
    else
        out[0] = tn_i_convert(r->b, r->in[0], holder);
    return true;
}

/* The bits of 16 as a u32, and what has them. */
static tn_i_var bits16(tn_i_builder *b, tn_i_var x, int dtype) {
    if (tn_i_is_half(dtype)) return tn_i_bits_of_half(b, x, format_of(dtype));
    return low_bits(b, x, dtype);
}

static tn_i_var of_bits16(tn_i_builder *b, tn_i_var bits, int dtype) {
    if (tn_i_is_half(dtype)) return tn_i_half_of_bits(b, bits, format_of(dtype));
    return tn_i_convert(b, bits, tn_i_holder(dtype));
}

bool tn_i_held_bitcast(tn_i_rule *r, tn_i_var *out) {
    const int from = r->in_type[0]->dtype, to = r->out_type[0]->dtype;
    if (from == to || tn_i_dtype_size(to) == 8)
        out[0] = from == to ? r->in[0] : cast(r->b, r->in[0], tn_i_holder(to));
    else
        out[0] = of_bits16(r->b, bits16(r->b, r->in[0], from), to);
    return true;
}

/* ---- what a sign would change ---- */

static tn_i_var u64_compare(tn_i_builder *b, int op, tn_i_var x, tn_i_var y) {
    return tn_i_op2(b, op, in_order(b, x, TN_U64), in_order(b, y, TN_U64));
}

/* Half of x divided, doubled, is the quotient or one less; of y that is 2^63 or more it is 0 or 1. */
static bool u64_divided(tn_i_rule *r, bool rest, tn_i_var *out) {
    tn_i_builder *b = r->b;
    const tn_i_var x = r->in[0], y = r->in[1];
    if (r->in_type[0]->dtype != TN_U64) return false;
    const tn_i_var half = tn_i_op2(b, TN_P_div, with(b, TN_P_shift_right_logical, x, 1), y);
    const tn_i_var large = with(b, TN_P_lt, y, 0), zero = whole_like(b, x, 0);
    const tn_i_var q = choose(b, large, zero, with(b, TN_P_shift_left, half, 1));
    const tn_i_var left = tn_i_op2(b, TN_P_sub, x, tn_i_op2(b, TN_P_mul, q, y));
    const tn_i_var more = u64_compare(b, TN_P_ge, left, y);
    if (rest)
        out[0] = choose(b, more, tn_i_op2(b, TN_P_sub, left, y), left);
    else
        out[0] = choose(b, more, with(b, TN_P_add, q, 1), q);
    return true;
}
bool tn_i_held_div(tn_i_rule *r, tn_i_var *out) { return u64_divided(r, false, out); }
bool tn_i_held_rem(tn_i_rule *r, tn_i_var *out) { return u64_divided(r, true, out); }

bool tn_i_held_abs(tn_i_rule *r, tn_i_var *out) {
    if (!tn_i_is_unsigned(r->in_type[0]->dtype)) return false;
    out[0] = r->in[0];
    return true;
}

bool tn_i_held_sign(tn_i_rule *r, tn_i_var *out) {
    if (r->in_type[0]->dtype != TN_U64) return false;
    out[0] = tn_i_convert(r->b, with(r->b, TN_P_ne, r->in[0], 0), TN_I64);
    return true;
}

/* ---- bits that the dtype has not ---- */

bool tn_i_held_shift_right_logical(tn_i_rule *r, tn_i_var *out) {
    const int dtype = r->in_type[0]->dtype;
    if (!tn_i_is_short(dtype) || tn_i_is_unsigned(dtype)) return false;
    const tn_i_var low = tn_i_convert(r->b, low_bits(r->b, r->in[0], dtype), TN_I32);
    out[0] = tn_i_op2(r->b, TN_P_shift_right_logical, low, r->in[1]);
    return true;
}

/* The first bit of the dtype is the sign. */
bool tn_i_held_shift_right_arithmetic(tn_i_rule *r, tn_i_var *out) {
    const int dtype = r->in_type[0]->dtype;
    if (!tn_i_is_short(dtype) || !tn_i_is_unsigned(dtype)) return false;
    const int above = 32 - bits_of(dtype);
    const tn_i_var sign = with(r->b, TN_P_shift_right_arithmetic, with(r->b, TN_P_shift_left, r->in[0], above), above);
    out[0] = tn_i_op2(r->b, TN_P_shift_right_arithmetic, sign, r->in[1]);
    return true;
}

static bool of_low_bits(tn_i_rule *r, int op, int more, tn_i_var *out) {
    const int dtype = r->in_type[0]->dtype;
    if (!tn_i_is_short(dtype)) return false;
    const tn_i_var n = tn_i_op1(r->b, op, low_bits(r->b, r->in[0], dtype));
    out[0] = tn_i_convert(r->b, more ? with(r->b, TN_P_sub, n, more) : n, tn_i_holder(dtype));
    return true;
}
bool tn_i_held_population_count(tn_i_rule *r, tn_i_var *out) { return of_low_bits(r, TN_P_population_count, 0, out); }
bool tn_i_held_clz(tn_i_rule *r, tn_i_var *out) {
    return of_low_bits(r, TN_P_clz, 32 - bits_of(r->in_type[0]->dtype), out);
}
