/* eigh: eigenvalues and eigenvectors of symmetric and Hermitian matrices, over leading batch dimensions, by LAPACK's
 * syevd. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/linear/lapack.h"
#include "prims/linear/matrices.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

enum { LOWER };
static const tn_i_spec params[] = {{.name = "lower", .kind = TN_K_BOOL, .otherwise = "True"}, {.name = NULL}};

static bool lower_of(const tn_i_param *p) { return p[LOWER].kind == TN_K_NONE || p[LOWER].u.i; }

static bool type_eigh(tn_i_query *q) {
    if (!tn_i_square_matrices(q) || !tn_i_lapack_operands(q) || !tn_i_outputs(q, q->nin + 1)) return false;
    const tn_type *t = q->in[0];
    for (uint32_t j = 0; j < q->nin; j++) q->out[j] = *t;
    q->out[q->nin] = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank - 1, t->dim);
    return true;
}

/* To tridiagonal form, 2/3 n^3 multiply-adds, half of them at the speed of memory; vectors take three times that.  A
 * complex one is four. */
static void cost_eigh(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], elements = (double)tn_i_count(q->in[0]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * n * (q->nin > 1 ? 12 : 3);
    cost->flops += elements * 40;
}

/* ---- kernel --------------------------------------------------------------------------------------- */

enum { MATRIX, VALUES, WORK, INTEGERS, NROOMS };

static size_t lay_out(const tn_type *t, int parts, bool lower, tn_i_lapack_room *room, size_t *at) {
    const int64_t n = t->dim[t->rank - 1];
    if (n == 0) return 0;
    tn_i_lapack_syevd_room(parts > 1, lower, n, room);
    return tn_i_lapack_rooms((const int64_t[NROOMS]){n * n * parts, n, room->work, room->integers}, NROOMS, at);
}

static size_t scratch_of(const tn_i_query *q) {
    tn_i_lapack_room room;
    size_t at[NROOMS];
    return lay_out(q->in[0], (int)q->nin, lower_of(q->p), &room, at);
}

/* The triangle that is read, of a matrix in column order, and the diagonal. */
static bool triangle_is_finite(int parts, int64_t n, bool lower, const double *a) {
    for (int64_t j = 0; j < n; j++)
        if (!tn_i_all_finite(parts * (lower ? n - j : j + 1), a + parts * (j * n + (lower ? j : 0)))) return false;
    return true;
}

/* What is not finite has no eigenvalues: NaN, as where the iteration does not converge. */
static tn_status kernel_eigh(const tn_i_kernel *k) {
    const bool lower = lower_of(k->p);
    const int64_t n = k->in[0].type->dim[tn_i_batch_rank(k->in[0].type)];
    tn_i_lapack_room room;
    tn_i_lapack_batch each;
    size_t place[NROOMS];
    double turn[2];
    tn_i_lapack_begin(&each, k);
    if (each.count == 0 || lay_out(k->in[0].type, each.parts, lower, &room, place) == SIZE_MAX) return TN_OK;
    char *memory = k->scratch;
    double *matrix = (double *)(void *)(memory + place[MATRIX]), *w = (double *)(void *)(memory + place[VALUES]);
    double *work = (double *)(void *)(memory + place[WORK]);
    int32_t *integers = (int32_t *)(void *)(memory + place[INTEGERS]);
    while (tn_i_lapack_next(&each, matrix)) {
        if (!triangle_is_finite(each.parts, n, lower, matrix) ||
            !tn_i_lapack_syevd(each.parts > 1, lower, n, matrix, w, &room, work, integers)) {
            tn_i_lapack_put_nan(&each);
            continue;
        }
        for (int64_t j = 0; j < n; j++) tn_i_lapack_turn(each.parts, n, matrix + j * n * each.parts, each.parts, turn);
        tn_i_lapack_put(&each, each.parts, 0, matrix, n);
        tn_i_lapack_put_vector(&each, k->nin, w, 1);
    }
    return TN_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

/* 1 / (w[j] - w[i]) at i, j. */
static tn_i_var inverse_gaps(tn_i_builder *b, tn_i_var w) {
    const tn_i_var to = tn_i_along(b, w, 1), from = tn_i_along(b, w, 0);
    return tn_i_inverse_unless_tiny(b, tn_i_op2(b, TN_P_sub, to, from), w);
}

/* With s = v' da v: dw is its diagonal, dv = v (s / gaps), which phases that are chosen turn. */
static void jvp_eigh(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_complex v = {r->out[0], r->nin == 2 ? r->out[1] : TN_NOVAR};
    const tn_i_complex da = tn_i_complex_of_triangle(b, tn_i_complex_tangent(r, din), lower_of(r->p));
    const tn_i_complex s = tn_i_complex_matmul(b, v, true, tn_i_complex_matmul(b, da, false, v, false), false);
    const tn_i_var gaps = inverse_gaps(b, r->out[r->nin]);
    const tn_i_complex dv = tn_i_complex_matmul(b, v, false, tn_i_complex_times(b, s, gaps), false);
    const tn_i_complex kept = tn_i_complex_turned_back(b, dv, v, tn_i_complex_turning(b, v, dv));
    dout[0] = kept.re;
    if (r->nin == 2) dout[1] = kept.im;
    dout[r->nin] = tn_i_matrix_diagonal(b, s.re);
}

/* Eigenvalues well apart; the other triangle is not read. */
static void fill_apart(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = c->in[i].dim[c->in[i].rank - 1], count = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < count; k++) {
        const int64_t row = k / n % n;
        const bool diagonal = k % n == row && i == 0;
        tn_i_put(c->in[i].dtype, data, k,
                 diagonal ? 1 + 1.5 * (double)row + tn_i_uniform(r, -0.25, 0.25) : tn_i_uniform(r, -0.35, 0.35));
    }
}

static bool sample(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    if (tn_i_pick(r, 0, 1)) tn_i_case_alike(c, 1, 0, dtype);
    c->p[LOWER] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 1)};
    c->fill = fill_apart;
    return true;
}

const tn_prim tn_prim_eigh = {
    .id = TN_P_eigh,
    .name = "eigh",
    .doc =
        "(v, w): a v = v diag(w) for symmetric a, given by one triangle (alone read, and alone given a cotangent); w "
        "ascends, f32 is computed in f64; NaN if a is not finite; pairs of equal w add nothing to dv; (re v, im v, w) "
        "of "
        "Hermitian re a, im a",
    .nin = -1,
    .flags = TN_F_COSTLY,
    .dtypes = TN_WIDE_FLOATS,
    .params = params,
    .type = type_eigh,
    .jvp = jvp_eigh,
    .batch = tn_i_batch_parts,
    .kernel = kernel_eigh,
    .complex_many = tn_i_complex_of_eigh,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_of,
    .cost = cost_eigh,
    .jvp_bound = 24,
    .sample = sample,
};
