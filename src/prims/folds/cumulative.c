/* Scans along an axis: cumsum cumprod cummax cummin cumlogsumexp. */
#include "base/machine.h"
#include "prims/scalar/complex.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/folds/lanes.h"
#include "prims/folds/recur.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <float.h>
#include <math.h>

static bool type_cumulative(tn_i_query *q) {
    if (!tn_i_admits(q) || !tn_i_params_given(q)) return false;
    return tn_i_axes_valid(q, "axis", 1, &q->p[TN_SCAN_AXIS].u.i, q->in[0]->rank, false) &&
           tn_i_output_type(q, q->in[0]);
}

static void cost_cumulative(const tn_i_query *q, tn_i_cost *cost) {
    tn_i_cost_copy(q, cost);
    cost->flops += (double)tn_i_count(q->in[0]);
}

static void cost_logs(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)tn_i_count(q->in[0]);
    tn_i_cost_copy(q, cost);
    cost->flops += 34 * n;
    cost->transcendentals += 2 * n;
}

/* ---- kernels ------------------------------------------------------------------- */

/* Floats in f64; integers wrap. */
#define EACH(name, begin, step)                         \
    TN_SCAN(name##_f32, float, double, begin, step)     \
    TN_SCAN(name##_f64, double, double, begin, step)    \
    TN_SCAN(name##_i32, int32_t, uint32_t, begin, step) \
    TN_SCAN(name##_i64, int64_t, uint64_t, begin, step) \
    TN_SCAN(name##_u32, uint32_t, uint32_t, begin, step)
/* Whether x is a NaN does not wait for y. */
#define ORDERED(name, op)                                               \
    TN_SCAN(name##_f32, float, float, x, x != x ? x : x op y ? x : y)   \
    TN_SCAN(name##_f64, double, double, x, x != x ? x : x op y ? x : y) \
    TN_SCAN(name##_i32, int32_t, int32_t, x, x op y ? x : y)            \
    TN_SCAN(name##_i64, int64_t, int64_t, x, x op y ? x : y)            \
    TN_SCAN(name##_u32, uint32_t, uint32_t, x, x op y ? x : y)

EACH(sum, 0 + x, y + x)
EACH(prod, x, y *x)
ORDERED(most, >)
ORDERED(least, <)

/* The largest element so far, and the sum of the exponentials relative to it. */
typedef struct log_sum {
    double most, sum;
} log_sum;

static double add_exponential(log_sum *s, double x) {
    if (x == s->most)
        s->sum += isinf(x) && x < 0 ? 0 : 1; /* inf - inf would be NaN */
    else if (x < s->most)
        s->sum += exp(x - s->most);
    else {
        s->sum = s->sum * exp(s->most - x) + 1;
        s->most = x;
    }
    return s->most + log(s->sum);
}

#define LOGS(name, T)                                                                                       \
    static void name(const tn_i_lanes *k) {                                                                 \
        const T *const from = k->x;                                                                         \
        T *const to = k->out;                                                                               \
        log_sum s[TN_M_SCAN_WIDTH];                                                                         \
        for (int64_t j = 0; j < k->w; j++) s[j] = (log_sum){-INFINITY, 0};                                  \
        for (int64_t i = 0; i < k->n; i++)                                                                  \
            for (int64_t j = 0; j < k->w; j++)                                                              \
                to[i * k->os + j * k->ol] = (T)add_exponential(&s[j], (double)from[i * k->xs + j * k->xl]); \
    }
LOGS(logs_f32, float)
LOGS(logs_f64, double)

#define KERNEL(name)                                                        \
    static tn_status kernel_##name(const tn_i_kernel *k) {                  \
        static tn_i_scan *const by[TN_NDTYPES] = {[TN_F32] = name##_f32,    \
                                                  [TN_F64] = name##_f64,    \
                                                  [TN_I32] = name##_i32,    \
                                                  [TN_I64] = name##_i64,    \
                                                  [TN_U32] = name##_u32};   \
        return tn_i_scan_run(k, &k->in[0], NULL, by[k->in[0].type->dtype]); \
    }
KERNEL(sum)
KERNEL(prod)
KERNEL(most)
KERNEL(least)

static tn_status kernel_logs(const tn_i_kernel *k) {
    return tn_i_scan_run(k, &k->in[0], NULL, k->in[0].type->dtype == TN_F32 ? logs_f32 : logs_f64);
}

/* ---- rules ------------------------------------------------------------------------ */

static tn_i_var emit_axis(tn_i_rule *r, tn_i_var x, int64_t axis, bool reverse) {
    const tn_i_param p[2] = {{.kind = TN_K_INT, .u.i = axis}, {.kind = TN_K_BOOL, .u.i = reverse}};
    return tn_i_emit(r->b, r->e->prim, p, 1, &x);
}

static void transpose_cumsum(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = emit_axis(r, ct[0], r->p[TN_SCAN_AXIS].u.i, !r->p[TN_SCAN_REVERSE].u.i);
}

static void batch_axis(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    out[0] = emit_axis(r, r->in[0], r->p[TN_SCAN_AXIS].u.i + 1, r->p[TN_SCAN_REVERSE].u.i != 0);
    out_batched[0] = true;
}

/* The result one step earlier in the scan. */
static tn_i_var before(tn_i_rule *r, double fill) {
    return tn_i_shift(r->b, r->out[0], (int)r->p[TN_SCAN_AXIS].u.i, r->p[TN_SCAN_REVERSE].u.i ? -1 : 1, fill);
}

/* dy[i] = keep[i] dy[i-1] + take[i] dx[i]: no quotient, so nothing is lost at zeros or by overflow. */
static void recur(tn_i_rule *r, tn_i_var keep, tn_i_var take, tn_i_var dx, tn_i_var *dout) {
    const tn_i_var c = tn_i_op2(r->b, TN_P_mul, take, dx);
    dout[0] = tn_i_recurrence(r->b, keep, c, (int)r->p[TN_SCAN_AXIS].u.i, r->p[TN_SCAN_REVERSE].u.i != 0);
}

static void jvp_cumprod(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    if (tn_i_count(r->in_type[0]) == 0) return;
    recur(r, r->in[0], before(r, 1.0), din[0], dout);
}

/* The element is taken when it exceeds the extreme so far (NaN before the first: not comparable). */
static void jvp_extreme(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    if (tn_i_count(r->in_type[0]) == 0) return;
    const int keeps = r->e->prim->id == TN_P_cummax ? TN_P_gt : TN_P_lt;
    const tn_i_var x = r->in[0], prev = before(r, NAN);
    const tn_i_var kept = tn_i_convert(b, tn_i_op2(b, keeps, prev, x), r->in_type[0]->dtype);
    const tn_i_var tie = tn_i_op2(b, TN_P_eq, prev, x), half = tn_i_number_like(b, x, 0.5);
    const tn_i_var keep = tn_i_op3(b, TN_P_select, tie, half, kept);
    recur(r, keep, tn_i_op2(b, TN_P_sub, tn_i_number_like(b, x, 1.0), keep), din[0], dout);
}

/* dy[i] = exp(y[i-1] - y[i]) dy[i-1] + exp(x[i] - y[i]) dx[i]: both factors lie in 0..1.  While
 * y is -inf they are 0: the lowest finite number stands for it. */
static void jvp_cumlogsumexp(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    if (tn_i_count(r->in_type[0]) == 0) return;
    const double lowest = -tn_i_greatest(r->in_type[0]->dtype);
    const tn_i_var y = tn_i_op2(b, TN_P_max, r->out[0], tn_i_number_like(b, r->in[0], lowest));
    const tn_i_var keep = tn_i_op1(b, TN_P_exp, tn_i_op2(b, TN_P_sub, before(r, -INFINITY), y));
    recur(r, keep, tn_i_op1(b, TN_P_exp, tn_i_op2(b, TN_P_sub, r->in[0], y)), din[0], dout);
}

/* ---- samples ------------------------------------------------------------------------ */

bool tn_i_sample_lanes(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 1, 3);
    if (tn_i_pick(r, 0, 3) == 0) { /* some long axes, which round more in f32 */
        c->in[0].rank = 1;
        for (int i = 1; i < TN_MAX_RANK; i++) c->in[0].dim[i] = 0;
        c->in[0].dim[0] = tn_i_pick(r, 1, dtype == TN_F32 ? 16 : 60);
    }
    c->p[0] = (tn_i_param){.kind = TN_K_INT, .u.i = tn_i_pick(r, 0, c->in[0].rank - 1)};
    c->p[1] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 1)};
    return true;
}

static bool sample_product(tn_i_rng *r, int dtype, tn_i_case *c) {
    if (tn_i_is_float(dtype)) c->fill = tn_i_fill_factors;
    return tn_i_sample_lanes(r, dtype, c);
}

static bool sample_max(tn_i_rng *r, int dtype, tn_i_case *c) {
    c->fill = tn_i_fill_apart;
    return tn_i_sample_lanes(r, dtype, c);
}

/* ---- C text ------------------------------------------------------------------------ */

static void c_scan(const tn_i_c_kernel *k, const char *begin, const char *floats, const char *integers) {
    const tn_i_c_state state[] = {{"y", begin}, {NULL, NULL}};
    const bool is_float = tn_i_is_float(k->in[0].type->dtype);
    tn_i_c_scan(k, &(tn_i_c_scanned){.a = -1, .state = state, .each = is_float ? floats : integers});
}

static void c_cumsum(const tn_i_c_kernel *k) {
    c_scan(k, "0", "y += x;\n", "y = (int64_t)((uint64_t)y + (uint64_t)x);\n");
}

static void c_cumprod(const tn_i_c_kernel *k) {
    c_scan(k, "1", "y *= x;\n", "y = (int64_t)((uint64_t)y * (uint64_t)x);\n");
}

/* Whether x is a NaN does not wait for y. */
static void c_extreme(const tn_i_c_kernel *k) {
    const bool floats = tn_i_is_float(k->in[0].type->dtype);
    if (k->prim->id == TN_P_cummax)
        c_scan(k, floats ? "-(double)INFINITY" : "INT64_MIN", "y = x > y ? x : y;\ny = x != x ? x : y;\n",
               "y = x > y ? x : y;\n");
    else
        c_scan(k, floats ? "(double)INFINITY" : "INT64_MAX", "y = x < y ? x : y;\ny = x != x ? x : y;\n",
               "y = x < y ? x : y;\n");
}

static void c_cumlogsumexp(const tn_i_c_kernel *k) {
    static const tn_i_c_state state[] = {{"most", "-(double)INFINITY"}, {"sum", "0"}, {NULL, NULL}};
    tn_i_c_scan(
        k, &(tn_i_c_scanned){
               .a = -1,
               .state = state,
               .each = "if (x == most) {\nsum += isinf(x) && x < 0 ? 0 : 1;\n} else if (x < most) {\nsum += exp(x - "
                       "most);\n} else {\nsum = sum * exp(most - x) + 1;\nmost = x;\n}\nconst double y = most + "
                       "log(sum);\n"});
}

/* ---- sums ------------------------------------------------------------------------------- */

void tn_i_sums_scan(const tn_i_query *q, tn_i_sums *s) {
    const tn_type *t = q->out;
    const int axis = (int)q->p[TN_SCAN_AXIS].u.i;
    int64_t stride[TN_MAX_RANK];
    tn_i_dense_strides(t, stride);
    for (int d = 0; d < t->rank; d++)
        if (d != axis) tn_i_sums_loop(s, false, t->dim[d], stride[d], stride[d], 0);
    tn_i_sums_loop(s, false, t->dim[axis], stride[axis], 0, 0);
    tn_i_sums_loop(s, true, t->dim[axis], 0, stride[axis], 0);
    s->running = q->p[TN_SCAN_REVERSE].u.i ? -1 : 1;
}

static bool sums_cumsum(const tn_i_query *q, uint32_t operand, tn_i_sums *s) {
    tn_i_sums_scan(q, s);
    return operand == 0;
}

/* ---- descriptors ----------------------------------------------------------------------- */

const tn_prim tn_prim_cumsum = {
    .id = TN_P_cumsum,
    .name = "cumsum",
    .doc = "running sum along an axis; integers wrap; floats are summed in f64",
    .nin = 1,
    .dtypes = TN_NUMBERS,
    .params = tn_i_scan_params,
    .type = type_cumulative,
    .linear = {TN_OPERAND(0)},
    .transpose = transpose_cumsum,
    .batch = batch_axis,
    .kernel = kernel_sum,
    .scan = TN_FOLD_SUM,
    .c_kernel = c_cumsum,
    .cost = cost_cumulative,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .sample = tn_i_sample_lanes,
    .spread = TN_SPREAD_SUMS,
    .sums = sums_cumsum,
};

const tn_prim tn_prim_cumprod = {
    .id = TN_P_cumprod,
    .name = "cumprod",
    .doc = "running product along an axis; integers wrap; the derivative is exact at zeros",
    .nin = 1,
    .dtypes = TN_NUMBERS,
    .params = tn_i_scan_params,
    .type = type_cumulative,
    .jvp = jvp_cumprod,
    .batch = batch_axis,
    .kernel = kernel_prod,
    .scan = TN_FOLD_PROD,
    .complex = tn_i_complex_of_cumprod,
    .c_kernel = c_cumprod,
    .cost = cost_cumulative,
    .jvp_bound = 6,
    .sample = sample_product,
};

const tn_prim tn_prim_cummax = {
    .id = TN_P_cummax,
    .name = "cummax",
    .doc = "running maximum along an axis; NaN stays; derivative: half each where an element equals the maximum so far",
    .nin = 1,
    .flags = TN_F_ORDER,
    .dtypes = TN_NUMBERS,
    .params = tn_i_scan_params,
    .type = type_cumulative,
    .jvp = jvp_extreme,
    .batch = batch_axis,
    .kernel = kernel_most,
    .scan = TN_FOLD_MAX,
    .c_kernel = c_extreme,
    .cost = cost_cumulative,
    .jvp_bound = 13,
    .domain = {{.at = TN_AT_TIES, .apart = 0.01}},
    .sample = sample_max,
};

const tn_prim tn_prim_cummin = {
    .id = TN_P_cummin,
    .name = "cummin",
    .doc = "running minimum along an axis; NaN stays; derivative: half each where an element equals the minimum so far",
    .nin = 1,
    .flags = TN_F_ORDER,
    .dtypes = TN_NUMBERS,
    .params = tn_i_scan_params,
    .type = type_cumulative,
    .jvp = jvp_extreme,
    .batch = batch_axis,
    .kernel = kernel_least,
    .scan = TN_FOLD_MIN,
    .c_kernel = c_extreme,
    .cost = cost_cumulative,
    .jvp_bound = 13,
    .domain = {{.at = TN_AT_TIES, .apart = 0.01}},
    .sample = sample_max,
};

const tn_prim tn_prim_cumlogsumexp = {
    .id = TN_P_cumlogsumexp,
    .name = "cumlogsumexp",
    .doc = "log of the running sum of exp along an axis, without overflow; the derivative is 0 where it is -inf",
    .nin = 1,
    .dtypes = TN_FLOATS,
    .params = tn_i_scan_params,
    .type = type_cumulative,
    .jvp = jvp_cumlogsumexp,
    .batch = batch_axis,
    .kernel = kernel_logs,
    .c_kernel = c_cumlogsumexp,
    .cost = cost_logs,
    .jvp_bound = 4,
    .domain = {{.lo = -12, .hi = 12}},
    .sample = tn_i_sample_lanes,
};
