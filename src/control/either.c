/* either: one value that can be had in two ways.
 *
 * What enters a step of a loop may be made of the entries of the step before, or be kept in a stack of its own, which a
 * schedule then makes again from a snapshot.  The bits are the same, but the derivatives of the one way add up in
 * another order than those of the other.  So that derivatives are the same under every schedule, a program has both
 * until it is planned, and differentiates the kept one alone; and that derivative's derivatives do so, too. */
#include "control/either.h"

#include "prims/ids.h"
#include "prims/sample.h"
#include "prims/strips.h"

static const tn_i_spec specs[] = {{.name = "replayed", .kind = TN_K_BOOL}, {0}};

TN_STRIP2(either, b8, uint8_t, uint8_t, ((void)x, y))
TN_STRIP2(either, i32, int32_t, int32_t, ((void)x, y))
TN_STRIP2(either, i64, int64_t, int64_t, ((void)x, y))
TN_STRIP2(either, u32, uint32_t, uint32_t, ((void)x, y))
TN_STRIP2(either, f32, float, float, ((void)x, y))
TN_STRIP2(either, f64, double, double, ((void)x, y))

static tn_i_var simplify_either(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                const tn_type *out) {
    (void)b, (void)p, (void)nin, (void)out;
    return in[0] == in[1] ? in[0] : TN_NOVAR;
}

static void jvp_either(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    (void)r;
    dout[0] = din[1];
}

static void cost_either(const tn_i_query *q, tn_i_cost *cost) {
    (void)q;
    *cost = (tn_i_cost){.equations = 1};
}

static bool sample_either(tn_i_rng *g, int dtype, tn_i_case *c) {
    tn_i_case_shape(g, c, 0, dtype, 0, 4);
    tn_i_case_alike(c, 1, 0, dtype);
    c->p[0] = (tn_i_param){.kind = TN_K_BOOL, .u.i = 1}; /* the operands are not the same value */
    return true;
}

const tn_prim tn_prim_either = {
    .id = TN_P_either,
    .name = "either",
    .doc = "one value in two ways: made again, and kept; derivatives are those of the kept one",
    .nin = 2,
    .flags = TN_F_ELEMENTWISE | TN_F_NOFOLD | TN_F_EITHER,
    .dtypes = TN_ANY,
    .params = specs,
    .type = tn_i_type_elementwise,
    .simplify = simplify_either,
    .jvp = jvp_either,
    TN_ANY_STRIPS(either),
    .weight = 0,
    .cost = cost_either,
    .jvp_bound = 3,
    .sample = sample_either,
};

tn_i_var tn_i_either(tn_i_builder *b, tn_i_var made, tn_i_var kept, bool replayed) {
    const tn_i_param p = {.kind = TN_K_BOOL, .u.i = replayed};
    const tn_i_var in[2] = {made, kept};
    if (made == TN_NOVAR || kept == TN_NOVAR) return TN_NOVAR;
    return tn_i_emit(b, tn_i_prim(b, TN_P_either), &p, 2, in);
}
