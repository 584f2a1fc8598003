/* eigh: eigenvalues and eigenvectors of symmetric matrices, over leading batch dimensions, by LAPACK's syevd. */
#include "prims/lapack.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/matrices.h"
#include "prims/sample.h"
#include "prims/shape.h"

enum { LOWER };
static const tn_i_spec params[] = {{.name = "lower", .kind = TN_K_BOOL, .otherwise = "True"}, {.name = NULL}};

static bool lower_of(const tn_i_param *p) { return p[LOWER].kind == TN_K_NONE || p[LOWER].u.i; }

static bool type_eigh(tn_i_query *q) {
    if (!tn_i_square_matrices(q) || !tn_i_lapack_sizes(q, 0) || !tn_i_outputs(q, 2)) return false;
    const tn_type *t = q->in[0];
    q->out[0] = *t;
    q->out[1] = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank - 1, t->dim);
    return true;
}

/* To tridiagonal form, 2/3 n^3 multiply-adds, half of them at the speed of memory; vectors take three times that. */
static void cost_eigh(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], elements = (double)tn_i_count(q->in[0]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * n * 3;
    cost->flops += elements * 40;
}

/* ---- kernel --------------------------------------------------------------------------------------- */

enum { MATRIX, VALUES, WORK, INTEGERS, NROOMS };

static size_t lay_out(const tn_type *t, bool lower, tn_i_lapack_room *room, size_t *at) {
    const int64_t n = t->dim[t->rank - 1];
    if (n == 0) return 0;
    tn_i_lapack_syevd_room(lower, n, room);
    return tn_i_lapack_rooms((const int64_t[NROOMS]){n * n, n, room->work, room->integers}, NROOMS, at);
}

static size_t scratch_of(const tn_i_query *q) {
    tn_i_lapack_room room;
    size_t at[NROOMS];
    return lay_out(q->in[0], lower_of(q->p), &room, at);
}

/* The triangle that is read, of a matrix in column order. */
static bool triangle_is_finite(int64_t n, bool lower, const double *a) {
    for (int64_t j = 0; j < n; j++)
        if (!tn_i_all_finite(lower ? n - j : j + 1, a + j * n + (lower ? j : 0))) return false;
    return true;
}

/* What is not finite has no eigenvalues: NaN, as where the iteration does not converge. */
static tn_status kernel_eigh(const tn_i_kernel *k) {
    const tn_i_arr *a = &k->in[0], *v = &k->out[0], *values = &k->out[1];
    const bool lower = lower_of(k->p);
    const int batch = tn_i_batch_rank(a->type);
    const int64_t n = a->type->dim[batch];
    tn_i_lapack_room room;
    size_t place[NROOMS];
    if (tn_i_count(a->type) == 0 || lay_out(a->type, lower, &room, place) == SIZE_MAX) return TN_OK;
    char *memory = k->scratch;
    double *matrix = (double *)(void *)(memory + place[MATRIX]), *w = (double *)(void *)(memory + place[VALUES]);
    double *work = (double *)(void *)(memory + place[WORK]);
    int32_t *integers = (int32_t *)(void *)(memory + place[INTEGERS]);
    const tn_i_dims each = tn_i_dims_of(a, (1u << batch) - 1);
    tn_i_cursor at;
    tn_i_cursor_start(&at, &each, 0);
    for (int64_t i = 0; i < tn_i_dims_count(&each); i++, tn_i_cursor_next(&at)) {
        tn_i_lapack_take(a, at.offset, matrix);
        if (triangle_is_finite(n, lower, matrix) && tn_i_lapack_syevd(lower, n, matrix, w, &room, work, integers)) {
            for (int64_t j = 0; j < n; j++)
                if (tn_i_lapack_turned(n, matrix + j * n, 1)) tn_i_lapack_negate(n, matrix + j * n, 1);
            tn_i_lapack_put(matrix, n, v, i);
            tn_i_lapack_put_vector(w, values, i);
        } else {
            tn_i_lapack_put_nan(2, v, i);
            tn_i_lapack_put_nan(1, values, i);
        }
    }
    return TN_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

/* 1 / (w[j] - w[i]) at i, j. */
static tn_i_var inverse_gaps(tn_i_builder *b, tn_i_var w) {
    const tn_i_var to = tn_i_along(b, w, 1), from = tn_i_along(b, w, 0);
    return tn_i_inverse_unless_tiny(b, tn_i_op2(b, TN_P_sub, to, from), w);
}

/* With s = v' da v: dw is its diagonal, dv = v (s / gaps). */
static void jvp_eigh(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_var v = r->out[0];
    const tn_i_var moved = tn_i_matrix_product(b, tn_i_of_triangle(b, din[0], lower_of(r->p)), 1, v, 0);
    const tn_i_var s = tn_i_matrix_product(b, v, 0, moved, 0);
    const tn_i_var gaps = inverse_gaps(b, r->out[1]);
    dout[0] = tn_i_matrix_product(b, v, 1, tn_i_op2(b, TN_P_mul, s, gaps), 0);
    dout[1] = tn_i_matrix_diagonal(b, s);
}

static void batch_eigh(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    const tn_i_var v = tn_i_emit(r->b, r->e->prim, r->p, 1, r->in);
    out[0] = v;
    out[1] = v == TN_NOVAR ? v : v + 1;
    out_batched[0] = out_batched[1] = true;
}

/* Eigenvalues well apart; the other triangle is not read. */
static void fill_apart(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = c->in[i].dim[c->in[i].rank - 1], count = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < count; k++) {
        const int64_t row = k / n % n;
        const bool diagonal = k % n == row;
        tn_i_put(c->in[i].dtype, data, k,
                 diagonal ? 1 + 1.5 * (double)row + tn_i_uniform(r, -0.25, 0.25) : tn_i_uniform(r, -0.35, 0.35));
    }
}

static bool sample(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    c->p[LOWER] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 1)};
    c->fill = fill_apart;
    return true;
}

const tn_prim tn_prim_eigh = {
    .id = TN_P_eigh,
    .name = "eigh",
    .doc =
        "(v, w): a v = v diag(w) for symmetric a, given by one triangle (alone read, and alone given a cotangent); w "
        "ascends, f32 is computed in f64; NaN if a is not finite; pairs of equal w add nothing to dv",
    .nin = 1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .params = params,
    .type = type_eigh,
    .jvp = jvp_eigh,
    .batch = batch_eigh,
    .kernel = kernel_eigh,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_of,
    .cost = cost_eigh,
    .jvp_bound = 24,
    .sample = sample,
};
