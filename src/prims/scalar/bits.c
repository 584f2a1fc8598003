/* Shifts and counts of bits: shift_left shift_right_logical shift_right_arithmetic population_count clz.
 *
 * Shifts are XLA's: by the width or more, which every negative amount is too, nothing is left of x (of
 * shift_right_arithmetic its sign). */
#include "prims/c_text.h"
#include "prims/held.h"
#include "prims/ids.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <string.h>

/* ---- shifts ---- */
TN_STRIP2(shift_left, i32, int32_t, int32_t, (uint32_t)y < 32 ? (uint32_t)x << ((uint32_t)y & 31) : 0)
TN_STRIP2(shift_left, i64, int64_t, int64_t, (uint64_t)y < 64 ? (uint64_t)x << ((uint64_t)y & 63) : 0)
TN_STRIP2(shift_left, u32, uint32_t, uint32_t, y < 32 ? x << (y & 31) : 0)
TN_STRIP2(shift_right_logical, i32, int32_t, int32_t, (uint32_t)y < 32 ? (uint32_t)x >> ((uint32_t)y & 31) : 0)
TN_STRIP2(shift_right_logical, i64, int64_t, int64_t, (uint64_t)y < 64 ? (uint64_t)x >> ((uint64_t)y & 63) : 0)
TN_STRIP2(shift_right_logical, u32, uint32_t, uint32_t, y < 32 ? x >> (y & 31) : 0)
/* what is shifted is not negative: C leaves the bits of others to the compiler */
TN_STRIP2(shift_right_arithmetic, i32, int32_t, int32_t,
          x < 0 ? ~(~x >> ((uint32_t)y < 31 ? y : 31)) : x >> ((uint32_t)y < 31 ? y : 31))
TN_STRIP2(shift_right_arithmetic, i64, int64_t, int64_t,
          x < 0 ? ~(~x >> ((uint64_t)y < 63 ? y : 63)) : x >> ((uint64_t)y < 63 ? y : 63))
/* of unsigned numbers the highest bit is the sign that comes in, as XLA has it */
TN_STRIP2(shift_right_arithmetic, u32, uint32_t, uint32_t,
          x >> 31 ? ~(~x >> (y < 31 ? y : 31)) : x >> (y < 31 ? y : 31))

static tn_i_var simplify_shift(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                               const tn_type *out) {
    (void)p, (void)nin, (void)out;
    uint64_t by;
    return tn_i_known_scalar(b, in[1], &by) && by == 0 ? in[0] : TN_NOVAR;
}

/* Any bits, shifted by what leaves some, or none. */
static void fill_shift(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int dtype = c->in[i].dtype;
    const size_t size = tn_i_dtype_size(dtype);
    const int64_t n = tn_i_count(&c->in[i]), width = (int64_t)size * 8;
    for (int64_t k = 0; k < n; k++) {
        const uint64_t bits = tn_i_random(r), by = (uint64_t)tn_i_pick(r, -2, width + 1), x = i == 0 ? bits : by;
        tn_i_put_bits(dtype, (char *)data + (size_t)k * size, x);
    }
}

static bool sample_shift(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    c->fill = fill_shift;
    return true;
}

const tn_prim tn_prim_shift_left = {
    .id = TN_P_shift_left,
    .name = "shift_left",
    .doc = "the bits of x moved up by y, zeros below; 0 where y < 0 or y >= the width",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_INTS,
    .type = tn_i_type_elementwise,
    .simplify = simplify_shift,
    TN_INT_STRIPS(shift_left),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_shift,
};

const tn_prim tn_prim_shift_right_logical = {
    .id = TN_P_shift_right_logical,
    .name = "shift_right_logical",
    .doc = "the bits of x moved down by y, zeros above; 0 where y < 0 or y >= the width",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_INTS,
    .type = tn_i_type_elementwise,
    .simplify = simplify_shift,
    TN_INT_STRIPS(shift_right_logical),
    /* as signs come in, and what came in is taken off */
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_shift,
    .held = tn_i_held_shift_right_logical,
};

const tn_prim tn_prim_shift_right_arithmetic = {
    .id = TN_P_shift_right_arithmetic,
    .name = "shift_right_arithmetic",
    .doc = "the bits of x moved down by y, its sign above; nothing but the sign where y < 0 or y >= the width",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_INTS,
    .type = tn_i_type_elementwise,
    .simplify = simplify_shift,
    TN_INT_STRIPS(shift_right_arithmetic),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_shift,
    .held = tn_i_held_shift_right_arithmetic,
};

/* ---- counts ---- */

/* Sums of pairs, of fours, of bytes, and of all. */
TN_C_TEXT(
    ones_text, static inline int bit_count(uint64_t x) {
        x -= x >> 1 & UINT64_C(0x5555555555555555);
        x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
        x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
        return (int)(x * UINT64_C(0x0101010101010101) >> 56);
    })
/* Ones down from the highest. */
TN_C_TEXT(
    leading_text, static inline int leading_zeros(uint64_t x, int width) {
        for (int h = 1; h < 64; h *= 2) x |= x >> h;
        return width - bit_count(x);
    })
static const tn_i_c_helper counts_helpers[] = {{"bit_count", ones_text}, {"leading_zeros", leading_text}, {NULL, NULL}};

TN_STRIP1(population_count, i32, int32_t, int32_t, bit_count((uint32_t)x))
TN_STRIP1(population_count, i64, int64_t, int64_t, bit_count((uint64_t)x))
TN_STRIP1(population_count, u32, uint32_t, uint32_t, bit_count(x))
TN_STRIP1(clz, i32, int32_t, int32_t, leading_zeros((uint32_t)x, 32))
TN_STRIP1(clz, i64, int64_t, int64_t, leading_zeros((uint64_t)x, 64))
TN_STRIP1(clz, u32, uint32_t, uint32_t, leading_zeros(x, 32))

/* As many leading zeros as may be. */
static void fill_count(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int dtype = c->in[i].dtype;
    const size_t size = tn_i_dtype_size(dtype);
    const int64_t n = tn_i_count(&c->in[i]), width = (int64_t)size * 8;
    for (int64_t k = 0; k < n; k++) {
        const int64_t zeros = tn_i_pick(r, 0, width);
        const uint64_t bits = tn_i_random(r) >> (64 - width), x = zeros == width ? 0 : bits >> zeros;
        tn_i_put_bits(dtype, (char *)data + (size_t)k * size, x);
    }
}

static bool sample_count(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    c->fill = fill_count;
    return true;
}

const tn_prim tn_prim_population_count = {
    .id = TN_P_population_count,
    .name = "population_count",
    .doc = "how many bits of x are 1",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_INTS,
    .type = tn_i_type_elementwise,
    TN_INT_STRIPS(population_count),
    .c_helpers = counts_helpers,
    .weight = 8,
    .jvp_bound = 1,
    .sample = sample_count,
    .held = tn_i_held_population_count,
};

const tn_prim tn_prim_clz = {
    .id = TN_P_clz,
    .name = "clz",
    .doc = "how many bits of x are 0 above its highest 1; the width where x = 0",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_INTS,
    .type = tn_i_type_elementwise,
    TN_INT_STRIPS(clz),
    .c_helpers = counts_helpers,
    .weight = 16,
    .jvp_bound = 1,
    .sample = sample_count,
    .held = tn_i_held_clz,
};
