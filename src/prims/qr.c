/* qr: over leading batch dimensions, by LAPACK's geqrf and orgqr. */
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/lapack.h"
#include "prims/matrices.h"
#include "prims/shape.h"

#include <string.h>

enum { FULL };
static const tn_i_spec params[] = {{.name = "full_matrices", .kind = TN_K_BOOL}, {.name = NULL}};

static int64_t rows_of(const tn_type *a) { return a->dim[a->rank - 2]; }
static int64_t columns_of(const tn_type *a) { return a->dim[a->rank - 1]; }
static int64_t smaller(const tn_type *a) { return rows_of(a) < columns_of(a) ? rows_of(a) : columns_of(a); }

static bool type_qr(tn_i_query *q) {
    if (!tn_i_matrices(q) || !tn_i_params_given(q) || !tn_i_lapack_sizes(q, 0) || !tn_i_outputs(q, 2)) return false;
    const tn_type *t = q->in[0];
    const int64_t inner = q->p[FULL].u.i ? rows_of(t) : smaller(t);
    q->out[0] = q->out[1] = *t;
    q->out[0].dim[t->rank - 1] = inner;
    q->out[1].dim[t->rank - 2] = inner;
    return true;
}

static void cost_qr(const tn_i_query *q, tn_i_cost *cost) {
    const tn_type *t = q->in[0];
    const double k = (double)smaller(t), elements = (double)tn_i_count(t);
    const double inner = (double)(q->p[FULL].u.i ? rows_of(t) : smaller(t));
    tn_i_cost_copy(q, cost);
    cost->products += elements * k + (columns_of(t) ? elements / (double)columns_of(t) * inner * k : 0);
    cost->flops += elements * 8;
}

/* ---- kernel --------------------------------------------------------------------------------------- */

enum { MATRIX, TAU, WORK, NROOMS };

static size_t lay_out(const tn_type *t, int64_t inner, tn_i_lapack_room *room, size_t *at) {
    const int64_t m = rows_of(t), n = columns_of(t);
    if (m == 0 || n == 0) return 0;
    tn_i_lapack_qr_room(m, n, inner, room);
    return tn_i_lapack_rooms((const int64_t[NROOMS]){m * (n > inner ? n : inner), smaller(t), room->work}, NROOMS, at);
}

static size_t scratch_qr(const tn_i_query *q) {
    tn_i_lapack_room room;
    size_t at[NROOMS];
    return lay_out(q->in[0], q->p[FULL].u.i ? rows_of(q->in[0]) : smaller(q->in[0]), &room, at);
}

/* Of matrices without columns. */
static void fill_ones(const tn_i_arr *q) {
    const tn_i_wide zero = {.d = 0}, one = {.d = 1};
    const int64_t n = columns_of(q->type), count = tn_i_count(q->type);
    for (int64_t i = 0; i < count; i++)
        tn_i_store(q->type->dtype, q->data, i, 1, 1, i % (n * n) % (n + 1) == 0 ? &one : &zero);
}

static tn_status kernel_qr(const tn_i_kernel *k) {
    const tn_i_arr *a = &k->in[0], *q = &k->out[0], *r = &k->out[1];
    const int batch = tn_i_batch_rank(a->type);
    const int64_t m = rows_of(a->type), n = columns_of(a->type), inner = columns_of(q->type);
    tn_i_lapack_room room;
    size_t place[NROOMS];
    if (n == 0) fill_ones(q);
    if (tn_i_count(a->type) == 0 || lay_out(a->type, inner, &room, place) == SIZE_MAX) return TN_OK;
    char *memory = k->scratch;
    double *matrix = (double *)(void *)(memory + place[MATRIX]), *tau = (double *)(void *)(memory + place[TAU]);
    double *work = (double *)(void *)(memory + place[WORK]);
    const tn_i_dims each = tn_i_dims_of(a, (1u << batch) - 1);
    tn_i_cursor at;
    tn_i_cursor_start(&at, &each, 0);
    for (int64_t i = 0; i < tn_i_dims_count(&each); i++, tn_i_cursor_next(&at)) {
        tn_i_lapack_take(a, at.offset, matrix);
        bool made = tn_i_all_finite(m * n, matrix) && tn_i_lapack_geqrf(m, n, matrix, tau, &room, work);
        if (made) tn_i_lapack_put_upper(matrix, m, r, i);
        made = made && tn_i_lapack_orgqr(m, n, inner, matrix, tau, &room, work);
        if (made)
            tn_i_lapack_put(matrix, m, q, i);
        else {
            tn_i_lapack_put_nan(2, q, i);
            tn_i_lapack_put_nan(2, r, i);
        }
    }
    return TN_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

/* With r's first columns r1, x = da1 r1^-1 and c = q' x: q turns by the skew w whose lower triangle is that of c, and
 * moves by what of x is not in its span. */
static void jvp_qr(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_type *t = r->in_type[0];
    const int64_t m = rows_of(t), n = columns_of(t), k = smaller(t);
    const tn_i_var q = r->out[0], upper = r->out[1], da = din[0];
    if (r->p[FULL].u.i && m > n) {
        tn_i_rule_fail(r, TN_ERULE, -1,
                       "with full_matrices=True more rows than columns have no derivative: any basis "
                       "of what is left is one");
        return;
    }
    if (b->failed) return;
    const tn_i_var r1 = tn_i_matrix_part(b, upper, k, k), da1 = tn_i_matrix_part(b, da, m, k);
    const tn_i_var x = tn_i_triangular_solve(b, 0, r1, da1), c = tn_i_matrix_product(b, q, 0, x, 0);
    const tn_i_var low = tn_i_matrix_where(b, c, TN_P_gt);
    const tn_i_var w = tn_i_op2(b, TN_P_sub, low, tn_i_matrix_transpose(b, low));
    const tn_i_var left = tn_i_op2(b, TN_P_sub, c, w); /* upper */
    if (m > n) {
        const tn_i_var inside = tn_i_matrix_product(b, q, 1, left, 0);
        dout[0] = tn_i_op2(b, TN_P_sub, x, inside);
    } else
        dout[0] = tn_i_matrix_product(b, q, 1, w, 0);
    if (m >= n)
        dout[1] = tn_i_matrix_product(b, left, 1, r1, 0);
    else {
        const tn_i_var moved = tn_i_matrix_product(b, q, 0, da, 0), turned = tn_i_matrix_product(b, w, 1, upper, 0);
        dout[1] = tn_i_matrix_where(b, tn_i_op2(b, TN_P_sub, moved, turned), TN_P_le);
    }
}

static void batch_qr(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    const tn_i_var q = tn_i_emit(r->b, r->e->prim, r->p, 1, r->in);
    out[0] = q;
    out[1] = q == TN_NOVAR ? q : q + 1;
    out_batched[0] = out_batched[1] = true;
}

static bool sample_qr(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_matrices(r, dtype, c);
    c->p[FULL] = (tn_i_param){.kind = TN_K_BOOL}; /* else matrices that the laws make larger have no derivative */
    return true;
}

const tn_prim tn_prim_qr = {
    .id = TN_P_qr,
    .name = "qr",
    .doc = "(q, r): a = q r, q' q = 1, r upper triangular, of min(rows, columns) columns and rows, or as many as a has "
           "rows if full_matrices; NaN if a is not finite; derivatives want the first columns independent",
    .nin = 1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .params = params,
    .type = type_qr,
    .jvp = jvp_qr,
    .batch = batch_qr,
    .kernel = kernel_qr,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_qr,
    .cost = cost_qr,
    .jvp_bound = 24,
    .sample = sample_qr,
};
