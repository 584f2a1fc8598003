/* qr: over leading batch dimensions, by LAPACK's geqrf and orgqr. */
#include "prims/scalar/complex.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/linear/lapack.h"
#include "prims/linear/matrices.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { FULL };
static const tn_i_spec params[] = {{.name = "full_matrices", .kind = TN_K_BOOL}, {.name = NULL}};

static int64_t rows_of(const tn_type *a) { return a->dim[a->rank - 2]; }
static int64_t columns_of(const tn_type *a) { return a->dim[a->rank - 1]; }
static int64_t smaller(const tn_type *a) { return rows_of(a) < columns_of(a) ? rows_of(a) : columns_of(a); }

static bool type_qr(tn_i_query *q) {
    if (!tn_i_matrices(q) || !tn_i_params_given(q) || !tn_i_lapack_operands(q)) return false;
    if (!tn_i_outputs(q, 2 * q->nin)) return false;
    const tn_type *t = q->in[0];
    const int64_t inner = q->p[FULL].u.i ? rows_of(t) : smaller(t);
    for (uint32_t j = 0; j < q->nin; j++) {
        q->out[j] = q->out[q->nin + j] = *t;
        q->out[j].dim[t->rank - 1] = inner;
        q->out[q->nin + j].dim[t->rank - 2] = inner;
    }
    return true;
}

static void cost_qr(const tn_i_query *q, tn_i_cost *cost) {
    const tn_type *t = q->in[0];
    const double k = (double)smaller(t), elements = (double)tn_i_count(t);
    const double inner = (double)(q->p[FULL].u.i ? rows_of(t) : smaller(t));
    tn_i_cost_copy(q, cost);
    const double all = elements * k + (columns_of(t) ? elements / (double)columns_of(t) * inner * k : 0);
    cost->products += all * (q->nin > 1 ? 4 : 1);
    cost->flops += elements * 8;
}

/* ---- kernel --------------------------------------------------------------------------------------- */

enum { MATRIX, TAU, WORK, NROOMS };

static size_t lay_out(const tn_type *t, int parts, int64_t inner, tn_i_lapack_room *room, size_t *at) {
    const int64_t m = rows_of(t), n = columns_of(t);
    if (m == 0 || n == 0) return 0;
    tn_i_lapack_qr_room(parts > 1, m, n, inner, room);
    return tn_i_lapack_rooms(
        (const int64_t[NROOMS]){m * (n > inner ? n : inner) * parts, smaller(t) * parts, room->work}, NROOMS, at);
}

static size_t scratch_qr(const tn_i_query *q) {
    tn_i_lapack_room room;
    size_t at[NROOMS];
    return lay_out(q->in[0], (int)q->nin, q->p[FULL].u.i ? rows_of(q->in[0]) : smaller(q->in[0]), &room, at);
}

/* Of matrices without columns. */
static void fill_ones(const tn_i_arr *q) {
    const tn_i_wide zero = {.d = 0}, one = {.d = 1};
    const int64_t n = columns_of(q->type), count = tn_i_count(q->type);
    for (int64_t i = 0; i < count; i++)
        tn_i_store(q->type->dtype, q->data, i, 1, 1, i % (n * n) % (n + 1) == 0 ? &one : &zero);
}

static tn_status kernel_qr(const tn_i_kernel *k) {
    const tn_type *t = k->in[0].type;
    const int64_t m = rows_of(t), n = columns_of(t), inner = columns_of(k->out[0].type);
    tn_i_lapack_room room;
    tn_i_lapack_batch each;
    size_t place[NROOMS];
    if (n == 0) fill_ones(&k->out[0]);
    tn_i_lapack_begin(&each, k);
    if (each.count == 0 || lay_out(t, each.parts, inner, &room, place) == SIZE_MAX) return TN_OK;
    const bool z = each.parts > 1;
    char *memory = k->scratch;
    double *matrix = (double *)(void *)(memory + place[MATRIX]), *tau = (double *)(void *)(memory + place[TAU]);
    double *work = (double *)(void *)(memory + place[WORK]);
    while (tn_i_lapack_next(&each, matrix)) {
        bool made = tn_i_all_finite(each.parts * m * n, matrix) && tn_i_lapack_geqrf(z, m, n, matrix, tau, &room, work);
        if (made) tn_i_lapack_put_upper(&each, k->nin, matrix, m);
        made = made && tn_i_lapack_orgqr(z, m, n, inner, matrix, tau, &room, work);
        if (made)
            tn_i_lapack_put(&each, each.parts, 0, matrix, m);
        else
            tn_i_lapack_put_nan(&each);
    }
    return TN_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

/* The skew part of c whose lower triangle is c's; r's diagonal is real, so that c's imaginary one is of it. */
static tn_i_complex skew_of(tn_i_builder *b, tn_i_complex c) {
    const tn_i_complex low = tn_i_complex_where(b, c, TN_P_gt);
    tn_i_complex w = tn_i_complex_sub(b, low, tn_i_complex_adjoint(b, low));
    if (tn_i_is_complex(c)) w.im = tn_i_op2(b, TN_P_add, w.im, tn_i_matrix_where(b, c.im, TN_P_eq));
    return w;
}

/* With r's first columns r1, x = da1 r1^-1 and c = q' x: q turns by the skew w whose lower triangle is that of c, and
 * moves by what of x is not in its span. */
static void jvp_qr(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_type *t = r->in_type[0];
    const bool z = r->nin == 2;
    const int64_t m = rows_of(t), n = columns_of(t), k = smaller(t);
    const tn_i_complex q = {r->out[0], z ? r->out[1] : TN_NOVAR}, upper = {r->out[r->nin], z ? r->out[3] : TN_NOVAR};
    const tn_i_complex da = tn_i_complex_tangent(r, din);
    tn_i_complex dq, dr;
    if (r->p[FULL].u.i && m > n) {
        tn_i_rule_fail(r, TN_ERULE, -1,
                       "with full_matrices=True more rows than columns have no derivative: any basis "
                       "of what is left is one");
        return;
    }
    if (b->failed) return;
    const tn_i_complex r1 = tn_i_complex_part(b, upper, k, k), da1 = tn_i_complex_part(b, da, m, k);
    const tn_i_complex x = tn_i_complex_triangular_solve(b, 0, true, r1, da1);
    const tn_i_complex c = tn_i_complex_matmul(b, q, true, x, false), w = skew_of(b, c);
    const tn_i_complex left = tn_i_complex_sub(b, c, w); /* upper */
    if (m > n)
        dq = tn_i_complex_sub(b, x, tn_i_complex_matmul(b, q, false, left, false));
    else
        dq = tn_i_complex_matmul(b, q, false, w, false);
    if (m >= n)
        dr = tn_i_complex_matmul(b, left, false, r1, false);
    else {
        const tn_i_complex moved = tn_i_complex_matmul(b, q, true, da, false);
        const tn_i_complex turned = tn_i_complex_matmul(b, w, false, upper, false);
        dr = tn_i_complex_sub(b, moved, turned);
        dr.re = tn_i_matrix_where(b, dr.re, TN_P_le);
        if (z) dr.im = tn_i_matrix_where(b, dr.im, TN_P_lt);
    }
    dout[0] = dq.re;
    dout[r->nin] = dr.re;
    if (z) dout[1] = dq.im;
    if (z) dout[3] = dr.im;
}

static bool sample_qr(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_matrices(r, dtype, c);
    if (tn_i_pick(r, 0, 1)) tn_i_case_alike(c, 1, 0, dtype);
    c->p[FULL] = (tn_i_param){.kind = TN_K_BOOL}; /* else matrices that the laws make larger have no derivative */
    return true;
}

const tn_prim tn_prim_qr = {
    .id = TN_P_qr,
    .name = "qr",
    .doc = "(q, r): a = q r, q' q = 1, r upper triangular, of min(rows, columns) columns and rows, or as many as a has "
           "rows if full_matrices; NaN if a is not finite; derivatives want the first columns independent; (re q, im "
           "q, re "
           "r, im r) of re a, im a, with a real diagonal of r",
    .nin = -1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .params = params,
    .type = type_qr,
    .jvp = jvp_qr,
    .batch = tn_i_batch_parts,
    .kernel = kernel_qr,
    .complex_many = tn_i_complex_of_qr,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_qr,
    .cost = cost_qr,
    .jvp_bound = 36,
    .sample = sample_qr,
};
