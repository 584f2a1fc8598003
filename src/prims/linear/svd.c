/* svd and pinv, over leading batch dimensions, by LAPACK's gesdd. */
#include "prims/scalar/complex.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/linear/lapack.h"
#include "prims/linear/matrices.h"
#include "prims/linear/product.h"
#include "prims/rules.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <float.h>

enum { FULL, VECTORS };
static const tn_i_spec params[] = {
    {.name = "full_matrices", .kind = TN_K_BOOL}, {.name = "compute_uv", .kind = TN_K_BOOL}, {.name = NULL}};

static int64_t rows_of(const tn_type *a) { return a->dim[a->rank - 2]; }
static int64_t columns_of(const tn_type *a) { return a->dim[a->rank - 1]; }
static int64_t smaller(const tn_type *a) { return rows_of(a) < columns_of(a) ? rows_of(a) : columns_of(a); }
static bool is_full(const tn_i_param *p) { return p[FULL].u.i && p[VECTORS].u.i; }

static bool type_svd(tn_i_query *q) {
    if (!tn_i_matrices(q) || !tn_i_params_given(q) || !tn_i_lapack_operands(q)) return false;
    const tn_type *t = q->in[0];
    const int64_t k = smaller(t);
    if (!tn_i_outputs(q, q->p[VECTORS].u.i ? 1 + 2 * q->nin : 1)) return false;
    q->out[0] = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank - 1, t->dim);
    q->out[0].dim[t->rank - 2] = k;
    if (q->nout == 1) return true;
    for (uint32_t j = 1; j <= q->nin; j++) {
        q->out[j] = q->out[q->nin + j] = *t;
        q->out[j].dim[t->rank - 1] = q->p[FULL].u.i ? rows_of(t) : k;
        q->out[q->nin + j].dim[t->rank - 2] = q->p[FULL].u.i ? columns_of(t) : k;
    }
    return true;
}

/* To bidiagonal form, 4 m n k flops less 4/3 k^3, and some three times that with vectors. */
static void cost_svd(const tn_i_query *q, tn_i_cost *cost) {
    const double elements = (double)tn_i_count(q->in[0]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * (double)smaller(q->in[0]) * (q->nin > 1 ? 20 : 5);
    cost->flops += elements * 40;
}

/* ---- kernels --------------------------------------------------------------------------------------- */

enum { MATRIX, VALUES, LEFT, RIGHT, WORK, INTEGERS, NROOMS };

/* One decomposition in scratch: u with m, vt with `leading` elements from column to column. */
typedef struct decomposition {
    bool full;
    int parts;
    int64_t m, n, k, leading, left; /* columns of u */
    tn_i_lapack_room room;
    double *a, *s, *u, *vt, *work;
    int32_t *integers;
} decomposition;

static size_t lay_out(const tn_type *t, int parts, bool full, decomposition *d, size_t *at) {
    *d = (decomposition){.full = full, .parts = parts, .m = rows_of(t), .n = columns_of(t), .k = smaller(t)};
    if (d->k == 0) return 0;
    d->left = full ? d->m : d->k;
    d->leading = full ? d->n : d->k;
    tn_i_lapack_gesdd_room(parts > 1, full, d->m, d->n, &d->room);
    return tn_i_lapack_rooms((const int64_t[NROOMS]){parts * d->m * d->n, d->k, parts * d->m * d->left,
                                                     parts * d->leading * d->n, d->room.work, d->room.integers},
                             NROOMS, at);
}

static bool begin(const tn_i_kernel *k, bool full, tn_i_lapack_batch *each, decomposition *d) {
    size_t at[NROOMS];
    tn_i_lapack_begin(each, k);
    if (each->count == 0 || lay_out(k->in[0].type, each->parts, full, d, at) == SIZE_MAX) return false;
    char *memory = k->scratch;
    d->a = (double *)(void *)(memory + at[MATRIX]);
    d->s = (double *)(void *)(memory + at[VALUES]);
    d->u = (double *)(void *)(memory + at[LEFT]);
    d->vt = (double *)(void *)(memory + at[RIGHT]);
    d->work = (double *)(void *)(memory + at[WORK]);
    d->integers = (int32_t *)(void *)(memory + at[INTEGERS]);
    return true;
}

/* u's columns get their phases and take vt's rows along; what stands beside has phases of its own. */
static bool decompose(decomposition *d) {
    const int64_t by = d->parts;
    double turn[2];
    if (!tn_i_all_finite(by * d->m * d->n, d->a)) return false;
    if (!tn_i_lapack_gesdd(by > 1, d->full, d->m, d->n, d->a, d->s, d->u, d->vt, &d->room, d->work, d->integers))
        return false;
    for (int64_t j = 0; j < d->left; j++) {
        tn_i_lapack_turn(d->parts, d->m, d->u + j * d->m * by, by, turn);
        if (j < d->k) tn_i_lapack_times(d->parts, d->n, d->vt + j * by, d->leading * by, turn[0], -turn[1]);
    }
    for (int64_t j = d->k; j < d->leading; j++) tn_i_lapack_turn(d->parts, d->n, d->vt + j * by, d->leading * by, turn);
    return true;
}

static size_t scratch_svd(const tn_i_query *q) {
    decomposition d;
    size_t at[NROOMS];
    return lay_out(q->in[0], (int)q->nin, is_full(q->p), &d, at);
}

/* Of matrices without rows or columns. */
static void fill_ones(const tn_i_arr *q) {
    const tn_i_wide zero = {.d = 0}, one = {.d = 1};
    const int64_t n = columns_of(q->type), count = tn_i_count(q->type);
    for (int64_t i = 0; i < count; i++)
        tn_i_store(q->type->dtype, q->data, i, 1, 1, i % (n * n) % (n + 1) == 0 ? &one : &zero);
}

static tn_status kernel_svd(const tn_i_kernel *k) {
    tn_i_lapack_batch each;
    decomposition d;
    if (smaller(k->in[0].type) == 0 && k->nout > 1) {
        fill_ones(&k->out[1]);
        fill_ones(&k->out[1 + k->nin]);
    }
    if (!begin(k, is_full(k->p), &each, &d)) return TN_OK;
    while (tn_i_lapack_next(&each, d.a)) {
        if (!decompose(&d)) {
            tn_i_lapack_put_nan(&each);
            continue;
        }
        tn_i_lapack_put_vector(&each, 0, d.s, 1);
        if (k->nout == 1) continue;
        tn_i_lapack_put(&each, each.parts, 1, d.u, d.m);
        tn_i_lapack_put(&each, each.parts, 1 + k->nin, d.vt, d.leading);
    }
    return TN_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

static tn_i_var emit_svd(tn_i_rule *r) {
    const tn_i_param p[2] = {{.kind = TN_K_BOOL, .u.i = is_full(r->p)}, {.kind = TN_K_BOOL, .u.i = true}};
    return tn_i_emit(r->b, tn_i_prim(r->b, TN_P_svd), p, r->nin, r->in);
}

/* Columns of x times 1 / s; where s is 0, 0. */
static tn_i_complex divided(tn_i_builder *b, tn_i_complex x, tn_i_var s) {
    if (b->failed) return x;
    const tn_type t = *tn_i_vtype(b, x.re);
    return tn_i_complex_times(b, x, tn_i_along_many(b, tn_i_inverse_unless_tiny(b, s, s), 1, t.dim[t.rank - 2]));
}

/* u turned by `turn`, and moved by what of y, columns of da v / s, lies outside its span. */
static tn_i_complex moved(tn_i_builder *b, tn_i_complex u, tn_i_complex turn, const tn_i_complex *y) {
    const tn_i_complex inside = tn_i_complex_matmul(b, u, false, turn, false);
    if (!y) return inside;
    const tn_i_complex along = tn_i_complex_matmul(b, u, true, *y, false);
    const tn_i_complex outside = tn_i_complex_sub(b, *y, tn_i_complex_matmul(b, u, false, along, false));
    return tn_i_complex_add(b, inside, outside);
}

/* What `turns` says that u and v turn by, and what they move by; u's phases stay, and v turns along. */
static void move_vectors(tn_i_rule *r, tn_i_complex da, tn_i_complex u, tn_i_complex v, tn_i_complex av, tn_i_var s,
                         const tn_i_complex *turns, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const int64_t m = rows_of(r->in_type[0]), n = columns_of(r->in_type[0]);
    const tn_i_complex y = m > n ? divided(b, av, s) : u;
    const tn_i_complex z = n > m ? divided(b, tn_i_complex_matmul(b, da, true, u, false), s) : v;
    const tn_i_complex du = moved(b, u, turns[0], m > n ? &y : NULL), dv = moved(b, v, turns[1], n > m ? &z : NULL);
    const tn_i_var turning = tn_i_complex_turning(b, u, du);
    const tn_i_complex left = tn_i_complex_turned_back(b, du, u, turning);
    const tn_i_complex right = tn_i_complex_adjoint(b, tn_i_complex_turned_back(b, dv, v, turning));
    dout[1] = left.re;
    dout[1 + r->nin] = right.re;
    if (r->nin == 2) dout[2] = left.im;
    if (r->nin == 2) dout[4] = right.im;
}

/* With k = u' da v, of which e is the symmetric and o the skew part: u turns by e / (s[j] - s[i]) + o / (s[j] + s[i]),
 * v by e / (s[j] - s[i]) - o / (s[j] + s[i]).  So u v' has a derivative where values are equal, too. */
static void jvp_svd(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_type *t = r->in_type[0];
    const bool z = r->nin == 2;
    if (is_full(r->p) && rows_of(t) != columns_of(t)) {
        tn_i_rule_fail(r, TN_ERULE, -1,
                       "with full_matrices=True other than square matrices have no derivative: any "
                       "basis of what is left is one");
        return;
    }
    const tn_i_var s = emit_svd(r);
    if (s == TN_NOVAR) return;
    const tn_i_complex u = {s + 1, z ? s + 2 : TN_NOVAR}, vt = {s + 1 + r->nin, z ? s + 4 : TN_NOVAR};
    const tn_i_complex da = tn_i_complex_tangent(r, din);
    for (uint32_t j = 0; j < r->nout; j++) r->out[j] = s + j;
    const tn_i_complex av = tn_i_complex_matmul(b, da, false, vt, true), k = tn_i_complex_matmul(b, u, true, av, false);
    dout[0] = tn_i_matrix_diagonal(b, k.re);
    if (r->nout == 1) return;
    const tn_i_complex turned = tn_i_complex_adjoint(b, k), twice = tn_i_complex_add(b, k, turned);
    const tn_i_complex even = tn_i_complex_scale(b, twice, 0.5);
    const tn_i_complex odd = tn_i_complex_scale(b, tn_i_complex_sub(b, k, turned), 0.5);
    const tn_i_var to = tn_i_along(b, s, 1), from = tn_i_along(b, s, 0);
    const tn_i_var gaps = tn_i_inverse_unless_tiny(b, tn_i_op2(b, TN_P_sub, to, from), s);
    const tn_i_var sums = tn_i_inverse_unless_tiny(b, tn_i_op2(b, TN_P_add, to, from), s);
    const tn_i_complex both = tn_i_complex_times(b, even, gaps), apart = tn_i_complex_times(b, odd, sums);
    const tn_i_complex turns[2] = {tn_i_complex_add(b, both, apart), tn_i_complex_sub(b, both, apart)};
    move_vectors(r, da, u, tn_i_complex_adjoint(b, vt), av, s, turns, dout);
}

static bool sample_svd(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_matrices(r, dtype, c);
    if (tn_i_pick(r, 0, 1)) tn_i_case_alike(c, 1, 0, dtype);
    c->p[VECTORS] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 3) != 0};
    /* else matrices that the laws make larger have no derivative */
    c->p[FULL] = (tn_i_param){.kind = TN_K_BOOL, .u.i = !c->p[VECTORS].u.i && tn_i_pick(r, 0, 1)};
    return true;
}

const tn_prim tn_prim_svd = {
    .id = TN_P_svd,
    .name = "svd",
    .doc =
        "(s, u, vt), or s without compute_uv: a = u diag(s) vt, s descends, of min(rows, columns) columns of u and "
        "rows of vt, or square ones if full_matrices; f32 is computed in f64; NaN if a is not finite; pairs of equal "
        "s turn u and v alike by nothing; (s, re u, im u, re vt, im vt) of re a, im a, vt conjugate",
    .nin = -1,
    .flags = TN_F_COSTLY | TN_F_OWN_PRIMAL,
    .dtypes = TN_WIDE_FLOATS,
    .params = params,
    .type = type_svd,
    .jvp = jvp_svd,
    .batch = tn_i_batch_parts,
    .kernel = kernel_svd,
    .complex_many = tn_i_complex_of_svd,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_svd,
    .cost = cost_svd,
    .jvp_bound = 24,
    .sample = sample_svd,
};

/* ---- pinv ------------------------------------------------------------------------------------------- */

static bool type_pinv(tn_i_query *q) {
    if (!tn_i_matrices(q) || !tn_i_lapack_operands(q)) return false;
    const tn_type *t = q->in[0];
    tn_type out = *t;
    out.dim[t->rank - 2] = columns_of(t);
    out.dim[t->rank - 1] = rows_of(t);
    return tn_i_output_type(q, &out);
}

static size_t scratch_pinv(const tn_i_query *q) {
    decomposition d;
    size_t at[NROOMS];
    return lay_out(q->in[0], 1, false, &d, at);
}

/* v / s times u' as columns, in a's place: v's columns are scaled where s is more than rounding of the largest. */
static void put_pinv(const decomposition *d, int dtype, const tn_i_lapack_batch *each) {
    const double epsilon = dtype == TN_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const double limit = 10 * epsilon * (double)(d->m > d->n ? d->m : d->n) * d->s[0];
    for (int64_t j = 0; j < d->k; j++)
        for (int64_t c = 0; c < d->n; c++) d->vt[c * d->k + j] = d->s[j] > limit ? d->vt[c * d->k + j] / d->s[j] : 0;
    const tn_i_matrix v = {d->vt, d->k, 1}, u = {d->u, d->m, 1}, a = {d->a, 1, d->n};
    tn_i_multiply(TN_F64, 1, d->n, d->m, d->k, v, u, false, a);
    tn_i_lapack_put(each, 1, 0, d->a, d->n);
}

static tn_status kernel_pinv(const tn_i_kernel *k) {
    tn_i_lapack_batch each;
    decomposition d;
    if (!begin(k, false, &each, &d)) return TN_OK;
    while (tn_i_lapack_next(&each, d.a))
        if (decompose(&d))
            put_pinv(&d, k->in[0].type->dtype, &each);
        else
            tn_i_lapack_put_nan(&each);
    return TN_OK;
}

/* x y z, by the product that is the smaller one: of x and y, or of y and z. */
static tn_i_var product(tn_i_builder *b, bool first, tn_i_var x, tn_i_var y, tn_i_var z) {
    if (first) return tn_i_matrix_product(b, tn_i_matrix_product(b, x, 1, y, 0), 1, z, 0);
    return tn_i_matrix_product(b, x, 1, tn_i_matrix_product(b, y, 1, z, 0), 0);
}

/* dp = -p da p + p p' da' (1 - a p) + (1 - p a) da' p' p, where the rank stays (Golub and Pereyra, 1973). */
static void jvp_pinv(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const bool tall = rows_of(r->in_type[0]) >= columns_of(r->in_type[0]);
    const tn_i_var p = r->out[0], a = r->in[0], da = din[0];
    const tn_i_var pt = tn_i_matrix_transpose(b, p), at = tn_i_matrix_transpose(b, a),
                   dat = tn_i_matrix_transpose(b, da);
    /* transposed, as p' has a's shape: (1 - p' a') da p p' */
    const tn_i_var rows = product(b, !tall, da, p, pt);
    const tn_i_var rows_in = product(b, !tall, pt, at, rows);
    const tn_i_var left = tn_i_matrix_transpose(b, tn_i_op2(b, TN_P_sub, rows, rows_in));
    const tn_i_var columns = product(b, tall, dat, pt, p);
    const tn_i_var columns_in = product(b, tall, p, a, columns);
    const tn_i_var both = tn_i_op2(b, TN_P_add, left, tn_i_op2(b, TN_P_sub, columns, columns_in));
    dout[0] = tn_i_op2(b, TN_P_sub, both, product(b, tall, p, da, p));
}

static void batch_pinv(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    out[0] = tn_i_emit(r->b, r->e->prim, r->p, 1, r->in);
    out_batched[0] = true;
}

static bool sample_pinv(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_matrices(r, dtype, c);
    return true;
}

const tn_prim tn_prim_pinv = {
    .id = TN_P_pinv,
    .name = "pinv",
    .doc = "v diag(1/s) u' of the svd, without singular values up to 10 max(rows, columns) epsilon of the largest; f32 "
           "is computed in f64; NaN if a is not finite; derivatives as if the rank stays",
    .nin = 1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .type = type_pinv,
    .jvp = jvp_pinv,
    .batch = batch_pinv,
    .kernel = kernel_pinv,
    .complex = tn_i_complex_of_pinv,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_pinv,
    .cost = cost_svd,
    .jvp_bound = 24,
    .sample = sample_pinv,
};
