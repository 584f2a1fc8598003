/* Rounding to whole numbers: floor ceil round. */
#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

#include <math.h>

TN_STRIP1(floor, f32, float, float, floorf(x))
TN_STRIP1(floor, f64, double, double, floor(x))
TN_STRIP1(ceil, f32, float, float, ceilf(x))
TN_STRIP1(ceil, f64, double, double, ceil(x))

const tn_prim tn_prim_floor = {
    .id = TN_P_floor,
    .name = "floor",
    .doc = "largest whole number <= x; derivative 0 everywhere",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    TN_FLOAT_STRIPS(floor),
    .weight = 1,
    .jvp_bound = 2,
    .domain = {{-3, 3, 0.1, TN_AT_INTEGERS}},
};

const tn_prim tn_prim_ceil = {
    .id = TN_P_ceil,
    .name = "ceil",
    .doc = "smallest whole number >= x; derivative 0 everywhere",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_FLOATS,
    .type = tn_i_type_elementwise,
    TN_FLOAT_STRIPS(ceil),
    .weight = 1,
    .jvp_bound = 2,
    .domain = {{-3, 3, 0.1, TN_AT_INTEGERS}},
};

/* ---- round ---- */
TN_STRIP1(round_away, f32, float, float, roundf(x))
TN_STRIP1(round_away, f64, double, double, round(x))
TN_STRIP1(round_even, f32, float, float, nearbyintf(x))
TN_STRIP1(round_even, f64, double, double, nearbyint(x))

static tn_i_strip *choose_round(const tn_i_query *q, const char **body) {
    const bool wide = q->in[0]->dtype == TN_F64, even = q->p[0].u.i == 1;
    if (even)
        *body = wide ? round_even_f64_body : round_even_f32_body;
    else
        *body = wide ? round_away_f64_body : round_away_f32_body;
    if (even) return wide ? round_even_f64 : round_even_f32;
    return wide ? round_away_f64 : round_away_f32;
}

static bool type_round(tn_i_query *q) {
    if (q->p[0].u.i != 0 && q->p[0].u.i != 1) return tn_i_type_fail(q, -1, "unknown rounding_method");
    return tn_i_type_elementwise(q);
}

/* Halves are where the derivative fails. */
static void fill_round(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < n; k++)
        tn_i_put(c->in[i].dtype, data, k, (double)tn_i_pick(r, -3, 3) + tn_i_uniform(r, -0.4, 0.4));
}

static bool sample_round(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 0, 4);
    c->p[0] = (tn_i_param){.kind = TN_K_SYM, .u.i = tn_i_pick(r, 0, 1)};
    c->fill = fill_round;
    return true;
}

static const char *const rounding_methods[] = {"AWAY_FROM_ZERO", "TO_NEAREST_EVEN", NULL};
static const tn_i_spec round_params[] = {{.name = "rounding_method", .kind = TN_K_SYM, .symbols = rounding_methods},
                                         {.name = NULL}};

const tn_prim tn_prim_round = {
    .id = TN_P_round,
    .name = "round",
    .doc = "nearest whole number, halves by rounding_method; derivative 0 everywhere",
    .nin = 1,
    .flags = TN_F_ELEMENTWISE | TN_F_INPLACE | TN_F_NODIFF,
    .dtypes = TN_FLOATS,
    .params = round_params,
    .type = type_round,
    .choose = choose_round,
    .kernel = tn_i_chosen_kernel,
    .weight = 1,
    .jvp_bound = 2,
    .sample = sample_round,
};
