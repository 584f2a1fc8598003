/* Scans along an axis: cumsum cumprod cummax cumlogsumexp. */
#include "prims/c_text.h"
#include "prims/dims.h"
#include "prims/recur.h"
#include "prims/sample.h"
#include "prims/shape.h"

#include <float.h>
#include <math.h>

static const tn_i_spec params[] = {
    {.name = "axis", .kind = TN_K_INT}, {.name = "reverse", .kind = TN_K_BOOL}, {.name = NULL}};

static bool type_cumulative(tn_i_query *q) {
    if (!tn_i_admits(q) || !tn_i_params_given(q)) return false;
    return tn_i_axes_valid(q, "axis", 1, &q->p[0].u.i, q->in[0]->rank, false) && tn_i_output_type(q, q->in[0]);
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

/* Lanes next to one another are scanned side by side, TILE elements at a time; each lane is
 * taken strictly in order, so the layout does not change a bit of the result. */
enum { TILE = 512, WIDTH = 64 };

/* Scans rows of w elements in place, from and to the state of w (or 2 w) numbers. */
typedef void scan_fn(tn_i_wide *state, tn_i_wide *x, int64_t rows, int64_t w);

#define SCAN(name, field, type, expression)                                     \
    static void name(tn_i_wide *state, tn_i_wide *x, int64_t rows, int64_t w) { \
        for (int64_t i = 0; i < rows; i++)                                      \
            for (int64_t j = 0; j < w; j++) {                                   \
                const type a = state[j].field, b = x[i * w + j].field;          \
                state[j].field = x[i * w + j].field = expression;               \
            }                                                                   \
    }

SCAN(sum_float, d, double, a + b)
SCAN(sum_int, u, uint64_t, a + b)
SCAN(prod_float, d, double, a *b)
SCAN(prod_int, u, uint64_t, a *b)
SCAN(max_float, d, double, b > a || b != b ? b : a)
SCAN(max_int, i, int64_t, b > a ? b : a)

/* State: the largest element so far and the sum of the exponentials relative to it. */
static void log_sum_exp(tn_i_wide *state, tn_i_wide *x, int64_t rows, int64_t w) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < w; j++) {
            double *most = &state[j].d, *sum = &state[w + j].d;
            const double v = x[i * w + j].d;
            if (v == *most)
                *sum += isinf(v) && v < 0 ? 0 : 1; /* inf - inf would be NaN */
            else if (v < *most)
                *sum += exp(v - *most);
            else {
                *sum = *sum * exp(*most - v) + 1;
                *most = v;
            }
            x[i * w + j].d = *most + log(*sum);
        }
}

typedef struct scan {
    scan_fn *step;
    tn_i_wide identity, second; /* initial state */
    int dtype;
    int64_t n, from, to; /* length; element strides along the axis */
} scan;

/* Rows first .. first+rows-1 (in scanning order) of w lanes between memory and a tile. */
static void move_rows(const scan *c, bool in, void *data, int64_t stride, int64_t lane, int64_t first, int64_t rows,
                      int64_t w, tn_i_wide *tile) {
    if (w == 1) {
        if (in)
            tn_i_load(c->dtype, data, first * stride, stride, rows, tile);
        else
            tn_i_store(c->dtype, data, first * stride, stride, rows, tile);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        if (in)
            tn_i_load(c->dtype, data, (first + i) * stride, lane, w, tile + i * w);
        else
            tn_i_store(c->dtype, data, (first + i) * stride, lane, w, tile + i * w);
}

/* w lanes whose first elements (in scanning order) are at from and to. */
static void scan_lanes(const scan *c, void *from, int64_t lane, void *to, int64_t w) {
    tn_i_wide tile[TILE], state[2 * WIDTH];
    for (int64_t j = 0; j < w; j++) {
        state[j] = c->identity;
        state[w + j] = c->second;
    }
    for (int64_t first = 0; first < c->n; first += TILE / w) {
        const int64_t left = c->n - first, rows = left < TILE / w ? left : TILE / w;
        move_rows(c, true, from, c->from, lane, first, rows, w, tile);
        c->step(state, tile, rows, w);
        move_rows(c, false, to, c->to, 1, first, rows, w, tile);
    }
}

static tn_status run(const tn_i_kernel *k, scan_fn *step, tn_i_wide identity, tn_i_wide second) {
    const tn_i_arr *x = &k->in[0], *out = &k->out[0];
    const int axis = (int)k->p[0].u.i;
    const bool reverse = k->p[1].u.i != 0;
    if (tn_i_count(x->type) == 0) return TN_OK;
    const tn_i_dims outer = tn_i_dims_of(x, (1u << axis) - 1);
    tn_i_dims inner = tn_i_dims_of(x, ~((2u << axis) - 1));
    tn_i_dims_merge(&inner);
    const int64_t lanes = tn_i_dims_count(&inner), n = x->type->dim[axis], sign = reverse ? -1 : 1;
    const scan c = {.step = step,
                    .identity = identity,
                    .second = second,
                    .dtype = x->type->dtype,
                    .n = n,
                    .from = sign * x->stride[axis],
                    .to = sign * lanes};
    if (inner.n == 0) tn_i_dims_push(&inner, 1, 0);
    const int64_t size = inner.size[--inner.n], stride = inner.stride[inner.n], total = tn_i_dims_count(&outer);
    const int64_t x0 = reverse ? (n - 1) * x->stride[axis] : 0, out0 = reverse ? (n - 1) * lanes : 0;
    tn_i_cursor o, at;
    tn_i_cursor_start(&o, &outer, 0);
    for (int64_t i = 0; i < total; i++, tn_i_cursor_next(&o)) {
        tn_i_cursor_start(&at, &inner, 0);
        for (int64_t j = 0; j < lanes; j += size, tn_i_cursor_next(&at))
            for (int64_t m = 0; m < size; m += WIDTH)
                scan_lanes(&c, tn_i_address(x, x0 + o.offset + at.offset + m * stride), stride,
                           tn_i_address(out, out0 + i * n * lanes + j + m), size - m < WIDTH ? size - m : WIDTH);
    }
    return TN_OK;
}

static bool floating(const tn_i_kernel *k) { return tn_i_is_float(k->in[0].type->dtype); }
static const tn_i_wide none = {.i = 0};

static tn_status kernel_cumsum(const tn_i_kernel *k) {
    return floating(k) ? run(k, sum_float, (tn_i_wide){.d = 0}, none) : run(k, sum_int, (tn_i_wide){.i = 0}, none);
}

static tn_status kernel_cumprod(const tn_i_kernel *k) {
    return floating(k) ? run(k, prod_float, (tn_i_wide){.d = 1}, none) : run(k, prod_int, (tn_i_wide){.i = 1}, none);
}

static tn_status kernel_cummax(const tn_i_kernel *k) {
    return floating(k) ? run(k, max_float, (tn_i_wide){.d = -INFINITY}, none)
                       : run(k, max_int, (tn_i_wide){.i = INT64_MIN}, none);
}

static tn_status kernel_cumlogsumexp(const tn_i_kernel *k) {
    return run(k, log_sum_exp, (tn_i_wide){.d = -INFINITY}, (tn_i_wide){.d = 0});
}

/* ---- rules ------------------------------------------------------------------------ */

static tn_i_var emit_axis(tn_i_rule *r, tn_i_var x, int64_t axis, bool reverse) {
    const tn_i_param p[2] = {{.kind = TN_K_INT, .u.i = axis}, {.kind = TN_K_BOOL, .u.i = reverse}};
    return tn_i_emit(r->b, r->e->prim, p, 1, &x);
}

static void transpose_cumsum(tn_i_rule *r, const tn_i_var *ct, tn_i_var *ct_in) {
    ct_in[0] = emit_axis(r, ct[0], r->p[0].u.i, !r->p[1].u.i);
}

static void batch_axis(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    out[0] = emit_axis(r, r->in[0], r->p[0].u.i + 1, r->p[1].u.i != 0);
    out_batched[0] = true;
}

/* The result one step earlier in the scan. */
static tn_i_var before(tn_i_rule *r, double fill) {
    return tn_i_shift(r->b, r->out[0], (int)r->p[0].u.i, r->p[1].u.i ? -1 : 1, fill);
}

/* dy[i] = keep[i] dy[i-1] + take[i] dx[i]: no quotient, so nothing is lost at zeros or by overflow. */
static void recur(tn_i_rule *r, tn_i_var keep, tn_i_var take, tn_i_var dx, tn_i_var *dout) {
    const tn_i_var c = tn_i_op2(r->b, TN_P_mul, take, dx);
    dout[0] = tn_i_recurrence(r->b, keep, c, (int)r->p[0].u.i, r->p[1].u.i != 0);
}

static void jvp_cumprod(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    if (tn_i_count(r->in_type[0]) == 0) return;
    recur(r, r->in[0], before(r, 1.0), din[0], dout);
}

/* The element is taken when it exceeds the maximum so far (NaN before the first: not comparable). */
static void jvp_cummax(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    if (tn_i_count(r->in_type[0]) == 0) return;
    const tn_i_var x = r->in[0], prev = before(r, NAN);
    const tn_i_var larger = tn_i_convert(b, tn_i_op2(b, TN_P_gt, prev, x), r->in_type[0]->dtype);
    const tn_i_var tie = tn_i_op2(b, TN_P_eq, prev, x), half = tn_i_number_like(b, x, 0.5);
    const tn_i_var keep = tn_i_op3(b, TN_P_select, tie, half, larger);
    recur(r, keep, tn_i_op2(b, TN_P_sub, tn_i_number_like(b, x, 1.0), keep), din[0], dout);
}

/* dy[i] = exp(y[i-1] - y[i]) dy[i-1] + exp(x[i] - y[i]) dx[i]: both factors lie in 0..1.  While
 * y is -inf they are 0: the lowest finite number stands for it. */
static void jvp_cumlogsumexp(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    if (tn_i_count(r->in_type[0]) == 0) return;
    const double lowest = r->in_type[0]->dtype == TN_F32 ? -(double)FLT_MAX : -DBL_MAX;
    const tn_i_var y = tn_i_op2(b, TN_P_max, r->out[0], tn_i_number_like(b, r->in[0], lowest));
    const tn_i_var keep = tn_i_op1(b, TN_P_exp, tn_i_op2(b, TN_P_sub, before(r, -INFINITY), y));
    recur(r, keep, tn_i_op1(b, TN_P_exp, tn_i_op2(b, TN_P_sub, r->in[0], y)), din[0], dout);
}

/* ---- samples ------------------------------------------------------------------------ */

static bool sample(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_case_shape(r, c, 0, dtype, 1, 3);
    if (tn_i_pick(r, 0, 3) == 0) { /* some long axes: the derivative's scan has many levels (and rounds more, in f32) */
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
    return sample(r, dtype, c);
}

static bool sample_max(tn_i_rng *r, int dtype, tn_i_case *c) {
    c->fill = tn_i_fill_apart;
    return sample(r, dtype, c);
}

/* ---- descriptors ----------------------------------------------------------------------- */

/* ---- C text ---- */

/* Floats are summed as double, as the kernel does. */
static void c_scan(const tn_i_c_kernel *k, const char *begin, const char *each) {
    const tn_type *t = k->in[0].type;
    const int axis = (int)k->p[0].u.i;
    const bool floats = tn_i_is_float(t->dtype);
    const char *type = floats ? "double" : "int64_t";
    const long long n = (long long)t->dim[axis];
    tn_i_c_open_axes(k->t, "i", t, ~(1u << axis));
    tn_i_text_put(k->t, begin, type);
    tn_i_text_put(k->t, "for (int64_t j = 0; j < %lld; j++) {\nconst int64_t at = %s;\n", n,
                  k->p[1].u.i ? "last - j" : "j");
    tn_i_text_put(k->t, "const %s x = in0[at * (%lld) + ", type, (long long)k->in[0].stride[axis]);
    tn_i_c_at_axes(k->t, "i", t, k->in[0].stride, ~(1u << axis));
    tn_i_text_put(k->t, "];\n%sout0[at * %lld + ", each, (long long)k->out[0].stride[axis]);
    tn_i_c_at_axes(k->t, "i", t, k->out[0].stride, ~(1u << axis));
    tn_i_text_put(k->t, "] = (%s)y;\n}\n", tn_i_c_name(t->dtype));
    tn_i_c_close_axes(k->t, t, ~(1u << axis));
}

static void c_last(const tn_i_c_kernel *k) {
    if (k->p[1].u.i)
        tn_i_text_put(k->t, "const int64_t last = %lld;\n", (long long)k->in[0].type->dim[k->p[0].u.i] - 1);
}

static void c_cumsum(const tn_i_c_kernel *k) {
    const bool floats = tn_i_is_float(k->in[0].type->dtype);
    c_last(k);
    c_scan(k, "%s y = 0;\n", floats ? "y += x;\n" : "y = (int64_t)((uint64_t)y + (uint64_t)x);\n");
}

static void c_cumprod(const tn_i_c_kernel *k) {
    const bool floats = tn_i_is_float(k->in[0].type->dtype);
    c_last(k);
    c_scan(k, "%s y = 1;\n", floats ? "y *= x;\n" : "y = (int64_t)((uint64_t)y * (uint64_t)x);\n");
}

static void c_cummax(const tn_i_c_kernel *k) {
    const bool floats = tn_i_is_float(k->in[0].type->dtype);
    c_last(k);
    c_scan(k, floats ? "%s y = -(double)INFINITY;\n" : "%s y = INT64_MIN;\n",
           floats ? "if (x > y || x != x) y = x;\n" : "if (x > y) y = x;\n");
}

static void c_cumlogsumexp(const tn_i_c_kernel *k) {
    c_last(k);
    c_scan(k, "%s most = -(double)INFINITY, sum = 0;\n",
           "if (x == most) {\nsum += isinf(x) && x < 0 ? 0 : 1;\n} else if (x < most) {\nsum += exp(x - most);\n} else "
           "{\nsum = sum * exp(most - x) + 1;\nmost = x;\n}\nconst double y = most + log(sum);\n");
}

const tn_prim tn_prim_cumsum = {
    .id = TN_P_cumsum,
    .name = "cumsum",
    .doc = "running sum along an axis; integers wrap; floats are summed in f64",
    .nin = 1,
    .dtypes = TN_NUMBERS,
    .params = params,
    .type = type_cumulative,
    .linear = {TN_OPERAND(0)},
    .transpose = transpose_cumsum,
    .batch = batch_axis,
    .kernel = kernel_cumsum,
    .c_kernel = c_cumsum,
    .cost = cost_cumulative,
    .jvp_bound = 2,
    .transpose_bound = 1,
    .sample = sample,
};

const tn_prim tn_prim_cumprod = {
    .id = TN_P_cumprod,
    .name = "cumprod",
    .doc = "running product along an axis; integers wrap; the derivative is exact at zeros",
    .nin = 1,
    .dtypes = TN_NUMBERS,
    .params = params,
    .type = type_cumulative,
    .jvp = jvp_cumprod,
    .batch = batch_axis,
    .kernel = kernel_cumprod,
    .c_kernel = c_cumprod,
    .cost = cost_cumulative,
    .jvp_bound = 32,
    .sample = sample_product,
};

const tn_prim tn_prim_cummax = {
    .id = TN_P_cummax,
    .name = "cummax",
    .doc = "running maximum along an axis; NaN stays; derivative: half each where an element equals the maximum so far",
    .nin = 1,
    .dtypes = TN_NUMBERS,
    .params = params,
    .type = type_cumulative,
    .jvp = jvp_cummax,
    .batch = batch_axis,
    .kernel = kernel_cummax,
    .c_kernel = c_cummax,
    .cost = cost_cumulative,
    .jvp_bound = 40,
    .domain = {{.at = TN_AT_TIES, .apart = 0.01}},
    .sample = sample_max,
};

const tn_prim tn_prim_cumlogsumexp = {
    .id = TN_P_cumlogsumexp,
    .name = "cumlogsumexp",
    .doc = "log of the running sum of exp along an axis, without overflow; the derivative is 0 where it is -inf",
    .nin = 1,
    .dtypes = TN_FLOATS,
    .params = params,
    .type = type_cumulative,
    .jvp = jvp_cumlogsumexp,
    .batch = batch_axis,
    .kernel = kernel_cumlogsumexp,
    .c_kernel = c_cumlogsumexp,
    .cost = cost_logs,
    .jvp_bound = 4,
    .domain = {{.lo = -12, .hi = 12}},
    .sample = sample,
};
