/* What computes an operation: the primitive's strip, a function of vectors, or, of operations that no primitive has,
 * what is here; `bits` is a copy (make.c). */
#include "prims/held.h"
#include "prims/strips.h"
#include "strips/inside.h"

#include <math.h>

static inline uint64_t zeros(uint64_t x, int width) { return x ? (uint64_t)__builtin_ctzll(x) : (uint64_t)width; }

TN_LOOP2_OF(fold_max, f64, double, double, double, y > x || y != y ? y : x)
TN_LOOP2_OF(fold_max, f32, float, float, float, y > x || y != y ? y : x)
TN_LOOP2_OF(fold_min, f64, double, double, double, y < x || y != y ? y : x)
TN_LOOP2_OF(fold_min, f32, float, float, float, y < x || y != y ? y : x)
TN_LOOP2_OF(shl, i64, int64_t, int64_t, int64_t, (uint64_t)x << (y & 63))
TN_LOOP2_OF(shl, i32, int32_t, int32_t, int32_t, (uint32_t)x << (y & 31))
TN_LOOP2_OF(shl, u32, uint32_t, uint32_t, uint32_t, x << (y & 31))
TN_LOOP2_OF(shr, i64, int64_t, int64_t, int64_t, (uint64_t)x >> (y & 63))
TN_LOOP2_OF(shr, i32, int32_t, int32_t, int32_t, (uint32_t)x >> (y & 31))
TN_LOOP2_OF(shr, u32, uint32_t, uint32_t, uint32_t, x >> (y & 31))
TN_LOOP1(ctz, i64, int64_t, int64_t, zeros((uint64_t)x, 64))
TN_LOOP1(ctz, i32, int32_t, int32_t, zeros((uint32_t)x, 32))
TN_LOOP1(ctz, u32, uint32_t, uint32_t, zeros(x, 32))
TN_LOOP1(signbit, f64, double, bool, signbit(x) != 0)
TN_LOOP1(signbit, f32, float, bool, signbit(x) != 0)

typedef struct row {
    uint8_t code, dtype; /* of the operands */
    tn_i_strip *strip;
} row;

static const row rows[] = {
    {TN_L_fold_max, TN_F64, fold_max_f64}, {TN_L_fold_max, TN_F32, fold_max_f32}, {TN_L_fold_min, TN_F64, fold_min_f64},
    {TN_L_fold_min, TN_F32, fold_min_f32}, {TN_L_shl, TN_I64, shl_i64},           {TN_L_shl, TN_I32, shl_i32},
    {TN_L_shl, TN_U32, shl_u32},           {TN_L_shr, TN_I64, shr_i64},           {TN_L_shr, TN_I32, shr_i32},
    {TN_L_shr, TN_U32, shr_u32},           {TN_L_ctz, TN_I64, ctz_i64},           {TN_L_ctz, TN_I32, ctz_i32},
    {TN_L_ctz, TN_U32, ctz_u32},           {TN_L_signbit, TN_F64, signbit_f64},   {TN_L_signbit, TN_F32, signbit_f32},
};

void tn_i_s_body(const tn_i_loops *p, uint32_t k, tn_i_isa isa, bool accurate, tn_i_strip **strip, tn_i_one **one) {
    const tn_i_l_op *o = &p->op[k];
    const int from = p->op[o->in[0]].dtype;
    tn_i_vec v = {0};
    const int memory = tn_i_l_fits(o->code);
    if (memory >= 0) v = tn_i_vec_strip(tn_i_held_bodies_of(memory)->as.strip, isa);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == o->code && rows[i].dtype == from) v = tn_i_vec_strip(rows[i].strip, isa);
    if (!v.strip) {
        const char *name = tn_i_l_vector_name(p, o);
        tn_i_strip *body = tn_i_l_body(p, o);
        if (name) v = tn_i_vec_math(name, isa, accurate);
        if (!v.strip && body) v = tn_i_vec_strip(body, isa);
    }
    *strip = v.strip;
    *one = v.one;
}
