/* eig: eigenvalues and eigenvectors of square matrices, complex ones as pairs of real arrays, over leading batch
 * dimensions, by LAPACK's geev. */
#include "prims/complex.h"
#include "prims/dims.h"
#include "prims/ids.h"
#include "prims/lapack.h"
#include "prims/lu.h"
#include "prims/matrices.h"
#include "prims/sample.h"
#include "prims/shape.h"

#include <string.h>

enum { VECTORS };
static const tn_i_spec params[] = {{.name = "compute_vectors", .kind = TN_K_BOOL, .otherwise = "True"}, {.name = NULL}};

static bool with_vectors(const tn_i_param *p) { return p[VECTORS].kind == TN_K_NONE || p[VECTORS].u.i; }

/* Values, then vectors: real parts before imaginary ones. */
enum { RE, IM, VRE, VIM };

static bool type_eig(tn_i_query *q) {
    const uint32_t nout = with_vectors(q->p) ? 4 : 2;
    if (!tn_i_square_matrices(q) || !tn_i_lapack_sizes(q, 0) || !tn_i_outputs(q, nout)) return false;
    const tn_type *t = q->in[0];
    q->out[RE] = q->out[IM] = tn_type_of((tn_dtype)t->dtype, (size_t)t->rank - 1, t->dim);
    if (nout == 4) q->out[VRE] = q->out[VIM] = *t;
    return true;
}

/* To Hessenberg form and some steps of QR: 5 n^3 multiply-adds, with vectors 13. */
static void cost_eig(const tn_i_query *q, tn_i_cost *cost) {
    const double n = (double)q->in[0]->dim[q->in[0]->rank - 1], elements = (double)tn_i_count(q->in[0]);
    tn_i_cost_copy(q, cost);
    cost->products += elements * n * (with_vectors(q->p) ? 13 : 5);
    cost->flops += elements * 40;
}

/* ---- kernel --------------------------------------------------------------------------------------- */

enum { MATRIX, REAL, IMAGINARY, FOUND, PART, ORDER, WORK, NROOMS };

static size_t lay_out(const tn_type *t, bool vectors, tn_i_lapack_room *room, size_t *at) {
    const int64_t n = t->dim[t->rank - 1];
    if (n == 0) return 0;
    tn_i_lapack_geev_room(vectors, n, room);
    const int64_t found = vectors ? n * n : 1;
    return tn_i_lapack_rooms((const int64_t[NROOMS]){n * n, n, n, found, found, n, room->work}, NROOMS, at);
}

static size_t scratch_eig(const tn_i_query *q) {
    tn_i_lapack_room room;
    size_t at[NROOMS];
    return lay_out(q->in[0], with_vectors(q->p), &room, at);
}

/* Columns of v that LAPACK has packed, as real parts in v and imaginary ones in part. */
static void unpack(int64_t n, const double *im, double *v, double *part) {
    for (int64_t j = 0; j < n; j++) {
        const bool pair = im[j] != 0 && j + 1 < n;
        for (int64_t i = 0; i < n; i++) part[j * n + i] = pair ? v[(j + 1) * n + i] : 0;
        if (!pair) continue;
        for (int64_t i = 0; i < n; i++) {
            part[(j + 1) * n + i] = -part[j * n + i];
            v[(j + 1) * n + i] = v[j * n + i];
        }
        j++;
    }
}

/* LAPACK's signs change where nothing else does: the largest element of each column, which is real, becomes positive.
 */
static void turn(int64_t n, double *re, double *im) {
    for (int64_t j = 0; j < n; j++, re += n, im += n) {
        int64_t at = 0;
        double most = 0;
        for (int64_t i = 0; i < n; i++)
            if (re[i] * re[i] + im[i] * im[i] > most) most = re[at = i] * re[i] + im[i] * im[i];
        if (re[at] >= 0) continue;
        tn_i_lapack_negate(n, re, 1);
        tn_i_lapack_negate(n, im, 1);
    }
}

static bool before(const double *re, const double *im, int64_t i, int64_t j) {
    return re[i] < re[j] || (re[i] == re[j] && im[i] > im[j]);
}

/* LAPACK's order changes where nothing else does, too: by the real part, then the larger imaginary one. */
static void sort(int64_t n, const double *re, const double *im, int64_t *order) {
    for (int64_t k = 0; k < n; k++) {
        int64_t at = k;
        for (; at > 0 && before(re, im, k, order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = k;
    }
}

/* n columns of `rows` elements in that order. */
static const double *sorted(int64_t n, int64_t rows, const double *x, const int64_t *order, double *to) {
    for (int64_t k = 0; k < n; k++) memcpy(to + k * rows, x + order[k] * rows, (size_t)rows * sizeof *to);
    return to;
}

/* What is not finite has no eigenvalues: NaN, as where the iteration does not converge. */
static tn_status kernel_eig(const tn_i_kernel *k) {
    const tn_i_arr *a = &k->in[0];
    const bool vectors = k->nout == 4;
    const int batch = tn_i_batch_rank(a->type);
    const int64_t n = a->type->dim[batch];
    tn_i_lapack_room room;
    size_t place[NROOMS];
    double *at[NROOMS];
    if (tn_i_count(a->type) == 0 || lay_out(a->type, vectors, &room, place) == SIZE_MAX) return TN_OK;
    for (int i = 0; i < NROOMS; i++) at[i] = (double *)(void *)((char *)k->scratch + place[i]);
    int64_t *order = (int64_t *)(void *)at[ORDER];
    const tn_i_dims each = tn_i_dims_of(a, (1u << batch) - 1);
    tn_i_cursor c;
    tn_i_cursor_start(&c, &each, 0);
    for (int64_t i = 0; i < tn_i_dims_count(&each); i++, tn_i_cursor_next(&c)) {
        tn_i_lapack_take(a, c.offset, at[MATRIX]);
        if (tn_i_all_finite(n * n, at[MATRIX]) &&
            tn_i_lapack_geev(vectors, n, at[MATRIX], at[REAL], at[IMAGINARY], at[FOUND], &room, at[WORK])) {
            sort(n, at[REAL], at[IMAGINARY], order);
            tn_i_lapack_put_vector(sorted(n, 1, at[REAL], order, at[MATRIX]), &k->out[RE], i);
            tn_i_lapack_put_vector(sorted(n, 1, at[IMAGINARY], order, at[MATRIX]), &k->out[IM], i);
            if (!vectors) continue;
            unpack(n, at[IMAGINARY], at[FOUND], at[PART]);
            turn(n, at[FOUND], at[PART]);
            tn_i_lapack_put(sorted(n, n, at[FOUND], order, at[MATRIX]), n, &k->out[VRE], i);
            tn_i_lapack_put(sorted(n, n, at[PART], order, at[MATRIX]), n, &k->out[VIM], i);
        } else
            for (uint32_t j = 0; j < k->nout; j++) tn_i_lapack_put_nan(j < VRE ? 1 : 2, &k->out[j], i);
    }
    return TN_OK;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

/* The real a times complex x. */
static tn_i_complex real_product(tn_i_builder *b, tn_i_var a, tn_i_complex x) {
    tn_i_complex y;
    y.re = tn_i_matrix_product(b, a, 1, x.re, 0);
    y.im = tn_i_matrix_product(b, a, 1, x.im, 0);
    return y;
}

static tn_i_complex product(tn_i_builder *b, tn_i_complex x, tn_i_complex y) {
    const tn_i_complex by_re = real_product(b, x.re, y), by_im = real_product(b, x.im, y);
    return tn_i_complex_add(b, by_re, tn_i_complex_by_i(b, by_im, 1));
}

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

/* The sum of each column, as every row. */
static tn_i_var column_sums(tn_i_builder *b, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int64_t axis = tn_i_vtype(b, x)->rank - 2;
    return tn_i_along(b, tn_i_reduce_sum(b, x, 1, &axis), 1);
}

/* The element of each column where `at` is true, as every row. */
static tn_i_var chosen(tn_i_builder *b, tn_i_var at, tn_i_var x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    return column_sums(b, tn_i_op3(b, TN_P_select, at, x, tn_i_zeros(b, &t)));
}

/* Whether it is the element of largest magnitude of each column, the first of equals. */
static tn_i_var largest(tn_i_builder *b, tn_i_complex v) {
    const tn_i_var rr = tn_i_op2(b, TN_P_mul, v.re, v.re), ii = tn_i_op2(b, TN_P_mul, v.im, v.im);
    const tn_i_var size = tn_i_op2(b, TN_P_add, rr, ii);
    if (b->failed || size == TN_NOVAR) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, size);
    const int64_t axis = t.rank - 2;
    const tn_i_param p[2] = {{.kind = TN_K_INTS, .n = 1, .u.ints = &axis}, {.kind = TN_K_DTYPE, .u.i = TN_I64}};
    const tn_i_var at = tn_i_along(b, tn_i_emit(b, tn_i_prim(b, TN_P_argmax), p, 1, &size), 1);
    const tn_i_var rows = tn_i_iota(b, TN_I64, t.rank, t.dim, t.rank - 2);
    return tn_i_op2(b, TN_P_eq, rows, at);
}

/* Vectors stay of unit length, and their largest element real: what dv has along v, and around it, goes. */
static tn_i_complex normalized(tn_i_builder *b, tn_i_complex v, tn_i_complex dv) {
    const tn_i_var rr = tn_i_op2(b, TN_P_mul, v.re, dv.re), ii = tn_i_op2(b, TN_P_mul, v.im, dv.im);
    const tn_i_var along = column_sums(b, tn_i_op2(b, TN_P_add, rr, ii));
    const tn_i_var here = largest(b, v), real = chosen(b, here, v.re), moved = chosen(b, here, dv.im);
    const tn_i_complex by = {along, tn_i_op2(b, TN_P_div, moved, real)};
    return tn_i_complex_sub(b, dv, tn_i_complex_mul(b, v, by));
}

/* With s = v^-1 da v: dw is its diagonal, dv = v (s / gaps), normalized. */
static void jvp_eig(tn_i_rule *r, const tn_i_var *din, tn_i_var *dout) {
    tn_i_builder *b = r->b;
    const tn_i_param p = {.kind = TN_K_BOOL, .u.i = true};
    const tn_i_var w = tn_i_emit(b, tn_i_prim(b, TN_P_eig), &p, 1, r->in);
    if (w == TN_NOVAR) return;
    for (uint32_t j = 0; j < r->nout; j++) {
        r->out[j] = w + j;
        dout[j] = TN_NOVAR;
    }
    if (tn_i_count(r->in_type[0]) == 0) return;
    const tn_i_complex v = {w + VRE, w + VIM}, values = {w + RE, w + IM};
    const tn_i_complex s = solved(b, v, real_product(b, din[0], v));
    dout[RE] = tn_i_matrix_diagonal(b, s.re);
    dout[IM] = tn_i_matrix_diagonal(b, s.im);
    if (r->nout == 2) return;
    const tn_i_complex turned = tn_i_complex_mul(b, s, inverse_gaps(b, values));
    const tn_i_complex dv = normalized(b, v, product(b, v, turned));
    dout[VRE] = dv.re;
    dout[VIM] = dv.im;
}

static void batch_eig(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    (void)batched;
    const tn_i_var w = tn_i_emit(r->b, r->e->prim, r->p, 1, r->in);
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = w == TN_NOVAR ? w : w + j;
        out_batched[j] = true;
    }
}

/* Eigenvalues well apart, real ones and pairs: blocks of two rows turn or do not. */
static void fill_apart(tn_i_rng *r, const tn_i_case *c, uint32_t i, void *data) {
    const int64_t n = c->in[i].dim[c->in[i].rank - 1], count = tn_i_count(&c->in[i]);
    for (int64_t first = 0; first < count; first += n * n) {
        for (int64_t k = 0; k < n * n; k++) {
            const bool diagonal = k % n == k / n;
            const double at = 1 + 1.5 * (double)(k / n);
            tn_i_put(c->in[i].dtype, data, first + k,
                     diagonal ? at + tn_i_uniform(r, -0.25, 0.25) : tn_i_uniform(r, -0.1, 0.1));
        }
        for (int64_t k = 0; k + 1 < n; k += 2) {
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
    c->p[VECTORS] = (tn_i_param){.kind = TN_K_BOOL, .u.i = tn_i_pick(r, 0, 2) != 0};
    c->fill = fill_apart;
    return true;
}

const tn_prim tn_prim_eig = {
    .id = TN_P_eig,
    .name = "eig",
    .doc =
        "(re w, im w, re v, im v), or the first two: a v = v diag(w) for any square a, w by real parts; columns of v "
        "have unit length and a positive largest element; f32 is computed in f64; NaN if a is not finite; pairs of equal "
        "w add nothing to dv",
    .nin = 1,
    .flags = TN_F_COSTLY | TN_F_OWN_PRIMAL,
    .dtypes = TN_WIDE_FLOATS,
    .params = params,
    .type = type_eig,
    .jvp = jvp_eig,
    .batch = batch_eig,
    .kernel = kernel_eig,
    .unrunnable = tn_i_no_lapack,
    .scratch = scratch_eig,
    .cost = cost_eig,
    .jvp_bound = 24,
    .sample = sample,
};
