/* Complex matrices by their parts: what rules of decompositions share.  Each of these functions takes real matrices as
 * well, without imaginary parts, and makes the same equations of them as their own would. */
#include "prims/scalar/complex.h"
#include "prims/ids.h"
#include "prims/linear/matrices.h"
#include "prims/rules.h"
#include "prims/arrays/shape.h"

typedef tn_i_builder B;
typedef tn_i_complex Z;
typedef tn_i_var V;

static Z each(B *b, Z z, V (*f)(B *, V)) {
    z.re = f(b, z.re);
    if (tn_i_is_complex(z)) z.im = f(b, z.im);
    return z;
}

Z tn_i_complex_operand(const tn_i_rule *r) { return (Z){r->in[0], r->nin == 2 ? r->in[1] : TN_NOVAR}; }

Z tn_i_complex_tangent(tn_i_rule *r, const tn_i_var *din) {
    Z z = {din[0], TN_NOVAR};
    if (r->nin == 1) return z;
    z.im = din[1];
    if (z.re == TN_NOVAR) z.re = tn_i_zeros(r->b, r->in_type[0]);
    if (z.im == TN_NOVAR) z.im = tn_i_zeros(r->b, r->in_type[1]);
    return z;
}

void tn_i_batch_parts(tn_i_rule *r, const bool *batched, tn_i_var *out, bool *out_batched) {
    tn_i_var in[2] = {TN_NOVAR, TN_NOVAR};
    for (uint32_t i = 0; i < r->nin; i++) in[i] = tn_i_batched_operand(r, batched, i);
    const tn_i_var first = tn_i_emit(r->b, r->e->prim, r->p, r->nin, in);
    for (uint32_t j = 0; j < r->nout; j++) {
        out[j] = first == TN_NOVAR ? first : first + j;
        out_batched[j] = true;
    }
}

/* ---- products, parts ------------------------------------------------------------------------------ */

Z tn_i_complex_adjoint(B *b, Z z) {
    z = each(b, z, tn_i_matrix_transpose);
    return tn_i_is_complex(z) ? tn_i_complex_conj(b, z) : z;
}

/* x + y, or x - y. */
static V sum_of(B *b, bool minus, V x, V y) { return tn_i_op2(b, minus ? TN_P_sub : TN_P_add, x, y); }

Z tn_i_complex_matmul(B *b, Z x, bool x_adjoint, Z y, bool y_adjoint) {
    const int xd = x_adjoint ? 0 : 1, yd = y_adjoint ? 1 : 0;
    const bool x_complex = tn_i_is_complex(x), y_complex = tn_i_is_complex(y);
    Z z = {tn_i_matrix_product(b, x.re, xd, y.re, yd), TN_NOVAR};
    if (x_complex && y_complex) {
        const V rest = tn_i_matrix_product(b, x.im, xd, y.im, yd);
        z.re = sum_of(b, x_adjoint == y_adjoint, z.re, rest);
    }
    if (y_complex) {
        z.im = tn_i_matrix_product(b, x.re, xd, y.im, yd);
        if (y_adjoint) z.im = tn_i_op1(b, TN_P_neg, z.im);
    }
    if (!x_complex) return z;
    const V other = tn_i_matrix_product(b, x.im, xd, y.re, yd);
    if (y_complex)
        z.im = sum_of(b, x_adjoint, z.im, other);
    else
        z.im = x_adjoint ? tn_i_op1(b, TN_P_neg, other) : other;
    return z;
}

Z tn_i_complex_where(B *b, Z z, int how) {
    z.re = tn_i_matrix_where(b, z.re, how);
    if (tn_i_is_complex(z)) z.im = tn_i_matrix_where(b, z.im, how);
    return z;
}

Z tn_i_complex_part(B *b, Z z, int64_t rows, int64_t columns) {
    z.re = tn_i_matrix_part(b, z.re, rows, columns);
    if (tn_i_is_complex(z)) z.im = tn_i_matrix_part(b, z.im, rows, columns);
    return z;
}

/* The diagonal of a Hermitian matrix has no imaginary part, whatever it says. */
Z tn_i_complex_of_triangle(B *b, Z z, bool lower) {
    z.re = tn_i_of_triangle(b, z.re, lower);
    if (!tn_i_is_complex(z)) return z;
    const V half = tn_i_matrix_where(b, z.im, lower ? TN_P_gt : TN_P_lt);
    z.im = tn_i_op2(b, TN_P_sub, half, tn_i_matrix_transpose(b, half));
    return z;
}

/* ---- interleaved ------------------------------------------------------------------------------------ */

/* Beside each other, element by element, along an axis of twice the length. */
static V interleaved(B *b, V x, V y, int axis) {
    if (b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    V part[2] = {x, y};
    int64_t shape[TN_MAX_RANK + 1];
    for (int d = 0; d <= t.rank; d++) shape[d] = d <= axis ? t.dim[d] : d == axis + 1 ? 1 : t.dim[d - 1];
    if (t.rank == TN_MAX_RANK) {
        tn_i_builder_fail(b, TN_ELIMIT, "complex matrices have at most %d dimensions", TN_MAX_RANK - 1);
        return TN_NOVAR;
    }
    for (int i = 0; i < 2; i++) part[i] = tn_i_reshape(b, part[i], t.rank + 1, shape);
    const V both = tn_i_concatenate(b, 2, part, axis + 1);
    if (b->failed || !tn_i_mul_i64(t.dim[axis], 2, &shape[axis])) return TN_NOVAR;
    for (int d = axis + 1; d < t.rank; d++) shape[d] = t.dim[d];
    return tn_i_reshape(b, both, t.rank, shape);
}

/* As real matrices of twice the size, of [re, -im; im, re] in place of each element, so that triangles stay triangles;
 * and the columns or rows that these say all of. */
static V columns_of(B *b, Z z) { return interleaved(b, z.re, z.im, b->failed ? 0 : tn_i_vtype(b, z.re)->rank - 2); }

static V rows_of(B *b, Z z) {
    const V minus = tn_i_op1(b, TN_P_neg, z.im);
    return interleaved(b, z.re, minus, b->failed ? 0 : tn_i_vtype(b, z.re)->rank - 1);
}

V tn_i_complex_of_elements(B *b, Z z) {
    const Z turned = tn_i_complex_by_i(b, z, -1); /* im - i re */
    const V upper = rows_of(b, z), lower = rows_of(b, turned);
    return interleaved(b, upper, lower, b->failed ? 0 : tn_i_vtype(b, upper)->rank - 2);
}

/* Every second one from `first` on along a dimension counted from the last, 0. */
static V every_second(B *b, V x, int back, int64_t first) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int axis = tn_i_vtype(b, x)->rank - 1 - back;
    return tn_i_slice_dimension(b, x, axis, first, 2, tn_i_vtype(b, x)->dim[axis] / 2);
}

/* ---- cholesky, triangular_solve --------------------------------------------------------------------- */

/* The factor's diagonal is real, so that it is the interleaved one's. */
Z tn_i_complex_of_cholesky(B *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin, const tn_i_complex *in) {
    (void)nin;
    Z z = in[0];
    if (!tn_i_is_complex(z) || tn_i_vtype(b, z.re)->rank < 2) return (Z){TN_NOVAR, TN_NOVAR};
    z.im = tn_i_matrix_where(b, z.im, TN_P_ne);
    const V a = tn_i_complex_of_elements(b, z);
    const V l = b->failed ? TN_NOVAR : every_second(b, tn_i_emit(b, prim, p, 1, &a), 0, 0);
    z.re = every_second(b, l, 1, 0);
    z.im = every_second(b, l, 1, 1);
    return z;
}

/* d [.., n] at every row (axis 0) or column of matrices like x. */
static V spread(B *b, V d, int axis, V x) {
    if (b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, x);
    int64_t dims[TN_MAX_RANK];
    for (int i = 0; i < t.rank - 2; i++) dims[i] = i;
    dims[t.rank - 2] = t.rank - 2 + axis;
    return tn_i_broadcast(b, d, t.rank, t.dim, dims);
}

static Z spread_parts(B *b, Z d, int axis, V x) {
    d.re = spread(b, d.re, axis, x);
    d.im = spread(b, d.im, axis, x);
    return d;
}

/* Numbers s that make each of d real: s d, in *real, is its larger part.  |s| is 1 or a little less, so that neither s
 * nor what it multiplies overflows, whatever d is; 1/d would, for d of less than 1e-308.  Where d is so small that what
 * stands beside it may have few digits, s is larger by an exact power of two. */
static Z made_real_by(B *b, Z d, V *real) {
    Z s;
    if (b->failed) return d;
    const bool f32 = tn_i_vtype(b, d.re)->dtype == TN_F32;
    const V re = tn_i_op1(b, TN_P_abs, d.re), im = tn_i_op1(b, TN_P_abs, d.im), wide = tn_i_op2(b, TN_P_ge, re, im);
    const V large = tn_i_op3(b, TN_P_select, wide, d.re, d.im), small = tn_i_op3(b, TN_P_select, wide, d.im, d.re);
    const V zero = tn_i_number_like(b, large, 0), one = tn_i_number_like(b, large, 1);
    const V by = tn_i_op3(b, TN_P_select, tn_i_op2(b, TN_P_eq, large, zero), one, large);
    const V ratio = tn_i_op2(b, TN_P_div, small, by), norm = tn_i_one_plus_square(b, ratio);
    const V most = tn_i_op2(b, TN_P_max, re, im), limit = tn_i_number_like(b, most, f32 ? 0x1p-100 : 0x1p-960);
    const V more = tn_i_number_like(b, most, f32 ? 0x1p40 : 0x1p120), few = tn_i_op2(b, TN_P_lt, most, limit);
    const V up = tn_i_op3(b, TN_P_select, few, more, one);
    const V straight = tn_i_op2(b, TN_P_div, up, norm), across = tn_i_op2(b, TN_P_mul, ratio, straight);
    s.re = tn_i_op3(b, TN_P_select, wide, straight, across);
    s.im = tn_i_op1(b, TN_P_neg, tn_i_op3(b, TN_P_select, wide, across, straight));
    *real = tn_i_op2(b, TN_P_mul, large, up);
    return s;
}

/* a x = b as (s a) x = s b, with s of each row that makes its diagonal real; from the right the same of columns.  What
 * is not read is 0 first: it may be anything, and s times it too. */
static Z solve(B *b, unsigned how, bool scaled, Z a, Z x) {
    const bool left = how >> TN_LEFT_SIDE & 1;
    if (scaled) {
        V real = TN_NOVAR;
        const int beside = how >> TN_LOWER & 1 ? TN_P_gt : TN_P_lt;
        const Z d = each(b, a, tn_i_matrix_diagonal), s = made_real_by(b, d, &real);
        a = tn_i_complex_where(b, a, beside);
        a = tn_i_complex_mul(b, a, spread_parts(b, s, !left, a.re));
        const V on = tn_i_matrix_where(b, spread(b, real, !left, a.re), TN_P_eq);
        a.re = tn_i_op2(b, TN_P_add, a.re, on);
        x = tn_i_complex_mul(b, x, spread_parts(b, s, !left, x.re));
    }
    if (how >> TN_UNIT_DIAGONAL & 1) a.im = tn_i_matrix_where(b, a.im, TN_P_ne); /* it stands beside the diagonal */
    const V matrix = tn_i_complex_of_elements(b, a), rhs = left ? columns_of(b, x) : rows_of(b, x);
    const V y = b->failed ? TN_NOVAR : tn_i_triangular_solve(b, how, matrix, rhs);
    x.re = every_second(b, y, left, 0);
    x.im = every_second(b, y, left, 1);
    if (!left && !b->failed) x.im = tn_i_op1(b, TN_P_neg, x.im);
    return x;
}

Z tn_i_complex_triangular_solve(B *b, unsigned how, bool real_diagonal, Z a, Z x) {
    const unsigned op = 1u << TN_TRANSPOSE_A, conjugate = 1u << TN_CONJUGATE_A;
    if (!tn_i_is_complex(a)) return (Z){tn_i_triangular_solve(b, how, a.re, x.re), TN_NOVAR};
    if (how & op) {
        a = each(b, a, tn_i_matrix_transpose);
        how ^= 1u << TN_LOWER;
    }
    if (how & conjugate) a = tn_i_complex_conj(b, a);
    return solve(b, how & ~(op | conjugate), !real_diagonal && !(how >> TN_UNIT_DIAGONAL & 1), a, x);
}

Z tn_i_complex_of_triangular_solve(B *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin,
                                   const tn_i_complex *in) {
    (void)prim;
    unsigned how = 0;
    if (nin != 2 || !tn_i_is_complex(in[0]) || !tn_i_is_complex(in[1])) return (Z){TN_NOVAR, TN_NOVAR};
    for (int k = 0; k < TN_NTRIANGULAR; k++) how |= p[k].kind != TN_K_NONE && p[k].u.i ? 1u << k : 0;
    return tn_i_complex_triangular_solve(b, how, false, in[0], in[1]);
}

/* ---- pinv: that of the real matrix of twice the size --------------------------------------------------- */

Z tn_i_complex_of_pinv(B *b, const tn_prim *prim, const tn_i_param *p, uint32_t nin, const tn_i_complex *in) {
    (void)nin;
    if (!tn_i_is_complex(in[0]) || tn_i_vtype(b, in[0].re)->rank < 2) return (Z){TN_NOVAR, TN_NOVAR};
    const V a = tn_i_complex_of_elements(b, in[0]);
    const V y = b->failed ? TN_NOVAR : every_second(b, tn_i_emit(b, prim, p, 1, &a), 0, 0);
    Z z;
    z.re = every_second(b, y, 1, 0);
    z.im = every_second(b, y, 1, 1);
    return z;
}

/* ---- phases -------------------------------------------------------------------------------------------- */

/* What `prim` makes of each column of x. */
static V of_columns(B *b, int prim, V x) {
    if (b->failed || x == TN_NOVAR) return TN_NOVAR;
    const int64_t axis = tn_i_vtype(b, x)->rank - 2;
    const tn_i_param p[2] = {{.kind = TN_K_INTS, .n = 1, .u.ints = &axis}, {.kind = TN_K_DTYPE, .u.i = TN_I64}};
    return tn_i_emit(b, tn_i_prim(b, prim), p, 1, &x);
}

V tn_i_column_sums(B *b, V x) { return of_columns(b, TN_P_reduce_sum, x); }

/* Where each column of v was made real: what is real, and of half the largest magnitude but for rounding; the first of
 * these. */
static V made_real(B *b, Z v) {
    if (b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, v.re);
    const int64_t rows = t.dim[t.rank - 2];
    const V rr = tn_i_op2(b, TN_P_mul, v.re, v.re), ii = tn_i_op2(b, TN_P_mul, v.im, v.im);
    const V size = tn_i_op2(b, TN_P_add, rr, ii), most = of_columns(b, TN_P_reduce_max, size);
    const V limit = tn_i_along_many(b, most == TN_NOVAR ? most : tn_i_times(b, most, 0.2498), 1, rows);
    const V zero = tn_i_number_like(b, size, 0), one = tn_i_number_like(b, size, 1);
    const V real = tn_i_op2(b, TN_P_eq, v.im, zero), large = tn_i_op2(b, TN_P_ge, size, limit);
    const V may = tn_i_op3(b, TN_P_select, tn_i_op2(b, TN_P_and, real, large), one, zero);
    const V at = tn_i_along_many(b, of_columns(b, TN_P_argmax, may), 1, rows);
    return tn_i_op2(b, TN_P_eq, tn_i_iota(b, TN_I64, t.rank, t.dim, t.rank - 2), at);
}

V tn_i_complex_turning(B *b, Z v, Z dv) {
    if (!tn_i_is_complex(v) || b->failed) return TN_NOVAR;
    const tn_type t = *tn_i_vtype(b, v.re);
    if (tn_i_count(&t) == 0) return TN_NOVAR;
    const V here = made_real(b, v), none = tn_i_zeros(b, &t);
    const V real = tn_i_column_sums(b, tn_i_op3(b, TN_P_select, here, v.re, none));
    const V moved = tn_i_column_sums(b, tn_i_op3(b, TN_P_select, here, dv.im, none));
    return tn_i_op2(b, TN_P_div, moved, real);
}

Z tn_i_complex_turned_back(B *b, Z dv, Z v, V turning) {
    if (turning == TN_NOVAR || b->failed) return dv;
    const tn_type t = *tn_i_vtype(b, v.re);
    const V by = tn_i_along_many(b, turning, 1, t.dim[t.rank - 2]);
    dv.re = tn_i_op2(b, TN_P_add, dv.re, tn_i_op2(b, TN_P_mul, v.im, by));
    dv.im = tn_i_op2(b, TN_P_sub, dv.im, tn_i_op2(b, TN_P_mul, v.re, by));
    return dv;
}
