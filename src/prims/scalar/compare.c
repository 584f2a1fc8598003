/* Comparisons and tests, with bool results: eq ne lt le gt ge is_finite. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <math.h>

/* Few different values, so that ties are frequent. */
static void fill_compare(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < n; k++)
        tn_i_put(c->in[i].dtype, data, k, (double)tn_i_pick(r, c->in[i].dtype == TN_BOOL ? 0 : -1, 1));
}

static bool sample_compare(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    c->fill = fill_compare;
    return true;
}

TN_STRIP2(eq, b8, uint8_t, uint8_t, x == y)
TN_STRIP2(eq, i32, int32_t, uint8_t, x == y)
TN_STRIP2(eq, i64, int64_t, uint8_t, x == y)
TN_STRIP2(eq, u32, uint32_t, uint8_t, x == y)
TN_STRIP2(eq, f32, float, uint8_t, x == y)
TN_STRIP2(eq, f64, double, uint8_t, x == y)

const tn_prim tn_prim_eq = {
    .id = TN_P_eq,
    .name = "eq",
    .doc = "x == y; NaN equals nothing",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_NODIFF | TN_F_COMMUTES,
    .dtypes = TN_ANY,
    .type = tn_i_type_compare,
    TN_ANY_STRIPS(eq),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_compare,
    .complex = tn_i_complex_of_eq,
};

TN_STRIP2(ne, b8, uint8_t, uint8_t, x != y)
TN_STRIP2(ne, i32, int32_t, uint8_t, x != y)
TN_STRIP2(ne, i64, int64_t, uint8_t, x != y)
TN_STRIP2(ne, u32, uint32_t, uint8_t, x != y)
TN_STRIP2(ne, f32, float, uint8_t, x != y)
TN_STRIP2(ne, f64, double, uint8_t, x != y)

const tn_prim tn_prim_ne = {
    .id = TN_P_ne,
    .name = "ne",
    .doc = "x != y; NaN differs from everything",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_NODIFF | TN_F_COMMUTES,
    .dtypes = TN_ANY,
    .type = tn_i_type_compare,
    TN_ANY_STRIPS(ne),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_compare,
    .complex = tn_i_complex_of_ne,
};

TN_STRIP2(lt, b8, uint8_t, uint8_t, x < y)
TN_STRIP2(lt, i32, int32_t, uint8_t, x < y)
TN_STRIP2(lt, i64, int64_t, uint8_t, x < y)
TN_STRIP2(lt, u32, uint32_t, uint8_t, x < y)
TN_STRIP2(lt, f32, float, uint8_t, x < y)
TN_STRIP2(lt, f64, double, uint8_t, x < y)

const tn_prim tn_prim_lt = {
    .id = TN_P_lt,
    .name = "lt",
    .doc = "x < y, False with NaN; False < True",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_NODIFF | TN_F_ORDER,
    .dtypes = TN_ANY,
    .type = tn_i_type_compare,
    TN_ANY_STRIPS(lt),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_compare,
};

TN_STRIP2(le, b8, uint8_t, uint8_t, x <= y)
TN_STRIP2(le, i32, int32_t, uint8_t, x <= y)
TN_STRIP2(le, i64, int64_t, uint8_t, x <= y)
TN_STRIP2(le, u32, uint32_t, uint8_t, x <= y)
TN_STRIP2(le, f32, float, uint8_t, x <= y)
TN_STRIP2(le, f64, double, uint8_t, x <= y)

const tn_prim tn_prim_le = {
    .id = TN_P_le,
    .name = "le",
    .doc = "x <= y, False with NaN",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_NODIFF | TN_F_ORDER,
    .dtypes = TN_ANY,
    .type = tn_i_type_compare,
    TN_ANY_STRIPS(le),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_compare,
};

TN_STRIP2(gt, b8, uint8_t, uint8_t, x > y)
TN_STRIP2(gt, i32, int32_t, uint8_t, x > y)
TN_STRIP2(gt, i64, int64_t, uint8_t, x > y)
TN_STRIP2(gt, u32, uint32_t, uint8_t, x > y)
TN_STRIP2(gt, f32, float, uint8_t, x > y)
TN_STRIP2(gt, f64, double, uint8_t, x > y)

const tn_prim tn_prim_gt = {
    .id = TN_P_gt,
    .name = "gt",
    .doc = "x > y, False with NaN",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_NODIFF | TN_F_ORDER,
    .dtypes = TN_ANY,
    .type = tn_i_type_compare,
    TN_ANY_STRIPS(gt),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_compare,
};

TN_STRIP2(ge, b8, uint8_t, uint8_t, x >= y)
TN_STRIP2(ge, i32, int32_t, uint8_t, x >= y)
TN_STRIP2(ge, i64, int64_t, uint8_t, x >= y)
TN_STRIP2(ge, u32, uint32_t, uint8_t, x >= y)
TN_STRIP2(ge, f32, float, uint8_t, x >= y)
TN_STRIP2(ge, f64, double, uint8_t, x >= y)

const tn_prim tn_prim_ge = {
    .id = TN_P_ge,
    .name = "ge",
    .doc = "x >= y, False with NaN",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_NODIFF | TN_F_ORDER,
    .dtypes = TN_ANY,
    .type = tn_i_type_compare,
    TN_ANY_STRIPS(ge),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_compare,
};

/* ---- is_finite ---- */
TN_STRIP1(is_finite, f32, float, uint8_t, isfinite(x) != 0)
TN_STRIP1(is_finite, f64, double, uint8_t, isfinite(x) != 0)

static void fill_is_finite(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    static const double value[] = {INFINITY, -INFINITY, NAN, 0, -1.5, 1e30};
    const int64_t n = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < n; k++) tn_i_put(c->in[i].dtype, data, k, value[tn_i_pick(r, 0, 5)]);
}

static bool sample_is_finite(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    c->fill = fill_is_finite;
    return true;
}

const tn_prim tn_prim_is_finite = {
    .id = TN_P_is_finite,
    .name = "is_finite",
    .doc = "neither infinite nor NaN",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_NODIFF,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_compare,
    TN_FLOAT_STRIPS(is_finite),
    .weight = 1,
    .jvp_bound = 1,
    .sample = sample_is_finite,
    .complex = tn_i_complex_of_is_finite,
};
