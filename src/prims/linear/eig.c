/* eig: eigenvalues and eigenvectors of square matrices, as pairs of real arrays, over leading batch dimensions, by
 * LAPACK's geev. */
#include "prims/scalar/complex.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/linear/lapack.h"
#include "prims/linear/lu.h"
#include "prims/linear/matrices.h"
#include "prims/sample.h"
#include "prims/arrays/shape.h"

#include <string.h>

enum { VECTORS };
static const tn_i_spec params[] = {{.name = "compute_vectors", .kind = TN_K_BOOL, .otherwise = "True"}, {.name = NULL}};

static bool with_vectors(const tn_i_param *p) { return p[VECTORS].kind == TN_K_NONE || p[VECTORS].u.i; }

/* Values, then vectors: real parts before imaginary ones. */
enum { RE, IM, VRE, VIM };

static bool type_eig(tn_i_query *q) {
    const uint32_t nout = with_vectors(q->p) ? 4 : 2;
    if (!tn_i_square_matrices(q) || !tn_i_lapack_operands(q) || !tn_i_outputs(q, nout)) return false;
    const tn_type *t = q->in[0];
    q->out[RE] = q->out[IM] = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank - 1, t->dim);
    if (nout == 4) q->out[VRE] = q->out[VIM] = *t;
    return true;
}

/* To Hessenberg form and some steps of QR: 5 n^3 multiply-adds, with vectors 13; a complex one is four. */
static void cost_eig(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], elements = (double)tn_i_count(q->in[0]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * n * (with_vectors(q->p) ? 13 : 5) * (q->nin > 1 ? 4 : 1);
    cost->flops += elements * 40;
}

/* ---- kernel --------------------------------------------------------------------------------------- */

enum { MATRIX, VALUES, FOUND, ORDER, WORK, NROOMS };

static size_t lay_out(const tn_type *t, bool is_complex, bool vectors, tn_i_lapack_room *room, size_t *at) {
    const int64_t n = t->dim[t->rank - 1];
    if (n == 0) return 0;
    tn_i_lapack_geev_room(is_complex, vectors, n, room);
    return tn_i_lapack_rooms((const int64_t[NROOMS]){2 * n * n, 2 * n, vectors ? 2 * n * n : 1, n, room->work}, NROOMS,
                             at);
}

static size_t scratch_eig(const tn_i_query *q) {
    tn_i_lapack_room room;
    size_t at[NROOMS];
    return lay_out(q->in[0], q->nin > 1, with_vectors(q->p), &room, at);
}

/* LAPACK's order changes where nothing else does: here by the real part, then the larger imaginary one. */
static bool before(const double *w, int64_t i, int64_t j) {
    return w[2 * i] < w[2 * j] || (w[2 * i] == w[2 * j] && w[2 * i + 1] > w[2 * j + 1]);
}

static void sort(int64_t n, const double *w, int64_t *order) {
    for (int64_t k = 0; k < n; k++) {
        int64_t at = k;
        for (; at > 0 && before(w, k, order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = k;
    }
}

/* n columns of `rows` complex elements in that order. */
static double *sorted(int64_t n, int64_t rows, const double *x, const int64_t *order, double *to) {
    for (int64_t k = 0; k < n; k++) memcpy(to + 2 * k * rows, x + 2 * order[k] * rows, 2 * (size_t)rows * sizeof *to);
    return to;
}

static void put(const tn_i_lapack_batch *each, int64_t n, double *const *at, int64_t *order) {
    double turn[2];
    sort(n, at[VALUES], order);
    const double *w = sorted(n, 1, at[VALUES], order, at[MATRIX]);
    tn_i_lapack_put_vector(each, RE, w, 2);
    tn_i_lapack_put_vector(each, IM, w + 1, 2);
    if (each->k->nout == 2) return;
    double *v = sorted(n, n, at[FOUND], order, at[MATRIX]);
    for (int64_t j = 0; j < n; j++) tn_i_lapack_turn(2, n, v + 2 * j * n, 2, turn);
    tn_i_lapack_put(each, 2, VRE, v, n);
}

/* What is not finite has no eigenvalues: NaN, as where the iteration does not converge. */
static tn_status kernel_eig(const tn_i_kernel *k) {
    const bool vectors = k->nout == 4, is_complex = k->nin > 1;
    const int64_t n = k->in[0].type->dim[tn_i_batch_rank(k->in[0].type)];
    tn_i_lapack_room room;
    tn_i_lapack_batch each;
    size_t place[NROOMS];
    double *at[NROOMS];
    tn_i_lapack_begin(&each, k);
    if (each.count == 0 || lay_out(k->in[0].type, is_complex, vectors, &room, place) == SIZE_MAX) return TN_OK;
    for (int i = 0; i < NROOMS; i++) at[i] = (double *)(void *)((char *)k->scratch + place[i]);
    while (tn_i_lapack_next(&each, at[MATRIX]))
        if (tn_i_all_finite(each.parts * n * n, at[MATRIX]) &&
            tn_i_lapack_geev(is_complex, vectors, n, at[MATRIX], at[VALUES], at[FOUND], &room, at[WORK]))
            put(&each, n, at, (int64_t *)(void *)at[ORDER]);
        else
            tn_i_lapack_put_nan(&each);
    return TN_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

/* x of v x = y; the factors are v's alone, and are kept. */
static tn_i_complex solved(tn_i_builder *b, tn_i_complex v, tn_i_complex y) {
    const tn_i_var lu = tn_i_emit_lu(b, tn_i_complex_as_real(b, v));
    if (lu == TN_NOVAR) return (tn_i_complex){lu, lu};
    return tn_i_complex_unstacked(b, tn_i_emit_lu_solve(b, false, lu, lu + 2, tn_i_complex_stacked(b, y)));
}

static tn_i_var one_norm(tn_i_builder *b, tn_i_complex x) {
    const tn_i_var re = tn_i_op1(b, TN_P_abs, x.re), im = tn_i_op1(b, TN_P_abs, x.im);
    return tn_i_op2(b, TN_P_add, re, im);
}

/* 1 / (w[j] - w[i]) at i, j; 0 where they are equal, but for rounding. */
static tn_i_complex inverse_gaps(tn_i_builder *b, tn_i_complex w) {
    tn_i_complex to, from;
    to.re = tn_i_along(b, w.re, 1);
    to.im = tn_i_along(b, w.im, 1);
    from.re = tn_i_along(b, w.re, 0);
    from.im = tn_i_along(b, w.im, 0);
    const tn_i_complex gap = tn_i_complex_sub(b, to, from);
    const tn_i_var size = one_norm(b, gap), inverse = tn_i_inverse_unless_tiny(b, size, one_norm(b, w));
    if (b->failed || inverse == TN_NOVAR) return (tn_i_complex){TN_NOVAR, TN_NOVAR};
    const tn_i_var re = tn_i_op2(b, TN_P_mul, gap.re, inverse), im = tn_i_op2(b, TN_P_mul, gap.im, inverse);
    const tn_i_var rr = tn_i_op2(b, TN_P_mul, re, re), ii = tn_i_op2(b, TN_P_mul, im, im);
    const tn_i_var zero = tn_i_number_like(b, inverse, 0), one = tn_i_number_like(b, inverse, 1);
    const tn_i_var equal = tn_i_op2(b, TN_P_eq, inverse, zero);
    const tn_i_var square = tn_i_op3(b, TN_P_select, equal, one, tn_i_op2(b, TN_P_add, rr, ii));
    const tn_i_var by = tn_i_op2(b, TN_P_div, inverse, square), minus = tn_i_op1(b, TN_P_neg, im);
    const tn_i_var x = tn_i_op2(b, TN_P_mul, re, by), y = tn_i_op2(b, TN_P_mul, minus, by);
    return (tn_i_complex){x, y};
}

/* Vectors stay of unit length, and their phases as they are: what dv has along v, and around it, goes. */
static tn_i_complex normalized(tn_i_builder *b, tn_i_complex v, tn_i_complex dv) {
    const tn_i_var rr = tn_i_op2(b, TN_P_mul, v.re, dv.re), ii = tn_i_op2(b, TN_P_mul, v.im, dv.im);
    const tn_i_var along = tn_i_column_sums(b, tn_i_op2(b, TN_P_add, rr, ii));
    if (b->failed) return dv;
    const tn_type t = *tn_i_vtype(b, v.re);
    const tn_i_complex less = tn_i_complex_times(b, v, tn_i_along_many(b, along, 1, t.dim[t.rank - 2]));
    return tn_i_complex_turned_back(b, tn_i_complex_sub(b, dv, less), v, tn_i_complex_turning(b, v, dv));
}

/* With s = v^-1 da v: dw is its diagonal, dv = v (s / gaps), normalized. */
static void jvp_eig(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_param p = {.kind = TN_K_BOOL, .u.i = true};
    const tn_i_var w = tn_i_emit(b, tn_i_prim(b, TN_P_eig), &p, r->nin, r->in);
    if (w == TN_NOVAR) return;
    for (uint32_t j = 0; j < r->nout; j++) {
        r->out[j] = w + j;
        dout[j] = TN_NOVAR;
    }
    if (tn_i_count(r->in_type[0]) == 0) return;
    const tn_i_complex v = {w + VRE, w + VIM}, values = {w + RE, w + IM}, da = tn_i_complex_tangent(r, din);
    const tn_i_complex s = solved(b, v, tn_i_complex_matmul(b, da, false, v, false));
    dout[RE] = tn_i_matrix_diagonal(b, s.re);
    dout[IM] = tn_i_matrix_diagonal(b, s.im);
    if (r->nout == 2) return;
    const tn_i_complex turned = tn_i_complex_mul(b, s, inverse_gaps(b, values));
    const tn_i_complex dv = normalized(b, v, tn_i_complex_matmul(b, v, false, turned, false));
    dout[VRE] = dv.re;
    dout[VIM] = dv.im;
}

/* Eigenvalues well apart, real ones and pairs: blocks of two rows turn or do not.  Complex matrices have no pairs,
 * whose order a small change would exchange. */
static void fill_apart(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = c->in[i].dim[c->in[i].rank - 1], count = tn_i_count(&c->in[i]);
    for (int64_t k = 0; k < count && i == 1; k++) tn_i_put(c->in[i].dtype, data, k, tn_i_uniform(r, -0.1, 0.1));
    for (int64_t first = 0; first < count && i == 0; first += n * n) {
        for (int64_t k = 0; k < n * n; k++) {
            const bool diagonal = k % n == k / n;
            const double at = 1 + 1.5 * (double)(k / n);
            tn_i_put(c->in[i].dtype, data, first + k,
                     diagonal ? at + tn_i_uniform(r, -0.25, 0.25) : tn_i_uniform(r, -0.1, 0.1));
        }
        for (int64_t k = 0; k + 1 < n && c->nin == 1; k += 2) {
            if (tn_i_pick(r, 0, 1)) continue;
            const double at = 1.75 + 1.5 * (double)k, turn = tn_i_uniform(r, 0.8, 1.2);
            tn_i_put(c->in[i].dtype, data, first + k * n + k, at);
            tn_i_put(c->in[i].dtype, data, first + (k + 1) * n + k + 1, at);
            tn_i_put(c->in[i].dtype, data, first + k * n + k + 1, turn);
            tn_i_put(c->in[i].dtype, data, first + (k + 1) * n + k, -turn / 2);
        }
    }
}

static bool sample(tn_i_rng *r, int dtype, tn_i_case *c) {
    tn_i_sample_square(r, dtype, c);
    if (tn_i_pick(r, 0, 1)) tn_i_case_alike(c, 1, 0, dtype);
    c->p[VECTORS] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 2) != 0};
    c->fill = fill_apart;
    return true;
}

const tn_prim tn_prim_eig = {
    .id = TN_P_eig,
    .name = "eig",
    .doc =
        "(re w, im w, re v, im v), or the first two: a v = v diag(w) for any square a, or re a, im a; w by real parts; "
        "columns of v have unit length and a first large element that is positive; f32 is computed in f64; NaN if a is "
        "not finite; pairs of equal w add nothing to dv",
    .nin = -1,
    .flags = TN_F_COSTLY | TN_F_OWN_PRIMAL,
    .dtypes = TN_WIDE_FLOATS,
    .params = params,
    .type = type_eig,
    .jvp = jvp_eig,
    .batch = tn_i_batch_parts,
    .kernel = kernel_eig,
    .complex_many = tn_i_complex_of_eig,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_eig,
    .cost = cost_eig,
    .jvp_bound = 24,
    .sample = sample,
};
