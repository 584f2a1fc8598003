#include "prims/forms.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/arrays/shape.h"

/* ---- reductions by bits ---- */

static const tn_i_spec axes_params[] = {{.name = "axes", .kind = TN_K_INTS}, {.name = NULL}};

static bool refuse(tn_i_builder *b, const char *name, const char *why) {
    tn_i_builder_fail(b, TN_ETYPE, "%s: %s", name, why);
    return false;
}

static bool reducible(tn_i_builder *b, const char *name, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    unsigned seen = 0;
    if (nin != 1) return refuse(b, name, "takes one operand");
    if (b->failed || in[0] == TN_NOVAR) return false;
    const tn_type *t = tn_i_vtype(b, in[0]);
    if (tn_i_is_float(t->dtype)) return refuse(b, name, "operand 0: is neither of integers nor of bools");
    for (uint32_t i = 0; i < p[0].n; i++) {
        const int64_t axis = p[0].u.ints[i];
        if (axis < 0 || axis >= t->rank) return refuse(b, name, "axes: an axis is no dimension of operand 0");
        if (seen >> axis & 1) return refuse(b, name, "axes: an axis is repeated");
        seen |= 1u << axis;
    }
    return true;
}

/* x[.., first:limit, ..] */
static tn_i_var part(tn_i_builder *b, tn_i_var x, int axis, int64_t first, int64_t limit) {
    const tn_type t = *tn_i_vtype(b, x);
    int64_t start[TN_MAX_RANK] = {0}, end[TN_MAX_RANK];
    for (int i = 0; i < t.rank; i++) end[i] = t.dim[i];
    start[axis] = first;
    end[axis] = limit;
    return tn_i_slice(b, x, start, end, NULL);
}

/* All along an axis joined, by halves: its size is 1 then. */
static tn_i_var by_halves(tn_i_builder *b, int op, tn_i_var x, int axis) {
    tn_i_var odd = TN_NOVAR;
    for (int64_t n = tn_i_vtype(b, x)->dim[axis]; n > 1 && !b->failed; n /= 2) {
        const int64_t half = n / 2;
        if (n % 2) {
            const tn_i_var last = part(b, x, axis, n - 1, n);
            odd = odd == TN_NOVAR ? last : tn_i_op2(b, op, odd, last);
        }
        const tn_i_var low = part(b, x, axis, 0, half), high = part(b, x, axis, half, 2 * half);
        x = tn_i_op2(b, op, low, high);
        if (b->failed) return TN_NOVAR;
    }
    return odd == TN_NOVAR || b->failed ? x : tn_i_op2(b, op, x, odd);
}

static tn_i_var reduce_bits(tn_i_builder *b, int op, tn_i_var x, unsigned axes) {
    tn_type out = *tn_i_vtype(b, x);
    bool empty = false;
    int kept = 0;
    for (int i = 0; i < out.rank; i++) {
        empty |= (axes >> i & 1) && out.dim[i] == 0;
        if (!(axes >> i & 1)) out.dim[kept++] = out.dim[i];
    }
    const int rank = out.rank;
    out.rank = kept;
    if (empty) { /* what changes nothing: no bits, or all of them */
        const tn_i_var none = tn_i_zeros(b, &out);
        return op == TN_P_and ? tn_i_op1(b, TN_P_not, none) : none;
    }
    for (int i = 0; i < rank && !b->failed; i++)
        if (axes >> i & 1) x = by_halves(b, op, x, i);
    return b->failed ? TN_NOVAR : tn_i_reshape(b, x, out.rank, out.dim);
}

static tn_i_var reduce(tn_i_builder *b, const char *name, int op, int of_bools, const tn_i_param *p, uint32_t nin,
                       const tn_i_var *in) {
    if (!reducible(b, name, p, nin, in)) return TN_NOVAR;
    if (tn_i_vtype(b, in[0])->dtype != TN_BOOL) return reduce_bits(b, op, in[0], tn_i_axis_set(p[0].n, p[0].u.ints));
    if (op != TN_P_xor) return tn_i_emit(b, tn_i_prim(b, of_bools), p, 1, in);
    const tn_i_var count = tn_i_reduce_sum(b, tn_i_convert(b, in[0], TN_I32), p[0].n, p[0].u.ints);
    if (b->failed) return TN_NOVAR;
    return tn_i_convert(b, tn_i_op2(b, TN_P_and, count, tn_i_number_like(b, count, 1)), TN_BOOL);
}

#define REDUCTION(form, op, of_bools)                                                                        \
    static tn_i_var written_##form(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) { \
        return reduce(b, #form, op, of_bools, p, nin, in);                                                   \
    }                                                                                                        \
    const tn_prim tn_i_##form##_form = {                                                                     \
        .id = -1, .name = #form, .nin = 1, .params = axes_params, .written = written_##form};
REDUCTION(reduce_or, TN_P_or, TN_P_reduce_max)
REDUCTION(reduce_and, TN_P_and, TN_P_reduce_min)
REDUCTION(reduce_xor, TN_P_xor, -1)

/* ---- the total order of floats ---- */

/* An integer of the same order: of negative floats all bits but the sign turn. */
static tn_i_var ordered(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    if (tn_i_is_half(tn_i_vtype(b, x)->dtype)) x = tn_i_convert(b, x, TN_F32);
    const int dtype = tn_i_vtype(b, x)->dtype;
    if (!tn_i_is_float(dtype)) return x;
    const tn_i_param whole = {.kind = TN_K_DTYPE, .u.i = dtype == TN_F32 ? TN_I32 : TN_I64};
    const tn_i_var bits = tn_i_emit(b, tn_i_prim(b, TN_P_bitcast_convert_type), &whole, 1, &x);
    if (b->failed) return TN_NOVAR;
    const tn_i_var sign = tn_i_number_like(b, bits, dtype == TN_F32 ? 31 : 63), one = tn_i_number_like(b, bits, 1);
    const tn_i_var negative = tn_i_op2(b, TN_P_shift_right_arithmetic, bits, sign);
    return tn_i_op2(b, TN_P_xor, bits, tn_i_op2(b, TN_P_shift_right_logical, negative, one));
}

static tn_i_var compare(tn_i_builder *b, const char *name, int op, uint32_t nin, const tn_i_var *in) {
    if (nin != 2) {
        (void)refuse(b, name, "takes two operands");
        return TN_NOVAR;
    }
    const tn_i_var x = ordered(b, in[0]), y = ordered(b, in[1]);
    return b->failed ? TN_NOVAR : tn_i_op2(b, op, x, y);
}

static tn_i_var written_lt_to(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    (void)p;
    return compare(b, "lt_to", TN_P_lt, nin, in);
}
static tn_i_var written_le_to(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    (void)p;
    return compare(b, "le_to", TN_P_le, nin, in);
}
const tn_prim tn_i_lt_to_form = {.id = -1, .name = "lt_to", .nin = 2, .written = written_lt_to};
const tn_prim tn_i_le_to_form = {.id = -1, .name = "le_to", .nin = 2, .written = written_le_to};

/* ---- joined, repeated ---- */

static const tn_i_spec stack_params[] = {{.name = "axis", .kind = TN_K_INT}, {.name = NULL}};
static const tn_i_spec tile_params[] = {{.name = "reps", .kind = TN_K_INTS}, {.name = NULL}};

static tn_i_var written_stack(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    if (nin == 0) return refuse(b, "stack", "takes one operand or more"), TN_NOVAR;
    const tn_type *t = tn_i_vtype(b, in[0]);
    const int64_t axis = p[0].u.i;
    int64_t shape[TN_MAX_RANK];
    if (t->rank == TN_MAX_RANK) return refuse(b, "stack", "the result has too many dimensions"), TN_NOVAR;
    if (axis < 0 || axis > t->rank) return refuse(b, "stack", "axis: is no dimension of the result"), TN_NOVAR;
    for (int d = 0; d <= t->rank; d++) shape[d] = d < axis ? t->dim[d] : d == axis ? 1 : t->dim[d - 1];
    const int rank = t->rank + 1;
    tn_i_var *one = tn_i_alloc_array(b->ctx, nin, sizeof *one), y = TN_NOVAR;
    for (uint32_t i = 0; one && i < nin && !b->failed; i++)
        one[i] = tn_type_equal(tn_i_vtype(b, in[i]), tn_i_vtype(b, in[0]))
                     ? tn_i_reshape(b, in[i], rank, shape)
                     : (refuse(b, "stack", "the operands are of different types"), TN_NOVAR);
    if (one && !b->failed) y = tn_i_concatenate(b, nin, one, axis);
    tn_i_free(b->ctx, one, nin * sizeof *one);
    return y;
}

static tn_i_var written_tile(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    if (nin != 1) return refuse(b, "tile", "takes one operand"), TN_NOVAR;
    const uint32_t n = p[0].n;
    if ((int)n != tn_i_vtype(b, in[0])->rank) return refuse(b, "tile", "reps: not one for each dimension"), TN_NOVAR;
    tn_i_var x = in[0];
    for (uint32_t d = 0; d < n && x != TN_NOVAR; d++) {
        int64_t length;
        if (p[0].u.ints[d] < 0 || !tn_i_mul_i64(p[0].u.ints[d], tn_i_vtype(b, x)->dim[d], &length))
            return refuse(b, "tile", "reps: is negative, or too large"), TN_NOVAR;
        x = tn_i_repeated(b, x, (int)d, p[0].u.ints[d]);
    }
    return x;
}

const tn_prim tn_i_stack_form = {
    .id = -1, .name = "stack", .nin = -1, .params = stack_params, .written = written_stack, .linear = {TN_ALL}};
const tn_prim tn_i_tile_form = {
    .id = -1, .name = "tile", .nin = 1, .params = tile_params, .written = written_tile, .linear = {TN_ALL}};

/* ---- chosen ---- */

static tn_i_var written_select_n(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    (void)p;
    if (nin < 2) return refuse(b, "select_n", "takes an index and cases"), TN_NOVAR;
    const int dtype = tn_i_vtype(b, in[0])->dtype;
    if (!tn_i_is_int(dtype) && nin == 3) return tn_i_op3(b, TN_P_select, in[0], in[2], in[1]);
    tn_i_var chosen = in[1];
    for (uint32_t k = 1; k + 1 < nin && !b->failed; k++) {
        const tn_type of = *tn_i_vtype(b, in[0]);
        const tn_i_var taken = tn_i_op2(b, TN_P_eq, in[0], tn_i_whole_number(b, &of, k));
        chosen = tn_i_op3(b, TN_P_select, taken, in[k + 1], chosen);
    }
    return chosen;
}
const tn_prim tn_i_select_n_form = {.id = -1,
                                    .name = "select_n",
                                    .nin = -1,
                                    .flags = TN_F_ELEMENTWISE,
                                    .written = written_select_n,
                                    .linear = {TN_ALL & ~TN_OPERAND(0)}};

bool tn_i_chooses(const tn_prim *prim) { return prim->id == TN_P_select || prim == &tn_i_select_n_form; }

static const char *const here[] = {"cpu", NULL};
static const tn_i_spec platform_params[] = {{.name = "platforms", .kind = TN_K_INT, .symbols = here}, {.name = NULL}};

static tn_i_var written_platform(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    (void)in;
    if (nin) return refuse(b, "platform_index", "takes no operand"), TN_NOVAR;
    return tn_i_literal_i64(b, TN_I32, p[0].u.i);
}
const tn_prim tn_i_platform_index_form = {
    .id = -1, .name = "platform_index", .nin = 0, .params = platform_params, .written = written_platform};

tn_i_var tn_i_unsigned_place(tn_i_builder *b, int prim, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    const tn_i_param q[2] = {p[0], {.kind = TN_K_DTYPE, .u.i = TN_I64}};
    const int dtype = (int)p[1].u.i;
    if (!tn_i_is_int(dtype) || tn_i_is_index(dtype)) return TN_NOVAR;
    return tn_i_convert(b, tn_i_emit(b, tn_i_prim(b, prim), q, nin, in), dtype);
}

/* ---- in another order ---- */

static const tn_i_spec reshape_params[] = {
    {.name = "dimensions", .kind = TN_K_INTS}, {.name = "new_sizes", .kind = TN_K_INTS}, {.name = NULL}};

static tn_i_var written_reshape(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    if (nin != 1) return refuse(b, "reshape", "takes one operand"), TN_NOVAR;
    const tn_i_var turned = tn_i_emit(b, tn_i_prim(b, TN_P_transpose), &p[0], 1, in);
    return b->failed ? TN_NOVAR : tn_i_emit(b, tn_i_prim(b, TN_P_reshape), &p[1], 1, &turned);
}
const tn_prim tn_i_reshape_form = {
    .id = -1, .name = "reshape", .nin = 1, .params = reshape_params, .written = written_reshape, .linear = {TN_ALL}};

/* ---- unsigned places ---- */

/* What i64 has not is beyond all arrays, and so is the largest that it has. */
static tn_i_var as_index(tn_i_builder *b, tn_i_var x) {
    const tn_type t = *tn_i_vtype(b, x);
    if (t.dtype == TN_U64) x = tn_i_op2(b, TN_P_min, x, tn_i_whole_number(b, &t, INT64_MAX));
    return tn_i_convert(b, x, TN_I64);
}

tn_i_var tn_i_unsigned_places(tn_i_builder *b, int prim, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                              uint32_t first, uint32_t limit) {
    tn_i_var out[2 + TN_MAX_RANK];
    bool any = false;
    if (b->failed || nin > 2 + TN_MAX_RANK) return TN_NOVAR;
    for (uint32_t i = 0; i < nin; i++) {
        const int dtype = tn_i_vtype(b, in[i])->dtype;
        const bool place = i >= first && i < limit && tn_i_is_int(dtype) && !tn_i_is_index(dtype);
        out[i] = place ? as_index(b, in[i]) : in[i];
        any |= place;
    }
    return any && !b->failed ? tn_i_emit(b, tn_i_prim(b, prim), p, nin, out) : TN_NOVAR;
}

/* ---- random numbers ---- */

static const char *const generators[] = {"fry", "threefry2x32", NULL};
static const tn_i_spec seed_params[] = {{.name = "impl", .kind = TN_K_SYM, .symbols = generators}, {.name = NULL}};

static tn_i_var written_seed(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    (void)p;
    if (nin != 1) return refuse(b, "random_seed", "takes one operand"), TN_NOVAR;
    if (b->failed || in[0] == TN_NOVAR) return TN_NOVAR;
    tn_type t = *tn_i_vtype(b, in[0]);
    if (!tn_i_is_int(t.dtype)) return refuse(b, "random_seed", "operand 0: is not of integers"), TN_NOVAR;
    if (t.rank == TN_MAX_RANK) return refuse(b, "random_seed", "operand 0: has too many dimensions"), TN_NOVAR;
    tn_type word = t;
    word.dtype = TN_U32;
    tn_i_var high = tn_i_zeros(b, &word);
    if (tn_i_dtype_size(t.dtype) == 8)
        high = tn_i_convert(b, tn_i_op2(b, TN_P_shift_right_logical, in[0], tn_i_number_like(b, in[0], 32)), TN_U32);
    const tn_i_var low = tn_i_convert(b, in[0], TN_U32);
    word.dim[word.rank++] = 1;
    if (b->failed) return TN_NOVAR;
    const tn_i_var part[2] = {tn_i_reshape(b, high, word.rank, word.dim), tn_i_reshape(b, low, word.rank, word.dim)};
    return tn_i_concatenate(b, 2, part, t.rank);
}
const tn_prim tn_i_random_seed_form = {
    .id = -1, .name = "random_seed", .nin = 1, .params = seed_params, .written = written_seed};

static const tn_i_spec bits_params[] = {
    {.name = "bit_width", .kind = TN_K_INT}, {.name = "shape", .kind = TN_K_INTS}, {.name = NULL}};

static tn_i_var written_bits(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in) {
    const int64_t width = p[0].u.i;
    if (width != 8 && width != 16 && width != 32 && width != 64)
        return refuse(b, "random_bits", "bit_width: is none of 8, 16, 32, 64"), TN_NOVAR;
    const tn_i_param q[2] = {{.kind = TN_K_DTYPE, .u.i = width == 64 ? TN_I64 : TN_U32}, p[1]};
    const tn_i_var bits = tn_i_emit(b, tn_i_prim(b, TN_P_random_bits), q, nin, in);
    const int dtype = width == 8 ? TN_U8 : width == 16 ? TN_U16 : width == 32 ? TN_U32 : TN_U64;
    return b->failed ? TN_NOVAR : tn_i_convert(b, bits, dtype); /* the low ones of 32 */
}
const tn_prim tn_i_random_bits_form = {
    .id = -1, .name = "random_bits", .nin = 1, .params = bits_params, .written = written_bits};
