/* linear_recurrence: y[i] = a[i] y[i-1] + x[i] along an axis. */
#include "prims/ids.h"
#include "prims/folds/lanes.h"
#include "prims/folds/recur.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <math.h>

static bool type_linear_recurrence(tn_i_query *q) {
    return tn_i_params_given(q) && tn_i_type_elementwise(q) &&
           tn_i_axes_valid(q, "axis", 1, &q->p[TN_SCAN_AXIS].u.i, q->in[0]->rank, false);
}

static void cost_linear_recurrence(const tn_i_query *q, tn_i_cost *cost) {
    tn_i_cost_copy(q, cost);
    cost->flops += 2 * (double)tn_i_count(q->in[0]);
}

/* ---- kernels -------------------------------------------------------------------- */

/* Rounded once: the next element waits for one operation. */
TN_SCAN(recur_f32, float, double, x, fma(a, y, x))
TN_SCAN(recur_f64, double, double, x, fma(a, y, x))

static tn_status kernel_linear_recurrence(const tn_i_kernel *k) {
    return tn_i_scan_run(k, &k->in[1], &k->in[0], k->in[0].type->dtype == TN_F32 ? recur_f32 : recur_f64);
}

static void c_linear_recurrence(const tn_i_c_kernel *k) {
    static const tn_i_c_state state[] = {{"y", "0"}, {NULL, NULL}};
    tn_i_c_scan(k, &(tn_i_c_scanned){.x = 1, .state = state, .each = "y = j == 0 ? x : fma(a, y, x);\n"});
}

/* ---- rules ---------------------------------------------------------------------- */

static int axis_of(const tn_i_rule *r) { return (int)r->p[TN_SCAN_AXIS].u.i; }
static bool reverse_of(const tn_i_rule *r) { return r->p[TN_SCAN_REVERSE].u.i != 0; }

/* One element along the axis is x itself. */
static tn_i_var simplify_linear_recurrence(tn_i_builder *b, const tn_i_param *p, uint32_t nin, const tn_i_var *in,
                                           const tn_type *out) {
    (void)nin;
    const bool nothing = b->val[in[1]].linear && tn_i_is_zero(b, in[1]);
    return out->dim[p[TN_SCAN_AXIS].u.i] <= 1 || nothing ? in[1] : TN_NOVAR;
}

/* dy[i] = a[i] dy[i-1] + (da[i] y[i-1] + dx[i]) */
static void jvp_linear_recurrence(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    tn_i_var dx = din[1];
    if (tn_i_count(r->in_type[0]) == 0) return;
    if (din[0] != TN_NOVAR) {
        const tn_i_var before = tn_i_shift(b, r->out[0], axis_of(r), reverse_of(r) ? -1 : 1, 0);
        const tn_i_var more = tn_i_op2(b, TN_P_mul, din[0], before);
        dx = dx == TN_NOVAR ? more : tn_i_op2(b, TN_P_add, more, dx);
    }
    dout[0] = tn_i_recurrence(b, r->in[0], dx, axis_of(r), reverse_of(r));
}

/* z[i] = a[i+1] z[i+1] + ct[i] */
static void transpose_linear_recurrence(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    const tn_i_var a = tn_i_shift(r->b, r->in[0], axis_of(r), reverse_of(r) ? 1 : -1, 0);
    ct_in[1] = tn_i_recurrence(r->b, a, ct[0], axis_of(r), !reverse_of(r));
}

static void batch_linear_recurrence(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    const tn_i_var a = tn_i_batched_operand(r, batched, 0), x = tn_i_batched_operand(r, batched, 1);
    out[0] = tn_i_recurrence(r->b, a, x, axis_of(r) + 1, reverse_of(r));
    out_batched[0] = true;
}

static bool sample_linear_recurrence(tn_i_rng *r, int dtype, tn_i_case *c) {
    if (!tn_i_sample_lanes(r, dtype, c)) return false;
    c->nin = 2;
    c->in[1] = c->in[0];
    c->domain[0] = (tn_i_domain){.lo = -1.2, .hi = 1.2};
    return true;
}

static bool sums_linear_recurrence(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    tn_i_sums_scan(q, s);
    s->factor = -2;
    return operand == 1;
}

const tn_prim tn_prim_linear_recurrence = {
    .id = TN_P_linear_recurrence,
    .name = "linear_recurrence",
    .doc = "y[i] = a[i] y[i-1] + x[i] along an axis, rounded once, in f64; y[0] = x[0], whatever a[0] is",
    .nin = 2,
    .dtypes = TN_FLOATS,
    .params = tn_i_scan_params,
    .type = type_linear_recurrence,
    .linear = {TN_OPERAND(1)},
    .simplify = simplify_linear_recurrence,
    .jvp = jvp_linear_recurrence,
    .transpose = transpose_linear_recurrence,
    .batch = batch_linear_recurrence,
    .kernel = kernel_linear_recurrence,
    .scan = TN_SCAN_RECURRENCE,
    .c_kernel = c_linear_recurrence,
    .cost = cost_linear_recurrence,
    .jvp_bound = 5,
    .transpose_bound = 3,
    .sample = sample_linear_recurrence,
    .spread = TN_SPREAD_SUMS,
    .sums = sums_linear_recurrence,
};
